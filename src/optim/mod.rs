//! Optimizers: rules that compute new parameters from parameters and their gradient.
//!
//! An optimizer holds its hyperparameters and nothing else. Moments and the count of updates are a [`State`], which is
//! a tree as the parameters are. An update is a generic program over trees at any interpreter. So it runs on arrays,
//! inside a recorded step together with the gradient, in the body of a loop, and under a derivative.
//!
//! ```
//! use polygrad::optim::{Adam, Optimizer};
//! use polygrad::{grad, tensor};
//!
//! let adam = Adam::new(0.1);
//! let mut x = tensor([3.0, -2.0]);
//! let mut state = adam.init(&x);
//! for _ in 0..400 {
//!     let slope = grad(|x| (x - 1.0).square().sum(), &x);
//!     (x, state) = adam.update(&x, &slope, &state);
//! }
//! assert!((x - 1.0).abs().to_vec().iter().all(|e| *e < 1e-3));
//! ```
//!
//! Gradient and update as one recorded program:
//!
//! ```
//! use polygrad::optim::{Optimizer, Rate, Sgd, clip_by_norm};
//! use polygrad::{Function, tensor, value_and_grad};
//!
//! let sgd = Sgd::new(Rate::cosine(0.1, 0.01, 100)).momentum(0.9);
//! let x = tensor([3.0, -2.0]);
//! let start = (x.clone(), sgd.init(&x));
//! let step = Function::stage(
//!     |(x, state)| {
//!         let (loss, slope) = value_and_grad(|x| (x - 1.0).square().sum(), x);
//!         (sgd.update(x, &clip_by_norm(&slope, 1.0), state), loss)
//!     },
//!     &start,
//! );
//! let mut now = start;
//! for _ in 0..100 {
//!     now = step.run(&now)?.0;
//! }
//! assert!((now.0 - 1.0).abs().to_vec().iter().all(|e| *e < 1e-2));
//! # Ok::<(), polygrad::RunError>(())
//! ```

#[cfg(feature = "argmin")]
pub mod argmin;
mod first_order;
mod rate;

pub use first_order::{Adam, Sgd};
pub use rate::Rate;

use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::tensor::Tensor;
use crate::tree::{Tree, TreeMath};

/// A first-order update rule: it uses gradients alone.
///
/// ```
/// use polygrad::optim::{Optimizer, State};
/// use polygrad::tree::TreeMath;
/// use polygrad::{BaseTensor, Tree, tensor};
/// /// An optimizer of one's own: steps along the gradient.
/// struct Descent(f64);
/// impl Optimizer for Descent {
///     fn moments(&self) -> usize {
///         0
///     }
///     fn update<T: BaseTensor, P: Tree<T, With<T> = P>>(&self, x: &P, slope: &P, now: &State<T, P>) -> (P, State<T, P>) {
///         (x.add_scaled(-self.0, slope), State { count: &now.count + 1.0, moments: Vec::new() })
///     }
/// }
/// let (descent, x) = (Descent(0.5), (tensor([1.0, 2.0]), tensor(3.0)));
/// let (x, state) = descent.update(&x, &(tensor([1.0, -1.0]), tensor(-2.0)), &descent.init(&x));
/// assert_eq!((x, state.count), ((tensor([0.5, 2.5]), tensor(4.0)), tensor(1.0)));
/// ```
pub trait Optimizer {
    /// The number of trees in the state: the moments that the rule needs.
    ///
    /// Example: [`Optimizer::init`].
    fn moments(&self) -> usize;

    /// The new parameters, and the new state.
    ///
    /// Integer and mask leaves of the parameters stay as they are.
    ///
    /// Example: [`Optimizer`].
    ///
    /// # Panics
    /// When the leaves of the parameters, of the gradient and of the state differ in number, shape or element type.
    #[track_caller]
    fn update<T: BaseTensor, P: Tree<T, With<T> = P>>(
        &self,
        x: &P,
        gradient: &P,
        state: &State<T, P>,
    ) -> (P, State<T, P>);

    /// The state before the first update: zeros in the structure of the parameters.
    ///
    /// ```
    /// use polygrad::optim::{Adam, Optimizer, Sgd, State};
    /// use polygrad::tensor;
    /// assert_eq!((Sgd::new(0.1).moments(), Sgd::new(0.1).momentum(0.9).moments(), Adam::new(0.1).moments()), (0, 1, 2));
    /// let State { count, moments } = Adam::new(0.1).init(&tensor([1.0, 2.0]));
    /// assert_eq!((count, moments), (tensor(0.0), vec![tensor([0.0, 0.0]), tensor([0.0, 0.0])]));
    /// ```
    fn init<T: BaseTensor, P: Tree<T, With<T> = P>>(&self, x: &P) -> State<T, P> {
        State { count: Tensor::zeros([]), moments: (0..self.moments()).map(|_| x.zeros_like()).collect() }
    }
}

/// The state of an [`Optimizer`] between updates: a tree over the same interpreter as the parameters `P`.
///
/// The count of updates is a tensor, so that a recorded step reads it as data.
///
/// Example: [`Optimizer::init`].
#[derive(Tree, Clone, Debug)]
pub struct State<T: BaseTensor, P> {
    /// The number of updates so far.
    pub count: Tensor<T, 0>,
    /// Trees in the structure of the parameters: the velocity of [`Sgd`]; first and second moment of [`Adam`].
    pub moments: Vec<P>,
}

/// Gradient clipping by the global norm: `g * min(1, length / |g|)`.
///
/// The norm `|g|` is the square root of the sum of the squares of all elements of all float leaves. A NaN in the
/// gradient makes all of its elements NaN, so that it is not hidden. (Pascanu, Mikolov and Bengio, *On the difficulty
/// of training recurrent neural networks*, ICML 2013, section 3.2.)
///
/// ```
/// use polygrad::{optim::clip_by_norm, tensor};
/// let gradient = (tensor([3.0, 0.0]), tensor(4.0));
/// let shorter = clip_by_norm(&gradient, 2.5);
/// assert_eq!(shorter.0.to_vec(), [1.5, 0.0]);
/// assert_eq!(clip_by_norm(&gradient, 10.0).1.item(), 4.0);
/// ```
///
/// # Panics
/// When `length` is not a positive number.
#[track_caller]
pub fn clip_by_norm<T: BaseTensor, P: Tree<T, With<T> = P>>(gradient: &P, length: f64) -> P {
    assert!(
        length > 0.0,
        "clip_by_norm: the length must be positive, but it is {length}; leave the gradient out instead"
    );
    // Huge elements are in a larger unit, in which the norm is in range.
    let unit = largest(gradient).gt(2f64.powi(100)).select(2f64.powi(-64), 1.0);
    let gradient = gradient.times(&unit);
    let norm = gradient.norm();
    gradient.times(&(length / norm.max(unit * length)))
}

/// The largest absolute value in all float leaves, a constant for derivatives; 0 without elements.
#[track_caller]
fn largest<T: BaseTensor, P: Tree<T, With<T> = P>>(tree: &P) -> Tensor<T, 0> {
    let leaves = tree.leaves().into_iter().filter(|leaf| leaf.dtype().is_float() && !leaf.shape().contains(&0));
    let tops = leaves.map(|leaf| {
        let line = leaf.linear(&Linear::reshape(leaf.shape(), &[leaf.shape().iter().product()]));
        match line.dtype() {
            DType::F32 => Tensor::<T, 1, f32>::from_raw(line).stop_gradient().abs().max_all().cast(),
            DType::F64 | DType::I64 | DType::Bool => Tensor::<T, 1>::from_raw(line).stop_gradient().abs().max_all(),
        }
    });
    tops.reduce(|a, b| a.max(b)).unwrap_or_else(|| Tensor::zeros([]))
}
