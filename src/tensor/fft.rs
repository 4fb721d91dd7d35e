//! Discrete Fourier transforms along an axis, and convolution by Fourier transforms.
//!
//! Laws: every transform is the operation [`Linear::fourier`] of the language, whose adjoint is the transform with the opposite sign in the
//! exponent, so derivatives of any order are transforms; the other axes are a batch. As in NumPy and JAX the inverse is
//! divided by `n`, the transform is not.

use super::arithmetic::mul_op;
use super::structure::check_axis;
use super::{Complex, Tensor};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Linear;
use crate::shape::{Shape, Show, check_possible};

/// The shape of both parts of a complex tensor, stacked along a new outermost axis.
#[track_caller]
fn both(op: &str, shape: &[usize]) -> Shape {
    let both: Shape = std::iter::once(2).chain(shape.iter().copied()).collect();
    check_possible(op, &both);
    both
}

/// A tensor with a new outermost axis of size 1.
#[track_caller]
fn as_row<T: BaseTensor>(x: &T) -> T {
    let shape: Shape = std::iter::once(1).chain(x.shape().iter().copied()).collect();
    let axes: Shape = (1..shape.len()).collect();
    x.linear(&Linear::replicate(&shape, &axes))
}

/// The unscaled transform along `axis` of a complex tensor whose parts are stacked along a new outermost axis.
#[track_caller]
fn transformed<T: BaseTensor>(x: &T, axis: usize, conjugate: bool) -> T {
    let op = Linear::fourier(x.shape(), 0, axis + 1);
    x.linear(&if conjugate { op.adjoint() } else { op })
}

/// Part `k` of a complex tensor whose parts are stacked.
#[track_caller]
fn part<T: BaseTensor, const D: usize, E: Float>(x: &T, k: usize) -> Tensor<T, D, E> {
    Tensor::from_raw(x.linear(&Linear::row(x.shape(), 0, k)))
}

/// Panics unless the axes exist, and each is named once.
#[track_caller]
fn check_axes(op: &str, axes: &[usize], shape: &[usize]) {
    for (k, axis) in axes.iter().enumerate() {
        check_axis(op, *axis, shape);
        if axes[..k].contains(axis) {
            panic!("{op}: axes must differ, but {axis} is named twice and the shape is {}; name it once", Show(shape));
        }
    }
}

/// Fourier transforms.
impl<T: BaseTensor, const D: usize, E: Float> Complex<T, D, E> {
    /// Both parts, stacked along a new outermost axis.
    #[track_caller]
    fn stacked_parts(&self) -> T {
        let [re, im] = self.raws();
        T::concat(0, &[as_row(re), as_row(im)])
    }

    /// The parts of stacked parts.
    #[track_caller]
    fn of_stacked(both: &T) -> Self {
        Complex::new(part(both, 0), part(both, 1))
    }

    /// The discrete Fourier transform along `axis`: `Y[k] = sum_j X[j] e^(-2 pi i j k / n)`.
    ///
    /// Any size is transformed in time proportional to `n ln n`. The transform is linear; its adjoint is `n` times
    /// [`ifft`](Complex::ifft). A real tensor is transformed by [`rfft`](Tensor::rfft), or as
    /// [`to_complex`](Tensor::to_complex) if the whole spectrum is needed.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let x = tensor([1.0, 2.0, 3.0, 4.0]).to_complex();
    /// let y = Complex::new(tensor([10.0, -2.0, -2.0, -2.0]), tensor([0.0, 2.0, 0.0, -2.0]));
    /// assert_eq!((x.fft(0), y.ifft(0)), (y, x));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn fft(&self, axis: usize) -> Self {
        let shape = self.re().raw().shape();
        check_axis("fft", axis, shape);
        both("fft", shape);
        Self::of_stacked(&transformed(&self.stacked_parts(), axis, false))
    }

    /// The inverse of [`fft`](Complex::fft): `X[j] = 1 / n sum_k Y[k] e^(2 pi i j k / n)`.
    ///
    /// Example: [`Complex::fft`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn ifft(&self, axis: usize) -> Self {
        let shape = self.re().raw().shape();
        check_axis("ifft", axis, shape);
        both("ifft", shape);
        Self::of_stacked(&transformed(&self.stacked_parts(), axis, true)).scale(1.0 / shape[axis] as f64)
    }

    /// The transform along several axes, one after the other.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let x = Complex::new(tensor([[1.0, 2.0], [3.0, 4.0]]), tensor([[0.0, 1.0], [0.0, 0.0]]));
    /// assert_eq!(x.fft_axes([0, 1]), x.fft(0).fft(1));
    /// assert_eq!(x.fft_axes([0, 1]).ifft_axes([0, 1]), x);
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or one is named twice.
    #[track_caller]
    pub fn fft_axes<const K: usize>(&self, axes: [usize; K]) -> Self {
        check_axes("fft_axes", &axes, self.re().raw().shape());
        let mut x = self.clone();
        for axis in axes {
            x = x.fft(axis);
        }
        x
    }

    /// The inverse of [`fft_axes`](Complex::fft_axes).
    ///
    /// Example: [`Complex::fft_axes`].
    ///
    /// # Panics
    /// When the axis does not exist, or one is named twice.
    #[track_caller]
    pub fn ifft_axes<const K: usize>(&self, axes: [usize; K]) -> Self {
        check_axes("ifft_axes", &axes, self.re().raw().shape());
        let mut x = self.clone();
        for axis in axes {
            x = x.ifft(axis);
        }
        x
    }

    /// The inverse of [`rfft`](Tensor::rfft), with a result of size `n` along `axis`. The imaginary part of the first
    /// element, and for even `n` of the last, counts as 0, since it is 0 in the transform of real numbers.
    ///
    /// Example: [`Tensor::rfft`].
    ///
    /// # Panics
    /// When the axis does not exist, `n` is 0, or the size of the axis is not `n / 2 + 1`.
    #[track_caller]
    pub fn irfft(&self, n: usize, axis: usize) -> Tensor<T, D, E> {
        let shape = self.re().raw().shape();
        check_axis("irfft", axis, shape);
        if n == 0 || shape[axis] != n / 2 + 1 {
            panic!(
                "irfft: axis {axis} must have size n / 2 + 1 with n of at least 1, but n is {n} and the shape is {}; slice it, or give \
                 another n",
                Show(shape)
            );
        }
        let half = self.stacked_parts();
        let mut whole = both("irfft", shape);
        whole[axis + 1] = n;
        check_possible("irfft", &whole);
        // An element and its conjugate contribute twice the real part; the first element, and for even `n` the middle
        // one, is its own conjugate.
        let weight = |k: usize| if k == 0 || 2 * k == n { 1.0 } else { 2.0 } / n as f64;
        let weights = Array::from((0..shape[axis]).map(|k| E::of_f64(weight(k))).collect::<Vec<E>>());
        let weights = T::constant(weights).linear(&Linear::replicate(half.shape(), &[axis + 1]));
        let half = mul_op::<_, E>(&weights, &half);
        let none: Shape = whole.iter().map(|_| 0).collect();
        let mut after = none.clone();
        after[axis + 1] = n - shape[axis];
        part(&transformed(&half.linear(&Linear::pad(half.shape(), &none, &after)), axis, true), 0)
    }

    /// A spectrum with frequency 0 in the middle of `axis`, at position `n / 2`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// // Frequencies 0, 1, 2, -2, -1 in the order of a transform of size 5.
    /// let y = tensor([0.0, 1.0, 2.0, -2.0, -1.0]).to_complex();
    /// assert_eq!(y.fftshift(0), tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).to_complex());
    /// assert_eq!(y.fftshift(0).ifftshift(0), y);
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn fftshift(&self, axis: usize) -> Self {
        check_axis("fftshift", axis, self.re().raw().shape());
        self.roll(axis, (self.shape()[axis] / 2) as i64)
    }

    /// The inverse of [`fftshift`](Complex::fftshift).
    ///
    /// Example: [`Complex::fftshift`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn ifftshift(&self, axis: usize) -> Self {
        check_axis("ifftshift", axis, self.re().raw().shape());
        self.roll(axis, -((self.shape()[axis] / 2) as i64))
    }
}

/// Fourier transforms of real numbers.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The transform [`fft`](Complex::fft) of real numbers: its first `n / 2 + 1` elements along `axis`. Element `n - k`
    /// is the conjugate of element `k`.
    ///
    /// ```
    /// use polygrad::{Complex, tensor};
    /// let (x, y) = (tensor([1.0, 2.0, 3.0, 4.0]), Complex::new(tensor([10.0, -2.0, -2.0]), tensor([0.0, 2.0, 0.0])));
    /// assert_eq!((x.rfft(0), y.irfft(4, 0)), (y, x));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, or its size is 0.
    #[track_caller]
    pub fn rfft(&self, axis: usize) -> Complex<T, D, E> {
        let shape = self.raw().shape();
        check_axis("rfft", axis, shape);
        if shape[axis] == 0 {
            panic!(
                "rfft: needs at least one element along axis {axis}, but the shape is {}; pad it, or skip it",
                Show(shape)
            );
        }
        both("rfft", shape);
        // The imaginary part is zero padding.
        let mut after: Shape = shape.iter().map(|_| 0).collect();
        let before: Shape = std::iter::once(0).chain(after.iter().copied()).collect();
        after.insert(0, 1);
        let row = as_row(self.raw());
        let y = transformed(&row.linear(&Linear::pad(row.shape(), &before, &after)), axis, false);
        Complex::of_stacked(&y.linear(&Linear::slice(y.shape(), axis + 1, 0, shape[axis] / 2 + 1, 1)))
    }

    /// The full convolution of `x`, which is `self`, along `axis`: `y[k] = sum_j x[j] w[k - j]`, of size `n + m - 1`, by Fourier transforms in time
    /// proportional to `(n + m) ln (n + m)`; the other axes are broadcast.
    ///
    /// The rounding errors are relative to the largest elements. For a short `w` [`conv1d`](Tensor::conv1d) is faster.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let y = tensor([1.0, 2.0, 3.0]).fft_convolve(&tensor([1.0, 10.0]), 0);
    /// assert!((y - tensor([1.0, 12.0, 23.0, 30.0])).abs().max_all().item() < 1e-13);
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist, `self` or `w` has size 0 along it, or sizes along another axis differ and neither size is 1.
    #[track_caller]
    pub fn fft_convolve(&self, w: &Self, axis: usize) -> Self {
        let x = self;
        check_axis("fft_convolve", axis, x.raw().shape());
        let [n, m] = [x, w].map(|t| t.raw().shape()[axis]);
        if n == 0 || m == 0 {
            panic!(
                "fft_convolve: needs at least one element along axis {axis} of both, but the shapes are {} and {}; skip it",
                Show(x.raw().shape()),
                Show(w.raw().shape())
            );
        }
        // Powers of two are fastest; elements that a circular convolution wraps around meet the zeros of the padding.
        let (full, size) = (n + m - 1, (n + m - 1).next_power_of_two());
        let [x, w] = [x, w].map(|t| {
            let mut widths = [(0, 0); D];
            widths[axis] = (0, size - t.raw().shape()[axis]);
            t.pad(widths).rfft(axis)
        });
        (x * w).irfft(size, axis).slice(axis, ..full)
    }
}
