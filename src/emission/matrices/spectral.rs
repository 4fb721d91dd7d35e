//! Eigenvalues and eigenvectors of symmetric matrices as trees, by Jacobi rotations.
//!
//! Laws: eigenvalues ascend. The sign of an eigenvector is such that its element with the largest absolute value, the
//! first of equal ones, is positive. Equal eigenvalues have any orthonormal eigenvectors of their space. A result
//! without room for it is not written, eigenvectors are then not computed, and the other result is the same.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, Expression};
use super::super::writer::Writer;
use super::{Grid, One, Range, Wide, is_zero, scale};
use crate::dtype::DType;
use crate::ops::{Compare, Unary};

/// The most sweeps over all pairs of rows; about ten suffice.
const SWEEPS: usize = 60;

pub(super) fn eigh(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    if n == 0 {
        return;
    }
    let range = Range::of_squares(dtype);
    let (a, x) = (Grid::of(&of.operands[0], n), Grid::scratch(w, dtype, [n, n]));
    let vectors = (of.results[1] > 0).then(|| Grid::scratch(w, dtype, [n, n]));
    let vectors = vectors.as_ref();
    of.if_finite(w, |w| {
        w.for_box(&[n, n], &mut |w, at| {
            let [i, j] = [&at[0], &at[1]];
            let half = |x: Expression| Expression::product(dtype, x, Expression::number(dtype, 0.5));
            x.store(w, i, j, Expression::sum(dtype, half(a.load(i, j)), half(a.load(j, i))));
            if let Some(vectors) = vectors {
                let here =
                    Expression::compare(Compare::Eq, Expression::Position(i.clone()), Expression::Position(j.clone()));
                vectors.store(w, i, j, Expression::either(here, Expression::one(dtype), Expression::zero(dtype)));
            }
        });
        let size = scale(w, dtype, range, (&start(), &at(n * n)), |i| i.clone(), &x.place);
        w.for_loop((start(), at(SWEEPS)), false, |w, _| {
            let rotated = w.var(DType::Bool, Expression::mask(false));
            w.for_(n, |w, p| {
                w.range(p.clone().plus_constant(1), at(n), |w, q| {
                    let beside = w.named(dtype, x.load(p, q));
                    let is_small = is_small(dtype, &beside, [p, q].map(|i| x.load(i, i)));
                    w.if_(Expression::not(is_small), |w| {
                        w.set(rotated, Expression::mask(true));
                        rotate(w, dtype, n, (&x, vectors), [p, q], beside);
                    });
                    x.store(w, p, q, Expression::zero(dtype));
                    x.store(w, q, p, Expression::zero(dtype));
                });
            });
            w.break_if(Expression::not(Expression::Variable(rotated)));
        });
        w.for_(n, |w, k| {
            let rank = rank(w, n, &x, k);
            w.if_(Expression::Below(rank.clone(), at(n)), |w| {
                if of.results[0] > 0 {
                    let value = Wide::scaled(w, dtype, range, [x.load(k, k), Expression::Variable(size)]).float(w);
                    w.store(&of.out[0], &rank, value);
                }
                let Some(vectors) = vectors else { return };
                let down = points_down(w, dtype, n, vectors, k);
                w.for_(n, |w, i| {
                    let x = vectors.load(i, k);
                    let turned = Expression::either(down.clone(), Expression::unary(dtype, Unary::Neg, x.clone()), x);
                    Grid::of(&of.out[1], n).store(w, i, &rank, turned);
                });
            });
        });
    });
}

/// Whether an element next to those of the diagonal changes no eigenvalue, up to rounding.
fn is_small(dtype: DType, beside: &Expression, diagonal: [Expression; 2]) -> Expression {
    let much = Expression::product(dtype, Expression::abs(dtype, beside.clone()), Expression::number(dtype, 64.0));
    let [of_first, of_second] = diagonal.map(|x| {
        let size = Expression::abs(dtype, x);
        Expression::compare(Compare::Eq, Expression::sum(dtype, size.clone(), much.clone()), size)
    });
    Expression::or(is_zero(dtype, beside.clone()), Expression::and(of_first, of_second))
}

/// Rotates two rows and columns so that the element `beside` of both is zero, and the eigenvectors.
fn rotate(
    w: &mut Writer,
    dtype: DType,
    n: usize,
    (x, vectors): (&Grid, Option<&Grid>),
    [p, q]: [&ElementIndex; 2],
    beside: Expression,
) {
    let product = |a: Expression, b: Expression| Expression::product(dtype, a, b);
    let one = || Expression::one(dtype);
    let length =
        |x: Expression| Expression::unary(dtype, Unary::Sqrt, Expression::sum(dtype, product(x.clone(), x), one()));
    let difference = Expression::minus(dtype, x.load(q, q), x.load(p, p));
    let ratio = Expression::over(dtype, difference, product(Expression::number(dtype, 2.0), beside.clone()));
    let ratio = w.named(dtype, ratio);
    let size = w.named(dtype, Expression::abs(dtype, ratio.clone()));
    // The smaller of two angles; the tangent of an angle too small to be a float is zero.
    let tangent = w.named(dtype, Expression::over(dtype, one(), Expression::sum(dtype, size.clone(), length(size))));
    let is_negative = Expression::compare(Compare::Lt, ratio, Expression::zero(dtype));
    let tangent = Expression::either(is_negative, Expression::unary(dtype, Unary::Neg, tangent.clone()), tangent);
    let tangent = w.named(dtype, tangent);
    let cosine = w.named(dtype, Expression::over(dtype, one(), length(tangent.clone())));
    let sine = w.named(dtype, product(tangent.clone(), cosine.clone()));
    let moved = w.named(dtype, product(tangent, beside));
    x.store(w, p, p, Expression::minus(dtype, x.load(p, p), moved.clone()));
    x.store(w, q, q, Expression::sum(dtype, x.load(q, q), moved));
    let turned = |a: &Expression, b: &Expression| {
        let less = Expression::minus(dtype, product(cosine.clone(), a.clone()), product(sine.clone(), b.clone()));
        let more = Expression::sum(dtype, product(sine.clone(), a.clone()), product(cosine.clone(), b.clone()));
        [less, more]
    };
    w.for_(n, |w, k| {
        let other = |i: &ElementIndex| {
            Expression::or(Expression::Below(k.clone(), i.clone()), Expression::Below(i.clone(), k.clone()))
        };
        w.if_(Expression::and(other(p), other(q)), |w| {
            let [a, b] = [p, q].map(|i| w.named(dtype, x.load(k, i)));
            let both = turned(&a, &b).map(|x| w.named(dtype, x));
            for (i, value) in [p, q].into_iter().zip(both) {
                x.store(w, k, i, value.clone());
                x.store(w, i, k, value);
            }
        });
    });
    let Some(vectors) = vectors else { return };
    w.for_(n, |w, k| {
        let [a, b] = [p, q].map(|i| w.named(dtype, vectors.load(k, i)));
        let both = turned(&a, &b);
        [p, q].into_iter().zip(both).for_each(|(i, value)| vectors.store(w, k, i, value));
    });
}

/// The number of eigenvalues before one of them in ascending order; of equal ones the first is first.
fn rank(w: &mut Writer, n: usize, x: &Grid, k: &ElementIndex) -> ElementIndex {
    let (count, rank) = w.moving(start());
    let value = || x.load(k, k);
    w.for_(n, |w, j| {
        let other = || x.load(j, j);
        let earlier = Expression::and(
            Expression::compare(Compare::Eq, other(), value()),
            Expression::Below(j.clone(), k.clone()),
        );
        w.if_(Expression::or(Expression::compare(Compare::Lt, other(), value()), earlier), |w| {
            w.move_to(count, rank.clone().plus_constant(1));
        });
    });
    rank
}

/// Whether the largest element of a column is negative.
fn points_down(w: &mut Writer, dtype: DType, n: usize, x: &Grid, column: &ElementIndex) -> Expression {
    let (most, down) = (w.var(dtype, Expression::zero(dtype)), w.var(DType::Bool, Expression::mask(false)));
    w.for_(n, |w, i| {
        let size = w.named(dtype, Expression::abs(dtype, x.load(i, column)));
        w.if_(Expression::compare(Compare::Gt, size.clone(), Expression::Variable(most)), |w| {
            w.set(most, size);
            w.set(down, Expression::compare(Compare::Lt, x.load(i, column), Expression::zero(dtype)));
        });
    });
    Expression::Variable(down)
}
