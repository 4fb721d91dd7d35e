//! The inverse tangent, and angles of points.
//!
//! Argument reduction: `atan x = atan c + atan t` with `t = (x - c) / (1 + c x)`, for the nearest `c` of 0, 1/2, 1, 3/2
//! and infinity, whose inverse tangents are constants; then `|t| <= 7/16`, and a polynomial gives `atan t`.
//!
//! In `f32` inverse sine and cosine are odd polynomials up to 1/2, and from there on, by `asin x = pi / 2 - 2 asin s` with
//! `s^2 = (1 - x) / 2`, those of `s`: each sum has one large and one small term. Angles of points are computed in `f64`, and
//! rounded.

use core::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::{c, horner, polynomial};
use crate::number::{Double, call};
use crate::{Machine, Number};

/// `(atan t - t) / t^3` as a function of `t^2`, for `|t| <= 7/16`.
const ODD: [f64; 11] = [
    -0.333_333_333_333_333_26,
    0.199_999_999_999_877_8,
    -0.142_857_142_831_486_4,
    0.111_111_109_005_604_75,
    -0.090_909_001_955_601_48,
    0.076_920_873_487_671_68,
    -0.066_632_392_991_071_36,
    0.058_477_247_206_451_06,
    -0.050_339_427_764_858_48,
    0.037_825_218_661_067_12,
    -0.017_547_235_157_290_005,
];

/// The inverse tangents of 0, 1/2, 1, 3/2 and infinity, in two parts.
const KNOWN: [[f64; 2]; 5] = [
    [0.0, 0.0],
    [0.463_647_609_000_806_1, 2.269_877_745_296_168_7e-17],
    [FRAC_PI_4, 3.061_616_997_868_383e-17],
    [0.982_793_723_247_329, 1.390_331_103_123_099_8e-17],
    [FRAC_PI_2, 6.123_233_995_736_766e-17],
];

/// One of these in two parts of the type.
#[inline(always)]
fn known<E: Number>(k: usize) -> (E, E) {
    let [high, low] = KNOWN[k];
    if size_of::<E::Float>() == size_of::<f32>() {
        (c(high), c(high - f64::from(high as f32)))
    } else {
        (c(high), c(low))
    }
}

/// The thresholds from which on the next `c` is used.
const BETWEEN: [f64; 4] = [7.0 / 16.0, 11.0 / 16.0, 19.0 / 16.0, 39.0 / 16.0];

/// [`ODD`] to the precision of `f32`.
const ODD_SINGLE: [f32; 6] = [-0.333_333_34, 0.199_999_62, -0.142_834, 0.110_582_28, -0.085_321_27, 0.048_223_03];

/// In `f32`, `(asin x - x) / x^3` as a function of `x^2`, for `|x| <= 1/2`.
const SINE_SINGLE: [f32; 6] = [0.166_666_66, 0.075_000_94, 0.044_599_4, 0.031_100_662, 0.017_149_238, 0.033_690_847];

/// A float type with inverse trigonometric functions.
pub trait InverseAngle: Sized {
    /// The inverse tangent.
    fn arctangent_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
    /// The inverse sine.
    fn arcsine_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
    /// The inverse cosine.
    fn arccosine_of<E: Number<Float = Self>, M: Machine>(x: E) -> E;
}

impl InverseAngle for f64 {
    #[inline(always)]
    fn arctangent_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        E::narrow(arctangent::<E::Wide, M>(x.wide()))
    }
    #[inline(always)]
    fn arcsine_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        E::narrow(angle::<E::Wide, M>(x.wide(), other(x.wide())).0)
    }
    #[inline(always)]
    fn arccosine_of<E: Number<Float = f64>, M: Machine>(x: E) -> E {
        E::narrow(angle::<E::Wide, M>(other(x.wide()), x.wide()).0)
    }
}

/// In `f32`: the inverse sine of `|x|` up to 1/2, otherwise that of `s`, as a sum of a large and a small part; and whether it is
/// the second.
#[inline(always)]
fn half_sine<E: Number<Float = f32>, M: Machine>(x: E) -> (E, E, E::Mask) {
    let (a, half) = (x.magnitude(), c::<E>(0.5));
    let is_large = a.above(half);
    // The difference is exact where it is used.
    let square = E::select(is_large, half - half * a, a * a);
    let y = E::select(is_large, square.root(), a);
    (y, y * (square * horner::<E, M>(square, &SINE_SINGLE)), is_large)
}

impl InverseAngle for f32 {
    #[inline(always)]
    fn arctangent_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        let (t, high, low) = near_known(x.magnitude());
        let square = t * t;
        let odd = t * square * horner::<E, M>(square, &ODD_SINGLE);
        (high + (t + (odd + low))).signed_like(x)
    }
    #[inline(always)]
    fn arcsine_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        let (y, rest, is_large) = half_sine::<E, M>(x);
        let (high, low) = right_angle::<E>(1.0);
        let large = less_twice((high, low), (y, rest));
        E::select(is_large, large, y + rest).signed_like(x)
    }
    #[inline(always)]
    fn arccosine_of<E: Number<Float = f32>, M: Machine>(x: E) -> E {
        let (y, rest, is_large) = half_sine::<E, M>(x);
        let is_negative = x.below(c(0.0));
        let ((high, low), (straight, left)) = (right_angle::<E>(1.0), right_angle::<E>(2.0));
        let sine = y + rest;
        let small = high - (E::select(is_negative, -sine, sine) - low);
        let obtuse = less_twice((straight, left), (y, rest));
        E::select(is_large, E::select(is_negative, obtuse, sine + sine), small)
    }
}

/// An angle less twice a smaller one, both in two parts, with the rounding error of the difference of the first parts.
#[inline(always)]
fn less_twice<E: Number<Float = f32>>((high, low): (E, E), (y, rest): (E, E)) -> E {
    let twice = y + y;
    let less = high - twice;
    less - ((rest + rest) - (low + ((high - less) - twice)))
}

/// Right angles in `f32`, in two parts.
#[inline(always)]
fn right_angle<E: Number<Float = f32>>(count: f64) -> (E, E) {
    let high = (count * FRAC_PI_2) as f32;
    (E::constant(high), c(count * FRAC_PI_2 - f64::from(high)))
}

/// The inverse tangent.
#[inline(always)]
fn arctangent<E: Double, M: Machine>(x: E) -> E {
    call!(E: Double, M, "atan", "", [x], arctangent_of)
}

#[inline(always)]
fn arctangent_of<E: Double, M: Machine>([x]: [E; 1]) -> E {
    let (t, high, low) = near_known(x.magnitude());
    let square = t * t;
    let odd = t * square * polynomial::<E, M>(square, square * square, &ODD);
    (high + (t + (odd + low))).signed_like(x)
}

/// The tangent of the difference of an angle and of the nearest one of those that are [known](KNOWN), and this one in two
/// parts, given the tangent of the angle.
#[inline(always)]
fn near_known<E: Number>(a: E) -> (E, E, E) {
    let (mut near, mut high, mut low) = (c(0.0), c(0.0), c(0.0));
    let mut k = 0;
    while k < 3 {
        let beyond = a.at_least(c(BETWEEN[k]));
        near = E::select(beyond, c(0.5 * (k as f64 + 1.0)), near);
        high = E::select(beyond, known::<E>(k + 1).0, high);
        low = E::select(beyond, known::<E>(k + 1).1, low);
        k += 1;
    }
    let far = a.at_least(c(BETWEEN[3]));
    high = E::select(far, known::<E>(4).0, high);
    low = E::select(far, known::<E>(4).1, low);
    let above = E::select(far, c(-1.0), a - near);
    let below = E::select(far, a, c::<E>(1.0) + near * a);
    (above / below, high, low)
}

/// The angle of the point `(x, y)`, and whether it is accurate: points with extreme quotients or coordinates are left
/// to the row.
#[inline(always)]
pub(super) fn angle<E: Double, M: Machine>(y: E, x: E) -> (E, E::Mask) {
    let (a, b) = (y.magnitude(), x.magnitude());
    let steep = a.above(b);
    let quotient = E::select(steep, b, a) / E::select(steep, a, b);
    let acute = arctangent::<E, M>(quotient);
    // The angle is measured from the nearest axis.
    let (high, low) = (E::select(steep, c(KNOWN[4][0]), c(0.0)), E::select(steep, c(KNOWN[4][1]), c(0.0)));
    let sign = E::select(steep, c(-1.0), c(1.0));
    let right = high + (sign * acute + low);
    let [high, low] = [c::<E>(2.0 * KNOWN[4][0]), c::<E>(2.0 * KNOWN[4][1])];
    let left = E::select(steep, c::<E>(KNOWN[4][0]) + (acute + c(KNOWN[4][1])), high - (acute - low));
    let moderate = a.below(c(1e300)) & b.below(c(1e300));
    let ordinary = quotient.above(c(1e-300)) & quotient.at_most(c(1.0)) & moderate;
    (E::select(x.below(c(0.0)), left, right).signed_like(y), ordinary)
}

/// The length of the other side of a triangle with a right angle, whose longest side has the length 1.
#[inline(always)]
fn other<E: Double>(x: E) -> E {
    ((c::<E>(1.0) - x) * (c::<E>(1.0) + x)).root()
}

/// Whether the inverse sine and cosine of a number are accurate here in `f64`; in `f32` they are everywhere.
#[inline(always)]
pub(super) fn is_ordinary<E: Double>(x: E) -> E::Mask {
    x.magnitude().below(c(1.0)) & x.magnitude().above(c(1e-200))
}
