//! Matrix products in which a factor 0 makes a product 0, and the equations for the tangents of eigenvectors, as trees.
//!
//! Law: a column of a result depends on the same column of the right-hand side alone; a column of zeros gives zeros.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, Expression};
use super::super::writer::Writer;
use super::{Grid, One, all_of, is_zero};
use crate::dtype::DType;
use crate::ops::{Binary, Compare};

/// Writes the product of two matrices.
pub(super) fn product(
    w: &mut Writer,
    dtype: DType,
    [rows, depth, columns]: [usize; 3],
    [a, b, out]: [&Grid; 3],
    times: impl Fn(Expression, Expression) -> Expression,
) {
    w.for_box(&[rows, columns], &mut |w, place| {
        let [i, j] = [&place[0], &place[1]];
        let sum = w.var(dtype, Expression::zero(dtype));
        w.for_(depth, |w, k| {
            let term = times(a.load(i, k), b.load(k, j));
            w.set(sum, Expression::sum(dtype, Expression::Variable(sum), term));
        });
        out.store(w, i, j, Expression::Variable(sum));
    });
}

pub(super) fn product_of(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let ([m, n], dtype, columns) = (of.sizes, of.dtype, of.columns);
    let [rows, depth] = if transposed { [n, m] } else { [m, n] };
    let a = Grid::of(&of.operands[0], n).transposed(transposed);
    let (b, out) = (Grid::of(&of.operands[1], columns), Grid::of(&of.out[0], columns));
    product(w, dtype, [rows, depth, columns], [&a, &b, &out], |a, b| Expression::binary(dtype, Binary::MulNoNan, a, b));
}

pub(super) fn eigh_solve(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    if n == 0 {
        return;
    }
    let [_, x, values, vectors] = of.operands else { unreachable!("the equations have four operands") };
    let (x, v, out) = (Grid::of(x, n), Grid::of(vectors, n), Grid::of(&of.out[0], n));
    let coefficients = w.scratch(dtype, n);
    let fill = |w: &mut Writer, j: &ElementIndex, value: &dyn Fn() -> Expression| {
        w.for_(n + 1, |w, i| out.store(w, i, j, value()));
    };
    w.for_(n, |w, j| {
        let zero = all_of(w, n + 1, |i| is_zero(dtype, x.load(i, j)));
        w.if_else(
            zero,
            |w| fill(w, j, &|| Expression::zero(dtype)),
            |w| {
                let [regular, finite] = coefficients_of(w, dtype, n, j, (&x, &v, &out), (values, &coefficients));
                w.if_else(
                    finite,
                    |w| {
                        w.for_(n, |w, l| {
                            let sum = w.var(dtype, Expression::zero(dtype));
                            w.for_(n, |w, i| {
                                let term = Expression::product(dtype, v.load(l, i), coefficients.load(i));
                                w.set(sum, Expression::sum(dtype, Expression::Variable(sum), term));
                            });
                            out.store(w, l, j, Expression::Variable(sum));
                        });
                    },
                    |w| {
                        w.for_(n, |w, i| out.store(w, i, j, Expression::nan(dtype)));
                        // The tangent of the eigenvalue has no gaps.
                        let end = Expression::either(regular, out.load(&at(n), j), Expression::nan(dtype));
                        out.store(w, &at(n), j, end);
                    },
                );
            },
        );
    });
}

/// Writes the coefficients of a solution in the eigenvectors, and its last element; returns whether what gaps divide is finite, and
/// whether the coefficients are.
fn coefficients_of(
    w: &mut Writer,
    dtype: DType,
    n: usize,
    j: &ElementIndex,
    (x, v, out): (&Grid, &Grid, &Grid),
    (values, coefficients): (&super::super::tree::ElementPlace, &super::super::tree::ElementPlace),
) -> [Expression; 2] {
    let [regular, check] = [(); 2].map(|()| w.cell(dtype, Expression::zero(dtype)));
    let add = |w: &mut Writer, cell: &super::super::tree::ElementPlace, x: Expression| {
        let none = Expression::product(dtype, x, Expression::zero(dtype));
        w.store(cell, &start(), Expression::sum(dtype, cell.load(&start()), none));
    };
    add(w, &regular, x.load(&at(n), j));
    w.for_(n, |w, i| {
        let sum = w.var(dtype, Expression::zero(dtype));
        w.for_(n, |w, l| {
            let term = Expression::product(dtype, v.load(l, i), x.load(l, j));
            w.set(sum, Expression::sum(dtype, Expression::Variable(sum), term));
        });
        let sum = Expression::Variable(sum);
        let here = Expression::compare(Compare::Eq, Expression::Position(i.clone()), Expression::Position(j.clone()));
        w.if_(here.clone(), |w| out.store(w, &at(n), j, sum.clone()));
        let gap = Expression::minus(dtype, values.load(j), values.load(i));
        let quotient = Expression::over(dtype, sum.clone(), gap);
        let other = Expression::either(is_zero(dtype, sum.clone()), Expression::zero(dtype), quotient);
        let coefficient = w.named(dtype, Expression::either(here, x.load(&at(n), j), other));
        w.store(coefficients, i, coefficient.clone());
        add(w, &regular, sum);
        add(w, &regular, values.load(i));
        add(w, &check, coefficient);
    });
    let regular = w.named(DType::Bool, is_zero(dtype, regular.load(&start())));
    let finite = Expression::and(regular.clone(), is_zero(dtype, check.load(&start())));
    [regular, w.named(DType::Bool, finite)]
}
