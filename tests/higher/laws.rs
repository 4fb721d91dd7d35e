//! Laws of the instances: the equations of cartesian closed categories, linearity, and the work of derivatives.
//!
//! Equations hold up to what can be observed: values, and (co)tangents of numbers. Representations of (co)tangents of
//! functions may differ.

use polygrad::interpreters::Count;
use polygrad::ops::Binary;
use polygrad::{Array, Lift, Tensor, tensor};
use polygrad_higher::interpreters::{Backward, CurryClosures, CurryLists, Erased, Mode, Reverse, Run, Syntax, tallied};
use polygrad_higher::primitive::Pointwise2;
use polygrad_higher::transform::InReverse;
use polygrad_higher::{self as higher, Arrays, Ccc, Expr, Language, Prod, Real, fun1, if_, lam, let_};
use quickcheck::QuickCheck;

use super::agree::{close, numbers};
use super::both::{Everywhere, Texts, with_texts};
use super::random::{Random, program};

type Two = Prod<Real, Real>;
type Equation<C> = (&'static str, [<C as Ccc>::Hom<Two, Real>; 2]);

/// The equations, on random programs.
fn equations<C: Arrays>(seed: u64) -> Vec<Equation<C>> {
    let part = |k: u64| program::<C>(&mut Random::new(seed.wrapping_mul(31).wrapping_add(k)), 1);
    let (f, g) = (|| part(1), || part(2));
    let (h, i) = (|| C::pair(part(3), part(4)), || C::pair(part(5), part(6)));
    let mul = || C::prim(Pointwise2::<0>(Binary::Mul));
    // k : (Two, Real) -> Real, and its function of the last argument.
    let k = || C::then(C::pair(C::then(C::fst(), f()), C::snd()), g());
    let called = |c: C::Hom<Two, higher::Fun<Real, Real>>| C::then(C::pair(c, f()), C::eval());
    let beside = C::pair(C::then(C::fst(), h()), C::snd());
    vec![
        ("id; f = f", [C::then(C::id(), f()), f()]),
        ("f; id = f", [C::then(f(), C::id()), f()]),
        ("(h; i); f = h; (i; f)", [C::then(C::then(h(), i()), f()), C::then(h(), C::then(i(), f()))]),
        ("<f, g>; fst = f", [C::then(C::pair(f(), g()), C::fst()), f()]),
        ("<f, g>; snd = g", [C::then(C::pair(f(), g()), C::snd()), g()]),
        (
            "h; <f, g> = <h; f, h; g>",
            [
                C::then(C::then(h(), C::pair(f(), g())), mul()),
                C::then(C::pair(C::then(h(), f()), C::then(h(), g())), mul()),
            ],
        ),
        ("<fst, snd> = id", [C::then(C::pair(C::fst(), C::snd()), f()), f()]),
        (
            "h; unit = unit",
            [C::then(C::pair(C::then(h(), C::unit()), f()), C::snd()), C::then(C::pair(C::unit(), f()), C::snd())],
        ),
        ("beta", [called(C::curry(k())), C::then(C::pair(C::id(), f()), k())]),
        (
            "eta",
            [
                called(C::curry(C::then(C::pair(C::then(C::fst(), C::curry(k())), C::snd()), C::eval()))),
                called(C::curry(k())),
            ],
        ),
        (
            "h; curry k = curry (h * id; k)",
            [called(C::then(h(), C::curry(k()))), called(C::curry(C::then(beside, k())))],
        ),
        ("let", [C::bind(f(), k()), C::then(C::pair(C::id(), f()), k())]),
        (
            "case of a known case",
            [
                C::then(C::pair(C::id(), C::then(f(), C::inl())), C::case(k(), C::then(C::snd(), C::id()))),
                C::then(C::pair(C::id(), f()), k()),
            ],
        ),
    ]
}

/// What can be seen of a program at a point.
type Seen = fn(&Everywhere<Texts, Two, Real>) -> Vec<f64>;

fn point() -> (Tensor<Array, 0>, Tensor<Array, 0>) {
    (tensor(0.7), tensor(-0.4))
}

fn both((y, g): (Tensor<Array, 0>, (Tensor<Array, 0>, Tensor<Array, 0>))) -> Vec<f64> {
    [vec![y.item()], numbers(&g)].concat()
}

const INSTANCES: [(&str, Seen); 6] = [
    ("Run", |program| vec![higher::run::<_, _, Array>(program.at(), &point()).item()]),
    ("Reverse", |program| both(higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &point()))),
    ("Forward", |program| {
        let (y, t) = higher::jvp::<_, _, Array>(program.at(), &point(), &(tensor(1.0), tensor(-2.0)));
        vec![y.item(), t.item()]
    }),
    ("CurryLists", |program| both(higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), &point()))),
    ("CurryClosures", |program| both(higher::value_and_grad_by(program.at::<CurryClosures<Array>, _>(), &point()))),
    ("Syntax", |program| {
        let term = program.at::<Syntax, _>().hom().term();
        vec![term.run::<Real>(&[Array::scalar(0.7), Array::scalar(-0.4)])[0].item().expect("a number")]
    }),
];

/// The equations at every instance.
#[test]
fn cartesian_closed_categories() {
    fn holds(seed: u64) -> bool {
        for (name, sides) in equations::<Erased<Texts>>(seed) {
            let [left, right] = sides.map(|side| with_texts(Expr::of(side)));
            for (instance, seen) in INSTANCES {
                close(&format!("{name} at {instance}"), &seen(&left), &seen(&right), 1e-12);
            }
        }
        true
    }
    QuickCheck::new().tests(10).quickcheck(holds as fn(u64) -> bool);
}

fn two_results<C: Arrays>(seed: u64) -> Expr<C, Two, Two> {
    let mut random = Random::new(seed);
    let first = program::<C>(&mut random, 2);
    Expr::of(C::pair(first, program::<C>(&mut random, 2)))
}

/// Pullbacks are linear, in both ways to run them.
#[test]
fn pullbacks_are_linear() {
    fn holds(seed: u64, u: (i8, i8), v: (i8, i8)) -> bool {
        let program = with_texts(two_results(seed));
        let cotangent = |(a, b): (f64, f64)| (tensor(a), tensor(b));
        let (u, v) = ((f64::from(u.0), f64::from(u.1)), (f64::from(v.0), f64::from(v.1)));
        for mode in [Mode::Tuples, Mode::Cells] {
            let pull = |ct| {
                numbers(&higher::pullback_by::<Reverse<Run<Array>>, _, _, Array>(
                    program.at(),
                    &point(),
                    &cotangent(ct),
                    mode,
                ))
            };
            let (pulled, other) = (pull(u), pull(v));
            assert_eq!(pull((0.0, 0.0)), [0.0, 0.0]);
            let sum: Vec<f64> = pulled.iter().zip(&other).map(|(a, b)| a + 3.0 * b).collect();
            close("linear", &pull((u.0 + 3.0 * v.0, u.1 + 3.0 * v.1)), &sum, 1e-10);
        }
        let [tuples, cells] = [Mode::Tuples, Mode::Cells].map(|mode| {
            numbers(&higher::pullback_by::<Reverse<Run<Array>>, _, _, Array>(
                program.at(),
                &point(),
                &cotangent(u),
                mode,
            ))
        });
        close("cells", &cells, &tuples, 1e-11);
        // Duality: <Fwd v, u> = <v, Rev u>.
        let (_, pushed) = higher::jvp::<_, _, Array>(program.at(), &point(), &cotangent(v));
        let product = |a: &[f64], b: (f64, f64)| a[0] * b.0 + a[1] * b.1;
        close("duality", &[product(&numbers(&pushed), u)], &[product(&cells, v)], 1e-10);
        true
    }
    QuickCheck::new().tests(20).quickcheck(holds as fn(u64, (i8, i8), (i8, i8)) -> bool);
}

/// `n` lets, each the product of the last variable and the first.
macro_rules! chain {
    ($x:ident, $last:ident;) => { $last.at() };
    ($x:ident, $last:ident; $_step:tt $($rest:tt)*) => {
        let_($last.at() * $x.at(), |next| chain!($x, next; $($rest)*))
    };
}

fn chain_4<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| chain!(x, x; - - - -))
}

fn chain_8<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| chain!(x, x; - - - - - - - -))
}

fn chain_16<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| chain!(x, x; - - - - - - - - - - - - - - - -))
}

/// `n` functions, each of which captures all variables so far and is called twice.
macro_rules! functions {
    ($x:ident, $last:ident;) => { $last.at() };
    ($x:ident, $last:ident; $_step:tt $($rest:tt)*) => {
        let_(lam(|z| z.at() * $x.at() * $last.at()), |f| {
            let_(f.at().app(f.at().app($x.at())), |next| functions!($x, next; $($rest)*))
        })
    };
}

fn functions_2<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| functions!(x, x; - -))
}

fn functions_4<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| functions!(x, x; - - - -))
}

fn functions_8<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| functions!(x, x; - - - - - - - -))
}

/// `n` conditions, each of whose branches sees all variables so far.
macro_rules! conditions {
    ($x:ident, $last:ident;) => { $last.at() };
    ($x:ident, $last:ident; $_step:tt $($rest:tt)*) => {
        let_(if_($x.at().less($last.at()), || $last.at() * $x.at(), || $x.at() + $last.at()), |next| {
            conditions!($x, next; $($rest)*)
        })
    };
}

fn conditions_2<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| conditions!(x, x; - -))
}

fn conditions_4<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| conditions!(x, x; - - - -))
}

fn conditions_8<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| conditions!(x, x; - - - - - - - -))
}

/// Efficient CHAD: `n` lets, conditions or functions that capture all variables cost a multiple of `n` zeros and additions
/// by cells, where tuples cost its square; and so where the tangent of a function is that of its environment, whose
/// captured variables are the cells.
#[test]
fn lets_cost_linear_work() {
    fn work<C: Backward<Array>>(program: Expr<C, Real, Real>, mode: Mode) -> (f64, usize) {
        let (x, one) = (tensor(1.01), tensor(1.0));
        let (gradient, tally) = tallied::<Array, _>(|| higher::pullback_by(program, &x, &one, mode));
        (gradient.item(), tally.total())
    }
    macro_rules! counts {
        ($instance:ty, $mode:expr; $($program:ident)*) => { [$({
            let (gradient, work) = work(Erased::typed($program::<Erased<$instance>>()), $mode);
            let expected = higher::grad($program(), &tensor(1.01)).item();
            close(stringify!($program), &[gradient], &[expected], 1e-12);
            work
        }),*] };
    }
    macro_rules! linear {
        ($what:literal: $($program:ident)*) => {
            for (instance, cells, tuples) in [
                ("CHAD", counts!(Reverse<Run<Array>>, Mode::Cells; $($program)*), counts!(Reverse<Run<Array>>, Mode::Tuples; $($program)*)),
                ("closures", counts!(CurryClosures<Array>, Mode::Cells; $($program)*), counts!(CurryClosures<Array>, Mode::Tuples; $($program)*)),
            ] {
                println!("zeros and additions of {} by {instance}: {cells:?} by cells, {tuples:?} by tuples", $what);
                assert_eq!(cells[2] - cells[1], 2 * (cells[1] - cells[0]), "{cells:?} is linear");
                assert!(4 * (tuples[2] - tuples[1]) > 9 * (tuples[1] - tuples[0]), "{tuples:?} is not");
            }
        };
    }
    linear!("4, 8 and 16 lets": chain_4 chain_8 chain_16);
    linear!("2, 4 and 8 conditions": conditions_2 conditions_4 conditions_8);
    linear!("2, 4 and 8 functions": functions_2 functions_4 functions_8);
}

/// Functions within functions, each applied to a product.
macro_rules! nest {
    ($x:ident, $q:ident;) => { ($q.at() * $x.at()) };
    ($x:ident, $q:ident; $_step:tt $($rest:tt)*) => {
        lam(|p| nest!($x, p; $($rest)*)).app($q.at() * $x.at())
    };
}

fn nest_2<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - -))
}

fn nest_4<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - - - -))
}

fn nest_8<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - - - - - - - -))
}

/// Nested functions cost linear work where the tangent of a function is that of its environment, and exponential work
/// where it is the list of its calls ("The Differentiable Curry", sections 4 and 5).
#[test]
fn nested_functions_cost_linear_work() {
    type N = Count<Array>;
    let x = || Tensor::<N, 0>::from_raw(N::lift(Array::scalar(1.1)));
    fn calls<R>(f: impl FnOnce() -> R) -> usize {
        N::counted(f).1.total().calls as usize
    }
    macro_rules! counts {
        ($program:ident) => {
            [
                calls(|| higher::run($program::<Run<N>>(), &x())),
                calls(|| higher::value_and_grad_by($program::<CurryClosures<N>>(), &x())),
                calls(|| higher::value_and_grad_by($program::<CurryLists<N>>(), &x())),
                calls(|| higher::value_and_grad_by(Erased::typed($program::<InReverse<Run<N>>>()), &x())),
            ]
        };
    }
    let all = [counts!(nest_2), counts!(nest_4), counts!(nest_8)];
    println!("operations of nested functions (primal, closures, lists, CHAD): {all:?}");
    for [primal, closures, ..] in all {
        assert!(closures <= 8 * primal, "{closures} operations for {primal}");
    }
    assert!(all[2][2] > 8 * all[1][2] && all[2][3] > 8 * all[1][3], "lists of calls run functions again: {all:?}");
}
