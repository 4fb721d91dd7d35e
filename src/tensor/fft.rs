//! Discrete Fourier transforms along an axis, and convolution by Fourier transforms.
//!
//! A complex tensor is two tensors of one shape, its real and its imaginary part. Laws: every transform is the
//! operation [`Linear::fourier`] of the language, whose adjoint is the transform with the opposite sign in the
//! exponent, so derivatives of any order are transforms; the other axes are a batch. As in NumPy and JAX the inverse is
//! divided by `n`, the transform is not.

use super::Tensor;
use super::arithmetic::mul_op;
use super::structure::check_axis;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::Linear;
use crate::shape::{Shape, Show, check_possible};

/// A complex tensor: real and imaginary part.
pub type Complex<T, const D: usize, E = f64> = (Tensor<T, D, E>, Tensor<T, D, E>);

/// Panics unless both parts have one shape, and that has this axis.
#[track_caller]
fn check_parts(op: &str, re: &[usize], im: &[usize], axis: usize) {
    check_axis(op, axis, re);
    if re != im {
        panic!(
            "{op}: real and imaginary part must have one shape, but they are {} and {}; broadcast one, or use zeros",
            Show(re),
            Show(im)
        );
    }
}

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

/// The discrete Fourier transform along `axis` of the complex numbers `re + i im`:
/// `Y[k] = sum_j X[j] e^(-2 pi i j k / n)`.
///
/// Any size is transformed in time proportional to `n ln n`. The transform is linear; its adjoint is `n` times
/// [`ifft`].
///
/// ```
/// use polygrad::tensor;
/// use polygrad::tensor::fft::fft;
/// let (re, im) = fft(&tensor([1.0, 2.0, 3.0, 4.0]), &tensor([0.0; 4]), 0);
/// assert_eq!(re, tensor([10.0, -2.0, -2.0, -2.0]));
/// assert_eq!(im, tensor([0.0, 2.0, 0.0, -2.0]));
/// ```
///
/// # Panics
/// When there is no such axis, or the parts differ in shape.
#[track_caller]
pub fn fft<T: BaseTensor, const D: usize, E: Float>(
    re: &Tensor<T, D, E>,
    im: &Tensor<T, D, E>,
    axis: usize,
) -> Complex<T, D, E> {
    check_parts("fft", re.raw().shape(), im.raw().shape(), axis);
    both("fft", re.raw().shape());
    let y = transformed(&T::concat(0, &[as_row(re.raw()), as_row(im.raw())]), axis, false);
    (part(&y, 0), part(&y, 1))
}

/// The inverse of [`fft`]: `X[j] = 1 / n sum_k Y[k] e^(2 pi i j k / n)`.
///
/// ```
/// use polygrad::tensor;
/// use polygrad::tensor::fft::ifft;
/// let (re, im) = ifft(&tensor([10.0, -2.0, -2.0, -2.0]), &tensor([0.0, 2.0, 0.0, -2.0]), 0);
/// assert_eq!(re, tensor([1.0, 2.0, 3.0, 4.0]));
/// assert_eq!(im, tensor([0.0; 4]));
/// ```
///
/// # Panics
/// When there is no such axis, or the parts differ in shape.
#[track_caller]
pub fn ifft<T: BaseTensor, const D: usize, E: Float>(
    re: &Tensor<T, D, E>,
    im: &Tensor<T, D, E>,
    axis: usize,
) -> Complex<T, D, E> {
    check_parts("ifft", re.raw().shape(), im.raw().shape(), axis);
    both("ifft", re.raw().shape());
    let y = transformed(&T::concat(0, &[as_row(re.raw()), as_row(im.raw())]), axis, true);
    let scale = 1.0 / re.raw().shape()[axis] as f64;
    (part::<T, D, E>(&y, 0).scale(scale), part::<T, D, E>(&y, 1).scale(scale))
}

/// The [`fft`] of real numbers: its first `n / 2 + 1` elements along `axis`. Element `n - k` is the conjugate of
/// element `k`.
///
/// ```
/// use polygrad::tensor;
/// use polygrad::tensor::fft::rfft;
/// let (re, im) = rfft(&tensor([1.0, 2.0, 3.0, 4.0]), 0);
/// assert_eq!(re, tensor([10.0, -2.0, -2.0]));
/// assert_eq!(im, tensor([0.0, 2.0, 0.0]));
/// ```
///
/// # Panics
/// When there is no such axis, or its size is 0.
#[track_caller]
pub fn rfft<T: BaseTensor, const D: usize, E: Float>(x: &Tensor<T, D, E>, axis: usize) -> Complex<T, D, E> {
    let shape = x.raw().shape();
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
    let row = as_row(x.raw());
    let y = transformed(&row.linear(&Linear::pad(row.shape(), &before, &after)), axis, false);
    let half = y.linear(&Linear::slice(y.shape(), axis + 1, 0, shape[axis] / 2 + 1, 1));
    (part(&half, 0), part(&half, 1))
}

/// The inverse of [`rfft`], with a result of size `n` along `axis`. The imaginary part of the first element, and for
/// even `n` of the last, counts as 0, since it is 0 in the transform of real numbers.
///
/// ```
/// use polygrad::tensor;
/// use polygrad::tensor::fft::irfft;
/// let x = irfft(&tensor([10.0, -2.0, -2.0]), &tensor([0.0, 2.0, 0.0]), 4, 0);
/// assert_eq!(x, tensor([1.0, 2.0, 3.0, 4.0]));
/// ```
///
/// # Panics
/// When there is no such axis, the parts differ in shape, `n` is 0, or the axis has not size `n / 2 + 1`.
#[track_caller]
pub fn irfft<T: BaseTensor, const D: usize, E: Float>(
    re: &Tensor<T, D, E>,
    im: &Tensor<T, D, E>,
    n: usize,
    axis: usize,
) -> Tensor<T, D, E> {
    let shape = re.raw().shape();
    check_parts("irfft", shape, im.raw().shape(), axis);
    if n == 0 || shape[axis] != n / 2 + 1 {
        panic!(
            "irfft: axis {axis} must have size n / 2 + 1 with n of at least 1, but n is {n} and the shape is {}; slice it, or give \
             another n",
            Show(shape)
        );
    }
    let half = T::concat(0, &[as_row(re.raw()), as_row(im.raw())]);
    let mut whole = both("irfft", shape);
    whole[axis + 1] = n;
    check_possible("irfft", &whole);
    // An element and its conjugate contribute twice the real part; the first element, and for even `n` the middle one,
    // is its own conjugate.
    let weight = |k: usize| if k == 0 || 2 * k == n { 1.0 } else { 2.0 } / n as f64;
    let weights = Array::from((0..shape[axis]).map(|k| E::of_f64(weight(k))).collect::<Vec<E>>());
    let weights = T::constant(weights).linear(&Linear::replicate(half.shape(), &[axis + 1]));
    let half = mul_op::<_, E>(&weights, &half);
    let none: Shape = whole.iter().map(|_| 0).collect();
    let mut after = none.clone();
    after[axis + 1] = n - shape[axis];
    part(&transformed(&half.linear(&Linear::pad(half.shape(), &none, &after)), axis, true), 0)
}

/// The full convolution along `axis`: `y[k] = sum_j x[j] w[k - j]`, of size `n + m - 1`, by Fourier transforms in time
/// proportional to `(n + m) ln (n + m)`; the other axes are broadcast.
///
/// The rounding errors are relative to the largest elements. For a short `w` [`conv1d`](Tensor::conv1d) is faster.
///
/// ```
/// use polygrad::tensor;
/// use polygrad::tensor::fft::fft_convolve;
/// let y = fft_convolve(&tensor([1.0, 2.0, 3.0]), &tensor([1.0, 10.0]), 0);
/// assert!((y - tensor([1.0, 12.0, 23.0, 30.0])).abs().max_all().item() < 1e-13);
/// ```
///
/// # Panics
/// When there is no such axis, `x` or `w` has size 0 along it, or sizes along another axis differ and none of them is
/// 1.
#[track_caller]
pub fn fft_convolve<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    w: &Tensor<T, D, E>,
    axis: usize,
) -> Tensor<T, D, E> {
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
    let [(a, b), (c, d)] = [x, w].map(|t| {
        let mut widths = [(0, 0); D];
        widths[axis] = (0, size - t.raw().shape()[axis]);
        rfft(&t.pad(widths), axis)
    });
    let (re, im) = (&a * &c - &b * &d, a * d + b * c);
    irfft(&re, &im, size, axis).slice(axis, ..full)
}
