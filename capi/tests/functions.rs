//! Loading, slots, runs, bounds and texts.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use polygrad::{Array, BaseTensor, Function, Tensor, tensor};
use polygrad_capi::Status;
use polygrad_capi::functions::*;

use crate::support::{CUBES, array, derived, error, imported, loaded, made, run, slot, text};

/// A function of all element types, recorded in Rust and saved.
fn mixed() -> String {
    type Inputs<T> = (Tensor<T, 1>, Tensor<T, 1, f32>, Tensor<T, 0, i64>, Tensor<T, 1, bool>);
    fn f<T: BaseTensor>((x, s, n, on): &Inputs<T>) -> Inputs<T> {
        (on.select(x.square(), x), s * 2.0, n + 1, !on)
    }
    let x: Inputs<Array> = (tensor([1.0, 2.0]), tensor([1f32]), tensor(3), tensor([true, false]));
    serde_json::to_string(Function::stage(f, &x).optimized()).expect("saved")
}

#[test]
fn slots_are_those_of_the_text() {
    let f = imported(CUBES).expect("a module");
    let (mut inputs, mut outputs) = (0, 0);
    // SAFETY: a handle and places.
    unsafe {
        assert_eq!(pg_function_input_count(f.0, &mut inputs), Status::Ok);
        assert_eq!(pg_function_output_count(f.0, &mut outputs), Status::Ok);
    }
    assert_eq!((inputs, outputs), (2, 1));
    assert_eq!(slot(&f, 1, pg_function_input), ("arg1".into(), 0, vec![3]));
    assert_eq!(slot(&f, 0, pg_function_output).1..=slot(&f, 0, pg_function_output).1, 0..=0);
    assert_eq!(slot(&f, 0, pg_function_output).2, Vec::<usize>::new());
    assert_eq!(run(&f, &[1.0, 2.0, 3.0, 1.0, 10.0, 100.0], 1), Ok(vec![2781.0]));
}

/// The parts of complex numbers are known by their names, in saved functions and in derivatives, too.
#[test]
fn complex_numbers_are_two_slots() {
    let square =
        "func.func @main(%z: tensor<2xcomplex<f64>>, %x: tensor<f64>) -> (tensor<2xcomplex<f64>>, tensor<f64>) {
      %0 = stablehlo.multiply %z, %z : tensor<2xcomplex<f64>>
      return %0, %x : tensor<2xcomplex<f64>>, tensor<f64>
    }";
    let f = imported(square).expect("a module");
    // SAFETY: a handle and a place.
    let again = loaded(&text(|out| unsafe { pg_function_save(f.0, out) }).expect("saved")).expect("loaded");
    for f in [&f, &again] {
        assert_eq!([0, 1, 2].map(|k| slot(f, k, pg_function_input).0), ["z.re", "z.im", "x"]);
        assert_eq!([0, 1].map(|k| slot(f, k, pg_function_output).0), ["y0.re", "y0.im"]);
        assert_eq!(run(f, &[1.0, 3.0, 2.0, 0.0, 5.0], 5), Ok(vec![-3.0, 9.0, 4.0, 0.0, 5.0]));
    }
    let products = derived(&f, pg_function_jvp, Some(&[0, 1])).expect("a derivative");
    assert_eq!([3, 4].map(|k| slot(&products, k, pg_function_output).0), ["y0.re_dot", "y0.im_dot"]);
}

#[test]
fn saved_functions_load() {
    let f = imported(CUBES).expect("a module");
    // SAFETY: a handle and a place.
    let saved = text(|out| unsafe { pg_function_save(f.0, out) }).expect("saved");
    let again = loaded(&saved).expect("loaded");
    let x = [0.5, -2.0, 3.0, 1.0, 7.0, 11.0];
    assert_eq!(run(&again, &x, 1), run(&f, &x, 1));
    assert_eq!(slot(&again, 0, pg_function_input), slot(&f, 0, pg_function_input));
}

#[test]
fn arrays_of_all_types_run() {
    let f = loaded(&mixed()).expect("loaded");
    assert_eq!([0, 1, 2, 3].map(|k| slot(&f, k, pg_function_input).1), [0, 1, 2, 3]);
    let (mut x, mut s, mut n, mut on) = ([3.0, 5.0], [1.5f32], [41i64], [1u8, 0]);
    let inputs = [array(0, &mut x), array(1, &mut s), array(2, &mut n), array(3, &mut on)];
    // Bytes that are not truth values lie where results go.
    let (mut y, mut t, mut m, mut off) = ([f64::NAN; 2], [0f32], [0i64], [7u8, 9]);
    let outputs = [array(0, &mut y), array(1, &mut t), array(2, &mut m), array(3, &mut off)];
    // SAFETY: arrays that live.
    let status = unsafe { pg_function_run(f.0, inputs.as_ptr(), 4, outputs.as_ptr(), 4) };
    assert_eq!(status, Status::Ok, "{}", error());
    assert_eq!((y, t, m, off), ([9.0, 5.0], [3.0], [42], [0, 1]));
}

/// Results that are inputs, and one result twice.
#[test]
fn results_may_be_inputs() {
    let f = Function::stage(
        |(x, y): &(Tensor<_, 1>, Tensor<_, 1>)| (y.clone(), x + y, x + y, x.clone()),
        &(tensor([0.0, 0.0]), tensor([0.0, 0.0])),
    );
    let f = loaded(&serde_json::to_string(f.optimized()).expect("saved")).expect("loaded");
    assert_eq!(run(&f, &[1.0, 2.0, 10.0, 20.0], 8), Ok(vec![10.0, 20.0, 11.0, 22.0, 11.0, 22.0, 1.0, 2.0]));
}

#[test]
fn bounds_enclose() {
    let f = imported(CUBES).expect("a module");
    let (mut low, mut high, mut a) = ([0.0, 1.0, -1.0], [1.0, 2.0, 1.0], [1.0, 10.0, 100.0]);
    let (mut least, mut most) = ([f64::NAN], [f64::NAN]);
    let (lower, upper) = ([array(0, &mut low), array(0, &mut a)], [array(0, &mut high), array(0, &mut a)]);
    let places = [array(0, &mut least), array(0, &mut most)];
    // SAFETY: arrays that live.
    let status = unsafe { pg_function_bounds(f.0, lower.as_ptr(), upper.as_ptr(), 2, &places[0], &places[1], 1) };
    assert_eq!(status, Status::Ok, "{}", error());
    assert!(least[0] <= -90.0 && least[0] > -191.0 && most[0] >= 181.0 && most[0] < 182.0, "{least:?} {most:?}");
    // SAFETY: as above.
    let status = unsafe { pg_function_bounds(f.0, upper.as_ptr(), lower.as_ptr(), 2, &places[0], &places[1], 1) };
    assert_eq!(status, Status::Refused);
    assert!(error().starts_with("enclose: a lower bound must not be larger"), "{}", error());
}

#[test]
fn texts_are_those_of_the_library() {
    let f = imported(CUBES).expect("a module");
    let slope = derived(&f, pg_function_grad, Some(&[0])).expect("a gradient");
    // SAFETY: a handle and places.
    unsafe {
        let program = text(|out| pg_function_text(slope.0, out)).expect("a text");
        assert!(
            program.starts_with("program(arg0: f64[3], arg1: f64[3])") && program.contains("arg0_grad"),
            "{program}"
        );
        let explained = text(|out| pg_function_explain(slope.0, out)).expect("a text");
        assert!(explained.contains("gradient, 1 result in 3 inputs"), "{explained}");
        let rust = text(|out| pg_function_to_rust(slope.0, c"slope".as_ptr(), out)).expect("a text");
        assert!(rust.contains("pub fn slope("), "{rust}");
        let module = text(|out| pg_function_to_stablehlo(slope.0, c"slope".as_ptr(), out)).expect("a text");
        let again = imported(&module).expect("its own export");
        assert_eq!(run(&again, &[1.0, 2.0, 3.0, 1.0, 10.0, 100.0], 3), Ok(vec![3.0, 120.0, 2700.0]));
        let mut header = ptr::null_mut();
        let code = text(|out| pg_function_to_c(slope.0, c"slope".as_ptr(), out, &mut header)).expect("a text");
        assert!(code.contains("#include \"slope.h\"") && CStr::from_ptr(header).to_string_lossy().contains("slope("));
        pg_string_free(header);
        let refused = text(|out| pg_function_to_rust(slope.0, c"fn".as_ptr(), out));
        assert!(matches!(&refused, Err((Status::Refused, _))), "{refused:?}");
    }
}

#[test]
fn known_inputs_are_no_inputs() {
    let f = imported(CUBES).expect("a module");
    let mut a = [1.0, 10.0, 100.0];
    let known = array(0, &mut a);
    // SAFETY: a handle and an array.
    let bound = made(|out| unsafe { pg_function_bind(f.0, 1, &known, out) }).expect("bound");
    assert_eq!(run(&bound, &[1.0, 2.0, 3.0], 1), Ok(vec![2781.0]));
    let first = made(|out| unsafe { pg_function_bind(f.0, 0, &known, out) }).expect("bound");
    assert_eq!(slot(&first, 0, pg_function_input).0, "arg1");
    assert_eq!(run(&first, &[1.0, 0.0, 0.0], 1), Ok(vec![1.0]));
}

/// Threads that use one function at once, the first run included.
#[test]
fn threads_share_a_function() {
    let f = imported(CUBES).expect("a module");
    let both = derived(&f, pg_function_value_and_grad, Some(&[0])).expect("a gradient");
    std::thread::scope(|scope| {
        for k in 0..8 {
            let both = &both;
            scope.spawn(move || {
                for round in 0..200 {
                    let x = f64::from(k + round);
                    let y = run(both, &[x, 0.0, 0.0, 2.0, 1.0, 1.0], 4);
                    assert_eq!(y, Ok(vec![2.0 * x * x * x, 6.0 * x * x, 0.0, 0.0]));
                    // An error belongs to its thread.
                    assert!(run(both, &[x], 4).is_err() && error().contains("there are 1;"), "{}", error());
                }
            });
        }
    });
}
