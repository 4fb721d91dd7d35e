//! Ranks of sorting permutations that a program reads: a kernel selects these alone.
//!
//! Law: a rank that an operation or a result reads is listed, so what lies at other ranks is read by nothing.

use std::collections::HashMap;

use crate::backend::ir::step::Ranks;
use crate::ops::{Discrete, Linear};
use crate::program::{NodeId, Op, Program};

/// For each sorting permutation of a program, the ranks that other operations read: those that views reach, or all.
pub(super) fn ranks_read(program: &Program) -> HashMap<NodeId, Ranks> {
    let nodes = program.nodes();
    let mut axes: HashMap<NodeId, usize> = HashMap::new();
    for (k, node) in nodes.iter().enumerate() {
        if let Op::Discrete(Discrete::ArgSort { axis, .. }, _) = &node.op {
            axes.insert(k as NodeId, *axis);
        }
    }
    let mut read: HashMap<NodeId, Ranks> = axes.keys().map(|a| (*a, Ranks::new())).collect();
    if read.is_empty() {
        return read;
    }
    let len = |a: NodeId| nodes[a as usize].shape[axes[&a]];
    for node in nodes {
        let seen = if let Op::Linear(linear, a) = &node.op
            && let Linear::Affine { from, .. } = &**linear
            && axes.contains_key(a)
            && !from.is_empty()
        {
            // A view reads zeros out of bounds.
            let ((lo, hi), len) = (from.range(axes[a]), len(*a));
            let within = |at: i64| at.clamp(0, len as i64) as usize;
            Some(within(lo)..within(hi + 1))
        } else {
            None
        };
        node.op.operands(&mut |a| {
            if let Some(ranks) = read.get_mut(a) {
                ranks.push(seen.clone().unwrap_or(0..len(*a)));
            }
        });
    }
    for a in program.results() {
        if let Some(ranks) = read.get_mut(a) {
            ranks.push(0..len(*a));
        }
    }
    read.values_mut().for_each(join);
    read
}

/// Makes ranges ascending, without overlap.
fn join(ranks: &mut Ranks) {
    crate::order::sort_by_key(ranks, |ranks| (ranks.start, ranks.end));
    ranks.dedup_by(|next, before| {
        let joins = next.start <= before.end;
        if joins {
            before.end = before.end.max(next.end);
        }
        joins
    });
}
