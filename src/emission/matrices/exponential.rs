//! Matrix exponentials as trees, by a Padé approximant with scaling and squaring.
//!
//! Laws: those of the kernel. Rows and columns that no nonzero elements connect are computed apart, so a diagonal
//! matrix gives the exponentials of its elements. Each squaring doubles the relative error, so a result that needs more
//! squarings than the mantissa has bits is NaN, unless it is 0 or infinite. The derivative in a direction is the block
//! on the upper right of the exponential of a matrix of four blocks.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression, VariableId};
use super::super::writer::Writer;
use super::factors::{Rows, factor, substitute, with_position};
use super::{Grid, One, Range, Wide, all_of, are_finite, is_zero, scale};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::dtype::DType;
use crate::kernels::matrix::factors::SolvedTriangle;
use crate::ops::{Compare, FloatStep, IntBinary, Unary};

/// A connected part of a matrix.
struct Part {
    dtype: DType,
    rows: Rows,
    /// Where the second half begins, of a matrix with a block of zeros on the lower left, which stay zeros beside
    /// infinities.
    half: Option<ElementIndex>,
}

/// Memory for the matrices of the steps.
struct Memory {
    b: Grid,
    powers: [Grid; 3],
    above: Grid,
    below: Grid,
    x: Grid,
    sums: [ElementPlace; 2],
    order: ElementPlace,
}

/// The degree of the approximant, and the norm up to which it is exact to rounding.
fn approximant(dtype: DType) -> (usize, f64) {
    if dtype == DType::F32 { (7, 3.2) } else { (13, 4.25) }
}

/// The bits of a mantissa.
fn digits(dtype: DType) -> i64 {
    if dtype == DType::F32 { 23 } else { 52 }
}

pub(super) fn expm(w: &mut Writer, of: &One<'_>) {
    let n = of.sizes[1];
    of.if_finite(w, |w| exponential(w, of.dtype, (n, None), &Grid::of(&of.operands[0], n), &Grid::of(&of.out[0], n)));
}

/// The derivative of the exponential: zeros in the direction of zeros.
pub(super) fn expm_tangent(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let [a, e] = [0, 1].map(|k| Grid::of(&of.operands[k], n));
    let (a, out) = (a.transposed(transposed), Grid::of(&of.out[0], n));
    let [x, found] = [0, 1].map(|_| Grid::scratch(w, dtype, [2 * n, 2 * n]));
    let [of_a, of_e] = [&a.place, &e.place].map(|x| are_finite(w, dtype, x, n * n));
    let zero = all_of(w, n * n, |i| is_zero(dtype, e.place.load(i)));
    // The direction is small compared with the matrix, for few squarings.
    let (direction, range) = (w.scratch(dtype, n * n), Range { low: -12, high: -2, up: 8 });
    w.if_else(
        zero,
        |w| w.fill(&out.place, n * n, Expression::zero(dtype)),
        |w| {
            w.if_else(
                Expression::and(of_a, of_e),
                |w| {
                    w.fill(&x.place, 4 * n * n, Expression::zero(dtype));
                    w.copy(&e.place, &direction, n * n);
                    let size = scale(w, dtype, range, (&start(), &at(n * n)), |i| i.clone(), &direction);
                    w.for_box(&[n, n], &mut |w, at| {
                        let [i, j] = [&at[0], &at[1]];
                        let [below, right] = [i, j].map(|k| k.clone().plus_constant(n as i64));
                        x.store(w, i, j, a.load(i, j));
                        x.store(w, &below, &right, a.load(i, j));
                        x.store(w, i, &right, Grid::of(&direction, n).load(i, j));
                    });
                    exponential(w, dtype, (2 * n, Some(n)), &x, &found);
                    w.for_box(&[n, n], &mut |w, at| {
                        let right = at[1].clone().plus_constant(n as i64);
                        let parts = [found.load(&at[0], &right), Expression::Variable(size)];
                        let x = Wide::scaled(w, dtype, range, parts).float(w);
                        out.store(w, &at[0], &at[1], x);
                    });
                },
                |w| w.fill(&out.place, n * n, Expression::nan(dtype)),
            );
        },
    );
}

/// Writes for each row the least row that it is connected with, as its label.
fn label(w: &mut Writer, dtype: DType, n: usize, a: &Grid, labels: &ElementPlace) {
    w.for_(n, |w, i| w.store(labels, i, Expression::Position(i.clone())));
    w.loop_(|w| {
        let changed = w.var(DType::Bool, Expression::mask(false));
        w.for_box(&[n, n], &mut |w, at| {
            let [i, j] = [&at[0], &at[1]];
            let connected = Expression::not(is_zero(dtype, a.load(i, j)));
            let differ = Expression::compare(Compare::Ne, labels.load(i), labels.load(j));
            w.if_(Expression::and(connected, differ), |w| {
                let least = w.named(DType::I64, Expression::int(IntBinary::Min, labels.load(i), labels.load(j)));
                w.store(labels, i, least.clone());
                w.store(labels, j, least);
                w.set(changed, Expression::mask(true));
            });
        });
        w.break_if(Expression::not(Expression::Variable(changed)));
    });
}

/// The exponential of a matrix of finite elements, with a block of zeros below the first `half` rows.
fn exponential(w: &mut Writer, dtype: DType, (n, half): (usize, Option<usize>), a: &Grid, out: &Grid) {
    if n == 0 {
        return;
    }
    let [labels, rows] = [0, 1].map(|_| w.scratch(DType::I64, n));
    let matrix = |w: &mut Writer| Grid::scratch(w, dtype, [n, n]);
    let memory = Memory {
        b: matrix(w),
        powers: [0, 1, 2].map(|_| matrix(w)),
        above: matrix(w),
        below: matrix(w),
        x: matrix(w),
        sums: [0, 1].map(|_| w.scratch(dtype, n)),
        order: w.scratch(DType::I64, n),
    };
    label(w, dtype, n, a, &labels);
    w.fill(&out.place, n * n, Expression::zero(dtype));
    w.for_(n, |w, first| {
        let (count, size) = w.moving(start());
        let second = half.map(|half| (half, w.moving(start())));
        w.for_(n, |w, i| {
            let here = Expression::compare(Compare::Eq, labels.load(i), Expression::Position(first.clone()));
            w.if_all(vec![here, Expression::Below(size.clone(), at(n))], |w| {
                w.store(&rows, &size, Expression::Position(i.clone()));
                w.move_to(count, size.clone().plus_constant(1));
                if let Some((half, (variable, _))) = &second {
                    w.if_(Expression::Below(i.clone(), at(*half)), |w| w.move_to(*variable, size.clone()));
                }
            });
        });
        w.if_(Expression::AtMost(size.clone(), at(1)), |w| {
            w.if_(Expression::Below(start(), size.clone()), |w| {
                out.store(w, first, first, Expression::unary(dtype, Unary::Exp, a.load(first, first)));
            });
        });
        w.if_all(vec![Expression::Below(at(1), size.clone()), Expression::AtMost(size.clone(), at(n))], |w| {
            let part = Part {
                dtype,
                rows: Rows { most: n, size: Some(size.clone()) },
                half: second.as_ref().map(|(_, (_, second))| second.clone()),
            };
            part.each(w, |w, [i, j]| {
                with_position(w, rows.load(i), n, |w, row| {
                    with_position(w, rows.load(j), n, |w, column| memory.b.store(w, i, j, a.load(row, column)));
                });
            });
            part.squared(w, &memory);
            part.each(w, |w, [i, j]| {
                with_position(w, rows.load(i), n, |w, row| {
                    with_position(w, rows.load(j), n, |w, column| out.store(w, row, column, memory.x.load(i, j)));
                });
            });
        });
    });
}

impl Part {
    /// Runs statements for each row and column.
    fn each(&self, w: &mut Writer, f: impl FnOnce(&mut Writer, [&ElementIndex; 2])) {
        self.rows.each(w, |w, i| {
            self.rows.each(w, |w, j| f(w, [i, j]));
        });
    }

    fn copy(&self, w: &mut Writer, from: &Grid, to: &Grid) {
        self.each(w, |w, [i, j]| to.store(w, i, j, from.load(i, j)));
    }

    /// `c = a b`.
    fn multiply(&self, w: &mut Writer, [a, b, c]: [&Grid; 3]) {
        self.each(w, |w, [i, j]| {
            let sum = w.var(self.dtype, Expression::zero(self.dtype));
            let add = |w: &mut Writer, k: &ElementIndex| {
                let term = Expression::product(self.dtype, a.load(i, k), b.load(k, j));
                w.set(sum, Expression::sum(self.dtype, Expression::Variable(sum), term));
            };
            let Some(half) = &self.half else {
                self.rows.each(w, add);
                return c.store(w, i, j, Expression::Variable(sum));
            };
            let ((first, from), (last, to)) = (w.moving(start()), w.moving(at(self.rows.most)));
            w.if_(Expression::AtMost(half.clone(), i.clone()), |w| w.move_to(first, half.clone()));
            w.if_(Expression::Below(j.clone(), half.clone()), |w| w.move_to(last, half.clone()));
            self.rows.each(w, |w, k| {
                w.if_all(vec![Expression::AtMost(from, k.clone()), Expression::Below(k.clone(), to)], |w| add(w, k));
            });
            c.store(w, i, j, Expression::Variable(sum));
        });
    }

    /// The largest sum of absolute values of a column, times a number.
    fn norm(&self, w: &mut Writer, x: &Grid, times: f64) -> VariableId {
        let dtype = self.dtype;
        let most = w.var(dtype, Expression::zero(dtype));
        self.rows.each(w, |w, j| {
            let sum = w.var(dtype, Expression::zero(dtype));
            self.rows.each(w, |w, i| {
                let size = Expression::abs(dtype, x.load(i, j));
                let size = if times == 1.0 {
                    size
                } else {
                    Expression::product(dtype, size, Expression::number(dtype, times))
                };
                w.set(sum, Expression::sum(dtype, Expression::Variable(sum), size));
            });
            w.if_(Expression::compare(Compare::Gt, Expression::Variable(sum), Expression::Variable(most)), |w| {
                w.set(most, Expression::Variable(sum));
            });
        });
        most
    }

    /// The binary logarithm of a norm, over the exponent of a power, plus that of the scale.
    fn mean(&self, w: &mut Writer, x: &Grid, (power, size): (f64, VariableId)) -> Expression {
        let norm = Expression::Variable(self.norm(w, x, 1.0));
        let log = Expression::product(
            self.dtype,
            Expression::unary(self.dtype, Unary::Ln, norm),
            Expression::number(self.dtype, std::f64::consts::LOG2_E / power),
        );
        let size = Expression::convert(DType::I64, self.dtype, Expression::Variable(size));
        Expression::Variable(w.let_(self.dtype, Expression::sum(self.dtype, log, size)))
    }

    /// Multiplies elements by two to an integer power, rounded where they are subnormal.
    fn multiply_by_power(&self, w: &mut Writer, x: &Grid, exponent: Expression) {
        let (dtype, most) = (self.dtype, if self.dtype == DType::F32 { 120 } else { 1000 });
        let left = w.var(DType::I64, exponent);
        w.loop_(|w| {
            w.break_if(Expression::compare(Compare::Eq, Expression::Variable(left), Expression::int_number(0)));
            let part = Expression::int(IntBinary::Max, Expression::Variable(left), Expression::int_number(-most));
            let part = Expression::Variable(
                w.let_(DType::I64, Expression::int(IntBinary::Min, part, Expression::int_number(most))),
            );
            let units = Range { low: 0, high: 0, up: 1 };
            let factor = Wide::scaled(w, dtype, units, [Expression::one(dtype), part.clone()]).float(w);
            self.each(w, |w, [i, j]| x.store(w, i, j, Expression::product(dtype, x.load(i, j), factor)));
            w.set(left, Expression::int(IntBinary::Sub, Expression::Variable(left), part));
        });
    }

    /// The exponential of `b`, of at least two rows, in `x`.
    fn squared(&self, w: &mut Writer, memory: &Memory) {
        let (dtype, (degree, theta)) = (self.dtype, approximant(self.dtype));
        let [two, four, six] = &memory.powers;
        let size = self.halve(w, &memory.b);
        self.multiply(w, [&memory.b, &memory.b, two]);
        self.multiply(w, [two, two, four]);
        self.multiply(w, [four, two, six]);
        let larger = |a: Expression, b: Expression| {
            Expression::either(Expression::compare(Compare::Ge, a.clone(), b.clone()), a, b)
        };
        let smaller = |a: Expression, b: Expression| {
            Expression::either(Expression::compare(Compare::Le, a.clone(), b.clone()), a, b)
        };
        let [of_four, of_six] = [(four, 4.0), (six, 6.0)].map(|(x, power)| self.mean(w, x, (power, size)));
        let log = w.var(dtype, larger(of_four, of_six.clone()));
        let most = Expression::number(dtype, theta.log2());
        w.if_(Expression::compare(Compare::Gt, Expression::Variable(log), most.clone()), |w| {
            self.multiply(w, [four, four, &memory.x]);
            let of_eight = self.mean(w, &memory.x, (8.0, size));
            w.set(log, smaller(Expression::Variable(log), larger(of_eight.clone(), of_six)));
            if degree == 13 {
                self.multiply(w, [four, six, &memory.x]);
                let of_ten = self.mean(w, &memory.x, (10.0, size));
                w.set(log, smaller(Expression::Variable(log), larger(of_eight, of_ten)));
            }
        });
        // The logarithm is that of zero for matrices with a small power that is zero.
        let times = Expression::minus(dtype, Expression::Variable(log), most);
        let times = Expression::op(ElementwiseOp::FloatStep(FloatStep::Ceil, times), dtype);
        let times =
            Expression::int(IntBinary::Max, Expression::convert(dtype, DType::I64, times), Expression::int_number(0));
        let times = w.var(DType::I64, times);
        let scale = || Expression::int(IntBinary::Sub, Expression::Variable(size), Expression::Variable(times));
        let more = self.further(w, memory, scale(), degree);
        w.set(times, Expression::sum(DType::I64, Expression::Variable(times), more));
        let scale = Expression::Variable(w.let_(DType::I64, scale()));
        self.rational(w, memory, scale, degree);
        self.square(w, memory, times);
    }

    /// Divides elements by two until the norm is at most one; the number of divisions.
    fn halve(&self, w: &mut Writer, b: &Grid) -> VariableId {
        // The sum of 32 elements stays in range.
        let norm = self.norm(w, b, 0.015625);
        let size = w.var(DType::I64, Expression::int_number(0));
        w.loop_(|w| {
            let most = Expression::number(self.dtype, 0.015625);
            w.break_if(Expression::compare(Compare::Le, Expression::Variable(norm), most));
            w.set(
                norm,
                Expression::product(self.dtype, Expression::Variable(norm), Expression::number(self.dtype, 0.5)),
            );
            w.set(size, Expression::sum(DType::I64, Expression::Variable(size), Expression::int_number(1)));
        });
        let by = Expression::int(IntBinary::Sub, Expression::int_number(0), Expression::Variable(size));
        self.multiply_by_power(w, b, by);
        size
    }

    /// The number of further squarings that the backward error of the approximant at `2^scale b` needs, estimated by a
    /// power of the matrix of absolute values.
    fn further(&self, w: &mut Writer, memory: &Memory, scale: Expression, degree: usize) -> Expression {
        let (dtype, b, [sums, next]) = (self.dtype, &memory.b, &memory.sums);
        let ln = |x: Expression| Expression::unary(dtype, Unary::Ln, x);
        let first = Expression::Variable(self.norm(w, b, 1.0));
        let log = w.var(dtype, Expression::unary(dtype, Unary::Neg, ln(first)));
        self.rows.each(w, |w, j| w.store(sums, j, Expression::one(dtype)));
        w.for_(2 * degree + 1, |w, _| {
            let most = w.var(dtype, Expression::zero(dtype));
            self.rows.each(w, |w, j| {
                let sum = w.var(dtype, Expression::zero(dtype));
                self.rows.each(w, |w, i| {
                    let term = Expression::product(dtype, sums.load(i), Expression::abs(dtype, b.load(i, j)));
                    w.set(sum, Expression::sum(dtype, Expression::Variable(sum), term));
                });
                w.store(next, j, Expression::Variable(sum));
                w.if_(Expression::compare(Compare::Gt, Expression::Variable(sum), Expression::Variable(most)), |w| {
                    w.set(most, Expression::Variable(sum));
                });
            });
            // The sums are divided by the largest one in each step, so that they neither overflow nor vanish.
            w.set(log, Expression::sum(dtype, Expression::Variable(log), ln(Expression::Variable(most))));
            self.rows.each(w, |w, j| {
                w.store(sums, j, Expression::over(dtype, next.load(j), Expression::Variable(most)));
            });
        });
        let factorial = |n: usize| (1..=n).map(|k| (k as f64).log2()).sum::<f64>();
        let digits = digits(dtype) as f64;
        let fixed = 2.0 * factorial(degree) - factorial(2 * degree) - factorial(2 * degree + 1) + digits + 1.0;
        let steps = 2.0 * degree as f64;
        let log = Expression::product(
            dtype,
            Expression::Variable(log),
            Expression::number(dtype, std::f64::consts::LOG2_E / steps),
        );
        let excess = Expression::sum(dtype, log, Expression::convert(DType::I64, dtype, scale));
        let excess = Expression::sum(dtype, excess, Expression::number(dtype, fixed / steps));
        let ceil = Expression::op(ElementwiseOp::FloatStep(FloatStep::Ceil, excess), dtype);
        // A power that is zero has the logarithm of NaN or of zero, which become no squaring.
        Expression::int(IntBinary::Max, Expression::convert(dtype, DType::I64, ceil), Expression::int_number(0))
    }

    /// The approximant of the exponential of `2^scale b`, in `x`.
    fn rational(&self, w: &mut Writer, memory: &Memory, scale: Expression, degree: usize) {
        let dtype = self.dtype;
        let mut c = vec![1.0];
        for j in 0..degree {
            c.push(c[j] * (degree - j) as f64 / (((2 * degree - j) * (j + 1)) as f64));
        }
        let [two, four, six] = &memory.powers;
        for (x, power) in [(&memory.b, 1), (two, 2), (four, 4), (six, 6)] {
            let exponent = Expression::int(IntBinary::Mul, scale.clone(), Expression::int_number(power));
            self.multiply_by_power(w, x, exponent);
        }
        // The terms of even powers from a coefficient on, without the first one.
        let sum = |i: &ElementIndex, j: &ElementIndex, from: usize| {
            let terms = memory.powers.iter().zip(1..).filter(|(_, k)| from + 2 * k <= degree);
            let terms = terms
                .map(|(x, k)| Expression::product(dtype, x.load(i, j), Expression::number(dtype, c[from + 2 * k])));
            terms.reduce(|a, b| Expression::sum(dtype, a, b)).expect("there are terms")
        };
        // The polynomial in even powers whose coefficients are every second one.
        let half = |w: &mut Writer, odd: usize, to: &Grid| {
            if degree > 7 {
                self.each(w, |w, [i, j]| memory.x.store(w, i, j, sum(i, j, 6 + odd)));
                self.multiply(w, [six, &memory.x, to]);
            }
            self.each(w, |w, [i, j]| {
                let here =
                    Expression::compare(Compare::Eq, Expression::Position(i.clone()), Expression::Position(j.clone()));
                let first = Expression::either(here, Expression::number(dtype, c[odd]), Expression::zero(dtype));
                let low = Expression::sum(dtype, sum(i, j, odd), first);
                to.store(w, i, j, if degree > 7 { Expression::sum(dtype, low, to.load(i, j)) } else { low });
            });
        };
        half(w, 1, &memory.below);
        self.multiply(w, [&memory.b, &memory.below, &memory.above]);
        half(w, 0, &memory.below);
        self.each(w, |w, [i, j]| {
            let [u, v] = [&memory.above, &memory.below].map(|x| w.named(dtype, x.load(i, j)));
            memory.above.store(w, i, j, Expression::sum(dtype, v.clone(), u.clone()));
            memory.below.store(w, i, j, Expression::minus(dtype, v, u));
        });
        factor(w, dtype, &self.rows, (&memory.below, &memory.order));
        self.rows.each(w, |w, i| {
            with_position(w, memory.order.load(i), memory.x.down, |w, row| {
                self.rows.each(w, |w, j| memory.x.store(w, i, j, memory.above.load(row, j)));
            });
        });
        for l in [true, false] {
            let triangle = SolvedTriangle::of_factors(self.rows.most, l, false);
            substitute(w, dtype, (triangle, &self.rows), [&memory.below, &memory.x]);
        }
    }

    /// Squares `x` the given number of times.
    fn square(&self, w: &mut Writer, memory: &Memory, times: VariableId) {
        let (dtype, x, next) = (self.dtype, &memory.x, &memory.above);
        let done = w.var(DType::I64, Expression::int_number(0));
        w.loop_(|w| {
            w.break_if(Expression::compare(Compare::Ge, Expression::Variable(done), Expression::Variable(times)));
            self.multiply(w, [x, x, next]);
            let [stays, open] = [true, false].map(|x| w.var(DType::Bool, Expression::mask(x)));
            self.each(w, |w, [i, j]| {
                let [now, then] = [x, next].map(|x| w.named(dtype, x.load(i, j)));
                let both = [&now, &then].map(|x| Expression::not(Expression::is_number(x.clone())));
                let [a, b] = both;
                let equal = Expression::or(Expression::compare(Compare::Eq, now, then.clone()), Expression::and(a, b));
                w.set(stays, Expression::and(Expression::Variable(stays), equal));
                let none = Expression::product(dtype, then.clone(), Expression::zero(dtype));
                let is_finite = Expression::and(is_zero(dtype, none), Expression::not(is_zero(dtype, then)));
                w.set(open, Expression::or(Expression::Variable(open), is_finite));
            });
            self.copy(w, next, x);
            let is_late =
                Expression::compare(Compare::Ge, Expression::Variable(done), Expression::int_number(digits(dtype)));
            w.if_(Expression::and(Expression::Variable(open), is_late.clone()), |w| {
                self.each(w, |w, [i, j]| x.store(w, i, j, Expression::nan(dtype)));
            });
            let ends = Expression::and(Expression::Variable(stays), Expression::not(Expression::Variable(open)));
            w.break_if(Expression::or(Expression::and(Expression::Variable(open), is_late), ends));
            w.set(done, Expression::sum(DType::I64, Expression::Variable(done), Expression::int_number(1)));
        });
    }
}
