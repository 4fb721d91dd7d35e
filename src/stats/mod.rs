//! Log densities of distributions, and transforms of constrained parameters, for models whose posterior is sampled.
//!
//! A density is a function whose first argument is the outcome, and the others are its parameters, in the order of
//! Stan:
//!
//! ```
//! use polygrad::stats::{half_cauchy, normal};
//! use polygrad::{BaseTensor, Tensor, grad, tensor};
//! /// A mean and a scale for some observations.
//! fn log_density<T: BaseTensor>((mean, sd): &(Tensor<T, 0>, Tensor<T, 0>), y: &Tensor<T, 1>) -> Tensor<T, 0> {
//!     normal(mean, 0.0, 10.0) + half_cauchy(sd, 5.0) + normal(y, mean, sd).sum()
//! }
//! let y = tensor([1.0, 2.0, 4.0]);
//! let at = (tensor(2.0), tensor(1.5));
//! let slope = grad(|x| log_density(x, &Tensor::constant(&y)), &at);
//! assert!((slope.0.item() - (1.0 / 2.25 - 0.02)).abs() < 1e-12);
//! ```
//!
//! | outcome | densities |
//! |---|---|
//! | a number | [`normal`], [`student_t`], [`cauchy`], [`laplace`], [`logistic`] |
//! | a number that is not negative | [`half_normal`], [`half_student_t`], [`half_cauchy`], [`exponential`], [`gamma`] |
//! | a positive number | [`inv_gamma`], [`lognormal`] |
//! | a number in an interval | [`uniform`], [`beta`] |
//! | a truth value, a count, a category | [`bernoulli_logit`], [`binomial_logit`], [`poisson_log`], [`neg_binomial_2_log`], [`categorical_logit`] |
//! | a vector | [`multi_normal_cholesky`], [`dirichlet`] |
//! | the Cholesky factor of a correlation matrix | [`lkj_corr_cholesky`] |
//! | all observations of a regression | [`linear_glm`], [`logit_glm`]; of one table many times, [`ReducedRegression`] |
//!
//! **Shapes.** One log density for each observation: for each element of the outcome, in its shape, or for each vector
//! along its last axis; `sum` is the log density of all. The two regressions give this sum. Parameters are numbers,
//! scalar tensors, or tensors of the rank of the outcome, which are broadcast like operands of `+`.
//!
//! **Constants.** A log density is whole, so that densities compare across models and mixtures are right. [`kernel`]
//! has the same functions without the summands that no parameter and no real outcome changes: numbers, and what depends
//! on integers alone. Stan's names for it end in `_lupdf`. It is a module, because a request is then one word in a
//! `use` line, and the model stays as it is. Which other summands are the same in all runs, such as the scale of a
//! known prior, is not a question of the formula: [`with_data`](crate::Function::with_data) computes them once.
//!
//! **Borders.** Outside the support the log density is `-inf`, and all of its derivatives are 0. A parameter outside
//! its domain (a scale that is negative, 0 or infinite, or whose inverse, in a normal distribution that of its square,
//! is not within the range of floats) makes it `-inf` too, as a sampler needs to refuse a point; derivatives in that
//! parameter are 0, in others finite. On the border of the support it is the limit of the formula, which may be
//! infinite. An infinite outcome is outside every support; only [`normal`], [`linear_glm`] and
//! [`multi_normal_cholesky`], where a check for each observation would cost as much as the density, have derivatives
//! there that are not finite. NaN gives NaN.
//!
//! **Constrained parameters.** [`constrain`] makes parameters with bounds of unconstrained ones, with the logarithm of
//! the Jacobian; [`unconstrain`] goes back. [`Constrained`](trait@Constrained) structs say the [`Domain`] of each parameter
//! by attributes, and are transformed as a whole.
//!
//! Formulas and conventions are those of the Stan functions reference, unless a function says otherwise. Random
//! draws, distribution functions and quantiles are left to other crates.

pub mod constrain;
mod continuous;
mod discrete;
mod domain;
mod formulas;
pub mod kernel;
mod loose;
mod regression;
mod stirling;
pub mod unconstrain;
mod vectors;

pub use continuous::{
    beta, cauchy, exponential, gamma, half_cauchy, half_normal, half_student_t, inv_gamma, laplace, logistic,
    lognormal, normal, student_t, uniform,
};
pub use discrete::{bernoulli_logit, binomial_logit, categorical_logit, neg_binomial_2_log, poisson_log};
pub use domain::{Constrained, Domain};
pub use regression::{ReducedRegression, linear_glm, logit_glm};
pub use vectors::{dirichlet, lkj_corr_cholesky, multi_normal_cholesky};

use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Operand, Tensor};
use loose::{Loose, fitting};

/// A real parameter in its own shape.
#[track_caller]
fn real<T: BaseTensor, const D: usize, E: Float>(parameter: &impl Operand<T, D, E>) -> Loose<T, E> {
    Loose::of::<D>(parameter)
}

/// An integer parameter in its own shape, as floats.
#[track_caller]
fn integer<T: BaseTensor, const D: usize, E: Float>(parameter: &impl Operand<T, D, i64>) -> Loose<T, E> {
    Loose::of::<D>(parameter).to_float()
}

/// A formula at an outcome and its parameters: one log density for each element.
#[track_caller]
fn elementwise<T: BaseTensor, const D: usize, E: Float, const N: usize>(
    op: &str,
    x: &Tensor<T, D, E>,
    parameters: [Loose<T, E>; N],
    formula: impl FnOnce(&Loose<T, E>, [&Loose<T, E>; N]) -> Loose<T, E>,
) -> Tensor<T, D, E> {
    let mut values = vec![x.raw()];
    values.extend(parameters.iter().map(Loose::raw));
    fitting(op, &values);
    formula(&Loose::new(x.raw().clone()), parameters.each_ref()).tensor(x.raw().shape())
}
