//! Powers: the logarithm in two parts, so that its error times a large exponent is small, then the exponential.

use super::Elementary;
use super::exponential::{exponential_of_parts, fraction_and_exponent};
use crate::{Machine, Number};

/// The logarithm of 2 in two parts.
const LN_2: [f64; 2] = [0.693_147_180_485_539_1, 7.440_617_110_012_397e-11];

/// Two thirds, in two parts.
const TWO_THIRDS: [f64; 2] = [2.0 / 3.0, 3.700743415417188e-17];

/// `(2 artanh s - 2 s - 2/3 s^3) / s^5` as a function of `s^2`, for `s <= (sqrt 2 - 1) / (sqrt 2 + 1)`.
const TAIL: &[f64] = &[
    0.40000000000000385,
    0.2857142857099817,
    0.2222222236369857,
    0.18181797453549092,
    0.15386186335814736,
    0.1326932913384263,
    0.13087499024340296,
];

/// Exponents from this absolute value on are left to the row, as are results that are not between `e^-700` and `e^700`.
const HUGE_EXPONENT: f64 = 1e280;
const LARGE_LOGARITHM: f64 = 700.0;

#[inline(always)]
fn madd<M: Machine>(a: f64, b: f64, c: f64) -> f64 {
    f64::multiply_add::<M>(a, b, c)
}

/// A product and its rounding error.
#[inline(always)]
fn product<M: Machine>(a: f64, b: f64) -> (f64, f64) {
    let high = a * b;
    if M::FMA {
        return (high, a.fused_multiply_add(b, -high));
    }
    // Veltkamp's splitting: products of halves of 26 bits are exact.
    let half = |x: f64| {
        let wide = x * 134_217_729.0;
        let leading = wide - (wide - x);
        (leading, x - leading)
    };
    let ((a0, a1), (b0, b1)) = (half(a), half(b));
    (high, ((a0 * b0 - high) + a0 * b1 + a1 * b0) + a1 * b1)
}

/// A sum and its rounding error, if the first number is 0 or not smaller in absolute value (Fast2Sum).
#[inline(always)]
fn sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    (high, (a - high) + b)
}

/// The product of two numbers of two parts each, in two parts.
#[inline(always)]
fn product_of_parts<M: Machine>((a, a1): (f64, f64), (b, b1): (f64, f64)) -> (f64, f64) {
    let (high, low) = product::<M>(a, b);
    (high, madd::<M>(a, b1, madd::<M>(a1, b, low)))
}

/// `k ln 2 + ln (1 + f)` in two parts, of about 64 bits, for `1 + f` between the roots of 1/2 and of 2.
#[inline(always)]
fn logarithm<M: Machine>(f: f64, k: f64) -> (f64, f64) {
    // s = f / (2 + f), with 2 + f exact in two parts.
    let number = 1.0 + f;
    let (whole, part) = (1.0 + number, number - ((1.0 + number) - 1.0));
    let inverse = 1.0 / whole;
    let s = f * inverse;
    let (back, lost) = product::<M>(s, whole);
    let s = (s, inverse * ((f - back) - madd::<M>(s, part, lost)));
    // ln (1 + f) = 2 s + s z (2/3 + z tail) with z = s^2.
    let z = product_of_parts::<M>(s, s);
    let (p, lost) = sum(TWO_THIRDS[0], z.0 * super::horner::<f64, M>(z.0, TAIL));
    let cubic = product_of_parts::<M>(s, product_of_parts::<M>(z, (p, lost + TWO_THIRDS[1])));
    let (high, lost) = sum(2.0 * s.0, cubic.0);
    let low = lost + (2.0 * s.1 + cubic.1);
    let (high, lost) = sum(k * LN_2[0], high);
    (high, madd::<M>(k, LN_2[1], low) + lost)
}

/// A float type in which powers are computed.
pub(crate) trait Power: Sized {
    /// `x^y`, and whether the result is accurate.
    fn power_of<M: Machine>(x: Self, y: Self) -> (Self, bool);
    /// The square of a number, and its rounding error.
    fn square<M: Machine>(x: Self) -> (Self, Self);
}

impl Power for f64 {
    #[inline(always)]
    fn power_of<M: Machine>(x: f64, y: f64) -> (f64, bool) {
        let (f, k) = fraction_and_exponent(x);
        let (high, low) = logarithm::<M>(f, k);
        let (whole, lost) = product::<M>(y, high);
        let right = f64::is_normal_and_positive(x) & (y.abs() < HUGE_EXPONENT) & (whole.abs() < LARGE_LOGARITHM);
        (exponential_of_parts::<M>(whole, madd::<M>(y, low, lost)), right)
    }

    #[inline(always)]
    fn square<M: Machine>(x: f64) -> (f64, f64) {
        product::<M>(x, x)
    }
}

/// Computed in `f64`, whose rounding errors are negligible in `f32`.
impl Power for f32 {
    #[inline(always)]
    fn power_of<M: Machine>(x: f32, y: f32) -> (f32, bool) {
        let z = f64::exponential::<M>(f64::from(y) * f64::logarithm::<M>(f64::from(x)));
        (z as f32, (x > 0.0) & (x < f32::INFINITY) & (y.abs() < f32::INFINITY))
    }

    #[inline(always)]
    fn square<M: Machine>(x: f32) -> (f32, f32) {
        let square = x * x;
        if M::FMA {
            return (square, x.fused_multiply_add(x, -square));
        }
        let exact = f64::from(x) * f64::from(x);
        (square, (exact - f64::from(square)) as f32)
    }
}
