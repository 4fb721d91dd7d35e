//! Places in the source text of programs.

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
/// [`attribute`](crate::BaseTensor::attribute) whose derivative it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site(pub(crate) u32);

impl Site {
    /// No known operation.
    pub const UNKNOWN: Site = Site(0);
}
