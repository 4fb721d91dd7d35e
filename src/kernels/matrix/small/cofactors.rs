//! Cofactors of small matrices: by the inverse if it is accurate, otherwise by Laplace expansion.
//!
//! Law: cofactors by expansion are sums of products, without a division, so a singular matrix has its cofactors like
//! any other. The choice for a lane depends on its own matrix alone.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::lanes::{LaneMask, LaneNumbers, are_moderate};
use super::{LaneMachine, MOST, Square, diagonal_product};
use crate::dtype::DType;
use crate::kernels::matrix::factors::{factor, inverse};
use crate::kernels::matrix::machine::MatrixLayout;
use crate::kernels::matrix::minors::most_condition;
use crate::kernels::matrix::{Real, abs};
use polygrad_math::Arithmetic;

/// The smallest number of rows for which cofactors take less time by the inverse than by expansion.
const EXPANDED: usize = 5;

/// The power of two by which a row may be larger than the others in a matrix whose cofactors are made of its inverse:
/// errors are relative to the whole matrix there.
const APART: i32 = 8;

/// The minors without a row and a column, with their signs, and whether no product on the way left the range of floats.
#[inline(always)]
pub(super) fn cofactors<E: Real, const L: usize>(n: usize, a: &Square<E, L>, out: &mut Square<E, L>) -> LaneMask<L> {
    let moderate = are_moderate(&a[..n * n], if E::DTYPE == DType::F64 { 100 } else { 12 });
    if n < EXPANDED {
        *out = by_expansion(n, a);
        return moderate;
    }
    let good = by_inverse(n, a, out);
    if good.0.iter().all(|good| *good) {
        return good;
    }
    let expanded = by_expansion(n, a);
    for k in 0..n * n {
        out[k] = LaneNumbers::select(good, out[k], expanded[k]);
    }
    good | moderate
}

/// The cofactors by Laplace expansion: for each row that is left out, the minors of the first remaining rows and of
/// each set of as many columns are expanded along the last of these rows.
#[inline(always)]
fn by_expansion<E: Real, const L: usize>(n: usize, a: &Square<E, L>) -> Square<E, L> {
    let all = (1usize << n) - 1;
    let mut minors = [LaneNumbers::ZERO; 1 << MOST];
    minors[0] = LaneNumbers::literal(1.0);
    let mut out: Square<E, L> = [LaneNumbers::ZERO; MOST * MOST];
    for without in 0..n {
        for set in 1..all {
            let size = set.count_ones() as usize;
            let row = if size - 1 < without { size - 1 } else { size };
            let mut sum = LaneNumbers::ZERO;
            for j in 0..n {
                if set >> j & 1 == 0 {
                    continue;
                }
                let (x, minor) = (a[row * n + j], minors[set & !(1 << j)]);
                let odd = (set >> (j + 1)).count_ones() % 2 == 1;
                for l in 0..L {
                    let term = x[l] * minor[l];
                    sum[l] = if odd { sum[l] - term } else { sum[l] + term };
                }
            }
            minors[set] = sum;
        }
        for column in 0..n {
            let minor = minors[all & !(1 << column)];
            let odd = (without + column) % 2 == 1;
            out[without * n + column] = if odd { -minor } else { minor };
        }
    }
    out
}

/// The cofactors as the transposed inverse times the determinant, and for each lane whether they are accurate: they are
/// not if the matrix is nearly singular or badly scaled.
#[inline(always)]
fn by_inverse<E: Real, const L: usize>(n: usize, a: &Square<E, L>, out: &mut Square<E, L>) -> LaneMask<L> {
    let (m, mut lu, mut order) = (LaneMachine::new(), *a, [[0; L]; MOST]);
    let odd = factor(m, MatrixLayout::rows(n), n, &mut lu[..], &mut order[..]);
    let mut x: Square<E, L> = [LaneNumbers::ZERO; MOST * MOST];
    inverse(m, n, &lu[..], &order[..], &mut x[..]);
    let (det, good) = diagonal_product(n, &lu, odd);
    let most = LaneNumbers::literal(most_condition::<E>());
    let (of_rows, of_columns) = (norms(n, a, [n, 1]), norms(n, a, [1, n]));
    let of_inverse = norms(n, &x, [n, 1]);
    let apart = LaneNumbers::literal(2f64.powi(APART));
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = x[j * n + i] * det;
        }
    }
    // False for NaN.
    good & (of_rows.most * of_inverse.most).at_most(most)
        & of_rows.most.at_most(apart * of_rows.least)
        & of_columns.most.at_most(apart * of_columns.least)
}

/// The largest and the least sums of absolute values of a row.
struct Norms<E, const L: usize> {
    most: LaneNumbers<E, L>,
    least: LaneNumbers<E, L>,
}

/// The norms of rows, or of columns: the distances from row to row and along a row.
#[inline(always)]
fn norms<E: Real, const L: usize>(n: usize, a: &Square<E, L>, [down, right]: [usize; 2]) -> Norms<E, L> {
    let (mut most, mut least) = (LaneNumbers::ZERO, LaneNumbers::literal(f64::INFINITY));
    for i in 0..n {
        let mut sum = LaneNumbers::<E, L>::ZERO;
        for j in 0..n {
            let x = a[i * down + j * right];
            for l in 0..L {
                sum[l] += abs(x[l]);
            }
        }
        for l in 0..L {
            most[l] = if sum[l] > most[l] { sum[l] } else { most[l] };
            least[l] = if sum[l] < least[l] { sum[l] } else { least[l] };
        }
    }
    Norms { most, least }
}
