//! The executor: runs the steps of a compiled plan on its buffers.
//!
//! Law: a run writes the workspace, the registers, the partial sums and the outputs, and nothing else. In steady state
//! it allocates only for interpreted operations, and for inputs that store one element for many.

#![allow(unsafe_code)]

pub(crate) mod idle;
mod kernel_calls;
mod row_blocks;
mod workers;

use std::time::{Duration, Instant};

use crate::array::{Array, Values, pool, with_elem, with_float};
use crate::backend::codegen::{CompiledPlan, CompiledStep, PassCode};
use crate::backend::ir::step::{
    Buffer, BufferId, Carry, Interpreted, LoopStep, RowOperand, RowRange, States, Step, StepOperand, Storage,
};
use crate::backend::memory::{AddressTable, Block, SlicePlace};
use crate::backend::plan::ResultSource;
use crate::backend::plan::partition::Partition;
use crate::backend::register;
use crate::backend::tile::machine;
use crate::dtype::Elem;
use crate::kernels::contract::Scratch;
use crate::kernels::elementwise::Isa;
use crate::kernels::fourier;
use crate::kernels::sorting::Room;
use crate::program::interpret;

/// The rows for which steps run, and the partitions of steps.
#[derive(Clone, Copy)]
pub(crate) struct Context<'p> {
    /// The range of rows.
    pub(crate) span: RowRange,
    /// Buffers that are cleared as a whole, not row by row.
    pub(crate) all: &'p [BufferId],
    /// The partitions of steps that run in parts, by step number.
    pub(crate) parts: &'p [Option<Box<Partition>>],
}

impl Context<'_> {
    /// All rows, without partitions.
    pub(crate) const ALL: Context<'static> = Context { span: RowRange::ALL, all: &[], parts: &[] };
}

/// The memory of an executable, for one run at a time.
pub(crate) struct Memory {
    pub(crate) table: AddressTable,
    pub(crate) workspace: Block,
    pub(crate) registers: Block,
    /// The partial sums of the parts of a step.
    pub(crate) sums: Block,
    /// The memories of further threads, for parts of steps.
    pub(crate) others: Vec<Memory>,
    pub(crate) isa: Isa,
    pub(crate) scratch: Scratch,
    /// Memory for a line that is sorted.
    pub(crate) sorting: Room,
    /// Memory for lines that are transformed.
    pub(crate) transforms: fourier::Room,
    /// The inputs of a run, if the run has no others.
    pub(crate) inputs: Vec<Array>,
    /// The results of the last run, whose memory the next one takes if the caller has dropped them.
    pub(crate) results: Vec<Array>,
    /// The total time and the number of executions of each step, if they are measured.
    pub(crate) clock: Option<Vec<(Duration, u64)>>,
}

impl Memory {
    /// Memory for a plan; `None` if it cannot be allocated.
    pub(crate) fn new(plan: &CompiledPlan, isa: Isa) -> Option<Memory> {
        // The memory that transforms take is allocated in the first run; here only the possibility is checked.
        Vec::<u8>::new().try_reserve_exact(plan.transforms).ok()?;
        let mut memory = Memory::helper(plan.registers, isa)?;
        memory.table = AddressTable::new(plan.buffers.len());
        (memory.workspace, memory.sums) = (Block::new(plan.bytes)?, Block::new(plan.sums)?);
        let start = memory.workspace.start();
        for (buf, buffer) in (0..).zip(&plan.buffers) {
            match buffer.storage {
                // Safety: the planner has given the buffer these bytes of the block, which lives as long as the table.
                Storage::Workspace(at) => unsafe { memory.table.set(buf, start.wrapping_add(at), buffer.bytes()) },
                Storage::Constant(k) => {
                    let dense = memory.set_array(buf, buffer, &plan.constants[k]);
                    debug_assert!(dense, "a constant is stored element by element");
                }
                Storage::Input | Storage::Output | Storage::Loop => {}
            }
        }
        Some(memory)
    }

    /// About the bytes that the memory holds between runs.
    pub(crate) fn bytes(&self) -> usize {
        let blocks = self.workspace.bytes() + self.registers.bytes() + self.sums.bytes();
        let rooms = self.sorting.bytes() + self.transforms.bytes();
        let dense = |y: &&Array| y.address().is_some();
        let results: usize = self.results.iter().filter(dense).map(|y| y.size() * y.dtype().width()).sum();
        blocks + rooms + results + self.others.iter().map(Memory::bytes).sum::<usize>()
    }

    /// Memory without buffers, with `registers` bytes of registers; `None` if they cannot be allocated.
    pub(crate) fn helper(registers: usize, isa: Isa) -> Option<Memory> {
        Some(Memory {
            table: AddressTable::new(0),
            workspace: Block::EMPTY,
            registers: Block::new(registers)?,
            sums: Block::EMPTY,
            others: Vec::new(),
            isa,
            scratch: Scratch::default(),
            sorting: Room::default(),
            transforms: fourier::Room::default(),
            inputs: Vec::new(),
            results: Vec::new(),
            clock: None,
        })
    }

    /// Sets a buffer to the elements of an array, which is only read; returns whether the array stores them one by one.
    fn set_array(&mut self, buf: BufferId, buffer: &Buffer, array: &Array) -> bool {
        debug_assert_eq!((array.size(), array.dtype()), (buffer.size, buffer.dtype));
        let Some(at) = array.address() else { return false };
        // Safety: no step writes inputs or constants; the caller keeps the array during the run.
        unsafe { self.table.set(buf, at.cast_mut(), buffer.bytes()) }
        true
    }

    /// Sets a buffer to a slice that the run writes.
    fn set_output<E: Elem>(&mut self, buf: BufferId, out: &mut [E]) {
        // Safety: the caller lends the slice for the run.
        unsafe { self.table.set(buf, out.as_mut_ptr().cast(), std::mem::size_of_val(out)) }
    }

    /// Runs a plan on inputs that fit, into outputs that fit.
    pub(crate) fn run(&mut self, plan: &CompiledPlan, inputs: &[Array], outputs: &mut [Array]) {
        // The buffers of the inputs come first.
        let mut dense = true;
        for ((buf, buffer), array) in (0..).zip(&plan.buffers).zip(inputs) {
            dense &= self.set_array(buf, buffer, array);
        }
        if !dense {
            return self.run_written_out(plan, inputs, outputs);
        }
        for (found, out) in plan.outputs.iter().zip(&mut *outputs) {
            match found {
                ResultSource::Input(buf) => *out = inputs[*buf as usize].clone(),
                ResultSource::Buffer(buf) => {
                    let buffer = &plan.buffers[*buf as usize];
                    if let Storage::Output = buffer.storage {
                        with_elem!(buffer.dtype, E => self.set_output(*buf, out.make_dense::<E>()));
                    }
                }
            }
        }
        self.steps(&plan.steps, 0, Context { parts: &plan.parts, ..Context::ALL });
        for (found, out) in plan.outputs.iter().zip(outputs) {
            if let (ResultSource::Buffer(buf), 0) = (found, out.rank()) {
                // Safety: the run has written the buffer.
                with_elem!(out.dtype(), E => *out = Array::scalar(unsafe { self.table.read::<E>(*buf, 0, 1) }[0]));
            }
        }
    }

    /// [`run`](Self::run) for inputs that may store one element for many: these are written out.
    #[cold]
    fn run_written_out(&mut self, plan: &CompiledPlan, inputs: &[Array], outputs: &mut [Array]) {
        let mut written_out = inputs.to_vec();
        for array in written_out.iter_mut().filter(|array| array.address().is_none()) {
            with_elem!(array.dtype(), E => {
                array.make_dense::<E>();
            });
        }
        self.run(plan, &written_out, outputs);
        for (found, out) in plan.outputs.iter().zip(outputs) {
            if let ResultSource::Input(buf) = found {
                *out = inputs[*buf as usize].clone();
            }
        }
    }

    /// Runs a plan whose inputs and results all have elements of one type, on slices in place: the elements of all
    /// inputs, one input after the other, first from one slice and then from another, and those of all results in the same way.
    pub(crate) fn run_flat<E: Elem>(&mut self, plan: &CompiledPlan, x: [&[E]; 2], results: [&mut [E]; 2]) {
        let [mut here, mut after] = x;
        for (buf, buffer) in (0..).zip(&plan.buffers[..plan.inputs]) {
            // No input lies in both slices.
            if here.len() < buffer.size {
                std::mem::swap(&mut here, &mut after);
            }
            let (input, rest) = here.split_at(buffer.size);
            // Safety: no step writes inputs; the caller lends the slice for the run.
            unsafe { self.table.set(buf, input.as_ptr().cast_mut().cast(), size_of_val(input)) }
            here = rest;
        }
        let [first, second] = results;
        let mut parts = RunParts([&mut *first, &mut *second]);
        for found in &plan.outputs {
            let (buf, buffer) = found.buffer(&plan.buffers);
            let part = parts.next(buffer.size);
            if let (ResultSource::Buffer(_), Storage::Output) = (found, buffer.storage) {
                self.set_output(buf, part);
            }
        }
        self.steps(&plan.steps, 0, Context { parts: &plan.parts, ..Context::ALL });
        let mut parts = RunParts([first, second]);
        for found in &plan.outputs {
            let (buf, buffer) = found.buffer(&plan.buffers);
            let part = parts.next(buffer.size);
            if let (ResultSource::Buffer(_), Storage::Output) = (found, buffer.storage) {
                continue;
            }
            // Safety: the run has written the buffer, or it is an input.
            part.copy_from_slice(unsafe { self.table.read::<E>(buf, 0, buffer.size) });
        }
    }

    /// Runs a plan on slices that fit its inputs and results, in place. The caller lends them for the run: those of
    /// results to this run alone.
    pub(crate) fn run_places(&mut self, plan: &CompiledPlan, inputs: &[SlicePlace], results: &[SlicePlace]) {
        for ((buf, buffer), input) in (0..).zip(&plan.buffers).zip(inputs) {
            // Safety: no step writes inputs; the slice has the elements of the buffer.
            unsafe { self.table.set(buf, input.at, buffer.bytes()) }
        }
        let in_place = |found: &ResultSource| match found {
            ResultSource::Input(_) => false,
            ResultSource::Buffer(buf) => matches!(plan.buffers[*buf as usize].storage, Storage::Output),
        };
        for (found, result) in plan.outputs.iter().zip(results).filter(|(found, _)| in_place(found)) {
            let (buf, buffer) = found.buffer(&plan.buffers);
            // Safety: as for inputs; the caller has no other reference to the slice.
            unsafe { self.table.set(buf, result.at, buffer.bytes()) }
        }
        self.steps(&plan.steps, 0, Context { parts: &plan.parts, ..Context::ALL });
        for (found, result) in plan.outputs.iter().zip(results).filter(|(found, _)| !in_place(found)) {
            let (buf, buffer) = found.buffer(&plan.buffers);
            // Safety: the run has written the buffer, or it is an input, and the slice has as many elements.
            with_elem!(result.dtype, E => unsafe {
                let elements = self.table.read::<E>(buf, 0, buffer.size);
                std::slice::from_raw_parts_mut(result.at.cast::<E>(), result.len).copy_from_slice(elements);
            });
        }
    }

    /// Runs steps; `first` is the number of the first one.
    pub(crate) fn steps(&mut self, steps: &[CompiledStep], first: usize, frame: Context<'_>) {
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

    /// Runs one step, without a partition for it.
    pub(crate) fn step(&mut self, step: &CompiledStep, frame: Context<'_>) {
        match step {
            Step::Pass(PassCode::Tile(code)) => {
                machine::clear(code, &mut self.table, frame.span, frame.all);
                machine::run(code, &self.table, &mut self.registers, self.isa, frame.span);
            }
            Step::Pass(PassCode::Register(code)) => register::run(code, &mut self.table, &mut self.registers, self.isa),
            #[cfg(all(feature = "jit", not(target_family = "wasm")))]
            Step::Pass(PassCode::Native(code)) => code.run(&self.table),
            Step::KernelCall(whole) => self.whole(whole, frame.span, frame.all),
            Step::Loop(l) => self.trips(l, frame),
            Step::Matrices(call) => with_float!(call.dtype, E => self.matrices::<E>(call)),
            Step::Interpreted(call) => self.call(call),
            Step::RowBlocks(blocks) => self.blocks(blocks, frame.span),
        }
    }

    pub(crate) fn slice<E: Elem>(&self, operand: &StepOperand, len: usize) -> &[E] {
        // Safety: see `memory.rs`.
        unsafe { self.table.read(operand.buf, operand.at, if operand.one { 1 } else { len }) }
    }

    /// Runs the trips of a loop for a range of rows.
    fn trips(&mut self, l: &LoopStep<PassCode>, frame: Context<'_>) {
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

    /// Restricts a buffer to the rows that run.
    #[inline]
    fn narrow(&mut self, buf: BufferId, bytes: usize, span: RowRange) {
        if span.rows > 1 {
            self.table.narrow(buf, span.of(bytes));
        }
    }

    /// Whether the first carry of a loop, a mask, is true.
    fn goes_on(&self, l: &LoopStep<PassCode>) -> bool {
        // Safety: see `memory.rs`.
        let go: &[bool] = unsafe { self.table.read(l.carries[0].input, 0, 1) };
        go[0]
    }

    /// Copies the carries of a loop that has exited after `trips` trips to the buffers of its results.
    fn end(&mut self, l: &LoopStep<PassCode>, trips: usize, span: RowRange) {
        for carry in &l.carries {
            // The double buffering was set up so that the last of all `n` trips would write the result.
            if carry.other.is_some() && (l.n - trips) % 2 == 1 {
                self.table.copy(carry.input, 0, carry.result, span.of(carry.bytes));
            }
        }
    }

    /// Sets a buffer to the state of a carry after `trips` trips: a row of the stack, or a buffer next to it.
    fn set_state(&mut self, buf: BufferId, carry: &Carry, states: States, trips: usize, l: &LoopStep<PassCode>) {
        match (states.row(trips, l.n, l.reverse), carry.other) {
            (Some(i), _) => {
                self.table.set_row(&RowOperand { row: buf, of: states.of, start: 0, bytes: carry.bytes }, i);
            }
            (None, Some(first)) if trips == 0 => self.table.set_same(buf, first),
            (None, _) => self.table.set_same(buf, carry.result),
        }
    }

    /// Sets the buffers of a carry such that the last trip writes the result, and copies a range of rows of the initial
    /// value to the buffer that the first trip reads.
    fn start(&mut self, carry: &Carry, l: &LoopStep<PassCode>, span: RowRange) {
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
            return self.table.copy(init.buf, init.at * width, carry.input, part);
        }
        with_elem!(carry.dtype, E => {
            let x = self.slice::<E>(init, 1)[0];
            // Safety: see `memory.rs`.
            unsafe { self.table.write::<E>(carry.input, part.start / width, part.len() / width) }.fill(x);
        });
    }

    fn call(&mut self, call: &Interpreted) {
        let inputs = call.operands.iter().zip(call.program.inputs()).map(|((operand, shape), buf)| {
            let size = crate::shape::size(shape);
            with_elem!(buf.dtype, E => {
                let elements = self.slice::<E>(operand, size);
                if operand.one { Array::full(shape, elements[0]) } else { Array::new(shape, pool::collected(elements.iter().copied())) }
            })
        });
        for (result, out) in interpret(&call.program, inputs.collect()).into_iter().zip(&call.out) {
            with_elem!(result.dtype(), E => {
                // Safety: see `memory.rs`.
                let out: &mut [E] = unsafe { self.table.write(*out, 0, result.size()) };
                match result.typed::<E>() {
                    Values::Splat(x) => out.fill(x),
                    Values::Dense(v) => out.copy_from_slice(v),
                }
            });
        }
    }
}

/// The elements of results, one result after the other, in two slices.
struct RunParts<'a, E>([&'a mut [E]; 2]);

impl<'a, E> RunParts<'a, E> {
    /// The slice of the next result, of `len` elements; no result lies in both slices.
    fn next(&mut self, len: usize) -> &'a mut [E] {
        let RunParts([here, after]) = self;
        if here.len() < len {
            std::mem::swap(here, after);
        }
        let (part, rest) = std::mem::take(here).split_at_mut(len);
        *here = rest;
        part
    }
}
