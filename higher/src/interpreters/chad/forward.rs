//! Forward mode: the rules of "CHAD", section 7.4.

use std::panic::Location;

use super::{Forward, Forwards};
use crate::linear::{P1, P2, shared_body};
use crate::object::{PrimalParts, RowsOf, TangentParts};
use crate::{
    ArrayTarget, Arrays, Ccc, Fun, Language, LinFun, Mask, Obj, Primitive, Prod, Recursive, Stack, Sum, Target,
    TypeParts, Unit,
};

impl<T: Target> Ccc for Forward<T> {
    type Hom<A: Obj, B: Obj> = T::Hom<P1<A, Forwards>, Prod<P1<B, Forwards>, LinFun<P2<A, Forwards>, P2<B, Forwards>>>>;

    fn retyped<A: Obj, B: Obj, X: Obj, Y: Obj>(f: Self::Hom<A, B>) -> Self::Hom<X, Y> {
        T::retyped(f)
    }

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
        T::pair(T::primal(p.clone()), T::pushforward::<P, _, _, _>(p))
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

    fn roll<K: TypeParts>() -> Self::Hom<K::Of, Recursive<K>> {
        T::pair(T::roll::<PrimalParts<K, Forwards>>(), T::lroll::<_, TangentParts<K, Forwards>>())
    }

    fn unroll<K: TypeParts>() -> Self::Hom<Recursive<K>, K::Of> {
        T::pair(T::unroll::<PrimalParts<K, Forwards>>(), T::lunroll::<_, TangentParts<K, Forwards>>())
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
        Self::map_over::<RowsOf<A>, RowsOf<B>>()
    }

    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        Self::fold_over::<RowsOf<S>, RowsOf<A>>()
    }
}
