//! Solutions of differential equations.
//!
//! Laws: where the solution is known, it and its derivatives in start, times and parameters are the known ones, within
//! the error that was asked for, in both modes; the adjoint agrees with the derivative of a fine method with steps of
//! one length; a solution that ends before a time is NaN.

use polygrad::{BaseTensor, Concrete, Function, Ode, Tensor, direct, grad, iterate, jvp, odeint, tensor, vjp};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

fn near<const D: usize>(what: &str, a: &Tensor<Concrete, D>, b: &Tensor<Concrete, D>, tolerance: f64) {
    let off = (a - b).abs().max_all().item();
    assert!(off <= tolerance, "{what}: {a} and {b} differ by {off}");
}

/// `x' = -p t x`, so `x = x0 exp(-p (t^2 - t0^2) / 2)`.
fn decay<T: BaseTensor>((start, times, p): &(Number<T>, Vector<T>, Number<T>)) -> Vector<T> {
    let states = odeint(|x: &Number<_>, t: &Number<_>, p: &Number<_>| -(x * t * p), start, times, p);
    polygrad::stack(states)
}

fn known<T: BaseTensor>((start, times, p): &(Number<T>, Vector<T>, Number<T>)) -> Vector<T> {
    let squares = times.square() - times.at([0]).square();
    squares.times(&(p * -0.5)).exp().times(start)
}

fn point() -> (Number<Concrete>, Vector<Concrete>, Number<Concrete>) {
    (tensor(1.5), tensor([0.3, 0.8, 0.8, 2.0, 1.1]), tensor(0.7))
}

#[test]
fn solutions_and_first_derivatives_are_the_known_ones() {
    let at = point();
    near("states", &decay(&at), &known(&at), 1e-7);
    let weights = tensor([0.3, -1.0, 2.0, 0.5, 1.0]);
    let (found, expected) = (vjp(decay, &at).1(&weights), vjp(known, &at).1(&weights));
    near("start", &found.0, &expected.0, 1e-6);
    near("times", &found.1, &expected.1, 1e-6);
    near("parameter", &found.2, &expected.2, 1e-6);
    let along = (tensor(0.5), tensor([1.0, -1.0, 0.3, 0.2, 2.0]), tensor(-1.0));
    near("forward", &jvp(decay, &at, &along).1, &jvp(known, &at, &along).1, 1e-6);
    let sum = |x: &(Number<_>, Vector<_>, Number<_>)| decay(x).square().sum();
    let same = |x: &(Number<_>, Vector<_>, Number<_>)| known(x).square().sum();
    near("direct", &direct::grad(sum, &at).2, &grad(same, &at).2, 1e-6);
}

/// Predators and prey, by steps of one length, whose derivative is that of the steps.
#[test]
fn the_adjoint_agrees_with_the_derivative_of_steps() {
    fn rate<T: BaseTensor>(x: &Vector<T>, p: &Vector<T>) -> Vector<T> {
        let (a, b) = (x.at([0]), x.at([1]));
        let both = &a * &b;
        polygrad::stack([a * p.at([0]) - &both * p.at([1]), both * p.at([2]) - b * p.at([3])])
    }
    fn steps<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
        let h = 3.0 / 600.0;
        let step = |_: &Tensor<T, 0, i64>, x: Vector<T>| {
            let k1 = rate(&x, p);
            let k2 = rate(&(&x + &k1 * (0.5 * h)), p);
            let k3 = rate(&(&x + &k2 * (0.5 * h)), p);
            let k4 = rate(&(&x + &k3 * h), p);
            x + (k1 + k2 * 2.0 + k3 * 2.0 + k4) * (h / 6.0)
        };
        iterate(600, Vector::constant([1.0, 0.5]), step).square().sum()
    }
    fn adaptive<T: BaseTensor>(p: &Vector<T>) -> Number<T> {
        let times = Vector::<T>::constant([0.0, 3.0]);
        let start = Vector::<T>::constant([1.0, 0.5]);
        let x = odeint(|x: &Vector<_>, _: &Number<_>, p: &Vector<_>| rate(x, p), &start, &times, p);
        x[1].square().sum()
    }
    let p = tensor([1.1, 0.4, 0.3, 0.6]);
    near("value", &adaptive(&p), &steps(&p), 1e-6);
    near("gradient", &grad(adaptive, &p), &grad(steps, &p), 1e-5);
    let f = Function::value_and_gradient(adaptive, &p);
    near("recorded", &f.run(&p).unwrap().1, &grad(steps, &p), 1e-5);
}

#[test]
fn a_solution_that_ends_is_nan_from_there_on() {
    // x' = x^2 from 1 is infinite at 1.
    let x = odeint(
        |x: &Number<_>, _: &Number<_>, _: &Number<_>| x.square(),
        &tensor(1.0),
        &tensor([0.0, 0.5, 2.0]),
        &tensor(0.0),
    );
    assert!((x[1].item() - 2.0).abs() < 1e-6 && x[2].item().is_nan());
    let few = Ode::default().steps(2);
    let x =
        few.solve(|x: &Number<_>, _: &Number<_>, _: &Number<_>| -x, &tensor(1.0), &tensor([0.0, 10.0]), &tensor(0.0));
    assert!(x[1].item().is_nan());
    // One time is that of the start.
    let x = odeint(|x: &Number<_>, _: &Number<_>, _: &Number<_>| -x, &tensor(3.0), &tensor([1.0]), &tensor(0.0));
    assert_eq!(x, [tensor(3.0)]);
}

#[test]
fn stricter_settings_are_more_exact() {
    let at = point();
    let off = |relative: f64| {
        let (start, times, p) = &at;
        let ode = Ode::default().relative(relative).absolute(relative * 1e-2);
        let states = ode.solve(|x: &Number<_>, t: &Number<_>, p: &Number<_>| -(x * t * p), start, times, p);
        (polygrad::stack(states) - known(&at)).abs().max_all().item()
    };
    assert!(off(1e-4) > off(1e-10) && off(1e-4) < 1e-3 && off(1e-10) < 1e-9);
}
