//! Checked variants of the methods of linear algebra: an error instead of NaN, for tensors of known values.

use super::call;
use crate::array::Array;
use crate::dtype::Float;
use crate::errors::debug_by_display;
use crate::ops::Matrix;
use crate::shape::Show;
use crate::tensor::{Plus, Rank, SideOf, Tensor};

/// Why a matrix has no result.
///
/// Example: [`Tensor::try_cholesky`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {requirement}, but {fact}; {way_out}")]
pub struct MatrixError {
    operation: &'static str,
    requirement: &'static str,
    fact: String,
    way_out: &'static str,
    rank: Option<usize>,
}

impl MatrixError {
    /// The rank of the first matrix whose columns are linearly dependent, from [`try_lstsq`](Tensor::try_lstsq).
    ///
    /// Example: [`Tensor::try_lstsq`].
    pub fn rank(&self) -> Option<usize> {
        self.rank
    }
}

debug_by_display!(MatrixError);

/// The result, or an error if it or an operand has an element that is not finite.
fn checked<R>(
    result: R,
    [operation, requirement, way_out]: [&'static str; 3],
    operands: &[&Array],
    of: impl Fn(&R) -> &Array,
) -> Result<R, MatrixError> {
    let is_finite = |a: &Array| a.cast::<f64>().to_vec::<f64>().is_ok_and(|v| v.iter().all(|x| x.is_finite()));
    let error = |fact: String| Err(MatrixError { operation, requirement, fact, way_out, rank: None });
    if !operands.iter().all(|a| is_finite(a)) {
        return error(format!("it has elements that are not finite, with shape {}", Show(operands[0].shape())));
    }
    if !is_finite(of(&result)) {
        return error(format!("a matrix is not, with shape {}", Show(operands[0].shape())));
    }
    Ok(result)
}

impl<const D: usize, E: Float> Tensor<Array, D, E> {
    /// [`cholesky`](Tensor::cholesky), or an error.
    ///
    /// # Errors
    /// When a matrix is not positive definite, or has elements that are not finite.
    ///
    /// ```
    /// use polygrad::linalg::MatrixError;
    /// use polygrad::tensor;
    /// let error: MatrixError = tensor([[1.0, 2.0], [2.0, 1.0]]).try_cholesky().unwrap_err();
    /// assert!(error.to_string().starts_with("cholesky: each matrix must be positive definite"));
    /// let singular = tensor([[1.0, 2.0], [2.0, 4.0]]);
    /// assert!(singular.try_inverse().is_err() && singular.try_solve(&tensor([1.0, 0.0])).is_err());
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn try_cholesky<const M: usize>(&self) -> Result<Self, MatrixError>
    where
        Rank<D>: Plus<2, M>,
    {
        let words =
            ["cholesky", "each matrix must be positive definite", "add a small multiple of the identity, or use eigh"];
        checked(self.cholesky(), words, &[self.raw()], |l| l.raw())
    }

    /// [`solve`](Tensor::solve), or an error.
    ///
    /// # Errors
    /// When a matrix is singular, or there are elements that are not finite.
    ///
    /// Example: [`Tensor::try_cholesky`].
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn try_solve<const B: usize>(&self, b: &Tensor<Array, B, E>) -> Result<Tensor<Array, B, E>, MatrixError>
    where
        Rank<B>: SideOf<D>,
    {
        let words = ["solve", "each matrix must be regular", "use lstsq, or remove equations that depend on others"];
        checked(self.solve(b), words, &[self.raw(), b.raw()], |x| x.raw())
    }

    /// [`inverse`](Tensor::inverse), or an error.
    ///
    /// # Errors
    /// When a matrix is singular, or has elements that are not finite.
    ///
    /// Example: [`Tensor::try_cholesky`].
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn try_inverse<const M: usize>(&self) -> Result<Self, MatrixError>
    where
        Rank<D>: Plus<2, M>,
    {
        let words = ["inverse", "each matrix must be regular", "use lstsq for a solution"];
        checked(self.inverse(), words, &[self.raw()], |x| x.raw())
    }

    /// [`lstsq`](Tensor::lstsq), or an error, which says the rank, if the solution is not the only one.
    ///
    /// # Errors
    /// When the columns of a matrix are linearly dependent, as they always are if there are more columns than rows, or
    /// there are elements that are not finite.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let error = tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).try_lstsq(&tensor([1.0, 1.0, 1.0])).unwrap_err();
    /// let words = "lstsq: the columns of each matrix must be linearly independent, but a matrix of shape [3, 2] has rank";
    /// assert!(error.to_string().starts_with(words) && error.rank() == Some(1));
    /// ```
    ///
    /// # Panics
    /// When the right-hand side has another number of rows.
    #[track_caller]
    pub fn try_lstsq<const B: usize>(&self, b: &Tensor<Array, B, E>) -> Result<Tensor<Array, B, E>, MatrixError>
    where
        Rank<B>: SideOf<D>,
    {
        let words = [
            "lstsq",
            "the columns of each matrix must be linearly independent",
            "leave out columns, add a penalty, or take the solution of least norm of lstsq",
        ];
        let x = checked(self.lstsq(b), words, &[self.raw(), b.raw()], |x| x.raw())?;
        let shape = self.raw().shape();
        let (m, n) = (shape[D - 2], shape[D - 1]);
        let [.., ranks] = call::<_, 4>(Matrix::LstsqFactor, &[self.raw()]);
        let ranks = ranks.to_vec::<i64>().unwrap_or_default();
        match ranks.iter().find(|rank| **rank < n as i64) {
            None => Ok(x),
            Some(rank) => {
                let [operation, requirement, way_out] = words;
                let fact = format!("a matrix of shape [{m}, {n}] has rank {rank}");
                Err(MatrixError { operation, requirement, fact, way_out, rank: Some(*rank as usize) })
            }
        }
    }
}
