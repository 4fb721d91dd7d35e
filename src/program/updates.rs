//! Updates of subarrays: a selection between a new subarray and an array writes the subarray in place.
//!
//! An array with the subarray at computed indices replaced ([`Tensor::set`](crate::Tensor::set)) is a selection whose mask
//! holds where the position along each of the outer axes is the index. As a pass over all elements it costs the whole
//! array; as an update it costs the subarray, which is what a loop that fills an array needs.
//!
//! A loop computes such a mask in each trip: fission leaves it there.
//!
//! Law: the elements are those of the selection: nothing is written if an index is out of bounds. Values that only such
//! selections read, masks and broadcasts, are not computed.

use std::collections::{BTreeMap, HashSet};

use smallvec::SmallVec;

use super::{Node, NodeId, Op, Program};
use crate::ops::{Compare, Discrete, Linear};
use crate::shape::size;

/// The least number of elements of an array for an update: a pass over fewer costs no more than a step.
const LEAST: usize = 32;

/// An array in which one subarray is replaced.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub(crate) base: NodeId,
    /// The indices along the outer axes, numbers.
    pub(crate) indices: SmallVec<[NodeId; 2]>,
    /// The new subarray, or a number for all its elements.
    pub(crate) new: NodeId,
}

/// The updates of a program.
#[derive(Default)]
pub(crate) struct Updates {
    of: BTreeMap<NodeId, Replacement>,
    inside: HashSet<NodeId>,
}

impl Updates {
    pub(crate) fn of(program: &Program) -> Updates {
        let nodes = program.nodes();
        let mut found = Updates::default();
        for (k, node) in nodes.iter().enumerate() {
            if let Op::Select(operands) = node.op
                && let Some(update) = matched(nodes, node, operands, &mut found.inside)
            {
                found.of.insert(k as NodeId, update);
            }
        }
        if !found.of.is_empty() {
            found.keep_unread(program);
        }
        found
    }

    /// The update that a selection is.
    pub(crate) fn get(&self, k: NodeId) -> Option<&Replacement> {
        self.of.get(&k)
    }

    /// Whether updates alone use a value, which is not computed.
    pub(crate) fn has_inside(&self, a: NodeId) -> bool {
        self.inside.contains(&a)
    }

    /// The updates, each with the values that it reads.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let of = |(k, update): (&NodeId, &Replacement)| {
            let sources: SmallVec<[NodeId; 4]> = update.indices.iter().copied().chain([update.new]).collect();
            let k = *k;
            sources.into_iter().map(move |a| (k, a))
        };
        self.of.iter().flat_map(of)
    }

    /// The values that only these of the updates use.
    pub(crate) fn inside_of(&self, program: &Program, updates: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
        let mut found: Vec<NodeId> = Vec::new();
        let mut work: Vec<NodeId> = self.of.keys().copied().filter(|k| updates(*k)).collect();
        while let Some(k) = work.pop() {
            program.nodes()[k as usize].op.operands(&mut |a| {
                if self.inside.contains(a) && !found.contains(a) {
                    found.push(*a);
                    work.push(*a);
                }
            });
        }
        found
    }

    /// Removes the values that other operations read, too. Users come after what they use.
    fn keep_unread(&mut self, program: &Program) {
        let mut read: HashSet<NodeId> = program.results().iter().copied().collect();
        for (k, node) in program.nodes().iter().enumerate().rev() {
            let k = k as NodeId;
            if read.contains(&k) {
                self.inside.remove(&k);
            }
            if self.inside.contains(&k) {
                continue;
            }
            let update = self.of.get(&k);
            node.op.operands(&mut |a| {
                // Of an update, the mask and the broadcast subarray stay inside.
                if update.is_none_or(|update| *a == update.base || *a == update.new) {
                    read.insert(*a);
                }
            });
        }
    }
}

/// The update that a selection is, if it is one; adds the values between its sources and the selection.
fn matched(
    nodes: &[Node],
    node: &Node,
    [mask, x, base]: [NodeId; 3],
    inside: &mut HashSet<NodeId>,
) -> Option<Replacement> {
    if size(&node.shape) < LEAST || x == base {
        return None;
    }
    let mut between: SmallVec<[NodeId; 8]> = SmallVec::new();
    let mut hits: SmallVec<[(usize, NodeId); 2]> = SmallVec::new();
    let all: SmallVec<[usize; 6]> = (0..node.shape.len()).collect();
    find_hits(nodes, mask, &all, &mut hits, &mut between)?;
    hits.sort_unstable();
    let are_outer = hits.iter().enumerate().all(|(k, (axis, _))| *axis == k);
    let rest = &all[hits.len()..];
    let Op::Linear(op, new) = &nodes[x as usize].op else { return None };
    let of = &nodes[*new as usize].shape;
    let fits = of[..] == node.shape[hits.len()..] && **op == Linear::replicate(&node.shape, rest);
    if !are_outer || !(fits || of.is_empty() && **op == Linear::replicate(&node.shape, &[])) {
        return None;
    }
    between.push(x);
    inside.extend(between);
    Some(Replacement { base, indices: hits.into_iter().map(|(_, index)| index).collect(), new: *new })
}

/// The axes along which a mask compares the position with a number, and these numbers. `axes` are the axes of the array
/// along which those of the mask lie. A conjunction compares along several.
fn find_hits(
    nodes: &[Node],
    mask: NodeId,
    axes: &[usize],
    hits: &mut SmallVec<[(usize, NodeId); 2]>,
    between: &mut SmallVec<[NodeId; 8]>,
) -> Option<()> {
    // Of conjunctions there are at most as many as axes, and a broadcast follows no other.
    let mut work: SmallVec<[(NodeId, SmallVec<[usize; 6]>); 2]> = SmallVec::new();
    work.push((mask, axes.into()));
    while let Some((mask, axes)) = work.pop() {
        between.push(mask);
        let node = &nodes[mask as usize];
        if let Op::Discrete(Discrete::And, args) = &node.op {
            work.extend(args.iter().map(|a| (*a, axes.clone())));
        } else if let Op::Linear(op, of) = &node.op {
            let along = broadcast_along(op, &node.shape, nodes[*of as usize].shape.len())?;
            work.push((*of, along.into_iter().map(|k| axes[k]).collect()));
        } else if let Op::Discrete(Discrete::Compare(Compare::Eq), args) = &node.op {
            let hit = |a, b| Some((position(nodes, a)?, number(nodes, b)?, [a, b]));
            let (axis, index, sides) = hit(args[0], args[1]).or_else(|| hit(args[1], args[0]))?;
            if hits.iter().any(|(k, _)| *k == axes[axis]) {
                return None;
            }
            hits.push((axes[axis], index));
            between.extend(sides);
        } else {
            return None;
        }
    }
    (!hits.is_empty()).then_some(())
}

/// The axes along which a value of this rank is broadcast to a shape: one, or the outer ones.
fn broadcast_along(op: &Linear, shape: &[usize], rank: usize) -> Option<SmallVec<[usize; 6]>> {
    let outer: SmallVec<[usize; 6]> = (0..rank).collect();
    if rank <= shape.len() && *op == Linear::replicate(shape, &outer) {
        return Some(outer);
    }
    let mut one = (0..shape.len()).filter(|k| rank == 1 && *op == Linear::replicate(shape, &[*k]));
    one.next().map(|k| SmallVec::from_slice(&[k]))
}

/// The axis along which each element is its position.
fn position(nodes: &[Node], a: NodeId) -> Option<usize> {
    let node = &nodes[a as usize];
    let is_iota = |a: NodeId| matches!(nodes[a as usize].op, Op::Discrete(Discrete::Iota { .. }, _));
    if let Op::Linear(op, of) = &node.op
        && is_iota(*of)
    {
        return broadcast_along(op, &node.shape, 1).map(|along| along[0]);
    }
    is_iota(a).then_some(0)
}

/// The number that all elements are.
fn number(nodes: &[Node], a: NodeId) -> Option<NodeId> {
    let node = &nodes[a as usize];
    let Op::Linear(op, of) = &node.op else { return None };
    (nodes[*of as usize].shape.is_empty() && **op == Linear::replicate(&node.shape, &[])).then_some(*of)
}
