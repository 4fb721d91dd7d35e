//! Operation counter: zeros and additions of (co)tangents that linear functions make, pairs included.
//!
//! Efficient CHAD is a claim about these numbers: `n` lets cost a multiple of `n` of them, not of its square.

use super::value::Val;
use crate::base::BaseTensor;
use crate::interpreters::scope;

/// What linear functions did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Zeros made.
    pub zeros: usize,
    /// Additions.
    pub additions: usize,
}

impl Tally {
    /// Both.
    pub fn total(&self) -> usize {
        self.zeros + self.additions
    }
}

/// The result of `f`, and the work of the linear functions over `T` that ran.
pub fn tallied<T: BaseTensor, R>(f: impl FnOnce() -> R) -> (R, Tally) {
    scope::observed::<Val<T>, Tally, R>(f)
}

pub(super) fn zero<T: BaseTensor>() {
    scope::observer::<Val<T>, Tally, ()>(|tally| tally.zeros += 1);
}

pub(super) fn addition<T: BaseTensor>() {
    scope::observer::<Val<T>, Tally, ()>(|tally| tally.additions += 1);
}
