//! The inverse of the error function: a polynomial in `-ln (1 - x^2)`, and another one near the ends.
//!
//! With `l = -ln (1 - x^2)`, the quotient `erfinv(x) / x` is a function of `l` that has no singularity within a distance
//! of 6 from 0. From [`BORDER`] on, `1 - |x|` is exact, and with `s = (-ln (1 - |x|))^(1/2)` the difference
//! `erfinv |x| - s` is small.
//!
//! Law: odd to the last bit, infinite at -1 and 1, and NaN beyond.

use super::{Elementary, c, horner};
use crate::{Machine, Number};

/// Beyond this number, the polynomial of the ends is used. `erfinv` is 2 near to it, as is `s`: below, the rounding
/// error of `s` would be two units in the last place of the result.
const BORDER: f64 = 0.996_093_75;

/// The constants of a float type.
pub trait Layout: Copy + 'static {
    /// Half of the square root of pi, the derivative at 0.
    const SLOPE: Self;
    /// `erfinv(x) / x` less the slope as a function of `l`. The constant term is the rounding error of the slope.
    const MIDDLE: &'static [Self];
    /// `erfinv |x| - s` as a function of `s` less [`CENTER`](Layout::CENTER).
    const ENDS: &'static [Self];
    /// The center of the interval of `s` at the ends.
    const CENTER: Self;
}

impl Layout for f64 {
    const SLOPE: f64 = 0.886_226_925_452_758;
    const MIDDLE: &'static [f64] = &[
        -3.8332932499128993e-17,
        0.2320136665346536,
        0.011549342038307644,
        -0.002335101642147849,
        -0.00012804329026198558,
        4.661142252674815e-5,
        2.0200416094819137e-6,
        -1.012663530306967e-6,
        -3.713055316603079e-8,
        2.260736443828224e-8,
        9.149363591481383e-10,
        -6.309179208577772e-10,
        3.8512519033957294e-11,
        -9.32282441700473e-12,
        6.7870311195067e-12,
        -1.67257310426352e-12,
        1.82379584360432e-13,
        -2.2207024314573522e-15,
        -1.8995677139067925e-15,
        2.4601387203671296e-16,
        -1.3911862504538346e-17,
        3.187912239761794e-19,
    ];
    const ENDS: &'static [f64] = &[
        -0.24093755190824154,
        0.029801060623082805,
        -0.003929906239754828,
        0.0004555877514823572,
        -2.8021908115140318e-5,
        -7.321644975181294e-6,
        4.1853275590801625e-6,
        -1.4128586042225797e-6,
        4.0359211055657863e-7,
        -1.0579096025228102e-7,
        2.6246892371294072e-8,
        -6.255711904396294e-9,
        1.4439652726389528e-9,
        -3.233261862482433e-10,
        7.004815613095378e-11,
        -1.508707334847501e-11,
        3.304670347049062e-12,
        -5.866927792602569e-13,
        6.705872627731459e-14,
        -2.764734719622479e-14,
        1.1019131179016614e-14,
        2.127346160834682e-17,
        -4.467409335446154e-16,
    ];
    const CENTER: f64 = 4.25;
}

impl Layout for f32 {
    const SLOPE: f32 = 0.886_226_95;
    const MIDDLE: &'static [f32] = &[
        -2.66232e-8,
        0.23201372,
        0.011549209,
        -0.0023355032,
        -0.00012614121,
        4.3724493e-5,
        4.293091e-6,
        -2.042907e-6,
        2.2869555e-7,
        -9.158451e-9,
    ];
    const ENDS: &'static [f32] = &[
        -0.27513868,
        0.039063595,
        -0.0052824602,
        0.00032490457,
        0.00017173208,
        -0.000107870495,
        4.296168e-5,
        -1.8397503e-5,
        6.9397006e-6,
    ];
    const CENTER: f32 = 3.25;
}

/// The inverse of the error function.
#[inline(always)]
pub(super) fn inverse<E: Number, M: Machine>(x: E) -> E {
    let (a, one) = (x.magnitude(), c::<E>(1.0));
    let (far, below) = (a.above(c(BORDER)), one - a);
    let valid = E::branch(a.below(one));
    let log = -E::logarithm::<M>(below * E::select(far, one, one + a));
    let [slope, center] = [<E::Float as Layout>::SLOPE, <E::Float as Layout>::CENTER];
    let inside = E::branch(far);
    let root = log.root();
    let inside = E::otherwise(inside, root + horner::<E, M>(root - E::constant(center), <E::Float as Layout>::ENDS));
    let middle = a * horner::<E, M>(log, <E::Float as Layout>::MIDDLE);
    let inside = E::join(inside, E::multiply_add::<M>(E::constant(slope), a, middle));
    let valid = E::otherwise(valid, inside);
    // The logarithm is not defined from 1 on.
    E::join(valid, E::select(a.equals(one), c(f64::INFINITY), c(f64::NAN))).signed_like(x)
}
