//! Functions made of exponentials and logarithms, for both float types.

use super::{Elementary, c};
use crate::Machine;
use crate::number::Format;

/// The hyperbolic tangent, from `e^(-2 |x|) - 1`.
#[inline(always)]
pub fn tanh<E: Elementary, M: Machine>(x: E) -> E {
    let less = E::exponential_less_one_below::<M>(-(x.magnitude() + x.magnitude()));
    (less / (c::<E>(2.0) + less)).signed_like(x)
}

/// `1 / cosh(x)^2`.
#[inline(always)]
pub fn sech2<E: Elementary, M: Machine>(x: E) -> E {
    let e = E::exponential::<M>(-(x.magnitude() + x.magnitude()));
    let s = c::<E>(1.0) + e;
    c::<E>(4.0) * e / (s * s)
}

/// `1 / (1 + e^-x)`; the exponent is never positive.
#[inline(always)]
pub fn sigmoid<E: Elementary, M: Machine>(x: E) -> E {
    let e = E::exponential::<M>(-x.magnitude());
    E::select(x.below(c(0.0)), e, c(1.0)) / (c::<E>(1.0) + e)
}

/// `ln (1 + e^x)`; the exponent is never positive.
#[inline(always)]
pub fn softplus<E: Elementary, M: Machine>(x: E) -> E {
    let small = E::logarithm_of_one_plus::<M>(E::exponential::<M>(-x.magnitude()));
    E::select(x.above(c(0.0)), x, c(0.0)) + small
}

/// Whether the exponential of a number, and its reciprocal, are normal numbers.
#[inline(always)]
pub fn has_exponential<E: Elementary>(x: E) -> E::Mask {
    x.magnitude().below(E::constant(E::Float::LN_MAX) - c(1.0))
}

/// The hyperbolic sine, from `e^|x| - 1`.
#[inline(always)]
pub fn sinh<E: Elementary, M: Machine>(x: E) -> E {
    let less = E::exponential_less_one::<M>(x.magnitude());
    (c::<E>(0.5) * (less + less / (less + c(1.0)))).signed_like(x)
}

/// The hyperbolic cosine, from `e^|x|`.
#[inline(always)]
pub fn cosh<E: Elementary, M: Machine>(x: E) -> E {
    let y = E::exponential::<M>(x.magnitude());
    c::<E>(0.5) * (y + c::<E>(1.0) / y)
}

/// `sqrt(x^2 + y^2)`, and whether the result is accurate: no square is out of range, unless the other number is larger
/// by far.
#[inline(always)]
pub fn hypot<E: Elementary, M: Machine>(x: E, y: E) -> (E, E::Mask) {
    let (x, y) = (x.magnitude(), y.magnitude());
    // The same for both orders of the arguments.
    let less = x.below(y);
    let (large, small) = (E::select(less, y, x), E::select(less, x, y));
    let range = if size_of::<E::Float>() == size_of::<f64>() { 1e150 } else { 1e15 };
    let accurate = large.below(c(range)) & large.above(c(1.0 / range)) & small.at_least(c(0.0));
    (E::multiply_add::<M>(large, large, small * small).root(), accurate)
}

/// `x^(y - 1)`, corrected for the rounding error of `y - 1`, and whether the result is accurate.
#[inline(always)]
pub fn pow_less_one<E: Elementary, M: Machine>(x: E, y: E) -> (E, E::Mask) {
    let one = c::<E>(1.0);
    let less = y - one;
    let (power, accurate) = E::power::<M>(x, less);
    let lost = E::select(y.magnitude().below(one), y - (less + one), -one - (less - y));
    // Where nothing is lost, the factor is 1.
    let factor = E::exponential::<M>(lost * E::logarithm::<M>(x));
    (power * factor, accurate & E::is_normal_and_positive(x))
}

/// `x / (x^2 + y^2)`, and whether the result is accurate: the sum of squares is in range, and so large that a square
/// that underflows does not change the rounded sum.
#[inline(always)]
pub fn recip_real<E: Elementary, M: Machine>(x: E, y: E) -> (E, E::Mask) {
    let squares = x * x + y * y;
    let [least, most] = [E::Float::LEAST_SUM, E::Float::MAX];
    (x / squares, squares.at_least(E::constant(least)) & squares.at_most(E::constant(most)))
}

/// `ln (e^x + e^y)`; the exponent is never positive.
#[inline(always)]
pub fn logaddexp<E: Elementary, M: Machine>(x: E, y: E) -> E {
    let larger = E::select(x.above(y) | x.is_not_a_number(), x, y);
    let small = E::logarithm_of_one_plus::<M>(E::exponential::<M>(-(x - y).magnitude()));
    // Equal infinities have no difference.
    E::select(x.equals(y), x + c(core::f64::consts::LN_2), larger + small)
}
