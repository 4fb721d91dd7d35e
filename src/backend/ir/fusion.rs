//! Fusion groups: elementwise operations, strided accesses and reductions of one pass over an iteration space.
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
use crate::source::Place;

/// The number of a value within its group.
pub(crate) type ValueId = u32;

/// An operation of a group on values `V`.
#[derive(Clone, Debug)]
pub(crate) enum FusedOp<V> {
    /// Contiguous elements of the buffer, from this one on.
    Read(BufferId, usize),
    /// One element of the buffer, broadcast to all positions.
    One(BufferId, usize),
    /// The buffer, read through a view.
    View(BufferId, StridedAccess),
    /// The places that a view reads, as integers: a view of an iota.
    Positions(StridedAccess),
    /// The elements of a buffer at indices.
    Gather(GatherOp<V>),
    /// Writes the value to a buffer, through a view.
    Put(BufferId, StridedAccess, V),
    /// Adds the value to a buffer, through a view.
    Add(BufferId, StridedAccess, V),
    Elementwise(ElementwiseOp<V>),
}

/// The elements of a buffer at indices, 0 out of bounds.
#[derive(Clone, Debug)]
pub(crate) struct GatherOp<V> {
    pub(crate) buf: BufferId,
    /// The sizes of the buffer's axes; each axis is indexed.
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

/// A value that a group reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GroupRead {
    Read(BufferId, usize),
    One(BufferId, usize),
    View(BufferId, StridedAccess),
    Positions(StridedAccess),
}

/// A group that is being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct FusionGroup {
    /// The number of positions of the iteration space.
    pub(crate) size: usize,
    pub(crate) nodes: Vec<FusedNode>,
    sources: HashMap<GroupRead, ValueId>,
    /// The place of each value's operation.
    pub(crate) origins: Vec<Place>,
    /// The place of the operations that are added.
    pub(crate) origin: Place,
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
        self.origins.push(self.origin.clone());
        (self.nodes.len() - 1) as ValueId
    }

    /// The value of a read; equal reads are one value.
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

    /// The array and the scalar of a value that is their product and is not stored: each as a buffer and its (first)
    /// element.
    pub(crate) fn scaling(&self, value: ValueId) -> Option<((BufferId, usize), (BufferId, usize))> {
        let node = &self.nodes[value as usize];
        let FusedOp::Elementwise(ElementwiseOp::Binary(Binary::Mul, a, b)) = node.item else { return None };
        match (node.stored, self.item(a), self.item(b)) {
            (None, FusedOp::Read(buf, at), FusedOp::One(number, i))
            | (None, FusedOp::One(number, i), FusedOp::Read(buf, at)) => Some(((*buf, *at), (*number, *i))),
            _ => None,
        }
    }

    /// Removes dead values: those that are neither stored nor operands of others.
    pub(crate) fn prune(&mut self) {
        self.prune_but(|_| true);
    }

    /// Removes dead values, and those that are written to buffers that are not `wanted`.
    fn prune_but(&mut self, wanted: impl Fn(BufferId) -> bool) {
        let is_needed = |node: &FusedNode| node.stored.is_some() || node.item.writes().is_some_and(&wanted);
        let mut needed: Vec<bool> = self.nodes.iter().map(is_needed).collect();
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
        let mut kept = needed.iter();
        self.origins.retain(|_| kept.next().is_some_and(|needed| *needed));
        let nodes = std::mem::take(&mut self.nodes).into_iter().zip(needed).filter(|(_, needed)| *needed);
        let renumbered = |node: FusedNode| FusedNode { item: node.item.map(|v| number[v as usize]), ..node };
        self.nodes = nodes.map(|(node, _)| renumbered(node)).collect();
    }

    /// The part of the group that writes one buffer.
    pub(crate) fn part(&self, buf: BufferId) -> FusionGroup {
        let mut part = self.clone();
        part.cleared.retain(|(cleared, _)| *cleared == buf);
        for node in &mut part.nodes {
            node.stored = node.stored.filter(|stored| *stored == buf);
        }
        part.prune_but(|written| written == buf);
        part
    }

    /// Whether the group adds to buffers. The order of these sums depends on all operations of the group.
    pub(crate) fn adds(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.item, FusedOp::Add(..)))
    }

    /// Calls `f` with each buffer that is read or written, to replace it.
    pub(crate) fn buffers_mut(&mut self, f: &mut dyn FnMut(&mut BufferId)) {
        // From here on, no operation is added.
        self.sources.clear();
        self.cleared.iter_mut().for_each(|(buf, _)| f(buf));
        for node in &mut self.nodes {
            match &mut node.item {
                FusedOp::Read(buf, _) | FusedOp::One(buf, _) | FusedOp::View(buf, _) => f(buf),
                FusedOp::Put(buf, ..) | FusedOp::Add(buf, ..) => f(buf),
                FusedOp::Gather(gather) => f(&mut gather.buf),
                FusedOp::Positions(_) | FusedOp::Elementwise(_) => {}
            }
            node.stored.iter_mut().for_each(&mut *f);
        }
    }

    /// Whether the group contains this read.
    pub(crate) fn has(&self, source: &GroupRead) -> bool {
        self.sources.contains_key(source)
    }

    /// The buffer that a value is written to; one is made by `buf` if the value has none.
    pub(crate) fn store(&mut self, value: ValueId, buf: impl FnOnce() -> BufferId) -> BufferId {
        *self.nodes[value as usize].stored.get_or_insert_with(buf)
    }

    /// Has a buffer filled with zeros before the first tile.
    pub(crate) fn clear(&mut self, buf: BufferId, bytes: usize) {
        self.cleared.push((buf, bytes));
    }

    /// Buffers, with their bytes, that are filled with zeros before the first tile.
    pub(crate) fn cleared(&self) -> impl Iterator<Item = (BufferId, usize)> {
        self.cleared.iter().copied()
    }

    /// The operations in order, each with the element type of its value and the buffer it is stored to, if any.
    pub(crate) fn items(&self) -> impl Iterator<Item = (&FusedOp<ValueId>, DType, Option<BufferId>)> {
        self.nodes.iter().map(|node| (&node.item, node.dtype, node.stored))
    }

    /// Whether all operations of the group are copies.
    pub(crate) fn only_moves(&self) -> bool {
        self.nodes.iter().all(|node| match node.item {
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Put(..) => true,
            FusedOp::Positions(_) | FusedOp::Gather(_) | FusedOp::Add(..) | FusedOp::Elementwise(_) => false,
        })
    }

    /// The buffers from which the group gathers.
    pub(crate) fn gathered(&self) -> impl Iterator<Item = BufferId> {
        self.nodes.iter().filter(|node| matches!(node.item, FusedOp::Gather(..))).filter_map(|node| node.item.reads())
    }

    /// The operation that computes a value.
    pub(crate) fn item(&self, value: ValueId) -> &FusedOp<ValueId> {
        &self.nodes[value as usize].item
    }

    /// Calls `f` with each buffer that is read or written, and whether it is written.
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
