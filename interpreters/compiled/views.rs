//! Views: operations that move elements, read where they are used or written where they belong.
//!
//! Law: a value that a view looks at is in memory, or a number times such a value: an array is not scaled in memory to
//! be looked at.

use super::group::Item;
use super::kernels::runs::Nest;
use super::lower::Scope;
use super::memory::Slot;
use super::plan::known_number;
use super::schedule::{Known, Lowering};
use super::steps::{Home, WholeOp};
use super::walk::{Walk, positions};
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Binary, Linear, View};
use crate::program::{Node, NodeId};
use crate::shape::size;

impl Lowering {
    pub(super) fn linear(&mut self, scope: &mut Scope<'_>, op: &Linear, a: NodeId, node: &Node) -> Known {
        if op.is_identity() {
            return scope.known[a as usize].clone();
        }
        match op {
            Linear::Reshape { .. } => scope.known[a as usize].clone(),
            Linear::Cast { from, .. } => {
                let operands = [scope.operand(a)];
                self.elementwise(size(&node.shape), node.dtype, &operands, |v| Item::Convert(*from, v[0]))
            }
            Linear::Affine { from, into } => {
                let (dtype, of) = scope.kind(a);
                if let Some(read) = as_read(from, into)
                    && let Some(seen) = self.seen(&mut scope.known[a as usize], &read, dtype, of)
                {
                    return seen;
                }
                let Some(seen) = self.seen(&mut scope.known[a as usize], from, dtype, of) else {
                    return self.moved(scope, from, into, a, node);
                };
                let Some(walk) = Walk::new(into) else { return self.moved(scope, from, into, a, node) };
                let out = self.arena(node.dtype, size(&node.shape));
                self.sink(seen, out, walk, into, !into.is_injective());
                Known::Dense(out, 0)
            }
            Linear::Fourier { .. } => self.call(scope, node),
        }
    }

    /// Writes a value to a place through a view, where nothing is written zeros; or adds it to zeros.
    pub(super) fn sink(&mut self, mut seen: Known, out: Slot, mut walk: Walk, into: &View, adds: bool) {
        let (dtype, bytes) = (self.at(out).dtype, self.at(out).bytes());
        // In the order of the value, if that has the axes of the walk.
        if let Known::Turned(inner, turn) = &seen
            && let Some(turned) = walk.turned(turn)
        {
            (seen, walk) = ((**inner).clone(), turned);
        }
        self.in_order(&mut seen, dtype, positions(into));
        let step = self.group_for(positions(into), &[(&seen, dtype)], 0);
        let value = self.within(step, &seen, dtype);
        let covers = !adds && into.is_total() && positions(into) == size(into.source());
        let group = self.draft(step);
        if !covers {
            group.clear(out, bytes);
        }
        group.push(if adds { Item::Add(out, walk, value) } else { Item::Put(out, walk, value) }, dtype);
        self.writes(out, step);
    }

    /// A value seen through a view, if the view is a walk.
    pub(super) fn seen(&mut self, known: &mut Known, view: &View, dtype: DType, of: usize) -> Option<Known> {
        if view.is_identity() {
            return Some(known.clone());
        }
        let walk = Walk::new(view)?;
        // The same elements in the same order.
        if walk.straight() == Some(0) && positions(view) == of {
            return Some(known.clone());
        }
        if let Known::Places(whole) = known
            && *whole == Walk::along(of)
        {
            return Some(Known::Places(walk));
        }
        if let Known::One(slot, at) = known {
            return Some(if walk.is_total() { Known::One(*slot, *at) } else { Known::View(*slot, walk.still(*at)) });
        }
        if let Some(scaled) = self.scaled(known, &walk, dtype, (positions(view), of)) {
            return Some(scaled);
        }
        let (slot, at) = self.dense(known, dtype, of);
        Some(Known::through(slot, walk.moved(at)))
    }

    /// A view of an array times a number, as the number times what the view sees of the array. `sizes` are those of the
    /// view and of the array.
    fn scaled(&mut self, known: &Known, walk: &Walk, dtype: DType, sizes: (usize, usize)) -> Option<Known> {
        let Known::Fused(step, value) = known else { return None };
        let ((slot, at), (number, i)) = self.draft(*step).scaling(*value)?;
        let Home::Constant(constant) = self.at(number).home else { return None };
        // The zeros where a view looks at nothing keep their sign.
        let keeps = |x: f64| walk.is_total() || x > 0.0 && x.is_finite();
        let weight = known_number(&self.constants[constant], i)?;
        if sizes.0 > sizes.1 || !keeps(weight) {
            return None;
        }
        let (array, number) = (Known::through(slot, walk.clone().moved(at)), Known::One(number, i));
        Some(self.elementwise(sizes.0, dtype, &[(&array, dtype), (&number, dtype)], |v| {
            Item::Binary(Binary::Mul, v[0], v[1])
        }))
    }

    /// Elements moved through views that are no walks.
    fn moved(&mut self, scope: &mut Scope<'_>, from: &View, into: &View, a: NodeId, node: &Node) -> Known {
        let (dtype, n) = scope.kind(a);
        let one = self.operand(&mut scope.known[a as usize], dtype, n).one;
        match Nest::new([from, into], [one, false]) {
            Some(nest) => {
                let op = WholeOp::Affine(Box::new(nest), !into.is_injective());
                self.whole(scope, op, &[a], node)
            }
            None => self.constant(&Array::zeros(&node.shape, node.dtype)),
        }
    }
}

/// An operation that writes each place at most once, and many of them, as a view to be read.
pub(super) fn as_read(from: &View, into: &View) -> Option<View> {
    if into.is_identity() {
        return Some(from.clone());
    }
    if positions(into) < size(into.source()) / 4 {
        return None;
    }
    let inverse = into.inverse()?;
    if from.is_identity() { Some(inverse) } else { from.after(&inverse) }
}
