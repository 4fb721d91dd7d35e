//! Efficient CHAD as text: programs that add to accumulators.
//!
//! Law: the value and the gradient are those of the evaluating instance; text and work are larger than those of the
//! program by a constant factor, whatever the depth of functions within functions.

use polygrad::tree::Tree;
use polygrad::{Array, tensor};
use polygrad_higher::interpreters::{Lambda, Reverse, Run, Syntax};
use polygrad_higher::{
    self as higher, Ccc, Expr, Ground, Language, Prod, Real, case, fun1, fun2, if_, inl, inr, iterate, lam, let_, num,
    tup,
};

use super::agree::{close, numbers};
use super::both::{to_second_order, with_texts};
use super::gallery;
use super::random;

/// The value and the gradient by a text.
fn by_text<A: Ground>(text: &Lambda, x: &A::Value<Array>) -> Vec<f64>
where
    A::Value<Array>: Tree<Array, With<Array> = A::Value<Array>>,
{
    let leaves = x.leaves();
    let found = text.linear::<Real, A>(&leaves, &tensor(1.0));
    let filled = found.into_iter().zip(&leaves);
    filled
        .flat_map(|(leaf, x)| leaf.map_or(vec![0.0; x.size()], |leaf| leaf.to_vec::<f64>().expect("floats")))
        .collect()
}

macro_rules! agree {
    ($($program:ident at $x:expr;)*) => { $({
        let x = $x;
        let program = to_second_order(gallery::$program());
        let (_, gradient) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x);
        let text = program.at::<Syntax, _>().hom().accumulated().expect("no loop over an array");
        fn input<C: Ccc, A: Ground>(_: &Expr<C, A, Real>, text: &Lambda, x: &A::Value<Array>, gradient: &[f64])
        where
            A::Value<Array>: Tree<Array, With<Array> = A::Value<Array>>,
        {
            close(stringify!($program), &by_text::<A>(text, x), gradient, 1e-12);
        }
        input(&program.at::<Syntax, _>(), &text, &x, &numbers(&gradient));
    })* };
}

#[test]
fn gradients_are_those_of_programs() {
    agree! {
        fig_1b at (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4));
        twice at (tensor(0.7), tensor(1.3));
        composed at (tensor(0.7), tensor(1.3));
        nested at (tensor(0.7), tensor(1.3));
        chosen at (tensor(0.7), tensor(1.3));
        chosen at (tensor(1.7), tensor(1.3));
        absolute at tensor(-2.0);
        repeated at (tensor(3.7), tensor(1.9));
        power at (tensor(1.2), tensor(5.0));
        unused at (tensor(0.7), tensor(1.3));
    }
}

/// Random programs: those without loops over arrays, and a message for the others.
#[test]
fn random_programs_agree() {
    let (x, mut texts) = ((tensor(0.7), tensor(-0.4)), 0);
    for seed in random::seeds(60) {
        let program = with_texts(random::of_numbers(seed));
        let text = match program.at::<Syntax, _>().hom().accumulated() {
            Ok(text) => text,
            Err(message) => {
                assert!(message.starts_with("accumulated: "), "{message}");
                continue;
            }
        };
        texts += 1;
        let (_, gradient) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), &x);
        close(&format!("program {seed}"), &by_text::<Prod<Real, Real>>(&text, &x), &numbers(&gradient), 1e-11);
    }
    assert!(texts > 20, "{texts} programs have a text");
}

/// Functions within functions, each applied to a product.
macro_rules! nest {
    ($x:ident, $q:ident;) => { ($q.at() * $x.at()) };
    ($x:ident, $q:ident; $_step:tt $($rest:tt)*) => {
        lam(|p| nest!($x, p; $($rest)*)).app($q.at() * $x.at())
    };
}

fn nest_1<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; -))
}

fn nest_2<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - -))
}

fn nest_3<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - - -))
}

fn nest_4<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - - - -))
}

fn nest_8<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| nest!(x, x; - - - - - - - -))
}

/// The size of a text with accumulators, and its work; the work of the text of "CHAD".
fn sizes(accumulated: &Lambda, chad: &Lambda) -> [usize; 3] {
    let (x, one) = ([Array::scalar(1.1)], tensor(1.0));
    let same =
        |text: &Lambda| text.linear::<Real, Real>(&x, &one)[0].as_ref().and_then(|x| x.item().ok()).expect("a number");
    close("the gradient", &[same(accumulated)], &[same(chad)], 1e-12);
    [accumulated.size(), accumulated.work::<Real>(&x, &one), chad.work::<Real>(&x, &one)]
}

#[test]
fn text_and_work_grow_with_the_depth_of_functions() {
    macro_rules! measured {
        ($($program:ident)*) => {
            [$({
                let text = $program::<Syntax>().hom().accumulated().expect("no loop");
                // Functions are kept: what is measured is what they cost.
                sizes(&text, &$program::<Reverse<Syntax>>().hom().term())
            }),*]
        };
    }
    let all = measured!(nest_1 nest_2 nest_3 nest_4 nest_8);
    println!("functions within functions, size and work by accumulators, and work of CHAD: {all:?}");
    for k in 0..2 {
        let step = all[1][k] - all[0][k];
        // Each depth adds the same.
        assert_eq!(all[2][k] - all[1][k], step, "{all:?}");
        assert_eq!(all[3][k] - all[2][k], step, "{all:?}");
        assert_eq!(all[4][k] - all[3][k], 4 * step, "{all:?}");
    }
    assert!(all[4][2] > 8 * all[3][2], "the text of CHAD runs functions again: {all:?}");
}

/// `n` lets that see all variables so far, and conditions: linear work.
macro_rules! lets {
    ($x:ident, $y:ident;) => { $y.at() };
    ($x:ident, $y:ident; $_step:tt $($rest:tt)*) => {
        let_(if_($y.at().less(num(9.0)), || ($y.at() * $x.at()).sin(), || $x.at()), |z| lets!($x, z; $($rest)*))
    };
}

fn lets_2<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| lets!(x, x; - -))
}

fn lets_4<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| lets!(x, x; - - - -))
}

fn lets_8<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| lets!(x, x; - - - - - - - -))
}

#[test]
fn lets_and_conditions_cost_linear_work() {
    macro_rules! work {
        ($($program:ident)*) => {
            [$({
                let text = $program::<Syntax>().hom().accumulated().expect("no loop");
                let x = [Array::scalar(0.3)];
                [text.size(), text.work::<Real>(&x, &tensor(1.0))]
            }),*]
        };
    }
    let [two, four, eight] = work!(lets_2 lets_4 lets_8);
    for k in 0..2 {
        assert_eq!(eight[k] - four[k], 2 * (four[k] - two[k]), "{two:?} {four:?} {eight:?}");
    }
}

/// A function that is called twice and captures both variables.
fn shared<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| let_(lam(|z| z.at() * x.at() + y.at()), |f| f.at().app(y.at()) * f.at().app(num(2.0))))
}

/// A sum, whose cases capture a variable.
fn cases<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| {
        let sum = if_(x.at().less(y.at()), || inl(x.at().sin()), || inr(tup(x.at(), y.at())));
        case(sum, |a| a.at() * y.at(), |p| p.at().fst() * p.at().snd())
    })
}

/// A loop that ends by its state.
fn doubled<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, y| iterate(x.at(), |s| if_(s.at().less(num(5.0)), || inl(s.at() * y.at()), || inr(s.at() * s.at()))))
}

#[test]
fn texts_as_written() {
    fn text(program: Result<Lambda, String>, x: [f64; 2], gradient: [f64; 2]) -> String {
        let text = program.expect("no loop over an array");
        close("the gradient", &by_text::<Prod<Real, Real>>(&text, &(tensor(x[0]), tensor(x[1]))), &gradient, 1e-12);
        text.to_string()
    }
    let expected = expect_file();
    let found = [
        // (y x + y)(2 x + y)
        text(shared::<Syntax>().hom().accumulated(), [3.0, 5.0], [5.0 * 11.0 + 20.0 * 2.0, 4.0 * 11.0 + 20.0]),
        text(cases::<Syntax>().hom().accumulated(), [0.5, 2.0], [2.0 * 0.5_f64.cos(), 0.5_f64.sin()]),
        // (x y^2)^2
        text(doubled::<Syntax>().hom().accumulated(), [2.0, 2.0], [2.0 * 2.0 * 16.0, 4.0 * 4.0 * 8.0]),
    ];
    let found = format!("{}\n", found.join("\n\n"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(PATH, found).expect("the file can be written");
    } else {
        assert_eq!(found, expected, "run again with UPDATE_EXPECT=1, and read what changes");
    }
}

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/higher/accumulated.txt");

fn expect_file() -> String {
    std::fs::read_to_string(PATH).unwrap_or_default()
}
