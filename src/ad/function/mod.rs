//! `Function`: a program traced once, differentiated once, and run many times.
//!
//! Law: a run computes the recorded program, or its derivative, for inputs of the key for which the program was traced;
//! other inputs are a [`RunError`].

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::differentiate::modes::{Choice, ChosenProgram, explained};
use super::differentiate::transformation::Transformation;
use crate::array::Array;
use crate::backend::{self, Executable};
use crate::interpreters::adval::Fault;
use crate::ops::FailedCheck;
use crate::passes::{Phase, Settings, changed_by, optimize_with};
use crate::program::{Program, interpret, is_verbatim};
use crate::taps::caught;
use crate::tree::{Key, Tree, Visitor};

#[cfg(feature = "export")]
mod export;
mod jit;
mod known_data;
mod memory;
#[cfg(feature = "native")]
mod native;
mod options;
mod recent;
mod record;
mod renamed;
#[cfg(feature = "report")]
mod report;
mod run_error;
mod sized;
mod static_arguments;
mod structure;

pub use jit::{Gradient, Jit};
pub use memory::MemoryError;
#[cfg(feature = "native")]
pub use native::NativeFunction;
pub use options::FunctionOptions;
pub(super) use record::{RecordedFunction, record, record_at};
#[cfg(feature = "report")]
pub use report::ReportError;
pub use run_error::RunError;
pub use sized::{SizedFunction, SizedModel, Sizes};
pub(super) use static_arguments::Fixed;
use structure::Fill;
pub(super) use structure::{KnownTensor, both, key_of, key_of_both, paths};

/// A staged function from arguments `P` and data `Q` to results `Y`, all trees of arrays: a recorded program, or a
/// derivative of it.
///
/// A `Function` is data: it can be sent to other threads, run from several threads at once, and printed (its
/// [`program`](Function::program)). It runs on inputs of the shapes, element types, structure and plain fields for
/// which it was traced; [`Jit`](super::Jit) traces again for others. A `Function` is `UnwindSafe`: if code of the host
/// panics in a run, later runs are not affected.
///
/// | constructor | inputs | results |
/// |---|---|---|
/// | [`stage`](Function::stage) | `x` | the results of `f` |
/// | [`grad`](Function::grad) | `x` | a tree like `x` |
/// | [`value_and_grad`](Function::value_and_grad) | `x` | the value, and a tree like `x` |
/// | [`jacobian`](Function::jacobian), [`hessian`](Function::hessian) | one tensor | one tensor |
/// | [`value_and_jacobian`](Function::value_and_jacobian) | one tensor | the result of `f`, and one tensor |
/// | [`nth_derivative`](Function::nth_derivative) | one number | one number |
/// | [`jacobian_matrix`](Function::jacobian_matrix) | `x` | a matrix over raveled trees |
/// | [`value_and_jacobian_matrix`](Function::value_and_jacobian_matrix) | `x` | the results of `f`, and a matrix |
/// | [`hessian_matrix`](Function::hessian_matrix) | `x` | a matrix over the raveled `x` |
/// | [`hvp`](Function::hvp) | `x`, and a direction like `x` | a tree like `x` |
/// | [`jvp`](Function::jvp) | `x`, and a tangent like `x` | the results and their tangents |
/// | [`laplacian`](Function::laplacian) | `x` | the Laplacians of the results of `f` |
/// | [`laplacian_along`](Function::laplacian_along) | `x`, and directions | the same, along these |
/// | [`divergence`](Function::divergence) | one tensor | one number |
/// | [`vjp`](Function::vjp) | `x`, and a cotangent like the results | the results, and a tree like `x` |
///
/// Each constructor has a form with data, such as [`grad_with`](Function::grad_with); [`run_with`](Function::run_with)
/// then takes the data. A direction, tangent or cotangent comes before the data: `run_with(&x, &(v, data))`.
///
/// ```
/// use polygrad::{Function, tensor};
/// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
/// let step = Function::value_and_grad_with(|w, x| (w * x).square().sum(), &w, &x);
/// let (y, g) = step.run_with(&w, &x)?;
/// assert_eq!((y.item(), g), (73.0, tensor([18.0, 64.0])));
/// assert!(step.run_with(&tensor([1.0]), &x).is_err());
/// # Ok::<(), polygrad::RunError>(())
/// ```
pub struct Function<P, Q, Y> {
    /// The program as recorded.
    recorded: Program,
    /// The derivative that is computed, and the number of first inputs that are differentiated.
    transformation: (Transformation, usize),
    options: FunctionOptions,
    /// The names of the last outputs; earlier outputs keep the names in the program.
    names: Vec<String>,
    /// The program of the derivative, made with the function, unless that is recorded for all sizes.
    derivative: OnceLock<DerivativeProgram>,
    /// The program that runs, compiled at its first use.
    executable: OnceLock<Executable>,
    /// Zeros in the structure of the results; an array of zeros is stored as one number.
    template: Y,
    /// Puts the output arrays in the structure of the template.
    fill: Fill<Y>,
    /// The key of the arguments and data for which the program was traced.
    key: Key,
    /// The leaves of the data that are constants of the program instead of inputs.
    fixed: Fixed,
    inputs: PhantomData<fn(&P, &Q)>,
}

/// The program of a derivative, before and after the last optimization.
struct DerivativeProgram {
    /// The derived program.
    program: Program,
    /// The chosen modes, in the order of the differentiations.
    choices: Vec<Choice>,
    /// The derived program after the last optimization: the program that runs.
    ready: Program,
}

/// The results of a run, or the check that failed.
type Attempt<Y> = Result<Y, Box<FailedCheck>>;

/// The parts of a new [`Function`].
struct FunctionParts<Y> {
    transformation: Transformation,
    recorded: Program,
    /// The number of inputs that are arguments; the other inputs are data.
    count: usize,
    /// The names of the last outputs; earlier outputs keep the names in the program.
    names: Vec<String>,
    template: Y,
    fill: Fill<Y>,
    key: Key,
}

impl<P, Q, Y> Function<P, Q, Y> {
    /// # Panics
    /// When the program does not have the derivative.
    #[track_caller]
    fn of(parts: FunctionParts<Y>) -> Self {
        Function::of_with(parts, FunctionOptions::new())
    }

    /// A function with these options: see [`of`](Self::of).
    #[track_caller]
    fn of_with(parts: FunctionParts<Y>, options: FunctionOptions) -> Self {
        let FunctionParts { transformation, recorded, count, names, template, fill, key } = parts;
        // A function that is recorded for all sizes is differentiated when these are known.
        let verbatim = is_verbatim();
        let function = Function {
            recorded,
            transformation: (transformation, count),
            options: FunctionOptions { memory: options.memory.filter(|_| verbatim), ..options },
            names,
            derivative: OnceLock::new(),
            executable: OnceLock::new(),
            template,
            fill,
            key,
            fixed: Fixed::default(),
            inputs: PhantomData,
        };
        if options != function.options {
            return function.with_options(options);
        }
        if !verbatim {
            function.derivative();
        }
        function
    }

    /// The derivative.
    #[track_caller]
    fn derivative(&self) -> &DerivativeProgram {
        // Made outside a closure, so that messages name the caller.
        match self.derivative.get() {
            Some(made) => made,
            None => {
                let made = self.make();
                self.derivative.get_or_init(|| made)
            }
        }
    }

    #[track_caller]
    fn make(&self) -> DerivativeProgram {
        match self.differentiated(&self.options) {
            Ok(made) => made,
            Err(fault) => panic!("{fault}"),
        }
    }

    /// The derivative of the recorded program with these options.
    fn differentiated(&self, options: &FunctionOptions) -> Result<DerivativeProgram, Fault> {
        let (transformation, count) = self.transformation;
        let cut = options.checkpoint.is_some().then(|| options.cut(&self.recorded));
        let recorded = cut.as_ref().unwrap_or(&self.recorded);
        let ChosenProgram { program, ready, choices } =
            transformation.of(recorded, count, options.mode, options.passes, false)?;
        let mut outputs: Vec<&str> = program.outputs().iter().map(|slot| slot.name.as_str()).collect();
        let unnamed = outputs.len() - self.names.len();
        outputs.truncate(unnamed);
        outputs.extend(self.names.iter().map(String::as_str));
        let inputs: Vec<&str> = program.inputs().iter().map(|slot| slot.name.as_str()).collect();
        let program = program.named(&inputs, &outputs);
        let ready = match ready {
            Some(ready) => ready.named(&inputs, &outputs),
            None => optimize_with(&program, transformation.last(options.passes)),
        };
        Ok(DerivativeProgram { program, choices, ready })
    }

    /// The same function with other options: its recorded program is differentiated and optimized again.
    ///
    /// # Panics
    /// When the program cannot be differentiated in the requested [mode](FunctionOptions::mode), since a function in it
    /// has no rule for tangents; when no run keeps the bound of [memory](FunctionOptions::memory).
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let slope = Function::grad(|x| x.exp().ln().sum(), &x).with_options(FunctionOptions::new().fast_math(true));
    /// assert_eq!(slope.run(&x)?, tensor([1.0, 1.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_options(self, options: FunctionOptions) -> Self {
        match self.try_with_options(options) {
            Ok(function) => function,
            Err(error) => panic!("{error}"),
        }
    }

    /// [`with_options`](Function::with_options), with an error where no run keeps the bound of
    /// [memory](FunctionOptions::memory).
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, Tensor};
    /// let f = || Function::stage(|x: &Tensor<_, 1>| x.cumsum(0).reverse(0).cumsum(0), &Tensor::zeros([1000]));
    /// let error = f().try_with_options(FunctionOptions::new().memory(100)).expect_err("too little");
    /// assert!(error.least > 100);
    /// assert!(f().try_with_options(FunctionOptions::new().memory(error.least)).is_ok());
    /// ```
    ///
    /// # Errors
    /// When no plan is found that keeps the bound: see [`MemoryError`].
    ///
    /// # Panics
    /// When the program cannot be differentiated in the requested [mode](FunctionOptions::mode).
    #[track_caller]
    pub fn try_with_options(mut self, options: FunctionOptions) -> Result<Self, MemoryError> {
        if options == self.options {
            return Ok(self);
        }
        let Some(most) = options.memory.filter(|_| !is_verbatim()) else {
            (self.options, self.derivative, self.executable) = (options, OnceLock::new(), OnceLock::new());
            if !is_verbatim() {
                self.derivative();
            }
            return Ok(self);
        };
        self.within(options, most, &Self::differentiated)
    }

    /// The program before the last optimization: the recorded program, or its derivative.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x.square().sum(), &tensor([3.0, 4.0]));
    /// assert_eq!((f.program().inputs()[0].name.as_str(), f.program().size()), ("x", 2));
    /// ```
    pub fn program(&self) -> &Program {
        &self.derivative().program
    }

    /// The program that runs: vectorized and simplified.
    ///
    /// ```
    /// use polygrad::{Function, build1, tensor};
    /// let f = Function::stage(|x| build1(2, |i| x.at([i]) * 2.0).sum(), &tensor([3.0, 4.0]));
    /// assert!(f.program().to_string().contains("loop") && !f.optimized().to_string().contains("loop"));
    /// ```
    pub fn optimized(&self) -> &Program {
        &self.derivative().ready
    }
}

impl<P, Q, Y> Function<P, Q, Y> {
    /// The compiled program, in which the results of operations on large constants are constants: it reports the steps
    /// of a run and their times ([`Executable::explain`], [`Executable::profile`]), and runs without allocation
    /// ([`Executable::run_into`]).
    ///
    /// ```
    /// use polygrad::{Function, Tensor};
    /// let f = Function::stage(|x: &Tensor<_, 1>| x.sin() + x.cos(), &Tensor::linspace(0.0, 1.0, 100));
    /// assert!(f.executable().explain().contains("sin_cos"));
    /// ```
    pub fn executable(&self) -> &Executable {
        self.executable.get_or_init(|| self.options.compiled(&self.options.known(self.optimized())))
    }

    /// A report on how the function runs: the [`Mode`](crate::Mode) of each derivative, with the estimates of the
    /// candidates that were compared; the [passes](crate::passes::pipeline()) that changed the program before it was differentiated,
    /// after that, and before the plan; and the steps of a run ([`Executable::explain`]).
    ///
    /// ```
    /// use polygrad::{Function, Tensor, iterate, tensor};
    /// let start = Tensor::ones([500]);
    /// let decay = |k: &Tensor<_, 0>| iterate(200, start.clone(), |_, y: Tensor<_, 1>| &y - 0.01 * k * &y).sum();
    /// let text = Function::grad(decay, &tensor(0.5)).explain();
    /// let mut lines = text.lines();
    /// assert_eq!(lines.next(), Some("gradient, 1 result in 1 input: forward, side by side, by these estimates"));
    /// assert!(lines.next().unwrap().starts_with("  reverse: "));
    /// assert!(text.contains("passes before the derivative: vectorize; after it: "));
    /// ```
    pub fn explain(&self) -> String {
        let executable = self.executable();
        explained(&self.derivative().choices)
            + &self.passes()
            + &self.options.memory_words(executable)
            + &executable.explain()
    }

    /// The passes that changed the program at each stage, as a line.
    fn passes(&self) -> String {
        let (transformation, settings) = (self.transformation.0, self.options.settings());
        let last = Settings { options: transformation.last(settings.options), ..settings };
        let cut = changed_by(Phase::BeforeDerivative, &self.recorded, &settings);
        let made = changed_by(Phase::Optimize, self.program(), &last);
        let planned = ("before the plan", changed_by(Phase::BeforePlan, self.optimized(), &settings));
        let stages = if transformation == Transformation::Value {
            vec![("passes", [cut, made].concat()), planned]
        } else {
            let before = changed_by(Phase::Optimize, &self.options.cut(&self.recorded), &settings);
            vec![("passes before the derivative", [cut, before].concat()), ("after it", made), planned]
        };
        let told = stages.into_iter().map(|(stage, passes)| {
            let names: Vec<&str> = passes.iter().map(|pass| pass.name).collect();
            format!("{stage}: {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
        });
        told.collect::<Vec<String>>().join("; ") + "\n"
    }
}

impl<P: Tree<Array>, Q: Tree<Array>, Y> Function<P, Q, Y> {
    /// The results for these arguments and data.
    ///
    /// # Errors
    /// When the shape or element type of an input, the structure, or a plain field differs from the trace, or a
    /// [check](crate::Tensor::check) does not hold: see [`RunError`]. After an error the function can run again.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
    /// let f = Function::stage_with(|w, x| (w * x).sum(), &w, &x);
    /// assert_eq!(f.run_with(&w, &x)?.item(), 11.0);
    /// assert!(f.run_with(&w, &tensor([1.0])).is_err());
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    pub fn run_with(&self, x: &P, data: &Q) -> Result<Y, RunError> {
        match self.attempted(x, data) {
            Some(y) => Ok(y?),
            None => Err(self.difference(x, data)),
        }
    }

    /// The results for these arguments and data, or the check that failed; `None` if the function does not run on them.
    pub(super) fn attempted(&self, x: &P, data: &Q) -> Option<Attempt<Y>> {
        if self.options.interpreted || backend::is_off() {
            return self.interpreted(x, data);
        }
        // Before it is compiled, a function is only compared.
        let Some(executable) = self.executable.get() else {
            return if self.fits(x, data) { self.on(self.executable(), x, data) } else { None };
        };
        self.on(executable, x, data)
    }

    /// [`attempted`](Self::attempted) by the compiled program.
    fn on(&self, executable: &Executable, x: &P, data: &Q) -> Option<Attempt<Y>> {
        // One visit compares the structure and takes the leaves.
        let mut run = executable.start();
        let fits = self.key.takes(&|v| x.visit(v), &|v| data.visit(v), run.inputs()) && self.fixed.taken(run.inputs());
        if fits && executable.has_checks() {
            // A run that fails leaves no memory to later runs.
            return Some(caught(|| run.execute()).map(|()| {
                let y = self.assembled(run.results());
                run.end();
                y
            }));
        }
        let y = fits.then(|| {
            run.execute();
            Ok(self.assembled(run.results()))
        });
        run.end();
        y
    }

    /// [`attempted`](Self::attempted) by the interpreter of arrays.
    fn interpreted(&self, x: &P, data: &Q) -> Option<Attempt<Y>> {
        self.fits(x, data).then(|| {
            let mut inputs = x.leaves();
            inputs.extend(self.constants(data));
            caught(|| interpret(self.optimized(), inputs)).map(|results| self.assembled(&results))
        })
    }

    /// The leaves of the data that are inputs of the program.
    pub(super) fn constants(&self, data: &Q) -> Vec<Array> {
        self.fixed.others(data.leaves())
    }

    /// An error unless the function runs on these arguments and data.
    pub(super) fn fitting(&self, x: &P, data: &Q) -> Result<(), RunError> {
        let show = |visitor: &mut dyn Visitor<Array>| both(&|v| x.visit(v), &|v| data.visit(v), visitor);
        if let Some(difference) = self.key.difference_to(&show) {
            return Err(RunError::from(difference));
        }
        self.fixed.compared(data)
    }

    /// The reason why the function does not run on these arguments and data.
    #[cold]
    fn difference(&self, x: &P, data: &Q) -> RunError {
        match self.fitting(x, data) {
            Err(error) => error,
            Ok(()) => unreachable!("a tree shows the same structure at each visit"),
        }
    }

    /// The output arrays in the structure of the results.
    pub(super) fn assembled(&self, results: &[Array]) -> Y {
        (self.fill)(&self.template, results)
    }

    /// Whether the function runs on these arguments and data.
    fn fits(&self, x: &P, data: &Q) -> bool {
        self.key.is_shown(&|visitor: &mut dyn Visitor<Array>| both(&|v| x.visit(v), &|v| data.visit(v), visitor))
            && self.fixed.compared(data).is_ok()
    }
}

impl<P: Tree<Array>, Y> Function<P, (), Y> {
    /// The results for these arguments.
    ///
    /// # Errors
    /// As for [`run_with`](Function::run_with).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::stage(|x| x.square().sum(), &x);
    /// assert_eq!(f.run(&x)?.item(), 25.0);
    /// assert!(f.run(&tensor([1.0])).is_err());
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    pub fn run(&self, x: &P) -> Result<Y, RunError> {
        self.run_with(x, &())
    }
}

/// Shows the program that runs.
impl<P, Q, Y> fmt::Debug for Function<P, Q, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.optimized())
    }
}
