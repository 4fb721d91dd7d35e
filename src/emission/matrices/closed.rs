//! Matrices of two and three rows by formulas, as trees.
//!
//! Law: a minor of two rows is exact to rounding, since products are taken with their rounding errors. So a matrix of
//! small integers has its exact determinant.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, Expression, PositionExpr};
use super::super::writer::Writer;
use super::factors::{sign_and_log, store_both};
use super::{Balanced, Grid, One, Range, Wide, is_zero};
use crate::dtype::DType;
use crate::ops::{Compare, IntBinary};

/// A balanced matrix, its determinant and its cofactors.
struct Closed {
    balanced: Balanced,
    det: Expression,
    cofactors: Grid,
}

/// The high and the low half of the digits of a float.
fn halves(w: &mut Writer, dtype: DType, x: &Expression) -> [Expression; 2] {
    let splitter = Expression::number(dtype, if dtype == DType::F32 { 4097.0 } else { 134217729.0 });
    let shifted = w.named(dtype, Expression::product(dtype, splitter, x.clone()));
    let high = w.named(dtype, Expression::minus(dtype, shifted.clone(), Expression::minus(dtype, shifted, x.clone())));
    let low = w.named(dtype, Expression::minus(dtype, x.clone(), high.clone()));
    [high, low]
}

/// The error of the product `p = a b`.
fn error(w: &mut Writer, dtype: DType, [a, b, p]: [&Expression; 3]) -> Expression {
    let [[a, a_rest], [b, b_rest]] = [halves(w, dtype, a), halves(w, dtype, b)];
    let rest = Expression::minus_product(dtype, p.clone(), a.clone(), b.clone());
    let rest = Expression::minus_product(dtype, rest, a_rest.clone(), b.clone());
    let rest = Expression::minus_product(dtype, rest, a, b_rest.clone());
    Expression::minus(dtype, Expression::product(dtype, a_rest, b_rest), rest)
}

/// `a d - b c`.
fn minor(w: &mut Writer, dtype: DType, elements: [Expression; 4]) -> Expression {
    let [a, b, c, d] = elements.map(|x| w.named(dtype, x));
    let p = w.named(dtype, Expression::product(dtype, a.clone(), d.clone()));
    let q = w.named(dtype, Expression::product(dtype, b.clone(), c.clone()));
    let [of_p, of_q] = [[&a, &d, &p], [&b, &c, &q]].map(|factors| error(w, dtype, factors));
    Expression::sum(dtype, Expression::minus(dtype, p, q), Expression::minus(dtype, of_p, of_q))
}

impl Closed {
    /// The determinant and the cofactors of the balanced matrix, whose elements are finite.
    fn new(w: &mut Writer, of: &One<'_>) -> Closed {
        let ([_, n], dtype) = (of.sizes, of.dtype);
        let balanced = Balanced::new(w, dtype, n, &of.operands[0]);
        let (a, cofactors) = (balanced.a.clone(), Grid::scratch(w, dtype, [n, n]));
        let det = if n == 2 {
            let negated = |x: Expression| Expression::minus(dtype, Expression::zero(dtype), x);
            let load = |i: usize, j: usize| a.load(&at(i), &at(j));
            let of_two = [load(1, 1), negated(load(1, 0)), negated(load(0, 1)), load(0, 0)];
            of_two.into_iter().enumerate().for_each(|(k, x)| w.store(&cofactors.place, &at(k), x));
            minor(w, dtype, [load(0, 0), load(0, 1), load(1, 0), load(1, 1)])
        } else {
            let after = |w: &mut Writer, i: &ElementIndex| {
                [1, 2].map(|by| ElementIndex::of(w.position(PositionExpr::Remainder(i.clone().plus_constant(by), 3))))
            };
            w.for_(3, |w, i| {
                let down = after(w, i);
                w.for_(3, |w, j| {
                    // In this order of rows and columns the sign is part of the minor.
                    let right = after(w, j);
                    let elements = [[0, 0], [0, 1], [1, 0], [1, 1]].map(|[i, j]| a.load(&down[i], &right[j]));
                    let x = minor(w, dtype, elements);
                    cofactors.store(w, i, j, x);
                });
            });
            let [x, y, z] = [0, 1, 2]
                .map(|j| Expression::product(dtype, a.load(&start(), &at(j)), cofactors.load(&start(), &at(j))));
            Expression::sum(dtype, Expression::sum(dtype, x, y), z)
        };
        let det = w.named(dtype, det);
        Closed { balanced, det, cofactors }
    }
}

pub(super) fn det(w: &mut Writer, of: &One<'_>) {
    of.if_finite(w, |w| {
        let found = Closed::new(w, of);
        let det = Wide::with(w, of.dtype, [found.det, found.balanced.whole()]).float(w);
        w.store(&of.out[0], &start(), det);
    });
}

pub(super) fn slogdet(w: &mut Writer, of: &One<'_>) {
    let dtype = of.dtype;
    of.if_finite(w, |w| {
        let found = Closed::new(w, of);
        let (sign, log) = (w.var(dtype, Expression::one(dtype)), w.var(dtype, Expression::zero(dtype)));
        sign_and_log(w, dtype, found.det, [sign, log]);
        let size = found.balanced.whole();
        w.if_(Expression::compare(Compare::Ne, size.clone(), Expression::int_number(0)), |w| {
            let size = Expression::convert(DType::I64, dtype, size);
            let unit = f64::from(Range::of_powers(dtype).up) * 2f64.ln();
            let more = Expression::product(dtype, size, Expression::number(dtype, unit));
            w.set(log, Expression::sum(dtype, Expression::Variable(log), more));
        });
        store_both(w, of, [sign, log].map(Expression::Variable));
    });
}

pub(super) fn inverse(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let out = Grid::of(&of.out[0], n);
    of.if_finite(w, |w| {
        let found = Closed::new(w, of);
        w.if_else(
            is_zero(dtype, found.det.clone()),
            |w| w.fill(&out.place, n * n, Expression::nan(dtype)),
            |w| {
                w.for_box(&[n, n], &mut |w, at| {
                    let [i, j] = [&at[0], &at[1]];
                    let size = Expression::sum(DType::I64, found.balanced.rows.load(j), found.balanced.columns.load(i));
                    let size = Expression::int(IntBinary::Sub, Expression::int_number(0), size);
                    let quotient = Expression::over(dtype, found.cofactors.load(j, i), found.det.clone());
                    let x = Wide::with(w, dtype, [quotient, size]).float(w);
                    out.store(w, i, j, x);
                });
            },
        );
    });
}

pub(super) fn cofactors(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let out = Grid::of(&of.out[0], n);
    of.if_finite(w, |w| {
        let found = Closed::new(w, of);
        w.for_box(&[n, n], &mut |w, at| {
            let size = found.balanced.without(&at[0], &at[1]);
            let x = Wide::with(w, dtype, [found.cofactors.load(&at[0], &at[1]), size]).float(w);
            out.store(w, &at[0], &at[1], x);
        });
    });
}
