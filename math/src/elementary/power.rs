//! Powers: the logarithm in two parts, so that its error times a large exponent is small, then the exponential.

use super::exponential::{exponential_of_parts, split};
use super::{Elementary, c, horner};
use crate::number::Format;
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

/// A product and its rounding error.
#[inline(always)]
fn product<E: Number, M: Machine>(a: E, b: E) -> (E, E) {
    let high = a * b;
    (high, E::product_error::<M>(a, b, high))
}

/// A sum and its rounding error, if the first number is 0 or not smaller in absolute value (Fast2Sum).
#[inline(always)]
fn sum<E: Number>(a: E, b: E) -> (E, E) {
    let high = a + b;
    (high, (a - high) + b)
}

/// The product of two numbers of two parts each, in two parts.
#[inline(always)]
fn product_of_parts<E: Number, M: Machine>((a, a1): (E, E), (b, b1): (E, E)) -> (E, E) {
    let (high, low) = product::<E, M>(a, b);
    (high, E::multiply_add::<M>(a, b1, E::multiply_add::<M>(a1, b, low)))
}

/// `k ln 2 + ln (1 + f)` in two parts, of about 64 bits, for `1 + f` between the roots of 1/2 and of 2.
#[inline(always)]
fn logarithm<E: Number<Float = f64>, M: Machine>(f: E, k: E) -> (E, E) {
    let (one, two) = (c::<E>(1.0), c::<E>(2.0));
    // s = f / (2 + f), with 2 + f exact in two parts.
    let number = one + f;
    let whole = one + number;
    let part = number - (whole - one);
    let inverse = one / whole;
    let s = f * inverse;
    let (back, lost) = product::<E, M>(s, whole);
    let s = (s, inverse * ((f - back) - E::multiply_add::<M>(s, part, lost)));
    // ln (1 + f) = 2 s + s z (2/3 + z tail) with z = s^2.
    let z = product_of_parts::<E, M>(s, s);
    let (p, lost) = sum(c(TWO_THIRDS[0]), z.0 * horner::<E, M>(z.0, TAIL));
    let cubic = product_of_parts::<E, M>(s, product_of_parts::<E, M>(z, (p, lost + c(TWO_THIRDS[1]))));
    let (high, lost) = sum(two * s.0, cubic.0);
    let low = lost + (two * s.1 + cubic.1);
    let (high, lost) = sum(k * c(LN_2[0]), high);
    (high, E::multiply_add::<M>(k, c(LN_2[1]), low) + lost)
}

/// A float type in which powers are computed.
pub trait Power: Sized {
    /// `x^y`, and whether the result is accurate.
    fn power_of<E: Number<Float = Self>, M: Machine>(x: E, y: E) -> (E, E::Mask);
}

impl Power for f64 {
    #[inline(always)]
    fn power_of<E: Number<Float = f64>, M: Machine>(x: E, y: E) -> (E, E::Mask) {
        let (f, k, _) = split(x);
        let (high, low) = logarithm::<E, M>(f, k);
        let (whole, lost) = product::<E, M>(y, high);
        let in_range = y.magnitude().below(c(HUGE_EXPONENT)) & whole.magnitude().below(c(LARGE_LOGARITHM));
        let power = exponential_of_parts::<E, M>(whole, E::multiply_add::<M>(y, low, lost));
        (power, E::is_normal_and_positive(x) & in_range)
    }
}

/// Computed in `f64`, whose rounding errors are negligible in `f32`.
impl Power for f32 {
    #[inline(always)]
    fn power_of<E: Number<Float = f32>, M: Machine>(x: E, y: E) -> (E, E::Mask) {
        let z = E::Wide::exponential::<M>(y.wide() * E::Wide::logarithm::<M>(x.wide()));
        let most = E::constant(<f32 as Format>::MAX);
        (E::narrow(z), x.above(c(0.0)) & x.at_most(most) & y.magnitude().at_most(most))
    }
}
