//! Tensors as vectors: the operations that make up `section` and `joined`.
//!
//! Law: elements of `f32` are exact as `f64`, and elements of a vector are rounded to the type of their tensor. An
//! interpreter whose operations cost much compared with their elements computes both at once, with the same results.

use super::BaseTensor;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::shape::{Shape, size};

/// [`BaseTensor::section`] by linear operations.
#[track_caller]
pub(crate) fn section<T: BaseTensor>(vector: &T, start: usize, shape: &[usize], dtype: DType) -> T {
    let part = vector.linear(&Linear::slice(vector.shape(), 0, start, size(shape), 1));
    reshaped(&cast(&part, dtype), shape)
}

/// [`BaseTensor::joined`] by linear operations and a concatenation.
#[track_caller]
pub(crate) fn joined<T: BaseTensor>(parts: &[T]) -> T {
    let vector = |part: &T| cast(&reshaped(part, &[size(part.shape())]), DType::F64);
    match parts {
        [] => T::zeros(&[0], DType::F64),
        [part] => vector(part),
        parts => T::concat(0, &parts.iter().map(vector).collect::<Vec<T>>()),
    }
}

#[track_caller]
fn reshaped<T: BaseTensor>(x: &T, shape: &[usize]) -> T {
    if *x.shape() == *shape { x.clone() } else { x.linear(&Linear::reshape(x.shape(), &Shape::from_slice(shape))) }
}

#[track_caller]
fn cast<T: BaseTensor>(x: &T, dtype: DType) -> T {
    if x.dtype() == dtype { x.clone() } else { x.linear(&Linear::cast(x.shape(), x.dtype(), dtype)) }
}
