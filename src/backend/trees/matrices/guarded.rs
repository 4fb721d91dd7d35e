//! Guarded products of matrices, and the equations for tangents of eigenvectors, as trees.
//!
//! In a guarded product a factor 0 makes a product 0. The algorithms are those of the kernels.

use super::super::writer::Writer;
use super::One;
use super::machine::write_algorithm;
use crate::kernels::matrix::guarded::{self, GuardedProduct};
use crate::kernels::matrix::machine::UniformMachine;

pub(super) fn product_of(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let product = GuardedProduct { sizes: of.sizes, transposed, width: of.columns, first: [0; 2] };
    let [a, b] = of.operands else { unreachable!("a product has two operands") };
    write_algorithm!(w, of.dtype, |m| m.guarded_product(product, [a, b], &mut of.out[0].clone()));
}

pub(super) fn eigh_solve(w: &mut Writer, of: &One<'_>) {
    let [_, n] = of.sizes;
    if n == 0 {
        return;
    }
    let [_, x, values, vectors] = of.operands else { unreachable!("the equations have four operands") };
    write_algorithm!(w, of.dtype, |m| guarded::eigh_solve(m, n, x, [values, vectors], &mut of.out[0].clone()));
}
