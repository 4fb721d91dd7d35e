//! Groups become code for tiles: registers are assigned, and a value that is needed elsewhere is written to its place
//! at once.
//!
//! Law: an instruction reads what instructions before it have filled. A register is free again after the last use of
//! its value.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::fuse::{Superinstructions, fuse};
use super::group::{Group, Item, Node, Value};
use super::memory::{LINE, Slot};
use super::sides::Whole;
use super::walk::Sight;
use crate::dtype::DType;

impl Group {
    /// The code of the group, which has not one position: that is the business of `scalars`. `number` says which
    /// elements of places are known numbers, `whole` is there if the group runs over all its positions at once.
    pub(super) fn code(&mut self, number: &dyn Fn(Slot, usize) -> Option<f64>, whole: Option<Whole<'_>>) -> Code {
        self.prune();
        let mut sides = whole.map_or_else(Vec::new, |whole| self.split_sides(whole));
        let sides = sides.iter_mut().map(|group| group.code(number, None)).collect();
        let (nodes, counts) = fuse(std::mem::take(&mut self.nodes), number);
        self.nodes = nodes;
        let row = self.row();
        let tile = if row == 0 { self.periodic(self.tile()) } else { rounded(self.tile(), row) };
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
            repeats: row == 0 && self.size >= 2 * tile,
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
        Code { size: self.size, tile, row, before, each, cleared, seen, bytes, counts, sides }
    }

    /// The length of rows that no tile crosses, 0 if there is no reason for it: that of most of the views that are seen
    /// straight within rows.
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

    /// The length of tiles, next to a given one, in all of which most of the views that repeat see the same.
    fn periodic(&self, tile: usize) -> usize {
        if self.size < 2 * tile {
            return tile;
        }
        let mut periods: HashMap<usize, usize> = HashMap::new();
        for node in &self.nodes {
            if let (Item::View(_, walk), None) = (&node.item, node.stored)
                && let Some(period) = walk.period().filter(|period| 2 * period <= tile)
            {
                *periods.entry(period).or_default() += 1;
            }
        }
        let most = periods.into_iter().map(|(period, count)| (count, period)).max();
        most.map_or(tile, |(_, period)| tile - tile % period)
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

    /// The number of positions of a tile, by what values that live at once take of the first level of cache, beside the
    /// parts of places that are read and written.
    fn tile(&self) -> usize {
        let last = self.last_uses();
        let (mut live, mut most, mut through) = (0, 0, 0);
        let mut ends = vec![0; self.nodes.len()];
        let mut read: HashSet<Slot> = HashSet::new();
        for (k, Node { item, dtype, stored }) in self.nodes.iter().enumerate() {
            let apart = matches!(item, Item::View(_, walk) if !walk.is_mostly_straight());
            let looked = matches!(item, Item::Read(..) | Item::One(..) | Item::View(..));
            let copied = apart || !looked && item.writes().is_none();
            if let Item::Read(slot, _) | Item::View(slot, _) = item
                && (read.insert(*slot) || apart)
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
        let tile = if LONGEST * (most + through) <= CACHE { LONGEST } else { LONGEST / 2 };
        tile.min(self.size.max(1))
    }
}

/// The length of tiles whose values stay in the first level of cache. Tiles of other groups are half as long, whatever
/// their values take: to start the operations of shorter tiles takes longer than to fetch values from the second level.
const LONGEST: usize = 1024;

/// The bytes of the first level of cache.
const CACHE: usize = 32 << 10;

/// The least length of a row that has tiles of its own.
pub(super) const LONG: usize = 192;

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
    /// What computes positions at the sides of rows again.
    pub(super) sides: Vec<Code>,
}

impl Code {
    /// The tiles of a range of positions: the first position and the number of positions of each.
    pub(super) fn tiles(&self, positions: Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (tile, row) = (self.tile, self.row);
        let mut start = positions.start;
        std::iter::from_fn(move || {
            let row_end = start.checked_div(row).map_or(positions.end, |k| (k + 1) * row);
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
    /// Whether all tiles but the last are equally long, and there are several.
    repeats: bool,
}

impl Maker<'_> {
    /// Adds the code of a value, and says where it is.
    fn node(&mut self, node: &Node) -> Arg {
        let arg = match &node.item {
            Item::Read(slot, at) => Arg::Place(*slot, *at),
            Item::One(slot, at) => Arg::One(*slot, *at),
            Item::View(..) if node.stored.is_none() => return self.view(node),
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
        if let Item::View(_, walk) = &node.item
            && self.repeats
            && walk.period().is_some_and(|period| self.registers.tile.is_multiple_of(period))
        {
            // Each tile sees the same.
            let (item, dtype) = (node.item.map(|_| Arg::Register(0)), node.dtype);
            let out = Arg::Register(self.registers.keep(dtype));
            self.before.push(Instruction { item, dtype, operand: dtype, out });
            return out;
        }
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
        let start = self.keep(dtype);
        self.kept.insert(one, start);
        fill(start);
        start
    }

    /// A register that was not used before and is not used again: the code before the first tile fills it.
    fn keep(&mut self, dtype: DType) -> usize {
        let start = self.bytes;
        self.bytes += (self.tile * dtype.width()).next_multiple_of(LINE);
        self.keeps.insert(start);
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
