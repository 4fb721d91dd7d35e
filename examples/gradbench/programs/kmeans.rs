//! Clusters: each point belongs to the nearest centroid.

use polygrad::{BaseTensor, Tensor, grad_with, hvp_with};

use super::{Matrix, Scalar};

/// `sum_i min_j |c_j - p_i|^2`
///
/// Which centroid is the nearest does not move with the centroids, only the distance to it does. So the derivative is one of
/// as many numbers as the points have, not of the distances of all pairs.
pub fn cost<T: BaseTensor>(centroids: &Matrix<T>, points: &Matrix<T>) -> Scalar<T> {
    let apart: Tensor<T, 3> = centroids.insert_axis(0) - points.insert_axis(1);
    let squares: Matrix<T> = apart.square().sum_axis(2);
    (centroids.take(&squares.argmin_axis(1)) - points).square().sum()
}

/// Newton's direction: the gradient over the Hessian, which is diagonal, so that its product with ones is the diagonal.
pub fn direction<T: BaseTensor>(centroids: &Matrix<T>, points: &Matrix<T>) -> Matrix<T> {
    let ones = Tensor::ones(centroids.shape());
    grad_with(cost, centroids, points) / hvp_with(cost, centroids, &ones, points)
}
