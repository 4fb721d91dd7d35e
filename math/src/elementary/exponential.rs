//! Exponentials and logarithms: one algorithm, instantiated for both float types.

use super::error::ErrorFunction;
use super::power::Power;
use super::trigonometric::Angle;
use super::{Elementary, error, error_inverse, inverse, polynomial};
use crate::{Machine, Number};

/// The constants of a float type that its exponentials and logarithms need.
trait Layout: Copy + 'static {
    /// The unsigned integer of the same width.
    type Bits;
    /// The number of stored bits of the mantissa.
    const MANTISSA: u32;
    /// The exponent field of 1.
    const BIAS: Self::Bits;
    /// A number with a unit in the last place of 1: added to a small number, it leaves the nearest integer in the low
    /// bits.
    const ROUND: Self;
    /// The bits of the root of one half.
    const ROOT_HALF: Self::Bits;
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
    type Bits = u64;
    const MANTISSA: u32 = 52;
    const BIAS: u64 = 1023;
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const ROOT_HALF: u64 = core::f64::consts::FRAC_1_SQRT_2.to_bits();
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
    type Bits = u32;
    const MANTISSA: u32 = 23;
    const BIAS: u32 = 127;
    const ROUND: f32 = 12_582_912.0;
    const ROOT_HALF: u32 = core::f32::consts::FRAC_1_SQRT_2.to_bits();
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

/// Steps that several functions share.
trait Parts: Layout + Sized {
    /// The nearest integer `n` to `x / ln 2`, in the low bits of a float, and `x - n ln 2`.
    fn reduce<M: Machine>(x: Self) -> (Self, Self);
    /// `scale e^r - less`, for `less` near to the scale or much smaller; the rounding error of the leading sum is added
    /// last.
    fn scaled_less<M: Machine>(scale: Self, less: Self, r: Self) -> Self;
    /// `f`, `k` and `2^-k` with `x = 2^k (1 + f)` and `1 + f` between the roots of 1/2 and of 2.
    fn split(x: Self) -> (Self, Self, Self);
    /// `k ln 2 + ln (1 + f) + rest(f / (2 + f))`, for a small rest.
    fn ln_scaled<M: Machine>(f: Self, k: Self, rest: impl Fn(Self) -> Self) -> Self;
}

macro_rules! elementary {
    ($F:ty, $U:ty) => {
        impl Elementary for $F {
            #[inline(always)]
            fn multiply_add<M: Machine>(a: $F, b: $F, c: $F) -> $F {
                if M::FMA { a.fused_multiply_add(b, c) } else { a * b + c }
            }

            #[inline(always)]
            fn exponential<M: Machine>(x: $F) -> $F {
                // Comparisons and not `min` and `max`, so that NaN is kept.
                let x = if x < Self::ZERO_BELOW { Self::ZERO_BELOW } else { x };
                let x = if x > Self::INFINITE_ABOVE { Self::INFINITE_ABOVE } else { x };
                let (rounded, r) = Self::reduce::<M>(x);
                let square = r * r;
                let series = polynomial::<$F, M>(r, square, Self::EXPONENTIAL);
                let power = 1.0 + Self::multiply_add::<M>(square, series, r);
                // The scale is a product of two powers of two that both stay in the range of exponents.
                let twice_bias = 2 * Self::BIAS;
                let sum = rounded.to_bits().wrapping_add(twice_bias) & (4 * Self::BIAS + 3);
                let half = sum >> 1;
                power * <$F>::from_bits(half << Self::MANTISSA) * <$F>::from_bits((sum - half) << Self::MANTISSA)
            }

            #[inline(always)]
            fn exponential_less_one<M: Machine>(x: $F) -> $F {
                let bounded = if x < Self::MINUS_ONE_BELOW { Self::MINUS_ONE_BELOW } else { x };
                let bounded = if bounded > Self::INFINITE_ABOVE { Self::INFINITE_ABOVE } else { bounded };
                let (rounded, r) = Self::reduce::<M>(bounded);
                // Half of the result, as the scale itself may be out of range.
                let scale = <$F>::from_bits(rounded.to_bits().wrapping_add(Self::BIAS - 1) << Self::MANTISSA);
                let y = 2.0 * Self::scaled_less::<M>(scale, 0.5, r);
                if x.abs() < Self::IDENTITY { x } else { y }
            }

            #[inline(always)]
            fn exponential_less_one_below<M: Machine>(x: $F) -> $F {
                let x = if x < Self::MINUS_ONE_BELOW { Self::MINUS_ONE_BELOW } else { x };
                let (rounded, r) = Self::reduce::<M>(x);
                Self::scaled_less::<M>(
                    <$F>::from_bits(rounded.to_bits().wrapping_add(Self::BIAS) << Self::MANTISSA),
                    1.0,
                    r,
                )
            }

            #[inline(always)]
            fn logarithm<M: Machine>(x: $F) -> $F {
                let (f, exponent, _) = Self::split(x);
                Self::ln_scaled::<M>(f, exponent, |_| 0.0)
            }

            #[inline(always)]
            fn logarithm_of_one_plus<M: Machine>(x: $F) -> $F {
                // The sum and its rounding error.
                let sum = 1.0 + x;
                let part = sum - 1.0;
                let lost = (1.0 - (sum - part)) + (x - part);
                let (f, exponent, down) = Self::split(sum);
                // The error over the sum, where 1 / (1 + f) = (1 - s) / (1 + s) is expanded in s = f / (2 + f).
                let y = Self::ln_scaled::<M>(f, exponent, |s| {
                    Self::multiply_add::<M>(lost * down, 2.0 * Self::multiply_add::<M>(s, s, -s), lost * down)
                });
                y.copysign(x)
            }

            #[inline(always)]
            fn sine<M: Machine>(x: $F) -> $F {
                <$F as Angle>::sine_of::<M>(x)
            }

            #[inline(always)]
            fn cosine<M: Machine>(x: $F) -> $F {
                <$F as Angle>::cosine_of::<M>(x)
            }

            #[inline(always)]
            fn sine_cosine<M: Machine>(x: $F) -> ($F, $F) {
                <$F as Angle>::both_of::<M>(x)
            }

            #[inline(always)]
            fn tangent<M: Machine>(x: $F) -> $F {
                <$F as Angle>::tangent_of::<M>(x)
            }

            #[inline(always)]
            fn power<M: Machine>(x: $F, y: $F) -> ($F, bool) {
                <$F as Power>::power_of::<M>(x, y)
            }

            #[inline(always)]
            fn gaussian<M: Machine>(x: $F) -> $F {
                let a = if x.abs() > 40.0 { 40.0 } else { x.abs() };
                // Corrected for the rounding error of the square, which grows with the square and is the relative error
                // of the result.
                let (square, lost) = <$F as Power>::square::<M>(a);
                let y = Self::exponential::<M>(-square);
                Self::multiply_add::<M>(-lost, y, y)
            }

            #[inline(always)]
            fn erf<M: Machine>(x: $F) -> $F {
                <$F as ErrorFunction>::erf_of::<M>(x)
            }

            #[inline(always)]
            fn erfc<M: Machine>(x: $F) -> $F {
                error::erfc::<M>(x.into()) as $F
            }

            #[inline(always)]
            fn erfinv<M: Machine>(x: $F) -> $F {
                error_inverse::inverse::<$F, M>(x)
            }

            #[inline(always)]
            fn arctangent<M: Machine>(x: $F) -> $F {
                inverse::arctangent::<M>(x.into()) as $F
            }

            #[inline(always)]
            fn arcsine<M: Machine>(x: $F) -> $F {
                inverse::arcsine::<M>(x.into()) as $F
            }

            #[inline(always)]
            fn arccosine<M: Machine>(x: $F) -> $F {
                inverse::arccosine::<M>(x.into()) as $F
            }

            #[inline(always)]
            fn is_inner_sine(x: $F) -> bool {
                inverse::is_ordinary(x.into())
            }

            #[inline(always)]
            fn angle<M: Machine>(y: $F, x: $F) -> ($F, bool) {
                let (angle, right) = inverse::angle::<M>(y.into(), x.into());
                (angle as $F, right)
            }

            #[inline(always)]
            #[allow(clippy::manual_range_contains, reason = "written without a branch")]
            fn is_normal_and_positive(x: $F) -> bool {
                (x >= <$F>::MIN_POSITIVE) & (x < <$F>::INFINITY)
            }

            #[inline(always)]
            fn exceeds_minus_one(x: $F) -> bool {
                (x > -1.0) & (x < Self::LARGE)
            }

            #[inline(always)]
            fn is_small_angle(x: $F) -> bool {
                x.abs() <= <$F as Angle>::LIMIT
            }
        }

        impl Parts for $F {
            #[inline(always)]
            fn reduce<M: Machine>(x: $F) -> ($F, $F) {
                let rounded = Self::multiply_add::<M>(x, Self::LOG2_E, Self::ROUND);
                let n = rounded - Self::ROUND;
                let r = Self::multiply_add::<M>(-n, Self::LN_2[0], x);
                (rounded, Self::multiply_add::<M>(-n, Self::LN_2[1], r))
            }

            #[inline(always)]
            fn scaled_less<M: Machine>(scale: $F, less: $F, r: $F) -> $F {
                let (a, b) = (scale * r, scale - less);
                let sum = a + b;
                let part = sum - b;
                let lost = (b - (sum - part)) + (a - part);
                let square = r * r;
                let rest = square * polynomial::<$F, M>(r, square, Self::EXPONENTIAL);
                sum + Self::multiply_add::<M>(scale, rest, lost)
            }

            #[inline(always)]
            fn split(x: $F) -> ($F, $F, $F) {
                // The sum of mantissas carries into the exponent field if the number is above the root of 2.
                let one = Self::BIAS << Self::MANTISSA;
                let bits = x.to_bits().wrapping_add(one - Self::ROOT_HALF);
                let field = bits >> Self::MANTISSA;
                let number = <$F>::from_bits((bits & ((1 << Self::MANTISSA) - 1)) + Self::ROOT_HALF);
                // The exponent field in the low bits of a number that has a unit in the last place of 1.
                let large = 1.0 / <$F>::EPSILON;
                let exponent = <$F>::from_bits(field | large.to_bits()) - (large + Self::BIAS as $F);
                let down = <$F>::from_bits((2 * Self::BIAS).wrapping_sub(field) << Self::MANTISSA);
                (number - 1.0, exponent, down)
            }

            #[inline(always)]
            fn ln_scaled<M: Machine>(f: $F, exponent: $F, rest: impl Fn($F) -> $F) -> $F {
                let s = f / (2.0 + f);
                let (z, half) = (s * s, 0.5 * f * f);
                // ln (1 + f) = 2 artanh s = f - s f + s (2 artanh s - 2 s) / s, where s f = half - s half.
                let series = Self::multiply_add::<M>(z, polynomial::<$F, M>(z, z * z, Self::LOGARITHM), half);
                let small = Self::multiply_add::<M>(exponent, Self::LN_2[1], rest(s));
                let tail = Self::multiply_add::<M>(s, series, small) - half;
                Self::multiply_add::<M>(exponent, Self::LN_2[0], f + tail)
            }
        }
    };
}

elementary!(f64, u64);
elementary!(f32, u32);

/// `f` and `k` with `x = 2^k (1 + f)` and `1 + f` between the roots of 1/2 and of 2.
#[inline(always)]
pub(crate) fn fraction_and_exponent(x: f64) -> (f64, f64) {
    let (f, k, _) = f64::split(x);
    (f, k)
}

/// `e^(x + rest)` for a small rest, if the result and its reciprocal are normal numbers.
#[inline(always)]
pub(crate) fn exponential_of_parts<M: Machine>(x: f64, rest: f64) -> f64 {
    let rounded = f64::multiply_add::<M>(x, f64::LOG2_E, f64::ROUND);
    let n = rounded - f64::ROUND;
    // The product with the leading part of ln 2 is exact, and so is the difference.
    let r = f64::multiply_add::<M>(-n, f64::LN_2[0], x) + f64::multiply_add::<M>(-n, f64::LN_2[1], rest);
    let square = r * r;
    let power = 1.0 + f64::multiply_add::<M>(square, polynomial::<f64, M>(r, square, f64::EXPONENTIAL), r);
    power * f64::from_bits(rounded.to_bits().wrapping_add(f64::BIAS) << f64::MANTISSA)
}
