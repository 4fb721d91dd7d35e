//! Differential equations, derivatives inside of objectives.

use polygrad::direct::{grad, jvp};
use polygrad::{Array, BaseTensor, Dual, Tensor, concat, iterate, stack};

use super::{positive, real};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    lorenz_euler(start = real([3], 1), rates = Array::from([1.0, 2.8, 0.26]));
    lorenz_runge_kutta(start = real([3], 2), rates = Array::from([1.0, 2.8, 0.26]));
    heat_equation(start = real([7], 3), rate = Array::from(0.2));
    heat_on_a_ring(start = real([5], 4), rate = positive([5], 5));
    leapfrog(q = Array::from(0.4), p = Array::from(-0.2), stiffness = Array::from(1.5));
    hamiltonian_flow(q = real([2], 6), p = real([2], 7));
    physics_residual(w = real([4], 8), b = real([4], 9), v = real([4], 10); times = Array::from([0.1, 0.4, 0.9]));
    gravity(x = real([3, 2], 11), mass = positive([3], 12));
    newton_root(a = Array::from(1.7));
}

/// The velocity of the Lorenz system.
fn lorenz<T: BaseTensor>(s: &Vector<T>, rates: &Vector<T>) -> Vector<T> {
    let [x, y, z] = [0, 1, 2].map(|k| s.at::<_, 1, 0>([k]));
    let [sigma, rho, beta] = [0, 1, 2].map(|k| rates.at::<_, 1, 0>([k]));
    stack((sigma * (&y - &x), &x * (rho - &z) - &y, &x * &y - beta * &z))
}

fn lorenz_euler<T: BaseTensor>(start: &Vector<T>, rates: &Vector<T>) -> Scalar<T> {
    iterate(10, start.clone(), |_, s| lorenz(&s, rates) * 0.05 + s).square().sum()
}

fn lorenz_runge_kutta<T: BaseTensor>(start: &Vector<T>, rates: &Vector<T>) -> Scalar<T> {
    let h = 0.1;
    let last = iterate(4, start.clone(), |_, s| {
        let k1 = lorenz(&s, rates);
        let k2 = lorenz(&(&s + &k1 * (h / 2.0)), rates);
        let k3 = lorenz(&(&s + &k2 * (h / 2.0)), rates);
        let k4 = lorenz(&(&s + &k3 * h), rates);
        s + (k1 + 2.0 * k2 + 2.0 * k3 + k4) * (h / 6.0)
    });
    last.square().sum()
}

/// Explicit steps on a rod with cold ends, and a little reaction.
fn heat_equation<T: BaseTensor>(start: &Vector<T>, rate: &Scalar<T>) -> Scalar<T> {
    let n = start.len();
    let last = iterate(6, start.clone(), |_, u| {
        let left = u.slice(0, ..n - 1).pad([(1, 0)]);
        let right = u.slice(0, 1..).pad([(0, 1)]);
        &u + (left + right - 2.0 * &u) * rate + u.powi(3) * 0.05
    });
    last.square().mean()
}

/// Neighbours by indices that wrap around.
fn heat_on_a_ring<T: BaseTensor>(start: &Vector<T>, rate: &Vector<T>) -> Scalar<T> {
    let n = start.len() as i64;
    let here = Tensor::<T, 1, i64>::iota(start.len());
    let (before, after) = ((&here + (n - 1)) % n, (&here + 1) % n);
    let last = iterate(4, start.clone(), |_, u| (u.take(&before) + u.take(&after) - 2.0 * &u) * rate * 0.2 + u);
    last.dot(&last.reverse(0))
}

fn leapfrog<T: BaseTensor>(q: &Scalar<T>, p: &Scalar<T>, stiffness: &Scalar<T>) -> Scalar<T> {
    let force = |q: &Scalar<T>| -stiffness * q.sin();
    let (q, p) = iterate(8, (q.clone(), p.clone()), |_, (q, p)| {
        let half = p + force(&q) * 0.05;
        let q = q + &half * 0.1;
        let p = half + force(&q) * 0.05;
        (q, p)
    });
    p.square() * 0.5 - stiffness * q.cos()
}

/// The equations of motion are gradients of an energy, taken inside the loop.
fn hamiltonian_flow<T: BaseTensor>(q: &Vector<T>, p: &Vector<T>) -> Scalar<T> {
    fn energy<T: BaseTensor>(q: &Vector<T>, p: &Vector<T>) -> Scalar<T> {
        p.dot(p) * 0.5 + (q.square() * q).sum() / 3.0 + q.at([0]) * q.at([1])
    }
    let (q, p) = iterate(3, (q.clone(), p.clone()), |_, (q, p)| {
        let dp = grad(|q| energy(q, &p.lift()), &q);
        let p = p - dp * 0.1;
        let dq = grad(|p| energy(&q.lift(), p), &p);
        (q + dq * 0.1, p)
    });
    q.dot(&p) + q.sum()
}

/// How far a small network is from solving `u' = -u`; the derivative in time is forward mode.
fn physics_residual<T: BaseTensor>(w: &Vector<T>, b: &Vector<T>, v: &Vector<T>, times: &Vector<T>) -> Scalar<T> {
    let mut total = Tensor::scalar(0.0);
    for k in 0..times.len() {
        let u = |t: &Scalar<Dual<T>>| (w.lift::<Dual<T>, _>().times(t) + b.lift::<Dual<T>, _>()).tanh().dot(&v.lift());
        let (u, slope) = jvp(u, &times.at([k]), &Tensor::scalar(1.0));
        total += (slope + u).square();
    }
    total
}

/// The potential of a few bodies, with the distances of all pairs.
fn gravity<T: BaseTensor>(x: &Matrix<T>, mass: &Vector<T>) -> Scalar<T> {
    let n = x.len();
    let difference: Tensor<T, 3> = x.insert_axis(0) - x.insert_axis(1);
    let squares: Matrix<T> = difference.square().sum_axis(2);
    let self_pair = Tensor::<T, 2>::eye(n);
    let inverse = self_pair.gt(0.0).select(0.0, squares.sqrt().recip());
    -(mass.outer(mass) * inverse).sum() * 0.5
}

/// Newton's method for `x^3 = a`, with the derivative it needs; the result also as part of a vector.
fn newton_root<T: BaseTensor>(a: &Scalar<T>) -> Scalar<T> {
    let root = iterate(5, Tensor::scalar(1.2), |_, x| {
        let (y, slope) = jvp(|x: &Scalar<Dual<T>>| x.powi(3) - a.lift(), &x, &Tensor::scalar(1.0));
        x - y / slope
    });
    let both = concat(0, [&root.insert_axis::<1>(0), &a.insert_axis(0)]);
    both.norm()
}
