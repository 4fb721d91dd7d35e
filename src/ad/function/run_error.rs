//! [`RunError`]: the reasons why a function does not run on its arguments.

use thiserror::Error;

use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::escape;
use crate::ops::FailedCheck;
use crate::shape::Show;
use crate::tree::Difference;

/// The reason why a staged function did not run.
///
/// ```
/// use polygrad::{Function, RunError, Tensor, tensor};
/// let f = Function::stage(|x: &Tensor<_, 1>| x.sum(), &tensor([1.0, 2.0]));
/// assert!(matches!(f.run(&tensor([1.0, 2.0, 3.0])), Err(RunError::Input { .. })));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// An input has a different shape or element type than in the trace.
    #[error(
        "run: input {} was traced as {} {}, but it is {} {}; stage the function again for this shape",
        escape::quoted(name), .needed.1, Show(&.needed.0), .given.1, Show(&.given.0)
    )]
    Input {
        /// The name of the input.
        name: String,
        /// Shape and element type in the trace.
        needed: (Vec<usize>, DType),
        /// Shape and element type given.
        given: (Vec<usize>, DType),
    },
    /// The axes of a name have several sizes: see [`SizedFunction`](crate::SizedFunction).
    #[error(
        "run: the axes named {} must have one size, but it is {} in {} and {} in {}; pass arguments of one size",
        escape::quoted(name), .first.1, escape::quoted(&.first.0), .other.1, escape::quoted(&.other.0)
    )]
    Sizes {
        /// The name of the size.
        name: String,
        /// An input, and the size of its axis.
        first: (String, usize),
        /// Another input, and the size of its axis.
        other: (String, usize),
    },
    /// No program exists for these sizes: see [`SizedFunction`](crate::SizedFunction).
    #[error("{reason}")]
    NoProgram {
        /// The reason in words.
        reason: String,
    },
    /// A plain field has a different value than in the trace, which may have branched on it.
    #[error(
        "run: the field {} was traced as {needed}, but it is {given}; stage the function again for this value",
        escape::quoted(name)
    )]
    Field {
        /// The path to the field.
        name: String,
        /// The value in the trace, as text.
        needed: String,
        /// The given value, as text.
        given: String,
    },
    /// The structure of a tree differs from that in the trace.
    #[error(
        "run: {} was traced with {needed}, but it has {given}; stage the function again for this structure",
        escape::quoted(name)
    )]
    Structure {
        /// The path to the part that differs.
        name: String,
        /// The structure of this part in the trace, as text.
        needed: String,
        /// The given structure, as text.
        given: String,
    },
    /// Integers or masks in the data differ from those in the trace, which are constants of the program: see
    /// [`sparse_jacobian_with`](crate::sparse_jacobian_with).
    #[error(
        "run: {} was traced as {needed}, but it is {given}; record the function again for these integers and masks, \
         which are a part of it",
        escape::quoted(name)
    )]
    Fixed {
        /// The path to the data, and the index of the first element that differs.
        name: String,
        /// This element in the trace, as text.
        needed: String,
        /// This element as given, as text.
        given: String,
    },
    /// A check of the program did not hold: see [`Tensor::check`](crate::Tensor::check).
    #[error("{0}")]
    Check(Box<FailedCheck>),
}

debug_by_display!(RunError);

impl From<Box<FailedCheck>> for RunError {
    fn from(failed: Box<FailedCheck>) -> RunError {
        RunError::Check(failed)
    }
}

impl From<Difference> for RunError {
    fn from(difference: Difference) -> RunError {
        match difference {
            Difference::Leaf { at: name, needed, given } => RunError::Input { name, needed, given },
            Difference::Plain { at: name, needed, given } => RunError::Field { name, needed, given },
            Difference::Structure { at: name, needed, given } => RunError::Structure { name, needed, given },
        }
    }
}
