//! Rules applied on request only: true for finite numbers, as long as no intermediate result overflows.
//!
//! Law: the result may differ where an operand or an intermediate result is infinite, NaN or out of range; it is the
//! same up to rounding elsewhere, where the terms of a sum may be added in another order.

use super::{Rule, constant, full, masked, moderate, multiple, number, order, scaled, table};
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

/// A sum or difference with a number: the other operand, and the number that is added.
fn with_number(b: &Builder, op: &Op<NodeId>) -> Option<(NodeId, f64)> {
    let Op::Binary(op, x, y) = *op else { return None };
    match (op, number(b, x), number(b, y)) {
        (Binary::Add, _, Some(c)) => Some((x, c)),
        (Binary::Add, Some(c), None) => Some((y, c)),
        (Binary::Sub, _, Some(c)) => Some((x, -c)),
        (_, _, _) => None,
    }
}

/// Two values, neither constant, as multiples of one.
fn multiples(b: &Builder, x: NodeId, y: NodeId) -> Option<[(f64, NodeId); 2]> {
    let multiple = |a: NodeId| constant(b, a).is_none().then(|| scaled(b, a).unwrap_or((1.0, a)));
    let both = [multiple(x)?, multiple(y)?];
    (both[0].1 == both[1].1).then_some(both)
}

/// Whether a value is a number, or a moderate multiple that has no other use.
fn is_multiple(b: &Builder, a: NodeId) -> bool {
    number(b, a).is_some() || (b.once(a) && scaled(b, a).is_some_and(|(d, _)| moderate(d)))
}

/// `c * a` for such a value.
fn multiplied(b: &mut Builder, c: f64, a: NodeId) -> NodeId {
    match (number(b, a), scaled(b, a)) {
        (Some(d), _) => {
            let (shape, dtype) = (b.node(a).shape.clone(), b.node(a).dtype);
            full(b, &shape, dtype, c * d)
        }
        (None, Some((d, x))) => multiple(b, c * d, x),
        (None, None) => a,
    }
}

equations! { |b, op, shape, dtype|
    /// exp (ln x) = ln (exp x) = x, square (sqrt x) = x, log1p (expm1 x) = expm1 (log1p x) = x, |x^2| = x^2,
    /// sqrt (square x) = |x|
    inverse_functions {
        Exp(Ln(x)) => x,
        Ln(Exp(x)) => x,
        Square(Sqrt(x)) => x,
        Log1p(Expm1(x)) => x,
        Expm1(Log1p(x)) => x,
        Abs(y @ Square(_)) => y,
        Sqrt(Square(x)) => Abs(x)
    }

    /// 0 * x = 0
    mul_zero { Mul(zero @ 0.0, _) => zero }

    /// x - x = 0
    sub_same { Sub(x, ==x) => 0.0 }

    /// x / x = 1
    div_same { Div(x, ==x) => 1.0 }

    /// x * recip y = x / y, where the reciprocal has no other use
    mul_recip { Mul{x, r @ Recip(y)} if b.once(r) => Div(x, y) }

    /// x / recip y = x * y, where the reciprocal has no other use
    div_recip { Div(x, r @ Recip(y)) if b.once(r) => Mul(x, y) }

    /// (x / y) * y = x
    mul_of_quotient { Mul{Div(x, y), ==y} => x }

    /// (x + c) + d = x + (c + d), and the same for differences
    add_constants {
        Binary(_, _, _)
            if let Some((sum, d)) = with_number(b, op), let Some((x, c)) = with_number(b, &b.node(sum).op)
            => Binary(if c + d < 0.0 { Binary::Sub } else { Binary::Add }, x, number((c + d).abs()))
    }

    /// c * x + d * x = (c + d) * x, and the same for differences
    like_terms_of_any_sign {
        Binary(f @ (Binary::Add | Binary::Sub), x, y)
            if let Some([(c, x), (d, _)]) = multiples(b, x, y)
            => scaled(if f == Binary::Sub { c - d } else { c + d }, x)
    }

    /// x * z + y * z = (x + y) * z, and the same for differences, where both products have no other use
    common_factor {
        Binary(f @ (Binary::Add | Binary::Sub), p @ Mul{z, x}, q @ Mul{==z, y})
            if p != q && b.once(p) && b.once(q) && constant(b, z).is_none()
            => Mul(Binary(f, x, y), z)
    }

    /// c * (d * x + e * y) = (c d) * x + (c e) * y for moderate numbers, and the same for differences and for terms
    /// that are numbers, where the sum and the products have no other use
    mul_sum_of_multiples {
        Mul(number(c), sum @ Binary(f @ (Binary::Add | Binary::Sub), x, y))
            if moderate(c) && b.once(sum) && is_multiple(b, x) && is_multiple(b, y)
            => Binary(f, { multiplied(b, c, x) }, { multiplied(b, c, y) })
    }
}
