//! Densities of single numbers, which may be any real number or restricted ones.
//!
//! Law: one log density for each element of the outcome, in its shape; see [the module](super) for borders.

use super::formulas::{self, Summands};
use super::loose::Loose;
use super::{elementwise, real};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Operand, Tensor};

/// Normal distribution: `-((x - mean) / sd)^2 / 2 - ln sd - ln(2 pi) / 2`, for all real `x`.
///
/// Distances are squared before they are divided: those whose square is above the largest float count as infinite.
///
/// ```
/// use polygrad::{stats::normal, tensor};
/// let y = tensor([1.0, 3.0]);
/// assert_eq!(normal(&y, 1.0, 2.0).to_vec(), [-1.612085713764618, -2.112085713764618]);
/// // One number stands for all observations; so does a scalar tensor.
/// assert_eq!(normal(&y, tensor(1.0), tensor([2.0, 2.0])), normal(&y, 1.0, 2.0));
/// ```
#[track_caller]
pub fn normal<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    sd: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("normal", x, [real(&mean), real(&sd)], |x, [mean, sd]| formulas::normal(x, mean, sd, Summands::Whole))
}

/// Normal distribution with mean 0, restricted to `x >= 0`: twice the density of [`normal`].
///
/// ```
/// use polygrad::{stats::{half_cauchy, half_normal, half_student_t, student_t}, tensor};
/// let (x, pi) = (tensor(1.5), std::f64::consts::PI);
/// let twice = student_t(&x, 3.0, 0.0, 2.0) + 2f64.ln();
/// assert!((half_student_t(&x, 3.0, 2.0) - twice).abs().item() < 1e-15);
/// assert!((half_normal(&tensor(0.0), 1.0).item() - (2.0 / pi).ln() / 2.0).abs() < 1e-15);
/// assert!((half_cauchy(&tensor(0.0), 5.0).item() - (2.0 / (5.0 * pi)).ln()).abs() < 1e-15);
/// assert_eq!(half_normal(&tensor(-1.0), 1.0).item(), f64::NEG_INFINITY);
/// ```
#[track_caller]
pub fn half_normal<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    sd: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("half_normal", x, [real(&sd)], |x, [sd]| {
        formulas::half(x, Summands::Whole, |x| formulas::normal(x, &Loose::number(0.0), sd, Summands::Whole))
    })
}

/// Student's t distribution with `df` degrees of freedom: with `z = (x - location) / scale`,
/// `lgamma((df + 1) / 2) - lgamma(df / 2) - ln(df pi) / 2 - ln scale - (df + 1) / 2 ln(1 + z^2 / df)`, for all real
/// `x`.
///
/// For many degrees of freedom the logarithms of gamma functions cancel before they are computed: the error is that of
/// rounding the arguments, and that of the derivative in `df` is some roundings of `z^2 / df`. Tails are finite up to
/// the largest float: the square of a distance does not overflow. A distance that is above the largest float in units
/// of the scale may count as infinite.
///
/// ```
/// use polygrad::{stats::{cauchy, laplace, logistic, student_t}, tensor};
/// let x = tensor([0.5, -2.0]);
/// assert!((student_t(&x, 1.0, 0.0, 2.0) - cauchy(&x, 0.0, 2.0)).abs().max_all().item() < 1e-15);
/// assert_eq!(cauchy(&tensor(2.0), 2.0, 1.0).item(), -std::f64::consts::PI.ln());
/// assert_eq!(laplace(&tensor([1.0, 3.0]), 1.0, 0.5), tensor([0.0, -4.0]));
/// assert_eq!(logistic(&tensor([0.0, 1000.0]), 0.0, 1.0), tensor([-2.0 * 2f64.ln(), -1000.0]));
/// ```
#[track_caller]
pub fn student_t<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    df: impl Operand<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("student_t", x, [real(&df), real(&location), real(&scale)], |x, [df, location, scale]| {
        formulas::student_t(x, [df, location, scale], Summands::Whole)
    })
}

/// Student's t distribution around 0, restricted to `x >= 0`: twice the density of [`student_t`].
///
/// Example: [`half_normal`].
#[track_caller]
pub fn half_student_t<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    df: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("half_student_t", x, [real(&df), real(&scale)], |x, [df, scale]| {
        formulas::half(x, Summands::Whole, |x| {
            formulas::student_t(x, [df, &Loose::number(0.0), scale], Summands::Whole)
        })
    })
}

/// Cauchy distribution: `-ln pi - ln scale - ln(1 + ((x - location) / scale)^2)`, for all real `x`.
///
/// Tails are finite up to the largest float: the square of a distance does not overflow, nor does the distance in units
/// of the scale.
///
/// Example: [`student_t`].
#[track_caller]
pub fn cauchy<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("cauchy", x, [real(&location), real(&scale)], |x, [location, scale]| {
        formulas::cauchy(x, location, scale, Summands::Whole)
    })
}

/// Cauchy distribution around 0, restricted to `x >= 0`: twice the density of [`cauchy`].
///
/// Example: [`half_normal`].
#[track_caller]
pub fn half_cauchy<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("half_cauchy", x, [real(&scale)], |x, [scale]| {
        formulas::half(x, Summands::Whole, |x| formulas::cauchy(x, &Loose::number(0.0), scale, Summands::Whole))
    })
}

/// Laplace distribution: `-|x - location| / scale - ln(2 scale)`, for all real `x`. The derivative at the location is 0
/// by convention.
///
/// Example: [`student_t`].
#[track_caller]
pub fn laplace<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("laplace", x, [real(&location), real(&scale)], |x, [location, scale]| {
        formulas::laplace(x, location, scale, Summands::Whole)
    })
}

/// Logistic distribution: with `z = (x - location) / scale`, `-z - 2 ln(1 + e^-z) - ln scale`, for all real `x`.
///
/// Example: [`student_t`].
#[track_caller]
pub fn logistic<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("logistic", x, [real(&location), real(&scale)], |x, [location, scale]| {
        formulas::logistic(x, location, scale)
    })
}

/// Lognormal distribution, of a number whose logarithm is normal: [`normal`] of `ln x`, less `ln x`, for `x > 0`.
///
/// Example: [`gamma`].
#[track_caller]
pub fn lognormal<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    sd: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("lognormal", x, [real(&mean), real(&sd)], |x, [mean, sd]| {
        formulas::lognormal(x, mean, sd, Summands::Whole)
    })
}

/// Exponential distribution: `ln rate - rate x`, for `x >= 0`.
///
/// Example: [`gamma`].
#[track_caller]
pub fn exponential<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    rate: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("exponential", x, [real(&rate)], |x, [rate]| formulas::exponential(x, rate))
}

/// Gamma distribution with a rate, the inverse of the scale of SciPy:
/// `shape ln rate - lgamma(shape) + (shape - 1) ln x - rate x`, for `x >= 0`.
///
/// At 0 it is `inf` for a shape below 1, `ln rate` for 1, and `-inf` above. From a shape of 10 on, the large summands
/// cancel before they are computed: the error is that of rounding the arguments.
///
/// ```
/// use polygrad::{stats::{exponential, gamma, inv_gamma, lognormal, normal}, tensor};
/// let x = tensor([3.0, 0.0]);
/// assert_eq!(gamma(&x, 1.0, 0.5), exponential(&x, 0.5));
/// assert_eq!(lognormal(&x, 1.0, 0.5).at([0]), (normal(&x.ln(), 1.0, 0.5) - x.ln()).at([0]));
/// // Outside the support.
/// assert_eq!(exponential(&tensor([3.0, -1.0]), 1.0), tensor([-3.0, f64::NEG_INFINITY]));
/// assert_eq!(inv_gamma(&tensor([1.0, 0.0]), 1.0, 1.0), tensor([-1.0, f64::NEG_INFINITY]));
/// assert_eq!(lognormal(&tensor(0.0), 1.0, 0.5), tensor(f64::NEG_INFINITY));
/// ```
#[track_caller]
pub fn gamma<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    shape: impl Operand<T, D, E>,
    rate: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("gamma", x, [real(&shape), real(&rate)], |x, [shape, rate]| formulas::gamma(x, shape, rate))
}

/// Inverse gamma distribution, of a number whose inverse has the distribution [`gamma`]:
/// `shape ln scale - lgamma(shape) - (shape + 1) ln x - scale / x`, for `x > 0`. Large summands cancel as in [`gamma`].
///
/// Example: [`gamma`].
#[track_caller]
pub fn inv_gamma<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    shape: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("inv_gamma", x, [real(&shape), real(&scale)], |x, [shape, scale]| formulas::inv_gamma(x, shape, scale))
}

/// Beta distribution: `(a - 1) ln x + (b - 1) ln(1 - x) + lgamma(a + b) - lgamma(a) - lgamma(b)`, for `0 <= x <= 1`.
///
/// At 0 it is `inf` for `a` below 1, finite for 1, and `-inf` above; the same holds at 1 for `b`. Large summands cancel as in
/// [`gamma`], if both parameters are 10 or more; the logarithms of gamma functions do so for all parameters.
///
/// ```
/// use polygrad::{stats::{beta, uniform}, tensor};
/// assert_eq!(beta(&tensor([0.0, 0.5, 2.0]), 1.0, 1.0), tensor([0.0, 0.0, f64::NEG_INFINITY]));
/// assert_eq!(uniform(&tensor([1.0, 5.0]), 1.0, 3.0), tensor([-2f64.ln(), f64::NEG_INFINITY]));
/// ```
#[track_caller]
pub fn beta<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    a: impl Operand<T, D, E>,
    b: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("beta", x, [real(&a), real(&b)], |x, [a, b]| formulas::beta(x, a, b))
}

/// Uniform distribution: `-ln(high - low)`, for `low <= x <= high`. The parameters must be finite, and `low < high`.
///
/// Example: [`beta`].
#[track_caller]
pub fn uniform<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    low: impl Operand<T, D, E>,
    high: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("uniform", x, [real(&low), real(&high)], |x, [low, high]| formulas::uniform(x, low, high))
}
