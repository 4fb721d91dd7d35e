//! Register code: groups of one position, and loops of nothing but such groups, on virtual registers of 8 bytes.
//!
//! Values are registers of 8 bytes in one file. Instructions on `f64`, which are nearly all, have register numbers
//! alone, and come in pairs, or many of one kind together, since the choice of an instruction costs as much as its
//! arithmetic; any other instruction runs as on a tile of one element. Numbers are loaded before the first trip and
//! stored after the last; rows of sequences are loaded and stored at each trip; what a body computes for itself alone
//! never reaches memory.
//!
//! Law: the code computes what the operations of the groups compute, in their order, each rounded by itself.
//!
//! | module | does |
//! |---|---|
//! | `ssa` | groups to values, each assigned once |
//! | `list_schedule` | the order of the instructions |
//! | `assign` | values to instructions on registers |
//! | `machine` | runs them: `instructions`: arithmetic in pairs; `functions`: elementary functions |
//! | `fixed_point` | copies trips after a fixed point |
//! | `linear_recurrence` | loops of one multiplication and one addition |

mod assign;
mod fixed_point;
mod functions;
mod instructions;
mod linear_recurrence;
mod list_schedule;
mod machine;
mod ssa;

use crate::backend::ir::fusion::FusionGroup;
use crate::backend::ir::step::{Buffer, BufferId, LoopStep};
use crate::backend::tile::Instruction;
use crate::backend::tile::superinstructions::Superinstructions;
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use linear_recurrence::LinearRecurrence;

use instructions::Opcode;
pub(crate) use machine::{Threaded, run};

/// The number of a register.
pub(crate) type Register = u16;

/// The operands of an instruction, which ignores those it does not take.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct InstructionOperands {
    pub(crate) out: Register,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) c: Register,
}

impl InstructionOperands {
    /// The operands of an instruction that moves an element of a row: a register, the register of the address, and the
    /// bytes to the next index.
    fn row(register: Register, address: Register, bytes: u32) -> InstructionOperands {
        InstructionOperands { out: register, a: address, b: bytes as u16, c: (bytes >> 16) as u16 }
    }

    /// The bytes to the next index.
    #[inline(always)]
    fn bytes(&self) -> usize {
        (u32::from(self.b) | u32::from(self.c) << 16) as usize
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RegisterOp {
    /// An instruction that can be paired.
    Simple(Opcode, InstructionOperands),
    /// A function of the last result, and of a second operand.
    Unary(Unary, InstructionOperands),
    Binary(Binary, InstructionOperands),
    /// A run of equal instructions: first index in the list `runs`, and count.
    Kinds(Opcode, u32, u32),
    /// Equal functions of one number, computed as on a slice.
    Functions(Unary, u32, u32),
    /// All bits: the register may hold an element of another type.
    Move(Register, Register),
    /// The instruction of this number, as on a tile of one element.
    Tile(u32),
}

/// What a register holds before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InitialValue {
    /// An element of a buffer.
    Buffer(BufferId, usize),
    /// An integer.
    Integer(i64),
}

/// An element of a buffer whose address advances with the trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedElement {
    pub(crate) register: Register,
    pub(crate) dtype: DType,
    pub(crate) buf: BufferId,
    /// The element at the first index, and how many elements come to the next index.
    pub(crate) first: usize,
    pub(crate) step: usize,
    /// The bytes to the next index.
    pub(crate) bytes: usize,
    /// The register that holds the address of the element at index 0.
    pub(crate) address: Register,
    /// Whether the element is read.
    reads: bool,
}

/// A mask that, while false, suggests that a trip is a fixed point.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NoChange {
    /// That of a carry.
    Carry(Register),
    /// That of a row: an element of the list of moving elements that are no instructions.
    Row(usize),
}

/// The code of a group, or of a loop.
#[derive(Debug, Default)]
pub(crate) struct RegisterCode {
    /// Buffers, with their bytes, that are zeros first.
    pub(crate) cleared: Vec<(BufferId, usize)>,
    pub(crate) loads: Vec<(Register, DType, InitialValue)>,
    /// Block loads: first register, buffer, first element, count.
    blocks: Vec<(Register, BufferId, usize, usize)>,
    /// The operands of instructions that run together.
    runs: Vec<InstructionOperands>,
    /// The number of trips, 1 for a group, and whether the last index comes first.
    pub(crate) n: usize,
    pub(crate) reverse: bool,
    /// The register of the mask that says whether the next trip runs, if the loop may end early.
    pub(crate) goes: Option<Register>,
    /// The registers of carries, and the mask by which trips may be known to change nothing.
    carries: Vec<Register>,
    idle: Option<NoChange>,
    /// Loaded at each trip; stored before the code of the trip; stored after it.
    pub(crate) rows: Vec<StridedElement>,
    pub(crate) early: Vec<StridedElement>,
    pub(crate) late: Vec<StridedElement>,
    /// Loaded and stored by instructions.
    pub(crate) coded: Vec<StridedElement>,
    /// The register that holds what counts as the last result before the first trip.
    pub(crate) last: Option<Register>,
    code: Vec<RegisterOp>,
    /// The code as steps of which each goes on to the next, in chains of bounded length.
    pub(crate) steps: Vec<Threaded>,
    /// The code as one recurrence.
    pub(crate) affine: Option<LinearRecurrence>,
    /// Instructions that run as on tiles.
    pub(crate) tiles: Vec<Instruction>,
    pub(crate) stores: Vec<(Register, DType, BufferId, usize)>,
    /// The bytes of the registers.
    pub(crate) bytes: usize,
}

/// The code of a group of one position.
pub(crate) fn group(group: &FusionGroup, buffers: &[Buffer]) -> RegisterCode {
    let values = ssa::SsaValues::of_group(group, buffers);
    assign::code(values).expect("a group has fewer values than there are registers")
}

/// The code of a loop of single numbers.
pub(crate) fn trips(l: &LoopStep<FusionGroup>, buffers: &[Buffer]) -> Option<RegisterCode> {
    assign::code(ssa::SsaValues::of_loop(l, buffers)?)
}

impl RegisterCode {
    /// The superinstructions: sums that a product joined.
    pub(crate) fn counts(&self) -> Superinstructions {
        let mut counts = Superinstructions::default();
        let of = |kind: &Opcode, count: usize| std::iter::repeat_n(kind.operations(), count);
        let operations = |scalar: &RegisterOp| match scalar {
            RegisterOp::Simple(kind, _) => of(kind, 1),
            RegisterOp::Kinds(kind, _, len) => of(kind, *len as usize),
            RegisterOp::Unary(..)
            | RegisterOp::Binary(..)
            | RegisterOp::Functions(..)
            | RegisterOp::Move(..)
            | RegisterOp::Tile(_) => of(&Opcode::Copy, 0),
        };
        for operations in self.code.iter().flat_map(operations) {
            counts.cheap += operations;
            if operations > 1 {
                counts.inside += operations;
                counts.count += 1;
            }
        }
        counts
    }

    /// The elements that move with the trips.
    pub(crate) fn moving(&self) -> impl Iterator<Item = &StridedElement> {
        self.rows.iter().chain(&self.early).chain(&self.late).chain(&self.coded)
    }

    /// The names of the instructions of a trip, each with the number of its arithmetic operations.
    pub(crate) fn names(&self) -> Vec<(&'static str, usize)> {
        let name = |scalar: &RegisterOp| match scalar {
            RegisterOp::Simple(kind, _) => ((kind.name(), kind.operations()), 1),
            RegisterOp::Kinds(kind, _, len) => ((kind.name(), kind.operations()), *len),
            RegisterOp::Unary(op, _) => ((op.name(), 1), 1),
            RegisterOp::Functions(op, _, len) => ((op.name(), 1), *len),
            RegisterOp::Binary(op, _) => ((op.symbol(), 1), 1),
            RegisterOp::Move(..) | RegisterOp::Tile(_) => (("move", 0), 0),
        };
        let names = self.code.iter().map(name).filter(|((_, operations), _)| *operations > 0);
        names.flat_map(|(name, count)| std::iter::repeat_n(name, count as usize)).collect()
    }
}
