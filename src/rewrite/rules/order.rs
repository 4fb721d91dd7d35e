//! The order of sums and products: products are distributed over sums, and regrouped, if that is cheaper.
//!
//! Laws. The order of sums and the distribution of a product over a sum count as rounding, as in `einsum`: for finite,
//! moderate operands the result is the same up to rounding. A result that is not finite stays so, but NaN and
//! infinities may turn into each other. Every rule here makes a program that strictly `beats` the previous one, so
//! the rules terminate. The search (see `orders`) is bounded: it tries every order of at most four factors.

use smallvec::SmallVec;

use super::contract::{contracted, seen_through};
use super::orders::{
    OrderStep, Summed, Views, beats, boxed, contracting, copying, elementwise, pairing, settled, spread, summed,
    with_pair, with_sum,
};
use super::views::{Axes, moves, over, reading};
use super::{elements, like, linearly, number};
use crate::cost::Cost;
use crate::dtype::DType;
use crate::ops::{Binary, Contract, Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

fn applied(op: &Op<NodeId>) -> Option<(&Contract, NodeId, NodeId)> {
    if let Op::Contract(op, a, b) = op { Some((op, *a, *b)) } else { None }
}

// ---- axes of one factor alone ----

/// The contraction after one operand is summed, and the cost of sum and contraction together.
fn after_sum(op: &Contract, k: usize, sum: &Summed) -> (Contract, Cost) {
    let rest = over([&op.b, &op.a][k], &sum.left);
    let out = over(&op.out, &sum.left);
    let small = match k {
        0 => Contract::new(sum.view.clone(), rest, out),
        _ => Contract::new(rest, sum.view.clone(), out),
    };
    let cost = copying(&sum.op) + settled(&small);
    (small, cost)
}

/// contract x y = contract (sum x) y, over the axes that `x` alone has, where that is cheaper
pub(super) fn contract_lone_axis(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    let views = [op.a.clone(), op.b.clone()];
    let now = settled(op);
    for k in 0..2 {
        let Some(sum) = summed(&views, k, &op.out) else { continue };
        let (small, cost) = after_sum(op, k, &sum);
        if beats(cost, now) {
            let summed = linearly(b, sum.op, [x, y][k]);
            let (x, y) = if k == 0 { (summed, y) } else { (x, summed) };
            return Some(contracted(b, small, x, y));
        }
    }
    None
}

// ---- axes of the result alone ----

equations! { |b, op, shape, dtype|
    /// contract x y = replicate (contract x y), along the axes that the result alone has, where that is cheaper
    pub(super) contract_spread {
        Contract(c, x, y)
            if let Some((small, replica)) = spread(c),
                beats(contracting(&small) + copying(&replica), contracting(c))
            => {
                let small = contracted(b, small, x, y);
                linearly(b, replica, small)
            }
    }
}

// ---- operands that are written at places ----

/// contract (adjoint (view x)) y = contract x (view y): if a linear operation writes a part of an operand, only the
/// written elements are multiplied, by the law of padded values. Where zeros of basis vectors are left out, but numbers
/// are not taken for finite, x must be a number
pub(super) fn contract_written(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    for k in 0..2 {
        let (own, other) = if k == 0 { (&op.a, &op.b) } else { (&op.b, &op.a) };
        let id = [x, y][k];
        let Op::Linear(write, source) = &b.node(id).op else { continue };
        let Linear::Affine { from, into } = &**write else { continue };
        if !b.assumes().fast && number(b, *source).is_none() {
            continue;
        }
        let Some([new, other, out]) = through_written(own, [other, &op.out], from, into) else { continue };
        let small = if k == 0 { Contract::new(new, other, out) } else { Contract::new(other, new, out) };
        let before = contracting(op) + if b.once(id) { copying(write) } else { Cost::default() };
        if beats(contracting(&small), before) {
            let (x, y) = if k == 0 { (*source, y) } else { (x, *source) };
            return Some(contracted(b, small, x, y));
        }
    }
    None
}

/// The views of the source of the written operand, of the other operand and of the result, over a new space: the axes
/// of the contraction that do not move in the written operand, then the axes of the writing operation. `None` unless
/// the contraction reads each axis of the operand by steps of one along an axis that moves in no other, or at the one
/// place where it is written.
fn through_written(own: &View, others: [&View; 2], from: &View, into: &View) -> Option<[View; 3]> {
    let space = own.shape();
    if into.is_identity() || own.is_empty() || into.is_empty() || from.is_empty() || !into.is_total_in_box() {
        return None;
    }
    // For each axis of the space, the axis of the operand along which it moves.
    let mut along: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, space.len());
    for k in 0..own.source().len() {
        let mut moving = own.row(k).iter().enumerate().filter(|(_, m)| **m != 0);
        match (moving.next(), moving.next()) {
            (Some((axis, m)), None) if m.abs() == 1 && along[axis].is_none() => along[axis] = Some(k),
            (None, _) if into.row(k).iter().all(|m| *m == 0) && into.offset()[k] == own.offset()[k] => {}
            (_, _) => return None,
        }
    }
    let rest: Axes = (0..space.len()).filter(|axis| along[*axis].is_none()).collect();
    let shape: Shape = rest.iter().map(|axis| space[*axis]).chain(from.shape().iter().copied()).collect();
    let (mut matrix, mut offset): (SmallVec<[i64; 16]>, SmallVec<[i64; 6]>) = (SmallVec::new(), SmallVec::new());
    for axis in 0..space.len() {
        matrix.extend(rest.iter().map(|other| i64::from(*other == axis)));
        match along[axis] {
            Some(k) => {
                let m = own.row(k)[axis];
                matrix.extend(into.row(k).iter().map(|step| m * step));
                offset.push(m * (into.offset()[k] - own.offset()[k]));
            }
            None => {
                matrix.extend(from.shape().iter().map(|_| 0));
                offset.push(0);
            }
        }
    }
    let sides = into.bounds().iter().enumerate();
    let back = View::affine(space, &shape, &matrix, &offset);
    let back = sides.fold(back, |back, (axis, (lo, hi))| back.clipped(rest.len() + axis, *lo, *hi));
    let seen = own.after(&back)?;
    let wide = rest.iter().rev().fold(from.clone(), |view, axis| view.widened(space[*axis]));
    let all: Axes = (0..shape.len()).collect();
    let [other, out] = others.map(|view| view.after(&back));
    Some([boxed(wide, &seen, &all), other?, out?])
}

// ---- products of several factors ----

/// A factor of a summed product: a value, and its view by the iteration space.
type Factor = (NodeId, View);

type Factors = SmallVec<[Factor; 4]>;

/// The largest number of factors that are regrouped.
const MOST: usize = 4;

/// sum (x * y) = contract x y, and with more factors in the cheapest order; where the product has no other use.
/// `sum (x - y)^2` stays: expanded it would cancel
pub(super) fn sum_of_product(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    let Op::Binary(Binary::Mul, ..) = b.node(*a).op else { return None };
    let (points, product) = (size(from.shape()), elements(b, *a));
    if !b.once(*a) || size(shape) >= points || points == 0 || product == 0 || !dtype.is_float() {
        return None;
    }
    let product = Product::of(b, &[(*a, from.clone())], into.clone(), is_own_product_of_values);
    // A number is not a factor of a contraction.
    if product.factors.len() < 2
        || points > elements(b, *a)
        || product.factors.iter().any(|(x, _)| number(b, *x).is_some())
    {
        return None;
    }
    let before = product.cost + copying(op);
    product.regrouped(b, before)
}

/// contract (x * y) z = contract x (contract y z), contract (contract x y) z = contract x (contract y z), where that is
/// cheaper, even if the inner product is computed anyway for another use
pub(super) fn contract_of_product(b: &mut Builder, op: &Op<NodeId>, _: &Shape, dtype: DType) -> Option<NodeId> {
    let (op, x, y) = applied(op)?;
    if !dtype.is_float() || !(is_product(b, x) || is_product(b, y)) {
        return None;
    }
    let factors = [(x, op.a.clone()), (y, op.b.clone())];
    // It may be cheaper to keep a product with other uses, and to regroup only the others.
    for open in [is_product, is_own_product] {
        let product = Product::of(b, &factors, op.out.clone(), open);
        let before = product.cost + contracting(op);
        if product.factors.len() > 2
            && let Some(cheaper) = product.regrouped(b, before)
        {
            return Some(cheaper);
        }
    }
    None
}

fn is_product(b: &Builder, id: NodeId) -> bool {
    matches!(&b.node(id).op, Op::Binary(Binary::Mul, ..) | Op::Contract(..))
}

/// Whether a value is a product with one use.
fn is_own_product(b: &Builder, id: NodeId) -> bool {
    b.once(id) && is_product(b, id)
}

/// sum (x + y) = sum x + sum y, and the same for differences, where x + y has no other use, and the sum of one term
/// alone takes at most half of the work because that term is a contraction, which sums first. Other terms stay
/// together: the sum of `1 - cos x` has digits that `n - sum (cos x)` has lost
pub(super) fn sum_of_terms(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    let Op::Binary(sum @ (Binary::Add | Binary::Sub), x, y) = b.node(*a).op else { return None };
    if !b.once(*a) || x == y || size(shape) >= size(from.shape()) || elements(b, *a) == 0 || size(shape) == 0 {
        return None;
    }
    let (mut now, mut then) = (elementwise(&b.node(*a).shape) + copying(op), elementwise(shape));
    let mut pays = false;
    for term in [x, y] {
        let product = Product::of(b, &[(term, from.clone())], into.clone(), is_own_product);
        let views: Views = product.factors.iter().map(|(_, view)| view.clone()).collect();
        let summed = match &views[..] {
            // A number is stored once.
            [_] if number(b, product.factors[0].0).is_some() => Cost::default(),
            [view] => {
                let moving: Axes =
                    (0..view.shape().len()).filter(|k| moves(view, *k) || moves(&product.out, *k)).collect();
                copying(&Linear::affine(over(view, &moving), over(&product.out, &moving)))
            }
            _ => b.orders().cheapest(&views, &product.out).0,
        };
        (now, then) = (now + product.cost, then + summed);
        pays |= views.len() > 1 && 2 * summed.work <= product.cost.work + copying(op).work;
    }
    if !pays || !beats(then, now) {
        return None;
    }
    let (x, y) = (linearly(b, (**op).clone(), x), linearly(b, (**op).clone(), y));
    Some(b.add(Op::Binary(sum, x, y), shape.clone(), dtype))
}

/// Whether a value is a product with one use whose factors are not numbers.
fn is_own_product_of_values(b: &Builder, id: NodeId) -> bool {
    let scaled = matches!(b.node(id).op, Op::Binary(_, x, y) if number(b, x).is_some() || number(b, y).is_some());
    is_own_product(b, id) && !scaled
}

/// A sum of products: `out[O i] += x[X i] * y[Y i] * ..`.
struct Product {
    factors: Factors,
    out: View,
    /// The cost of its products and views without other uses.
    cost: Cost,
}

impl Product {
    /// The factors of products, with their views. A contraction among them adds the axes that it sums over to the
    /// space.
    fn of(b: &Builder, factors: &[Factor], out: View, opens: fn(&Builder, NodeId) -> bool) -> Product {
        let mut all = Product { factors: Factors::new(), out, cost: Cost::default() };
        // With each factor, whether its operands are computed for this product alone.
        let mut pending: SmallVec<[(Factor, bool); 4]> = factors.iter().rev().map(|f| (f.clone(), true)).collect();
        while let Some(((id, view), own)) = pending.pop() {
            let (op, own) = (&b.node(id).op, own && b.once(id));
            let cost = |cost: Cost| if own { cost } else { Cost::default() };
            let open = opens(b, id) && all.factors.len() + pending.len() + 2 <= MOST;
            if let (true, Op::Binary(_, x, y)) = (open, op) {
                all.cost += cost(elementwise(&b.node(id).shape));
                pending.extend([((*y, view.clone()), own), ((*x, view), own)]);
            } else if let (true, Op::Contract(op, x, y)) = (open, op)
                && let Some((left, right, axes)) = opened(op, &view)
            {
                all.cost += cost(contracting(op));
                let wide = |view: &View| axes.iter().rev().fold(view.clone(), |view, n| view.widened(*n));
                all.factors.iter_mut().for_each(|(_, view)| *view = wide(view));
                pending.iter_mut().for_each(|((_, view), _)| *view = wide(view));
                all.out = wide(&all.out);
                pending.extend([((*y, right), own), ((*x, left), own)]);
            } else if let Op::Linear(op, x) = op
                && let Some(both) = reading(op).and_then(|inner| seen_through(&inner, &view))
            {
                all.cost += cost(copying(op));
                pending.push(((*x, both), own));
            } else {
                all.factors.push((id, view));
            }
        }
        all
    }

    /// The sum in the cheapest order, if that is cheaper than before.
    fn regrouped(self, b: &mut Builder, before: Cost) -> Option<NodeId> {
        let Product { mut factors, mut out, .. } = self;
        let mut views: Views = factors.iter().map(|(_, view)| view.clone()).collect();
        let (cost, steps) = b.orders().cheapest(&views, &out);
        if !beats(cost, before) {
            return None;
        }
        let mut values: SmallVec<[NodeId; 4]> = factors.drain(..).map(|(id, _)| id).collect();
        for step in steps {
            match step {
                OrderStep::Sum(k) => {
                    let sum = summed(&views, k, &out)?;
                    values[k] = linearly(b, sum.op.clone(), values[k]);
                    (views, out) = with_sum(&views, &out, k, sum);
                }
                OrderStep::Pair(p, q) => {
                    let pair = pairing(&views, (p, q), &out);
                    let y = values.remove(q);
                    values[p] = match pair.is_elementwise() {
                        true => like(b, Op::Binary(Binary::Mul, values[p], y), y),
                        false => contracted(b, pair.op.clone(), values[p], y),
                    };
                    (views, out) = with_pair(&views, &out, &pair);
                }
            }
        }
        let [left, right] = &views[..] else { return None };
        Some(contracted(b, Contract::new(left.clone(), right.clone(), out), values[0], values[1]))
    }
}

/// The views of the operands of a contraction whose result is read through `view`, over a larger space: first the axes
/// that the contraction sums over, whose sizes are returned, too, then the axes of `view`. `None` unless each axis of
/// the result is a whole axis of the contraction, or has one position.
fn opened(op: &Contract, view: &View) -> Option<(View, View, Shape)> {
    let (inner, result) = (op.out.shape(), op.out.source());
    // For each axis of the contraction, the axis of the result that equals it.
    let mut place: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, inner.len());
    for (k, n) in result.iter().enumerate() {
        let mut moving = op.out.row(k).iter().enumerate().filter(|(_, m)| **m != 0);
        match (moving.next(), moving.next()) {
            (Some((axis, 1)), None) if op.out.offset()[k] == 0 && inner[axis] == *n && place[axis].is_none() => {
                place[axis] = Some(k);
            }
            (None, _) if *n == 1 && view.offset()[k] == 0 && view.row(k).iter().all(|m| *m == 0) => {}
            (_, _) => return None,
        }
    }
    if !op.out.is_total() || inner.contains(&0) || view.is_empty() {
        return None;
    }
    let summed: Axes = (0..inner.len()).filter(|axis| place[*axis].is_none() && inner[*axis] > 1).collect();
    let axes: Shape = summed.iter().map(|axis| inner[*axis]).collect();
    let shape: Shape = axes.iter().chain(view.shape()).copied().collect();
    let (mut matrix, mut offset): (SmallVec<[i64; 16]>, SmallVec<[i64; 6]>) = (SmallVec::new(), SmallVec::new());
    for (axis, place) in place.iter().enumerate() {
        matrix.extend(summed.iter().map(|other| i64::from(*other == axis)));
        match place {
            Some(k) => matrix.extend_from_slice(view.row(*k)),
            None => matrix.extend(view.shape().iter().map(|_| 0)),
        }
        offset.push(place.map_or(0, |k| view.offset()[k]));
    }
    let way = View::affine(inner, &shape, &matrix, &offset);
    let sides = view.bounds().iter().enumerate();
    let way = sides.fold(way, |way, (axis, (lo, hi))| way.clipped(axes.len() + axis, *lo, *hi));
    Some((op.a.after(&way)?, op.b.after(&way)?, axes))
}
