//! Dropout by a mask that is data.
//!
//! Law: a mask is data, of the host for each run, or of a [`Key`](crate::random::Key) inside the program.

use crate::array::{Array, Rng};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::shape::Show;
use crate::tensor::Tensor;

/// Dropout: `x / keep` where the mask holds, 0 elsewhere, so that the mean over masks is `x`. Derivatives are 0 where
/// the mask does not hold.
///
/// The mask is data, drawn by [`dropout_mask`] for each run, or by [`bernoulli`](crate::random::Key::bernoulli) in the
/// program; without dropout, leave the call out. (Srivastava, Hinton,
/// Krizhevsky, Sutskever and Salakhutdinov, *Dropout*, JMLR 15, 2014, section 4, scaled in training.)
///
/// ```
/// use polygrad::{array::Rng, nn::{dropout, dropout_mask}, tensor};
/// assert_eq!(dropout(&tensor([1.0, 2.0]), &tensor([true, false]), 0.5), tensor([2.0, 0.0]));
/// let mask = dropout_mask([100, 100], 0.8, &mut Rng::new(1));
/// assert!((mask.to_float::<f64>().mean().item() - 0.8).abs() < 0.01);
/// ```
///
/// # Panics
/// When the shapes differ, or `keep` is not a probability above 0.
#[track_caller]
pub fn dropout<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    mask: &Tensor<T, D, bool>,
    keep: f64,
) -> Tensor<T, D, E> {
    check(keep);
    if x.raw().shape() != mask.raw().shape() {
        panic!(
            "dropout: the mask must have the shape of the input, but the shapes are {} and {}; draw it in this shape",
            Show(x.raw().shape()),
            Show(mask.raw().shape())
        );
    }
    mask.select(x.scale(1.0 / keep), E::ZERO)
}

/// A mask for [`dropout`](fn@dropout): each element holds with probability `keep`, independently.
///
/// Example: [`dropout`](fn@dropout).
///
/// # Panics
/// When `keep` is not a probability above 0, or an array of this shape is too large.
#[track_caller]
pub fn dropout_mask<const D: usize>(shape: [usize; D], keep: f64, rng: &mut Rng) -> Tensor<Array, D, bool> {
    check(keep);
    rng.uniform(shape, 0.0, 1.0).lt(keep)
}

#[track_caller]
fn check(keep: f64) {
    assert!(
        keep > 0.0 && keep <= 1.0,
        "dropout: the probability of being kept must be above 0 and at most 1, but it is {keep}; 0.9 drops one of ten"
    );
}
