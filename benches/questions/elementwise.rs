//! What does an elementwise expression cost, next to a loop over slices in Rust?

use polygrad::{Array, BaseTensor, Concrete, Function, Tensor};

use crate::harness::{case, compare};

/// A sum of Gaussian wave packets.
fn packets<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
    ((x * 3.0).sin() * (-(x * x)).exp() + x.tanh()).sum()
}

fn in_rust(x: &[f64]) -> f64 {
    x.iter().map(|x| (x * 3.0).sin() * (-(x * x)).exp() + x.tanh()).sum()
}

fn gradient_in_rust(x: &[f64], out: &mut [f64]) -> f64 {
    let mut sum = 0.0;
    for (x, out) in x.iter().zip(out) {
        let ((sine, cosine), bell, tanh) = ((x * 3.0).sin_cos(), (-(x * x)).exp(), x.tanh());
        sum += sine * bell + tanh;
        *out = (3.0 * cosine - 2.0 * x * sine) * bell + 1.0 - tanh * tanh;
    }
    sum
}

pub(crate) fn run() {
    for n in [1000, 1_000_000] {
        let x: Tensor<Concrete, 1> = Tensor::constant(Array::uniform(&[n], -2.0, 2.0, 1));
        let plain = x.raw().to_vec::<f64>().expect("floats");
        let mut out = vec![0.0; n];
        let (value, both) = (Function::stage(packets, &x), Function::value_and_grad(packets, &x));
        compare(
            &format!("elementwise: {n} wave packets"),
            "element",
            vec![
                case("value in Rust", n, || in_rust(&plain)),
                case("value", n, || value.run(&x)),
                case("value and gradient by hand in Rust", n, || gradient_in_rust(&plain, &mut out)),
                case("value and gradient", n, || both.run(&x)),
            ],
        );
    }
}
