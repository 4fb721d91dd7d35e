//! Groups: elementwise operations, reads through views and sums that one pass over an iteration space computes.
//!
//! A group is built operation by operation while the planner walks over a program, and becomes code for tiles when it
//! is complete: registers are assigned, and a value that is needed elsewhere is written to its place at once.
//!
//! Law: a group computes each of its values once per position of the iteration space. Operands come before their uses.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use smallvec::SmallVec;

use super::fuse::{Superinstructions, Weights, fuse};
use super::memory::{LINE, Slot};
use super::rows::Form;
use super::walk::{Sight, Walk};
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
    nodes: Vec<Node>,
    sources: HashMap<Source, Value>,
    /// Places, with their bytes, that are zeros before the first tile.
    cleared: Vec<(Slot, usize)>,
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

    /// The code of the group. `number` says which elements of places are known numbers.
    pub(super) fn code(&mut self, number: &dyn Fn(Slot, usize) -> Option<f64>) -> Code {
        let mut counts = Superinstructions::default();
        if self.size > 1 {
            (self.nodes, counts) = fuse(std::mem::take(&mut self.nodes), number);
        }
        let row = self.row();
        let tile = rounded(self.tile(), row);
        let last = self.last_uses();
        let mut maker = Maker {
            group: self,
            ones: self.ones(),
            registers: Registers::new(tile),
            args: Vec::with_capacity(self.nodes.len()),
            before: Vec::new(),
            each: Vec::new(),
            second: None,
            sights: 0,
        };
        for (k, node) in self.nodes.iter().enumerate() {
            let arg = maker.node(node);
            maker.args.push(arg);
            // An operand may be listed twice; its register is free once.
            let mut over = node.item.operands();
            over.retain(|v| last[*v as usize] == k);
            over.sort_unstable();
            over.dedup();
            for v in over {
                maker.registers.give(maker.args[v as usize], self.nodes[v as usize].dtype);
            }
            if last[k] == k && node.item.writes().is_none() {
                maker.registers.give(arg, node.dtype);
            }
        }
        let Maker { mut registers, before, each, sights, .. } = maker;
        let seen = registers.bytes;
        registers.bytes += (sights * size_of::<Seen>()).next_multiple_of(LINE);
        let (cleared, bytes) = (self.cleared.clone(), registers.bytes);
        Code { size: self.size, tile, row, before, each, cleared, seen, bytes, counts }
    }

    /// The length of rows that no tile crosses, 0 if there is no reason for it: most of the views that are seen straight
    /// within rows have these.
    fn row(&self) -> usize {
        let mut rows: HashMap<usize, usize> = HashMap::new();
        for node in &self.nodes {
            if let (Item::View(_, walk), None) = (&node.item, node.stored)
                && let Some(row) = walk.row().filter(|row| *row >= LONG)
            {
                *rows.entry(row).or_default() += 1;
            }
        }
        rows.into_iter().map(|(row, count)| (count, row)).max().map_or(0, |(_, row)| row)
    }

    /// For each value whether all its uses are of a kind that takes one number for all positions.
    fn ones(&self) -> Vec<bool> {
        let mut ones = vec![true; self.nodes.len()];
        for node in &self.nodes {
            let from = node.item.takes_one_number_from();
            for (k, v) in node.item.operands().into_iter().enumerate() {
                ones[v as usize] &= from.is_some_and(|from| k >= from);
            }
        }
        ones
    }

    /// For each value its last use within the group, or itself.
    fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.nodes.len()).collect();
        for (k, node) in self.nodes.iter().enumerate() {
            for v in node.item.operands() {
                last[v as usize] = k;
            }
        }
        last
    }

    /// The number of positions of a tile: as many as keep all values that live at once in the first level of cache.
    fn tile(&self) -> usize {
        let last = self.last_uses();
        let (mut live, mut most) = (0usize, 1usize);
        let mut ends = vec![0usize; self.nodes.len()];
        for (k, node) in self.nodes.iter().enumerate() {
            if !matches!(node.item, Item::One(..)) {
                live += 1;
                ends[last[k]] += 1;
            }
            most = most.max(live);
            live -= ends[k].min(live);
        }
        let room = CACHE / (most * 8);
        let tile = [512, 256, 128].into_iter().find(|tile| *tile <= room).unwrap_or(64);
        tile.min(self.size.max(1))
    }
}

/// The bytes of the first level of cache that the values of a tile may take.
const CACHE: usize = 24 << 10;

/// The least length of a row that has tiles of its own.
const LONG: usize = 192;

/// The length of tiles that divide rows, next to a given one.
fn rounded(tile: usize, row: usize) -> usize {
    match row {
        0 => tile,
        _ if row <= tile => row,
        _ => row.div_ceil(row.div_ceil(tile)).next_multiple_of(8),
    }
}

impl<V> Item<V> {
    /// The first of the operands in whose place a kernel takes one number, if there is one.
    fn takes_one_number_from(&self) -> Option<usize> {
        match self {
            Item::Binary(..) | Item::Compare(..) | Item::IntBinary(..) | Item::And(..) | Item::Or(..) => Some(0),
            Item::Select(_) => Some(1),
            Item::Form(form, _) => Some(form.slices()),
            Item::Read(..) | Item::One(..) | Item::View(..) | Item::Places(_) | Item::Unary(..) => None,
            Item::IntUnary(..) | Item::Not(_) | Item::Step(..) | Item::Convert(..) | Item::Gather(..) => None,
            Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) | Item::Put(..) | Item::Add(..) => None,
        }
    }
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arg {
    /// The byte at which a register starts.
    Register(usize),
    /// The element of a place that belongs to the first position.
    Place(Slot, usize),
    /// One element for all positions.
    One(Slot, usize),
    /// What a view sees, found anew for each tile.
    Seen(Sighting),
}

/// A view that is an operand: read where it lies, or copied to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sighting {
    /// The number of the view within the group.
    pub(super) view: usize,
    /// The byte at which the register starts.
    pub(super) register: usize,
    /// Whether all uses take one number for all positions.
    pub(super) one: bool,
}

impl Sighting {
    /// Whether what the view sees in a tile is copied to the register.
    pub(super) fn is_copied(self, sight: Sight) -> bool {
        match sight {
            Sight::Straight(_) => false,
            Sight::Same(_) => !self.one,
            Sight::Apart => true,
        }
    }
}

/// Where a view is seen in the current tile: the first element, and whether it stands for all positions.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) at: *const u8,
    pub(super) one: bool,
}

/// One operation on a tile.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub(super) item: Item<Arg>,
    /// The element type of the result.
    pub(super) dtype: DType,
    /// The element type of the last operand.
    pub(super) operand: DType,
    pub(super) out: Arg,
}

/// A group ready to run.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) size: usize,
    pub(super) tile: usize,
    /// The length of rows that no tile crosses, or 0.
    pub(super) row: usize,
    /// What fills registers once.
    pub(super) before: Vec<Instruction>,
    /// What runs for each tile.
    pub(super) each: Vec<Instruction>,
    pub(super) cleared: Vec<(Slot, usize)>,
    /// The byte of the registers at which what views see starts.
    pub(super) seen: usize,
    /// The bytes of all registers.
    pub(super) bytes: usize,
    pub(super) counts: Superinstructions,
}

impl Code {
    /// The tiles of a range of positions: the first position and the number of positions of each.
    pub(super) fn tiles(&self, positions: Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (tile, row) = (self.tile, self.row);
        let mut start = positions.start;
        std::iter::from_fn(move || {
            let row_end = if row > 0 { (start / row + 1) * row } else { positions.end };
            let (from, len) = (start, tile.min(row_end.min(positions.end) - start));
            start += len;
            (from < positions.end).then_some((from, len))
        })
    }
}

/// The code of a group while it is made.
struct Maker<'a> {
    group: &'a Group,
    /// Whether all uses of a value take one number.
    ones: Vec<bool>,
    registers: Registers,
    /// Where each value is.
    args: Vec<Arg>,
    before: Vec<Instruction>,
    each: Vec<Instruction>,
    /// Where the second result of the last operation is.
    second: Option<Arg>,
    /// The number of views that are operands.
    sights: usize,
}

impl Maker<'_> {
    /// Adds the code of a value, and says where it is.
    fn node(&mut self, node: &Node) -> Arg {
        let arg = match &node.item {
            Item::Read(slot, at) => Arg::Place(*slot, *at),
            Item::One(slot, at) => Arg::One(*slot, *at),
            Item::View(..) if self.group.size > 1 && node.stored.is_none() => return self.view(node),
            Item::View(..) | Item::Places(_) | Item::Unary(..) | Item::Binary(..) | Item::Compare(..) => {
                return self.computed(node);
            }
            Item::IntUnary(..) | Item::IntBinary(..) | Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) => {
                return self.computed(node);
            }
            Item::Convert(..) | Item::Select(_) | Item::Gather(..) | Item::Put(..) | Item::Add(..) => {
                return self.computed(node);
            }
            Item::Form(..) | Item::Weighted(..) => return self.computed(node),
            Item::SinCos(x, second) => return self.sines(node, *x, *second),
            Item::Second(_) => return self.second.take().expect("the operation before has two results"),
        };
        if let Some(slot) = node.stored {
            let (item, dtype) = (node.item.map(|_| arg), node.dtype);
            self.each.push(Instruction { item, dtype, operand: dtype, out: Arg::Place(slot, 0) });
        }
        arg
    }

    fn computed(&mut self, node: &Node) -> Arg {
        let operands = node.item.operands();
        // Only kernels of two operands, and selection, take one number for all positions, and not for all operands.
        let ones = operands.iter().filter(|v| matches!(self.args[**v as usize], Arg::One(..))).count();
        let takes = node.item.takes_one_number_from().filter(|_| ones < operands.len());
        for (i, v) in operands.iter().enumerate() {
            if takes.is_none_or(|from| i < from) {
                self.spread(*v);
            }
        }
        let item = node.item.map(|v| self.args[v as usize]);
        let out = if node.item.writes().is_some() { Arg::Register(0) } else { self.result(node) };
        let operand = operands.last().map_or(node.dtype, |v| self.group.nodes[*v as usize].dtype);
        self.each.push(Instruction { item, dtype: node.dtype, operand, out });
        out
    }

    /// A view that is only an operand.
    fn view(&mut self, node: &Node) -> Arg {
        // The values have one argument each, in their order.
        let one = self.ones[self.args.len()];
        let out = Arg::Seen(Sighting { view: self.sights, register: self.registers.take(node.dtype), one });
        self.sights += 1;
        let (item, dtype) = (node.item.map(|_| out), node.dtype);
        self.each.push(Instruction { item, dtype, operand: dtype, out });
        out
    }

    /// Where the result of an operation goes: to its place, or to a register.
    fn result(&mut self, node: &Node) -> Arg {
        node.stored.map_or_else(|| Arg::Register(self.registers.take(node.dtype)), |slot| Arg::Place(slot, 0))
    }

    /// The sine and the cosine of a value.
    fn sines(&mut self, node: &Node, x: Value, second: Value) -> Arg {
        self.spread(x);
        let [sine, cosine] = [node, &self.group.nodes[second as usize]].map(|node| self.result(node));
        let (item, dtype) = (Item::SinCos(self.args[x as usize], cosine), node.dtype);
        self.each.push(Instruction { item, dtype, operand: dtype, out: sine });
        self.second = Some(cosine);
        sine
    }

    /// Lets a value that is one number for all positions fill a register, which keeps it for all tiles.
    fn spread(&mut self, v: Value) {
        let Arg::One(slot, at) = self.args[v as usize] else { return };
        let dtype = self.group.nodes[v as usize].dtype;
        let before = &mut self.before;
        let register = self.registers.kept((slot, at), dtype, |register| {
            let out = Arg::Register(register);
            before.push(Instruction { item: Item::One(slot, at), dtype, operand: dtype, out });
        });
        self.args[v as usize] = Arg::Register(register);
    }
}

/// The registers of a group: parts of one block, one tile long.
struct Registers {
    tile: usize,
    bytes: usize,
    free: [Vec<usize>; 2],
    kept: HashMap<(Slot, usize), usize>,
    keeps: HashSet<usize>,
}

impl Registers {
    fn new(tile: usize) -> Registers {
        Registers { tile, bytes: 0, free: [Vec::new(), Vec::new()], kept: HashMap::new(), keeps: HashSet::new() }
    }

    /// Registers of 8 bytes an element, and of at most 4.
    fn class(dtype: DType) -> usize {
        usize::from(dtype.width() < 8)
    }

    fn take(&mut self, dtype: DType) -> usize {
        let class = Registers::class(dtype);
        self.free[class].pop().unwrap_or_else(|| {
            let start = self.bytes;
            self.bytes += (self.tile * [8, 4][class]).next_multiple_of(LINE);
            start
        })
    }

    /// A register that keeps its value for all tiles.
    fn kept(&mut self, one: (Slot, usize), dtype: DType, fill: impl FnOnce(usize)) -> usize {
        if let Some(register) = self.kept.get(&one) {
            return *register;
        }
        // Never one that was used before: the code before the first tile fills it.
        let start = self.bytes;
        self.bytes += (self.tile * dtype.width()).next_multiple_of(LINE);
        self.kept.insert(one, start);
        self.keeps.insert(start);
        fill(start);
        start
    }

    fn give(&mut self, arg: Arg, dtype: DType) {
        match arg {
            Arg::Register(start) | Arg::Seen(Sighting { register: start, .. }) if !self.keeps.contains(&start) => {
                self.free[Registers::class(dtype)].push(start);
            }
            Arg::Register(_) | Arg::Seen(_) | Arg::Place(..) | Arg::One(..) => {}
        }
    }
}
