//! Groups for tiles: the operations of a fusion group with superinstructions, and the choice of tile lengths.
//!
//! Law: a tile group has the values of its fusion group, in their order, without those that superinstructions absorb.

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
    /// An operation of a fusion group.
    Lowered(FusedOp<V>),
    /// A superinstruction.
    Form(Form, SmallVec<[V; 4]>),
    /// A sum with weights that are the same for all elements.
    Weighted(Box<Weights>, SmallVec<[V; 4]>),
    /// Two results of the same operands: the operands, and the second result.
    Twin(Twin, SmallVec<[V; 4]>, V),
    /// Adds the products of two values to one element of a buffer.
    AddProducts(BufferId, usize, [V; 2]),
}

/// A function with two results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twin {
    /// The sine and the cosine of one operand.
    SinCos,
    /// `x y - z w` and `x w + z y` of four operands.
    ComplexProduct,
}

impl Twin {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Twin::SinCos => "sin_cos",
            Twin::ComplexProduct => "complex_product",
        }
    }
}

/// The weight of a term of a sum, the same for all elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Weight {
    /// A constant, which is exact in the element type of the group.
    Known(f64),
    /// The element of a buffer, times 1 or -1.
    Read { buf: BufferId, at: usize, sign: f64 },
}

/// The numbers of a sum with weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weights {
    /// A constant summand, exact in the element type of the group.
    pub(crate) constant: Option<f64>,
    pub(crate) weights: SmallVec<[Weight; MAX_TERMS]>,
}

impl<V> TileOp<V> {
    /// The same operation on other values.
    pub(crate) fn map<W>(self, f: impl Fn(V) -> W) -> TileOp<W> {
        match self {
            TileOp::Lowered(op) => TileOp::Lowered(op.map(f)),
            TileOp::Form(form, args) => TileOp::Form(form, args.into_iter().map(f).collect()),
            TileOp::Weighted(weights, args) => TileOp::Weighted(weights, args.into_iter().map(f).collect()),
            TileOp::Twin(twin, args, second) => TileOp::Twin(twin, args.into_iter().map(&f).collect(), f(second)),
            TileOp::AddProducts(buf, at, factors) => TileOp::AddProducts(buf, at, factors.map(f)),
        }
    }

    /// The buffer that the operation reads.
    pub(crate) fn reads(&self) -> Option<BufferId> {
        if let TileOp::Lowered(op) = self { op.reads() } else { None }
    }

    /// The buffer that the operation writes.
    pub(crate) fn writes(&self) -> Option<BufferId> {
        match self {
            TileOp::Lowered(op) => op.writes(),
            TileOp::AddProducts(buf, ..) => Some(*buf),
            TileOp::Form(..) | TileOp::Weighted(..) | TileOp::Twin(..) => None,
        }
    }

    /// The index of the first operand that may be one broadcast element; all later ones may be, too.
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
            TileOp::Lowered(_) | TileOp::Weighted(..) | TileOp::Twin(..) | TileOp::AddProducts(..) => None,
        }
    }
}

impl<V: Copy> TileOp<V> {
    /// The values that the operation uses.
    pub(crate) fn operands(&self) -> SmallVec<[V; 4]> {
        match self {
            TileOp::Lowered(op) => op.operands(),
            TileOp::Form(_, args) | TileOp::Weighted(_, args) | TileOp::Twin(_, args, _) => args.clone(),
            TileOp::AddProducts(_, _, factors) => SmallVec::from_slice(factors),
        }
    }
}

/// The origin of a value of a tile group.
#[derive(Clone, Debug)]
pub(crate) enum TileNode {
    Op(TileOp<ValueId>),
    /// The second result of the previous operation, whose value has this number.
    Second(ValueId),
}

impl TileNode {
    /// The values on which the value depends.
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

    /// The operation, if it is one of the fusion group.
    fn lowered(&self) -> Option<&FusedOp<ValueId>> {
        if let TileNode::Op(TileOp::Lowered(op)) = self { Some(op) } else { None }
    }
}

/// A group that becomes tile code.
pub(crate) struct TileGroup {
    /// The number of positions of the iteration space.
    pub(crate) size: usize,
    pub(crate) nodes: Vec<GroupNode<TileNode>>,
    /// Buffers, with their bytes, that are filled with zeros before the first tile.
    pub(crate) cleared: Vec<(BufferId, usize)>,
}

impl TileGroup {
    /// The group with superinstructions. `number` gives the values of elements that are known at compile time.
    pub(crate) fn new(
        group: FusionGroup,
        number: &dyn Fn(BufferId, usize) -> Option<f64>,
    ) -> (TileGroup, Superinstructions) {
        let FusionGroup { size, nodes, cleared, .. } = group;
        let (nodes, counts) = fuse(nodes, number);
        (TileGroup { size, nodes, cleared }, counts)
    }

    /// The length of rows that no tile crosses: the most frequent row length of views that are contiguous, or broadcast
    /// one element, within rows. 0 without such a view.
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

    /// The length of a tile, at most a given one, that is a multiple of the most frequent period of periodic views, which
    /// read the same elements in each tile, or of the rows that a sum adds up, since no tile may have a part of a row.
    pub(crate) fn periodic(&self, tile: usize) -> usize {
        if self.size < 2 * tile {
            return tile;
        }
        let mut periods: HashMap<usize, usize> = HashMap::new();
        for node in &self.nodes {
            let period = match (node.item.lowered(), node.stored) {
                (Some(FusedOp::View(_, access)), None) => access.period(),
                (Some(FusedOp::Add(_, access, _)), _) => access.row(),
                (_, _) => None,
            };
            if let Some(period) = period.filter(|period| 2 * period <= tile) {
                *periods.entry(period).or_default() += 1;
            }
        }
        let most = periods.into_iter().map(|(period, count)| (count, period)).max();
        most.map_or(tile, |(_, period)| tile - tile % period)
    }

    /// For each value, whether all its uses accept one broadcast element.
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

    /// For each value, its last use within the group, or itself if it has none.
    pub(crate) fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.nodes.len()).collect();
        for (k, node) in self.nodes.iter().enumerate() {
            for v in node.item.operands() {
                last[v as usize] = k;
            }
        }
        last
    }

    /// The number of positions of a tile, such that the values live at one time, and the parts of buffers that are read
    /// and written, fit into the first-level cache.
    pub(crate) fn tile(&self) -> usize {
        let computes = |node: &&GroupNode<TileNode>| match &node.item {
            TileNode::Op(TileOp::Lowered(FusedOp::Read(..) | FusedOp::One(..))) => node.stored.is_some(),
            TileNode::Op(_) => true,
            TileNode::Second(_) => false,
        };
        if self.nodes.iter().filter(computes).count() == 1 {
            // Nothing is read twice, so tiles only keep the processor from other work.
            return (4 * MACHINE.tile).min(self.size.max(1));
        }
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
        // If the values of the longest tile do not fit into the first-level cache, tiles are half as long, but not
        // shorter: the dispatch of shorter tiles costs more than reads from the second-level cache.
        let longest = MACHINE.tile;
        let tile = if longest * (most + through) <= MACHINE.level1 { longest } else { longest / 2 };
        tile.min(self.size.max(1))
    }
}
