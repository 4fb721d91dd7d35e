//! The intermediate representation, which the stages share: steps, buffers, fusion groups, accesses, thresholds.

pub(crate) mod access;
pub(crate) mod elementwise;
pub(crate) mod fusion;
pub(crate) mod limits;
pub(crate) mod step;
