//! Predicates of floats (NaN, finite, infinite), and reductions of masks (any, all).
//!
//! Law: masks have no derivative. The predicates of floats are comparisons; the reductions of masks count the elements
//! that hold, so over no elements `any` is false and `all` is true.

use super::Tensor;
use super::rank::{Above, Rank};
use super::structure::check_axis;
use crate::base::BaseTensor;
use crate::dtype::Float;

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The mask of the elements that are NaN.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([0.0, f64::NAN, -f64::INFINITY]);
    /// assert_eq!(x.is_nan(), tensor([false, true, false]));
    /// assert_eq!((x.is_finite(), x.is_infinite()), (tensor([true, false, false]), tensor([false, false, true])));
    /// ```
    #[track_caller]
    pub fn is_nan(&self) -> Tensor<T, D, bool> {
        self.ne(self)
    }

    /// The mask of the elements that are finite: neither infinite nor NaN.
    ///
    /// Example: [`Tensor::is_nan`].
    #[track_caller]
    pub fn is_finite(&self) -> Tensor<T, D, bool> {
        self.abs().lt(E::infinity())
    }

    /// The mask of the elements that are infinite, of either sign.
    ///
    /// Example: [`Tensor::is_nan`].
    #[track_caller]
    pub fn is_infinite(&self) -> Tensor<T, D, bool> {
        self.abs().eq(E::infinity())
    }
}

impl<T: BaseTensor, const D: usize> Tensor<T, D, bool> {
    /// Whether the mask holds anywhere; false if the mask is empty.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let mask = tensor([[false, true], [false, false]]);
    /// assert_eq!((mask.any(), mask.all()), (tensor(true), tensor(false)));
    /// assert_eq!((mask.any_axis(1), mask.all_axis(0)), (tensor([true, false]), tensor([false, false])));
    /// ```
    #[track_caller]
    pub fn any(&self) -> Tensor<T, 0, bool> {
        self.to_int().sum().gt(0)
    }

    /// Whether the mask holds everywhere; true if the mask is empty.
    ///
    /// Example: [`Tensor::any`].
    #[track_caller]
    pub fn all(&self) -> Tensor<T, 0, bool> {
        self.to_int().sum().eq(self.size() as i64)
    }

    /// For each line along `axis`, which disappears, whether the mask holds anywhere in it; false if the axis has size
    /// 0.
    ///
    /// Example: [`Tensor::any`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn any_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, bool>
    where
        Rank<D>: Above<M>,
    {
        check_axis("any_axis", axis, self.raw().shape());
        self.to_int().sum_axis(axis).gt(0)
    }

    /// For each line along `axis`, which disappears, whether the mask holds everywhere in it; true if the axis has size
    /// 0.
    ///
    /// Example: [`Tensor::any`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn all_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, bool>
    where
        Rank<D>: Above<M>,
    {
        check_axis("all_axis", axis, self.raw().shape());
        self.to_int().sum_axis(axis).eq(self.raw().shape()[axis] as i64)
    }
}
