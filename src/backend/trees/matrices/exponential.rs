//! Matrix exponentials and their derivatives as trees: the algorithm is that of the kernel.

use super::super::tree::Expression;
use super::super::writer::Writer;
use super::machine::write_algorithm;
use super::{One, all_of, are_finite, is_zero};
use crate::kernels::matrix::exponential::exponential;
use crate::kernels::matrix::machine::MatrixLayout;

pub(super) fn expm(w: &mut Writer, of: &One<'_>) {
    let n = of.sizes[1];
    of.if_finite(w, |w| {
        write_algorithm!(w, of.dtype, |m| {
            exponential(m, n, (&of.operands[0], MatrixLayout::rows(n)), None, &mut of.out[0].clone());
        });
    });
}

/// The derivative of the exponential: zeros in the direction of zeros.
pub(super) fn expm_tangent(w: &mut Writer, of: &One<'_>, transposed: bool) {
    let ([_, n], dtype) = (of.sizes, of.dtype);
    let [a, e] = [0, 1].map(|k| &of.operands[k]);
    let of_a = MatrixLayout::rows(n).transposed(transposed);
    let [of_first, of_second] = [a, e].map(|x| are_finite(w, dtype, x, n * n));
    let zero = all_of(w, n * n, |i| is_zero(dtype, e.load(i)));
    w.if_else(
        zero,
        |w| w.fill(&of.out[0], n * n, Expression::zero(dtype)),
        |w| {
            w.if_else(
                Expression::and(of_first, of_second),
                |w| {
                    write_algorithm!(w, dtype, |m| {
                        exponential(m, n, (a, of_a), Some(e), &mut of.out[0].clone());
                    });
                },
                |w| w.fill(&of.out[0], n * n, Expression::nan(dtype)),
            );
        },
    );
}
