//! Copies and accumulation of strided elements: for pooling windows, slices with a step, and their adjoints.
//!
//! Law: as in `short_rows.rs`, results do not depend on the instruction set; the elements between strided ones are
//! unchanged.
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

use crate::dtype::{Elem, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// Copies a row of elements with stride `S` in `x`.
#[inline(always)]
fn copy_row<E: Elem, const S: usize>(x: &[E], out: &mut [E]) {
    let last = out.len() - 1;
    // `x` ends at the last element, which is not a whole chunk.
    out[last] = x[last * S];
    let (x, _) = x[..last * S].as_chunks::<S>();
    let out = &mut out[..x.len()];
    for i in 0..x.len() {
        out[i] = x[i][0];
    }
}

/// Puts a row of elements with stride `S` in `out`. Whole chunks are read and written, with the elements in between
/// unchanged, so that the loop is vectorised.
#[inline(always)]
fn put_row<E: Elem, const S: usize>(x: &[E], out: &mut [E], put: impl Fn(E, E) -> E) {
    let last = x.len() - 1;
    out[last * S] = put(out[last * S], x[last]);
    let (out, _) = out[..last * S].as_chunks_mut::<S>();
    let x = &x[..out.len()];
    for i in 0..x.len() {
        let mut chunk = out[i];
        chunk[0] = put(chunk[0], x[i]);
        out[i] = chunk;
    }
}

/// Rows of `N` elements whose columns are contiguous in `x`, `step` apart.
#[inline(always)]
fn interleave<E: Elem, const N: usize>(x: &[E], step: usize, out: &mut [E]) {
    let (rows, _) = out.as_chunks_mut::<N>();
    let mut columns = [x; N];
    for k in 0..N {
        columns[k] = &x[k * step..][..rows.len()];
    }
    for r in 0..rows.len() {
        for k in 0..N {
            rows[r][k] = columns[k][r];
        }
    }
}

/// Rows of `N` elements whose columns are contiguous in `out`, `step` apart.
#[inline(always)]
fn separate<E: Elem, const N: usize>(x: &[E], step: usize, out: &mut [E], put: impl Fn(E, E) -> E) {
    let (rows, _) = x.as_chunks::<N>();
    for k in 0..N {
        let column = &mut out[k * step..][..rows.len()];
        for r in 0..rows.len() {
            column[r] = put(column[r], rows[r][k]);
        }
    }
}

struct Copy<'a, E> {
    x: &'a [E],
    strides: (usize, usize),
    n: usize,
    out: &'a mut [E],
}

impl<E: Elem> Kernel for Copy<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Copy { x, strides: (row, step), n, out } = self;
        if !M::LEAN {
            match (row, n) {
                (1, 2) => return interleave::<E, 2>(x, step, out),
                (1, 3) => return interleave::<E, 3>(x, step, out),
                (1, 4) => return interleave::<E, 4>(x, step, out),
                (1, 5) => return interleave::<E, 5>(x, step, out),
                (1, 6) => return interleave::<E, 6>(x, step, out),
                (1, 7) => return interleave::<E, 7>(x, step, out),
                _ => {}
            }
        }
        for r in 0..out.len() / n {
            let (x, out) = (&x[r * row..][..(n - 1) * step + 1], &mut out[r * n..][..n]);
            match step {
                2 if !M::LEAN => copy_row::<E, 2>(x, out),
                3 if !M::LEAN => copy_row::<E, 3>(x, out),
                4 if !M::LEAN => copy_row::<E, 4>(x, out),
                _ => {
                    for i in 0..n {
                        out[i] = x[i * step];
                    }
                }
            }
        }
    }
}

/// Copies rows of `n` elements; `strides` are those of rows and of elements in `x`.
pub(crate) fn copy_apart<E: Elem>(isa: Isa, x: &[E], strides: (usize, usize), n: usize, out: &mut [E]) {
    dispatch(isa, Copy { x: E::moved(x), strides, n, out: E::moved_mut(out) });
}

struct CopyBox<'a, E> {
    x: &'a [E],
    first: usize,
    strides: (i64, i64),
    n: usize,
    pitch: usize,
    out: &'a mut [E],
}

impl<E: Elem> CopyBox<'_, E> {
    /// Rows of `N` neighbours.
    #[inline(always)]
    fn rows<const N: usize>(self) {
        for r in 0..self.out.len().div_ceil(self.pitch) {
            let start = (self.first as i64 + self.strides.0 * r as i64) as usize;
            self.out[r * self.pitch..][..N].copy_from_slice(&self.x[start..][..N]);
        }
    }

    /// Rows of `N` neighbours, from the last to the first.
    #[inline(always)]
    fn reversed_rows<const N: usize>(self) {
        for r in 0..self.out.len().div_ceil(self.pitch) {
            let start = (self.first as i64 + self.strides.0 * r as i64) as usize;
            let (x, out) = (&self.x[start + 1 - N..][..N], &mut self.out[r * self.pitch..][..N]);
            for i in 0..N {
                out[i] = x[N - 1 - i];
            }
        }
    }
}

impl<E: Elem> Kernel for CopyBox<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        if !M::LEAN {
            match (self.strides.1, self.n) {
                (_, 1) => return self.rows::<1>(),
                (1, 2) => return self.rows::<2>(),
                (1, 3) => return self.rows::<3>(),
                (1, 4) => return self.rows::<4>(),
                (1, 5) => return self.rows::<5>(),
                (1, 6) => return self.rows::<6>(),
                (1, 7) => return self.rows::<7>(),
                (1, 8) => return self.rows::<8>(),
                (-1, 2) => return self.reversed_rows::<2>(),
                (-1, 3) => return self.reversed_rows::<3>(),
                (-1, 4) => return self.reversed_rows::<4>(),
                (-1, 5) => return self.reversed_rows::<5>(),
                (-1, 6) => return self.reversed_rows::<6>(),
                (-1, 7) => return self.reversed_rows::<7>(),
                (-1, 8) => return self.reversed_rows::<8>(),
                _ => {}
            }
        }
        let CopyBox { x, first, strides: (row, step), n, pitch, out } = self;
        for r in 0..out.len().div_ceil(pitch) {
            let start = (first as i64 + row * r as i64) as usize;
            let out = &mut out[r * pitch..][..n];
            match step {
                1 => out.copy_from_slice(&x[start..][..n]),
                -1 => {
                    let x = &x[start + 1 - n..][..n];
                    for i in 0..n {
                        out[i] = x[n - 1 - i];
                    }
                }
                step => {
                    for i in 0..n {
                        out[i] = x[(start as i64 + step * i as i64) as usize];
                    }
                }
            }
        }
    }
}

/// Copies rows of `n` elements to rows that are `pitch` apart; `strides` are those of rows and of elements in `x`, whose
/// first element is given. The elements between the rows are unchanged, and the output ends with the last row.
pub(crate) fn copy_box<E: Elem>(
    isa: Isa,
    (x, first): (&[E], usize),
    strides: (i64, i64),
    (n, pitch): (usize, usize),
    out: &mut [E],
) {
    dispatch(isa, CopyBox { x: E::moved(x), first, strides, n, pitch, out: E::moved_mut(out) });
}

struct Put<'a, E, F> {
    x: &'a [E],
    strides: (usize, usize),
    n: usize,
    out: &'a mut [E],
    put: F,
}

impl<E: Elem, F: Fn(E, E) -> E + std::marker::Copy> Kernel for Put<'_, E, F> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let Put { x, strides: (row, step), n, out, put } = self;
        // Columns that overlap are written in the order of the rows.
        let apart = !M::LEAN && row == 1 && x.len() / n <= step;
        match n {
            2 if apart => return separate::<E, 2>(x, step, out, put),
            3 if apart => return separate::<E, 3>(x, step, out, put),
            4 if apart => return separate::<E, 4>(x, step, out, put),
            5 if apart => return separate::<E, 5>(x, step, out, put),
            6 if apart => return separate::<E, 6>(x, step, out, put),
            7 if apart => return separate::<E, 7>(x, step, out, put),
            _ => {}
        }
        for r in 0..x.len() / n {
            let (x, out) = (&x[r * n..][..n], &mut out[r * row..][..(n - 1) * step + 1]);
            match step {
                2 if !M::LEAN => put_row::<E, 2>(x, out, put),
                3 if !M::LEAN => put_row::<E, 3>(x, out, put),
                4 if !M::LEAN => put_row::<E, 4>(x, out, put),
                _ => {
                    for i in 0..n {
                        out[i * step] = put(out[i * step], x[i]);
                    }
                }
            }
        }
    }
}

/// Writes rows of `n` elements; `strides` are those of rows and of elements in `out`.
pub(crate) fn put_apart<E: Elem>(isa: Isa, x: &[E], strides: (usize, usize), n: usize, out: &mut [E]) {
    put_moved(isa, E::moved(x), strides, n, E::moved_mut(out));
}

/// [`put_apart`]. Its closure is one for all types that are moved alike.
fn put_moved<E: Elem>(isa: Isa, x: &[E], strides: (usize, usize), n: usize, out: &mut [E]) {
    dispatch(isa, Put { x, strides, n, out, put: |_, x| x });
}

/// Adds rows of `n` elements to the output; `strides` are those of rows and of elements in `out`.
pub(crate) fn add_apart<E: Num>(isa: Isa, x: &[E], strides: (usize, usize), n: usize, out: &mut [E]) {
    dispatch(isa, Put { x, strides, n, out, put: |sum: E, x: E| sum.plus(x) });
}
