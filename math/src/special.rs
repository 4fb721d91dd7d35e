//! Functions that the standard library and `libm` lack, or compute with large errors.
//!
//! Law: they are made of functions of this crate on the machine without fused multiply-add, so bits depend on no
//! machine. The tests of `polygrad` bound the errors.
//!
//! `digamma`, `trigamma` and `polygamma`: the recurrence raises the argument above `LARGE`, where the asymptotic
//! series is evaluated; negative arguments are reflected. `lgamma` is that of `libm`, save where this cancels.

use core::f64::consts::{LN_2, PI};

use crate::elementary::c;
use crate::number::{Double, Library, Word, call};
use crate::{WithoutFma, scalar};

/// Functions on the machine without fused multiply-add.
macro_rules! on_any_machine {
    ($($name:ident($($x:ident),*) = $function:path;)*) => { $(
        fn $name<E: Double>($($x: E),*) -> E {
            $function($($x),*)
        }
    )* };
}

on_any_machine! {
    exp(x) = scalar::exp::<E, WithoutFma>;
    ln(x) = scalar::ln::<E, WithoutFma>;
    log1p(x) = scalar::log1p::<E, WithoutFma>;
    sin(x) = scalar::sin::<E, WithoutFma>;
    tan(x) = scalar::tan::<E, WithoutFma>;
    pow(x, y) = scalar::pow::<E, WithoutFma>;
    named_digamma(x) = scalar::digamma::<E, WithoutFma>;
}

/// Whether a number is neither NaN nor infinite.
#[inline(always)]
fn is_finite<E: Double>(x: E) -> E::Mask {
    x.magnitude().at_most(c(f64::MAX))
}

/// From this number on, adding 1 to the square of a number does not change the rounded square.
const SQUARE_HIDES_ONE: f64 = 268_435_456.0;

/// `ln(x + sqrt(x^2 + 1))`, odd, without overflow of the square.
#[inline]
pub fn asinh<E: Double>(x: E) -> E {
    let (a, one) = (x.magnitude(), c::<E>(1.0));
    let near = || log1p(a + a * a / (one + (one + a * a).root()));
    E::choose(a.below(c(SQUARE_HIDES_ONE)), near, || ln(a) + c(LN_2)).signed_like(x)
}

/// `ln(x + sqrt(x^2 - 1))`, by the distance of `x` from 1, which is exact near 1.
#[inline]
pub fn acosh<E: Double>(x: E) -> E {
    let near = || {
        let t = x - c(1.0);
        log1p(t + (t * (t + c(2.0))).root())
    };
    let inside = || E::choose(x.below(c(SQUARE_HIDES_ONE)), near, || ln(x) + c(LN_2));
    E::choose(x.below(c(1.0)), || c(f64::NAN), inside)
}

/// `ln((1 + x) / (1 - x)) / 2`, odd.
#[inline]
pub fn atanh<E: Double>(x: E) -> E {
    let (a, one, two) = (x.magnitude(), c::<E>(1.0), c::<E>(2.0));
    // Below a half, the quotient 2 a / (1 - a) is computed as 2 a, which is exact, plus a small rest.
    let quotient = E::select(a.below(c(0.5)), two * a + two * a * a / (one - a), two * (a / (one - a)));
    (c::<E>(0.5) * log1p(quotient)).signed_like(x)
}

/// `1 / cosh(x)^2`; the exponent is never positive, so nothing overflows.
#[inline]
pub fn sech2<E: Double>(x: E) -> E {
    let e = exp(-(x.magnitude() + x.magnitude()));
    let s = c::<E>(1.0) + e;
    c::<E>(4.0) * e / (s * s)
}

/// `e^(-x^2)`. The error from rounding the square, in units in the last place of the result, would be as large as the
/// square. So only the square of the leading bits, which is exact, is exponentiated; the rest gives a factor near 1.
#[inline]
pub fn gaussian<E: Double>(x: E) -> E {
    let (a, one) = (x.magnitude(), c::<E>(1.0));
    let near = || {
        let leading = E::of_word(a.word() & !E::Word::literal(0x7ff_ffff));
        // The rest of the square is below 5e-5, so four terms of the series of the exponential are exact to rounding.
        let rest = (a - leading) * (a + leading);
        exp(-leading * leading) * (one - rest * (one - rest * (c::<E>(0.5) - rest / c(6.0))))
    };
    E::choose(a.above(c(40.0)), || c(0.0), near)
}

/// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
#[inline]
pub fn pow_less_one<E: Double>(x: E, y: E) -> E {
    let (one, zero) = (c::<E>(1.0), c::<E>(0.0));
    let less = y - one;
    let power = pow(x, less);
    let lost = E::select(y.magnitude().below(one), y - (less + one), -one - (less - y));
    let is_exact = lost.equals(zero) | power.equals(zero) | !is_finite(power) | !is_finite(y);
    E::choose(is_exact, || power, || power * exp(lost * ln(x.magnitude())))
}

/// `x / (x^2 + y^2)`, by the length of `(x, y)` where the sum of squares is out of range; 0, the limit, where it is
/// infinite.
#[inline]
pub fn recip_real<E: Double>(x: E, y: E) -> E {
    let squares = x * x + y * y;
    // From this bound on, a square that underflows does not change the rounded sum.
    let is_accurate = is_finite(squares) & squares.at_least(c(f64::MIN_POSITIVE / f64::EPSILON));
    let by_length = || {
        let length = scalar::hypot::<E, WithoutFma>(x, y);
        let is_infinite = length.above(c(f64::MAX)) & !x.is_not_a_number() & !y.is_not_a_number();
        E::select(is_infinite, c::<E>(0.0).signed_like(x), x / length / length)
    };
    E::choose(is_accurate, || x / squares, by_length)
}

/// From this argument on, the truncated asymptotic series are exact to rounding.
const LARGE: f64 = 12.0;

/// The Bernoulli numbers `B_2, B_4, .., B_16`.
const BERNOULLI: [f64; 8] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];

/// `sum_k coefficient(k, B_2k) z^k` over the Bernoulli numbers, `k` from 1, by Horner's rule.
#[inline(always)]
fn series<E: Double>(z: E, coefficient: impl Fn(f64, f64) -> f64) -> E {
    let mut sum = c::<E>(0.0);
    for (k, b) in BERNOULLI.iter().enumerate().rev() {
        sum = (sum + c(coefficient((k + 1) as f64, *b))) * z;
    }
    sum
}

/// The difference of `x` and its nearest integer, which is exact.
#[inline(always)]
fn from_nearest<E: Double>(x: E) -> E {
    x - x.round_of()
}

/// Whether a number is an integer, or infinite.
#[inline(always)]
fn is_whole<E: Double>(x: E) -> E::Mask {
    x.equals(x.floor_of())
}

/// The logarithm of the absolute value of the gamma function. Between `LAST_ZEROS` and -2, where it has its zeros, it
/// is `lgamma(1 + d) - ln |d (d - 1) .. (d - n)|` for `x = d - n` with the nearest integer `-n`: the factors are exact,
/// and both terms are small near a zero. The reflection of `libm` cancels there. Infinite at the poles.
#[inline]
pub fn lgamma<E: Double>(x: E) -> E {
    call!(E: Double, WithoutFma, "lgamma", "`ln |gamma(x)|`.", [x], lgamma_of)
}

#[inline(always)]
fn lgamma_of<E: Double>([x]: [E; 1]) -> E {
    let near_zeros = || {
        let d = from_nearest(x);
        let [_, product] = E::repeat(
            [d, c(1.0)],
            |[factor, _]| factor.above(x),
            |[factor, product]| [factor - c(1.0), product * factor],
        );
        let whole = E::by_library(Library::LnOfLibm, [(product * x).magnitude()]);
        E::by_library(Library::Lgamma, [c::<E>(1.0) + d]) - whole
    };
    let has_zeros = x.above(c(LAST_ZEROS)) & x.below(c(-2.0));
    let elsewhere = || E::by_library(Library::Lgamma, [x]);
    E::choose(has_zeros, || E::choose(is_whole(x), || c(f64::INFINITY), near_zeros), elsewhere)
}

/// Beyond it no float is near to a zero of `lgamma`.
const LAST_ZEROS: f64 = -24.0;

/// The terms `term(x + k)` for the integers `k` from 0 with `x + k` below `LARGE`: the first one, and the sum of the
/// others, the smallest ones first; and the first argument that is left out.
#[inline(always)]
fn recurrence<E: Double>(x: E, term: impl Fn(E) -> E) -> (E, E, E) {
    let (is_small, zero) = (x.below(c(LARGE)), c::<E>(0.0));
    let steps = E::select(is_small, (c::<E>(LARGE) - x).ceil_of(), zero);
    let next = |[k, others]: [E; 2]| {
        let k = k - c(1.0);
        [k, others + term(x + k)]
    };
    let [_, others] = E::repeat([steps, zero], |[k, _]| k.above(c(1.0)), next);
    (E::select(is_small, term(x), zero), others, x + steps)
}

/// [`digamma`] of positive numbers.
#[inline(always)]
fn digamma_positive<E: Double>([x]: [E; 1]) -> E {
    let (first, others, x) = recurrence(x, |x| c::<E>(1.0) / x);
    let series = series(c::<E>(1.0) / (x * x), |k, b| b / (2.0 * k));
    ln(x) - c::<E>(0.5) / x - series - others - first
}

/// The derivative of the logarithm of the gamma function: `ln x - 1/(2x) - sum_k B_2k / (2k x^2k)`
/// for large `x`; `psi(1 - x) - pi / tan(pi x)` for negative ones. NaN at the poles.
#[inline]
pub fn digamma<E: Double>(x: E) -> E {
    let positive = |x: E| call!(E: Double, WithoutFma, "digamma_positive", "The derivative of `ln gamma` for positive numbers.", [x], digamma_positive);
    // The tangent has period 1: its argument is reduced without rounding.
    let reflected = || positive(c::<E>(1.0) - x) - c::<E>(PI) / tan(c::<E>(PI) * from_nearest(x));
    let negative = || E::choose(is_whole(x), || c(f64::NAN), reflected);
    E::choose(x.at_most(c(0.0)), negative, || positive(x))
}

/// [`trigamma`] of positive numbers.
#[inline(always)]
fn trigamma_positive<E: Double>([x]: [E; 1]) -> E {
    let one = c::<E>(1.0);
    let (first, others, x) = recurrence(x, |x| one / (x * x));
    let z = one / (x * x);
    (one + c::<E>(0.5) / x + series(z, |_, b| b)) / x + others + first
}

/// The derivative of [`digamma`]: `1/x + 1/(2x^2) + sum_k B_2k / x^(2k + 1)` for large `x`;
/// `pi^2 / sin(pi x)^2 - psi'(1 - x)` for negative ones. Infinite at the poles.
#[inline]
pub fn trigamma<E: Double>(x: E) -> E {
    let positive = |x: E| call!(E: Double, WithoutFma, "trigamma_positive", "The derivative of `digamma` for positive numbers.", [x], trigamma_positive);
    let reflected = || {
        let inverse = c::<E>(PI) / sin(c::<E>(PI) * from_nearest(x));
        inverse * inverse - positive(c::<E>(1.0) - x)
    };
    let pole = || E::select(is_finite(x), c(f64::INFINITY), c(f64::NAN));
    let negative = || E::choose(is_whole(x), pole, reflected);
    E::choose(x.at_most(c(0.0)), negative, || positive(x))
}

/// The largest distance of an order from an integer: a computed order may have a rounding error.
const ORDER_SLACK: f64 = 0.25;

/// The derivative of order `order` of [`digamma`]. NaN for orders that are negative or no integers, and at the poles
/// for even orders, since the infinities on both sides of the pole have opposite signs; infinite at the poles for odd
/// orders.
///
/// `psi_n(x) = psi_n(f) - (-1)^n (psi_n(g) - psi_n(1 - x))` for negative `x`, where `f` and `g` are the distances of
/// `x` from the integers below and above: the poles between `x` and 0 are those of two finite series. For order 2, the
/// derivative of `trigamma`, the first two terms are `-2 pi^3 cos(pi x) / sin(pi x)^3`, which is exact also where they
/// cancel, half-way between integers.
#[inline]
pub fn polygamma<E: Double>(x: E, order: E) -> E {
    let (n, zero) = (order.round_of(), c::<E>(0.0));
    let half = c::<E>(0.5) * n;
    let is_even = is_whole(half);
    let size = |x: E| call!(E: Double, WithoutFma, "polygamma_size", "`n! sum_k 1 / (x + k)^(n + 1)` for positive `x` and `n >= 2`.", [x, n], polygamma_size);
    let positive = || {
        let size = size(x);
        E::select(is_even, -size, size)
    };
    let pole = || E::select(is_even | !is_finite(x), c(f64::NAN), c(f64::INFINITY));
    let second = || {
        let d = from_nearest(x);
        let inverse = c::<E>(PI) / sin(c::<E>(PI) * d);
        // The cosine is the sine of what is missing to a half, which is exact near a half.
        let cosine = sin(c::<E>(PI) * (c::<E>(0.5) - d.magnitude()));
        let slope = c::<E>(2.0) * cosine * inverse * (inverse * inverse);
        -slope - size(c::<E>(1.0) - x)
    };
    let reflected = || {
        let (below, above) = (size(x - x.floor_of()), size(x.ceil_of() - x));
        E::select(is_even, above - below, above + below) - size(c::<E>(1.0) - x)
    };
    let inside = || E::choose(n.equals(c(2.0)), second, reflected);
    let negative = || E::choose(is_whole(x), pole, inside);
    let higher = || E::choose(x.above(zero), positive, negative);
    let from_first = || E::choose(n.equals(c(1.0)), || trigamma(x), higher);
    let any = || E::choose(n.equals(zero), || named_digamma(x), from_first);
    let is_order = n.at_least(zero) & (order - n).magnitude().at_most(c(ORDER_SLACK)) & is_finite(n);
    E::choose(is_order & !x.is_not_a_number(), any, || c(f64::NAN))
}

/// `n! sum_k 1 / (x + k)^(n + 1)` for positive `x` and `n >= 2`: the terms with `x + k` below `LARGE + 1.5 n`, since
/// the asymptotic series needs a larger argument for a larger order, and the rest by the asymptotic series
/// `1 / (n y^n) + 1 / (2 y^(n + 1)) + sum_k B_2k (n + 1) .. (n + 2k - 1) / ((2k)! y^(n + 2k))`.
///
/// It is compiled once, so that the step of its loop is inlined.
#[inline(never)]
fn polygamma_size<E: Double>([x, n]: [E; 2]) -> E {
    let one = c::<E>(1.0);
    let next = |[k, y, terms, part]: [E; 4]| {
        let above = y + one;
        [k + one, above, terms + part, pow(x / above, n + one)]
    };
    let enough = c::<E>(LARGE) + c::<E>(1.5) * n;
    let open = |[k, y, _, part]: [E; 4]| k.below(c(MOST_TERMS)) & y.below(enough) & part.above(c(HIDDEN));
    let [_, y, terms, part] = E::repeat([c(0.0), x, c(0.0), one], open, next);
    let z = one / (y * y);
    // The factor (n + 1) .. (n + 2k - 1) / (2k)!, times y^(1 - 2k), from k = 1 on.
    let mut factor = (n + one) / (c::<E>(2.0) * y);
    let mut rest = y / n + c(0.5);
    for (k, b) in BERNOULLI.iter().enumerate() {
        rest = rest + c::<E>(*b) * factor;
        let k = 2.0 * (k + 1) as f64;
        factor = factor * ((n + c(k)) * (n + c(k) + one) / c((k + 1.0) * (k + 2.0)) * z);
    }
    // Below the bound, the rest does not change the rounded sum.
    let whole = E::select(part.at_most(c(HIDDEN)), terms, terms + part * rest);
    let by_factorial = || {
        let next = |[left, k, product]: [E; 3]| [left - one, k + one, product * k];
        let [_, _, factorial] = E::repeat([n, one, one], |[left, _, _]| left.at_least(one), next);
        // Neither power is out of range if the result is in range.
        let lower = (n / c(2.0)).floor_of();
        factorial / pow(x, lower) * (whole / x) / pow(x, n - lower)
    };
    let by_logarithms = || exp(lgamma(n + one) - (n + one) * ln(x) + ln(whole));
    let finite = || E::choose(n.at_most(c(MOST_FACTORIAL)), by_factorial, by_logarithms);
    E::choose(x.at_most(c(f64::MAX)), finite, || c(0.0))
}

/// Terms below this bound do not change the rounded sum, whose first term is 1.
const HIDDEN: f64 = f64::EPSILON / 64.0;

/// A bound of the number of terms for all arguments and orders: of the terms with `x + k` below `1.5 n`, only the first
/// 62 can change the rounded sum.
const MOST_TERMS: f64 = 64.0;

/// The largest number whose factorial is a float.
const MOST_FACTORIAL: f64 = 170.0;
