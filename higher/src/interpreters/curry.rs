//! Differentiable curry: reverse mode in which functions have tangents.
//!
//! A morphism takes a value to a value and a pullback: `A -> (B, T[B] -> T[A])` ("The Differentiable Curry", section
//! 3). The type of tangents of functions is a parameter. [`CurryLists`]: the list of calls of the function, each with
//! the tangent of its result (Figs. 3 and 6); the pullback of `curry` runs the function again for each call.
//! [`CurryClosures`]: the tangent of the captured values (section 5, Fig. 5); no function runs twice, so the work of
//! nested functions is linear, while that of lists is exponential. Fig. 5 hides the type of captured values in an
//! existential; here all values have one type ([`Val`]), so no cast is needed.
//!
//! Laws: the equations of cartesian closed categories hold up to the equality of cotangents, not of lists; both
//! instances, and CHAD, have the same derivatives.

use std::fmt::Display;
use std::marker::PhantomData;
use std::panic::Location;

use polygrad::base::BaseTensor;
use polygrad::seam::written;

use super::choice::chosen;
use super::differential::{jvp_reverse, vjp_reverse};
use super::linear::with;
use super::loops::{Trip, sweep};
use super::machine::{self, called_with, chained, joined};
use super::recorded::iterate_pulled;
use super::recorded_recursion::{Recursion, recursion_total};
use super::untyped::{Case, choice, first, left, mapped, nil, pullback, right, same, scanned, second};
use super::value::{Cell, Closure, Code, Entry, Lin, Mode, Place, Transition, Val};
use super::{Scattered, Tower};
use crate::{
    Arrays, Ccc, Differential, Expr, Fun, Ground, Language, Mask, Obj, Primitive, Prod, Recursive, Stack, Sum,
    TypeParts, Unit,
};

/// The tangents of functions.
///
/// ```
/// use polygrad::{Array, tensor};
/// use polygrad_higher::interpreters::curry::{Calls, Differentiable, Environment, FunctionTangent};
/// use polygrad_higher::interpreters::{Curry, Val};
/// use polygrad_higher::{self as higher, Expr, Language, Real, fun1, lam};
/// /// An instance asks for `curry` where a function is made, `call` where it is applied, and `fix` where it is recursive.
/// fn program<C: Language>() -> Expr<C, Real, Real> {
///     fun1(|x| lam(|z| x.at() * z.at()).app(x.at()))
/// }
/// /// The slope at 3, with tangents of functions as `K` says.
/// fn slope<K: FunctionTangent>() -> f64 {
///     higher::value_and_grad_by(program::<Curry<Array, K>>(), &tensor(3.0)).1.item()
/// }
/// assert_eq!((slope::<Calls>(), slope::<Environment>()), (6.0, 6.0));
/// let morphism: Differentiable<Array, Environment, Real, Real> = program::<Curry<Array, Environment>>().hom();
/// assert_eq!(higher::grad(Expr::of(morphism), &tensor(3.0)), tensor(6.0));
/// let number = |x: f64| Val::Leaf(Array::scalar(x));
/// assert_eq!(Calls::choose(&Array::scalar(true), number(1.0), number(2.0)).to_string(), "1.0");
/// assert!(Calls::of_captured(number(1.0)).is_none() && Environment::of_captured(number(1.0)).is_some());
/// ```
pub trait FunctionTangent: Sized + 'static {
    /// The function of the second component of `f`'s argument, with the first component captured; and its pullback.
    ///
    /// Example: [`FunctionTangent`].
    fn curry<T: BaseTensor>(f: Closure<T>, x: Val<T>) -> Val<T>;

    /// The pullback to a function and its argument, from the pullback to its environment and argument.
    ///
    /// Example: [`FunctionTangent`].
    fn call<T: BaseTensor>(argument: Val<T>, pullback: Lin<T>) -> Lin<T>;

    /// A recursive function, and its pullback.
    ///
    /// Example: [`FunctionTangent`].
    fn fix<T: BaseTensor>(body: Closure<Tower<T>>, g: Val<Tower<T>>) -> Val<Tower<T>>;

    /// The cotangent of a function whose captured value has this cotangent; `None` if the tangent of a function says
    /// nothing of what it captures. An iteration that is recorded as a loop asks for it.
    ///
    /// Example: [`FunctionTangent`].
    fn of_captured<T: BaseTensor>(captured: Val<T>) -> Option<Val<T>> {
        let _ = captured;
        None
    }

    /// Selects between values with pullbacks of one type by a mask that is not known.
    ///
    /// Example: [`FunctionTangent`].
    fn choose<T: BaseTensor>(mask: &T, then: Val<T>, otherwise: Val<T>) -> Val<T> {
        Val::select(mask, then, otherwise)
    }
}

/// The tangent of a function is the list of its calls.
///
/// Example: [`Curry::raw_tangent`].
pub struct Calls;

/// The tangent of a function is that of its environment.
///
/// Example: [`Curry::raw_tangent`].
pub struct Environment;

/// Reverse mode with tensors of the interpreter `T`, and tangents of functions as `K` says.
///
/// Example: [`FunctionTangent`].
pub struct Curry<T, K>(PhantomData<(T, K)>);

/// Reverse mode in which the tangent of a function is the list of its calls.
///
/// Example: [`Curry::raw_tangent`].
pub type CurryLists<T> = Curry<T, Calls>;

/// Reverse mode in which the tangent of a function is that of its environment.
///
/// Example: [`Curry::raw_tangent`].
pub type CurryClosures<T> = Curry<T, Environment>;

/// A morphism of the types that the context determines. A macro, since a function would be instantiated for each pair
/// of types.
macro_rules! typed {
    ($run:expr) => {
        Differentiable { run: $run, types: PhantomData }
    };
}

/// A program from `A` to `B` with its pullback.
///
/// Example: [`FunctionTangent`].
pub struct Differentiable<T: 'static, K, A, B> {
    run: Closure<Tower<T>>,
    types: PhantomData<fn(A, K) -> B>,
}

impl<T, K, A, B> Clone for Differentiable<T, K, A, B> {
    fn clone(&self) -> Self {
        Differentiable { run: self.run.clone(), types: PhantomData }
    }
}

impl<T: BaseTensor, K, A, B> Differentiable<T, K, A, B> {
    /// The value at an argument, paired with the pullback.
    pub(crate) fn at(&self, x: Val<Tower<T>>) -> Val<Tower<T>> {
        self.run.at(x)
    }
}

/// The function of the second component of an argument, with the first one captured, where `end` makes the result.
fn capturing<T: BaseTensor>(f: Closure<T>, captured: Val<T>, end: fn(Val<T>) -> Val<T>) -> Val<T> {
    let begin = move |captured: &Val<T>, y| (Transition::Call(f.clone(), Val::pair(captured.clone(), y)), Val::Zero);
    Val::Fun(called_with(captured, begin, move |_, ran| end(ran)))
}

/// A value, with the pullback to the second component of the argument.
fn to_argument<T: BaseTensor>(ran: Val<T>) -> Val<T> {
    with(ran.fst(), ran.snd().lin().then(Lin::snd()))
}

/// The pullback to the first component of the argument.
fn to_captured<T: BaseTensor>(ran: Val<T>) -> Val<T> {
    Val::Lin(ran.snd().lin().then(Lin::fst()))
}

impl FunctionTangent for Calls {
    fn curry<T: BaseTensor>(f: Closure<T>, x: Val<T>) -> Val<T> {
        let again = capturing(f.clone(), x.clone(), to_captured);
        with(capturing(f, x, to_argument), Lin::fold(again))
    }

    fn call<T: BaseTensor>(argument: Val<T>, pullback: Lin<T>) -> Lin<T> {
        Lin::pair(Lin::singleton(argument), pullback)
    }

    fn fix<T: BaseTensor>(body: Closure<Tower<T>>, g: Val<Tower<T>>) -> Val<Tower<T>> {
        fn to_argument_alone<T: BaseTensor>(pullback: Lin<T>) -> Lin<T> {
            pullback.then(Lin::snd())
        }
        let (at, end, pulled) = (written(), to_argument as fn(_) -> _, to_argument_alone as fn(_) -> _);
        let of_captured = Self::of_captured;
        let function = Closure::of(Recursion { at, body: body.clone(), g: g.clone(), end, pulled, of_captured });
        with(Val::Fun(function.clone()), recursion_total(body, g, function, of_captured))
    }
}

impl FunctionTangent for Environment {
    fn curry<T: BaseTensor>(f: Closure<T>, x: Val<T>) -> Val<T> {
        with(Val::capturing(Code::Curried(f), x), Lin::id())
    }

    fn call<T: BaseTensor>(_: Val<T>, pullback: Lin<T>) -> Lin<T> {
        pullback
    }

    fn fix<T: BaseTensor>(body: Closure<Tower<T>>, g: Val<Tower<T>>) -> Val<Tower<T>> {
        /// The function captures the values that its inner calls capture.
        fn to_captured<T: BaseTensor>(ran: Val<T>) -> Val<T> {
            let both = Lin::fst().then(Lin::fst().plus(Lin::snd()));
            with(ran.fst(), ran.snd().lin().then(Lin::pair(both, Lin::snd())))
        }
        let of_captured = Self::of_captured;
        let function = Recursion { at: written(), body, g, end: to_captured, pulled: |pullback| pullback, of_captured };
        with(Val::Fun(Closure::of(function)), Lin::id())
    }

    fn of_captured<T: BaseTensor>(captured: Val<T>) -> Option<Val<T>> {
        Some(captured)
    }

    fn choose<T: BaseTensor>(mask: &T, then: Val<T>, otherwise: Val<T>) -> Val<T> {
        let (value, [of_then, of_otherwise]) = chosen(mask, &then.fst(), &otherwise.fst());
        let (left, right) = (of_then.then(then.snd().lin()), of_otherwise.then(otherwise.snd().lin()));
        with(value, Lin::select(mask.clone(), left, right))
    }
}

// Morphisms without their types, as in `untyped`.

/// A function whose pullback does not depend on the argument.
fn plain<T: BaseTensor>(value: fn(Val<T>) -> Val<T>, pullback: fn() -> Lin<T>) -> Closure<T> {
    let pullback = pullback();
    Closure::new(move |x| with(value(x), pullback.clone()))
}

fn then<T: BaseTensor>(f: Closure<T>, g: Closure<T>) -> Closure<T> {
    chained(
        f,
        g,
        |_, first: &Val<T>| first.fst(),
        |first: Val<T>, second: Val<T>| with(second.fst(), second.snd().lin().then(first.snd().lin())),
    )
}

fn pair<T: BaseTensor>(f: Closure<T>, g: Closure<T>) -> Closure<T> {
    joined(f, g, |first: Val<T>, second: Val<T>| {
        let pullback = Lin::copair(first.snd().lin(), second.snd().lin());
        with(Val::pair(first.fst(), second.fst()), pullback)
    })
}

/// From the cotangent of the first component to that of the pair.
fn to_first<T: BaseTensor>() -> Lin<T> {
    Lin::pair(Lin::id(), Lin::zero())
}

/// From the cotangent of the second component to that of the pair.
fn to_second<T: BaseTensor>() -> Lin<T> {
    Lin::pair(Lin::zero(), Lin::id())
}

fn curried<T: BaseTensor, K: FunctionTangent>(f: Closure<T>) -> Closure<T> {
    Closure::new(move |x| K::curry(f.clone(), x))
}

fn called<T: BaseTensor, K: FunctionTangent>() -> Closure<T> {
    called_with(
        Val::Zero,
        |_, x: Val<T>| (x.fst().call(x.snd()), x.snd()),
        |argument, ran: Val<T>| with(ran.fst(), K::call(argument, ran.snd().lin())),
    )
}

fn bind<T: BaseTensor>(value: Closure<T>, body: Closure<T>) -> Closure<T> {
    chained(
        value,
        body,
        |g, first: &Val<T>| Val::pair(g, first.fst()),
        |first: Val<T>, second: Val<T>| with(second.fst(), Lin::bind(second.snd().lin(), first.snd().lin())),
    )
}

fn primitive<T: BaseTensor, P: Primitive>(p: P) -> Closure<T> {
    let (from, to) = (P::Dom::layout(), P::Cod::layout());
    Closure::new(move |x| {
        let at = x.primals(&from);
        let y = Val::of_leaves(&to, &mut p.run(&at).into_iter().map(Some));
        with(y, pullback(p.clone(), at))
    })
}

fn case<T: BaseTensor, K: FunctionTangent>(left: Closure<T>, right: Closure<T>) -> Closure<T> {
    fn branch<T: BaseTensor>(f: Closure<T>, inject: fn() -> Lin<T>) -> Closure<T> {
        let to_sum = Lin::pair(Lin::fst(), Lin::snd().then(inject()));
        let end = Closure::new(move |ran: Val<T>| with(ran.fst(), ran.snd().lin().then(to_sum.clone())));
        machine::then(f, end)
    }
    Closure::of(Case { left: branch(left, Lin::inl), right: branch(right, Lin::inr), choose: K::choose })
}

fn fixed<T: BaseTensor, K: FunctionTangent>(body: Closure<Tower<T>>) -> Closure<Tower<T>> {
    Closure::new(move |g| K::fix(body.clone(), g))
}

/// The pullback calls the function again at each element, since an array cannot hold its pullbacks.
fn map<T: BaseTensor, K: FunctionTangent>(x: Val<T>) -> Val<T> {
    let (f, xs) = (x.fst(), x.snd());
    let ys = mapped(&f, &|a| f.apply(a).fst(), &xs);
    let pullback = Lin::operation_for(move |mode, gs, needed| {
        let step = |_, both: Val<T>| {
            let pulled = K::call(both.fst(), f.apply(both.fst()).snd().lin()).run_for(mode, both.snd(), needed);
            Trip { carry: Val::Nil, out: pulled.snd(), sum: pulled.fst() }
        };
        let swept = sweep("map", false, Val::Nil, &Val::pair(xs.clone(), gs), &step);
        Val::pair(swept.sum, swept.out)
    });
    with(ys, pullback)
}

fn fold<T: BaseTensor, K: FunctionTangent>(x: Val<T>) -> Val<T> {
    let (f, xs) = (x.fst(), x.snd().snd());
    let (states, last) = scanned(&f, &|a| f.apply(a).fst(), x.snd().fst(), &xs);
    let trips = Val::pair(states, xs);
    let pullback = Lin::operation_for(move |mode, g: Val<T>, needed| {
        let (of_f, (_, of_xs)) = (needed.parts().0, needed.parts().1.parts());
        // The cotangent of a state is needed for that of the state before.
        let needed = Place::both(of_f, Place::both(Place::To(Cell::new()), of_xs));
        let step = |g: Val<T>, at: Val<T>| {
            let pulled = K::call(at.clone(), f.apply(at).snd().lin()).run_for(mode, g, &needed);
            Trip { carry: pulled.snd().fst(), out: pulled.snd().snd(), sum: pulled.fst() }
        };
        let swept = sweep("fold", true, g, &trips, &step);
        Val::pair(swept.sum, Val::pair(swept.carry, swept.out))
    });
    with(last, pullback)
}

impl<T: BaseTensor, K: FunctionTangent> Ccc for Curry<T, K> {
    type Hom<A: Obj, B: Obj> = Differentiable<T, K, A, B>;

    fn retyped<A: Obj, B: Obj, C: Obj, D: Obj>(f: Self::Hom<A, B>) -> Self::Hom<C, D> {
        typed!(f.run)
    }

    fn id<A: Obj>() -> Self::Hom<A, A> {
        typed!(plain(same, Lin::id))
    }

    fn then<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<B, C>) -> Self::Hom<A, C> {
        typed!(then(f.run, g.run))
    }

    fn unit<A: Obj>() -> Self::Hom<A, Unit> {
        typed!(plain(nil, Lin::zero))
    }

    fn pair<A: Obj, B: Obj, C: Obj>(f: Self::Hom<A, B>, g: Self::Hom<A, C>) -> Self::Hom<A, Prod<B, C>> {
        typed!(pair(f.run, g.run))
    }

    fn fst<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, A> {
        typed!(plain(first, to_first))
    }

    fn snd<A: Obj, B: Obj>() -> Self::Hom<Prod<A, B>, B> {
        typed!(plain(second, to_second))
    }

    fn curry<A: Obj, B: Obj, C: Obj>(f: Self::Hom<Prod<A, B>, C>) -> Self::Hom<A, Fun<B, C>> {
        typed!(curried::<_, K>(f.run))
    }

    fn eval<A: Obj, B: Obj>() -> Self::Hom<Prod<Fun<A, B>, A>, B> {
        typed!(called::<_, K>())
    }

    fn bind<G: Obj, A: Obj, B: Obj>(value: Self::Hom<G, A>, body: Self::Hom<Prod<G, A>, B>) -> Self::Hom<G, B> {
        typed!(bind(value.run, body.run))
    }
}

impl<T: BaseTensor, K: FunctionTangent> Language for Curry<T, K> {
    fn prim<P: Primitive>(p: P) -> Self::Hom<P::Dom, P::Cod> {
        typed!(primitive(p))
    }

    fn written<A: Obj, B: Obj>(f: Self::Hom<A, B>, at: &'static Location<'static>) -> Self::Hom<A, B> {
        typed!(f.run.placed(at))
    }

    fn inl<A: Obj, B: Obj>() -> Self::Hom<A, Sum<A, B>> {
        typed!(plain(left, Lin::cast_left))
    }

    fn inr<A: Obj, B: Obj>() -> Self::Hom<B, Sum<A, B>> {
        typed!(plain(right, Lin::cast_right))
    }

    fn case<G: Obj, A: Obj, B: Obj, C: Obj>(
        left: Self::Hom<Prod<G, A>, C>,
        right: Self::Hom<Prod<G, B>, C>,
    ) -> Self::Hom<Prod<G, Sum<A, B>>, C> {
        typed!(case::<_, K>(left.run, right.run))
    }

    fn test() -> Self::Hom<Mask, Sum<Unit, Unit>> {
        typed!(plain(choice, Lin::zero))
    }

    fn iterate<G: Obj, S: Obj, R: Obj>(step: Self::Hom<Prod<G, S>, Sum<S, R>>) -> Self::Hom<Prod<G, S>, R> {
        typed!(iterate_pulled(step.run, K::of_captured))
    }

    fn roll<R: TypeParts>() -> Self::Hom<R::Of, Recursive<R>> {
        typed!(plain(same, Lin::id))
    }

    fn unroll<R: TypeParts>() -> Self::Hom<Recursive<R>, R::Of> {
        typed!(plain(same, Lin::id))
    }

    fn fix<G: Obj, A: Obj, B: Obj>(body: Self::Hom<Prod<Prod<G, Fun<A, B>>, A>, B>) -> Self::Hom<G, Fun<A, B>> {
        typed!(fixed::<_, K>(body.run))
    }
}

impl<T: BaseTensor, K: FunctionTangent> Arrays for Curry<T, K> {
    fn map<A: Stack, B: Stack>() -> Self::Hom<Prod<Fun<A, B>, A::Stacked>, B::Stacked> {
        typed!(Closure::new(map::<_, K>))
    }

    fn fold<S: Stack, A: Stack>() -> Self::Hom<Prod<Fun<Prod<S, A>, S>, Prod<S, A::Stacked>>, S> {
        typed!(Closure::new(fold::<_, K>))
    }
}

impl<T: BaseTensor, K: FunctionTangent> Differential for Curry<T, K> {
    fn vjp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, A>, Prod<B, Fun<B::Tangent, A::Tangent>>> {
        typed!(vjp_reverse::<T, K>())
    }

    fn jvp<A: Ground, B: Ground>() -> Self::Hom<Prod<Fun<A, B>, Prod<A, A::Tangent>>, Prod<B, B::Tangent>> {
        typed!(jvp_reverse::<T, K>())
    }
}

impl<T: BaseTensor, K: FunctionTangent> Curry<T, K> {
    /// The cotangent that `program` pulls back to the value of `make`, in its representation: for a function, the list
    /// of its calls, not summed, or the cotangent of its environment. The cotangent of the result is `g`.
    ///
    /// Two lists may be different and stand for the same tangent ("The Differentiable Curry", section 4.1).
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// use polygrad_higher::interpreters::curry::{Calls, Environment};
    /// use polygrad_higher::interpreters::{Curry, CurryClosures, CurryLists, Val};
    /// use polygrad_higher::{Expr, Fun, Language, Real, fun1, lam, num};
    /// fn scale<C: Language>() -> Expr<C, Real, Fun<Real, Real>> {
    ///     fun1(|x| lam(|z| x.at() * z.at()))
    /// }
    /// /// `f 5 + f 7`.
    /// fn called<C: Language>() -> Expr<C, Fun<Real, Real>, Real> {
    ///     fun1(|f| f.at().app(num(5.0)) + f.at().app(num(7.0)))
    /// }
    /// let (x, g) = (tensor(2.0), tensor(1.0));
    /// // A `Bag` with an entry for each call. `CurryLists` is `Curry` with `Calls`.
    /// let calls = Curry::<Array, Calls>::raw_tangent(scale(), called(), &x, &g);
    /// assert!(matches!(&calls, Val::Bag(_)) && calls.to_string() == "[(5.0, 1.0), (7.0, 1.0)]");
    /// assert_eq!(CurryLists::<Array>::raw_tangent(scale(), called(), &x, &g).to_string(), calls.to_string());
    /// // The function captures the context `((), x)`, whose cotangent is `(0, 5 + 7)`. `CurryClosures` is `Curry` with
    /// // `Environment`.
    /// let environment = Curry::<Array, Environment>::raw_tangent(scale(), called(), &x, &g);
    /// assert_eq!(environment.to_string(), "(0, 12.0)");
    /// assert_eq!(CurryClosures::<Array>::raw_tangent(scale(), called(), &x, &g).to_string(), "(0, 12.0)");
    /// ```
    pub fn raw_tangent<A: Ground, P: Obj, B: Ground>(
        make: Expr<Self, A, P>,
        program: Expr<Self, P, B>,
        x: &A::Value<T>,
        g: &B::Value<T>,
    ) -> Val<Tower<T>> {
        let made = make.hom().at(Val::given::<A>(x)).fst();
        program.hom().at(made).snd().lin().run(Mode::Tuples, Val::given::<B>(g))
    }
}

/// Pairs in parentheses, lists of calls in brackets.
impl<T: BaseTensor + Display> Display for Val<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Val::Zero => f.write_str("0"),
            Val::Nil => f.write_str("()"),
            Val::Leaf(t) => write!(f, "{t}"),
            Val::Scattered(at) => write!(f, "{}", Scattered::clone(at).dense()),
            Val::Pair(p) => write!(f, "({}, {})", p.0, p.1),
            Val::Left(v) => write!(f, "left {}", **v),
            Val::Right(v) => write!(f, "right {}", **v),
            Val::Either(e) => write!(f, "if {} left {} right {}", e.0, e.1, e.2),
            Val::Fun(_) => f.write_str("function"),
            Val::Lin(_) => f.write_str("linear function"),
            Val::Mono(_) => f.write_str("monoid"),
            Val::Many(_) => f.write_str("array of functions"),
            Val::Bag(bag) => {
                let entries = bag.entries();
                let pairs = entries.iter().map(|entry| match entry {
                    Entry::One(a, v) => format!("({a}, {v})"),
                    Entry::Zip(xs, vs) => format!("zip {xs} {vs}"),
                    Entry::Total(_) => String::from("derivative of calls"),
                });
                write!(f, "[{}]", pairs.collect::<Vec<String>>().join(", "))
            }
        }
    }
}
