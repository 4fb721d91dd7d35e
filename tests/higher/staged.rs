//! Conditions that are not known while a program is traced.

use polygrad::backend::compile;
use polygrad::program::{Term, interpret};
use polygrad::{Array, Tensor, tensor};
use polygrad_higher::interpreters::{CurryClosures, CurryLists, Erased, Reverse, Run};
use polygrad_higher::{
    self as higher, Arrays, Expr, Fun, Language, Prod, Real, Sum, Var, Vector, case, fix, fun2, if_, inl, inr, iterate,
    lam, let_, map, num, tup,
};

use super::agree::{close, numbers};
use super::both::to_second_order;
use super::gallery::{self, Two};
use super::held::chosen_array;

/// Functions that capture different things, chosen twice, within pairs.
fn chosen_twice<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(lam(|z| z.at() * x.at() * y.at()), |f| {
            let_(
                if_(
                    x.at().less(y.at()),
                    || tup(if_(y.at().less(num(1.0)), || f.at(), || lam(|z| z.at().sin() * y.at())), x.at()),
                    || tup(lam(|z| f.at().app(f.at().app(z.at()))), x.at() * y.at()),
                ),
                |both| both.at().fst().app(both.at().snd()) * both.at().fst().app(y.at()),
            )
        })
    })
}

/// A chosen function that takes and returns functions.
fn chosen_of_higher_order<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(
            if_(
                x.at().less(y.at()),
                || lam(|f| lam(|z| f.at().app(f.at().app(z.at())) * x.at())),
                || lam(|f| lam(|z| f.at().app(z.at() + y.at()))),
            ),
            |twice| twice.at().app(lam(|z| z.at() * z.at() * y.at())).app(x.at()),
        )
    })
}

/// A number or a function, or another function.
fn chosen_case<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(
            if_::<_, _, Sum<Real, higher::Fun<Real, Real>>>(
                x.at().less(y.at()),
                || inl(x.at() * y.at()),
                || if_(y.at().less(num(0.0)), || inr(lam(|z| z.at() * x.at())), || inr(lam(|z| z.at().sin() * y.at()))),
            ),
            |which| case(which.at(), |number| number.at() * x.at(), |f| f.at().app(x.at()) * y.at()),
        )
    })
}

/// Functions without arithmetic: the cotangent of the result only moves, to the argument or to what was captured.
fn chosen_to_move<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| let_(if_(x.at().less(y.at()), || lam(|z| z.at()), || lam(|_| y.at())), |f| f.at().app(x.at()) * x.at()))
}

/// A function that is chosen by a condition and mapped.
fn chosen_and_mapped<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|v, x| {
        let_(if_(x.at().less(num(1.0)), || lam(|a| a.at() * x.at()), || lam(|a| a.at().sin() + v.at().sum())), |f| {
            map(f.at(), v.at()).sum()
        })
    })
}

/// Staged once, and run at inputs on both sides of every condition.
macro_rules! check {
    ($program:path: $($x:expr),*) => {{
        let inputs = [$($x),*];
        let program = to_second_order($program());
        let programs = [
            higher::stage_grad(program.at(), &inputs[0]),
            higher::stage_grad_by(program.at::<CurryClosures<Term>, _>(), &inputs[0]),
            higher::stage_grad_by(program.at::<CurryLists<Term>, _>(), &inputs[0]),
            higher::stage_grad_by(program.at::<Reverse<Run<Term>>, _>(), &inputs[0]),
        ];
        for x in inputs {
            let (value, gradient) = higher::value_and_grad(program.at(), &x);
            let leaves = polygrad::tree::Tree::leaves(&x);
            for staged in &programs {
                let results = interpret(staged, leaves.clone());
                close("staged value", &[results[0].item::<f64>().unwrap()], &[value.item()], 1e-13);
                let found: Vec<f64> = results[1..].iter().flat_map(|t| t.to_vec::<f64>().unwrap()).collect();
                close("staged gradient", &found, &numbers(&gradient), 1e-13);
            }
        }
    }};
}

#[test]
fn functions_chosen_while_traced() {
    use gallery::chosen;
    let points = || [(0.7, 1.3), (1.3, 0.7), (0.7, 0.9), (-0.5, -0.7)].map(|(x, y)| (tensor(x), tensor(y)));
    let [a, b, c, d] = points();
    check!(chosen: a, b, c, d);
    let [a, b, c, d] = points();
    check!(chosen_twice: a, b, c, d);
    let [a, b, c, d] = points();
    check!(chosen_of_higher_order: a, b, c, d);
    let [a, b, c, d] = points();
    check!(chosen_case: a, b, c, d);
    let [a, b, c, d] = points();
    check!(chosen_to_move: a, b, c, d);
    check!(chosen_array: (tensor([0.3, -0.2]), tensor(0.5)), (tensor([0.3, -0.2]), tensor(1.5)));
    check!(chosen_and_mapped: (tensor([0.3, -0.2]), tensor(0.5)), (tensor([0.3, -0.2]), tensor(1.5)));
}

/// `x y^3 + x`, by an iteration that counts.
fn counted<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        iterate(tup(x.at(), num(3.0)), |s| {
            if_(
                num(0.5).less(s.at().snd()),
                || inl(tup(s.at().fst() * y.at(), s.at().snd() - 1.0)),
                || inr(s.at().fst() + x.at()),
            )
        })
    })
}

/// A recursion for each element, as deep as a number says that is written.
fn counted_by_element<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|v, x| {
        let_(fix(|f, n| if_(n.at().less(num(0.5)), || x.at(), || x.at() * f.at().app(n.at() - 1.0))), |power| {
            map(lam(|a| a.at() * power.at().app(num(2.0) + num(1.0))), v.at()).sum()
        })
    })
}

/// A function that an iteration makes, which a number that is written chooses at each step.
fn composed<C: Language>() -> Expr<C, Two, Real> {
    fun2(|x, y| {
        let_(
            iterate(tup(lam(|z| z.at() * x.at()), num(4.0)), |s| {
                if_(
                    num(0.5).less(s.at().snd()),
                    || {
                        inl(tup(
                            if_(
                                s.at().snd().less(num(2.5)),
                                || lam(|z| s.at().fst().app(z.at()) + y.at()),
                                || lam(|z| s.at().fst().app(z.at().sin())),
                            ),
                            s.at().snd() - 1.0,
                        ))
                    },
                    || inr(s.at().fst()),
                )
            }),
            |f| f.at().app(y.at()),
        )
    })
}

/// What numbers decide that are written in the program is known while the program is traced.
#[test]
fn counters_that_are_written_are_known() {
    let points = || [(0.7, 1.3), (-0.5, 0.9)].map(|(x, y)| (tensor(x), tensor(y)));
    let [a, b] = points();
    check!(counted: a, b);
    let [a, b] = points();
    check!(composed: a, b);
    // The recursion of `docs/higher_order.md`.
    let [a, b] = points();
    check!(gallery::power: a, b);
    // Where the tangent of a function is the list of its calls, these are stacked by the loop over the elements, so that
    // their arguments are unknown.
    let at = (tensor([0.3, -0.2]), tensor(0.5));
    let staged = higher::stage_grad(counted_by_element(), &at);
    let results = interpret(&staged, polygrad::tree::Tree::leaves(&at));
    let found: Vec<f64> = results[1..].iter().flat_map(|t| t.to_vec::<f64>().expect("floats")).collect();
    close("by element", &found, &numbers(&higher::grad(counted_by_element(), &at)), 1e-13);
    let x = (tensor(0.7), tensor(1.3));
    let slopes = numbers(&higher::grad(counted(), &x));
    close("recorded", &numbers(&polygrad::grad(|x| higher::run(counted(), x), &x)), &slopes, 1e-13);
    let (_, slope) = polygrad::jvp(|x| higher::run(counted(), x), &x, &(tensor(0.0), tensor(1.0)));
    close("forward", &[slope.item()], &slopes[1..], 1e-13);
    let staged = higher::stage(counted(), &x);
    let value = interpret(&staged, polygrad::tree::Tree::leaves(&x)).swap_remove(0);
    assert_eq!(value, higher::run::<_, _, Array>(counted(), &x).into_raw());
}

/// Calls a function until the result exceeds 40; each step makes the next function of the same code.
fn renewed<C: Language>() -> Expr<C, Two, Real> {
    fun2(|a, x| {
        let_(
            lam(|c: Var<_, Real>| lam(|z: Var<_, Real>| z.at() * c.at() + a.at())),
            |make: Var<_, Fun<Real, Fun<Real, Real>>>| {
                iterate(tup(make.at().app(x.at()), x.at()), |s: Var<_, Prod<Fun<Real, Real>, Real>>| {
                    let_(s.at().fst().app(s.at().snd()), |y| {
                        if_(
                            y.at().less(num(40.0)),
                            || inl(tup(make.at().app(y.at()), y.at())),
                            || inr(y.at() * s.at().fst().app(a.at())),
                        )
                    })
                })
            },
        )
    })
}

#[test]
fn iterations_with_a_function_in_the_state_are_recorded() {
    let staged = higher::stage(renewed(), &(tensor(1.7), tensor(0.9)));
    for (a, x) in [(1.7, 0.9), (2.5, 3.0), (1.3, 50.0), (0.4, 1.0)] {
        let found = interpret(&staged, vec![Array::scalar(a), Array::scalar(x)])[0].item().expect("a number");
        let expected = higher::run::<_, _, Array>(renewed(), &(tensor(a), tensor(x))).item();
        close("value", &[found], &[expected], 1e-13);
    }
}

/// An iteration whose number of steps depends on inputs is recorded as a loop that ends by itself, with derivatives forwards;
/// `iterate_within` has a bound, and both.
#[test]
fn iterations_are_recorded() {
    let like = (tensor(1.7), tensor(0.9));
    let staged = higher::stage(gallery::repeated(), &like);
    let within = higher::stage_grad(gallery::bounded(), &like);
    for (a, x) in [(1.7, 0.9), (2.5, 3.0), (1.3, 50.0), (1.1, 1.0)] {
        let at = (tensor(a), tensor(x));
        let inputs = vec![Array::scalar(a), Array::scalar(x)];
        let expected: Tensor<Array, 0> = higher::run(gallery::repeated(), &at);
        assert_eq!(interpret(&staged, inputs.clone()), [expected.clone().into_raw()]);
        assert_eq!(compile(&staged).run(&inputs), [expected.into_raw()]);
        let direction = (tensor(1.0), tensor(-0.5));
        let (_, slope) = polygrad::jvp(|x| higher::run(gallery::repeated(), x), &at, &direction);
        close(
            "forward",
            &[slope.item()],
            &[higher::jvp(Erased::typed(gallery::repeated()), &at, &direction).1.item()],
            1e-12,
        );
        let results = interpret(&within, inputs);
        let found: Vec<f64> = results[1..].iter().map(|t| t.item().expect("a number")).collect();
        close("bounded", &found, &numbers(&higher::grad(gallery::bounded(), &at)), 1e-12);
    }
}
