//! Directions: vectors of length one, the points of a sphere, whose tangent vectors have one coordinate less.

use super::Manifold;
use super::series::{arc, sinc, versine};
use crate::base::BaseTensor;
use crate::shape::Show;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// A vector of length one, in `n` dimensions.
///
/// A tangent vector has `n - 1` coordinates, in an orthonormal basis of the vectors at a right angle to the point `p`: the
/// columns but the first one of the reflection that takes `p` to an axis. A step goes along a great circle,
/// `cos(|v|) p + sin(|v|)/|v| v`. [`local`](Manifold::local) is its inverse for points less than half a turn apart; between
/// opposite points no way is the short one, and the result is NaN.
///
/// ```
/// use polygrad::manifold::{self, Direction, Manifold};
/// use polygrad::{BaseTensor, Tensor, tensor};
/// /// The Rayleigh quotient: on the sphere, least at the eigenvector with the least eigenvalue.
/// fn quotient<T: BaseTensor>(p: &Direction<T>) -> Tensor<T, 0> {
///     let a = Tensor::constant(&tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]));
///     p.vector().dot(&a.matvec(p.vector()))
/// }
/// let mut p = Direction::towards(&tensor([1.0, 1.0, 1.0]));
/// for _ in 0..200 {
///     p = p.retract(&(manifold::grad(quotient, &p) * -0.2));
/// }
/// assert!((quotient(&p).item() - (3.0 - 3.0_f64.sqrt())).abs() < 1e-12);
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Direction<T: BaseTensor>(Tensor<T, 1>);

impl<T: BaseTensor> Direction<T> {
    /// The direction of a vector, `v / |v|`; NaN for the zero vector, which has none.
    ///
    /// Example: [`Direction`].
    ///
    /// # Panics
    /// When the vector has no elements.
    #[track_caller]
    pub fn towards(v: &Tensor<T, 1>) -> Self {
        assert!(
            v.shape() != [0],
            "towards: a direction must have at least one coordinate, but the shape is [0]; give a vector"
        );
        Direction(v / v.dot(v).sqrt())
    }

    /// The vector, of length one.
    ///
    /// Example: [`Direction`].
    pub fn vector(&self) -> &Tensor<T, 1> {
        &self.0
    }

    /// A vector, reflected so that this direction goes to the first axis or to its opposite: `x - 2 w (w.x)/(w.w)` for
    /// `w = p + sign(p_0) e_0`, which is never short.
    fn reflected(&self, x: &Tensor<T, 1>) -> Tensor<T, 1> {
        let [n] = self.0.shape();
        let first = self.0.at([0]);
        let sign = first.lt(0.0).select(-1.0, Tensor::<T, 0>::scalar(1.0));
        let w = &self.0 + sign.replicate::<1>(1).pad([(0, n - 1)]);
        let along = w.dot(x) / w.dot(&w) * 2.0;
        x - w * along
    }
}

impl<T: BaseTensor> Manifold<T> for Direction<T> {
    type Tangent = Tensor<T, 1>;

    fn zero(&self) -> Tensor<T, 1> {
        let [n] = self.0.shape();
        Tensor::zeros([n - 1])
    }

    #[track_caller]
    fn retract(&self, v: &Tensor<T, 1>) -> Self {
        let ([n], [given]) = (self.0.shape(), v.shape());
        assert!(
            given + 1 == n,
            "retract: a tangent vector of a direction must have one element less than it, but the shapes are {} and {}; \
             start from zero()",
            Show(&[n]),
            Show(&[given])
        );
        let s = v.dot(v);
        let ambient = self.reflected(&v.pad([(1, 0)]));
        let cosine = 1.0 - &s * versine(&s);
        Direction(&self.0 * cosine + ambient * sinc(&s))
    }

    #[track_caller]
    fn local(&self, to: &Self) -> Tensor<T, 1> {
        let cosine = self.0.dot(&to.0);
        let across = &to.0 - &self.0 * &cosine;
        let s = across.dot(&across);
        self.reflected(&across).slice(0, 1..) * arc(&s, &cosine)
    }
}
