//! Activations, cross entropies, dropout.

use polygrad::{Array, BaseTensor, Tensor, map};

use super::real;

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    gated(x = Array::from([-3.0, -0.4, 0.0, 0.7, 2.5]));
    gelu_network(x = real([3, 4], 1), w = real([4, 2], 2));
    classified(x = real([4, 3], 3); labels = Array::from([2i64, 0, -1, 1]));
    classified_along_the_outer_axis(x = real([3, 2], 4); labels = Array::from([2i64, 0]));
    soft_labels(x = real([3, 4], 5), p = Array::from([[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]])) {
        const SMOOTH: bool = false;
    };
    classified_one_by_one(x = real([4, 3], 6); labels = Array::from([2i64, 0, 1, 1]));
    dropped_out(x = real([4, 5], 8), w = real([5, 3], 9); keep = kept([4, 5], 0.75), noise = Array::normal(&[4, 3], 0.0, 0.1, 10));
    sampled_by_quantiles(mu = real([3], 12), sd = Array::from([0.5, 1.5, 0.7]), p = Array::from([0.1, 0.5, 0.97]));
    huge_logits(x = Array::from([[1000.0, 998.0], [-1000.0, -1000.5]]); labels = Array::from([1i64, 0])) {
        const SMOOTH: bool = false;
    };
    activations_in_f32(x = real([5], 7).cast::<f32>()) {
        const SMOOTH: bool = false;
        const TOLERANCE: f64 = 1e-4;
    };
}

/// A random mask that holds with probability `p`.
fn kept<const D: usize>(shape: [usize; D], p: f64) -> Array {
    let drawn = Array::uniform(&shape, 0.0, 1.0, 11).to_vec::<f64>().expect("floats");
    Array::new(&shape, drawn.into_iter().map(|u| u < p).collect::<Vec<bool>>())
}

fn gated<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    (x.gelu() * x.silu() + x.gelu_tanh().square()).sum()
}

fn gelu_network<T: BaseTensor>(x: &Matrix<T>, w: &Matrix<T>) -> Scalar<T> {
    x.matmul(w).gelu().square().sum()
}

fn classified<T: BaseTensor>(x: &Matrix<T>, labels: &Tensor<T, 1, i64>) -> Scalar<T> {
    x.cross_entropy(1, labels).mean()
}

fn classified_along_the_outer_axis<T: BaseTensor>(x: &Matrix<T>, labels: &Tensor<T, 1, i64>) -> Scalar<T> {
    x.cross_entropy(0, labels).square().sum()
}

fn soft_labels<T: BaseTensor>(x: &Matrix<T>, p: &Matrix<T>) -> Scalar<T> {
    x.cross_entropy_soft(1, p).sum()
}

fn classified_one_by_one<T: BaseTensor>(x: &Matrix<T>, labels: &Tensor<T, 1, i64>) -> Scalar<T> {
    let losses: Vector<T> = map((x, labels), |(row, label)| row.cross_entropy(0, label));
    losses.mean()
}

fn huge_logits<T: BaseTensor>(x: &Matrix<T>, labels: &Tensor<T, 1, i64>) -> Scalar<T> {
    x.cross_entropy(1, labels).sum()
}

fn activations_in_f32<T: BaseTensor>(x: &Tensor<T, 1, f32>) -> Scalar<T> {
    (x.gelu() + x.gelu_tanh() * x.silu()).sum().cast()
}

/// The random mask and the noise are data.
fn dropped_out<T: BaseTensor>(x: &Matrix<T>, w: &Matrix<T>, keep: &Tensor<T, 2, bool>, noise: &Matrix<T>) -> Scalar<T> {
    let thinned = keep.select(x / 0.75, 0.0);
    (thinned.matmul(w) + noise).silu().square().sum()
}

/// Normal numbers by the inverse of their distribution, differentiated in mean, deviation and probability.
fn sampled_by_quantiles<T: BaseTensor>(mu: &Vector<T>, sd: &Vector<T>, p: &Vector<T>) -> Scalar<T> {
    let unit = (p * 2.0 - 1.0).erfinv() * std::f64::consts::SQRT_2;
    (mu + sd * unit).sin().sum()
}
