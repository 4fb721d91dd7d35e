//! Layers of neural networks: structs of parameters, and pure functions of them.
//!
//! A layer is a struct that derives [`Tree`](trait@crate::Tree), so a model is a struct of layers, a gradient has the
//! structure of the model, and optimizers, saving and loading need nothing else. A layer holds no other state: a
//! method takes all that it depends on and returns all that it computes.
//!
//! ```
//! use polygrad::array::Rng;
//! use polygrad::nn::{Init, Linear};
//! use polygrad::optim::{Adam, Optimizer};
//! use polygrad::{BaseTensor, Function, Tensor, Tree, tensor};
//!
//! #[derive(Tree, Clone)]
//! struct Network<T: BaseTensor> {
//!     hidden: Linear<T>,
//!     output: Linear<T>,
//! }
//!
//! fn loss<T: BaseTensor>(net: &Network<T>, (x, labels): &(Tensor<T, 2>, Tensor<T, 1, i64>)) -> Tensor<T, 0> {
//!     let hidden = net.hidden.apply(x).tanh();
//!     net.output.apply(&hidden).cross_entropy(1, labels).mean()
//! }
//!
//! // Exclusive or.
//! let data = (tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), tensor([0, 1, 1, 0]));
//! let rng = &mut Rng::new(1);
//! let mut net = Network {
//!     hidden: Linear::new([2, 8], Init::GlorotUniform, rng),
//!     output: Linear::new([8, 2], Init::GlorotUniform, rng),
//! };
//! let adam = Adam::new(0.05);
//! let mut state = adam.init(&net);
//! let both = Function::value_and_grad_with(loss, &net, &data);
//! let mut value = f64::INFINITY;
//! for _ in 0..200 {
//!     let (now, slope) = both.run_with(&net, &data)?;
//!     (net, state) = adam.update(&net, &slope, &state);
//!     value = now.item();
//! }
//! assert!(value < 0.01);
//! # Ok::<(), polygrad::RunError>(())
//! ```
//!
//! | layer | what |
//! |---|---|
//! | [`Linear`], [`Embedding`] | affine maps of the last axis; rows of a table |
//! | [`Conv1d`], [`Conv2d`] | convolutions of signals and images; pooling: [`max_pool2d`](crate::Tensor::max_pool2d) and similar methods |
//! | [`LayerNorm`], [`RmsNorm`], [`BatchNorm`] | normalisation of each line, and of each channel of a batch |
//! | [`Attention`], [`attention`](fn@attention) | multi-head attention |
//! | [`Rnn`], [`Gru`], [`Lstm`] | cells of recurrent networks; a [`RecurrentCell`] runs along sequences |
//! | [`dropout`](fn@dropout) | by a mask, which is an argument |
//! | [`Init`] | how weights are drawn at the start |
//! | [`smoothed_cross_entropy`], [`binary_cross_entropy`], [`huber`], [`accuracy`] | losses besides [`cross_entropy`](crate::Tensor::cross_entropy) |
//!
//! **Activations** are methods of tensors: [`relu`](crate::Tensor::relu), [`gelu`](crate::Tensor::gelu),
//! [`silu`](crate::Tensor::silu), [`softplus`](crate::Tensor::softplus), [`softmax`](crate::Tensor::softmax) ..
//!
//! **Axes.** Examples of a batch lie along axis 0, features along the last one; images and signals have their channels
//! along axis 1, as [`conv2d`](crate::Tensor::conv2d) has. Sequences for cells have time first, `[time, batch,
//! features]`, as loops have; those for attention have the batch first, `[batch, time, features]`.
//!
//! **Random numbers.** The host draws initial weights with an [`Rng`](crate::array::Rng) when a layer is made. Masks of
//! dropout are data of each run, or the program draws them with a [`Key`](crate::random::Key) that is an argument.
//!
//! Law: a layer of a batch is the layer of each example; only [`BatchNorm::train`] mixes examples.

mod attention;
mod convolution;
mod dropout;
mod init;
mod linear;
mod loss;
mod normalization;
mod recurrent;

pub use crate::tensor::Conv;
pub use attention::{Attention, AttentionMask, attention};
pub use convolution::{Conv1d, Conv2d};
pub use dropout::{dropout, dropout_mask};
pub use init::Init;
pub use linear::{Embedding, Linear};
pub use loss::{accuracy, binary_cross_entropy, huber, smoothed_cross_entropy};
pub use normalization::{BatchNorm, BatchStatistics, LayerNorm, RmsNorm};
pub use recurrent::{Gru, Lstm, RecurrentCell, Rnn};

use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops;
use crate::shape::Show;
use crate::tensor::Tensor;

/// Panics unless the input has as many numbers along an axis as a parameter of the layer has along an axis.
#[track_caller]
fn check_input(op: &str, (input, axis): (&[usize], usize), (parameter, own): (&[usize], usize)) {
    if input[axis] != parameter[own] {
        panic!(
            "{op}: the input must have as many numbers along axis {axis} as the parameter along axis {own}, but the shapes are {} and {}; make \
             the layer for inputs of this size",
            Show(input),
            Show(parameter)
        );
    }
}

/// Panics unless a bias fits the result to which it is added.
#[track_caller]
fn check_bias<T: BaseTensor, E: Float>(op: &str, result: &[usize], axis: usize, bias: &Tensor<T, 1, E>) {
    if result[axis] != bias.len() {
        panic!(
            "{op}: the bias must have a number for each element of the result along axis {axis}, but the shapes are {} and {}; make the \
             layer with new",
            Show(&bias.shape()),
            Show(result)
        );
    }
}

/// A vector along one axis of `like`, repeated along all others.
#[track_caller]
fn along<T: BaseTensor, const D: usize, E: Float>(
    vector: &Tensor<T, 1, E>,
    axis: usize,
    like: &Tensor<T, D, E>,
) -> Tensor<T, D, E> {
    Tensor::from_raw(vector.raw().linear(&ops::Linear::replicate(like.raw().shape(), &[axis])))
}

/// `y` and a bias along one of its axes, if there is one.
#[track_caller]
fn biased<T: BaseTensor, const D: usize, E: Float>(
    op: &str,
    y: Tensor<T, D, E>,
    axis: usize,
    bias: Option<&Tensor<T, 1, E>>,
) -> Tensor<T, D, E> {
    let Some(bias) = bias else { return y };
    check_bias(op, y.raw().shape(), axis, bias);
    let bias = along(bias, axis, &y);
    y + bias
}
