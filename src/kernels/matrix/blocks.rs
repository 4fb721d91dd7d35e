//! Blocked factorizations and triangular solves of large matrices, by recursion on halves.
//!
//! Law: up to rounding, the result is that of nalgebra, which factorizes the blocks at the ends of the recursion.
//! Matrices are row-major; the depth of the recursion is logarithmic in the size.

use nalgebra::{DMatrix, DVector};

use super::Real;
use crate::kernels::contract::gemm::subtract_product;

/// The largest number of rows of a block that is not halved.
const BLOCK: usize = 32;

/// A triangle of a row-major matrix of `n` rows and columns, or of its transpose.
#[derive(Clone, Copy)]
pub(crate) struct TriangleView<'a, E> {
    pub(crate) of: &'a [E],
    pub(crate) n: usize,
    /// Whether the elements are those of the transposed matrix.
    pub(crate) transposed: bool,
    /// Whether the triangle, after the transposition, is the lower one.
    pub(crate) lower: bool,
    /// Whether ones stand on the diagonal, whatever the elements there are.
    pub(crate) unit: bool,
}

impl<E: Real> TriangleView<'_, E> {
    fn strides(&self) -> [usize; 2] {
        if self.transposed { [1, self.n] } else { [self.n, 1] }
    }

    fn at(&self, row: usize, column: usize) -> E {
        let [down, right] = self.strides();
        self.of[row * down + column * right]
    }

    /// Whether the triangle has an inverse.
    pub(crate) fn is_regular(&self) -> bool {
        self.unit || (0..self.n).all(|i| self.at(i, i) != E::ZERO)
    }

    /// Replaces the `columns` columns of the row-major matrix `b` by the solutions.
    pub(crate) fn solve(&self, b: &mut [E], columns: usize) {
        if columns > 0 {
            self.part(0, self.n, b, columns);
        }
    }

    /// Solves for the rows from `from` to `to`; `b` holds these rows of the right-hand side, from which the
    /// contributions of all rows that are solved before have been subtracted.
    fn part(&self, from: usize, to: usize, b: &mut [E], columns: usize) {
        let len = to - from;
        if len <= BLOCK {
            return self.block(from, to, b, columns);
        }
        let half = len / 2;
        let middle = from + half;
        let (upper, lower) = b.split_at_mut(half * columns);
        let [down, right] = self.strides();
        let first = |row: usize, column: usize| &self.of[row * down + column * right..];
        if self.lower {
            self.part(from, middle, upper, columns);
            let sizes = [len - half, columns, half];
            subtract_product(sizes, (first(middle, from), [down, right]), (upper, [columns, 1]), (lower, columns));
            self.part(middle, to, lower, columns);
        } else {
            self.part(middle, to, lower, columns);
            let sizes = [half, columns, len - half];
            subtract_product(sizes, (first(from, middle), [down, right]), (lower, [columns, 1]), (upper, columns));
            self.part(from, middle, upper, columns);
        }
    }

    fn block(&self, from: usize, to: usize, b: &mut [E], columns: usize) {
        let len = to - from;
        let a = DMatrix::from_fn(len, len, |i, j| match i == j && self.unit {
            true => E::ONE,
            false => self.at(from + i, from + j),
        });
        let mut x = DMatrix::from_row_slice(len, columns, b);
        if self.lower {
            a.solve_lower_triangular_unchecked_mut(&mut x);
        } else {
            a.solve_upper_triangular_unchecked_mut(&mut x);
        }
        copy_rows(&x, b);
    }
}

/// Writes the elements of a matrix in row-major order.
pub(crate) fn copy_rows<E: Real>(x: &DMatrix<E>, out: &mut [E]) {
    for (row, out) in x.row_iter().zip(out.chunks_exact_mut(x.ncols().max(1))) {
        row.iter().zip(out).for_each(|(x, out)| *out = *x);
    }
}

/// Replaces the lower triangle of the diagonal block from row and column `from` to `to` by its Cholesky factor; `false`
/// if there is none.
pub(crate) fn cholesky<E: Real>(a: &mut [E], n: usize, from: usize, to: usize) -> bool {
    let len = to - from;
    if len <= 2 * BLOCK {
        let symmetric = DMatrix::from_fn(len, len, |i, j| a[(from + i.max(j)) * n + from + i.min(j)]);
        let Some(factor) = nalgebra::Cholesky::new(symmetric) else { return false };
        let l = factor.l_dirty();
        for i in 0..len {
            for j in 0..=i {
                a[(from + i) * n + from + j] = l[(i, j)];
            }
        }
        return true;
    }
    let middle = from + len / 2;
    if !cholesky(a, n, from, middle) {
        return false;
    }
    // The rows below the first half, as columns: `l11 x = a21^T`, and `l21 = x^T`.
    let (rows, below) = (middle - from, to - middle);
    let mut x = vec![E::ZERO; rows * below];
    for i in 0..below {
        for k in 0..rows {
            x[k * below + i] = a[(middle + i) * n + from + k];
        }
    }
    let first = copied(a, n, [from, from], [rows, rows]);
    TriangleView { of: &first, n: rows, transposed: false, lower: true, unit: false }.solve(&mut x, below);
    for i in 0..below {
        for k in 0..rows {
            a[(middle + i) * n + from + k] = x[k * below + i];
        }
    }
    let last = &mut a[middle * n + middle..];
    subtract_product([below, below, rows], (&x, [1, below]), (&x, [below, 1]), (last, n));
    cholesky(a, n, middle, to)
}

/// A copy of a block of a matrix: `at` is its first row and column, `size` its numbers of rows and columns.
fn copied<E: Real>(a: &[E], n: usize, at: [usize; 2], size: [usize; 2]) -> Vec<E> {
    let row = |i: usize| &a[(at[0] + i) * n + at[1]..][..size[1]];
    (0..size[0]).flat_map(row).copied().collect()
}

/// LU factorization in place, with partial pivoting, of the columns from `from` to `to` of a square matrix, in the rows
/// from `from` on. Whole rows are exchanged, and the elements of `order` with them.
pub(crate) fn lu<E: Real>(a: &mut [E], n: usize, from: usize, to: usize, order: &mut [i64]) {
    let width = to - from;
    if width <= BLOCK {
        return lu_block(a, n, from, to, order);
    }
    let middle = from + width / 2;
    lu(a, n, from, middle, order);
    let (rows, columns, below) = (middle - from, to - middle, n - middle);
    let first = copied(a, n, [from, from], [rows, rows]);
    let mut right = copied(a, n, [from, middle], [rows, columns]);
    TriangleView { of: &first, n: rows, transposed: false, lower: true, unit: true }.solve(&mut right, columns);
    for (i, row) in right.chunks_exact(columns).enumerate() {
        a[(from + i) * n + middle..][..columns].copy_from_slice(row);
    }
    if below > 0 {
        let left = copied(a, n, [middle, from], [below, rows]);
        let rest = &mut a[middle * n + middle..];
        subtract_product([below, columns, rows], (&left, [rows, 1]), (&right, [columns, 1]), (rest, n));
    }
    lu(a, n, middle, to, order);
}

fn lu_block<E: Real>(a: &mut [E], n: usize, from: usize, to: usize, order: &mut [i64]) {
    let (rows, width) = (n - from, to - from);
    let panel = DMatrix::from_row_slice(rows, width, &copied(a, n, [from, from], [rows, width]));
    let factors = nalgebra::LU::new(panel);
    let mut moved = DVector::from_fn(rows, |i, _| i);
    factors.p().permute_rows(&mut moved);
    let changed: Vec<usize> = (0..rows).filter(|i| moved[*i] != *i).collect();
    let sources: Vec<Vec<E>> = changed.iter().map(|i| a[(from + moved[*i]) * n..][..n].to_vec()).collect();
    let numbers: Vec<i64> = changed.iter().map(|i| order[from + moved[*i]]).collect();
    for ((i, row), number) in changed.iter().zip(&sources).zip(numbers) {
        a[(from + i) * n..][..n].copy_from_slice(row);
        order[from + i] = number;
    }
    let packed = factors.lu_internal();
    for i in 0..rows {
        for j in 0..width {
            a[(from + i) * n + from + j] = packed[(i, j)];
        }
    }
}
