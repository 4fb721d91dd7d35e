//! Jacobians and Hessians of which most elements are zero: only the others are computed.

use polygrad::inspect::count;
use polygrad::interpreters::Ast;
use polygrad::ops::Binary;
use polygrad::passes::{Options, optimize_with};
use polygrad::program::{NodeId, Op, Program, interpret};
use polygrad::{Array, Concrete, Function, Tensor};

use crate::gallery::{self, Leaves, Objective, Recorded, Visitor};
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

#[derive(Default)]
struct Same;

impl Same {
    fn look(&mut self, case: &Recorded) {
        let (x, data) = (&case.x, &case.data);
        let hessian = Function::hessian_matrix_with(case.eval, x, data);
        let inputs = case.inputs();
        let plain = interpret(&optimize_with(hessian.program(), Options::default()), inputs.clone());
        assert_close(case.name, &interpret(hessian.optimized(), inputs)[0], &plain[0], 10.0 * case.tolerance);
    }
}

impl Visitor for Same {
    fn visit<O: Objective>(&mut self) {
        self.look(&Recorded::of::<O>());
    }
}

#[test]
fn hessians_of_the_gallery_with_and_without_pieces_agree() {
    gallery::each_apart::<Same>();
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
    // Of the size of the matrix there are four vectors written to their places, and the sums of these.
    let program = hessian.optimized();
    let large = |id: &NodeId| program.nodes()[*id as usize].shape.iter().product::<usize>() > 200;
    let (mut writes, mut sums) = (0, 0);
    for node in program.nodes().iter().filter(|node| node.shape.len() == 2) {
        let write = matches!(&node.op, Op::Linear(_, vector) if !large(vector));
        let sum = matches!(node.op, Op::Binary(Binary::Add, ..));
        assert!(write || sum, "{:?} is of the size of the matrix: {program}", node.op);
        writes += usize::from(write);
        sums += usize::from(sum);
    }
    assert_eq!((writes, sums), (4, 3), "{program}");
    // A NaN stays in its column and row.
    let bad = Tensor::<Concrete, 1>::from_raw(x).set([7], &Tensor::scalar(f64::NAN));
    let nan: Tensor<Concrete, 2> = hessian.run(&bad).expect("it fits");
    let nans = nan.raw().to_vec::<f64>().expect("floats").iter().filter(|x| x.is_nan()).count();
    assert_eq!(nans, 4, "{nan}");
}
