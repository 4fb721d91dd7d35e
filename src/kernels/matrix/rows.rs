//! Matrices in rows of whole vectors, and the kernels of blocked factorisations on parts of them.
//!
//! Laws: the order of a sum of products depends on sizes alone, so neither tiles nor the width of vectors change a bit.
//! Elements behind the last column are zeros, and stay so.
#![allow(clippy::needless_range_loop, reason = "rows and lanes are indices of several arrays")]

use super::{Real, abs};
use crate::cost::MACHINE;
use crate::dtype::DType;
use crate::kernels::contract::gemm;
use crate::kernels::isa::{Isa, Kernel, Machine, dispatch};

/// The bytes of the largest vector.
const VECTOR: usize = 64;

/// The largest number of rows of a tile of a product.
const ROWS: usize = 6;

/// The lanes of a sum of products along a row.
pub(super) const LANES: usize = 16;

/// The most rows of a triangle that is solved in registers.
pub(super) const TRIANGLE: usize = 8;

/// The numbers of a vector: 8 or 16.
pub(super) const fn lanes<E: Real>() -> usize {
    VECTOR / size_of::<E>()
}

/// A matrix row by row, each row from the start of a vector on.
pub(super) struct AlignedRows<E> {
    memory: Vec<E>,
    start: usize,
    /// The distance of rows, an odd number of vectors: so rows that follow each other are in different sets of the
    /// cache.
    pub(super) stride: usize,
}

/// A factor of a product, or a triangle: in the matrix of the result or elsewhere, from an element on, with the
/// distances of its rows and of its columns, one of them 1.
#[derive(Clone, Copy)]
pub(super) struct MatrixFactor<'a, E> {
    pub(super) of: Option<&'a [E]>,
    pub(super) at: usize,
    pub(super) strides: [usize; 2],
}

impl<'a, E> MatrixFactor<'a, E> {
    /// The part from a row and column on.
    pub(super) fn from(self, row: usize, column: usize) -> MatrixFactor<'a, E> {
        MatrixFactor { at: self.at + row * self.strides[0] + column * self.strides[1], ..self }
    }
}

impl<E: Real> AlignedRows<E> {
    /// Zeros.
    pub(super) fn zeros(rows: usize, columns: usize) -> AlignedRows<E> {
        gemm::keep_freed_memory();
        let lanes = lanes::<E>();
        let stride = (columns.div_ceil(lanes) | 1) * lanes;
        let memory = vec![E::ZERO; rows * stride + lanes];
        let start = memory.as_ptr().align_offset(VECTOR);
        // No more than a hint: the position is right wherever the memory starts.
        let start = if start < lanes { start } else { 0 };
        AlignedRows { memory, start, stride }
    }

    /// The rows of a matrix.
    pub(super) fn of(a: &[E], columns: usize) -> AlignedRows<E> {
        let mut rows = AlignedRows::zeros(a.len().checked_div(columns).unwrap_or(0), columns);
        let stride = rows.stride;
        let to = rows.all().chunks_exact_mut(stride);
        a.chunks_exact(columns.max(1)).zip(to).for_each(|(from, to)| to[..columns].copy_from_slice(from));
        rows
    }

    /// All elements.
    pub(super) fn all(&mut self) -> &mut [E] {
        let len = (self.memory.len() - lanes::<E>()) / self.stride * self.stride;
        &mut self.memory[self.start..self.start + len]
    }

    pub(super) fn row(&self, i: usize) -> &[E] {
        &self.memory[self.start + i * self.stride..][..self.stride]
    }

    /// The rows without the elements after the last column.
    pub(super) fn copy_to(&self, out: &mut [E], columns: usize) {
        for (i, out) in out.chunks_exact_mut(columns.max(1)).enumerate() {
            out.copy_from_slice(&self.row(i)[..columns]);
        }
    }

    /// The part of this matrix from a row and column on, as a factor.
    pub(super) fn part(&self, row: usize, column: usize) -> MatrixFactor<'static, E> {
        MatrixFactor { of: None, at: row * self.stride + column, strides: [self.stride, 1] }
    }

    /// Takes a product from the part at the row and column `c`. `sizes` are the rows and columns of the part, and the
    /// terms of each sum; the right factor is the part of this matrix at `b`. The part is whole vectors.
    pub(super) fn subtract(&mut self, c: [usize; 2], a: MatrixFactor<'_, E>, b: [usize; 2], sizes: [usize; 3]) {
        let [rows, columns, depth] = sizes;
        if rows == 0 || columns == 0 || depth == 0 {
            return;
        }
        let stride = self.stride;
        let at = [c, b].map(|[row, column]| row * stride + column);
        if rows.saturating_mul(columns).saturating_mul(depth) >= MACHINE.packed_update {
            gemm::subtract_within(sizes, (a.of, a.at, a.strides), (self.all(), stride), at);
            return;
        }
        let columns = columns.next_multiple_of(lanes::<E>());
        let x = self.all();
        let sizes = [rows, columns, depth];
        // A constant, so that the code of one width is compiled.
        if const { matches!(E::DTYPE, DType::F64) } {
            dispatch(Isa::detect(), Update::<E, 8> { x, stride, at, a, sizes });
        } else {
            dispatch(Isa::detect(), Update::<E, 16> { x, stride, at, a, sizes });
        }
    }

    /// Replaces some columns of rows by the solution with a triangle of at most [`TRIANGLE`] rows.
    pub(super) fn solve_block(&mut self, [row, column]: [usize; 2], columns: usize, a: TriangleBlock<'_, E>) {
        let (stride, columns) = (self.stride, columns.next_multiple_of(lanes::<E>()));
        let at = row * stride + column;
        let x = self.all();
        // A constant, so that the code of one width is compiled.
        if const { matches!(E::DTYPE, DType::F64) } {
            dispatch(Isa::detect(), Substitution::<E, 8> { x, stride, at, columns, a });
        } else {
            dispatch(Isa::detect(), Substitution::<E, 16> { x, stride, at, columns, a });
        }
    }

    /// Replaces the columns of a vector by their factors `l` and `u`, from the row of the same number on, with the
    /// largest pivots; rows are exchanged whole, and their numbers `order` with them.
    pub(super) fn factor_panel(&mut self, [from, to, rows]: [usize; 3], order: &mut [i64]) {
        let stride = self.stride;
        let x = self.all();
        // A constant, so that the code of one width is compiled.
        if const { matches!(E::DTYPE, DType::F64) } {
            dispatch(Isa::detect(), Panel::<E, 8> { x, stride, from, to, rows, order });
        } else {
            dispatch(Isa::detect(), Panel::<E, 16> { x, stride, from, to, rows, order });
        }
    }
}

#[inline(always)]
pub(super) fn multiply_add<M: Machine, E: Real>(a: E, b: E, c: E) -> E {
    if M::FMA { a.fused(b, c) } else { c + a * b }
}

/// The sum of products.
#[inline(always)]
pub(super) fn inner<M: Machine, E: Real>(x: &[E], y: &[E]) -> E {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut sums = [E::ZERO; LANES];
    for (x, y) in x.iter().zip(y) {
        for l in 0..LANES {
            sums[l] = multiply_add::<M, E>(x[l], y[l], sums[l]);
        }
    }
    let rest = x_rest.iter().zip(y_rest).fold(E::ZERO, |sum, (x, y)| multiply_add::<M, E>(*x, *y, sum));
    let mut width = LANES / 2;
    while width > 0 {
        for l in 0..width {
            sums[l] += sums[l + width];
        }
        width /= 2;
    }
    sums[0] + rest
}

/// `C -= A B`.
struct Update<'x, 'a, E, const P: usize> {
    x: &'x mut [E],
    stride: usize,
    at: [usize; 2],
    a: MatrixFactor<'a, E>,
    sizes: [usize; 3],
}

impl<E: Real, const P: usize> Kernel for Update<'_, '_, E, P> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(mut self) {
        let [rows, columns, _] = self.sizes;
        for column in (0..columns).step_by(P) {
            let mut row = 0;
            while row < rows {
                match (rows - row, self.a.strides[1] == 1) {
                    (1, true) => self.tile::<M, 1, true>(&mut row, column),
                    (2, true) => self.tile::<M, 2, true>(&mut row, column),
                    (3, true) => self.tile::<M, 3, true>(&mut row, column),
                    (4 | 5, true) => self.tile::<M, 4, true>(&mut row, column),
                    (_, true) => self.tile::<M, ROWS, true>(&mut row, column),
                    (1, false) => self.tile::<M, 1, false>(&mut row, column),
                    (2, false) => self.tile::<M, 2, false>(&mut row, column),
                    (3, false) => self.tile::<M, 3, false>(&mut row, column),
                    (4 | 5, false) => self.tile::<M, 4, false>(&mut row, column),
                    (_, false) => self.tile::<M, ROWS, false>(&mut row, column),
                }
            }
        }
    }
}

impl<E: Real, const P: usize> Update<'_, '_, E, P> {
    /// The next `R` rows of a vector of columns. `ALONG` says whether the rows of the left factor lie side by side.
    #[inline(always)]
    fn tile<M: Machine, const R: usize, const ALONG: bool>(&mut self, row: &mut usize, column: usize) {
        let (stride, depth) = (self.stride, self.sizes[2]);
        let mut sums = [[E::ZERO; P]; R];
        {
            let x = &*self.x;
            let left = &self.a.of.unwrap_or(x)[self.a.at..];
            let right = x[self.at[1] + column..].chunks(stride).take(depth);
            let [down, across] = self.a.strides;
            if ALONG {
                let lines: [&[E]; R] = std::array::from_fn(|r| &left[(*row + r) * down..][..depth]);
                for (p, right) in right.enumerate() {
                    let right: &[E; P] = right.first_chunk().expect("rows are whole vectors");
                    for r in 0..R {
                        let factor = lines[r][p];
                        for l in 0..P {
                            sums[r][l] = multiply_add::<M, E>(factor, right[l], sums[r][l]);
                        }
                    }
                }
            } else {
                let left = left[*row * down..].chunks(across);
                for (left, right) in left.zip(right) {
                    let right: &[E; P] = right.first_chunk().expect("rows are whole vectors");
                    let left: &[E; R] = left.first_chunk().expect("the factor has as many rows");
                    for r in 0..R {
                        let factor = [left[r]; P];
                        for l in 0..P {
                            sums[r][l] = multiply_add::<M, E>(factor[l], right[l], sums[r][l]);
                        }
                    }
                }
            }
        }
        for r in 0..R {
            let at = self.at[0] + (*row + r) * stride + column;
            let out: &mut [E; P] = self.x[at..].first_chunk_mut().expect("rows are whole vectors");
            for l in 0..P {
                out[l] -= sums[r][l];
            }
        }
        *row += R;
    }
}

/// A triangle of at most [`TRIANGLE`] rows.
#[derive(Clone, Copy)]
pub(super) struct TriangleBlock<'a, E> {
    pub(super) of: MatrixFactor<'a, E>,
    pub(super) rows: usize,
    pub(super) lower: bool,
    pub(super) unit: bool,
}

struct Substitution<'x, 'a, E, const P: usize> {
    x: &'x mut [E],
    stride: usize,
    at: usize,
    columns: usize,
    a: TriangleBlock<'a, E>,
}

impl<E: Real, const P: usize> Kernel for Substitution<'_, '_, E, P> {
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Substitution { x, stride, at, columns, a } = self;
        // The triangle as a lower one, and ones for rows that are not there.
        let row = |i: usize| if a.lower { i } else { a.rows - 1 - i };
        let mut triangle = [[E::ZERO; TRIANGLE]; TRIANGLE];
        for i in 0..TRIANGLE {
            triangle[i][i] = E::ONE;
        }
        let elements = &a.of.of.unwrap_or(x)[a.of.at..];
        for i in 0..a.rows {
            for j in 0..i {
                triangle[i][j] = elements[row(i) * a.of.strides[0] + row(j) * a.of.strides[1]];
            }
            if !a.unit {
                triangle[i][i] = elements[row(i) * (a.of.strides[0] + a.of.strides[1])];
            }
        }
        for column in (at..at + columns).step_by(P) {
            let mut solved = [[E::ZERO; P]; TRIANGLE];
            for i in 0..TRIANGLE {
                if i < a.rows {
                    solved[i] = *x[column + row(i) * stride..].first_chunk().expect("rows are whole vectors");
                }
            }
            for i in 0..TRIANGLE {
                let mut sum = solved[i];
                for j in 0..i {
                    let factor = -triangle[i][j];
                    for l in 0..P {
                        sum[l] = multiply_add::<M, E>(factor, solved[j][l], sum[l]);
                    }
                }
                if !a.unit {
                    for l in 0..P {
                        sum[l] /= triangle[i][i];
                    }
                }
                solved[i] = sum;
            }
            for i in 0..TRIANGLE {
                if i < a.rows {
                    *x[column + row(i) * stride..].first_chunk_mut().expect("rows are whole vectors") = solved[i];
                }
            }
        }
    }
}

struct Panel<'x, E, const P: usize> {
    x: &'x mut [E],
    stride: usize,
    from: usize,
    to: usize,
    rows: usize,
    order: &'x mut [i64],
}

impl<E: Real, const P: usize> Kernel for Panel<'_, E, P> {
    const WIDE: bool = true;
    type Output = ();

    #[inline(always)]
    fn run<M: Machine>(self) {
        let Panel { x, stride, from, to, rows, order } = self;
        let mut column = vec![E::ZERO; rows - from];
        for k in from..to {
            let below = &mut column[..rows - k];
            let lines = x[k * stride..].chunks_exact(stride);
            below.iter_mut().zip(lines).for_each(|(to, line)| *to = line[k]);
            let at = largest::<E, P>(below);
            let pivot = below[at];
            if pivot == E::ZERO {
                continue;
            }
            if at > 0 {
                let (first, second) = x.split_at_mut((k + at) * stride);
                first[k * stride..][..stride].swap_with_slice(&mut second[..stride]);
                order.swap(k, k + at);
                below.swap(0, at);
            }
            for x in &mut below[1..] {
                *x /= pivot;
            }
            let (above, rest) = x.split_at_mut((k + 1) * stride);
            let mut line: [E; P] = *above[k * stride + from..].first_chunk().expect("rows are whole vectors");
            // What is left of the pivot is not changed, and the factor takes the place of what the pivot meets.
            line[..=k - from].fill(E::ZERO);
            for (row, factor) in rest.chunks_exact_mut(stride).zip(&below[1..]) {
                let row: &mut [E; P] = row[from..].first_chunk_mut().expect("rows are whole vectors");
                for l in 0..P {
                    row[l] = multiply_add::<M, E>(-*factor, line[l], row[l]);
                }
                row[k - from] = *factor;
            }
        }
    }
}

/// The position of the largest absolute value, the first of equal ones.
#[inline(always)]
fn largest<E: Real, const P: usize>(x: &[E]) -> usize {
    let (chunks, rest) = x.as_chunks::<P>();
    let mut most = [E::ZERO; P];
    for chunk in chunks {
        for l in 0..P {
            let size = abs(chunk[l]);
            most[l] = if size > most[l] { size } else { most[l] };
        }
    }
    let most = most.iter().copied().chain(rest.iter().map(|x| abs(*x))).fold(E::ZERO, |m, x| if x > m { x } else { m });
    x.iter().position(|x| abs(*x) == most).unwrap_or(0)
}
