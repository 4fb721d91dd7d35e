//! Least squares by a complete orthogonal decomposition, as trees.
//!
//! Laws: those of the kernel: the rank is that of QR with column pivoting of columns of length 1; of a matrix of full
//! rank the factors are those without pivoting.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression};
use super::super::writer::Writer;
use super::factors::{exchange, identity, orthogonal, solve_triangular, with_position};
use super::guarded::product;
use super::machine::write_algorithm;
use super::{Grid, One, Range, Wide, all_of, are_finite, is_zero, scale, unless_zero};
use crate::dtype::DType;
use crate::kernels::matrix::machine::{MatrixLayout, MatrixMachine};
use crate::kernels::matrix::reflections::{reflect, reflection};
use crate::ops::{Compare, Unary};

/// The memory of a decomposition of a matrix with `rows` rows and `n` columns, which are not more.
struct Decomposition {
    dtype: DType,
    rows: usize,
    n: usize,
    q: Grid,
    r: Grid,
    /// The triangle with columns of length 1, and then the pivoted triangle.
    unit: Grid,
    /// The transposed orthogonal factor of pivoting.
    turn: Grid,
    lengths: ElementPlace,
    sizes: ElementPlace,
    order: ElementPlace,
}

pub(super) fn factor(w: &mut Writer, of: &One<'_>) {
    let ([m, n], dtype) = (of.sizes, of.dtype);
    let (rows, k) = (m.max(n), m.min(n));
    let [u, t, vt, rank] = of.out else { unreachable!("a decomposition has four results") };
    w.store(rank, &start(), Expression::int_number(0));
    if k == 0 {
        return;
    }
    let finite = are_finite(w, dtype, &of.operands[0], m * n);
    w.if_else(
        finite,
        |w| {
            let wide = m < n;
            let a = Grid::scratch(w, dtype, [rows, k]);
            let source = Grid::of(&of.operands[0], n).transposed(wide);
            w.for_box(&[rows, k], &mut |w, at| a.store(w, &at[0], &at[1], source.load(&at[0], &at[1])));
            let q = Grid::scratch(w, dtype, [rows, k]);
            orthogonal(w, dtype, [rows, k], [&a.place, &q.place]);
            // The first rows are the other factor.
            let r = a;
            let of = Decomposition {
                dtype,
                rows,
                n: k,
                q,
                r,
                unit: Grid::scratch(w, dtype, [k, k]),
                turn: Grid::scratch(w, dtype, [k, k]),
                lengths: w.scratch(dtype, k),
                sizes: w.scratch(DType::I64, k),
                order: w.scratch(DType::I64, k),
            };
            of.scaled(w);
            let count = of.pivoted(w);
            w.store(rank, &start(), Expression::Position(count.clone()));
            // The factors of the matrix that is not wide; those of a wide one are the transposed matrices.
            let (left, right) = if wide { (vt, u) } else { (u, vt) };
            let left = Grid::of(left, if wide { n } else { k }).transposed(wide);
            let right = Grid::of(right, if wide { k } else { n }).transposed(wide);
            let middle = Grid::of(t, k).transposed(wide);
            of.results(w, &count, [&left, &middle, &right]);
        },
        |w| {
            for (place, count) in [(u, m * k), (t, k * k), (vt, k * n)] {
                w.fill(place, count, Expression::nan(dtype));
            }
        },
    );
}

impl Decomposition {
    fn range(&self) -> Range {
        Range::of_squares(self.dtype)
    }

    /// The length of a column of `unit` from a row on.
    fn length(&self, w: &mut Writer, from: &ElementIndex, j: &ElementIndex) -> Expression {
        let (n, dtype) = (self.n, self.dtype);
        let squares = w.var(dtype, Expression::zero(dtype));
        w.range(from.clone(), at(n), |w, i| {
            let square = Expression::product(dtype, self.unit.load(i, j), self.unit.load(i, j));
            w.set(squares, Expression::sum(dtype, Expression::Variable(squares), square));
        });
        w.named(dtype, Expression::unary(dtype, Unary::Sqrt, Expression::Variable(squares)))
    }

    /// Writes the columns of the triangle with length 1, and their lengths.
    fn scaled(&self, w: &mut Writer) {
        let (n, dtype) = (self.n, self.dtype);
        w.copy(&self.r.place, &self.unit.place, n * n);
        w.for_(n, |w, j| {
            let unit = &self.unit;
            let size = scale(w, dtype, self.range(), (&start(), &at(n)), |i| unit.position(i, j), &unit.place);
            w.store(&self.sizes, j, Expression::Variable(size));
            let length = self.length(w, &start(), j);
            w.store(&self.lengths, j, length.clone());
            w.if_(Expression::compare(Compare::Gt, length.clone(), Expression::zero(dtype)), |w| {
                w.for_(n, |w, i| unit.store(w, i, j, Expression::over(dtype, unit.load(i, j), length.clone())));
            });
        });
    }

    /// Factors the columns with pivoting; returns the rank.
    fn pivoted(&self, w: &mut Writer) -> ElementIndex {
        let (n, dtype, unit) = (self.n, self.dtype, &self.unit);
        identity(w, n, &self.order);
        w.for_box(&[n, n], &mut |w, at| {
            let here = Expression::compare(
                Compare::Eq,
                Expression::Position(at[0].clone()),
                Expression::Position(at[1].clone()),
            );
            let one = Expression::either(here, Expression::one(dtype), Expression::zero(dtype));
            self.turn.store(w, &at[0], &at[1], one);
        });
        let epsilon = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let tolerance = Expression::number(dtype, epsilon * self.rows as f64);
        let (count, rank) = w.moving(start());
        w.for_loop((start(), at(n)), false, |w, k| {
            let most = w.var(dtype, Expression::zero(dtype));
            let (column, best) = w.moving(k.clone());
            w.range(k.clone(), at(n), |w, j| {
                let length = self.length(w, k, j);
                w.if_(Expression::compare(Compare::Gt, length.clone(), Expression::Variable(most)), |w| {
                    w.set(most, length);
                    w.move_to(column, j.clone());
                });
            });
            let is_large = Expression::compare(Compare::Gt, Expression::Variable(most), tolerance.clone());
            w.break_if(Expression::not(is_large));
            let moves = vec![Expression::Below(k.clone(), best.clone()), Expression::Below(best.clone(), at(n))];
            w.if_all(moves, |w| {
                w.for_(n, |w, i| exchange(w, dtype, &unit.place, [&unit.position(i, k), &unit.position(i, &best)]));
                exchange(w, DType::I64, &self.order, [k, &best]);
            });
            write_algorithm!(w, dtype, |m| {
                let (k, to, mut x) = (m.index(k), MatrixLayout::rows(n), unit.place.clone());
                let [onto, tau, _] = reflection(m, true, [k, n.into()], (&mut x, to));
                for j in m.range(k + 1, n) {
                    reflect(m, [k, n.into()], (None, to), tau, (&mut x, to, j));
                }
                for j in m.first(n) {
                    reflect(m, [k, n.into()], (Some(&x), to), tau, (&mut self.turn.place.clone(), to, j));
                }
                m.store(&mut x, to.at(k, k), onto);
            });
            w.move_to(count, k.clone().plus_constant(1));
        });
        rank
    }

    /// Writes the factors for the rank.
    fn results(&self, w: &mut Writer, rank: &ElementIndex, [left, middle, right]: [&Grid; 3]) {
        let Decomposition { dtype, rows, n, .. } = *self;
        let one = |i: &ElementIndex, j: &ElementIndex| {
            let here =
                Expression::compare(Compare::Eq, Expression::Position(i.clone()), Expression::Position(j.clone()));
            Expression::either(here, Expression::one(dtype), Expression::zero(dtype))
        };
        w.if_else(
            Expression::not(Expression::Below(rank.clone(), at(n))),
            |w| {
                w.for_box(&[rows, n], &mut |w, at| left.store(w, &at[0], &at[1], self.q.load(&at[0], &at[1])));
                w.for_box(&[n, n], &mut |w, at| {
                    middle.store(w, &at[0], &at[1], self.r.load(&at[0], &at[1]));
                    right.store(w, &at[0], &at[1], one(&at[0], &at[1]));
                });
            },
            |w| {
                w.for_box(&[rows, n], &mut |w, at| left.store(w, &at[0], &at[1], Expression::zero(dtype)));
                w.for_box(&[n, n], &mut |w, at| {
                    middle.store(w, &at[0], &at[1], one(&at[0], &at[1]));
                    right.store(w, &at[0], &at[1], Expression::zero(dtype));
                });
                self.deficient(w, rank, [left, middle, right]);
            },
        );
    }

    /// Writes the factors up to the rank: the transposed rows of the second triangle are `z l`.
    fn deficient(&self, w: &mut Writer, rank: &ElementIndex, [left, middle, right]: [&Grid; 3]) {
        let Decomposition { dtype, rows, n, .. } = *self;
        let [lines, z] = [0; 2].map(|_| Grid::scratch(w, dtype, [n, n]));
        w.fill(&lines.place, n * n, Expression::zero(dtype));
        w.for_(n, |w, i| {
            w.if_(Expression::Below(i.clone(), rank.clone()), |w| {
                w.range(i.clone(), at(n), |w, j| {
                    with_position(w, self.order.load(j), n, |w, p| {
                        let x = Expression::product(dtype, self.unit.load(i, j), self.lengths.load(p));
                        let x = Wide::scaled(w, dtype, self.range(), [x, self.sizes.load(p)]).float(w);
                        lines.store(w, p, i, x);
                    });
                });
            });
        });
        orthogonal(w, dtype, [n, n], [&lines.place, &z.place]);
        let l = &lines;
        // The position of a row or column in the opposite order, if there is one.
        let opposite = |w: &mut Writer, i: &ElementIndex, f: &mut dyn FnMut(&mut Writer, &ElementIndex)| {
            let i = i.clone();
            w.if_(Expression::Below(i.clone(), rank.clone()), |w| {
                let (_, last) = w.moving(rank.clone().plus_constant(-1).plus(&i.times(-1)));
                w.if_(Expression::Below(last.clone(), at(n)), |w| f(w, &last));
            });
        };
        w.for_(n, |w, i| {
            opposite(w, i, &mut |w, last| {
                w.for_(n, |w, j| {
                    right.store(w, i, j, z.load(j, last));
                    opposite(w, j, &mut |w, other| middle.store(w, i, j, l.load(other, last)));
                });
                w.for_(rows, |w, row| {
                    let sum = w.var(dtype, Expression::zero(dtype));
                    w.for_(n, |w, c| {
                        let term = Expression::product(dtype, self.q.load(row, c), self.turn.load(last, c));
                        w.set(sum, Expression::sum(dtype, Expression::Variable(sum), term));
                    });
                    left.store(w, row, i, Expression::Variable(sum));
                });
            });
        });
    }
}

/// Whether the factors of a decomposition are finite.
fn are_known(w: &mut Writer, of: &One<'_>) -> Expression {
    let ([m, n], k) = (of.sizes, of.sizes[0].min(of.sizes[1]));
    let [.., u, t, vt] = of.operands else { unreachable!("the factors are operands") };
    let parts = [(u, m * k), (t, k * k), (vt, k * n)].map(|(x, count)| are_finite(w, of.dtype, x, count));
    let [first, second, third] = parts;
    w.named(DType::Bool, Expression::and(Expression::and(first, second), third))
}

pub(super) fn lstsq(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let ([m, n], dtype, columns) = (of.sizes, of.dtype, of.columns);
    let k = m.min(n);
    let [from, to] = if transposed { [n, m] } else { [m, n] };
    if k * columns == 0 {
        return w.fill(&of.out[0], to * columns, Expression::zero(dtype));
    }
    let [_, b, u, t, vt] = of.operands else { unreachable!("least squares have five operands") };
    let (b, out) = (Grid::of(b, columns), Grid::of(&of.out[0], columns));
    let (right, solved) = (Grid::scratch(w, dtype, [k, columns]), Grid::scratch(w, dtype, [k, columns]));
    let (u, vt) = (Grid::of(u, k), Grid::of(vt, n));
    let times = |a, b| Expression::product(dtype, a, b);
    // The factor that the right-hand side meets first, with its rows as those of the triangle, and the other one.
    let (first, second) = if transposed { (vt, u) } else { (u.transposed(true), vt.transposed(true)) };
    unless_zero(
        w,
        of,
        [from, to],
        |w| are_known(w, of),
        |w| {
            product(w, dtype, [k, from, columns], [&first, &b, &right], times);
            let operands = [t.clone(), right.place.clone()];
            let out_of = [solved.place.clone()];
            let one = One { dtype, sizes: [k, k], columns, operands: &operands, out: &out_of, results: &[k * columns] };
            solve_triangular(w, &one, [m < n, transposed, false]);
            product(w, dtype, [to, k, columns], [&second, &solved, &out], times);
        },
    );
}

pub(super) fn null_projection(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let ([m, n], dtype, columns) = (of.sizes, of.dtype, of.columns);
    let (k, rows) = (m.min(n), if transposed { m } else { n });
    if rows * columns == 0 {
        return;
    }
    let [_, z, u, _, vt] = of.operands else { unreachable!("a projection has five operands") };
    let (z, out) = (Grid::of(z, columns), Grid::of(&of.out[0], columns));
    let (u, vt) = (Grid::of(u, k), Grid::of(vt, n));
    let basis = if transposed { u.transposed(true) } else { vt };
    let inner = Grid::scratch(w, dtype, [k, columns]);
    let times = |a, b| Expression::product(dtype, a, b);
    unless_zero(
        w,
        of,
        [rows, rows],
        |w| are_known(w, of),
        |w| {
            // A column of the left factor behind the rank is zeros.
            let is_full = match k.checked_sub(1) {
                Some(last) if k == rows => Expression::not(all_of(w, m, |i| is_zero(dtype, u.load(i, &at(last))))),
                _ => Expression::mask(false),
            };
            w.if_else(
                is_full,
                |w| w.fill(&out.place, rows * columns, Expression::zero(dtype)),
                |w| {
                    product(w, dtype, [k, rows, columns], [&basis, &z, &inner], times);
                    product(w, dtype, [rows, k, columns], [&basis.transposed(true), &inner, &out], times);
                    w.for_box(&[rows, columns], &mut |w, at| {
                        let rest = Expression::minus(dtype, z.load(&at[0], &at[1]), out.load(&at[0], &at[1]));
                        out.store(w, &at[0], &at[1], rest);
                    });
                },
            );
        },
    );
}
