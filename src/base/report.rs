//! Reports: the known array behind a value, and the operation that made it.
//!
//! Law: what is reported changes no value.

use super::BaseTensor;
use crate::array::Array;
use crate::source::Site;

/// What an interpreter says of its values, for reports and for the host language. By default nothing.
pub trait Report: Sized {
    /// The array behind this value, if it is known: `None` of what depends on an input while a program is being traced.
    /// Through it the host language looks at values and decides.
    fn peek(&self) -> Option<Array> {
        None
    }

    /// The operation that made this value, if the interpreter, or one below it, reports on operations.
    fn site(&self) -> Site {
        Site::UNKNOWN
    }

    /// Says that the operations that follow are part of the derivative of the operation at this site;
    /// [`Site::UNKNOWN`] says that they are not. Returns what was said before. An interpreter over `T` passes it on to
    /// `T`.
    fn attribute(_to: Site) -> Site {
        Site::UNKNOWN
    }
}

/// The result of `f`, whose operations are part of the derivative of the operation at a site.
pub(crate) fn attributed<T: BaseTensor, R>(site: Site, f: impl FnOnce() -> R) -> R {
    let before = T::attribute(site);
    let result = f();
    T::attribute(before);
    result
}
