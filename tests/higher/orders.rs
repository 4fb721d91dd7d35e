//! CHAD applied to its own results: derivatives of second and third order as programs, by every order of the modes.

use polygrad::interpreters::Count;
use polygrad::tree::Tree;
use polygrad::{Array, Lift, Tensor, direct, tensor};
use polygrad_higher::interpreters::{Forward, Reverse, Run, Syntax};
use polygrad_higher::transform::{InForward, InReverse, gradient, pullback, pushforward};
use polygrad_higher::{
    self as higher, Arrays, Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Sum, Target, Unit, case, closed, fix,
    fun1, fun2, if_, inl, inr, iterate_within, let_, num, tup, unit, unroll,
};

use super::agree::{close, moved, numbers};
use super::both::to_second_order;
use super::gallery::*;
use super::held::{pipeline, renewed, scaled};
use super::printed::FACTOR;

type Rev<T> = InReverse<T>;
type Fwd<T> = InForward<T>;
type Eval = Run<Array>;

/// Second derivatives of a program with one number as its result, by the four orders of both modes.
macro_rules! second {
    ($($name:ident: $program:ident at $x:expr;)*) => { $(
        #[test]
        fn $name() {
            let x = $x;
            let program = to_second_order($program());
            let (v, _) = moved(&x, 0.0);
            let (gradient_here, along) = higher::hvp(program.at(), &x, &v);
            let (expected, slopes) = (numbers(&along), numbers(&gradient_here));
            let at = (x, v);
            let reverse = higher::run(pullback(gradient(program.untyped::<Reverse<Rev<Eval>>, _>())), &at);
            close("reverse over reverse", &numbers(&reverse), &expected, 1e-12);
            let forward = higher::run(pushforward(gradient(program.untyped::<Reverse<Fwd<Eval>>, _>())), &at);
            close("forward over reverse", &numbers(&forward), &expected, 1e-12);
            let (of_x, of_v) = higher::run(gradient(pushforward(program.untyped::<Forward<Rev<Eval>>, _>())), &at);
            close("reverse over forward", &numbers(&of_x), &expected, 1e-12);
            close("the gradient", &numbers(&of_v), &slopes, 1e-12);
            let twice = pushforward(pushforward(program.untyped::<Forward<Fwd<Eval>>, _>()));
            let still = Tree::map(&at.1, &mut |leaf: &Array| Array::zeros(leaf.shape(), leaf.dtype()));
            let curvature = higher::run(twice, &(at.clone(), (at.1.clone(), still))).item();
            let product: f64 = expected.iter().zip(numbers(&at.1)).map(|(a, b)| a * b).sum();
            close("forward over forward", &[curvature], &[product], 1e-12);
        }
    )* };
}

second! {
    fig_1b_twice: fig_1b at (((tensor(0.7), tensor(-0.3)), tensor(1.1)), tensor(0.4));
    fig_2b_twice: fig_2b at (tensor(3.0), tensor([1.0, 2.0, 5.0]));
    twice_twice: twice at (tensor(0.7), tensor(1.3));
    composed_twice: composed at (tensor(0.7), tensor(1.3));
    nested_twice: nested at (tensor(0.7), tensor(1.3));
    chosen_twice: chosen at (tensor(0.7), tensor(1.3));
    absolute_twice: absolute at tensor(-2.0);
    repeated_twice: repeated at (tensor(3.7), tensor(1.9));
    power_twice: small_power at (tensor(1.2), tensor(0.9));
    captured_twice: captured at (tensor([0.3, -0.5]), tensor(0.9));
    pairwise_twice: pairwise at (tensor([0.3, -0.5]), tensor([0.1, 0.7]));
    escaping_twice: escaping at (tensor([0.3]), tensor(0.9));
    network_twice: network at (
        ((tensor([[0.3, -0.2], [0.5, 0.1]]), tensor([0.4, 0.6])), tensor([0.1, -0.1])),
        tensor([[1.0, 0.5], [-0.3, 0.8]]),
    );
    pair_fold_twice: pair_fold at ((tensor(0.8), tensor(1.2)), tensor([0.3, -0.5]));
    indexed_twice: indexed at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0]));
    picked_twice: picked at (tensor([0.3, -0.5]), tensor([[1.0, 2.0], [0.4, -0.7]]));
    scattered_twice: scattered at (tensor([0.3, -0.5, 0.8]), tensor([1.0, 2.0, 3.0]));
    filtered_twice: filtered at (tensor([0.3, -0.5]), tensor(0.1));
    kept_twice: kept at (tensor([0.3, 1.5]), tensor(0.7));
    bounded_twice: small_bounded at (tensor(1.7), tensor(0.9));
    listed_twice: listed at (tensor(1.7), tensor(0.9));
    elementwise_twice: elementwise at tensor([0.3, -0.5, 0.8]);
    functions_in_an_array_twice: scaled at (tensor([0.3, -0.5]), tensor(0.9));
    functions_one_after_the_other_twice: pipeline at (tensor([0.3, -0.5]), tensor(0.9));
    function_in_a_state_twice: renewed at (tensor([0.3, -0.5]), tensor(0.9));
    unused_twice: unused at (tensor(0.7), tensor(1.3));
}

type Two = Prod<Real, Real>;

/// `x^n y` by recursion, for a small `n`.
fn small_power<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(fix(|f, n| if_(n.at().less(num(0.5)), || y.at(), || x.at() * f.at().app(n.at() - num(1.0)))), |power| {
            power.at().app(num(2.0)) * x.at()
        })
    })
}

/// An iteration with at most two steps, of which one runs.
fn small_bounded<C: Arrays>() -> Expr<C, Two, Real> {
    fun2(|a, x| {
        iterate_within(2, x.at(), a.at(), |s| {
            if_(s.at().less(num(1.0)), || inl(s.at() * a.at() + num(1.0)), || inr(s.at() * s.at().sin()))
        })
    })
}

/// A list, folded by recursion.
fn listed<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let list = List::roll(inr(tup(x.at(), List::roll(inr(tup(y.at() * y.at(), List::roll(inl(unit()))))))));
        closed(product()).app(list)
    })
}

/// The product of the numbers in a list.
fn product<C: Language>() -> Expr<C, Unit, Fun<List, Real>> {
    fix(|own, list| case(unroll(list.at()), |_| num(1.0), |p| p.at().fst() * own.at().app(p.at().snd())))
}

struct Numbers;

impl Signature for Numbers {
    type Of<X: Obj> = Sum<Unit, Prod<Real, X>>;
}

type List = Mu<Numbers>;

/// Third derivatives, by reverse mode three times.
macro_rules! third {
    ($($name:ident: $program:ident at $x:expr;)*) => { $(
        #[test]
        fn $name() {
            let x = $x;
            let (v, there) = moved(&x, 0.3);
            let (w, _) = moved(&there, 0.0);
            let twice = pullback(pullback(gradient($program::<Rev<Rev<Rev<Eval>>>>())));
            let (of_x, of_v) = higher::run(twice, &((x.clone(), v.clone()), w.clone()));
            let still = Tree::map(&v, &mut |leaf: &Array| Array::zeros(leaf.shape(), leaf.dtype()));
            let at = (x.clone(), v.clone());
            let (_, third) = direct::jvp(|at| higher::hvp($program(), &at.0, &at.1).1, &at, &(w.clone(), still));
            close("third", &numbers(&of_x), &numbers(&third), 1e-11);
            let hessian_times_w = higher::hvp($program(), &x, &w).1;
            close("second", &numbers(&of_v), &numbers(&hessian_times_w), 1e-11);
        }
    )* };
}

third! {
    twice_three_times: twice at (tensor(0.7), tensor(1.3));
    chosen_three_times: chosen at (tensor(0.7), tensor(1.3));
    added_three_times: added at (tensor(0.7), tensor(1.3));
    polynomial_three_times: polynomial at tensor(1.5);
}

/// The derivatives of a program of one number, as programs of any target.
macro_rules! derivatives {
    ($program:ident: $first:ident $second:ident $third:ident) => {
        fn $first<T: Target>() -> Expr<T, Real, Real> {
            gradient($program::<Rev<T>>())
        }
        fn $second<T: Target>() -> Expr<T, Real, Real> {
            gradient($first::<Rev<T>>())
        }
        fn $third<T: Target>() -> Expr<T, Real, Real> {
            gradient($second::<Rev<T>>())
        }
    };
}

derivatives!(polynomial: polynomial_1 polynomial_2 polynomial_3);
derivatives!(sine: sine_1 sine_2 sine_3);

fn sine<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| x.at().sin())
}

/// The value of a program at 0.7, its operations, and the number of combinators of its text.
macro_rules! seen {
    ($($program:ident)*) => { [$({
        type N = Count<Array>;
        let x = Tensor::<N, 0>::from_raw(N::lift(Array::scalar(0.7)));
        let (_, cost) = N::counted(|| higher::run($program::<Run<N>>(), &x));
        let value = higher::run($program::<Eval>(), &tensor(0.7)).item();
        (value, cost.total().calls as usize, $program::<Syntax>().hom().size())
    }),*] };
}

/// The derivatives of orders 0 to 3 are programs, with values, operations and texts. A transformation makes a text larger
/// by a factor, at each order ("CHAD", Corollary 7.2).
#[test]
fn derivatives_of_order_n() {
    let x: f64 = 0.7;
    let sines = seen!(sine sine_1 sine_2 sine_3);
    let polynomials = seen!(polynomial polynomial_1 polynomial_2 polynomial_3);
    println!("by order: value, operations, combinators\nsine {sines:?}\npolynomial {polynomials:?}");
    let all = [
        (sines, [x.sin(), x.cos(), -x.sin(), -x.cos()]),
        (polynomials, [2.0 * x * x + 7.0 * x + 3.0, 4.0 * x + 7.0, 4.0, 0.0]),
    ];
    for (seen, expected) in all {
        for ((value, ..), expected) in seen.iter().zip(expected) {
            close("derivative", &[*value], &[expected], 1e-12);
        }
        for orders in seen.windows(2) {
            assert!(orders[1].2 <= FACTOR * orders[0].2, "{seen:?}");
        }
    }
}

/// Simplified, a derivative of a derivative is the formula that one writes.
#[test]
fn second_derivatives_are_printed() {
    let text = sine_2::<Syntax>().hom().term().simplify().to_string();
    assert_eq!(text, "\\x ->\n  neg (sin x)", "printed:\n{text}");
}
