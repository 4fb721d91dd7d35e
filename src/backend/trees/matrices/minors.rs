//! Minors as trees: by Laplace expansion of few rows, and cofactors of more rows by complete pivoting.
//!
//! Laws: no division by a number that may be zero, so a singular matrix has its minors. Rows and columns are multiplied by
//! powers of two first, so no partial product leaves the range of floats if the minors do not.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression, PositionExpr, VariableId};
use super::super::writer::Writer;
use super::factors::with_position;
use super::machine::{StatementInt, write_algorithm};
use super::{Grid, One};
use crate::dtype::DType;
use crate::kernels::matrix::machine::MatrixMachine;
use crate::kernels::matrix::{elimination, formulas};
use crate::ops::minors as sets;
use polygrad_math::Arithmetic;

/// Runs statements for each number below `n`: those for a member of a set, the bits of a position, or those for another
/// number.
fn each_member(
    w: &mut Writer,
    set: &ElementIndex,
    n: usize,
    member: impl FnOnce(&mut Writer, &ElementIndex),
    other: impl FnOnce(&mut Writer, &ElementIndex),
) {
    let (bits, rest) = w.moving(set.clone());
    w.for_(n, |w, k| {
        let bit = ElementIndex::of(w.position(PositionExpr::Remainder(rest.clone(), 2)));
        w.set_position(bits, PositionExpr::Quotient(rest.clone(), 2));
        w.if_else(Expression::Below(start(), bit), |w| member(w, k), |w| other(w, k));
    });
}

fn is_odd(w: &mut Writer, position: &ElementIndex) -> Expression {
    let bit = ElementIndex::of(w.position(PositionExpr::Remainder(position.clone(), 2)));
    Expression::Below(start(), bit)
}

fn equal(position: &ElementIndex, to: usize) -> Vec<Expression> {
    vec![Expression::AtMost(at(to), position.clone()), Expression::AtMost(position.clone(), at(to))]
}

/// A set of rows or of columns that are left out: how many are left, the sum of those that are not, and the sum of the
/// exponents of those that are.
struct LeftOut {
    left: ElementIndex,
    sum: ElementIndex,
    exponent: VariableId,
}

impl LeftOut {
    /// The list gets the numbers that are left.
    fn new(
        w: &mut Writer,
        set: &ElementIndex,
        n: usize,
        exponents: &ElementPlace,
        list: Option<&ElementPlace>,
    ) -> LeftOut {
        let ((count, left), (members, sum)) = (w.moving(start()), w.moving(start()));
        let exponent = w.var(DType::I64, Expression::int_number(0));
        each_member(
            w,
            set,
            n,
            |w, k| w.move_to(members, sum.clone().plus(k)),
            |w, k| {
                if let Some(list) = list {
                    let within = Expression::Below(left.clone(), at(n));
                    w.if_(within, |w| w.store(list, &left, Expression::Position(k.clone())));
                }
                w.move_to(count, left.clone().plus_constant(1));
                w.set(exponent, Expression::sum(DType::I64, Expression::Variable(exponent), exponents.load(k)));
            },
        );
        LeftOut { left, sum, exponent }
    }
}

/// The minors with some rows and columns left out, with their signs.
pub(super) fn by_expansion(w: &mut Writer, of: &One<'_>, without: usize) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let count = sets::count(n, without);
    if count == 0 {
        return;
    }
    of.if_finite(w, |w| {
        let (a, sizes) = (Grid::scratch(w, dtype, [n, n]), w.scratch(DType::I64, 2 * n));
        w.copy(&of.operands[0], &a.place, n * n);
        write_algorithm!(w, dtype, |m| {
            formulas::balance(m, n, &mut a.place.clone(), &mut sizes.clone());
        });
        let (list, minors) = (w.scratch(DType::I64, n), w.scratch(dtype, 1 << n));
        let (row_number, row) = w.moving(start());
        w.for_(1 << n, |w, rows| {
            let of_rows = LeftOut::new(w, rows, n, &sizes, Some(&list));
            w.if_all(equal(&of_rows.left, n - without), |w| {
                expanded(w, dtype, (n, n - without), &a, &list, &minors);
                let (column_number, column) = w.moving(start());
                w.for_(1 << n, |w, columns| {
                    let of_columns = LeftOut::new(w, columns, n, &sizes.moved(&at(n)), None);
                    let mut here = equal(&of_columns.left, n - without);
                    here.extend([&row, &column].map(|number| Expression::Below(number.clone(), at(count))));
                    w.if_all(here, |w| {
                        let minor = columns.clone().times(-1).plus_constant((1 << n) - 1);
                        let odd = is_odd(w, &of_rows.sum.clone().plus(&of_columns.sum));
                        let odd = w.let_(DType::Bool, odd);
                        let place = row.clone().times(count as i64).plus(&column);
                        write_algorithm!(w, dtype, |m| {
                            let [rows, columns] = [&of_rows, &of_columns].map(|of| StatementInt::Of(of.exponent));
                            let x = m.scaled(m.load(&minors, m.index(&minor)), m.add(rows, columns));
                            m.store(&mut of.out[0].clone(), m.index(&place), Arithmetic::select(m.truth(odd), -x, x));
                        });
                        w.move_to(column_number, column.clone().plus_constant(1));
                    });
                });
                w.move_to(row_number, row.clone().plus_constant(1));
            });
        });
    });
}

/// The minors of the first rows of a list and of each set of as many columns, at most `most`: expanded along the last
/// of these rows.
fn expanded(
    w: &mut Writer,
    dtype: DType,
    (n, most): (usize, usize),
    a: &Grid,
    list: &ElementPlace,
    minors: &ElementPlace,
) {
    w.store(minors, &start(), Expression::one(dtype));
    w.range(at(1), at(1 << n), |w, set| {
        let (count, size) = w.moving(start());
        each_member(w, set, n, |w, _| w.move_to(count, size.clone().plus_constant(1)), |_, _| {});
        w.if_all(vec![Expression::AtMost(at(1), size.clone()), Expression::AtMost(size.clone(), at(most))], |w| {
            with_position(w, list.load(&size.clone().plus_constant(-1)), n, |w, row| {
                let sum = w.var(dtype, Expression::zero(dtype));
                let ((above, of_above), (bit, power)) = (w.moving(size.clone()), w.moving(at(1)));
                let double = |w: &mut Writer| w.move_to(bit, power.clone().times(2));
                let member = |w: &mut Writer, j: &ElementIndex| {
                    w.move_to(above, of_above.clone().plus_constant(-1));
                    let smaller = set.clone().plus(&power.clone().times(-1));
                    w.if_(Expression::Below(smaller.clone(), at(1 << n)), |w| {
                        let term = w.named(dtype, Expression::product(dtype, a.load(row, j), minors.load(&smaller)));
                        let odd = is_odd(w, &of_above);
                        let less = Expression::minus(dtype, Expression::Variable(sum), term.clone());
                        let more = Expression::sum(dtype, Expression::Variable(sum), term);
                        w.set(sum, Expression::either(odd, less, more));
                    });
                    double(w);
                };
                each_member(w, set, n, member, |w, _| double(w));
                w.store(minors, set, Expression::Variable(sum));
            });
        });
    });
}

pub(super) fn pivots(w: &mut Writer, of: &One<'_>) {
    let [_, n] = of.sizes;
    let (mut rows, mut columns) = (of.out[0].clone(), of.out[0].moved(&at(n)));
    write_algorithm!(w, of.dtype, |m| {
        let mut a = m.reals(n * n);
        m.write(|w| w.copy(&of.operands[0], &a, n * n));
        let sign = elimination::pivots(m, n, &mut a, [&mut rows, &mut columns]);
        m.store(&mut of.out[1].clone(), 0.into(), sign);
    });
}

/// The cofactors, by elimination with the largest pivots of all; small ones come last.
pub(super) fn cofactors(w: &mut Writer, of: &One<'_>) {
    let [_, n] = of.sizes;
    of.if_finite(w, |w| {
        write_algorithm!(w, of.dtype, |m| {
            let (mut a, mut sizes) = (m.reals(n * n), m.ints(2 * n));
            m.write(|w| w.copy(&of.operands[0], &a, n * n));
            let whole = formulas::balance(m, n, &mut a, &mut sizes);
            elimination::cofactors(m, n, (&mut a, &sizes, whole), &mut of.out[0].clone());
        });
    });
}
