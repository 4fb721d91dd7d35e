//! Running code on single numbers.
//!
//! Law: a register is a part of the block of registers, which has all that the code names.

#![allow(unsafe_code)]

use super::{Kind, Micro, Moving, Register, Scalar, Start, Straight};
use crate::array::with_elem;
use crate::dtype::{DType, Elem};
use crate::interpreters::compiled::memory::{Block, Slot, Table};
use crate::interpreters::compiled::rows::Isa;
use crate::interpreters::compiled::tiles::Tile;

/// The registers, as `f64`.
pub(super) struct File<'a> {
    at: *mut u8,
    bytes: usize,
    tile: Tile<'a>,
}

/// Runs the code of a group or of a loop.
pub(in super::super) fn run(code: &Straight, table: &mut Table, registers: &mut Block, isa: Isa) {
    for (slot, bytes) in &code.cleared {
        table.clear(*slot, 0..*bytes);
    }
    debug_assert!(code.bytes <= registers.bytes());
    let (bytes, at) = (registers.bytes(), registers.start());
    let table = &*table;
    let file = File { at, bytes, tile: Tile::new(table, at, bytes, isa) };
    for (register, dtype, start) in &code.loads {
        match start {
            Start::Place(slot, at) => file.load(*register, *dtype, table, *slot, *at),
            Start::Integer(x) => file.put(*register, *x),
            Start::Float(x) => file.put(*register, *x),
        }
    }
    match &code.affine {
        Some(affine) => affine.run(code, &file, table),
        None => {
            for trip in 0..code.n {
                file.trip(code, table, if code.reverse { code.n - 1 - trip } else { trip });
            }
        }
    }
    for (register, dtype, slot, at) in &code.stores {
        file.store(*register, *dtype, table, *slot, *at);
    }
}

impl File<'_> {
    #[inline(always)]
    fn cell<E>(&self, register: Register) -> *mut E {
        debug_assert!((usize::from(register) + 1) * 8 <= self.bytes, "register {register} of {} bytes", self.bytes);
        self.at.wrapping_add(usize::from(register) * 8).cast()
    }

    #[inline(always)]
    pub(super) fn get(&self, register: Register) -> f64 {
        // Safety: the registers of the code lie within the block, which is aligned.
        unsafe { *self.cell::<f64>(register) }
    }

    #[inline(always)]
    pub(super) fn set(&self, register: Register, x: f64) {
        self.put(register, x);
    }

    #[inline(always)]
    fn put<E: Elem>(&self, register: Register, x: E) {
        // Safety: the registers of the code lie within the block, which is aligned, and none is borrowed.
        unsafe { *self.cell::<E>(register) = x }
    }

    #[inline(never)]
    fn load(&self, register: Register, dtype: DType, table: &Table, slot: Slot, at: usize) {
        // Safety: see `memory.rs`.
        with_elem!(dtype, E => self.put(register, unsafe { table.read::<E>(slot, at, 1) }[0]));
    }

    #[inline(never)]
    fn store(&self, register: Register, dtype: DType, table: &Table, slot: Slot, at: usize) {
        // Safety: see `memory.rs`; the register holds an element of this type.
        with_elem!(dtype, E => unsafe { table.write::<E>(slot, at, 1)[0] = *self.cell::<E>(register) });
    }

    /// Stores elements at an index. Nearly all are of one type.
    #[inline(always)]
    fn store_all(&self, elements: &[Moving], table: &Table, i: usize) {
        for Moving { register, dtype, slot, first, step } in elements {
            let at = first + i * step;
            if let DType::F64 = dtype {
                // Safety: see `memory.rs`.
                unsafe { table.write::<f64>(*slot, at, 1)[0] = self.get(*register) };
            } else {
                self.store(*register, *dtype, table, *slot, at);
            }
        }
    }

    fn trip(&self, code: &Straight, table: &Table, i: usize) {
        for Moving { register, dtype, slot, first, step } in &code.rows {
            let at = first + i * step;
            if let DType::F64 = dtype {
                // Safety: see `memory.rs`.
                self.set(*register, unsafe { table.read::<f64>(*slot, at, 1) }[0]);
            } else {
                self.load(*register, *dtype, table, *slot, at);
            }
        }
        self.store_all(&code.early, table, i);
        for scalar in &code.code {
            scalar.run(|kind, operands| self.step(kind, operands), |other| self.other(other, code));
        }
        self.store_all(&code.late, table, i);
    }

    #[inline(always)]
    fn step(&self, kind: Kind, operands: Micro) {
        let Micro { out, a, b, c } = operands;
        let (x, y) = (self.get(a), self.get(b));
        self.set(
            out,
            match kind {
                Kind::Add => x + y,
                Kind::Sub => x - y,
                Kind::Mul => x * y,
                Kind::MulAdd => x * y + self.get(c),
                Kind::MulSub => x * y - self.get(c),
                Kind::SubMul => self.get(c) - x * y,
            },
        );
    }

    /// An instruction that does not come in pairs.
    #[inline(always)]
    fn other(&self, scalar: Scalar, code: &Straight) {
        if let Scalar::Unary(op, out, a) = scalar {
            self.set(out, op.apply(self.get(a)));
        } else if let Scalar::Div(Micro { out, a, b, .. }) = scalar {
            self.set(out, self.get(a) / self.get(b));
        } else if let Scalar::Binary(op, Micro { out, a, b, .. }) = scalar {
            self.set(out, op.apply(self.get(a), self.get(b)));
        } else if let Scalar::Move(out, a) = scalar {
            // All bits: the register may hold an element of another type.
            // Safety: as in `put`.
            unsafe { *self.cell::<u64>(out) = *self.cell::<u64>(a) }
        } else if let Scalar::Tile(k) = scalar {
            self.tile.run(&code.tiles[k as usize]);
        }
    }
}
