//! Rules of logic and of integer arithmetic, which are exact.

use super::{Rule, choice, constant, indices, integer, table, views};
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Discrete, FloatStep, IntBinary, IntUnary};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::shape::Shape;

pub(super) const RULES: &[Rule] = table![
    not_not,
    logic_same,
    logic_known,
    int_neg_neg,
    int_sub_same,
    int_constants,
    int_extremum_same,
    indices::discrete_bounded,
    discrete_exchanged,
    choice::to_float_diagonal,
    stop_of_step,
    views::replicate_late,
];

/// Whether each element of the result depends only on the elements of the operands at the same index.
pub(super) fn is_elementwise(op: &Discrete) -> bool {
    match op {
        Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_) => true,
        Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_) => true,
        Discrete::ArgMax { .. } | Discrete::ArgMin { .. } | Discrete::ArgSort { .. } | Discrete::Iota { .. } => false,
    }
}

/// The integer operation and its operands.
fn integers(op: &Op<NodeId>) -> Option<(IntBinary, NodeId, NodeId)> {
    if let Op::Discrete(Discrete::IntBinary(op), args) = op { Some((*op, args[0], args[1])) } else { None }
}

/// not (not m) = m
fn not_not(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(Discrete::Not, args) = op else { return None };
    if let Op::Discrete(Discrete::Not, inner) = &b.node(args[0]).op { Some(inner[0]) } else { None }
}

/// m and m = m or m = m
fn logic_same(_: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(Discrete::And | Discrete::Or, args) = op else { return None };
    (args[0] == args[1]).then_some(args[0])
}

/// m and true = m, m and false = false, m or true = true, m or false = m
fn logic_known(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(op, args) = op else { return None };
    if !matches!(op, Discrete::And | Discrete::Or) {
        return None;
    }
    let decides = *op == Discrete::Or;
    let known = |b: &Builder, a: NodeId| constant(b, a).and_then(|c| c.splat::<bool>());
    let (value, this, other) = match (known(b, args[0]), known(b, args[1])) {
        (Some(value), _) => (value, args[0], args[1]),
        (None, Some(value)) => (value, args[1], args[0]),
        (None, None) => return None,
    };
    Some(if value == decides { this } else { other })
}

/// -(-n) = n
fn int_neg_neg(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(Discrete::IntUnary(IntUnary::Neg), args) = op else { return None };
    if let Op::Discrete(Discrete::IntUnary(IntUnary::Neg), inner) = &b.node(args[0]).op { Some(inner[0]) } else { None }
}

/// n - n = 0
fn int_sub_same(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let (IntBinary::Sub, x, y) = integers(op)? else { return None };
    (x == y).then(|| whole(b, shape, 0))
}

/// (n + c) + d = n + (c + d), (n * c) * d = n * (c d); a difference n - d counts as n + (-d). The equations
/// are exact because integer arithmetic wraps
fn int_constants(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (outer, x, y) = integers(op)?;
    let (kind, inner, d) = with_number(b, outer, x, y)?;
    let (first, x, y) = integers(&b.node(inner).op)?;
    let (same, n, c) = with_number(b, first, x, y)?;
    if same != kind {
        return None;
    }
    let both = kind.apply(c, d);
    let (kind, both) =
        if kind == IntBinary::Add && both < 0 && both != i64::MIN { (IntBinary::Sub, -both) } else { (kind, both) };
    let both = whole(b, shape, both);
    Some(b.add(Op::Discrete(Discrete::IntBinary(kind), [n, both].into()), shape.clone(), dtype))
}

/// A sum or product with a number: the operation, the other operand, and the number.
fn with_number(b: &Builder, op: IntBinary, x: NodeId, y: NodeId) -> Option<(IntBinary, NodeId, i64)> {
    let (left, right) = (integer(b, x), integer(b, y));
    match op {
        IntBinary::Add | IntBinary::Mul => right.map(|c| (op, x, c)).or_else(|| left.map(|c| (op, y, c))),
        IntBinary::Sub => right.map(|c| (IntBinary::Add, x, c.wrapping_neg())),
        IntBinary::Quot | IntBinary::Rem | IntBinary::Min | IntBinary::Max => None,
    }
}

/// min n n = max n n = n
fn int_extremum_same(_: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (IntBinary::Min | IntBinary::Max, x, y) = integers(op)? else { return None };
    (x == y).then_some(x)
}

/// n + m = m + n, and likewise for *, min, max, and, or, where the latter exists already
fn discrete_exchanged(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(kind, args) = op else { return None };
    let commutes = match kind {
        Discrete::And | Discrete::Or => true,
        Discrete::IntBinary(op) => matches!(op, IntBinary::Add | IntBinary::Mul | IntBinary::Min | IntBinary::Max),
        Discrete::Compare(_) | Discrete::Not | Discrete::FloatStep(_) | Discrete::IntUnary(_) | Discrete::ToInt => {
            false
        }
        Discrete::ToFloat(_) | Discrete::ArgMax { .. } | Discrete::ArgMin { .. } => false,
        Discrete::ArgSort { .. } | Discrete::Iota { .. } => false,
    };
    if !commutes || args[0] == args[1] {
        return None;
    }
    b.known(&Op::Discrete(kind.clone(), [args[1], args[0]].into()))
}

/// `x` where this is `stop_gradient x`.
fn stopped(b: &Builder, id: NodeId) -> Option<NodeId> {
    if let Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), args) = &b.node(id).op {
        Some(args[0])
    } else {
        None
    }
}

/// stop_gradient (f n) = f n, where f n has derivative zero: a step as `floor` or another `stop_gradient`, or integers
/// as floats
fn stop_of_step(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), args) = op else { return None };
    let still = matches!(&b.node(args[0]).op, Op::Discrete(Discrete::FloatStep(_) | Discrete::ToFloat(_), _));
    still.then_some(args[0])
}

/// f (stop_gradient x) = stop_gradient (f x), where f x is computed anyway, and all float operands of f are stopped or
/// constants
pub(super) fn stopped_again(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (mut any, mut all) = (false, dtype.is_float());
    op.operands(&mut |a| {
        let stopped = stopped(b, *a).is_some();
        any |= stopped;
        all &= stopped || !b.node(*a).dtype.is_float() || constant(b, *a).is_some();
    });
    if !any || !all {
        return None;
    }
    let moving = op.map(&mut |a| stopped(b, *a).unwrap_or(*a));
    let value = b.known(&moving).filter(|id| b.is_used(*id))?;
    let stop = Discrete::FloatStep(FloatStep::StopGradient);
    Some(b.add(Op::Discrete(stop, [value].as_slice().into()), shape.clone(), dtype))
}

/// The constant whose elements are all equal to one integer.
fn whole(b: &mut Builder, shape: &Shape, n: i64) -> NodeId {
    b.cons(Op::Constant(Constant(Array::full(shape, n))), shape.clone(), DType::I64)
}
