//! Code of the host in a program.

use std::sync::Arc;

use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::{Call, External};
use crate::tree::Tree;

/// Runs code of the host (a solver, a table, a simulator) as an operation of the program.
///
/// `f` takes the numbers of `x` and returns numbers like `like`, which says how many there are and of which shapes. It
/// runs when the program runs, not when it is recorded: once for each run of the operation, which is left out where
/// nothing needs its results, so it should depend on its arguments alone. In bulk it runs once for each element, in
/// order. `name` is its name in printed and saved programs; a loaded program is linked to its code by
/// [`Program::link`](crate::program::Program::link).
///
/// It has no derivative of its own: where one is asked for, give a rule with [`custom_vjp`](crate::custom_vjp()) or
/// [`custom_jvp`](crate::custom_jvp()), which may call code of the host, too; or stop the gradient of its arguments. See
/// [the guide](crate::guide).
///
/// # Panics
/// When `f` returns other shapes or element types than those of `like`; when a derivative is asked for and there is no
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
