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
use super::factors::{self, SolvedTriangle};
use super::machine::{Direct, MatrixMachine};
use super::{Real, abs, nan, scaled_product};
use smallvec::SmallVec;

use crate::kernels::isa::{Isa, Kernel, Machine, dispatch, dispatch_full};
use crate::ops::Matrix;
use lanes::{LaneMask, LaneNumbers, Live};

/// The largest number of rows of a small matrix.
pub(crate) const MOST: usize = 8;

/// The number of matrices that are computed at once.
const LANES: usize = 8;

/// The elements of `L` matrices, row by row.
type Square<E, const L: usize> = [LaneNumbers<E, L>; MOST * MOST];

/// A column of each of `L` matrices.
type Column<E, const L: usize> = [LaneNumbers<E, L>; MOST];

/// The machine that computes in lanes.
type LaneMachine<E, const L: usize> = Direct<LaneNumbers<E, L>>;

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
        match (self.op.formula().is_some(), self.sizes[1]) {
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
        let (n, mut a): (usize, Square<E, L>) = (self.sizes[1], [LaneNumbers::ZERO; MOST * MOST]);
        self.load(at, 0, &mut a);
        factors::cholesky(LaneMachine::new(), n, &mut a[..]);
        at.store(&a[..n * n], self.results.floats[0]);
    }

    /// The results that are made of the LU factors of the matrices.
    #[inline(always)]
    fn factored(&mut self, at: Live) {
        let (n, size) = (self.sizes[1], self.sizes[1] * self.sizes[1]);
        let a: &mut Square<E, L> = &mut [LaneNumbers::ZERO; MOST * MOST];
        self.load(at, 0, a);
        let (m, mut order) = (LaneMachine::new(), [[0; L]; MOST]);
        match self.op {
            Small::Lu | Small::LuFactor => {
                factors::packed(m, n, &mut a[..], &mut order[..]);
                if let Small::Lu = self.op {
                    let lower: &mut Square<E, L> = &mut [LaneNumbers::ZERO; MOST * MOST];
                    factors::apart(m, n, &mut a[..], &mut lower[..]);
                    at.store(&lower[..size], self.results.floats[0]);
                }
                at.store(&a[..size], self.results.floats.last_mut().expect("factors have floats"));
                for l in 0..at.live {
                    (0..n).for_each(|i| self.results.integers[(at.first + l) * n + i] = order[i][l]);
                }
            }
            Small::Inverse => {
                let inverse: &mut Square<E, L> = &mut [LaneNumbers::ZERO; MOST * MOST];
                let [_, finite] = factors::factored(m, n, &mut a[..], &mut order[..]);
                factors::inverse(m, n, &a[..], &order[..], &mut inverse[..]);
                m.fill_unless(finite & factors::is_regular(m, n, &a[..]), &mut inverse[..], size);
                at.store(&inverse[..size], self.results.floats[0]);
            }
            Small::Det | Small::SlogDet => {
                let of = factors::factored(m, n, &mut a[..], &mut order[..]);
                self.determinant(at, a, of);
            }
            Small::Cholesky | Small::Qr | Small::Cofactors | Small::Solve { .. } | Small::SolveTriangular { .. } => {
                unreachable!("the operation is made of factors")
            }
        }
    }

    /// The determinants, or their signs and the logarithms of their absolute values.
    #[inline(always)]
    fn determinant(&mut self, at: Live, lu: &Square<E, L>, [odd, finite]: [LaneMask<L>; 2]) {
        let n = self.sizes[1];
        if let Small::SlogDet = self.op {
            let both = factors::sign_and_log(LaneMachine::new(), n, |i| lu[i * n + i], odd);
            for (mut x, out) in both.into_iter().zip(&mut self.results.floats) {
                LaneMachine::new().fill_unless(finite, std::slice::from_mut(&mut x), 1);
                out[at.first..][..at.live].copy_from_slice(&x.0[..at.live]);
            }
            return;
        }
        let (det, in_range) = diagonal_product(n, lu, odd);
        for l in 0..at.live {
            let diagonal = || -> SmallVec<[E; MOST]> { (0..n).map(|i| lu[i * n + i][l]).collect() };
            self.results.floats[0][at.first + l] = match (finite.0[l], in_range.0[l]) {
                (true, true) => det[l],
                (true, false) => scaled_product(&diagonal(), odd.0[l]),
                (false, _) => nan(),
            };
        }
    }

    /// The solutions of the systems with given LU factors.
    #[inline(always)]
    fn solve(&mut self, at: Live) {
        let Small::Solve { transposed } = self.op else { return };
        let (m, n): (LaneMachine<E, L>, usize) = (LaneMachine::new(), self.sizes[1]);
        let lu: &mut Square<E, L> = &mut [LaneNumbers::ZERO; MOST * MOST];
        self.load(at, 2, lu);
        let (b, p) = (self.operands.floats[1], self.operands.positions);
        let columns = b.len() / self.count / n;
        let good = factors::is_regular(m, n, &lu[..]) & m.are_finite(&lu[..], 0, n * n);
        let triangles = [!transposed, transposed].map(|l| SolvedTriangle::of_factors(n, l, transposed));
        let row = |i: usize, l: usize| p[at.matrix(l) * n + i] as usize;
        for c in 0..columns {
            let mut x: Column<E, L> = [LaneNumbers::ZERO; MOST];
            for i in 0..n {
                for l in 0..L {
                    let from = if transposed { i } else { row(i, l) };
                    x[i][l] = b[at.matrix(l) * n * columns..][..n * columns][from * columns + c];
                }
            }
            factors::solve(m, &triangles, &lu[..], good, &mut x[..]);
            let out = &mut *self.results.floats[0];
            for l in 0..at.live {
                let out = &mut out[(at.first + l) * n * columns..][..n * columns];
                for i in 0..n {
                    let to = if transposed { row(i, l) } else { i };
                    out[to * columns + c] = x[i][l];
                }
            }
        }
    }

    /// The solutions of triangular systems with a triangle of the matrices `a`: lower or upper, transposed or not, with
    /// a unit diagonal or not.
    #[inline(always)]
    fn solve_triangular(&mut self, at: Live) {
        let Small::SolveTriangular { lower, transposed, unit } = self.op else { return };
        let (m, n): (LaneMachine<E, L>, usize) = (LaneMachine::new(), self.sizes[1]);
        let a: &mut Square<E, L> = &mut [LaneNumbers::ZERO; MOST * MOST];
        self.load(at, 0, a);
        let b = self.operands.floats[1];
        let columns = b.len() / self.count / n;
        let triangle = SolvedTriangle { n, transposed, lower: lower != transposed, unit };
        let good = triangle.is_good(m, &a[..]);
        for c in 0..columns {
            let mut x: Column<E, L> = [LaneNumbers::ZERO; MOST];
            for i in 0..n {
                for l in 0..L {
                    x[i][l] = b[at.matrix(l) * n * columns..][..n * columns][i * columns + c];
                }
            }
            factors::solve(m, &[triangle], &a[..], good, &mut x[..]);
            let out = &mut *self.results.floats[0];
            for l in 0..at.live {
                for i in 0..n {
                    let to = ((at.first + l) * n + i) * columns + c;
                    out[to] = x[i][l];
                }
            }
        }
    }

    /// The cofactors; matrices whose products may leave the range of floats are left to the kernel for any size.
    #[inline(always)]
    fn cofactors(&mut self, at: Live) {
        let (n, size) = (self.sizes[1], self.sizes[1] * self.sizes[1]);
        let mut a: Square<E, L> = [LaneNumbers::ZERO; MOST * MOST];
        self.load(at, 0, &mut a);
        let mut out: Square<E, L> = [LaneNumbers::ZERO; MOST * MOST];
        let in_range = cofactors::cofactors(n, &a, &mut out);
        at.store(&out[..size], self.results.floats[0]);
        for l in (0..at.live).filter(|l| !in_range.0[*l]) {
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
    odd: LaneMask<L>,
) -> (LaneNumbers<E, L>, LaneMask<L>) {
    let (least, most) = (<E as num_traits::Float>::min_positive_value(), <E as num_traits::Float>::max_value());
    let (mut det, mut in_range) = (LaneNumbers(odd.0.map(|odd| if odd { -E::ONE } else { E::ONE })), [true; L]);
    for i in 0..n {
        for l in 0..L {
            det[l] *= lu[i * n + i][l];
            let size = abs(det[l]);
            in_range[l] &= size >= least && size <= most;
        }
    }
    (det, LaneMask(in_range))
}

#[cfg(test)]
mod tests;
