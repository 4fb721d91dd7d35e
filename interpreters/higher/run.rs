//! `Run<T>`: evaluation. The meaning of a program is a function of values, with tensors of any interpreter `T`.
//!
//! Laws: at `T = Array`, this instance is the reference. At an interpreter that records, the result is a first-order
//! program, since all functions have been applied. A transformation over this instance evaluates the transformed
//! program.

use std::marker::PhantomData;
use std::panic::Location;

use super::linear::Lin;
use super::untyped::{
    applied, both, case, choice, constantly, curry, differences, first, fix, fold, fold_tangents, iterate, left, map,
    map_function, map_primal, nil, of_value, of_values, pair, placed, plain, primitive, pulled, pushed, right, rolled,
    same, scan_primal, second, spread, sum, then, unfold, zero, zip, zip_with,
};
use super::value::{Closure, Val};
use crate::base::BaseTensor;
use crate::higher::linear::{P1, P2, WithLinear};
use crate::higher::{
    ArrayTarget, Arrays, Ccc, Copower, Fun, Functor, Language, Layout, LinFun, LinSum, Linear, Mask, Mu, Obj,
    Primitive, Prod, Signature, Stack, Sum, Target, Unit,
};

/// Evaluation with tensors of the interpreter `T`.
pub struct Run<T>(PhantomData<T>);

/// A morphism of the types that the context determines. A macro, since a function would be instantiated for each pair
/// of types.
macro_rules! typed {
    ($run:expr) => {
        Morphism { run: $run, types: PhantomData }
    };
}

/// A program from `A` to `B`, to be run.
pub struct Morphism<T: 'static, A, B> {
    pub(super) run: Closure<T>,
    types: PhantomData<fn(A) -> B>,
}

impl<T, A, B> Clone for Morphism<T, A, B> {
    fn clone(&self) -> Self {
        Morphism { run: self.run.clone(), types: PhantomData }
    }
}

impl<T: BaseTensor, A, B> Morphism<T, A, B> {
    /// The same morphism at other types.
    pub(super) fn retyped<C, D>(self) -> Morphism<T, C, D> {
        typed!(self.run)
    }

    /// The result at a value, which must be one of type `A`.
    pub(crate) fn at(&self, x: Val<T>) -> Val<T> {
        self.run.at(x)
    }
}

impl<T: BaseTensor> Ccc for Run<T> {
    type Hom<A: Obj, B: Obj> = Morphism<T, A, B>;

    fn id<A: Obj>() -> Morphism<T, A, A> {
        typed!(plain(same))
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Morphism<T, A, B>, g: Morphism<T, B, C>) -> Morphism<T, A, C> {
        typed!(then(f.run, g.run))
    }

    fn unit<A: Obj>() -> Morphism<T, A, Unit> {
        typed!(plain(nil))
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Morphism<T, A, B>, g: Morphism<T, A, C>) -> Morphism<T, A, Prod<B, C>> {
        typed!(pair(f.run, g.run))
    }

    fn fst<A: Obj, B: Obj>() -> Morphism<T, Prod<A, B>, A> {
        typed!(plain(first))
    }

    fn snd<A: Obj, B: Obj>() -> Morphism<T, Prod<A, B>, B> {
        typed!(plain(second))
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Morphism<T, Prod<A, B>, C>) -> Morphism<T, A, Fun<B, C>> {
        typed!(curry(f.run))
    }

    fn eval<A: Obj, B: Obj>() -> Morphism<T, Prod<Fun<A, B>, A>, B> {
        typed!(plain(applied))
    }
}

impl<T: BaseTensor> Language for Run<T> {
    fn prim<P: Primitive>(p: P) -> Morphism<T, P::Dom, P::Cod> {
        typed!(primitive(p))
    }

    fn written<A: Obj, B: Obj>(f: Morphism<T, A, B>, at: &'static Location<'static>) -> Morphism<T, A, B> {
        typed!(placed(f.run, at))
    }

    fn inl<A: Obj, B: Obj>() -> Morphism<T, A, Sum<A, B>> {
        typed!(plain(left))
    }

    fn inr<A: Obj, B: Obj>() -> Morphism<T, B, Sum<A, B>> {
        typed!(plain(right))
    }

    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Morphism<T, Prod<G, A>, C>,
        right: Morphism<T, Prod<G, B>, C>,
    ) -> Morphism<T, Prod<G, Sum<A, B>>, C> {
        typed!(case(left.run, right.run))
    }

    fn test() -> Morphism<T, Mask, Sum<Unit, Unit>> {
        typed!(plain(choice))
    }

    fn iterate<G: Obj, S: Obj, R: Obj>(step: Morphism<T, Prod<G, S>, Sum<S, R>>) -> Morphism<T, Prod<G, S>, R> {
        typed!(iterate(step.run))
    }

    fn roll<S: Signature>() -> Morphism<T, S::Of<Mu<S>>, Mu<S>> {
        typed!(plain(rolled))
    }

    fn unroll<S: Signature>() -> Morphism<T, Mu<S>, S::Of<Mu<S>>> {
        typed!(plain(same))
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Morphism<T, Prod<Prod<G, Fun<A, B>>, A>, B>) -> Morphism<T, G, Fun<A, B>> {
        typed!(fix(body.run))
    }
}

impl<T: BaseTensor> Target for Run<T> {
    fn primal<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, P1<P::Cod, F>> {
        typed!(primitive(p))
    }

    fn pushforward<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, LinFun<P2<P::Dom, F>, P2<P::Cod, F>>> {
        typed!(pushed(p))
    }

    fn pullback<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, LinFun<P2<P::Cod, F>, P2<P::Dom, F>>> {
        typed!(pulled(p))
    }

    fn differences<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, LinFun<P2<P::Cod, F>, P2<P::Dom, F>>> {
        typed!(differences(p))
    }

    fn lspread<G: Obj, A: Linear, B: Linear>(from: Layout, to: Layout) -> Morphism<T, G, LinFun<A, B>> {
        typed!(spread(from, to))
    }

    fn zero<G: Obj, A: Linear>() -> Morphism<T, G, A> {
        typed!(plain(zero))
    }

    fn plus<G: Obj, A: Linear>(a: Morphism<T, G, A>, b: Morphism<T, G, A>) -> Morphism<T, G, A> {
        typed!(sum(a.run, b.run))
    }

    fn lid<G: Obj, A: Linear>() -> Morphism<T, G, LinFun<A, A>> {
        typed!(constantly(Lin::id))
    }

    fn lcomp<G: Obj, A: Linear, B: Linear, C: Linear>(
        f: Morphism<T, G, LinFun<A, B>>,
        g: Morphism<T, G, LinFun<B, C>>,
    ) -> Morphism<T, G, LinFun<A, C>> {
        typed!(both(f.run, g.run, Lin::then))
    }

    fn lpair<G: Obj, A: Linear, B: Linear, C: Linear>(
        f: Morphism<T, G, LinFun<A, B>>,
        g: Morphism<T, G, LinFun<A, C>>,
    ) -> Morphism<T, G, LinFun<A, Prod<B, C>>> {
        typed!(both(f.run, g.run, Lin::pair))
    }

    fn lfst<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<Prod<A, B>, A>> {
        typed!(constantly(Lin::fst))
    }

    fn lsnd<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<Prod<A, B>, B>> {
        typed!(constantly(Lin::snd))
    }

    fn lswap<G: Obj, A: Obj, B: Linear, C: Linear>(
        f: Morphism<T, G, Fun<A, LinFun<B, C>>>,
    ) -> Morphism<T, G, LinFun<B, Fun<A, C>>> {
        typed!(of_value(f.run, Lin::swap))
    }

    fn leval<G: Obj, A: Obj, B: Linear>(a: Morphism<T, G, A>) -> Morphism<T, G, LinFun<Fun<A, B>, B>> {
        typed!(of_value(a.run, Lin::eval))
    }

    fn singleton<G: Obj, A: Obj, B: Linear>(a: Morphism<T, G, A>) -> Morphism<T, G, LinFun<B, Copower<A, B>>> {
        typed!(of_value(a.run, Lin::singleton))
    }

    fn lcopowfold<G: Obj, A: Obj, B: Linear, C: Linear>(
        f: Morphism<T, G, Fun<A, LinFun<B, C>>>,
    ) -> Morphism<T, G, LinFun<Copower<A, B>, C>> {
        typed!(of_value(f.run, Lin::fold))
    }

    fn lbind<G: Obj, A: Linear, B: Linear, C: Linear>(
        body: Morphism<T, G, LinFun<A, Prod<B, C>>>,
        value: Morphism<T, G, LinFun<C, B>>,
    ) -> Morphism<T, G, LinFun<A, B>> {
        typed!(both(body.run, value.run, Lin::bind))
    }

    fn linl<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<A, LinSum<A, B>>> {
        typed!(constantly(Lin::inl))
    }

    fn linr<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<B, LinSum<A, B>>> {
        typed!(constantly(Lin::inr))
    }

    fn lcastl<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<LinSum<A, B>, A>> {
        typed!(constantly(Lin::cast_left))
    }

    fn lcastr<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<LinSum<A, B>, B>> {
        typed!(constantly(Lin::cast_right))
    }

    fn roll_primal<F: Functor, S: Signature>() -> Morphism<T, P1<S::Of<Mu<S>>, F>, P1<Mu<S>, F>> {
        typed!(plain(rolled))
    }

    fn unroll_primal<F: Functor, S: Signature>() -> Morphism<T, P1<Mu<S>, F>, P1<S::Of<Mu<S>>, F>> {
        typed!(plain(same))
    }

    fn lroll<F: Functor, G: Obj, S: Signature>() -> Morphism<T, G, LinFun<P2<S::Of<Mu<S>>, F>, P2<Mu<S>, F>>> {
        typed!(constantly(Lin::id))
    }

    fn lunroll<F: Functor, G: Obj, S: Signature>() -> Morphism<T, G, LinFun<P2<Mu<S>, F>, P2<S::Of<Mu<S>>, F>>> {
        typed!(constantly(Lin::id))
    }
}

impl<T: BaseTensor> Arrays for Run<T> {
    fn map<A: Stack, B: Stack>() -> Morphism<T, Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        typed!(plain(map))
    }

    fn fold<S: Stack, A: Stack>() -> Morphism<T, Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        typed!(plain(fold))
    }
}

impl<T: BaseTensor> ArrayTarget for Run<T> {
    fn map_primal<F: Functor, A: Stack, B: Stack, L: Linear>()
    -> Morphism<T, Prod<WithLinear<P1<A, F>, P1<B, F>, L>, P1<A::Stacked, F>>, P1<B::Stacked, F>> {
        typed!(plain(map_primal))
    }

    fn scan_primal<F: Functor, S: Stack, A: Stack, L: Linear>() -> Morphism<
        T,
        Prod<WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, L>, Prod<P1<S, F>, P1<A::Stacked, F>>>,
        Prod<P1<S::Stacked, F>, P1<S, F>>,
    > {
        typed!(plain(scan_primal))
    }

    fn lzip<F: Functor, G: Obj, A: Stack, B: Stack>(
        xs: Morphism<T, G, P1<A::Stacked, F>>,
    ) -> Morphism<T, G, LinFun<P2<B::Stacked, F>, Copower<P1<A, F>, P2<B, F>>>> {
        typed!(of_value(xs.run, zip))
    }

    fn lzip_with<F: Functor, G: Obj, A: Stack, B: Stack, V: Stack, W: Stack>(
        f: Morphism<T, G, WithLinear<P1<A, F>, P1<B, F>, LinFun<P2<V, F>, P2<W, F>>>>,
        xs: Morphism<T, G, P1<A::Stacked, F>>,
    ) -> Morphism<T, G, LinFun<P2<V::Stacked, F>, P2<W::Stacked, F>>> {
        typed!(of_values(f.run, xs.run, zip_with))
    }

    fn lmap<F: Functor, G: Obj, A: Stack, B: Stack>(
        xs: Morphism<T, G, P1<A::Stacked, F>>,
    ) -> Morphism<T, G, LinFun<Fun<P1<A, F>, P2<B, F>>, P2<B::Stacked, F>>> {
        typed!(of_value(xs.run, map_function))
    }

    fn lunfold<F: Functor, G: Obj, S: Stack, A: Stack>(
        f: Morphism<T, G, WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, LinFun<P2<S, F>, Prod<P2<S, F>, P2<A, F>>>>>,
        trips: Morphism<T, G, Prod<P1<S::Stacked, F>, P1<A::Stacked, F>>>,
    ) -> Morphism<T, G, LinFun<P2<S, F>, Prod<P2<S, F>, Prod<P2<S::Stacked, F>, P2<A::Stacked, F>>>>> {
        typed!(of_values(f.run, trips.run, unfold))
    }

    fn lfold<F: Functor, G: Obj, S: Stack, A: Stack>(
        f: Morphism<T, G, WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, LinFun<Prod<P2<S, F>, P2<A, F>>, P2<S, F>>>>,
        trips: Morphism<T, G, Prod<P1<S::Stacked, F>, P1<A::Stacked, F>>>,
    ) -> Morphism<
        T,
        G,
        LinFun<Prod<Fun<Prod<P1<S, F>, P1<A, F>>, P2<S, F>>, Prod<P2<S, F>, P2<A::Stacked, F>>>, P2<S, F>>,
    > {
        typed!(of_values(f.run, trips.run, fold_tangents))
    }
}
