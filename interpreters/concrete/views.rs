//! Linear operations: reading and writing through affine views, reshaping, casting.
//!
//! Law: where no two indices write to one place, elements are copied, so NaN and the sign of zero
//! survive any view; elsewhere they are added up from zero.

use super::elementwise::{accumulate, map};
use super::runs::Nest;
use super::{is_zero, owned_elements, with_num};
use crate::array::{Array, Values, with_elem};
use crate::dtype::{DType, Elem, Num};
use crate::ops::{Linear, View};
use crate::shape::{self, Shape};

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
            with_num!(dtype, E => added_up::<E>(from, into, t), else unreachable!("the rule has let masks be added up"))
        }
        Linear::Reshape { into, .. } => t.with_shape(into),
        Linear::Cast { from: DType::F64, .. } => map(t, |x: f64| x as f32),
        Linear::Cast { .. } => map(t, |x: f32| f64::from(x)),
    }
}

/// `base + op(t)`, in place where `base` is nobody else's.
#[track_caller]
pub(super) fn accumulate_linear(mut base: Array, op: &Linear, t: &Array) -> Array {
    if let Linear::Affine { from, into } = op {
        let dtype = op.result(t.shape(), t.dtype());
        if base.shape() == into.source() && base.dtype() == dtype {
            let done = with_num!(dtype, E => match owned_elements::<E>(&mut base) {
                Some(sum) => {
                    add_through::<E>(from, into, t, sum);
                    true
                }
                None => false,
            }, else false);
            if done {
                return base;
            }
        }
    }
    accumulate(base, &linear(op, t))
}

/// The elements of `t` at their places among zeros; no two have one place.
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
    let mut out = vec![E::ZERO; size];
    walk(&nest, elements(&source), &mut out, |o, x| *o = x);
    Array::dense(Shape::from_slice(into.source()), out)
}

/// The elements of `t` added up at their places.
fn added_up<E: Num>(from: &View, into: &View, t: &Array) -> Array {
    if let Some(x) = t.splat::<E>() {
        if is_zero::<E>(t) {
            return Array::full(into.source(), x);
        }
        let nest = Nest::new([from, into], [true, false]);
        if let Some(count) = nest.and_then(|nest| hits(&nest, shape::size(into.source()))) {
            let count: E = num_traits::cast(count).unwrap_or(E::ZERO);
            return Array::full(into.source(), x.mul(count));
        }
    }
    let mut out = vec![E::ZERO; shape::size(into.source())];
    add_through(from, into, t, &mut out);
    Array::dense(Shape::from_slice(into.source()), out)
}

/// Adds the elements of `t` to `sum` at their places.
fn add_through<E: Num>(from: &View, into: &View, t: &Array, sum: &mut [E]) {
    if is_zero::<E>(t) {
        return;
    }
    let source = t.typed::<E>();
    let Some(nest) = Nest::new([from, into], [t.splat::<E>().is_some(), false]) else { return };
    let v = elements(&source);
    match nest.inner().strides {
        [1, 0] => nest.run(|[i, o], len| sum[o] = sum[o].plus(total(&v[i..i + len]))),
        [s, 0] => nest.run(|[i, o], len| sum[o] = sum[o].plus(total_strided(v, i, s, len))),
        [_, _] => walk(&nest, v, sum, |o, x| *o = o.plus(x)),
    }
}

/// The elements as a slice; one repeated value is a slice of one, looked at in strides of 0.
pub(super) fn elements<'a, E>(values: &'a Values<'a, E>) -> &'a [E] {
    match values {
        Values::Splat(x) => std::slice::from_ref(x),
        Values::Dense(v) => v,
    }
}

/// How often a nest writes to each of the `size` places of its second array, if equally often.
fn hits(nest: &Nest<2>, size: usize) -> Option<usize> {
    let mut count = 1;
    let mut covered = 1;
    for axis in nest.axes() {
        match axis.strides[1] {
            0 => count *= axis.len,
            1 if covered == 1 => covered = axis.len,
            _ => return None,
        }
    }
    (nest.is_box() && covered == size).then_some(count)
}

/// Puts each visited element of `source` where the nest says; the body is chosen by the strides of
/// the innermost loop.
fn walk<E: Elem>(nest: &Nest<2>, source: &[E], out: &mut [E], put: impl Fn(&mut E, E) + Copy) {
    match nest.inner().strides {
        [1, 1] => nest.run(|[i, o], len| {
            out[o..o + len].iter_mut().zip(&source[i..i + len]).for_each(|(o, x)| put(o, *x));
        }),
        [0, 1] => nest.run(|[i, o], len| {
            let x = source[i];
            out[o..o + len].iter_mut().for_each(|o| put(o, x));
        }),
        [-1, 1] => nest.run(|[i, o], len| {
            let run = &source[i + 1 - len..i + 1];
            out[o..o + len].iter_mut().zip(run.iter().rev()).for_each(|(o, x)| put(o, *x));
        }),
        [s, 1] if s > 0 => match other_way(nest) {
            Some(place) => exchange(nest, place, source, out, put),
            None => nest.run(|[i, o], len| {
                let run = source[i..].iter().step_by(s as usize);
                out[o..o + len].iter_mut().zip(run).for_each(|(o, x)| put(o, *x));
            }),
        },
        [_, _] => nest.points(|[i, o]| put(&mut out[o], source[i])),
    }
}

/// The loop along which the source is contiguous, where the innermost is not: together they
/// transpose a matrix.
fn other_way(nest: &Nest<2>) -> Option<usize> {
    if !nest.is_box() {
        return None;
    }
    nest.axes().iter().position(|axis| axis.strides[0] == 1)
}

/// The side of the square blocks in which matrices are transposed.
const BLOCK: usize = 16;

/// Walks a nest whose innermost loop is contiguous in `out` and whose loop at `place` is in `source`
/// by square blocks, so that the lines of cache on both sides are used whole.
fn exchange<E: Elem>(nest: &Nest<2>, place: usize, source: &[E], out: &mut [E], put: impl Fn(&mut E, E) + Copy) {
    let (across, along) = (nest.axes()[place], nest.inner());
    let (down, step) = (across.strides[1] as usize, along.strides[0] as usize);
    nest.without(&[place, nest.axes().len() - 1]).points(|[i, o]| {
        for j in (0..along.len).step_by(BLOCK) {
            let columns = BLOCK.min(along.len - j);
            for k in (0..across.len).step_by(BLOCK) {
                for k in k..(k + BLOCK).min(across.len) {
                    let start = o + k * down + j;
                    let run = source[i + k + j * step..].iter().step_by(step);
                    out[start..start + columns].iter_mut().zip(run).for_each(|(o, x)| put(o, *x));
                }
            }
        }
    });
}

/// The sum, in eight interleaved partial sums.
fn total<E: Num>(v: &[E]) -> E {
    let mut sums = [E::ZERO; 8];
    let chunks = v.chunks_exact(8);
    let rest = chunks.remainder().iter().fold(E::ZERO, |sum, x| sum.plus(*x));
    for chunk in chunks {
        (0..8).for_each(|k| sums[k] = sums[k].plus(chunk[k]));
    }
    folded(sums).plus(rest)
}

/// The sum of `len` elements from `start`, a stride apart.
fn total_strided<E: Num>(v: &[E], start: usize, stride: i64, len: usize) -> E {
    let at = |i: usize| v[(start as i64 + stride * i as i64) as usize];
    let mut sums = [E::ZERO; 8];
    let whole = len / 8 * 8;
    for i in (0..whole).step_by(8) {
        (0..8).for_each(|k| sums[k] = sums[k].plus(at(i + k)));
    }
    (whole..len).fold(folded(sums), |sum, i| sum.plus(at(i)))
}

/// The sum of eight partial sums, pairwise.
pub(super) fn folded<E: Num>(s: [E; 8]) -> E {
    let pair = |i: usize| s[i].plus(s[i + 4]);
    pair(0).plus(pair(2)).plus(pair(1).plus(pair(3)))
}
