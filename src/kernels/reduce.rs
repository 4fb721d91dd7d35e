//! Extrema along an axis, and their positions.
//!
//! An array is `outer` blocks of `len` rows of `inner` elements; line `k` of a block is made of element `k` of each
//! row. Law: the value is, to the bit, the element at the position: the first NaN of the line if there is one,
//! otherwise the first of the largest or smallest elements. Among equal numbers only zeros differ in their bits.

use crate::dtype::Num;

/// The number of lanes in which a contiguous line is reduced, so that the loop is vectorised.
const LANES: usize = 16;

/// The number of lines whose positions are found together.
const LINES: usize = 64;

/// The extremum of each line, which has at least one element: `beats(x, y)` says whether `x` is better than `y`.
pub(crate) fn extrema<E: Num>(v: &[E], len: usize, inner: usize, out: &mut [E], beats: impl Fn(E, E) -> bool + Copy) {
    if inner == 1 {
        return out.iter_mut().zip(v.chunks_exact(len)).for_each(|(o, line)| *o = extremum(line, beats));
    }
    for (best, block) in out.chunks_exact_mut(inner.max(1)).zip(v.chunks_exact((len * inner).max(1))) {
        best.copy_from_slice(&block[..inner]);
        for row in block.chunks_exact(inner).skip(1) {
            for (best, x) in best.iter_mut().zip(row) {
                *best = if replaces(*x, *best, beats) { *x } else { *best };
            }
        }
    }
}

/// The position of the extremum in each line, which has at least one element.
pub(crate) fn positions<E: Num>(
    v: &[E],
    len: usize,
    inner: usize,
    out: &mut [i64],
    beats: impl Fn(E, E) -> bool + Copy,
) {
    if inner == 1 {
        let place = |line: &[E]| {
            let best = extremum(line, beats);
            line.iter().position(|x| same(*x, best)).unwrap_or_default() as i64
        };
        return out.iter_mut().zip(v.chunks_exact(len)).for_each(|(o, line)| *o = place(line));
    }
    let mut lines = [E::ZERO; LINES];
    for (positions, block) in out.chunks_exact_mut(inner.max(1)).zip(v.chunks_exact((len * inner).max(1))) {
        for (part, positions) in positions.chunks_mut(LINES).enumerate() {
            let columns = part * LINES..part * LINES + positions.len();
            let best = &mut lines[..positions.len()];
            best.copy_from_slice(&block[columns.clone()]);
            positions.fill(0);
            for (i, row) in block.chunks_exact(inner).enumerate().skip(1) {
                for ((x, best), position) in row[columns.clone()].iter().zip(&mut *best).zip(&mut *positions) {
                    if replaces(*x, *best, beats) {
                        *best = *x;
                        *position = i as i64;
                    }
                }
            }
        }
    }
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
