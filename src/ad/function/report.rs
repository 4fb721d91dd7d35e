//! Reports on a [`Function`]: a page with its program, the steps of a run, the choice of modes.
//!
//! Law: the page depends on the function and the inputs alone, except for measured times.

use std::fs;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;

use super::{Function, RunError};
use crate::array::{Array, Rng};
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::ops::Call;
use crate::program::{Op, Program, Slot, run_by};
use crate::report::{ModeChoice, PatternPicture, ReportFacts};
use crate::shape::size;
use crate::taps::{caught, printing_to};
use crate::tree::Tree;

/// The reason why a report was not written.
///
/// ```
/// use polygrad::{Function, ReportError, tensor};
/// let f = Function::stage(|x| x.sin(), &tensor(1.0));
/// let error = f.report("no such folder/page.html").unwrap_err();
/// assert!(matches!(error, ReportError::File { path, .. } if path == "no such folder/page.html"));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The file cannot be written.
    #[error(
        "report: the page must be written to a file, but `{path}` cannot be written: {reason}; name a file in a folder that exists"
    )]
    File {
        /// The path as it was given.
        path: String,
        /// The message of the operating system.
        reason: String,
    },
    /// The function does not run on the arguments and data that were given.
    #[error("{0}")]
    Run(#[from] RunError),
}

debug_by_display!(ReportError);

/// How long runs may take together, and the most of them.
const MEASURED: Duration = Duration::from_millis(100);
const MOST_RUNS: usize = 50;

/// The number of runs that are measured if one takes this long.
fn runs(one: Duration) -> usize {
    let nanoseconds = one.as_nanos().max(1);
    ((MEASURED.as_nanos() / nanoseconds) as usize).clamp(1, MOST_RUNS)
}

/// Elements for an input without values: floats uniform between 0.1 and 0.9, the integers 0 to 7 over and over, masks
/// that alternate.
fn made_up(number: u64, slot: &Slot) -> Array {
    let (shape, n) = (&slot.shape[..], size(&slot.shape));
    match slot.dtype {
        DType::F64 => Rng::new(number + 1).uniform(shape, 0.1, 0.9),
        DType::F32 => Rng::new(number + 1).uniform_as::<f32, &[usize]>(shape, 0.1, 0.9),
        DType::I64 => Array::new(shape, (0..n as i64).map(|k| k % 8).collect()),
        DType::Bool => Array::new(shape, (0..n).map(|k| k % 2 == 0).collect()),
    }
}

/// The reason why a program is not run on values that its user has not seen; `None` if it may be.
fn unsafe_to_try(program: &Program) -> Option<&'static str> {
    if program.is_unbounded() {
        return Some("the program has a loop without a bound, which need not end for made-up inputs");
    }
    let calls_host = program.operations(run_by).any(|op| matches!(op, Op::Call(Call::External(_), _)));
    calls_host.then_some("the program calls code of the host, which may not expect made-up inputs")
}

impl<P, Q, Y> Function<P, Q, Y> {
    /// Writes a report on the function: one page of HTML that needs no other file and no network.
    ///
    /// The page has
    /// * the program that runs as a graph, with the shapes of values and the lines that wrote them, small loops in boxes, long
    ///   programs in groups of lines, a search, and the text and estimated cost of the operation that is pointed at
    ///   (graphs for other programs: [`Program::to_dot`]);
    /// * the steps of a run, as [`explain`](Self::explain) names them, each with its time, and the bytes it reads and writes;
    /// * the buffers in memory, and the steps for which they live;
    /// * the modes of differentiation that were compared, with the estimated time of each;
    /// * for a [`SparseFunction`](crate::SparseFunction) the pattern of the matrix, in the colours of its passes.
    ///
    /// Times are measured on one thread, over as many runs as take a tenth of a second. Since a `Function` has shapes and
    /// no values, the runs get made-up inputs: floats between 0.1 and 0.9, small integers, masks that alternate.
    /// [`report_with`](Self::report_with) takes inputs. On made-up inputs nothing runs that has loops without a bound or
    /// code of the host, or whose checks fail; the page then says so, and has no times.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::grad(|x| (x.sin() * x).sum(), &tensor([1.0, 2.0]));
    /// let path = std::env::temp_dir().join(format!("polygrad-report-{}.html", std::process::id()));
    /// f.report(&path)?;
    /// let page = std::fs::read_to_string(&path).unwrap();
    /// assert!(page.contains("<h2>Steps of a run</h2>") && page.contains("f64[2]"));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), polygrad::ReportError>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn report(&self, path: impl AsRef<Path>) -> Result<(), ReportError> {
        self.write_report(path.as_ref(), None, None)
    }

    /// Writes the report, with times for these inputs or for made-up ones.
    pub(in crate::ad) fn write_report(
        &self,
        path: &Path,
        inputs: Option<&[Array]>,
        pattern: Option<&PatternPicture<'_>>,
    ) -> Result<(), ReportError> {
        let html = self.page(inputs, pattern)?;
        let failed =
            |error: std::io::Error| ReportError::File { path: path.display().to_string(), reason: error.to_string() };
        fs::write(path, html).map_err(failed)
    }

    /// The page, with times for these inputs or for made-up ones.
    ///
    /// # Errors
    /// When a check of the program does not hold for these inputs.
    fn page(&self, inputs: Option<&[Array]>, pattern: Option<&PatternPicture<'_>>) -> Result<String, RunError> {
        let (executable, program) = (self.executable(), self.optimized());
        let quiet = |inputs: &[Array]| printing_to(|_| (), || caught(|| executable.traffic(Some(inputs), &runs)));
        let (traffic, measured) = if let Some(inputs) = inputs {
            (quiet(inputs)?, "on the given inputs".to_owned())
        } else if let Some(reason) = unsafe_to_try(program) {
            (executable.traffic(None, &runs), format!("Times were not measured: {reason}. `report_with` takes inputs."))
        } else {
            let inputs: Vec<Array> =
                (0..).zip(executable.program().inputs()).map(|(k, slot)| made_up(k, slot)).collect();
            match quiet(&inputs) {
                Ok(traffic) => (traffic, "on made-up inputs".to_owned()),
                Err(failed) => (
                    executable.traffic(None, &runs),
                    format!(
                        "Times were not measured, since a check fails for made-up inputs ({failed}). `report_with` takes inputs."
                    ),
                ),
            }
        };
        let measured = match traffic.runs {
            0 => measured,
            1 => format!("Times are those of one run {measured}, on one thread."),
            runs => format!("Times are means of {runs} runs {measured}, on one thread."),
        };
        let choices: Vec<ModeChoice> = self.derivative().choices.iter().map(super::Choice::compared).collect();
        let facts = ReportFacts {
            title: pattern.map_or_else(|| self.transformation.0.facts().title, |pattern| pattern.what),
            program,
            passes: &(self.passes() + &self.options.memory_words(executable)),
            traffic: &traffic,
            measured: &measured,
            choices: &choices,
            pattern,
        };
        Ok(facts.html())
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Function<P, Q, Y> {
    /// [`report`](Self::report), with times that are measured on these arguments and data.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let f = Function::value_and_grad_with(|w, x| (w * x).square().sum(), &w, &x);
    /// let path = std::env::temp_dir().join(format!("polygrad-report-with-{}.html", std::process::id()));
    /// f.report_with(&w, &x, &path)?;
    /// assert!(std::fs::read_to_string(&path).unwrap().contains("on the given inputs"));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), polygrad::ReportError>(())
    /// ```
    ///
    /// # Errors
    /// When the file cannot be written, the function does not run on these arguments and data, or a check does not hold.
    pub fn report_with(&self, x: &P, data: &Q, path: impl AsRef<Path>) -> Result<(), ReportError> {
        let inputs = self.inputs_of(x, data)?;
        self.write_report(path.as_ref(), Some(&inputs), None)
    }

    /// The inputs of the program for these arguments and data.
    ///
    /// # Errors
    /// When the function does not run on them.
    pub(in crate::ad) fn inputs_of(&self, x: &P, data: &Q) -> Result<Vec<Array>, RunError> {
        self.fitting(x, data)?;
        Ok([x.leaves(), self.constants(data)].concat())
    }
}
