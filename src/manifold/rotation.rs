//! Rotations of space, SO(3): orthogonal matrices with determinant one, whose tangent vectors are rotation vectors.

use super::Manifold;
use super::series::{arc, sinc, versine};
use crate::base::BaseTensor;
use crate::tensor::{Tensor, concat, stack};
use crate::tree::Tree;

/// A rotation of space, as a matrix.
///
/// A tangent vector `v` has three coordinates: the rotation by the angle `|v|` about the axis `v`, before the rotation
/// itself, `R.retract(v) = R exp([v])`, where `[v] x` is the cross product `v x x`. [`local`](Manifold::local) is
/// `log(R^T S)`, right for rotations less than half a turn apart; at half a turn both axes are right, and it is one of
/// them. (Rodrigues' formula; Sola, Deray and Atchuthan, *A micro Lie theory for state estimation in robotics*, 2018,
/// appendix B.)
///
/// ```
/// use polygrad::manifold::Rotation;
/// use polygrad::tensor;
/// let quarter = Rotation::exp(&tensor([0.0, 0.0, std::f64::consts::FRAC_PI_2]));
/// let turned = quarter.rotate(&tensor([1.0, 0.0, 0.0]));
/// assert!((turned - tensor([0.0, 1.0, 0.0])).abs().max_all().item() < 1e-15);
/// let half = quarter.then(&quarter);
/// assert!((half.log() - tensor([0.0, 0.0, std::f64::consts::PI])).abs().max_all().item() < 1e-15);
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Rotation<T: BaseTensor>(Tensor<T, 2>);

impl<T: BaseTensor> Rotation<T> {
    /// The rotation that moves nothing.
    ///
    /// Example: [`Manifold`].
    pub fn identity() -> Self {
        Rotation(Tensor::eye(3))
    }

    /// The rotation with this matrix, which must be orthogonal with determinant one. What is not is not found out, since
    /// the elements may not be known.
    ///
    /// ```
    /// use polygrad::manifold::Rotation;
    /// use polygrad::tensor;
    /// let swap = Rotation::from_matrix(&tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]));
    /// assert_eq!(swap.then(&swap).then(&swap), Rotation::identity());
    /// ```
    ///
    /// # Panics
    /// When the shape is not `[3, 3]`.
    #[track_caller]
    pub fn from_matrix(matrix: &Tensor<T, 2>) -> Self {
        let shape = matrix.shape();
        assert!(
            shape == [3, 3],
            "from_matrix: the matrix of a rotation must have shape [3, 3], but the shape is {shape:?}; give a \
             matrix of three rows of three"
        );
        Rotation(matrix.clone())
    }

    /// The rotation by the angle `|v|` about the axis `v`: `I + sin(r)/r [v] + (1 - cos(r))/r^2 [v]^2` for `r = |v|`.
    ///
    /// Example: [`Rotation`].
    ///
    /// # Panics
    /// When `v` has not three elements.
    #[track_caller]
    pub fn exp(v: &Tensor<T, 1>) -> Self {
        check_three("exp: a rotation vector", v);
        let s = v.dot(v);
        let cross = cross_matrix(v);
        let square = cross.matmul(&cross);
        Rotation(Tensor::eye(3) + cross * sinc(&s) + square * versine(&s))
    }

    /// The rotation vector, of length at most half a turn: the inverse of [`exp`](Rotation::exp) for shorter ones.
    ///
    /// By the unit quaternion of the matrix, from its largest component, so it is accurate for all angles. (Shepperd,
    /// *Quaternion from rotation matrix*, 1978.)
    ///
    /// Example: [`Rotation`].
    pub fn log(&self) -> Tensor<T, 1> {
        let q = self.quaternion();
        let axis = q.slice(0, 1..);
        let s = axis.dot(&axis);
        axis * (arc(&s, &q.at([0])) * 2.0)
    }

    /// The unit quaternion `(w, x, y, z)` with `w >= 0`.
    fn quaternion(&self) -> Tensor<T, 1> {
        let m: [[Tensor<T, 0>; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| self.0.at([i, j])));
        let plus = |i: usize, j: usize| &m[i][j] + &m[j][i];
        let minus = |i: usize, j: usize| &m[i][j] - &m[j][i];
        let squares = [
            &m[0][0] + &m[1][1] + &m[2][2] + 1.0,
            &m[0][0] - &m[1][1] - &m[2][2] + 1.0,
            -&m[0][0] + &m[1][1] - &m[2][2] + 1.0,
            -&m[0][0] - &m[1][1] + &m[2][2] + 1.0,
        ];
        let [w2, x2, y2, z2] = &squares;
        let (wx, wy, wz) = (minus(2, 1), minus(0, 2), minus(1, 0));
        let (xy, xz, yz) = (plus(0, 1), plus(0, 2), plus(1, 2));
        // Each row is the quaternion times four times one of its components.
        let rows =
            [[w2, &wx, &wy, &wz], [&wx, x2, &xy, &xz], [&wy, &xy, y2, &yz], [&wz, &xz, &yz, z2]].map(|row| stack(row));
        let (mut largest, mut q) = (squares[0].clone(), rows[0].clone());
        for (square, row) in squares.iter().zip(&rows).skip(1) {
            let larger = square.gt(&largest);
            q = larger.replicate::<1>(4).select(row, &q);
            largest = larger.select(square, &largest);
        }
        let length = q.dot(&q).sqrt();
        let sign = q.at([0]).lt(0.0).select(-1.0, Tensor::<T, 0>::scalar(1.0));
        q * (sign / length)
    }

    /// The matrix.
    ///
    /// Example: [`orthonormalized`](Rotation::orthonormalized).
    pub fn matrix(&self) -> &Tensor<T, 2> {
        &self.0
    }

    /// The rotated vector `R x`.
    ///
    /// Example: [`Rotation`].
    ///
    /// # Panics
    /// When `x` has not three elements.
    #[track_caller]
    pub fn rotate(&self, x: &Tensor<T, 1>) -> Tensor<T, 1> {
        check_three("rotate: a vector of space", x);
        self.0.matvec(x)
    }

    /// This rotation, and then another one: `S R`.
    ///
    /// Example: [`Rotation`].
    #[must_use]
    pub fn then(&self, after: &Self) -> Self {
        Rotation(after.0.matmul(&self.0))
    }

    /// The rotation back: `R^T`.
    ///
    /// ```
    /// use polygrad::manifold::{self, Rotation};
    /// use polygrad::tensor;
    /// let r = Rotation::exp(&tensor([0.3, -0.2, 0.9]));
    /// assert!((r.inverse().log() + r.log()).abs().max_all().item() < 1e-15);
    /// // The derivative of the inverse: a change `v` before `R` becomes the change `-R v` before `R^T`.
    /// let v = tensor([1.0, 2.0, 3.0]);
    /// let moved = manifold::jvp(|r| r.inverse(), &r, &v);
    /// assert!((moved + r.rotate(&v)).abs().max_all().item() < 1e-14);
    /// ```
    #[must_use]
    pub fn inverse(&self) -> Self {
        Rotation(self.0.t())
    }

    /// A matrix that many products have moved away from a rotation by rounding, moved back by a step of Newton's iteration
    /// for the polar factor, `R (3 I - R^T R) / 2`: what was off by `e` is off by about `e^2`.
    ///
    /// ```
    /// use polygrad::manifold::Rotation;
    /// use polygrad::{Tensor, tensor};
    /// let near = Rotation::from_matrix(&tensor([[1.0, 1e-6, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]));
    /// let r = near.orthonormalized();
    /// assert!((r.matrix().t().matmul(r.matrix()) - Tensor::eye(3)).abs().max_all().item() < 1e-11);
    /// ```
    #[must_use]
    pub fn orthonormalized(&self) -> Self {
        let gram = self.0.t().matmul(&self.0);
        Rotation(self.0.matmul(&(Tensor::eye(3) * 1.5 - gram * 0.5)))
    }
}

/// Panics unless a vector has three elements.
#[track_caller]
fn check_three<T: BaseTensor>(what: &str, x: &Tensor<T, 1>) {
    let [n] = x.shape();
    assert!(n == 3, "{what} must have three elements, but the shape is {:?}; give three", x.shape());
}

/// The matrix of the cross product with `v`.
fn cross_matrix<T: BaseTensor>(v: &Tensor<T, 1>) -> Tensor<T, 2> {
    let [x, y, z]: [Tensor<T, 0>; 3] = std::array::from_fn(|k| v.at([k]));
    let zero = Tensor::scalar(0.0);
    let rows: [Tensor<T, 1>; 3] = [stack([&zero, &-&z, &y]), stack([&z, &zero, &-&x]), stack([&-&y, &x, &zero])];
    concat(0, rows.map(|row| row.reshape([1, 3])))
}

impl<T: BaseTensor> Manifold<T> for Rotation<T> {
    type Tangent = Tensor<T, 1>;

    fn zero(&self) -> Tensor<T, 1> {
        Tensor::zeros([3])
    }

    #[track_caller]
    fn retract(&self, v: &Tensor<T, 1>) -> Self {
        check_three("retract: a tangent vector of a rotation", v);
        Rotation::exp(v).then(self)
    }

    fn local(&self, to: &Self) -> Tensor<T, 1> {
        to.then(&self.inverse()).log()
    }
}
