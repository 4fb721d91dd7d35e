//! Conversions from and to the arrays of `ndarray`.
//!
//! ```
//! use ndarray::{Array2, ArrayView2, array};
//! use polygrad::{Tensor, tensor};
//! let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
//! assert_eq!(x, tensor([[1.0, 2.0], [3.0, 4.0]]));
//! let view = ArrayView2::from(&x);
//! assert_eq!(view.column(1).sum(), 6.0);
//! let y = Array2::from(x);
//! assert_eq!(y[[1, 0]], 3.0);
//! ```

use ::ndarray::{Array as NdArray, ArrayBase, ArrayView, Data, Dim, Dimension, IntoDimension, Ix, IxDyn, OwnedRepr};

use num_complex::Complex as Number;

use crate::array::{Array, ArrayError, Elems};
use crate::dtype::{Elem, Float};
use crate::tensor::{Complex, Tensor};

/// The elements of a view, or of an array by reference, copied.
fn copied<S: Data<Elem = E>, D: Dimension, E: Elem>(a: &ArrayBase<S, D>) -> Array {
    let elements = a.as_slice().map_or_else(|| a.iter().copied().collect(), <[E]>::to_vec);
    Array::new(a.shape(), elements)
}

/// The elements of an array: moved if they are in row-major order from the first to the last.
fn moved<D: Dimension, E: Elem>(a: NdArray<E, D>) -> Array {
    if !a.is_standard_layout() {
        return copied(&a);
    }
    let (shape, size) = (a.shape().to_vec(), a.len());
    let (mut elements, offset) = a.into_raw_vec_and_offset();
    elements.drain(..offset.unwrap_or(0));
    elements.truncate(size);
    Array::new(&shape, elements)
}

/// A copy in row-major order, of a view or an array of any rank.
impl<S: Data<Elem = E>, D: Dimension, E: Elem> From<&ArrayBase<S, D>> for Array {
    fn from(a: &ArrayBase<S, D>) -> Array {
        copied(a)
    }
}

/// Without a copy if the layout is standard.
impl<D: Dimension, E: Elem> From<ArrayBase<OwnedRepr<E>, D>> for Array {
    fn from(a: NdArray<E, D>) -> Array {
        moved(a)
    }
}

/// A view of any rank, without a copy.
impl<'a, E: Elem> TryFrom<&'a Array> for ArrayView<'a, E, IxDyn> {
    type Error = ArrayError;
    fn try_from(a: &'a Array) -> Result<Self, ArrayError> {
        view(a, IxDyn(a.shape())).ok_or(ArrayError::DType { needed: E::DTYPE, given: a.dtype() })
    }
}

/// The view of an array; one repeated value becomes a view with stride 0. `None` if the element type differs.
fn view<'a, E: Elem, D: Dimension>(a: &'a Array, shape: D) -> Option<ArrayView<'a, E, D>> {
    if let Some(elements) = a.as_slice() {
        return ArrayView::from_shape(shape, elements).ok();
    }
    let Array::Shared(stored) = a else { return None };
    let Elems::Splat(x) = stored.data.of::<E>()? else { return None };
    let strides = D::zeros(shape.ndim());
    let one = std::slice::from_ref(x);
    ArrayView::from_shape(::ndarray::ShapeBuilder::strides(shape, strides), one).ok()
}

/// A copy of a view.
impl<S: Data<Elem = E>, const D: usize, E: Elem> From<&ArrayBase<S, Dim<[Ix; D]>>> for Tensor<Array, D, E>
where
    Dim<[Ix; D]>: Dimension,
{
    fn from(a: &ArrayBase<S, Dim<[Ix; D]>>) -> Self {
        Tensor::from_raw(copied(a))
    }
}

/// Without a copy if the layout is standard.
impl<const D: usize, E: Elem> From<ArrayBase<OwnedRepr<E>, Dim<[Ix; D]>>> for Tensor<Array, D, E>
where
    Dim<[Ix; D]>: Dimension,
{
    fn from(a: NdArray<E, Dim<[Ix; D]>>) -> Self {
        Tensor::from_raw(moved(a))
    }
}

/// Conversion of an array whose rank is known at run time alone; without a copy if the layout is standard.
///
/// ```
/// use ndarray::ArrayD;
/// use polygrad::{Concrete, Tensor};
/// let a = ArrayD::<f64>::zeros(vec![2, 3]);
/// assert!(Tensor::<Concrete, 2>::try_from(a.clone()).is_ok());
/// let error = Tensor::<Concrete, 1>::try_from(a).unwrap_err();
/// assert_eq!(error.to_string(), "array: rank 1 was asked for, but the shape is [2, 3]; reshape the array or use `to_vec`");
/// ```
impl<const D: usize, E: Elem> TryFrom<ArrayBase<OwnedRepr<E>, IxDyn>> for Tensor<Array, D, E> {
    type Error = ArrayError;
    fn try_from(a: NdArray<E, IxDyn>) -> Result<Self, ArrayError> {
        if a.ndim() != D {
            return Err(ArrayError::Rank { needed: D, shape: a.shape().to_vec() });
        }
        Ok(Tensor::from_raw(moved(a)))
    }
}

/// An array of `ndarray` of the elements of a tensor, which are as many as its shape says.
fn fits<A>(array: Option<A>) -> A {
    match array {
        Some(array) => array,
        None => unreachable!("a tensor has as many elements as its shape says"),
    }
}

/// A view, without a copy.
impl<'a, const D: usize, E: Elem> From<&'a Tensor<Array, D, E>> for ArrayView<'a, E, Dim<[Ix; D]>>
where
    Dim<[Ix; D]>: Dimension,
    [Ix; D]: IntoDimension<Dim = Dim<[Ix; D]>>,
{
    fn from(t: &'a Tensor<Array, D, E>) -> Self {
        fits(view(t.array(), t.shape().into_dimension()))
    }
}

/// Without a copy if the elements are stored one by one and the tensor has no other owner.
impl<const D: usize, E: Elem> From<Tensor<Array, D, E>> for ArrayBase<OwnedRepr<E>, Dim<[Ix; D]>>
where
    Dim<[Ix; D]>: Dimension,
    [Ix; D]: IntoDimension<Dim = Dim<[Ix; D]>>,
{
    fn from(t: Tensor<Array, D, E>) -> Self {
        fits(NdArray::from_shape_vec(t.shape().into_dimension(), t.into_vec()).ok())
    }
}

/// A copy of a view of complex numbers.
///
/// ```
/// use ndarray::{Array1, array};
/// use num_complex::Complex64;
/// use polygrad::Complex;
/// let z = Complex::from(&array![Complex64::new(1.0, 2.0), Complex64::I]);
/// assert_eq!(Array1::from(&z.conj())[0], Complex64::new(1.0, -2.0));
/// ```
impl<S: Data<Elem = Number<E>>, const D: usize, E: Float> From<&ArrayBase<S, Dim<[Ix; D]>>> for Complex<Array, D, E>
where
    Dim<[Ix; D]>: Dimension,
{
    fn from(a: &ArrayBase<S, Dim<[Ix; D]>>) -> Self {
        let of =
            |part: fn(&Number<E>) -> E| Tensor::from_raw(Array::new(a.shape(), a.iter().map(part).collect::<Vec<E>>()));
        Complex::new(of(|z| z.re), of(|z| z.im))
    }
}

/// A copy.
impl<const D: usize, E: Float> From<&Complex<Array, D, E>> for ArrayBase<OwnedRepr<Number<E>>, Dim<[Ix; D]>>
where
    Dim<[Ix; D]>: Dimension,
    [Ix; D]: IntoDimension<Dim = Dim<[Ix; D]>>,
{
    fn from(z: &Complex<Array, D, E>) -> Self {
        fits(NdArray::from_shape_vec(z.shape().into_dimension(), z.to_vec()).ok())
    }
}
