//! Convolution and pooling.
//!
//! Law: a convolution is one contraction, whose views hold stride and dilation; both its derivatives are contractions
//! with the same views. The input is padded by a separate operation, so that no access of the contraction is out of
//! bounds and its loops become matrix products. The maxima of small windows are an elementwise maximum of strided
//! slices, one for each position in a window, in row-major order; so the first of equal elements is chosen, as in a
//! reduction of the windows.
//!
//! As is usual for neural networks, the kernel is not reversed: strictly speaking, these are cross-correlations.

use smallvec::SmallVec;

use super::Tensor;
use super::arithmetic::max_op;
use crate::base::BaseTensor;
use crate::dtype::{Float, Num};
use crate::ops::{Contract, Linear, Reduce, View};
use crate::shape::{MAX_SIZE, Shape, Show, check_possible, is_possible};

/// How a kernel moves over `S` axes: stride, zero padding and dilation.
///
/// Example: [`Tensor::conv1d`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conv<const S: usize> {
    /// The distance between neighboring positions of the kernel, along each axis; at least 1.
    pub stride: [usize; S],
    /// The number of zeros before and after the input along each axis.
    pub padding: [(usize, usize); S],
    /// The distance in the input between neighbors in the kernel, along each axis; at least 1.
    pub dilation: [usize; S],
}

/// Stride 1, no padding, dilation 1.
impl<const S: usize> Default for Conv<S> {
    fn default() -> Self {
        Conv { stride: [1; S], padding: [(0, 0); S], dilation: [1; S] }
    }
}

impl<const S: usize> Conv<S> {
    /// The same settings with this stride.
    ///
    /// Example: [`Tensor::conv1d`].
    pub fn stride(self, stride: [usize; S]) -> Self {
        Conv { stride, ..self }
    }

    /// The same settings with these numbers of zeros on both sides of each axis.
    ///
    /// Example: [`Tensor::conv1d`].
    pub fn padding(self, padding: [usize; S]) -> Self {
        Conv { padding: padding.map(|p| (p, p)), ..self }
    }

    /// The same settings with as many zeros as give the result the sizes of the input, for a kernel of these sizes and
    /// stride 1: along each axis `d (k - 1)` for a kernel of `k` places and the dilation `d`; the smaller half comes
    /// before the input, as with `padding="SAME"` in JAX. Set the dilation first.
    ///
    /// ```
    /// use polygrad::{Conv, tensor};
    /// let (x, kernel) = (tensor([[[1.0, 2.0, 4.0]]]), tensor([[[1.0, 1.0]]]));
    /// assert_eq!(x.conv1d(&kernel, Conv::default().same([2])), tensor([[[3.0, 6.0, 4.0]]]));
    /// assert_eq!(Conv::default().same([3, 5]), Conv::default().padding([1, 2]));
    /// assert_eq!(Conv::default().dilation([2]).same([3]).padding, [(2, 2)]);
    /// ```
    pub fn same(self, kernel: [usize; S]) -> Self {
        let zeros = std::array::from_fn(|axis| {
            let all = self.dilation[axis] * kernel[axis].saturating_sub(1);
            (all / 2, all - all / 2)
        });
        Conv { padding: zeros, ..self }
    }

    /// The same settings with this dilation.
    ///
    /// Example: [`Tensor::conv1d`].
    pub fn dilation(self, dilation: [usize; S]) -> Self {
        Conv { dilation, ..self }
    }

    /// The sizes of the result along the axes over which the kernel moves.
    #[track_caller]
    fn sizes(&self, op: &str, input: &[usize], kernel: &[usize]) -> [usize; S] {
        if self.stride.contains(&0) || self.dilation.contains(&0) {
            panic!(
                "{op}: stride and dilation must be at least 1, but they are {} and {}; 1 leaves nothing out",
                Show(&self.stride),
                Show(&self.dilation)
            );
        }
        let padded = self.padded(op, input);
        let mut sizes = [0; S];
        for k in 0..S {
            let (n, size) = (padded[2 + k], kernel[2 + k]);
            if size == 0 {
                panic!(
                    "{op}: the kernel must have an element along each axis, but along axis {} it has none, with shapes {} \
                     and {}; give it one",
                    2 + k,
                    Show(input),
                    Show(kernel)
                );
            }
            let reach = (size - 1).saturating_mul(self.dilation[k]).saturating_add(1);
            if reach > n {
                panic!(
                    "{op}: the kernel must fit into the padded input, but along axis {} the kernel has {size} elements, {} apart, \
                     and the padded input has {n}, with shapes {} and {}; pad more",
                    2 + k,
                    self.dilation[k],
                    Show(input),
                    Show(kernel)
                );
            }
            sizes[k] = (n - reach) / self.stride[k] + 1;
        }
        sizes
    }

    /// The shape of the input with its padding.
    #[track_caller]
    fn padded(&self, op: &str, input: &[usize]) -> Shape {
        let mut padded = Shape::from_slice(input);
        for (n, (before, after)) in padded[2..].iter_mut().zip(self.padding) {
            *n = n.saturating_add(before).saturating_add(after);
        }
        if !is_possible(&padded) {
            let (before, after) = (self.padding.map(|p| p.0), self.padding.map(|p| p.1));
            panic!(
                "{op}: the sizes of the padded input, zeros left out, must have a product of at most {MAX_SIZE}, but {} is to \
                 be padded by {} before and {} after; pad less",
                Show(input),
                Show(&before),
                Show(&after)
            );
        }
        padded
    }

    /// The convolution of an input `[n, c, ..]` by a kernel `[o, c, ..]` into `[n, o, ..]`.
    #[track_caller]
    fn apply<T: BaseTensor>(&self, op: &str, input: &T, kernel: &T) -> T {
        let contraction = self.contraction(op, input.shape(), kernel.shape());
        if input.shape() == contraction.a.source() {
            return T::contract(&contraction, input, kernel);
        }
        let widths = |side: fn(&(usize, usize)) -> usize| -> Shape {
            [0, 0].into_iter().chain(self.padding.iter().map(side)).collect()
        };
        let padded = input.linear(&Linear::pad(input.shape(), &widths(|p| p.0), &widths(|p| p.1)));
        T::contract(&contraction, &padded, kernel)
    }

    /// The contraction of a padded input and a kernel; `input` is the shape before padding.
    #[track_caller]
    fn contraction(&self, op: &str, input: &[usize], kernel: &[usize]) -> Contract {
        if input[1] != kernel[1] {
            panic!(
                "{op}: input and kernel must have equally many channels along axis 1, but the shapes are {} and {}; the \
                 kernel has shape [out, in, ..]",
                Show(input),
                Show(kernel)
            );
        }
        let moved = self.sizes(op, input, kernel);
        // The iteration space: n, o, the axes of the kernel, c, the axes of the result. The long runs are innermost.
        let (at_kernel, channel, at_moved) = (2, 2 + S, 3 + S);
        let rank = at_moved + S;
        let mut space = Shape::from_slice(&[input[0], kernel[0]]);
        space.extend_from_slice(&kernel[2..]);
        space.push(input[1]);
        space.extend_from_slice(&moved);

        let mut result = Shape::from_slice(&[input[0], kernel[0]]);
        result.extend_from_slice(&moved);
        check_possible(op, &result);

        let padded = self.padded(op, input);
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, (2 + S) * rank);
        matrix[0] = 1;
        matrix[rank + channel] = 1;
        for k in 0..S {
            let row = 2 + k;
            // A step longer than the padded input is never taken, so it is clamped, which also makes it fit `i64`.
            matrix[row * rank + at_moved + k] = self.stride[k].min(padded[row]) as i64;
            matrix[row * rank + at_kernel + k] = self.dilation[k].min(padded[row]) as i64;
        }
        let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, 2 + S);
        let axes = |outer: [usize; 2], from: usize| -> SmallVec<[usize; 6]> {
            outer.into_iter().chain(from..from + S).collect()
        };
        let a = View::affine(&padded, &space, &matrix, &offset);
        let b = View::axes(&space, &axes([1, channel], at_kernel));
        Contract::new(a, b, View::axes(&space, &axes([0, 1], at_moved)))
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 3, E> {
    /// The convolution of signals with kernels: an input `[n, c, w]` of `n` signals with `c` channels and a
    /// kernel `[o, c, k]` give `[n, o, v]`, where with stride `s`, dilation `d` and `p` zeros before the input
    ///
    /// `y[n, o, v] = sum_(c, k) x[n, c, s v + d k - p] * kernel[o, c, k]`.
    ///
    /// ```
    /// use polygrad::{Conv, tensor};
    /// let (x, kernel) = (tensor([[[1.0, 2.0, 4.0]]]), tensor([[[-1.0, 1.0]]]));
    /// assert_eq!(x.conv1d(&kernel, Conv::default()), tensor([[[1.0, 2.0]]]));
    /// assert_eq!(x.conv1d(&kernel, Conv::default().stride([2])), tensor([[[1.0]]]));
    /// assert_eq!(x.conv1d(&kernel, Conv::default().padding([1])), tensor([[[1.0, 1.0, 2.0, -4.0]]]));
    /// assert_eq!(x.conv1d(&kernel, Conv::default().dilation([2])), tensor([[[3.0]]]));
    /// ```
    ///
    /// # Panics
    /// When the channels differ, the kernel is empty or longer than the padded input, or stride or dilation
    /// is 0.
    #[track_caller]
    pub fn conv1d(&self, kernel: &Tensor<T, 3, E>, how: Conv<1>) -> Self {
        Tensor::from_raw(how.apply("conv1d", self.raw(), kernel.raw()))
    }

    /// The largest element of each window of `size` elements along the last axis; a window starts every `stride`
    /// elements. The derivative goes to the first largest element.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([[[1.0, 3.0, 2.0, 0.0]]]);
    /// assert_eq!((x.max_pool1d(2, 2), x.avg_pool1d(2, 2)), (tensor([[[3.0, 2.0]]]), tensor([[[2.0, 1.0]]])));
    /// let x = tensor([[[[1.0, 2.0, 5.0, 0.0], [3.0, 4.0, 1.0, 6.0]]]]);
    /// assert_eq!(x.max_pool2d([2, 2], [2, 2]), tensor([[[[4.0, 6.0]]]]));
    /// assert_eq!(x.avg_pool2d([2, 2], [2, 2]), tensor([[[[2.5, 3.0]]]]));
    /// ```
    ///
    /// # Panics
    /// When `size` or `stride` is 0 or the window is longer than the axis.
    #[track_caller]
    pub fn max_pool1d(&self, size: usize, stride: usize) -> Self {
        check_window("max_pool1d", self.raw().shape(), [size], [stride]);
        window_max(self, 2, size, stride)
    }
}

impl<T: BaseTensor, E: Num> Tensor<T, 4, E> {
    /// The convolution of images with kernels: an input `[n, c, h, w]` of `n` images with `c` channels and a
    /// kernel `[o, c, k, l]` give `[n, o, u, v]`, where with strides `s, t`, dilations `d, e` and `p, q` zeros
    /// before the input
    ///
    /// `y[n, o, u, v] = sum_(c, k, l) x[n, c, s u + d k - p, t v + e l - q] * kernel[o, c, k, l]`.
    ///
    /// ```
    /// use polygrad::{Conv, tensor};
    /// let x = tensor([[[[1.0, 2.0], [3.0, 4.0]]]]);
    /// let kernel = tensor([[[[1.0, 0.0], [0.0, 1.0]]]]);
    /// assert_eq!(x.conv2d(&kernel, Conv::default()), tensor([[[[5.0]]]]));
    /// ```
    ///
    /// # Panics
    /// When the channels differ, the kernel is empty or larger than the padded input, or a stride or
    /// dilation is 0.
    #[track_caller]
    pub fn conv2d(&self, kernel: &Tensor<T, 4, E>, how: Conv<2>) -> Self {
        Tensor::from_raw(how.apply("conv2d", self.raw(), kernel.raw()))
    }

    /// The largest element of each window of `size` elements over the last two axes; a window starts every `stride`
    /// elements. The derivative goes to the first largest element in row-major order.
    ///
    /// Example: [`Tensor::max_pool1d`].
    ///
    /// # Panics
    /// When a size or stride is 0 or the window is larger than the image.
    #[track_caller]
    pub fn max_pool2d(&self, size: [usize; 2], stride: [usize; 2]) -> Self {
        let shape = self.raw().shape();
        check_window("max_pool2d", shape, size, stride);
        let [height, width] = [0, 1].map(|k| (shape[2 + k] - size[k]) / stride[k] + 1);
        // Cost model: the elements of all slices and maxima, for whole windows, or for rows and then columns of
        // windows. In floats, as products of sizes may overflow.
        let small = size[0].saturating_mul(size[1]) <= SLICES;
        let elements = |window: usize, rows: usize| (2.0 * window as f64 - 1.0) * rows as f64 * width as f64;
        let by_axis = elements(size[1], shape[2]) + elements(size[0], height);
        if small && elements(size[0] * size[1], height) <= by_axis {
            let places = (0..size[0]).flat_map(|i| (0..size[1]).map(move |j| [0, 0, i as i64, j as i64]));
            let steps = [1, 1, stride[0] as i64, stride[1] as i64];
            let matrix: [i64; 16] = std::array::from_fn(|k| if k % 5 == 0 { steps[k / 5] } else { 0 });
            let out = [shape[0], shape[1], height, width];
            let view = |at: [i64; 4]| Linear::read(View::affine(shape, &out, &matrix, &at));
            return largest(self, &view([0; 4]), places.skip(1).map(view));
        }
        // Along rows first, so that the first largest element in row-major order is chosen.
        window_max(&window_max(self, 3, size[1], stride[1]), 2, size[0], stride[0])
    }
}

impl<T: BaseTensor, E: Float> Tensor<T, 3, E> {
    /// The mean of each window of `size` elements along the last axis; a window starts every `stride` elements.
    ///
    /// Example: [`Tensor::max_pool1d`].
    ///
    /// # Panics
    /// When `size` or `stride` is 0 or the window is longer than the axis.
    #[track_caller]
    pub fn avg_pool1d(&self, size: usize, stride: usize) -> Self {
        check_window("avg_pool1d", self.raw().shape(), [size], [stride]);
        window_sums(self, 2, size, stride).scale(1.0 / size as f64)
    }
}

impl<T: BaseTensor, E: Float> Tensor<T, 4, E> {
    /// The mean of each window of `size` elements over the last two axes; a window starts every `stride` elements.
    ///
    /// Example: [`Tensor::max_pool1d`].
    ///
    /// # Panics
    /// When a size or stride is 0 or the window is larger than the image.
    #[track_caller]
    pub fn avg_pool2d(&self, size: [usize; 2], stride: [usize; 2]) -> Self {
        check_window("avg_pool2d", self.raw().shape(), size, stride);
        let rows = window_sums(self, 3, size[1], stride[1]);
        window_sums(&rows, 2, size[0], stride[0]).scale(1.0 / (size[0] as f64 * size[1] as f64))
    }
}

/// The largest size of windows whose maxima are an elementwise maximum of slices; larger windows are reduced along an
/// axis.
const SLICES: usize = 16;

/// The largest elements of the windows along an axis.
fn window_max<T: BaseTensor, const D: usize, E: Num>(
    x: &Tensor<T, D, E>,
    axis: usize,
    size: usize,
    stride: usize,
) -> Tensor<T, D, E> {
    let shape = x.raw().shape();
    if size <= SLICES {
        let n = (shape[axis] - size) / stride + 1;
        let slice = |at| Linear::slice(shape, axis, at, n, stride);
        return largest(x, &slice(0), (1..size).map(slice));
    }
    let windows = x.raw().linear(&Linear::window(shape, axis, size, stride));
    Tensor::from_raw(windows.reduce(Reduce::Max { axis: axis + 1 }))
}

/// The elementwise maximum of several views of `x`; of equal elements, that of the first view is chosen.
fn largest<T: BaseTensor, const D: usize, E: Num>(
    x: &Tensor<T, D, E>,
    first: &Linear,
    views: impl Iterator<Item = Linear>,
) -> Tensor<T, D, E> {
    let views = views.map(|view| x.raw().linear(&view));
    Tensor::from_raw(views.fold(x.raw().linear(first), |best, slice| max_op::<_, E>(&best, &slice)))
}

/// The sums of the windows along an axis; windows and sum are one operation if they compose.
#[track_caller]
fn window_sums<T: BaseTensor, const D: usize, E: Num>(
    x: &Tensor<T, D, E>,
    axis: usize,
    size: usize,
    stride: usize,
) -> Tensor<T, D, E> {
    let windows = Linear::window(x.raw().shape(), axis, size, stride);
    let sums = Linear::sum(windows.output_shape(), &[axis + 1]);
    match sums.after(&windows) {
        Some(both) => x.view(&both),
        None => Tensor::from_raw(x.raw().linear(&windows).linear(&sums)),
    }
}

/// Panics unless windows over the last `S` axes fit.
#[track_caller]
fn check_window<const S: usize>(op: &str, shape: &[usize], size: [usize; S], stride: [usize; S]) {
    for k in 0..S {
        let n = shape[2 + k];
        if stride[k] == 0 || size[k] == 0 || size[k] > n {
            panic!(
                "{op}: needs strides of at least 1 and sizes from 1 to those of the axes, but along axis {} they are {} \
                 and {} and the shape is {}; pad first",
                2 + k,
                stride[k],
                size[k],
                Show(shape)
            );
        }
    }
}
