//! Rules of products, quotients and powers of floats: numbers first, signs and factors outside.

use super::{
    Rule, choice, contract, elements, full, is, linearly, moderate, multiple, negated, negation, number, regroup,
    scaled, table, views,
};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

pub(super) const MUL: &[Rule] = table![
    mul_ordered,
    mul_one,
    mul_minus_one,
    mul_same,
    mul_constants,
    mul_negated_both,
    mul_constant_negated,
    mul_negated,
    mul_quotient,
    mul_scaled,
    mul_into_replicated,
    contract::scaled_contract,
    contract::outer_product,
    choice::choice_of_numbers,
    views::replicate_late,
];

pub(super) const DIV: &[Rule] = table![
    div_one,
    one_div,
    div_negated_both,
    div_constant_negated,
    div_constant_scaled,
    div_negated,
    div_power_of_two,
    div_scaled,
    div_negative,
    div_again,
    choice::choice_of_numbers,
    views::replicate_late,
];

pub(super) const POW: &[Rule] =
    table![pow_zero, pow_one, pow_two, pow_minus_one, choice::choice_of_numbers, views::replicate_late];

pub(super) const POW_LESS_ONE: &[Rule] = table![pow_less_one_number, choice::choice_of_numbers, views::replicate_late];

pub(super) const MUL_NO_NAN: &[Rule] = table![
    no_nan_zero,
    no_nan_number,
    no_nan_negated,
    no_nan_exchanged,
    no_nan_scaled,
    regroup::product_again,
    choice::choice_of_numbers,
    views::replicate_late
];

fn operands(op: &Op<NodeId>) -> Option<(NodeId, NodeId)> {
    if let Op::Binary(_, x, y) = op { Some((*x, *y)) } else { None }
}

/// x * y = y * x: a number first, else the older operand first, so that equal products have one form
fn mul_ordered(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let wrong = match (number(b, x), number(b, y)) {
        (None, Some(_)) => true,
        (Some(_), _) => false,
        (None, None) => x > y,
    };
    wrong.then(|| b.add(Op::Binary(Binary::Mul, y, x), shape.clone(), dtype))
}

/// 1 * x = x
fn mul_one(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, x, 1.0).then_some(y)
}

/// -1 * x = -x
fn mul_minus_one(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, x, -1.0).then(|| negation(b, y))
}

/// x * x = square x
fn mul_same(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    (x == y).then(|| b.add(Op::Unary(Unary::Square, x), shape.clone(), dtype))
}

/// c * (d * x) = (c d) * x, where neither side overflows or underflows unless the other does
fn mul_constants(b: &mut Builder, op: &Op<NodeId>, _: &Shape, dtype: DType) -> Option<NodeId> {
    let (c, y) = operands(op)?;
    let c = number(b, c)?;
    let (d, x) = scaled(b, y)?;
    let together = (moderate(c) && moderate(d)) || (c.abs() >= 1.0) == (d.abs() >= 1.0);
    (together && normal(c * d, dtype)).then(|| multiple(b, c * d, x))
}

/// Whether a number is normal (of full precision) in this element type.
fn normal(c: f64, dtype: DType) -> bool {
    match dtype {
        DType::F32 => (c as f32).is_normal(),
        DType::F64 | DType::I64 | DType::Bool => c.is_normal(),
    }
}

/// (-x) * (-y) = x * y
fn mul_negated_both(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (x, y) = (negated(b, x)?, negated(b, y)?);
    Some(b.add(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype))
}

/// c * (-x) = (-c) * x
fn mul_constant_negated(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (c, y) = operands(op)?;
    let (c, x) = (number(b, c)?, negated(b, y)?);
    Some(multiple(b, -c, x))
}

/// (-x) * y = -(x * y)
fn mul_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (x, y) = match (negated(b, x), negated(b, y)) {
        (Some(x), _) => (x, y),
        (None, Some(y)) => (x, y),
        (None, None) => return None,
    };
    let positive = b.add(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype);
    Some(negation(b, positive))
}

/// c * (d / x) = (c d) / x for moderate numbers c, d
fn mul_quotient(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (c, y) = operands(op)?;
    let c = number(b, c)?;
    // A reciprocal stays: the second derivative of a reciprocal at 0 has another guard than that of a quotient.
    let Op::Binary(Binary::Div, d, x) = b.node(y).op else { return None };
    let d = number(b, d)?;
    if !moderate(c) || !moderate(d) {
        return None;
    }
    let both = full(b, shape, dtype, c * d);
    Some(b.add(Op::Binary(Binary::Div, both, x), shape.clone(), dtype))
}

/// (c * x) * y = c * (x * y) for a moderate number c, where c * x has no other use
fn mul_scaled(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    if number(b, x).is_some() {
        return None;
    }
    let movable = |b: &Builder, a: NodeId| scaled(b, a).filter(|(c, _)| moderate(*c) && b.once(a));
    let (c, x, y) = match (movable(b, x), movable(b, y)) {
        (Some((c, x)), _) => (c, x, y),
        (None, Some((c, y))) => (c, x, y),
        (None, None) => return None,
    };
    let product = b.add(Op::Binary(Binary::Mul, x, y), shape.clone(), dtype);
    Some(multiple(b, c, product))
}

/// c * (x * replicate y) = x * replicate (c * y) for a moderate number c, where product and replica have no other use,
/// and c > 0, elements are only copied, or the sign of zero is not seen
fn mul_into_replicated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (c, product) = operands(op)?;
    let c = number(b, c).filter(|c| moderate(*c))?;
    let Op::Binary(Binary::Mul, x, y) = b.node(product).op else { return None };
    if !b.once(product) {
        return None;
    }
    let small = |b: &Builder, id: NodeId| {
        let Op::Linear(op, s) = &b.node(id).op else { return None };
        let exact = c > 0.0 || b.is_sign_unseen() || views::reading(op).is_some_and(|view| view.is_total());
        (exact && b.once(id) && 2 * elements(b, *s) <= elements(b, id)).then(|| (op.clone(), *s))
    };
    let (x, view, s) = match (small(b, y), small(b, x)) {
        (Some((view, s)), _) => (x, view, s),
        (None, Some((view, s))) => (y, view, s),
        (None, None) => return None,
    };
    let s = multiple(b, c, s);
    let replica = linearly(b, *view, s);
    Some(b.add(Op::Binary(Binary::Mul, x, replica), shape.clone(), dtype))
}

/// x / 1 = x
fn div_one(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, y, 1.0).then_some(x)
}

/// 1 / x = recip x
fn one_div(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, x, 1.0).then(|| b.add(Op::Unary(Unary::Recip, y), shape.clone(), dtype))
}

/// (-x) / (-y) = x / y
fn div_negated_both(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (x, y) = (negated(b, x)?, negated(b, y)?);
    Some(b.add(Op::Binary(Binary::Div, x, y), shape.clone(), dtype))
}

/// c / (-x) = (-c) / x, (-x) / c = x / (-c)
fn div_constant_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (x, y) = match (number(b, x), number(b, y)) {
        (Some(c), _) => (full(b, shape, dtype, -c), negated(b, y)?),
        (None, Some(c)) => (negated(b, x)?, full(b, shape, dtype, -c)),
        (None, None) => return None,
    };
    Some(b.add(Op::Binary(Binary::Div, x, y), shape.clone(), dtype))
}

/// c / (d * x) = (c / d) / x for moderate numbers c, d
fn div_constant_scaled(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (c, y) = operands(op)?;
    let c = number(b, c).filter(|c| moderate(*c))?;
    let (d, x) = scaled(b, y).filter(|(d, _)| moderate(*d))?;
    let both = full(b, shape, dtype, c / d);
    Some(b.add(Op::Binary(Binary::Div, both, x), shape.clone(), dtype))
}

/// (-x) / y = -(x / y), x / (-y) = -(x / y)
fn div_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (x, y) = match (negated(b, x), negated(b, y)) {
        (Some(x), _) => (x, y),
        (None, Some(y)) => (x, y),
        (None, None) => return None,
    };
    let positive = b.add(Op::Binary(Binary::Div, x, y), shape.clone(), dtype);
    Some(negation(b, positive))
}

/// x / c = (1 / c) * x for a moderate power of two c, where 1 / c is exact
fn div_power_of_two(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let c = number(b, y).filter(|c| moderate(*c) && c.abs().log2().fract() == 0.0)?;
    Some(multiple(b, 1.0 / c, x))
}

/// (c * x) / y = c * (x / y) for a moderate number c, where c * x has no other use
fn div_scaled(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (c, z) = scaled(b, x).filter(|(c, _)| moderate(*c) && b.once(x))?;
    let quotient = b.add(Op::Binary(Binary::Div, z, y), shape.clone(), dtype);
    Some(multiple(b, c, quotient))
}

/// (-c) / y = -(c / y) for a number c, where the latter quotient exists already
fn div_negative(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let c = full(b, shape, dtype, -number(b, x)?);
    let positive = b.known(&Op::Binary(Binary::Div, c, y)).filter(|id| b.is_used(*id))?;
    // No rule is applied to the negation: a rule of signs would move the sign of a quotient without other uses back
    // into the number.
    Some(b.cons(Op::Unary(Unary::Neg, positive), shape.clone(), dtype))
}

/// (c / y) / y = (1 / c) * mul_no_nan(c / y, c / y) for a moderate number c, where c / y has another use: the
/// derivatives of a quotient then consist of one quotient. The square has the guard of the quotient
fn div_again(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let Op::Binary(Binary::Div, c, z) = b.node(x).op else { return None };
    let c = number(b, c).filter(|c| moderate(*c) && z == y && b.is_used_again(x))?;
    let square = b.add(Op::Binary(Binary::MulNoNan, x, x), shape.clone(), dtype);
    Some(multiple(b, 1.0 / c, square))
}

/// x^0 = 1
fn pow_zero(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (_, y) = operands(op)?;
    is(b, y, 0.0).then(|| full(b, shape, dtype, 1.0))
}

/// x^1 = x
fn pow_one(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, y, 1.0).then_some(x)
}

/// x^2 = square x
fn pow_two(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, y, 2.0).then(|| b.add(Op::Unary(Unary::Square, x), shape.clone(), dtype))
}

/// x^-1 = recip x
fn pow_minus_one(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    is(b, y, -1.0).then(|| b.add(Op::Unary(Unary::Recip, x), shape.clone(), dtype))
}

/// pow_less_one(x, c) = x^(c - 1), where c - 1 is exact
fn pow_less_one_number(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let c = number(b, y)?;
    let less = c - 1.0;
    let exact = less + 1.0 == c && less - c == -1.0 && (dtype == DType::F64 || f64::from(less as f32) == less);
    let exponent = exact.then(|| full(b, shape, dtype, less))?;
    Some(b.add(Op::Binary(Binary::Pow, x, exponent), shape.clone(), dtype))
}

/// mul_no_nan(x, 0) = 0
fn no_nan_zero(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    (is(b, y, 0.0) || is(b, x, 0.0)).then(|| full(b, shape, dtype, 0.0))
}

/// mul_no_nan(x, c) = c * x for a finite number c that is not 0, where c > 0 and x is never -0, or the sign of zero is
/// not seen
fn no_nan_number(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    // `no_nan_zero` deals with 0.
    let finite = |b: &Builder, a: NodeId| number(b, a).is_some_and(|c| c.is_finite() && c != 0.0);
    let (c, x) = match (finite(b, y), finite(b, x)) {
        (true, _) => (y, x),
        (false, true) => (x, y),
        (false, false) => return None,
    };
    let exact = b.is_sign_unseen() || (b.sign_free(x) && number(b, c).is_some_and(|c| c > 0.0));
    exact.then(|| b.add(Op::Binary(Binary::Mul, c, x), shape.clone(), dtype))
}

/// mul_no_nan(-x, y) = -mul_no_nan(x, y), where the sign of zero is not seen
fn no_nan_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op).filter(|_| b.is_sign_unseen())?;
    let (x, y) = match (negated(b, x), negated(b, y)) {
        (Some(x), _) => (x, y),
        (None, Some(y)) => (x, y),
        (None, None) => return None,
    };
    let positive = b.add(Op::Binary(Binary::MulNoNan, x, y), shape.clone(), dtype);
    Some(negation(b, positive))
}

/// mul_no_nan(x, y) = mul_no_nan(y, x), where the latter exists already
fn no_nan_exchanged(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    b.known(&Op::Binary(Binary::MulNoNan, y, x)).filter(|_| x != y)
}

/// mul_no_nan(c * x, y) = c * mul_no_nan(x, y) for a moderate number c and powers x, y of one value, where c * x has no
/// other use, and c > 0 or the sign of zero is not seen
fn no_nan_scaled(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op).filter(|_| b.factors(op).is_some_and(|product| product.of.len() == 1))?;
    let movable = |b: &Builder, a: NodeId| {
        scaled(b, a).filter(|(c, _)| moderate(*c) && (*c > 0.0 || b.is_sign_unseen()) && b.once(a))
    };
    let (c, x, y) = match (movable(b, x), movable(b, y)) {
        (Some((c, x)), _) => (c, x, y),
        (None, Some((c, y))) => (c, x, y),
        (None, None) => return None,
    };
    let product = b.add(Op::Binary(Binary::MulNoNan, x, y), shape.clone(), dtype);
    Some(multiple(b, c, product))
}
