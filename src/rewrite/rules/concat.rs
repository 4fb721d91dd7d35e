//! Rules of concatenation: adjacent parts are merged, and a view of one part reads that part alone.

use smallvec::SmallVec;

use super::views;
use super::{Rule, linearly, table};
use crate::dtype::DType;
use crate::ops::{Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

pub(super) const RULES: &[Rule] = table![concat_one, concat_empty, concat_nested, concat_of_views];

fn applied(op: &Op<NodeId>) -> Option<(usize, &[NodeId])> {
    if let Op::Concat(axis, parts) = op { Some((*axis, parts)) } else { None }
}

/// concat [x] = x
fn concat_one(_: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let (_, [x]) = applied(op)? else { return None };
    Some(*x)
}

/// concat [x, empty, y] = concat [x, y]
fn concat_empty(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (axis, parts) = applied(op)?;
    let full: Vec<NodeId> = parts.iter().copied().filter(|p| b.node(*p).shape[axis] > 0).collect();
    (!full.is_empty() && full.len() < parts.len()).then(|| b.add(Op::Concat(axis, full), shape.clone(), dtype))
}

/// concat [x, concat [y, z]] = concat [x, y, z], along the same axis, where the inner concatenation has no other use
fn concat_nested(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (axis, parts) = applied(op)?;
    let inner = |b: &Builder, p: NodeId| matches!(b.node(p).op, Op::Concat(k, _) if k == axis && b.once(p));
    if !parts.iter().any(|p| inner(b, *p)) {
        return None;
    }
    let mut flat = Vec::new();
    for p in parts {
        if let (true, Op::Concat(_, parts)) = (inner(b, *p), &b.node(*p).op) {
            flat.extend(parts)
        } else {
            flat.push(*p)
        }
    }
    Some(b.add(Op::Concat(axis, flat), shape.clone(), dtype))
}

/// A part as a view of an array.
#[derive(Clone)]
pub(super) struct ConcatPart {
    pub(super) source: NodeId,
    pub(super) view: View,
    /// The step in the source per index along the concatenated axis; unknown where the part has size 1 there.
    pub(super) step: Option<SmallVec<[i64; 6]>>,
}

/// concat [x[0..3], x[3..5]] = x[0..5]: adjacent views of one array, where the second starts at the end of the first,
/// are one view
fn concat_of_views(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let (axis, parts) = applied(op)?;
    let mut merged: Vec<(NodeId, Option<ConcatPart>)> = Vec::new();
    for part in parts {
        let piece = piece(b, *part, axis);
        let joined = match (merged.last().and_then(|(_, last)| last.as_ref()), &piece) {
            (Some(last), Some(next)) => join(last, next, axis),
            (_, _) => None,
        };
        match joined {
            Some(both) => {
                let place = merged.len() - 1;
                merged[place].1 = Some(both);
            }
            None => merged.push((*part, piece)),
        }
    }
    if merged.len() == parts.len() {
        return None;
    }
    let mut whole = Vec::new();
    for (part, piece) in merged {
        whole.push(match piece {
            Some(piece) if piece.view.shape()[axis] != b.node(part).shape[axis] => {
                linearly(b, Linear::read(piece.view), piece.source)
            }
            Some(_) | None => part,
        });
    }
    if let [one] = whole[..] {
        return Some(one);
    }
    Some(b.add(Op::Concat(axis, whole), shape.clone(), dtype))
}

fn piece(b: &Builder, part: NodeId, axis: usize) -> Option<ConcatPart> {
    let (source, view) = views::read(b, part)?;
    let step = step(&view, axis);
    (view.is_total() && !view.shape().contains(&0)).then_some(ConcatPart { source, view, step })
}

/// The step in the source per index along an axis; unknown where the view has size 1 there.
pub(super) fn step(view: &View, axis: usize) -> Option<SmallVec<[i64; 6]>> {
    (view.shape()[axis] > 1).then(|| (0..view.source().len()).map(|k| view.row(k)[axis]).collect())
}

/// Both pieces as one, if the second starts along the axis where the first ends and all other sizes and steps are
/// equal.
pub(super) fn join(first: &ConcatPart, second: &ConcatPart, axis: usize) -> Option<ConcatPart> {
    let (v, w) = (&first.view, &second.view);
    if first.source != second.source || v.source() != w.source() {
        return None;
    }
    let len = v.shape()[axis];
    let distance: SmallVec<[i64; 6]> = v.offset().iter().zip(w.offset()).map(|(c, d)| d - c).collect();
    let step = match (&first.step, &second.step) {
        (Some(step), _) => step.clone(),
        (None, Some(step)) => step.clone(),
        (None, None) => distance.clone(),
    };
    let goes_on = step.iter().zip(&distance).all(|(m, d)| m.checked_mul(len as i64) == Some(*d));
    let agrees = second.step.as_ref().is_none_or(|other| *other == step);
    let same = |k: usize| (0..v.shape().len()).all(|j| j == axis || v.row(k)[j] == w.row(k)[j]);
    if !goes_on || !agrees || !(0..v.source().len()).all(same) {
        return None;
    }
    let mut shape = Shape::from_slice(v.shape());
    shape[axis] += w.shape()[axis];
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::new();
    for (k, m) in step.iter().enumerate() {
        matrix.extend((0..shape.len()).map(|j| if j == axis { *m } else { v.row(k)[j] }));
    }
    let view = View::try_affine(v.source(), &shape, &matrix, v.offset()).ok()?;
    Some(ConcatPart { source: first.source, view, step: Some(step) })
}

/// view (concat [x, y]) = view y, where the view reads one part alone
pub(super) fn view_of_concat(b: &mut Builder, op: &Op<NodeId>, _: &Shape, _: DType) -> Option<NodeId> {
    let Op::Linear(op, a) = op else { return None };
    let Op::Concat(axis, parts) = &b.node(*a).op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    if from.is_empty() {
        return None;
    }
    let (lo, hi) = from.range(*axis);
    let mut start = 0;
    for part in parts {
        let len = b.node(*part).shape[*axis] as i64;
        if start <= lo && hi < start + len {
            let mut offset: SmallVec<[i64; 6]> = SmallVec::from_slice(from.offset());
            offset[*axis] -= start;
            let mut matrix: SmallVec<[i64; 16]> = SmallVec::new();
            (0..from.source().len()).for_each(|k| matrix.extend_from_slice(from.row(k)));
            let view = View::try_affine(&b.node(*part).shape, from.shape(), &matrix, &offset).ok()?;
            let boxed = |view: View, (axis, (lo, hi)): (usize, &(usize, usize))| view.clipped(axis, *lo, *hi);
            let view = from.bounds().iter().enumerate().fold(view, boxed);
            let (part, into) = (*part, into.clone());
            return Some(linearly(b, Linear::affine(view, into), part));
        }
        start += len;
    }
    None
}
