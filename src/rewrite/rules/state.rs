//! Products with the states of a recurrence before each step, where the loop returns the states after the steps, too.
//!
//! The gradient of a recurrence multiplies the states before the steps with the cotangents of the steps. Those states
//! are the start, and the states after all steps but the last: the loop need not return them, too.

use smallvec::SmallVec;

use super::contract::contracted;
use super::orders::{beats, contracting, elementwise};
use crate::cost::Cost;
use crate::dtype::DType;
use crate::ops::{Binary, Contract, View};
use crate::program::{Builder, NodeId, Op};
use crate::shape::Shape;

/// contract (states before the steps) y = contract (states after the steps, a trip earlier) y + contract start y, where
/// the states before the steps have no other use and that is cheaper
pub(super) fn contract_states_before(b: &mut Builder, op: &Op<NodeId>, shape: &Shape, dtype: DType) -> Option<NodeId> {
    let Op::Contract(op, x, y) = op else { return None };
    for k in 0..2 {
        let id = [*x, *y][k];
        let Some(states) = states(b, id).filter(|_| b.once(id) && dtype.is_float()) else { continue };
        let (own, other) = if k == 0 { (&op.a, &op.b) } else { (&op.b, &op.a) };
        let ordered = |own: View, other: View, out: View| {
            if k == 0 { Contract::new(own, other, out) } else { Contract::new(other, own, out) }
        };
        let Some(split) = split(own, states.reverse) else { continue };
        let later = ordered(split.later, other.clone(), op.out.clone());
        let (Some(other), Some(out)) = (other.after(&split.first), op.out.after(&split.first)) else { continue };
        let first = ordered(split.start, other, out);
        // The loop moves each row that it returns.
        let returned = Cost::trips(0, [(own.source(), DType::F64)]);
        let cost = contracting(&later) + contracting(&first) + elementwise(shape);
        if !beats(cost, contracting(op) + returned) {
            continue;
        }
        let with = |id: NodeId| if k == 0 { (id, *y) } else { (*x, id) };
        let ((x, y), (start, z)) = (with(states.after), with(states.start));
        let later = contracted(b, later, x, y);
        let first = contracted(b, first, start, z);
        return Some(b.add(Op::Binary(Binary::Add, later, first), shape.clone(), dtype));
    }
    None
}

/// The states of a loop.
struct States {
    /// The output of the states after the steps.
    after: NodeId,
    start: NodeId,
    reverse: bool,
}

/// The states of the loop whose output this is, if it is the states before the steps, and another output those after
/// the steps.
fn states(b: &Builder, id: NodeId) -> Option<States> {
    let Op::Output(of, position) = b.node(id).op else { return None };
    let Op::Loop(l) = &b.node(of).op else { return None };
    let (results, carried) = (l.body.results(), l.init.len());
    let carry = results[position] as usize;
    if position < carried || carry >= carried || (results[carry] as usize) < carried {
        return None;
    }
    let after = (carried..results.len()).find(|k| results[*k] == results[carry])?;
    Some(States { after: b.known(&Op::Output(of, after))?, start: l.init[carry], reverse: l.reverse })
}

/// A view of the states before the steps, in two parts.
struct Split {
    /// The same view of the states after the steps, without the first trip.
    later: View,
    /// The place of the first trip in the iteration space, by the other axes.
    first: View,
    /// The view of the start from there.
    start: View,
}

/// The parts of a view that looks at one trip for each index along one axis.
fn split(own: &View, reverse: bool) -> Option<Split> {
    let (space, n) = (own.shape(), own.source()[0] as i64);
    let mut moving = (0..space.len()).filter(|axis| own.row(0)[*axis] != 0);
    let (axis, None) = (moving.next()?, moving.next()) else { return None };
    let (step, offset) = (own.row(0)[axis], own.offset()[0]);
    if step.abs() != 1 || n < 2 {
        return None;
    }
    let index = |trip: i64| step * (trip - offset);
    let trip = if reverse { n - 1 } else { 0 };
    let at = usize::try_from(index(trip)).ok().filter(|at| *at < space[axis])?;
    // The other trips, at the places of the states after the step before.
    let ends = if reverse { [0, n - 2] } else { [1, n - 1] }.map(index);
    let side = |end: i64| usize::try_from(end.max(0)).unwrap_or(usize::MAX).min(space[axis]);
    let mut offsets: SmallVec<[i64; 6]> = SmallVec::from_slice(own.offset());
    offsets[0] += if reverse { 1 } else { -1 };
    let matrix: SmallVec<[i64; 16]> = (0..own.source().len()).flat_map(|k| own.row(k).iter().copied()).collect();
    let later = own
        .bounds()
        .iter()
        .enumerate()
        .fold(View::affine(own.source(), space, &matrix, &offsets), |view, (axis, (lo, hi))| {
            view.clipped(axis, *lo, *hi)
        });
    let later = later.clipped(axis, side(ends[0].min(ends[1])), side(ends[0].max(ends[1]) + 1));
    // The first trip.
    let rest = |k: &usize| *k != axis;
    let small: Shape = (0..space.len()).filter(rest).map(|k| space[k]).collect();
    let matrix: SmallVec<[i64; 16]> =
        (0..space.len()).flat_map(|k| (0..space.len()).filter(rest).map(move |j| i64::from(j == k))).collect();
    let mut place: SmallVec<[i64; 6]> = SmallVec::from_elem(0, space.len());
    place[axis] = at as i64;
    let first = View::affine(space, &small, &matrix, &place);
    let seen = own.after(&first)?;
    let matrix: SmallVec<[i64; 16]> = (1..seen.source().len()).flat_map(|k| seen.row(k).iter().copied()).collect();
    let start = seen
        .bounds()
        .iter()
        .enumerate()
        .fold(View::affine(&seen.source()[1..], &small, &matrix, &seen.offset()[1..]), |view, (axis, (lo, hi))| {
            view.clipped(axis, *lo, *hi)
        });
    Some(Split { later, first, start })
}
