//! Least squares by a complete orthogonal decomposition, as trees: the algorithm is that of the kernel.

use super::super::idioms::{at, start};
use super::super::tree::Expression;
use super::super::writer::Writer;
use super::factors::solve_triangular;
use super::guarded::product;
use super::machine::write_algorithm;
use super::{Grid, One, all_of, are_finite, is_zero, unless_zero};
use crate::dtype::DType;
use crate::kernels::matrix::least_squares::decompose;
use crate::kernels::matrix::machine::MatrixMachine;

pub(super) fn factor(w: &mut Writer, of: &One<'_>) {
    let ([m, n], dtype) = (of.sizes, of.dtype);
    let k = m.min(n);
    let [u, t, vt, rank] = of.out else { unreachable!("a decomposition has four results") };
    w.store(rank, &start(), Expression::int_number(0));
    if k == 0 {
        return;
    }
    let finite = are_finite(w, dtype, &of.operands[0], m * n);
    w.if_else(
        finite,
        |w| {
            write_algorithm!(w, dtype, |machine| {
                let [mut u, mut t, mut vt, mut rank] = [u, t, vt, rank].map(|x| x.clone());
                let found = decompose(machine, of.sizes, &of.operands[0], [&mut u, &mut t, &mut vt]);
                machine.store_int(&mut rank, 0.into(), found);
            });
        },
        |w| {
            for (place, count) in [(u, m * k), (t, k * k), (vt, k * n)] {
                w.fill(place, count, Expression::nan(dtype));
            }
        },
    );
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
