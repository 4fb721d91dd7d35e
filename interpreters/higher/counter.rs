//! Operation counter: the zeros and additions of (co)tangents that linear functions compute, those of pairs included.
//!
//! Efficient CHAD makes a claim about these numbers: for `n` lets they grow with `n`, not with its square.

use super::Tower;
use super::value::Val;
use crate::base::BaseTensor;
use crate::interpreters::scope;

/// The operations of linear functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of zeros.
    pub zeros: usize,
    /// The number of additions.
    pub additions: usize,
}

impl Tally {
    /// The number of zeros and additions.
    pub fn total(&self) -> usize {
        self.zeros + self.additions
    }
}

/// The result of `f`, and the operations of the linear functions over `T` that ran.
pub fn tallied<T: BaseTensor, R>(f: impl FnOnce() -> R) -> (R, Tally) {
    scope::observed::<Val<Tower<T>>, Tally, R>(f)
}

pub(super) fn zero<T: BaseTensor>() {
    scope::observer::<Val<T>, Tally, ()>(|tally| tally.zeros += 1);
}

pub(super) fn addition<T: BaseTensor>() {
    scope::observer::<Val<T>, Tally, ()>(|tally| tally.additions += 1);
}
