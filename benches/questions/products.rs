//! What do products cost, next to the matrix kernel itself?

use gemm_common::Parallelism;
use polygrad::ops::{Binary, Contract, Linear};
use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, einsum};

use crate::harness::{case, compare};

/// The GEMM crate itself, row-major: the floor for every product.
#[allow(unsafe_code)]
fn gemm_directly(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    assert!(a.len() == n * n && b.len() == n * n);
    let s = n as isize;
    // SAFETY: the three matrices have n * n elements and row-major strides, and `out` is written alone.
    unsafe {
        let (o, a, b) = (out.as_mut_ptr(), a.as_ptr(), b.as_ptr());
        // By columns, as the kernels of the crate prefer: the transposed product.
        let multiply = gemm_f64::gemm::f64::get_gemm_fn();
        multiply(n, n, n, o, s, 1, false, b, s, 1, a, s, 1, 0.0, 1.0, false, false, false, Parallelism::None);
    }
    out
}

pub(crate) fn run() {
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
    layers();
    small();
    vectors();
    outer_products();
}

/// Rows times a matrix and times a transposed one, over lengths of the sum that are powers of two or next to one.
fn layers() {
    let mut cases = Vec::new();
    for [rows, depth, columns] in [
        [8, 1024, 1024],
        [16, 1024, 1024],
        [32, 1024, 1024],
        [64, 1024, 1024],
        [128, 1024, 1024],
        [1024, 1024, 1024],
        [32, 64, 512],
        [32, 128, 512],
        [32, 255, 512],
        [32, 256, 512],
        [32, 511, 512],
        [32, 512, 512],
        [32, 1000, 512],
        [32, 1023, 512],
        [32, 1024, 512],
        [32, 2047, 512],
        [32, 2048, 512],
        [300, 200, 60],
    ] {
        let plain = Contract::axes(&[rows, columns, depth], &[0, 2], &[2, 1], &[0, 1]);
        let transposed = Contract::axes(&[rows, columns, depth], &[0, 2], &[1, 2], &[0, 1]);
        for single in [true, false] {
            let array = |shape: &[usize]| {
                let wide = Array::uniform(shape, -1.0, 1.0, 9);
                if single { wide.cast::<f32>() } else { wide }
            };
            let (x, w, t) = (array(&[rows, depth]), array(&[depth, columns]), array(&[columns, depth]));
            let (y, size, plain, transposed) = (x.clone(), rows * depth * columns, plain.clone(), transposed.clone());
            let name = format!("{rows} x {depth} by {columns}, {}", if single { "f32" } else { "f64" });
            cases.push(case(format!("{name}, x W"), size, move || Array::contract(&plain, &x, &w)));
            cases.push(case(format!("{name}, x W^T"), size, move || Array::contract(&transposed, &y, &t)));
        }
    }
    compare("layers", "multiplication and addition", cases);
}

/// Outer products, alone and followed by an elementwise operation, over the lengths of rows that decide between a kernel
/// and an elementwise pass.
fn outer_products() {
    type Pair = (Tensor<Concrete, 2>, Tensor<Concrete, 2>);
    let mut cases = Vec::new();
    for len in [2, 3, 5, 7, 8, 9, 12, 16, 24, 31, 32, 48, 64, 100, 173, 200] {
        for (batch, name) in [(1, "one"), (200_000 / (len * len), "batch of squares")] {
            let rows = 200_000 / (batch * len);
            let array = |shape: &[usize]| Tensor::from_raw(Array::uniform(shape, -1.0, 1.0, 9));
            let x: Pair = (array(&[batch, rows]), array(&[batch, len]));
            let alone = |(x, y): &(Tensor<_, 2>, Tensor<_, 2>)| -> Tensor<_, 3> { einsum("bi,bj->bij", [x, y]) };
            let squared = Function::stage(move |x: &(Tensor<_, 2>, Tensor<_, 2>)| alone(x).square(), &x);
            let alone = Function::stage(alone, &x);
            let (y, count) = (x.clone(), batch * rows * len);
            cases.push(case(format!("{name}, rows of {len}"), count, move || alone.run(&x)));
            cases.push(case(format!("{name}, rows of {len}, squared"), count, move || squared.run(&y)));
        }
    }
    compare("outer products", "element", cases);
}

/// Many small matrices, and products with a short axis, over the sizes that decide between kernels.
fn small() {
    let array = |shape: &[usize]| Array::uniform(shape, -1.0, 1.0, 9);
    let mut cases = Vec::new();
    for n in [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 17, 24, 32, 48, 64, 96] {
        let batch = if n < 20 { 2000 } else { 100 };
        let (a, b) = (array(&[batch, n, n]), array(&[batch, n, n]));
        for (name, right) in [("", [0, 3, 2]), (", transposed", [0, 2, 3])] {
            let product = Contract::axes(&[batch, n, n, n], &[0, 1, 3], &right, &[0, 1, 2]);
            let (a, b) = (a.clone(), b.clone());
            let run = move || Array::contract(&product, &a, &b);
            cases.push(case(format!("{batch} of {n} x {n}{name}"), batch * n * n * n, run));
        }
    }
    for k in [1, 2, 3, 4, 8, 16] {
        let (a, b) = (array(&[20000, k]), array(&[k, 10]));
        let product = Contract::axes(&[20000, 10, k], &[0, 2], &[2, 1], &[0, 1]);
        cases.push(case(format!("depth {k}"), 200_000 * k, move || Array::contract(&product, &a, &b)));
    }
    for n in [1, 2, 3, 4, 8, 16] {
        let (a, b) = (array(&[20000, 10]), array(&[10, n]));
        let product = Contract::axes(&[20000, n, 10], &[0, 2], &[2, 1], &[0, 1]);
        cases.push(case(format!("{n} columns"), 200_000 * n, move || Array::contract(&product, &a, &b)));
    }
    compare("small products", "multiplication and addition", cases);
}

/// Products of a matrix with a vector from either side, over the lengths of rows that decide how they are summed.
fn vectors() {
    let array = |shape: &[usize]| Array::uniform(shape, -1.0, 1.0, 9);
    let mut cases = Vec::new();
    for len in [2, 3, 5, 8, 9, 12, 15, 16, 20, 31, 32, 48, 64, 65, 100, 200] {
        for count in [4, 100_000 / len] {
            let (a, x, y) = (array(&[count, len]), array(&[len]), array(&[count]));
            let matvec = Contract::axes(&[count, len], &[0, 1], &[1], &[0]);
            let vecmat = Contract::axes(&[count, len], &[0], &[0, 1], &[1]);
            let b = a.clone();
            let name = format!("{count} rows of {len}");
            cases.push(case(format!("A x, {name}"), count * len, move || Array::contract(&matvec, &b, &x)));
            cases.push(case(format!("y A, {name}"), count * len, move || Array::contract(&vecmat, &y, &a)));
        }
    }
    compare("products with a vector", "multiplication and addition", cases);
}
