//! Values whose tangent vectors have another type: angles, rotations, directions, and trees of these.
//!
//! A [`Manifold`] chooses its tangent space: the type of the small changes of a value, with a retraction that moves a
//! value along one. A gradient in it has the type of a tangent vector; a loss is minimized along the manifold, without
//! constraints and without a step that leaves it. Integers and truth values have no tangent vectors: their tangent space
//! is `()`.
//!
//! ```
//! use polygrad::manifold::{self, Manifold, Rotation};
//! use polygrad::optim::{Adam, Optimizer};
//! use polygrad::{Array, BaseTensor, Tensor, tensor};
//! /// How far a rotation is from taking `from` to `to`.
//! fn misfit<T: BaseTensor>(r: &Rotation<T>) -> Tensor<T, 0> {
//!     let (from, to) = (tensor([1.0, 0.0, 0.0]), tensor([0.0, 0.6, 0.8]));
//!     (r.rotate(&Tensor::constant(&from)) - Tensor::constant(&to)).square().sum()
//! }
//! let adam = Adam::new(0.1);
//! let mut r = Rotation::<Array>::identity();
//! let mut state = adam.init(&r.zero());
//! for _ in 0..300 {
//!     let slope = manifold::grad(misfit, &r);
//!     (r, state) = manifold::update(&adam, &r, &slope, &state);
//! }
//! assert!(misfit(&r).item() < 1e-6);
//! // It is a rotation still.
//! let m = r.matrix();
//! assert!((m.t().matmul(m) - Tensor::eye(3)).abs().max_all().item() < 1e-12);
//! ```
//!
//! **Laws.** For a point `p`, tangent vectors `v` near zero, and points `q` near `p`: `p.retract(&p.zero())` is `p`;
//! `p.local(&p.retract(v))` is `v`; `p.retract(&p.local(q))` is `q`. All three functions have derivatives of all orders
//! there, also at `v = 0` and `q = p`, so a map between manifolds has a derivative between tangent spaces, and a chain of
//! maps has the chain of these.
//!
//! **All verbs.** [`in_chart`] and [`between_charts`] make functions of numbers without constraints, which every verb
//! takes, such as [`hessian_matrix_with`](crate::hessian_matrix_with) or [`Function::grad_with`](crate::Function::grad_with).
//!
//! "Differentiable curry", section 6.2, names tangent spaces that users define as an extension; the guide to the
//! terminology of differentiable programming uses tangent bundles of manifolds in sections IV and VI. Retractions: Absil,
//! Mahony and Sepulchre, *Optimization algorithms on matrix manifolds*, 2008, chapter 4. The instances use exponential maps.
//!
//! | file | contents |
//! |---|---|
//! | this one | the trait |
//! | `impls` | tensors, tuples and containers |
//! | `verbs` | derivatives and updates of optimizers |
//! | `angle`, `rotation`, `direction` | instances |
//! | `series` | functions of a squared length that are smooth at zero |

mod angle;
mod direction;
mod impls;
mod rotation;
mod series;
mod verbs;

pub use angle::Angle;
pub use direction::Direction;
pub use rotation::Rotation;
pub use verbs::{between_charts, grad, in_chart, jvp, update, value_and_grad};

use crate::base::BaseTensor;
use crate::tree::Tree;

/// A tree of tensors with a tangent space of another type.
///
/// Float tensors are manifolds whose tangent vectors are tensors of the same shape; tuples, arrays and vectors of
/// manifolds are manifolds. A struct gets an instance by that of a tuple:
///
/// ```
/// use polygrad::manifold::{self, Manifold, Rotation};
/// use polygrad::{BaseTensor, Tensor, Tree, tensor};
/// /// Where a camera is, and how it is turned.
/// #[derive(Tree, Clone, Debug)]
/// struct Pose<T: BaseTensor> {
///     turn: Rotation<T>,
///     at: Tensor<T, 1>,
/// }
/// impl<T: BaseTensor> Manifold<T> for Pose<T> {
///     type Tangent = (Tensor<T, 1>, Tensor<T, 1>);
///     fn zero(&self) -> Self::Tangent {
///         (self.turn.zero(), self.at.zero())
///     }
///     fn retract(&self, (turn, at): &Self::Tangent) -> Self {
///         Pose { turn: self.turn.retract(turn), at: self.at.retract(at) }
///     }
///     fn local(&self, to: &Self) -> Self::Tangent {
///         (self.turn.local(&to.turn), self.at.local(&to.at))
///     }
/// }
/// /// The first coordinate of a point, as this camera sees it.
/// fn seen<T: BaseTensor>(pose: &Pose<T>) -> Tensor<T, 0> {
///     pose.turn.rotate(&(Tensor::constant(&tensor([0.0, 1.0, 0.0])) - &pose.at)).at([0])
/// }
/// let pose = Pose { turn: Rotation::identity(), at: tensor([0.0, 0.0, 0.0]) };
/// let (turn, at) = manifold::grad(seen, &pose);
/// // A turn about the third axis moves the point, which is at one on the second axis, along the first.
/// assert_eq!((turn, at), (tensor([0.0, 0.0, -1.0]), tensor([-1.0, 0.0, 0.0])));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a manifold over the interpreter `{T}`",
    label = "needs a tensor, an angle, a rotation, a direction, or a tuple, array or `Vec` of these",
    note = "a struct is a manifold by its own `impl Manifold<T>`: see the example of the trait"
)]
pub trait Manifold<T: BaseTensor>: Tree<T> {
    /// The type of a tangent vector: numbers without constraints.
    type Tangent: Tree<T>;

    /// The zero of the tangent space at this point.
    ///
    /// Example: [`Manifold`](trait@Manifold).
    fn zero(&self) -> Self::Tangent;

    /// The point to which a tangent vector at this point leads.
    ///
    /// ```
    /// use polygrad::manifold::{Direction, Manifold};
    /// use polygrad::tensor;
    /// let quarter = Direction::towards(&tensor([1.0, 0.0])).retract(&tensor([std::f64::consts::FRAC_PI_2]));
    /// assert!((quarter.vector() - tensor([0.0, 1.0])).abs().max_all().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When the tangent vector has another structure or other shapes than [`zero`](Manifold::zero).
    #[track_caller]
    fn retract(&self, v: &Self::Tangent) -> Self;

    /// The tangent vector at this point that leads to another one: the inverse of [`retract`](Manifold::retract) near the
    /// point.
    ///
    /// ```
    /// use polygrad::manifold::{Angle, Manifold};
    /// use polygrad::tensor;
    /// // The short way around.
    /// let (a, b) = (Angle::new(&tensor(3.0)), Angle::new(&tensor(-3.0)));
    /// assert!((a.local(&b).item() - (std::f64::consts::TAU - 6.0)).abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When the other point has another structure or other shapes.
    #[track_caller]
    fn local(&self, to: &Self) -> Self::Tangent;
}
