//! Stacks of small grids: rows of a few elements within a few rows, many times, in one call.
//!
//! Law: elements are copied, or added from the first to the last, as they are by a loop for each grid.

#![allow(clippy::needless_range_loop, reason = "adapters of iterators are compiled for the baseline")]

use crate::dtype::{Elem, Num};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The shape of a stack, and the strides from grid to grid, from row to row and within a row of the array whose elements
/// are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackShape {
    pub(crate) rows: usize,
    pub(crate) len: usize,
    pub(crate) strides: [usize; 3],
}

/// Runs `$with` for rows of a constant length where the elements of a row are neighbours, and `$other` for all others.
macro_rules! by_length {
    ($shape:expr, $with:ident($($argument:expr),*), $other:expr) => {
        match ($shape.strides[2], $shape.len) {
            (1, 2) if !M::LEAN => $with::<E, 2>($($argument),*),
            (1, 3) if !M::LEAN => $with::<E, 3>($($argument),*),
            (1, 4) if !M::LEAN => $with::<E, 4>($($argument),*),
            (1, 5) if !M::LEAN => $with::<E, 5>($($argument),*),
            (1, 6) if !M::LEAN => $with::<E, 6>($($argument),*),
            (1, 7) if !M::LEAN => $with::<E, 7>($($argument),*),
            (1, 8) if !M::LEAN => $with::<E, 8>($($argument),*),
            _ => $other,
        }
    };
}

struct CopyStack<'a, E> {
    x: &'a [E],
    shape: StackShape,
    out: &'a mut [E],
}

/// Copies rows of `N` neighbours.
#[inline(always)]
fn copy_rows<E: Elem, const N: usize>(x: &[E], shape: StackShape, out: &mut [E]) {
    let StackShape { rows, strides: [grid, row, _], .. } = shape;
    let out = out.as_chunks_mut::<N>().0;
    for g in 0..out.len() / rows {
        let (x, out) = (&x[grid * g..], &mut out[rows * g..][..rows]);
        for r in 0..rows {
            let x = &x[row * r..][..N];
            out[r].copy_from_slice(x);
        }
    }
}

impl<E: Elem> Kernel for CopyStack<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let CopyStack { x, shape, out } = self;
        let StackShape { rows, len, strides: [grid, row, step] } = shape;
        by_length!(shape, copy_rows(x, shape, out), {
            for g in 0..out.len() / (rows * len) {
                for r in 0..rows {
                    let (x, out) = (&x[grid * g + row * r..], &mut out[(rows * g + r) * len..][..len]);
                    match step {
                        0 => out.fill(x[0]),
                        1 => out.copy_from_slice(&x[..len]),
                        _ => {
                            for i in 0..len {
                                out[i] = x[step * i];
                            }
                        }
                    }
                }
            }
        });
    }
}

/// Copies a stack of grids: `shape` says where the elements are in `x`, and `out` has them one behind the other.
pub(crate) fn copy_stack<E: Elem>(isa: Isa, x: &[E], shape: StackShape, out: &mut [E]) {
    dispatch(isa, CopyStack { x: E::moved(x), shape, out: E::moved_mut(out) });
}

struct AddStack<'a, E> {
    x: &'a [E],
    shape: StackShape,
    out: &'a mut [E],
}

/// Adds rows of `N` neighbours; what all rows of a grid are added to stays in registers.
#[inline(always)]
fn add_rows<E: Num, const N: usize>(x: &[E], shape: StackShape, out: &mut [E]) {
    let StackShape { rows, strides: [grid, row, _], .. } = shape;
    let x = x.as_chunks::<N>().0;
    for g in 0..x.len() / rows {
        let (x, out) = (&x[rows * g..][..rows], &mut out[grid * g..]);
        if rows == 1 {
            // Copies, since the compiler does not know that the two arrays do not overlap.
            let (out, x) = (&mut out[..N], x[0]);
            let mut sums = [E::ZERO; N];
            for i in 0..N {
                sums[i] = out[i].plus(x[i]);
            }
            out.copy_from_slice(&sums);
        } else if row == 0 {
            let out = &mut out[..N];
            let mut sums = [E::ZERO; N];
            sums.copy_from_slice(out);
            for r in 0..rows {
                for i in 0..N {
                    sums[i] = sums[i].plus(x[r][i]);
                }
            }
            out.copy_from_slice(&sums);
        } else {
            for r in 0..rows {
                let out = &mut out[row * r..][..N];
                for i in 0..N {
                    out[i] = out[i].plus(x[r][i]);
                }
            }
        }
    }
}

impl<E: Num> Kernel for AddStack<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<M: Machine>(self) {
        let AddStack { x, shape, out } = self;
        let StackShape { rows, len, strides: [grid, row, step] } = shape;
        by_length!(shape, add_rows(x, shape, out), {
            for g in 0..x.len() / (rows * len) {
                for r in 0..rows {
                    let (x, out) = (&x[(rows * g + r) * len..][..len], &mut out[grid * g + row * r..]);
                    if step == 1 {
                        let out = &mut out[..len];
                        for i in 0..len {
                            out[i] = out[i].plus(x[i]);
                        }
                    } else {
                        for i in 0..len {
                            out[step * i] = out[step * i].plus(x[i]);
                        }
                    }
                }
            }
        });
    }
}

/// Adds a stack of grids, which lie one behind the other in `x`: `shape` says where their elements are in `out`.
pub(crate) fn add_stack<E: Num>(isa: Isa, x: &[E], shape: StackShape, out: &mut [E]) {
    dispatch(isa, AddStack { x, shape, out });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stacks of every short length, whose grids share rows, share elements, or lie apart.
    #[test]
    fn stacks_are_loops_over_grids() {
        let x: Vec<f64> = (0..4000).map(|i| (i as f64 * 0.37).sin()).collect();
        for isa in Isa::supported() {
            for (len, rows) in (1..12).flat_map(|len| (1..5).map(move |rows| (len, rows))) {
                for strides in [[len, 0, 1], [rows * len, len, 1], [0, len + 2, 1], [1, 0, 3], [40, 3, 0], [2, 1, 1]] {
                    let (shape, size) = (StackShape { rows, len, strides }, 7 * rows * len);
                    let place = |i: usize| {
                        let (g, r) = (i / len / rows, i / len % rows);
                        strides[0] * g + strides[1] * r + strides[2] * (i % len)
                    };
                    let mut copied = vec![0.0; size];
                    copy_stack(isa, &x, shape, &mut copied);
                    assert!((0..size).all(|i| copied[i] == x[place(i)]), "{len} {rows} {strides:?}");
                    let (mut sums, mut expected) = (x.clone(), x.clone());
                    add_stack(isa, &copied, shape, &mut sums);
                    (0..size).for_each(|i| expected[place(i)] += copied[i]);
                    assert_eq!(sums, expected, "{len} {rows} {strides:?}");
                }
            }
        }
    }
}
