//! The sparse matrices of `nalgebra_sparse`: the same elements at the same indices.
//!
//! A binary of its own, compiled with the feature `nalgebra-sparse` alone (`make nalgebra-sparse`).

use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix};
use polygrad::program::Term;
use polygrad::{Tensor, Triplets, sparse_jacobian, tensor};

/// Rows without elements, columns without elements, and a row of several.
fn rows(x: &Tensor<Term, 1>) -> Tensor<Term, 1> {
    x.take(&Tensor::constant([3, 9, 1, 3])) * x.take(&Tensor::constant([0, 9, 1, 4]))
}

#[test]
fn triplets_and_patterns_become_the_same_matrices() {
    let x = tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let j = sparse_jacobian(rows, &x);
    let (found, values, columns) = (j.run(&x).expect("six"), j.values(&x).expect("six"), j.pattern().by_columns());
    let known = [(0, 0, 4.0), (0, 3, 1.0), (2, 1, 4.0), (3, 3, 5.0), (3, 4, 4.0)];
    assert_eq!((found.shape, &found.elements[..]), ((4, 6), &known[..]));
    let (coo, csr, csc) = (CooMatrix::from(&found), CsrMatrix::from(&found), CscMatrix::from(&found));
    assert_eq!((coo.nrows(), coo.ncols(), coo.nnz()), (4, 6, 5));
    let all: Vec<(usize, usize, f64)> = csr.triplet_iter().map(|(i, j, x)| (i, j, *x)).collect();
    assert_eq!(all, known);
    let made = CsrMatrix::try_from_pattern_and_values(j.pattern().into(), values.clone()).expect("as many values");
    assert_eq!(made, csr);
    let made =
        CscMatrix::try_from_pattern_and_values((&columns).into(), columns.values(&values)).expect("as many values");
    assert_eq!(made, csc);
    assert_eq!(CscMatrix::from(&csr), csc);
}

#[test]
fn a_matrix_without_elements_is_one() {
    let none = Triplets { shape: (2, 3), elements: Vec::new() };
    let matrix = CsrMatrix::from(&none);
    assert_eq!((matrix.nrows(), matrix.ncols(), matrix.nnz()), (2, 3, 0));
}
