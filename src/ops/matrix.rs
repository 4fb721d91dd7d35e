//! Operations of linear algebra, on the matrices along the last two axes; other axes are a batch.
//!
//! Laws: each is one operation in every interpreter. A matrix without the result (not positive definite, singular)
//! gives NaN, and does not disturb the others of its batch; of a right-hand side, a column of zeros
//! has the solution zeros. Of recurrences and prefix products instead, a number that is not finite reaches what follows
//! in its column, as products and sums of numbers hand it on.
//! Derivatives are in [`crate::linalg`], and consist of these operations.

use smallvec::{SmallVec, smallvec};

use super::kinds::Kind;
use super::minors;
use crate::dtype::DType;
use crate::shape::{Shape, Show, size};

/// The sizes of the operands for one matrix of the batch.
#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    n: usize,
    /// The smaller of `m` and `n`.
    k: usize,
    /// The columns of the second operand; 1 without one.
    columns: usize,
}

impl Sizes {
    fn of(args: &[Kind<'_>]) -> Option<Sizes> {
        let [.., m, n] = args.first()?.0 else { return None };
        let columns = args.get(1).and_then(|(b, _)| b.last()).copied().unwrap_or(1);
        Some(Sizes { m: *m, n: *n, k: (*m).min(*n), columns })
    }

    /// `m n k`, to which the work of a factorization is proportional.
    fn cube(self) -> usize {
        self.square().saturating_mul(self.k)
    }

    fn square(self) -> usize {
        self.m.saturating_mul(self.n)
    }
}

/// A result of an operation on one matrix: the sizes of an array of its element type, or of integers.
enum Extent {
    Float(SmallVec<[usize; 2]>),
    Int(SmallVec<[usize; 2]>),
}

use Extent::{Float, Int};

/// The table. A row: the operation with the values of its fields, each with a name in printed programs; the number of
/// operands; whether the matrix must be square; the operand in which the operation is linear, with the others fixed,
/// and the adjoint in this operand, if that is one of these operations, too; whether each column of the result depends
/// on one column of the second operand; the results; and the approximate number of additions and multiplications.
macro_rules! matrix_ops {
    ($(
        $(#[$doc:meta])*
        $Op:ident $(( $($(#[$field_doc:meta])* $field:ident: $ty:ty),* ))? {
            names: [$($value:tt $name:literal),*],
            operands: $arity:literal,
            square: $square:literal,
            $(linear: $linear:literal, adjoint: $adjoint:expr,)?
            $(by_column: $by_column:literal,)?
            results: |$of_results:pat_param| [$($result:expr),*],
            work: |$of_work:pat_param| $work:expr,
        }
    )*) => {
        /// An operation on matrices.
        ///
        /// Closed: an interpreter fails to compile where a new operation has no meaning yet.
        ///
        /// ```
        /// use polygrad::ops::{Call, Matrix};
        /// use polygrad::{Array, BaseTensor};
        /// let a = Array::from([[2.0, 0.0], [1.0, 4.0]]);
        /// assert_eq!(Array::call(&Call::Matrix(Matrix::Det), &[a]), [Array::scalar(8.0)]);
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Matrix {
            $($(#[$doc])* $Op $({ $($(#[$field_doc])* $field: $ty),* })?,)*
        }

        impl Matrix {
            /// Every operation.
            ///
            /// Example: [`Matrix::name`].
            pub const ALL: &'static [Matrix] = &[$($(matrix_ops!(@ $Op $value)),*),*];

            /// The name of the operation in printed programs.
            ///
            /// ```
            /// use polygrad::ops::Matrix;
            /// assert!(Matrix::ALL.iter().any(|op| op.name() == "qr"));
            /// let [solve, of_transpose] = [false, true].map(|transposed| Matrix::Solve { transposed });
            /// assert_eq!((solve.name(), of_transpose.name(), Matrix::Inverse.arity()), ("solve", "solve.t", 1));
            /// // In the right-hand side.
            /// assert_eq!((solve.linear_in(), solve.adjoint()), (Some(1), of_transpose));
            /// assert_eq!(Matrix::Det.linear_in(), None);
            /// ```
            pub fn name(self) -> &'static str {
                match self {
                    $($(matrix_ops!(@ $Op $value) => $name,)*)*
                    // `try_matrix` refuses other numbers of rows.
                    Matrix::Minors { .. } => "minors",
                }
            }

            /// The number of operands.
            ///
            /// Example: [`Matrix::name`].
            pub fn arity(self) -> usize {
                match self { $(Matrix::$Op { .. } => $arity,)* }
            }

            /// Whether the matrix must be square.
            fn is_square(self) -> bool {
                match self { $(Matrix::$Op { .. } => $square,)* }
            }

            /// The operand in which the operation is linear, with the others fixed, if its [`adjoint`](Matrix::adjoint)
            /// in this operand is one of these operations, too.
            ///
            /// Example: [`Matrix::name`].
            pub fn linear_in(self) -> Option<usize> {
                match self { $(Matrix::$Op { .. } => matrix_ops!(@or $(Some($linear);)? None),)* }
            }

            /// The adjoint in the operand in which the operation [is linear](Matrix::linear_in): the same operation
            /// with the other matrices transposed. An operation that is not linear gives itself.
            ///
            /// Example: [`Matrix::name`].
            pub fn adjoint(self) -> Matrix {
                match self {
                    $(#[allow(unused_variables)] Matrix::$Op $({ $($field),* })? => matrix_ops!(@or $($adjoint;)? self),)*
                }
            }

            /// Whether each column of the result depends on one column of the second operand.
            pub(crate) fn is_by_column(self) -> bool {
                match self { $(Matrix::$Op { .. } => matrix_ops!(@or $($by_column;)? false),)* }
            }

            /// The results for one matrix of these sizes.
            fn extents(self, sizes: Sizes) -> SmallVec<[Extent; 3]> {
                match self {
                    $(#[allow(unused_variables)] Matrix::$Op $({ $($field),* })? => {
                        let $of_results = sizes;
                        smallvec![$($result),*]
                    })*
                }
            }

            /// The approximate number of additions and multiplications for one matrix of these sizes.
            fn work_of_one(self, sizes: Sizes) -> usize {
                match self {
                    $(#[allow(unused_variables)] Matrix::$Op $({ $($field),* })? => {
                        let $of_work = sizes;
                        $work
                    })*
                }
            }
        }
    };
    (@ $Op:ident ()) => { Matrix::$Op };
    (@ $Op:ident ($($fields:tt)*)) => { Matrix::$Op { $($fields)* } };
    (@or $first:expr; $otherwise:expr) => { $first };
    (@or $otherwise:expr) => { $otherwise };
}

matrix_ops! {
    /// `l`, lower triangular, with `l l^T = (a + a^T) / 2`.
    Cholesky {
        names: [() "cholesky"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Float(smallvec![n, n])],
        work: |s| s.cube() / 3,
    }
    /// `a^-1`.
    Inverse {
        names: [() "inverse"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Float(smallvec![n, n])],
        work: |s| s.cube().saturating_mul(2),
    }
    /// The determinant.
    Det {
        names: [() "det"],
        operands: 1,
        square: true,
        results: |_| [Float(smallvec![])],
        work: |s| s.cube() / 3 * 2,
    }
    /// The minors with `without` rows and columns left out: the determinants of the submatrices that remain, a row for
    /// each set of rows that is left out, and a column for each set of columns. The sets are in ascending order as bit
    /// masks. The sign of a minor is reversed if the sum of all positions that are left out is odd. With one row and
    /// column left out: the cofactors, the derivatives of the determinant.
    Minors(
        /// The number of rows, and of columns, that are left out: from 1 to 8; 1 for matrices of more than 8 rows.
        without: u8
    ) {
        names: [
            (without: 1) "cofactors", (without: 2) "minors.2", (without: 3) "minors.3", (without: 4) "minors.4",
            (without: 5) "minors.5", (without: 6) "minors.6", (without: 7) "minors.7", (without: 8) "minors.8"
        ],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [{
            let count = if without == 1 { n } else { minors::count(n, without.into()) };
            Float(smallvec![count, count])
        }],
        work: |s| match without {
            1 => s.cube().saturating_mul(3),
            without => minors::count(s.n, without.into()) << s.n.min(minors::MOST),
        },
    }
    /// The orders of rows and columns in an elimination with complete pivoting, as two rows of positions, and the sign
    /// of both permutations together, 1 if even and -1 if odd; NaN instead if more than 4 pivots are small, that is, at
    /// most the first pivot times the square root of the machine epsilon. Without a derivative.
    Pivots {
        names: [() "pivots"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Int(smallvec![2, n]), Float(smallvec![])],
        work: |s| s.cube(),
    }
    /// The sign of the determinant, and the logarithm of its absolute value.
    SlogDet {
        names: [() "slogdet"],
        operands: 1,
        square: true,
        results: |_| [Float(smallvec![]), Float(smallvec![])],
        work: |s| s.cube() / 3 * 2,
    }
    /// The factorization with partial pivoting: `l`, unit lower triangular, `u`, upper triangular, and for each row of
    /// `l u` the number of the row of `a`.
    Lu {
        names: [() "lu"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Float(smallvec![n, n]), Float(smallvec![n, n]), Int(smallvec![n])],
        work: |s| s.cube() / 3 * 2,
    }
    /// `l` and `u` of [`Matrix::Lu`] in one matrix, and for each row of `l u` the number of the row of `a`; without a
    /// derivative, for [`Matrix::Solve`].
    LuFactor {
        names: [() "lu_factor"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Float(smallvec![n, n]), Int(smallvec![n])],
        work: |s| s.cube() / 3 * 2,
    }
    /// `x` with `a x = b`. The operands are `a`, `b` and the results of [`Matrix::LuFactor`] for `a`.
    Solve(
        /// Whether `a^T x = b` is solved instead.
        transposed: bool
    ) {
        names: [(transposed: false) "solve", (transposed: true) "solve.t"],
        operands: 4,
        square: true,
        linear: 1, adjoint: Matrix::Solve { transposed: !transposed },
        by_column: true,
        results: |Sizes { n, columns, .. }| [Float(smallvec![n, columns])],
        work: |s| s.square().saturating_mul(s.columns.saturating_mul(2)),
    }
    /// `x` with `a x = b` for a triangular matrix: only one triangle of `a` is read. The operands are `a` and `b`.
    SolveTriangular(
        /// Whether the lower triangle is read; otherwise the upper one.
        lower: bool,
        /// Whether `a^T x = b` is solved instead.
        transposed: bool,
        /// Whether the diagonal is taken as ones, whatever its elements are.
        unit: bool
    ) {
        names: [
            (lower: false, transposed: false, unit: false) "solve_upper",
            (lower: false, transposed: false, unit: true) "solve_unit_upper",
            (lower: false, transposed: true, unit: false) "solve_upper.t",
            (lower: false, transposed: true, unit: true) "solve_unit_upper.t",
            (lower: true, transposed: false, unit: false) "solve_lower",
            (lower: true, transposed: false, unit: true) "solve_unit_lower",
            (lower: true, transposed: true, unit: false) "solve_lower.t",
            (lower: true, transposed: true, unit: true) "solve_unit_lower.t"
        ],
        operands: 2,
        square: true,
        linear: 1, adjoint: Matrix::SolveTriangular { lower, transposed: !transposed, unit },
        by_column: true,
        results: |Sizes { n, columns, .. }| [Float(smallvec![n, columns])],
        work: |s| s.square().saturating_mul(s.columns),
    }
    /// `q`, with orthonormal columns, and `r`, upper triangular with a diagonal that is not negative, with `q r = a`.
    Qr {
        names: [() "qr"],
        operands: 1,
        square: false,
        results: |Sizes { m, n, k, .. }| [Float(smallvec![m, k]), Float(smallvec![k, n])],
        work: |s| s.cube().saturating_mul(4),
    }
    /// The eigenvalues of `(a + a^T) / 2` in ascending order, and the eigenvectors as columns.
    Eigh {
        names: [() "eigh"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Float(smallvec![n]), Float(smallvec![n, n])],
        work: |s| s.cube().saturating_mul(9),
    }
    /// The singular value decomposition: `u`, `s` in descending order and `v^T`, with `u diag(s) v^T = a`. `u` has a
    /// column, and `v^T` a row, for each singular value.
    Svd {
        names: [() "svd"],
        operands: 1,
        square: false,
        results: |Sizes { m, n, k, .. }| [Float(smallvec![m, k]), Float(smallvec![k]), Float(smallvec![k, n])],
        work: |s| s.cube().saturating_mul(20),
    }
    /// The complete orthogonal decomposition: `u`, a triangle `t`, `v^T` and the rank, with `u t v^T = a`. The columns
    /// of `u` and the rows of `v^T` up to the rank are orthonormal, and the others zeros; behind the rank, `t` is the
    /// identity. `t` is an upper triangle, or for more columns than rows a lower one. The rank is the number of pivots
    /// above `max(m, n)` machine epsilons in a QR factorization with column pivoting of the matrix whose columns, or
    /// for more columns than rows whose rows, are scaled to length 1. Without a derivative, for [`Matrix::Lstsq`].
    LstsqFactor {
        names: [() "lstsq_factor"],
        operands: 1,
        square: false,
        results: |Sizes { m, n, k, .. }| [
            Float(smallvec![m, k]), Float(smallvec![k, k]), Float(smallvec![k, n]), Int(smallvec![])
        ],
        work: |s| s.cube().saturating_mul(5),
    }
    /// The least-squares solution of least norm, `a^+ b`: of all `x` with the smallest `|a x - b|` the shortest one.
    /// The operands are `a`, `b` and the first three results of [`Matrix::LstsqFactor`] for `a`. The derivative is that
    /// at constant rank.
    Lstsq(
        /// Whether it is that of `a^T x = b` instead.
        transposed: bool
    ) {
        names: [(transposed: false) "lstsq", (transposed: true) "lstsq.t"],
        operands: 5,
        square: false,
        linear: 1, adjoint: Matrix::Lstsq { transposed: !transposed },
        by_column: true,
        results: |Sizes { m, n, columns, .. }| [Float(smallvec![if transposed { m } else { n }, columns])],
        work: |s| s.square().saturating_mul(s.columns.saturating_mul(3)),
    }
    /// The part of `z` in the null space of `a`, `(1 - a^+ a) z`. The operands are `a`, `z` and the first three results
    /// of [`Matrix::LstsqFactor`] for `a`. Zeros if the columns of `a` are linearly independent.
    NullProjection(
        /// Whether it is the null space of `a^T` instead.
        transposed: bool
    ) {
        names: [(transposed: false) "null_projection", (transposed: true) "null_projection.t"],
        operands: 5,
        square: false,
        linear: 1, adjoint: Matrix::NullProjection { transposed },
        by_column: true,
        results: |Sizes { m, n, columns, .. }| [Float(smallvec![if transposed { m } else { n }, columns])],
        work: |s| s.square().saturating_mul(s.columns.saturating_mul(2)),
    }
    /// The solutions of the equations for the tangents of eigenvectors. With the symmetric part `a` of the first
    /// operand, and for each eigenvector `v` with its eigenvalue `w`, a column of the second operand is `(x, s)`, and
    /// that of the result is `(y, t)` with `(w - a) y + t v = x` and `v . y = s`; for a column of zeros it is zeros.
    /// The third and the fourth operand are the results of [`Matrix::Eigh`] for `a`. For other columns, `y` is
    /// infinite or NaN where `w` is a multiple eigenvalue; `t`, the tangent of the eigenvalue, is not.
    EighSolve {
        names: [() "eigh_solve"],
        operands: 4,
        square: true,
        linear: 1, adjoint: Matrix::EighSolve,
        results: |Sizes { n, .. }| [Float(smallvec![n + 1, n])],
        work: |s| s.cube().saturating_mul(4),
    }
    /// The solutions of the equations for the tangents of singular vectors. For each singular value `s` with the
    /// vectors `u` and `v`, a column of the second operand is `(x, z, p, q)`, and that of the result is `(y, w, f, g)`
    /// with `s y - a w + f u = x`, `s w - a^T y + g v = z`, `u . y = p` and `v . w = q`; for a column of zeros it is
    /// zeros. The other operands are `a` and the results of [`Matrix::Svd`] for `a`. For other columns, `y` and `w` are
    /// infinite or NaN where `s` is a multiple singular value, or 0 and the matrix not square; `f` and `g` are not.
    SvdSolve {
        names: [() "svd_solve"],
        operands: 5,
        square: false,
        linear: 1, adjoint: Matrix::SvdSolve,
        results: |Sizes { m, n, k, .. }| [Float(smallvec![m + n + 2, k])],
        work: |s| s.cube().saturating_mul(10),
    }
    /// The matrix product `a b`, in which zero times any number is 0, even times an infinity or NaN: what `mul_no_nan`
    /// is for numbers. Derivatives of factorizations are made of such products.
    Product(
        /// Whether it is `a^T b` instead.
        transposed: bool
    ) {
        names: [(transposed: false) "product_no_nan", (transposed: true) "product_no_nan.t"],
        operands: 2,
        square: false,
        linear: 1, adjoint: Matrix::Product { transposed: !transposed },
        by_column: true,
        results: |Sizes { m, n, columns, .. }| [Float(smallvec![if transposed { n } else { m }, columns])],
        work: |s| s.square().saturating_mul(s.columns),
    }
    /// The matrix exponential, `e^a = sum_k a^k / k!`.
    Expm {
        names: [() "expm"],
        operands: 1,
        square: true,
        results: |Sizes { n, .. }| [Float(smallvec![n, n])],
        work: |s| s.cube().saturating_mul(20),
    }
    /// The prefix products of each column: `y[i] = a[0] .. a[i]`. Of any matrix.
    PrefixProduct {
        names: [() "prefix_product"],
        operands: 1,
        square: false,
        results: |Sizes { m, n, .. }| [Float(smallvec![m, n])],
        work: |s| s.square(),
    }
    /// The first-order linear recurrence of each column: `y[0] = b[0]`, `y[i] = b[i] + a[i] y[i - 1]`, that is, the
    /// solution of a system with a bidiagonal matrix, `1` on and `-a` below the diagonal. The operands are `a`, whose
    /// first row is not read, and `b`, of any one shape.
    Recurrence(
        /// Whether the transposed system is solved: `y[i] = b[i] + a[i + 1] y[i + 1]`.
        transposed: bool
    ) {
        names: [(transposed: false) "recurrence", (transposed: true) "recurrence.t"],
        operands: 2,
        square: false,
        linear: 1, adjoint: Matrix::Recurrence { transposed: !transposed },
        results: |Sizes { m, n, .. }| [Float(smallvec![m, n])],
        work: |s| s.square().saturating_mul(2),
    }
    /// The derivative of the matrix exponential of `a` in the direction `e`. The operands are `a` and `e`.
    ExpmTangent(
        /// Whether the exponential is that of `a^T`.
        transposed: bool
    ) {
        names: [(transposed: false) "expm_tangent", (transposed: true) "expm_tangent.t"],
        operands: 2,
        square: true,
        linear: 1, adjoint: Matrix::ExpmTangent { transposed: !transposed },
        results: |Sizes { n, .. }| [Float(smallvec![n, n])],
        work: |s| s.cube().saturating_mul(160),
    }
}

impl Matrix {
    /// Shapes and element types of the results.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Matrix;
    /// // Of a batch of two matrices with three rows and two columns.
    /// let results = Matrix::Qr.try_results(&[(&[2, 3, 2], DType::F64)])?;
    /// assert_eq!((&results[0].0[..], &results[1].0[..]), (&[2, 3, 2][..], &[2, 2, 2][..]));
    /// assert!(Matrix::Det.try_results(&[(&[3, 2], DType::F64)]).is_err());
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// When the operands do not fit.
    pub fn try_results(self, args: &[Kind<'_>]) -> Result<Vec<(Shape, DType)>, String> {
        let name = self.name();
        if args.len() != self.arity() {
            return Err(format!("{name}: takes {} operands, but there are {}; pass as many", self.arity(), args.len()));
        }
        let (a, dtype) = args[0];
        if !dtype.is_float() {
            return Err(format!("{name}: needs floats, but the element type is {dtype}; convert it with to_float"));
        }
        self.try_matrix(a)?;
        if let Some((b, other)) = args.get(1) {
            self.right(a, b)?;
            if *other != dtype {
                return Err(format!("{name}: needs floats of one type, but they are {dtype} and {other}; convert one"));
            }
        }
        if let Some(factors) = self.factors()
            && !factors
                .try_results(&args[..1])?
                .iter()
                .zip(&args[2..])
                .all(|((shape, dtype), x)| *x == (&shape[..], *dtype))
        {
            return Err(format!(
                "{name}: needs the factors of its matrix, but they have other shapes; use {}",
                factors.name()
            ));
        }
        let (batch, sizes) = (&a[..a.len() - 2], Sizes::of(args).expect("a matrix has two axes"));
        let shape = |axes: &[usize]| batch.iter().chain(axes).copied().collect::<Shape>();
        let result = |extent: &Extent| match extent {
            Float(axes) => (shape(axes), dtype),
            Int(axes) => (shape(axes), DType::I64),
        };
        Ok(self.extents(sizes).iter().map(result).collect())
    }

    /// An error unless the operation takes a matrix of this shape.
    pub(crate) fn try_matrix(self, a: &[usize]) -> Result<(), String> {
        let name = self.name();
        let [.., m, n] = a else {
            return Err(format!("{name}: needs a matrix, but the shape is {}; give it two axes or more", Show(a)));
        };
        if self.is_square() && m != n {
            return Err(format!(
                "{name}: the matrix must be square, but the shape is {}; slice it, or use lstsq",
                Show(a)
            ));
        }
        if let Matrix::Minors { without } = self
            && (!(1..=minors::MOST).contains(&without.into()) || without > 1 && *n > minors::MOST)
        {
            return Err(format!(
                "{name}: must leave out 1 row, or up to {} rows of a matrix of at most {}, but leaves out {without} and the shape is {}; slice the matrix",
                minors::MOST,
                minors::MOST,
                Show(a)
            ));
        }
        Ok(())
    }

    /// The operation whose first results are the operands from the third one on.
    pub(crate) fn factors(self) -> Option<Matrix> {
        match self {
            Matrix::Solve { .. } => Some(Matrix::LuFactor),
            Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => Some(Matrix::LstsqFactor),
            Matrix::EighSolve => Some(Matrix::Eigh),
            Matrix::SvdSolve => Some(Matrix::Svd),
            Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::Minors { .. } | Matrix::Pivots => None,
            Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor | Matrix::SolveTriangular { .. } | Matrix::Qr => None,
            Matrix::Eigh | Matrix::Svd | Matrix::LstsqFactor | Matrix::Product { .. } => None,
            Matrix::Expm | Matrix::ExpmTangent { .. } | Matrix::PrefixProduct | Matrix::Recurrence { .. } => None,
        }
    }

    /// Whether the tangent of a result can be infinite or NaN where the value is finite: vectors have no finite tangent
    /// at equal eigenvalues or singular values, and factors of a singular matrix have none.
    pub(crate) fn is_steep(self, result: usize) -> bool {
        let factors = matches!(self, Matrix::Qr | Matrix::Lu | Matrix::LuFactor | Matrix::LstsqFactor);
        let solutions = matches!(self, Matrix::EighSolve | Matrix::SvdSolve);
        factors || solutions || (self == Matrix::Eigh && result == 1) || (self == Matrix::Svd && result != 1)
    }

    /// Whether the operand at a position is of integers: the order of rows of a solution.
    pub(crate) fn takes_integers(self, position: usize) -> bool {
        matches!(self, Matrix::Solve { .. }) && position == 3
    }

    /// The number of rows of the second operand, and of its columns if there is one number for a matrix of this shape.
    pub(crate) fn right_sizes(self, [m, n]: [usize; 2]) -> (usize, Option<usize>) {
        match self {
            Matrix::Product { transposed: false } | Matrix::Lstsq { transposed: true } => (n, None),
            Matrix::NullProjection { transposed: false } => (n, None),
            Matrix::EighSolve => (n + 1, Some(n)),
            Matrix::SvdSolve => (m + n + 2, Some(m.min(n))),
            Matrix::ExpmTangent { .. } | Matrix::Recurrence { .. } => (m, Some(n)),
            Matrix::Product { transposed: true } | Matrix::Lstsq { transposed: false } => (m, None),
            Matrix::NullProjection { transposed: true } => (m, None),
            Matrix::Solve { .. } | Matrix::SolveTriangular { .. } => (m, None),
            // These have no second operand.
            Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::Minors { .. } | Matrix::Pivots => (m, None),
            Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor | Matrix::Qr | Matrix::Eigh | Matrix::Svd => (m, None),
            Matrix::LstsqFactor | Matrix::Expm | Matrix::PrefixProduct => (m, None),
        }
    }

    /// An error unless the second operand fits the matrix.
    fn right(self, a: &[usize], b: &[usize]) -> Result<(), String> {
        let at = a.len() - 2;
        let (rows, columns) = self.right_sizes([a[at], a[at + 1]]);
        let alike = b.len() == a.len() && b[..at] == a[..at];
        if alike && b[at] == rows && columns.is_none_or(|columns| columns == b[at + 1]) {
            return Ok(());
        }
        let each = match rows {
            _ if matches!(self, Matrix::EighSolve | Matrix::SvdSolve) => "a row for each equation",
            rows if rows == a[at] => "a row for each row of the matrix",
            _ => "a row for each column of the matrix",
        };
        Err(format!(
            "{}: the right-hand side must have {each}, and the same leading axes, but the shapes are {} and {}; \
             reshape or replicate one",
            self.name(),
            Show(a),
            Show(b)
        ))
    }

    /// The approximate number of additions and multiplications.
    pub(crate) fn work(self, args: &[Kind<'_>]) -> usize {
        let Some(sizes) = Sizes::of(args) else { return 0 };
        let batch = &args[0].0[..args[0].0.len() - 2];
        self.work_of_one(sizes).saturating_add(sizes.square()).saturating_mul(size(batch))
    }
}
