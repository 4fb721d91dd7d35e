//! Loop-invariant code motion: values that do not change from trip to trip are computed outside the loop.

use super::LoopState;
use crate::ops::Linear;
use crate::program::{Builder, NodeId, Op, taps};
use crate::rewrite::rules::of_one_value;
use crate::rewrite::rules::views::{Axes, moves, over, read};

/// A carry that every trip returns unchanged, or that every trip sets to its initial value, is a captured value
pub(super) fn loop_invariant_carry(_: &mut Builder, state: &mut LoopState) -> bool {
    let (mut any, outside) = (false, state.carried() + state.l.xs.len());
    for k in 0..state.carried() {
        let next = state.l.body.results()[k] as usize;
        let captured = next.checked_sub(outside).and_then(|place| state.l.captured.get(place));
        if next == k || captured == Some(&state.l.init[k]) {
            state.outside[k] = Some(state.l.init[k]);
            any = true;
        }
    }
    any
}

/// A sequence of equal elements is a captured value
pub(super) fn loop_constant_sequence(b: &mut Builder, state: &mut LoopState) -> bool {
    let (mut any, first) = (false, state.carried());
    for (k, xs) in state.l.xs.iter().enumerate() {
        if let Some(element) = element(b, *xs) {
            state.outside[first + k] = Some(element);
            any = true;
        }
    }
    any
}

/// The element of a sequence whose elements are all equal.
fn element(b: &mut Builder, xs: NodeId) -> Option<NodeId> {
    if let Op::Constant(c) = &b.node(xs).op {
        let row = Linear::row(c.0.shape(), 0, 0);
        let uniform = of_one_value(&c.0);
        return uniform.then(|| b.apply(Op::Linear(Box::new(row), xs)));
    }
    let (source, view) = read(b, xs)?;
    if moves(&view, 0) {
        return None;
    }
    let rest: Axes = (1..view.shape().len()).collect();
    Some(b.apply(Op::Linear(Box::new(Linear::read(over(&view, &rest))), source)))
}

/// A value that depends on values that no trip changes is computed outside, once the body is as simple as it can be
pub(super) fn loop_invariant_code(b: &mut Builder, state: &mut LoopState) -> bool {
    if !state.settled {
        return false;
    }
    let (mut any, live) = (false, state.live());
    let inputs = state.l.body.inputs().len();
    for (k, live) in live.into_iter().enumerate().skip(inputs) {
        let node = &state.nodes()[k];
        // A tap runs in every trip.
        let (mut invariant, mut depends) = (live && !taps(&node.op), false);
        node.op.operands(&mut |a| {
            let constant = state.is_free(*a);
            invariant &= constant || state.outside[*a as usize].is_some();
            depends |= !constant;
        });
        if !invariant || !depends {
            continue;
        }
        let op = node.op.map(&mut |a| state.leave(b, *a));
        let id = b.add(op, node.shape.clone(), node.dtype);
        state.outside[k] = Some(id);
        any = true;
    }
    any
}
