//! Minors of a matrix, and elimination with complete pivoting.
//!
//! Laws: a singular matrix has minors like any other, since the inverse is used only for well-conditioned matrices.
//! Scaling rows and columns by powers of two scales the minors, and no partial product leaves the range of floats if
//! the minors do not.

use std::borrow::BorrowMut;

use polygrad_math::Arithmetic;

use super::formulas::balance;
use super::machine::{Direct, MachineCell, MatrixLayout, UniformMachine};
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
    expand(Direct::<E>::new(), (n, without), (&b, &sizes), out);
}

/// Writes the minors with `without` rows and columns left out, of a matrix that is [balanced](balance), with their signs.
///
/// Laplace expansion: the minor of each set of columns, and of as many of the first rows that are left, is expanded
/// along the last of these rows.
pub(crate) fn expand<M: UniformMachine>(
    m: M,
    (n, without): (usize, usize),
    (a, sizes): (&M::Reals, &M::Ints),
    out: &mut M::Reals,
) {
    let (zero, all, count) = (M::Real::literal(0.0), 1 << n, minors::count(n, without));
    let (int, left) = (|x: usize| m.int(x.into()), n - without);
    let [mut lengths, mut sets, mut exponents, mut rows] = [all, count, 2 * count, n].map(|len| m.ints(len));
    let (lengths, sets) = (lengths.borrow_mut(), sets.borrow_mut());
    let (exponents, rows) = (exponents.borrow_mut(), rows.borrow_mut());
    let [mut signs, mut of_columns] = [count, all].map(|len| m.reals(len));
    let (signs, of_columns) = (signs.borrow_mut(), of_columns.borrow_mut());
    // The sets that are left, in the ascending order of those that are left out.
    let mut number = m.int_cell(int(0));
    for set in m.backwards(0, all) {
        let [mut length, mut of_rows, mut of_set] = [(); 3].map(|()| m.int_cell(int(0)));
        let mut sign = m.real_cell(M::Real::literal(1.0));
        for [k, _] in m.members(set, n) {
            length.set(m.add(length.get(), int(1)));
            of_rows.set(m.add(of_rows.get(), m.load_int(sizes, k)));
            of_set.set(m.add(of_set.get(), m.load_int(sizes, k + n)));
            let odd = m.same(m.int(m.remainder(k, 2)), int(1));
            sign.set(M::Real::select(odd, -sign.get(), sign.get()));
        }
        m.store_int(lengths, set, length.get());
        for _ in m.wherever(m.same(length.get(), int(left))) {
            for at in m.position(number.get(), count) {
                m.store_int(sets, at, m.int(set));
                m.store_int(exponents, at, of_rows.get());
                m.store_int(exponents, at + count, of_set.get());
                m.store(signs, at, sign.get());
            }
            number.set(m.add(number.get(), int(1)));
        }
    }
    m.store(of_columns, 0.into(), M::Real::literal(1.0));
    for at in m.first(count) {
        for set in m.position(m.load_int(sets, at), all) {
            let mut number = m.int_cell(int(0));
            for [i, _] in m.members(set, n) {
                for at in m.position(number.get(), n) {
                    m.store_int(rows, at, m.int(i));
                }
                number.set(m.add(number.get(), int(1)));
            }
        }
        for set in m.range(1, all) {
            let length = m.load_int(lengths, set);
            for _ in m.wherever(!m.before(int(left), length)) {
                for last in m.position(m.subtract(length, int(1)), n) {
                    for row in m.position(m.load_int(rows, last), n) {
                        let mut sum = m.real_cell(zero);
                        // The last term has its sign, and signs alternate.
                        for [j, smaller] in m.members(set, n) {
                            let term = m.load(a, MatrixLayout::rows(n).at(row, j)) * m.load(of_columns, smaller);
                            sum.set(term - sum.get());
                        }
                        // Without a negative zero.
                        m.store(of_columns, set, sum.get() + zero);
                    }
                }
            }
        }
        for column in m.first(count) {
            for set in m.position(m.load_int(sets, column), all) {
                let sign = m.load(signs, at) * m.load(signs, column);
                let size = m.add(m.load_int(exponents, at), m.load_int(exponents, column + count));
                let minor = m.scaled(m.load(of_columns, set), size) * sign;
                m.store(out, MatrixLayout::rows(count).at(at, column), minor);
            }
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
