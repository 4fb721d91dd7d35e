//! Whether a program multiplies an infinity with a sum.
//!
//! A contraction that sums over an axis which one of its factors alone has may sum that factor first, so `inf (b + c)` is
//! computed in place of `inf b + inf c`: one is NaN where `b` and `c` differ in sign or one is zero, and the other need not
//! be. The rules of a recorded program do that, as the README says. So where an infinity is such a factor, and only there, a
//! NaN of the program as it is written may be a number in another pipeline.

use std::cell::Cell;

use polygrad::ops::{Contract, View};
use polygrad::{Array, BaseTensor};

use crate::pipelines::floats;

thread_local! {
    /// Whether somebody looks, and whether such a factor was seen.
    static SEEN: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether a view looks at the same element all along an axis of its iteration space.
fn ignores(view: &View, axis: usize) -> bool {
    (0..view.source().len()).all(|row| view.row(row)[axis] == 0)
}

/// Looks at the factors of a contraction, if somebody wants to know.
pub(crate) fn note<T: BaseTensor>(op: &Contract, a: &T, b: &T) {
    if SEEN.get() != Some(false) {
        return;
    }
    let infinite = |x: &T| x.peek().is_some_and(|x| floats(&x).iter().any(|x| x.is_infinite()));
    let summed = |factor: &View| {
        let shape = factor.shape();
        (0..shape.len()).any(|axis| shape[axis] > 1 && ignores(&op.out, axis) && ignores(factor, axis))
    };
    if (summed(&op.a) && infinite(a)) || (summed(&op.b) && infinite(b)) {
        SEEN.set(Some(true));
    }
}

/// Whether `run` multiplies an infinity with a sum.
pub(crate) fn multiply_sums(run: impl FnOnce() -> Vec<Array>) -> bool {
    SEEN.set(Some(false));
    let _ = run();
    SEEN.take() == Some(true)
}

#[test]
fn an_infinite_factor_of_a_sum_is_seen() {
    let op = Contract::axes(&[2, 3], &[0], &[0, 1], &[0]);
    let (finite, b) = (Array::full(&[2], 1.0), Array::full(&[2, 3], 1.0));
    let infinite = |shape: &[usize]| Array::full(shape, f64::INFINITY);
    let seen = |a: &Array, b: &Array| {
        multiply_sums(|| {
            note(&op, a, b);
            Vec::new()
        })
    };
    assert!(seen(&infinite(&[2]), &b));
    // The other factor has the axis that is summed.
    assert!(!seen(&finite, &infinite(&[2, 3])) && !seen(&finite, &b));
}
