//! `Bounded`: interpreters whose values are bounds of numbers, for interpreters that stand on these.
//!
//! Law: the bounds contain the value in exact arithmetic and the computed one, for all inputs within theirs.

use crate::base::BaseTensor;
use crate::dtype::DType;

/// The bounds of an element; masks are 0 and 1. Of integers they may be rounded outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The lower bound of the numbers.
    pub lower: f64,
    /// The upper bound of the numbers.
    pub upper: f64,
    /// Whether the element may also be NaN.
    pub nan: bool,
}

impl Span {
    /// The largest absolute value; infinite if the element may be NaN.
    pub(super) fn magnitude(self) -> f64 {
        if self.nan { f64::INFINITY } else { self.lower.abs().max(self.upper.abs()) }
    }

    /// An upper bound of the difference of two numbers within the bounds: 0 if there is one number, an infinity
    /// included; infinite if the element may be NaN.
    pub(super) fn width(self) -> f64 {
        if self.nan || self.lower == self.upper {
            return if self.nan { f64::INFINITY } else { 0.0 };
        }
        let width = self.upper - self.lower;
        // The rounding error of the difference, exactly.
        let of_lower = width - self.upper;
        let rest = (self.upper - (width - of_lower)) - (self.lower + of_lower);
        if rest > 0.0 { width.next_up() } else { width }
    }

    /// Whether the element may be infinite.
    pub(crate) fn has_infinity(self) -> bool {
        self.lower == f64::NEG_INFINITY || self.upper == f64::INFINITY
    }
}

/// An interpreter whose values are bounds.
pub trait Bounded: BaseTensor {
    /// The bounds of each element, in order.
    fn spans(&self) -> Vec<Span>;

    /// Floats with bounds that are as much wider, at both ends, as said for each element.
    #[must_use]
    fn widened(&self, by: &[f64]) -> Self;

    /// Values of which nothing is known.
    fn unknown(shape: &[usize], dtype: DType) -> Self;
}
