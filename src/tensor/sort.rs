//! Sorting along an axis, and gathers at the positions that sorting finds.
//!
//! Law: positions have no derivative, values do: values are gathered at integer positions, so the cotangent of a value
//! goes to its element in the operand.

use super::Tensor;
use super::structure::check_axis;
use crate::base::BaseTensor;
use crate::dtype::{Elem, Num};
use crate::ops::{Discrete, Linear};
use crate::shape::Show;

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// From each line along `axis`, the elements at the positions in the same line of `ix`; 0 for a position out of
    /// bounds. Both tensors have the same sizes along all axes but `axis`.
    ///
    /// `take_along` applies the positions that [`argsort`](Tensor::argsort) finds in one tensor to others.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.take_along(1, &tensor([[1, 0], [0, 0]])), tensor([[2.0, 1.0], [3.0, 3.0]]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or the shapes differ along another axis.
    #[track_caller]
    pub fn take_along(&self, axis: usize, ix: &Tensor<T, D, i64>) -> Self {
        let (own, shape) = (self.raw().shape(), ix.raw().shape());
        check_axis("take_along", axis, own);
        if (0..D).any(|k| k != axis && own[k] != shape[k]) {
            panic!(
                "take_along: both shapes must be equal but along axis {axis}, but they are {} and {}; broadcast the \
                 positions",
                Show(own),
                Show(shape)
            );
        }
        let indices: Vec<T> = (0..D)
            .map(|k| {
                if k == axis {
                    return ix.raw().clone();
                }
                Tensor::<T, 1, i64>::iota(shape[k]).into_raw().linear(&Linear::replicate(shape, &[k]))
            })
            .collect();
        Tensor::from_raw(self.raw().gather(&indices))
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    #[track_caller]
    fn sorted_positions(&self, op: &str, axis: usize, descending: bool) -> Tensor<T, D, i64> {
        check_axis(op, axis, self.raw().shape());
        Tensor::from_raw(T::discrete(&Discrete::ArgSort { axis, descending }, &[self.raw()]))
    }

    /// The positions of the elements of each line along `axis`, from the smallest to the largest. Stable:
    /// equal elements stay in their order. NaN comes last.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([3.0, f64::NAN, 1.0, 3.0]).argsort(0), tensor([2, 0, 3, 1]));
    /// assert_eq!(tensor([2.0, 1.0, 3.0]).argsort_descending(0), tensor([2, 0, 1]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn argsort(&self, axis: usize) -> Tensor<T, D, i64> {
        self.sorted_positions("argsort", axis, false)
    }

    /// The positions of the elements of each line along `axis`, from the largest to the smallest. Stable:
    /// equal elements stay in their order. NaN comes last.
    ///
    /// Example: [`Tensor::argsort`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn argsort_descending(&self, axis: usize) -> Tensor<T, D, i64> {
        self.sorted_positions("argsort_descending", axis, true)
    }

    /// Each line along `axis` from the smallest element to the largest; NaN comes last. The derivative of each element
    /// goes to its original position; equal elements keep their order.
    ///
    /// ```
    /// use polygrad::{Tensor, direct, tensor};
    /// let x = tensor([3.0, 1.0, 2.0]);
    /// assert_eq!((x.sort(0), x.sort_descending(0)), (tensor([1.0, 2.0, 3.0]), tensor([3.0, 2.0, 1.0])));
    /// let weighted = direct::grad(|x| x.sort(0).dot(&Tensor::constant([10.0, 20.0, 30.0])), &x);
    /// assert_eq!(weighted, tensor([30.0, 10.0, 20.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn sort(&self, axis: usize) -> Self {
        self.take_along(axis, &self.sorted_positions("sort", axis, false))
    }

    /// Each line along `axis` from the largest element to the smallest; NaN comes last. The derivative is as
    /// for [`sort`](Tensor::sort).
    ///
    /// Example: [`Tensor::sort`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn sort_descending(&self, axis: usize) -> Self {
        self.take_along(axis, &self.sorted_positions("sort_descending", axis, true))
    }

    /// The `k` largest elements of each line along `axis`, in descending order, and their positions; the first of equal
    /// elements are taken. NaN counts as smallest. The derivative goes to the original positions.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (values, positions) = tensor([1.0, 5.0, 3.0]).top_k(0, 2);
    /// assert_eq!(values, tensor([5.0, 3.0]));
    /// assert_eq!(positions, tensor([1, 2]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or it has fewer than `k` elements.
    #[track_caller]
    pub fn top_k(&self, axis: usize, k: usize) -> (Self, Tensor<T, D, i64>) {
        let shape = self.raw().shape();
        let positions = self.sorted_positions("top_k", axis, true);
        if k > shape[axis] {
            panic!(
                "top_k: needs {k} elements to choose from, but axis {axis} of {} has {}; choose fewer",
                Show(shape),
                shape[axis]
            );
        }
        let positions = positions.slice(axis, ..k);
        (self.take_along(axis, &positions), positions)
    }
}
