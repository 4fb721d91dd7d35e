//! The logical relations of "CHAD", section 8, as properties of random programs of random types.
//!
//! A program of one number `t` has a curve of values and, by a transformation, a curve of primal values with
//! (co)tangents. Both are related: at numbers, the second curve has the derivative of the first; at pairs, component by
//! component; at functions, related arguments have related results. Arguments are written by hand, without the
//! transformation, so a wrong rule of it is seen at any type.

use polygrad::interpreters::Dual;
use polygrad::ops::Unary;
use polygrad::{Array, Tensor, direct, tensor};
use polygrad_higher::interpreters::erased::Any;
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Erased, Forward, Lambda, Reverse, Run, Syntax};
use polygrad_higher::{
    self as higher, Ccc, Copower, Expr, Fun, LinFun, Obj, Prod, Real, Target, Unit, Var, lam, let_, num, tup,
};

use super::agree::close;
use super::dynamic::{Draw, Name, Term, Ty, app, plus, rc, times};

type I = Run<Array>;
type E = Erased<I>;
/// Any type: programs here have none.
type X = Unit;
/// A linear function in a context.
type Linear<G, A, B> = Expr<E, G, LinFun<A, B>>;
/// A curve of primal values with linear functions.
type Curve = Expr<E, Real, Prod<X, X>>;

/// A program at other types.
fn tag<G: Obj, A: Obj, B: Obj>(e: Expr<E, G, A>) -> Expr<E, G, B> {
    Expr::of(e.hom())
}

fn further<G: Obj, A: Obj, B: Obj>(e: Expr<E, G, A>) -> Expr<E, Prod<G, B>, A> {
    Expr::of(E::then::<Prod<G, B>, G, A>(E::fst::<G, B>(), e.hom()))
}

fn sum<G: Obj, A: Obj>(a: Expr<E, G, A>, b: Expr<E, G, A>) -> Expr<E, G, A> {
    Expr::of(E::plus::<G, A>(a.hom(), b.hom()))
}

fn zero<G: Obj, A: Obj>() -> Expr<E, G, A> {
    Expr::of(E::zero::<G, A>())
}

fn comp<G: Obj, A: Obj, B: Obj, C: Obj>(f: Linear<G, A, B>, g: Linear<G, B, C>) -> Linear<G, A, C> {
    Expr::of(E::lcomp::<G, A, B, C>(f.hom(), g.hom()))
}

fn both<G: Obj, A: Obj, B: Obj, C: Obj>(f: Linear<G, A, B>, g: Linear<G, A, C>) -> Linear<G, A, Prod<B, C>> {
    Expr::of(E::lpair::<G, A, B, C>(f.hom(), g.hom()))
}

fn same<G: Obj, A: Obj>() -> Linear<G, A, A> {
    Expr::of(E::lid::<G, A>())
}

fn lapp<G: Obj, A: Obj, B: Obj>(f: Linear<G, A, B>, v: Expr<E, G, A>) -> Expr<E, G, B> {
    Expr::of(E::lapp::<G, A, B>(f.hom(), v.hom()))
}

fn first<G: Obj, A: Obj, B: Obj>() -> Linear<G, Prod<A, B>, A> {
    Expr::of(E::lfst::<G, A, B>())
}

fn second<G: Obj, A: Obj, B: Obj>() -> Linear<G, Prod<A, B>, B> {
    Expr::of(E::lsnd::<G, A, B>())
}

fn eval<G: Obj, A: Obj, B: Obj>(a: Expr<E, G, A>) -> Linear<G, Fun<A, B>, B> {
    Expr::of(E::leval::<G, A, B>(a.hom()))
}

fn single<G: Obj, A: Obj, B: Obj>(a: Expr<E, G, A>) -> Linear<G, B, Copower<A, B>> {
    Expr::of(E::singleton::<G, A, B>(a.hom()))
}

/// The function `v -> by v`, of numbers.
fn scaled<G: Obj>(by: Expr<E, G, Real>) -> Linear<G, Real, Real> {
    let function = let_(by, |by| lam(|v| by.at() * v.at()));
    Expr::of(E::linear::<G, Real, Real>(function.hom()))
}

/// A function to linear functions, as a linear function to functions.
fn swap<G: Obj, A: Obj, B: Obj, C: Obj>(f: Expr<E, G, Fun<A, LinFun<B, C>>>) -> Linear<G, B, Fun<A, C>> {
    Expr::of(E::lswap::<G, A, B, C>(f.hom()))
}

/// The sum over the calls of a function.
fn fold<G: Obj, A: Obj, B: Obj, C: Obj>(f: Expr<E, G, Fun<A, LinFun<B, C>>>) -> Linear<G, Copower<A, B>, C> {
    Expr::of(E::lcopowfold::<G, A, B, C>(f.hom()))
}

/// A program of the number `t`, and a curve that should be related to it.
#[derive(Clone)]
struct Element {
    program: Term,
    curve: Curve,
}

/// The definitions that differ between forward and reverse mode.
trait Mode {
    /// The curve that the transformation makes of a program.
    fn transformed(program: &Term, t: Name) -> Curve;
    /// A component of a pair.
    fn component(pair: &Curve, second: bool) -> Curve;
    /// The results of a function at an argument.
    fn applied(f: &Curve, a: &Curve) -> Curve;
    /// A pair.
    fn paired(a: &Curve, b: &Curve) -> Curve;
    /// The function with one value.
    fn constant(b: &Curve) -> Curve;
    /// `x -> sin (a x)`.
    fn sine(a: &Curve) -> Curve;
    /// `g -> g a`.
    fn call(a: &Curve) -> Curve;
    /// The function that gives a component of its argument.
    fn projection(second: bool) -> Curve;
}

/// A function of primal values, with its derivative at each.
type WithDerivative = Fun<X, Prod<X, LinFun<X, X>>>;

/// The sine of a multiple of a number, with its derivative: `x -> <sin (a x), v -> a cos (a x) v>`.
fn sine_of<G: Obj>(a: Expr<E, G, Real>) -> Expr<E, G, Fun<Real, Prod<Real, LinFun<Real, Real>>>> {
    let_(a, |a| lam(|x| tup((a.at() * x.at()).sin(), scaled(a.at() * (a.at() * x.at()).cos()))))
}

struct Tangents;

type Along<A> = Prod<A, LinFun<Real, X>>;

impl Mode for Tangents {
    fn transformed(program: &Term, t: Name) -> Curve {
        Expr::of(I::retyped::<_, _, Any, Any>(program.of_number::<Forward<I>>(t)))
    }

    fn component(pair: &Curve, right: bool) -> Curve {
        let_(tag::<_, _, Prod<Prod<X, X>, LinFun<Real, Prod<X, X>>>>(pair.clone()), |p| {
            if right {
                tag(tup(p.at().fst().snd(), comp(p.at().snd(), second())))
            } else {
                tag(tup(p.at().fst().fst(), comp(p.at().snd(), first())))
            }
        })
    }

    fn applied(f: &Curve, a: &Curve) -> Curve {
        let_(tag::<_, _, Prod<WithDerivative, LinFun<Real, Fun<X, X>>>>(f.clone()), |f| {
            let_(further(tag::<_, _, Along<X>>(a.clone())), |a| {
                let_(f.at().fst().app(a.at().fst()), |ran| {
                    let of_f = comp(f.at().snd(), eval(a.at().fst()));
                    tag(tup(ran.at().fst(), sum(of_f, comp(a.at().snd(), ran.at().snd()))))
                })
            })
        })
    }

    fn paired(a: &Curve, b: &Curve) -> Curve {
        let_(tag::<_, _, Along<X>>(a.clone()), |a| {
            let_(further(tag::<_, _, Along<X>>(b.clone())), |b| {
                tag(tup(tup(a.at().fst(), b.at().fst()), both(a.at().snd(), b.at().snd())))
            })
        })
    }

    fn constant(b: &Curve) -> Curve {
        let_(tag::<_, _, Along<X>>(b.clone()), |b| {
            let function: Expr<E, _, WithDerivative> = lam(|_: Var<_, X>| tup(b.at().fst(), zero()));
            tag(tup(function, swap(lam(|_: Var<_, X>| b.at().snd()))))
        })
    }

    fn sine(a: &Curve) -> Curve {
        let_(tag::<_, _, Prod<Real, LinFun<Real, Real>>>(a.clone()), |a| {
            let of_a = lam(|x| comp(a.at().snd(), scaled(x.at() * (a.at().fst() * x.at()).cos())));
            tag(tup(sine_of(a.at().fst()), swap(of_a)))
        })
    }

    fn call(a: &Curve) -> Curve {
        let_(tag::<_, _, Along<X>>(a.clone()), |a| {
            let function =
                lam(|g: Var<_, WithDerivative>| tup(g.at().app(a.at().fst()).fst(), eval::<_, X, X>(a.at().fst())));
            let of_a = lam(|g: Var<_, WithDerivative>| comp(a.at().snd(), g.at().app(a.at().fst()).snd()));
            tag(tup(function, swap(of_a)))
        })
    }

    fn projection(right: bool) -> Curve {
        let function: Expr<E, Real, Fun<Prod<X, X>, Prod<X, X>>> = lam(|p: Var<_, Prod<X, X>>| {
            if right { tag(tup(p.at().snd(), second::<_, X, X>())) } else { tag(tup(p.at().fst(), first::<_, X, X>())) }
        });
        tag(tup(function, zero::<_, X>()))
    }
}

struct Cotangents;

type Back<A> = Prod<A, LinFun<X, Real>>;

impl Mode for Cotangents {
    fn transformed(program: &Term, t: Name) -> Curve {
        Expr::of(I::retyped::<_, _, Any, Any>(program.of_number::<Reverse<I>>(t)))
    }

    fn component(pair: &Curve, right: bool) -> Curve {
        let_(tag::<_, _, Prod<Prod<X, X>, LinFun<Prod<X, X>, Real>>>(pair.clone()), |p| {
            if right {
                tag(tup(p.at().fst().snd(), comp(both(zero::<_, LinFun<X, X>>(), same()), p.at().snd())))
            } else {
                tag(tup(p.at().fst().fst(), comp(both(same(), zero::<_, LinFun<X, X>>()), p.at().snd())))
            }
        })
    }

    fn applied(f: &Curve, a: &Curve) -> Curve {
        let_(tag::<_, _, Prod<WithDerivative, LinFun<Copower<X, X>, Real>>>(f.clone()), |f| {
            let_(further(tag::<_, _, Back<X>>(a.clone())), |a| {
                let_(f.at().fst().app(a.at().fst()), |ran| {
                    let of_f = comp(single(a.at().fst()), f.at().snd());
                    tag(tup(ran.at().fst(), sum(of_f, comp(ran.at().snd(), a.at().snd()))))
                })
            })
        })
    }

    fn paired(a: &Curve, b: &Curve) -> Curve {
        let_(tag::<_, _, Back<X>>(a.clone()), |a| {
            let_(further(tag::<_, _, Back<X>>(b.clone())), |b| {
                let back = sum(comp(first::<_, X, X>(), a.at().snd()), comp(second(), b.at().snd()));
                tag(tup(tup(a.at().fst(), b.at().fst()), back))
            })
        })
    }

    fn constant(b: &Curve) -> Curve {
        let_(tag::<_, _, Back<X>>(b.clone()), |b| {
            let function: Expr<E, _, WithDerivative> = lam(|_: Var<_, X>| tup(b.at().fst(), zero()));
            tag(tup(function, fold(lam(|_: Var<_, X>| b.at().snd()))))
        })
    }

    fn sine(a: &Curve) -> Curve {
        let_(tag::<_, _, Prod<Real, LinFun<Real, Real>>>(a.clone()), |a| {
            let of_a = lam(|x| comp(scaled(x.at() * (a.at().fst() * x.at()).cos()), a.at().snd()));
            tag(tup(sine_of(a.at().fst()), fold(of_a)))
        })
    }

    fn call(a: &Curve) -> Curve {
        let_(tag::<_, _, Back<X>>(a.clone()), |a| {
            let function =
                lam(|g: Var<_, WithDerivative>| tup(g.at().app(a.at().fst()).fst(), single::<_, X, X>(a.at().fst())));
            let of_a = lam(|g: Var<_, WithDerivative>| comp(g.at().app(a.at().fst()).snd(), a.at().snd()));
            tag(tup(function, fold(of_a)))
        })
    }

    fn projection(right: bool) -> Curve {
        let function: Expr<E, Real, Fun<Prod<X, X>, Prod<X, X>>> = lam(|p: Var<_, Prod<X, X>>| {
            if right {
                tag(tup(p.at().snd(), both(zero::<_, LinFun<X, X>>(), same())))
            } else {
                tag(tup(p.at().fst(), both(same(), zero::<_, LinFun<X, X>>())))
            }
        });
        tag(tup(function, zero::<_, X>()))
    }
}

/// A type without sums, whose values can be observed.
fn observable(draw: &mut Draw, depth: u32) -> Ty {
    loop {
        let ty = draw.ty(depth);
        if without_sums(&ty) {
            return ty;
        }
    }
}

fn without_sums(ty: &Ty) -> bool {
    match ty {
        Ty::Real => true,
        Ty::Sum(..) => false,
        Ty::Pair(a, b) | Ty::Fun(a, b) => without_sums(a) && without_sums(b),
    }
}

/// An element of a type that is related by construction, without the transformation.
fn argument<M: Mode>(draw: &mut Draw, t: Name, ty: &Ty) -> Element {
    match ty {
        Ty::Sum(..) => unreachable!("an observable type"),
        Ty::Real => {
            let (a, b, c) = (draw.number(), draw.number(), draw.number());
            let time = || Term::Var(t);
            let line = plus(Term::Number(b), times(Term::Number(c), time()));
            let program = plus(Term::Number(a), times(line, time()));
            let slope = plus(Term::Number(b), times(Term::Number(2.0 * c), time()));
            let value: Expr<E, Real, Real> = Expr::of(program.of_number::<I>(t));
            let slope: Expr<E, Real, Real> = Expr::of(slope.of_number::<I>(t));
            Element { program, curve: tag(tup(value, scaled(slope))) }
        }
        Ty::Pair(a, b) => {
            let (a, b) = (argument::<M>(draw, t, a), argument::<M>(draw, t, b));
            Element { program: Term::Pair(rc(a.program), rc(b.program)), curve: M::paired(&a.curve, &b.curve) }
        }
        Ty::Fun(a, b) => function::<M>(draw, t, a, b),
    }
}

fn function<M: Mode>(draw: &mut Draw, t: Name, a: &Ty, b: &Ty) -> Element {
    let x = draw.name();
    let variable = || Term::Var(x);
    let constant = draw.below(4) == 0;
    match a {
        Ty::Real if *b == Ty::Real && !constant => {
            let by = argument::<M>(draw, t, &Ty::Real);
            let sine = Term::Unary(Unary::Sin, rc(times(by.program, variable())));
            Element { program: Term::Lam(x, rc(sine)), curve: M::sine(&by.curve) }
        }
        Ty::Fun(of, to) if **to == *b && !constant => {
            let at = argument::<M>(draw, t, of);
            Element { program: Term::Lam(x, rc(app(variable(), at.program))), curve: M::call(&at.curve) }
        }
        Ty::Pair(left, _) if **left == *b && !constant => {
            Element { program: Term::Lam(x, rc(Term::Fst(rc(variable())))), curve: M::projection(false) }
        }
        Ty::Pair(_, right) if **right == *b && !constant => {
            Element { program: Term::Lam(x, rc(Term::Snd(rc(variable())))), curve: M::projection(true) }
        }
        Ty::Real | Ty::Fun(..) | Ty::Pair(..) | Ty::Sum(..) => {
            let value = argument::<M>(draw, t, b);
            Element { program: Term::Lam(x, rc(value.program)), curve: M::constant(&value.curve) }
        }
    }
}

/// The point of all curves.
const TIME: f64 = 0.6;

/// The value and the derivative of a program of numbers: evaluation at dual numbers.
fn by_dual_numbers(program: &Term, t: Name) -> [f64; 2] {
    let dual = |x: &Tensor<Dual<Array>, 0>| higher::run(program.numbers::<Run<Dual<Array>>>(t), x);
    let (value, slope) = direct::jvp(dual, &tensor(TIME), &tensor(1.0));
    [value.item(), slope.item()]
}

/// An element of the numbers with its value and derivative, and those of the curve. Elements of other types are reduced
/// to numbers by related arguments.
fn seen<M: Mode>(draw: &mut Draw, t: Name, ty: &Ty, element: &Element, found: &mut Vec<[[f64; 2]; 2]>) {
    match ty {
        Ty::Sum(..) => unreachable!("an observable type"),
        Ty::Real => {
            let at = tensor(TIME);
            let curve = let_(tag::<_, _, Prod<Real, LinFun<Real, Real>>>(element.curve.clone()), |c| {
                tup(c.at().fst(), lapp(c.at().snd(), num(1.0)))
            });
            let (primal, along) = higher::run(Erased::typed(curve), &at);
            found.push([by_dual_numbers(&element.program, t), [primal.item(), along.item()]]);
        }
        Ty::Pair(a, b) => {
            for (right, part) in [(false, a), (true, b)] {
                let pair = rc(element.program.clone());
                let program = if right { Term::Snd(pair) } else { Term::Fst(pair) };
                let curve = M::component(&element.curve, right);
                seen::<M>(draw, t, part, &Element { program, curve }, found);
            }
        }
        Ty::Fun(a, b) => {
            let at = argument::<M>(draw, t, a);
            let program = app(element.program.clone(), at.program);
            let curve = M::applied(&element.curve, &at.curve);
            seen::<M>(draw, t, b, &Element { program, curve }, found);
        }
    }
}

/// A random program of a random type.
fn drawn(seed: u64) -> (Draw, Name, Ty, Term) {
    let mut draw = Draw::new(seed);
    let t = draw.name();
    let ty = observable(&mut draw, 2 + (seed % 2) as u32);
    let program = draw.term(&mut vec![(t, Ty::Real)], &ty, 3 + (seed % 3) as u32);
    (draw, t, ty, program)
}

/// The number of programs: more in a long run.
fn programs() -> u64 {
    std::env::var("POLYGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

fn holds<M: Mode>(what: &str) {
    let (mut functions, mut slopes, mut all) = (0, 0, 0);
    for seed in 0..programs() {
        let (mut draw, t, ty, program) = drawn(seed);
        let curve = M::transformed(&program, t);
        let mut found = Vec::new();
        seen::<M>(&mut draw, t, &ty, &Element { program, curve }, &mut found);
        functions += u64::from(has_function(&ty));
        for [expected, curve] in found {
            close(&format!("{what}, program {seed} of type {ty:?}"), &curve, &expected, 1e-10);
            slopes += u64::from(expected[1] != 0.0);
            all += 1;
        }
    }
    assert!(3 * functions > programs() && 3 * slopes > all, "{functions} functions, {slopes} slopes of {all}");
}

fn has_function(ty: &Ty) -> bool {
    match ty {
        Ty::Real => false,
        Ty::Fun(..) => true,
        Ty::Pair(a, b) | Ty::Sum(a, b) => has_function(a) || has_function(b),
    }
}

/// "CHAD", section 8, forward mode: every program preserves the relation.
#[test]
fn forward_mode_preserves_the_relation() {
    holds::<Tangents>("forward");
}

/// "CHAD", section 8, reverse mode.
#[test]
fn reverse_mode_preserves_the_relation() {
    holds::<Cotangents>("reverse");
}

/// The relation refuses a function without the cotangents of what it captures.
#[test]
fn the_relation_refuses_wrong_functions() {
    let (t, x) = (1, 2);
    let program = Term::Lam(x, rc(times(Term::Var(t), Term::Var(x))));
    let ty = Ty::Fun(Ty::Real.into(), Ty::Real.into());
    let right = Cotangents::transformed(&program, t);
    let wrong = let_(right.clone(), |c| tup(c.at().fst(), zero()));
    let differs = |curve: Curve| {
        let mut found = Vec::new();
        seen::<Cotangents>(&mut Draw::new(5), t, &ty, &Element { program: program.clone(), curve }, &mut found);
        found.iter().any(|[expected, curve]| (expected[1] - curve[1]).abs() > 1e-6)
    };
    assert!(!differs(right) && differs(wrong));
}

/// Instances without such a relation, and texts, agree on programs of numbers ("CHAD", Theorem 5.10: adequacy).
#[test]
fn texts_and_curried_instances_agree() {
    for seed in 0..programs() {
        let mut draw = Draw::new(seed);
        let t = draw.name();
        let program = draw.term(&mut vec![(t, Ty::Real)], &Ty::Real, 3 + (seed % 3) as u32);
        let at = tensor(TIME);
        let expected = by_dual_numbers(&program, t);
        let pair = |(y, g): (Tensor<Array, 0>, Tensor<Array, 0>)| [y.item(), g.item()];
        let lists = pair(higher::value_and_grad_by(program.numbers::<CurryLists<Array>>(t), &at));
        close(&format!("lists, program {seed}"), &lists, &expected, 1e-10);
        let closures = pair(higher::value_and_grad_by(program.numbers::<CurryClosures<Array>>(t), &at));
        close(&format!("closures, program {seed}"), &closures, &expected, 1e-10);
        let text: Lambda = program.numbers::<Syntax>(t).hom().term();
        let run = |text: &Lambda| text.run::<Real>(&[Array::scalar(TIME)])[0].item::<f64>().expect("a number");
        close(&format!("text, program {seed}"), &[run(&text)], &expected[..1], 1e-12);
        close(&format!("simplified text, program {seed}"), &[run(&text.simplify())], &expected[..1], 1e-12);
    }
}
