//! Extrema along an axis: their values and their positions.
//!
//! Law: the value is, to the bit, the element at the position: the first NaN of the line if there is one, otherwise the
//! first of the largest or smallest elements.

use super::elementwise::kind;
use crate::array::{Array, Values, pool, with_num};
use crate::dtype::Num;
use crate::kernels;
use crate::kernels::isa::Isa;
use crate::kernels::prefix_extrema;
use crate::kernels::scan::Line;
use crate::ops::Reduce;
use crate::shape::{self, Shape};

/// The extremum of each line.
#[track_caller]
pub(super) fn reduce(op: Reduce, x: &Array) -> Array {
    let (shape, dtype) = op.result(kind(x));
    with_num!(dtype, E => extrema::<E>(x, op, shape))
}

/// The position of the extremum in each line.
pub(super) fn positions<E: Num>(x: &Array, op: Reduce) -> Array {
    let axis = op.axis();
    let mut out = Shape::from_slice(x.shape());
    out.remove(axis);
    let Values::Dense(v) = x.typed::<E>() else { return Array::full(&out, 0i64) };
    let mut positions = pool::full(0i64, shape::size(&out));
    kernels::reduce::positions(Isa::detect(), op, v, line(x, axis), &mut positions);
    Array::dense(out, positions)
}

/// The position of the extremum of each prefix of each line.
pub(super) fn prefix_positions<E: Num>(x: &Array, axis: usize, largest: bool, reverse: bool) -> Array {
    let shape = x.shape();
    let Values::Dense(v) = x.typed::<E>() else {
        // Of equal elements, the first of each prefix.
        let first = if reverse { shape[axis].saturating_sub(1) } else { 0 };
        return Array::full(shape, first as i64);
    };
    let mut positions = pool::any(v.len());
    let line = Line::along(shape, axis, reverse);
    prefix_extrema::prefix_positions(Isa::detect(), v, line, largest, &mut positions);
    Array::dense(Shape::from_slice(shape), positions)
}

fn extrema<E: Num>(x: &Array, op: Reduce, out: Shape) -> Array {
    let v = match x.typed::<E>() {
        Values::Splat(x) => return Array::full(&out, x),
        Values::Dense(v) => v,
    };
    let mut extrema = pool::any::<E>(shape::size(&out));
    kernels::reduce::extrema(Isa::detect(), op, v, line(x, op.axis()), &mut extrema);
    Array::dense(out, extrema)
}

/// The length of an axis, and the stride of its elements.
fn line(x: &Array, axis: usize) -> (usize, usize) {
    (x.shape()[axis], shape::size(&x.shape()[axis + 1..]))
}
