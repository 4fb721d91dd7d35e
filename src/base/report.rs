//! Reports: the known array behind a value, and the operation that made it.
//!
//! Law: reports change no value.

use super::BaseTensor;
use crate::array::Array;
use crate::source::Site;

/// Facts about the values of an interpreter, for reports and for the host language; by default none.
pub trait Report: Sized {
    /// The array behind this value, if it is known: `None` for a value that depends on an input while a program is
    /// traced. The host language looks at values and decides by this method.
    fn peek(&self) -> Option<Array> {
        None
    }

    /// The operation that made this value, if the interpreter, or one below it, reports on operations.
    fn site(&self) -> Site {
        Site::UNKNOWN
    }

    /// Attributes the operations that follow to the derivative of the operation at this site, or to none if the site is
    /// [`Site::UNKNOWN`]. Returns the site that was set before. An interpreter over `T` passes the site on to `T`.
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
