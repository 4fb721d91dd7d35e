//! Operations of linear algebra as trees: a loop over a batch, and loops over the elements of one matrix.
//!
//! Laws: those of [`Matrix`] and of the kernels, up to rounding: a matrix without the result gives NaN, columns of
//! zeros on the right give zeros, pivots are the same. The number of statements does not depend on sizes. Positions that
//! data decide are compared with the number of rows before they are used.

mod exponential;
mod factors;
mod guarded;
mod inline;
mod least_squares;
mod machine;
mod minors;
mod spectral;

use super::idioms::{at, start};
use super::tree::{ElementIndex, ElementPlace, Expression};
use super::writer::Writer;
use crate::backend::ir::step::MatrixCall;
use crate::dtype::DType;
use crate::ops::{Compare, Matrix, minors as sets};

/// The largest number of rows, and of columns.
const MOST: usize = 32;

/// The limit of most operations.
const OTHERS: &str = "matrices have at most 32 rows and 32 columns in source";

/// An error unless the operation on a matrix of this size can be written.
pub(crate) fn supported(op: Matrix, [m, n]: [usize; 2]) -> Result<(), &'static str> {
    let (most, limit) = match op {
        Matrix::PrefixProduct | Matrix::Recurrence { .. } => return Ok(()),
        Matrix::Minors { without: 2.. } => {
            (sets::MOST, "minors without several rows are those of at most 8 rows in source")
        }
        Matrix::Cholesky | Matrix::Inverse | Matrix::Det | Matrix::Minors { .. } | Matrix::Pivots => (MOST, OTHERS),
        Matrix::SlogDet | Matrix::Lu | Matrix::LuFactor | Matrix::Solve { .. } => (MOST, OTHERS),
        Matrix::SolveTriangular { .. } | Matrix::Qr | Matrix::Eigh | Matrix::EighSolve | Matrix::Expm => (MOST, OTHERS),
        Matrix::Svd | Matrix::SvdSolve => (MOST, OTHERS),
        Matrix::LstsqFactor | Matrix::Lstsq { .. } | Matrix::NullProjection { .. } => (MOST, OTHERS),
        Matrix::ExpmTangent { .. } => (MOST, OTHERS),
        Matrix::Product { .. } => (usize::MAX, OTHERS),
    };
    if m.max(n) <= most { Ok(()) } else { Err(limit) }
}

/// A matrix whose elements are in memory, row by row.
struct Grid {
    place: ElementPlace,
    columns: usize,
}

impl Grid {
    fn of(place: &ElementPlace, columns: usize) -> Grid {
        Grid { place: place.clone(), columns }
    }

    fn position(&self, i: &ElementIndex, j: &ElementIndex) -> ElementIndex {
        i.clone().times(self.columns as i64).plus(j)
    }

    fn load(&self, i: &ElementIndex, j: &ElementIndex) -> Expression {
        self.place.load(&self.position(i, j))
    }

    fn store(&self, w: &mut Writer, i: &ElementIndex, j: &ElementIndex, x: Expression) {
        w.store(&self.place, &self.position(i, j), x);
    }
}

/// One matrix of a batch.
struct One<'a> {
    dtype: DType,
    sizes: [usize; 2],
    /// The columns of the second operand.
    columns: usize,
    operands: &'a [ElementPlace],
    out: &'a [ElementPlace],
    /// The number of elements of each result.
    results: &'a [usize],
}

impl One<'_> {
    /// The results, which are floats, if the first operand has only finite elements; otherwise NaN.
    fn if_finite(&self, w: &mut Writer, f: impl FnOnce(&mut Writer)) {
        let finite = are_finite(w, self.dtype, &self.operands[0], self.sizes[0] * self.sizes[1]);
        w.if_else(finite, f, |w| {
            for (place, n) in self.out.iter().zip(self.results) {
                w.fill(place, *n, Expression::nan(self.dtype));
            }
        });
    }
}

/// Writes an operation on a batch of matrices.
pub(crate) fn matrices(w: &mut Writer, call: &MatrixCall, operands: &[ElementPlace], out: &[ElementPlace]) {
    let MatrixCall { op, sizes, count, dtype, .. } = *call;
    let each = |n: usize| n.checked_div(count).unwrap_or(0);
    let (rows, _) = op.right_sizes(sizes);
    let columns = call.operands.get(1).and_then(|(_, n)| each(*n).checked_div(rows)).unwrap_or(0);
    let results: Vec<usize> = call.out.iter().map(|(_, n, _)| each(*n)).collect();
    w.for_(count, |w, k| {
        let part = |place: &ElementPlace, n: usize| place.moved(&k.clone().times(each(n) as i64));
        let operands: Vec<ElementPlace> = operands.iter().zip(&call.operands).map(|(x, (_, n))| part(x, *n)).collect();
        let out: Vec<ElementPlace> = out.iter().zip(&call.out).map(|(x, (_, n, _))| part(x, *n)).collect();
        one(w, op, &One { dtype, sizes, columns, operands: &operands, out: &out, results: &results });
    });
}

fn one(w: &mut Writer, op: Matrix, of: &One<'_>) {
    if let Some(form) = factors::formula(op, of.sizes[1]) {
        return factors::by_formula(w, of, form);
    }
    match op {
        Matrix::Cholesky | Matrix::Lu | Matrix::LuFactor => factors::of_factors(w, op, of),
        Matrix::Inverse | Matrix::Det | Matrix::SlogDet => factors::of_factors(w, op, of),
        Matrix::Minors { without } => minors::minors(w, of, without.into()),
        Matrix::Pivots => minors::pivots(w, of),
        Matrix::Solve { transposed } => factors::solve(w, of, transposed),
        Matrix::SolveTriangular { lower, transposed, unit } => {
            factors::solve_triangular(w, of, [lower, transposed, unit]);
        }
        Matrix::Qr => factors::qr(w, of),
        Matrix::LstsqFactor => least_squares::factor(w, of),
        Matrix::Lstsq { transposed } => least_squares::by_factors(w, of, transposed, false),
        Matrix::NullProjection { transposed } => least_squares::by_factors(w, of, transposed, true),
        Matrix::Product { transposed } => guarded::product_of(w, of, transposed),
        Matrix::PrefixProduct => recurrence(w, of, false, false),
        Matrix::Recurrence { transposed } => recurrence(w, of, true, transposed),
        Matrix::Eigh => spectral::eigh(w, of),
        Matrix::EighSolve => guarded::eigh_solve(w, of),
        Matrix::Expm => exponential::expm(w, of),
        Matrix::ExpmTangent { transposed } => exponential::expm_tangent(w, of, transposed),
        Matrix::Svd => spectral::svd(w, of),
        Matrix::SvdSolve => spectral::svd_solve(w, of),
    }
}

/// The recurrence of each column, or the prefix products.
fn recurrence(w: &mut Writer, of: &One<'_>, sum: bool, transposed: bool) {
    let ([m, n], dtype) = (of.sizes, of.dtype);
    if m == 0 || n == 0 {
        return;
    }
    let (a, out) = (Grid::of(&of.operands[0], n), Grid::of(&of.out[0], n));
    let b = sum.then(|| Grid::of(&of.operands[1], n));
    // The value before is in a variable, if there is one column.
    let first = at(if transposed { m - 1 } else { 0 });
    let from = b.as_ref().unwrap_or(&a);
    let last = (n == 1).then(|| w.cell(dtype, from.load(&first, &start())));
    w.for_(n, |w, j| {
        let y = last.as_ref().map_or_else(|| from.load(&first, j), |last| last.load(&start()));
        out.store(w, &first, j, y);
    });
    let rest = if transposed { (start(), at(m - 1)) } else { (at(1), at(m)) };
    w.for_range(rest, transposed, |w, i| {
        let (before, factor) = match transposed {
            true => (i.clone().plus_constant(1), i.clone().plus_constant(1)),
            false => (i.clone().plus_constant(-1), i.clone()),
        };
        w.for_(n, |w, j| {
            let before = last.as_ref().map_or_else(|| out.load(&before, j), |last| last.load(&start()));
            let product = Expression::product(dtype, a.load(&factor, j), before);
            let y = match &b {
                Some(b) => Expression::sum(dtype, b.load(i, j), product),
                None => product,
            };
            match &last {
                Some(last) => {
                    w.store(last, &start(), y);
                    out.store(w, i, j, last.load(&start()));
                }
                None => out.store(w, i, j, y),
            }
        });
    });
}

/// Whether `count` elements are finite, as a variable.
fn are_finite(w: &mut Writer, dtype: DType, x: &ElementPlace, count: usize) -> Expression {
    // Finite numbers become 0, and all others NaN.
    let sum = w.cell(dtype, Expression::zero(dtype));
    w.for_(count, |w, i| {
        let none = Expression::product(dtype, x.load(i), Expression::zero(dtype));
        w.store(&sum, &start(), Expression::sum(dtype, sum.load(&start()), none));
    });
    let finite = Expression::compare(Compare::Eq, sum.load(&start()), Expression::zero(dtype));
    w.named(DType::Bool, finite)
}

/// Whether all `count` elements have a property, as a variable.
fn all_of(w: &mut Writer, count: usize, holds: impl Fn(&ElementIndex) -> Expression) -> Expression {
    let all = w.var(DType::Bool, Expression::mask(true));
    w.for_(count, |w, i| w.set(all, Expression::and(Expression::Variable(all), holds(i))));
    Expression::Variable(all)
}

fn is_zero(dtype: DType, x: Expression) -> Expression {
    Expression::compare(Compare::Eq, x, Expression::zero(dtype))
}

/// Powers of two: numbers from `low` on below `high` are in range, and others are multiplied by `up`, or by its inverse,
/// until they are.
#[derive(Clone, Copy)]
struct Range {
    low: i32,
    high: i32,
    up: i32,
}

impl Range {
    /// Products of eight numbers, and the sum of some hundred squares, are normal ones.
    fn of_powers(dtype: DType) -> Range {
        let [low, high, up] = if dtype == DType::F32 { [-8, 8, 16] } else { [-50, 50, 100] };
        Range { low, high, up }
    }
}

#[cfg(test)]
mod tests;
