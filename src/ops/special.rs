//! Kernels of special functions that the standard library and `libm` lack.
//!
//! Law: computed in `f64` for every float type, so that narrower ones are correctly rounded almost
//! everywhere. The argument is raised above [`LARGE`] by the recurrence and put into the asymptotic
//! series there; negative arguments are reflected.

use std::f64::consts::PI;

/// From here on the asymptotic series, cut off as below, are exact to rounding.
const LARGE: f64 = 12.0;

/// The Bernoulli numbers `B_2, B_4, .., B_16`.
const BERNOULLI: [f64; 8] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];

/// `sum_k coefficient(k, B_2k) z^k` over the Bernoulli numbers, `k` from 1, by Horner's rule.
fn series(z: f64, coefficient: impl Fn(f64, f64) -> f64) -> f64 {
    BERNOULLI.iter().enumerate().rev().fold(0.0, |sum, (k, b)| (sum + coefficient((k + 1) as f64, *b)) * z)
}

/// The derivative of the logarithm of the gamma function: `ln x - 1/(2x) - sum_k B_2k / (2k x^2k)`
/// for large `x`; `psi(1 - x) - pi / tan(pi x)` for negative ones. NaN at the poles.
pub(super) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        // The tangent has period 1: its argument is reduced without rounding.
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut x, mut below) = (x, 0.0);
    while x < LARGE {
        below += 1.0 / x;
        x += 1.0;
    }
    x.ln() - 0.5 / x - series(1.0 / (x * x), |k, b| b / (2.0 * k)) - below
}

/// The derivative of [`digamma`]: `1/x + 1/(2x^2) + sum_k B_2k / x^(2k + 1)` for large `x`;
/// `pi^2 / sin(pi x)^2 - psi'(1 - x)` for negative ones. Infinite at the poles.
pub(super) fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return if x.is_finite() { f64::INFINITY } else { f64::NAN };
        }
        let sine = (PI * (x - x.round())).sin();
        return (PI / sine).powi(2) - trigamma(1.0 - x);
    }
    let (mut x, mut below) = (x, 0.0);
    while x < LARGE {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    (1.0 + 0.5 / x + series(z, |_, b| b)) / x + below
}
