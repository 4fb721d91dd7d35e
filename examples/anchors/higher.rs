//! Derivatives of higher order, and Jacobians.

use polygrad::{BaseTensor, Function, Tensor, nth_derivative, tensor};

use super::inputs::Inputs;
use super::measure::{Case, Workload, recipe};

/// A function of one number, to be differentiated often.
fn wave<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    (x.exp() * x).sin()
}

/// The derivatives of order 1 to 8, each a program of its own.
fn derivatives() -> Vec<Case> {
    let case = |n: usize| {
        let primal = recipe(tensor(0.7), (), |x, _| Function::stage(wave, x));
        let both = recipe(tensor(0.7), (), move |x, _| Function::stage(|x| nth_derivative(wave, n, x), x));
        Case { part: format!(".n{n}"), primal, both, values: 0 }
    };
    (1..=8).map(case).collect()
}

/// Rosenbrock's function.
fn valley<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    let (a, b) = (x.slice(0, ..x.len() - 1), x.slice(0, 1..));
    (100.0 * (b - a.square()).square() + (1.0 - a).square()).sum()
}

fn valley_hessian(inputs: &Inputs, n: usize) -> Vec<Case> {
    let x = inputs.uniform(7001, [n], -2.0, 2.0);
    let primal = recipe(x.clone(), (), |x, _| Function::stage(valley, x));
    let both = recipe(x, (), |x, _| Function::hessian(valley, x));
    vec![Case::new(primal, both, 0)]
}

fn valley_hvp(inputs: &Inputs) -> Vec<Case> {
    let n = 100_000;
    let (x, v) = (inputs.uniform(7001, [n], -2.0, 2.0), inputs.uniform(7002, [n], -1.0, 1.0));
    let primal = recipe(x.clone(), (), |x, _| Function::stage(valley, x));
    let both = recipe(x, v, |x, _| Function::hvp(valley, x));
    vec![Case::new(primal, both, 0)]
}

/// Three layers, each a matrix and a bias.
type Layers<T> = [(Tensor<T, 2>, Tensor<T, 1>); 3];

fn network<T: BaseTensor>(x: &Tensor<T, 1>, [first, second, third]: &Layers<T>) -> Tensor<T, 1> {
    let h = (first.0.matvec(x) + &first.1).tanh();
    let h = (second.0.matvec(&h) + &second.1).tanh();
    third.0.matvec(&h) + &third.1
}

fn network_jacobian(inputs: &Inputs) -> Vec<Case> {
    let layer = |k: u64| (inputs.weights(7101 + k, [100, 100], 100), inputs.uniform(7111 + k, [100], -0.1, 0.1));
    let (x, layers) = (inputs.uniform(7121, [100], -1.0, 1.0), [layer(0), layer(1), layer(2)]);
    let primal = recipe(x.clone(), layers.clone(), |x, layers| Function::stage_with(network, x, layers));
    let both = recipe(x, layers, |x, layers| Function::jacobian_with(network, x, layers));
    vec![Case::new(primal, both, 0)]
}

/// The workloads of this family.
pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload { name: "D1.nthderiv", cases: |_| derivatives() },
        Workload { name: "D2.rosen_hessian.n100", cases: |inputs| valley_hessian(inputs, 100) },
        Workload { name: "D2.rosen_hessian.n500", cases: |inputs| valley_hessian(inputs, 500) },
        Workload { name: "D2.rosen_hvp.n1e5", cases: valley_hvp },
        Workload { name: "D4.jac_mlp100", cases: network_jacobian },
    ]
}
