//! The entry points of BridgeStan's interface, without their names: [`bridgestan!`](crate::bridgestan!) exports them.
//!
//! Laws: an error is a text that the caller frees by `bs_free_error_msg`, and the code -1; no panic crosses. Addresses are
//! those of BridgeStan's documentation: slices have the sizes that the model states, and a text ends with a zero.

#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the contract of all: addresses are null, or those of what they name")]

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uint};
use std::fs;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use polygrad::inspect::debug_to;

use super::{Model, ModelRng, StanModel};
use crate::boundary::{Fault, attempt, c_text};

/// A function that takes what a model prints: bytes and their number.
pub type PrintCallback = Option<unsafe extern "C" fn(*const c_char, usize)>;

/// Where lines of models go; to the standard error stream without one.
static CALLBACK: Mutex<PrintCallback> = Mutex::new(None);

fn callback() -> PrintCallback {
    *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands a line to the callback, one at a time.
fn print(line: &str) {
    let held = CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(print) = *held {
        let line = format!("{line}\n");
        // SAFETY: the caller of `set_print_callback` gave a function of this type, and the bytes live during the call.
        unsafe { print(line.as_ptr().cast(), line.len()) }
    }
}

/// Runs an entry point; an error is a new text at this place.
///
/// # Safety
/// The place is null, or that of memory for a pointer.
unsafe fn caught<R>(error: *mut *mut c_char, run: impl FnOnce() -> Result<R, String>) -> Option<R> {
    let printing = || match callback() {
        Some(_) => debug_to(print, run),
        None => run(),
    };
    match attempt(|| printing().map_err(Fault::argument)) {
        Ok(made) => Some(made),
        Err(fault) => {
            if !error.is_null() {
                // SAFETY: by the contract of this function.
                unsafe { error.write(c_text(&fault.text).into_raw()) }
            }
            None
        }
    }
}

/// # Safety
/// As for [`caught`].
unsafe fn code(error: *mut *mut c_char, run: impl FnOnce() -> Result<(), String>) -> c_int {
    // SAFETY: by the contract of this function.
    if unsafe { caught(error, run) }.is_some() { 0 } else { -1 }
}

/// # Safety
/// The address is null, or that of a model of [`construct`].
unsafe fn model<'a>(model: *const StanModel) -> Result<&'a StanModel, String> {
    // SAFETY: by the contract of this function.
    unsafe { model.as_ref() }
        .ok_or_else(|| String::from("the model must have an address, but it is null; construct one"))
}

fn is_place(at: *const c_double, what: &str) -> Result<(), String> {
    if at.is_null() || !(at as usize).is_multiple_of(align_of::<c_double>()) {
        return Err(format!("{what} must be an aligned address, but it is {at:p}; pass its first number"));
    }
    Ok(())
}

/// # Safety
/// The address is null, or that of `len` numbers that live during `'a` and nobody writes.
unsafe fn numbers<'a>(at: *const c_double, len: usize, what: &str) -> Result<&'a [f64], String> {
    if len == 0 {
        return Ok(&[]);
    }
    is_place(at, what)?;
    // SAFETY: by the contract of this function.
    Ok(unsafe { std::slice::from_raw_parts(at, len) })
}

/// # Safety
/// The address is null, or that of memory for `len` numbers that live during `'a` and nobody else uses.
unsafe fn places<'a>(at: *mut c_double, len: usize, what: &str) -> Result<&'a mut [f64], String> {
    if len == 0 {
        return Ok(&mut []);
    }
    is_place(at, what)?;
    // SAFETY: by the contract of this function.
    Ok(unsafe { std::slice::from_raw_parts_mut(at, len) })
}

/// A text, which null stands for if it is empty.
///
/// # Safety
/// The address is null, or that of a text with a zero at its end, which lives during `'a`.
unsafe fn text<'a>(at: *const c_char) -> Result<&'a str, String> {
    if at.is_null() {
        return Ok("");
    }
    // SAFETY: by the contract of this function.
    let text = unsafe { CStr::from_ptr(at) };
    text.to_str().map_err(|_| String::from("the text must be UTF-8, but it is not; encode it"))
}

/// A new model, or null: the data are JSON, or the path of a file of it that ends with `.json`.
pub unsafe fn construct<M: Model>(data: *const c_char, _seed: c_uint, error: *mut *mut c_char) -> *mut StanModel {
    let make = || {
        // SAFETY: by the contract of this interface.
        let given = unsafe { text(data) }?;
        let model = match given.ends_with(".json") {
            true => {
                let read =
                    fs::read_to_string(given).map_err(|fault| format!("the file {given:?} is not read: {fault}"));
                StanModel::of::<M>(&read?)?
            }
            false => StanModel::of::<M>(given)?,
        };
        Ok(Box::into_raw(Box::new(model)))
    };
    // SAFETY: by the contract of this interface.
    unsafe { caught(error, make) }.unwrap_or(ptr::null_mut())
}

/// Frees a model; null is allowed.
pub unsafe fn destruct(model: *mut StanModel) {
    if !model.is_null() {
        // SAFETY: the model is one of `construct`, and the caller gives it back once.
        drop(unsafe { Box::from_raw(model) });
    }
}

/// Frees the text of an error; null is allowed.
pub unsafe fn free_error_msg(error: *mut c_char) {
    if !error.is_null() {
        // SAFETY: the text is one of `caught`, and the caller gives it back once.
        drop(unsafe { CString::from_raw(error) });
    }
}

/// A text of a model; an empty one for null.
unsafe fn text_of(of: *const StanModel, text: impl Fn(&StanModel) -> &CString) -> *const c_char {
    // SAFETY: by the contract of this interface.
    unsafe { of.as_ref() }.map_or(c"".as_ptr(), |model| text(model).as_ptr())
}

/// The name of the model.
pub unsafe fn name(model: *const StanModel) -> *const c_char {
    // SAFETY: by the contract of this interface.
    unsafe { text_of(model, |model| &model.texts.name) }
}

/// The version of the library, and that several threads may use a model.
pub unsafe fn model_info(model: *const StanModel) -> *const c_char {
    // SAFETY: by the contract of this interface.
    unsafe { text_of(model, |model| &model.texts.info) }
}

/// The names of the parameters, with transformed parameters and generated quantities where they are asked for.
pub unsafe fn param_names(model: *const StanModel, tp: bool, gq: bool) -> *const c_char {
    // SAFETY: by the contract of this interface.
    unsafe { text_of(model, |model| &model.texts.names[usize::from(tp)][usize::from(gq)]) }
}

/// The names of the unconstrained parameters.
pub unsafe fn param_unc_names(model: *const StanModel) -> *const c_char {
    // SAFETY: by the contract of this interface.
    unsafe { text_of(model, |model| &model.texts.free_names) }
}

/// The number of parameters, with transformed parameters and generated quantities where they are asked for.
pub unsafe fn param_num(model: *const StanModel, tp: bool, gq: bool) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe { model.as_ref() }.map_or(0, |model| c_int::try_from(model.quantities(tp, gq)).unwrap_or(c_int::MAX))
}

/// The number of unconstrained parameters.
pub unsafe fn param_unc_num(model: *const StanModel) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe { model.as_ref() }.map_or(0, |model| c_int::try_from(model.len()).unwrap_or(c_int::MAX))
}

/// Writes the parameters for unconstrained ones, with transformed parameters and generated quantities where they are asked for.
pub unsafe fn param_constrain(
    of: *const StanModel,
    tp: bool,
    gq: bool,
    theta_unc: *const c_double,
    theta: *mut c_double,
    rng: *mut ModelRng,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface; a generator belongs to one thread.
    unsafe {
        code(error, || {
            let of = model(of)?;
            let free = numbers(theta_unc, of.len(), "theta_unc")?;
            of.constrain_with(free, (tp, gq), rng.as_mut(), places(theta, of.quantities(tp, gq), "theta")?)
        })
    }
}

/// Writes unconstrained parameters.
pub unsafe fn param_unconstrain(
    of: *const StanModel,
    theta: *const c_double,
    theta_unc: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe {
        code(error, || {
            let of = model(of)?;
            let theta = numbers(theta, of.parameters(), "theta")?;
            of.unconstrain(theta, places(theta_unc, of.len(), "theta_unc")?)
        })
    }
}

/// Writes unconstrained parameters for those of a text of JSON.
pub unsafe fn param_unconstrain_json(
    of: *const StanModel,
    json: *const c_char,
    theta_unc: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe {
        code(error, || {
            let of = model(of)?;
            of.unconstrain_json(text(json)?, places(theta_unc, of.len(), "theta_unc")?, None)
        })
    }
}

/// Writes a first point for a sampler: parameters of a text of JSON, and others at random.
#[allow(clippy::too_many_arguments, reason = "the arguments of BridgeStan")]
pub unsafe fn param_initialize(
    of: *const StanModel,
    json: *const c_char,
    rng: *mut ModelRng,
    radius: c_double,
    tries: c_int,
    jacobian: bool,
    theta_unc: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface; a generator belongs to one thread.
    unsafe {
        code(error, || {
            let of = model(of)?;
            let rng = rng.as_mut().ok_or("the generator must have an address, but it is null; construct one")?;
            let (free, tries) = (places(theta_unc, of.len(), "theta_unc")?, usize::try_from(tries).unwrap_or(0));
            of.initialize(text(json)?, rng, (radius, tries), jacobian, free)
        })
    }
}

/// Writes a number.
///
/// # Safety
/// The address is null, or that of memory for a number.
unsafe fn give(at: *mut c_double, value: f64, what: &str) -> Result<(), String> {
    is_place(at, what)?;
    // SAFETY: by the contract of this function.
    unsafe { at.write(value) };
    Ok(())
}

/// Writes the log density. It has its constants, whether `propto` is set or not.
pub unsafe fn log_density(
    of: *const StanModel,
    _propto: bool,
    jacobian: bool,
    theta_unc: *const c_double,
    lp: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe {
        code(error, || {
            let of = model(of)?;
            give(lp, of.log_density(jacobian).value(numbers(theta_unc, of.len(), "theta_unc")?), "lp")
        })
    }
}

/// Writes the log density and its gradient.
pub unsafe fn log_density_gradient(
    of: *const StanModel,
    _propto: bool,
    jacobian: bool,
    theta_unc: *const c_double,
    val: *mut c_double,
    grad: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe {
        code(error, || {
            let of = model(of)?;
            let free = numbers(theta_unc, of.len(), "theta_unc")?;
            let value = of.log_density(jacobian).value_and_grad(free, places(grad, of.len(), "grad")?);
            give(val, value, "val")
        })
    }
}

/// Writes the log density, its gradient and its Hessian.
#[allow(clippy::too_many_arguments, reason = "the arguments of BridgeStan")]
pub unsafe fn log_density_hessian(
    of: *const StanModel,
    _propto: bool,
    jacobian: bool,
    theta_unc: *const c_double,
    val: *mut c_double,
    grad: *mut c_double,
    hessian: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe {
        code(error, || {
            let of = model(of)?;
            let (n, free) = (of.len(), numbers(theta_unc, of.len(), "theta_unc")?);
            let value = of.log_density(jacobian).value_and_grad(free, places(grad, n, "grad")?);
            of.log_density(jacobian).hessian(free, places(hessian, n * n, "hessian")?);
            give(val, value, "val")
        })
    }
}

/// Writes the log density, and its Hessian times a vector.
#[allow(clippy::too_many_arguments, reason = "the arguments of BridgeStan")]
pub unsafe fn log_density_hessian_vector_product(
    of: *const StanModel,
    _propto: bool,
    jacobian: bool,
    theta_unc: *const c_double,
    vector: *const c_double,
    val: *mut c_double,
    hvp: *mut c_double,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: by the contract of this interface.
    unsafe {
        code(error, || {
            let of = model(of)?;
            let (n, free) = (of.len(), numbers(theta_unc, of.len(), "theta_unc")?);
            of.log_density(jacobian).hvp(free, numbers(vector, n, "vector")?, places(hvp, n, "hvp")?);
            give(val, of.log_density(jacobian).value(free), "val")
        })
    }
}

/// A new generator.
pub unsafe fn rng_construct(seed: c_uint, error: *mut *mut c_char) -> *mut ModelRng {
    let make = || Ok(Box::into_raw(Box::new(ModelRng::new(u64::from(seed)))));
    // SAFETY: by the contract of this interface.
    unsafe { caught(error, make) }.unwrap_or(ptr::null_mut())
}

/// Frees a generator; null is allowed.
pub unsafe fn rng_destruct(rng: *mut ModelRng) {
    if !rng.is_null() {
        // SAFETY: the generator is one of `rng_construct`, and the caller gives it back once.
        drop(unsafe { Box::from_raw(rng) });
    }
}

/// Sets the function that takes what models print; null sets the standard error stream.
pub unsafe fn set_print_callback(print: PrintCallback, _error: *mut *mut c_char) -> c_int {
    *CALLBACK.lock().unwrap_or_else(PoisonError::into_inner) = print;
    0
}
