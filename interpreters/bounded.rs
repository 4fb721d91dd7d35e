//! `Bounded`: interpreters whose values are bounds of numbers, for interpreters that build on these.
//!
//! Law: the bounds contain the value in exact arithmetic and the computed one, for all inputs within theirs.

use crate::base::BaseTensor;
use crate::dtype::DType;

/// The bounds of an element; masks are 0 and 1. Of integers they may be rounded outwards.
///
/// Example: [`Bounded`].
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
///
/// ```
/// use polygrad::interpreters::bounded::{Bounded, Span};
/// use polygrad::{Array, BaseTensor, DType, Enclosure, ops::Unary};
/// fn can_be_negative<T: Bounded>(x: &T) -> bool {
///     x.spans().iter().any(|span| span.lower < 0.0)
/// }
/// let x = Enclosure::between(&Array::scalar(-1.0), &Array::scalar(2.0))?;
/// assert_eq!(x.spans(), [Span { lower: -1.0, upper: 2.0, nan: false }]);
/// assert!(can_be_negative(&x) && !can_be_negative(&x.unary(Unary::Square)));
/// let wide = x.widened(&[0.5]).spans()[0];
/// assert!(wide.lower <= -1.5 && wide.lower > -1.501 && wide.upper >= 2.5 && wide.upper < 2.501);
/// let any = Enclosure::unknown(&[1], DType::F64).spans()[0];
/// assert!(any.nan && any.lower == f64::NEG_INFINITY && any.upper == f64::INFINITY);
/// # Ok::<(), String>(())
/// ```
pub trait Bounded: BaseTensor {
    /// The bounds of each element, in order.
    ///
    /// Example: [`Bounded`].
    fn spans(&self) -> Vec<Span>;

    /// Floats with bounds that are as much wider, at both ends, as said for each element.
    ///
    /// Example: [`Bounded`].
    #[must_use]
    fn widened(&self, by: &[f64]) -> Self;

    /// Values that nothing is known about.
    ///
    /// Example: [`Bounded`].
    fn unknown(shape: &[usize], dtype: DType) -> Self;
}
