//! Rolls, tiles, differences, cross and Kronecker products, replaced elements.

use polygrad::{Array, BaseTensor, Tensor, build1, iterate, map};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    rolled(x = real([5], 1), m = real([2, 3], 2));
    advection(u = real([6], 3));
    tiled(x = real([2, 3], 4); w = real([4, 3], 5));
    smoothness(x = real([7], 6), m = real([3, 2], 7));
    torques(r = real([4, 3], 8), f = real([4, 3], 9));
    triple_product(a = real([3], 10), b = real([3], 11), c = real([3], 12));
    crossed_in_a_map(r = real([4, 3], 13), b = real([3], 14));
    kronecker(a = real([2, 3], 15), b = real([2, 2], 16); w = real([4, 6], 17));
    kronecker_of_vectors(a = real([2], 18), b = real([3], 19));
    replaced_element(x = real([4], 20), v = Array::from(0.6));
    replaced_row(x = real([3, 2], 21), v = real([2], 22); i = Array::from(1i64));
    replaced_entry(x = real([3, 2], 23); i = Array::from(2i64), outside = Array::from(-1i64));
    replaced_slice(x = real([3, 4], 24), v = real([3, 2], 25));
    added_at_and_on(x = real([4, 2], 26), v = real([2], 27); i = Array::from(3i64));
    replaced_in_a_loop(x = real([5], 28), w = real([5], 29));
    replaced_in_each_row(x = real([3, 4], 30); ix = Array::from([3i64, 0, 7]));
}

fn rolled<T: BaseTensor>(x: &Vector<T>, m: &Matrix<T>) -> Scalar<T> {
    let around = m.roll(1, 1).roll(0, -3);
    (x.roll(0, 2) * x.roll(0, -1).sin()).sum() + (around.square() * m).sum()
}

/// Upwind differences on a circle.
fn advection<T: BaseTensor>(u: &Vector<T>) -> Scalar<T> {
    let (speed, step) = (1.5, 0.2);
    iterate(4, u.clone(), |_, u| &u - (&u - u.roll(0, 1)) * speed * step).square().sum()
}

fn tiled<T: BaseTensor>(x: &Matrix<T>, w: &Matrix<T>) -> Scalar<T> {
    (x.tile([2, 1]) * w).square().sum() + x.tile([3, 2]).sin().sum()
}

fn smoothness<T: BaseTensor>(x: &Vector<T>, m: &Matrix<T>) -> Scalar<T> {
    x.diff(0).square().sum()
        + x.diff(0).diff(0).square().sum() * 0.5
        + (m.diff(0) * m.slice(0, 1..)).sum()
        + m.diff(1).sin().sum()
}

fn torques<T: BaseTensor>(r: &Matrix<T>, f: &Matrix<T>) -> Scalar<T> {
    let each = r.cross(f);
    let total: Vector<T> = each.sum_outer();
    total.square().sum() + r.cross(&f.slice(0, 1..2)).sin().sum()
}

fn triple_product<T: BaseTensor>(a: &Vector<T>, b: &Vector<T>, c: &Vector<T>) -> Scalar<T> {
    a.dot(&b.cross(c)) + a.cross(b).cross(c).square().sum()
}

/// A charged particle in a magnetic field.
fn crossed_in_a_map<T: BaseTensor>(r: &Matrix<T>, b: &Vector<T>) -> Scalar<T> {
    let forces: Matrix<T> = map(r, |v| (v.cross(b) * 1.6 - v * 0.5) * 0.2);
    (forces.sin() * r).sum()
}

fn kronecker<T: BaseTensor>(a: &Matrix<T>, b: &Matrix<T>, w: &Matrix<T>) -> Scalar<T> {
    (a.kron(b) * w).sin().sum() + b.kron(a).square().sum()
}

fn kronecker_of_vectors<T: BaseTensor>(a: &Vector<T>, b: &Vector<T>) -> Scalar<T> {
    (a.kron(b) * b.kron(a)).sum() + a.kron(a).exp().sum()
}

fn replaced_element<T: BaseTensor>(x: &Vector<T>, v: &Scalar<T>) -> Scalar<T> {
    (x.set([2], v).sin() * x).sum()
}

fn replaced_row<T: BaseTensor>(x: &Matrix<T>, v: &Vector<T>, i: &Tensor<T, 0, i64>) -> Scalar<T> {
    (x.set([i], v).square() * x).sum() + x.set([0], &v.sin()).row::<1>(0).dot(v)
}

/// A position out of bounds replaces nothing.
fn replaced_entry<T: BaseTensor>(x: &Matrix<T>, i: &Tensor<T, 0, i64>, outside: &Tensor<T, 0, i64>) -> Scalar<T> {
    let y = x.set((i, 1), &x.at([0, 0])).set([i, outside], &x.sum());
    (y * x).sum()
}

fn replaced_slice<T: BaseTensor>(x: &Matrix<T>, v: &Matrix<T>) -> Scalar<T> {
    let inner = x.set_slice(1, 1, &(v * 2.0));
    let last = inner.set_slice(0, 2, &x.slice(0, ..1).square());
    last.exp().sum()
}

fn added_at_and_on<T: BaseTensor>(x: &Matrix<T>, v: &Vector<T>, i: &Tensor<T, 0, i64>) -> Scalar<T> {
    let y = x.clone().add_at([i], v).add_at((0, i), &v.sum()).add_slice(0, 1, &x.slice(0, 2..).sin());
    (y.square() * x).sum()
}

fn replaced_in_a_loop<T: BaseTensor>(x: &Vector<T>, w: &Vector<T>) -> Scalar<T> {
    let last = iterate(4, x.clone(), |i, y| {
        let value = (y.at([i]) * w.at([i])).sin() + w.at([i + 1]);
        y.set([i + 1], &value)
    });
    last.dot(&last)
}

fn replaced_in_each_row<T: BaseTensor>(x: &Matrix<T>, ix: &Tensor<T, 1, i64>) -> Scalar<T> {
    let y: Matrix<T> = build1(3, |i| x.at([i]).set([ix.at([i])], &x.at([i]).sum()));
    (y * x).square().sum()
}
