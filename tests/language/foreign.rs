//! Elements without a copy, and the arrays and matrices of other crates: there and back is the identity, and indices
//! mean the same on both sides.

use nalgebra::{DMatrix, DVector, Matrix2x3, Vector3};
use ndarray::{Array0, Array2, Array3, ArrayD, ArrayView1, ArrayView2, ArrayViewD, Axis, IxDyn, array, s};
use polygrad::{Array, Concrete, DType, Tensor, tensor};

#[test]
fn elements_are_seen_without_a_copy() {
    let x = tensor([[1.0, 2.0], [3.0, 4.0]]);
    let slice = x.as_slice().expect("stored one by one");
    assert_eq!(slice, [1.0, 2.0, 3.0, 4.0]);
    let place = slice.as_ptr();
    assert_eq!(x.elements().as_ptr(), place);
    let elements = x.into_vec();
    assert_eq!(elements.as_ptr(), place);
    // With another owner the elements are copied, and the other owner keeps them.
    let x = tensor([1, 2, 3]);
    let other = x.clone();
    let copied = x.into_vec();
    assert_ne!(other.as_slice().map(<[i64]>::as_ptr), Some(copied.as_ptr()));
    assert_eq!((copied, other.to_vec()), (vec![1, 2, 3], vec![1, 2, 3]));
    // One repeated value, one element, none.
    let zeros = Tensor::<Concrete, 2>::zeros([2, 3]);
    assert_eq!((zeros.as_slice(), zeros.elements().len()), (None, 6));
    assert_eq!(zeros.into_vec(), [0.0; 6]);
    assert_eq!(tensor(2.5f32).as_slice(), Some(&[2.5][..]));
    assert_eq!(Tensor::<Concrete, 2>::full([1, 1], 7.0).as_slice(), Some(&[7.0][..]));
    assert_eq!(Tensor::<Concrete, 2, bool>::zeros([0, 3]).as_slice(), Some(&[][..]));
    let a = Array::from([1.0, 2.0]);
    assert_eq!((a.as_slice::<f32>(), Array::scalar(1).as_slice::<f64>()), (None, None));
    assert!(a.elements::<i64>().is_err() && a.into_vec::<i64>().is_err());
}

#[test]
fn arrays_of_ndarray_there_and_back() {
    let x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let view = ArrayView2::from(&x);
    assert_eq!(Some(view.as_ptr()), x.as_slice().map(<[f64]>::as_ptr));
    assert_eq!((view.shape(), view[[1, 0]], view.sum_axis(Axis(0))), (&[2, 3][..], 4.0, array![5.0, 7.0, 9.0]));
    assert_eq!(Tensor::from(&view), x);
    let place = x.as_slice().map(<[f64]>::as_ptr);
    let owned = Array2::from(x.clone());
    assert_ne!(Some(owned.as_ptr()), place, "x has the elements");
    let owned = Array2::from(x);
    assert_eq!(Some(owned.as_ptr()), place);
    assert_eq!(owned, array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(Tensor::from(owned).as_slice().map(<[f64]>::as_ptr), place);
    // Ranks 0 and 3, other element types, no elements.
    assert_eq!(Array0::from(tensor(2.0f32)), ndarray::arr0(2.0));
    assert_eq!(Tensor::from(Array0::from_elem((), true)), tensor(true));
    assert_eq!(Tensor::from(Array3::<i64>::zeros((2, 0, 3))), Tensor::zeros([2, 0, 3]));
    assert_eq!(ArrayView2::from(&Tensor::<Concrete, 2>::zeros([0, 3])).shape(), [0, 3]);
}

#[test]
fn any_layout_of_ndarray_keeps_its_indices() {
    let a = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(Tensor::from(a.clone().reversed_axes()), tensor([[1, 4], [2, 5], [3, 6]]));
    assert_eq!(Tensor::from(&a.t()), tensor([[1, 4], [2, 5], [3, 6]]));
    assert_eq!(Tensor::from(&a.slice(s![.., ..;-1])), tensor([[3, 2, 1], [6, 5, 4]]));
    // A part of the elements, in order: they are moved within their vector.
    assert_eq!(Tensor::from(a.clone().slice_move(s![1.., ..])), tensor([[4, 5, 6]]));
    assert_eq!(Tensor::from(a.clone().slice_move(s![..1, ..])), tensor([[1, 2, 3]]));
    assert_eq!(Tensor::from(a.slice_move(s![.., 1..])), tensor([[2, 3], [5, 6]]));
    // One repeated value is seen with stride 0.
    let ones = Tensor::<Concrete, 2>::full([2, 3], 1.5);
    let view = ArrayView2::from(&ones);
    assert_eq!((view.strides(), view.sum()), (&[0, 0][..], 9.0));
    assert_eq!(Array2::from(ones), Array2::from_elem((2, 3), 1.5));
}

#[test]
fn wrong_ranks_and_element_types_of_ndarray_are_errors() {
    let a = ArrayD::<f64>::zeros(IxDyn(&[2, 3]));
    let error = Tensor::<Concrete, 1>::try_from(a.clone()).expect_err("rank 2");
    assert_eq!(
        error.to_string(),
        "array: rank 1 was asked for, but the shape is [2, 3]; reshape the array or use `to_vec`"
    );
    assert_eq!(Tensor::<Concrete, 2>::try_from(a.clone()), Ok(Tensor::zeros([2, 3])));
    assert_eq!(Array::from(a.clone()), Array::zeros(&[2, 3], DType::F64));
    assert_eq!(Array::from(&a), Array::zeros(&[2, 3], DType::F64));
    let x = Array::from([1.0, 2.0]);
    assert_eq!(ArrayViewD::<f64>::try_from(&x), Ok(ArrayView1::from(&[1.0, 2.0]).into_dyn()));
    let error = ArrayViewD::<f32>::try_from(&x).expect_err("elements of f64");
    assert_eq!(error.to_string(), "array: elements of f32 were asked for, but they are f64; convert the array first");
}

#[test]
fn matrices_of_nalgebra_there_and_back() {
    let m = Matrix2x3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    let x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(Tensor::<_, 2>::from(&m), x);
    assert_eq!(DMatrix::from(&x), DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(Tensor::<_, 2>::from(&DMatrix::from(&x)), x);
    assert_eq!(Tensor::<_, 2>::from(&m.transpose()), x.t());
    assert_eq!(Tensor::<_, 2>::from(&m.columns(1, 2)), tensor([[2.0, 3.0], [5.0, 6.0]]));
    assert_eq!(DMatrix::from(&Tensor::<Concrete, 2>::ones([2, 2])), DMatrix::from_element(2, 2, 1.0));
    assert_eq!(DMatrix::from(&Tensor::<Concrete, 2>::zeros([0, 3])).shape(), (0, 3));
    assert_eq!(Tensor::<_, 2, i64>::from(&DMatrix::zeros(3, 0)), Tensor::zeros([3, 0]));
}

#[test]
fn vectors_of_nalgebra_are_moved() {
    let x = tensor([1.0f32, 2.0, 3.0]);
    let place = x.as_slice().map(<[f32]>::as_ptr);
    let v = DVector::from(x);
    assert_eq!(Some(v.as_ptr()), place);
    assert_eq!(v.norm_squared(), 14.0);
    assert_eq!(Tensor::from(v).as_slice().map(<[f32]>::as_ptr), place);
    assert_eq!(Tensor::<_, 1, i64>::from(&Vector3::new(1, 2, 3)), tensor([1, 2, 3]));
    // A row of a matrix, whose elements are not neighbors.
    let m = Matrix2x3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    assert_eq!(Tensor::<_, 1>::from(&m.row(1).transpose()), tensor([4.0, 5.0, 6.0]));
}
