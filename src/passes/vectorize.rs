//! Vectorization: loops become bulk operations.
//!
//! A loop without a carry is a `build`: its trips do not depend on each other, and the loop becomes its body on stacks
//! ([`super::batch`]). A carry that only adds up, like those of a transposed loop, is removed: the added values become
//! an output, which is summed outside ([`crate::passes::reductions`]). A carry that counts becomes a sequence
//! ([`crate::passes::induction_variables`]). The loops that remain are recurrences: their bodies are vectorised, and the parts that need
//! not run trip by trip are computed in bulk before and after the loop ([`super::fission`]). This extends section 5 of
//! "Dual arrays" to loops.
//!
//! Laws: values and derivatives are unchanged up to the order of sums; no `build` remains, unless its
//! stacks would exceed the largest array, or are large compared with values of a trip that are large, too, or its trips run
//! programs that have taps; the program never becomes
//! asymptotically more expensive in operations or bytes. The peak memory can grow, because values that the trips of a loop held
//! one after the other are held at once.

use super::batch::{BatchedValue, batch};
use super::fission::fission;
use super::induction_variables::induction_variables;
use super::reductions::Split;
use crate::cost::MACHINE;
use crate::program::{Builder, Loop, NodeId, Op, Program, Rebuilt, tap_of, taps};
use crate::rewrite::signs::Seen;
use crate::shape::{MAX_SIZE, size};

/// The program in bulk: no loop without a carry remains. A program whose loops share bodies, so that it would be very much
/// longer without sharing, stays as it is.
///
/// ```
/// use polygrad::passes::vectorize;
/// use polygrad::{Function, build1, tensor};
/// let x = tensor([1.0, 2.0, 3.0]);
/// let f = Function::stage(|x| build1(3, |i| x.at([i]).sin() * 2.0), &x);
/// assert_eq!(vectorize(f.program()).to_string(), "program(x: f64[3]) {\n  return 2.0 * sin x\n}");
/// ```
pub fn vectorize(program: &Program) -> Program {
    if program.is_shared() { program.clone() } else { vectorized(program, &[]) }
}

/// [`vectorize`] of a program; `seen` says for which results an operation outside sees the sign of zero, none if empty.
fn vectorized(program: &Program, seen: &[bool]) -> Program {
    if !program.nodes().iter().any(|node| matches!(node.op, Op::Loop(_) | Op::Custom(..))) {
        return program.clone();
    }
    let mut seen = Seen::of(program, seen);
    let mut b = Builder::new();
    let inputs = b.inputs(program.inputs(), &[]);
    let mut taken = program.results_taken();
    program.rebuilt(b, inputs, &mut |b, k, node, now| {
        if let Op::Loop(l) = &node.op {
            let taken = taken.remove(&k).unwrap_or_default();
            let of = |ids: &[NodeId]| ids.iter().map(|a| now.of(*a)).collect::<Vec<NodeId>>();
            let (init, xs, captured) = (of(&l.init), of(&l.xs), of(&l.captured));
            let seen = seen.results.remove(&k).unwrap_or_default();
            let kept = |(k, seen)| (k < l.init.len() || taken[k]).then_some(seen);
            let seen: Vec<bool> = seen.into_iter().enumerate().filter_map(kept).collect();
            let body = vectorized(&without_dead_outputs(l, &taken), &seen);
            let results = looped(b, Loop { n: l.n, reverse: l.reverse, body, init, xs, captured }, &seen);
            let mut results = results.into_iter();
            let taken = (0..taken.len()).map(|k| (k < l.init.len() || taken[k]).then(|| results.next()).flatten());
            return Rebuilt::Many(taken.collect());
        }
        if let Op::Custom(custom, args) = &node.op {
            let args = args.iter().map(|a| now.of(*a)).collect();
            return Rebuilt::One(b.apply(Op::Custom(custom.map(&mut |p| vectorize(p)).into(), args)));
        }
        now.again(b, node)
    })
}

/// The body of a loop without its unused outputs, which must not decide how the loop is split.
fn without_dead_outputs(l: &Loop<NodeId>, taken: &[bool]) -> Program {
    let (carried, results) = (l.init.len(), l.body.results());
    let kept = |k: &usize| *k < carried || taken[*k];
    if (0..results.len()).all(|k| kept(&k)) {
        return l.body.clone();
    }
    let results: Vec<NodeId> = (0..results.len()).filter(kept).map(|k| results[k]).collect();
    l.body.with_results(&results)
}

/// The elements of a stack that is too large to be made without need: one of a few hundred megabytes.
const TOO_LARGE: usize = 1 << 25;

/// The largest size of such stacks, in multiples of what a trip reads and returns.
const ROOM: usize = 4;

/// Whether the trips of a loop without a carry are computed at once. Arrays must be able to hold the stacks, and one
/// of these must hold: the stacks are not too large; they are not much larger than what the original loop `of` reads
/// and returns; a trip is so small that its overhead exceeds the cost of its elements. Nothing may see the order of its
/// operations.
pub(super) fn is_bulk(l: &Loop<NodeId>, of: &Loop<NodeId>) -> bool {
    if !is_free_of_order(of) {
        return false;
    }
    let given = l.body.inputs().len() - l.captured.len();
    let captured = (0..l.body.inputs().len()).map(|k| k < given).collect();
    let most = largest(&l.body, captured);
    let carried = of.init.len();
    let rows = of.body.inputs()[carried..of.body.inputs().len() - of.captured.len()].iter();
    let rows = rows.chain(&of.body.outputs()[carried..]);
    let rows = rows.fold(0, |sum: usize, slot| sum.saturating_add(size(&slot.shape)));
    let stack = l.n.saturating_mul(most);
    stack <= TOO_LARGE || (most < MACHINE.large_trip || most / ROOM <= rows) && stack <= MAX_SIZE
}

/// Whether arrays can hold a stack of `n` values for each value of the program.
fn has_stacks(n: usize, program: &Program) -> bool {
    n.saturating_mul(largest(program, vec![true; program.inputs().len()])) <= MAX_SIZE
}

/// The size of the largest value of a program that depends on the marked inputs, values inside its loops and
/// functions included.
#[allow(clippy::wildcard_enum_match_arm, reason = "other operations have no programs inside")]
fn largest(program: &Program, mut moves: Vec<bool>) -> usize {
    let inputs = moves.len();
    let mut most = 1;
    for (k, node) in program.nodes().iter().enumerate() {
        if k >= inputs {
            let mut any = false;
            node.op.operands(&mut |a| any |= moves[*a as usize]);
            moves.push(any);
        }
        if moves[k] {
            let all = |program: &Program| largest(program, vec![true; program.inputs().len()]);
            most = most.max(match &node.op {
                Op::Loop(l) => {
                    let fixed = l.captured.iter().map(|a| moves[*a as usize]);
                    let carried = l.body.inputs().len() - l.captured.len();
                    largest(&l.body, (0..carried).map(|_| true).chain(fixed).collect())
                }
                Op::Custom(c, _) => c.programs().map(all).max().unwrap_or(1),
                _ => size(&node.shape),
            });
        }
    }
    most
}

/// The results of a loop that stays as it is.
fn kept(b: &mut Builder, l: Loop<NodeId>) -> Vec<NodeId> {
    let results = 0..l.body.results().len();
    let of = b.apply(Op::Loop(Box::new(l)));
    results.map(|k| b.apply(Op::Output(of, k))).collect()
}

/// Whether nothing sees the order of the operations of a loop. Trips that carry something show their taps one after the
/// other; so do the programs inside a trip, each as often as it runs.
fn is_free_of_order(l: &Loop<NodeId>) -> bool {
    let inside = |op: &Op<NodeId>| tap_of(op).is_none() && taps(op);
    !l.body.has_taps() || l.init.is_empty() && !l.body.nodes().iter().any(|node| inside(&node.op))
}

/// The results of a loop whose body is vectorised; `seen` says for which of them the sign of zero is seen.
fn looped(b: &mut Builder, l: Loop<NodeId>, seen: &[bool]) -> Vec<NodeId> {
    if !has_stacks(l.n, &l.body) || !is_free_of_order(&l) {
        return kept(b, l);
    }
    let whole = l.clone();
    let (l, counted) = induction_variables(b, l);
    let mut seen =
        (0..).zip(seen).filter(|(k, _)| counted.iter().all(|(counter, _)| counter != k)).map(|(_, seen)| *seen);
    let is_any_seen = seen.clone().any(|seen| seen);
    let split = Split::of(l, |init| seen.next() == Some(true) && !b.sign_free(init));
    let l = split.rest();
    if l.init.is_empty() && !is_bulk(l, &whole) {
        return kept(b, whole);
    }
    let results = if l.init.is_empty() {
        let xs = l.xs.iter().map(|x| BatchedValue::stack(*x));
        let inputs: Vec<BatchedValue> = xs.chain(l.captured.iter().map(|c| BatchedValue::single(*c))).collect();
        batch(b, l.n, &l.body, &inputs)
    } else {
        fission(b, l, is_any_seen)
    };
    let mut results = split.together(b, results);
    counted.into_iter().for_each(|(k, last)| results.insert(k, last));
    results
}
