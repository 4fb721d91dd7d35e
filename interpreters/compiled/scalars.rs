//! Groups of one position: straight code for single numbers.
//!
//! Registers are numbers of one flat file, the registers of tiles of length 1. Instructions on `f64`, which are nearly
//! all, have a compact form with register numbers alone; loads and stores are instructions of their own, so that no
//! instruction asks where its operands are. Any other instruction runs as on a tile of length 1.
//!
//! Law: the code computes what the instructions of the group compute, in their order.

use std::collections::HashMap;

use super::group::{Arg, Instruction, Item};
use super::memory::Slot;
use crate::dtype::DType;
use crate::ops::{Binary, Unary};

/// The number of a register, in units of 8 bytes.
type Register = u32;

/// One operation on single numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    /// Reads an element of a place.
    Load(Register, Slot, u32),
    /// Writes the first element of a place.
    Store(Register, Slot),
    Add(Register, Register, Register),
    Sub(Register, Register, Register),
    Mul(Register, Register, Register),
    Div(Register, Register, Register),
    Unary(Unary, Register, Register),
    Binary(Binary, Register, Register, Register),
    /// The instruction of this number, as on a tile.
    Tile(u32),
}

/// The code of a group of one position, and the bytes of its registers; `bytes` are those of its tiles.
pub(super) fn code(instructions: &[Instruction], bytes: usize) -> (Vec<Scalar>, usize) {
    let mut maker = Maker { code: Vec::with_capacity(instructions.len() * 2), loaded: HashMap::new(), next: bytes };
    for (k, instruction) in instructions.iter().enumerate() {
        maker.instruction(k, instruction);
    }
    (maker.code, maker.next)
}

struct Maker {
    code: Vec<Scalar>,
    /// The registers that hold elements of places.
    loaded: HashMap<(Slot, usize), Register>,
    /// The byte at which the next register starts.
    next: usize,
}

impl Maker {
    fn fresh(&mut self) -> Register {
        let start = self.next;
        self.next += 8;
        (start / 8) as Register
    }

    fn operand(&mut self, arg: Arg) -> Register {
        match arg {
            Arg::Register(byte) => (byte / 8) as Register,
            Arg::Place(slot, at) | Arg::One(slot, at) => {
                if let Some(register) = self.loaded.get(&(slot, at)) {
                    return *register;
                }
                let register = self.fresh();
                self.code.push(Scalar::Load(register, slot, at as u32));
                self.loaded.insert((slot, at), register);
                register
            }
        }
    }

    fn result(&mut self, out: Arg) -> Register {
        match out {
            Arg::Register(byte) => (byte / 8) as Register,
            Arg::Place(..) | Arg::One(..) => self.fresh(),
        }
    }

    fn instruction(&mut self, k: usize, instruction: &Instruction) {
        let far = |arg: &Arg| matches!(arg, Arg::Place(_, at) | Arg::One(_, at) if u32::try_from(*at).is_err());
        let plain = instruction.dtype == DType::F64 && !instruction.item.operands().iter().any(far);
        let compact = match &instruction.item {
            Item::Unary(op, a) if plain => {
                let a = self.operand(*a);
                let out = self.result(instruction.out);
                Some((Scalar::Unary(*op, out, a), out))
            }
            Item::Binary(op, a, b) if plain => {
                let [a, b] = [*a, *b].map(|arg| self.operand(arg));
                let out = self.result(instruction.out);
                Some((binary(*op, out, a, b), out))
            }
            Item::Unary(..) | Item::Binary(..) | Item::Read(..) | Item::One(..) | Item::View(..) | Item::Places(_) => {
                None
            }
            Item::Compare(..) | Item::IntUnary(..) | Item::IntBinary(..) | Item::And(..) | Item::Or(..) => None,
            Item::Not(_) | Item::Step(..) | Item::Convert(..) | Item::Select(_) | Item::Gather(..) => None,
            Item::Put(..) | Item::Add(..) => None,
            // Groups of one position have no superinstructions.
            Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => None,
        };
        let Some((scalar, out)) = compact else {
            // What the instruction writes to a place is read from there.
            if let Arg::Place(slot, at) = instruction.out {
                self.loaded.remove(&(slot, at));
            }
            return self.code.push(Scalar::Tile(k as u32));
        };
        self.code.push(scalar);
        if let Arg::Place(slot, at) = instruction.out {
            debug_assert_eq!(at, 0, "a result starts at the first element of its place");
            self.code.push(Scalar::Store(out, slot));
            self.loaded.insert((slot, at), out);
        }
    }
}

/// The four operations that are nearly all have instructions of their own.
fn binary(op: Binary, out: Register, a: Register, b: Register) -> Scalar {
    if op == Binary::Add {
        Scalar::Add(out, a, b)
    } else if op == Binary::Sub {
        Scalar::Sub(out, a, b)
    } else if op == Binary::Mul {
        Scalar::Mul(out, a, b)
    } else if op == Binary::Div {
        Scalar::Div(out, a, b)
    } else {
        Scalar::Binary(op, out, a, b)
    }
}
