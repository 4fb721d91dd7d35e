//! Rules of choices: selection by masks, minimum and maximum, and the binary operations without rules of their own.

use super::{FOLDED, Rule, constant, indices, table, views};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Discrete};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::shape::{Shape, size};

pub(super) const EXTREMA: &[Rule] = table![extremum_same, views::replicate_late];

pub(super) const OTHER: &[Rule] = table![hypot_exchanged, views::replicate_late];

pub(super) const SELECT: &[Rule] = table![
    select_same,
    select_known,
    select_not,
    select_again,
    select_constants,
    indices::select_interval,
    views::replicate_late
];

/// min(x, x) = max(x, x) = x
fn extremum_same(_: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Binary(_, x, y) = op else { return None };
    (x == y).then_some(*x)
}

/// hypot(x, y) = hypot(y, x), where the latter exists already
fn hypot_exchanged(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Binary(Binary::Hypot, x, y) = op else { return None };
    b.known(&Op::Binary(Binary::Hypot, *y, *x)).filter(|_| x != y)
}

fn operands(op: &Op<NodeId>) -> Option<[NodeId; 3]> {
    if let Op::Select(operands) = op { Some(*operands) } else { None }
}

/// select m x x = x
fn select_same(_: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let [_, x, y] = operands(op)?;
    (x == y).then_some(x)
}

/// select true x y = x, select false x y = y
fn select_known(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let [mask, x, y] = operands(op)?;
    let known = constant(b, mask)?.splat::<bool>()?;
    Some(if known { x } else { y })
}

/// select (not m) x y = select m y x
fn select_not(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let [mask, x, y] = operands(op)?;
    let Op::Discrete(Discrete::Not, args) = &b.node(mask).op else { return None };
    let positive = args[0];
    Some(b.add(Op::Select([positive, y, x]), shape.clone(), dtype))
}

/// select m (select m x y) z = select m x z, select m x (select m y z) = select m x z
fn select_again(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let [mask, x, y] = operands(op)?;
    let branch = |b: &Builder, a: NodeId, k: usize| {
        if let Op::Select(inner) = b.node(a).op { Some(inner[k]).filter(|_| inner[0] == mask) } else { None }
    };
    let (inner_x, inner_y) = (branch(b, x, 1), branch(b, y, 2));
    if inner_x.is_none() && inner_y.is_none() {
        return None;
    }
    let branches = [mask, inner_x.unwrap_or(x), inner_y.unwrap_or(y)];
    Some(b.add(Op::Select(branches), shape.clone(), dtype))
}

/// select (i < c) x y of small constants is a constant, where the mask is an interval of one axis
fn select_constants(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let [mask, x, y] = operands(op)?;
    let (x, y) = (constant(b, x)?, constant(b, y)?);
    let (axis, range, inside) = b.interval(mask).filter(|_| size(shape) <= FOLDED)?;
    let step = size(&shape[axis + 1..]);
    let holds = (0..size(shape)).map(|k| range.contains(&(k / step % shape[axis])) == inside).collect();
    let value = Array::select(&Array::new(shape, holds), x, y);
    Some(b.cons(Op::Constant(Constant(value)), shape.clone(), dtype))
}
