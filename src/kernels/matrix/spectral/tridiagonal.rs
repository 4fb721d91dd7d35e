//! Eigenvalues of large symmetric matrices: Householder reflections make the matrix tridiagonal, and rotations
//! diagonal.
//!
//! Laws: backward stable, so the residual and the departure from orthogonality are some roundings of the norm. Each
//! step of the reduction reads and writes the rest of the matrix once: its update, and the product with the next
//! vector.
//!
//! G. Golub and C. Van Loan, "Matrix Computations", sections 8.3 and 8.4: the implicit QR iteration with Wilkinson's
//! shift.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::lines::{CHUNK, Reflections, Rotations, rotation, total};
use super::{Real, abs, epsilon, least, sqrt};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};
use crate::kernels::matrix::orthogonal::reflection;
use crate::kernels::matrix::rows::{AlignedRows, multiply_add};

/// The rows that are updated together.
const ROWS: usize = 4;

/// The eigenvalues in ascending order and the eigenvectors of a symmetric matrix; `None` if the iteration does not end,
/// which no matrix is known for.
pub(super) fn eigen<E: Real>(n: usize, a: AlignedRows<E>, vectors: bool) -> Option<[Vec<E>; 2]> {
    let Tridiagonal { mut d, mut e, reflections } = Tridiagonal::of(n, a, vectors);
    let mut vectors = vectors.then(|| (reflections.columns(n, n), Rotations::new()));
    diagonalize(&mut d, &mut e, &mut |first, downwards, angles| {
        if let Some((lines, rotations)) = &mut vectors {
            rotations.push(first, downwards, angles, lines);
        }
    })?;
    let order = super::ascending(&d);
    let vectors = vectors.map_or_else(Vec::new, |(mut lines, mut rotations)| {
        rotations.apply(&mut lines);
        lines.in_order(n, &order, &vec![false; n])
    });
    Some([order.iter().map(|k| d[*k]).collect(), vectors])
}

/// A matrix `q t q^T` with a tridiagonal `t`.
struct Tridiagonal<E> {
    d: Vec<E>,
    e: Vec<E>,
    reflections: Reflections<E>,
}

impl<E: Real> Tridiagonal<E> {
    fn of(n: usize, mut a: AlignedRows<E>, vectors: bool) -> Tridiagonal<E> {
        let mut reflections = Reflections::new(if vectors { n } else { 0 }, n, 1);
        let (mut d, mut e) = (vec![E::ZERO; n], vec![E::ZERO; n.saturating_sub(1)]);
        let stride = a.stride;
        // The vector of the last reflection, what is taken off with it, the next vector, and its product.
        let [mut v, mut w, mut next, mut p] = [(); 4].map(|()| vec![E::ZERO; stride]);
        for k in 0..n {
            let row = &mut a.all()[k * stride..][..n];
            let (of_v, of_w) = (v[k], w[k]);
            for j in k..n {
                row[j] -= of_v * w[j] + of_w * v[j];
            }
            d[k] = row[k];
            if k + 1 == n {
                break;
            }
            next[..=k].fill(E::ZERO);
            next[k + 1..n].copy_from_slice(&row[k + 1..n]);
            let first = next[k + 1];
            let (factor, onto) = reflection(&mut next[k + 1..n]).unwrap_or((E::ZERO, first));
            e[k] = onto;
            if vectors {
                reflections.vectors.line(k)[..n].copy_from_slice(&next[..n]);
                reflections.factors[k] = factor;
            }
            let rows = &mut a.all()[(k + 1) * stride..];
            dispatch(
                Isa::detect(),
                Pass { rows, stride, first: k + 1, v: &v, w: &w, next: &next, out: &mut p[k + 1..] },
            );
            std::mem::swap(&mut v, &mut next);
            w[..=k].fill(E::ZERO);
            let (v, p) = (&v[k + 1..n], &p[k + 1..n]);
            let half = E::of_f64(0.5) * factor * factor;
            let part = half * p.iter().zip(v).fold(E::ZERO, |sum, (p, v)| sum + *p * *v);
            for ((w, p), v) in w[k + 1..n].iter_mut().zip(p).zip(v) {
                *w = factor * *p - part * *v;
            }
        }
        Tridiagonal { d, e, reflections }
    }
}

/// Takes `v w^T + w v^T` off some rows, and multiplies them by the next vector.
struct Pass<'x, E> {
    rows: &'x mut [E],
    stride: usize,
    /// The number of the first row, and of the first column.
    first: usize,
    v: &'x [E],
    w: &'x [E],
    next: &'x [E],
    out: &'x mut [E],
}

impl<E: Real> Kernel for Pass<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let count = self.rows.len() / self.stride;
        let whole = count / ROWS * ROWS;
        for row in (0..whole).step_by(ROWS) {
            self.rows::<M, ROWS>(row);
        }
        for row in whole..count {
            self.rows::<M, 1>(row);
        }
    }
}

impl<E: Real> Pass<'_, E> {
    #[inline(always)]
    fn rows<M: Machine, const R: usize>(&mut self, row: usize) {
        let from = self.first / CHUNK * CHUNK;
        let mut rows = self.rows[row * self.stride..].chunks_exact_mut(self.stride);
        let rows: [&mut [[E; CHUNK]]; R] = std::array::from_fn(|_| {
            let row = rows.next().expect("as many rows as in the group");
            row[from..].as_chunks_mut().0
        });
        let [of_v, of_w]: [[E; R]; 2] = [self.v, self.w].map(|x| std::array::from_fn(|r| -x[self.first + row + r]));
        let [v, w, next] = [self.v, self.w, self.next].map(|x| x[from..].as_chunks::<CHUNK>().0);
        let mut sums = [[E::ZERO; CHUNK]; R];
        for i in 0..v.len() {
            for r in 0..R {
                for l in 0..CHUNK {
                    let x = multiply_add::<M, E>(of_v[r], w[i][l], rows[r][i][l]);
                    let x = multiply_add::<M, E>(of_w[r], v[i][l], x);
                    rows[r][i][l] = x;
                    sums[r][l] = multiply_add::<M, E>(x, next[i][l], sums[r][l]);
                }
            }
        }
        for r in 0..R {
            self.out[row + r] = total(sums[r]);
        }
    }
}

/// Told of each sweep: the first row, whether it goes downwards, and cosines and sines.
type Tell<'a, E> = dyn FnMut(usize, bool, &[[E; 2]]) + 'a;

/// Diagonalizes the symmetric tridiagonal matrix with the diagonal `d` and the elements `e` next to it, and reports the
/// rotations of each sweep.
fn diagonalize<E: Real>(d: &mut [E], e: &mut [E], tell: &mut Tell<'_, E>) -> Option<()> {
    let n = d.len();
    let mut rotations = Vec::with_capacity(n);
    let mut left = 100usize.saturating_mul(n).saturating_mul(n.max(10));
    let mut end = n;
    while end > 1 {
        let is_small = |k: usize| {
            let beside = abs(e[k]) / epsilon::<E>();
            beside * beside <= abs(d[k]) * abs(d[k + 1]) || abs(e[k]) < least::<E>() / epsilon::<E>()
        };
        let split = (0..end - 1).rev().find(|k| is_small(*k));
        let start = split.map_or(0, |k| k + 1);
        if let Some(k) = split {
            e[k] = E::ZERO;
        }
        if start + 1 == end {
            end -= 1;
            continue;
        }
        left = left.checked_sub(end - start)?;
        // The end with the smaller element is where an eigenvalue is split off.
        let downwards = abs(d[start]) >= abs(d[end - 1]);
        rotations.clear();
        sweep(&mut d[start..end], &mut e[start..end - 1], downwards, &mut rotations);
        tell(if downwards { start } else { end - 1 }, downwards, &rotations);
    }
    Some(())
}

/// A sweep of the implicit QR iteration over a block, downwards, or upwards as a sweep over the reversed block.
fn sweep<E: Real>(d: &mut [E], e: &mut [E], downwards: bool, rotations: &mut Vec<[E; 2]>) {
    let last = e.len();
    let at = |k: usize| if downwards { k } else { last - k };
    let beside = |k: usize| if downwards { k } else { last - 1 - k };
    let two = E::of_f64(2.0);
    let (far, edge) = (d[at(last)], e[beside(last - 1)]);
    let ratio = (d[at(last - 1)] - far) / (two * edge);
    let length = if abs(ratio) > E::ONE / epsilon::<E>() { abs(ratio) } else { sqrt(ratio * ratio + E::ONE) };
    let divisor = if ratio < E::ZERO { ratio - length } else { ratio + length };
    let mut g = d[at(0)] - far + edge / divisor;
    let (mut c, mut s, mut p) = (E::ONE, E::ONE, E::ZERO);
    for k in 0..last {
        let (f, b) = (s * e[beside(k)], c * e[beside(k)]);
        let r;
        (c, s, r) = rotation(g, f);
        if k > 0 {
            e[beside(k - 1)] = r;
        }
        g = d[at(k)] - p;
        let q = (d[at(k + 1)] - g) * s + two * c * b;
        p = s * q;
        d[at(k)] = g + p;
        g = c * q - b;
        rotations.push([c, s]);
    }
    d[at(last)] -= p;
    e[beside(last - 1)] = g;
}
