//! Checked variants of the methods of linear algebra: an error instead of NaN, for tensors of known values.

use crate::array::Array;
use crate::dtype::Float;
use crate::errors::debug_by_display;
use crate::shape::Show;
use crate::tensor::{Plus, Rank, SideOf, Tensor};

/// Why a matrix has no result.
///
/// ```
/// use polygrad::linalg::MatrixError;
/// use polygrad::tensor;
/// let error: MatrixError = tensor([[1.0, 2.0], [2.0, 4.0]]).try_inverse().unwrap_err();
/// assert!(error.to_string().starts_with("inverse: each matrix must be regular, but a matrix is not"));
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {requirement}, but {fact}; {way_out}")]
pub struct MatrixError {
    operation: &'static str,
    requirement: &'static str,
    fact: String,
    way_out: &'static str,
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
    let error = |fact: String| Err(MatrixError { operation, requirement, fact, way_out });
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
    /// use polygrad::tensor;
    /// let error = tensor([[1.0, 2.0], [2.0, 1.0]]).try_cholesky().unwrap_err();
    /// assert!(error.to_string().starts_with("cholesky: each matrix must be positive definite"));
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
    /// ```
    /// use polygrad::tensor;
    /// assert!(tensor([[1.0, 2.0], [2.0, 4.0]]).try_solve(&tensor([1.0, 0.0])).is_err());
    /// ```
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
    /// ```
    /// use polygrad::tensor;
    /// assert!(tensor([[1.0, 2.0], [2.0, 4.0]]).try_inverse().is_err());
    /// ```
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

    /// [`lstsq`](Tensor::lstsq), or an error.
    ///
    /// # Errors
    /// When the columns of a matrix are linearly dependent, or there are elements that are not finite.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert!(tensor([[0.0], [0.0]]).try_lstsq(&tensor([1.0, 1.0])).is_err());
    /// ```
    ///
    /// # Panics
    /// When the matrix has fewer rows than columns, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn try_lstsq<const B: usize>(&self, b: &Tensor<Array, B, E>) -> Result<Tensor<Array, B, E>, MatrixError>
    where
        Rank<B>: SideOf<D>,
    {
        let words =
            ["lstsq", "the columns of each matrix must be linearly independent", "leave out columns, or add a penalty"];
        checked(self.lstsq(b), words, &[self.raw(), b.raw()], |x| x.raw())
    }
}
