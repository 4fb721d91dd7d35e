//! Three of the four objectives of ADBench (Srajer, Kukelova, Fitzgibbon, *A benchmark of selected algorithmic
//! differentiation tools on some problems in computer vision and machine learning*, 2018): a mixture of Gaussians,
//! bundle adjustment, and a long short-term memory.

use std::f64::consts::PI;

use polygrad::{
    BaseTensor, Concrete, Function, Tensor, Tree, concat, einsum, grad, jacobian_matrix_with, map, stack, tensor,
};

use super::inputs::Inputs;
use super::measure::{Case, Workload, recipe};
use super::programs::ba::{Row, Scene, Seen, Sight, cross, dot, doubt};
use super::programs::gmm::triangle;
use super::programs::lstm;

/// A mixture of Gaussians.
#[derive(Tree, Clone, Debug)]
struct Mixture<T: BaseTensor> {
    /// The logarithms of the weights, up to a constant.
    alphas: Tensor<T, 1>,
    means: Tensor<T, 2>,
    /// For each Gaussian the root of its inverse covariance, a lower triangular matrix: the logarithms of its
    /// diagonal, and what is below the diagonal column by column.
    roots: Tensor<T, 2>,
}

/// The strength of the Wishart prior, and the number of its degrees of freedom less the dimension and 1.
const GAMMA: f64 = 0.9;
const FREEDOM: f64 = 2.0;

/// What the log likelihood and the log prior have beside the parameters.
fn normalization(d: usize, gaussians: usize, samples: usize) -> f64 {
    let (n, d) = (d as f64 + FREEDOM + 1.0, d as f64);
    let halves: Tensor<Concrete, 1> = Tensor::linspace(0.5 * n, 0.5 * (n + 1.0 - d), d as usize);
    let gammas = 0.25 * d * (d - 1.0) * PI.ln() + halves.lgamma().sum().item();
    let prior = n * d * (GAMMA.ln() - 0.5 * 2f64.ln()) - gammas;
    -0.5 * samples as f64 * d * (2.0 * PI).ln() - gaussians as f64 * prior
}

/// The log posterior of a mixture, given samples.
fn posterior<T: BaseTensor>(p: &Mixture<T>, x: &Tensor<T, 2>) -> Tensor<T, 0> {
    let ([n, d], k) = (x.shape(), p.alphas.len());
    let (logs, below) = (p.roots.slice(1, ..d), p.roots.slice(1, d..));
    let (diagonal, volumes) = (logs.exp(), logs.sum_axis(1));
    // Places that are out of bounds read 0.
    let roots: Tensor<T, 3> =
        concat(1, (&diagonal, &below)).t().take(&Tensor::constant(triangle(d))).reshape([d, d, k]);
    let apart = x.insert_axis::<3>(0) - p.means.insert_axis::<3>(1);
    let scaled: Tensor<T, 3> = einsum!("knj,ijk->kni", apart, roots);
    let inner = (&p.alphas + &volumes).insert_axis::<2>(1) - 0.5 * scaled.square().sum_axis::<2>(2);
    let prior = 0.5 * GAMMA * GAMMA * (diagonal.square().sum() + below.square().sum()) - FREEDOM * volumes.sum();
    let likelihood = inner.logsumexp_axis::<1>(0).sum() - n as f64 * p.alphas.logsumexp();
    likelihood + prior + normalization(d, k, n)
}

fn mixture(inputs: &Inputs, d: usize, gaussians: usize) -> Vec<Case> {
    let seed = 1000 + d as u64;
    let parameters = Mixture {
        alphas: inputs.uniform(seed + 1, [gaussians], -1.0, 1.0),
        means: inputs.uniform(seed + 2, [gaussians, d], 0.0, 1.0),
        roots: inputs.uniform(seed + 3, [gaussians, d * (d + 1) / 2], -0.5, 0.5),
    };
    Case::gradient(posterior, parameters, inputs.uniform(seed + 4, [1000, d], 0.0, 1.0))
}

/// The weighted distance of the image of a point from where it was seen.
fn distance<T: BaseTensor>((camera, point, weight): &Sight<T>, seen: &Tensor<T, 1>) -> Tensor<T, 1> {
    let [r0, r1, r2, c0, c1, c2, focus, u, v, k1, k2] = camera.unstack();
    let ([x, y, z], turn) = (point.unstack(), [r0, r1, r2]);
    let angle = dot(&turn, &turn).sqrt();
    let (axis, from) = (turn.map(|r| r / &angle), [x - c0, y - c1, z - c2]);
    let (cos, sin, across) = (angle.cos(), angle.sin(), cross(&axis, &from));
    let along = dot(&axis, &from) * (1.0 - &cos);
    let [x, y, z] = [0, 1, 2].map(|i| &from[i] * &cos + &across[i] * &sin + &axis[i] * &along);
    let (x, y) = (x / &z, y / z);
    let r = x.square() + y.square();
    let scale = (1.0 + k1 * &r + k2 * r.square()) * focus;
    weight * (stack((x * &scale + u, y * scale + v)) - seen)
}

/// The errors of observations and of weights.
type Errors<T> = (Tensor<T, 2>, Tensor<T, 1>);

/// The same, and their derivatives.
type Blocks<T> = (Tensor<T, 2>, Tensor<T, 1>, Tensor<T, 3>, Tensor<T, 1>);

/// The errors of all observations and of all weights.
fn errors<T: BaseTensor>((cameras, points, weights): &Scene<T>, (of, at, seen): &Seen<T>) -> Errors<T> {
    let rows = |(i, j, w, seen): &Row<T>| (distance(&(cameras.at([i]), points.at([j]), w.clone()), seen), doubt(w));
    map((of, at, weights, seen), rows)
}

/// The errors, and the blocks of their Jacobian that are not zero: one error of an observation depends on one camera,
/// one point and one weight.
fn errors_and_blocks<T: BaseTensor>((cameras, points, weights): &Scene<T>, (of, at, seen): &Seen<T>) -> Blocks<T> {
    map((of, at, weights, seen), |(i, j, w, seen): &Row<T>| {
        let sight = (cameras.at([i]), points.at([j]), w.clone());
        let block = jacobian_matrix_with(distance, &sight, seen);
        (distance(&sight, seen), doubt(w), block, grad(doubt, w))
    })
}

fn bundle(inputs: &Inputs, cameras: usize, points: usize, observations: usize) -> Vec<Case> {
    let middle = tensor([0.3, -0.2, 0.4, 1.0, 2.0, -5.0, 500.0, 10.0, -10.0, 0.01, 0.001]);
    let width = tensor([0.1, 0.1, 0.1, 0.5, 0.5, 0.5, 50.0, 5.0, 5.0, 0.005, 0.0005]);
    let units: Tensor<Concrete, 2> = inputs.uniform(2001, [cameras, 11], -1.0, 1.0);
    let scene = (
        middle.up_to(&units) + width.up_to(&units) * &units,
        inputs.uniform(2002, [points, 3], -1.0, 1.0),
        inputs.uniform(2003, [observations], 0.1, 1.0),
    );
    let turns = |n: usize| Tensor::from_fn([observations], |[k]| (k % n) as i64);
    let seen = (turns(cameras), turns(points), inputs.uniform(2004, [observations, 2], -300.0, 300.0));
    let primal = recipe(scene.clone(), seen.clone(), |scene, seen| Function::stage_with(errors, scene, seen));
    let both = recipe(scene, seen, |scene, seen| Function::stage_with(errors_and_blocks, scene, seen));
    vec![Case::new(primal, both, 2)]
}

fn memory(inputs: &Inputs, layers: usize, length: usize, width: usize) -> Vec<Case> {
    let all = inputs.uniform(3001, [2 * layers, 4 * width], -1.0, 1.0);
    let parameters = (all, inputs.uniform(3002, [3, width], -1.0, 1.0));
    let start = inputs.uniform(3003, [2 * layers, width], -1.0, 1.0);
    Case::gradient(lstm::loss, parameters, (start, inputs.integers(3004, [length, width], 2).to_float()))
}

/// The workloads of this family.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload { name: "A.gmm.d10k25n1000", cases: |inputs| mixture(inputs, 10, 25) },
        Workload { name: "A.gmm.d20k50n1000", cases: |inputs| mixture(inputs, 20, 50) },
        Workload { name: "A.gmm.d64k25n1000", cases: |inputs| mixture(inputs, 64, 25) },
        Workload { name: "A.ba.n49m7776p31843", cases: |inputs| bundle(inputs, 49, 7776, 31843) },
        Workload { name: "A.ba.n49m1944p7960", cases: |inputs| bundle(inputs, 49, 1944, 7960) },
        Workload { name: "A.lstm.l2c1024b14", cases: |inputs| memory(inputs, 2, 1024, 14) },
    ]
}
