//! Jacobians and Hessians of functions of trees, as matrices.
//!
//! Rows and columns are the elements of the raveled trees: those of the float leaves, in order, as `f64`
//! ([`Tree::ravel`](crate::Tree::ravel)).

use super::differentiate::modes::DenseDerivative;
use super::differentiate::record::{OfBoth, recorded};
use super::differentiate::transformation::Transformation;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The Jacobian of a function from trees to trees: `J[i, j] = d y[i] / d x[j]`, where `x` and `y` are the raveled
/// trees.
///
/// Computed column by column in forward mode, or row by row in reverse mode, whichever has the lower estimated time.
///
/// ```
/// use polygrad::{jacobian_matrix, tensor};
/// let x = (tensor(3.0), tensor([1.0, 2.0]));
/// let j = jacobian_matrix(|(a, b)| (b.times(a), a * a), &x);
/// assert_eq!(j, tensor([[1.0, 3.0, 0.0], [2.0, 0.0, 3.0], [6.0, 0.0, 0.0]]));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn jacobian_matrix<T, P, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P) -> Tensor<T, 2>
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    jacobian_matrix_with(|x, _: &()| f(x), x, &())
}

/// [`jacobian_matrix`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{jacobian_matrix_with, tensor};
/// let (x, k) = ((tensor(3.0), tensor([1.0, 2.0])), tensor([5.0, 7.0]));
/// let j = jacobian_matrix_with(|(a, b), k| (b * k).times(a), &x, &k);
/// assert_eq!(j, tensor([[5.0, 15.0, 0.0], [14.0, 0.0, 21.0]]));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn jacobian_matrix_with<T, P, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    data: &Q,
) -> Tensor<T, 2>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    matrix_of(false, &f, x, data).1
}

/// The results of a function from trees to trees, and their [`jacobian_matrix`].
///
/// ```
/// use polygrad::{tensor, value_and_jacobian_matrix};
/// let (y, j) = value_and_jacobian_matrix(|(a, b)| (a * b, b * b), &(tensor(3.0), tensor(5.0)));
/// assert_eq!((y, j), ((tensor(15.0), tensor(25.0)), tensor([[5.0, 3.0], [0.0, 10.0]])));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn value_and_jacobian_matrix<T, P, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P) -> (Y::With<T>, Tensor<T, 2>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    value_and_matrix(matrix_of(true, &|x, _: &()| f(x), x, &()))
}

/// [`value_and_jacobian_matrix`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{tensor, value_and_jacobian_matrix_with};
/// let (x, k) = ((tensor(3.0), tensor(5.0)), tensor(2.0));
/// let (y, j) = value_and_jacobian_matrix_with(|(a, b), k| (a * b, b * k), &x, &k);
/// assert_eq!((y, j), ((tensor(15.0), tensor(10.0)), tensor([[5.0, 3.0], [0.0, 2.0]])));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn value_and_jacobian_matrix_with<T, P, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    data: &Q,
) -> (Y::With<T>, Tensor<T, 2>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    value_and_matrix(matrix_of(true, &f, x, data))
}

/// The value and the matrix of [`matrix_of`].
fn value_and_matrix<Y, M>((y, matrix): (Option<Y>, M)) -> (Y, M) {
    match y {
        Some(y) => (y, matrix),
        None => unreachable!("the values were asked for"),
    }
}

/// The Jacobian matrix, and the results if `value` is set.
#[track_caller]
fn matrix_of<T, P, Q, Y>(
    value: bool,
    f: OfBoth<'_, T, Term, P, Q, Y>,
    x: &P,
    data: &Q,
) -> (Option<Y::With<T>>, Tensor<T, 2>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let (program, y) = recorded("jacobian_matrix", f, x, data);
    let mut results = program.derived(Transformation::Dense(DenseDerivative::jacobian_matrix(value)), None, Vec::new());
    let matrix = results.split_off(results.len() - 1).remove(0);
    (value.then(|| y.with_leaves(results)), Tensor::from_raw(matrix))
}

/// The Hessian of a scalar function of a tree: `H[i, j] = d^2 f / d x[i] d x[j]`, where `x` is the raveled tree.
///
/// Computed as the Jacobian of the gradient, in the mode with the lower estimated time.
///
/// ```
/// use polygrad::{hessian_matrix, tensor};
/// let x = (tensor(3.0), tensor([1.0, 2.0]));
/// let h = hessian_matrix(|(a, b)| b.square().sum() * a, &x);
/// assert_eq!(h, tensor([[0.0, 2.0, 4.0], [2.0, 6.0, 0.0], [4.0, 0.0, 6.0]]));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn hessian_matrix<T, P, E>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> Tensor<T, 2>
where
    T: BaseTensor,
    P: Tree<T>,
    E: Float,
{
    hessian_matrix_of(&|x, _: &()| f(x), x, &())
}

/// [`hessian_matrix`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{hessian_matrix_with, tensor};
/// let (x, k) = ((tensor(3.0), tensor([1.0, 2.0])), tensor([5.0, 7.0]));
/// let h = hessian_matrix_with(|(a, b), k| (b * k).sum() * a, &x, &k);
/// assert_eq!(h, tensor([[0.0, 5.0, 7.0], [5.0, 0.0, 0.0], [7.0, 0.0, 0.0]]));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn hessian_matrix_with<T, P, Q, E>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    data: &Q,
) -> Tensor<T, 2>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    hessian_matrix_of(&f, x, data)
}

/// [`hessian_matrix_with`].
#[track_caller]
fn hessian_matrix_of<T, P, Q, E>(f: OfBoth<'_, T, Term, P, Q, Tensor<Term, 0, E>>, x: &P, data: &Q) -> Tensor<T, 2>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    let (program, _) = recorded("hessian_matrix", f, x, data);
    Tensor::from_raw(
        program.derived(Transformation::Dense(DenseDerivative::HESSIAN_MATRIX), None, Vec::new()).remove(0),
    )
}
