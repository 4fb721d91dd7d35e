//! Least squares by a complete orthogonal decomposition.
//!
//! QR factors, whose triangle is factored again with column pivoting if its columns may be linearly dependent.
//!
//! Laws: the solution is the shortest of the least-squares solutions. Columns count as dependent if, scaled to length
//! 1, less than `max(m, n)` machine epsilons of each are outside the span of the columns before it, in the order of
//! column pivoting; so scaling columns does not change the rank. A matrix with independent columns has the factors `q`
//! and `r`, to the bit at every scale of its columns.
//!
//! Method: G. Golub and C. Van Loan, *Matrix Computations*, section 5.5 (fourth edition).
#![allow(clippy::needless_range_loop, reason = "rows and columns are indices of several arrays")]

use super::blocks::TriangleView;
use super::guarded::product;
use super::{Real, abs, exponent, is_finite, is_zero, nan, orthogonal, scaled, solve_triangular, zero_where};

/// The factors of a matrix and its rank: see [`LstsqFactor`](crate::ops::Matrix::LstsqFactor).
pub(crate) fn lstsq_factor<E: Real>([m, n]: [usize; 2], a: &[E], [u, t, vt]: [&mut [E]; 3]) -> i64 {
    let k = m.min(n);
    if k == 0 {
        return 0;
    }
    if !is_finite(a) {
        [u, t, vt].into_iter().for_each(|x| x.fill(nan()));
        return 0;
    }
    if m >= n {
        return tall([m, n], a, [u, t, vt]) as i64;
    }
    // The transposed factors of the transposed matrix.
    let [mut left, mut middle, mut right] = [n * k, k * k, k * m].map(|size| vec![E::ZERO; size]);
    let rank = tall([n, m], &transposed([m, n], a), [&mut left, &mut middle, &mut right]);
    u.copy_from_slice(&transposed([k, m], &right));
    t.copy_from_slice(&transposed([k, k], &middle));
    vt.copy_from_slice(&transposed([n, k], &left));
    rank as i64
}

fn transposed<E: Real>([m, n]: [usize; 2], a: &[E]) -> Vec<E> {
    (0..m * n).map(|at| a[at % m * n + at / m]).collect()
}

/// The length of a vector.
fn length<E: Real>(x: impl Iterator<Item = E>) -> E {
    num_traits::Float::sqrt(x.fold(E::ZERO, |sum, x| sum + x * x))
}

/// The factors of a matrix that is not wide.
fn tall<E: Real>([m, n]: [usize; 2], a: &[E], [u, t, vt]: [&mut [E]; 3]) -> usize {
    orthogonal::factors([m, n], a, u, t);
    // The columns of the triangle as unit vectors, and their lengths with exponents; 0 for columns of zeros.
    let (mut unit, mut lengths) = (vec![E::ZERO; n * n], Vec::with_capacity(n));
    for j in 0..n {
        let size = exponent((0..=j).map(|i| t[i * n + j]));
        let column: Vec<E> = (0..=j).map(|i| scaled(t[i * n + j], -size)).collect();
        let length = length(column.iter().copied());
        if length > E::ZERO {
            column.iter().enumerate().for_each(|(i, x)| unit[i * n + j] = *x / length);
        }
        lengths.push((length, size));
    }
    let tolerance = <E as num_traits::Float>::epsilon() * E::of_f64(m as f64);
    if is_regular(n, &unit, tolerance) {
        vt.fill(E::ZERO);
        (0..n).for_each(|i| vt[i * (n + 1)] = E::ONE);
        return n;
    }
    let (order, rank, q) = pivoted(n, &mut unit, tolerance);
    if rank == n {
        vt.fill(E::ZERO);
        (0..n).for_each(|i| vt[i * (n + 1)] = E::ONE);
        return n;
    }
    // The rows of the second triangle up to the rank as columns, with the lengths and in the order of the matrix.
    let mut lines = vec![E::ZERO; n * rank];
    for i in 0..rank {
        for j in i..n {
            let (length, size) = lengths[order[j]];
            lines[order[j] * rank + i] = scaled(unit[i * n + j] * length, size);
        }
    }
    // These columns are `z l`, so the rows are `l^T z^T`, and in the opposite order an upper triangle and `z^T`.
    let (mut z, mut l) = (vec![E::ZERO; n * rank], vec![E::ZERO; rank * rank]);
    if rank > 0 {
        orthogonal::factors([n, rank], &lines, &mut z, &mut l);
    }
    let mut left = vec![E::ZERO; m * n];
    product([m, n], u, false, &q, &mut left);
    [&mut *u, &mut *t, &mut *vt].into_iter().for_each(|x| x.fill(E::ZERO));
    (rank..n).for_each(|i| t[i * (n + 1)] = E::ONE);
    let opposite = |i: usize| rank - 1 - i;
    for i in 0..rank {
        (0..rank).for_each(|j| t[i * n + j] = l[opposite(j) * rank + opposite(i)]);
        (0..n).for_each(|j| vt[i * n + j] = z[j * rank + opposite(i)]);
        (0..m).for_each(|row| u[row * n + i] = left[row * n + opposite(i)]);
    }
    rank
}

/// Whether a triangle whose columns have the length 1 is so far from a singular one that pivoting finds no small pivot:
/// each pivot is at least the inverse of the norm of the inverse.
fn is_regular<E: Real>(n: usize, r: &[E], tolerance: E) -> bool {
    let triangle = TriangleView { of: r, n, transposed: false, lower: false, unit: false };
    if !triangle.is_regular() {
        return false;
    }
    let most = E::of_f64(0.25) / tolerance;
    // A bound of the inverse by the absolute values of the elements, which is often large, but cheap.
    let mut bound = vec![E::ZERO; n];
    for i in (0..n).rev() {
        let row = &r[i * n..(i + 1) * n];
        let sum = (i + 1..n).fold(E::ONE, |sum, j| sum + abs(row[j]) * bound[j]);
        bound[i] = sum / abs(row[i]);
    }
    if length(bound.iter().copied()) < most / E::of_f64((n as f64).sqrt()) {
        return true;
    }
    let mut inverse = vec![E::ZERO; n * n];
    (0..n).for_each(|i| inverse[i * (n + 1)] = E::ONE);
    triangle.solve(&mut inverse, n);
    length(inverse.into_iter()) < most
}

/// Replaces a square matrix with columns of length 1 or 0 by the triangle of its QR factorization with column pivoting:
/// returns the order of columns, the rank, and the orthogonal factor.
fn pivoted<E: Real>(n: usize, x: &mut [E], tolerance: E) -> (Vec<usize>, usize, Vec<E>) {
    let mut order: Vec<usize> = (0..n).collect();
    let mut q = vec![E::ZERO; n * n];
    (0..n).for_each(|i| q[i * (n + 1)] = E::ONE);
    for k in 0..n {
        let left = |j: usize, x: &[E]| length((k..n).map(|i| x[i * n + j]));
        let (mut best, mut most) = (k, left(k, x));
        for j in k + 1..n {
            let size = left(j, x);
            if size > most {
                (best, most) = (j, size);
            }
        }
        if most <= tolerance {
            return (order, k, q);
        }
        order.swap(k, best);
        (0..n).for_each(|i| x.swap(i * n + k, i * n + best));
        let first = x[k * n + k];
        let onto = if first > E::ZERO { -most } else { most };
        // The reflection takes the column to a multiple of a unit vector; its vector begins with 1.
        let mut v: Vec<E> = (k..n).map(|i| x[i * n + k]).collect();
        let head = first - onto;
        v.iter_mut().for_each(|x| *x /= head);
        v[0] = E::ONE;
        let factor = -head / onto;
        for j in k + 1..n {
            let sum = (k..n).fold(E::ZERO, |sum, i| sum + v[i - k] * x[i * n + j]) * factor;
            (k..n).for_each(|i| x[i * n + j] -= v[i - k] * sum);
        }
        (k + 1..n).for_each(|i| x[i * n + k] = E::ZERO);
        x[k * n + k] = onto;
        for row in q.chunks_exact_mut(n) {
            let sum = (k..n).fold(E::ZERO, |sum, j| sum + row[j] * v[j - k]) * factor;
            (k..n).for_each(|j| row[j] -= sum * v[j - k]);
        }
    }
    (order, n, q)
}

/// Whether a matrix of `k` rows is the identity.
fn is_identity<E: Real>(k: usize, n: usize, a: &[E]) -> bool {
    let one = |at: usize| if at / n == at % n { E::ONE } else { E::ZERO };
    k == n && a.iter().enumerate().all(|(at, x)| *x == one(at))
}

/// The least-squares solution of least norm by the factors of a matrix of `m` rows and `n` columns, or of its
/// transpose.
pub(crate) fn lstsq<E: Real>([m, n]: [usize; 2], factors: [&[E]; 3], transposed: bool, b: &[E], x: &mut [E]) {
    let ([u, t, vt], k) = (factors, m.min(n));
    let columns = b.len().checked_div(if transposed { n } else { m }).unwrap_or(0);
    if is_zero(b) || k == 0 {
        return x.fill(E::ZERO);
    }
    if !factors.iter().all(|x| is_finite(x)) {
        x.fill(nan());
        return zero_where(columns, b, x);
    }
    let (mut moved, mut solved) = (vec![E::ZERO; k * columns], vec![E::ZERO; k * columns]);
    let upper = [m < n, transposed, false];
    if transposed {
        apply(([k, n], vt), false, b, &mut moved);
        solve_triangular(k, t, upper, &moved, &mut solved);
        apply(([m, k], u), false, &solved, x);
    } else {
        apply(([m, k], u), true, b, &mut moved);
        solve_triangular(k, t, upper, &moved, &mut solved);
        apply(([k, n], vt), true, &solved, x);
    }
    zero_where(columns, b, x);
}

/// The product with a factor or its transpose, which may be the identity.
fn apply<E: Real>(([k, n], a): ([usize; 2], &[E]), transposed: bool, b: &[E], out: &mut [E]) {
    if is_identity(k, n, a) { out.copy_from_slice(b) } else { product([k, n], a, transposed, b, out) }
}

/// The part of `z` in the null space of the matrix with these factors, or of its transpose.
pub(crate) fn null_projection<E: Real>(
    [m, n]: [usize; 2],
    factors: [&[E]; 3],
    transposed: bool,
    z: &[E],
    out: &mut [E],
) {
    let ([u, _, vt], k) = (factors, m.min(n));
    let rows = if transposed { m } else { n };
    if is_zero(z) || rows == 0 {
        return out.fill(E::ZERO);
    }
    let columns = z.len() / rows;
    if !factors.iter().all(|x| is_finite(x)) {
        out.fill(nan());
        return zero_where(columns, z, out);
    }
    // A column of the left factor behind the rank is zeros.
    let is_full = k == rows && (k == 0 || (0..m).any(|i| u[i * k + k - 1] != E::ZERO));
    if is_full {
        return out.fill(E::ZERO);
    }
    let mut inner = vec![E::ZERO; k * columns];
    let (basis, [to, from]) = if transposed { (([m, k], u), [true, false]) } else { (([k, n], vt), [false, true]) };
    product(basis.0, basis.1, to, z, &mut inner);
    product(basis.0, basis.1, from, &inner, out);
    out.iter_mut().zip(z).for_each(|(x, z)| *x = *z - *x);
    zero_where(columns, z, out);
}
