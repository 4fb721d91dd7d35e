//! Minors as trees: by Laplace expansion of few rows, and cofactors of more rows by complete pivoting.
//!
//! Laws: no division by a number that may be zero, so a singular matrix has its minors. Rows and columns are multiplied by
//! powers of two first, so no partial product leaves the range of floats if the minors do not.

use super::super::idioms::at;
use super::super::writer::Writer;
use super::One;
use super::machine::write_algorithm;
use crate::kernels::matrix::machine::MatrixMachine;
use crate::kernels::matrix::minors::expand;
use crate::kernels::matrix::{elimination, formulas};

/// The minors with some rows and columns left out, with their signs: of many rows by elimination; each pivot
/// is the largest that is left, and small ones come last.
pub(super) fn minors(w: &mut Writer, of: &One<'_>, without: usize) {
    let [_, n] = of.sizes;
    if of.results[0] == 0 {
        return;
    }
    of.if_finite(w, |w| {
        write_algorithm!(w, of.dtype, |m| {
            let (mut a, mut sizes) = (m.reals(n * n), m.ints(2 * n));
            m.write(|w| w.copy(&of.operands[0], &a, n * n));
            let whole = formulas::balance(m, n, &mut a, &mut sizes);
            if without == 1 && n > 4 {
                elimination::cofactors(m, n, (&mut a, &sizes, whole), &mut of.out[0].clone());
            } else {
                expand(m, (n, without), (&a, &sizes), &mut of.out[0].clone());
            }
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
