//! The verbs of higher-order programs with data: a program from parameters and data, differentiated in the parameters.
//!
//! Law: each gives what the verb without data gives for the parameters. No cotangent of the data is computed: an operation
//! pulls back to those of its operands that the parameters reach by variables, and what goes to the data goes nowhere.

use polygrad::ad::LinearMap;
use polygrad::array::Array;
use polygrad::base::BaseTensor;
use polygrad::interpreters::Tower;
use polygrad::program::{Program, Term};
use polygrad::tensor::Tensor;
use polygrad::tree::Tree;

use super::{check_like, gradient, one, recorded, second, with_gradient, with_pullback, with_tangent};
use crate::interpreters::{CurryClosures, Forward, Lin, Run, Val};
use crate::primitive::leaves;
use crate::{Expr, Ground, Prod, Real};

/// Parameters and data, as the argument of a program.
fn argument<A: Ground, D: Ground, T: BaseTensor>(x: &A::Value<T>, data: &D::Value<T>) -> Val<Tower<T>> {
    Val::pair(Val::given::<A>(x), Val::given::<D>(data))
}

/// Value of a program and pullback to its parameters, for data that are not differentiated.
///
/// `vjp_with : (A * D -> B) -> A -> D -> (B, B -o A)`.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Matrix, Language, Prod, Vector, fun2};
/// fn layer<C: Language>() -> Expr<C, Prod<Matrix, Vector>, Vector> {
///     fun2(|w, x| w.at().matvec(x.at()))
/// }
/// let (w, x) = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([10.0, 1.0]));
/// let (y, pullback) = higher::vjp_with(layer(), &w, &x);
/// assert_eq!((y, pullback(&tensor([1.0, 0.0]))), (tensor([12.0, 34.0]), tensor([[10.0, 1.0], [0.0, 0.0]])));
/// ```
#[track_caller]
pub fn vjp_with<'a, A: Ground, D: Ground, B: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, Prod<A, D>, B>,
    x: &'a A::Value<T>,
    data: &D::Value<T>,
) -> (B::Value<T>, LinearMap<'a, B::Value<T>, A::Value<T>>) {
    with_pullback::<A, B, T>(&program.hom().at(argument::<A, D, T>(x, data)), x, Lin::run_first)
}

/// Value of a program whose result is a scalar, and its gradient in the parameters, for data that are not
/// differentiated.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Prod, Real, Vector, fun2, lam2};
/// /// The sum of squares that a line through zero misses.
/// fn loss<C: Arrays>() -> Expr<C, Prod<Real, Prod<Vector, Vector>>, Real> {
///     fun2(|slope, data| {
///         let missed = data.at().map(lam2(|x, y| slope.at() * x.at() - y.at()));
///         missed.map(higher::lam(|m| m.at() * m.at())).sum()
///     })
/// }
/// let data = (tensor([1.0, 2.0]), tensor([3.0, 5.0]));
/// assert_eq!(higher::value_and_grad_with(loss(), &tensor(2.0), &data), (tensor(2.0), tensor(-6.0)));
/// ```
#[track_caller]
pub fn value_and_grad_with<A: Ground, D: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, Prod<A, D>, Real>,
    x: &A::Value<T>,
    data: &D::Value<T>,
) -> (Tensor<T, 0>, A::Value<T>) {
    with_gradient::<A, T>(&program.hom().at(argument::<A, D, T>(x, data)), x, Lin::run_first)
}

/// Gradient of a program whose result is a scalar in its parameters, for data that are not differentiated.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2};
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, c| x.at() * x.at() * c.at())
/// }
/// let (x, x_dot, c) = (tensor(3.0), tensor(1.0), tensor(5.0));
/// assert_eq!(higher::grad_with(program(), &x, &c), tensor(30.0));
/// assert_eq!(higher::jvp_with(program(), &x, &x_dot, &c), (tensor(45.0), tensor(30.0)));
/// assert_eq!(higher::hvp_with(program(), &x, &x_dot, &c), (tensor(30.0), tensor(10.0)));
/// ```
#[track_caller]
pub fn grad_with<A: Ground, D: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, Prod<A, D>, Real>,
    x: &A::Value<T>,
    data: &D::Value<T>,
) -> A::Value<T> {
    value_and_grad_with(program, x, data).1
}

/// The value of a program and its derivative along `x_dot` in the parameters, by forward CHAD, for data that are not
/// differentiated: their tangents are symbolic zeros.
///
/// Example: [`grad_with`].
///
/// # Panics
/// When a leaf of `x_dot` differs in shape or element type from that of `x`.
#[track_caller]
pub fn jvp_with<A: Ground, D: Ground, B: Ground, T: BaseTensor>(
    program: Expr<Forward<Run<T>>, Prod<A, D>, B>,
    x: &A::Value<T>,
    x_dot: &A::Value<T>,
    data: &D::Value<T>,
) -> (B::Value<T>, B::Value<T>) {
    if let Err(message) = check_like("jvp", "tangent", &x.leaves(), &x_dot.leaves()) {
        panic!("{message}");
    }
    let along = Val::pair(Val::given::<A>(x_dot), Val::Zero);
    with_tangent::<B, T>(&program.hom().at(argument::<A, D, T>(x, data)), along)
}

/// The gradient of a program whose result is a scalar in its parameters, and the Hessian in them times `v`, for data that
/// are not differentiated.
///
/// Example: [`grad_with`].
///
/// # Panics
/// When a leaf of `v` differs in shape or element type from that of `x`.
#[track_caller]
pub fn hvp_with<A: Ground, D: Ground, T: BaseTensor>(
    program: Expr<CurryClosures<T>, Prod<A, D>, Real>,
    x: &A::Value<T>,
    v: &A::Value<T>,
    data: &D::Value<T>,
) -> (A::Value<T>, A::Value<T>) {
    if let Err(message) = check_like("hvp", "direction", &x.leaves(), &v.leaves()) {
        panic!("{message}");
    }
    let data = Val::given::<D>(data);
    second::<A, T>(x, v, |x| program.hom().at(Val::pair(x, data)).snd().lin().run_first(one()))
}

/// The first-order program of the value and the gradient in the parameters, for parameters and data with these shapes.
/// Its inputs are the leaves of both, its results the value and the leaves of the gradient.
///
/// ```
/// use polygrad::backend::compile;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2};
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, c| x.at() * x.at() * c.at())
/// }
/// let staged = higher::stage_grad_with(program(), &tensor(0.0), &tensor(0.0));
/// assert_eq!(compile(&staged).run(&[3.0, 5.0].map(Array::scalar)), [45.0, 30.0].map(Array::scalar));
/// ```
///
/// # Panics
/// Like [`stage_grad`](super::stage_grad).
#[track_caller]
pub fn stage_grad_with<A: Ground, D: Ground>(
    program: Expr<Run<Term>, Prod<A, D>, Real>,
    like: &A::Value<Array>,
    data: &D::Value<Array>,
) -> Program {
    let both = <Prod<A, D>>::read(&mut like.leaves().into_iter().chain(data.leaves()));
    gradient(&recorded(program, &both), leaves(&A::layout()), like)
}
