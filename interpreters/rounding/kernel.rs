//! Errors of kernels: of one rounding, of functions, and of sums in any order.
//!
//! Law: bounds are computed in `f64` and rounded upwards.

use crate::dtype::DType;
use crate::interpreters::bounded::Span;
use crate::ops::KernelError;

/// The arithmetic of an element type.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundingUnit {
    /// Half the distance from 1 to the next number: the largest relative error of one rounding.
    pub(super) unit: f64,
    /// The smallest positive number, which bounds the error of a result that underflows.
    pub(super) least: f64,
    /// The largest integer up to which all integers are numbers of the type.
    whole: f64,
}

/// A bound that was computed with a few roundings.
pub(super) fn rounded(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { (x * (1.0 + 8.0 * f64::EPSILON)).next_up() }
}

/// A sum, rounded upwards.
pub(super) fn add(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { x + y } else { (x + y).next_up() }
}

/// A product, rounded upwards; 0 if a factor is 0.
pub(super) fn times(x: f64, y: f64) -> f64 {
    if x == 0.0 || y == 0.0 { 0.0 } else { (x * y).next_up() }
}

/// A bound of `(1 + u)^n - 1`: `n u / (1 - n u)`, or infinity if `n u` is not small.
pub(super) fn of_sum(n: f64, unit: f64) -> f64 {
    let all = n * unit;
    if all < 0.5 { all / (1.0 - all) } else { f64::INFINITY }
}

impl RoundingUnit {
    pub(super) fn of(dtype: DType) -> RoundingUnit {
        match dtype {
            DType::F32 => RoundingUnit {
                unit: f64::from(f32::EPSILON) / 2.0,
                least: f32::from_bits(1).into(),
                whole: 16_777_216.0,
            },
            DType::F64 | DType::I64 | DType::Bool => {
                RoundingUnit { unit: f64::EPSILON / 2.0, least: f64::from_bits(1), whole: 9_007_199_254_740_992.0 }
            }
        }
    }

    /// Adds the errors of an elementwise function with these results. A row without an error is rounded once; otherwise
    /// a kernel may miss the rounded result by `error.floats` floats.
    pub(super) fn function(self, error: KernelError, results: &[Span], errors: &mut [f64]) {
        let units = if error.floats == 0 { 1.0 } else { 2.0 * f64::from(error.floats) + 1.0 };
        for (e, y) in errors.iter_mut().zip(results) {
            let size = y.magnitude();
            let own = units * self.unit * size + units * self.least + 2.0 * error.of_one * self.unit * size.max(1.0);
            *e = add(*e, rounded(own));
        }
    }

    /// Adds the errors of a conversion to this type, which is exact for small integers.
    pub(super) fn converted(self, results: &[Span], errors: &mut [f64]) {
        for (e, y) in errors.iter_mut().zip(results) {
            let size = y.magnitude();
            *e = add(*e, rounded(self.unit * size + self.least));
        }
    }

    /// Adds the errors of integers that become numbers of this type.
    pub(super) fn of_integers(self, results: &[Span], errors: &mut [f64]) {
        for (e, y) in errors.iter_mut().zip(results).filter(|(_, y)| y.magnitude() > self.whole) {
            *e = add(*e, rounded(self.unit * y.magnitude()));
        }
    }

    /// The errors of sums of `counts` terms in any order, where `exact` roundings do not happen, added to the errors
    /// `passed` that come from the operands; `sizes` are the sums of absolute values. A product that underflows has an
    /// absolute error.
    pub(super) fn sums(self, counts: &[f64], exact: f64, sizes: &[f64], passed: Vec<f64>) -> Vec<f64> {
        let one = |((n, size), passed): ((&f64, &f64), f64)| {
            let roundings = n - exact;
            if roundings <= 0.0 {
                return passed;
            }
            let least = if exact == 0.0 { n * self.least } else { 0.0 };
            add(passed, rounded(times(of_sum(roundings, self.unit), *size) + least))
        };
        counts.iter().zip(sizes).zip(passed).map(one).collect()
    }
}
