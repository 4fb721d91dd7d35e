//! Exponentials and logarithms: one algorithm, instantiated for both float types.

use super::{c, polynomial};
use crate::number::Word;
use crate::{Machine, Number};

/// The constants of a float type that its exponentials and logarithms need.
pub trait Layout: Copy + 'static {
    /// The number of stored bits of the mantissa.
    const MANTISSA: u32;
    /// The exponent field of 1.
    const BIAS: u64;
    /// A number with a unit in the last place of 1: added to a small number, it leaves the nearest integer in the low
    /// bits.
    const ROUND: Self;
    /// The bits of the root of one half.
    const ROOT_HALF: u64;
    /// The power of two with a unit in the last place of 1: its bits, and its sum with the exponent field of 1.
    const LARGE_BITS: u64;
    const LARGE_AND_BIAS: Self;
    /// The logarithm of `e` to the base 2.
    const LOG2_E: Self;
    /// The logarithm of 2 in two parts.
    const LN_2: [Self; 2];
    /// From here on downwards, `e^x` rounds to 0.
    const ZERO_BELOW: Self;
    /// From here on upwards, `e^x` is infinite.
    const INFINITE_ABOVE: Self;
    /// From here on downwards, `e^x - 1` rounds to -1.
    const MINUS_ONE_BELOW: Self;
    /// Up to this absolute value, `e^x - 1` rounds to `x`.
    const IDENTITY: Self;
    /// From here on upwards, `x + 1` is too near to the end of the range for `ln (1 + x)`.
    const LARGE: Self;
    /// `(e^x - 1 - x) / x^2` for `|x| <= ln 2 / 2`.
    const EXPONENTIAL: &'static [Self];
    /// `(2 artanh s - 2 s) / s^3` as a function of `s^2`, for `s <= (sqrt 2 - 1) / (sqrt 2 + 1)`.
    const LOGARITHM: &'static [Self];
}

impl Layout for f64 {
    const MANTISSA: u32 = 52;
    const BIAS: u64 = 1023;
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const ROOT_HALF: u64 = core::f64::consts::FRAC_1_SQRT_2.to_bits();
    const LARGE_BITS: u64 = (1.0 / f64::EPSILON).to_bits();
    const LARGE_AND_BIAS: f64 = 1.0 / f64::EPSILON + 1023.0;
    const LOG2_E: f64 = core::f64::consts::LOG2_E;
    const LN_2: [f64; 2] = [0.693_147_180_485_539_1, 7.440_617_110_012_397e-11];
    const ZERO_BELOW: f64 = -746.0;
    const INFINITE_ABOVE: f64 = 710.0;
    const MINUS_ONE_BELOW: f64 = -40.0;
    const IDENTITY: f64 = 1e-17;
    const LARGE: f64 = 1e300;
    const EXPONENTIAL: &'static [f64] = &[
        0.500_000_000_000_001,
        0.166_666_666_666_666_74,
        0.041_666_666_666_521_99,
        0.008_333_333_333_322_207,
        0.001_388_888_894_782_089_1,
        0.000_198_412_698_865_91,
        2.480_148_732_601_233_7e-5,
        2.755_724_233_668_035_7e-6,
        2.763_265_575_933_203e-7,
        2.511_004_998_589_571_6e-8,
    ];
    const LOGARITHM: &'static [f64] = &[
        0.666_666_666_666_671,
        0.399_999_999_995_195_3,
        0.285_714_287_293_653_9,
        0.222_221_990_814_043_06,
        0.181_835_720_840_640_1,
        0.153_131_494_695_887_5,
        0.148_106_773_595_922_28,
    ];
}

impl Layout for f32 {
    const MANTISSA: u32 = 23;
    const BIAS: u64 = 127;
    const ROUND: f32 = 12_582_912.0;
    const ROOT_HALF: u64 = core::f32::consts::FRAC_1_SQRT_2.to_bits() as u64;
    const LARGE_BITS: u64 = (1.0 / f32::EPSILON).to_bits() as u64;
    const LARGE_AND_BIAS: f32 = 1.0 / f32::EPSILON + 127.0;
    const LOG2_E: f32 = core::f32::consts::LOG2_E;
    const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    const ZERO_BELOW: f32 = -104.0;
    const INFINITE_ABOVE: f32 = 89.0;
    const MINUS_ONE_BELOW: f32 = -18.0;
    const IDENTITY: f32 = 1e-8;
    const LARGE: f32 = 1e37;
    const EXPONENTIAL: &'static [f32] = &[0.5, 0.166_665_2, 0.041_666_206, 0.008_368_89, 0.001_395_053_8];
    const LOGARITHM: &'static [f32] = &[0.666_666_7, 0.400_003_4, 0.285_360_45, 0.236_175_62];
}

/// A constant of the float type.
macro_rules! of {
    ($E:ident, $name:ident) => {
        $E::constant(<$E::Float as Layout>::$name)
    };
}

/// The word with these low bits.
#[inline(always)]
fn word<E: Number>(x: u64) -> E::Word {
    E::Word::literal(x)
}

/// The number whose exponent field is a word.
#[inline(always)]
fn of_field<E: Number>(field: E::Word) -> E {
    E::of_word(field << E::Float::MANTISSA)
}

/// The power of two with the integer in the low bits of a number as its exponent, times that with the exponent `more`.
#[inline(always)]
fn power_of_two<E: Number>(rounded: E, more: i64) -> E {
    of_field(rounded.word().plus(word::<E>(E::Float::BIAS.wrapping_add_signed(more))))
}

/// The larger of a number and a bound; NaN is kept.
#[inline(always)]
fn not_below<E: Number>(x: E, least: E) -> E {
    E::select(x.below(least), least, x)
}

/// The smaller of a number and a bound; NaN is kept.
#[inline(always)]
fn not_above<E: Number>(x: E, most: E) -> E {
    E::select(x.above(most), most, x)
}

/// The logarithm of 2 in two parts.
#[inline(always)]
fn ln_2<E: Number>() -> (E, E) {
    (E::constant(E::Float::LN_2[0]), E::constant(E::Float::LN_2[1]))
}

/// The nearest integer `n` to `x / ln 2`, in the low bits of a float, and `x - n ln 2`.
#[inline(always)]
fn reduce<E: Number, M: Machine>(x: E) -> (E, E) {
    let rounded = E::multiply_add::<M>(x, of!(E, LOG2_E), of!(E, ROUND));
    let n = rounded - of!(E, ROUND);
    let (high, low) = ln_2();
    (rounded, E::multiply_add::<M>(-n, low, E::multiply_add::<M>(-n, high, x)))
}

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`.
#[inline(always)]
fn series<E: Number, M: Machine>(r: E, square: E) -> E {
    polynomial::<E, M>(r, square, E::Float::EXPONENTIAL)
}

/// The body of `e^x`.
#[inline(always)]
pub(super) fn exponential<E: Number, M: Machine>([x]: [E; 1]) -> E {
    let x = not_above(not_below(x, of!(E, ZERO_BELOW)), of!(E, INFINITE_ABOVE));
    let (rounded, r) = reduce::<E, M>(x);
    let square = r * r;
    let power = c::<E>(1.0) + E::multiply_add::<M>(square, series::<E, M>(r, square), r);
    // The scale is a product of two powers of two that both stay in the range of exponents.
    let sum = rounded.word().plus(word::<E>(2 * E::Float::BIAS)) & word::<E>(4 * E::Float::BIAS + 3);
    let half = sum >> 1;
    power * of_field(half) * of_field(sum.minus(half))
}

/// The body of `e^x - 1`.
#[inline(always)]
pub(super) fn less_one<E: Number, M: Machine>([x]: [E; 1]) -> E {
    let bounded = not_above(not_below(x, of!(E, MINUS_ONE_BELOW)), of!(E, INFINITE_ABOVE));
    let (rounded, r) = reduce::<E, M>(bounded);
    // Half of the result, as the scale itself may be out of range.
    let y = c::<E>(2.0) * scaled_less::<E, M>(power_of_two(rounded, -1), c(0.5), r);
    E::select(x.magnitude().below(of!(E, IDENTITY)), x, y)
}

/// The body of `e^x - 1` for `x <= 0`.
#[inline(always)]
pub(super) fn less_one_below<E: Number, M: Machine>([x]: [E; 1]) -> E {
    let (rounded, r) = reduce::<E, M>(not_below(x, of!(E, MINUS_ONE_BELOW)));
    scaled_less::<E, M>(power_of_two(rounded, 0), c(1.0), r)
}

/// `scale e^r - less`, for `less` near to the scale or much smaller; the rounding error of the leading sum is added
/// last.
#[inline(always)]
fn scaled_less<E: Number, M: Machine>(scale: E, less: E, r: E) -> E {
    let (a, b) = (scale * r, scale - less);
    let sum = a + b;
    let part = sum - b;
    let lost = (b - (sum - part)) + (a - part);
    let square = r * r;
    let rest = square * series::<E, M>(r, square);
    sum + E::multiply_add::<M>(scale, rest, lost)
}

/// The body of `ln x`.
#[inline(always)]
pub(super) fn logarithm<E: Number, M: Machine>([x]: [E; 1]) -> E {
    let (f, exponent, _) = split(x);
    ln_scaled::<E, M>(f, exponent, |_| c(0.0))
}

/// The body of `ln (1 + x)`.
#[inline(always)]
pub(super) fn logarithm_of_one_plus<E: Number, M: Machine>([x]: [E; 1]) -> E {
    // The sum and its rounding error.
    let one = c::<E>(1.0);
    let sum = one + x;
    let part = sum - one;
    let lost = (one - (sum - part)) + (x - part);
    let (f, exponent, down) = split(sum);
    // The error over the sum, where 1 / (1 + f) = (1 - s) / (1 + s) is expanded in s = f / (2 + f).
    let error = lost * down;
    let y = ln_scaled::<E, M>(f, exponent, |s| {
        E::multiply_add::<M>(error, c::<E>(2.0) * E::multiply_add::<M>(s, s, -s), error)
    });
    y.signed_like(x)
}

/// `f`, `k` and `2^-k` with `x = 2^k (1 + f)` and `1 + f` between the roots of 1/2 and of 2.
#[inline(always)]
pub(super) fn split<E: Number>(x: E) -> (E, E, E) {
    // The sum of mantissas carries into the exponent field if the number is above the root of 2.
    let (mantissa, bias, root_half) = (E::Float::MANTISSA, E::Float::BIAS, E::Float::ROOT_HALF);
    let bits = x.word().plus(word::<E>((bias << mantissa) - root_half));
    let field = bits >> mantissa;
    let number = E::of_word((bits & word::<E>((1 << mantissa) - 1)).plus(word::<E>(root_half)));
    // The exponent field in the low bits of a number that has a unit in the last place of 1.
    let exponent = E::of_word(field | word::<E>(E::Float::LARGE_BITS)) - of!(E, LARGE_AND_BIAS);
    (number - c(1.0), exponent, of_field(word::<E>(2 * bias).minus(field)))
}

/// `k ln 2 + ln (1 + f) + rest(f / (2 + f))`, for a small rest.
#[inline(always)]
fn ln_scaled<E: Number, M: Machine>(f: E, exponent: E, rest: impl Fn(E) -> E) -> E {
    let s = f / (c::<E>(2.0) + f);
    let (z, half) = (s * s, c::<E>(0.5) * f * f);
    let (high, low) = ln_2();
    // ln (1 + f) = 2 artanh s = f - s f + s (2 artanh s - 2 s) / s, where s f = half - s half.
    let series = E::multiply_add::<M>(z, polynomial::<E, M>(z, z * z, E::Float::LOGARITHM), half);
    let small = E::multiply_add::<M>(exponent, low, rest(s));
    let tail = E::multiply_add::<M>(s, series, small) - half;
    E::multiply_add::<M>(exponent, high, f + tail)
}

/// The body of `e^(-x^2)`.
#[inline(always)]
pub(super) fn gaussian<E: Number, M: Machine>([x]: [E; 1]) -> E {
    let a = not_above(x.magnitude(), c(40.0));
    // Corrected for the rounding error of the square, which grows with the square and is the relative error of the result.
    let square = a * a;
    let y = super::Elementary::exponential::<M>(-square);
    E::multiply_add::<M>(-E::product_error::<M>(a, a, square), y, y)
}

/// `e^(x + rest)` for a small rest, if the result and its reciprocal are normal numbers.
#[inline(always)]
pub(super) fn exponential_of_parts<E: Number<Float = f64>, M: Machine>(x: E, rest: E) -> E {
    let rounded = E::multiply_add::<M>(x, of!(E, LOG2_E), of!(E, ROUND));
    let n = rounded - of!(E, ROUND);
    let (high, low) = ln_2();
    // The product with the leading part of ln 2 is exact, and so is the difference.
    let r = E::multiply_add::<M>(-n, high, x) + E::multiply_add::<M>(-n, low, rest);
    let square = r * r;
    let power = c::<E>(1.0) + E::multiply_add::<M>(square, series::<E, M>(r, square), r);
    power * power_of_two(rounded, 0)
}
