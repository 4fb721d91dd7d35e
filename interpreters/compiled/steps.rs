//! The steps of a plan: what a run does one after the other.

use std::ops::Range;

use smallvec::SmallVec;

use super::blocks::Blocks;
use super::code::Code;
use super::group::Group;
use super::kernels::products::Product;
use super::kernels::runs::Nest;
use super::memory::Slot;
use super::parts::Parts;
use super::scalars::Straight;
use crate::array::Array;
use crate::dtype::DType;
use crate::ops::Reduce;
use crate::program::Program;
use crate::shape::Shape;

/// Where the memory of a place comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Input,
    Constant(usize),
    /// The elements of a result, which the caller takes.
    Output,
    /// A part of the block of the workspace, from this byte on.
    Arena(usize),
    /// Set by a loop.
    Loop,
}

/// A place of a plan.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) dtype: DType,
    pub(super) size: usize,
    pub(super) home: Home,
    /// The number of loops around the steps that it belongs to.
    pub(super) depth: usize,
    /// The first step that may read it.
    pub(super) ready: usize,
    /// One more than the last step that reads it.
    pub(super) read: usize,
    /// Whether it is a result, which has no other.
    pub(super) taken: bool,
}

impl Place {
    pub(super) fn bytes(&self) -> usize {
        self.size * self.dtype.width()
    }
}

/// Elements of a place, from this one on; or one element for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    pub(super) slot: Slot,
    pub(super) at: usize,
    /// Whether one element stands for all.
    pub(super) one: bool,
}

/// One step.
pub(super) enum Step {
    /// A group while it is built.
    Draft(Group),
    /// A pass over an iteration space.
    Group(Code),
    /// A group of one position, or a loop of such groups.
    Straight(Box<Straight>),
    /// An operation on whole places.
    Whole(Box<Whole>),
    /// A loop.
    Loop(Box<Loop>),
    /// An operation without a kernel here, done by the interpreter of arrays.
    Call(Box<Call>),
    /// Steps that run together, block of rows by block of rows.
    Blocks(Box<Blocks>),
}

/// Some of the rows in which steps run, of so many rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) rows: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Span {
    /// All there is.
    pub(super) const ALL: Span = Span { rows: 1, from: 0, to: 1 };

    /// The part of so many elements.
    #[inline]
    pub(super) fn of(self, n: usize) -> Range<usize> {
        if self.rows == 1 {
            return 0..n;
        }
        let row = n / self.rows;
        row * self.from..row * self.to
    }
}

/// An operation on whole places, by a kernel of its own.
pub(super) struct Whole {
    pub(super) op: WholeOp,
    /// The element type of the first operand.
    pub(super) dtype: DType,
    /// The operands, each with the number of elements that is read.
    pub(super) operands: SmallVec<[(Operand, usize); 4]>,
    pub(super) out: Slot,
    /// The number of elements of the result.
    pub(super) size: usize,
}

/// Which operation.
pub(super) enum WholeOp {
    /// A bilinear operation.
    Product(Box<Product>),
    /// The extremum of each line of so many elements, and the distance of its elements.
    Extremum(Reduce, usize, usize),
    /// Its position, the first operand's element type being that of the lines.
    Position(Reduce, usize, usize),
    /// Subarrays of so many elements, from a table of these indexed sizes, which is the first operand.
    Gather(Vec<usize>, usize),
    /// Subarrays of so many elements, the first operand, added at the other operands; to zeros if the flag holds.
    Scatter(Vec<usize>, usize, bool),
    /// Elements in another order, that of a nest of which no two visits go to one place, and which goes to all.
    Turn(Box<Nest<2>>),
    /// Elements moved through views; added up, if several have one place.
    Affine(Box<Nest<2>>, bool),
}

/// The loop of elements in another order that runs over so many rows of the operand, or of the result, and of which of
/// both it does.
pub(super) fn turned_by_rows(nest: &Nest<2>, size: usize, rows: usize) -> Option<(usize, [bool; 2])> {
    nest.by_rows([size; 2], nest.axes().len(), &[], rows).max_by_key(|(_, by_rows)| *by_rows)
}

/// A loop whose body runs in place.
pub(super) struct Loop {
    pub(super) n: usize,
    pub(super) reverse: bool,
    /// Whether the loop ends as soon as the first value that it carries, a mask, does not hold.
    pub(super) ends: bool,
    pub(super) body: Vec<Step>,
    /// The number of the first step of the body, in the order in which a report lists all steps.
    pub(super) first: usize,
    pub(super) carries: Vec<Carry>,
    /// Rows that the body reads, and rows that it writes.
    pub(super) xs: Vec<Row>,
    pub(super) outputs: Vec<Row>,
    /// Places from outside that the body reads.
    pub(super) captured: Vec<Slot>,
    /// The bytes that the body needs, and where they start.
    pub(super) bytes: usize,
    pub(super) start: usize,
}

/// A value that a loop carries.
#[derive(Debug)]
pub(super) struct Carry {
    /// Where the initial value is.
    pub(super) init: Operand,
    /// Where the result is.
    pub(super) result: Slot,
    /// A second place, unless the body updates the value in place, or a stack has the initial value, too.
    pub(super) other: Option<Slot>,
    /// The stack whose rows the states are, if the loop returns them.
    pub(super) states: Option<States>,
    /// What the body reads and writes.
    pub(super) input: Slot,
    pub(super) output: Slot,
    pub(super) dtype: DType,
    pub(super) bytes: usize,
}

/// The stack of the states of a carry: the state before the first trip, and those after each trip, or all but one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct States {
    pub(super) of: Slot,
    /// Whether the state before the first trip is a row, and whether the one after the last trip is.
    pub(super) first: bool,
    pub(super) last: bool,
}

impl States {
    /// The number of rows, for so many trips.
    pub(super) fn rows(self, n: usize) -> usize {
        n - 1 + usize::from(self.first) + usize::from(self.last)
    }

    /// The row of the state after so many trips of `n`.
    pub(super) fn row(self, trips: usize, n: usize, reverse: bool) -> Option<usize> {
        let has = (trips > 0 || self.first) && (trips < n || self.last);
        let forward = trips.checked_sub(usize::from(!self.first)).filter(|_| has)?;
        Some(if reverse { self.rows(n) - 1 - forward } else { forward })
    }
}

/// A row of a place that moves with the trips.
#[derive(Debug)]
pub(super) struct Row {
    /// What the body sees.
    pub(super) row: Slot,
    /// The whole, and the byte at which its rows start.
    pub(super) of: Slot,
    pub(super) start: usize,
    /// The bytes of a row.
    pub(super) bytes: usize,
}

/// An operation done by the interpreter of arrays.
#[derive(Debug)]
pub(super) struct Call {
    /// The operation alone.
    pub(super) program: Program,
    pub(super) operands: Vec<(Operand, Shape)>,
    pub(super) out: Vec<Slot>,
}

impl Loop {
    /// The number of carries whose states lie in stacks.
    pub(super) fn stacked(&self) -> usize {
        self.carries.iter().filter(|carry| carry.states.is_some()).count()
    }
}

impl Step {
    /// The places that the step reads and writes, each with whether it is written; not those of the body of a loop.
    pub(super) fn places(&self, f: &mut dyn FnMut(Slot, bool)) {
        match self {
            Step::Draft(group) => group.places(f),
            Step::Group(_) | Step::Straight(_) => unreachable!("places are assigned before the code is made"),
            Step::Whole(whole) => {
                whole.operands.iter().for_each(|(operand, _)| f(operand.slot, false));
                f(whole.out, true);
            }
            Step::Loop(l) => {
                for carry in &l.carries {
                    f(carry.init.slot, false);
                    f(carry.result, true);
                    carry.other.into_iter().chain(carry.states.map(|states| states.of)).for_each(|slot| f(slot, true));
                }
                l.xs.iter().for_each(|row| f(row.of, false));
                l.outputs.iter().for_each(|row| f(row.of, true));
                l.captured.iter().for_each(|slot| f(*slot, false));
            }
            Step::Blocks(blocks) => blocks.steps.iter().for_each(|step| step.places(f)),
            Step::Call(call) => {
                call.operands.iter().for_each(|(operand, _)| f(operand.slot, false));
                call.out.iter().for_each(|out| f(*out, true));
            }
        }
    }
}

impl Step {
    /// The places that are zeros before the step adds to them.
    pub(super) fn cleared(&self, f: &mut dyn FnMut(Slot)) {
        match self {
            Step::Draft(group) => group.cleared().for_each(|(slot, _)| f(slot)),
            Step::Whole(whole) => f(whole.out),
            Step::Blocks(blocks) => blocks.steps.iter().for_each(|step| step.cleared(f)),
            Step::Group(_) | Step::Straight(_) | Step::Loop(_) | Step::Call(_) => {}
        }
    }
}

/// Where a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// In a place that the run writes.
    Place(Slot),
    /// The result is this input.
    Input(usize),
}

/// A plan: the steps of a program, and the places they read and write.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// The number of all steps, with those of bodies.
    pub(super) count: usize,
    pub(super) places: Vec<Place>,
    pub(super) constants: Vec<Array>,
    /// Where the results are. The places of the inputs are the first.
    pub(super) outputs: Vec<Found>,
    /// The bytes of the block of a workspace, those of the registers of the largest group, and those of what the parts
    /// of a step add up.
    pub(super) bytes: usize,
    pub(super) registers: usize,
    pub(super) sums: usize,
    /// How steps run in parts, by their numbers.
    pub(super) parts: Vec<Option<Box<Parts>>>,
}

impl Plan {
    /// The bytes of memory that a run on one thread takes beside inputs and results.
    pub(super) fn memory(&self) -> usize {
        self.bytes.saturating_add(self.registers).saturating_add(self.sums)
    }
}
