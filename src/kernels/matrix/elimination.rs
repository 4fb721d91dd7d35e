//! Elimination with complete pivoting, and what is made of it.
//!
//! Laws: the next pivot is the element that is left with the largest absolute value, and among equal ones the first in
//! the order of the matrix. Small pivots come last, so a singular matrix has its cofactors: no number that may be zero
//! divides them.

use std::borrow::BorrowMut;

use polygrad_math::Arithmetic;

use super::factors::{SolvedTriangle, identity};
use super::machine::{MachineCell, MatrixLayout, UniformMachine};
use crate::ops::minors::LAST;

/// Eliminates in place. Writes the orders of rows and of columns, and returns whether both together are odd.
pub(crate) fn eliminate<M: UniformMachine>(
    m: M,
    n: usize,
    a: &mut M::Reals,
    [rows, columns]: [&mut M::Ints; 2],
) -> M::Mask {
    let to = MatrixLayout::rows(n);
    let mut odd = m.mask_cell(m.mask(false));
    identity(m, n.into(), rows);
    identity(m, n.into(), columns);
    for k in m.first(n) {
        let mut best = m.real_cell(M::Real::literal(-1.0));
        // Where the pivot is, and the numbers of its row and column before exchanges.
        let [mut row, mut column] = [(); 2].map(|()| m.int_cell(m.int(k)));
        let [mut of_row, mut of_column] = [(); 2].map(|()| m.int_cell(m.int(0.into())));
        for i in m.range(k, n) {
            for j in m.range(k, n) {
                let size = m.load(a, to.at(i, j)).magnitude();
                for _ in m.wherever(size.at_least(best.get())) {
                    let (here, there) = (m.load_int(rows, i), m.load_int(columns, j));
                    let in_row = m.same(here, of_row.get()) & m.before(there, of_column.get());
                    let earlier = m.before(here, of_row.get()) | in_row;
                    for _ in m.wherever(size.above(best.get()) | earlier) {
                        best.set(size);
                        row.set(m.int(i));
                        column.set(m.int(j));
                        of_row.set(here);
                        of_column.set(there);
                    }
                }
            }
        }
        for (pivot, order, to) in [(row, &mut *rows, to), (column, &mut *columns, to.transposed(true))] {
            for here in m.wherever(!m.same(pivot.get(), m.int(k))) {
                for pivot in m.position(pivot.get(), n) {
                    for j in m.first(n) {
                        m.exchange(here, a, [to.at(k, j), to.at(pivot, j)]);
                    }
                    m.exchange_ints(here, order, [k, pivot]);
                    m.flip(here, &mut odd);
                }
            }
        }
        for _ in m.wherever(!best.get().equals(M::Real::literal(0.0))) {
            let pivot = m.load(a, to.at(k, k));
            for i in m.range(k + 1, n) {
                let factor = m.load(a, to.at(i, k)) / pivot;
                m.store(a, to.at(i, k), factor);
                m.subtract_row(a, [i * n, k * n], [k + 1, n.into()], factor);
            }
        }
    }
    odd.get()
}

/// Writes the orders of rows and of columns of a matrix, which is replaced, and returns the sign of both together; NaN
/// in its place if the last pivot that derivatives divide by, the one before the last [`LAST`], is small.
pub(crate) fn pivots<M: UniformMachine>(
    m: M,
    n: usize,
    a: &mut M::Reals,
    [rows, columns]: [&mut M::Ints; 2],
) -> M::Real {
    let finite = m.are_finite(a, 0.into(), (n * n).into());
    let odd = eliminate(m, n, a, [&mut *rows, &mut *columns]);
    let nan = M::Real::literal(f64::NAN);
    let mut sign = M::Real::select(odd, M::Real::literal(-1.0), M::Real::literal(1.0));
    if let Some(k) = n.checked_sub(LAST + 1) {
        let [last, first] = [k * (n + 1), 0].map(|at| m.load(a, at.into()).magnitude());
        sign = M::Real::select(last.at_most(M::Real::literal(M::EPSILON.sqrt()) * first), nan, sign);
    }
    for _ in m.wherever(!finite) {
        identity(m, n.into(), rows);
        identity(m, n.into(), columns);
    }
    M::Real::select(finite, sign, nan)
}

/// Writes the adjugate of the upper triangle of a matrix, and after it the determinant; returns the exponent of the power
/// of two by which to multiply them. The adjugate of the leading block with one more row and column follows from that of
/// the block before without a division.
fn adjugate_of_upper<M: UniformMachine>(m: M, n: usize, u: &M::Reals, x: &mut M::Reals) -> M::Int {
    let (to, det) = (MatrixLayout::rows(n), M::Index::from(n * n));
    let mut size = m.int_cell(m.int(0.into()));
    for at in m.first(n * n) {
        m.store(x, at, M::Real::literal(0.0));
    }
    m.store(x, det, M::Real::literal(1.0));
    for k in m.first(n) {
        let pivot = m.load(u, to.at(k, k));
        for i in m.first(k) {
            let mut moved = m.real_cell(M::Real::literal(0.0));
            for j in m.range(i, k) {
                moved.set(moved.get() + m.load(x, to.at(i, j)) * m.load(u, to.at(j, k)));
            }
            for j in m.range(i, k) {
                m.store(x, to.at(i, j), m.load(x, to.at(i, j)) * pivot);
            }
            m.store(x, to.at(i, k), -moved.get());
        }
        m.store(x, to.at(k, k), m.load(x, det));
        m.store(x, det, m.load(x, det) * pivot);
        let here = m.exponent(m.largest(x, m.first(n * n + 1), |at| at));
        m.scale(x, m.first(n * n + 1), |at| at, m.negated(here));
        size.set(m.add(size.get(), here));
    }
    size.get()
}

/// Writes the cofactors of a matrix that is [balanced](super::formulas::balance), and which is replaced.
pub(crate) fn cofactors<M: UniformMachine>(
    m: M,
    n: usize,
    (a, sizes, whole): (&mut M::Reals, &M::Ints, M::Int),
    out: &mut M::Reals,
) {
    let (mut rows, mut columns, mut memory) = (m.ints(n), m.ints(n), m.reals(n * n + 1));
    let (rows, columns, x) = (rows.borrow_mut(), columns.borrow_mut(), memory.borrow_mut());
    let odd = eliminate(m, n, a, [&mut *rows, &mut *columns]);
    let size = m.add(adjugate_of_upper(m, n, a, x), whole);
    // The transpose of `adj(u) l^-1`, as `l^-T adj(u)^T`.
    let (to, lower) = (MatrixLayout::rows(n), SolvedTriangle { n, transposed: true, lower: false, unit: true });
    let of_x = to.transposed(true);
    for c in m.first(n) {
        lower.substitute(m, n.into(), a, x, |i| of_x.at(i, c));
    }
    for i in m.first(n) {
        for row in m.position(m.load_int(rows, i), n) {
            for j in m.first(n) {
                for column in m.position(m.load_int(columns, j), n) {
                    let left_out = m.add(m.load_int(sizes, row), m.load_int(sizes, column + n));
                    let x = m.load(x, of_x.at(i, j));
                    let x = m.scaled(M::Real::select(odd, -x, x), m.subtract(size, left_out));
                    m.store(out, to.at(row, column), x);
                }
            }
        }
    }
}
