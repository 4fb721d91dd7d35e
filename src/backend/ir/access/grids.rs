//! Grids and boxes: the positions of a range in bands of rows along the last two axes of an access.
//!
//! Law: the grids of a range, and the boxes of a range with its holes, have the places that the runs of the range have.

use std::ops::RangeInclusive;

use super::{AccessAxis, StridedAccess};
use crate::cost::MACHINE;
use crate::kernels::elementwise::StackShape;

/// The largest stride within the rows of a grid, unless the rows interleave, so that the elements of each column are
/// contiguous, or all rows have the same places.
const STEPS: i64 = 4;

/// The length under which rows are short: they interleave columns, and a few of them are not a grid.
pub(crate) const SHORT_ROW: usize = 8;

/// The most positions of a grid in a stack: larger grids are worth a call each, and so are grids of longer rows.
pub(crate) const STACKED: usize = 256;
const SMALL_GRID: usize = 64;

/// The least number of grids that are a stack.
const LEAST: usize = 3;

/// The least number of positions of two axes that become one box.
const SMALL_BOX: usize = 32;

/// The lengths of rows that are read as grids.
pub(crate) const READ: RangeInclusive<usize> = 2..=MACHINE.grid_row;

/// The lengths of rows that are accumulated as grids: a tile has several of them.
pub(crate) const ADDED: RangeInclusive<usize> = 2..=MACHINE.tile / 2;

/// Consecutive short rows of positions, whose places have one stride from row to row and one within a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The first position within the range.
    pub(crate) at: usize,
    pub(crate) rows: usize,
    /// The length of a row.
    pub(crate) len: usize,
    /// The place of the first position.
    pub(crate) place: usize,
    pub(crate) row_stride: usize,
    /// At most [`STEPS`], unless `row_stride` is 0 or 1.
    pub(crate) stride: usize,
}

impl Grid {
    /// The number of elements from the first place to the last.
    pub(crate) fn reach(&self) -> usize {
        (self.rows - 1) * self.row_stride + (self.len - 1) * self.stride + 1
    }
}

/// Consecutive small grids of one shape, whose places have one stride from grid to grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridStack {
    /// The first position within the range.
    pub(crate) at: usize,
    pub(crate) grids: usize,
    /// The place of the first position.
    pub(crate) place: usize,
    pub(crate) shape: StackShape,
}

impl GridStack {
    /// The number of positions.
    pub(crate) fn size(&self) -> usize {
        self.grids * self.shape.rows * self.shape.len
    }

    /// The number of elements from the first place to the last.
    pub(crate) fn reach(&self) -> usize {
        let StackShape { rows, len, strides: [grid, row, step] } = self.shape;
        (self.grids - 1) * grid + (rows - 1) * row + (len - 1) * step + 1
    }
}

/// Consecutive rows of positions, with one index of all axes but the last two; or a part of one row.
struct Band {
    /// The first position within the range.
    at: usize,
    /// The index of the first row and of the first column, and the numbers of rows and of columns.
    row: usize,
    column: usize,
    rows: usize,
    width: usize,
    /// The place of the index 0 of the last two axes.
    place: i64,
    /// Whether the other axes have no hole there.
    inside: bool,
}

/// The positions of a range that are not holes, as a box: rows of positions, with one stride of places from row to row
/// and one within a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilledBox {
    /// The first position within the range.
    pub(crate) at: usize,
    pub(crate) rows: usize,
    /// The number of positions from row to row.
    pub(crate) pitch: usize,
    /// The length of a row.
    pub(crate) len: usize,
    /// The place of the first position.
    pub(crate) place: usize,
    pub(crate) row_stride: i64,
    pub(crate) stride: i64,
}

impl FilledBox {
    /// The lowest place, and the number of elements from the lowest place to the highest.
    pub(crate) fn reach(&self) -> (usize, usize) {
        let (rows, row) = (self.row_stride * (self.rows as i64 - 1), self.stride * (self.len as i64 - 1));
        let lowest = self.place as i64 + rows.min(0) + row.min(0);
        (lowest as usize, (rows.abs() + row.abs()) as usize + 1)
    }
}

impl StridedAccess {
    /// Calls `body` for each grid of the positions `start .. start + len`; returns whether the access consists of grids
    /// whose row length is in `lengths`.
    pub(crate) fn grids(
        &self,
        lengths: RangeInclusive<usize>,
        start: usize,
        len: usize,
        mut body: impl FnMut(Grid),
    ) -> bool {
        let [outer @ .., rows, inner] = &self.axes[..] else { return false };
        let n = inner.len;
        let interleaved = rows.stride == 1 && inner.stride > STEPS && n < SHORT_ROW;
        let steps = (0..=STEPS).contains(&inner.stride) || inner.stride > STEPS && (rows.stride == 0 || interleaved);
        if !lengths.contains(&n) || rows.stride < 0 || !steps || !self.is_total() {
            return false;
        }
        // A few short rows are not a grid: runs go across them, along the axis around them.
        if n < SHORT_ROW && rows.len * n < 64 && !outer.is_empty() {
            return false;
        }
        let (row_stride, stride) = (rows.stride as usize, inner.stride as usize);
        self.bands((outer, [rows, inner]), (start, len), |Band { at, row, column, rows, width, place, inside: _ }| {
            let place = place + row_stride as i64 * row as i64 + stride as i64 * column as i64;
            body(Grid { at, rows, len: width, place: place as usize, row_stride, stride });
        });
        true
    }

    /// Calls `body` for each stack of small grids among the positions `start .. start + len`, in order: whole grids, rows
    /// of one grid, or a part of one row. Returns whether the access consists of small grids.
    pub(crate) fn stacks(&self, start: usize, len: usize, mut body: impl FnMut(GridStack)) -> bool {
        let [outer @ .., grids, rows, inner] = &self.axes[..] else { return false };
        let (n, size) = (inner.len, rows.len * inner.len);
        let strides = [grids.stride, rows.stride, inner.stride];
        // Transposed rows are read tile by tile.
        let crossing = inner.stride > STEPS && rows.stride == 1;
        let most = if n <= SHORT_ROW { STACKED } else { SMALL_GRID };
        let small = size <= most && READ.contains(&n) && grids.len >= LEAST;
        if !small || crossing || !self.is_total() || strides.iter().any(|stride| *stride < 0) {
            return false;
        }
        let (mut at, end) = (start, start + len);
        while at < end {
            let (column, row, grid, left) = (at % n, at % size / n, at / size % grids.len, end - at);
            let (count, height, width) = match (column, row) {
                (0, 0) if left >= size => ((left / size).min(grids.len - grid), rows.len, n),
                (0, _) if left >= n => (1, (left / n).min(rows.len - row), n),
                (_, _) => (1, 1, left.min(n - column)),
            };
            let (mut place, _) = self.origin(outer, at / size / grids.len);
            place += strides.iter().zip([grid, row, column]).map(|(stride, k)| stride * k as i64).sum::<i64>();
            let shape = StackShape { rows: height, len: width, strides: strides.map(|stride| stride as usize) };
            body(GridStack { at: at - start, grids: count, place: place as usize, shape });
            at += count * height * width;
        }
        true
    }

    /// Calls `body` for each box of the positions `start .. start + len` that are not holes; returns whether the access
    /// has holes, or goes backwards along one of the last two axes, and consists of short rows, many to a box.
    pub(crate) fn boxes(&self, start: usize, len: usize, mut body: impl FnMut(FilledBox)) -> bool {
        let [outer @ .., rows, inner] = &self.axes[..] else { return false };
        let n = inner.len;
        let forwards = rows.stride >= 0 && inner.stride >= 0;
        if forwards && self.is_total() || !READ.contains(&n) || rows.len * n < SMALL_BOX && !outer.is_empty() {
            return false;
        }
        self.bands((outer, [rows, inner]), (start, len), |band| {
            let (first, last) = (rows.lo.max(band.row), rows.hi.min(band.row + band.rows));
            let (from, to) = (inner.lo.max(band.column), inner.hi.min(band.column + band.width));
            if band.inside && first < last && from < to {
                let moved = rows.stride.wrapping_mul(first as i64).wrapping_add(inner.stride.wrapping_mul(from as i64));
                body(FilledBox {
                    at: band.at + (first - band.row) * n + (from - band.column),
                    rows: last - first,
                    pitch: n,
                    len: to - from,
                    place: band.place.wrapping_add(moved) as usize,
                    row_stride: rows.stride,
                    stride: inner.stride,
                });
            }
        });
        true
    }

    /// The place of the index 0 of all other axes, at an index of the axes `outer`, whose innermost counts fastest; and
    /// whether these axes have no hole there.
    #[inline(always)]
    fn origin(&self, outer: &[AccessAxis], index: usize) -> (i64, bool) {
        let (mut rest, mut place, mut inside) = (index, self.base, true);
        for axis in outer.iter().rev() {
            let k = rest % axis.len;
            (place, rest) = (place.wrapping_add(axis.stride.wrapping_mul(k as i64)), rest / axis.len);
            inside &= axis.lo <= k && k < axis.hi;
        }
        (place, inside)
    }

    /// Calls `body` for each band of the positions `start .. start + len`, given the axes around the last two, and these.
    #[inline(always)]
    fn bands(
        &self,
        (outer, [rows, inner]): (&[AccessAxis], [&AccessAxis; 2]),
        (start, len): (usize, usize),
        mut body: impl FnMut(Band),
    ) {
        let n = inner.len;
        let (mut at, end) = (start, start + len);
        while at < end {
            let (whole, column) = (at / n, at % n);
            let (rest, row) = (whole / rows.len, whole % rows.len);
            let (place, inside) = self.origin(outer, rest);
            // A row that the range cuts becomes a separate band.
            let (count, width) = match end - at {
                left if column > 0 || left < n => (1, left.min(n - column)),
                left => ((left / n).min(rows.len - row), n),
            };
            body(Band { at: at - start, row, column, rows: count, width, place, inside });
            at += count * width;
        }
    }
}
