//! The rows of an array that indices select, for interpreters that go through elements.
//!
//! Law: an index out of bounds selects no row.

use crate::shape::{Shape, size};

/// The rows that indices select.
pub(super) struct SelectedRows {
    /// The number of indices.
    pub(super) count: usize,
    /// The elements of a row, and the number of rows.
    pub(super) len: usize,
    pub(super) all: usize,
    /// The sizes of the indexed axes, and the indices along each, if they are known.
    axes: Shape,
    pub(super) known: Option<Vec<Vec<i64>>>,
}

impl SelectedRows {
    /// The rows of an array of this shape whose first `indexed` axes are indexed, by indices in arrays of the shape `each`.
    pub(super) fn of(
        shape: &[usize],
        (indexed, each): (usize, &[usize]),
        known: Option<Vec<Vec<i64>>>,
    ) -> SelectedRows {
        let (axes, row) = shape.split_at(indexed);
        SelectedRows { count: size(each), len: size(row), all: size(axes), axes: axes.into(), known }
    }

    /// The row of index `k`, if it is within bounds.
    pub(super) fn at(&self, known: &[Vec<i64>], k: usize) -> Option<usize> {
        self.axes.iter().zip(known).try_fold(0, |row, (n, ix)| {
            let i = usize::try_from(ix[k]).ok().filter(|i| i < n)?;
            Some(row * n + i)
        })
    }
}
