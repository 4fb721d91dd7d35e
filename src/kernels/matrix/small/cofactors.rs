//! Cofactors of small matrices: by the inverse if it is accurate, otherwise by Laplace expansion.
//!
//! Law: cofactors by expansion are sums of products, without a division, so a singular matrix has its cofactors like
//! any other. The choice for a lane depends on its own matrix alone.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::{Factors, Lanes, MOST, Square, diagonal_product, factor, inverse};
use crate::dtype::DType;
use crate::kernels::matrix::{Real, abs};

/// The smallest number of rows for which cofactors take less time by the inverse than by expansion.
const EXPANDED: usize = 5;

/// The cofactors: the minors with one row and one column left out, with their signs.
#[inline(always)]
pub(super) fn cofactors<E: Real, const L: usize>(n: usize, a: &Square<E, L>) -> Square<E, L> {
    if n < EXPANDED {
        return by_expansion(n, a);
    }
    let (mut out, good) = by_inverse(n, a);
    if !good.iter().all(|good| *good) {
        let expanded = by_expansion(n, a);
        for k in 0..n * n {
            for l in 0..L {
                out[k][l] = if good[l] { out[k][l] } else { expanded[k][l] };
            }
        }
    }
    out
}

/// The cofactors by Laplace expansion: for each row that is left out, the minors of the first remaining rows and of
/// each set of as many columns are expanded along the last of these rows.
#[inline(always)]
fn by_expansion<E: Real, const L: usize>(n: usize, a: &Square<E, L>) -> Square<E, L> {
    let all = (1usize << n) - 1;
    let mut minors = [[E::ZERO; L]; 1 << MOST];
    minors[0] = [E::ONE; L];
    let mut out: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
    for without in 0..n {
        for set in 1..all {
            let size = set.count_ones() as usize;
            let row = if size - 1 < without { size - 1 } else { size };
            let mut sum = [E::ZERO; L];
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
            out[without * n + column] = minor.map(|x| if odd { -x } else { x });
        }
    }
    out
}

/// The cofactors as the transposed inverse times the determinant, and for each lane whether they are accurate: they are
/// not if the matrix is nearly singular or badly scaled.
#[inline(always)]
fn by_inverse<E: Real, const L: usize>(n: usize, a: &Square<E, L>) -> (Square<E, L>, [bool; L]) {
    let mut lu = *a;
    let Factors { order, odd } = factor(n, &mut lu);
    let x = inverse(n, &lu, &order);
    let (det, mut good) = diagonal_product(n, &lu, &odd);
    let most = E::of_f64(<E as num_traits::Float>::epsilon().as_f64().powf(-0.25));
    let (size, of_inverse) = (row_norm(n, a), row_norm(n, &x));
    let mut out: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
    for l in 0..L {
        // False for NaN.
        good[l] &= size[l] * of_inverse[l] <= most;
    }
    for i in 0..n {
        for j in 0..n {
            for l in 0..L {
                out[i * n + j][l] = x[j * n + i][l] * det[l];
            }
        }
    }
    (out, good)
}

/// The infinity norms: the largest row sums of absolute values.
#[inline(always)]
fn row_norm<E: Real, const L: usize>(n: usize, a: &Square<E, L>) -> Lanes<E, L> {
    let mut norm = [E::ZERO; L];
    for i in 0..n {
        let mut sum = [E::ZERO; L];
        for j in 0..n {
            for l in 0..L {
                sum[l] += abs(a[i * n + j][l]);
            }
        }
        for l in 0..L {
            norm[l] = if sum[l] > norm[l] { sum[l] } else { norm[l] };
        }
    }
    norm
}

/// For each lane, whether no product of up to [`MOST`] of its nonzero elements overflows or is subnormal.
#[inline(always)]
pub(super) fn are_moderate<E: Real, const L: usize>(x: &[Lanes<E, L>]) -> [bool; L] {
    let power = if E::DTYPE == DType::F64 { 100 } else { 12 };
    let (least, most) = (E::of_f64(2f64.powi(-power)), E::of_f64(2f64.powi(power)));
    let mut moderate = [true; L];
    for x in x {
        for l in 0..L {
            let size = abs(x[l]);
            moderate[l] &= size == E::ZERO || (size >= least && size <= most);
        }
    }
    moderate
}
