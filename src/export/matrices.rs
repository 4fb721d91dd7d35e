//! Linear algebra in StableHLO: `cholesky`, `triangular_solve`, and formulas made of them.
//!
//! [`super::factors`] has the other factorizations.
//!
//! Law: a matrix without a result gives NaN everywhere, and of a right-hand side, a column of zeros gives a column of zeros.

use super::text::{HloValue, Region, Ty, types};
use crate::ops::Matrix;

impl Region {
    pub(super) fn matrix(&mut self, op: Matrix, args: &[HloValue]) -> Vec<HloValue> {
        let a = &args[0];
        match op {
            Matrix::Cholesky => vec![self.cholesky(a)],
            Matrix::SolveTriangular { lower, transposed, unit } => {
                vec![self.solve_triangular(a, &args[1], [lower, transposed, unit])]
            }
            Matrix::LuFactor => self.lu_factor(a).into(),
            Matrix::Lu => {
                let [lu, p] = self.lu_factor(a);
                let (zero, one) = (self.like(0.0, &lu), self.like(1.0, &lu));
                let (below, on) = (self.triangle("GT", &lu), self.triangle("EQ", &lu));
                let l = self.select(&below, &lu, &zero);
                let l = self.select(&on, &one, &l);
                let u = self.select(&below, &zero, &lu);
                vec![l, u, p]
            }
            Matrix::Solve { transposed } => vec![self.solve([&args[2], &args[3]], &args[1], transposed)],
            Matrix::Inverse => {
                let [lu, p] = self.lu_factor(a);
                let one = self.diagonal_of(1.0, a);
                vec![self.solve([&lu, &p], &one, false)]
            }
            Matrix::Det => vec![self.determinant(a)],
            Matrix::Minors { without } => vec![self.minors(without.into(), a)],
            Matrix::Pivots => self.complete_pivots(a).into(),
            Matrix::SlogDet => self.log_determinant(a).into(),
            Matrix::Qr => self.qr(a).into(),
            Matrix::Eigh => self.eigh(a).into(),
            Matrix::LstsqFactor => self.lstsq_factor(a).into(),
            Matrix::Lstsq { transposed } => vec![self.least_squares(args, transposed)],
            Matrix::NullProjection { transposed } => vec![self.null_projection(args, transposed)],
            Matrix::EighSolve => vec![self.eigh_solve(args)],
            Matrix::SvdSolve => vec![self.svd_solve(args)],
            Matrix::Product { transposed } => {
                let left = if transposed { self.transposed(a) } else { a.clone() };
                vec![self.product_no_nan(&left, &args[1])]
            }
            Matrix::Expm => vec![self.matrix_exponential(a)],
            Matrix::ExpmTangent { transposed } => vec![self.exponential_tangent(a, &args[1], transposed)],
            Matrix::Svd => self.svd(a).into(),
            Matrix::PrefixProduct => vec![self.recurrence(a, None, false)],
            Matrix::Recurrence { transposed } => vec![self.recurrence(a, Some(&args[1]), transposed)],
        }
    }

    /// The recurrences along the rows, or without right-hand sides the prefix products: for each power of two below the
    /// number of rows, those of that many last rows are applied to what is before.
    fn recurrence(&mut self, a: &HloValue, b: Option<&HloValue>, transposed: bool) -> HloValue {
        if a.shape.contains(&0) {
            return a.clone();
        }
        let (axis, m) = (a.shape.len() - 2, a.shape[a.shape.len() - 2]);
        let part = |code: &mut Region, x: &HloValue, start: usize, end: usize| {
            let mut parts: Vec<_> = x.shape.iter().map(|n| (0, *n, 1)).collect();
            parts[axis] = (start, end, 1);
            code.slice(x, &parts)
        };
        // The factor of each row: transposed, that of the next one, and any at the last row.
        let mut factors = a.clone();
        if transposed && m > 1 {
            let parts = [part(self, a, 1, m), part(self, a, 0, 1)];
            factors = self.concat(axis, &parts);
        }
        let (mut y, mut width) = (b.cloned(), 1);
        while width < m {
            // Rows that have rows at this distance before them, these rows, and the rows that have none.
            let [here, before, others] = match transposed {
                false => [(width, m), (0, m - width), (0, width)],
                true => [(0, m - width), (width, m), (m - width, m)],
            };
            let [mut factor, earlier] = [here, before].map(|(start, end)| part(self, &factors, start, end));
            let joined = |code: &mut Region, new: HloValue, old: &HloValue| {
                let old = part(code, old, others.0, others.1);
                code.concat(axis, &if transposed { [new, old] } else { [old, new] })
            };
            if let Some(value) = &y {
                let [now, then] = [here, before].map(|(start, end)| part(self, value, start, end));
                let added = self.binary("multiply", &factor, &then);
                let sum = self.binary("add", &now, &added);
                y = Some(joined(self, sum, value));
            }
            factor = self.binary("multiply", &factor, &earlier);
            factors = joined(self, factor, &factors);
            width *= 2;
        }
        y.unwrap_or(factors)
    }

    /// The matrices with their last two axes exchanged.
    pub(super) fn transposed(&mut self, a: &HloValue) -> HloValue {
        let rank = a.shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(rank - 2, rank - 1);
        self.transpose(a, &order)
    }

    /// The mask of the elements whose row compares to their column: `GE` for the diagonal and below.
    pub(super) fn triangle(&mut self, how: &str, like: &HloValue) -> HloValue {
        let rank = like.shape.len();
        let (row, column) = (self.iota(&like.shape, rank - 2), self.iota(&like.shape, rank - 1));
        self.compare(how, &row, &column)
    }

    /// Whether a mask holds for all elements of each matrix, as a mask of the shape of `like`.
    pub(super) fn everywhere(&mut self, mask: &HloValue, like: &HloValue) -> HloValue {
        let rank = mask.shape.len();
        let all = self.reduce("and", mask, 1.0, &[rank - 2, rank - 1]);
        let batch: Vec<usize> = (0..rank - 2).collect();
        self.broadcast(&all, &like.shape, &batch)
    }

    pub(super) fn finite(&mut self, a: &HloValue) -> HloValue {
        self.op(format!("stablehlo.is_finite {} : ({}) -> ", a.name, a.tensor()), &a.shape, Ty::Bool)
    }

    /// The lower Cholesky factor of the symmetric part.
    fn cholesky(&mut self, a: &HloValue) -> HloValue {
        if a.shape.contains(&0) {
            return a.clone();
        }
        let (t, half, zero, nan) = (self.transposed(a), self.like(0.5, a), self.like(0.0, a), self.like(f64::NAN, a));
        let twice = self.binary("add", a, &t);
        let symmetric = self.binary("multiply", &twice, &half);
        let l = self.op(format!("stablehlo.cholesky {}, lower = true : ", symmetric.name), &a.shape, a.ty);
        let below = self.triangle("GE", &l);
        let l = self.select(&below, &l, &zero);
        let finite = self.finite(&l);
        let done = self.everywhere(&finite, &l);
        self.select(&done, &l, &nan)
    }

    /// The solution of a triangular system with a triangle of a matrix.
    pub(super) fn solve_triangular(
        &mut self,
        a: &HloValue,
        b: &HloValue,
        [lower, transposed, unit]: [bool; 3],
    ) -> HloValue {
        if a.shape.contains(&0) || b.shape.contains(&0) {
            return b.clone();
        }
        let nan = self.like(f64::NAN, b);
        // Elements outside the triangle may be NaN, so they are replaced.
        let (one, nothing) = (self.like(1.0, a), self.like(0.0, a));
        let mut counts = self.triangle(if lower { "GE" } else { "LE" }, a);
        if unit {
            counts = self.triangle(if lower { "GT" } else { "LT" }, a);
        }
        let triangle = self.select(&counts, a, &nothing);
        let mut fine = self.finite(&triangle);
        if !unit {
            let diagonal = self.triangle("EQ", a);
            let at_diagonal = self.select(&diagonal, a, &one);
            let regular = self.compare("NE", &at_diagonal, &nothing);
            fine = self.binary("and", &fine, &regular);
        }
        let transpose = if transposed { "TRANSPOSE" } else { "NO_TRANSPOSE" };
        let text = format!(
            "\"stablehlo.triangular_solve\"({}, {}) <{{left_side = true, lower = {lower}, transpose_a = #stablehlo<transpose {transpose}>, \
             unit_diagonal = {unit}}}> : ({}) -> ",
            triangle.name,
            b.name,
            types([&triangle, b])
        );
        let x = self.op(text, &b.shape, b.ty);
        let fine = self.everywhere(&fine, b);
        let x = self.select(&fine, &x, &nan);
        self.or_zeros(b, &x)
    }

    /// The multiple `x` of the identity matrix, in the shape and type of `like`.
    pub(super) fn diagonal_of(&mut self, x: f64, like: &HloValue) -> HloValue {
        let on = self.triangle("EQ", like);
        let (x, zero) = (self.like(x, like), self.like(0.0, like));
        self.select(&on, &x, &zero)
    }

    /// The value for the matrices of `of` whose elements are all finite, and NaN for the others.
    pub(super) fn if_finite(&mut self, of: &HloValue, value: &HloValue) -> HloValue {
        let finite = self.finite(of);
        let rank = of.shape.len();
        let all = self.reduce("and", &finite, 1.0, &[rank - 2, rank - 1]);
        let batch: Vec<usize> = (0..rank - 2).collect();
        let all = self.broadcast(&all, &value.shape, &batch);
        let nan = self.like(f64::NAN, value);
        self.select(&all, value, &nan)
    }

    /// The matrix product.
    pub(super) fn matmul(&mut self, a: &HloValue, b: &HloValue) -> HloValue {
        let rank = a.shape.len();
        let batch: Vec<usize> = (0..rank - 2).collect();
        self.dot(a, b, [&batch, &batch], [&[rank - 1], &[rank - 2]])
    }

    /// The rows of `b` in the order `p`.
    fn rows_at(&mut self, b: &HloValue, p: &HloValue) -> HloValue {
        let batch = p.shape.len() - 1;
        let mut ix: Vec<HloValue> = (0..batch).map(|axis| self.iota(&p.shape, axis)).collect();
        ix.push(p.clone());
        let pairs: Vec<(usize, usize)> = (0..batch).map(|axis| (axis, axis)).collect();
        self.gather_at(b, &(0..=batch).collect::<Vec<usize>>(), &ix, &pairs)
    }

    /// The solution by the LU factors of a matrix.
    pub(super) fn solve(&mut self, [lu, p]: [&HloValue; 2], b: &HloValue, transposed: bool) -> HloValue {
        if b.shape.contains(&0) {
            return b.clone();
        }
        let x = if transposed {
            let y = self.solve_triangular(lu, b, [false, true, false]);
            let y = self.solve_triangular(lu, &y, [true, true, true]);
            // The inverse permutation.
            let back = self.argsort(p, p.shape.len() - 1, false);
            self.rows_at(&y, &back)
        } else {
            let rows = self.rows_at(b, p);
            let y = self.solve_triangular(lu, &rows, [true, false, true]);
            self.solve_triangular(lu, &y, [false, false, false])
        };
        let x = self.if_finite(lu, &x);
        self.or_zeros(b, &x)
    }

    /// The solution `x`, with zeros for columns of zeros of `b`.
    pub(super) fn or_zeros(&mut self, b: &HloValue, x: &HloValue) -> HloValue {
        let nothing = self.compare_with("EQ", b, 0.0);
        let nothing = self.reduce("and", &nothing, 1.0, &[b.shape.len() - 2]);
        let nothing = self.along(&nothing, &x.shape, 1);
        let zeros = self.like(0.0, x);
        self.select(&nothing, &zeros, x)
    }

    /// The value `x`, with zeros for matrices of zeros of `b`.
    fn or_zero_matrices(&mut self, b: &HloValue, x: &HloValue) -> HloValue {
        let nothing = self.compare_with("EQ", b, 0.0);
        let rank = b.shape.len();
        let all = self.reduce("and", &nothing, 1.0, &[rank - 2, rank - 1]);
        let batch: Vec<usize> = (0..rank - 2).collect();
        let all = self.broadcast(&all, &x.shape, &batch);
        let zeros = self.like(0.0, x);
        self.select(&all, &zeros, x)
    }

    /// The pivots, which are the diagonal of the factor `u`, and the sign of the permutation of rows.
    fn pivots(&mut self, a: &HloValue) -> (HloValue, HloValue) {
        let rank = a.shape.len();
        let [lu, p] = self.lu_factor(a);
        let (on, one) = (self.triangle("EQ", &lu), self.like(1.0, &lu));
        let pivots = self.select(&on, &lu, &one);
        let pivots = self.reduce("multiply", &pivots, 1.0, &[rank - 2]);
        (pivots, self.parity(&p, a))
    }

    /// The sign of the permutations `p`, in the type of `a`: -1 if the number of inversions is odd, else 1.
    pub(super) fn parity(&mut self, p: &HloValue, a: &HloValue) -> HloValue {
        let rank = a.shape.len();
        let batch: Vec<usize> = (0..rank - 2).collect();
        let [left, right] = [rank - 2, rank - 1].map(|axis| {
            let axes: Vec<usize> = batch.iter().copied().chain([axis]).collect();
            self.broadcast(p, &a.shape, &axes)
        });
        let (before, above) = (self.triangle("LT", &left), self.compare("GT", &left, &right));
        let wrong = self.binary("and", &before, &above);
        let wrong = self.convert(&wrong, Ty::I64);
        let count = self.sum(&wrong, &[rank - 2, rank - 1]);
        let two = self.like(2.0, &count);
        let odd = self.binary("remainder", &count, &two);
        let odd = self.compare_with("EQ", &odd, 1.0);
        let [plus, minus] = [1.0, -1.0].map(|sign| self.full(sign, &odd.shape, a.ty));
        self.select(&odd, &minus, &plus)
    }

    pub(super) fn determinant(&mut self, a: &HloValue) -> HloValue {
        let rank = a.shape.len();
        if a.shape.contains(&0) {
            return self.full(1.0, &a.shape[..rank - 2], a.ty);
        }
        let (pivots, sign) = self.pivots(a);
        let product = self.reduce("multiply", &pivots, 1.0, &[rank - 2]);
        let det = self.binary("multiply", &sign, &product);
        self.if_finite(a, &det)
    }

    fn log_determinant(&mut self, a: &HloValue) -> [HloValue; 2] {
        let rank = a.shape.len();
        if a.shape.contains(&0) {
            return [1.0, 0.0].map(|x| self.full(x, &a.shape[..rank - 2], a.ty));
        }
        let (pivots, parity) = self.pivots(a);
        let sizes = self.unary("abs", &pivots);
        let logs = self.unary("log", &sizes);
        let log = self.sum(&logs, &[rank - 2]);
        let signs = self.unary("sign", &pivots);
        let product = self.reduce("multiply", &signs, 1.0, &[rank - 2]);
        let sign = self.binary("multiply", &parity, &product);
        let singular = self.compare_with("EQ", &product, 0.0);
        let zero = self.like(0.0, &sign);
        let sign = self.select(&singular, &zero, &sign);
        [self.if_finite(a, &sign), self.if_finite(a, &log)]
    }

    /// The tangent of the exponential: a block of the exponential of a matrix of twice the size.
    fn exponential_tangent(&mut self, a: &HloValue, e: &HloValue, transposed: bool) -> HloValue {
        if a.shape.contains(&0) {
            return a.clone();
        }
        let (rank, n) = (a.shape.len(), a.shape[a.shape.len() - 1]);
        let matrix = if transposed { self.transposed(a) } else { a.clone() };
        let zero = self.like(0.0, &matrix);
        let top = self.concat(rank - 1, &[matrix.clone(), e.clone()]);
        let bottom = self.concat(rank - 1, &[zero, matrix]);
        let block = self.concat(rank - 2, &[top, bottom]);
        let whole = self.matrix_exponential(&block);
        let mut parts: Vec<_> = whole.shape.iter().map(|n| (0, *n, 1)).collect();
        parts[rank - 2] = (0, n, 1);
        parts[rank - 1] = (n, 2 * n, 1);
        let tangent = self.slice(&whole, &parts);
        self.or_zero_matrices(e, &tangent)
    }
}
