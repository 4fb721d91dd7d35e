//! Linear operations: reading and writing through affine views, reshaping, casting.
//!
//! Law: if no two indices write to one position, elements are copied, so any view keeps NaN and the sign of zero;
//! otherwise elements are accumulated from zero.

use super::elementwise::{accumulate, map};
use super::is_zero;
use crate::array::{Array, Values, pool, with_elem, with_float, with_num};
use crate::base::ravel;
use crate::dtype::{DType, Elem, Float, Num};
use crate::kernels::isa::Isa;
use crate::kernels::loop_nest::Nest;
use crate::kernels::scan::{self, Line};
use crate::kernels::views::{add, copy, covers, hits};
use crate::ops::{Linear, View};
use crate::shape::{self, Shape, check_room};

/// `op(t)`.
#[track_caller]
pub(super) fn linear(op: &Linear, t: &Array) -> Array {
    let dtype = op.result(t.shape(), t.dtype());
    if op.is_identity() {
        return t.clone();
    }
    match op {
        Linear::Affine { from, into } if into.is_injective() => {
            with_elem!(dtype, E => copied::<E>(from, into, t))
        }
        Linear::Affine { from, into } => {
            with_num!(dtype, E => added_up::<E>(from, into, t))
        }
        Linear::Reshape { into, .. } => t.with_shape(into),
        Linear::Cast { from: DType::F64, .. } => map(t, |x: f64| x as f32),
        Linear::Cast { .. } => map(t, |x: f32| f64::from(x)),
        Linear::Fourier { parts, axis, conjugate, .. } => super::fourier::fourier(t, *parts, *axis, *conjugate),
        Linear::PrefixSum { axis, reverse, .. } => {
            with_num!(dtype, E => prefix_sums::<E>(t, *axis, *reverse))
        }
    }
}

/// Consecutive elements of a vector of floats, from `start` on, in this shape and float type.
#[track_caller]
pub(super) fn section(vector: &Array, start: usize, shape: &[usize], dtype: DType) -> Array {
    fn copied<E: Float, F: Float>(x: &[E], shape: &[usize]) -> Array {
        match shape {
            [] => Array::scalar(float::<E, F>(x[0])),
            _ => {
                check_room::<F>(shape);
                Array::dense(Shape::from_slice(shape), pool::collected(x.iter().map(|x| float::<E, F>(*x))))
            }
        }
    }
    let end = start + shape::size(shape);
    if vector.rank() != 1 || end > vector.size() {
        return ravel::section(vector, start, shape, dtype);
    }
    with_float!(vector.dtype(), E => with_float!(dtype, F => match vector.typed::<E>() {
        Values::Splat(x) => Array::full(shape, float::<E, F>(x)),
        Values::Dense(x) => copied::<E, F>(&x[start..end], shape),
    }))
}

/// A float of another type, rounded.
#[inline(always)]
fn float<E: Float, F: Float>(x: E) -> F {
    F::of_f64(x.as_f64())
}

/// `base + op(t)`, in place; in a copy of `base` if that has another owner.
#[track_caller]
pub(super) fn accumulate_linear(mut base: Array, op: &Linear, t: &Array) -> Array {
    if let Linear::Affine { from, into } = op {
        let dtype = op.result(t.shape(), t.dtype());
        if base.shape() == into.source() && base.dtype() == dtype {
            let done = with_num!(dtype, E => match base.splat::<E>() {
                None => {
                    add_through::<E>(from, into, t, base.make_dense::<E>());
                    true
                }
                Some(_) => false,
            }, else false);
            if done {
                return base;
            }
        }
    }
    accumulate(base, &linear(op, t))
}

/// Writes the elements of `t` to their positions, with zeros elsewhere; no two have the same position.
#[track_caller]
fn copied<E: Elem>(from: &View, into: &View, t: &Array) -> Array {
    let zeros = || Array::full(into.source(), E::ZERO);
    if is_zero::<E>(t) {
        return zeros();
    }
    let source = t.typed::<E>();
    let Some(nest) = Nest::new([from, into], [t.splat::<E>().is_some(), false]) else { return zeros() };
    let size = shape::size(into.source());
    if let (Values::Splat(x), Some(1)) = (source, hits(&nest, size)) {
        return Array::full(into.source(), x);
    }
    check_room::<E>(into.source());
    let mut out = if covers(&nest, size) { pool::any(size) } else { pool::full(E::ZERO, size) };
    copy(&nest, elements(&source), &mut out);
    Array::dense(Shape::from_slice(into.source()), out)
}

/// Accumulates the elements of `t` at their positions.
#[track_caller]
fn added_up<E: Num>(from: &View, into: &View, t: &Array) -> Array {
    if let Some(x) = t.splat::<E>() {
        if is_zero::<E>(t) {
            return Array::full(into.source(), x);
        }
        let nest = Nest::new([from, into], [true, false]);
        if let Some(count) = nest.and_then(|nest| hits(&nest, shape::size(into.source()))) {
            let count: E = num_traits::cast(count).unwrap_or(E::ZERO);
            return Array::full(into.source(), E::ZERO.plus(x.mul(count)));
        }
    }
    check_room::<E>(into.source());
    let mut out = pool::full(E::ZERO, shape::size(into.source()));
    add_through(from, into, t, &mut out);
    Array::dense(Shape::from_slice(into.source()), out)
}

/// Adds the elements of `t` to `sum` at their positions. Zeros are not added if there are fewer of them than positions;
/// otherwise they are, because -0 + 0 is 0.
fn add_through<E: Num>(from: &View, into: &View, t: &Array, sum: &mut [E]) {
    if is_zero::<E>(t) && shape::size(from.shape()) < sum.len() {
        return;
    }
    let source = t.typed::<E>();
    let Some(nest) = Nest::new([from, into], [t.splat::<E>().is_some(), false]) else { return };
    add(&nest, elements(&source), sum);
}

/// The prefix sums of each line along an axis, or, in reverse, the suffix sums.
#[track_caller]
fn prefix_sums<E: Num>(t: &Array, axis: usize, reverse: bool) -> Array {
    let shape = t.shape();
    if is_zero::<E>(t) {
        return Array::full(shape, E::ZERO);
    }
    check_room::<E>(shape);
    let mut t = t.clone();
    let x = t.make_dense::<E>();
    let mut out = pool::any(x.len());
    scan::prefix_sums(Isa::detect(), x, Line::along(shape, axis, reverse), &mut out);
    Array::dense(Shape::from_slice(shape), out)
}

/// The elements as a slice; a uniform array is a slice of one element, read with strides of 0.
pub(super) fn elements<'a, E>(values: &'a Values<'a, E>) -> &'a [E] {
    match values {
        Values::Splat(x) => std::slice::from_ref(x),
        Values::Dense(v) => v,
    }
}
