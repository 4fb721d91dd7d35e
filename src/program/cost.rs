//! The cost of a program, from shapes and element types, without a run.
//!
//! Laws: the [`Cost`] of a program is the cost that [`count`](fn@crate::inspect::count) counts while the program is
//! interpreted, trip by trip; a base with a later use is copied before it is changed in place. A while loop counts as
//! all trips that its bound allows; without a bound, as one. A transposed one counts as four times its loop, whatever it
//! stores and runs again. A conditional counts as the branch that takes more time. The estimated time
//! is computed from this cost, with a weight for each kind of work: estimates order programs that compute the same
//! values, and predict no time.

use super::{CustomKind, NodeId, Op, OpClass, Program, Single};
use crate::cost::{Cost, Estimate, Work};
use crate::ops::kinds::Kind;
use crate::ops::{Discrete, FloatStep, Linear, Property, View};
use crate::shape::size;

impl Program {
    /// The estimated cost of a run.
    pub(crate) fn estimate(&self) -> Estimate {
        *self.inner.code.asked.estimate.get_or_init(|| {
            let of = (0..self.nodes().len()).map(|k| self.estimate_of(k as NodeId));
            of.fold(Estimate::default(), Estimate::plus)
        })
    }

    /// The estimated cost of one operation, with the programs that it runs.
    pub(crate) fn estimate_of(&self, id: NodeId) -> Estimate {
        let op = &self.nodes()[id as usize].op;
        if let Op::Custom(rule, _) = op {
            if let Some([then, otherwise]) = rule.branches() {
                // Either may run: that with the longer time.
                let (then, otherwise) = (then.estimate(), otherwise.estimate());
                return if then.time >= otherwise.time { then } else { otherwise };
            }
            let one = rule.primal().estimate();
            if let Some(parts) = rule.transposed_while() {
                return parts.estimate();
            }
            return match rule.kind() {
                CustomKind::While { most } => Estimate::of_loop(most.unwrap_or(1), Cost::default(), one),
                CustomKind::Rules { .. }
                | CustomKind::Checkpointed
                | CustomKind::Solve(_)
                | CustomKind::Cond { .. } => one,
            };
        }
        let Op::Loop(l) = op else {
            return Estimate::of(work(op), self.cost_of(id));
        };
        let sequences = l.xs.iter().map(|k| self.nodes()[*k as usize].kind());
        // A stack moves as many bytes as its rows together.
        let rows = l.body.outputs()[l.init.len()..].iter().map(|slot| (&slot.shape[..], slot.dtype));
        let stacks: Cost = rows.map(|row| Cost { calls: 0, ..Cost::trips(0, [row]) }.times(l.n)).sum();
        let own = Cost::trips(l.n, sequences) + stacks;
        Estimate::of_loop(l.n, own, l.body.estimate())
    }

    /// The cost of an operation that runs no other program.
    fn cost_of(&self, id: NodeId) -> Cost {
        let (nodes, node) = (self.nodes(), &self.nodes()[id as usize]);
        let of = |a: NodeId| nodes[a as usize].kind();
        let all = |ids: &[NodeId]| ids.iter().map(|a| of(*a)).collect::<Vec<Kind<'_>>>();
        // The copy of a base that another operation reads later.
        let copied = |base: NodeId| {
            let copy = Cost { calls: 0, ..Cost::copy(of(base)) };
            if self.last_use()[base as usize] == id { Cost::default() } else { copy }
        };
        if let Some((base, view)) = self.sum_in_place(&node.op) {
            return Cost::accumulate_linear(view.op, of(view.source)) + copied(base);
        }
        let op = match node.op.class() {
            OpClass::Single(op) => op,
            OpClass::Call(op, args) => {
                let args = all(args);
                let results = op.results(&args);
                let results: Vec<Kind<'_>> = results.iter().map(|(shape, dtype)| (&shape[..], *dtype)).collect();
                return Cost::call(op, &args, &results);
            }
            OpClass::Input(_) | OpClass::Constant(_) | OpClass::Output(..) => return Cost::default(),
            OpClass::Loop(_) | OpClass::Custom(..) => return Cost::default(),
        };
        match op {
            Single::Linear(..) if self.is_deferred(id) => Cost::default(),
            Single::Linear(Linear::Reshape { .. }, _) => Cost::same(),
            Single::Discrete(Discrete::FloatStep(FloatStep::StopGradient), _) => Cost::same(),
            Single::Unary(_, a) | Single::Reduce(_, a) => Cost::whole([of(*a)], node.kind()),
            Single::Binary(_, a, b) => Cost::whole([of(*a), of(*b)], node.kind()),
            Single::Discrete(_, args) => Cost::whole(all(args), node.kind()),
            Single::Select(args) => Cost::whole(args.map(|a| of(*a)), node.kind()),
            Single::Linear(op, a) => Cost::linear(op, of(*a), node.kind()),
            Single::Contract(op, a, b) => Cost::contract(op, of(*a), of(*b), node.kind()),
            Single::Gather(_, ix) => Cost::gather(all(ix), node.kind()),
            Single::ScatterAdd(base, ix, v) => Cost::scatter(all(ix), of(*v)) + copied(*base),
            Single::Concat(..) => Cost::copy(node.kind()),
        }
    }
}

/// The kind of work, which weighs the time of an operation.
fn work(op: &Op<NodeId>) -> Work {
    if matches!(op, Op::Contract(..)) {
        Work::Products
    } else if op.has(Property::Transcendental) {
        Work::Functions
    } else if matches!(op, Op::Linear(op, _) if is_out_of_order(op)) {
        Work::Moves
    } else {
        Work::Elements
    }
}

/// Whether adjacent elements of the result are not adjacent in the operand, as in a transposition.
fn is_out_of_order(op: &Linear) -> bool {
    let strided = |view: &View| {
        let (axes, rank) = (view.shape().len(), view.source().len());
        let moving = |k: usize| view.row(k).last().is_some_and(|step| *step != 0);
        axes > 1 && rank > 1 && (0..rank - 1).any(moving) && size(view.source()) > 1
    };
    match op {
        Linear::Affine { from, into } => strided(from) || strided(into),
        Linear::Reshape { .. } | Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
    }
}
