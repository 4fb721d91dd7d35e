//! Loop fission: parts of a recurrence that do not need to run trip by trip are computed in bulk before or after it.
//!
//! The body of a loop has three parts: the values that do not depend on the carry, the values that the next carry
//! depends on, and the values computed from those for the outputs alone. Only the second part must run trip by trip;
//! the first is computed in bulk before the loop, the third after the loop from the stacked values of the second. A
//! recurrent network multiplies all its inputs with its weights in one product before the loop.
//! In a sum of terms of the first and of the second part, the terms of the first are added up before the loop.
//!
//! Law: the results are the same. Each part does the work it did in the trips; the stacks between the parts are at most
//! [`ROOM`] times as large as what the loop reads and writes anyway.

use std::collections::BTreeMap;

use super::batch::{BatchedValue, batch};
use crate::ops::{Binary, Linear};
use crate::program::updates::Updates;
use crate::program::{Builder, Loop, Node, NodeId, Now, Op, Program, Rebuilt, Slot, made, reach};
use crate::rewrite::signs::Seen;
use crate::shape::size;

/// The largest size of the stacks between the parts, in multiples of what a trip reads and returns.
const ROOM: usize = 4;

/// The part of the body that a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LoopPart {
    Before,
    Within,
    After,
}

/// The results of a loop with a carry: the last carry, and the stacked outputs. `is_any_seen` says whether the sign of zero
/// of any result is seen.
pub(super) fn fission(b: &mut Builder, l: &Loop<NodeId>, is_any_seen: bool) -> Vec<BatchedValue> {
    let gathered = gathered(l, is_any_seen).map(|body| Loop { body, ..l.clone() });
    let l = gathered.as_ref().unwrap_or(l);
    let parts = parts(l);
    let carried = l.init.len();
    let inputs = l.body.inputs().len();
    // The value outside the loop of each value of the body that another part needs.
    let mut outside: Vec<Option<BatchedValue>> = vec![None; l.body.nodes().len()];
    for (k, x) in l.xs.iter().enumerate() {
        outside[carried + k] = Some(BatchedValue::stack(*x));
    }
    for (k, c) in l.captured.iter().enumerate() {
        outside[carried + l.xs.len() + k] = Some(BatchedValue::single(*c));
    }
    let given: Vec<NodeId> = (carried..inputs).map(|k| k as NodeId).collect();

    let early = frontier(l, &parts, LoopPart::Before);
    bulk(b, l, &mut outside, &given, &early);

    let late = frontier(l, &parts, LoopPart::Within);
    let inner = inner(l, &parts, &outside, &late);
    let of = b.apply(Op::Loop(Box::new(inner)));
    let mut results: Vec<BatchedValue> =
        (0..carried).map(|k| BatchedValue::single(b.apply(Op::Output(of, k)))).collect();
    for (k, id) in late.iter().enumerate() {
        outside[*id as usize] = Some(BatchedValue::stack(b.apply(Op::Output(of, carried + k))));
    }

    let known: Vec<NodeId> = (0..outside.len()).filter(|k| outside[*k].is_some()).map(|k| k as NodeId).collect();
    let last: Vec<NodeId> =
        l.body.results()[carried..].iter().copied().filter(|r| parts[*r as usize] == LoopPart::After).collect();
    bulk(b, l, &mut outside, &known, &last);
    results.extend(l.body.results()[carried..].iter().map(|r| made(outside[*r as usize])));
    results
}

/// The number of results of an operation.
#[allow(clippy::wildcard_enum_match_arm, reason = "every other operation has one result")]
fn results(node: &Node) -> usize {
    let all = |slots: &[Slot]| slots.iter().fold(0usize, |sum, s| sum.saturating_add(size(&s.shape)));
    match &node.op {
        Op::Loop(l) => l.n.max(1).saturating_mul(all(l.body.outputs())),
        Op::Custom(c, _) => all(c.primal().outputs()),
        _ => size(&node.shape),
    }
}

/// The part of every value of the body.
#[allow(clippy::wildcard_enum_match_arm, reason = "every other operation has one result")]
fn parts(l: &Loop<NodeId>) -> Vec<LoopPart> {
    let (nodes, carried) = (l.body.nodes(), l.init.len());
    let sizes = |slots: &[Slot]| slots.iter().fold(0usize, |sum, s| sum.saturating_add(size(&s.shape)));
    let room = ROOM.saturating_mul(sizes(&l.body.inputs()[..carried + l.xs.len()]).max(1));
    let mut parts = vec![LoopPart::Before; nodes.len()];
    parts[..carried].fill(LoopPart::Within);
    // Values that no trip changes are not stacked.
    let mut constant = vec![false; nodes.len()];
    constant[carried + l.xs.len()..l.body.inputs().len()].fill(true);
    for (k, node) in nodes.iter().enumerate().skip(l.body.inputs().len()) {
        let (mut part, mut same) = (LoopPart::Before, true);
        node.op.operands(&mut |a| {
            part = part.max(parts[*a as usize]);
            same &= constant[*a as usize];
        });
        constant[k] = same;
        let large = !same && results(node) > room;
        parts[k] = match node.op {
            // A result belongs to the part of its operation.
            Op::Output(of, _) => parts[of as usize],
            _ if large => LoopPart::Within,
            _ => part,
        };
    }
    // Values that the next carry does not depend on come after the loop.
    let mut feeds = vec![false; nodes.len()];
    l.body.results()[..carried].iter().for_each(|r| feeds[*r as usize] = true);
    reach(nodes, &mut feeds, |_| true);
    let mut apart = parts.clone();
    for k in l.body.inputs().len()..nodes.len() {
        if let Op::Output(of, _) = nodes[k].op {
            apart[k] = apart[of as usize];
        } else if parts[k] == LoopPart::Within && !feeds[k] {
            apart[k] = LoopPart::After;
        }
    }
    let stacked = |parts: &[LoopPart]| -> usize {
        let sizes = frontier(l, parts, LoopPart::Within).into_iter().map(|id| size(&nodes[id as usize].shape));
        sizes.fold(0, usize::saturating_add)
    };
    let large = (0..nodes.len()).any(|k| apart[k] == LoopPart::After && results(&nodes[k]) > room);
    let mut parts = if !large && stacked(&apart) <= ROOM.saturating_mul(stacked(&parts)) { apart } else { parts };
    let stays = copied(l, &parts);
    stays.into_iter().for_each(|k| parts[k] = LoopPart::Within);
    // A trip writes a subarray in place, whose mask is not computed at all.
    let inside = Updates::of(&l.body).inside_of(&l.body, |k| parts[k as usize] == LoopPart::Within);
    inside.into_iter().for_each(|k| parts[k as usize] = LoopPart::Within);
    parts
}

/// Values that could be computed in bulk before the loop, but are copied in each trip: views and replications that
/// only the loop reads, of values with fewer elements. A stack of the fewer elements is smaller than a stack of the
/// copies, and a trip copies as many elements either way.
fn copied(l: &Loop<NodeId>, parts: &[LoopPart]) -> Vec<usize> {
    let (nodes, carried, given) = (l.body.nodes(), l.init.len(), l.body.inputs().len());
    // The number of elements per trip of the smallest stacks from which a trip can copy the value.
    let mut least: Vec<usize> = nodes.iter().map(|node| size(&node.shape)).collect();
    let mut moves = vec![true; nodes.len()];
    moves[carried + l.xs.len()..given].fill(false);
    let mut copies = vec![false; nodes.len()];
    for (k, node) in nodes.iter().enumerate() {
        let mut of: Vec<NodeId> = Vec::new();
        node.op.operands(&mut |a| of.push(*a));
        of.sort_unstable();
        of.dedup();
        if k >= given {
            moves[k] = of.iter().any(|a| moves[*a as usize]);
        }
        if !moves[k] {
            least[k] = 0;
        } else if is_copy(&node.op) {
            let fewer = of.iter().map(|a| least[*a as usize]).fold(0, usize::saturating_add);
            copies[k] = fewer < least[k];
            least[k] = least[k].min(fewer);
        }
    }
    let mut within: Vec<bool> = parts.iter().map(|part| *part == LoopPart::Within).collect();
    // Whether a trip reads the value, and whether anything else does.
    let (mut inside, mut outside) = (vec![false; nodes.len()], vec![false; nodes.len()]);
    l.body.results()[..carried].iter().for_each(|r| inside[*r as usize] = true);
    l.body.results()[carried..].iter().for_each(|r| outside[*r as usize] = true);
    let mut stay = Vec::new();
    for (k, node) in nodes.iter().enumerate().rev() {
        if parts[k] == LoopPart::Before && copies[k] && inside[k] && !outside[k] {
            within[k] = true;
            stay.push(k);
        }
        let read = if within[k] { &mut inside } else { &mut outside };
        node.op.operands(&mut |a| read[*a as usize] = true);
    }
    stay
}

/// Whether an operation only moves elements of its operands, or adds them at indices, without other arithmetic.
fn is_copy(op: &Op<NodeId>) -> bool {
    let Op::Linear(op, _) = op else { return matches!(op, Op::Concat(..)) || op.at_indices().is_some() };
    match **op {
        Linear::Affine { .. } | Linear::Reshape { .. } | Linear::Cast { .. } => true,
        Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
    }
}

/// A term of a sum, and whether it is subtracted.
type Term = (NodeId, bool);

/// The body in which each sum first adds its terms that do not depend on the carry, if some sum has several such terms:
/// `(x + h) + b` is `h + (x + b)`, where `x + b` is done in bulk. Differences stay as they are where the sign of zero is
/// seen: of zeros, `a - (b - h)` may be -0 where `(a - b) + h` is +0.
fn gathered(l: &Loop<NodeId>, is_any_seen: bool) -> Option<Program> {
    let (parts, uses, nodes) = (parts(l), l.body.uses(), l.body.nodes());
    let seen = Seen::of(&l.body, &vec![is_any_seen; l.body.results().len()]);
    let mut sums: BTreeMap<usize, [Vec<Term>; 2]> = BTreeMap::new();
    let mut inner = vec![false; nodes.len()];
    // From results to operands: a sum comes before its parts.
    for k in (0..nodes.len()).rev().filter(|k| parts[*k] == LoopPart::Within) {
        if inner[k] || terms(&nodes[k].op).is_none() {
            continue;
        }
        let mut split = [Vec::new(), Vec::new()];
        let mut work: Vec<Term> = vec![(k as NodeId, false)];
        while let Some((id, minus)) = work.pop() {
            let at = id as usize;
            match terms(&nodes[at].op) {
                Some([x, y]) if at == k || (uses[at] == 1 && parts[at] == LoopPart::Within) => {
                    inner[at] = true;
                    work.extend([(y.0, minus != y.1), (x.0, minus)]);
                }
                Some(_) | None => split[usize::from(parts[at] == LoopPart::Before)].push((id, minus)),
            }
        }
        let subtracts = split.iter().flatten().any(|(_, minus)| *minus);
        let keeps_sign = !subtracts || !seen.values[k] || seen.never_minus_zero[k];
        if split[1].len() > 1 && keeps_sign {
            sums.insert(k, split);
        }
    }
    if sums.is_empty() {
        return None;
    }
    let mut b = Builder::new();
    let inputs = b.inputs(l.body.inputs(), &[]);
    Some(l.body.rebuilt(b, inputs, &mut |b, k, node, now| match sums.get(&(k as usize)) {
        Some([within, before]) => {
            let before = total(b, before, now);
            let within = within.iter().map(|(id, minus)| (now.of(*id), *minus));
            Rebuilt::One(added(b, within.chain([before])))
        }
        None => now.again(b, node),
    }))
}

/// The terms of a sum or difference of floats.
fn terms(op: &Op<NodeId>) -> Option<[Term; 2]> {
    if let Op::Binary(op @ (Binary::Add | Binary::Sub), x, y) = op {
        return Some([(*x, false), (*y, *op == Binary::Sub)]);
    }
    None
}

/// The sum of terms of one part, as a term: it is subtracted if all of them are.
fn total(b: &mut Builder, terms: &[Term], now: &Now) -> Term {
    let all = terms.iter().all(|(_, minus)| *minus);
    let terms = terms.iter().map(|(id, minus)| (now.of(*id), *minus != all));
    (added(b, terms), all)
}

/// The sum of terms; at least one is not subtracted.
fn added(b: &mut Builder, terms: impl Iterator<Item = Term>) -> NodeId {
    let (minus, plus): (Vec<Term>, Vec<Term>) = terms.partition(|(_, minus)| *minus);
    let sum = plus.into_iter().map(|(id, _)| id).reduce(|sum, id| b.plus(sum, id));
    let Some(sum) = sum else { unreachable!("the first term of a sum is added") };
    minus.into_iter().fold(sum, |sum, (id, _)| b.minus(sum, id))
}

/// The values of a part that another part or a result outside the loop needs.
fn frontier(l: &Loop<NodeId>, parts: &[LoopPart], of: LoopPart) -> Vec<NodeId> {
    let nodes = l.body.nodes();
    // Every part has its own constants.
    let is_constant = |a: NodeId| matches!(nodes[a as usize].op, Op::Constant(_));
    let mut needed = vec![false; nodes.len()];
    for (k, node) in nodes.iter().enumerate() {
        if parts[k] > of {
            node.op.operands(&mut |a| needed[*a as usize] |= parts[*a as usize] == of && !is_constant(*a));
        }
    }
    for r in &l.body.results()[l.init.len()..] {
        needed[*r as usize] |= parts[*r as usize] == of;
    }
    if of == LoopPart::Before {
        let carry = l.body.results()[..l.init.len()].iter();
        carry.for_each(|r| needed[*r as usize] |= parts[*r as usize] == of && !is_constant(*r));
        // The inputs need not be computed.
        needed[..l.body.inputs().len()].fill(false);
    }
    (0..nodes.len()).filter(|k| needed[*k]).map(|k| k as NodeId).collect()
}

/// The program that computes some values of a body from others.
fn section(body: &Program, from: &[NodeId], to: &[NodeId]) -> Program {
    let mut b = Builder::new();
    let mut numbers: Vec<Option<NodeId>> = vec![None; body.nodes().len()];
    for id in from {
        let node = &body.nodes()[*id as usize];
        let slot = Slot { name: String::new(), shape: node.shape.clone(), dtype: node.dtype };
        numbers[*id as usize] = Some(b.input(slot));
    }
    b.follow(body, &mut numbers);
    // A value of one part depends on what the part is given.
    let number = |id: &NodeId| made(numbers[*id as usize]);
    let results: Vec<NodeId> = to.iter().map(number).collect();
    b.finish(&results, &[])
}

/// Computes some values of a body from others for all trips at once.
fn bulk(b: &mut Builder, l: &Loop<NodeId>, outside: &mut [Option<BatchedValue>], from: &[NodeId], to: &[NodeId]) {
    let program = section(&l.body, from, to);
    let inputs: Vec<BatchedValue> = from.iter().map(|id| made(outside[*id as usize])).collect();
    for (id, value) in to.iter().zip(batch(b, l.n, &program, &inputs)) {
        outside[*id as usize] = Some(value);
    }
}

/// The loop that remains: values computed before it are sequences and captured values, and it returns the values needed
/// after it.
fn inner(l: &Loop<NodeId>, parts: &[LoopPart], outside: &[Option<BatchedValue>], late: &[NodeId]) -> Loop<NodeId> {
    let carried = l.init.len();
    let mut wanted = vec![false; parts.len()];
    for (k, node) in l.body.nodes().iter().enumerate() {
        if parts[k] == LoopPart::Within {
            node.op.operands(&mut |a| wanted[*a as usize] = true);
        }
    }
    l.body.results()[..carried].iter().chain(late).for_each(|r| wanted[*r as usize] = true);
    let given: Vec<(NodeId, BatchedValue)> =
        (0..parts.len()).filter(|k| wanted[*k]).filter_map(|k| Some((k as NodeId, outside[k]?))).collect();
    let (sequences, captured): (Vec<_>, Vec<_>) = given.into_iter().partition(|(_, value)| value.stacked);
    let carry = (0..carried).map(|k| k as NodeId);
    let from: Vec<NodeId> = carry.chain(sequences.iter().chain(&captured).map(|(id, _)| *id)).collect();
    let to: Vec<NodeId> = l.body.results()[..carried].iter().chain(late).copied().collect();
    let ids = |values: &[(NodeId, BatchedValue)]| values.iter().map(|(_, v)| v.id).collect::<Vec<NodeId>>();
    let (xs, captured) = (ids(&sequences), ids(&captured));
    Loop { n: l.n, reverse: l.reverse, body: section(&l.body, &from, &to), init: l.init.clone(), xs, captured }
}
