//! Ranges of integers and of masks, and the operations without derivatives.
//!
//! A mask is a range of the integers 0 (false) and 1 (true). Integers wrap around on overflow: if a bound overflows,
//! the result is the range of all integers.

use super::Cell;
use super::interval::Interval;
use crate::dtype::DType;
use crate::ops::{Compare, FloatStep, IntBinary, IntUnary};

/// The integers from `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

/// All integers.
pub(super) const ALL: Range = Range { lo: i64::MIN, hi: i64::MAX };

impl Range {
    pub(super) fn point(x: i64) -> Range {
        Range { lo: x, hi: x }
    }

    /// A mask that may be true, may be false, or both.
    pub(super) fn mask(may_hold: bool, may_not: bool) -> Range {
        Range { lo: i64::from(!may_not), hi: i64::from(may_hold) }
    }

    pub(super) fn known(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The range between two bounds; all integers if a bound is out of range.
    fn between(lo: i128, hi: i128) -> Range {
        match (i64::try_from(lo), i64::try_from(hi)) {
            (Ok(lo), Ok(hi)) => Range { lo, hi },
            _ => ALL,
        }
    }

    fn corners(self, other: Range, f: impl Fn(i128, i128) -> i128) -> [i128; 2] {
        let [a, b, c, d] = [self.lo, self.hi, other.lo, other.hi].map(i128::from);
        let all = [f(a, c), f(a, d), f(b, c), f(b, d)];
        [all.into_iter().fold(all[0], i128::min), all.into_iter().fold(all[0], i128::max)]
    }

    /// The largest absolute value.
    fn size(self) -> i128 {
        i128::from(self.lo).abs().max(i128::from(self.hi).abs())
    }

    pub(super) fn unary(self, op: IntUnary) -> Range {
        let (lo, hi) = (i128::from(self.lo), i128::from(self.hi));
        match op {
            IntUnary::Neg => Range::between(-hi, -lo),
            IntUnary::Abs if lo <= 0 && hi >= 0 => Range::between(0, self.size()),
            IntUnary::Abs => Range::between(lo.abs().min(hi.abs()), self.size()),
            IntUnary::BitNot => Range { lo: !self.hi, hi: !self.lo },
        }
    }

    pub(super) fn binary(self, op: IntBinary, other: Range) -> Range {
        if let (Some(x), Some(y)) = (self.known(), other.known()) {
            return Range::point(op.apply(x, y));
        }
        // A number that is not negative has no bit above those of a larger one.
        let positive = self.lo >= 0 && other.lo >= 0;
        let zero = other.lo <= 0 && other.hi >= 0;
        let [lo, hi] = match op {
            IntBinary::Add => self.corners(other, |x, y| x + y),
            IntBinary::Sub => self.corners(other, |x, y| x - y),
            IntBinary::Mul => self.corners(other, |x, y| x * y),
            IntBinary::Min => self.corners(other, i128::min),
            IntBinary::Max => self.corners(other, i128::max),
            IntBinary::Quot if zero => [-self.size(), self.size()],
            IntBinary::Quot => self.corners(other, |x, y| x / y),
            IntBinary::Rem => {
                // The remainder has the sign of x, and is not larger than x, and smaller than y unless y is zero.
                let most = if zero { self.size() } else { self.size().min(other.size() - 1) };
                match other.known().filter(|y| *y != 0 && self.lo.wrapping_div(*y) == self.hi.wrapping_div(*y)) {
                    // All quotients are equal, so the remainders at the ends are the bounds.
                    Some(y) => [self.lo, self.hi].map(|x| x.wrapping_rem(y).into()),
                    None => [if self.lo < 0 { -most } else { 0 }, if self.hi > 0 { most } else { 0 }],
                }
            }
            IntBinary::BitAnd if positive => [0, self.hi.min(other.hi).into()],
            IntBinary::BitAnd if self.lo >= 0 => [0, self.hi.into()],
            IntBinary::BitAnd if other.lo >= 0 => [0, other.hi.into()],
            IntBinary::BitOr | IntBinary::BitXor if positive => {
                [0, (u64::MAX >> self.hi.max(other.hi).leading_zeros()).into()]
            }
            IntBinary::Shr | IntBinary::ShrSigned => return self.shifted(op, other),
            IntBinary::BitAnd | IntBinary::BitOr | IntBinary::BitXor | IntBinary::Shl => return ALL,
            IntBinary::Threefry => return ALL,
        };
        Range::between(lo, hi)
    }

    /// The bits moved down by a known number of places.
    fn shifted(self, op: IntBinary, places: Range) -> Range {
        let Some(places) = places.known() else { return ALL };
        // Zeros come from above: integers of both signs give all numbers with the remaining bits.
        if op == IntBinary::Shr && places != 0 && self.lo < 0 && self.hi >= 0 {
            return Range { lo: 0, hi: op.apply(-1, places) };
        }
        Range { lo: op.apply(self.lo, places), hi: op.apply(self.hi, places) }
    }

    /// The integers as floats.
    pub(super) fn to_float(self, dtype: DType) -> Interval {
        let exact = |x: i64| x as f64 as i128 == i128::from(x);
        let [lo, hi] = [self.lo as f64, self.hi as f64];
        let lo = if exact(self.lo) { lo } else { lo.next_down() };
        let hi = if exact(self.hi) { hi } else { hi.next_up() };
        Interval::between(lo, hi).widened(0, dtype)
    }
}

impl Cell for Range {
    const ZERO: Range = Range { lo: 0, hi: 0 };
    type Sum = [i128; 2];
    type End = i64;

    fn bounds(self) -> LineBounds<i64> {
        ([self.lo, self.hi], false)
    }

    fn hull(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn times(self, other: Range, _: DType) -> Range {
        self.binary(IntBinary::Mul, other)
    }

    fn squared(self, dtype: DType) -> Range {
        let size = self.unary(IntUnary::Abs);
        size.times(size, dtype)
    }

    fn add(sum: &mut [i128; 2], x: Range) {
        *sum = [sum[0] + i128::from(x.lo), sum[1] + i128::from(x.hi)];
    }

    fn total([lo, hi]: &[i128; 2], _: DType) -> Range {
        if lo == hi { Range::point(*lo as i64) } else { Range::between(*lo, *hi) }
    }
}

/// The mask of a comparison: of two values, or of a value with itself.
pub(super) fn compare<X: PartialOrd>(op: Compare, (x, a): LineBounds<X>, (y, b): LineBounds<X>, same: bool) -> Range {
    let nan = a || b;
    let [may_be_less, may_be_more] = [x[0] < y[1], x[1] > y[0]].map(|may| may && !same);
    let may_be_equal = same || (x[0] <= y[1] && y[0] <= x[1]);
    // The result of the comparison for numbers that are less, equal, greater, and for NaN.
    let [less, equal, more, unordered] = match op {
        Compare::Eq => [false, true, false, false],
        Compare::Ne => [true, false, true, true],
        Compare::Lt => [true, false, false, false],
        Compare::Le => [true, true, false, false],
        Compare::Gt => [false, false, true, false],
        Compare::Ge => [false, true, true, false],
    };
    let cases = [(may_be_less, less), (may_be_equal, equal), (may_be_more, more), (nan, unordered)];
    let some = |wanted: bool| cases.iter().any(|(may, says)| *may && *says == wanted);
    Range::mask(some(true), some(false))
}

/// A step function of a float: all are monotone, and exact.
pub(super) fn step(op: FloatStep, x: Interval) -> Interval {
    Interval { lo: op.apply(x.lo), hi: op.apply(x.hi), nan: x.nan }
}

/// Truncation towards zero; NaN becomes 0.
pub(super) fn to_int(x: Interval) -> Range {
    let numbers = Range { lo: x.lo as i64, hi: x.hi as i64 };
    if x.nan { numbers.hull(Range::ZERO) } else { numbers }
}

/// Bounds of an element of a line, and whether it may be NaN.
pub(super) type LineBounds<X> = ([X; 2], bool);

/// Whether an element is certainly not NaN and certainly before another one in sorted order.
fn surely_before<X: PartialOrd>(
    (x, nan): &LineBounds<X>,
    (y, _): &LineBounds<X>,
    earlier: bool,
    descending: bool,
) -> bool {
    let (mine, others) = if descending { (&y[1], &x[0]) } else { (&x[1], &y[0]) };
    !nan && (mine < others || (earlier && mine == others))
}

/// A search along a line: for the extremum, or the sorted order.
#[derive(Clone, Copy)]
pub(super) enum Search {
    /// The position of the extremum, see [`Discrete::ArgMax`](crate::ops::Discrete::ArgMax).
    Extremum { largest: bool },
    /// The position of the extremum of each prefix, see [`Discrete::PrefixArg`](crate::ops::Discrete::PrefixArg).
    Prefix { largest: bool, reverse: bool },
    /// The positions in sorted order.
    Order { descending: bool },
}

impl Search {
    /// The ranges of the positions that may be found.
    pub(super) fn of<X: PartialOrd + Copy>(self, line: &[LineBounds<X>]) -> Vec<Range> {
        match self {
            Search::Extremum { largest } => vec![extremum(line, largest)],
            Search::Prefix { largest, reverse: false } => {
                (0..line.len()).map(|k| extremum(&line[..=k], largest)).collect()
            }
            Search::Prefix { largest, reverse: true } => {
                let last = line.len() as i64 - 1;
                let turned: Vec<_> = line.iter().rev().copied().collect();
                let found = (0..line.len()).rev().map(|k| extremum(&turned[..=k], largest));
                found.map(|at| Range { lo: last - at.hi, hi: last - at.lo }).collect()
            }
            Search::Order { descending } => sorted(line, descending),
        }
    }
}

/// The range of the position of the extremum; an element that may be NaN may be the extremum.
fn extremum<X: PartialOrd>(line: &[LineBounds<X>], largest: bool) -> Range {
    let beaten = |k: usize| (0..line.len()).any(|j| j != k && surely_before(&line[j], &line[k], j < k, largest));
    let places = || (0..line.len()).filter(|k| line[*k].1 || !beaten(*k));
    let [first, last] = [places().next(), places().next_back()].map(|k| k.unwrap_or(0) as i64);
    Range { lo: first, hi: last }
}

/// The range of each element's position in sorted order, from the numbers of elements that are certainly before and
/// after it.
fn sorted<X: PartialOrd>(line: &[LineBounds<X>], descending: bool) -> Vec<Range> {
    let n = line.len();
    let before = |j: usize, k: usize| j != k && surely_before(&line[j], &line[k], j < k, descending);
    let place = |k: usize| {
        let [earlier, later] = [(0..n).filter(|j| before(*j, k)).count(), (0..n).filter(|j| before(k, *j)).count()];
        earlier..n - later
    };
    let places: Vec<std::ops::Range<usize>> = (0..n).map(place).collect();
    let at = |m: usize| {
        let may = (0..n).filter(|k| places[*k].contains(&m)).map(|k| Range::point(k as i64));
        may.reduce(Range::hull).unwrap_or(Range { lo: 0, hi: n as i64 - 1 })
    };
    (0..n).map(at).collect()
}
