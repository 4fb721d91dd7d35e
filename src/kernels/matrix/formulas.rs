//! Matrices of two and three rows by formulas: determinants, cofactors and inverses.
//!
//! Laws: a minor of two rows is exact to rounding, however much of it cancels, since products are taken with their
//! rounding errors. So a determinant has the error of one by elimination, and a matrix of small integers its exact
//! determinant. The error of a product is a number, so machines with and without fused multiply-add give the same bits.

use polygrad_math::{Arithmetic, Machine, WithoutFma};

use super::factors::sign_and_log;
use super::machine::{MachineCell, MatrixLayout, MatrixMachine};

/// A result that has a formula.
#[derive(Clone, Copy)]
pub(crate) enum ClosedForm {
    Det,
    SlogDet,
    Cofactors,
    Inverse,
}

/// `a d - b c`.
#[inline(always)]
fn minor<R: Arithmetic, F: Machine>([a, b, c, d]: [R; 4]) -> R {
    let (p, q) = (a * d, b * c);
    (p - q) + (R::product_error::<F>(a, d, p) - R::product_error::<F>(b, c, q))
}

/// Writes the cofactors of matrices of two or three rows, and returns the determinants.
#[inline(always)]
pub(crate) fn cofactors<M: MatrixMachine, F: Machine>(m: M, n: usize, a: &M::Reals, out: &mut M::Reals) -> M::Real {
    let to = MatrixLayout::rows(n);
    if n == 2 {
        let [x, y, z, w] = [0, 1, 2, 3].map(|at| m.load(a, at.into()));
        let zero = M::Real::literal(0.0);
        // Zero minus zero is not a negative zero.
        for (at, x) in [w, zero - z, zero - y, x].into_iter().enumerate() {
            m.store(out, at.into(), x);
        }
        return minor::<M::Real, F>([x, y, z, w]);
    }
    for i in m.first(3) {
        let (below, last) = (m.remainder(i + 1, 3), m.remainder(i + 2, 3));
        for j in m.first(3) {
            // In this order of rows and columns the sign is part of the minor.
            let (beside, end) = (m.remainder(j + 1, 3), m.remainder(j + 2, 3));
            let (x, y) = (m.load(a, to.at(below, beside)), m.load(a, to.at(below, end)));
            let (z, w) = (m.load(a, to.at(last, beside)), m.load(a, to.at(last, end)));
            m.store(out, to.at(i, j), minor::<M::Real, F>([x, y, z, w]));
        }
    }
    let term = |j: usize| m.load(a, j.into()) * m.load(out, j.into());
    term(0) + term(1) + term(2)
}

/// Writes the transposed cofactors over the determinant; NaN if that is zero.
#[inline(always)]
pub(crate) fn inverse<M: MatrixMachine>(m: M, n: usize, cofactors: &M::Reals, det: M::Real, out: &mut M::Reals) {
    let (is_zero, to) = (det.equals(M::Real::literal(0.0)), MatrixLayout::rows(n));
    for i in m.first(n) {
        for j in m.first(n) {
            let quotient = m.load(cofactors, to.at(j, i)) / det;
            m.store(out, to.at(i, j), M::Real::select(is_zero, M::Real::literal(f64::NAN), quotient));
        }
    }
}

/// Divides rows and columns by powers of two, so that the largest element of each is moderate. Writes the exponents of
/// rows, and then of columns, and returns the sum of all.
#[inline(always)]
pub(crate) fn balance<M: MatrixMachine>(m: M, n: usize, a: &mut M::Reals, sizes: &mut M::Ints) -> M::Int {
    let (rows, none) = (MatrixLayout::rows(n), m.subtract(m.int(0.into()), m.int(100_000.into())));
    let mut whole = m.int_cell(m.int(0.into()));
    // Only powers are divided twice, so that no element leaves the range between.
    for transposed in [false, true] {
        let to = rows.transposed(transposed);
        for i in m.first(n) {
            let mut most = m.int_cell(none);
            for j in m.first(n) {
                let x = m.load(a, to.at(i, j));
                let power = m.exponent(x);
                let power = if transposed { m.subtract(power, m.load_int(sizes, j)) } else { power };
                let larger = m.before(most.get(), power) & !x.equals(M::Real::literal(0.0));
                most.set(m.select_int(larger, power, most.get()));
            }
            let size = m.select_int(m.same(most.get(), none), m.int(0.into()), most.get());
            m.store_int(sizes, if transposed { i + n } else { i }, size);
            whole.set(m.add(whole.get(), size));
        }
    }
    for i in m.first(n) {
        for j in m.first(n) {
            let size = m.add(m.load_int(sizes, i), m.load_int(sizes, j + n));
            m.store(a, rows.at(i, j), m.scaled(m.load(a, rows.at(i, j)), m.negated(size)));
        }
    }
    whole.get()
}

/// Writes the results for matrices of two or three rows, which are balanced first, whatever their scale is. A
/// logarithm is the second result; NaN where an element is not finite.
#[inline(always)]
pub(crate) fn of_any_scale<M: MatrixMachine>(
    m: M,
    n: usize,
    form: ClosedForm,
    a: &mut M::Reals,
    results: &mut [&mut M::Reals],
) {
    use std::borrow::BorrowMut;
    let finite = m.are_finite(a, 0.into(), (n * n).into());
    let (mut sizes, mut memory, to) = (m.ints(2 * n), m.reals(n * n), MatrixLayout::rows(n));
    let (sizes, of) = (sizes.borrow_mut(), memory.borrow_mut());
    let whole = balance(m, n, a, sizes);
    let det = cofactors::<M, WithoutFma>(m, n, a, of);
    let elements = match form {
        ClosedForm::Det | ClosedForm::SlogDet => 1,
        ClosedForm::Cofactors | ClosedForm::Inverse => n * n,
    };
    match form {
        ClosedForm::Det => m.store(results[0], 0.into(), m.scaled(det, whole)),
        ClosedForm::SlogDet => {
            let [sign, log] = sign_and_log(m, 1, |_| det, m.mask(false));
            m.store(results[0], 0.into(), sign);
            m.store(results[1], 0.into(), log + m.real(whole) * M::Real::literal(M::UNIT * 2f64.ln()));
        }
        ClosedForm::Cofactors => {
            for i in m.first(n) {
                for j in m.first(n) {
                    let size = m.add(m.load_int(sizes, i), m.load_int(sizes, j + n));
                    let x = m.scaled(m.load(of, to.at(i, j)), m.subtract(whole, size));
                    m.store(results[0], to.at(i, j), x);
                }
            }
        }
        ClosedForm::Inverse => {
            inverse(m, n, of, det, results[0]);
            for i in m.first(n) {
                for j in m.first(n) {
                    let size = m.add(m.load_int(sizes, j), m.load_int(sizes, i + n));
                    let x = m.scaled(m.load(results[0], to.at(i, j)), m.negated(size));
                    m.store(results[0], to.at(i, j), x);
                }
            }
        }
    }
    results.iter_mut().for_each(|x| m.fill_unless(finite, x, elements));
}
