//! Places in the source text of programs.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&Location<'_>> for SourceLine {
    fn from(at: &Location<'_>) -> SourceLine {
        SourceLine { file: at.file().to_string(), line: at.line(), column: at.column() }
    }
}

/// `src/model.rs:12:9`.
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// The number of an operation of a program, by which an interpreter that reports on operations knows it.
///
/// The other interpreters pass sites on: the derivative of an operation runs long after the operation, and says with
/// [`attribute`](crate::base::Report::attribute) whose derivative it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    pub(crate) number: u32,
    /// Where the operation was written, if the interpreter records that.
    pub(crate) place: Place,
}

impl Site {
    /// No known operation.
    pub const UNKNOWN: Site = Site { number: 0, place: None };
}

/// Where an operation of a recorded program was written, if that is known. No part of what a program is.
pub(crate) type Place = Option<&'static Location<'static>>;

thread_local! {
    /// Where the operations that are recorded now were written, if the caller is not that place: the operation of a
    /// program that is interpreted, or the one whose derivative runs.
    static PLACE: Cell<Place> = const { Cell::new(None) };
}

/// The operations that are recorded from now on were written here; returns what was said before.
pub(crate) fn placed(to: Place) -> Place {
    PLACE.replace(to)
}

/// Says at its end where operations are written.
pub(crate) struct Restored(pub(crate) Place);

impl Drop for Restored {
    fn drop(&mut self) {
        placed(self.0);
    }
}

/// The place of an operation that this caller records.
pub(crate) fn place_of(caller: &'static Location<'static>) -> Place {
    PLACE.get().or_else(written).or_else(|| outside(caller).then_some(caller))
}

/// Whether a place is in the user's source, and neither here nor in the standard library.
fn outside(at: &Location<'_>) -> bool {
    let root = file!().strip_suffix("src/source.rs").unwrap_or_default();
    // All modules are reached through `src/`.
    let own = at.file().strip_prefix(root).is_some_and(|file| file.starts_with("src/"));
    !own && !at.file().starts_with("/rustc/")
}

thread_local! {
    /// Where the running operation of a program of functions was written.
    static WRITTEN: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Restores the place of the operation around one, however that ends.
struct Leave(Option<&'static Location<'static>>);

impl Drop for Leave {
    fn drop(&mut self) {
        WRITTEN.set(self.0);
    }
}

/// Runs an operation that was written elsewhere: its mistakes name that place.
pub(crate) fn written_at<R>(at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    let _leave = Leave(WRITTEN.replace(Some(at)));
    f()
}

/// Where the running operation was written, if it runs later.
pub(crate) fn written() -> Option<&'static Location<'static>> {
    WRITTEN.get()
}

/// Panics with a message, at the caller's line; or with the place of the operation, if that runs later than it was
/// written.
#[track_caller]
#[cold]
pub(crate) fn mistake(message: &str) -> ! {
    match WRITTEN.get() {
        Some(at) => panic!("{message} (called at {at})"),
        None => panic!("{message}"),
    }
}
