//! Sparse matrices of other crates.
//!
//! Law: the same elements at the same indices. [`Triplets`](super::Triplets) become a matrix at once. For many runs of one
//! [`SparseFunction`](super::SparseFunction) the pattern, by rows or by columns, becomes the other crate's symbolic matrix
//! once, and the values of each run are written to a matrix that has it.
//!
//! | from | to `nalgebra_sparse` | to `faer::sparse` |
//! |---|---|---|
//! | `&Triplets` | `CooMatrix`, `CsrMatrix`, `CscMatrix` | `SparseRowMat`, `SparseColMat` |
//! | `&SparsityPattern`, whose order is that of `values` | `SparsityPattern` of a `CsrMatrix` | `SymbolicSparseRowMat` |
//! | `&ColumnPattern`, whose order is that of `ColumnPattern::values` | `SparsityPattern` of a `CscMatrix` | `SymbolicSparseColMat` |

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra;
