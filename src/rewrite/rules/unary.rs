//! Rules of functions of one float tensor: the sign of the argument moves to the result, and inverse functions cancel.

use super::{Rule, choice, moderate, negated, negation, number, scaled, table, views};
use crate::dtype::DType;
use crate::ops::{Binary, Property, Unary};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

pub(super) const NEG: &[Rule] =
    table![neg_neg, neg_difference, neg_scaled, neg_quotient, choice::choice_of_numbers, views::replicate_late];

pub(super) const RULES: &[Rule] = table![
    recip_recip,
    recip_quotient,
    recip_scaled,
    even_function,
    odd_function,
    absolute,
    choice::choice_of_numbers,
    views::replicate_late
];

/// The function and its argument.
fn applied(op: &Op<NodeId>) -> Option<(Unary, NodeId)> {
    if let Op::Unary(op, a) = op { Some((*op, *a)) } else { None }
}

/// -(-x) = x
fn neg_neg(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    negated(b, applied(op)?.1)
}

/// -(x - y) = y - x, where the difference has no other use and the sign of zero is not seen
fn neg_difference(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (_, a) = applied(op)?;
    let Op::Binary(Binary::Sub, x, y) = b.node(a).op else { return None };
    (b.once(a) && b.is_sign_unseen()).then(|| b.add(Op::Binary(Binary::Sub, y, x), shape.clone(), dtype))
}

/// -(c * x) = (-c) * x
fn neg_scaled(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (c, x) = scaled(b, applied(op)?.1)?;
    Some(super::multiple(b, -c, x))
}

/// -(c / x) = (-c) / x, where c / x has no other use
fn neg_quotient(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (_, a) = applied(op)?;
    let Op::Binary(Binary::Div, c, x) = b.node(a).op else { return None };
    if b.is_used_again(a) {
        return None;
    }
    let c = super::full(b, shape, dtype, -number(b, c)?);
    Some(b.add(Op::Binary(Binary::Div, c, x), shape.clone(), dtype))
}

/// 1 / (1 / x) = x
fn recip_recip(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (Unary::Recip, a) = applied(op)? else { return None };
    if let Op::Unary(Unary::Recip, x) = b.node(a).op { Some(x) } else { None }
}

/// 1 / (x / y) = y / x, where the quotient has no other use
fn recip_quotient(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Unary::Recip, a) = applied(op)? else { return None };
    let Op::Binary(Binary::Div, x, y) = b.node(a).op else { return None };
    b.once(a).then(|| b.add(Op::Binary(Binary::Div, y, x), shape.clone(), dtype))
}

/// 1 / (c * x) = (1 / c) * (1 / x) for a moderate number c, where c * x has no other use
fn recip_scaled(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Unary::Recip, a) = applied(op)? else { return None };
    let (c, x) = scaled(b, a).filter(|(c, _)| moderate(*c) && b.once(a))?;
    let inverse = b.add(Op::Unary(Unary::Recip, x), shape.clone(), dtype);
    Some(super::multiple(b, 1.0 / c, inverse))
}

/// f(-x) = f(x) for even functions: abs, square, cos, cosh, ..
fn even_function(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (f, a) = applied(op)?;
    let x = negated(b, a)?;
    f.is(Property::Even).then(|| b.add(Op::Unary(f, x), shape.clone(), dtype))
}

/// f(-x) = -f(x) for odd functions: recip, sin, tanh, erf, .., where the negation has no other use
fn odd_function(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (f, a) = applied(op)?;
    let x = negated(b, a)?;
    // A negation of a negation is the business of another rule.
    let odd = f.is(Property::Odd) && f != Unary::Neg;
    if !odd || !b.once(a) {
        return None;
    }
    let positive = b.add(Op::Unary(f, x), shape.clone(), dtype);
    Some(negation(b, positive))
}

/// |f(x)| = f(x) for f = abs, exp, cosh: these have the derivatives of `f` at 0, too; `x^2` has not, since the derivative
/// of `abs` at 0 is 0 by convention, also behind an infinite cotangent
fn absolute(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (Unary::Abs, a) = applied(op)? else { return None };
    let Op::Unary(f, _) = b.node(a).op else { return None };
    matches!(f, Unary::Abs | Unary::Exp | Unary::Cosh).then_some(a)
}
