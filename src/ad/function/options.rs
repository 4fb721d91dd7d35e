//! The options of a function: how its program is differentiated, optimized and run.
//!
//! Law: two functions with the same recorded program and the same options run the same program.

use crate::ad::differentiate::strategy::Mode;
use crate::checkpoint::Checkpoint;
use crate::passes::{Options, Phase, Settings, after, constants_evaluated};
use crate::program::Program;

/// Options for the differentiation, optimization and execution of a [`Function`](crate::Function), see [`with_options`](crate::Function::with_options).
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
    pub(in crate::ad) passes: Options,
    pub(in crate::ad) interpreted: bool,
    pub(in crate::ad) mode: Option<Mode>,
    pub(in crate::ad) checkpoint: Option<Checkpoint>,
    pub(in crate::ad) memory: Option<usize>,
}

impl FunctionOptions {
    /// The default options.
    ///
    /// ```
    /// use polygrad::FunctionOptions;
    /// assert_eq!(FunctionOptions::new(), FunctionOptions::new().fast_math(false));
    /// ```
    pub fn new() -> FunctionOptions {
        FunctionOptions::default()
    }

    /// Whether passes may assume that all numbers are finite and all intermediate results within range, see
    /// [`Options::fast_math`]. The option applies before and after the program is differentiated.
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
    /// The mode in which the derivative is computed, instead of the mode with the least estimated time. For a Hessian,
    /// this is the mode in which the gradient is differentiated; the gradient itself is then computed in reverse mode.
    /// Values, products with derivatives and [`nth_derivative`](crate::Function::nth_derivative) have no choice of mode.
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

    /// Cuts loops in segments, so that a derivative in reverse mode keeps only the states at the boundaries of
    /// segments, and runs each segment again: see [`checkpoint`](crate::checkpoint()). Every outermost loop is cut
    /// whose trips must run one after the other.
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

    /// The settings of passes for a function with these options.
    pub(in crate::ad) fn settings(&self) -> Settings {
        Settings { options: self.passes, checkpoint: self.checkpoint, ..Settings::DEFAULT }
    }

    /// The program that is compiled, in which the results of operations on large constants are constants.
    pub(in crate::ad) fn known(&self, ready: &Program) -> Program {
        let known = constants_evaluated(ready, |program, inputs| self.once(program, inputs));
        known.unwrap_or_else(|| ready.clone())
    }

    /// The recorded program after the passes that run before it is differentiated, which cut loops in segments.
    pub(in crate::ad) fn cut(&self, recorded: &Program) -> Program {
        after(Phase::BeforeDerivative, recorded, &self.settings())
    }
}
