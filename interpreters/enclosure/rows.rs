//! Bounds of the elementwise functions of floats, from their intervals of monotonicity and their errors.
//!
//! Law: the bounds contain all values of the function on an interval, exact and as the kernels compute them. So a value
//! at an end of the interval is widened by more than twice the error of a kernel (`tests/language/accuracy.rs`, and 2
//! units for kernels of compiled programs): once for the value at the end, and once for values within.

use std::f64::consts::PI;

use super::interval::{ANYTHING, Interval, LINE, quotient, root};
use super::{Cell, jumps};
use crate::dtype::DType;
use crate::ops::{Binary, Course, KernelError, POSITIVE, Property, Unary};

/// The enclosure of the value at one number.
fn at(op: Unary, x: f64, dtype: DType) -> Interval {
    let value = if op == Unary::Square {
        Interval::point(x).square()
    } else if op == Unary::Recip {
        quotient(1.0, x)
    } else if op == Unary::Sqrt {
        root(x)
    } else {
        Interval::point(op.apply(x))
    };
    let mut error = op.error();
    if x < 0.0 {
        // Near a zero of `digamma`, a logarithm of `x` and a cotangent cancel.
        error.of_one *= 1.0 + 0.25 * x.abs().min(f64::MAX).ln_1p();
    }
    twice(value, error, dtype)
}

/// Widened by twice the error of a kernel.
fn twice(value: Interval, error: KernelError, dtype: DType) -> Interval {
    value.blurred(2.0 * error.of_one, dtype).widened(2 * error.floats, dtype)
}

/// Whether there is a number `rest + k period`, for an integer `k`, between `lo` and `hi`, or close to them.
fn meets(lo: f64, hi: f64, period: f64, rest: f64) -> bool {
    let near = |t: f64| 1e-15 * (t.abs() + 1.0);
    let first = ((lo - near(lo) - rest) / period).ceil() * period + rest;
    first <= hi + near(hi) || !(hi - lo).is_finite()
}

/// The range of a unary function on an interval.
pub(super) fn unary(op: Unary, x: Interval, dtype: DType) -> Interval {
    if let Some(values) = by_poles(op, x, dtype) {
        jumps::found();
        return values.or_nan(x.nan);
    }
    let graph = op.graph();
    let (lo, hi) = (x.lo.max(graph.defined[0]), x.hi.min(graph.defined[1]));
    if lo > hi {
        return ANYTHING;
    }
    let at = |x: f64| at(op, x, dtype);
    let ends = at(lo).hull(at(hi));
    let values = match graph.course {
        Course::Rises | Course::Falls => ends,
        Course::Valley(c) | Course::Peak(c) if (lo..=hi).contains(&c) => ends.hull(at(c)),
        Course::Valley(_) | Course::Peak(_) => ends,
        Course::Wave { peak } => {
            let (from, to) = (lo / PI - peak, hi / PI - peak);
            Interval {
                lo: if meets(from, to, 2.0, 1.0) { -1.0 } else { ends.lo },
                hi: if meets(from, to, 2.0, 0.0) { 1.0 } else { ends.hi },
                nan: ends.nan,
            }
        }
        Course::Poles(c) if meets(lo / PI - c, hi / PI - c, 1.0, 0.0) => {
            jumps::found();
            LINE
        }
        Course::Poles(_) => ends,
    };
    values.within(graph.range).or_nan(x.nan || lo > x.lo || hi < x.hi)
}

/// The range on an interval that contains poles, or may contain them.
fn by_poles(op: Unary, x: Interval, dtype: DType) -> Option<Interval> {
    if !op.is(Property::CourseRightOfZero) {
        return None;
    }
    if op == Unary::Recip {
        return x.holds(0.0).then_some(LINE);
    }
    if x.lo > 0.0 {
        return None;
    }
    if op == Unary::Lgamma {
        // |gamma x| = pi / (|sin (pi x)| gamma (1 - x)), which is least where the sine is 1; right of 0 the logarithm
        // is more than -0.13.
        let mirrored = Interval::between(1.0 - x.hi.min(0.0), (1.0 - x.lo).next_up());
        let least = PI.ln() - unary(op, mirrored, dtype).hi;
        let least = (least - 1e-12 * least.abs()).min(-0.13);
        return Some(Interval { lo: least, ..LINE }.widened(1, dtype));
    }
    if op == Unary::Digamma {
        let between = x.lo > x.lo.floor() && x.hi < x.lo.ceil();
        return if between { None } else { Some(ANYTHING) };
    }
    if op == Unary::Trigamma {
        return Some(Interval { lo: 0.0, ..LINE }.or_nan(x.lo == f64::NEG_INFINITY));
    }
    Some(ANYTHING)
}

/// The range of a binary function on two intervals.
pub(super) fn binary(op: Binary, x: Interval, y: Interval, dtype: DType) -> Interval {
    let nan = x.nan || y.nan;
    if jumps_at_zero(op, x, y) {
        jumps::found();
    }
    let values = match op {
        Binary::Add => added(x, y, dtype),
        Binary::Sub => added(x, y.negated(), dtype),
        Binary::Mul => x.product(y),
        Binary::MulNoNan => return x.guarded_product(y).widened(0, dtype),
        Binary::Div => x.quotient(y),
        Binary::DivNoNan => return x.guarded_quotient(y).widened(0, dtype),
        Binary::Pow => power(x, y, dtype),
        Binary::PowLessOne => power(x, added(y, Interval::point(-1.0), dtype), dtype).widened(4, dtype),
        Binary::Atan2 => angle(x, y, dtype),
        Binary::RecipReal => recip_real(x, y, dtype),
        Binary::Hypot => {
            let ([a, b], [c, d]) = (x.magnitudes(), y.magnitudes());
            twice(Interval::between(a.hypot(c), b.hypot(d)), op.error(), dtype).within(POSITIVE)
        }
        Binary::Copysign => {
            let [least, largest] = x.magnitudes();
            let size = Interval::between(least, largest);
            match (y.hi >= 0.0 || y.nan, y.lo <= 0.0) {
                (true, true) => size.hull(size.negated()),
                (true, false) => size,
                (false, _) => size.negated(),
            }
        }
        Binary::Min => Interval::between(x.lo.min(y.lo), x.hi.min(y.hi)),
        Binary::Max => Interval::between(x.lo.max(y.lo), x.hi.max(y.hi)),
        Binary::LogAddExp => {
            let at = |x: f64, y: f64| twice(Interval::point(op.apply(x, y)), op.error(), dtype);
            at(x.lo, y.lo).hull(at(x.hi, y.hi))
        }
        Binary::Polygamma => polygamma(x, y, dtype),
    };
    values.widened(0, dtype).or_nan(nan)
}

/// Whether a binary function has a pole, a branch cut or a jump in the two intervals.
fn jumps_at_zero(op: Binary, x: Interval, y: Interval) -> bool {
    match op {
        Binary::Div | Binary::DivNoNan => y.holds(0.0),
        // The branch cut; the function of ordinate and abscissa.
        Binary::Atan2 => x.holds(0.0) && y.lo <= 0.0,
        Binary::Copysign => y.holds(0.0) || y.nan,
        Binary::Pow | Binary::PowLessOne => {
            let least = if op == Binary::Pow { 0.0 } else { 1.0 };
            x.holds(0.0) && y.lo <= least && !(y.lo == y.hi && y.lo == least)
        }
        Binary::RecipReal => x.holds(0.0) && y.holds(0.0),
        Binary::Add | Binary::Sub | Binary::Mul | Binary::MulNoNan | Binary::Hypot => false,
        Binary::Min | Binary::Max | Binary::LogAddExp | Binary::Polygamma => false,
    }
}

/// The range of a binary function of a value and itself, if that is smaller than the range on two equal intervals.
pub(super) fn of_itself(op: Binary, x: Interval, dtype: DType) -> Option<Interval> {
    let nan = x.has_infinity() || x.nan;
    match op {
        Binary::Mul | Binary::MulNoNan => Some(x.squared(dtype)),
        Binary::Sub => Some(Interval::ZERO.or_nan(nan)),
        Binary::Div => Some(Interval::point(1.0).or_nan(nan || x.holds(0.0))),
        Binary::Min | Binary::Max => Some(x),
        Binary::Add | Binary::Pow | Binary::PowLessOne | Binary::Atan2 | Binary::RecipReal => None,
        Binary::DivNoNan | Binary::Hypot | Binary::Copysign | Binary::LogAddExp | Binary::Polygamma => None,
    }
}

fn added(x: Interval, y: Interval, dtype: DType) -> Interval {
    let mut sum = Default::default();
    [x, y].into_iter().for_each(|x| Interval::add(&mut sum, x));
    Interval::total(&sum, dtype)
}

/// `x^y`: monotone in each argument for `x >= 0`, and defined for negative `x` at integers `y` alone.
fn power(x: Interval, y: Interval, dtype: DType) -> Interval {
    let at = |a: f64, b: f64| {
        let value = twice(Interval::point(a.powf(b)), Binary::Pow.error(), dtype);
        if a >= 0.0 { value.within(POSITIVE) } else { value }
    };
    let [least, largest] = x.magnitudes();
    match y.known().filter(|n| n.fract() == 0.0) {
        Some(0.0) => Interval::point(1.0),
        Some(n) if n % 2.0 == 0.0 => at(least, n).hull(at(largest, n)),
        Some(n) if n < 0.0 && x.holds(0.0) => LINE,
        Some(n) => at(x.lo, n).hull(at(x.hi, n)),
        // At odd negative integers, the result depends on the sign of a zero base.
        None if x.holds(0.0) && y.lo < 0.0 && y.known().is_none() => LINE.or_nan(x.lo < 0.0),
        None if x.lo >= 0.0 => x.corners(y, at),
        None => {
            let size = Interval::between(least, largest).corners(y, at).hi;
            Interval { lo: -size, hi: size, nan: true }
        }
    }
}

/// The angle of the points of a rectangle: the hull of the angles of its corners, unless it meets the branch cut.
fn angle(ordinate: Interval, abscissa: Interval, dtype: DType) -> Interval {
    let at = |y: f64, x: f64| twice(Interval::point(y.atan2(x)), Binary::Atan2.error(), dtype);
    if ordinate.holds(0.0) && abscissa.lo <= 0.0 {
        return Interval::between(-PI, PI).widened(2, dtype);
    }
    ordinate.corners(abscissa, at)
}

/// The polygamma function of positive numbers, for one order of 2 or more: increasing for even orders, and decreasing
/// for odd ones.
fn polygamma(x: Interval, order: Interval, dtype: DType) -> Interval {
    let n = order.lo.round();
    // For larger orders, the kernel computes exponentials of sums, whose error is not bounded here.
    let one = (2.0..=170.0).contains(&n) && n - order.lo <= 0.25 && order.hi - n <= 0.25;
    if !one || x.lo <= 0.0 || x.nan {
        return ANYTHING;
    }
    let at = |x: f64| Interval::point(Binary::Polygamma.apply(x, n)).widened(40 + 4 * n as u32, dtype);
    at(x.lo).hull(at(x.hi))
}

/// `x / (x^2 + y^2)`: odd in `x`; for positive `x` decreasing in `|y|`, increasing in `x` up to `|y|`, and decreasing
/// from there on.
fn recip_real(x: Interval, y: Interval, dtype: DType) -> Interval {
    if (x.holds(0.0) && y.holds(0.0)) || x.has_infinity() || y.has_infinity() {
        return ANYTHING;
    }
    let at = |x: f64, y: f64| twice(Interval::point(Binary::RecipReal.apply(x, y)), Binary::RecipReal.error(), dtype);
    let [near, far] = y.magnitudes();
    let right = |lo: f64, hi: f64| {
        let most = at(hi.min(near.max(lo)), near);
        Interval { hi: most.hi, ..at(lo, far).hull(at(hi, far)) }
    };
    let parts = [
        (x.hi >= 0.0).then(|| right(x.lo.max(0.0), x.hi)),
        (x.lo < 0.0).then(|| right((-x.hi).max(0.0), -x.lo).negated()),
    ];
    parts.into_iter().flatten().reduce(Interval::hull).unwrap_or(ANYTHING)
}
