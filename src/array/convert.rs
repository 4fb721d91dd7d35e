//! Conversions between arrays and plain Rust data: scalars, nested arrays, vectors.
//!
//! Law: a conversion and the conversion back give the same data. A conversion that cannot fail is `From`; a conversion
//! that can fail (ragged rows, another shape or element type) is `TryFrom`, with an error that names both sides.

use std::borrow::Cow;
use std::sync::Arc;

use thiserror::Error;

use super::{Array, Elems, Values};
use crate::dtype::{DType, Elem};
use crate::errors::debug_by_display;
use crate::shape::check_room;
use crate::shape::{self, MAX_RANK, MAX_SIZE};

/// The reason why data cannot be converted to the requested array, or an array to the requested data.
///
/// ```
/// use polygrad::array::ArrayError;
/// use polygrad::{Array, DType};
/// let error = Array::from([1.0, 2.0]).to_vec::<i64>().unwrap_err();
/// assert_eq!(error, ArrayError::DType { needed: DType::I64, given: DType::F64 });
/// let error = Array::try_from(vec![vec![1.0], vec![1.0, 2.0]]).unwrap_err();
/// assert_eq!(error, ArrayError::Ragged { row: vec![1], needed: 1, given: 2 });
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The number of elements is not the size of the shape.
    #[error("array: the number of elements must be {needed} for shape {shape:?}, but it is {given}; change either")]
    Length {
        /// The requested shape.
        shape: Vec<usize>,
        /// The size of the shape.
        needed: usize,
        /// The number of elements given.
        given: usize,
    },
    /// No array can have the shape.
    #[error(
        "array: an array must have at most {MAX_RANK} axes, whose sizes, zeros left out, have a product of at most {MAX_SIZE}, but \
         the shape is {shape:?}, of {} axes; make it smaller",
        shape.len()
    )]
    Size {
        /// The requested shape.
        shape: Vec<usize>,
    },
    /// The rows of a nested vector differ in length.
    #[error(
        "array: rows need one length, but row {} has length {given} and the first row has length {needed}; pad the rows",
        path(row)
    )]
    Ragged {
        /// The position of the row, from the outermost vector inwards.
        row: Vec<usize>,
        /// The length of the first row.
        needed: usize,
        /// The length of the row.
        given: usize,
    },
    /// The array has another element type.
    #[error("array: elements of {needed} were asked for, but they are {given}; convert the array first")]
    DType {
        /// The requested element type.
        needed: DType,
        /// The element type of the array.
        given: DType,
    },
    /// The array has another shape.
    #[error("array: shape {needed:?} was asked for, but it is {given:?}; reshape the array first")]
    Shape {
        /// The requested shape.
        needed: Vec<usize>,
        /// The shape of the array.
        given: Vec<usize>,
    },
    /// The array has another number of axes.
    #[error("array: rank {needed} was asked for, but the shape is {shape:?}; reshape the array or use `to_vec`")]
    Rank {
        /// The requested rank.
        needed: usize,
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// The array does not have exactly one element.
    #[error("array: exactly one element was asked for, but the shape is {shape:?}; use `to_vec` for all of them")]
    NotOne {
        /// The shape of the array.
        shape: Vec<usize>,
    },
}

debug_by_display!(ArrayError);

/// `1` or `1, 0`: the position of a row.
fn path(row: &[usize]) -> String {
    row.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

/// Data that converts to an array of rank `D` with elements `E`, which its type determines, except for [`Array`] itself.
///
/// Every type but `Array` has one implementation, so rank and element type are inferred from the data: scalars have
/// rank 0, `[E; N]`, `Vec<E>` and slices rank 1, `[[E; M]; N]` and `Vec<[E; M]>` rank 2, and so on up to 4. A tensor of
/// known numbers is such data, too. The rank and the element type of an [`Array`] are known only at run time, so the
/// caller must state the expected ones.
///
/// ```
/// use polygrad::array::Nested;
/// fn shape<const D: usize>(data: impl Nested<D, f64>) -> Vec<usize> {
///     data.into_array().shape().to_vec()
/// }
/// assert_eq!((shape(1.0), shape(vec![1.0, 2.0]), shape([[1.0, 2.0]])), (vec![], vec![2], vec![1, 2]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not data an array can be made of",
    label = "needs a number or `bool`, a nested array of them up to rank 4, a vector or a slice",
    note = "elements are `f64`, `f32`, `i64` or `bool`; vectors of vectors may be ragged: use `Array::try_from`"
)]
pub trait Nested<const D: usize, E: Elem> {
    /// The data as an array.
    ///
    /// Example: [`Nested`].
    ///
    /// # Panics
    /// When no array can have this shape.
    #[track_caller]
    fn into_array(self) -> Array;
}

/// Implements [`Nested`] from a row per type: its rank, its shape, and its elements as a vector.
macro_rules! nested {
    ($( [$($generics:tt)*] $Data:ty, $rank:literal, |$x:ident| $shape:expr, $elements:expr; )*) => { $(
        impl<$($generics)*> Nested<$rank, E> for $Data {
            fn into_array(self) -> Array {
                let $x = self;
                // May panic: an array without elements may have other sizes whose product is too large.
                Array::new(&$shape, $elements)
            }
        }

        impl<$($generics)*> From<$Data> for Array {
            #[track_caller]
            fn from(data: $Data) -> Array {
                Nested::into_array(data)
            }
        }
    )* };
}

/// Calls a macro with a row for each type of data: its rank, its shape, and its elements as a vector.
macro_rules! each_data {
    ($call:ident) => {
        $call! {
        [E: Elem] E, 0, |x| [], vec![x];
        [E: Elem] Vec<E>, 1, |x| [x.len()], x;
        [E: Elem] &Vec<E>, 1, |x| [x.len()], x.clone();
        [E: Elem] &[E], 1, |x| [x.len()], x.to_vec();
        [E: Elem, const N: usize] [E; N], 1, |x| [N], x.to_vec();
        [E: Elem, const N: usize] &[E; N], 1, |x| [N], x.to_vec();
        [E: Elem, const M: usize] Vec<[E; M]>, 2, |x| [x.len(), M], x.as_flattened().to_vec();
        [E: Elem, const M: usize] &[[E; M]], 2, |x| [x.len(), M], x.as_flattened().to_vec();
        [E: Elem, const N: usize, const M: usize] [[E; M]; N], 2, |x| [N, M], x.as_flattened().to_vec();
        [E: Elem, const N: usize, const M: usize, const K: usize] [[[E; K]; M]; N], 3,
            |x| [N, M, K], x.as_flattened().as_flattened().to_vec();
        [E: Elem, const N: usize, const M: usize, const K: usize, const J: usize] [[[[E; J]; K]; M]; N], 4,
            |x| [N, M, K, J], x.as_flattened().as_flattened().as_flattened().to_vec();
        }
    };
}
pub(crate) use each_data;

each_data!(nested);

/// Rank and element type are not checked here, but by the conversion to a tensor.
impl<const D: usize, E: Elem> Nested<D, E> for Array {
    fn into_array(self) -> Array {
        self
    }
}

/// The elements of an iterator as an array of rank 1.
impl<E: Elem> FromIterator<E> for Array {
    fn from_iter<I: IntoIterator<Item = E>>(elements: I) -> Array {
        Nested::into_array(elements.into_iter().collect::<Vec<E>>())
    }
}

/// Rows as an array of rank 2; without rows, the shape is `[0, 0]`.
impl<E: Elem> TryFrom<Vec<Vec<E>>> for Array {
    type Error = ArrayError;
    fn try_from(rows: Vec<Vec<E>>) -> Result<Array, ArrayError> {
        let needed = rows.first().map_or(0, Vec::len);
        for (i, row) in rows.iter().enumerate() {
            same_length(&[i], needed, row.len())?;
        }
        Array::try_new(&[rows.len(), needed], rows.concat())
    }
}

/// Vectors of rows as an array of rank 3; if a vector is empty, the sizes of inner axes that it leaves open are 0.
impl<E: Elem> TryFrom<Vec<Vec<Vec<E>>>> for Array {
    type Error = ArrayError;
    fn try_from(blocks: Vec<Vec<Vec<E>>>) -> Result<Array, ArrayError> {
        let rows = blocks.first().map_or(0, Vec::len);
        let needed = blocks.iter().flatten().next().map_or(0, Vec::len);
        for (i, block) in blocks.iter().enumerate() {
            same_length(&[i], rows, block.len())?;
            for (j, row) in block.iter().enumerate() {
                same_length(&[i, j], needed, row.len())?;
            }
        }
        Array::try_new(&[blocks.len(), rows, needed], blocks.concat().concat())
    }
}

fn same_length(row: &[usize], needed: usize, given: usize) -> Result<(), ArrayError> {
    if needed == given { Ok(()) } else { Err(ArrayError::Ragged { row: row.to_vec(), needed, given }) }
}

/// Implements the conversions back: from an array by reference, and by value through the former.
macro_rules! back {
    ($( [$($generics:tt)*] $Data:ty, |$a:ident| $body:expr; )*) => { $(
        impl<$($generics)*> TryFrom<&Array> for $Data {
            type Error = ArrayError;
            fn try_from($a: &Array) -> Result<Self, ArrayError> {
                $body
            }
        }

        impl<$($generics)*> TryFrom<Array> for $Data {
            type Error = ArrayError;
            fn try_from(a: Array) -> Result<Self, ArrayError> {
                <$Data>::try_from(&a)
            }
        }
    )* };
}

back! {
    [] f64, |a| a.item();
    [] f32, |a| a.item();
    [] i64, |a| a.item();
    [] bool, |a| a.item();
    [E: Elem] Vec<E>, |a| ranked::<E>(a, 1)?.to_vec();
    [E: Elem] Vec<Vec<E>>, |a| (0..ranked::<E>(a, 2)?.shape()[0]).map(|i| a.row(i).to_vec()).collect();
    [E: Elem] Vec<Vec<Vec<E>>>, |a| (0..ranked::<E>(a, 3)?.shape()[0]).map(|i| Vec::try_from(a.row(i))).collect();
    [E: Elem, const N: usize] [E; N], |a| {
        let v = shaped::<E>(a, &[N])?;
        Ok(std::array::from_fn(|i| v.get(i)))
    };
    [E: Elem, const N: usize, const M: usize] [[E; M]; N], |a| {
        let v = shaped::<E>(a, &[N, M])?;
        Ok(std::array::from_fn(|i| std::array::from_fn(|j| v.get(i * M + j))))
    };
}

/// The array itself, if it has this rank and element type.
fn ranked<E: Elem>(a: &Array, needed: usize) -> Result<&Array, ArrayError> {
    if a.rank() != needed {
        return Err(ArrayError::Rank { needed, shape: a.shape().to_vec() });
    }
    if a.dtype() != E::DTYPE {
        return Err(ArrayError::DType { needed: E::DTYPE, given: a.dtype() });
    }
    Ok(a)
}

/// The elements, if the array has this shape and element type.
fn shaped<'a, E: Elem>(a: &'a Array, needed: &[usize]) -> Result<Values<'a, E>, ArrayError> {
    if a.shape() != needed {
        return Err(ArrayError::Shape { needed: needed.to_vec(), given: a.shape().to_vec() });
    }
    a.values().ok_or(ArrayError::DType { needed: E::DTYPE, given: a.dtype() })
}

impl Array {
    /// The elements in row-major order, without a copy.
    ///
    /// ```
    /// use polygrad::{Array, DType};
    /// let a = Array::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!((a.iter::<f64>()?.sum::<f64>(), a.iter::<f64>()?.rev().next()), (10.0, Some(4.0)));
    /// assert_eq!(a.as_slice::<f64>(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
    /// assert_eq!(a.into_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0]);
    /// // One number that is repeated is no slice of memory.
    /// let zeros = Array::zeros(&[3], DType::I64);
    /// assert_eq!((zeros.as_slice::<i64>(), &*zeros.elements::<i64>()?), (None, &[0, 0, 0][..]));
    /// # Ok::<(), polygrad::array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::DType`] when the element type is not `E`.
    pub fn iter<E: Elem>(
        &self,
    ) -> Result<impl DoubleEndedIterator<Item = E> + ExactSizeIterator + Clone + '_, ArrayError> {
        let values = self.values::<E>().ok_or(ArrayError::DType { needed: E::DTYPE, given: self.dtype() })?;
        Ok((0..shape::size(self.shape())).map(move |i| values.get(i)))
    }

    /// The elements in row-major order, without a copy, if they are stored one by one, or if there is at most one
    /// element. `None` for an array of one repeated value, such as zeros, which stores that value once; for such
    /// arrays, too, use [`elements`](Array::elements).
    ///
    /// Example: [`Array::iter`].
    ///
    /// `None` as well if the element type is not `E`.
    pub fn as_slice<E: Elem>(&self) -> Option<&[E]> {
        let Array::Shared(stored) = self else { return self.as_scalar().map(std::slice::from_ref) };
        match (stored.data.of::<E>()?, self.size()) {
            (Elems::Dense(v), _) => Some(v),
            (Elems::Splat(_), 0) => Some(&[]),
            (Elems::Splat(x), 1) => Some(std::slice::from_ref(x)),
            (Elems::Splat(_), _) => None,
        }
    }

    /// The elements in row-major order, copied only if they are stored as one repeated value.
    ///
    /// Example: [`Array::iter`].
    ///
    /// # Errors
    /// [`ArrayError::DType`] when the element type is not `E`.
    #[track_caller]
    pub fn elements<E: Elem>(&self) -> Result<Cow<'_, [E]>, ArrayError> {
        match self.as_slice() {
            Some(elements) => Ok(Cow::Borrowed(elements)),
            None => self.to_vec().map(Cow::Owned),
        }
    }

    /// [`elements`](Array::elements) for code that has checked the element type.
    #[track_caller]
    pub(crate) fn typed_elements<E: Elem>(&self) -> Cow<'_, [E]> {
        match self.typed::<E>() {
            Values::Dense(v) => Cow::Borrowed(v),
            Values::Splat(x) => {
                check_room::<E>(self.shape());
                Cow::Owned(vec![x; self.size()])
            }
        }
    }

    /// [`into_vec`](Array::into_vec) for code that has checked the element type.
    #[track_caller]
    pub(crate) fn into_typed_vec<E: Elem>(mut self) -> Vec<E> {
        match self.taken_elements() {
            Some(elements) => elements,
            None => self.typed_elements().into_owned(),
        }
    }

    /// The elements, if they are stored one by one and the array has no other owner.
    fn taken_elements<E: Elem>(&mut self) -> Option<Vec<E>> {
        let Array::Shared(stored) = self else { return None };
        let Elems::Dense(elements) = Arc::get_mut(stored)?.data.of_mut::<E>()? else { return None };
        Some(std::mem::take(elements))
    }

    /// The elements in row-major order; without a copy if they are stored one by one and the array has no other owner.
    ///
    /// Example: [`Array::iter`].
    ///
    /// # Errors
    /// [`ArrayError::DType`] when the element type is not `E`.
    #[track_caller]
    pub fn into_vec<E: Elem>(mut self) -> Result<Vec<E>, ArrayError> {
        match self.taken_elements() {
            Some(elements) => Ok(elements),
            None => self.to_vec(),
        }
    }
}
