//! QR factors of small matrices by Householder reflections.
//!
//! Laws: those of [`orthogonal`](crate::kernels::matrix::orthogonal), to the bit at every scale: a matrix whose squares
//! may leave the range of floats has its columns divided by powers of two first, and so has each column that is left.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::cofactors::are_moderate;
use super::lanes::{LaneNumbers, Live, are_finite};
use super::{Batch, MOST, Square};
use crate::dtype::DType;
use crate::kernels::matrix::{Real, abs, exponent, is_finite, nan, scaled};

/// Replaces matrices of `m` rows and `n` columns by `r`, and `q` by the other factors; says whether all sums of squares
/// were in range. If `SCALED`, there is one matrix, whose columns are scaled before they are squared.
#[inline(always)]
fn factors<E: Real, const L: usize, const SCALED: bool>(
    [m, n]: [usize; 2],
    a: &mut Square<E, L>,
    q: &mut Square<E, L>,
) -> [bool; L] {
    let k = m.min(n);
    let least = E::of_f64(2f64.powi(if E::DTYPE == DType::F64 { -900 } else { -100 }));
    let mut in_range = [true; L];
    let mut taus: [LaneNumbers<E, L>; MOST] = [[E::ZERO; L]; MOST];
    for j in 0..k {
        let size = if SCALED { exponent((j..m).map(|i| a[i * n + j][0])) } else { 0 };
        let (mut below, mut squares) = ([E::ZERO; L], [E::ZERO; L]);
        for i in j..m {
            if SCALED {
                a[i * n + j][0] = scaled(a[i * n + j][0], -size);
            }
            let x = a[i * n + j];
            for l in 0..L {
                squares[l] += x[l] * x[l];
                let size = if i > j { abs(x[l]) } else { E::ZERO };
                below[l] = if size > below[l] { size } else { below[l] };
            }
        }
        let (mut onto, mut rest) = ([E::ZERO; L], [E::ONE; L]);
        for l in 0..L {
            let first = a[j * n + j][l];
            let length = num_traits::Float::sqrt(squares[l]);
            let far = if first > E::ZERO { -length } else { length };
            let is_done = below[l] == E::ZERO;
            in_range[l] &= is_done || squares[l] >= least;
            onto[l] = if is_done { first } else { far };
            rest[l] = if is_done { E::ONE } else { first - far };
            taus[j][l] = if is_done { E::ZERO } else { -rest[l] / far };
        }
        // Where nothing is below, zeros stay zeros.
        for i in j + 1..m {
            for l in 0..L {
                a[i * n + j][l] /= rest[l];
            }
        }
        for column in j + 1..n {
            let v = |i: usize, a: &Square<E, L>| a[i * n + j];
            reflect([j, m], (a, n, column), &v, &taus[j]);
        }
        a[j * n + j] = if SCALED { onto.map(|x| scaled(x, size)) } else { onto };
    }
    for i in 0..m {
        for j in 0..k {
            q[i * k + j] = [if i == j { E::ONE } else { E::ZERO }; L];
        }
    }
    for j in (0..k).rev() {
        for column in j..k {
            let v = |i: usize, _: &Square<E, L>| a[i * n + j];
            reflect([j, m], (q, k, column), &v, &taus[j]);
        }
    }
    for i in 0..k {
        let down = a[i * n + i].map(|x| x < E::ZERO);
        let turn = |x: &mut LaneNumbers<E, L>| {
            for l in 0..L {
                x[l] = if down[l] { -x[l] } else { x[l] };
            }
        };
        (i..n).for_each(|j| turn(&mut a[i * n + j]));
        (0..m).for_each(|row| turn(&mut q[row * k + i]));
        a[i * n..i * n + i].fill([E::ZERO; L]);
    }
    in_range
}

/// Reflects a column of matrices from the row `j` on: the first element of the vector is 1.
#[inline(always)]
fn reflect<E: Real, const L: usize>(
    [j, m]: [usize; 2],
    (x, n, column): (&mut Square<E, L>, usize, usize),
    v: &dyn Fn(usize, &Square<E, L>) -> LaneNumbers<E, L>,
    tau: &LaneNumbers<E, L>,
) {
    let mut product = x[j * n + column];
    for i in j + 1..m {
        let (v, x) = (v(i, x), x[i * n + column]);
        for l in 0..L {
            product[l] += v[l] * x[l];
        }
    }
    for l in 0..L {
        product[l] *= tau[l];
        x[j * n + column][l] -= product[l];
    }
    for i in j + 1..m {
        let v = v(i, x);
        for l in 0..L {
            x[i * n + column][l] -= v[l] * product[l];
        }
    }
}

impl<E: Real, const L: usize> Batch<'_, '_, '_, E, L> {
    /// The factors `q` and `r`.
    #[inline(always)]
    pub(super) fn qr(&mut self, at: Live) {
        let [m, n] = self.sizes;
        let k = m.min(n);
        let mut a: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
        let mut q: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
        at.load(self.operands.floats[0], &mut a[..m * n]);
        let mut good = are_moderate(&a[..m * n], if E::DTYPE == DType::F64 { 400 } else { 50 });
        let finite = are_finite(&a[..m * n]);
        let in_range = factors::<E, L, false>([m, n], &mut a, &mut q);
        at.store(&q[..m * k], self.results.floats[0]);
        at.store(&a[..k * n], self.results.floats[1]);
        for l in 0..at.live {
            good[l] &= finite[l] && in_range[l];
            if !good[l] {
                self.qr_of_any_scale(at.first + l);
            }
        }
    }

    #[inline(never)]
    fn qr_of_any_scale(&mut self, matrix: usize) {
        let [m, n] = self.sizes;
        let k = m.min(n);
        let from = &self.operands.floats[0][matrix * m * n..][..m * n];
        let [q_out, r_out] = &mut self.results.floats[..] else { unreachable!("there are two factors") };
        let (q_out, r_out) = (&mut q_out[matrix * m * k..][..m * k], &mut r_out[matrix * k * n..][..k * n]);
        if !is_finite(from) {
            q_out.fill(nan());
            return r_out.fill(nan());
        }
        let (mut a, mut q): (Square<E, 1>, Square<E, 1>) = ([[E::ZERO]; MOST * MOST], [[E::ZERO]; MOST * MOST]);
        let sizes: [i64; MOST] =
            std::array::from_fn(|j| exponent((0..m * n).filter(|at| at % n == j).map(|at| from[at])));
        (0..m * n).for_each(|at| a[at] = [scaled(from[at], -sizes[at % n])]);
        factors::<E, 1, true>([m, n], &mut a, &mut q);
        (0..m * k).for_each(|at| q_out[at] = q[at][0]);
        (0..k * n).for_each(|at| r_out[at] = scaled(a[at][0], sizes[at % n]));
    }
}
