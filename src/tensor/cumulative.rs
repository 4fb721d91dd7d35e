//! Products, and prefix sums, products, extrema and log-sum-exps along an axis.
//!
//! Law: every result is computed by its associative operation alone (`+`, `*`, `min`, `max` or log-add-exp), never by
//! division of a total; so the derivative of a product is right where factors are zero. Prefix sums, and prefix
//! products of floats, are operations of the language; the derivative of the latter is a linear recurrence (E. Martin
//! and C. Cundy, *Parallelizing linear recurrent neural nets over sequence length*, 2018). The others are trees of
//! logarithmic depth and linear work.

use super::Tensor;
use super::arithmetic::{max_op, min_op, mul_op};
use super::rank::{Above, Rank};
use super::structure::check_axis;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{Float, Num};
use crate::ops::{Binary, Call, Linear, Matrix};
use crate::shape::{Shape, Show, size};

/// An associative operation; not a function pointer, since a call through a pointer loses the user's line
/// (`track_caller`).
#[derive(Clone, Copy)]
enum Combine {
    Product,
    Min,
    Max,
    /// The logarithm of the sum of exponentials, of floats.
    LogSumExp,
}

impl Combine {
    #[track_caller]
    fn apply<T: BaseTensor, E: Num>(self, a: &T, b: &T) -> T {
        match self {
            Combine::Product => mul_op::<_, E>(a, b),
            Combine::Min => min_op::<_, E>(a, b),
            Combine::Max => max_op::<_, E>(a, b),
            Combine::LogSumExp => a.binary(Binary::LogAddExp, b),
        }
    }
}

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

/// The prefixes along an axis: the combination of each element with all elements before it.
#[track_caller]
fn prefixes<T: BaseTensor, E: Num>(x: &T, axis: usize, combine: Combine) -> T {
    let n = x.shape()[axis];
    if n <= 1 {
        return x.clone();
    }
    // Neighbors are combined in pairs. The prefixes of the pairs are the results at odd positions; each of these
    // combined with the next element is the result at the next, even position.
    let (odds, evens) = (n / 2, n - n / 2);
    let even = every(x, axis, 0, evens, 2);
    let pairs = combine.apply::<T, E>(&every(&even, axis, 0, odds, 1), &every(x, axis, 1, odds, 2));
    let at_odd = prefixes::<T, E>(&pairs, axis, combine);
    let later = combine.apply::<T, E>(&every(&at_odd, axis, 0, evens - 1, 1), &every(&even, axis, 1, evens - 1, 1));
    let at_even = T::concat(axis, &[every(x, axis, 0, 1, 1), later]);
    let woven = |part: &T, start: usize| Linear::slice(x.shape(), axis, start, part.shape()[axis], 2).adjoint();
    at_even.linear(&woven(&at_even, 0)).accumulate_linear(&woven(&at_odd, 1), &at_odd)
}

/// The prefixes of each line along `axis`, or, in reverse, its suffixes.
#[track_caller]
fn running<T: BaseTensor, const D: usize, E: Num>(
    op: &str,
    x: &Tensor<T, D, E>,
    axis: usize,
    reverse: bool,
    combine: Combine,
) -> Tensor<T, D, E> {
    check_axis(op, axis, x.raw().shape());
    let turned = |x: &T| if reverse { x.linear(&Linear::reverse(x.shape(), axis)) } else { x.clone() };
    Tensor::from_raw(turned(&prefixes::<T, E>(&turned(x.raw()), axis, combine)))
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
    if !E::DTYPE.is_float() {
        return running(op, x, axis, reverse, Combine::Product);
    }
    check_axis(op, axis, x.raw().shape());
    let turned = |x: &T| if reverse { x.linear(&Linear::reverse(x.shape(), axis)) } else { x.clone() };
    Tensor::from_raw(turned(&along(Matrix::PrefixProduct, axis, &[&turned(x.raw())])))
}

/// Products.
impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The product of all elements; 1 if there are none. The derivative in an element is the product of all other
    /// elements, also where elements are zero.
    ///
    /// ```
    /// use polygrad::{direct, tensor};
    /// let x = tensor([2.0, 0.0, 4.0]);
    /// assert_eq!(x.prod(), tensor(0.0));
    /// assert_eq!(direct::grad(|x| x.prod(), &x), tensor([0.0, 8.0, 0.0]));
    /// ```
    #[track_caller]
    pub fn prod(&self) -> Tensor<T, 0, E> {
        self.flatten().prod_axis(0)
    }

    /// The product of each line along `axis`, which disappears; 1 if its size is 0. The derivative in an element is the
    /// product of all other elements of its line, also where elements are zero.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([[1.0, 2.0], [3.0, 4.0]]).prod_axis(1), tensor([2.0, 12.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
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
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).cumsum(0), tensor([1.0, 3.0, 6.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cumsum(&self, axis: usize) -> Self {
        prefix_sums("cumsum", self, axis, false)
    }

    /// The sum of each element and all elements after it along `axis`: `y[i] = x[i] + .. + x[n - 1]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).cumsum_reverse(0), tensor([6.0, 5.0, 3.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cumsum_reverse(&self, axis: usize) -> Self {
        prefix_sums("cumsum_reverse", self, axis, true)
    }

    /// The product of each element and all elements before it along `axis`: `y[i] = x[0] * .. * x[i]`. The derivative
    /// is right also where elements are zero.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).cumprod(0), tensor([1.0, 2.0, 6.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cumprod(&self, axis: usize) -> Self {
        products("cumprod", self, axis, false)
    }

    /// The product of each element and all elements after it along `axis`: `y[i] = x[i] * .. * x[n - 1]`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 2.0, 3.0]).cumprod_reverse(0), tensor([6.0, 6.0, 3.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cumprod_reverse(&self, axis: usize) -> Self {
        products("cumprod_reverse", self, axis, true)
    }

    /// The largest of each element and all elements before it along `axis`; NaN from the first NaN on. The derivative
    /// goes to the first largest element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([2.0, 1.0, 3.0]).cummax(0), tensor([2.0, 2.0, 3.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cummax(&self, axis: usize) -> Self {
        running("cummax", self, axis, false, Combine::Max)
    }

    /// The largest of each element and all elements after it along `axis`; NaN up to the last NaN. The derivative goes
    /// to the last largest element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1.0, 3.0, 2.0]).cummax_reverse(0), tensor([3.0, 3.0, 2.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cummax_reverse(&self, axis: usize) -> Self {
        running("cummax_reverse", self, axis, true, Combine::Max)
    }

    /// The smallest of each element and all elements before it along `axis`; NaN from the first NaN on. The derivative
    /// goes to the first smallest element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([2.0, 1.0, 3.0]).cummin(0), tensor([2.0, 1.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cummin(&self, axis: usize) -> Self {
        running("cummin", self, axis, false, Combine::Min)
    }

    /// The smallest of each element and all elements after it along `axis`; NaN up to the last NaN. The derivative goes
    /// to the last smallest element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([2.0, 1.0, 3.0]).cummin_reverse(0), tensor([1.0, 1.0, 3.0]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cummin_reverse(&self, axis: usize) -> Self {
        running("cummin_reverse", self, axis, true, Combine::Min)
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
    /// When there is no such axis, or the shapes differ.
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
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([1000.0, 1000.0]).cumlogsumexp(0), tensor([1000.0, 1000.0 + 2f64.ln()]));
    /// ```
    ///
    /// # Panics
    /// When there is no such axis.
    #[track_caller]
    pub fn cumlogsumexp(&self, axis: usize) -> Self {
        running("cumlogsumexp", self, axis, false, Combine::LogSumExp)
    }
}
