//! Linear operations of arrays: sums, replication, axes, slices, padding, windows, reshapes.
//!
//! Law: each method is at most one [`Linear`] operation; except for the sums, none does arithmetic. Slices are taken at
//! host positions; for positions that depend on values, see `index`.

use std::ops::{Bound, RangeBounds};

use smallvec::SmallVec;

use super::rank::{Above, Plus, Rank};
use super::{Tensor, operators};
use crate::base::BaseTensor;
use crate::dtype::{Elem, Num};
use crate::ops::Linear;
pub(super) use crate::ops::kinds::check_axis;
use crate::shape::{Shape, Show, check_possible};

/// The axes of a tensor of rank `rank + 1` except `axis`.
pub(super) fn other_axes(rank: usize, axis: usize) -> SmallVec<[usize; 6]> {
    (0..=rank).filter(|a| *a != axis).collect()
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The sum of all elements.
    ///
    /// Example: [`Tensor::sum_axis`].
    #[track_caller]
    pub fn sum(&self) -> Tensor<T, 0, E> {
        let axes: SmallVec<[usize; 6]> = (0..D).collect();
        self.view(&Linear::sum(self.raw().shape(), &axes))
    }

    /// The sum along the outermost axis, which disappears.
    ///
    /// Example: [`Tensor::sum_axis`].
    ///
    /// A scalar has no axis to sum along:
    ///
    /// ```compile_fail,E0277
    /// polygrad::tensor(1.0).sum_outer();
    /// ```
    #[track_caller]
    pub fn sum_outer<const M: usize>(&self) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        self.view(&Linear::sum(self.raw().shape(), &[0]))
    }

    /// The sum along one axis, which disappears.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((x.sum(), x.sum_outer()), (tensor(10.0), tensor([4.0, 6.0])));
    /// assert_eq!((x.sum_axis(1), x.sum_axes([0, 1])), (tensor([3.0, 7.0]), tensor(10.0)));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn sum_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("sum_axis", axis, self.raw().shape());
        self.view(&Linear::sum(self.raw().shape(), &[axis]))
    }

    /// The sum along several axes, which disappear.
    ///
    /// Example: [`Tensor::sum_axis`].
    ///
    /// # Panics
    /// When the axis does not exist, or one is named twice.
    #[track_caller]
    pub fn sum_axes<const K: usize, const M: usize>(&self, axes: [usize; K]) -> Tensor<T, M, E>
    where
        Rank<D>: Plus<K, M>,
    {
        for (k, axis) in axes.iter().enumerate() {
            check_axis("sum_axes", *axis, self.raw().shape());
            if axes[..k].contains(axis) {
                panic!(
                    "sum_axes: axes must differ, but {axis} is named twice and the shape is {}; name it once",
                    Show(self.raw().shape())
                );
            }
        }
        self.view(&Linear::sum(self.raw().shape(), &axes))
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// This tensor repeated `n` times along a new outermost axis.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0]);
    /// assert_eq!(x.replicate(2), tensor([[1.0, 2.0], [1.0, 2.0]]));
    /// assert_eq!(x.replicate_axis(1, 2), tensor([[1.0, 1.0], [2.0, 2.0]]));
    /// let column = x.insert_axis(1);
    /// assert_eq!((&column, column.remove_axis(1)), (&tensor([[1.0], [2.0]]), x));
    /// assert_eq!(column.broadcast_to([2, 2]), tensor([[1.0, 1.0], [2.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn replicate<const R: usize>(&self, n: usize) -> Tensor<T, R, E>
    where
        Rank<R>: Above<D>,
    {
        self.replicate_axis(0, n)
    }

    /// This tensor repeated `n` times along a new axis, which becomes axis `axis` of the result.
    ///
    /// Example: [`Tensor::replicate`].
    ///
    /// # Panics
    /// When `axis` is above the rank.
    #[track_caller]
    pub fn replicate_axis<const R: usize>(&self, axis: usize, n: usize) -> Tensor<T, R, E>
    where
        Rank<R>: Above<D>,
    {
        self.grown("replicate_axis", axis, n)
    }

    /// A new axis of size 1, which becomes axis `axis` of the result.
    ///
    /// Example: [`Tensor::replicate`].
    ///
    /// # Panics
    /// When `axis` is above the rank.
    #[track_caller]
    pub fn insert_axis<const R: usize>(&self, axis: usize) -> Tensor<T, R, E>
    where
        Rank<R>: Above<D>,
    {
        self.grown("insert_axis", axis, 1)
    }

    #[track_caller]
    fn grown<const R: usize>(&self, op: &str, axis: usize, n: usize) -> Tensor<T, R, E> {
        if axis > D {
            panic!(
                "{op}: the new axis must be at most the rank {D}, but it is {axis} and the shape is {}; count axes from 0",
                Show(self.raw().shape())
            );
        }
        let mut shape = Shape::from_slice(self.raw().shape());
        shape.insert(axis, n);
        check_possible(op, &shape);
        self.view(&Linear::replicate(&shape, &other_axes(D, axis)))
    }

    /// This tensor without one axis, of size 1.
    ///
    /// Example: [`Tensor::replicate`].
    ///
    /// # Panics
    /// When the axis does not exist, or its size is not 1.
    #[track_caller]
    pub fn remove_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        let shape = self.raw().shape();
        check_axis("remove_axis", axis, shape);
        if shape[axis] != 1 {
            panic!(
                "remove_axis: the axis must have size 1, but axis {axis} of {} has size {}; sum or slice it first",
                Show(shape),
                shape[axis]
            );
        }
        self.view(&Linear::row(shape, axis, 0))
    }

    /// This tensor with its axes of size 1 repeated to the sizes in `shape`; its other sizes must be those of `shape`.
    ///
    /// Example: [`Tensor::replicate`].
    ///
    /// # Panics
    /// When a size is neither 1 nor that of `shape`.
    #[track_caller]
    pub fn broadcast_to(&self, shape: [usize; D]) -> Self {
        let own = self.raw().shape();
        if own.iter().zip(&shape).any(|(n, m)| *n != 1 && n != m) {
            panic!(
                "broadcast_to: sizes must stay, or be 1 to be repeated, but the shapes are {} and {}; slice or pad first",
                Show(own),
                Show(&shape)
            );
        }
        check_possible("broadcast_to", &shape);
        Tensor::from_raw(operators::stretch(self.raw(), &shape).into_owned())
    }

    /// The axes in another order: axis `k` of the result is axis `perm[k]` of this tensor.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0, 3.0]]);
    /// assert_eq!((x.permute([1, 0]), x.t()), (tensor([[1.0], [2.0], [3.0]]), tensor([[1.0], [2.0], [3.0]])));
    /// ```
    ///
    /// # Panics
    /// When `perm` does not name each axis once.
    #[track_caller]
    pub fn permute(&self, perm: [usize; D]) -> Self {
        self.view(&Linear::permute(self.raw().shape(), &perm))
    }

    /// The last two axes exchanged: the transposed matrix, or a stack of them.
    ///
    /// Example: [`Tensor::permute`].
    #[track_caller]
    pub fn t<const M: usize>(&self) -> Self
    where
        Rank<D>: Plus<2, M>,
    {
        let mut perm: SmallVec<[usize; 6]> = (0..D).collect();
        perm.swap(D - 1, D - 2);
        self.view(&Linear::permute(self.raw().shape(), &perm))
    }

    /// The elements at the positions `range` along one axis.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).slice(0, 1..), tensor([2.0, 3.0]));
    /// assert_eq!(tensor([0.0, 1.0, 2.0, 3.0, 4.0]).slice_step(0, 1.., 2), tensor([1.0, 3.0]));
    /// assert_eq!(tensor([[1.0, 2.0], [3.0, 4.0]]).row(1), tensor([3.0, 4.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or the range does not lie within it.
    #[track_caller]
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Self {
        self.slice_step(axis, range, 1)
    }

    /// Every `step`-th element at the positions `range` along one axis, from the first on.
    ///
    /// Example: [`Tensor::slice`].
    ///
    /// # Panics
    /// When the axis does not exist, the range does not lie within it, or `step` is 0.
    #[track_caller]
    pub fn slice_step(&self, axis: usize, range: impl RangeBounds<usize>, step: usize) -> Self {
        let shape = self.raw().shape();
        check_axis("slice", axis, shape);
        let start = match range.start_bound() {
            Bound::Included(i) => *i,
            Bound::Excluded(i) => i.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(i) => i.saturating_add(1),
            Bound::Excluded(i) => *i,
            Bound::Unbounded => shape[axis],
        };
        if start > end || end > shape[axis] {
            let end = if end == usize::MAX { String::new() } else { end.to_string() };
            panic!(
                "slice: the range must lie within axis {axis}, but it is {start}..{end} and the shape is {}; pad first, or \
                 clamp the range",
                Show(shape)
            );
        }
        if step == 0 {
            panic!(
                "slice: the step must be at least 1, but it is 0 and the shape is {}; reverse goes backwards",
                Show(shape)
            );
        }
        self.view(&Linear::slice(shape, axis, start, (end - start).div_ceil(step), step))
    }

    /// This tensor padded with zeros: `(before, after)` along each axis.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0]);
    /// assert_eq!((x.pad([(1, 2)]), x.reverse(0)), (tensor([0.0, 1.0, 2.0, 0.0, 0.0]), tensor([2.0, 1.0])));
    /// ```
    #[track_caller]
    pub fn pad(&self, widths: [(usize, usize); D]) -> Self {
        let (before, after) = (widths.map(|w| w.0), widths.map(|w| w.1));
        self.view(&Linear::pad(self.raw().shape(), &before, &after))
    }

    /// The elements in the opposite order along one axis.
    ///
    /// Example: [`Tensor::pad`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn reverse(&self, axis: usize) -> Self {
        self.view(&Linear::reverse(self.raw().shape(), axis))
    }

    /// The elements with equal positions along two axes of one size: axis `first` becomes the axis of the diagonal,
    /// axis `second` disappears.
    ///
    /// Example: [`Tensor::reshape`].
    ///
    /// # Panics
    /// When these are not two axes of one size.
    #[track_caller]
    pub fn diagonal<const M: usize>(&self, first: usize, second: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        self.view(&Linear::diagonal(self.raw().shape(), first, second))
    }

    /// Windows of `size` neighbors along one axis, one starting every `stride` positions: the axis becomes the axis of
    /// windows, followed by a new axis of the positions within a window. `y[w, p] = x[stride * w + p]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).window(0, 2, 1), tensor([[1.0, 2.0], [2.0, 3.0]]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, when `size` or `stride` is 0, or the window is longer than the axis.
    #[track_caller]
    pub fn window<const R: usize>(&self, axis: usize, size: usize, stride: usize) -> Tensor<T, R, E>
    where
        Rank<R>: Above<D>,
    {
        self.view(&Linear::window(self.raw().shape(), axis, size, stride))
    }

    /// The same elements, in row-major order, under another shape of the same size.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0, 3.0, 4.0]).reshape([2, 2]);
    /// assert_eq!(x, tensor([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!((x.flatten(), x.diagonal(0, 1)), (tensor([1.0, 2.0, 3.0, 4.0]), tensor([1.0, 4.0])));
    /// ```
    ///
    /// # Panics
    /// When the sizes differ.
    #[track_caller]
    pub fn reshape<const N: usize>(&self, shape: [usize; N]) -> Tensor<T, N, E> {
        self.view(&Linear::reshape(self.raw().shape(), &shape))
    }

    /// All elements in row-major order.
    ///
    /// Example: [`Tensor::reshape`].
    #[track_caller]
    pub fn flatten(&self) -> Tensor<T, 1, E> {
        self.reshape([self.size()])
    }

    /// The subarray at host position `i` of the outermost axis; [`at`](Tensor::at) takes computed positions.
    ///
    /// Example: [`Tensor::slice`].
    ///
    /// # Panics
    /// When `i` is out of bounds.
    #[track_caller]
    pub fn row<const M: usize>(&self, i: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        let shape = self.raw().shape();
        if i >= shape[0] {
            panic!(
                "row: the position must lie within the outermost axis, but it is {i} and the shape is {}; at reads 0 there",
                Show(shape)
            );
        }
        self.view(&Linear::row(shape, 0, i))
    }
}
