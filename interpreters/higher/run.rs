//! `Run<T>`: evaluation. The meaning of a program is a function of values, with tensors of any interpreter `T`.
//!
//! Laws: at `T = Array` this is the reference. At an interpreter that records, the result is a first-order program: all
//! functions have run. A transformed program over this instance is the transformed program, evaluated.

use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;

use super::bag::Bag;
use super::linear::Lin;
use super::loops::{Trip, repeated, sweep};
use super::recursion::within_stack;
use super::value::{Closure, Val, known};
use crate::ad::higher::{Tangents, pull_primitive, push_primitive};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::higher::category::DEEPEST;
use crate::higher::linear::{P1, P2, WithLinear};
use crate::higher::{
    ArrayTarget, Arrays, Ccc, Copower, Fun, Functor, Ground, Language, Layout, LinFun, LinSum, Linear, Mask, Mu, Obj,
    Parity, Primitive, Prod, Signature, Stack, Sum, Target, Unit,
};
use crate::source::{mistake, written, written_at};

/// Evaluation with tensors of the interpreter `T`.
pub struct Run<T>(PhantomData<T>);

/// A program from `A` to `B`, to be run.
pub struct Morphism<T, A, B> {
    pub(super) run: Closure<T>,
    types: PhantomData<fn(A) -> B>,
}

impl<T, A, B> Clone for Morphism<T, A, B> {
    fn clone(&self) -> Self {
        Morphism { run: self.run.clone(), types: PhantomData }
    }
}

impl<T: BaseTensor, A, B> Morphism<T, A, B> {
    fn of(run: Closure<T>) -> Self {
        Morphism { run, types: PhantomData }
    }

    pub(super) fn new(run: impl Fn(Val<T>) -> Val<T> + 'static) -> Self {
        Morphism::of(Rc::new(run))
    }

    /// The same morphism at other types.
    pub(super) fn retyped<C, D>(self) -> Morphism<T, C, D> {
        Morphism::of(self.run)
    }

    /// The result at a value, which must be one of type `A`.
    pub(crate) fn at(&self, x: Val<T>) -> Val<T> {
        (self.run)(x)
    }

    /// A linear function that needs no more than the context.
    fn constantly(l: impl Fn() -> Lin<T> + 'static) -> Self {
        Morphism::new(move |_| Val::Lin(l()))
    }
}

fn then<T: BaseTensor>(f: Closure<T>, g: Closure<T>) -> Closure<T> {
    Rc::new(move |x| g(f(x)))
}

fn pair<T: BaseTensor>(f: Closure<T>, g: Closure<T>) -> Closure<T> {
    Rc::new(move |x| Val::pair(f(x.clone()), g(x)))
}

fn curry<T: BaseTensor>(f: Closure<T>) -> Closure<T> {
    Rc::new(move |x| {
        let f = f.clone();
        Val::fun(move |y| f(Val::pair(x.clone(), y)))
    })
}

fn case<T: BaseTensor>(left: Closure<T>, right: Closure<T>) -> Closure<T> {
    Rc::new(move |x| {
        let g = x.fst();
        x.snd().split(|a| left(Val::pair(g.clone(), a)), |b| right(Val::pair(g.clone(), b)))
    })
}

/// Steps until one is the right case. What it is of the first one that is not known may be known to `unknown`.
pub(super) fn iterated<T: BaseTensor>(
    mut state: Val<T>,
    step: &dyn Fn(Val<T>) -> Val<T>,
    unknown: &dyn Fn(&Val<T>) -> Option<Val<T>>,
) -> Val<T> {
    loop {
        match step(state) {
            Val::Left(next) => state = Rc::unwrap_or_clone(next),
            Val::Right(result) => return Rc::unwrap_or_clone(result),
            Val::Zero | Val::Nil | Val::Leaf(_) | Val::Pair(_) | Val::Fun(_) => unreachable!("a step gives a sum"),
            Val::Lin(_) | Val::Bag(_) | Val::Mono(_) => unreachable!("a step gives a sum"),
            either @ Val::Either(_) => {
                return unknown(&either).unwrap_or_else(|| {
                    mistake(
                        "iterate: a step that keeps a derivative, or whose state is more than tensors, must be known to go on or to end, \
                         but its condition is not known while a program is traced; run it with known numbers, or take \
                         iterate_within, whose number of steps is bounded",
                    )
                });
            }
        }
    }
}

/// The function that may call itself: of itself and its argument.
pub(super) fn recursive<T: BaseTensor>(op: &'static str, call: impl Fn(Val<T>, Val<T>) -> Val<T> + 'static) -> Val<T> {
    fn function<T: BaseTensor>(
        name: (&'static str, Option<&'static Location<'static>>),
        call: Rc<dyn Fn(Val<T>, Val<T>) -> Val<T>>,
    ) -> Val<T> {
        Val::fun(move |x| within_stack(name.0, name.1, || call(function(name, call.clone()), x)))
    }
    function((op, written()), Rc::new(call))
}

/// A value of a recursive type, which is its parts.
pub(super) fn rolled<T: BaseTensor>(parts: Val<T>) -> Val<T> {
    if parts.is_deeper_than(DEEPEST) {
        mistake(&format!(
            "roll: a value of a recursive type must be at most {DEEPEST} cases and pairs deep, but this one is deeper; take an array, \
             with map and fold"
        ));
    }
    parts
}

/// A linear function of two linear functions, each of the same context.
fn both<T: BaseTensor>(f: Closure<T>, g: Closure<T>, join: fn(Lin<T>, Lin<T>) -> Lin<T>) -> Closure<T> {
    Rc::new(move |x| Val::Lin(join(f(x.clone()).lin(), g(x).lin())))
}

impl<T: BaseTensor> Ccc for Run<T> {
    type Hom<A: Obj, B: Obj> = Morphism<T, A, B>;

    fn id<A: Obj>() -> Morphism<T, A, A> {
        Morphism::new(|x| x)
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Morphism<T, A, B>, g: Morphism<T, B, C>) -> Morphism<T, A, C> {
        Morphism::of(then(f.run, g.run))
    }

    fn unit<A: Obj>() -> Morphism<T, A, Unit> {
        Morphism::new(|_| Val::Nil)
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Morphism<T, A, B>, g: Morphism<T, A, C>) -> Morphism<T, A, Prod<B, C>> {
        Morphism::of(pair(f.run, g.run))
    }

    fn fst<A: Obj, B: Obj>() -> Morphism<T, Prod<A, B>, A> {
        Morphism::new(|x| x.fst())
    }

    fn snd<A: Obj, B: Obj>() -> Morphism<T, Prod<A, B>, B> {
        Morphism::new(|x| x.snd())
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Morphism<T, Prod<A, B>, C>) -> Morphism<T, A, Fun<B, C>> {
        Morphism::of(curry(f.run))
    }

    fn eval<A: Obj, B: Obj>() -> Morphism<T, Prod<Fun<A, B>, A>, B> {
        Morphism::new(|x| x.fst().apply(x.snd()))
    }
}

/// A primitive on values.
fn primitive<T: BaseTensor, P: Primitive>(p: P) -> Closure<T> {
    let (from, to) = (P::Dom::layout(), P::Cod::layout());
    Rc::new(move |x| Val::of_leaves(&to, &mut p.run(&x.primals(&from)).into_iter().map(Some)))
}

/// The linear function of a derivative that takes leaves to leaves.
pub(super) fn leafwise<T: BaseTensor>(
    from: Layout,
    to: Layout,
    f: impl Fn(Tangents<T>) -> Tangents<T> + 'static,
) -> Lin<T> {
    Lin::operation(move |_, v| {
        let mut leaves = Vec::new();
        v.leaves(&from, &mut leaves);
        Val::of_leaves(&to, &mut f(leaves).into_iter()).without_units()
    })
}

/// For each argument of a function of truth values, which results change with it.
fn changes<T: BaseTensor, P: Primitive>(p: &P, at: &[T]) -> Vec<Vec<bool>> {
    let truth = |values: &[T]| {
        let known = values.iter().map(|t| if t.shape().is_empty() { known(t) } else { None });
        known.collect::<Option<Vec<bool>>>().unwrap_or_else(|| {
            mistake(&format!(
                "differences: formal derivatives are those of functions of single truth values, but {} takes or gives other values, or \
                 they are not known while a program is traced; run it with known truth values",
                p.name()
            ))
        })
    };
    let (inputs, results) = (truth(at), truth(&p.run(at)));
    let flipped = |k: usize| {
        let mut changed = at.to_vec();
        changed[k] = T::constant(Array::scalar(!inputs[k]));
        truth(&p.run(&changed))
    };
    (0..at.len()).map(|k| flipped(k).iter().zip(&results).map(|(a, b)| a != b).collect()).collect()
}

impl<T: BaseTensor> Language for Run<T> {
    fn prim<P: Primitive>(p: P) -> Morphism<T, P::Dom, P::Cod> {
        Morphism::of(primitive(p))
    }

    fn written<A: Obj, B: Obj>(f: Morphism<T, A, B>, at: &'static Location<'static>) -> Morphism<T, A, B> {
        Morphism::new(move |x| written_at(at, || f.at(x)))
    }

    fn inl<A: Obj, B: Obj>() -> Morphism<T, A, Sum<A, B>> {
        Morphism::new(|x| Val::Left(Rc::new(x)))
    }

    fn inr<A: Obj, B: Obj>() -> Morphism<T, B, Sum<A, B>> {
        Morphism::new(|x| Val::Right(Rc::new(x)))
    }

    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Morphism<T, Prod<G, A>, C>,
        right: Morphism<T, Prod<G, B>, C>,
    ) -> Morphism<T, Prod<G, Sum<A, B>>, C> {
        Morphism::of(case(left.run, right.run))
    }

    fn test() -> Morphism<T, Mask, Sum<Unit, Unit>> {
        Morphism::new(|mask| Val::choice(mask.leaf()))
    }

    fn iterate<G: Obj, S: Obj, R: Obj>(step: Morphism<T, Prod<G, S>, Sum<S, R>>) -> Morphism<T, Prod<G, S>, R> {
        Morphism::new(move |x| {
            let step = |state| step.at(Val::pair(x.fst(), state));
            iterated(x.snd(), &step, &|unknown| repeated(unknown, &step))
        })
    }

    fn roll<S: Signature>() -> Morphism<T, S::Of<Mu<S>>, Mu<S>> {
        Morphism::new(rolled)
    }

    fn unroll<S: Signature>() -> Morphism<T, Mu<S>, S::Of<Mu<S>>> {
        Morphism::new(|x| x)
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Morphism<T, Prod<Prod<G, Fun<A, B>>, A>, B>) -> Morphism<T, G, Fun<A, B>> {
        Morphism::new(move |g| {
            let body = body.run.clone();
            recursive("fix", move |own, x| body(Val::pair(Val::pair(g.clone(), own), x)))
        })
    }
}

impl<T: BaseTensor> Target for Run<T> {
    fn primal<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, P1<P::Cod, F>> {
        Morphism::of(primitive(p))
    }

    fn pushforward<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, LinFun<P2<P::Dom, F>, P2<P::Cod, F>>> {
        Morphism::new(move |x| {
            let (p, at) = (p.clone(), x.primals(&P::Dom::layout()));
            let push = move |x_dots: Tangents<T>| push_primitive(&p, &at, &x_dots);
            Val::Lin(leafwise(P::Dom::layout(), P::Cod::layout(), push))
        })
    }

    fn pullback<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, LinFun<P2<P::Cod, F>, P2<P::Dom, F>>> {
        Morphism::new(move |x| {
            let (p, at) = (p.clone(), x.primals(&P::Dom::layout()));
            let pull = move |y_bars: Tangents<T>| pull_primitive(&p, &at, &y_bars);
            Val::Lin(leafwise(P::Cod::layout(), P::Dom::layout(), pull))
        })
    }

    fn differences<F: Functor, P: Primitive>(p: P) -> Morphism<T, P1<P::Dom, F>, LinFun<P2<P::Cod, F>, P2<P::Dom, F>>> {
        Morphism::new(move |x| {
            let at = x.primals(&P::Dom::layout());
            let changes = changes(&p, &at);
            let back = move |_, v: Val<T>| {
                let marks: Vec<Parity> = v.marks(&P::Cod::layout());
                let odd = |changed: &Vec<bool>| changed.iter().zip(&marks).fold(false, |odd, (c, m)| odd ^ (*c && m.0));
                Val::of_marks(&P::Dom::layout(), &mut changes.iter().map(|changed| Parity(odd(changed))))
            };
            Val::Lin(Lin::operation(back))
        })
    }

    fn lspread<G: Obj, A: Linear, B: Linear>(from: Layout, to: Layout) -> Morphism<T, G, LinFun<A, B>> {
        Morphism::constantly(move || Lin::spread(from.clone(), to.clone()))
    }

    fn zero<G: Obj, A: Linear>() -> Morphism<T, G, A> {
        Morphism::new(|_| Val::Zero)
    }

    fn plus<G: Obj, A: Linear>(a: Morphism<T, G, A>, b: Morphism<T, G, A>) -> Morphism<T, G, A> {
        Morphism::new(move |x| a.at(x.clone()).plus(b.at(x)))
    }

    fn lid<G: Obj, A: Linear>() -> Morphism<T, G, LinFun<A, A>> {
        Morphism::constantly(Lin::id)
    }

    fn lcomp<G: Obj, A: Linear, B: Linear, C: Linear>(
        f: Morphism<T, G, LinFun<A, B>>,
        g: Morphism<T, G, LinFun<B, C>>,
    ) -> Morphism<T, G, LinFun<A, C>> {
        Morphism::of(both(f.run, g.run, Lin::then))
    }

    fn lpair<G: Obj, A: Linear, B: Linear, C: Linear>(
        f: Morphism<T, G, LinFun<A, B>>,
        g: Morphism<T, G, LinFun<A, C>>,
    ) -> Morphism<T, G, LinFun<A, Prod<B, C>>> {
        Morphism::of(both(f.run, g.run, Lin::pair))
    }

    fn lfst<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<Prod<A, B>, A>> {
        Morphism::constantly(Lin::fst)
    }

    fn lsnd<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<Prod<A, B>, B>> {
        Morphism::constantly(Lin::snd)
    }

    fn lswap<G: Obj, A: Obj, B: Linear, C: Linear>(
        f: Morphism<T, G, Fun<A, LinFun<B, C>>>,
    ) -> Morphism<T, G, LinFun<B, Fun<A, C>>> {
        Morphism::new(move |x| Val::Lin(Lin::swap(f.at(x))))
    }

    fn leval<G: Obj, A: Obj, B: Linear>(a: Morphism<T, G, A>) -> Morphism<T, G, LinFun<Fun<A, B>, B>> {
        Morphism::new(move |x| Val::Lin(Lin::eval(a.at(x))))
    }

    fn singleton<G: Obj, A: Obj, B: Linear>(a: Morphism<T, G, A>) -> Morphism<T, G, LinFun<B, Copower<A, B>>> {
        Morphism::new(move |x| Val::Lin(Lin::singleton(a.at(x))))
    }

    fn lcopowfold<G: Obj, A: Obj, B: Linear, C: Linear>(
        f: Morphism<T, G, Fun<A, LinFun<B, C>>>,
    ) -> Morphism<T, G, LinFun<Copower<A, B>, C>> {
        Morphism::new(move |x| Val::Lin(Lin::fold(f.at(x))))
    }

    fn lbind<G: Obj, A: Linear, B: Linear, C: Linear>(
        body: Morphism<T, G, LinFun<A, Prod<B, C>>>,
        value: Morphism<T, G, LinFun<C, B>>,
    ) -> Morphism<T, G, LinFun<A, B>> {
        Morphism::of(both(body.run, value.run, Lin::bind))
    }

    fn linl<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<A, LinSum<A, B>>> {
        Morphism::constantly(Lin::inl)
    }

    fn linr<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<B, LinSum<A, B>>> {
        Morphism::constantly(Lin::inr)
    }

    fn lcastl<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<LinSum<A, B>, A>> {
        Morphism::constantly(Lin::cast_left)
    }

    fn lcastr<G: Obj, A: Linear, B: Linear>() -> Morphism<T, G, LinFun<LinSum<A, B>, B>> {
        Morphism::constantly(Lin::cast_right)
    }

    fn roll_primal<F: Functor, S: Signature>() -> Morphism<T, P1<S::Of<Mu<S>>, F>, P1<Mu<S>, F>> {
        Morphism::new(rolled)
    }

    fn unroll_primal<F: Functor, S: Signature>() -> Morphism<T, P1<Mu<S>, F>, P1<S::Of<Mu<S>>, F>> {
        Morphism::new(|x| x)
    }

    fn lroll<F: Functor, G: Obj, S: Signature>() -> Morphism<T, G, LinFun<P2<S::Of<Mu<S>>, F>, P2<Mu<S>, F>>> {
        Morphism::constantly(Lin::id)
    }

    fn lunroll<F: Functor, G: Obj, S: Signature>() -> Morphism<T, G, LinFun<P2<Mu<S>, F>, P2<S::Of<Mu<S>>, F>>> {
        Morphism::constantly(Lin::id)
    }
}

/// The function of every element, on values.
pub(super) fn mapped<T: BaseTensor>(f: &dyn Fn(Val<T>) -> Val<T>, xs: &Val<T>) -> Val<T> {
    sweep("map", false, Val::Nil, xs, &|_, x| Trip { carry: Val::Nil, out: f(x), sum: Val::Zero }).out
}

/// A fold on values: all states but the last, and the last.
pub(super) fn scanned<T: BaseTensor>(f: &dyn Fn(Val<T>) -> Val<T>, start: Val<T>, xs: &Val<T>) -> (Val<T>, Val<T>) {
    let step = |state: Val<T>, x| Trip { carry: f(Val::pair(state.clone(), x)), out: state, sum: Val::Zero };
    let swept = sweep("fold", false, start, xs, &step);
    (swept.out, swept.carry)
}

/// A fold backwards: `f` takes a state and an element, and the cotangent of the next state to those of both.
pub(super) fn unfolded<T: BaseTensor>(f: &dyn Fn(Val<T>, Val<T>) -> Val<T>, trips: &Val<T>, last: Val<T>) -> Val<T> {
    let step = |ct: Val<T>, at: Val<T>| {
        let parts = f(at, ct.clone());
        Trip { carry: parts.fst(), out: Val::pair(ct, parts.snd()), sum: Val::Zero }
    };
    let swept = sweep("fold", true, last.conform_row(&trips.fst()), trips, &step);
    Val::pair(swept.carry, swept.out)
}

/// A fold of tangents: `f` takes a state and an element, and their tangents to that of the next state; `v` are the
/// tangents of the function, the first state and the elements.
pub(super) fn tangent_folded<T: BaseTensor>(
    f: &dyn Fn(Val<T>, Val<T>) -> Val<T>,
    trips: &Val<T>,
    v: &Val<T>,
) -> Val<T> {
    let (of_f, start, moves) = (v.fst(), v.snd().fst(), v.snd().snd());
    let step = |dot: Val<T>, at: Val<T>| {
        let (point, x_dot) = (at.fst(), at.snd());
        let along = f(point.clone(), Val::pair(dot, x_dot));
        Trip { carry: along.plus(of_f.apply(point)), out: Val::Nil, sum: Val::Zero }
    };
    let start = start.conform_row(&trips.fst());
    sweep("fold", false, start, &Val::pair(trips.clone(), moves), &step).carry
}

impl<T: BaseTensor> Arrays for Run<T> {
    fn map<A: Stack, B: Stack>() -> Morphism<T, Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        Morphism::new(|x| mapped(&|a| x.fst().apply(a), &x.snd()))
    }

    fn fold<S: Stack, A: Stack>() -> Morphism<T, Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        Morphism::new(|x| scanned(&|a| x.fst().apply(a), x.snd().fst(), &x.snd().snd()).1)
    }
}

impl<T: BaseTensor> ArrayTarget for Run<T> {
    fn map_primal<F: Functor, A: Stack, B: Stack, L: Linear>()
    -> Morphism<T, Prod<WithLinear<P1<A, F>, P1<B, F>, L>, P1<A::Stacked, F>>, P1<B::Stacked, F>> {
        Morphism::new(|x| mapped(&|a| x.fst().apply(a).fst(), &x.snd()))
    }

    fn scan_primal<F: Functor, S: Stack, A: Stack, L: Linear>() -> Morphism<
        T,
        Prod<WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, L>, Prod<P1<S, F>, P1<A::Stacked, F>>>,
        Prod<P1<S::Stacked, F>, P1<S, F>>,
    > {
        Morphism::new(|x| {
            let (states, last) = scanned(&|a| x.fst().apply(a).fst(), x.snd().fst(), &x.snd().snd());
            Val::pair(states, last)
        })
    }

    fn lzip<F: Functor, G: Obj, A: Stack, B: Stack>(
        xs: Morphism<T, G, P1<A::Stacked, F>>,
    ) -> Morphism<T, G, LinFun<P2<B::Stacked, F>, Copower<P1<A, F>, P2<B, F>>>> {
        Morphism::new(move |x| {
            let xs = xs.at(x);
            Val::Lin(Lin::operation(move |_, vs| Val::Bag(Bag::zip(xs.clone(), vs))))
        })
    }

    fn lzip_with<F: Functor, G: Obj, A: Stack, B: Stack, V: Stack, W: Stack>(
        f: Morphism<T, G, WithLinear<P1<A, F>, P1<B, F>, LinFun<P2<V, F>, P2<W, F>>>>,
        xs: Morphism<T, G, P1<A::Stacked, F>>,
    ) -> Morphism<T, G, LinFun<P2<V::Stacked, F>, P2<W::Stacked, F>>> {
        Morphism::new(move |x| {
            let (f, xs) = (f.at(x.clone()), xs.at(x));
            Val::Lin(Lin::operation(move |mode, vs| {
                let each = |both: Val<T>| f.apply(both.fst()).snd().lin().run(mode, both.snd());
                mapped(&each, &Val::pair(xs.clone(), vs))
            }))
        })
    }

    fn lmap<F: Functor, G: Obj, A: Stack, B: Stack>(
        xs: Morphism<T, G, P1<A::Stacked, F>>,
    ) -> Morphism<T, G, LinFun<Fun<P1<A, F>, P2<B, F>>, P2<B::Stacked, F>>> {
        Morphism::new(move |x| {
            let xs = xs.at(x);
            Val::Lin(Lin::operation(move |_, f| mapped(&|a| f.apply(a), &xs)))
        })
    }

    fn lunfold<F: Functor, G: Obj, S: Stack, A: Stack>(
        f: Morphism<T, G, WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, LinFun<P2<S, F>, Prod<P2<S, F>, P2<A, F>>>>>,
        trips: Morphism<T, G, Prod<P1<S::Stacked, F>, P1<A::Stacked, F>>>,
    ) -> Morphism<T, G, LinFun<P2<S, F>, Prod<P2<S, F>, Prod<P2<S::Stacked, F>, P2<A::Stacked, F>>>>> {
        Morphism::new(move |x| {
            let (f, trips) = (f.at(x.clone()), trips.at(x));
            Val::Lin(Lin::operation(move |mode, last| {
                unfolded(&|at, ct| f.apply(at).snd().lin().run(mode, ct), &trips, last)
            }))
        })
    }

    fn lfold<F: Functor, G: Obj, S: Stack, A: Stack>(
        f: Morphism<T, G, WithLinear<Prod<P1<S, F>, P1<A, F>>, P1<S, F>, LinFun<Prod<P2<S, F>, P2<A, F>>, P2<S, F>>>>,
        trips: Morphism<T, G, Prod<P1<S::Stacked, F>, P1<A::Stacked, F>>>,
    ) -> Morphism<
        T,
        G,
        LinFun<Prod<Fun<Prod<P1<S, F>, P1<A, F>>, P2<S, F>>, Prod<P2<S, F>, P2<A::Stacked, F>>>, P2<S, F>>,
    > {
        Morphism::new(move |x| {
            let (f, trips) = (f.at(x.clone()), trips.at(x));
            Val::Lin(Lin::operation(move |mode, v| {
                tangent_folded(&|at, v| f.apply(at).snd().lin().run(mode, v), &trips, &v)
            }))
        })
    }
}
