//! The cheapest order of sums and pairs of factors in a sum of products, and what orders cost.
//!
//! Law: an order is a step for each sum that is taken before a product, and for each pair of factors but the last. What
//! an order costs depends on the views of the factors and of the result alone, so a program under construction keeps
//! what it has found: the layers of a network have the same views.

use smallvec::SmallVec;

use super::views::{Axes, moves, over};
use crate::cost::Cost;
use crate::dtype::DType;
use crate::hash::Table;
use crate::ops::{Contract, Linear, View};
use crate::shape::Shape;

/// The cost of a contraction. Rules compare numbers of elements, so every element type counts as `f64`.
pub(super) fn contracting(op: &Contract) -> Cost {
    let of = |view: &View| Shape::from_slice(view.source());
    let (a, b, out) = (of(&op.a), of(&op.b), of(&op.out));
    Cost::contract(op, (&a, DType::F64), (&b, DType::F64), (&out, DType::F64))
}

/// The cost of a linear operation.
pub(super) fn copying(op: &Linear) -> Cost {
    Cost::linear(op, (op.input_shape(), DType::F64), (op.output_shape(), DType::F64))
}

/// The cost of an elementwise operation on two values of this shape.
pub(super) fn elementwise(shape: &[usize]) -> Cost {
    Cost::whole([(shape, DType::F64), (shape, DType::F64)], (shape, DType::F64))
}

/// The number of elements computed, read and written.
pub(super) fn total(cost: Cost) -> u64 {
    cost.work.saturating_add(cost.bytes / DType::F64.width() as u64)
}

/// Whether the first cost is less than the second, without more work.
pub(super) fn beats(cost: Cost, other: Cost) -> bool {
    cost.work <= other.work && total(cost) < total(other)
}

// ---- axes of one factor, or of the result, alone ----

/// A factor that is summed, before it is multiplied, over the axes that it alone has.
pub(super) struct Summed {
    pub(super) op: Linear,
    /// The axes of the space that remain.
    pub(super) left: Axes,
    /// The view of the sum by those axes.
    pub(super) view: View,
}

/// A view, over some axes of its space, with the box of another view.
pub(super) fn boxed(view: View, other: &View, axes: &[usize]) -> View {
    let side =
        |view: View, (k, axis): (usize, &usize)| view.clipped(k, other.bounds()[*axis].0, other.bounds()[*axis].1);
    axes.iter().enumerate().fold(view, side)
}

/// The factor summed over the axes that neither the other factors nor the result have, if there are any. The view of
/// the sum has the box of the factor, so a product with an element outside the box stays 0.
pub(super) fn summed(views: &[View], k: usize, out: &View) -> Option<Summed> {
    let (own, space) = (&views[k], out.shape());
    let alone = |axis: &usize| {
        let others = views.iter().enumerate().any(|(other, view)| other != k && moves(view, *axis));
        space[*axis] > 1 && moves(own, *axis) && !moves(out, *axis) && !others
    };
    if own.is_empty() || space.contains(&0) {
        return None;
    }
    let lone: Axes = (0..space.len()).filter(alone).collect();
    let left: Axes = (0..space.len()).filter(|axis| !lone.contains(axis)).collect();
    if lone.is_empty() {
        return None;
    }
    let ways = [summed_apart(own, &lone, &left), summed_in_place(own, &lone, &left)];
    let (op, view) = ways.into_iter().flatten().min_by_key(|(op, _)| total(copying(op)))?;
    Some(Summed { op, left, view })
}

/// The sum over whole axes of the factor: those along which lone axes move. `None` if another axis moves along one of
/// these, or if the view leaves their range.
fn summed_apart(own: &View, lone: &[usize], left: &[usize]) -> Option<(Linear, View)> {
    let source = own.source();
    let depends = |k: &usize| lone.iter().any(|axis| own.row(*k)[*axis] != 0);
    let (inner, rest): (Axes, Axes) = (0..source.len()).partition(depends);
    let apart = |k: &usize| {
        let (lo, hi) = own.range(*k);
        left.iter().all(|axis| own.row(*k)[*axis] == 0) && 0 <= lo && hi < source[*k] as i64
    };
    if !inner.iter().all(apart) {
        return None;
    }
    // The iteration space has the lone axes, then the axes of the factor that stay.
    let stay: Shape = rest.iter().map(|k| source[*k]).collect();
    let shape: Shape = lone.iter().map(|axis| own.shape()[*axis]).chain(stay.iter().copied()).collect();
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::new();
    let mut offset: SmallVec<[i64; 6]> = SmallVec::new();
    for k in 0..source.len() {
        let place = rest.iter().position(|other| *other == k);
        matrix.extend(lone.iter().map(|axis| own.row(k)[*axis]));
        matrix.extend((0..rest.len()).map(|other| i64::from(place == Some(other))));
        offset.push(if place.is_some() { 0 } else { own.offset()[k] });
    }
    let from = boxed(View::affine(source, &shape, &matrix, &offset), own, lone);
    let kept: Axes = (lone.len()..shape.len()).collect();
    let op = Linear::affine(from, View::axes(&shape, &kept));
    let small: Shape = left.iter().map(|axis| own.shape()[*axis]).collect();
    let (mut matrix, mut offset): (SmallVec<[i64; 16]>, SmallVec<[i64; 6]>) = (SmallVec::new(), SmallVec::new());
    for k in &rest {
        matrix.extend(left.iter().map(|axis| own.row(*k)[*axis]));
        offset.push(own.offset()[*k]);
    }
    Some((op, boxed(View::affine(&stay, &small, &matrix, &offset), own, left)))
}

/// The sum at each point of the other axes along which the view of the factor moves, if the view reads something at
/// every point of its box.
fn summed_in_place(own: &View, lone: &[usize], left: &[usize]) -> Option<(Linear, View)> {
    if !own.is_total_in_box() {
        return None;
    }
    let space = own.shape();
    let moving: Axes = (0..space.len()).filter(|axis| moves(own, *axis)).collect();
    let staying: Axes = (0..moving.len()).filter(|k| !lone.contains(&moving[*k])).collect();
    let points: Shape = moving.iter().map(|axis| space[*axis]).collect();
    let op = Linear::affine(over(own, &moving), View::axes(&points, &staying));
    let small: Shape = left.iter().map(|axis| space[*axis]).collect();
    let places: Axes = staying.iter().filter_map(|k| left.iter().position(|axis| *axis == moving[*k])).collect();
    Some((op, boxed(View::axes(&small, &places), own, left)))
}

/// A contraction without the axes that its result alone has, and the operation that replicates along these.
pub(super) fn spread(op: &Contract) -> Option<(Contract, Linear)> {
    let space = op.out.shape();
    if space.contains(&0) || op.out.is_empty() {
        return None;
    }
    let repeats =
        |axis: &usize| space[*axis] > 1 && moves(&op.out, *axis) && !moves(&op.a, *axis) && !moves(&op.b, *axis);
    let (new, inner): (Axes, Axes) = (0..space.len()).partition(repeats);
    if new.is_empty() {
        return None;
    }
    let shape = |axes: &[usize]| -> Shape { axes.iter().map(|axis| space[*axis]).collect() };
    let written: Axes = (0..space.len()).filter(|axis| moves(&op.out, *axis)).collect();
    let kept: Axes = inner.iter().copied().filter(|axis| moves(&op.out, *axis)).collect();
    let places =
        |all: &[usize]| -> Axes { kept.iter().filter_map(|axis| all.iter().position(|other| other == axis)).collect() };
    let small = Contract::new(over(&op.a, &inner), over(&op.b, &inner), View::axes(&shape(&inner), &places(&inner)));
    let replica = Linear::affine(View::axes(&shape(&written), &places(&written)), over(&op.out, &written));
    Some((small, replica))
}

/// The cost of a contraction with replication along the axes that its result alone has.
pub(super) fn settled(op: &Contract) -> Cost {
    let whole = contracting(op);
    let apart = spread(op).map(|(small, replica)| contracting(&small) + copying(&replica));
    apart.filter(|cost| beats(*cost, whole)).unwrap_or(whole)
}

// ---- orders ----

pub(super) type Views = SmallVec<[View; 4]>;

/// A step of an order.
#[derive(Clone, Copy)]
pub(super) enum OrderStep {
    /// A factor is summed over the axes that it alone has.
    Sum(usize),
    /// Two factors are contracted into one, which takes the place of the first.
    Pair(usize, usize),
}

/// Whether any of the views moves along the axis.
fn any_moves(views: &[View], axis: usize, except: [usize; 2]) -> bool {
    views.iter().enumerate().any(|(k, view)| !except.contains(&k) && moves(view, axis))
}

/// Two factors, contracted over the axes that nothing else has.
pub(super) struct Pairing {
    pub(super) op: Contract,
    pair: (usize, usize),
    /// The axes of the space that remain.
    pub(super) left: Axes,
    /// The view of the result by those axes.
    pub(super) view: View,
}

impl Pairing {
    /// Whether both factors are multiplied in place.
    pub(super) fn is_elementwise(&self) -> bool {
        [&self.op.a, &self.op.b, &self.op.out].iter().all(|view| view.is_identity())
    }

    fn cost(&self) -> Cost {
        if self.is_elementwise() { elementwise(self.op.a.shape()) } else { contracting(&self.op) }
    }
}

pub(super) fn pairing(views: &[View], pair: (usize, usize), out: &View) -> Pairing {
    let space = out.shape();
    let (p, q) = pair;
    let own = |axis: &usize| moves(&views[p], *axis) || moves(&views[q], *axis);
    let needed = |axis: &usize| moves(out, *axis) || any_moves(views, *axis, [p, q]);
    let inner: Axes = (0..space.len()).filter(own).collect();
    let left: Axes = (0..space.len()).filter(|axis| !own(axis) || needed(axis)).collect();
    let shape: Shape = inner.iter().map(|axis| space[*axis]).collect();
    let staying: Axes = (0..inner.len()).filter(|k| needed(&inner[*k])).collect();
    let op = Contract::new(over(&views[p], &inner), over(&views[q], &inner), View::axes(&shape, &staying));
    let kept: Axes = staying.iter().filter_map(|k| left.iter().position(|axis| *axis == inner[*k])).collect();
    let small: Shape = left.iter().map(|axis| space[*axis]).collect();
    // An element outside the box of either factor is not multiplied later, either.
    let view = [p, q].iter().fold(View::axes(&small, &kept), |view, k| boxed(view, &views[*k], &left));
    Pairing { op, pair, left, view }
}

/// The space after two factors became one.
pub(super) fn with_pair(views: &[View], out: &View, pair: &Pairing) -> (Views, View) {
    let (p, q) = pair.pair;
    let mut next: Views = views.iter().map(|_| pair.view.clone()).collect();
    for (k, view) in views.iter().enumerate().filter(|(k, _)| *k != p && *k != q) {
        next[k] = over(view, &pair.left);
    }
    next.remove(q);
    (next, over(out, &pair.left))
}

/// The space after a factor was summed.
pub(super) fn with_sum(views: &[View], out: &View, k: usize, sum: Summed) -> (Views, View) {
    let left = &sum.left;
    let others = |(other, view)| if other == k { sum.view.clone() } else { over(view, left) };
    (views.iter().enumerate().map(others).collect(), over(out, left))
}

/// The steps of an order, with its cost.
type Order = (Cost, SmallVec<[OrderStep; 4]>);

/// The cheapest orders that were found for the program under construction, by the views of the factors and of the
/// result. Only looked up, never iterated over, so that its order has no effect.
#[derive(Default)]
pub(crate) struct Orders(Table<(Views, View), Order>);

impl Orders {
    /// The cheapest order of sums and products.
    pub(super) fn cheapest(&mut self, views: &Views, out: &View) -> Order {
        let key = (views.clone(), out.clone());
        self.0.entry(key).or_insert_with(|| cheapest(views, out)).clone()
    }
}

/// The cheapest order of sums and products, the first one of equally cheap orders: an axis of one factor alone is
/// summed first, and every pair of factors is tried.
fn cheapest(views: &[View], out: &View) -> Order {
    for k in 0..views.len() {
        let Some(sum) = summed(views, k, out) else { continue };
        let cost = copying(&sum.op);
        let (next, space) = with_sum(views, out, k, sum);
        let (rest, steps) = cheapest(&next, &space);
        let whole = cost + rest;
        // The contraction of the last two factors can sum, too, so a sum before it must be cheaper.
        let pays =
            views.len() > 2 || beats(whole, settled(&Contract::new(views[0].clone(), views[1].clone(), out.clone())));
        if pays {
            return (whole, [OrderStep::Sum(k)].into_iter().chain(steps).collect());
        }
    }
    if views.len() < 3 {
        return (settled(&Contract::new(views[0].clone(), views[1].clone(), out.clone())), SmallVec::new());
    }
    let mut best: Option<Order> = None;
    for p in 0..views.len() {
        for q in p + 1..views.len() {
            let pair = pairing(views, (p, q), out);
            let is_less = |cost: Cost| best.as_ref().is_none_or(|(least, _)| total(cost) < total(*least));
            let first = pair.cost();
            if !is_less(first) {
                continue;
            }
            let (next, space) = with_pair(views, out, &pair);
            let (rest, steps) = cheapest(&next, &space);
            let whole = first + rest;
            if is_less(whole) {
                best = Some((whole, [OrderStep::Pair(p, q)].into_iter().chain(steps).collect()));
            }
        }
    }
    best.unwrap_or_default()
}
