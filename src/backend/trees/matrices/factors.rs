//! Cholesky and LU factors as trees, the operations made of them, and matrices of two and three rows by formulas.
//!
//! The algorithms are those of the kernels: see [`factors`] and [`formulas`].

use super::super::writer::Writer;
use super::One;
use super::machine::write_algorithm;
use crate::kernels::matrix::factors::{self, SolvedTriangle};
use crate::kernels::matrix::formulas::{self, ClosedForm};
use crate::kernels::matrix::machine::{MatrixLayout, MatrixMachine, UniformMachine};
use crate::ops::Matrix;

/// The formula for the result of an operation on matrices of two or three rows.
pub(super) fn formula(op: Matrix, n: usize) -> Option<ClosedForm> {
    let forms = [
        (Matrix::Det, ClosedForm::Det),
        (Matrix::SlogDet, ClosedForm::SlogDet),
        (Matrix::Minors { without: 1 }, ClosedForm::Cofactors),
        (Matrix::Inverse, ClosedForm::Inverse),
    ];
    forms.into_iter().find(|(of, _)| matches!(n, 2 | 3) && *of == op).map(|(_, form)| form)
}

pub(super) fn by_formula(w: &mut Writer, of: &One<'_>, form: ClosedForm) {
    let n = of.sizes[1];
    write_algorithm!(w, of.dtype, |m| {
        let (mut a, mut out) = (m.reals(n * n), of.out.to_vec());
        m.write(|w| w.copy(&of.operands[0], &a, n * n));
        formulas::of_any_scale(m, n, form, &mut a, &mut out.iter_mut().collect::<Vec<_>>());
    });
}

/// The result that is made of factors, in a copy of the matrix.
pub(super) fn of_factors(w: &mut Writer, op: Matrix, of: &One<'_>) {
    let [_, n] = of.sizes;
    write_algorithm!(w, of.dtype, |m| {
        let mut out = of.out.to_vec();
        // Factors take the place of a result.
        let kept = match (op == Matrix::Lu, matches!(op, Matrix::Cholesky | Matrix::LuFactor)) {
            (true, _) => Some(1),
            (false, true) => Some(0),
            (false, false) => None,
        };
        let mut a = kept.map_or_else(|| m.reals(n * n), |k| out[k].clone());
        m.write(|w| w.copy(&of.operands[0], &a, n * n));
        if let Matrix::Cholesky = op {
            return factors::cholesky(m, n, &mut a);
        }
        if let (Some(_), Some(order)) = (kept, out.last_mut()) {
            factors::packed(m, n, &mut a, order);
            if let Matrix::Lu = op {
                factors::apart(m, n, &mut a, &mut out[0]);
            }
            return;
        }
        let mut order = m.ints(n);
        let [odd, finite] = factors::factored(m, n, &mut a, &mut order);
        let diagonal = |i| m.load(&a, MatrixLayout::rows(n).at(i, i));
        if let Matrix::Inverse = op {
            factors::inverse(m, n, &a, &order, &mut out[0]);
            let good = finite & factors::is_regular(m, n, &a);
            return m.fill_unless(good, &mut out[0], n * n);
        }
        if let Matrix::Det = op {
            let (x, size) = factors::product(m, n, diagonal, odd);
            m.store(&mut out[0], 0.into(), m.scaled(x, size));
        } else {
            let both = factors::sign_and_log(m, n, diagonal, odd);
            out.iter_mut().zip(both).for_each(|(out, x)| m.store(out, 0.into(), x));
        }
        out.iter_mut().for_each(|x| m.fill_unless(finite, x, 1));
    });
}

pub(super) fn solve(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let [_, n] = of.sizes;
    let [_, _, lu, order] = of.operands else { unreachable!("a solution has four operands") };
    if n * of.columns == 0 {
        return;
    }
    let triangles = [!transposed, transposed].map(|l| SolvedTriangle::of_factors(n, l, transposed));
    write_algorithm!(w, of.dtype, |m| {
        let good = m.are_finite(lu, 0.into(), (n * n).into());
        let good = good & factors::is_regular(m, n, lu);
        let (b, x) = ((&of.operands[1], of.columns), &mut of.out[0].clone());
        factors::solve_columns(m, (&triangles, lu), good, (Some(order), transposed), b, x);
    });
}

pub(super) fn solve_triangular(w: &mut Writer, of: &One<'_>, [lower, transposed, unit]: [bool; 3]) {
    let triangle = SolvedTriangle { n: of.sizes[1], transposed, lower: lower != transposed, unit };
    let a = &of.operands[0];
    if triangle.n * of.columns == 0 {
        return;
    }
    let b = (&of.operands[1], of.columns);
    write_algorithm!(w, of.dtype, |m| m.solve_triangle(triangle, a, b, &mut of.out[0].clone()));
}

pub(super) fn qr(w: &mut Writer, of: &One<'_>) {
    let [rows, columns] = of.sizes;
    if rows.min(columns) == 0 {
        return;
    }
    of.if_finite(w, |w| {
        write_algorithm!(w, of.dtype, |m| {
            let mut a = m.reals(rows * columns);
            m.write(|w| w.copy(&of.operands[0], &a, rows * columns));
            m.orthogonal([rows, columns], &mut a, &mut of.out[0].clone());
            m.write(|w| w.copy(&a, &of.out[1], rows.min(columns) * columns));
        });
    });
}
