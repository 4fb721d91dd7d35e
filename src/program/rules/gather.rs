//! Rules of reading at indices.

use smallvec::SmallVec;

use super::{Rule, constant, elements, indices, is_elementwise, resized, table, views};
use crate::dtype::DType;
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] = table![gather_all, indices::gather_affine, gather_early, gather_number];

/// x[] = x
fn gather_all(_: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Gather(a, ix) = op else { return None };
    ix.is_empty().then_some(*a)
}

/// (f x y)[ix] = f x[ix] y[ix], where the result of `f` has no other use and less is computed and moved; and the
/// indices are within bounds, or `f` of zeros is 0, because reading elsewhere gives 0
fn gather_early(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Gather(a, ix) = op else { return None };
    if !b.once(*a) || !is_elementwise(&b.node(*a).op) {
        return None;
    }
    let f = b.node(*a).op.clone();
    let within = all_within(b, *a, ix);
    if !within && !views::keeps_zero(&f) {
        return None;
    }
    let mut operands: SmallVec<[NodeId; 3]> = SmallVec::new();
    f.operands(&mut |x| operands.push(*x));
    let mut read = 0;
    for x in &operands {
        if constant(b, *x).is_none() {
            read += 1;
        } else if !within || resized(b, *x, shape).is_none() {
            return None;
        }
    }
    // Now: all elements are computed, those of the result read, and indices; then: the latter as often as there are operands.
    let per = 2 * size(shape) + ix.iter().map(|i| elements(b, *i)).sum::<usize>();
    if read * per + size(shape) >= 2 * elements(b, *a) + per {
        return None;
    }
    let mut on: SmallVec<[NodeId; 3]> = SmallVec::new();
    for x in operands {
        on.push(match constant(b, x).is_some() {
            true => resized(b, x, shape)?,
            false => {
                let dtype = b.node(x).dtype;
                b.add(Op::Gather(x, ix.clone()), shape.clone(), dtype)
            }
        });
    }
    Some(views::elementwise_on(b, &f, &on, shape, dtype))
}

/// c[ix] = c for an array of one number, where the indices are within bounds
fn gather_number(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let Op::Gather(a, ix) = op else { return None };
    constant(b, *a)?;
    if !all_within(b, *a, ix) { None } else { resized(b, *a, shape) }
}

/// Whether no index reads out of bounds.
fn all_within(b: &Builder, a: NodeId, ix: &[NodeId]) -> bool {
    let sizes = &b.node(a).shape;
    ix.iter().zip(sizes).all(|(i, n)| is_within(b, *i, *n))
}

/// Whether all of an index tensor is known to lie between 0 and `n`.
pub(super) fn is_within(b: &Builder, ix: NodeId, n: usize) -> bool {
    b.facts().integers(ix).is_some_and(|known| 0 <= known.lo && known.hi < n as i64)
}
