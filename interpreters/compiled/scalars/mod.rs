//! Single numbers: groups of one position, and loops whose bodies are nothing but such groups.
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
//! | `values` | groups to values, each assigned once |
//! | `order` | the order of the instructions |
//! | `code` | values to instructions on registers |
//! | `run` | runs them: `kinds`: instructions in pairs; `functions`: elementary functions, each with a step around it |
//! | `still` | trips that change nothing, which need not run |
//! | `affine` | loops of one multiplication and one addition |

mod affine;
mod code;
mod functions;
mod kinds;
mod order;
mod run;
mod still;
mod values;

use super::code::Instruction;
use super::fuse::Superinstructions;
use super::group::Group;
use super::memory::Slot;
use super::steps::{Loop, Place};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use affine::Affine;

use kinds::Kind;
pub(super) use run::{Step, run};

/// The number of a register.
pub(super) type Register = u16;

/// The operands of an instruction: as many as it has.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(super) struct Micro {
    pub(super) out: Register,
    pub(super) a: Register,
    pub(super) b: Register,
    pub(super) c: Register,
}

impl Micro {
    /// The operands of an instruction that moves an element of a row: a register, the register of the address, and the
    /// bytes to the next index.
    fn row(register: Register, address: Register, bytes: u32) -> Micro {
        Micro { out: register, a: address, b: bytes as u16, c: (bytes >> 16) as u16 }
    }

    /// The bytes to the next index.
    #[inline(always)]
    fn bytes(&self) -> usize {
        (u32::from(self.b) | u32::from(self.c) << 16) as usize
    }
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    /// One that comes in pairs.
    Kind(Kind, Micro),
    /// A function of the last result, and of a second operand.
    Unary(Unary, Micro),
    Binary(Binary, Micro),
    /// Equal instructions, those of the list `runs` from this number on, so many.
    Kinds(Kind, u32, u32),
    /// Equal functions of one number, computed as on a slice.
    Functions(Unary, u32, u32),
    /// All bits: the register may hold an element of another type.
    Move(Register, Register),
    /// The instruction of this number, as on a tile of one element.
    Tile(u32),
}

/// What a register holds before the first instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// An element of a place.
    Place(Slot, usize),
    /// An integer.
    Integer(i64),
}

/// An element of a place that moves with the trips.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub(super) register: Register,
    pub(super) dtype: DType,
    pub(super) slot: Slot,
    /// The element at the first index, and how many elements come to the next index.
    pub(super) first: usize,
    pub(super) step: usize,
    /// The bytes to the next index.
    pub(super) bytes: usize,
    /// The register that holds the address of the element at index 0.
    pub(super) address: Register,
    /// Whether the element is read.
    reads: bool,
}

/// A mask without which a trip seldom changes anything.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Idle {
    /// That of a carry.
    Carry(Register),
    /// That of a row: an element of the list of moving elements that are no instructions.
    Row(usize),
}

/// The code of a group, or of a loop.
#[derive(Debug, Default)]
pub(super) struct Straight {
    /// Places, with their bytes, that are zeros first.
    pub(super) cleared: Vec<(Slot, usize)>,
    pub(super) loads: Vec<(Register, DType, Start)>,
    /// Elements of 8 bytes, so many from one of a place on, to as many registers from this one on.
    blocks: Vec<(Register, Slot, usize, usize)>,
    /// The operands of instructions that run together.
    runs: Vec<Micro>,
    /// The number of trips, 1 for a group, and whether the last index comes first.
    pub(super) n: usize,
    pub(super) reverse: bool,
    /// The register of the mask that says whether the next trip runs, if the loop may end early.
    pub(super) goes: Option<Register>,
    /// The registers of carries, and the mask by which trips may be known to change nothing.
    carries: Vec<Register>,
    idle: Option<Idle>,
    /// Loaded at each trip; stored before the code of the trip; stored after it.
    pub(super) rows: Vec<Moving>,
    pub(super) early: Vec<Moving>,
    pub(super) late: Vec<Moving>,
    /// Loaded and stored by instructions.
    pub(super) coded: Vec<Moving>,
    /// The register that holds what counts as the last result before the first trip.
    pub(super) last: Option<Register>,
    code: Vec<Scalar>,
    /// The code as steps of which each goes on to the next, in chains of bounded length.
    pub(super) steps: Vec<Step>,
    /// The code as one recurrence.
    pub(super) affine: Option<Affine>,
    /// Instructions that run as on tiles.
    pub(super) tiles: Vec<Instruction>,
    pub(super) stores: Vec<(Register, DType, Slot, usize)>,
    /// The bytes of the registers.
    pub(super) bytes: usize,
}

/// The code of a group of one position.
pub(super) fn group(group: &Group, places: &[Place]) -> Straight {
    let values = values::Values::of_group(group, places);
    code::code(values).expect("a group has fewer values than there are registers")
}

/// The code of a loop of single numbers.
pub(super) fn trips(l: &Loop, places: &[Place]) -> Option<Straight> {
    code::code(values::Values::of_loop(l, places)?)
}

impl Straight {
    /// The superinstructions: sums that a product joined.
    pub(super) fn counts(&self) -> Superinstructions {
        let mut counts = Superinstructions::default();
        let of = |kind: &Kind, count: usize| std::iter::repeat_n(kind.operations(), count);
        let operations = |scalar: &Scalar| match scalar {
            Scalar::Kind(kind, _) => of(kind, 1),
            Scalar::Kinds(kind, _, len) => of(kind, *len as usize),
            Scalar::Unary(..) | Scalar::Binary(..) | Scalar::Functions(..) | Scalar::Move(..) | Scalar::Tile(_) => {
                of(&Kind::Copy, 0)
            }
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
    pub(super) fn moving(&self) -> impl Iterator<Item = &Moving> {
        self.rows.iter().chain(&self.early).chain(&self.late).chain(&self.coded)
    }

    /// The names of the instructions of a trip, each with the number of its arithmetic operations.
    pub(super) fn names(&self) -> Vec<(&'static str, usize)> {
        let name = |scalar: &Scalar| match scalar {
            Scalar::Kind(kind, _) => ((kind.name(), kind.operations()), 1),
            Scalar::Kinds(kind, _, len) => ((kind.name(), kind.operations()), *len),
            Scalar::Unary(op, _) => ((op.name(), 1), 1),
            Scalar::Functions(op, _, len) => ((op.name(), 1), *len),
            Scalar::Binary(op, _) => ((op.symbol(), 1), 1),
            Scalar::Move(..) | Scalar::Tile(_) => (("move", 0), 0),
        };
        let names = self.code.iter().map(name).filter(|((_, operations), _)| *operations > 0);
        names.flat_map(|(name, count)| std::iter::repeat_n(name, count as usize)).collect()
    }
}
