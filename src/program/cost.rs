//! What a program costs, without running it.
//!
//! Laws: the [`Cost`] of a program is what [`count`](fn@crate::inspect::count) counts while the program is
//! interpreted, trip by trip; a base that is used later is copied before it is changed in place. The time is an estimate
//! made of the same numbers, with a weight for each kind of operation: it orders programs that do the same, and says no
//! more.

use super::{NodeId, Op, Program};
use crate::ops::kinds::Kind;
use crate::ops::{Cost, Discrete, FloatStep, Linear, Property, View};
use crate::shape::size;

/// What a run of a program costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Estimate {
    pub(crate) cost: Cost,
    /// The time that a compiled run takes, about, in tenths of nanoseconds.
    pub(crate) time: u64,
}

/// The times of operations, in tenths of nanoseconds: as measured, and rounded.
mod weights {
    /// An operation on numbers, and a function of numbers.
    pub(super) const NUMBER: u64 = 17;
    pub(super) const FUNCTION_OF_NUMBER: u64 = 100;
    /// An operation on arrays beside its elements, and a contraction beside its products.
    pub(super) const CALL: u64 = 100;
    pub(super) const CONTRACTION: u64 = 800;
    /// An element of the result of an operation, and of one that computes a function or moves elements out of order.
    pub(super) const ELEMENT: u64 = 1;
    pub(super) const FUNCTION: u64 = 6;
    pub(super) const MOVED: u64 = 5;
    /// As many products of a contraction, with their sums, take as long as one element.
    pub(super) const PRODUCTS: u64 = 2;
    /// A number of an array that does not stay in a near cache, and the least number of elements of such an array.
    pub(super) const FAR: u64 = 2;
    pub(super) const LARGE: u64 = 1 << 16;
}

impl Program {
    /// What a run costs.
    pub(crate) fn estimate(&self) -> Estimate {
        *self.inner.asked.estimate.get_or_init(|| {
            let of = (0..self.nodes().len()).map(|k| self.estimate_of(k as NodeId));
            of.fold(Estimate::default(), Estimate::plus)
        })
    }

    fn estimate_of(&self, id: NodeId) -> Estimate {
        let op = &self.nodes()[id as usize].op;
        if let Op::Custom(rule, _) = op {
            return rule.primal().estimate();
        }
        let Op::Loop(l) = op else {
            let cost = self.cost_of(id);
            return Estimate { cost, time: time(op, cost) };
        };
        let sequences = l.xs.iter().map(|k| self.nodes()[*k as usize].kind());
        // A stack moves as many bytes as its rows together.
        let rows = l.body.outputs()[l.init.len()..].iter().map(|slot| (&slot.shape[..], slot.dtype));
        let stacks: Cost = rows.map(|row| Cost { calls: 0, ..Cost::trips(0, [row]) }.times(l.n)).sum();
        let own = Cost::trips(l.n, sequences) + stacks;
        let time = (l.n as u64).saturating_mul(weights::NUMBER).saturating_add(own.work).saturating_add(far(own));
        Estimate { cost: own, time }.plus(l.body.estimate().times(l.n))
    }

    /// The cost of an operation that has no program of its own.
    fn cost_of(&self, id: NodeId) -> Cost {
        let (nodes, node) = (self.nodes(), &self.nodes()[id as usize]);
        let of = |a: NodeId| nodes[a as usize].kind();
        let all = |ids: &[NodeId]| ids.iter().map(|a| of(*a)).collect::<Vec<Kind<'_>>>();
        // The copy of a base that another operation needs.
        let copied = |base: NodeId| {
            let copy = Cost { calls: 0, ..Cost::copy(of(base)) };
            if self.last_use()[base as usize] == id { Cost::default() } else { copy }
        };
        let waits = node.op.added().and_then(|[a, b]| match (self.is_deferred(*a), self.is_deferred(*b)) {
            (_, true) => Some((*a, *b)),
            (true, false) => Some((*b, *a)),
            (false, false) => None,
        });
        if let Some((base, view)) = waits
            && let Op::Linear(op, x) = &nodes[view as usize].op
        {
            return Cost::accumulate_linear(op, of(*x)) + copied(base);
        }
        match &node.op {
            Op::Input(_) | Op::Constant(_) | Op::Output(..) | Op::Loop(_) | Op::Custom(..) => Cost::default(),
            Op::Linear(..) if self.is_deferred(id) => Cost::default(),
            Op::Linear(op, _) if matches!(**op, Linear::Reshape { .. }) => Cost::same(),
            Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), _) => Cost::same(),
            Op::Unary(_, a) | Op::Reduce(_, a) => Cost::whole([of(*a)], node.kind()),
            Op::Binary(_, a, b) => Cost::whole([of(*a), of(*b)], node.kind()),
            Op::Discrete(_, args) => Cost::whole(all(args), node.kind()),
            Op::Select(args) => Cost::whole(all(args), node.kind()),
            Op::Linear(op, a) => Cost::linear(op, of(*a), node.kind()),
            Op::Contract(op, a, b) => Cost::contract(op, of(*a), of(*b), node.kind()),
            Op::Gather(_, ix) => Cost::gather(all(ix), node.kind()),
            Op::ScatterAdd(base, ix, v) => Cost::scatter(all(ix), of(*v)) + copied(*base),
            Op::Concat(..) => Cost::copy(node.kind()),
            Op::Call(op, args) => {
                let args = all(args);
                let results = op.results(&args);
                let results: Vec<Kind<'_>> = results.iter().map(|(shape, dtype)| (&shape[..], *dtype)).collect();
                Cost::call(op, &args, &results)
            }
        }
    }
}

impl Estimate {
    fn plus(self, other: Estimate) -> Estimate {
        Estimate { cost: self.cost + other.cost, time: self.time.saturating_add(other.time) }
    }

    fn times(self, n: usize) -> Estimate {
        Estimate { cost: self.cost.times(n), time: self.time.saturating_mul(n as u64) }
    }
}

/// The time in which large arrays are read and written.
fn far(cost: Cost) -> u64 {
    let numbers = cost.bytes / 8;
    if numbers < weights::LARGE { 0 } else { numbers.saturating_mul(weights::FAR) }
}

/// The time that an operation of this cost takes.
fn time(op: &Op<NodeId>, cost: Cost) -> u64 {
    if cost.work == 0 {
        return 0;
    }
    if cost.work == 1 {
        return if is_function(op) { weights::FUNCTION_OF_NUMBER } else { weights::NUMBER };
    }
    let (call, elements) = if let Op::Contract(..) = op {
        (weights::CONTRACTION, cost.work / (2 * weights::PRODUCTS))
    } else {
        let out_of_order = matches!(op, Op::Linear(op, _) if is_out_of_order(op));
        let each = match (is_function(op), out_of_order) {
            (true, _) => weights::FUNCTION,
            (false, true) => weights::MOVED,
            (false, false) => weights::ELEMENT,
        };
        (weights::CALL, cost.work.saturating_mul(each))
    };
    elements.saturating_add(call).saturating_add(far(cost))
}

/// Whether an operation takes much longer than a product.
pub(crate) fn is_function(op: &Op<NodeId>) -> bool {
    match op {
        Op::Unary(op, _) => op.is(Property::Transcendental),
        Op::Binary(op, ..) => op.is(Property::Transcendental),
        Op::Input(_) | Op::Constant(_) | Op::Discrete(..) | Op::Select(_) | Op::Linear(..) | Op::Contract(..) => false,
        Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) | Op::Concat(..) => false,
        Op::Loop(_) | Op::Custom(..) | Op::Call(..) | Op::Output(..) => false,
    }
}

/// Whether neighbours of the result are no neighbours of the operand, as in a transposition.
fn is_out_of_order(op: &Linear) -> bool {
    let strided = |view: &View| {
        let (axes, rank) = (view.shape().len(), view.source().len());
        let moving = |k: usize| view.row(k).last().is_some_and(|step| *step != 0);
        axes > 1 && rank > 1 && (0..rank - 1).any(moving) && size(view.source()) > 1
    };
    match op {
        Linear::Affine { from, into } => strided(from) || strided(into),
        Linear::Reshape { .. } | Linear::Cast { .. } | Linear::Fourier { .. } => false,
    }
}
