//! Extrema along an axis: their values and their positions.
//!
//! Law: the value is, to the bit, the element at the position: the first NaN of the line if there is one, otherwise the first
//! of the largest or smallest elements. Among equal numbers only zeros differ in their bits.

use super::elementwise::kind;
use super::with_num;
use crate::array::{Array, Values};
use crate::dtype::Num;
use crate::ops::Reduce;
use crate::shape::{self, Shape};

/// The number of lanes in which a contiguous line is reduced, so that the loop is vectorised.
const LANES: usize = 16;

/// The extremum of each line.
#[track_caller]
pub(super) fn reduce(op: Reduce, x: &Array) -> Array {
    let (shape, dtype) = op.result(kind(x));
    let axis = op.axis();
    with_num!(dtype, E => match op {
        Reduce::Max { .. } => extrema::<E>(x, axis, shape, |x, y| x > y),
        Reduce::Min { .. } => extrema::<E>(x, axis, shape, |x, y| x < y),
    }, else unreachable!("the rule of {op} has let a mask pass"))
}

/// The position of the extremum in each line.
pub(super) fn positions<E: Num>(x: &Array, axis: usize, beats: impl Fn(E, E) -> bool + Copy) -> Array {
    let mut out = Shape::from_slice(x.shape());
    out.remove(axis);
    let Values::Dense(v) = x.typed::<E>() else { return Array::full(&out, 0i64) };
    let (len, inner) = (x.shape()[axis], shape::size(&x.shape()[axis + 1..]));
    if inner == 1 {
        let place = |line: &[E]| {
            let best = extremum(line, beats);
            line.iter().position(|x| same(*x, best)).unwrap_or_default() as i64
        };
        return Array::dense(out, v.chunks_exact(len).map(place).collect());
    }
    let mut positions = Vec::with_capacity(shape::size(&out));
    let mut best: Vec<E> = Vec::new();
    for block in v.chunks_exact((len * inner).max(1)) {
        let start = positions.len();
        best.clear();
        best.extend_from_slice(&block[..inner]);
        positions.resize(start + inner, 0);
        for (i, row) in block.chunks_exact(inner).enumerate().skip(1) {
            for ((x, best), position) in row.iter().zip(&mut best).zip(&mut positions[start..]) {
                if replaces(*x, *best, beats) {
                    *best = *x;
                    *position = i as i64;
                }
            }
        }
    }
    Array::dense(out, positions)
}

fn extrema<E: Num>(x: &Array, axis: usize, out: Shape, beats: impl Fn(E, E) -> bool + Copy) -> Array {
    let v = match x.typed::<E>() {
        Values::Splat(x) => return Array::full(&out, x),
        Values::Dense(v) => v,
    };
    let (len, inner) = (x.shape()[axis], shape::size(&x.shape()[axis + 1..]));
    if inner == 1 {
        return Array::dense(out, v.chunks_exact(len).map(|line| extremum(line, beats)).collect());
    }
    let mut extrema: Vec<E> = Vec::with_capacity(shape::size(&out));
    for block in v.chunks_exact((len * inner).max(1)) {
        let start = extrema.len();
        extrema.extend_from_slice(&block[..inner]);
        for row in block.chunks_exact(inner).skip(1) {
            for (best, x) in extrema[start..].iter_mut().zip(row) {
                *best = if replaces(*x, *best, beats) { *x } else { *best };
            }
        }
    }
    Array::dense(out, extrema)
}

/// The extremum of a contiguous line with at least one element.
fn extremum<E: Num>(line: &[E], beats: impl Fn(E, E) -> bool + Copy) -> E {
    let fold = |best: E, x: &E| if replaces(*x, best, beats) { *x } else { best };
    let Some((first, rest)) = line.split_first_chunk::<LANES>() else {
        return line[1..].iter().fold(line[0], fold);
    };
    let mut lanes = *first;
    let chunks = rest.chunks_exact(LANES);
    let tail = chunks.remainder();
    for chunk in chunks {
        for (best, x) in lanes.iter_mut().zip(chunk) {
            *best = fold(*best, x);
        }
    }
    let best = lanes[1..].iter().chain(tail).fold(lanes[0], fold);
    // The lanes do not tell which of two zeros, or of two NaN, came first.
    if best == E::ZERO || is_nan(best) {
        return line.iter().copied().find(|x| same(*x, best)).unwrap_or(best);
    }
    best
}

/// Whether `x`, which comes later, replaces the extremum so far: NaN beats every number.
#[inline]
fn replaces<E: Num>(x: E, best: E, beats: impl Fn(E, E) -> bool) -> bool {
    beats(x, best) | (is_nan(x) & !is_nan(best))
}

#[inline]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<E: Num>(x: E) -> bool {
    x != x
}

#[inline]
fn same<E: Num>(x: E, y: E) -> bool {
    x == y || (is_nan(x) && is_nan(y))
}
