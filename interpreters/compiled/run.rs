//! Running a plan.
//!
//! Law: a run writes the arena, the outputs, and nothing else; in steady state it allocates nothing but what operations
//! without a kernel need.

#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use super::kernels::products::Scratch;
use super::memory::{Block, Slot, Table};
use super::parts::Parts;
use super::rows::Isa;
use super::steps::{Call, Carry, Found, Home, Loop, Operand, Place, Plan, Row, Span, States, Step};
use super::{scalars, tiles};
use crate::array::{Array, Values, pool, with_elem};
use crate::dtype::Elem;
use crate::program::interpret;

/// Which part of its steps runs.
#[derive(Clone, Copy)]
pub(super) struct Frame<'p> {
    /// The rows.
    pub(super) span: Span,
    /// Places that are not cleared row by row.
    pub(super) all: &'p [Slot],
    /// How steps run in parts, by their numbers.
    pub(super) parts: &'p [Option<Box<Parts>>],
}

impl Frame<'_> {
    /// All rows, one after the other.
    pub(super) const ALL: Frame<'static> = Frame { span: Span::ALL, all: &[], parts: &[] };
}

/// The memory of one run at a time.
pub(super) struct Memory {
    pub(super) table: Table,
    pub(super) arena: Block,
    pub(super) registers: Block,
    /// What the parts of a step add up.
    pub(super) sums: Block,
    /// For parts on other threads.
    pub(super) others: Vec<Memory>,
    pub(super) isa: Isa,
    pub(super) scratch: Scratch,
    /// The results of the last run, whose memory the next one takes if the caller has dropped them.
    pub(super) results: Vec<Array>,
    /// The time spent in each step and how often it ran, if this is measured.
    pub(super) clock: Option<Vec<(Duration, u64)>>,
}

impl Memory {
    /// Memory for a plan, or nothing if there is not as much.
    pub(super) fn new(plan: &Plan, isa: Isa) -> Option<Memory> {
        let mut memory = Memory::helper(plan.registers, isa)?;
        memory.table = Table::new(plan.places.len());
        (memory.arena, memory.sums) = (Block::new(plan.bytes)?, Block::new(plan.sums)?);
        let start = memory.arena.start();
        for (slot, place) in (0..).zip(&plan.places) {
            match place.home {
                // Safety: the planner has given the place these bytes of the block, which lives as long as the table.
                Home::Arena(at) => unsafe { memory.table.set(slot, start.wrapping_add(at), place.bytes()) },
                Home::Constant(k) => memory.set_array(slot, place, &plan.constants[k]),
                Home::Input | Home::Output | Home::Loop => {}
            }
        }
        Some(memory)
    }

    /// Memory without places, or nothing if there is not as much.
    pub(super) fn helper(registers: usize, isa: Isa) -> Option<Memory> {
        Some(Memory {
            table: Table::new(0),
            arena: Block::EMPTY,
            registers: Block::new(registers)?,
            sums: Block::EMPTY,
            others: Vec::new(),
            isa,
            scratch: Scratch::default(),
            results: Vec::new(),
            clock: None,
        })
    }

    /// Lets a place be the elements of an array, which is stored element by element and is only read.
    fn set_array(&mut self, slot: Slot, place: &Place, array: &Array) {
        with_elem!(place.dtype, E => {
            let elements: &[E] = match (E::scalar_of(array), array.values::<E>()) {
                (Some(x), _) => std::slice::from_ref(x),
                (None, Some(Values::Dense(v))) => v,
                (None, _) => unreachable!("the array is stored element by element"),
            };
            debug_assert_eq!(elements.len(), place.size);
            // Safety: no step writes inputs or constants; the caller keeps the array during the run.
            unsafe { self.table.set(slot, elements.as_ptr().cast_mut().cast(), place.bytes()) }
        });
    }

    /// Lets a place be a slice that the run writes.
    fn set_output<E: Elem>(&mut self, slot: Slot, out: &mut [E]) {
        // Safety: the caller lends the slice for the run.
        unsafe { self.table.set(slot, out.as_mut_ptr().cast(), std::mem::size_of_val(out)) }
    }

    /// Runs a plan on inputs that fit, into outputs that fit.
    pub(super) fn run(&mut self, plan: &Plan, inputs: &[Array], outputs: &mut [Array]) {
        // Repeated values are written out; the places of inputs come first.
        let mut dense: Vec<Array> = Vec::new();
        for (slot, array) in (0..).zip(inputs) {
            let place = &plan.places[slot as usize];
            if is_repeated(array) {
                let mut array = array.clone();
                with_elem!(array.dtype(), E => {
                    array.make_dense::<E>();
                });
                self.set_array(slot, place, &array);
                dense.push(array);
            } else {
                self.set_array(slot, place, array);
            }
        }
        for (found, out) in plan.outputs.iter().zip(&mut *outputs) {
            match found {
                Found::Input(k) => *out = inputs[*k].clone(),
                Found::Place(slot) => {
                    let place = &plan.places[*slot as usize];
                    if let Home::Output = place.home {
                        with_elem!(place.dtype, E => self.set_output(*slot, out.make_dense::<E>()));
                    }
                }
            }
        }
        self.steps(&plan.steps, 0, Frame { parts: &plan.parts, ..Frame::ALL });
        for (found, out) in plan.outputs.iter().zip(outputs) {
            if let (Found::Place(slot), 0) = (found, out.rank()) {
                // Safety: the run has written the place.
                with_elem!(out.dtype(), E => *out = unsafe { self.table.read::<E>(*slot, 0, 1) }[0].into_scalar());
            }
        }
    }

    /// Runs steps, the first of which has this number.
    pub(super) fn steps(&mut self, steps: &[Step], first: usize, frame: Frame<'_>) {
        for (number, step) in (first..).zip(steps) {
            let start = self.clock.is_some().then(Instant::now);
            match frame.parts.get(number) {
                Some(Some(parts)) => self.parts(step, parts),
                Some(None) | None => self.step(step, frame),
            }
            if let (Some(start), Some(clock)) = (start, &mut self.clock) {
                clock[number].0 += start.elapsed();
                clock[number].1 += 1;
            }
        }
    }

    /// Runs one step, which does not run in parts.
    pub(super) fn step(&mut self, step: &Step, frame: Frame<'_>) {
        match step {
            Step::Group(code) => {
                tiles::clear(code, &mut self.table, frame.span, frame.all);
                tiles::run(code, &self.table, &mut self.registers, self.isa, frame.span);
            }
            Step::Straight(code) => scalars::run(code, &mut self.table, &mut self.registers, self.isa),
            Step::Whole(whole) => self.whole(whole, frame.span, frame.all),
            Step::Loop(l) => self.trips(l, frame),
            Step::Call(call) => self.call(call),
            Step::Blocks(blocks) => self.blocks(blocks, frame.span),
            Step::Draft(_) => unreachable!("the groups of a plan are complete"),
        }
    }

    pub(super) fn slice<E: Elem>(&self, operand: &Operand, len: usize) -> &[E] {
        // Safety: see `memory.rs`.
        unsafe { self.table.read(operand.slot, operand.at, if operand.one { 1 } else { len }) }
    }

    /// Runs some rows of a loop.
    fn trips(&mut self, l: &Loop, frame: Frame<'_>) {
        for carry in &l.carries {
            self.start(carry, l, frame.span);
        }
        for trip in 0..l.n {
            if l.ends && !self.goes_on(l) {
                return self.end(l, trip, frame.span);
            }
            let i = if l.reverse { l.n - 1 - trip } else { trip };
            for row in l.xs.iter().chain(&l.outputs) {
                self.table.set_row(row, i);
            }
            for row in &l.outputs {
                self.narrow(row.row, row.bytes, frame.span);
            }
            for carry in &l.carries {
                if let Some(states) = carry.states {
                    self.set_state(carry.output, carry, states, trip + 1, l);
                    self.narrow(carry.output, carry.bytes, frame.span);
                }
            }
            self.steps(&l.body, l.first, frame);
            for carry in &l.carries {
                if carry.states.is_some() {
                    self.table.set_same(carry.input, carry.output);
                } else if carry.other.is_some() {
                    self.table.swap(carry.input, carry.output);
                }
            }
        }
        for carry in &l.carries {
            if let Some(states) = carry.states
                && states.of != carry.result
                && states.last
            {
                self.table.copy(carry.output, 0, carry.result, frame.span.of(carry.bytes));
            }
        }
    }

    /// Leaves a place the rows that run.
    #[inline]
    fn narrow(&mut self, slot: Slot, bytes: usize, span: Span) {
        if span.rows > 1 {
            self.table.narrow(slot, span.of(bytes));
        }
    }

    /// Whether the first value that a loop carries, a mask, holds.
    fn goes_on(&self, l: &Loop) -> bool {
        // Safety: see `memory.rs`.
        let go: &[bool] = unsafe { self.table.read(l.carries[0].input, 0, 1) };
        go[0]
    }

    /// Puts what a loop carries where its results are, if it has ended after so many trips.
    fn end(&mut self, l: &Loop, trips: usize, span: Span) {
        for carry in &l.carries {
            // Places were chosen for the last trip there could be.
            if carry.other.is_some() && (l.n - trips) % 2 == 1 {
                self.table.copy(carry.input, 0, carry.result, span.of(carry.bytes));
            }
        }
    }

    /// Lets a place be that of the state of a carry after so many trips.
    fn set_state(&mut self, slot: Slot, carry: &Carry, states: States, trips: usize, l: &Loop) {
        match (states.row(trips, l.n, l.reverse), carry.other) {
            (Some(i), _) => {
                self.table.set_row(&Row { row: slot, of: states.of, start: 0, bytes: carry.bytes }, i);
            }
            (None, Some(first)) if trips == 0 => self.table.set_same(slot, first),
            (None, _) => self.table.set_same(slot, carry.result),
        }
    }

    /// Puts some rows of the initial value of a carry where the first trip reads it, so that the last trip writes the
    /// result.
    fn start(&mut self, carry: &Carry, l: &Loop, span: Span) {
        if let Some(states) = carry.states {
            self.set_state(carry.input, carry, states, 0, l);
        } else {
            let (first, second) = match carry.other {
                Some(other) if l.n % 2 == 1 => (other, carry.result),
                Some(other) => (carry.result, other),
                None => (carry.result, carry.result),
            };
            self.table.set_same(carry.input, first);
            self.table.set_same(carry.output, second);
        }
        self.narrow(carry.input, carry.bytes, span);
        if carry.states.is_none() && carry.output != carry.input {
            self.narrow(carry.output, carry.bytes, span);
        }
        let init = &carry.init;
        let (width, part) = (carry.dtype.width(), span.of(carry.bytes));
        if !init.one {
            return self.table.copy(init.slot, init.at * width, carry.input, part);
        }
        with_elem!(carry.dtype, E => {
            let x = self.slice::<E>(init, 1)[0];
            // Safety: see `memory.rs`.
            unsafe { self.table.write::<E>(carry.input, part.start / width, part.len() / width) }.fill(x);
        });
    }

    fn call(&mut self, call: &Call) {
        let inputs = call.operands.iter().zip(call.program.inputs()).map(|((operand, shape), slot)| {
            let size = crate::shape::size(shape);
            with_elem!(slot.dtype, E => {
                let elements = self.slice::<E>(operand, size);
                if operand.one { Array::full(shape, elements[0]) } else { Array::new(shape, pool::collected(elements.iter().copied())) }
            })
        });
        for (result, out) in interpret(&call.program, inputs.collect()).into_iter().zip(&call.out) {
            with_elem!(result.dtype(), E => {
                // Safety: see `memory.rs`.
                let out: &mut [E] = unsafe { self.table.write(*out, 0, result.size()) };
                match (result.values::<E>(), E::from_scalar(&result)) {
                    (_, Some(x)) | (Some(Values::Splat(x)), None) => out.fill(x),
                    (Some(Values::Dense(v)), None) => out.copy_from_slice(v),
                    (None, None) => unreachable!("the result has this element type"),
                }
            });
        }
    }
}

/// Whether an array stores one element for many.
fn is_repeated(array: &Array) -> bool {
    array.rank() > 0 && with_elem!(array.dtype(), E => matches!(array.values::<E>(), Some(Values::Splat(_))))
}
