//! Recursive functions whose end depends on inputs, recorded as loops.
//!
//! Laws: what is recorded has the values and the derivatives of the calls that run at known numbers, by all four ways to
//! record a gradient, interpreted and compiled; these ways give one text, up to the names of inputs; random recursive
//! functions keep the law, whether they call themselves once or several times.

use std::fmt::Write;
use std::fs;

use polygrad::backend::compile;
use polygrad::program::{Program, Term, interpret};
use polygrad::tree::Tree;
use polygrad::{Array, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Reverse, Run};
use polygrad_higher::{
    self as higher, Arrays, Expr, Fun, Obj, Prod, Real, Sum, Var, Vector, case, fix, fun2, if_, inl, inr, lam, let_,
    map, num, tup,
};
use quickcheck::{Gen, QuickCheck};

use super::agree::{close, moved, numbers};
use super::both::{All, Everywhere, everywhere};
use super::deep::refused;
use super::gallery::Two;
use super::random::{Random, seeds};
use super::root::root;

/// `f n = if n < 1/2 then y else sin (x n) f (n - 1) + y / 10`, from `4 x` on.
fn once<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        fix(|f, n| {
            if_(
                n.at().less(num(0.5)),
                || y.at(),
                || (x.at() * n.at()).sin() * f.at().app(n.at() - 1.0) + y.at() * num(0.1),
            )
        })
        .app(x.at() * 4.0)
    })
}

/// A recursion with a state, whose last call is its result, in two branches.
fn last<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        fix(|f, p: Var<_, Two>| {
            if_(
                p.at().fst().less(num(0.5)),
                || p.at().snd() * y.at(),
                || {
                    if_(
                        p.at().snd().less(y.at()),
                        || f.at().app(tup(p.at().fst() - 1.0, (p.at().snd() * x.at() + p.at().fst()).sin())),
                        || f.at().app(tup(p.at().fst() - 0.5, p.at().snd() * 0.5)),
                    )
                },
            )
        })
        .app(tup(x.at() * 4.0, y.at()))
    })
}

/// Two calls, in one branch or in another.
fn twice<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        fix(|f, n| {
            if_(
                n.at().less(num(1.0)),
                || n.at() * y.at(),
                || {
                    let (a, b) = (f.at().app(n.at() * 0.6), f.at().app(n.at() * 0.5 - 0.1));
                    if_(x.at().less(y.at()), || f.at().app(n.at() - 1.0), || num(0.5)) * (a * x.at()).sin() + b * y.at()
                },
            )
        })
        .app(x.at() * 3.0)
    })
}

/// A call at the result of a call.
fn within<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        fix(|f, n| {
            if_(
                num(10.0).less(n.at()),
                || n.at() - y.at(),
                || f.at().app(f.at().app(n.at() + x.at() * x.at() + 5.5)) * 0.5,
            )
        })
        .app(x.at())
    })
}

/// Arrays in the argument and in the result, and for each element of an array a recursion that ends by it.
fn of_arrays<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|v, x| {
        let_(
            fix(|f, p: Var<_, Prod<Real, Vector>>| {
                if_(
                    p.at().fst().less(x.at()),
                    || p.at().snd(),
                    || {
                        let next = tup(p.at().fst() - 1.0, map(lam(|a| (a.at() * x.at()).sin()), p.at().snd()));
                        map(lam(|a| a.at() * p.at().fst() + 0.5), f.at().app(next))
                    },
                )
            }),
            |f| {
                let depth = fix(|g, n| if_(n.at().less(x.at()), || n.at(), || x.at() * g.at().app(n.at() - 1.0)));
                let depths = let_(depth, |g| map(lam(|a| g.at().app(a.at() * 4.0)), v.at()).sum());
                f.at().app(tup(x.at() + 2.5, v.at())).sum() + depths
            },
        )
    })
}

/// A function that the recursion captures, which captures an input.
fn capturing<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(lam(|z: Var<_, Real>| (z.at() * y.at()).sin()), |k| {
            fix(|f, n| if_(n.at().less(num(0.5)), || y.at(), || k.at().app(n.at()) * f.at().app(n.at() - 1.0) + x.at()))
                .app(x.at())
        })
    })
}

/// A sum as the argument.
fn of_sums<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        fix(|f, s: Var<_, Sum<Real, Real>>| {
            case(
                s.at(),
                |n| if_(n.at().less(num(0.5)), || y.at(), || x.at() * f.at().app(inl(n.at() - 1.0))),
                |m| m.at(),
            )
        })
        .app(if_(x.at().less(y.at()), || inl(x.at()), || inr(y.at())))
    })
}

type Ways = Vec<(&'static str, Program)>;

fn ways<A: higher::Ground>(program: &Everywhere<All, A, Real>, like: &A::Value<Array>) -> Ways {
    vec![
        ("stage_grad", higher::stage_grad(program.at(), like)),
        ("closures", higher::stage_grad_by(program.at::<CurryClosures<Term>, _>(), like)),
        ("lists", higher::stage_grad_by(program.at::<CurryLists<Term>, _>(), like)),
        ("reverse", higher::stage_grad_by(program.at::<Reverse<Run<Term>>, _>(), like)),
    ]
}

/// Value and gradient as numbers.
fn found(results: &[Array]) -> Vec<f64> {
    results.iter().flat_map(|t| t.to_vec::<f64>().expect("floats")).collect()
}

/// Points at which the recursions of this file end at once, soon, or later.
const POINTS: [(f64, f64); 5] = [(1.0, 0.7), (2.5, 0.1), (0.1, 5.0), (-1.0, 0.5), (1.7, 1.9)];

/// The programs of two numbers, each with all ways.
fn programs() -> Vec<(&'static str, Everywhere<All, Two, Real>)> {
    vec![
        ("once", everywhere(once())),
        ("last", everywhere(last())),
        ("twice", everywhere(twice())),
        ("within", everywhere(within())),
    ]
}

#[test]
fn recursions_that_end_by_an_input() {
    let like = (tensor(1.0), tensor(1.0));
    for (name, program) in programs() {
        let value = higher::stage(program.at(), &like);
        let ways = ways(&program, &like);
        let compiled: Vec<_> = ways.iter().map(|(_, way)| compile(way)).collect();
        // A call at the result of a call takes more calls than there is memory for at the others.
        let points = if name == "within" { &POINTS[..2] } else { &POINTS[..] };
        for (x, y) in points.iter().copied() {
            let (at, inputs) = ((tensor(x), tensor(y)), vec![Array::scalar(x), Array::scalar(y)]);
            let (expected, gradient) = higher::value_and_grad(program.at(), &at);
            let all = [vec![expected.item()], numbers(&gradient)].concat();
            close(&format!("{name} at {x}, {y}"), &found(&interpret(&value, inputs.clone())), &all[..1], 1e-13);
            for ((way, staged), compiled) in ways.iter().zip(&compiled) {
                let say = format!("{name}, {way} at {x}, {y}");
                if (x, y) == POINTS[0] {
                    close(&say, &found(&interpret(staged, inputs.clone())), &all, 1e-11);
                }
                close(&say, &found(&compiled.run(&inputs)), &all, 1e-11);
            }
        }
    }
}

#[test]
fn recursions_of_arrays_that_end_by_an_input() {
    let program = everywhere(of_arrays());
    let like = (tensor([0.0; 3]), tensor(0.0));
    let ways = ways(&program, &like);
    for at in [(tensor([0.3, 0.9, -0.2]), tensor(0.7)), (tensor([0.1, 0.2, 1.4]), tensor(-0.4))] {
        let (value, gradient) = higher::value_and_grad(program.at(), &at);
        let all = [vec![value.item()], numbers(&gradient)].concat();
        for (way, staged) in &ways {
            close(way, &found(&interpret(staged, at.leaves())), &all, 1e-11);
            close(way, &found(&compile(staged).run(&at.leaves())), &all, 1e-11);
        }
    }
}

/// Finite differences, and second derivatives: forward over reverse mode, and the gradient of a slope, both recorded.
#[test]
fn second_derivatives_of_recursions() {
    fn check(
        name: &str,
        (x, y): (f64, f64),
        f: &dyn Fn(&Two2) -> polygrad::Tensor<Array, 0>,
        second: &dyn Fn(&Two2) -> [Two2; 3],
    ) {
        let at = (tensor(x), tensor(y));
        let [gradient, recorded, ran] = second(&at);
        let say = format!("{name} at {x}, {y}");
        let (direction, _) = moved(&at, 0.0);
        let along: f64 = numbers(&gradient).iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
        let value = |by: f64| f(&moved(&at, by).1).item();
        let h = 1e-6;
        close(&say, &[(value(h) - value(-h)) / (2.0 * h)], &[along], 1e-6);
        close(&say, &numbers(&recorded), &numbers(&ran), 1e-10);
    }
    type Two2 = (polygrad::Tensor<Array, 0>, polygrad::Tensor<Array, 0>);
    macro_rules! check {
        ($($program:ident)*) => {$(
            for point in [POINTS[0], POINTS[3]] {
                check(stringify!($program), point, &|x| higher::run($program(), x), &|x| [
                    higher::grad($program(), x),
                    polygrad::grad(|p| higher::value_and_grad($program(), p).1.0, x),
                    polygrad::direct::grad(|p| higher::value_and_grad($program(), p).1.0, x),
                ]);
            }
        )*};
    }
    check!(once last twice within);
}

/// A function in the context: its cotangent is that of what it captures, where functions are closures. Elsewhere the
/// recursion is refused, unless it makes no use of the function.
#[test]
fn recursions_that_capture_functions() {
    let (program, like) = (everywhere(capturing()), (tensor(1.0), tensor(1.0)));
    let staged =
        [higher::stage_grad(program.at(), &like), higher::stage_grad_by(program.at::<CurryClosures<Term>, _>(), &like)];
    for (x, y) in POINTS {
        let (value, gradient) = higher::value_and_grad(program.at(), &(tensor(x), tensor(y)));
        let all = [vec![value.item()], numbers(&gradient)].concat();
        for staged in &staged {
            close("capturing", &found(&interpret(staged, vec![Array::scalar(x), Array::scalar(y)])), &all, 1e-11);
        }
    }
    let refusals = [
        refused(|| higher::stage_grad_by(program.at::<CurryLists<Term>, _>(), &like)),
        refused(|| higher::stage_grad_by(program.at::<Reverse<Run<Term>>, _>(), &like)),
        refused(|| higher::stage(everywhere(of_sums()).at(), &like)),
    ];
    for message in refusals {
        assert!(message.contains("must take and return tensors whose shapes stay the same"), "{message}");
    }
}

/// 10^5 calls that wait, in a compiled program.
#[test]
fn deep_recursions_are_recorded() {
    fn deep<C: Arrays>() -> Expr<C, Two, Real> {
        fun2(|n, y| {
            fix(|f, n| if_(n.at().less(num(0.5)), || y.at(), || f.at().app(n.at() - 1.0) * 0.5 + y.at())).app(n.at())
        })
    }
    let staged = compile(&higher::stage(deep(), &(tensor(1.0), tensor(1.0))));
    let y = 0.3;
    close("10^5", &found(&staged.run(&[1e5, y].map(Array::scalar))), &[2.0 * y], 1e-12);
    let gradient = compile(&higher::stage_grad(deep(), &(tensor(1.0), tensor(1.0))));
    close("10^3", &found(&gradient.run(&[1e3, y].map(Array::scalar))), &[2.0 * y, 0.0, 2.0], 1e-12);
}

/// The texts of values, and of gradients by structure, which are one for all three.
#[test]
fn texts_of_recursions() {
    let (like, mut text) = ((tensor(1.0), tensor(1.0)), String::new());
    for (name, program) in programs() {
        let ways = ways(&program, &like);
        assert_eq!(ways[1].1.to_string(), ways[2].1.to_string(), "{name}");
        assert_eq!(ways[1].1.to_string(), ways[3].1.to_string(), "{name}");
        let _ = writeln!(text, "== {name}\n{}", higher::stage(program.at(), &like));
        if name == "last" {
            let _ =
                writeln!(text, "== {name}, gradient\n{}\n== {name}, gradient by structure\n{}", ways[0].1, ways[1].1);
        }
    }
    let path = root().join("tests/higher/recorded.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("== ").zip(recorded.split("== ")) {
        assert_eq!(now, then, "the text has changed: if it should, set UPDATE_EXPECT=1 and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "text has come or gone: set UPDATE_EXPECT=1 and read the difference");
}

/// Two numbers that are drawn from, and functions of them.
fn number<C: Arrays, G: Obj>(
    random: &mut Random,
    size: u32,
    given: &[&dyn Fn() -> Expr<C, G, Real>],
) -> Expr<C, G, Real> {
    if size == 0 || random.below(4) == 0 {
        return match random.below(5) {
            0 => num(random.below(7) as f64 * 0.5 - 1.5),
            _ => given[random.below(given.len() as u64) as usize](),
        };
    }
    let a = number(random, size - 1, given);
    match random.below(5) {
        0 => a.sin(),
        1 => a.tanh(),
        2 => a * number(random, size - 1, given),
        3 => a + number(random, size - 1, given),
        _ => a - number(random, size - 1, given),
    }
}

/// A random body: every call has a first argument that is less by 0.8 at least.
macro_rules! body {
    ($random:ident, $f:ident, $p:ident, $x:ident, $y:ident) => {{
        let random = &mut $random;
        let draw = |random: &mut Random, size: u32| {
            number(random, size, &[&|| $p.at().fst(), &|| $p.at().snd(), &|| $x.at(), &|| $y.at()])
        };
        let less = |random: &mut Random| $p.at().fst() - 0.8 - (draw(random, 1).sin() * 0.3 + 0.3);
        let call = |random: &mut Random| $f.at().app(tup(less(random), draw(random, 2).sin()));
        match random.below(6) {
            0 => draw(random, 2),
            1 => call(random),
            2 => call(random).sin() * draw(random, 1) + draw(random, 1),
            3 => call(random) * draw(random, 1).tanh() + call(random),
            4 => {
                let inner = call(random);
                $f.at().app(tup(less(random), inner.sin()))
            }
            _ => call(random) + draw(random, 2),
        }
    }};
}

/// A random recursive function of two numbers, whose end, calls and branches depend on both.
fn drawn<C: Arrays>(seed: u64) -> Expr<C, Two, Real> {
    let random = &mut Random::new(seed);
    fun2(|x, y| {
        let start = tup(number(random, 1, &[&|| x.at(), &|| y.at()]).sin() * 1.5 + 2.0, y.at() * x.at());
        fix(|f: Var<_, Fun<Two, Real>>, p: Var<_, Two>| {
            let [mut base, mut sides, mut then, mut otherwise] = [(); 4].map(|()| Random::new(random.below(u64::MAX)));
            let bound = number(&mut base, 1, &[&|| x.at(), &|| y.at()]).sin() * 0.3 + 0.2;
            if_(
                p.at().fst().less(bound),
                || number(&mut base, 2, &[&|| p.at().fst(), &|| p.at().snd(), &|| x.at(), &|| y.at()]),
                || {
                    let side = number(&mut sides, 1, &[&|| p.at().snd(), &|| x.at()]);
                    if_(
                        side.less(number(&mut sides, 1, &[&|| p.at().fst(), &|| y.at()])),
                        || body!(then, f, p, x, y),
                        || body!(otherwise, f, p, x, y),
                    )
                },
            )
        })
        .app(start)
    })
}

/// The law for the random function of a seed, by one way or another.
fn keeps_the_law(seed: u64) {
    let (program, like) = (everywhere(drawn(seed)), (tensor(1.0), tensor(1.0)));
    let staged = match seed % 4 {
        0 => higher::stage_grad(program.at(), &like),
        1 => higher::stage_grad_by(program.at::<CurryClosures<Term>, _>(), &like),
        2 => higher::stage_grad_by(program.at::<CurryLists<Term>, _>(), &like),
        _ => higher::stage_grad_by(program.at::<Reverse<Run<Term>>, _>(), &like),
    };
    let value = higher::stage(program.at(), &like);
    let compiled = compile(&staged);
    for (x, y) in [(0.7, -0.4), (-0.9, 0.6), (2.1, 1.3), (-1.6, -2.2)] {
        let say = format!("function {seed} at {x}, {y}");
        let inputs = vec![Array::scalar(x), Array::scalar(y)];
        let (result, gradient) = higher::value_and_grad(program.at(), &(tensor(x), tensor(y)));
        let expected = [vec![result.item()], numbers(&gradient)].concat();
        close(&say, &found(&interpret(&value, inputs.clone())), &expected[..1], 1e-12);
        close(&say, &found(&compiled.run(&inputs)), &expected, 1e-10);
    }
}

#[test]
fn random_recursions_are_recorded() {
    seeds(6).for_each(keeps_the_law);
}

/// The same for seeds that quickcheck draws.
#[test]
fn drawn_recursions_are_recorded() {
    fn law(seed: u64) -> bool {
        keeps_the_law(seed);
        true
    }
    QuickCheck::new().rng(Gen::from_size_and_seed(10, 1)).tests(3).quickcheck(law as fn(u64) -> bool);
}
