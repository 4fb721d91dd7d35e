//! Fusion groups: elementwise operations, strided accesses and reductions that one pass over an iteration space computes.
//!
//! A group is built operation by operation during lowering, and becomes code for tiles or registers in code generation.
//!
//! Law: a group computes each of its values once per position of the iteration space. Operands come before their uses.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::access::StridedAccess;
use super::step::BufferId;
use crate::dtype::DType;
use crate::kernels::elementwise::{Form, MAX_TERMS};
use crate::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Unary};

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
    Unary(Unary, V),
    Binary(Binary, V, V),
    Compare(Compare, V, V),
    IntUnary(IntUnary, V),
    IntBinary(IntBinary, V, V),
    And(V, V),
    Or(V, V),
    Not(V),
    FloatStep(FloatStep, V),
    /// To integers, floats, or other floats: from this element type.
    Convert(DType, V),
    Select([V; 3]),
    /// A superinstruction.
    Form(Form, SmallVec<[V; 4]>),
    /// A sum with constant weights.
    Weighted(Box<Weights>, SmallVec<[V; 4]>),
    /// The sine and the cosine of a value; the second of the two values is the one that is named.
    SinCos(V, V),
    /// The second result of the operation before.
    Second(V),
    /// The elements of a buffer of these sizes at the indices, 0 out of bounds.
    Gather(BufferId, SmallVec<[usize; 4]>, SmallVec<[V; 4]>),
    /// Writes the value to a buffer, through a view.
    Put(BufferId, StridedAccess, V),
    /// Adds the value to a buffer, through a view.
    Add(BufferId, StridedAccess, V),
}

impl<V: Copy> FusedOp<V> {
    /// The values that the operation uses.
    pub(crate) fn operands(&self) -> SmallVec<[V; 4]> {
        match self {
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Positions(_) => SmallVec::new(),
            FusedOp::Unary(_, a)
            | FusedOp::IntUnary(_, a)
            | FusedOp::Not(a)
            | FusedOp::FloatStep(_, a)
            | FusedOp::Convert(_, a) => SmallVec::from_slice(&[*a]),
            FusedOp::Put(_, _, a) | FusedOp::Add(_, _, a) => SmallVec::from_slice(&[*a]),
            FusedOp::Binary(_, a, b) | FusedOp::Compare(_, a, b) | FusedOp::IntBinary(_, a, b) => {
                SmallVec::from_slice(&[*a, *b])
            }
            FusedOp::And(a, b) | FusedOp::Or(a, b) => SmallVec::from_slice(&[*a, *b]),
            FusedOp::Select(args) => SmallVec::from_slice(args),
            FusedOp::Form(_, args) | FusedOp::Weighted(_, args) | FusedOp::Gather(_, _, args) => args.clone(),
            FusedOp::SinCos(a, _) | FusedOp::Second(a) => SmallVec::from_slice(&[*a]),
        }
    }

    /// The same operation on other values.
    pub(crate) fn map<W>(&self, f: impl Fn(V) -> W) -> FusedOp<W> {
        match self {
            FusedOp::Read(buf, at) => FusedOp::Read(*buf, *at),
            FusedOp::One(buf, at) => FusedOp::One(*buf, *at),
            FusedOp::View(buf, access) => FusedOp::View(*buf, access.clone()),
            FusedOp::Positions(access) => FusedOp::Positions(access.clone()),
            FusedOp::Unary(op, a) => FusedOp::Unary(*op, f(*a)),
            FusedOp::Binary(op, a, b) => FusedOp::Binary(*op, f(*a), f(*b)),
            FusedOp::Compare(op, a, b) => FusedOp::Compare(*op, f(*a), f(*b)),
            FusedOp::IntUnary(op, a) => FusedOp::IntUnary(*op, f(*a)),
            FusedOp::IntBinary(op, a, b) => FusedOp::IntBinary(*op, f(*a), f(*b)),
            FusedOp::And(a, b) => FusedOp::And(f(*a), f(*b)),
            FusedOp::Or(a, b) => FusedOp::Or(f(*a), f(*b)),
            FusedOp::Not(a) => FusedOp::Not(f(*a)),
            FusedOp::FloatStep(op, a) => FusedOp::FloatStep(*op, f(*a)),
            FusedOp::Convert(from, a) => FusedOp::Convert(*from, f(*a)),
            FusedOp::Select([m, a, b]) => FusedOp::Select([f(*m), f(*a), f(*b)]),
            FusedOp::Form(form, args) => FusedOp::Form(*form, args.iter().map(|a| f(*a)).collect()),
            FusedOp::Weighted(weights, args) => {
                FusedOp::Weighted(weights.clone(), args.iter().map(|a| f(*a)).collect())
            }
            FusedOp::SinCos(a, second) => FusedOp::SinCos(f(*a), f(*second)),
            FusedOp::Second(a) => FusedOp::Second(f(*a)),
            FusedOp::Gather(buf, sizes, ix) => FusedOp::Gather(*buf, sizes.clone(), ix.iter().map(|i| f(*i)).collect()),
            FusedOp::Put(buf, access, a) => FusedOp::Put(*buf, access.clone(), f(*a)),
            FusedOp::Add(buf, access, a) => FusedOp::Add(*buf, access.clone(), f(*a)),
        }
    }

    /// The buffer that the operation reads.
    pub(crate) fn reads(&self) -> Option<BufferId> {
        match self {
            FusedOp::Read(buf, _) | FusedOp::One(buf, _) | FusedOp::View(buf, _) | FusedOp::Gather(buf, ..) => {
                Some(*buf)
            }
            FusedOp::Positions(_)
            | FusedOp::Unary(..)
            | FusedOp::Binary(..)
            | FusedOp::Compare(..)
            | FusedOp::IntUnary(..) => None,
            FusedOp::IntBinary(..) | FusedOp::And(..) | FusedOp::Or(..) | FusedOp::Not(_) | FusedOp::FloatStep(..) => {
                None
            }
            FusedOp::Convert(..) | FusedOp::Select(_) | FusedOp::Put(..) | FusedOp::Add(..) => None,
            FusedOp::Form(..) | FusedOp::Weighted(..) | FusedOp::SinCos(..) | FusedOp::Second(_) => None,
        }
    }

    /// The buffer that the operation writes.
    pub(crate) fn writes(&self) -> Option<BufferId> {
        match self {
            FusedOp::Put(buf, ..) | FusedOp::Add(buf, ..) => Some(*buf),
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Gather(..) | FusedOp::Positions(_) => {
                None
            }
            FusedOp::Unary(..)
            | FusedOp::Binary(..)
            | FusedOp::Compare(..)
            | FusedOp::IntUnary(..)
            | FusedOp::IntBinary(..) => None,
            FusedOp::And(..)
            | FusedOp::Or(..)
            | FusedOp::Not(_)
            | FusedOp::FloatStep(..)
            | FusedOp::Convert(..)
            | FusedOp::Select(_) => None,
            FusedOp::Form(..) | FusedOp::Weighted(..) | FusedOp::SinCos(..) | FusedOp::Second(_) => None,
        }
    }
}

/// A sum with constant weights: the numbers are exact in the element type of the group.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weights {
    pub(crate) constant: Option<f64>,
    pub(crate) weights: SmallVec<[f64; MAX_TERMS]>,
}

/// A value of a group.
#[derive(Clone, Debug)]
pub(crate) struct FusedNode {
    pub(crate) item: FusedOp<ValueId>,
    pub(crate) dtype: DType,
    /// The buffer the value is written to, if it is needed elsewhere.
    pub(crate) stored: Option<BufferId>,
}

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
        let FusedOp::Binary(Binary::Mul, a, b) = node.item else { return None };
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
        let mut needed = needed.into_iter();
        self.nodes.retain(|_| needed.next().unwrap_or_default());
        for node in &mut self.nodes {
            node.item = node.item.map(|v| number[v as usize]);
        }
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
            FusedOp::Positions(_)
            | FusedOp::Unary(..)
            | FusedOp::Binary(..)
            | FusedOp::Compare(..)
            | FusedOp::IntUnary(..) => false,
            FusedOp::IntBinary(..) | FusedOp::And(..) | FusedOp::Or(..) | FusedOp::Not(_) | FusedOp::FloatStep(..) => {
                false
            }
            FusedOp::Convert(..) | FusedOp::Select(_) | FusedOp::Add(..) | FusedOp::Gather(..) => false,
            FusedOp::Form(..) | FusedOp::Weighted(..) | FusedOp::SinCos(..) | FusedOp::Second(_) => false,
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
