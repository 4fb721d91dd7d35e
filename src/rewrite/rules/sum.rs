//! Rules of sums and differences of floats.

use super::{
    Rule, adjacent, choice, multiple, negated, negation, number, placed, regroup, scaled, scatter, table, views,
};
use crate::dtype::DType;
use crate::ops::Binary;
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

pub(super) const ADD: &[Rule] = table![
    add_zero,
    add_negated,
    add_same,
    add_like_terms,
    opposite_terms,
    add_negative_multiple,
    add_exchanged,
    regroup::like_terms_apart,
    scatter::add_scattered,
    choice::add_choices,
    adjacent::add_adjacent,
    placed::add_placed,
    choice::choice_of_numbers,
    views::replicate_late,
];

pub(super) const SUB: &[Rule] = table![
    sub_zero,
    zero_sub,
    sub_negated,
    sub_from_negative,
    sub_like_terms,
    opposite_terms,
    sub_negative_multiple,
    regroup::like_terms_apart,
    choice::add_choices,
    choice::choice_of_numbers,
    views::replicate_late
];

fn operands(op: &Op<NodeId>) -> Option<(NodeId, NodeId)> {
    if let Op::Binary(_, x, y) = op { Some((*x, *y)) } else { None }
}

/// x + 0 = x, where x is never -0 or the sign of zero is not seen; x + (-0) = x
fn add_zero(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let adds_nothing =
        |zero: NodeId, x: NodeId| number(b, zero).is_some_and(|c| c == 0.0 && (c.is_sign_negative() || b.sign_free(x)));
    if adds_nothing(y, x) {
        return Some(x);
    }
    adds_nothing(x, y).then_some(y)
}

/// x + (-y) = x - y
fn add_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (x, y) = match (negated(b, x), negated(b, y)) {
        (_, Some(y)) => (x, y),
        (Some(x), None) => (y, x),
        (None, None) => return None,
    };
    Some(b.add(Op::Binary(Binary::Sub, x, y), shape.clone(), dtype))
}

/// x + x = 2 * x
fn add_same(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    (x == y).then(|| multiple(b, 2.0, x))
}

/// c * x + d * x = (c + d) * x for numbers c, d of one sign: for other signs a term could overflow where the sum does
/// not
fn add_like_terms(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    like_terms(b, x, y, 1.0)
}

/// c * x - d * x = (c - d) * x for numbers c, d of different signs
fn sub_like_terms(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    like_terms(b, x, y, -1.0)
}

fn like_terms(b: &mut Builder, x: NodeId, y: NodeId, sign: f64) -> Option<NodeId> {
    let [(c, of), (d, _)] = multiples(b, x, y)?;
    let d = sign * d;
    (c * d > 0.0 && (c + d).is_finite()).then(|| multiple(b, c + d, of))
}

/// Two values as multiples of one.
fn multiples(b: &Builder, x: NodeId, y: NodeId) -> Option<[(f64, NodeId); 2]> {
    match (scaled(b, x), scaled(b, y)) {
        (Some(x), Some(y)) if x.1 == y.1 => Some([x, y]),
        (Some((c, of)), _) if of == y => Some([(c, of), (1.0, y)]),
        (_, Some((d, of))) if of == x => Some([(1.0, x), (d, of)]),
        (_, _) => None,
    }
}

/// c * x - d * x = (c - d) * x for different numbers c, d of one sign, and likewise for sums, where |c|, |d| <= 1, so
/// that no term overflows; where c > d and x is never -0, or the sign of zero is not seen. At infinities the terms give
/// NaN: the distribution of a product counts as rounding
fn opposite_terms(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (Op::Binary(sum @ (Binary::Add | Binary::Sub), ..), (x, y)) = (op, operands(op)?) else { return None };
    let [(c, of), (d, _)] = multiples(b, x, y)?;
    let d = if *sum == Binary::Sub { -d } else { d };
    let exact = b.is_sign_unseen() || (c + d > 0.0 && b.sign_free(of));
    let small = c.abs() <= 1.0 && d.abs() <= 1.0;
    (c * d < 0.0 && c + d != 0.0 && small && exact).then(|| multiple(b, c + d, of))
}

/// -x - x = -2 * x
fn sub_from_negative(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    (negated(b, x) == Some(y)).then(|| multiple(b, -2.0, y))
}

/// x + (-c) * y = x - c * y for a number c > 0, where the product has no other use
fn add_negative_multiple(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let negative = |b: &Builder, a: NodeId| scaled(b, a).is_some_and(|(c, _)| c < 0.0) && b.once(a);
    let (x, y) = match (negative(b, y), negative(b, x)) {
        (true, _) => (x, y),
        (false, true) => (y, x),
        (false, false) => return None,
    };
    let (c, z) = scaled(b, y)?;
    let positive = multiple(b, -c, z);
    Some(b.add(Op::Binary(Binary::Sub, x, positive), shape.clone(), dtype))
}

/// x - (-c) * y = x + c * y for a number c > 0, where the product has no other use
fn sub_negative_multiple(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let (c, z) = scaled(b, y).filter(|(c, _)| *c < 0.0)?;
    if !b.once(y) {
        return None;
    }
    let positive = multiple(b, -c, z);
    Some(b.add(Op::Binary(Binary::Add, x, positive), shape.clone(), dtype))
}

/// x + y = y + x, where the latter exists already
fn add_exchanged(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    b.known(&Op::Binary(Binary::Add, y, x)).filter(|_| x != y)
}

/// x - 0 = x; x - (-0) = x, where x is never -0 or the sign of zero is not seen
fn sub_zero(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    number(b, y).is_some_and(|c| c == 0.0 && (c.is_sign_positive() || b.sign_free(x))).then_some(x)
}

/// 0 - x = -x, where the sign of zero is not seen; (-0) - x = -x
fn zero_sub(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let from_zero = number(b, x).is_some_and(|c| c == 0.0 && (c.is_sign_negative() || b.is_sign_unseen()));
    from_zero.then(|| negation(b, y))
}

/// x - (-y) = x + y
fn sub_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (x, y) = operands(op)?;
    let positive = negated(b, y)?;
    Some(b.add(Op::Binary(Binary::Add, x, positive), shape.clone(), dtype))
}
