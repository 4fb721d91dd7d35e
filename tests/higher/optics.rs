//! Optics: those of the host language, and reverse mode as an optic functor, to the third order ("dP guide").

use std::rc::Rc;

use polygrad::higher::{self, Ground, Monoidal, Prod, Real};
use polygrad::interpreters::higher::optic::lens::{Either, HiddenOptic, Optic, Policy, branch, copy, delete, join};
use polygrad::interpreters::higher::optic::{Staged, Wire, Wiring, act, stars, wired, woven};
use polygrad::interpreters::higher::{Reverse, ReverseOptic, Run, Syntax, Wires};
use polygrad::ops::{Binary, Unary};
use polygrad::program::{Program, Term, interpret};
use polygrad::tree::Tree;
use polygrad::{Array, DType, Tensor, tensor};

use super::agree::{close, numbers};
use super::gallery;

/// Nested tuples of numbers.
#[derive(Clone, Debug, PartialEq)]
enum Tuple {
    Number(i64),
    Of(Vec<Tuple>),
}

fn pair(a: Tuple, b: Tuple) -> Tuple {
    Tuple::Of(vec![a, b])
}

fn get(t: &Tuple, path: &[usize]) -> Tuple {
    match (t, path) {
        (_, []) => t.clone(),
        (Tuple::Of(parts), [first, rest @ ..]) => get(&parts[*first - 1], rest),
        (Tuple::Number(_), _) => panic!("a number has no parts"),
    }
}

fn set(t: &Tuple, value: Tuple, path: &[usize]) -> Tuple {
    match (t, path) {
        (_, []) => value,
        (Tuple::Of(parts), [first, rest @ ..]) => {
            let mut parts = parts.clone();
            parts[*first - 1] = set(&parts[*first - 1], value, rest);
            Tuple::Of(parts)
        }
        (Tuple::Number(_), _) => panic!("a number has no parts"),
    }
}

type Lens<M> = Optic<M, Tuple, Tuple, Tuple, Tuple>;

/// Snippet 2.
fn set_index(at: usize) -> Lens<Tuple> {
    fast_set_index(vec![at])
}

/// Snippet 3: a path of indices, whose residual is the whole.
fn fast_set_index(path: Vec<usize>) -> Lens<Tuple> {
    let inner = path.clone();
    Optic::new(move |t: Tuple| (t.clone(), get(&t, &path)), move |t: Tuple, value| set(&t, value, &inner))
}

fn example() -> Tuple {
    pair(Tuple::Number(1), pair(Tuple::Number(2), Tuple::Number(3)))
}

fn more(t: Tuple) -> Tuple {
    match t {
        Tuple::Number(n) => Tuple::Number(n + 100),
        Tuple::Of(_) => panic!("a number"),
    }
}

#[test]
fn one_optic_has_different_residuals() {
    let (slow, fast) = (set_index(2).then(&set_index(1)), fast_set_index(vec![2, 1]));
    let (m, c) = slow.left(example());
    assert_eq!(c, Tuple::Number(2));
    assert_eq!(m, (example(), pair(Tuple::Number(2), Tuple::Number(3))));
    let (n, c) = fast.left(example());
    assert_eq!((n, c), (example(), Tuple::Number(2)));
    let expected = pair(Tuple::Number(1), pair(Tuple::Number(102), Tuple::Number(3)));
    // What they do is the same, through both interfaces.
    assert_eq!(slow.act(more, example()), expected);
    assert_eq!(fast.act(more, example()), expected);
    let (c, back) = fast.at(example());
    assert_eq!(back(more(c)), expected);
    // With hidden residuals, too; their types are seen by those who know them.
    let hidden: HiddenOptic<_, _, _, _> = set_index(2).hide().then(&set_index(1).hide());
    assert_eq!(hidden.act(more, example()), expected);
    let (c, back) = hidden.at(example());
    assert_eq!(back(more(c)), expected);
    assert_eq!(fast.hide().left(example()).0.inspect::<Tuple>(), Some(&example()));
}

/// `F(f); F(g) = F(f; g)` for the functor from paths to optics: by what they do, not by their residuals.
#[test]
fn the_functor_of_paths_keeps_composition() {
    let paths: [&[usize]; 4] = [&[], &[2], &[2, 1], &[1]];
    for f in paths {
        for g in paths {
            let whole: Vec<usize> = f.iter().chain(g).copied().collect();
            let fits = std::panic::catch_unwind(|| get(&example(), &whole)).is_ok();
            if !fits {
                continue;
            }
            let both = fast_set_index(f.to_vec()).then(&fast_set_index(g.to_vec()));
            let one = fast_set_index(whole);
            let replaced = |_| Tuple::Number(7);
            assert_eq!(both.act(replaced, example()), one.act(replaced, example()));
        }
    }
}

#[test]
fn composition_is_associative() {
    let (f, g, h) = (set_index(2), set_index(1), fast_set_index(vec![]));
    let left = f.then(&g).then(&h);
    let right = f.then(&g.then(&h));
    assert_eq!(left.act(more, example()), right.act(more, example()));
}

/// The price and the name of a part.
type Priced = (f64, String);

fn part(name: &'static str, cost: f64) -> Optic<(), Priced, f64, Priced, f64> {
    Optic::new(
        move |(price, input): Priced| ((), (price + cost, format!("{name}({input})"))),
        move |(), profit| profit - cost * 1.3,
    )
}

/// Two parts put together: profits are shared in proportion to prices.
fn assembly(name: &'static str, cost: f64) -> Optic<(f64, f64), (Priced, Priced), (f64, f64), Priced, f64> {
    Optic::new(
        move |((p, a), (q, b)): (Priced, Priced)| ((p, q), (p + q + cost, format!("{name}({a}, {b})"))),
        |(p, q), profit| (profit * p / (p + q), profit * q / (p + q)),
    )
}

/// Section III.A: `widget(sweat, love) = C(A(sweat), B(love))`.
#[test]
fn the_price_of_a_widget() {
    let make = part("A", 10.0).beside(&part("B", 20.0)).then(&assembly("C", 30.0));
    let (made, back) = make.at(((1.0, "sweat".into()), (2.0, "love".into())));
    assert_eq!(made, (63.0, "C(A(sweat), B(love))".into()));
    let (sweat, love) = back(100.0);
    close("profit", &[sweat, love], &[100.0 / 3.0 - 13.0, 200.0 / 3.0 - 26.0], 1e-12);
    close("shares", &[sweat, love], &[20.0 + 1.0 / 3.0, 40.0 + 2.0 / 3.0], 1e-12);
}

/// Who pays for a copy (section III.C).
struct EachPays;
struct FixedFee;
struct Pirate;

impl Policy<f64, f64> for EachPays {
    fn split(&self, price: f64) -> (f64, f64) {
        (price, price)
    }
    fn merge(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn discard(&self, price: f64) {
        assert_eq!(price, 0.0, "Who's gonna pay for that?");
    }
    fn restore(&self) -> f64 {
        0.0
    }
}

impl Policy<f64, f64> for FixedFee {
    fn split(&self, _: f64) -> (f64, f64) {
        (1.0, 1.0)
    }
    fn merge(&self, a: f64, b: f64) -> f64 {
        a + b
    }
    fn discard(&self, _: f64) {}
    fn restore(&self) -> f64 {
        0.0
    }
}

impl Policy<f64, f64> for Pirate {
    fn split(&self, _: f64) -> (f64, f64) {
        (0.0, 0.0)
    }
    fn merge(&self, _: f64, _: f64) -> f64 {
        0.0
    }
    fn discard(&self, _: f64) {}
    fn restore(&self) -> f64 {
        0.0
    }
}

/// One program, `C(A(d), B(d))` with a copied input, by three policies.
fn with_copy(policy: impl Policy<f64, f64>) -> (f64, f64) {
    let cost = |c: f64| Optic::new(move |p: f64| ((), p + c), move |(), profit: f64| profit - c);
    let policy = Rc::new(policy);
    let shared = copy(&policy).then(&cost(10.0).beside(&cost(20.0)));
    let sum = Optic::new(
        |(p, q): (f64, f64)| ((p, q), p + q),
        |(p, q), profit: f64| (profit * p / (p + q), profit * q / (p + q)),
    );
    let (price, back) = shared.then(&sum).at(3.0);
    (price, back(100.0))
}

#[test]
fn copies_and_deletions_follow_a_policy() {
    assert_eq!(with_copy(EachPays), (36.0, 70.0));
    assert_eq!(with_copy(FixedFee), (32.0, 70.0));
    assert_eq!(with_copy(Pirate), (30.0, 0.0));
    let free = delete(&Rc::new(EachPays));
    assert_eq!(free.act(|()| (), 0.0), 0.0);
    let dear = std::panic::catch_unwind(|| delete(&Rc::new(EachPays)).left(5.0));
    assert!(dear.is_err(), "what costs something is not thrown away");
    assert_eq!(delete(&Rc::new(Pirate)).act(|()| (), 5.0), 0.0);
}

struct Conditions;

impl Policy<bool, &'static str> for Conditions {
    fn split(&self, c: bool) -> (bool, bool) {
        (c, c)
    }
    fn merge(&self, _: &'static str, _: &'static str) -> &'static str {
        "nothing"
    }
    fn discard(&self, _: bool) {}
    fn restore(&self) -> &'static str {
        "nothing"
    }
}

/// Equations 9 and 10: the branch that ran is in the residual.
#[test]
fn coproducts_remember_the_branch() {
    let scaled = |by: f64| Optic::new(move |x: f64| (x, x * x * by), move |x, d: f64| 2.0 * x * by * d);
    let both = branch(&Rc::new(Conditions)).then(&scaled(1.0).or(&scaled(10.0))).then(&join());
    let (y, back) = both.at((3.0, true));
    assert_eq!((y, back(1.0)), (9.0, (6.0, "nothing")));
    let (y, back) = both.at((3.0, false));
    assert_eq!((y, back(1.0)), (90.0, (60.0, "nothing")));
    let ((((), ran), history), _) = both.left((3.0, false));
    assert_eq!((ran, history), (Either::Right(3.0), Either::Right(())));
}

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
            let staged = higher::stage(gallery::$program(), &x);
            let expected = numbers(&higher::value_and_grad_by(gallery::$program::<Reverse<Run<Array>>>(), &x).1);
            close(stringify!($program), &gradient::<$layout>(&staged, &numbers(&x)), &expected, 1e-12);
        }};
    }
    agree!(fig_1b, gallery::Four, (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4)));
    agree!(twice, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(composed, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(nested, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(polynomial, Real, tensor(1.5));
    agree!(cube, Real, tensor(1.5));
    agree!(added, gallery::Two, (tensor(0.7), tensor(1.3)));
    agree!(unused, gallery::Two, (tensor(0.7), tensor(1.3)));
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

/// The operations of all stages of the sine, of which equal ones are one: the guide leaves open how many there must be,
/// so this reports and does not assert. At orders 1 to 6 there were 3, 8, 29, 103, 347 and 1129.
#[test]
fn operations_of_well_behaved_primitives() {
    fn operations<C: Staged<Term>>() -> usize {
        let stages = C::stages(&<C as Monoidal>::unary(Unary::Sin));
        let variables: Vec<Term> = stages.iter().map(|_| Term::variable(&[], DType::F64)).collect();
        let results: Vec<Term> = stages
            .iter()
            .zip(&variables)
            .map(|(stage, x)| stage.take::<Real, Real>(&Tensor::from_raw(x.clone())).into_raw())
            .collect();
        let program = Term::program(&variables, &results, &[]).expect("closed");
        assert_eq!(interpret(&program, vec![Array::scalar(0.0); stages.len()]).len(), stages.len());
        program.size()
    }
    type B = Wires<Run<Term>>;
    type R<C> = ReverseOptic<C>;
    let counts =
        [operations::<R<B>>(), operations::<R<R<B>>>(), operations::<R<R<R<B>>>>(), operations::<R<R<R<R<B>>>>>()];
    println!("operations of the sine at orders 1 to 4: {counts:?}");
}

/// An optic as text: the way back of the sine.
#[test]
fn optics_are_printed() {
    type Text = ReverseOptic<Wires<Syntax>>;
    let round = act(&<Text as Monoidal>::unary(Unary::Sin), <Wires<Syntax> as Monoidal>::id::<Real>());
    assert_eq!(round.code().term().simplify().to_string(), "\\x ->\n  sin x * cos x");
}
