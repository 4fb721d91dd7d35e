//! Rules of sums and differences of floats.

use super::{Rule, adjacent, choice, placed, regroup, scaled, scatter, table, views};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
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

/// Two values as multiples of one.
fn multiples(b: &Builder, x: NodeId, y: NodeId) -> Option<[(f64, NodeId); 2]> {
    match (scaled(b, x), scaled(b, y)) {
        (Some(x), Some(y)) if x.1 == y.1 => Some([x, y]),
        (Some((c, of)), _) if of == y => Some([(c, of), (1.0, y)]),
        (_, Some((d, of))) if of == x => Some([(1.0, x), (d, of)]),
        (_, _) => None,
    }
}

/// Whether `c * x + d * x` is `(c + d) * x` for numbers of different signs: no term overflows, and the sign of a zero
/// is kept where it is seen.
fn cancels(b: &Builder, c: f64, d: f64, x: NodeId) -> bool {
    let small = c.abs() <= 1.0 && d.abs() <= 1.0;
    let exact = b.is_sign_unseen() || (c + d > 0.0 && b.sign_free(x));
    c * d < 0.0 && c + d != 0.0 && small && exact
}

equations! { |b, op, shape, dtype|
    /// x + 0 = x, where x is never -0 or the sign of zero is not seen; x + (-0) = x
    add_zero { Add{x, number(c)} if c == 0.0 && (c.is_sign_negative() || b.sign_free(x)) => x }

    /// x + (-y) = x - y
    add_negated { Add{x, Neg(y)} => Sub(x, y) }

    /// x + x = 2 * x
    add_same { Add(x, ==x) => scaled(2.0, x) }

    /// c * x + d * x = (c + d) * x for numbers c, d of one sign: for other signs a term could overflow where the sum
    /// does not
    add_like_terms {
        Add(x, y) if let Some([(c, x), (d, _)]) = multiples(b, x, y), c * d > 0.0 && (c + d).is_finite()
            => scaled(c + d, x)
    }

    /// c * x - d * x = (c - d) * x for numbers c, d of different signs
    sub_like_terms {
        Sub(x, y) if let Some([(c, x), (d, _)]) = multiples(b, x, y), c * d < 0.0 && (c - d).is_finite()
            => scaled(c - d, x)
    }

    /// c * x - d * x = (c - d) * x for different numbers c, d of one sign, and the same for sums, where |c|, |d| <= 1,
    /// so that no term overflows; where c > d and x is never -0, or the sign of zero is not seen. At infinities the
    /// terms give NaN: the distribution of a product counts as rounding
    opposite_terms {
        Add(x, y) if let Some([(c, x), (d, _)]) = multiples(b, x, y), cancels(b, c, d, x) => scaled(c + d, x),
        Sub(x, y) if let Some([(c, x), (d, _)]) = multiples(b, x, y), cancels(b, c, -d, x) => scaled(c - d, x)
    }

    /// -x - x = -2 * x
    sub_from_negative { Sub(Neg(x), ==x) => scaled(-2.0, x) }

    /// x + (-c) * y = x - c * y for a number c > 0, where the product has no other use
    add_negative_multiple { Add{x, p @ scaled(c, y)} if c < 0.0 && b.once(p) => Sub(x, scaled(-c, y)) }

    /// x - (-c) * y = x + c * y for a number c > 0, where the product has no other use
    sub_negative_multiple { Sub(x, p @ scaled(c, y)) if c < 0.0 && b.once(p) => Add(x, scaled(-c, y)) }

    /// x + y = y + x, where the latter exists already
    add_exchanged { Add(x, y) if x != y => known Add(y, x) }

    /// x - 0 = x; x - (-0) = x, where x is never -0 or the sign of zero is not seen
    sub_zero { Sub(x, number(c)) if c == 0.0 && (c.is_sign_positive() || b.sign_free(x)) => x }

    /// 0 - x = -x, where the sign of zero is not seen; (-0) - x = -x
    zero_sub { Sub(number(c), x) if c == 0.0 && (c.is_sign_negative() || b.is_sign_unseen()) => Neg(x) }

    /// x - (-y) = x + y
    sub_negated { Sub(x, Neg(y)) => Add(x, y) }
}
