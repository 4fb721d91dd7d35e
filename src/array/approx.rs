//! The comparison traits of the `approx` crate, for tests with tolerances.
//!
//! Law: arrays of different shapes or element types are never close. Floats are compared element by element in their
//! own type, with tolerances rounded to this type; integers and masks are compared exactly, for any tolerance.

use approx::{AbsDiffEq, RelativeEq, UlpsEq};

use super::{Array, Values};
use crate::dtype::{DType, Elem};

/// Whether all pairs of elements are close; O(1) for two arrays of one repeated value each.
fn all<E: Elem>(a: &Array, b: &Array, close: impl Fn(E, E) -> bool) -> bool {
    match (a.typed::<E>(), b.typed::<E>()) {
        (Values::Splat(x), Values::Splat(y)) => a.size() == 0 || close(x, y),
        (x, y) => (0..a.size()).all(|i| close(x.get(i), y.get(i))),
    }
}

/// Whether two arrays have one shape and element type, and all their elements are close, by a criterion for each float
/// type.
fn close(a: &Array, b: &Array, f64s: impl Fn(f64, f64) -> bool, f32s: impl Fn(f32, f32) -> bool) -> bool {
    a.shape() == b.shape()
        && a.dtype() == b.dtype()
        && match a.dtype() {
            DType::F64 => all(a, b, f64s),
            DType::F32 => all(a, b, f32s),
            DType::I64 | DType::Bool => a == b,
        }
}

/// Elements differ by at most `epsilon`.
impl AbsDiffEq for Array {
    type Epsilon = f64;

    fn default_epsilon() -> f64 {
        f64::EPSILON
    }

    fn abs_diff_eq(&self, other: &Array, epsilon: f64) -> bool {
        close(self, other, |x, y| x.abs_diff_eq(&y, epsilon), |x, y| x.abs_diff_eq(&y, epsilon as f32))
    }
}

/// Elements differ by at most `epsilon`, or by at most `max_relative` times the larger absolute value.
impl RelativeEq for Array {
    fn default_max_relative() -> f64 {
        f64::EPSILON
    }

    fn relative_eq(&self, other: &Array, epsilon: f64, max_relative: f64) -> bool {
        close(
            self,
            other,
            |x, y| x.relative_eq(&y, epsilon, max_relative),
            |x, y| x.relative_eq(&y, epsilon as f32, max_relative as f32),
        )
    }
}

/// Elements differ by at most `epsilon`, or by at most `max_ulps` units in the last place.
impl UlpsEq for Array {
    fn default_max_ulps() -> u32 {
        f64::default_max_ulps()
    }

    fn ulps_eq(&self, other: &Array, epsilon: f64, max_ulps: u32) -> bool {
        close(self, other, |x, y| x.ulps_eq(&y, epsilon, max_ulps), |x, y| x.ulps_eq(&y, epsilon as f32, max_ulps))
    }
}
