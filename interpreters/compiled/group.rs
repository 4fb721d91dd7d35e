//! Groups: elementwise operations, reads through views and sums that one pass over an iteration space computes.
//!
//! A group is built operation by operation while the planner walks over a program, and becomes code for tiles when it
//! is complete (`code.rs`).
//!
//! Law: a group computes each of its values once per position of the iteration space. Operands come before their uses.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::fuse::Weights;
use super::memory::Slot;
use super::rows::Form;
use super::walk::Walk;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, FloatStep, IntBinary, IntUnary, Unary};

/// The number of a value within its group.
pub(super) type Value = u32;

/// An operation of a group on values `V`.
#[derive(Clone, Debug)]
pub(super) enum Item<V> {
    /// The place itself, read as it lies from this element on.
    Read(Slot, usize),
    /// The element at this position of the place, for all positions.
    One(Slot, usize),
    /// The place, read through a view.
    View(Slot, Walk),
    /// The numbers of the places that a view looks at: a view of an iota.
    Places(Walk),
    Unary(Unary, V),
    Binary(Binary, V, V),
    Compare(Compare, V, V),
    IntUnary(IntUnary, V),
    IntBinary(IntBinary, V, V),
    And(V, V),
    Or(V, V),
    Not(V),
    Step(FloatStep, V),
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
    /// The elements of a place of these sizes at the indices, 0 out of bounds.
    Gather(Slot, SmallVec<[usize; 4]>, SmallVec<[V; 4]>),
    /// Writes the value to a place, through a view.
    Put(Slot, Walk, V),
    /// Adds the value to a place, through a view.
    Add(Slot, Walk, V),
}

impl<V: Copy> Item<V> {
    /// The values that the operation uses.
    pub(super) fn operands(&self) -> SmallVec<[V; 4]> {
        match self {
            Item::Read(..) | Item::One(..) | Item::View(..) | Item::Places(_) => SmallVec::new(),
            Item::Unary(_, a) | Item::IntUnary(_, a) | Item::Not(a) | Item::Step(_, a) | Item::Convert(_, a) => {
                SmallVec::from_slice(&[*a])
            }
            Item::Put(_, _, a) | Item::Add(_, _, a) => SmallVec::from_slice(&[*a]),
            Item::Binary(_, a, b) | Item::Compare(_, a, b) | Item::IntBinary(_, a, b) => {
                SmallVec::from_slice(&[*a, *b])
            }
            Item::And(a, b) | Item::Or(a, b) => SmallVec::from_slice(&[*a, *b]),
            Item::Select(args) => SmallVec::from_slice(args),
            Item::Form(_, args) | Item::Weighted(_, args) | Item::Gather(_, _, args) => args.clone(),
            Item::SinCos(a, _) | Item::Second(a) => SmallVec::from_slice(&[*a]),
        }
    }

    /// The same operation on other values.
    pub(super) fn map<W>(&self, f: impl Fn(V) -> W) -> Item<W> {
        match self {
            Item::Read(slot, at) => Item::Read(*slot, *at),
            Item::One(slot, at) => Item::One(*slot, *at),
            Item::View(slot, walk) => Item::View(*slot, walk.clone()),
            Item::Places(walk) => Item::Places(walk.clone()),
            Item::Unary(op, a) => Item::Unary(*op, f(*a)),
            Item::Binary(op, a, b) => Item::Binary(*op, f(*a), f(*b)),
            Item::Compare(op, a, b) => Item::Compare(*op, f(*a), f(*b)),
            Item::IntUnary(op, a) => Item::IntUnary(*op, f(*a)),
            Item::IntBinary(op, a, b) => Item::IntBinary(*op, f(*a), f(*b)),
            Item::And(a, b) => Item::And(f(*a), f(*b)),
            Item::Or(a, b) => Item::Or(f(*a), f(*b)),
            Item::Not(a) => Item::Not(f(*a)),
            Item::Step(op, a) => Item::Step(*op, f(*a)),
            Item::Convert(from, a) => Item::Convert(*from, f(*a)),
            Item::Select([m, a, b]) => Item::Select([f(*m), f(*a), f(*b)]),
            Item::Form(form, args) => Item::Form(*form, args.iter().map(|a| f(*a)).collect()),
            Item::Weighted(weights, args) => Item::Weighted(weights.clone(), args.iter().map(|a| f(*a)).collect()),
            Item::SinCos(a, second) => Item::SinCos(f(*a), f(*second)),
            Item::Second(a) => Item::Second(f(*a)),
            Item::Gather(slot, sizes, ix) => Item::Gather(*slot, sizes.clone(), ix.iter().map(|i| f(*i)).collect()),
            Item::Put(slot, walk, a) => Item::Put(*slot, walk.clone(), f(*a)),
            Item::Add(slot, walk, a) => Item::Add(*slot, walk.clone(), f(*a)),
        }
    }

    /// The place that the operation reads.
    pub(super) fn reads(&self) -> Option<Slot> {
        match self {
            Item::Read(slot, _) | Item::One(slot, _) | Item::View(slot, _) | Item::Gather(slot, ..) => Some(*slot),
            Item::Places(_) | Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) => None,
            Item::IntBinary(..) | Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) => None,
            Item::Convert(..) | Item::Select(_) | Item::Put(..) | Item::Add(..) => None,
            Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => None,
        }
    }

    /// The place that the operation writes.
    pub(super) fn writes(&self) -> Option<Slot> {
        match self {
            Item::Put(slot, ..) | Item::Add(slot, ..) => Some(*slot),
            Item::Read(..) | Item::One(..) | Item::View(..) | Item::Gather(..) | Item::Places(_) => None,
            Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) | Item::IntBinary(..) => None,
            Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) | Item::Convert(..) | Item::Select(_) => None,
            Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => None,
        }
    }
}

/// A value of a group.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) item: Item<Value>,
    pub(super) dtype: DType,
    /// The place the value is written to, if it is needed elsewhere.
    pub(super) stored: Option<Slot>,
}

/// What a group reads without computing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    Read(Slot, usize),
    One(Slot, usize),
    View(Slot, Walk),
    Places(Walk),
}

/// A group that is being built.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The number of positions of the iteration space.
    pub(super) size: usize,
    pub(super) nodes: Vec<Node>,
    sources: HashMap<Source, Value>,
    /// Places, with their bytes, that are zeros before the first tile.
    pub(super) cleared: Vec<(Slot, usize)>,
}

impl Group {
    pub(super) fn new(size: usize) -> Group {
        Group { size, ..Group::default() }
    }

    /// The number of operations.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The element type of a value.
    pub(super) fn dtype(&self, value: Value) -> DType {
        self.nodes[value as usize].dtype
    }

    pub(super) fn push(&mut self, item: Item<Value>, dtype: DType) -> Value {
        self.nodes.push(Node { item, dtype, stored: None });
        (self.nodes.len() - 1) as Value
    }

    /// What is read, once for each place and view.
    pub(super) fn source(&mut self, source: Source, dtype: DType) -> Value {
        if let Some(value) = self.sources.get(&source) {
            return *value;
        }
        let item = match source.clone() {
            Source::Read(slot, at) => Item::Read(slot, at),
            Source::One(slot, at) => Item::One(slot, at),
            Source::View(slot, walk) => Item::View(slot, walk),
            Source::Places(walk) => Item::Places(walk),
        };
        let value = self.push(item, dtype);
        self.sources.insert(source, value);
        value
    }

    /// The array and the number of which a value, which is not stored, is the product: elements of places, from these
    /// on.
    pub(super) fn scaling(&self, value: Value) -> Option<((Slot, usize), (Slot, usize))> {
        let node = &self.nodes[value as usize];
        let Item::Binary(Binary::Mul, a, b) = node.item else { return None };
        match (node.stored, self.item(a), self.item(b)) {
            (None, Item::Read(slot, at), Item::One(number, i)) | (None, Item::One(number, i), Item::Read(slot, at)) => {
                Some(((*slot, *at), (*number, *i)))
            }
            _ => None,
        }
    }

    /// Drops the values that nothing needs.
    pub(super) fn prune(&mut self) {
        let mut needed: Vec<bool> =
            self.nodes.iter().map(|node| node.stored.is_some() || node.item.writes().is_some()).collect();
        for (k, node) in self.nodes.iter().enumerate().rev() {
            if needed[k] {
                node.item.operands().iter().for_each(|v| needed[*v as usize] = true);
            }
        }
        let mut number: Vec<Value> = Vec::with_capacity(needed.len());
        let mut next = 0;
        for needed in &needed {
            number.push(next);
            next += Value::from(*needed);
        }
        let mut needed = needed.into_iter();
        self.nodes.retain(|_| needed.next().unwrap_or_default());
        for node in &mut self.nodes {
            node.item = node.item.map(|v| number[v as usize]);
        }
    }

    /// Whether the group reads this already.
    pub(super) fn has(&self, source: &Source) -> bool {
        self.sources.contains_key(source)
    }

    /// The place that a value is written to, which is this one unless the value has one.
    pub(super) fn store(&mut self, value: Value, slot: impl FnOnce() -> Slot) -> Slot {
        *self.nodes[value as usize].stored.get_or_insert_with(slot)
    }

    /// Fills a place with zeros before the first tile.
    pub(super) fn clear(&mut self, slot: Slot, bytes: usize) {
        self.cleared.push((slot, bytes));
    }

    /// Places, with their bytes, that are zeros first.
    pub(super) fn cleared(&self) -> impl Iterator<Item = (Slot, usize)> {
        self.cleared.iter().copied()
    }

    /// The operations in order, with the element types of their values, and where these are stored.
    pub(super) fn items(&self) -> impl Iterator<Item = (&Item<Value>, DType, Option<Slot>)> {
        self.nodes.iter().map(|node| (&node.item, node.dtype, node.stored))
    }

    /// Whether the group reads and writes elements, and computes nothing.
    pub(super) fn only_moves(&self) -> bool {
        self.nodes.iter().all(|node| match node.item {
            Item::Read(..) | Item::One(..) | Item::View(..) | Item::Put(..) => true,
            Item::Places(_) | Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) => false,
            Item::IntBinary(..) | Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) => false,
            Item::Convert(..) | Item::Select(_) | Item::Add(..) | Item::Gather(..) => false,
            Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => false,
        })
    }

    /// The places that are read at indices.
    pub(super) fn gathered(&self) -> impl Iterator<Item = Slot> {
        self.nodes.iter().filter(|node| matches!(node.item, Item::Gather(..))).filter_map(|node| node.item.reads())
    }

    /// The operation that makes a value.
    pub(super) fn item(&self, value: Value) -> &Item<Value> {
        &self.nodes[value as usize].item
    }

    /// The places read and written, each with whether it is written.
    pub(super) fn places(&self, f: &mut dyn FnMut(Slot, bool)) {
        for (slot, _) in &self.cleared {
            f(*slot, true);
        }
        for node in &self.nodes {
            if let Some(slot) = node.item.reads() {
                f(slot, false);
            }
            if let Some(slot) = node.item.writes().or(node.stored) {
                f(slot, true);
            }
        }
    }
}
