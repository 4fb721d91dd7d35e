//! `Array`: plain data, with a shape, an element type and row-major elements.
//!
//! Law: an array is a value: immutable while shared, cheap to clone, `Send + Sync`, and at most 16 bytes wide. The
//! element of a rank-0 array is stored in the handle itself, any other array behind one `Arc`. An array of one repeated
//! value stores that value once, so zeros and ones take O(1) time and memory for any shape. Rank 0 and sizes of 0 are
//! ordinary cases.
//!
//! This module has no operation of the language: the operations are in [`crate::ops`], and their interpretation on
//! arrays is in `interpreters/concrete`.

use std::sync::Arc;

use crate::dtype::{DType, Elem, Num};
use crate::shape::{self, Shape, check_possible, check_room, is_possible};

#[cfg(feature = "approx")]
mod approx;
mod convert;
mod display;
pub(crate) mod member;
pub(crate) mod pages;
pub(crate) mod pool;
mod random;
#[cfg(feature = "serde")]
mod serial;

pub(crate) use convert::each_data;
pub use convert::{ArrayError, Nested};
pub(crate) use display::ComplexText;
#[cfg(feature = "rand")]
pub use random::sample;
pub use random::{Drawn, Rng};
#[cfg(feature = "serde")]
pub(crate) use serial::refused;

/// A dense n-dimensional array of `f64`, `f32`, `i64` or `bool`.
///
/// A clone shares the elements. A thread keeps the memory of large arrays that have been dropped, for new arrays, until
/// the thread ends: at most 64 MB for each element type.
///
/// ```
/// use polygrad::Array;
/// let a = Array::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(a.shape(), [2, 2]);
/// assert_eq!(a.to_vec::<f64>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Array {
    /// A rank-0 array of `f64`.
    F64(f64),
    /// A rank-0 array of `f32`.
    F32(f32),
    /// A rank-0 array of `i64`.
    I64(i64),
    /// A rank-0 array of `bool`.
    Bool(bool),
    /// An array of rank 1 or more.
    #[doc(hidden)]
    Shared(Arc<Stored>),
}

const _: () = assert!(size_of::<Array>() <= 16);

/// The data behind the handle of an array of rank 1 or more.
#[doc(hidden)]
#[derive(Clone)]
pub struct Stored {
    pub(crate) shape: Shape,
    pub(crate) data: Data,
}

/// Elements of one of the element types.
///
/// Closed: [`DType`] is.
#[doc(hidden)]
#[derive(Clone)]
pub enum Data {
    /// 64-bit floats.
    F64(Elems<f64>),
    /// 32-bit floats.
    F32(Elems<f32>),
    /// 64-bit integers.
    I64(Elems<i64>),
    /// Truth values.
    Bool(Elems<bool>),
}

/// Elements, stored one by one or as one repeated value.
///
/// Closed: kernels read each storage.
#[doc(hidden)]
#[derive(Clone)]
pub enum Elems<E> {
    /// Every element has this value.
    Splat(E),
    /// The elements in row-major order.
    Dense(Vec<E>),
}

impl<E> Elems<E> {
    /// The elements that are stored.
    fn stored_mut(&mut self) -> &mut [E] {
        match self {
            Elems::Splat(x) => std::slice::from_mut(x),
            Elems::Dense(v) => v,
        }
    }
}

/// Code over elements of one type has checked the element type of the array.
#[cold]
fn of_another_type(dtype: DType, needed: DType) -> ! {
    unreachable!("an array of {dtype} was taken for one of {needed}")
}

/// A borrowed view of the elements of an array, as kernels read them.
///
/// Closed: code over elements reads each storage.
///
/// ```
/// use polygrad::Array;
/// use polygrad::array::Values;
/// let (a, ones) = (Array::from([1.0, 2.0]), Array::full(&[1000], 1.0));
/// assert!(matches!(ones.values::<f64>(), Some(Values::Splat(1.0))) && ones.values::<i64>().is_none());
/// assert!(matches!(a.values::<f64>(), Some(Values::Dense([1.0, 2.0]))));
/// assert_eq!([&a, &ones].map(|a| a.values::<f64>().expect("floats").get(1)), [2.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Values<'a, E> {
    /// Every element has this value.
    Splat(E),
    /// The elements in row-major order.
    Dense(&'a [E]),
}

impl<E: Elem> Values<'_, E> {
    /// The element at a flat row-major index.
    ///
    /// Example: [`Values`].
    ///
    /// # Panics
    /// When elements are stored one by one, and `i` is not below their number.
    #[inline]
    pub fn get(&self, i: usize) -> E {
        match self {
            Values::Splat(x) => *x,
            Values::Dense(v) => v[i],
        }
    }
}

/// Runs a body that is generic in the element type: binds a type name to the Rust type of a [`DType`].
macro_rules! with_elem {
    ($dtype:expr, $E:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::F64 => {
                type $E = f64;
                $body
            }
            $crate::dtype::DType::F32 => {
                type $E = f32;
                $body
            }
            $crate::dtype::DType::I64 => {
                type $E = i64;
                $body
            }
            $crate::dtype::DType::Bool => {
                type $E = bool;
                $body
            }
        }
    };
}
pub(crate) use with_elem;

/// [`with_elem`] for number types; masks run another body, which is left out if the caller has ruled out masks.
macro_rules! with_num {
    ($dtype:expr, $E:ident => $body:expr) => {
        $crate::array::with_num!($dtype, $E => $body, else $crate::errors::refused_by_rule("masks"))
    };
    ($dtype:expr, $E:ident => $body:expr, else $mask:expr) => {
        match $dtype {
            $crate::dtype::DType::I64 => {
                type $E = i64;
                $body
            }
            $crate::dtype::DType::Bool => $mask,
            $crate::dtype::DType::F64 | $crate::dtype::DType::F32 => {
                $crate::array::with_float!($dtype, $E => $body)
            }
        }
    };
}
pub(crate) use with_num;

/// [`with_elem`] for float types; the caller has checked that the element type is one.
macro_rules! with_float {
    ($dtype:expr, $E:ident => $body:expr) => {
        match $dtype {
            $crate::dtype::DType::F64 => {
                type $E = f64;
                $body
            }
            $crate::dtype::DType::F32 => {
                type $E = f32;
                $body
            }
            $crate::dtype::DType::I64 | $crate::dtype::DType::Bool => $crate::errors::refused_by_rule($dtype),
        }
    };
}
pub(crate) use with_float;

impl Array {
    /// The rank-0 array holding `x`.
    ///
    /// Example: [`Array::full`].
    #[inline]
    pub fn scalar<E: Elem>(x: E) -> Array {
        member::scalar(x)
    }

    /// An array of this shape in which every element is `x`; O(1).
    ///
    /// ```
    /// use polygrad::{Array, DType};
    /// assert_eq!(Array::full(&[2], 7), Array::from([7, 7]));
    /// assert_eq!(Array::full_as(&[2], DType::I64, 2.5), Array::from([2, 2]));
    /// assert_eq!(Array::zeros(&[2], DType::Bool), Array::from([false, false]));
    /// assert_eq!(Array::ones(&[2], DType::F32), Array::from([1.0f32, 1.0]));
    /// assert_eq!((Array::scalar(2.5), Array::iota(3)), (Array::from(2.5), Array::from([0, 1, 2])));
    /// assert_eq!(Array::linspace(0.0, 1.0, 3), Array::from([0.0, 0.5, 1.0]));
    /// ```
    ///
    /// # Panics
    /// When no array can have this shape, see [`MAX_SIZE`](crate::shape::MAX_SIZE).
    #[track_caller]
    pub fn full<E: Elem>(shape: &[usize], x: E) -> Array {
        if shape.is_empty() {
            return member::scalar(x);
        }
        check_possible("array", shape);
        Array::Shared(Arc::new(Stored { shape: Shape::from_slice(shape), data: Data::new(Elems::Splat(x)) }))
    }

    /// An array of zeros (`false` for masks) of this shape and element type; O(1).
    ///
    /// Example: [`Array::full`].
    #[track_caller]
    pub fn zeros(shape: &[usize], dtype: DType) -> Array {
        with_elem!(dtype, E => Array::full(shape, E::ZERO))
    }

    /// An array of ones (`true` for masks) of this shape and element type; O(1).
    ///
    /// Example: [`Array::full`].
    #[track_caller]
    pub fn ones(shape: &[usize], dtype: DType) -> Array {
        match dtype {
            DType::F64 => Array::full(shape, 1.0f64),
            DType::F32 => Array::full(shape, 1.0f32),
            DType::I64 => Array::full(shape, 1i64),
            DType::Bool => Array::full(shape, true),
        }
    }

    /// An array in which every element is `x` rounded to the element type `dtype`; O(1).
    /// Masks hold `x != 0`.
    ///
    /// Example: [`Array::full`].
    #[track_caller]
    pub fn full_as(shape: &[usize], dtype: DType, x: f64) -> Array {
        match dtype {
            DType::F64 => Array::full(shape, x),
            DType::F32 => Array::full(shape, x as f32),
            DType::I64 => Array::full(shape, x as i64),
            DType::Bool => Array::full(shape, x != 0.0),
        }
    }

    /// The integers `0, 1, .., n - 1`.
    ///
    /// Example: [`Array::full`].
    ///
    /// # Panics
    /// When no array can be as large, or memory for it is missing.
    #[track_caller]
    pub fn iota(n: usize) -> Array {
        check_possible("iota", &[n]);
        check_room::<i64>(&[n]);
        Array::dense(Shape::from_slice(&[n]), (0..n as i64).collect())
    }

    /// `n` evenly spaced values from `start` to `stop`, both included; only `start` if `n` is 1.
    ///
    /// Example: [`Array::full`].
    ///
    /// # Panics
    /// When no array can be as large, or memory for it is missing.
    #[track_caller]
    pub fn linspace(start: f64, stop: f64, n: usize) -> Array {
        check_possible("linspace", &[n]);
        check_room::<f64>(&[n]);
        let step = if n > 1 { (stop - start) / (n - 1) as f64 } else { 0.0 };
        let at = |i: usize| if i > 0 && i == n - 1 { stop } else { start + step * i as f64 };
        Array::dense(Shape::from_slice(&[n]), (0..n).map(at).collect())
    }

    /// An array from its row-major elements, or an error with both lengths.
    ///
    /// ```
    /// use polygrad::Array;
    /// assert_eq!(Array::try_new(&[1, 2], vec![1.0, 2.0]), Ok(Array::new(&[1, 2], vec![1.0, 2.0])));
    /// assert!(Array::try_new(&[2, 2], vec![1.0, 2.0]).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Length`] when the shape does not hold exactly as many elements, [`ArrayError::Size`] when no array
    /// can have it.
    pub fn try_new<E: Elem>(shape: &[usize], elements: Vec<E>) -> Result<Array, ArrayError> {
        if !is_possible(shape) {
            return Err(ArrayError::Size { shape: shape.to_vec() });
        }
        let needed = shape::size(shape);
        if needed != elements.len() {
            let shape = shape.to_vec();
            return Err(ArrayError::Length { shape, needed, given: elements.len() });
        }
        Ok(Array::dense(Shape::from_slice(shape), elements))
    }

    /// An array from its row-major elements.
    ///
    /// Example: [`Array::try_new`].
    ///
    /// # Panics
    /// When the shape does not hold exactly as many elements; [`Array::try_new`] returns the error.
    #[track_caller]
    pub fn new<E: Elem>(shape: &[usize], elements: Vec<E>) -> Array {
        match Array::try_new(shape, elements) {
            Ok(a) => a,
            Err(e) => panic!("{e}"),
        }
    }

    /// An array of a shape and elements that are known to fit.
    pub(crate) fn dense<E: Elem>(shape: Shape, elements: Vec<E>) -> Array {
        debug_assert_eq!(shape::size(&shape), elements.len());
        if shape.is_empty() {
            return member::scalar(elements[0]);
        }
        Array::Shared(Arc::new(Stored { shape, data: Data::new(Elems::Dense(elements)) }))
    }

    /// The sizes of the axes, outermost first.
    ///
    /// ```
    /// use polygrad::{Array, DType};
    /// let a = Array::full(&[2, 3], 1.0f32);
    /// assert_eq!((a.shape(), a.rank(), a.size(), a.dtype()), (&[2, 3][..], 2, 6, DType::F32));
    /// ```
    #[inline]
    pub fn shape(&self) -> &[usize] {
        match self {
            Array::F64(_) | Array::F32(_) | Array::I64(_) | Array::Bool(_) => shape::scalar(),
            Array::Shared(s) => &s.shape,
        }
    }

    /// The number of axes.
    ///
    /// Example: [`Array::shape`].
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    ///
    /// Example: [`Array::shape`].
    pub fn size(&self) -> usize {
        shape::size(self.shape())
    }

    /// The element type.
    ///
    /// Example: [`Array::shape`].
    #[inline]
    pub fn dtype(&self) -> DType {
        match self {
            Array::F64(_) => DType::F64,
            Array::F32(_) => DType::F32,
            Array::I64(_) => DType::I64,
            Array::Bool(_) => DType::Bool,
            Array::Shared(s) => match s.data {
                Data::F64(_) => DType::F64,
                Data::F32(_) => DType::F32,
                Data::I64(_) => DType::I64,
                Data::Bool(_) => DType::Bool,
            },
        }
    }

    /// The elements, as stored: one by one or as one repeated value; `None` if they are not of type `E`.
    ///
    /// Example: [`Values`].
    pub fn values<E: Elem>(&self) -> Option<Values<'_, E>> {
        if let Array::Shared(s) = self {
            return s.data.of::<E>().map(|e| match e {
                Elems::Splat(x) => Values::Splat(*x),
                Elems::Dense(v) => Values::Dense(v),
            });
        }
        self.as_scalar::<E>().copied().map(Values::Splat)
    }

    /// The elements, for code that has checked the element type.
    #[inline]
    pub(crate) fn typed<E: Elem>(&self) -> Values<'_, E> {
        match self.values() {
            Some(v) => v,
            None => of_another_type(self.dtype(), E::DTYPE),
        }
    }

    /// The value of all elements, if they are stored as one repeated value.
    pub(crate) fn splat<E: Elem>(&self) -> Option<E> {
        match self.values::<E>()? {
            Values::Splat(x) => Some(x),
            Values::Dense(_) => None,
        }
    }

    /// The row-major elements, copied.
    ///
    /// ```
    /// use polygrad::Array;
    /// let a = Array::from([[1, 2], [3, 4]]);
    /// assert_eq!(a.to_vec::<i64>().unwrap(), [1, 2, 3, 4]);
    /// assert!(a.to_vec::<f64>().is_err() && a.item::<i64>().is_err());
    /// assert_eq!(Array::from([[2.5]]).item::<f64>(), Ok(2.5));
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::DType`] when the element type is not `E`.
    ///
    /// # Panics
    /// When the memory for the elements cannot be allocated.
    #[track_caller]
    pub fn to_vec<E: Elem>(&self) -> Result<Vec<E>, ArrayError> {
        match self.values::<E>() {
            Some(Values::Splat(x)) => {
                check_room::<E>(self.shape());
                Ok(vec![x; self.size()])
            }
            Some(Values::Dense(v)) => Ok(v.to_vec()),
            None => Err(ArrayError::DType { needed: E::DTYPE, given: self.dtype() }),
        }
    }

    /// The only element.
    ///
    /// Example: [`Array::to_vec`].
    ///
    /// # Errors
    /// When there is not exactly one element, or when its type is not `E`.
    pub fn item<E: Elem>(&self) -> Result<E, ArrayError> {
        if self.size() != 1 {
            return Err(ArrayError::NotOne { shape: self.shape().to_vec() });
        }
        match self.values::<E>() {
            Some(v) => Ok(v.get(0)),
            None => Err(ArrayError::DType { needed: E::DTYPE, given: self.dtype() }),
        }
    }

    /// The same elements under another shape of the same size.
    pub(crate) fn with_shape(&self, shape: &[usize]) -> Array {
        debug_assert_eq!(shape::size(shape), self.size());
        with_elem!(self.dtype(), E => match self.typed::<E>() {
            Values::Splat(x) => Array::full(shape, x),
            Values::Dense(v) => Array::dense(Shape::from_slice(shape), v.to_vec()),
        })
    }

    /// The elements as a mutable row-major slice; copied before if the array has another owner.
    #[track_caller]
    pub(crate) fn make_dense<E: Elem>(&mut self) -> &mut [E] {
        let dtype = self.dtype();
        let Array::Shared(arc) = self else { unreachable!("rank-0 arrays have no vector of elements") };
        if Arc::strong_count(arc) > 1 {
            check_room::<E>(&arc.shape);
        }
        let stored = Arc::make_mut(arc);
        let size = shape::size(&stored.shape);
        let elems = match stored.data.of_mut::<E>() {
            Some(e) => e,
            None => of_another_type(dtype, E::DTYPE),
        };
        if let Elems::Splat(x) = *elems {
            check_room::<E>(&stored.shape);
            *elems = Elems::Dense(pool::full(x, size));
        }
        elems.stored_mut()
    }

    /// Stores one element for all, if all have the same bits.
    pub(crate) fn make_one_if_equal(&mut self) {
        let one = with_elem!(self.dtype(), E => match self.typed::<E>() {
            Values::Dense([first, rest @ ..]) if rest.iter().all(|x| x.same_bits(*first)) => {
                Some(Array::full(self.shape(), *first))
            }
            Values::Dense(_) | Values::Splat(_) => None,
        });
        if let Some(one) = one {
            *self = one;
        }
    }

    /// Whether no other array shares the elements.
    #[inline]
    pub(crate) fn is_unique(&self) -> bool {
        if let Array::Shared(stored) = self { Arc::strong_count(stored) == 1 } else { true }
    }

    /// The `i`-th subarray along the outermost axis; rank at least 1, `i` in bounds.
    pub(crate) fn row(&self, i: usize) -> Array {
        let shape = &self.shape()[1..];
        with_elem!(self.dtype(), E => match self.typed::<E>() {
            Values::Splat(x) => Array::full(shape, x),
            Values::Dense(v) if shape.is_empty() => member::scalar(v[i]),
            Values::Dense(v) => {
                let n = shape::size(shape);
                Array::dense(Shape::from_slice(shape), v[i * n..(i + 1) * n].to_vec())
            }
        })
    }

    /// Every element converted to `E` as by Rust's `as` for numbers: from floats to integers, elements are truncated
    /// and saturate, and NaN becomes 0; masks become 0 and 1.
    ///
    /// ```
    /// use polygrad::Array;
    /// assert_eq!(Array::from([-1.5, 2.5, f64::NAN]).cast::<i64>(), Array::from([-1, 2, 0]));
    /// assert_eq!(Array::from([true, false]).cast::<f64>(), Array::from([1.0, 0.0]));
    /// ```
    pub fn cast<E: Num>(&self) -> Array {
        fn to<F: Elem, E: Elem>(a: &Array, f: impl Fn(F) -> E) -> Array {
            match a.typed::<F>() {
                Values::Splat(x) => Array::full(a.shape(), f(x)),
                Values::Dense(v) => Array::dense(Shape::from_slice(a.shape()), v.iter().map(|x| f(*x)).collect()),
            }
        }
        fn float<E: Num>(x: f64) -> E {
            match E::DTYPE {
                // `as` truncates and saturates; the checked cast of a float out of range gives `None`.
                DType::I64 => num_traits::cast(x as i64).unwrap_or(E::ZERO),
                DType::F64 | DType::F32 | DType::Bool => num_traits::cast(x).unwrap_or(E::ZERO),
            }
        }
        match self.dtype() {
            DType::F64 => to(self, float::<E>),
            DType::F32 => to(self, |x: f32| float::<E>(x.into())),
            DType::I64 => to(self, |x: i64| num_traits::cast::<i64, E>(x).unwrap_or(E::ZERO)),
            DType::Bool => to(self, |x: bool| if x { E::ONE } else { E::ZERO }),
        }
    }
}

/// Equality of shape, element type and elements; NaN differs from itself, as in IEEE arithmetic.
impl PartialEq for Array {
    fn eq(&self, other: &Array) -> bool {
        if self.shape() != other.shape() || self.dtype() != other.dtype() {
            return false;
        }
        with_elem!(self.dtype(), E => match (self.typed::<E>(), other.typed::<E>()) {
            (Values::Dense(a), Values::Dense(b)) => a == b,
            (Values::Splat(a), Values::Splat(b)) => self.size() == 0 || a == b,
            (Values::Splat(x), Values::Dense(v)) | (Values::Dense(v), Values::Splat(x)) => v.iter().all(|y| *y == x),
        })
    }
}
