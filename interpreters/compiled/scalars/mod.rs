//! Single numbers: groups of one position, and loops whose bodies are nothing but such groups.
//!
//! Values are registers of 8 bytes in one file. Instructions on `f64`, which are nearly all, have register numbers
//! alone, and come in pairs, since the choice of an instruction costs as much as its arithmetic; any other instruction
//! runs as on a tile of one element. Numbers are loaded before the first trip and stored after the last; rows of
//! sequences are loaded and stored at each trip; what a body computes for itself alone never reaches memory.
//!
//! Law: the code computes what the operations of the groups compute, in their order, each rounded by itself.
//!
//! | module | does |
//! |---|---|
//! | `values` | groups to values, each assigned once |
//! | `code` | values to instructions on registers |
//! | `run` | runs them |
//! | `functions` | elementary functions, compiled with a step around each |
//! | `affine` | loops of one multiplication and one addition |

mod affine;
mod code;
mod functions;
mod run;
mod values;

use super::code::Instruction;
use super::fuse::Superinstructions;
use super::group::Group;
use super::memory::Slot;
use super::rows::Isa;
use super::steps::{Loop, Place};
use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use affine::Affine;

pub(super) use run::{Step, run};

/// The number of a register.
pub(super) type Register = u16;

/// The operands of an instruction: as many as it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Micro {
    pub(super) out: Register,
    pub(super) a: Register,
    pub(super) b: Register,
    pub(super) c: Register,
}

/// Declares the instructions that come in pairs, with all their pairs.
macro_rules! pairs {
    ($($First:ident $name:literal: $($Pair:ident $Second:ident,)*;)*) => {
        /// An instruction that comes in pairs.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum Kind { $($First),* }

        impl Kind {
            /// The kind of a number.
            #[inline(always)]
            const fn of(number: u8) -> Kind {
                $( if number == Kind::$First as u8 { return Kind::$First; } )*
                panic!("a kind has a number")
            }

            fn name(self) -> &'static str {
                match self { $( Kind::$First => $name ),* }
            }
        }

        /// One instruction, or a pair of two, of which the second may read what the first has written.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum Scalar {
            $( $First(Micro), $( $Pair(Micro, Micro), )* )*
            Div(Micro),
            Unary(Unary, Register, Register),
            Binary(Binary, Micro),
            Move(Register, Register),
            /// The instruction of this number, as on a tile of one element.
            Tile(u32),
        }

        impl Scalar {
            /// An instruction by itself.
            fn single(kind: Kind, operands: Micro) -> Scalar {
                match kind { $( Kind::$First => Scalar::$First(operands) ),* }
            }

            /// Both instructions as one, if they come in pairs.
            fn paired(self, next: Scalar) -> Option<Scalar> {
                match (self, next) {
                    $( $( (Scalar::$First(a), Scalar::$Second(b)) => Some(Scalar::$Pair(a, b)), )* )*
                    (_, _) => None,
                }
            }

            /// The kinds of the instructions, with their operands; `None` for those that do not come in pairs.
            fn kinds(self) -> Option<(Kind, Micro, Option<(Kind, Micro)>)> {
                match self {
                    $( Scalar::$First(a) => Some((Kind::$First, a, None)),
                       $( Scalar::$Pair(a, b) => Some((Kind::$First, a, Some((Kind::$Second, b)))), )* )*
                    Scalar::Div(_) | Scalar::Unary(..) | Scalar::Binary(..) | Scalar::Move(..) | Scalar::Tile(_) => None,
                }
            }

            /// The step that runs the instruction, which is the one of this number.
            fn step(self, number: usize, isa: Isa) -> Step {
                match self {
                    $( Scalar::$First(a) => Step::new(run::one::<{ Kind::$First as u8 }>, a, a),
                       $( Scalar::$Pair(a, b) => {
                           Step::new(run::two::<{ Kind::$First as u8 }, { Kind::$Second as u8 }>, a, b)
                       } )* )*
                    Scalar::Div(micro) => functions::binary(isa, Binary::Div, micro),
                    Scalar::Unary(op, out, a) => functions::unary(isa, op, Micro { out, a, b: a, c: a }),
                    Scalar::Binary(op, micro) => functions::binary(isa, op, micro),
                    Scalar::Move(..) | Scalar::Tile(_) => Step::other(number),
                }
            }
        }
    };
}

pairs! {
    Add "+": AddAdd Add, AddSub Sub, AddMul Mul, AddMulAdd MulAdd, AddMulSub MulSub, AddSubMul SubMul,;
    Sub "-": SubAdd Add, SubSub Sub, SubMul2 Mul, SubMulAdd MulAdd, SubMulSub MulSub, SubSubMul SubMul,;
    Mul "*": MulAdd2 Add, MulSub2 Sub, MulMul Mul, MulMulAdd MulAdd, MulMulSub MulSub, MulSubMul SubMul,;
    MulAdd "a*b+c":
        MulAddAdd Add, MulAddSub Sub, MulAddMul Mul, MulAddMulAdd MulAdd, MulAddMulSub MulSub, MulAddSubMul SubMul,;
    MulSub "a*b-c":
        MulSubAdd Add, MulSubSub Sub, MulSubMul2 Mul, MulSubMulAdd MulAdd, MulSubMulSub MulSub, MulSubSubMul SubMul,;
    SubMul "c-a*b":
        SubMulAdd2 Add, SubMulSub2 Sub, SubMulMul Mul, SubMulMulAdd MulAdd, SubMulMulSub MulSub, SubMulSubMul SubMul,;
}

impl Kind {
    /// The number of arithmetic operations.
    fn operations(self) -> usize {
        match self {
            Kind::Add | Kind::Sub | Kind::Mul => 1,
            Kind::MulAdd | Kind::MulSub | Kind::SubMul => 2,
        }
    }
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
}

/// The code of a group, or of a loop.
#[derive(Debug)]
pub(super) struct Straight {
    /// Places, with their bytes, that are zeros first.
    pub(super) cleared: Vec<(Slot, usize)>,
    pub(super) loads: Vec<(Register, DType, Start)>,
    /// The number of trips, 1 for a group, and whether the last index comes first.
    pub(super) n: usize,
    pub(super) reverse: bool,
    /// Loaded at each trip; stored before the code of the trip; stored after it.
    pub(super) rows: Vec<Moving>,
    pub(super) early: Vec<Moving>,
    pub(super) late: Vec<Moving>,
    pub(super) code: Vec<Scalar>,
    /// The code as steps of which each goes on to the next, in chains of bounded length.
    pub(super) steps: Vec<Step>,
    /// The code as one recurrence.
    pub(super) affine: Option<Affine>,
    /// Instructions that run as on tiles.
    pub(super) tiles: Vec<Instruction>,
    pub(super) stores: Vec<(Register, DType, Slot, usize)>,
    /// The bytes of the registers, and of an address for each element that moves.
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
        let kinds = self.code.iter().filter_map(|scalar| scalar.kinds());
        for kind in kinds.flat_map(|(first, _, second)| std::iter::once(first).chain(second.map(|(kind, _)| kind))) {
            counts.cheap += kind.operations();
            if kind.operations() > 1 {
                counts.inside += kind.operations();
                counts.count += 1;
            }
        }
        counts.cheap += self.code.iter().filter(|scalar| matches!(scalar, Scalar::Div(_))).count();
        counts
    }

    /// The number of elements that move with the trips.
    pub(super) fn moving(&self) -> usize {
        self.rows.len() + self.early.len() + self.late.len()
    }

    /// The names of the instructions of a trip, each with the number of its arithmetic operations.
    pub(super) fn names(&self) -> Vec<(&'static str, usize)> {
        let mut names = Vec::new();
        for scalar in &self.code {
            if let Some((first, _, second)) = scalar.kinds() {
                names.push((first.name(), first.operations()));
                names.extend(second.map(|(kind, _)| (kind.name(), kind.operations())));
            } else if let Scalar::Unary(op, ..) = scalar {
                names.push((op.name(), 1));
            } else if let Scalar::Binary(op, _) = scalar {
                names.push((op.symbol(), 1));
            } else if let Scalar::Div(_) = scalar {
                names.push((Binary::Div.symbol(), 1));
            }
        }
        names
    }
}
