//! What does a run of a small program cost beyond its operations?

use std::hint::black_box;

use polygrad::{Array, BaseTensor, Function, Tensor, tensor};

use crate::harness::{case, compare};

/// Ten operations on a number.
fn ten<T: BaseTensor>(x: &Tensor<T, 0>) -> Tensor<T, 0> {
    let y = x * x + 1.0;
    let z = (&y * 0.5 - x) * &y;
    (&z + x) * (z * 0.25 + y)
}

fn ten_in_rust(x: f64) -> (f64, f64) {
    let y = x * x + 1.0;
    let z = (y * 0.5 - x) * y;
    let (a, b) = (z + x, z * 0.25 + y);
    let dz = b + 0.25 * a;
    let dy = a + dz * (0.5 * y + (y * 0.5 - x));
    (a * b, b - dz * y + 2.0 * x * dy)
}

/// The log density of a linear model with 8 weights, an intercept and a noise, for 8 observations.
fn log_density<T: BaseTensor>(
    (w, b, log_sigma): &(Tensor<T, 1>, Tensor<T, 0>, Tensor<T, 0>),
    (x, y): &(Tensor<T, 2>, Tensor<T, 1>),
) -> Tensor<T, 0> {
    let n = y.shape()[0] as f64;
    let residual = (y - (x.matvec(w) + b)) * (-log_sigma).exp();
    -0.5 * residual.square().sum() - n * log_sigma - 0.5 * w.square().sum() - 0.5 * b.square()
}

pub(crate) fn run() {
    let x = tensor(0.7);
    let both = Function::value_and_grad(ten, &x);
    let executable = both.executable();
    let (mut workspace, inputs) = (executable.workspace(), [x.raw().clone()]);
    let mut outputs = executable.run(&inputs);
    compare(
        "tiny programs: value and derivative of ten operations on a number",
        "run",
        vec![
            case("by hand in Rust", 1, || ten_in_rust(black_box(0.7))),
            case("Function::run", 1, || both.run(&x)),
            case("Executable::run_into", 1, || executable.run_into(&mut workspace, &inputs, &mut outputs)),
        ],
    );
    let parameters = (Tensor::constant(Array::uniform(&[8], -1.0, 1.0, 1)), tensor(0.1), tensor(-0.3));
    let data =
        (Tensor::constant(Array::uniform(&[8, 8], -1.0, 1.0, 2)), Tensor::constant(Array::uniform(&[8], -1.0, 1.0, 3)));
    let both = Function::value_and_grad_with(log_density, &parameters, &data);
    let executable = both.executable();
    let (w, b, sigma) = &parameters;
    let inputs = [w.raw(), b.raw(), sigma.raw(), data.0.raw(), data.1.raw()].map(Array::clone);
    let (mut workspace, mut outputs) = (executable.workspace(), executable.run(&inputs));
    compare(
        "tiny programs: a log density of ten parameters and its gradient",
        "run",
        vec![
            case("Function::run_with", 1, || both.run_with(&parameters, &data)),
            case("Executable::run_into", 1, || executable.run_into(&mut workspace, &inputs, &mut outputs)),
        ],
    );
}
