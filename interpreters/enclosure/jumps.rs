//! Whether a program is proven continuous: what operations over a jump or a pole report while it runs.
//!
//! Law: if a program runs over a box and no operation reports a jump, the program is continuous on the box, wherever its
//! value is not NaN. So the mean value theorem holds for its bounds, and for those of its derivatives if these report
//! none, too. A comparison whose operands the box does not order is a jump: a derivative at a kink has one.

use std::cell::Cell;

thread_local! {
    static JUMPS: Cell<bool> = const { Cell::new(false) };
}

/// An operation whose bounds contain both sides of a jump.
pub(super) fn found() {
    JUMPS.set(true);
}

/// The result of a run, and whether no operation in it reported a jump.
///
/// ```
/// use polygrad::interpreters::enclosure::continuous;
/// use polygrad::{Array, Enclosure, Tensor};
/// let x = Tensor::<_, 0>::from_raw(Enclosure::between(&Array::scalar(0.5), &Array::scalar(1.5))?);
/// // The floor jumps at 1.
/// assert!(continuous(|| x.square()).1 && !continuous(|| x.floor()).1);
/// # Ok::<(), String>(())
/// ```
pub fn continuous<R>(run: impl FnOnce() -> R) -> (R, bool) {
    let before = JUMPS.replace(false);
    let result = run();
    let jumps = JUMPS.replace(before);
    (result, !jumps)
}
