//! Unconstrained parameters from constrained ones: the inverses of the transforms of [`constrain`](super::constrain).
//!
//! They say where a sampler or optimizer begins. Law: `constrain` of the result is the argument, up to rounding. On a
//! border of the domain the result is infinite, and outside it NaN.
//!
//! ```
//! use polygrad::{Tensor, stats::{constrain, unconstrain}, tensor};
//! let near = |a: &Tensor<_, 1>, b: &Tensor<_, 1>| (a - b).abs().max_all().item() < 1e-14;
//! let u = tensor([0.5, -0.25]);
//! assert!(near(&unconstrain::positive(&constrain::positive(&u).0), &u));
//! assert!(near(&unconstrain::lower(&constrain::lower(&u, 3.0).0, 3.0), &u));
//! assert!(near(&unconstrain::upper(&constrain::upper(&u, 3.0).0, 3.0), &u));
//! assert!(near(&unconstrain::interval(&constrain::interval(&u, -1.0, 3.0).0, -1.0, 3.0), &u));
//! assert!(near(&unconstrain::ordered(&constrain::ordered(&u).0), &u));
//! assert!(near(&unconstrain::positive_ordered(&constrain::positive_ordered(&u).0), &u));
//! assert!(near(&unconstrain::simplex(&constrain::simplex(&u).0), &u));
//! let u = tensor([0.5, -0.25, 0.75]);
//! assert!(near(&unconstrain::cholesky_corr(&constrain::cholesky_corr(&u).0), &u));
//! assert!(near(&unconstrain::corr(&constrain::corr(&u).0), &u));
//! assert!(near(&unconstrain::cholesky_cov(&constrain::cholesky_cov(&u).0), &u));
//! // The bound itself.
//! assert_eq!(unconstrain::interval(&tensor(-1.0), -1.0, 3.0).item(), f64::NEG_INFINITY);
//! ```

use super::constrain::{helmert, left, numbers};
use super::domain::{Constrained, unconstrained_tree};
use super::loose::{Loose, fitting};
use super::real;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Unary;
use crate::shape::Show;
use crate::tensor::{Operand, Tensor, concat};
use crate::tree::Tree;

/// `ln x`, the inverse of [`positive`](super::constrain::positive).
///
/// Example: [`unconstrain`](self).
#[track_caller]
pub fn positive<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    x.ln()
}

/// `ln(x - bound)`, the inverse of [`lower`](super::constrain::lower).
///
/// Example: [`unconstrain`](self).
#[track_caller]
pub fn lower<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    bound: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    let bound = real(&bound);
    fitting("lower", &[x.raw(), bound.raw()]);
    (Loose::new(x.raw().clone()) - bound).ln().tensor(x.raw().shape())
}

/// `ln(bound - x)`, the inverse of [`upper`](super::constrain::upper).
///
/// Example: [`unconstrain`](self).
#[track_caller]
pub fn upper<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    bound: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    let bound = real(&bound);
    fitting("upper", &[x.raw(), bound.raw()]);
    (bound - Loose::new(x.raw().clone())).ln().tensor(x.raw().shape())
}

/// `ln(x - low) - ln(high - x)`, the inverse of [`interval`](super::constrain::interval).
///
/// Example: [`unconstrain`](self).
#[track_caller]
pub fn interval<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    low: impl Operand<T, D, E>,
    high: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    let (low, high) = (real(&low), real(&high));
    fitting("interval", &[x.raw(), low.raw(), high.raw()]);
    let x = Loose::new(x.raw().clone());
    ((&x - low).map(Unary::Ln) - (high - &x).ln()).tensor(x.raw().shape())
}

/// The steps from each element to the next, the first from 0.
#[track_caller]
fn steps<T: BaseTensor, E: Float>(x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
    x - x.pad([(1, 0)]).slice(0, ..x.len())
}

/// The inverse of [`ordered`](super::constrain::ordered): the first element, then the logarithms of the steps.
///
/// Example: [`unconstrain`](self).
#[track_caller]
pub fn ordered<T: BaseTensor, E: Float>(x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
    let first = Tensor::<T, 1, bool>::from_fn([x.len()], |[k]| k == 0);
    first.select(x, steps(x).ln())
}

/// The inverse of [`positive_ordered`](super::constrain::positive_ordered): the logarithms of the steps.
///
/// Example: [`unconstrain`](self).
#[track_caller]
pub fn positive_ordered<T: BaseTensor, E: Float>(x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
    steps(x).ln()
}

/// The inverse of [`simplex`](super::constrain::simplex): with `z = ln x`,
/// `u[k] = (sum_(j <= k) z[j] - (k + 1) z[k + 1]) / sqrt((k + 1) (k + 2))`.
///
/// Example: [`unconstrain`](self).
///
/// # Panics
/// When the tensor has no elements.
#[track_caller]
pub fn simplex<T: BaseTensor, E: Float>(x: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
    let n = x.len();
    if n == 0 {
        panic!("simplex: the vector must have an element, since its sum is 1, but it has none; give it one");
    }
    let z = x.ln();
    (z.cumsum(0).slice(0, ..n - 1) - z.slice(0, 1..) * numbers(n - 1)) / helmert(n - 1)
}

/// The lower triangle of a square matrix, row by row, with its diagonal or without.
#[track_caller]
fn lower_triangle<T: BaseTensor, E: Float>(op: &str, x: &Tensor<T, 2, E>, diagonal: bool) -> Tensor<T, 1, E> {
    let [n, columns] = x.shape();
    if n != columns {
        panic!("{op}: the factor must be a square matrix, but its shape is {}; give one matrix", Show(&x.shape()));
    }
    let more = usize::from(diagonal);
    let rows: Vec<_> = (0..n).map(|i| x.row::<1>(i).slice(0, ..i + more)).collect();
    if rows.is_empty() { Tensor::zeros([0]) } else { concat(0, rows) }
}

/// The inverse of [`cholesky_corr`](super::constrain::cholesky_corr), of the lower triangle:
/// `atanh(l[i, j] / sqrt(1 - sum_(k < j) l[i, k]^2))` for `j < i`, row by row.
///
/// Example: [`unconstrain`](self).
///
/// # Panics
/// When the matrix is not square.
#[track_caller]
pub fn cholesky_corr<T: BaseTensor, E: Float>(l: &Tensor<T, 2, E>) -> Tensor<T, 1, E> {
    let below = lower_triangle("cholesky_corr", l, false);
    let rest = lower_triangle("cholesky_corr", &(-left(&l.square()) + E::ONE), false);
    (below / rest.sqrt()).atanh()
}

/// The inverse of [`cholesky_cov`](super::constrain::cholesky_cov): the lower triangle, row by row, with the logarithms
/// of the diagonal.
///
/// Example: [`unconstrain`](self).
///
/// # Panics
/// When the matrix is not square.
#[track_caller]
pub fn cholesky_cov<T: BaseTensor, E: Float>(l: &Tensor<T, 2, E>) -> Tensor<T, 1, E> {
    let diagonal = Tensor::<T, 2, bool>::from_fn(l.shape(), |[i, j]| i == j);
    lower_triangle("cholesky_cov", &diagonal.select(l.ln(), l), true)
}

/// The inverse of [`corr`](super::constrain::corr), of the lower triangle: that of the Cholesky factor.
///
/// Example: [`unconstrain`](self).
///
/// # Panics
/// When the matrix is not square.
#[track_caller]
pub fn corr<T: BaseTensor, E: Float>(c: &Tensor<T, 2, E>) -> Tensor<T, 1, E> {
    cholesky_corr(&c.cholesky())
}

/// The unconstrained parameters of a tree, by the [`Domain`](super::Domain) of each leaf: the inverse of
/// [`constrain::tree`](super::constrain::tree).
///
/// Example: [`Constrained`](trait@super::Constrained).
///
/// # Panics
/// When a leaf has a shape that its domain does not have, or it has no floats.
#[track_caller]
pub fn tree<P: Tree<Array> + Constrained>(x: &P) -> Tensor<Array, 1> {
    unconstrained_tree(x)
}
