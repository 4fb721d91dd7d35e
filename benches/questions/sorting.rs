//! What does sorting cost, and selection of a few ranks, next to the sort of the standard library?

use polygrad::{Array, Concrete, Function, Tensor};

use crate::harness::{case, compare};

pub(crate) fn run() {
    let n = 100_000;
    let x: Tensor<Concrete, 1> = Tensor::constant(Array::uniform(&[n], -1.0, 1.0, 3));
    let plain = x.to_vec();
    let sorted = Function::stage(|x| x.sort(0), &x);
    let largest = Function::stage(|x| x.top_k(0, 1).0, &x);
    let hundred = Function::stage(|x| x.top_k(0, 100).0, &x);
    let median = Function::stage(|x| x.median(), &x);
    let in_rust = || {
        let mut v = plain.clone();
        v.sort_unstable_by(f64::total_cmp);
        v
    };
    compare(
        "sorting and selection: 100000 numbers",
        "element",
        vec![
            case("in Rust, sorted", n, in_rust),
            case("sorted", n, || sorted.run(&x)),
            case("the largest", n, || largest.run(&x)),
            case("the 100 largest", n, || hundred.run(&x)),
            case("the median", n, || median.run(&x)),
        ],
    );
}
