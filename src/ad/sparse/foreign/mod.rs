//! Conversions to the sparse matrices of other crates.
//!
//! Law: conversions keep the elements and their indices. [`Triplets`](super::Triplets) become a matrix directly. For
//! many runs of one [`SparseFunction`](super::SparseFunction), the pattern by rows or by columns is converted once to
//! the symbolic matrix of the other crate, and the values of each run are written to a matrix that has this pattern.
//!
//! | from | to `nalgebra_sparse` | to `faer::sparse` |
//! |---|---|---|
//! | `&Triplets` | `CooMatrix`, `CsrMatrix`, `CscMatrix` | `SparseRowMat`, `SparseColMat` |
//! | `&SparsityPattern` (order of `values`) | `SparsityPattern` of a `CsrMatrix` | `SymbolicSparseRowMat` |
//! | `&ColumnPattern` (order of its `values`) | `SparsityPattern` of a `CscMatrix` | `SymbolicSparseColMat` |

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra;
