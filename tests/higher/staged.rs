//! Conditions that are not known while a program is traced.

use polygrad::higher::{
    self, Arrays, Expr, Language, Prod, Real, Sum, Vector, case, fun2, if_, inl, inr, lam, let_, map, num, tup,
};
use polygrad::interpreters::higher::{CurryClosures, CurryLists, Reverse, Run};
use polygrad::program::{Term, interpret};
use polygrad::tensor;

use super::agree::{close, numbers};
use super::gallery::{self, Two};

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

/// A function that is chosen by a condition and mapped.
fn chosen_and_mapped<C: Arrays>() -> Expr<C, Prod<Vector, Real>, Real> {
    fun2(|v, x| {
        let_(if_(x.at().less(num(1.0)), || lam(|a| a.at() * x.at()), || lam(|a| a.at().sin() + v.at().sum())), |f| {
            map(f.at(), v.at()).sum()
        })
    })
}

/// Staged once, and run at inputs on both sides of every condition.
macro_rules! staged_agree {
    ($program:path as $closures:expr, $lists:expr, $chad:expr; $($x:expr),*) => {{
        let inputs = [$($x),*];
        let programs = [
            higher::stage_gradient($closures, &inputs[0]),
            higher::stage_gradient_by($lists, &inputs[0]),
            higher::stage_gradient_by($chad, &inputs[0]),
        ];
        for x in inputs {
            let (value, gradient) = higher::value_and_grad($program(), &x);
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

macro_rules! check {
    ($program:ident: $($x:expr),*) => {
        staged_agree!($program as $program::<CurryClosures<Term>>(), $program::<CurryLists<Term>>(),
            $program::<Reverse<Run<Term>>>(); $($x),*)
    };
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
    check!(chosen_and_mapped: (tensor([0.3, -0.2]), tensor(0.5)), (tensor([0.3, -0.2]), tensor(1.5)));
}
