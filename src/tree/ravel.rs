//! Trees as vectors: the concatenated elements of the float leaves.
//!
//! Law: `x.unravel(&x.ravel()) == x`. Elements of `f32` are exact as `f64`; integers and masks are no part of the
//! vector.

use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::shape::{Shape, size};

/// The elements of the float leaves, in order, as one vector of `f64`.
#[track_caller]
pub(crate) fn ravel<T: BaseTensor>(leaves: &[T]) -> T {
    let mut parts = Vec::new();
    for leaf in leaves.iter().filter(|leaf| leaf.dtype().is_float()) {
        let flat = [size(leaf.shape())];
        parts.push(cast(&reshaped(leaf, &flat), DType::F64));
    }
    match parts.len() {
        0 => T::zeros(&[0], DType::F64),
        1 => parts.remove(0),
        _ => T::concat(0, &parts),
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
    let (mut start, mut out) = (0, Vec::with_capacity(leaves.len()));
    for leaf in leaves {
        if !leaf.dtype().is_float() {
            out.push(leaf.clone());
            continue;
        }
        let n = size(leaf.shape());
        let part = vector.linear(&Linear::slice(vector.shape(), 0, start, n, 1));
        out.push(reshaped(&cast(&part, leaf.dtype()), leaf.shape()));
        start += n;
    }
    out
}

#[track_caller]
fn reshaped<T: BaseTensor>(x: &T, shape: &[usize]) -> T {
    if *x.shape() == *shape { x.clone() } else { x.linear(&Linear::reshape(x.shape(), &Shape::from_slice(shape))) }
}

#[track_caller]
fn cast<T: BaseTensor>(x: &T, dtype: DType) -> T {
    if x.dtype() == dtype { x.clone() } else { x.linear(&Linear::cast(x.shape(), x.dtype(), dtype)) }
}
