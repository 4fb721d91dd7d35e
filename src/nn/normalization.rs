//! Normalisation of each line along the last axis, and of each channel of a batch.
//!
//! Law: no state is hidden. What a batch teaches about the channels is a result of [`BatchNorm::train`], and an argument
//! of the next call.

use super::{along, check_input};
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::ops;
use crate::shape::Show;
use crate::tensor::{Above, AtLeast, Rank, Tensor};
use crate::tree::Tree;

/// Layer normalisation: `y = gain (x - m) / sqrt(v + epsilon) + shift`, with mean `m` and variance `v` of each line along
/// the last axis.
///
/// (Ba, Kiros and Hinton, *Layer normalization*, 2016, equation 4.)
///
/// ```
/// use polygrad::nn::LayerNorm;
/// use polygrad::tensor;
/// let norm = LayerNorm { gain: tensor([2.0, 2.0]), shift: tensor([5.0, 0.0]), epsilon: 0.0 };
/// assert_eq!(norm.apply(&tensor([[1.0, 3.0], [6.0, 4.0]])), tensor([[3.0, 2.0], [7.0, -2.0]]));
/// assert_eq!(LayerNorm { epsilon: 0.0, ..LayerNorm::new(2) }.apply(&tensor([1.0, 3.0])), tensor([-1.0, 1.0]));
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct LayerNorm<T: BaseTensor, E: Float = f64> {
    /// A factor for each number of a line.
    pub gain: Tensor<T, 1, E>,
    /// The number that is added to each number of a line.
    pub shift: Tensor<T, 1, E>,
    /// What keeps a line of equal numbers from a division by 0.
    pub epsilon: f64,
}

impl<T: BaseTensor, E: Float> LayerNorm<T, E> {
    /// For lines of this length: gain 1, shift 0, `epsilon = 1e-5`.
    ///
    /// Example: [`LayerNorm`].
    #[track_caller]
    pub fn new(size: usize) -> Self {
        LayerNorm { gain: Tensor::ones([size]), shift: Tensor::zeros([size]), epsilon: 1e-5 }
    }

    /// Each line normalised: a shape `[.., size]` stays.
    ///
    /// Example: [`LayerNorm`].
    ///
    /// # Panics
    /// When the size of the last axis is not that of gain and shift.
    #[track_caller]
    pub fn apply<const D: usize, const M: usize>(&self, x: &Tensor<T, D, E>) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        for parameter in [&self.gain, &self.shift] {
            check_input("layer_norm", (x.raw().shape(), M), (parameter.raw().shape(), 0));
        }
        divided(&x.centered(M), M, self.epsilon) * along(&self.gain, M, x) + along(&self.shift, M, x)
    }
}

/// `x / sqrt(mean(x^2) + epsilon)`, with the mean of each line along an axis. Lines of large numbers, and without
/// `epsilon` those of small ones, are scaled by a power of two first, so that no square is out of range.
#[track_caller]
fn divided<T: BaseTensor, const D: usize, const M: usize, E: Float>(
    x: &Tensor<T, D, E>,
    axis: usize,
    epsilon: f64,
) -> Tensor<T, D, E>
where
    Rank<D>: Above<M>,
{
    if x.is_empty() {
        return x.clone();
    }
    // Bounds of numbers that are large or small, and the powers of two by which these are scaled.
    let [large, small, down, up] = match E::DTYPE {
        DType::F32 => [50, -50, -80, 70],
        DType::F64 | DType::I64 | DType::Bool => [400, -400, -600, 600],
    }
    .map(|n| E::of_f64(2f64.powi(n)));
    let top = x.stop_gradient().abs().max_axis::<M>(axis);
    let unit = top.gt(large).select(down, E::ONE);
    let unit = if epsilon == 0.0 { top.lt(small).select(Tensor::full(top.shape(), up), unit) } else { unit };
    let n = x.raw().shape()[axis];
    let x = x * unit.replicate_axis::<D>(axis, n);
    let square = x.square().mean_axis::<M>(axis);
    let square = if epsilon == 0.0 { square } else { square + unit.square().scale(epsilon) };
    let scale = square.sqrt().recip();
    &x * scale.replicate_axis::<D>(axis, n)
}

/// Root mean square normalisation: `y = gain x / sqrt(mean(x^2) + epsilon)`, with the mean of each line along the last
/// axis.
///
/// (Zhang and Sennrich, *Root mean square layer normalization*, NeurIPS 2019, equation 4.)
///
/// ```
/// use polygrad::nn::RmsNorm;
/// use polygrad::tensor;
/// let norm = RmsNorm { gain: tensor([1.0, 10.0]), epsilon: 0.0 };
/// assert_eq!(norm.apply(&tensor([[2.0, 2.0], [-4.0, 4.0]])), tensor([[1.0, 10.0], [-1.0, 10.0]]));
/// assert_eq!(RmsNorm { epsilon: 0.0, ..RmsNorm::new(2) }.apply(&tensor([2.0, -2.0])), tensor([1.0, -1.0]));
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct RmsNorm<T: BaseTensor, E: Float = f64> {
    /// A factor for each number of a line.
    pub gain: Tensor<T, 1, E>,
    /// What keeps a line of zeros from a division by 0.
    pub epsilon: f64,
}

impl<T: BaseTensor, E: Float> RmsNorm<T, E> {
    /// For lines of this length: gain 1, `epsilon = 1e-5`.
    ///
    /// Example: [`RmsNorm`].
    #[track_caller]
    pub fn new(size: usize) -> Self {
        RmsNorm { gain: Tensor::ones([size]), epsilon: 1e-5 }
    }

    /// Each line normalised: a shape `[.., size]` stays.
    ///
    /// Example: [`RmsNorm`].
    ///
    /// # Panics
    /// When the size of the last axis is not that of the gain.
    #[track_caller]
    pub fn apply<const D: usize, const M: usize>(&self, x: &Tensor<T, D, E>) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        check_input("rms_norm", (x.raw().shape(), M), (self.gain.raw().shape(), 0));
        divided(x, M, self.epsilon) * along(&self.gain, M, x)
    }
}

/// Batch normalisation: `y = gain (x - m) / sqrt(v + epsilon) + shift`, with a mean `m` and variance `v` for each channel,
/// axis 1.
///
/// In training, `m` and `v` are those of the batch, over all axes but the channels. Elsewhere they are running averages,
/// [`BatchStatistics`], which training returns. They are not parameters: an optimizer that shrinks parameters must not see
/// them.
///
/// (Ioffe and Szegedy, *Batch normalization*, ICML 2015, algorithms 1 and 2.)
///
/// ```
/// use polygrad::nn::{BatchNorm, BatchStatistics};
/// use polygrad::tensor;
/// let norm = BatchNorm { epsilon: 0.0, momentum: 0.5, ..BatchNorm::new(1) };
/// let (y, seen) = norm.train(&tensor([[1.0], [3.0]]), &BatchStatistics::new(1));
/// assert_eq!(y, tensor([[-1.0], [1.0]]));
/// // Half of what was, 0 and 1, and half of what the batch says of all data: mean 2, variance 2.
/// assert_eq!((&seen.mean, &seen.variance), (&tensor([1.0]), &tensor([1.5])));
/// assert_eq!(norm.apply(&tensor([[1.0]]), &seen), tensor([[0.0]]));
/// let known = BatchStatistics { mean: tensor([2.0]), variance: tensor([4.0]) };
/// assert_eq!(norm.apply(&tensor([[2.0], [6.0]]), &known), tensor([[0.0], [2.0]]));
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct BatchNorm<T: BaseTensor, E: Float = f64> {
    /// A factor for each channel.
    pub gain: Tensor<T, 1, E>,
    /// The number that is added to each channel.
    pub shift: Tensor<T, 1, E>,
    /// The weight of the running averages so far against a new batch.
    pub momentum: f64,
    /// What keeps a channel of equal numbers from a division by 0.
    pub epsilon: f64,
}

/// The statistics of the channels before a [`BatchNorm`]: running averages of mean and variance.
///
/// Example: [`BatchNorm`].
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct BatchStatistics<T: BaseTensor, E: Float = f64> {
    /// The mean of each channel.
    pub mean: Tensor<T, 1, E>,
    /// The variance of each channel: the unbiased estimate, the sum of squares divided by `n - 1`.
    pub variance: Tensor<T, 1, E>,
}

impl<T: BaseTensor, E: Float> BatchStatistics<T, E> {
    /// Before the first batch: mean 0 and variance 1.
    ///
    /// Example: [`BatchNorm`].
    #[track_caller]
    pub fn new(channels: usize) -> Self {
        BatchStatistics { mean: Tensor::zeros([channels]), variance: Tensor::ones([channels]) }
    }
}

impl<T: BaseTensor, E: Float> BatchNorm<T, E> {
    /// For this number of channels: gain 1, shift 0, `momentum = 0.9`, `epsilon = 1e-5`.
    ///
    /// Example: [`BatchNorm`].
    #[track_caller]
    pub fn new(channels: usize) -> Self {
        BatchNorm { gain: Tensor::ones([channels]), shift: Tensor::zeros([channels]), momentum: 0.9, epsilon: 1e-5 }
    }

    /// A batch normalised by its own mean and variance, and the averages after it: `momentum` times those before, and
    /// `1 - momentum` times mean and unbiased variance of the batch.
    ///
    /// Within one recorded step the loss may call this for its value and the step once more for the averages: equal
    /// operations are computed once.
    ///
    /// Example: [`BatchNorm`].
    ///
    /// # Panics
    /// When the size of axis 1 is not that of the parameters, or there are fewer than two numbers for each channel.
    #[track_caller]
    pub fn train<const D: usize>(
        &self,
        x: &Tensor<T, D, E>,
        before: &BatchStatistics<T, E>,
    ) -> (Tensor<T, D, E>, BatchStatistics<T, E>)
    where
        Rank<D>: AtLeast<2>,
    {
        let shape = x.raw().shape();
        self.check(shape, before);
        let n: usize = shape.iter().enumerate().filter(|(axis, _)| *axis != 1).map(|(_, n)| n).product();
        if n < 2 {
            panic!(
                "batch_norm: training must have two numbers for each channel, but the shape is {}, with {n}; call apply, or make the \
                 batch larger",
                Show(shape)
            );
        }
        let axes: Vec<usize> = (0..D).filter(|axis| *axis != 1).collect();
        let sums = ops::Linear::sum(shape, &axes);
        let mean_of = |x: &Tensor<T, D, E>| Tensor::<T, 1, E>::from_raw(x.raw().linear(&sums)).scale(1.0 / n as f64);
        // As in `centered` of tensors: the first number of each channel is subtracted first.
        let mut first = x.stop_gradient().into_raw();
        for axis in axes.iter().rev() {
            first = first.linear(&ops::Linear::row(first.shape(), *axis, 0));
        }
        let first = Tensor::<T, 1, E>::from_raw(first);
        let moved = x - along(&first, 1, x);
        let rest = mean_of(&moved);
        let (mean, centered) = (&first + &rest, &moved - along(&rest, 1, x));
        let variance = mean_of(&centered.square());
        let y = self.scaled(&centered, &variance);
        let average = |old: &Tensor<T, 1, E>, new: &Tensor<T, 1, E>, weight: f64| {
            old.scale(self.momentum) + new.scale(weight * (1.0 - self.momentum))
        };
        let unbiased = n as f64 / (n - 1) as f64;
        let after = BatchStatistics {
            mean: average(&before.mean, &mean, 1.0),
            variance: average(&before.variance, &variance, unbiased),
        };
        (y, after)
    }

    /// Each channel normalised by the averages of training: a function of each example alone.
    ///
    /// Example: [`BatchNorm`].
    ///
    /// # Panics
    /// When the size of axis 1 is not that of the parameters.
    #[track_caller]
    pub fn apply<const D: usize>(&self, x: &Tensor<T, D, E>, by: &BatchStatistics<T, E>) -> Tensor<T, D, E>
    where
        Rank<D>: AtLeast<2>,
    {
        self.check(x.raw().shape(), by);
        self.scaled(&(x - along(&by.mean, 1, x)), &by.variance)
    }

    /// `gain centered / sqrt(variance + epsilon) + shift`.
    #[track_caller]
    fn scaled<const D: usize>(&self, centered: &Tensor<T, D, E>, variance: &Tensor<T, 1, E>) -> Tensor<T, D, E> {
        let scale = &self.gain * variance.shift(self.epsilon).sqrt().recip();
        centered * along(&scale, 1, centered) + along(&self.shift, 1, centered)
    }

    #[track_caller]
    fn check(&self, shape: &[usize], statistics: &BatchStatistics<T, E>) {
        for parameter in [&self.gain, &self.shift, &statistics.mean, &statistics.variance] {
            check_input("batch_norm", (shape, 1), (parameter.raw().shape(), 0));
        }
    }
}
