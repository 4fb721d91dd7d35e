//! Steps and buffers: the operations that a run executes in order, and the memory that they read and write.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::fusion::FusionGroup;
use crate::dtype::DType;
use crate::kernels::contract::PlannedContraction;
use crate::kernels::fourier::Transform;
use crate::kernels::loop_nest::Nest;
use crate::kernels::scan::Line;
use crate::kernels::sorting::Lines;
use crate::ops::{Matrix, Reduce};
use crate::program::Program;
use crate::shape::Shape;
use crate::source::Place;

/// The number of a buffer.
pub(crate) type BufferId = u32;

/// The alignment of every buffer: a cache line, and the widest vector register.
pub(crate) const LINE: usize = 64;

/// The owner of the memory of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Input,
    Constant(usize),
    /// The array of a result, which belongs to the caller.
    Output,
    /// The workspace block, from this byte on.
    Workspace(usize),
    /// The enclosing loop sets the address.
    Loop,
}

/// A buffer of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) dtype: DType,
    pub(crate) size: usize,
    pub(crate) storage: Storage,
    /// Loop depth of the steps that use the buffer.
    pub(crate) depth: usize,
    /// The first step that may read the buffer.
    pub(crate) ready: usize,
    /// One more than the last step that reads the buffer.
    pub(crate) read: usize,
    /// Whether the buffer holds a result; a buffer holds at most one result.
    pub(crate) taken: bool,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> usize {
        self.size * self.dtype.width()
    }
}

/// A source operand: consecutive elements of a buffer from element `at` on, or one element broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepOperand {
    pub(crate) buf: BufferId,
    pub(crate) at: usize,
    /// Whether one element is broadcast.
    pub(crate) one: bool,
}

/// One step. `P` is a pass over an iteration space: a fusion group until code is generated, its code afterwards.
#[derive(Clone)]
pub(crate) enum Step<P> {
    /// A pass over an iteration space.
    Pass(P),
    /// An operation on whole buffers, by a separate kernel.
    KernelCall(Box<KernelCall>),
    /// A loop.
    Loop(Box<LoopStep<P>>),
    /// An operation of linear algebra on a batch of matrices.
    Matrices(Box<MatrixCall>),
    /// An operation without a kernel here, executed by the interpreter of arrays.
    Interpreted(Box<Interpreted>),
    /// Fused steps that run together on one block of rows after another.
    RowBlocks(Box<RowBlocks<P>>),
}

/// A step before code generation.
pub(crate) type FusedStep = Step<FusionGroup>;

/// Steps that run block by block.
#[derive(Clone)]
pub(crate) struct RowBlocks<P> {
    pub(crate) rows: usize,
    /// The number of rows of a block; the last block may have fewer.
    pub(crate) block: usize,
    pub(crate) steps: Vec<Step<P>>,
    /// The number of the first of the steps, in the order in which a report lists all steps.
    pub(crate) first: usize,
    /// Buffers that have memory for one block, with the bytes of a row.
    pub(crate) local: Vec<(BufferId, usize)>,
    /// Buffers that are filled with zeros before the first block, not row by row.
    pub(crate) whole: Vec<BufferId>,
    /// How the steps touch buffers.
    pub(crate) uses: Uses,
}

/// How steps access a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferUse {
    pub(crate) written: bool,
    /// Whether additions are the only accesses to the buffer.
    pub(crate) added: bool,
    /// Whether row `r` of the steps accesses row `r` of the buffer alone.
    pub(crate) by_rows: bool,
    /// The number of steps.
    pub(crate) steps: usize,
}

pub(crate) type Uses = HashMap<BufferId, BufferUse>;

/// A range of the rows of a step, and the total number of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRange {
    pub(crate) rows: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl RowRange {
    /// All rows.
    pub(crate) const ALL: RowRange = RowRange { rows: 1, from: 0, to: 1 };

    /// The elements of the rows in the range, of a value of `n` elements.
    #[inline]
    pub(crate) fn of(self, n: usize) -> Range<usize> {
        if self.rows == 1 {
            return 0..n;
        }
        let row = n / self.rows;
        row * self.from..row * self.to
    }
}

/// An operation on whole buffers, by a separate kernel.
#[derive(Clone)]
pub(crate) struct KernelCall {
    pub(crate) op: KernelOp,
    /// The element type of the first operand.
    pub(crate) dtype: DType,
    /// The operands, each with the number of elements that is read.
    pub(crate) operands: SmallVec<[(StepOperand, usize); 4]>,
    pub(crate) out: BufferId,
    /// The number of elements of the result.
    pub(crate) size: usize,
    /// The place of the operation.
    pub(crate) origin: Place,
}

/// The operation of a kernel call.
#[derive(Clone)]
pub(crate) enum KernelOp {
    /// A bilinear operation.
    Product(Arc<PlannedContraction>),
    /// The extremum along one axis: the length of the axis and the stride of its elements.
    Extremum(Reduce, usize, usize),
    /// The position of the extremum along one axis, as for `Extremum`.
    Position(Reduce, usize, usize),
    /// The prefix sums, or the suffix sums, along one axis.
    PrefixSum(Line),
    /// The positions of prefix extrema along one axis; whether of the largest elements.
    PrefixArg(Line, bool),
    /// The prefix extrema along one axis, as for `PrefixArg`.
    PrefixExtremum(Line, bool),
    /// The positions of the elements along one axis in sorted order, at some ranks: ascending ranges without overlap.
    ArgSort(Lines, Ranks),
    /// The Fourier transforms of lines.
    Fourier(Arc<Transform>),
    /// A gather of subarrays from a table, the first operand, at the indices that are the other operands: the sizes of
    /// the indexed axes, and the number of elements of a subarray.
    Gather(Vec<usize>, usize),
    /// A scatter-add of subarrays, the first operand, at the indices that are the other operands, with sizes as for
    /// `Gather`; the flag says that the result is cleared before.
    Scatter(Vec<usize>, usize, bool),
    /// The replacement of one subarray by the first operand, at the indices that are the other operands, numbers; the first
    /// operand is the subarray, or one number for all its elements. Sizes are as for `Gather`.
    Update(Vec<usize>, usize),
    /// A permutation of elements: a loop nest that writes each element of the result once.
    Transpose(Box<Nest<2>>),
    /// Elements moved through views; the flag says that they are accumulated, since several have one position.
    Affine(Box<Nest<2>>, bool),
}

/// Ranks of a sorted line: ascending ranges that do not overlap.
pub(crate) type Ranks = SmallVec<[Range<usize>; 2]>;

/// An operation of linear algebra on the matrices of a batch.
#[derive(Clone, Debug)]
pub(crate) struct MatrixCall {
    pub(crate) op: Matrix,
    /// The rows and the columns of a matrix.
    pub(crate) sizes: [usize; 2],
    /// The number of matrices.
    pub(crate) count: usize,
    /// About the number of multiplications.
    pub(crate) work: usize,
    /// The element type of the matrices.
    pub(crate) dtype: DType,
    /// The operands, each with its number of elements; see [`Matrix::takes_integers`] for those of integers.
    pub(crate) operands: SmallVec<[(StepOperand, usize); 4]>,
    /// The results, each with its number of elements and its element type.
    pub(crate) out: SmallVec<[(BufferId, usize, DType); 3]>,
    /// The place of the operation.
    pub(crate) origin: Place,
}

/// The loop of a transposition that is a loop over `rows` rows of the operand, of the result, or of both, and which of
/// the two it runs over row by row.
pub(crate) fn transposed_by_rows(nest: &Nest<2>, size: usize, rows: usize) -> Option<(usize, [bool; 2])> {
    nest.by_rows([size; 2], nest.axes().len(), &[], rows).max_by_key(|(_, by_rows)| *by_rows)
}

/// A loop whose body runs in place.
#[derive(Clone)]
pub(crate) struct LoopStep<P> {
    pub(crate) n: usize,
    pub(crate) reverse: bool,
    /// Whether the loop exits as soon as its first carry, a mask, is false.
    pub(crate) ends: bool,
    pub(crate) body: Vec<Step<P>>,
    /// The number of the first step of the body, in the order in which a report lists all steps.
    pub(crate) first: usize,
    pub(crate) carries: Vec<Carry>,
    /// The rows that the body reads, and the rows that it writes.
    pub(crate) xs: Vec<RowOperand>,
    pub(crate) outputs: Vec<RowOperand>,
    /// Buffers from outside that the body reads.
    pub(crate) captured: Vec<BufferId>,
    /// The number of bytes of the body's part of the workspace, and the start of that part.
    pub(crate) bytes: usize,
    pub(crate) start: usize,
    /// The place of the loop.
    pub(crate) origin: Place,
}

/// A value that a loop carries.
#[derive(Clone, Debug)]
pub(crate) struct Carry {
    /// The initial value.
    pub(crate) init: StepOperand,
    /// The buffer of the result.
    pub(crate) result: BufferId,
    /// A second buffer for double buffering, unless the body updates the value in place, or the stack of states has a
    /// row for the initial value.
    pub(crate) other: Option<BufferId>,
    /// The stack that holds the states as rows, if the loop returns them.
    pub(crate) states: Option<States>,
    /// The buffers by which the body reads the state and writes the next state.
    pub(crate) input: BufferId,
    pub(crate) output: BufferId,
    pub(crate) dtype: DType,
    pub(crate) bytes: usize,
}

/// The stack of the states of a carry: the states before the first trip and after each trip, without the first, the
/// last or both, if the flags say so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct States {
    pub(crate) of: BufferId,
    /// Whether the stack has a row for the state before the first trip, and one for the state after the last trip.
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl States {
    /// The number of rows of the stack of a loop of `n` trips.
    pub(crate) fn rows(self, n: usize) -> usize {
        n - 1 + usize::from(self.first) + usize::from(self.last)
    }

    /// The row of the state after `trips` of `n` trips, if the stack has it.
    pub(crate) fn row(self, trips: usize, n: usize, reverse: bool) -> Option<usize> {
        let has = (trips > 0 || self.first) && (trips < n || self.last);
        let forward = trips.checked_sub(usize::from(!self.first)).filter(|_| has)?;
        Some(if reverse { self.rows(n) - 1 - forward } else { forward })
    }
}

/// A row of a stacked buffer, which advances with the trips.
#[derive(Clone, Debug)]
pub(crate) struct RowOperand {
    /// The buffer of the row as the body sees it.
    pub(crate) row: BufferId,
    /// The stacked buffer, and the byte at which its rows start.
    pub(crate) of: BufferId,
    pub(crate) start: usize,
    /// The bytes of a row.
    pub(crate) bytes: usize,
}

/// An operation executed by the interpreter of arrays.
#[derive(Clone, Debug)]
pub(crate) struct Interpreted {
    /// The operation as a separate program.
    pub(crate) program: Program,
    pub(crate) operands: Vec<(StepOperand, Shape)>,
    pub(crate) out: Vec<BufferId>,
}

impl<P> LoopStep<P> {
    /// The number of carries whose states lie in stacks.
    pub(crate) fn stacked(&self) -> usize {
        self.carries.iter().filter(|carry| carry.states.is_some()).count()
    }
}

impl FusedStep {
    /// The group, if the step is one.
    pub(crate) fn group(&self) -> Option<&FusionGroup> {
        if let Step::Pass(group) = self { Some(group) } else { None }
    }

    /// The buffers that the step reads and writes, each with whether it is written; not those of the body of a loop.
    pub(crate) fn buffers(&self, f: &mut dyn FnMut(BufferId, bool)) {
        match self {
            Step::Pass(group) => group.buffers(f),
            Step::KernelCall(whole) => {
                whole.operands.iter().for_each(|(operand, _)| f(operand.buf, false));
                f(whole.out, true);
            }
            Step::Loop(l) => {
                for carry in &l.carries {
                    f(carry.init.buf, false);
                    f(carry.result, true);
                    carry.other.into_iter().chain(carry.states.map(|states| states.of)).for_each(|buf| f(buf, true));
                }
                l.xs.iter().for_each(|row| f(row.of, false));
                l.outputs.iter().for_each(|row| f(row.of, true));
                l.captured.iter().for_each(|buf| f(*buf, false));
            }
            Step::RowBlocks(blocks) => blocks.steps.iter().for_each(|step| step.buffers(f)),
            Step::Matrices(call) => {
                call.operands.iter().for_each(|(operand, _)| f(operand.buf, false));
                call.out.iter().for_each(|(out, ..)| f(*out, true));
            }
            Step::Interpreted(call) => {
                call.operands.iter().for_each(|(operand, _)| f(operand.buf, false));
                call.out.iter().for_each(|out| f(*out, true));
            }
        }
    }

    /// The buffers that are zeros before the step adds to them.
    pub(crate) fn cleared(&self, f: &mut dyn FnMut(BufferId)) {
        match self {
            Step::Pass(group) => group.cleared().for_each(|(buf, _)| f(buf)),
            Step::KernelCall(whole) if matches!(whole.op, KernelOp::Scatter(_, _, false) | KernelOp::Update(..)) => {}
            Step::KernelCall(whole) => f(whole.out),
            Step::RowBlocks(blocks) => blocks.steps.iter().for_each(|step| step.cleared(f)),
            Step::Loop(_) | Step::Matrices(_) | Step::Interpreted(_) => {}
        }
    }
}
