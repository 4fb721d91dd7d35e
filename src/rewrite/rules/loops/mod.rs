//! Rules of loops: each rule looks at a whole loop, and at what earlier rules found out about that loop.
//!
//! Law: the body of a loop computes only values that change from trip to trip and are needed; a loop of at most one
//! trip is replaced. A value that leaves a body is computed once instead of once per trip. A rule changes the
//! [`LoopState`] of the loop alone; [`LoopState::rebuilt`] makes the loop that is left, with its results. A pass applies the
//! rules ([`before_body`], [`after_body`]) and simplifies the body between both.

mod invariant;
mod results;
mod smaller;

use super::{Apply, Rule};
use crate::array::Array;
use crate::ops::Linear;
use crate::program::{Builder, Constant, Loop, Node, NodeId, Op, Program, reach, results_needed};

/// A rule of loops as a function: it changes the state of a loop, and says whether it did.
pub(super) type LoopRule = fn(&mut Builder, &mut LoopState) -> bool;

/// The rows of a table of rules of loops.
macro_rules! table {
    ($($rule:path),* $(,)?) => {
        &[$( Rule { name: $crate::rewrite::rules::last(stringify!($rule)), apply: Apply::Loop($rule) }, )*]
    };
}

/// Rules that run before the body of the loop is simplified.
pub(super) const BEFORE: &[Rule] = table![loop_dead_carry];

/// Rules that run after the body of the loop is simplified, in this order.
pub(super) const AFTER: &[Rule] = table![
    loop_never,
    loop_once,
    loop_dead_result,
    invariant::loop_invariant_carry,
    invariant::loop_constant_sequence,
    invariant::loop_invariant_code,
    results::loop_invariant_result,
    results::loop_last_element,
    results::loop_element_output,
    results::loop_shifted_output,
    results::loop_equal_outputs,
    smaller::loop_captured_constant,
];

/// The new numbers of the results of a loop; `None` for results that are not needed.
pub(crate) type RebuiltOutputs = Vec<Option<NodeId>>;

/// Where a result of a loop is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// In another value outside the loop.
    Value(NodeId),
    /// In this other output, one trip later; there are zeros in the first trip.
    Later(usize),
    /// In this other output.
    Same(usize),
}

/// A loop that is being rebuilt, in a program in which its operands exist already, and what the rules know about it.
pub(crate) struct LoopState {
    l: Loop<NodeId>,
    /// Whether simplification leaves the body as it is: only then does code leave it.
    settled: bool,
    /// Which results the users of the loop need.
    asked: Vec<bool>,
    /// Which results are needed, by users of the loop or by its carries.
    needed: Vec<bool>,
    /// For each value of the body, its value outside the loop, if it does not change from trip to trip.
    outside: Vec<Option<NodeId>>,
    /// The values outside the loop that are constants in the new body.
    constants: Vec<bool>,
    /// Where the results are found that the loop need not return.
    found: Vec<Option<Found>>,
}

/// Applies rules in order, as long as a result is missing.
fn apply(b: &mut Builder, state: &mut LoopState, rules: &[Rule]) {
    for rule in rules {
        if let Apply::Loop(step) = rule.apply
            && state.is_open()
            && step(b, state)
        {
            b.note(rule.name, 0);
        }
    }
}

/// A loop after the rules that run before its body is simplified; `asked` says which results are needed.
pub(crate) fn before_body(b: &mut Builder, l: Loop<NodeId>, asked: Vec<bool>) -> LoopState {
    let mut state = LoopState {
        settled: false,
        needed: asked.clone(),
        outside: Vec::new(),
        constants: Vec::new(),
        found: vec![None; asked.len()],
        asked,
        l,
    };
    apply(b, &mut state, BEFORE);
    state
}

/// The loop with its simplified body, after the rules that run once the body is simplified.
pub(crate) fn after_body(b: &mut Builder, state: &mut LoopState, body: Program) {
    state.settled = body == state.l.body;
    state.outside = vec![None; body.nodes().len()];
    state.constants = vec![false; body.nodes().len()];
    state.l.body = body;
    let first = state.carried() + state.l.xs.len();
    state.l.captured.iter().enumerate().for_each(|(k, id)| state.outside[first + k] = Some(*id));
    apply(b, state, AFTER);
}

impl LoopState {
    /// The loop.
    pub(crate) fn of(&self) -> &Loop<NodeId> {
        &self.l
    }

    fn nodes(&self) -> &[Node] {
        self.l.body.nodes()
    }

    fn carried(&self) -> usize {
        self.l.init.len()
    }

    /// Whether a result is needed that no rule has found yet.
    fn is_open(&self) -> bool {
        (0..self.asked.len()).any(|k| self.is_missing(k))
    }

    /// Whether this result is needed and no rule has found it yet.
    fn is_missing(&self, k: usize) -> bool {
        self.asked[k] && self.found[k].is_none()
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

    /// Which operations of the body the needed results depend on.
    fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes().len()];
        for (k, r) in self.l.body.results().iter().enumerate() {
            live[*r as usize] |= self.needed[k];
        }
        reach(self.nodes(), &mut live, |_| true);
        live
    }

    /// Whether an operation of the body has no operands and is not an input, so that it can be anywhere.
    fn is_free(&self, id: NodeId) -> bool {
        let op = &self.nodes()[id as usize].op;
        let mut free = !matches!(op, Op::Input(_));
        op.operands(&mut |_| free = false);
        free
    }

    /// Adds an invariant operation of the body to the outer program.
    fn leave(&self, b: &mut Builder, id: NodeId) -> NodeId {
        let node = &self.nodes()[id as usize];
        self.outside[id as usize].unwrap_or_else(|| b.add(node.op.without_operands(), node.shape.clone(), node.dtype))
    }
}

/// A carry that no needed result depends on stays as it is, so that loops in the body need not compute its next value
fn loop_dead_carry(_: &mut Builder, state: &mut LoopState) -> bool {
    let (l, needed) = (&mut state.l, &state.asked);
    let nests = l.body.nodes().iter().any(|node| matches!(node.op, Op::Loop(_)));
    if !nests || needed[..l.init.len()].iter().all(|needed| *needed) {
        return false;
    }
    let (wanted, _) = results_needed(l, needed);
    let kept = |(k, r): (usize, &NodeId)| if k < l.init.len() && !wanted[k] { k as NodeId } else { *r };
    let results: Vec<NodeId> = l.body.results().iter().enumerate().map(kept).collect();
    if results == l.body.results() {
        return false;
    }
    l.body = l.body.with_results(&results);
    true
}

/// No trip: the last carry is the initial one, the outputs are empty
fn loop_never(b: &mut Builder, state: &mut LoopState) -> bool {
    if state.l.n > 0 {
        return false;
    }
    let carried = state.carried();
    for k in 0..state.found.len() {
        let value = if k < carried {
            state.l.init[k]
        } else {
            let slot = &state.l.body.outputs()[k];
            let mut shape = slot.shape.clone();
            shape.insert(0, 0);
            b.apply(Op::Constant(Constant(Array::zeros(&shape, slot.dtype))))
        };
        state.found[k] = Some(Found::Value(value));
    }
    true
}

/// One trip: the body itself
fn loop_once(b: &mut Builder, state: &mut LoopState) -> bool {
    let l = &state.l;
    if l.n != 1 {
        return false;
    }
    let mut now: Vec<NodeId> = l.init.clone();
    for xs in &l.xs {
        let shape = b.node(*xs).shape.clone();
        let row = Linear::reshape(&shape, &shape[1..]);
        now.push(b.apply(Op::Linear(Box::new(row), *xs)));
    }
    now.extend(&l.captured);
    let now = b.copy(&l.body, now);
    for (k, r) in l.body.results().iter().enumerate() {
        let value = now.of(*r);
        let value = if k < l.init.len() {
            value
        } else {
            let shape = b.node(value).shape.clone();
            let mut stacked = shape.clone();
            stacked.insert(0, 1);
            b.apply(Op::Linear(Box::new(Linear::reshape(&shape, &stacked)), value))
        };
        state.found[k] = Some(Found::Value(value));
    }
    true
}

/// A result that nothing needs is not computed, nor a carry that only such results need
fn loop_dead_result(_: &mut Builder, state: &mut LoopState) -> bool {
    state.needed = state.with_carries(|k| state.asked[k]);
    state.needed.contains(&false)
}
