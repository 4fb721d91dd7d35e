//! Problems for the solvers of the crate `argmin`: L-BFGS, Newton-CG, trust regions and others.
//!
//! Law: value, gradient and Hessian-vector products are those of one function, each recorded once. No Hessian matrix is
//! computed: the solvers get a [`HessianAt`], a point, and each product with it runs a recorded program.

use std::sync::Arc;

use argmin::core::{CostFunction, Error, Gradient, Hessian};
use argmin_math::ArgminDot;

use crate::ad::Function;
use crate::array::Array;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::raveled_size;

/// A function to be minimized, of a tree of parameters and of data.
///
/// The solvers work on the raveled parameters, a `Vec<f64>`: [`start`](Problem::start) is the initial point, and
/// [`tree`](Problem::tree) turns the vector that a solver returns into parameters. The traits `CostFunction`,
/// `Gradient` and `Hessian` are implemented.
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
pub struct Problem<P, Q = ()> {
    value: Function<P, Q, Tensor<Array, 0>>,
    gradient: Function<P, Q, P>,
    products: Arc<Function<P, (P, Q), P>>,
    /// The initial parameters, which also give the structure of the tree.
    start: P,
    data: Q,
}

impl<P> Problem<P>
where
    P: Tree<Array, With<Array> = P> + Clone,
{
    /// The function `f`, recorded for parameters like `start`.
    ///
    /// # Panics
    /// When `f` inspects values, or a variable of a loop escapes from it.
    #[track_caller]
    pub fn new(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0>, start: &P) -> Self {
        Problem::new_with(|x, _: &()| f(x), start, &())
    }
}

impl<P, Q> Problem<P, Q>
where
    P: Tree<Array, With<Array> = P> + Clone,
    Q: Tree<Array, With<Array> = Q> + Clone,
{
    /// The function `f`, recorded for parameters like `start`, with these data.
    ///
    /// # Panics
    /// When `f` inspects values, or a variable of a loop escapes from it.
    #[track_caller]
    pub fn new_with(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0>, start: &P, data: &Q) -> Self {
        Problem {
            value: Function::stage_with(&f, start, data),
            gradient: Function::grad_with(&f, start, data),
            products: Arc::new(Function::hvp_with(&f, start, data)),
            start: start.clone(),
            data: data.clone(),
        }
    }

    /// The raveled parameters with which the problem was made.
    pub fn start(&self) -> Vec<f64> {
        self.start.ravel().to_vec()
    }

    /// The parameters of a vector that a solver returned.
    ///
    /// # Errors
    /// When the vector has not as many elements as the parameters.
    pub fn tree(&self, x: &[f64]) -> Result<P, Error> {
        parameters(&self.start, x)
    }
}

fn parameters<P: Tree<Array, With<Array> = P>>(like: &P, x: &[f64]) -> Result<P, Error> {
    let needed = raveled_size(&like.leaves());
    if x.len() != needed {
        let text = format!(
            "tree: the vector must have an element for each of the {needed} parameters, but it has {}; begin with `start`",
            x.len()
        );
        return Err(Error::msg(text));
    }
    Ok(like.unravel(&Tensor::constant(x.to_vec())))
}

impl<P, Q> CostFunction for Problem<P, Q>
where
    P: Tree<Array, With<Array> = P> + Clone,
    Q: Tree<Array, With<Array> = Q> + Clone,
{
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.value.run_with(&self.tree(x)?, &self.data)?.item())
    }
}

impl<P, Q> Gradient for Problem<P, Q>
where
    P: Tree<Array, With<Array> = P> + Clone,
    Q: Tree<Array, With<Array> = Q> + Clone,
{
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.gradient.run_with(&self.tree(x)?, &self.data)?.ravel().to_vec())
    }
}

impl<P, Q> Hessian for Problem<P, Q>
where
    P: Tree<Array, With<Array> = P> + Clone,
    Q: Tree<Array, With<Array> = Q> + Clone,
{
    type Param = Vec<f64>;
    type Hessian = HessianAt<P, Q>;

    fn hessian(&self, x: &Vec<f64>) -> Result<HessianAt<P, Q>, Error> {
        Ok(HessianAt { products: self.products.clone(), at: self.tree(x)?, data: self.data.clone() })
    }
}

/// The Hessian of a [`Problem`] at a point, as a linear map.
#[derive(Clone)]
pub struct HessianAt<P, Q> {
    products: Arc<Function<P, (P, Q), P>>,
    at: P,
    data: Q,
}

/// The product with a vector.
impl<P, Q> ArgminDot<Vec<f64>, Vec<f64>> for HessianAt<P, Q>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array, With<Array> = Q> + Clone,
{
    fn dot(&self, v: &Vec<f64>) -> Vec<f64> {
        let product = parameters(&self.at, v)
            .and_then(|v| Ok(self.products.run_with(&self.at, &(v, self.data.clone()))?.ravel().to_vec()));
        match product {
            Ok(product) => product,
            Err(message) => panic!("{message}"),
        }
    }
}
