//! QR factors by Householder reflections as trees.
//!
//! Laws: columns times powers of two give the same `q`, and the columns of `r` times these powers. A column is as exact
//! as its largest element below the rows that are done, however small that is.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression};
use super::super::writer::Writer;
use super::{Grid, One, Range, Wide, scale};
use crate::dtype::DType;
use crate::ops::{Compare, Unary};

/// Reflects a column of `x` from row `j` on, by a vector whose first element is 1, and whose others are in column `j`
/// of `v`.
pub(super) fn reflect(
    w: &mut Writer,
    dtype: DType,
    [j, end]: [&ElementIndex; 2],
    v: &Grid,
    tau: &Expression,
    (x, column): (&Grid, &ElementIndex),
) {
    let product = w.var(dtype, x.load(j, column));
    let rest = || (j.clone().plus_constant(1), end.clone());
    w.for_range(rest(), false, |w, i| {
        let term = Expression::product(dtype, v.load(i, j), x.load(i, column));
        w.set(product, Expression::sum(dtype, Expression::Variable(product), term));
    });
    w.set(product, Expression::product(dtype, Expression::Variable(product), tau.clone()));
    x.store(w, j, column, Expression::minus(dtype, x.load(j, column), Expression::Variable(product)));
    w.for_range(rest(), false, |w, i| {
        let rest = Expression::minus_product(dtype, x.load(i, column), v.load(i, j), Expression::Variable(product));
        x.store(w, i, column, rest);
    });
}

/// Replaces column `j` from row `j` on by the vector of the reflection that takes it to a multiple of the first unit
/// vector, and that multiple; writes the factor of the reflection, which is 0 for zeros below the first element.
pub(super) fn reflection(w: &mut Writer, dtype: DType, m: usize, x: &Grid, j: &ElementIndex, tau: &ElementPlace) {
    let (next, range) = (j.clone().plus_constant(1), Range::of_squares(dtype));
    let any = w.var(DType::Bool, Expression::mask(false));
    w.range(next.clone(), at(m), |w, i| {
        let is_other = Expression::compare(Compare::Ne, x.load(i, j), Expression::zero(dtype));
        w.set(any, Expression::or(Expression::Variable(any), is_other));
    });
    w.if_else(
        Expression::Variable(any),
        |w| {
            let size = scale(w, dtype, range, (j, &at(m)), |i| x.position(i, j), &x.place);
            let squares = w.var(dtype, Expression::zero(dtype));
            w.range(j.clone(), at(m), |w, i| {
                let square = Expression::product(dtype, x.load(i, j), x.load(i, j));
                w.set(squares, Expression::sum(dtype, Expression::Variable(squares), square));
            });
            let length = w.named(dtype, Expression::unary(dtype, Unary::Sqrt, Expression::Variable(squares)));
            let first = w.named(dtype, x.load(j, j));
            let is_positive = Expression::compare(Compare::Gt, first.clone(), Expression::zero(dtype));
            let far = Expression::either(is_positive, Expression::unary(dtype, Unary::Neg, length.clone()), length);
            let far = w.named(dtype, far);
            let rest = w.named(dtype, Expression::minus(dtype, first, far.clone()));
            w.range(next, at(m), |w, i| {
                x.store(w, i, j, Expression::over(dtype, x.load(i, j), rest.clone()));
            });
            let factor = Expression::over(dtype, Expression::unary(dtype, Unary::Neg, rest), far.clone());
            w.store(tau, j, factor);
            let onto = Wide::scaled(w, dtype, range, [far, Expression::Variable(size)]).float(w);
            x.store(w, j, j, onto);
        },
        |w| w.store(tau, j, Expression::zero(dtype)),
    );
}

pub(super) fn qr(w: &mut Writer, of: &One<'_>) {
    let ([m, n], dtype) = (of.sizes, of.dtype);
    let k = m.min(n);
    if k == 0 {
        return;
    }
    of.if_finite(w, |w| {
        let (x, range) = (Grid::scratch(w, dtype, [m, n]), Range::of_squares(dtype));
        let (q, r) = (Grid::of(&of.out[0], k), Grid::of(&of.out[1], n));
        let (sizes, taus) = (w.scratch(DType::I64, n), w.scratch(dtype, k));
        w.copy(&of.operands[0], &x.place, m * n);
        w.for_(n, |w, j| {
            let size = scale(w, dtype, range, (&start(), &at(m)), |i| x.position(i, j), &x.place);
            w.store(&sizes, j, Expression::Variable(size));
        });
        w.for_(k, |w, j| {
            reflection(w, dtype, m, &x, j, &taus);
            w.range(j.clone().plus_constant(1), at(n), |w, column| {
                reflect(w, dtype, [j, &at(m)], &x, &taus.load(j), (&x, column));
            });
        });
        w.for_box(&[m, k], &mut |w, at| {
            let here = Expression::compare(
                Compare::Eq,
                Expression::Position(at[0].clone()),
                Expression::Position(at[1].clone()),
            );
            q.store(w, &at[0], &at[1], Expression::either(here, Expression::one(dtype), Expression::zero(dtype)));
        });
        // Backwards by a counter that counts up, whose range compilers see.
        w.for_(k, |w, done| {
            let j = done.clone().times(-1).plus_constant(k as i64 - 1);
            w.range(j.clone(), at(k), |w, column| {
                reflect(w, dtype, [&j, &at(m)], &x, &taus.load(&j), (&q, column));
            });
        });
        // The diagonal is not negative.
        w.for_(k, |w, i| {
            let down = w.named(DType::Bool, Expression::compare(Compare::Lt, x.load(i, i), Expression::zero(dtype)));
            let turned =
                |x: Expression| Expression::either(down.clone(), Expression::unary(dtype, Unary::Neg, x.clone()), x);
            w.range(start(), i.clone(), |w, j| r.store(w, i, j, Expression::zero(dtype)));
            w.range(i.clone(), at(n), |w, j| {
                let x = Wide::scaled(w, dtype, range, [turned(x.load(i, j)), sizes.load(j)]).float(w);
                r.store(w, i, j, x);
            });
            w.for_(m, |w, row| q.store(w, row, i, turned(q.load(row, i))));
        });
    });
}
