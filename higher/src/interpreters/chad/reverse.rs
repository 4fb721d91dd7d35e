//! Reverse mode: the rules of "CHAD", section 7.5.

use std::panic::Location;

use super::{Backwards, Generators, Reverse};
use crate::linear::{P1, P2};
use crate::object::{PrimalParts, RowsOf, TangentParts};
use crate::{
    ArrayTarget, Arrays, Ccc, Fun, Language, LinFun, Mask, Obj, Primitive, Prod, Recursive, Stack, Sum, Target,
    TypeParts, Unit,
};

impl<T: Target, G: Generators> Ccc for Reverse<T, G> {
    type Hom<A: Obj, B: Obj> =
        T::Hom<P1<A, Backwards<G>>, Prod<P1<B, Backwards<G>>, LinFun<P2<B, Backwards<G>>, P2<A, Backwards<G>>>>>;

    fn retyped<A: Obj, B: Obj, X: Obj, Y: Obj>(f: Self::Hom<A, B>) -> Self::Hom<X, Y> {
        T::retyped(f)
    }

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
        T::pair(T::primal(p.clone()), G::pullback::<T, P, _, _, _>(p))
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

    fn iterate<C: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<C, S>, Sum<S, R>>) -> Self::Hom<Prod<C, S>, R> {
        T::iterate_pulled(step)
    }

    fn roll<K: TypeParts>() -> Self::Hom<K::Of, Recursive<K>> {
        T::pair(T::roll::<PrimalParts<K, Backwards<G>>>(), T::lunroll::<_, TangentParts<K, Backwards<G>>>())
    }

    fn unroll<K: TypeParts>() -> Self::Hom<Recursive<K>, K::Of> {
        T::pair(T::unroll::<PrimalParts<K, Backwards<G>>>(), T::lroll::<_, TangentParts<K, Backwards<G>>>())
    }

    fn fix<C: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<C, Fun<A, B>>, A>, B>) -> Self::Hom<C, Fun<A, B>> {
        T::fix_pulled(body)
    }
}

impl<T: ArrayTarget> Arrays for Reverse<T> {
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        Self::map_over::<RowsOf<A>, RowsOf<B>>()
    }

    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        Self::fold_over::<RowsOf<S>, RowsOf<A>>()
    }
}
