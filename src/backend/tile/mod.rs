//! Tile code: the operations of a fusion group as instructions on tiles, with registers assigned.
//!
//! A register holds one tile of a value. A value that other steps read is computed directly into its buffer.
//!
//! Law: an instruction reads only registers and buffers that earlier instructions have written. A register is reused
//! after the last use of its value.

pub(crate) mod group;
pub(crate) mod machine;
pub(crate) mod superinstructions;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::backend::ir::access::{Footprint, StridedAccess};
use crate::backend::ir::fusion::{FusedOp, FusionGroup, GroupNode, ValueId};
use crate::backend::ir::step::{BufferId, LINE};
use crate::backend::plan::halo::FullPass;
use crate::dtype::DType;
use group::{TileGroup, TileNode, TileOp, Twin};
use superinstructions::Superinstructions;

impl FusionGroup {
    /// The code of the group. A group of one position becomes register code instead (see `register`). `number` gives
    /// the values of elements that are known at compile time; `whole` permits halo peeling, if the group runs over all
    /// its positions at once.
    pub(crate) fn code(
        mut self,
        number: &dyn Fn(BufferId, usize) -> Option<f64>,
        whole: Option<FullPass<'_>>,
    ) -> TileCode {
        self.prune();
        let halo = whole.map_or_else(Vec::new, |whole| self.peel_halo(whole));
        let halo = halo.into_iter().map(|side| side.code(number, None)).collect();
        let (group, counts) = TileGroup::new(self, number);
        group.code(counts, halo)
    }
}

impl TileGroup {
    /// The code of the group, given the counts of its superinstructions and the code of its halo.
    fn code(self, counts: Superinstructions, halo: Vec<TileCode>) -> TileCode {
        let row = self.row();
        let tile = if row == 0 { self.periodic(self.tile()) } else { rounded(self.tile(), row) };
        let last = self.last_uses();
        let mut maker = TileCodeBuilder {
            group: &self,
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
            // An operand may occur twice, but its register must be freed once.
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
        let TileCodeBuilder { mut registers, before, each, views, .. } = maker;
        let seen = registers.bytes;
        registers.bytes += (views * size_of::<ResolvedView>()).next_multiple_of(LINE);
        let (size, bytes, cleared) = (self.size, registers.bytes, self.cleared);
        TileCode { size, tile, row, before, each, cleared, seen, bytes, counts, halo }
    }
}

/// The length of a tile within rows, close to a given one: at most a row, or an equal part of a row.
fn rounded(tile: usize, row: usize) -> usize {
    match row {
        0 => tile,
        _ if row <= tile => row,
        _ => row.div_ceil(row.div_ceil(tile)).next_multiple_of(8),
    }
}

/// The location of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TileOperand {
    /// A register, by its first byte.
    Register(usize),
    /// Contiguous elements of a buffer: the element of the first position of the iteration space.
    Buffer(BufferId, usize),
    /// One element of a buffer, broadcast to all positions.
    One(BufferId, usize),
    /// The elements that a view reads, whose address is resolved for each tile.
    View(ViewOperand),
}

/// A view that is an operand: in each tile, its elements are read in place or copied to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewOperand {
    /// The number of the view within the group.
    pub(crate) view: usize,
    /// The first byte of the register.
    pub(crate) register: usize,
    /// Whether all uses accept one broadcast element.
    pub(crate) one: bool,
}

impl ViewOperand {
    /// Whether the elements of a tile with this footprint are copied to the register.
    pub(crate) fn is_copied(self, footprint: Footprint) -> bool {
        match footprint {
            Footprint::Contiguous(_) => false,
            Footprint::Single(_) => !self.one,
            Footprint::Strided => true,
        }
    }
}

/// The resolved address of a view in the current tile: its first element, and whether that element is broadcast.
#[derive(Clone, Copy)]
pub(crate) struct ResolvedView {
    pub(crate) at: *const u8,
    pub(crate) one: bool,
}

/// One operation on a tile.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) item: TileOp<TileOperand>,
    /// The element type of the result.
    pub(crate) dtype: DType,
    /// The element type of the last operand.
    pub(crate) operand: DType,
    pub(crate) out: TileOperand,
}

/// The compiled code of a group.
#[derive(Debug)]
pub(crate) struct TileCode {
    pub(crate) size: usize,
    pub(crate) tile: usize,
    /// The length of rows that no tile crosses, or 0.
    pub(crate) row: usize,
    /// Instructions that fill registers before the first tile.
    pub(crate) before: Vec<Instruction>,
    /// Instructions that run for each tile.
    pub(crate) each: Vec<Instruction>,
    pub(crate) cleared: Vec<(BufferId, usize)>,
    /// The byte of the registers at which the resolved addresses of views start.
    pub(crate) seen: usize,
    /// The bytes of all registers.
    pub(crate) bytes: usize,
    pub(crate) counts: Superinstructions,
    /// The code that recomputes positions at the sides of rows: see `plan/halo.rs`.
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

/// The code of a group under construction.
struct TileCodeBuilder<'a> {
    group: &'a TileGroup,
    /// For each value, whether all its uses accept one broadcast element.
    ones: Vec<bool>,
    registers: Registers,
    /// The location of each value.
    args: Vec<TileOperand>,
    before: Vec<Instruction>,
    each: Vec<Instruction>,
    /// The location of the second result of the last operation.
    second: Option<TileOperand>,
    /// The number of views that are operands.
    views: usize,
    /// Whether there are several tiles, of one length except for the last.
    repeats: bool,
}

impl TileCodeBuilder<'_> {
    /// Appends the code of a value, and returns its location.
    fn node(&mut self, node: &GroupNode<TileNode>) -> TileOperand {
        let GroupNode { item, dtype, stored } = node;
        let (dtype, stored) = (*dtype, *stored);
        let op = match item {
            TileNode::Op(op) => op,
            TileNode::Second(_) => return self.second.take().expect("the operation before has two results"),
        };
        let arg = match op {
            TileOp::Lowered(FusedOp::Read(buf, at)) => TileOperand::Buffer(*buf, *at),
            TileOp::Lowered(FusedOp::One(buf, at)) => TileOperand::One(*buf, *at),
            TileOp::Lowered(FusedOp::View(buf, access)) if stored.is_none() => return self.view(*buf, access, dtype),
            TileOp::Twin(twin, args, second) => return self.twin((dtype, stored), *twin, args, *second),
            TileOp::Lowered(_) | TileOp::Form(..) | TileOp::Weighted(..) | TileOp::AddProducts(..) => {
                return self.computed(op, dtype, stored);
            }
        };
        if let Some(buf) = stored {
            let item = op.clone().map(|_| arg);
            self.each.push(Instruction { item, dtype, operand: dtype, out: TileOperand::Buffer(buf, 0) });
        }
        arg
    }

    fn computed(&mut self, op: &TileOp<ValueId>, dtype: DType, stored: Option<BufferId>) -> TileOperand {
        let operands = op.operands();
        // Only some kernels accept broadcast operands, and none accepts that all operands are broadcast.
        let ones = operands.iter().filter(|v| matches!(self.args[**v as usize], TileOperand::One(..))).count();
        let takes = op.takes_one_number_from().filter(|_| ones < operands.len());
        for (i, v) in operands.iter().enumerate() {
            if takes.is_none_or(|from| i < from) {
                self.spread(*v);
            }
        }
        let item = op.clone().map(|v| self.args[v as usize]);
        let out = if op.writes().is_some() { TileOperand::Register(0) } else { self.result(dtype, stored) };
        let operand = operands.last().map_or(dtype, |v| self.group.nodes[*v as usize].dtype);
        self.each.push(Instruction { item, dtype, operand, out });
        out
    }

    /// A view that is only an operand.
    fn view(&mut self, buf: BufferId, access: &StridedAccess, dtype: DType) -> TileOperand {
        let item = TileOp::Lowered(FusedOp::View(buf, access.clone()));
        if self.repeats && access.period().is_some_and(|period| self.registers.tile.is_multiple_of(period)) {
            // The view reads the same elements in each tile.
            let out = TileOperand::Register(self.registers.keep(dtype));
            self.before.push(Instruction { item, dtype, operand: dtype, out });
            return out;
        }
        // There is one location for each earlier value, so the number of locations is the number of this value.
        let one = self.ones[self.args.len()];
        let out = TileOperand::View(ViewOperand { view: self.views, register: self.registers.take(dtype), one });
        self.views += 1;
        self.each.push(Instruction { item, dtype, operand: dtype, out });
        out
    }

    /// The location of the result of an operation: its buffer, or a register.
    fn result(&mut self, dtype: DType, stored: Option<BufferId>) -> TileOperand {
        stored.map_or_else(|| TileOperand::Register(self.registers.take(dtype)), |buf| TileOperand::Buffer(buf, 0))
    }

    /// The two results of an operation, given the element type and the buffer of the first, if it is stored.
    fn twin(&mut self, first: (DType, Option<BufferId>), twin: Twin, args: &[ValueId], second: ValueId) -> TileOperand {
        args.iter().for_each(|x| self.spread(*x));
        let (dtype, stored) = first;
        let out = self.result(dtype, stored);
        let other = self.result(dtype, self.group.nodes[second as usize].stored);
        let item = TileOp::Twin(twin, args.iter().map(|x| self.args[*x as usize]).collect(), other);
        self.each.push(Instruction { item, dtype, operand: dtype, out });
        self.second = Some(other);
        out
    }

    /// Expands a broadcast element to a register, which is filled once and holds the value for all tiles.
    fn spread(&mut self, v: ValueId) {
        let TileOperand::One(buf, at) = self.args[v as usize] else { return };
        let dtype = self.group.nodes[v as usize].dtype;
        let before = &mut self.before;
        let register = self.registers.kept((buf, at), dtype, |register| {
            let out = TileOperand::Register(register);
            let item = TileOp::Lowered(FusedOp::One(buf, at));
            before.push(Instruction { item, dtype, operand: dtype, out });
        });
        self.args[v as usize] = TileOperand::Register(register);
    }
}

/// The registers of a group: ranges of one block, each one tile long.
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

    /// The class of a register: 0 for elements of 8 bytes, 1 for elements of at most 4.
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

    /// The register that holds a broadcast element for all tiles; `fill` appends its initialization.
    fn kept(&mut self, one: (BufferId, usize), dtype: DType, fill: impl FnOnce(usize)) -> usize {
        if let Some(register) = self.kept.get(&one) {
            return *register;
        }
        let start = self.keep(dtype);
        self.kept.insert(one, start);
        fill(start);
        start
    }

    /// A register that no other value ever has: the code before the first tile fills it.
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
