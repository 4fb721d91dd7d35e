//! Cholesky and LU factors as trees, and the operations made of them.
//!
//! Law: the next pivot is the largest element of its column, the first of equal ones.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression, PositionExpr};
use super::super::writer::Writer;
use super::{Grid, One, Range, Wide, are_finite, is_regular, is_zero, unless_zero};
use crate::dtype::DType;
use crate::ops::{Compare, Unary};

/// The rows of a matrix, or its columns: all `most`, or the first of them, as many as data decide. Counters have
/// constant bounds, so that compilers see their range.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) most: usize,
    pub(super) size: Option<ElementIndex>,
}

impl Rows {
    pub(super) fn all(most: usize) -> Rows {
        Rows { most, size: None }
    }

    /// Runs statements for each row from one on.
    pub(super) fn from(&self, w: &mut Writer, from: ElementIndex, f: impl FnOnce(&mut Writer, &ElementIndex)) {
        let Some(size) = &self.size else { return w.range(from, at(self.most), f) };
        w.for_loop((from, at(self.most)), false, |w, i| {
            w.break_if(Expression::AtMost(size.clone(), i.clone()));
            f(w, i);
        });
    }

    pub(super) fn each(&self, w: &mut Writer, f: impl FnOnce(&mut Writer, &ElementIndex)) {
        self.from(w, start(), f);
    }

    /// Runs statements for each row, backwards.
    fn backwards(&self, w: &mut Writer, f: impl FnOnce(&mut Writer, &ElementIndex)) {
        w.for_(self.most, |w, done| {
            let i = done.clone().times(-1).plus_constant(self.most as i64 - 1);
            match &self.size {
                Some(size) => w.if_(Expression::Below(i.clone(), size.clone()), |w| f(w, &i)),
                None => f(w, &i),
            }
        });
    }
}

/// A position that data decide: the statements run if it is below `n`.
pub(super) fn with_position(w: &mut Writer, x: Expression, n: usize, f: impl FnOnce(&mut Writer, &ElementIndex)) {
    let x = w.named(DType::I64, x);
    let within = vec![
        Expression::compare(Compare::Ge, x.clone(), Expression::int_number(0)),
        Expression::compare(Compare::Lt, x.clone(), Expression::int_number(n as i64)),
    ];
    w.if_all(within, |w| {
        let position = w.position(PositionExpr::Int(x));
        f(w, &ElementIndex::of(position));
    });
}

/// Exchanges two elements.
pub(super) fn exchange(w: &mut Writer, dtype: DType, place: &ElementPlace, [i, j]: [&ElementIndex; 2]) {
    let x = Expression::Variable(w.let_(dtype, place.load(i)));
    w.store(place, i, place.load(j));
    w.store(place, j, x);
}

/// Replaces a matrix by its factors, `l` below the diagonal and `u` on and above it; writes the order of rows, and
/// returns whether it is odd.
pub(super) fn factor(w: &mut Writer, dtype: DType, rows: &Rows, a: &Grid, order: &ElementPlace) -> Expression {
    let odd = w.var(DType::Bool, Expression::mask(false));
    identity(w, rows.most, order);
    rows.each(w, |w, k| {
        let next = k.clone().plus_constant(1);
        let best = w.var(dtype, Expression::abs(dtype, a.load(k, k)));
        let (row, found) = w.moving(k.clone());
        rows.from(w, next.clone(), |w, i| {
            let size = w.named(dtype, Expression::abs(dtype, a.load(i, k)));
            w.if_(Expression::compare(Compare::Gt, size.clone(), Expression::Variable(best)), |w| {
                w.set(best, size);
                w.move_to(row, i.clone());
            });
        });
        w.if_all(
            vec![Expression::Below(k.clone(), found.clone()), Expression::Below(found.clone(), at(rows.most))],
            |w| {
                rows.each(w, |w, j| exchange(w, dtype, &a.place, [&a.position(k, j), &a.position(&found, j)]));
                exchange(w, DType::I64, order, [k, &found]);
                w.set(odd, Expression::not(Expression::Variable(odd)));
            },
        );
        let pivot = w.named(dtype, a.load(k, k));
        rows.from(w, next.clone(), |w, i| {
            // A column of zeros needs no elimination.
            let x = a.load(i, k);
            let factor =
                Expression::either(is_zero(dtype, pivot.clone()), x.clone(), Expression::over(dtype, x, pivot.clone()));
            let factor = w.named(dtype, factor);
            a.store(w, i, k, factor.clone());
            rows.from(w, next.clone(), |w, j| {
                let rest = Expression::minus_product(dtype, a.load(i, j), factor.clone(), a.load(k, j));
                a.store(w, i, j, rest);
            });
        });
    });
    Expression::Variable(odd)
}

/// The order in which nothing is exchanged.
pub(super) fn identity(w: &mut Writer, n: usize, order: &ElementPlace) {
    w.for_(n, |w, i| w.store(order, i, Expression::Position(i.clone())));
}

/// The factors of the matrix in memory of their own, whether the order of rows is odd, and whether all is finite.
fn factored(w: &mut Writer, of: &One<'_>, order: &ElementPlace) -> (Grid, Expression, Expression) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let lu = Grid::scratch(w, dtype, [n, n]);
    w.copy(&of.operands[0], &lu.place, n * n);
    let odd = factor(w, dtype, &Rows::all(n), &lu, order);
    // An element that is not finite leaves one in the factors: sums, and quotients by a larger pivot, are not finite.
    let finite = are_finite(w, dtype, &lu.place, n * n);
    (lu, odd, finite)
}

/// A triangle of a matrix.
pub(super) struct SolvedTriangle {
    pub(super) a: Grid,
    pub(super) lower: bool,
    pub(super) unit: bool,
}

impl SolvedTriangle {
    /// Replaces the rows of `x` by the solution.
    pub(super) fn substitute(&self, w: &mut Writer, dtype: DType, rows: &Rows, x: &Grid, columns: &Rows) {
        let SolvedTriangle { a, lower, unit } = self;
        let step = |w: &mut Writer, j: &ElementIndex| {
            if !unit {
                let pivot = w.named(dtype, a.load(j, j));
                columns.each(w, |w, c| x.store(w, j, c, Expression::over(dtype, x.load(j, c), pivot)));
            }
            let subtract = |w: &mut Writer, i: &ElementIndex| {
                let factor = w.named(dtype, a.load(i, j));
                columns.each(w, |w, c| {
                    let rest = Expression::minus_product(dtype, x.load(i, c), factor, x.load(j, c));
                    x.store(w, i, c, rest);
                });
            };
            match lower {
                true => rows.from(w, j.clone().plus_constant(1), subtract),
                false => w.range(start(), j.clone(), subtract),
            }
        };
        match lower {
            true => rows.each(w, step),
            false => rows.backwards(w, step),
        }
    }
}

pub(super) fn solve(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let ([_, n], dtype, columns) = (of.sizes, of.dtype, of.columns);
    if n * columns == 0 {
        return;
    }
    let [_, b, lu, order] = of.operands else { unreachable!("a solution has four operands") };
    let (lu, b, out) = (Grid::of(lu, n), Grid::of(b, columns), Grid::of(&of.out[0], columns));
    let memory = transposed.then(|| Grid::scratch(w, dtype, [n, columns]));
    let part = |lower: bool| SolvedTriangle { a: lu.transposed(transposed), lower: lower != transposed, unit: lower };
    let good = |w: &mut Writer| {
        let finite = are_finite(w, dtype, &lu.place, n * n);
        Expression::and(finite, is_regular(w, dtype, n, &lu))
    };
    let each = |w: &mut Writer, f: &dyn Fn(&mut Writer, &ElementIndex, &ElementIndex)| {
        w.for_(n, |w, i| with_position(w, order.load(i), n, |w, p| f(w, i, p)));
    };
    unless_zero(w, of, [n, n], good, |w| match &memory {
        Some(y) => {
            w.copy(&b.place, &y.place, n * columns);
            part(false).substitute(w, dtype, &Rows::all(n), y, &Rows::all(columns));
            part(true).substitute(w, dtype, &Rows::all(n), y, &Rows::all(columns));
            each(w, &|w, i, p| w.for_(columns, |w, c| out.store(w, p, c, y.load(i, c))));
        }
        None => {
            each(w, &|w, i, p| w.for_(columns, |w, c| out.store(w, i, c, b.load(p, c))));
            part(true).substitute(w, dtype, &Rows::all(n), &out, &Rows::all(columns));
            part(false).substitute(w, dtype, &Rows::all(n), &out, &Rows::all(columns));
        }
    });
}

pub(super) fn solve_triangular(w: &mut Writer, of: &One<'_>, [lower, transposed, unit]: [bool; 3]) {
    let ([_, n], dtype, columns) = (of.sizes, of.dtype, of.columns);
    if n * columns == 0 {
        return;
    }
    let (a, out) = (Grid::of(&of.operands[0], n), Grid::of(&of.out[0], columns));
    let good = |w: &mut Writer| {
        let sum = w.cell(dtype, Expression::zero(dtype));
        w.for_(n, |w, i| {
            let beside = i64::from(!unit);
            let counts = match lower {
                true => (start(), i.clone().plus_constant(beside)),
                false => (i.clone().plus_constant(1 - beside), at(n)),
            };
            w.for_range(counts, false, |w, j| {
                let none = Expression::product(dtype, a.load(i, j), Expression::zero(dtype));
                w.store(&sum, &start(), Expression::sum(dtype, sum.load(&start()), none));
            });
        });
        let finite = is_zero(dtype, sum.load(&start()));
        if unit { finite } else { Expression::and(finite, is_regular(w, dtype, n, &a)) }
    };
    unless_zero(w, of, [n, n], good, |w| {
        w.copy(&of.operands[1], &out.place, n * columns);
        let triangle = SolvedTriangle { a: a.transposed(transposed), lower: lower != transposed, unit };
        triangle.substitute(w, dtype, &Rows::all(n), &out, &Rows::all(columns));
    });
}

pub(super) fn inverse(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let (order, out) = (w.scratch(DType::I64, n), Grid::of(&of.out[0], n));
    let (lu, _, finite) = factored(w, of, &order);
    let good = Expression::and(finite, is_regular(w, dtype, n, &lu));
    w.if_else(
        good,
        |w| {
            w.for_box(&[n, n], &mut |w, at| {
                let here = Expression::compare(Compare::Eq, order.load(&at[0]), Expression::Position(at[1].clone()));
                out.store(w, &at[0], &at[1], Expression::either(here, Expression::one(dtype), Expression::zero(dtype)));
            });
            for lower in [true, false] {
                SolvedTriangle { a: lu.clone(), lower, unit: lower }.substitute(
                    w,
                    dtype,
                    &Rows::all(n),
                    &out,
                    &Rows::all(n),
                );
            }
        },
        |w| w.fill(&out.place, n * n, Expression::nan(dtype)),
    );
}

pub(super) fn det(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype, out) = (of.sizes, of.dtype, &of.out[0]);
    let order = w.scratch(DType::I64, n);
    let (lu, odd, finite) = factored(w, of, &order);
    w.if_else(
        finite,
        |w| {
            let sign = Expression::either(odd, Expression::number(dtype, -1.0), Expression::one(dtype));
            let det = Wide::new(w, dtype, Range::of_products(dtype), sign);
            w.for_(n, |w, i| det.multiply(w, lu.load(i, i)));
            let det = det.float(w);
            w.store(out, &start(), det);
        },
        |w| w.store(out, &start(), Expression::nan(dtype)),
    );
}

pub(super) fn slogdet(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let order = w.scratch(DType::I64, n);
    let (lu, odd, finite) = factored(w, of, &order);
    w.if_else(
        finite,
        |w| {
            let sign = w.var(dtype, Expression::either(odd, Expression::number(dtype, -1.0), Expression::one(dtype)));
            let log = w.var(dtype, Expression::zero(dtype));
            w.for_(n, |w, i| {
                let x = w.named(dtype, lu.load(i, i));
                sign_and_log(w, dtype, x, [sign, log]);
            });
            store_both(w, of, [sign, log].map(Expression::Variable));
        },
        |w| store_both(w, of, [Expression::nan(dtype), Expression::nan(dtype)]),
    );
}

/// Adds a factor to the sign and the logarithm of a product: from a zero on, they are 0 and negative infinity.
pub(super) fn sign_and_log(w: &mut Writer, dtype: DType, x: Expression, [sign, log]: [u32; 2]) {
    w.if_(Expression::compare(Compare::Lt, x.clone(), Expression::zero(dtype)), |w| {
        // The negative of zero is zero.
        w.set(sign, Expression::minus(dtype, Expression::zero(dtype), Expression::Variable(sign)));
    });
    w.if_else(
        is_zero(dtype, x.clone()),
        |w| {
            w.set(sign, Expression::zero(dtype));
            w.set(log, Expression::number(dtype, f64::NEG_INFINITY));
        },
        |w| {
            let more = Expression::unary(dtype, Unary::Ln, Expression::abs(dtype, x));
            w.set(log, Expression::sum(dtype, Expression::Variable(log), more));
        },
    );
}

pub(super) fn store_both(w: &mut Writer, of: &One<'_>, [sign, log]: [Expression; 2]) {
    w.store(&of.out[0], &start(), sign);
    w.store(&of.out[1], &start(), log);
}

pub(super) fn lu_factor(w: &mut Writer, of: &One<'_>) {
    let [lu, order] = of.out else { unreachable!("factors have two results") };
    packed(w, of, lu, order);
}

fn packed(w: &mut Writer, of: &One<'_>, lu: &ElementPlace, order: &ElementPlace) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let finite = are_finite(w, dtype, &of.operands[0], n * n);
    w.if_else(
        finite,
        |w| {
            w.copy(&of.operands[0], lu, n * n);
            factor(w, dtype, &Rows::all(n), &Grid::of(lu, n), order);
        },
        |w| {
            w.fill(lu, n * n, Expression::nan(dtype));
            identity(w, n, order);
        },
    );
}

pub(super) fn lu(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let [l, u, order] = of.out else { unreachable!("factors have three results") };
    packed(w, of, u, order);
    let (l, u) = (Grid::of(l, n), Grid::of(u, n));
    w.for_(n, |w, i| {
        w.range(start(), i.clone(), |w, j| {
            l.store(w, i, j, u.load(i, j));
            u.store(w, i, j, Expression::zero(dtype));
        });
        l.store(w, i, i, Expression::one(dtype));
        w.range(i.clone().plus_constant(1), at(n), |w, j| l.store(w, i, j, Expression::zero(dtype)));
    });
}

pub(super) fn cholesky(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let (a, l) = (Grid::of(&of.operands[0], n), Grid::of(&of.out[0], n));
    let good = are_finite(w, dtype, &of.operands[0], n * n);
    let good = w.var(DType::Bool, good);
    w.for_(n, |w, i| {
        w.range(start(), i.clone().plus_constant(1), |w, j| {
            let both = Expression::sum(dtype, a.load(i, j), a.load(j, i));
            l.store(w, i, j, Expression::product(dtype, both, Expression::number(dtype, 0.5)));
        });
    });
    w.for_(n, |w, j| {
        w.range(start(), j.clone(), |w, k| {
            let factor = w.named(dtype, l.load(j, k));
            w.range(j.clone(), at(n), |w, i| {
                let rest = Expression::minus_product(dtype, l.load(i, j), l.load(i, k), factor.clone());
                l.store(w, i, j, rest);
            });
        });
        let square = w.named(dtype, l.load(j, j));
        let is_positive = Expression::compare(Compare::Gt, square.clone(), Expression::zero(dtype));
        w.set(good, Expression::and(Expression::Variable(good), is_positive));
        let pivot = w.named(dtype, Expression::unary(dtype, Unary::Sqrt, square));
        l.store(w, j, j, pivot.clone());
        w.range(j.clone().plus_constant(1), at(n), |w, i| {
            l.store(w, i, j, Expression::over(dtype, l.load(i, j), pivot.clone()));
        });
        w.range(start(), j.clone(), |w, i| l.store(w, i, j, Expression::zero(dtype)));
    });
    w.if_(Expression::not(Expression::Variable(good)), |w| w.fill(&l.place, n * n, Expression::nan(dtype)));
}
