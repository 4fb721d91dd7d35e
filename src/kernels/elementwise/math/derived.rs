//! Functions made of exponentials and logarithms, for both float types.

use super::Elementary;
use crate::kernels::isa::Machine;

/// A literal of the float type.
#[inline(always)]
fn c<E: Elementary>(x: f64) -> E {
    E::of_f64(x)
}

/// The hyperbolic tangent, from `e^(-2 |x|) - 1`.
#[inline(always)]
pub(crate) fn tanh<E: Elementary, M: Machine>(x: E) -> E {
    let less = E::exponential_less_one_below::<M>(-(x.abs() + x.abs()));
    (less / (c::<E>(2.0) + less)).copysign(x)
}

/// `1 / cosh(x)^2`.
#[inline(always)]
pub(crate) fn sech2<E: Elementary, M: Machine>(x: E) -> E {
    let e = E::exponential::<M>(-(x.abs() + x.abs()));
    let s = E::ONE + e;
    c::<E>(4.0) * e / (s * s)
}

/// `1 / (1 + e^-x)`; the exponent is never positive.
#[inline(always)]
pub(crate) fn sigmoid<E: Elementary, M: Machine>(x: E) -> E {
    let e = E::exponential::<M>(-x.abs());
    (if x < E::ZERO { e } else { E::ONE }) / (E::ONE + e)
}

/// `ln (1 + e^x)`; the exponent is never positive.
#[inline(always)]
pub(crate) fn softplus<E: Elementary, M: Machine>(x: E) -> E {
    let small = E::logarithm_of_one_plus::<M>(E::exponential::<M>(-x.abs()));
    (if x > E::ZERO { x } else { E::ZERO }) + small
}

/// Whether the exponential of a number, and its reciprocal, are normal numbers.
#[inline(always)]
pub(crate) fn has_exponential<E: Elementary>(x: E) -> bool {
    x.abs() < E::max_value().ln() - E::ONE
}

/// The hyperbolic sine, from `e^|x| - 1`.
#[inline(always)]
pub(crate) fn sinh<E: Elementary, M: Machine>(x: E) -> E {
    let less = E::exponential_less_one::<M>(x.abs());
    (c::<E>(0.5) * (less + less / (less + E::ONE))).copysign(x)
}

/// The hyperbolic cosine, from `e^|x|`.
#[inline(always)]
pub(crate) fn cosh<E: Elementary, M: Machine>(x: E) -> E {
    let y = E::exponential::<M>(x.abs());
    c::<E>(0.5) * (y + E::ONE / y)
}

/// `sqrt(x^2 + y^2)`, and whether the result is accurate: no square is out of range, unless the other number is larger
/// by far.
#[inline(always)]
pub(crate) fn hypot<E: Elementary, M: Machine>(x: E, y: E) -> (E, bool) {
    let (x, y) = (x.abs(), y.abs());
    // The same for both orders of the arguments.
    let (large, small) = if x < y { (y, x) } else { (x, y) };
    let range = if size_of::<E>() == size_of::<f64>() { 1e150 } else { 1e15 };
    let accurate = (large < E::of_f64(range)) & (large > E::of_f64(1.0 / range)) & (small >= E::ZERO);
    (E::multiply_add::<M>(large, large, small * small).sqrt(), accurate)
}

/// `ln (e^x + e^y)`; the exponent is never positive.
#[inline(always)]
pub(crate) fn logaddexp<E: Elementary, M: Machine>(x: E, y: E) -> E {
    let larger = if (x > y) | x.is_nan() { x } else { y };
    let small = E::logarithm_of_one_plus::<M>(E::exponential::<M>(-(x - y).abs()));
    // Equal infinities have no difference.
    if x == y { x + E::LN_2() } else { larger + small }
}
