//! Sorting permutations along an axis.
//!
//! Law: stable in both directions, and NaN comes last in both.

use super::views::linear;
use crate::array::{Array, Values, pool};
use crate::dtype::{DType, Num};
use crate::kernels::sorting::{self, Lines, Room};
use crate::ops::Linear;
use crate::shape::{self, Shape};

/// The permutation that sorts each line along `axis`.
#[track_caller]
pub(super) fn argsort<E: Num>(x: &Array, axis: usize, descending: bool) -> Array {
    let sizes = x.shape();
    let (len, inner) = (sizes[axis], shape::size(&sizes[axis + 1..]));
    if shape::size(sizes) == 0 {
        return Array::zeros(sizes, DType::I64);
    }
    let Values::Dense(v) = x.typed::<E>() else {
        return linear(&Linear::replicate(sizes, &[axis]), &Array::iota(len));
    };
    let mut out = pool::any::<i64>(v.len());
    let whole = 0..len;
    sorting::argsort(v, Lines { len, inner, descending }, &[whole], &mut out, &mut Room::default());
    Array::dense(Shape::from_slice(sizes), out)
}
