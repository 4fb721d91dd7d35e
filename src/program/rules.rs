//! Local rules: what an operation on these operands is, if it is something simpler.
//!
//! Law: each rule states an equation, true up to rounding and the sign of zero for all values, infinities
//! and NaN included; so `x * 0` stays. A rule looks at an operation and its operands, no further, and never makes a program dearer.

use smallvec::SmallVec;

use super::{Builder, Constant, NodeId, Op};
use crate::array::{Array, with_elem};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Linear, Unary};
use crate::shape::Shape;

/// Results of at most this many elements are computed from constants when a program is made.
const FOLDED: usize = 64;

/// The number of an existing or simpler operation equal to `op`, if a rule knows one.
pub(super) fn simplify(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    fold(b, op, shape, dtype).or_else(|| match op {
        Op::Unary(op, a) => unary(b, *op, *a),
        Op::Binary(op, x, y) => binary(b, *op, *x, *y, shape, dtype),
        Op::Select([mask, x, y]) => select(b, *mask, *x, *y),
        Op::Linear(op, a) => linear(b, op, *a, shape, dtype),
        Op::Input(_) | Op::Constant(_) | Op::Discrete(..) | Op::Contract(..) | Op::Gather(..) => None,
        Op::ScatterAdd(..) | Op::Concat(..) | Op::Loop(_) | Op::Custom(..) | Op::Output(..) => None,
    })
}

/// The array of a constant.
fn constant(b: &Builder, id: NodeId) -> Option<&Array> {
    if let Op::Constant(c) = &b.node(id).op { Some(&c.0) } else { None }
}

/// The float that all elements of a constant are.
fn number(b: &Builder, id: NodeId) -> Option<f64> {
    let c = constant(b, id)?;
    c.splat::<f64>().or_else(|| c.splat::<f32>().map(f64::from))
}

fn is(b: &Builder, id: NodeId, x: f64) -> bool {
    number(b, id) == Some(x)
}

/// An operation on constants is a constant, if that is small or of one value.
fn fold(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let mut operands: SmallVec<[Array; 3]> = SmallVec::new();
    let mut known = !matches!(op, Op::Input(_) | Op::Constant(_) | Op::Loop(_) | Op::Custom(..) | Op::Output(..));
    let mut uniform = matches!(op, Op::Unary(..) | Op::Binary(..) | Op::Select(_) | Op::Linear(..));
    op.operands(&mut |a| match constant(b, *a) {
        Some(c) => {
            uniform &= of_one_value(c);
            operands.push(c.clone());
        }
        None => known = false,
    });
    let small = shape.iter().product::<usize>() <= FOLDED && operands.iter().all(|c| c.size() <= FOLDED);
    if !known || operands.is_empty() || !(small || uniform) {
        return None;
    }
    let value = match op {
        Op::Unary(op, _) => operands[0].unary(*op),
        Op::Binary(op, ..) => operands[0].binary(*op, &operands[1]),
        Op::Discrete(op, _) => Array::discrete(op, &operands.iter().collect::<SmallVec<[&Array; 3]>>()),
        Op::Select(_) => Array::select(&operands[0], &operands[1], &operands[2]),
        Op::Linear(op, _) => operands[0].linear(op),
        Op::Contract(op, ..) => Array::contract(op, &operands[0], &operands[1]),
        Op::Gather(..) => operands[0].gather(&operands[1..]),
        Op::ScatterAdd(..) => {
            let (v, ix) = operands[1..].split_last()?;
            operands[0].clone().scatter_add(ix, v)
        }
        Op::Concat(axis, _) => Array::concat(*axis, &operands),
        Op::Input(_) | Op::Constant(_) | Op::Loop(_) | Op::Custom(..) | Op::Output(..) => return None,
    };
    Some(b.cons(Op::Constant(Constant(value)), shape.clone(), dtype))
}

fn of_one_value(c: &Array) -> bool {
    with_elem!(c.dtype(), E => c.splat::<E>().is_some())
}

fn unary(b: &mut Builder, op: Unary, a: NodeId) -> Option<NodeId> {
    match (op, &b.node(a).op) {
        // -(-x) = x
        (Unary::Neg, Op::Unary(Unary::Neg, x)) => Some(*x),
        // 1 / (1 / x) = x
        (Unary::Recip, Op::Unary(Unary::Recip, x)) => Some(*x),
        (_, _) => None,
    }
}

fn binary(b: &mut Builder, op: Binary, x: NodeId, y: NodeId, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let negated = |b: &mut Builder, a: NodeId| Some(b.add(Op::Unary(Unary::Neg, a), shape.clone(), dtype));
    match op {
        // x + 0 = x
        Binary::Add if is(b, y, 0.0) => Some(x),
        Binary::Add if is(b, x, 0.0) => Some(y),
        Binary::Add => {
            // x + (-y) = x - y
            if let Op::Unary(Unary::Neg, negative) = b.node(y).op {
                return Some(b.add(Op::Binary(Binary::Sub, x, negative), shape.clone(), dtype));
            }
            if let Op::Unary(Unary::Neg, negative) = b.node(x).op {
                return Some(b.add(Op::Binary(Binary::Sub, y, negative), shape.clone(), dtype));
            }
            None
        }
        // x - 0 = x, 0 - x = -x
        Binary::Sub if is(b, y, 0.0) => Some(x),
        Binary::Sub if is(b, x, 0.0) => negated(b, y),
        Binary::Sub => {
            // x - (-y) = x + y
            if let Op::Unary(Unary::Neg, negative) = b.node(y).op {
                return Some(b.add(Op::Binary(Binary::Add, x, negative), shape.clone(), dtype));
            }
            None
        }
        Binary::Mul => product(b, x, y, shape, dtype),
        // x / 1 = x
        Binary::Div if is(b, y, 1.0) => Some(x),
        // 1 / x = recip x
        Binary::Div if is(b, x, 1.0) => Some(b.add(Op::Unary(Unary::Recip, y), shape.clone(), dtype)),
        Binary::Div => None,
        // x^1 = x, x^2 = square x
        Binary::Pow if is(b, y, 1.0) => Some(x),
        Binary::Pow if is(b, y, 2.0) => Some(b.add(Op::Unary(Unary::Square, x), shape.clone(), dtype)),
        Binary::Pow => None,
        // mul_no_nan(x, c) = c * x for a finite number c that is not 0, and 0 for 0; mul_no_nan(1, y) = y
        Binary::MulNoNan => match number(b, y) {
            Some(0.0) => Some(y),
            Some(c) if c.is_finite() => Some(b.add(Op::Binary(Binary::Mul, y, x), shape.clone(), dtype)),
            Some(_) => None,
            None if is(b, x, 0.0) => Some(x),
            None if is(b, x, 1.0) => Some(y),
            None if is(b, x, -1.0) => negated(b, y),
            None => None,
        },
        // min(x, x) = max(x, x) = x
        Binary::Min | Binary::Max if x == y => Some(x),
        Binary::Min | Binary::Max | Binary::Atan2 | Binary::Hypot | Binary::Copysign => None,
    }
}

fn product(b: &mut Builder, x: NodeId, y: NodeId, shape: &Shape, dtype: DType) -> Option<NodeId> {
    // Constants first, then the older operand: one form for equal products.
    let (x, y, swapped) = match (number(b, x), number(b, y)) {
        (None, Some(_)) => (y, x, true),
        (Some(_), _) => (x, y, false),
        (None, None) => (x.min(y), x.max(y), x > y),
    };
    let make = |b: &mut Builder, op: Op<NodeId>| Some(b.add(op, shape.clone(), dtype));
    // 1 * x = x, -1 * x = -x
    if is(b, x, 1.0) {
        return Some(y);
    }
    if is(b, x, -1.0) {
        return make(b, Op::Unary(Unary::Neg, y));
    }
    // x * x = square x
    if x == y {
        return make(b, Op::Unary(Unary::Square, x));
    }
    if let (Some(c), Op::Binary(Binary::Mul, inner, z)) = (number(b, x), b.node(y).op.clone()) {
        // c * (d * z) = (c d) * z, where neither form overflows or underflows unless the other does
        let together = |c: f64, d: f64| ((c.abs() >= 1.0) == (d.abs() >= 1.0)) && (c * d).is_normal();
        if let Some(d) = number(b, inner).filter(|d| together(c, *d)) {
            let both = b.cons(Op::Constant(Constant(Array::full_as(shape, dtype, c * d))), shape.clone(), dtype);
            return make(b, Op::Binary(Binary::Mul, both, z));
        }
    }
    match (b.node(x).op.clone(), b.node(y).op.clone()) {
        // (-x) * (-y) = x * y
        (Op::Unary(Unary::Neg, x), Op::Unary(Unary::Neg, y)) => make(b, Op::Binary(Binary::Mul, x, y)),
        // c * (-y) = (-c) * y
        (Op::Constant(_), Op::Unary(Unary::Neg, y)) => {
            let c = number(b, x)?;
            let minus = b.cons(Op::Constant(Constant(Array::full_as(shape, dtype, -c))), shape.clone(), dtype);
            make(b, Op::Binary(Binary::Mul, minus, y))
        }
        // (-x) * y = -(x * y)
        (Op::Unary(Unary::Neg, x), _) => {
            let positive = b.add(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype);
            make(b, Op::Unary(Unary::Neg, positive))
        }
        (_, Op::Unary(Unary::Neg, y)) => {
            let positive = b.add(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype);
            make(b, Op::Unary(Unary::Neg, positive))
        }
        (_, _) if swapped => Some(b.cons(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype)),
        (_, _) => None,
    }
}

fn select(b: &mut Builder, mask: NodeId, x: NodeId, y: NodeId) -> Option<NodeId> {
    // select(m, x, x) = x
    if x == y {
        return Some(x);
    }
    // select(true, x, y) = x, select(false, x, y) = y
    let known = constant(b, mask)?.splat::<bool>()?;
    Some(if known { x } else { y })
}

fn linear(b: &mut Builder, op: &Linear, a: NodeId, shape: &Shape, dtype: DType) -> Option<NodeId> {
    if op.is_identity() {
        return Some(a);
    }
    // l(m(x)) = (l m)(x), where that is one operation and not a dearer one.
    if let Op::Linear(first, x) = b.node(a).op.clone() {
        let both = op.after(&first)?;
        if work(&both) <= work(op) + work(&first) {
            return Some(b.add(Op::Linear(Box::new(both), x), shape.clone(), dtype));
        }
    }
    None
}

/// How many elements a linear operation moves.
fn work(op: &Linear) -> usize {
    match op {
        Linear::Affine { from, .. } => from.shape().iter().product(),
        Linear::Reshape { .. } | Linear::Cast { .. } => op.output_shape().iter().product(),
    }
}
