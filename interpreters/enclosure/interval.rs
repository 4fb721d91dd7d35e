//! Intervals of floats: arithmetic with outward rounding, and sums.
//!
//! Law: a result contains the exact result, and the one rounded to its element type, for all numbers in the operands.
//! Bounds are `f64`; those of a value of `f32` are numbers of that type. The sign of each rounding error is computed
//! exactly (T. J. Dekker, "A floating-point technique for extending the available precision", 1971), so an exact result
//! is not widened.

use super::Cell;
use super::range::LineBounds;
use crate::dtype::DType;

/// The numbers from `lo` to `hi`, and NaN if `nan`. An infinite bound belongs to the interval. Zero stands for both
/// zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) lo: f64,
    pub(super) hi: f64,
    pub(super) nan: bool,
}

/// All numbers.
pub(super) const LINE: Interval = Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY, nan: false };
/// All numbers and NaN: no information.
pub(super) const ANYTHING: Interval = Interval { nan: true, ..LINE };

/// The machine epsilon (the distance from 1 to the next number), and the largest number.
fn precision(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F32 => (f32::EPSILON.into(), f32::MAX.into()),
        DType::F64 | DType::I64 | DType::Bool => (f64::EPSILON, f64::MAX),
    }
}

/// The interval around a rounded result: `rest` has the sign of the exact result minus the rounded one, or is NaN if
/// that is not known.
fn around(rounded: f64, rest: f64) -> Interval {
    let lo = if rest >= 0.0 { rounded } else { rounded.next_down() };
    let hi = if rest <= 0.0 { rounded } else { rounded.next_up() };
    Interval::between(lo, hi)
}

/// The rounding error of a result larger than this is a representable number.
const SMALL: f64 = 1e-250;

fn sum(x: f64, y: f64) -> Interval {
    let s = x + y;
    let of_y = s - x;
    around(s, (x - (s - of_y)) + (y - of_y))
}

/// A product, where zero times infinity is zero.
fn product(x: f64, y: f64) -> Interval {
    if x == 0.0 || y == 0.0 {
        return Interval::point(0.0);
    }
    let p = x * y;
    around(p, if p.abs() > SMALL { x.mul_add(y, -p) } else { f64::NAN })
}

/// A quotient by a number that is not zero.
pub(super) fn quotient(x: f64, y: f64) -> Interval {
    if x == 0.0 || (x.is_finite() && y.is_infinite()) {
        return Interval::point(0.0);
    }
    let q = x / y;
    let rest = if x.abs() > SMALL && q.abs() > SMALL { (-q).mul_add(y, x) * y.signum() } else { f64::NAN };
    around(q, rest)
}

/// The root of a number that is not negative.
pub(super) fn root(x: f64) -> Interval {
    let r = x.sqrt();
    around(r, if x > SMALL || x == 0.0 { (-r).mul_add(r, x) } else { f64::NAN })
}

impl Interval {
    pub(super) fn point(x: f64) -> Interval {
        Interval::between(x, x)
    }

    /// The interval between two bounds; no information if a bound is NaN.
    pub(super) fn between(lo: f64, hi: f64) -> Interval {
        if lo <= hi { Interval { lo, hi, nan: false } } else { ANYTHING }
    }

    /// The same numbers, and NaN if `nan`.
    pub(super) fn or_nan(self, nan: bool) -> Interval {
        Interval { nan: self.nan || nan, ..self }
    }

    pub(super) fn holds(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    pub(super) fn has_infinity(self) -> bool {
        self.lo == f64::NEG_INFINITY || self.hi == f64::INFINITY
    }

    /// The number, if the interval contains exactly one.
    pub(super) fn known(self) -> Option<f64> {
        (self.lo == self.hi && !self.nan).then_some(self.lo)
    }

    /// The least and the largest absolute value.
    pub(super) fn magnitudes(self) -> [f64; 2] {
        let least = if self.holds(0.0) { 0.0 } else { self.lo.abs().min(self.hi.abs()) };
        [least, self.lo.abs().max(self.hi.abs())]
    }

    /// The interval clamped to `[lo, hi]`, in which its numbers are known to lie.
    pub(super) fn within(self, [lo, hi]: [f64; 2]) -> Interval {
        Interval { lo: self.lo.clamp(lo, hi), hi: self.hi.clamp(lo, hi), nan: self.nan }
    }

    pub(super) fn negated(self) -> Interval {
        Interval { lo: -self.hi, hi: -self.lo, nan: self.nan }
    }

    /// Widened outwards to numbers of an element type, and by `steps` more such numbers at both ends.
    pub(super) fn widened(self, steps: u32, dtype: DType) -> Interval {
        let (mut lo, mut hi) = (self.lo, self.hi);
        match dtype {
            DType::F32 => {
                let [mut low, mut high] = [lo as f32, hi as f32];
                low = if f64::from(low) > lo { low.next_down() } else { low };
                high = if f64::from(high) < hi { high.next_up() } else { high };
                (0..steps).for_each(|_| (low, high) = (low.next_down(), high.next_up()));
                (lo, hi) = (low.into(), high.into());
            }
            DType::F64 | DType::I64 | DType::Bool => {
                (0..steps).for_each(|_| (lo, hi) = (lo.next_down(), hi.next_up()));
            }
        }
        Interval { lo, hi, nan: self.nan }
    }

    /// Widened by `units` machine epsilons, times the largest absolute value if that exceeds 1.
    pub(super) fn blurred(self, units: f64, dtype: DType) -> Interval {
        let by = units * precision(dtype).0 * self.magnitudes()[1].max(1.0);
        if units == 0.0 || by.is_infinite() {
            self
        } else {
            Interval { lo: self.lo - by, hi: self.hi + by, nan: self.nan }
        }
    }

    /// The range of a function that is monotone in each of its arguments; NaN at a corner is ignored.
    pub(super) fn corners(self, other: Interval, f: impl Fn(f64, f64) -> Interval) -> Interval {
        let all = [f(self.lo, other.lo), f(self.lo, other.hi), f(self.hi, other.lo), f(self.hi, other.hi)];
        let numbers = all.into_iter().filter(|part| !part.nan);
        numbers.reduce(Interval::hull).unwrap_or(ANYTHING).or_nan(self.nan || other.nan)
    }

    /// `x y`, with NaN for zero times infinity.
    pub(super) fn product(self, other: Interval) -> Interval {
        let nan = (self.holds(0.0) && other.has_infinity()) || (self.has_infinity() && other.holds(0.0));
        self.corners(other, product).or_nan(nan)
    }

    /// `x y`, with zero for zero times anything.
    pub(super) fn guarded_product(self, other: Interval) -> Interval {
        let is_zero = |x: Interval| x.known() == Some(0.0);
        if is_zero(self) || is_zero(other) { Interval::point(0.0) } else { self.corners(other, product) }
    }

    /// `x / y`; all numbers if the divisor may be zero.
    pub(super) fn quotient(self, other: Interval) -> Interval {
        let infinite = self.has_infinity() && other.has_infinity();
        if other.holds(0.0) {
            return LINE.or_nan(self.nan || other.nan || infinite || self.holds(0.0));
        }
        self.corners(other, quotient).or_nan(infinite)
    }

    /// `x / y`, and 0 where `x` is 0; all numbers if the divisor may be zero.
    pub(super) fn guarded_quotient(self, other: Interval) -> Interval {
        let is_zero = self.known() == Some(0.0);
        let zero = Interval::point(0.0);
        if is_zero {
            return zero;
        }
        if other.holds(0.0) {
            // 0 / 0 is 0.
            let infinite = self.has_infinity() && other.has_infinity();
            return LINE.or_nan(self.nan || other.nan || infinite);
        }
        let quotient = self.quotient(other).or_nan(self.nan || other.nan);
        if self.holds(0.0) { quotient.hull(zero) } else { quotient }
    }

    /// `x x`.
    pub(super) fn square(self) -> Interval {
        let [least, largest] = self.magnitudes();
        Interval { lo: product(least, least).lo, hi: product(largest, largest).hi, nan: self.nan }
            .within([0.0, f64::INFINITY])
    }
}

/// A sum of intervals in any order.
///
/// The bounds of the exact sum are accumulated with outward rounding. A rounded sum of `n` terms differs, in any order,
/// from the exact one by at most `n` units of the last place of the sum of absolute values (N. J. Higham, "Accuracy and
/// Stability of Numerical Algorithms", 2002, section 4.2); a sum of two terms is rounded once.
#[derive(Clone, Debug)]
pub(super) struct OutwardSum {
    lo: f64,
    hi: f64,
    nan: bool,
    /// An upper bound of the sum of absolute values, and the number of terms that are not zero.
    size: f64,
    count: usize,
    /// A further error.
    blur: f64,
    signs: [bool; 2],
}

impl Default for OutwardSum {
    fn default() -> OutwardSum {
        OutwardSum { lo: 0.0, hi: 0.0, nan: false, size: 0.0, count: 0, blur: 0.0, signs: [false; 2] }
    }
}

impl OutwardSum {
    /// The sum in exact arithmetic, rounded outwards.
    pub(super) fn exact(&self) -> Interval {
        Interval::between(self.lo, self.hi).or_nan(self.nan)
    }

    /// A further error, of either sign.
    pub(super) fn blur(&mut self, error: f64) {
        (self.blur, self.signs) = (error, [true; 2]);
    }
}

impl Cell for Interval {
    const ZERO: Interval = Interval { lo: 0.0, hi: 0.0, nan: false };
    type Sum = OutwardSum;
    type End = f64;

    fn bounds(self) -> LineBounds<f64> {
        ([self.lo, self.hi], self.nan)
    }

    fn hull(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi), nan: self.nan || other.nan }
    }

    fn times(self, other: Interval, dtype: DType) -> Interval {
        self.product(other).widened(0, dtype)
    }

    fn squared(self, dtype: DType) -> Interval {
        self.square().widened(0, dtype)
    }

    fn add(all: &mut OutwardSum, x: Interval) {
        if x == Interval::ZERO {
            return;
        }
        let opposed = (x.hi == f64::INFINITY && all.lo == f64::NEG_INFINITY)
            || (x.lo == f64::NEG_INFINITY && all.hi == f64::INFINITY);
        all.nan |= x.nan || opposed;
        all.lo = sum(all.lo, x.lo).lo;
        all.hi = sum(all.hi, x.hi).hi;
        all.size = (all.size + x.magnitudes()[1]).next_up();
        all.count += 1;
        all.signs = [all.signs[0] || x.lo < 0.0, all.signs[1] || x.hi > 0.0];
    }

    fn total(all: &OutwardSum, dtype: DType) -> Interval {
        let (epsilon, largest) = precision(dtype);
        let OutwardSum { mut lo, mut hi, mut nan, signs: [negative, positive], .. } = *all;
        if all.count > 2 || all.blur > 0.0 {
            let error = all.count as f64 * epsilon * all.size + all.blur;
            (lo, hi) = ((lo - error).next_down(), (hi + error).next_up());
            if all.size + error > largest {
                // In some order of the terms, partial sums may be infinite, of both signs.
                lo = if negative { f64::NEG_INFINITY } else { lo };
                hi = if positive { f64::INFINITY } else { hi };
                nan |= negative && positive;
            }
            lo = if negative { lo } else { lo.max(0.0) };
            hi = if positive { hi } else { hi.min(0.0) };
        }
        Interval::between(lo, hi).or_nan(nan).widened(0, dtype)
    }
}
