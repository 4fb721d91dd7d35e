//! Reverse mode of the target language: reverse mode applies to programs that it made.
//!
//! The primal value of a linear function is that function with its transpose. Its cotangent is the formal sum of its
//! calls: of vectors with the cotangents of results. So a composition composes transposes, and no linear function runs
//! to be transposed: linear functions are compositions as long as the program, and if they had the derivative of
//! functions, the work would be exponential in the length. The cotangent of a formal sum maps a point to the cotangent
//! of the point, as a function of the vector, and to that of the vector, which does not depend on the vector.

use super::derived::{Pulled, Pushed};
use super::terms::{
    Hom, both, comp, componentwise, derivatives, eval, first, fold, fold_pairs, folded, further, lapp, linear,
    linear_loop, linear_with, looped, map, mapped, nested, same, second, single, sum, swap, zero, zip, zip_with,
};
use super::{Backwards, Derivatives, Reverse, Transposable};
use crate::linear::{LinearStep, P1, P2};
use crate::object::{Cotangents, PrimalParts, Primals, TangentParts};
use crate::{
    ArrayTarget, Copower, Expr, Fun, Functor, Layout, LinFun, LinSum, Obj, Primitive, Prod, Recursive, Stacks, Target,
    TypeParts, Var, lam, let_, tup,
};

/// The primal value of a linear function, and its pullback to the context.
type LinearPair<A, B, G, F> =
    Prod<Prod<LinFun<P1<A, F>, P1<B, F>>, LinFun<P2<B, F>, P2<A, F>>>, LinFun<Copower<P1<A, F>, P2<B, F>>, P2<G, F>>>;

/// A linear function that does not depend on the context, from the function and its transpose.
fn constant<T: Target, G: Obj, A: Obj, B: Obj, F: Functor>(
    value: Hom<T, P1<G, F>, LinFun<P1<A, F>, P1<B, F>>>,
    transpose: Hom<T, P1<G, F>, LinFun<P2<B, F>, P2<A, F>>>,
) -> Hom<T, P1<G, F>, LinearPair<A, B, G, F>> {
    T::pair(T::pair(value, transpose), T::zero())
}

impl<T: Target, G: Transposable> Target for Reverse<T, G> {
    fn primal<P: Primitive, A: Obj, B: Obj>(p: P) -> Self::Hom<A, B> {
        T::pair(T::primal(p.clone()), G::pullback::<T, P, _, _, _>(p))
    }

    /// The transpose of the derivative is its transpose at the same point; a call depends on the point by the second
    /// derivative.
    fn pushforward<P: Primitive, A: Obj, V: Obj, W: Obj>(p: P) -> Self::Hom<A, LinFun<V, W>> {
        let again = T::curry(T::lcomp(
            G::pullback::<T, Pushed<P>, _, _, _>(Pushed(p.clone())),
            T::lfst::<_, _, P2<V, Backwards<G>>>(),
        ));
        let transpose = G::pullback::<T, P, _, _, _>(p.clone());
        T::pair(T::pair(T::pushforward(p), transpose), T::lcopowfold::<_, P1<V, Backwards<G>>, _, _>(again))
    }

    fn pullback<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Self::Hom<A, LinFun<W, V>> {
        let again = T::curry(T::lcomp(
            G::pullback::<T, Pulled<P>, _, _, _>(Pulled(p.clone())),
            T::lfst::<_, _, P2<W, Backwards<G>>>(),
        ));
        let transpose = G::pushforward::<T, P, _, _, _>(p.clone());
        T::pair(T::pair(T::pullback(p), transpose), T::lcopowfold::<_, P1<W, Backwards<G>>, _, _>(again))
    }

    /// Formal derivatives have parities as values, which have no derivative.
    fn differences<P: Primitive, A: Obj, W: Obj, V: Obj>(p: P) -> Self::Hom<A, LinFun<W, V>> {
        T::pair(T::pair(T::differences(p), T::zero()), T::zero())
    }

    fn lspread<C: Obj, A: Obj, B: Obj>(from: Layout, to: Layout) -> Self::Hom<C, LinFun<A, B>> {
        constant::<T, C, A, B, Backwards<G>>(T::lspread(from.clone(), to.clone()), T::lspread(to, from))
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
                let of_f = comp(single(v.at().fst()), f.at().snd());
                let of_v = comp(f.at().fst().snd(), v.at().snd());
                tup(lapp(f.at().fst().fst(), v.at().fst()), sum(of_f, of_v))
            })
        });
        ran.hom()
    }

    fn lid<C: Obj, A: Obj>() -> Self::Hom<C, LinFun<A, A>> {
        constant::<T, C, A, A, Backwards<G>>(T::lid(), T::lid())
    }

    /// A call of the composition is a call of each part.
    fn lcomp<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, LinFun<X, Y>>,
        g: Self::Hom<C, LinFun<Y, Z>>,
    ) -> Self::Hom<C, LinFun<X, Z>> {
        let composed = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(g), |g| {
                let value = comp(f.at().fst().fst(), g.at().fst().fst());
                let transpose = comp(g.at().fst().snd(), f.at().fst().snd());
                let of_f = fold(lam(|v| comp(g.at().fst().snd(), single(v.at()))));
                let of_g = fold(lam(|v| single(lapp(f.at().fst().fst(), v.at()))));
                tup(tup(value, transpose), sum(comp(of_f, f.at().snd()), comp(of_g, g.at().snd())))
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
                let transpose = sum(comp(first(), f.at().fst().snd()), comp(second(), g.at().fst().snd()));
                let of_f = fold(lam(|v| comp(first(), single(v.at()))));
                let of_g = fold(lam(|v| comp(second(), single(v.at()))));
                tup(tup(value, transpose), sum(comp(of_f, f.at().snd()), comp(of_g, g.at().snd())))
            })
        });
        paired.hom()
    }

    fn lfst<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<Prod<A, B>, A>> {
        constant::<T, C, Prod<A, B>, A, Backwards<G>>(T::lfst(), T::lpair(T::lid(), T::zero()))
    }

    fn lsnd<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<Prod<A, B>, B>> {
        constant::<T, C, Prod<A, B>, B, Backwards<G>>(T::lsnd(), T::lpair(T::zero(), T::lid()))
    }

    /// The derivative of the result in the point is linear in the vector, since it is that of a linear function.
    fn lswap<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, Fun<X, LinFun<Y, Z>>>,
    ) -> Self::Hom<C, LinFun<Y, Fun<X, Z>>> {
        let swapped = let_(Expr::<T, _, _>::of(f), |f| {
            let value = linear(lam(|y| {
                lam(|x| {
                    let_(f.at().fst().app(x.at()), |ran| {
                        tup(lapp(ran.at().fst().fst(), y.at()), comp(single(y.at()), ran.at().snd()))
                    })
                })
            }));
            let transpose = fold(lam(|x| f.at().fst().app(x.at()).fst().snd()));
            let calls = fold(lam(|y| fold(lam(|x| comp(single(y.at()), single(x.at()))))));
            tup(tup(value, transpose), comp(calls, f.at().snd()))
        });
        swapped.hom()
    }

    fn leval<C: Obj, A: Obj, B: Obj>(a: Self::Hom<C, A>) -> Self::Hom<C, LinFun<Fun<A, B>, B>> {
        let evaluated = let_(Expr::<T, _, _>::of(a), |a| {
            let value = comp(eval(a.at().fst()), first());
            let calls = fold(lam(|f: Var<_, P1<Fun<A, B>, Backwards<G>>>| f.at().app(a.at().fst()).snd()));
            tup(tup(value, single(a.at().fst())), comp(calls, a.at().snd()))
        });
        evaluated.hom()
    }

    fn singleton<C: Obj, A: Obj, B: Obj>(a: Self::Hom<C, A>) -> Self::Hom<C, LinFun<B, Copower<A, B>>> {
        let one = let_(Expr::<T, _, _>::of(a), |a| {
            let transpose = comp(eval(a.at().fst()), second());
            let calls = fold(lam(|v| comp(comp(eval(a.at().fst()), first()), eval(v.at()))));
            tup(tup(single(a.at().fst()), transpose), comp(calls, a.at().snd()))
        });
        one.hom()
    }

    fn lcopowfold<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, Fun<X, LinFun<Y, Z>>>,
    ) -> Self::Hom<C, LinFun<Copower<X, Y>, Z>> {
        let folded = let_(Expr::<T, _, _>::of(f), |f| {
            let value = fold(lam(|x| f.at().fst().app(x.at()).fst().fst()));
            let transpose = swap(lam(|x| {
                let_(f.at().fst().app(x.at()), |ran| {
                    both(swap(lam(|y| comp(single(y.at()), ran.at().snd()))), ran.at().fst().snd())
                })
            }));
            let calls = fold(lam(|entries| {
                lapp(fold_pairs(lam(|e| comp(single(e.at().snd()), single(e.at().fst())))), entries.at())
            }));
            tup(tup(value, transpose), comp(calls, f.at().snd()))
        });
        folded.hom()
    }

    /// The derivative in the vector does not depend on the vector, so it is taken at zero.
    fn lcopowsum<C: Obj, X: Obj, Y: Obj, Z: Obj>(
        f: Self::Hom<C, Fun<Prod<X, Y>, Z>>,
    ) -> Self::Hom<C, LinFun<Copower<X, Y>, Z>> {
        let folded = let_(Expr::<T, _, _>::of(f), |f| {
            let value = fold_pairs(lam(|e| f.at().fst().app(e.at()).fst()));
            let transpose = swap(lam(|x| {
                let of_x = swap(lam(|y| comp(f.at().fst().app(tup(x.at(), y.at())).snd(), first())));
                both(of_x, comp(f.at().fst().app(tup(x.at(), zero())).snd(), second()))
            }));
            let calls = fold(lam(|entries| lapp(fold_pairs(lam(|e| single(e.at()))), entries.at())));
            tup(tup(value, transpose), comp(calls, f.at().snd()))
        });
        folded.hom()
    }

    fn linear<C: Obj, A: Obj, B: Obj>(f: Self::Hom<C, Fun<A, B>>) -> Self::Hom<C, LinFun<A, B>> {
        linear_with(Expr::<T, _, _>::of(f)).hom()
    }

    fn linl<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<A, LinSum<A, B>>> {
        constant::<T, C, A, LinSum<A, B>, Backwards<G>>(T::linl(), T::lcastl())
    }

    fn linr<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<B, LinSum<A, B>>> {
        constant::<T, C, B, LinSum<A, B>, Backwards<G>>(T::linr(), T::lcastr())
    }

    fn lcastl<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<LinSum<A, B>, A>> {
        constant::<T, C, LinSum<A, B>, A, Backwards<G>>(T::lcastl(), T::linl())
    }

    fn lcastr<C: Obj, A: Obj, B: Obj>() -> Self::Hom<C, LinFun<LinSum<A, B>, B>> {
        constant::<T, C, LinSum<A, B>, B, Backwards<G>>(T::lcastr(), T::linr())
    }

    fn lroll<C: Obj, K: TypeParts>() -> Self::Hom<C, LinFun<K::Of, Recursive<K>>> {
        let value = T::lroll::<_, PrimalParts<K, Backwards<G>>>();
        constant::<T, C, K::Of, Recursive<K>, Backwards<G>>(value, T::lunroll::<_, TangentParts<K, Backwards<G>>>())
    }

    fn lunroll<C: Obj, K: TypeParts>() -> Self::Hom<C, LinFun<Recursive<K>, K::Of>> {
        let value = T::lunroll::<_, PrimalParts<K, Backwards<G>>>();
        constant::<T, C, Recursive<K>, K::Of, Backwards<G>>(value, T::lroll::<_, TangentParts<K, Backwards<G>>>())
    }
}

type F = Backwards<Derivatives>;

impl<T: ArrayTarget> ArrayTarget for Reverse<T> {
    fn map_over<A: Stacks, B: Stacks>() -> Self::Hom<Prod<Fun<A::One, B::One>, A::Many>, B::Many> {
        let of_f = T::lzip::<_, Primals<A, F>, Cotangents<B, F>>(T::snd());
        let of_xs = T::lzip_with::<_, Primals<A, F>, Cotangents<B, F>, Cotangents<A, F>>(
            derivatives::<T, _, _, _, _>(),
            T::snd(),
        );
        T::pair(mapped::<T, Primals<A, F>, Primals<B, F>, _>(), T::lpair(of_f, of_xs))
    }

    /// A fold is a loop without outputs.
    fn fold_over<S: Stacks, A: Stacks>()
    -> Self::Hom<Prod<Fun<Prod<S::One, A::One>, S::One>, Prod<S::One, A::Many>>, S::One> {
        folded::<Self, S, A>()
    }

    /// The states before all trips are kept. The cotangent of the state goes through the trips in the other order.
    fn accumulate<S: Stacks, A: Stacks, B: Stacks>(
        reverse: bool,
    ) -> Self::Hom<Prod<Fun<Prod<S::One, A::One>, Prod<S::One, B::One>>, Prod<S::One, A::Many>>, Prod<S::One, B::Many>>
    {
        type Trip<S, A> = Prod<Primals<S, F>, Primals<A, F>>;
        looped::<T, Primals<S, F>, Primals<A, F>, Primals<B, F>, _, _>(reverse, |each, trips| {
            let swept = T::laccumulate::<_, Trip<S, A>, Cotangents<S, F>, Cotangents<B, F>, Cotangents<A, F>>(
                !reverse,
                each,
                trips.clone(),
            );
            // <<s', <ss', xs'>>, <_, ys'>> -> <zip trips <ss', ys'>, <s', xs'>>
            let results = || T::lcomp(T::lfst(), T::lsnd());
            let vectors = T::lpair(T::lcomp(results(), T::lfst()), T::lcomp(T::lsnd(), T::lsnd()));
            let calls = T::lzip::<_, Trip<S, A>, Prod<Cotangents<S, F>, Cotangents<B, F>>>(trips);
            let rest = T::lpair(T::lcomp(T::lfst(), T::lfst()), T::lcomp(results(), T::lsnd()));
            T::lcomp(T::lpair(swept, T::lid()), T::lpair(T::lcomp(vectors, calls), rest))
        })
    }

    fn lzip<C: Obj, A: Stacks, V: Stacks>(
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<V::Many, Copower<A::One, V::One>>> {
        type Pairs<A, V> = Prod<Primals<A, F>, Primals<V, F>>;
        let zipped = let_(Expr::<T, _, _>::of(xs), |xs| {
            let value = zip::<T, _, Primals<A, F>, Primals<V, F>>(xs.at().fst());
            let to_vectors = map::<T, _, Primals<A, F>, Cotangents<V, F>>(xs.at().fst());
            let transpose = comp(componentwise(T::lsnd), to_vectors);
            let calls = fold(lam(|vs| {
                let at: Expr<
                    T,
                    _,
                    Fun<Prod<P1<A::One, F>, P1<V::One, F>>, LinFun<P2<Copower<A::One, V::One>, F>, P2<A::One, F>>>,
                > = lam(|e| comp(comp(eval(e.at().fst()), first()), eval(e.at().snd())));
                comp(swap(at), map::<T, _, Pairs<A, V>, Cotangents<A, F>>(tup(xs.at().fst(), vs.at())))
            }));
            tup(tup(value, transpose), comp(calls, xs.at().snd()))
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
                let transpose = zip_with::<T, _, Primals<A, F>, Cotangents<W, F>, Cotangents<V, F>>(
                    lam(|x| f.at().fst().app(x.at()).fst().snd()),
                    xs.at().fst(),
                );
                let of_f = fold(lam(|vs| {
                    comp(zip::<T, _, Pairs<A, V>, Cotangents<W, F>>(tup(xs.at().fst(), vs.at())), nested())
                }));
                let of_xs = fold(lam(|vs| {
                    zip_with::<T, _, Pairs<A, V>, Cotangents<W, F>, Cotangents<A, F>>(
                        lam(|e| comp(single(e.at().snd()), f.at().fst().app(e.at().fst()).snd())),
                        tup(xs.at().fst(), vs.at()),
                    )
                }));
                tup(tup(value, transpose), sum(comp(of_f, f.at().snd()), comp(of_xs, xs.at().snd())))
            })
        });
        zipped.hom()
    }

    fn lmap<C: Obj, A: Stacks, B: Stacks>(
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<Fun<A::One, B::One>, B::Many>> {
        let mapped = let_(Expr::<T, _, _>::of(xs), |xs| {
            let value = comp(componentwise(T::lfst), map::<T, _, Primals<A, F>, Primals<B, F>>(xs.at().fst()));
            let transpose = zip::<T, _, Primals<A, F>, Cotangents<B, F>>(xs.at().fst());
            let calls = fold(lam(|f: Var<_, P1<Fun<A::One, B::One>, F>>| {
                zip_with::<T, _, Primals<A, F>, Cotangents<B, F>, Cotangents<A, F>>(
                    lam(|x| f.at().app(x.at()).snd()),
                    xs.at().fst(),
                )
            }));
            tup(tup(value, transpose), comp(calls, xs.at().snd()))
        });
        mapped.hom()
    }

    /// The transpose goes through the trips in the other order: the cotangent of the state before a trip is that which
    /// the step gives, and that of the kept state. A call of the loop calls the step in each trip, with the state before
    /// the trip and the cotangent of the state after it.
    fn laccumulate<C: Obj, A: Stacks, S: Stacks, V: Stacks, W: Stacks>(
        reverse: bool,
        f: Self::Hom<C, Fun<A::One, LinearStep<S::One, V::One, W::One>>>,
        xs: Self::Hom<C, A::Many>,
    ) -> Self::Hom<C, LinFun<Prod<S::One, V::Many>, Prod<S::One, Prod<S::Many, W::Many>>>> {
        type Kept<S, W> = Prod<Cotangents<S, F>, Cotangents<W, F>>;
        type Trip<A, S, V> = Prod<Primals<A, F>, Prod<Primals<S, F>, Primals<V, F>>>;
        let looped = let_(Expr::<T, _, _>::of(f), |f| {
            let_(further(xs), |xs| {
                let step = lam(|x| f.at().fst().app(x.at()).fst().fst());
                let run = linear_loop::<T, _, Primals<A, F>, Primals<S, F>, Primals<V, F>, Primals<W, F>>(
                    reverse,
                    step,
                    xs.at().fst(),
                );
                let step = lam(|x| {
                    let back = comp(both(first(), comp(second(), second())), f.at().fst().app(x.at()).fst().snd());
                    sum(back, both(comp(second(), first()), zero()))
                });
                let swept = linear_loop::<T, _, Primals<A, F>, Cotangents<S, F>, Kept<S, W>, Cotangents<V, F>>(
                    !reverse,
                    step,
                    xs.at().fst(),
                );
                let_(tup(run, swept), |runs| {
                    let calls = fold(lam(|v| {
                        let states = lapp(runs.at().fst(), v.at()).snd().fst();
                        let_(tup(xs.at().fst(), tup(states, v.at().snd())), |trips| {
                            // The vectors <s', w'> of all trips.
                            let vectors = comp(
                                both(runs.at().snd(), same()),
                                both(comp(first(), comp(second(), first())), comp(second(), comp(second(), second()))),
                            );
                            let of_f = comp(zip::<T, _, Trip<A, S, V>, Kept<S, W>>(trips.at()), nested());
                            let each = lam(|e| comp(single(e.at().snd()), f.at().fst().app(e.at().fst()).snd()));
                            let of_xs = zip_with::<T, _, Trip<A, S, V>, Kept<S, W>, Cotangents<A, F>>(each, trips.at());
                            comp(vectors, sum(comp(of_f, f.at().snd()), comp(of_xs, xs.at().snd())))
                        })
                    }));
                    let transpose = comp(runs.at().snd(), both(first(), comp(second(), second())));
                    tup(tup(runs.at().fst(), transpose), calls)
                })
            })
        });
        looped.hom()
    }
}
