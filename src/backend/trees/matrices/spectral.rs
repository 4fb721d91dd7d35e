//! Eigenvalues and eigenvectors of symmetric matrices as trees, by Jacobi rotations.
//!
//! Laws: eigenvalues ascend. The sign of an eigenvector is such that its element with the largest absolute value, the
//! first of equal ones, is positive. Equal eigenvalues have any orthonormal eigenvectors of their space. A result
//! without room for it is not written, eigenvectors are then not computed, and the other result is the same.

use super::super::idioms::{at, start};
use super::super::tree::{ElementIndex, ElementPlace, Expression};
use super::super::writer::Writer;
use super::machine::{StatementMachine, write_algorithm};
use super::{Grid, One};
use crate::dtype::DType;
use crate::kernels::matrix::machine::{MatrixLayout, MatrixMachine};
use crate::kernels::matrix::rotations::diagonalize;
use crate::kernels::recorded::RecordedKind;
use crate::ops::{Compare, Unary};
use polygrad_math::{Arithmetic, Format};

pub(super) fn eigh(w: &mut Writer, of: &One<'_>) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    if n == 0 {
        return;
    }
    let (x, size) = (Grid::scratch(w, dtype, [n, n]), w.scratch(DType::I64, 1));
    let vectors = (of.results[1] > 0).then(|| Grid::scratch(w, dtype, [n, n]));
    let vectors = vectors.as_ref();
    of.if_finite(w, |w| {
        write_algorithm!(w, dtype, |m| rotated(m, n, [&of.operands[0], &x.place, &size], vectors.map(|v| &v.place)));
        w.for_(n, |w, k| {
            let rank = rank(w, n, &x, k);
            w.if_(Expression::Below(rank.clone(), at(n)), |w| {
                if of.results[0] > 0 {
                    write_algorithm!(w, dtype, |m| {
                        let value = m.load(&x.place, m.index(&x.position(k, k)));
                        let value = m.scaled(value, m.load_int(&size, 0.into()));
                        m.store(&mut of.out[0].clone(), m.index(&rank), value);
                    });
                }
                let Some(vectors) = vectors else { return };
                // Vectors are rows.
                let vectors = vectors.transposed(true);
                let down = points_down(w, dtype, n, &vectors, k);
                w.for_(n, |w, i| {
                    let x = vectors.load(i, k);
                    let turned = Expression::either(down.clone(), Expression::unary(dtype, Unary::Neg, x.clone()), x);
                    Grid::of(&of.out[1], n).store(w, i, &rank, turned);
                });
            });
        });
    });
}

/// Writes the diagonal matrix of the symmetric part, over a power of two whose exponent is written, too, and eigenvectors.
fn rotated<T: RecordedKind + Format<Word: RecordedKind>>(
    m: StatementMachine<'_, '_, T>,
    n: usize,
    [a, x, size]: [&ElementPlace; 3],
    vectors: Option<&ElementPlace>,
) {
    let (to, literal) =
        (MatrixLayout::rows(n), |x: f64| <StatementMachine<'_, '_, T> as MatrixMachine>::Real::literal(x));
    let (mut x, mut vectors) = (x.clone(), vectors.cloned());
    for i in m.first(n) {
        for j in m.first(n) {
            let half = |x| x * literal(0.5);
            m.store(&mut x, to.at(i, j), half(m.load(a, to.at(i, j))) + half(m.load(a, to.at(j, i))));
            if let Some(v) = &mut vectors {
                let one = m.same(m.int(i), m.int(j));
                m.store(v, to.at(i, j), Arithmetic::select(one, literal(1.0), literal(0.0)));
            }
        }
    }
    let power = m.exponent(m.largest(&x, m.first(n * n), |at| at));
    m.store_int(&mut size.clone(), 0.into(), power);
    m.scale(&mut x, m.first(n * n), |at| at, m.negated(power));
    diagonalize(m, (n, to), &mut x, vectors.as_mut(), |x, [p, q], [sine, less]| {
        for k in m.first(n) {
            let (a, b) = (m.load(x, to.at(p, k)), m.load(x, to.at(q, k)));
            m.store(x, to.at(p, k), a - (sine * b + less * a));
            m.store(x, to.at(q, k), b + (sine * a - less * b));
        }
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
