//! Sums, recursive types, recursion and iteration, as syntax.
//!
//! Law: each is the morphism of [`Language`] of its name, composed with its arguments; a step of [`iterate_within`] after
//! the end changes nothing, so it is [`iterate`] where that ends in time.

use std::panic::Location;

use super::arrays::fold;
use super::category::{Arrays, Language};
use super::expr::{Expr, Left, bound, lam2, tup, unit};
use super::object::{Fun, Int, Knot, Mask, Mu, Obj, Prod, Recursive, Signature, Stack, Sum, Unit};
use super::operators::{apply, truth};
use super::primitive::Iota;
use super::scope::{Binder, Var};

/// The left case of a sum.
///
/// Example: [`case`].
pub fn inl<C: Language, G: Obj, A: Obj, B: Obj>(a: Expr<C, G, A>) -> Expr<C, G, Sum<A, B>> {
    a.then(C::inl())
}

/// The right case of a sum.
///
/// Example: [`case`].
pub fn inr<C: Language, G: Obj, A: Obj, B: Obj>(b: Expr<C, G, B>) -> Expr<C, G, Sum<A, B>> {
    b.then(C::inr())
}

/// One program for each case of a sum.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, Sum, case, fun1, if_, inl, inr, num};
/// /// The left case has the double of a number, the right one the square.
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| {
///         let either: Expr<C, _, Sum<Real, Real>> = if_(x.at().less(num(2.0)), || inl(x.at()), || inr(x.at()));
///         case(either, |a| a.at() * 2.0, |b| b.at() * b.at())
///     })
/// }
/// assert_eq!(higher::run(program(), &tensor(1.0)), tensor(2.0));
/// assert_eq!(higher::run(program(), &tensor(3.0)), tensor(9.0));
/// ```
#[track_caller]
pub fn case<C: Language, G: Obj, A: Obj, B: Obj, R: Obj>(
    sum: Expr<C, G, Sum<A, B>>,
    left: impl FnOnce(Var<G, A>) -> Expr<C, Prod<G, A>, R>,
    right: impl FnOnce(Var<G, B>) -> Expr<C, Prod<G, B>, R>,
) -> Expr<C, G, R> {
    let ((left, of_left), (right, of_right)) = (bound(left), bound(right));
    Expr { hom: C::then(C::pair(C::id(), sum.hom), C::case(left, right)), used: sum.used.and(of_left).and(of_right) }
}

/// The first program if the mask holds, otherwise the second.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, if_};
/// fn smaller<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| if_(x.at().less(y.at()), || x.at(), || y.at()))
/// }
/// let x = (tensor(5.0), tensor(3.0));
/// assert_eq!(higher::value_and_grad(smaller(), &x), (tensor(3.0), (tensor(0.0), tensor(1.0))));
/// ```
#[track_caller]
pub fn if_<C: Language, G: Obj, R: Obj>(
    mask: Expr<C, G, Mask>,
    then: impl FnOnce() -> Expr<C, Prod<G, Unit>, R>,
    otherwise: impl FnOnce() -> Expr<C, Prod<G, Unit>, R>,
) -> Expr<C, G, R> {
    case(mask.then(C::test()), |_| then(), |_| otherwise())
}

/// Repeats a step from an initial state until its result is the right case.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, if_, inl, inr, iterate, num};
/// /// Doubles until the number is not less than 100.
/// fn grown<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| iterate(x.at(), |s| if_(s.at().less(num(100.0)), || inl(s.at() * 2.0), || inr(s.at()))))
/// }
/// assert_eq!(higher::value_and_grad(grown(), &tensor(30.0)), (tensor(120.0), tensor(4.0)));
/// ```
///
/// # Panics
/// Like [`Language::iterate`].
#[track_caller]
pub fn iterate<C: Language, G: Obj, S: Obj, R: Obj>(
    start: Expr<C, G, S>,
    step: impl FnOnce(Var<G, S>) -> Expr<C, Prod<G, S>, Sum<S, R>>,
) -> Expr<C, G, R> {
    let (step, of_step) = bound(step);
    let steps = C::written(C::iterate(step), Location::caller());
    Expr { hom: C::then(C::pair(C::id(), start.hom), steps), used: start.used.and(of_step) }
}

/// The value of a recursive type with these parts. Where nothing else says which type: [`Mu::roll`](Recursive::roll).
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{case, closed, fix, fun2, inl, inr, num, roll, tup, unit, unroll};
/// use polygrad_higher::{self as higher, Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Sum, Unit};
/// /// A list is empty, or a number and a list.
/// struct Numbers;
/// impl Signature for Numbers {
///     type Of<X: Obj> = Sum<Unit, Prod<Real, X>>;
/// }
/// type List = Mu<Numbers>;
/// fn empty<C: Language>() -> Expr<C, Unit, List> {
///     roll(inl(unit()))
/// }
/// fn with<C: Language>() -> Expr<C, Prod<Real, List>, List> {
///     fun2(|x, rest| roll(inr(tup(x.at(), rest.at()))))
/// }
/// /// The product of the numbers in a list.
/// fn product<C: Language>() -> Expr<C, Unit, Fun<List, Real>> {
///     fix(|own, list| {
///         case(
///             unroll(list.at()),
///             |_| num(1.0),
///             |p| {
///                 let (x, rest) = p.split();
///                 x.at() * own.at().app(rest.at())
///             },
///         )
///     })
/// }
/// fn program<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, y| {
///         let one = with().call(tup(y.at(), closed(empty())));
///         closed(product()).app(with().call(tup(x.at(), with().call(tup(y.at(), one)))))
///     })
/// }
/// let x = (tensor(2.0), tensor(3.0));
/// assert_eq!(higher::value_and_grad(program(), &x), (tensor(18.0), (tensor(9.0), tensor(12.0))));
/// ```
#[track_caller]
pub fn roll<C: Language, G: Obj, S: Signature>(parts: Expr<C, G, S::Of<Mu<S>>>) -> Expr<C, G, Mu<S>> {
    parts.then(C::written(C::roll::<Knot<S>>(), Location::caller()))
}

impl<S: Signature> Recursive<Knot<S>> {
    /// The value of this recursive type with these parts, as [`roll`].
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Sum, case, fun2, inl, lam, let_, unroll};
    /// /// A tree with functions at its leaves.
    /// struct Branches;
    /// impl Signature for Branches {
    ///     type Of<X: Obj> = Sum<Fun<Real, Real>, Prod<X, X>>;
    /// }
    /// type Tree = Mu<Branches>;
    /// fn leaf<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     fun2(|x, y| {
    ///         let_(Tree::roll(inl(lam(|z| z.at() * y.at()))), |tree| {
    ///             case(unroll(tree.at()), |f| f.at().app(x.at()), |_| y.at())
    ///         })
    ///     })
    /// }
    /// assert_eq!(higher::run(leaf(), &(tensor(2.0), tensor(3.0))), tensor(6.0));
    /// ```
    #[track_caller]
    pub fn roll<C: Language, G: Obj>(parts: Expr<C, G, S::Of<Mu<S>>>) -> Expr<C, G, Mu<S>> {
        roll(parts)
    }
}

/// The parts of a value of a recursive type.
///
/// Example: [`roll`].
pub fn unroll<C: Language, G: Obj, S: Signature>(value: Expr<C, G, Mu<S>>) -> Expr<C, G, S::Of<Mu<S>>> {
    value.then(C::unroll::<Knot<S>>())
}

/// The function `x -> body` in which `f` is the function itself.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fix, fun2, if_, num};
/// /// `x^n`, where `n` is a whole number.
/// fn power<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
///     fun2(|x, n| {
///         let power = fix(|f, n| if_(n.at().less(num(1.0)), || num(1.0), || x.at() * f.at().app(n.at() - 1.0)));
///         power.app(n.at())
///     })
/// }
/// assert_eq!(higher::run(power(), &(tensor(2.0), tensor(5.0))), tensor(32.0));
/// ```
#[track_caller]
pub fn fix<C: Language, G: Obj, A: Obj, B: Obj>(
    body: impl FnOnce(Var<G, Fun<A, B>>, Var<Prod<G, Fun<A, B>>, A>) -> Expr<C, Prod<Prod<G, Fun<A, B>>, A>, B>,
) -> Expr<C, G, Fun<A, B>> {
    let [function, argument] = [Binder::new(), Binder::new()];
    let Expr { hom, used } = body(function.variable(), argument.variable());
    Expr { hom: C::written(C::fix(hom), Location::caller()), used: used.outside(argument).outside(function) }
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
/// use polygrad::program::interpret;
/// use polygrad::{Array, tensor};
/// use polygrad_higher::{self as higher, Arrays, Expr, Real, fun1, if_, inl, inr, iterate_within, num};
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
    let (step, of_step) = bound(step);
    let counts = apply(Iota(n), unit());
    let start = tup(truth(false), tup(start, otherwise));
    let advance = lam2(|carry: Left<G, Within<S, R>, Int>, _| {
        let (ended, values) = carry.split();
        let (state, result) = values.split();
        if_(
            ended.at(),
            || carry.at(),
            || {
                let context = Expr::of(C::then(C::fst(), C::fst()));
                case(
                    tup(context, state.at()).then(step),
                    |next| tup(truth(false), tup(next.at(), result.at())),
                    |found| tup(truth(true), tup(state.at(), found.at())),
                )
            },
        )
    });
    let Expr { hom, used } = fold(advance, start, counts).snd().snd();
    Expr { hom, used: used.and(of_step) }
}
