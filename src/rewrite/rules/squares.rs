//! Even functions of roots: squares of square roots, norms and absolute values are smooth where these have a kink.
//!
//! Law: both sides are equal, and the right side has the derivatives of the function, of every order. Those of the left
//! side are the same where it has no kink. A root whose square is taken must be that of a value without a negative
//! element, since the square root is NaN below 0.

use super::{like, linearly, moderate, multiple, number, views};
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Discrete, FloatStep, Linear, Property, Unary};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

/// The number of factors and views between a square and its root.
const FACTORS: usize = 4;

/// The number of operations that are looked at for the sign of a value.
const LOOKS: usize = 48;

equations! { |b, op, shape, dtype|
    /// square (sqrt x) = x where no element of `x` is negative, even where the root is written with a derivative of 0 at
    /// 0, as a norm or a deviation is; square (hypot x y) = square x + square y; and the same for multiples, quotients
    /// and replicas of such a root
    pub(super) square_of_root { Square(x) if let Some(square) = squared(b, x, FACTORS) => { square } }

    /// f(|x|) = f(x) for even functions: square, cos, cosh, ..
    pub(super) even_of_absolute { Unary(f, Abs(x)) if f.is(Property::Even) => Unary(f, x) }

    /// (sqrt x)^c = x^(c / 2) for c >= 2 where neither root nor `x` has a negative element, with roots as those of
    /// squares
    pub(super) power_of_root {
        Pow(x, number(c))
            if c > 2.0 && c.is_finite() && is_not_negative(b, x), let Some(square) = squared(b, x, FACTORS)
            => Pow(square, number(c / 2.0))
    }

    /// |x|^c = x^c for an even integer c
    pub(super) even_power_of_absolute { Pow(Abs(x), k @ number(c)) if (c / 2.0).fract() == 0.0 => Pow(x, k) }
}

/// The square of a value that is a root, or a product, quotient or view of one; `None` if it has no root.
#[allow(clippy::wildcard_enum_match_arm, reason = "what is not known to be a root stays as it is")]
fn squared(b: &mut Builder, id: NodeId, factors: usize) -> Option<NodeId> {
    if let Some(x) = radicand(b, id) {
        return Some(x);
    }
    let factors = factors.checked_sub(1)?;
    match b.node(id).op.clone() {
        Op::Binary(Binary::Hypot, x, y) => {
            let [x, y] = [x, y].map(|x| like(b, Op::Unary(Unary::Square, x), id));
            Some(like(b, Op::Binary(Binary::Add, x, y), id))
        }
        Op::Binary(Binary::Mul, c, x) if number(b, c).is_some_and(moderate) => {
            let square = squared(b, x, factors)?;
            let c = number(b, c)?;
            Some(multiple(b, c * c, square))
        }
        Op::Binary(op @ (Binary::Mul | Binary::Div), x, y) => {
            let (square, other) = match (squared(b, x, factors), op) {
                (Some(square), _) => (square, y),
                (None, Binary::Mul) => (squared(b, y, factors)?, x),
                (None, _) => return None,
            };
            // Factor by factor, since the square of one alone may overflow.
            let once = like(b, Op::Binary(op, square, other), id);
            Some(like(b, Op::Binary(op, once, other), id))
        }
        Op::Linear(view, x) if views::reading(&view).is_some() => {
            let square = squared(b, x, factors)?;
            Some(linearly(b, *view, square))
        }
        _ => None,
    }
}

/// The value whose square root this is, if no element of it is negative. The derivative of the root at 0 may be 0 by a
/// selection: `select (x > 0) (sqrt x) (stop_gradient x)` or `select (x == 0) 0 (sqrt x)`.
#[allow(clippy::wildcard_enum_match_arm, reason = "what is not known to be a root stays as it is")]
fn radicand(b: &Builder, id: NodeId) -> Option<NodeId> {
    let root = |id: NodeId| if let Op::Unary(Unary::Sqrt, x) = b.node(id).op { Some(x) } else { None };
    let x = match &b.node(id).op {
        Op::Unary(Unary::Sqrt, x) => *x,
        Op::Select([mask, then, otherwise]) => match (root(*then), root(*otherwise)) {
            (Some(x), _) if is_compared(b, *mask, Compare::Gt, x) && is_stopped(b, *otherwise, x) => x,
            (_, Some(x)) if is_compared(b, *mask, Compare::Eq, x) && b.is_zero(*then) => x,
            (_, _) => return None,
        },
        _ => return None,
    };
    (b.sign_free(x) && is_not_negative(b, x)).then_some(x)
}

/// Whether a mask says where `x > 0` or `x == 0`.
fn is_compared(b: &Builder, mask: NodeId, by: Compare, x: NodeId) -> bool {
    let Op::Discrete(Discrete::Compare(op), args) = &b.node(mask).op else { return false };
    let mirrored = if by == Compare::Gt { Compare::Lt } else { by };
    (*op == by && args[0] == x && number(b, args[1]) == Some(0.0))
        || (*op == mirrored && args[1] == x && number(b, args[0]) == Some(0.0))
}

/// Whether a value is `x`, perhaps without its derivative.
fn is_stopped(b: &Builder, id: NodeId, x: NodeId) -> bool {
    let stop = Discrete::FloatStep(FloatStep::StopGradient);
    id == x || matches!(&b.node(id).op, Op::Discrete(op, args) if *op == stop && args[0] == x)
}

/// Whether no element of a value is negative, for all inputs; NaN is not negative.
#[allow(clippy::wildcard_enum_match_arm, reason = "what is not known may be negative")]
fn is_not_negative(b: &Builder, id: NodeId) -> bool {
    let mut work = vec![id];
    for _ in 0..LOOKS {
        let Some(id) = work.pop() else { return true };
        match &b.node(id).op {
            Op::Constant(c) => {
                if !c.0.to_vec::<f64>().is_ok_and(|all| all.iter().all(|x| *x >= 0.0 || x.is_nan())) {
                    return false;
                }
            }
            Op::Unary(f, _) if f.graph().range[0] >= 0.0 => {}
            Op::Binary(Binary::Hypot, ..) => {}
            Op::Binary(Binary::Add | Binary::Mul | Binary::MulNoNan | Binary::Div | Binary::Min, x, y) => {
                work.extend([*x, *y]);
            }
            Op::Binary(Binary::Max, x, y) => {
                let other = if number(b, *x).is_some_and(|c| c >= 0.0) { None } else { Some(*x) };
                work.extend(other.filter(|_| number(b, *y).is_none_or(|c| c < 0.0)));
            }
            Op::Binary(Binary::Pow, x, _) => work.push(*x),
            Op::Select([_, x, y]) => work.extend([*x, *y]),
            Op::Contract(c, x, y) if x == y && c.a == c.b => {}
            Op::Contract(_, x, y) => work.extend([*x, *y]),
            Op::Linear(f, x) if !matches!(**f, Linear::Fourier { .. }) => work.push(*x),
            Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), args) => work.push(args[0]),
            // Masks are 0 or 1, and positions count from 0.
            Op::Discrete(Discrete::ToFloat(_), args)
                if b.node(args[0]).dtype == DType::Bool
                    || matches!(b.node(args[0]).op, Op::Discrete(Discrete::Iota { .. }, _)) => {}
            Op::Reduce(_, x) | Op::Gather(x, _) => work.push(*x),
            Op::Concat(_, parts) => work.extend(parts.iter().copied()),
            _ => return false,
        }
    }
    false
}
