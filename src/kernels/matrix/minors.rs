//! Minors of a matrix, and elimination with complete pivoting.
//!
//! Laws: a singular matrix has minors like any other, since the inverse is used only for well-conditioned matrices.
//! Scaling rows and columns by powers of two scales the minors, and no partial product leaves the range of floats if
//! the minors do not.

use super::formulas::balance;
use super::machine::Direct;
use super::{Real, abs, elimination, factors, inverse_of_factors, is_finite, is_odd, lu_factor, nan, scaled};
use crate::ops::minors;

/// The minors with `without` rows and columns left out, with the signs that they have as derivatives of the
/// determinant.
pub(crate) fn minors<E: Real>(n: usize, without: usize, a: &[E], out: &mut [E]) {
    if out.is_empty() {
        return;
    }
    if !is_finite(a) {
        return out.fill(nan());
    }
    let (mut b, mut sizes) = (a.to_vec(), vec![0; 2 * n]);
    let whole = balance(Direct::<E>::new(), n, &mut b[..], &mut sizes[..]);
    if n > minors::MOST {
        return cofactors(n, (&mut b, &sizes, whole), out);
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
            let row = &b[left[size - 1] * n..][..n];
            of_columns[set as usize] = minors::members(set).fold(E::ZERO, |sum, j| {
                let term = row[j] * of_columns[(set & !(1 << j)) as usize];
                if (set >> (j + 1)).count_ones() % 2 == 1 { sum - term } else { sum + term }
            });
        }
        let size: i64 = left.iter().map(|i| sizes[*i]).sum();
        for (columns, out) in sets.iter().zip(out) {
            let left = all & !columns;
            let minor =
                scaled(of_columns[left as usize], size + minors::members(left).map(|j| sizes[n + j]).sum::<i64>());
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
fn cofactors<E: Real>(n: usize, (b, sizes, whole): (&mut [E], &[i64], i64), out: &mut [E]) {
    let norm = |x: &[E]| {
        (0..n).map(|i| x[i * n..(i + 1) * n].iter().map(|x| abs(*x).as_f64()).sum::<f64>()).fold(0.0, f64::max)
    };
    let (mut x, mut lu, mut p) = (vec![E::ZERO; n * n], vec![E::ZERO; n * n], vec![0; n]);
    lu_factor(n, b, &mut lu, &mut p);
    inverse_of_factors(n, (&lu, &p), &mut x);
    if is_finite(&x) && norm(&x) * norm(b) <= most_condition::<E>() {
        let (det, size) = factors::product(Direct::<E>::new(), n, |i| lu[i * n + i], is_odd(&p));
        for (at, out) in out.iter_mut().enumerate().take(n * n) {
            let [i, j] = [at / n, at % n];
            *out = scaled(x[j * n + i] * det, size + whole - sizes[i] - sizes[n + j]);
        }
        return;
    }
    elimination::cofactors(Direct::<E>::new(), n, (b, sizes, whole), out);
}

/// The permutations of rows and columns by complete pivoting, and the sign of their product: see
/// [`elimination::pivots`].
pub(crate) fn pivots<E: Real>(n: usize, a: &[E], rows: &mut [i64], columns: &mut [i64]) -> E {
    elimination::pivots(Direct::<E>::new(), n, &mut a.to_vec()[..], [rows, columns])
}
