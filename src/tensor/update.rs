//! Functional updates: a tensor with the elements at some positions replaced, or added to.
//!
//! Law: `set` and `set_slice` replace, so the derivative in a replaced element is 0, and the cotangent goes to the new
//! element. As elsewhere, a computed position out of bounds is not an error: nothing is replaced or added there.

use smallvec::SmallVec;

use super::Tensor;
use super::index::Indices;
use super::rank::{Plus, Rank};
use super::structure::check_axis;
use crate::base::{BaseTensor, replaced};
use crate::dtype::{Elem, Num};
use crate::ops::Linear;
use crate::shape::Show;

/// The start and the end of a new part along an axis. Panics unless the part lies within the axis and has the other
/// sizes of the whole.
#[track_caller]
fn place(op: &str, axis: usize, start: usize, whole: &[usize], part: &[usize]) -> [usize; 2] {
    check_axis(op, axis, whole);
    let end = start.saturating_add(part[axis]);
    let alike = (0..whole.len()).all(|k| k == axis || whole[k] == part[k]);
    if !alike || end > whole[axis] {
        panic!(
            "{op}: the new part must lie within axis {axis} and have the other sizes of the whole, but the shapes are {} and {} \
             and it starts at {start}; slice the part, or pad the whole",
            Show(whole),
            Show(part)
        );
    }
    [start, end]
}

/// Panics unless a new part has the shape of the subarray that it replaces or is added to.
#[track_caller]
fn fits(op: &str, place: &[usize], part: &[usize]) {
    if place != part {
        panic!(
            "{op}: the new part must have the shape of the part it replaces, but the shapes are {} and {}; slice or broadcast it",
            Show(place),
            Show(part)
        );
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// This tensor with the subarray at `K` indices into the `K` outermost axes, which [`at`](Tensor::at) reads,
    /// replaced by `v`; the subarray is an element if `K` is the rank. Nothing changes if an index is out of bounds.
    ///
    /// In a compiled program `set` writes in place if nothing else reads this tensor, as in a loop that fills an array;
    /// when run without compilation, and in derivatives, it takes time in proportion to the whole tensor. To fill an array
    /// position by position use [`build`](crate::build).
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.set([1, 0], &tensor(9.0)), tensor([[1.0, 2.0], [9.0, 4.0]]));
    /// assert_eq!(x.set([0], &tensor([8.0, 9.0])), tensor([[8.0, 9.0], [3.0, 4.0]]));
    /// assert_eq!(x.set([5], &tensor([8.0, 9.0])), x);
    /// ```
    ///
    /// # Panics
    /// When `v` has a different shape than the subarray that `at` reads.
    #[track_caller]
    pub fn set<I, const K: usize, const M: usize>(&self, ix: I, v: &Tensor<T, M, E>) -> Self
    where
        I: Indices<T, K>,
        Rank<D>: Plus<K, M>,
    {
        fits("set", &self.raw().shape()[K..], v.raw().shape());
        Tensor::from_raw(replaced(self.raw(), &ix.indices(), v.raw()))
    }

    /// This tensor with `v` in place of the elements `start, start + 1, ..` along one axis, as many as `v` has.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.set_slice(0, 1, &tensor([8.0, 9.0])), tensor([1.0, 8.0, 9.0, 4.0]));
    /// assert_eq!(x.add_slice(0, 1, &tensor([10.0, 20.0])), tensor([1.0, 12.0, 23.0, 4.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, `v` extends beyond its end, or the shapes differ along another axis.
    #[track_caller]
    pub fn set_slice(&self, axis: usize, start: usize, v: &Self) -> Self {
        let shape = self.raw().shape();
        let [start, end] = place("set_slice", axis, start, shape, v.raw().shape());
        let cut = |from: usize, to: usize| self.raw().linear(&Linear::slice(shape, axis, from, to - from, 1));
        let mut parts: SmallVec<[T; 3]> = SmallVec::new();
        if start > 0 {
            parts.push(cut(0, start));
        }
        parts.push(v.raw().clone());
        if end < shape[axis] {
            parts.push(cut(end, shape[axis]));
        }
        Tensor::from_raw(T::concat(axis, &parts))
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// This tensor with `v` added to the subarray at `K` indices into the `K` outermost axes, which [`at`](Tensor::at)
    /// reads. In place if `self` has no other owner; nothing changes if an index is out of bounds.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.clone().add_at([1, 0], &tensor(0.5)), tensor([[1.0, 2.0], [3.5, 4.0]]));
    /// assert_eq!(x.add_at([0], &tensor([10.0, 20.0])), tensor([[11.0, 22.0], [3.0, 4.0]]));
    /// ```
    ///
    /// # Panics
    /// When `v` has a different shape than the subarray that `at` reads.
    #[track_caller]
    pub fn add_at<I, const K: usize, const M: usize>(self, ix: I, v: &Tensor<T, M, E>) -> Self
    where
        I: Indices<T, K>,
        Rank<D>: Plus<K, M>,
    {
        fits("add_at", &self.raw().shape()[K..], v.raw().shape());
        Tensor::from_raw(self.into_raw().scatter_add(&ix.indices(), v.raw()))
    }

    /// This tensor with `v` added to the elements `start, start + 1, ..` along one axis, as many as `v` has. In place
    /// if `self` has no other owner.
    ///
    /// Example: [`Tensor::set_slice`].
    ///
    /// # Panics
    /// When the axis does not exist, `v` extends beyond its end, or the shapes differ along another axis.
    #[track_caller]
    pub fn add_slice(self, axis: usize, start: usize, v: &Self) -> Self {
        let [start, end] = place("add_slice", axis, start, self.raw().shape(), v.raw().shape());
        let into = Linear::slice(self.raw().shape(), axis, start, end - start, 1).adjoint();
        Tensor::from_raw(self.into_raw().accumulate_linear(&into, v.raw()))
    }
}
