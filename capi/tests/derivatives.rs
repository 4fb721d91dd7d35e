//! Derivatives of a function with known derivatives, in some inputs, in all, and of derivatives.

#![allow(unsafe_code)]

use std::ptr;

use polygrad::{BaseTensor, Function, Tensor, tensor};
use polygrad_capi::functions::*;
use polygrad_capi::{Handle, Status};

use crate::support::{CUBES, Derive, Owned, array, derived, error, imported, loaded, made, run, slot};

/// `sum a x^3` with these `x`, then these `a`.
const X: [f64; 6] = [1.0, -2.0, 3.0, 1.0, 10.0, 100.0];

fn with(more: &[f64]) -> Vec<f64> {
    [&X[..], more].concat()
}

fn names(f: &Owned, of: unsafe extern "C" fn(*const Handle, usize, *mut SlotView) -> Status, n: usize) -> Vec<String> {
    (0..n).map(|k| slot(f, k, of).0).collect()
}

#[test]
fn gradients_in_some_inputs() {
    let f = imported(CUBES).expect("a module");
    let (first, second) = ([3.0, 120.0, 2700.0], [1.0, -8.0, 27.0]);
    let all = derived(&f, pg_function_grad, None).expect("a gradient");
    assert_eq!(run(&all, &X, 6), Ok([first, second].concat()));
    assert_eq!(names(&all, pg_function_output, 2), ["arg0_grad", "arg1_grad"]);
    // The order of outputs is that of the positions; the order of inputs is that of the function.
    let turned = derived(&f, pg_function_grad, Some(&[1, 0])).expect("a gradient");
    assert_eq!(run(&turned, &X, 6), Ok([second, first].concat()));
    assert_eq!(names(&turned, pg_function_input, 2), ["arg0", "arg1"]);
    let one = derived(&f, pg_function_value_and_grad, Some(&[1])).expect("a gradient");
    assert_eq!(run(&one, &X, 4), Ok([&[2621.0][..], &second].concat()));
}

#[test]
fn products_take_directions_last() {
    let f = imported(CUBES).expect("a module");
    let jvp = derived(&f, pg_function_jvp, Some(&[1])).expect("tangents");
    assert_eq!(names(&jvp, pg_function_input, 3), ["arg0", "arg1", "arg1_dot"]);
    assert_eq!(run(&jvp, &with(&[1.0, 1.0, 2.0]), 2), Ok(vec![2621.0, 1.0 - 8.0 + 54.0]));
    let vjp = derived(&f, pg_function_vjp, Some(&[0])).expect("cotangents");
    assert_eq!(names(&vjp, pg_function_input, 3)[2], "y_bar");
    assert_eq!(run(&vjp, &with(&[2.0]), 4), Ok(vec![2621.0, 6.0, 240.0, 5400.0]));
    let hvp = derived(&f, pg_function_hvp, None).expect("a product");
    // The Hessian has 6 a x on the diagonal, and 3 x^2 between x and a.
    let y = run(&hvp, &with(&[1.0, 1.0, 1.0, 0.0, 0.0, 1.0]), 6);
    assert_eq!(y, Ok(vec![6.0, -120.0, 1800.0 + 27.0, 3.0, 12.0, 27.0]));
}

#[test]
fn matrices() {
    let f = imported(CUBES).expect("a module");
    let jacobian = derived(&f, pg_function_jacobian, Some(&[1])).expect("a matrix");
    assert_eq!(slot(&jacobian, 0, pg_function_output).2, [1, 3]);
    assert_eq!(run(&jacobian, &X, 3), Ok(vec![1.0, -8.0, 27.0]));
    let hessian = derived(&f, pg_function_hessian, Some(&[0])).expect("a matrix");
    assert_eq!(run(&hessian, &X, 9), Ok(vec![6.0, 0.0, 0.0, 0.0, -120.0, 0.0, 0.0, 0.0, 1800.0]));
    // The derivative of a derivative.
    let slope = derived(&f, pg_function_grad, Some(&[0])).expect("a gradient");
    let again = derived(&slope, pg_function_jacobian, Some(&[0])).expect("a matrix");
    assert_eq!(run(&again, &X, 9), run(&hessian, &X, 9));
}

/// The shape of a pattern, its row pointers and its columns.
type Pattern = (usize, usize, Vec<usize>, Vec<usize>);

fn pattern(f: &Owned) -> Result<Pattern, (Status, String)> {
    let mut view =
        PatternView { rows: 0, columns: 0, nonzeros: 0, row_pointers: ptr::null(), column_indices: ptr::null() };
    // SAFETY: what the view points to lives as long as the function.
    unsafe {
        match pg_function_pattern(f.0, &mut view) {
            Status::Ok => Ok((
                view.rows,
                view.columns,
                std::slice::from_raw_parts(view.row_pointers, view.rows + 1).to_vec(),
                std::slice::from_raw_parts(view.column_indices, view.nonzeros).to_vec(),
            )),
            status @ (Status::Argument | Status::Program | Status::Refused) => Err((status, error())),
        }
    }
}

#[test]
fn sparse_matrices_have_patterns() {
    let f = imported(CUBES).expect("a module");
    let hessian = derived(&f, pg_function_sparse_hessian, Some(&[0])).expect("a matrix");
    assert_eq!(pattern(&hessian), Ok((3, 3, vec![0, 1, 2, 3], vec![0, 1, 2])));
    assert_eq!(run(&hessian, &X, 3), Ok(vec![6.0, -120.0, 1800.0]));
    let both = derived(&f, pg_function_sparse_hessian, None).expect("a matrix");
    assert_eq!(pattern(&both).expect("a pattern").3.len(), 9);
    let jacobian = derived(&f, pg_function_sparse_jacobian, Some(&[1])).expect("a matrix");
    assert_eq!(pattern(&jacobian), Ok((1, 3, vec![0, 3], vec![0, 1, 2])));
    assert_eq!(run(&jacobian, &X, 3), Ok(vec![1.0, -8.0, 27.0]));
    let refused = pattern(&f);
    assert!(
        matches!(&refused, Err((Status::Argument, text)) if text.contains("must be a sparse matrix")),
        "{refused:?}"
    );
}

/// `x[i] * s`, with an index that decides on the pattern.
fn indexed<T: BaseTensor>((x, i): &(Tensor<T, 1>, Tensor<T, 1, i64>)) -> Tensor<T, 1> {
    x.take(i).square()
}

#[test]
fn indices_are_known_before_a_pattern() {
    let recorded = Function::stage(indexed, &(tensor([1.0, 2.0, 3.0]), tensor([0, 0])));
    let f = loaded(&serde_json::to_string(recorded.optimized()).expect("saved")).expect("loaded");
    let refused = derived(&f, pg_function_sparse_jacobian, None).map(|_| ());
    assert!(matches!(&refused, Err((Status::Argument, text)) if text.contains("bind it first")), "{refused:?}");
    let mut i = [2i64, 0];
    let known = array(2, &mut i);
    // SAFETY: a handle and an array.
    let bound = made(|out| unsafe { pg_function_bind(f.0, 1, &known, out) }).expect("bound");
    let jacobian = derived(&bound, pg_function_sparse_jacobian, None).expect("a matrix");
    assert_eq!(pattern(&jacobian), Ok((2, 3, vec![0, 1, 2], vec![2, 0])));
    assert_eq!(run(&jacobian, &[1.0, 2.0, 3.0], 2), Ok(vec![6.0, 2.0]));
}

#[test]
fn floats_of_32_bits() {
    let f = Function::stage(|x: &Tensor<_, 1, f32>| x.square().sum(), &tensor([0f32, 0.0]));
    let f = loaded(&serde_json::to_string(f.optimized()).expect("saved")).expect("loaded");
    let both = derived(&f, pg_function_value_and_grad, None).expect("a gradient");
    let mut y = [0f32; 3];
    // SAFETY: a handle and slices.
    let status = unsafe { pg_function_run_f32(both.0, [3f32, 4.0].as_ptr(), 2, y.as_mut_ptr(), 3) };
    assert_eq!((status, y), (Status::Ok, [25.0, 6.0, 8.0]));
    assert!(run(&both, &[3.0, 4.0], 3).is_err() && error().contains("use pg_function_run"), "{}", error());
}

#[test]
fn derivatives_that_do_not_exist_are_errors() {
    let f = Function::stage(|x: &Tensor<_, 1>| x.square(), &tensor([0.0, 0.0]));
    let f = loaded(&serde_json::to_string(f.optimized()).expect("saved")).expect("loaded");
    let of_number: [(&str, Derive); 5] = [
        ("grad", pg_function_grad),
        ("value_and_grad", pg_function_value_and_grad),
        ("hvp", pg_function_hvp),
        ("hessian", pg_function_hessian),
        ("sparse_hessian", pg_function_sparse_hessian),
    ];
    for (verb, by) in of_number {
        let refused = derived(&f, by, None).map(|_| ());
        let words = format!("{verb}: the function must return one float of rank 0, but it returns f64 [2]");
        assert!(matches!(&refused, Err((Status::Argument, text)) if text.starts_with(&words)), "{refused:?}");
    }
}
