//! `Run<T>`: evaluation. The meaning of a program is a function of values, with tensors of any interpreter `T`.
//!
//! Laws: at `T = Array`, this instance is the reference. At an interpreter that records, the result is a first-order
//! program, since all functions have been applied. A transformation over this instance evaluates the transformed
//! program.

use std::marker::PhantomData;
use std::panic::Location;

use polygrad::base::BaseTensor;

use super::Tower;
use super::chad::{Forward, Reverse};
use super::compositions::fold;
use super::curry::{Calls, FunctionTangent};
use super::differential::{Kinds, jvp, jvp_forward, jvp_reverse, vjp, vjp_forward, vjp_reverse};
use super::machine::then;
use super::recorded::iterate_pulled;
use super::recorded_recursion::fix;
use super::untyped::{
    accumulate, applied, applied_linear, as_linear, both, case, choice, constantly, copower_sum, curry, differences,
    first, iterate, left, linear_loop, map, map_function, nil, of_value, of_values, pair, plain, primitive, pulled,
    pushed, right, same, second, spread, sum, zero, zip, zip_with,
};
use super::value::{Closure, Lin, Val};
use crate::linear::LinearStep;
use crate::{
    ArrayTarget, Arrays, Ccc, Copower, Differential, Fun, Ground, Language, Layout, LinFun, LinSum, Mask, Obj,
    Primitive, Prod, Recursive, Stack, Stacks, Sum, Target, TypeParts, Unit,
};

fn fix_by_calls<T: BaseTensor>(body: Closure<Tower<T>>) -> Closure<Tower<T>> {
    Closure::new(move |g| Calls::fix(body.clone(), g))
}

/// Evaluation with tensors of the interpreter `T`.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::{Morphism, Run};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1};
/// fn square<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| x.at() * x.at())
/// }
/// let morphism: Morphism<Array, Real, Real> = square::<Run<Array>>().hom();
/// assert_eq!(higher::run(Expr::of(morphism), &tensor(3.0)), tensor(9.0));
/// ```
pub struct Run<T>(PhantomData<T>);

/// A morphism of the types that the context determines. A macro, since a function would be instantiated for each pair
/// of types.
macro_rules! typed {
    ($run:expr) => {
        Morphism { run: $run, types: PhantomData }
    };
}

/// A program from `A` to `B`, to be run.
///
/// Example: [`Run`].
pub struct Morphism<T: 'static, A, B> {
    run: Closure<Tower<T>>,
    types: PhantomData<fn(A) -> B>,
}

impl<T, A, B> Clone for Morphism<T, A, B> {
    fn clone(&self) -> Self {
        Morphism { run: self.run.clone(), types: PhantomData }
    }
}

impl<T: BaseTensor, A, B> Morphism<T, A, B> {
    /// The result at a value, which must be one of type `A`.
    pub(crate) fn at(&self, x: Val<Tower<T>>) -> Val<Tower<T>> {
        self.run.at(x)
    }
}

impl<T: BaseTensor> Ccc for Run<T> {
    type Hom<A: Obj, B: Obj> = Morphism<T, A, B>;

    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D> {
        typed!(f.run)
    }

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
        typed!(applied())
    }
}

impl<T: BaseTensor> Language for Run<T> {
    fn prim<P: Primitive>(p: P) -> Morphism<T, P::Dom, P::Cod> {
        typed!(primitive(p))
    }

    fn written<A: Obj, B: Obj>(f: Morphism<T, A, B>, at: &'static Location<'static>) -> Morphism<T, A, B> {
        typed!(f.run.placed(at))
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

    fn roll<K: TypeParts>() -> Morphism<T, K::Of, Recursive<K>> {
        typed!(plain(same))
    }

    fn unroll<K: TypeParts>() -> Morphism<T, Recursive<K>, K::Of> {
        typed!(plain(same))
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Morphism<T, Prod<Prod<G, Fun<A, B>>, A>, B>) -> Morphism<T, G, Fun<A, B>> {
        typed!(fix(body.run))
    }
}

impl<T: BaseTensor> Target for Run<T> {
    /// The loop keeps the linear functions of its steps itself, so it may be recorded where its end is not known.
    fn iterate_pulled<G: Obj, S: Obj, R: Obj, W: Obj, Q: Obj, V: Obj>(
        step: Morphism<T, Prod<G, S>, Prod<Sum<S, R>, LinFun<LinSum<W, Q>, Prod<V, W>>>>,
    ) -> Morphism<T, Prod<G, S>, Prod<R, LinFun<Q, Prod<V, W>>>> {
        // The tangent of a function is a formal sum of its calls.
        typed!(iterate_pulled(step.run, |_| None))
    }

    /// The tangent of a function is a formal sum of its calls.
    fn fix_pulled<G: Obj, A: Obj, B: Obj, W: Obj, V: Obj, U: Obj>(
        body: Morphism<
            T,
            Prod<Prod<G, Fun<A, Prod<B, LinFun<W, V>>>>, A>,
            Prod<B, LinFun<W, Prod<Prod<U, Copower<A, W>>, V>>>,
        >,
    ) -> Morphism<T, G, Prod<Fun<A, Prod<B, LinFun<W, V>>>, LinFun<Copower<A, W>, U>>> {
        typed!(fix_by_calls(body.run))
    }

    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Morphism<T, A, B> {
        typed!(primitive(p))
    }

    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Morphism<T, A, LinFun<V, W>> {
        typed!(pushed(p))
    }

    fn pullback<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Morphism<T, A, LinFun<W, V>> {
        typed!(pulled(p))
    }

    fn differences<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Morphism<T, A, LinFun<W, V>> {
        typed!(differences(p))
    }

    fn lspread<G: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Morphism<T, G, LinFun<A, B>> {
        typed!(spread(from, to))
    }

    fn zero<G: Obj, A: Obj>() -> Morphism<T, G, A> {
        typed!(plain(zero))
    }

    fn plus<G: Obj, A: Obj>(a: Morphism<T, G, A>, b: Morphism<T, G, A>) -> Morphism<T, G, A> {
        typed!(sum(a.run, b.run))
    }

    fn lapp<G: Obj, A: Obj, B: Obj>(f: Morphism<T, G, LinFun<A, B>>, v: Morphism<T, G, A>) -> Morphism<T, G, B> {
        typed!(applied_linear(f.run, v.run))
    }

    fn lid<G: Obj, A: Obj>() -> Morphism<T, G, LinFun<A, A>> {
        typed!(constantly(Lin::id))
    }

    fn lcomp<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Morphism<T, G, LinFun<A, B>>,
        g: Morphism<T, G, LinFun<B, C>>,
    ) -> Morphism<T, G, LinFun<A, C>> {
        typed!(both(f.run, g.run, Lin::then))
    }

    fn lpair<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Morphism<T, G, LinFun<A, B>>,
        g: Morphism<T, G, LinFun<A, C>>,
    ) -> Morphism<T, G, LinFun<A, Prod<B, C>>> {
        typed!(both(f.run, g.run, Lin::pair))
    }

    fn lfst<G: Obj, A: Obj, B: Obj>() -> Morphism<T, G, LinFun<Prod<A, B>, A>> {
        typed!(constantly(Lin::fst))
    }

    fn lsnd<G: Obj, A: Obj, B: Obj>() -> Morphism<T, G, LinFun<Prod<A, B>, B>> {
        typed!(constantly(Lin::snd))
    }

    fn lswap<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Morphism<T, G, Fun<A, LinFun<B, C>>>,
    ) -> Morphism<T, G, LinFun<B, Fun<A, C>>> {
        typed!(of_value(f.run, Lin::swap))
    }

    fn leval<G: Obj, A: Obj, B: Obj>(a: Morphism<T, G, A>) -> Morphism<T, G, LinFun<Fun<A, B>, B>> {
        typed!(of_value(a.run, Lin::eval))
    }

    fn singleton<G: Obj, A: Obj, B: Obj>(a: Morphism<T, G, A>) -> Morphism<T, G, LinFun<B, Copower<A, B>>> {
        typed!(of_value(a.run, Lin::singleton))
    }

    fn lcopowfold<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Morphism<T, G, Fun<A, LinFun<B, C>>>,
    ) -> Morphism<T, G, LinFun<Copower<A, B>, C>> {
        typed!(of_value(f.run, Lin::fold))
    }

    fn lcopowsum<G: Obj, A: Obj, B: Obj, C: Obj>(
        f: Morphism<T, G, Fun<Prod<A, B>, C>>,
    ) -> Morphism<T, G, LinFun<Copower<A, B>, C>> {
        typed!(of_value(f.run, copower_sum))
    }

    fn linear<G: Obj, A: Obj, B: Obj>(f: Morphism<T, G, Fun<A, B>>) -> Morphism<T, G, LinFun<A, B>> {
        typed!(of_value(f.run, as_linear))
    }

    fn lbind<G: Obj, A: Obj, B: Obj, C: Obj>(
        body: Morphism<T, G, LinFun<A, Prod<B, C>>>,
        value: Morphism<T, G, LinFun<C, B>>,
    ) -> Morphism<T, G, LinFun<A, B>> {
        typed!(both(body.run, value.run, Lin::bind))
    }

    fn linl<G: Obj, A: Obj, B: Obj>() -> Morphism<T, G, LinFun<A, LinSum<A, B>>> {
        typed!(constantly(Lin::inl))
    }

    fn linr<G: Obj, A: Obj, B: Obj>() -> Morphism<T, G, LinFun<B, LinSum<A, B>>> {
        typed!(constantly(Lin::inr))
    }

    fn lcastl<G: Obj, A: Obj, B: Obj>() -> Morphism<T, G, LinFun<LinSum<A, B>, A>> {
        typed!(constantly(Lin::cast_left))
    }

    fn lcastr<G: Obj, A: Obj, B: Obj>() -> Morphism<T, G, LinFun<LinSum<A, B>, B>> {
        typed!(constantly(Lin::cast_right))
    }

    fn lroll<G: Obj, K: TypeParts>() -> Morphism<T, G, LinFun<K::Of, Recursive<K>>> {
        typed!(constantly(Lin::id))
    }

    fn lunroll<G: Obj, K: TypeParts>() -> Morphism<T, G, LinFun<Recursive<K>, K::Of>> {
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

impl<T: BaseTensor> Differential for Run<T> {
    fn vjp<A: Ground, B: Ground>() -> Morphism<T, Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>> {
        typed!(vjp(Kinds::of::<A, B>()))
    }

    fn jvp<A: Ground, B: Ground>() -> Morphism<T, Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>> {
        typed!(jvp())
    }
}

/// The derivatives of functions by CHAD, over evaluation: cotangents of functions are formal sums of their calls.
impl<T: BaseTensor> Differential for Reverse<Run<T>> {
    fn vjp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>> {
        typed!(vjp_reverse::<T, Calls>())
    }

    fn jvp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>> {
        typed!(jvp_reverse::<T, Calls>())
    }
}

impl<T: BaseTensor> Differential for Forward<Run<T>> {
    fn vjp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>> {
        typed!(vjp_forward(Kinds::of::<A, B>()))
    }

    fn jvp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>> {
        typed!(jvp_forward())
    }
}

impl<T: BaseTensor> ArrayTarget for Run<T> {
    fn map_over<A: Stacks, B: Stacks>() -> Morphism<T, Prod<Fun<A::One, B::One>, A::Many>, B::Many> {
        typed!(plain(map))
    }

    fn fold_over<S: Stacks, A: Stacks>()
    -> Morphism<T, Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One> {
        typed!(plain(fold))
    }

    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(
        reverse: bool,
    ) -> Morphism<T, Prod<Fun<Prod<S::One, A::One>, Prod<S::One, B::One>>, Prod<S::One, A::Many>>, Prod<S::One, B::Many>>
    {
        typed!(accumulate(reverse))
    }

    fn lzip<G: Obj, A: Stacks, V: Stacks>(
        xs: Morphism<T, G, A::Many>,
    ) -> Morphism<T, G, LinFun<V::Many, Copower<A::One, V::One>>> {
        typed!(of_value(xs.run, zip))
    }

    fn lzip_with<G: Obj, A: Stacks, V: Stacks, W: Stacks>(
        f: Morphism<T, G, Fun<A::One, LinFun<V::One, W::One>>>,
        xs: Morphism<T, G, A::Many>,
    ) -> Morphism<T, G, LinFun<V::Many, W::Many>> {
        typed!(of_values(f.run, xs.run, zip_with))
    }

    fn lmap<G: Obj, A: Stacks, B: Stacks>(
        xs: Morphism<T, G, A::Many>,
    ) -> Morphism<T, G, LinFun<Fun<A::One, B::One>, B::Many>> {
        typed!(of_value(xs.run, map_function))
    }

    fn laccumulate<G: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Morphism<T, G, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
        xs: Morphism<T, G, A::Many>,
    ) -> Morphism<T, G, LinFun<Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>>> {
        typed!(linear_loop(reverse, f.run, xs.run))
    }
}
