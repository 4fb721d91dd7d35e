//! Segment reductions (sums and extrema of rows by group), and search in a sorted vector.
//!
//! Law: row `i` of a tensor belongs to the group `ids[i]`, and the result has a row for each group. Rows of a group out
//! of bounds are dropped, as all computed positions out of bounds are.

use super::Tensor;
use super::rank::{Above, Rank};
use crate::base::BaseTensor;
use crate::dtype::{Float, Num};
use crate::ops::Linear;
use crate::shape::{Shape, Show, check_possible};

/// Panics unless there is one group for each row.
#[track_caller]
fn check_ids(op: &str, shape: &[usize], ids: &[usize]) {
    if shape[0] != ids[0] {
        panic!(
            "{op}: needs a group for each row, but the shapes are {} and {}; the groups have the size of the outermost axis",
            Show(shape),
            Show(ids)
        );
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The sums of the rows of each of `n` groups: `y[g] = sum of x[i] where ids[i] = g`; 0 for a group without rows.
    /// Rows of a group out of bounds are dropped. The cotangent of a row is that of the sum of its group.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (x, ids) = (tensor([1.0, 2.0, 4.0, 8.0]), tensor([1, 0, 1, -1]));
    /// assert_eq!(x.segment_sum(&ids, 3), tensor([2.0, 5.0, 0.0]));
    /// assert_eq!(x.segment_max(&ids, 3), tensor([2.0, 4.0, -f64::INFINITY]));
    /// assert_eq!(x.segment_min(&ids, 3), tensor([2.0, 1.0, f64::INFINITY]));
    /// ```
    ///
    /// # Panics
    /// When there is not one group for each row, or no array can be as large.
    #[track_caller]
    pub fn segment_sum<const M: usize>(&self, ids: &Tensor<T, 1, i64>, n: usize) -> Self
    where
        Rank<D>: Above<M>,
    {
        check_ids("segment_sum", self.raw().shape(), ids.raw().shape());
        let mut shape = Shape::from_slice(self.raw().shape());
        shape[0] = n;
        check_possible("segment_sum", &shape);
        Tensor::from_raw(T::zeros(&shape, E::DTYPE).scatter_add(&[ids.raw().clone()], self.raw()))
    }
}

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The elementwise maximum of the rows of each of `n` groups; `-inf` for a group without rows, and NaN where a row
    /// of the group has NaN. Rows of a group out of bounds are dropped. The derivative goes to the first largest
    /// element.
    ///
    /// The rows are sorted, so `m` rows take time proportional to `m ln m`.
    ///
    /// Example: [`Tensor::segment_sum`].
    ///
    /// # Panics
    /// When there is not one group for each row, or no array can be as large.
    #[track_caller]
    pub fn segment_max<const M: usize>(&self, ids: &Tensor<T, 1, i64>, n: usize) -> Self
    where
        Rank<D>: Above<M>,
    {
        self.segment_extremum("segment_max", ids, n, true)
    }

    /// The elementwise minimum of the rows of each of `n` groups, see [`segment_max`](Tensor::segment_max); `inf` for a
    /// group without rows.
    ///
    /// Example: [`Tensor::segment_sum`].
    ///
    /// # Panics
    /// When there is not one group for each row, or no array can be as large.
    #[track_caller]
    pub fn segment_min<const M: usize>(&self, ids: &Tensor<T, 1, i64>, n: usize) -> Self
    where
        Rank<D>: Above<M>,
    {
        self.segment_extremum("segment_min", ids, n, false)
    }

    #[track_caller]
    fn segment_extremum<const M: usize>(&self, op: &str, ids: &Tensor<T, 1, i64>, n: usize, largest: bool) -> Self
    where
        Rank<D>: Above<M>,
    {
        let shape = self.raw().shape();
        check_ids(op, shape, ids.raw().shape());
        let mut out = Shape::from_slice(shape);
        out[0] = n;
        check_possible(op, &out);
        // Groups out of bounds become group `n`, which is not a row of the result.
        let n_id = n as i64;
        let ids = (ids.ge(0) & ids.lt(n_id)).select(ids, n_id);
        let counts = Tensor::<T, 1, i64>::ones([shape[0]]).segment_sum(&ids, n);
        let starts = counts.cumsum(0) - &counts;
        // In each column, rows are sorted by value and then, stably, by group: the first row of a group is its
        // extremum.
        let by_value = if largest { self.argsort_descending(0) } else { self.argsort(0) };
        let groups: Tensor<T, D, i64> = Tensor::from_raw(ids.raw().gather(&[by_value.raw().clone()]));
        let order = by_value.take_along(0, &groups.argsort(0));
        let along =
            |t: &Tensor<T, 1, i64>| Tensor::<T, D, i64>::from_raw(t.raw().linear(&Linear::replicate(&out, &[0])));
        // The start of a group without rows is that of the next group, or out of bounds: its element is replaced below.
        let found = self.take_along(0, &order.take_along(0, &along(&starts)));
        let none = if largest { E::neg_infinity() } else { E::infinity() };
        let extremum = along(&counts).gt(0).select(found, none);
        // NaN sorts last, so the first row of a group does not show it: NaN is counted apart.
        let broken = self.is_nan().to_int().segment_sum(&ids, n);
        broken.gt(0).select(E::nan(), extremum)
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 1, E> {
    /// For each element of `x`, the number of elements of this ascending vector that are at most as large: the position
    /// at which the element is inserted after equal elements. 0 for NaN.
    ///
    /// By bisection: `m` elements in a vector of size `n` take time proportional to `m ln n`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 2.0, 5.0]).search_sorted(&tensor([0.0, 2.0, 7.0])), tensor([0, 3, 4]));
    /// ```
    #[track_caller]
    pub fn search_sorted<const D: usize>(&self, x: &Tensor<T, D, E>) -> Tensor<T, D, i64> {
        let mut found = Tensor::<T, D, i64>::zeros(x.shape());
        // The result is in `found ..= found + rest`. A comparison with one element, which is within bounds, halves this
        // range.
        let mut rest = self.len() as i64;
        while rest > 0 {
            let half = (rest + 1) / 2;
            let next = &found + half;
            let before: Tensor<T, D, E> = Tensor::from_raw(self.raw().gather(&[(&next - 1).into_raw()]));
            found = before.le(x).select(&next, &found);
            rest -= half;
        }
        found
    }
}
