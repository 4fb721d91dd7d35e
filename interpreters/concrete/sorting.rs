//! Positions in sorted order, line by line along an axis.
//!
//! Law: stable in both directions, and NaN comes last in both.

use std::cmp::Ordering;

use crate::array::{Array, Values};
use crate::dtype::{DType, Num};
use crate::ops::Linear;
use crate::shape::{self, Shape};

use super::views::linear;

/// The positions of the elements of each line along `axis` in sorted order.
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
    let mut out = vec![0i64; v.len()];
    let mut line: Vec<(E, i64)> = Vec::with_capacity(len);
    for start in (0..v.len()).step_by(len * inner) {
        for first in start..start + inner {
            line.clear();
            line.extend((0..len).map(|i| (v[first + i * inner], i as i64)));
            line.sort_by(|(a, _), (b, _)| order(*a, *b, descending));
            for (i, (_, position)) in line.iter().enumerate() {
                out[first + i * inner] = *position;
            }
        }
    }
    Array::dense(Shape::from_slice(sizes), out)
}

/// The order of two elements; an element that cannot be compared is NaN.
fn order<E: Num>(a: E, b: E, descending: bool) -> Ordering {
    let forward = if descending { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
    #[allow(clippy::eq_op)]
    forward.unwrap_or_else(|| (a != a).cmp(&(b != b)))
}
