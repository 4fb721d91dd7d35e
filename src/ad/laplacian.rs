//! Laplacians, sums of second derivatives along directions, and divergences.
//!
//! The recorded program runs once at values with the derivatives along all directions and the sum of the second
//! derivatives ([`Collapsed`]): as many first derivatives as directions, and one second. A divergence is the trace of a
//! Jacobian, in the mode with the lower estimated time.
//!
//! Laws: the Laplacian is the trace of the Hessian, and the divergence of the gradient.

use super::differentiate::laplacian::{check_field, number_of_directions};
use super::differentiate::record::{OfBoth, VerbProgram, recorded};
use super::differentiate::transformation::Transformation;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
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
    y.with_leaves(program.derived(Transformation::Laplacian, None, Vec::new()))
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
    y.with_leaves(program.derived(Transformation::LaplacianAlong(count), None, stacks))
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
    Tensor::from_raw(program.derived(Transformation::Divergence, None, Vec::new()).remove(0))
}
