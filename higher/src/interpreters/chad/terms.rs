//! The term formers of a target as functions of terms, to write the rules of its derivatives.

use crate::linear::{ArrayTarget, LinearStep};
use crate::{Ccc, Copower, Expr, Fun, LinFun, Obj, Prod, Stacks, Target, Unit, Var, fun1, lam, let_, tup};

pub(super) type Hom<C, A, B> = <C as Ccc>::Hom<A, B>;
/// A linear function, as a term.
pub(super) type LinearTerm<T, G, A, B> = Expr<T, G, LinFun<A, B>>;

/// A term in a context with one more variable.
pub(super) fn further<C: Ccc, G: Obj, A: Obj, X: Obj>(e: Hom<C, G, A>) -> Expr<C, Prod<G, X>, A> {
    Expr::of(C::then(C::fst(), e))
}

/// A term, then a morphism.
pub(super) fn applied<C: Ccc, G: Obj, A: Obj, B: Obj>(e: Expr<C, G, A>, f: Hom<C, A, B>) -> Expr<C, G, B> {
    Expr::of(C::then(e.hom(), f))
}

/// The sum of two terms.
pub(super) fn sum<T: Target, G: Obj, A: Obj>(a: Expr<T, G, A>, b: Expr<T, G, A>) -> Expr<T, G, A> {
    Expr::of(T::plus(a.hom(), b.hom()))
}

pub(super) fn zero<T: Target, G: Obj, A: Obj>() -> Expr<T, G, A> {
    Expr::of(T::zero())
}

/// A linear function applied to a vector.
pub(super) fn lapp<T: Target, G: Obj, A: Obj, B: Obj>(f: LinearTerm<T, G, A, B>, v: Expr<T, G, A>) -> Expr<T, G, B> {
    Expr::of(T::lapp(f.hom(), v.hom()))
}

/// `f`, then `g`.
pub(super) fn comp<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>(
    f: LinearTerm<T, G, A, B>,
    g: LinearTerm<T, G, B, C>,
) -> LinearTerm<T, G, A, C> {
    Expr::of(T::lcomp(f.hom(), g.hom()))
}

/// The pair of the results of `f` and `g`.
pub(super) fn both<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>(
    f: LinearTerm<T, G, A, B>,
    g: LinearTerm<T, G, A, C>,
) -> LinearTerm<T, G, A, Prod<B, C>> {
    Expr::of(T::lpair(f.hom(), g.hom()))
}

pub(super) fn same<T: Target, G: Obj, A: Obj>() -> LinearTerm<T, G, A, A> {
    Expr::of(T::lid())
}

pub(super) fn first<T: Target, G: Obj, A: Obj, B: Obj>() -> LinearTerm<T, G, Prod<A, B>, A> {
    Expr::of(T::lfst())
}

pub(super) fn second<T: Target, G: Obj, A: Obj, B: Obj>() -> LinearTerm<T, G, Prod<A, B>, B> {
    Expr::of(T::lsnd())
}

/// A function of linear functions, as a linear function of functions.
pub(super) fn swap<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>(
    f: Expr<T, G, Fun<A, LinFun<B, C>>>,
) -> LinearTerm<T, G, B, Fun<A, C>> {
    Expr::of(T::lswap(f.hom()))
}

/// The value of a function at a point, which is linear in the function.
pub(super) fn eval<T: Target, G: Obj, A: Obj, B: Obj>(a: Expr<T, G, A>) -> LinearTerm<T, G, Fun<A, B>, B> {
    Expr::of(T::leval(a.hom()))
}

/// The formal sum with one entry, at a point.
pub(super) fn single<T: Target, G: Obj, A: Obj, B: Obj>(a: Expr<T, G, A>) -> LinearTerm<T, G, B, Copower<A, B>> {
    Expr::of(T::singleton(a.hom()))
}

/// The sum over the entries of a formal sum.
pub(super) fn fold<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>(
    f: Expr<T, G, Fun<A, LinFun<B, C>>>,
) -> LinearTerm<T, G, Copower<A, B>, C> {
    Expr::of(T::lcopowfold(f.hom()))
}

/// The sum over the entries of a formal sum, of a function that is linear in the vector.
pub(super) fn fold_pairs<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>(
    f: Expr<T, G, Fun<Prod<A, B>, C>>,
) -> LinearTerm<T, G, Copower<A, B>, C> {
    Expr::of(T::lcopowsum(f.hom()))
}

/// A function that is linear, as a linear function.
pub(super) fn linear<T: Target, G: Obj, A: Obj, B: Obj>(f: Expr<T, G, Fun<A, B>>) -> LinearTerm<T, G, A, B> {
    Expr::of(T::linear(f.hom()))
}

/// The formal sum of the elements of an array with the vectors at their positions.
pub(super) fn zip<T: ArrayTarget, G: Obj, A: Stacks, V: Stacks>(
    xs: Expr<T, G, A::Many>,
) -> LinearTerm<T, G, V::Many, Copower<A::One, V::One>> {
    Expr::of(T::lzip::<G, A, V>(xs.hom()))
}

/// `vs -> zipWith f xs vs`.
pub(super) fn zip_with<T: ArrayTarget, G: Obj, A: Stacks, V: Stacks, W: Stacks>(
    f: Expr<T, G, Fun<A::One, LinFun<V::One, W::One>>>,
    xs: Expr<T, G, A::Many>,
) -> LinearTerm<T, G, V::Many, W::Many> {
    Expr::of(T::lzip_with::<G, A, V, W>(f.hom(), xs.hom()))
}

/// `f -> map f xs`.
pub(super) fn map<T: ArrayTarget, G: Obj, A: Stacks, B: Stacks>(
    xs: Expr<T, G, A::Many>,
) -> LinearTerm<T, G, Fun<A::One, B::One>, B::Many> {
    Expr::of(T::lmap::<G, A, B>(xs.hom()))
}

/// A loop of linear steps.
pub(super) fn linear_loop<T: ArrayTarget, G: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
    reverse: bool,
    f: Expr<T, G, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
    xs: Expr<T, G, A::Many>,
) -> LinearTerm<T, G, Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>> {
    Expr::of(T::laccumulate::<G, A, S, V, W>(reverse, f.hom(), xs.hom()))
}

/// Two formal sums in one, from pairs of points: `(a, b) with v` is `a with (b with v)`.
pub(super) fn nested<T: Target, G: Obj, A: Obj, B: Obj, V: Obj>()
-> LinearTerm<T, G, Copower<Prod<A, B>, V>, Copower<A, Copower<B, V>>> {
    fold(lam(|at: Var<_, Prod<A, B>>| comp(single(at.at().snd()), single(at.at().fst()))))
}

/// `f a`, then a component of the result, as a function of `f`.
pub(super) fn componentwise<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>(
    component: fn() -> Hom<T, Prod<G, A>, LinFun<B, C>>,
) -> LinearTerm<T, G, Fun<A, B>, Fun<A, C>> {
    swap(lam(|a: Var<G, A>| comp(eval(a.at()), Expr::of(component()))))
}

/// A function of two arguments as a function of a pair, which is linear in the function.
pub(super) fn uncurried<T: Target, G: Obj, A: Obj, B: Obj, C: Obj>()
-> LinearTerm<T, G, Fun<A, Fun<B, C>>, Fun<Prod<A, B>, C>> {
    swap(lam(|e| comp(eval(e.at().fst()), eval(e.at().snd()))))
}

/// A function with its linear functions as a linear function: the primal value is one, and its derivative, which does
/// not depend on the vector, is that at zero.
pub(super) fn linear_with<T: Target, G: Obj, A: Obj, B: Obj, L: Obj, M: Obj>(
    f: Expr<T, G, Prod<Fun<A, Prod<B, L>>, M>>,
) -> Expr<T, G, Prod<Prod<LinFun<A, B>, L>, M>> {
    let_(f, |f| {
        let value = linear(lam(|v| f.at().fst().app(v.at()).fst()));
        tup(tup(value, f.at().fst().app(zero()).snd()), f.at().snd())
    })
}

/// A function that gives values of type `B` with linear functions of type `L`.
type WithLinear<A, B, L> = Fun<A, Prod<B, L>>;

/// In the context of a function and its arguments, the results at an element.
fn called<C: Ccc, X: Obj, A: Obj, B: Obj>() -> Hom<C, Prod<Prod<Fun<A, B>, X>, A>, B> {
    C::then(C::pair(C::then(C::fst(), C::fst()), C::snd()), C::eval())
}

/// The linear functions of a function, in the context of the function and its arguments.
pub(super) fn derivatives<C: Ccc, X: Obj, A: Obj, B: Obj, L: Obj>() -> Hom<C, Prod<WithLinear<A, B, L>, X>, Fun<A, L>> {
    C::curry(C::then(called::<C, _, _, _>(), C::snd()))
}

/// The values of a function at all elements.
pub(super) fn mapped<C: ArrayTarget, A: Stacks, B: Stacks, L: Obj>()
-> Hom<C, Prod<WithLinear<A::One, B::One, L>, A::Many>, B::Many> {
    let values = C::curry(C::then(called::<C, _, _, _>(), C::fst()));
    C::then(C::pair(values, C::snd()), C::map_over::<A, B>())
}

/// The step of a loop with its linear functions, the initial state, and the elements.
type Looped<S, A, B, L> = Prod<
    WithLinear<Prod<<S as Stacks>::One, <A as Stacks>::One>, Prod<<S as Stacks>::One, <B as Stacks>::One>, L>,
    Prod<<S as Stacks>::One, <A as Stacks>::Many>,
>;
/// The final state of a loop, the states before all trips, and the outputs.
type Kept<S, B> = Prod<<S as Stacks>::One, Prod<<S as Stacks>::Many, <B as Stacks>::Many>>;

/// A loop on primal values that keeps the states before all trips. `derivative` makes the derivative from the linear
/// functions of the step and from all trips, which are states with elements.
pub(super) fn looped<C: ArrayTarget, S: Stacks, A: Stacks, B: Stacks, L: Obj, D: Obj>(
    reverse: bool,
    derivative: impl FnOnce(
        Hom<C, Prod<Looped<S, A, B, L>, Kept<S, B>>, Fun<Prod<S::One, A::One>, L>>,
        Hom<C, Prod<Looped<S, A, B, L>, Kept<S, B>>, Prod<S::Many, A::Many>>,
    ) -> Hom<C, Prod<Looped<S, A, B, L>, Kept<S, B>>, D>,
) -> Hom<C, Looped<S, A, B, L>, Prod<Prod<S::One, B::Many>, D>> {
    let next = || C::then(called::<C, _, _, _>(), C::fst());
    let step = C::pair(C::then(next(), C::fst()), C::pair(C::then(C::snd(), C::fst()), C::then(next(), C::snd())));
    let run = C::then(C::pair(C::curry(step), C::snd()), C::accumulate::<S, A, Prod<S, B>>(reverse));
    // In the context (<f, <s, xs>>, <last, <states, outputs>>).
    let value = C::pair(C::then(C::snd(), C::fst()), C::then(C::snd(), C::then(C::snd(), C::snd())));
    let states = C::then(C::snd(), C::then(C::snd(), C::fst()));
    let trips = C::pair(states, C::then(C::fst(), C::then(C::snd(), C::snd())));
    C::bind(run, C::pair(value, derivative(C::then(C::fst(), derivatives::<C, _, _, _, _>()), trips)))
}

/// A left fold, as a loop without outputs.
pub(super) fn folded<C: ArrayTarget, S: Stacks, A: Stacks>()
-> Hom<C, Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One> {
    let unit = || Expr::of(C::unit());
    let over = fun1(|all: Var<_, Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>>| {
        let step = lam(|at| tup(all.at().fst().app(at.at()), unit()));
        applied::<C, _, _, _>(tup(step, all.at().snd()), C::accumulate::<S, A, Unit>(false)).fst()
    });
    over.hom()
}
