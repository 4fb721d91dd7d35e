//! Static single assignment: the scalars that groups read, compute and write, each as one value.
//!
//! Law: an element of a buffer is a name of a value. A read of the element gives the value written to it last, or else
//! the value that the buffer holds before the first operation.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::{InitialValue, Numbers};
use crate::backend::ir::access::StridedAccess;
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, FusionGroup, GatherOp, ValueId};
use crate::backend::ir::step::{Buffer, BufferId, LoopStep, RowOperand, Step, StepOperand};
use crate::dtype::DType;

/// The origin of a value.
#[derive(Clone, Debug)]
pub(crate) enum ValueOrigin {
    /// Held by a register before the first trip.
    Initial(InitialValue),
    /// An element of a carry.
    Carry,
    /// An element of a row, which advances with the trips.
    Row(Element),
    /// The result of an operation; with the element type of the last operand.
    Computed(ComputedOp, DType),
}

/// An operation that computes a value. Reads at known positions and writes are not operations: they name values.
#[derive(Clone, Debug)]
pub(crate) enum ComputedOp {
    Elementwise(ElementwiseOp<ValueId>),
    /// The element of a buffer at indices.
    Gather(GatherOp<ValueId>),
}

impl ComputedOp {
    /// The values that the operation uses.
    pub(crate) fn operands(&self) -> SmallVec<[ValueId; 4]> {
        match self {
            ComputedOp::Elementwise(op) => op.operands(),
            ComputedOp::Gather(gather) => gather.indices.clone(),
        }
    }

    /// The same operation of a group, on other values.
    pub(crate) fn fused<W>(&self, f: impl Fn(ValueId) -> W) -> FusedOp<W> {
        match self {
            ComputedOp::Elementwise(op) => FusedOp::Elementwise(op.map(f)),
            ComputedOp::Gather(gather) => FusedOp::Gather(gather.clone().map(f)),
        }
    }
}

/// An element of a buffer that advances with the trips: the element at index 0, and the distance to the next index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    pub(crate) buf: BufferId,
    pub(crate) first: usize,
    pub(crate) step: usize,
}

/// An element of a carry.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) value: ValueId,
    pub(crate) init: InitialValue,
    pub(crate) next: ValueId,
    /// The buffer of the result, and its element.
    pub(crate) result: (BufferId, usize),
}

/// The values of a group or of the body of a loop, in the order in which they are computed.
#[derive(Debug, Default)]
pub(crate) struct SsaValues {
    pub(crate) list: Vec<(ValueOrigin, DType)>,
    pub(crate) n: usize,
    pub(crate) reverse: bool,
    /// Whether the loop exits once its first carry, a mask, is false.
    pub(crate) ends: bool,
    pub(crate) cleared: Vec<(BufferId, usize)>,
    pub(crate) carries: Vec<Carried>,
    /// Elements of rows that are written at each trip.
    pub(crate) outputs: Vec<(ValueId, Element)>,
    /// Elements that are written after the last operation.
    pub(crate) stores: Vec<(ValueId, BufferId, usize)>,
    /// The current values of elements of buffers, and the written elements in the order of the writes.
    now: HashMap<(BufferId, usize), ValueId>,
    written: Vec<(BufferId, usize)>,
    /// Buffers whose elements are zeros unless written.
    zeros: HashSet<BufferId>,
    rows: HashMap<BufferId, Element>,
}

/// The largest number of elements of a carry or of a row.
const MOST: usize = 64;

/// The largest number of positions of a group of copies that is unrolled to scalars.
const SMALL: usize = 16;

impl SsaValues {
    /// The values of a group of one position.
    pub(crate) fn of_group(group: &FusionGroup, buffers: &[Buffer]) -> SsaValues {
        let mut values = SsaValues { n: 1, ..SsaValues::default() };
        values.group(group, buffers);
        // A cleared buffer is filled with zeros first; elements that the group writes are stored after its operations.
        values.cleared.extend(group.cleared());
        // An element that was written more than once is stored once.
        let mut seen = HashSet::new();
        for (buf, at) in std::mem::take(&mut values.written) {
            if seen.insert((buf, at)) {
                values.stores.push((values.now[&(buf, at)], buf, at));
            }
        }
        values
    }

    /// The values of the body of a loop; `None` if the body is not of scalars and small copies.
    pub(crate) fn of_loop(l: &LoopStep<FusionGroup>, buffers: &[Buffer]) -> Option<SsaValues> {
        let mut values = SsaValues { n: l.n, reverse: l.reverse, ends: l.ends, ..SsaValues::default() };
        let width = |buf: BufferId| buffers[buf as usize].dtype.width();
        let element = |row: &RowOperand| Element {
            buf: row.of,
            first: row.start / width(row.of),
            step: row.bytes / width(row.of),
        };
        values.rows.extend(l.xs.iter().map(|row| (row.row, element(row))));
        let mut init = Vec::new();
        for carry in &l.carries {
            let count = carry.bytes / carry.dtype.width();
            if count > MOST {
                return None;
            }
            for e in 0..count {
                let StepOperand { buf, at, one } = carry.init;
                let value = values.push(ValueOrigin::Carry, carry.dtype);
                values.now.insert((carry.input, e), value);
                init.push((value, InitialValue::Buffer(buf, if one { at } else { at + e }), carry, e));
            }
        }
        let inside: HashSet<BufferId> = inside(l);
        for step in &l.body {
            let Step::Pass(group) = step else { return None };
            // A gather reads its buffer from memory, at indices known at run time: the buffer must not be in registers.
            let moves = group.size <= SMALL && group.only_moves();
            if !(group.size == 1 || moves) || group.gathered().any(|buf| inside.contains(&buf)) {
                return None;
            }
            values.group(group, buffers);
        }
        for (value, start, carry, e) in init {
            let next = values.read(carry.output, e, carry.dtype);
            values.carries.push(Carried { value, init: start, next, result: (carry.result, e) });
        }
        for row in &l.outputs {
            let buffer = &buffers[row.row as usize];
            if buffer.size > MOST {
                return None;
            }
            for e in 0..buffer.size {
                let value = values.read(row.row, e, buffer.dtype);
                let Element { buf, first, step } = element(row);
                values.outputs.push((value, Element { buf, first: first + e, step }));
            }
        }
        Some(values)
    }

    /// The values with those elements of `f64` as numbers that are known at compile time.
    pub(crate) fn with_numbers(mut self, number: Numbers<'_>) -> SsaValues {
        let known = |start: &InitialValue| match start {
            InitialValue::Buffer(buf, at) => number(*buf, *at).map(|x| InitialValue::Number(x.to_bits() as i64)),
            InitialValue::Number(_) => None,
        };
        for (origin, _) in self.list.iter_mut().filter(|(_, dtype)| *dtype == DType::F64) {
            if let ValueOrigin::Initial(start) = origin
                && let Some(number) = known(start)
            {
                *start = number;
            }
        }
        self
    }

    fn push(&mut self, origin: ValueOrigin, dtype: DType) -> ValueId {
        self.list.push((origin, dtype));
        (self.list.len() - 1) as ValueId
    }

    fn item(&mut self, item: ComputedOp, dtype: DType) -> ValueId {
        let operand = item.operands().last().map_or(dtype, |v| self.list[*v as usize].1);
        self.push(ValueOrigin::Computed(item, operand), dtype)
    }

    /// The value of an element of a buffer.
    fn read(&mut self, buf: BufferId, at: usize, dtype: DType) -> ValueId {
        if let Some(value) = self.now.get(&(buf, at)) {
            return *value;
        }
        let origin = match self.rows.get(&buf) {
            _ if self.zeros.contains(&buf) => ValueOrigin::Initial(InitialValue::Number(0)),
            Some(row) => ValueOrigin::Row(Element { first: row.first + at, ..*row }),
            None => ValueOrigin::Initial(InitialValue::Buffer(buf, at)),
        };
        let value = self.push(origin, dtype);
        self.now.insert((buf, at), value);
        value
    }

    fn write(&mut self, buf: BufferId, at: usize, value: ValueId) {
        self.now.insert((buf, at), value);
        self.written.push((buf, at));
    }

    /// Appends the values of a group.
    fn group(&mut self, group: &FusionGroup, buffers: &[Buffer]) {
        for (buf, _) in group.cleared() {
            self.zeros.insert(buf);
        }
        // Position by position, in the order of the operations, as on tiles of one position.
        for position in 0..group.size {
            let mut own: Vec<ValueId> = Vec::with_capacity(group.len());
            for (item, dtype, stored) in group.items() {
                let value = self.of_item(item, dtype, (&own, position), buffers);
                if let Some(buf) = stored {
                    self.write(buf, position, value);
                }
                own.push(value);
            }
        }
    }

    /// The value of an operation of a group at a position; `own` are the values of the group's earlier operations
    /// there.
    fn of_item(
        &mut self,
        item: &FusedOp<ValueId>,
        dtype: DType,
        (own, position): (&[ValueId], usize),
        buffers: &[Buffer],
    ) -> ValueId {
        let seen = |access: &StridedAccess| {
            let mut place = None;
            access.runs(position, 1, |run| place = run.place);
            place
        };
        let number =
            |self_: &mut SsaValues, x: usize| self_.push(ValueOrigin::Initial(InitialValue::Number(x as i64)), dtype);
        match item {
            FusedOp::Read(buf, at) => self.read(*buf, *at + position, dtype),
            FusedOp::One(buf, at) => self.read(*buf, *at, dtype),
            FusedOp::View(buf, access) => match seen(access) {
                Some(at) => self.read(*buf, at, dtype),
                None => number(self, 0),
            },
            FusedOp::Positions(access) => number(self, seen(access).unwrap_or(0)),
            FusedOp::Put(buf, access, a) => {
                let value = own[*a as usize];
                if let Some(at) = seen(access) {
                    self.write(*buf, at, value);
                }
                value
            }
            FusedOp::Add(buf, access, a) => {
                let Some(at) = seen(access) else { return own[*a as usize] };
                let dtype = buffers[*buf as usize].dtype;
                let (x, y) = (self.read(*buf, at, dtype), own[*a as usize]);
                let sum = self.item(ComputedOp::Elementwise(ElementwiseOp::sum(dtype, x, y)), dtype);
                self.write(*buf, at, sum);
                sum
            }
            FusedOp::Gather(gather) => self.item(ComputedOp::Gather(gather.clone().map(|v| own[v as usize])), dtype),
            FusedOp::Elementwise(op) => self.item(ComputedOp::Elementwise(op.map(|v| own[v as usize])), dtype),
        }
    }
}

/// The buffers that are registers while a loop runs: those that its steps write, carries and rows.
fn inside(l: &LoopStep<FusionGroup>) -> HashSet<BufferId> {
    let mut found: HashSet<BufferId> = l.carries.iter().flat_map(|carry| [carry.input, carry.output]).collect();
    found.extend(l.xs.iter().chain(&l.outputs).map(|row| row.row));
    for step in &l.body {
        step.buffers(&mut |buf, written| {
            if written {
                found.insert(buf);
            }
        });
    }
    found
}
