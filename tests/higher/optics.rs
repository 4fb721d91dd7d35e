//! Reverse mode as an optic functor, to the third order ("dP guide", sections V to VII).

use polygrad::ops::{Binary, Compare, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::tree::Tree;
use polygrad::{Array, DType, Tensor, tensor};
use polygrad_higher::interpreters::optic::{Stage, Staged, Wire, Wiring, act, stars, wired, woven};
use polygrad_higher::interpreters::{Reverse, ReverseOptic, Run, Syntax, Wires};
use polygrad_higher::{self as higher, Ground, Monoidal, Prod, Real, Sum};

use super::agree::{close, numbers};
use super::both::to_second_order;
use super::gallery;

type Base = Wires<Run<Array>>;
type First = ReverseOptic<Base>;
type Second = ReverseOptic<First>;
type Third = ReverseOptic<Second>;

fn number(x: f64) -> Tensor<Array, 0> {
    tensor(x)
}

/// The results of all stages of a program of one number, at these inputs.
fn driven<C: Staged<Array>>(program: &Wire<C, Real, Real>, inputs: &[f64]) -> Vec<f64> {
    let stages = C::stages(program);
    assert_eq!(stages.len(), inputs.len());
    stages.iter().zip(inputs).map(|(stage, x)| stage.take::<Real, Real>(&number(*x)).item()).collect()
}

#[test]
fn the_patterns_of_stars() {
    fn pattern<C: Staged<Array>>() -> Vec<usize> {
        stars(&C::stages(&<C as Monoidal>::unary(Unary::Sin)))
    }
    assert_eq!(pattern::<Base>(), [0]);
    assert_eq!(pattern::<First>(), [0, 1]);
    assert_eq!(pattern::<Second>(), [0, 1, 2, 1]);
    assert_eq!(pattern::<Third>(), [0, 1, 2, 1, 2, 3, 2, 1]);
    let fourth = pattern::<ReverseOptic<Third>>();
    assert_eq!(fourth, [0, 1, 2, 1, 2, 3, 2, 1, 2, 3, 4, 3, 2, 3, 2, 1]);
    // The order of the eight programs of the third order, equation 30.
    let labels: Vec<String> =
        Third::stages(&<Third as Monoidal>::unary(Unary::Sin)).iter().map(|s| s.label.clone()).collect();
    assert_eq!(labels, ["lll", "rll", "rrl", "lrl", "lrr", "rrr", "rlr", "llr"]);
}

/// Fig. 5. (Snippet 14, line 7, exchanges two of its variables.)
#[test]
fn fig_5_second_order_sine() {
    let (x, d1, d2, d3) = (0.7_f64, 1.3, -0.4, 2.1);
    let expected = [x.sin(), x.cos() * d1, x.cos() * d2, d2 * d1 * -x.sin() + d3 * x.cos()];
    close("sine", &driven::<Second>(&<Second as Monoidal>::unary(Unary::Sin), &[x, d1, d2, d3]), &expected, 1e-14);
}

/// Fig. 6, at the inputs of its eight programs.
#[test]
fn fig_6_third_order_sine() {
    let x = 0.7_f64;
    let d = [0.0, 1.3, -0.4, 2.1, 0.6, -1.7, 0.9, 0.3];
    let (s, c) = (x.sin(), x.cos());
    let expected = [
        s,
        c * d[1],
        c * d[2],
        -s * d[1] * d[2] + c * d[3],
        c * d[4],
        d[1] * -s * d[4] + c * d[5],
        d[2] * -s * d[4] + c * d[6],
        c * (-d[1] * d[2] * d[4]) - s * (d[2] * d[5] + d[1] * d[6]) - s * d[3] * d[4] + c * d[7],
    ];
    let inputs: Vec<f64> = std::iter::once(x).chain(d[1..].iter().copied()).collect();
    close("sine", &driven::<Third>(&<Third as Monoidal>::unary(Unary::Sin), &inputs), &expected, 1e-14);
    let third = driven::<Third>(&<Third as Monoidal>::unary(Unary::Sin), &[x, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    close("third derivative", &third[7..], &[-c], 1e-14);
}

#[test]
fn third_order_exponential() {
    let (w, a, b, c, d, e, z, h) = (0.3_f64, 1.3, -0.4, 2.1, 0.6, -1.7, 0.9, 0.3);
    let expected =
        [1.0, a, b, c + a * b, d, e + a * d, z + b * d, h + a * z + b * e + d * (c + a * b)].map(|v| v * w.exp());
    close(
        "exponential",
        &driven::<Third>(&<Third as Monoidal>::unary(Unary::Exp), &[w, a, b, c, d, e, z, h]),
        &expected,
        1e-14,
    );
}

/// A program of wires: `sin(e^x)`.
fn sine_of_exponential<C: Monoidal>() -> C::Hom<Real, Real> {
    C::then(C::unary(Unary::Exp), C::unary(Unary::Sin))
}

/// `x sin x`, with a copy.
fn product<C: Monoidal>() -> C::Hom<Real, Real> {
    C::then(C::then(C::copy(), C::beside(C::id(), C::unary(Unary::Sin))), C::binary(Binary::Mul))
}

/// Both encodings of derivatives agree: by nesting, and by weaving the stages of the parts.
#[test]
fn both_encodings_agree() {
    let inputs = [0.7, 1.3, -0.4, 2.1, 0.6, -1.7, 0.9, 0.3];
    let nested = driven::<Third>(&sine_of_exponential::<Third>(), &inputs);
    let stages = |op| Third::stages(&<Third as Monoidal>::unary(op));
    let woven: Vec<f64> = woven(&stages(Unary::Exp), &stages(Unary::Sin))
        .iter()
        .zip(inputs)
        .map(|(stage, x)| stage.take::<Real, Real>(&number(x)).item())
        .collect();
    close("third order", &woven, &nested, 1e-13);
}

/// Second and third derivatives of a program with a copy.
#[test]
fn derivatives_of_higher_order() {
    let x = 0.7_f64;
    let second = driven::<Second>(&product::<Second>(), &[x, 1.0, 1.0, 0.0]);
    close("second", &[second[1], second[3]], &[x.sin() + x * x.cos(), 2.0 * x.cos() - x * x.sin()], 1e-13);
    let third = driven::<Third>(&product::<Third>(), &[x, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    close("third", &third[7..], &[-3.0 * x.sin() - x * x.cos()], 1e-13);
}

/// Snippet 21: the derivative operator within a program: `f'(x) g(f(x))`.
fn with_operator<C: Wiring>() -> Wire<C, Real, Real> {
    act(&product::<ReverseOptic<C>>(), <C as Monoidal>::unary(Unary::Cos))
}

/// Snippets 22 and 23: its transforms are those of a program one order higher.
#[test]
fn the_operator_within_a_program() {
    let f = |x: f64| x * x.sin();
    let (f1, f2) = (|x: f64| x.sin() + x * x.cos(), |x: f64| 2.0 * x.cos() - x * x.sin());
    let f3 = |x: f64| -3.0 * x.sin() - x * x.cos();
    let x = 0.7_f64;
    close("value", &driven::<Base>(&with_operator::<Base>(), &[x]), &[f1(x) * f(x).cos()], 1e-13);
    let slope = f2(x) * f(x).cos() - f1(x) * f1(x) * f(x).sin();
    close("first", &driven::<First>(&with_operator::<First>(), &[x, 1.0])[1..], &[slope], 1e-13);
    let second =
        f3(x) * f(x).cos() - f2(x) * f1(x) * f(x).sin() - 2.0 * f1(x) * f2(x) * f(x).sin() - f1(x).powi(3) * f(x).cos();
    close("second", &driven::<Second>(&with_operator::<Second>(), &[x, 1.0, 1.0, 0.0])[3..], &[second], 1e-13);
}

/// The gradient of a staged program by its optic.
fn gradient<A: Ground>(program: &Program, inputs: &[f64]) -> Vec<f64> {
    let optic = wired::<First, A, Real>(program);
    let stages = First::stages(&optic);
    let leaves: Vec<Array> = inputs.iter().map(|x| Array::scalar(*x)).collect();
    let x = A::read(&mut leaves.into_iter());
    stages[0].take::<A, Real>(&x);
    stages[1].take::<Real, A>(&number(1.0)).leaves().iter().map(|leaf| leaf.item().expect("a number")).collect()
}

/// First-order programs of the gallery, staged, have the gradients of the other instances.
#[test]
fn optics_of_first_order_programs() {
    macro_rules! agree {
        ($program:ident, $layout:ty, $x:expr) => {{
            let x = $x;
            let staged = higher::stage(to_second_order(gallery::$program()).at(), &x);
            let expected = numbers(
                &higher::value_and_grad_by(to_second_order(gallery::$program()).at::<Reverse<Run<Array>>, _>(), &x).1,
            );
            close(stringify!($program), &gradient::<$layout>(&staged, &numbers(&x)), &expected, 1e-12);
        }};
    }
    agree!(fig_1b, gallery::Four, (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4)));
    agree!(twice, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(composed, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(nested, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(polynomial, Real, tensor(1.5));
    agree!(absolute, Real, tensor(1.5));
    agree!(absolute, Real, tensor(-2.0));
    agree!(chosen, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(chosen, gallery::Two, (tensor(1.7), tensor(1.3)));
    agree!(cube, Real, tensor(1.5));
    agree!(added, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(unused, gallery::Two, (tensor(0.7), tensor(1.3)));
}

/// `x sin x` where `x < 1`, elsewhere `sin(e^x)`, both scaled by `x`, which both branches and the rest share.
fn piecewise<C: Monoidal>() -> C::Hom<Real, Real> {
    let less = C::then(C::then(C::intro(), C::beside(C::constant(1.0), C::id())), C::compare(Compare::Gt));
    let branch = C::then(C::then(C::copy(), C::beside(C::id(), less)), C::branch());
    let chosen = C::then(branch, C::then(C::either(product::<C>(), sine_of_exponential::<C>()), C::join()));
    C::then(C::then(C::copy(), C::beside(C::id(), chosen)), C::binary(Binary::Mul))
}

/// Coproducts within nested optics (equations 9 and 10): the derivatives are those of the branch that ran, to the third
/// order, since the residual at each level says which one that was.
#[test]
fn coproducts_in_nested_optics() {
    // Values and derivatives of x^2 sin x, and of x sin(e^x).
    let left = |x: f64| {
        let (s, c) = (x.sin(), x.cos());
        let first = 2.0 * x * s + x * x * c;
        [x * x * s, first, (2.0 - x * x) * s + 4.0 * x * c, (6.0 - x * x) * c - 6.0 * x * s]
    };
    let right = |x: f64| {
        let e = x.exp();
        let (s, c) = (e.sin(), e.cos());
        let (f1, f2) = (e * c, e * c - e * e * s);
        let f3 = e * c - 3.0 * e * e * s - e * e * e * c;
        [x * s, s + x * f1, 2.0 * f1 + x * f2, 3.0 * f2 + x * f3]
    };
    for (x, [y, y1, y2, y3]) in [(0.7, left(0.7)), (1.3, right(1.3))] {
        close("value", &driven::<Base>(&piecewise::<Base>(), &[x]), &[y], 1e-13);
        close("first", &driven::<First>(&piecewise::<First>(), &[x, 1.0]), &[y, y1], 1e-13);
        let second = driven::<Second>(&piecewise::<Second>(), &[x, 1.0, 1.0, 0.0]);
        close("second", &[second[1], second[3]], &[y1, y2], 1e-13);
        let third = driven::<Third>(&piecewise::<Third>(), &[x, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        close("third", &third[7..], &[y3], 1e-12);
        // Both branches are recorded where the condition is not known.
        type Recorded = ReverseOptic<ReverseOptic<Wires<Run<Term>>>>;
        let stages = Recorded::stages(&piecewise::<Recorded>());
        let inputs: Vec<Term> = stages.iter().map(|_| Term::variable(&[], DType::F64)).collect();
        let taken =
            |(stage, x): (&Stage<Term>, &Term)| stage.take::<Real, Real>(&Tensor::from_raw(x.clone())).into_raw();
        let results: Vec<Term> = stages.iter().zip(&inputs).map(taken).collect();
        let program = Term::program(&inputs, &results, &[]).expect("closed");
        let found = interpret(&program, [x, 1.0, 1.0, 0.0].map(Array::scalar).to_vec());
        close("recorded", &[found[3].item().expect("a number")], &[y2], 1e-13);
    }
}

/// The laws of cases, through second-order optics: `either` is functorial, `join` is natural, `split` has an inverse.
#[test]
fn the_optic_functor_keeps_the_laws_of_cases() {
    fn branched<C: Monoidal>() -> C::Hom<Real, Sum<Real, Real>> {
        let less = C::then(C::then(C::intro(), C::beside(C::constant(1.0), C::id())), C::compare(Compare::Gt));
        C::then(C::then(C::copy(), C::beside(C::id(), less)), C::branch())
    }
    fn pairs<C: Monoidal>() -> Vec<[C::Hom<Real, Real>; 2]> {
        let (f, g) = (|| C::unary(Unary::Sin), || C::unary(Unary::Exp));
        let joined = |h| C::then(C::then(branched::<C>(), h), C::join());
        let doubled = || C::then(branched::<C>(), C::either(C::copy(), C::then(g(), C::copy())));
        let product = || C::binary(Binary::Mul);
        let there = C::then(C::then(doubled(), C::split::<Real, Real, Real, Real>()), C::unsplit());
        vec![
            [
                joined(C::either(C::then(f(), g()), C::then(g(), f()))),
                joined(C::then(C::either(f(), g()), C::either(g(), f()))),
            ],
            [joined(C::either(C::id(), C::id())), C::id()],
            [joined(C::either(f(), f())), f()],
            [C::then(C::then(there, C::join()), product()), C::then(C::then(doubled(), C::join()), product())],
        ]
    }
    for x in [0.7, 1.4] {
        let inputs = [x, 1.3, -0.4, 2.1];
        for [left, right] in pairs::<Second>() {
            close("law", &driven::<Second>(&left, &inputs), &driven::<Second>(&right, &inputs), 1e-13);
        }
    }
}

/// The wires laws that the functor must keep, by what they do.
#[test]
fn the_optic_functor_keeps_the_laws_of_wires() {
    type Two = Prod<Real, Real>;
    fn sum<C: Monoidal>(f: C::Hom<Real, Two>) -> C::Hom<Real, Real> {
        C::then(f, C::binary(Binary::Mul))
    }
    fn pairs<C: Monoidal>() -> Vec<[C::Hom<Real, Real>; 2]> {
        let f = || C::unary(Unary::Sin);
        let swapped = C::then(C::copy(), C::swap());
        let unit = C::then(C::then(C::copy(), C::beside(C::delete(), C::id())), C::elim());
        let natural = C::then(f(), C::copy());
        vec![
            [C::then(C::id(), f()), f()],
            [C::then(f(), C::id()), f()],
            [sum::<C>(swapped), sum::<C>(C::copy())],
            [unit, C::id()],
            [sum::<C>(natural), sum::<C>(C::then(C::copy(), C::beside(f(), f())))],
        ]
    }
    let inputs = [0.7, 1.3, -0.4, 2.1];
    for [left, right] in pairs::<Second>() {
        close("law", &driven::<Second>(&left, &inputs), &driven::<Second>(&right, &inputs), 1e-13);
    }
}

/// An optic as text: the way back of the sine.
#[test]
fn optics_are_printed() {
    type Text = ReverseOptic<Wires<Syntax>>;
    let round = act(&<Text as Monoidal>::unary(Unary::Sin), <Wires<Syntax> as Monoidal>::id::<Real>());
    assert_eq!(round.code().term().simplify().to_string(), "\\x ->\n  sin x * cos x");
}
