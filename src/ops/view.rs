//! Affine views of an array by an iteration space.
//!
//! A view is a partial map from the indices of an iteration space to the indices of an array, its source: an index `i`
//! in the box of the view maps to `M i + c`. Outside the box, and where `M i + c` is not an index of the source, the
//! view is *out of bounds*: a read gives 0, an addition has no effect. Slices, pads, permutations, reversals,
//! diagonals, strides, windows, replication and reduction are all views.
//!
//! Law: views are data. The composition [`View::after`] of two views is exact, zeros of reads out of bounds included,
//! or `None` if it is not a view. Offsets are host numbers.

use std::fmt;

use smallvec::SmallVec;

use super::kinds::{check_axis, or_panic};
use crate::shape::{MAX_SIZE, Shape, Show, check_possible, size, try_possible, try_rank};

/// The box of a view: a half-open interval per axis of the iteration space.
pub(super) type IterationBox = SmallVec<[(usize, usize); 6]>;

/// Matrix, offset and box of a view.
#[cfg(feature = "serde")]
pub(crate) type ViewParts<'a> = (&'a [i64], &'a [i64], &'a [(usize, usize)]);

/// A partial affine map from an iteration space to the indices of an array, restricted to a box.
///
/// ```
/// use polygrad::ops::{Linear, View};
/// use polygrad::{Array, BaseTensor};
/// // Windows of two elements, one at each place.
/// let windows = View::affine(&[4], &[3, 2], &[1, 1], &[0]);
/// let x = Array::from([1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(x.linear(&Linear::read(windows)), Array::from([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub(super) source: Shape,
    pub(super) shape: Shape,
    pub(super) bounds: IterationBox,
    /// Row-major, one row per axis of `source`, one column per axis of `shape`.
    pub(super) matrix: SmallVec<[i64; 16]>,
    pub(super) offset: SmallVec<[i64; 6]>,
    /// Whether the box is empty; the bounds of a view without axes cannot say so.
    pub(super) empty: bool,
}

impl View {
    /// The view of an array of shape `source` by an iteration space of shape `shape`: index `i` maps to `M i + c`, with
    /// `M` given row-major, a row per axis of the source.
    ///
    /// ```
    /// use polygrad::ops::View;
    /// let view = View::affine(&[5], &[3, 2], &[1, 1], &[1]);
    /// assert_eq!(view.to_string(), "[i<3, j<2] -> [i + j + 1] of [5]");
    /// assert_eq!(View::identity(&[2, 3]).to_string(), "[i<2, j<3] -> [i, j] of [2, 3]");
    /// assert_eq!(View::axes(&[2, 3], &[1, 0]).to_string(), "[i<2, j<3] -> [j, i] of [3, 2]");
    /// assert_eq!(View::axes(&[3], &[0, 0]).to_string(), "[i<3] -> [i, i] of [3, 3]");
    /// ```
    ///
    /// # Panics
    /// When `matrix` or `offset` has the wrong number of entries; when no array can have the shape of the source; when
    /// the iteration space has too many axes, or an axis of more than [`MAX_SIZE`] positions; or when an index
    /// `M i + c` is too large for the arithmetic.
    #[track_caller]
    pub fn affine(source: &[usize], shape: &[usize], matrix: &[i64], offset: &[i64]) -> View {
        or_panic(View::try_affine(source, shape, matrix, offset))
    }

    /// [`affine`](View::affine), with the message as an error.
    pub(crate) fn try_affine(
        source: &[usize],
        shape: &[usize],
        matrix: &[i64],
        offset: &[i64],
    ) -> Result<View, String> {
        try_rank("view", source).and_then(|()| try_rank("view", shape))?;
        if matrix.len() != source.len() * shape.len() || offset.len() != source.len() {
            return Err(format!(
                "view: from {} into {} needs {} entries of the matrix and {} of the offset, but they are {} and {}; give a row \
                 per axis of the source, a column per axis of the iteration space",
                Show(shape),
                Show(source),
                source.len() * shape.len(),
                source.len(),
                matrix.len(),
                offset.len()
            ));
        }
        try_possible("view", source)?;
        if shape.iter().any(|n| *n > MAX_SIZE) {
            return Err(format!(
                "view: an axis of the iteration space must have at most {MAX_SIZE} positions, but its shape is {}; make it \
                 smaller",
                Show(shape)
            ));
        }
        let rows = matrix.chunks_exact(shape.len().max(1)).chain(std::iter::repeat(&[][..]));
        if let Some((k, _)) = offset.iter().zip(rows).enumerate().find(|(_, (c, row))| !within_reach(row, **c, shape)) {
            return Err(format!(
                "view: the indices looked at must lie within {REACH} of 0, but along axis {k} of {} those from {} do not; take \
                 smaller steps",
                Show(source),
                Show(shape)
            ));
        }
        Ok(View {
            source: Shape::from_slice(source),
            shape: Shape::from_slice(shape),
            bounds: shape.iter().map(|n| (0, *n)).collect(),
            matrix: SmallVec::from_slice(matrix),
            offset: SmallVec::from_slice(offset),
            empty: false,
        }
        .tightened())
    }

    /// Every index maps to itself.
    ///
    /// Example: [`View::affine`].
    ///
    /// # Panics
    /// When there are too many axes.
    #[track_caller]
    pub fn identity(shape: &[usize]) -> View {
        let axes: SmallVec<[usize; 6]> = (0..shape.len()).collect();
        View::axes(shape, &axes)
    }

    /// Index `i` maps to `[i[axes[0]], i[axes[1]], ..]`: axes that are not named are ignored, an axis that is named
    /// twice gives the diagonal. The source has the sizes of the named axes.
    ///
    /// Example: [`View::affine`].
    ///
    /// # Panics
    /// When an axis is not one of the iteration space, or there are too many.
    #[track_caller]
    pub fn axes(shape: &[usize], axes: &[usize]) -> View {
        let rank = shape.len();
        or_panic(try_rank("view", shape));
        or_panic(try_rank("view", axes));
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, axes.len() * rank);
        let mut source = Shape::new();
        for (row, &axis) in axes.iter().enumerate() {
            check_axis("view", axis, shape);
            matrix[row * rank + axis] = 1;
            source.push(shape[axis]);
        }
        let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, axes.len());
        View::affine(&source, shape, &matrix, &offset)
    }

    /// A view from its parts, if they fit: as many entries as there are axes, a box inside the iteration space, and
    /// indices within the range of the arithmetic. Without parts, the view that is out of bounds everywhere.
    #[cfg(feature = "serde")]
    pub(crate) fn from_parts(source: &[usize], shape: &[usize], parts: Option<ViewParts<'_>>) -> Option<View> {
        // The matrix has an entry for each pair of axes.
        try_rank("view", source).and_then(|()| try_rank("view", shape)).ok()?;
        let Some((matrix, offset, bounds)) = parts else { return View::nothing(source, shape).ok() };
        if bounds.len() != shape.len() {
            return None;
        }
        if bounds.iter().zip(shape).any(|((lo, hi), n)| lo > hi || hi > n) {
            return None;
        }
        let whole = View::try_affine(source, shape, matrix, offset).ok()?;
        Some(bounds.iter().enumerate().fold(whole, |view, (axis, (lo, hi))| view.clipped(axis, *lo, *hi)))
    }

    /// The view that is out of bounds everywhere.
    pub(super) fn nothing(source: &[usize], shape: &[usize]) -> Result<View, String> {
        let zeros: SmallVec<[i64; 16]> = SmallVec::from_elem(0, source.len() * shape.len());
        let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, source.len());
        let nothing = View::try_affine(source, shape, &zeros, &offset)?;
        Ok(View { empty: true, ..nothing }.tightened())
    }

    /// The shape of the source, the array that indices map to.
    ///
    /// Example: [`View::at`].
    pub fn source(&self) -> &[usize] {
        &self.source
    }

    /// The shape of the iteration space.
    ///
    /// Example: [`View::at`].
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The box: outside it the view is out of bounds.
    ///
    /// Example: [`View::at`].
    pub fn bounds(&self) -> &[(usize, usize)] {
        &self.bounds
    }

    /// The coefficients of one axis of the source, one per axis of the iteration space.
    /// With `M` the matrix, this is `M[axis]`.
    ///
    /// Example: [`View::at`].
    ///
    /// # Panics
    /// When the source has no such axis.
    pub fn row(&self, axis: usize) -> &[i64] {
        let n = self.shape.len();
        &self.matrix[axis * n..(axis + 1) * n]
    }

    /// The constant term of each axis of the source.
    ///
    /// Example: [`View::at`].
    pub fn offset(&self) -> &[i64] {
        &self.offset
    }

    /// Whether every index maps to itself.
    ///
    /// Example: [`View::is_total_in_box`].
    pub fn is_identity(&self) -> bool {
        let columns = self.shape.len();
        // In the canonical form an axis of size 1 has no coefficients, and all empty views of one shape and source are
        // equal.
        let own = |k: usize, j: usize| i64::from(k == j && self.shape[k] > 1);
        self.source == self.shape
            && (self.shape.contains(&0)
                || (!self.empty
                    && self.offset.iter().all(|c| *c == 0)
                    && self.bounds.iter().zip(&self.shape).all(|(b, n)| *b == (0, *n))
                    && (0..columns).all(|k| self.row(k).iter().enumerate().all(|(j, m)| *m == own(k, j)))))
    }

    /// Whether no two indices of the box map to the same index, by a sufficient criterion: each axis along which the
    /// box is longer than one element moves an axis of the source (has a nonzero coefficient for it) that no other such
    /// axis moves.
    ///
    /// Example: [`View::is_total_in_box`].
    pub fn is_injective(&self) -> bool {
        let moves_alone = |axis: usize| {
            (0..self.source.len()).any(|k| {
                let row = self.row(k);
                row[axis] != 0 && row.iter().enumerate().all(|(j, m)| j == axis || *m == 0 || self.width(j) <= 1)
            })
        };
        (0..self.shape.len()).all(|axis| self.width(axis) <= 1 || moves_alone(axis))
    }

    /// Whether each axis of the source is walked by one axis of the iteration space, forwards or backwards and from end to
    /// end: then all indices of the source are visited, each as often as the other axes say. The iteration space is not
    /// larger than any array.
    pub(crate) fn covers_by_axes(&self) -> bool {
        let mut walks = self.shape.iter().map(|_| false).collect::<SmallVec<[bool; 6]>>();
        let mut walk = |k: usize| {
            let n = self.source[k];
            let mut moving = self.row(k).iter().enumerate().filter(|(_, m)| **m != 0);
            match (moving.next(), moving.next()) {
                (None, _) => n == 1 && self.offset[k] == 0,
                (Some((axis, m)), None) => {
                    let from_an_end = *m == 1 && self.offset[k] == 0 || *m == -1 && self.offset[k] == n as i64 - 1;
                    from_an_end && self.shape[axis] == n && !std::mem::replace(&mut walks[axis], true)
                }
                (Some(_), Some(_)) => false,
            }
        };
        let whole = self.bounds.iter().zip(&self.shape).all(|((lo, hi), n)| *lo == 0 && hi == n);
        !self.is_empty() && whole && size(&self.shape) <= MAX_SIZE && (0..self.source.len()).all(&mut walk)
    }

    /// For each axis of the source, the size of the axis of the iteration space that is its index; `None` if another
    /// expression is the index of an axis of the source.
    pub(super) fn axes_sizes(&self) -> Option<Shape> {
        let size = |k: usize| {
            let mut moving = self.row(k).iter().enumerate().filter(|(_, m)| **m != 0);
            let (axis, m) = moving.next()?;
            (*m == 1 && self.offset[k] == 0 && moving.next().is_none()).then(|| self.shape[axis])
        };
        (0..self.source.len()).map(size).collect()
    }

    /// The extent of the box along an axis.
    ///
    /// Example: [`View::at`].
    ///
    /// # Panics
    /// When the iteration space has no such axis.
    pub fn width(&self, axis: usize) -> usize {
        let (lo, hi) = self.bounds[axis];
        hi - lo
    }

    /// Whether the box is empty: the view is out of bounds everywhere.
    ///
    /// Example: [`View::at`].
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// The index that `index` maps to; `None` out of bounds. This is the meaning of a view, element by element.
    ///
    /// ```
    /// use polygrad::ops::View;
    /// // Index `[i, j]` maps to `[2 i - 1, j]`, which is in the source for `i = 1` and `i = 2` alone.
    /// let view = View::affine(&[4, 2], &[4, 2], &[2, 0, 0, 1], &[-1, 0]);
    /// assert_eq!((view.source(), view.shape(), view.bounds()), (&[4, 2][..], &[4, 2][..], &[(1, 3), (0, 2)][..]));
    /// assert_eq!((view.row(0), view.row(1), view.offset()), (&[2, 0][..], &[0, 1][..], &[-1, 0][..]));
    /// assert_eq!((view.width(0), view.range(0), view.is_empty()), (2, (1, 3), false));
    /// assert_eq!((view.at(&[2, 1]).as_deref(), view.at(&[0, 1])), (Some(&[3, 1][..]), None));
    /// ```
    pub fn at(&self, index: &[usize]) -> Option<Shape> {
        let inside = index.iter().zip(&self.bounds).all(|(i, (lo, hi))| lo <= i && i < hi);
        if self.empty || !inside {
            return None;
        }
        (0..self.source.len())
            .map(|k| {
                let at = self.offset[k] + self.row(k).iter().zip(index).map(|(m, i)| m * *i as i64).sum::<i64>();
                (0..self.source[k] as i64).contains(&at).then_some(at as usize)
            })
            .collect()
    }

    /// The places in the source of all indices, in order, by [`at`](View::at): what tests compare with.
    #[cfg(test)]
    pub(crate) fn places(&self) -> Vec<Option<usize>> {
        let mut index = vec![0; self.shape.len()];
        let place = |mut flat: usize| {
            for (i, n) in index.iter_mut().zip(&self.shape).rev() {
                (*i, flat) = (flat % n, flat / n);
            }
            let at = self.at(&index)?;
            Some(at.iter().zip(&self.source).fold(0, |flat, (i, n)| flat * n + i))
        };
        (0..crate::shape::size(&self.shape)).map(place).collect()
    }

    /// The smallest and the largest index along one axis of the source over the box, which is
    /// not empty.
    ///
    /// Example: [`View::at`].
    ///
    /// # Panics
    /// When the source has no such axis.
    pub fn range(&self, axis: usize) -> (i64, i64) {
        let mut range = (self.offset[axis], self.offset[axis]);
        for (m, (lo, hi)) in self.row(axis).iter().zip(&self.bounds) {
            let (a, b) = (m * *lo as i64, m * (*hi as i64 - 1));
            range = (range.0 + a.min(b), range.1 + a.max(b));
        }
        range
    }

    /// Whether no index of the box is out of bounds.
    ///
    /// ```
    /// use polygrad::ops::View;
    /// let (padded, every_other) = (View::affine(&[3], &[5], &[1], &[-1]), View::affine(&[6], &[3], &[2], &[0]));
    /// assert!(padded.is_total_in_box() && !padded.is_total() && every_other.is_total());
    /// // The windows look past the end of the source, at no side of a box.
    /// let windows = View::affine(&[3], &[3, 2], &[1, 1], &[0]);
    /// assert!(!windows.is_total_in_box() && !windows.is_injective() && every_other.is_injective());
    /// assert!(View::identity(&[2]).is_identity() && !every_other.is_identity());
    /// ```
    pub fn is_total_in_box(&self) -> bool {
        self.is_empty()
            || (0..self.source.len()).all(|k| {
                let (lo, hi) = self.range(k);
                0 <= lo && hi < self.source[k] as i64
            })
    }

    /// Whether no index of the iteration space is out of bounds.
    ///
    /// Example: [`View::is_total_in_box`].
    pub fn is_total(&self) -> bool {
        let whole = self.bounds.iter().zip(&self.shape).all(|((lo, hi), n)| *lo == 0 && hi == n);
        self.shape.contains(&0) || (!self.empty && whole && self.is_total_in_box())
    }

    /// This view restricted to the indices with `lo <= i < hi` along one axis of the iteration space.
    ///
    /// ```
    /// use polygrad::ops::View;
    /// assert_eq!(View::identity(&[5]).clipped(0, 1, 4).to_string(), "[i<5] -> [i; 1<=i<4] of [5]");
    /// let every_other = View::affine(&[6], &[3], &[2], &[0]);
    /// assert_eq!(every_other.batched(4).to_string(), "[i<4, j<3] -> [i, 2*j] of [4, 6]");
    /// assert_eq!(every_other.widened(4).to_string(), "[i<4, j<3] -> [2*j] of [6]");
    /// ```
    ///
    /// # Panics
    /// When the iteration space has no such axis.
    pub fn clipped(mut self, axis: usize, lo: usize, hi: usize) -> View {
        let bound = &mut self.bounds[axis];
        let side = (bound.0.max(lo), bound.1.min(hi));
        if self.empty || side == *bound {
            return self;
        }
        // The range checks of the source are sides of the box already, so this side changes, or the whole view becomes
        // empty.
        *bound = side;
        if side.0 < side.1 { self } else { self.emptied() }
    }

    /// The view over these axes of the iteration space alone; it must not depend on the other axes.
    pub(crate) fn restricted(&self, axes: &[usize]) -> View {
        let rows = 0..self.source.len();
        View {
            source: self.source.clone(),
            shape: axes.iter().map(|axis| self.shape[*axis]).collect(),
            bounds: axes.iter().map(|axis| self.bounds[*axis]).collect(),
            matrix: rows.flat_map(|k| axes.iter().map(move |axis| self.row(k)[*axis])).collect(),
            offset: self.offset.clone(),
            empty: self.empty,
        }
        .tightened()
    }

    /// The view at the index `i` along one axis of the iteration space, over the other axes.
    pub(crate) fn at_step(&self, axis: usize, i: usize) -> View {
        let (lo, hi) = self.bounds[axis];
        let others: SmallVec<[usize; 6]> = (0..self.shape.len()).filter(|other| *other != axis).collect();
        let fixed =
            (0..self.source.len()).map(|k| self.offset[k].wrapping_add(self.row(k)[axis].wrapping_mul(i as i64)));
        let mut view = View { offset: fixed.collect(), ..self.clone() };
        if !(lo..hi).contains(&i) {
            view = view.emptied();
        }
        view.restricted(&others)
    }

    /// The same view under a new outermost axis of size `n` of both the iteration space and the source. Index `[b, i]`
    /// maps to `[b, self(i)]`.
    ///
    /// Example: [`View::clipped`].
    ///
    /// # Panics
    /// When no array can be as large as the source then is.
    #[track_caller]
    pub fn batched(&self, n: usize) -> View {
        let mut out = self.widened(n);
        out.source.insert(0, n);
        check_possible("view", &out.source);
        out.offset.insert(0, 0);
        let columns = out.shape.len();
        for k in 0..columns {
            out.matrix.insert(k, i64::from(k == 0));
        }
        out.tightened()
    }

    /// The same view under a new outermost axis of size `n` of the iteration space, which it ignores. Index `[b, i]`
    /// maps to `self(i)`.
    ///
    /// Example: [`View::clipped`].
    ///
    /// # Panics
    /// When no axis can have `n` positions, or there are too many axes.
    #[track_caller]
    pub fn widened(&self, n: usize) -> View {
        check_possible("view", &[n]);
        let mut out = self.clone();
        out.shape.insert(0, n);
        or_panic(try_rank("view", &out.shape));
        out.bounds.insert(0, (0, n));
        let columns = self.shape.len();
        for k in (0..self.source.len()).rev() {
            out.matrix.insert(k * columns, 0);
        }
        out.tightened()
    }

    /// The canonical form: range checks that are sides of a box become the box, an empty box is empty along every axis,
    /// a view of an array without elements has an empty box, and an axis of size 1 has no coefficients.
    pub(super) fn tightened(mut self) -> View {
        let columns = self.shape.len();
        for k in 0..self.source.len() {
            for column in 0..columns {
                if self.shape[column] <= 1 {
                    self.matrix[k * columns + column] = 0;
                }
            }
            let row = SmallVec::<[i64; 6]>::from_slice(&self.matrix[k * columns..(k + 1) * columns]);
            self.empty |= clip(&mut self.bounds, &row, self.offset[k], 0, self.source[k] as i64) == CheckSide::Outside;
        }
        // The range check of a row that several axes move is not a side of a box, so an empty axis of the source is found
        // here.
        self.empty |= self.source.contains(&0) || self.bounds.iter().any(|(lo, hi)| lo >= hi);
        if self.empty { self.emptied() } else { self }
    }

    /// The view of the same shapes that is out of bounds everywhere.
    fn emptied(mut self) -> View {
        self.bounds.iter_mut().for_each(|b| *b = (0, 0));
        self.matrix.iter_mut().for_each(|m| *m = 0);
        self.offset.iter_mut().for_each(|c| *c = 0);
        View { empty: true, ..self }
    }
}

/// The largest absolute value that the arithmetic of a view may reach, so that sums of a few values do not overflow.
pub(super) const REACH: i64 = i64::MAX / 4;

pub(super) fn within_reach(row: &[i64], c: i64, shape: &[usize]) -> bool {
    let (mut lo, mut hi) = (c, c);
    for (m, n) in row.iter().zip(shape) {
        let last = m.saturating_mul(n.saturating_sub(1) as i64);
        (lo, hi) = (lo.saturating_add(last.min(0)), hi.saturating_add(last.max(0)));
    }
    -REACH <= lo && hi <= REACH
}

/// The relation of a range check to a box.
#[derive(PartialEq, Eq)]
pub(super) enum CheckSide {
    /// A side of the box, or no restriction at all.
    Box,
    /// The whole box lies outside.
    Outside,
    /// The check depends on several axes, and is not a side of a box.
    Slanted,
}

/// Clips the box to where `lo <= row . i + c < hi`, if that is a side of a box.
pub(super) fn clip(bounds: &mut IterationBox, row: &[i64], c: i64, lo: i64, hi: i64) -> CheckSide {
    let mut moving = row.iter().enumerate().filter(|(_, m)| **m != 0);
    match (moving.next(), moving.next()) {
        (None, _) if (lo..hi).contains(&c) => CheckSide::Box,
        (None, _) => CheckSide::Outside,
        (Some((axis, &m)), None) => {
            let (first, end) = interval(m, c, lo, hi);
            let (a, b) = bounds[axis];
            let first = first.max(a as i64);
            let end = end.clamp(first, (b as i64).max(first));
            bounds[axis] = (first as usize, end as usize);
            CheckSide::Box
        }
        (Some(_), Some(_)) => CheckSide::Slanted,
    }
}

/// The integers `i` with `lo <= m * i + c < hi`, as the first and one past the last, for `m` that is not 0.
pub(crate) fn interval(m: i64, c: i64, lo: i64, hi: i64) -> (i64, i64) {
    if m > 0 {
        (div_ceil(lo - c, m), (hi - 1 - c).div_euclid(m) + 1)
    } else {
        (div_ceil(c - (hi - 1), -m), (c - lo).div_euclid(-m) + 1)
    }
}

/// `a / b` rounded up, `b` positive.
fn div_ceil(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}

/// `[i<3, j<2] -> [i + j, 2*j] of [4, 6]`, with the sides of the box where it is smaller than the iteration space:
/// `[i<5] -> [i - 1; 1<=i<4] of [3]`.
impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {} of {}", Space(&self.shape), ShownView(self), Show(&self.source))
    }
}

/// The name of an axis of an iteration space.
struct Axis(usize);

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ["i", "j", "k", "l", "m", "n"].get(self.0) {
            Some(name) => f.write_str(name),
            None => write!(f, "i{}", self.0),
        }
    }
}

/// An iteration space: `[i<3, j<2]`.
pub(crate) struct Space<'a>(pub(crate) &'a [usize]);

impl fmt::Display for Space<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, n) in self.0.iter().enumerate() {
            let comma = if axis > 0 { ", " } else { "" };
            write!(f, "{comma}{}<{n}", Axis(axis))?;
        }
        f.write_str("]")
    }
}

/// The index to which a view maps, and the sides of its box if that is not the whole space: `[i - 1, j; 1<=i<4]`.
pub(crate) struct ShownView<'a>(pub(crate) &'a View);

impl fmt::Display for ShownView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShownView(view) = self;
        if view.empty {
            return f.write_str("[nothing]");
        }
        f.write_str("[")?;
        for k in 0..view.source.len() {
            if k > 0 {
                f.write_str(", ")?;
            }
            write_affine(f, view.row(k), view.offset[k])?;
        }
        let mut separator = ";";
        for (axis, (lo, hi)) in view.bounds.iter().enumerate() {
            match (lo, *hi == view.shape[axis]) {
                (0, true) => continue,
                (0, false) => write!(f, "{separator} {}<{hi}", Axis(axis))?,
                (_, true) => write!(f, "{separator} {lo}<={}", Axis(axis))?,
                (_, false) => write!(f, "{separator} {lo}<={}<{hi}", Axis(axis))?,
            }
            separator = ",";
        }
        f.write_str("]")
    }
}

fn write_affine(f: &mut fmt::Formatter<'_>, row: &[i64], c: i64) -> fmt::Result {
    let falling = row.iter().find(|m| **m != 0).is_some_and(|m| *m < 0);
    // `4 - i` rather than `-i + 4`.
    let mut first = !(falling && c > 0);
    if !first {
        write!(f, "{c}")?;
    }
    for (axis, m) in row.iter().enumerate().filter(|(_, m)| **m != 0) {
        let sign = match (first, *m < 0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        match m.unsigned_abs() {
            1 => write!(f, "{sign}{}", Axis(axis))?,
            m => write!(f, "{sign}{m}*{}", Axis(axis))?,
        }
        first = false;
    }
    match (first, c) {
        (true, c) => write!(f, "{c}"),
        (false, 0) => Ok(()),
        (false, _) if falling && c > 0 => Ok(()),
        (false, c) if c < 0 => write!(f, " - {}", c.unsigned_abs()),
        (false, c) => write!(f, " + {c}"),
    }
}
