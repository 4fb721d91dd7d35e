//! Densities of truth values, counts and categories, whose parameters are logarithms and logits.
//!
//! Law: one log density for each outcome; see [the module](super) for borders. Outcomes are integers or masks, so they
//! have no derivative.

use super::formulas::{self, Summands};
use super::loose::{Loose, fitting};
use super::{elementwise, integer, real};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::shape::Show;
use crate::tensor::{Above, Elements, Operand, Rank, Tensor};

/// A truth value whose logit is given: `-ln(1 + e^-logit)` for `true`, and `-ln(1 + e^logit)` for `false`. Of integers
/// 0 and 1, `y.eq(1)` makes truth values.
///
/// At infinite logits it is 0 or `-inf`.
///
/// ```
/// use polygrad::{stats::bernoulli_logit, tensor};
/// let y = tensor([1, 0]);
/// assert_eq!(bernoulli_logit(&y.eq(1), tensor([0.0, 1000.0])).to_vec(), [-2f64.ln(), -1000.0]);
/// ```
#[track_caller]
pub fn bernoulli_logit<T: BaseTensor, const D: usize, E: Float>(
    y: &Tensor<T, D, bool>,
    logit: impl Operand<T, D, E> + Elements<Of = E>,
) -> Tensor<T, D, E> {
    let logit = real(&logit);
    fitting("bernoulli_logit", &[y.raw(), logit.raw()]);
    formulas::bernoulli_logit(&Loose::new(y.raw().clone()), &logit).tensor(y.raw().shape())
}

/// The number of successes among `trials`, each with the given logit:
/// `ln (trials choose y) - y ln(1 + e^-logit) - (trials - y) ln(1 + e^logit)`, for `0 <= y <= trials`.
///
/// At infinite logits it is 0 or `-inf`. The absolute error is some roundings of `trials ln trials`, most of it in the
/// binomial coefficient, which depends on no logit.
///
/// ```
/// use polygrad::{stats::{binomial_logit, neg_binomial_2_log, poisson_log}, tensor};
/// let y = tensor([1, 3]);
/// assert_eq!(binomial_logit(&y, 3, 0.0).at([1]), tensor(3.0 * 0.5f64.ln()));
/// assert_eq!(binomial_logit(&y, 2, 0.0).at([1]), tensor(f64::NEG_INFINITY));
/// assert_eq!(poisson_log(&tensor([0, -1]), 0.0), tensor([-1.0, f64::NEG_INFINITY]));
/// let d = neg_binomial_2_log(&tensor([0, 1]), 0.0, 1.0);
/// assert!((d - tensor([0.5, 0.25]).ln()).abs().max_all().item() < 1e-15);
/// ```
#[track_caller]
pub fn binomial_logit<T: BaseTensor, const D: usize, E: Float>(
    y: &Tensor<T, D, i64>,
    trials: impl Operand<T, D, i64>,
    logit: impl Operand<T, D, E> + Elements<Of = E>,
) -> Tensor<T, D, E> {
    elementwise("binomial_logit", &y.to_float(), [integer(&trials), real(&logit)], |y, [trials, logit]| {
        formulas::binomial_logit(y, trials, logit, Summands::Whole)
    })
}

/// Poisson distribution by the logarithm of its rate: `y log_rate - e^log_rate - ln y!`, for `y >= 0`.
///
/// At `log_rate = -inf` it is 0 for `y = 0`, and `-inf` above. Where the rate overflows it is `-inf`, with an infinite
/// derivative, and derivative 0 from `log_rate = 1000` on. The absolute error is some roundings of `y ln y`, most of it
/// in `ln y!`, which does not depend on the rate.
///
/// Example: [`binomial_logit`].
#[track_caller]
pub fn poisson_log<T: BaseTensor, const D: usize, E: Float>(
    y: &Tensor<T, D, i64>,
    log_rate: impl Operand<T, D, E> + Elements<Of = E>,
) -> Tensor<T, D, E> {
    elementwise("poisson_log", &y.to_float(), [real(&log_rate)], |y, [log_rate]| {
        formulas::poisson_log(y, log_rate, Summands::Whole)
    })
}

/// Negative binomial distribution by the logarithm of its mean `m` and its dispersion `d`, with variance `m + m^2 / d`:
/// `lgamma(y + d) - lgamma(d) - ln y! - y ln(1 + d / m) - d ln(1 + m / d)`, for `y >= 0`.
///
/// For a large dispersion the logarithms of gamma functions cancel before they are computed; the absolute error is some
/// roundings of `(y + m) ln (y + d)`.
///
/// Example: [`binomial_logit`].
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
        |y, [log_mean, dispersion]| formulas::neg_binomial_2_log(y, log_mean, dispersion, Summands::Whole),
    )
}

/// A category, counted from 0, by the logits of all categories along the last axis: `logits[y] - ln sum_k e^logits[k]`;
/// `-inf` for a category that does not exist. One log density for each line of logits.
///
/// ```
/// use polygrad::{stats::categorical_logit, tensor};
/// let logits = tensor([[0.0, 0.0], [0.0, 1000.0]]);
/// assert_eq!(categorical_logit(&tensor([1, 0]), &logits), tensor([-2f64.ln(), -1000.0]));
/// assert_eq!(categorical_logit(&tensor(2), &tensor([0.0, 0.0])).item(), f64::NEG_INFINITY);
/// ```
///
/// # Panics
/// When there is not one outcome for each line of logits.
#[track_caller]
pub fn categorical_logit<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    y: &Tensor<T, M, i64>,
    logits: &Tensor<T, D, E>,
) -> Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    let (lines, shape) = (y.raw().shape(), logits.raw().shape());
    if lines != &shape[..D - 1] {
        panic!(
            "categorical_logit: needs an outcome for each line of logits, but the shapes are {} and {}; the outcomes have the \
             shape of the logits without the last axis",
            Show(lines),
            Show(shape)
        );
    }
    let n = shape[D - 1] as i64;
    let loss = logits.cross_entropy(D - 1, y);
    (y.ge(0) & y.lt(n)).select(-loss, E::neg_infinity())
}
