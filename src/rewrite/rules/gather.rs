//! Rules of gathers, which read at indices.

use smallvec::SmallVec;

use super::{Rule, constant, elements, indices, keeps_zero, linearly, of_one_value, resized, table, views};
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::{Discrete, IntBinary, Linear, Reduce, View};
use crate::program::{Builder, Constant, NodeId, Op};
use crate::rewrite::facts::DigitSum;
use crate::shape::{Shape, size};

pub(super) const RULES: &[Rule] = table![
    gather_all,
    gather_extremum,
    indices::gather_affine,
    gather_early,
    gather_number,
    gather_through,
    gather_gathered
];

equations! { |b, op, shape, dtype|
    /// x[] = x
    gather_all { Gather(x, ix) if ix.is_empty() => x }

    /// c[ix] = c for a uniform constant, where the indices are within bounds
    gather_number {
        Gather(x, ix) if constant(b, x).is_some() && all_within(b, x, ix) => { resized(b, x, shape)? }
    }
}

/// x[i, argmax axis=1 x] = max axis=1 x, where i is the index of the line, and the position has no other use
fn gather_extremum(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Gather(a, ix) = op else { return None };
    let extremum = |(k, i): (usize, &NodeId)| {
        let Op::Discrete(position, args) = &b.node(*i).op else { return None };
        Reduce::all(k).into_iter().find(|op| op.position() == *position && args[0] == *a).map(|op| (op, *i))
    };
    let (extremum, position) = ix.iter().enumerate().find_map(extremum)?;
    if ix.len() != b.node(*a).shape.len() || !b.once(position) {
        return None;
    }
    let own = |k: usize| if k < extremum.axis() { k } else { k - 1 };
    let counts = |k: usize, i: NodeId| {
        let steps: SmallVec<[i64; 6]> = (0..shape.len()).map(|axis| i64::from(axis == own(k))).collect();
        let form = DigitSum::linear(shape, &steps, 0);
        form.is_some() && b.facts().form(i) == form.as_ref()
    };
    let others = ix.iter().enumerate().filter(|(k, _)| *k != extremum.axis());
    others.into_iter().all(|(k, i)| counts(k, *i)).then(|| b.add(Op::Reduce(extremum, *a), shape.clone(), dtype))
}

/// (f x y)[ix] = f x[ix] y[ix], where the result of `f` has no other use, and less is computed and moved. Because a
/// read out of bounds gives 0, the indices must be within bounds, or `f` must map zeros to zero
fn gather_early(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Gather(a, ix) = op else { return None };
    if !b.once(*a) || !b.node(*a).op.is_elementwise() {
        return None;
    }
    let f = b.node(*a).op.clone();
    let within = all_within(b, *a, ix);
    if !within && !keeps_zero(b, &f) {
        return None;
    }
    let mut operands: SmallVec<[NodeId; 3]> = SmallVec::new();
    f.operands(&mut |x| operands.push(*x));
    let uniform = |b: &Builder, x: NodeId| constant(b, x).is_some_and(of_one_value);
    let read = operands.iter().filter(|x| !uniform(b, **x)).count();
    // The left side computes all elements, then reads those of the result and the indices; the right side reads them
    // once per operand.
    let per = ix.iter().fold(2 * size(shape), |sum, i| sum.saturating_add(elements(b, *i)));
    if read.saturating_mul(per).saturating_add(size(shape)) >= (2 * elements(b, *a)).saturating_add(per) {
        return None;
    }
    let mut on: SmallVec<[NodeId; 3]> = SmallVec::new();
    for x in operands {
        on.push(match uniform(b, x) {
            true => resized(b, x, shape)?,
            false => {
                let dtype = b.node(x).dtype;
                b.add(Op::Gather(x, ix.clone()), shape.clone(), dtype)
            }
        });
    }
    Some(views::elementwise_on(b, &f, &on, shape, dtype))
}

/// (view x)[i] = x[M i + c], where the view has no other use and is larger than the part that is read, and an index out
/// of bounds of the view becomes an index out of bounds of `x`
fn gather_through(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Gather(a, ix) = op else { return None };
    let Op::Linear(linear, x) = b.node(*a).op.clone() else { return None };
    let Linear::Affine { from, into } = &*linear else { return None };
    if !b.once(*a) || !into.is_identity() || !from.is_total() {
        return None;
    }
    let indexed = leading(from, ix.len())?;
    let bounded = |k: usize| {
        // Of a total view that moves by one along an axis as long as its own, the rest follows: no other axis moves
        // there, and the view starts at an end.
        let n = from.shape()[k];
        is_within(b, ix[k], n) || (0..indexed).any(|s| from.source()[s] == n && from.row(s)[k].abs() == 1)
    };
    let terms: usize = (0..indexed).map(|s| 1 + from.row(s).iter().filter(|m| **m != 0).count()).sum();
    let (each, read) = (b.node(*ix.first()?).shape.clone(), size(shape));
    if !(0..ix.len()).all(bounded) || read.saturating_add((2 * terms).saturating_mul(size(&each))) >= elements(b, *a) {
        return None;
    }
    if indexed == 0 {
        // The result does not depend on the indices: all of `x` is read at each.
        let axes: views::Axes = (each.len()..shape.len()).collect();
        return Some(linearly(b, Linear::replicate(shape, &axes), x));
    }
    let number = |b: &mut Builder, c: i64| b.apply(Op::Constant(Constant(Array::full(&each, c))));
    let ints = |b: &mut Builder, op, x, y| b.apply(Op::Discrete(Discrete::IntBinary(op), [x, y].as_slice().into()));
    let mut at = Vec::with_capacity(indexed);
    for s in 0..indexed {
        let mut sum = number(b, from.offset()[s]);
        for (k, m) in from.row(s).iter().enumerate().filter(|(_, m)| **m != 0) {
            let scale = number(b, *m);
            let term = ints(b, IntBinary::Mul, scale, ix[k]);
            sum = ints(b, IntBinary::Add, sum, term);
        }
        at.push(sum);
    }
    Some(b.add(Op::Gather(x, at), shape.clone(), dtype))
}

/// x[ix][jx] = x[ix[jx]], where x[ix] has no other use, less is read, and `jx` is within bounds
fn gather_gathered(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Gather(a, jx) = op else { return None };
    let Op::Gather(x, ix) = b.node(*a).op.clone() else { return None };
    let inner = b.node(*ix.first()?).shape.clone();
    if !b.once(*a) || jx.len() > inner.len() || !all_within(b, *a, jx) {
        return None;
    }
    let mut each = b.node(*jx.first()?).shape.clone();
    each.extend_from_slice(&inner[jx.len()..]);
    // Counts elements and indices read; an index array gathered at `jx` reads `jx`, too.
    let (indices, outer) = (ix.len().saturating_mul(size(&inner)), jx.len().saturating_mul(elements(b, jx[0])));
    let now = (2 * elements(b, *a)).saturating_add(indices).saturating_add(outer);
    let then = ix.len().saturating_mul((3 * size(&each)).saturating_add(outer));
    if then >= now {
        return None;
    }
    let at = ix.iter().map(|i| b.add(Op::Gather(*i, jx.clone()), each.clone(), DType::I64)).collect();
    Some(b.add(Op::Gather(x, at), shape.clone(), dtype))
}

/// view (x[ix]) = x[view ix], for a view along the axes of the indices, where x[ix] has no other use and less is read
pub(super) fn view_of_gather(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Linear(linear, a) = op else { return None };
    let Linear::Affine { from, into } = &**linear else { return None };
    let Op::Gather(x, ix) = b.node(*a).op.clone() else { return None };
    let each = b.node(*ix.first()?).shape.clone();
    let indexed = (from.shape().len() + each.len()).checked_sub(from.source().len())?;
    if !b.once(*a) || !into.is_identity() || !from.is_total() || leading(from, indexed)? != each.len() {
        return None;
    }
    let kept = &from.shape()[..indexed];
    let now = (2 * elements(b, *a)).saturating_add(ix.len().saturating_mul(size(&each)));
    if ix.len().saturating_mul(3 * size(kept)) >= now {
        return None;
    }
    let matrix: SmallVec<[i64; 16]> = (0..each.len()).flat_map(|s| from.row(s)[..indexed].to_vec()).collect();
    let view = View::try_affine(&each, kept, &matrix, &from.offset()[..each.len()]).ok()?;
    let at = ix.iter().map(|i| linearly(b, Linear::read(view.clone()), *i)).collect();
    Some(b.add(Op::Gather(x, at), shape.clone(), dtype))
}

/// The number of leading axes of the source that the first `indexed` axes of a total view lead to, if the other axes of
/// the view are the last axes of the source, unchanged. As the view is total, equal sizes and steps of one imply that
/// the offset is 0 and that no other axis moves there.
fn leading(view: &View, indexed: usize) -> Option<usize> {
    let rest = view.shape().len().checked_sub(indexed)?;
    let first = view.source().len().checked_sub(rest)?;
    let own = |s: usize| (s >= first).then(|| indexed + s - first);
    let kept = |s: usize| match own(s) {
        Some(k) => view.source()[s] == view.shape()[k],
        None => true,
    };
    // An axis of size 1 has no coefficients.
    let fits = |s: usize| {
        let unit = |k: usize| i64::from(own(s) == Some(k) && view.shape()[k] > 1);
        (indexed..view.shape().len()).all(|k| view.row(s)[k] == unit(k))
    };
    (0..view.source().len()).all(|s| kept(s) && fits(s)).then_some(first)
}

/// Whether no index is out of bounds.
fn all_within(b: &Builder, a: NodeId, ix: &[NodeId]) -> bool {
    let sizes = &b.node(a).shape;
    ix.iter().zip(sizes).all(|(i, n)| is_within(b, *i, *n))
}

/// Whether all elements of an index tensor are known to be at least 0 and less than `n`.
pub(super) fn is_within(b: &Builder, ix: NodeId, n: usize) -> bool {
    b.facts().integers(ix).is_some_and(|known| 0 <= known.lo && known.hi < n as i64)
}
