//! Differentiable curry: reverse mode by giving another meaning to functions.
//!
//! A morphism takes a value to a value and a pullback: `A -> (B, T[B] -> T[A])` ("The Differentiable Curry", section 3).
//! What the tangent of a function is, is a parameter. [`CurryLists`]: the list of its calls, each with the tangent of
//! its result (Figs. 3 and 6); the pullback of `curry` runs the function again for each. [`CurryClosures`]: the tangent
//! of what the function has captured (section 5, Fig. 5); nothing runs twice, so the work of nested functions is linear
//! where that of lists is exponential. Uniform values make the type of captured values, which the paper hides in an
//! existential, one that needs no cast.
//!
//! Laws: the equations of cartesian closed categories hold up to the equality of cotangents, not of lists; both
//! instances, and CHAD, have the same derivatives.

use std::cell::RefCell;
use std::fmt::Display;
use std::marker::PhantomData;
use std::rc::Rc;

use super::bag::{Bag, Entry};
use super::linear::Lin;
use super::linear::Mode;
use super::loops::{Trip, sweep};
use super::run::{iterated, mapped, scanned};
use super::value::{Closure, Val};
use crate::ad::higher::{Tangents, pull_primitive};
use crate::base::BaseTensor;
use crate::higher::{Arrays, Ccc, Expr, Fun, Ground, Language, Mask, Obj, Primitive, Prod, Stack, Sum, Unit};

/// What the tangent of a function is.
pub trait FunctionTangent: Sized + 'static {
    /// The function that `f` is of its second argument, with the first one captured; and its pullback.
    fn curry<T: BaseTensor>(f: Closure<T>, x: Val<T>) -> Val<T>;

    /// The tangents of a function and its argument, from the argument, the tangent of the result and the pullback.
    fn call<T: BaseTensor>(argument: Val<T>, g: Val<T>, pullback: &Val<T>) -> Val<T>;

    /// The function that may call itself, and its pullback.
    fn fix<T: BaseTensor>(body: Closure<T>, g: Val<T>) -> Val<T>;

    /// Refuses functions of which it is not known which one they are.
    fn check_choice<T: BaseTensor>(_value: &Val<T>) {}
}

/// The tangent of a function is the list of its calls.
pub struct Calls;

/// The tangent of a function is that of its environment.
pub struct Environment;

/// Reverse mode with tensors of the interpreter `T`, and tangents of functions as `K` says.
pub struct Curry<T, K>(PhantomData<(T, K)>);

/// Reverse mode in which the tangent of a function is the list of its calls.
pub type CurryLists<T> = Curry<T, Calls>;

/// Reverse mode in which the tangent of a function is that of its environment.
pub type CurryClosures<T> = Curry<T, Environment>;

/// A program from `A` to `B` with its pullback.
pub struct Differentiable<T, K, A, B> {
    run: Closure<T>,
    types: PhantomData<fn(A, K) -> B>,
}

impl<T, K, A, B> Clone for Differentiable<T, K, A, B> {
    fn clone(&self) -> Self {
        Differentiable { run: self.run.clone(), types: PhantomData }
    }
}

/// A value with its pullback.
fn with<T: BaseTensor>(y: Val<T>, pullback: impl Fn(Val<T>) -> Val<T> + 'static) -> Val<T> {
    Val::Pair(Rc::new((y, Val::fun(pullback))))
}

impl<T: BaseTensor, K, A, B> Differentiable<T, K, A, B> {
    fn new(run: impl Fn(Val<T>) -> Val<T> + 'static) -> Self {
        Differentiable { run: Rc::new(run), types: PhantomData }
    }

    /// A function whose pullback needs nothing of the argument.
    fn plain(value: fn(Val<T>) -> Val<T>, pullback: fn(Val<T>) -> Val<T>) -> Self {
        Differentiable::new(move |x| with(value(x), pullback))
    }

    /// The value at an argument, paired with the pullback.
    pub(crate) fn at(&self, x: Val<T>) -> Val<T> {
        (self.run)(x)
    }
}

impl FunctionTangent for Calls {
    fn curry<T: BaseTensor>(f: Closure<T>, x: Val<T>) -> Val<T> {
        let (own, captured) = (f.clone(), x.clone());
        let function = Val::fun(move |y| {
            let ran = own(Val::pair(captured.clone(), y));
            let pullback = ran.snd();
            with(ran.fst(), move |g| pullback.apply(g).snd())
        });
        with(function, move |calls| {
            let again = |y, g| f(Val::pair(x.clone(), y)).snd().apply(g).fst();
            let mut total = Val::Zero;
            if let Some(bag) = calls.bag() {
                bag.fold(&again, &mut |part| total = std::mem::replace(&mut total, Val::Zero).plus(part));
            }
            total
        })
    }

    fn call<T: BaseTensor>(argument: Val<T>, g: Val<T>, pullback: &Val<T>) -> Val<T> {
        let calls = Val::Bag(Bag::one(argument, g.clone()));
        Val::pair(calls, pullback.apply(g))
    }

    fn fix<T: BaseTensor>(body: Closure<T>, g: Val<T>) -> Val<T> {
        fn function<T: BaseTensor>(body: Closure<T>, g: Val<T>) -> Val<T> {
            Val::fun(move |x| {
                let own = function(body.clone(), g.clone());
                let ran = body(Val::pair(Val::pair(g.clone(), own), x));
                let pullback = ran.snd();
                with(ran.fst(), move |v| pullback.apply(v).snd())
            })
        }
        fn total<T: BaseTensor>(body: &Closure<T>, g: &Val<T>, calls: &Val<T>) -> Val<T> {
            let mut sum = Val::Zero;
            let again = |x, v| {
                let own = function(body.clone(), g.clone());
                let parts = body(Val::pair(Val::pair(g.clone(), own), x)).snd().apply(v).fst();
                parts.fst().plus(total(body, g, &parts.snd()))
            };
            if let Some(bag) = calls.bag() {
                bag.fold(&again, &mut |part| sum = std::mem::replace(&mut sum, Val::Zero).plus(part));
            }
            sum
        }
        with(function(body.clone(), g.clone()), move |calls| total(&body, &g, &calls))
    }
}

impl FunctionTangent for Environment {
    fn curry<T: BaseTensor>(f: Closure<T>, x: Val<T>) -> Val<T> {
        with(Val::fun(move |y| f(Val::pair(x.clone(), y))), |environment| environment)
    }

    fn call<T: BaseTensor>(_: Val<T>, g: Val<T>, pullback: &Val<T>) -> Val<T> {
        pullback.apply(g)
    }

    fn fix<T: BaseTensor>(body: Closure<T>, g: Val<T>) -> Val<T> {
        fn function<T: BaseTensor>(body: Closure<T>, g: Val<T>) -> Val<T> {
            Val::fun(move |x| {
                let own = function(body.clone(), g.clone());
                let ran = body(Val::pair(Val::pair(g.clone(), own), x));
                let pullback = ran.snd();
                // The function captures what its inner calls capture.
                with(ran.fst(), move |v| {
                    let parts = pullback.apply(v);
                    Val::pair(parts.fst().fst().plus(parts.fst().snd()), parts.snd())
                })
            })
        }
        with(function(body, g), |environment| environment)
    }

    fn check_choice<T: BaseTensor>(value: &Val<T>) {
        if value.has_function() {
            panic!(
                "if: a function chosen by a condition must be known when it is differentiated by its environment, but the condition is \
                 not known while a program is traced; choose between its results, or differentiate by CurryLists or Reverse<Run<T>>"
            );
        }
    }
}

impl<T: BaseTensor, K: FunctionTangent> Ccc for Curry<T, K> {
    type Hom<A: Obj, B: Obj> = Differentiable<T, K, A, B>;

    fn id<A: Obj>() -> Self::Hom<A, A> {
        Differentiable::plain(|x| x, |g| g)
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C> {
        Differentiable::new(move |x| {
            let first = f.at(x);
            let second = g.at(first.fst());
            let (back, further) = (first.snd(), second.snd());
            with(second.fst(), move |v| back.apply(further.apply(v)))
        })
    }

    fn unit<A: Obj>() -> Self::Hom<A, Unit> {
        Differentiable::plain(|_| Val::Nil, |_| Val::Zero)
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, C>) -> Self::Hom<A, Prod<B, C>> {
        Differentiable::new(move |x| {
            let (first, second) = (f.at(x.clone()), g.at(x));
            let (left, right) = (first.snd(), second.snd());
            let value = Val::pair(first.fst(), second.fst());
            with(value, move |v| left.apply(v.fst()).plus(right.apply(v.snd())))
        })
    }

    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A> {
        Differentiable::plain(|x| x.fst(), |g| Val::pair(g, Val::Zero))
    }

    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B> {
        Differentiable::plain(|x| x.snd(), |g| Val::pair(Val::Zero, g))
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Self::Hom<Prod<A, B>, C>) -> Self::Hom<A, Fun<B, C>> {
        Differentiable::new(move |x| K::curry(f.run.clone(), x))
    }

    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B> {
        Differentiable::new(|x| {
            let argument = x.snd();
            let ran = x.fst().apply(argument.clone());
            let pullback = ran.snd();
            with(ran.fst(), move |g| K::call(argument.clone(), g, &pullback))
        })
    }
}

impl<T: BaseTensor, K: FunctionTangent> Language for Curry<T, K> {
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod> {
        let (from, to) = (P::Dom::layout(), P::Cod::layout());
        Differentiable::new(move |x| {
            let at = x.primals(&from);
            let y = Val::of_leaves(&to, &mut p.run(&at).into_iter().map(Some));
            let (p, from, to) = (p.clone(), from.clone(), to.clone());
            with(y, move |g| {
                let mut leaves = Vec::new();
                g.leaves(&to, &mut leaves);
                let pulled: Tangents<T> = pull_primitive(&p, &at, &leaves);
                Val::of_leaves(&from, &mut pulled.into_iter()).without_units()
            })
        })
    }

    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>> {
        Differentiable::plain(|x| Val::Left(Rc::new(x)), |g| Lin::cast_left().run(Mode::Tuples, g))
    }

    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>> {
        Differentiable::plain(|x| Val::Right(Rc::new(x)), |g| Lin::cast_right().run(Mode::Tuples, g))
    }

    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Self::Hom<Prod<G, A>, C>,
        right: Self::Hom<Prod<G, B>, C>,
    ) -> Self::Hom<Prod<G, Sum<A, B>>, C> {
        fn branch<T: BaseTensor>(ran: &Val<T>, inject: fn() -> Lin<T>) -> Val<T> {
            let pullback = ran.snd();
            with(ran.fst(), move |v| {
                let parts = pullback.apply(v);
                Val::pair(parts.fst(), inject().run(Mode::Tuples, parts.snd()))
            })
        }
        Differentiable::new(move |x| {
            let (g, sum) = (x.fst(), x.snd());
            let ran = sum.split(
                |a| branch(&left.at(Val::pair(g.clone(), a)), Lin::inl),
                |b| branch(&right.at(Val::pair(g.clone(), b)), Lin::inr),
            );
            if matches!(sum, Val::Either(_)) {
                K::check_choice(&ran.fst());
            }
            ran
        })
    }

    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>> {
        Differentiable::plain(|mask| Val::choice(mask.leaf()), |_| Val::Zero)
    }

    fn iterate<G: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<G, S>, Sum<S, R>>) -> Self::Hom<Prod<G, S>, R> {
        // The pullbacks of all steps are kept in order, so that going back through many steps is a loop, too.
        Differentiable::new(move |x| {
            let (g, pullbacks) = (x.fst(), RefCell::new(Vec::new()));
            let result = iterated(x.snd(), &|state| {
                let ran = step.at(Val::pair(g.clone(), state));
                pullbacks.borrow_mut().push(ran.snd());
                ran.fst()
            });
            let pullbacks = pullbacks.into_inner();
            with(result, move |v| {
                let (mut context, mut ct) = (Val::Zero, Lin::inr().run(Mode::Tuples, v));
                for pullback in pullbacks.iter().rev() {
                    let parts = pullback.apply(ct);
                    context = context.plus(parts.fst());
                    ct = Lin::inl().run(Mode::Tuples, parts.snd());
                }
                Val::pair(context, Lin::cast_left().run(Mode::Tuples, ct))
            })
        })
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<G, Fun<A, B>>, A>, B>) -> Self::Hom<G, Fun<A, B>> {
        Differentiable::new(move |g| K::fix(body.run.clone(), g))
    }
}

impl<T: BaseTensor, K: FunctionTangent> Arrays for Curry<T, K> {
    /// The pullback calls the function again at each element, since an array cannot hold its pullbacks.
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        Differentiable::new(|x| {
            let (f, xs) = (x.fst(), x.snd());
            let ys = mapped(&|a| f.apply(a).fst(), &xs);
            with(ys, move |gs| {
                let step = |_, both: Val<T>| {
                    let pulled = K::call(both.fst(), both.snd(), &f.apply(both.fst()).snd());
                    Trip { carry: Val::Nil, out: pulled.snd(), sum: pulled.fst() }
                };
                if gs.is_zero() {
                    return Val::Zero;
                }
                let swept = sweep("map", false, Val::Nil, &Val::pair(xs.clone(), gs), &step);
                Val::pair(swept.sum, swept.out)
            })
        })
    }

    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        Differentiable::new(|x| {
            let (f, xs) = (x.fst(), x.snd().snd());
            let (states, last) = scanned(&|a| f.apply(a).fst(), x.snd().fst(), &xs);
            let trips = Val::pair(states, xs);
            with(last, move |g| {
                let step = |g: Val<T>, at: Val<T>| {
                    let pulled = K::call(at.clone(), g, &f.apply(at).snd());
                    Trip { carry: pulled.snd().fst(), out: pulled.snd().snd(), sum: pulled.fst() }
                };
                let swept = sweep("fold", true, g.conform_row(&trips.fst()), &trips, &step);
                Val::pair(swept.sum, Val::pair(swept.carry, swept.out))
            })
        })
    }
}

impl<T: BaseTensor> CurryLists<T> {
    /// The tangent that a program pulls back to a value that is made by another one, as it is: lists of calls, not
    /// summed up. The cotangent of the result is `g`.
    ///
    /// Two lists may be different and stand for the same tangent ("The Differentiable Curry", section 4.1).
    pub fn raw_tangent<A: Ground, P: Obj, B: Ground>(
        make: Expr<Self, A, P>,
        program: Expr<Self, P, B>,
        x: &A::Value<T>,
        g: &B::Value<T>,
    ) -> Val<T> {
        let made = make.hom().at(Val::of_value::<A>(x)).fst();
        program.hom().at(made).snd().apply(Val::of_value::<B>(g))
    }
}

/// Pairs in parentheses, lists of calls in brackets.
impl<T: BaseTensor + Display> Display for Val<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Val::Zero => f.write_str("0"),
            Val::Nil => f.write_str("()"),
            Val::Leaf(t) => write!(f, "{t}"),
            Val::Pair(p) => write!(f, "({}, {})", p.0, p.1),
            Val::Left(v) => write!(f, "left {v}"),
            Val::Right(v) => write!(f, "right {v}"),
            Val::Either(e) => write!(f, "if {} left {} right {}", e.0, e.1, e.2),
            Val::Fun(_) => f.write_str("function"),
            Val::Lin(_) => f.write_str("linear function"),
            Val::Mono(_) => f.write_str("monoid"),
            Val::Bag(bag) => {
                let entries = bag.entries();
                let pairs = entries.iter().map(|entry| match entry {
                    Entry::One(a, v) => format!("({a}, {v})"),
                    Entry::Zip(xs, vs) => format!("zip {xs} {vs}"),
                });
                write!(f, "[{}]", pairs.collect::<Vec<String>>().join(", "))
            }
        }
    }
}
