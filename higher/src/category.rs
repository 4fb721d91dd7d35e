//! The language as traits: a cartesian closed category ([`Ccc`]) with primitives, sums and recursion ([`Language`]).
//!
//! An instance is a type without values that implements them; a program is a function that is generic in the instance.
//! A morphism `Hom<A, B>` is a program with one input of type `A`: the combinators are those of "The Differentiable
//! Curry", section 2, and the user's syntax ([`super::expr`]) is its translation to them (Fig. 1).
//!
//! Laws: identity and composition are a category; pairs, functions and sums satisfy their beta and eta equations. An
//! instance that carries derivatives satisfies them up to the equality of derivatives, not of their representations.

use std::panic::Location;

use super::object::{Arr, Fun, Ground, Int, Mask, Obj, Prod, Recursive, Stack, Sum, TypeParts, Unit};
use super::primitive::{Compact, Primitive};

/// A cartesian closed category.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::Run;
/// use polygrad_higher::{self as higher, Ccc, Expr, Prod, Real, Unit};
/// type Two = Prod<Real, Real>;
/// /// `(x, y) -> (y, x)`.
/// fn swapped<C: Ccc>() -> C::Hom<Two, Two> {
///     C::pair(C::snd(), C::fst())
/// }
/// /// `x -> ((), x)`.
/// fn with_unit<C: Ccc>() -> C::Hom<Real, Prod<Unit, Real>> {
///     C::pair(C::unit(), C::id())
/// }
/// /// The function `y -> x` of a pair `(x, y)`, applied to `y`: the first component.
/// fn first<C: Ccc>() -> C::Hom<Two, Real> {
///     let constant = C::curry::<Real, Real, Real>(C::fst());
///     C::then(C::pair(C::then(C::fst(), constant), C::snd()), C::eval())
/// }
/// let x = (tensor(1.0), tensor(2.0));
/// assert_eq!(higher::run(Expr::of(swapped::<Run<Array>>()), &x), (tensor(2.0), tensor(1.0)));
/// assert_eq!(higher::run(Expr::of(with_unit::<Run<Array>>()), &tensor(2.0)), ((), tensor(2.0)));
/// assert_eq!(higher::run(Expr::of(first::<Run<Array>>()), &x), tensor(1.0));
/// ```
pub trait Ccc: 'static {
    /// Programs from `A` to `B`.
    type Hom<A: Obj, B: Obj>: Clone + 'static;

    /// The same program at other types. The caller ensures that its values are of these types, too: a transformation
    /// maps a program to one at types that rustc cannot always simplify, and an instance may hide types.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::interpreters::erased::Any;
    /// use polygrad_higher::{self as higher, Ccc, Expr, Real};
    /// /// The identity of the type of all values, as that of numbers.
    /// fn same<C: Ccc>() -> Expr<C, Real, Real> {
    ///     Expr::of(C::retyped(C::id::<Any>()))
    /// }
    /// assert_eq!(higher::run(same(), &tensor(2.0)), tensor(2.0));
    /// ```
    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D>;

    /// The identity.
    ///
    /// Example: [`Ccc`].
    fn id<A: Obj>() -> Self::Hom<A, A>;

    /// `f`, then `g`: `a -> g (f a)`.
    ///
    /// Example: [`Ccc`].
    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C>;

    /// The only value of the unit type: `a -> ()`.
    ///
    /// Example: [`Ccc`].
    fn unit<A: Obj>() -> Self::Hom<A, Unit>;

    /// The pair of the results of `f` and `g`: `a -> (f a, g a)`.
    ///
    /// Example: [`Ccc`].
    fn pair<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, C>) -> Self::Hom<A, Prod<B, C>>;

    /// The first component of a pair: `(a, b) -> a`.
    ///
    /// Example: [`Ccc`].
    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A>;

    /// The second component of a pair: `(a, b) -> b`.
    ///
    /// Example: [`Ccc`].
    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B>;

    /// The function of the second component, which captures the first component: `a -> (b -> f (a, b))`.
    ///
    /// Example: [`Ccc`].
    fn curry<A: Obj, B: Obj, C: Obj>(f: Self::Hom<Prod<A, B>, C>) -> Self::Hom<A, Fun<B, C>>;

    /// A function applied to its argument: `(f, a) -> f a`.
    ///
    /// Example: [`Ccc`].
    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B>;

    /// `let`: the context of the body is that of the value, extended by the value.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, fun2, num};
    /// /// `x y`, in the context `(x, y)`.
    /// fn body<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     fun2(|x, y| x.at() * y.at())
    /// }
    /// /// `let y = 3 in x y`.
    /// fn program<C: Language>() -> Expr<C, Real, Real> {
    ///     Expr::of(C::bind(num::<C, _>(3.0).hom(), body::<C>().hom()))
    /// }
    /// assert_eq!(higher::run(program(), &tensor(2.0)), tensor(6.0));
    /// ```
    fn bind<G: Obj, A: Obj, B: Obj>(value: Self::Hom<G, A>, body: Self::Hom<Prod<G, A>, B>) -> Self::Hom<G, B> {
        Self::then(Self::pair(Self::id(), value), body)
    }
}

/// A cartesian closed category with primitive operations, sums, recursion and loops over arrays.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::primitive::SumAll;
/// use polygrad_higher::{self as higher, Expr, Language, Real, Vector};
/// /// The sine of a sum, without variables.
/// fn program<C: Language>() -> Expr<C, Vector, Real> {
///     Expr::of(C::prim(SumAll::<1>)).sin()
/// }
/// assert_eq!(higher::run(program(), &tensor([0.25, 0.75])), tensor(1.0_f64.sin()));
/// ```
pub trait Language: Ccc {
    /// A primitive operation.
    ///
    /// Example: [`Language`].
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod>;

    /// A program that was written at this place, which the messages of its errors at run time name.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use std::panic::Location;
    /// use polygrad_higher::primitive::SumAll;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, Vector};
    /// /// A sum, whose errors name the caller.
    /// #[track_caller]
    /// fn total<C: Language>() -> Expr<C, Vector, Real> {
    ///     Expr::of(C::written(C::prim(SumAll::<1>), Location::caller()))
    /// }
    /// assert_eq!(higher::run(total(), &tensor([1.0, 2.0])), tensor(3.0));
    /// ```
    fn written<A: Obj, B: Obj>(f: Self::Hom<A, B>, _at: &'static Location<'static>) -> Self::Hom<A, B> {
        f
    }

    /// The left case.
    ///
    /// Example: [`Language::case`].
    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>>;

    /// The right case.
    ///
    /// Example: [`Language::case`].
    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>>;

    /// One program for each case, in the context `G` with the value of the case.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Mask, Prod, Real, num};
    /// /// `((x, y), mask)`: `x` if the mask holds, otherwise `y`.
    /// fn chosen<C: Language>() -> Expr<C, Prod<Prod<Real, Real>, Mask>, Real> {
    ///     let cases = C::case(C::then(C::fst(), C::fst()), C::then(C::fst(), C::snd()));
    ///     Expr::of(C::then(C::pair(C::fst(), C::then(C::snd(), C::test())), cases))
    /// }
    /// /// The value as the left case, or as the right one, and a program for each case: 0 for the right one.
    /// fn of_case<C: Language>(left: bool) -> Expr<C, Real, Real> {
    ///     let cases = C::case::<Real, Real, Real, Real>(C::snd(), num::<C, _>(0.0).hom());
    ///     let injected = if left { C::inl() } else { C::inr() };
    ///     Expr::of(C::then(C::pair(C::id(), injected), cases))
    /// }
    /// assert_eq!(higher::run(chosen(), &((tensor(1.0), tensor(2.0)), tensor(false))), tensor(2.0));
    /// assert_eq!([true, false].map(|left| higher::run(of_case(left), &tensor(3.0)).item()), [3.0, 0.0]);
    /// ```
    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Self::Hom<Prod<G, A>, C>,
        right: Self::Hom<Prod<G, B>, C>,
    ) -> Self::Hom<Prod<G, Sum<A, B>>, C>;

    /// The left case if the mask holds, otherwise the right one. If the mask is not known, while a program is traced,
    /// both cases run, and their results are selected by the mask.
    ///
    /// Example: [`Language::case`].
    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>>;

    /// Repeats a step until its result is the right case. While a program is traced, it becomes a recorded loop if the
    /// case of a step is not known.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, Sum, fun2, if_, inl, inr};
    /// /// Doubles a number that is less than the limit; otherwise the number is the result.
    /// fn step<C: Language>() -> Expr<C, Prod<Real, Real>, Sum<Real, Real>> {
    ///     fun2(|limit, s| if_(s.at().less(limit.at()), || inl(s.at() * 2.0), || inr(s.at())))
    /// }
    /// fn grown<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     Expr::of(C::iterate(step::<C>().hom()))
    /// }
    /// assert_eq!(higher::run(grown(), &(tensor(100.0), tensor(30.0))), tensor(120.0));
    /// ```
    ///
    /// # Panics
    /// When the case of a step is not known, and the state contains more than tensors and functions of one code, or
    /// reverse mode keeps values of it.
    fn iterate<G: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<G, S>, Sum<S, R>>) -> Self::Hom<Prod<G, S>, R>;

    /// The value of a recursive type with these parts.
    ///
    /// Example: [`Language::unroll`].
    fn roll<K: TypeParts>() -> Self::Hom<K::Of, Recursive<K>>;

    /// The parts of a value of a recursive type.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Prod, Real, TypeParts};
    /// /// The parts of a type whose values have two numbers each.
    /// struct Point;
    /// impl TypeParts for Point {
    ///     type Of = Prod<Real, Real>;
    /// }
    /// fn second<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     let point = C::roll::<Point>();
    ///     Expr::of(C::then(C::then(point, C::unroll::<Point>()), C::snd()))
    /// }
    /// assert_eq!(higher::run(second(), &(tensor(1.0), tensor(2.0))), tensor(2.0));
    /// ```
    fn unroll<K: TypeParts>() -> Self::Hom<Recursive<K>, K::Of>;

    /// The function that may call itself: `f`, where `f a = body ((g, f), a)` in the context `g`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Fun, Language, Prod, Real, fun3, if_, num};
    /// /// The body, where `f` is the function itself: doubles `x` until it is not less than the limit.
    /// fn body<C: Language>() -> Expr<C, Prod<Prod<Real, Fun<Real, Real>>, Real>, Real> {
    ///     fun3(|limit, f, x| if_(x.at().less(limit.at()), || f.at().app(x.at() * 2.0), || x.at()))
    /// }
    /// /// The function with the limit 100, at `x`.
    /// fn grown<C: Language>() -> Expr<C, Real, Real> {
    ///     let function = C::then(num::<C, _>(100.0).hom(), C::fix(body::<C>().hom()));
    ///     Expr::of(C::then(C::pair(function, C::id()), C::eval()))
    /// }
    /// assert_eq!(higher::run(grown(), &tensor(30.0)), tensor(120.0));
    /// ```
    fn fix<G: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<G, Fun<A, B>>, A>, B>) -> Self::Hom<G, Fun<A, B>>;
}

/// A language with loops over the outermost axis of arrays.
///
/// ```
/// use polygrad::tensor;
/// use polygrad_higher::{self as higher, Arrays, Expr, Fun, Prod, Real, Vector, lam, lam2, num};
/// /// The sum of squares, by two loops.
/// fn squares<C: Arrays>() -> Expr<C, Vector, Real> {
///     let square: Expr<C, Vector, Fun<Real, Real>> = lam(|x| x.at() * x.at());
///     let squares = C::then(C::pair(square.hom(), C::id()), C::map::<Real, Real>());
///     let step: Expr<C, Vector, Fun<Prod<Real, Real>, Real>> = lam2(|sum, x| sum.at() + x.at());
///     let start = C::pair(num::<C, _>(0.0).hom(), squares);
///     Expr::of(C::then(C::pair(step.hom(), start), C::fold::<Real, Real>()))
/// }
/// assert_eq!(higher::run(squares(), &tensor([1.0, 2.0, 3.0])), tensor(14.0));
/// ```
pub trait Arrays: Language {
    /// Applies a function to every element: `(f, [x0, x1, ..]) -> [f x0, f x1, ..]`.
    ///
    /// Example: [`Arrays`].
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked>;

    /// The final state of a left fold over all elements: `(f, (s, [x0, x1, ..])) -> .. f (f (s, x0), x1) ..`.
    ///
    /// Example: [`Arrays`].
    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S>;

    /// Applies a function to `0, 1, .., n - 1`: `f -> [f 0, f 1, .., f (n - 1)]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Arrays, Expr, Fun, Int, Real, Vector, lam};
    /// /// The numbers 0, 0.5 and 1.
    /// fn halves<C: Arrays>() -> Expr<C, Real, Vector> {
    ///     let half: Expr<C, Real, Fun<Int, Real>> = lam(|k| k.at().to_float() / 2.0);
    ///     Expr::of(C::then(half.hom(), C::build::<Real>(3)))
    /// }
    /// assert_eq!(higher::run(halves(), &tensor(0.0)), tensor([0.0, 0.5, 1.0]));
    /// ```
    fn build<B: Stack>(n: usize) -> Self::Hom<Fun<Arr<0, i64>, B>, B::Stacked> {
        let numbers = Self::then(Self::unit(), Self::prim(super::primitive::Iota(n)));
        Self::then(Self::pair(Self::id(), numbers), Self::map::<Arr<0, i64>, B>())
    }

    /// The number of elements at which the function holds, and these elements in their order, followed by zeros.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Arrays, Expr, Fun, Int, Mask, Prod, Real, Vector, lam, num};
    /// fn negative<C: Arrays>() -> Expr<C, Vector, Prod<Int, Vector>> {
    ///     let holds: Expr<C, Vector, Fun<Real, Mask>> = lam(|x| x.at().less(num(0.0)));
    ///     Expr::of(C::then(C::pair(holds.hom(), C::id()), C::filter::<Real>()))
    /// }
    /// assert_eq!(higher::run(negative(), &tensor([3.0, -1.0])), (tensor(1), tensor([-1.0, 0.0])));
    /// ```
    fn filter<A: Stack<Stacked: Ground>>() -> Self::Hom<Prod<Fun<A, Mask>, A::Stacked>, Prod<Int, A::Stacked>> {
        let mask = Self::map::<A, Mask>();
        Self::then(Self::pair(mask, Self::snd()), Self::prim(Compact::<A>::new()))
    }
}
