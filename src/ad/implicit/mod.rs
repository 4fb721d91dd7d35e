//! Implicit functions: roots, fixed points and minima, whose derivatives are those of the equation.
//!
//! Law (the implicit function theorem): if `f(x(p), p) = 0` and `df/dx` is regular, `x_dot = -(df/dx)^-1 df/dp p_dot`.
//! This is the derivative rule of a function with rules ([`Custom`]), so the derivative does not depend on the search
//! for `x`, no residual of the search is stored, and derivatives of higher orders are those of the rule. Source:
//! Blondel et al., "Efficient and modular implicit differentiation" (2022), section 2.

mod linear;
mod numbers;
mod ode;
mod search;

use super::symbolic;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::ops::{Binary, Compare, Discrete, Unary};
use crate::program::{Custom, Program, Slot, Term, interpret, valid_by_construction};
use crate::shape::{Shape, Show};
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::{ravel, unravel};

pub use linear::LinearSolver;
pub use ode::{Ode, OdeError, StepLimit, odeint};

/// Settings for the solution of an equation.
///
/// Example: [`Solver::root`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solver {
    /// The relative tolerance: the search ends with a step whose largest element is at most
    /// `relative * max |x| + absolute`, where `x` are the unknowns. A tolerance below 16 machine epsilons of the element
    /// type of the unknowns counts as that: about `2e-6` for `f32`.
    pub relative: f64,
    /// The absolute tolerance, in the unit of the unknowns: unknowns of this size count as 0.
    pub absolute: f64,
    /// The largest number of steps; a search that has not ended after these gives NaN.
    pub steps: usize,
    /// The method for linear equations, in the search and in the derivative.
    pub linear: LinearSolver,
}

/// A relative tolerance of `1e-12`, no absolute tolerance, 100 steps, and factorizations of matrices.
impl Default for Solver {
    fn default() -> Self {
        Solver { relative: 1e-12, absolute: 0.0, steps: 100, linear: LinearSolver::Dense }
    }
}

impl Solver {
    /// The same settings with this relative tolerance.
    ///
    /// Example: [`Solver::root`].
    pub fn relative(self, relative: f64) -> Solver {
        Solver { relative, ..self }
    }

    /// The same settings with this absolute tolerance, in the unit of the unknowns. An absolute tolerance is needed if
    /// all unknowns may be 0 and rounding keeps the equation from being exact there.
    ///
    /// Example: [`Solver::root`].
    pub fn absolute(self, absolute: f64) -> Solver {
        Solver { absolute, ..self }
    }

    /// The same settings with at most this number of steps.
    ///
    /// Example: [`Solver::root`].
    pub fn steps(self, steps: usize) -> Solver {
        Solver { steps, ..self }
    }

    /// The same settings with this method for linear equations.
    ///
    /// Example: [`Solver::root`].
    pub fn linear(self, linear: LinearSolver) -> Solver {
        Solver { linear, ..self }
    }

    /// The same settings, with a tolerance that the element types of the unknowns can reach.
    fn within_rounding(&self, of: &Recorded) -> Solver {
        let unknowns = &of.program.inputs()[..of.unknowns];
        let narrow = unknowns.iter().any(|slot| slot.dtype == DType::F32);
        let epsilon = if narrow { f64::from(f32::EPSILON) } else { f64::EPSILON };
        self.relative(self.relative.max(16.0 * epsilon))
    }

    /// [`root`] with these settings.
    ///
    /// # Panics
    /// Where [`root`] does.
    ///
    /// ```
    /// use polygrad::{LinearSolver, Solver, tensor};
    /// let solver = Solver::default().relative(1e-9).absolute(1e-14).linear(LinearSolver::Gmres(10));
    /// let x = solver.root(|x, p| x.exp() - p, &tensor([0.0, 0.0]), &tensor([1.0, 2.0]));
    /// assert!((x - tensor([1.0, 2.0]).ln()).abs().max_all().item() < 1e-9);
    /// let root_of_two = |solver: Solver| solver.root(|x, p| x.square() - p, &tensor(1.0), &tensor(2.0));
    /// assert!(root_of_two(Solver::default().steps(1)).is_nan().item());
    /// assert!((root_of_two(Solver::default().relative(1e-2)) - 2f64.sqrt()).abs().item() < 1e-2);
    /// let x = Solver::default().steps(500).fixed_point(|x, p| (x * p).cos(), &tensor(0.0), &tensor(1.0));
    /// assert!((&x - x.cos()).abs().item() < 1e-11);
    /// let x = Solver::default().steps(20).minimize(|x, p| (x - p).square(), &tensor(0.0), &tensor(2.0));
    /// assert!((x - 2.0).abs().item() < 1e-9);
    /// ```
    #[track_caller]
    pub fn root<T, X, P>(
        &self,
        f: impl Fn(&X::With<Term>, &P::With<Term>) -> X::With<Term>,
        start: &X,
        parameters: &P,
    ) -> X::With<T>
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
    {
        let equation = Recorded::of("root", start, parameters, |x, p| f(x, p).leaves());
        let equation = equation.like_the_start();
        let solver = self.within_rounding(&equation);
        let solved = search::newton(&equation, &solver);
        equation.applied(solved, equation.program.clone(), &solver, start, parameters)
    }

    /// [`fixed_point`] with these settings.
    ///
    /// # Panics
    /// Where [`fixed_point`] does.
    ///
    /// Example: [`Solver::root`].
    #[track_caller]
    pub fn fixed_point<T, X, P>(
        &self,
        f: impl Fn(&X::With<Term>, &P::With<Term>) -> X::With<Term>,
        start: &X,
        parameters: &P,
    ) -> X::With<T>
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
    {
        let step = Recorded::of("fixed_point", start, parameters, |x, p| f(x, p).leaves());
        let step = step.like_the_start();
        let solver = self.within_rounding(&step);
        let solved = search::iteration(&step, &solver);
        step.applied(solved, search::difference(&step), &solver, start, parameters)
    }

    /// [`minimize`] with these settings.
    ///
    /// # Panics
    /// Where [`minimize`] does.
    ///
    /// Example: [`Solver::root`].
    #[track_caller]
    pub fn minimize<T, X, P, E>(
        &self,
        f: impl Fn(&X::With<Term>, &P::With<Term>) -> Tensor<Term, 0, E>,
        start: &X,
        parameters: &P,
    ) -> X::With<T>
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
        E: Float,
    {
        let objective = Recorded::of("minimize", start, parameters, |x, p| vec![f(x, p).into_raw()]);
        let wrt: Vec<usize> = (0..objective.unknowns).collect();
        let slope = symbolic::grad_in(&objective.program, &wrt);
        let equation = Recorded { program: slope, ..objective.clone() };
        let solver = self.within_rounding(&objective);
        let solved = search::damped(&objective, &equation, &solver);
        equation.applied(solved, equation.program.clone(), &solver, start, parameters)
    }
}

/// The root of `f(x, p) = 0` in `x`, by Newton's method from `start`, as a function of the parameters `p`.
///
/// Derivatives of any order in `p` exist in both modes, by the implicit function theorem; derivatives in `start` are
/// zero. `f` is recorded for the shapes of its arguments, depends on these alone, and returns a tree like `start`. The
/// search does not depend on the unit of the unknowns: it ends with a step that is small relative to the largest
/// unknown, or at the level of rounding. A root that is not found within the steps of the [`Solver`], or whose search
/// overflows, is NaN, and so are its derivatives of every order; if `df/dx` is singular at the root, the root or its
/// derivative is NaN.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, grad, root, tensor};
/// // The real root of x^3 + x = p: its derivative is 1 / (3 x^2 + 1).
/// fn x<T: BaseTensor>(p: &Tensor<T, 0>) -> Tensor<T, 0> {
///     root(|x: &Tensor<_, 0>, p| x.powi(3) + x - p, &Tensor::scalar(1.0), p)
/// }
/// assert_eq!(x(&tensor(2.0)), tensor(1.0));
/// assert_eq!(grad(|p| x(p), &tensor(2.0)), tensor(0.25));
/// ```
///
/// # Panics
/// When `f` returns shapes that differ from those of `start`, uses a value from outside, or looks at values.
#[track_caller]
pub fn root<T, X, P>(
    f: impl Fn(&X::With<Term>, &P::With<Term>) -> X::With<Term>,
    start: &X,
    parameters: &P,
) -> X::With<T>
where
    T: BaseTensor,
    X: Tree<T>,
    P: Tree<T>,
{
    Solver::default().root(f, start, parameters)
}

/// The `x` with `x = f(x, p)`, by iteration from `start`, as a function of the parameters `p`.
///
/// Derivatives are those of the [`root`] of `f(x, p) - x`.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, fixed_point, grad, tensor};
/// // Heron's iteration for the square root.
/// fn sqrt<T: BaseTensor>(p: &Tensor<T, 0>) -> Tensor<T, 0> {
///     fixed_point(|x: &Tensor<_, 0>, p| (x + p / x) * 0.5, &Tensor::scalar(1.0), p)
/// }
/// assert_eq!(sqrt(&tensor(4.0)), tensor(2.0));
/// assert!((grad(|p| sqrt(p), &tensor(4.0)) - 0.25).item().abs() < 1e-12);
/// ```
///
/// # Panics
/// When `f` returns shapes that differ from those of `start`, uses a value from outside, or looks at values.
#[track_caller]
pub fn fixed_point<T, X, P>(
    f: impl Fn(&X::With<Term>, &P::With<Term>) -> X::With<Term>,
    start: &X,
    parameters: &P,
) -> X::With<T>
where
    T: BaseTensor,
    X: Tree<T>,
    P: Tree<T>,
{
    Solver::default().fixed_point(f, start, parameters)
}

/// The `x` at which `f(x, p)` has a minimum near `start`, by damped Newton's method, as a function of the parameters
/// `p`.
///
/// Derivatives are those of the [`root`] of the gradient of `f` in `x`. The objective may be a number of `f32` or `f64`.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, jacobian, minimize, tensor};
/// // The mean of two numbers, with weights.
/// fn mean<T: BaseTensor>(p: &Tensor<T, 1>) -> Tensor<T, 0> {
///     let miss = |x: &Tensor<_, 0>, p: &Tensor<_, 1>| {
///         (x - p.at([0])).square() + (x - p.at([1])).square() * 3.0
///     };
///     minimize(miss, &Tensor::scalar(0.0), p)
/// }
/// assert!((mean(&tensor([1.0, 5.0])) - 4.0).item().abs() < 1e-12);
/// let slope = jacobian(|p| mean(p), &tensor([1.0, 5.0]));
/// assert!((slope - tensor([0.25, 0.75])).abs().max_all().item() < 1e-12);
/// ```
///
/// # Panics
/// When `f` uses a value from outside, or looks at values.
#[track_caller]
pub fn minimize<T, X, P, E>(
    f: impl Fn(&X::With<Term>, &P::With<Term>) -> Tensor<Term, 0, E>,
    start: &X,
    parameters: &P,
) -> X::With<T>
where
    T: BaseTensor,
    X: Tree<T>,
    P: Tree<T>,
    E: Float,
{
    Solver::default().minimize(f, start, parameters)
}

/// The shapes and element types of the first inputs of a program and of its outputs, as text, if they differ.
fn unlike(program: &Program, first: usize) -> Option<[String; 2]> {
    let kinds = |slots: &[Slot]| slots.iter().map(|s| (s.shape.clone(), s.dtype)).collect::<Vec<_>>();
    let (needed, given) = (kinds(&program.inputs()[..first]), kinds(program.outputs()));
    let words = |kinds: &[(Shape, DType)]| {
        kinds.iter().map(|(shape, dtype)| format!("{dtype} {}", Show(shape))).collect::<Vec<_>>().join(", ")
    };
    (needed != given).then(|| [words(&needed), words(&given)])
}

/// A function of unknowns and parameters, as a program.
#[derive(Clone)]
struct Recorded {
    name: &'static str,
    program: Program,
    /// The number of leaves of the unknowns, which come first.
    unknowns: usize,
}

/// 1 for an element that is finite, and the element itself if it is NaN. A factor of this keeps the derivatives of a failed
/// search NaN at every order, even if the equation is such that they do not depend on the unknowns.
fn one_or_nan(x: &Term) -> Term {
    let number = |c: f64| Term::constant(Array::full(x.shape(), c));
    let finite = Term::discrete(&Discrete::Compare(Compare::Lt), &[&x.unary(Unary::Abs), &number(f64::INFINITY)]);
    Term::select(&finite, &number(1.0), x)
}

/// A function with derivative rules that a solver generates, which always fit.
fn rules(name: &str, primal: Program, jvp: Option<Program>, vjp: Option<Program>) -> Custom {
    valid_by_construction(Custom::new(name, primal, jvp, vjp))
}

/// The program of results that depend on these variables alone.
#[track_caller]
fn closed(name: &str, inputs: &[Term], results: &[Term]) -> Program {
    match Term::program(inputs, results, &[]) {
        Ok(program) => program,
        Err(_) => panic!(
            "{name}: the function must depend on its arguments alone, but it uses a value from outside; pass that among the parameters"
        ),
    }
}

impl Recorded {
    #[track_caller]
    fn of<T, X, P>(
        name: &'static str,
        start: &X,
        parameters: &P,
        f: impl FnOnce(&X::With<Term>, &P::With<Term>) -> Vec<Term>,
    ) -> Recorded
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
    {
        let (x, p) = (Term::variables_like(&start.leaves()), Term::variables_like(&parameters.leaves()));
        let results = f(&start.with_leaves(x.clone()), &parameters.with_leaves(p.clone()));
        let unknowns = x.len();
        Recorded { name, program: closed(name, &[x, p].concat(), &results), unknowns }
    }

    /// The same function, after a check that its results have the shapes and element types of the unknowns.
    #[track_caller]
    fn like_the_start(self) -> Recorded {
        if let Some([needed, given]) = unlike(&self.program, self.unknowns) {
            panic!(
                "{}: the function must return a value for each unknown, of its shape and element type, but the unknowns are {needed} and \
                 the results {given}; return a tree like the start",
                self.name
            );
        }
        self
    }

    /// The values of the function.
    fn at<T: BaseTensor>(&self, x: &[T], p: &[T]) -> Vec<T> {
        interpret(&self.program, [x, p].concat())
    }

    /// The unknowns that the program `solved` finds, with the derivative of the equation.
    #[track_caller]
    fn applied<T, X, P>(&self, solved: Program, equation: Program, solver: &Solver, start: &X, p: &P) -> X::With<T>
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
    {
        let rule = self.rule(&Recorded { program: equation, ..self.clone() }, solver);
        let (name, steps) = (self.name, solver.steps);
        let reason = move |_: &[Array]| {
            let fact =
                format!("it does not within {steps} steps, or a value or a derivative there is not finite or singular");
            Some(format!(
                "{name}: the search must end at a solution, but {fact}; give a nearer start, or allow more with Solver::steps"
            ))
        };
        let custom = rules(name, solved, Some(rule), None).with_reason(reason).into();
        let args: Vec<T> = start.leaves().into_iter().chain(p.leaves()).collect();
        start.with_leaves(T::custom(&custom, &args))
    }

    /// `(start, p, x, start_dot, p_dot) -> x_dot`.
    fn rule(&self, equation: &Recorded, solver: &Solver) -> Program {
        let slots = self.program.inputs();
        let (args, x, dots) =
            (Term::variables(slots), Term::variables(&slots[..self.unknowns]), Term::variables(slots));
        let (p, p_dot) = (&args[self.unknowns..], &dots[self.unknowns..]);
        let still: Vec<Term> = x.iter().map(|x| Term::zeros(x.shape(), x.dtype())).collect();
        let moved = interpret(&symbolic::jvp(&equation.program), [&x, p, &still, p_dot].concat());
        let right = ravel(&moved[moved.len() / 2..]).unary(Unary::Neg);
        let x_dot = linear::solve(equation, solver, &x, p, &right, true);
        let x_dot = x_dot.binary(Binary::Mul, &one_or_nan(&ravel(&x)));
        closed(self.name, &[args, x.clone(), dots].concat(), &unravel(&still, &x_dot))
    }
}
