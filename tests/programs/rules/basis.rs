//! Jacobians and Hessians of which most elements are zero: only the others are computed.

use polygrad::inspect::count;
use polygrad::interpreters::Ast;
use polygrad::passes::{Options, optimize_with};
use polygrad::program::{Program, interpret};
use polygrad::{Array, Concrete, Function, Tensor};

use super::contractions::prints;
use crate::gallery::{self, Leaves, Objective, Visitor};
use crate::support::assert_close;

type Vector = Tensor<Ast, 1>;

/// The work of a run.
fn work(program: &Program, x: &Array) -> u64 {
    let inputs = Leaves(vec![x.clone()]);
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &inputs).1.total().work
}

/// A function of a vector, with its name.
type Named = (&'static str, fn(&Vector) -> Tensor<Ast, 0>);

/// Functions whose Hessians have few diagonals, but for the last.
const FUNCTIONS: [Named; 6] = [
    ("rosenbrock", |x| {
        let n = x.len();
        let (a, b) = (x.slice(0, 0..n - 1), x.slice(0, 1..n));
        ((b - a.square()).square() * 100.0 + (1.0 - a).square()).sum()
    }),
    ("cubes", |x| (x.powi(3) * 2.0).sum()),
    ("singular", |x| (x.sqrt() * x.ln()).sum()),
    ("strided", |x| (x.exp() * x.reverse(0)).sum()),
    ("neighbours", |x| {
        let n = x.len();
        (x.slice(0, 0..n - 2).sin() * x.slice(0, 2..n)).sum() - x.slice(0, 1..n).tanh().sum()
    }),
    ("dense", |x| x.square().sum().exp() + (x * x.cumsum(0)).sum()),
];

#[test]
fn hessians_with_and_without_pieces_agree() {
    for n in [3, 16, 40] {
        let x = Array::uniform(&[n], 0.2, 0.9, 3);
        for (name, f) in FUNCTIONS {
            let hessian = Function::hessian(|x: &Vector| f(x), &Tensor::from_raw(x.clone()));
            let plain = optimize_with(hessian.program(), Options::default());
            let expected = interpret(&plain, vec![x.clone()]).remove(0);
            assert_close(name, &interpret(hessian.optimized(), vec![x.clone()])[0], &expected, 1e-12);
            let got: Tensor<Concrete, 2> = hessian.run(&Tensor::from_raw(x.clone())).expect("it fits");
            assert_close(name, got.raw(), &expected, 1e-12);
            assert!(work(hessian.optimized(), &x) <= work(&plain, &x), "{name} {n}: {}", hessian.optimized());
        }
    }
}

struct Same;

impl Visitor for Same {
    fn visit<O: Objective>(&mut self) {
        let (x, data) = (O::inputs(), O::data());
        let hessian = Function::hessian_matrix_with(|x: &Leaves<_>, data: &Leaves<_>| O::eval(x, data), &x, &data);
        let inputs = [x.0, data.0].concat();
        let plain = interpret(&optimize_with(hessian.program(), Options::default()), inputs.clone());
        assert_close(O::NAME, &interpret(hessian.optimized(), inputs)[0], &plain[0], 10.0 * O::TOLERANCE);
    }
}

#[test]
fn hessians_of_the_gallery_with_and_without_pieces_agree() {
    gallery::each(&mut Same);
}

#[test]
fn a_hessian_of_few_diagonals_computes_these_alone() {
    for (name, f) in &FUNCTIONS[..5] {
        for n in [50, 100] {
            let x = Array::uniform(&[n], 0.2, 0.9, 3);
            let hessian = Function::hessian(|x: &Vector| f(x), &Tensor::from_raw(x.clone()));
            // The zeros, and some vectors.
            let (most, got) = ((n * n + 60 * n) as u64, work(hessian.optimized(), &x));
            assert!(got < most, "{name}: {got} and not {most}\n{}", hessian.optimized());
        }
    }
}

#[test]
fn a_hessian_of_three_diagonals_is_written_piece_by_piece() {
    let x = Array::uniform(&[100], 0.2, 0.9, 3);
    let hessian = Function::hessian(|x: &Vector| FUNCTIONS[0].1(x), &Tensor::from_raw(x.clone()));
    prints(
        hessian.optimized(),
        &[
            "t0 = slice axis=0 0..99 x",
            "t1 = square t0",
            "t2 = -400.0 * t0",
            "t3 = 400.0 * (slice axis=0 1..100 x - t1 - 2.0 * t1)",
            "t4 = view [i<99] -> f64[99](200.0)[i] into [100, 100] at [i + 1, i + 1]",
            "t5 = t4 + (view [i<99] -> t2[i] into [100, 100] at [i + 1, i])",
            "t6 = t5 + (view [i<99] -> (2.0 - t3)[i] into [100, 100] at [i, i])",
            "return t6 + (view [i<99] -> t2[i] into [100, 100] at [i, i + 1])",
        ],
    );
    // A NaN stays in its column and row.
    let bad = Tensor::<Concrete, 1>::from_raw(x).set([7], &Tensor::scalar(f64::NAN));
    let nan: Tensor<Concrete, 2> = hessian.run(&bad).expect("it fits");
    let nans = nan.raw().to_vec::<f64>().expect("floats").iter().filter(|x| x.is_nan()).count();
    assert_eq!(nans, 4, "{nan}");
}
