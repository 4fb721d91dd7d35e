//! Workloads as data, and how long they take.
//!
//! A workload is a list of cases, most often one. A case is two recipes: one records the function, the other its
//! derivative, each as a [`Function`] with arguments to run on. What is timed is a call of the `Function`, the
//! release of its results included. Both are sampled in turn, so that a disturbance of the machine meets both;
//! medians are reported. Where the system says it, the mean time that the thread was on a processor is reported, too.
//! It leaves out the time that other work took, though not how much that work slows down what runs beside it.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use polygrad::backend::Superinstructions;
use polygrad::inspect::count;
use polygrad::program::{Term, interpret};
use polygrad::tree::{PathStep, Visitor};
use polygrad::{Array, BaseTensor, Concrete, Float, Function, FunctionOptions, Tensor, Tree};

use super::inputs::Inputs;
use super::report::{CheckSum, Record, peak_memory};

/// What runs programs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Engine {
    /// Whether programs are interpreted, operation by operation.
    pub(crate) interpret: bool,
}

impl Engine {
    /// The name under which figures are reported.
    pub(crate) fn peer(self) -> &'static str {
        if self.interpret { "polygrad_interpret" } else { "polygrad" }
    }

    /// A function that this engine runs.
    fn ready<P, Q, Y>(self, f: Function<P, Q, Y>) -> Function<P, Q, Y> {
        f.with_options(FunctionOptions::new().interpreted(self.interpret))
    }
}

/// How long something took, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    wall: f64,
    /// The time on a processor, NaN if the system does not say it.
    processor: f64,
}

/// The time that this thread has been on a processor, in seconds.
fn on_processor() -> f64 {
    let line = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    line.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).map_or(f64::NAN, |nanos| nanos * 1e-9)
}

/// The arguments or the results of a program.
struct Arrays<T>(Vec<T>);

impl<T: BaseTensor> Tree<T> for Arrays<T> {
    type With<U: BaseTensor> = Arrays<U>;

    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Arrays<U> {
        Arrays(self.0.iter().map(f).collect())
    }

    fn visit(&self, visitor: &mut dyn Visitor<T>) {
        for (k, leaf) in self.0.iter().enumerate() {
            visitor.enter(PathStep::Item(k));
            visitor.leaf(leaf);
            visitor.leave();
        }
    }
}

/// A recorded function with arguments.
pub(crate) trait Run {
    /// Runs so many times, and says how long that took.
    fn run(&self, times: usize) -> Took;

    /// The results.
    fn results(&self) -> Vec<Array>;

    /// The program that runs, as text.
    fn program(&self) -> String;

    /// What a run does, with measured times.
    fn explain(&self) -> String;

    /// How many elementwise operations run together with others.
    fn superinstructions(&self) -> Superinstructions;

    /// The elements that the program computes or moves.
    fn work(&self) -> u64;
}

struct Ready<P, Q, Y> {
    function: Function<P, Q, Y>,
    x: P,
    data: Q,
}

impl<P: Tree<Concrete>, Q: Tree<Concrete>, Y: Tree<Concrete>> Ready<P, Q, Y> {
    fn call(&self) -> Y {
        let result = self.function.run_with(black_box(&self.x), black_box(&self.data));
        result.unwrap_or_else(|e| panic!("a workload runs on the arguments it was recorded for: {e}"))
    }
}

impl<P: Tree<Concrete>, Q: Tree<Concrete>, Y: Tree<Concrete>> Run for Ready<P, Q, Y> {
    fn run(&self, times: usize) -> Took {
        let (processor, start) = (on_processor(), Instant::now());
        for _ in 0..times {
            drop(black_box(self.call()));
        }
        Took { wall: start.elapsed().as_secs_f64(), processor: on_processor() - processor }
    }

    fn results(&self) -> Vec<Array> {
        self.call().leaves()
    }

    fn program(&self) -> String {
        self.function.optimized().to_string()
    }

    fn explain(&self) -> String {
        let inputs = [self.x.leaves(), self.data.leaves()].concat();
        self.function.executable().profile(&inputs, 20)
    }

    fn superinstructions(&self) -> Superinstructions {
        self.function.executable().superinstructions()
    }

    fn work(&self) -> u64 {
        let inputs = Arrays([self.x.leaves(), self.data.leaves()].concat());
        count(|x: &Arrays<_>| Arrays(interpret(self.function.optimized(), x.0.clone())), &inputs).1.total().work
    }
}

/// How a function is recorded.
pub(crate) type Recipe = Box<dyn Fn(Engine) -> Box<dyn Run>>;

/// The recipe of a function that is recorded for these arguments, and run on them.
pub(crate) fn recipe<P, Q, Y>(x: P, data: Q, record: impl Fn(&P, &Q) -> Function<P, Q, Y> + 'static) -> Recipe
where
    P: Tree<Concrete> + Clone + 'static,
    Q: Tree<Concrete> + Clone + 'static,
    Y: Tree<Concrete> + 'static,
{
    Box::new(move |engine| {
        Box::new(Ready { function: engine.ready(record(&x, &data)), x: x.clone(), data: data.clone() })
    })
}

/// A function and its derivative.
pub(crate) struct Case {
    /// What stands behind the name of the workload.
    pub(crate) part: String,
    /// Records the function.
    pub(crate) primal: Recipe,
    /// Records its derivative, most often together with the value.
    pub(crate) both: Recipe,
    /// The number of arrays among the results of `both` that are the value; they come first.
    pub(crate) values: usize,
}

impl Case {
    /// A case whose derivative is recorded otherwise than as a gradient.
    pub(crate) fn new(primal: Recipe, both: Recipe, values: usize) -> Case {
        Case { part: String::new(), primal, both, values }
    }

    /// Value and gradient of a loss of parameters and data.
    pub(crate) fn gradient<P, Q, E, F>(f: F, x: P, data: Q) -> Vec<Case>
    where
        P: Tree<Concrete, With<Concrete> = P> + Clone + 'static,
        Q: Tree<Concrete> + Clone + 'static,
        E: Float,
        F: Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E> + Copy + 'static,
    {
        let primal = recipe(x.clone(), data.clone(), move |x, data| Function::stage_with(f, x, data));
        let both = recipe(x, data, move |x, data| Function::value_and_grad_with(f, x, data));
        vec![Case::new(primal, both, 1)]
    }
}

/// Makes the inputs and cases of a workload.
pub(crate) type Cases = fn(&Inputs) -> Vec<Case>;

/// A named workload.
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) cases: Cases,
}

/// The order statistics of samples, in milliseconds.
struct Spread {
    median: f64,
    min: f64,
    quartiles: [f64; 2],
    count: usize,
}

impl Spread {
    fn of(mut samples: Vec<f64>) -> Spread {
        samples.sort_by(f64::total_cmp);
        let n = samples.len();
        let median = 0.5 * (samples[(n - 1) / 2] + samples[n / 2]);
        Spread { median, min: samples[0], quartiles: [samples[n / 4], samples[3 * n / 4]], count: n }
    }
}

/// Says on the error stream what takes long, at most once in a few seconds.
struct Progress {
    name: String,
    start: Instant,
    said: Instant,
}

impl Progress {
    fn new(name: &str) -> Progress {
        Progress { name: name.to_owned(), start: Instant::now(), said: Instant::now() }
    }

    fn after(&mut self, what: &str) {
        if self.said.elapsed() > Duration::from_secs(3) {
            self.said = Instant::now();
            eprintln!("{}: {what} after {:.0} s", self.name, self.start.elapsed().as_secs_f64());
        }
    }
}

/// A sample takes this long at least, in seconds.
const SAMPLE: f64 = 0.002;

/// How often a function must run for one sample, and the time that takes, in seconds. The first two runs warm up.
fn calls_of_a_sample(f: &dyn Run) -> (usize, f64) {
    f.run(1);
    let mut calls = 1;
    loop {
        let mut seconds = f.run(calls).wall;
        if (SAMPLE..10.0 * SAMPLE).contains(&seconds) {
            // A disturbance must not pass for the time of the calls.
            seconds = seconds.min(f.run(calls).wall);
        }
        if seconds >= SAMPLE {
            return (calls, seconds);
        }
        // At most ten times as often as before: the first runs are slow.
        let more = (1.2 * SAMPLE / seconds.max(1e-9)).min(10.0);
        calls = (calls as f64 * more).ceil() as usize;
    }
}

/// Samples of a function, in milliseconds a call.
#[derive(Default)]
struct Samples {
    wall: Vec<f64>,
    /// The mean of all: the system counts this time in steps that may be longer than a sample.
    processor: f64,
}

/// Samples of two functions in turn.
fn samples(fs: [&dyn Run; 2], budget: f64, progress: &mut Progress) -> [Samples; 2] {
    let plans = fs.map(calls_of_a_sample);
    let round: f64 = plans.iter().map(|(_, seconds)| seconds).sum();
    let fewest = if round < 1.0 {
        9.0
    } else if round < 6.0 {
        5.0
    } else {
        3.0
    };
    let rounds = (budget / round).max(fewest).min(200.0) as usize;
    let mut samples = [Samples::default(), Samples::default()];
    for done in 0..rounds {
        for ((f, samples), (calls, _)) in fs.iter().zip(&mut samples).zip(plans) {
            let took = f.run(calls);
            samples.wall.push(took.wall * 1e3 / calls as f64);
            samples.processor += took.processor * 1e3 / (calls * rounds) as f64;
        }
        progress.after(&format!("{} of {rounds} rounds", done + 1));
    }
    samples
}

/// The time that recording and the first run take, in seconds.
fn first(recipe: &Recipe, engine: Engine) -> (Box<dyn Run>, f64) {
    let start = Instant::now();
    let ready = recipe(engine);
    ready.run(1);
    (ready, start.elapsed().as_secs_f64())
}

/// Measures a case: `budget` in seconds, `base` the peak memory before inputs were made.
pub(crate) fn measure(workload: &str, case: &Case, engine: Engine, threads: usize, budget: f64, base: f64) -> Record {
    let name = [workload, &case.part].concat();
    let mut progress = Progress::new(&name);
    let (primal, first_primal_s) = first(&case.primal, engine);
    progress.after("the function has run once");
    let (both, first_grad_s) = first(&case.both, engine);
    progress.after("the derivative has run once");
    let samples = samples([primal.as_ref(), both.as_ref()], budget, &mut progress);
    let [(p, p_processor), (g, g_processor)] = samples.map(|s| (Spread::of(s.wall), s.processor));
    let rss_peak_mb = peak_memory();
    Record {
        workload: name,
        peer: engine.peer().to_owned(),
        threads,
        primal_ms: p.median,
        grad_ms: g.median,
        ratio: g.median / p.median,
        first_primal_s,
        first_grad_s,
        compile_primal_s: (first_primal_s - p.median * 1e-3).max(0.0),
        compile_grad_s: (first_grad_s - g.median * 1e-3).max(0.0),
        primal_min_ms: p.min,
        grad_min_ms: g.min,
        primal_processor_ms: p_processor,
        grad_processor_ms: g_processor,
        primal_iqr_ms: p.quartiles[1] - p.quartiles[0],
        grad_iqr_ms: g.quartiles[1] - g.quartiles[0],
        n: g.count,
        rss_base_mb: base,
        rss_peak_mb,
        value: CheckSum::of(&primal.results()),
        deriv: CheckSum::of(&both.results()[case.values..]),
    }
}
