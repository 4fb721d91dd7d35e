//! Losses of linear models, mixtures, statistics.

use polygrad::{Array, BaseTensor, Tensor};

use super::{positive, real};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

objectives! {
    linear_regression(w = real([3], 1), b = Array::from(0.2); x = real([5, 3], 2), y = real([5], 3));
    ridge_regression(w = real([3], 4), strength = Array::from(0.3); x = real([6, 3], 5), y = real([6], 6));
    logistic_regression(
        w = real([3], 7), b = Array::from(-0.1);
        x = real([4, 3], 8), y = Array::from([true, false, false, true])
    );
    poisson_regression(w = real([2], 9); x = real([5, 2], 10), counts = Array::from([0i64, 2, 1, 4, 0]));
    softmax_regression(
        w = real([4, 3], 11), b = real([3], 12);
        x = real([5, 4], 13), labels = Array::from([2i64, 0, 1, 1, 2])
    );
    one_hot_cross_entropy(scores = real([3, 4], 14); labels = Array::from([3i64, 0, 2]));
    gaussian_mixture(weights = real([3], 15), means = real([3, 2], 16), scales = real([3, 2], 17); x = real([5, 2], 18));
    robust_regression(w = real([2], 19); x = real([6, 2], 20), y = Array::from([3.0, -0.1, 0.2, -4.0, 0.1, 5.0]));
    student_likelihood(mean = Array::from(0.1), scale = Array::from(0.8), freedom = Array::from(3.5); x = real([6], 21));
    statistics(x = real([3, 4], 22));
    soft_extrema(x = real([3, 4], 23));
    relative_entropy(p = positive([5], 24), q = positive([5], 25));
}

fn linear_regression<T: BaseTensor>(w: &Vector<T>, b: &Scalar<T>, x: &Matrix<T>, y: &Vector<T>) -> Scalar<T> {
    (x.matvec(w) + b - y).square().mean()
}

fn ridge_regression<T: BaseTensor>(w: &Vector<T>, strength: &Scalar<T>, x: &Matrix<T>, y: &Vector<T>) -> Scalar<T> {
    (x.matvec(w) - y).square().sum() + strength * w.dot(w)
}

/// Labels are masks; the loss is `ln(1 + e^-z)` of the score of the right label, without overflow.
fn logistic_regression<T: BaseTensor>(
    w: &Vector<T>,
    b: &Scalar<T>,
    x: &Matrix<T>,
    y: &Tensor<T, 1, bool>,
) -> Scalar<T> {
    let z = x.matvec(w) + b;
    let z = y.select(-&z, z);
    (z.relu() + (-z.abs()).exp().log1p()).mean()
}

fn poisson_regression<T: BaseTensor>(w: &Vector<T>, x: &Matrix<T>, counts: &Tensor<T, 1, i64>) -> Scalar<T> {
    let eta = x.matvec(w);
    (eta.exp() - counts.to_float() * eta).mean()
}

/// The log-probability of each label is gathered.
fn softmax_regression<T: BaseTensor>(
    w: &Matrix<T>,
    b: &Vector<T>,
    x: &Matrix<T>,
    labels: &Tensor<T, 1, i64>,
) -> Scalar<T> {
    let scores = x.matmul(w) + b.insert_axis(0);
    let chosen: Vector<T> = scores.log_softmax(1).gather([&Tensor::iota(x.len()), labels]);
    -chosen.mean()
}

fn one_hot_cross_entropy<T: BaseTensor>(scores: &Matrix<T>, labels: &Tensor<T, 1, i64>) -> Scalar<T> {
    -(scores.log_softmax(1) * labels.one_hot(4)).sum()
}

/// The log-likelihood of points under a mixture of axis-parallel normal distributions.
fn gaussian_mixture<T: BaseTensor>(
    weights: &Vector<T>,
    means: &Matrix<T>,
    scales: &Matrix<T>,
    x: &Matrix<T>,
) -> Scalar<T> {
    let distance: Tensor<T, 3> = x.insert_axis(1) - means.insert_axis(0);
    let squares: Matrix<T> = (distance * (-scales).exp().insert_axis(0)).square().sum_axis(2);
    let log_weight: Vector<T> = weights.log_softmax(0) - scales.sum_axis(1);
    let joint = log_weight.insert_axis(0) - squares * 0.5;
    let likelihood: Vector<T> = joint.logsumexp_axis(1);
    likelihood.sum()
}

/// Squares near zero, distances far away.
fn robust_regression<T: BaseTensor>(w: &Vector<T>, x: &Matrix<T>, y: &Vector<T>) -> Scalar<T> {
    let residual = x.matvec(w) - y;
    let distance = residual.abs();
    distance.lt(2.0).select(residual.square() * 0.5, 2.0 * (distance - 1.0)).sum()
}

fn student_likelihood<T: BaseTensor>(
    mean: &Scalar<T>,
    scale: &Scalar<T>,
    freedom: &Scalar<T>,
    x: &Vector<T>,
) -> Scalar<T> {
    let z = x.plus(&-mean).times(&scale.recip());
    let terms = z.square().times(&freedom.recip()).log1p().times(&((freedom + 1.0) * 0.5));
    terms.sum() + scale.ln() * x.len() as f64
}

fn statistics<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let rows: Vector<T> = x.mean_axis(1);
    let spreads: Vector<T> = x.var_axis(0);
    x.var() * x.norm() + rows.norm() * spreads.mean() + rows.max_all() * spreads.min_all() + x.mean().square()
}

fn soft_extrema<T: BaseTensor>(x: &Matrix<T>) -> Scalar<T> {
    let lines: Vector<T> = (x * 3.0).logsumexp_axis(0);
    (x.softmax(0) * x.log_softmax(1)).sum() + x.logsumexp() * lines.sum()
}

fn relative_entropy<T: BaseTensor>(p: &Vector<T>, q: &Vector<T>) -> Scalar<T> {
    let (p, q) = (p.times(&p.sum().recip()), q.times(&q.sum().recip()));
    (&p * (&p / &q).ln()).sum()
}
