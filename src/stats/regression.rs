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
use crate::tree::Tree;

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
/// Unless `x` has a row for each outcome and a column for each weight.
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

/// The data of a linear regression, reduced to as many rows as there are weights: what [`linear_glm`] needs to know of
/// them.
///
/// With `x = q r` by [`qr`](Tensor::qr), `|y - x w|^2 = |q^T y - r w|^2 + |y - q q^T y|^2`. A value takes time in
/// proportion to the square of the number of weights, whatever the number of rows. It is that of the table up to
/// rounding, relative to the squares of the outcomes. The reduced data are a tree, made once and passed as data.
///
/// ```
/// use polygrad::stats::{ReducedRegression, linear_glm};
/// use polygrad::{Tree, tensor};
/// let (y, w) = (tensor([1.0, 2.5, 2.0]), tensor([0.5, 0.75]));
/// let x = tensor([[1.0, 0.0], [1.0, 2.0], [1.0, 1.0]]);
/// let reduced = ReducedRegression::new(&y, &x);
/// assert!((reduced.linear_glm(&w, 2.0) - linear_glm(&y, &x, 0.0, &w, 2.0)).abs().item() < 1e-14);
/// // As many rows as there are predictors and an outcome, whatever the number of observations.
/// assert_eq!(ReducedRegression::new(&tensor([1.0, 2.0, 4.0]), &tensor([[1.0], [1.0], [1.0]])).leaves()[0].shape(), [1, 1]);
/// ```
#[derive(Tree, Clone, Debug)]
pub struct ReducedRegression<T: BaseTensor> {
    /// The upper triangle `r`, and `q^T y`.
    triangle: Tensor<T, 2>,
    outcomes: Tensor<T, 1>,
    /// The squared distance of the outcomes from all predictions.
    rest: Tensor<T, 0>,
    rows: usize,
}

impl<T: BaseTensor> ReducedRegression<T> {
    /// The data with outcomes `y` and predictors `x`, one row for each outcome; a column of ones makes an intercept.
    ///
    /// Example: [`ReducedRegression`].
    ///
    /// # Panics
    /// When there is not an outcome for each row, or there are fewer rows than columns.
    #[track_caller]
    pub fn new(y: &Tensor<T, 1>, x: &Tensor<T, 2>) -> Self {
        let [rows, columns] = x.shape();
        if y.len() != rows || rows < columns {
            panic!(
                "reduced_regression: needs an outcome for each row of the predictors, and no more columns than rows, but the \
                 shapes are {} and {}; call linear_glm for few rows",
                Show(&y.shape()),
                Show(&x.shape())
            );
        }
        let (q, triangle) = x.qr();
        let outcomes = q.t().matvec(y);
        let rest = (y - q.matvec(&outcomes)).square().sum();
        ReducedRegression { triangle, outcomes, rest, rows }
    }

    /// [`linear_glm`] of the data, without a separate intercept.
    ///
    /// Example: [`ReducedRegression`].
    ///
    /// # Panics
    /// When there is not a weight for each column.
    #[track_caller]
    pub fn linear_glm(&self, weights: &Tensor<T, 1>, sd: impl Operand<T, 0, f64>) -> Tensor<T, 0> {
        let (precision, norm) = formulas::normal_scale(&real::<T, 0, f64>(&sd), Summands::Whole);
        let squares = (&self.outcomes - self.triangle.matvec(weights)).square().sum() + &self.rest;
        (Loose::new(squares.into_raw()) * precision.scale(-0.5) + norm.scale(self.rows as f64)).tensor(&[])
    }
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
/// Unless `x` has a row for each outcome and a column for each weight.
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
