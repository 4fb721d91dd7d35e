//! What does an operation cost in each interpreter, on numbers and on small arrays?

use polygrad::direct::{grad, value_and_grad};
use polygrad::{ADVal, Array, BaseTensor, Concrete, Dual, Tensor, tensor};

use crate::harness::{case, compare};

/// `n` dependent operations on scalars, half of them products.
fn chain<T: BaseTensor>(x: &Tensor<T, 0>, n: usize) -> Tensor<T, 0> {
    let mut y = x.clone();
    for k in 0..n {
        y = if k % 2 == 0 { y * 0.5 } else { &y + x };
    }
    y
}

pub(crate) fn scalars() {
    let n = 100_000;
    let x = tensor(1.5);
    compare(
        "scalar chain, forward and reverse",
        "operation",
        vec![
            case("f64 in Rust", n, || {
                let (x, mut y) = (std::hint::black_box(1.5), 1.5);
                for k in 0..n {
                    y = std::hint::black_box(if k % 2 == 0 { y * 0.5 } else { y + x });
                }
                y
            }),
            case("Concrete", n, || chain(&x, n)),
            case("Dual<Concrete>", n, || chain(&x.lift::<Dual<Concrete>, _>(), n)),
            case("gradient by ADVal<Concrete>", n, || grad(|x: &Tensor<_, 0>| chain(x, n), &x)),
            case("second derivative by ADVal<ADVal<Concrete>>", n, || {
                grad(|x: &Tensor<_, 0>| grad(|x: &Tensor<_, 0>| chain(x, n), x), &x)
            }),
        ],
    );
}

pub(crate) fn small_arrays() {
    for n in [1, 16, 256] {
        let (x, y) = (Array::uniform(&[n], 0.5, 1.5, 1), Array::uniform(&[n], 0.5, 1.5, 2));
        let (u, v) = (Tensor::<Concrete, 1>::constant(x.clone()), Tensor::<Concrete, 1>::constant(y.clone()));
        let (a, b) = (x.to_vec::<f64>().unwrap(), y.to_vec::<f64>().unwrap());
        compare(
            &format!("arrays of {n}"),
            "operation",
            vec![
                case("plain Rust: a fresh Vec of products", 1, || {
                    a.iter().zip(&b).map(|(x, y)| x * y).collect::<Vec<f64>>()
                }),
                case("Concrete product", 1, || &u * &v),
                case("gradient of sum(x * y * y), 4 operations", 4, || {
                    value_and_grad(|x: &Tensor<ADVal<Concrete>, 1>| (x * v.lift() * v.lift()).sum(), &u)
                }),
            ],
        );
    }
}
