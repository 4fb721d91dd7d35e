//! Register code: groups of one position, and loops of nothing but such groups, on virtual registers of 8 bytes.
//!
//! Each value has a register of 8 bytes in one register file. Instructions on `f64`, which are nearly all, have
//! register numbers alone, and run in pairs, or as runs of one kind, since dispatch costs as much as arithmetic; any
//! other instruction runs as on a tile of one element. Scalars are loaded before the first trip and stored after the
//! last; rows of sequences are loaded and stored at each trip; intermediate values of a body never reach memory.
//!
//! Law: the code computes what the operations of the groups compute, each rounded by itself.
//!
//! | module | does |
//! |---|---|
//! | `ssa` | turns groups into values, each assigned once |
//! | `list_schedule` | orders the instructions |
//! | `assign` | selects instructions for values, and assigns registers |
//! | `machine` | executes the code; `instructions`: arithmetic in pairs; `functions`: elementary functions |
//! | `fixed_point` | copies the outputs of trips after a fixed point |
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

/// The operands of an instruction; an instruction with fewer operands ignores the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct InstructionOperands {
    pub(crate) out: Register,
    pub(crate) a: Register,
    pub(crate) b: Register,
    pub(crate) c: Register,
}

impl InstructionOperands {
    /// The operands of a load or store of an element of a row: the register of the element, the register of the
    /// address, and the distance in bytes to the next index.
    fn row(register: Register, address: Register, bytes: u32) -> InstructionOperands {
        InstructionOperands { out: register, a: address, b: bytes as u16, c: (bytes >> 16) as u16 }
    }

    /// The distance in bytes to the next index, or the length of a run.
    #[inline(always)]
    fn bytes(&self) -> usize {
        (u32::from(self.b) | u32::from(self.c) << 16) as usize
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RegisterOp {
    /// An instruction that may be paired with its successor.
    Simple(Opcode, InstructionOperands),
    /// An elementary function of the last result, and for a binary one of a second operand.
    Unary(Unary, InstructionOperands),
    Binary(Binary, InstructionOperands),
    /// A run of equal instructions: first index in the list `runs`, and count.
    Kinds(Opcode, u32, u32),
    /// A run of one elementary function, computed by the kernel over slices.
    Functions(Unary, u32, u32),
    /// Copies all bits of a register, whatever the type of its element.
    Move(Register, Register),
    /// The instruction of this index in `tiles`, on a tile of one element.
    Tile(u32),
}

/// The initial value of a register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum InitialValue {
    /// An element of a buffer.
    Buffer(BufferId, usize),
    /// A known number: an integer, or the bits of a float.
    Number(i64),
}

/// An element of a buffer whose address advances with the trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StridedElement {
    pub(crate) register: Register,
    pub(crate) dtype: DType,
    pub(crate) buf: BufferId,
    /// The element at index 0, and the distance to the next index in elements.
    pub(crate) first: usize,
    pub(crate) step: usize,
    /// The distance to the next index in bytes.
    pub(crate) bytes: usize,
    /// The register that holds the address of the element at index 0.
    pub(crate) address: Register,
    /// Whether the element is read; otherwise it is written.
    reads: bool,
}

impl StridedElement {
    /// Whether the element is read; otherwise it is written.
    pub(crate) fn is_read(&self) -> bool {
        self.reads
    }
}

/// A mask that, while false, suggests that a trip is a fixed point.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NoChange {
    /// A carried mask.
    Carry(Register),
    /// A mask in a row: an index into the list `rows`.
    Row(usize),
}

/// The code of a group, or of a loop.
#[derive(Debug, Default)]
pub(crate) struct RegisterCode {
    /// Buffers, with their bytes, that are filled with zeros first.
    pub(crate) cleared: Vec<(BufferId, usize)>,
    /// Elements of buffers that registers hold first, and their places; and known numbers, as their bits.
    pub(crate) loads: Vec<(Register, DType, BufferId, usize)>,
    numbers: Vec<(Register, i64)>,
    /// Block loads: first register, buffer, first element, count.
    blocks: Vec<(Register, BufferId, usize, usize)>,
    /// The operands of the instructions of all runs.
    runs: Vec<InstructionOperands>,
    /// Whether the code is that of a group: it runs once, without elements that move.
    is_straight: bool,
    /// The number of trips, 1 for a group, and whether indices descend.
    pub(crate) n: usize,
    pub(crate) reverse: bool,
    /// The register of the mask by which the next trip runs, if the loop has an early exit.
    pub(crate) goes: Option<Register>,
    /// The registers of carries, and the mask that suggests a fixed point.
    carries: Vec<Register>,
    idle: Option<NoChange>,
    /// Elements loaded at each trip; stored before the code of the trip; stored after it.
    pub(crate) rows: Vec<StridedElement>,
    pub(crate) early: Vec<StridedElement>,
    pub(crate) late: Vec<StridedElement>,
    /// Elements loaded and stored by instructions of the code.
    pub(crate) coded: Vec<StridedElement>,
    /// The register that holds the last result with which the first trip starts.
    pub(crate) last: Option<Register>,
    code: Vec<RegisterOp>,
    /// The code as threaded steps: each jumps to the next, in chains of bounded length.
    pub(crate) steps: Vec<Threaded>,
    /// The code as a linear recurrence, if it is one.
    pub(crate) affine: Option<LinearRecurrence>,
    /// Instructions that run on tiles of one element.
    pub(crate) tiles: Vec<Instruction>,
    pub(crate) stores: Vec<(Register, DType, BufferId, usize)>,
    /// The bytes of the registers.
    pub(crate) bytes: usize,
}

/// The value of an element of a buffer of `f64`, if it is known at compile time.
pub(crate) type Numbers<'a> = &'a dyn Fn(BufferId, usize) -> Option<f64>;

/// The code of a group of one position.
pub(crate) fn group(group: &FusionGroup, buffers: &[Buffer], number: Numbers<'_>) -> RegisterCode {
    let values = ssa::SsaValues::of_group(group, buffers).with_numbers(number);
    let mut code = assign::code(values).expect("a group has fewer values than there are registers");
    code.is_straight = code.affine.is_none() && code.goes.is_none() && code.moving().next().is_none();
    code
}

/// The code of a loop of scalars; `None` if the body is not of scalars, or needs more registers than there are.
pub(crate) fn trips(l: &LoopStep<FusionGroup>, buffers: &[Buffer], number: Numbers<'_>) -> Option<RegisterCode> {
    assign::code(ssa::SsaValues::of_loop(l, buffers)?.with_numbers(number))
}

impl RegisterCode {
    /// The number of superinstructions: sums and differences with a product.
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

    /// All elements whose addresses advance with the trips.
    pub(crate) fn moving(&self) -> impl Iterator<Item = &StridedElement> {
        self.rows.iter().chain(&self.early).chain(&self.late).chain(&self.coded)
    }

    /// The buffers whose elements registers hold first, with the number of these elements.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = (BufferId, usize)> {
        let single = self.loads.iter().map(|(_, _, buf, _)| (*buf, 1));
        single.chain(self.blocks.iter().map(|(_, buf, _, count)| (*buf, *count)))
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
