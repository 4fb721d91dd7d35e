//! Densities of vectors, and of the Cholesky factor of a correlation matrix.
//!
//! Law: one log density for each vector along the last axis, or for the matrix; see [the module](super) for borders.

use super::formulas::{Summands, ln_pi, ln_root_tau};
use super::loose::{Loose, fitting, positive};
use super::real;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Binary;
use crate::shape::Show;
use crate::tensor::{Above, Operand, Rank, Tensor, cond};

/// Normal distribution of vectors along the last axis, by the Cholesky factor `l` of the covariance: with
/// `l z = x - mean`, `-z . z / 2 - sum_k ln l[k, k] - n ln(2 pi) / 2`.
///
/// Of `l` only the lower triangle is read. Where an element of its diagonal is not a positive finite number, the log
/// density is `-inf`. An infinite outcome gives `-inf` or NaN, with derivatives that are not finite.
///
/// ```
/// use polygrad::{stats::{multi_normal_cholesky, normal}, tensor};
/// let l = tensor([[2.0, 0.0], [0.5, 1.0]]);
/// let x = tensor([[1.0, 2.0], [0.0, 0.0]]);
/// let expected = normal(&tensor(1.0), 0.0, 2.0) + normal(&tensor(2.0), 0.25, 1.0);
/// assert!((multi_normal_cholesky(&x, 0.0, &l).row(0) - expected).abs().item() < 1e-15);
/// ```
///
/// # Panics
/// Unless `l` has a row and a column for each element of a vector.
#[track_caller]
pub fn multi_normal_cholesky<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    l: &Tensor<T, 2, E>,
) -> Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    multi_normal(x, mean, l, Summands::Whole)
}

#[track_caller]
pub(super) fn multi_normal<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    l: &Tensor<T, 2, E>,
    summands: Summands,
) -> Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    let distance = x.binary(Binary::Sub, mean);
    let mut lines = [0; M];
    lines.copy_from_slice(&distance.raw().shape()[..D - 1]);
    let (n, count) = (distance.raw().shape()[D - 1], lines.iter().product::<usize>());
    if l.shape() != [n, n] {
        panic!(
            "multi_normal_cholesky: the factor must have a row and a column for each element of a vector, but the shapes are {} \
             and {}; the vectors lie along the last axis",
            Show(&l.shape()),
            Show(distance.raw().shape())
        );
    }
    let ([diagonal], wrong) = positive([&Loose::new(l.diagonal::<1>(0, 1).into_raw())]);
    let wrong = Tensor::<T, 1, bool>::from_raw(wrong.raw().clone()).any();
    let l = cond(&wrong, Tensor::eye(n), l);
    let columns: Tensor<T, 2, E> = distance.reshape([count, n]).permute([1, 0]);
    let squares: Tensor<T, 1, E> = l.solve_lower(&columns).square().sum_axis(0);
    let norm = -diagonal.ln().tensor::<1>(&[n]).sum() + E::of_f64(summands.number(-ln_root_tau() * n as f64));
    squares.scale(-0.5).plus(&cond(wrong, E::neg_infinity(), norm)).reshape(lines)
}

/// Dirichlet distribution of vectors along the last axis whose elements are not negative and have sum 1:
/// `sum_k (alpha[k] - 1) ln x[k] + lgamma(sum_k alpha[k]) - sum_k lgamma(alpha[k])`, the density of all elements but
/// the last. One number for `alpha` stands for all elements. That the sum of `x` is 1 is taken for granted.
///
/// Where an element is 0, the limit is taken along it; if some make it `inf` and others `-inf`, the result is `-inf`.
/// With the sum `s` of `alpha`, the absolute error is some roundings of `s ln s`; it cannot be less than roundings of
/// `s`, since that of `x` changes the density by as much.
///
/// ```
/// use polygrad::{stats::dirichlet, tensor};
/// let d = dirichlet(&tensor([[0.25, 0.25, 0.5], [1.0, 1.0, -1.0]]), 1.0);
/// assert_eq!(d.to_vec(), [2f64.ln(), f64::NEG_INFINITY]);
/// ```
#[track_caller]
pub fn dirichlet<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    x: &Tensor<T, D, E>,
    alpha: impl Operand<T, D, E>,
) -> Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    let alpha = real(&alpha);
    let shape = fitting("dirichlet", &[x.raw(), alpha.raw()]);
    let (x, alpha) = (Loose::new(x.raw().clone()).stretched(&shape), alpha.stretched(&shape));
    let outside = x.lt(&Loose::number(0.0)) | Loose::number(f64::INFINITY).eq(&x);
    let x = outside.select(&Loose::number(0.5), &x);
    let ([alpha], wrong) = positive([&alpha]);
    // With a parameter of 1 the product does not have the outcome, but a NaN stays a NaN.
    let terms = alpha.shift(-1.0).times(&x.ln()) + x.scale(0.0);
    // No sum of infinities of both signs.
    let low = terms.eq(&Loose::number(f64::NEG_INFINITY));
    let terms = low.select(&Loose::number(0.0), &terms).tensor::<D>(&shape);
    let impossible = Tensor::<T, D, bool>::from_raw((outside | wrong | low).raw().clone()).any_axis(D - 1);
    let alpha = alpha.tensor::<D>(&shape);
    let norm = alpha.sum_axis(D - 1).lgamma() - alpha.lgamma().sum_axis(D - 1);
    impossible.select(E::neg_infinity(), terms.sum_axis(D - 1) + norm)
}

/// The distribution of Lewandowski, Kurowicka and Joe of the Cholesky factor `l` of an `n` x `n` correlation matrix:
/// `sum_k (n - k + 2 eta - 2) ln l[k, k] - ln c`, with `k` from 2 to `n`. The density of the correlation matrix is
/// proportional to its determinant to the power `eta - 1`; this one is that of the elements below the diagonal of `l`,
/// and `ln c = sum_k (k / 2 ln pi + lgamma(eta + (n - 1 - k) / 2) - lgamma(eta + (n - 1) / 2))`, with `k` from 1 to
/// `n - 1`.
///
/// `-inf` where an element of the diagonal is not positive; that rows have norm 1 is taken for granted. *Generating
/// random correlation matrices based on vines and extended onion method*, Journal of Multivariate Analysis 100, 2009,
/// equation 16.
///
/// ```
/// use polygrad::{stats::lkj_corr_cholesky, tensor};
/// // With eta = 1 a correlation of two variables is uniform from -1 to 1.
/// let l = tensor([[1.0, 0.0], [0.6, 0.8]]);
/// assert!((lkj_corr_cholesky(&l, 1.0).item() - 0.5f64.ln()).abs() < 1e-15);
/// ```
///
/// # Panics
/// When the matrix is not square.
#[track_caller]
pub fn lkj_corr_cholesky<T: BaseTensor, E: Float>(l: &Tensor<T, 2, E>, eta: impl Operand<T, 0, E>) -> Tensor<T, 0, E> {
    let [n, columns] = l.shape();
    if n != columns {
        panic!(
            "lkj_corr_cholesky: the factor must be a square matrix, but its shape is {}; give one matrix, and use vmap for several",
            Show(&l.shape())
        );
    }
    let ([eta], wrong) = positive([&real::<T, 0, E>(&eta)]);
    let diagonal = Loose::new(l.diagonal::<1>(0, 1).into_raw());
    let outside = diagonal.is_no_scale();
    let logs = outside.select(&Loose::number(1.0), &diagonal).ln().tensor::<1>(&[n]);
    let outside = Tensor::<T, 1, bool>::from_raw(outside.raw().clone()).any();
    // The first row, whose logarithm is 0, has no power.
    let powers = Tensor::from_fn([n], |[k]| E::of_f64(if k == 0 { 0.0 } else { n as f64 - k as f64 - 3.0 }));
    let twice = Tensor::from_fn([n], |[k]| E::of_f64(if k == 0 { 0.0 } else { 2.0 }));
    let kernel = logs.dot(&powers) + logs.dot(&twice) * eta.tensor::<0>(&[]);
    let top = eta.shift((n as f64 - 1.0) / 2.0).lgamma();
    let norm = (1..n).fold(Loose::number(0.0), |norm, k| {
        let below = eta.shift((n as f64 - 1.0 - k as f64) / 2.0).lgamma();
        norm + &top - below.shift(k as f64 / 2.0 * ln_pi())
    });
    let norm = wrong.impossible(&norm).tensor::<0>(&[]);
    outside.select(E::neg_infinity(), kernel + norm)
}
