//! The densities of [`stats`](super) without the summands that no parameter and no real outcome changes.
//!
//! Law: a kernel differs from the density of its name by a number, or by a function of integer outcomes. A density that
//! has no such summand is the same here.
//!
//! ```
//! use polygrad::stats::{self, kernel};
//! use polygrad::tensor;
//! // What a density leaves out, whatever the parameters are.
//! macro_rules! left_out {
//!     ($density:ident, $($arg:expr),*) => { (stats::$density($($arg),*) - kernel::$density($($arg),*)).to_vec() }
//! }
//! let is = |left_out: Vec<f64>, known: f64| left_out.iter().all(|x| (x - known).abs() < 1e-14);
//! let (x, n, w) = (tensor([0.5, 2.0]), tensor([3, 3]), tensor([[1.0, 0.0], [0.5, 2.0]]));
//! let (log_2, log_pi, log_6) = (2f64.ln(), std::f64::consts::PI.ln(), 6f64.ln());
//! assert!(is(left_out!(normal, &x, 1.0, 2.0), -(log_2 + log_pi) / 2.0));
//! assert!(is(left_out!(half_normal, &x, 2.0), (log_2 - log_pi) / 2.0));
//! assert!(is(left_out!(student_t, &x, 3.0, 1.0, 2.0), -log_pi / 2.0));
//! assert!(is(left_out!(half_student_t, &x, 3.0, 2.0), log_2 - log_pi / 2.0));
//! assert!(is(left_out!(cauchy, &x, 1.0, 2.0), -log_pi) && is(left_out!(half_cauchy, &x, 2.0), log_2 - log_pi));
//! assert!(is(left_out!(laplace, &x, 1.0, 2.0), -log_2));
//! assert!(is(left_out!(lognormal, &x, 1.0, 2.0), -(log_2 + log_pi) / 2.0));
//! assert!(is(left_out!(binomial_logit, &n, 4, 0.5), 2.0 * log_2));
//! assert!(is(left_out!(poisson_log, &n, 0.5), -log_6) && is(left_out!(neg_binomial_2_log, &n, 0.5, 2.0), -log_6));
//! assert!(is(left_out!(multi_normal_cholesky, &x, 0.0, &w), -(log_2 + log_pi)));
//! assert!(is(left_out!(linear_glm, &x, &w, 0.0, &x, 2.0), -(log_2 + log_pi)));
//! ```

use super::formulas::{self, Summands};
use super::loose::Loose;
pub use super::{
    bernoulli_logit, beta, categorical_logit, dirichlet, exponential, gamma, inv_gamma, lkj_corr_cholesky, logistic,
    logit_glm, uniform,
};
use super::{elementwise, integer, real, regression, vectors};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Above, Elements, Operand, Rank, Tensor};

/// [`normal`](super::normal) without `-ln(2 pi) / 2`: `-((x - mean) / sd)^2 / 2 - ln sd`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn normal<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    sd: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("normal", x, [real(&mean), real(&sd)], |x, [mean, sd]| formulas::normal(x, mean, sd, Summands::Kernel))
}

/// [`half_normal`](super::half_normal) without `ln(2 / pi) / 2`: `-(x / sd)^2 / 2 - ln sd`, for `x >= 0`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn half_normal<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    sd: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("half_normal", x, [real(&sd)], |x, [sd]| {
        formulas::half(x, Summands::Kernel, |x| formulas::normal(x, &Loose::number(0.0), sd, Summands::Kernel))
    })
}

/// [`student_t`](super::student_t) without `-ln(pi) / 2`: with `z = (x - location) / scale`,
/// `lgamma((df + 1) / 2) - lgamma(df / 2) - ln(df) / 2 - ln scale - (df + 1) / 2 ln(1 + z^2 / df)`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn student_t<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    df: impl Operand<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("student_t", x, [real(&df), real(&location), real(&scale)], |x, [df, location, scale]| {
        formulas::student_t(x, [df, location, scale], Summands::Kernel)
    })
}

/// [`half_student_t`](super::half_student_t) without `ln 2 - ln(pi) / 2`: [`student_t`] around 0, for `x >= 0`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn half_student_t<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    df: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("half_student_t", x, [real(&df), real(&scale)], |x, [df, scale]| {
        formulas::half(x, Summands::Kernel, |x| {
            formulas::student_t(x, [df, &Loose::number(0.0), scale], Summands::Kernel)
        })
    })
}

/// [`cauchy`](super::cauchy) without `-ln pi`: `-ln scale - ln(1 + ((x - location) / scale)^2)`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn cauchy<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("cauchy", x, [real(&location), real(&scale)], |x, [location, scale]| {
        formulas::cauchy(x, location, scale, Summands::Kernel)
    })
}

/// [`half_cauchy`](super::half_cauchy) without `ln(2 / pi)`: `-ln scale - ln(1 + (x / scale)^2)`, for `x >= 0`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn half_cauchy<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("half_cauchy", x, [real(&scale)], |x, [scale]| {
        formulas::half(x, Summands::Kernel, |x| formulas::cauchy(x, &Loose::number(0.0), scale, Summands::Kernel))
    })
}

/// [`laplace`](super::laplace) without `-ln 2`: `-|x - location| / scale - ln scale`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn laplace<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    location: impl Operand<T, D, E>,
    scale: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("laplace", x, [real(&location), real(&scale)], |x, [location, scale]| {
        formulas::laplace(x, location, scale, Summands::Kernel)
    })
}

/// [`lognormal`](super::lognormal) without `-ln(2 pi) / 2`: `-((ln x - mean) / sd)^2 / 2 - ln sd - ln x`, for `x > 0`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn lognormal<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    sd: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise("lognormal", x, [real(&mean), real(&sd)], |x, [mean, sd]| {
        formulas::lognormal(x, mean, sd, Summands::Kernel)
    })
}

/// [`binomial_logit`](super::binomial_logit) without `ln (trials choose y)`:
/// `-y ln(1 + e^-logit) - (trials - y) ln(1 + e^logit)`, for `0 <= y <= trials`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn binomial_logit<T: BaseTensor, const D: usize, E: Float>(
    y: &Tensor<T, D, i64>,
    trials: impl Operand<T, D, i64>,
    logit: impl Operand<T, D, E> + Elements<Of = E>,
) -> Tensor<T, D, E> {
    elementwise("binomial_logit", &y.to_float(), [integer(&trials), real(&logit)], |y, [trials, logit]| {
        formulas::binomial_logit(y, trials, logit, Summands::Kernel)
    })
}

/// [`poisson_log`](super::poisson_log) without `-ln y!`: `y log_rate - e^log_rate`, for `y >= 0`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn poisson_log<T: BaseTensor, const D: usize, E: Float>(
    y: &Tensor<T, D, i64>,
    log_rate: impl Operand<T, D, E> + Elements<Of = E>,
) -> Tensor<T, D, E> {
    elementwise("poisson_log", &y.to_float(), [real(&log_rate)], |y, [log_rate]| {
        formulas::poisson_log(y, log_rate, Summands::Kernel)
    })
}

/// [`neg_binomial_2_log`](super::neg_binomial_2_log) without `-ln y!`: with the mean `m = e^log_mean` and the dispersion
/// `d`, `lgamma(y + d) - lgamma(d) - y ln(1 + d / m) - d ln(1 + m / d)`, for `y >= 0`.
///
/// Example: [`kernel`](self).
#[track_caller]
pub fn neg_binomial_2_log<T: BaseTensor, const D: usize, E: Float>(
    y: &Tensor<T, D, i64>,
    log_mean: impl Operand<T, D, E> + Elements<Of = E>,
    dispersion: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    elementwise(
        "neg_binomial_2_log",
        &y.to_float(),
        [real(&log_mean), real(&dispersion)],
        |y, [log_mean, dispersion]| formulas::neg_binomial_2_log(y, log_mean, dispersion, Summands::Kernel),
    )
}

/// [`multi_normal_cholesky`](super::multi_normal_cholesky) without `-n ln(2 pi) / 2`: with `l z = x - mean`,
/// `-z . z / 2 - sum_k ln l[k, k]`.
///
/// Example: [`kernel`](self).
///
/// # Panics
/// As that function.
#[track_caller]
pub fn multi_normal_cholesky<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mean: impl Operand<T, D, E>,
    l: &Tensor<T, 2, E>,
) -> Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    vectors::multi_normal(x, mean, l, Summands::Kernel)
}

/// [`linear_glm`](super::linear_glm) without `-ln(2 pi) / 2` for each observation: the sum of
/// [`normal`]`(y, x weights + intercept, sd)` over all observations, the rows of `x`.
///
/// Example: [`kernel`](self).
///
/// # Panics
/// As that function.
#[track_caller]
pub fn linear_glm<T: BaseTensor, E: Float>(
    y: &Tensor<T, 1, E>,
    x: &Tensor<T, 2, E>,
    intercept: impl Operand<T, 1, E>,
    weights: &Tensor<T, 1, E>,
    sd: impl Operand<T, 1, E>,
) -> Tensor<T, 0, E> {
    regression::linear(y, x, &real(&intercept), weights, &real(&sd), Summands::Kernel)
}
