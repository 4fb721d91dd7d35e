//! The compiler: programs become plans of fused passes over buffers, which run many times.
//!
//! Law: an [`Executable`] agrees with [`interpret`](crate::program::interpret) at arrays, within the rounding that the
//! kernels document. An operation without a kernel is executed by the interpreter of arrays.
//!
//! Elementary functions, reductions (see `kernels/elementwise`) and products of arrays may round differently than in
//! the interpreter. Elementwise sums, differences, products and quotients, fused in superinstructions or not, have the
//! same bits: each is rounded by itself, on every machine.
//!
//! ```text
//! Program -lower-> steps over values -plan-> steps over buffers -codegen-> tile, register and native code -run-> arrays
//! ```
//!
//! | module | does |
//! |---|---|
//! | `ir` | what stages share: steps, buffers, fusion groups, strided accesses, thresholds |
//! | `memory` | blocks of bytes, and the table of addresses |
//! | `lower` | operations, views and loops to steps; loop interchange |
//! | `plan` | row-block fusion, buffer assignment by liveness, parallel partition, halo peeling |
//! | `trees` | imperative trees of steps, which source code and native code are made of |
//! | `tile` | code for tiles: superinstructions, register assignment, and the machine that runs it |
//! | `register` | code for single numbers: SSA, list scheduling, register assignment, and the machine that runs it |
//! | `native_code` | machine code for steps over numbers and small arrays, with the feature `jit` |
//! | `codegen` | chooses among these for each group, and numbers the steps |
//! | `run` | the executor: steps, row blocks, kernel calls, workers |
//! | `lent` | runs on slices of the caller |
//! | `outline` | loops with equal bodies, compiled once |
//! | `explain` | the compiled plan as text |
//! | `traffic` | what steps read and write, and how long buffers live |
//!
//! Law: a stage refers only to the stages above it in this table.

pub(crate) mod codegen;
pub(crate) mod explain;
pub(crate) mod ir;
mod lent;
pub(crate) mod lower;
pub(crate) mod memory;
#[cfg(all(feature = "jit", not(target_family = "wasm")))]
pub(crate) mod native_code;
mod outline;
pub(crate) mod plan;
pub(crate) mod register;
pub(crate) mod run;
#[cfg(test)]
mod tests;
pub(crate) mod tile;
pub(crate) mod traffic;
#[cfg(feature = "emission")]
pub(crate) mod trees;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::array::{Array, Values, with_elem};
use crate::cost::{Cost, MACHINE};
use crate::dtype::Elem;
use crate::kernels::elementwise::Isa;
use crate::passes::{self, Phase};
use crate::program::{Program, Slot, check_inputs};
use crate::shape::Show;
use codegen::CompiledPlan;
use ir::limits::Limits;
pub use lent::{LentSlice, LentSliceMut};
use outline::outlined;
use plan::ResultSource;
use plan::recompute::{LeastBytes, Recomputed};
use run::Memory;
use run::idle::{IdleMemories, TakenMemory};
pub use tile::superinstructions::Superinstructions;
use traffic::Traffic;

/// A compiled program, which runs many times.
///
/// ```
/// use polygrad::backend::{Executable, compile};
/// use polygrad::{Array, Function, tensor};
/// let f = Function::value_and_grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
/// let run: Executable = compile(f.optimized());
/// assert_eq!(run.program(), f.optimized());
/// assert_eq!(run.run(&[Array::from([3.0, 4.0])]), [Array::scalar(25.0), Array::from([6.0, 8.0])]);
/// ```
pub struct Executable {
    program: Program,
    plan: Arc<CompiledPlan>,
    /// Whether a run may fail: the program has checks.
    has_checks: bool,
    /// The values that a run computes again to take less memory.
    recomputed: Recomputed,
    /// Memories of finished runs, which later runs reuse.
    idle: IdleMemories,
}

/// Whether the environment asks for interpretation: `POLYGRAD_INTERPRET=1`.
pub(crate) fn is_off() -> bool {
    static OFF: OnceLock<bool> = OnceLock::new();
    *OFF.get_or_init(|| std::env::var_os("POLYGRAD_INTERPRET").is_some_and(|value| value == "1"))
}

/// Whether compiling a program that runs once is estimated to take less time than interpreting it.
pub(crate) fn pays_once(program: &Program) -> bool {
    let Cost { calls, work, .. } = program.estimate().cost;
    let elements = work.saturating_add(calls.saturating_mul(MACHINE.interpreted_call));
    elements / MACHINE.compiled_operation > program.size() as u64
}

/// Compiles a program.
///
/// Example: [`Executable`].
pub fn compile(program: &Program) -> Executable {
    compile_within(program, Limits::DEFAULT)
}

/// Compiles a program with the limits for tests: row blocks wherever they are possible, whatever the sizes of arrays,
/// and no scalar replacement in loops over small arrays.
pub(crate) fn compile_in_small_blocks(program: &Program) -> Executable {
    compile_within(program, Limits::SMALLEST)
}

fn compile_within(program: &Program, limits: Limits) -> Executable {
    if program.is_shared() {
        let plan = compile_apart(&outlined(program, limits), limits).plan;
        return Executable::new(program, plan, Recomputed::default());
    }
    compile_apart(program, limits)
}

/// A plan of a program, its code, the estimated time of a run, and the limits with which both are made.
struct Planned {
    plan: plan::Plan,
    code: codegen::CompiledPlan,
    time: u64,
    limits: Limits,
}

impl Planned {
    fn new(program: &Program, limits: Limits) -> Planned {
        let outlined = program.is_shared().then(|| outlined(program, limits));
        let whole = passes::after(Phase::BeforePlan, outlined.as_ref().unwrap_or(program), &limits.passes);
        let plan = plan::plan(&whole, limits);
        let (time, code) = (plan::recompute::time(&plan.steps), codegen::generate(plan.clone(), limits));
        Planned { plan, code, time, limits }
    }

    /// The plan in which a run takes at most `most` bytes, if one is found, with its code.
    fn within(self, program: &Program, most: usize) -> Option<Executable> {
        let memory = self.code.memory();
        if memory <= most {
            let recomputed = Recomputed { time: self.time, ..Recomputed::default() };
            return Some(Executable::new(program, Arc::new(self.code), recomputed));
        }
        // Registers and partial sums of copies may take more than those of the steps.
        let mut block = most.checked_sub(memory - self.code.bytes);
        for _ in 0..ROUNDS {
            let Some((plan, recomputed)) = block.and_then(|block| self.plan.clone().within(block)) else { break };
            let code = codegen::generate(plan, self.limits);
            if code.memory() <= most {
                return Some(Executable::new(program, Arc::new(code), recomputed));
            }
            block = block.and_then(|block| block.checked_sub(code.memory() - most));
        }
        Some(self.least(program).0).filter(|least| least.peak_bytes() <= most)
    }

    /// The plan with the least memory that is found.
    fn least(self, program: &Program) -> (Executable, LeastBytes) {
        let whole = Executable::new(program, Arc::new(self.code), Recomputed::default());
        let (plan, recomputed, live) = self.plan.least();
        let few = Executable::new(program, Arc::new(codegen::generate(plan, self.limits)), recomputed);
        let least = if few.peak_bytes() < whole.peak_bytes() { few } else { whole };
        let bytes = least.peak_bytes();
        (least, LeastBytes { bytes, live })
    }
}

/// The number of times that the block is made smaller, if the memory outside the block has grown.
const ROUNDS: usize = 4;

/// The limits with this weight of arithmetic against memory, by which loops store values for other loops.
fn weighted(weight: f64) -> Limits {
    let passes = passes::Settings { rematerialization: weight, ..Limits::DEFAULT.passes };
    Limits { passes, ..Limits::DEFAULT }
}

/// Compiles a program so that a run takes at most `most` bytes, not counting inputs and results, with the least estimated time
/// that is found; `None` if no such plan is found. For the weight see [`weighted`].
pub(crate) fn compile_in_memory(program: &Program, most: usize, weight: f64) -> Option<Executable> {
    Planned::new(program, weighted(weight)).within(program, most)
}

/// The least number of bytes that a run of a program takes, not counting inputs and results, as far as a plan is found.
pub(crate) fn least_memory(program: &Program, weight: f64) -> LeastBytes {
    Planned::new(program, weighted(weight)).least(program).1
}

/// [`compile_in_small_blocks`], in the least memory for which a plan is found: for tests.
pub(crate) fn compile_in_least_memory(program: &Program) -> Executable {
    let (least, LeastBytes { bytes, .. }) = Planned::new(program, Limits::SMALLEST).least(program);
    let within = Planned::new(program, Limits::SMALLEST).within(program, bytes);
    within.filter(|within| within.peak_bytes() <= bytes).unwrap_or(least)
}

/// Compiles a program with a separate plan for each loop: without outlining.
fn compile_apart(program: &Program, limits: Limits) -> Executable {
    let whole = passes::after(Phase::BeforePlan, program, &limits.passes);
    let plan = Arc::new(codegen::generate(plan::plan(&whole, limits), limits));
    Executable::new(program, plan, Recomputed::default())
}

impl Executable {
    fn new(program: &Program, plan: Arc<CompiledPlan>, recomputed: Recomputed) -> Executable {
        let has_checks = program.has_checks();
        Executable { program: program.clone(), plan, has_checks, recomputed, idle: IdleMemories::default() }
    }

    /// Whether a run may fail: the program has checks.
    pub(crate) fn has_checks(&self) -> bool {
        self.has_checks
    }

    /// The values that a run computes again, with the estimated time of a run; empty without a bound of memory.
    pub(crate) fn recomputed(&self) -> &Recomputed {
        &self.recomputed
    }

    /// The program.
    ///
    /// Example: [`Executable`].
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The bytes of memory that a run on one thread takes, not counting inputs and results; known before any run. Each further
    /// thread takes memory for its registers, and for one block of rows of the values of steps that run in row blocks.
    ///
    /// ```
    /// use polygrad::backend::compile;
    /// use polygrad::{Function, Tensor};
    /// // A product of matrices is a buffer of `100 * 100 * 8` bytes, at least, and less than two of them.
    /// let x = Tensor::<_, 2>::ones([100, 100]);
    /// let f = Function::stage(|x: &Tensor<_, 2>| x.matmul(x).sin().sum(), &x);
    /// assert!((80_000..160_000).contains(&compile(f.optimized()).peak_bytes()));
    /// ```
    pub fn peak_bytes(&self) -> usize {
        self.plan.memory()
    }

    /// The plan as text: its passes over memory with their operations, its kernel calls, loops, and operations that the
    /// interpreter of arrays executes; with the memory of a run, and estimates of the number of arithmetic operations
    /// and of the bytes read and written.
    ///
    /// Example: [`Executable::profile`].
    pub fn explain(&self) -> String {
        explain::recomputed(&self.recomputed) + &explain::text(&self.program, &self.plan, None)
    }

    /// [`explain`](Self::explain) with the time of each step, measured over `runs` runs on these inputs. A run before
    /// them, with cold memory and caches, is not measured.
    ///
    /// ```
    /// use polygrad::backend::compile;
    /// use polygrad::{Array, Function, tensor};
    /// let f = Function::stage(|x| x.sin() * 2.0, &tensor([1.0, 2.0]));
    /// let run = compile(f.optimized());
    /// let (plan, measured) = (run.explain(), run.profile(&[Array::from([3.0, 4.0])], 2));
    /// assert!(measured.contains("sin") && measured.len() > plan.len(), "{measured}");
    /// ```
    ///
    /// # Panics
    /// Like [`run`](Self::run). Where the standard library has no clock, as on `wasm32-unknown-unknown`.
    #[track_caller]
    pub fn profile(&self, inputs: &[Array], runs: usize) -> String {
        check_inputs("profile", &self.program, inputs);
        let clock = self.timed(inputs, &|_| runs).0;
        explain::text(&self.program, &self.plan, Some((&clock, runs)))
    }

    /// The total time and the number of executions of each step, and the number of runs, which follows from the time of a
    /// run before them.
    #[track_caller]
    fn timed(&self, inputs: &[Array], runs: &dyn Fn(Duration) -> usize) -> (Vec<(Duration, u64)>, usize) {
        let (mut memory, mut outputs) = (self.memory(), self.outputs());
        let start = Instant::now();
        memory.run(&self.plan, inputs, &mut outputs);
        let runs = runs(start.elapsed());
        memory.clock = Some(vec![Default::default(); self.plan.count]);
        for _ in 0..runs {
            memory.run(&self.plan, inputs, &mut outputs);
        }
        (memory.clock.unwrap_or_default(), runs)
    }

    /// The steps and buffers of a run, with times that are measured on these inputs, if there are some: a run before them,
    /// and then as many as `runs` says for its time.
    ///
    /// # Panics
    /// Like [`run`](Self::run).
    #[track_caller]
    pub(crate) fn traffic(&self, inputs: Option<&[Array]>, runs: &dyn Fn(Duration) -> usize) -> Traffic {
        let clock = inputs.map(|inputs| {
            check_inputs("report", &self.program, inputs);
            self.timed(inputs, runs)
        });
        traffic::of(&self.program, &self.plan, clock.as_ref().map(|(clock, runs)| (&clock[..], *runs)))
    }

    /// The number of cheap elementwise operations, of those in superinstructions, and of superinstructions.
    ///
    /// Example: [`Superinstructions`].
    pub fn superinstructions(&self) -> Superinstructions {
        explain::superinstructions(&self.plan.steps)
    }

    /// The results for these inputs.
    ///
    /// Example: [`Executable`].
    ///
    /// # Panics
    /// When there is not one value of the right shape and element type per input, no memory for the run, or a check of
    /// the program does not hold.
    #[track_caller]
    pub fn run(&self, inputs: &[Array]) -> Vec<Array> {
        check_inputs("run", &self.program, inputs);
        self.run_fitting(inputs)
    }

    /// [`run`](Self::run) for inputs that are known to fit.
    #[track_caller]
    pub(crate) fn run_fitting(&self, inputs: &[Array]) -> Vec<Array> {
        let mut run = self.start();
        run.inputs().extend_from_slice(inputs);
        run.execute();
        let results = run.results().to_vec();
        run.end();
        results
    }

    /// Takes memory for a run.
    #[track_caller]
    pub(crate) fn start(&self) -> StartedRun<'_> {
        let (idle, place) = self.idle.take();
        // No closure: the message about memory names the caller.
        let memory = match idle {
            Some(memory) => memory,
            None => Box::new(self.memory()),
        };
        StartedRun { executable: self, taken: TakenMemory { memory, place } }
    }

    /// Memory for runs by [`run_into`](Self::run_into), one run at a time: zeroed pages, for which the system provides
    /// memory once a run touches them.
    ///
    /// ```
    /// use polygrad::backend::{Workspace, compile};
    /// use polygrad::{Array, Function, tensor};
    /// let f = compile(Function::stage(|x| x.square(), &tensor([1.0, 2.0])).optimized());
    /// let (mut memory, mut y): (Workspace, _) = (f.workspace(), [Array::from([0.0, 0.0])]);
    /// for k in 1..4 {
    ///     f.run_into(&mut memory, &[Array::full(&[2], f64::from(k))], &mut y);
    ///     assert_eq!(y, [Array::full(&[2], f64::from(k * k))]);
    /// }
    /// ```
    ///
    /// # Panics
    /// When [`peak_bytes`](Self::peak_bytes) cannot be allocated.
    #[track_caller]
    pub fn workspace(&self) -> Workspace {
        Workspace { memory: self.memory(), plan: self.plan.clone() }
    }

    /// Writes the results for these inputs into arrays of the caller, which keep their memory unless they share it with
    /// other arrays: a run allocates nothing.
    ///
    /// Example: [`Executable::workspace`].
    ///
    /// # Panics
    /// When an input or a result has a different shape or element type than in the program, or the workspace is that of
    /// another executable, or a check of the program does not hold: then the arrays are as before.
    #[track_caller]
    pub fn run_into(&self, workspace: &mut Workspace, inputs: &[Array], outputs: &mut [Array]) {
        check_inputs("run_into", &self.program, inputs);
        let slots = self.program.outputs();
        let fit = |(slot, out): (&Slot, &Array)| slot.is_of(out.shape(), out.dtype());
        if slots.len() != outputs.len() || !slots.iter().zip(&*outputs).all(fit) {
            let kind = |shape: &[usize], dtype| format!("{dtype} {}", Show(shape));
            let needed: Vec<String> = self.program.outputs().iter().map(|s| kind(&s.shape, s.dtype)).collect();
            let given: Vec<String> = outputs.iter().map(|out| kind(out.shape(), out.dtype())).collect();
            panic!(
                "run_into: the arrays for the results must be {}, but they are {}; pass one of the right kind for each",
                needed.join(", "),
                given.join(", ")
            );
        }
        if !Arc::ptr_eq(&workspace.plan, &self.plan) {
            panic!(
                "run_into: a workspace must be that of the executable, but it was made by another one; call workspace() \
                 on this one"
            );
        }
        if !self.has_checks {
            return workspace.memory.run(&self.plan, inputs, outputs);
        }
        let mut results = self.outputs();
        workspace.memory.run(&self.plan, inputs, &mut results);
        for (result, out) in results.iter().zip(outputs) {
            if out.rank() == 0 {
                *out = result.clone();
                continue;
            }
            with_elem!(out.dtype(), E => match result.typed::<E>() {
                Values::Dense(elements) => out.make_dense::<E>().copy_from_slice(elements),
                Values::Splat(x) => out.make_dense::<E>().fill(x),
            });
        }
    }

    /// Writes the results for these inputs into slices, on memory of an earlier run: see `Memory::run_flat`. All inputs
    /// and results have elements `E`, and the slices have the right lengths.
    #[track_caller]
    pub(crate) fn run_flat<E: Elem>(&self, x: [&[E]; 2], results: [&mut [E]; 2]) {
        let mut run = self.start();
        if self.has_checks {
            // A check may fail after some results have been written.
            let [mut first, mut second] = results.map(|slice| (slice.to_vec(), slice));
            run.taken.memory.run_flat(&self.plan, x, [&mut first.0, &mut second.0]);
            [first, second].into_iter().for_each(|(made, slice)| slice.copy_from_slice(&made));
        } else {
            run.taken.memory.run_flat(&self.plan, x, results);
        }
        run.taken.give_back();
    }

    /// New memory for a run.
    #[track_caller]
    fn memory(&self) -> Memory {
        let Some(memory) = Memory::new(&self.plan, Isa::detect()) else {
            let (bytes, more) = (self.plan.memory(), if self.plan.memory() == usize::MAX { " or more" } else { "" });
            panic!(
                "run: the values of a program must fit into memory while it runs, but in addition to inputs and results they \
                 take {bytes} bytes{more}, which cannot be allocated; make the arrays smaller, or the loops shorter"
            );
        };
        memory
    }

    /// A new array for a result.
    fn output(&self, k: usize) -> Array {
        let slot = &self.program.outputs()[k];
        let mut out = Array::zeros(&slot.shape, slot.dtype);
        if out.rank() > 0 && matches!(self.plan.outputs[k], ResultSource::Buffer(_)) {
            with_elem!(slot.dtype, E => {
                out.make_dense::<E>();
            });
        }
        out
    }

    /// New arrays for the results.
    fn outputs(&self) -> Vec<Array> {
        (0..self.plan.outputs.len()).map(|k| self.output(k)).collect()
    }
}

/// A run of an [`Executable`] on memory of an earlier run: the caller writes the inputs, executes the program, reads
/// the results, and ends the run. A run that is not ended leaves no memory.
pub(crate) struct StartedRun<'e> {
    executable: &'e Executable,
    taken: TakenMemory<'e>,
}

impl StartedRun<'_> {
    /// The inputs, an empty list at first. Those added must fit.
    pub(crate) fn inputs(&mut self) -> &mut Vec<Array> {
        &mut self.taken.memory.inputs
    }

    /// Runs the program on the inputs, and drops the inputs.
    pub(crate) fn execute(&mut self) {
        let (executable, memory) = (self.executable, &mut *self.taken.memory);
        let (mut inputs, mut results) = (std::mem::take(&mut memory.inputs), std::mem::take(&mut memory.results));
        // The arrays of the results of the last run are reused where the caller has dropped them.
        if results.is_empty() {
            results = executable.outputs();
        } else {
            let shared = results.iter_mut().enumerate().filter(|(_, result)| !result.is_unique());
            shared.for_each(|(k, result)| *result = executable.output(k));
        }
        memory.run(&executable.plan, &inputs, &mut results);
        inputs.clear();
        (memory.inputs, memory.results) = (inputs, results);
    }

    /// The results, until the run ends.
    pub(crate) fn results(&self) -> &[Array] {
        &self.taken.memory.results
    }

    /// Leaves the memory to the next run.
    pub(crate) fn end(mut self) {
        let memory = &mut *self.taken.memory;
        memory.inputs.clear();
        for (result, found) in memory.results.iter_mut().zip(&self.executable.plan.outputs) {
            // A result that is an input shares the caller's memory, which is not retained.
            if let ResultSource::Input(_) = found {
                *result = Array::zeros(result.shape(), result.dtype());
            }
        }
        self.taken.give_back();
    }
}

/// The memory of an [`Executable`] while it runs, for callers that keep it: see [`Executable::run_into`].
///
/// Example: [`Executable::workspace`].
pub struct Workspace {
    memory: Memory,
    /// The plan, whose constants the memory refers to.
    plan: Arc<CompiledPlan>,
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace").field("bytes", &self.plan.bytes).finish_non_exhaustive()
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executable")
            .field("program", &self.program)
            .field("bytes", &self.peak_bytes())
            .finish_non_exhaustive()
    }
}
