//! The logarithm of the gamma function of positive numbers, in `f64` to the precision of `f32`.
//!
//! Below 8, `gamma x = (x - 1) .. (x - k) gamma t` with `t = x - k` between 3/2 and 5/2, or the same with factors `x` and `x + 1`
//! below; `ln gamma t` is `t - 2` times a polynomial, so the zeros at 1 and 2 are exact. From 8 on, it is Stirling's series.
//! There is one logarithm, that of the product or of the number.

use super::{Elementary, c, horner};
use crate::Machine;
use crate::number::Double;

/// `ln gamma(2 + u) / u` for `|u| <= 1/2`.
const MIDDLE: &[f64] = &[
    0.42278433509846713,
    0.32246703342004873,
    -0.06735230105130044,
    0.020580808882117916,
    -0.007385551240791602,
    0.0028904958630843014,
    -0.0011927471573807307,
    0.0005098661348137004,
    -0.00022324653987287443,
    9.816870450896373e-05,
    -4.4324684533065815e-05,
    2.4487052975853987e-05,
    -1.1296499102214296e-05,
];

/// `ln (2 pi) / 2`.
const STIRLING: f64 = 0.918_938_533_204_672_8;

/// The number from which on Stirling's series has the precision of `f32`.
const LARGE: f64 = 8.0;

/// `ln gamma x` for positive finite numbers.
#[inline(always)]
pub(super) fn logarithm_of_gamma<E: Double, M: Machine>(x: E) -> E {
    let (one, two) = (c::<E>(1.0), c::<E>(2.0));
    let (mut product, mut t) = (one, x);
    // An iterator over a range is not inlined in all builds, and the loop over elements would not be vectorised.
    let mut k = 1;
    while k <= 6 {
        let less = x - c(f64::from(k));
        let is_factor = less.at_least(c(1.5));
        product = product * E::select(is_factor, less, one);
        t = E::select(is_factor, less, t);
        k += 1;
    }
    let (is_below, is_far_below) = (x.below(c(1.5)), x.below(c(0.5)));
    product = E::select(is_below, x, product) * E::select(is_far_below, x + one, one);
    t = E::select(is_below, x + E::select(is_far_below, two, one), t);
    let is_large = x.at_least(c(LARGE));
    let logarithm = E::logarithm::<M>(E::select(is_large, x, product));
    let u = t - two;
    let small = E::multiply_add::<M>(u, horner::<E, M>(u, MIDDLE), E::select(is_below, -logarithm, logarithm));
    let inverse = one / x;
    let z = inverse * inverse;
    let series = inverse * (c::<E>(1.0 / 12.0) - z * (c::<E>(1.0 / 360.0) - z * c(1.0 / 1260.0)));
    let large = (x - c(0.5)) * logarithm - x + (c::<E>(STIRLING) + series);
    E::select(is_large, large, small)
}
