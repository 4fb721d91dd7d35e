//! Groups for tiles: the operations of a fusion group with superinstructions, and what their tiles are like.
//!
//! Law: a group has the values of the fusion group of which it is made, in their order, but those that superinstructions
//! absorb.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::superinstructions::{Superinstructions, fuse};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, FusionGroup, GroupNode, ValueId};
use crate::backend::ir::step::BufferId;
use crate::cost::MACHINE;
use crate::kernels::elementwise::{Form, MAX_TERMS};

/// An operation on tiles of values `V`.
#[derive(Clone, Debug)]
pub(crate) enum TileOp<V> {
    /// One that lowering has made.
    Lowered(FusedOp<V>),
    /// A superinstruction.
    Form(Form, SmallVec<[V; 4]>),
    /// A sum with constant weights.
    Weighted(Box<Weights>, SmallVec<[V; 4]>),
    /// The sine and the cosine of a value; the second of the two results is the one that is named.
    SinCos(V, V),
}

/// A sum with constant weights: the numbers are exact in the element type of the group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weights {
    pub(crate) constant: Option<f64>,
    pub(crate) weights: SmallVec<[f64; MAX_TERMS]>,
}

impl<V> TileOp<V> {
    /// The same operation on other values.
    pub(crate) fn map<W>(self, f: impl Fn(V) -> W) -> TileOp<W> {
        match self {
            TileOp::Lowered(op) => TileOp::Lowered(op.map(f)),
            TileOp::Form(form, args) => TileOp::Form(form, args.into_iter().map(f).collect()),
            TileOp::Weighted(weights, args) => TileOp::Weighted(weights, args.into_iter().map(f).collect()),
            TileOp::SinCos(a, second) => TileOp::SinCos(f(a), f(second)),
        }
    }

    /// The buffer that the operation reads.
    pub(crate) fn reads(&self) -> Option<BufferId> {
        if let TileOp::Lowered(op) = self { op.reads() } else { None }
    }

    /// The buffer that the operation writes.
    pub(crate) fn writes(&self) -> Option<BufferId> {
        if let TileOp::Lowered(op) = self { op.writes() } else { None }
    }

    /// The first of the operands in whose place a kernel takes one number, if there is one.
    pub(crate) fn takes_one_number_from(&self) -> Option<usize> {
        match self {
            TileOp::Lowered(FusedOp::Elementwise(op)) => match op {
                ElementwiseOp::Binary(..) | ElementwiseOp::Compare(..) | ElementwiseOp::IntBinary(..) => Some(0),
                ElementwiseOp::And(..) | ElementwiseOp::Or(..) => Some(0),
                ElementwiseOp::Select(_) => Some(1),
                ElementwiseOp::Unary(..) | ElementwiseOp::IntUnary(..) | ElementwiseOp::Not(_) => None,
                ElementwiseOp::FloatStep(..) | ElementwiseOp::Convert(..) => None,
            },
            TileOp::Form(form, _) => Some(form.slices()),
            TileOp::Lowered(_) | TileOp::Weighted(..) | TileOp::SinCos(..) => None,
        }
    }
}

impl<V: Copy> TileOp<V> {
    /// The values that the operation uses.
    pub(crate) fn operands(&self) -> SmallVec<[V; 4]> {
        match self {
            TileOp::Lowered(op) => op.operands(),
            TileOp::Form(_, args) | TileOp::Weighted(_, args) => args.clone(),
            TileOp::SinCos(a, _) => SmallVec::from_slice(&[*a]),
        }
    }
}

/// What makes a value of a group for tiles.
#[derive(Clone, Debug)]
pub(crate) enum TileNode {
    Op(TileOp<ValueId>),
    /// The second result of the operation before, which is this value.
    Second(ValueId),
}

impl TileNode {
    /// The values that the value needs.
    pub(crate) fn operands(&self) -> SmallVec<[ValueId; 4]> {
        match self {
            TileNode::Op(op) => op.operands(),
            TileNode::Second(first) => SmallVec::from_slice(&[*first]),
        }
    }

    /// The buffer that the operation writes.
    pub(crate) fn writes(&self) -> Option<BufferId> {
        if let TileNode::Op(op) = self { op.writes() } else { None }
    }

    /// The operation, if lowering has made it.
    fn lowered(&self) -> Option<&FusedOp<ValueId>> {
        if let TileNode::Op(TileOp::Lowered(op)) = self { Some(op) } else { None }
    }
}

/// A group of which tile code is made.
pub(crate) struct TileGroup {
    /// The number of positions of the iteration space.
    pub(crate) size: usize,
    pub(crate) nodes: Vec<GroupNode<TileNode>>,
    /// Buffers, with their bytes, that are zeros before the first tile.
    pub(crate) cleared: Vec<(BufferId, usize)>,
}

impl TileGroup {
    /// The group with superinstructions. `number` says which elements of buffers are known numbers.
    pub(crate) fn new(
        group: FusionGroup,
        number: &dyn Fn(BufferId, usize) -> Option<f64>,
    ) -> (TileGroup, Superinstructions) {
        let FusionGroup { size, nodes, cleared, .. } = group;
        let (nodes, counts) = fuse(nodes, number);
        (TileGroup { size, nodes, cleared }, counts)
    }

    /// The length of rows that no tile crosses, 0 if there is no reason for it: that of most of the views that are seen
    /// straight within rows.
    pub(crate) fn row(&self) -> usize {
        let mut rows: HashMap<usize, usize> = HashMap::new();
        for node in &self.nodes {
            if let (Some(FusedOp::View(_, access)), None) = (node.item.lowered(), node.stored)
                && let Some(row) = access.row().filter(|row| *row >= MACHINE.tile_row)
            {
                *rows.entry(row).or_default() += 1;
            }
        }
        rows.into_iter().map(|(row, count)| (count, row)).max().map_or(0, |(_, row)| row)
    }

    /// The length of tiles, next to a given one, in all of which most of the views that repeat see the same.
    pub(crate) fn periodic(&self, tile: usize) -> usize {
        if self.size < 2 * tile {
            return tile;
        }
        let mut periods: HashMap<usize, usize> = HashMap::new();
        for node in &self.nodes {
            if let (Some(FusedOp::View(_, access)), None) = (node.item.lowered(), node.stored)
                && let Some(period) = access.period().filter(|period| 2 * period <= tile)
            {
                *periods.entry(period).or_default() += 1;
            }
        }
        let most = periods.into_iter().map(|(period, count)| (count, period)).max();
        most.map_or(tile, |(_, period)| tile - tile % period)
    }

    /// For each value whether all its uses are of a kind that takes one number for all positions.
    pub(crate) fn ones(&self) -> Vec<bool> {
        let mut ones = vec![true; self.nodes.len()];
        for node in &self.nodes {
            let from = if let TileNode::Op(op) = &node.item { op.takes_one_number_from() } else { None };
            for (k, v) in node.item.operands().into_iter().enumerate() {
                ones[v as usize] &= from.is_some_and(|from| k >= from);
            }
        }
        ones
    }

    /// For each value its last use within the group, or itself.
    pub(crate) fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.nodes.len()).collect();
        for (k, node) in self.nodes.iter().enumerate() {
            for v in node.item.operands() {
                last[v as usize] = k;
            }
        }
        last
    }

    /// The number of positions of a tile, by what values that live at once take of the first level of cache, beside the
    /// parts of buffers that are read and written.
    pub(crate) fn tile(&self) -> usize {
        let last = self.last_uses();
        let (mut live, mut most, mut through) = (0, 0, 0);
        let mut ends = vec![0; self.nodes.len()];
        let mut read: HashSet<BufferId> = HashSet::new();
        for (k, GroupNode { item, dtype, stored }) in self.nodes.iter().enumerate() {
            let lowered = item.lowered();
            let apart = matches!(lowered, Some(FusedOp::View(_, access)) if !access.is_mostly_straight());
            let looked = matches!(lowered, Some(FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..)));
            let copied = apart || !looked && item.writes().is_none();
            if let Some(FusedOp::Read(buf, _) | FusedOp::View(buf, _)) = lowered
                && (read.insert(*buf) || apart)
            {
                through += dtype.width();
            }
            if stored.is_some() {
                through += dtype.width();
            } else if copied {
                live += dtype.width();
                ends[last[k]] += dtype.width();
            }
            most = most.max(live);
            live -= ends[k];
        }
        // Tiles whose values do not stay in the first level of cache are half as long, whatever these take: to start
        // the operations of shorter tiles takes longer than to fetch values from the second level.
        let longest = MACHINE.tile;
        let tile = if longest * (most + through) <= MACHINE.level1 { longest } else { longest / 2 };
        tile.min(self.size.max(1))
    }
}
