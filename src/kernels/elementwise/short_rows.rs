//! Kernels over many short rows in one call, since a call for each would take longer than the row.
//!
//! Law: as in `reductions.rs`, a sum has a fixed number of partial sums, so results do not depend on the instruction set.
#![allow(
    clippy::needless_range_loop,
    clippy::manual_memcpy,
    reason = "indices are inlined with certainty, iterators are not"
)]

use super::reductions::sum_in;
use crate::dtype::{Elem, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The number of elements that are moved or added together.
const WIDE: usize = 8;

/// Rows of a length that the compiler knows.
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

/// Rows of a length that the compiler knows.
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
        match n {
            2 => return spread_rows::<E, 2>(x, stride, out),
            3 => return spread_rows::<E, 3>(x, stride, out),
            4 => return spread_rows::<E, 4>(x, stride, out),
            _ => {}
        }
        for r in 0..out.len() / n {
            let (x, out) = (x[r * stride], &mut out[r * n..][..n]);
            let (chunks, tail) = out.as_chunks_mut::<WIDE>();
            for k in 0..chunks.len() {
                chunks[k] = [x; WIDE];
            }
            for i in 0..tail.len() {
                tail[i] = x;
            }
        }
    }
}

/// Fills each row of `n` elements of the output with one number, `stride` after that of the row before.
pub(crate) fn spread<E: Elem>(isa: Isa, x: &[E], stride: usize, n: usize, out: &mut [E]) {
    dispatch(isa, Spread { x, stride, n, out });
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
        match n {
            2 => return copy_rows::<E, 2>(x, stride, out),
            3 => return copy_rows::<E, 3>(x, stride, out),
            4 => return copy_rows::<E, 4>(x, stride, out),
            _ => {}
        }
        for r in 0..out.len() / n {
            let (x, out) = (&x[r * stride..][..n], &mut out[r * n..][..n]);
            let (to, rest) = out.as_chunks_mut::<WIDE>();
            let (from, tail) = x.as_chunks::<WIDE>();
            for k in 0..to.len() {
                to[k] = from[k];
            }
            for i in 0..rest.len() {
                rest[i] = tail[i];
            }
        }
    }
}

/// Copies rows of `n` elements, each `stride` after the row before.
pub(crate) fn copy<E: Elem>(isa: Isa, x: &[E], stride: usize, n: usize, out: &mut [E]) {
    dispatch(isa, Copy { x, stride, n, out });
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

/// Copies elements from the last to the first.
pub(crate) fn reverse<E: Elem>(isa: Isa, x: &[E], out: &mut [E]) {
    assert_eq!(x.len(), out.len(), "the operand has the length of the output");
    dispatch(isa, Reverse { x, out });
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
        for r in 0..x.len() / n {
            let sum = sum_in::<E, WIDE>(&x[r * n..][..n]);
            out[r * stride] = out[r * stride].plus(sum);
        }
    }
}

/// Adds the sum of each row of `n` elements to a number, `stride` after that of the row before.
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
        let rows = x.len() / n;
        let mut column = 0;
        // Columns stay in registers while the rows go by.
        while column + WIDE <= n {
            let mut sums = [E::ZERO; WIDE];
            for i in 0..WIDE {
                sums[i] = out[column + i];
            }
            for r in 0..rows {
                let x = &x[r * n + column..][..WIDE];
                for i in 0..WIDE {
                    sums[i] = sums[i].plus(x[i]);
                }
            }
            out[column..][..WIDE].copy_from_slice(&sums);
            column += WIDE;
        }
        while column < n {
            let mut sum = out[column];
            for r in 0..rows {
                sum = sum.plus(x[r * n + column]);
            }
            out[column] = sum;
            column += 1;
        }
    }
}

/// Adds all rows, of the length of the output, to the output.
pub(crate) fn sum_all<E: Num>(isa: Isa, x: &[E], out: &mut [E]) {
    dispatch(isa, SumAll { x, out });
}
