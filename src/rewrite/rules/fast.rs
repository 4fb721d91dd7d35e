//! Rules applied on request only: true for finite numbers, as long as no intermediate result overflows.
//!
//! Law: the result may differ where an operand or an intermediate result is infinite, NaN or out of range; it is the
//! same up to rounding elsewhere, where the terms of a sum may be added in another order.

use super::{Rule, constant, full, is, masked, moderate, number, order, scaled, table};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

pub(super) const UNARY: &[Rule] = table![inverse_functions];

pub(super) const BINARY: &[Rule] = table![
    mul_zero,
    sub_same,
    div_same,
    mul_recip,
    div_recip,
    mul_of_quotient,
    add_constants,
    like_terms_of_any_sign,
    common_factor,
    mul_sum_of_multiples,
];

pub(super) const LINEAR: &[Rule] = table![mask_on_factor];

pub(super) const CONTRACT: &[Rule] = table![order::contract_written];

/// The rules that apply to written constants if the zeros among these count as zeros of basis vectors.
pub(super) const BASIS: &[Rule] = table![order::contract_written];

/// sum (select m (x * y) 0) = sum (select m x 0 * y), where mask and `x` are replicated from fewer elements, and select
/// and product have no other use: after the rule, `y` is multiplied with 0 even where it is not finite
fn mask_on_factor(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    masked::masked_early(b, op, shape, dtype, |_, _| true)
}

fn operands(op: &Op<NodeId>) -> Option<(Binary, NodeId, NodeId)> {
    if let Op::Binary(op, x, y) = op { Some((*op, *x, *y)) } else { None }
}

/// exp (ln x) = ln (exp x) = x, square (sqrt x) = x, sqrt (square x) = |x|, |x^2| = x^2, log1p (expm1 x) = expm1 (log1p x) = x
fn inverse_functions(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Unary(f, a) = op else { return None };
    let Op::Unary(g, x) = b.node(*a).op else { return None };
    let pairs = [
        (Unary::Exp, Unary::Ln),
        (Unary::Ln, Unary::Exp),
        (Unary::Square, Unary::Sqrt),
        (Unary::Log1p, Unary::Expm1),
        (Unary::Expm1, Unary::Log1p),
    ];
    if pairs.contains(&(*f, g)) {
        return Some(x);
    }
    if (*f, g) == (Unary::Abs, Unary::Square) {
        return Some(*a);
    }
    ((*f, g) == (Unary::Sqrt, Unary::Square)).then(|| b.add(Op::Unary(Unary::Abs, x), shape.clone(), dtype))
}

/// 0 * x = 0
fn mul_zero(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (Binary::Mul, x, _) = operands(op)? else { return None };
    is(b, x, 0.0).then_some(x)
}

/// x - x = 0
fn sub_same(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Binary::Sub, x, y) = operands(op)? else { return None };
    (x == y).then(|| full(b, shape, dtype, 0.0))
}

/// x / x = 1
fn div_same(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Binary::Div, x, y) = operands(op)? else { return None };
    (x == y).then(|| full(b, shape, dtype, 1.0))
}

/// `y` where this is `1 / y` and has no other use.
fn inverted(b: &Builder, id: NodeId) -> Option<NodeId> {
    if let Op::Unary(Unary::Recip, y) = b.node(id).op { Some(y).filter(|_| b.once(id)) } else { None }
}

/// x * recip y = x / y, where the reciprocal has no other use
fn mul_recip(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Binary::Mul, x, y) = operands(op)? else { return None };
    let (x, y) = match (inverted(b, y), inverted(b, x)) {
        (Some(y), _) => (x, y),
        (None, Some(x)) => (y, x),
        (None, None) => return None,
    };
    Some(b.add(Op::Binary(Binary::Div, x, y), shape.clone(), dtype))
}

/// x / recip y = x * y, where the reciprocal has no other use
fn div_recip(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Binary::Div, x, y) = operands(op)? else { return None };
    let y = inverted(b, y)?;
    Some(b.add(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype))
}

/// (x / y) * y = x
fn mul_of_quotient(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (Binary::Mul, x, y) = operands(op)? else { return None };
    let numerator = |b: &Builder, quotient: NodeId, by: NodeId| {
        if let Op::Binary(Binary::Div, x, y) = b.node(quotient).op { Some(x).filter(|_| y == by) } else { None }
    };
    numerator(b, x, y).or_else(|| numerator(b, y, x))
}

/// (x + c) + d = x + (c + d), and likewise for differences
fn add_constants(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (outer, x, y) = operands(op)?;
    let with_number = |b: &Builder, op: Binary, x: NodeId, y: NodeId| match (op, number(b, x), number(b, y)) {
        (Binary::Add, _, Some(c)) => Some((x, c)),
        (Binary::Add, Some(c), None) => Some((y, c)),
        (Binary::Sub, _, Some(c)) => Some((x, -c)),
        (_, _, _) => None,
    };
    let (inner, d) = with_number(b, outer, x, y)?;
    let (first, x, y) = operands(&b.node(inner).op)?;
    let (x, c) = with_number(b, first, x, y)?;
    let both = full(b, shape, dtype, (c + d).abs());
    let op = if c + d < 0.0 { Binary::Sub } else { Binary::Add };
    Some(b.add(Op::Binary(op, x, both), shape.clone(), dtype))
}

/// c * x + d * x = (c + d) * x, and likewise for differences
fn like_terms_of_any_sign(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = operands(op)?;
    if !matches!(op, Binary::Add | Binary::Sub) || constant(b, x).is_some() || constant(b, y).is_some() {
        return None;
    }
    let ((c, x), (d, y)) = (scaled(b, x).unwrap_or((1.0, x)), scaled(b, y).unwrap_or((1.0, y)));
    let d = if op == Binary::Sub { -d } else { d };
    (x == y).then(|| super::multiple(b, c + d, x))
}

/// x * z + y * z = (x + y) * z, and likewise for differences, where both products have no other use
fn common_factor(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (sum, p, q) = operands(op)?;
    if !matches!(sum, Binary::Add | Binary::Sub) || p == q || !b.once(p) || !b.once(q) {
        return None;
    }
    let (Op::Binary(Binary::Mul, a, c), Op::Binary(Binary::Mul, d, e)) = (b.node(p).op.clone(), b.node(q).op.clone())
    else {
        return None;
    };
    let ways = [(a, c, d, e), (a, c, e, d), (c, a, d, e), (c, a, e, d)];
    let (z, x, _, y) = ways.into_iter().find(|(z, _, other, _)| z == other)?;
    if constant(b, z).is_some() {
        return None;
    }
    let both = b.add(Op::Binary(sum, x, y), shape.clone(), dtype);
    Some(b.add(Op::Binary(Binary::Mul, both, z), shape.clone(), dtype))
}

/// c * (d * x + e * y) = (c d) * x + (c e) * y for moderate numbers, and likewise for differences and for terms that
/// are numbers, where the sum and the products have no other use
fn mul_sum_of_multiples(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (Binary::Mul, c, sum) = operands(op)? else { return None };
    let c = number(b, c).filter(|c| moderate(*c))?;
    let (op @ (Binary::Add | Binary::Sub), x, y) = operands(&b.node(sum).op)? else { return None };
    let times_moderate = |b: &Builder, a: NodeId| b.once(a) && scaled(b, a).is_some_and(|(d, _)| moderate(d));
    let is_multiple = |b: &Builder, a: NodeId| number(b, a).is_some() || times_moderate(b, a);
    if !b.once(sum) || !is_multiple(b, x) || !is_multiple(b, y) {
        return None;
    }
    let [x, y] = [x, y].map(|a| match (number(b, a), scaled(b, a)) {
        (Some(d), _) => full(b, shape, dtype, c * d),
        (None, Some((d, x))) => super::multiple(b, c * d, x),
        (None, None) => a,
    });
    Some(b.add(Op::Binary(op, x, y), shape.clone(), dtype))
}
