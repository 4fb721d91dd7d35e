//! The error function and its complement: an odd polynomial for `|x| < 1`, otherwise `e^(-x^2)` times a smooth
//! function.
//!
//! In `f64`, the complement corrects `e^(-x^2)` for the rounding error of the square, up to where results are normal;
//! beyond, the row is used. Rounded to `f32`, the complement is exact to rounding without. The error function of an `f32`
//! needs no more than two polynomials, since its complement has few bits that count where it is small.

use super::exponential::exponential_of_parts;
use super::{Elementary, c, horner};
use crate::number::{Double, call};
use crate::{Machine, Number};

/// `erf(x) / x` as a function of `x^2`, for `|x| <= 1`.
const MIDDLE: &[f64] = &[
    core::f64::consts::FRAC_2_SQRT_PI,
    -0.3761263890318352,
    0.11283791670944174,
    -0.026866170643109734,
    0.0052239776061038445,
    -0.0008548325928594405,
    0.00012055293554838714,
    -1.4924711868834994e-05,
    1.644712611996815e-06,
    -1.6206271254645709e-07,
    1.3710793507966323e-08,
    -7.779114314922552e-10,
];

/// `e^(x^2) erfc(x) (x + 4)` as a function of `(x - 4) / (x + 4)`, for `x` from 1/2 to 28.
const OUTSIDE: &[f64] = &[
    1.095995661000491,
    -0.976548729080882,
    0.773208702265236,
    -0.5408538313132352,
    0.3308515878780834,
    -0.17401093723994218,
    0.076381514907509,
    -0.026370053339981117,
    0.006112055679011281,
    -0.0002809588706613369,
    -0.000455052860750942,
    0.0001768128579556103,
    -3.6343351711633226e-06,
    -1.8861058475519357e-05,
    4.69188531509997e-06,
    1.4246316970797073e-06,
    -8.413390755711227e-07,
    -7.616572917105704e-08,
    1.184551293491232e-07,
    1.3429743965725694e-09,
    -1.1782239441519705e-08,
];

/// From here on, `erfc` is 0.
const END: f64 = 28.0;

/// In `f32`, `erf(x) / x - 1` as a function of `x^2`, for `|x| <= 1`: the sum of `x` and a small number has one rounding.
const MIDDLE_SINGLE: &[f32] =
    &[0.12837917, -0.3761263, 0.11283618, -0.026855124, 0.005190726, -0.0008030654, 7.919902e-5];

/// In `f32`, `erfc x` as a function of `x - 2.5`, for `x` from 1 to 4.
const OUTSIDE_SINGLE: &[f32] = &[
    0.00040695237,
    -0.0021781847,
    0.0054456885,
    -0.008351769,
    0.008622605,
    -0.00610911,
    0.002797552,
    -0.0005603602,
    -0.00025872662,
    0.0002706186,
    -8.110275e-5,
    -1.7760463e-5,
    1.5720007e-5,
    -4.9852787e-7,
    -8.902305e-7,
];

/// `erf x` for `|x| < 1`.
#[inline(always)]
fn middle<E: Number<Float = f64>, M: Machine>(x: E) -> E {
    x * horner::<E, M>(x * x, MIDDLE)
}

/// `erfc |x|` for `|x| >= 1`.
#[inline(always)]
fn outside<E: Number<Float = f64>, M: Machine>(x: E) -> E {
    let a = E::select(x.magnitude().above(c(END)), c(END), x.magnitude());
    let inverse = c::<E>(1.0) / (a + c(4.0));
    let smooth = inverse * horner::<E, M>((a - c(4.0)) * inverse, OUTSIDE);
    // The rounding error of the square is not corrected: if the square is large, `erf` is near 1.
    E::exponential::<M>(-a * a) * smooth
}

/// The error function of a float type.
pub trait ErrorFunction: Sized {
    /// The error function.
    fn erf_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
    /// Its complement.
    fn erfc_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
}

impl ErrorFunction for f64 {
    #[inline(always)]
    fn erf_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        let near = E::branch(x.magnitude().below(c(1.0)));
        let near = E::otherwise(near, middle::<E, M>(x));
        E::join(near, (c::<E>(1.0) - outside::<E, M>(x)).signed_like(x))
    }
    #[inline(always)]
    fn erfc_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        E::narrow(named_complement::<E::Wide, M>(x.wide()))
    }
}

impl ErrorFunction for f32 {
    #[inline(always)]
    fn erf_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        // From 4 on, the error function rounds to 1. The comparison keeps NaN.
        let a = E::select(x.magnitude().above(c(4.0)), c(4.0), x.magnitude());
        let near = E::branch(a.below(c(1.0)));
        let near = E::otherwise(near, E::multiply_add::<M>(x, horner::<E, M>(x * x, MIDDLE_SINGLE), x));
        E::join(near, (c::<E>(1.0) - horner::<E, M>(a - c(2.5), OUTSIDE_SINGLE)).signed_like(x))
    }
    #[inline(always)]
    fn erfc_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        E::narrow(erfc::<E::Wide, M>(x.wide()))
    }
}

/// The argument up to which the complement of the error function is computed here in `f64`: its results are normal.
const LAST_COMPLEMENT: f64 = 26.0;

/// Whether the complement of the error function in `f64` is accurate here.
#[inline(always)]
pub(super) fn has_complement<E: Double>(x: E) -> E::Mask {
    x.magnitude().at_most(c(LAST_COMPLEMENT))
}

/// The complement of the error function, if [`has_complement`].
#[inline(always)]
fn named_complement<E: Double, M: Machine>(x: E) -> E {
    call!(E: Double, M, "erfc_inner", "`1 - erf x` for `|x|` up to 26.", [x], complement)
}

#[inline(always)]
fn complement<E: Double, M: Machine>([x]: [E; 1]) -> E {
    let (a, one, four) = (x.magnitude(), c::<E>(1.0), c::<E>(4.0));
    // From here on, the difference of 1 and the error function would lose bits.
    let near = E::branch(a.below(c(0.75)));
    let near = E::otherwise(near, one - middle::<E, M>(x));
    // The quotient of `a - 4` and `a + 4`, corrected for the rounding of both and of the product with the inverse.
    let (less, more) = (a - four, a + four);
    let (less_lost, more_lost) = (a - (less + four), a - (more - four));
    let inverse = one / more;
    let quotient = less * inverse;
    let product = quotient * more;
    let left = (less - product) - E::product_error::<M>(quotient, more, product);
    let t = E::multiply_add::<M>(left + E::multiply_add::<M>(-quotient, more_lost, less_lost), inverse, quotient);
    let scale = E::multiply_add::<M>(-inverse * more_lost, inverse, inverse);
    let square = a * a;
    let gaussian = exponential_of_parts::<E, M>(-square, -E::product_error::<M>(a, a, square));
    let outside = gaussian * (scale * horner::<E, M>(t, OUTSIDE));
    E::join(near, E::select(x.below(c(0.0)), c::<E>(2.0) - outside, outside))
}

/// The complement of the error function, to about 50 bits.
#[inline(always)]
fn erfc<E: Double, M: Machine>(x: E) -> E {
    let near = E::branch(x.magnitude().below(c(1.0)));
    let near = E::otherwise(near, c::<E>(1.0) - middle::<E, M>(x));
    let outside = outside::<E, M>(x);
    E::join(near, E::select(x.below(c(0.0)), c::<E>(2.0) - outside, outside))
}
