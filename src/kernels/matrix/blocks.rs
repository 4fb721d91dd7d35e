//! Blocked factorizations and triangular solves of large matrices, by recursion on halves.
//!
//! Laws: pivots are the largest elements of their columns, the first of equal ones. Halves are whole vectors of rows
//! and columns, and the recursion is as deep as the logarithm of the size.

use super::Real;
use super::rows::{AlignedRows, MatrixFactor, TRIANGLE, TriangleBlock, inner, lanes, multiply_add};
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// A triangle of a row-major matrix of `n` rows and columns, or of its transpose.
#[derive(Clone, Copy)]
pub(crate) struct TriangleView<'a, E> {
    pub(crate) of: &'a [E],
    pub(crate) n: usize,
    /// Whether the elements are those of the transposed matrix.
    pub(crate) transposed: bool,
    /// Whether the triangle, after the transposition, is the lower one.
    pub(crate) lower: bool,
    /// Whether the diagonal counts as ones, whatever its elements are.
    pub(crate) unit: bool,
}

impl<'a, E: Real> TriangleView<'a, E> {
    /// Whether the triangle has an inverse.
    pub(crate) fn is_regular(&self) -> bool {
        self.unit || (0..self.n).all(|i| self.of[i * (self.n + 1)] != E::ZERO)
    }

    fn factor(&self) -> MatrixFactor<'a, E> {
        let strides = if self.transposed { [1, self.n] } else { [self.n, 1] };
        MatrixFactor { of: Some(self.of), at: 0, strides }
    }

    /// Replaces the `columns` columns of the row-major matrix `b` by the solutions.
    pub(crate) fn solve(&self, b: &mut [E], columns: usize) {
        if columns == 0 || self.n == 0 {
            return;
        }
        if columns == 1 {
            return dispatch(Isa::detect(), OneColumn { a: *self, x: b });
        }
        let mut x = AlignedRows::of(b, columns);
        self.solve_rows(&mut x, columns);
        x.copy_to(b, columns);
    }

    pub(super) fn solve_rows(&self, x: &mut AlignedRows<E>, columns: usize) {
        let part = Part { a: self.factor(), lower: self.lower, unit: self.unit, filled: FilledColumns::Full(columns) };
        part.solve(x, [0, 0], [0, self.n]);
    }
}

/// The solution with a triangle for one column, along the rows of the matrix.
struct OneColumn<'x, 'a, E> {
    a: TriangleView<'a, E>,
    x: &'x mut [E],
}

impl<E: Real> Kernel for OneColumn<'_, '_, E> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let OneColumn { a: TriangleView { of, n, transposed, lower, unit }, x } = self;
        for step in 0..n {
            let i = if lower { step } else { n - 1 - step };
            let row = &of[i * n..(i + 1) * n];
            // The elements of the row off the diagonal that count: of the transposed matrix they are a column.
            let beside = if lower != transposed { 0..i } else { i + 1..n };
            if !transposed {
                x[i] -= inner::<M, E>(&row[beside.clone()], &x[beside.clone()]);
            }
            if !unit {
                x[i] /= row[i];
            }
            if transposed {
                let factor = -x[i];
                for (x, a) in x[beside.clone()].iter_mut().zip(&row[beside]) {
                    *x = multiply_add::<M, E>(factor, *a, *x);
                }
            }
        }
    }
}

/// The columns of a right-hand side that may not be zeros.
#[derive(Clone, Copy)]
enum FilledColumns {
    /// This many.
    Full(usize),
    /// In each row those up to the diagonal.
    Lower,
}

impl FilledColumns {
    fn columns(self, to: usize) -> usize {
        match self {
            FilledColumns::Full(columns) => columns,
            FilledColumns::Lower => to,
        }
    }
}

/// A triangle, and the columns of the right-hand side.
#[derive(Clone, Copy)]
struct Part<'a, E> {
    a: MatrixFactor<'a, E>,
    lower: bool,
    unit: bool,
    filled: FilledColumns,
}

impl<E: Real> Part<'_, E> {
    /// Replaces the rows from `from` to `to`, to which all others have contributed, by the solution. The right-hand
    /// side is the part of the matrix at `at`.
    fn solve(&self, x: &mut AlignedRows<E>, at: [usize; 2], [from, to]: [usize; 2]) {
        let (len, columns) = (to - from, self.filled.columns(to));
        if len <= TRIANGLE {
            let triangle = TriangleBlock { of: self.a.from(from, from), rows: len, lower: self.lower, unit: self.unit };
            return x.solve_block([at[0] + from, at[1]], columns, triangle);
        }
        let middle = from + (len / 2).next_multiple_of(TRIANGLE);
        let (first, second) = ([at[0] + from, at[1]], [at[0] + middle, at[1]]);
        if self.lower {
            self.solve(x, at, [from, middle]);
            let sizes = [to - middle, self.filled.columns(middle), middle - from];
            x.subtract(second, self.a.from(middle, from), first, sizes);
            self.solve(x, at, [middle, to]);
        } else {
            self.solve(x, at, [middle, to]);
            x.subtract(first, self.a.from(from, middle), second, [middle - from, columns, to - middle]);
            self.solve(x, at, [from, middle]);
        }
    }
}

/// The inverse of a matrix with these factors, and with an order of its rows.
pub(super) fn inverse<E: Real>(n: usize, lu: &[E], order: &[i64], out: &mut [E]) {
    let mut x = AlignedRows::zeros(n, n);
    let stride = x.stride;
    x.all().chunks_exact_mut(stride).enumerate().for_each(|(i, row)| row[i] = E::ONE);
    let a = MatrixFactor { of: Some(lu), at: 0, strides: [n, 1] };
    Part { a, lower: true, unit: true, filled: FilledColumns::Lower }.solve(&mut x, [0, 0], [0, n]);
    Part { a, lower: false, unit: false, filled: FilledColumns::Full(n) }.solve(&mut x, [0, 0], [0, n]);
    for (i, out) in out.chunks_exact_mut(n).enumerate() {
        x.row(i).iter().zip(order).for_each(|(x, to)| out[*to as usize] = *x);
    }
}

/// Replaces the upper triangle of a symmetric matrix by the transposed Cholesky factor; says whether it has one.
pub(super) fn cholesky<E: Real>(x: &mut AlignedRows<E>, [from, to]: [usize; 2]) -> bool {
    let block = lanes::<E>();
    if to - from <= block {
        return cholesky_block(x, [from, to]);
    }
    let middle = from + ((to - from) / 2).next_multiple_of(block);
    if !cholesky(x, [from, middle]) {
        return false;
    }
    // The transposed triangle is a lower one.
    let a = MatrixFactor { strides: [1, x.stride], ..x.part(from, from) };
    let part = Part { a, lower: true, unit: false, filled: FilledColumns::Full(to - middle) };
    part.solve(x, [from, middle], [0, middle - from]);
    subtract_square(x, [from, middle], [middle, to]);
    cholesky(x, [middle, to])
}

/// Takes from the upper triangle of the rows and columns from `from` to `to` the product of the transposed rows
/// `above` and these rows.
fn subtract_square<E: Real>(x: &mut AlignedRows<E>, above: [usize; 2], [from, to]: [usize; 2]) {
    let depth = above[1] - above[0];
    let mut update = |rows: [usize; 2], columns: [usize; 2]| {
        let a = MatrixFactor { strides: [1, x.stride], ..x.part(above[0], rows[0]) };
        let sizes = [rows[1] - rows[0], columns[1] - columns[0], depth];
        x.subtract([rows[0], columns[0]], a, [above[0], columns[0]], sizes);
    };
    if to - from <= 2 * lanes::<E>() {
        return update([from, to], [from, to]);
    }
    let middle = from + ((to - from) / 2).next_multiple_of(lanes::<E>());
    update([from, middle], [middle, to]);
    subtract_square(x, above, [from, middle]);
    subtract_square(x, above, [middle, to]);
}

fn cholesky_block<E: Real>(x: &mut AlignedRows<E>, [from, to]: [usize; 2]) -> bool {
    let stride = x.stride;
    let x = x.all();
    for k in from..to {
        let (above, below) = x.split_at_mut((k + 1) * stride);
        let row = &mut above[k * stride..][k..to];
        let is_positive = row[0] > E::ZERO;
        if !is_positive {
            return false;
        }
        let pivot = num_traits::Float::sqrt(row[0]);
        row[0] = pivot;
        row[1..].iter_mut().for_each(|x| *x /= pivot);
        for (i, other) in (1..).zip(below.chunks_exact_mut(stride).take(to - k - 1)) {
            let factor = row[i];
            other[k..to].iter_mut().zip(&*row).for_each(|(x, y)| *x -= factor * *y);
        }
    }
    true
}

/// Replaces the columns from `from` to `to` of a square matrix by their factors `l` and `u`, with the largest pivots
/// in the rows from `from` on; rows are exchanged whole, and their numbers `order` with them.
pub(super) fn lu<E: Real>(x: &mut AlignedRows<E>, n: usize, [from, to]: [usize; 2], order: &mut [i64]) {
    let block = lanes::<E>();
    if to - from <= block {
        return x.factor_panel([from, to, n], order);
    }
    let middle = from + ((to - from) / 2).next_multiple_of(block);
    lu(x, n, [from, middle], order);
    let columns = to - middle;
    let part = Part { a: x.part(from, from), lower: true, unit: true, filled: FilledColumns::Full(columns) };
    part.solve(x, [from, middle], [0, middle - from]);
    x.subtract([middle, middle], x.part(middle, from), [from, middle], [n - middle, columns, middle - from]);
    lu(x, n, [middle, to], order);
}

#[cfg(test)]
mod tests;
