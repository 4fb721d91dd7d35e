//! Functions of a squared length `s = r^2` that are smooth at `s = 0`, where `sqrt` is not.
//!
//! Law: values and all derivatives are right at zero, to rounding for the first four orders.

use crate::base::BaseTensor;
use crate::tensor::Tensor;

/// The terms of a power series: what is left out is below the rounding of `f64` for the squares for which it is used.
const TERMS: usize = 12;

/// `select(s < most, sum_k coefficient(k) s^k, beyond(s))`; `beyond` never sees a small `s`.
fn smooth<T: BaseTensor>(
    s: &Tensor<T, 0>,
    most: f64,
    coefficients: [f64; TERMS],
    beyond: impl FnOnce(&Tensor<T, 0>) -> Tensor<T, 0>,
) -> Tensor<T, 0> {
    let small = s.lt(most);
    let (near, far) = (small.select(s, 0.0), small.select(1.0, s));
    let (last, rest) = (coefficients[TERMS - 1], &coefficients[..TERMS - 1]);
    let series = rest.iter().rev().fold(Tensor::scalar(last), |sum, c| sum * &near + *c);
    small.select(series, beyond(&far))
}

/// `sin(r) / r`, which is 1 at zero.
pub(super) fn sinc<T: BaseTensor>(s: &Tensor<T, 0>) -> Tensor<T, 0> {
    let mut coefficients = [1.0; TERMS];
    for k in 1..TERMS {
        coefficients[k] = -coefficients[k - 1] / ((2 * k * (2 * k + 1)) as f64);
    }
    smooth(s, 1.0, coefficients, |s| {
        let r = s.sqrt();
        r.sin() / r
    })
}

/// `(1 - cos(r)) / r^2`, which is 1/2 at zero.
pub(super) fn versine<T: BaseTensor>(s: &Tensor<T, 0>) -> Tensor<T, 0> {
    sinc(&(s * 0.25)).square() * 0.5
}

/// The arc over its sine: `atan2(r, c) / r` for the sine `r` of an angle and its cosine `c`, which is 1 where `r` is zero
/// and `c` is 1.
///
/// For `c < 0` it is smooth but at `r = 0`, where the angle is half a turn and no direction is the short one: the result
/// is infinite there.
pub(super) fn arc<T: BaseTensor>(s: &Tensor<T, 0>, c: &Tensor<T, 0>) -> Tensor<T, 0> {
    // asin(r) / r: the ratio of two coefficients is (2 k - 1)^2 / (2 k (2 k + 1)).
    let mut coefficients = [1.0; TERMS];
    for k in 1..TERMS {
        let odd = (2 * k - 1) as f64;
        coefficients[k] = coefficients[k - 1] * odd * odd / ((2 * k * (2 * k + 1)) as f64);
    }
    // Behind half a turn, the square is as if it were large.
    let ahead = c.gt(0.0);
    let from_series = smooth(&ahead.select(s, 1.0), 0.03, coefficients, |s| {
        let r = s.sqrt();
        r.atan2(c) / r
    });
    let r = ahead.select(1.0, s).sqrt();
    ahead.select(from_series, r.atan2(c) / &r)
}
