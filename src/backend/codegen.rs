//! Code generation: every fusion group becomes tile code or register code, and steps are numbered.
//!
//! A fusion group of one position, or a loop that contains only such groups, becomes register code ([`register`]).
//! Every other group becomes tile code ([`tile`]).
//!
//! Law: code generation keeps the order of steps, and numbers the steps of a list before the steps of their bodies. A
//! step that runs in parts contains no other step that runs in parts.

use super::ir::fusion::FusionGroup;
use super::ir::limits::Limits;
use super::ir::step::{Buffer, BufferId, FusedStep, KernelOp, LoopStep, RowBlocks, Step, Storage};
use super::lower::known_number;
#[cfg(all(feature = "jit", not(target_family = "wasm")))]
use super::native_code::{NativeCode, NativeCompiler, selection};
use super::plan::halo::FullPass;
use super::plan::partition::Partition;
use super::plan::{Plan, ResultSource};
use super::register::{self, Numbers, RegisterCode};
use super::tile;
use crate::array::Array;

/// The code of a pass.
pub(crate) enum PassCode {
    /// Tile code.
    Tile(tile::TileCode),
    /// Register code of a group of one position, or of a loop of such groups.
    Register(Box<RegisterCode>),
    /// Native code of several steps.
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    Native(Box<NativeCode>),
}

/// An executable step.
pub(crate) type CompiledStep = Step<PassCode>;

/// A plan with its code.
pub(crate) struct CompiledPlan {
    pub(crate) steps: Vec<CompiledStep>,
    /// The number of steps, those of bodies included.
    pub(crate) count: usize,
    pub(crate) buffers: Vec<Buffer>,
    /// The number of inputs, whose buffers come first.
    pub(crate) inputs: usize,
    pub(crate) constants: Vec<Array>,
    /// Location of each result.
    pub(crate) outputs: Vec<ResultSource>,
    /// Bytes of the workspace block, of the registers of the largest group, and of the partial sums of a partitioned
    /// step.
    pub(crate) bytes: usize,
    pub(crate) registers: usize,
    pub(crate) sums: usize,
    /// About the bytes of the tables of Fourier transforms, and of the memory for the lines of the largest.
    pub(crate) transforms: usize,
    /// The partition of each partitioned step, by step number.
    pub(crate) parts: Vec<Option<Box<Partition>>>,
}

impl CompiledPlan {
    /// Bytes that a run on one thread allocates besides inputs and results.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.saturating_add(self.registers).saturating_add(self.sums).saturating_add(self.transforms)
    }
}

/// Generates the code of a plan.
pub(crate) fn generate(plan: Plan, limits: Limits) -> CompiledPlan {
    let Plan { steps, buffers, inputs, constants, outputs, bytes } = plan;
    let number = |buf: BufferId, at: usize| match buffers[buf as usize].storage {
        Storage::Constant(k) => known_number(&constants[k], at),
        Storage::Input | Storage::Output | Storage::Workspace(_) | Storage::Loop => None,
    };
    let mut generator = Generator {
        buffers: &buffers,
        number: &number,
        limits,
        next: 0,
        registers: 0,
        transforms: [0; 2],
        parts: Vec::new(),
        #[cfg(all(feature = "jit", not(target_family = "wasm")))]
        native: NativeSteps::new(&steps, &buffers, &constants, &outputs),
    };
    let steps = generator.steps(steps, Some(limits.halo), true);
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    std::mem::take(&mut generator.native.compiler).finish();
    let Generator { next: count, registers, transforms: [tables, lines], parts, .. } = generator;
    let transforms = tables.saturating_add(lines);
    let sums = parts.iter().flatten().map(|parts| parts.all_bytes()).max().unwrap_or_default();
    CompiledPlan { steps, count, buffers, inputs, constants, outputs, bytes, registers, sums, transforms, parts }
}

struct Generator<'a> {
    buffers: &'a [Buffer],
    number: Numbers<'a>,
    limits: Limits,
    /// The number of the next step.
    next: usize,
    /// The bytes of the registers of the largest group so far.
    registers: usize,
    /// The bytes of the tables of transforms so far, and of the lines of the largest.
    transforms: [usize; 2],
    parts: Vec<Option<Box<Partition>>>,
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    native: NativeSteps<'a>,
}

/// A step whose code is to be generated.
enum Ungenerated {
    Step(FusedStep),
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    Native(NativeCode),
}

/// What decides which steps become native code.
#[cfg(all(feature = "jit", not(target_family = "wasm")))]
struct NativeSteps<'a> {
    compiler: NativeCompiler,
    constants: &'a [Array],
    results: Vec<BufferId>,
    /// The number of steps that touch each buffer.
    uses: Vec<usize>,
}

#[cfg(all(feature = "jit", not(target_family = "wasm")))]
impl<'a> NativeSteps<'a> {
    fn new(
        steps: &[FusedStep],
        buffers: &[Buffer],
        constants: &'a [Array],
        outputs: &[ResultSource],
    ) -> NativeSteps<'a> {
        let uses = selection::uses(steps, buffers.len());
        NativeSteps { compiler: NativeCompiler::default(), constants, results: super::plan::kept(outputs), uses }
    }
}

impl Generator<'_> {
    /// The steps, with neighbours that are faster so as native code.
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    fn with_native(&mut self, steps: Vec<FusedStep>, whole: bool) -> Vec<Ungenerated> {
        let mut made = Vec::with_capacity(steps.len());
        let mut run: Vec<FusedStep> = Vec::new();
        for step in steps {
            if whole && self.pays_native(&step) {
                run.push(step);
                continue;
            }
            self.close_run(&mut run, &mut made);
            made.push(Ungenerated::Step(step));
        }
        self.close_run(&mut run, &mut made);
        made
    }

    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    fn pays_native(&self, step: &FusedStep) -> bool {
        if !selection::pays(step) || Partition::of(step, self.buffers, self.limits.partition).is_some() {
            return false;
        }
        let Step::Loop(l) = step else { return true };
        // A recurrence of one multiplication and one addition has separate code.
        !(l.stacked() == 0 && register::trips(l, self.buffers, self.number).is_some_and(|code| code.affine.is_some()))
    }

    /// Ends a run of steps.
    #[cfg(all(feature = "jit", not(target_family = "wasm")))]
    fn close_run(&mut self, run: &mut Vec<FusedStep>, made: &mut Vec<Ungenerated>) {
        let steps = std::mem::take(run);
        if steps.is_empty() {
            return;
        }
        let here = selection::uses(&steps, self.buffers.len());
        let NativeSteps { compiler, constants, results, uses } = &mut self.native;
        let is_local = |buf: BufferId| selection::is_local(buf, self.buffers, uses, &here, results);
        match compiler.compile(&steps, self.buffers, constants, &is_local) {
            Some(code) => made.push(Ungenerated::Native(code)),
            None => made.extend(steps.into_iter().map(Ungenerated::Step)),
        }
    }

    #[cfg(not(all(feature = "jit", not(target_family = "wasm"))))]
    fn with_native(&mut self, steps: Vec<FusedStep>, _: bool) -> Vec<Ungenerated> {
        steps.into_iter().map(Ungenerated::Step).collect()
    }

    /// Generates the code of steps. `halo` is the limit for halo peeling, if groups run over all their positions at
    /// once; `whole` says that no enclosing step is partitioned.
    fn steps(&mut self, steps: Vec<FusedStep>, halo: Option<(usize, usize)>, whole: bool) -> Vec<CompiledStep> {
        let steps = self.with_native(steps, whole);
        let first = self.next;
        self.next += steps.len();
        self.parts.resize_with(self.next, || None);
        let mut made = Vec::with_capacity(steps.len());
        for (number, step) in (first..).zip(steps) {
            let step = match step {
                Ungenerated::Step(step) => step,
                #[cfg(all(feature = "jit", not(target_family = "wasm")))]
                Ungenerated::Native(code) => {
                    made.push(Step::Pass(PassCode::Native(Box::new(code))));
                    continue;
                }
            };
            let parts = if whole { Partition::of(&step, self.buffers, self.limits.partition) } else { None };
            let whole = whole && parts.is_none();
            let step = match step {
                Step::Pass(group) => Step::Pass(self.group(group, halo)),
                Step::Loop(l) => self.trips(*l, halo.filter(|_| whole), whole),
                Step::RowBlocks(blocks) => {
                    let RowBlocks { rows, block, steps, first: _, local, whole, uses } = *blocks;
                    let first = self.next;
                    let steps = self.steps(steps, None, false);
                    Step::RowBlocks(Box::new(RowBlocks { rows, block, steps, first, local, whole, uses }))
                }
                Step::KernelCall(whole) => {
                    if let KernelOp::Fourier(transform) = &whole.op {
                        let [tables, lines] = transform.bytes();
                        self.transforms = [self.transforms[0].saturating_add(tables), self.transforms[1].max(lines)];
                    }
                    Step::KernelCall(whole)
                }
                Step::Matrices(call) => Step::Matrices(call),
                Step::Interpreted(call) => Step::Interpreted(call),
            };
            if let Step::Pass(code) = &step {
                self.registers = self.registers.max(code.bytes());
            }
            let apart = !matches!(step, Step::Pass(PassCode::Register(_)));
            self.parts[number] = parts.map(Box::new).filter(|_| apart);
            made.push(step);
        }
        made
    }

    fn group(&mut self, group: FusionGroup, halo: Option<(usize, usize)>) -> PassCode {
        if group.size == 1 {
            return PassCode::Register(Box::new(register::group(&group, self.buffers, self.number)));
        }
        let whole = halo.map(|limits| FullPass { buffers: self.buffers, limits });
        PassCode::Tile(group.code(self.number, whole))
    }

    fn trips(&mut self, l: LoopStep<FusionGroup>, halo: Option<(usize, usize)>, whole: bool) -> CompiledStep {
        if l.stacked() == 0
            && let Some(code) = register::trips(&l, self.buffers, self.number)
        {
            return Step::Pass(PassCode::Register(Box::new(code)));
        }
        let LoopStep { n, reverse, ends, body, first: _, carries, xs, outputs, captured, bytes, start, origin } = l;
        let first = self.next;
        let body = self.steps(body, halo, whole);
        let l = LoopStep { n, reverse, ends, body, first, carries, xs, outputs, captured, bytes, start, origin };
        Step::Loop(Box::new(l))
    }
}

impl PassCode {
    /// The bytes of the registers.
    fn bytes(&self) -> usize {
        match self {
            PassCode::Tile(code) => code.halo.iter().fold(code.bytes, |bytes, side| bytes.max(side.bytes)),
            PassCode::Register(code) => code.bytes,
            #[cfg(all(feature = "jit", not(target_family = "wasm")))]
            PassCode::Native(_) => 0,
        }
    }
}
