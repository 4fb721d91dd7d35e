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
    int_xor_same,
    indices::discrete_bounded,
    discrete_exchanged,
    choice::to_float_diagonal,
    stop_of_step,
    views::replicate_late,
];

/// The constant whose elements are all equal to one integer.
fn whole(b: &mut Builder, shape: &Shape, n: i64) -> NodeId {
    b.cons(Op::Constant(Constant(Array::full(shape, n))), shape.clone(), DType::I64)
}

/// A sum or product with a number: the operation, the other operand, and the number.
fn with_number(b: &Builder, op: &Op<NodeId>) -> Option<(IntBinary, NodeId, i64)> {
    let Op::Discrete(Discrete::IntBinary(op), args) = op else { return None };
    let (op, x, y) = (*op, args[0], args[1]);
    let (left, right) = (integer(b, x), integer(b, y));
    match op {
        IntBinary::Add | IntBinary::Mul => right.map(|c| (op, x, c)).or_else(|| left.map(|c| (op, y, c))),
        IntBinary::Sub => right.map(|c| (IntBinary::Add, x, c.wrapping_neg())),
        IntBinary::Quot | IntBinary::Rem | IntBinary::Min | IntBinary::Max => None,
        IntBinary::BitAnd | IntBinary::BitOr | IntBinary::BitXor | IntBinary::Threefry => None,
        IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned => None,
    }
}

/// Whether the operands may be exchanged.
fn commutes(op: &Discrete) -> bool {
    match op {
        Discrete::And | Discrete::Or => true,
        Discrete::IntBinary(op) => op.commutes(),
        Discrete::Compare(_) | Discrete::Not | Discrete::FloatStep(_) | Discrete::IntUnary(_) => false,
        Discrete::ToInt | Discrete::ToFloat(_) | Discrete::ArgMax { .. } | Discrete::ArgMin { .. } => false,
        Discrete::ArgSort { .. } | Discrete::PrefixArg { .. } | Discrete::Iota { .. } => false,
    }
}

equations! { |b, op, shape, dtype|
    /// not (not m) = m
    not_not { Not(Not(m)) => m }

    /// m and m = m or m = m
    logic_same {
        And(m, ==m) => m,
        Or(m, ==m) => m
    }

    /// m and true = m, m and false = false, m or true = true, m or false = m
    logic_known {
        And{true, m} => m,
        And{known @ false, _} => known,
        Or{known @ true, _} => known,
        Or{false, m} => m
    }

    /// -(-n) = n
    int_neg_neg { IntNeg(IntNeg(n)) => n }

    /// n - n = 0
    int_sub_same { Int(IntBinary::Sub, n, ==n) => { whole(b, shape, 0) } }

    /// (n + c) + d = n + (c + d), (n * c) * d = n * (c d); a difference n - d counts as n + (-d). The equations
    /// are exact because integer arithmetic wraps
    int_constants {
        Discrete(_, _, _)
            if let Some((kind, inner, d)) = with_number(b, op),
                let Some((same, n, c)) = with_number(b, &b.node(inner).op),
                same == kind
            => {
                let both = kind.apply(c, d);
                let negative = kind == IntBinary::Add && both < 0 && both != i64::MIN;
                let (kind, both) = if negative { (IntBinary::Sub, -both) } else { (kind, both) };
                let both = whole(b, shape, both);
                b.add(Op::Discrete(Discrete::IntBinary(kind), [n, both].into()), shape.clone(), dtype)
            }
    }

    /// min n n = max n n = bit_and n n = bit_or n n = n
    int_extremum_same {
        Int(f, n, ==n) if f.is_idempotent() => n
    }

    /// bit_xor n n = 0
    int_xor_same { Int(IntBinary::BitXor, n, ==n) => { whole(b, shape, 0) } }

    /// n + m = m + n, and the same for *, min, max, and, or, where the latter exists already
    discrete_exchanged {
        Discrete(f, n, m)
            if n != m && commutes(f), let Some(known) = b.known(&Op::Discrete(f.clone(), [m, n].into()))
            => known
    }

    /// stop_gradient (f n) = f n, where f n has derivative zero: a step as `floor` or another `stop_gradient`, or
    /// integers as floats
    stop_of_step {
        Discrete(
            Discrete::FloatStep(FloatStep::StopGradient),
            y @ Discrete(Discrete::FloatStep(_) | Discrete::ToFloat(_), _)
        ) => y
    }
}

/// `x` where this is `stop_gradient x`.
fn stopped(b: &Builder, id: NodeId) -> Option<NodeId> {
    if let Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), args) = &b.node(id).op {
        Some(args[0])
    } else {
        None
    }
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
