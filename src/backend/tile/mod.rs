//! Tile code: the operations of a fusion group on tiles, with registers assigned. A value that is needed elsewhere is
//! written to its buffer at once.
//!
//! Law: an instruction reads what instructions before it have filled. A register is free again after the last use of
//! its value.

pub(crate) mod machine;
pub(crate) mod superinstructions;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::backend::ir::access::Footprint;
use crate::backend::ir::fusion::{FusedNode, FusedOp, FusionGroup, ValueId};
use crate::backend::ir::step::{BufferId, LINE};
use crate::backend::plan::halo::FullPass;
use crate::cost::MACHINE;
use crate::dtype::DType;
use superinstructions::{Superinstructions, fuse};

impl FusionGroup {
    /// The code of the group, which has not one position: that is the business of `register`. `number` says which
    /// elements of buffers are known numbers, `whole` is there if the group runs over all its positions at once.
    pub(crate) fn code(
        &mut self,
        number: &dyn Fn(BufferId, usize) -> Option<f64>,
        whole: Option<FullPass<'_>>,
    ) -> TileCode {
        self.prune();
        let mut halo = whole.map_or_else(Vec::new, |whole| self.peel_halo(whole));
        let halo = halo.iter_mut().map(|group| group.code(number, None)).collect();
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
            views: 0,
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
        let Maker { mut registers, before, each, views, .. } = maker;
        let seen = registers.bytes;
        registers.bytes += (views * size_of::<ResolvedView>()).next_multiple_of(LINE);
        let (cleared, bytes) = (self.cleared.clone(), registers.bytes);
        TileCode { size: self.size, tile, row, before, each, cleared, seen, bytes, counts, halo }
    }

    /// The length of rows that no tile crosses, 0 if there is no reason for it: that of most of the views that are seen
    /// straight within rows.
    fn row(&self) -> usize {
        let mut rows: HashMap<usize, usize> = HashMap::new();
        for node in &self.nodes {
            if let (FusedOp::View(_, access), None) = (&node.item, node.stored)
                && let Some(row) = access.row().filter(|row| *row >= MACHINE.tile_row)
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
            if let (FusedOp::View(_, access), None) = (&node.item, node.stored)
                && let Some(period) = access.period().filter(|period| 2 * period <= tile)
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
    /// parts of buffers that are read and written.
    fn tile(&self) -> usize {
        let last = self.last_uses();
        let (mut live, mut most, mut through) = (0, 0, 0);
        let mut ends = vec![0; self.nodes.len()];
        let mut read: HashSet<BufferId> = HashSet::new();
        for (k, FusedNode { item, dtype, stored }) in self.nodes.iter().enumerate() {
            let apart = matches!(item, FusedOp::View(_, access) if !access.is_mostly_straight());
            let looked = matches!(item, FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..));
            let copied = apart || !looked && item.writes().is_none();
            if let FusedOp::Read(buf, _) | FusedOp::View(buf, _) = item
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

/// The length of tiles that divide rows, next to a given one.
fn rounded(tile: usize, row: usize) -> usize {
    match row {
        0 => tile,
        _ if row <= tile => row,
        _ => row.div_ceil(row.div_ceil(tile)).next_multiple_of(8),
    }
}

impl<V> FusedOp<V> {
    /// The first of the operands in whose place a kernel takes one number, if there is one.
    fn takes_one_number_from(&self) -> Option<usize> {
        match self {
            FusedOp::Binary(..)
            | FusedOp::Compare(..)
            | FusedOp::IntBinary(..)
            | FusedOp::And(..)
            | FusedOp::Or(..) => Some(0),
            FusedOp::Select(_) => Some(1),
            FusedOp::Form(form, _) => Some(form.slices()),
            FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Positions(_) | FusedOp::Unary(..) => {
                None
            }
            FusedOp::IntUnary(..)
            | FusedOp::Not(_)
            | FusedOp::FloatStep(..)
            | FusedOp::Convert(..)
            | FusedOp::Gather(..) => None,
            FusedOp::Weighted(..) | FusedOp::SinCos(..) | FusedOp::Second(_) | FusedOp::Put(..) | FusedOp::Add(..) => {
                None
            }
        }
    }
}

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileOperand {
    /// The byte at which a register starts.
    Register(usize),
    /// The element of a buffer that belongs to the first position.
    Buffer(BufferId, usize),
    /// One element for all positions.
    One(BufferId, usize),
    /// What a view sees, found anew for each tile.
    View(ViewOperand),
}

/// A view that is an operand: read where it lies, or copied to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewOperand {
    /// The number of the view within the group.
    pub(crate) view: usize,
    /// The byte at which the register starts.
    pub(crate) register: usize,
    /// Whether all uses take one number for all positions.
    pub(crate) one: bool,
}

impl ViewOperand {
    /// Whether what the view sees in a tile is copied to the register.
    pub(crate) fn is_copied(self, footprint: Footprint) -> bool {
        match footprint {
            Footprint::Contiguous(_) => false,
            Footprint::Single(_) => !self.one,
            Footprint::Strided => true,
        }
    }
}

/// Where a view is seen in the current tile: the first element, and whether it stands for all positions.
#[derive(Clone, Copy)]
pub(crate) struct ResolvedView {
    pub(crate) at: *const u8,
    pub(crate) one: bool,
}

/// One operation on a tile.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) item: FusedOp<TileOperand>,
    /// The element type of the result.
    pub(crate) dtype: DType,
    /// The element type of the last operand.
    pub(crate) operand: DType,
    pub(crate) out: TileOperand,
}

/// A group ready to run.
#[derive(Debug)]
pub(crate) struct TileCode {
    pub(crate) size: usize,
    pub(crate) tile: usize,
    /// The length of rows that no tile crosses, or 0.
    pub(crate) row: usize,
    /// What fills registers once.
    pub(crate) before: Vec<Instruction>,
    /// What runs for each tile.
    pub(crate) each: Vec<Instruction>,
    pub(crate) cleared: Vec<(BufferId, usize)>,
    /// The byte of the registers at which what views see starts.
    pub(crate) seen: usize,
    /// The bytes of all registers.
    pub(crate) bytes: usize,
    pub(crate) counts: Superinstructions,
    /// What computes positions at the sides of rows again.
    pub(crate) halo: Vec<TileCode>,
}

impl TileCode {
    /// The tiles of a range of positions: the first position and the number of positions of each.
    pub(crate) fn tiles(&self, positions: Range<usize>) -> impl Iterator<Item = (usize, usize)> + use<> {
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
    group: &'a FusionGroup,
    /// Whether all uses of a value take one number.
    ones: Vec<bool>,
    registers: Registers,
    /// Where each value is.
    args: Vec<TileOperand>,
    before: Vec<Instruction>,
    each: Vec<Instruction>,
    /// Where the second result of the last operation is.
    second: Option<TileOperand>,
    /// The number of views that are operands.
    views: usize,
    /// Whether all tiles but the last are equally long, and there are several.
    repeats: bool,
}

impl Maker<'_> {
    /// Adds the code of a value, and says where it is.
    fn node(&mut self, node: &FusedNode) -> TileOperand {
        let arg = match &node.item {
            FusedOp::Read(buf, at) => TileOperand::Buffer(*buf, *at),
            FusedOp::One(buf, at) => TileOperand::One(*buf, *at),
            FusedOp::View(..) if node.stored.is_none() => return self.view(node),
            FusedOp::View(..)
            | FusedOp::Positions(_)
            | FusedOp::Unary(..)
            | FusedOp::Binary(..)
            | FusedOp::Compare(..) => {
                return self.computed(node);
            }
            FusedOp::IntUnary(..)
            | FusedOp::IntBinary(..)
            | FusedOp::And(..)
            | FusedOp::Or(..)
            | FusedOp::Not(_)
            | FusedOp::FloatStep(..) => {
                return self.computed(node);
            }
            FusedOp::Convert(..) | FusedOp::Select(_) | FusedOp::Gather(..) | FusedOp::Put(..) | FusedOp::Add(..) => {
                return self.computed(node);
            }
            FusedOp::Form(..) | FusedOp::Weighted(..) => return self.computed(node),
            FusedOp::SinCos(x, second) => return self.sines(node, *x, *second),
            FusedOp::Second(_) => return self.second.take().expect("the operation before has two results"),
        };
        if let Some(buf) = node.stored {
            let (item, dtype) = (node.item.map(|_| arg), node.dtype);
            self.each.push(Instruction { item, dtype, operand: dtype, out: TileOperand::Buffer(buf, 0) });
        }
        arg
    }

    fn computed(&mut self, node: &FusedNode) -> TileOperand {
        let operands = node.item.operands();
        // Only kernels of two operands, and selection, take one number for all positions, and not for all operands.
        let ones = operands.iter().filter(|v| matches!(self.args[**v as usize], TileOperand::One(..))).count();
        let takes = node.item.takes_one_number_from().filter(|_| ones < operands.len());
        for (i, v) in operands.iter().enumerate() {
            if takes.is_none_or(|from| i < from) {
                self.spread(*v);
            }
        }
        let item = node.item.map(|v| self.args[v as usize]);
        let out = if node.item.writes().is_some() { TileOperand::Register(0) } else { self.result(node) };
        let operand = operands.last().map_or(node.dtype, |v| self.group.nodes[*v as usize].dtype);
        self.each.push(Instruction { item, dtype: node.dtype, operand, out });
        out
    }

    /// A view that is only an operand.
    fn view(&mut self, node: &FusedNode) -> TileOperand {
        if let FusedOp::View(_, access) = &node.item
            && self.repeats
            && access.period().is_some_and(|period| self.registers.tile.is_multiple_of(period))
        {
            // Each tile sees the same.
            let (item, dtype) = (node.item.map(|_| TileOperand::Register(0)), node.dtype);
            let out = TileOperand::Register(self.registers.keep(dtype));
            self.before.push(Instruction { item, dtype, operand: dtype, out });
            return out;
        }
        // The values have one argument each, in their order.
        let one = self.ones[self.args.len()];
        let out = TileOperand::View(ViewOperand { view: self.views, register: self.registers.take(node.dtype), one });
        self.views += 1;
        let (item, dtype) = (node.item.map(|_| out), node.dtype);
        self.each.push(Instruction { item, dtype, operand: dtype, out });
        out
    }

    /// Where the result of an operation goes: to its buffer, or to a register.
    fn result(&mut self, node: &FusedNode) -> TileOperand {
        node.stored
            .map_or_else(|| TileOperand::Register(self.registers.take(node.dtype)), |buf| TileOperand::Buffer(buf, 0))
    }

    /// The sine and the cosine of a value.
    fn sines(&mut self, node: &FusedNode, x: ValueId, second: ValueId) -> TileOperand {
        self.spread(x);
        let [sine, cosine] = [node, &self.group.nodes[second as usize]].map(|node| self.result(node));
        let (item, dtype) = (FusedOp::SinCos(self.args[x as usize], cosine), node.dtype);
        self.each.push(Instruction { item, dtype, operand: dtype, out: sine });
        self.second = Some(cosine);
        sine
    }

    /// Lets a value that is one number for all positions fill a register, which keeps it for all tiles.
    fn spread(&mut self, v: ValueId) {
        let TileOperand::One(buf, at) = self.args[v as usize] else { return };
        let dtype = self.group.nodes[v as usize].dtype;
        let before = &mut self.before;
        let register = self.registers.kept((buf, at), dtype, |register| {
            let out = TileOperand::Register(register);
            before.push(Instruction { item: FusedOp::One(buf, at), dtype, operand: dtype, out });
        });
        self.args[v as usize] = TileOperand::Register(register);
    }
}

/// The registers of a group: parts of one block, one tile long.
struct Registers {
    tile: usize,
    bytes: usize,
    free: [Vec<usize>; 2],
    kept: HashMap<(BufferId, usize), usize>,
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
    fn kept(&mut self, one: (BufferId, usize), dtype: DType, fill: impl FnOnce(usize)) -> usize {
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

    fn give(&mut self, arg: TileOperand, dtype: DType) {
        match arg {
            TileOperand::Register(start) | TileOperand::View(ViewOperand { register: start, .. })
                if !self.keeps.contains(&start) =>
            {
                self.free[Registers::class(dtype)].push(start);
            }
            TileOperand::Register(_) | TileOperand::View(_) | TileOperand::Buffer(..) | TileOperand::One(..) => {}
        }
    }
}
