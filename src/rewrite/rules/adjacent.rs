//! Sums of adjacent pieces of one array become one piece. Branches at the ends of an array lead to such sums.

use smallvec::SmallVec;

use super::concat::{ConcatPart, join, step};
use super::linearly;
use crate::dtype::DType;
use crate::ops::{Binary, Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

equations! { |b, op, shape, dtype|
    /// l(x) + m(x) = n(x), and (y + l(x)) + m(x) = y + n(x) where the first sum has no other use: for `l` and `m` that
    /// copy adjacent pieces of x to adjacent places; where x is never -0 or the sign of zero is not seen
    pub(super) add_adjacent {
        Add(p, q) if let Some((both, x)) = together(b, p, q) => { linearly(b, both, x) },
        Add{sum @ Add{y, p}, q} if b.once(sum), let Some((both, x)) = together(b, p, q)
            => Add(y, { linearly(b, both, x) })
    }
}

/// The sum of two pieces as one linear operation, and the array that it reads.
fn together(b: &Builder, x: NodeId, y: NodeId) -> Option<(Linear, NodeId)> {
    let ((first, rank), (second, other)) = (copied(b, x)?, copied(b, y)?);
    if !b.sign_free(first.source) {
        return None;
    }
    if rank != other || first.view.shape().len() != second.view.shape().len() {
        return None;
    }
    for axis in 0..first.view.shape().len() {
        let sizes = first.view.shape().iter().zip(second.view.shape()).enumerate();
        if !sizes.into_iter().all(|(k, (n, m))| k == axis || n == m) {
            continue;
        }
        for (before, after) in [(&first, &second), (&second, &first)] {
            let stepped = |piece: &ConcatPart| ConcatPart { step: step(&piece.view, axis), ..piece.clone() };
            let Some(both) = join(&stepped(before), &stepped(after), axis) else { continue };
            let (from, into) = apart(&both.view, rank);
            if into.is_injective() {
                return Some((Linear::affine(from, into), first.source));
            }
        }
    }
    None
}

/// The places that a linear operation reads and writes, as one view of pairs of places, and the number of axes of the
/// places read.
pub(super) fn copied(b: &Builder, id: NodeId) -> Option<(ConcatPart, usize)> {
    let Op::Linear(op, source) = &b.node(id).op else { return None };
    let Linear::Affine { from, into } = &**op else { return None };
    if from.is_empty() || into.is_empty() {
        return None;
    }
    let sides = from.bounds().iter().zip(into.bounds());
    let sides: SmallVec<[(usize, usize); 6]> = sides.map(|(f, i)| (f.0.max(i.0), f.1.min(i.1))).collect();
    if sides.iter().any(|(lo, hi)| lo >= hi) {
        return None;
    }
    let shape: Shape = sides.iter().map(|(lo, hi)| hi - lo).collect();
    let (mut matrix, mut offset): (SmallVec<[i64; 16]>, SmallVec<[i64; 6]>) = (SmallVec::new(), SmallVec::new());
    for view in [from, into] {
        for k in 0..view.source().len() {
            matrix.extend_from_slice(view.row(k));
            let moved: i64 = view.row(k).iter().zip(&sides).map(|(m, (lo, _))| m * *lo as i64).sum();
            offset.push(view.offset()[k] + moved);
        }
    }
    let view = View::try_affine(&[from.source(), into.source()].concat(), &shape, &matrix, &offset).ok()?;
    let rank = from.source().len();
    view.is_total().then(|| (ConcatPart { source: *source, view, step: None }, rank))
}

/// Splits a view of pairs of places into its two views; `rank` is the number of axes of the first.
pub(super) fn apart(both: &View, rank: usize) -> (View, View) {
    let part = |axes: std::ops::Range<usize>| {
        let matrix: SmallVec<[i64; 16]> = axes.clone().flat_map(|k| both.row(k).to_vec()).collect();
        View::affine(&both.source()[axes.clone()], both.shape(), &matrix, &both.offset()[axes])
    };
    (part(0..rank), part(rank..both.source().len()))
}
