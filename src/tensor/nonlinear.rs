//! Activation functions and losses of neural networks.
//!
//! Law: each is a composition of rows of the tables, in a form without cancellation in the tails; so the derivatives
//! follow from those of the rows.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use super::Tensor;
use super::rank::{Above, Rank};
use super::structure::check_axis;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Binary;
use crate::shape::{Shape, Show};

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// Gaussian error linear unit: `x` times the cumulative distribution function of the standard normal distribution
    /// at `x`, `x erfc(-x / sqrt 2) / 2`. Accurate for large negative `x`; NaN at `-inf`. Hendrycks and Gimpel, 2016.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (x, far) = (tensor([-1.0, 0.0, 1.0]), |y: polygrad::Tensor<_, 1>| y.abs().max_all().item());
    /// assert!(far(x.gelu() - tensor([-0.15865525393145707, 0.0, 0.8413447460685429])) < 1e-15);
    /// assert!(far(x.gelu_tanh() - tensor([-0.15880800939172324, 0.0, 0.8411919906082768])) < 1e-15);
    /// assert_eq!(tensor([0.0, 1000.0]).silu(), tensor([0.0, 1000.0]));
    /// ```
    #[track_caller]
    pub fn gelu(&self) -> Self {
        self.scale(0.5) * self.scale(-FRAC_1_SQRT_2).erfc()
    }

    /// The approximation of [`gelu`](Tensor::gelu) by a hyperbolic tangent,
    /// `x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2`, whose error is below `5e-4`. NaN at `-inf`.
    ///
    /// Example: [`Tensor::gelu`].
    #[track_caller]
    pub fn gelu_tanh(&self) -> Self {
        // (1 + tanh u) / 2 is sigmoid(2 u), which does not cancel; sqrt(2 / pi) is sqrt(1 / 2) times 2 / sqrt(pi).
        // Where the square overflows the derivative of the sigmoid is 0, and so is its product with the square.
        let cubic = self.square().scale(0.044715).shift(1.0).binary(Binary::MulNoNan, self);
        self * cubic.scale(SQRT_2 * FRAC_2_SQRT_PI).sigmoid()
    }

    /// Sigmoid linear unit `x sigmoid(x)`, also called swish. NaN at `-inf`.
    ///
    /// Example: [`Tensor::gelu`].
    #[track_caller]
    pub fn silu(&self) -> Self {
        self * self.sigmoid()
    }

    /// The cross entropy of logits and labels: for each line `x` of logits along `axis` and its label,
    /// `ln(sum_k e^x[k]) - x[label]`, without overflow. One loss for each line; `mean` or `sum` reduces them to one
    /// number.
    ///
    /// The derivative is [`softmax`](Tensor::softmax) less 1 at the label. A label out of bounds, such as -1, is
    /// ignored: its loss and derivative are 0. The loss of a line with an infinite logit is `inf`, finite or NaN, as
    /// the formula is.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let logits = tensor([[0.0, 0.0], [1000.0, 0.0], [3.0, 1.0]]);
    /// assert_eq!(logits.cross_entropy(1, &tensor([1, 1, -1])), tensor([2f64.ln(), 1000.0, 0.0]));
    /// let p = tensor([[0.25, 0.75], [0.5, 0.5], [0.0, 0.0]]);
    /// assert_eq!(logits.cross_entropy_soft(1, &p), tensor([2f64.ln(), 500.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or the number of labels is not that of lines.
    #[track_caller]
    pub fn cross_entropy<const M: usize>(&self, axis: usize, labels: &Tensor<T, M, i64>) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        let (x, _) = self.shifted::<M>("cross_entropy", axis);
        let mut lines = Shape::from_slice(self.raw().shape());
        let n = lines.remove(axis);
        if labels.raw().shape() != &lines[..] {
            panic!(
                "cross_entropy: needs a label for each line along axis {axis}, but the shapes are {} and {}; the labels have the \
                 shape of the logits without that axis",
                Show(self.raw().shape()),
                Show(labels.raw().shape())
            );
        }
        let total: Tensor<T, M, E> = x.exp().sum_axis(axis);
        let chosen = x.pick(axis, labels);
        // A guarded product with ones and zeros, not a selection, which would have the products of all earlier layers
        // guarded in the derivative.
        let counts = (labels.ge(0) & labels.lt(n as i64)).to_float::<E>();
        (total.ln() - chosen).binary(Binary::MulNoNan, &counts)
    }

    /// The cross entropy of logits and probabilities `p` of the same shape: for each line `x` of logits along `axis`,
    /// `-sum_k p[k] log_softmax(x)[k]`, without overflow. One loss for each line.
    ///
    /// A term of probability 0 is 0, even where the logit is `-inf`. The derivative in the logits is
    /// `softmax(x) sum(p) - p`. Rows of [`one_hot`](Tensor::one_hot) give [`cross_entropy`](Tensor::cross_entropy).
    ///
    /// Example: [`Tensor::cross_entropy`].
    ///
    /// # Panics
    /// When the axis does not exist, or the shapes differ.
    #[track_caller]
    pub fn cross_entropy_soft<const M: usize>(&self, axis: usize, p: &Self) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("cross_entropy_soft", axis, self.raw().shape());
        if self.raw().shape() != p.raw().shape() {
            panic!(
                "cross_entropy_soft: both shapes must be equal, but they are {} and {}; broadcast the probabilities",
                Show(self.raw().shape()),
                Show(p.raw().shape())
            );
        }
        -self.log_softmax::<M>(axis).binary(Binary::MulNoNan, p).sum_axis(axis)
    }
}
