//! Rules of products, quotients and powers of floats: numbers first, signs and factors outside.

use super::{
    Rule, choice, contract, elements, full, keeps_sign, linearly, moderate, multiple, number, regroup, squares, table,
    views,
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
    mul_recip,
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

pub(super) const POW: &[Rule] = table![
    pow_zero,
    pow_one,
    pow_two,
    pow_minus_one,
    squares::power_of_root,
    squares::even_power_of_absolute,
    choice::choice_of_numbers,
    views::replicate_late,
];

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

pub(super) const DIV_NO_NAN: &[Rule] = table![
    over_zero,
    over_of_number,
    over_number,
    over_negated,
    over_scaled,
    over_replicated,
    choice::choice_of_numbers,
    views::replicate_late
];

/// Whether a number is normal (of full precision) in this element type.
fn normal(c: f64, dtype: DType) -> bool {
    match dtype {
        DType::F32 => (c as f32).is_normal(),
        DType::F64 | DType::I64 | DType::Bool => c.is_normal(),
    }
}

/// Whether two factors may become one: neither side overflows or underflows unless the other does.
fn multiplies(c: f64, d: f64, dtype: DType) -> bool {
    ((moderate(c) && moderate(d)) || (c.abs() >= 1.0) == (d.abs() >= 1.0)) && normal(c * d, dtype)
}

/// Whether `c - 1` is exact.
fn lessens(c: f64, dtype: DType) -> bool {
    let less = c - 1.0;
    less + 1.0 == c && less - c == -1.0 && (dtype == DType::F64 || f64::from(less as f32) == less)
}

equations! { |b, op, shape, dtype|
    /// x * y = y * x: a number first, else the older operand first, so that equal products have one form
    mul_ordered { Mul(x, y) if number(b, x).is_none() && (x > y || number(b, y).is_some()) => Mul(y, x) }

    /// 1 * x = x
    mul_one { Mul(1.0, x) => x }

    /// -1 * x = -x
    mul_minus_one { Mul(-1.0, x) => Neg(x) }

    /// x * x = square x
    mul_same { Mul(x, ==x) => Square(x) }

    /// c * (d * x) = (c d) * x, where neither side overflows or underflows unless the other does
    mul_constants { Mul(number(c), scaled(d, x)) if multiplies(c, d, dtype) => scaled(c * d, x) }

    /// (-x) * (-y) = x * y
    mul_negated_both { Mul(Neg(x), Neg(y)) => Mul(x, y) }

    /// c * (-x) = (-c) * x
    mul_constant_negated { Mul(number(c), Neg(x)) => scaled(-c, x) }

    /// (-x) * y = -(x * y), x * (-y) = -(x * y)
    mul_negated {
        Mul(Neg(x), y) => Neg(Mul(x, y)),
        Mul(x, Neg(y)) => Neg(Mul(x, y))
    }

    /// c * (d / x) = (c d) / x for moderate numbers c, d. A reciprocal stays: the second derivative of a reciprocal at
    /// 0 has a guard that is not that of a quotient
    mul_quotient { Mul(number(c), Div(number(d), x)) if moderate(c) && moderate(d) => Div(number(c * d), x) }

    /// (c * x) * y = c * (x * y), x * (c * y) = c * (x * y) for a moderate number c, where the multiple has no other
    /// use, and x is not a number
    mul_scaled {
        Mul(p @ scaled(c, x), y) if moderate(c) && b.once(p) => scaled(c, Mul(x, y)),
        Mul(x, p @ scaled(c, y)) if moderate(c) && b.once(p) && number(b, x).is_none() => scaled(c, Mul(x, y))
    }

    /// x * recip y = x / y, where the reciprocal has no other use
    mul_recip { Mul{x, r @ Recip(y)} if b.once(r) && number(b, x).is_none() => Div(x, y) }

    /// c * (x * replicate y) = x * replicate (c * y) for a moderate number c, where product and replica have no other
    /// use, and c > 0, elements are only copied, or the sign of zero is not seen
    mul_into_replicated {
        Mul(number(c), p @ Mul{x, r @ Linear(view, y)})
            if moderate(c) && b.once(p) && b.once(r) && 2 * elements(b, y) <= elements(b, r),
                keeps_sign(b, c) || views::reading(view).is_some_and(|view| view.is_total())
            => Mul(x, {
                let view = (**view).clone();
                let y = multiple(b, c, y);
                linearly(b, view, y)
            })
    }

    /// x / 1 = x
    div_one { Div(x, 1.0) => x }

    /// 1 / x = recip x
    one_div { Div(1.0, x) => Recip(x) }

    /// (-x) / (-y) = x / y
    div_negated_both { Div(Neg(x), Neg(y)) => Div(x, y) }

    /// c / (-x) = (-c) / x, (-x) / c = x / (-c)
    div_constant_negated {
        Div(number(c), Neg(x)) => Div(number(-c), x),
        Div(Neg(x), number(c)) => Div(x, number(-c))
    }

    /// c / (d * x) = (c / d) / x for moderate numbers c, d
    div_constant_scaled { Div(number(c), scaled(d, x)) if moderate(c) && moderate(d) => Div(number(c / d), x) }

    /// (-x) / y = -(x / y), x / (-y) = -(x / y)
    div_negated {
        Div(Neg(x), y) => Neg(Div(x, y)),
        Div(x, Neg(y)) => Neg(Div(x, y))
    }

    /// x / c = (1 / c) * x for a moderate power of two c, where 1 / c is exact
    div_power_of_two { Div(x, number(c)) if moderate(c) && c.abs().log2().fract() == 0.0 => scaled(1.0 / c, x) }

    /// (c * x) / y = c * (x / y) for a moderate number c, where c * x has no other use
    div_scaled { Div(p @ scaled(c, x), y) if moderate(c) && b.once(p) => scaled(c, Div(x, y)) }

    /// (-c) / y = -(c / y) for a number c, where the latter quotient exists already
    div_negative {
        Div(number(c), y) => {
            let c = full(b, shape, dtype, -c);
            let positive = b.known(&Op::Binary(Binary::Div, c, y)).filter(|id| b.is_used(*id))?;
            // No rule is applied to the negation: a rule of signs would move the sign of a quotient without other uses
            // back into the number.
            b.cons(Op::Unary(Unary::Neg, positive), shape.clone(), dtype)
        }
    }

    /// (c / y) / y = (1 / c) * mul_no_nan(c / y, c / y) for a moderate number c, where c / y has another use: the
    /// derivatives of a quotient then consist of one quotient. The square has the guard of the quotient
    div_again {
        Div(q @ Div(number(c), y), ==y) if moderate(c) && b.is_used_again(q) => scaled(1.0 / c, MulNoNan(q, q))
    }

    /// x^0 = 1
    pow_zero { Pow(_, 0.0) => 1.0 }

    /// x^1 = x
    pow_one { Pow(x, 1.0) => x }

    /// x^2 = square x
    pow_two { Pow(x, 2.0) => Square(x) }

    /// x^-1 = recip x
    pow_minus_one { Pow(x, -1.0) => Recip(x) }

    /// pow_less_one(x, c) = x^(c - 1), where c - 1 is exact
    pow_less_one_number { PowLessOne(x, number(c)) if lessens(c, dtype) => Pow(x, number(c - 1.0)) }

    /// div_no_nan(0, x) = 0
    over_zero { DivNoNan(0.0, _) => 0.0 }

    /// div_no_nan(c, x) = c / x for a number c that is not 0
    over_of_number { DivNoNan(number(c), x) if c != 0.0 => Div(number(c), x) }

    /// div_no_nan(x, c) = x / c for a finite number c that is not 0, where c > 0 and x is never -0, or the sign of zero
    /// is not seen
    over_number {
        DivNoNan(x, k @ number(c))
            if c.is_finite() && c != 0.0 && (b.is_sign_unseen() || (b.sign_free(x) && c > 0.0))
            => Div(x, k)
    }

    /// div_no_nan(-x, y) = -div_no_nan(x, y), div_no_nan(x, -y) = -div_no_nan(x, y), where the sign of zero is not seen
    over_negated {
        DivNoNan(Neg(x), y) if b.is_sign_unseen() => Neg(DivNoNan(x, y)),
        DivNoNan(x, Neg(y)) if b.is_sign_unseen() => Neg(DivNoNan(x, y))
    }

    /// div_no_nan(c * x, y) = c * div_no_nan(x, y) for a moderate number c, where the multiple has no other use, and
    /// c > 0 or the sign of zero is not seen
    over_scaled {
        DivNoNan(p @ scaled(c, x), y) if moderate(c) && keeps_sign(b, c) && b.once(p) => scaled(c, DivNoNan(x, y))
    }

    /// div_no_nan(x, replicate y) = mul_no_nan(replicate (recip y), x), where y has at most half of the elements. An
    /// infinite y counts as the factor 0, even with an infinite or NaN x, and a y whose reciprocal is out of range gives
    /// infinities: both sides differ there
    over_replicated {
        DivNoNan(x, r @ Linear(view, y)) if 2 * elements(b, y) <= elements(b, r), views::reading(view).is_some_and(|view| view.is_total())
            => MulNoNan({
                let view = (**view).clone();
                let (shape, dtype) = (b.node(y).shape.clone(), dtype);
                let inverse = b.add(Op::Unary(Unary::Recip, y), shape, dtype);
                linearly(b, view, inverse)
            }, x)
    }

    /// mul_no_nan(x, 0) = 0
    no_nan_zero { MulNoNan{_, 0.0} => 0.0 }

    /// mul_no_nan(x, c) = c * x for a finite number c that is not 0, where c > 0 and x is never -0, or the sign of zero
    /// is not seen
    no_nan_number {
        MulNoNan{x, k @ number(c)}
            if c.is_finite() && c != 0.0 && (b.is_sign_unseen() || (b.sign_free(x) && c > 0.0))
            => Mul(k, x)
    }

    /// mul_no_nan(-x, y) = -mul_no_nan(x, y), mul_no_nan(x, -y) = -mul_no_nan(x, y), where the sign of zero is not seen
    no_nan_negated {
        MulNoNan(Neg(x), y) if b.is_sign_unseen() => Neg(MulNoNan(x, y)),
        MulNoNan(x, Neg(y)) if b.is_sign_unseen() => Neg(MulNoNan(x, y))
    }

    /// mul_no_nan(x, y) = mul_no_nan(y, x), where the latter exists already
    no_nan_exchanged { MulNoNan(x, y) if x != y => known MulNoNan(y, x) }

    /// mul_no_nan(c * x, y) = c * mul_no_nan(x, y), mul_no_nan(x, c * y) = c * mul_no_nan(x, y) for a moderate number c
    /// and powers x, y of one value, where the multiple has no other use, and c > 0 or the sign of zero is not seen
    no_nan_scaled {
        MulNoNan(p @ scaled(c, x), y) if moderate(c) && keeps_sign(b, c) && b.once(p), is_power(b, op)
            => scaled(c, MulNoNan(x, y)),
        MulNoNan(x, p @ scaled(c, y)) if moderate(c) && keeps_sign(b, c) && b.once(p), is_power(b, op)
            => scaled(c, MulNoNan(x, y))
    }
}

/// Whether a product has one factor alone, which may occur several times.
fn is_power(b: &Builder, op: &Op<NodeId>) -> bool {
    b.factors(op).is_some_and(|product| product.of.len() == 1)
}
