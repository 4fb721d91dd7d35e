//! Long programs: what it takes to record, differentiate and optimize an operation does not grow with the program.
//!
//! Law: a program that is twice as long allocates about twice as many bytes while it is prepared. A search that looks
//! at all operations before each operation would allocate four times as many.

use polygrad::{Array, Concrete, Function, Tensor, concat, tensor};

use crate::compiled::bytes_of;

/// The bytes that preparing a program of twice the length allocates, as a multiple of those for the length.
fn growth(length: usize, prepare: impl Fn(usize)) -> f64 {
    prepare(1);
    bytes_of(|| prepare(2 * length)) as f64 / bytes_of(|| prepare(length)) as f64
}

#[test]
fn preparing_a_program_is_linear_in_its_length() {
    let (x, v) = (tensor(0.7), Tensor::constant(Array::uniform(&[4], -1.0, 1.0, 1)));
    let m: Tensor<Concrete, 2> = Tensor::constant(Array::uniform(&[4, 4], -1.0, 1.0, 2));
    let chain = |n: usize| drop(Function::grad(|x: &Tensor<_, 0>| (0..n).fold(x.clone(), |y, _| (y * x).sin()), &x));
    let product = |n: usize| {
        let factor = |x: &Tensor<_, 0>, k: usize| (x * k as f64).sin();
        drop(Function::grad(|x| (1..n).fold(factor(x, 0), |y, k| y * factor(x, k)), &x));
    };
    let layers = |n: usize| {
        drop(Function::grad(|x: &Tensor<_, 2>| (0..n).fold(x.clone(), |y, _| y.matmul(x).tanh()).sum(), &m));
    };
    let pieces = |n: usize| {
        let turn = |y: Tensor<_, 1>| concat(0, (&(y.slice(0, 1..) * y.slice(0, ..3)).sin(), &y.slice(0, ..1)));
        drop(Function::grad(|x: &Tensor<_, 1>| (0..n).fold(x.clone(), |y, _| turn(y)).sum(), &v));
    };
    for (name, growth) in [
        ("a chain of numbers", growth(300, chain)),
        ("a product of numbers", growth(150, product)),
        ("layers of a network", growth(30, layers)),
        ("pieces and concatenations", growth(30, pieces)),
    ] {
        assert!(growth < 2.3, "{name}: twice the length allocates {growth:.2} times the bytes");
    }
}
