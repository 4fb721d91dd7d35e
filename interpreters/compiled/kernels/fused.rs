//! Fused forms: what a few rows compute together, in one pass.
//!
//! Law: a form is the composition of rows that its documentation states, but for the rounding of what lies between: where the
//! machine has a fused multiply-add, products are not rounded before they are added.

use super::Real;
use super::isa::Isa;
use super::loops::Arg;
use crate::ops::Unary;

#[inline(always)]
fn at<E: Copy>(x: Arg<'_, E>, i: usize) -> E {
    match x {
        Arg::Slice(x) => x[i],
        Arg::Scalar(x) => x,
    }
}

/// `x y + z`.
pub(crate) fn mul_add<E: Real>(_isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = x[i] * at(y, i) + at(z, i));
}

/// `x y - z`.
pub(crate) fn mul_sub<E: Real>(_isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = x[i] * at(y, i) - at(z, i));
}

/// `z - x y`.
pub(crate) fn sub_mul<E: Real>(_isa: Isa, x: &[E], y: Arg<'_, E>, z: Arg<'_, E>, out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = at(z, i) - x[i] * at(y, i));
}

/// `(x + y) + z`.
pub(crate) fn add3<E: Real>(_isa: Isa, x: &[E], y: &[E], z: &[E], out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = x[i] + y[i] + z[i]);
}

/// `(x y) z`.
pub(crate) fn mul3<E: Real>(_isa: Isa, x: &[E], y: &[E], z: Arg<'_, E>, out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = x[i] * y[i] * at(z, i));
}

/// `x (1 - y)`.
pub(crate) fn mul_one_minus<E: Real>(_isa: Isa, x: Arg<'_, E>, y: &[E], out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = at(x, i) * (E::ONE - y[i]));
}

/// `1 - x^2`.
pub(crate) fn one_minus_square<E: Real>(_isa: Isa, x: &[E], out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = E::ONE - x[i] * x[i]);
}

/// `constant + sum_k weights[k] terms[k]`, for one to eight terms. Terms are added from the first to the last.
pub(crate) fn linear_combination<E: Real>(
    _isa: Isa,
    terms: &[&[E]],
    weights: &[E],
    constant: Option<E>,
    out: &mut [E],
) {
    assert!(terms.len() == weights.len() && (1..=8).contains(&terms.len()), "one to eight terms, a weight each");
    for (i, out) in out.iter_mut().enumerate() {
        let first = constant.map_or(terms[0][i] * weights[0], |c| terms[0][i] * weights[0] + c);
        *out = (1..terms.len()).fold(first, |sum, k| sum + terms[k][i] * weights[k]);
    }
}

/// `sin x` and `cos x`.
pub(crate) fn sin_cos<E: Real>(isa: Isa, x: &[E], sin: &mut [E], cos: &mut [E]) {
    super::unary(isa, Unary::Sin, x, sin);
    super::unary(isa, Unary::Cos, x, cos);
}

/// `e^(x - y)`.
pub(crate) fn exp_minus<E: Real>(_isa: Isa, x: &[E], y: Arg<'_, E>, out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = Unary::Exp.apply(x[i] - at(y, i)));
}

/// `c[0] + c[1] x + c[2] x^2`, by Horner's rule.
pub(crate) fn poly2<E: Real>(_isa: Isa, c: [E; 3], x: &[E], out: &mut [E]) {
    out.iter_mut().enumerate().for_each(|(i, out)| *out = (c[2] * x[i] + c[1]) * x[i] + c[0]);
}
