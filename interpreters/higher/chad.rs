//! CHAD: differentiation as structure-preserving translation into a target with linear functions.
//!
//! [`Reverse`] and [`Forward`] are instances over an instance: a morphism is a program of the target that gives a value
//! together with the (co)tangent function of the morphism. There is no case analysis on programs. Every method is the
//! rule of "CHAD", sections 7.4 and 7.5, in the combinators of Fig. 8, and rustc checks the types of the rules. Law
//! (Corollary 7.1): each is the only functor that preserves the structure and maps primitives to their derivatives.
//!
//! The derivatives of primitives are a parameter ([`Generators`]), which may use any commutative monoid (section 11.3).

use std::marker::PhantomData;
use std::panic::Location;

use crate::higher::linear::{P1, P2};
use crate::higher::{
    Arr, ArrayTarget, Arrays, Ccc, Copower, Element, Fun, Functor, Ground, Language, LinFun, Linear, Mask, Mono,
    Monoid, Mu, Obj, Parity, Primitive, Prod, Signature, Stack, Sum, Target, Unit,
};

/// The action of a transformation on arrays and primitive operations.
pub trait Generators: Sized + 'static {
    /// The cotangents of arrays.
    type Cotangent<const D: usize, E: Element>: Linear;

    /// The linear function of a primitive at its argument, from cotangents of the result to those of the argument.
    fn pullback<T: Target, P: Primitive>(
        p: P,
    ) -> T::Hom<P1<P::Dom, Backwards<Self>>, LinFun<P2<P::Cod, Backwards<Self>>, P2<P::Dom, Backwards<Self>>>>;
}

/// Derivatives.
pub struct Derivatives;

impl Generators for Derivatives {
    type Cotangent<const D: usize, E: Element> = E::Tangent<D>;

    fn pullback<T: Target, P: Primitive>(
        p: P,
    ) -> T::Hom<P1<P::Dom, Backwards<Self>>, LinFun<P2<P::Cod, Backwards<Self>>, P2<P::Dom, Backwards<Self>>>> {
        T::pullback::<Backwards<Self>, P>(p)
    }
}

/// Dependency analysis: values of a monoid that are propagated from results to the inputs on which they depend. Every
/// input of an operation gets the sum of the values of its results. With sets of results as the monoid, an input gets
/// the results that depend on it; with numbers, the number of paths.
pub struct Dependency<M>(PhantomData<M>);

impl<M: Monoid> Generators for Dependency<M> {
    type Cotangent<const D: usize, E: Element> = Mono<M>;

    fn pullback<T: Target, P: Primitive>(
        _: P,
    ) -> T::Hom<P1<P::Dom, Backwards<Self>>, LinFun<P2<P::Cod, Backwards<Self>>, P2<P::Dom, Backwards<Self>>>> {
        T::lspread(P::Cod::layout(), P::Dom::layout())
    }
}

/// Formal derivatives over the ring of two elements, of functions of truth values.
pub struct Booleans;

impl Generators for Booleans {
    type Cotangent<const D: usize, E: Element> = Mono<Parity>;

    fn pullback<T: Target, P: Primitive>(
        p: P,
    ) -> T::Hom<P1<P::Dom, Backwards<Self>>, LinFun<P2<P::Cod, Backwards<Self>>, P2<P::Dom, Backwards<Self>>>> {
        T::differences::<Backwards<Self>, P>(p)
    }
}

/// The types of reverse mode ("CHAD", section 7.5).
pub struct Backwards<G>(PhantomData<G>);

impl<G: Generators> Functor for Backwards<G> {
    type Arr2<const D: usize, E: Element> = G::Cotangent<D, E>;
    type Fun1<A: Obj, B: Obj> = Fun<P1<A, Self>, Prod<P1<B, Self>, LinFun<P2<B, Self>, P2<A, Self>>>>;
    type Fun2<A: Obj, B: Obj> = Copower<P1<A, Self>, P2<B, Self>>;
}

/// The types of forward mode ("CHAD", section 7.4).
pub struct Forwards;

impl Functor for Forwards {
    type Arr2<const D: usize, E: Element> = E::Tangent<D>;
    type Fun1<A: Obj, B: Obj> = Fun<P1<A, Self>, Prod<P1<B, Self>, LinFun<P2<A, Self>, P2<B, Self>>>>;
    type Fun2<A: Obj, B: Obj> = Fun<P1<A, Self>, P2<B, Self>>;
}

/// Reverse mode over a target `T`: a morphism gives a value, and the linear function from cotangents of the value to
/// cotangents of the input.
///
/// The transformation is no target itself, so it does not apply twice:
///
/// ```compile_fail,E0277
/// use polygrad::Array;
/// use polygrad::higher::Language;
/// use polygrad::interpreters::higher::{Reverse, Run};
/// fn needs<C: Language>() {}
/// needs::<Reverse<Reverse<Run<Array>>>>();
/// ```
///
/// Other generators than derivatives have no loops over arrays:
///
/// ```compile_fail,E0277
/// use polygrad::Array;
/// use polygrad::higher::Arrays;
/// use polygrad::interpreters::higher::{Booleans, Reverse, Run};
/// fn needs<C: Arrays>() {}
/// needs::<Reverse<Run<Array>, Booleans>>();
/// ```
pub struct Reverse<T, G = Derivatives>(PhantomData<(T, G)>);

/// Forward mode over a target `T`: a morphism gives a value, and the linear function from tangents of the input to
/// tangents of the value.
pub struct Forward<T>(PhantomData<T>);

impl<T: Target, G: Generators> Ccc for Reverse<T, G> {
    type Hom<A: Obj, B: Obj> =
        T::Hom<P1<A, Backwards<G>>, Prod<P1<B, Backwards<G>>, LinFun<P2<B, Backwards<G>>, P2<A, Backwards<G>>>>>;

    fn id<A: Obj>() -> Self::Hom<A, A> {
        T::pair(T::id(), T::lid())
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C> {
        // <y, y'> = f x; <z, z'> = g y
        let after = T::then(T::then(T::snd(), T::fst()), g);
        let pullback = T::lcomp(T::then(T::snd(), T::snd()), T::then(T::fst(), T::then(T::snd(), T::snd())));
        T::bind(f, T::bind(after, T::pair(T::then(T::snd(), T::fst()), pullback)))
    }

    fn unit<A: Obj>() -> Self::Hom<A, Unit> {
        T::pair(T::unit(), T::zero())
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, C>) -> Self::Hom<A, Prod<B, C>> {
        let primal = T::pair(T::then(T::fst(), T::fst()), T::then(T::snd(), T::fst()));
        let left = T::lcomp(T::lfst(), T::then(T::fst(), T::snd()));
        let right = T::lcomp(T::lsnd(), T::then(T::snd(), T::snd()));
        T::then(T::pair(f, g), T::pair(primal, T::plus(left, right)))
    }

    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A> {
        T::pair(T::fst(), T::lpair(T::lid(), T::zero()))
    }

    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B> {
        T::pair(T::snd(), T::lpair(T::zero(), T::lid()))
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Self::Hom<Prod<A, B>, C>) -> Self::Hom<A, Fun<B, C>> {
        let y = T::curry(f);
        let primal = T::curry(T::then(T::eval(), T::pair(T::fst(), T::lcomp(T::snd(), T::lsnd()))));
        let context = T::lcopowfold(T::curry(T::then(T::eval(), T::lcomp(T::snd(), T::lfst()))));
        T::then(y, T::pair(primal, context))
    }

    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B> {
        let argument = || T::then(T::fst(), T::snd());
        let pullback = T::lpair(T::singleton(argument()), T::then(T::snd(), T::snd()));
        T::bind(T::eval(), T::pair(T::then(T::snd(), T::fst()), pullback))
    }

    fn bind<C: Obj, A: Obj, B: Obj>(value: Self::Hom<C, A>, body: Self::Hom<Prod<C, A>, B>) -> Self::Hom<C, B> {
        // <x, x'> = value; <y, y'> = body: y, and v -> let <c, a> = y' v in c + x' a.
        let inner = T::then(T::pair(T::fst(), T::then(T::snd(), T::fst())), body);
        let pullback = T::lbind(T::then(T::snd(), T::snd()), T::then(T::fst(), T::then(T::snd(), T::snd())));
        T::bind(value, T::bind(inner, T::pair(T::then(T::snd(), T::fst()), pullback)))
    }
}

impl<T: Target, G: Generators> Language for Reverse<T, G> {
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod> {
        T::pair(T::primal::<Backwards<G>, P>(p.clone()), G::pullback::<T, P>(p))
    }

    fn written<A: Obj, B: Obj>(f: Self::Hom<A, B>, at: &'static Location<'static>) -> Self::Hom<A, B> {
        T::written(f, at)
    }

    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>> {
        T::pair(T::inl(), T::lcastl())
    }

    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>> {
        T::pair(T::inr(), T::lcastr())
    }

    fn case<C: Obj, A: Obj, B: Obj, R: Obj>(
        left: Self::Hom<Prod<C, A>, R>,
        right: Self::Hom<Prod<C, B>, R>,
    ) -> Self::Hom<Prod<C, Sum<A, B>>, R> {
        let back_left = T::lcomp(T::snd(), T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::linl())));
        let back_right = T::lcomp(T::snd(), T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::linr())));
        T::case(T::then(left, T::pair(T::fst(), back_left)), T::then(right, T::pair(T::fst(), back_right)))
    }

    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>> {
        T::pair(T::test(), T::zero())
    }

    /// The state of the loop is a state of the program, with the linear function from its cotangent to those of the
    /// context and of the initial state.
    fn iterate<C: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<C, S>, Sum<S, R>>) -> Self::Hom<Prod<C, S>, R> {
        // In the context ((c, (s, k)), (r, r')): r', then <c', s'> -> <c', 0> + k s'. So k runs once, and last.
        let ran = T::then(T::pair(T::fst(), T::then(T::snd(), T::fst())), step);
        let so_far = T::then(T::fst(), T::then(T::snd(), T::snd()));
        let own = T::lcomp(T::lfst(), T::lpair(T::lid(), T::zero()));
        let back = T::lcomp(T::then(T::snd(), T::snd()), T::plus(own, T::lcomp(T::lsnd(), so_far)));
        let on = T::pair(T::snd(), T::lcomp(T::linl(), T::fst()));
        let end = T::pair(T::snd(), T::lcomp(T::linr(), T::fst()));
        let which = T::case(T::then(on, T::inl()), T::then(end, T::inr()));
        let body = T::bind(ran, T::then(T::pair(back, T::then(T::snd(), T::fst())), which));
        let start = T::pair(T::fst(), T::pair(T::snd(), T::lpair(T::zero(), T::lid())));
        T::then(start, T::iterate(body))
    }

    fn roll<S: Signature>() -> Self::Hom<S::Of<Mu<S>>, Mu<S>> {
        T::pair(T::roll_primal::<Backwards<G>, S>(), T::lunroll::<Backwards<G>, _, S>())
    }

    fn unroll<S: Signature>() -> Self::Hom<Mu<S>, S::Of<Mu<S>>> {
        T::pair(T::unroll_primal::<Backwards<G>, S>(), T::lroll::<Backwards<G>, _, S>())
    }

    /// The function is recursive, and so is the function from its arguments to cotangents of the context. Both run the
    /// body, which occurs in the program once.
    fn fix<C: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<C, Fun<A, B>>, A>, B>) -> Self::Hom<C, Fun<A, B>> {
        let (shared, call) = shared_body::<T, _, _, _, _>(body);
        let primal = T::fix(T::then(call, T::pair(T::fst(), T::lcomp(T::snd(), T::lsnd()))));
        // In the context ((<<c, b>, f>, h), x): the derivative of the body at x, whose cotangent of f goes through h.
        let before = || T::then(T::fst(), T::fst());
        let at = T::pair(T::then(before(), T::snd()), T::snd());
        let ran = T::then(T::pair(T::then(before(), T::then(T::fst(), T::snd())), at), T::eval());
        let own = T::lcopowfold(T::then(T::fst(), T::snd()));
        let back = T::lcomp(T::lfst(), T::plus(T::lfst(), T::lcomp(T::lsnd(), own)));
        let context = T::lcopowfold(T::fix(T::lcomp(T::then(ran, T::snd()), back)));
        T::bind(shared, T::bind(primal, T::pair(T::snd(), context)))
    }
}

/// A body in the context `((c, f), x)` as a function of `(f, x)` in the context `c`, and the program that calls this
/// function in a context with the function beside `c`.
fn shared_body<T: Target, C: Obj, F: Obj, X: Obj, R: Obj>(
    body: T::Hom<Prod<Prod<C, F>, X>, R>,
) -> (T::Hom<C, Fun<Prod<F, X>, R>>, T::Hom<Prod<Prod<Prod<C, Fun<Prod<F, X>, R>>, F>, X>, R>) {
    let both = T::pair(T::fst(), T::then(T::snd(), T::fst()));
    let shared = T::curry(T::then(T::pair(both, T::then(T::snd(), T::snd())), body));
    let function = T::then(T::fst(), T::then(T::fst(), T::snd()));
    let call = T::then(T::pair(function, T::pair(T::then(T::fst(), T::snd()), T::snd())), T::eval());
    (shared, call)
}

impl<T: ArrayTarget> Arrays for Reverse<T> {
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        type F = Backwards<Derivatives>;
        let of_f = T::lzip::<F, _, A, B>(T::snd());
        let of_xs = T::lzip_with::<F, _, A, B, B, A>(T::fst(), T::snd());
        T::pair(T::map_primal::<F, A, B, _>(), T::lpair(of_f, of_xs))
    }

    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        type F = Backwards<Derivatives>;
        // In the context (<f, <s, xs>>, <states, last>).
        let xs = T::then(T::fst(), T::then(T::snd(), T::snd()));
        let trips = T::pair(T::then(T::snd(), T::fst()), xs);
        let back = T::lunfold::<F, _, S, A>(T::then(T::fst(), T::fst()), trips.clone());
        let of_f = T::lcomp(T::lcomp(T::lsnd(), T::lfst()), T::lzip::<F, _, Prod<S, A>, S>(trips));
        let parts = T::lpair(of_f, T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::lsnd())));
        let results = T::pair(T::then(T::snd(), T::snd()), T::lcomp(back, parts));
        T::bind(T::scan_primal::<F, S, A, _>(), results)
    }
}

impl<T: Target> Ccc for Forward<T> {
    type Hom<A: Obj, B: Obj> = T::Hom<P1<A, Forwards>, Prod<P1<B, Forwards>, LinFun<P2<A, Forwards>, P2<B, Forwards>>>>;

    fn id<A: Obj>() -> Self::Hom<A, A> {
        T::pair(T::id(), T::lid())
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C> {
        let after = T::then(T::then(T::snd(), T::fst()), g);
        let pushed = T::lcomp(T::then(T::fst(), T::then(T::snd(), T::snd())), T::then(T::snd(), T::snd()));
        T::bind(f, T::bind(after, T::pair(T::then(T::snd(), T::fst()), pushed)))
    }

    fn unit<A: Obj>() -> Self::Hom<A, Unit> {
        T::pair(T::unit(), T::zero())
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, C>) -> Self::Hom<A, Prod<B, C>> {
        let primal = T::pair(T::then(T::fst(), T::fst()), T::then(T::snd(), T::fst()));
        let pushed = T::lpair(T::then(T::fst(), T::snd()), T::then(T::snd(), T::snd()));
        T::then(T::pair(f, g), T::pair(primal, pushed))
    }

    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A> {
        T::pair(T::fst(), T::lfst())
    }

    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B> {
        T::pair(T::snd(), T::lsnd())
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Self::Hom<Prod<A, B>, C>) -> Self::Hom<A, Fun<B, C>> {
        let y = T::curry(f);
        let along = || T::lpair(T::zero(), T::lid());
        let primal = T::curry(T::then(T::eval(), T::pair(T::fst(), T::lcomp(along(), T::snd()))));
        let context = T::curry(T::then(T::eval(), T::lcomp(T::lpair(T::lid(), T::zero()), T::snd())));
        T::then(y, T::pair(primal, T::lswap(context)))
    }

    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B> {
        let context = T::lcomp(T::lfst(), T::leval(T::then(T::fst(), T::snd())));
        let argument = T::lcomp(T::lsnd(), T::then(T::snd(), T::snd()));
        T::bind(T::eval(), T::pair(T::then(T::snd(), T::fst()), T::plus(context, argument)))
    }

    fn bind<C: Obj, A: Obj, B: Obj>(value: Self::Hom<C, A>, body: Self::Hom<Prod<C, A>, B>) -> Self::Hom<C, B> {
        let inner = T::then(T::pair(T::fst(), T::then(T::snd(), T::fst())), body);
        let context = T::lpair(T::lid(), T::then(T::fst(), T::then(T::snd(), T::snd())));
        let pushed = T::lcomp(context, T::then(T::snd(), T::snd()));
        T::bind(value, T::bind(inner, T::pair(T::then(T::snd(), T::fst()), pushed)))
    }
}

impl<T: Target> Language for Forward<T> {
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod> {
        T::pair(T::primal::<Forwards, P>(p.clone()), T::pushforward::<Forwards, P>(p))
    }

    fn written<A: Obj, B: Obj>(f: Self::Hom<A, B>, at: &'static Location<'static>) -> Self::Hom<A, B> {
        T::written(f, at)
    }

    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>> {
        T::pair(T::inl(), T::linl())
    }

    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>> {
        T::pair(T::inr(), T::linr())
    }

    fn case<C: Obj, A: Obj, B: Obj, R: Obj>(
        left: Self::Hom<Prod<C, A>, R>,
        right: Self::Hom<Prod<C, B>, R>,
    ) -> Self::Hom<Prod<C, Sum<A, B>>, R> {
        let along_left = T::lcomp(T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::lcastl())), T::snd());
        let along_right = T::lcomp(T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::lcastr())), T::snd());
        T::case(T::then(left, T::pair(T::fst(), along_left)), T::then(right, T::pair(T::fst(), along_right)))
    }

    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>> {
        T::pair(T::test(), T::zero())
    }

    /// The state of the loop is a state of the program, with the linear function from the tangents of the context and
    /// of the initial state to its tangent.
    fn iterate<C: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<C, S>, Sum<S, R>>) -> Self::Hom<Prod<C, S>, R> {
        let ran = T::then(T::pair(T::fst(), T::then(T::snd(), T::fst())), step);
        let so_far = T::then(T::fst(), T::then(T::snd(), T::snd()));
        let along = T::lcomp(T::lpair(T::lfst(), so_far), T::then(T::snd(), T::snd()));
        let on = T::pair(T::snd(), T::lcomp(T::fst(), T::lcastl()));
        let end = T::pair(T::snd(), T::lcomp(T::fst(), T::lcastr()));
        let which = T::case(T::then(on, T::inl()), T::then(end, T::inr()));
        let body = T::bind(ran, T::then(T::pair(along, T::then(T::snd(), T::fst())), which));
        T::then(T::pair(T::fst(), T::pair(T::snd(), T::lsnd())), T::iterate(body))
    }

    fn roll<S: Signature>() -> Self::Hom<S::Of<Mu<S>>, Mu<S>> {
        T::pair(T::roll_primal::<Forwards, S>(), T::lroll::<Forwards, _, S>())
    }

    fn unroll<S: Signature>() -> Self::Hom<Mu<S>, S::Of<Mu<S>>> {
        T::pair(T::unroll_primal::<Forwards, S>(), T::lunroll::<Forwards, _, S>())
    }

    /// The function is recursive, and so is the function from its arguments to its tangents. Both run the body.
    fn fix<C: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<C, Fun<A, B>>, A>, B>) -> Self::Hom<C, Fun<A, B>> {
        let (shared, call) = shared_body::<T, _, _, _, _>(body);
        let along = T::lcomp(T::lpair(T::zero(), T::lid()), T::snd());
        let primal = T::fix(T::then(call, T::pair(T::fst(), along)));
        let before = || T::then(T::fst(), T::fst());
        let at = T::pair(T::then(before(), T::snd()), T::snd());
        let ran = T::then(T::pair(T::then(before(), T::then(T::fst(), T::snd())), at), T::eval());
        let own = T::lswap(T::then(T::fst(), T::snd()));
        let context = T::lpair(T::lpair(T::lid(), own), T::zero());
        let tangent = T::fix(T::lcomp(context, T::then(ran, T::snd())));
        T::bind(shared, T::bind(primal, T::pair(T::snd(), T::lswap(tangent))))
    }
}

impl<T: ArrayTarget> Arrays for Forward<T> {
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        let of_f = T::lcomp(T::lfst(), T::lmap::<Forwards, _, A, B>(T::snd()));
        let of_xs = T::lcomp(T::lsnd(), T::lzip_with::<Forwards, _, A, B, A, B>(T::fst(), T::snd()));
        T::pair(T::map_primal::<Forwards, A, B, _>(), T::plus(of_f, of_xs))
    }

    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        let xs = T::then(T::fst(), T::then(T::snd(), T::snd()));
        let trips = T::pair(T::then(T::snd(), T::fst()), xs);
        let along = T::lfold::<Forwards, _, S, A>(T::then(T::fst(), T::fst()), trips);
        T::bind(T::scan_primal::<Forwards, S, A, _>(), T::pair(T::then(T::snd(), T::snd()), along))
    }
}

/// An array has a rank, whatever its cotangents are.
const _: fn() = || {
    fn linear<A: Linear>() {}
    linear::<P2<Arr<1>, Backwards<Derivatives>>>();
};
