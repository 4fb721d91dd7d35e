//! Derivatives between tangent spaces, and updates of optimizers along a manifold.
//!
//! Law: each is a verb of numbers in the chart of the retraction at the point; the point is data.

use super::Manifold;
use crate::ad::verbs::{grad_with, jvp_with, value_and_grad_with};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::optim::{Optimizer, State};
use crate::program::Term;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The function `f` in the chart at a point: `(v, p) -> f(p.retract(v))`, for verbs with data.
///
/// ```
/// use polygrad::manifold::{Direction, Manifold, in_chart};
/// use polygrad::{BaseTensor, Function, Tensor, hessian_with, tensor};
/// fn height<T: BaseTensor>(p: &Direction<T>) -> Tensor<T, 0> {
///     p.vector().at([0])
/// }
/// // At the top, the height falls in all directions: the Hessian along the sphere is -I.
/// let top = Direction::towards(&tensor([1.0, 0.0, 0.0]));
/// let h = hessian_with(in_chart(height), &top.zero(), &top);
/// assert!((h + Tensor::eye(2)).abs().max_all().item() < 1e-15);
/// // Recorded and compiled once, run at many points.
/// let slope = Function::grad_with(in_chart(height), &top.zero(), &top);
/// assert_eq!(slope.run_with(&top.zero(), &top)?, tensor([0.0, 0.0]));
/// # Ok::<(), polygrad::RunError>(())
/// ```
pub fn in_chart<T: BaseTensor, P: Manifold<T>, Y>(f: impl Fn(&P) -> Y) -> impl Fn(&P::Tangent, &P) -> Y {
    move |v, p| f(&p.retract(v))
}

/// The function `f` from a manifold to a manifold, in the charts at a point and at its image:
/// `(v, p) -> f(p).local(f(p.retract(v)))`.
///
/// ```
/// use polygrad::manifold::{Manifold, Rotation, between_charts};
/// use polygrad::{Array, Tensor, jacobian_with};
/// // Twice a small turn about the identity is twice the turn.
/// let r = Rotation::<Array>::identity();
/// let j = jacobian_with(between_charts(|r: &Rotation<_>| r.then(r)), &r.zero(), &r);
/// assert!((j - Tensor::eye(3) * 2.0).abs().max_all().item() < 1e-15);
/// ```
pub fn between_charts<T: BaseTensor, P: Manifold<T>, Q: Manifold<T>>(
    f: impl Fn(&P) -> Q,
) -> impl Fn(&P::Tangent, &P) -> Q::Tangent {
    move |v, p| f(p).local(&f(&p.retract(v)))
}

/// The gradient of a scalar function on a manifold: the tangent vector whose product with any other one is the
/// derivative along it.
///
/// Example: [`Manifold`].
///
/// # Panics
/// As for [`grad`](crate::grad()).
#[track_caller]
pub fn grad<T, P, E>(f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>, x: &P) -> <P::Tangent as Tree<T>>::With<T>
where
    T: BaseTensor,
    P: Manifold<T>,
    E: Float,
    P::With<Term>: Manifold<Term, Tangent = <P::Tangent as Tree<T>>::With<Term>>,
{
    grad_with(in_chart(f), &x.zero(), x)
}

/// Value and gradient of a scalar function on a manifold.
///
/// ```
/// use polygrad::manifold::{self, Angle};
/// use polygrad::tensor;
/// let (y, slope) = manifold::value_and_grad(|a: &Angle<_>| a.radians().sin(), &Angle::new(&tensor(0.0)));
/// assert_eq!((y, slope), (tensor(0.0), tensor(1.0)));
/// ```
///
/// # Panics
/// As for [`grad`](crate::grad()).
#[track_caller]
pub fn value_and_grad<T, P, E>(
    f: impl Fn(&P::With<Term>) -> Tensor<Term, 0, E>,
    x: &P,
) -> (Tensor<T, 0, E>, <P::Tangent as Tree<T>>::With<T>)
where
    T: BaseTensor,
    P: Manifold<T>,
    E: Float,
    P::With<Term>: Manifold<Term, Tangent = <P::Tangent as Tree<T>>::With<Term>>,
{
    value_and_grad_with(in_chart(f), &x.zero(), x)
}

/// The derivative of a function between manifolds along a tangent vector: a tangent vector at the image.
///
/// Example: [`Rotation::inverse`](super::Rotation::inverse).
///
/// # Panics
/// As for [`jvp`](crate::jvp()).
#[track_caller]
pub fn jvp<T, P, Q>(f: impl Fn(&P::With<Term>) -> Q, x: &P, v: &P::Tangent) -> <Q::Tangent as Tree<Term>>::With<T>
where
    T: BaseTensor,
    P: Manifold<T>,
    Q: Manifold<Term>,
    P::With<Term>: Manifold<Term, Tangent = <P::Tangent as Tree<T>>::With<Term>>,
{
    jvp_with(between_charts(f), &x.zero(), v, x).1
}

/// The new point and state after a step of an optimizer in the tangent space: the rule runs at zero, and the point moves
/// along its step.
///
/// Moments stay in the coordinates of the tangent spaces: they are not transported between these. Rules that pull
/// parameters to zero (weight decay) have nothing to pull.
///
/// ```
/// use polygrad::manifold::{self, Angle, Manifold};
/// use polygrad::optim::{Optimizer, Sgd};
/// use polygrad::tensor;
/// let (sgd, a) = (Sgd::new(0.5), Angle::new(&tensor(1.0)));
/// let (next, state) = manifold::update(&sgd, &a, &tensor(0.4), &sgd.init(&a.zero()));
/// assert_eq!((next.radians().item(), state.count), (0.8, tensor(1.0)));
/// ```
///
/// # Panics
/// As for [`Optimizer::update`].
#[track_caller]
pub fn update<T, P, V>(optimizer: &impl Optimizer, x: &P, gradient: &V, state: &State<T, V>) -> (P, State<T, V>)
where
    T: BaseTensor,
    P: Manifold<T, Tangent = V>,
    V: Tree<T, With<T> = V>,
{
    let (step, state) = optimizer.update(&x.zero(), gradient, state);
    (x.retract(&step), state)
}
