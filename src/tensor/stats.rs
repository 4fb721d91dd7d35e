//! Variance with degrees of freedom, standard deviation, norms along an axis, medians and quantiles.
//!
//! Law: at the kinks, where a standard deviation or a norm is 0, its derivative is 0 by convention. Order statistics
//! gather elements at the positions that [`argsort`](Tensor::argsort) finds, so their derivative goes to these
//! elements.

use super::Tensor;
use super::rank::{Above, Rank};
use super::reduce::nonempty;
use super::structure::check_axis;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Linear;

/// The order of a norm, see [`Tensor::norm_axis`].
///
/// Example: [`Tensor::norm_axis`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Norm {
    /// The sum of the absolute values.
    One,
    /// The root of the sum of the squares.
    Two,
    /// The largest absolute value.
    Infinity,
}

/// The divisor of a sum of `n` squared distances: `n - ddof`, or NaN if that is not positive.
fn divisor<E: Float>(n: usize, ddof: usize) -> E {
    if n > ddof { E::of_f64((n - ddof) as f64) } else { E::nan() }
}

/// The square root, with derivative 0 at 0.
#[track_caller]
fn root<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>) -> Tensor<T, D, E> {
    x.eq(E::ZERO).select(E::ZERO, x.sqrt())
}

/// The position `q (n - 1)` of the quantile `q` in `n` sorted elements: integer part, and fraction.
#[track_caller]
fn split(op: &str, q: f64, n: usize) -> (usize, f64) {
    if !(0.0..=1.0).contains(&q) {
        panic!("{op}: the quantile must be a number from 0 to 1, but it is {q}; divide percents by 100");
    }
    let at = q * (n - 1) as f64;
    (at.floor() as usize, at - at.floor())
}

/// Variance and standard deviation.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The variance of all `n` elements with divisor `n - ddof`: the sum of the squared distances from the mean,
    /// divided by `n - ddof`. `ddof = 0` gives [`var`](Tensor::var), `ddof = 1` the unbiased estimate from a sample.
    /// NaN if `n <= ddof`.
    ///
    /// Example: [`Tensor::var`].
    #[track_caller]
    pub fn var_ddof(&self, ddof: usize) -> Tensor<T, 0, E> {
        self.flatten().var_axis_ddof(0, ddof)
    }

    /// The variance of each line along `axis`, which disappears, see [`var_ddof`](Tensor::var_ddof).
    ///
    /// Example: [`Tensor::var`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn var_axis_ddof<const M: usize>(&self, axis: usize, ddof: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("var_axis_ddof", axis, self.raw().shape());
        self.centered(axis).square().sum_axis(axis) / divisor::<E>(self.raw().shape()[axis], ddof)
    }

    /// The population standard deviation of all elements: the root of [`var`](Tensor::var). The derivative is
    /// `(x - mean) / (n std)`, by convention 0 if the deviation is 0.
    ///
    /// Example: [`Tensor::var`].
    #[track_caller]
    pub fn std(&self) -> Tensor<T, 0, E> {
        self.flatten().std_axis(0)
    }

    /// The standard deviation of each line along `axis`, which disappears, see [`std`](Tensor::std).
    ///
    /// Example: [`Tensor::var`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn std_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("std_axis", axis, self.raw().shape());
        self.std_axis_ddof(axis, 0)
    }

    /// The standard deviation of all `n` elements with divisor `n - ddof`, the root of [`var_ddof`](Tensor::var_ddof):
    /// `ddof = 1` is usual for a sample. The derivative is `(x - mean) / ((n - ddof) std)`, by convention 0 if the
    /// deviation is 0.
    ///
    /// Example: [`Tensor::var`].
    #[track_caller]
    pub fn std_ddof(&self, ddof: usize) -> Tensor<T, 0, E> {
        self.flatten().std_axis_ddof(0, ddof)
    }

    /// The standard deviation of each line along `axis`, which disappears, see [`std_ddof`](Tensor::std_ddof).
    ///
    /// Example: [`Tensor::var`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn std_axis_ddof<const M: usize>(&self, axis: usize, ddof: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("std_axis_ddof", axis, self.raw().shape());
        let n = self.raw().shape()[axis];
        self.centered(axis).root_of_squares(axis, Some(divisor::<E>(n, ddof)))
    }
}

/// Norms.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The norm of each line along `axis`, which disappears, without intermediate overflow; 0 if the axis has size 0.
    ///
    /// The derivative is the sign of each element for [`Norm::One`], `x / |x|` for [`Norm::Two`], and, for
    /// [`Norm::Infinity`], the sign of the first element of largest absolute value, at this element alone; by
    /// convention 0 for a line of zeros.
    ///
    /// ```
    /// use polygrad::{tensor, tensor::Norm};
    /// let x = tensor([[3.0, -4.0], [0.0, 0.0]]);
    /// assert_eq!(x.norm_axis(1, Norm::One), tensor([7.0, 0.0]));
    /// assert_eq!(x.norm_axis(1, Norm::Two), tensor([5.0, 0.0]));
    /// assert_eq!(x.norm_axis(1, Norm::Infinity), tensor([4.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn norm_axis<const M: usize>(&self, axis: usize, order: Norm) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("norm_axis", axis, self.raw().shape());
        if self.raw().shape()[axis] == 0 {
            return self.sum_axis(axis);
        }
        match order {
            Norm::One => self.abs().sum_axis(axis),
            Norm::Infinity => self.abs().max_axis(axis),
            Norm::Two => self.root_of_squares(axis, None),
        }
    }

    /// The root of the sum of the squares of each line along `axis`, or of that sum divided by a number, without
    /// intermediate overflow.
    #[track_caller]
    fn root_of_squares<const M: usize>(&self, axis: usize, divisor: Option<E>) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        if self.raw().shape()[axis] == 0 {
            let sum: Tensor<T, M, E> = self.sum_axis(axis);
            return divisor.map_or_else(|| sum.clone(), |c| &sum / c);
        }
        // Elements are divided by the largest absolute value of their line. For derivatives this scale may be a
        // constant, since the result does not depend on it.
        let top: Tensor<T, M, E> = self.stop_gradient().abs().max_axis(axis);
        let unit = (top.gt(E::ZERO) & top.lt(E::infinity())).select(&top, E::ONE);
        let x = self / self.spread(axis, &unit);
        let sum: Tensor<T, M, E> = x.square().sum_axis(axis);
        root(&divisor.map_or_else(|| sum.clone(), |c| &sum / c)) * unit
    }
}

/// Order statistics.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The quantile `q` of each line along `axis`, which disappears: the element at position `q (n - 1)` of the sorted
    /// line, linearly interpolated between the neighboring positions. NaN for a line with a NaN.
    ///
    /// The derivative goes to these one or two elements; equal elements are sorted stably, in their order in the line.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[4.0, 1.0, 3.0, 2.0], [0.0, 8.0, 8.0, 8.0]]);
    /// assert_eq!((x.quantile_axis(1, 0.25), x.median_axis(1)), (tensor([1.75, 6.0]), tensor([2.5, 8.0])));
    /// let x = tensor([4.0, 1.0, 3.0, 2.0]);
    /// assert_eq!((x.quantile(0.25), x.median()), (tensor(1.75), tensor(2.5)));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, its size is 0, or `q` is not from 0 to 1.
    #[track_caller]
    pub fn quantile_axis<const M: usize>(&self, axis: usize, q: f64) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        self.ordered("quantile_axis", axis, q)
    }

    #[track_caller]
    fn ordered<const M: usize>(&self, op: &str, axis: usize, q: f64) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        let shape = self.raw().shape();
        check_axis(op, axis, shape);
        nonempty(op, shape[axis], shape);
        let n = shape[axis];
        let (low, fraction) = split(op, q, n);
        let positions = self.argsort(axis);
        let read = |k: usize| self.pick(axis, &positions.view(&Linear::row(shape, axis, k)));
        let y: Tensor<T, M, E> = match fraction > 0.0 {
            true => read(low).scale(1.0 - fraction) + read(low + 1).scale(fraction),
            false => read(low),
        };
        // NaN sorts last, so the last element of the sorted line shows whether the line has one.
        let last = if fraction > 0.0 { low + 1 } else { low };
        if last == n - 1 { y } else { read(n - 1).is_nan().select(E::nan(), y) }
    }

    /// From each line along `axis`, which disappears, the element at a position; 0 if the position is out of bounds.
    #[track_caller]
    pub(super) fn pick<const M: usize>(&self, axis: usize, positions: &Tensor<T, M, i64>) -> Tensor<T, M, E> {
        let shape = positions.raw().shape();
        let mut indices: Vec<T> = (0..M)
            .map(|k| Tensor::<T, 1, i64>::iota(shape[k]).into_raw().linear(&Linear::replicate(shape, &[k])))
            .collect();
        indices.insert(axis, positions.raw().clone());
        Tensor::from_raw(self.raw().gather(&indices))
    }

    /// The quantile `q` of all elements, see [`quantile_axis`](Tensor::quantile_axis).
    ///
    /// Example: [`Tensor::quantile_axis`].
    ///
    /// # Panics
    /// When the tensor has no elements, or `q` is not from 0 to 1.
    #[track_caller]
    pub fn quantile(&self, q: f64) -> Tensor<T, 0, E> {
        nonempty("quantile", self.size(), self.raw().shape());
        self.flatten().ordered("quantile", 0, q)
    }

    /// The median of each line along `axis`, which disappears: the middle element of the sorted line, or the mean of
    /// the two in the middle; the [quantile](Tensor::quantile_axis) 1/2.
    ///
    /// Example: [`Tensor::quantile_axis`].
    ///
    /// # Panics
    /// When the axis does not exist, or its size is 0.
    #[track_caller]
    pub fn median_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        self.ordered("median_axis", axis, 0.5)
    }

    /// The median of all elements, see [`median_axis`](Tensor::median_axis).
    ///
    /// Example: [`Tensor::quantile_axis`].
    ///
    /// # Panics
    /// When the tensor has no elements.
    #[track_caller]
    pub fn median(&self) -> Tensor<T, 0, E> {
        nonempty("median", self.size(), self.raw().shape());
        self.flatten().ordered("median", 0, 0.5)
    }
}
