//! Reports: the known array behind a value, and the operation that made it.
//!
//! Law: reports change no value.

use super::BaseTensor;
use crate::array::Array;
use crate::source::Site;

/// Facts about the values of an interpreter, for reports and for the host language; by default none.
///
/// ```
/// use polygrad::base::Report;
/// use polygrad::{Shapes, Tensor, tensor};
/// /// Whether the numbers of a value are known here.
/// fn is_known<T: Report>(x: &T) -> bool {
///     x.peek().is_some()
/// }
/// assert!(is_known(tensor(1.0).raw()));
/// assert!(!is_known(Tensor::<Shapes, 0>::scalar(1.0).sin().raw()));
/// ```
pub trait Report: Sized {
    /// The array behind this value, if it is known: `None` for a value that depends on an input while a program is
    /// traced. The host language looks at values and decides by this method.
    ///
    /// Example: [`Report`].
    fn peek(&self) -> Option<Array> {
        None
    }

    /// The operation that made this value, if the interpreter, or one below it, reports on operations.
    ///
    /// Example: [`Report::attribute`].
    fn site(&self) -> Site {
        Site::UNKNOWN
    }

    /// Attributes the operations that follow to the derivative of the operation at this site, or to none if the site is
    /// [`Site::UNKNOWN`]. Returns the site that was set before. An interpreter over `T` passes the site on to `T`.
    ///
    /// ```
    /// use polygrad::base::Report;
    /// use polygrad::ops::Unary;
    /// use polygrad::program::Term;
    /// use polygrad::source::Site;
    /// use polygrad::{Array, BaseTensor, DType};
    /// let x = Term::variable(&[], DType::F64);
    /// let y = x.unary(Unary::Sin);
    /// // The cosine belongs to the derivative of the sine.
    /// let before = Term::attribute(y.site());
    /// let slope = x.unary(Unary::Cos);
    /// Term::attribute(before);
    /// assert_eq!(slope.site(), y.site());
    /// // An array does not know its operation.
    /// assert!(y.site() != Site::UNKNOWN && Array::scalar(2.0).site() == Site::UNKNOWN);
    /// ```
    fn attribute(_to: Site) -> Site {
        Site::UNKNOWN
    }
}

/// The result of `f`, whose operations are attributed to the derivative of the operation at a site.
pub(crate) fn attributed<T: BaseTensor, R>(site: Site, f: impl FnOnce() -> R) -> R {
    let before = T::attribute(site);
    let result = f();
    T::attribute(before);
    result
}
