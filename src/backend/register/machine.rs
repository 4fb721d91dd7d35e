//! The register machine: executes register code by threaded dispatch.
//!
//! Law: the block of registers contains every register that the code names.

#![allow(unsafe_code)]

use super::fixed_point::FixedPoint;
use super::{InstructionOperands, Opcode, Register, RegisterCode, RegisterOp, StridedElement, functions};
use crate::array::with_elem;
use crate::backend::ir::step::BufferId;
use crate::backend::memory::{AddressTable, Block};
use crate::backend::tile::machine::Tile;
use crate::dtype::{DType, Elem};
use crate::kernels::elementwise::{self, Isa};
use crate::ops::Unary;

/// The register file, with the code that runs on it.
pub(crate) struct File<'a> {
    at: *mut u8,
    bytes: usize,
    tile: Tile<'a>,
    isa: Isa,
    code: &'a RegisterCode,
}

/// Runs the code of a group or of a loop.
pub(crate) fn run(code: &RegisterCode, table: &mut AddressTable, registers: &mut Block, isa: Isa) {
    for (buf, bytes) in &code.cleared {
        table.clear(*buf, 0..*bytes);
    }
    debug_assert!(code.bytes <= registers.bytes());
    let (bytes, at) = (registers.bytes(), registers.start());
    let table = &*table;
    let file = File { at, bytes, tile: Tile::new(table, at, bytes, isa), isa, code };
    for (register, buf, at, len) in &code.blocks {
        file.load_block(*register, table, *buf, *at, *len);
    }
    for (register, dtype, buf, at) in &code.loads {
        file.load(*register, *dtype, table, *buf, *at);
    }
    for (register, x) in &code.numbers {
        file.put(*register, *x);
    }
    if code.is_straight {
        file.chains(code, 0, 0.0);
    } else {
        file.trips(code, table);
    }
    for (register, dtype, buf, at) in &code.stores {
        file.store(*register, *dtype, table, *buf, *at);
    }
}

impl File<'_> {
    /// Checks a register number in debug builds.
    #[inline(always)]
    pub(crate) fn check(&self, register: Register) {
        debug_assert!((usize::from(register) + 1) * 8 <= self.bytes, "register {register} of {} bytes", self.bytes);
    }

    #[inline(always)]
    fn cell<E>(&self, register: Register) -> *mut E {
        self.check(register);
        self.at.wrapping_add(usize::from(register) * 8).cast()
    }

    #[inline(always)]
    pub(crate) fn get(&self, register: Register) -> f64 {
        // Safety: the registers of the code lie within the block, which is aligned.
        unsafe { *self.cell::<f64>(register) }
    }

    /// The value of a mask.
    #[inline(always)]
    pub(crate) fn holds(&self, register: Register) -> bool {
        // Safety: as in `get`; the register holds a mask.
        unsafe { *self.cell::<bool>(register) }
    }

    #[inline(always)]
    pub(crate) fn set(&self, register: Register, x: f64) {
        self.put(register, x);
    }

    #[inline(always)]
    fn put<E: Elem>(&self, register: Register, x: E) {
        // Safety: the registers of the code lie within the block, which is aligned, and none is borrowed.
        unsafe { *self.cell::<E>(register) = x }
    }

    #[inline(always)]
    fn load(&self, register: Register, dtype: DType, table: &AddressTable, buf: BufferId, at: usize) {
        // Safety: see `memory.rs`.
        match dtype {
            DType::F64 => self.put(register, unsafe { table.read::<f64>(buf, at, 1) }[0]),
            DType::F32 | DType::I64 | DType::Bool => self.load_other(register, dtype, table, buf, at),
        }
    }

    /// Loads consecutive elements of a buffer into consecutive registers.
    #[inline(always)]
    fn load_block(&self, register: Register, table: &AddressTable, buf: BufferId, at: usize, len: usize) {
        self.check(register + (len - 1) as Register);
        // Safety: see `memory.rs`; the registers lie within the block. Elements of 8 bytes are moved whatever they are.
        unsafe {
            let from = table.address(buf, DType::I64, at, len).cast::<u64>();
            if len == 1 {
                *self.cell::<u64>(register) = *from;
            } else {
                std::ptr::copy_nonoverlapping(from, self.cell::<u64>(register), len);
            }
        }
    }

    /// The operands of the instructions of a run.
    #[inline(always)]
    pub(crate) fn run_of(&self, step: &Threaded) -> &[InstructionOperands] {
        &self.code.runs[step.number..][..step.first.bytes()]
    }

    /// A run of one elementary function.
    #[inline(never)]
    fn functions(&self, op: Unary, list: &[InstructionOperands]) {
        const MOST: usize = 64;
        let (mut x, mut y) = ([0.0; MOST], [0.0; MOST]);
        // A result may overwrite an argument of an earlier instruction of the run, which is complete by then.
        for list in list.chunks(MOST) {
            list.iter().zip(&mut x).for_each(|(operands, x)| *x = self.get(operands.a));
            elementwise::unary(self.isa, op, &x[..list.len()], &mut y[..list.len()]);
            list.iter().zip(&y).for_each(|(operands, y)| self.set(operands.out, *y));
        }
    }

    #[inline(never)]
    fn load_other(&self, register: Register, dtype: DType, table: &AddressTable, buf: BufferId, at: usize) {
        // Safety: see `memory.rs`.
        with_elem!(dtype, E => self.put(register, unsafe { table.read::<E>(buf, at, 1) }[0]));
    }

    #[inline(always)]
    fn store(&self, register: Register, dtype: DType, table: &AddressTable, buf: BufferId, at: usize) {
        // Safety: see `memory.rs`.
        match dtype {
            DType::F64 => unsafe { table.write::<f64>(buf, at, 1)[0] = self.get(register) },
            DType::F32 | DType::I64 | DType::Bool => self.store_other(register, dtype, table, buf, at),
        }
    }

    #[inline(never)]
    fn store_other(&self, register: Register, dtype: DType, table: &AddressTable, buf: BufferId, at: usize) {
        // Safety: see `memory.rs`; the register holds an element of this type.
        with_elem!(dtype, E => unsafe { table.write::<E>(buf, at, 1)[0] = *self.cell::<E>(register) });
    }

    /// Address computation: writes the address at index 0 of every moving element to its register, once for all
    /// trips.
    fn addresses(&self, code: &RegisterCode, table: &AddressTable) {
        for list in [&code.rows, &code.early, &code.late, &code.coded] {
            for StridedElement { dtype, buf, first, step, address, .. } in list {
                let at = table.address(*buf, *dtype, *first, (code.n - 1) * step + 1);
                // Safety: the register is one of the block.
                unsafe { *self.cell::<*mut u8>(*address) = at };
            }
        }
    }

    /// The address of a moving element at index 0.
    #[inline(always)]
    pub(crate) fn address(&self, moving: &StridedElement) -> *mut u8 {
        // Safety: `addresses` has written the register.
        unsafe { *self.cell::<*mut u8>(moving.address) }
    }

    /// Calls `body` with each moving element of a list and its address at an index.
    #[inline(always)]
    fn each(&self, elements: &[StridedElement], i: usize, body: impl Fn(&StridedElement, *mut u8)) {
        for moving in elements {
            // The buffer has elements at all indices.
            body(moving, self.address(moving).wrapping_add(i * moving.bytes));
        }
    }

    /// The trips of a loop. A separate function from straight code, which does without most of these lists and tests:
    /// they would cost as much as some operations.
    #[inline(never)]
    fn trips(&self, code: &RegisterCode, table: &AddressTable) {
        if let Some(affine) = &code.affine {
            return affine.run(code, self, table);
        }
        self.addresses(code, table);
        let mut last = code.last.map_or(0.0, |register| self.get(register));
        // Checking masks for a fixed point would slow short trips.
        if code.goes.is_some() || code.idle.is_some() {
            return self.trips_by_masks(code, last);
        }
        for trip in 0..code.n {
            last = self.trip(code, if code.reverse { code.n - 1 - trip } else { trip }, last);
        }
    }

    /// The trips of a loop with an early exit or a fixed-point check. A separate function from the plain loop, whose
    /// code is shorter without these checks: they would cost a tenth of a trip of two instructions.
    #[inline(never)]
    fn trips_by_masks(&self, code: &RegisterCode, mut last: f64) {
        let (mut still, mut trip) = (FixedPoint::new(), 0);
        while trip < code.n && code.goes.is_none_or(|mask| self.holds(mask)) {
            let i = if code.reverse { code.n - 1 - trip } else { trip };
            let looked_at = still.before(self, code, i);
            last = self.trip(code, i, last);
            trip += 1;
            if looked_at {
                trip += still.after(self, code, i, code.n - trip);
            }
        }
    }

    /// One trip, from the last result before it to the last result after it.
    #[inline(always)]
    fn trip(&self, code: &RegisterCode, i: usize, mut last: f64) -> f64 {
        // Safety: see `memory.rs`; the addresses are those of elements of this type.
        self.each(&code.rows, i, |row, at| match row.dtype {
            DType::F64 | DType::I64 => self.set(row.register, unsafe { *at.cast::<f64>() }),
            DType::F32 => self.put(row.register, unsafe { *at.cast::<f32>() }),
            DType::Bool => self.put(row.register, unsafe { *at.cast::<bool>() }),
        });
        let store = |out: &StridedElement, at: *mut u8| match out.dtype {
            DType::F64 | DType::I64 => unsafe { *at.cast::<f64>() = self.get(out.register) },
            DType::F32 => unsafe { *at.cast::<f32>() = *self.cell::<f32>(out.register) },
            DType::Bool => unsafe { *at.cast::<bool>() = *self.cell::<bool>(out.register) },
        };
        self.each(&code.early, i, store);
        last = self.chains(code, i, last);
        self.each(&code.late, i, store);
        last
    }

    /// The code of a trip, without the loads before it and the stores after it.
    #[inline(always)]
    fn chains(&self, code: &RegisterCode, i: usize, mut last: f64) -> f64 {
        for chain in code.steps.chunks(CHAIN + 1) {
            // Safety: the last step of a chain stops.
            last = unsafe { (chain[0].run)(chain.as_ptr(), self.at, i, last, self) };
        }
        last
    }

    /// An instruction that is executed unpaired.
    #[inline(never)]
    fn other(&self, scalar: RegisterOp) {
        if let RegisterOp::Move(out, a) = scalar {
            // Safety: as in `put`.
            unsafe { *self.cell::<u64>(out) = *self.cell::<u64>(a) }
        } else if let RegisterOp::Tile(k) = scalar {
            self.tile.run(&self.code.tiles[k as usize]);
        } else if let RegisterOp::Functions(op, first, len) = scalar {
            self.functions(op, &self.code.runs[first as usize..][..len as usize]);
        }
    }
}

/// Code of a step: its arguments are the step, the base of the registers, the index of the trip and the last result.
/// It returns the last result of its chain.
pub(crate) type Runner = unsafe fn(*const Threaded, *mut u8, usize, f64, &File<'_>) -> f64;

/// The code address of one instruction or of a pair. A step calls the next step in tail position, which an optimized
/// build makes a jump: every instruction has its own indirect jump, which the processor predicts better than one
/// shared jump.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threaded {
    run: Runner,
    pub(crate) first: InstructionOperands,
    pub(crate) second: InstructionOperands,
    /// The number of an unpaired instruction, or of the first operands of a run.
    number: usize,
}

/// Maximum length of a chain, which bounds the call depth of a build without optimization.
const CHAIN: usize = 64;

impl Threaded {
    pub(crate) fn new(run: Runner, first: InstructionOperands, second: InstructionOperands) -> Threaded {
        Threaded { run, first, second, number: 0 }
    }
}

/// The code of an instruction followed by its successor, with the successor's operands, if both can be paired.
fn pair(first: Opcode, next: Option<&RegisterOp>) -> Option<(Runner, InstructionOperands)> {
    let Some(RegisterOp::Simple(second, operands)) = next else { return None };
    Some((first.before(*second)?, *operands))
}

/// Empty operands.
const NONE: InstructionOperands = InstructionOperands { out: 0, a: 0, b: 0, c: 0 };

/// Groups instructions into chains and neighbours into pairs; each chain ends with a step that returns.
pub(crate) fn steps(code: &[RegisterOp], isa: Isa) -> Vec<Threaded> {
    let mut steps = Vec::with_capacity(code.len() / 2 + code.len() / CHAIN + 2);
    let mut number = 0;
    while number < code.len() {
        let (step, count) = match code[number] {
            RegisterOp::Simple(first, a) => match pair(first, code.get(number + 1)) {
                Some((both, b)) => (Threaded::new(both, a, b), 2),
                None => (Threaded::new(first.alone(), a, a), 1),
            },
            RegisterOp::Unary(op, operands) => (functions::unary(isa, op, operands), 1),
            RegisterOp::Binary(op, operands) => (functions::binary(isa, op, operands), 1),
            RegisterOp::Kinds(kind, first, len) => (
                Threaded {
                    number: first as usize,
                    ..Threaded::new(kind.many(), InstructionOperands::row(0, 0, len), NONE)
                },
                1,
            ),
            RegisterOp::Move(..) | RegisterOp::Tile(_) | RegisterOp::Functions(..) => {
                (Threaded { number, ..Threaded::new(other, NONE, NONE) }, 1)
            }
        };
        steps.push(step);
        number += count;
        if steps.len() % (CHAIN + 1) == CHAIN || number == code.len() {
            steps.push(Threaded::new(stop, NONE, NONE));
        }
    }
    steps
}

/// Jumps to the next step.
///
/// # Safety
/// A chain has a step after this one.
#[inline(always)]
pub(crate) unsafe fn next(step: *const Threaded, at: *mut u8, trip: usize, last: f64, file: &File<'_>) -> f64 {
    // Safety: as the caller says.
    unsafe { ((*step.add(1)).run)(step.add(1), at, trip, last, file) }
}

unsafe fn stop(_: *const Threaded, _: *mut u8, _: usize, last: f64, _: &File<'_>) -> f64 {
    last
}

/// Executes an unpaired instruction.
///
/// # Safety
/// As for `instructions::one`.
unsafe fn other(step: *const Threaded, at: *mut u8, trip: usize, last: f64, file: &File<'_>) -> f64 {
    // Safety: as the caller says.
    unsafe {
        file.other(file.code.code[(*step).number]);
        next(step, at, trip, last, file)
    }
}
