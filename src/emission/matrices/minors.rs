//! Minors as trees: by Laplace expansion of few rows, and cofactors of more rows by complete pivoting.
//!
//! Laws: no division by a number that may be zero, so a singular matrix has its minors. Rows and columns are multiplied by
//! powers of two first, so no partial product leaves the range of floats if the minors do not.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression, PositionExpr, VariableId};
use super::super::writer::Writer;
use super::factors::{Rows, exchange, identity, substitute, with_position};
use super::{Balanced, Grid, One, Range, Wide, are_finite, is_zero, scale};
use crate::dtype::DType;
use crate::kernels::matrix::factors::SolvedTriangle;
use crate::ops::{Compare, Unary, minors as sets};

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
        let b = Balanced::new(w, dtype, n, &of.operands[0]);
        let (list, minors) = (w.scratch(DType::I64, n), w.scratch(dtype, 1 << n));
        let (row_number, row) = w.moving(start());
        w.for_(1 << n, |w, rows| {
            let of_rows = LeftOut::new(w, rows, n, &b.rows, Some(&list));
            w.if_all(equal(&of_rows.left, n - without), |w| {
                expanded(w, dtype, (n, n - without), &b.a, &list, &minors);
                let (column_number, column) = w.moving(start());
                w.for_(1 << n, |w, columns| {
                    let of_columns = LeftOut::new(w, columns, n, &b.columns, None);
                    let mut here = equal(&of_columns.left, n - without);
                    here.extend([&row, &column].map(|number| Expression::Below(number.clone(), at(count))));
                    w.if_all(here, |w| {
                        let minor = minors.load(&columns.clone().times(-1).plus_constant((1 << n) - 1));
                        let [size, more] = [&of_rows, &of_columns].map(|of| Expression::Variable(of.exponent));
                        let x = Wide::with(w, dtype, [minor, Expression::sum(DType::I64, size, more)]).float(w);
                        let odd = is_odd(w, &of_rows.sum.clone().plus(&of_columns.sum));
                        let place = row.clone().times(count as i64).plus(&column);
                        w.store(&of.out[0], &place, signed(dtype, odd, x));
                        w.move_to(column_number, column.clone().plus_constant(1));
                    });
                });
                w.move_to(row_number, row.clone().plus_constant(1));
            });
        });
    });
}

fn signed(dtype: DType, odd: Expression, x: Expression) -> Expression {
    Expression::either(odd, Expression::unary(dtype, Unary::Neg, x.clone()), x)
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

/// Elimination with complete pivoting, in place: the next pivot is the element that is left with the largest absolute
/// value, and among equal ones the first in the order of the matrix. Writes the orders of rows and of columns, and
/// returns whether both together are odd.
fn eliminate(w: &mut Writer, dtype: DType, n: usize, a: &Grid, [rows, columns]: [&ElementPlace; 2]) -> VariableId {
    let odd = w.var(DType::Bool, Expression::mask(false));
    identity(w, n, rows);
    identity(w, n, columns);
    w.for_(n, |w, k| {
        let best = w.var(dtype, Expression::number(dtype, -1.0));
        let numbers = [0, 1].map(|_| w.var(DType::I64, Expression::int_number(0)));
        let [(row, pivot_row), (column, pivot_column)] = [0, 1].map(|_| w.moving(k.clone()));
        w.range(k.clone(), at(n), |w, i| {
            w.range(k.clone(), at(n), |w, j| {
                let size = w.named(dtype, Expression::abs(dtype, a.load(i, j)));
                let here = [rows.load(i), columns.load(j)];
                let larger = Expression::compare(Compare::Gt, size.clone(), Expression::Variable(best));
                let equal = Expression::compare(Compare::Eq, size.clone(), Expression::Variable(best));
                let is = |op: Compare, axis: usize| {
                    Expression::compare(op, here[axis].clone(), Expression::Variable(numbers[axis]))
                };
                let in_row = Expression::and(is(Compare::Eq, 0), is(Compare::Lt, 1));
                let earlier = Expression::or(is(Compare::Lt, 0), in_row);
                w.if_(Expression::or(larger, Expression::and(equal, earlier)), |w| {
                    w.set(best, size);
                    numbers.into_iter().zip(here).for_each(|(number, here)| w.set(number, here));
                    w.move_to(row, i.clone());
                    w.move_to(column, j.clone());
                });
            });
        });
        for (pivot, order, a) in [(&pivot_row, rows, a.clone()), (&pivot_column, columns, a.transposed(true))] {
            w.if_all(vec![Expression::Below(k.clone(), pivot.clone()), Expression::Below(pivot.clone(), at(n))], |w| {
                w.for_(n, |w, j| exchange(w, dtype, &a.place, [&a.position(k, j), &a.position(pivot, j)]));
                exchange(w, DType::I64, order, [k, pivot]);
                w.set(odd, Expression::not(Expression::Variable(odd)));
            });
        }
        w.if_(Expression::not(is_zero(dtype, Expression::Variable(best))), |w| {
            let pivot = w.named(dtype, a.load(k, k));
            let next = k.clone().plus_constant(1);
            w.range(next.clone(), at(n), |w, i| {
                let factor = w.named(dtype, Expression::over(dtype, a.load(i, k), pivot));
                a.store(w, i, k, factor.clone());
                w.range(next, at(n), |w, j| {
                    let rest = Expression::minus_product(dtype, a.load(i, j), factor, a.load(k, j));
                    a.store(w, i, j, rest);
                });
            });
        });
    });
    odd
}

pub(super) fn pivots(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let (rows, columns) = (of.out[0].clone(), of.out[0].moved(&at(n)));
    let finite = are_finite(w, dtype, &of.operands[0], n * n);
    let a = Grid::scratch(w, dtype, [n, n]);
    w.if_else(
        finite,
        |w| {
            w.copy(&of.operands[0], &a.place, n * n);
            let odd = eliminate(w, dtype, n, &a, [&rows, &columns]);
            let mut sign = signed(dtype, Expression::Variable(odd), Expression::one(dtype));
            if let Some(k) = n.checked_sub(sets::LAST + 1) {
                let epsilon = if dtype == DType::F32 { f64::from(f32::EPSILON.sqrt()) } else { f64::EPSILON.sqrt() };
                let [last, first] = [k, 0].map(|k| Expression::abs(dtype, a.load(&at(k), &at(k))));
                let most = Expression::product(dtype, Expression::number(dtype, epsilon), first);
                sign = Expression::either(Expression::compare(Compare::Le, last, most), Expression::nan(dtype), sign);
            }
            w.store(&of.out[1], &start(), sign);
        },
        |w| {
            identity(w, n, &rows);
            identity(w, n, &columns);
            w.store(&of.out[1], &start(), Expression::nan(dtype));
        },
    );
}

/// The cofactors, by elimination with the largest pivots of all; small ones come last.
pub(super) fn cofactors(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let out = Grid::of(&of.out[0], n);
    of.if_finite(w, |w| {
        let b = Balanced::new(w, dtype, n, &of.operands[0]);
        let [rows, columns] = [0, 1].map(|_| w.scratch(DType::I64, n));
        let odd = eliminate(w, dtype, n, &b.a, [&rows, &columns]);
        let (adjugate, size) = adjugate_of_upper(w, dtype, n, &b.a);
        // The transpose of `adj(u) l^-1`, as `l^-T adj(u)^T`.
        let x = adjugate.transposed(true);
        let lower = SolvedTriangle { n, transposed: true, lower: false, unit: true };
        substitute(w, dtype, (lower, &Rows::all(n)), [&b.a, &x]);
        w.for_(n, |w, i| {
            with_position(w, rows.load(i), n, |w, row| {
                w.for_(n, |w, j| {
                    with_position(w, columns.load(j), n, |w, column| {
                        let exponent = Expression::sum(DType::I64, b.without(row, column), Expression::Variable(size));
                        let x = Wide::with(w, dtype, [x.load(i, j), exponent]).float(w);
                        out.store(w, row, column, signed(dtype, Expression::Variable(odd), x));
                    });
                });
            });
        });
    });
}

/// The adjugate of the upper triangle of a matrix, and its exponent in units of the range of balanced matrices: that of
/// the leading block with one more row and column follows from that of the block before without a division.
fn adjugate_of_upper(w: &mut Writer, dtype: DType, n: usize, u: &Grid) -> (Grid, VariableId) {
    let size = w.var(DType::I64, Expression::int_number(0));
    // The last element is the determinant of the block.
    let (memory, det) = (w.scratch(dtype, n * n + 1), at(n * n));
    let adjugate = Grid::of(&memory, n);
    w.fill(&memory, n * n, Expression::zero(dtype));
    w.store(&memory, &det, Expression::one(dtype));
    w.for_(n, |w, k| {
        let pivot = w.named(dtype, u.load(k, k));
        w.range(start(), k.clone(), |w, i| {
            let moved = w.var(dtype, Expression::zero(dtype));
            w.range(i.clone(), k.clone(), |w, j| {
                let term = Expression::product(dtype, adjugate.load(i, j), u.load(j, k));
                w.set(moved, Expression::sum(dtype, Expression::Variable(moved), term));
            });
            w.range(i.clone(), k.clone(), |w, j| {
                adjugate.store(w, i, j, Expression::product(dtype, adjugate.load(i, j), pivot.clone()));
            });
            adjugate.store(w, i, k, Expression::unary(dtype, Unary::Neg, Expression::Variable(moved)));
        });
        adjugate.store(w, k, k, memory.load(&det));
        w.store(&memory, &det, Expression::product(dtype, memory.load(&det), pivot));
        let elements = (&start(), &at(n * n + 1));
        let more = scale(w, dtype, Range::of_powers(dtype), elements, |i| i.clone(), &memory);
        w.set(size, Expression::sum(DType::I64, Expression::Variable(size), Expression::Variable(more)));
    });
    (adjugate, size)
}
