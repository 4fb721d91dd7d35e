//! The one model of cost: what was measured, and what operations and programs cost by it.
//!
//! | module | what |
//! |---|---|
//! | [`machine`] | [`MACHINE`]: measured constants, each with its unit and a command |
//! | [`operation`] | [`Cost`]: the work and the bytes of an operation, from shapes and element types |
//! | [`program`] | [`Estimate`]: the time of a compiled run, from the costs of its operations |

mod machine;
pub(crate) mod operation;
mod program;

pub(crate) use machine::MACHINE;
pub use operation::Cost;
pub(crate) use program::{Estimate, Work};
