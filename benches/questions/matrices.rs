//! Linear algebra: of many small matrices, over the sizes up to which a lane of a vector register is one matrix, and of
//! one matrix, over the sizes at which its factorisation is cut in blocks.

use polygrad::ops::{Binary, Call, Matrix};
use polygrad::{Array, BaseTensor};

use crate::harness::{case, compare};

pub(crate) fn run() {
    let mut cases = Vec::new();
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16] {
        // Diagonals outweigh their rows.
        let diagonal = |at: usize| if (at % (n * n)).is_multiple_of(n + 1) { n as f64 } else { 0.0 };
        let diagonals = Array::new(&[1000, n, n], (0..1000 * n * n).map(diagonal).collect());
        let a = Array::uniform(&[1000, n, n], -1.0, 1.0, 5).binary(Binary::Add, &diagonals);
        for op in [Matrix::Det, Matrix::Inverse, Matrix::Cholesky, Matrix::Minors { without: 1 }, Matrix::LuFactor] {
            let a = a.clone();
            let run = move || Array::call(&Call::Matrix(op), std::slice::from_ref(&a));
            cases.push(case(format!("{} of 1000 of {n} x {n}", op.name()), 1000 * n * n * n, run));
        }
    }
    compare("small matrices", "n cubed", cases);
    let mut cases = Vec::new();
    for n in [9, 16, 20, 32, 50, 64, 100, 128, 200, 300, 500] {
        let diagonal =
            Array::new(&[n, n], (0..n * n).map(|at| if at % (n + 1) == 0 { n as f64 } else { 0.0 }).collect());
        let a = Array::uniform(&[n, n], -1.0, 1.0, 5).binary(Binary::Add, &diagonal);
        let factors = [Matrix::LuFactor, Matrix::Inverse, Matrix::Cholesky, Matrix::Qr, Matrix::Minors { without: 1 }];
        let spectra = [Matrix::Eigh, Matrix::Svd];
        // Beyond, they take seconds.
        for op in factors.into_iter().chain(spectra.into_iter().filter(|_| n <= 200)) {
            let a = a.clone();
            let run = move || Array::call(&Call::Matrix(op), std::slice::from_ref(&a));
            cases.push(case(format!("{} of {n} x {n}", op.name()), n * n * n, run));
        }
    }
    compare("one matrix", "n cubed", cases);
}
