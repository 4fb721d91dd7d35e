//! `Function`: a program traced once, differentiated once, and run many times.

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use thiserror::Error;

use crate::array::Array;
use crate::backend::{self, Executable, compile};
use crate::checkpoint::Checkpoint;
use crate::dtype::DType;
use crate::passes::{Options, Phase, Settings, after, changed_by, optimize_with};
use crate::program::{Program, interpret};
use crate::shape::Show;
use crate::tree::{Difference, Key, PathStep, Tree, Visitor};

pub(super) mod derivative_programs;
mod export;
mod jit;
mod jit_verbs;
mod matrices;
mod products;
mod record;
mod renamed;
mod static_arguments;
mod verbs;

use super::modes::{Choice, ChosenProgram, Mode, explained};
use derivative_programs::Derived;
pub use jit::{Gradient, Jit};
pub(super) use record::{RecordedFunction, record_at};
pub(super) use static_arguments::Fixed;

/// A staged function from arguments `P` and data `Q` to results `Y`, all trees of arrays: a program or a derivative of
/// one.
///
/// A `Function` is data: it can be sent to other threads and run from several at once, printed (its
/// [`program`](Function::program)), and run on any inputs like those for which it was traced: of the same shapes,
/// structure and plain fields. [`Jit`](super::Jit) traces again for others. After a run that panics, in code of the host, the
/// next one is like any other: it is `UnwindSafe`.
///
/// | constructor | runs on | gives |
/// |---|---|---|
/// | [`stage`](Function::stage) | `x` | what `f` gives |
/// | [`grad`](Function::grad), [`value_and_grad`](Function::value_and_grad) | `x` | a tree like `x` |
/// | [`jacobian`](Function::jacobian), [`value_and_jacobian`](Function::value_and_jacobian), [`hessian`](Function::hessian) | one tensor | one tensor |
/// | [`nth_derivative`](Function::nth_derivative) | one number | one number |
/// | [`jacobian_matrix`](Function::jacobian_matrix), [`value_and_jacobian_matrix`](Function::value_and_jacobian_matrix), [`hessian_matrix`](Function::hessian_matrix) | `x` | a matrix over raveled trees |
/// | [`hvp`](Function::hvp) | `x`, and a direction like `x` | a tree like `x` |
/// | [`jvp`](Function::jvp) | `x`, and a tangent like `x` | the results and their tangents |
/// | [`vjp`](Function::vjp) | `x`, and a cotangent like the results | the results, and a tree like `x` |
///
/// Each has a form with data, such as [`grad_with`](Function::grad_with); then it is
/// [`run_with`](Function::run_with) data. A direction, tangent or cotangent comes before the data:
/// `run_with(&x, &(v, data))`.
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
    /// What is computed of it, in how many of its first inputs.
    derived: (Derived, usize),
    options: FunctionOptions,
    /// The derived program.
    program: Program,
    /// The modes that were chosen, the last one last.
    choices: Vec<Choice>,
    /// The program that runs.
    ready: Program,
    /// The same, compiled before the first run.
    executable: OnceLock<Executable>,
    /// Zeros in the structure of the results, each stored as one number.
    template: Y,
    /// The results in their structure. What is shaped like the argument is made from the argument.
    assemble: fn(&Y, &P, Vec<Array>) -> Y,
    /// What the trace depends on.
    key: Key,
    /// Which data are constants of the program, and no inputs.
    fixed: Fixed,
    inputs: PhantomData<fn(&P, &Q)>,
}

/// The reason why a staged function did not run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RunError {
    /// An input has another shape or element type than in the trace.
    #[error(
        "run: input `{name}` was traced as {} {}, but it is {} {}; stage the function again for this shape",
        .needed.1, Show(&.needed.0), .given.1, Show(&.given.0)
    )]
    Input {
        /// The name of the input.
        name: String,
        /// Shape and element type in the trace.
        needed: (Vec<usize>, DType),
        /// Shape and element type given.
        given: (Vec<usize>, DType),
    },
    /// Data beside the tensors are others than in the trace, which may have branched on them.
    #[error(
        "run: the field `{name}` was traced as {needed}, but it is {given}; stage the function again for this value"
    )]
    Field {
        /// The path to the data.
        name: String,
        /// The data in the trace, as text.
        needed: String,
        /// The data given, as text.
        given: String,
    },
    /// The structure is not that of the trace.
    #[error("run: `{name}` was traced with {needed}, but it has {given}; stage the function again for this structure")]
    Structure {
        /// The path to the part that differs.
        name: String,
        /// What the trace had there.
        needed: String,
        /// What was given.
        given: String,
    },
    /// Integers or masks in the data are others than in the trace, and the program depends on them: see
    /// [`sparse_jacobian_with`](crate::sparse_jacobian_with).
    #[error(
        "run: `{name}` was traced as {needed}, but it is {given}; record the function again for these integers and masks, \
         which are a part of it"
    )]
    Fixed {
        /// The path to the data, and the index of the first element that differs.
        name: String,
        /// This element in the trace, as text.
        needed: String,
        /// This element as given, as text.
        given: String,
    },
}

impl From<Difference> for RunError {
    fn from(difference: Difference) -> RunError {
        match difference {
            Difference::Leaf { at: name, needed, given } => RunError::Input { name, needed, given },
            Difference::Plain { at: name, needed, given } => RunError::Field { name, needed, given },
            Difference::Structure { at: name, needed, given } => RunError::Structure { name, needed, given },
        }
    }
}

/// How a [`Function`] is made ready to run, see [`Function::with_options`].
///
/// ```
/// use polygrad::{Function, FunctionOptions, tensor};
/// let x = tensor([1.0, 2.0]);
/// let fast = FunctionOptions::new().fast_math(true);
/// let f = Function::stage(|x| x.exp().ln(), &x).with_options(fast);
/// assert_eq!(f.optimized().size(), 0);
/// assert_eq!(f.run(&x)?, x);
/// # Ok::<(), polygrad::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionOptions {
    passes: Options,
    interpreted: bool,
    mode: Option<Mode>,
    checkpoint: Option<Checkpoint>,
}

impl FunctionOptions {
    /// The options a function has unless it is given others.
    ///
    /// ```
    /// use polygrad::FunctionOptions;
    /// assert_eq!(FunctionOptions::new(), FunctionOptions::new().fast_math(false));
    /// ```
    pub fn new() -> FunctionOptions {
        FunctionOptions::default()
    }

    /// Whether all numbers count as finite and intermediate results as within range, see
    /// [`Options::fast_math`]. Applies to the function before it is differentiated and to its derivative.
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, tensor};
    /// let f = Function::stage(|x| x.exp().ln(), &tensor(1.0));
    /// assert_eq!(f.optimized().size(), 2);
    /// assert_eq!(f.with_options(FunctionOptions::new().fast_math(true)).optimized().size(), 0);
    /// ```
    #[must_use]
    pub fn fast_math(mut self, yes: bool) -> FunctionOptions {
        self.passes.fast_math = yes;
        self
    }

    /// Whether the program is interpreted, operation by operation, instead of compiled. Both give the same results up
    /// to rounding, so a result that differs by more is a fault of the compiler, not of a derivative. With
    /// `POLYGRAD_INTERPRET=1` in the environment every function is interpreted.
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let f = Function::grad(|x| x.square().sum(), &x);
    /// let g = Function::grad(|x| x.square().sum(), &x).with_options(FunctionOptions::new().interpreted(true));
    /// assert_eq!(f.run(&x)?, g.run(&x)?);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[must_use]
    pub fn interpreted(mut self, yes: bool) -> FunctionOptions {
        self.interpreted = yes;
        self
    }
}

impl FunctionOptions {
    /// The mode in which the derivative is computed, instead of the one that takes the least time by an estimate; of a
    /// Hessian the mode of the second derivative, that of the gradient, which is then computed in reverse mode. Values,
    /// products with derivatives and [`nth_derivative`](Function::nth_derivative) have no choice.
    ///
    /// ```
    /// use polygrad::{Function, FunctionOptions, Mode, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let j = Function::jacobian(|x| x.square(), &x).with_options(FunctionOptions::new().mode(Mode::Reverse));
    /// assert_eq!(j.run(&x)?, tensor([[2.0, 0.0], [0.0, 4.0]]));
    /// assert!(j.explain().starts_with("jacobian, 2 results in 2 inputs: reverse, as asked for"));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> FunctionOptions {
        self.mode = Some(mode);
        self
    }

    /// Loops are cut in segments, of which a derivative in reverse mode keeps the states at the ends alone: see
    /// [`checkpoint`](crate::checkpoint()). Every outermost loop whose trips must run one after the other is cut.
    ///
    /// ```
    /// use polygrad::{Checkpoint, Function, FunctionOptions, Tensor, iterate, tensor};
    /// let x = Tensor::linspace(0.0, 1.0, 300);
    /// let f = || Function::grad(|x| iterate(1000, x, |_, x: Tensor<_, 1>| x.sin()).sum(), &x);
    /// let (whole, cut) = (f(), f().with_options(FunctionOptions::new().checkpoint(Checkpoint::states(100))));
    /// assert_eq!(whole.run(&x)?, cut.run(&x)?);
    /// assert!(5 * cut.executable().peak_bytes() < whole.executable().peak_bytes());
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: Checkpoint) -> FunctionOptions {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// What passes are told that make a function with these options ready.
    fn settings(&self) -> Settings {
        Settings { options: self.passes, checkpoint: self.checkpoint, ..Settings::DEFAULT }
    }

    /// The recorded program as it is differentiated.
    fn cut(&self, recorded: &Program) -> Program {
        after(Phase::BeforeDerivative, recorded, &self.settings())
    }
}

/// Something that shows a tree to a visitor.
type Shown<'a> = &'a dyn Fn(&mut dyn Visitor<Array>);

/// Shows both arguments of a function.
fn both(x: Shown<'_>, data: Shown<'_>, visitor: &mut dyn Visitor<Array>) {
    for (name, tree) in [("x", x), ("data", data)] {
        visitor.enter(PathStep::Field(name));
        tree(visitor);
        visitor.leave();
    }
}

/// What a function is made of.
struct Parts<P, Y> {
    derived: Derived,
    recorded: Program,
    /// The number of inputs that are arguments and no data.
    count: usize,
    /// The names of the last results.
    names: Vec<String>,
    template: Y,
    assemble: fn(&Y, &P, Vec<Array>) -> Y,
    key: Key,
}

impl<P, Q, Y> Function<P, Q, Y> {
    /// # Panics
    /// When the program has no such derivative.
    #[track_caller]
    fn of(parts: Parts<P, Y>) -> Self {
        let Parts { derived, recorded, count, names, template, assemble, key } = parts;
        let options = FunctionOptions::new();
        let ChosenProgram { program, ready, choices } = match derived.of(&recorded, count, options.mode, options.passes)
        {
            Ok(made) => made,
            Err(fault) => panic!("{fault}"),
        };
        let mut outputs: Vec<&str> = program.outputs().iter().map(|slot| slot.name.as_str()).collect();
        let unnamed = outputs.len() - names.len();
        outputs.truncate(unnamed);
        outputs.extend(names.iter().map(String::as_str));
        let inputs: Vec<&str> = program.inputs().iter().map(|slot| slot.name.as_str()).collect();
        let program = program.named(&inputs, &outputs);
        let ready = match ready {
            Some(ready) => ready.named(&inputs, &outputs),
            None => optimize_with(&program, derived.last(options.passes)),
        };
        let derived = (derived, count);
        let executable = OnceLock::new();
        Function {
            recorded,
            derived,
            options,
            program,
            choices,
            ready,
            executable,
            template,
            assemble,
            key,
            fixed: Fixed::default(),
            inputs: PhantomData,
        }
    }

    /// This function made ready anew, with other options.
    ///
    /// # Panics
    /// When the derivative does not exist in the [mode](FunctionOptions::mode) that is asked for: a function in it has no
    /// rule for tangents.
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
    pub fn with_options(mut self, options: FunctionOptions) -> Self {
        if options != self.options {
            let (derived, count) = self.derived;
            let made = match derived.of(&options.cut(&self.recorded), count, options.mode, options.passes) {
                Ok(made) => made,
                Err(fault) => panic!("{fault}"),
            };
            let (inputs, outputs) = (self.program.inputs(), self.program.outputs());
            let inputs: Vec<&str> = inputs.iter().map(|slot| slot.name.as_str()).collect();
            let outputs: Vec<&str> = outputs.iter().map(|slot| slot.name.as_str()).collect();
            let program = made.program.named(&inputs, &outputs);
            self.ready = match made.ready {
                Some(ready) => ready.named(&inputs, &outputs),
                None => optimize_with(&program, derived.last(options.passes)),
            };
            (self.program, self.choices) = (program, made.choices);
            self.executable = OnceLock::new();
            self.options = options;
        }
        self
    }

    /// The program before the last optimization: as it was recorded, or its derivative.
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x.square().sum(), &tensor([3.0, 4.0]));
    /// assert_eq!((f.program().inputs()[0].name.as_str(), f.program().size()), ("x", 2));
    /// ```
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program that runs: in bulk, and simplified.
    ///
    /// ```
    /// use polygrad::{Function, build1, tensor};
    /// let f = Function::stage(|x| build1(2, |i| x.at([i]) * 2.0).sum(), &tensor([3.0, 4.0]));
    /// assert!(f.program().to_string().contains("loop") && !f.optimized().to_string().contains("loop"));
    /// ```
    pub fn optimized(&self) -> &Program {
        &self.ready
    }
}

impl<P, Q, Y> Function<P, Q, Y> {
    /// The program compiled: it says what a run does and how long each step takes ([`Executable::explain`],
    /// [`Executable::profile`]), and runs without allocation ([`Executable::run_into`]).
    ///
    /// ```
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage(|x| x.sin() + x.cos(), &tensor([1.0, 2.0]));
    /// assert!(f.executable().explain().contains("sin_cos"));
    /// ```
    pub fn executable(&self) -> &Executable {
        self.executable.get_or_init(|| compile(&self.ready))
    }

    /// Why the function runs as it does: the [`Mode`] of each derivative, with the estimates of those that were
    /// compared, the [passes](crate::passes::pipeline()) that changed the program before its derivative, after it and
    /// before the plan, and what a run does ([`Executable::explain`]).
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
        explained(&self.choices) + &self.passes() + &self.executable().explain()
    }

    /// The passes that changed the program at each stage, as a line.
    fn passes(&self) -> String {
        let (derived, settings) = (self.derived.0, self.options.settings());
        let last = Settings { options: derived.last(settings.options), ..settings };
        let cut = changed_by(Phase::BeforeDerivative, &self.recorded, &settings);
        let made = changed_by(Phase::Optimize, &self.program, &last);
        let planned = ("before the plan", changed_by(Phase::BeforePlan, &self.ready, &settings));
        let stages = if derived == Derived::Value {
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
    /// When an input has another shape or element type than the one the function was traced with, or the structure or a
    /// plain field is another.
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
        self.fitting(x, data)?;
        let mut inputs = x.leaves();
        inputs.extend(self.constants(data));
        Ok(self.assembled(x, self.results(inputs)))
    }

    /// The data that are inputs of the program.
    pub(super) fn constants(&self, data: &Q) -> Vec<Array> {
        self.fixed.others(data.leaves())
    }

    /// An error unless the function runs on these arguments and data.
    pub(super) fn fitting(&self, x: &P, data: &Q) -> Result<(), RunError> {
        let show = |visitor: &mut dyn Visitor<Array>| both(&|v| x.visit(v), &|v| data.visit(v), visitor);
        if let Some(difference) = self.key.difference_to(show) {
            return Err(RunError::from(difference));
        }
        self.fixed.compared(data)
    }

    /// Results in their structure.
    pub(super) fn assembled(&self, x: &P, results: Vec<Array>) -> Y {
        (self.assemble)(&self.template, x, results)
    }

    fn results(&self, inputs: Vec<Array>) -> Vec<Array> {
        if self.options.interpreted || backend::is_off() {
            return interpret(&self.ready, inputs);
        }
        self.executable().run_fitting(&inputs)
    }

    /// Whether the function runs on these arguments and data.
    fn fits(&self, x: &P, data: &Q) -> bool {
        self.key.is_shown(|visitor: &mut dyn Visitor<Array>| both(&|v| x.visit(v), &|v| data.visit(v), visitor))
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

/// The program that runs.
impl<P, Q, Y> fmt::Debug for Function<P, Q, Y> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({})", self.ready)
    }
}
