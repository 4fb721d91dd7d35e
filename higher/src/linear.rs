//! The target language of CHAD: a [`Language`] with abstract linear functions and copowers ("CHAD", Fig. 8).
//!
//! Every method is a term former in a context `G`. These methods alone construct linear functions, so every linear
//! function is linear (a subtype). [`fold`](Target::lcopowfold) is the only eliminator of copowers, so neither the
//! order of their entries, nor the difference of `(a, v) + (a, w)` and `(a, v + w)`, can be observed (a quotient).
//!
//! Law: a transformation of a target is a target, so a transformation applies to its own results, to any order. The
//! primal values of a type with addition have addition, too, and the types of a primitive's values under several
//! transformations are those of its arrays; rustc can conclude neither, so the methods here are for any types, and the
//! caller ensures that `zero` and `plus` are of a type with addition, and the types of a primitive those of its values.

use super::category::{Arrays, Language};
use super::object::{Copower, Fun, Layout, LinFun, LinSum, Obj, Prod, Recursive, Stacks, Sum, TypeParts};
use super::primitive::Primitive;

type Hom<T, A, B> = <T as super::category::Ccc>::Hom<A, B>;

/// The primal values of a program type under a functor.
///
/// ```
/// use std::any::TypeId;
/// use polygrad_higher::interpreters::chad::Forwards;
/// use polygrad_higher::linear::{P1, P2};
/// use polygrad_higher::{Fun, Int, LinFun, Prod, Real, Unit, Vector};
/// // In forward mode, a function gives a value and a linear function of tangents.
/// type Function = P1<Fun<Real, Real>, Forwards>;
/// assert_eq!(TypeId::of::<Function>(), TypeId::of::<Fun<Real, Prod<Real, LinFun<Real, Real>>>>());
/// assert_eq!(TypeId::of::<P2<Prod<Vector, Int>, Forwards>>(), TypeId::of::<Prod<Vector, Unit>>());
/// ```
pub type P1<A, F> = <A as Obj>::D1<F>;

/// The (co)tangents of a program type under a functor.
///
/// Example: [`P1`].
pub type P2<A, F> = <A as Obj>::D2<F>;

/// A language with linear functions and copowers.
///
/// Example: [`Target::lapp`].
pub trait Target: Language {
    /// Repeats a step that gives, with its value, the pullback to its context and state: the result, with the pullback to the
    /// context and the initial state. Here the state of the loop is a state of the program, with the linear function from its
    /// cotangent to those of the context and of the initial state.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::{Reverse, Run};
    /// use polygrad_higher::{self as higher, Ccc, Expr, Language, Prod, Real, Sum, Target, Unit, fun2, if_, inl, inr, num};
    /// /// Doubles a number that is less than 8.
    /// fn step<C: Language>() -> Expr<C, Prod<Unit, Real>, Sum<Real, Real>> {
    ///     fun2(|_, s| if_(s.at().less(num(8.0)), || inl(s.at() * 2.0), || inr(s.at())))
    /// }
    /// type C = Run<Array>;
    /// // Reverse mode gives the step with its pullback.
    /// let all = || C::iterate_pulled(step::<Reverse<C>>().hom());
    /// let pulled = C::lapp(C::then(all(), C::snd()), num::<C, _>(1.0).hom());
    /// assert_eq!(higher::run(Expr::of(C::then(all(), C::fst())), &((), tensor(1.5))), tensor(12.0));
    /// assert_eq!(higher::run(Expr::of(pulled), &((), tensor(1.5))), ((), tensor(8.0)));
    /// ```
    fn iterate_pulled<G: Obj, S: Obj, R: Obj, W: Obj, Q: Obj, V: Obj>(
        step: Hom<Self, Prod<G, S>, Prod<Sum<S, R>, LinFun<LinSum<W, Q>, Prod<V, W>>>>,
    ) -> Hom<Self, Prod<G, S>, Prod<R, LinFun<Q, Prod<V, W>>>> {
        // In the context ((c, (s, k)), (r, r')): r', then <c', s'> -> <c', 0> + k s'. So k runs once, and last.
        let ran = Self::then(Self::pair(Self::fst(), Self::then(Self::snd(), Self::fst())), step);
        let so_far = Self::then(Self::fst(), Self::then(Self::snd(), Self::snd()));
        let own = Self::lcomp(Self::lfst(), Self::lpair(Self::lid(), Self::zero()));
        let pullback = Self::then(Self::snd(), Self::snd());
        let back = Self::lcomp(pullback, Self::plus(own, Self::lcomp(Self::lsnd(), so_far)));
        let on = Self::pair(Self::snd(), Self::lcomp(Self::linl(), Self::fst()));
        let end = Self::pair(Self::snd(), Self::lcomp(Self::linr(), Self::fst()));
        let which = Self::case(Self::then(on, Self::inl()), Self::then(end, Self::inr()));
        let body = Self::bind(ran, Self::then(Self::pair(back, Self::then(Self::snd(), Self::fst())), which));
        let start = Self::pair(Self::fst(), Self::pair(Self::snd(), Self::lpair(Self::zero(), Self::lid())));
        Self::then(start, Self::iterate(body))
    }

    /// A recursive function whose body gives, with its value, the pullback to the context, to the function, whose tangents are
    /// formal sums of its calls, and to the argument: the function with its pullback to the argument, and the linear function
    /// to the context. Both run the body, which occurs in the program once.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Language, Real, fix, fun1, if_, num};
    /// /// `x (x - 1) (x - 2) ..`, down to a number below 1. Reverse mode has its recursion by `fix_pulled`.
    /// fn product<C: Language>() -> Expr<C, Real, Real> {
    ///     fun1(|x| {
    ///         fix(|f, n| if_(n.at().less(num(1.0)), || n.at(), || n.at() * f.at().app(n.at() - 1.0))).app(x.at())
    ///     })
    /// }
    /// assert_eq!(higher::value_and_grad(product(), &tensor(2.5)), (tensor(1.875), tensor(5.75)));
    /// ```
    fn fix_pulled<G: Obj, A: Obj, B: Obj, W: Obj, V: Obj, U: Obj>(
        body: Hom<
            Self,
            Prod<Prod<G, Fun<A, Prod<B, LinFun<W, V>>>>, A>,
            Prod<B, LinFun<W, Prod<Prod<U, Copower<A, W>>, V>>>,
        >,
    ) -> Hom<Self, G, Prod<Fun<A, Prod<B, LinFun<W, V>>>, LinFun<Copower<A, W>, U>>> {
        let (shared, call) = shared_body::<Self, _, _, _, _>(body);
        let primal = Self::fix(Self::then(call, Self::pair(Self::fst(), Self::lcomp(Self::snd(), Self::lsnd()))));
        // In the context ((<<c, b>, f>, h), x): the derivative of the body at x, whose cotangent of f goes through h.
        let before = || Self::then(Self::fst(), Self::fst());
        let at = Self::pair(Self::then(before(), Self::snd()), Self::snd());
        let ran = Self::then(Self::pair(Self::then(before(), Self::then(Self::fst(), Self::snd())), at), Self::eval());
        let own = Self::lcopowfold(Self::then(Self::fst(), Self::snd()));
        let back = Self::lcomp(Self::lfst(), Self::plus(Self::lfst(), Self::lcomp(Self::lsnd(), own)));
        let context = Self::lcopowfold(Self::fix(Self::lcomp(Self::then(ran, Self::snd()), back)));
        Self::bind(shared, Self::bind(primal, Self::pair(Self::snd(), context)))
    }

    /// A primitive operation, on primal values: `A` and `B` are the types of its arguments and results.
    ///
    /// Example: [`Target::pushforward`].
    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Hom<Self, A, B>;

    /// `Dop`: the derivative of a primitive operation at a point of type `A`, from tangents of type `V` to `W`.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::tensor;
    /// use polygrad_higher::primitive::{Pointwise, SumAll};
    /// use polygrad_higher::{self as higher, Expr, Real, Target, Vector, num};
    /// /// The sine of the sum, as primal values.
    /// fn value<C: Target>() -> Expr<C, Vector, Real> {
    ///     let total = C::primal::<_, Vector, Real>(SumAll::<1>);
    ///     Expr::of(C::then(total, C::primal::<_, Real, Real>(Pointwise::<0>(Unary::Sin))))
    /// }
    /// /// The derivative of the sine at `x`, along the tangent 10.
    /// fn along<C: Target>() -> Expr<C, Real, Real> {
    ///     let derivative = C::pushforward::<_, Real, Real, Real>(Pointwise::<0>(Unary::Sin));
    ///     Expr::of(C::lapp(derivative, num::<C, _>(10.0).hom()))
    /// }
    /// /// The cotangent of the elements of a sum, for the cotangent 10 of the sum.
    /// fn back<C: Target>() -> Expr<C, Vector, Vector> {
    ///     Expr::of(C::lapp(C::pullback::<_, Vector, Real, Vector>(SumAll::<1>), num::<C, _>(10.0).hom()))
    /// }
    /// assert_eq!(higher::run(value(), &tensor([0.25, 0.75])), tensor(1.0_f64.sin()));
    /// assert_eq!(higher::run(along(), &tensor(0.5)), tensor(10.0 * 0.5_f64.cos()));
    /// assert_eq!(higher::run(back(), &tensor([1.0, 2.0])), tensor([10.0, 10.0]));
    /// ```
    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Hom<Self, A, LinFun<V, W>>;

    /// `Dop^t`: the transposed derivative of a primitive operation at a point of type `A`, from cotangents of type `W`
    /// of the result to those of the argument, of type `V`.
    ///
    /// Example: [`Target::pushforward`].
    fn pullback<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Hom<Self, A, LinFun<W, V>>;

    /// The transposed formal derivative of a function of truth values: an input gets the sum of the parities of the
    /// results that change with the input.
    ///
    /// ```
    /// use polygrad_higher::interpreters::Syntax;
    /// use polygrad_higher::primitive::Logic;
    /// use polygrad_higher::{Mask, Mono, Parity, Prod, Target};
    /// type Bit = Mono<Parity>;
    /// let back = Syntax::differences::<_, Prod<Mask, Mask>, Bit, Prod<Bit, Bit>>(Logic::And);
    /// assert_eq!(back.term().simplify().to_string(), "\\x1 x2 ->\n  \\t1 -> D2[and]^t <x1, x2> t1");
    /// ```
    ///
    /// # Panics
    /// When the program runs with values that are not known, or with arrays of several truth values.
    fn differences<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Hom<Self, A, LinFun<W, V>>;

    /// The linear function whose result has the sum of all parts of the argument in each part: the derivative of an
    /// operation that treats all inputs alike.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Ground, Prod, Real, Target};
    /// type Two = Prod<Real, Real>;
    /// /// `(x, y) -> (x + y, x + y)`.
    /// fn program<C: Target>() -> Expr<C, Two, Two> {
    ///     Expr::of(C::lapp(C::lspread::<_, Two, Two>(Two::layout(), Two::layout()), C::id()))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor(1.0), tensor(2.0))), (tensor(3.0), tensor(3.0)));
    /// ```
    fn lspread<G: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Hom<Self, G, LinFun<A, B>>;

    /// The zero of a type with addition.
    ///
    /// Example: [`Target::lapp`].
    fn zero<G: Obj, A: Obj>() -> Hom<Self, G, A>;

    /// The sum of two values.
    ///
    /// Example: [`Target::lapp`].
    fn plus<G: Obj, A: Obj>(a: Hom<Self, G, A>, b: Hom<Self, G, A>) -> Hom<Self, G, A>;

    /// A linear function applied to a vector.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, LinFun, Linear, Prod, Real, Target};
    /// type Two = Prod<Real, Real>;
    /// /// `((x, y), z) -> (z, y)`, as a linear function that is applied to the context.
    /// fn parts<C: Target>() -> Expr<C, Prod<Two, Real>, Two> {
    ///     let middle: C::Hom<_, LinFun<Prod<Two, Real>, Real>> = C::lcomp(C::lfst::<_, Two, Real>(), C::lsnd());
    ///     Expr::of(C::lapp(C::lpair(C::lsnd(), middle), C::id()))
    /// }
    /// /// `x + (x + 0)`, for values of any type with addition.
    /// fn twice<C: Target, A: Linear>() -> Expr<C, A, A> {
    ///     Expr::of(C::plus(C::lapp(C::lid(), C::id()), C::plus(C::id(), C::zero())))
    /// }
    /// assert_eq!(higher::run(parts(), &((tensor(1.0), tensor(2.0)), tensor(3.0))), (tensor(3.0), tensor(2.0)));
    /// assert_eq!(higher::run(twice::<_, Two>(), &(tensor(1.0), tensor(2.0))), (tensor(2.0), tensor(4.0)));
    /// ```
    fn lapp<G: Obj, A: Obj, B: Obj>(f: Hom<Self, G, LinFun<A, B>>, v: Hom<Self, G, A>) -> Hom<Self, G, B>;

    /// The identity, as a linear function: `v -> v`.
    ///
    /// Example: [`Target::lapp`].
    fn lid<G: Obj, A: Obj>() -> Hom<Self, G, LinFun<A, A>>;

    /// `f`, then `g`: `v -> g (f v)`.
    ///
    /// Example: [`Target::lapp`].
    fn lcomp<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, LinFun<A, B>>,
        g: Hom<Self, G, LinFun<B, C>>,
    ) -> Hom<Self, G, LinFun<A, C>>;

    /// The pair of the results of `f` and `g`: `v -> (f v, g v)`.
    ///
    /// Example: [`Target::lapp`].
    fn lpair<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, LinFun<A, B>>,
        g: Hom<Self, G, LinFun<A, C>>,
    ) -> Hom<Self, G, LinFun<A, Prod<B, C>>>;

    /// The first component of a pair: `(u, v) -> u`.
    ///
    /// Example: [`Target::lapp`].
    fn lfst<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<Prod<A, B>, A>>;

    /// The second component of a pair: `(u, v) -> v`.
    ///
    /// Example: [`Target::lapp`].
    fn lsnd<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<Prod<A, B>, B>>;

    /// A function of linear functions, as a linear function of functions: `v -> (a -> f a v)`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Real, Target, num};
    /// /// From `a -> (v -> v)` to `v -> (a -> v)`; the latter at `v = x`, and then at `a = 7`.
    /// fn program<C: Target>() -> Expr<C, Real, Real> {
    ///     let swapped = C::lswap(C::curry::<Real, Real, _>(C::lid::<_, Real>()));
    ///     let function = C::lapp(swapped, C::id());
    ///     Expr::of(C::then(C::pair(function, num::<C, _>(7.0).hom()), C::eval()))
    /// }
    /// assert_eq!(higher::run(program(), &tensor(3.0)), tensor(3.0));
    /// ```
    fn lswap<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, Fun<A, LinFun<B, C>>>,
    ) -> Hom<Self, G, LinFun<B, Fun<A, C>>>;

    /// The value of a function at a point, which is linear in the function: `f -> f a`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Fun, Real, Target, lam};
    /// fn double<C: Target>() -> Expr<C, Real, Fun<Real, Real>> {
    ///     lam(|z| z.at() * 2.0)
    /// }
    /// /// `f -> f x`, at the function that doubles.
    /// fn value<C: Target>() -> Expr<C, Real, Real> {
    ///     Expr::of(C::lapp(C::leval(C::id()), double::<C>().hom()))
    /// }
    /// /// The function that doubles, as a linear function.
    /// fn linear<C: Target>() -> Expr<C, Real, Real> {
    ///     Expr::of(C::lapp(C::linear(double::<C>().hom()), C::id()))
    /// }
    /// assert_eq!((higher::run(value(), &tensor(3.0)), higher::run(linear(), &tensor(3.0))), (tensor(6.0), tensor(6.0)));
    /// ```
    fn leval<G: Obj, A: Obj, B: Obj>(a: Hom<Self, G, A>) -> Hom<Self, G, LinFun<Fun<A, B>, B>>;

    /// The copower with one entry: a point, with the argument as its vector.
    ///
    /// Example: [`Target::lcopowsum`].
    fn singleton<G: Obj, A: Obj, B: Obj>(a: Hom<Self, G, A>) -> Hom<Self, G, LinFun<B, Copower<A, B>>>;

    /// The sum over the entries of a copower of `f` of the point, applied to the vector.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::tensor;
    /// use polygrad_higher::primitive::Pointwise;
    /// use polygrad_higher::{self as higher, Expr, Prod, Real, Target};
    /// /// The sum of `cos(a) v` over the entries `(a, v)` of a copower with the one entry `(x, y)`.
    /// fn program<C: Target>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     let entry = C::lapp(C::singleton::<Prod<Real, Real>, Real, Real>(C::fst()), C::snd());
    ///     let slope = C::pushforward::<_, Real, Real, Real>(Pointwise::<0>(Unary::Sin));
    ///     Expr::of(C::lapp(C::lcopowfold(C::curry(C::then(C::snd(), slope))), entry))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor(0.5), tensor(10.0))), tensor(10.0 * 0.5_f64.cos()));
    /// ```
    fn lcopowfold<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, Fun<A, LinFun<B, C>>>,
    ) -> Hom<Self, G, LinFun<Copower<A, B>, C>>;

    /// The sum over the entries of a copower of `f` of the point and the vector. The caller ensures that `f` is linear
    /// in the vector: it is the primal part of a function that gives linear functions.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Copower, Expr, Prod, Real, Target, lam2};
    /// type Two = Prod<Real, Real>;
    /// /// The sum of `a v` over the entries `(a, v)` of a copower with the entries `(x, y)` and `(y, y)`.
    /// fn program<C: Target>() -> Expr<C, Two, Real> {
    ///     let entry = |point| -> C::Hom<Two, Copower<Real, Real>> { C::lapp(C::singleton::<Two, Real, Real>(point), C::snd()) };
    ///     let product: Expr<C, _, _> = lam2(|a, v| a.at() * v.at());
    ///     let sum = C::lcopowsum::<_, Real, Real, Real>(product.hom());
    ///     Expr::of(C::lapp(sum, C::plus(entry(C::fst()), entry(C::snd()))))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor(2.0), tensor(5.0))), tensor(35.0));
    /// ```
    fn lcopowsum<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Hom<Self, G, Fun<Prod<A, B>, C>>,
    ) -> Hom<Self, G, LinFun<Copower<A, B>, C>>;

    /// A function as a linear function. The caller ensures that it is linear: it is the primal part of a derivative of a
    /// linear function.
    ///
    /// Example: [`Target::leval`].
    fn linear<G: Obj, A: Obj, B: Obj>(f: Hom<Self, G, Fun<A, B>>) -> Hom<Self, G, LinFun<A, B>>;

    /// `v -> u + value w`, where `<u, w> = body v`: the transpose of `let`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Real, Target};
    /// /// `v -> u + w`, where `(u, w) = (v, v)`.
    /// fn program<C: Target>() -> Expr<C, Real, Real> {
    ///     let copies = C::lpair(C::lid::<Real, Real>(), C::lid());
    ///     Expr::of(C::lapp(C::lbind(copies, C::lid()), C::id()))
    /// }
    /// assert_eq!(higher::run(program(), &tensor(3.0)), tensor(6.0));
    /// ```
    fn lbind<G: Obj, A: Obj, B: Obj, C: Obj>(
        body: Hom<Self, G, LinFun<A, Prod<B, C>>>,
        value: Hom<Self, G, LinFun<C, B>>,
    ) -> Hom<Self, G, LinFun<A, B>> {
        Self::lcomp(body, Self::plus(Self::lfst(), Self::lcomp(Self::lsnd(), value)))
    }

    /// Injects a vector into the left case.
    ///
    /// Example: [`Target::lcastl`].
    fn linl<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<A, LinSum<A, B>>>;

    /// Injects a vector into the right case.
    ///
    /// Example: [`Target::lcastl`].
    fn linr<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<B, LinSum<A, B>>>;

    /// The vector of the left case; zero of zero.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, LinSum, Prod, Real, Target, Vector, num};
    /// /// A number and a vector as vectors of a case, and taken out again.
    /// fn program<C: Target>() -> Expr<C, Prod<Real, Vector>, Prod<Real, Vector>> {
    ///     let left: C::Hom<_, LinSum<Real, Vector>> = C::lapp(C::linl(), C::fst());
    ///     let right: C::Hom<_, LinSum<Real, Vector>> = C::lapp(C::linr(), C::snd());
    ///     Expr::of(C::pair(C::lapp(C::lcastl(), left), C::lapp(C::lcastr(), right)))
    /// }
    /// /// The number of the left case of zero, plus 1.
    /// fn of_zero<C: Target>() -> Expr<C, Real, Real> {
    ///     let zero = C::lapp(C::lcastl::<_, Real, Vector>(), C::zero());
    ///     Expr::of(C::plus(zero, num::<C, _>(1.0).hom()))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor(3.0), tensor([4.0]))), (tensor(3.0), tensor([4.0])));
    /// assert_eq!(higher::run(of_zero(), &tensor(3.0)), tensor(1.0));
    /// ```
    fn lcastl<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<LinSum<A, B>, A>>;

    /// The vector of the right case; zero of zero.
    ///
    /// Example: [`Target::lcastl`].
    fn lcastr<G: Obj, A: Obj, B: Obj>() -> Hom<Self, G, LinFun<LinSum<A, B>, B>>;

    /// The (co)tangent of a value of a recursive type from those of its parts.
    ///
    /// Example: [`Target::lunroll`].
    fn lroll<G: Obj, K: TypeParts>() -> Hom<Self, G, LinFun<K::Of, Recursive<K>>>;

    /// The (co)tangents of the parts from that of the value.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::{self as higher, Expr, Prod, Real, Target, TypeParts};
    /// /// The parts of a type whose values have two numbers each.
    /// struct Point;
    /// impl TypeParts for Point {
    ///     type Of = Prod<Real, Real>;
    /// }
    /// /// The second part of the tangent of a value.
    /// fn program<C: Target>() -> Expr<C, Prod<Real, Real>, Real> {
    ///     let second = C::lcomp(C::lunroll::<_, Point>(), C::lsnd());
    ///     Expr::of(C::lapp(C::lcomp(C::lroll::<_, Point>(), second), C::id()))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor(1.0), tensor(2.0))), tensor(2.0));
    /// ```
    fn lunroll<G: Obj, K: TypeParts>() -> Hom<Self, G, LinFun<Recursive<K>, K::Of>>;
}

/// The linear step of a loop: from the (co)tangent of the state, and an input, to that of the next state, and an
/// output.
///
/// Example: [`ArrayTarget::laccumulate`].
pub type LinearStep<S, V, W> = LinFun<Prod<S, V>, Prod<S, W>>;

/// A target with loops over arrays, and the linear functions of their derivatives ("CHAD", section 10).
///
/// The elements of arrays have types under several transformations, so a type of elements comes with that of their
/// arrays, as [`Stacks`].
///
/// Example: [`ArrayTarget::lzip`].
pub trait ArrayTarget: Target + Arrays {
    /// Applies a function to every element, as [`map`](Arrays::map).
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Fun, Real, Vector, lam};
    /// fn sine<C: ArrayTarget>() -> Expr<C, Vector, Fun<Real, Real>> {
    ///     lam(|x| x.at().sin())
    /// }
    /// fn sines<C: ArrayTarget>() -> Expr<C, Vector, Vector> {
    ///     let operands = C::pair(sine::<C>().hom(), C::id());
    ///     Expr::of(C::then(operands, C::map_over::<RowsOf<Real>, RowsOf<Real>>()))
    /// }
    /// assert_eq!(higher::run(sines(), &tensor([0.0, 1.0])), tensor([0.0, 1.0_f64.sin()]));
    /// ```
    fn map_over<A: Stacks, B: Stacks>() -> Hom<Self, Prod<Fun<A::One, B::One>, A::Many>, B::Many>;

    /// The final state of a left fold, as [`fold`](Arrays::fold).
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Fun, Prod, Real, Vector, lam2, num};
    /// fn step<C: ArrayTarget>() -> Expr<C, Vector, Fun<Prod<Real, Real>, Real>> {
    ///     lam2(|sum, x| sum.at() * 10.0 + x.at())
    /// }
    /// fn decimal<C: ArrayTarget>() -> Expr<C, Vector, Real> {
    ///     let operands = C::pair(step::<C>().hom(), C::pair(num::<C, _>(0.0).hom(), C::id()));
    ///     Expr::of(C::then(operands, C::fold_over::<RowsOf<Real>, RowsOf<Real>>()))
    /// }
    /// assert_eq!(higher::run(decimal(), &tensor([1.0, 2.0, 3.0])), tensor(123.0));
    /// ```
    fn fold_over<S: Stacks, A: Stacks>()
    -> Hom<Self, Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One>;

    /// A loop that carries a state over all elements, in order or in reverse: the final state, and the outputs of all
    /// trips, each at the position of its element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Fun, Prod, Real, Vector, lam2, num, tup};
    /// type Row = RowsOf<Real>;
    /// type Two = Prod<Real, Real>;
    /// /// The next state is the sum so far, the output is the state before.
    /// fn step<C: ArrayTarget>() -> Expr<C, Vector, Fun<Two, Two>> {
    ///     lam2(|sum, x| tup(sum.at() + x.at(), sum.at()))
    /// }
    /// fn sums<C: ArrayTarget>(reverse: bool) -> Expr<C, Vector, Prod<Real, Vector>> {
    ///     let operands = C::pair(step::<C>().hom(), C::pair(num::<C, _>(0.0).hom(), C::id()));
    ///     Expr::of(C::then(operands, C::accumulate::<Row, Row, Row>(reverse)))
    /// }
    /// let xs = tensor([1.0, 2.0, 3.0]);
    /// assert_eq!(higher::run(sums(false), &xs), (tensor(6.0), tensor([0.0, 1.0, 3.0])));
    /// assert_eq!(higher::run(sums(true), &xs), (tensor(6.0), tensor([5.0, 3.0, 0.0])));
    /// ```
    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(
        reverse: bool,
    ) -> Hom<Self, Prod<Fun<Prod<S::One, A::One>, Prod<S::One, B::One>>, Prod<S::One, A::Many>>, Prod<S::One, B::Many>>;

    /// `vs -> zip xs vs`: the copower of the elements of an array with the vectors at their positions.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Prod, Real, Vector, lam2};
    /// /// The sum of `a v` over the elements `a` of `xs`, with the elements `v` of `vs` as their vectors.
    /// fn program<C: ArrayTarget>() -> Expr<C, Prod<Vector, Vector>, Real> {
    ///     let zip = C::lzip::<Prod<Vector, Vector>, RowsOf<Real>, RowsOf<Real>>(C::fst());
    ///     let product: Expr<C, _, _> = lam2(|a, v| a.at() * v.at());
    ///     Expr::of(C::lapp(C::lcomp(zip, C::lcopowsum::<_, Real, Real, Real>(product.hom())), C::snd()))
    /// }
    /// assert_eq!(higher::run(program(), &(tensor([1.0, 2.0]), tensor([10.0, 20.0]))), tensor(50.0));
    /// ```
    fn lzip<G: Obj, A: Stacks, V: Stacks>(
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<V::Many, Copower<A::One, V::One>>>;

    /// `vs -> zipWith f xs vs`.
    ///
    /// ```
    /// use polygrad::ops::Unary;
    /// use polygrad::tensor;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::primitive::Pointwise;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Prod, Real, Vector};
    /// type Row = RowsOf<Real>;
    /// /// `cos(a) v`, for the elements `a` of `xs` and `v` of `vs`.
    /// fn program<C: ArrayTarget>() -> Expr<C, Prod<Vector, Vector>, Vector> {
    ///     let slope = C::pushforward::<_, Real, Real, Real>(Pointwise::<0>(Unary::Sin));
    ///     let slopes = C::curry(C::then(C::snd(), slope));
    ///     Expr::of(C::lapp(C::lzip_with::<_, Row, Row, Row>(slopes, C::fst()), C::snd()))
    /// }
    /// let x = (tensor([0.0, 0.5]), tensor([10.0, 20.0]));
    /// assert_eq!(higher::run(program(), &x), tensor([10.0, 20.0 * 0.5_f64.cos()]));
    /// ```
    fn lzip_with<G: Obj, A: Stacks, V: Stacks, W: Stacks>(
        f: Hom<Self, G, Fun<A::One, LinFun<V::One, W::One>>>,
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<V::Many, W::Many>>;

    /// `f -> map f xs`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Fun, Real, Vector, lam};
    /// fn sine<C: ArrayTarget>() -> Expr<C, Vector, Fun<Real, Real>> {
    ///     lam(|x| x.at().sin())
    /// }
    /// /// `f -> map f xs`, at the sine.
    /// fn sines<C: ArrayTarget>() -> Expr<C, Vector, Vector> {
    ///     let map = C::lmap::<_, RowsOf<Real>, RowsOf<Real>>(C::id());
    ///     Expr::of(C::lapp(map, sine::<C>().hom()))
    /// }
    /// assert_eq!(higher::run(sines(), &tensor([0.0, 1.0])), tensor([0.0, 1.0_f64.sin()]));
    /// ```
    fn lmap<G: Obj, A: Stacks, B: Stacks>(
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<Fun<A::One, B::One>, B::Many>>;

    /// A loop of linear steps, which depend on the elements of an array: from the (co)tangent of the initial state, and
    /// the inputs of all trips, to that of the final state, those of the states before all trips, and the outputs.
    ///
    /// ```
    /// use polygrad::tensor;
    /// use polygrad_higher::linear::LinearStep;
    /// use polygrad_higher::object::RowsOf;
    /// use polygrad_higher::{self as higher, ArrayTarget, Expr, Fun, Prod, Real, Vector, num};
    /// type Row = RowsOf<Real>;
    /// /// `(s, v) -> (v, s)` for each element: the next state is the input, and the output is the state.
    /// fn delay<C: ArrayTarget>() -> C::Hom<Vector, Fun<Real, LinearStep<Real, Real, Real>>> {
    ///     C::curry(C::lpair(C::lsnd(), C::lfst()))
    /// }
    /// /// From the state 9: the final state, the states before all trips, and the outputs.
    /// fn program<C: ArrayTarget>() -> Expr<C, Vector, Prod<Real, Prod<Vector, Vector>>> {
    ///     let delays = C::laccumulate::<_, Row, Row, Row, Row>(false, delay::<C>(), C::id());
    ///     Expr::of(C::lapp(delays, C::pair(num::<C, _>(9.0).hom(), C::id())))
    /// }
    /// let (last, (before, outputs)) = higher::run(program(), &tensor([1.0, 2.0, 3.0]));
    /// assert_eq!((last, before), (tensor(3.0), tensor([9.0, 1.0, 2.0])));
    /// assert_eq!(outputs, tensor([9.0, 1.0, 2.0]));
    /// ```
    fn laccumulate<G: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Hom<Self, G, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
        xs: Hom<Self, G, A::Many>,
    ) -> Hom<Self, G, LinFun<Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>>>;
}

/// A body in the context `((c, f), x)` as a function of `(f, x)` in the context `c`, and the program that calls this
/// function in a context with the function next to `c`.
pub(crate) fn shared_body<T: Target + ?Sized, C: Obj, F: Obj, X: Obj, R: Obj>(
    body: Hom<T, Prod<Prod<C, F>, X>, R>,
) -> (Hom<T, C, Fun<Prod<F, X>, R>>, Hom<T, Prod<Prod<Prod<C, Fun<Prod<F, X>, R>>, F>, X>, R>) {
    let both = T::pair(T::fst(), T::then(T::snd(), T::fst()));
    let shared = T::curry(T::then(T::pair(both, T::then(T::snd(), T::snd())), body));
    let function = T::then(T::fst(), T::then(T::fst(), T::snd()));
    let call = T::then(T::pair(function, T::pair(T::then(T::fst(), T::snd()), T::snd())), T::eval());
    (shared, call)
}
