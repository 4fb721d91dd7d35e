//! Folds whose state is a function that grows from step to step, such as a composition of functions.
//!
//! `f_k = step (f_(k-1), x_k)` captures the function before it, so no loop of tensors carries it. While a program is
//! traced, a call of the last function is two loops instead of all steps one after the other: arguments go from the last
//! function to the first one, results back.
//!
//! ```text
//! z_(k-1), the argument of the call of f_(k-1) in f_k z_k, for k = n, .., 1;  y_0 = f_0 z_0
//! y_k = f_k z_k, where y_(k-1) stands for the result of that call, for k = 1, .., n
//! ```
//!
//! Law: the value is that of the steps one after the other, which run where a function calls the one before it more than
//! once or from within a loop, or arguments or results change their structure.

use std::cell::Cell;
use std::rc::Rc;

use polygrad::base::BaseTensor;

use super::decisions::depth;
use super::loops::{Trip, one_loop, sweep_of};
use super::value::{Code, Val};

/// A trip of a fold.
fn step<T: BaseTensor>(f: &Val<T>) -> impl Fn(Val<T>, Val<T>) -> Trip<T> + '_ {
    |state, x| Trip { carry: f.apply(Val::pair(state, x)), out: Val::Nil, sum: Val::Zero }
}

/// A left fold: the final state.
pub(super) fn fold<T: BaseTensor>(x: Val<T>) -> Val<T> {
    let (f, start, xs) = (x.fst(), x.snd().fst(), x.snd().snd());
    let step = step(&f);
    if !(T::records() && matches!(start, Val::Fun(_))) {
        return sweep_of("fold", false, &f, start, &xs, &step).carry;
    }
    match one_loop("fold", false, &f, start, &xs, &step) {
        Some(trip) => trip.carry,
        None => Val::capturing(Code::Folded, x),
    }
}

/// The final state of a fold, which is a function, at an argument; `x` is the argument of the fold.
pub(super) fn called<T: BaseTensor>(x: &Val<T>, z: Val<T>) -> Val<T> {
    let (f, start, xs) = (x.fst(), x.snd().fst(), x.snd().snd());
    through(&f, &start, &xs, &z).unwrap_or_else(|| sweep_of("fold", false, &f, start, &xs, &step(&f)).carry.apply(z))
}

/// How a step uses the function before it.
struct Call<T: 'static> {
    /// The result of the step's function.
    result: Val<T>,
    /// The argument of the function before it, if it is called.
    argument: Option<Val<T>>,
    /// Whether it is called at most once, and not from within a loop.
    once: bool,
}

/// Calls the function that a step makes of a function that gives `y` at any argument.
fn call<T: BaseTensor>(f: &Val<T>, x: Val<T>, z: Val<T>, y: Val<T>) -> Call<T> {
    let (found, once, outer) = (Rc::new(Cell::new(None)), Rc::new(Cell::new(true)), depth());
    let before = {
        let (found, once) = (found.clone(), once.clone());
        Val::fun(move |a| {
            if depth() != outer || found.replace(Some(a)).is_some() {
                once.set(false);
            }
            y.clone()
        })
    };
    let result = f.apply(Val::pair(before, x)).apply(z);
    Call { result, argument: found.take(), once: once.get() }
}

/// The value by two loops; `None` if a step needs more than one call of the function before it.
fn through<T: BaseTensor>(f: &Val<T>, start: &Val<T>, xs: &Val<T>, z: &Val<T>) -> Option<Val<T>> {
    // No argument depends on the results on the way to the first function, so any of their structure will do.
    let like = start.apply(z.clone());
    let once = Cell::new(true);
    let down = |z: Val<T>, x| {
        let call = call(f, x, z.clone(), like.clone());
        once.set(once.get() && call.once);
        Trip { carry: call.argument.filter(|_| call.once).unwrap_or_else(|| z.clone()), out: z, sum: Val::Zero }
    };
    let first = one_loop("fold", true, f, z.clone(), xs, &down).filter(|_| once.get())?;
    let up =
        |y: Val<T>, at: Val<T>| Trip { carry: call(f, at.fst(), at.snd(), y).result, out: Val::Nil, sum: Val::Zero };
    let last = one_loop("fold", false, f, start.apply(first.carry), &Val::pair(xs.clone(), first.out), &up)?;
    Some(last.carry)
}
