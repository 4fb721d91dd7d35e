//! What does a first call cost: recording, differentiating, optimizing, compiling?

use polygrad::backend::compile;
use polygrad::{Array, BaseTensor, Function, Tensor, tensor};

use crate::harness::{case, compare};

/// `n` operations on numbers.
fn chain<T: BaseTensor>(x: &Tensor<T, 0>, n: usize) -> Tensor<T, 0> {
    (0..n / 2).fold(x.clone(), |y, _| (y * x).sin())
}

/// `n` layers of a network.
fn layers<T: BaseTensor>(x: &Tensor<T, 2>, n: usize) -> Tensor<T, 0> {
    (0..n).fold(x.clone(), |y, _| y.matmul(x).tanh()).sum()
}

pub(crate) fn run() {
    let x = tensor(0.7);
    for n in [100, 1000, 10_000] {
        let staged = Function::grad(|x: &Tensor<_, 0>| chain(x, n), &x);
        compare(
            &format!("first calls: a chain of {n} operations on numbers"),
            "operation",
            vec![
                case("value: recorded and optimized", n, || Function::stage(|x: &Tensor<_, 0>| chain(x, n), &x)),
                case("gradient: recorded and optimized", n, || Function::grad(|x: &Tensor<_, 0>| chain(x, n), &x)),
                case("gradient: compiled", n, || compile(staged.optimized())),
            ],
        );
    }
    let n = 100;
    let x: Tensor<_, 2> = Tensor::constant(Array::uniform(&[4, 4], -1.0, 1.0, 1));
    let staged = Function::grad(|x: &Tensor<_, 2>| layers(x, n), &x);
    compare(
        "first calls: a network of 100 layers",
        "layer",
        vec![
            case("gradient: recorded and optimized", n, || Function::grad(|x: &Tensor<_, 2>| layers(x, n), &x)),
            case("gradient: compiled", n, || compile(staged.optimized())),
        ],
    );
}
