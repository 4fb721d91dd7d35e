//! Loops over arrays: of no elements, and whose trips choose differently.

use polygrad::program::interpret;
use polygrad::{Array, Tensor, direct, tensor};
use polygrad_higher::interpreters::{CurryLists, Reverse, Run};
use polygrad_higher::{
    self as higher, Arrays, Expr, Prod, Real, Vector, fix, fun2, if_, inl, inr, iterate, lam, let_, map, num,
};

use super::agree::{close, moved, numbers};
use super::both::to_second_order;
use super::gallery::{captured, escaping, filtered, kept};

type At = (Tensor<Array, 1>, Tensor<Array, 0>);
type Program<C> = Expr<C, Prod<Vector, Real>, Real>;

/// Each element goes through a function that is chosen by it.
fn chosen_by_element<C: Arrays>() -> Program<C> {
    fun2(|v, x| {
        map(
            lam(|a| {
                let_(
                    if_(a.at().less(num(0.0)), || lam(|z| z.at() * a.at() * x.at()), || lam(|z| z.at().sin() + x.at())),
                    |f| f.at().app(f.at().app(a.at())),
                )
            }),
            v.at(),
        )
        .sum()
    })
}

/// Each element is multiplied until it is large.
fn repeated_by_element<C: Arrays>() -> Program<C> {
    fun2(|v, x| {
        map(
            lam(|a| {
                iterate(a.at(), |s| if_(s.at().less(num(5.0)), || inl(s.at() * x.at() + num(1.0)), || inr(s.at())))
            }),
            v.at(),
        )
        .sum()
    })
}

/// A recursion as deep as the element is large.
fn recursive_by_element<C: Arrays>() -> Program<C> {
    fun2(|v, x| {
        let_(fix(|f, n| if_(n.at().less(num(0.0)), || n.at(), || x.at() * f.at().app(n.at() - num(1.0)))), |power| {
            map(power.at(), v.at()).sum()
        })
    })
}

/// The gradients of a program by all that go backwards, and its value.
macro_rules! gradients {
    ($program:ident, $x:expr) => {{
        let x: &At = $x;
        let program = to_second_order($program());
        let (value, closures) = higher::value_and_grad(program.at(), x);
        let (one, lists) = higher::value_and_grad_by(program.at::<CurryLists<Array>, _>(), x);
        let (other, chad) = higher::value_and_grad_by(program.at::<Reverse<Run<Array>>, _>(), x);
        assert_eq!((&one, &other), (&value, &value));
        assert_eq!(higher::run(program.at(), x), value);
        let dual = direct::grad(|x| higher::run(program.at(), x), x);
        let (second, _) = higher::hvp(program.at(), x, &moved(x, 0.0).0);
        for found in [lists, chad, dual, second] {
            close("gradient", &numbers(&found), &numbers(&closures), 1e-12);
        }
        let (direction, _) = moved(x, 0.0);
        let along: f64 = numbers(&closures).iter().zip(numbers(&direction)).map(|(g, d)| g * d).sum();
        close("forward", &[higher::jvp(program.at(), x, &direction).1.item()], &[along], 1e-12);
        (value.item(), numbers(&closures))
    }};
}

#[test]
fn trips_that_choose_differently() {
    let x = (tensor([0.3, -0.5, 1.8, -0.2]), tensor(1.7));
    let h = 1e-6;
    macro_rules! check {
        ($program:ident) => {{
            let (_, gradient) = gradients!($program, &x);
            let at = |by: f64| higher::run::<_, _, Array>(to_second_order($program()).at(), &moved(&x, by).1).item();
            let along: f64 = gradient.iter().zip(numbers(&moved(&x, 0.0).0)).map(|(g, d)| g * d).sum();
            close("differences", &[(at(h) - at(-h)) / (2.0 * h)], &[along], 1e-7);
        }};
    }
    check!(chosen_by_element);
    check!(repeated_by_element);
    check!(recursive_by_element);
    check!(kept);
}

/// No trip runs, so there is nothing to choose, to call or to add up, whatever functions the trips would make.
#[test]
fn loops_over_no_elements() {
    let none = (Tensor::from_raw(Array::from(Vec::<f64>::new())), tensor(1.7));
    macro_rules! check {
        ($($program:ident)*) => { $({
            let (value, gradient) = gradients!($program, &none);
            assert_eq!((value, gradient), (0.0, vec![0.0]), stringify!($program));
            let staged = higher::stage_grad(to_second_order($program()).at(), &none);
            let results = interpret(&staged, vec![none.0.raw().clone(), none.1.raw().clone()]);
            assert_eq!(results, [Array::scalar(0.0), none.0.raw().clone(), Array::scalar(0.0)]);
        })* };
    }
    check!(captured escaping kept chosen_by_element);
    let (value, gradient) = gradients!(repeated_by_element, &none);
    assert_eq!((value, gradient), (0.0, vec![0.0]));
    let (value, gradient) = gradients!(filtered, &none);
    assert_eq!((value, gradient), (0.0, vec![0.0]));
}
