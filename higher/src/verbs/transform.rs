//! Derivatives of higher-order programs as programs, which are generic in the instance again: verbs compose.
//!
//! The argument is the program at [`InReverse<T>`] or [`InForward<T>`], the result is a program of the target `T`. With
//! `T` an instance of evaluation, the derivative has a value; with `Syntax`, a text; with a transformation of a target,
//! a derivative.
//!
//! ```
//! use polygrad::tensor;
//! use polygrad_higher::interpreters::Syntax;
//! use polygrad_higher::transform::{InReverse, gradient};
//! use polygrad_higher::{self as higher, Expr, Language, Real, Target, fun1};
//!
//! fn cube<C: Language>() -> Expr<C, Real, Real> {
//!     fun1(|x| x.at() * x.at() * x.at())
//! }
//! fn first<T: Target>() -> Expr<T, Real, Real> {
//!     gradient(cube::<InReverse<T>>())
//! }
//! fn second<T: Target>() -> Expr<T, Real, Real> {
//!     gradient(first::<InReverse<T>>())
//! }
//! assert_eq!(higher::run(first(), &tensor(2.0)), tensor(12.0));
//! assert_eq!(higher::run(second(), &tensor(2.0)), tensor(12.0));
//! // Each step of the derivative is in the text.
//! assert_eq!(first::<Syntax>().hom().term().simplify().to_string(), "\\x ->\n  x * x + x * x + x * x");
//! ```

use crate::interpreters::chad::{Backwards, Derivatives, Forwards};
use crate::interpreters::{Erased, Forward, Reverse};
use crate::linear::{P1, P2};
use crate::primitive::{ZeroTangent, kinds};
use crate::{Expr, Ground, Obj, Prod, Real, Target, num};

type Back = Backwards<Derivatives>;

/// The instance at which a program is differentiated in reverse mode, to a program of the target `T`.
///
/// Example: [`gradient`].
pub type InReverse<T> = Erased<Reverse<T>>;

/// The instance at which a program is differentiated in forward mode, to a program of the target `T`.
///
/// Example: [`pushforward`].
pub type InForward<T> = Erased<Forward<T>>;

/// A (co)tangent of the value of `x`, with explicit zeros of the shapes of `x`. A symbolic zero has the shape of any
/// number, so numbers need none.
fn with_zeros<T: Target, G: Obj, A: Ground, X: Obj, V: Obj>(x: T::Hom<G, X>, v: T::Hom<G, V>) -> T::Hom<G, V> {
    if kinds(&A::layout()).iter().all(|(rank, dtype)| *rank == 0 || !dtype.is_float()) {
        return v;
    }
    T::plus(v, T::then(x, T::primal(ZeroTangent::<A>::new())))
}

/// The program of the pullback of a program, by reverse CHAD.
///
/// `pullback : (A -> B) -> ((x, y_bar) -> J(x)^T y_bar)`. The types of the result are those of `A` and `B`, where
/// integers and masks have the cotangent of the unit type.
///
/// Source: "CHAD", section 7.5.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::transform::{InReverse, pullback};
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Target, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// /// `(x, y_bar) -> 2 x y_bar`.
/// fn pulled<T: Target>() -> Expr<T, Prod<Real, Real>, Real> {
///     pullback(square::<InReverse<T>>())
/// }
/// assert_eq!(higher::run(pulled(), &(tensor(3.0), tensor(10.0))), tensor(60.0));
/// ```
pub fn pullback<T: Target, A: Ground, B: Ground>(
    program: Expr<InReverse<T>, A, B>,
) -> Expr<T, Prod<P1<A, Back>, P2<B, Back>>, P2<A, Back>> {
    let pulled = T::lapp(T::then(T::then(T::fst(), Erased::typed(program).hom()), T::snd()), T::snd());
    Expr::of(with_zeros::<T, _, A, P1<A, Back>, _>(T::fst(), pulled))
}

/// The program of the gradient of a program whose result is a number, by reverse CHAD.
///
/// `gradient : (A -> R) -> (x -> df/dx)`.
///
/// Source: "CHAD", section 7.5.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::transform::{InReverse, gradient};
/// use polygrad_higher::{self as higher, Expr, Language, Real, Target, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// fn slope<T: Target>() -> Expr<T, Real, Real> {
///     gradient(square::<InReverse<T>>())
/// }
/// assert_eq!(higher::run(slope(), &tensor(3.0)), tensor(6.0));
/// ```
pub fn gradient<T: Target, A: Ground>(program: Expr<InReverse<T>, A, Real>) -> Expr<T, P1<A, Back>, P2<A, Back>> {
    let at_one = T::pair(T::id(), num::<T, _>(1.0).hom());
    Expr::of(T::then(at_one, pullback(program).hom()))
}

/// The program of the directional derivative of a program, by forward CHAD.
///
/// `pushforward : (A -> B) -> ((x, x_dot) -> J(x) x_dot)`. The types of the result are those of `A` and `B`, where
/// integers and masks have the tangent of the unit type.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::transform::{InForward, InReverse, gradient, pushforward};
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Target, fun1};
/// fn sine<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at().sin())
/// }
/// /// `(x, v) -> -sin(x) v`: forward over reverse mode.
/// fn curvature<T: Target>() -> Expr<T, Prod<Real, Real>, Real> {
///     pushforward(gradient(sine::<InReverse<InForward<T>>>()))
/// }
/// let at = (tensor(0.5), tensor(2.0));
/// assert_eq!(higher::run(curvature(), &at), tensor(-2.0 * 0.5_f64.sin()));
/// ```
///
/// Source: "CHAD", section 7.4.
pub fn pushforward<T: Target, A: Ground, B: Ground>(
    program: Expr<InForward<T>, A, B>,
) -> Expr<T, Prod<P1<A, Forwards>, P2<A, Forwards>>, P2<B, Forwards>> {
    let ran = T::then(T::fst(), Erased::typed(program).hom());
    let pushed = T::lapp(T::then(T::snd(), T::snd()), T::then(T::fst(), T::snd()));
    let value = T::then(T::snd(), T::fst());
    Expr::of(T::bind(ran, with_zeros::<T, _, B, P1<B, Forwards>, _>(value, pushed)))
}
