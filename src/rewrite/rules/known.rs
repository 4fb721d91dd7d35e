//! Sums of values that depend on positions and constants alone.
//!
//! Law: the constant is the number that the operations compute when the program runs, and computing it takes a bounded
//! time.

use smallvec::SmallVec;

use super::{FOLDED, constant, evaluated};
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Discrete, Linear};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::shape::{Shape, size};

/// The largest number of operations that are evaluated when a program is made.
const OPERATIONS: usize = 16;

/// The largest number of elements of each operation.
const ELEMENTS: usize = 1 << 16;

/// sum (f iota) is a constant, and so is a contraction of such values, where the result is small
pub(super) fn known_sum(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let space = if let Op::Contract(op, ..) = op {
        op.a.shape()
    } else if let Op::Linear(op, _) = op
        && let Linear::Affine { from, .. } = &**op
    {
        from.shape()
    } else {
        return None;
    };
    if size(shape) > FOLDED || size(shape) >= size(space) || size(space) > ELEMENTS {
        return None;
    }
    let mut operands: SmallVec<[Array; 3]> = SmallVec::new();
    let mut known = true;
    op.operands(&mut |a| match known.then(|| value(b, *a)).flatten() {
        Some(value) => operands.push(value),
        None => known = false,
    });
    if !known {
        return None;
    }
    let value = evaluated(op, &operands)?;
    Some(b.cons(Op::Constant(Constant(value)), shape.clone(), dtype))
}

/// The value of an operation that depends on positions and constants alone, through few operations.
fn value(b: &Builder, id: NodeId) -> Option<Array> {
    // The number of an operand is smaller than that of the operation, so evaluation follows the numbers.
    let (mut needed, mut next): (Vec<NodeId>, usize) = (vec![id], 0);
    while let Some(id) = needed.get(next) {
        let node = b.node(*id);
        let positions = matches!(&node.op, Op::Discrete(Discrete::Iota { .. }, _));
        let (mut operands, made) = (SmallVec::<[NodeId; 3]>::new(), constant(b, *id).is_some() || positions);
        node.op.operands(&mut |a| operands.push(*a));
        if size(&node.shape) > ELEMENTS || (operands.is_empty() && !made) {
            return None;
        }
        next += 1;
        for a in operands {
            if !needed.contains(&a) {
                needed.push(a);
            }
        }
        if needed.len() > OPERATIONS {
            return None;
        }
    }
    needed.sort_unstable();
    let mut values: Vec<Array> = Vec::with_capacity(needed.len());
    for id in &needed {
        let op = &b.node(*id).op;
        let mut operands: SmallVec<[Array; 3]> = SmallVec::new();
        op.operands(&mut |a| operands.extend(needed.binary_search(a).ok().map(|k| values[k].clone())));
        values.push(match op.as_constant() {
            Some(c) => c.0.clone(),
            None => evaluated(op, &operands)?,
        });
    }
    values.pop()
}
