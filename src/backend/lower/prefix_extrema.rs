//! Gathers of the elements at the positions of prefix extrema: one kernel finds these elements.
//!
//! Law: the kernel is used only for gathers whose other indices are those of the element itself, so the element at a
//! position is the extremum of its line. Positions that no other operation reads are not computed.

use std::collections::{HashMap, HashSet};

use crate::kernels::scan::Line;
use crate::ops::{Discrete, FloatStep, Linear};
use crate::program::{Constant, Node, NodeId, Op, Program};

/// The gathers of prefix extrema in a program.
#[derive(Default)]
pub(super) struct PrefixExtrema {
    /// For each gather of prefix extrema, the lines, and whether the largest elements are gathered.
    gathers: HashMap<NodeId, (Line, bool)>,
    /// The positions that only such gathers read.
    alone: HashSet<NodeId>,
}

impl PrefixExtrema {
    /// Whether an operation gathers prefix extrema.
    pub(super) fn is_gather(&self, k: NodeId) -> bool {
        self.gathers.contains_key(&k)
    }

    /// The lines whose prefix extrema a gather reads, and whether these are the largest elements.
    pub(super) fn gathered(&self, gather: NodeId) -> (Line, bool) {
        self.gathers[&gather]
    }

    /// Whether positions are read by gathers of prefix extrema alone.
    pub(super) fn is_gathered_alone(&self, positions: NodeId) -> bool {
        self.alone.contains(&positions)
    }
}

/// The value itself behind [`FloatStep::StopGradient`].
fn value(nodes: &[Node], mut a: NodeId) -> NodeId {
    while let Op::Discrete(Discrete::FloatStep(FloatStep::StopGradient), args) = &nodes[a as usize].op {
        a = args[0];
    }
    a
}

/// Whether each element is its own index along an axis.
fn is_own_index(nodes: &[Node], a: NodeId, axis: usize) -> bool {
    let node = &nodes[a as usize];
    if let Op::Linear(linear, source) = &node.op {
        return matches!(nodes[*source as usize].op, Op::Discrete(Discrete::Iota { .. }, _))
            && **linear == Linear::replicate(&node.shape, &[axis]);
    }
    matches!(&node.op, Op::Constant(Constant(x)) if node.shape[axis] == 1 && x.splat::<i64>() == Some(0))
}

/// The positions that a gather of prefix extrema reads, the lines, and whether these are the largest elements.
fn gather(nodes: &[Node], a: NodeId, indices: &[NodeId]) -> Option<(NodeId, (Line, bool))> {
    let shape = &nodes[a as usize].shape;
    let (axis, positions, args, largest, reverse) = indices.iter().enumerate().find_map(|(k, at)| {
        if let Op::Discrete(Discrete::PrefixArg { axis, largest, reverse }, args) = &nodes[*at as usize].op
            && *axis == k
        {
            return Some((k, *at, args, *largest, *reverse));
        }
        None
    })?;
    let own = indices.len() == shape.len()
        && value(nodes, args[0]) == value(nodes, a)
        && (0..shape.len()).all(|k| k == axis || is_own_index(nodes, indices[k], k));
    own.then_some((positions, (Line::along(shape, axis, reverse), largest)))
}

/// The gathers of prefix extrema in a program.
pub(super) fn prefix_extrema(program: &Program) -> PrefixExtrema {
    let nodes = program.nodes();
    let mut found = PrefixExtrema::default();
    let is_positions = |a: NodeId| matches!(nodes[a as usize].op, Op::Discrete(Discrete::PrefixArg { .. }, _));
    found.alone.extend((0..nodes.len() as NodeId).filter(|a| is_positions(*a)));
    if found.alone.is_empty() {
        return found;
    }
    for a in program.results() {
        found.alone.remove(a);
    }
    for (k, node) in nodes.iter().enumerate() {
        let gathered = if let Op::Gather(a, indices) = &node.op { gather(nodes, *a, indices) } else { None };
        if let Some((_, extrema)) = gathered {
            found.gathers.insert(k as NodeId, extrema);
        }
        node.op.operands(&mut |a| {
            if gathered.is_none_or(|(positions, _)| positions != *a) {
                found.alone.remove(a);
            }
        });
    }
    found
}
