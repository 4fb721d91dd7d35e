//! Derivatives of the functions of a program, as terms of the language.
//!
//! "The Differentiable Curry", section 6.1, leaves open how `vjp` becomes a term. Here it is one: a function value has a
//! derivative, which is a function value, so that `\f. grad f` is a program, a solver may take a residual and ask for its
//! derivative, and a program may learn by gradients of a model that it takes as an argument. Terms nest to any order, and
//! a program with such terms has derivatives itself.
//!
//! Laws: `vjp` and `jvp` are transposes of each other. Only the argument varies: what a function captures is a constant of
//! the derivative, and derivatives of two terms never mix, whatever functions capture (`tests/higher/nested.rs`).

use std::panic::Location;

use super::category::{Arrays, Ccc};
use super::expr::Expr;
use super::object::{Fun, Ground, Obj, Prod, Real};
use super::operators::num;

/// A language in which the functions of ground types have derivatives.
///
/// Evaluation, differentiable curry, CHAD over evaluation, and text are instances. A transformation of a transformation
/// is not an instance, since a target would need terms for the derivatives of its linear functions; but a derivative of
/// a term is a term, so nested terms take its place.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Differential, Expr, Real, fun1, lam};
/// /// The derivative of the sine, as a term.
/// fn slope<C: Differential>() -> Expr<C, Real, Real> {
///     fun1(|x| lam(|z| z.at().sin()).grad().app(x.at()))
/// }
/// assert_eq!(higher::run(slope(), &tensor(0.5)), tensor(0.5_f64.cos()));
/// ```
pub trait Differential: Arrays {
    /// `(f, x) -> (f x, y_bar -> J f(x)^T y_bar)`.
    ///
    /// Example: [`Expr::vjp`].
    ///
    /// # Panics
    /// When a program runs in which the cotangent differs in shape from the value.
    fn vjp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>>;

    /// `(f, (x, x_dot)) -> (f x, J f(x) x_dot)`.
    ///
    /// Example: [`Expr::jvp`].
    ///
    /// # Panics
    /// When a program runs in which the tangent differs in shape from the point.
    fn jvp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>>;
}

/// The function of an argument, where a morphism takes a function of the context and the argument.
fn of_argument<C: Ccc, G: Obj, F: Obj, A: Obj, B: Obj>(
    f: C::Hom<G, F>,
    both: C::Hom<Prod<F, A>, B>,
) -> C::Hom<G, Fun<A, B>> {
    C::curry(C::then(C::pair(C::then(C::fst(), f), C::snd()), both))
}

impl<C: Differential, G: Obj, A: Ground, B: Ground> Expr<C, G, Fun<A, B>> {
    /// The value and the pullback of a function: `vjp : (A -> B) -> (A -> B x (B' -> A'))`, where `A'` are the cotangents
    /// of `A`: those of integers and masks are of the unit type.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Differential, Prod, Real, fun2, lam, let_};
    /// /// The value and the derivative of `\z. x z^2` at `y`, and their product.
    /// fn program<C: Differential>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     fun2(|x, y| {
    ///         let_(lam(|z| x.at() * z.at() * z.at()).vjp().app(y.at()), |both| {
    ///             both.at().fst() * both.at().snd().app(higher::num(1.0))
    ///         })
    ///     })
    /// }
    /// // x y^2 * 2 x y = 2 x^2 y^3, which has derivatives itself.
    /// let x = (tensor(3.0), tensor(2.0));
    /// assert_eq!(higher::run(program(), &x), tensor(144.0));
    /// assert_eq!(higher::grad(program(), &x), (tensor(96.0), tensor(216.0)));
    /// ```
    #[track_caller]
    pub fn vjp(self) -> Expr<C, G, Fun<A, Prod<B, Fun<B::Tangent, A::Tangent>>>> {
        let Expr { hom: f, used } = self;
        Expr { hom: of_argument::<C, _, _, _, _>(f, C::written(C::vjp::<A, B>(), Location::caller())), used }
    }

    /// The value of a function and its derivative along a tangent: `jvp : (A -> B) -> (A x A' -> B x B')`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Differential, Real, fun1, lam, num, tup};
    /// /// The derivative of the sine.
    /// fn program<C: Differential>() -> Expr<C, Real, Real> {
    ///     fun1(|x| lam(|z| z.at().sin()).jvp().app(tup(x.at(), num(1.0))).snd())
    /// }
    /// assert_eq!(higher::run(program(), &tensor(0.5)), tensor(0.5_f64.cos()));
    /// ```
    #[track_caller]
    pub fn jvp(self) -> Expr<C, G, Fun<Prod<A, A::Tangent>, Prod<B, B::Tangent>>> {
        let Expr { hom: f, used } = self;
        Expr { hom: of_argument::<C, _, _, _, _>(f, C::written(C::jvp::<A, B>(), Location::caller())), used }
    }
}

impl<C: Differential, G: Obj, A: Ground> Expr<C, G, Fun<A, Real>> {
    /// The gradient of a function whose result is a number: `grad : (A -> R) -> (A -> A')`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Differential, Fun, Real, fun1, lam, let_};
    /// /// `let second = \f. grad (grad f) in second (\z. z * z * z) x`.
    /// fn program<C: Differential>() -> Expr<C, Real, Real> {
    ///     fun1(|x| {
    ///         let_(lam::<C, _, Fun<Real, Real>, _>(|f| f.at().grad().grad()), |second| {
    ///             second.at().app(lam(|z| z.at() * z.at() * z.at())).app(x.at())
    ///         })
    ///     })
    /// }
    /// assert_eq!(higher::run(program(), &tensor(2.0)), tensor(12.0));
    /// assert_eq!(higher::grad(program(), &tensor(2.0)), tensor(6.0));
    /// ```
    #[track_caller]
    pub fn grad(self) -> Expr<C, G, Fun<A, A::Tangent>> {
        let pulled = C::then(C::written(C::vjp::<A, Real>(), Location::caller()), C::snd());
        let at_one = C::then(C::pair(pulled, num::<C, _>(1.0).hom()), C::eval());
        let Expr { hom: f, used } = self;
        Expr { hom: of_argument::<C, _, _, _, _>(f, at_one), used }
    }
}
