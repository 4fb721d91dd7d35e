//! Lowering: a program becomes steps over values, with elementwise operations in fusion groups.
//!
//! An elementwise operation joins a group that has the same number of positions and comes after the steps that write
//! the operation's operands; a value is stored only if another step reads it.
//!
//! Law: steps run in the order of their numbers. A buffer may be read from the step `ready` on; a step that updates a
//! buffer in place comes after all steps that read the old value.

mod fourier;
mod interchange;
mod loops;
mod operations;
mod prefix_extrema;
mod products;
mod ranks;
mod views;

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::array::{Array, with_elem};
use crate::backend::ir::access::{AxisOrder, StridedAccess};
use crate::backend::ir::elementwise::ElementwiseOp;
use crate::backend::ir::fusion::{FusedOp, FusionGroup, GroupRead, ValueId};
use crate::backend::ir::limits::Limits;
use crate::backend::ir::step::{Buffer, BufferId, FusedStep, Step, StepOperand, Storage};
use crate::dtype::DType;
use crate::source::Place;

/// The form of a lowered value: where its elements are, or how they are computed.
#[derive(Clone, Debug)]
pub(crate) enum LoweredValue {
    /// Contiguous elements of a buffer, from this one on.
    Dense(BufferId, usize),
    /// One element of a buffer, broadcast.
    One(BufferId, usize),
    /// A buffer read through a view.
    View(BufferId, StridedAccess),
    /// An iota read through a view.
    Positions(StridedAccess),
    /// A value of the group at this step.
    Fused(usize, ValueId),
    /// The results of an operation with several results: a loop, a call, or a function with rules.
    Many(Vec<LoweredValue>),
    /// A linear operation that the sum which uses it accumulates in place.
    Deferred,
    /// A value that is computed in another order of its axes: see `interchange.rs`. Operations that need row-major
    /// order get no permuted operand.
    Permuted(Box<LoweredValue>, Box<AxisOrder>),
}

/// Operands are settled before they are read: each is one value whose elements are in row-major order.
#[cold]
fn not_settled() -> ! {
    unreachable!("an operand is one value")
}

/// The steps of the program, or of the body of a loop.
#[derive(Default)]
struct Frame {
    steps: Vec<FusedStep>,
    /// The steps that are groups, in order, by the number of their positions.
    groups: HashMap<usize, Vec<usize>>,
}

/// The state of lowering: steps and buffers so far.
pub(crate) struct Lowering {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) constants: Vec<Array>,
    frames: Vec<Frame>,
    /// The least number of elements of a value for loop interchange.
    pub(crate) interchange: usize,
    /// See [`Limits`].
    pub(crate) kernels: bool,
    /// The place of the operation that is lowered.
    pub(crate) origin: Place,
}

/// The largest number of operations of a group.
const LARGEST: usize = 2000;

impl Lowering {
    pub(crate) fn new(Limits { interchange, kernels, .. }: Limits) -> Lowering {
        Lowering {
            buffers: Vec::new(),
            constants: Vec::new(),
            frames: vec![Frame::default()],
            interchange,
            kernels,
            origin: Place::UNKNOWN,
        }
    }

    /// The number of loops around the current steps.
    pub(crate) fn depth(&self) -> usize {
        self.frames.len() - 1
    }

    pub(crate) fn enter(&mut self) {
        self.frames.push(Frame::default());
    }

    /// The steps since [`enter`](Self::enter).
    pub(crate) fn leave(&mut self) -> Vec<FusedStep> {
        self.frames.pop().map_or_else(Vec::new, |frame| frame.steps)
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("there is a frame until the last is left")
    }

    pub(crate) fn buffer(&mut self, dtype: DType, size: usize, storage: Storage) -> BufferId {
        let depth = self.depth();
        self.buffers.push(Buffer { dtype, size, storage, depth, ready: 0, read: 0, taken: false });
        (self.buffers.len() - 1) as BufferId
    }

    pub(crate) fn workspace(&mut self, dtype: DType, size: usize) -> BufferId {
        self.buffer(dtype, size, Storage::Workspace(0))
    }

    pub(crate) fn at(&self, buf: BufferId) -> &Buffer {
        &self.buffers[buf as usize]
    }

    /// The first step of the current frame that may read a buffer.
    pub(crate) fn ready(&self, buf: BufferId) -> usize {
        let buffer = self.at(buf);
        if buffer.depth == self.depth() { buffer.ready } else { 0 }
    }

    /// Notes that a step reads a buffer.
    pub(crate) fn reads(&mut self, buf: BufferId, step: usize) {
        let depth = self.depth();
        let buffer = &mut self.buffers[buf as usize];
        if buffer.depth == depth {
            buffer.read = buffer.read.max(step + 1);
        }
    }

    /// Notes that a step writes a buffer.
    pub(crate) fn writes(&mut self, buf: BufferId, step: usize) {
        let depth = self.depth();
        let buffer = &mut self.buffers[buf as usize];
        if buffer.depth == depth {
            buffer.ready = buffer.ready.max(step + 1);
        }
    }

    /// The first step of the current frame that may update a buffer in place.
    pub(crate) fn changeable(&self, buf: BufferId) -> usize {
        self.ready(buf).max(self.at(buf).read)
    }

    /// Adds a step at the end and returns its number.
    pub(crate) fn push(&mut self, step: FusedStep) -> usize {
        let number = self.frame().steps.len();
        step.buffers(&mut |buf, written| if written { self.writes(buf, number) } else { self.reads(buf, number) });
        self.frame().steps.push(step);
        number
    }

    /// The last step so far.
    pub(crate) fn last(&mut self) -> Option<&mut FusedStep> {
        self.frame().steps.last_mut()
    }

    /// A group of `size` positions at a step from `from` on: the first that satisfies `suits`, otherwise the last, or a
    /// new one.
    fn group(&mut self, size: usize, from: usize, suits: impl Fn(usize, &FusionGroup) -> bool) -> usize {
        let frame = self.frame();
        let found = frame.groups.get(&size).and_then(|steps| {
            // Only the last few groups are tried, so that lowering is linear in the length of the program.
            let first = steps.partition_point(|step| *step < from).max(steps.len().saturating_sub(8));
            let groups = steps[first..].iter().filter_map(|step| Some((*step, frame.steps[*step].group()?)));
            let mut open = groups.filter(|(_, group)| group.len() < LARGEST);
            let suiting = open.clone().find(|(step, group)| suits(*step, group));
            suiting.or_else(|| open.next_back()).map(|(step, _)| step)
        });
        found.unwrap_or_else(|| {
            let frame = self.frame();
            frame.steps.push(Step::Pass(FusionGroup::new(size)));
            let step = frame.steps.len() - 1;
            frame.groups.entry(size).or_default().push(step);
            step
        })
    }

    pub(crate) fn group_at(&mut self, step: usize) -> &mut FusionGroup {
        let origin = self.origin.clone();
        match &mut self.frame().steps[step] {
            Step::Pass(group) => {
                group.origin = origin;
                group
            }
            Step::KernelCall(_) | Step::Loop(_) | Step::Matrices(_) | Step::Interpreted(_) | Step::RowBlocks(_) => {
                unreachable!("the step is a group")
            }
        }
    }

    /// The first step at which a group with the value's number of positions may use the value.
    fn usable(&self, known: &LoweredValue) -> usize {
        match known {
            LoweredValue::Dense(buf, _) | LoweredValue::One(buf, _) | LoweredValue::View(buf, _) => self.ready(*buf),
            LoweredValue::Positions(_) => 0,
            LoweredValue::Fused(step, _) => *step,
            LoweredValue::Many(_) | LoweredValue::Deferred | LoweredValue::Permuted(..) => not_settled(),
        }
    }

    /// The read of a value that a group does not compute.
    fn source(&mut self, known: &LoweredValue, size: usize) -> GroupRead {
        match known {
            LoweredValue::Dense(buf, at) => GroupRead::Read(*buf, *at),
            LoweredValue::One(buf, at) if size == 1 => GroupRead::Read(*buf, *at),
            LoweredValue::One(buf, at) => GroupRead::One(*buf, *at),
            LoweredValue::View(buf, access) => GroupRead::View(*buf, access.clone()),
            LoweredValue::Positions(access) => GroupRead::Positions(access.clone()),
            LoweredValue::Fused(step, value) => GroupRead::Read(self.stored(*step, *value), 0),
            LoweredValue::Many(_) | LoweredValue::Deferred | LoweredValue::Permuted(..) => not_settled(),
        }
    }

    /// The buffer to which a value of a group is stored.
    fn stored(&mut self, step: usize, value: ValueId) -> BufferId {
        let (dtype, size) = {
            let group = self.group_at(step);
            (group.dtype(value), group.size)
        };
        let next = self.buffers.len() as BufferId;
        let buf = self.group_at(step).store(value, || next);
        if buf == next {
            self.workspace(dtype, size);
            self.writes(buf, step);
        }
        buf
    }

    /// A value as a value of the group at a step, which reads it if it does not compute it.
    pub(crate) fn within(&mut self, step: usize, known: &LoweredValue, dtype: DType) -> ValueId {
        if let LoweredValue::Fused(home, value) = known
            && *home == step
        {
            return *value;
        }
        let size = self.group_at(step).size;
        let source = self.source(known, size);
        if let GroupRead::Read(buf, _) | GroupRead::One(buf, _) | GroupRead::View(buf, _) = &source {
            self.reads(*buf, step);
        }
        self.group_at(step).source(source, dtype)
    }

    /// The step of a group that an operation on these operands joins: preferably one that computes or reads an operand.
    pub(crate) fn group_for(&mut self, size: usize, operands: &[(&LoweredValue, DType)], from: usize) -> usize {
        let from = operands.iter().map(|(known, _)| self.usable(known)).fold(from, usize::max);
        let here = |step: usize, group: &FusionGroup| {
            operands.iter().any(|(known, _)| match known {
                LoweredValue::Fused(home, _) => *home == step,
                LoweredValue::Dense(buf, at) => group.has(&GroupRead::Read(*buf, *at)),
                LoweredValue::View(buf, access) => group.has(&GroupRead::View(*buf, access.clone())),
                LoweredValue::One(..)
                | LoweredValue::Positions(_)
                | LoweredValue::Many(_)
                | LoweredValue::Deferred
                | LoweredValue::Permuted(..) => false,
            })
        };
        self.group(size, from, here)
    }

    /// Lowers an elementwise operation.
    pub(crate) fn elementwise(
        &mut self,
        size: usize,
        dtype: DType,
        operands: &[(&LoweredValue, DType)],
        item: impl FnOnce(&[ValueId]) -> ElementwiseOp<ValueId>,
    ) -> LoweredValue {
        if let Some((turn, inner)) = self.interchanged(size, operands) {
            let inner: SmallVec<[(&LoweredValue, DType); 4]> =
                inner.iter().zip(operands).map(|(k, of)| (k, of.1)).collect();
            return LoweredValue::Permuted(Box::new(self.elementwise(size, dtype, &inner, item)), Box::new(turn));
        }
        let ones = !operands.is_empty() && operands.iter().all(|(known, _)| matches!(known, LoweredValue::One(..)));
        let positions = if ones { 1 } else { size };
        let step = self.group_for(positions, operands, 0);
        let values: SmallVec<[ValueId; 4]> =
            operands.iter().map(|(known, dtype)| self.within(step, known, *dtype)).collect();
        let value = self.group_at(step).push(FusedOp::Elementwise(item(&values)), dtype);
        if ones && size != 1 {
            LoweredValue::One(self.stored(step, value), 0)
        } else {
            LoweredValue::Fused(step, value)
        }
    }

    /// A value stored contiguously: its buffer, and its first element there. `known` is updated.
    pub(crate) fn dense(&mut self, known: &mut LoweredValue, dtype: DType, size: usize) -> (BufferId, usize) {
        match known {
            LoweredValue::Dense(buf, at) => (*buf, *at),
            LoweredValue::One(buf, at) if size == 1 => (*buf, *at),
            LoweredValue::Fused(step, value) => (self.stored(*step, *value), 0),
            LoweredValue::One(..) | LoweredValue::View(..) | LoweredValue::Positions(_) => {
                let buf = self.copied(known, dtype, size);
                *known = LoweredValue::Dense(buf, 0);
                (buf, 0)
            }
            LoweredValue::Many(_) | LoweredValue::Deferred | LoweredValue::Permuted(..) => not_settled(),
        }
    }

    /// A new buffer with a copy of a value.
    pub(crate) fn copied(&mut self, known: &LoweredValue, dtype: DType, size: usize) -> BufferId {
        let operands = [(known, dtype)];
        let step = self.group_for(size, &operands, 0);
        let value = self.within(step, known, dtype);
        // The value may be stored to another buffer, too, so the copy is a separate write operation.
        let buf = self.workspace(dtype, size);
        self.group_at(step).push(FusedOp::Put(buf, StridedAccess::along(size), value), dtype);
        self.writes(buf, step);
        buf
    }

    /// A value as an operand of a kernel: contiguous, or one broadcast element.
    pub(crate) fn operand(&mut self, known: &mut LoweredValue, dtype: DType, size: usize) -> StepOperand {
        if let LoweredValue::One(buf, at) = known
            && size != 1
        {
            return StepOperand { buf: *buf, at: *at, one: true };
        }
        let (buf, at) = self.dense(known, dtype, size);
        StepOperand { buf, at, one: false }
    }

    /// The buffer of a result of the frame; no other result has it.
    pub(crate) fn result(&mut self, known: &mut LoweredValue, dtype: DType, size: usize) -> BufferId {
        let (buf, at) = self.dense(known, dtype, size);
        let depth = self.depth();
        let buffer = &mut self.buffers[buf as usize];
        let own = at == 0
            && buffer.storage == Storage::Workspace(0)
            && buffer.depth == depth
            && buffer.size == size
            && !buffer.taken;
        let buf = if own { buf } else { self.copied(&LoweredValue::Dense(buf, at), dtype, size) };
        self.buffers[buf as usize].taken = true;
        buf
    }

    /// Adds a constant to the plan; a uniform one as one broadcast element.
    pub(crate) fn constant(&mut self, array: &Array) -> LoweredValue {
        let one = with_elem!(array.dtype(), E => array.splat::<E>().map(Array::scalar));
        let many = array.size() != 1;
        let (array, one) = match one {
            Some(scalar) => (scalar, many),
            None => (array.clone(), false),
        };
        let storage = Storage::Constant(self.constants.len());
        let (dtype, size) = (array.dtype(), array.size());
        self.constants.push(array);
        let buf = self.buffer(dtype, size, storage);
        self.buffers[buf as usize].depth = 0;
        if one { LoweredValue::One(buf, 0) } else { LoweredValue::Dense(buf, 0) }
    }
}

/// An element of an array of floats; `None` for other element types.
pub(crate) fn known_number(array: &Array, at: usize) -> Option<f64> {
    match array.dtype() {
        DType::F64 => array.as_scalar::<f64>().copied().or_else(|| Some(array.values::<f64>()?.get(at))),
        DType::F32 => array.as_scalar::<f32>().copied().or_else(|| Some(array.values::<f32>()?.get(at))).map(f64::from),
        DType::I64 | DType::Bool => None,
    }
}
