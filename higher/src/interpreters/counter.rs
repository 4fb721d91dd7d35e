//! Operation counter: the zeros and additions of (co)tangents that linear functions compute, those of pairs included.
//!
//! Efficient CHAD makes a claim about these numbers: for `n` lets they grow with `n`, not with its square.

use polygrad::base::BaseTensor;
use polygrad::interpreters::scope;

use super::Tower;
use super::value::Val;

/// The operations of linear functions.
///
/// Example: [`tallied`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of zeros.
    pub zeros: usize,
    /// The number of additions.
    pub additions: usize,
}

impl Tally {
    /// The number of zeros and additions.
    ///
    /// Example: [`tallied`].
    pub fn total(&self) -> usize {
        self.zeros + self.additions
    }
}

/// The result of `f`, and the operations of the linear functions over `T` that ran.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{CurryClosures, Mode, Tally, tallied};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// let program = square::<CurryClosures<Array>>();
/// let pull = || higher::pullback_by(program, &tensor(3.0), &tensor(1.0), Mode::Cells);
/// let (gradient, tally): (_, Tally) = tallied::<Array, _>(pull);
/// // The cotangents of both uses of `x` are added.
/// assert_eq!((gradient, tally.additions, tally.total()), (tensor(6.0), 1, tally.zeros + 1));
/// ```
pub fn tallied<T: BaseTensor, R>(f: impl FnOnce() -> R) -> (R, Tally) {
    scope::observed::<Val<Tower<T>>, Tally, R>(f)
}

pub(super) fn zero<T: BaseTensor>() {
    scope::observer::<Val<T>, Tally, ()>(|tally| tally.zeros += 1);
}

pub(super) fn addition<T: BaseTensor>() {
    scope::observer::<Val<T>, Tally, ()>(|tally| tally.additions += 1);
}
