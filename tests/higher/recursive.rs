//! Recursive types: lists and trees, made and consumed by recursion and by iteration, in all instances.

use polygrad::program::interpret;
use polygrad::{Array, direct, tensor};
use polygrad_higher::interpreters::{CurryLists, Erased, Forward, Reverse, Run, Syntax};
use polygrad_higher::{
    self as higher, Arrays, Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Sum, Unit, Vector, case, closed, fix,
    fun1, fun2, if_, inl, inr, iterate, lam, let_, map, num, roll, tup, unit, unroll,
};

use super::agree::{close, moved, numbers};
use super::both::with_texts;
use super::gallery::Two;

/// A list of numbers.
struct Numbers;

impl Signature for Numbers {
    type Of<X: Obj> = Sum<Unit, Prod<Real, X>>;
}

type List = Mu<Numbers>;

/// A tree with functions at its leaves.
struct Branches;

impl Signature for Branches {
    type Of<X: Obj> = Sum<Fun<Real, Real>, Prod<X, X>>;
}

type Tree = Mu<Branches>;

fn empty<C: Language, G: Obj>() -> Expr<C, G, List> {
    roll(inl(unit()))
}

fn with<C: Language, G: Obj>(x: Expr<C, G, Real>, rest: Expr<C, G, List>) -> Expr<C, G, List> {
    roll(inr(tup(x, rest)))
}

/// The list of a function of all elements.
fn mapped<C: Language>() -> Expr<C, Fun<Real, Real>, Fun<List, List>> {
    fun1(|f| {
        fix(|own, list| {
            case(
                unroll(list.at()),
                |_| empty(),
                |p| {
                    let (x, rest) = p.split();
                    with(f.at().app(x.at()), own.at().app(rest.at()))
                },
            )
        })
    })
}

/// `a + x (b + x (c + ..))`, of a list of `a`, `b`, `c`, ..
fn horner<C: Language>() -> Expr<C, Real, Fun<List, Real>> {
    fun1(|x| {
        fix(|own, list| {
            case(
                unroll(list.at()),
                |_| num(0.0),
                |p| {
                    let (a, rest) = p.split();
                    a.at() + x.at() * own.at().app(rest.at())
                },
            )
        })
    })
}

/// A polynomial whose coefficients are mapped, and of which there are as many as `y` is large.
fn polynomial<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(with(y.at(), with(x.at() * y.at(), with(num(3.0), empty()))), |list| {
            horner().call(x.at()).app(mapped().call(lam(|z| z.at().sin() * y.at())).app(list.at()))
        })
    })
}

/// A list that is made by a loop and consumed by a loop: the sum of `x^k sin k`.
fn by_loops<C: Language>(length: f64) -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(
            iterate(tup(tup(num(0.0), y.at()), empty()), |s| {
                let (at, list) = s.split();
                let (k, power) = at.split();
                if_(
                    k.at().less(num(length)),
                    || {
                        let next = tup(k.at() + 1.0, power.at() * x.at());
                        inl(tup(next, with(power.at() * k.at().sin(), list.at())))
                    },
                    || inr(list.at()),
                )
            }),
            |list| {
                iterate(tup(num(0.0), list.at()), |s| {
                    let (sum, list) = s.split();
                    case(
                        unroll(list.at()),
                        |_| inr(sum.at()),
                        |p| {
                            let (x, rest) = p.split();
                            inl(tup(sum.at() + x.at(), rest.at()))
                        },
                    )
                })
            },
        )
    })
}

/// The functions of a tree at a number, one after the other, from the left.
fn apply_all<C: Language>() -> Expr<C, Unit, Fun<Prod<Tree, Real>, Real>> {
    fix(|own, at| {
        let (tree, x) = at.split();
        case(
            unroll(tree.at()),
            |f| f.at().app(x.at()),
            |both| {
                let (left, right) = both.split();
                own.at().app(tup(right.at(), own.at().app(tup(left.at(), x.at()))))
            },
        )
    })
}

fn functions<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(Tree::roll(inl(lam(|z| (z.at() * x.at()).sin()))), |one| {
            let_(Tree::roll(inr(tup(one.at(), roll(inl(lam(|z| z.at() + y.at())))))), |two| {
                closed(apply_all()).app(tup(roll(inr(tup(two.at(), two.at()))), x.at() * y.at()))
            })
        })
    })
}

macro_rules! agree {
    ($name:ident: $program:expr, traced $traced:literal) => {
        #[test]
        fn $name() {
            let x = (tensor(0.7), tensor(-0.4));
            let program = with_texts($program);
            let (value, closures) = higher::value_and_grad(program.at(), &x);
            let expected = numbers(&closures);
            let at = |by: f64| higher::run::<_, _, Array>(program.at(), &moved(&x, by).1).item();
            let (direction, _) = moved(&x, 0.0);
            let along: f64 = expected.iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
            close("differences", &[(at(1e-6) - at(-1e-6)) / 2e-6], &[along], 1e-7);
            let (y, lists) = higher::value_and_grad_by::<CurryLists<Array>, _, _>(program.at(), &x);
            let (z, chad) = higher::value_and_grad_by::<Reverse<Run<Array>>, _, _>(program.at(), &x);
            assert_eq!((&y, &z), (&value, &value));
            let dual = direct::grad(|x| higher::run(program.at(), x), &x);
            let (second, _) = higher::hvp(program.at(), &x, &direction);
            for found in [lists, chad, dual, second] {
                close("gradient", &numbers(&found), &expected, 1e-12);
            }
            close("forward", &[higher::jvp(program.at(), &x, &direction).1.item()], &[along], 1e-12);
            if $traced {
                let staged = higher::stage_grad(program.at(), &x);
                let results = interpret(&staged, vec![Array::scalar(0.7), Array::scalar(-0.4)]);
                let found: Vec<f64> = results[1..].iter().map(|t| t.item().expect("a number")).collect();
                close("staged", &found, &expected, 1e-12);
            }
            let inputs = [Array::scalar(0.7), Array::scalar(-0.4)];
            let (back, forth): (Expr<Reverse<Syntax>, _, _>, Expr<Forward<Syntax>, _, _>) =
                (program.at(), program.at());
            let text = back.hom().term().linear::<Real, Two>(&inputs, &tensor(1.0));
            let found: Vec<f64> =
                text.iter().map(|t| t.as_ref().map_or(0.0, |t| t.item().expect("a number"))).collect();
            close("text", &found, &expected, 1e-12);
            let text = forth.hom().term().linear::<Two, Real>(&inputs, &direction);
            close("text, forward", &[text[0].as_ref().map_or(0.0, |t| t.item().expect("a number"))], &[along], 1e-12);
        }
    };
}

agree! { lists_by_recursion: polynomial(), traced true }
agree! { lists_by_loops: by_loops(12.0), traced false }
agree! { trees_of_functions: functions(), traced true }

/// Lists of the greatest length, in a small thread.
#[test]
fn long_lists() {
    let n = if std::env::var_os("POLYGRAD_FUZZ").is_some() { 1e5 } else { 2e3 };
    let x = (tensor(0.99), tensor(1.0));
    let (value, gradient) = higher::value_and_grad(by_loops(n), &x);
    let terms = || (0..n as u32).map(|k| (f64::from(k), f64::from(k).sin()));
    let expected: f64 = terms().map(|(k, s)| 0.99_f64.powf(k) * s).sum();
    let slope: f64 = terms().map(|(k, s)| k * 0.99_f64.powf(k - 1.0) * s).sum();
    close("value", &[value.item()], &[expected], 1e-12);
    close("gradient", &[gradient.0.item(), gradient.1.item()], &[slope, expected], 1e-11);
    let (_, chad) = higher::value_and_grad_by::<Reverse<Run<Array>>, _, _>(Erased::typed(by_loops(n)), &x);
    close("CHAD", &numbers(&chad), &numbers(&gradient), 1e-12);
    let (_, tangent) = higher::jvp(Erased::typed(by_loops(n)), &x, &(tensor(1.0), tensor(0.0)));
    close("forward", &[tangent.item()], &[slope], 1e-11);
}

/// Lists within a loop over an array: every trip makes its own.
#[test]
fn lists_within_a_map() {
    fn program<C: Arrays>() -> Expr<C, Vector, Real> {
        fun1(|v| {
            map(
                lam(|a| horner().call(a.at()).app(with(a.at(), with(num(2.0), with(a.at() * a.at(), empty()))))),
                v.at(),
            )
            .sum()
        })
    }
    // a + 2 a + a^4
    let x = tensor([0.5, -1.5]);
    let expected: Vec<f64> = [0.5_f64, -1.5].iter().map(|a| 3.0 + 4.0 * a.powi(3)).collect();
    close("closures", &numbers(&higher::grad(program(), &x)), &expected, 1e-12);
    let (_, chad) = higher::value_and_grad_by::<Reverse<Run<Array>>, _, _>(Erased::typed(program()), &x);
    close("CHAD", &numbers(&chad), &expected, 1e-12);
    close("dual", &numbers(&direct::grad(|x| higher::run(program(), x), &x)), &expected, 1e-12);
}

/// Another monoid than derivatives.
#[test]
fn a_list_has_as_many_paths_as_uses() {
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Paths(usize);
    impl higher::Monoid for Paths {
        fn plus(&self, other: &Paths) -> Paths {
            Paths(self.0 + other.0)
        }
    }
    fn program<C: Language>() -> Expr<C, Two, Real> {
        fun2(|x, y| horner().call(num(1.0)).app(with(x.at(), with(y.at(), with(x.at(), empty())))))
    }
    let x = (tensor(1.0), tensor(2.0));
    assert_eq!(higher::dependencies::<_, _, _, Array>(program(), &x, &[Paths(1)]), [Paths(2), Paths(1)]);
}
