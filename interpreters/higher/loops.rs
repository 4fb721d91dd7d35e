//! Loops over arrays whose trips compute values of the higher-order language.
//!
//! If possible, all trips are one loop of the interpreter of tensors: its carries, elements and outputs are the tensors
//! within the values. If values contain parts that no array can represent (a function that captures an element, cases
//! that differ from trip to trip), the trips run one after the other. Law: both ways give the same values.

use std::rc::Rc;

use super::choice::cases;
use super::copower::{Bag, Entry};
use super::decisions::Followed;
use super::value::Val;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::Linear;
use crate::source::mistake;

/// The results of a trip: the next carry, an output to be stacked, and a value to be summed.
pub(super) struct Trip<T: 'static> {
    pub(super) carry: Val<T>,
    pub(super) out: Val<T>,
    pub(super) sum: Val<T>,
}

/// The structure of a value around its tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Skeleton {
    Zero,
    Nil,
    Leaf,
    Pair(Box<Skeleton>, Box<Skeleton>),
    Bag(Vec<(bool, Skeleton, Skeleton)>),
}

/// Appends the tensors of a value, in order; `None` if it contains other leaves.
fn flatten<T: BaseTensor>(v: &Val<T>, into: &mut Vec<T>) -> Option<Skeleton> {
    Some(match v {
        Val::Zero => Skeleton::Zero,
        Val::Nil => Skeleton::Nil,
        Val::Leaf(t) => {
            into.push(t.clone());
            Skeleton::Leaf
        }
        Val::Pair(p) => {
            let first = flatten(&p.0, into)?;
            Skeleton::Pair(Box::new(first), Box::new(flatten(&p.1, into)?))
        }
        Val::Bag(bag) => {
            let mut entries = Vec::new();
            for entry in bag.entries() {
                let (many, a, v) = match entry {
                    Entry::One(a, v) => (false, a, v),
                    Entry::Zip(a, v) => (true, a, v),
                    Entry::Total(_) => return None,
                };
                let a = flatten(a, into)?;
                entries.push((many, a, flatten(v, into)?));
            }
            Skeleton::Bag(entries)
        }
        Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Fun(_) | Val::Lin(_) | Val::Mono(_) => return None,
    })
}

/// How a value is rebuilt from tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// From the tensors themselves.
    Same,
    /// From the sums of stacked tensors along the outermost axis.
    Sum,
}

fn rebuild<T: BaseTensor>(skeleton: &Skeleton, way: Way, leaves: &mut dyn Iterator<Item = T>) -> Val<T> {
    match skeleton {
        Skeleton::Zero => Val::Zero,
        Skeleton::Nil => Val::Nil,
        Skeleton::Leaf => {
            let leaf = leaves.next().expect("as many tensors as before");
            Val::Leaf(if way == Way::Sum { leaf.linear(&Linear::sum(leaf.shape(), &[0])) } else { leaf })
        }
        Skeleton::Pair(a, b) => {
            let first = rebuild(a, way, leaves);
            Val::pair(first, rebuild(b, way, leaves))
        }
        Skeleton::Bag(entries) => {
            let mut total = Val::Zero;
            for (many, a, v) in entries {
                let (mut a, mut v) = (rebuild(a, Way::Same, leaves), rebuild(v, Way::Same, leaves));
                if way == Way::Sum && *many {
                    (a, v) = (merged(&a), merged(&v));
                }
                let bag = if way == Way::Sum || *many { Bag::zip(a, v) } else { Bag::one(a, v) };
                total = total.plus(Val::Bag(bag));
            }
            total
        }
    }
}

/// The value with the two outermost axes of each tensor merged.
fn merged<T: BaseTensor>(v: &Val<T>) -> Val<T> {
    each_leaf(v, &|t| {
        let shape = t.shape();
        let flat: Vec<usize> = std::iter::once(shape[0] * shape[1]).chain(shape[2..].iter().copied()).collect();
        t.linear(&Linear::reshape(shape, &flat))
    })
}

/// Applies a function to each tensor of a value that consists of tensors.
fn each_leaf<T: BaseTensor>(v: &Val<T>, f: &dyn Fn(&T) -> T) -> Val<T> {
    let mut leaves = Vec::new();
    let skeleton = flatten(v, &mut leaves).expect("a value that consists of tensors");
    rebuild(&skeleton, Way::Same, &mut leaves.iter().map(f))
}

/// The common length of the outermost axis of all tensors.
fn length<T: BaseTensor>(op: &str, v: &Val<T>) -> usize {
    let mut leaves = Vec::new();
    flatten(v, &mut leaves);
    let mut lengths = leaves.iter().map(|leaf| leaf.shape()[0]);
    let Some(first) = lengths.next() else {
        mistake(&format!(
            "{op}: the elements must have an array among their parts, but they have none; pair them with one"
        ))
    };
    if let Some(other) = lengths.find(|n| *n != first) {
        mistake(&format!(
            "{op}: all arrays must be equally long, but they have {first} and {other} elements; slice or pad one"
        ));
    }
    first
}

/// One trip for each element along the outermost axis of `xs`, in order or in reverse. Parts of the carry that are
/// symbolic zeros, and numbers after a trip, become numbers.
pub(super) fn sweep<T: BaseTensor>(
    op: &str,
    reverse: bool,
    mut carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Trip<T> {
    loop {
        match looped(op, reverse, carry.clone(), xs, step) {
            Swept::All(trip) => return trip,
            Swept::From(next) => carry = next,
            Swept::Single => return unrolled(op, reverse, carry, xs, step),
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
struct First {
    out: Skeleton,
    sum: Skeleton,
    /// The number of tensors of the output; those of the sum follow.
    split: usize,
}

/// The trips as one loop, unless some value does not consist of tensors, or its structure differs between trips. For a
/// loop without trips, the stacked outputs are known in any case.
fn looped<T: BaseTensor>(
    op: &str,
    reverse: bool,
    carry: Val<T>,
    xs: &Val<T>,
    step: &dyn Fn(Val<T>, Val<T>) -> Trip<T>,
) -> Swept<T> {
    let (n, mut init, mut elements) = (length(op, xs), Vec::new(), Vec::new());
    let (Some(of_carry), Some(of_elements)) = (flatten(&carry, &mut init), flatten(xs, &mut elements)) else {
        return Swept::Single;
    };
    let (mut first, mut failed, mut nothing): (Option<First>, bool, Option<Skeleton>) = (None, false, None);
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
        let trip = step(state.clone(), rebuild(&of_elements, Way::Same, &mut element.iter().cloned()));
        let (mut after, mut outputs) = (Vec::new(), Vec::new());
        let next = flatten(&trip.carry.clone().conform(&state), &mut after);
        let out = flatten(&trip.out, &mut outputs);
        let split = outputs.len();
        if n == 0 {
            nothing = out;
            return (before, outputs);
        }
        match (next, out, flatten(&trip.sum, &mut outputs)) {
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
                if flatten(&start, &mut Vec::new()).is_some_and(|of_start| of_start != of_carry) {
                    grown = Some(start);
                }
                (before, Vec::new())
            }
        }
    });
    let mut stacks = stacks.into_iter();
    if let Some(out) = nothing {
        return Swept::All(Trip { carry, out: rebuild(&out, Way::Same, &mut stacks), sum: Val::Zero });
    }
    if let Some(start) = grown {
        return Swept::From(start);
    }
    let Some(First { out, sum, split }) = first.filter(|_| !failed && !path.differs()) else { return Swept::Single };
    let outputs: Vec<T> = stacks.by_ref().take(split).collect();
    Swept::All(Trip {
        carry: rebuild(&of_carry, Way::Same, &mut last.into_iter()),
        out: rebuild(&out, Way::Same, &mut outputs.into_iter()),
        sum: rebuild(&sum, Way::Sum, &mut stacks),
    })
}

/// An iteration whose end depends on a condition that is not known, as a recorded loop: `first` is the result of the
/// first step. `None` if a state or a result does not consist of tensors, or changes its structure.
pub(super) fn repeated<T: BaseTensor>(first: &Val<T>, step: &dyn Fn(Val<T>) -> Val<T>) -> Option<Val<T>> {
    let (go, state, result) = cases(first);
    let mut init = vec![go];
    let of_state = flatten(&state, &mut init)?;
    let split = init.len();
    let of_result = flatten(&result, &mut init)?;
    let mut fits = true;
    let last = T::repeat(None, init, &mut |carry| {
        let state = rebuild(&of_state, Way::Same, &mut carry[1..split].iter().cloned());
        let result = rebuild(&of_result, Way::Same, &mut carry[split..].iter().cloned());
        let (go, next, ended) = cases(&step(state.clone()));
        let mut after = vec![go];
        let of_next = flatten(&next.conform(&state), &mut after);
        let of_ended = flatten(&ended.conform(&result), &mut after);
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
    let mut init = vec![go.clone()];
    let of_state = flatten(state, &mut init)?;
    // An unused loop determines the structure of the result.
    let mut result = None;
    T::repeat(None, init, &mut |carry| {
        let (_, _, ended) = cases(&step(rebuild(&of_state, Way::Same, &mut carry[1..].iter().cloned())));
        let mut leaves = Vec::new();
        if let Some(form) = flatten(&ended, &mut leaves) {
            result = Some(rebuild(&form, Way::Same, &mut leaves.iter().map(|t| T::zeros(t.shape(), t.dtype()))));
        }
        carry
    });
    repeated(&Val::Either(Rc::new((go, state.clone(), result?))), step)
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
        let at = T::constant(Array::scalar(if reverse { n - 1 - k } else { k } as i64));
        let element = each_leaf(xs, &|t| t.gather(std::slice::from_ref(&at)));
        let trip = step(carry, element);
        carry = trip.carry;
        outs.push(trip.out);
        sum = sum.plus(trip.sum);
    }
    if reverse {
        outs.reverse();
    }
    Trip { carry, out: stacked(op, &outs), sum }
}

/// The outputs of all trips, stacked along a new outermost axis.
fn stacked<T: BaseTensor>(op: &str, outs: &[Val<T>]) -> Val<T> {
    let whole = outs.iter().find(|v| !v.is_zero());
    match whole {
        None | Some(Val::Zero) => Val::Zero,
        Some(Val::Nil) => Val::Nil,
        Some(Val::Pair(_)) => {
            let parts: Vec<(Val<T>, Val<T>)> = outs.iter().map(|v| (v.fst(), v.snd())).collect();
            let (first, second): (Vec<Val<T>>, Vec<Val<T>>) = parts.into_iter().unzip();
            Val::pair(stacked(op, &first), stacked(op, &second))
        }
        Some(like @ Val::Leaf(t)) => {
            let row: Vec<usize> = std::iter::once(1).chain(t.shape().iter().copied()).collect();
            let rows: Vec<T> = outs
                .iter()
                .map(|v| {
                    let leaf = v.clone().conform(like).leaf().clone();
                    leaf.linear(&Linear::reshape(leaf.shape(), &row))
                })
                .collect();
            Val::Leaf(T::concat(0, &rows))
        }
        Some(
            Val::Left(_) | Val::Right(_) | Val::Either(_) | Val::Fun(_) | Val::Lin(_) | Val::Bag(_) | Val::Mono(_),
        ) => {
            unreachable!("{op}: the elements of arrays are tensors and pairs of them")
        }
    }
}
