//! The signs of zeros that an addition in place decides: `x + pad y` in the body of a loop is `x` where the view writes
//! nothing, which for an `x` of -0 is not the `x + 0` of an addition of arrays.
//!
//! The sign is kept if an operation of the body sees it, or `x` is never -0; where it is handed on to the results of the
//! body, either sign is right. The other one is computed: the recipe is run with views in bodies that give -0 where they
//! write nothing, as `x + -0` is `x`. A pipeline may have the one sign or the other, and no third answer.

use std::cell::Cell;

use polygrad::ops::{Binary, Compare, Discrete, Linear, View};
use polygrad::shape::size;
use polygrad::{Array, BaseTensor};

use crate::recipe::{Recipe, Step};

thread_local! {
    static MINUS: Cell<bool> = const { Cell::new(false) };
}

/// Runs something in which what views in bodies do not write is -0.
pub(crate) fn with_minus_zeros<R>(run: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MINUS.set(self.0);
        }
    }
    let _before = Before(MINUS.replace(true));
    run()
}

/// Whether a linear operation leaves places unwritten that an addition in place need not touch.
fn leaves_places(op: &Linear) -> bool {
    let Linear::Affine { from, into } = op else { return false };
    let all = size(into.shape()) == size(into.source()) && into.is_injective();
    !(all && from.is_total() && into.is_total())
}

/// Whether a body has such an operation.
pub(crate) fn are_in_bodies(recipe: &Recipe) -> bool {
    fn any(steps: &[Step], inside: bool) -> bool {
        steps.iter().any(|step| {
            if let Step::Loop(l) | Step::While(_, _, l) = step {
                return any(&l.body, true);
            }
            inside && matches!(step, Step::Linear(op, _) if leaves_places(op))
        })
    }
    any(&recipe.steps, false)
}

/// What a linear operation in a body gave, with -0 in the places that it does not write, if that is asked.
pub(crate) fn unwritten<T: BaseTensor>(op: &Linear, x: &T, y: T) -> T {
    if !MINUS.get() || !y.dtype().is_float() || !leaves_places(op) {
        return y;
    }
    let count = T::constant(Array::full_as(x.shape(), x.dtype(), 1.0)).linear(op);
    let constant = |c: f64| T::constant(Array::full_as(y.shape(), y.dtype(), c));
    let nowhere = T::discrete(&Discrete::Compare(Compare::Eq), &[&count, &constant(0.0)]);
    T::select(&nowhere, &constant(-0.0), &y)
}

/// The answer with each element that is the other right one in its place.
pub(crate) fn nearest(reference: &[Array], other: &[Array], found: &[Array]) -> Vec<Array> {
    let one = |((a, b), found): ((&Array, &Array), &Array)| {
        let is_other = Array::discrete(&Discrete::Compare(Compare::Eq), &[b, found]);
        Array::select(&is_other, b, a)
    };
    let alike = reference.len() == other.len() && other.iter().zip(found).all(|(a, b)| a.shape() == b.shape());
    if !alike || found.len() != other.len() {
        return reference.to_vec();
    }
    reference.iter().zip(other).zip(found).map(one).collect()
}

/// Only what a view does not write changes its sign, in bodies alone.
#[test]
fn either_sign_is_that_of_a_place_that_is_not_written() {
    let pad = Linear::affine(View::identity(&[2]).clipped(0, 1, 2), View::identity(&[2]));
    let y = Array::from([3.0, 0.0]);
    let plain = y.linear(&pad);
    let other = with_minus_zeros(|| unwritten(&pad, &y, plain.clone()));
    let signs = |a: &Array| Array::from([1.0, 1.0]).binary(Binary::Copysign, a);
    assert_eq!(signs(&unwritten(&pad, &y, plain.clone())), Array::from([1.0, 1.0]));
    assert_eq!(signs(&other), Array::from([-1.0, 1.0]));
    // The other sign is right where the view writes nothing, and wrong where it does.
    let (reference, other) = ([signs(&plain)], [signs(&other)]);
    let found = |x: f64, y: f64| nearest(&reference, &other, &[Array::from([x, y])])[0] == Array::from([x, y]);
    assert!(found(1.0, 1.0) && found(-1.0, 1.0) && !found(1.0, -1.0) && !found(-1.0, -1.0));
}
