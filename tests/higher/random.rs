//! Random higher-order programs, in all instances.

use polygrad::higher::primitive::{Comparison, Constant, Pointwise, Pointwise2, Replicate, SumAll};
use polygrad::higher::{self, Arrays, Expr, Fun, Prod, Real, Vector};
use polygrad::interpreters::higher::{CurryLists, Reverse, Run};
use polygrad::ops::{Binary, Compare, Unary};
use polygrad::program::interpret;
use polygrad::{Array, direct, tensor};

use super::agree::{close, moved, numbers};

type Two = Prod<Real, Real>;
type Call = Prod<Fun<Real, Real>, Real>;

/// A generator of random numbers, so that each instance gets the same program.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A random program of two numbers. Contexts do not grow, since types of programs are those of Rust: a `let` replaces
/// both variables.
pub(crate) fn program<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Real> {
    if size == 0 {
        return match random.below(4) {
            0 => C::then(C::unit(), C::prim(Constant::<0>::new(Array::scalar(random.below(5) as f64 * 0.5 - 1.0)))),
            1 | 2 => C::fst(),
            _ => C::snd(),
        };
    }
    let size = size - 1;
    match random.below(10) {
        0 => {
            let op = [Unary::Sin, Unary::Cos, Unary::Tanh][random.below(3) as usize];
            C::then(program::<C>(random, size), C::prim(Pointwise::<0>(op)))
        }
        1 | 2 => {
            let op = [Binary::Add, Binary::Sub, Binary::Mul][random.below(3) as usize];
            let first = program::<C>(random, size);
            C::then(C::pair(first, program::<C>(random, size)), C::prim(Pointwise2::<0>(op)))
        }
        3 => {
            let (value, other) = (program::<C>(random, size), program::<C>(random, size));
            C::bind(C::pair(value, other), C::then(C::snd(), program::<C>(random, size)))
        }
        4 | 5 => {
            let function = function::<C>(random, size);
            C::then(C::pair(function, program::<C>(random, size)), caller::<C>(random))
        }
        6 => {
            // A function that returns a function that captures its argument.
            let inner = C::curry(C::then(C::pair(C::then(C::fst(), C::snd()), C::snd()), program::<C>(random, size)));
            let outer = C::curry(inner);
            let first = C::then(C::pair(outer, program::<C>(random, size)), C::eval());
            C::then(C::pair(first, program::<C>(random, size)), C::eval())
        }
        7 => {
            let (left, right) = (program::<C>(random, size), program::<C>(random, size));
            let mask = C::then(C::pair(C::fst(), C::snd()), C::prim(Comparison(Compare::Lt)));
            let which = C::case(C::then(C::fst(), left), C::then(C::fst(), right));
            C::then(C::pair(C::id(), C::then(mask, C::test())), which)
        }
        8 => {
            let copies = C::then(program::<C>(random, size), C::prim(Replicate(3)));
            let function = function::<C>(random, size);
            C::then(C::pair(function, copies), C::then(C::map::<Real, Real>(), C::prim(SumAll::<1>)))
        }
        _ => {
            let start = program::<C>(random, size);
            let copies: C::Hom<Two, Vector> = C::then(program::<C>(random, size), C::prim(Replicate(2)));
            let captured = C::pair(C::then(C::fst(), C::snd()), C::then(C::snd(), C::snd()));
            let step = C::curry(C::then(captured, program::<C>(random, size)));
            C::then(C::pair(step, C::pair(start, copies)), C::fold::<Real, Real>())
        }
    }
}

/// A function of one number that captures the others.
fn function<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Fun<Real, Real>> {
    let outside = program::<C>(random, size / 2);
    C::curry(C::then(C::pair(C::then(C::fst(), outside), C::snd()), program::<C>(random, size)))
}

/// Calls a function once, twice in a row, or at two points; or maps it.
fn caller<C: Arrays>(random: &mut Random) -> C::Hom<Call, Real> {
    let again = || C::then(C::pair(C::fst(), C::eval()), C::eval());
    match random.below(4) {
        0 => C::eval(),
        1 => again(),
        2 => C::then(C::pair(C::eval(), again()), C::prim(Pointwise2::<0>(Binary::Mul))),
        _ => {
            let copies = C::then(C::snd(), C::prim(Replicate(2)));
            C::then(C::pair(C::fst(), copies), C::then(C::map::<Real, Real>(), C::prim(SumAll::<1>)))
        }
    }
}

pub(crate) fn at<C: Arrays>(seed: u64) -> Expr<C, Two, Real> {
    Expr::of(program::<C>(&mut Random(seed), 3))
}

/// A smaller program.
pub(crate) fn small<C: Arrays>(seed: u64) -> Expr<C, Two, Real> {
    Expr::of(program::<C>(&mut Random(seed), 2))
}

/// The numbers of the programs to try: 300, or as many as the environment variable `POLYGRAD_FUZZ` says, from
/// `POLYGRAD_SEED` on.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("POLYGRAD_SEED").unwrap_or(0);
    first..first + number("POLYGRAD_FUZZ").unwrap_or(300)
}

/// CHAD in both directions, both kinds of curry, dual numbers, staged programs and finite differences, on 300 programs.
#[test]
fn random_programs_agree() {
    let x = (tensor(0.7), tensor(-0.4));
    let (direction, _) = moved(&x, 0.0);
    for seed in seeds() {
        let say = |what: &str| format!("{what}, program {seed}");
        let (value, gradient) = higher::value_and_grad_by(at::<Reverse<Run<Array>>>(seed), &x);
        let expected = numbers(&gradient);
        assert_eq!(higher::run(at(seed), &x), value, "{}", say("value"));

        let (y, lists) = higher::value_and_grad_by(at::<CurryLists<Array>>(seed), &x);
        assert_eq!(y, value, "{}", say("value of lists"));
        close(&say("lists"), &numbers(&lists), &expected, 1e-11);
        let (y, closures) = higher::value_and_grad(at(seed), &x);
        assert_eq!(y, value, "{}", say("value of closures"));
        close(&say("closures"), &numbers(&closures), &expected, 1e-11);

        // Duality: <Fwd v, 1> = <v, Rev 1>.
        let along: f64 = expected.iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
        let (y, tangent) = higher::jvp(at(seed), &x, &direction);
        assert_eq!(y, value, "{}", say("value of forward mode"));
        close(&say("forward"), &[tangent.item()], &[along], 1e-11);

        let dual = direct::grad(|x| higher::run(at(seed), x), &x);
        close(&say("dual numbers"), &numbers(&dual), &expected, 1e-11);
        let h = 1e-6;
        let f = |by: f64| higher::run::<_, _, Array>(at(seed), &moved(&x, by).1).item();
        close(&say("differences"), &[(f(h) - f(-h)) / (2.0 * h)], &[along], 2e-6);

        if seed % 10 == 0 {
            let staged = higher::stage_gradient(at(seed), &x);
            let results = interpret(&staged, vec![Array::scalar(0.7), Array::scalar(-0.4)]);
            let elements: Vec<f64> = results[1..].iter().map(|t| t.item::<f64>().unwrap()).collect();
            close(&say("staged"), &elements, &expected, 1e-11);
        }
    }
}
