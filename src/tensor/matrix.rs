//! Triangles, diagonals and traces of matrices.
//!
//! Law: each function of a matrix or vector is linear. The diagonal `k` of a matrix holds the elements at `[i, i + k]`:
//! 0 is the main one, positive ones lie above it and negative ones below.

use super::Tensor;
use super::rank::{Plus, Rank};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{Elem, Num};
use crate::ops::{Compare, Discrete, IntBinary, Linear, View};
use crate::shape::{Show, check_possible};

/// The mask of the elements for which the comparison `op` of `column - row` and `k` holds, over the last two axes of a
/// shape.
pub(crate) fn band<T: BaseTensor>(shape: &[usize], op: Compare, k: i64) -> T {
    let (rows, columns) = (shape.len() - 2, shape.len() - 1);
    let matrix = &shape[rows..];
    let position = |axis: usize| {
        let iota = T::discrete(&Discrete::Iota { n: matrix[axis] }, &[]);
        iota.linear(&Linear::replicate(matrix, &[axis]))
    };
    let diagonal = T::discrete(&Discrete::IntBinary(IntBinary::Sub), &[&position(1), &position(0)]);
    let k = T::constant(Array::full(matrix, k));
    let mask = T::discrete(&Discrete::Compare(op), &[&diagonal, &k]);
    if rows == 0 { mask } else { mask.linear(&Linear::replicate(shape, &[rows, columns])) }
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    fn where_band(&self, op: Compare, k: i64) -> Self {
        let shape = self.raw().shape();
        Tensor::from_raw(T::select(&band::<T>(shape, op, k), self.raw(), &T::zeros(shape, E::DTYPE)))
    }

    /// The lower triangle of a matrix, or of each matrix in a stack: 0 above diagonal `k`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((x.tril(0), x.tril(-1)), (tensor([[1.0, 0.0], [3.0, 4.0]]), tensor([[0.0, 0.0], [3.0, 0.0]])));
    /// assert_eq!((x.triu(0), x.trace()), (tensor([[1.0, 2.0], [0.0, 4.0]]), tensor(5.0)));
    /// assert_eq!(tensor([1.0, 2.0]).diag(), tensor([[1.0, 0.0], [0.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn tril<const M: usize>(&self, k: i64) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        self.where_band(Compare::Le, k)
    }

    /// The upper triangle of a matrix, or of each matrix in a stack: 0 below diagonal `k`.
    ///
    /// Example: [`Tensor::tril`].
    #[track_caller]
    pub fn triu<const M: usize>(&self, k: i64) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        self.where_band(Compare::Ge, k)
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 2, E> {
    /// The matrix of this shape with ones on diagonal `k` and zeros elsewhere.
    ///
    /// Example: [`Tensor::full`].
    ///
    /// # Panics
    /// When no array can have this shape.
    #[track_caller]
    pub fn eye_at(shape: [usize; 2], k: i64) -> Self {
        // Ones are written row by row; rows without an element of the diagonal write nothing.
        check_possible("eye_at", &shape);
        let beyond = shape[0].max(shape[1]) as i64;
        let k = k.clamp(-beyond, beyond);
        let diagonal = Linear::affine(View::identity(&shape[..1]), View::affine(&shape, &shape[..1], &[1, 1], &[0, k]));
        Tensor::<T, 1, E>::ones([shape[0]]).view(&diagonal)
    }

    /// The sum of the diagonal.
    ///
    /// Example: [`Tensor::tril`].
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn trace(&self) -> Tensor<T, 0, E> {
        let [n, m] = self.shape();
        if n != m {
            panic!("trace: the matrix must be square, but the shape is {}; slice it first", Show(&[n, m]));
        }
        self.view(&Linear::affine(View::axes(&[n], &[0, 0]), View::axes(&[n], &[])))
    }
}

impl<T: BaseTensor, E: Elem> Tensor<T, 1, E> {
    /// The square matrix with these elements on its diagonal and zeros elsewhere; [`diagonal`](Tensor::diagonal) reads
    /// them back.
    ///
    /// Example: [`Tensor::tril`].
    #[track_caller]
    pub fn diag(&self) -> Tensor<T, 2, E> {
        let [n] = self.shape();
        check_possible("diag", &[n, n]);
        self.view(&Linear::affine(View::identity(&[n]), View::axes(&[n], &[0, 0])))
    }
}
