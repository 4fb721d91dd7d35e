//! The user's syntax: closures over typed variables.
//!
//! An [`Expr<C, G, A>`] is a program of type `A` in a context `G`, at the instance `C`. A variable ([`Var`]) is used by
//! [`at`](Var::at), which weakens it to the context it is used in. Law: the syntax is "The Differentiable Curry",
//! Fig. 1: `lam` is `curry`, `app` is `eval` of a pair, a variable is a projection. So a variable out of scope and a
//! type error are errors of rustc.
//!
//! ```
//! use polygrad::higher::{Expr, Language, Prod, Real, fun2, lam, let_};
//! use polygrad::{higher, tensor};
//!
//! /// `let f = \z. x * z in f (f y)`.
//! fn twice<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
//!     fun2(|x, y| let_(lam(|z| x.at() * z.at()), |f| f.at().app(f.at().app(y.at()))))
//! }
//! let (value, gradient) = higher::value_and_grad(twice(), &(tensor(3.0), tensor(2.0)));
//! assert_eq!((value, gradient), (tensor(18.0), (tensor(12.0), tensor(9.0))));
//! ```
//!
//! A variable cannot leave its scope:
//!
//! ```compile_fail,E0277
//! use polygrad::higher::{Expr, Language, Real, fun1, lam, let_};
//! fn escapes<C: Language>() -> Expr<C, Real, Real> {
//!     let mut hidden = None;
//!     fun1(|x| {
//!         let f = lam(|z| { hidden = Some(z); z.at() * x.at() });
//!         f.app(hidden.unwrap().at())
//!     })
//! }
//! ```
//!
//! A function is no number:
//!
//! ```compile_fail,E0308
//! use polygrad::higher::{Expr, Language, Real, fun1, lam};
//! fn wrong<C: Language>() -> Expr<C, Real, Real> {
//!     fun1(|x| lam(|z| x.at() * z.at()))
//! }
//! ```

use std::marker::PhantomData;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;

use super::category::{Arrays, Ccc, Language};
use super::object::{Arr, Fun, Int, Knot, Mask, Mu, Obj, Prod, Real, Rows, Signature, Stack, Sum, Unit};
use super::primitive::{
    Comparison, Constant, Gather, Iota, MatVec, Pointwise, Pointwise2, Primitive, Replicate, ScatterAdd, SumAll,
    ToFloat,
};
use crate::array::Array;
use crate::ops::{Binary, Compare, Unary};

/// A program of type `A` in a context `G`: a morphism of the instance `C`.
pub struct Expr<C: Ccc, G: Obj, A: Obj>(pub(crate) C::Hom<G, A>);

impl<C: Ccc, G: Obj, A: Obj> Clone for Expr<C, G, A> {
    fn clone(&self) -> Self {
        Expr(self.0.clone())
    }
}

/// A variable of type `A` that was bound in the context `G`.
pub struct Var<G, A>(PhantomData<(G, A)>);

impl<G, A> Clone for Var<G, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G, A> Copy for Var<G, A> {}

/// The context itself.
pub struct Here;

/// One variable further out.
pub struct There<I>(PhantomData<I>);

/// A context with the variables of the context `G`, and as many more as the index `I` counts.
#[diagnostic::on_unimplemented(
    message = "a variable is used outside of its scope",
    label = "the context here does not contain the variable",
    note = "a variable may be used only inside the closure that binds it"
)]
pub trait Extends<G, I>: Obj + Sized {
    /// The projection to `G`.
    fn project<C: Ccc>() -> C::Hom<Self, G>
    where
        G: Obj;
}

impl<G: Obj> Extends<G, Here> for G {
    fn project<C: Ccc>() -> C::Hom<G, G> {
        C::id()
    }
}

impl<G: Obj, H: Extends<G, I>, B: Obj, I> Extends<G, There<I>> for Prod<H, B> {
    fn project<C: Ccc>() -> C::Hom<Self, G> {
        C::then(C::fst(), H::project::<C>())
    }
}

impl<G: Obj, A: Obj> Var<G, A> {
    /// The variable, in the context in which it is used.
    pub fn at<C: Ccc, H: Extends<Prod<G, A>, I>, I>(self) -> Expr<C, H, A> {
        Expr(C::then(H::project::<C>(), C::snd()))
    }
}

/// `let x = value in body`.
pub fn let_<C: Ccc, G: Obj, A: Obj, B: Obj>(
    value: Expr<C, G, A>,
    body: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, B>,
) -> Expr<C, G, B> {
    Expr(C::bind(value.0, body(Var(PhantomData)).0))
}

/// The function `x -> body`.
pub fn lam<C: Ccc, G: Obj, A: Obj, B: Obj>(
    body: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, B>,
) -> Expr<C, G, Fun<A, B>> {
    Expr(C::curry(body(Var(PhantomData)).0))
}

/// A program with one input.
pub fn fun1<C: Ccc, A: Obj, B: Obj>(body: impl FnOnce(Var<Unit, A>) -> Expr<C, Prod<Unit, A>, B>) -> Expr<C, A, B> {
    let body = body(Var(PhantomData));
    Expr(C::then(C::pair(C::unit(), C::id()), body.0))
}

/// The context of two variables.
pub type Two<A, B> = Prod<Prod<Unit, A>, B>;
/// The context of three variables.
pub type Three<A, B, C> = Prod<Two<A, B>, C>;
/// The context of four variables.
pub type Four<A, B, C, D> = Prod<Three<A, B, C>, D>;

/// A program with two inputs.
pub fn fun2<C: Ccc, A: Obj, B: Obj, R: Obj>(
    body: impl FnOnce(Var<Unit, A>, Var<Prod<Unit, A>, B>) -> Expr<C, Two<A, B>, R>,
) -> Expr<C, Prod<A, B>, R> {
    let body = body(Var(PhantomData), Var(PhantomData));
    let first = C::pair(C::unit(), C::fst());
    Expr(C::then(C::pair(first, C::snd()), body.0))
}

/// A program with three inputs: `((x, y), z)`.
pub fn fun3<C: Ccc, A1: Obj, A2: Obj, A3: Obj, R: Obj>(
    body: impl FnOnce(Var<Unit, A1>, Var<Prod<Unit, A1>, A2>, Var<Two<A1, A2>, A3>) -> Expr<C, Three<A1, A2, A3>, R>,
) -> Expr<C, Prod<Prod<A1, A2>, A3>, R> {
    let body = body(Var(PhantomData), Var(PhantomData), Var(PhantomData));
    let first = C::pair(C::unit(), C::then(C::fst(), C::fst()));
    let two = C::pair(first, C::then(C::fst(), C::snd()));
    Expr(C::then(C::pair(two, C::snd()), body.0))
}

/// A program with four inputs: `(((x, y), z), w)`.
pub fn fun4<C: Ccc, A1: Obj, A2: Obj, A3: Obj, A4: Obj, R: Obj>(
    body: impl FnOnce(
        Var<Unit, A1>,
        Var<Prod<Unit, A1>, A2>,
        Var<Two<A1, A2>, A3>,
        Var<Three<A1, A2, A3>, A4>,
    ) -> Expr<C, Four<A1, A2, A3, A4>, R>,
) -> Expr<C, Prod<Prod<Prod<A1, A2>, A3>, A4>, R> {
    let body = body(Var(PhantomData), Var(PhantomData), Var(PhantomData), Var(PhantomData));
    let outer = || C::then(C::fst(), C::fst());
    let first = C::pair(C::unit(), C::then(outer(), C::fst()));
    let two = C::pair(first, C::then(outer(), C::snd()));
    let three = C::pair(two, C::then(C::fst(), C::snd()));
    Expr(C::then(C::pair(three, C::snd()), body.0))
}

/// A pair.
pub fn tup<C: Ccc, G: Obj, A: Obj, B: Obj>(a: Expr<C, G, A>, b: Expr<C, G, B>) -> Expr<C, G, Prod<A, B>> {
    Expr(C::pair(a.0, b.0))
}

/// The left case of a sum.
pub fn inl<C: Language, G: Obj, A: Obj, B: Obj>(a: Expr<C, G, A>) -> Expr<C, G, Sum<A, B>> {
    Expr(C::then(a.0, C::inl()))
}

/// The right case of a sum.
pub fn inr<C: Language, G: Obj, A: Obj, B: Obj>(b: Expr<C, G, B>) -> Expr<C, G, Sum<A, B>> {
    Expr(C::then(b.0, C::inr()))
}

/// One program for each case of a sum.
pub fn case<C: Language, G: Obj, A: Obj, B: Obj, R: Obj>(
    sum: Expr<C, G, Sum<A, B>>,
    left: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, R>,
    right: impl FnOnce(Var<G, B>) -> Expr<C, Prod<G, B>, R>,
) -> Expr<C, G, R> {
    let branches = C::case(left(Var(PhantomData)).0, right(Var(PhantomData)).0);
    Expr(C::then(C::pair(C::id(), sum.0), branches))
}

/// The first program if the mask holds, otherwise the second.
#[track_caller]
pub fn if_<C: Language, G: Obj, R: Obj>(
    mask: Expr<C, G, Mask>,
    then: impl FnOnce() -> Expr<C, Prod<G, Unit>, R>,
    otherwise: impl FnOnce() -> Expr<C, Prod<G, Unit>, R>,
) -> Expr<C, G, R> {
    case(Expr(C::then(mask.0, C::test())), |_| then(), |_| otherwise())
}

/// Repeats a step from an initial state until its result is the right case.
#[track_caller]
pub fn iterate<C: Language, G: Obj, S: Obj, R: Obj>(
    start: Expr<C, G, S>,
    step: impl FnOnce(Var<G, S>) -> Expr<C, Prod<G, S>, Sum<S, R>>,
) -> Expr<C, G, R> {
    let steps = C::iterate(step(Var(PhantomData)).0);
    Expr(C::then(C::pair(C::id(), start.0), C::written(steps, Location::caller())))
}

/// The value of a recursive type with these parts.
///
/// ```
/// use polygrad::higher::{Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Sum, Unit, case, fix, fun2, inl, inr, lam, let_, num, roll, tup, unroll};
/// use polygrad::{higher, tensor};
/// /// A list is empty, or a number and a list.
/// struct Numbers;
/// impl Signature for Numbers {
///     type Of<X: Obj> = Sum<Unit, Prod<Real, X>>;
/// }
/// type List = Mu<Numbers>;
/// fn empty<C: Language, G: Obj>() -> Expr<C, G, List> {
///     roll(inl(Expr::of(C::unit())))
/// }
/// fn with<C: Language, G: Obj>(x: Expr<C, G, Real>, rest: Expr<C, G, List>) -> Expr<C, G, List> {
///     roll(inr(tup(x, rest)))
/// }
/// /// The product of the numbers in a list.
/// fn product<C: Language, G: Obj>() -> Expr<C, G, Fun<List, Real>> {
///     fix(|own, list| case(unroll(list.at()), |_| num(1.0), |p| p.at().fst() * own.at().app(p.at().snd())))
/// }
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| product().app(with(x.at(), with(y.at(), with(y.at(), empty())))))
/// }
/// let x = (tensor(2.0), tensor(3.0));
/// assert_eq!(higher::value_and_grad(program(), &x), (tensor(18.0), (tensor(9.0), tensor(12.0))));
/// ```
#[track_caller]
pub fn roll<C: Language, G: Obj, S: Signature>(parts: Expr<C, G, S::Of<Mu<S>>>) -> Expr<C, G, Mu<S>> {
    Expr(C::then(parts.0, C::written(C::roll::<Knot<S>>(), Location::caller())))
}

/// The parts of a value of a recursive type.
pub fn unroll<C: Language, G: Obj, S: Signature>(value: Expr<C, G, Mu<S>>) -> Expr<C, G, S::Of<Mu<S>>> {
    Expr(C::then(value.0, C::unroll::<Knot<S>>()))
}

/// The function `x -> body` in which `f` is the function itself.
#[track_caller]
pub fn fix<C: Language, G: Obj, A: Obj, B: Obj>(
    body: impl FnOnce(Var<G, Fun<A, B>>, Var<Prod<G, Fun<A, B>>, A>) -> Expr<C, Prod<Prod<G, Fun<A, B>>, A>, B>,
) -> Expr<C, G, Fun<A, B>> {
    let function = C::written(C::fix(body(Var(PhantomData), Var(PhantomData)).0), Location::caller());
    Expr(function)
}

/// Applies a function to every element along the outermost axis.
#[track_caller]
pub fn map<C: Arrays, G: Obj, A: Stack, B: Stack>(
    f: Expr<C, G, Fun<A, B>>,
    xs: Expr<C, G, A::Stacked>,
) -> Expr<C, G, B::Stacked> {
    Expr(C::then(C::pair(f.0, xs.0), C::written(C::map::<A, B>(), Location::caller())))
}

/// The final state of a left fold over all elements.
#[track_caller]
pub fn fold<C: Arrays, G: Obj, S: Stack, A: Stack>(
    f: Expr<C, G, Fun<Prod<S, A>, S>>,
    start: Expr<C, G, S>,
    xs: Expr<C, G, A::Stacked>,
) -> Expr<C, G, S> {
    Expr(C::then(C::pair(f.0, C::pair(start.0, xs.0)), C::written(C::fold::<S, A>(), Location::caller())))
}

/// Applies a function to `0, 1, .., n - 1`.
#[track_caller]
pub fn build<C: Arrays, G: Obj, B: Stack>(n: usize, f: Expr<C, G, Fun<Int, B>>) -> Expr<C, G, B::Stacked> {
    Expr(C::then(f.0, C::build::<B>(n)))
}

/// The number of elements for which the predicate holds, and these elements in order.
///
/// Shapes do not depend on values, so the array keeps its length, and is padded with zeros. The derivative moves each
/// (co)tangent with its element; the predicate has no derivative.
///
/// ```
/// use polygrad::higher::{Arrays, Expr, Prod, Real, Vector, filter, fun2, lam};
/// use polygrad::{higher, tensor};
/// fn smaller<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Vector> {
///     fun2(|xs, limit| filter::<_, _, Real>(lam(|x| x.at().less(limit.at())), xs.at()).snd())
/// }
/// let x = (tensor([3.0, 9.0, 1.0, 5.0]), tensor(4.0));
/// let (kept, pullback) = higher::vjp(smaller(), &x);
/// assert_eq!(kept, tensor([3.0, 1.0, 0.0, 0.0]));
/// assert_eq!(pullback(&tensor([10.0, 20.0, 30.0, 40.0])).0, tensor([10.0, 0.0, 20.0, 0.0]));
/// ```
#[track_caller]
pub fn filter<C: Arrays, G: Obj, A: Stack>(
    holds: Expr<C, G, Fun<A, Mask>>,
    xs: Expr<C, G, A::Stacked>,
) -> Expr<C, G, Prod<Int, A::Stacked>> {
    Expr(C::then(C::pair(holds.0, xs.0), C::written(C::filter::<A>(), Location::caller())))
}

/// The elements for which the predicate holds, at their positions, and another value at the other positions.
///
/// ```
/// use polygrad::higher::{Arrays, Expr, Real, Vector, fun1, keep, lam, num};
/// use polygrad::{higher, tensor};
/// fn positive<C: Arrays>() -> Expr<C, Vector, Vector> {
///     fun1(|xs| keep::<_, _, Real>(lam(|x| num(0.0).less(x.at())), xs.at(), num(0.0)))
/// }
/// assert_eq!(higher::run(positive(), &tensor([3.0, -1.0, 2.0])), tensor([3.0, 0.0, 2.0]));
/// ```
#[track_caller]
pub fn keep<C: Arrays, G: Obj, A: Stack>(
    holds: Expr<C, G, Fun<A, Mask>>,
    xs: Expr<C, G, A::Stacked>,
    otherwise: Expr<C, G, A>,
) -> Expr<C, G, A::Stacked> {
    let kept = fun3(|holds: Var<_, Fun<A, Mask>>, other: Var<_, A>, xs: Var<_, A::Stacked>| {
        map::<C, _, A, A>(lam(|x| if_(holds.at().app(x.at()), || x.at(), || other.at())), xs.at())
    });
    Expr(C::then(C::pair(C::pair(holds.0, otherwise.0), xs.0), kept.0))
}

/// The carry of [`iterate_within`]: whether a step has ended the iteration, the state, and the result.
type Within<S, R> = Prod<Mask, Prod<S, R>>;

/// Repeats a step from an initial state until its result is the right case, at most `n` times; `otherwise` if no step
/// gives the right case.
///
/// All `n` steps are one loop, so its end may depend on a condition that is not known while a program is traced, and
/// gradients can be recorded, too: after the end, a step changes nothing.
///
/// ```
/// use polygrad::higher::{Arrays, Expr, Real, fun1, if_, inl, inr, iterate_within, num};
/// use polygrad::program::interpret;
/// use polygrad::{Array, higher, tensor};
/// /// Doubles until the number is not less than 100.
/// fn grown<C: Arrays>() -> Expr<C, Real, Real> {
///     fun1(|x| {
///         iterate_within(20, x.at(), num(0.0), |s| {
///             if_(s.at().less(num(100.0)), || inl(s.at() * 2.0), || inr(s.at()))
///         })
///     })
/// }
/// assert_eq!(higher::value_and_grad(grown(), &tensor(3.0)), (tensor(192.0), tensor(64.0)));
/// let staged = higher::stage_grad(grown(), &tensor(0.0));
/// assert_eq!(interpret(&staged, vec![Array::scalar(7.0)]), [Array::scalar(112.0), Array::scalar(16.0)]);
/// ```
#[track_caller]
pub fn iterate_within<C: Arrays, G: Obj, S: Stack, R: Stack>(
    n: usize,
    start: Expr<C, G, S>,
    otherwise: Expr<C, G, R>,
    step: impl FnOnce(Var<G, S>) -> Expr<C, Prod<G, S>, Sum<S, R>>,
) -> Expr<C, G, R> {
    let step = step(Var(PhantomData)).0;
    let advance = lam(|both: Var<G, Prod<Within<S, R>, Int>>| {
        let ended = both.at().fst().fst();
        if_(
            ended,
            || both.at().fst(),
            || {
                let state: Expr<C, Prod<Prod<G, Prod<Within<S, R>, Int>>, Unit>, S> = both.at().fst().snd().fst();
                let stepped = Expr(C::then(C::pair(C::then(C::fst(), C::fst()), state.0), step));
                case(
                    stepped,
                    |next| tup(truth(false), tup(next.at(), both.at().fst().snd().snd())),
                    |result| tup(truth(true), tup(both.at().fst().snd().fst(), result.at())),
                )
            },
        )
    });
    let start = tup(truth(false), tup(start, otherwise));
    let counts = Expr(C::then(C::unit(), C::prim(Iota(n))));
    fold::<C, G, Within<S, R>, Int>(advance, start, counts).snd().snd()
}

/// A constant truth value.
fn truth<C: Language, G: Obj>(b: bool) -> Expr<C, G, Mask> {
    Expr(C::then(C::unit(), C::prim(Constant::<0, bool>::new(Array::scalar(b)))))
}

/// Applies a primitive operation.
#[track_caller]
pub fn apply<C: Language, G: Obj, P: Primitive>(p: P, x: Expr<C, G, P::Dom>) -> Expr<C, G, P::Cod> {
    Expr(C::then(x.0, C::written(C::prim(p), Location::caller())))
}

/// A constant number.
pub fn num<C: Language, G: Obj>(x: f64) -> Expr<C, G, Real> {
    Expr(C::then(C::unit(), C::prim(Constant::<0>::new(Array::scalar(x)))))
}

/// A constant array.
#[track_caller]
pub fn constant<C: Language, G: Obj, const D: usize>(x: Array) -> Expr<C, G, Arr<D>> {
    Expr(C::then(C::unit(), C::prim(Constant::<D>::new(x))))
}

impl<C: Ccc, G: Obj, A: Obj> Expr<C, G, A> {
    /// The expression of a morphism.
    pub fn of(hom: C::Hom<G, A>) -> Self {
        Expr(hom)
    }

    /// The morphism of the expression.
    pub fn hom(self) -> C::Hom<G, A> {
        self.0
    }
}

impl<C: Ccc, G: Obj, A: Obj, B: Obj> Expr<C, G, Prod<A, B>> {
    /// The first component.
    pub fn fst(self) -> Expr<C, G, A> {
        Expr(C::then(self.0, C::fst()))
    }

    /// The second component.
    pub fn snd(self) -> Expr<C, G, B> {
        Expr(C::then(self.0, C::snd()))
    }
}

impl<C: Ccc, G: Obj, A: Obj, B: Obj> Expr<C, G, Fun<A, B>> {
    /// Applies the function.
    pub fn app(self, x: Expr<C, G, A>) -> Expr<C, G, B> {
        Expr(C::then(C::pair(self.0, x.0), C::eval()))
    }
}

/// Loops over arrays, whose type determines the type of the elements.
impl<C: Arrays, G: Obj, X: Rows> Expr<C, G, X> {
    /// Applies a function to every element along the outermost axis.
    #[track_caller]
    pub fn map<B: Stack>(self, f: Expr<C, G, Fun<X::Row, B>>) -> Expr<C, G, B::Stacked> {
        map::<C, G, X::Row, B>(f, self)
    }

    /// Applies a function to each pair of elements at one position.
    #[track_caller]
    pub fn zip_with<Y: Rows, B: Stack>(
        self,
        ys: Expr<C, G, Y>,
        f: Expr<C, G, Fun<Prod<X::Row, Y::Row>, B>>,
    ) -> Expr<C, G, B::Stacked> {
        map::<C, G, Prod<X::Row, Y::Row>, B>(f, tup(self, ys))
    }

    /// The elements for which the predicate holds, as [`filter`].
    #[track_caller]
    pub fn filter(self, holds: Expr<C, G, Fun<X::Row, Mask>>) -> Expr<C, G, Prod<Int, X>> {
        filter::<C, G, X::Row>(holds, self)
    }

    /// The elements for which the predicate holds, at their positions, as [`keep`].
    #[track_caller]
    pub fn keep(self, holds: Expr<C, G, Fun<X::Row, Mask>>, otherwise: Expr<C, G, X::Row>) -> Self {
        keep::<C, G, X::Row>(holds, self, otherwise)
    }

    /// The final state of a left fold over all elements.
    #[track_caller]
    pub fn fold<S: Stack>(self, start: Expr<C, G, S>, f: Expr<C, G, Fun<Prod<S, X::Row>, S>>) -> Expr<C, G, S> {
        fold::<C, G, S, X::Row>(f, start, self)
    }
}

impl<C: Language, G: Obj, const D: usize> Expr<C, G, Arr<D>> {
    /// An elementwise function.
    #[track_caller]
    pub fn unary(self, op: Unary) -> Self {
        apply(Pointwise::<D>(op), self)
    }

    /// An elementwise function of two arrays of one shape.
    #[track_caller]
    pub fn binary(self, op: Binary, other: Self) -> Self {
        apply(Pointwise2::<D>(op), tup(self, other))
    }

    /// `sin x`.
    #[track_caller]
    pub fn sin(self) -> Self {
        self.unary(Unary::Sin)
    }

    /// `cos x`.
    #[track_caller]
    pub fn cos(self) -> Self {
        self.unary(Unary::Cos)
    }

    /// `e^x`.
    #[track_caller]
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// `tanh x`.
    #[track_caller]
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Expr<C, G, Real> {
        apply(SumAll::<D>, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Real> {
    /// `n` copies.
    #[track_caller]
    pub fn replicate(self, n: usize) -> Expr<C, G, Arr<1>> {
        apply(Replicate(n), self)
    }

    /// Whether the number is less than the other.
    #[track_caller]
    pub fn less(self, other: Self) -> Expr<C, G, Mask> {
        apply(Comparison(Compare::Lt), tup(self, other))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Int> {
    /// The integer as a number.
    #[track_caller]
    pub fn to_float(self) -> Expr<C, G, Real> {
        apply(ToFloat, self)
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<1>> {
    /// The element at an index; 0 at an index out of bounds.
    #[track_caller]
    pub fn gather(self, ix: Expr<C, G, Int>) -> Expr<C, G, Real> {
        apply(Gather, tup(self, ix))
    }

    /// The vector with values added at indices.
    #[track_caller]
    pub fn scatter_add(self, ix: Expr<C, G, Arr<1, i64>>, values: Self) -> Self {
        apply(ScatterAdd, tup(self, tup(ix, values)))
    }
}

impl<C: Language, G: Obj> Expr<C, G, Arr<2>> {
    /// The product with a vector.
    #[track_caller]
    pub fn matvec(self, x: Expr<C, G, Arr<1>>) -> Expr<C, G, Arr<1>> {
        apply(MatVec, tup(self, x))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident,)*) => { $(
        impl<C: Language, G: Obj, const D: usize> $trait for Expr<C, G, Arr<D>> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: Self) -> Self {
                self.binary(Binary::$op, other)
            }
        }

        impl<C: Language, G: Obj> $trait<f64> for Expr<C, G, Real> {
            type Output = Self;

            #[track_caller]
            fn $method(self, other: f64) -> Self {
                self.binary(Binary::$op, num(other))
            }
        }
    )* };
}

operators! { Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, }

impl<C: Language, G: Obj, const D: usize> Neg for Expr<C, G, Arr<D>> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}
