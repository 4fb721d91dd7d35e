//! `Function`: a program traced once, differentiated once, and run many times.

use std::marker::PhantomData;

use thiserror::Error;

use super::symbolic;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::passes::{Options, optimize_with};
use crate::program::{Program, Term, interpret};
use crate::shape::Show;
use crate::tensor::Tensor;
use crate::tree::{Difference, Key, Step, Tree, Visitor};

/// A staged function from differentiated inputs `P` and data `Q` to results `Y`, all trees of arrays.
///
/// A `Function` is data: it can be sent to other threads and run from several at once, printed (its
/// [`program`](Function::program)), and run on any inputs of the shapes for which it was traced.
///
/// ```
/// use polygrad::{Function, Tensor, tensor};
/// let (w, x) = (tensor([1.0, 2.0]), tensor([3.0, 4.0]));
/// let step = Function::value_and_grad(|w: &Tensor<_, 1>, x: &Tensor<_, 1>| (w * x).square().sum(), &w, &x);
/// let (y, g) = step.run(&w, &x)?;
/// assert_eq!((y.item(), g), (73.0, tensor([18.0, 64.0])));
/// assert!(step.run(&tensor([1.0]), &x).is_err());
/// # Ok::<(), polygrad::RunError>(())
/// ```
pub struct Function<P, Q, Y> {
    /// The program as recorded.
    program: Program,
    /// The program that runs.
    ready: Program,
    /// Zeros in the structure of the results, each stored as one number.
    template: Y,
    /// What the trace depends on.
    key: Key,
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

/// Shows both arguments of a function.
fn show<T: BaseTensor, P: Tree<T>, Q: Tree<T>>(x: &P, data: &Q, visitor: &mut dyn Visitor<T>) {
    visitor.enter(Step::Field("x"));
    x.visit(visitor);
    visitor.leave();
    visitor.enter(Step::Field("data"));
    data.visit(visitor);
    visitor.leave();
}

fn variables(leaves: &[Array]) -> Vec<Term> {
    leaves.iter().map(|a| Term::variable(a.shape(), a.dtype())).collect()
}

impl<P: Tree<Array>, Q: Tree<Array>, Y: Tree<Array, With<Array> = Y>> Function<P, Q, Y> {
    /// Records `f` for inputs of the shapes of `x` and `data`, whose numbers do not matter.
    ///
    /// # Panics
    /// When `f` looks at values, or a variable of a loop escapes from it.
    ///
    /// ```
    /// use polygrad::{Function, Tensor, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let f = Function::stage(|x: &Tensor<_, 1>, _: &()| (x.sin(), x.sum()), &x, &());
    /// assert_eq!(f.run(&x, &())?.1.item(), 3.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn stage<Z>(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, x: &P, data: &Q) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        FunctionOptions::new().stage(f, x, data)
    }

    #[track_caller]
    fn staged<Z>(options: Options, f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z, x: &P, data: &Q) -> Self
    where
        Z: Tree<Term, With<Array> = Y>,
    {
        let (leaves, constants) = (variables(&x.leaves()), variables(&data.leaves()));
        let y = f(&x.with_leaves(leaves.clone()), &data.with_leaves(constants.clone()));
        let mut names = Vec::new();
        x.paths("x", &mut names);
        data.paths("data", &mut names);
        let inputs: Vec<Term> = leaves.into_iter().chain(constants).collect();
        match Term::program(&inputs, &y.leaves(), &names) {
            Ok(program) => {
                let key = Key::shown(|visitor: &mut dyn Visitor<Array>| show(x, data, visitor));
                Function::of(options, program, y.map(&mut zeros), key)
            }
            Err(message) => panic!("{message}"),
        }
    }

    fn of(options: Options, program: Program, template: Y, key: Key) -> Self {
        let ready = optimize_with(&program, options);
        Function { program, ready, template, key, inputs: PhantomData }
    }

    /// The program as it was recorded.
    ///
    /// ```
    /// use polygrad::{Function, Tensor, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::stage(|x: &Tensor<_, 1>, _: &()| x.square().sum(), &x, &());
    /// assert_eq!((f.program().inputs()[0].name.as_str(), f.program().size()), ("x", 2));
    /// ```
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program that runs: in bulk, and simplified.
    ///
    /// ```
    /// use polygrad::{Function, Tensor, build1, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::stage(|x: &Tensor<_, 1>, _: &()| build1(2, |i| x.at([i]) * 2.0).sum(), &x, &());
    /// assert!(f.program().to_string().contains("loop") && !f.optimized().to_string().contains("loop"));
    /// ```
    pub fn optimized(&self) -> &Program {
        &self.ready
    }

    /// The results for these inputs.
    ///
    /// # Errors
    /// When an input has another shape or element type than the one the function was traced with, or the structure or a
    /// plain field is another.
    ///
    /// ```
    /// use polygrad::{Function, Tensor, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::stage(|x: &Tensor<_, 1>, _: &()| x.square().sum(), &x, &());
    /// assert_eq!(f.run(&x, &())?.item(), 25.0);
    /// assert!(f.run(&tensor([1.0]), &()).is_err());
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    pub fn run(&self, x: &P, data: &Q) -> Result<Y, RunError> {
        if let Some(difference) = self.key.difference_to(|visitor: &mut dyn Visitor<Array>| show(x, data, visitor)) {
            return Err(RunError::from(difference));
        }
        let mut inputs = x.leaves();
        inputs.extend(data.leaves());
        Ok(self.template.with_leaves(interpret(&self.ready, inputs)))
    }
}

fn zeros(t: &Term) -> Array {
    Array::zeros(t.shape(), t.dtype())
}

impl<P, Q, E> Function<P, Q, (Tensor<Array, 0, E>, P)>
where
    P: Tree<Array, With<Array> = P>,
    Q: Tree<Array>,
    E: Float,
{
    /// Value and gradient in `x` of a scalar function: traced once, differentiated once as a program.
    ///
    /// # Panics
    /// When `f` looks at values, or a variable of a loop escapes from it.
    ///
    /// ```
    /// use polygrad::{Function, Tensor, tensor};
    /// let x = tensor([3.0, 4.0]);
    /// let f = Function::value_and_grad(|x: &Tensor<_, 1>, _: &()| x.square().sum(), &x, &());
    /// let (y, g) = f.run(&x, &())?;
    /// assert_eq!((y.item(), g), (25.0, tensor([6.0, 8.0])));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_grad(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>, x: &P, data: &Q) -> Self {
        FunctionOptions::new().value_and_grad(f, x, data)
    }

    #[track_caller]
    fn differentiated(
        options: Options,
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Self {
        let staged: Function<P, Q, Tensor<Array, 0, E>> = Function::staged(options, f, x, data);
        let wrt: Vec<usize> = (0..x.count()).collect();
        let program = symbolic::value_and_gradient_in(&staged.ready, &wrt);
        let (inputs, mut outputs) = (program.inputs().iter().map(|slot| &slot.name[..]), vec![String::from("value")]);
        x.paths("grad", &mut outputs);
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let program = program.named(&inputs.collect::<Vec<&str>>(), &outputs);
        let template = (Tensor::zeros([]), x.map(&mut |a| Array::zeros(a.shape(), a.dtype())));
        Function::of(options, program, template, staged.key)
    }
}

/// How a [`Function`] is made ready to run: options first, then the function.
///
/// ```
/// use polygrad::{FunctionOptions, Tensor, tensor};
/// let x = tensor([1.0, 2.0]);
/// let f = FunctionOptions::new().fast_math(true).stage(|x: &Tensor<_, 1>, _: &()| x.exp().ln(), &x, &());
/// assert_eq!(f.optimized().size(), 0);
/// assert_eq!(f.run(&x, &())?, x);
/// # Ok::<(), polygrad::RunError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionOptions {
    passes: Options,
}

impl FunctionOptions {
    /// The options of [`Function::stage`] and [`Function::value_and_grad`].
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
    /// use polygrad::{Function, FunctionOptions, Tensor, tensor};
    /// let f = |x: &Tensor<_, 0>, _: &()| x.exp().ln();
    /// assert_eq!(Function::stage(f, &tensor(1.0), &()).optimized().size(), 2);
    /// assert_eq!(FunctionOptions::new().fast_math(true).stage(f, &tensor(1.0), &()).optimized().size(), 0);
    /// ```
    #[must_use]
    pub fn fast_math(mut self, yes: bool) -> FunctionOptions {
        self.passes.fast_math = yes;
        self
    }

    /// [`Function::stage`] with these options.
    ///
    /// # Panics
    /// When `f` looks at values, or a variable of a loop escapes from it.
    ///
    /// ```
    /// use polygrad::{FunctionOptions, Tensor, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let f = FunctionOptions::new().stage(|x: &Tensor<_, 1>, _: &()| x.sum(), &x, &());
    /// assert_eq!(f.run(&x, &())?.item(), 3.0);
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn stage<P, Q, Y, Z>(
        self,
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Function<P, Q, Y>
    where
        P: Tree<Array>,
        Q: Tree<Array>,
        Y: Tree<Array, With<Array> = Y>,
        Z: Tree<Term, With<Array> = Y>,
    {
        Function::staged(self.passes, f, x, data)
    }

    /// [`Function::value_and_grad`] with these options.
    ///
    /// # Panics
    /// When `f` looks at values, or a variable of a loop escapes from it.
    ///
    /// ```
    /// use polygrad::{FunctionOptions, Tensor, tensor};
    /// let x = tensor([1.0, 2.0]);
    /// let step = FunctionOptions::new().fast_math(true).value_and_grad(|x: &Tensor<_, 1>, _: &()| x.exp().ln().sum(), &x, &());
    /// assert_eq!(step.run(&x, &())?.1, tensor([1.0, 1.0]));
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    #[track_caller]
    pub fn value_and_grad<P, Q, E>(
        self,
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
        x: &P,
        data: &Q,
    ) -> Function<P, Q, (Tensor<Array, 0, E>, P)>
    where
        P: Tree<Array, With<Array> = P>,
        Q: Tree<Array>,
        E: Float,
    {
        Function::differentiated(self.passes, f, x, data)
    }
}
