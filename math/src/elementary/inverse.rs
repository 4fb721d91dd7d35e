//! The inverse tangent, and angles of points.
//!
//! Argument reduction: `atan x = atan c + atan t` with `t = (x - c) / (1 + c x)`, for the nearest `c` of 0, 1/2, 1, 3/2
//! and infinity, whose inverse tangents are constants; then `|t| <= 7/16`, and a polynomial gives `atan t`.
//!
//! `f32` is computed in `f64`, and rounded.

use core::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::polynomial;
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

/// The thresholds from which on the next `c` is used.
const BETWEEN: [f64; 4] = [7.0 / 16.0, 11.0 / 16.0, 19.0 / 16.0, 39.0 / 16.0];

/// The inverse tangent.
#[inline(always)]
pub(crate) fn arctangent<M: Machine>(x: f64) -> f64 {
    let a = x.abs();
    let (mut near, mut high, mut low) = (0.0, 0.0, 0.0);
    for k in 0..3 {
        let beyond = a >= BETWEEN[k];
        near = if beyond { 0.5 * (k as f64 + 1.0) } else { near };
        high = if beyond { KNOWN[k + 1][0] } else { high };
        low = if beyond { KNOWN[k + 1][1] } else { low };
    }
    let far = a >= BETWEEN[3];
    high = if far { KNOWN[4][0] } else { high };
    low = if far { KNOWN[4][1] } else { low };
    let above = if far { -1.0 } else { a - near };
    let below = if far { a } else { 1.0 + near * a };
    let t = above / below;
    let square = t * t;
    let odd = t * square * polynomial::<f64, M>(square, square * square, &ODD);
    (high + (t + (odd + low))).copysign(x)
}

/// The angle of the point `(x, y)`, and whether it is accurate: points with extreme quotients or coordinates are left
/// to the row.
#[inline(always)]
pub(crate) fn angle<M: Machine>(y: f64, x: f64) -> (f64, bool) {
    let (a, b) = (y.abs(), x.abs());
    let steep = a > b;
    let quotient = if steep { b / a } else { a / b };
    let acute = arctangent::<M>(quotient);
    // The angle is measured from the nearest axis.
    let [high, low] = if steep { KNOWN[4] } else { [0.0, 0.0] };
    let sign = if steep { -1.0 } else { 1.0 };
    let right = high + (sign * acute + low);
    let [high, low] = KNOWN[4].map(|part| 2.0 * part);
    let left = if steep { KNOWN[4][0] + (acute + KNOWN[4][1]) } else { high - (acute - low) };
    let ordinary = (quotient > 1e-300) & (quotient <= 1.0) & (a < 1e300) & (b < 1e300);
    ((if x < 0.0 { left } else { right }).copysign(y), ordinary)
}

/// The inverse sine of an [ordinary](is_ordinary) number: the angle of a point of the unit circle.
#[inline(always)]
pub(crate) fn arcsine<M: Machine>(x: f64) -> f64 {
    angle::<M>(x, ((1.0 - x) * (1.0 + x)).root()).0
}

/// The inverse cosine of an [ordinary](is_ordinary) number.
#[inline(always)]
pub(crate) fn arccosine<M: Machine>(x: f64) -> f64 {
    angle::<M>(((1.0 - x) * (1.0 + x)).root(), x).0
}

/// Whether the inverse sine and cosine of a number are accurate here.
#[inline(always)]
pub(crate) fn is_ordinary(x: f64) -> bool {
    (x.abs() < 1.0) & (x.abs() > 1e-200)
}
