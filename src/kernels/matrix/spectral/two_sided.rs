//! Eigenvalues of small symmetric matrices by rotations of rows and columns until the matrix is diagonal.
//!
//! Laws: there is a result for any finite matrix. Eigenvalues of a positive definite matrix whose rows and columns have
//! different magnitudes are exact to some roundings each.
//!
//! J. Demmel and K. Veselić, "Jacobi's method is more accurate than QR" (1992).
#![allow(clippy::needless_range_loop, reason = "lines and lanes are indices of several arrays")]

use super::{Real, abs, ascending, epsilon, least, sqrt};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::matrix::rows::multiply_add;

/// The elements of a chunk of a row; rows are padded with zeros.
const CHUNK: usize = 4;

/// The most sweeps over all pairs of rows; up to ten are usual.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors one after the other.
pub(super) fn eigen<E: Real>(n: usize, a: &[E], vectors: bool) -> [Vec<E>; 2] {
    dispatch(Isa::detect(), Decompose { n, a, vectors })
}

struct Decompose<'x, E> {
    n: usize,
    a: &'x [E],
    vectors: bool,
}

impl<E: Real> Kernel for Decompose<'_, E> {
    type Output = [Vec<E>; 2];

    #[inline(always)]
    fn run<M: Machine>(self) -> [Vec<E>; 2] {
        let n = self.n;
        let stride = n.next_multiple_of(CHUNK);
        let (mut x, mut v) = (vec![E::ZERO; n * stride], vec![E::ZERO; if self.vectors { n * stride } else { 0 }]);
        for i in 0..n {
            x[i * stride..][..n].copy_from_slice(&self.a[i * n..][..n]);
            if self.vectors {
                v[i * stride + i] = E::ONE;
            }
        }
        for _ in 0..SWEEPS {
            let mut rotated = false;
            for p in 0..n.saturating_sub(1) {
                for q in p + 1..n {
                    rotated |= rotate::<M, E>(&mut x, &mut v, stride, [p, q]);
                }
            }
            if !rotated {
                break;
            }
        }
        let values: Vec<E> = (0..n).map(|k| x[k * stride + k]).collect();
        let order = ascending(&values);
        let lines = order.iter().filter(|_| self.vectors).flat_map(|k| &v[k * stride..][..n]);
        [order.iter().map(|k| values[*k]).collect(), lines.copied().collect()]
    }
}

/// Rotates two rows and columns, and eigenvectors, so that the element of both is zero; says whether it was not.
#[inline(always)]
fn rotate<M: Machine, E: Real>(x: &mut [E], v: &mut [E], stride: usize, [p, q]: [usize; 2]) -> bool {
    let (beside, first, second) = (x[p * stride + q], x[p * stride + p], x[q * stride + q]);
    if abs(beside) <= epsilon::<E>() * sqrt(abs(first)) * sqrt(abs(second)) || abs(beside) < least() {
        return false;
    }
    let ratio = (second - first) / (E::of_f64(2.0) * beside);
    let size = abs(ratio);
    let length = if size > E::ONE / epsilon() { size } else { sqrt(size * size + E::ONE) };
    let tangent = E::ONE / (size + length);
    let tangent = if ratio < E::ZERO { -tangent } else { tangent };
    let cosine = E::ONE / sqrt(tangent * tangent + E::ONE);
    let n = x.len() / stride;
    let sine = tangent * cosine;
    let turned = [sine, sine * sine / (E::ONE + cosine)];
    turn::<M, E>(x, stride, [p, q], turned);
    x[p * stride + p] = first - tangent * beside;
    x[q * stride + q] = second + tangent * beside;
    x[p * stride + q] = E::ZERO;
    x[q * stride + p] = E::ZERO;
    for k in 0..n {
        x[k * stride + p] = x[p * stride + k];
        x[k * stride + q] = x[q * stride + k];
    }
    turn::<M, E>(v, stride, [p, q], turned);
    true
}

/// Rotates two rows by an angle, given by its sine and by 1 minus its cosine: so a small angle rounds little.
#[inline(always)]
fn turn<M: Machine, E: Real>(x: &mut [E], stride: usize, [p, q]: [usize; 2], [sine, less]: [E; 2]) {
    if x.is_empty() {
        return;
    }
    let (first, second) = x.split_at_mut(q * stride);
    let (x, y) = (&mut first[p * stride..][..stride], &mut second[..stride]);
    for (x, y) in x.as_chunks_mut::<CHUNK>().0.iter_mut().zip(y.as_chunks_mut::<CHUNK>().0) {
        let (a, b) = (*x, *y);
        let [mut first, mut second] = [a, b];
        for l in 0..CHUNK {
            first[l] -= multiply_add::<M, E>(sine, b[l], less * a[l]);
        }
        for l in 0..CHUNK {
            second[l] += multiply_add::<M, E>(sine, a[l], -less * b[l]);
        }
        (*x, *y) = (first, second);
    }
}
