//! Regressions with a linear predictor, each as one number for all observations.
//!
//! Law: the sum of the log densities of the observations, computed without one for each; see [the module](super).

use super::formulas::{self, Summands};
use super::loose::{Loose, fitting};
use super::real;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::shape::Show;
use crate::tensor::{Operand, Tensor};

/// The linear predictor `x weights + intercept`, for outcomes `y`.
#[track_caller]
fn predictor<T: BaseTensor, E: Float>(
    op: &str,
    y: &T,
    x: &Tensor<T, 2, E>,
    intercept: &Loose<T, E>,
    weights: &Tensor<T, 1, E>,
) -> Loose<T, E> {
    if y.shape()[0] != x.shape()[0] {
        panic!(
            "{op}: needs an outcome for each row of the predictors, but the shapes are {} and {}; slice one of them",
            Show(y.shape()),
            Show(&x.shape())
        );
    }
    let linear = x.matvec(weights);
    fitting(op, &[y, linear.raw(), intercept.raw()]);
    Loose::new(linear.into_raw()) + intercept
}

/// Linear regression with normal errors, Stan's `normal_id_glm`: the sum of [`normal`](super::normal)`(y, x weights +
/// intercept, sd)` over all observations, the rows of `x`.
///
/// The intercept is one number, or one for each row, such as an offset. For one `sd` the residuals are squared and
/// summed before they are divided.
///
/// ```
/// use polygrad::{stats::{linear_glm, normal}, tensor};
/// let (y, x, w) = (tensor([1.0, 2.5]), tensor([[1.0, 0.0], [1.0, 2.0]]), tensor([0.5, 0.75]));
/// let each = normal(&y, x.matvec(&w) + 0.25, 2.0);
/// assert!((linear_glm(&y, &x, 0.25, &w, 2.0) - each.sum()).abs().item() < 1e-15);
/// ```
///
/// # Panics
/// When `x` has not a row for each outcome and a column for each weight.
#[track_caller]
pub fn linear_glm<T: BaseTensor, E: Float>(
    y: &Tensor<T, 1, E>,
    x: &Tensor<T, 2, E>,
    intercept: impl Operand<T, 1, E>,
    weights: &Tensor<T, 1, E>,
    sd: impl Operand<T, 1, E>,
) -> Tensor<T, 0, E> {
    linear(y, x, &real(&intercept), weights, &real(&sd), Summands::Whole)
}

#[track_caller]
pub(super) fn linear<T: BaseTensor, E: Float>(
    y: &Tensor<T, 1, E>,
    x: &Tensor<T, 2, E>,
    intercept: &Loose<T, E>,
    weights: &Tensor<T, 1, E>,
    sd: &Loose<T, E>,
    summands: Summands,
) -> Tensor<T, 0, E> {
    let mean = predictor("linear_glm", y.raw(), x, intercept, weights);
    let n = y.shape();
    fitting("linear_glm", &[y.raw(), sd.raw()]);
    let y = Loose::new(y.raw().clone());
    if !sd.raw().shape().is_empty() {
        return formulas::normal(&y, &mean, sd, summands).tensor::<1>(&n).sum();
    }
    let (precision, norm) = formulas::normal_scale(sd, summands);
    let residual = (y - mean).tensor::<1>(&n);
    let squares = Loose::new(residual.dot(&residual).into_raw());
    (squares * precision.scale(-0.5) + norm.scale(n[0] as f64)).tensor(&[])
}

/// Logistic regression, Stan's `bernoulli_logit_glm`: the sum of
/// [`bernoulli_logit`](super::bernoulli_logit)`(y, x weights + intercept)` over all observations, the rows of `x`.
///
/// The intercept is one number, or one for each row, such as an offset.
///
/// ```
/// use polygrad::{stats::{bernoulli_logit, logit_glm}, tensor};
/// let (y, x, w) = (tensor([true, false]), tensor([[1.0, 0.0], [1.0, 2.0]]), tensor([0.5, 0.75]));
/// assert_eq!(logit_glm(&y, &x, 0.25, &w), bernoulli_logit(&y, x.matvec(&w) + 0.25).sum());
/// ```
///
/// # Panics
/// When `x` has not a row for each outcome and a column for each weight.
#[track_caller]
pub fn logit_glm<T: BaseTensor, E: Float>(
    y: &Tensor<T, 1, bool>,
    x: &Tensor<T, 2, E>,
    intercept: impl Operand<T, 1, E>,
    weights: &Tensor<T, 1, E>,
) -> Tensor<T, 0, E> {
    let logit = predictor("logit_glm", y.raw(), x, &real(&intercept), weights);
    formulas::bernoulli_logit(&Loose::new(y.raw().clone()), &logit).tensor::<1>(&y.shape()).sum()
}
