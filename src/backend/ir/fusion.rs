//! Fusion groups: elementwise operations, strided accesses and reductions that one pass over an iteration space computes.
//!
//! A group is built operation by operation during lowering, and becomes code for tiles or registers in code generation.
//!
//! Law: a group computes each of its values once per position of the iteration space. Operands come before their uses.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::access::StridedAccess;
use super::elementwise::ElementwiseOp;
use super::step::BufferId;
use crate::dtype::DType;
use crate::ops::Binary;

/// The number of a value within its group.
pub(crate) type ValueId = u32;

/// An operation of a group on values `V`.
#[derive(Clone, Debug)]
pub(crate) enum FusedOp<V> {
    /// The buffer itself, read as it lies from this element on.
    Read(BufferId, usize),
    /// The element at this position of the buffer, for all positions.
    One(BufferId, usize),
    /// The buffer, read through a view.
    View(BufferId, StridedAccess),
    /// The positions that a view reads: a view of an iota.
    Positions(StridedAccess),
    /// The elements of a buffer at indices.
    Gather(GatherOp<V>),
    /// Writes the value to a buffer, through a view.
    Put(BufferId, StridedAccess, V),
    /// Adds the value to a buffer, through a view.
    Add(BufferId, StridedAccess, V),
    Elementwise(ElementwiseOp<V>),
}

/// The elements of a buffer at the indices, 0 out of bounds.
#[derive(Clone, Debug)]
pub(crate) struct GatherOp<V> {
    pub(crate) buf: BufferId,
    /// The sizes of the buffer along the axes that are indexed: all.
    pub(crate) sizes: SmallVec<[usize; 4]>,
    pub(crate) indices: SmallVec<[V; 4]>,
}

impl<V> GatherOp<V> {
    /// The same elements at other indices.
    pub(crate) fn map<W>(self, f: impl Fn(V) -> W) -> GatherOp<W> {
        GatherOp { buf: self.buf, sizes: self.sizes, indices: self.indices.into_iter().map(f).collect() }
    }
}

impl<V> FusedOp<V> {
    /// The same operation on other values.
    pub(crate) fn map<W>(self, f: impl Fn(V) -> W) -> FusedOp<W> {
        match self {
            FusedOp::Read(buf, at) => FusedOp::Read(buf, at),
            FusedOp::One(buf, at) => FusedOp::One(buf, at),
            FusedOp::View(buf, access) => FusedOp::View(buf, access),
            FusedOp::Positions(access) => FusedOp::Positions(access),
            FusedOp::Gather(gather) => FusedOp::Gather(gather.map(f)),
            FusedOp::Put(buf, access, a) => FusedOp::Put(buf, access, f(a)),
            FusedOp::Add(buf, access, a) => FusedOp::Add(buf, access, f(a)),
            FusedOp::Elementwise(op) => FusedOp::Elementwise(op.map(f)),
        }
    }

    /// The buffer that the operation reads.
    pub(crate) fn reads(&self) -> Option<BufferId> {
        match self {
            FusedOp::Read(buf, _) | FusedOp::One(buf, _) | FusedOp::View(buf, _) => Some(*buf),
            FusedOp::Gather(gather) => Some(gather.buf),
            FusedOp::Positions(_) | FusedOp::Put(..) | FusedOp::Add(..) | FusedOp::Elementwise(_) => None,
        }
    }

    /// The buffer that the operation writes.
    pub(crate) fn writes(&self) -> Option<BufferId> {
        match self {
            FusedOp::Put(buf, ..) | FusedOp::Add(buf, ..) => Some(*buf),
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Positions(_) => None,
            FusedOp::Gather(_) | FusedOp::Elementwise(_) => None,
        }
    }
}

impl<V: Copy> FusedOp<V> {
    /// The values that the operation uses.
    pub(crate) fn operands(&self) -> SmallVec<[V; 4]> {
        match self {
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Positions(_) => SmallVec::new(),
            FusedOp::Gather(gather) => gather.indices.clone(),
            FusedOp::Put(_, _, a) | FusedOp::Add(_, _, a) => SmallVec::from_slice(&[*a]),
            FusedOp::Elementwise(op) => op.operands(),
        }
    }
}

/// A value of a group, made by an operation `O`.
#[derive(Clone, Debug)]
pub(crate) struct GroupNode<O> {
    pub(crate) item: O,
    pub(crate) dtype: DType,
    /// The buffer the value is written to, if it is needed elsewhere.
    pub(crate) stored: Option<BufferId>,
}

/// A value of a group that is being built.
pub(crate) type FusedNode = GroupNode<FusedOp<ValueId>>;

/// What a group reads without computing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GroupRead {
    Read(BufferId, usize),
    One(BufferId, usize),
    View(BufferId, StridedAccess),
    Positions(StridedAccess),
}

/// A group that is being built.
#[derive(Debug, Default)]
pub(crate) struct FusionGroup {
    /// The number of positions of the iteration space.
    pub(crate) size: usize,
    pub(crate) nodes: Vec<FusedNode>,
    sources: HashMap<GroupRead, ValueId>,
    /// Buffers, with their bytes, that are zeros before the first tile.
    pub(crate) cleared: Vec<(BufferId, usize)>,
}

impl FusionGroup {
    pub(crate) fn new(size: usize) -> FusionGroup {
        FusionGroup { size, ..FusionGroup::default() }
    }

    /// The number of operations.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The element type of a value.
    pub(crate) fn dtype(&self, value: ValueId) -> DType {
        self.nodes[value as usize].dtype
    }

    pub(crate) fn push(&mut self, item: FusedOp<ValueId>, dtype: DType) -> ValueId {
        self.nodes.push(FusedNode { item, dtype, stored: None });
        (self.nodes.len() - 1) as ValueId
    }

    /// What is read, once for each buffer and view.
    pub(crate) fn source(&mut self, source: GroupRead, dtype: DType) -> ValueId {
        if let Some(value) = self.sources.get(&source) {
            return *value;
        }
        let item = match source.clone() {
            GroupRead::Read(buf, at) => FusedOp::Read(buf, at),
            GroupRead::One(buf, at) => FusedOp::One(buf, at),
            GroupRead::View(buf, access) => FusedOp::View(buf, access),
            GroupRead::Positions(access) => FusedOp::Positions(access),
        };
        let value = self.push(item, dtype);
        self.sources.insert(source, value);
        value
    }

    /// The array and the number of which a value, which is not stored, is the product: elements of buffers, from these
    /// on.
    pub(crate) fn scaling(&self, value: ValueId) -> Option<((BufferId, usize), (BufferId, usize))> {
        let node = &self.nodes[value as usize];
        let FusedOp::Elementwise(ElementwiseOp::Binary(Binary::Mul, a, b)) = node.item else { return None };
        match (node.stored, self.item(a), self.item(b)) {
            (None, FusedOp::Read(buf, at), FusedOp::One(number, i))
            | (None, FusedOp::One(number, i), FusedOp::Read(buf, at)) => Some(((*buf, *at), (*number, *i))),
            _ => None,
        }
    }

    /// Drops the values that nothing needs.
    pub(crate) fn prune(&mut self) {
        let mut needed: Vec<bool> =
            self.nodes.iter().map(|node| node.stored.is_some() || node.item.writes().is_some()).collect();
        for (k, node) in self.nodes.iter().enumerate().rev() {
            if needed[k] {
                node.item.operands().iter().for_each(|v| needed[*v as usize] = true);
            }
        }
        let mut number: Vec<ValueId> = Vec::with_capacity(needed.len());
        let mut next = 0;
        for needed in &needed {
            number.push(next);
            next += ValueId::from(*needed);
        }
        let nodes = std::mem::take(&mut self.nodes).into_iter().zip(needed).filter(|(_, needed)| *needed);
        let renumbered = |node: FusedNode| FusedNode { item: node.item.map(|v| number[v as usize]), ..node };
        self.nodes = nodes.map(|(node, _)| renumbered(node)).collect();
    }

    /// Whether the group reads this already.
    pub(crate) fn has(&self, source: &GroupRead) -> bool {
        self.sources.contains_key(source)
    }

    /// The buffer that a value is written to, which is this one unless the value has one.
    pub(crate) fn store(&mut self, value: ValueId, buf: impl FnOnce() -> BufferId) -> BufferId {
        *self.nodes[value as usize].stored.get_or_insert_with(buf)
    }

    /// Fills a buffer with zeros before the first tile.
    pub(crate) fn clear(&mut self, buf: BufferId, bytes: usize) {
        self.cleared.push((buf, bytes));
    }

    /// Buffers, with their bytes, that are zeros first.
    pub(crate) fn cleared(&self) -> impl Iterator<Item = (BufferId, usize)> {
        self.cleared.iter().copied()
    }

    /// The operations in order, with the element types of their values, and where these are stored.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&FusedOp<ValueId>, DType, Option<BufferId>)> {
        self.nodes.iter().map(|node| (&node.item, node.dtype, node.stored))
    }

    /// Whether the group reads and writes elements, and computes nothing.
    pub(crate) fn only_moves(&self) -> bool {
        self.nodes.iter().all(|node| match node.item {
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Put(..) => true,
            FusedOp::Positions(_) | FusedOp::Gather(_) | FusedOp::Add(..) | FusedOp::Elementwise(_) => false,
        })
    }

    /// The buffers that are read at indices.
    pub(crate) fn gathered(&self) -> impl Iterator<Item = BufferId> {
        self.nodes.iter().filter(|node| matches!(node.item, FusedOp::Gather(..))).filter_map(|node| node.item.reads())
    }

    /// The operation that makes a value.
    pub(crate) fn item(&self, value: ValueId) -> &FusedOp<ValueId> {
        &self.nodes[value as usize].item
    }

    /// The buffers read and written, each with whether it is written.
    pub(crate) fn buffers(&self, f: &mut dyn FnMut(BufferId, bool)) {
        for (buf, _) in &self.cleared {
            f(*buf, true);
        }
        for node in &self.nodes {
            if let Some(buf) = node.item.reads() {
                f(buf, false);
            }
            if let Some(buf) = node.item.writes().or(node.stored) {
                f(buf, true);
            }
        }
    }
}
