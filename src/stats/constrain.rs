//! Constrained parameters from unconstrained ones, with the logarithm of the Jacobian determinant of the transform.
//!
//! A sampler or optimizer moves over all real vectors. A model whose parameters have bounds takes unconstrained ones,
//! makes constrained ones of them, and adds the logarithms of the Jacobians to the log density, so that the density is
//! that of the unconstrained parameters. The inverses are in [`unconstrain`](super::unconstrain).
//!
//! ```
//! use polygrad::stats::{constrain, exponential, gamma};
//! use polygrad::{BaseTensor, FlatFunction, Tensor, Tree, tensor};
//! #[derive(Tree, Clone)]
//! struct Rates<T: BaseTensor> {
//!     log_rate: Tensor<T, 0>,
//! }
//! fn log_density<T: BaseTensor>(free: &Rates<T>, waits: &Tensor<T, 1>) -> Tensor<T, 0> {
//!     let (rate, jacobian) = constrain::positive(&free.log_rate);
//!     gamma(&rate, 2.0, 1.0) + exponential(waits, &rate).sum() + jacobian
//! }
//! let f = FlatFunction::new_with(log_density, &Rates { log_rate: tensor(0.0) }, &tensor([0.5, 1.5]));
//! // The derivative in the logarithm of the rate: (2 + 2) - (1 + 2) rate.
//! let mut slope = [0.0];
//! f.value_and_grad(&[0.0], &mut slope);
//! assert!((slope[0] - 1.0).abs() < 1e-14);
//! ```
//!
//! | constrained | transform of `u` | logarithm of the Jacobian |
//! |---|---|---|
//! | [`positive`], [`lower`] | `bound + e^u` | `u` |
//! | [`upper`] | `bound - e^u` | `u` |
//! | [`interval`] | `low + (high - low) sigmoid(u)` | `ln(high - low) + ln sigmoid(u) + ln sigmoid(-u)` |
//! | [`ordered`] | `u[0]`, then steps `e^u[k]` | `sum_k u[k]` from 1 on |
//! | [`positive_ordered`] | steps `e^u[k]` from 0 | `sum_k u[k]` |
//! | [`simplex`] | isometric log-ratio | `sum_k ln x[k] + ln(n) / 2` |
//! | [`cholesky_corr`] | rows by partial correlations `tanh u` | see there |
//! | [`corr`] | the product of that factor and its transpose | see there |
//! | [`cholesky_cov`] | `e^u` on the diagonal | the sum of `u` on the diagonal |
//!
//! Law: the Jacobian is that of the free elements of the result: all elements but the last one of a simplex, those
//! below the diagonal of a correlation matrix or its factor, the lower triangle of that of a covariance. It is one
//! number, the sum over all elements. The definitions are those of the Stan reference manual, "Constraint transforms",
//! whose simplex is the isometric log-ratio in place of the former stick breaking. Bounds may be parameters.

use super::domain::{Constrained, constrained_tree};
use super::loose::{Loose, fitting, positive as scales};
use super::real;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Operand, Tensor, concat};
use crate::tree::Tree;

/// The sum of all elements of a value in a shape.
#[track_caller]
fn summed<T: BaseTensor, const D: usize, E: Float>(value: &Loose<T, E>, shape: &[usize]) -> Tensor<T, 0, E> {
    value.tensor::<D>(shape).sum()
}

/// Positive numbers: [`lower`] with the bound 0.
///
/// ```
/// use polygrad::{stats::constrain::{interval, lower, positive, upper}, tensor};
/// let (x, jacobian) = positive(&tensor([0.0, 2f64.ln()]));
/// assert_eq!((x, jacobian.item()), (tensor([1.0, 2.0]), 2f64.ln()));
/// assert_eq!((lower(&tensor(0.0), 3.0).0, upper(&tensor(0.0), 3.0).0), (tensor(4.0), tensor(2.0)));
/// assert_eq!(interval(&tensor(0.0), -1.0, 3.0), (tensor(1.0), tensor(0.0)));
/// ```
#[track_caller]
pub fn positive<T: BaseTensor, const D: usize, E: Float>(u: &Tensor<T, D, E>) -> (Tensor<T, D, E>, Tensor<T, 0, E>) {
    (u.exp(), u.sum())
}

/// Numbers above a bound, `bound + e^u`, and the sum of `u`.
///
/// Example: [`positive`].
#[track_caller]
pub fn lower<T: BaseTensor, const D: usize, E: Float>(
    u: &Tensor<T, D, E>,
    bound: impl Operand<T, D, E>,
) -> (Tensor<T, D, E>, Tensor<T, 0, E>) {
    let bound = real(&bound);
    let shape = fitting("lower", &[u.raw(), bound.raw()]);
    let free = Loose::new(u.raw().clone()).stretched(&shape);
    ((bound + free.exp()).tensor(&shape), summed::<T, D, E>(&free, &shape))
}

/// Numbers below a bound, `bound - e^u`, and the sum of `u`.
///
/// Example: [`positive`].
#[track_caller]
pub fn upper<T: BaseTensor, const D: usize, E: Float>(
    u: &Tensor<T, D, E>,
    bound: impl Operand<T, D, E>,
) -> (Tensor<T, D, E>, Tensor<T, 0, E>) {
    let bound = real(&bound);
    let shape = fitting("upper", &[u.raw(), bound.raw()]);
    let free = Loose::new(u.raw().clone()).stretched(&shape);
    ((bound - free.exp()).tensor(&shape), summed::<T, D, E>(&free, &shape))
}

/// Numbers in an interval, `low + (high - low) sigmoid(u)`, and the sum of the logarithms of the derivatives.
///
/// The bounds may be parameters. Where they are not an interval, the logarithm of the Jacobian is `-inf`.
///
/// Example: [`positive`].
#[track_caller]
pub fn interval<T: BaseTensor, const D: usize, E: Float>(
    u: &Tensor<T, D, E>,
    low: impl Operand<T, D, E>,
    high: impl Operand<T, D, E>,
) -> (Tensor<T, D, E>, Tensor<T, 0, E>) {
    let (low, high) = (real(&low), real(&high));
    let shape = fitting("interval", &[u.raw(), low.raw(), high.raw()]);
    let free = Loose::new(u.raw().clone()).stretched(&shape);
    let ([width], wrong) = scales([&(high - &low)]);
    let logs = wrong.impossible(&width.ln()) - free.softplus() - free.neg().softplus();
    ((low + width * free.sigmoid()).tensor(&shape), summed::<T, D, E>(&logs, &shape))
}

/// The mask of the first element of a vector of this length.
fn first<T: BaseTensor>(n: usize) -> Tensor<T, 1, bool> {
    Tensor::from_fn([n], |[k]| k == 0)
}

/// A vector whose elements rise: `u[0]`, then each the one before and `e^u[k]`.
///
/// ```
/// use polygrad::{stats::constrain::{ordered, positive_ordered}, tensor};
/// let (x, jacobian) = ordered(&tensor([-1.0, 0.0, 2f64.ln()]));
/// assert_eq!((x, jacobian.item()), (tensor([-1.0, 0.0, 2.0]), 2f64.ln()));
/// assert_eq!(positive_ordered(&tensor([0.0, 2f64.ln()])).0, tensor([1.0, 3.0]));
/// ```
#[track_caller]
pub fn ordered<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>) -> (Tensor<T, 1, E>, Tensor<T, 0, E>) {
    let first = first(u.len());
    (first.select(u, u.exp()).cumsum(0), first.select(E::ZERO, u).sum())
}

/// A vector of positive elements that rise: each the one before, at first 0, and `e^u[k]`.
///
/// Example: [`ordered`].
#[track_caller]
pub fn positive_ordered<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>) -> (Tensor<T, 1, E>, Tensor<T, 0, E>) {
    (u.exp().cumsum(0), u.sum())
}

/// `sqrt(k (k + 1))` for `k` from 1 to `n`, the lengths of the vectors of a Helmert basis.
pub(super) fn helmert<T: BaseTensor, E: Float>(n: usize) -> Tensor<T, 1, E> {
    Tensor::from_fn([n], |[k]| E::of_f64(((k + 1) as f64 * (k + 2) as f64).sqrt()))
}

/// The numbers from 1 to `n`.
pub(super) fn numbers<T: BaseTensor, E: Float>(n: usize) -> Tensor<T, 1, E> {
    Tensor::from_fn([n], |[k]| E::of_f64((k + 1) as f64))
}

/// A vector of `n` positive elements with sum 1, from `n - 1` numbers: the softmax of the vector with sum 0 whose
/// coordinates in a Helmert basis are `u`.
///
/// With `w[k] = u[k] / sqrt((k + 1) (k + 2))` that vector is `z[k] = sum_(j >= k) w[j] - k w[k - 1]`, and the result is
/// `e^z / sum_k e^z[k]`.
///
/// ```
/// use polygrad::{stats::constrain::simplex, tensor};
/// let (x, jacobian) = simplex(&tensor([0f64, 0.0]));
/// assert!((x.sum().item() - 1.0).abs() < 1e-15 && (x.row::<0>(2).item() - 1.0 / 3.0).abs() < 1e-15);
/// assert!((jacobian.item() + 2.5 * 3f64.ln()).abs() < 1e-14);
/// ```
#[track_caller]
pub fn simplex<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>) -> (Tensor<T, 1, E>, Tensor<T, 0, E>) {
    let n = u.len() + 1;
    let w = u / helmert(n - 1);
    let none = Tensor::zeros([1]);
    let z = concat(0, (w.cumsum_reverse(0), &none)) - concat(0, (none, w * numbers(n - 1)));
    let logs = z.log_softmax::<0>(0);
    (logs.exp(), logs.sum().shift(0.5 * (n as f64).ln()))
}

/// The number of rows of a triangle of `m` elements, with its diagonal or without.
#[track_caller]
fn rows(op: &str, m: usize, diagonal: bool) -> usize {
    let k = (0..).find(|k| k * (k + 1) / 2 >= m).unwrap_or(0);
    if k * (k + 1) / 2 != m {
        panic!(
            "{op}: the numbers must fill a triangle, of 1, 3, 6 or n (n + 1) / 2 elements, but there are {m}; pad the vector, \
             or slice it"
        );
    }
    if diagonal { k } else { k + 1 }
}

/// The matrix with the elements of a vector in a triangle, row by row, and 0 elsewhere.
#[track_caller]
fn triangle<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>, n: usize, diagonal: bool) -> Tensor<T, 2, E> {
    let more = usize::from(diagonal);
    let places = Tensor::<T, 2, i64>::from_fn([n, n], |[i, j]| match j < i + more {
        true if diagonal => (i * (i + 1) / 2 + j) as i64,
        true => (i * (i - 1) / 2 + j) as i64,
        false => -1,
    });
    u.gather::<_, 1, 2, 0, 2>([&places])
}

/// The sums of all elements to the left in each row.
#[track_caller]
pub(super) fn left<T: BaseTensor, E: Float>(x: &Tensor<T, 2, E>) -> Tensor<T, 2, E> {
    let n = x.shape()[1];
    x.pad([(0, 0), (1, 0)]).slice(1, ..n).cumsum(1)
}

/// The Cholesky factor of an `n` x `n` correlation matrix, from `n (n - 1) / 2` numbers, row by row: a lower triangle
/// with a positive diagonal whose rows have norm 1.
///
/// With `z[i, j] = tanh u[i, j]` for `j < i`, and `c[i, j] = prod_(k < j) (1 - z[i, k]^2)`, the element below the
/// diagonal is `z[i, j] sqrt(c[i, j])`, and that on the diagonal is `sqrt(c[i, i])`. The logarithm of the Jacobian is
/// `sum_(j < i) (ln(1 - z[i, j]^2) + ln(c[i, j]) / 2)`.
///
/// ```
/// use polygrad::{stats::constrain::{cholesky_corr, cholesky_cov}, tensor};
/// let (l, _) = cholesky_corr(&tensor([0.6f64.atanh()]));
/// assert!((l - tensor([[1.0, 0.0], [0.6, 0.8]])).abs().max_all().item() < 1e-15);
/// let (l, jacobian) = cholesky_cov(&tensor([0.0, 3.0, 2f64.ln()]));
/// assert_eq!((l, jacobian.item()), (tensor([[1.0, 0.0], [3.0, 2.0]]), 2f64.ln()));
/// ```
///
/// # Panics
/// When the length of `u` is no `n (n - 1) / 2`.
#[track_caller]
pub fn cholesky_corr<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>) -> (Tensor<T, 2, E>, Tensor<T, 0, E>) {
    let (l, jacobian, _) = corr_factor("cholesky_corr", u);
    (l, jacobian)
}

/// [`cholesky_corr`], with the logarithms of the diagonal of the factor, which may underflow.
#[track_caller]
fn corr_factor<T: BaseTensor, E: Float>(
    op: &str,
    u: &Tensor<T, 1, E>,
) -> (Tensor<T, 2, E>, Tensor<T, 0, E>, Tensor<T, 1, E>) {
    let n = rows(op, u.len(), false);
    let u = triangle(u, n, false);
    // ln(1 - tanh(u)^2) = 2 (u + ln 2 - ln(1 + e^(2 u))), which does not overflow.
    let logs = (&u - u.scale(2.0).softplus()).shift(std::f64::consts::LN_2).scale(2.0).tril(-1);
    let before = left(&logs).scale(0.5);
    let l = (u.tanh() + Tensor::eye(n)) * before.exp();
    (l.tril(0), logs.sum() + before.tril(-1).sum(), before.diagonal(0, 1))
}

/// The Cholesky factor of an `n` x `n` covariance matrix, from `n (n + 1) / 2` numbers, row by row: a lower triangle
/// with `e^u` on the diagonal, and `u` below. The logarithm of the Jacobian is the sum of `u` on the diagonal.
///
/// Example: [`cholesky_corr`].
///
/// # Panics
/// When the length of `u` is no `n (n + 1) / 2`.
#[track_caller]
pub fn cholesky_cov<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>) -> (Tensor<T, 2, E>, Tensor<T, 0, E>) {
    let n = rows("cholesky_cov", u.len(), true);
    let u = triangle(u, n, true);
    let diagonal: Tensor<T, 1, E> = u.diagonal(0, 1);
    (u.tril(-1) + diagonal.exp().diag(), diagonal.sum())
}

/// An `n` x `n` correlation matrix, from `n (n - 1) / 2` numbers: `c = l l^T` for the factor `l` of [`cholesky_corr`]. The
/// logarithm of the Jacobian has `sum_i (n - 1 - i) ln l[i, i]` in addition, since each row of `c` is a product of all rows
/// of `l` before it.
///
/// ```
/// use polygrad::{stats::constrain::corr, tensor};
/// let (c, jacobian) = corr(&tensor([0.6f64.atanh()]));
/// assert!((c - tensor([[1.0, 0.6], [0.6, 1.0]])).abs().max_all().item() < 1e-15);
/// assert!((jacobian.item() - (1.0 - 0.36f64).ln()).abs() < 1e-15);
/// ```
///
/// # Panics
/// When the length of `u` is no `n (n - 1) / 2`.
#[track_caller]
pub fn corr<T: BaseTensor, E: Float>(u: &Tensor<T, 1, E>) -> (Tensor<T, 2, E>, Tensor<T, 0, E>) {
    let (l, jacobian, logs) = corr_factor("corr", u);
    let n = logs.len();
    let times = Tensor::<T, 1, E>::from_fn([n], |[i]| E::of_f64((n - 1 - i) as f64));
    (l.matmul(&l.t()), jacobian + (logs * times).sum())
}

/// A tree like this one with these unconstrained parameters, by the [`Domain`](super::Domain) of each leaf, and the
/// logarithm of the Jacobian of all. The parameters of all leaves lie one after the other.
///
/// Example: [`Constrained`](trait@super::Constrained).
///
/// # Panics
/// When there are more or fewer parameters than the tree needs, a leaf has a shape that its domain does not have, or it
/// has no floats.
#[track_caller]
pub fn tree<T: BaseTensor, P: Tree<Array> + Constrained>(like: &P, u: &Tensor<T, 1>) -> (P::With<T>, Tensor<T, 0>) {
    constrained_tree(like, u)
}
