//! Sine, cosine and tangent: a multiple of `pi / 2` in several parts is subtracted from the angle (Cody and Waite).

use super::{Elementary, horner, polynomial};
use crate::Machine;

/// A number with a unit in the last place of 1: added to a small number, it leaves the nearest integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Pi in four parts: 33 bits each, then the rest.
const PI: [f64; 4] =
    [3.141_592_653_468_251_2, 1.215_420_101_260_793_2e-10, 4.044_532_497_422_333e-21, 1.695_685_532_073_78e-31];

/// `(sin r - r) / r^3` as a function of `r^2`, for `|r| <= pi / 4`.
const SINE: [f64; 6] = [
    -0.166_666_666_666_666_4,
    0.008_333_333_333_323_662,
    -0.000_198_412_698_301_443_93,
    2.755_731_365_185_318e-6,
    -2.505_073_457_106_949e-8,
    1.589_471_058_163_446_3e-10,
];

/// `(cos r - 1 + r^2 / 2) / r^4` as a function of `r^2`, for `|r| <= pi / 4`.
const COSINE: [f64; 6] = [
    0.041_666_666_666_666_65,
    -0.001_388_888_888_888_284,
    2.480_158_729_462_800_4e-5,
    -2.755_731_573_861_327_7e-7,
    2.087_589_773_868_284_3e-9,
    -1.136_798_188_046_904_6e-11,
];

/// `(sin r - r) / r^3` as a function of `r^2`, for `|r| <= pi / 2`, to the precision of `f32`.
const SHORT_SINE: [f64; 5] = [
    -0.166_666_666_389_484_74,
    0.008_333_331_422_645_32,
    -0.000_198_408_902_767_628_98,
    2.752_586_113_749_153_7e-6,
    -2.388_927_099_098_593_8e-8,
];

/// A float type in which sines are computed.
pub(crate) trait Angle: Sized {
    /// The largest angle that is reduced exactly.
    const LIMIT: Self;
    fn sine_of<M: Machine>(x: Self) -> Self;
    fn cosine_of<M: Machine>(x: Self) -> Self;
    fn both_of<M: Machine>(x: Self) -> (Self, Self);
    fn tangent_of<M: Machine>(x: Self) -> Self;
}

#[inline(always)]
fn madd<M: Machine>(a: f64, b: f64, c: f64) -> f64 {
    f64::multiply_add::<M>(a, b, c)
}

/// The number, negated if the lowest of the bits is set.
#[inline(always)]
fn flip(x: f64, bits: u64) -> f64 {
    f64::from_bits(x.to_bits() ^ (bits << 63))
}

/// `x - n pi / 2` and its rounding error, for `n` of at most 20 bits.
#[inline(always)]
fn remainder<M: Machine>(x: f64, n: f64) -> (f64, f64) {
    let half = 0.5 * n;
    let near = madd::<M>(-half, PI[0], x);
    let step = half * PI[1];
    // If the difference is small, both subtractions are exact.
    let r = near - step;
    let more = madd::<M>(half, PI[2], step - (near - r));
    let sum = r - more;
    (sum, madd::<M>(-half, PI[3], (r - sum) - more))
}

/// The nearest integer to `x / pi + offset`, in the low bits of a float.
#[inline(always)]
fn turns<M: Machine>(x: f64, offset: f64) -> f64 {
    madd::<M>(x, core::f64::consts::FRAC_1_PI, offset) + ROUND
}

/// Sine and cosine of the remainder of an angle, and the number of right angles that are subtracted, in the low bits.
#[inline(always)]
fn quarters<M: Machine>(x: f64) -> (f64, f64, u64) {
    let rounded = madd::<M>(x, core::f64::consts::FRAC_2_PI, ROUND);
    let (r, rest) = remainder::<M>(x, rounded - ROUND);
    let z = r * r;
    let square = z * z;
    let sine = r + madd::<M>(r, z * polynomial::<f64, M>(z, square, &SINE), rest);
    let half = 0.5 * z;
    let one = 1.0 - half;
    let more = madd::<M>(square, polynomial::<f64, M>(z, square, &COSINE), madd::<M>(-r, rest, (1.0 - one) - half));
    (sine, one + more, rounded.to_bits())
}

/// The first number if the lowest of the bits is clear, or the second.
#[inline(always)]
fn choose(bits: u64, x: f64, y: f64) -> f64 {
    let mask = 0u64.wrapping_sub(bits & 1);
    f64::from_bits((x.to_bits() & !mask) | (y.to_bits() & mask))
}

impl Angle for f64 {
    const LIMIT: f64 = 1_048_576.0;

    #[inline(always)]
    fn sine_of<M: Machine>(x: f64) -> f64 {
        let (sine, cosine, quarter) = quarters::<M>(x);
        let y = flip(choose(quarter, sine, cosine), quarter >> 1);
        // The sine of zero is zero, with its sign.
        if x == 0.0 { x } else { y }
    }

    #[inline(always)]
    fn cosine_of<M: Machine>(x: f64) -> f64 {
        let (sine, cosine, quarter) = quarters::<M>(x);
        flip(choose(quarter, cosine, sine), quarter.wrapping_add(1) >> 1)
    }

    #[inline(always)]
    fn both_of<M: Machine>(x: f64) -> (f64, f64) {
        let (sine, cosine, quarter) = quarters::<M>(x);
        let (s, c) = (choose(quarter, sine, cosine), choose(quarter, cosine, sine));
        let s = flip(s, quarter >> 1);
        (if x == 0.0 { x } else { s }, flip(c, quarter.wrapping_add(1) >> 1))
    }

    #[inline(always)]
    fn tangent_of<M: Machine>(x: f64) -> f64 {
        let (sine, cosine, quarter) = quarters::<M>(x);
        let y = flip(choose(quarter, sine, cosine) / choose(quarter, cosine, sine), quarter);
        if x == 0.0 { x } else { y }
    }
}

/// The sine of `x - n pi`, negated if the integer in the low bits of `rounded` is odd, to the precision of `f32`.
#[inline(always)]
fn short<M: Machine>(x: f64, rounded: f64, n: f64) -> f64 {
    // The product with the leading part is exact, so the error is that of the rest of pi, 2^-86, times n.
    let r = madd::<M>(-n, PI[1] + PI[2], madd::<M>(-n, PI[0], x));
    let z = r * r;
    flip(madd::<M>(r, z * horner::<f64, M>(z, &SHORT_SINE), r), rounded.to_bits())
}

/// Computed in `f64`, in which the products of the reduction are exact.
impl Angle for f32 {
    const LIMIT: f32 = 1_048_576.0;

    #[inline(always)]
    fn sine_of<M: Machine>(x: f32) -> f32 {
        let wide = f64::from(x);
        let rounded = madd::<M>(wide, core::f64::consts::FRAC_1_PI, ROUND);
        let y = short::<M>(wide, rounded, rounded - ROUND) as f32;
        if x == 0.0 { x } else { y }
    }

    #[inline(always)]
    fn cosine_of<M: Machine>(x: f32) -> f32 {
        let wide = f64::from(x.abs());
        let rounded = turns::<M>(wide, 0.5);
        short::<M>(wide, rounded, (rounded - ROUND) - 0.5) as f32
    }

    #[inline(always)]
    fn both_of<M: Machine>(x: f32) -> (f32, f32) {
        (Self::sine_of::<M>(x), Self::cosine_of::<M>(x))
    }

    #[inline(always)]
    fn tangent_of<M: Machine>(x: f32) -> f32 {
        let wide = f64::from(x);
        let rounded = madd::<M>(wide, core::f64::consts::FRAC_1_PI, ROUND);
        let sine = short::<M>(wide, rounded, rounded - ROUND);
        let rounded = turns::<M>(wide.abs(), 0.5);
        let y = (sine / short::<M>(wide.abs(), rounded, (rounded - ROUND) - 0.5)) as f32;
        if x == 0.0 { x } else { y }
    }
}
