//! The plain verbs: differentiation of a recorded function.
//!
//! A verb records its function, optimizes the program, differentiates it, optimizes the derivative, and evaluates it at
//! the interpreter of its arguments ([`differentiate`](super::differentiate)): at numbers the derivative runs, inside another
//! program it becomes part of that program. The verbs of [`direct`](super::direct) run the function at dual numbers
//! instead, with the host language's own control flow.

use super::differentiate::evaluate::VerbPasses;
use super::differentiate::modes::DenseDerivative;
use super::differentiate::record::{OfBoth, recorded};
use super::differentiate::sweep::Pullback;
use super::differentiate::transformation::Transformation;
use super::direct::one_tangent_each;
use super::linear_map::LinearMap;
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::interpreters::adval::Fault;
use crate::interpreters::dual::fits;
use crate::passes::optimize_with;
use crate::program::{Slot, Term};
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Value and gradient of a scalar function of `x`, which also takes `data` that is not differentiated.
///
/// `f : (P, Q) -> scalar`; returns `f(x, data)` and the tree of partial derivatives in the leaves of `x`,
/// each with the shape and element type of its leaf; zeros for integers and masks. [`value_and_grad`], [`grad`] and
/// [`grad_with`] are short forms of this verb.
///
/// Every call records the program and differentiates it again, which costs far more than a run if arrays are small. In a
/// loop, use a [`Function`](super::Function), which is recorded once, or a [`Jit`](super::Jit), which is recorded once
/// for each shape.
///
/// # Panics
/// When `f` looks at values (`item`, `peek`; use [`direct`](super::direct)), or its result depends on a differentiated
/// value that is not in `x`.
///
/// ```
/// use polygrad::{Tensor, tensor, value_and_grad_with};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let (y, g) = value_and_grad_with(|w, x| w.dot(x), &w, &x);
/// assert_eq!((y.item(), g), (23.0, x));
/// ```
#[track_caller]
pub fn value_and_grad_with<T, P, Q, E>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    data: &Q,
) -> (Tensor<T, 0, E>, P::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    value_and_grad_of(&f, x, data)
}

// The verbs of users are generic in the type of the function, and thin: these functions are compiled once for the types
// of arguments and results, and what follows the arguments as a list once for an interpreter.

/// [`value_and_grad_with`].
#[track_caller]
fn value_and_grad_of<T, P, Q, E>(
    f: OfBoth<'_, T, Term, P, Q, Tensor<Term, 0, E>>,
    x: &P,
    data: &Q,
) -> (Tensor<T, 0, E>, P::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    let mut results = gradient_of(f, x, data, true);
    let gradient = results.split_off(1);
    (Tensor::from_raw(results.remove(0)), x.with_leaves(gradient))
}

/// The leaves of the gradient of a scalar function, after its value if that is wanted.
#[track_caller]
fn gradient_of<T, P, Q, E>(f: OfBoth<'_, T, Term, P, Q, Tensor<Term, 0, E>>, x: &P, data: &Q, value: bool) -> Vec<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    let (program, _) = recorded("grad", f, x, data);
    program.derived(Transformation::Dense(DenseDerivative::gradient(value)), None, Vec::new())
}

/// Value and gradient of a scalar function.
///
/// ```
/// use polygrad::{Tensor, tensor, value_and_grad};
/// let (y, g) = value_and_grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
/// assert_eq!((y.item(), g), (5.0, tensor([2.0, 4.0])));
/// ```
#[track_caller]
pub fn value_and_grad<T, P, E>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> (Tensor<T, 0, E>, P::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    E: Float,
{
    value_and_grad_of(&|x, _: &()| f(x), x, &())
}

/// Gradient of a scalar function: the tree of partial derivatives in the leaves of `x`.
///
/// ```
/// use polygrad::{grad, tensor};
/// assert_eq!(grad(|x| x.square().sum(), &tensor([1.0, 2.0])), tensor([2.0, 4.0]));
/// ```
#[track_caller]
pub fn grad<T, P, E>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    E: Float,
{
    x.with_leaves(gradient_of(&|x, _: &()| f(x), x, &(), false))
}

/// [`grad`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{grad_with, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// assert_eq!(grad_with(|w, x| (w * x).square().sum(), &w, &x), tensor([64.0, 150.0]));
/// ```
#[track_caller]
pub fn grad_with<T, P, Q, E>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
    data: &Q,
) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    x.with_leaves(gradient_of(&f, x, data, false))
}

/// The value of a function and its pullback.
///
/// `vjp : (P -> Y) -> P -> (Y, Y -o P)`. The pullback maps a cotangent of the value, a tree of the same structure, to
/// the cotangent of `x`. `f` is recorded and run once; its derivative at `x` is a linear program, and each call of the
/// pullback runs that program.
///
/// # Panics
/// When `f` looks at values. The pullback panics when a leaf of its argument differs in shape or element type from that
/// of the value.
///
/// ```
/// use polygrad::{Tensor, tensor, vjp};
/// let x = tensor([1.0, 2.0]);
/// let (y, pullback) = vjp(|x| x.square(), &x);
/// assert_eq!((y, pullback(&tensor([1.0, 0.5]))), (tensor([1.0, 4.0]), tensor([2.0, 2.0])));
/// ```
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
pub fn vjp<'a, T, P, Y>(
    f: impl Fn(&P::With<Term>) -> Y,
    x: &'a P,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    vjp_of(&|x, _: &()| f(x), x, &())
}

/// [`vjp`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{tensor, vjp_with};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let (y, pullback) = vjp_with(|w, x| w * x, &w, &x);
/// assert_eq!((y, pullback(&tensor([1.0, 10.0]))), (tensor([8.0, 15.0]), tensor([4.0, 50.0])));
/// ```
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
pub fn vjp_with<'a, T, P, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    vjp_of(&f, x, data)
}

/// [`vjp_with`].
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
fn vjp_of<'a, T, P, Q, Y>(
    f: OfBoth<'_, T, Term, P, Q, Y>,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let (program, y) = recorded("vjp", f, x, data);
    let count = y.leaves().len();
    let passes = VerbPasses::at::<T>();
    let ready = optimize_with(&program.program, passes.before);
    let Pullback { primal, linear } = match Pullback::of(&ready, program.count) {
        Ok(pullback) => pullback,
        Err(fault) => panic!("{fault}"),
    };
    let mut values = program.evaluated::<Fault>(Ok(optimize_with(&primal, passes.after)), Vec::new());
    let residuals = values.split_off(count);
    let (linear, results) = (optimize_with(&linear, passes.after), ready.outputs().to_vec());
    let pullback = move |y_bar: &Y::With<T>| {
        let mut inputs = y_bar.leaves();
        let kinds: Vec<(&[usize], DType)> = results.iter().map(|slot: &Slot| (&slot.shape[..], slot.dtype)).collect();
        Fault::of_cotangents(&kinds, &inputs)?;
        inputs.extend(residuals.iter().cloned());
        Ok::<_, Fault>(x.with_leaves(T::evaluated(&linear, inputs)))
    };
    (y.with_leaves(values), LinearMap::new(pullback))
}

/// The value of a function and its directional derivative along `x_dot`, forward mode.
///
/// `jvp : (P -> Y) -> (P, P) -> (Y, Y)`. The values of leaves of `x_dot` at integers and masks are ignored.
///
/// # Panics
/// When a leaf of `x_dot` differs in shape or element type from that of `x`, or `f` looks at values.
///
/// ```
/// use polygrad::{Tensor, jvp, tensor};
/// let (x, x_dot) = (tensor([1.0, 2.0]), tensor([1.0, 10.0]));
/// let (y, y_dot) = jvp(|x| x.square(), &x, &x_dot);
/// assert_eq!((y, y_dot), (tensor([1.0, 4.0]), tensor([2.0, 40.0])));
/// ```
#[track_caller]
pub fn jvp<T, P, Y>(f: impl Fn(&P::With<Term>) -> Y, x: &P, x_dot: &P) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Term>,
{
    jvp_of(&|x, _: &()| f(x), x, x_dot, &())
}

/// [`jvp`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{jvp_with, tensor};
/// let (w, x, w_dot) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]), tensor([1.0, 10.0]));
/// assert_eq!(jvp_with(|w, x| w * x, &w, &w_dot, &x), (tensor([8.0, 15.0]), tensor([4.0, 50.0])));
/// ```
#[track_caller]
pub fn jvp_with<T, P, Q, Y>(
    f: impl Fn(&P::With<Term>, &Q::With<Term>) -> Y,
    x: &P,
    x_dot: &P,
    data: &Q,
) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    jvp_of(&f, x, x_dot, data)
}

/// [`jvp_with`].
#[track_caller]
fn jvp_of<T, P, Q, Y>(f: OfBoth<'_, T, Term, P, Q, Y>, x: &P, x_dot: &P, data: &Q) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Term>,
{
    let (primals, tangents) = (x.leaves(), x_dot.leaves());
    one_tangent_each(primals.len(), tangents.len());
    for (primal, tangent) in primals.iter().zip(&tangents) {
        fits(primal, tangent);
    }
    let (program, y) = recorded("jvp", f, x, data);
    let mut results = program.derived(Transformation::Jvp, None, tangents);
    let tangents = results.split_off(results.len() / 2);
    (y.with_leaves(results), y.with_leaves(tangents))
}
