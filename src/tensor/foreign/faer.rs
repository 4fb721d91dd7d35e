//! Conversions from and to the matrices and columns of `faer`.
//!
//! ```
//! use faer::{Mat, MatRef, mat};
//! use polygrad::{Tensor, tensor};
//! let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
//! let view = MatRef::from(&x);
//! assert_eq!(view[(1, 0)], 3.0);
//! let product: Mat<f64> = view * view;
//! assert_eq!(Tensor::from(&product), x.matmul(&x));
//! assert_eq!(Tensor::from(mat![[1.0, 2.0], [3.0, 4.0]].transpose()), x.t());
//! ```

use ::faer::{Col, ColRef, Mat, MatRef, Shape, Stride};

use crate::array::{Array, Elems};
use crate::dtype::Elem;
use crate::tensor::Tensor;

/// Elements as they are stored.
enum StoredElements<'a, E> {
    OneByOne(&'a [E]),
    OneForAll(&'a E),
}

impl<'a, E: Elem> StoredElements<'a, E> {
    fn of<const D: usize>(t: &'a Tensor<Array, D, E>) -> Self {
        if let Some(elements) = t.as_slice() {
            return StoredElements::OneByOne(elements);
        }
        if let Array::Shared(stored) = t.array()
            && let Some(Elems::Splat(x)) = stored.data.of::<E>()
        {
            return StoredElements::OneForAll(x);
        }
        unreachable!("elements are stored one by one, or one for all")
    }
}

/// A view, without a copy: its rows are contiguous. One repeated value becomes a view with strides 0.
impl<'a, E: Elem> From<&'a Tensor<Array, 2, E>> for MatRef<'a, E> {
    fn from(t: &'a Tensor<Array, 2, E>) -> Self {
        let [n, m] = t.shape();
        match StoredElements::of(t) {
            StoredElements::OneByOne(elements) => MatRef::from_row_major_slice(elements, n, m).as_dyn_stride(),
            StoredElements::OneForAll(x) => MatRef::from_repeated_ref(x, n, m).as_dyn_stride(),
        }
    }
}

/// A view, without a copy. One repeated value becomes a view with stride 0.
impl<'a, E: Elem> From<&'a Tensor<Array, 1, E>> for ColRef<'a, E> {
    fn from(t: &'a Tensor<Array, 1, E>) -> Self {
        match StoredElements::of(t) {
            StoredElements::OneByOne(elements) => ColRef::from_slice(elements).as_dyn_stride(),
            StoredElements::OneForAll(x) => ColRef::from_repeated_ref(x, t.len()).as_dyn_stride(),
        }
    }
}

/// A copy: the matrix is column-major.
impl<E: Elem> From<&Tensor<Array, 2, E>> for Mat<E> {
    fn from(t: &Tensor<Array, 2, E>) -> Self {
        let view = MatRef::from(t);
        Mat::from_fn(view.nrows(), view.ncols(), |i, j| view[(i, j)])
    }
}

/// A copy.
impl<E: Elem> From<&Tensor<Array, 1, E>> for Col<E> {
    fn from(t: &Tensor<Array, 1, E>) -> Self {
        t.elements().iter().copied().collect()
    }
}

/// A copy of a view of any layout: rows become rows.
impl<E, R, C, RS, CS> From<MatRef<'_, E, R, C, RS, CS>> for Tensor<Array, 2, E>
where
    E: Elem,
    R: Shape,
    C: Shape,
    RS: Stride,
    CS: Stride,
{
    fn from(m: MatRef<'_, E, R, C, RS, CS>) -> Self {
        let m = m.as_shape(m.nrows().unbound(), m.ncols().unbound());
        let mut elements = Vec::with_capacity(m.nrows() * m.ncols());
        for i in 0..m.nrows() {
            match m.row(i).try_as_row_major() {
                Some(row) => elements.extend_from_slice(row.as_slice()),
                None => elements.extend(m.row(i).iter()),
            }
        }
        Tensor::from_raw(Array::new(&[m.nrows(), m.ncols()], elements))
    }
}

/// A copy: rows become rows.
impl<E: Elem, R: Shape, C: Shape> From<&Mat<E, R, C>> for Tensor<Array, 2, E> {
    fn from(m: &Mat<E, R, C>) -> Self {
        Tensor::from(m.as_ref())
    }
}

/// A copy of a view.
impl<E: Elem, R: Shape, RS: Stride> From<ColRef<'_, E, R, RS>> for Tensor<Array, 1, E> {
    fn from(v: ColRef<'_, E, R, RS>) -> Self {
        Tensor::from_raw(Array::new(&[v.nrows().unbound()], v.iter().copied().collect()))
    }
}

/// A copy.
impl<E: Elem, R: Shape> From<&Col<E, R>> for Tensor<Array, 1, E> {
    fn from(v: &Col<E, R>) -> Self {
        Tensor::from(v.as_ref())
    }
}
