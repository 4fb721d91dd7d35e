//! The rules of loops.
//!
//! Law: the body of a loop computes only values that change from trip to trip and are needed; a loop of at most one
//! trip is replaced. A value that leaves a body is computed once instead of once per trip.

use indexmap::IndexMap;

use super::Simplifier;
use crate::array::Array;
use crate::ops::{Linear, View};
use crate::program::{Builder, Constant, Loop, Node, NodeId, Op, Slot, reach, results_needed};
use crate::rewrite::rules::of_one_value;
use crate::rewrite::rules::views::{Axes, moves, over, read};
use crate::shape::Shape;

/// The names of the rules of loops in logs.
///
/// | rule | equation |
/// |---|---|
/// | `loop_never` | no trip: the carry is the initial one, the outputs are empty |
/// | `loop_once` | one trip: its body |
/// | `loop_dead_result` | a result that nothing needs is not computed, nor a carry that only such results need |
/// | `loop_invariant_carry` | a carry that every trip returns unchanged is a captured value |
/// | `loop_constant_sequence` | a sequence of equal elements is a captured value |
/// | `loop_captured_constant` | a captured constant is a constant of the body |
/// | `loop_invariant_code` | a value that depends on captured values alone is computed outside |
/// | `loop_invariant_result` | an output that is the same in every trip is replicated, a last carry that does not depend on the trip is computed outside |
/// | `loop_element_output` | an output that is an element of a sequence is that sequence |
/// | `loop_shifted_output` | an output that is a carry before the step, which starts as zeros, is the output of its next value, shifted by one trip |
/// | `loop_last_element` | a carry that becomes an element of a sequence is the element of the last trip |
/// | `loop_equal_outputs` | equal outputs are one |
pub const LOOP_RULES: &[&str] = &[
    "loop_never",
    "loop_once",
    "loop_dead_result",
    "loop_invariant_carry",
    "loop_constant_sequence",
    "loop_captured_constant",
    "loop_invariant_code",
    "loop_invariant_result",
    "loop_element_output",
    "loop_shifted_output",
    "loop_last_element",
    "loop_equal_outputs",
];

/// The new numbers of the results of a loop; `None` for results that are not needed.
type Results = Vec<Option<NodeId>>;

/// A loop under analysis.
struct Parts<'a> {
    l: &'a Loop<NodeId>,
    /// Which results are needed, by users of the loop or by its carries.
    needed: Vec<bool>,
    /// For each operation of the body, its value outside the loop, if it does not change from trip to trip.
    outside: Vec<Option<NodeId>>,
}

impl Simplifier {
    /// The results of a loop in the program that is being built, in which its operands exist already. `needed` and
    /// `seen` say which results are needed, and for which an operation sees the sign of zero.
    pub(super) fn rebuilt_loop(
        &mut self,
        b: &mut Builder,
        at: NodeId,
        mut l: Loop<NodeId>,
        (needed, seen): (Vec<bool>, Vec<bool>),
    ) -> Results {
        without_dead_carries(b, &mut l, &needed);
        self.path.push(at);
        let body = self.rebuilt(&l.body, &b.facts_inside(&l), &seen);
        self.path.pop();
        // Code leaves a body only when the body cannot be simplified further.
        let settled = body == l.body;
        l.body = body;
        match l.n {
            0 => never(b, &l),
            1 => once(b, &l),
            _ => self.reduced(b, &l, needed, settled),
        }
    }

    fn reduced(&mut self, b: &mut Builder, l: &Loop<NodeId>, needed: Vec<bool>, settled: bool) -> Results {
        let mut parts = Parts { l, needed: needed.clone(), outside: vec![None; l.body.nodes().len()] };
        parts.mark_needed(b);
        parts.find_invariants(b, settled);
        let mut results = parts.replaced(b, &needed);
        let shifted = parts.shifted(b, &needed, &results);
        let made =
            |results: &Results, k: usize| needed[k] && results[k].is_none() && !shifted.iter().any(|(of, _)| *of == k);
        let kept = parts.with_carries(|k| made(&results, k));
        let kept: Vec<usize> = (0..kept.len()).filter(|k| kept[*k]).collect();
        if kept.is_empty() {
            return results;
        }
        let (small, place) = parts.smaller(self.builder(), b, &kept);
        let carried = small.init.len();
        let slots: Vec<Slot> = small.body.outputs().to_vec();
        let id = b.add(Op::Loop(Box::new(small)), Shape::new(), crate::DType::F64);
        for (k, place) in kept.iter().zip(place) {
            if made(&results, *k) {
                let mut shape = slots[place].shape.clone();
                if place >= carried {
                    shape.insert(0, l.n);
                }
                results[*k] = Some(b.add(Op::Output(id, place), shape, slots[place].dtype));
            }
        }
        for (k, next) in shifted {
            results[k] = results[next].map(|next| one_trip_later(b, next, l.reverse));
            b.note("loop_shifted_output", results[k].unwrap_or(0));
        }
        results
    }
}

/// Carries that no needed result depends on become invariant, so that inner loops need not compute their next values.
fn without_dead_carries(b: &mut Builder, l: &mut Loop<NodeId>, needed: &[bool]) {
    let nests = l.body.nodes().iter().any(|node| matches!(node.op, Op::Loop(_)));
    if !nests || needed[..l.init.len()].iter().all(|needed| *needed) {
        return;
    }
    let (wanted, _) = results_needed(l, needed);
    let kept = |(k, r): (usize, &NodeId)| if k < l.init.len() && !wanted[k] { k as NodeId } else { *r };
    let results: Vec<NodeId> = l.body.results().iter().enumerate().map(kept).collect();
    if results != l.body.results() {
        l.body = l.body.with_results(&results);
        b.note("loop_dead_result", 0);
    }
}

/// A loop of no trips.
fn never(b: &mut Builder, l: &Loop<NodeId>) -> Results {
    let mut results: Results = l.init.iter().copied().map(Some).collect();
    for slot in &l.body.outputs()[l.init.len()..] {
        let mut shape = slot.shape.clone();
        shape.insert(0, 0);
        results.push(Some(b.apply(Op::Constant(Constant(Array::zeros(&shape, slot.dtype))))));
    }
    b.note("loop_never", results.last().copied().flatten().unwrap_or(0));
    results
}

/// A loop of one trip.
fn once(b: &mut Builder, l: &Loop<NodeId>) -> Results {
    let mut now: Vec<NodeId> = l.init.clone();
    for xs in &l.xs {
        let shape = b.node(*xs).shape.clone();
        let row = Linear::reshape(&shape, &shape[1..]);
        now.push(b.apply(Op::Linear(Box::new(row), *xs)));
    }
    now.extend(&l.captured);
    let now = b.copy(&l.body, now);
    let result = |(k, r): (usize, &NodeId)| {
        let value = now.of(*r);
        if k < l.init.len() {
            return Some(value);
        }
        let shape = b.node(value).shape.clone();
        let mut stacked = shape.clone();
        stacked.insert(0, 1);
        Some(b.apply(Op::Linear(Box::new(Linear::reshape(&shape, &stacked)), value)))
    };
    let results: Results = l.body.results().iter().enumerate().map(result).collect();
    b.note("loop_once", results.last().copied().flatten().unwrap_or(0));
    results
}

impl Parts<'_> {
    fn nodes(&self) -> &[Node] {
        self.l.body.nodes()
    }

    fn carried(&self) -> usize {
        self.l.init.len()
    }

    /// Marks the carries that the needed results need.
    fn mark_needed(&mut self, b: &mut Builder) {
        self.needed = self.with_carries(|k| self.needed[k]);
        if self.needed.contains(&false) {
            b.note("loop_dead_result", 0);
        }
    }

    /// These results, and the carries that they depend on, from trip to trip.
    fn with_carries(&self, of: impl Fn(usize) -> bool) -> Vec<bool> {
        let results = self.l.body.results();
        let mut wanted: Vec<bool> = (0..results.len()).map(of).collect();
        let mut live = vec![false; self.nodes().len()];
        let mut work: Vec<NodeId> = (0..results.len()).filter(|k| wanted[*k]).map(|k| results[k]).collect();
        while let Some(id) = work.pop() {
            if self.outside[id as usize].is_some() || std::mem::replace(&mut live[id as usize], true) {
                continue;
            }
            self.nodes()[id as usize].op.operands(&mut |a| work.push(*a));
            let carry = id as usize;
            if carry < self.carried() && !std::mem::replace(&mut wanted[carry], true) {
                work.push(results[carry]);
            }
        }
        wanted
    }

    /// Finds the values that do not change from trip to trip; computed values are included only if `settled`.
    fn find_invariants(&mut self, b: &mut Builder, settled: bool) {
        let (l, carried) = (self.l, self.carried());
        for k in 0..carried {
            if l.body.results()[k] == k as NodeId {
                self.outside[k] = Some(l.init[k]);
                b.note("loop_invariant_carry", l.init[k]);
            }
        }
        for (k, xs) in l.xs.iter().enumerate() {
            if let Some(element) = element(b, *xs) {
                self.outside[carried + k] = Some(element);
                b.note("loop_constant_sequence", element);
            }
        }
        for (k, captured) in l.captured.iter().enumerate() {
            self.outside[carried + l.xs.len() + k] = Some(*captured);
        }
        if !settled {
            return;
        }
        let live = self.live();
        for (k, node) in l.body.nodes().iter().enumerate().skip(l.body.inputs().len()) {
            let (mut invariant, mut depends) = (live[k], false);
            node.op.operands(&mut |a| {
                let constant = self.is_free(*a);
                invariant &= constant || self.outside[*a as usize].is_some();
                depends |= !constant;
            });
            if !invariant || !depends {
                continue;
            }
            let op = node.op.map(&mut |a| self.leave(b, *a));
            let id = b.add(op, node.shape.clone(), node.dtype);
            b.note("loop_invariant_code", id);
            self.outside[k] = Some(id);
        }
    }

    /// Which operations of the body the needed results depend on.
    fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes().len()];
        for (k, r) in self.l.body.results().iter().enumerate() {
            live[*r as usize] |= self.needed[k];
        }
        reach(self.nodes(), &mut live, |_| true);
        live
    }

    /// Whether an operation of the body has no operands and is no input, so that it can be anywhere.
    fn is_free(&self, id: NodeId) -> bool {
        let op = &self.nodes()[id as usize].op;
        let mut free = !matches!(op, Op::Input(_));
        op.operands(&mut |_| free = false);
        free
    }

    /// Adds an invariant operation of the body to the outer program.
    fn leave(&self, b: &mut Builder, id: NodeId) -> NodeId {
        let node = &self.nodes()[id as usize];
        self.outside[id as usize].unwrap_or_else(|| {
            b.add(node.op.map(&mut |_| unreachable!("it has no operands")), node.shape.clone(), node.dtype)
        })
    }

    /// The needed results that can be replaced by a value other than a result of a loop.
    fn replaced(&self, b: &mut Builder, needed: &[bool]) -> Results {
        let results = self.l.body.results();
        let mut out: Results = vec![None; results.len()];
        let (carried, elements) = (self.carried(), self.l.xs.len());
        for k in (0..results.len()).filter(|k| needed[*k]) {
            let r = results[k];
            let invariant = self.outside[r as usize].is_some() || self.is_free(r);
            let element = (r as usize).checked_sub(carried).filter(|e| *e < elements);
            out[k] = match (k < carried, invariant, element) {
                (true, true, _) => Some(self.leave(b, r)),
                (false, true, _) => {
                    let value = self.leave(b, r);
                    Some(replicated(b, value, self.l.n))
                }
                (false, false, Some(element)) => Some(self.l.xs[element]),
                (true, false, Some(element)) => Some(self.last(b, self.l.xs[element])),
                (_, false, None) => None,
            };
            if let Some(id) = out[k] {
                let changing = if k < carried { "loop_last_element" } else { "loop_element_output" };
                b.note(if invariant { "loop_invariant_result" } else { changing }, id);
            }
        }
        out
    }

    /// The outputs that are a carry before the step, if it starts as zeros, each with the needed output that is the
    /// next value of the carry.
    fn shifted(&self, b: &Builder, needed: &[bool], done: &Results) -> Vec<(usize, usize)> {
        let (carried, results) = (self.carried(), self.l.body.results());
        let open = |k: &usize| needed[*k] && done[*k].is_none();
        let outputs = || (carried..results.len()).filter(open);
        let pair = |k: usize| {
            let carry = results[k] as usize;
            if carry >= carried || !b.is_zero(self.l.init[carry]) {
                return None;
            }
            outputs()
                .find(|next| results[*next] == results[carry] && results[*next] != results[k])
                .map(|next| (k, next))
        };
        outputs().filter_map(pair).collect()
    }

    /// The element of a sequence in the last trip.
    fn last(&self, b: &mut Builder, xs: NodeId) -> NodeId {
        let position = if self.l.reverse { 0 } else { self.l.n - 1 };
        let row = Linear::row(&b.node(xs).shape, 0, position);
        b.apply(Op::Linear(Box::new(row), xs))
    }

    /// The loop with these results alone, carries first, and the position of each among its results.
    fn smaller(&self, mut inner: Builder, b: &mut Builder, kept: &[usize]) -> (Loop<NodeId>, Vec<usize>) {
        let (l, results) = (self.l, self.l.body.results());
        let (carried, given) = (self.carried(), l.body.inputs().len());
        let carries: Vec<usize> = kept.iter().copied().filter(|k| *k < carried).collect();
        // Marks the operations of the body that the kept results need.
        let mut live = vec![false; self.nodes().len()];
        kept.iter().for_each(|k| live[results[*k] as usize] = true);
        reach(self.nodes(), &mut live, |k| self.outside[k].is_none());
        let mut now: Vec<NodeId> = vec![NodeId::MAX; self.nodes().len()];
        let slot = |k: usize| {
            let node = &self.nodes()[k];
            Slot { name: String::new(), shape: node.shape.clone(), dtype: node.dtype }
        };
        for k in &carries {
            now[*k] = inner.input(slot(*k));
        }
        let mut xs: IndexMap<NodeId, NodeId> = IndexMap::new();
        for k in (carried..carried + l.xs.len()).filter(|k| live[*k] && self.outside[*k].is_none()) {
            now[k] = *xs.entry(l.xs[k - carried]).or_insert_with(|| inner.input(slot(k)));
        }
        let mut captured: IndexMap<NodeId, NodeId> = IndexMap::new();
        let mut constants: Vec<(usize, Op<NodeId>)> = Vec::new();
        for k in (0..live.len()).filter(|k| live[*k]) {
            let Some(id) = self.outside[k] else { continue };
            if let Op::Constant(c) = &b.node(id).op {
                constants.push((k, Op::Constant(c.clone())));
            } else {
                now[k] = *captured.entry(id).or_insert_with(|| inner.input(slot(k)));
            }
        }
        for (k, constant) in constants {
            if k < given {
                b.note("loop_captured_constant", 0);
            }
            now[k] = inner.apply(constant);
        }
        for k in (given..live.len()).filter(|k| live[*k] && self.outside[*k].is_none()) {
            let node = &self.nodes()[k];
            let op = node.op.map(&mut |a| now[*a as usize]);
            now[k] = inner.add(op, node.shape.clone(), node.dtype);
        }
        let mut order: Vec<NodeId> = carries.iter().map(|k| now[results[*k] as usize]).collect();
        let mut place: Vec<usize> = (0..carries.len()).collect();
        for k in kept.iter().filter(|k| **k >= carried) {
            let value = now[results[*k] as usize];
            let there = order[carries.len()..].iter().position(|other| *other == value);
            if there.is_some() {
                b.note("loop_equal_outputs", 0);
            }
            place.push(carries.len() + there.unwrap_or(order.len() - carries.len()));
            if there.is_none() {
                order.push(value);
            }
        }
        let body = inner.finish(&order, &[]);
        let small = Loop {
            n: l.n,
            reverse: l.reverse,
            body,
            init: carries.iter().map(|k| l.init[*k]).collect(),
            xs: xs.into_keys().collect(),
            captured: captured.into_keys().collect(),
        };
        (small, place)
    }
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

/// The stack shifted by one trip, with zeros for the first trip.
fn one_trip_later(b: &mut Builder, stack: NodeId, reverse: bool) -> NodeId {
    let shape = b.node(stack).shape.clone();
    let rank = shape.len();
    let matrix: Vec<i64> = (0..rank * rank).map(|k| i64::from(k % (rank + 1) == 0)).collect();
    let offset: Vec<i64> = (0..rank)
        .map(|axis| {
            if axis > 0 {
                0
            } else if reverse {
                1
            } else {
                -1
            }
        })
        .collect();
    b.apply(Op::Linear(Box::new(Linear::read(View::affine(&shape, &shape, &matrix, &offset))), stack))
}

/// `n` copies along a new outermost axis.
fn replicated(b: &mut Builder, value: NodeId, n: usize) -> NodeId {
    let mut shape = b.node(value).shape.clone();
    shape.insert(0, n);
    let axes: Axes = (1..shape.len()).collect();
    b.apply(Op::Linear(Box::new(Linear::replicate(&shape, &axes)), value))
}
