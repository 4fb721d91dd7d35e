//! Places: the source lines at which the operations of programs were written.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::escape;

/// A place in a source file: line and column.
///
/// ```
/// use polygrad::SourceLine;
/// let line = SourceLine::from(std::panic::Location::caller());
/// assert_eq!(line.to_string(), format!("{}:{}:{}", line.file, line.line, line.column));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The path of the file, as it was given to the compiler.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&WrittenAt> for SourceLine {
    fn from(at: &WrittenAt) -> SourceLine {
        match at {
            WrittenAt::Code(at) => (*at).into(),
            WrittenAt::Text(at) => SourceLine::clone(at),
        }
    }
}

impl From<&Location<'_>> for SourceLine {
    fn from(at: &Location<'_>) -> SourceLine {
        SourceLine { file: at.file().to_string(), line: at.line(), column: at.column() }
    }
}

/// `src/model.rs:12:9`.
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", escape::line(&self.file), self.line, self.column)
    }
}

/// The number of an operation of a program, by which an interpreter that reports on operations identifies the
/// operation.
///
/// Other interpreters pass sites on: the derivative of an operation runs long after the operation, and names the
/// operation with [`attribute`](crate::base::Report::attribute).
///
/// ```
/// use polygrad::base::Report;
/// use polygrad::ops::Unary;
/// use polygrad::program::Term;
/// use polygrad::source::Site;
/// use polygrad::{Array, BaseTensor, DType};
/// let x = Term::variable(&[], DType::F64);
/// let [a, b]: [Site; 2] = [Unary::Sin, Unary::Exp].map(|op| x.unary(op).site());
/// assert!(a != b && a != Site::UNKNOWN);
/// // An array records no operations.
/// assert_eq!(Array::scalar(1.0).site(), Site::UNKNOWN);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    pub(crate) number: u32,
    /// Where the operation was written, if the interpreter records that.
    pub(crate) place: Place,
}

impl Site {
    /// No known operation.
    ///
    /// Example: [`Site`].
    pub const UNKNOWN: Site = Site { number: 0, place: Place::UNKNOWN };
}

/// Where an operation was written: a line of Rust, or one of a text that is imported.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WrittenAt {
    Code(&'static Location<'static>),
    /// Shared by the operations of this line.
    #[cfg_attr(not(feature = "import"), allow(dead_code, reason = "the import alone makes it"))]
    Text(Arc<SourceLine>),
}

impl WrittenAt {
    pub(crate) fn file(&self) -> &str {
        match self {
            WrittenAt::Code(at) => at.file(),
            WrittenAt::Text(at) => &at.file,
        }
    }

    pub(crate) fn line(&self) -> u32 {
        match self {
            WrittenAt::Code(at) => at.line(),
            WrittenAt::Text(at) => at.line,
        }
    }

    pub(crate) fn column(&self) -> u32 {
        match self {
            WrittenAt::Code(at) => at.column(),
            WrittenAt::Text(at) => at.column,
        }
    }
}

/// Where an operation of a recorded program comes from, as far as that is known. Programs that differ only in places are
/// equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// Where the operation was written.
    pub(crate) at: Option<WrittenAt>,
    /// The operation to whose derivative, of any order, this operation belongs.
    pub(crate) derivative_of: Option<&'static str>,
}

impl Place {
    pub(crate) const UNKNOWN: Place = Place { at: None, derivative_of: None };

    /// What is known of this place, otherwise of the other.
    pub(crate) fn or(self, other: &Place) -> Place {
        let at = self.at.or_else(|| other.at.clone());
        Place { at, derivative_of: self.derivative_of.or(other.derivative_of) }
    }
}

thread_local! {
    /// The place of the operations that are being recorded, if it is not that of the caller: the place of the operation
    /// that is being interpreted, or of the operation whose derivative runs.
    static PLACE: RefCell<Place> = const { RefCell::new(Place::UNKNOWN) };
}

/// Sets the place of the operations that are recorded from now on; returns the place that was set before.
pub(crate) fn placed(to: Place) -> Place {
    PLACE.replace(to)
}

/// A guard that sets the place of recorded operations when it is dropped.
pub(crate) struct Restored(pub(crate) Place);

impl Drop for Restored {
    fn drop(&mut self) {
        placed(std::mem::take(&mut self.0));
    }
}

/// The place of an operation that is recorded by a caller at this location.
pub(crate) fn place_of(caller: &'static Location<'static>) -> Place {
    let place = PLACE.with_borrow(Place::clone);
    let code = || written().or_else(|| outside(caller).then_some(caller)).map(WrittenAt::Code);
    Place { at: place.at.or_else(code), ..place }
}

/// Whether a place is in the user's source, and neither in the library nor in the standard library.
fn outside(at: &Location<'_>) -> bool {
    !is_library(at) && !at.file().starts_with("/rustc/")
}

/// Whether a place is in the sources of this library: of this crate, or of a crate that extends it. An operation there
/// is part of a larger one.
pub(crate) fn is_library(at: &Location<'_>) -> bool {
    in_library(file!().strip_suffix("src/source.rs").unwrap_or_default(), at.file())
}

/// The other crates whose operations are parts of larger ones: folders of the repository, and packages with this name
/// after that of this crate.
const BESIDE: [&str; 1] = ["higher"];

/// Whether a file is in the sources of the library, whose crate has this folder, which ends in `/` or is empty.
fn in_library(root: &str, file: &str) -> bool {
    // All modules are reached through `src/`.
    let in_sources = |file: &str| file.starts_with("src/");
    let in_folder = |name: &str| file.strip_prefix(root)?.strip_prefix(name)?.strip_prefix('/');
    // A package lies in the folder `polygrad-0.1.0` or `polygrad`; so does a crate next to it.
    let in_package = |name: &str| {
        let (above, version) = root.rsplit_once("polygrad")?;
        file.strip_prefix(above)?.strip_prefix("polygrad-")?.strip_prefix(name)?.strip_prefix(version)
    };
    let beside = |name: &&str| [in_folder(name), in_package(name)].into_iter().flatten().any(in_sources);
    file.strip_prefix(root).is_some_and(in_sources) || BESIDE.iter().any(beside)
}

thread_local! {
    /// The place at which the running operation was written, if operations run later than they are written.
    static WRITTEN: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Restores the place of the enclosing operation when an operation returns or panics.
struct Leave(Option<&'static Location<'static>>);

impl Drop for Leave {
    fn drop(&mut self) {
        WRITTEN.set(self.0);
    }
}

/// Runs an operation that was written at another place: panics on mistakes name this place.
pub(crate) fn written_at<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    let _leave = Leave(WRITTEN.replace(Some(at)));
    f()
}

/// The place at which the running operation was written, if it runs later than it was written.
pub(crate) fn written() -> Option<&'static Location<'static>> {
    WRITTEN.get()
}

/// Panics with a message, at the caller's line; or with the place of the operation, if that runs later than it was
/// written, or is an operation of a recorded program.
#[track_caller]
#[cold]
pub(crate) fn mistake(message: &str) -> ! {
    match WRITTEN.get().map(WrittenAt::Code).or_else(|| PLACE.with_borrow(|place| place.at.clone())) {
        Some(WrittenAt::Code(at)) => panic!("{message} (called at {at})"),
        Some(WrittenAt::Text(at)) => panic!("{message} (called at {at})"),
        None => panic!("{message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::in_library;

    #[test]
    fn lines_of_the_library_are_known_wherever_it_lies() {
        let roots = [
            ("", "higher/"),
            ("/home/me/polygrad/", "/home/me/polygrad/higher/"),
            ("/registry/polygrad-0.1.0/", "/registry/polygrad-higher-0.1.0/"),
            ("vendor/polygrad/", "vendor/polygrad-higher/"),
        ];
        for (root, beside) in roots {
            for file in [format!("{root}src/tensor/mod.rs"), format!("{beside}src/expr.rs")] {
                assert!(in_library(root, &file), "{root}: {file}");
            }
            for file in ["examples/tour.rs", "tests/higher/laws.rs", "higher/tests/laws.rs", "math/src/lib.rs"] {
                assert!(!in_library(root, &format!("{root}{file}")), "{root}: {file}");
            }
        }
        assert!(!in_library("/registry/polygrad-0.1.0/", "src/main.rs"));
        assert!(!in_library("/registry/polygrad-0.1.0/", "/registry/polygrad-higher-0.2.0/src/lib.rs"));
    }
}
