//! The inverse tangent, and angles of points.
//!
//! Argument reduction: `atan x = atan c + atan t` with `t = (x - c) / (1 + c x)`, for the nearest `c` of 0, 1/2, 1, 3/2
//! and infinity, whose inverse tangents are constants; then `|t| <= 7/16`, and a polynomial gives `atan t`.
//!
//! `f32` is computed in `f64`, and rounded.

use core::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use super::{c, polynomial};
use crate::Machine;
use crate::number::{Double, call};

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
pub(super) fn arctangent<E: Double, M: Machine>(x: E) -> E {
    call!(E: Double, M, "atan", "", [x], arctangent_of)
}

#[inline(always)]
fn arctangent_of<E: Double, M: Machine>([x]: [E; 1]) -> E {
    let a = x.magnitude();
    let (mut near, mut high, mut low) = (c(0.0), c(0.0), c(0.0));
    for k in 0..3 {
        let beyond = a.at_least(c(BETWEEN[k]));
        near = E::select(beyond, c(0.5 * (k as f64 + 1.0)), near);
        high = E::select(beyond, c(KNOWN[k + 1][0]), high);
        low = E::select(beyond, c(KNOWN[k + 1][1]), low);
    }
    let far = a.at_least(c(BETWEEN[3]));
    high = E::select(far, c(KNOWN[4][0]), high);
    low = E::select(far, c(KNOWN[4][1]), low);
    let above = E::select(far, c(-1.0), a - near);
    let below = E::select(far, a, c::<E>(1.0) + near * a);
    let t = above / below;
    let square = t * t;
    let odd = t * square * polynomial::<E, M>(square, square * square, &ODD);
    (high + (t + (odd + low))).signed_like(x)
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

/// The inverse sine of an [ordinary](is_ordinary) number: the angle of a point of the unit circle.
#[inline(always)]
pub(super) fn arcsine<E: Double, M: Machine>(x: E) -> E {
    angle::<E, M>(x, other(x)).0
}

/// The inverse cosine of an [ordinary](is_ordinary) number.
#[inline(always)]
pub(super) fn arccosine<E: Double, M: Machine>(x: E) -> E {
    angle::<E, M>(other(x), x).0
}

/// Whether the inverse sine and cosine of a number are accurate here.
#[inline(always)]
pub(super) fn is_ordinary<E: Double>(x: E) -> E::Mask {
    x.magnitude().below(c(1.0)) & x.magnitude().above(c(1e-200))
}
