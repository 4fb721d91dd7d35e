//! Rewriting: the local rules that are applied to every operation of a program when the operation is made.
//!
//! Law: a rule states an equation between operations, and its result is never more expensive. [`Builder`] asks
//! [`rules`](fn@rules) for something simpler, and keeps known facts about integers and masks in `facts`. The passes
//! of [`crate::passes`] apply the same table again once the uses of each value are known. This room names programs as
//! data ([`crate::program`]) and operations; it names no pass and no interpreter.

pub(crate) mod facts;
mod indexing;
mod options;
pub(crate) mod products;
pub(crate) mod rules;
pub(crate) mod signs;

pub(crate) use indexing::piece;
pub use options::Options;
pub use rules::{Rule, rules};

use crate::program::{Builder, Constant, NodeId, Op, OpClass, Single};
