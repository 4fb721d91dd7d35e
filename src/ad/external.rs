//! `external`: code of the host as an operation of a program.

use std::sync::Arc;

use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::{Call, External};
use crate::tree::Tree;

/// Runs code of the host (a solver, a table, a simulator) as an operation of the program.
///
/// `f` takes the arrays of `x` and returns arrays with the shapes and element types of `like`. `f` runs when the
/// program runs, not when the program is recorded: once for each execution of the operation. An operation whose results
/// are unused may be removed, so `f` should be a pure function of its arguments. Vectorized over an axis, the operation
/// runs `f` once for each index of the axis, in order. `name` stands for `f` in printed and saved programs; a loaded
/// program is linked to its code by [`Program::link`](crate::program::Program::link).
///
/// The operation has no derivative. To differentiate a program that contains it, give a rule with
/// [`custom_vjp`](crate::custom_vjp()) or [`custom_jvp`](crate::custom_jvp()), which may call code of the host, too; or
/// stop the gradient of the arguments. See [the guide](crate::guide).
///
/// # Panics
/// When `f` returns shapes or element types that differ from those of `like`; when the operation is differentiated without a
/// rule.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, custom_vjp, external, grad, tensor};
/// // A cube root by the standard library, with its derivative.
/// fn cbrt<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
///     custom_vjp(
///         "cbrt",
///         |x| external("cbrt", |x| tensor(x.item().cbrt()), &tensor(0.0), x),
///         |_, y, y_bar| y_bar / (y.square() * 3.0),
///         x,
///     )
/// }
/// assert_eq!(cbrt(&tensor(8.0)), tensor(2.0));
/// assert_eq!(grad(|x| cbrt(x), &tensor(8.0)), tensor(1.0 / 12.0));
/// ```
#[track_caller]
pub fn external<T, P, Y>(
    name: &str,
    f: impl Fn(&P::With<Array>) -> Y + Send + Sync + 'static,
    like: &Y,
    x: &P,
) -> Y::With<T>
where
    T: BaseTensor,
    P: Tree<T>,
    P::With<Array>: Tree<Array, With<Array> = P::With<Array>> + Send + Sync + 'static,
    Y: Tree<Array, With<Array> = Y>,
{
    let args = x.leaves();
    let takes = args.iter().map(|a| (a.shape().into(), a.dtype())).collect();
    let returns = like.leaves().iter().map(|a| (a.shape().into(), a.dtype())).collect();
    let template = x.with_leaves(args.iter().map(|a| Array::zeros(a.shape(), a.dtype())).collect());
    let run = move |args: &[Array]| f(&template.with_leaves(args.to_vec())).leaves();
    let op = Call::External(Arc::new(External::new(name, takes, returns, Arc::new(run))));
    like.with_leaves(T::call(&op, &args))
}
