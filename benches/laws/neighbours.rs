//! No cliff between neighbouring sizes: an axis that is longer by one costs at most half more, per element.

use std::hint::black_box;

use polygrad::shape::size;
use polygrad::{Array, Concrete, Function, Tensor, einsum};

use crate::Law;
use crate::count::Side;

/// About how many elements an input has.
const ELEMENTS: usize = 4000;

/// Where the pairs of neighbours are: all short lengths but 1, of which nothing is left, and those around powers of two.
const LENGTHS: &[usize] = &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65];

/// The laws of a function of a tensor; `$shape` gives the shape for a length `n` of one axis.
macro_rules! along {
    ($laws:ident, $name:expr, $e:ty, $shape:expr, $f:expr) => {{
        let shape: fn(usize) -> [usize; 3] = $shape;
        let side = |n: usize| {
            Side::new(format!("{}, {}, of {n}", $name, stringify!($e)), move || {
                let x: Tensor<Concrete, 3, $e> =
                    Tensor::from_raw(Array::uniform(&shape(n), 0.1, 1.0, 3).cast::<$e>());
                let f = Function::stage($f, &x);
                move || drop(black_box(f.run(&x)))
            })
        };
        for pair in LENGTHS.windows(2).filter(|pair| pair[0] + 1 == pair[1]) {
            for [n, m] in [[pair[1], pair[0]], [pair[0], pair[1]]] {
                let share = size(&shape(n)) as f64 / size(&shape(m)) as f64;
                $laws.push(Law { kind: "neighbours", factor: 1.5, whole: side(n), parts: vec![(share, side(m))] });
            }
        }
    }};
}

/// Innermost, in the middle, outermost.
const INNER: fn(usize) -> [usize; 3] = |n| [ELEMENTS / (4 * n), 4, n];
const MIDDLE: fn(usize) -> [usize; 3] = |n| [ELEMENTS / (4 * n), n, 4];
const OUTER: fn(usize) -> [usize; 3] = |n| [n, ELEMENTS / (4 * n), 4];
/// Matrices with rows of `n`, and batches of square ones.
const ROWS: fn(usize) -> [usize; 3] = |n| [1, ELEMENTS / n, n];
const SQUARES: fn(usize) -> [usize; 3] = |n| [(ELEMENTS / (n * n)).max(1), n, n];

/// The laws of sums and products, in one element type.
macro_rules! products {
    ($laws:ident, $e:ty) => {
        along!($laws, "sum of an inner axis", $e, INNER, |x: &T<_, $e>| x.sum_axis::<2>(2));
        along!($laws, "sum of a middle axis", $e, MIDDLE, |x: &T<_, $e>| x.sum_axis::<2>(1));
        along!($laws, "sum of an outer axis", $e, OUTER, |x: &T<_, $e>| x.sum_axis::<2>(0));
        along!($laws, "matrix times vector", $e, ROWS, |x: &T<_, $e>| -> Tensor<_, 1, $e> {
            einsum("bij,bkj->i", [x, &x.slice(1, ..1)])
        });
        along!($laws, "vector times matrix", $e, ROWS, |x: &T<_, $e>| -> Tensor<_, 1, $e> {
            einsum("bij,bik->j", [x, &x.slice(2, ..1)])
        });
        along!($laws, "Gram matrix of rows", $e, SQUARES, |x: &T<_, $e>| -> T<_, $e> {
            einsum("bij,bkj->bik", [x, x])
        });
        along!($laws, "squares of matrices", $e, SQUARES, |x: &T<_, $e>| -> T<_, $e> {
            einsum("bij,bjk->bik", [x, x])
        });
        along!($laws, "outer products", $e, ROWS, |x: &T<_, $e>| -> Tensor<_, 2, $e> {
            einsum("bij,blk->ik", [&x.slice(2, ..1), &x.slice(1, ..1)])
        });
    };
}

type T<T, E = f64> = Tensor<T, 3, E>;

pub(crate) fn laws() -> Vec<Law> {
    let mut laws = Vec::new();
    products!(laws, f64);
    products!(laws, f32);
    along!(laws, "largest along an inner axis", f64, INNER, |x: &T<_>| x.max_axis::<2>(2));
    along!(laws, "largest along a middle axis", f64, MIDDLE, |x: &T<_>| x.max_axis::<2>(1));
    along!(laws, "position of the largest", f64, INNER, |x: &T<_>| x.argmax_axis::<2>(2));
    along!(laws, "softmax of an inner axis", f64, INNER, |x: &T<_>| x.softmax::<2>(2));
    along!(laws, "softmax of a middle axis", f64, MIDDLE, |x: &T<_>| x.softmax::<2>(1));
    along!(laws, "running sums of an inner axis", f64, INNER, |x: &T<_>| x.cumsum(2));
    along!(laws, "running sums of a middle axis", f64, MIDDLE, |x: &T<_>| x.cumsum(1));
    along!(laws, "sort of an inner axis", f64, INNER, |x: &T<_>| x.sort(2));
    along!(laws, "transposition", f64, MIDDLE, |x: &T<_>| x.permute([2, 1, 0]) + 0.5);
    along!(laws, "reversal", f64, INNER, |x: &T<_>| x.reverse(2) + 0.5);
    along!(laws, "padding", f64, INNER, |x: &T<_>| x.pad([(0, 0), (0, 0), (1, 1)]) + 0.5);
    along!(laws, "windows", f64, INNER, |x: &T<_>| x.pad([(0, 0), (0, 0), (1, 1)]).cumsum(2));
    laws
}
