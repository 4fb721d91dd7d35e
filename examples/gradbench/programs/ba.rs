//! Bundle adjustment: where cameras see points, and how that moves with cameras, points and weights.

use polygrad::{BaseTensor, Tensor, grad, jacobian_matrix_with, map, stack};

use super::{Matrix, Scalar, Vector};

/// What one observation depends on: the camera (rotation 3, centre 3, focal length, principal point 2, distortion 2), the
/// point, the weight.
pub type Sight<T> = (Vector<T>, Vector<T>, Scalar<T>);

/// Three coordinates.
pub type Space<T> = [Scalar<T>; 3];

/// The inner product.
pub fn dot<T: BaseTensor>([a, b, c]: &Space<T>, [x, y, z]: &Space<T>) -> Scalar<T> {
    a * x + b * y + c * z
}

/// The cross product.
pub fn cross<T: BaseTensor>([a, b, c]: &Space<T>, [x, y, z]: &Space<T>) -> Space<T> {
    [b * z - c * y, c * x - a * z, a * y - b * x]
}

/// A vector turned about an axis, by an angle that is the length of the axis.
fn turned<T: BaseTensor>(turn: &Space<T>, y: &Space<T>) -> Space<T> {
    let square = dot(turn, turn);
    let rests = square.eq(0.0);
    let angle = square.sqrt();
    let axis = turn.each_ref().map(|r| r / &angle);
    let (cos, sin, across) = (angle.cos(), angle.sin(), cross(&axis, y));
    let (along, little) = (dot(&axis, y) * (1.0 - &cos), cross(turn, y));
    [0, 1, 2].map(|i| rests.select(&y[i] + &little[i], &y[i] * &cos + &across[i] * &sin + &axis[i] * &along))
}

/// The weighted distance of the image of a point from where it was seen.
pub fn distance<T: BaseTensor>((camera, point, weight): &Sight<T>, seen: &Vector<T>) -> Vector<T> {
    let [r0, r1, r2, c0, c1, c2, focus, u, v, k1, k2] = camera.unstack();
    let [x, y, z] = point.unstack();
    let [x, y, z] = turned(&[r0, r1, r2], &[x - c0, y - c1, z - c2]);
    let (x, y) = (x / &z, y / z);
    let r = x.square() + y.square();
    let scale = (1.0 + k1 * &r + k2 * r.square()) * focus;
    weight * (stack((x * &scale + u, y * scale + v)) - seen)
}

/// The error of a weight.
pub fn doubt<T: BaseTensor>(weight: &Scalar<T>) -> Scalar<T> {
    1.0 - weight.square()
}

/// All cameras, points and weights.
pub type Scene<T> = (Matrix<T>, Matrix<T>, Vector<T>);

/// For each observation the camera, the point, and where it was seen.
pub type Seen<T> = (Tensor<T, 1, i64>, Tensor<T, 1, i64>, Matrix<T>);

/// One row of the observations, with its weight.
pub type Row<T> = (Tensor<T, 0, i64>, Tensor<T, 0, i64>, Scalar<T>, Vector<T>);

/// The errors of all observations, and of all weights.
pub fn errors<T: BaseTensor>(
    (cameras, points, weights): &Scene<T>,
    (of, at, seen): &Seen<T>,
) -> (Matrix<T>, Vector<T>) {
    map((of, at, weights, seen), |(i, j, w, seen): &Row<T>| {
        (distance(&(cameras.at([i]), points.at([j]), w.clone()), seen), doubt(w))
    })
}

/// The blocks of the Jacobian that are not zero, 2 x 15 for an observation and 1 x 1 for a weight: one error of an observation
/// depends on one camera, one point and one weight.
pub fn blocks<T: BaseTensor>(
    (cameras, points, weights): &Scene<T>,
    (of, at, seen): &Seen<T>,
) -> (Tensor<T, 3>, Vector<T>) {
    map((of, at, weights, seen), |(i, j, w, seen): &Row<T>| {
        let sight = (cameras.at([i]), points.at([j]), w.clone());
        (jacobian_matrix_with(distance, &sight, seen), grad(doubt, w))
    })
}
