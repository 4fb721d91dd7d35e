//! Rules for results that a loop need not return, because other values determine them.

use super::{Found, LoopState};
use crate::ops::{Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::rewrite::rules::views::Axes;

/// An output that is the same in every trip is replicated, and a last carry that does not depend on the trip is
/// computed outside
pub(super) fn loop_invariant_result(b: &mut Builder, state: &mut LoopState) -> bool {
    replaced(b, state, |b, state, k, r| {
        if state.outside[r as usize].is_none() && !state.is_free(r) {
            return None;
        }
        let value = state.leave(b, r);
        Some(if k < state.carried() { value } else { replicated(b, value, state.l.n) })
    })
}

/// A carry that becomes an element of a sequence is the element of the last trip
pub(super) fn loop_last_element(b: &mut Builder, state: &mut LoopState) -> bool {
    replaced(b, state, |b, state, k, r| {
        let xs = sequence(state, r).filter(|_| k < state.carried())?;
        let position = if state.l.reverse { 0 } else { state.l.n - 1 };
        // The loop may use the sequence further.
        b.used(xs, 1);
        let row = Linear::row(&b.node(xs).shape, 0, position);
        Some(b.apply(Op::Linear(Box::new(row), xs)))
    })
}

/// An output that is an element of a sequence is that sequence
pub(super) fn loop_element_output(b: &mut Builder, state: &mut LoopState) -> bool {
    replaced(b, state, |_, state, k, r| sequence(state, r).filter(|_| k >= state.carried()))
}

/// The sequence whose element is a value of the body.
fn sequence(state: &LoopState, id: NodeId) -> Option<NodeId> {
    state.l.xs.get((id as usize).checked_sub(state.carried())?).copied()
}

/// Replaces the missing results for which `value` knows a value outside the loop.
fn replaced(
    b: &mut Builder,
    state: &mut LoopState,
    value: impl Fn(&mut Builder, &LoopState, usize, NodeId) -> Option<NodeId>,
) -> bool {
    let mut any = false;
    for k in 0..state.found.len() {
        if state.is_missing(k)
            && let Some(id) = value(b, state, k, state.l.body.results()[k])
        {
            state.found[k] = Some(Found::Value(id));
            any = true;
        }
    }
    any
}

/// An output that is a carry before the step, which starts as zeros, is the output of the next value of the carry, one
/// trip later
pub(super) fn loop_shifted_output(b: &mut Builder, state: &mut LoopState) -> bool {
    let (carried, results) = (state.carried(), state.l.body.results());
    let outputs = || (carried..results.len()).filter(|k| state.is_missing(*k));
    let pair = |k: usize| {
        let carry = results[k] as usize;
        // The next value is not itself a carry, which another pair could replace.
        if carry >= carried || (results[carry] as usize) < carried || !b.is_zero(state.l.init[carry]) {
            return None;
        }
        outputs().find(|next| results[*next] == results[carry]).map(|next| (k, next))
    };
    let pairs: Vec<(usize, usize)> = outputs().filter_map(pair).collect();
    for (k, next) in &pairs {
        state.found[*k] = Some(Found::Later(*next));
    }
    !pairs.is_empty()
}

/// Equal outputs are one
pub(super) fn loop_equal_outputs(_: &mut Builder, state: &mut LoopState) -> bool {
    let (mut any, results) = (false, state.l.body.results().to_vec());
    for k in state.carried()..results.len() {
        let first = (state.carried()..k).find(|first| state.is_missing(*first) && results[*first] == results[k]);
        if let (true, Some(first)) = (state.is_missing(k), first) {
            state.found[k] = Some(Found::Same(first));
            any = true;
        }
    }
    any
}

/// The stack shifted by one trip, with zeros for the first trip.
pub(super) fn one_trip_later(b: &mut Builder, stack: NodeId, reverse: bool) -> NodeId {
    let shape = b.node(stack).shape.clone();
    let rank = shape.len();
    let matrix: Vec<i64> = (0..rank * rank).map(|k| i64::from(k % (rank + 1) == 0)).collect();
    let step = if reverse { 1 } else { -1 };
    let offset: Vec<i64> = (0..rank).map(|axis| if axis > 0 { 0 } else { step }).collect();
    b.apply(Op::Linear(Box::new(Linear::read(View::affine(&shape, &shape, &matrix, &offset))), stack))
}

/// `n` copies along a new outermost axis.
fn replicated(b: &mut Builder, value: NodeId, n: usize) -> NodeId {
    let mut shape = b.node(value).shape.clone();
    shape.insert(0, n);
    let axes: Axes = (1..shape.len()).collect();
    b.apply(Op::Linear(Box::new(Linear::replicate(&shape, &axes)), value))
}
