//! Products of tensors as contractions: dot, matrix and outer products.
//!
//! Law: each product is one contraction, so its derivatives are contractions, too.

use smallvec::SmallVec;

use super::Tensor;
use super::rank::{Plus, Rank};
use crate::base::BaseTensor;
use crate::dtype::Num;
use crate::ops::Contract;
use crate::shape::{Shape, Show, check_possible};

/// A contraction of two raw values over the named axes of an iteration space.
#[track_caller]
fn contract<T: BaseTensor, const D: usize, E: Num>(
    [a, b]: [&T; 2],
    space: &[usize],
    [a_axes, b_axes, out]: [&[usize]; 3],
) -> Tensor<T, D, E> {
    Tensor::from_raw(T::contract(&Contract::axes(space, a_axes, b_axes, out), a, b))
}

/// Panics unless two sizes agree.
#[track_caller]
fn agree(op: &str, what: &str, sizes: [usize; 2], shapes: [&[usize]; 2], way_out: &str) {
    if sizes[0] != sizes[1] {
        panic!("{op}: {what} must agree, but the shapes are {} and {}; {way_out}", Show(shapes[0]), Show(shapes[1]));
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The inner product over all axes: the sum of the products of all pairs of elements.
    ///
    /// Example: [`Tensor::matmul`].
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn dot(&self, other: &Self) -> Tensor<T, 0, E> {
        let (a, b) = (self.raw().shape(), other.raw().shape());
        if a != b {
            panic!(
                "dot: both shapes must be equal, but they are {} and {}; slice, pad or broadcast one",
                Show(a),
                Show(b)
            );
        }
        let all: SmallVec<[usize; 6]> = (0..D).collect();
        contract([self.raw(), other.raw()], a, [&all, &all, &[]])
    }

    /// The outer product: the products of all pairs of elements. The axes of `self` come before those of `other`.
    ///
    /// Example: [`Tensor::matmul`].
    #[track_caller]
    pub fn outer<const M: usize, const R: usize>(&self, other: &Tensor<T, M, E>) -> Tensor<T, R, E>
    where
        Rank<R>: Plus<D, M>,
    {
        let space: Shape = self.raw().shape().iter().chain(other.raw().shape()).copied().collect();
        let axes: SmallVec<[usize; 6]> = (0..D + M).collect();
        check_possible("outer", &space);
        contract([self.raw(), other.raw()], &space, [&axes[..D], &axes[D..], &axes])
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 1, E> {
    /// The row vector `self` times a matrix: shapes `[n]` and `[n, m]` give `[m]`.
    ///
    /// Example: [`Tensor::matmul`].
    ///
    /// # Panics
    /// When the sizes that are summed over differ.
    #[track_caller]
    pub fn vecmat(&self, matrix: &Tensor<T, 2, E>) -> Tensor<T, 1, E> {
        let ([n], [k, m]) = (self.shape(), matrix.shape());
        agree("vecmat", "inner sizes", [n, k], [&[n], &[k, m]], "transpose the matrix with t, or use matvec");
        contract([self.raw(), matrix.raw()], &[m, n], [&[1], &[1, 0], &[0]])
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 2, E> {
    /// This matrix times a vector: shapes `[n, m]` and `[m]` give `[n]`.
    ///
    /// Example: [`Tensor::matmul`].
    ///
    /// # Panics
    /// When the sizes that are summed over differ.
    #[track_caller]
    pub fn matvec(&self, vector: &Tensor<T, 1, E>) -> Tensor<T, 1, E> {
        let ([n, m], [k]) = (self.shape(), vector.shape());
        agree("matvec", "inner sizes", [m, k], [&[n, m], &[k]], "transpose the matrix with t, or use vecmat");
        contract([self.raw(), vector.raw()], &[n, m], [&[0, 1], &[1], &[0]])
    }

    /// The matrix product: shapes `[n, k]` and `[k, m]` give `[n, m]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (a, x) = (tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([1.0, 10.0]));
    /// assert_eq!(a.matmul(&tensor([[1.0], [1.0]])), tensor([[3.0], [7.0]]));
    /// assert_eq!((a.matvec(&x), x.vecmat(&a)), (tensor([21.0, 43.0]), tensor([31.0, 42.0])));
    /// assert_eq!((x.dot(&x), x.outer(&x)), (tensor(101.0), tensor([[1.0, 10.0], [10.0, 100.0]])));
    /// ```
    ///
    /// # Panics
    /// When the sizes that are summed over differ.
    #[track_caller]
    pub fn matmul(&self, other: &Tensor<T, 2, E>) -> Tensor<T, 2, E> {
        let ([n, k], [l, m]) = (self.shape(), other.shape());
        agree("matmul", "inner sizes", [k, l], [&[n, k], &[l, m]], "transpose one with t");
        check_possible("matmul", &[n, m]);
        contract([self.raw(), other.raw()], &[n, m, k], [&[0, 2], &[2, 1], &[0, 1]])
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 3, E> {
    /// The matrix product of each pair of matrices: shapes `[b, n, k]` and `[b, k, m]` give `[b, n, m]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let a = tensor([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]]);
    /// let b = tensor([[[1.0], [1.0]], [[5.0], [6.0]]]);
    /// assert_eq!(a.batched_matmul(&b), tensor([[[3.0], [7.0]], [[6.0], [5.0]]]));
    /// ```
    ///
    /// # Panics
    /// When the numbers of matrices or the sizes that are summed over differ.
    #[track_caller]
    pub fn batched_matmul(&self, other: &Tensor<T, 3, E>) -> Tensor<T, 3, E> {
        let ([b, n, k], [c, l, m]) = (self.shape(), other.shape());
        let shapes: [&[usize]; 2] = [&[b, n, k], &[c, l, m]];
        agree("batched_matmul", "numbers of matrices", [b, c], shapes, "slice or replicate one");
        agree("batched_matmul", "inner sizes", [k, l], shapes, "transpose one with t");
        check_possible("batched_matmul", &[b, n, m]);
        contract([self.raw(), other.raw()], &[b, n, m, k], [&[0, 1, 3], &[0, 3, 2], &[0, 1, 2]])
    }
}
