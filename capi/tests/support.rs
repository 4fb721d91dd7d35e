//! The interface as a caller uses it: handles that free themselves, and texts of errors.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use polygrad_capi::functions::*;
use polygrad_capi::{Handle, LentArray, Status};

/// `sum a * x^3` of two vectors, as JAX writes it.
pub(crate) const CUBES: &str = r#"
module @jit_cubes {
  func.func public @main(%arg0: tensor<3xf64>, %arg1: tensor<3xf64>) -> (tensor<f64>) {
    %cst = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<3xf64>
    %1 = stablehlo.multiply %0, %arg0 : tensor<3xf64>
    %2 = stablehlo.multiply %1, %arg1 : tensor<3xf64>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0]
      : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    return %3 : tensor<f64>
  }
}"#;

/// A function that is freed.
pub(crate) struct Owned(pub(crate) *mut Handle);

// The interface says so.
unsafe impl Send for Owned {}
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by the interface, freed once.
        unsafe { pg_function_free(self.0) }
    }
}

/// The text of the last error.
pub(crate) fn error() -> String {
    // SAFETY: a string that lives until the next error.
    unsafe { CStr::from_ptr(pg_last_error()) }.to_str().expect("UTF-8").to_owned()
}

/// What a call makes.
pub(crate) fn made(make: impl FnOnce(*mut *mut Handle) -> Status) -> Result<Owned, (Status, String)> {
    let mut out = ptr::dangling_mut();
    match make(&mut out) {
        Status::Ok => Ok(Owned(out)),
        status @ (Status::Argument | Status::Program | Status::Refused) => {
            assert!(out.is_null(), "on an error the place of a function holds null");
            Err((status, error()))
        }
    }
}

/// The text that a call makes.
pub(crate) fn text(make: impl FnOnce(*mut *mut c_char) -> Status) -> Result<String, (Status, String)> {
    let mut out = ptr::dangling_mut();
    match make(&mut out) {
        // SAFETY: a string of the interface, freed once.
        Status::Ok => unsafe {
            let text = CStr::from_ptr(out).to_str().expect("UTF-8").to_owned();
            pg_string_free(out);
            Ok(text)
        },
        status @ (Status::Argument | Status::Program | Status::Refused) => {
            assert!(out.is_null(), "on an error the place of a text holds null");
            Err((status, error()))
        }
    }
}

pub(crate) fn imported(module: &str) -> Result<Owned, (Status, String)> {
    // SAFETY: a slice of bytes.
    made(|out| unsafe { pg_function_from_stablehlo(module.as_ptr().cast(), module.len(), out) })
}

pub(crate) fn loaded(saved: &str) -> Result<Owned, (Status, String)> {
    // SAFETY: a slice of bytes.
    made(|out| unsafe { pg_function_load(saved.as_ptr().cast(), saved.len(), out) })
}

/// What is written for CasADi of a module.
pub(crate) fn casadi(module: &str, name: &CStr, derivatives: usize) -> Result<String, (Status, String)> {
    let f = imported(module)?;
    // SAFETY: a handle, a name and a place.
    text(|out| unsafe { pg_function_to_casadi(f.0, name.as_ptr(), derivatives, out) })
}

/// The description, the build description and the file of C of an FMU.
pub(crate) fn fmi(
    module: &str,
    name: &CStr,
    roles: &CStr,
    starts: Option<&[f64]>,
) -> Result<[String; 3], (Status, String)> {
    let f = imported(module)?;
    let (at, len) = starts.map_or((ptr::null(), 0), |starts| (starts.as_ptr(), starts.len()));
    let [mut build, mut code] = [ptr::dangling_mut(); 2];
    // SAFETY: a handle, strings, a slice and places; texts of the interface are freed once.
    unsafe {
        let description =
            text(|out| pg_function_to_fmi(f.0, name.as_ptr(), roles.as_ptr(), at, len, out, &mut build, &mut code));
        let [build, code] = [build, code].map(|text| match text.is_null() {
            true => String::new(),
            false => {
                let copy = CStr::from_ptr(text).to_str().expect("UTF-8").to_owned();
                pg_string_free(text);
                copy
            }
        });
        Ok([description?, build, code])
    }
}

/// The type of the entry points of derivatives.
pub(crate) type Derive = unsafe extern "C" fn(*const Handle, *const usize, usize, *mut *mut Handle) -> Status;

pub(crate) fn derived(f: &Owned, by: Derive, wrt: Option<&[usize]>) -> Result<Owned, (Status, String)> {
    let (at, len) = wrt.map_or((ptr::null(), 0), |wrt| (wrt.as_ptr(), wrt.len()));
    // SAFETY: a handle and a slice.
    made(|out| unsafe { by(f.0, at, len, out) })
}

/// The results of a function of `f64`, `len` elements.
pub(crate) fn run(f: &Owned, x: &[f64], len: usize) -> Result<Vec<f64>, (Status, String)> {
    let mut y = vec![f64::NAN; len];
    // SAFETY: a handle and slices.
    match unsafe { pg_function_run_f64(f.0, x.as_ptr(), x.len(), y.as_mut_ptr(), y.len()) } {
        Status::Ok => Ok(y),
        status @ (Status::Argument | Status::Program | Status::Refused) => Err((status, error())),
    }
}

/// An array of the interface.
pub(crate) fn array<E>(dtype: i32, elements: &mut [E]) -> LentArray {
    LentArray { dtype, size: elements.len(), data: elements.as_mut_ptr().cast::<c_void>() }
}

/// Name, element type and shape of a slot.
pub(crate) fn slot(
    f: &Owned,
    k: usize,
    of: unsafe extern "C" fn(*const Handle, usize, *mut SlotView) -> Status,
) -> (String, i32, Vec<usize>) {
    let mut view = SlotView { name: ptr::null(), dtype: -1, rank: 0, shape: ptr::null(), size: 0 };
    // SAFETY: what the view points to lives as long as the function.
    unsafe {
        assert_eq!(of(f.0, k, &mut view), Status::Ok, "{}", error());
        let shape = std::slice::from_raw_parts(view.shape, view.rank).to_vec();
        assert_eq!(view.size, shape.iter().product::<usize>());
        (CStr::from_ptr(view.name).to_str().expect("UTF-8").to_owned(), view.dtype, shape)
    }
}
