//! Linear algebra of complex matrices, by real matrices of twice the size.
//!
//! Law: the matrix `a + i b` is the real matrix `[[a, -b], [b, a]]`, whose products, inverse and exponential are those
//! of complex matrices; so equations are solved with derivatives of every order. A Hermitian matrix is a symmetric one
//! with each eigenvalue twice, whose eigenvectors have no derivative: eigenvalues and vectors have a rule of their own
//! here, which is differentiated for further orders. Determinants, whose angle the real matrix loses, are in
//! `determinants`.

use std::sync::Arc;

use super::{as_columns, call};
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Matrix;
use crate::ops::kinds::or_panic;
use crate::program::repeat::closed;
use crate::program::{Custom, Term, valid_by_construction};
use crate::shape::exactly;
use crate::tensor::{Complex, Plus, Rank, SideOf, Tensor, concat, fold};
use crate::tree::Tree;

/// The real matrix `[[a, -b], [b, a]]` of a complex one.
#[track_caller]
fn doubled<T: BaseTensor, const D: usize, E: Float>(z: &Complex<T, D, E>) -> Tensor<T, D, E> {
    let (a, b) = (z.re(), z.im());
    let upper = concat(D - 1, (a, -b));
    concat(D - 2, (upper, concat(D - 1, (b, a))))
}

/// The complex tensor whose parts are the upper and the lower half of rows.
#[track_caller]
fn of_halves<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>, axis: usize) -> Complex<T, D, E> {
    let n = x.shape()[axis] / 2;
    Complex::new(x.slice(axis, ..n), x.slice(axis, n..))
}

impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// The solution `x` of `a x = b`, for a vector `b` or the columns of a matrix; the leading axes are those of a
    /// batch.
    ///
    /// Singular matrices are those of [`Tensor::solve`].
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let a = Complex::new(tensor([[1.0, 0.0], [0.0, 1.0]]), tensor([[1.0, 0.0], [0.0, -1.0]]));
    /// let (b, x) = (tensor([2.0, 4.0]).to_complex(), Complex::new(tensor([1.0, 2.0]), tensor([-1.0, 2.0])));
    /// assert_eq!((a.solve(&b), a.inverse().matvec(&b)), (x.clone(), x));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn solve<const B: usize>(&self, b: &Complex<T, B, E>) -> Complex<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        or_panic(Matrix::Solve { transposed: false }.try_matrix(self.re().raw().shape()));
        as_columns("solve", self.re().raw(), b.re().raw());
        let rows = D - 2;
        of_halves(&doubled(self).solve(&concat(rows, (b.re(), b.im()))), rows)
    }

    /// The inverse of a square matrix; NaN if the matrix is singular.
    ///
    /// Example: [`Complex::solve`].
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn inverse<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        or_panic(Matrix::Inverse.try_matrix(self.re().raw().shape()));
        let n = self.shape()[D - 1];
        of_halves(&doubled(self).inverse().slice(D - 1, ..n), D - 2)
    }

    /// The exponential of a matrix, `e^a = sum_k a^k / k!`, by that of a real matrix of twice the size: accuracy, range
    /// and method are those of [`Tensor::expm`]. Of `-i h t` with a Hermitian `h` it is unitary, the evolution of a
    /// quantum state through the time `t`. The leading axes are those of a batch.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// // Half a turn about the x axis of a spin.
    /// let half = std::f64::consts::FRAC_PI_2;
    /// let turned = Complex::new(tensor([[0.0, 0.0], [0.0, 0.0]]), tensor([[0.0, -half], [-half, 0.0]])).expm();
    /// let flipped = Complex::new(tensor([[0.0, 0.0], [0.0, 0.0]]), tensor([[0.0, -1.0], [-1.0, 0.0]]));
    /// assert!((turned - flipped).abs().max_all().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn expm<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        or_panic(Matrix::Expm.try_matrix(self.re().raw().shape()));
        let n = self.shape()[D - 1];
        of_halves(&doubled(self).expm().slice(D - 1, ..n), D - 2)
    }
}

impl<T: BaseTensor, E: Float> Complex<T, 2, E> {
    /// The eigenvalues of a Hermitian matrix in ascending order, and the eigenvectors as columns, whose element of
    /// largest absolute value is real and positive: `a v = v diag(w)`.
    ///
    /// For a matrix that is not Hermitian, those of `(a + a^H) / 2`. Derivatives of every order, as those of
    /// [`Tensor::eigh`]: at a multiple eigenvalue, the derivative of eigenvalues is that for one choice of
    /// eigenvectors; that of its eigenvectors, and second derivatives of it, are infinite or NaN there. A simple
    /// eigenvalue next to equal ones has its second derivative, and its vector the first. A function of the
    /// eigenvectors alone, whatever their phases, has the derivative that it would have with other phases.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let y = Complex::new(tensor([[0.0, 0.0], [0.0, 0.0]]), tensor([[0.0, -1.0], [1.0, 0.0]]));
    /// let (w, v) = y.eigh();
    /// assert!((w - tensor([-1.0, 1.0])).abs().max_all().item() < 1e-15);
    /// assert!((v.abs2() - 0.5).abs().max_all().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn eigh(&self) -> (Tensor<T, 1, E>, Self) {
        or_panic(Matrix::Eigh.try_matrix(self.re().raw().shape()));
        if self.size() == 0 {
            return (self.re().sum_axis(0), self.clone());
        }
        let args = self.leaves();
        let variables = || -> Complex<Term, 2, E> { self.with_leaves(Term::variables_like(&args)) };
        let (a, change) = (variables(), variables());
        let (w, v) = decomposed(&a);
        let primal = closed(&a.leaves(), &(w, v).leaves());
        let w = Tensor::<Term, 1, E>::from_raw(Term::variable(&[self.len()], E::DTYPE));
        let v = variables();
        let tangents = tangents(&w, &v, &change);
        let rule = closed(&(a, (w, v), change).leaves(), &tangents.leaves());
        let custom = valid_by_construction(Custom::new("eigh_hermitian", primal, Some(rule), None));
        let [w, re, im] = exactly(T::custom(&Arc::new(custom), &args));
        (Tensor::from_raw(w), Complex::new(Tensor::from_raw(re), Tensor::from_raw(im)))
    }
}

/// The Hermitian part.
#[track_caller]
fn hermitian<T: BaseTensor, E: Float>(a: &Complex<T, 2, E>) -> Complex<T, 2, E> {
    (a + a.adjoint()).scale(0.5)
}

/// Eigenvalues and eigenvectors. The symmetric matrix has `2 m` vectors for an eigenvalue of `m` complex vectors; as
/// complex vectors these span the space twice, so each that is dependent on the vectors before it is left out.
#[track_caller]
fn decomposed<T: BaseTensor, E: Float>(a: &Complex<T, 2, E>) -> (Tensor<T, 1, E>, Complex<T, 2, E>) {
    let n = a.len();
    let (pairs, vectors) = doubled(&hermitian(a)).eigh();
    let all = of_halves(&vectors, 0).t();
    // The squared distances of the `2 n` vectors from the space of `k < n` of them sum to `2 (n - k)`, at least 2. So
    // not all of those left out can be nearer than this.
    let least = E::of_f64(0.5 / n as f64);
    let start = (Complex::<T, 2, E>::zeros([n, n]), Tensor::<T, 0, i64>::scalar(0));
    type Kept<T, E> = (Complex<T, 2, E>, Tensor<T, 0, i64>);
    let (kept, _) = fold(start, &all, |(kept, count): Kept<T, E>, x: &Complex<T, 1, E>| {
        // Twice, since one projection leaves a part that is large relative to a short vector.
        let apart = |x: &Complex<T, 1, E>| x - kept.conj().matvec(x).vecmat(&kept);
        let x = apart(&apart(x));
        let square = x.abs2().sum();
        let is_new = square.gt(least);
        let length = is_new.select(square.sqrt(), E::ONE);
        let weight = count.one_hot::<1, E>(n) * (is_new.to_float::<E>() / length);
        let kept = &kept + x.by_parts::<2>(|x| weight.outer(x));
        (kept, count + is_new.to_int())
    });
    let at = kept.abs2().argmax_axis(1).one_hot::<2, E>(n);
    let largest = (&kept * at).sum_axis::<1>(1);
    let turn = largest.conj() / largest.abs();
    let vectors = kept.t() * turn.insert_axis::<2>(0);
    (pairs.reshape([n, 2]).mean_axis(1), vectors)
}

/// The matrix product in which a factor 0 makes a product 0.
#[track_caller]
fn guarded<T: BaseTensor, E: Float>(a: &Complex<T, 2, E>, b: &Complex<T, 2, E>) -> Complex<T, 2, E> {
    let times = |x: &Tensor<T, 2, E>, y: &Tensor<T, 2, E>| -> Tensor<T, 2, E> {
        let [product] = call(Matrix::Product { transposed: false }, &[x.raw(), y.raw()]);
        Tensor::from_raw(product)
    };
    let (re, im) = (times(a.re(), b.re()) - times(a.im(), b.im()), times(a.re(), b.im()) + times(a.im(), b.re()));
    Complex::new(re, im)
}

/// With `s = v^H da v`: `dw` is its diagonal, and `dv = v (f s)`, `f_ij = 1 / (w_j - w_i)` off the diagonal, plus a
/// change of phases that keeps the largest element of each vector real.
#[track_caller]
fn tangents<T: BaseTensor, E: Float>(
    w: &Tensor<T, 1, E>,
    v: &Complex<T, 2, E>,
    change: &Complex<T, 2, E>,
) -> (Tensor<T, 1, E>, Complex<T, 2, E>) {
    let n = w.len();
    let s = guarded(&v.adjoint(), &guarded(&hermitian(change), v));
    let gaps = w.insert_axis::<2>(0) - w.insert_axis::<2>(1);
    let is_diagonal = Tensor::<T, 2, E>::eye(n).gt(E::ZERO);
    let share = is_diagonal.select(Tensor::zeros([n, n]), gaps.recip());
    let turned = guarded(v, &s.by_parts::<2>(|x| share.mul_no_nan(x)));
    let at = v.t().abs2().argmax_axis(1).one_hot::<2, E>(n).t();
    let phase = (turned.im() * &at).sum_axis::<1>(0) / (v.re() * at).sum_axis::<1>(0);
    let phase = phase.replicate::<2>(n);
    let dv = turned - v.times_i().by_parts::<2>(|x| x.mul_no_nan(&phase));
    (s.re().diagonal(0, 1), dv)
}
