//! What does a running sum cost along each axis, next to a chain of additions?

use polygrad::{Array, Concrete, Function, Tensor};

use crate::harness::{case, compare};

pub(crate) fn run() {
    let n = 16_384;
    let x: Tensor<Concrete, 1> = Tensor::constant(Array::uniform(&[n], -1.0, 1.0, 3));
    let plain = x.to_vec();
    let in_rust = || {
        let mut sum = 0.0;
        let next = |x: &f64| {
            sum += x;
            sum
        };
        plain.iter().map(next).collect::<Vec<f64>>()
    };
    let mut cases = vec![case("in Rust", n, in_rust)];
    for (name, rows, columns, axis) in [
        ("a line", 1, n, 1),
        ("lines of 32", n / 32, 32, 1),
        ("rows of 2", n / 2, 2, 0),
        ("rows of 128", n / 128, 128, 0),
    ] {
        let x: Tensor<Concrete, 2> = x.reshape([rows, columns]);
        let sums = Function::stage(move |x| x.cumsum(axis), &x);
        cases.push(case(name, n, move || sums.run(&x)));
    }
    compare("running sums: 16384 numbers", "element", cases);
}
