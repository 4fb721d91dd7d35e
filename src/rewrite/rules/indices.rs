//! The rules of [`indexing`], which use facts about integers and masks, as rows of the table.

use super::super::indexing;
use crate::dtype::DType;
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

/// n = c, m = true: integers and masks whose values are known
pub(super) fn decided(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    indexing::decided(b, op, shape, dtype)
}

/// min n m = n where n <= m, n rem c = n where 0 <= n < c, ..: integer arithmetic whose result follows from bounds
pub(super) fn discrete_bounded(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(op, args) = op else { return None };
    indexing::discrete(b, op, args)
}

/// x[c + s * i] = view x: a gather at affine indices
pub(super) fn gather_affine(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Gather(x, ix) = op else { return None };
    indexing::gather(b, *x, ix, shape, dtype)
}

/// scatter_add x [c + s * i] v = x + view v: a scatter at affine indices
pub(super) fn scatter_affine(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::ScatterAdd(x, ix, v) = op else { return None };
    indexing::scatter_add(b, *x, ix, *v)
}

/// select (i < c) x y = concat [view x, view y]: a mask that is an interval of one axis
pub(super) fn select_interval(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Select(operands) = op else { return None };
    indexing::select(b, *operands, shape, dtype)
}
