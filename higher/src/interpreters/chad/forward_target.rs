//! Forward mode of the target language: forward mode applies to programs that a transformation made.
//!
//! The primal value of a linear function is that function with its derivative, which does not depend on the vector. Its
//! tangent is a function of the vector. The tangent of a formal sum has the entries with the tangents of vectors, and,
//! for each entry, the tangent of the point.

use super::derived::{Pulled, Pushed};
use super::terms::{
    Hom, both, comp, componentwise, derivatives, eval, first, fold, fold_pairs, folded, further, lapp, linear,
    linear_loop, linear_with, looped, map, mapped, same, second, single, sum, swap, uncurried, zero, zip, zip_with,
};
use super::{Forward, Forwards};
use crate::linear::{LinearStep, P1, P2};
use crate::object::{Cotangents, PrimalParts, Primals, TangentParts};
use crate::{
    ArrayTarget, Copower, Expr, Fun, Layout, LinFun, LinSum, Obj, Primitive, Prod, Recursive, Stacks, Target,
    TypeParts, Var, lam, let_, tup,
};

type F = Forwards;

/// The primal value of a linear function, and its tangent.
type LinearPair<A, B, G> =
    Prod<Prod<LinFun<P1<A, F>, P1<B, F>>, LinFun<P2<A, F>, P2<B, F>>>, LinFun<P2<G, F>, Fun<P1<A, F>, P2<B, F>>>>;

/// A linear function that does not depend on the context, from the function and its derivative.
fn constant<T: Target, G: Obj, A: Obj, B: Obj>(
    value: Hom<T, P1<G, F>, LinFun<P1<A, F>, P1<B, F>>>,
    along: Hom<T, P1<G, F>, LinFun<P2<A, F>, P2<B, F>>>,
) -> Hom<T, P1<G, F>, LinearPair<A, B, G>> {
    T::pair(T::pair(value, along), T::zero())
}

/// The derivative of a derivative of a primitive in the point, as a function of the vector.
fn again<T: Target, P: Primitive, A: Obj, V: Obj, W: Obj>(
    p: P,
) -> Hom<T, P1<A, F>, LinFun<P2<A, F>, Fun<P1<V, F>, P2<W, F>>>> {
    let to_point = T::lpair::<_, _, _, P2<V, F>>(T::lid(), T::zero());
    T::lswap(T::curry(T::lcomp(to_point, T::pushforward(p))))
}

impl<T: Target> Target for Forward<T> {
    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Self::Hom<A, B> {
        T::pair(T::primal(p.clone()), T::pushforward(p))
    }

    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Self::Hom<A, LinFun<V, W>> {
        let linear = T::pair(T::pushforward(p.clone()), T::pushforward(p.clone()));
        T::pair(linear, again::<T, _, A, V, W>(Pushed(p)))
    }

    fn pullback<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Self::Hom<A, LinFun<W, V>> {
        let linear = T::pair(T::pullback(p.clone()), T::pullback(p.clone()));
        T::pair(linear, again::<T, _, A, W, V>(Pulled(p)))
    }

    /// Formal derivatives have parities as values, which have no derivative.
    fn differences<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Self::Hom<A, LinFun<W, V>> {
        T::pair(T::pair(T::differences(p), T::zero()), T::zero())
    }

    fn lspread<C: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Self::Hom<C, LinFun<A, B>> {
        constant::<T, C, A, B>(T::lspread(from.clone(), to.clone()), T::lspread(from, to))
    }

    /// Zero, and the sum, are those of a pair.
    fn zero<C: Obj, A: Obj>() -> Self::Hom<C, A> {
        T::zero()
    }

    fn plus<C: Obj, A: Obj>(a: Self::Hom<C, A>, b: Self::Hom<C, A>) -> Self::Hom<C, A> {
        T::plus(a, b)
    }

    fn lapp<C: Obj, A: Obj, B: Obj>(f: Self::Hom<C, LinFun<A, B>>, v: Self::Hom<C, A>) -> Self::Hom<C, B> {
        let ran = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(v), |v| {
                let of_f = comp(f.at().snd(), eval(v.at().fst()));
                let of_v = comp(v.at().snd(), f.at().fst().snd());
                tup(lapp(f.at().fst().fst(), v.at().fst()), sum(of_f, of_v))
            })
        });
        ran.hom()
    }

    fn lid<C: Obj, A: Obj>() -> Self::Hom<C, LinFun<A, A>> {
        constant::<T, C, A, A>(T::lid(), T::lid())
    }

    fn lcomp<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, LinFun<X, Y>>,
        g: Self::Hom<C, LinFun<Y, Z>>,
    ) -> Self::Hom<C, LinFun<X, Z>> {
        let composed = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(g), |g| {
                let value = comp(f.at().fst().fst(), g.at().fst().fst());
                let along = comp(f.at().fst().snd(), g.at().fst().snd());
                let of_f = swap(lam(|v| comp(eval(v.at()), g.at().fst().snd())));
                let of_g = swap(lam(|v| eval(lapp(f.at().fst().fst(), v.at()))));
                tup(tup(value, along), sum(comp(f.at().snd(), of_f), comp(g.at().snd(), of_g)))
            })
        });
        composed.hom()
    }

    fn lpair<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, LinFun<X, Y>>,
        g: Self::Hom<C, LinFun<X, Z>>,
    ) -> Self::Hom<C, LinFun<X, Prod<Y, Z>>> {
        let paired = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(g), |g| {
                let value = both(f.at().fst().fst(), g.at().fst().fst());
                let along = both(f.at().fst().snd(), g.at().fst().snd());
                let pointwise = swap(lam(|v| both(comp(first(), eval(v.at())), comp(second(), eval(v.at())))));
                tup(tup(value, along), comp(both(f.at().snd(), g.at().snd()), pointwise))
            })
        });
        paired.hom()
    }

    fn lfst<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<Prod<A, B>, A>> {
        constant::<T, C, Prod<A, B>, A>(T::lfst(), T::lfst())
    }

    fn lsnd<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<Prod<A, B>, B>> {
        constant::<T, C, Prod<A, B>, B>(T::lsnd(), T::lsnd())
    }

    /// The derivative of the result in the point is linear in the vector, since it is that of a linear function.
    fn lswap<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, Fun<X, LinFun<Y, Z>>>,
    ) -> Self::Hom<C, LinFun<Y, Fun<X, Z>>> {
        let swapped = let_(Expr::<T, _, _>::of(f), |f| {
            let value = linear(lam(|y| {
                lam(|x| {
                    let_(f.at().fst().app(x.at()), |ran| {
                        tup(lapp(ran.at().fst().fst(), y.at()), comp(ran.at().snd(), eval(y.at())))
                    })
                })
            }));
            let along = swap(lam(|x| f.at().fst().app(x.at()).fst().snd()));
            let exchanged = swap(lam(|y| swap(lam(|x| comp(eval(x.at()), eval(y.at()))))));
            tup(tup(value, along), comp(f.at().snd(), exchanged))
        });
        swapped.hom()
    }

    fn leval<C: Obj, A: Obj, B: Obj>(a: Self::Hom<C, A>) -> Self::Hom<C, LinFun<Fun<A, B>, B>> {
        let evaluated = let_(Expr::<T, _, _>::of(a), |a| {
            let value = comp(eval(a.at().fst()), first());
            let of_a = swap(lam(|f: Var<_, P1<Fun<A, B>, F>>| comp(a.at().snd(), f.at().app(a.at().fst()).snd())));
            tup(tup(value, eval(a.at().fst())), of_a)
        });
        evaluated.hom()
    }

    fn singleton<C: Obj, A: Obj, B: Obj>(a: Self::Hom<C, A>) -> Self::Hom<C, LinFun<B, Copower<A, B>>> {
        let one = let_(Expr::<T, _, _>::of(a), |a| {
            let along = both(single(a.at().fst()), zero());
            let of_a = swap(lam(|v| both(zero(), comp(a.at().snd(), single(tup(a.at().fst(), v.at()))))));
            tup(tup(single(a.at().fst()), along), of_a)
        });
        one.hom()
    }

    fn lcopowfold<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, Fun<X, LinFun<Y, Z>>>,
    ) -> Self::Hom<C, LinFun<Copower<X, Y>, Z>> {
        let folded = let_(Expr::<T, _, _>::of(f), |f| {
            let value = fold(lam(|x| f.at().fst().app(x.at()).fst().fst()));
            let vectors = fold(lam(|x| f.at().fst().app(x.at()).fst().snd()));
            let points = fold(lam(|e: Var<_, Prod<P1<X, F>, P1<Y, F>>>| {
                comp(f.at().fst().app(e.at().fst()).snd(), eval(e.at().snd()))
            }));
            let of_f = swap(lam(|entries| {
                lapp(fold_pairs(lam(|e| comp(eval(e.at().fst()), eval(e.at().snd())))), entries.at())
            }));
            tup(tup(value, sum(comp(first(), vectors), comp(second(), points))), comp(f.at().snd(), of_f))
        });
        folded.hom()
    }

    /// The derivative in the vector does not depend on the vector, so it is taken at zero.
    fn lcopowsum<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, Fun<Prod<X, Y>, Z>>,
    ) -> Self::Hom<C, LinFun<Copower<X, Y>, Z>> {
        let folded = let_(Expr::<T, _, _>::of(f), |f| {
            let value = fold_pairs(lam(|e| f.at().fst().app(e.at()).fst()));
            let vectors = fold(lam(|x| comp(both(zero(), same()), f.at().fst().app(tup(x.at(), zero())).snd())));
            let points = fold(lam(|e| comp(both(same(), zero()), f.at().fst().app(e.at()).snd())));
            let of_f = swap(lam(|entries| lapp(fold_pairs(lam(|e| eval(e.at()))), entries.at())));
            tup(tup(value, sum(comp(first(), vectors), comp(second(), points))), comp(f.at().snd(), of_f))
        });
        folded.hom()
    }

    fn linear<C: Obj, A: Obj, B: Obj>(f: Self::Hom<C, Fun<A, B>>) -> Self::Hom<C, LinFun<A, B>> {
        linear_with(Expr::<T, _, _>::of(f)).hom()
    }

    fn linl<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<A, LinSum<A, B>>> {
        constant::<T, C, A, LinSum<A, B>>(T::linl(), T::linl())
    }

    fn linr<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<B, LinSum<A, B>>> {
        constant::<T, C, B, LinSum<A, B>>(T::linr(), T::linr())
    }

    fn lcastl<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<LinSum<A, B>, A>> {
        constant::<T, C, LinSum<A, B>, A>(T::lcastl(), T::lcastl())
    }

    fn lcastr<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<LinSum<A, B>, B>> {
        constant::<T, C, LinSum<A, B>, B>(T::lcastr(), T::lcastr())
    }

    fn lroll<C: Obj, K: TypeParts>() -> Self::Hom<C, LinFun<K::Of, Recursive<K>>> {
        let value = T::lroll::<_, PrimalParts<K, F>>();
        constant::<T, C, K::Of, Recursive<K>>(value, T::lroll::<_, TangentParts<K, F>>())
    }

    fn lunroll<C: Obj, K: TypeParts>() -> Self::Hom<C, LinFun<Recursive<K>, K::Of>> {
        let value = T::lunroll::<_, PrimalParts<K, F>>();
        constant::<T, C, Recursive<K>, K::Of>(value, T::lunroll::<_, TangentParts<K, F>>())
    }
}

impl<T: ArrayTarget> ArrayTarget for Forward<T> {
    fn map_over<A: Stacks, B: Stacks>() -> Self::Hom<Prod<Fun<A::One, B::One>, A::Many>, B::Many> {
        let of_f = T::lcomp(T::lfst(), T::lmap::<_, Primals<A, F>, Cotangents<B, F>>(T::snd()));
        let of_xs = T::lzip_with::<_, Primals<A, F>, Cotangents<A, F>, Cotangents<B, F>>(
            derivatives::<T, _, _, _, _>(),
            T::snd(),
        );
        let along = T::plus(of_f, T::lcomp(T::lsnd(), of_xs));
        T::pair(mapped::<T, Primals<A, F>, Primals<B, F>, _>(), along)
    }

    /// A fold is a loop without outputs.
    fn fold_over<S: Stacks, A: Stacks>()
    -> Self::Hom<Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One> {
        folded::<Self, S, A>()
    }

    /// The tangents go through the trips in the same order, to which the tangent of the function adds its values.
    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(
        reverse: bool,
    ) -> Self::Hom<Prod<Fun<Prod<S::One, A::One>, Prod<S::One, B::One>>, Prod<S::One, A::Many>>, Prod<S::One, B::Many>>
    {
        type Trip<S, A> = Prod<Primals<S, F>, Primals<A, F>>;
        type Along<S, B> = Prod<Cotangents<S, F>, Cotangents<B, F>>;
        looped::<T, Primals<S, F>, Primals<A, F>, Primals<B, F>, _, _>(reverse, |each, trips| {
            // <s', <d, x'>> -> f' <s', x'> + d
            let moved = T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::lsnd()));
            let at = T::then(T::pair(T::then(T::fst(), each), T::snd()), T::eval());
            let linear = T::curry(T::plus(T::lcomp(moved, at), T::lcomp(T::lsnd(), T::lfst())));
            let swept = T::laccumulate::<
                _,
                Trip<S, A>,
                Cotangents<S, F>,
                Prod<Along<S, B>, Cotangents<A, F>>,
                Cotangents<B, F>,
            >(reverse, linear, trips.clone());
            // <f', <s', xs'>> -> <s', <map f' trips, xs'>>
            let of_f = T::lcomp(T::lfst(), T::lmap::<_, Trip<S, A>, Along<S, B>>(trips));
            let inputs = T::lpair(T::lcomp(T::lsnd(), T::lfst()), T::lpair(of_f, T::lcomp(T::lsnd(), T::lsnd())));
            let results = T::lpair(T::lfst(), T::lcomp(T::lsnd(), T::lsnd()));
            T::lcomp(inputs, T::lcomp(swept, results))
        })
    }

    fn lzip<C: Obj, A: Stacks, V: Stacks>(
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<V::Many, Copower<A::One, V::One>>> {
        type Pairs<A, V> = Prod<Primals<A, F>, Primals<V, F>>;
        let zipped = let_(Expr::<T, _, _>::of(xs), |xs| {
            let value = zip::<T, _, Primals<A, F>, Primals<V, F>>(xs.at().fst());
            let along = both(zip::<T, _, Primals<A, F>, Cotangents<V, F>>(xs.at().fst()), zero());
            let of_xs = swap(lam(|vs| {
                let points = zip::<T, _, Pairs<A, V>, Cotangents<A, F>>(tup(xs.at().fst(), vs.at()));
                both(zero(), comp(xs.at().snd(), points))
            }));
            tup(tup(value, along), of_xs)
        });
        zipped.hom()
    }

    fn lzip_with<C: Obj, A: Stacks, V: Stacks, W: Stacks>(
        f: Self::Hom<C, Fun<A::One, LinFun<V::One, W::One>>>,
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<V::Many, W::Many>> {
        type Pairs<A, V> = Prod<Primals<A, F>, Primals<V, F>>;
        let zipped = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(xs), |xs| {
                let value = zip_with::<T, _, Primals<A, F>, Primals<V, F>, Primals<W, F>>(
                    lam(|x| f.at().fst().app(x.at()).fst().fst()),
                    xs.at().fst(),
                );
                let along = zip_with::<T, _, Primals<A, F>, Cotangents<V, F>, Cotangents<W, F>>(
                    lam(|x| f.at().fst().app(x.at()).fst().snd()),
                    xs.at().fst(),
                );
                let rest = swap(lam(|vs| {
                    let of_xs = zip_with::<T, _, Pairs<A, V>, Cotangents<A, F>, Cotangents<W, F>>(
                        lam(|e| comp(f.at().fst().app(e.at().fst()).snd(), eval(e.at().snd()))),
                        tup(xs.at().fst(), vs.at()),
                    );
                    let of_f =
                        comp(uncurried(), map::<T, _, Pairs<A, V>, Cotangents<W, F>>(tup(xs.at().fst(), vs.at())));
                    sum(comp(xs.at().snd(), of_xs), comp(f.at().snd(), of_f))
                }));
                tup(tup(value, along), rest)
            })
        });
        zipped.hom()
    }

    fn lmap<C: Obj, A: Stacks, B: Stacks>(
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<Fun<A::One, B::One>, B::Many>> {
        let mapped = let_(Expr::<T, _, _>::of(xs), |xs| {
            let value = comp(componentwise(T::lfst), map::<T, _, Primals<A, F>, Primals<B, F>>(xs.at().fst()));
            let along = map::<T, _, Primals<A, F>, Cotangents<B, F>>(xs.at().fst());
            let of_xs = swap(lam(|f: Var<_, P1<Fun<A::One, B::One>, F>>| {
                let each = zip_with::<T, _, Primals<A, F>, Cotangents<A, F>, Cotangents<B, F>>(
                    lam(|x| f.at().app(x.at()).snd()),
                    xs.at().fst(),
                );
                comp(xs.at().snd(), each)
            }));
            tup(tup(value, along), of_xs)
        });
        mapped.hom()
    }

    /// The tangents of the steps and of the elements add to the tangent of the state in each trip.
    fn laccumulate<C: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Self::Hom<C, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>>> {
        type Added<S, W> = Prod<Cotangents<S, F>, Cotangents<W, F>>;
        type Trip<A, S, V> = Prod<Primals<A, F>, Prod<Primals<S, F>, Primals<V, F>>>;
        let looped = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(xs), |xs| {
                let step = lam(|x| f.at().fst().app(x.at()).fst().fst());
                let run = linear_loop::<T, _, Primals<A, F>, Primals<S, F>, Primals<V, F>, Primals<W, F>>(
                    reverse,
                    step,
                    xs.at().fst(),
                );
                let step = lam(|x| f.at().fst().app(x.at()).fst().snd());
                let along = linear_loop::<T, _, Primals<A, F>, Cotangents<S, F>, Cotangents<V, F>, Cotangents<W, F>>(
                    reverse,
                    step,
                    xs.at().fst(),
                );
                let step = lam(|x| sum(comp(both(first(), zero()), f.at().fst().app(x.at()).fst().snd()), second()));
                let added = linear_loop::<T, _, Primals<A, F>, Cotangents<S, F>, Added<S, W>, Cotangents<W, F>>(
                    reverse,
                    step,
                    xs.at().fst(),
                );
                let_(tup(run, added), |runs| {
                    let rest = swap(lam(|v| {
                        let states = lapp(runs.at().fst(), v.at()).snd().fst();
                        let_(tup(xs.at().fst(), tup(states, v.at().snd())), |trips| {
                            let of_xs = zip_with::<T, _, Trip<A, S, V>, Cotangents<A, F>, Added<S, W>>(
                                lam(|e| comp(f.at().fst().app(e.at().fst()).snd(), eval(e.at().snd()))),
                                trips.at(),
                            );
                            let of_f = comp(uncurried(), map::<T, _, Trip<A, S, V>, Added<S, W>>(trips.at()));
                            let inputs = sum(comp(xs.at().snd(), of_xs), comp(f.at().snd(), of_f));
                            comp(both(zero(), inputs), runs.at().snd())
                        })
                    }));
                    tup(tup(runs.at().fst(), further(along.hom())), rest)
                })
            })
        });
        looped.hom()
    }
}
