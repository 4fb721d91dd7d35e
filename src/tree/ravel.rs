//! Trees as vectors: the concatenated elements of the float leaves.
//!
//! Law: `x.unravel(&x.ravel()) == x`. Elements of `f32` are exact as `f64`; integers and masks are not part of the vector.

use super::Tree;
use crate::base::BaseTensor;
use crate::shape::size;

/// The elements of the float leaves, in order, as one vector of `f64`.
#[track_caller]
pub(crate) fn ravel<T: BaseTensor>(leaves: &[T]) -> T {
    match leaves.iter().all(|leaf| leaf.dtype().is_float()) {
        true => T::joined(leaves),
        false => {
            let floats: Vec<T> = leaves.iter().filter(|leaf| leaf.dtype().is_float()).cloned().collect();
            T::joined(&floats)
        }
    }
}

/// The number of elements of the float leaves.
pub(crate) fn raveled_size<T: BaseTensor>(leaves: &[T]) -> usize {
    leaves.iter().filter(|leaf| leaf.dtype().is_float()).map(|leaf| size(leaf.shape())).sum()
}

/// The leaves with the elements of a vector in the float leaves, in order; the other leaves stay. The vector has
/// [`raveled_size`] elements.
#[track_caller]
pub(crate) fn unravel<T: BaseTensor>(leaves: &[T], vector: &T) -> Vec<T> {
    let mut start = 0;
    leaves.iter().map(|leaf| part(leaf, vector, &mut start)).collect()
}

/// [`unravel`] for the leaves of a tree, in its structure.
#[track_caller]
pub(super) fn unraveled<T: BaseTensor, P: Tree<T>>(tree: &P, vector: &T) -> P::With<T> {
    let mut start = 0;
    tree.map(&mut |leaf| part(leaf, vector, &mut start))
}

/// A leaf with the elements of a vector from `start` on, which moves on; or a leaf that is not of floats.
#[track_caller]
fn part<T: BaseTensor>(leaf: &T, vector: &T, start: &mut usize) -> T {
    if !leaf.dtype().is_float() {
        return leaf.clone();
    }
    let from = *start;
    *start += size(leaf.shape());
    vector.section(from, leaf.shape(), leaf.dtype())
}
