//! Reductions: extrema and their positions, mean, variance, norm, log-sum-exp, softmax.
//!
//! Law: the derivatives stated here follow from the operations used; formulas are stable, so no intermediate overflows
//! where the result does not. Plain sums are in `structure`, with the other linear operations.

use super::elementwise::repeated;
use super::rank::{Above, Rank};
use super::structure::{check_axis, other_axes};
use super::{Tensor, arithmetic};
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float, Num};
use crate::ops::{Discrete, Linear, Reduce};
use crate::shape::Show;

/// Panics if a reduction that needs an element gets none.
#[track_caller]
pub(super) fn nonempty(op: &str, n: usize, shape: &[usize]) {
    if n == 0 {
        panic!(
            "{op}: needs at least one element to choose from, but the shape is {}; give it one, or skip it",
            Show(shape)
        );
    }
}

/// Extrema of numbers.
impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    #[track_caller]
    fn position<const M: usize>(&self, name: &str, op: Discrete, axis: usize) -> Tensor<T, M, i64> {
        let shape = self.raw().shape();
        check_axis(name, axis, shape);
        nonempty(name, shape[axis], shape);
        Tensor::from_raw(T::discrete(&op, &[self.raw()]))
    }

    #[track_caller]
    fn extremum<const M: usize>(&self, name: &str, op: Reduce) -> Tensor<T, M, E> {
        let shape = self.raw().shape();
        check_axis(name, op.axis(), shape);
        nonempty(name, shape[op.axis()], shape);
        Tensor::from_raw(self.raw().reduce(op))
    }

    /// The position of the largest element of each line along `axis`: the first on ties, the first NaN if
    /// there is one.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the axis does not exist, or its size is 0.
    #[track_caller]
    pub fn argmax_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, i64>
    where
        Rank<D>: Above<M>,
    {
        self.position("argmax_axis", Discrete::ArgMax { axis }, axis)
    }

    /// The position of the smallest element of each line along `axis`: the first on ties, the first NaN if
    /// there is one.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the axis does not exist, or its size is 0.
    #[track_caller]
    pub fn argmin_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, i64>
    where
        Rank<D>: Above<M>,
    {
        self.position("argmin_axis", Discrete::ArgMin { axis }, axis)
    }

    /// The largest element of each line along `axis`; NaN if an element of the line is NaN. The derivative goes to the
    /// first largest element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[1.0, 3.0], [4.0, 2.0]]);
    /// assert_eq!((x.max_axis(1), x.argmax_axis(1)), (tensor([3.0, 4.0]), tensor([1, 0])));
    /// assert_eq!((x.min_axis(1), x.argmin_axis(1)), (tensor([1.0, 2.0]), tensor([0, 1])));
    /// assert_eq!((x.max_all(), x.min_all()), (tensor(4.0), tensor(1.0)));
    /// let x = tensor([3.0, 1.0, 3.0]);
    /// assert_eq!((x.argmax(), x.argmin()), (tensor(0), tensor(1)));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or its size is 0.
    #[track_caller]
    pub fn max_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        self.extremum("max_axis", Reduce::Max { axis })
    }

    /// The smallest element of each line along `axis`; NaN if an element of the line is NaN. The derivative goes to the
    /// first smallest element.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the axis does not exist, or its size is 0.
    #[track_caller]
    pub fn min_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        self.extremum("min_axis", Reduce::Min { axis })
    }

    /// The largest element; NaN if an element is NaN. The derivative goes to the first largest element.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the tensor has no elements.
    #[track_caller]
    pub fn max_all(&self) -> Tensor<T, 0, E> {
        nonempty("max_all", self.size(), self.raw().shape());
        self.flatten().max_axis(0)
    }

    /// The smallest element; NaN if an element is NaN. The derivative goes to the first smallest element.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the tensor has no elements.
    #[track_caller]
    pub fn min_all(&self) -> Tensor<T, 0, E> {
        nonempty("min_all", self.size(), self.raw().shape());
        self.flatten().min_axis(0)
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 1, E> {
    /// The position of the largest element: the first on ties, the first NaN if there is one.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the tensor has no elements.
    #[track_caller]
    pub fn argmax(&self) -> Tensor<T, 0, i64> {
        self.position("argmax", Discrete::ArgMax { axis: 0 }, 0)
    }

    /// The position of the smallest element: the first on ties, the first NaN if there is one.
    ///
    /// Example: [`Tensor::max_axis`].
    ///
    /// # Panics
    /// When the tensor has no elements.
    #[track_caller]
    pub fn argmin(&self) -> Tensor<T, 0, i64> {
        self.position("argmin", Discrete::ArgMin { axis: 0 }, 0)
    }
}

/// Statistics of floats.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The mean of all elements; NaN if the tensor is empty.
    ///
    /// Example: [`Tensor::var`].
    #[track_caller]
    pub fn mean(&self) -> Tensor<T, 0, E> {
        self.sum() / E::of_f64(self.size() as f64)
    }

    /// The mean of each line along `axis`; NaN if its size is 0.
    ///
    /// Example: [`Tensor::var`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn mean_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("mean_axis", axis, self.raw().shape());
        self.sum_axis(axis) / E::of_f64(self.raw().shape()[axis] as f64)
    }

    /// The population variance of all `n` elements: the sum of the squared distances from the mean, divided by `n`, not
    /// by `n - 1`. NaN if the tensor is empty.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (x, y) = (tensor([[1.0, 3.0], [4.0, 2.0]]), tensor([1.0, 5.0, 3.0]));
    /// assert_eq!((x.mean(), x.mean_axis(1)), (tensor(2.5), tensor([2.0, 3.0])));
    /// assert_eq!((x.var(), x.var_axis(1)), (tensor(1.25), tensor([1.0, 1.0])));
    /// assert_eq!((x.std_axis(1), tensor([1.0, 5.0]).std()), (tensor([1.0, 1.0]), tensor(2.0)));
    /// // With the divisor `n - 1`.
    /// assert_eq!((y.var_ddof(1), y.std_ddof(1)), (tensor(4.0), tensor(2.0)));
    /// assert_eq!((x.var_axis_ddof(1, 1), y.replicate(1).std_axis_ddof(1, 1)), (tensor([2.0, 2.0]), tensor([2.0])));
    /// ```
    #[track_caller]
    pub fn var(&self) -> Tensor<T, 0, E> {
        self.flatten().var_axis(0)
    }

    /// The population variance of each line along `axis`, see [`var`](Tensor::var).
    ///
    /// Example: [`Tensor::var`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn var_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("var_axis", axis, self.raw().shape());
        self.centered(axis).square().mean_axis(axis)
    }

    /// The Euclidean norm: the root of the sum of all squares, without intermediate overflow. The derivative is
    /// `x / |x|`, by convention 0 if all elements are 0. With an infinite element the norm is infinite, and its
    /// derivative 0 by convention, where [`hypot`](Tensor::hypot) has the limits 1 and -1. NaN gives NaN. Laplacians and
    /// Taylor expansions square `1 / |x|` on the way, and are infinite or NaN where that is out of range (`|x|` below 1e-154, or
    /// 1e-19 in `f32`); [`hessian`](crate::hessian()) is not.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([3.0, -4.0]).norm(), tensor(5.0));
    /// ```
    #[track_caller]
    pub fn norm(&self) -> Tensor<T, 0, E> {
        if self.is_empty() {
            return self.sum();
        }
        // Elements are divided by the largest absolute value. For derivatives this scale may be a constant, since the
        // result does not depend on it.
        let top = self.stop_gradient().abs().max_all();
        let unit = (top.gt(E::ZERO) & top.lt(E::infinity())).select(&top, E::ONE);
        let x: Self = Tensor::from_raw(arithmetic::div_op::<T, E>(self.raw(), &repeated(&unit, self.raw().shape())));
        let sum = x.dot(&x);
        sum.eq(E::ZERO).select(E::ZERO, sum.sqrt()) * unit
    }

    /// The distances of all elements from the mean of their line along `axis`.
    ///
    /// The first element of the line is subtracted before the mean is computed, so that far from 0 the rounding of the
    /// mean is that of the distances. For derivatives it is a constant, since the distances do not depend on it.
    #[track_caller]
    pub(crate) fn centered<const M: usize>(&self, axis: usize) -> Self
    where
        Rank<D>: Above<M>,
    {
        if self.raw().shape()[axis] == 0 {
            return self.clone();
        }
        let first: Tensor<T, M, E> = self.stop_gradient().view(&Linear::row(self.raw().shape(), axis, 0));
        let moved = self - self.spread(axis, &first);
        &moved - self.spread(axis, &moved.mean_axis::<M>(axis))
    }

    /// One value for each line along `axis`, broadcast to the shape of `self`.
    #[track_caller]
    pub(super) fn spread<const M: usize, F: Elem>(&self, axis: usize, t: &Tensor<T, M, F>) -> Tensor<T, D, F> {
        t.view(&Linear::replicate(self.raw().shape(), &other_axes(M, axis)))
    }

    /// `x - m` and `m`, where `m` is the maximum of each line along `axis`, or 0 if the maximum is infinite or NaN. For
    /// derivatives `m` is a constant.
    #[track_caller]
    pub(super) fn shifted<const M: usize>(&self, op: &str, axis: usize) -> (Self, Tensor<T, M, E>)
    where
        Rank<D>: Above<M>,
    {
        let shape = self.raw().shape();
        check_axis(op, axis, shape);
        if shape[axis] == 0 {
            return (self.clone(), self.sum_axis(axis));
        }
        let top = self.stop_gradient().max_axis(axis);
        let top = top.abs().lt(E::infinity()).select(&top, E::ZERO);
        (self - self.spread(axis, &top), top)
    }

    /// The logarithm of the sum of the exponentials of all elements, without overflow, see
    /// [`logsumexp_axis`](Tensor::logsumexp_axis).
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1000.0, 1000.0]).logsumexp().item(), 1000.0 + 2f64.ln());
    /// assert_eq!(tensor([[1.0], [2.0]]).logsumexp_axis(1), tensor([1.0, 2.0]));
    /// ```
    #[track_caller]
    pub fn logsumexp(&self) -> Tensor<T, 0, E> {
        self.flatten().logsumexp_axis(0)
    }

    /// The logarithm of the sum of the exponentials of each line along `axis`, without overflow. The
    /// derivative is the softmax.
    ///
    /// `-inf` for a line of `-inf` alone or without elements, with derivative 0; `inf` if an element is `inf`, with
    /// derivative 0, unless the line has two elements: for them the derivative is that of
    /// [`logaddexp`](Tensor::logaddexp), 1 and 0. NaN, with derivative NaN, if an element is NaN.
    ///
    /// Example: [`Tensor::logsumexp`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn logsumexp_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        if self.raw().shape().get(axis) == Some(&2) {
            return self.logsumexp_of_two(axis);
        }
        let (x, top) = self.shifted("logsumexp_axis", axis);
        let total: Tensor<T, M, E> = x.exp().sum_axis(axis);
        // Where the sum is 0, the derivatives of the exponentials are 0, and a path with a factor of zero adds zero.
        total.ln() + top
    }

    /// [`logsumexp_axis`](Self::logsumexp_axis) of lines of two elements, which one operation computes.
    #[track_caller]
    fn logsumexp_of_two<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        let [a, b] = [0, 1].map(|k| self.view::<M>(&Linear::row(self.raw().shape(), axis, k)));
        // Two elements of `-inf` have no difference: `logaddexp` gets another number in place of one of them, so that
        // derivatives are 0 at every order.
        let top = a.max(&b).stop_gradient();
        let some = top.ne(E::neg_infinity());
        let y = a.logaddexp(some.select(&b, E::ZERO));
        some.select(&y, &top)
    }

    /// Exponentials divided by their sum along `axis`, without overflow: not negative, with sum 1 along `axis`.
    ///
    /// NaN for a line of `-inf` alone, and where an element is `inf`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1000.0, 1000.0]).softmax(0), tensor([0.5, 0.5]));
    /// assert_eq!(tensor([[1.0], [2.0]]).log_softmax(1), tensor([[0.0], [0.0]]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn softmax<const M: usize>(&self, axis: usize) -> Self
    where
        Rank<D>: Above<M>,
    {
        let (x, _) = self.shifted::<M>("softmax", axis);
        let e = x.exp();
        &e / self.spread::<M, E>(axis, &e.sum_axis(axis))
    }

    /// The logarithm of the [`softmax`](Tensor::softmax), accurate where that is near 0.
    ///
    /// Example: [`Tensor::softmax`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn log_softmax<const M: usize>(&self, axis: usize) -> Self
    where
        Rank<D>: Above<M>,
    {
        let (x, _) = self.shifted::<M>("log_softmax", axis);
        let total = x.exp().sum_axis(axis).ln();
        &x - self.spread::<M, E>(axis, &total)
    }
}
