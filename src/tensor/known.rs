//! Tensors of known numbers: access to their elements with and without a copy, equality and printing.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Index;

use super::Tensor;
use crate::array::{Array, ArrayError, Drawn, Nested, each_data};
use crate::base::BaseTensor;
use crate::dtype::Elem;
use crate::shape::Show;

impl<const D: usize, E: Elem> Tensor<Array, D, E> {
    /// The tensor of known numbers of this shape with these elements, in row-major order.
    ///
    /// Like [`tensor`](crate::tensor()), it is not generic in the interpreter, so no type annotation is needed. Generic
    /// programs use [`Tensor::constant`], of a tensor or of `Array::new(&shape, elements)`.
    ///
    /// ```
    /// use polygrad::{Tensor, tensor};
    /// let n = 2;
    /// assert_eq!(Tensor::new([n, n], vec![1.0, 2.0, 3.0, 4.0]), tensor([[1.0, 2.0], [3.0, 4.0]]));
    /// ```
    ///
    /// # Panics
    /// When the number of elements is not the size of the shape.
    #[track_caller]
    pub fn new(shape: [usize; D], elements: Vec<E>) -> Self {
        Tensor::from_raw(Array::new(&shape, elements))
    }

    /// The numbers in this tensor, as an array.
    ///
    /// Example: [`Tensor::to_vec`].
    pub fn array(&self) -> &Array {
        &self.raw
    }

    /// The elements in row-major order, copied.
    ///
    /// ```
    /// use polygrad::{Array, tensor};
    /// let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((x.to_vec(), x.as_slice()), (vec![1.0, 2.0, 3.0, 4.0], Some(&[1.0, 2.0, 3.0, 4.0][..])));
    /// assert_eq!(x.array(), &Array::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!(*x.elements(), x.clone().into_vec());
    /// ```
    #[track_caller]
    pub fn to_vec(&self) -> Vec<E> {
        self.raw.typed_elements().into_owned()
    }

    /// The elements in row-major order, without a copy; `None` if the tensor stores one repeated value, such as zeros,
    /// for several elements. [`elements`](Tensor::elements) is for every tensor.
    ///
    /// Example: [`Tensor::to_vec`].
    pub fn as_slice(&self) -> Option<&[E]> {
        self.raw.as_slice()
    }

    /// The elements in row-major order, copied only if they are stored as one repeated value.
    ///
    /// Example: [`Tensor::to_vec`].
    #[track_caller]
    pub fn elements(&self) -> Cow<'_, [E]> {
        // That of a number, too, is a borrowed slice.
        self.as_slice().map_or_else(|| self.raw.typed_elements(), Cow::Borrowed)
    }

    /// The elements in row-major order; without a copy if they are stored one by one and the tensor has no other owner.
    ///
    /// Example: [`Tensor::to_vec`].
    #[track_caller]
    pub fn into_vec(self) -> Vec<E> {
        self.raw.into_typed_vec()
    }

    /// The elements as plain Rust data: a number, a `Vec`, or nested arrays.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let rows: [[f64; 2]; 1] = tensor([[1.0, 2.0]]).nested().unwrap();
    /// assert_eq!(rows, [[1.0, 2.0]]);
    /// ```
    ///
    /// # Errors
    /// When rank, sizes or element type differ; the error names both.
    pub fn nested<X: TryFrom<Array, Error = ArrayError>>(&self) -> Result<X, ArrayError> {
        X::try_from(self.raw.clone())
    }
}

/// Implements the conversion of data to tensors of known numbers.
macro_rules! from_data {
    ($( [$($generics:tt)*] $Data:ty, $rank:literal, |$x:ident| $shape:expr, $elements:expr; )*) => { $(
        /// Like [`tensor`](crate::tensor()).
        impl<$($generics)*> From<$Data> for Tensor<Array, $rank, E> {
            #[track_caller]
            fn from(data: $Data) -> Self {
                Tensor::from_raw(Nested::into_array(data))
            }
        }
    )* };
}

each_data!(from_data);

impl<const D: usize, E> From<&Tensor<Array, D, E>> for Array {
    fn from(t: &Tensor<Array, D, E>) -> Array {
        t.raw.clone()
    }
}

impl<const D: usize, E> From<Tensor<Array, D, E>> for Array {
    fn from(t: Tensor<Array, D, E>) -> Array {
        t.raw
    }
}

/// A shape whose rank rustc knows: random arrays of this shape are tensors.
impl<const D: usize> Drawn for [usize; D] {
    type Out<E: Elem> = Tensor<Array, D, E>;
    fn sizes(&self) -> &[usize] {
        self
    }
    #[track_caller]
    fn drawn<E: Elem>(a: Array) -> Tensor<Array, D, E> {
        Tensor::from_raw(a)
    }
}

impl<const D: usize, E: Elem> Nested<D, E> for Tensor<Array, D, E> {
    fn into_array(self) -> Array {
        self.raw
    }
}

impl<const D: usize, E: Elem> Nested<D, E> for &Tensor<Array, D, E> {
    fn into_array(self) -> Array {
        self.raw.clone()
    }
}

/// Equality of shape and elements; NaN differs from itself. The elementwise comparison, whose result
/// is a mask, is the method [`Tensor::eq`].
impl<T: PartialEq, const D: usize, E> PartialEq for Tensor<T, D, E> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

/// Prints the numbers if they are known, and element type and shape otherwise.
impl<T: BaseTensor, const D: usize, E: Elem> fmt::Display for Tensor<T, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peek() {
            Some(a) => fmt::Display::fmt(&a, f),
            None => write!(f, "{} {}", E::DTYPE, Show(self.raw.shape())),
        }
    }
}

/// Prints the numbers with an exponent each if they are known (`{:e}`, `{:.2e}`), and element type and shape otherwise.
///
/// ```
/// use polygrad::tensor;
/// assert_eq!(format!("{:.1e}", tensor([1.0, -2.5e-9])), "[  1.0e0 -2.5e-9]");
/// ```
impl<T: BaseTensor, const D: usize, E: Elem + fmt::LowerExp> fmt::LowerExp for Tensor<T, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peek() {
            Some(a) => fmt::LowerExp::fmt(&a, f),
            None => fmt::Display::fmt(self, f),
        }
    }
}

/// Like [`Display`](fmt::Display), with element type and shape in every case.
impl<T: BaseTensor, const D: usize, E: Elem> fmt::Debug for Tensor<T, D, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peek() {
            Some(a) => fmt::Debug::fmt(&a, f),
            None => write!(f, "{} {}", E::DTYPE, Show(self.raw.shape())),
        }
    }
}

/// What a tensor is compared with to a `bool`; nothing is, except for a tensor by `==`.
///
/// ```
/// use polygrad::tensor;
/// let x = tensor([1.0, 3.0]);
/// assert_eq!(x.lt(2.0), tensor([true, false]));
/// assert!(x.sum().item() > 2.0);
/// ```
///
/// A comparison by an operator does not compile:
///
/// ```compile_fail,E0277
/// use polygrad::tensor;
/// assert!(tensor(1.0) < 2.0);
/// ```
#[diagnostic::on_unimplemented(
    message = "a comparison of a tensor with `{Self}` is not a `bool`: the numbers are unknown where the program is recorded or \
               differentiated",
    label = "a mask is needed: `x.lt(y)`, `le`, `gt`, `ge`, `eq` or `ne`",
    note = "a mask chooses between two values by `mask.select(a, b)` or `cond(mask, a, b)`, and ends a loop in `while_loop`; numbers \
            known to the host are compared by `x.item() > 0.0`"
)]
pub trait ComparedToBool {
    #[doc(hidden)]
    fn never<X>(&self) -> X;
}

/// Not available: rustc says which method makes a mask.
#[doc(hidden)]
impl<T, const D: usize, E, R: ComparedToBool> PartialEq<R> for Tensor<T, D, E> {
    fn eq(&self, other: &R) -> bool {
        other.never()
    }
}

/// Not available: rustc says which method makes a mask.
#[doc(hidden)]
impl<T, const D: usize, E, R: ComparedToBool> PartialOrd<R> for Tensor<T, D, E> {
    fn partial_cmp(&self, other: &R) -> Option<Ordering> {
        other.never()
    }
}

/// What indexes a tensor by brackets; nothing does.
///
/// ```
/// use polygrad::tensor;
/// let x = tensor([1.0, 3.0]);
/// assert_eq!((x.at([1]), x.slice(0, 1..)), (tensor(3.0), tensor([3.0])));
/// assert_eq!(x.elements()[1], 3.0);
/// ```
///
/// Brackets do not compile:
///
/// ```compile_fail,E0277
/// use polygrad::tensor;
/// let second = tensor([1.0, 3.0])[1];
/// ```
#[diagnostic::on_unimplemented(
    message = "a tensor cannot be indexed by `[{Self}]`: its elements are values of the program, not places in memory",
    label = "an element is read by `x.at([i])`, a row by `x.row(i)`, a range by `x.slice(axis, 1..)`",
    note = "numbers known to the host are a slice: `x.elements()[i]`"
)]
pub trait Bracket {
    #[doc(hidden)]
    fn never<X>(&self) -> X;
}

/// Not available: rustc says which method reads elements.
#[doc(hidden)]
impl<T, const D: usize, E, I: Bracket> Index<I> for Tensor<T, D, E> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

#[cfg(feature = "approx")]
mod close {
    //! The comparison traits of the `approx` crate, as those of arrays.

    use approx::{AbsDiffEq, RelativeEq, UlpsEq};

    use crate::array::Array;
    use crate::dtype::Elem;
    use crate::tensor::Tensor;

    /// Elements differ by at most `epsilon`.
    impl<const D: usize, E: Elem> AbsDiffEq for Tensor<Array, D, E> {
        type Epsilon = f64;

        fn default_epsilon() -> f64 {
            f64::EPSILON
        }

        fn abs_diff_eq(&self, other: &Self, epsilon: f64) -> bool {
            self.raw().abs_diff_eq(other.raw(), epsilon)
        }
    }

    /// Elements differ by at most `epsilon`, or by at most `max_relative` times the larger absolute value.
    impl<const D: usize, E: Elem> RelativeEq for Tensor<Array, D, E> {
        fn default_max_relative() -> f64 {
            f64::EPSILON
        }

        fn relative_eq(&self, other: &Self, epsilon: f64, max_relative: f64) -> bool {
            self.raw().relative_eq(other.raw(), epsilon, max_relative)
        }
    }

    /// Elements differ by at most `epsilon`, or by at most `max_ulps` units in the last place.
    impl<const D: usize, E: Elem> UlpsEq for Tensor<Array, D, E> {
        fn default_max_ulps() -> u32 {
            f64::default_max_ulps()
        }

        fn ulps_eq(&self, other: &Self, epsilon: f64, max_ulps: u32) -> bool {
            self.raw().ulps_eq(other.raw(), epsilon, max_ulps)
        }
    }
}
