//! The plain verbs: differentiation by tracing.
//!
//! At `Concrete` a verb records the program, optimizes it, differentiates the optimized program, optimizes the
//! derivative, and runs it ([`pipeline`]); if a program is being traced or differentiated, the derivative becomes part
//! of that program. The verbs of [`direct`](super::direct) run the program at dual numbers instead, with the host
//! language's own control flow.

use std::cell::RefCell;
use std::fmt::Display;

use super::arguments::{Arguments, OfBoth};
use super::function::derivative_programs::Pullback;
use super::linear_map::LinearMap;
use super::modes::{Mode, Wanted};
use super::pipeline;
use crate::base::{BaseTensor, Staging};
use crate::dtype::{DType, Float};
use crate::interpreters::adval::{ADVal, Fault};
use crate::interpreters::dual::{Dual, Forward};
use crate::passes::{Options, optimize};
use crate::program::interpret;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Value and gradient of a scalar function of `x`, which also takes `data` that is not differentiated.
///
/// `f : (P, Q) -> scalar`; returns `f(x, data)` and the tree of partial derivatives in the leaves of `x`,
/// each with the shape and element type of its leaf; zeros for integers and masks. [`value_and_grad`], [`grad`] and
/// [`grad_with`] are short forms of this verb.
///
/// Every call records the program and differentiates it anew, which costs far more than a run if arrays are small. In a
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
    f: impl Fn(&P::With<ADVal<T::Trace>>, &Q::With<ADVal<T::Trace>>) -> Tensor<ADVal<T::Trace>, 0, E>,
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
    f: OfBoth<'_, T, First<T>, P, Q, Tensor<First<T>, 0, E>>,
    x: &P,
    data: &Q,
) -> (Tensor<T, 0, E>, P::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    let arguments = Arguments::new(x, data);
    let run = |duals: &[ADVal<T::Trace>]| vec![arguments.call(f, duals).into_raw()];
    let mut results = first::<T>(Wanted::gradient(true), None, &arguments.inputs, arguments.count, &run);
    let gradient = results.split_off(1);
    (Tensor::from_raw(results.remove(0)), x.with_leaves(gradient))
}

/// The first derivatives that are wanted, of a function of a list of values in the first `count` of them.
#[track_caller]
pub(super) fn first<T: BaseTensor>(
    wanted: Wanted,
    mode: Option<Mode>,
    inputs: &[T],
    count: usize,
    f: pipeline::Dually<'_, T>,
) -> Vec<T> {
    traced(inputs, wanted.last(Options::default()), &mut |inputs| wanted.first::<T>(mode, inputs, count, f))
}

/// The second derivatives that are wanted, of a function of a list of values in the first `count` of them.
#[track_caller]
pub(super) fn second<T: BaseTensor>(wanted: Wanted, inputs: &[T], count: usize, f: pipeline::Twice<'_, T>) -> Vec<T> {
    traced(inputs, wanted.last(Options::default()), &mut |inputs| wanted.second::<T>(inputs, count, f))
}

/// Traced values with terms.
type First<T> = ADVal<<T as Staging>::Trace>;

/// A function of traced values that may fail.
pub(super) type Fallible<'a, T, F> =
    &'a mut dyn FnMut(&[<T as Staging>::Trace]) -> Result<Vec<<T as Staging>::Trace>, F>;

/// [`Staging::trace`] of a function `f` that may fail.
///
/// # Panics
/// When `f` returns an error. The panic is raised here, since a panic inside the closure would not report the caller's
/// line.
#[track_caller]
pub(super) fn traced<T: BaseTensor, F: Display>(inputs: &[T], options: Options, f: Fallible<'_, T, F>) -> Vec<T> {
    match try_traced(inputs, options, f) {
        Ok(results) => results,
        Err(fault) => panic!("{fault}"),
    }
}

/// [`traced`], with the error of `f` as an error.
#[track_caller]
fn try_traced<T: BaseTensor, F>(inputs: &[T], options: Options, f: Fallible<'_, T, F>) -> Result<Vec<T>, F> {
    let mut fault = None;
    let results = T::trace(inputs, options, &mut |inputs| match f(inputs) {
        Ok(results) => results,
        Err(e) => {
            fault = Some(e);
            Vec::new()
        }
    });
    match fault {
        Some(fault) => Err(fault),
        None => Ok(results),
    }
}

/// Value and gradient of a scalar function.
///
/// ```
/// use polygrad::{Tensor, tensor, value_and_grad};
/// let (y, g) = value_and_grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
/// assert_eq!((y.item(), g), (5.0, tensor([2.0, 4.0])));
/// ```
#[track_caller]
pub fn value_and_grad<T, P, E>(
    f: impl Fn(&P::With<ADVal<T::Trace>>) -> Tensor<ADVal<T::Trace>, 0, E>,
    x: &P,
) -> (Tensor<T, 0, E>, P::With<T>)
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
pub fn grad<T, P, E>(f: impl Fn(&P::With<ADVal<T::Trace>>) -> Tensor<ADVal<T::Trace>, 0, E>, x: &P) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    E: Float,
{
    value_and_grad_of(&|x, _: &()| f(x), x, &()).1
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
    f: impl Fn(&P::With<ADVal<T::Trace>>, &Q::With<ADVal<T::Trace>>) -> Tensor<ADVal<T::Trace>, 0, E>,
    x: &P,
    data: &Q,
) -> P::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    value_and_grad_of(&f, x, data).1
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
    f: impl Fn(&P::With<ADVal<T::Trace>>) -> Y,
    x: &'a P,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<ADVal<T::Trace>>,
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
    f: impl Fn(&P::With<ADVal<T::Trace>>, &Q::With<ADVal<T::Trace>>) -> Y,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<ADVal<T::Trace>>,
{
    vjp_of(&f, x, data)
}

/// [`vjp_with`].
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
fn vjp_of<'a, T, P, Q, Y>(
    f: OfBoth<'_, T, ADVal<T::Trace>, P, Q, Y>,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<ADVal<T::Trace>>,
{
    let arguments = Arguments::new(x, data);
    let (template, mut traced) = (RefCell::new(None), None);
    let run = |duals: &[ADVal<T::Trace>]| {
        let y = arguments.call(f, duals);
        let leaves = y.leaves();
        template.replace(Some(y));
        leaves
    };
    let values = T::trace(&arguments.inputs, Options::default(), &mut |inputs| {
        // A program without captured values runs below, and computes the residuals of its derivative, too.
        if let Some(program) = pipeline::closed::<T>(inputs, arguments.count, &run) {
            traced = Some(Ok(program));
            return Vec::new();
        }
        let (sweep, y) = pipeline::reverse::<T>(inputs, arguments.count, &run);
        let values = pipeline::primals(&y);
        traced = Some(Err((sweep, y)));
        values
    });
    let (Some(traced), Some(y)) = (traced, template.into_inner()) else { unreachable!("tracing runs the program") };
    let program = match traced {
        Ok(program) => program,
        Err((sweep, results)) => {
            // The values are part of an outer program. The delta term of one run serves all cotangents.
            let pullback = move |y_bar: &Y::With<T>| {
                let mut pull = |y_bar: &[T::Trace]| sweep.try_pull(&results, y_bar.to_vec());
                let cotangents = try_traced(&y_bar.leaves(), Options::default(), &mut pull);
                cotangents.map(|cotangents| x.with_leaves(cotangents))
            };
            return (y.with_leaves(values), LinearMap::new(pullback));
        }
    };
    let Pullback { primal, linear } = match Pullback::of(&program, arguments.count) {
        Ok(pullback) => pullback,
        Err(fault) => panic!("{fault}"),
    };
    let mut values = interpret(&optimize(&primal), arguments.inputs);
    let residuals = values.split_off(program.outputs().len());
    let linear = optimize(&linear);
    let pullback = move |y_bar: &Y::With<T>| {
        let mut inputs = y_bar.leaves();
        let kinds: Vec<(&[usize], DType)> =
            program.outputs().iter().map(|slot| (&slot.shape[..], slot.dtype)).collect();
        Fault::of_cotangents(&kinds, &inputs)?;
        inputs.extend(residuals.iter().cloned());
        Ok::<_, Fault>(x.with_leaves(interpret(&linear, inputs)))
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
pub fn jvp<T, P, Y>(f: impl Fn(&P::With<Dual<T::Trace>>) -> Y, x: &P, x_dot: &P) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Dual<T::Trace>>,
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
    f: impl Fn(&P::With<Dual<T::Trace>>, &Q::With<Dual<T::Trace>>) -> Y,
    x: &P,
    x_dot: &P,
    data: &Q,
) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Dual<T::Trace>>,
{
    jvp_of(&f, x, x_dot, data)
}

/// [`jvp_with`].
#[track_caller]
fn jvp_of<T, P, Q, Y>(f: OfBoth<'_, T, Dual<T::Trace>, P, Q, Y>, x: &P, x_dot: &P, data: &Q) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Dual<T::Trace>>,
{
    let (arguments, tangents) = (Arguments::new(x, data), x_dot.leaves());
    super::direct::one_tangent_each(arguments.count, tangents.len());
    for (primal, tangent) in arguments.inputs.iter().zip(&tangents) {
        // Checked here, so that a panic reports the caller's line, which a closure cannot.
        Forward::new().input(primal, tangent);
    }
    let inputs = [&arguments.inputs[..], &tangents].concat();
    let template = RefCell::new(None);
    let mut results = traced(&inputs, Options::default(), &mut |inputs| {
        let (inputs, tangents) = inputs.split_at(arguments.inputs.len());
        let results = pipeline::forward::<T>(inputs, tangents, &|duals| {
            let y = arguments.call(f, duals);
            let leaves = y.leaves();
            template.replace(Some(y));
            leaves
        })?;
        let (mut values, mut tangents) = (Vec::new(), Vec::new());
        for (value, tangent) in results {
            values.push(value);
            tangents.push(tangent);
        }
        values.append(&mut tangents);
        Ok::<_, String>(values)
    });
    let Some(template) = template.into_inner() else { unreachable!("tracing runs the program") };
    let tangents = results.split_off(results.len() / 2);
    (template.with_leaves(results), template.with_leaves(tangents))
}
