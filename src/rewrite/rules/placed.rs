//! Rules of sums of values that are placed in disjoint boxes of zero arrays: such a sum is a concatenation.
//!
//! The adjoint of reading elements one by one is a sum of arrays with one nonzero element each. Boxes that are adjacent
//! along one axis, or in the order of all elements, become the parts of one concatenation.

use std::ops::Range;

use smallvec::SmallVec;

use super::adjacent::{apart, copied};
use super::{linearly, zeros};
use crate::dtype::DType;
use crate::ops::{Binary, Contract, Linear, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::{Shape, size};

/// The largest number of parts of a concatenation made here, so that a long sum is searched in a time linear in its
/// length.
const MOST: usize = 64;

/// One side of a box for each axis.
type Sides = SmallVec<[Range<usize>; 4]>;

/// The content of a box.
enum PlacedPart {
    /// The elements of a value, in order.
    Value(NodeId),
    /// A view of a value.
    View(NodeId, Box<View>),
    /// The views of a linear operation that writes the box alone, as a sum along some axes.
    Sum(Box<(View, View)>, NodeId),
    /// A contraction that writes the box alone.
    Product(Box<Contract>, NodeId, NodeId),
}

struct Placed {
    at: Sides,
    part: PlacedPart,
}

/// place x + place y + .. = concat [x, y, ..], with zeros in the gaps: for values that are copied to disjoint boxes, or
/// sums and contractions that write such boxes, where no partial sum has another use; along one axis that is at least
/// half filled, or of all elements in order (only where the sign of zero is not seen)
pub(super) fn add_placed(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    // An element that is -0 gives +0 in the sum, and stays -0 in the concatenation.
    let Op::Binary(Binary::Add, x, y) = *op else { return None };
    if !b.is_sign_unseen() {
        return None;
    }
    let whole: Sides = shape.iter().map(|n| 0..*n).collect();
    let mut placed = Vec::new();
    for operand in [x, y] {
        found(b, operand, &whole, &mut placed)?;
    }
    if placed.len() < 2 {
        return None;
    }
    let along = |p: &Placed, axis: usize| (0..shape.len()).all(|k| k == axis || p.at[k] == whole[k]);
    if let Some(axis) = (0..shape.len()).find(|axis| placed.iter().all(|p| along(p, *axis))) {
        let order = ordered(&placed, shape[axis], &|p| p.at[axis].clone())?;
        let mut parts = Vec::new();
        for (range, of) in order {
            let mut sides = shape.clone();
            sides[axis] = range.len();
            parts.push(match of {
                Some(k) => made(b, &placed[k], &sides, dtype),
                None => zeros(b, &sides, dtype),
            });
        }
        // Gaps are written, too; a sum of sparse values may be cheaper, as in a carry.
        let filled: usize = placed.iter().map(|p| p.at[axis].len()).sum();
        return (2 * filled >= shape[axis]).then(|| b.apply(Op::Concat(axis, parts)));
    }
    let order = ordered(&placed, size(shape), &|p| in_order(&p.at, shape))?;
    let mut parts = Vec::new();
    for (range, of) in order {
        parts.push(made(b, &placed[of?], &Shape::from_slice(&[range.len()]), dtype));
    }
    let flat = b.apply(Op::Concat(0, parts));
    Some(linearly(b, Linear::reshape(&[size(shape)], shape), flat))
}

/// The ranges of values in `0..n`, ascending, with the gaps between them, if the ranges are disjoint; an empty range
/// overlaps all others.
fn ordered(
    placed: &[Placed],
    n: usize,
    range: &dyn Fn(&Placed) -> Range<usize>,
) -> Option<Vec<(Range<usize>, Option<usize>)>> {
    let mut ranges: Vec<(Range<usize>, usize)> = placed.iter().map(range).zip(0..).collect();
    crate::order::sort_by_key(&mut ranges, |(range, _)| range.start);
    let (mut all, mut start) = (Vec::new(), 0);
    for (range, k) in ranges {
        if range.start < start || range.is_empty() {
            return None;
        }
        if start < range.start {
            all.push((start..range.start, None));
        }
        start = range.end;
        all.push((range, Some(k)));
    }
    if start < n {
        all.push((start..n, None));
    }
    Some(all)
}

/// The range of the elements of a box in row-major order, if they are contiguous; else an empty range.
fn in_order(at: &Sides, shape: &[usize]) -> Range<usize> {
    let partial = (0..shape.len()).rev().find(|axis| at[*axis].len() < shape[*axis]).unwrap_or(0);
    if at[..partial].iter().any(|side| side.len() != 1) {
        return 0..0;
    }
    let start = at.iter().zip(shape).fold(0, |start, (side, n)| start * n + side.start);
    start..start + at.iter().map(Range::len).product::<usize>()
}

/// Finds the values placed in the result: by additions, concatenations with zeros, copies, sums or contractions. None
/// if there are too many values, or if one fills the result and so overlaps all others.
fn found(b: &Builder, id: NodeId, whole: &Sides, placed: &mut Vec<Placed>) -> Option<()> {
    let mut work: Vec<(NodeId, Sides)> = vec![(id, whole.clone())];
    while let Some((id, at)) = work.pop() {
        if b.is_zero(id) {
            continue;
        }
        let op = &b.node(id).op;
        if let Op::Binary(Binary::Add, x, y) = op
            && b.once(id)
        {
            // The operand that is not a sum comes first: it most often fills the result.
            let is_sum = matches!(b.node(*x).op, Op::Binary(Binary::Add, ..));
            let (first, last) = if is_sum { (y, x) } else { (x, y) };
            work.extend([(*last, at.clone()), (*first, at)]);
            if work.len() > MOST {
                return None;
            }
            continue;
        }
        if let Op::Concat(axis, parts) = op
            && b.once(id)
            && parts.iter().any(|part| b.is_zero(*part))
        {
            let mut start = at[*axis].start;
            for part in parts {
                let mut inside = at.clone();
                inside[*axis] = start..start + b.node(*part).shape[*axis];
                start = inside[*axis].end;
                work.push((*part, inside));
            }
            continue;
        }
        let part = if let Op::Linear(op, x) = op {
            copied_to(b, id, &at).or_else(|| sum_in(op, *x, &at).filter(|_| b.once(id)))
        } else if let Op::Contract(op, x, y) = op
            && b.once(id)
        {
            product_in(op, *x, *y, &at)
        } else {
            None
        };
        placed.push(part.unwrap_or(Placed { at, part: PlacedPart::Value(id) }));
        if placed.len() > MOST || placed.last().is_some_and(|p| p.at == *whole) {
            return None;
        }
    }
    Some(())
}

/// The box that a view writes, and for each of its sides the axis of the iteration space that runs along it.
fn written(into: &View, at: &Sides) -> Option<(Sides, SmallVec<[Option<usize>; 4]>)> {
    let (space, mut inside, mut axes) = (into.shape(), at.clone(), SmallVec::new());
    for side in 0..into.source().len() {
        let start = at[side].start + usize::try_from(into.offset()[side]).ok()?;
        let mut along = (0..space.len()).filter(|axis| into.row(side)[*axis] != 0);
        let axis = along.next();
        let steps = axis.is_none_or(|axis| into.row(side)[axis] == 1 && !axes.contains(&Some(axis)));
        if !steps || along.next().is_some() {
            return None;
        }
        inside[side] = start..start + axis.map_or(1, |axis| space[axis]);
        axes.push(axis);
    }
    Some((inside, axes))
}

/// A copy of a value to a box inside `at`, without any sum.
fn copied_to(b: &Builder, id: NodeId, at: &Sides) -> Option<Placed> {
    let (piece, rank) = copied(b, id)?;
    let (from, into) = apart(&piece.view, rank);
    let (inside, axes) = written(&into, at)?;
    let space = into.shape();
    if (0..space.len()).any(|axis| space[axis] > 1 && !axes.contains(&Some(axis))) {
        return None;
    }
    let mut order = axes.iter().flatten();
    if from.is_identity() && order.clone().zip(order.by_ref().skip(1)).all(|(a, b)| a < b) {
        return Some(Placed { at: inside, part: PlacedPart::Value(piece.source) });
    }
    let shape: Shape = inside.iter().map(Range::len).collect();
    let step = |axis: usize, side: usize| i64::from(axes[side] == Some(axis));
    let matrix: Vec<i64> = (0..space.len())
        .flat_map(|axis| (0..axes.len()).map(move |side| (axis, side)))
        .map(|(a, s)| step(a, s))
        .collect();
    let view = from.after(&View::affine(space, &shape, &matrix, &vec![0; space.len()]))?;
    Some(Placed { at: inside, part: PlacedPart::View(piece.source, Box::new(view)) })
}

/// The box inside `at` that a view writes, and the view with that box as its array.
fn boxed(into: &View, at: &Sides) -> Option<(Sides, View)> {
    let (inside, _) = written(into, at).filter(|_| into.is_total())?;
    let shape: Shape = inside.iter().map(Range::len).collect();
    let matrix: Vec<i64> = (0..shape.len()).flat_map(|side| into.row(side).to_vec()).collect();
    let out = View::affine(&shape, into.shape(), &matrix, &vec![0; shape.len()]);
    Some((inside, out))
}

/// A linear operation that writes a box inside `at`, and reads at least as many elements as the whole has: fewer are
/// added in place, which costs less than a concatenation.
fn sum_in(op: &Linear, x: NodeId, at: &Sides) -> Option<Placed> {
    let Linear::Affine { from, into } = op else { return None };
    if size(from.shape()) < size(into.source()) {
        return None;
    }
    let (inside, into) = boxed(into, at)?;
    Some(Placed { at: inside, part: PlacedPart::Sum(Box::new((from.clone(), into)), x) })
}

/// A contraction that writes a box inside `at`.
fn product_in(op: &Contract, x: NodeId, y: NodeId, at: &Sides) -> Option<Placed> {
    let (inside, out) = boxed(&op.out, at)?;
    let op = Contract::new(op.a.clone(), op.b.clone(), out);
    Some(Placed { at: inside, part: PlacedPart::Product(Box::new(op), x, y) })
}

/// A view into a box as a view into this shape, if that is the box without its sides of length 1; else the view itself.
fn without_ones(into: &View, shape: &Shape) -> View {
    let sides: SmallVec<[usize; 4]> = (0..into.source().len()).filter(|side| into.source()[*side] != 1).collect();
    if !sides.iter().map(|side| into.source()[*side]).eq(shape.iter().copied()) {
        return into.clone();
    }
    let matrix: Vec<i64> = sides.iter().flat_map(|side| into.row(*side).to_vec()).collect();
    View::affine(shape, into.shape(), &matrix, &vec![0; shape.len()])
}

/// A part in this shape.
fn made(b: &mut Builder, placed: &Placed, shape: &Shape, dtype: DType) -> NodeId {
    let value = match &placed.part {
        PlacedPart::Value(id) => *id,
        PlacedPart::View(id, view) => linearly(b, Linear::read((**view).clone()), *id),
        PlacedPart::Sum(views, id) => {
            let sum = Linear::affine(views.0.clone(), without_ones(&views.1, shape));
            linearly(b, sum, *id)
        }
        PlacedPart::Product(op, x, y) => {
            let out = without_ones(&op.out, shape);
            let shape = Shape::from_slice(out.source());
            b.add(Op::Contract(Box::new(Contract::new(op.a.clone(), op.b.clone(), out)), *x, *y), shape, dtype)
        }
    };
    let from = b.node(value).shape.clone();
    if from == *shape { value } else { linearly(b, Linear::reshape(&from, shape), value) }
}
