//! A batch of `n` takes at most `n` times the instructions of one: `vmap` of a function beside calls of the function.

use std::hint::black_box;

use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, grad, iterate, vmap};

use crate::Law;
use crate::count::Side;

/// How many rows a batch has.
const BATCH: usize = 50;

type V<T> = Tensor<T, 1>;
type M<T> = Tensor<T, 2>;

fn array(shape: &[usize]) -> Array {
    Array::uniform(shape, 0.1, 1.0, 5)
}

/// The square matrix of the numbers, with a diagonal that outweighs its rows.
fn square<T: BaseTensor>(x: &V<T>, n: usize) -> M<T> {
    x.reshape([n, n]) + n as f64 * Tensor::eye(n)
}

/// The law of a function of a vector of this length.
macro_rules! batch {
    ($laws:ident, $name:expr, $len:expr, $f:expr) => {{
        let (name, len): (String, usize) = (format!("{}, of {}", $name, $len), $len);
        let one = Side::new(format!("{name}, one"), move || {
            let x: V<Concrete> = Tensor::from_raw(array(&[len]));
            let f = Function::stage($f, &x);
            move || drop(black_box(f.run(&x)))
        });
        let many = Side::new(format!("{name}, {BATCH}"), move || {
            let x: M<Concrete> = Tensor::from_raw(array(&[BATCH, len]));
            let f = Function::stage(|x: &M<_>| -> M<_> { vmap($f)(x) }, &x);
            move || drop(black_box(f.run(&x)))
        });
        $laws.push(Law { kind: "batch", factor: 1.02, whole: many, parts: vec![(BATCH as f64, one)] });
    }};
}

pub(crate) fn laws() -> Vec<Law> {
    let mut laws = Vec::new();
    for n in [2, 3, 5, 8, 12, 20] {
        batch!(laws, "a product with a matrix", n * n, move |x: &V<_>| x.reshape([n, n]).matvec(&x.slice(0, ..n)));
        batch!(laws, "a product of matrices", n * n, move |x: &V<_>| x
            .reshape([n, n])
            .matmul(&x.reshape([n, n]))
            .flatten());
        batch!(laws, "a determinant", n * n, move |x: &V<_>| square(x, n).det::<0>().reshape([1]));
        batch!(laws, "a system of equations", n * n, move |x: &V<_>| square(x, n).solve(&x.slice(0, ..n)));
        batch!(laws, "an inverse", n * n, move |x: &V<_>| square(x, n).inverse().flatten());
        batch!(laws, "a factorization of Cholesky", n * n, move |x: &V<_>| {
            let a = square(x, n);
            (&a + a.t::<0>()).cholesky().flatten()
        });
    }
    for n in [3, 8, 33, 100] {
        batch!(laws, "a softmax", n, |x: &V<_>| x.softmax(0));
        batch!(laws, "a sort", n, |x: &V<_>| x.sort(0));
        batch!(laws, "the two largest", n, |x: &V<_>| x.top_k(0, 2).0);
        batch!(laws, "running sums", n, |x: &V<_>| x.cumsum(0));
        batch!(laws, "running products", n, |x: &V<_>| x.cumprod(0));
        batch!(laws, "running maxima", n, |x: &V<_>| x.cummax(0));
        batch!(laws, "a gradient", n, |x: &V<_>| grad(|x: &V<_>| (x.square().sum() + 1.0).ln(), x));
        batch!(laws, "a loop", n, |x: &V<_>| iterate(10, x.clone(), |_, y: V<_>| &y + 0.1 * (x - &y.square())));
    }
    laws
}
