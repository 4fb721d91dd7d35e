//! Conversions to the sparse matrices of `faer`.
//!
//! ```
//! use faer::sparse::{SparseColMat, SymbolicSparseColMat};
//! use polygrad::{Tensor, sparse_jacobian, tensor};
//! let x = tensor([1.0, 2.0, 4.0]);
//! let j = sparse_jacobian(|x: &Tensor<_, 1>| (x.slice(0, 1..) - x.slice(0, ..2)).square(), &x);
//! // Once:
//! let columns = j.pattern().by_columns();
//! let symbolic = SymbolicSparseColMat::from(&columns);
//! // For each run:
//! let matrix = SparseColMat::new(symbolic.clone(), columns.values(&j.values(&x)?));
//! assert_eq!(matrix.get(1, 2), Some(&4.0));
//! // Or at once, for one run.
//! assert_eq!(SparseColMat::from(&j.run(&x)?).val(), matrix.val());
//! # Ok::<(), polygrad::RunError>(())
//! ```

use ::faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseColMat, SymbolicSparseRowMat, Triplet};

use super::super::{ColumnPattern, SparsityPattern, Triplets};

impl Triplets {
    fn for_faer(&self) -> Vec<Triplet<usize, usize, f64>> {
        self.elements.iter().map(|(i, j, x)| Triplet::new(*i, *j, *x)).collect()
    }
}

impl From<&Triplets> for SparseColMat<usize, f64> {
    fn from(t: &Triplets) -> Self {
        let made = SparseColMat::try_new_from_triplets(t.shape.0, t.shape.1, &t.for_faer());
        made.expect("the elements lie in the matrix")
    }
}

impl From<&Triplets> for SparseRowMat<usize, f64> {
    fn from(t: &Triplets) -> Self {
        let made = SparseRowMat::try_new_from_triplets(t.shape.0, t.shape.1, &t.for_faer());
        made.expect("the elements lie in the matrix")
    }
}

/// The pattern of a [`SparseRowMat`] of the [`values`](super::super::SparseFunction::values) of a run.
impl From<&SparsityPattern> for SymbolicSparseRowMat<usize> {
    fn from(rows: &SparsityPattern) -> Self {
        let (height, width) = rows.shape();
        SymbolicSparseRowMat::new_checked(height, width, rows.row_pointers().to_vec(), None, rows.columns().to_vec())
    }
}

/// The pattern of a [`SparseColMat`] of the [`values`](ColumnPattern::values) by columns.
impl From<&ColumnPattern> for SymbolicSparseColMat<usize> {
    fn from(columns: &ColumnPattern) -> Self {
        let ((height, width), starts) = (columns.shape(), columns.column_pointers().to_vec());
        SymbolicSparseColMat::new_checked(height, width, starts, None, columns.rows().to_vec())
    }
}
