//! Rules of scatters, which add at indices.

use super::gather::is_within;
use super::views::{Axes, moves};
use super::{Rule, indices, linearly, table, zeros};
use crate::dtype::DType;
use crate::ops::{Binary, Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] = table![scatter_zeros, scatter_all, indices::scatter_affine];

equations! { |b, op, shape, dtype|
    /// scatter_add x ix 0 = x, where x is never -0 or the sign of zero is not seen
    scatter_zeros { ScatterAdd(x, _, v) if b.is_zero(v) && b.sign_free(x) => x }

    /// scatter_add x [] v = x + v
    scatter_all { ScatterAdd(x, ix, v) if ix.is_empty() => { b.plus(x, v) } }

    /// x + scatter_add 0 ix v = scatter_add x ix v, where the scatter has no other use, and x is never -0 or the sign
    /// of zero is not seen
    pub(super) add_scattered {
        Add{x, s @ ScatterAdd(zero, ix, v)} if b.once(s) && b.is_zero(zero) && b.sign_free(x) => {
            let ix = ix.clone();
            b.add(Op::ScatterAdd(x, ix, v), shape.clone(), dtype)
        }
    }
}

/// sum (scatter_add 0 [i, ix] v) = scatter_add 0 [ix] v, summed over the axis of an index `i` that is within bounds:
/// the place along the summed axis has no effect; with one index alone, the values are summed. The remaining axes are
/// in any order
pub(super) fn sum_of_scattered(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    let Op::ScatterAdd(base, ix, v) = &b.node(*a).op else { return None };
    if !b.once(*a) || !b.is_zero(*base) || !from.is_identity() || into.is_identity() || size(from.shape()) == 0 {
        return None;
    }
    let kept: Axes = (0..from.shape().len()).filter(|axis| moves(into, *axis)).collect();
    // The axes of the result in its order.
    let own = |k: usize| kept.iter().copied().find(|axis| into.row(k)[*axis] != 0);
    let order: Axes = (0..shape.len()).map(own).collect::<Option<Axes>>()?;
    if kept.len() != order.len() || *into != View::axes(from.shape(), &order) {
        return None;
    }
    let count = ix.len();
    let summed = |axis: usize| !kept.contains(&axis);
    let droppable = |k: usize| summed(k) && is_within(b, ix[k], from.shape()[k]);
    let (dropped, mut left): (Axes, Axes) = (0..count).partition(|k| droppable(*k));
    // Axes that are not indexed are summed before.
    let rank = b.node(*ix.first()?).shape.len();
    let values = b.node(*v).shape.clone();
    let inner: Axes =
        (count..from.shape().len()).filter(|axis| summed(*axis)).map(|axis| axis - count + rank).collect();
    if (dropped.is_empty() && inner.is_empty()) || left.iter().any(|k| summed(*k)) {
        return None;
    }
    // Indexed axes come first; their indices are in any order, the other axes are as they are in the values.
    let rest: Axes = kept.iter().copied().filter(|axis| *axis >= count).collect();
    crate::order::sort_by_key(&mut left, |k| order.iter().position(|axis| axis == k));
    let scattered: Axes = left.iter().chain(&rest).copied().collect();
    let sizes: Shape = scattered.iter().map(|axis| from.shape()[*axis]).collect();
    let turns: Axes = order.iter().filter_map(|axis| scattered.iter().position(|other| other == axis)).collect();
    let (ix, v) = (ix.clone(), *v);
    // A result that sums nothing must not be -0, because a sum from +0 never is.
    let single = left.is_empty() && size(&values) == size(shape);
    if single && !b.sign_free(v) {
        return None;
    }
    let v = if inner.is_empty() { v } else { linearly(b, Linear::sum(&values, &inner), v) };
    if left.is_empty() {
        let all: Axes = (0..rank).collect();
        let shape = b.node(v).shape.clone();
        let sum = linearly(b, Linear::sum(&shape, &all), v);
        return Some(linearly(b, Linear::permute(&sizes, &turns), sum));
    }
    let zeros = zeros(b, &sizes, dtype);
    let ix: Vec<NodeId> = left.iter().map(|k| ix[*k]).collect();
    let scattered = b.add(Op::ScatterAdd(zeros, ix, v), sizes.clone(), dtype);
    Some(linearly(b, Linear::permute(&sizes, &turns), scattered))
}
