//! Kernels of functions that the standard library and `libm` lack, or compute with large errors.
//!
//! Law: they are made of functions of this crate on the machine without fused multiply-add, so bits depend on no
//! machine. The tests of `polygrad` bound the errors.
//!
//! `digamma`, `trigamma` and `polygamma`: the recurrence raises the argument above [`LARGE`], where the asymptotic
//! series is evaluated; negative arguments are reflected. `lgamma` is that of `libm`, save where this cancels.

use core::f64::consts::{LN_2, PI};

use crate::scalar;
use crate::{Elementary, Number, WithoutFma};

/// Functions on the machine without fused multiply-add.
macro_rules! on_any_machine {
    ($($name:ident($($x:ident),*) = $function:expr;)*) => { $(
        #[inline]
        fn $name($($x: f64),*) -> f64 {
            $function($($x),*)
        }
    )* };
}

on_any_machine! {
    exp(x) = f64::exponential::<WithoutFma>;
    ln(x) = scalar::ln::<f64, WithoutFma>;
    log1p(x) = scalar::log1p::<f64, WithoutFma>;
    sin(x) = scalar::sin::<f64, WithoutFma>;
    tan(x) = scalar::tan::<f64, WithoutFma>;
    pow(x, y) = scalar::pow::<f64, WithoutFma>;
}

/// From this number on, adding 1 to the square of a number does not change the rounded square.
const SQUARE_HIDES_ONE: f64 = 268_435_456.0;

/// `ln(x + sqrt(x^2 + 1))`, odd, without overflow of the square.
pub fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let y = if a < SQUARE_HIDES_ONE { log1p(a + a * a / (1.0 + (1.0 + a * a).root())) } else { ln(a) + LN_2 };
    y.copysign(x)
}

/// `ln(x + sqrt(x^2 - 1))`, by the distance of `x` from 1, which is exact near 1.
pub fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    let t = x - 1.0;
    if x < SQUARE_HIDES_ONE { log1p(t + (t * (t + 2.0)).root()) } else { ln(x) + LN_2 }
}

/// `ln((1 + x) / (1 - x)) / 2`, odd.
pub fn atanh(x: f64) -> f64 {
    let a = x.abs();
    // Below a half, the quotient 2 a / (1 - a) is computed as 2 a, which is exact, plus a small rest.
    let quotient = if a < 0.5 { 2.0 * a + 2.0 * a * a / (1.0 - a) } else { 2.0 * (a / (1.0 - a)) };
    (0.5 * log1p(quotient)).copysign(x)
}

/// `1 / cosh(x)^2`; the exponent is never positive, so nothing overflows.
pub fn sech2(x: f64) -> f64 {
    let e = exp(-(x.abs() + x.abs()));
    let s = 1.0 + e;
    4.0 * e / (s * s)
}

/// `e^(-x^2)`. The error from rounding the square, in units in the last place of the result, would be as large as the
/// square. So only the square of the leading bits, which is exact, is exponentiated; the rest gives a factor near 1.
pub fn gaussian(x: f64) -> f64 {
    let a = x.abs();
    if a > 40.0 {
        return 0.0;
    }
    let leading = f64::from_bits(a.to_bits() & !0x7ff_ffff);
    // The rest of the square is below 5e-5, so four terms of the series of the exponential are exact to rounding.
    let rest = (a - leading) * (a + leading);
    exp(-leading * leading) * (1.0 - rest * (1.0 - rest * (0.5 - rest / 6.0)))
}

/// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
pub fn pow_less_one(x: f64, y: f64) -> f64 {
    let less = y - 1.0;
    let power = pow(x, less);
    let lost = if y.abs() < 1.0 { y - (less + 1.0) } else { -1.0 - (less - y) };
    if lost == 0.0 || power == 0.0 || !power.is_finite() || !y.is_finite() {
        return power;
    }
    power * exp(lost * ln(x.abs()))
}

/// `x / (x^2 + y^2)`, by the length of `(x, y)` where the sum of squares is out of range; 0, the limit, where it is
/// infinite.
pub fn recip_real(x: f64, y: f64) -> f64 {
    let squares = x * x + y * y;
    // From this bound on, a square that underflows does not change the rounded sum.
    if squares.is_finite() && squares >= f64::MIN_POSITIVE / f64::EPSILON {
        return x / squares;
    }
    let length = scalar::hypot::<f64, WithoutFma>(x, y);
    if length > f64::MAX && !x.is_nan() && !y.is_nan() {
        return 0f64.copysign(x);
    }
    x / length / length
}

/// From this argument on, the truncated asymptotic series are exact to rounding.
const LARGE: f64 = 12.0;

/// The Bernoulli numbers `B_2, B_4, .., B_16`.
const BERNOULLI: [f64; 8] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];

/// `sum_k coefficient(k, B_2k) z^k` over the Bernoulli numbers, `k` from 1, by Horner's rule.
fn series(z: f64, coefficient: impl Fn(f64, f64) -> f64) -> f64 {
    BERNOULLI.iter().enumerate().rev().fold(0.0, |sum, (k, b)| (sum + coefficient((k + 1) as f64, *b)) * z)
}

/// The difference of `x` and its nearest integer, which is exact.
fn from_nearest(x: f64) -> f64 {
    x - libm::round(x)
}

/// The logarithm of the absolute value of the gamma function. Between `LAST_ZEROS` and -2, where it has its zeros, it
/// is `lgamma(1 + d) - ln |d (d - 1) .. (d - n)|` for `x = d - n` with the nearest integer `-n`: the factors are exact,
/// and both terms are small near a zero. The reflection of `libm` cancels there. Infinite at the poles.
pub fn lgamma(x: f64) -> f64 {
    if !(LAST_ZEROS < x && x < -2.0) || x == libm::floor(x) {
        return libm::lgamma(x);
    }
    let d = from_nearest(x);
    let (mut factor, mut product) = (d, 1.0);
    while factor > x {
        product *= factor;
        factor -= 1.0;
    }
    libm::lgamma(1.0 + d) - libm::log((product * x).abs())
}

/// Beyond it no float is near to a zero of `lgamma`.
const LAST_ZEROS: f64 = -24.0;

/// The terms `term(x + k)` for the integers `k` from 0 with `x + k` below [`LARGE`]: the first one, and the sum of the
/// others, the smallest ones first; and the first argument that is left out.
fn recurrence(x: f64, term: impl Fn(f64) -> f64) -> (f64, f64, f64) {
    if x >= LARGE || x.is_nan() {
        return (0.0, 0.0, x);
    }
    let steps = libm::ceil(LARGE - x);
    let (mut k, mut others) = (steps, 0.0);
    while k > 1.0 {
        k -= 1.0;
        others += term(x + k);
    }
    (term(x), others, x + steps)
}

/// The derivative of the logarithm of the gamma function: `ln x - 1/(2x) - sum_k B_2k / (2k x^2k)`
/// for large `x`; `psi(1 - x) - pi / tan(pi x)` for negative ones. NaN at the poles.
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == libm::floor(x) {
            return f64::NAN;
        }
        // The tangent has period 1: its argument is reduced without rounding.
        return digamma(1.0 - x) - PI / tan(PI * from_nearest(x));
    }
    let (first, others, x) = recurrence(x, |x| 1.0 / x);
    ln(x) - 0.5 / x - series(1.0 / (x * x), |k, b| b / (2.0 * k)) - others - first
}

/// The derivative of [`digamma`]: `1/x + 1/(2x^2) + sum_k B_2k / x^(2k + 1)` for large `x`;
/// `pi^2 / sin(pi x)^2 - psi'(1 - x)` for negative ones. Infinite at the poles.
pub fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == libm::floor(x) {
            return if x.is_finite() { f64::INFINITY } else { f64::NAN };
        }
        let inverse = PI / sin(PI * from_nearest(x));
        return inverse * inverse - trigamma(1.0 - x);
    }
    let (first, others, x) = recurrence(x, |x| 1.0 / (x * x));
    let z = 1.0 / (x * x);
    (1.0 + 0.5 / x + series(z, |_, b| b)) / x + others + first
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
pub fn polygamma(x: f64, order: f64) -> f64 {
    let n = libm::round(order);
    if !(n >= 0.0 && (order - n).abs() <= ORDER_SLACK && n.is_finite()) || x.is_nan() {
        return f64::NAN;
    }
    if n == 0.0 {
        return digamma(x);
    }
    if n == 1.0 {
        return trigamma(x);
    }
    let even = n % 2.0 == 0.0;
    if x > 0.0 {
        let size = polygamma_size(x, n);
        return if even { -size } else { size };
    }
    if x == libm::floor(x) {
        return if even || x.is_infinite() { f64::NAN } else { f64::INFINITY };
    }
    if n == 2.0 {
        let d = from_nearest(x);
        let inverse = PI / sin(PI * d);
        // The cosine is the sine of what is missing to a half, which is exact near a half.
        let slope = 2.0 * sin(PI * (0.5 - d.abs())) * inverse * (inverse * inverse);
        return -slope - polygamma_size(1.0 - x, n);
    }
    let (below, above) = (polygamma_size(x - libm::floor(x), n), polygamma_size(libm::ceil(x) - x, n));
    let both = if even { above - below } else { above + below };
    both - polygamma_size(1.0 - x, n)
}

/// `n! sum_k 1 / (x + k)^(n + 1)` for positive `x` and `n >= 2`: the terms with `x + k` below `LARGE + 1.5 n`, since
/// the asymptotic series needs a larger argument for a larger order, and the rest by the asymptotic series
/// `1 / (n y^n) + 1 / (2 y^(n + 1)) + sum_k B_2k (n + 1) .. (n + 2k - 1) / ((2k)! y^(n + 2k))`.
fn polygamma_size(x: f64, n: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    let (mut y, mut terms) = (x, 0.0);
    let mut part = 1.0;
    for _ in 0..MOST_TERMS {
        if y >= LARGE + 1.5 * n || part <= HIDDEN {
            break;
        }
        terms += part;
        y += 1.0;
        part = pow(x / y, n + 1.0);
    }
    let z = 1.0 / (y * y);
    // The factor (n + 1) .. (n + 2k - 1) / (2k)!, times y^(1 - 2k), from k = 1 on.
    let mut factor = (n + 1.0) / (2.0 * y);
    let mut rest = y / n + 0.5;
    for (k, b) in BERNOULLI.iter().enumerate() {
        rest += b * factor;
        let k = 2.0 * (k + 1) as f64;
        factor *= (n + k) * (n + k + 1.0) / ((k + 1.0) * (k + 2.0)) * z;
    }
    // Below the bound, the rest does not change the rounded sum.
    let whole = if part <= HIDDEN { terms } else { terms + part * rest };
    // Neither power is out of range if the result is in range.
    let lower = libm::floor(n / 2.0);
    if n <= MOST_FACTORIAL {
        let factorial = (1..=n as u32).map(f64::from).product::<f64>();
        return factorial / pow(x, lower) * (whole / x) / pow(x, n - lower);
    }
    exp(lgamma(n + 1.0) - (n + 1.0) * ln(x) + ln(whole))
}

/// Terms below this bound do not change the rounded sum, whose first term is 1.
const HIDDEN: f64 = f64::EPSILON / 64.0;

/// A bound of the number of terms for all arguments and orders: of the terms with `x + k` below `1.5 n`, only the first
/// 62 can change the rounded sum.
const MOST_TERMS: u32 = 64;

/// The largest number whose factorial is a float.
const MOST_FACTORIAL: f64 = 170.0;
