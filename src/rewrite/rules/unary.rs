//! Rules of unary functions: the sign of the argument moves to the result, and inverse functions cancel.

use super::{Rule, choice, moderate, squares, table, views};
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
    squares::square_of_root,
    squares::even_of_absolute,
    choice::choice_of_numbers,
    views::replicate_late
];

equations! { |b, op, shape, dtype|
    /// -(-x) = x
    neg_neg { Neg(Neg(x)) => x }

    /// -(x - y) = y - x, where the difference has no other use and the sign of zero is not seen
    neg_difference { Neg(d @ Sub(x, y)) if b.once(d) && b.is_sign_unseen() => Sub(y, x) }

    /// -(c * x) = (-c) * x
    neg_scaled { Neg(scaled(c, x)) => scaled(-c, x) }

    /// -(c / x) = (-c) / x, where c / x has no other use
    neg_quotient { Neg(q @ Div(number(c), x)) if !b.is_used_again(q) => Div(number(-c), x) }

    /// 1 / (1 / x) = x
    recip_recip { Recip(Recip(x)) => x }

    /// 1 / (x / y) = y / x, where the quotient has no other use
    recip_quotient { Recip(q @ Div(x, y)) if b.once(q) => Div(y, x) }

    /// 1 / (c * x) = (1 / c) * (1 / x) for a moderate number c, where c * x has no other use
    recip_scaled { Recip(p @ scaled(c, x)) if moderate(c) && b.once(p) => scaled(1.0 / c, Recip(x)) }

    /// f(-x) = f(x) for even functions: abs, square, cos, cosh, ..
    even_function { Unary(f, Neg(x)) if f.is(Property::Even) => Unary(f, x) }

    /// f(-x) = -f(x) for odd functions: recip, sin, tanh, erf, .., but not neg (see `neg_neg`), where the negation has
    /// no other use
    odd_function {
        Unary(f, n @ Neg(x)) if f.is(Property::Odd) && f != Unary::Neg && b.once(n) => Neg(Unary(f, x))
    }

    /// |f(x)| = f(x) for f = abs, exp, cosh, where both sides have the same derivatives, too. Not for f = square: the
    /// derivative of `abs` at 0 is 0 by convention, even if the cotangent is infinite, and that of `x^2` alone is not
    absolute { Abs(y @ Unary(f, _)) if f.is(Property::OwnAbsolute) => y }
}
