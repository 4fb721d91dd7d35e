//! Losses besides the cross entropy of a tensor.
//!
//! Law: one loss for each example, without overflow; `mean` or `sum` reduces them.

use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Binary;
use crate::shape::Show;
use crate::tensor::{Above, Operand, Rank, Tensor};

/// The cross entropy of logits and labels with label smoothing: for each line `x` of `n` logits along `axis` and its
/// label, `ln(sum_k e^x[k]) - (1 - smoothing) x[label] - smoothing mean(x)`.
///
/// That is [`cross_entropy_soft`](Tensor::cross_entropy_soft) with a share `smoothing` of the probability spread over all
/// labels. A label out of bounds is ignored: its loss and derivative are 0. (Szegedy, Vanhoucke, Ioffe, Shlens and Wojna,
/// *Rethinking the Inception architecture for computer vision*, CVPR 2016, section 7.)
///
/// ```
/// use polygrad::nn::smoothed_cross_entropy;
/// use polygrad::tensor;
/// let (logits, labels) = (tensor([[1.0, 2.0, 4.0], [0.5, 0.0, 1.0]]), tensor([2, -1]));
/// let loss = smoothed_cross_entropy(&logits, 1, &labels, 0.3);
/// let soft = logits.cross_entropy_soft(1, &tensor([[0.1, 0.1, 0.8], [0.0, 0.0, 0.0]]));
/// assert!((loss - soft).abs().max_all().item() < 1e-15);
/// ```
///
/// # Panics
/// When the axis does not exist, the number of labels is not that of lines, or `smoothing` is not within `0..=1`.
#[track_caller]
pub fn smoothed_cross_entropy<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    logits: &Tensor<T, D, E>,
    axis: usize,
    labels: &Tensor<T, M, i64>,
    smoothing: f64,
) -> Tensor<T, M, E>
where
    Rank<D>: Above<M>,
{
    assert!(
        (0.0..=1.0).contains(&smoothing),
        "smoothed_cross_entropy: the share that is spread must be from 0 to 1, but it is {smoothing}; 0.1 is usual"
    );
    let sharp = logits.cross_entropy(axis, labels);
    let n = logits.raw().shape()[axis];
    let known = labels.ge(0) & labels.lt(n as i64);
    let spread = logits.logsumexp_axis(axis) - logits.mean_axis(axis);
    sharp.scale(1.0 - smoothing) + known.select(spread, E::ZERO).scale(smoothing)
}

/// The cross entropy of logits and truth values or probabilities: `softplus(x) - p x`, which is
/// `-p ln sigmoid(x) - (1 - p) ln(1 - sigmoid(x))` without overflow. One loss for each logit.
///
/// ```
/// use polygrad::{nn::binary_cross_entropy, tensor};
/// assert_eq!(binary_cross_entropy(&tensor([0.0, 1000.0]), tensor([1.0, 1.0])), tensor([2f64.ln(), 0.0]));
/// ```
///
/// # Panics
/// When the shapes do not fit.
#[track_caller]
pub fn binary_cross_entropy<T: BaseTensor, const D: usize, E: Float>(
    logits: &Tensor<T, D, E>,
    p: impl Operand<T, D, E>,
) -> Tensor<T, D, E> {
    // In the tail on the right `softplus(x)` is `x` and a small number, which the difference would lose.
    (-logits).softplus() + (logits - logits.binary(Binary::Mul, p))
}

/// Huber's loss of each pair of a prediction and a target at distance `r`: `r^2 / 2` for `r` up to `delta`, and
/// `delta (r - delta / 2)` beyond.
///
/// (Huber, *Robust estimation of a location parameter*, Annals of Mathematical Statistics 35, 1964.)
///
/// ```
/// use polygrad::{nn::huber, tensor};
/// assert_eq!(huber(&tensor([0.5, -3.0]), 0.0, 1.0), tensor([0.125, 2.5]));
/// ```
///
/// # Panics
/// When the shapes do not fit, or `delta` is not positive.
#[track_caller]
pub fn huber<T: BaseTensor, const D: usize, E: Float>(
    prediction: &Tensor<T, D, E>,
    target: impl Operand<T, D, E>,
    delta: f64,
) -> Tensor<T, D, E> {
    assert!(delta > 0.0, "huber: the distance `delta` must be positive, but it is {delta}; 1 is usual");
    let r = prediction.binary(Binary::Sub, target);
    // With the distance cut off at `delta` both branches are one formula, without an overflow of the square. It keeps
    // the sign, so that the second derivative is 1 at distance 0, too.
    let near = r.clamp(E::of_f64(-delta), E::of_f64(delta));
    &near * (r - near.scale(0.5))
}

/// The share of the lines along `axis` whose largest score is that of their label.
///
/// ```
/// use polygrad::{nn::accuracy, tensor};
/// let scores = tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]);
/// assert_eq!(accuracy(&scores, 1, &tensor([1, 0, 0, 0])), tensor(0.75));
/// ```
///
/// # Panics
/// When the axis does not exist, or the number of labels is not that of lines.
#[track_caller]
pub fn accuracy<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    scores: &Tensor<T, D, E>,
    axis: usize,
    labels: &Tensor<T, M, i64>,
) -> Tensor<T, 0, E>
where
    Rank<D>: Above<M>,
{
    let likeliest = scores.argmax_axis(axis);
    if likeliest.raw().shape() != labels.raw().shape() {
        panic!(
            "accuracy: needs a label for each line along axis {axis}, but the shapes are {} and {}; the labels have the shape of the \
             scores without that axis",
            Show(scores.raw().shape()),
            Show(labels.raw().shape())
        );
    }
    likeliest.eq(labels).to_float::<E>().mean()
}
