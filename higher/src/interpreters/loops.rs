//! Loops over arrays whose trips compute values of the higher-order language.
//!
//! If possible, all trips are one loop of the interpreter of tensors: its carries, elements and outputs are the tensors
//! within the values, functions included (`stacks`). If values contain parts that no array can represent (a function of
//! the host language, a function whose code differs from trip to trip), the trips run one after the other. Law: both
//! ways give the same values.

use polygrad::array::Array;
use polygrad::base::BaseTensor;

use super::choice::cases;
use super::decisions::Followed;
use super::stacks::{Outside, Way, element, flatten, length, rebuild, rows, stacked};
use super::value::{Skeleton, Val};
use crate::shared::Shared;

/// The results of a trip: the next carry, an output to be stacked, and a value to be summed.
pub(super) struct Trip<T: 'static> {
    pub(super) carry: Val<T>,
    pub(super) out: Val<T>,
    pub(super) sum: Val<T>,
}

impl<T: BaseTensor> Trip<T> {
    /// The trip with tensors in its carry and its output: a sum alone may be of values that are zero but at some indices.
    fn dense(self) -> Self {
        Trip { carry: self.carry.dense(), out: self.out.dense(), sum: self.sum }
    }
}

/// One trip for each element along the outermost axis of `xs`, in order or in reverse. Parts of the carry that are
/// symbolic zeros, and numbers after a trip, become numbers.
pub(super) fn sweep<T: BaseTensor>(
    op: &str,
    reverse: bool,
    carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Trip<T> {
    sweep_of(op, reverse, &Val::Zero, carry, xs, step)
}

/// [`sweep`] of a step that uses a value from outside the loop: functions that the step makes share the parts of it that
/// they capture.
pub(super) fn sweep_of<T: BaseTensor>(
    op: &str,
    reverse: bool,
    used: &Val<T>,
    carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Trip<T> {
    one_loop(op, reverse, used, carry.clone(), xs, step).unwrap_or_else(|| unrolled(op, reverse, carry, xs, step))
}

/// [`sweep_of`] as one loop of tensors, if all trips can be one.
pub(super) fn one_loop<T: BaseTensor>(
    op: &str,
    reverse: bool,
    used: &Val<T>,
    mut carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Option<Trip<T>> {
    loop {
        match looped(op, reverse, used, carry, xs, step) {
            Swept::All(trip) => return Some(trip),
            Swept::From(next) => carry = next,
            Swept::Single => return None,
        }
    }
}

/// What became of an attempt to run all trips as one loop.
enum Swept<T: 'static> {
    /// The results.
    All(Trip<T>),
    /// The loop must start from this carry, which is equal.
    From(Val<T>),
    /// The trips must run one after the other.
    Single,
}

/// The structure of the results of a loop, from its first trip.
struct First<T: 'static> {
    out: Skeleton<T>,
    sum: Skeleton<T>,
    /// The number of tensors of the output; those of the sum follow.
    split: usize,
}

/// The trips as one loop, unless some value does not consist of tensors, or its structure differs between trips. For a
/// loop without trips, the stacked outputs are known in any case.
fn looped<T: BaseTensor>(
    op: &str,
    reverse: bool,
    used: &Val<T>,
    carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Swept<T> {
    let (n, mut init, mut elements, mut outside) = (length(op, xs), Vec::new(), Vec::new(), Outside::of(used));
    let (Some(of_carry), Some(of_elements)) = (flatten(&carry, &mut outside, &mut init), rows(xs, &mut elements))
    else {
        return Swept::Single;
    };
    let (mut first, mut failed, mut nothing): (Option<First<T>>, bool, Option<Skeleton<T>>) = (None, false, None);
    let mut grown = None;
    let path = Followed::start();
    let (last, stacks) = T::map_accum(n, reverse, init, &elements, &mut |before, element| {
        if failed {
            return (before, Vec::new());
        }
        if first.is_some() {
            path.follow();
        }
        let state = rebuild(&of_carry, Way::Same, &mut before.iter().cloned());
        let trip = step(state.clone(), rebuild(&of_elements, Way::Same, &mut element.iter().cloned())).dense();
        let (mut after, mut outputs) = (Vec::new(), Vec::new());
        let next = flatten(&trip.carry.clone().conform(&state), &mut outside, &mut after);
        let out = flatten(&trip.out, &mut outside, &mut outputs);
        let split = outputs.len();
        if n == 0 {
            nothing = out;
            return (before, outputs);
        }
        let sum = if trip.sum.has_function() { None } else { flatten(&trip.sum, &mut outside, &mut outputs) };
        match (next, out, sum) {
            (Some(next), Some(out), Some(sum)) if next == of_carry => match &first {
                Some(first) if (&first.out, &first.sum) != (&out, &sum) => {
                    unreachable!("a trip that decides as another one makes values of the same form")
                }
                Some(_) => (after, outputs),
                None => {
                    first = Some(First { out, sum, split });
                    (after, outputs)
                }
            },
            _ => {
                failed = true;
                let start = carry.clone().conform(&trip.carry);
                if flatten(&start, &mut outside, &mut Vec::new()).is_some_and(|of_start| of_start != of_carry) {
                    grown = Some(start);
                }
                (before, Vec::new())
            }
        }
    });
    let mut stacks = stacks.into_iter();
    if let Some(out) = nothing {
        return Swept::All(Trip { carry, out: rebuild(&out, Way::Stacked(n), &mut stacks), sum: Val::Zero });
    }
    if let Some(start) = grown {
        return Swept::From(start);
    }
    let Some(First { out, sum, split }) = first.filter(|_| !failed && !path.differs()) else { return Swept::Single };
    let outputs: Vec<T> = stacks.by_ref().take(split).collect();
    Swept::All(Trip {
        carry: rebuild(&of_carry, Way::Same, &mut last.into_iter()),
        out: rebuild(&out, Way::Stacked(n), &mut outputs.into_iter()),
        sum: rebuild(&sum, Way::Sum(n), &mut stacks),
    })
}

/// An iteration whose end depends on a condition that is not known, as a recorded loop: `first` is the result of the
/// first step. `None` if a state or a result does not consist of tensors, or changes its structure.
pub(super) fn repeated<T: BaseTensor>(first: &Val<T>, step: &dyn Fn(Val<T>) -> Val<T>) -> Option<Val<T>> {
    let (go, state, result) = cases(first);
    let (mut init, none) = (vec![go], Val::Zero);
    let mut outside = Outside::of(&none);
    let of_state = flatten(&state, &mut outside, &mut init)?;
    let split = init.len();
    let of_result = flatten(&result, &mut outside, &mut init)?;
    let mut fits = true;
    let _loop = Followed::start();
    let last = T::repeat(None, init, &mut |carry| {
        let state = rebuild(&of_state, Way::Same, &mut carry[1..split].iter().cloned());
        let result = rebuild(&of_result, Way::Same, &mut carry[split..].iter().cloned());
        let (go, next, ended) = cases(&step(state.clone()));
        let mut after = vec![go];
        let of_next = flatten(&next.conform(&state), &mut outside, &mut after);
        let of_ended = flatten(&ended.conform(&result), &mut outside, &mut after);
        let alike = |(a, b): (&T, &T)| a.shape() == b.shape() && a.dtype() == b.dtype();
        fits &= of_next.as_ref() == Some(&of_state) && of_ended.as_ref() == Some(&of_result);
        fits &= after.len() == carry.len() && after.iter().zip(&carry).all(alike);
        if fits { after } else { carry }
    });
    fits.then(|| rebuild(&of_result, Way::Same, &mut last.into_iter().skip(split)))
}

/// The largest number of steps with a known condition that a recorded program contains one after the other.
pub(super) const STEPS: usize = 1000;

/// [`repeated`], from a state whose step is known to continue: the following steps are recorded as a loop.
pub(super) fn resumed<T: BaseTensor>(state: &Val<T>, step: &dyn Fn(Val<T>) -> Val<T>) -> Option<Val<T>> {
    let go = T::constant(Array::scalar(true));
    let (mut init, none) = (vec![go.clone()], Val::Zero);
    let mut outside = Outside::of(&none);
    let of_state = flatten(state, &mut outside, &mut init)?;
    // An unused loop determines the structure of the result.
    let mut result = None;
    let unused = Followed::start();
    T::repeat(None, init, &mut |carry| {
        let (_, _, ended) = cases(&step(rebuild(&of_state, Way::Same, &mut carry[1..].iter().cloned())));
        let mut leaves = Vec::new();
        if let Some(form) = flatten(&ended, &mut outside, &mut leaves) {
            result = Some(rebuild(&form, Way::Same, &mut leaves.iter().map(|t| T::zeros(t.shape(), t.dtype()))));
        }
        carry
    });
    drop(unused);
    repeated(&Val::Either(Shared::new((go, state.clone(), result?))), step)
}

/// The trips one after the other.
fn unrolled<T: BaseTensor>(
    op: &str,
    reverse: bool,
    mut carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Trip<T> {
    let n = length(op, xs);
    let (mut outs, mut sum) = (Vec::new(), Val::Zero);
    for k in 0..n {
        let trip = step(carry, element(xs, if reverse { n - 1 - k } else { k })).dense();
        carry = trip.carry;
        outs.push(trip.out);
        sum = sum.plus(trip.sum);
    }
    if reverse {
        outs.reverse();
    }
    Trip { carry, out: stacked(outs), sum }
}
