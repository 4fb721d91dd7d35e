//! Composition: two linear operations as one.
//!
//! Law: `a.after(b)`, if it is not `None`, is `a(b(x))` for every `x`, zeros included. A read after a read composes if
//! the composite is a view; a write followed by a read composes, too, if the write has stride one, because the map from
//! written places back to indices is then a view.

use smallvec::SmallVec;

use super::linear::Linear;
use super::view::{CheckSide, View, clip, interval, within_reach};
use crate::shape::{Show, size};

impl View {
    /// The composition of two views: index `i` maps to `self(outer(i))`. `None` if the composition is not a view, because
    /// `outer` leaves the box of this view at indices that neither a box nor the range of the source excludes, or
    /// because an index would overflow.
    ///
    /// ```
    /// use polygrad::ops::View;
    /// let shifted = View::affine(&[9], &[8], &[1], &[1]);
    /// let even = View::affine(&[8], &[4], &[2], &[0]);
    /// assert_eq!(shifted.after(&even), Some(View::affine(&[9], &[4], &[2], &[1])));
    /// // Windows of a padded array look beyond its ends themselves.
    /// let padded = View::affine(&[3], &[5], &[1], &[-1]);
    /// let windows = View::affine(&[5], &[3, 3], &[1, 1], &[0]);
    /// assert_eq!(padded.after(&windows), Some(View::affine(&[3], &[3, 3], &[1, 1], &[-1])));
    /// ```
    ///
    /// # Panics
    /// When the source of `outer` is not the iteration space of this view.
    #[track_caller]
    pub fn after(&self, outer: &View) -> Option<View> {
        if outer.source != self.shape {
            panic!(
                "view: the outer view must look at the inner one's iteration space, but they have {} and {}; give both one shape",
                Show(&outer.source),
                Show(&self.shape)
            );
        }
        let (rows, inner, columns) = (self.source.len(), self.shape.len(), outer.shape.len());
        let mut bounds = outer.bounds.clone();
        let mut slanted: SmallVec<[usize; 6]> = SmallVec::new();
        let mut empty = self.empty || outer.empty;
        for k in 0..inner {
            let (lo, hi) = self.bounds[k];
            match clip(&mut bounds, outer.row(k), outer.offset[k], lo as i64, hi as i64) {
                CheckSide::Outside => empty = true,
                CheckSide::Box => {}
                CheckSide::Slanted => slanted.push(k),
            }
        }
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rows * columns);
        let mut offset: SmallVec<[i64; 6]> = self.offset.clone();
        for row in 0..rows {
            for k in 0..inner {
                let m = self.matrix[row * inner + k];
                let plus = |sum: &mut i64, x: i64| {
                    *sum = sum.checked_add(m.checked_mul(x)?)?;
                    Some(())
                };
                plus(&mut offset[row], outer.offset[k])?;
                for column in 0..columns {
                    plus(&mut matrix[row * columns + column], outer.matrix[k * columns + column])?;
                }
            }
        }
        let reached = |row: usize| within_reach(&matrix[row * columns..(row + 1) * columns], offset[row], &outer.shape);
        if !(0..rows).all(reached) {
            return None;
        }
        let out =
            View { source: self.source.clone(), shape: outer.shape.clone(), bounds, matrix, offset, empty }.tightened();
        // A slanted check is not a side of a box, so the composition is a view only if the check excludes no index that is
        // in range.
        let middle = View { bounds: out.bounds.clone(), ..outer.clone() };
        let cuts = |k: usize| {
            let (lo, hi) = middle.range(k);
            (lo < self.bounds[k].0 as i64 || hi >= self.bounds[k].1 as i64) && !self.is_range(k)
        };
        (out.is_empty() || !slanted.into_iter().any(cuts)).then_some(out)
    }

    /// Whether any index along this axis, even outside the iteration space, lies in the box if and only if a row of
    /// the matrix maps it into the range of the source.
    fn is_range(&self, axis: usize) -> bool {
        let (lo, hi) = self.bounds[axis];
        (0..self.source.len()).any(|k| {
            let row = self.row(k);
            row[axis] != 0
                && row.iter().enumerate().all(|(j, m)| j == axis || *m == 0)
                && interval(row[axis], self.offset[k], 0, self.source[k] as i64) == (lo as i64, hi as i64)
        })
    }

    /// The inverse view: if this view maps index `i` to `t`, the result maps `t` to `i`, and is out of bounds at
    /// indices that this view does not reach. `None` if that is not a view, or if two indices map to one: each axis of the
    /// iteration space must move one axis of the source by steps of one.
    ///
    /// ```
    /// use polygrad::ops::View;
    /// let inverse = View::affine(&[5], &[3], &[1], &[1]).inverse().expect("steps of one");
    /// assert_eq!(inverse.to_string(), "[i<5] -> [i - 1; 1<=i<4] of [3]");
    /// assert!(View::affine(&[6], &[3], &[2], &[0]).inverse().is_none());
    /// ```
    pub fn inverse(&self) -> Option<View> {
        let (source, shape) = (self.source(), self.shape());
        if self.is_empty() || size(shape) == 0 {
            return None;
        }
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, source.len() * shape.len());
        let mut offset: SmallVec<[i64; 6]> = self.bounds().iter().map(|(lo, _)| *lo as i64).collect();
        let mut found: SmallVec<[bool; 6]> = SmallVec::from_elem(false, shape.len());
        let mut sides: SmallVec<[(usize, usize); 6]> = SmallVec::new();
        for k in 0..source.len() {
            let mut moving = self.row(k).iter().enumerate().filter(|(_, m)| **m != 0);
            if let Some((axis, m)) = moving.next() {
                if m.abs() != 1 || found[axis] || moving.next().is_some() {
                    return None;
                }
                found[axis] = true;
                matrix[axis * source.len() + k] = *m;
                offset[axis] = -m * self.offset()[k];
            }
            // In the canonical form the whole box is within range along such an axis.
            let (lo, hi) = self.range(k);
            sides.push((usize::try_from(lo).ok()?, usize::try_from(hi).ok()? + 1));
        }
        if (0..shape.len()).any(|axis| !found[axis] && self.width(axis) > 1) {
            return None;
        }
        let back = View::try_affine(shape, source, &matrix, &offset).ok()?;
        Some(sides.into_iter().enumerate().fold(back, |back, (k, (lo, hi))| back.clipped(k, lo, hi)))
    }
}

impl Linear {
    /// The operation `x -> self(first(x))` as one operation; `None` if no operation does this.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// let (tail, backwards) = (Linear::slice(&[4], 0, 1, 3, 1), Linear::reverse(&[3], 0));
    /// let both = backwards.after(&tail).expect("a view");
    /// assert_eq!(both.applied("x"), "view [i<3] -> x[3 - i]");
    /// ```
    ///
    /// # Panics
    /// When the shapes do not fit.
    #[track_caller]
    pub fn after(&self, first: &Linear) -> Option<Linear> {
        if self.input_shape() != first.output_shape() {
            panic!(
                "linear: the second operation must take what the first one returns, but the shapes are {} and {}; give both \
                 one shape",
                Show(self.input_shape()),
                Show(first.output_shape())
            );
        }
        match (first, self) {
            (Linear::Affine { from: f1, into: i1 }, Linear::Affine { from: f2, into: i2 }) => {
                // The middle array is read: compose the reads.
                let read = |f1: &View| Some(Linear::Affine { from: f1.after(f2)?, into: i2.clone() });
                // The middle array is written: compose the writes.
                let written = |i2: &View| Some(Linear::Affine { from: f1.clone(), into: i2.after(i1)? });
                if i1.is_identity() {
                    return read(f1);
                }
                if f2.is_identity() {
                    return written(i2);
                }
                let first_reads = || i1.inverse().and_then(|back| f1.after(&back)).and_then(|f1| read(&f1));
                let second_writes = || f2.inverse().and_then(|back| i2.after(&back)).and_then(|i2| written(&i2));
                first_reads().or_else(second_writes)
            }
            (Linear::Reshape { from, .. }, Linear::Reshape { into, .. }) => {
                Some(Linear::Reshape { from: from.clone(), into: into.clone() })
            }
            (Linear::Affine { .. } | Linear::Reshape { .. } | Linear::Cast { .. }, _) => None,
            (Linear::Fourier { .. } | Linear::PrefixSum { .. }, _) => None,
        }
    }
}
