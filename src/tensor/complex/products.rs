//! Products of complex tensors, and norms.
//!
//! Law: a product is bilinear, and made of the same product of the parts, four times of complex operands. Products do
//! not conjugate, but [`vdot`](Complex::vdot) does.

use super::Complex;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::tensor::{Plus, Rank, Tensor};

/// A product of the parts: `(a c - b d) + i (a d + b c)`.
macro_rules! products {
    ($(
        $(#[doc = $doc:literal])*
        fn $name:ident $(<$(const $G:ident),*>)? ($D:tt, $F:tt) -> $R:tt $(where [$($clause:tt)*])?;
    )*) => { $(
        products! {
            @ $D; $(#[doc = $doc])* $name [$($(const $G: usize,)*)?] ($F) $R [$($($clause)*)?]
        }
    )* };
    (@ D; $(#[doc = $doc:literal])* $name:ident [$($G:tt)*] ($F:tt) $R:tt [$($clause:tt)*]) => {
        impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
            products! { @@ $(#[doc = $doc])* $name [$($G)*] ($F) $R [$($clause)*] }
        }
    };
    (@ $D:literal; $(#[doc = $doc:literal])* $name:ident [$($G:tt)*] ($F:tt) $R:tt [$($clause:tt)*]) => {
        impl<T: BaseTensor, E: Float> Complex<T, $D, E> {
            products! { @@ $(#[doc = $doc])* $name [$($G)*] ($F) $R [$($clause)*] }
        }
    };
    (@@ $(#[doc = $doc:literal])* $name:ident [$($G:tt)*] ($F:tt) $R:tt [$($clause:tt)*]) => {
        $(#[doc = $doc])*
        ///
        /// # Panics
        #[doc = concat!("As [`Tensor::", stringify!($name), "`].")]
        #[track_caller]
        pub fn $name<$($G)*>(&self, other: &Complex<T, $F, E>) -> Complex<T, $R, E>
        where
            $($clause)*
        {
            let ((a, b), (c, d)) = ((&self.re, &self.im), (&other.re, &other.im));
            Complex { re: a.$name(c) - b.$name(d), im: a.$name(d) + b.$name(c) }
        }
    };
}

products! {
    /// The sum of the products of all pairs of elements, without conjugation; [`vdot`](Complex::vdot) conjugates.
    ///
    /// Example: [`Complex::vdot`].
    fn dot(D, D) -> 0;
    /// The products of all pairs of elements. The axes of `self` come before those of `other`.
    ///
    /// Example: [`Complex::vdot`].
    fn outer<const M, const R>(D, M) -> R where [Rank<R>: Plus<D, M>];
    /// The row vector `self` times a matrix: shapes `[n]` and `[n, m]` give `[m]`.
    ///
    /// Example: [`Complex::vdot`].
    fn vecmat(1, 2) -> 1;
    /// This matrix times a vector: shapes `[n, m]` and `[m]` give `[n]`.
    ///
    /// Example: [`Complex::vdot`].
    fn matvec(2, 1) -> 1;
    /// The matrix product: shapes `[n, k]` and `[k, m]` give `[n, m]`.
    ///
    /// Example: [`Complex::vdot`].
    fn matmul(2, 2) -> 2;
    /// The matrix product of each pair of matrices: shapes `[b, n, k]` and `[b, k, m]` give `[b, n, m]`.
    ///
    /// Example: [`Complex::vdot`].
    fn batched_matmul(3, 3) -> 3;
}

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The inner product: the sum of the products of the elements of `other` with the conjugates of those of `self`.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// // The vector `(1, i)`, and the diagonal matrix of `2` and `i`.
    /// let z = Complex::new(tensor([1.0, 0.0]), tensor([0.0, 1.0]));
    /// let a = Complex::new(tensor([[2.0, 0.0], [0.0, 0.0]]), tensor([[0.0, 0.0], [0.0, 1.0]]));
    /// assert_eq!((z.dot(&z), z.vdot(&z)), (tensor(0.0).to_complex(), tensor(2.0).to_complex()));
    /// assert_eq!((a.matvec(&z), z.vecmat(&a)), (tensor([2.0, -1.0]).to_complex(), tensor([2.0, -1.0]).to_complex()));
    /// assert_eq!(a.matmul(&a), tensor([[4.0, 0.0], [0.0, -1.0]]).to_complex());
    /// let both: Complex<_, 3> = Complex::stack(&[&a, &a]);
    /// assert_eq!(both.batched_matmul(&both).row(1), a.matmul(&a));
    /// assert_eq!(z.outer(&z), Complex::new(tensor([[1.0, 0.0], [0.0, -1.0]]), tensor([[0.0, 1.0], [1.0, 0.0]])));
    /// assert_eq!((a.adjoint().matmul(&a).norm(), z.scale(5.0).abs()), (tensor(17f64.sqrt()), tensor([5.0, 5.0])));
    /// ```
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn vdot(&self, other: &Self) -> Complex<T, 0, E> {
        let ((a, b), (c, d)) = ((&self.re, &self.im), (&other.re, &other.im));
        Complex { re: a.dot(c) + b.dot(d), im: a.dot(d) - b.dot(c) }
    }

    /// The Euclidean norm: the root of the sum of the squares of all absolute values. Derivative 0 where all are 0.
    ///
    /// Example: [`Complex::vdot`].
    #[track_caller]
    pub fn norm(&self) -> Tensor<T, 0, E> {
        self.re.norm().hypot(self.im.norm())
    }

    /// The conjugate transpose: the last two axes exchanged, and each element conjugated.
    ///
    /// Example: [`Complex::vdot`].
    #[track_caller]
    pub fn adjoint<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        Complex { re: self.re.t(), im: -self.im.t() }
    }
}
