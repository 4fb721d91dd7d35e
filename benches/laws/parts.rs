//! The whole takes at most the sum of its parts: a composition fuses, or at least costs nothing more.

use std::hint::black_box;

use polygrad::{Array, Concrete, Function, Tensor, concat};

use crate::Law;
use crate::count::Side;

/// A matrix of numbers in `(0.1, 1)`.
fn matrix(shape: [usize; 2]) -> Tensor<Concrete, 2> {
    Tensor::from_raw(Array::uniform(&shape, 0.1, 1.0, 7))
}

/// The side of a function of a matrix.
macro_rules! of {
    ($name:expr, $shape:expr, $f:expr) => {{
        let (name, shape): (String, [usize; 2]) = ($name.to_string(), $shape);
        Side::new(format!("{name} {shape:?}"), move || {
            let x = matrix(shape);
            let f = Function::stage($f, &x);
            move || drop(black_box(f.run(&x)))
        })
    }};
}

/// The law of a composition `g(f(x))`, for `f` with a result of this shape.
macro_rules! composed {
    ($laws:ident, $name:expr, $shape:expr, $f:expr, $between:expr, $g:expr) => {
        $laws.push(Law {
            kind: "whole",
            factor: 1.02,
            whole: of!(format!("{}, both", $name), $shape, |x: &Tensor<_, 2>| ($g)(&($f)(x))),
            parts: vec![
                (1.0, of!(format!("{}, first", $name), $shape, |x: &Tensor<_, 2>| ($f)(x))),
                (1.0, of!(format!("{}, second", $name), $between, |x: &Tensor<_, 2>| ($g)(x))),
            ],
        })
    };
}

pub(crate) fn laws() -> Vec<Law> {
    let mut laws = Vec::new();
    for [m, n] in [[1000, 3], [300, 10], [90, 33], [30, 100], [3, 1000]] {
        let s = [m, n];
        type M<T> = Tensor<T, 2>;
        composed!(laws, "exp, divided by sums", s, |x: &M<_>| x.exp(), s, |e: &M<_>| e / e
            .sum_axis::<1>(1)
            .insert_axis::<2>(1));
        composed!(laws, "centered, squared", s, |x: &M<_>| x - x.mean_axis::<1>(1).insert_axis::<2>(1), s, |x: &M<
            _,
        >| {
            x.square()
        });
        composed!(laws, "columns' sums of squares", s, |x: &M<_>| x.square(), s, |x: &M<_>| x
            .sum_axis::<1>(0)
            .insert_axis::<2>(0));
        composed!(laws, "transposed, tanh", s, |x: &M<_>| x.t(), [n, m], |x: &M<_>| x.tanh());
        composed!(laws, "reversed, plus", s, |x: &M<_>| x.reverse(1), s, |x: &M<_>| x + 0.5);
        composed!(laws, "twice, exp", s, |x: &M<_>| concat(1, [x, x]), [m, 2 * n], |x: &M<_>| x.exp());
        composed!(laws, "rolled, squared", s, |x: &M<_>| x.roll(1, 1), s, |x: &M<_>| x.square());
        composed!(laws, "padded, sums", s, |x: &M<_>| x.pad([(0, 0), (1, 1)]), [m, n + 2], |x: &M<_>| x
            .sum_axis::<1>(1)
            .insert_axis::<2>(1));
        composed!(laws, "running sums, exp", s, |x: &M<_>| x.cumsum(1), s, |x: &M<_>| x.exp());
        composed!(laws, "sorted, differences", s, |x: &M<_>| x.sort(1), s, |x: &M<_>| x.slice(1, 1..)
            - x.slice(1, ..x.shape()[1] - 1));
        composed!(laws, "a product, relu", s, |x: &M<_>| x.matmul(&x.t::<0>()), [m, m], |x: &M<_>| x.relu());
        composed!(
            laws,
            "an outer product, squared",
            s,
            |x: &M<_>| x.flatten().outer::<1, 2>(&x.slice(0, ..1).flatten()),
            [m * n, n],
            |x: &M<_>| x.square()
        );
    }
    laws
}
