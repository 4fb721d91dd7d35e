//! Strided accesses: the elements of a buffer that a flat range of an iteration space reads or writes.
//!
//! A group runs over its iteration space in row-major order, tile by tile. An access turns the affine view of an
//! operand, or of a result, into runs of one stride for any flat range, so a tile reads and writes through views of any
//! kind.
//!
//! Words: a *position* is a flat index of the iteration space; a *place* is the offset of an element in the flat array.
//! Positions at which the view lies outside the array have no place: they are *holes*, where a read gives 0.
//!
//! Law: an access visits each position of a range once, and gives its place, or none for a hole. If the innermost axes
//! are short, runs go along the next axis around them, so that runs are long anyway.
#![allow(clippy::needless_range_loop, reason = "indices are inlined with certainty, iterators are not")]

mod grids;

use std::ops::Range;

use smallvec::SmallVec;

use crate::cost::MACHINE;
use crate::ops::View;
use crate::shape;

pub(crate) use grids::{ADDED, READ, SHORT_ROW, STACKED};

/// One axis of an iteration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AccessAxis {
    pub(crate) len: usize,
    /// The distance of the places of neighbouring indices.
    pub(crate) stride: i64,
    /// The range `lo..hi` of the indices that have places; the others are holes.
    pub(crate) lo: usize,
    pub(crate) hi: usize,
}

impl AccessAxis {
    /// Splits an axis into an outer one and an inner one of length `n`: the inverse of merging them. `None` if the
    /// length or the bounds are not multiples of `n`.
    fn split(self, n: usize) -> Option<[AccessAxis; 2]> {
        let AccessAxis { len, stride, lo, hi } = self;
        [len, lo, hi].iter().all(|k| k.is_multiple_of(n)).then(|| {
            let outer = AccessAxis { len: len / n, stride: stride.wrapping_mul(n as i64), lo: lo / n, hi: hi / n };
            [outer, AccessAxis { len: n, stride, lo: 0, hi: n }]
        })
    }
}

/// A view as strides over the flat array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StridedAccess {
    /// The place of the index 0 of all axes; it may lie outside the array.
    base: i64,
    /// The axes, outermost first; at least one.
    axes: SmallVec<[AccessAxis; 4]>,
    /// The number of short innermost axes that runs go across, and the number of their positions.
    across: (usize, usize),
    /// The number of elements of the array, if holes may read elements of the array instead of 0, and otherwise 0.
    beyond: usize,
}

/// The largest number of positions of the innermost axes that runs go across.
const SHORT: usize = 16;

/// A permutation of the axes of an iteration space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AxisOrder {
    /// The lengths of the axes, outermost first.
    pub(crate) lens: SmallVec<[usize; 4]>,
    /// The numbers of the axes in the new order.
    pub(crate) order: SmallVec<[usize; 4]>,
}

/// A run of positions, `step` apart, with places `stride` apart, or of holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first position of the run within the range.
    pub(crate) at: usize,
    pub(crate) step: usize,
    pub(crate) len: usize,
    /// The place of the first position; `None` for a run of holes.
    pub(crate) place: Option<usize>,
    pub(crate) stride: i64,
}

/// The places of a range of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// Consecutive places, from this one on.
    Contiguous(usize),
    /// One place for all positions.
    Single(usize),
    /// Any other places.
    Strided,
}

/// Contiguous rows with holes at their starts or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holed {
    /// The place of the first position, even if it is a hole: the continuation of the row.
    place: i64,
    /// The length of the rows.
    row: usize,
    /// The column of the first position.
    column: usize,
    /// The range of the columns that are not holes.
    seen: (usize, usize),
}

impl Holed {
    /// The place of the first of `len` positions, if the places of all of them, holes continued, lie within `elements`.
    pub(crate) fn within(&self, len: usize, elements: Range<usize>) -> Option<usize> {
        let place = usize::try_from(self.place).ok()?;
        (elements.start <= place && place + len <= elements.end).then_some(place)
    }

    /// Calls `hole` with each range of holes among the first `len` positions.
    pub(crate) fn holes(&self, len: usize, mut hole: impl FnMut(Range<usize>)) {
        let (lo, hi) = self.seen;
        let clip = |at: usize| at.saturating_sub(self.column).min(len);
        let mut row = 0;
        while row < self.column + len {
            for (from, to) in [(row, row + lo), (row + hi, row + self.row)] {
                let range = clip(from)..clip(to);
                if !range.is_empty() {
                    hole(range);
                }
            }
            row += self.row;
        }
    }
}

impl StridedAccess {
    /// The access of a view; `None` if the bounds of the array are a condition on several axes together.
    pub(crate) fn new(view: &View) -> Option<StridedAccess> {
        if !view.is_empty() && !view.is_total_in_box() {
            return None;
        }
        let source = view.source();
        let mut base = 0i64;
        let axis = |(len, (lo, hi)): (&usize, &(usize, usize))| AccessAxis { len: *len, stride: 0, lo: *lo, hi: *hi };
        let mut axes: SmallVec<[AccessAxis; 4]> = view.shape().iter().zip(view.bounds()).map(axis).collect();
        let mut step = 1i64;
        for k in (0..source.len()).rev() {
            base = base.wrapping_add(view.offset()[k].wrapping_mul(step));
            for (axis, m) in axes.iter_mut().zip(view.row(k)) {
                axis.stride = axis.stride.wrapping_add(m.wrapping_mul(step));
            }
            step = step.wrapping_mul(source[k] as i64);
        }
        if view.is_empty() {
            axes.push(AccessAxis { len: 1, stride: 0, lo: 0, hi: 0 });
        }
        Some(StridedAccess::of(base, axes))
    }

    fn of(base: i64, axes: SmallVec<[AccessAxis; 4]>) -> StridedAccess {
        StridedAccess { base, axes, across: (0, 1), beyond: 0 }.merged()
    }

    /// The same access with as few axes as possible: axes of length 1 are dropped, and an outer axis whose stride is
    /// the extent of the next inner one is merged with it.
    fn merged(mut self) -> StridedAccess {
        let mut merged: SmallVec<[AccessAxis; 4]> = SmallVec::new();
        for axis in &self.axes {
            let whole = axis.lo == 0 && axis.hi == axis.len;
            if axis.len == 1 && whole {
                continue;
            }
            match merged.last_mut() {
                // An inner axis without holes is merged; the holes of the outer axis remain a condition on the merged
                // one.
                Some(outer) if whole && outer.stride == axis.stride.wrapping_mul(axis.len as i64) => {
                    let n = axis.len;
                    *outer = AccessAxis { len: outer.len * n, stride: axis.stride, lo: outer.lo * n, hi: outer.hi * n };
                }
                Some(_) | None => merged.push(*axis),
            }
        }
        if merged.is_empty() {
            merged.push(AccessAxis { len: 1, stride: 0, lo: 0, hi: 1 });
        }
        self.across = (0, 1);
        for (k, axis) in merged.iter().enumerate().skip(1).rev() {
            let steps = self.across.1 * axis.len;
            if steps > SHORT || merged[k - 1].len < steps {
                break;
            }
            self.across = (merged.len() - k, steps);
        }
        self.axes = merged;
        self
    }

    /// The place of the index 0 of all axes, and the axes, outermost first.
    pub(crate) fn base_and_axes(&self) -> (i64, &[AccessAxis]) {
        (self.base, &self.axes)
    }

    /// The places `0, 1, .., n - 1`.
    pub(crate) fn along(n: usize) -> StridedAccess {
        StridedAccess::of(0, SmallVec::from_slice(&[AccessAxis { len: n, stride: 1, lo: 0, hi: n }]))
    }

    /// The same access with all places moved by `at`.
    pub(crate) fn moved(mut self, at: usize) -> StridedAccess {
        self.base = self.base.wrapping_add(at as i64);
        self
    }

    /// The access with the same holes whose other positions all have one place.
    pub(crate) fn still(mut self, at: usize) -> StridedAccess {
        self.base = at as i64;
        self.axes.iter_mut().for_each(|axis| axis.stride = 0);
        self.merged()
    }

    /// Loop interchange: the order of the axes by descending stride, in which consecutive positions have consecutive
    /// places; `None` if the innermost axis has stride 1 already, or if no order gives long runs of stride 1.
    pub(crate) fn axis_order(&self) -> Option<AxisOrder> {
        let inner = self.axes.last()?;
        let (near, still) = (|axis: &AccessAxis| axis.stride.abs() == 1, |axis: &AccessAxis| axis.stride == 0);
        if near(inner) || inner.len < MACHINE.interchange_axis || self.axes.iter().any(still) {
            return None;
        }
        self.axes.iter().find(|axis| near(axis) && axis.len >= MACHINE.interchange_axis)?;
        let mut order: SmallVec<[usize; 4]> = (0..self.axes.len()).collect();
        crate::order::sort_by_key(&mut order, |k| std::cmp::Reverse(self.axes[*k].stride.unsigned_abs()));
        Some(AxisOrder { lens: self.axes.iter().map(|axis| axis.len).collect(), order })
    }

    /// The access over the same positions in another order of the axes; `None` if its axes cannot be split into those
    /// of the order.
    pub(crate) fn reordered(&self, turn: &AxisOrder) -> Option<StridedAccess> {
        let mut left = self.axes.iter().rev().copied();
        let mut outer = None;
        let mut axes: SmallVec<[AccessAxis; 4]> = SmallVec::new();
        for n in turn.lens.iter().rev() {
            let axis = outer.take().or_else(|| left.next())?;
            if axis.len == *n {
                axes.push(axis);
                continue;
            }
            let [rest, inner] = axis.split(*n)?;
            axes.push(inner);
            outer = Some(rest);
        }
        if outer.is_some() || left.next().is_some() {
            return None;
        }
        let axes = turn.order.iter().map(|k| axes[axes.len() - 1 - k]).collect();
        Some(StridedAccess::of(self.base, axes))
    }

    /// The stride of the innermost axis.
    pub(crate) fn steps(&self) -> i64 {
        self.axes.last().map_or(0, |axis| axis.stride)
    }

    /// Whether neighbouring positions of the innermost axis have neighbouring places, or one place.
    pub(crate) fn is_near(&self) -> bool {
        self.axes.last().is_some_and(|axis| axis.stride.abs() <= 1)
    }

    /// The access to the part of a result that `concat` writes from one operand: of an array `[outer, whole, inner]`,
    /// the `rows` rows from `before` on along the middle axis.
    pub(crate) fn block(outer: usize, rows: usize, inner: usize, whole: usize, before: usize) -> StridedAccess {
        let axis = |len: usize, stride: usize| AccessAxis { len, stride: stride as i64, lo: 0, hi: len };
        let axes = SmallVec::from_slice(&[axis(outer, whole * inner), axis(rows * inner, 1)]);
        StridedAccess::of((before * inner) as i64, axes)
    }

    /// The place of the first position, if the access is contiguous without holes.
    pub(crate) fn straight(&self) -> Option<usize> {
        match &self.axes[..] {
            [AccessAxis { len, stride: 1, lo: 0, hi }] if hi == len => Some(self.base as usize),
            [AccessAxis { len: 1, lo: 0, hi: 1, .. }] => Some(self.base as usize),
            _ => None,
        }
    }

    /// The place of all positions, if all have the same place and none is a hole.
    pub(crate) fn constant(&self) -> Option<usize> {
        let still = |axis: &AccessAxis| axis.stride == 0 && (axis.lo, axis.hi) == (0, axis.len);
        self.axes.iter().all(still).then_some(self.base as usize)
    }

    /// Whether the access has no holes.
    pub(crate) fn is_total(&self) -> bool {
        self.axes.iter().all(|axis| (axis.lo, axis.hi) == (0, axis.len))
    }

    /// Whether the places of each of `rows` rows of positions lie in the row of the array of the same number, of `row`
    /// elements. The answer is conservative: it may be no though they do.
    pub(crate) fn stays_in_rows(&self, rows: usize, row: usize) -> bool {
        if self.axes.iter().any(|axis| axis.lo >= axis.hi) {
            return true;
        }
        let mut left = rows;
        let (mut lowest, mut highest) = (self.base, self.base);
        for axis in &self.axes {
            // An axis counts rows, or elements of a row, or both, if axes have been merged.
            let (step, counted, (lo, hi)) = match left {
                1 => (1, 1, (axis.lo, axis.hi)),
                _ if left.is_multiple_of(axis.len) => (1, axis.len, (0, 1)),
                _ if axis.len.is_multiple_of(left) => (axis.len / left, left, (0, axis.len / left)),
                _ => return false,
            };
            left /= counted;
            // From row to row, the places relative to the start of the row may move.
            let drift = axis.stride.wrapping_mul(step as i64).wrapping_sub((row * left) as i64);
            let seen = if step == 1 && counted > 1 { (axis.lo, axis.hi) } else { (0, counted) };
            for (stride, (lo, hi)) in [(axis.stride, (lo, hi)), (drift, seen)] {
                let (a, b) = (stride.wrapping_mul(lo as i64), stride.wrapping_mul(hi as i64 - 1));
                (lowest, highest) = (lowest.wrapping_add(a.min(b)), highest.wrapping_add(a.max(b)));
            }
        }
        left == 1 && lowest >= 0 && highest < row as i64
    }

    /// Calls `f` with the number of positions of the `k` outermost axes, for each `k` less than the number of axes.
    pub(crate) fn outer_sizes(&self, f: &mut dyn FnMut(usize)) {
        let outer = &self.axes[..self.axes.len() - 1];
        outer.iter().fold(1, |steps, axis| {
            f(steps * axis.len);
            steps * axis.len
        });
    }

    /// The footprint of the positions `start .. start + len`: `Strided` unless they lie in one row without holes, or
    /// holes may read other elements.
    pub(crate) fn footprint(&self, start: usize, len: usize) -> Footprint {
        let [outer @ .., inner] = &self.axes[..] else { return Footprint::Strided };
        let (mut rest, j) = (start / inner.len, start % inner.len);
        if self.beyond > 0
            && let Some(holed) = self.straight_with_holes(start, len)
            && let Some(place) = holed.within(len, 0..self.beyond)
        {
            return Footprint::Contiguous(place);
        }
        if j < inner.lo || j + len > inner.hi {
            return Footprint::Strided;
        }
        let mut place = self.base.wrapping_add(inner.stride.wrapping_mul(j as i64));
        for axis in outer.iter().rev() {
            let i = rest % axis.len;
            if i < axis.lo || i >= axis.hi {
                return Footprint::Strided;
            }
            (place, rest) = (place.wrapping_add(axis.stride.wrapping_mul(i as i64)), rest / axis.len);
        }
        match inner.stride {
            0 => Footprint::Single(place as usize),
            1 => Footprint::Contiguous(place as usize),
            _ => Footprint::Strided,
        }
    }

    /// The positions `start .. start + len` as contiguous rows with holes at their starts or ends; `None` if they are
    /// not.
    pub(crate) fn straight_with_holes(&self, start: usize, len: usize) -> Option<Holed> {
        let [rows, inner] = self.straight_rows()?;
        let (first, last) = (start / inner.len, (start + len - 1) / inner.len);
        (len > 0 && rows.lo <= first && last < rows.hi).then(|| Holed {
            place: self.base + start as i64,
            row: inner.len,
            column: start % inner.len,
            seen: (inner.lo, inner.hi),
        })
    }

    /// Whether long ranges of positions have consecutive places, or one place.
    pub(crate) fn is_mostly_straight(&self) -> bool {
        self.axes.last().is_some_and(|inner| matches!(inner.stride, 0 | 1) && inner.len > *READ.end())
    }

    /// The length of the rows within which the access is contiguous or has one place, if it has several rows.
    pub(crate) fn row(&self) -> Option<usize> {
        let [_, .., inner] = &self.axes[..] else { return None };
        let whole = (inner.lo, inner.hi) == (0, inner.len);
        (whole && matches!(inner.stride, 0 | 1)).then_some(inner.len)
    }

    /// The stride along the innermost axis; 0 without axes.
    pub(crate) fn inner_stride(&self) -> i64 {
        self.axes.last().map_or(0, |axis| axis.stride)
    }

    /// The number of axes; neighbours that are walked together count as one.
    pub(crate) fn rank(&self) -> usize {
        self.axes.len()
    }

    /// The number of positions after which the places repeat, if they do.
    pub(crate) fn period(&self) -> Option<usize> {
        let [AccessAxis { stride: 0, .. }, rest @ ..] = &self.axes[..] else { return None };
        (self.is_total() && !rest.is_empty()).then(|| rest.iter().map(|axis| axis.len).product())
    }

    /// For contiguous rows with holes at their starts or ends: the length of rows, and the number of holes at the start
    /// and at the end of each.
    pub(crate) fn halo(&self) -> Option<(usize, usize, usize)> {
        let [_, inner] = self.straight_rows()?;
        let holes = (inner.lo, inner.hi) != (0, inner.len);
        holes.then_some((inner.len, inner.lo, inner.len - inner.hi))
    }

    /// The axis of the rows and the axis within a row, if the rows are contiguous and not all holes.
    fn straight_rows(&self) -> Option<&[AccessAxis; 2]> {
        let axes: &[AccessAxis; 2] = self.axes[..].try_into().ok()?;
        let [rows, inner] = axes;
        (inner.lo < inner.hi && inner.stride == 1 && rows.stride == inner.len as i64).then_some(axes)
    }

    /// The same access, whose holes may read any elements of an array of this size instead of 0.
    pub(crate) fn beyond(mut self, size: usize) -> StridedAccess {
        self.beyond = size;
        self
    }

    /// The access of `count` columns of rows of length `row`: those from `first` on, `step` apart.
    pub(crate) fn columns_of(&self, row: usize, first: usize, step: usize, count: usize) -> Option<StridedAccess> {
        let mut axes = self.axes.clone();
        let inner = *axes.last()?;
        if inner.len > row {
            axes.pop();
            axes.extend(inner.split(row)?);
        }
        let inner = axes.last_mut().filter(|inner| inner.len == row)?;
        let base = self.base.wrapping_add(inner.stride.wrapping_mul(first as i64));
        let before = |side: usize| side.saturating_sub(first).div_ceil(step).min(count);
        let (lo, hi) = (before(inner.lo), before(inner.hi));
        *inner = AccessAxis { len: count, stride: inner.stride.wrapping_mul(step as i64), lo, hi };
        Some(StridedAccess::of(base, axes))
    }

    /// Calls `body` for each run of the positions `start .. start + len`.
    #[inline]
    pub(crate) fn runs(&self, start: usize, len: usize, mut body: impl FnMut(Run)) {
        let (inner, outer) = innermost(&self.axes);
        if let ([], true) = (outer, (inner.lo, inner.hi) == (0, inner.len)) {
            let place = self.base + inner.stride * start as i64;
            body(Run { at: 0, step: 1, len, place: Some(place as usize), stride: inner.stride });
            return;
        }
        if self.across.0 > 0 {
            return self.columns(start, len, &mut body);
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let index = &mut index[..];
        let (mut rest, mut j) = (start / inner.len, start % inner.len);
        for k in (0..outer.len()).rev() {
            (index[k], rest) = (rest % outer[k].len, rest / outer[k].len);
        }
        let mut done = 0;
        while done < len {
            let count = (inner.len - j).min(len - done);
            let (mut inside, mut row) = (true, self.base);
            for k in 0..outer.len() {
                inside &= outer[k].lo <= index[k] && index[k] < outer[k].hi;
                row = row.wrapping_add(outer[k].stride.wrapping_mul(index[k] as i64));
            }
            let (lo, hi) = if inside { (inner.lo.clamp(j, j + count), inner.hi.clamp(j, j + count)) } else { (j, j) };
            let (lo, hi) = (lo, hi.max(lo));
            let mut part = |from: usize, to: usize, place: Option<usize>| {
                if from < to {
                    body(Run { at: done + from - j, step: 1, len: to - from, place, stride: inner.stride });
                }
            };
            part(j, lo, None);
            part(lo, hi, Some(row.wrapping_add(inner.stride * lo as i64) as usize));
            part(hi, j + count, None);
            done += count;
            j = 0;
            for k in (0..outer.len()).rev() {
                index[k] += 1;
                if index[k] < outer[k].len {
                    break;
                }
                index[k] = 0;
            }
        }
    }
}

/// The last of some axes, and those around it. A walk has an axis, and one across the innermost axes has one around them.
#[inline]
fn innermost(axes: &[AccessAxis]) -> (&AccessAxis, &[AccessAxis]) {
    match axes {
        [outer @ .., inner] => (inner, outer),
        [] => unreachable!("a walk has an axis"),
    }
}

impl StridedAccess {
    /// Runs along the axis around the short innermost axes, one run for each position of these.
    fn columns(&self, start: usize, len: usize, body: &mut impl FnMut(Run)) {
        if len == 0 {
            return;
        }
        let (outer, across) = self.axes.split_at(self.axes.len() - self.across.0);
        let (rows, outer) = innermost(outer);
        let (width, end) = (self.across.1, start + len);
        let (mut row, last) = (start / width, (end - 1) / width);
        while row <= last {
            let until = (last + 1).min((row / rows.len + 1) * rows.len);
            let (mut rest, mut block, mut inside) = (row / rows.len, self.base, true);
            for axis in outer.iter().rev() {
                let i = rest % axis.len;
                (block, rest) = (block.wrapping_add(axis.stride * i as i64), rest / axis.len);
                inside &= axis.lo <= i && i < axis.hi;
            }
            let first = row - row % rows.len;
            for column in 0..width {
                let (mut rest, mut base, mut seen) = (column, block, inside);
                for axis in across.iter().rev() {
                    let i = rest % axis.len;
                    (base, rest) = (base.wrapping_add(axis.stride * i as i64), rest / axis.len);
                    seen &= axis.lo <= i && i < axis.hi;
                }
                // The rows whose position in this column lies within the range of positions.
                let from = row.max(start.saturating_sub(column).div_ceil(width)) - first;
                let to = until.min((end + width - 1 - column) / width).max(from + first) - first;
                let (lo, hi) = if seen { (rows.lo.clamp(from, to), rows.hi.clamp(from, to)) } else { (from, from) };
                let (lo, hi) = (lo, hi.max(lo));
                let mut part = |a: usize, b: usize, place: Option<usize>| {
                    if a < b {
                        let at = (first + a) * width + column - start;
                        body(Run { at, step: width, len: b - a, place, stride: rows.stride });
                    }
                };
                part(from, lo, None);
                part(lo, hi, Some(base.wrapping_add(rows.stride * lo as i64) as usize));
                part(hi, to, None);
            }
            row = until;
        }
    }
}

/// The number of positions of the iteration space of a view.
pub(crate) fn positions(view: &View) -> usize {
    shape::size(view.shape())
}

#[cfg(test)]
mod tests;
