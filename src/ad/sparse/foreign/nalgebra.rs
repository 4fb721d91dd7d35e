//! Conversions to the sparse matrices of `nalgebra_sparse`.
//!
//! ```
//! use nalgebra_sparse::CscMatrix;
//! use nalgebra_sparse::factorization::CscCholesky;
//! use nalgebra_sparse::na::DVector;
//! use polygrad::{BaseTensor, Tensor, grad, sparse_hessian, tensor};
//! fn chain<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 0> {
//!     (x.slice(0, 1..) - x.slice(0, ..3)).square().sum() + (x * x * x * x).sum() - x.sum()
//! }
//! // Newton's method: the pattern is read once, the values are written to one matrix.
//! let mut x = tensor([0.5, 0.6, 0.7, 0.8]);
//! let h = sparse_hessian(chain, &x);
//! let columns = h.pattern().by_columns();
//! let mut matrix = CscMatrix::try_from_pattern_and_values((&columns).into(), vec![0.0; h.pattern().len()]).unwrap();
//! for _ in 0..8 {
//!     columns.fill(&h.values(&x)?, matrix.values_mut());
//!     let slope = DVector::from(grad(chain, &x));
//!     let step = CscCholesky::factor(&matrix).expect("the minimum is strict").solve(&slope);
//!     x = x - Tensor::from(step.column(0).clone_owned());
//! }
//! assert!(grad(chain, &x).norm().item() < 1e-12);
//! # Ok::<(), polygrad::RunError>(())
//! ```

use nalgebra_sparse::{CooMatrix, CscMatrix, CsrMatrix, pattern};

use super::super::{ColumnPattern, SparsityPattern, Triplets};

impl From<&Triplets> for CooMatrix<f64> {
    fn from(t: &Triplets) -> CooMatrix<f64> {
        let made = CooMatrix::try_from_triplets_iter(t.shape.0, t.shape.1, t.elements.iter().copied());
        made.expect("the elements lie in the matrix")
    }
}

impl From<&Triplets> for CsrMatrix<f64> {
    fn from(t: &Triplets) -> CsrMatrix<f64> {
        CsrMatrix::from(&CooMatrix::from(t))
    }
}

impl From<&Triplets> for CscMatrix<f64> {
    fn from(t: &Triplets) -> CscMatrix<f64> {
        CscMatrix::from(&CooMatrix::from(t))
    }
}

/// A pattern of `lines` rows or columns, from the starts of these and the indices in each.
fn made((lines, others): (usize, usize), starts: &[usize], items: &[usize]) -> pattern::SparsityPattern {
    let made = pattern::SparsityPattern::try_from_offsets_and_indices(lines, others, starts.to_vec(), items.to_vec());
    made.expect("the elements of a line come in order, each once")
}

/// The pattern of a [`CsrMatrix`] of the [`values`](super::super::SparseFunction::values) of a run.
impl From<&SparsityPattern> for pattern::SparsityPattern {
    fn from(rows: &SparsityPattern) -> pattern::SparsityPattern {
        made(rows.shape(), rows.row_pointers(), rows.columns())
    }
}

/// The pattern of a [`CscMatrix`] of the [`values`](ColumnPattern::values) by columns.
impl From<&ColumnPattern> for pattern::SparsityPattern {
    fn from(columns: &ColumnPattern) -> pattern::SparsityPattern {
        let (height, width) = columns.shape();
        made((width, height), columns.column_pointers(), columns.rows())
    }
}
