//! Kernels over many short rows in one call, since a call for each would take longer than the row.
//!
//! Law: as in `reductions.rs`, the number of partial sums is fixed, so results do not depend on the instruction set.
#![allow(
    clippy::needless_range_loop,
    clippy::manual_memcpy,
    reason = "indices are inlined with certainty, iterators are not"
)]

use std::hint::select_unpredictable;

use super::reductions::total;
use crate::dtype::{Elem, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The number of elements that are copied or added together.
const WIDE: usize = 8;

/// The same of long rows.
const LONG: usize = 32;

/// [`spread`] for rows of constant length.
#[inline(always)]
fn spread_rows<E: Elem, const N: usize>(x: &[E], stride: usize, out: &mut [E]) {
    let (rows, _) = out.as_chunks_mut::<N>();
    if stride == 1 {
        let x = &x[..rows.len()];
        for r in 0..rows.len() {
            rows[r] = [x[r]; N];
        }
    } else {
        for r in 0..rows.len() {
            rows[r] = [x[r * stride]; N];
        }
    }
}

/// [`copy`] for rows of constant length.
#[inline(always)]
fn copy_rows<E: Elem, const N: usize>(x: &[E], stride: usize, out: &mut [E]) {
    let (rows, _) = out.as_chunks_mut::<N>();
    for r in 0..rows.len() {
        let x = &x[r * stride..][..N];
        for k in 0..N {
            rows[r][k] = x[k];
        }
    }
}

struct Spread<'a, E> {
    x: &'a [E],
    stride: usize,
    n: usize,
    out: &'a mut [E],
}

impl<E: Elem> Kernel for Spread<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Spread { x, stride, n, out } = self;
        if !M::LEAN {
            match n {
                1 => return spread_rows::<E, 1>(x, stride, out),
                2 => return spread_rows::<E, 2>(x, stride, out),
                3 => return spread_rows::<E, 3>(x, stride, out),
                4 => return spread_rows::<E, 4>(x, stride, out),
                5 => return spread_rows::<E, 5>(x, stride, out),
                6 => return spread_rows::<E, 6>(x, stride, out),
                7 => return spread_rows::<E, 7>(x, stride, out),
                _ => {}
            }
        }
        for r in 0..out.len() / n {
            let (x, out) = (x[r * stride], &mut out[r * n..][..n]);
            if M::LEAN {
                out.fill(x);
                continue;
            }
            let (chunks, tail) = out.as_chunks_mut::<WIDE>();
            for k in 0..chunks.len() {
                chunks[k] = [x; WIDE];
            }
            if let (false, Some(last)) = (tail.is_empty(), out.last_chunk_mut::<WIDE>()) {
                *last = [x; WIDE];
            }
        }
    }
}

/// Fills row `r` of the output, of `n` elements, with the number `x[r * stride]`.
pub(crate) fn spread<E: Elem>(isa: Isa, x: &[E], stride: usize, n: usize, out: &mut [E]) {
    dispatch(isa, Spread { x: E::moved(x), stride, n, out: E::moved_mut(out) });
}

struct Copy<'a, E> {
    x: &'a [E],
    stride: usize,
    n: usize,
    out: &'a mut [E],
}

impl<E: Elem> Kernel for Copy<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Copy { x, stride, n, out } = self;
        if !M::LEAN {
            match n {
                1 => return copy_rows::<E, 1>(x, stride, out),
                2 => return copy_rows::<E, 2>(x, stride, out),
                3 => return copy_rows::<E, 3>(x, stride, out),
                4 => return copy_rows::<E, 4>(x, stride, out),
                5 => return copy_rows::<E, 5>(x, stride, out),
                6 => return copy_rows::<E, 6>(x, stride, out),
                7 => return copy_rows::<E, 7>(x, stride, out),
                _ => {}
            }
        }
        for r in 0..out.len() / n {
            let (x, out) = (&x[r * stride..][..n], &mut out[r * n..][..n]);
            if M::LEAN {
                for k in 0..n {
                    out[k] = x[k];
                }
                continue;
            }
            let (to, rest) = out.as_chunks_mut::<WIDE>();
            let (from, _) = x.as_chunks::<WIDE>();
            for k in 0..to.len() {
                to[k] = from[k];
            }
            // The remainder is moved together with elements that are moved already.
            if let (false, Some(to), Some(from)) =
                (rest.is_empty(), out.last_chunk_mut::<WIDE>(), x.last_chunk::<WIDE>())
            {
                *to = *from;
            }
        }
    }
}

/// Copies rows of `n` elements: row `r` from `x[r * stride]` on.
pub(crate) fn copy<E: Elem>(isa: Isa, x: &[E], stride: usize, n: usize, out: &mut [E]) {
    dispatch(isa, Copy { x: E::moved(x), stride, n, out: E::moved_mut(out) });
}

struct Reverse<'a, E> {
    x: &'a [E],
    out: &'a mut [E],
}

impl<E: Elem> Kernel for Reverse<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Reverse { x, out } = self;
        let n = out.len();
        let x = &x[..n];
        for i in 0..n {
            out[i] = x[n - 1 - i];
        }
    }
}

/// Copies elements in reverse order.
pub(crate) fn reverse<E: Elem>(isa: Isa, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Reverse { x: E::moved(x), out: E::moved_mut(out) });
}

struct SumEach<'a, E> {
    x: &'a [E],
    n: usize,
    stride: usize,
    out: &'a mut [E],
}

impl<E: Num> Kernel for SumEach<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let SumEach { x, n, stride, out } = self;
        if n >= WIDE {
            for r in 0..x.len() / n {
                let row = &x[r * n..][..n];
                let sum = if n < 2 * LONG { sum_of_lanes::<E, WIDE>(row) } else { sum_of_lanes::<E, LONG>(row) };
                out[r * stride] = out[r * stride].plus(sum);
            }
            return;
        }
        // The lanes are rows, so that the additions of a row, which wait for each other, leave no unit idle.
        let (rows, mut r) = (x.len() / n, 0);
        while r + WIDE <= rows {
            let sums = sums_of_rows::<E, WIDE>(&x[r * n..][..WIDE * n], n);
            for i in 0..WIDE {
                out[(r + i) * stride] = out[(r + i) * stride].plus(sums[i]);
            }
            r += WIDE;
        }
        while r < rows {
            let [sum] = sums_of_rows::<E, 1>(&x[r * n..][..n], n);
            out[r * stride] = out[r * stride].plus(sum);
            r += 1;
        }
    }
}

/// The sums of `R` rows of `n` elements, each from the first element to the last.
#[inline(always)]
fn sums_of_rows<E: Num, const R: usize>(x: &[E], n: usize) -> [E; R] {
    let mut sums = [E::ZERO; R];
    for k in 0..n {
        for i in 0..R {
            sums[i] = sums[i].plus(x[i * n + k]);
        }
    }
    sums
}

/// The sum of at least `W` elements in lanes. The last lanes add up the remainder: a read of the last `W` elements,
/// where those that were added before count as zeros, which change no sum that starts from zero.
#[inline(always)]
fn sum_of_lanes<E: Num, const W: usize>(x: &[E]) -> E {
    let mut lanes = [E::ZERO; W];
    let (chunks, tail) = x.as_chunks::<W>();
    for k in 0..chunks.len() {
        for i in 0..W {
            lanes[i] = lanes[i].plus(chunks[k][i]);
        }
    }
    if !tail.is_empty() {
        let (last, done) = (&x[x.len() - W..], W - tail.len());
        for i in 0..W {
            lanes[i] = lanes[i].plus(select_unpredictable(i < done, E::ZERO, last[i]));
        }
    }
    total(lanes)
}

/// Adds the sum of row `r` of `x`, of `n` elements, to `out[r * stride]`.
pub(crate) fn sum_each<E: Num>(isa: Isa, x: &[E], n: usize, stride: usize, out: &mut [E]) {
    dispatch(isa, SumEach { x, n, stride, out });
}

struct SumAll<'a, E> {
    x: &'a [E],
    out: &'a mut [E],
}

impl<E: Num> Kernel for SumAll<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let SumAll { x, out } = self;
        let n = out.len();
        if n < WIDE {
            return sum_narrow(x, out);
        }
        // Columns stay in registers while the rows go by.
        let mut column = 0;
        while column + LONG <= n {
            let sums = sum_columns::<E, LONG>(&x[column..], n, &out[column..][..LONG]);
            out[column..][..LONG].copy_from_slice(&sums);
            column += LONG;
        }
        while column + WIDE <= n {
            let sums = sum_columns::<E, WIDE>(&x[column..], n, &out[column..][..WIDE]);
            out[column..][..WIDE].copy_from_slice(&sums);
            column += WIDE;
        }
        if column < n {
            // The last columns; those that are done are added up once more and dropped.
            let sums = sum_columns::<E, WIDE>(&x[n - WIDE..], n, &out[n - WIDE..]);
            out[column..].copy_from_slice(&sums[WIDE - (n - column)..]);
        }
    }
}

/// The sums of `W` columns of rows of `n` elements, added to a start.
#[inline(always)]
fn sum_columns<E: Num, const W: usize>(x: &[E], n: usize, start: &[E]) -> [E; W] {
    let mut sums = [E::ZERO; W];
    sums.copy_from_slice(start);
    let mut at = 0;
    while at + W <= x.len() {
        let x = &x[at..][..W];
        for i in 0..W {
            sums[i] = sums[i].plus(x[i]);
        }
        at += n;
    }
    sums
}

/// Adds rows of fewer than [`WIDE`] elements to the output: as many rows as fit are one row of lanes.
#[inline(always)]
fn sum_narrow<E: Num>(x: &[E], out: &mut [E]) {
    let n = out.len();
    let mut rows = rows_in_lanes(n);
    let lanes = n * rows;
    let mut sums = [E::ZERO; WIDE * WIDE];
    let (whole, rest) = x.split_at(x.len() - x.len() % lanes);
    let mut at = 0;
    while at < whole.len() {
        let (x, sums) = (&whole[at..][..lanes], &mut sums[..lanes]);
        for i in 0..lanes {
            sums[i] = sums[i].plus(x[i]);
        }
        at += lanes;
    }
    for i in 0..rest.len() {
        sums[i] = sums[i].plus(rest[i]);
    }
    while rows > 1 {
        rows /= 2;
        for i in 0..rows * n {
            sums[i] = sums[i].plus(sums[i + rows * n]);
        }
    }
    for i in 0..n {
        out[i] = out[i].plus(sums[i]);
    }
}

/// The largest power of two of rows of `n` elements, fewer than [`WIDE`], that `WIDE * WIDE` lanes have room for.
#[inline(always)]
pub(crate) fn rows_in_lanes(n: usize) -> usize {
    let mut rows = WIDE;
    while 2 * rows * n <= WIDE * WIDE {
        rows *= 2;
    }
    rows
}

/// Adds all rows, of the length of the output, to the output.
pub(crate) fn sum_all<E: Num>(isa: Isa, x: &[E], out: &mut [E]) {
    dispatch(isa, SumAll { x, out });
}
