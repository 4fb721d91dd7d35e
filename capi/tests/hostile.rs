//! Hostile arguments: null, wrong lengths and types, texts that are not UTF-8, positions out of range, overlapping memory.
//! Each is an error in words, and the functions still run after it.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

use polygrad::{Function, Tensor, tensor};
use polygrad_capi::functions::*;
use polygrad_capi::{Handle, LentArray, Status};

use crate::support::{CUBES, Derive, array, derived, error, imported, loaded, made, run, text};

/// The function returned the code of wrong arguments, and its text has these words.
#[track_caller]
fn argument(status: Status, words: &str) {
    assert_eq!(status, Status::Argument, "{}", error());
    assert!(error().contains(words), "{:?} does not say {words:?}", error());
}

const DERIVATIVES: [Derive; 9] = [
    pg_function_grad,
    pg_function_value_and_grad,
    pg_function_jvp,
    pg_function_vjp,
    pg_function_hvp,
    pg_function_jacobian,
    pg_function_hessian,
    pg_function_sparse_jacobian,
    pg_function_sparse_hessian,
];

#[test]
fn null_is_free() {
    // SAFETY: null is allowed.
    unsafe {
        pg_function_free(ptr::null_mut());
        pg_string_free(ptr::null_mut());
    }
}

/// Each address of each function, null in its turn.
#[test]
fn null_is_an_error_everywhere() {
    let f = imported(CUBES).expect("a module");
    let (no, nowhere) = (ptr::null::<Handle>(), ptr::null_mut());
    let (mut out, mut n, mut chars) = (ptr::null_mut::<Handle>(), 0, ptr::null_mut());
    let mut y = [0.0];
    // SAFETY: null and addresses of what they name.
    unsafe {
        for text in [ptr::null(), c"".as_ptr()] {
            let status = pg_function_from_stablehlo(text, 0, &mut out);
            assert_eq!((status, error().contains("line 1, column 1: ")), (Status::Program, true), "{}", error());
            assert_eq!(pg_function_load(text, 0, &mut out), Status::Program);
        }
        argument(pg_function_from_stablehlo(ptr::null(), 5, &mut out), "the module must have an address");
        argument(pg_function_load(ptr::null(), 5, &mut out), "the saved program must have an address");
        argument(pg_function_from_stablehlo(CUBES.as_ptr().cast(), CUBES.len(), nowhere), "the place for the function");
        argument(pg_function_load(c"1".as_ptr(), 1, nowhere), "the place for the function");
        argument(pg_function_input_count(no, &mut n), "the function must have an address, but it is null; pass one");
        argument(pg_function_input_count(f.0, ptr::null_mut()), "the place for the number");
        argument(pg_function_output_count(no, &mut n), "the function");
        argument(pg_function_input(f.0, 0, ptr::null_mut()), "the place for the slot");
        argument(pg_function_output(no, 0, ptr::null_mut()), "the function");
        argument(pg_function_run(no, ptr::null(), 0, ptr::null(), 0), "the function");
        argument(pg_function_run(f.0, ptr::null(), 2, ptr::null(), 1), "the inputs must have an address");
        argument(
            pg_function_run_f64(f.0, ptr::null(), 6, y.as_mut_ptr(), 1),
            "the slice of inputs must have an address",
        );
        argument(pg_function_run_f64(f.0, [0.0; 6].as_ptr(), 6, ptr::null_mut(), 1), "the slice of outputs");
        argument(pg_function_run_f64(no, ptr::null(), 0, ptr::null_mut(), 0), "the function");
        argument(pg_function_run_f32(no, ptr::null(), 0, ptr::null_mut(), 0), "the function");
        argument(pg_function_pattern(no, ptr::null_mut()), "the function");
        argument(pg_function_bind(f.0, 0, ptr::null(), &mut out), "the array must have an address");
        argument(pg_function_bounds(f.0, ptr::null(), ptr::null(), 2, ptr::null(), ptr::null(), 1), "the lower bounds");
        for by in DERIVATIVES {
            argument(by(no, ptr::null(), 0, &mut out), "the function");
            argument(by(f.0, ptr::null(), 2, &mut out), "the positions must have an address");
            argument(by(f.0, ptr::null(), 0, nowhere), "the place for the function");
        }
        for of in [pg_function_save, pg_function_text, pg_function_explain] {
            argument(of(no, &mut chars), "the function");
            argument(of(f.0, ptr::null_mut()), "the place for the text");
        }
        for of in [pg_function_to_rust, pg_function_to_stablehlo] {
            argument(of(f.0, ptr::null(), &mut chars), "the name must have an address");
            argument(of(no, c"f".as_ptr(), &mut chars), "the function");
        }
        argument(pg_function_to_casadi(no, c"f".as_ptr(), 2, &mut chars), "the function");
        argument(pg_function_to_casadi(f.0, ptr::null(), 2, &mut chars), "the name must have an address");
        argument(pg_function_to_casadi(f.0, c"f".as_ptr(), 2, ptr::null_mut()), "the place for the text");
        let (mut a, mut b, name) = (ptr::null_mut(), ptr::null_mut(), c"f".as_ptr());
        let mut fmi =
            |f, name, roles, len| pg_function_to_fmi(f, name, roles, ptr::null(), len, &mut a, &mut b, &mut chars);
        argument(fmi(no, name, c"pp".as_ptr(), 0), "the function");
        argument(fmi(f.0, ptr::null(), c"pp".as_ptr(), 0), "the name must have an address");
        argument(fmi(f.0, name, ptr::null(), 0), "the roles must have an address");
        argument(fmi(f.0, name, c"\xff".as_ptr(), 0), "the roles must be UTF-8");
        argument(fmi(f.0, name, c"pp".as_ptr(), 6), "the start values must have an address");
        argument(
            pg_function_to_fmi(f.0, name, c"pp".as_ptr(), ptr::null(), 0, &mut a, &mut b, ptr::null_mut()),
            "the place for the text",
        );
        argument(pg_function_to_c(f.0, c"f".as_ptr(), &mut chars, ptr::null_mut()), "the place for the text");
        argument(pg_function_to_rust(f.0, c"\xff".as_ptr(), &mut chars), "the name must be UTF-8");
    }
    assert_eq!(run(&f, &[1.0; 6], 1), Ok(vec![3.0]));
}

#[test]
fn texts_that_are_not_read() {
    let refused = |result: Result<_, (Status, String)>| result.map(|_: crate::support::Owned| ()).expect_err("refused");
    // SAFETY: slices of bytes.
    let bytes = refused(made(|out| unsafe { pg_function_from_stablehlo(b"abc\xff".as_ptr().cast(), 4, out) }));
    assert_eq!(bytes, (Status::Argument, "the module must be UTF-8, but it is not from byte 3 on; encode it".into()));
    let (status, words) =
        refused(imported("func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {\n  return %y : tensor<2xf64>\n}"));
    assert!(status == Status::Program && words.contains("line 2, column 10"), "{words}");
    let (status, words) =
        refused(imported("func.func @main(%x: tensor<?xf64>) -> tensor<?xf64> {\n  return %x : tensor<?xf64>\n}"));
    assert_eq!(status, Status::Program, "{words}");
    for saved in ["", "{}", "[1, 2]", "{\"format\":7,\"programs\":[]}", &"[".repeat(100_000), "\u{0}"] {
        assert_eq!(refused(loaded(saved)).0, Status::Program);
    }
    let (_, words) = refused(loaded("{\"format\":7,\"programs\":[]}"));
    assert!(words.contains("the format must be 1, but it is 7"), "{words}");
}

#[test]
fn positions_are_checked() {
    let f = imported(CUBES).expect("a module");
    let mut view = SlotView { name: ptr::null(), dtype: 0, rank: 0, shape: ptr::null(), size: 0 };
    let (mut a, mut out) = ([0.0; 3], ptr::null_mut());
    let known = array(0, &mut a);
    // SAFETY: addresses of what they name.
    unsafe {
        argument(pg_function_input(f.0, 2, &mut view), "must be below the number of inputs, 2, but one is 2");
        argument(pg_function_output(f.0, usize::MAX, &mut view), "must be below the number of outputs, 1");
        argument(pg_function_bind(f.0, 2, &known, &mut out), "must be below the number of inputs, 2, but one is 2");
        for by in DERIVATIVES {
            argument(
                by(f.0, [5].as_ptr(), 1, &mut out),
                "wrt: positions must be below the number of inputs, 2, but one is 5",
            );
            argument(by(f.0, [1, 1].as_ptr(), 2, &mut out), "wrt: positions must differ, but 1 occurs twice");
            argument(by(f.0, [1].as_ptr(), usize::MAX, &mut out), "must be aligned and fit into memory");
            assert!(out.is_null());
        }
    }
}

#[test]
fn arrays_are_checked() {
    let f = imported(CUBES).expect("a module");
    let (mut x, mut a, mut y) = ([1.0; 3], [2.0; 4], [0.0]);
    let good = [array(0, &mut x), array(0, &mut a[..3])];
    let place = array(0, &mut y);
    let run = |inputs: &[LentArray], outputs: &[LentArray]| {
        // SAFETY: addresses that are null, misaligned, or those of elements.
        unsafe { pg_function_run(f.0, inputs.as_ptr(), inputs.len(), outputs.as_ptr(), outputs.len()) }
    };
    argument(run(&good[..1], &[place]), "there must be one array for each input, but they are 1 and 2; pass as many");
    argument(run(&good, &[]), "there must be one array for each output, but they are 0 and 1");
    let with = |second: LentArray| [good[0], second];
    argument(
        run(&with(LentArray { dtype: 1, ..good[1] }), &[place]),
        "input 1, \"arg1\", must have elements f64, but they are f32",
    );
    argument(run(&with(LentArray { dtype: -9, ..good[1] }), &[place]), "of the unknown type -9");
    for size in [0, 2, 4, usize::MAX] {
        argument(
            run(&with(LentArray { size, ..good[1] }), &[place]),
            "must have 3 elements, those of the shape [3], but it has",
        );
    }
    argument(
        run(&with(LentArray { data: ptr::null_mut(), ..good[1] }), &[place]),
        "must have an address, but it is null",
    );
    let odd = good[1].data.cast::<u8>().wrapping_add(3).cast::<c_void>();
    argument(run(&with(LentArray { data: odd, ..good[1] }), &[place]), "must lie at a multiple of 8 bytes");
    // The result lies in an input.
    argument(
        run(&good, &[LentArray { data: good[0].data.cast::<f64>().wrapping_add(2).cast(), ..place }]),
        "results must overlap",
    );
    assert_eq!(run(&good, &[place]), Status::Ok);
    assert_eq!(y, [6.0]);
    // SAFETY: slices.
    unsafe {
        argument(
            pg_function_run_f64(f.0, a.as_ptr(), 4, y.as_mut_ptr(), 1),
            "the inputs must have 6 elements, but there are 4",
        );
        argument(
            pg_function_run_f64(f.0, [0.0; 6].as_ptr(), 6, y.as_mut_ptr(), 0),
            "the outputs must have 1 elements, but there are 0",
        );
        let mut both = [1.0; 7];
        let at = both.as_mut_ptr();
        argument(pg_function_run_f64(f.0, at, 6, at.add(5), 1), "results must overlap no other array");
        assert_eq!(pg_function_run_f64(f.0, at, 6, at.add(6), 1), Status::Ok);
        assert_eq!(both[6], 3.0);
    }
}

#[test]
fn truth_values_are_checked() {
    let f = Function::stage(|on: &Tensor<_, 1, bool>| !on, &tensor([true, false]));
    let f = loaded(&serde_json::to_string(f.optimized()).expect("saved")).expect("loaded");
    let (mut on, mut off) = ([1u8, 2], [0u8; 2]);
    let (x, y) = (array(3, &mut on), array(3, &mut off));
    // SAFETY: arrays that live.
    unsafe {
        argument(pg_function_run(f.0, &x, 1, &y, 1), "must have truth values, bytes that are 0 or 1, but one is 2")
    };
}

/// A check of the program that fails is an error of the run, and the results are as before.
#[test]
fn failed_checks_are_errors() {
    let f =
        Function::stage(|x: &Tensor<_, 1>| (x.square(), x.check(&x.lt(1e300), "x must be small")), &tensor([0.0, 0.0]));
    let f = loaded(&serde_json::to_string(f.optimized()).expect("saved")).expect("loaded");
    assert_eq!(run(&f, &[1.0, 2.0], 4), Ok(vec![1.0, 4.0, 1.0, 2.0]));
    let mut y = [7.0; 4];
    // SAFETY: slices.
    let status = unsafe { pg_function_run_f64(f.0, [1.0, f64::NAN].as_ptr(), 2, y.as_mut_ptr(), 4) };
    assert_eq!((status, y), (Status::Refused, [7.0; 4]), "{}", error());
    assert!(error().contains("x must be small"), "{}", error());
    assert_eq!(run(&f, &[1.0, 2.0], 4), Ok(vec![1.0, 4.0, 1.0, 2.0]));
}

/// Arrays without elements need no address.
#[test]
fn empty_arrays_run() {
    let f = Function::stage(|x: &Tensor<_, 1>| (x.square(), x.sum()), &Tensor::zeros([0]));
    let f = loaded(&serde_json::to_string(f.optimized()).expect("saved")).expect("loaded");
    let mut sum = [f64::NAN];
    let none = LentArray { dtype: 0, size: 0, data: ptr::null_mut() };
    let places = [none, array(0, &mut sum)];
    // SAFETY: arrays that live, or have no elements.
    assert_eq!(unsafe { pg_function_run(f.0, &none, 1, places.as_ptr(), 2) }, Status::Ok, "{}", error());
    assert_eq!(sum, [0.0]);
    // SAFETY: as above.
    assert_eq!(unsafe { pg_function_run_f64(f.0, ptr::null(), 0, sum.as_mut_ptr(), 1) }, Status::Ok, "{}", error());
    let slope = derived(&f, pg_function_jacobian, None).expect("a matrix");
    assert_eq!(run(&slope, &[], 0), Ok(vec![]));
}

/// Names with zeros, which end a string in C, and with quotation marks.
#[test]
fn hostile_names() {
    let f = imported(CUBES).expect("a module");
    // SAFETY: a handle and a place.
    let saved = text(|out| unsafe { pg_function_save(f.0, out) }).expect("saved");
    let f = loaded(&saved.replace("\"arg0\"", "\"a\\u0000\\\"\\n;}\"")).expect("loaded");
    assert_eq!(crate::support::slot(&f, 0, pg_function_input).0, "a\\0\"\n;}");
    assert_eq!(run(&f, &[1.0; 6], 1), Ok(vec![3.0]));
    // SAFETY: a handle and a place.
    assert!(text(|out| unsafe { pg_function_to_rust(f.0, c"f".as_ptr(), out) }).is_ok());
}
