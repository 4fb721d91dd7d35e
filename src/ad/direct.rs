//! The verbs that differentiate by running the program at dual numbers, with the host language's own control flow.
//!
//! A function is differentiated in its first argument, which is a [`Tree`] of tensors. The function runs at the level
//! above the caller's: [`ADVal<T>`](ADVal) for the verbs that record a delta term, [`Dual<T>`](Dual) for `jvp`. Values
//! of the caller's level enter through `lift`, or as data. Verbs nest.
//!
//! A program may look at the values that it computes ([`Tensor::peek`](crate::Tensor::peek), `item`) and branch on
//! them; the derivative is that of the branch taken.

pub use super::taylor::direct::taylor;

use super::linear_map::LinearMap;
use super::pipeline::{OfBoth, started};
use crate::base::{BaseTensor, Lift};
use crate::dtype::Float;
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::shape::Shape;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Value and gradient of a scalar function of `x`, which also takes `data` that is not differentiated.
///
/// `f : (P, Q) -> scalar`; returns `f(x, data)` and the tree of partial derivatives in the leaves of `x`,
/// each with the shape and element type of its leaf; zeros for integers and masks. [`value_and_grad`], [`grad`] and
/// [`grad_with`] are short forms of this verb.
///
/// # Panics
/// When the result depends on a differentiated value that is not in `x`.
///
/// ```
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let (y, g) = direct::value_and_grad_with(|w, x| w.dot(x), &w, &x);
/// assert_eq!((y.item(), g), (23.0, x));
/// ```
#[track_caller]
pub fn value_and_grad_with<T, P, Q, E>(
    f: impl Fn(&P::With<ADVal<T>>, &Q::With<ADVal<T>>) -> Tensor<ADVal<T>, 0, E>,
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
// of arguments and results.

/// [`value_and_grad_with`].
#[track_caller]
fn value_and_grad_of<T, P, Q, E>(
    f: OfBoth<'_, T, ADVal<T>, P, Q, Tensor<ADVal<T>, 0, E>>,
    x: &P,
    data: &Q,
) -> (Tensor<T, 0, E>, P::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    E: Float,
{
    let (sweep, inputs) = inputs(x);
    let y = f(&inputs, &constants(data)).into_raw();
    let one = T::constant(crate::array::Array::ones(&Shape::new(), E::DTYPE));
    let gradient = sweep.pull(std::slice::from_ref(&y), vec![one]);
    (Tensor::from_raw(y.primal().clone()), x.with_leaves(gradient))
}

/// A new sweep, and the argument as its inputs.
fn inputs<T: BaseTensor, P: Tree<T>>(x: &P) -> (Sweep<T>, P::With<ADVal<T>>) {
    let leaves = x.leaves();
    let (sweep, duals) = started(&leaves, leaves.len());
    (sweep, x.with_leaves(duals))
}

/// The primal values of a tree.
fn primals<T: BaseTensor, Y: Tree<ADVal<T>>>(y: &Y) -> Y::With<T> {
    y.map(&mut |leaf| leaf.primal().clone())
}

/// Value and gradient of a scalar function.
///
/// ```
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let (y, g) = direct::value_and_grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
/// assert_eq!((y.item(), g), (5.0, tensor([2.0, 4.0])));
/// ```
#[track_caller]
pub fn value_and_grad<T, P, E>(
    f: impl Fn(&P::With<ADVal<T>>) -> Tensor<ADVal<T>, 0, E>,
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
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let g = direct::grad(|x| x.square().sum(), &tensor([1.0, 2.0]));
/// assert_eq!(g, tensor([2.0, 4.0]));
/// ```
#[track_caller]
pub fn grad<T, P, E>(f: impl Fn(&P::With<ADVal<T>>) -> Tensor<ADVal<T>, 0, E>, x: &P) -> P::With<T>
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
/// use polygrad::{direct, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// assert_eq!(direct::grad_with(|w, x| (w * x).square().sum(), &w, &x), tensor([64.0, 150.0]));
/// ```
#[track_caller]
pub fn grad_with<T, P, Q, E>(
    f: impl Fn(&P::With<ADVal<T>>, &Q::With<ADVal<T>>) -> Tensor<ADVal<T>, 0, E>,
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
/// the cotangent of `x`. The program runs once; the pullback can be called any number of times.
///
/// ```
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let x = tensor([1.0, 2.0]);
/// let (y, pullback) = direct::vjp(|x| x.square(), &x);
/// assert_eq!(y, tensor([1.0, 4.0]));
/// assert_eq!(pullback(&tensor([1.0, 0.0])), tensor([2.0, 0.0]));
/// assert_eq!(pullback(&tensor([0.0, 10.0])), tensor([0.0, 40.0]));
/// ```
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
pub fn vjp<T, P, Y>(f: impl Fn(&P::With<ADVal<T>>) -> Y, x: &P) -> (Y::With<T>, LinearMap<'_, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<ADVal<T>>,
{
    vjp_of(&|x, _: &()| f(x), x, &())
}

/// [`vjp`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{direct, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let (y, pullback) = direct::vjp_with(|w, x| w * x, &w, &x);
/// assert_eq!((y, pullback(&tensor([1.0, 10.0]))), (tensor([8.0, 15.0]), tensor([4.0, 50.0])));
/// ```
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
pub fn vjp_with<'a, T, P, Q, Y>(
    f: impl Fn(&P::With<ADVal<T>>, &Q::With<ADVal<T>>) -> Y,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<ADVal<T>>,
{
    vjp_of(&f, x, data)
}

/// [`vjp_with`].
#[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
#[track_caller]
fn vjp_of<'a, T, P, Q, Y>(
    f: OfBoth<'_, T, ADVal<T>, P, Q, Y>,
    x: &'a P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, Y::With<T>, P::With<T>>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<ADVal<T>>,
{
    let (sweep, inputs) = inputs(x);
    let y = f(&inputs, &constants(data));
    let results = y.leaves();
    (
        primals(&y),
        LinearMap::new(move |ct: &Y::With<T>| Ok::<_, Fault>(x.with_leaves(sweep.try_pull(&results, ct.leaves())?))),
    )
}

/// The tree, lifted to the level above as constants.
fn constants<U: BaseTensor + Lift<T>, T: BaseTensor, Q: Tree<T>>(data: &Q) -> Q::With<U> {
    data.map(&mut |leaf| U::lift(leaf.clone()))
}

/// The value of a function and its pushforward: the derivative at `x`, as a linear map.
///
/// `linearize : (P -> Y) -> P -> (Y, P -o Y)`. The pushforward maps a tangent of `x`, a tree of the same structure, to
/// the tangent of the value. The program runs once; the pushforward can be called any number of times. It evaluates the
/// delta term forwards, which the pullback of [`vjp`] evaluates backwards. For a single direction, [`jvp`] is cheaper:
/// it records no delta term.
///
/// ```
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let x = tensor([1.0, 2.0]);
/// let (y, pushforward) = direct::linearize(|x| x.square(), &x);
/// assert_eq!(y, tensor([1.0, 4.0]));
/// assert_eq!(pushforward(&tensor([1.0, 0.0])), tensor([2.0, 0.0]));
/// assert_eq!(pushforward(&tensor([0.0, 10.0])), tensor([0.0, 40.0]));
/// ```
///
/// # Panics
/// The pushforward panics when a leaf of its argument differs in shape or element type from that of `x`.
#[track_caller]
pub fn linearize<'a, T, P, Y>(f: impl Fn(&P::With<ADVal<T>>) -> Y, x: &P) -> (Y::With<T>, LinearMap<'a, P, Y::With<T>>)
where
    T: BaseTensor,
    P: Tree<T> + 'a,
    Y: Tree<ADVal<T>> + 'a,
{
    linearize_of(&|x, _: &()| f(x), x, &())
}

/// [`linearize`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{direct, tensor};
/// let (w, x) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]));
/// let (y, pushforward) = direct::linearize_with(|w, x| w * x, &w, &x);
/// assert_eq!((y, pushforward(&tensor([1.0, 10.0]))), (tensor([8.0, 15.0]), tensor([4.0, 50.0])));
/// ```
#[track_caller]
pub fn linearize_with<'a, T, P, Q, Y>(
    f: impl Fn(&P::With<ADVal<T>>, &Q::With<ADVal<T>>) -> Y,
    x: &P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, P, Y::With<T>>)
where
    T: BaseTensor,
    P: Tree<T> + 'a,
    Q: Tree<T>,
    Y: Tree<ADVal<T>> + 'a,
{
    linearize_of(&f, x, data)
}

/// [`linearize_with`].
#[track_caller]
fn linearize_of<'a, T, P, Q, Y>(
    f: OfBoth<'_, T, ADVal<T>, P, Q, Y>,
    x: &P,
    data: &Q,
) -> (Y::With<T>, LinearMap<'a, P, Y::With<T>>)
where
    T: BaseTensor,
    P: Tree<T> + 'a,
    Q: Tree<T>,
    Y: Tree<ADVal<T>> + 'a,
{
    let (sweep, inputs) = inputs(x);
    let y = f(&inputs, &constants(data));
    let results = y.leaves();
    (
        primals(&y),
        LinearMap::new(move |x_dot: &P| Ok::<_, Fault>(y.with_leaves(sweep.try_push(&results, x_dot.leaves())?))),
    )
}

/// The value of a function and its directional derivative along `x_dot`.
///
/// `jvp : (P -> Y) -> (P, P) -> (Y, Y)`, forward mode: no delta term is recorded, and the cost is a small multiple of
/// the cost of the function. The values of leaves of `x_dot` at integers and masks are ignored.
///
/// # Panics
/// When a leaf of `x_dot` differs in shape or element type from that of `x`.
///
/// ```
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let (x, x_dot) = (tensor([1.0, 2.0]), tensor([1.0, 10.0]));
/// let (y, y_dot) = direct::jvp(|x| x.square(), &x, &x_dot);
/// assert_eq!((y, y_dot), (tensor([1.0, 4.0]), tensor([2.0, 40.0])));
/// ```
#[track_caller]
pub fn jvp<T, P, Y>(f: impl Fn(&P::With<Dual<T>>) -> Y, x: &P, x_dot: &P) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Y: Tree<Dual<T>>,
{
    jvp_of(&|x, _: &()| f(x), x, x_dot, &())
}

/// [`jvp`] of a function that also takes `data` that is not differentiated.
///
/// ```
/// use polygrad::{direct, tensor};
/// let (w, x, w_dot) = (tensor([2.0, 3.0]), tensor([4.0, 5.0]), tensor([1.0, 10.0]));
/// assert_eq!(direct::jvp_with(|w, x| w * x, &w, &w_dot, &x), (tensor([8.0, 15.0]), tensor([4.0, 50.0])));
/// ```
#[track_caller]
pub fn jvp_with<T, P, Q, Y>(
    f: impl Fn(&P::With<Dual<T>>, &Q::With<Dual<T>>) -> Y,
    x: &P,
    x_dot: &P,
    data: &Q,
) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Dual<T>>,
{
    jvp_of(&f, x, x_dot, data)
}

/// [`jvp_with`].
#[track_caller]
fn jvp_of<T, P, Q, Y>(f: OfBoth<'_, T, Dual<T>, P, Q, Y>, x: &P, x_dot: &P, data: &Q) -> (Y::With<T>, Y::With<T>)
where
    T: BaseTensor,
    P: Tree<T>,
    Q: Tree<T>,
    Y: Tree<Dual<T>>,
{
    let sweep = Forward::new();
    let (primals, tangents) = (x.leaves(), x_dot.leaves());
    one_tangent_each(primals.len(), tangents.len());
    let mut inputs = Vec::with_capacity(primals.len());
    for (primal, tangent) in primals.iter().zip(&tangents) {
        inputs.push(sweep.input(primal, tangent));
    }
    let y = f(&x.with_leaves(inputs), &constants(data));
    let (mut values, mut tangents) = (Vec::new(), Vec::new());
    for leaf in y.leaves() {
        let (value, tangent) = sweep.result(&leaf);
        values.push(value);
        tangents.push(tangent);
    }
    (y.with_leaves(values), y.with_leaves(tangents))
}

/// # Panics
/// When there are not as many tangents as leaves.
#[track_caller]
pub(super) fn one_tangent_each(leaves: usize, tangents: usize) {
    if leaves != tangents {
        panic!(
            "jvp: each leaf of the argument needs a tangent, but there are {leaves} leaves and {tangents} tangents; map the argument to \
             its tangent"
        );
    }
}
