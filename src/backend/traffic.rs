//! Traffic: the bytes that each step of a plan reads and writes, and the steps for which each buffer lives.
//!
//! Laws: the bytes are those of the operands of the code, once for each time that it reads or writes them, whether a cache
//! has them or not; two buffers that share memory of the workspace do not live at the same time.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::backend::codegen::{CompiledPlan, CompiledStep, PassCode};
use crate::backend::explain::{Clock, lines, written};
use crate::backend::ir::step::{Buffer, BufferId, LoopStep, RowOperand, Step, StepOperand, Storage};
use crate::backend::plan::ResultSource;
use crate::backend::register::RegisterCode;
use crate::backend::tile::{TileCode, TileOperand};
use crate::escape;
use crate::program::Program;
use crate::source::Place;

/// The steps and buffers of a run.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) steps: Vec<StepTraffic>,
    pub(crate) buffers: Vec<BufferLife>,
    /// The number of measured runs; 0 if none was measured.
    pub(crate) runs: usize,
    /// The bytes of the workspace, and those of registers and partial sums.
    pub(crate) block: usize,
    pub(crate) beside: usize,
    /// The number of steps that are in no other step.
    pub(crate) outermost: usize,
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) struct StepTraffic {
    pub(crate) words: String,
    /// The number of steps around it.
    pub(crate) depth: usize,
    /// The number of executions in a run, and their time in microseconds, if that was measured.
    pub(crate) measured: Option<(u64, f64)>,
    /// The bytes read and written by one execution.
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// A buffer, with the first and the last outermost step for which it lives.
#[derive(Clone, Debug)]
pub(crate) struct BufferLife {
    /// Its contents: an input, a constant, a result, a value, or the values of the body of a loop.
    pub(crate) holds: String,
    pub(crate) owner: BufferOwner,
    pub(crate) bytes: usize,
    /// The first byte in the workspace.
    pub(crate) start: Option<usize>,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// Whose memory a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferOwner {
    Input,
    Constant,
    Result,
    Workspace,
    /// The part of the workspace for the body of a loop.
    Body,
}

/// The bytes that a step reads from buffers and writes to them.
type Touched = BTreeMap<BufferId, (u64, u64)>;

/// The steps and buffers of a plan.
pub(crate) fn of(program: &Program, plan: &CompiledPlan, clock: Option<Clock<'_>>) -> Traffic {
    let step = |line: crate::backend::explain::StepLine<'_>| {
        let mut touched = Touched::new();
        touch(line.step, &plan.buffers, &mut touched);
        let measured = clock.map(|(times, runs)| {
            let ((time, count), runs): ((Duration, u64), usize) = (times[line.number], runs.max(1));
            (count / runs as u64, time.as_secs_f64() * 1e6 / runs as f64)
        });
        let (read, wrote) = touched
            .values()
            .fold((0u64, 0u64), |(r, w), (read, wrote)| (r.saturating_add(*read), w.saturating_add(*wrote)));
        let words = line.words + &origin(line.step).map_or_else(String::new, written);
        StepTraffic { words, depth: line.depth, measured, read, written: wrote }
    };
    Traffic {
        steps: lines(plan).into_iter().map(step).collect(),
        buffers: lives(program, plan),
        runs: clock.map_or(0, |(_, runs)| runs),
        block: plan.bytes,
        beside: plan.registers.saturating_add(plan.sums),
        outermost: plan.steps.len(),
    }
}

/// The place of a step, if it is one operation.
fn origin(step: &CompiledStep) -> Option<&Place> {
    match step {
        Step::KernelCall(whole) => Some(&whole.origin),
        Step::Loop(l) => Some(&l.origin),
        Step::Matrices(call) => Some(&call.origin),
        Step::Pass(_) | Step::Interpreted(_) | Step::RowBlocks(_) => None,
    }
}

/// Adds the bytes that a step reads and writes.
fn touch(step: &CompiledStep, buffers: &[Buffer], to: &mut Touched) {
    let width = |buf: BufferId| buffers[buf as usize].dtype.width();
    let mut add = |buf: BufferId, read: usize, written: usize| {
        let (r, w) = to.entry(buf).or_default();
        (*r, *w) = (r.saturating_add(read as u64), w.saturating_add(written as u64));
    };
    let bytes =
        |operand: &StepOperand, len: usize| width(operand.buf).saturating_mul(if operand.one { 1 } else { len });
    match step {
        Step::Pass(PassCode::Tile(code)) => tiles(code, buffers, &mut add),
        Step::Pass(PassCode::Register(code)) => registers(code, &width, &mut add),
        #[cfg(all(feature = "jit", not(target_family = "wasm")))]
        Step::Pass(PassCode::Native(code)) => code.touched.iter().for_each(|(buf, written)| {
            let bytes = buffers[*buf as usize].bytes();
            if *written { add(*buf, 0, bytes) } else { add(*buf, bytes, 0) }
        }),
        Step::KernelCall(whole) => {
            whole.operands.iter().for_each(|(operand, len)| add(operand.buf, bytes(operand, *len), 0));
            add(whole.out, 0, width(whole.out).saturating_mul(whole.size));
        }
        Step::Matrices(call) => {
            call.operands.iter().for_each(|(operand, len)| add(operand.buf, bytes(operand, *len), 0));
            call.out.iter().for_each(|(out, len, dtype)| add(*out, 0, len.saturating_mul(dtype.width())));
        }
        Step::Interpreted(call) => {
            for (operand, shape) in &call.operands {
                add(operand.buf, bytes(operand, crate::shape::size(shape)), 0);
            }
            call.out.iter().for_each(|out| add(*out, 0, buffers[*out as usize].bytes()));
        }
        Step::RowBlocks(blocks) => blocks.steps.iter().for_each(|step| touch(step, buffers, to)),
        Step::Loop(l) => trips(l, buffers, to),
    }
}

/// The bytes of all trips of a loop, as far as its bound is known; rows are those of the stacks outside.
fn trips(l: &LoopStep<PassCode>, buffers: &[Buffer], to: &mut Touched) {
    let mut inside = Touched::new();
    l.body.iter().for_each(|step| touch(step, buffers, &mut inside));
    let outside = |buf: BufferId| {
        let row = l.xs.iter().chain(&l.outputs).find(|row: &&RowOperand| row.row == buf);
        let carry = l.carries.iter().find(|carry| carry.input == buf || carry.output == buf);
        match (row, carry) {
            (Some(row), _) => row.of,
            (None, Some(carry)) => carry.states.map_or(carry.result, |states| states.of),
            (None, None) => buf,
        }
    };
    let n = if l.n == usize::MAX { 1 } else { l.n as u64 };
    for (buf, (read, written)) in inside {
        let (r, w) = to.entry(outside(buf)).or_default();
        (*r, *w) = (r.saturating_add(read.saturating_mul(n)), w.saturating_add(written.saturating_mul(n)));
    }
    for carry in &l.carries {
        let bytes = carry.bytes as u64;
        let read = &mut to.entry(carry.init.buf).or_default().0;
        *read = read.saturating_add(bytes);
        let written = &mut to.entry(carry.result).or_default().1;
        *written = written.saturating_add(bytes);
        let others = carry.other.into_iter().chain(carry.states.map(|states| states.of));
        others.for_each(|buf| _ = to.entry(buf).or_default());
    }
    for row in l.xs.iter().chain(&l.outputs) {
        to.entry(row.of).or_default();
    }
    l.captured.iter().for_each(|buf| _ = to.entry(*buf).or_default());
}

/// The bytes of tile code: operands, views and gathers by element.
fn tiles(code: &TileCode, buffers: &[Buffer], add: &mut dyn FnMut(BufferId, usize, usize)) {
    let width = |buf: BufferId| buffers[buf as usize].dtype.width();
    code.cleared.iter().for_each(|(buf, bytes)| add(*buf, 0, *bytes));
    let all = code.before.iter().map(|i| (i, 1)).chain(code.each.iter().map(|i| (i, code.size)));
    for (instruction, times) in all {
        if let Some(buf) = instruction.item.reads() {
            add(buf, width(buf).saturating_mul(times), 0);
        }
        for operand in instruction.item.operands() {
            match operand {
                TileOperand::Buffer(buf, _) => add(buf, width(buf).saturating_mul(times), 0),
                TileOperand::One(buf, _) => add(buf, width(buf), 0),
                // A view is read by the instruction that resolves it.
                TileOperand::Register(_) | TileOperand::View(_) => {}
            }
        }
        if let Some(buf) = instruction.item.writes() {
            add(buf, 0, width(buf).saturating_mul(times));
        } else if let TileOperand::Buffer(buf, _) = instruction.out
            && instruction.item.reads() != Some(buf)
        {
            add(buf, 0, width(buf).saturating_mul(times));
        }
    }
}

/// The bytes of register code over all its trips, as far as their number is known.
fn registers(code: &RegisterCode, width: &dyn Fn(BufferId) -> usize, add: &mut dyn FnMut(BufferId, usize, usize)) {
    let n = if code.n == usize::MAX { 1 } else { code.n };
    code.cleared.iter().for_each(|(buf, bytes)| add(*buf, 0, *bytes));
    code.loaded().for_each(|(buf, count)| add(buf, width(buf).saturating_mul(count), 0));
    for element in code.moving() {
        let bytes = width(element.buf).saturating_mul(n);
        if element.is_read() { add(element.buf, bytes, 0) } else { add(element.buf, 0, bytes) }
    }
    for instruction in &code.tiles {
        if let Some(buf) = instruction.item.reads() {
            add(buf, width(buf).saturating_mul(n), 0);
        }
        if let Some(buf) = instruction.item.writes() {
            add(buf, 0, width(buf).saturating_mul(n));
        }
        for operand in instruction.item.operands().into_iter().chain([instruction.out]) {
            if let TileOperand::Buffer(buf, _) | TileOperand::One(buf, _) = operand {
                add(buf, 0, 0);
            }
        }
    }
    code.stores.iter().for_each(|(_, dtype, buf, _)| add(*buf, 0, dtype.width()));
}

/// The lives of the buffers that outermost steps touch, and of the bodies of loops.
fn lives(program: &Program, plan: &CompiledPlan) -> Vec<BufferLife> {
    let mut touches: BTreeMap<BufferId, (usize, usize)> = BTreeMap::new();
    let mut bodies = Vec::new();
    for (at, step) in plan.steps.iter().enumerate() {
        let mut touched = Touched::new();
        touch(step, &plan.buffers, &mut touched);
        touched.keys().for_each(|buf| touches.entry(*buf).or_insert((at, at)).1 = at);
        if let Step::Loop(l) = step
            && l.bytes > 0
        {
            let holds = "values of the body of a loop".to_owned();
            let (owner, bytes, start) = (BufferOwner::Body, l.bytes, Some(l.start));
            bodies.push(BufferLife { holds, owner, bytes, start, first: at, last: at });
        }
    }
    let last = plan.steps.len().saturating_sub(1);
    let result = |buf: BufferId| plan.outputs.iter().position(|found| *found == ResultSource::Buffer(buf));
    let life = |(buf, (first, end)): (BufferId, (usize, usize))| {
        let buffer = &plan.buffers[buf as usize];
        let named = |k: usize, slots: &[crate::program::Slot], word: &str| match slots[k].name.as_str() {
            "" => format!("{word} {k}"),
            name => format!("{word} {}", escape::name(name)),
        };
        let (owner, start) = match buffer.storage {
            Storage::Input => (BufferOwner::Input, None),
            Storage::Constant(_) => (BufferOwner::Constant, None),
            Storage::Output => (BufferOwner::Result, None),
            Storage::Workspace(start) if buffer.depth == 0 => (BufferOwner::Workspace, Some(start)),
            // Of the body of a loop.
            Storage::Workspace(_) | Storage::Loop => return None,
        };
        let (holds, end) = match (owner, result(buf)) {
            (BufferOwner::Input, _) => (named(buf as usize, program.inputs(), "input"), end),
            (BufferOwner::Constant, _) => ("constant".to_owned(), end),
            (BufferOwner::Result | BufferOwner::Workspace | BufferOwner::Body, Some(k)) => {
                (named(k, program.outputs(), "result"), last)
            }
            (BufferOwner::Result | BufferOwner::Workspace | BufferOwner::Body, None) => ("value".to_owned(), end),
        };
        let holds = format!("{holds}, {} of {}", buffer.size, buffer.dtype);
        Some(BufferLife { holds, owner, bytes: buffer.bytes(), start, first, last: end })
    };
    let mut all: Vec<BufferLife> = touches.into_iter().filter_map(life).chain(bodies).collect();
    crate::order::sort_by_key(&mut all, |life| (life.first, life.last));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{compile, compile_in_least_memory, compile_in_small_blocks};
    use crate::program::Term;
    use crate::tensor::{Tensor, iterate, map, scan};

    type Vector = Tensor<Term, 1>;

    fn program(f: impl Fn(&Vector) -> Vector) -> Program {
        let x = Term::variable(&[4000], crate::dtype::DType::F64);
        let y = f(&Vector::from_raw(x.clone())).into_raw();
        Term::program(&[x], &[y], &["x".into()]).expect("a closed program")
    }

    fn programs() -> Vec<Program> {
        let layer = |x: Vector| x.cumsum(0).sin() + x.reverse(0) * 0.5;
        vec![
            program(|x| x.sin()),
            program(|x| (0..6).fold(x.clone(), |y, _| layer(y))),
            program(|x| iterate(7, x.clone(), |_, y: Vector| layer(y.cumsum(0)))),
            program(|x| scan(x.at([0]), x, |h: Tensor<Term, 0>, x: &Tensor<Term, 0>| h.sin() * 0.5 + x)),
            program(|x| map(x.reshape::<2>([40, 100]), |row: &Vector| (row - row.logsumexp()).exp()).reshape([4000])),
            program(|x| x.sort(0).cumsum(0).sort(0)),
        ]
    }

    #[test]
    fn buffers_that_share_memory_live_at_different_times() {
        for program in programs() {
            for run in [compile(&program), compile_in_small_blocks(&program), compile_in_least_memory(&program)] {
                let Traffic { buffers, block, outermost, .. } = run.traffic(None, &|_| 0);
                let place = |life: &BufferLife| life.start.map(|start| start..start + life.bytes);
                for (k, a) in buffers.iter().enumerate() {
                    assert!(a.first <= a.last && a.last < outermost, "{a:?}");
                    for b in &buffers[..k] {
                        let (Some(p), Some(q)) = (place(a), place(b)) else { continue };
                        assert!(p.end <= block && q.end <= block);
                        let apart = p.end <= q.start || q.end <= p.start;
                        assert!(apart || a.last < b.first || b.last < a.first, "{a:?} and {b:?} of {program}");
                    }
                }
            }
        }
    }

    /// An elementwise function reads its operand once, and writes its result once.
    #[test]
    fn bytes_are_those_of_operands() {
        let traffic = compile(&programs()[0]).traffic(None, &|_| 0);
        assert_eq!(traffic.steps.len(), 1);
        assert_eq!((traffic.steps[0].read, traffic.steps[0].written), (32000, 32000));
        let holds: Vec<&str> = traffic.buffers.iter().map(|life| life.holds.as_str()).collect();
        assert_eq!(holds, ["input x, 4000 of f64", "result 0, 4000 of f64"]);
    }
}
