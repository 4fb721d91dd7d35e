//! Least squares by a complete orthogonal decomposition, as trees: the algorithm is that of the kernel.

use super::super::idioms::start;
use super::super::tree::Expression;
use super::super::writer::Writer;
use super::machine::write_algorithm;
use super::{One, are_finite};
use crate::kernels::matrix::least_squares::{Decomposed, decompose};
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

/// The solution of least squares, or the part of the right-hand side in the null space.
pub(super) fn by_factors(w: &mut Writer, of: &One<'_>, transposed: bool, projects: bool) {
    let [_, b, u, t, vt] = of.operands else { unreachable!("least squares have five operands") };
    let decomposed = Decomposed { sizes: of.sizes, transposed, width: of.columns };
    let mut out = of.out[0].clone();
    write_algorithm!(w, of.dtype, |m| match projects {
        true => decomposed.project(m, [u, t, vt], b, &mut out),
        false => decomposed.solve(m, [u, t, vt], b, &mut out),
    });
}
