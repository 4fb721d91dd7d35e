//! `Both<C, D>`: two instances at once, so that a program is compiled once for all instances that a test asks.
//!
//! A morphism is one of each instance. Instances nest on the right: `Both<C, Both<D, E>>` is three. Below
//! [`Erased`] rules are compiled once for all types, too. Law: the part of a program that belongs to an instance is the
//! program at that instance.

use std::marker::PhantomData;
use std::panic::Location;

use polygrad::interpreters::Count;
use polygrad::program::Term;
use polygrad::{ADVal, Array, Dual};
use polygrad_higher::interpreters::erased::Any;
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Erased, Forward, Reverse, Run, Syntax};
use polygrad_higher::{
    Arrays, Ccc, Differential, Expr, Fun, Ground, Language, Mask, Obj, Primitive, Prod, Recursive, Stack, Sum,
    TypeParts, Unit,
};

pub(crate) struct Both<C, D>(PhantomData<(C, D)>);

/// A morphism of each.
type Homs<C, D, A, B> = (<C as Ccc>::Hom<A, B>, <D as Ccc>::Hom<A, B>);

impl<C: Ccc, D: Ccc> Ccc for Both<C, D> {
    type Hom<A: Obj, B: Obj> = Homs<C, D, A, B>;

    fn retyped<A: Obj, B: Obj, X: Obj, Y: Obj>(f: Homs<C, D, A, B>) -> Homs<C, D, X, Y> {
        (C::retyped(f.0), D::retyped(f.1))
    }
    fn id<A: Obj>() -> Self::Hom<A, A> {
        (C::id(), D::id())
    }
    fn then<A: Obj, B: Obj, X: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, X>) -> Self::Hom<A, X> {
        (C::then(f.0, g.0), D::then(f.1, g.1))
    }
    fn unit<A: Obj>() -> Self::Hom<A, Unit> {
        (C::unit(), D::unit())
    }
    fn pair<A: Obj, B: Obj, X: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, X>) -> Self::Hom<A, Prod<B, X>> {
        (C::pair(f.0, g.0), D::pair(f.1, g.1))
    }
    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A> {
        (C::fst(), D::fst())
    }
    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B> {
        (C::snd(), D::snd())
    }
    fn curry<A: Obj, B: Obj, X: Obj>(f: Self::Hom<Prod<A, B>, X>) -> Self::Hom<A, Fun<B, X>> {
        (C::curry(f.0), D::curry(f.1))
    }
    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B> {
        (C::eval(), D::eval())
    }
    fn bind<G: Obj, A: Obj, B: Obj>(value: Self::Hom<G, A>, body: Self::Hom<Prod<G, A>, B>) -> Self::Hom<G, B> {
        (C::bind(value.0, body.0), D::bind(value.1, body.1))
    }
}

impl<C: Language, D: Language> Language for Both<C, D> {
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod> {
        (C::prim(p.clone()), D::prim(p))
    }
    fn written<A: Obj, B: Obj>(f: Self::Hom<A, B>, place: &'static Location<'static>) -> Self::Hom<A, B> {
        (C::written(f.0, place), D::written(f.1, place))
    }
    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>> {
        (C::inl(), D::inl())
    }
    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>> {
        (C::inr(), D::inr())
    }
    fn case<G: Obj, A: Obj, B: Obj, X: Obj>(
        left: Self::Hom<Prod<G, A>, X>,
        right: Self::Hom<Prod<G, B>, X>,
    ) -> Self::Hom<Prod<G, Sum<A, B>>, X> {
        (C::case(left.0, right.0), D::case(left.1, right.1))
    }
    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>> {
        (C::test(), D::test())
    }
    fn iterate<G: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<G, S>, Sum<S, R>>) -> Self::Hom<Prod<G, S>, R> {
        (C::iterate(step.0), D::iterate(step.1))
    }
    fn roll<K: TypeParts>() -> Self::Hom<K::Of, Recursive<K>> {
        (C::roll(), D::roll())
    }
    fn unroll<K: TypeParts>() -> Self::Hom<Recursive<K>, K::Of> {
        (C::unroll(), D::unroll())
    }
    fn fix<G: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<G, Fun<A, B>>, A>, B>) -> Self::Hom<G, Fun<A, B>> {
        (C::fix(body.0), D::fix(body.1))
    }
}

impl<C: Arrays, D: Arrays> Arrays for Both<C, D> {
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        (C::map::<A, B>(), D::map::<A, B>())
    }
    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        (C::fold::<S, A>(), D::fold::<S, A>())
    }
}

impl<C: Differential, D: Differential> Differential for Both<C, D> {
    fn vjp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>> {
        (C::vjp::<A, B>(), D::vjp::<A, B>())
    }
    fn jvp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>> {
        (C::jvp::<A, B>(), D::jvp::<A, B>())
    }
}

/// The place of an instance among several: the first, one of the others, or the only one.
pub(crate) struct First;
pub(crate) struct Later<I>(PhantomData<I>);
pub(crate) struct Only;

/// Instances of which one is `T`, at the place `I`.
pub(crate) trait Has<T: Ccc, I>: Ccc {
    fn part<A: Obj, B: Obj>(all: &Self::Hom<A, B>) -> &T::Hom<A, B>;
}

impl<T: Ccc> Has<T, Only> for T {
    fn part<A: Obj, B: Obj>(all: &Self::Hom<A, B>) -> &T::Hom<A, B> {
        all
    }
}

impl<T: Ccc, D: Ccc> Has<T, First> for Both<T, D> {
    fn part<A: Obj, B: Obj>(all: &Self::Hom<A, B>) -> &T::Hom<A, B> {
        &all.0
    }
}

impl<T: Ccc, C: Ccc, D: Has<T, I>, I> Has<T, Later<I>> for Both<C, D> {
    fn part<A: Obj, B: Obj>(all: &Self::Hom<A, B>) -> &T::Hom<A, B> {
        D::part(&all.1)
    }
}

/// A program at several instances.
pub(crate) struct Everywhere<P: Ccc, A, B> {
    all: P::Hom<Any, Any>,
    types: PhantomData<(A, B)>,
}

impl<P: Ccc, A: Obj, B: Obj> Everywhere<P, A, B> {
    pub(crate) fn new(program: Expr<Erased<P>, A, B>) -> Self {
        Everywhere { all: program.hom(), types: PhantomData }
    }

    /// The program at one of the instances.
    pub(crate) fn at<T: Ccc, I>(&self) -> Expr<T, A, B>
    where
        P: Has<T, I>,
    {
        Expr::of(T::retyped(P::part(&self.all).clone()))
    }

    /// The program at one of the instances, still without types.
    pub(crate) fn untyped<T: Ccc, I>(&self) -> Expr<Erased<T>, A, B>
    where
        P: Has<T, I>,
    {
        Expr::of(P::part(&self.all).clone())
    }
}

/// Several instances, one within the other.
macro_rules! nested {
    ($C:ty) => { $C };
    ($C:ty, $($D:ty),+) => { Both<$C, nested!($($D),+)> };
}

/// The instances that most tests ask. A program is compiled once for all.
pub(crate) type All = nested!(
    Run<Array>,
    Reverse<Run<Array>>,
    Forward<Run<Array>>,
    CurryLists<Array>,
    CurryClosures<Array>,
    Run<ADVal<Array>>,
    Run<Dual<Array>>,
    Run<Term>,
    Reverse<Run<Term>>,
    CurryLists<Term>,
    CurryClosures<Term>,
    CurryClosures<Count<Array>>,
    Syntax
);

/// Those, and the texts of derivatives, of programs without derivatives as terms.
pub(crate) type Texts = nested!(Reverse<Syntax>, Forward<Syntax>, All);

/// A program at the instances that most tests ask.
pub(crate) fn everywhere<A: Obj, B: Obj>(program: Expr<Erased<All>, A, B>) -> Everywhere<All, A, B> {
    Everywhere::new(program)
}

/// A program at these, and the texts of its derivatives.
pub(crate) fn with_texts<A: Obj, B: Obj>(program: Expr<Erased<Texts>, A, B>) -> Everywhere<Texts, A, B> {
    Everywhere::new(program)
}

type Rev<T> = Erased<Reverse<T>>;
type Fwd<T> = Erased<Forward<T>>;

/// Those, and the four orders of both modes of differentiation.
pub(crate) type SecondOrder = nested!(
    Reverse<Rev<Run<Array>>>,
    Reverse<Fwd<Run<Array>>>,
    Forward<Rev<Run<Array>>>,
    Forward<Fwd<Run<Array>>>,
    Texts
);

/// A program at these, and differentiated twice.
pub(crate) fn to_second_order<A: Obj, B: Obj>(
    program: Expr<Erased<SecondOrder>, A, B>,
) -> Everywhere<SecondOrder, A, B> {
    Everywhere::new(program)
}
