//! Matrices of two and three rows by formulas: determinants, cofactors and inverses.
//!
//! Laws: a minor of two rows is exact to rounding, however much of it cancels, since products are taken with their
//! rounding errors. So a determinant has the error of one by elimination, and a matrix of small integers its exact
//! determinant. All instruction sets give the same bits, since the error of a product is a float.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::cofactors::are_moderate;
use super::lanes::{LaneNumbers, Live};
use super::{Batch, Small};
use crate::dtype::DType;
use crate::kernels::isa::{Machine, WithoutFma};
use crate::kernels::matrix::minors::{Balanced, balanced};
use crate::kernels::matrix::{Real, is_finite, nan, scaled};

/// The elements of matrices of at most three rows.
type Elements<E, const L: usize> = [LaneNumbers<E, L>; 9];

/// Determinants with the matrices of cofactors.
struct Closed<E, const L: usize> {
    det: LaneNumbers<E, L>,
    cofactors: Elements<E, L>,
}

/// The error of the product `p = a b`.
#[inline(always)]
fn error<E: Real, M: Machine>(a: E, b: E, p: E) -> E {
    if M::FMA {
        return a.fused(b, -p);
    }
    // Both factors are sums of two floats of half as many digits.
    let splitter = E::of_f64(if E::DTYPE == DType::F64 { 134217729.0 } else { 4097.0 });
    let halves = |x: E| {
        let shifted = splitter * x;
        let high = shifted - (shifted - x);
        [high, x - high]
    };
    let ([a, a_rest], [b, b_rest]) = (halves(a), halves(b));
    a_rest * b_rest - (((p - a * b) - a_rest * b) - a * b_rest)
}

/// `a d - b c`.
#[inline(always)]
fn minor<E: Real, M: Machine, const L: usize>([a, b, c, d]: [&LaneNumbers<E, L>; 4]) -> LaneNumbers<E, L> {
    let mut out = [E::ZERO; L];
    for l in 0..L {
        let (p, q) = (a[l] * d[l], b[l] * c[l]);
        out[l] = (p - q) + (error::<E, M>(a[l], d[l], p) - error::<E, M>(b[l], c[l], q));
    }
    out
}

/// The determinants and cofactors of matrices of `N` rows: of two or three.
#[inline(always)]
fn closed<E: Real, M: Machine, const L: usize, const N: usize>(a: &Elements<E, L>) -> Closed<E, L> {
    let mut cofactors = [[E::ZERO; L]; 9];
    let mut det = [E::ZERO; L];
    if N == 2 {
        det = minor::<E, M, L>([&a[0], &a[1], &a[2], &a[3]]);
        // Zero minus zero is not a negative zero.
        let negated = |x: LaneNumbers<E, L>| x.map(|x| E::ZERO - x);
        (cofactors[0], cofactors[1], cofactors[2], cofactors[3]) = (a[3], negated(a[2]), negated(a[1]), a[0]);
        return Closed { det, cofactors };
    }
    for i in 0..3 {
        for j in 0..3 {
            // In this order of rows and columns the sign is part of the minor.
            let at = |down: usize, right: usize| &a[(i + down) % 3 * 3 + (j + right) % 3];
            cofactors[3 * i + j] = minor::<E, M, L>([at(1, 1), at(1, 2), at(2, 1), at(2, 2)]);
        }
    }
    for l in 0..L {
        det[l] = a[0][l] * cofactors[0][l] + a[1][l] * cofactors[1][l] + a[2][l] * cofactors[2][l];
    }
    Closed { det, cofactors }
}

/// Divides the transposed cofactors by the determinant; NaN if that is zero.
#[inline(always)]
fn inverse<E: Real, const L: usize, const N: usize>(of: &Closed<E, L>) -> Elements<E, L> {
    let mut out = [[E::ZERO; L]; 9];
    for i in 0..N {
        for j in 0..N {
            for l in 0..L {
                let det = of.det[l];
                let quotient = of.cofactors[N * j + i][l] / det;
                out[N * i + j][l] = if det == E::ZERO { nan() } else { quotient };
            }
        }
    }
    out
}

impl<E: Real, const L: usize> Batch<'_, '_, '_, E, L> {
    /// The operation on the matrices of some lanes, all of `N` rows.
    #[inline(always)]
    pub(super) fn closed<M: Machine, const N: usize>(&mut self, at: Live) {
        let mut a = [[E::ZERO; L]; 9];
        at.load(self.operands.floats[0], &mut a[..N * N]);
        // No product leaves the range of normal floats, nor does its error.
        let power = if E::DTYPE == DType::F64 { 900 } else { 75 } / N as i32;
        let moderate = are_moderate(&a[..N * N], power);
        let found = closed::<E, M, L, N>(&a);
        match self.op {
            Small::Det => self.results.floats[0][at.first..][..at.live].copy_from_slice(&found.det[..at.live]),
            Small::SlogDet => (0..at.live).for_each(|l| self.sign_and_log(at.first + l, found.det[l], 0)),
            Small::Cofactors => at.store(&found.cofactors[..N * N], self.results.floats[0]),
            Small::Inverse => at.store(&inverse::<E, L, N>(&found)[..N * N], self.results.floats[0]),
            Small::Cholesky | Small::Qr | Small::Lu | Small::LuFactor => unreachable!("the operation has no formula"),
            Small::Solve { .. } | Small::SolveTriangular { .. } => unreachable!("the operation has no formula"),
        }
        for l in (0..at.live).filter(|l| !moderate[*l]) {
            self.balanced::<N>(at.first + l);
        }
    }

    fn sign_and_log(&mut self, matrix: usize, det: E, size: i64) {
        let (sign, log) = crate::kernels::matrix::sign_and_log(1, |_| det, false);
        self.results.floats[0][matrix] = sign;
        self.results.floats[1][matrix] = if size == 0 { log } else { log + E::of_f64(size as f64 * 2f64.ln()) };
    }

    /// The operation on a matrix whose products may leave the range of floats: its rows and columns are divided by
    /// powers of two first, which changes no other bit.
    #[inline(never)]
    fn balanced<const N: usize>(&mut self, matrix: usize) {
        let place = matrix * N * N;
        let from = &self.operands.floats[0][place..][..N * N];
        if !is_finite(from) {
            let each = self.results.floats[0].len() / self.count;
            return self.results.floats.iter_mut().for_each(|x| x[matrix * each..][..each].fill(nan()));
        }
        let Balanced { elements, rows, columns } = balanced(N, from);
        let mut a = [[E::ZERO; 1]; 9];
        (0..N * N).for_each(|k| a[k] = [elements[k]]);
        let found = closed::<E, WithoutFma, 1, N>(&a);
        let size = rows.iter().chain(&columns).sum::<i64>();
        match self.op {
            Small::Det => self.results.floats[0][matrix] = scaled(found.det[0], size),
            Small::SlogDet => self.sign_and_log(matrix, found.det[0], size),
            Small::Cofactors => {
                let scaled = |k: usize| scaled(found.cofactors[k][0], size - rows[k / N] - columns[k % N]);
                (0..N * N).for_each(|k| self.results.floats[0][place + k] = scaled(k));
            }
            Small::Inverse => {
                let x = inverse::<E, 1, N>(&found);
                let scaled = |k: usize| scaled(x[k][0], -rows[k % N] - columns[k / N]);
                (0..N * N).for_each(|k| self.results.floats[0][place + k] = scaled(k));
            }
            Small::Cholesky | Small::Qr | Small::Lu | Small::LuFactor => unreachable!("the operation has no formula"),
            Small::Solve { .. } | Small::SolveTriangular { .. } => unreachable!("the operation has no formula"),
        }
    }
}
