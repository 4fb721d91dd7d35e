//! Affine maps of the last axis, and rows of a table.
//!
//! Law: an affine map is one contraction for any number of leading axes, as a product of matrices is.

use super::{Init, biased, check_input};
use crate::array::{Array, Rng};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Contract;
use crate::shape::{Shape, check_possible};
use crate::tensor::{Above, Plus, Rank, Tensor};
use crate::tree::Tree;

/// An affine map of each line along the last axis: `y = x W + b`.
///
/// ```
/// use polygrad::array::Rng;
/// use polygrad::nn::{Init, Linear};
/// use polygrad::tensor;
/// let layer = Linear { weight: tensor([[1.0, 2.0], [3.0, 4.0]]), bias: Some(tensor([0.5, 0.0])) };
/// assert_eq!(layer.apply(&tensor([1.0, 10.0])), tensor([31.5, 42.0]));
/// assert_eq!(layer.apply(&tensor([[1.0, 0.0], [0.0, 1.0]])), tensor([[1.5, 2.0], [3.5, 4.0]]));
/// assert_eq!(layer.without_bias().apply(&tensor([1.0, 10.0])), tensor([31.0, 42.0]));
/// let drawn: Linear<_> = Linear::new([64, 10], Init::GlorotUniform, &mut Rng::new(1));
/// assert_eq!((drawn.weight.shape(), drawn.bias), ([64, 10], Some(polygrad::Tensor::zeros([10]))));
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Linear<T: BaseTensor, E: Float = f64> {
    /// `W`, of shape `[inputs, outputs]`.
    pub weight: Tensor<T, 2, E>,
    /// `b`, of shape `[outputs]`, if there is one.
    pub bias: Option<Tensor<T, 1, E>>,
}

impl<E: Float> Linear<Array, E> {
    /// A layer with these numbers of inputs and outputs: drawn weights, and a bias of 0.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When [`Init::draw`] does.
    #[track_caller]
    pub fn new(sizes: [usize; 2], init: Init, rng: &mut Rng) -> Self {
        Linear { weight: init.draw(sizes, sizes, rng), bias: Some(Tensor::zeros([sizes[1]])) }
    }
}

impl<T: BaseTensor, E: Float> Linear<T, E> {
    /// The same layer without a bias: `y = x W`.
    ///
    /// Example: [`Linear`].
    #[must_use]
    pub fn without_bias(self) -> Self {
        Linear { bias: None, ..self }
    }

    /// `x W + b` of each line: a shape `[.., inputs]` gives `[.., outputs]`.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When the size of the last axis is not the number of inputs.
    #[track_caller]
    pub fn apply<const D: usize, const M: usize>(&self, x: &Tensor<T, D, E>) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        let (shape, weight) = (x.raw().shape(), self.weight.raw());
        let [inputs, outputs] = self.weight.shape();
        check_input("linear", (shape, M), (weight.shape(), 0));
        // The iteration space: the leading axes, the outputs, the inputs, which are summed over.
        let mut space = Shape::from_slice(shape);
        space[M] = outputs;
        check_possible("linear", &space);
        space.push(inputs);
        let lines = |last: usize| -> Shape { (0..M).chain([last]).collect() };
        let product = Contract::axes(&space, &lines(D), &[D, M], &lines(M));
        biased("linear", Tensor::from_raw(T::contract(&product, x.raw(), weight)), M, self.bias.as_ref())
    }
}

/// A table with a vector for each of some words, letters or places.
///
/// ```
/// use polygrad::array::Rng;
/// use polygrad::nn::{Embedding, Init};
/// use polygrad::tensor;
/// let letters = Embedding { table: tensor([[1.0, 2.0], [3.0, 4.0]]) };
/// assert_eq!(letters.apply(&tensor([1, 1, 0])), tensor([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]));
/// assert_eq!(letters.apply(&tensor([[0, 9]])), tensor([[[1.0, 2.0], [0.0, 0.0]]]));
/// let drawn: Embedding<_> = Embedding::new([29, 32], Init::Normal(0.5), &mut Rng::new(1));
/// assert_eq!(drawn.table.shape(), [29, 32]);
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Embedding<T: BaseTensor, E: Float = f64> {
    /// A row for each number: shape `[count, width]`.
    pub table: Tensor<T, 2, E>,
}

impl<E: Float> Embedding<Array, E> {
    /// A drawn table with this number of rows of this width; each number of a row has one input, its own.
    ///
    /// Example: [`Embedding`].
    ///
    /// # Panics
    /// When [`Init::draw`] does.
    #[track_caller]
    pub fn new(sizes: [usize; 2], init: Init, rng: &mut Rng) -> Self {
        Embedding { table: init.draw(sizes, [1, sizes[1]], rng) }
    }
}

impl<T: BaseTensor, E: Float> Embedding<T, E> {
    /// The rows of these numbers: a shape `[..]` gives `[.., width]`. A number out of bounds has a row of zeros.
    ///
    /// Example: [`Embedding`].
    #[track_caller]
    pub fn apply<const D: usize, const R: usize>(&self, numbers: &Tensor<T, D, i64>) -> Tensor<T, R, E>
    where
        Rank<R>: Plus<D, 1>,
    {
        self.table.gather([numbers])
    }
}
