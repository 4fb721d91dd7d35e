//! The logarithm of the gamma function in densities, without differences of large numbers.
//!
//! Law: `lgamma(a) = (a - 1/2) ln a - a + ln(2 pi) / 2 + rest(a)`. Where `a` is large the rest is a series in `1 / a`,
//! and all else cancels in a formula before it is computed: *Fast and accurate computation of binomial probabilities*,
//! Catherine Loader, 2000.

use super::formulas::ln_root_tau;
use super::loose::Loose;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::{Binary, Unary};

/// From this number on, the series is exact to rounding.
const LARGE: f64 = 10.0;

/// `B_2k / (2k (2k - 1))`, `k` from 1 on.
const SERIES: [f64; 7] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];

/// The mask of numbers that are not large; not of NaN.
#[track_caller]
pub(super) fn is_small<T: BaseTensor, E: Float>(a: &Loose<T, E>) -> Loose<T, bool> {
    a.lt(&Loose::number(LARGE))
}

/// The rest for large numbers.
#[track_caller]
pub(super) fn rest_of_large<T: BaseTensor, E: Float>(a: &Loose<T, E>) -> Loose<T, E> {
    let inverse = a.with(Binary::Max, &Loose::number(LARGE)).recip();
    let z = inverse.square();
    let [first @ .., last] = &SERIES;
    let sum = first.iter().rev().fold(Loose::number(*last), |sum, c| (sum * &z).shift(*c));
    sum * inverse
}

/// The rest, for all positive numbers.
#[track_caller]
pub(super) fn rest<T: BaseTensor, E: Float>(a: &Loose<T, E>) -> Loose<T, E> {
    let small = a.lgamma() - (a.shift(-0.5) * a.ln() - a).shift(ln_root_tau());
    is_small(a).select(&small, &rest_of_large(a))
}

/// `lgamma(a + 1/2) - lgamma(a) - ln(a) / 2`, which is about `-1 / (8 a)`.
#[track_caller]
pub(super) fn half_step<T: BaseTensor, E: Float>(a: &Loose<T, E>) -> Loose<T, E> {
    let growth = a * a.scale(2.0).recip().map(Unary::Log1p);
    growth.shift(-0.5) + (rest(&a.shift(0.5)) - rest(a))
}

/// `lgamma(a + y) - lgamma(a) - y ln a`, for `y >= 0`.
#[track_caller]
pub(super) fn rising<T: BaseTensor, E: Float>(a: &Loose<T, E>, y: &Loose<T, E>) -> Loose<T, E> {
    let sum = y + a;
    // `ln(1 + y / a)`, without overflow of the quotient.
    let growth = (y.ln() - a.ln()).softplus();
    let rising = sum.shift(-0.5) * growth - y + (rest(&sum) - rest(a));
    // Of no step the derivatives in `a` of both rests would cancel only after all else was added to one of them.
    let zero = Loose::number(0.0);
    y.eq(&zero).select(&zero, &rising)
}
