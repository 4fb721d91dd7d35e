//! Operations of linear algebra on batches of small matrices: one lane of a vector register for each matrix.
//!
//! Laws: those of the module above. A matrix has the same bits in any lane and alone, since all lanes compute the same
//! operations and no instruction set fuses a product and a sum here, except for the errors of products, which are exact in
//! any way (`closed`). What depends on the data of a matrix, such as an
//! exchange of rows, is a selection between two values of the lane.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

mod closed;
mod cofactors;
mod lanes;
mod reflections;

use super::batch::{MatrixOperands, MatrixResults};
use super::{Real, abs, nan, product, scaled_product};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch, dispatch_full};
use crate::ops::Matrix;
use lanes::{LaneNumbers, Live, are_finite, are_zero, fill_unless, is_regular};

/// The largest number of rows of a small matrix.
pub(crate) const MOST: usize = 8;

/// The number of matrices that are computed at once.
const LANES: usize = 8;

/// The elements of `L` matrices, row by row.
type Square<E, const L: usize> = [LaneNumbers<E, L>; MOST * MOST];

/// A column of each of `L` matrices.
type Column<E, const L: usize> = [LaneNumbers<E, L>; MOST];

/// The operations that have a kernel here.
#[derive(Clone, Copy)]
enum Small {
    Cholesky,
    Qr,
    Inverse,
    Det,
    SlogDet,
    Cofactors,
    Lu,
    LuFactor,
    Solve { transposed: bool },
    SolveTriangular { lower: bool, transposed: bool, unit: bool },
}

impl Small {
    /// The kernel of an operation on matrices of `m` rows and `n` columns.
    fn of(op: Matrix, [m, n]: [usize; 2]) -> Option<Small> {
        if m == 0 || n == 0 || m > MOST || n > MOST {
            return None;
        }
        match op {
            Matrix::Cholesky => Some(Small::Cholesky),
            Matrix::Qr => Some(Small::Qr),
            Matrix::Inverse => Some(Small::Inverse),
            Matrix::Det => Some(Small::Det),
            Matrix::SlogDet => Some(Small::SlogDet),
            Matrix::Minors { without: 1 } => Some(Small::Cofactors),
            Matrix::Lu => Some(Small::Lu),
            Matrix::LuFactor => Some(Small::LuFactor),
            Matrix::Solve { transposed } => Some(Small::Solve { transposed }),
            Matrix::SolveTriangular { lower, transposed, unit } => {
                Some(Small::SolveTriangular { lower, transposed, unit })
            }
            Matrix::Minors { .. } | Matrix::Pivots | Matrix::Eigh | Matrix::Svd => None,
            Matrix::LstsqFactor | Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => None,
            Matrix::EighSolve | Matrix::SvdSolve | Matrix::Product { .. } => None,
            Matrix::Expm | Matrix::ExpmTangent { .. } => None,
            Matrix::PrefixProduct | Matrix::Recurrence { .. } => None,
        }
    }
}

impl Small {
    /// Whether matrices of two and three rows have the result by a formula.
    fn has_formula(self) -> bool {
        match self {
            Small::Inverse | Small::Det | Small::SlogDet | Small::Cofactors => true,
            Small::Cholesky | Small::Qr | Small::Lu | Small::LuFactor => false,
            Small::Solve { .. } | Small::SolveTriangular { .. } => false,
        }
    }
}

/// Runs an operation on `count` matrices of `m` rows and `n` columns, if they are small and there is a kernel; says
/// whether.
pub(crate) fn run<E: Real>(
    op: Matrix,
    sizes: [usize; 2],
    count: usize,
    operands: &MatrixOperands<'_, E>,
    results: &mut MatrixResults<'_, E>,
) -> bool {
    let Some(op) = Small::of(op, sizes) else { return false };
    // A few matrices take less time one by one than with idle lanes. One by one they take little stack, too.
    let isa = Isa::detect();
    let together = match count % LANES {
        _ if isa.is_lean() => 0,
        3.. => count,
        left => count - left,
    };
    if together > 0 {
        dispatch_full(isa, Batch::<E, LANES> { op, sizes, count, range: [0, together], operands, results });
    }
    if together < count {
        dispatch(isa, Batch::<E, 1> { op, sizes, count, range: [together, count], operands, results });
    }
    true
}

/// An execution of an operation, `L` matrices at once.
struct Batch<'a, 'b, 'c, E, const L: usize> {
    op: Small,
    /// The numbers of rows and of columns of a matrix.
    sizes: [usize; 2],
    /// The number of matrices of the operands.
    count: usize,
    /// The first of the matrices of this execution, and one past the last.
    range: [usize; 2],
    operands: &'b MatrixOperands<'a, E>,
    results: &'b mut MatrixResults<'c, E>,
}

impl<E: Real, const L: usize> Kernel for Batch<'_, '_, '_, E, L> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let [first, end] = self.range;
        for first in (first..end).step_by(L) {
            self.lanes::<M>(first, L.min(end - first));
        }
    }
}

/// Operations on the matrices of some lanes, each a separate function.
macro_rules! parts {
    ($($(#[$doc:meta])* $Part:ident = |$batch:ident, $at:ident| $run:expr;)*) => {$(
        $(#[$doc])*
        struct $Part<'p, 'a, 'b, 'c, E, const L: usize>(&'p mut Batch<'a, 'b, 'c, E, L>, Live);

        impl<E: Real, const L: usize> Kernel for $Part<'_, '_, '_, '_, E, L> {
            type Output = ();

            #[inline(always)]
            fn run<M: Machine>(self) {
                let ($batch, $at) = (self.0, self.1);
                $run
            }
        }
    )*};
}

parts! {
    Closed2 = |batch, at| batch.closed::<M, 2>(at);
    Closed3 = |batch, at| batch.closed::<M, 3>(at);
    Solve = |batch, at| batch.solve(at);
    SolveTriangular = |batch, at| batch.solve_triangular(at);
    Cholesky = |batch, at| batch.cholesky(at);
    Qr = |batch, at| batch.qr(at);
    Cofactors = |batch, at| batch.cofactors(at);
    Factored = |batch, at| batch.factored(at);
}

impl<E: Real, const L: usize> Batch<'_, '_, '_, E, L> {
    /// Runs the operation on `live` matrices from `first` on; the other lanes repeat the last of these.
    #[inline(always)]
    fn lanes<M: Machine>(&mut self, first: usize, live: usize) {
        let at = Live { first, live };
        match (self.op.has_formula(), self.sizes[1]) {
            (true, 2) => return M::apart(Closed2(self, at)),
            (true, 3) => return M::apart(Closed3(self, at)),
            (_, _) => {}
        }
        match self.op {
            Small::Solve { .. } => M::apart(Solve(self, at)),
            Small::SolveTriangular { .. } => M::apart(SolveTriangular(self, at)),
            Small::Cholesky => M::apart(Cholesky(self, at)),
            Small::Qr => M::apart(Qr(self, at)),
            Small::Cofactors => M::apart(Cofactors(self, at)),
            Small::Inverse | Small::Det | Small::SlogDet | Small::Lu | Small::LuFactor => M::apart(Factored(self, at)),
        }
    }

    /// Reads the matrices of an operand, with as many rows as columns.
    #[inline(always)]
    fn load(&self, at: Live, operand: usize, a: &mut Square<E, L>) {
        at.load(self.operands.floats[operand], &mut a[..self.sizes[1] * self.sizes[1]]);
    }

    /// The Cholesky factors.
    #[inline(always)]
    fn cholesky(&mut self, at: Live) {
        let (n, mut a): (usize, Square<E, L>) = (self.sizes[1], [[E::ZERO; L]; MOST * MOST]);
        self.load(at, 0, &mut a);
        cholesky(n, &mut a);
        at.store(&a[..n * n], self.results.floats[0]);
    }

    /// The results that are made of the LU factors of the matrices.
    #[inline(always)]
    fn factored(&mut self, at: Live) {
        let (n, size) = (self.sizes[1], self.sizes[1] * self.sizes[1]);
        let a: &mut Square<E, L> = &mut [[E::ZERO; L]; MOST * MOST];
        self.load(at, 0, a);
        let finite = are_finite(&a[..size]);
        let Factors { order, odd } = factor(n, a);
        let has_factors = are_finite(&a[..size]);
        match self.op {
            Small::Lu | Small::LuFactor => {
                fill_unless(&finite, &mut a[..size]);
                if let Small::LuFactor = self.op {
                    at.store(&a[..size], self.results.floats[0]);
                } else {
                    let [lower, upper] = apart(n, a);
                    at.store(&lower[..size], self.results.floats[0]);
                    at.store(&upper[..size], self.results.floats[1]);
                }
                for l in 0..at.live {
                    for i in 0..n {
                        self.results.integers[(at.first + l) * n + i] = if finite[l] { order[i][l] } else { i as i64 };
                    }
                }
            }
            Small::Inverse => {
                let mut inverse = inverse(n, a, &order);
                let mut good = is_regular(n, a);
                for l in 0..L {
                    good[l] &= finite[l] && has_factors[l];
                }
                fill_unless(&good, &mut inverse[..size]);
                at.store(&inverse[..size], self.results.floats[0]);
            }
            Small::Det | Small::SlogDet => self.determinant(at, a, odd, finite, has_factors),
            Small::Cholesky | Small::Qr | Small::Cofactors | Small::Solve { .. } | Small::SolveTriangular { .. } => {
                unreachable!("the operation is made of factors")
            }
        }
    }

    /// The determinants, or their signs and the logarithms of their absolute values.
    #[inline(always)]
    fn determinant(&mut self, at: Live, lu: &Square<E, L>, odd: [bool; L], finite: [bool; L], has_factors: [bool; L]) {
        let n = self.sizes[1];
        let (det, in_range) = diagonal_product(n, lu, &odd);
        for l in 0..at.live {
            let good = finite[l] && has_factors[l];
            let diagonal = |i: usize| lu[i * n + i][l];
            if let Small::Det = self.op {
                let det = match (good, in_range[l]) {
                    (true, true) => det[l],
                    (true, false) => scaled_product(product((0..n).map(diagonal), odd[l])),
                    (false, _) => nan(),
                };
                self.results.floats[0][at.first + l] = det;
                continue;
            }
            let (sign, log) = if good { super::sign_and_log(n, diagonal, odd[l]) } else { (nan(), nan()) };
            self.results.floats[0][at.first + l] = sign;
            self.results.floats[1][at.first + l] = log;
        }
    }

    /// The solutions of the systems with given LU factors.
    #[inline(always)]
    fn solve(&mut self, at: Live) {
        let Small::Solve { transposed } = self.op else { return };
        let (n, lu): (usize, &mut Square<E, L>) = (self.sizes[1], &mut [[E::ZERO; L]; MOST * MOST]);
        self.load(at, 2, lu);
        let (b, p) = (self.operands.floats[1], self.operands.positions);
        let columns = b.len() / self.count / n;
        let (mut good, finite) = (is_regular(n, lu), are_finite(&lu[..n * n]));
        for l in 0..L {
            good[l] &= finite[l];
        }
        let part = |lower: bool| Triangle {
            strides: if transposed { [1, n] } else { [n, 1] },
            lower: lower != transposed,
            unit: lower,
        };
        let row = |i: usize, l: usize| p[at.matrix(l) * n + i] as usize;
        for c in 0..columns {
            let mut x: Column<E, L> = [[E::ZERO; L]; MOST];
            for i in 0..n {
                for l in 0..L {
                    let from = if transposed { i } else { row(i, l) };
                    x[i][l] = b[at.matrix(l) * n * columns..][..n * columns][from * columns + c];
                }
            }
            let zero = are_zero(&x[..n]);
            substitute(n, lu, part(!transposed), &mut x);
            substitute(n, lu, part(transposed), &mut x);
            fill_unless(&good, &mut x[..n]);
            let out = &mut *self.results.floats[0];
            for l in 0..at.live {
                let out = &mut out[(at.first + l) * n * columns..][..n * columns];
                for i in 0..n {
                    let to = if transposed { row(i, l) } else { i };
                    out[to * columns + c] = if zero[l] { E::ZERO } else { x[i][l] };
                }
            }
        }
    }

    /// The solutions of triangular systems with a triangle of the matrices `a`: lower or upper, transposed or not, with
    /// a unit diagonal or not.
    #[inline(always)]
    fn solve_triangular(&mut self, at: Live) {
        let Small::SolveTriangular { lower, transposed, unit } = self.op else { return };
        let (n, a): (usize, &mut Square<E, L>) = (self.sizes[1], &mut [[E::ZERO; L]; MOST * MOST]);
        self.load(at, 0, a);
        let b = self.operands.floats[1];
        let columns = b.len() / self.count / n;
        let mut good = if unit { [true; L] } else { is_regular(n, a) };
        for i in 0..n {
            let counts = if lower { 0..i + 1 } else { i..n };
            for j in counts.filter(|j| !(unit && *j == i)) {
                let finite = are_finite(&a[i * n + j..][..1]);
                for l in 0..L {
                    good[l] &= finite[l];
                }
            }
        }
        let strides = if transposed { [1, n] } else { [n, 1] };
        for c in 0..columns {
            let mut x: Column<E, L> = [[E::ZERO; L]; MOST];
            for i in 0..n {
                for l in 0..L {
                    x[i][l] = b[at.matrix(l) * n * columns..][..n * columns][i * columns + c];
                }
            }
            let zero = are_zero(&x[..n]);
            substitute(n, a, Triangle { strides, lower: lower != transposed, unit }, &mut x);
            fill_unless(&good, &mut x[..n]);
            let out = &mut *self.results.floats[0];
            for l in 0..at.live {
                for i in 0..n {
                    let to = ((at.first + l) * n + i) * columns + c;
                    out[to] = if zero[l] { E::ZERO } else { x[i][l] };
                }
            }
        }
    }

    /// The cofactors; matrices whose products may leave the range of floats are left to the kernel for any size.
    #[inline(always)]
    fn cofactors(&mut self, at: Live) {
        let (n, size) = (self.sizes[1], self.sizes[1] * self.sizes[1]);
        let mut a: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
        self.load(at, 0, &mut a);
        let mut out: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
        let in_range = cofactors::cofactors(n, &a, &mut out);
        at.store(&out[..size], self.results.floats[0]);
        for l in (0..at.live).filter(|l| !in_range[*l]) {
            let matrix = (at.first + l) * size..(at.first + l + 1) * size;
            super::minors(n, 1, &self.operands.floats[0][matrix.clone()], &mut self.results.floats[0][matrix]);
        }
    }
}

/// The determinants, and whether all partial products are normal floats: then scaling by powers of two, as for one
/// matrix, would change no bit.
#[inline(always)]
fn diagonal_product<E: Real, const L: usize>(
    n: usize,
    lu: &Square<E, L>,
    odd: &[bool; L],
) -> (LaneNumbers<E, L>, [bool; L]) {
    let (least, most) = (<E as num_traits::Float>::min_positive_value(), <E as num_traits::Float>::max_value());
    let (mut det, mut in_range) = (odd.map(|odd| if odd { -E::ONE } else { E::ONE }), [true; L]);
    for i in 0..n {
        for l in 0..L {
            det[l] *= lu[i * n + i][l];
            let size = abs(det[l]);
            in_range[l] &= size >= least && size <= most;
        }
    }
    (det, in_range)
}

/// The inverses, by the LU factors and the permutation.
#[inline(always)]
fn inverse<E: Real, const L: usize>(n: usize, lu: &Square<E, L>, order: &Column<i64, L>) -> Square<E, L> {
    let mut inverse: Square<E, L> = [[E::ZERO; L]; MOST * MOST];
    for j in 0..n {
        let mut x: Column<E, L> = [[E::ZERO; L]; MOST];
        for i in 0..n {
            for l in 0..L {
                x[i][l] = if order[i][l] == j as i64 { E::ONE } else { E::ZERO };
            }
        }
        substitute(n, lu, Triangle { strides: [n, 1], lower: true, unit: true }, &mut x);
        substitute(n, lu, Triangle { strides: [n, 1], lower: false, unit: false }, &mut x);
        for i in 0..n {
            inverse[i * n + j] = x[i];
        }
    }
    inverse
}

/// The lower triangular factors of the symmetric parts; NaN where the factor does not exist.
#[inline(always)]
fn cholesky<E: Real, const L: usize>(n: usize, a: &mut Square<E, L>) {
    let half = E::of_f64(0.5);
    let mut good = are_finite(&a[..n * n]);
    for i in 0..n {
        for j in 0..i + 1 {
            let (x, y) = (a[i * n + j], a[j * n + i]);
            for l in 0..L {
                a[i * n + j][l] = (x[l] + y[l]) * half;
            }
        }
    }
    for j in 0..n {
        for k in 0..j {
            let factor = a[j * n + k];
            for i in j..n {
                let x = a[i * n + k];
                for l in 0..L {
                    a[i * n + j][l] -= x[l] * factor[l];
                }
            }
        }
        let mut pivot = a[j * n + j];
        for l in 0..L {
            good[l] &= pivot[l] > E::ZERO;
            pivot[l] = num_traits::Float::sqrt(pivot[l]);
        }
        a[j * n + j] = pivot;
        for i in j + 1..n {
            for l in 0..L {
                a[i * n + j][l] /= pivot[l];
            }
        }
        for i in 0..j {
            a[i * n + j] = [E::ZERO; L];
        }
    }
    fill_unless(&good, &mut a[..n * n]);
}

/// The permutation of an LU factorization, as the row of the matrix at each row of the factors, and whether it is odd.
struct Factors<const L: usize> {
    order: Column<i64, L>,
    odd: [bool; L],
}

/// LU factorization in place, with partial pivoting; among equal candidates, the first row has the pivot.
#[inline(always)]
fn factor<E: Real, const L: usize>(n: usize, a: &mut Square<E, L>) -> Factors<L> {
    let mut order: Column<i64, L> = [[0; L]; MOST];
    let mut odd = [false; L];
    for i in 0..n {
        order[i] = [i as i64; L];
    }
    for k in 0..n {
        let (mut best, mut at) = (a[k * n + k].map(abs), [k; L]);
        for i in k + 1..n {
            for l in 0..L {
                let size = abs(a[i * n + k][l]);
                let larger = size > best[l];
                best[l] = if larger { size } else { best[l] };
                at[l] = if larger { i } else { at[l] };
            }
        }
        for i in k + 1..n {
            let here = at.map(|at| at == i);
            if !here.iter().any(|here| *here) {
                continue;
            }
            for j in 0..n {
                exchange(&here, a, k * n + j, i * n + j);
            }
            exchange(&here, &mut order, k, i);
            for l in 0..L {
                odd[l] ^= here[l];
            }
        }
        let pivot = a[k * n + k];
        for i in k + 1..n {
            let mut factor = a[i * n + k];
            for l in 0..L {
                // A column of zeros needs no elimination.
                factor[l] = if pivot[l] == E::ZERO { factor[l] } else { factor[l] / pivot[l] };
            }
            a[i * n + k] = factor;
            for j in k + 1..n {
                let above = a[k * n + j];
                for l in 0..L {
                    a[i * n + j][l] -= factor[l] * above[l];
                }
            }
        }
    }
    Factors { order, odd }
}

/// Exchanges two elements in some lanes.
#[inline(always)]
fn exchange<T: Copy, const L: usize>(lanes: &[bool; L], x: &mut [[T; L]], i: usize, j: usize) {
    let (first, second) = (x[i], x[j]);
    for l in 0..L {
        x[i][l] = if lanes[l] { second[l] } else { first[l] };
        x[j][l] = if lanes[l] { first[l] } else { second[l] };
    }
}

/// LU factors as two matrices: the unit lower triangle and the upper triangle.
#[inline(always)]
fn apart<E: Real, const L: usize>(n: usize, lu: &Square<E, L>) -> [Square<E, L>; 2] {
    let (mut lower, mut upper) = ([[E::ZERO; L]; MOST * MOST], [[E::ZERO; L]; MOST * MOST]);
    for i in 0..n {
        for j in 0..n {
            let part = if j < i { &mut lower } else { &mut upper };
            part[i * n + j] = lu[i * n + j];
        }
        lower[i * n + i] = [E::ONE; L];
    }
    [lower, upper]
}

/// A triangle of matrices: its element `(i, j)` is the element `i strides[0] + j strides[1]` of the matrix.
#[derive(Clone, Copy)]
struct Triangle {
    strides: [usize; 2],
    lower: bool,
    unit: bool,
}

/// Replaces a column by the solution of the triangular system, by forward or back substitution.
#[inline(always)]
fn substitute<E: Real, const L: usize>(n: usize, a: &Square<E, L>, triangle: Triangle, x: &mut Column<E, L>) {
    let Triangle { strides: [down, right], lower, unit } = triangle;
    for step in 0..n {
        let j = if lower { step } else { n - 1 - step };
        let mut known = x[j];
        if !unit {
            let pivot = a[j * n + j];
            for l in 0..L {
                known[l] /= pivot[l];
            }
            x[j] = known;
        }
        let rows = if lower { j + 1..n } else { 0..j };
        for i in rows {
            let factor = a[i * down + j * right];
            for l in 0..L {
                x[i][l] -= factor[l] * known[l];
            }
        }
    }
}

#[cfg(test)]
mod tests;
