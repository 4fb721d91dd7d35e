//! A bound of memory: the derivative program and the plan that take the least estimated time within it.
//!
//! What can be chosen: how loops are cut in segments before they are differentiated, how much loops store for other
//! loops, and which steps of the plan run again. Cuts are tried from those that run the fewest trips again to those that
//! run more, and each cut gets the best plan that is found.
//!
//! Law: `peak_bytes` of the compiled program is at most the bound, or there is an error; the choice depends on the
//! program and the options alone.

use std::fmt;
use std::sync::OnceLock;

use super::{DerivativeProgram, Fault, Function, FunctionOptions};
use crate::ad::differentiate::transformation::Transformation;
use crate::backend::explain::written;
use crate::backend::plan::recompute::LeastBytes;
use crate::backend::{Executable, compile_in_memory, least_memory};
use crate::checkpoint::Checkpoint;
use crate::errors::debug_by_display;
use crate::program::{Op, Program};

/// A bound of [memory](FunctionOptions::memory) that no run keeps, as far as could be found.
///
/// ```
/// use polygrad::{Function, FunctionOptions, MemoryError, Tensor};
/// let f = Function::stage(|x: &Tensor<_, 1>| x.cumsum(0).reverse(0).cumsum(0), &Tensor::zeros([1000]));
/// let error: MemoryError = f.try_with_options(FunctionOptions::new().memory(100)).expect_err("too little");
/// assert!(error.asked == 100 && error.least >= 8000);
/// assert!(error.to_string().starts_with("memory: a run must take at most 100 bytes"));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryError {
    /// The bound in bytes.
    pub asked: usize,
    /// The least number of bytes for which a plan was found.
    pub least: usize,
    /// The largest values that are live where that plan takes most, with their bytes and, as far as known, the lines
    /// that made them.
    pub live: Vec<String>,
}

debug_by_display!(MemoryError);

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "memory: a run must take at most {} bytes in addition to inputs and results, but the least for which a plan was found \
             is {}, with these values live at one time: {}; ask for that many, or make arrays or loops smaller",
            self.asked,
            self.least,
            self.live.join(", ")
        )
    }
}

impl std::error::Error for MemoryError {}

/// The weights of arithmetic against memory that are tried: the usual one, and storing as little as possible.
const WEIGHTS: [f64; 2] = [1.0, 0.0];

/// The number of bisections between a share of trips that fits and a larger one that does not.
const BISECTIONS: usize = 4;

/// A derivative with the options by which it was made, compiled.
struct FittingProgram {
    made: DerivativeProgram,
    options: FunctionOptions,
    executable: Executable,
}

/// How derivatives are made with options.
struct MemorySearch<'a> {
    recorded: &'a Program,
    /// Whether cutting loops may save memory: the program is differentiated.
    cuts: bool,
    make: &'a dyn Fn(&FunctionOptions) -> Result<DerivativeProgram, Fault>,
}

impl MemorySearch<'_> {
    /// The program that fits into `most` bytes with the least estimated time.
    ///
    /// # Errors
    /// When the program cannot be made; within, when nothing fits.
    fn best(&self, options: FunctionOptions, most: usize) -> Result<Result<FittingProgram, MemoryError>, Fault> {
        let whole = self.fitting(options, most)?;
        if whole.as_ref().is_some_and(|found| found.executable.recomputed().added == 0) || !self.is_cut(options) {
            return match whole {
                Some(found) => Ok(Ok(found)),
                None => Ok(Err(self.error(&[options], most)?)),
            };
        }
        let cut = |checkpoint: Checkpoint| FunctionOptions { checkpoint: Some(checkpoint), ..options };
        let time = |fitting: &FittingProgram| fitting.executable.recomputed().time;
        // Shares of trips that run once: the larger, the fewer run again.
        let (mut share, mut large) = (Checkpoint::WHOLE / 8 * 7, Checkpoint::WHOLE);
        let mut found = self.fitting(cut(Checkpoint::last(share)), most)?;
        let longest = longest_loop(self.recorded);
        while found.is_none() && share as usize > Checkpoint::WHOLE as usize / longest.max(1) {
            large = share;
            share = share.next_power_of_two() / 2;
            found = self.fitting(cut(Checkpoint::last(share)), most)?;
        }
        for _ in 0..if found.is_some() { BISECTIONS } else { 0 } {
            let middle = share.midpoint(large);
            // A larger part may fit only because steps run again, which takes time, too.
            match self.fitting(cut(Checkpoint::last(middle)), most)? {
                Some(next) if found.as_ref().is_none_or(|found| time(&next) <= time(found)) => {
                    (found, share) = (Some(next), middle);
                }
                Some(_) | None => large = middle,
            }
        }
        // Segments within segments run trips more than twice.
        let mut states = longest / 2;
        while found.is_none() && whole.is_none() && states > 1 {
            found = self.fitting(cut(Checkpoint::states(states)), most)?;
            states /= 2;
        }
        let root = (f64::from(Checkpoint::WHOLE) / (longest.max(1) as f64).sqrt()) as u32;
        let few = [Checkpoint::last(root.max(1)), Checkpoint::states(1)].map(cut);
        for options in few {
            if found.is_none() && whole.is_none() {
                found = self.fitting(options, most)?;
            }
        }
        match (whole, found) {
            (Some(whole), Some(found)) if time(&whole) <= time(&found) => Ok(Ok(whole)),
            (_, Some(found)) | (Some(found), None) => Ok(Ok(found)),
            (None, None) => Ok(Err(self.error(&[options, few[0], few[1]], most)?)),
        }
    }

    /// Whether there are loops that may be cut, and no request how.
    fn is_cut(&self, options: FunctionOptions) -> bool {
        let half = FunctionOptions { checkpoint: Some(Checkpoint::last(Checkpoint::WHOLE / 2)), ..options };
        self.cuts && options.checkpoint.is_none() && half.cut(self.recorded) != *self.recorded
    }

    /// The program that is made with these options, if it fits.
    fn fitting(&self, options: FunctionOptions, most: usize) -> Result<Option<FittingProgram>, Fault> {
        let made = (self.make)(&options)?;
        let executable = compiled(&options.known(&made.ready), most);
        Ok(executable.map(|executable| FittingProgram { made, options, executable }))
    }

    /// The error of a bound that nothing keeps: of the programs made with these options, the one that takes least.
    fn error(&self, candidates: &[FunctionOptions], asked: usize) -> Result<MemoryError, Fault> {
        let mut error: Option<MemoryError> = None;
        for options in candidates {
            let next = exceeded(&options.known(&(self.make)(options)?.ready), asked);
            if error.as_ref().is_none_or(|error| next.least < error.least) {
                error = Some(next);
            }
        }
        Ok(error.expect("there is a candidate"))
    }
}

/// How a function makes its derivative with options.
pub(super) type Making<'a, P, Q, Y> =
    &'a dyn Fn(&Function<P, Q, Y>, &FunctionOptions) -> Result<DerivativeProgram, Fault>;

impl<P, Q, Y> Function<P, Q, Y> {
    /// The function with the derivative and the plan that take the least estimated time within `most` bytes; `make`
    /// makes the derivative with options.
    ///
    /// # Panics
    /// When the program does not have the derivative.
    #[track_caller]
    pub(super) fn within(
        mut self,
        options: FunctionOptions,
        most: usize,
        make: Making<'_, P, Q, Y>,
    ) -> Result<Self, MemoryError> {
        let make = |options: &FunctionOptions| make(&self, options);
        let search = MemorySearch {
            recorded: &self.recorded,
            cuts: self.transformation.0 != Transformation::Value,
            make: &make,
        };
        let FittingProgram { made, options, executable } = match search.best(options, most) {
            Ok(found) => found?,
            Err(fault) => panic!("{fault}"),
        };
        (self.options, self.derivative, self.executable) = (options, OnceLock::from(made), OnceLock::from(executable));
        Ok(self)
    }
}

/// The number of trips of the longest outermost loop of a program.
fn longest_loop(program: &Program) -> usize {
    let trips = program.nodes().iter().filter_map(|node| if let Op::Loop(l) = &node.op { Some(l.n) } else { None });
    trips.max().unwrap_or_default()
}

/// A program compiled for at most this many bytes, with the weight for which the estimated time is less.
fn compiled(program: &Program, most: usize) -> Option<Executable> {
    let mut best: Option<Executable> = None;
    for weight in WEIGHTS {
        let Some(next) = compile_in_memory(program, most, weight) else { continue };
        let whole = next.recomputed().added == 0;
        if best.as_ref().is_none_or(|best| next.recomputed().time < best.recomputed().time) {
            best = Some(next);
        }
        if whole {
            break;
        }
    }
    best
}

fn exceeded(program: &Program, asked: usize) -> MemoryError {
    let all = WEIGHTS.map(|weight| least_memory(program, weight));
    let LeastBytes { bytes: least, live } = all.into_iter().min_by_key(|least| least.bytes).expect("two weights");
    let words = live.iter().map(|value| format!("{} of {} bytes{}", value.by, value.bytes, written(&value.place)));
    MemoryError { asked, least, live: words.collect() }
}

impl FunctionOptions {
    /// The most bytes that a run may take, not counting inputs and results
    /// ([`Executable::peak_bytes`](crate::backend::Executable::peak_bytes), for one thread). What would take more is
    /// computed again: steps of the plan run a second time, loops are cut in segments as by
    /// [`checkpoint`](FunctionOptions::checkpoint) (unless that is set, too), and loops store less for other loops; of
    /// what is found, the program with the least estimated time is taken. Results have the same bits, unless loops are
    /// cut, which changes the order of sums over trips. [`explain`](crate::Function::explain) says what is computed
    /// again.
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, Tensor};
    /// let x = Tensor::linspace(0.0, 1.0, 1000);
    /// let f = || Function::grad(|x: &Tensor<_, 1>| (0..8).fold(x.cumsum(0), |y, _| y.sin().cumsum(0)).sum(), &x);
    /// let whole = f();
    /// let most = whole.executable().peak_bytes() * 3 / 4;
    /// let small = f().with_options(FunctionOptions::new().memory(most));
    /// assert!(small.executable().peak_bytes() <= most);
    /// assert_eq!(small.run(&x)?, whole.run(&x)?);
    /// assert!(small.explain().contains("computed again to save memory"));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> FunctionOptions {
        self.memory = Some(bytes);
        self
    }

    /// A program compiled with these options.
    ///
    /// # Panics
    /// When no run keeps the bound of memory.
    #[track_caller]
    pub(in crate::ad) fn compiled(&self, program: &Program) -> Executable {
        let Some(most) = self.memory else { return crate::backend::compile(program) };
        match compiled(program, most) {
            Some(executable) => executable,
            None => panic!("{}", exceeded(program, most)),
        }
    }

    /// The bound of memory and how loops are cut for it, as a line of a report.
    pub(super) fn memory_words(&self, executable: &Executable) -> String {
        let Some(most) = self.memory else { return String::new() };
        let cut = self.checkpoint.map_or_else(String::new, |cut| format!("; loops run {}", cut.words()));
        format!("memory: {} bytes of at most {most}{cut}\n", executable.peak_bytes())
    }
}
