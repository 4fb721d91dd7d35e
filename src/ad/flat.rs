//! `FlatFunction`: a function, its derivatives and its data for solvers and samplers, which have slices of numbers.
//!
//! Law: a run computes what [`Function::run`](crate::Function::run) computes, and allocates nothing once as many runs
//! as there are threads have been made. The elements of all leaves of a tree lie one leaf after the other, as
//! [`ravel`](crate::Tree::ravel) writes them.

use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

use super::differentiate::modes::DenseDerivative;
use super::differentiate::transformation::Transformation;
use super::function::{FunctionOptions, RecordedFunction, RunError, both, key_of, record};
use super::sparse::{self, SparsityPattern};
use crate::array::Array;
use crate::backend::{self, Executable};
use crate::dtype::Float;
use crate::escape;
use crate::passes::{optimize_with, partially_evaluated};
use crate::program::{Program, Slot, Term, interpret};
use crate::shape::{Show, element_name, size};
use crate::tree::{Key, Tree, Visitor};

/// A function of a tree over slices, with its derivatives: what optimizers, samplers and solvers of other crates take.
///
/// It is made from a function, an argument like those of its runs, and data. What depends on the data alone is computed
/// once. All methods take `&self`, so one function serves many threads; memory for runs is kept from run to run, and
/// each derivative is recorded and compiled at its first use.
///
/// ```
/// use polygrad::stats::{half_cauchy, normal};
/// use polygrad::{BaseTensor, FlatFunction, Tensor, Tree, tensor};
/// #[derive(Tree, Clone)]
/// struct Line<T: BaseTensor> {
///     weights: Tensor<T, 1>,
///     log_sd: Tensor<T, 0>,
/// }
/// fn log_density<T: BaseTensor>(line: &Line<T>, (x, y): &(Tensor<T, 2>, Tensor<T, 1>)) -> Tensor<T, 0> {
///     let sd = line.log_sd.exp();
///     normal(y, x.matvec(&line.weights), &sd).sum() + half_cauchy(&sd, 5.0) + &line.log_sd
/// }
/// let data = (tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), tensor([0.5, 1.5, 2.0]));
/// let start = Line { weights: tensor([0.0, 1.0]), log_sd: tensor(0.0) };
/// let f = FlatFunction::new_with(log_density, &start, &data);
/// assert_eq!((f.len(), f.names()), (3, ["weights[0]", "weights[1]", "log_sd"].map(String::from).to_vec()));
/// let (x, mut slope) = ([0.5, 0.75, 0.0], [0.0; 3]);
/// let value = f.value_and_grad(&x, &mut slope);
/// assert_eq!((value, slope[0]), (f.value(&x), 0.25));
/// assert_eq!(f.tree(&x).weights, tensor([0.5, 0.75]));
/// ```
///
/// | method | writes | needs |
/// |---|---|---|
/// | [`run`](Self::run) | the results | |
/// | [`jvp`](Self::jvp), [`vjp`](Self::vjp) | the Jacobian times a tangent, a cotangent times the Jacobian | |
/// | [`jacobian`](Self::jacobian), [`sparse_jacobian`](Self::sparse_jacobian) | the Jacobian, or its elements that may not be 0 | `f64` |
/// | [`value`](Self::value), [`grad`](Self::grad), [`value_and_grad`](Self::value_and_grad) | the value, the gradient | one number as result |
/// | [`hvp`](Self::hvp) | the Hessian times a direction | one number as result |
/// | [`hessian`](Self::hessian), [`sparse_hessian`](Self::sparse_hessian) | the Hessian, or its elements that may not be 0 | one number as result, `f64` |
pub struct FlatFunction<P, E: Float = f64> {
    /// The program as recorded, with the data as constants.
    recorded: Program,
    options: FunctionOptions,
    key: Key,
    /// An argument like those of runs.
    like: P,
    /// The number of elements of the argument, and of the results.
    sizes: [usize; 2],
    /// Whether the result is one number.
    is_number: bool,
    programs: Programs,
    element: PhantomData<E>,
}

/// The programs of a function, each compiled at its first use.
#[derive(Default)]
struct Programs {
    value: OnceLock<FlatProgram>,
    value_and_grad: OnceLock<FlatProgram>,
    jvp: OnceLock<FlatProgram>,
    vjp: OnceLock<FlatProgram>,
    hvp: OnceLock<FlatProgram>,
    jacobian: OnceLock<FlatProgram>,
    hessian: OnceLock<FlatProgram>,
    sparse_jacobian: OnceLock<(SparsityPattern, FlatProgram)>,
    sparse_hessian: OnceLock<(SparsityPattern, FlatProgram)>,
}

/// A compiled program, or one that is interpreted.
struct FlatProgram {
    executable: Executable,
    interpreted: bool,
}

impl FlatProgram {
    fn new(ready: &Program, options: FunctionOptions, passes: crate::passes::Options) -> FlatProgram {
        let known = vec![None; ready.inputs().len()];
        let known = partially_evaluated(ready, &known, |program, inputs| options.once(program, inputs));
        let executable = options.compiled(&optimize_with(&known, passes));
        FlatProgram { executable, interpreted: options.interpreted || backend::is_off() }
    }

    /// Runs on the elements of all inputs, first those of one slice and then those of another, and writes the elements
    /// of all results in the same way.
    #[inline]
    fn run<E: Float>(&self, x: [&[E]; 2], results: [&mut [E]; 2]) {
        match self.interpreted {
            false => self.executable.run_flat(x, results),
            true => self.interpret(x, results),
        }
    }

    #[cold]
    fn interpret<E: Float>(&self, x: [&[E]; 2], results: [&mut [E]; 2]) {
        let program = self.executable.program();
        let (mut elements, mut out) = (x.concat().into_iter(), results.into_iter().flatten());
        let take = |slot: &Slot| Array::new(&slot.shape, elements.by_ref().take(size(&slot.shape)).collect::<Vec<E>>());
        for result in interpret(program, program.inputs().iter().map(take).collect()) {
            result.typed_elements::<E>().iter().zip(&mut out).for_each(|(x, out)| *out = *x);
        }
    }
}

impl<P: Tree<Array, With<Array> = P> + Clone> FlatFunction<P> {
    /// The function `f`, for arguments like `x`.
    ///
    /// Example: [`FlatFunction::value_and_grad`].
    ///
    /// # Panics
    /// Like [`new_with`](Self::new_with).
    #[track_caller]
    pub fn new<Z: Tree<Term>>(f: impl Fn(&P::With<Term>) -> Z, x: &P) -> Self {
        FlatFunction::with_elements(|x, _: &()| f(x), x, &())
    }

    /// The function `f` of arguments like `x` and of these data, which may have any element type.
    ///
    /// Example: [`FlatFunction::value_and_grad`].
    ///
    /// # Panics
    /// When `f` looks at values, a variable of a loop escapes from the loop, or a leaf of the argument or of the
    /// results has an element type that is not `f64`.
    #[track_caller]
    pub fn new_with<Q: Tree<Array>, Z: Tree<Term>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        FlatFunction::with_elements(f, x, data)
    }
}

impl<P, E> FlatFunction<P, E>
where
    P: Tree<Array, With<Array> = P> + Clone,
    E: Float,
{
    /// [`new_with`](FlatFunction::new_with) of a function whose arguments and results have elements `E`.
    ///
    /// Example: [`FlatFunction::value_and_grad`].
    ///
    /// # Panics
    /// As that function, with `E` in place of `f64`.
    #[track_caller]
    pub fn with_elements<Q: Tree<Array>, Z: Tree<Term>>(
        f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Z,
        x: &P,
        data: &Q,
    ) -> Self {
        let (RecordedFunction { program, count, .. }, options) = (record(&f, x, data), FunctionOptions::new());
        let known: Vec<Option<Array>> = (0..count).map(|_| None).chain(data.leaves().into_iter().map(Some)).collect();
        let recorded = partially_evaluated(&program, &known, |program, inputs| options.once(program, inputs));
        let key = key_of(x, &());
        let slots = recorded.inputs().iter().chain(recorded.outputs());
        if let Some(slot) = slots.into_iter().find(|slot| slot.dtype != E::DTYPE) {
            let name = if slot.name.is_empty() { String::from("a result") } else { escape::quoted(&slot.name) };
            panic!(
                "flat: all arguments and results must have elements {}, but {name} has elements {}; convert it inside the \
                 function, or hand it over as data",
                E::DTYPE,
                slot.dtype
            );
        }
        let count = |slots: &[Slot]| slots.iter().map(|slot| size(&slot.shape)).sum();
        let sizes = [count(recorded.inputs()), count(recorded.outputs())];
        let is_number = matches!(recorded.outputs(), [slot] if slot.shape.is_empty());
        let (programs, like) = (Programs::default(), x.clone());
        FlatFunction { recorded, options, key, like, sizes, is_number, programs, element: PhantomData }
    }

    /// The name of each element of the argument, in order: the name of its leaf and its index, such as `weights[2]` or
    /// `layers.0.gain[1, 0]`. A tensor that is the whole argument is called `x`.
    ///
    /// Example: [`FlatFunction::flatten`].
    pub fn names(&self) -> Vec<String> {
        let mut all = Vec::with_capacity(self.len());
        for (name, leaf) in self.like.names().into_iter().zip(self.like.leaves()) {
            let name = if name.is_empty() { String::from("x") } else { name };
            all.extend((0..leaf.size()).map(|element| element_name(&name, leaf.shape(), element)));
        }
        all
    }

    /// The argument with these elements.
    ///
    /// Example: [`FlatFunction::flatten`].
    ///
    /// # Panics
    /// When the size of the slice is not that of the argument.
    #[track_caller]
    pub fn tree(&self, x: &[E]) -> P {
        fitting("tree", [self.sizes[0]], [x.len()]);
        let mut at = 0;
        self.like.map(&mut |leaf| {
            let start = at;
            at += leaf.size();
            Array::new(leaf.shape(), x[start..at].to_vec())
        })
    }

    /// The elements of an argument: the inverse of [`tree`](Self::tree).
    ///
    /// # Errors
    /// When the structure, the shapes or the plain fields differ from those of the argument for which the function was
    /// made: see [`RunError`].
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|(a, b)| (a * b).sum(), &(tensor(1.0), tensor([[1.0, 2.0]])));
    /// assert_eq!((f.len(), f.names()), (3, ["0", "1[0, 0]", "1[0, 1]"].map(String::from).to_vec()));
    /// let x = f.flatten(&(tensor(2.0), tensor([[3.0, 4.0]])))?;
    /// assert_eq!((f.value(&x), f.tree(&x)), (14.0, (tensor(2.0), tensor([[3.0, 4.0]]))));
    /// assert!(f.flatten(&(tensor(2.0), tensor([[3.0]]))).is_err());
    /// # Ok::<(), polygrad::RunError>(())
    /// ```
    pub fn flatten(&self, tree: &P) -> Result<Vec<E>, RunError> {
        let show = |visitor: &mut dyn Visitor<Array>| both(&|v| tree.visit(v), &|v| ().visit(v), visitor);
        if let Some(difference) = self.key.difference_to(&show) {
            return Err(RunError::from(difference));
        }
        Ok(self.raveled(tree))
    }

    /// The elements of a tree that is like that of the function.
    pub(crate) fn raveled(&self, tree: &P) -> Vec<E> {
        let mut elements = Vec::with_capacity(self.len());
        for leaf in tree.leaves() {
            elements.extend_from_slice(&leaf.typed_elements::<E>());
        }
        elements
    }
}

/// Panics unless the slices have the sizes that are needed.
#[inline]
#[track_caller]
fn fitting<const N: usize>(verb: &str, needed: [usize; N], given: [usize; N]) {
    if needed != given {
        misfit(verb, &needed, &given);
    }
}

#[cold]
#[track_caller]
fn misfit(verb: &str, needed: &[usize], given: &[usize]) -> ! {
    panic!(
        "{verb}: the slices must have {} elements, but they have {}; the order is that of the leaves of argument and result",
        Show(needed),
        Show(given)
    );
}

impl<P, E: Float> FlatFunction<P, E> {
    /// The number of elements of the argument.
    ///
    /// Example: [`FlatFunction::flatten`].
    #[allow(clippy::len_without_is_empty, reason = "a function without arguments is not a special case")]
    pub fn len(&self) -> usize {
        self.sizes[0]
    }

    /// The number of elements of the results.
    ///
    /// Example: [`FlatFunction::run`].
    pub fn results(&self) -> usize {
        self.sizes[1]
    }

    /// The same function with other options; it is compiled again. A bound of [memory](FunctionOptions::memory) holds for
    /// each derivative, at whose first use there is a panic if no run keeps the bound; loops are cut only as the options
    /// say.
    ///
    /// ```
    /// use polygrad::{FlatFunction, FunctionOptions, Mode, tensor};
    /// let f = FlatFunction::new(|x| x.square().sum(), &tensor([0.0, 0.0]));
    /// let f = f.with_options(FunctionOptions::new().mode(Mode::Forward));
    /// let mut slope = [0.0; 2];
    /// f.grad(&[3.0, 4.0], &mut slope);
    /// assert_eq!(slope, [6.0, 8.0]);
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: FunctionOptions) -> Self {
        (self.options, self.programs) = (options, Programs::default());
        self
    }

    /// The compiled program of a derivative.
    #[track_caller]
    fn compiled(&self, transformation: Transformation) -> FlatProgram {
        let options = self.options;
        let count = self.recorded.inputs().len();
        match transformation.optimized(&options.cut(&self.recorded), count, options.mode, options.passes) {
            Ok(ready) => FlatProgram::new(&ready, options, transformation.last(options.passes)),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// Panics unless the result is one number.
    #[inline]
    #[track_caller]
    fn number(&self, verb: &str) {
        if !self.is_number {
            panic!(
                "{verb}: the function must have one number as its result, but it has {} elements; sum them, or use run, jvp \
                 and vjp",
                self.sizes[1]
            );
        }
    }

    /// The compiled program of a derivative, which is made once.
    #[inline]
    #[track_caller]
    fn program<'a>(&'a self, of: &'a OnceLock<FlatProgram>, transformation: Transformation) -> &'a FlatProgram {
        // Made outside a closure, so that messages name the caller.
        match of.get() {
            Some(program) => program,
            None => {
                let made = self.compiled(transformation);
                of.get_or_init(|| made)
            }
        }
    }

    #[track_caller]
    fn gradient_program(&self) -> &FlatProgram {
        self.program(&self.programs.value_and_grad, Transformation::Dense(DenseDerivative::gradient(true)))
    }

    /// A report on how value and gradient run, or the function if its result is not a number: see
    /// [`Executable::explain`](crate::backend::Executable::explain).
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|x| x.sin().sum(), &tensor([0.0; 20]));
    /// assert!(f.explain().contains("cos"));
    /// ```
    #[track_caller]
    pub fn explain(&self) -> String {
        let program = match self.is_number {
            true => self.gradient_program(),
            false => self.program(&self.programs.value, Transformation::Value),
        };
        program.executable.explain()
    }

    /// Writes the results for an argument.
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|(a, b)| (a * b, a + b), &(tensor([1.0, 2.0]), tensor(3.0)));
    /// let mut results = vec![0.0; f.results()];
    /// f.run(&[1.0, 2.0, 10.0], &mut results);
    /// assert_eq!(results, [10.0, 20.0, 11.0, 12.0]);
    /// ```
    ///
    /// # Panics
    /// When the sizes of the slices are not those of argument and results.
    #[track_caller]
    pub fn run(&self, x: &[E], results: &mut [E]) {
        fitting("run", self.sizes, [x.len(), results.len()]);
        self.program(&self.programs.value, Transformation::Value).run([x, &[]], [results, &mut []]);
    }

    /// The value for an argument.
    ///
    /// Example: [`FlatFunction::value_and_grad`].
    ///
    /// # Panics
    /// When the result is not a number, or the size of the slice is not that of the argument.
    #[track_caller]
    pub fn value(&self, x: &[E]) -> E {
        self.number("value");
        fitting("value", [self.len()], [x.len()]);
        let mut value = [E::ZERO];
        self.program(&self.programs.value, Transformation::Value).run([x, &[]], [&mut value, &mut []]);
        value[0]
    }

    /// The value for an argument; its gradient is written.
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|x| x.square().sum(), &tensor([0.0, 0.0]));
    /// let (x, mut slope, mut both) = ([1.0, 2.0], [0.0; 2], [0.0; 2]);
    /// f.grad(&x, &mut slope);
    /// assert_eq!((f.value(&x), f.value_and_grad(&x, &mut both)), (5.0, 5.0));
    /// assert_eq!((slope, both), ([2.0, 4.0], [2.0, 4.0]));
    /// // With data, and elements `f32`.
    /// let data = (tensor([1.0, 2.0]), tensor([2.0, 5.0]));
    /// let f = FlatFunction::new_with(|a, (x, y)| (x * a - y).square().sum(), &tensor(0.0), &data);
    /// assert_eq!(f.value(&[2.0]), 1.0);
    /// let f = FlatFunction::<_, f32>::with_elements(|x, c| (x * c).sum(), &tensor([0f32, 0.0]), &tensor([1f32, 2.0]));
    /// assert_eq!(f.value(&[3.0, 4.0]), 11.0);
    /// ```
    ///
    /// # Panics
    /// When the result is not a number or has no gradient, or the sizes of the slices are not that of the argument.
    #[track_caller]
    pub fn value_and_grad(&self, x: &[E], gradient: &mut [E]) -> E {
        self.number("value_and_grad");
        fitting("value_and_grad", [self.len(); 2], [x.len(), gradient.len()]);
        let mut value = [E::ZERO];
        self.gradient_program().run([x, &[]], [&mut value, gradient]);
        value[0]
    }

    /// Writes the gradient for an argument, by the program of [`value_and_grad`](Self::value_and_grad).
    ///
    /// Example: [`FlatFunction::value_and_grad`].
    ///
    /// # Panics
    /// As that method.
    #[track_caller]
    pub fn grad(&self, x: &[E], gradient: &mut [E]) {
        self.number("grad");
        fitting("grad", [self.len(); 2], [x.len(), gradient.len()]);
        self.gradient_program().run([x, &[]], [&mut [E::ZERO], gradient]);
    }

    /// Writes the Jacobian times a tangent of the argument.
    ///
    /// Example: [`FlatFunction::vjp`].
    ///
    /// # Panics
    /// When the sizes of the slices are not those of argument, argument and results.
    #[track_caller]
    pub fn jvp(&self, x: &[E], x_dot: &[E], results_dot: &mut [E]) {
        let [n, m] = self.sizes;
        fitting("jvp", [n, n, m], [x.len(), x_dot.len(), results_dot.len()]);
        self.program(&self.programs.jvp, Transformation::Tangents).run([x, x_dot], [results_dot, &mut []]);
    }

    /// Writes a cotangent of the results times the Jacobian.
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|x| (x.square(), x.sum()), &tensor([0.0, 0.0]));
    /// let (x, mut tangent, mut cotangent) = ([1.0, 2.0], [0.0; 3], [0.0; 2]);
    /// f.jvp(&x, &[1.0, 10.0], &mut tangent);
    /// f.vjp(&x, &[1.0, 10.0, 0.5], &mut cotangent);
    /// assert_eq!((tangent, cotangent), ([2.0, 40.0, 11.0], [2.5, 40.5]));
    /// let f = FlatFunction::new(|x| x.powi(3).sum(), &tensor([0.0, 0.0]));
    /// let mut product = [0.0; 2];
    /// f.hvp(&x, &[1.0, 10.0], &mut product);
    /// assert_eq!(product, [6.0, 120.0]);
    /// ```
    ///
    /// # Panics
    /// When the function has no derivative in reverse mode, or the sizes of the slices are not those of argument, results and
    /// argument.
    #[track_caller]
    pub fn vjp(&self, x: &[E], results_bar: &[E], x_bar: &mut [E]) {
        let [n, m] = self.sizes;
        fitting("vjp", [n, m, n], [x.len(), results_bar.len(), x_bar.len()]);
        self.program(&self.programs.vjp, Transformation::Cotangents).run([x, results_bar], [x_bar, &mut []]);
    }

    /// Writes the Hessian times a direction.
    ///
    /// Example: [`FlatFunction::vjp`].
    ///
    /// # Panics
    /// When the result is not a number or has no second derivative, or the sizes of the slices are not that of the argument.
    #[track_caller]
    pub fn hvp(&self, x: &[E], direction: &[E], product: &mut [E]) {
        self.number("hvp");
        fitting("hvp", [self.len(); 3], [x.len(), direction.len(), product.len()]);
        self.program(&self.programs.hvp, Transformation::Hvp).run([x, direction], [product, &mut []]);
    }
}

/// Matrices.
impl<P> FlatFunction<P, f64> {
    /// Writes the Jacobian, row by row; a row belongs to an element of the results.
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|x| (x.square(), x.sum()), &tensor([0.0, 0.0]));
    /// let (mut jacobian, mut hessian) = ([0.0; 6], [0.0; 4]);
    /// f.jacobian(&[1.0, 2.0], &mut jacobian);
    /// assert_eq!(jacobian, [2.0, 0.0, 0.0, 4.0, 1.0, 1.0]);
    /// let f = FlatFunction::new(|x| x.at([0]) * x.at([1]).square(), &tensor([0.0, 0.0]));
    /// f.hessian(&[3.0, 5.0], &mut hessian);
    /// assert_eq!(hessian, [0.0, 10.0, 10.0, 6.0]);
    /// ```
    ///
    /// # Panics
    /// When the function has no derivative, or the sizes of the slices are not those of argument and matrix.
    #[track_caller]
    pub fn jacobian(&self, x: &[f64], jacobian: &mut [f64]) {
        let [n, m] = self.sizes;
        fitting("jacobian", [n, n * m], [x.len(), jacobian.len()]);
        let program =
            self.program(&self.programs.jacobian, Transformation::Dense(DenseDerivative::jacobian_matrix(false)));
        program.run([x, &[]], [jacobian, &mut []]);
    }

    /// Writes the Hessian, row by row.
    ///
    /// Example: [`FlatFunction::jacobian`].
    ///
    /// # Panics
    /// When the result is not a number or has no second derivative, or the sizes of the slices are not those of
    /// argument and matrix.
    #[track_caller]
    pub fn hessian(&self, x: &[f64], hessian: &mut [f64]) {
        self.number("hessian");
        let n = self.len();
        fitting("hessian", [n, n * n], [x.len(), hessian.len()]);
        let program = self.program(&self.programs.hessian, Transformation::Dense(DenseDerivative::HESSIAN_MATRIX));
        program.run([x, &[]], [hessian, &mut []]);
    }

    /// The pattern and the program of a sparse matrix, which is made once.
    #[track_caller]
    fn sparse<'a>(
        &'a self,
        of: &'a OnceLock<(SparsityPattern, FlatProgram)>,
        hessian: bool,
    ) -> &'a (SparsityPattern, FlatProgram) {
        match of.get() {
            Some(made) => made,
            None => {
                let (pattern, program) = sparse::recorded_matrix(&self.recorded, hessian);
                let passes = self.options.passes;
                let made = (pattern, FlatProgram::new(&optimize_with(&program, passes), self.options, passes));
                of.get_or_init(|| made)
            }
        }
    }

    /// The positions of the elements of the Jacobian that may not be 0, for all arguments and these data: see
    /// [`sparse_jacobian`](crate::sparse_jacobian()).
    ///
    /// Example: [`FlatFunction::sparse_jacobian`].
    ///
    /// # Panics
    /// When the function has no derivative.
    #[track_caller]
    pub fn jacobian_pattern(&self) -> &SparsityPattern {
        &self.sparse(&self.programs.sparse_jacobian, false).0
    }

    /// Writes the elements of the Jacobian in the order of its [pattern](Self::jacobian_pattern), by as few passes as
    /// that has colours.
    ///
    /// ```
    /// use polygrad::{FlatFunction, tensor};
    /// let f = FlatFunction::new(|x| x.slice(0, 1..) - x.slice(0, ..2).square(), &tensor([0.0; 3]));
    /// let mut elements = vec![0.0; f.jacobian_pattern().len()];
    /// f.sparse_jacobian(&[1.0, 2.0, 3.0], &mut elements);
    /// assert_eq!(f.jacobian_pattern().entries().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 1), (1, 2)]);
    /// assert_eq!(elements, [-2.0, 1.0, -4.0, 1.0]);
    /// let f = FlatFunction::new(|x| x.at([0]) * x.at([1]).square(), &tensor([0.0; 2]));
    /// let mut elements = vec![0.0; f.hessian_pattern().len()];
    /// f.sparse_hessian(&[3.0, 5.0], &mut elements);
    /// assert_eq!(f.hessian_pattern().entries().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 1)]);
    /// assert_eq!(elements, [10.0, 10.0, 6.0]);
    /// ```
    ///
    /// # Panics
    /// When the function has no derivative, or the sizes of the slices are not those of argument and pattern.
    #[track_caller]
    pub fn sparse_jacobian(&self, x: &[f64], elements: &mut [f64]) {
        let (pattern, program) = self.sparse(&self.programs.sparse_jacobian, false);
        fitting("sparse_jacobian", [self.len(), pattern.len()], [x.len(), elements.len()]);
        program.run([x, &[]], [elements, &mut []]);
    }

    /// The positions of the elements of the Hessian that may not be 0, in both triangles.
    ///
    /// Example: [`FlatFunction::sparse_jacobian`].
    ///
    /// # Panics
    /// When the result is not a number or has no second derivative.
    #[track_caller]
    pub fn hessian_pattern(&self) -> &SparsityPattern {
        self.number("hessian_pattern");
        &self.sparse(&self.programs.sparse_hessian, true).0
    }

    /// Writes the elements of the Hessian in the order of its [pattern](Self::hessian_pattern).
    ///
    /// Example: [`FlatFunction::sparse_jacobian`].
    ///
    /// # Panics
    /// When the result is not a number or has no second derivative, or the sizes of the slices are not those of
    /// argument and pattern.
    #[track_caller]
    pub fn sparse_hessian(&self, x: &[f64], elements: &mut [f64]) {
        self.number("sparse_hessian");
        let (pattern, program) = self.sparse(&self.programs.sparse_hessian, true);
        fitting("sparse_hessian", [self.len(), pattern.len()], [x.len(), elements.len()]);
        program.run([x, &[]], [elements, &mut []]);
    }
}

/// Shows the recorded function.
impl<P, E: Float> fmt::Debug for FlatFunction<P, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FlatFunction({})", self.recorded)
    }
}
