//! Layers of convolutions.
//!
//! Law: a layer is [`Tensor::conv1d`] or [`Tensor::conv2d`] and a bias for each channel of the result.

use super::{Init, biased};
use crate::array::{Array, Rng};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Conv, Tensor};
use crate::tree::Tree;

macro_rules! convolutions {
    ($(
        $(#[$doc:meta])*
        $Layer:ident $S:literal, $D:literal, $conv:ident, [$($size:ident)*], $shape:literal,
        [$example:literal, $without:literal, $applied:literal];
    )*) => { $(
        $(#[$doc])*
        #[derive(Tree, Clone, Debug, PartialEq)]
        pub struct $Layer<T: BaseTensor, E: Float = f64> {
            #[doc = concat!("The kernel, of shape `[out, in, ", $shape, "]`.")]
            pub kernel: Tensor<T, $D, E>,
            /// A number for each channel of the result, if there is a bias.
            pub bias: Option<Tensor<T, 1, E>>,
            /// Stride, padding and dilation.
            pub how: Conv<$S>,
        }

        impl<E: Float> $Layer<Array, E> {
            /// A layer with these numbers of input and output channels and a kernel of this size: drawn weights, and a bias of 0.
            ///
            /// ```
            /// use polygrad::array::Rng;
            #[doc = concat!("use polygrad::nn::{", stringify!($Layer), ", Init};")]
            #[doc = $example]
            /// ```
            ///
            /// # Panics
            /// When [`Init::draw`] does.
            #[track_caller]
            pub fn new(channels: [usize; 2], size: [usize; $S], how: Conv<$S>, init: Init, rng: &mut Rng) -> Self {
                let ([inputs, outputs], [$($size),*]) = (channels, size);
                let window = size.iter().product::<usize>();
                let kernel = init.draw([outputs, inputs, $($size),*], [inputs * window, outputs * window], rng);
                $Layer { kernel, bias: Some(Tensor::zeros([outputs])), how }
            }
        }

        impl<T: BaseTensor, E: Float> $Layer<T, E> {
            /// The same layer without a bias, as before a normalisation that has its own.
            ///
            /// ```
            #[doc = concat!("use polygrad::nn::", stringify!($Layer), ";\nuse polygrad::{Conv, tensor};")]
            #[doc = $without]
            /// ```
            #[must_use]
            pub fn without_bias(self) -> Self {
                $Layer { bias: None, ..self }
            }

            #[doc = concat!("The convolution of each input, and the bias: `[n, in, ..]` gives `[n, out, ..]`; see [`Tensor::", stringify!($conv), "`].")]
            ///
            /// ```
            #[doc = concat!("use polygrad::nn::", stringify!($Layer), ";\nuse polygrad::{Conv, tensor};")]
            #[doc = $applied]
            /// ```
            ///
            /// # Panics
            /// When the channels differ, or the kernel does not fit into the padded input.
            #[track_caller]
            pub fn apply(&self, x: &Tensor<T, $D, E>) -> Tensor<T, $D, E> {
                biased(stringify!($conv), x.$conv(&self.kernel, self.how), 1, self.bias.as_ref())
            }
        }
    )* };
}

convolutions! {
    /// A convolution of signals `[n, in, w]`, and a bias: `y[n, o, v] = conv1d(x, kernel)[n, o, v] + bias[o]`.
    ///
    /// ```
    /// use polygrad::nn::Conv1d;
    /// use polygrad::{Conv, tensor};
    /// let layer = Conv1d { kernel: tensor([[[-1.0, 1.0]]]), bias: Some(tensor([0.5])), how: Conv::default() };
    /// assert_eq!(layer.apply(&tensor([[[1.0, 2.0, 4.0]]])), tensor([[[1.5, 2.5]]]));
    /// ```
    Conv1d 1, 3, conv1d, [k], "k",
        ["let layer: Conv1d<_> = Conv1d::new([1, 8], [3], Default::default(), Init::HeNormal, &mut Rng::new(1));
assert_eq!(layer.kernel.shape(), [8, 1, 3]);",
        "let layer = Conv1d { kernel: tensor([[[2.0]]]), bias: Some(tensor([1.0])), how: Conv::default() };
assert_eq!(layer.without_bias().apply(&tensor([[[3.0]]])), tensor([[[6.0]]]));",
        "let kernel = tensor([[[1.0, 1.0]], [[0.0, 1.0]]]);
let layer = Conv1d { kernel, bias: Some(tensor([0.5, 0.0])), how: Conv::default() };
assert_eq!(layer.apply(&tensor([[[1.0, 2.0, 4.0]]])), tensor([[[3.5, 6.5], [2.0, 4.0]]]));"];
    /// A convolution of images `[n, in, h, w]`, and a bias: `y[n, o, u, v] = conv2d(x, kernel)[n, o, u, v] + bias[o]`.
    ///
    /// ```
    /// use polygrad::nn::Conv2d;
    /// use polygrad::{Conv, tensor};
    /// let layer = Conv2d { kernel: tensor([[[[1.0, 1.0]]]]), bias: Some(tensor([0.5])), how: Conv::default() };
    /// assert_eq!(layer.apply(&tensor([[[[1.0, 2.0, 4.0]]]])), tensor([[[[3.5, 6.5]]]]));
    /// ```
    Conv2d 2, 4, conv2d, [k l], "k, l",
        ["let layer: Conv2d<_> = Conv2d::new([1, 8], [3, 3], Default::default(), Init::HeNormal, &mut Rng::new(1));
assert_eq!(layer.kernel.shape(), [8, 1, 3, 3]);",
        "let layer = Conv2d { kernel: tensor([[[[2.0]]]]), bias: Some(tensor([1.0])), how: Conv::default() };
assert_eq!(layer.without_bias().apply(&tensor([[[[3.0]]]])), tensor([[[[6.0]]]]));",
        "let kernel = tensor([[[[1.0, 1.0]]], [[[0.0, 1.0]]]]);
let layer = Conv2d { kernel, bias: Some(tensor([0.5, 0.0])), how: Conv::default() };
assert_eq!(layer.apply(&tensor([[[[1.0, 2.0, 4.0]]]])), tensor([[[[3.5, 6.5]], [[2.0, 4.0]]]]));"];
}
