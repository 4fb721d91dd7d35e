//! Rules that move views through elementwise operations, and functions of views that other rules use.
//!
//! Law: an elementwise operation on replicated operands is computed before the replication, if that is cheaper. If only
//! a part of the result of an elementwise operation is read, only that part is computed, if that is cheaper.

use smallvec::SmallVec;

use super::{constant, elements, keeps_zero, linearly, resized};
use crate::dtype::DType;
use crate::ops::{Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

/// Numbers of axes.
pub(crate) type Axes = SmallVec<[usize; 6]>;

// ---- views ----

/// Whether the view depends on an axis of the iteration space: its stride along the axis is not 0, or it reads no
/// element at some indices of the axis.
pub(crate) fn moves(view: &View, axis: usize) -> bool {
    view.bounds()[axis] != (0, view.shape()[axis]) || (0..view.source().len()).any(|k| view.row(k)[axis] != 0)
}

/// The view over these axes of the iteration space alone; it must not depend on the others.
pub(crate) fn over(view: &View, axes: &[usize]) -> View {
    view.restricted(axes)
}

/// Whether at every position of their common iteration space, at least one of the views reads no element.
pub(super) fn see_nothing(views: &[&View]) -> bool {
    let apart = |axis: usize| {
        let sides = views.iter().map(|view| view.bounds()[axis]);
        sides.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1))).is_some_and(|(lo, hi)| lo >= hi)
    };
    views.iter().any(|view| view.is_empty()) || (0..views[0].shape().len()).any(apart)
}

/// The view through which a linear operation reads its operand, if the operation is a read alone.
pub(super) fn reading(op: &Linear) -> Option<View> {
    match op {
        Linear::Affine { from, into } if into.is_identity() => Some(from.clone()),
        Linear::Affine { from, into } => from.after(&into.inverse()?),
        Linear::Reshape { from, into } => split(from, into),
        Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => None,
    }
}

/// A reshape that only splits axes, as a view.
fn split(from: &[usize], into: &[usize]) -> Option<View> {
    if size(into) == 0 {
        return None;
    }
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, from.len() * into.len());
    // From the innermost axis outwards: each axis consumes axes of the result until their sizes multiply to its own.
    let mut next = into.len();
    for k in (0..from.len()).rev() {
        let mut stride = 1;
        while stride < from[k] {
            next = next.checked_sub(1)?;
            matrix[k * into.len() + next] = stride as i64;
            stride *= into[next];
        }
        if stride != from[k] {
            return None;
        }
    }
    let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, from.len());
    Some(View::affine(from, into, &matrix, &offset))
}

/// The operand and the view of a value that is a read through a view.
pub(crate) fn read(b: &Builder, id: NodeId) -> Option<(NodeId, View)> {
    let Op::Linear(op, x) = &b.node(id).op else { return None };
    reading(op).map(|view| (*x, view))
}

// ---- elementwise operations on other operands ----

/// The same elementwise operation on other operands, with a result of this shape.
pub(crate) fn elementwise_on(
    b: &mut Builder,
    op: &Op<NodeId>,
    operands: &[NodeId],
    shape: &Shape,
    dtype: DType,
) -> NodeId {
    let mut next = operands.iter();
    let mut moved = op.map(&mut |a| next.next().copied().unwrap_or(*a));
    if let Op::Linear(op, _) = &mut moved
        && let Linear::Cast { from, into, .. } = **op
    {
        **op = Linear::cast(shape, from, into);
    }
    b.add(moved, shape.clone(), dtype)
}

/// f (replicate x) (replicate y) = replicate (f x y), over the axes along which all operands are replicated, where at
/// least one replicated operand has no other use
pub(super) fn replicate_late(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    if !op.is_elementwise() || shape.is_empty() {
        return None;
    }
    let mut operands: SmallVec<[NodeId; 3]> = SmallVec::new();
    op.operands(&mut |a| operands.push(*a));
    // A quick test first: most operands are not views.
    let mut candidate = false;
    for a in &operands {
        let view = matches!(b.node(*a).op, Op::Linear(..));
        candidate |= view && b.once(*a);
        if !view && constant(b, *a).is_none() {
            return None;
        }
    }
    if !candidate || size(shape) == 0 {
        return None;
    }
    let mut reads: SmallVec<[Option<(NodeId, View)>; 3]> = SmallVec::new();
    for a in &operands {
        let found = if constant(b, *a).is_some() { None } else { Some(read(b, *a).filter(|(_, v)| v.is_total())?) };
        reads.push(found);
    }
    let moving = |axis: usize| reads.iter().flatten().any(|(_, view)| moves(view, axis));
    let (kept, dropped): (Axes, Axes) = (0..shape.len()).partition(|axis| moving(*axis));
    let factor = dropped.iter().fold(1usize, |all, axis| all.saturating_mul(shape[*axis]));
    if factor < 2 {
        return None;
    }
    let small: Shape = kept.iter().map(|axis| shape[*axis]).collect();
    let mut on: SmallVec<[NodeId; 3]> = SmallVec::new();
    for (a, read) in operands.iter().zip(reads) {
        on.push(match read {
            Some((x, view)) => linearly(b, Linear::read(over(&view, &kept)), x),
            None => resized(b, *a, &small)?,
        });
    }
    let result = elementwise_on(b, op, &on, &small, dtype);
    Some(linearly(b, Linear::replicate(shape, &kept), result))
}

/// view (f x y) = f (view x) (view y), where the result of `f` has no other use and less is computed and moved: the
/// view is smaller, or cancels with views of the operands
pub(super) fn view_early(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    if !b.once(*a) || !b.node(*a).op.is_elementwise() || !into.is_identity() || elements(b, *a) == 0 {
        return None;
    }
    let f = b.node(*a).op.clone();
    if !from.is_total() && !keeps_zero(b, &f) {
        return None;
    }
    let (before, after) = (elements(b, *a), size(shape));
    let mut operands: SmallVec<[NodeId; 3]> = SmallVec::new();
    f.operands(&mut |x| operands.push(*x));
    // The elements moved and computed on the left side (`now`) and on the right side (`then`).
    let (mut now, mut then, mut cancelled) = (after + before, after, false);
    let mut reads: SmallVec<[Option<(NodeId, View)>; 3]> = SmallVec::new();
    for x in &operands {
        if constant(b, *x).is_some() {
            // A constant with different elements would become another constant.
            resized(b, *x, shape)?;
            reads.push(None);
            continue;
        }
        let inner = read(b, *x).and_then(|(source, view)| Some((source, view.after(from)?)));
        match &inner {
            Some((_, view)) => {
                now += if b.once(*x) { before } else { 0 };
                then += if view.is_identity() { 0 } else { after };
                cancelled |= view.is_identity();
            }
            None => then += after,
        }
        reads.push(Some(inner.unwrap_or_else(|| (*x, from.clone()))));
    }
    if then > now || (then == now && !cancelled) {
        return None;
    }
    let mut on: SmallVec<[NodeId; 3]> = SmallVec::new();
    for (x, read) in operands.iter().zip(reads) {
        on.push(match read {
            Some((source, view)) => linearly(b, Linear::read(view), source),
            None => resized(b, *x, shape)?,
        });
    }
    Some(elementwise_on(b, &f, &on, shape, dtype))
}
