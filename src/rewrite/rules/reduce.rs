//! Rules of extrema along an axis, which are exact: the same element is chosen.

use super::views::{Axes, moves, over, read};
use super::{Rule, linearly, table};
use crate::dtype::DType;
use crate::ops::{Familiar, Linear, Reduce, Unary};
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] =
    table![reduce_one, reduce_replicated, reduce_before_replicate, reduce_permuted, reduce_negated];

/// The reduction and its operand.
fn operand(op: &Op<NodeId>) -> Option<(Reduce, NodeId)> {
    if let Op::Reduce(op, a) = op { Some((*op, *a)) } else { None }
}

equations! { |b, op, shape, dtype|
    /// max axis=k x = reshape x, where axis k has size 1
    reduce_one {
        Reduce(r, x) if b.node(x).shape[r.axis()] == 1 => {
            let from = b.node(x).shape.clone();
            linearly(b, Linear::reshape(&from, shape), x)
        }
    }

    /// max axis=k (replicate x) = x, and the same for other total views that do not move along axis k
    reduce_replicated {
        Reduce(r, y) if let Some((x, view)) = read(b, y), view.is_total() && !moves(&view, r.axis()) => {
            let kept: Axes = (0..=shape.len()).filter(|axis| *axis != r.axis()).collect();
            linearly(b, Linear::read(over(&view, &kept)), x)
        }
    }

    /// max axis=k (-x) = -(min axis=k x), min axis=k (-x) = -(max axis=k x), where -x has no other use
    reduce_negated {
        Reduce(Reduce::Max { axis }, n @ Neg(x)) if b.once(n)
            => Neg({ b.add(Op::Reduce(Reduce::Min { axis }, x), shape.clone(), dtype) }),
        Reduce(Reduce::Min { axis }, n @ Neg(x)) if b.once(n)
            => Neg({ b.add(Op::Reduce(Reduce::Max { axis }, x), shape.clone(), dtype) })
    }
}

/// max axis=k (replicate x) = replicate (max axis=j x), where x is replicated along axes different from k
fn reduce_before_replicate(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, a) = operand(op)?;
    let (x, view) = read(b, a).filter(|(_, view)| view.is_total())?;
    let full = view.shape();
    let (kept, dropped): (Axes, Axes) = (0..full.len()).partition(|axis| *axis == op.axis() || moves(&view, *axis));
    let factor: usize = dropped.iter().map(|axis| full[*axis]).product();
    if factor < 2 || size(shape) == 0 {
        return None;
    }
    let small = linearly(b, Linear::read(over(&view, &kept)), x);
    let axis = kept.iter().position(|axis| *axis == op.axis())?;
    let less: Shape = kept.iter().filter(|k| **k != op.axis()).map(|k| full[*k]).collect();
    let result = b.add(Op::Reduce(op.along(axis), small), less, dtype);
    // The axes of the result that were kept, counted without the axis of the lines.
    let places: Axes =
        kept.iter().filter(|k| **k != op.axis()).map(|k| if *k < op.axis() { *k } else { k - 1 }).collect();
    Some(linearly(b, Linear::replicate(shape, &places), result))
}

/// max axis=k (permute x) = permute (max axis=j x), where the permuted array has no other use
fn reduce_permuted(b: &mut Builder, op: &Op<NodeId>, _: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, a) = operand(op)?;
    let Op::Linear(view, x) = &b.node(a).op else { return None };
    let (Some(Familiar::Permute(perm)), x) = (view.familiar(), *x) else { return None };
    if !b.once(a) {
        return None;
    }
    let axis = perm[op.axis()];
    let mut shape = b.node(x).shape.clone();
    shape.remove(axis);
    let perm: Axes = perm.iter().filter(|k| **k != axis).map(|k| if *k < axis { *k } else { k - 1 }).collect();
    let permute = Linear::permute(&shape, &perm);
    let result = b.add(Op::Reduce(op.along(axis), x), shape, dtype);
    Some(linearly(b, permute, result))
}
