//! Laplacians, sums of second derivatives along directions, and divergences.
//!
//! The recorded program runs once at values with the derivatives along all directions and the sum of the second
//! derivatives ([`Collapsed`]): as many first derivatives as directions, and one second. A divergence is the trace of a
//! Jacobian, in the mode with the lower estimated time.
//!
//! Laws: the Laplacian is the trace of the Hessian, and the divergence of the gradient.

use super::function::derivative_programs::{Derived, closed, split};
use super::modes::{ChosenProgram, Mode, Wanted};
use super::pipeline::{OfBoth, VerbProgram, recorded};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::interpreters::adval::Fault;
use crate::interpreters::jet::{Collapsed, Directions};
use crate::ops::{Discrete, IntBinary, Linear};
use crate::passes::Options;
use crate::program::{Program, Slot, Term, interpret};
use crate::shape::{Shape, Show, size};
use crate::tensor::{Rows, Tensor};
use crate::tree::Tree;

/// The Laplacian of each result: the sum of the second derivatives in all elements of `x`.
///
/// `f : P -> Y`, of any number and shapes of results. The program runs once: the second derivatives are summed at every
/// operation, so they cost no more than those along one direction. They come with the first derivatives in all
/// elements of `x`; no Hessian is computed. The Laplacian of an integer or mask is zero.
///
/// ```
/// use polygrad::{laplacian, tensor};
/// // The second derivatives are 2 y^2 and 2 x^2.
/// let f = |x: &polygrad::Tensor<_, 1>| x.square().at([0]) * x.square().at([1]);
/// assert_eq!(laplacian(f, &tensor([1.0, 3.0])), tensor(20.0));
/// ```
///
/// # Panics
/// When `f` looks at values, or uses a function with rules that has none for tangents.
#[track_caller]
pub fn laplacian<T, P, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    laplacian_of(&|x, _: &()| f(x), x, &())
}

/// [`laplacian`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{laplacian_with, tensor};
/// let (x, a) = (tensor([1.0, 3.0]), tensor([2.0, 5.0]));
/// assert_eq!(laplacian_with(|x, a| (x.powi(3) * a).sum(), &x, &a), tensor(102.0));
/// ```
///
/// # Panics
/// As for [`laplacian`].
#[track_caller]
pub fn laplacian_with<T, P, Q, Y>(f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y, x: &P, data: &Q) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    laplacian_of(&f, x, data)
}

/// [`laplacian_with`].
#[track_caller]
fn laplacian_of<T, P, Q, Y>(f: OfBoth<'_, T, Term, P, Q, Y>, x: &P, data: &Q) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let (program, y) = recorded("laplacian", f, x, data);
    y.with_leaves(program.derived(Derived::Laplacian, None, Vec::new()))
}

/// The sum of the second derivatives along the directions, `sum over k of v_k^T H v_k`, of each result.
///
/// The directions are a stack of trees like `x`: a matrix whose rows are the directions, for a vector. So the sum is
/// the trace of `A H` for `A = sum over k of v_k v_k^T`; with random directions, divided by their number, an estimate
/// of the Laplacian. The cost is that of [`laplacian`], with one first derivative for each direction.
///
/// ```
/// use polygrad::{laplacian_along, tensor};
/// let f = |x: &polygrad::Tensor<_, 1>| x.at([0]) * x.at([1]);
/// // The second derivatives along (1, 1) and (1, -1) are 2 and -2.
/// assert_eq!(laplacian_along(f, &tensor([3.0, 4.0]), &tensor([[1.0, 1.0]])), tensor(2.0));
/// assert_eq!(laplacian_along(f, &tensor([3.0, 4.0]), &tensor([[1.0, 1.0], [1.0, -1.0]])), tensor(0.0));
/// ```
///
/// # Panics
/// When `f` looks at values, uses a function with rules that has none for tangents, or the directions are not a stack
/// of trees like `x`.
#[track_caller]
pub fn laplacian_along<T, P, S, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P, directions: &S) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    S: Rows<T, P>,
    Y: Tree<Term>,
{
    laplacian_along_of(&|x, _: &()| f(x), x, directions, &())
}

/// [`laplacian_along`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{laplacian_along_with, tensor};
/// let (x, v, a) = (tensor([1.0, 3.0]), tensor([[1.0, 2.0]]), tensor([2.0, 5.0]));
/// assert_eq!(laplacian_along_with(|x, a| (x.powi(3) * a).sum(), &x, &v, &a), tensor(372.0));
/// ```
///
/// # Panics
/// As for [`laplacian_along`].
#[track_caller]
pub fn laplacian_along_with<T, P, S, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    directions: &S,
    data: &Q,
) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    S: Rows<T, P>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    laplacian_along_of(&f, x, directions, data)
}

/// [`laplacian_along_with`].
#[track_caller]
fn laplacian_along_of<T, P, S, Q, Y>(f: OfBoth<'_, T, Term, P, Q, Y>, x: &P, directions: &S, data: &Q) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    S: Rows<T, P>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let mut stacks = Vec::new();
    directions.sequences(&mut stacks);
    let count = number_of_directions(&x.leaves(), &stacks);
    let (program, y) = recorded("laplacian_along", f, x, data);
    y.with_leaves(program.derived(Derived::LaplacianAlong(count), None, stacks))
}

/// The divergence of a vector field: the sum of the derivatives of the elements of `f(x)` in the elements of `x` at the
/// same positions.
///
/// It is the trace of the Jacobian, which is computed in forward or reverse mode, whichever has the lower estimated
/// time. For a gradient, [`laplacian`] of the function takes one pass.
///
/// ```
/// use polygrad::{divergence, tensor};
/// assert_eq!(divergence(|x| x.square() * x.at([0]), &tensor([1.0, 3.0])), tensor(9.0));
/// ```
///
/// # Panics
/// When `f` looks at values, or its result has a different shape than `x`.
#[track_caller]
pub fn divergence<T: BaseTensor, const N: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, N, E>,
    x: &Tensor<T, N, E>,
) -> Tensor<T, 0, E> {
    divergence_of(recorded("divergence", &|x, _: &()| f(x), x, &()))
}

/// [`divergence`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{divergence_with, tensor};
/// let (x, a) = (tensor([1.0, 3.0]), tensor([2.0, 5.0]));
/// assert_eq!(divergence_with(|x, a| x.square() * a, &x, &a), tensor(34.0));
/// ```
///
/// # Panics
/// As for [`divergence`].
#[track_caller]
pub fn divergence_with<T: BaseTensor, Q: Tree<T>, const N: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, N, E>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> Tensor<T, 0, E> {
    divergence_of(recorded("divergence", &f, x, data))
}

/// [`divergence_with`].
#[track_caller]
fn divergence_of<T: BaseTensor, const N: usize, E: Float>(
    (program, _): (VerbProgram<T>, Tensor<Term, N, E>),
) -> Tensor<T, 0, E> {
    check_field(&program.program);
    Tensor::from_raw(program.derived(Derived::Divergence, None, Vec::new()).remove(0))
}

/// # Panics
/// When the result of a program of one tensor has a different shape than the tensor.
#[track_caller]
pub(super) fn check_field(program: &Program) {
    let (x, y) = (&program.inputs()[0].shape, &program.outputs()[0].shape);
    if x != y {
        panic!(
            "divergence: the result must have the shape of the argument, but the argument is {} and the result {}; return one \
             component for each element of the argument",
            Show(x),
            Show(y)
        );
    }
}

/// The number of directions in stacks for these leaves.
///
/// # Panics
/// When a stack differs from its leaf in more than an outermost axis, or two stacks have different lengths.
#[track_caller]
pub(super) fn number_of_directions<T: BaseTensor>(x: &[T], stacks: &[T]) -> usize {
    if x.len() != stacks.len() {
        panic!(
            "laplacian_along: each leaf of the argument needs its directions, but there are {} leaves and {} stacks; stack trees \
             like the argument",
            x.len(),
            stacks.len()
        );
    }
    let count = stacks.first().map_or(0, |v| v.shape()[0]);
    for (x, v) in x.iter().zip(stacks) {
        let needed = along(count, x.shape());
        if needed[..] != *v.shape() || x.dtype() != v.dtype() {
            panic!(
                "laplacian_along: the directions of a leaf {} {} must be {} {}, as many as those of the first leaf, but they are {} {}; \
                 stack one tree like the argument for each direction",
                x.dtype(),
                Show(x.shape()),
                x.dtype(),
                Show(&needed),
                v.dtype(),
                Show(v.shape())
            );
        }
    }
    count
}

fn along(n: usize, shape: &[usize]) -> Shape {
    std::iter::once(n).chain(shape.iter().copied()).collect()
}

/// The program of the sums of second derivatives of the results of a program in its first `count` inputs: along all
/// basis vectors, or along a number of directions, whose stacks are inputs after the arguments.
pub(super) fn summed(program: &Program, count: usize, directions: Option<usize>) -> Program {
    let (x, data) = split(program, count);
    let Some(n) = directions else {
        let (n, stacks) = basis(&x);
        let inputs: Vec<Term> = [&x[..], &data].concat();
        let moving = stacks.into_iter().map(Some).chain(data.iter().map(|_| None)).collect::<Vec<_>>();
        let results = at_directions(program, &inputs, n, &moving);
        return closed(program, &[], "", &[x, Vec::new(), data], &results);
    };
    let slot = |x: &Slot| Slot { shape: along(n, &x.shape), ..x.clone() };
    let slots: Vec<Slot> = program.inputs()[..count].iter().map(slot).collect();
    let stacks = Term::variables(&slots);
    let moving: Vec<Option<Term>> = stacks.iter().cloned().map(Some).chain(data.iter().map(|_| None)).collect();
    let results = at_directions(program, &[&x[..], &data].concat(), n, &moving);
    closed(program, &slots, "dot", &[x, stacks, data], &results)
}

/// The sums of second derivatives of the results of a program; an input moves along the directions that are its stack.
pub(super) fn at_directions(program: &Program, inputs: &[Term], n: usize, stacks: &[Option<Term>]) -> Vec<Term> {
    let expansion = Directions::new(n);
    let value = |(x, stack): (&Term, &Option<Term>)| match stack {
        Some(stack) => expansion.input(x, stack),
        None => Collapsed::constant_of(x.clone()),
    };
    let results = interpret(program, inputs.iter().zip(stacks).map(value).collect());
    results.iter().map(|y| expansion.result(y)).collect()
}

/// The number of elements of the float terms, and for each term the stack of its parts of the basis vectors.
pub(super) fn basis(x: &[Term]) -> (usize, Vec<Term>) {
    let elements = |x: &Term| if x.dtype().is_float() { size(x.shape()) } else { 0 };
    let n = x.iter().map(elements).sum();
    let positions = Term::discrete(&Discrete::Iota { n }, &[]);
    let (_, stacks) = Term::map_accum(n, false, Vec::new(), &[positions], &mut |_, position| {
        let mut start = 0;
        let mut part = |x: &Term| {
            let (at, count) = (Array::scalar(start as i64), elements(x));
            start += count;
            if count == 0 {
                return Term::zeros(x.shape(), x.dtype());
            }
            // Positions outside the term are dropped.
            let at = match start - count {
                0 => position[0].clone(),
                _ => Term::discrete(&Discrete::IntBinary(IntBinary::Sub), &[&position[0], &Term::constant(at)]),
            };
            let one = Term::constant(Array::ones(&[], x.dtype()));
            let flat = Term::zeros(&[count], x.dtype()).scatter_add(&[at], &one);
            flat.linear(&Linear::reshape(&[count], x.shape()))
        };
        (Vec::new(), x.iter().map(&mut part).collect())
    });
    (n, stacks)
}

/// The program of the divergence of a program in its first input.
///
/// # Errors
/// When the derivative does not exist.
pub(super) fn divergence_program(
    program: &Program,
    count: usize,
    mode: Option<Mode>,
    options: Options,
    once: bool,
) -> Result<ChosenProgram, Fault> {
    let jacobian = Wanted::jacobian(false).made(program, count, mode, options, once)?;
    let (x, data) = split(program, count);
    let matrix = interpret(&jacobian.program, [&x[..], &data].concat()).swap_remove(0);
    let n = size(x[0].shape());
    let square = matrix.linear(&Linear::reshape(matrix.shape(), &[n, n]));
    let trace = square.linear(&Linear::diagonal(&[n, n], 0, 1)).linear(&Linear::sum(&[n], &[0]));
    let program = closed(program, &[], "", &[x, Vec::new(), data], &[trace]);
    Ok(ChosenProgram { program, ready: None, ..jacobian })
}

/// What is known of the zeros of basis vectors is lost in another program, so these derivatives are optimized in any
/// case.
pub(super) fn last(options: Options) -> Options {
    Options { basis: true, ..options }
}
