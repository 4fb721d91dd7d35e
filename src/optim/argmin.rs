//! Problems for the solvers of the crate `argmin`: L-BFGS, Newton-CG, trust regions and others.
//!
//! Laws: value, gradient and Hessian-vector products are those of one [`FlatFunction`], compiled at their first use. No
//! Hessian matrix is computed: the solvers get a [`HessianAt`], a point, and each product with it runs a program. A
//! solver never sees a number that is not finite: it would compare it, and a line search by comparisons with NaN does
//! not end, whatever bound of iterations the executor has. The evaluation is an error that names the point.

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Gradient, Hessian};
use argmin_math::ArgminDot;

use crate::ad::FlatFunction;
use crate::array::Array;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// A function to be minimized, of a tree of parameters and of data.
///
/// The solvers work on the raveled parameters, a `Vec<f64>`: [`start`](Problem::start) is the initial point, and
/// [`tree`](Problem::tree) turns the vector that a solver returns into parameters. The traits `CostFunction`,
/// `Gradient` and `Hessian` are implemented.
///
/// A cost, gradient or Hessian that is not finite is an error, which ends the solver and names the point: a line search
/// that compares with NaN would not end, whatever the executor's bound of iterations.
///
/// ```
/// use argmin::core::Executor;
/// use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
/// use polygrad::optim::argmin::Problem;
/// use polygrad::{BaseTensor, Tensor, tensor};
///
/// /// Rosenbrock's function of a tree: a number and a vector.
/// fn valley<T: BaseTensor>((x, y): &(Tensor<T, 0>, Tensor<T, 1>)) -> Tensor<T, 0> {
///     (1.0 - x).square() + 100.0 * (y - x.square()).square().sum()
/// }
///
/// let problem = Problem::new(valley, &(tensor(-1.2), tensor([1.0])));
/// let start = problem.start();
/// let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5);
/// let found = Executor::new(problem, solver).configure(|state| state.param(start).max_iters(100)).run()?;
/// let best = found.state.best_param.expect("a point");
/// assert!(best.iter().all(|x| (x - 1.0).abs() < 1e-6));
/// # Ok::<(), argmin::core::Error>(())
/// ```
///
/// A search that leaves the domain of the objective ends with words: an error of the executor, or, where a solver hands
/// on what stopped its line search, the reason of its end.
///
/// ```
/// use argmin::core::Executor;
/// use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
/// use polygrad::optim::argmin::Problem;
/// use polygrad::{Tensor, tensor};
///
/// let objective = |x: &Tensor<_, 1>| ((x - 3.0).square() * 1000.0 - (10.0 - x).sqrt()).sum();
/// let problem = Problem::new(objective, &tensor([0.0]));
/// let start = problem.start();
/// let solver = LBFGS::new(MoreThuenteLineSearch::new(), 5);
/// let run = Executor::new(problem, solver).configure(|state| state.param(start)).run()?;
/// let reason = run.state.termination_status.to_string();
/// assert!(reason.contains("cost: the objective must be finite where a solver evaluates it, but it is NaN at"), "{reason}");
/// # Ok::<(), argmin::core::Error>(())
/// ```
pub struct Problem<P> {
    function: Arc<FlatFunction<P>>,
    start: Vec<f64>,
}

impl<P> Problem<P>
where
    P: Tree<Array, With<Array> = P> + Clone,
{
    /// The function `f`, recorded for parameters like `start`.
    ///
    /// Example: [`Problem::tree`].
    ///
    /// # Panics
    /// When `f` inspects values, or a variable of a loop escapes from it.
    #[track_caller]
    pub fn new(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0>, start: &P) -> Self {
        Problem::new_with(|x, _: &()| f(x), start, &())
    }

    /// The function `f`, recorded for parameters like `start`, with these data.
    ///
    /// Example: [`Problem::tree`].
    ///
    /// # Panics
    /// When `f` inspects values, or a variable of a loop escapes from it.
    #[track_caller]
    pub fn new_with<Q: Tree<Array>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0>,
        start: &P,
        data: &Q,
    ) -> Self {
        let function = FlatFunction::new_with(f, start, data);
        let start = function.raveled(start);
        Problem { function: Arc::new(function), start }
    }

    /// The raveled parameters with which the problem was made.
    ///
    /// Example: [`Problem::tree`].
    pub fn start(&self) -> Vec<f64> {
        self.start.clone()
    }

    /// The parameters of a vector that a solver returned.
    ///
    /// ```
    /// use argmin::core::{CostFunction, Gradient};
    /// use polygrad::optim::argmin::Problem;
    /// use polygrad::{Tensor, tensor};
    /// let f = |(x, y): &(Tensor<_, 0>, Tensor<_, 1>), scale: &Tensor<_, 0>| x * y.sum() * scale;
    /// let problem = Problem::new_with(f, &(tensor(1.0), tensor([2.0, 3.0])), &tensor(10.0));
    /// assert_eq!(problem.start(), [1.0, 2.0, 3.0]);
    /// assert_eq!(problem.cost(&problem.start())?, 50.0);
    /// assert_eq!(problem.gradient(&problem.start())?, [50.0, 10.0, 10.0]);
    /// assert_eq!(problem.tree(&[7.0, 8.0, 9.0])?, (tensor(7.0), tensor([8.0, 9.0])));
    /// assert!(problem.tree(&[7.0]).is_err());
    /// let without_data = Problem::new(|x: &Tensor<_, 1>| x.square().sum(), &tensor([0.0, 0.0]));
    /// assert_eq!(without_data.cost(&vec![3.0, 4.0])?, 25.0);
    /// # Ok::<(), argmin::core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the vector does not have as many elements as the parameters.
    pub fn tree(&self, x: &[f64]) -> Result<P, Error> {
        fitting(&self.function, x)?;
        Ok(self.function.tree(x))
    }
}

fn fitting<P>(function: &FlatFunction<P>, x: &[f64]) -> Result<(), Error> {
    let needed = function.len();
    if x.len() != needed {
        let text = format!(
            "tree: the vector must have an element for each of the {needed} parameters, but it has {}; begin with `start`",
            x.len()
        );
        return Err(Error::msg(text));
    }
    Ok(())
}

/// The largest number of coordinates of a point in a message.
const SHOWN: usize = 8;

/// The error of an evaluation that is not finite.
#[cold]
fn not_finite(verb: &str, fact: &str, x: &[f64]) -> Error {
    let few: Vec<String> = x.iter().take(SHOWN).map(|x| format!("{x:?}")).collect();
    let more = if x.len() > SHOWN { format!(", .. of {} numbers", x.len()) } else { String::new() };
    let point = format!("[{}{more}]", few.join(", "));
    Error::msg(format!(
        "{verb}: the objective must be finite where a solver evaluates it, but {fact} at {point}; keep the parameters in \
         the domain by a function such as `exp`, start elsewhere, or ask `polygrad::inspect::first_nan` which operation \
         it is"
    ))
}

impl<P> CostFunction for Problem<P> {
    type Param = Vec<f64>;
    type Output = f64;

    /// The objective.
    ///
    /// # Errors
    /// When the vector does not have as many elements as the parameters, or the objective is not finite there.
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        fitting(&self.function, x)?;
        let cost = self.function.value(x);
        if !cost.is_finite() {
            return Err(not_finite("cost", &format!("it is {cost:?}"), x));
        }
        Ok(cost)
    }
}

impl<P> Gradient for Problem<P> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    /// The gradient of the objective.
    ///
    /// # Errors
    /// When the vector does not have as many elements as the parameters, or the gradient is not finite there, or so large that
    /// its squared norm is not.
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        fitting(&self.function, x)?;
        let mut gradient = vec![0.0; x.len()];
        self.function.grad(x, &mut gradient);
        if let Some((k, slope)) = gradient.iter().enumerate().find(|(_, slope)| !slope.is_finite()) {
            return Err(not_finite("gradient", &format!("element {k} of its gradient is {slope:?}"), x));
        }
        if !gradient.iter().map(|slope| slope * slope).sum::<f64>().is_finite() {
            return Err(not_finite("gradient", "the squared norm of its gradient is infinite", x));
        }
        Ok(gradient)
    }
}

impl<P> Hessian for Problem<P> {
    type Param = Vec<f64>;
    type Hessian = HessianAt<P>;

    /// The Hessian of the objective, as a map of vectors.
    ///
    /// # Errors
    /// When the vector does not have as many elements as the parameters, or the Hessian is not finite there, which its product
    /// with ones shows.
    fn hessian(&self, x: &Vec<f64>) -> Result<HessianAt<P>, Error> {
        fitting(&self.function, x)?;
        let hessian = HessianAt { function: self.function.clone(), at: x.clone() };
        let sums = hessian.dot(&vec![1.0; x.len()]);
        if let Some((k, sum)) = sums.iter().enumerate().find(|(_, sum)| !sum.is_finite()) {
            return Err(not_finite("hessian", &format!("row {k} of its Hessian has the sum {sum:?}"), x));
        }
        Ok(hessian)
    }
}

/// The Hessian of a [`Problem`] at a point, as a linear map.
///
/// ```
/// use argmin::core::Hessian;
/// use argmin_math::ArgminDot;
/// use polygrad::optim::argmin::{HessianAt, Problem};
/// use polygrad::{Tensor, tensor};
/// let problem = Problem::new(|x: &Tensor<_, 1>| x.powi(3).sum(), &tensor([1.0, 2.0]));
/// let hessian: HessianAt<_> = problem.hessian(&vec![1.0, 2.0])?;
/// assert_eq!(hessian.dot(&vec![1.0, 1.0]), [6.0, 12.0]);
/// # Ok::<(), argmin::core::Error>(())
/// ```
pub struct HessianAt<P> {
    function: Arc<FlatFunction<P>>,
    at: Vec<f64>,
}

impl<P> Clone for HessianAt<P> {
    fn clone(&self) -> Self {
        HessianAt { function: self.function.clone(), at: self.at.clone() }
    }
}

/// The product with a vector.
impl<P> ArgminDot<Vec<f64>, Vec<f64>> for HessianAt<P> {
    fn dot(&self, v: &Vec<f64>) -> Vec<f64> {
        if let Err(message) = fitting(&self.function, v) {
            panic!("{message}");
        }
        let mut product = vec![0.0; v.len()];
        self.function.hvp(&self.at, v, &mut product);
        product
    }
}
