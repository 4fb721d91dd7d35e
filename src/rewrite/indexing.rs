//! Rules that use facts: integers and masks with known values are replaced, and affine indices become views.
//!
//! Law: each rule is an equation and makes nothing more expensive, like all rules. A gather at affine indices is a view
//! that reads, a scatter at affine indices a view that writes; an index out of range reads 0 in both forms, and writes
//! nothing in both. A select whose mask is an interval of one axis is a view or a concatenation.

use std::ops::Range;

use smallvec::SmallVec;

use super::facts::{self, Digit, DigitSum, Integers, KnownFact};
use super::{Builder, Constant, NodeId, Op};
use crate::array::{Array, with_elem};
use crate::dtype::DType;
use crate::ops::{Discrete, IntBinary, Linear, View};
use crate::shape::{Shape, size};

/// Replaces an integer or mask whose value is known: by a constant if all elements are equal, or by an equal operand.
pub(super) fn decided(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    if matches!(op, Op::Constant(_) | Op::Input(_)) {
        return None;
    }
    let value = match facts::known(b, op, shape, dtype) {
        Some(KnownFact::Integers(known)) => match known.number() {
            Some(x) => Array::full(shape, x),
            None => {
                let form = known.form?;
                return operand(b, op, shape, |b, a| b.facts().form(a) == Some(&form));
            }
        },
        Some(KnownFact::Mask(mask)) => match mask.decided() {
            Some(x) => Array::full(shape, x),
            None => return operand(b, op, shape, |b, a| b.facts().mask(a) == Some(&mask)),
        },
        None => return None,
    };
    Some(b.cons(Op::Constant(Constant(value)), shape.clone(), dtype))
}

/// The first operand of this shape that passes the test.
fn operand(b: &Builder, op: &Op<NodeId>, shape: &Shape, test: impl Fn(&Builder, NodeId) -> bool) -> Option<NodeId> {
    let mut found = None;
    op.operands(&mut |a| {
        if found.is_none() && b.node(*a).shape == *shape && test(b, *a) {
            found = Some(*a);
        }
    });
    found
}

/// Integer arithmetic whose result follows from the bounds of its operands, for operands that are not affine forms.
pub(super) fn discrete(b: &Builder, op: &Discrete, args: &[NodeId]) -> Option<NodeId> {
    let Discrete::IntBinary(op) = op else { return None };
    let (x, y) = (b.facts().integers(args[0]), b.facts().integers(args[1]));
    let number = |k: Option<&Integers>| k.and_then(Integers::number);
    match (op, number(x), number(y)) {
        // x + 0 = x - 0 = x, x * 1 = x quot 1 = x, x quot 0 = x rem 0 = x
        (IntBinary::Add | IntBinary::Sub | IntBinary::Quot | IntBinary::Rem, _, Some(0)) => Some(args[0]),
        (IntBinary::Mul | IntBinary::Quot, _, Some(1)) => Some(args[0]),
        // 0 + x = 1 * x = x
        (IntBinary::Add, Some(0), _) | (IntBinary::Mul, Some(1), _) => Some(args[1]),
        // x rem d = x for 0 <= x < d
        (IntBinary::Rem, _, Some(d)) => {
            let most = i128::from(d).abs() - 1;
            x.is_some_and(|x| -most <= i128::from(x.lo) && i128::from(x.hi) <= most).then_some(args[0])
        }
        // min(x, y) = x for x <= y
        (IntBinary::Min | IntBinary::Max, ..) => {
            if args[0] == args[1] {
                return Some(args[0]);
            }
            let first = facts::below(x?, y?)? == (*op == IntBinary::Min);
            Some(if first { args[0] } else { args[1] })
        }
        // x and y = x for 0 <= x <= y = 2^n - 1, and for y = -1; x or 0 = x xor 0 = x
        (IntBinary::BitAnd, _, Some(-1)) => Some(args[0]),
        (IntBinary::BitAnd, Some(-1), _) => Some(args[1]),
        (IntBinary::BitAnd, _, Some(y)) if y >= 0 && y & y.wrapping_add(1) == 0 => {
            x.is_some_and(|x| 0 <= x.lo && x.hi <= y).then_some(args[0])
        }
        (IntBinary::BitOr | IntBinary::BitXor, _, Some(0)) => Some(args[0]),
        (IntBinary::BitOr | IntBinary::BitXor, Some(0), _) => Some(args[1]),
        // Moved by no place
        (IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned, _, Some(0)) => Some(args[0]),
        (IntBinary::Add | IntBinary::Sub | IntBinary::Mul | IntBinary::Quot | IntBinary::Rem, ..) => None,
        (IntBinary::BitAnd | IntBinary::BitOr | IntBinary::BitXor | IntBinary::Threefry, ..) => None,
        (IntBinary::Shl | IntBinary::Shr | IntBinary::ShrSigned, ..) => None,
    }
}

/// The view of an array by affine indices, and the shape of the result.
struct Places {
    /// One axis of the iteration space per digit of each axis of the indices, then the axes that are not indexed.
    view: View,
    /// The shape of the result: the axes of the indices, then the axes that are not indexed.
    shape: Shape,
}

/// The view that reads the places given by affine indices.
fn places(b: &Builder, source: &[usize], ix: &[NodeId]) -> Option<Places> {
    let forms: SmallVec<[&DigitSum; 4]> = ix.iter().map(|i| b.facts().form(*i)).collect::<Option<_>>()?;
    let mut shape = b.node(*ix.first()?).shape.clone();
    let digits = digits(&shape, &forms)?;
    let rest = &source[ix.len()..];
    shape.extend_from_slice(rest);
    let mut space: Shape = digits.iter().map(|digit| digit.extent).collect();
    space.extend_from_slice(rest);
    let columns = space.len();
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, source.len() * columns);
    let mut offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, source.len());
    for (row, form) in forms.iter().enumerate() {
        offset[row] = form.constant;
        for (whole, scale) in &form.terms {
            let parts = digits.iter().enumerate().filter(|(_, digit)| part_of(digit, whole));
            parts.for_each(|(k, digit)| matrix[row * columns + k] += scale * (digit.lower / whole.lower) as i64);
        }
    }
    (0..rest.len()).for_each(|k| matrix[(ix.len() + k) * columns + digits.len() + k] = 1);
    Some(Places { view: View::try_affine(source, &space, &matrix, &offset).ok()?, shape })
}

fn part_of(digit: &Digit, whole: &Digit) -> bool {
    digit.axis == whole.axis && whole.lower <= digit.lower && (!whole.wraps() || digit.upper() <= whole.upper())
}

/// Splits all axes into digits such that each digit of the forms is a product of these, if this is possible. Digits of
/// one axis are listed from the highest to the lowest.
fn digits(shape: &[usize], forms: &[&DigitSum]) -> Option<SmallVec<[Digit; 6]>> {
    let mut out: SmallVec<[Digit; 6]> = SmallVec::new();
    for (axis, size) in shape.iter().enumerate() {
        let mut ends: SmallVec<[usize; 8]> = SmallVec::from_slice(&[1, *size]);
        for (digit, _) in forms.iter().flat_map(|form| &form.terms).filter(|(digit, _)| digit.axis == axis) {
            ends.push(digit.lower);
            if digit.wraps() {
                ends.push(digit.upper());
            }
        }
        ends.sort_unstable();
        ends.dedup();
        if ends.len() < 2 {
            out.push(Digit { axis, size: *size, lower: 1, extent: *size });
        }
        for pair in ends.windows(2).rev() {
            if !pair[1].is_multiple_of(pair[0]) {
                return None;
            }
            out.push(Digit { axis, size: *size, lower: pair[0], extent: pair[1] / pair[0] });
        }
    }
    Some(out)
}

/// A gather at affine indices is a read through a view.
pub(super) fn gather(b: &mut Builder, t: NodeId, ix: &[NodeId], shape: &Shape, dtype: DType) -> Option<NodeId> {
    let source = b.node(t).shape.clone();
    let zeros = |b: &mut Builder| b.cons(Op::Constant(Constant(Array::zeros(shape, dtype))), shape.clone(), dtype);
    // t[i] = 0 for i out of bounds
    let outside = |(i, n): (&NodeId, &usize)| b.facts().integers(*i).is_some_and(|i| i.hi < 0 || i.lo >= *n as i64);
    if ix.iter().zip(&source).any(outside) {
        return Some(zeros(b));
    }
    let Places { view, shape } = places(b, &source, ix)?;
    if view.is_empty() {
        return Some(zeros(b));
    }
    if in_order(&view) {
        return Some(reshaped(b, t, &source, &shape, dtype));
    }
    let space = Shape::from_slice(view.shape());
    let read = b.add(Op::Linear(Box::new(Linear::read(view)), t), space.clone(), dtype);
    Some(reshaped(b, read, &space, &shape, dtype))
}

/// Whether the view reads all elements in row-major order, as a reshape does.
fn in_order(view: &View) -> bool {
    let (source, space) = (view.source(), view.shape());
    let mut stride = 1;
    size(source) == size(space)
        && view.is_total()
        && (0..space.len()).rev().all(|axis| {
            // The distance in the array, in elements, of one step along the axis.
            let step = (0..source.len()).map(|k| view.row(k)[axis] * size(&source[k + 1..]) as i64).sum::<i64>();
            let next = step == stride || space[axis] == 1;
            stride *= space[axis] as i64;
            next
        })
}

fn reshaped(b: &mut Builder, a: NodeId, from: &Shape, into: &Shape, dtype: DType) -> NodeId {
    b.add(Op::Linear(Box::new(Linear::reshape(from, into)), a), into.clone(), dtype)
}

/// A scatter at affine indices adds an array that a view has written.
pub(super) fn scatter_add(b: &mut Builder, base: NodeId, ix: &[NodeId], v: NodeId) -> Option<NodeId> {
    let (sizes, dtype) = (b.node(base).shape.clone(), b.node(base).dtype);
    let outside = |(i, n): (&NodeId, &usize)| b.facts().integers(*i).is_some_and(|i| i.hi < 0 || i.lo >= *n as i64);
    if ix.iter().zip(&sizes).any(outside) {
        return Some(base);
    }
    // The sum below adds 0 to places that the scatter leaves alone.
    if !b.is_zero(base) && !b.sign_free(base) {
        return None;
    }
    let Places { view, shape } = places(b, &sizes, ix)?;
    if view.is_empty() {
        return Some(base);
    }
    if b.is_zero(base) && view.is_injective() && !b.sign_free(v) {
        return None;
    }
    let written = if in_order(&view) {
        reshaped(b, v, &shape, &sizes, dtype)
    } else {
        let space = Shape::from_slice(view.shape());
        let v = reshaped(b, v, &shape, &space, dtype);
        let written = Linear::affine(View::identity(&space), view);
        b.add(Op::Linear(Box::new(written), v), sizes.clone(), dtype)
    };
    if b.is_zero(base) {
        return Some(written);
    }
    (dtype != DType::Bool).then(|| b.plus(base, written))
}

/// The largest number of masks whose conjunction is searched for a box.
const SIDES: usize = 16;

/// A choice by the position along one axis: a concatenation of parts of both branches, or one branch padded with zeros.
pub(super) fn select(b: &mut Builder, [mask, x, y]: [NodeId; 3], shape: &Shape, dtype: DType) -> Option<NodeId> {
    let among_zeros = |b: &mut Builder, a: NodeId, sides: &[(usize, Range<usize>)]| {
        let clipped = |view: View, (axis, range): &(usize, Range<usize>)| view.clipped(*axis, range.start, range.end);
        let view = sides.iter().fold(View::identity(shape), clipped);
        Some(b.add(Op::Linear(Box::new(Linear::read(view)), a), shape.clone(), dtype))
    };
    if b.is_zero(y)
        && let Some(sides) = sides(b, mask)
    {
        return among_zeros(b, x, &sides);
    }
    let (axis, range, inside) = b.interval(mask)?;
    let (x, y) = if inside { (x, y) } else { (y, x) };
    let n = shape[axis];
    if b.is_zero(y) {
        return among_zeros(b, x, &[(axis, range)]);
    }
    if b.is_zero(x) && (range.start == 0 || range.end == n) {
        return among_zeros(b, y, &[(axis, if range.start == 0 { range.end..n } else { 0..range.start })]);
    }
    let input = |a: NodeId| matches!(b.node(a).op, Op::Input(_));
    if (input(x) && input(y)) || !sliced_freely(b, x, axis, true) || !sliced_freely(b, y, axis, true) {
        return None;
    }
    let mut parts = Vec::new();
    for (a, range) in [(y, 0..range.start), (x, range.clone()), (y, range.end..n)] {
        slice(b, a, axis, range, &mut parts);
    }
    Some(b.add(Op::Concat(axis, parts), shape.clone(), dtype))
}

/// The sides of the box in which the mask holds, if the mask is a conjunction of intervals of single axes.
fn sides(b: &Builder, mask: NodeId) -> Option<Vec<(usize, Range<usize>)>> {
    let (mut sides, mut work) = (Vec::new(), vec![mask]);
    while let Some(mask) = work.pop() {
        match (b.interval(mask), &b.node(mask).op) {
            (Some((axis, range, true)), _) => sides.push((axis, range)),
            (_, Op::Discrete(Discrete::And, args)) if sides.len() + work.len() < SIDES => work.extend(args),
            _ => return None,
        }
    }
    Some(sides)
}

/// Whether a slice along the axis costs no more than its own size: the sliced value need not be computed in full.
fn sliced_freely(b: &Builder, a: NodeId, axis: usize, parts: bool) -> bool {
    let op = &b.node(a).op;
    if let Op::Constant(Constant(c)) = op {
        return with_elem!(c.dtype(), E => c.splat::<E>().is_some());
    }
    if let Op::Linear(op, _) = op {
        return matches!(&**op, Linear::Affine { into, .. } if into.is_identity());
    }
    if let Op::Concat(along, of) = op {
        return parts && *along == axis && of.iter().all(|part| sliced_freely(b, *part, axis, false));
    }
    matches!(op, Op::Input(_))
}

/// Appends the parts of a slice: the slices of the parts of a concatenation, or one slice of any other value.
fn slice(b: &mut Builder, a: NodeId, axis: usize, range: Range<usize>, out: &mut Vec<NodeId>) {
    if range.is_empty() {
        return;
    }
    if let Op::Concat(_, parts) = b.node(a).op.clone() {
        let mut start = 0;
        for part in parts {
            let end = start + b.node(part).shape[axis];
            let (lo, hi) = (range.start.max(start), range.end.min(end));
            if lo < hi {
                out.push(piece(b, part, axis, lo - start..hi - start));
            }
            start = end;
        }
        return;
    }
    out.push(piece(b, a, axis, range));
}

/// A slice along an axis.
pub(crate) fn piece(b: &mut Builder, a: NodeId, axis: usize, range: Range<usize>) -> NodeId {
    let dtype = b.node(a).dtype;
    let op = Linear::slice(&b.node(a).shape, axis, range.start, range.len(), 1);
    let shape = Shape::from_slice(op.output_shape());
    b.add(Op::Linear(Box::new(op), a), shape, dtype)
}
