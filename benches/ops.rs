//! The cost of single operations: scalars in each interpreter, small arrays, views, products.
//!
//! `cargo bench --bench ops [part of a title]`

mod harness;

use harness::{Case, case, compare};
use polygrad::direct::{grad, value_and_grad};
use polygrad::ops::{Binary, Contract, Linear};
use polygrad::{ADVal, Array, BaseTensor, Concrete, Dual, Tensor, build1, fold, tensor};

/// `n` dependent operations on scalars, half of them products.
fn chain<T: BaseTensor>(x: &Tensor<T, 0>, n: usize) -> Tensor<T, 0> {
    let mut y = x.clone();
    for k in 0..n {
        y = if k % 2 == 0 { y * 0.5 } else { &y + x };
    }
    y
}

fn scalars() {
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

fn loops() {
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

fn small_arrays() {
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

fn views() {
    let n = 1000;
    let x = Array::uniform(&[n, n], -1.0, 1.0, 3);
    let plain = x.to_vec::<f64>().unwrap();
    let shape = [n, n];
    let apply = |name: &str, op: Linear| {
        let x = x.clone();
        case(name.to_owned(), n * n, move || x.linear(&op))
    };
    let cases: Vec<Case<'_>> = vec![
        case("plain copy", n * n, || plain.clone()),
        apply("slice along the outer axis", Linear::slice(&shape, 0, 1, n - 1, 1)),
        apply("slice along the inner axis", Linear::slice(&shape, 1, 1, n - 1, 1)),
        apply("pad", Linear::pad(&shape, &[1, 1], &[1, 1])),
        apply("reverse", Linear::reverse(&shape, 1)),
        apply("every other element", Linear::slice(&shape, 1, 0, n / 2, 2)),
        case("plain transpose, blocked", n * n, || {
            let mut out = vec![0.0; n * n];
            for i in (0..n).step_by(8) {
                for j in (0..n).step_by(8) {
                    for a in i..i + 8 {
                        for b in j..j + 8 {
                            out[b * n + a] = plain[a * n + b];
                        }
                    }
                }
            }
            out
        }),
        apply("permute", Linear::permute(&shape, &[1, 0])),
        case("plain sum, one accumulator", n * n, || plain.iter().sum::<f64>()),
        apply("sum of all", Linear::sum(&shape, &[0, 1])),
        apply("sum over the inner axis", Linear::sum(&shape, &[1])),
        apply("sum over the outer axis", Linear::sum(&shape, &[0])),
    ];
    compare("views of a million f64", "element", cases);
}

/// The GEMM crate itself, row-major: the floor for every product.
#[allow(unsafe_code)]
fn gemm_directly(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    assert!(a.len() == n * n && b.len() == n * n);
    let s = n as isize;
    // SAFETY: the three matrices have n * n elements and row-major strides, and `out` is written alone.
    unsafe {
        let (o, a, b) = (out.as_mut_ptr(), a.as_ptr(), b.as_ptr());
        gemm::gemm(n, n, n, o, 1, s, false, a, 1, s, b, 1, s, 0.0, 1.0, false, false, false, gemm::Parallelism::None);
    }
    out
}

fn products() {
    for n in [8, 64, 256, 512] {
        let (a, b) = (Array::uniform(&[n, n], -1.0, 1.0, 4), Array::uniform(&[n, n], -1.0, 1.0, 5));
        let (u, v) = (a.to_vec::<f64>().unwrap(), b.to_vec::<f64>().unwrap());
        let matmul = Contract::axes(&[n, n, n], &[0, 2], &[2, 1], &[0, 1]);
        let transposed = Contract::axes(&[n, n, n], &[2, 0], &[1, 2], &[0, 1]);
        compare(
            &format!("matrix products of {n} x {n}"),
            "multiplication and addition",
            vec![
                case("gemm crate directly", n * n * n, || gemm_directly(n, &u, &v)),
                case("contract, A B", n * n * n, || Array::contract(&matmul, &a, &b)),
                case("contract, A^T B^T", n * n * n, || Array::contract(&transposed, &a, &b)),
            ],
        );
    }
    let (m, k) = (256, 64);
    let (a, x) = (Array::uniform(&[m, k], -1.0, 1.0, 6), Array::uniform(&[k], -1.0, 1.0, 7));
    let y = Array::uniform(&[m], -1.0, 1.0, 8);
    let matvec = Contract::axes(&[m, k], &[0, 1], &[1], &[0]);
    let vecmat = Contract::axes(&[m, k], &[0], &[0, 1], &[1]);
    let outer = Contract::axes(&[m, k], &[0], &[1], &[0, 1]);
    let dot = Contract::axes(&[m * k], &[0], &[0], &[]);
    let flat = a.linear(&Linear::reshape(&[m, k], &[m * k]));
    compare(
        "products with a matrix of 256 x 64",
        "multiplication and addition",
        vec![
            case("dot of as many", m * k, || Array::contract(&dot, &flat, &flat)),
            case("A x", m * k, || Array::contract(&matvec, &a, &x)),
            case("y A", m * k, || Array::contract(&vecmat, &y, &a)),
            case("y outer x", m * k, || Array::contract(&outer, &y, &x)),
            case("elementwise product of as many", m * k, || a.binary(Binary::Mul, &a)),
        ],
    );
}

fn main() {
    scalars();
    loops();
    small_arrays();
    views();
    products();
}
