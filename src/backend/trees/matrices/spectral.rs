//! Eigenvalues of symmetric matrices and singular values as trees, by rotations.
//!
//! The algorithms are those of the kernel of small matrices.
//!
//! Law: a result without room for it is not written, vectors are then not computed, and the other results are the same.

use super::super::tree::ElementPlace;
use super::super::writer::Writer;
use super::One;
use super::machine::write_algorithm;
use crate::kernels::matrix::guarded::svd_solve as tangents;
use crate::kernels::matrix::rotations::{eigen, singular};

/// The results that there is room for.
fn with_room<const N: usize>(of: &One<'_>) -> [Option<ElementPlace>; N] {
    std::array::from_fn(|k| (of.results[k] > 0).then(|| of.out[k].clone()))
}

pub(super) fn eigh(w: &mut Writer, of: &One<'_>) {
    let [_, n] = of.sizes;
    if n == 0 {
        return;
    }
    of.if_finite(w, |w| {
        write_algorithm!(w, of.dtype, |m| {
            let [mut values, mut vectors] = with_room(of);
            eigen(m, n, &of.operands[0], values.as_mut(), vectors.as_mut());
        });
    });
}

pub(super) fn svd(w: &mut Writer, of: &One<'_>) {
    if of.sizes.contains(&0) {
        return;
    }
    of.if_finite(w, |w| {
        write_algorithm!(w, of.dtype, |m| {
            let mut results: [_; 3] = with_room(of);
            singular(m, of.sizes, &of.operands[0], results.each_mut().map(Option::as_mut));
        });
    });
}

pub(super) fn svd_solve(w: &mut Writer, of: &One<'_>) {
    if of.sizes.contains(&0) {
        return;
    }
    let [_, x, u, s, vt] = of.operands else { unreachable!("the equations have five operands") };
    write_algorithm!(w, of.dtype, |m| tangents(m, of.sizes, x, [u, s, vt], &mut of.out[0].clone()));
}
