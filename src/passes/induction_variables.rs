//! Induction variables: carries that grow by the same integer in each trip are known before the loop.
//!
//! `c' = c + s`, for an integer `s` that no trip changes, is `init + s * k` in trip `k`: a sequence. The values
//! computed from the carry, mostly indices, then do not wait for the previous trip, and a loop without other carries is
//! not a recurrence.
//!
//! Law: the results are the same, to the bit; integers wrap around.

use super::batch::{BatchedValue, stack};
use crate::array::Array;
use crate::ops::{Discrete, IntBinary, Linear};
use crate::program::{Builder, Constant, Loop, NodeId, Op, Program};
use crate::shape::{Shape, size};

/// The largest size of a carry that is replaced by a sequence.
const SMALL: usize = 64;

/// The loop without carries that count, and the last values of those carries, by their positions.
pub(super) fn induction_variables(b: &mut Builder, l: Loop<NodeId>) -> (Loop<NodeId>, Vec<(usize, NodeId)>) {
    let steps: Vec<Option<InductionStep>> = (0..l.init.len()).map(|k| step(&l, k)).collect();
    if steps.iter().all(Option::is_none) {
        return (l, Vec::new());
    }
    let (mut sequences, mut last) = (Vec::new(), Vec::new());
    for (k, step) in steps.iter().enumerate() {
        let Some(step) = step else { continue };
        let by = outside(b, &l, step);
        sequences.push(sequence(b, &l, l.init[k], by));
        let trips = full(b, l.init[k], l.n as i64);
        let all = ints(b, IntBinary::Mul, by, trips);
        last.push((k, ints(b, IntBinary::Add, l.init[k], all)));
    }
    (without(l, &steps, sequences), last)
}

/// The amount by which a carry grows in each trip.
struct InductionStep {
    /// A constant of the body, or a captured value.
    by: NodeId,
    negative: bool,
}

#[allow(clippy::wildcard_enum_match_arm, reason = "nothing else counts")]
fn step(l: &Loop<NodeId>, k: usize) -> Option<InductionStep> {
    let nodes = l.body.nodes();
    if size(&nodes[k].shape) > SMALL {
        return None;
    }
    let fixed = |id: NodeId| {
        let captured = l.init.len() + l.xs.len()..l.body.inputs().len();
        captured.contains(&(id as usize)) || matches!(nodes[id as usize].op, Op::Constant(_))
    };
    let Op::Discrete(op, args) = &nodes[l.body.results()[k] as usize].op else { return None };
    let (by, negative) = match op {
        Discrete::IntBinary(IntBinary::Add) if args[0] as usize == k => (args[1], false),
        Discrete::IntBinary(IntBinary::Add) if args[1] as usize == k => (args[0], false),
        Discrete::IntBinary(IntBinary::Sub) if args[0] as usize == k => (args[1], true),
        _ => return None,
    };
    fixed(by).then_some(InductionStep { by, negative })
}

fn ints(b: &mut Builder, op: IntBinary, x: NodeId, y: NodeId) -> NodeId {
    b.apply(Op::Discrete(Discrete::IntBinary(op), [x, y].as_slice().into()))
}

/// A constant in the shape of a value.
fn full(b: &mut Builder, like: NodeId, x: i64) -> NodeId {
    let shape = b.node(like).shape.clone();
    b.apply(Op::Constant(Constant(Array::full(&shape, x))))
}

/// The value of a step outside the loop.
fn outside(b: &mut Builder, l: &Loop<NodeId>, step: &InductionStep) -> NodeId {
    let by = if let Op::Constant(c) = &l.body.nodes()[step.by as usize].op {
        b.apply(Op::Constant(c.clone()))
    } else {
        l.captured[step.by as usize - l.init.len() - l.xs.len()]
    };
    if !step.negative {
        return by;
    }
    let zero = full(b, by, 0);
    ints(b, IntBinary::Sub, zero, by)
}

/// The values of the carry in all trips, as a sequence.
fn sequence(b: &mut Builder, l: &Loop<NodeId>, init: NodeId, by: NodeId) -> NodeId {
    let mut trips = b.apply(Op::Discrete(Discrete::Iota { n: l.n }, [].as_slice().into()));
    if l.reverse {
        let last = full(b, trips, l.n as i64 - 1);
        trips = ints(b, IntBinary::Sub, last, trips);
    }
    let (init, by) = (stack(b, l.n, BatchedValue::single(init)), stack(b, l.n, BatchedValue::single(by)));
    let shape: Shape = b.node(init).shape.clone();
    let trips = b.apply(Op::Linear(Box::new(Linear::replicate(&shape, &[0])), trips));
    let grown = ints(b, IntBinary::Mul, by, trips);
    ints(b, IntBinary::Add, init, grown)
}

/// The loop with sequences in place of the carries that count, after its other sequences.
fn without(l: Loop<NodeId>, steps: &[Option<InductionStep>], sequences: Vec<NodeId>) -> Loop<NodeId> {
    let (carried, given) = (l.init.len(), l.body.inputs().len());
    let kept = |k: &usize| steps[*k].is_none();
    let counting = (0..carried).filter(|k| !kept(k));
    let captured = carried + l.xs.len()..given;
    let order = (0..carried).filter(kept).chain(carried..captured.start).chain(counting).chain(captured);
    let mut b = Builder::new();
    let numbers = b.taken(&l.body, order);
    let results = l.body.results().iter().enumerate().filter(|(k, _)| *k >= carried || kept(k));
    let results: Vec<NodeId> = results.filter_map(|(_, r)| numbers[*r as usize]).collect();
    let body: Program = b.finish(&results, &[]);
    let init = l.init.iter().enumerate().filter(|(k, _)| kept(k)).map(|(_, id)| *id).collect();
    let xs = l.xs.iter().copied().chain(sequences).collect();
    Loop { n: l.n, reverse: l.reverse, body, init, xs, captured: l.captured }
}
