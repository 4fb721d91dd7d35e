//! Operations of linear algebra, on the matrices along the last two axes; other axes are a batch.
//!
//! Laws: each is one operation in every interpreter. A matrix that has no result (not positive definite, singular) gives
//! NaN, and does not disturb the others of its batch; the solution of a right-hand side of zeros is zeros. Derivatives
//! are in [`crate::linalg`], and are made of these operations.

use super::kinds::Kind;
use super::minors;
use crate::dtype::DType;
use crate::shape::{Shape, Show, size};

/// An operation on matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Matrix {
    /// `l`, lower triangular, with `l l^T = (a + a^T) / 2`.
    Cholesky,
    /// `a^-1`.
    Inverse,
    /// The determinant.
    Det,
    /// The minors without so many rows and columns: the determinants of what is left where these are taken out of the
    /// matrix, a row for each set of rows and a column for each set of columns (with the set as a number whose bits are
    /// the positions, these are in ascending order), with another sign where the sum of all positions is odd. Without one
    /// row and column: the cofactors, the derivatives of the determinant.
    Minors {
        /// From 1 to 8; 1 for matrices of more than 8 rows.
        without: u8,
    },
    /// The rows and the columns in the order of elimination with the largest pivots of all, as two rows of positions, and
    /// -1 or 1 as these orders are together odd or even; NaN instead where more than 4 pivots are small: not above the
    /// first one times the square root of the rounding unit. Without a derivative.
    Pivots,
    /// The sign of the determinant, and the logarithm of its absolute value.
    SlogDet,
    /// `l`, unit lower triangular, `u`, upper triangular, and the row of `a` at each row of `l u`.
    Lu,
    /// `l` and `u` in one matrix, and the row of `a` at each row of `l u`; without a derivative, for [`Matrix::Solve`].
    LuFactor,
    /// `x` with `a x = b`, of `a`, `b` and the factors of `a`.
    Solve {
        /// Whether `a^T x = b` instead.
        transposed: bool,
    },
    /// `x` with `a x = b`, of `a` and `b`, where only a triangle of `a` counts.
    SolveTriangular {
        /// Whether that is the lower triangle.
        lower: bool,
        /// Whether `a^T x = b` instead.
        transposed: bool,
        /// Whether ones stand on the diagonal, whatever is there.
        unit: bool,
    },
    /// `q`, with orthonormal columns, and `r`, upper triangular with a diagonal that is not negative, with `q r = a`.
    Qr,
    /// The eigenvalues of `(a + a^T) / 2` in ascending order, and the eigenvectors as columns.
    Eigh,
    /// `u`, `s` in descending order and `v^T`, with `u diag(s) v^T = a`, as many columns and rows as singular values.
    Svd,
    /// `x` with the smallest `|a x - b|`, of `a` and `b`.
    Lstsq,
    /// `e^a = sum_k a^k / k!`.
    Expm,
    /// The derivative of `e^a` in the direction `e`, of `a` and `e`.
    ExpmTangent {
        /// Whether it is that of `e^(a^T)`.
        transposed: bool,
    },
}

impl Matrix {
    /// Every operation.
    pub const ALL: &'static [Matrix] = &[
        Matrix::Cholesky,
        Matrix::Inverse,
        Matrix::Det,
        Matrix::Minors { without: 1 },
        Matrix::Minors { without: 2 },
        Matrix::Minors { without: 3 },
        Matrix::Minors { without: 4 },
        Matrix::Minors { without: 5 },
        Matrix::Minors { without: 6 },
        Matrix::Minors { without: 7 },
        Matrix::Minors { without: 8 },
        Matrix::Pivots,
        Matrix::SlogDet,
        Matrix::Lu,
        Matrix::LuFactor,
        Matrix::Solve { transposed: false },
        Matrix::Solve { transposed: true },
        Matrix::SolveTriangular { lower: false, transposed: false, unit: false },
        Matrix::SolveTriangular { lower: false, transposed: false, unit: true },
        Matrix::SolveTriangular { lower: false, transposed: true, unit: false },
        Matrix::SolveTriangular { lower: false, transposed: true, unit: true },
        Matrix::SolveTriangular { lower: true, transposed: false, unit: false },
        Matrix::SolveTriangular { lower: true, transposed: false, unit: true },
        Matrix::SolveTriangular { lower: true, transposed: true, unit: false },
        Matrix::SolveTriangular { lower: true, transposed: true, unit: true },
        Matrix::Qr,
        Matrix::Eigh,
        Matrix::Svd,
        Matrix::Lstsq,
        Matrix::Expm,
        Matrix::ExpmTangent { transposed: false },
        Matrix::ExpmTangent { transposed: true },
    ];

    /// The name of the operation in printed programs.
    pub fn name(self) -> &'static str {
        match self {
            Matrix::Cholesky => "cholesky",
            Matrix::Inverse => "inverse",
            Matrix::Det => "det",
            Matrix::Minors { without } => match without {
                ..=1 => "cofactors",
                2 => "minors.2",
                3 => "minors.3",
                4 => "minors.4",
                5 => "minors.5",
                6 => "minors.6",
                7 => "minors.7",
                8.. => "minors.8",
            },
            Matrix::Pivots => "pivots",
            Matrix::SlogDet => "slogdet",
            Matrix::Lu => "lu",
            Matrix::LuFactor => "lu_factor",
            Matrix::Solve { transposed: false } => "solve",
            Matrix::Solve { transposed: true } => "solve.t",
            Matrix::SolveTriangular { lower, transposed, unit } => match (lower, transposed, unit) {
                (true, false, false) => "solve_lower",
                (true, false, true) => "solve_unit_lower",
                (true, true, false) => "solve_lower.t",
                (true, true, true) => "solve_unit_lower.t",
                (false, false, false) => "solve_upper",
                (false, false, true) => "solve_unit_upper",
                (false, true, false) => "solve_upper.t",
                (false, true, true) => "solve_unit_upper.t",
            },
            Matrix::Qr => "qr",
            Matrix::Eigh => "eigh",
            Matrix::Svd => "svd",
            Matrix::Lstsq => "lstsq",
            Matrix::Expm => "expm",
            Matrix::ExpmTangent { transposed: false } => "expm_tangent",
            Matrix::ExpmTangent { transposed: true } => "expm_tangent.t",
        }
    }

    /// The number of operands.
    pub fn arity(self) -> usize {
        match self {
            Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor => 1,
            Matrix::Qr | Matrix::Eigh | Matrix::Svd | Matrix::Expm | Matrix::Minors { .. } | Matrix::Pivots => 1,
            Matrix::SolveTriangular { .. } | Matrix::Lstsq | Matrix::ExpmTangent { .. } => 2,
            Matrix::Solve { .. } => 4,
        }
    }

    /// The operand in which the operation is linear, with the others fixed, if its [`adjoint`](Matrix::adjoint) in
    /// this operand is one of these operations, too.
    pub fn linear_in(self) -> Option<usize> {
        match self {
            Matrix::Solve { .. } | Matrix::SolveTriangular { .. } | Matrix::ExpmTangent { .. } => Some(1),
            Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor => None,
            Matrix::Qr | Matrix::Eigh | Matrix::Svd | Matrix::Lstsq | Matrix::Expm => None,
            Matrix::Minors { .. } | Matrix::Pivots => None,
        }
    }

    /// The adjoint in the operand in which the operation [is linear](Matrix::linear_in): the same operation with the
    /// other matrices transposed. Other operations are their own.
    pub fn adjoint(self) -> Matrix {
        match self {
            Matrix::Solve { transposed } => Matrix::Solve { transposed: !transposed },
            Matrix::SolveTriangular { lower, transposed, unit } => {
                Matrix::SolveTriangular { lower, transposed: !transposed, unit }
            }
            Matrix::ExpmTangent { transposed } => Matrix::ExpmTangent { transposed: !transposed },
            Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor => self,
            Matrix::Qr | Matrix::Eigh | Matrix::Svd | Matrix::Lstsq | Matrix::Expm => self,
            Matrix::Minors { .. } | Matrix::Pivots => self,
        }
    }

    /// Whether the matrix must be square.
    fn is_square(self) -> bool {
        !matches!(self, Matrix::Qr | Matrix::Svd | Matrix::Lstsq)
    }

    /// Shapes and element types of the results.
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
        let [batch @ .., m, n] = a else { unreachable!("a matrix has two axes") };
        if let Some((b, other)) = args.get(1) {
            self.right(a, b)?;
            if *other != dtype {
                return Err(format!("{name}: needs floats of one type, but they are {dtype} and {other}; convert one"));
            }
        }
        if let [_, _, lu, p] = args {
            let rows: Shape = batch.iter().chain([n]).copied().collect();
            if *lu != (a, dtype) || *p != (&rows[..], DType::I64) {
                return Err(format!(
                    "{name}: needs the factors of its matrix, but they have other shapes; use lu_factor"
                ));
            }
        }
        let shape = |axes: &[usize]| batch.iter().chain(axes).copied().collect::<Shape>();
        let (m, n, k) = (*m, *n, (*m).min(*n));
        let float = |axes: &[usize]| (shape(axes), dtype);
        Ok(match self {
            Matrix::Cholesky | Matrix::Inverse | Matrix::Expm => vec![float(&[n, n])],
            Matrix::Det => vec![float(&[])],
            Matrix::Minors { without } => {
                let count = match without {
                    1 => n,
                    without => minors::count(n, without.into()),
                };
                vec![float(&[count, count])]
            }
            Matrix::Pivots => vec![(shape(&[2, n]), DType::I64), float(&[])],
            Matrix::SlogDet => vec![float(&[]), float(&[])],
            Matrix::Lu => vec![float(&[n, n]), float(&[n, n]), (shape(&[n]), DType::I64)],
            Matrix::LuFactor => vec![float(&[n, n]), (shape(&[n]), DType::I64)],
            Matrix::Solve { .. } | Matrix::SolveTriangular { .. } => vec![(Shape::from_slice(args[1].0), dtype)],
            Matrix::ExpmTangent { .. } => vec![float(&[n, n])],
            Matrix::Qr => vec![float(&[m, k]), float(&[k, n])],
            Matrix::Eigh => vec![float(&[n]), float(&[n, n])],
            Matrix::Svd => vec![float(&[m, k]), float(&[k]), float(&[k, n])],
            Matrix::Lstsq => vec![float(&[n, args[1].0[batch.len() + 1]])],
        })
    }

    /// Whether a matrix of this shape is one that the operation takes.
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
        if self == Matrix::Lstsq && m < n {
            return Err(format!(
                "lstsq: the matrix must have at least as many rows as columns, but the shape is {}; add equations, or a penalty",
                Show(a)
            ));
        }
        Ok(())
    }

    /// Whether a second operand fits the matrix.
    fn right(self, a: &[usize], b: &[usize]) -> Result<(), String> {
        let rows = a.len() - 2;
        let fits = b.len() == a.len() && b[..=rows] == a[..=rows];
        let square = !matches!(self, Matrix::ExpmTangent { .. }) || b == a;
        if fits && square {
            return Ok(());
        }
        Err(format!(
            "{}: the right-hand side must have a row for each row of the matrix, and the same leading axes, but the shapes are {} and {}; \
             reshape or replicate one",
            self.name(),
            Show(a),
            Show(b)
        ))
    }

    /// About the number of additions and multiplications.
    pub(crate) fn work(self, args: &[Kind<'_>]) -> usize {
        let Some((shape, _)) = args.first() else { return 0 };
        let [batch @ .., m, n] = shape else { return 0 };
        let columns = args.get(1).and_then(|(b, _)| b.last()).copied().unwrap_or(1);
        let cube = m.saturating_mul(*n).saturating_mul((*m).min(*n));
        let one = match self {
            Matrix::Cholesky => cube / 3,
            Matrix::Det | Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor => cube / 3 * 2,
            Matrix::Inverse => cube.saturating_mul(2),
            Matrix::Minors { without: 1 } => cube.saturating_mul(3),
            Matrix::Minors { without } => minors::count(*n, without.into()) << n.min(&minors::MOST),
            Matrix::Pivots => cube,
            Matrix::Solve { .. } => m.saturating_mul(*n).saturating_mul(columns.saturating_mul(2)),
            Matrix::SolveTriangular { .. } => m.saturating_mul(*n).saturating_mul(columns),
            Matrix::Qr => cube.saturating_mul(4),
            Matrix::Lstsq => cube.saturating_mul(4),
            Matrix::Eigh => cube.saturating_mul(9),
            Matrix::Svd => cube.saturating_mul(20),
            Matrix::Expm => cube.saturating_mul(20),
            Matrix::ExpmTangent { .. } => cube.saturating_mul(160),
        };
        one.saturating_add(m.saturating_mul(*n)).saturating_mul(size(batch))
    }
}
