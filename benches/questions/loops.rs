//! What does a trip of a loop of numbers cost, next to the loop in Rust?

use std::hint::black_box;

use polygrad::direct::grad;
use polygrad::{BaseTensor, Concrete, Function, Tensor, build1, cond, fold, iterate, tensor};

use crate::harness::{case, compare};

const TRIPS: usize = 1000;

/// The logistic map.
fn map<T: BaseTensor>(r: &Tensor<T, 0>) -> Tensor<T, 0> {
    iterate(TRIPS, Tensor::scalar(0.5), |_, x: Tensor<T, 0>| r * &x * (1.0 - x))
}

/// The map, and its derivative by hand, in reverse.
fn by_hand(r: f64, states: &mut Vec<f64>) -> f64 {
    states.clear();
    let mut x = 0.5;
    for _ in 0..TRIPS {
        states.push(x);
        x = r * x * (1.0 - x);
    }
    let (mut dx, mut dr) = (1.0, 0.0);
    for x in states.iter().rev() {
        dr += dx * x * (1.0 - x);
        dx *= r * (1.0 - 2.0 * x);
    }
    dr
}

pub(crate) fn compiled() {
    let r = tensor(3.7);
    let (value, gradient) = (Function::stage(map, &r), Function::grad(map, &r));
    let mut states = Vec::new();
    let rust = || (0..TRIPS).fold(0.5, |x, _| black_box(3.7) * x * (1.0 - x));
    compare(
        "loops of numbers: the logistic map",
        "trip",
        vec![case("value in Rust", TRIPS, rust), case("value", TRIPS, || value.run(&r))],
    );
    compare(
        "loops of numbers: the derivative of the logistic map",
        "trip",
        vec![
            case("by hand in Rust", TRIPS, move || by_hand(black_box(3.7), &mut states)),
            case("gradient", TRIPS, || gradient.run(&r)),
        ],
    );
}

pub(crate) fn direct() {
    let n = 10_000;
    let x: Tensor<Concrete, 1> = Tensor::linspace(0.0, 1.0, n);
    compare(
        "gradients of loops over n elements",
        "trip",
        vec![
            case("host loop over x.at([i])", n, || {
                grad(
                    |x: &Tensor<_, 1>| {
                        let mut sum = Tensor::scalar(0.0);
                        for i in 0..n {
                            sum += x.at([i]).square();
                        }
                        sum
                    },
                    &x,
                )
            }),
            case("build1 of x.at([i])", n, || {
                grad(|x: &Tensor<_, 1>| build1(n, |i| x.at([i]).square()).sum_outer(), &x)
            }),
            case("fold over x", n, || {
                grad(
                    |x: &Tensor<_, 1>| {
                        fold(Tensor::scalar(0.0), x, |sum: Tensor<_, 0>, x: &Tensor<_, 0>| sum + x.square())
                    },
                    &x,
                )
            }),
            case("bulk operation", n, || grad(|x: &Tensor<_, 1>| x.square().sum(), &x)),
        ],
    );
}

/// Short branches and trips, taken and not taken, beside both sides and a selection.
pub(crate) fn conditionals() {
    const N: usize = 256;
    let x = Tensor::<Concrete, 1>::linspace(-1.0, 1.0, N);
    for steps in [4, 16, 64] {
        let side = move |x: &Tensor<_, 1>| (0..steps).fold(x.clone(), |y: Tensor<_, 1>, _| (y.sin() * x).exp()).sum();
        let chosen = move |x: &Tensor<_, 1>, c: &Tensor<_, 0>| cond(c.gt(0.0), side(x), x.sum());
        let always = Function::stage(side, &x);
        let either = Function::stage_with(chosen, &x, &tensor(1.0));
        let is_branch = either.optimized().to_string().contains("= if ");
        let form = if is_branch { "a branch" } else { "a selection" };
        compare(
            &format!("conditionals: {steps} steps of {N} elements, as {form}"),
            "call",
            vec![
                case("the side alone", 1, || always.run(&x)),
                case("chosen", 1, || either.run_with(&x, &tensor(1.0))),
                case("not chosen", 1, || either.run_with(&x, &tensor(-1.0))),
            ],
        );
    }
}
