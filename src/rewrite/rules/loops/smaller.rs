//! Rebuilds a loop after its rules have fired: only the missing results remain.

use indexmap::IndexMap;

use super::results::one_trip_later;
use super::{Found, LoopState, RebuiltOutputs};
use crate::dtype::DType;
use crate::program::{Builder, Loop, NodeId, Op, Slot, reach};
use crate::shape::Shape;

/// A captured constant is a constant of the body
pub(super) fn loop_captured_constant(b: &mut Builder, state: &mut LoopState) -> bool {
    let (mut given, inputs) = (false, state.l.body.inputs().len());
    let live = state.kept_live(&state.kept());
    for k in (0..live.len()).filter(|k| live[*k]) {
        if let Some(id) = state.outside[k]
            && let Op::Constant(_) = b.node(id).op
        {
            state.constants[k] = true;
            given |= k < inputs;
        }
    }
    given
}

impl LoopState {
    /// The results of the loop: those that were found, and those of a smaller loop, whose body is made with `inner`.
    pub(crate) fn rebuilt(self, b: &mut Builder, inner: Builder) -> RebuiltOutputs {
        let value = |found: &Option<Found>| if let Some(Found::Value(id)) = found { Some(*id) } else { None };
        let mut results: RebuiltOutputs = self.found.iter().map(value).collect();
        let kept = self.kept();
        if kept.is_empty() {
            return results;
        }
        let (small, place) = self.smaller(inner, b, &kept);
        let (carried, n) = (small.init.len(), small.n);
        let slots: Vec<Slot> = small.body.outputs().to_vec();
        let id = b.add(Op::Loop(Box::new(small)), Shape::new(), DType::F64);
        for (k, place) in kept.iter().zip(place) {
            if self.is_missing(*k) {
                let mut shape = slots[place].shape.clone();
                if place >= carried {
                    shape.insert(0, n);
                }
                results[*k] = Some(b.add(Op::Output(id, place), shape, slots[place].dtype));
            }
        }
        for (k, found) in self.found.iter().enumerate() {
            match found {
                Some(Found::Later(next)) => {
                    results[k] = results[*next].map(|next| one_trip_later(b, next, self.l.reverse))
                }
                Some(Found::Same(first)) => results[k] = results[*first],
                Some(Found::Value(_)) | None => {}
            }
        }
        results
    }

    /// The results that the smaller loop returns: those that are missing, and the carries that they depend on.
    fn kept(&self) -> Vec<usize> {
        let kept = self.with_carries(|k| self.is_missing(k));
        (0..kept.len()).filter(|k| kept[*k]).collect()
    }

    /// Which values of the body the kept results need, inside the loop or outside.
    fn kept_live(&self, kept: &[usize]) -> Vec<bool> {
        let mut live = vec![false; self.nodes().len()];
        kept.iter().for_each(|k| live[self.l.body.results()[*k] as usize] = true);
        reach(self.nodes(), &mut live, |k| self.outside[k].is_none());
        live
    }

    /// The loop with these results alone, carries first, and the position of each among its results.
    fn smaller(&self, mut inner: Builder, b: &Builder, kept: &[usize]) -> (Loop<NodeId>, Vec<usize>) {
        let (l, results) = (&self.l, self.l.body.results());
        let (carried, given) = (self.carried(), l.body.inputs().len());
        let carries: Vec<usize> = kept.iter().copied().filter(|k| *k < carried).collect();
        let live = self.kept_live(kept);
        let mut now: Vec<NodeId> = vec![NodeId::MAX; live.len()];
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
        let outside = |k: usize| self.outside[k].filter(|_| live[k]);
        for (k, id) in (0..live.len()).filter_map(|k| Some((k, outside(k)?))) {
            if !self.constants[k] {
                now[k] = *captured.entry(id).or_insert_with(|| inner.input(slot(k)));
            }
        }
        for (k, id) in (0..live.len()).filter_map(|k| Some((k, outside(k)?))) {
            if self.constants[k] {
                now[k] = inner.apply(b.node(id).op.without_operands());
            }
        }
        for k in (given..live.len()).filter(|k| live[*k] && self.outside[*k].is_none()) {
            let node = &self.nodes()[k];
            let op = node.op.map(&mut |a| now[*a as usize]);
            now[k] = inner.add(op, node.shape.clone(), node.dtype);
        }
        let mut order: Vec<NodeId> = carries.iter().map(|k| now[results[*k] as usize]).collect();
        let mut place: Vec<usize> = (0..carries.len()).collect();
        for k in kept.iter().filter(|k| **k >= carried) {
            place.push(order.len());
            order.push(now[results[*k] as usize]);
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
