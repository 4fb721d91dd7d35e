//! What does a run of a small program cost beyond its operations?

use std::hint::black_box;

use polygrad::{Array, BaseTensor, Function, Tensor, concat, stack, tensor};

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

/// The orientation and the position of the end of an arm of 7 joints, as 12 numbers.
fn arm<T: BaseTensor>(q: &Tensor<T, 1>) -> Tensor<T, 1> {
    let q: [Tensor<T, 0>; 7] = q.unstack();
    let (zero, one) = (Tensor::<T, 0>::constant(0.0), Tensor::<T, 0>::constant(1.0));
    let (mut turn, mut end) = (Tensor::<T, 2>::eye(3), Tensor::<T, 1>::zeros([3]));
    for (k, q) in q.iter().enumerate() {
        let (s, c) = (q.sin(), q.cos());
        let rows = match k % 2 {
            0 => [c.clone(), -&s, zero.clone(), s, c, zero.clone(), zero.clone(), zero.clone(), one.clone()],
            _ => [c.clone(), zero.clone(), s.clone(), zero.clone(), one.clone(), zero.clone(), -&s, zero.clone(), c],
        };
        turn = turn.matmul(&stack::<_, 0, 1, _>(rows).reshape([3, 3]));
        end += turn.matvec(&Tensor::constant([0.1, 0.02 * k as f64, 0.3]));
    }
    concat(0, [turn.flatten(), end])
}

/// A network with one hidden layer of `n` numbers, for one observation.
fn network<T: BaseTensor>((a, b, x): &(Tensor<T, 2>, Tensor<T, 2>, Tensor<T, 1>)) -> Tensor<T, 0> {
    b.matvec(&a.matvec(x).tanh()).square().sum()
}

/// From which size on are arrays faster than scalars?
fn programs_of_small_arrays() {
    let angles = Tensor::constant(Array::uniform(&[7], -1.0, 1.0, 5));
    let reach = |q: &Tensor<_, 1>| (arm(q) - Tensor::full([12], 0.3)).square().sum();
    let both = Function::value_and_grad(reach, &angles);
    let executable = both.executable();
    let (mut workspace, inputs) = (executable.workspace(), [angles.raw().clone()]);
    let mut outputs = executable.run(&inputs);
    compare(
        "programs of small arrays: the reach of an arm of 7 joints and its gradient",
        "run",
        vec![case("Executable::run_into", 1, || executable.run_into(&mut workspace, &inputs, &mut outputs))],
    );
    for n in [2, 3, 4, 6, 8, 12, 16] {
        let matrix = |rows, columns, seed| Tensor::constant(Array::uniform(&[rows, columns], -1.0, 1.0, seed));
        let parameters = (matrix(n, n, 6), matrix(n, n, 7), Tensor::constant(Array::uniform(&[n], -1.0, 1.0, 8)));
        let both = Function::value_and_grad(network, &parameters);
        let executable = both.executable();
        let (a, b, x) = &parameters;
        let (mut workspace, inputs) = (executable.workspace(), [a.raw(), b.raw(), x.raw()].map(Array::clone));
        let mut outputs = executable.run(&inputs);
        compare(
            &format!("programs of small arrays: a network of {n} numbers and its gradient"),
            "run",
            vec![case("Executable::run_into", 1, || executable.run_into(&mut workspace, &inputs, &mut outputs))],
        );
    }
}

pub(crate) fn run() {
    programs_of_small_arrays();
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
