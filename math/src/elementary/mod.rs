//! Elementary functions without branches, which the compiler vectorises when they are called in a loop.
//!
//! Law: if its predicate holds for an argument (always, if it has none), a function is accurate to the bound that the
//! tests of `polygrad` state, and agrees with its row ([`crate::rows`]) at NaN, infinities and zeros of both signs. At
//! other arguments its result is unspecified, and its caller falls back to the row.
//!
//! * [`Elementary`]: the functions of each number: `exponential.rs` (exponentials and logarithms),
//!   `trigonometric.rs`, `power.rs`, `error.rs`, `error_inverse.rs`, `inverse.rs`, `gamma.rs`.
//! * `derived.rs`: functions made of these.
//!
//! Polynomials are minimax approximations, from the constant term upwards. Constants in two or more parts have trailing
//! zeros in all parts but the last, so that their products with small integers are exact on every machine.

pub mod derived;
mod error;
mod error_inverse;
mod exponential;
mod gamma;
mod inverse;
mod power;
mod trigonometric;

use error::ErrorFunction;
use inverse::InverseAngle;
use power::Power;
use trigonometric::Angle;

use crate::number::{Format, call};
use crate::{Machine, Number};

/// The constants of a float type, and its versions of functions that have one for each.
#[doc(hidden)]
pub trait Tables:
    exponential::Layout
    + trigonometric::Angle
    + power::Power
    + error::ErrorFunction
    + error_inverse::Layout
    + inverse::InverseAngle
{
}

impl Tables for f64 {}
impl Tables for f32 {}

/// The elementary functions of a number.
pub trait Elementary: Number {
    /// `e^x`.
    #[inline(always)]
    fn exponential<M: Machine>(x: Self) -> Self {
        call!(Self: Number, M, "exp", "`e^x`.", [x], exponential::exponential)
    }

    /// `e^x - 1`.
    #[inline(always)]
    fn exponential_less_one<M: Machine>(x: Self) -> Self {
        call!(Self: Number, M, "expm1", "", [x], exponential::less_one)
    }

    /// `e^x - 1` for `x <= 0`; the sign of a zero is lost.
    #[inline(always)]
    fn exponential_less_one_below<M: Machine>(x: Self) -> Self {
        call!(Self: Number, M, "expm1_below", "`e^x - 1` for `x <= 0`; the sign of a zero is lost.", [x], exponential::less_one_below)
    }

    /// `ln x`, if [`is_normal_and_positive`](Elementary::is_normal_and_positive).
    #[inline(always)]
    fn logarithm<M: Machine>(x: Self) -> Self {
        call!(Self: Number, M, "ln_normal", "`ln x` for positive normal numbers.", [x], exponential::logarithm)
    }

    /// `ln (1 + x)`, if `x` [`exceeds_minus_one`](Elementary::exceeds_minus_one).
    #[inline(always)]
    fn logarithm_of_one_plus<M: Machine>(x: Self) -> Self {
        call!(Self: Number, M, "log1p_inner", "`ln (1 + x)` for `x` above -1 that is not near to the end of the range.", [x], exponential::logarithm_of_one_plus)
    }

    /// `sin x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    #[inline(always)]
    fn sine<M: Machine>(x: Self) -> Self {
        <Self::Float as Angle>::sine_of::<Self, M>(x)
    }

    /// `cos x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    #[inline(always)]
    fn cosine<M: Machine>(x: Self) -> Self {
        <Self::Float as Angle>::cosine_of::<Self, M>(x)
    }

    /// `sin x` and `cos x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    #[inline(always)]
    fn sine_cosine<M: Machine>(x: Self) -> (Self, Self) {
        <Self::Float as Angle>::both_of::<Self, M>(x)
    }

    /// `sin x / cos x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    #[inline(always)]
    fn tangent<M: Machine>(x: Self) -> Self {
        <Self::Float as Angle>::tangent_of::<Self, M>(x)
    }

    /// `x^y`, and whether the result is accurate.
    #[inline(always)]
    fn power<M: Machine>(x: Self, y: Self) -> (Self, Self::Mask) {
        <Self::Float as Power>::power_of::<Self, M>(x, y)
    }

    /// `e^(-x^2)`.
    #[inline(always)]
    fn gaussian<M: Machine>(x: Self) -> Self {
        call!(Self: Number, M, "gaussian", "", [x], exponential::gaussian)
    }

    /// The error function.
    #[inline(always)]
    fn erf<M: Machine>(x: Self) -> Self {
        <Self::Float as ErrorFunction>::erf_of::<Self, M>(x)
    }

    /// `1 - erf x`, in `f64` if `x` [`has_complement`](Elementary::has_complement).
    #[inline(always)]
    fn erfc<M: Machine>(x: Self) -> Self {
        <Self::Float as ErrorFunction>::erfc_of::<Self, M>(x)
    }

    /// The inverse of the error function.
    #[inline(always)]
    fn erfinv<M: Machine>(x: Self) -> Self {
        error_inverse::inverse::<Self, M>(x)
    }

    /// The inverse tangent.
    #[inline(always)]
    fn arctangent<M: Machine>(x: Self) -> Self {
        <Self::Float as InverseAngle>::arctangent_of::<Self, M>(x)
    }

    /// The inverse sine, in `f64` if `x` [`is_inner_sine`](Elementary::is_inner_sine).
    #[inline(always)]
    fn arcsine<M: Machine>(x: Self) -> Self {
        <Self::Float as InverseAngle>::arcsine_of::<Self, M>(x)
    }

    /// The inverse cosine, in `f64` if `x` [`is_inner_sine`](Elementary::is_inner_sine).
    #[inline(always)]
    fn arccosine<M: Machine>(x: Self) -> Self {
        <Self::Float as InverseAngle>::arccosine_of::<Self, M>(x)
    }

    /// The angle of the point `(x, y)`, and whether the result is accurate.
    #[inline(always)]
    fn angle<M: Machine>(y: Self, x: Self) -> (Self, Self::Mask) {
        let (angle, right) = inverse::angle::<Self::Wide, M>(y.wide(), x.wide());
        (Self::narrow(angle), right)
    }

    /// The predicate of [`logarithm`](Elementary::logarithm).
    #[inline(always)]
    fn is_normal_and_positive(x: Self) -> Self::Mask {
        x.at_least(Self::constant(Self::Float::MIN_POSITIVE)) & x.at_most(Self::constant(Self::Float::MAX))
    }

    /// The predicate of [`logarithm_of_one_plus`](Elementary::logarithm_of_one_plus).
    #[inline(always)]
    fn exceeds_minus_one(x: Self) -> Self::Mask {
        x.above(c(-1.0)) & x.below(Self::constant(<Self::Float as exponential::Layout>::LARGE))
    }

    /// The logarithm of the gamma function to the precision of `f32`, if `x`
    /// [`is_positive_and_finite`](Elementary::is_positive_and_finite).
    #[inline(always)]
    fn logarithm_of_gamma<M: Machine>(x: Self) -> Self {
        Self::narrow(gamma::logarithm_of_gamma::<Self::Wide, M>(x.wide()))
    }

    /// The predicate of [`logarithm_of_gamma`](Elementary::logarithm_of_gamma).
    #[inline(always)]
    fn is_positive_and_finite(x: Self) -> Self::Mask {
        x.above(c(0.0)) & x.at_most(Self::constant(Self::Float::MAX))
    }

    /// The predicate of [`erfc`](Elementary::erfc) in `f64`.
    #[inline(always)]
    fn has_complement(x: Self) -> Self::Mask {
        error::has_complement(x.wide())
    }

    /// The predicate of inverse sine and cosine in `f64`: `|x| < 1`, and `x` neither 0 nor tiny.
    #[inline(always)]
    fn is_inner_sine(x: Self) -> Self::Mask {
        inverse::is_ordinary(x.wide())
    }

    /// Whether an angle is so small that its reduction is exact; false for NaN.
    #[inline(always)]
    fn is_small_angle(x: Self) -> Self::Mask {
        x.magnitude().at_most(Self::constant(<Self::Float as Angle>::LIMIT))
    }
}

impl<E: Number> Elementary for E {}

/// The nearest number of the type.
#[inline(always)]
pub(crate) fn c<E: Number>(x: f64) -> E {
    E::literal(x)
}

/// A polynomial at `x`, by Horner's rule. The loop is over indices, since `fold` of a reversed iterator becomes a call
/// of a function compiled for the baseline in builds with many codegen units.
#[inline(always)]
pub(crate) fn horner<E: Number, M: Machine>(x: E, coefficients: &[E::Float]) -> E {
    let mut k = coefficients.len() - 1;
    let mut sum = at::<E>(coefficients, k);
    while k > 0 {
        k -= 1;
        sum = E::multiply_add::<M>(sum, x, at::<E>(coefficients, k));
    }
    sum
}

/// A coefficient.
#[inline(always)]
fn at<E: Number>(coefficients: &[E::Float], k: usize) -> E {
    E::constant(coefficients[k])
}

/// Up to four terms of a polynomial from coefficient `k` on, divided by `x^k`.
#[inline(always)]
fn terms<E: Number, M: Machine>(x: E, square: E, coefficients: &[E::Float], k: usize) -> E {
    match coefficients.len() - k {
        1 => at::<E>(coefficients, k),
        2 => E::multiply_add::<M>(at::<E>(coefficients, k + 1), x, at::<E>(coefficients, k)),
        3 => {
            let low = E::multiply_add::<M>(at::<E>(coefficients, k + 1), x, at::<E>(coefficients, k));
            E::multiply_add::<M>(at::<E>(coefficients, k + 2), square, low)
        }
        _ => {
            let low = E::multiply_add::<M>(at::<E>(coefficients, k + 1), x, at::<E>(coefficients, k));
            let high = E::multiply_add::<M>(at::<E>(coefficients, k + 3), x, at::<E>(coefficients, k + 2));
            E::multiply_add::<M>(high, square, low)
        }
    }
}

/// A polynomial at `x`, given the square of `x`: independent groups of four terms are combined by Horner's rule in
/// `x^4`. Scalar code, which is bound by latency, so has less than half as many dependent multiplications; a loop over
/// a slice has one more multiplication per element.
#[inline(always)]
fn polynomial<E: Number, M: Machine>(x: E, square: E, coefficients: &[E::Float]) -> E {
    let fourth = square * square;
    let mut k = (coefficients.len() - 1) / 4 * 4;
    let mut sum = terms::<E, M>(x, square, coefficients, k);
    while k > 0 {
        k -= 4;
        sum = E::multiply_add::<M>(sum, fourth, terms::<E, M>(x, square, coefficients, k));
    }
    sum
}
