//! Conversions from and to the vectors and matrices of `nalgebra`.
//!
//! ```
//! use nalgebra::{DMatrix, DVector, Matrix2};
//! use polygrad::{Tensor, tensor};
//! let m = Tensor::<_, 2>::from(&Matrix2::new(1.0, 2.0, 3.0, 4.0));
//! assert_eq!(m, tensor([[1.0, 2.0], [3.0, 4.0]]));
//! let inverse = DMatrix::from(&m).try_inverse().expect("the matrix is regular");
//! assert!((m.matmul(&Tensor::<_, 2>::from(&inverse)) - Tensor::eye(2)).norm().item() < 1e-12);
//! assert_eq!(DVector::from(tensor([1.0, 2.0])).norm_squared(), 5.0);
//! ```

use ::nalgebra::{DMatrix, DVector, Dim, Matrix, RawStorage, Scalar, U1};

use num_complex::Complex as Number;

use crate::array::Array;
use crate::dtype::{Elem, Float};
use crate::tensor::{Complex, Tensor};

/// A matrix of any kind, copied: rows become rows.
impl<R: Dim, C: Dim, S: RawStorage<E, R, C>, E: Elem + Scalar> From<&Matrix<E, R, C, S>> for Tensor<Array, 2, E> {
    fn from(m: &Matrix<E, R, C, S>) -> Self {
        let elements = (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)])).collect();
        Tensor::from_raw(Array::new(&[m.nrows(), m.ncols()], elements))
    }
}

/// A vector of any kind, copied.
impl<R: Dim, S: RawStorage<E, R, U1>, E: Elem + Scalar> From<&Matrix<E, R, U1, S>> for Tensor<Array, 1, E> {
    fn from(v: &Matrix<E, R, U1, S>) -> Self {
        Tensor::from_raw(Array::new(&[v.nrows()], v.iter().copied().collect()))
    }
}

/// Without a copy.
impl<E: Elem + Scalar> From<DVector<E>> for Tensor<Array, 1, E> {
    fn from(v: DVector<E>) -> Self {
        let n = v.nrows();
        Tensor::from_raw(Array::new(&[n], Vec::from(v.data)))
    }
}

/// Without a copy if the elements are stored one by one and the tensor has no other owner.
impl<E: Elem + Scalar> From<Tensor<Array, 1, E>> for DVector<E> {
    fn from(t: Tensor<Array, 1, E>) -> Self {
        DVector::from_vec(t.into_vec())
    }
}

/// A copy: the matrix is column-major.
impl<E: Elem + Scalar> From<&Tensor<Array, 2, E>> for DMatrix<E> {
    fn from(t: &Tensor<Array, 2, E>) -> Self {
        let [n, m] = t.shape();
        DMatrix::from_row_slice(n, m, &t.elements())
    }
}

/// A matrix of complex numbers, copied: rows become rows.
///
/// ```
/// use nalgebra::{DMatrix, Matrix2};
/// use num_complex::Complex64;
/// use polygrad::Complex;
/// let (o, i) = (Complex64::ZERO, Complex64::I);
/// let z = Complex::<_, 2>::from(&Matrix2::new(o, -i, i, o));
/// assert_eq!(DMatrix::from(&z.matmul(&z)), DMatrix::identity(2, 2));
/// ```
impl<R: Dim, C: Dim, S: RawStorage<Number<E>, R, C>, E: Float + Scalar> From<&Matrix<Number<E>, R, C, S>>
    for Complex<Array, 2, E>
{
    fn from(m: &Matrix<Number<E>, R, C, S>) -> Self {
        let elements: Vec<_> = (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)])).collect();
        Complex::from_elements([m.nrows(), m.ncols()], &elements)
    }
}

/// A vector of complex numbers, copied.
impl<R: Dim, S: RawStorage<Number<E>, R, U1>, E: Float + Scalar> From<&Matrix<Number<E>, R, U1, S>>
    for Complex<Array, 1, E>
{
    fn from(v: &Matrix<Number<E>, R, U1, S>) -> Self {
        Complex::from_elements([v.nrows()], &v.iter().copied().collect::<Vec<_>>())
    }
}

/// A copy: the matrix is column-major.
impl<E: Float + Scalar> From<&Complex<Array, 2, E>> for DMatrix<Number<E>> {
    fn from(z: &Complex<Array, 2, E>) -> Self {
        let [n, m] = z.shape();
        DMatrix::from_row_slice(n, m, &z.to_vec())
    }
}

/// A copy.
impl<E: Float + Scalar> From<&Complex<Array, 1, E>> for DVector<Number<E>> {
    fn from(z: &Complex<Array, 1, E>) -> Self {
        DVector::from_vec(z.to_vec())
    }
}
