//! A recorded function with an input, run as often as is asked for, and timed.
//!
//! Law: each run does the whole work again; its time leaves out what comes from or goes to JSON, and nothing else. A run
//! allocates nothing: inputs, results and workspace are there before the first one.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use polygrad::backend::Workspace;
use polygrad::{Array, Function, Jit, Tree};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::Timing;

/// How often a function is to be run.
#[derive(Deserialize)]
pub(crate) struct Runs {
    #[serde(default = "one")]
    min_runs: u64,
    #[serde(default)]
    min_seconds: f64,
}

fn one() -> u64 {
    1
}

impl Runs {
    /// What an input asks for: an object may say it, other inputs are run once.
    pub(crate) fn of(input: &RawValue) -> serde_json::Result<Runs> {
        match input.get().starts_with('{') {
            true => serde_json::from_str(input.get()),
            false => Ok(Runs { min_runs: 1, min_seconds: 0.0 }),
        }
    }

    /// Runs a function, and says how long each run took.
    pub(crate) fn time(&self, ready: &mut dyn Ready, timings: &mut Vec<Timing>) {
        let (mut elapsed, mut runs) = (0.0, 0);
        // An output is one of a run, so there is one.
        while runs < self.min_runs.max(1) || elapsed < self.min_seconds {
            let start = Instant::now();
            ready.run();
            let took = start.elapsed();
            timings.push(Timing::new("evaluate", took));
            elapsed += took.as_secs_f64();
            runs += 1;
        }
    }
}

/// A function that can be run.
pub(crate) trait Ready {
    /// Runs it once.
    fn run(&mut self);

    /// The results of the last run as JSON.
    fn output(&self) -> serde_json::Result<Box<RawValue>>;
}

/// Writes results as JSON, beside the arguments.
pub(crate) type Write<P> = fn(&P, &[Array]) -> serde_json::Result<Box<RawValue>>;

struct Recorded<P, Q, Y> {
    function: Arc<Function<P, Q, Y>>,
    workspace: Workspace,
    x: P,
    inputs: Vec<Array>,
    outputs: Vec<Array>,
    write: Write<P>,
}

impl<P, Q, Y> Ready for Recorded<P, Q, Y> {
    fn run(&mut self) {
        self.function.executable().run_into(&mut self.workspace, black_box(&self.inputs), &mut self.outputs);
        black_box(&self.outputs);
    }

    fn output(&self) -> serde_json::Result<Box<RawValue>> {
        (self.write)(&self.x, &self.outputs)
    }
}

/// A function with its input, and the times to record and to compile it, unless that was done before.
pub(crate) type Prepared = serde_json::Result<(Box<dyn Ready>, Vec<Timing>)>;

/// A function that is recorded for inputs like these, unless it is already, with these inputs.
pub(crate) fn prepared<P, Q, Y>(jit: &Jit<P, Q, Y>, x: P, data: &Q, write: Write<P>) -> Prepared
where
    P: Tree<Array> + 'static,
    Q: Tree<Array> + 'static,
    Y: 'static,
{
    let (start, kept) = (Instant::now(), jit.kept());
    let function = jit.function(&x, data);
    let traced = start.elapsed();
    let workspace = function.executable().workspace();
    let compiled = start.elapsed() - traced;
    let zeros = |slot: &polygrad::program::Slot| Array::zeros(&slot.shape, slot.dtype);
    let outputs = function.optimized().outputs().iter().map(zeros).collect();
    let inputs = [x.leaves(), data.leaves()].concat();
    let mut timings = Vec::new();
    if jit.kept() > kept {
        timings.extend([Timing::new("trace", traced), Timing::new("compile", compiled)]);
    }
    Ok((Box::new(Recorded { function, workspace, x, inputs, outputs, write }), timings))
}
