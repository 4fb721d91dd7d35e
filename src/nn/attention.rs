//! Multi-head attention.
//!
//! Law: what a query does not see has weight 0, and so derivative 0.

use super::{Init, check_input};
use crate::array::{Array, Rng};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Compare;
use crate::shape::Show;
use crate::tensor::{AtLeast, Rank, Tensor, band, einsum};
use crate::tree::Tree;

/// What queries see: the mask of [`attention`](fn@attention).
///
/// Example: [`attention`](fn@attention).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AttentionMask<T: BaseTensor> {
    /// Each query sees every key.
    All,
    /// Causal: each query sees the key at its own place and those before. With fewer queries than keys, the queries are at
    /// the last places.
    Causal,
    /// Where the mask holds, `[batch, heads, queries, keys]`; axes of size 1 are repeated. A query that sees no key has
    /// weights NaN, as the softmax of nothing is not defined.
    Where(Tensor<T, 4, bool>),
}

impl<T: BaseTensor> AttentionMask<T> {
    /// Where a mask holds whose axes are the last ones of `[batch, heads, queries, keys]`.
    ///
    /// Example: [`attention`](fn@attention).
    #[track_caller]
    pub fn of<const M: usize>(mask: &Tensor<T, M, bool>) -> Self
    where
        Rank<4>: AtLeast<M>,
    {
        AttentionMask::Where(mask.expand())
    }
}

/// Scaled dot-product attention: for queries `[b, h, l, d]`, keys `[b, h, m, d]` and values `[b, h, m, e]` the array
/// `softmax(q k^T / sqrt d) v`, of shape `[b, h, l, e]`, with the softmax over the keys that the mask lets each query see.
///
/// (Vaswani et al., *Attention is all you need*, NeurIPS 2017, equation 1.)
///
/// ```
/// use polygrad::nn::{AttentionMask, attention};
/// use polygrad::tensor;
/// // Keys that are alike have equal weights.
/// let (q, k, v) = (tensor([[[[1.0], [2.0]]]]), tensor([[[[5.0], [5.0]]]]), tensor([[[[2.0], [4.0]]]]));
/// assert_eq!(attention(&q, &k, &v, &AttentionMask::All), tensor([[[[3.0], [3.0]]]]));
/// assert_eq!(attention(&q, &k, &v, &AttentionMask::Causal), tensor([[[[2.0], [3.0]]]]));
/// let second = AttentionMask::Where(tensor([[[[false, true]]]]));
/// assert_eq!(attention(&q, &k, &v, &second), tensor([[[[4.0], [4.0]]]]));
/// // The second key is padding.
/// assert_eq!(attention(&q, &k, &v, &AttentionMask::of(&tensor([true, false]))), tensor([[[[2.0], [2.0]]]]));
/// ```
///
/// # Panics
/// When batch, heads, the sizes of queries and keys, or the numbers of keys and values differ; when the mask is causal
/// and there are more queries than keys; when the sizes of a mask are neither these nor 1.
#[track_caller]
pub fn attention<T: BaseTensor, E: Float>(
    q: &Tensor<T, 4, E>,
    k: &Tensor<T, 4, E>,
    v: &Tensor<T, 4, E>,
    mask: &AttentionMask<T>,
) -> Tensor<T, 4, E> {
    let ([b, h, l, d], [_, _, m, _]) = (q.shape(), k.shape());
    let [.., e] = v.shape();
    if k.shape() != [b, h, m, d] || v.shape() != [b, h, m, e] {
        panic!(
            "attention: needs shapes [b, h, l, d] of queries, [b, h, m, d] of keys and [b, h, m, e] of values, but they are {}, {} and \
             {}; slice or permute one",
            Show(&q.shape()),
            Show(&k.shape()),
            Show(&v.shape())
        );
    }
    let scores: Tensor<T, 4, E> = einsum("bhlk,bhmk->bhlm", (&q.scale(1.0 / (d as f64).sqrt()), k));
    let scores = match mask {
        AttentionMask::All => scores,
        AttentionMask::Causal if l > m => panic!(
            "attention: a causal mask must have a key at the place of each query, but there are {l} queries and {m} keys; pass a mask"
        ),
        AttentionMask::Causal => seen(&Tensor::from_raw(band::<T>(&[b, h, l, m], Compare::Le, (m - l) as i64)), scores),
        AttentionMask::Where(mask) => seen(&mask.up_to(&scores), scores),
    };
    einsum("bhlm,bhmk->bhlk", (&scores.softmax(3), v))
}

/// The scores, `-inf` where the mask does not hold. They are added, not selected: a selection would have the products of
/// all earlier layers guarded in the derivative.
#[track_caller]
fn seen<T: BaseTensor, E: Float>(mask: &Tensor<T, 4, bool>, scores: Tensor<T, 4, E>) -> Tensor<T, 4, E> {
    let zeros = Tensor::<T, 4, E>::zeros(mask.shape());
    scores + mask.select(zeros, E::neg_infinity())
}

/// Multi-head attention: `sum_h attention(x Q_h, y K_h, y V_h) O_h`, with matrices for each head `h`; no biases.
///
/// (Vaswani et al., *Attention is all you need*, NeurIPS 2017, section 3.2.2; the matrix `W^O` is here that of each
/// head, `O_h`, whose products are added.)
///
/// ```
/// use polygrad::array::Rng;
/// use polygrad::nn::{Attention, AttentionMask};
/// use polygrad::{Tensor, tensor};
/// let layer: Attention<_> = Attention::new(6, 2, &mut Rng::new(1));
/// assert_eq!(layer.query.shape(), [6, 2, 3]);
/// let [x, y]: [Tensor<_, 3>; 2] = [[1, 4, 6], [1, 5, 6]].map(|shape| Rng::new(2).normal(shape, 0.0, 1.0));
/// assert_eq!(layer.apply_across(&x, &y, &AttentionMask::All).shape(), [1, 4, 6]);
/// // No place sees later ones.
/// let (all, first) = (layer.apply(&x, &AttentionMask::Causal), layer.apply(&x.slice(1, ..2), &AttentionMask::Causal));
/// assert!((all.slice(1, ..2) - first).abs().max_all().item() < 1e-15);
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Attention<T: BaseTensor, E: Float = f64> {
    /// `Q`, of shape `[width, heads, size]`.
    pub query: Tensor<T, 3, E>,
    /// `K`, of shape `[width, heads, size]`.
    pub key: Tensor<T, 3, E>,
    /// `V`, of shape `[width, heads, size]`.
    pub value: Tensor<T, 3, E>,
    /// `O`, of shape `[heads, size, width]`.
    pub out: Tensor<T, 3, E>,
}

impl<E: Float> Attention<Array, E> {
    /// For inputs of this width, with `heads` heads of `width / heads` numbers: weights by [`Init::GlorotUniform`], of
    /// matrices from `width` to `width` numbers.
    ///
    /// Example: [`Attention`].
    ///
    /// # Panics
    /// When the heads do not share the width.
    #[track_caller]
    pub fn new(width: usize, heads: usize, rng: &mut Rng) -> Self {
        if heads == 0 || !width.is_multiple_of(heads) {
            panic!(
                "attention: heads must share the width, but there are {heads} of {width}; take a divisor of the width"
            );
        }
        let size = width / heads;
        let mut draw = |shape: [usize; 3]| Init::GlorotUniform.draw(shape, [width, width], rng);
        let [query, key, value] = std::array::from_fn(|_| draw([width, heads, size]));
        Attention { query, key, value, out: draw([heads, size, width]) }
    }
}

impl<T: BaseTensor, E: Float> Attention<T, E> {
    /// Each place of `x`, `[batch, places, width]`, looks at the places of the same sequence.
    ///
    /// Example: [`Attention`].
    ///
    /// # Panics
    /// When the width differs from that of the parameters, or [`attention`](fn@attention) panics.
    #[track_caller]
    pub fn apply(&self, x: &Tensor<T, 3, E>, mask: &AttentionMask<T>) -> Tensor<T, 3, E> {
        self.apply_across(x, x, mask)
    }

    /// Each place of `x`, `[batch, places, width]`, looks at the places of `y`, `[batch, other places, width]`.
    ///
    /// Example: [`Attention`].
    ///
    /// # Panics
    /// When a width differs from that of the parameters, or [`attention`](fn@attention) panics.
    #[track_caller]
    pub fn apply_across(&self, x: &Tensor<T, 3, E>, y: &Tensor<T, 3, E>, mask: &AttentionMask<T>) -> Tensor<T, 3, E> {
        let (x_shape, y_shape) = (x.raw().shape(), y.raw().shape());
        for (input, weight) in [(x_shape, &self.query), (y_shape, &self.key), (y_shape, &self.value)] {
            check_input("attention", (input, 2), (weight.raw().shape(), 0));
        }
        let heads = |x, w| -> Tensor<T, 4, E> { einsum("bld,dhk->bhlk", (x, w)) };
        let seen = attention(&heads(x, &self.query), &heads(y, &self.key), &heads(y, &self.value), mask);
        einsum("bhlk,hkd->bld", (&seen, &self.out))
    }
}
