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

equations! { |b, op, shape, dtype|
    /// x[c + s * i] = view x: a gather at affine indices
    pub(super) gather_affine { Gather(x, ix) => { indexing::gather(b, x, ix, shape, dtype)? } }

    /// scatter_add x [c + s * i] v = x + view v: a scatter at affine indices
    pub(super) scatter_affine { ScatterAdd(x, ix, v) => { indexing::scatter_add(b, x, ix, v)? } }

    /// select (i < c) x y = concat [view x, view y]: a mask that is an interval of one axis
    pub(super) select_interval { Select(m, x, y) => { indexing::select(b, [m, x, y], shape, dtype)? } }
}
