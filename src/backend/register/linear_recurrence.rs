//! Linear recurrences: loops of one multiplication and one addition, each run by a specialized loop.
//!
//! The next value of the only carry, the scalar `h`, is `h + b`, `h - b`, `b - h`, `h a`, `h a + b`, `h a - b`,
//! `b - h a`, `a b + h`, `a b - h` or `h - a b`, where `a` and `b` are scalars or elements of rows: sums, products,
//! Horner's rule, and the transposes of recurrences.
//!
//! Law: the loop has the bits of the instruction at each trip.

#![allow(unsafe_code)]

use super::machine::File;
use super::{InstructionOperands, Opcode, Register, RegisterCode, RegisterOp, StridedElement};
use crate::backend::ir::step::BufferId;
use crate::backend::memory::AddressTable;
use crate::dtype::DType;

/// The source of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RecurrenceSource {
    Carry,
    /// One scalar for all trips.
    One(Register),
    /// An element per trip of a row: the buffer, and its element at the first index.
    Row(BufferId, usize),
}

/// The arithmetic of a recurrence.
#[derive(Clone, Copy, Debug)]
enum NextState {
    Add,
    Sub,
    Mul,
    MulAdd,
    MulSub,
    SubMul,
}

/// A loop of one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearRecurrence {
    kind: NextState,
    carry: Register,
    /// The position of the carry among the operands; the other operands are `x` and `y`.
    form: RecurrenceForm,
    x: RecurrenceSource,
    y: RecurrenceSource,
    early: Option<(BufferId, usize)>,
    late: Option<(BufferId, usize)>,
}

/// The position of the carry among the operands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RecurrenceForm {
    /// The first operand of `a - b`, an operand of `a + b` or `a b`, or a factor of the product in a sum or difference.
    First,
    /// The second operand of `a - b`.
    Second,
    /// The other term of a sum or difference with a product.
    Sum,
}

impl LinearRecurrence {
    /// The linear recurrence that a loop computes; `None` if it computes something else.
    pub(crate) fn new(straight: &RegisterCode) -> Option<LinearRecurrence> {
        let ([scalar], [(carry, ..)]) = (&straight.code[..], &straight.stores[..]) else { return None };
        let RegisterOp::Simple(kind, InstructionOperands { out, a, b, c }) = *scalar else { return None };
        let all = straight.rows.iter().chain(&straight.early).chain(&straight.late);
        let plain = |row: &StridedElement| row.step == 1 && row.dtype == DType::F64;
        if straight.n == 1 || out != *carry || !all.clone().all(plain) || !straight.cleared.is_empty() {
            return None;
        }
        let source = |register: Register| match straight.rows.iter().find(|row| row.register == register) {
            _ if register == *carry => RecurrenceSource::Carry,
            Some(row) => RecurrenceSource::Row(row.buf, row.first),
            None => RecurrenceSource::One(register),
        };
        let [a, b, c] = [a, b, c].map(source);
        let plain = [
            (Opcode::Add, NextState::Add),
            (Opcode::Sub, NextState::Sub),
            (Opcode::Mul, NextState::Mul),
            (Opcode::MulAdd, NextState::MulAdd),
            (Opcode::MulSub, NextState::MulSub),
            (Opcode::SubMul, NextState::SubMul),
        ];
        let (_, kind) = *plain.iter().find(|(plain, _)| *plain == kind)?;
        let (form, x, y) = match (kind, [a, b, c].map(|source| source == RecurrenceSource::Carry)) {
            (NextState::Add | NextState::Mul, [true, false, _]) => (RecurrenceForm::First, b, b),
            (NextState::Add | NextState::Mul, [false, true, _]) => (RecurrenceForm::First, a, a),
            (NextState::Sub, [true, false, _]) => (RecurrenceForm::First, b, b),
            (NextState::Sub, [false, true, _]) => (RecurrenceForm::Second, a, a),
            (NextState::MulAdd | NextState::MulSub | NextState::SubMul, [true, false, false]) => {
                (RecurrenceForm::First, b, c)
            }
            (NextState::MulAdd | NextState::MulSub | NextState::SubMul, [false, true, false]) => {
                (RecurrenceForm::First, a, c)
            }
            (NextState::MulAdd | NextState::MulSub | NextState::SubMul, [false, false, true]) => {
                (RecurrenceForm::Sum, a, b)
            }
            (_, _) => return None,
        };
        let one = |rows: &[StridedElement]| match rows {
            [] => Some(None),
            [row] if row.register == *carry => Some(Some((row.buf, row.first))),
            _ => None,
        };
        let (early, late) = (one(&straight.early)?, one(&straight.late)?);
        Some(LinearRecurrence { kind, carry: *carry, form, x, y, early, late })
    }

    /// Runs all trips.
    pub(crate) fn run(&self, straight: &RegisterCode, file: &File<'_>, table: &AddressTable) {
        let n = straight.n;
        let number = |source: RecurrenceSource| match source {
            RecurrenceSource::One(register) => file.get(register),
            RecurrenceSource::Carry | RecurrenceSource::Row(..) => 0.0,
        };
        // Safety: see `memory.rs`; a loop reads no buffer that it writes.
        let row = |source: RecurrenceSource| match source {
            RecurrenceSource::Row(buf, first) => Some(unsafe { table.read::<f64>(buf, first, n) }),
            RecurrenceSource::Carry | RecurrenceSource::One(_) => None,
        };
        let (x, y) = ((row(self.x), number(self.x)), (row(self.y), number(self.y)));
        // Safety: as before; results have buffers of their own.
        let written = |(buf, first)| unsafe { table.write::<f64>(buf, first, n) };
        let trips = RecurrenceTrips {
            n,
            reverse: straight.reverse,
            early: self.early.map(written),
            late: self.late.map(written),
        };
        let h = file.get(self.carry);
        let h = match (x, y) {
            ((Some(x), _), (Some(y), _)) => self.with(trips, h, |i| (x[i], y[i])),
            ((Some(x), _), (None, y)) => self.with(trips, h, |i| (x[i], y)),
            ((None, x), (Some(y), _)) => self.with(trips, h, |i| (x, y[i])),
            ((None, x), (None, y)) => self.with(trips, h, |_| (x, y)),
        };
        file.set(self.carry, h);
    }

    /// Runs the loop of this arithmetic and form.
    #[inline(always)]
    fn with(&self, trips: RecurrenceTrips<'_>, h: f64, at: impl Fn(usize) -> (f64, f64)) -> f64 {
        match (self.kind, self.form) {
            (NextState::Add, _) => trips.run(h, |h, i| h + at(i).0),
            (NextState::Mul, _) => trips.run(h, |h, i| h * at(i).0),
            (NextState::Sub, RecurrenceForm::Second) => trips.run(h, |h, i| at(i).0 - h),
            (NextState::Sub, RecurrenceForm::First | RecurrenceForm::Sum) => trips.run(h, |h, i| h - at(i).0),
            (NextState::MulAdd, RecurrenceForm::Sum) => trips.run(h, |h, i| at(i).0 * at(i).1 + h),
            (NextState::MulSub, RecurrenceForm::Sum) => trips.run(h, |h, i| at(i).0 * at(i).1 - h),
            (NextState::SubMul, RecurrenceForm::Sum) => trips.run(h, |h, i| h - at(i).0 * at(i).1),
            (NextState::MulAdd, RecurrenceForm::First | RecurrenceForm::Second) => {
                trips.run(h, |h, i| h * at(i).0 + at(i).1)
            }
            (NextState::MulSub, RecurrenceForm::First | RecurrenceForm::Second) => {
                trips.run(h, |h, i| h * at(i).0 - at(i).1)
            }
            (NextState::SubMul, RecurrenceForm::First | RecurrenceForm::Second) => {
                trips.run(h, |h, i| at(i).1 - h * at(i).0)
            }
        }
    }
}

/// The trips of a recurrence, and the rows to which the carry is written before and after each trip.
struct RecurrenceTrips<'a> {
    n: usize,
    reverse: bool,
    early: Option<&'a mut [f64]>,
    late: Option<&'a mut [f64]>,
}

impl RecurrenceTrips<'_> {
    #[inline(always)]
    fn run(mut self, mut h: f64, next: impl Fn(f64, usize) -> f64) -> f64 {
        for trip in 0..self.n {
            let i = if self.reverse { self.n - 1 - trip } else { trip };
            if let Some(early) = &mut self.early {
                early[i] = h;
            }
            h = next(h, i);
            if let Some(late) = &mut self.late {
                late[i] = h;
            }
        }
        h
    }
}
