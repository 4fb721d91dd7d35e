//! Minors of a matrix, and elimination with complete pivoting.
//!
//! Laws: a singular matrix has minors like any other, since the inverse is used only for well-conditioned matrices.
//! Scaling rows and columns by powers of two scales the minors, and no partial product leaves the range of floats if
//! the minors do not.

use super::blocks::TriangleView;
use super::machine::Direct;
use super::{Real, abs, exponent, factors, inverse_of_factors, is_finite, is_odd, lu_factor, nan, scaled};
use crate::ops::minors;

/// A matrix with elements up to one in each row and column, and the powers of two by which these were divided.
pub(super) struct Balanced<E> {
    pub(super) elements: Vec<E>,
    pub(super) rows: Vec<i64>,
    pub(super) columns: Vec<i64>,
}

pub(super) fn balanced<E: Real>(n: usize, a: &[E]) -> Balanced<E> {
    // Only powers are divided twice, so that no element leaves the range between.
    let powers: Vec<Option<i64>> = a.iter().map(|x| (*x != E::ZERO).then(|| exponent([*x].into_iter()))).collect();
    let most = |of: &dyn Fn(usize) -> Option<i64>| (0..n).filter_map(of).max().unwrap_or(0);
    let rows: Vec<i64> = (0..n).map(|i| most(&|j| powers[i * n + j])).collect();
    let columns: Vec<i64> = (0..n).map(|j| most(&|i| powers[i * n + j].map(|power| power - rows[i]))).collect();
    let elements = a.iter().enumerate().map(|(at, x)| scaled(*x, -rows[at / n] - columns[at % n])).collect();
    Balanced { elements, rows, columns }
}

/// The minors with `without` rows and columns left out, with the signs that they have as derivatives of the
/// determinant.
pub(crate) fn minors<E: Real>(n: usize, without: usize, a: &[E], out: &mut [E]) {
    if out.is_empty() {
        return;
    }
    if !is_finite(a) {
        return out.fill(nan());
    }
    let b = balanced(n, a);
    if n > minors::MOST {
        return cofactors(n, &b, out);
    }
    let (all, sets) = ((1u32 << n) - 1, minors::sets(n, without));
    let mut of_columns = vec![E::ZERO; 1 << n];
    for (rows, out) in sets.iter().zip(out.chunks_exact_mut(sets.len())) {
        // Laplace expansion: the minor of each set of columns, and of as many of the first rows that are left, is
        // expanded along the last of these rows.
        let left: Vec<usize> = minors::members(all & !rows).collect();
        of_columns[0] = E::ONE;
        for set in 1..=all {
            let size = set.count_ones() as usize;
            if size > left.len() {
                continue;
            }
            let row = &b.elements[left[size - 1] * n..][..n];
            of_columns[set as usize] = minors::members(set).fold(E::ZERO, |sum, j| {
                let term = row[j] * of_columns[(set & !(1 << j)) as usize];
                if (set >> (j + 1)).count_ones() % 2 == 1 { sum - term } else { sum + term }
            });
        }
        let size: i64 = left.iter().map(|i| b.rows[*i]).sum();
        for (columns, out) in sets.iter().zip(out) {
            let left = all & !columns;
            let minor =
                scaled(of_columns[left as usize], size + minors::members(left).map(|j| b.columns[j]).sum::<i64>());
            *out = if minors::is_odd(*rows) != minors::is_odd(*columns) { -minor } else { minor };
        }
    }
}

/// The condition number up to which cofactors are those of the inverse. The determinant and the inverse are made of the
/// same factors, so what the smallest singular value loses in one it gains in the other: the error is about that of the
/// rounding unit times the quotient of the largest singular value and the second smallest one, as by any elimination.
pub(super) fn most_condition<E: Real>() -> f64 {
    <E as num_traits::Float>::epsilon().as_f64().powf(-2.0 / 3.0)
}

/// The cofactors of a large matrix: by the inverse if that is exact, else by elimination with the largest pivots of all,
/// which come last if they are small.
fn cofactors<E: Real>(n: usize, b: &Balanced<E>, out: &mut [E]) {
    let (whole_rows, whole_columns) = (b.rows.iter().sum::<i64>(), b.columns.iter().sum::<i64>());
    let mut give = |i: usize, j: usize, x: E, size: i64| {
        out[i * n + j] = scaled(x, size + whole_rows - b.rows[i] + whole_columns - b.columns[j]);
    };
    let norm = |x: &[E]| {
        (0..n).map(|i| x[i * n..(i + 1) * n].iter().map(|x| abs(*x).as_f64()).sum::<f64>()).fold(0.0, f64::max)
    };
    let (mut x, mut lu, mut p) = (vec![E::ZERO; n * n], vec![E::ZERO; n * n], vec![0; n]);
    lu_factor(n, &b.elements, &mut lu, &mut p);
    inverse_of_factors(n, (&lu, &p), &mut x);
    if is_finite(&x) && norm(&x) * norm(&b.elements) <= most_condition::<E>() {
        let (det, size) = factors::product(Direct::<E>::new(), n, |i| lu[i * n + i], is_odd(&p));
        (0..n * n).for_each(|at| give(at % n, at / n, x[at] * det, size));
        return;
    }
    let Eliminated { lu, rows, columns, odd } = eliminated(n, &b.elements);
    let (upper, size) = adjugate_of_upper(n, &lu);
    // The transpose of `adj(u) l^-1`, as `l^-T adj(u)^T`.
    (0..n * n).for_each(|at| x[at] = upper[at % n * n + at / n]);
    TriangleView { of: &lu, n, transposed: true, lower: false, unit: true }.solve(&mut x, n);
    for at in 0..n * n {
        give(rows[at / n], columns[at % n], if odd { -x[at] } else { x[at] }, size);
    }
}

/// The adjugate of the upper triangle of a matrix, and the exponent of the power of two by which to multiply it. The
/// adjugate of the leading block with one more row and column follows from that of the block before without a division.
fn adjugate_of_upper<E: Real>(n: usize, u: &[E]) -> (Vec<E>, i64) {
    let (mut adjugate, mut det, mut size) = (vec![E::ZERO; n * n], E::ONE, 0);
    for k in 0..n {
        let pivot = u[k * n + k];
        for i in 0..k {
            let row = &mut adjugate[i * n..i * n + k + 1];
            let moved = (i..k).fold(E::ZERO, |sum, j| sum + row[j] * u[j * n + k]);
            row[..k].iter_mut().for_each(|x| *x *= pivot);
            row[k] = -moved;
        }
        adjugate[k * n + k] = det;
        det *= pivot;
        let here = exponent(adjugate.iter().copied().chain([det]));
        adjugate.iter_mut().for_each(|x| *x = scaled(*x, -here));
        det = scaled(det, -here);
        size += here;
    }
    (adjugate, size)
}

/// The LU factors of a matrix with permuted rows and columns, both permutations, and whether their product is odd.
struct Eliminated<E> {
    lu: Vec<E>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    odd: bool,
}

/// Elimination with complete pivoting: the next pivot is the element that is left with the largest absolute value, and
/// among equal ones the first in the row-major order of the matrix.
fn eliminated<E: Real>(n: usize, a: &[E]) -> Eliminated<E> {
    let (mut lu, mut rows, mut columns) = (a.to_vec(), (0..n).collect::<Vec<usize>>(), (0..n).collect::<Vec<usize>>());
    let mut odd = false;
    for k in 0..n {
        let (mut best, mut at) = (E::ZERO - E::ONE, (k, k));
        for i in k..n {
            for j in k..n {
                let x = abs(lu[i * n + j]);
                let earlier = x == best && (rows[i], columns[j]) < (rows[at.0], columns[at.1]);
                if x > best || earlier {
                    (best, at) = (x, (i, j));
                }
            }
        }
        if at.0 != k {
            (0..n).for_each(|j| lu.swap(k * n + j, at.0 * n + j));
            rows.swap(k, at.0);
            odd = !odd;
        }
        if at.1 != k {
            (0..n).for_each(|i| lu.swap(i * n + k, i * n + at.1));
            columns.swap(k, at.1);
            odd = !odd;
        }
        if best == E::ZERO {
            continue;
        }
        for i in k + 1..n {
            let (above, below) = lu.split_at_mut(i * n);
            let (pivot, row) = (&above[k * n..k * n + n], &mut below[..n]);
            let factor = row[k] / pivot[k];
            row[k] = factor;
            row[k + 1..].iter_mut().zip(&pivot[k + 1..]).for_each(|(x, p)| *x -= factor * *p);
        }
    }
    Eliminated { lu, rows, columns, odd }
}

/// The permutations of rows and columns by complete pivoting, and the sign of their product; NaN in place of the sign
/// if the last pivot that derivatives divide by, the one before the last [`minors::LAST`], is small.
pub(crate) fn pivots<E: Real>(n: usize, a: &[E], rows: &mut [i64], columns: &mut [i64]) -> E {
    if !is_finite(a) {
        (0..n).for_each(|i| (rows[i], columns[i]) = (i as i64, i as i64));
        return nan();
    }
    let found = eliminated(n, a);
    (0..n).for_each(|i| (rows[i], columns[i]) = (found.rows[i] as i64, found.columns[i] as i64));
    let epsilon = num_traits::Float::sqrt(<E as num_traits::Float>::epsilon());
    let is_small = |k: usize| abs(found.lu[k * n + k]) <= epsilon * abs(found.lu[0]);
    match n.checked_sub(minors::LAST + 1).is_some_and(is_small) {
        true => nan(),
        false if found.odd => -E::ONE,
        false => E::ONE,
    }
}
