//! Linear operations of one argument. Each is its own derivative, and its adjoint, batching and composition map data to
//! data.
//!
//! Laws, for every operation `l`, and `x`, `y` of its input and output shape: `dot(l(x), y) == dot(x, l.adjoint()(y))`;
//! `l.adjoint().adjoint() == l`; `l.batched(n)` applied to a stack of `n` is the stack of `l`; `a.after(b)`, if it is
//! not `None`, is `a(b(x))`.

use std::fmt;

use smallvec::SmallVec;

use super::kinds::{check_axis, or_panic};
use super::view::{ShownView, Space, View};
use crate::dtype::DType;
use crate::shape::{self, MAX_SIZE, Shape, Show, check_possible, is_possible};

/// A linear operation of one argument.
///
/// Closed: an interpreter fails to compile where a new operation has no meaning yet.
///
/// ```
/// use polygrad::ops::Linear;
/// use polygrad::{Array, BaseTensor};
/// let (x, m) = (Array::from([1.0, 2.0, 3.0]), Array::from([[1.0, 2.0], [3.0, 4.0]]));
/// assert_eq!(m.linear(&Linear::sum(&[2, 2], &[0])), Array::from([4.0, 6.0]));
/// assert_eq!(x.linear(&Linear::replicate(&[2, 3], &[1])), Array::from([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]));
/// assert_eq!(m.linear(&Linear::permute(&[2, 2], &[1, 0])), Array::from([[1.0, 3.0], [2.0, 4.0]]));
/// assert_eq!(x.linear(&Linear::slice(&[3], 0, 0, 2, 2)), Array::from([1.0, 3.0]));
/// assert_eq!(m.linear(&Linear::row(&[2, 2], 0, 1)), Array::from([3.0, 4.0]));
/// assert_eq!(x.linear(&Linear::pad(&[3], &[1], &[2])), Array::from([0.0, 1.0, 2.0, 3.0, 0.0, 0.0]));
/// assert_eq!(x.linear(&Linear::reverse(&[3], 0)), Array::from([3.0, 2.0, 1.0]));
/// assert_eq!(m.linear(&Linear::diagonal(&[2, 2], 0, 1)), Array::from([1.0, 4.0]));
/// assert_eq!(x.linear(&Linear::window(&[3], 0, 2, 1)), Array::from([[1.0, 2.0], [2.0, 3.0]]));
/// assert_eq!(m.linear(&Linear::reshape(&[2, 2], &[4])), Array::from([1.0, 2.0, 3.0, 4.0]));
/// ```
#[allow(clippy::large_enum_variant, reason = "nearly all operations are views; a box would cost each an allocation")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Linear {
    /// `out[into i] += t[from i]` for every `i` of the common iteration space, from zeros.
    Affine {
        /// The view of the argument.
        from: View,
        /// The view of the result.
        into: View,
    },
    /// The same elements, in row-major order, under another shape.
    Reshape {
        /// The shape of the argument.
        from: Shape,
        /// The shape of the result.
        into: Shape,
    },
    /// The same values in another float type.
    Cast {
        /// The element type of the argument.
        from: DType,
        /// The element type of the result.
        into: DType,
        /// The shape of argument and result.
        shape: Shape,
    },
    /// The discrete Fourier transform along one axis, of complex numbers whose real and imaginary parts are the two
    /// positions of another axis: `out[k] = sum_j t[j] e^(-2 pi i j k / n)`. The conjugate transform has `+` in the
    /// exponent. Neither is scaled, so each is the adjoint of the other.
    Fourier {
        /// The shape of argument and result.
        shape: Shape,
        /// The axis of size 2: real and imaginary part.
        parts: usize,
        /// The axis that is transformed.
        axis: usize,
        /// Whether the sign in the exponent is `+`.
        conjugate: bool,
    },
    /// The prefix sums of each line along one axis: `out[i] = t[0] + .. + t[i]`; in reverse the suffix sums,
    /// `out[i] = t[i] + .. + t[n - 1]`. Each is the adjoint of the other. Integers wrap.
    PrefixSum {
        /// The shape of argument and result.
        shape: Shape,
        /// The axis that the lines run along.
        axis: usize,
        /// Whether the sums run from the last element of a line to the first.
        reverse: bool,
    },
}

impl Linear {
    /// `out[into i] += t[from i]`.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor, ops::{Linear, View}};
    /// // Element `i` goes to place `2 i`.
    /// let spread = Linear::affine(View::identity(&[2]), View::affine(&[4], &[2], &[2], &[0]));
    /// let x = Array::new(&[2], vec![3., 5.]);
    /// assert_eq!(x.linear(&spread), Array::new(&[4], vec![3., 0., 5., 0.]));
    /// ```
    ///
    /// # Panics
    /// When the two views have different iteration spaces.
    #[track_caller]
    pub fn affine(from: View, into: View) -> Linear {
        if from.shape() != into.shape() {
            panic!(
                "linear: both views need one iteration space, but they have {} and {}; give both one shape",
                Show(from.shape()),
                Show(into.shape())
            );
        }
        Linear::Affine { from, into }
    }

    /// The operation that reads its argument through a view: `out[i] = t[view i]`.
    /// The result has the shape of the iteration space.
    ///
    /// ```
    /// use polygrad::ops::{Linear, View};
    /// use polygrad::{Array, BaseTensor};
    /// let padded = Linear::read(View::affine(&[2], &[4], &[1], &[-1]));
    /// assert_eq!(Array::from([3.0, 5.0]).linear(&padded), Array::from([0.0, 3.0, 5.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// When no array can have that shape.
    #[track_caller]
    pub fn read(view: View) -> Linear {
        let into = View::identity(view.shape());
        Linear::Affine { from: view, into }
    }

    /// The sum over the named axes, which disappear.
    /// `out[j] = sum_i t[i, j]` for the outer axis of two.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When an axis is not one of `shape`.
    #[track_caller]
    pub fn sum(shape: &[usize], axes: &[usize]) -> Linear {
        for axis in axes {
            check_axis("sum", *axis, shape);
        }
        let kept: SmallVec<[usize; 6]> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
        Linear::Affine { from: View::identity(shape), into: View::axes(shape, &kept) }
    }

    /// Broadcast to `shape`: axis `k` of the argument becomes axis `axes[k]`, and along every other axis the elements
    /// are repeated. The adjoint of the sum over these other axes.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When an axis is not one of `shape`, or no array can have that shape.
    #[track_caller]
    pub fn replicate(shape: &[usize], axes: &[usize]) -> Linear {
        for axis in axes {
            check_axis("replicate", *axis, shape);
        }
        check_possible("replicate", shape);
        Linear::read(View::axes(shape, axes))
    }

    /// Axis `k` of the result is axis `perm[k]` of the argument.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When `perm` does not name each axis once.
    #[track_caller]
    pub fn permute(shape: &[usize], perm: &[usize]) -> Linear {
        let mut sorted: SmallVec<[usize; 6]> = SmallVec::from_slice(perm);
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..shape.len()) {
            panic!(
                "permute: needs each axis of {} once, but the permutation is {}; name the axes from 0 in the new order",
                Show(shape),
                Show(perm)
            );
        }
        let out: Shape = perm.iter().map(|p| shape[*p]).collect();
        // Axis `perm[k]` of the argument is axis `k` of the result.
        let mut inverse: SmallVec<[usize; 6]> = SmallVec::from_elem(0, perm.len());
        for (k, p) in perm.iter().enumerate() {
            inverse[*p] = k;
        }
        Linear::read(View::axes(&out, &inverse))
    }

    /// Elements `start, start + step, ..`, `len` of them, along one axis.
    /// `out[i] = t[start + step * i]`.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When some of these elements do not lie in the argument.
    #[track_caller]
    pub fn slice(shape: &[usize], axis: usize, start: usize, len: usize, step: usize) -> Linear {
        check_axis("slice", axis, shape);
        let end = match len {
            0 => start,
            len => (len - 1).saturating_mul(step).saturating_add(start).saturating_add(1),
        };
        if end > shape[axis] {
            panic!(
                "slice: the elements must lie within axis {axis}, but {start}, with step {step} and length {len}, reaches to \
                 {end} and the shape is {}; pad first, or take fewer",
                Show(shape)
            );
        }
        let mut out = Shape::from_slice(shape);
        out[axis] = len;
        Linear::read(shifted(shape, &out, axis, step as i64, start as i64))
    }

    /// The subarray at one position of an axis, which disappears.
    /// `out[j] = t[position, j]` for the outer axis of two.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When the axis or the position does not exist.
    #[track_caller]
    pub fn row(shape: &[usize], axis: usize, position: usize) -> Linear {
        check_axis("row", axis, shape);
        if position >= shape[axis] {
            panic!(
                "row: the position must lie within axis {axis}, but it is {position} and the shape is {}; gather reads 0 there",
                Show(shape)
            );
        }
        let mut rest = Shape::from_slice(shape);
        rest.remove(axis);
        let (rows, columns) = (shape.len(), rest.len());
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rows * columns);
        for column in 0..columns {
            let row = if column < axis { column } else { column + 1 };
            matrix[row * columns + column] = 1;
        }
        let mut offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rows);
        offset[axis] = position as i64;
        Linear::read(View::affine(shape, &rest, &matrix, &offset))
    }

    /// The argument padded with zeros: `before` and `after` are their numbers along each axis.
    /// `out[before + i] = t[i]`, and axis `k` grows to `before[k] + shape[k] + after[k]`.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When there are not as many widths as axes, or no array can be as large.
    #[track_caller]
    pub fn pad(shape: &[usize], before: &[usize], after: &[usize]) -> Linear {
        if before.len() != shape.len() || after.len() != shape.len() {
            let (b, a) = (before.len(), after.len());
            panic!(
                "pad: needs a width per axis of {}, but there are {b} before and {a} after; give 0 where nothing is added",
                Show(shape)
            );
        }
        let rank = shape.len();
        let width = |k: usize| before[k].checked_add(shape[k])?.checked_add(after[k]);
        let Some(out) = (0..rank).map(width).collect::<Option<Shape>>().filter(|out| is_possible(out)) else {
            panic!(
                "pad: the sizes of an array, zeros left out, must have a product of at most {MAX_SIZE}, but {} is to be padded by {} \
                 before and {} after; pad less",
                Show(shape),
                Show(before),
                Show(after)
            );
        };
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rank * rank);
        (0..rank).for_each(|k| matrix[k * rank + k] = 1);
        let offset: SmallVec<[i64; 6]> = before.iter().map(|b| *b as i64).collect();
        // Written as the scatter of the argument, so that the adjoint is a plain slice.
        Linear::Affine { from: View::identity(shape), into: View::affine(&out, shape, &matrix, &offset) }
    }

    /// Elements in the opposite order along one axis.
    /// `out[i] = t[n - 1 - i]`.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn reverse(shape: &[usize], axis: usize) -> Linear {
        check_axis("reverse", axis, shape);
        Linear::read(shifted(shape, shape, axis, -1, shape[axis] as i64 - 1))
    }

    /// The elements with equal indices along two axes: the first axis stays, the second disappears. `out[i] = t[i, i]`.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When `first` and `second` are not two axes of one size.
    #[track_caller]
    pub fn diagonal(shape: &[usize], first: usize, second: usize) -> Linear {
        check_axis("diagonal", first, shape);
        check_axis("diagonal", second, shape);
        if first == second || shape[first] != shape[second] {
            panic!(
                "diagonal: needs two different axes of one size, but they are {first} and {second} and the shape is {}; slice \
                 the longer one, or name another",
                Show(shape)
            );
        }
        let mut out = Shape::from_slice(shape);
        out.remove(second);
        let axes: SmallVec<[usize; 6]> = (0..shape.len())
            .map(|k| if k == second { first } else { k })
            .map(|k| if k > second { k - 1 } else { k })
            .collect();
        Linear::read(View::axes(&out, &axes))
    }

    /// Windows of `size` elements along one axis, one every `stride`: the axis becomes the number
    /// of the window, and a new axis after it the position within.
    /// `out[w, p] = t[stride * w + p]`.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When `size` or `stride` is 0, the window is longer than the axis, or no array can hold all windows.
    #[track_caller]
    pub fn window(shape: &[usize], axis: usize, size: usize, stride: usize) -> Linear {
        check_axis("window", axis, shape);
        if size == 0 || stride == 0 || size > shape[axis] {
            panic!(
                "window: needs a stride of at least 1 and a size from 1 to {}, but they are {stride} and {size} and the shape is {}; pad first, or \
                 take a smaller window",
                shape[axis],
                Show(shape)
            );
        }
        let rank = shape.len();
        let mut out = Shape::from_slice(shape);
        out[axis] = (shape[axis] - size) / stride + 1;
        out.insert(axis + 1, size);
        check_possible("window", &out);
        let columns = rank + 1;
        let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rank * columns);
        for k in 0..rank {
            matrix[k * columns + if k > axis { k + 1 } else { k }] = 1;
        }
        matrix[axis * columns + axis] = stride as i64;
        matrix[axis * columns + axis + 1] = 1;
        let offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank);
        Linear::read(View::affine(shape, &out, &matrix, &offset))
    }

    /// The same elements under another shape.
    ///
    /// Example: [`Linear`].
    ///
    /// # Panics
    /// When the sizes differ.
    #[track_caller]
    pub fn reshape(from: &[usize], into: &[usize]) -> Linear {
        let (a, b) = (shape::size(from), shape::size(into));
        if a != b {
            panic!(
                "reshape: the number of elements must stay, but it is {a} for {} and {b} for {}; slice, pad or replicate first",
                Show(from),
                Show(into)
            );
        }
        check_possible("reshape", into);
        Linear::Reshape { from: Shape::from_slice(from), into: Shape::from_slice(into) }
    }

    /// Conversion between float types; the shape stays.
    ///
    /// Example: [`Linear::result`].
    ///
    /// # Panics
    /// When one of the types is not a float type.
    #[track_caller]
    pub fn cast(shape: &[usize], from: DType, into: DType) -> Linear {
        if !from.is_float() || !into.is_float() {
            panic!("cast: both element types must be floats, but they are {from} and {into}; use to_int or to_float");
        }
        Linear::Cast { from, into, shape: Shape::from_slice(shape) }
    }

    /// The discrete Fourier transform along `axis`, not scaled, of complex numbers whose real and imaginary parts are
    /// the two positions of the axis `parts`. `out[k] = sum_j t[j] e^(-2 pi i j k / n)`; the adjoint has `+` in the
    /// exponent.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// use polygrad::{Array, BaseTensor};
    /// // Two complex numbers, 1 and 3 i: axis 0 has their parts.
    /// let x = Array::from([[1.0, 0.0], [0.0, 3.0]]);
    /// let transform = Linear::fourier(&[2, 2], 0, 1);
    /// assert_eq!(x.linear(&transform), Array::from([[1.0, 1.0], [3.0, -3.0]]));
    /// ```
    ///
    /// # Panics
    /// When `axis` and `parts` are not two axes of `shape`, or the size of the axis `parts` is not 2.
    #[track_caller]
    pub fn fourier(shape: &[usize], parts: usize, axis: usize) -> Linear {
        or_panic(check_fourier(shape, parts, axis));
        Linear::Fourier { shape: Shape::from_slice(shape), parts, axis, conjugate: false }
    }

    /// The prefix sums along `axis`: `out[i] = t[0] + .. + t[i]`. The adjoint has the suffix sums,
    /// `out[i] = t[i] + .. + t[n - 1]`.
    ///
    /// ```
    /// use polygrad::{Array, BaseTensor, ops::Linear};
    /// let sums = Linear::prefix_sum(&[3], 0);
    /// let x = Array::new(&[3], vec![1., 2., 3.]);
    /// assert_eq!(x.linear(&sums), Array::new(&[3], vec![1., 3., 6.]));
    /// assert_eq!(x.linear(&sums.adjoint()), Array::new(&[3], vec![6., 5., 3.]));
    /// ```
    ///
    /// # Panics
    /// When the axis does not exist.
    #[track_caller]
    pub fn prefix_sum(shape: &[usize], axis: usize) -> Linear {
        check_axis("prefix_sum", axis, shape);
        Linear::PrefixSum { shape: Shape::from_slice(shape), axis, reverse: false }
    }

    /// The shape the argument must have.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// let sum = Linear::sum(&[2, 3], &[0]);
    /// assert_eq!((sum.input_shape(), sum.output_shape()), (&[2, 3][..], &[3][..]));
    /// assert_eq!(sum.adjoint(), Linear::replicate(&[2, 3], &[1]));
    /// assert!(Linear::reshape(&[2, 3], &[2, 3]).is_identity() && !Linear::reshape(&[2, 3], &[6]).is_identity());
    /// ```
    pub fn input_shape(&self) -> &[usize] {
        match self {
            Linear::Affine { from, .. } => from.source(),
            Linear::Reshape { from, .. } => from,
            Linear::Cast { shape, .. } | Linear::Fourier { shape, .. } | Linear::PrefixSum { shape, .. } => shape,
        }
    }

    /// The shape of the result.
    ///
    /// Example: [`Linear::input_shape`].
    pub fn output_shape(&self) -> &[usize] {
        match self {
            Linear::Affine { into, .. } => into.source(),
            Linear::Reshape { into, .. } => into,
            Linear::Cast { shape, .. } | Linear::Fourier { shape, .. } | Linear::PrefixSum { shape, .. } => shape,
        }
    }

    /// The adjoint: `dot(l(x), y) == dot(x, l.adjoint()(y))`.
    ///
    /// Example: [`Linear::input_shape`].
    pub fn adjoint(&self) -> Linear {
        match self.clone() {
            Linear::Affine { from, into } => Linear::Affine { from: into, into: from },
            Linear::Reshape { from, into } => Linear::Reshape { from: into, into: from },
            Linear::Cast { from, into, shape } => Linear::Cast { from: into, into: from, shape },
            Linear::Fourier { shape, parts, axis, conjugate } => {
                Linear::Fourier { shape, parts, axis, conjugate: !conjugate }
            }
            Linear::PrefixSum { shape, axis, reverse } => Linear::PrefixSum { shape, axis, reverse: !reverse },
        }
    }

    /// The same operation on each of `n` arguments stacked along a new outermost axis.
    /// `out[b] = self(t[b])`.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// use polygrad::{Array, BaseTensor};
    /// let x = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.linear(&Linear::reverse(&[2], 0).batched(2)), Array::from([[2.0, 1.0], [4.0, 3.0]]));
    /// ```
    ///
    /// # Panics
    /// When no array can hold the stacks.
    #[track_caller]
    pub fn batched(&self, n: usize) -> Linear {
        let under = |shape: &Shape| -> Shape { std::iter::once(n).chain(shape.iter().copied()).collect() };
        check_possible("view", &under(&Shape::from_slice(self.output_shape())));
        match self {
            Linear::Affine { from, into } => Linear::Affine { from: from.batched(n), into: into.batched(n) },
            Linear::Reshape { from, into } => Linear::Reshape { from: under(from), into: under(into) },
            Linear::Cast { from, into, shape } => Linear::Cast { from: *from, into: *into, shape: under(shape) },
            Linear::Fourier { shape, parts, axis, conjugate } => {
                Linear::Fourier { shape: under(shape), parts: parts + 1, axis: axis + 1, conjugate: *conjugate }
            }
            Linear::PrefixSum { shape, axis, reverse } => {
                Linear::PrefixSum { shape: under(shape), axis: axis + 1, reverse: *reverse }
            }
        }
    }

    /// Whether the operation returns its argument.
    ///
    /// Example: [`Linear::input_shape`].
    pub fn is_identity(&self) -> bool {
        match self {
            Linear::Affine { from, into } => from == into && from.is_identity(),
            Linear::Reshape { from, into } => from == into,
            Linear::Cast { from, into, .. } => from == into,
            Linear::Fourier { shape, axis, .. } => shape[*axis] == 1,
            Linear::PrefixSum { shape, axis, .. } => shape[*axis] <= 1,
        }
    }

    /// The element type of the result.
    ///
    /// ```
    /// use polygrad::ops::Linear;
    /// use polygrad::{Array, BaseTensor, DType};
    /// let narrow = Linear::cast(&[2], DType::F64, DType::F32);
    /// assert_eq!(narrow.result(&[2], DType::F64), DType::F32);
    /// assert_eq!(Array::from([0.5, 1.0]).linear(&narrow), Array::from([0.5f32, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When the argument has the wrong shape, or an element type the operation does not take.
    #[track_caller]
    pub fn result(&self, shape: &[usize], dtype: DType) -> DType {
        or_panic(self.try_result(shape, dtype))
    }

    /// [`result`](Linear::result), with the message as an error.
    ///
    /// ```
    /// use polygrad::DType;
    /// use polygrad::ops::Linear;
    /// let sum = Linear::sum(&[2], &[0]);
    /// assert_eq!(sum.try_result(&[2], DType::I64), Ok(DType::I64));
    /// let message = sum.try_result(&[3], DType::I64).unwrap_err();
    /// assert!(message.starts_with("sum: the argument must have shape [2], but it has [3]"));
    /// ```
    ///
    /// # Errors
    /// When the argument has the wrong shape, or an element type the operation does not take.
    pub fn try_result(&self, shape: &[usize], dtype: DType) -> Result<DType, String> {
        let name = || self.name();
        if shape != self.input_shape() {
            return Err(format!(
                "{}: the argument must have shape {}, but it has {}; make the operation for that shape",
                name(),
                Show(self.input_shape()),
                Show(shape)
            ));
        }
        Ok(match self {
            Linear::Affine { into, .. } => {
                if dtype == DType::Bool && !into.is_injective() {
                    return Err(format!(
                        "{}: needs numbers to add up, but the argument is a mask of shape {}; convert it with to_int first",
                        name(),
                        Show(shape)
                    ));
                }
                dtype
            }
            Linear::Reshape { .. } => dtype,
            Linear::Cast { from, into, .. } => {
                if dtype != *from {
                    return Err(format!(
                        "cast: needs elements {from}, but they are {dtype}; make the cast from that type"
                    ));
                }
                *into
            }
            Linear::Fourier { .. } => {
                if !dtype.is_float() {
                    return Err(format!(
                        "fourier: needs floats, but the element type is {dtype}; convert it with to_float"
                    ));
                }
                dtype
            }
            Linear::PrefixSum { .. } => {
                if dtype == DType::Bool {
                    return Err(format!(
                        "prefix_sum: needs numbers to add up, but the argument is a mask of shape {}; convert it with to_int first",
                        Show(shape)
                    ));
                }
                dtype
            }
        })
    }

    /// The name of the operation in messages: `sum`, `view`, `reshape`, `cast`, `fourier` or `prefix_sum`.
    ///
    /// Example: [`Linear::applied`].
    pub fn name(&self) -> &'static str {
        match self {
            Linear::Affine { from, into } if from.is_identity() && !into.is_injective() => "sum",
            Linear::Affine { .. } => "view",
            Linear::Reshape { .. } => "reshape",
            Linear::Cast { .. } => "cast",
            Linear::Fourier { .. } => "fourier",
            Linear::PrefixSum { .. } => "prefix_sum",
        }
    }
}

/// An error unless there is a Fourier transform of complex numbers with these two axes.
pub(crate) fn check_fourier(shape: &[usize], parts: usize, axis: usize) -> Result<(), String> {
    let (is_axis, rank) = (parts.max(axis) < shape.len() && parts != axis, shape.len());
    if !is_axis || shape[parts] != 2 {
        return Err(format!(
            "fourier: needs an axis to transform and another of size 2 for real and imaginary parts, but these are {axis} and {parts} \
             of the {rank} of {}; stack the parts",
            Show(shape)
        ));
    }
    Ok(())
}

/// The view that maps `i` to `step * i + start` along one axis, and to `i` along the others.
fn shifted(source: &[usize], shape: &[usize], axis: usize, step: i64, start: i64) -> View {
    let rank = source.len();
    let mut matrix: SmallVec<[i64; 16]> = SmallVec::from_elem(0, rank * rank);
    (0..rank).for_each(|k| matrix[k * rank + k] = if k == axis { step } else { 1 });
    let mut offset: SmallVec<[i64; 6]> = SmallVec::from_elem(0, rank);
    offset[axis] = start;
    View::affine(source, shape, &matrix, &offset)
}

impl Linear {
    /// The printed form of the operation, applied to an argument that is a name or a text in brackets: its familiar
    /// name or its views. `sum axis=0 x`, `view [i<3, j<2] -> x[i + j] into [5, 2] at [2*i, j]`.
    ///
    /// ```
    /// use polygrad::ops::{Linear, View};
    /// let (sum, view) = (Linear::sum(&[2, 3], &[0]), View::affine(&[4], &[3, 2], &[1, 1], &[0]).clipped(0, 0, 2));
    /// assert_eq!((sum.name(), sum.applied("x")), ("sum", "sum axis=0 x".to_string()));
    /// assert_eq!(Linear::read(view).applied("x"), "view [i<3, j<2] -> x[i + j; i<2]");
    /// ```
    pub fn applied(&self, x: &str) -> String {
        match self.familiar_or_views() {
            Ok(name) => format!("{name} {x}"),
            Err([from, into]) => moves(from, into, x),
        }
    }
}

fn moves(from: &View, into: &View, x: &str) -> String {
    let read = format!("view {} -> {x}{}", Space(from.shape()), ShownView(from));
    if into.is_identity() { read } else { format!("{read} into {} at {}", Show(into.source()), ShownView(into)) }
}

/// The familiar name or the views, then the shapes of argument and result: `sum axis=0: [2, 3] -> [3]`,
/// `view [i<3, j<2] -> [i + j]: [4] -> [3, 2]`.
impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.applied("").trim_end())?;
        if let Linear::Cast { from, .. } = self {
            write!(f, " of {from}")?;
        }
        write!(f, ": {} -> {}", Show(self.input_shape()), Show(self.output_shape()))
    }
}
