//! Random higher-order programs, in all instances.

use polygrad::ops::{Binary, Compare, Unary};
use polygrad::program::{Term, interpret};
use polygrad::{Array, direct, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Reverse, Run};
use polygrad_higher::primitive::{Comparison, Constant, Pointwise, Pointwise2, Replicate, RowAt, SumAll};
use polygrad_higher::{self as higher, Arrays, Expr, Fun, Int, Many, Obj, Prod, Real, Sum, Unit, Vector};

use super::agree::{close, moved, numbers};
use super::both::with_texts;

type Two = Prod<Real, Real>;
type Four = Prod<Two, Two>;
type Function = Fun<Real, Real>;
type Call = Prod<Function, Real>;

/// A generator of random numbers, so that each instance gets the same program.
pub(crate) struct Random {
    state: u64,
    /// How many of the forms of programs are drawn: the first ones.
    forms: u64,
    /// Whether forms with arrays are left out.
    without_arrays: bool,
}

/// The forms without arrays.
const SCALAR_FORMS: [u64; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13];

/// All forms of programs.
const FORMS: u64 = 21;

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random { state: seed, forms: FORMS, without_arrays: false }
    }

    /// Draws the first forms alone, whose terms are simplified quickly.
    pub(crate) fn of_first_forms(seed: u64) -> Self {
        Random { state: seed, forms: 10, without_arrays: false }
    }

    fn form(&mut self) -> u64 {
        if self.without_arrays {
            return SCALAR_FORMS[self.below(SCALAR_FORMS.len() as u64) as usize];
        }
        self.below(self.forms)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
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
    match random.form() {
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
            choice::<C, Real>(random, left, right)
        }
        8 => {
            let elements = elements::<C>(random, size);
            let function = function::<C>(random, size);
            C::then(C::pair(function, elements), C::then(C::map::<Real, Real>(), C::prim(SumAll::<1>)))
        }
        9 => {
            let start = program::<C>(random, size);
            let elements = elements::<C>(random, size);
            let captured = C::pair(C::then(C::fst(), C::snd()), C::then(C::snd(), C::snd()));
            let step = C::curry(C::then(captured, program::<C>(random, size)));
            C::then(C::pair(step, C::pair(start, elements)), C::fold::<Real, Real>())
        }
        10 => C::then(chosen::<C>(random, size), caller::<C>(random)),
        11 => {
            // A number, or a function with its argument.
            let number = C::then(program::<C>(random, size / 2), C::inl());
            let call = C::then(chosen::<C>(random, size), C::inr());
            let inner = choice::<C, Sum<Real, Call>>(random, number, call.clone());
            let sum = choice::<C, Sum<Real, Call>>(random, inner, call);
            let of_call = C::then(C::pair(C::fst(), C::then(C::snd(), caller::<C>(random))), beside::<C>(random, size));
            C::then(C::pair(C::id(), sum), C::case(beside::<C>(random, size), of_call))
        }
        12 => iteration::<C>(random, size),
        13 => {
            let argument = C::pair(program::<C>(random, size), number::<C, Two>(random.below(3) as f64));
            let function = recursion::<C>(random, size);
            C::then(C::pair(function, argument), C::eval())
        }
        14 => {
            // A function of pairs, of which parts may not be used; or the same function of every pair.
            let function = C::curry(C::pair(of_four::<C>(random, size), of_four::<C>(random, size / 2)));
            if random.below(2) == 0 {
                let stacks = C::pair(elements::<C>(random, size), elements::<C>(random, size));
                let mapped = C::then(C::pair(function, stacks), C::map::<Two, Two>());
                let used = match random.below(3) {
                    0 => C::fst(),
                    1 => C::snd(),
                    _ => C::prim(Pointwise2::<1>(Binary::Mul)),
                };
                return C::then(C::then(mapped, used), C::prim(SumAll::<1>));
            }
            let arguments = C::pair(program::<C>(random, size), program::<C>(random, size));
            let again = C::then(C::pair(C::fst(), C::eval()), C::eval());
            C::then(C::then(C::pair(function, arguments), again), part::<C>(random))
        }
        16 => {
            // The functions of an array, each with an element.
            let functions = functions::<C>(random, size);
            let calls = C::pair(functions, elements::<C>(random, size));
            let each = C::curry(C::then(C::snd(), caller::<C>(random)));
            C::then(C::then(C::pair(each, calls), C::map::<Call, Real>()), C::prim(SumAll::<1>))
        }
        17 => {
            // A number through the functions of an array.
            let functions = functions::<C>(random, size);
            let start = program::<C>(random, size);
            let swapped = C::then(C::snd(), C::pair(C::snd(), C::fst()));
            let step = C::curry(C::then(swapped, caller::<C>(random)));
            C::then(C::pair(step, C::pair(start, functions)), C::fold::<Real, Function>())
        }
        18 => {
            let folded = folded::<C>(random, size);
            C::then(C::pair(folded, program::<C>(random, size)), caller::<C>(random))
        }
        19 => reads::<C>(random, size),
        20 => {
            // A tree of elements.
            let seen = C::pair(C::then(C::fst(), part::<C>(random)), C::then(C::snd(), part::<C>(random)));
            let both = C::curry(C::then(seen, program::<C>(random, size / 2)));
            let unit = program::<C>(random, size / 2);
            let all = Expr::<C, Two, Vector>::of(elements::<C>(random, size));
            all.reduce(Expr::of(unit), Expr::of(both)).hom()
        }
        _ => {
            // A state of two numbers through pairs of elements.
            let mut next = || {
                let seen = C::pair(C::then(C::fst(), part::<C>(random)), C::then(C::snd(), any::<C>(random)));
                let state = C::then(C::snd(), C::then(C::fst(), part::<C>(random)));
                C::then(C::pair(C::then(seen, program::<C>(random, size / 2)), state), operation::<C>(random))
            };
            let step = C::curry(C::pair(next(), next()));
            let start = C::pair(program::<C>(random, size), program::<C>(random, size));
            let stacks = C::pair(elements::<C>(random, size), elements::<C>(random, size));
            C::then(C::then(C::pair(step, C::pair(start, stacks)), C::fold::<Two, Two>()), part::<C>(random))
        }
    }
}

/// A known number.
pub(crate) fn number<C: Arrays, A: Obj>(x: f64) -> C::Hom<A, Real> {
    C::then(C::unit(), C::prim(Constant::<0>::new(Array::scalar(x))))
}

fn operation<C: Arrays>(random: &mut Random) -> C::Hom<Two, Real> {
    C::prim(Pointwise2::<0>([Binary::Add, Binary::Sub, Binary::Mul][random.below(3) as usize]))
}

/// A number of a pair, or of both.
pub(crate) fn part<C: Arrays>(random: &mut Random) -> C::Hom<Two, Real> {
    match random.below(3) {
        0 => C::fst(),
        1 => C::snd(),
        _ => operation::<C>(random),
    }
}

/// A number of four.
fn any<C: Arrays>(random: &mut Random) -> C::Hom<Four, Real> {
    let side = if random.below(2) == 0 { C::fst() } else { C::snd() };
    C::then(side, part::<C>(random))
}

/// A program of two of four numbers.
fn of_four<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Four, Real> {
    let first = any::<C>(random);
    C::then(C::pair(first, any::<C>(random)), program::<C>(random, size))
}

/// A program of a context, of which one number or both are seen, and a number.
fn beside<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Prod<Two, Real>, Real> {
    C::then(C::pair(C::then(C::fst(), part::<C>(random)), C::snd()), program::<C>(random, size))
}

/// Three different elements.
fn elements<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Vector> {
    let copies = C::then(program::<C>(random, size), C::prim(Replicate(3)));
    let known = C::then(C::unit(), C::prim(Constant::<1>::new(Array::from([0.45, -0.65, 1.15]))));
    let op = [Binary::Add, Binary::Mul][random.below(2) as usize];
    C::then(C::pair(copies, known), C::prim(Pointwise2::<1>(op)))
}

/// One of two programs by a condition, which is not known while the program is traced.
fn choice<C: Arrays, R: Obj>(random: &mut Random, left: C::Hom<Two, R>, right: C::Hom<Two, R>) -> C::Hom<Two, R> {
    let bound = number::<C, Two>(random.below(5) as f64 * 0.5 - 1.0);
    let operands = match random.below(4) {
        0 => C::pair(C::fst(), C::snd()),
        1 => C::pair(C::snd(), C::fst()),
        2 => C::pair(C::fst(), bound),
        _ => C::pair(bound, C::snd()),
    };
    let mask = C::then(operands, C::prim(Comparison(Compare::Lt)));
    let which = C::case::<Two, Unit, Unit, R>(C::then(C::fst(), left), C::then(C::fst(), right));
    C::then(C::pair(C::id(), C::then(mask, C::test())), which)
}

/// A function with its argument, both chosen by a condition: the functions capture different numbers.
fn chosen<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Call> {
    let mut call = || {
        let function = function::<C>(random, size);
        C::pair(function, program::<C>(random, size / 2))
    };
    let (left, right) = (call(), call());
    choice::<C, Call>(random, left, right)
}

/// Steps that are counted beside the number they change; some steps end with another number than the state.
fn iteration<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Real> {
    let count = || C::then(C::snd(), C::snd());
    let seen = |random: &mut Random| C::pair(C::then(C::fst(), part::<C>(random)), C::then(C::snd(), C::fst()));
    let first = seen(random);
    let next = C::then(first, program::<C>(random, size));
    let counted = C::then(C::pair(count(), number::<C, Four>(1.0)), C::prim(Pointwise2::<0>(Binary::Add)));
    let last = seen(random);
    let result = C::then(last, program::<C>(random, size / 2));
    let limit = number::<C, Four>(random.below(3) as f64 - 0.5);
    let mask = C::then(C::pair(count(), limit), C::prim(Comparison(Compare::Lt)));
    let (on, end) = (C::then(C::pair(next, counted), C::inl()), C::then(result, C::inr()));
    let which = C::case::<Four, Unit, Unit, Sum<Two, Real>>(C::then(C::fst(), on), C::then(C::fst(), end));
    let step = C::then(C::pair(C::id(), C::then(mask, C::test())), which);
    let start = C::pair(program::<C>(random, size), number::<C, Two>(0.0));
    C::then(C::pair(C::id(), start), C::iterate(step))
}

/// A recursive function of a number and the number of calls that are left. It captures both numbers, and what an inner
/// call returns is joined to a number of the outer one.
fn recursion<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Fun<Two, Real>> {
    type In = Prod<Prod<Two, Fun<Two, Real>>, Two>;
    let (x, left) = (|| C::then(C::snd(), C::fst()), || C::then(C::snd(), C::snd()));
    let captured = || C::then(C::fst(), C::fst());
    let mut here = |size| C::then(C::pair(C::then(captured(), part::<C>(random)), x()), program::<C>(random, size));
    let (end, argument, own) = (here(size), here(size / 2), here(size / 2));
    let fewer = C::then(C::pair(left(), number::<C, In>(1.0)), C::prim(Pointwise2::<0>(Binary::Sub)));
    let inner = C::then(C::pair(C::then(C::fst(), C::snd()), C::pair(argument, fewer)), C::eval());
    let on = C::then(C::pair(inner, own), operation::<C>(random));
    let mask = C::then(C::pair(left(), number::<C, In>(0.5)), C::prim(Comparison(Compare::Lt)));
    let which = C::case::<In, Unit, Unit, Real>(C::then(C::fst(), end), C::then(C::fst(), on));
    C::fix(C::then(C::pair(C::id(), C::then(mask, C::test())), which))
}

/// A function of one number that captures the others.
fn function<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Fun<Real, Real>> {
    let outside = program::<C>(random, size / 2);
    C::curry(C::then(C::pair(C::then(C::fst(), outside), C::snd()), program::<C>(random, size)))
}

/// An array of functions of three elements; a condition on the element may choose between two.
fn functions<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Many<Function>> {
    let seen = C::pair(C::then(C::fst(), part::<C>(random)), C::snd());
    let of_element = match random.below(2) {
        0 => function::<C>(random, size / 2),
        _ => C::then(chosen::<C>(random, size / 2), C::fst()),
    };
    let make = C::curry(C::then(seen, of_element));
    C::then(C::pair(make, elements::<C>(random, size)), C::map::<Real, Function>())
}

/// The sum of numbers that are computed from elements that are read at indices, the last of which is out of bounds.
fn reads<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Real> {
    let ix: Vec<i64> = (0..3).map(|_| random.below(3) as i64).chain([7]).collect();
    let ix = C::then(C::unit(), C::prim(Constant::<1, i64>::new(Array::new(&[4], ix))));
    let elements = elements::<C>(random, size);
    let read = C::then(C::pair(C::then(C::fst(), C::snd()), C::snd()), C::prim(RowAt::<Real>::new()));
    let seen = C::pair(C::then(C::fst(), C::then(C::fst(), part::<C>(random))), read);
    let each = C::curry(C::then(seen, program::<C>(random, size / 2)));
    let sum = C::then(C::map::<Int, Real>(), C::prim(SumAll::<1>));
    C::then(C::pair(C::id(), elements), C::then(C::pair(each, ix), sum))
}

/// A fold whose state is a function, which each step puts within another one.
fn folded<C: Arrays>(random: &mut Random, size: u32) -> C::Hom<Two, Function> {
    let state = || C::then(C::fst(), C::snd());
    let seen = C::pair(C::then(state(), C::snd()), C::snd());
    let argument = C::then(seen, program::<C>(random, size / 2));
    let call = if random.below(2) == 0 { C::eval() } else { caller::<C>(random) };
    let before = C::then(C::pair(C::then(state(), C::fst()), argument), call);
    let seen = C::pair(C::then(C::fst(), C::then(C::fst(), part::<C>(random))), C::snd());
    let own = C::then(seen, program::<C>(random, size / 2));
    let step = C::curry(C::curry(C::then(C::pair(before, own), operation::<C>(random))));
    let start = function::<C>(random, size / 2);
    C::then(C::pair(step, C::pair(start, elements::<C>(random, size))), C::fold::<Function, Real>())
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
    Expr::of(program::<C>(&mut Random::new(seed), 3))
}

/// A program without arrays.
pub(crate) fn of_numbers<C: Arrays>(seed: u64) -> Expr<C, Two, Real> {
    Expr::of(program::<C>(&mut Random { without_arrays: true, ..Random::new(seed) }, 3))
}

/// A smaller program of the first forms, whose terms are simplified quickly.
pub(crate) fn small<C: Arrays>(seed: u64) -> Expr<C, Two, Real> {
    Expr::of(program::<C>(&mut Random::of_first_forms(seed), 2))
}

/// The numbers of the programs to try: `count`, or as many as the environment variable `POLYGRAD_FUZZ` says, from
/// `POLYGRAD_SEED` on.
pub(crate) fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("POLYGRAD_SEED").unwrap_or(0);
    first..first + number("POLYGRAD_FUZZ").unwrap_or(count)
}

/// CHAD in both directions, both kinds of curry, dual numbers, staged programs on two sides of conditions and finite differences, on 60 programs.
#[test]
fn random_programs_agree() {
    let x = (tensor(0.7), tensor(-0.4));
    let (direction, _) = moved(&x, 0.0);
    for seed in seeds(60) {
        let say = |what: &str| format!("{what}, program {seed}");
        let program = with_texts(at(seed));
        let (value, gradient) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x);
        let expected = numbers(&gradient);
        if !value.item().is_finite() {
            // Numbers that overflow are equal to no others.
            continue;
        }
        assert_eq!(higher::run(program.at(), &x), value, "{}", say("value"));

        let (y, lists) = higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), &x);
        assert_eq!(y, value, "{}", say("value of lists"));
        close(&say("lists"), &numbers(&lists), &expected, 1e-11);
        let (y, closures) = higher::value_and_grad(program.at(), &x);
        assert_eq!(y, value, "{}", say("value of closures"));
        close(&say("closures"), &numbers(&closures), &expected, 1e-11);

        // Duality: <Fwd v, 1> = <v, Rev 1>.
        let along: f64 = expected.iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
        let (y, tangent) = higher::jvp(program.at(), &x, &direction);
        assert_eq!(y, value, "{}", say("value of forward mode"));
        close(&say("forward"), &[tangent.item()], &[along], 1e-11);

        let dual = direct::grad(|x| higher::run(program.at(), x), &x);
        close(&say("dual numbers"), &numbers(&dual), &expected, 1e-11);
        let h = 1e-6;
        let f = |by: f64| higher::run::<_, _, Array>(program.at(), &moved(&x, by).1).item();
        close(&say("differences"), &[(f(h) - f(-h)) / (2.0 * h)], &[along], 2e-6);

        if seed % 5 == 0 {
            // Recorded once, and run on other sides of conditions.
            let staged = match seed / 5 % 4 {
                0 => higher::stage_grad(program.at(), &x),
                1 => higher::stage_grad_by(program.at::<CurryClosures<Term>, _>(), &x),
                2 => higher::stage_grad_by(program.at::<CurryLists<Term>, _>(), &x),
                _ => higher::stage_grad_by(program.at::<Reverse<Run<Term>>, _>(), &x),
            };
            for (a, b) in [(0.7, -0.4), (-0.9, 0.6)] {
                let (value, gradient) = higher::value_and_grad(program.at(), &(tensor(a), tensor(b)));
                let results = interpret(&staged, vec![Array::scalar(a), Array::scalar(b)]);
                let found: Vec<f64> = results.iter().map(|t| t.item::<f64>().unwrap()).collect();
                close(&say("staged"), &found, &[vec![value.item()], numbers(&gradient)].concat(), 1e-11);
            }
        }
    }
}
