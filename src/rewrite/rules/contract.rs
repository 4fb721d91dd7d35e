//! Rules of contractions: sums of products are recognised, and views of arrays are replaced by the arrays themselves.
//!
//! Law of padded values: a contraction does not compute a product where a view sees nothing, so the product counts as 0
//! there even if the other factor is infinite or NaN. If another operation writes the padding, the zeros are elements
//! of an array, and their product with NaN is NaN. So no rule replaces a padded array by the array without padding,
//! with one exception: overlapping windows that reach out of an array, as in a convolution, are several times as large
//! as the array, and are replaced. A sum with a product of padding and NaN is NaN before such a rule fires, and leaves
//! the product out after. [`order`] has the rules that regroup sums and products.

use smallvec::SmallVec;

use super::views::{Axes, moves, over, read, see_nothing};
use super::{Rule, elements, keeps_sign, known, linear, linearly, moderate, multiple, order, state, table, zeros};
use crate::dtype::DType;
use crate::ops::{Binary, Contract, Linear, Unary, View};
use crate::program::{Builder, NodeId, Op};
use crate::rewrite::signs;
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] = table![
    contract_of_nothing,
    contract_read,
    contract_idle_axis,
    contract_forwards,
    contract_number,
    contract_negated,
    contract_scaled,
    order::contract_lone_axis,
    order::contract_spread,
    order::contract_of_product,
    state::contract_states_before,
    known::known_sum,
    contract_in_order,
    contract_elementwise,
    contract_named,
    contract_exchanged,
];

fn applied(op: &Op<NodeId>) -> Option<(&Contract, NodeId, NodeId)> {
    if let Op::Contract(op, a, b) = op { Some((op, *a, *b)) } else { None }
}

/// A contraction of two values.
pub(super) fn contracted(b: &mut Builder, op: Contract, x: NodeId, y: NodeId) -> NodeId {
    let (shape, dtype) = (Shape::from_slice(op.output_shape()), b.node(x).dtype);
    b.add(Op::Contract(Box::new(op), x, y), shape, dtype)
}

/// Whether a sign or factor of an operand may become one of the result: the operand has no other use, and is not
/// smaller.
fn moves_out(b: &Builder, operand: NodeId, shape: &Shape) -> bool {
    b.once(operand) && size(shape) <= elements(b, operand)
}

equations! { |b, op, shape, dtype|
    /// contract x y = 0, where one of the views reads nothing, or at no place all read something
    contract_of_nothing { Contract(c, _, _) if see_nothing(&[&c.a, &c.b, &c.out]) => { zeros(b, shape, dtype) } }

    /// contract k y = k * sum y for a moderate number k, with the sum over the places that both views see; where k > 0
    /// and several elements are summed, or the sign of zero is not seen
    contract_number {
        Contract(c, number(k), y) => { number_times_sum(b, k, [&c.a, &c.b], &c.out, y)? },
        Contract(c, x, number(k)) => { number_times_sum(b, k, [&c.b, &c.a], &c.out, x)? }
    }

    /// contract (-x) y = -(contract x y), contract x (-y) = -(contract x y), where the negation has no other use and is
    /// not smaller, and the sign of zero is not seen
    contract_negated {
        Contract(c, n @ Neg(x), y) if n != y && moves_out(b, n, shape) && b.is_sign_unseen()
            => Neg({ contracted(b, (**c).clone(), x, y) }),
        Contract(c, x, n @ Neg(y)) if n != x && moves_out(b, n, shape) && b.is_sign_unseen()
            => Neg({ contracted(b, (**c).clone(), x, y) })
    }

    /// contract (k * x) y = k * contract x y, contract x (k * y) = k * contract x y for a moderate number k, where the
    /// multiple has no other use and is not smaller, and k > 0 or the sign of zero is not seen
    contract_scaled {
        Contract(c, p @ scaled(k, x), y) if p != y && moderate(k) && keeps_sign(b, k) && moves_out(b, p, shape)
            => scaled(k, { contracted(b, (**c).clone(), x, y) }),
        Contract(c, x, p @ scaled(k, y)) if p != x && moderate(k) && keeps_sign(b, k) && moves_out(b, p, shape)
            => scaled(k, { contracted(b, (**c).clone(), x, y) })
    }

    /// k * contract x y = contract (k * x) y for a moderate number k, where the contraction has no other use, x is
    /// smaller, and k > 0 or the sign of zero is not seen; the same for y, if that is smaller than x
    pub(super) scaled_contract {
        Mul(number(k), p @ Contract(c, x, y))
            if moderate(k) && keeps_sign(b, k) && b.once(p) && elements(b, x).min(elements(b, y)) < size(shape)
            => {
                let c = (**c).clone();
                let left = elements(b, x) <= elements(b, y);
                let (x, y) = if left { (multiple(b, k, x), y) } else { (x, multiple(b, k, y)) };
                contracted(b, c, x, y)
            }
    }

    /// The iteration space of a contraction without a sum has the axes of the result in order, so that equal
    /// contractions are one operation
    contract_in_order {
        Contract(c, x, y)
            if !c.out.is_identity(),
                let Some(back) = linear::renaming(&c.out),
                let (Some(left), Some(right)) = (c.a.after(&back), c.b.after(&back))
            => { contracted(b, Contract::new(left, right, View::identity(c.output_shape())), x, y) }
    }

    /// contract x y = x * y, where all three views are the identity, and the sign of zero is not seen: a contraction
    /// adds to +0
    contract_elementwise {
        Contract(c, x, y)
            if dtype.is_float() && b.is_sign_unseen() && [&c.a, &c.b, &c.out].iter().all(|view| view.is_identity())
            => Mul(x, y)
    }

    /// contract x y = contract y x, where the latter has a familiar name and the former has none
    contract_named {
        Contract(c, x, y) if c.familiar().is_none() && c.swapped().familiar().is_some()
            => { contracted(b, c.swapped(), y, x) }
    }

    /// contract x y = contract y x, where the latter exists already
    contract_exchanged {
        Contract(c, x, y) if x != y, let Some(known) = b.known(&Op::Contract(Box::new(c.swapped()), y, x)) => known
    }

    /// l(contract x y) = contract x y with another view of the result, where the contraction has no other use
    pub(super) linear_of_contract {
        Affine(from, into, p @ Contract(c, x, y))
            if b.once(p) && (from.is_identity() || elements(b, p) >= size(shape)),
                // out[into i] += c[from i]: the place where the contraction writes determines i.
                let Some(way) = if from.is_identity() { Some(into.clone()) } else { into.after(&from.inverse()?) },
                let Some(out) = way.after(&c.out)
            => {
                let whole = Contract::new(c.a.clone(), c.b.clone(), out);
                contracted(b, whole, x, y)
            }
    }
}

/// The composition of `outer`, the view of an operand by a contraction, with `inner`, the view of an array that the
/// operand is, if the contraction of that array is the same sum: see the law of padded values.
pub(super) fn seen_through(inner: &View, outer: &View) -> Option<View> {
    let both = inner.after(outer)?;
    (inner.is_total() || both.is_total() || !inner.is_injective()).then_some(both)
}

/// contract (view x) y = contract x y, with the views composed
fn contract_read(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let through = |b: &Builder, id: NodeId, outer: &View| {
        let (source, view) = read(b, id)?;
        Some((source, seen_through(&view, outer)?))
    };
    let (left, right) = (through(b, x, &op.a), through(b, y, &op.b));
    if left.is_none() && right.is_none() {
        return None;
    }
    let (x, view_a) = left.unwrap_or_else(|| (x, op.a.clone()));
    let (y, view_b) = right.unwrap_or_else(|| (y, op.b.clone()));
    Some(contracted(b, Contract::new(view_a, view_b, op.out.clone()), x, y))
}

/// An axis along which no view moves multiplies the result by its size
fn contract_idle_axis(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let space = op.a.shape();
    let moving = |axis: usize| [&op.a, &op.b, &op.out].iter().any(|view| moves(view, axis));
    let (kept, idle): (Axes, Axes) = (0..space.len()).partition(|axis| moving(*axis));
    let factor = idle.iter().try_fold(1usize, |all, axis| all.checked_mul(space[*axis]))?;
    if idle.is_empty() || factor == 0 || (factor > 1 && !dtype.is_float()) {
        return None;
    }
    let small = Contract::new(over(&op.a, &kept), over(&op.b, &kept), over(&op.out, &kept));
    let once = contracted(b, small, x, y);
    debug_assert_eq!(b.node(once).shape, *shape);
    Some(if factor == 1 { once } else { multiple(b, factor as f64, once) })
}

/// Each axis of the iteration space runs in the direction in which the first view that moves along it does, so that
/// equal contractions are one operation
fn contract_forwards(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let backwards = |axis: &usize| {
        let views = [&op.out, &op.a, &op.b];
        let mut steps = views.iter().flat_map(|view| (0..view.source().len()).map(move |k| view.row(k)[*axis]));
        steps.find(|step| *step != 0).is_some_and(|step| step < 0)
    };
    let axes: Axes = (0..op.a.shape().len()).filter(backwards).collect();
    if axes.is_empty() {
        return None;
    }
    let turned = |view: &View| axes.iter().fold(view.clone(), |view, axis| turned(&view, *axis));
    Some(contracted(b, Contract::new(turned(&op.a), turned(&op.b), turned(&op.out)), x, y))
}

/// The same view with the axis reversed.
fn turned(view: &View, axis: usize) -> View {
    let last = view.shape()[axis] as i64 - 1;
    let (mut matrix, mut offset): (SmallVec<[i64; 16]>, SmallVec<[i64; 6]>) = (SmallVec::new(), SmallVec::new());
    for (k, start) in view.offset().iter().enumerate() {
        matrix.extend(view.row(k).iter().enumerate().map(|(j, m)| if j == axis { -m } else { *m }));
        offset.push(start + last * view.row(k)[axis]);
    }
    let (n, turned) = (view.shape()[axis], View::affine(view.source(), view.shape(), &matrix, &offset));
    let sides = view.bounds().iter().enumerate();
    sides.fold(turned, |turned, (j, (lo, hi))| match j == axis {
        true => turned.clipped(j, n - hi, n - lo),
        false => turned.clipped(j, *lo, *hi),
    })
}

/// `k * sum y` for a contraction of the number `k` with y, with the sum over the places that both views see.
fn number_times_sum(b: &mut Builder, k: f64, [seen, view]: [&View; 2], out: &View, y: NodeId) -> Option<NodeId> {
    let larger = size(out.source()) > size(view.shape());
    if !moderate(k) || !seen.is_total_in_box() || (k != 1.0 && larger) {
        return None;
    }
    let boxed = |view: View, (axis, (lo, hi)): (usize, &(usize, usize))| view.clipped(axis, *lo, *hi);
    let view = seen.bounds().iter().enumerate().fold(view.clone(), boxed);
    let sum = Linear::affine(view, out.clone());
    if !b.is_sign_unseen() && (k < 0.0 || !(signs::adds_up(&sum) || b.sign_free(y))) {
        return None;
    }
    let sum = linearly(b, sum, y);
    Some(if k == 1.0 { sum } else { multiple(b, k, sum) })
}

/// replicate x * replicate y = outer x y, where each is replicated along the axes of the other, one of them has no
/// other use, and the sign of zero is not seen, because a contraction adds to +0
pub(super) fn outer_product(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let Op::Binary(Binary::Mul, x, y) = op else { return None };
    let views = |b: &Builder, id: NodeId| matches!(b.node(id).op, Op::Linear(..));
    if !b.is_sign_unseen()
        || shape.len() < 2
        || !views(b, *x)
        || !views(b, *y)
        || !(b.once(*x) || b.once(*y))
        || size(shape) == 0
    {
        return None;
    }
    let ((x, view_x), (y, view_y)) = (read(b, *x)?, read(b, *y)?);
    if !view_x.is_total() || !view_y.is_total() {
        return None;
    }
    let sides = |axis: usize| (moves(&view_x, axis), moves(&view_y, axis));
    let apart = (0..shape.len()).all(|axis| shape[axis] == 1 || matches!(sides(axis), (true, false) | (false, true)));
    let both = [0, 1].map(|k| (0..shape.len()).any(|axis| [sides(axis).0, sides(axis).1][k]));
    (apart && both == [true, true]).then(|| contracted(b, Contract::new(view_x, view_y, View::identity(shape)), x, y))
}
