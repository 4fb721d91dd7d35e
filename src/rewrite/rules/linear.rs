//! Rules of linear operations: composition, a canonical form, distribution over other operations, sums.

use smallvec::SmallVec;

use super::views::{self, Axes, moves, over};
use super::{
    Rule, concat, contract, elements, gather, known, linearly, masked, moderate, multiple, order, scatter, table, zeros,
};
use crate::array::Array;
use crate::cost::operation as cost;
use crate::dtype::DType;
use crate::ops::{Binary, Discrete, IntBinary, Linear, Unary, View};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::rewrite::signs;
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] = table![
    linear_identity,
    linear_of_nothing,
    linear_composed,
    linear_ordered,
    repeated_sum,
    spread_sum,
    sum_of_reshape,
    view_of_reshape,
    sum_of_negated,
    sum_of_scaled,
    order::sum_of_product,
    order::sum_of_terms,
    masked::sum_of_masked,
    known::known_sum,
    contract::linear_of_contract,
    scatter::sum_of_scattered,
    concat::view_of_concat,
    gather::view_of_gather,
    views::view_early,
    views::replicate_late,
];

fn applied(op: &Op<NodeId>) -> Option<(&Linear, NodeId)> {
    if let Op::Linear(op, a) = op { Some((op, *a)) } else { None }
}

/// The two views.
fn affine(op: &Linear) -> Option<(&View, &View)> {
    if let Linear::Affine { from, into } = op { Some((from, into)) } else { None }
}

equations! { |b, op, shape, dtype|
    /// l(x) = x, where the operation is the identity
    linear_identity { Linear(l, x) if l.is_identity() => x }

    /// l(x) = 0, where one of the views reads nothing, or each reads something where the other does not
    linear_of_nothing { Affine(from, into, _) if views::see_nothing(&[from, into]) => { zeros(b, shape, dtype) } }

    /// l(m(x)) = (l m)(x), where the composition is one operation and not more expensive, and either both sides add to
    /// +0, or neither does, or x is never -0, or the sign of zero is not seen
    linear_composed {
        Linear(l, y @ Linear(m, x))
            if let Some(both) = l.after(m),
                signs::adds_up(&both) == (signs::adds_up(l) || signs::adds_up(m)) || b.sign_free(x),
                // An operation with other uses is computed anyway.
                cost::moves(&both) <= cost::moves(l).saturating_add(if b.once(y) { cost::moves(m) } else { 0 })
            => { linearly(b, both, x) }
    }

    /// out[into i] += x[from i] with the iteration space in the order of the result, else in the order of the argument,
    /// where one of the views only permutes or reverses axes
    linear_ordered {
        Linear(l, x)
            if let Some(ordered) = ordered(l), signs::adds_up(l) == signs::adds_up(&ordered) || b.sign_free(x)
            => { linearly(b, ordered, x) }
    }

    /// view (reshape x) = view x, where the reshape only splits axes
    view_of_reshape {
        Affine(from, into, Linear(reshape, x))
            if !from.is_identity() && matches!(**reshape, Linear::Reshape { .. }),
                let Some(view) = views::reading(reshape).and_then(|view| view.after(from))
            => { linearly(b, Linear::affine(view, into.clone()), x) }
    }

    /// sum (-x) = -(sum x), where -x has no other use, and elements are only copied or the sign of zero is not seen
    sum_of_negated {
        Linear(l, n @ Neg(x)) if b.once(n) && size(shape) < elements(b, n) && is_odd(b, l)
            => Neg({ linearly(b, (**l).clone(), x) })
    }

    /// sum (c * x) = c * (sum x) for a moderate number c, where c * x has no other use, with the condition of signs of
    /// `sum (-x)` for c < 0
    sum_of_scaled {
        Linear(l, p @ scaled(c, x))
            if !matches!(**l, Linear::Cast { .. }) && moderate(c) && b.once(p) && size(shape) < elements(b, p),
                c > 0.0 || is_odd(b, l)
            => scaled(c, { linearly(b, (**l).clone(), x) })
    }
}

/// A linear operation with the iteration space in the order of the result, else in the order of the argument; `None` if
/// it already is, or if neither view only permutes or reverses axes.
fn ordered(op: &Linear) -> Option<Linear> {
    let (from, into) = affine(op)?;
    if into.is_identity() {
        None
    } else if let Some(back) = renaming(into) {
        Some(Linear::read(from.after(&back)?))
    } else if from.is_identity() {
        None
    } else {
        Some(Linear::affine(View::identity(from.source()), into.after(&renaming(from)?)?))
    }
}

/// The inverse of a view that reads every element once.
pub(super) fn renaming(view: &View) -> Option<View> {
    let back = view.inverse()?;
    (view.is_total() && back.is_total()).then_some(back)
}

/// sum (replicate x) = n * x: an axis along which neither view moves is a factor, where a sum remains, x is never -0,
/// or the sign of zero is not seen
fn repeated_sum(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, a) = applied(op)?;
    let (from, into) = affine(op)?;
    if into.is_identity() || from.is_empty() || into.is_empty() {
        return None;
    }
    let space = from.shape();
    // An axis of size 1 is not a factor.
    let idle = |axis: usize| space[axis] > 1 && !moves(from, axis) && !moves(into, axis);
    let (idle, kept): (Axes, Axes) = (0..space.len()).partition(|axis| idle(*axis));
    let factor = idle.iter().try_fold(1usize, |all, axis| all.checked_mul(space[*axis]))?;
    if idle.is_empty() {
        return None;
    }
    let once = Linear::affine(over(from, &kept), over(into, &kept));
    if !signs::adds_up(&once) && !b.sign_free(a) {
        return None;
    }
    let once = linearly(b, once, a);
    times(b, factor, once, shape, dtype)
}

/// (out[i, k] += x[j, k]) = replicate (sum x): the sum is replicated along the axes that the result alone has, where
/// that is less work
fn spread_sum(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, a) = applied(op)?;
    let (from, into) = affine(op)?;
    if into.is_identity() || from.is_empty() || into.is_empty() {
        return None;
    }
    let axes = 0..from.shape().len();
    // An axis that moves neither view is summed, too: it is a factor.
    let summed: Axes = axes.clone().filter(|axis| moves(from, *axis) || !moves(into, *axis)).collect();
    let spread: Axes = axes.clone().filter(|axis| moves(into, *axis)).collect();
    let kept: Axes = axes.filter(|axis| moves(from, *axis) && moves(into, *axis)).collect();
    // The view of the kept axes from a space of these axes.
    let within = |all: &Axes| {
        let places: Axes = kept.iter().filter_map(|axis| all.iter().position(|other| other == axis)).collect();
        let shape: Shape = all.iter().map(|axis| from.shape()[*axis]).collect();
        View::axes(&shape, &places)
    };
    let sum = Linear::affine(over(from, &summed), within(&summed));
    let replica = Linear::affine(within(&spread), over(into, &spread));
    if cost::moves(&sum).saturating_add(cost::moves(&replica)) >= cost::moves(op) {
        return None;
    }
    let sum = linearly(b, sum, a);
    Some(linearly(b, replica, sum))
}

/// `n * x` for any element type that has sums.
fn times(b: &mut Builder, n: usize, x: NodeId, shape: &Shape, dtype: DType) -> Option<NodeId> {
    if n == 1 {
        return Some(x);
    }
    match dtype {
        DType::F32 | DType::F64 => Some(multiple(b, n as f64, x)),
        DType::I64 => {
            let n = Op::Constant(Constant(Array::full(shape, n as i64)));
            let n = b.add(n, shape.clone(), dtype);
            Some(b.add(Op::Discrete(Discrete::IntBinary(IntBinary::Mul), [x, n].into()), shape.clone(), dtype))
        }
        DType::Bool => None,
    }
}

/// sum (reshape x) = reshape (sum x), where the summed axes correspond to whole axes of `x`
fn sum_of_reshape(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let (op, a) = applied(op)?;
    let (from, into) = affine(op)?;
    let Op::Linear(inner, x) = &b.node(a).op else { return None };
    let Linear::Reshape { from: old, into: new } = &**inner else { return None };
    if !from.is_identity() || into.is_identity() || size(old) == 0 {
        return None;
    }
    let kept: Axes = (0..new.len()).filter(|axis| moves(into, *axis)).collect();
    if *into != View::axes(new, &kept) {
        return None;
    }
    // Groups of axes of both shapes with equal sizes: each group is summed as a whole, or not at all.
    let mut left: Axes = SmallVec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let (first, second) = (i, j);
        let (mut m, mut n) = (1, 1);
        loop {
            if m <= n && i < old.len() && (m != n || i == first) {
                m *= old[i];
                i += 1;
            } else if j < new.len() {
                n *= new[j];
                j += 1;
            } else if i < old.len() {
                m *= old[i];
                i += 1;
            } else {
                break;
            }
            if m == n {
                break;
            }
        }
        let summed = |axis: usize| !kept.contains(&axis) && new[axis] > 1;
        let stays = |axis: usize| kept.contains(&axis) && new[axis] > 1;
        match ((second..j).any(summed), (second..j).any(stays)) {
            (true, true) => return None,
            (true, false) => {}
            (false, _) => left.extend(first..i),
        }
    }
    let (old, x) = (old.clone(), *x);
    let summed: Axes = (0..old.len()).filter(|axis| !left.contains(axis)).collect();
    let sum = linearly(b, Linear::sum(&old, &summed), x);
    let middle: Shape = left.iter().map(|axis| old[*axis]).collect();
    Some(linearly(b, Linear::reshape(&middle, shape), sum))
}

/// Whether `l(-x) = -l(x)` including the signs of zeros that are seen: elements are neither added to +0 nor padded with
/// it.
fn is_odd(b: &Builder, op: &Linear) -> bool {
    b.is_sign_unseen() || views::reading(op).is_some_and(|view| view.is_total())
}
