//! The cost model: measured constants of the machine, and the costs of operations, steps and programs.
//!
//! | module | contents |
//! |---|---|
//! | [`machine`] | [`MACHINE`]: each measured constant, with its unit and a command |
//! | [`operation`] | [`Cost`]: the work and the bytes of an operation, from shapes and element types |
//! | [`step`] | the time of an elementwise operation of a step, from the columns of its row |
//! | [`program`] | [`Estimate`]: the time of a compiled run, from the costs of its operations |
//!
//! Law: constants of time, and of the sizes of caches, are in [`machine`] alone; `tests/language/constants.rs` searches
//! for others.

mod machine;
pub(crate) mod operation;
mod program;
pub(crate) mod step;

pub(crate) use machine::MACHINE;
pub use operation::Cost;
pub(crate) use program::{Estimate, Work, tenths};
