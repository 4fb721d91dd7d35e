//! Reductions: carries that only accumulate become sums over the trips; carries that never change are captured.
//!
//! `c' = c + e`, where `c` has no other use, is the sum of all `e`: an output of the loop and a sum outside. The same
//! holds for `c' = scatter_add(c, ix, v)`, and for several additions in sequence. If a linear or bilinear operation
//! computes `e`, the operands of that operation are stacked and the operation itself sums over the trips: one matrix
//! product instead of a sum of outer products.
//!
//! Law: the results of the loop are unchanged up to the order of sums. If a loop remains, a carry leaves it only if the
//! stacks are smaller than what the additions would move.

use super::batch::{BatchedValue, stack};
use crate::cost::MACHINE;
use crate::dtype::DType;
use crate::ops::{Binary, Contract, Discrete, IntBinary, Linear, View};
use crate::program::{Builder, Loop, NodeId, Op, Program, Slot, made};
use crate::shape::size;

/// One addition to a carry in a trip; values are numbers of the body.
#[derive(Clone, Debug)]
enum Addend {
    Plus(Summand),
    Minus(Summand),
    Scatter(Vec<NodeId>, NodeId),
}

/// An added value: a value of a trip, or a linear or bilinear operation on values of a trip.
#[derive(Clone, Debug)]
enum Summand {
    Linear(Box<(View, View)>, NodeId),
    Contract(Box<Contract>, NodeId, NodeId),
}

/// The fate of a carry.
#[derive(Clone, Debug)]
enum Fate {
    /// The carry stays.
    Carried,
    /// The carry never changes.
    Constant,
    /// The carry only adds up.
    Sum(Vec<Addend>),
}

/// Where the value of a trip is found after the loop.
#[derive(Clone, Copy, Debug)]
enum SummedValueSource {
    /// A sequence of the loop.
    Sequence(usize),
    /// A captured value.
    Captured(usize),
    /// A result of the loop that remains.
    Result(usize),
}

/// A loop whose carries are split off.
pub(super) struct Split {
    whole: Loop<NodeId>,
    fates: Vec<Fate>,
    rest: Loop<NodeId>,
    /// Sorted by the number of the value in the body.
    found: Vec<(NodeId, SummedValueSource)>,
}

impl Split {
    /// Splits a loop. A carry stays in the loop if `signed` holds for its initial value: if that and all terms are -0,
    /// the carry must be -0.
    pub(super) fn of(whole: Loop<NodeId>, mut signed: impl FnMut(NodeId) -> bool) -> Split {
        let uses = whole.body.uses();
        let mut fates: Vec<Fate> = (0..whole.init.len()).map(|k| fate(&whole.body, &uses, k)).collect();
        for (init, fate) in whole.init.iter().zip(&mut fates) {
            if signed(*init) && matches!(fate, Fate::Sum(_)) {
                *fate = Fate::Carried;
            }
        }
        let remaining: Vec<usize> = (0..fates.len()).filter(|k| matches!(fates[*k], Fate::Carried)).collect();
        if !remaining.is_empty() {
            let of = |slot: &Slot| size(&slot.shape);
            let (inputs, first) = (whole.body.inputs(), whole.init.len());
            let kept = remaining.iter().map(|k| of(&inputs[*k]));
            let room = kept.chain(inputs[first..first + whole.xs.len()].iter().map(of)).fold(0, usize::saturating_add);
            for fate in &mut fates {
                if matches!(fate, Fate::Sum(terms) if !terms.iter().all(|t| is_small(&whole, room, t))) {
                    *fate = Fate::Carried;
                }
            }
        }
        let (rest, found) = rest(&whole, &fates);
        Split { whole, fates, rest, found }
    }

    /// The loop of the carries that remain. Its further results are the outputs, and the stacks that are summed
    /// outside.
    pub(super) fn rest(&self) -> &Loop<NodeId> {
        &self.rest
    }

    /// The results of the original loop from those of the loop that remains.
    pub(super) fn together(&self, b: &mut Builder, results: Vec<BatchedValue>) -> Vec<NodeId> {
        let mut carried = results.iter();
        let mut all = Vec::with_capacity(self.whole.body.outputs().len());
        for (init, fate) in self.whole.init.iter().zip(&self.fates) {
            let value = match fate {
                Fate::Carried => carried.next().map_or(*init, |v| v.id),
                Fate::Constant => *init,
                Fate::Sum(terms) => terms.iter().fold(*init, |sum, term| self.add(b, &results, sum, term)),
            };
            all.push(value);
        }
        let outputs = self.whole.body.outputs().len() - self.fates.len();
        all.extend(carried.take(outputs).map(|v| stack(b, self.whole.n, *v)));
        all
    }

    /// The stack of a value over all trips.
    fn value(&self, results: &[BatchedValue], id: NodeId) -> BatchedValue {
        // Everything that is summed was returned by the loop.
        let at = made(self.found.binary_search_by_key(&id, |(id, _)| *id).ok());
        match self.found[at].1 {
            SummedValueSource::Sequence(k) => BatchedValue::stack(self.whole.xs[k]),
            SummedValueSource::Captured(k) => BatchedValue::single(self.whole.captured[k]),
            SummedValueSource::Result(k) => results[k],
        }
    }

    /// A carry after the additions of all trips.
    fn add(&self, b: &mut Builder, results: &[BatchedValue], sum: NodeId, term: &Addend) -> NodeId {
        let n = self.whole.n;
        match term {
            Addend::Plus(e) => {
                let e = self.summed(b, results, e);
                b.plus(sum, e)
            }
            Addend::Minus(e) => {
                let e = self.summed(b, results, e);
                b.minus(sum, e)
            }
            Addend::Scatter(ix, v) => {
                let ix = ix.iter().map(|i| stack(b, n, self.value(results, *i))).collect();
                let v = stack(b, n, self.value(results, *v));
                b.apply(Op::ScatterAdd(sum, ix, v))
            }
        }
    }

    /// The sum of an added value over all trips.
    fn summed(&self, b: &mut Builder, results: &[BatchedValue], summand: &Summand) -> NodeId {
        let n = self.whole.n;
        let lift = |view: &View, v: BatchedValue| if v.stacked { view.batched(n) } else { view.widened(n) };
        match summand {
            Summand::Linear(views, v) => {
                let ((from, into), v) = (&**views, self.value(results, *v));
                let op = Linear::affine(lift(from, v), into.widened(n));
                b.apply(Op::Linear(Box::new(op), v.id))
            }
            Summand::Contract(op, x, y) => {
                let (x, y) = (self.value(results, *x), self.value(results, *y));
                let op = Contract::new(lift(&op.a, x), lift(&op.b, y), op.out.widened(n));
                b.apply(Op::Contract(Box::new(op), x.id, y.id))
            }
        }
    }
}

/// The fate of a carry, found by following the carry from its input through the only use of each value to its next
/// value.
#[allow(clippy::wildcard_enum_match_arm, reason = "what is not known to add up stays a carry")]
fn fate(body: &Program, uses: &[u32], k: usize) -> Fate {
    let mut at = k as NodeId;
    if body.results()[k] == at {
        return Fate::Constant;
    }
    let dtype = body.inputs()[k].dtype;
    if dtype == DType::Bool {
        return Fate::Carried;
    }
    let mut terms = Vec::new();
    loop {
        if uses[at as usize] != 1 {
            return Fate::Carried;
        }
        let user = body.last_use()[at as usize];
        let Some(node) = body.nodes().get(user as usize) else {
            return if body.results()[k] == at { Fate::Sum(terms) } else { Fate::Carried };
        };
        match &node.op {
            op if op.added().is_some() => {
                let others = op.added().into_iter().flatten().filter(|a| **a != at);
                others.for_each(|other| parts(body, uses, *other, &mut terms));
            }
            Op::Binary(Binary::Sub, x, y) if *x == at => terms.push(Addend::Minus(summand(body, *y))),
            Op::Discrete(Discrete::IntBinary(IntBinary::Sub), args) if args[0] == at => {
                terms.push(Addend::Minus(summand(body, args[1])));
            }
            Op::ScatterAdd(base, ix, v) if *base == at => terms.push(scattered(body, ix, *v)),
            _ => return Fate::Carried,
        }
        at = user;
    }
}

/// The additions that `e` consists of: the terms of a sum, if at least one of them is an operation; else `e` itself as
/// one value.
#[allow(clippy::wildcard_enum_match_arm, reason = "what has no parts is added as it is")]
fn parts(body: &Program, uses: &[u32], e: NodeId, terms: &mut Vec<Addend>) {
    let mut found = Vec::new();
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        let op = &body.nodes()[e as usize].op;
        match (op, op.added()) {
            (_, Some([x, y])) if uses[e as usize] == 1 => work.extend([*y, *x]),
            (Op::ScatterAdd(base, ix, v), _) if uses[e as usize] == 1 => {
                found.push(scattered(body, ix, *v));
                work.push(*base);
            }
            (Op::Constant(c), _) if c.is_zero() => {}
            _ => found.push(Addend::Plus(summand(body, e))),
        }
    }
    let is_plain = |term: &Addend| matches!(term, Addend::Plus(Summand::Linear(views, _)) if views.0.is_identity() && views.1.is_identity());
    if found.len() > 1 && found.iter().all(is_plain) {
        found = vec![Addend::Plus(plain(body, e))];
    }
    terms.append(&mut found);
}

#[allow(clippy::wildcard_enum_match_arm, reason = "what is not made by a linear operation is added as it is")]
fn summand(body: &Program, id: NodeId) -> Summand {
    let node = &body.nodes()[id as usize];
    match &node.op {
        Op::Linear(op, a) => match &**op {
            Linear::Affine { from, into } => Summand::Linear(Box::new((from.clone(), into.clone())), *a),
            Linear::Reshape { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => {
                plain(body, id)
            }
        },
        Op::Contract(op, x, y) => Summand::Contract(op.clone(), *x, *y),
        _ => plain(body, id),
    }
}

/// What a scatter-add adds: without an index no axis tells the trips apart, and all of the value is added.
fn scattered(body: &Program, ix: &[NodeId], v: NodeId) -> Addend {
    if ix.is_empty() { Addend::Plus(summand(body, v)) } else { Addend::Scatter(ix.to_vec(), v) }
}

fn plain(body: &Program, id: NodeId) -> Summand {
    let all = View::identity(&body.nodes()[id as usize].shape);
    Summand::Linear(Box::new((all.clone(), all)), id)
}

impl Addend {
    /// The values of a trip that the sums outside need.
    fn needs(&self) -> Vec<NodeId> {
        match self {
            Addend::Plus(Summand::Linear(_, a)) | Addend::Minus(Summand::Linear(_, a)) => vec![*a],
            Addend::Plus(Summand::Contract(_, x, y)) | Addend::Minus(Summand::Contract(_, x, y)) => vec![*x, *y],
            Addend::Scatter(ix, v) => ix.iter().copied().chain([*v]).collect(),
        }
    }
}

/// Whether a term is added outside: its stack takes less memory than the addition moves anyway, or little compared with
/// what a trip moves. A stack that is as large as what the addition moves must be more than a copy of a state.
fn is_small(l: &Loop<NodeId>, room: usize, term: &Addend) -> bool {
    let carried = l.init.len();
    let of = |id: &NodeId| size(&l.body.nodes()[*id as usize].shape);
    let (states, outputs) = l.body.results().split_at(carried);
    // Sequences and outputs are stacked already, and captured values need no stack.
    let given = |id: &NodeId| (carried..l.body.inputs().len()).contains(&(*id as usize)) || outputs.contains(id);
    // A function that is run again computes a sum over the trips of its loop; a stack of these sums gains nothing.
    let nodes = l.body.nodes();
    let again = |id: &NodeId| matches!(&nodes[*id as usize].op, Op::Output(of, _) if matches!(&nodes[*of as usize].op, Op::Custom(c, _) if c.is_checkpointed()));
    if term.needs().iter().any(again) {
        return false;
    }
    let stacked = term.needs().iter().filter(|id| !given(id)).map(of).fold(0, usize::saturating_add);
    // The loop computes a state, before or after the step, even if the sum is outside.
    let is_state = |id: &NodeId| ((*id as usize) < carried || states.contains(id)) && !outputs.contains(id);
    let (added, copies) = match term {
        Addend::Plus(Summand::Linear(views, x)) | Addend::Minus(Summand::Linear(views, x)) => {
            (size(views.1.source()), is_state(x))
        }
        Addend::Plus(Summand::Contract(op, ..)) | Addend::Minus(Summand::Contract(op, ..)) => {
            (size(op.out.source()), false)
        }
        // A scatter costs as much as its values, which are stacked.
        Addend::Scatter(..) => (usize::MAX, false),
    };
    stacked < added || (stacked <= room && !copies && stacked.saturating_mul(l.n) <= MACHINE.level2_stack / 8)
}

/// The loop of the carries that remain, and where the values that the other carries need are found.
fn rest(whole: &Loop<NodeId>, fates: &[Fate]) -> (Loop<NodeId>, Vec<(NodeId, SummedValueSource)>) {
    let (carried, sequences) = (whole.init.len(), whole.xs.len());
    let remaining: Vec<usize> = (0..carried).filter(|k| matches!(fates[*k], Fate::Carried)).collect();
    let constant: Vec<usize> = (0..carried).filter(|k| matches!(fates[*k], Fate::Constant)).collect();
    let old = &whole.body;

    // The inputs in their new order: carries that remain, sequences, captured values and carries that never change. A
    // carry that is summed outside has no value inside, and the additions to it are dead.
    let mut b = Builder::new();
    let order = remaining.iter().copied().chain(carried..old.inputs().len()).chain(constant.iter().copied());
    let numbers = b.taken(old, order);
    // Nothing that remains depends on a carry that is summed outside.
    let number = |id: NodeId| made(numbers[id as usize]);
    let mut results: Vec<NodeId> = remaining.iter().map(|k| number(old.results()[*k])).collect();
    results.extend(old.results()[carried..].iter().map(|r| number(*r)));

    let mut needed: Vec<NodeId> = Vec::new();
    for fate in fates {
        if let Fate::Sum(terms) = fate {
            needed.extend(terms.iter().flat_map(Addend::needs));
        }
    }
    needed.sort_unstable();
    needed.dedup();
    let mut found = Vec::with_capacity(needed.len());
    for id in needed {
        let k = id as usize;
        let place = if (carried..carried + sequences).contains(&k) {
            SummedValueSource::Sequence(k - carried)
        } else if (carried + sequences..old.inputs().len()).contains(&k) {
            SummedValueSource::Captured(k - carried - sequences)
        } else {
            results.push(number(id));
            SummedValueSource::Result(results.len() - 1)
        };
        found.push((id, place));
    }
    let init = remaining.iter().map(|k| whole.init[*k]).collect();
    let captured = whole.captured.iter().copied().chain(constant.iter().map(|k| whole.init[*k])).collect();
    let body = b.finish(&results, &[]);
    (Loop { n: whole.n, reverse: whole.reverse, body, init, xs: whole.xs.clone(), captured }, found)
}
