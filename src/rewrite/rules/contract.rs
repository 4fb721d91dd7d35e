//! Rules of contractions: sums of products are recognised, what the operands are read from is looked at directly.
//!
//! Law of padded values: a product with what a view does not see is not computed, so it is 0, also where the other factor is
//! infinite or NaN there. So it is for every [`Contract`], and recognition relies on it: reading outside of an array and
//! multiplying gives NaN there before a rule fires, and 0 after. A sum of products of three factors is regrouped, so that each
//! contraction has two: what is not finite stays so, but may be NaN where it was infinite, or infinite where it was NaN.

use smallvec::SmallVec;

use super::views::{Axes, moves, over, read, reading};
use super::{Rule, elements, like, linearly, moderate, multiple, negated, negation, number, scaled, table, zeros};
use crate::dtype::DType;
use crate::ops::{Binary, Contract, Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] = table![
    contract_of_nothing,
    contract_read,
    contract_idle_axis,
    contract_forwards,
    contract_number,
    contract_negated,
    contract_scaled,
    contract_of_product,
    contract_named,
    contract_exchanged,
];

fn applied(op: &Op<NodeId>) -> Option<(&Contract, NodeId, NodeId)> {
    if let Op::Contract(op, a, b) = op { Some((op, *a, *b)) } else { None }
}

/// A contraction of two values.
fn contracted(b: &mut Builder, op: Contract, x: NodeId, y: NodeId) -> NodeId {
    let (shape, dtype) = (Shape::from_slice(op.output_shape()), b.node(x).dtype);
    b.add(Op::Contract(Box::new(op), x, y), shape, dtype)
}

/// contract x y = 0, where one of the views reads nothing
fn contract_of_nothing(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, ..) = applied(op)?;
    [&op.a, &op.b, &op.out].iter().any(|view| view.is_empty()).then(|| zeros(b, shape, dtype))
}

/// contract (view x) y = contract x y, with the views composed
fn contract_read(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let through = |b: &Builder, id: NodeId, outer: &View| {
        let (source, view) = read(b, id)?;
        Some((source, view.after(outer)?))
    };
    let (left, right) = (through(b, x, &op.a), through(b, y, &op.b));
    if left.is_none() && right.is_none() {
        return None;
    }
    let (x, view_a) = left.unwrap_or_else(|| (x, op.a.clone()));
    let (y, view_b) = right.unwrap_or_else(|| (y, op.b.clone()));
    Some(contracted(b, Contract::new(view_a, view_b, op.out.clone()), x, y))
}

/// An axis along which none of the three views moves multiplies the result by its size
fn contract_idle_axis(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let space = op.a.shape();
    let moving = |axis: usize| [&op.a, &op.b, &op.out].iter().any(|view| moves(view, axis));
    let (kept, idle): (Axes, Axes) = (0..space.len()).partition(|axis| moving(*axis));
    let factor: usize = idle.iter().map(|axis| space[*axis]).product();
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

/// contract c y = c * sum y for a moderate number c, with the sum over what the views see of both
fn contract_number(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let (c, seen, view, y) = match (number(b, x), number(b, y)) {
        (Some(c), _) => (c, &op.a, &op.b, y),
        (None, Some(c)) => (c, &op.b, &op.a, x),
        (None, None) => return None,
    };
    if !moderate(c) || !seen.is_total_in_box() || (c != 1.0 && size(shape) > size(view.shape())) {
        return None;
    }
    let boxed = |view: View, (axis, (lo, hi)): (usize, &(usize, usize))| view.clipped(axis, *lo, *hi);
    let view = seen.bounds().iter().enumerate().fold(view.clone(), boxed);
    let sum = linearly(b, Linear::affine(view, op.out.clone()), y);
    Some(if c == 1.0 { sum } else { multiple(b, c, sum) })
}

/// contract (-x) y = -(contract x y), where -x has no other use and is not smaller
fn contract_negated(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let movable =
        |b: &Builder, a: NodeId| negated(b, a).filter(|_| b.once(a) && size(shape) <= elements(b, a) && x != y);
    let (x, y) = match (movable(b, x), movable(b, y)) {
        (Some(x), _) => (x, y),
        (None, Some(y)) => (x, y),
        (None, None) => return None,
    };
    let positive = contracted(b, op.clone(), x, y);
    Some(negation(b, positive))
}

/// contract (c * x) y = c * contract x y for a moderate number c, where c * x has no other use and is not smaller
fn contract_scaled(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let movable = |b: &Builder, a: NodeId| {
        scaled(b, a).filter(|(c, _)| moderate(*c) && b.once(a) && size(shape) <= elements(b, a) && x != y)
    };
    let (c, x, y) = match (movable(b, x), movable(b, y)) {
        (Some((c, x)), _) => (c, x, y),
        (None, Some((c, y))) => (c, x, y),
        (None, None) => return None,
    };
    let product = contracted(b, op.clone(), x, y);
    Some(multiple(b, c, product))
}

/// c * contract x y = contract (c * x) y for a moderate number c, where the contraction has no other use and x is smaller
pub(super) fn scaled_contract(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let Op::Binary(Binary::Mul, c, product) = op else { return None };
    let c = number(b, *c).filter(|c| moderate(*c))?;
    let Op::Contract(op, x, y) = &b.node(*product).op else { return None };
    let left = elements(b, *x) <= elements(b, *y);
    if !b.once(*product) || elements(b, *x).min(elements(b, *y)) >= size(shape) {
        return None;
    }
    let (op, x, y) = ((**op).clone(), *x, *y);
    let (x, y) = if left { (multiple(b, c, x), y) } else { (x, multiple(b, c, y)) };
    Some(contracted(b, op, x, y))
}

/// contract x y = contract y x, where the latter has a familiar name and the former has none
fn contract_named(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let swapped = op.swapped();
    (op.familiar().is_none() && swapped.familiar().is_some()).then(|| contracted(b, swapped, y, x))
}

/// contract x y = contract y x, where the latter exists already
fn contract_exchanged(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    b.known(&Op::Contract(Box::new(op.swapped()), y, x)).filter(|_| x != y)
}

/// l(contract x y) = contract x y with another view of the result, where the contraction has no other use
pub(super) fn linear_of_contract(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Op::Contract(inner, x, y) = &b.node(*a).op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    if !b.once(*a) || (!from.is_identity() && elements(b, *a) < size(op.output_shape())) {
        return None;
    }
    // out[into i] += c[from i]: the place where the contraction writes determines i.
    let way = if from.is_identity() { into.clone() } else { into.after(&from.inverse()?)? };
    let (out, x, y) = (way.after(&inner.out)?, *x, *y);
    let whole = Contract::new(inner.a.clone(), inner.b.clone(), out);
    Some(contracted(b, whole, x, y))
}

/// replicate x * replicate y = outer x y, where each is replicated along the axes of the other, and one of them is replicated for
/// this alone
pub(super) fn outer_product(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, _: DType) -> Option<NodeId> {
    let Op::Binary(Binary::Mul, x, y) = op else { return None };
    let views = |b: &Builder, id: NodeId| matches!(b.node(id).op, Op::Linear(..));
    if shape.len() < 2 || !views(b, *x) || !views(b, *y) || !(b.once(*x) || b.once(*y)) || size(shape) == 0 {
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

// ---- sums of products ----

/// A factor of a summed product: a value, and how the iteration space looks at it.
type Factor = (NodeId, View);

/// sum (x * y) = contract x y, and with more factors, first those that an axis can be summed over of; where the product has no
/// other use. `sum (x - y)^2` stays: multiplied out it would cancel
pub(super) fn sum_of_product(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    let Op::Binary(Binary::Mul, ..) = b.node(*a).op else { return None };
    let (points, product) = (size(from.shape()), elements(b, *a));
    if !b.once(*a) || size(shape) >= points || points == 0 || product == 0 || !dtype.is_float() {
        return None;
    }
    let mut factors: SmallVec<[Factor; 4]> = SmallVec::new();
    let multiplied = flattened(b, (*a, from.clone()), &mut factors);
    // A number is no factor to be summed over.
    if factors.len() < 2 || points > product || factors.iter().any(|(x, _)| number(b, *x).is_some()) {
        return None;
    }
    planned(b, factors, into.clone(), multiplied + points)
}

/// contract (x * y) z = contract x (contract y z), where that sums over an axis first, and x * y has no other use
fn contract_of_product(b: &mut Builder, op: &Op<NodeId>, _: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    if !dtype.is_float() || !(is_product(b, x) || is_product(b, y)) {
        return None;
    }
    let mut factors: SmallVec<[Factor; 4]> = SmallVec::new();
    let mut before = flattened(b, (x, op.a.clone()), &mut factors);
    before += flattened(b, (y, op.b.clone()), &mut factors) + 2 * size(op.a.shape());
    if factors.len() < 3 || first_pair(&factors, &op.out).is_none() {
        return None;
    }
    planned(b, factors, op.out.clone(), before)
}

/// Whether a value is a product that is used once.
fn is_product(b: &Builder, id: NodeId) -> bool {
    let op = &b.node(id).op;
    b.once(id)
        && (matches!(op, Op::Binary(Binary::Mul, ..)) || matches!(op, Op::Contract(op, ..) if op.out.is_identity()))
}

/// The factors of a product, looked at through views, and how many elements it takes to multiply and move them now. Not
/// more than four.
fn flattened(b: &Builder, factor: Factor, factors: &mut SmallVec<[Factor; 4]>) -> usize {
    let mut work = 0;
    let mut pending: SmallVec<[Factor; 4]> = SmallVec::new();
    pending.push(factor);
    while let Some((id, view)) = pending.pop() {
        let node = &b.node(id).op;
        let product = factors.len() + pending.len() < 3 && is_product(b, id);
        if let (true, Op::Binary(_, x, y)) = (product, node) {
            work += elements(b, id);
            pending.extend([(*y, view.clone()), (*x, view)]);
        } else if let (true, Op::Contract(op, x, y)) = (product, node)
            && let (Some(left), Some(right)) = (op.a.after(&view), op.b.after(&view))
        {
            work += 2 * elements(b, id);
            pending.extend([(*y, right), (*x, left)]);
        } else if let Op::Linear(op, x) = node
            && let Some(both) = reading(op).and_then(|inner| inner.after(&view))
        {
            work += if b.once(id) { elements(b, id) } else { 0 };
            pending.push((*x, both));
        } else {
            factors.push((id, view));
        }
    }
    work
}

/// Whether any of the views moves along the axis.
fn any_moves(factors: &[Factor], axis: usize, except: [usize; 2]) -> bool {
    factors.iter().enumerate().any(|(k, (_, view))| !except.contains(&k) && moves(view, axis))
}

/// The pair of factors that share an axis that nothing else moves along, of those the one with the smallest space.
fn first_pair(factors: &[Factor], out: &View) -> Option<(usize, usize)> {
    let space = out.shape();
    let mut best: Option<(usize, (usize, usize))> = None;
    for p in 0..factors.len() {
        for q in p + 1..factors.len() {
            let own = |axis: usize| moves(&factors[p].1, axis) || moves(&factors[q].1, axis);
            let summed = |axis: usize| own(axis) && !moves(out, axis) && !any_moves(factors, axis, [p, q]);
            if !(0..space.len()).any(|axis| space[axis] > 1 && summed(axis)) {
                continue;
            }
            let points: usize = (0..space.len()).filter(|axis| own(*axis)).map(|axis| space[axis]).product();
            if best.is_none_or(|(fewest, _)| points < fewest) {
                best = Some((points, (p, q)));
            }
        }
    }
    best.map(|(_, pair)| pair)
}

/// The pair of factors that are multiplied over the smallest space.
fn smallest_pair(factors: &[Factor], space: &[usize]) -> (usize, usize) {
    let mut best = (usize::MAX, (0, 1));
    for p in 0..factors.len() {
        for q in p + 1..factors.len() {
            let own = |axis: &usize| moves(&factors[p].1, *axis) || moves(&factors[q].1, *axis);
            let points: usize = (0..space.len()).filter(own).map(|axis| space[axis]).product();
            if points < best.0 {
                best = (points, (p, q));
            }
        }
    }
    best.1
}

/// One step of a plan: contract two factors over some axes, into those that stay.
struct Pairing {
    op: Contract,
    pair: (usize, usize),
    /// The axes of the space that are left.
    left: Axes,
    /// The axes of the result among them.
    kept: Axes,
}

impl Pairing {
    /// Whether both factors are multiplied in place.
    fn is_elementwise(&self) -> bool {
        [&self.op.a, &self.op.b, &self.op.out].iter().all(|view| view.is_identity())
    }

    fn work(&self) -> usize {
        size(self.op.a.shape()) * if self.is_elementwise() { 1 } else { 2 }
    }
}

fn pairing(factors: &[Factor], out: &View) -> Pairing {
    let space = out.shape();
    let pair = first_pair(factors, out).unwrap_or_else(|| smallest_pair(factors, space));
    let (p, q) = pair;
    let own = |axis: &usize| moves(&factors[p].1, *axis) || moves(&factors[q].1, *axis);
    let needed = |axis: &usize| moves(out, *axis) || any_moves(factors, *axis, [p, q]);
    let inner: Axes = (0..space.len()).filter(own).collect();
    let left: Axes = (0..space.len()).filter(|axis| !own(axis) || needed(axis)).collect();
    let shape: Shape = inner.iter().map(|axis| space[*axis]).collect();
    let staying: Axes = (0..inner.len()).filter(|k| needed(&inner[*k])).collect();
    let op = Contract::new(over(&factors[p].1, &inner), over(&factors[q].1, &inner), View::axes(&shape, &staying));
    let kept = staying.iter().filter_map(|k| left.iter().position(|axis| *axis == inner[*k])).collect();
    Pairing { op, pair, left, kept }
}

/// The sum of a product of factors as contractions of two, if that is not dearer than `before`.
fn planned(b: &mut Builder, mut factors: SmallVec<[Factor; 4]>, mut out: View, before: usize) -> Option<NodeId> {
    // Once to know what it costs, once to do it: the steps do not depend on what the values are.
    let (mut trial, mut space, mut cost) = (factors.clone(), out.clone(), 0);
    while trial.len() > 2 {
        let step = pairing(&trial, &space);
        cost += step.work();
        advance(&mut trial, &mut space, &step, 0);
    }
    cost += 2 * size(space.shape());
    if cost > before {
        return None;
    }
    while factors.len() > 2 {
        let step = pairing(&factors, &out);
        let (x, y) = (factors[step.pair.0].0, factors[step.pair.1].0);
        let value = match step.is_elementwise() {
            true => like(b, Op::Binary(Binary::Mul, x, y), x),
            false => contracted(b, step.op.clone(), x, y),
        };
        advance(&mut factors, &mut out, &step, value);
    }
    let (y, view_y) = factors.pop()?;
    let (x, view_x) = factors.pop()?;
    Some(contracted(b, Contract::new(view_x, view_y, out), x, y))
}

/// Puts the result of a step in the place of its factors.
fn advance(factors: &mut SmallVec<[Factor; 4]>, out: &mut View, step: &Pairing, value: NodeId) {
    let shape: Shape = step.left.iter().map(|axis| out.shape()[*axis]).collect();
    let (p, q) = step.pair;
    factors.remove(q);
    factors.remove(p);
    for (_, view) in factors.iter_mut() {
        *view = over(view, &step.left);
    }
    factors.insert(p, (value, View::axes(&shape, &step.kept)));
    *out = over(out, &step.left);
}
