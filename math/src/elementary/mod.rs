//! Elementary functions without branches, which the compiler vectorises when they are called in a loop.
//!
//! Law: if its predicate holds for an argument (always, if it has none), a function is accurate to the bound that the
//! tests of `polygrad` state, and agrees with its row ([`crate::rows`]) at NaN, infinities and zeros of both signs. At
//! other arguments its result is unspecified, and its caller falls back to the row.
//!
//! * [`Elementary`]: the functions that each float type implements: `exponential.rs` (exponentials and logarithms),
//!   `trigonometric.rs`, `power.rs`, `error.rs`, `error_inverse.rs`, `inverse.rs`.
//! * `derived.rs`: functions made of these.
//!
//! Polynomials are minimax approximations, from the constant term upwards. Constants in two or more parts have trailing
//! zeros in all parts but the last, so that their products with small integers are exact on every machine.

pub mod derived;
mod error;
mod error_inverse;
mod exponential;
mod inverse;
mod power;
mod trigonometric;

use crate::{Machine, Number};

/// The elementary functions of a float type.
pub trait Elementary: Number {
    /// `a b + c`, rounded once where the machine has an instruction for that.
    fn multiply_add<M: Machine>(a: Self, b: Self, c: Self) -> Self;
    /// `e^x`.
    fn exponential<M: Machine>(x: Self) -> Self;
    /// `e^x - 1`.
    fn exponential_less_one<M: Machine>(x: Self) -> Self;
    /// `e^x - 1` for `x <= 0`; the sign of a zero is lost.
    fn exponential_less_one_below<M: Machine>(x: Self) -> Self;
    /// `ln x`, if [`is_normal_and_positive`](Elementary::is_normal_and_positive).
    fn logarithm<M: Machine>(x: Self) -> Self;
    /// `ln (1 + x)`, if `x` [`exceeds_minus_one`](Elementary::exceeds_minus_one).
    fn logarithm_of_one_plus<M: Machine>(x: Self) -> Self;
    /// `sin x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    fn sine<M: Machine>(x: Self) -> Self;
    /// `cos x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    fn cosine<M: Machine>(x: Self) -> Self;
    /// `sin x` and `cos x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    fn sine_cosine<M: Machine>(x: Self) -> (Self, Self);
    /// `sin x / cos x`, if `x` [`is_small_angle`](Elementary::is_small_angle).
    fn tangent<M: Machine>(x: Self) -> Self;

    /// `x^y`, and whether the result is accurate.
    fn power<M: Machine>(x: Self, y: Self) -> (Self, bool);
    /// `e^(-x^2)`.
    fn gaussian<M: Machine>(x: Self) -> Self;
    /// The error function.
    fn erf<M: Machine>(x: Self) -> Self;
    /// `1 - erf x`, to about 50 bits.
    fn erfc<M: Machine>(x: Self) -> Self;
    /// The inverse of the error function.
    fn erfinv<M: Machine>(x: Self) -> Self;
    /// The inverse tangent.
    fn arctangent<M: Machine>(x: Self) -> Self;
    /// The inverse sine, if `x` [`is_inner_sine`](Elementary::is_inner_sine).
    fn arcsine<M: Machine>(x: Self) -> Self;
    /// The inverse cosine, if `x` [`is_inner_sine`](Elementary::is_inner_sine).
    fn arccosine<M: Machine>(x: Self) -> Self;
    /// The angle of the point `(x, y)`, and whether the result is accurate.
    fn angle<M: Machine>(y: Self, x: Self) -> (Self, bool);

    /// The predicate of [`logarithm`](Elementary::logarithm).
    fn is_normal_and_positive(x: Self) -> bool;
    /// The predicate of [`logarithm_of_one_plus`](Elementary::logarithm_of_one_plus).
    fn exceeds_minus_one(x: Self) -> bool;
    /// The predicate of inverse sine and cosine: `|x| < 1`, and `x` neither 0 nor tiny.
    fn is_inner_sine(x: Self) -> bool;
    /// Whether an angle is so small that its reduction is exact; false for NaN.
    fn is_small_angle(x: Self) -> bool;
}

/// A polynomial at `x`, by Horner's rule. The loop is over indices, since `fold` of a reversed iterator becomes a call
/// of a function compiled for the baseline in builds with many codegen units.
#[inline(always)]
fn horner<E: Elementary, M: Machine>(x: E, coefficients: &[E]) -> E {
    let mut k = coefficients.len() - 1;
    let mut sum = coefficients[k];
    while k > 0 {
        k -= 1;
        sum = E::multiply_add::<M>(sum, x, coefficients[k]);
    }
    sum
}

/// Up to four terms of a polynomial from coefficient `k` on, divided by `x^k`.
#[inline(always)]
fn terms<E: Elementary, M: Machine>(x: E, square: E, coefficients: &[E], k: usize) -> E {
    match coefficients.len() - k {
        1 => coefficients[k],
        2 => E::multiply_add::<M>(coefficients[k + 1], x, coefficients[k]),
        3 => {
            let low = E::multiply_add::<M>(coefficients[k + 1], x, coefficients[k]);
            E::multiply_add::<M>(coefficients[k + 2], square, low)
        }
        _ => {
            let low = E::multiply_add::<M>(coefficients[k + 1], x, coefficients[k]);
            let high = E::multiply_add::<M>(coefficients[k + 3], x, coefficients[k + 2]);
            E::multiply_add::<M>(high, square, low)
        }
    }
}

/// A polynomial at `x`, given the square of `x`: independent groups of four terms are combined by Horner's rule in
/// `x^4`. Scalar code, which is bound by latency, so has less than half as many dependent multiplications; a loop over
/// a slice has one more multiplication per element.
#[inline(always)]
fn polynomial<E: Elementary, M: Machine>(x: E, square: E, coefficients: &[E]) -> E {
    let fourth = square * square;
    let mut k = (coefficients.len() - 1) / 4 * 4;
    let mut sum = terms::<E, M>(x, square, coefficients, k);
    while k > 0 {
        k -= 4;
        sum = E::multiply_add::<M>(sum, fourth, terms::<E, M>(x, square, coefficients, k));
    }
    sum
}
