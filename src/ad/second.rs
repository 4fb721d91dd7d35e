//! Jacobians, Hessians, Hessian-vector products, and derivatives of order `n` of tensor functions.
//!
//! The verbs record, as all plain verbs do. One run of the program serves every row or column of a Jacobian: the delta
//! term is evaluated in a loop over basis vectors, forward or transposed.

use super::differentiate::modes::DenseDerivative;
use super::differentiate::record::{OfBoth, recorded};
use super::differentiate::strategy::Mode;
use super::differentiate::transformation::Transformation;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::program::Term;
use crate::shape::Show;
use crate::tensor::{Plus, Rank, Tensor};
use crate::tree::Tree;

/// A function of a tensor and of data, both of `T`, at the interpreter `U`.
type OfTensor<'a, T, U, const N: usize, E, Q, Y> = OfBoth<'a, T, U, Tensor<T, N, E>, Q, Y>;

/// The Jacobian: `J[i.., j..] = d f(x)[i..] / d x[j..]`, the output's axes first.
///
/// Computed column by column in forward mode, or row by row in reverse mode, whichever has the lower estimated time;
/// see [`Mode`] and [`jacobian_by`].
///
/// ```
/// use polygrad::{Tensor, jacobian, tensor};
/// let j: Tensor<_, 2> = jacobian(|x| x.square(), &tensor([1.0, 2.0]));
/// assert_eq!(j, tensor([[2.0, 0.0], [0.0, 4.0]]));
/// ```
#[track_caller]
pub fn jacobian<T, const N: usize, const M: usize, const R: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>,
    x: &Tensor<T, N, E>,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Rank<R>: Plus<M, N>,
{
    Tensor::from_raw(jacobian_of(None, false, &|x, _: &()| f(x), x, &()).remove(0))
}

/// [`jacobian`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{Tensor, jacobian_with, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let j: Tensor<_, 2> = jacobian_with(|w, x| w * x, &w, &x);
/// assert_eq!(j, tensor([[4.0, 0.0], [0.0, 5.0]]));
/// ```
#[track_caller]
pub fn jacobian_with<T, Q, const N: usize, const M: usize, const R: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, M, E>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Q: Tree<T>,
    Rank<R>: Plus<M, N>,
{
    Tensor::from_raw(jacobian_of(None, false, &f, x, data).remove(0))
}

/// Value and [`jacobian`].
///
/// ```
/// use polygrad::{tensor, value_and_jacobian};
/// let (y, j) = value_and_jacobian(|x| x.square(), &tensor([1.0, 2.0]));
/// assert_eq!((y, j), (tensor([1.0, 4.0]), tensor([[2.0, 0.0], [0.0, 4.0]])));
/// ```
#[track_caller]
pub fn value_and_jacobian<T, const N: usize, const M: usize, const R: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>,
    x: &Tensor<T, N, E>,
) -> (Tensor<T, M, E>, Tensor<T, R, E>)
where
    T: BaseTensor,
    Rank<R>: Plus<M, N>,
{
    let mut results = jacobian_of(None, true, &|x, _: &()| f(x), x, &());
    (Tensor::from_raw(results.remove(0)), Tensor::from_raw(results.remove(0)))
}

/// [`value_and_jacobian`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{tensor, value_and_jacobian_with};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let (y, j) = value_and_jacobian_with(|w, x| w * x, &w, &x);
/// assert_eq!((y, j), (tensor([8.0, 15.0]), tensor([[4.0, 0.0], [0.0, 5.0]])));
/// ```
#[track_caller]
pub fn value_and_jacobian_with<T, Q, const N: usize, const M: usize, const R: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, M, E>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> (Tensor<T, M, E>, Tensor<T, R, E>)
where
    T: BaseTensor,
    Q: Tree<T>,
    Rank<R>: Plus<M, N>,
{
    let mut results = jacobian_of(None, true, &f, x, data);
    (Tensor::from_raw(results.remove(0)), Tensor::from_raw(results.remove(0)))
}

/// [`jacobian`] in a given mode.
///
/// ```
/// use polygrad::{Mode, Tensor, jacobian_by, tensor};
/// let j: Tensor<_, 1> = jacobian_by(Mode::Forward, |x| x.square().sum(), &tensor([1.0, 2.0]));
/// assert_eq!(j, tensor([2.0, 4.0]));
/// ```
#[track_caller]
pub fn jacobian_by<T, const N: usize, const M: usize, const R: usize, E: Float>(
    mode: Mode,
    f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, M, E>,
    x: &Tensor<T, N, E>,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Rank<R>: Plus<M, N>,
{
    Tensor::from_raw(jacobian_of(Some(mode), false, &|x, _: &()| f(x), x, &()).remove(0))
}

/// [`jacobian_with`] in a given mode.
///
/// ```
/// use polygrad::{Mode, Tensor, jacobian_by_with, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let j: Tensor<_, 1> = jacobian_by_with(Mode::Reverse, |w, x| w.dot(x), &w, &x);
/// assert_eq!(j, x);
/// ```
#[track_caller]
pub fn jacobian_by_with<T, Q, const N: usize, const M: usize, const R: usize, E: Float>(
    mode: Mode,
    f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, M, E>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Q: Tree<T>,
    Rank<R>: Plus<M, N>,
{
    Tensor::from_raw(jacobian_of(Some(mode), false, &f, x, data).remove(0))
}

/// The value, if `value` is set, and the Jacobian.
#[track_caller]
fn jacobian_of<T, Q, const N: usize, const M: usize, E: Float>(
    mode: Option<Mode>,
    value: bool,
    f: OfTensor<'_, T, Term, N, E, Q, Tensor<Term, M, E>>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> Vec<T>
where
    T: BaseTensor,
    Q: Tree<T>,
{
    let (program, _) = recorded("jacobian", f, x, data);
    program.derived(Transformation::Dense(DenseDerivative::jacobian(value)), mode, Vec::new())
}

/// The Hessian of a scalar function: `H[i.., j..] = d^2 f(x) / d x[i..] d x[j..]`.
///
/// The derivative of the gradient is evaluated `n` times for an `x` of `n` elements, in the mode with the lower
/// estimated time.
///
/// ```
/// use polygrad::{Tensor, hessian, tensor};
/// let h: Tensor<_, 2> = hessian(|x| x.square().sum() * x.at([0]), &tensor([1.0, 2.0]));
/// assert_eq!(h, tensor([[6.0, 4.0], [4.0, 2.0]]));
/// ```
#[track_caller]
pub fn hessian<T, const N: usize, const R: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>) -> Tensor<Term, 0, E>,
    x: &Tensor<T, N, E>,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Rank<R>: Plus<N, N>,
{
    hessian_of(&|x, _: &()| f(x), x, &())
}

/// [`hessian`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{Tensor, hessian_with, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let h: Tensor<_, 2> = hessian_with(|w, x| (w * w * x).sum(), &w, &x);
/// assert_eq!(h, tensor([[8.0, 0.0], [0.0, 10.0]]));
/// ```
#[track_caller]
pub fn hessian_with<T, Q, const N: usize, const R: usize, E: Float>(
    f: impl Fn(&Tensor<Term, N, E>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Q: Tree<T>,
    Rank<R>: Plus<N, N>,
{
    hessian_of(&f, x, data)
}

/// [`hessian_with`].
#[track_caller]
fn hessian_of<T, Q, const N: usize, const R: usize, E: Float>(
    f: OfTensor<'_, T, Term, N, E, Q, Tensor<Term, 0, E>>,
    x: &Tensor<T, N, E>,
    data: &Q,
) -> Tensor<T, R, E>
where
    T: BaseTensor,
    Q: Tree<T>,
{
    let (program, _) = recorded("hessian", f, x, data);
    Tensor::from_raw(program.derived(Transformation::Dense(DenseDerivative::HESSIAN), None, Vec::new()).remove(0))
}

/// The product `H v` of the Hessian of a scalar function and a direction, without computing `H`; forward over reverse.
///
/// ```
/// use polygrad::{hvp, tensor};
/// let (x, v) = (tensor([1.0, 2.0]), tensor([1.0, 0.0]));
/// assert_eq!(hvp(|x| x.square().sum() * x.at([0]), &x, &v), tensor([6.0, 4.0]));
/// ```
///
/// # Panics
/// When a leaf of `v` differs in shape or element type from that of `x`.
#[track_caller]
pub fn hvp<T, P, E>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P, v: &P) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    E: Float,
{
    hvp_of(&|x, _: &()| f(x), x, v, &())
}

/// [`hvp`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{hvp_with, tensor};
/// let (w, x, v) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]), tensor([1.0, 10.0]));
/// assert_eq!(hvp_with(|w, x| (w * w * x).sum(), &w, &v, &x), tensor([8.0, 100.0]));
/// ```
///
/// # Panics
/// When a leaf of `v` differs in shape or element type from that of `x`.
#[track_caller]
pub fn hvp_with<T, P, Q, E>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    v: &P,
    data: &Q,
) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    hvp_of(&f, x, v, data)
}

/// [`hvp_with`].
#[track_caller]
fn hvp_of<T, P, Q, E>(f: OfBoth<'_, T, Term, P, Q, Tensor<Term, 0, E>>, x: &P, v: &P, data: &Q) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    let tangents = v.leaves();
    check_direction(&x.leaves(), &tangents);
    let (program, _) = recorded("hvp", f, x, data);
    x.with_leaves(program.derived(Transformation::Hvp, None, tangents))
}

/// Panics unless the leaves of a direction agree with those of the argument in number, shapes and element types.
#[track_caller]
fn check_direction<T: BaseTensor>(x: &[T], v: &[T]) {
    if x.len() != v.len() {
        panic!(
            "hvp: the direction must have a leaf for each of the argument, but they have {} and {}; map the argument to it",
            v.len(),
            x.len()
        );
    }
    for (x, v) in x.iter().zip(v) {
        if x.shape() != v.shape() || x.dtype() != v.dtype() {
            panic!(
                "hvp: the direction must have the shape and element type of the argument, but the argument is {} {} and the direction \
                 {} {}; map the argument to it",
                x.dtype(),
                Show(x.shape()),
                v.dtype(),
                Show(v.shape())
            );
        }
    }
}

/// The `n`-th derivative of a scalar function of a scalar, for an `n` that is chosen at run time; the 0-th derivative
/// is the function.
///
/// The recorded program is differentiated `n` times in forward mode, and optimized each time. For `n >= 4`, one Taylor
/// expansion of order `n` replaces the repetition if its program has fewer operations.
///
/// ```
/// use polygrad::{Tensor, nth_derivative, tensor};
/// assert_eq!(nth_derivative(|x| x.powi(5), 4, &tensor(2.0)), tensor(240.0));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn nth_derivative<T: BaseTensor, E: Float>(
    f: impl Fn(&Tensor<Term, 0, E>) -> Tensor<Term, 0, E>,
    n: usize,
    x: &Tensor<T, 0, E>,
) -> Tensor<T, 0, E> {
    nth_derivative_of(&|x, _: &()| f(x), n, x, &())
}

/// [`nth_derivative`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{nth_derivative_with, tensor};
/// let (x, a) = (tensor(0.0), tensor(3.0));
/// assert_eq!(nth_derivative_with(|x, a| (x * a).sin(), 3, &x, &a), tensor(-27.0));
/// ```
///
/// # Panics
/// When `f` looks at values.
#[track_caller]
pub fn nth_derivative_with<T: BaseTensor, Q: Tree<T>, E: Float>(
    f: impl Fn(&Tensor<Term, 0, E>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    n: usize,
    x: &Tensor<T, 0, E>,
    data: &Q,
) -> Tensor<T, 0, E> {
    nth_derivative_of(&f, n, x, data)
}

/// [`nth_derivative_with`].
#[track_caller]
fn nth_derivative_of<T: BaseTensor, Q: Tree<T>, E: Float>(
    f: OfBoth<'_, T, Term, Tensor<T, 0, E>, Q, Tensor<Term, 0, E>>,
    n: usize,
    x: &Tensor<T, 0, E>,
    data: &Q,
) -> Tensor<T, 0, E> {
    let (program, _) = recorded("nth_derivative", f, x, data);
    Tensor::from_raw(program.derived(Transformation::Nth(n), None, Vec::new()).remove(0))
}
