//! Rewriting: the local rules that every operation of a program passes when it is made.
//!
//! Law: a rule states an equation between operations, and the result is nowhere dearer. [`Builder`] asks
//! [`rules`](fn@rules) for something simpler, and keeps in [`facts`] what is known of integers and masks; the passes of
//! [`crate::passes`] apply the same table again when the uses of a value are known. This room names programs as data
//! ([`crate::program`]) and operations; it names no pass and no interpreter.

pub(crate) mod facts;
mod indexing;
pub(crate) mod rules;

pub(crate) use indexing::piece;
pub use rules::{Rule, rules};

use crate::program::{Builder, Constant, NodeId, Op};
