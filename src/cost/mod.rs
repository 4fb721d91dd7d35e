//! The one model of cost: what was measured, and what operations, steps and programs cost by it.
//!
//! | module | what |
//! |---|---|
//! | [`machine`] | [`MACHINE`]: each measured constant, with its unit and a command |
//! | [`operation`] | [`Cost`]: the work and the bytes of an operation, from shapes and element types |
//! | [`step`] | the time of an elementwise operation of a step, from the columns of its row |
//! | [`program`] | [`Estimate`]: the time of a compiled run, from the costs of its operations |
//!
//! Law: a constant of time, or of the size of a cache, stands in [`machine`] alone; `tests/language/constants.rs` looks
//! for others.

mod machine;
pub(crate) mod operation;
mod program;
pub(crate) mod step;

pub(crate) use machine::MACHINE;
pub use operation::Cost;
pub(crate) use program::{Estimate, Work, tenths};
