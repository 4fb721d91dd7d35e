//! Running code on single numbers.
//!
//! Law: a register is a part of the block of registers, which has all that the code names.

#![allow(unsafe_code)]

use super::super::memory::{Block, Slot, Table};
use super::super::rows::Isa;
use super::super::tiles::Tile;
use super::{Kind, Micro, Moving, Register, Scalar, Start, Straight};
use crate::array::with_elem;
use crate::dtype::{DType, Elem};

/// The registers, as `f64`.
pub(super) struct File<'a> {
    at: *mut u8,
    bytes: usize,
    tile: Tile<'a>,
    code: &'a Straight,
}

/// Elements that move with the trips, and the cell with the address of the first.
struct Elements<'a> {
    list: &'a [Moving],
    first: usize,
}

/// Runs the code of a group or of a loop.
pub(in super::super) fn run(code: &Straight, table: &mut Table, registers: &mut Block, isa: Isa) {
    for (slot, bytes) in &code.cleared {
        table.clear(*slot, 0..*bytes);
    }
    debug_assert!(code.bytes <= registers.bytes());
    let (bytes, at) = (registers.bytes(), registers.start());
    let table = &*table;
    let file = File { at, bytes, tile: Tile::new(table, at, bytes, isa), code };
    for (register, dtype, start) in &code.loads {
        match start {
            Start::Place(slot, at) => file.load(*register, *dtype, table, *slot, *at),
            Start::Integer(x) => file.put(*register, *x),
        }
    }
    match &code.affine {
        Some(affine) => affine.run(code, &file, table),
        None => {
            let moving = file.addresses(code, table);
            for trip in 0..code.n {
                file.trip(code, &moving, if code.reverse { code.n - 1 - trip } else { trip });
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

    /// Where the elements that move with the trips are at index 0: in cells behind the registers, found once for all
    /// trips.
    fn addresses<'c>(&self, code: &'c Straight, table: &Table) -> [Elements<'c>; 3] {
        let mut cell = code.bytes / 8 - code.moving();
        [&code.rows, &code.early, &code.late].map(|list| {
            let first = cell;
            for Moving { dtype, slot, first, step, .. } in list {
                let at = table.address(*slot, *dtype, *first, (code.n - 1) * step + 1);
                // Safety: the cell lies within the block, as the planner has counted it.
                unsafe { self.at.cast::<*mut u8>().add(cell).write(at) };
                cell += 1;
            }
            Elements { list, first }
        })
    }

    /// Calls `body` for each element of a list, with its address at an index.
    #[inline(always)]
    fn each(&self, elements: &Elements<'_>, i: usize, body: impl Fn(&Moving, *mut u8)) {
        for (k, moving) in elements.list.iter().enumerate() {
            // Safety: `addresses` has written the cell; the place has elements at all indices.
            let at = unsafe { self.at.cast::<*mut u8>().add(elements.first + k).read() };
            body(moving, at.wrapping_add(i * moving.bytes));
        }
    }

    fn trip(&self, code: &Straight, [rows, early, late]: &[Elements<'_>; 3], i: usize) {
        // Safety: see `memory.rs`; the addresses are those of elements of this type.
        self.each(rows, i, |row, at| match row.dtype {
            DType::F64 | DType::I64 => self.set(row.register, unsafe { *at.cast::<f64>() }),
            DType::F32 => self.put(row.register, unsafe { *at.cast::<f32>() }),
            DType::Bool => self.put(row.register, unsafe { *at.cast::<bool>() }),
        });
        let store = |out: &Moving, at: *mut u8| match out.dtype {
            DType::F64 | DType::I64 => unsafe { *at.cast::<f64>() = self.get(out.register) },
            DType::F32 => unsafe { *at.cast::<f32>() = *self.cell::<f32>(out.register) },
            DType::Bool => unsafe { *at.cast::<bool>() = *self.cell::<bool>(out.register) },
        };
        self.each(early, i, store);
        for chain in code.steps.chunks(CHAIN + 1) {
            // Safety: the last step of a chain stops.
            unsafe { (chain[0].run)(chain.as_ptr(), self.at, self) };
        }
        self.each(late, i, store);
    }

    /// An instruction that does not come in pairs.
    fn other(&self, scalar: Scalar) {
        if let Scalar::Move(out, a) = scalar {
            // All bits: the register may hold an element of another type.
            // Safety: as in `put`.
            unsafe { *self.cell::<u64>(out) = *self.cell::<u64>(a) }
        } else if let Scalar::Tile(k) = scalar {
            self.tile.run(&self.code.tiles[k as usize]);
        }
    }
}

/// What runs a step, at this address of the registers, and all that follow in its chain.
pub(super) type Runner = unsafe fn(*const Step, *mut u8, &File<'_>);

/// An instruction as the address of its code. A step goes on to the next by a call in the last place, which an
/// optimized build makes a jump: so each instruction has a jump of its own, which the processor predicts better than
/// one for all.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Step {
    run: Runner,
    pub(super) first: Micro,
    second: Micro,
    /// The number of an instruction that does not come in pairs.
    number: usize,
}

/// The steps of a chain: a build without optimization nests as many calls.
const CHAIN: usize = 64;

impl Step {
    pub(super) fn new(run: Runner, first: Micro, second: Micro) -> Step {
        Step { run, first, second, number: 0 }
    }

    pub(super) fn other(number: usize) -> Step {
        Step { number, ..Step::new(other, NONE, NONE) }
    }
}

/// No operands.
const NONE: Micro = Micro { out: 0, a: 0, b: 0, c: 0 };

/// The chains of instructions: each ends with a step that stops.
pub(super) fn steps(code: &[Scalar], isa: Isa) -> Vec<Step> {
    let mut steps = Vec::with_capacity(code.len() + code.len() / CHAIN + 1);
    for (number, scalar) in code.iter().enumerate() {
        steps.push(scalar.step(number, isa));
        if (number + 1) % CHAIN == 0 || number + 1 == code.len() {
            steps.push(Step::new(stop, NONE, NONE));
        }
    }
    steps
}

/// Goes on to the next step.
///
/// # Safety
/// A chain has a step after this one.
#[inline(always)]
pub(super) unsafe fn next(step: *const Step, at: *mut u8, file: &File<'_>) {
    // Safety: as the caller says.
    unsafe { ((*step.add(1)).run)(step.add(1), at, file) }
}

unsafe fn stop(_: *const Step, _: *mut u8, _: &File<'_>) {}

/// One instruction.
///
/// # Safety
/// The step is one of a chain; its registers lie within the block at this address.
pub(super) unsafe fn one<const KIND: u8>(step: *const Step, at: *mut u8, file: &File<'_>) {
    // Safety: as the caller says.
    unsafe {
        compute(Kind::of(KIND), &(*step).first, at, file);
        next(step, at, file);
    }
}

/// Two instructions.
///
/// # Safety
/// As for [`one`].
pub(super) unsafe fn two<const FIRST: u8, const SECOND: u8>(step: *const Step, at: *mut u8, file: &File<'_>) {
    // Safety: as the caller says.
    unsafe {
        compute(Kind::of(FIRST), &(*step).first, at, file);
        compute(Kind::of(SECOND), &(*step).second, at, file);
        next(step, at, file);
    }
}

unsafe fn other(step: *const Step, at: *mut u8, file: &File<'_>) {
    // Safety: as for `one`.
    unsafe {
        file.other(file.code.code[(*step).number]);
        next(step, at, file);
    }
}

/// # Safety
/// As for [`one`].
#[inline(always)]
unsafe fn compute(kind: Kind, operands: &Micro, at: *mut u8, file: &File<'_>) {
    let Micro { out, a, b, c } = *operands;
    let cell = |register: Register| {
        debug_assert!((usize::from(register) + 1) * 8 <= file.bytes, "register {register} of {} bytes", file.bytes);
        at.cast::<f64>().wrapping_add(usize::from(register))
    };
    // Safety: as the caller says.
    unsafe {
        let (x, y) = (*cell(a), *cell(b));
        *cell(out) = match kind {
            Kind::Add => x + y,
            Kind::Sub => x - y,
            Kind::Mul => x * y,
            Kind::MulAdd => x * y + *cell(c),
            Kind::MulSub => x * y - *cell(c),
            Kind::SubMul => *cell(c) - x * y,
        };
    }
}
