//! Sine, cosine and tangent: a multiple of `pi / 2` in several parts is subtracted from the angle (Cody and Waite).

use super::{c, horner, polynomial};
use crate::number::{Double, Word};
use crate::{Machine, Number};

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
pub trait Angle: Sized {
    /// The largest angle that is reduced exactly.
    const LIMIT: Self;
    fn sine_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
    fn cosine_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
    fn both_of<E: Number<Float = Self>, M: Machine>(x: E) -> (E, E);
    fn tangent_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
}

/// The number, negated if the lowest of the bits is set.
#[inline(always)]
fn flip<E: Number<Float = f64>>(x: E, bits: E::Word) -> E {
    E::of_word(x.word() ^ (bits << 63))
}

/// `x - n pi / 2` and its rounding error, for `n` of at most 20 bits.
#[inline(always)]
fn remainder<E: Number<Float = f64>, M: Machine>(x: E, n: E) -> (E, E) {
    let half = c::<E>(0.5) * n;
    let near = E::multiply_add::<M>(-half, c(PI[0]), x);
    let step = half * c(PI[1]);
    // If the difference is small, both subtractions are exact.
    let r = near - step;
    let more = E::multiply_add::<M>(half, c(PI[2]), step - (near - r));
    let sum = r - more;
    (sum, E::multiply_add::<M>(-half, c(PI[3]), (r - sum) - more))
}

/// Sine and cosine of the remainder of an angle, and the number of right angles that are subtracted, in the low bits.
#[inline(always)]
fn quarters<E: Number<Float = f64>, M: Machine>(x: E) -> (E, E, E::Word) {
    let rounded = E::multiply_add::<M>(x, c(core::f64::consts::FRAC_2_PI), c(ROUND));
    let (r, rest) = remainder::<E, M>(x, rounded - c(ROUND));
    let z = r * r;
    let square = z * z;
    let sine = r + E::multiply_add::<M>(r, z * polynomial::<E, M>(z, square, &SINE), rest);
    let half = c::<E>(0.5) * z;
    let one = c::<E>(1.0) - half;
    let less = E::multiply_add::<M>(-r, rest, (c::<E>(1.0) - one) - half);
    let more = E::multiply_add::<M>(square, polynomial::<E, M>(z, square, &COSINE), less);
    (sine, one + more, rounded.word())
}

/// The first number if the lowest of the bits is clear, or the second.
#[inline(always)]
fn either<E: Number<Float = f64>>(bits: E::Word, x: E, y: E) -> E {
    let mask = E::Word::literal(0).minus(bits & E::Word::literal(1));
    E::of_word((x.word() & !mask) | (y.word() & mask))
}

/// The sine, given those of the remainder; that of zero is zero, with its sign.
#[inline(always)]
fn sine_at<E: Number<Float = f64>>(x: E, (sine, cosine, quarter): (E, E, E::Word)) -> E {
    E::select(x.equals(c(0.0)), x, flip(either(quarter, sine, cosine), quarter >> 1))
}

/// The cosine.
#[inline(always)]
fn cosine_at<E: Number<Float = f64>>((sine, cosine, quarter): (E, E, E::Word)) -> E {
    flip(either(quarter, cosine, sine), quarter.plus(E::Word::literal(1)) >> 1)
}

impl Angle for f64 {
    const LIMIT: f64 = 1_048_576.0;

    #[inline(always)]
    fn sine_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        sine_at(x, quarters::<E, M>(x))
    }

    #[inline(always)]
    fn cosine_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        cosine_at(quarters::<E, M>(x))
    }

    #[inline(always)]
    fn both_of<E: Number<Float = f64>, M: Machine>(x: E) -> (E, E) {
        let all = quarters::<E, M>(x);
        (sine_at(x, all), cosine_at(all))
    }

    #[inline(always)]
    fn tangent_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        let (sine, cosine, quarter) = quarters::<E, M>(x);
        let y = flip(either(quarter, sine, cosine) / either(quarter, cosine, sine), quarter);
        E::select(x.equals(c(0.0)), x, y)
    }
}

/// The sine of `x - n pi`, negated if the integer in the low bits of `rounded` is odd, to the precision of `f32`.
#[inline(always)]
fn short<E: Double, M: Machine>(x: E, rounded: E, n: E) -> E {
    // The product with the leading part is exact, so the error is that of the rest of pi, 2^-86, times n.
    let r = E::multiply_add::<M>(-n, c(PI[1] + PI[2]), E::multiply_add::<M>(-n, c(PI[0]), x));
    let z = r * r;
    flip(E::multiply_add::<M>(r, z * horner::<E, M>(z, &SHORT_SINE), r), rounded.word())
}

/// The sine, to the precision of `f32`.
#[inline(always)]
fn short_sine<E: Double, M: Machine>(x: E) -> E {
    let rounded = E::multiply_add::<M>(x, c(core::f64::consts::FRAC_1_PI), c(ROUND));
    short::<E, M>(x, rounded, rounded - c(ROUND))
}

/// The cosine, to the precision of `f32`: a sine from a half period on.
#[inline(always)]
fn short_cosine<E: Double, M: Machine>(x: E) -> E {
    let x = x.magnitude();
    let rounded = E::multiply_add::<M>(x, c(core::f64::consts::FRAC_1_PI), c(0.5)) + c(ROUND);
    short::<E, M>(x, rounded, (rounded - c(ROUND)) - c(0.5))
}

/// Computed in `f64`, in which the products of the reduction are exact.
impl Angle for f32 {
    const LIMIT: f32 = 1_048_576.0;

    #[inline(always)]
    fn sine_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        E::select(x.equals(c(0.0)), x, E::narrow(short_sine::<E::Wide, M>(x.wide())))
    }

    #[inline(always)]
    fn cosine_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        E::narrow(short_cosine::<E::Wide, M>(x.wide()))
    }

    #[inline(always)]
    fn both_of<E: Number<Float = f32>, M: Machine>(x: E) -> (E, E) {
        (Self::sine_of::<E, M>(x), Self::cosine_of::<E, M>(x))
    }

    #[inline(always)]
    fn tangent_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        let wide = x.wide();
        let y = short_sine::<E::Wide, M>(wide) / short_cosine::<E::Wide, M>(wide);
        E::select(x.equals(c(0.0)), x, E::narrow(y))
    }
}
