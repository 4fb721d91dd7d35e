//! Bundle adjustment: cameras and points from the places of the points in the images, by the Levenberg-Marquardt
//! method.

use polygrad::array::Rng;
use polygrad::{BaseTensor, Concrete, Tensor, Tree, stack, tensor, value_and_jacobian_matrix_with, vmap};

use super::solve;

#[derive(Tree, Clone, Debug)]
struct Scene<T: BaseTensor> {
    /// For each camera a rotation vector, a translation and a focal length.
    cameras: Tensor<T, 2>,
    points: Tensor<T, 2>,
}

/// The place of a point in the image of a camera: Rodrigues' rotation, a shift, a projection.
fn project<T: BaseTensor>(camera: &Tensor<T, 1>, point: &Tensor<T, 1>) -> Tensor<T, 1> {
    let turn = camera.slice(0, 0..3);
    let angle = (turn.square().sum() + 1e-20).sqrt();
    let axis = turn / &angle;
    let along = &axis * axis.dot(point) * (1.0 - angle.cos());
    let turned = point * angle.cos() + axis.cross(point) * angle.sin() + along + camera.slice(0, 3..6);
    let [x, y, z] = turned.unstack();
    stack((x / &z, y / z)) * camera.at([6])
}

/// The places of all points in all images.
fn images<T: BaseTensor>(scene: &Scene<T>) -> Tensor<T, 3> {
    vmap(|camera: &Tensor<T, 1>| vmap(|point: &Tensor<T, 1>| project(camera, point))(&scene.points))(&scene.cameras)
}

fn residual<T: BaseTensor>(scene: &Scene<T>, seen: &Tensor<T, 3>) -> Tensor<T, 1> {
    (images(scene) - seen).flatten()
}

#[test]
fn the_images_are_explained() {
    let mut rng = Rng::new(7);
    let truth = Scene {
        cameras: tensor([
            [0.1, -0.2, 0.05, 0.0, 0.1, 4.0, 1.2],
            [-0.1, 0.3, 0.0, -0.5, 0.0, 4.5, 0.9],
            [0.2, 0.1, -0.3, 0.4, -0.3, 5.0, 1.0],
        ]),
        points: Tensor::constant(rng.uniform(&[8, 3], -1.0, 1.0)),
    };
    let seen = images(&truth);
    let blur = |x: &Tensor<Concrete, 2>, rng: &mut Rng| x + Tensor::<_, 2>::constant(rng.normal(&x.shape(), 0.0, 0.05));
    let mut scene = Scene { cameras: blur(&truth.cameras, &mut rng), points: blur(&truth.points, &mut rng) };
    let energy = |scene: &Scene<Concrete>| residual(scene, &seen).square().sum().item();
    let (start, mut damping) = (energy(&scene), 1e-3);
    for _ in 0..15 {
        let (r, j) = value_and_jacobian_matrix_with(residual, &scene, &seen);
        let normal = j.t().matmul(&j);
        let x = scene.ravel();
        let step = solve(&(&normal + Tensor::eye(x.len()) * damping), &j.t().matvec(&r));
        let next = scene.unravel(&(x - step));
        let better = energy(&next) < energy(&scene);
        damping *= if better { 0.1 } else { 10.0 };
        scene = if better { next } else { scene };
    }
    assert!(start > 1e-3 && energy(&scene) < 1e-16, "{start} {}", energy(&scene));
}
