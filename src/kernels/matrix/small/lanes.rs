//! Lanes: numbers of several matrices side by side, how matrices are read and written, and what is asked of all lanes.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::Square;
use crate::kernels::matrix::{Real, nan};

/// A number of each of `L` matrices.
pub(super) type LaneNumbers<E, const L: usize> = [E; L];

/// The matrices of a run of lanes: `live` of them from the first on.
#[derive(Clone, Copy)]
pub(super) struct Live {
    pub(super) first: usize,
    pub(super) live: usize,
}

impl Live {
    /// The matrix of a lane; a lane without one repeats the last.
    #[inline(always)]
    pub(super) fn matrix(self, lane: usize) -> usize {
        self.first + lane.min(self.live - 1)
    }

    /// Reads as many elements of each matrix as `to` has.
    #[inline(always)]
    pub(super) fn load<E: Real, const L: usize>(self, from: &[E], to: &mut [LaneNumbers<E, L>]) {
        let size = to.len();
        if self.live == L {
            let from = &from[self.first * size..][..L * size];
            for k in 0..size {
                for l in 0..L {
                    to[k][l] = from[l * size + k];
                }
            }
            return;
        }
        for l in 0..L {
            let from = &from[self.matrix(l) * size..][..size];
            for k in 0..size {
                to[k][l] = from[k];
            }
        }
    }

    /// Writes the elements of each matrix.
    #[inline(always)]
    pub(super) fn store<E: Real, const L: usize>(self, from: &[LaneNumbers<E, L>], to: &mut [E]) {
        let size = from.len();
        if self.live == L {
            let to = &mut to[self.first * size..][..L * size];
            for k in 0..size {
                for l in 0..L {
                    to[l * size + k] = from[k][l];
                }
            }
            return;
        }
        for l in 0..self.live {
            let to = &mut to[(self.first + l) * size..][..size];
            for k in 0..size {
                to[k] = from[k][l];
            }
        }
    }
}

/// Whether all elements are zeros.
#[inline(always)]
pub(super) fn are_zero<E: Real, const L: usize>(x: &[LaneNumbers<E, L>]) -> [bool; L] {
    let mut zero = [true; L];
    for x in x {
        for l in 0..L {
            zero[l] &= x[l] == E::ZERO;
        }
    }
    zero
}

/// Whether all elements are finite.
#[inline(always)]
pub(super) fn are_finite<E: Real, const L: usize>(x: &[LaneNumbers<E, L>]) -> [bool; L] {
    // Finite numbers become 0, and all others NaN.
    let mut sum = [E::ZERO; L];
    for x in x {
        for l in 0..L {
            sum[l] += x[l] * E::ZERO;
        }
    }
    sum.map(|sum| sum == E::ZERO)
}

/// Whether no element of the diagonal is zero.
#[inline(always)]
pub(super) fn is_regular<E: Real, const L: usize>(n: usize, a: &Square<E, L>) -> [bool; L] {
    let mut regular = [true; L];
    for i in 0..n {
        for l in 0..L {
            regular[l] &= a[i * n + i][l] != E::ZERO;
        }
    }
    regular
}

/// Fills lanes that are not good with NaN.
#[inline(always)]
pub(super) fn fill_unless<E: Real, const L: usize>(good: &[bool; L], x: &mut [LaneNumbers<E, L>]) {
    if good.iter().all(|good| *good) {
        return;
    }
    for x in x {
        for l in 0..L {
            x[l] = if good[l] { x[l] } else { nan() };
        }
    }
}
