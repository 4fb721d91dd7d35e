//! The matrices and columns of `faer`: there and back is the identity, and indices mean the same on both sides; and
//! what it computes.
//!
//! A binary of its own, compiled with the feature `faer` alone (`make faer`).

use faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseColMat, SymbolicSparseRowMat};
use faer::{Col, ColRef, Mat, MatRef, col, mat};
use polygrad::program::Term;
use polygrad::{Array, Concrete, Elem, Tensor, sparse_jacobian, tensor};

fn place<E: Elem, const D: usize>(x: &Tensor<Concrete, D, E>) -> Option<*const E> {
    x.as_slice().map(<[E]>::as_ptr)
}

#[test]
fn matrices_are_seen_without_a_copy() {
    let x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let view = MatRef::from(&x);
    assert_eq!(Some(view.as_ptr()), place(&x));
    assert_eq!((view.nrows(), view.ncols(), view[(1, 0)], view[(0, 2)]), (2, 3, 4.0, 3.0));
    assert_eq!(Tensor::from(view), x);
    // One repeated value, which is stored once; no elements.
    let ones = Tensor::<Concrete, 2>::full([2, 3], 1.5);
    let view = MatRef::from(&ones);
    assert_eq!((view.row_stride(), view.col_stride(), view[(1, 2)]), (0, 0, 1.5));
    assert_eq!(Tensor::from(view), ones);
    let none = Tensor::<Concrete, 2>::zeros([0, 3]);
    assert_eq!(MatRef::from(&none).shape(), (0, 3));
    assert_eq!(Tensor::from(MatRef::from(&none)), none);
}

#[test]
fn any_layout_keeps_its_indices() {
    let m = mat![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let x = tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(Tensor::from(&m), x);
    assert_eq!(Tensor::from(m.transpose()), x.t());
    assert_eq!(Tensor::from(m.submatrix(0, 1, 2, 2)), tensor([[2.0, 3.0], [5.0, 6.0]]));
    assert_eq!(Tensor::from(m.transpose().submatrix(1, 0, 2, 1)), tensor([[2.0], [3.0]]));
    assert_eq!(Tensor::from(m.reverse_rows_and_cols()), x.reverse(0).reverse(1));
    assert_eq!(Tensor::from(&Mat::<f32>::zeros(3, 0)), Tensor::zeros([3, 0]));
    // And back: into columns.
    assert_eq!(Mat::from(&x), m);
    assert_eq!(Mat::from(&Tensor::<Concrete, 2, i64>::full([2, 2], 7)), mat![[7, 7], [7, 7]]);
    assert_eq!(Tensor::from(&Mat::from(&tensor([[true, false]]))), tensor([[true, false]]));
}

#[test]
fn columns_there_and_back() {
    let x = tensor([1.0f32, 2.0, 3.0]);
    let view = ColRef::from(&x);
    assert_eq!((Some(view.as_ptr()), view[2]), (place(&x), 3.0));
    assert_eq!((Tensor::from(view), Col::from(&x)), (x.clone(), col![1.0, 2.0, 3.0]));
    assert_eq!(Tensor::from(&Col::from(&x)), x);
    let ones = Tensor::<Concrete, 1>::ones([4]);
    assert_eq!((ColRef::from(&ones).row_stride(), Tensor::from(ColRef::from(&ones))), (0, ones));
    assert_eq!(Tensor::from(&Col::<f64>::zeros(0)), Tensor::zeros([0]));
    // A row of a matrix, whose elements are not neighbors.
    let m = mat![[1.0, 2.0], [3.0, 4.0]];
    assert_eq!(Tensor::from(m.row(1).transpose()), tensor([3.0, 4.0]));
    assert_eq!(Tensor::from(m.col(1).reverse_rows()), tensor([4.0, 2.0]));
}

/// A view of a tensor is an operand of the products of `faer`, whose result is that of this library.
#[test]
fn products_agree() {
    let x = Tensor::<Concrete, 2>::from_fn([3, 2], |[i, j]| (i + 2 * j) as f64 - 1.5);
    let y = x.cos().t();
    let product: Mat<f64> = MatRef::from(&x) * MatRef::from(&y);
    assert!((Tensor::from(&product) - x.matmul(&y)).abs().max_all().item() < 1e-12);
    let v = tensor([2.0, -1.0]);
    let product: Col<f64> = MatRef::from(&x) * ColRef::from(&v);
    assert!((Tensor::from(&product) - x.matvec(&v)).abs().max_all().item() < 1e-12);
}

/// Rows without elements, columns without elements, and a row of several.
#[test]
fn sparse_matrices_have_the_elements_of_triplets() {
    let x = tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let rows = |x: &Tensor<Term, 1>| x.take(&Tensor::constant([3, 9, 1, 3])) * x.take(&Tensor::constant([0, 9, 1, 4]));
    let j = sparse_jacobian(rows, &x);
    let (found, values, columns) = (j.run(&x).expect("six"), j.values(&x).expect("six"), j.pattern().by_columns());
    let by_rows = SparseRowMat::<usize, f64>::from(&found);
    let by_columns = SparseColMat::<usize, f64>::from(&found);
    let dense = Mat::from(&found.to_dense());
    assert_eq!((by_rows.to_dense(), by_columns.to_dense()), (dense.clone(), dense));
    let made = SparseRowMat::new(SymbolicSparseRowMat::from(j.pattern()), values.clone());
    assert_eq!((made.val(), made.to_dense()), (by_rows.val(), by_rows.to_dense()));
    let made = SparseColMat::new(SymbolicSparseColMat::from(&columns), columns.values(&values));
    assert_eq!((made.val(), made.to_dense()), (by_columns.val(), by_columns.to_dense()));
}

/// Eigenvalues and singular values multiply to the matrix, and scale with it to the bit.
#[test]
fn factors_are_what_they_should_be() {
    for n in [1, 2, 5, 17, 60] {
        let a = Tensor::<Concrete, 2>::from_raw(Array::normal(&[n, n], 0.0, 1.0, n as u64));
        let near = |x: &Tensor<Concrete, 2>, y: &Tensor<Concrete, 2>| {
            assert!((x - y).abs().max_all().item() <= 1e-12 * n as f64, "{n} rows");
        };
        let one = Tensor::<Concrete, 2>::eye(n);
        let symmetric = (&a + &a.t()) * 0.5;
        let (w, v) = symmetric.eigh::<1>();
        near(&symmetric.matmul(&v), &(&v * w.expand::<2>()));
        near(&v.t().matmul(&v), &one);
        assert!(w.to_vec().is_sorted());
        let power = 2f64.powi(700);
        assert_eq!((&symmetric * power).eigh::<1>(), (&w * power, v));
        for rows in [n, n + 3] {
            let a = Tensor::<Concrete, 2>::from_raw(Array::normal(&[rows, n], 0.0, 1.0, 9));
            for a in [a.t(), a] {
                let (u, s, vt) = a.svd::<1>();
                near(&(&u * s.expand::<2>()).matmul(&vt), &a);
                near(&u.t().matmul(&u), &one);
                near(&vt.matmul(&vt.t()), &one);
                assert!(s.to_vec().is_sorted_by(|x, y| x >= y));
                assert_eq!((&a * power).svd::<1>(), (u, s * power, vt));
            }
        }
    }
    let bad = tensor([[1.0, f64::NAN], [0.0, 1.0]]);
    assert!(bad.eigh::<1>().0.to_vec().iter().chain(&bad.svd::<1>().1.to_vec()).all(|x| x.is_nan()));
}
