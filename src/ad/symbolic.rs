//! Derivatives of programs, as programs.
//!
//! A program is interpreted at dual numbers over terms, and the resulting delta term is evaluated at terms, forward or
//! transposed: the recorded terms are the derivative program ("Dual arrays", section 7.3, without a separate symbolic
//! evaluator, because terms are an interpreter like any other).
//!
//! Law: the results are programs of the same language, so every function of this module applies to its results again,
//! and repetition gives derivatives of any order.

use super::differentiate::inputs::{marked, program_of};
use super::differentiate::laplacian::{at_directions, basis};
use super::differentiate::series::derivative_in_first;
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::interpreters::adval::{ADVal, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::passes::simplify;
use crate::program::{Program, Slot, Term, interpret};
use crate::shape::Show;

fn names(slots: &[Slot]) -> Vec<String> {
    slots.iter().map(|slot| slot.name.clone()).collect()
}

/// For each input of the program, whether its number is in `wrt`.
///
/// # Panics
/// When a number in `wrt` is not the number of an input.
#[track_caller]
fn chosen(op: &str, program: &Program, wrt: &[usize]) -> Vec<bool> {
    let count = program.inputs().len();
    if let Some(k) = wrt.iter().find(|k| **k >= count) {
        panic!("{op}: positions of inputs must be below their number {count}, but one is {k}; count inputs from 0");
    }
    (0..program.inputs().len()).map(|k| wrt.contains(&k)).collect()
}

/// The numbers of all inputs.
fn every(program: &Program) -> Vec<usize> {
    (0..program.inputs().len()).collect()
}

/// The program interpreted at dual numbers over terms; the chosen inputs are inputs of the sweep.
fn dual(program: &Program, inputs: &[Term], wrt: &[bool]) -> (Sweep<Term>, Vec<ADVal<Term>>) {
    let mut sweep = Sweep::new();
    let lift = |(x, chosen): (&Term, &bool)| {
        if *chosen { sweep.input(x) } else { <ADVal<Term> as Lift<Term>>::lift(x.clone()) }
    };
    let inputs: Vec<ADVal<Term>> = inputs.iter().zip(wrt).map(lift).collect();
    let results = interpret(program, inputs);
    (sweep, results)
}

/// `vjp : (x -> y) -> ((x, y_bar) -> (y, x_bar))`: values, and cotangents of the inputs `wrt`, in the order of the
/// inputs.
///
/// The cotangents of integers, of masks and of inputs on which no output depends are zeros.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let v = tensor([1.0, 2.0]);
/// let f = Function::stage_with(|w, x| w * x, &v, &v);
/// let vjp = symbolic::vjp_in(f.program(), &[0]);
/// let (w, x, y_bar) = (Array::from([1.0, 2.0]), Array::from([3.0, 4.0]), Array::from([1.0, 10.0]));
/// assert_eq!(interpret(&vjp, vec![w, x, y_bar]), [Array::from([3.0, 8.0]), Array::from([3.0, 40.0])]);
/// ```
///
/// # Panics
/// When a number in `wrt` is not the number of an input.
#[track_caller]
pub fn vjp_in(program: &Program, wrt: &[usize]) -> Program {
    let (x, y_bar) = (Term::variables(program.inputs()), Term::variables(program.outputs()));
    let (sweep, y) = dual(program, &x, &chosen("vjp_in", program, wrt));
    let x_bar = sweep.pull(&y, y_bar.clone());
    let results: Vec<Term> = y.iter().map(|y| y.primal().clone()).chain(x_bar).collect();
    let inputs: Vec<Term> = x.into_iter().chain(y_bar).collect();
    let names: Vec<String> = names(program.inputs()).into_iter().chain(marked(program.outputs(), "y", "bar")).collect();
    program_of(&inputs, &results, &names)
}

/// Writes the verbs in all inputs of a program: a row has the documentation, the name, and the verb in some inputs.
macro_rules! in_all_inputs {
    ($($(#[$doc:meta])* $verb:ident: $in_some:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $verb(program: &Program) -> Program {
            $in_some(program, &every(program))
        }
    )*};
}

in_all_inputs! {
    /// [`vjp_in`] for all inputs.
    ///
    /// ```
    /// use polygrad::program::interpret;
    /// use polygrad::{Array, Function, Tensor, symbolic, tensor};
    /// let f = Function::stage(|x| x.square(), &tensor([1.0, 2.0]));
    /// let vjp = symbolic::vjp(f.program());
    /// let (x, y_bar) = (Array::from([1.0, 3.0]), Array::from([1.0, 0.5]));
    /// assert_eq!(interpret(&vjp, vec![x, y_bar]), [Array::from([1.0, 9.0]), Array::from([2.0, 3.0])]);
    /// ```
    vjp: vjp_in;

    /// [`value_and_grad_in`] for all inputs.
    ///
    /// ```
    /// use polygrad::program::interpret;
    /// use polygrad::{Array, Function, Tensor, symbolic, tensor};
    /// let f = Function::stage(|x| x.square().sum(), &tensor([1.0, 2.0]));
    /// let both = symbolic::value_and_grad(f.program());
    /// assert_eq!(interpret(&both, vec![Array::from([1.0, 3.0])]), [Array::from(10.0), Array::from([2.0, 6.0])]);
    /// ```
    ///
    /// # Panics
    /// When there is not exactly one output, or it is not a scalar float.
    value_and_grad: value_and_grad_in;

    /// `grad : (x -> y) -> (x -> x_bar)` for one scalar float output: the partial derivatives in all inputs.
    ///
    /// ```
    /// use polygrad::program::interpret;
    /// use polygrad::{Array, Function, Tensor, symbolic, tensor};
    /// let f = Function::stage(|x| x.square().sum(), &tensor([1.0, 2.0]));
    /// let gradient = symbolic::grad(f.program());
    /// assert_eq!(interpret(&gradient, vec![Array::from([1.0, 3.0])]), [Array::from([2.0, 6.0])]);
    /// ```
    ///
    /// # Panics
    /// When there is not exactly one output, or it is not a scalar float.
    grad: grad_in;

    /// `jvp : (x -> y) -> ((x, x_dot) -> (y, y_dot))`, forward mode: values, and their tangents.
    ///
    /// ```
    /// use polygrad::program::interpret;
    /// use polygrad::{Array, Function, Tensor, symbolic, tensor};
    /// let f = Function::stage(|x| x.square(), &tensor([1.0, 2.0]));
    /// let jvp = symbolic::jvp(f.program());
    /// let (x, x_dot) = (Array::from([1.0, 3.0]), Array::from([1.0, 0.5]));
    /// assert_eq!(interpret(&jvp, vec![x, x_dot]), [Array::from([1.0, 9.0]), Array::from([2.0, 3.0])]);
    /// ```
    jvp: jvp_in;

    /// [`laplacian_in`] for all inputs.
    ///
    /// ```
    /// use polygrad::program::interpret;
    /// use polygrad::{Array, Function, Tensor, symbolic, tensor};
    /// let f = Function::stage(|x| x.powi(3).sum(), &tensor([1.0, 2.0]));
    /// let laplacian = symbolic::laplacian(f.program());
    /// assert_eq!(interpret(&laplacian, vec![Array::from([1.0, 3.0])]), [Array::from(24.0)]);
    /// ```
    ///
    /// # Panics
    /// When a function with rules has none for tangents.
    laplacian: laplacian_in;
}

/// `value_and_grad : (x -> y) -> (x -> (y, x_bar))` for one scalar float output: the value, and the partial derivatives
/// in the inputs `wrt`, in the order of the inputs.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let v = tensor([1.0, 2.0]);
/// let f = Function::stage_with(|w, x| w.dot(x), &v, &v);
/// let both = symbolic::value_and_grad_in(f.program(), &[0]);
/// let (w, x) = (Array::from([1.0, 2.0]), Array::from([3.0, 4.0]));
/// assert_eq!(interpret(&both, vec![w, x]), [Array::from(11.0), Array::from([3.0, 4.0])]);
/// ```
///
/// # Panics
/// When there is not exactly one output, or it is not a scalar float, or a number in `wrt` is not the number of an
/// input.
#[track_caller]
pub fn value_and_grad_in(program: &Program, wrt: &[usize]) -> Program {
    let x = Term::variables(program.inputs());
    let (y, x_bar) = scalar_gradient(program, &x, wrt);
    let results: Vec<Term> = std::iter::once(y).chain(x_bar).collect();
    program_of(&x, &results, &names(program.inputs()))
}

/// [`grad`] in the inputs `wrt` only, in the order of the inputs.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let v = tensor([1.0, 2.0]);
/// let f = Function::stage_with(|w, x| w.dot(x), &v, &v);
/// let gradient = symbolic::grad_in(f.program(), &[0]);
/// let (w, x) = (Array::from([1.0, 2.0]), Array::from([3.0, 4.0]));
/// assert_eq!(interpret(&gradient, vec![w, x]), [Array::from([3.0, 4.0])]);
/// ```
///
/// # Panics
/// When there is not exactly one output, or it is not a scalar float, or a number in `wrt` is not the number of an
/// input.
#[track_caller]
pub fn grad_in(program: &Program, wrt: &[usize]) -> Program {
    let x = Term::variables(program.inputs());
    let (_, x_bar) = scalar_gradient(program, &x, wrt);
    program_of(&x, &x_bar, &names(program.inputs()))
}

#[track_caller]
fn scalar_gradient(program: &Program, x: &[Term], wrt: &[usize]) -> (Term, Vec<Term>) {
    let [slot] = program.outputs() else {
        panic!("grad: needs one output, but there are {}; use vjp", program.outputs().len());
    };
    if !slot.shape.is_empty() || !slot.dtype.is_float() {
        panic!(
            "grad: the output must be a scalar float, but it is {} {}; sum it, or use vjp",
            slot.dtype,
            Show(&slot.shape)
        );
    }
    let (sweep, y) = dual(program, x, &chosen("grad", program, wrt));
    let one = Term::constant(Array::ones(&[], slot.dtype));
    (y[0].primal().clone(), sweep.pull(&y, vec![one]))
}

/// [`jvp`] in the inputs `wrt`: the program takes the tangents of these inputs alone, in the order of the inputs.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let v = tensor([1.0, 2.0]);
/// let f = Function::stage_with(|w, x| w * x, &v, &v);
/// let jvp = symbolic::jvp_in(f.program(), &[0]);
/// let (w, x, w_dot) = (Array::from([1.0, 2.0]), Array::from([3.0, 4.0]), Array::from([1.0, 10.0]));
/// assert_eq!(interpret(&jvp, vec![w, x, w_dot]), [Array::from([3.0, 8.0]), Array::from([3.0, 40.0])]);
/// ```
///
/// # Panics
/// When a number in `wrt` is not the number of an input.
#[track_caller]
pub fn jvp_in(program: &Program, wrt: &[usize]) -> Program {
    let wrt = chosen("jvp_in", program, wrt);
    let moving: Vec<Slot> =
        program.inputs().iter().zip(&wrt).filter(|(_, wrt)| **wrt).map(|(x, _)| x.clone()).collect();
    let (x, x_dot) = (Term::variables(program.inputs()), Term::variables(&moving));
    let (sweep, mut tangents) = (Forward::new(), x_dot.iter());
    let inputs = x.iter().zip(&wrt).map(|(x, wrt)| match wrt.then(|| tangents.next()).flatten() {
        Some(x_dot) => sweep.input(x, x_dot),
        None => <Dual<Term> as Lift<Term>>::lift(x.clone()),
    });
    let results: Vec<(Term, Term)> = interpret(program, inputs.collect()).iter().map(|y| sweep.result(y)).collect();
    let (y, y_dot): (Vec<Term>, Vec<Term>) = results.into_iter().unzip();
    let inputs: Vec<Term> = x.into_iter().chain(x_dot).collect();
    let results: Vec<Term> = y.into_iter().chain(y_dot).collect();
    let names: Vec<String> = names(program.inputs()).into_iter().chain(marked(&moving, "x", "dot")).collect();
    program_of(&inputs, &results, &names)
}

/// A derivative split into the program of primal values, and a program that is linear in the tangents.
///
/// ```
/// use polygrad::symbolic::{Linearized, linearize};
/// use polygrad::{Array, Function, program::interpret, tensor};
/// let f = Function::stage(|x| x.sin(), &tensor(0.0));
/// let Linearized { primal, linear } = linearize(f.program());
/// // The residual is the cosine.
/// let values = interpret(&primal, vec![Array::scalar(0.5)]);
/// assert_eq!(values[1], Array::scalar(0.5f64.cos()));
/// let tangent = interpret(&linear, vec![Array::scalar(2.0), values[1].clone()]);
/// assert_eq!(tangent, [Array::scalar(2.0 * 0.5f64.cos())]);
/// ```
#[derive(Clone, Debug)]
pub struct Linearized {
    /// `x -> (y, residuals)`.
    pub primal: Program,
    /// `(x_dot, residuals) -> y_dot`, linear in `x_dot`.
    pub linear: Program,
}

/// `linearize : (x -> y) -> (x -> (y, x_dot -o y_dot))`: the derivative as a linear program, with the primal
/// values it needs as residuals.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let f = Function::stage(|x| x.square(), &tensor([1.0, 2.0]));
/// let split = symbolic::linearize(f.program());
/// let mut values = interpret(&split.primal, vec![Array::from([1.0, 3.0])]);
/// assert_eq!(values[0], Array::from([1.0, 9.0]));
/// // The inputs of the linear program: the tangent, in place of the result, and the residuals.
/// values[0] = Array::from([1.0, 0.5]);
/// assert_eq!(interpret(&split.linear, values), [Array::from([2.0, 3.0])]);
/// ```
pub fn linearize(program: &Program) -> Linearized {
    let x = Term::variables(program.inputs());
    let x_dot = Term::variables(program.inputs());
    // By the delta term, whose loops carry tangents alone: dual numbers in forward mode would carry primals and
    // tangents in one loop.
    let (sweep, y) = dual(program, &x, &vec![true; program.inputs().len()]);
    let y_dot = sweep.push(&y, x_dot.clone());
    let (linear, residuals) = Term::body(&x_dot, &y_dot, 0);
    let results: Vec<Term> = y.iter().map(|y| y.primal().clone()).chain(residuals).collect();
    Linearized { primal: program_of(&x, &results, &names(program.inputs())), linear }
}

/// `transpose : ((x_dot, r) -o y_dot) -> ((y_bar, r) -o x_bar)`: the adjoint of a program that is linear in its first
/// `count` inputs; the others are residuals.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let v = tensor([1.0, 2.0]);
/// let f = Function::stage_with(|x, r| x.dot(r), &v, &v);
/// let adjoint = symbolic::transpose(f.program(), 1);
/// let (y_bar, r) = (Array::from(2.0), Array::from([3.0, 4.0]));
/// assert_eq!(interpret(&adjoint, vec![y_bar, r]), [Array::from([6.0, 8.0])]);
/// ```
///
/// # Panics
/// When the program is not linear in its first `count` inputs, or has fewer inputs.
#[track_caller]
pub fn transpose(linear: &Program, count: usize) -> Program {
    if count > linear.inputs().len() {
        panic!(
            "transpose: the number of linear inputs must be at most that of all, but they are {count} and {}; pass a smaller one",
            linear.inputs().len()
        );
    }
    match try_transpose(linear, count) {
        Ok(program) => program,
        Err(_) => panic!(
            "transpose: the program must be linear in the inputs that are not residuals, but its derivative depends on them; \
             linearize it first"
        ),
    }
}

/// [`transpose`], with an error if the program is not linear.
pub(super) fn try_transpose(linear: &Program, count: usize) -> Result<Program, String> {
    let x = Term::variables(linear.inputs());
    let y_bar = Term::variables(linear.outputs());
    let wrt: Vec<bool> = (0..x.len()).map(|k| k < count).collect();
    let (sweep, y) = dual(linear, &x, &wrt);
    let x_bar = sweep.pull(&y, y_bar.clone());
    let inputs: Vec<Term> = y_bar.into_iter().chain(x[count..].iter().cloned()).collect();
    let names: Vec<String> =
        marked(linear.outputs(), "y", "bar").into_iter().chain(names(&linear.inputs()[count..])).collect();
    Term::program(&inputs, &x_bar, &names).or_else(|fault| {
        // The only remaining uses of the linear inputs may be carries of a linear loop on which no result depends:
        // simplification removes these.
        let all: Vec<Term> = x[..count].iter().chain(&inputs).cloned().collect();
        let simple = simplify(&Term::program(&all, &x_bar, &[])?);
        simple.without_first_inputs(count, &names).ok_or(fault)
    })
}

/// The Laplacians of all outputs in the inputs `wrt`: the sums of the second derivatives in all elements of these.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let v = tensor([1.0, 2.0]);
/// let f = Function::stage_with(|w, x| (w.square() * x).sum(), &v, &v);
/// let laplacian = symbolic::laplacian_in(f.program(), &[0]);
/// let (w, x) = (Array::from([1.0, 2.0]), Array::from([3.0, 4.0]));
/// assert_eq!(interpret(&laplacian, vec![w, x]), [Array::from(14.0)]);
/// ```
///
/// # Panics
/// When a number in `wrt` is not the number of an input, or a function with rules has none for tangents.
#[track_caller]
pub fn laplacian_in(program: &Program, wrt: &[usize]) -> Program {
    let (x, wrt) = (Term::variables(program.inputs()), chosen("laplacian_in", program, wrt));
    let moving: Vec<Term> = x.iter().zip(&wrt).filter(|(_, wrt)| **wrt).map(|(x, _)| x.clone()).collect();
    let (n, stacks) = basis(&moving);
    let mut stacks = stacks.into_iter();
    let stacks: Vec<Option<Term>> = wrt.iter().map(|wrt| wrt.then(|| stacks.next()).flatten()).collect();
    program_of(&x, &at_directions(program, &x, n, &stacks), &names(program.inputs()))
}

/// The derivative `x -> y'` of a program with one scalar input and one output.
///
/// ```
/// use polygrad::program::interpret;
/// use polygrad::{Array, Function, Tensor, symbolic, tensor};
/// let f = Function::stage(|x| x * x * x, &tensor(1.0));
/// let first = symbolic::derivative(f.program());
/// let second = symbolic::derivative(&first);
/// assert_eq!(interpret(&first, vec![Array::from(2.0)]), [Array::from(12.0)]);
/// assert_eq!(interpret(&second, vec![Array::from(2.0)]), [Array::from(12.0)]);
/// ```
///
/// # Panics
/// Unless the program has exactly one input, a scalar float, and one output.
#[track_caller]
pub fn derivative(program: &Program) -> Program {
    let ([_], [_]) = (program.inputs(), program.outputs()) else {
        panic!(
            "derivative: needs one input and one output, but there are {} and {}; use jvp",
            program.inputs().len(),
            program.outputs().len()
        );
    };
    derivative_in_first(program)
}
