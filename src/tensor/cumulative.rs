//! Products, and prefix sums, products, extrema and log-sum-exps along an axis.
//!
//! Law: every result is computed by its associative operation alone, never by division of a total; so the derivative of
//! a product is right where factors are zero. Each takes one pass over a line:
//!
//! | method | operations |
//! |---|---|
//! | `cumsum` | prefix sums, whose adjoint are suffix sums |
//! | `cumprod` of floats | prefix products, whose derivative is a linear recurrence |
//! | `cummax`, `cummin` | the elements at the positions of prefix extrema |
//! | `cumlogsumexp` | a linear recurrence of exponentials relative to the prefix maximum |
//!
//! E. Martin and C. Cundy, *Parallelizing linear recurrent neural nets over sequence length*, 2018, for the recurrences.
//! Only products, and prefix products of integers, are trees of logarithmic depth and linear work.

use super::Tensor;
use super::arithmetic::mul_op;
use super::rank::{Above, Rank};
use super::structure::check_axis;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{Float, Num};
use crate::ops::{Call, Discrete, Linear, Matrix};
use crate::shape::{Shape, Show, size};

/// The elements `start, start + step, ..` along an axis, `len` of them.
#[track_caller]
fn every<T: BaseTensor>(x: &T, axis: usize, start: usize, len: usize, step: usize) -> T {
    x.linear(&Linear::slice(x.shape(), axis, start, len, step))
}

/// The product of each line along an axis, which keeps size 1.
#[track_caller]
fn product<T: BaseTensor, E: Num>(x: &T, axis: usize) -> T {
    let mut shape = Shape::from_slice(x.shape());
    shape[axis] = 1;
    let mut odd: Option<T> = None;
    let mut rest = x.clone();
    while rest.shape()[axis] > 1 {
        let n = rest.shape()[axis];
        if n % 2 == 1 {
            let last = every(&rest, axis, n - 1, 1, 1);
            odd = Some(if let Some(odd) = odd { mul_op::<_, E>(&last, &odd) } else { last });
        }
        rest = mul_op::<_, E>(&every(&rest, axis, 0, n / 2, 1), &every(&rest, axis, n / 2, n / 2, 1));
    }
    match odd {
        Some(odd) => mul_op::<_, E>(&rest, &odd),
        None if rest.shape()[axis] == 0 => T::constant(Array::full(&shape, E::ONE)),
        None => rest,
    }
}

/// The prefix products along an axis.
#[track_caller]
fn prefix_products<T: BaseTensor, E: Num>(x: &T, axis: usize) -> T {
    let n = x.shape()[axis];
    if n <= 1 {
        return x.clone();
    }
    // Neighbors are multiplied in pairs. The prefix products of the pairs are the results at odd positions; each of these
    // times the next element is the result at the next, even position.
    let (odds, evens) = (n / 2, n - n / 2);
    let even = every(x, axis, 0, evens, 2);
    let pairs = mul_op::<_, E>(&every(&even, axis, 0, odds, 1), &every(x, axis, 1, odds, 2));
    let at_odd = prefix_products::<T, E>(&pairs, axis);
    let later = mul_op::<_, E>(&every(&at_odd, axis, 0, evens - 1, 1), &every(&even, axis, 1, evens - 1, 1));
    let at_even = T::concat(axis, &[every(x, axis, 0, 1, 1), later]);
    let woven = |part: &T, start: usize| Linear::slice(x.shape(), axis, start, part.shape()[axis], 2).adjoint();
    at_even.linear(&woven(&at_even, 0)).accumulate_linear(&woven(&at_odd, 1), &at_odd)
}

/// The extrema of the prefixes of each line along `axis`, or, in reverse, of its suffixes.
#[track_caller]
fn extrema<T: BaseTensor, const D: usize, E: Num>(
    op: &str,
    x: &Tensor<T, D, E>,
    (axis, largest, reverse): (usize, bool, bool),
) -> Tensor<T, D, E> {
    check_axis(op, axis, x.raw().shape());
    let positions = T::discrete(&Discrete::PrefixArg { axis, largest, reverse }, &[x.raw()]);
    x.take_along(axis, &Tensor::from_raw(positions))
}

/// The prefix sums of each line along `axis`, or, in reverse, its suffix sums.
#[track_caller]
fn prefix_sums<T: BaseTensor, const D: usize, E: Num>(
    op: &str,
    x: &Tensor<T, D, E>,
    axis: usize,
    reverse: bool,
) -> Tensor<T, D, E> {
    check_axis(op, axis, x.raw().shape());
    let sums = Linear::prefix_sum(x.raw().shape(), axis);
    Tensor::from_raw(x.raw().linear(&if reverse { sums.adjoint() } else { sums }))
}

/// An operation along the rows of matrices, along an axis of arrays of one shape.
#[track_caller]
fn along<T: BaseTensor>(op: Matrix, axis: usize, args: &[&T]) -> T {
    let shape = args[0].shape();
    let sizes = [size(&shape[..axis]), shape[axis], size(&shape[axis + 1..])];
    let mut operands = Vec::new();
    for x in args {
        operands.push(x.linear(&Linear::reshape(shape, &sizes)));
    }
    let y = T::call(&Call::Matrix(op), &operands).swap_remove(0);
    y.linear(&Linear::reshape(&sizes, shape))
}

/// The prefix products of each line along `axis`, or, in reverse, its suffix products.
#[track_caller]
fn products<T: BaseTensor, const D: usize, E: Num>(
    op: &str,
    x: &Tensor<T, D, E>,
    axis: usize,
    reverse: bool,
) -> Tensor<T, D, E> {
    check_axis(op, axis, x.raw().shape());
    let turned = |x: &T| if reverse { x.linear(&Linear::reverse(x.shape(), axis)) } else { x.clone() };
    let x = turned(x.raw());
    Tensor::from_raw(turned(&match E::DTYPE.is_float() {
        true => along(Matrix::PrefixProduct, axis, &[&x]),
        false => prefix_products::<T, E>(&x, axis),
    }))
}

/// Products.
impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The product of all elements; 1 if the tensor is empty. The derivative in an element is the product of all other
    /// elements, even where elements are zero.
    ///
    /// ```
    /// use polygrad::{direct, tensor};
    /// let x = tensor([2.0, 0.0, 4.0]);
    /// assert_eq!(x.prod(), tensor(0.0));
    /// assert_eq!(direct::grad(|x| x.prod(), &x), tensor([0.0, 8.0, 0.0]));
    /// assert_eq!(tensor([[1.0, 2.0], [3.0, 4.0]]).prod_axis(1), tensor([2.0, 12.0]));
    /// ```
    #[track_caller]
    pub fn prod(&self) -> Tensor<T, 0, E> {
        self.flatten().prod_axis(0)
    }

    /// The product of each line along `axis`, which disappears; 1 if its size is 0. The derivative in an element is the
    /// product of all other elements of its line, even where elements are zero.
    ///
    /// Example: [`Tensor::prod`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn prod_axis<const M: usize>(&self, axis: usize) -> Tensor<T, M, E>
    where
        Rank<D>: Above<M>,
    {
        check_axis("prod_axis", axis, self.raw().shape());
        Tensor::<T, D, E>::from_raw(product::<T, E>(self.raw(), axis)).remove_axis(axis)
    }
}

/// Running sums, products and extrema.
impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The sum of each element and all elements before it along `axis`: `y[i] = x[0] + .. + x[i]`. Its adjoint is
    /// [`cumsum_reverse`](Tensor::cumsum_reverse).
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([2.0, 1.0, 3.0]);
    /// assert_eq!((x.cumsum(0), x.cumsum_reverse(0)), (tensor([2.0, 3.0, 6.0]), tensor([6.0, 4.0, 3.0])));
    /// assert_eq!((x.cumprod(0), x.cumprod_reverse(0)), (tensor([2.0, 2.0, 6.0]), tensor([6.0, 3.0, 3.0])));
    /// assert_eq!((x.cummax(0), x.cummax_reverse(0)), (tensor([2.0, 2.0, 3.0]), tensor([3.0, 3.0, 3.0])));
    /// assert_eq!((x.cummin(0), x.cummin_reverse(0)), (tensor([2.0, 1.0, 1.0]), tensor([1.0, 1.0, 3.0])));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cumsum(&self, axis: usize) -> Self {
        prefix_sums("cumsum", self, axis, false)
    }

    /// The sum of each element and all elements after it along `axis`: `y[i] = x[i] + .. + x[n - 1]`.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cumsum_reverse(&self, axis: usize) -> Self {
        prefix_sums("cumsum_reverse", self, axis, true)
    }

    /// The product of each element and all elements before it along `axis`: `y[i] = x[0] * .. * x[i]`. The derivative
    /// is right also where elements are zero.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cumprod(&self, axis: usize) -> Self {
        products("cumprod", self, axis, false)
    }

    /// The product of each element and all elements after it along `axis`: `y[i] = x[i] * .. * x[n - 1]`.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cumprod_reverse(&self, axis: usize) -> Self {
        products("cumprod_reverse", self, axis, true)
    }

    /// The largest of each element and all elements before it along `axis`; NaN from the first NaN on. The derivative
    /// goes to the first largest element.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cummax(&self, axis: usize) -> Self {
        extrema("cummax", self, (axis, true, false))
    }

    /// The largest of each element and all elements after it along `axis`; NaN up to the last NaN. The derivative goes
    /// to the last largest element.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cummax_reverse(&self, axis: usize) -> Self {
        extrema("cummax_reverse", self, (axis, true, true))
    }

    /// The smallest of each element and all elements before it along `axis`; NaN from the first NaN on. The derivative
    /// goes to the first smallest element.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cummin(&self, axis: usize) -> Self {
        extrema("cummin", self, (axis, false, false))
    }

    /// The smallest of each element and all elements after it along `axis`; NaN up to the last NaN. The derivative goes
    /// to the last smallest element.
    ///
    /// Example: [`Tensor::cumsum`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cummin_reverse(&self, axis: usize) -> Self {
        extrema("cummin_reverse", self, (axis, false, true))
    }
}

/// Linear recurrences, and running soft extrema.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The first-order linear recurrence along `axis` with these terms and factors: `y[0] = x[0]` and
    /// `y[i] = x[i] + a[i] y[i - 1]`. The first factor of a line is not read.
    ///
    /// ```
    /// use polygrad::tensor;
    /// // Exponential smoothing.
    /// let y = tensor([1.0, 0.0, 4.0]).linear_recurrence(&tensor([0.0, 0.5, 0.5]), 0);
    /// assert_eq!(y, tensor([1.0, 0.5, 4.25]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or the shapes differ.
    #[track_caller]
    pub fn linear_recurrence(&self, factors: &Self, axis: usize) -> Self {
        let (shape, other) = (self.raw().shape(), factors.raw().shape());
        check_axis("linear_recurrence", axis, shape);
        if shape != other {
            panic!(
                "linear_recurrence: there must be a factor for each term, but the shapes are {} and {}; replicate one",
                Show(shape),
                Show(other)
            );
        }
        Tensor::from_raw(along(Matrix::Recurrence { transposed: false }, axis, &[factors.raw(), self.raw()]))
    }

    /// The logarithm of the running sum of exponentials along `axis`, without overflow:
    /// `y[i] = ln(e^x[0] + .. + e^x[i])`.
    ///
    /// As of [`logsumexp_axis`](Tensor::logsumexp_axis), a prefix of `-inf` alone gives `-inf` with derivative 0, and a
    /// prefix with an element `inf` gives `inf` with derivative NaN.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1000.0, 1000.0]).cumlogsumexp(0), tensor([1000.0, 1000.0 + 2f64.ln()]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn cumlogsumexp(&self, axis: usize) -> Self {
        // The sums are relative to the maximum of each prefix: `s[i] = e^(x[i] - m[i]) + e^(m[i - 1] - m[i]) s[i - 1]`.
        let top = extrema("cumlogsumexp", &self.stop_gradient(), (axis, true, false));
        let shift = top.abs().lt(E::infinity()).select(&top, E::ZERO);
        let before = top.gt(E::neg_infinity()).select(&shift, &top);
        let n = self.raw().shape()[axis];
        let before = before.raw().linear(&Linear::slice(before.raw().shape(), axis, 0, n.saturating_sub(1), 1));
        // The first factor of a line is not read.
        let later = Linear::slice(self.raw().shape(), axis, n.min(1), n.saturating_sub(1), 1).adjoint();
        let before = Tensor::<T, D, E>::from_raw(before.linear(&later));
        let total = (self - &shift).exp().linear_recurrence(&(before - &shift).exp(), axis);
        total.gt(E::ZERO).select(total.ln(), total.stop_gradient().ln()) + shift
    }
}
