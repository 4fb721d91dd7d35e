//! Extrema along an axis and their positions, for each instruction set, by the kernel that suits the shape.
//!
//! An array is `outer` blocks of `len` rows of `inner` elements; line `k` of a block is made of element `k` of each
//! row. Law: the value is, to the bit, the element at the position: the first NaN of the line if there is one,
//! otherwise the first of the largest or smallest elements. Among equal numbers only zeros differ in their bits, and
//! among NaN their payloads; a kernel whose lanes do not keep the order of a line searches the line for these.
//!
//! | shape | kernel |
//! |---|---|
//! | contiguous lines of fewer than [`WIDE`] elements | a lane for each of [`WIDE`] lines |
//! | other contiguous lines | lanes along the line; the last lanes read elements again, which changes no extremum |
//! | rows of fewer than [`WIDE`] elements | several rows are one row of lanes |
//! | other rows | a lane for each column, in registers or, of long rows, in the output |
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use super::elementwise::rows_in_lanes;
use super::isa::{Isa, Kernel, Machine, dispatch};
use crate::cost::MACHINE;
use crate::dtype::{Elem, Num};
use crate::ops::Reduce;

/// The number of lanes; a multiple for long lines.
const WIDE: usize = 8;

/// The lanes of long lines, and of positions.
const LONG: usize = 32;

/// The columns of long rows that are reduced together.
const COLUMNS: usize = MACHINE.extremum_columns;

/// The columns whose positions are found together.
const LINES: usize = 64;

/// An extremum: the largest element, or the smallest.
trait Side {
    /// Whether an earlier element is not beaten by a later one, neither being NaN.
    fn holds<E: Elem>(best: E, x: E) -> bool;
}

struct Largest;

impl Side for Largest {
    #[inline(always)]
    fn holds<E: Elem>(best: E, x: E) -> bool {
        x <= best
    }
}

struct Smallest;

impl Side for Smallest {
    #[inline(always)]
    fn holds<E: Elem>(best: E, x: E) -> bool {
        x >= best
    }
}

#[inline(always)]
#[allow(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<E: Elem>(x: E) -> bool {
    x != x
}

#[inline(always)]
fn same<E: Elem>(x: E, y: E) -> bool {
    (x == y) | (is_nan(x) & is_nan(y))
}

/// Whether the extremum so far stays when a later element comes: NaN beats every number. The comparison is false for a
/// later NaN.
#[inline(always)]
fn stays<E: Elem, S: Side>(best: E, x: E) -> bool {
    S::holds(best, x) | is_nan(best)
}

#[inline(always)]
fn better<E: Elem, S: Side>(best: E, x: E) -> E {
    // A branch would become a conditional store, which vectors do slowly.
    select_unpredictable(stays::<E, S>(best, x), best, x)
}

/// Whether elements that are the same may differ in their bits.
#[inline(always)]
fn has_several_bits<E: Elem>(x: E) -> bool {
    E::DTYPE.is_float() && ((x == E::ZERO) | is_nan(x))
}

/// The extremum of lanes, folded in halves.
#[inline(always)]
fn folded<E: Elem, S: Side>(lanes: &mut [E]) -> E {
    let mut n = lanes.len();
    while n > 1 {
        n /= 2;
        for i in 0..n {
            lanes[i] = better::<E, S>(lanes[i], lanes[i + n]);
        }
    }
    lanes[0]
}

/// The extremum of at least `W` contiguous elements, up to the bits of zeros and NaN.
#[inline(always)]
fn line_in_lanes<E: Elem, S: Side, const W: usize>(x: &[E]) -> E {
    let mut best = [x[0]; W];
    let (chunks, tail) = x.as_chunks::<W>();
    for k in 0..chunks.len() {
        for i in 0..W {
            best[i] = better::<E, S>(best[i], chunks[k][i]);
        }
    }
    if !tail.is_empty() {
        let last = &x[x.len() - W..];
        for i in 0..W {
            best[i] = better::<E, S>(best[i], last[i]);
        }
    }
    folded::<E, S>(&mut best)
}

/// The extremum of at least [`WIDE`] contiguous elements.
#[inline(always)]
fn of_line<M: Machine, E: Elem, S: Side>(x: &[E]) -> E {
    let best =
        if M::LEAN || x.len() < 2 * LONG { line_in_lanes::<E, S, WIDE>(x) } else { line_in_lanes::<E, S, LONG>(x) };
    if has_several_bits(best) { x.iter().copied().find(|x| same(*x, best)).unwrap_or(best) } else { best }
}

/// The extrema of `R` contiguous lines of `n` elements, and their positions, if these are wanted.
#[inline(always)]
fn of_lines<E: Elem, S: Side, const R: usize>(x: &[E], n: usize, positions: Option<&mut [i64; R]>) -> [E; R] {
    let mut best = [x[0]; R];
    for i in 0..R {
        best[i] = x[i * n];
    }
    if let Some(positions) = positions {
        *positions = [0; R];
        for k in 1..n {
            for i in 0..R {
                let stays = stays::<E, S>(best[i], x[i * n + k]);
                best[i] = select_unpredictable(stays, best[i], x[i * n + k]);
                positions[i] = select_unpredictable(stays, positions[i], k as i64);
            }
        }
    } else {
        for k in 1..n {
            for i in 0..R {
                best[i] = better::<E, S>(best[i], x[i * n + k]);
            }
        }
    }
    best
}

/// The first position of an element that is in the line.
#[inline(always)]
fn first_position<E: Elem>(x: &[E], best: E) -> i64 {
    let mut at = 0;
    // Chunk by chunk, so that a long line is not searched to its end.
    while at < x.len() {
        let chunk = &x[at..(at + 4 * LONG).min(x.len())];
        let mut first = [i64::MAX; WIDE];
        let (parts, tail) = chunk.as_chunks::<WIDE>();
        for k in 0..parts.len() {
            for i in 0..WIDE {
                let here = select_unpredictable(same(parts[k][i], best), (k * WIDE + i) as i64, i64::MAX);
                first[i] = first[i].min(here);
            }
        }
        for i in 0..tail.len() {
            let here = select_unpredictable(same(tail[i], best), (parts.len() * WIDE + i) as i64, i64::MAX);
            first[i] = first[i].min(here);
        }
        let mut least = first[0];
        for i in 1..WIDE {
            least = least.min(first[i]);
        }
        if least < i64::MAX {
            return at as i64 + least;
        }
        at += chunk.len();
    }
    0
}

/// The extrema of the columns of a block whose rows have fewer than [`WIDE`] elements.
#[inline(always)]
fn narrow_columns<E: Elem, S: Side>(block: &[E], out: &mut [E]) {
    let n = out.len();
    let mut rows = rows_in_lanes(n);
    let lanes = n * rows;
    if block.len() < 2 * lanes {
        out.copy_from_slice(&block[..n]);
        let mut at = n;
        while at < block.len() {
            let row = &block[at..][..n];
            for i in 0..n {
                out[i] = better::<E, S>(out[i], row[i]);
            }
            at += n;
        }
        return;
    }
    let mut best = [block[0]; WIDE * WIDE];
    best[..lanes].copy_from_slice(&block[..lanes]);
    let (whole, rest) = block.split_at(block.len() - block.len() % lanes);
    let mut at = lanes;
    while at < whole.len() {
        let (x, best) = (&whole[at..][..lanes], &mut best[..lanes]);
        for i in 0..lanes {
            best[i] = better::<E, S>(best[i], x[i]);
        }
        at += lanes;
    }
    for i in 0..rest.len() {
        best[i] = better::<E, S>(best[i], rest[i]);
    }
    while rows > 1 {
        rows /= 2;
        for i in 0..rows * n {
            best[i] = better::<E, S>(best[i], best[i + rows * n]);
        }
    }
    for i in 0..n {
        let found = best[i];
        out[i] = if has_several_bits(found) {
            block.iter().skip(i).step_by(n).copied().find(|x| same(*x, found)).unwrap_or(found)
        } else {
            found
        };
    }
}

/// The extrema of `W` columns of rows of `n` elements; the slice starts with the first of these columns.
#[inline(always)]
fn of_columns<E: Elem, S: Side, const W: usize>(x: &[E], n: usize, out: &mut [E]) {
    let mut best = [x[0]; W];
    best.copy_from_slice(&x[..W]);
    let mut at = n;
    while at + W <= x.len() {
        let x = &x[at..][..W];
        for i in 0..W {
            best[i] = better::<E, S>(best[i], x[i]);
        }
        at += n;
    }
    out.copy_from_slice(&best);
}

/// The extrema of the columns of a block whose rows have at least [`WIDE`] elements.
#[inline(always)]
fn wide_columns<M: Machine, E: Elem, S: Side>(block: &[E], out: &mut [E]) {
    let n = out.len();
    let mut column = 0;
    while !M::LEAN && n >= COLUMNS && column < n {
        let width = COLUMNS.min(n - column);
        let best = &mut out[column..][..width];
        best.copy_from_slice(&block[column..][..width]);
        let mut at = n + column;
        while at < block.len() {
            let x = &block[at..][..width];
            for i in 0..width {
                best[i] = better::<E, S>(best[i], x[i]);
            }
            at += n;
        }
        column += width;
    }
    while !M::LEAN && column + LONG <= n {
        of_columns::<E, S, LONG>(&block[column..], n, &mut out[column..][..LONG]);
        column += LONG;
    }
    // The last columns may be reduced twice, with the same result.
    while column < n {
        let start = column.min(n - WIDE);
        of_columns::<E, S, WIDE>(&block[start..], n, &mut out[start..][..WIDE]);
        column = start + WIDE;
    }
}

struct Extrema<'a, E, S> {
    side: PhantomData<S>,
    x: &'a [E],
    len: usize,
    inner: usize,
    out: &'a mut [E],
}

impl<E: Elem, S: Side> Kernel for Extrema<'_, E, S> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Extrema { side: _, x, len, inner, out } = self;
        if inner > 1 {
            for k in 0..out.len() / inner {
                let (block, out) = (&x[k * len * inner..][..len * inner], &mut out[k * inner..][..inner]);
                if inner < WIDE { narrow_columns::<E, S>(block, out) } else { wide_columns::<M, E, S>(block, out) }
            }
            return;
        }
        let mut line = 0;
        if len >= WIDE {
            while line < out.len() {
                out[line] = of_line::<M, E, S>(&x[line * len..][..len]);
                line += 1;
            }
        }
        while line + WIDE <= out.len() {
            let found = of_lines::<E, S, WIDE>(&x[line * len..][..WIDE * len], len, None);
            out[line..][..WIDE].copy_from_slice(&found);
            line += WIDE;
        }
        while line < out.len() {
            [out[line]] = of_lines::<E, S, 1>(&x[line * len..][..len], len, None);
            line += 1;
        }
    }
}

/// The extremum of each line, which has at least one element.
pub(crate) fn extrema<E: Num>(isa: Isa, op: Reduce, x: &[E], (len, inner): (usize, usize), out: &mut [E]) {
    match op {
        Reduce::Max { .. } => dispatch(isa, Extrema { side: PhantomData::<Largest>, x, len, inner, out }),
        Reduce::Min { .. } => dispatch(isa, Extrema { side: PhantomData::<Smallest>, x, len, inner, out }),
    }
}

struct Positions<'a, E, S> {
    side: PhantomData<S>,
    x: &'a [E],
    len: usize,
    inner: usize,
    out: &'a mut [i64],
}

impl<E: Elem, S: Side> Kernel for Positions<'_, E, S> {
    const WIDE: bool = true;
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Positions { side: _, x, len, inner, out } = self;
        if inner > 1 {
            for k in 0..out.len() / inner {
                let (block, out) = (&x[k * len * inner..][..len * inner], &mut out[k * inner..][..inner]);
                let mut column = 0;
                while column < inner {
                    let width = LINES.min(inner - column);
                    column_positions::<E, S>(&block[column..], inner, &mut out[column..][..width]);
                    column += width;
                }
            }
            return;
        }
        let mut line = 0;
        if len >= 2 * WIDE {
            while line < out.len() {
                let x = &x[line * len..][..len];
                out[line] = first_position(x, of_line::<M, E, S>(x));
                line += 1;
            }
        }
        let mut positions = [0; WIDE];
        while line + WIDE <= out.len() {
            of_lines::<E, S, WIDE>(&x[line * len..][..WIDE * len], len, Some(&mut positions));
            out[line..][..WIDE].copy_from_slice(&positions);
            line += WIDE;
        }
        while line < out.len() {
            let mut position = [0];
            of_lines::<E, S, 1>(&x[line * len..][..len], len, Some(&mut position));
            [out[line]] = position;
            line += 1;
        }
    }
}

/// The positions of the extrema of at most [`LINES`] columns of rows of `n` elements.
#[inline(always)]
fn column_positions<E: Elem, S: Side>(x: &[E], n: usize, out: &mut [i64]) {
    let width = out.len();
    let mut lanes = [x[0]; LINES];
    let best = &mut lanes[..width];
    best.copy_from_slice(&x[..width]);
    out.fill(0);
    let (mut row, mut at) = (1, n);
    while at + width <= x.len() {
        let x = &x[at..][..width];
        for i in 0..width {
            let stays = stays::<E, S>(best[i], x[i]);
            best[i] = select_unpredictable(stays, best[i], x[i]);
            out[i] = select_unpredictable(stays, out[i], row);
        }
        (row, at) = (row + 1, at + n);
    }
}

/// The position of the extremum in each line, which has at least one element.
pub(crate) fn positions<E: Num>(isa: Isa, op: Reduce, x: &[E], (len, inner): (usize, usize), out: &mut [i64]) {
    match op {
        Reduce::Max { .. } => dispatch(isa, Positions { side: PhantomData::<Largest>, x, len, inner, out }),
        Reduce::Min { .. } => dispatch(isa, Positions { side: PhantomData::<Smallest>, x, len, inner, out }),
    }
}

#[cfg(test)]
mod tests;
