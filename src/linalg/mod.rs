//! Linear algebra, as methods of [`Tensor`]: `a.cholesky()`, `a.solve(&b)`, `a.eigh()`, ..
//!
//! The last two axes of a tensor are those of a matrix, and the others are batch dimensions. Each method is one
//! operation of the language ([`Matrix`]; `solve` is two), in every interpreter and for any batch. It has derivatives
//! of any order, whose formulas use the same operations (`rules`).
//!
//! | method | gives | where it has no derivative |
//! |---|---|---|
//! | [`cholesky`](Tensor::cholesky) | `l` with `l l^T = a` | not positive definite |
//! | [`solve`](Tensor::solve), [`inverse`](Tensor::inverse) | `a^-1 b`, `a^-1` | singular |
//! | [`solve_triangular`](Tensor::solve_triangular) | the same for a triangle | a zero on the diagonal |
//! | [`det`](Tensor::det) | the determinant | |
//! | [`logdet`](Tensor::logdet), [`slogdet`](Tensor::slogdet) | its logarithm and sign | singular |
//! | [`lu`](Tensor::lu) | `l`, `u` and the order of rows | singular |
//! | [`qr`](Tensor::qr) | `q`, `r` | from the first linearly dependent column on |
//! | [`lstsq`](Tensor::lstsq) | least squares of least norm | where the rank changes: that at constant rank |
//! | [`eigh`](Tensor::eigh) | eigenvalues and vectors, symmetric | of vectors: those of equal eigenvalues |
//! | [`svd`](Tensor::svd) | singular values and vectors | of vectors: those of equal singular values, or of 0 |
//! | [`expm`](Tensor::expm) | `e^a` | |
//!
//! A matrix without a result gives NaN in every interpreter, and so do derivatives that do not exist; the methods of
//! tensors of known values whose names begin with `try_` give an error instead. A result that does not count, because a
//! mask or a zero comes before it, sends exactly zero in every mode of differentiation. So the vectors of a simple
//! eigenvalue next to equal ones have their derivatives of every order. The matrices of a batch are independent.
//! Factors with free signs have normalized signs, as each method says, so that results are the same everywhere.
//! Eigenvalues and singular values of large matrices come from faer where the feature of this name is on.
//!
//! Complex matrices have [`solve`](crate::Complex::solve), [`inverse`](crate::Complex::inverse) and
//! [`eigh`](crate::Complex::eigh), by real matrices of twice the size.
//!
//! Scaling a matrix by a power of two scales factors, solutions and derivatives as the formulas say, to the bit, for
//! elements of 1e-300 to 1e300 (in `f32` of 1e-37 to 1e37): only a result that is itself out of range overflows, as
//! determinants do soonest. If rows or columns differ in scale, errors are relative to the largest elements of the
//! matrix, with three exceptions: [`qr`](Tensor::qr) and [`lstsq`](Tensor::lstsq) have errors relative to the scale of
//! each column, the derivatives of [`det`](Tensor::det) to that of each row and each column, and values of
//! [`svd`](Tensor::svd) and [`eigh`](Tensor::eigh) of small matrices to their own, as these say.
//!
//! ```
//! use polygrad::{BaseTensor, Tensor, grad, tensor};
//! // The logarithm of the density of a normal distribution, by its covariance.
//! fn log_density<T: BaseTensor>(covariance: &Tensor<T, 2>, x: &Tensor<T, 1>) -> Tensor<T, 0> {
//!     let l = covariance.cholesky();
//!     let whitened = l.solve_lower(x);
//!     whitened.square().sum() * -0.5 - l.diagonal(0, 1).ln().sum()
//! }
//! let covariance = tensor([[2.0, 0.5], [0.5, 1.0]]);
//! let gradient = grad(|c| log_density(c, &Tensor::constant([1.0, -1.0])), &covariance);
//! assert_eq!(gradient.shape(), [2, 2]);
//! ```

mod algebra;
mod checked;
mod complex;
mod determinants;
mod minors;
pub mod rules;

pub use checked::MatrixError;

use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::kinds::or_panic;
use crate::ops::{Call, Linear, Matrix};
use crate::shape::{Shape, Show, exactly};
use crate::tensor::{Plus, Rank, SideOf, Tensor};

/// Applies an operation to raw values.
#[track_caller]
fn call<T: BaseTensor, const N: usize>(op: Matrix, args: &[&T]) -> [T; N] {
    let args: Vec<T> = args.iter().map(|a| (*a).clone()).collect();
    exactly(T::call(&Call::Matrix(op), &args))
}

/// A right-hand side as a matrix: a vector becomes a matrix of one column.
#[track_caller]
fn as_columns<T: BaseTensor>(op: &str, a: &T, b: &T) -> T {
    let (left, shape) = (a.shape(), b.shape());
    let rows = left.len() - 2;
    let fits = shape.len() > rows && shape[..=rows] == left[..=rows];
    if !fits {
        panic!(
            "{op}: the right-hand side must have a row for each row of the matrix, and the same leading axes, but the shapes are {} and {}; \
             reshape or replicate one",
            Show(left),
            Show(shape)
        );
    }
    if shape.len() == left.len() {
        return b.clone();
    }
    let into: Shape = shape.iter().copied().chain([1]).collect();
    b.linear(&Linear::reshape(shape, &into))
}

/// A solution with the rank of its right-hand side: a vector if that was one.
#[track_caller]
fn as_side<T: BaseTensor, const B: usize, E: Float>(x: &T) -> Tensor<T, B, E> {
    if x.shape().len() == B {
        return Tensor::from_raw(x.clone());
    }
    Tensor::from_raw(x.linear(&Linear::reshape(x.shape(), &x.shape()[..B])))
}

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    #[track_caller]
    fn solved<const B: usize>(&self, name: &str, op: Matrix, b: &Tensor<T, B, E>) -> Tensor<T, B, E> {
        let [x] = call(op, &[self.raw(), &as_columns(name, self.raw(), b.raw())]);
        as_side(&x)
    }

    /// The Cholesky factor of a symmetric positive definite matrix: `l`, lower triangular with a positive diagonal,
    /// with `l l^T = a`.
    ///
    /// For a matrix that is not symmetric, the factor of `(a + a^T) / 2`; so the gradient is symmetric. NaN if the
    /// symmetric part is not positive definite. Giles 2008, section 4.1 of the extended version.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let l = tensor([[4.0, 2.0], [2.0, 5.0]]).cholesky();
    /// assert_eq!(l, tensor([[2.0, 0.0], [1.0, 2.0]]));
    /// assert_eq!(l.cholesky_solve(&tensor([6.0, 7.0])), tensor([1.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn cholesky<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        let [l] = call(Matrix::Cholesky, &[self.raw()]);
        Tensor::from_raw(l)
    }

    /// The solution `x` of `a x = b`, for a vector `b` or the columns of a matrix.
    ///
    /// Computed by the LU factorization of the matrix, which derivatives reuse. If the matrix is singular, NaN for a
    /// nonzero `b`, and zero for a zero `b`. `dx = a^-1 (db - da x)`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let a = tensor([[2.0, 1.0], [1.0, 3.0]]);
    /// assert_eq!(a.solve(&tensor([3.0, 4.0])), tensor([1.0, 1.0]));
    /// assert_eq!(a.solve(&tensor([[3.0, 2.0], [4.0, 1.0]])), tensor([[1.0, 1.0], [1.0, 0.0]]));
    /// assert_eq!(tensor([[2.0, 0.0], [0.0, 4.0]]).inverse(), tensor([[0.5, 0.0], [0.0, 0.25]]));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn solve<const B: usize>(&self, b: &Tensor<T, B, E>) -> Tensor<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        let (a, op) = (self.raw(), Matrix::Solve { transposed: false });
        or_panic(op.try_matrix(a.shape()));
        let b = as_columns("solve", a, b.raw());
        let [lu, p] = call(Matrix::LuFactor, &[a]);
        let [x] = call(op, &[a, &b, &lu, &p]);
        as_side(&x)
    }

    /// The solution `x` of `l x = b`, where `l` is the lower triangle of the matrix; elements above it are not read.
    ///
    /// NaN where a 0 is on the diagonal, unless `b` is zero: then zero.
    ///
    /// Example: [`Tensor::solve_triangular`].
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn solve_lower<const B: usize>(&self, b: &Tensor<T, B, E>) -> Tensor<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        self.solve_triangular(b, Triangle::LOWER)
    }

    /// The solution `x` of `u x = b`, where `u` is the upper triangle of the matrix; elements below it are not read.
    ///
    /// NaN where a 0 is on the diagonal, unless `b` is zero: then zero.
    ///
    /// Example: [`Tensor::solve_triangular`].
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn solve_upper<const B: usize>(&self, b: &Tensor<T, B, E>) -> Tensor<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        self.solve_triangular(b, Triangle::UPPER)
    }

    /// The solution of a triangular system: of a triangle of the matrix, or of the transpose of one.
    ///
    /// NaN where a 0 is on the diagonal, unless `b` is zero: then zero.
    ///
    /// ```
    /// use polygrad::linalg::Triangle;
    /// use polygrad::tensor;
    /// let (l, u) = (tensor([[2.0, 9.0], [1.0, 4.0]]), tensor([[2.0, 1.0], [9.0, 4.0]]));
    /// assert_eq!(l.solve_lower(&tensor([2.0, 5.0])), tensor([1.0, 1.0]));
    /// assert_eq!(u.solve_upper(&tensor([3.0, 4.0])), tensor([1.0, 1.0]));
    /// assert_eq!(u.solve_triangular(&tensor([3.0, 4.0]), Triangle::UPPER), tensor([1.0, 1.0]));
    /// // Of the transpose of the triangle, without a copy, and with ones on the diagonal.
    /// assert_eq!(l.solve_triangular(&tensor([3.0, 4.0]), Triangle::LOWER.transposed()), tensor([1.0, 1.0]));
    /// assert_eq!(l.solve_triangular(&tensor([1.0, 3.0]), Triangle::LOWER.unit()), tensor([1.0, 2.0]));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn solve_triangular<const B: usize>(&self, b: &Tensor<T, B, E>, of: Triangle) -> Tensor<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        let Triangle { lower, transposed, unit } = of;
        self.solved("solve_triangular", Matrix::SolveTriangular { lower, transposed, unit }, b)
    }

    /// The solution of `a x = b` where `l`, the Cholesky factor of `a`, is this matrix.
    ///
    /// Example: [`Tensor::cholesky`].
    ///
    /// # Panics
    /// When the matrix is not square, or the right-hand side has another number of rows.
    #[track_caller]
    pub fn cholesky_solve<const B: usize>(&self, b: &Tensor<T, B, E>) -> Tensor<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        self.solve_triangular(&self.solve_lower(b), Triangle::LOWER.transposed())
    }

    /// The least-squares solution of least norm, for a vector `b` or each column of a matrix: of all `x` with the
    /// smallest `|a x - b|` the shortest one, `a^+ b`. The matrix may have any number of rows and columns.
    ///
    /// Computed by a QR factorization, whose triangle is factored again with column pivoting if columns may be
    /// linearly dependent. The rank is the number of pivots above `max(m, n)` machine epsilons, where each column (of a
    /// matrix with more columns than rows, each row) is scaled to length 1: so it does not depend on units of columns.
    /// [`try_lstsq`](Tensor::try_lstsq) says it.
    ///
    /// The derivative is that at constant rank, with the pseudo-inverse `a^+`:
    /// `dx = a^+ (db - da x) + a^+ a^+T da^T (b - a x) + (1 - a^+ a) da^T a^+T x`. A change of `a` that raises the rank makes the solution jump. NaN if the
    /// matrix has an element that is not finite and `b` is not zero, and zero for `b` zero. G. Golub and V. Pereyra,
    /// "The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate" (1973).
    ///
    /// ```
    /// use polygrad::tensor;
    /// // A line through three points.
    /// let a = tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]);
    /// let line = a.lstsq(&tensor([1.0, 3.0, 5.0]));
    /// assert!((line - tensor([1.0, 2.0])).abs().max_all().item() < 1e-12);
    /// // Two equal columns share the coefficient, and one equation has a shortest solution.
    /// let twice = tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]);
    /// assert!((twice.lstsq(&tensor([2.0, 4.0, 6.0])) - 1.0).abs().max_all().item() < 1e-12);
    /// assert!((tensor([[3.0, 4.0]]).lstsq(&tensor([5.0])) - tensor([0.6, 0.8])).abs().max_all().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When the right-hand side has another number of rows.
    #[track_caller]
    pub fn lstsq<const B: usize>(&self, b: &Tensor<T, B, E>) -> Tensor<T, B, E>
    where
        Rank<B>: SideOf<D>,
    {
        let a = self.raw();
        or_panic(Matrix::LstsqFactor.try_matrix(a.shape()));
        let b = as_columns("lstsq", a, b.raw());
        let [u, t, vt, _] = call(Matrix::LstsqFactor, &[a]);
        let [x] = call(Matrix::Lstsq { transposed: false }, &[a, &b, &u, &t, &vt]);
        as_side(&x)
    }

    /// The inverse; `d(a^-1) = -a^-1 da a^-1`. For products `a^-1 b`, [`solve`](Tensor::solve) is faster and more
    /// exact.
    ///
    /// NaN where the matrix is singular.
    ///
    /// Example: [`Tensor::solve`].
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn inverse<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        let [x] = call(Matrix::Inverse, &[self.raw()]);
        Tensor::from_raw(x)
    }

    /// The determinant, a polynomial; its gradient is the matrix of cofactors, even where the matrix is singular.
    ///
    /// Up to 8 rows, derivatives of every order are sums of products, exact to rounding at any matrix. For a larger
    /// matrix the first derivative is exact everywhere, too, and those of higher order if at most 4 pivots of
    /// elimination with complete pivoting are zero or small (below the first one times the square root of the rounding
    /// unit): they divide by the others. Where more are small, derivatives beyond the first are NaN. Infinite or zero
    /// only if the determinant itself is out of the range of floats: [`slogdet`](Tensor::slogdet) is not.
    ///
    /// ```
    /// use polygrad::{grad, tensor};
    /// assert_eq!(tensor([[2.0, 1.0], [0.0, 4.0]]).det(), tensor(8.0));
    /// assert_eq!(grad(|a| a.det(), &tensor([[1.0, 2.0], [2.0, 4.0]])), tensor([[4.0, -2.0], [-2.0, 1.0]]));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn det<const M: usize>(&self) -> Tensor<T, M, E>
    where
        Rank<D>: Plus<2, M>,
    {
        let [x] = call(Matrix::Det, &[self.raw()]);
        Tensor::from_raw(x)
    }

    /// The sign of the determinant, which is 0 where the matrix is singular, and the logarithm of its absolute value:
    /// finite where the determinant is too large or too small for a number.
    ///
    /// The derivative of the sign is 0, that of the logarithm `tr(a^-1 da)`, which is NaN where the matrix is singular.
    ///
    /// Example: [`Tensor::logdet`].
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn slogdet<const M: usize>(&self) -> (Tensor<T, M, E>, Tensor<T, M, E>)
    where
        Rank<D>: Plus<2, M>,
    {
        let [sign, log] = call(Matrix::SlogDet, &[self.raw()]);
        (Tensor::from_raw(sign), Tensor::from_raw(log))
    }

    /// The logarithm of the absolute value of the determinant; `d logdet(a) = tr(a^-1 da)`. For a singular matrix it is
    /// `-inf`, and its derivative NaN.
    ///
    /// ```
    /// use polygrad::{grad, tensor};
    /// let a = tensor([[0.0, 2.0], [4.0, 0.0]]);
    /// let (sign, log) = a.slogdet();
    /// assert_eq!((sign, log), (tensor(-1.0), a.logdet()));
    /// assert!((a.logdet() - 8.0f64.ln()).item().abs() < 1e-15);
    /// assert_eq!(grad(|a| a.logdet(), &a), tensor([[0.0, 0.5], [0.25, 0.0]]));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn logdet<const M: usize>(&self) -> Tensor<T, M, E>
    where
        Rank<D>: Plus<2, M>,
    {
        self.slogdet().1
    }

    /// The LU factorization of a square matrix with partial pivoting, as `(l, u, p)`: `l` is lower triangular with ones
    /// on its diagonal, `u` is upper triangular, and row `i` of `l u` is row `p[i]` of `a`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (l, u, p) = tensor([[1.0, 2.0], [4.0, 4.0]]).lu();
    /// assert_eq!((l, u), (tensor([[1.0, 0.0], [0.25, 1.0]]), tensor([[4.0, 4.0], [0.0, 1.0]])));
    /// assert_eq!(p, tensor([1, 0]));
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn lu<const M: usize, const V: usize>(&self) -> (Self, Self, Tensor<T, V, i64>)
    where
        Rank<D>: Plus<2, M> + crate::tensor::Above<V>,
    {
        let [l, u, p] = call(Matrix::Lu, &[self.raw()]);
        (Tensor::from_raw(l), Tensor::from_raw(u), Tensor::from_raw(p))
    }

    /// The QR factorization `a = q r`: `q` has orthonormal columns, and `r` is upper triangular with a diagonal that is
    /// not negative. For an `m x n` matrix, `q` has `min(m, n)` columns.
    ///
    /// A column that depends on those before it, with a 0 on the diagonal of `r`, leaves its column of `q` open: any
    /// unit vector that completes the others. From there on, the columns of `q` and the rows of `r` have no derivative:
    /// NaN where it counts. Those before have one.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (q, r) = tensor([[3.0, 1.0], [4.0, 2.0]]).qr();
    /// assert!((q - tensor([[0.6, -0.8], [0.8, 0.6]])).abs().max_all().item() < 1e-15);
    /// assert!((r - tensor([[5.0, 2.2], [0.0, 0.4]])).abs().max_all().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// Never: rustc checks that the element type is a float type.
    #[track_caller]
    pub fn qr<const M: usize>(&self) -> (Self, Self)
    where
        Rank<D>: Plus<2, M>,
    {
        let [q, r] = call(Matrix::Qr, &[self.raw()]);
        (Tensor::from_raw(q), Tensor::from_raw(r))
    }

    /// The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors as columns, with their largest
    /// element positive: `a v = v diag(w)`.
    ///
    /// For a matrix that is not symmetric, those of `(a + a^T) / 2`. At a multiple eigenvalue, the derivative of the
    /// eigenvalues is that for one choice of eigenvectors, which is right for functions that are symmetric in the equal
    /// eigenvalues. The derivative of eigenvectors of equal eigenvalues, and second derivatives of these eigenvalues,
    /// are infinite or NaN, even for a function of them whose derivative is finite. A simple eigenvalue and its vector
    /// have derivatives of every order, whatever the other eigenvalues are: `(w - a) dv + dw v = da v`, `v . dv = 0`.
    /// Where they alone count, the others send zero in reverse mode, and in forward mode their own tangents alone are
    /// NaN.
    ///
    /// Any finite matrix has a result, with `|a v - v diag(w)|` and `|v^T v - 1|` of some roundings of `|a|` and of 1. Up to
    /// 10 rows, eigenvalues of a positive definite matrix `d b d` with a diagonal `d` have relative errors of some
    /// roundings times the condition of `b`: those of rows and columns of different scales are exact. A compiled
    /// program that reads eigenvalues alone computes no eigenvectors. Method: Jacobi rotations (J. Demmel and K.
    /// Veselić, "Jacobi's method is more accurate than QR", 1992), for more rows tridiagonal reduction and the
    /// implicit QR iteration.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (w, v) = tensor([[2.0, 1.0], [1.0, 2.0]]).eigh();
    /// assert!((w - tensor([1.0, 3.0])).abs().max_all().item() < 1e-14);
    /// assert!((v.abs() - 0.5f64.sqrt()).abs().max_all().item() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn eigh<const V: usize>(&self) -> (Tensor<T, V, E>, Self)
    where
        Rank<D>: crate::tensor::Above<V>,
    {
        let [w, v] = call(Matrix::Eigh, &[self.raw()]);
        (Tensor::from_raw(w), Tensor::from_raw(v))
    }

    /// The singular value decomposition `a = u diag(s) v^T`, as `(u, s, v^T)`, with the singular values in descending
    /// order. For an `m x n` matrix there are `min(m, n)`. The largest element of each column of `u` is positive.
    ///
    /// The derivative of singular values follows the convention of [`eigh`](Tensor::eigh) at equal values; at 0 it is
    /// that of one side of the kink. The derivative of singular vectors is infinite or NaN for those of equal singular
    /// values, and of 0 if the matrix is not square. A simple singular value above 0 and its vectors have derivatives
    /// of every order, whatever the others are.
    ///
    /// Any finite matrix has a result, of whatever rank: `u` and `v` are orthonormal, and `u diag(s) v^T` is `a`,
    /// both to some roundings. Up to 10 rows or columns, singular values of a matrix with rows and columns of
    /// different scales are exact relative to each value, down to 1e-276 (in `f32` 1e-24) of the largest element. A
    /// compiled program that reads singular values alone computes no vectors. Method: one-sided Jacobi rotations
    /// after QR factorisations (Z. Drmač and K. Veselić, "New fast and accurate Jacobi SVD algorithm", 2008); for
    /// more rows and columns bidiagonal reduction and the implicit QR iteration (J. Demmel and W. Kahan, "Accurate
    /// singular values of bidiagonal matrices", 1990).
    ///
    /// ```
    /// use polygrad::tensor;
    /// let a = tensor([[0.0, 2.0], [3.0, 0.0]]);
    /// let (u, s, vt) = a.svd();
    /// assert!((&s - tensor([3.0, 2.0])).abs().max_all().item() < 1e-14);
    /// assert!((u.matmul(&s.diag()).matmul(&vt) - a).abs().max_all().item() < 1e-14);
    /// ```
    #[track_caller]
    pub fn svd<const V: usize>(&self) -> (Self, Tensor<T, V, E>, Self)
    where
        Rank<D>: crate::tensor::Above<V>,
    {
        let [u, s, vt] = call(Matrix::Svd, &[self.raw()]);
        (Tensor::from_raw(u), Tensor::from_raw(s), Tensor::from_raw(vt))
    }

    /// The exponential of a matrix, `e^a = sum_k a^k / k!`: the state after time 1 of `x' = a x`.
    ///
    /// The backward error is a rounding of `a`. So elements that are out of range are infinite or zero if that error
    /// determines them, and otherwise NaN; if the norm of `a` exceeds the inverse of the rounding unit (about 1e16, in
    /// `f32` 1e7) and the result is in range, no digit is determined, and all elements are NaN. Rows and columns that
    /// no element of `a` connects are independent: a diagonal matrix gives exponentials of scalars. All elements are
    /// NaN if one of `a` is not finite. Method: A. Al-Mohy and N. Higham, "A new scaling and squaring algorithm for the
    /// matrix exponential" (2009).
    ///
    /// ```
    /// use polygrad::tensor;
    /// // A rotation by a quarter of a turn.
    /// let quarter = std::f64::consts::FRAC_PI_2;
    /// let turned = tensor([[0.0, -quarter], [quarter, 0.0]]).expm();
    /// assert!((turned - tensor([[0.0, -1.0], [1.0, 0.0]])).abs().max_all().item() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// When the matrix is not square.
    #[track_caller]
    pub fn expm<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        let [x] = call(Matrix::Expm, &[self.raw()]);
        Tensor::from_raw(x)
    }
}

/// The triangular matrix that [`solve_triangular`](Tensor::solve_triangular) reads from a matrix.
///
/// Example: [`Tensor::solve_triangular`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triangle {
    /// Whether it is the lower triangle, otherwise the upper one.
    pub lower: bool,
    /// Whether the triangle is transposed.
    pub transposed: bool,
    /// Whether the diagonal is taken to be ones; its elements are not read.
    pub unit: bool,
}

impl Triangle {
    /// The lower triangle.
    ///
    /// Example: [`Tensor::solve_triangular`].
    pub const LOWER: Triangle = Triangle { lower: true, transposed: false, unit: false };
    /// The upper triangle.
    ///
    /// Example: [`Tensor::solve_triangular`].
    pub const UPPER: Triangle = Triangle { lower: false, transposed: false, unit: false };

    /// The transpose of this triangle.
    ///
    /// Example: [`Tensor::solve_triangular`].
    pub const fn transposed(self) -> Triangle {
        Triangle { transposed: !self.transposed, ..self }
    }

    /// This triangle with ones on its diagonal.
    ///
    /// Example: [`Tensor::solve_triangular`].
    pub const fn unit(self) -> Triangle {
        Triangle { unit: true, ..self }
    }
}
