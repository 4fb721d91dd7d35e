//! Functions for C: each checks its arguments, calls the safe part, and returns a code.
//!
//! Laws: null and hostile arguments are errors, as far as an address can be checked; on an error the place of a result
//! that is a pointer holds null. A handle is not changed after it is made: several threads may use one at once.

#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc, reason = "the contract of all: addresses are null, or those of what they name")]

use std::ffi::{CString, c_char};

use polygrad::backend::{LentSlice, LentSliceMut};
use polygrad::import::Module;
use polygrad::program::{Program, Slot, interpret};
use polygrad::shape::size;
use polygrad::{Array, DType};

use crate::arrays::{FittingArray, LentArray, apart, fitting, named, number_of};
use crate::boundary::{Fault, Status, entered, last_error};
use crate::casadi::casadi_source;
use crate::fmi::fmu_sources;
use crate::handle::{Derivative, Handle};
use crate::leaves::Leaves;
use crate::places::{elements, give, give_texts, name, null, read, text, write};

/// An input or output: its name, its element type, and its shape. What it points to lives as long as its function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SlotView {
    /// The name, which may be empty.
    pub name: *const c_char,
    /// The element type: see [`LentArray::dtype`].
    pub dtype: i32,
    /// The number of axes.
    pub rank: usize,
    /// The size of each axis.
    pub shape: *const usize,
    /// The number of elements.
    pub size: usize,
}

/// The pattern of a sparse matrix in compressed rows. What it points to lives as long as its function.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PatternView {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The number of elements that may not be 0.
    pub nonzeros: usize,
    /// For each row, and for the end, the number of elements before it.
    pub row_pointers: *const usize,
    /// The column of each element.
    pub column_indices: *const usize,
}

/// The text of the last error of this thread, empty before the first; it lives until the next error of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn pg_last_error() -> *const c_char {
    last_error()
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn pg_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Frees a text; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the text was made by `CString::into_raw` in this library, and the caller gives it back once.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Frees a function; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_free(function: *mut Handle) {
    if !function.is_null() {
        // SAFETY: the function was made by `Box::into_raw` in this library, and the caller gives it back once.
        let function = unsafe { Box::from_raw(function) };
        entered(|| {
            drop(function);
            Ok(())
        });
    }
}

/// Loads a saved program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_load(saved: *const c_char, len: usize, out: *mut *mut Handle) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give(out, || {
            let text = text(saved, len, "the saved program")?;
            let program: Program = serde_json::from_str(text).map_err(|error| Fault::program(error.to_string()))?;
            Ok(Handle::of(&program))
        })
    }
}

/// The function of a module of StableHLO, as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_from_stablehlo(
    module: *const c_char,
    len: usize,
    out: *mut *mut Handle,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give(out, || {
            let text = text(module, len, "the module")?;
            let read = Module::parse(text).and_then(|module| Ok((module.program()?, module.signature().1)));
            let (program, outputs) = read.map_err(|error| Fault::program(error.to_string()))?;
            Ok(Handle::imported(&program, &outputs))
        })
    }
}

/// The function as a text that [`pg_function_load`] reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_save(function: *const Handle, out: *mut *mut c_char) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give_texts([out], || {
            let saved = serde_json::to_string(&read(function, "the function")?.program);
            Ok([saved.map_err(|error| Fault::refused(error.to_string()))?])
        })
    }
}

/// Writes the number of slots.
///
/// # Safety
/// As for [`read`] and [`write`].
unsafe fn count(function: *const Handle, out: *mut usize, of: fn(&Program) -> &[Slot]) -> Status {
    // SAFETY: by the contract of this function.
    entered(|| unsafe { write(out, of(&read(function, "the function")?.program).len(), "the place for the number") })
}

/// Writes what is known of a slot.
///
/// # Safety
/// As for [`read`] and [`write`].
unsafe fn slot(function: *const Handle, k: usize, out: *mut SlotView, output: bool) -> Status {
    entered(|| {
        // SAFETY: by the contract of this function.
        let function = unsafe { read(function, "the function") }?;
        let (what, slots) =
            if output { ("outputs", function.program.outputs()) } else { ("inputs", function.program.inputs()) };
        let Some(slot) = slots.get(k) else {
            return Err(Fault::argument(format!(
                "positions must be below the number of {what}, {}, but one is {k}; count from 0",
                slots.len()
            )));
        };
        let view = SlotView {
            name: function.names[usize::from(output)][k].as_ptr(),
            dtype: number_of(slot.dtype),
            rank: slot.shape.len(),
            shape: slot.shape.as_ptr(),
            size: size(&slot.shape),
        };
        // SAFETY: by the contract of this function.
        unsafe { write(out, view, "the place for the slot") }
    })
}

/// The number of inputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_input_count(function: *const Handle, count_out: *mut usize) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe { count(function, count_out, Program::inputs) }
}

/// The number of outputs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_output_count(function: *const Handle, count_out: *mut usize) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe { count(function, count_out, Program::outputs) }
}

/// Name, element type and shape of an input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_input(function: *const Handle, position: usize, out: *mut SlotView) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe { slot(function, position, out, false) }
}

/// Name, element type and shape of an output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_output(function: *const Handle, position: usize, out: *mut SlotView) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe { slot(function, position, out, true) }
}

/// Runs on arrays that fit.
///
/// # Safety
/// The arrays are those of the caller, who lends them for the call.
unsafe fn run(function: &Handle, inputs: &[FittingArray], results: &[FittingArray]) -> Result<(), Fault> {
    apart(inputs, results)?;
    let slots = function.program.inputs().iter().enumerate();
    // SAFETY: by the contract of this function; results overlap nothing.
    let x: Result<Vec<LentSlice<'_>>, Fault> =
        slots.zip(inputs).map(|((k, slot), array)| unsafe { array.lent(&named("input", k, slot)) }).collect();
    let x = x?;
    // SAFETY: as above.
    let mut y: Vec<LentSliceMut<'_>> = results.iter().map(|array| unsafe { array.lent_mut() }).collect();
    function.executable().run_slices(&x, &mut y);
    Ok(())
}

/// Writes the results for these inputs, an array for each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_run(
    function: *const Handle,
    inputs: *const LentArray,
    input_count: usize,
    outputs: *const LentArray,
    output_count: usize,
) -> Status {
    // SAFETY: by the contract of this interface.
    entered(|| unsafe {
        let function = read(function, "the function")?;
        let x = fitting(elements(inputs, input_count, "the inputs")?, function.program.inputs(), "input")?;
        let y = fitting(elements(outputs, output_count, "the outputs")?, function.program.outputs(), "output")?;
        run(function, &x, &y)
    })
}

/// Arrays for slots of one element type, one after the other.
fn split(slots: &[Slot], dtype: DType, at: usize, len: usize, what: &str) -> Result<Vec<FittingArray>, Fault> {
    if let Some((k, slot)) = slots.iter().enumerate().find(|(_, slot)| slot.dtype != dtype) {
        return Err(Fault::argument(format!(
            "all {what}s must have elements {dtype}, but {what} {k} has elements {}; use pg_function_run",
            slot.dtype
        )));
    }
    let needed: usize = slots.iter().map(|slot| size(&slot.shape)).sum();
    if len != needed {
        return Err(Fault::argument(format!(
            "the {what}s must have {needed} elements, but there are {len}; pass those of all, one after the other"
        )));
    }
    let wide = if dtype == DType::F64 { 8 } else { 4 };
    let mut before = 0;
    let each = slots.iter().map(|slot| {
        // Without elements there may be no address, and the sum is not used.
        let data = at.wrapping_add(before * wide);
        before += size(&slot.shape);
        let array = LentArray { dtype: number_of(dtype), size: size(&slot.shape), data: data as *mut _ };
        FittingArray::new(&array, slot, &format!("the slice of {what}s"))
    });
    if at == 0 && len > 0 {
        return Err(null(&format!("the slice of {what}s")));
    }
    each.collect()
}

/// Runs on elements of one type.
///
/// # Safety
/// The addresses are null, or those of these numbers of elements.
unsafe fn run_flat(
    function: *const Handle,
    dtype: DType,
    (inputs, input_len): (usize, usize),
    (outputs, output_len): (usize, usize),
) -> Status {
    // SAFETY: by the contract of this function.
    entered(|| unsafe {
        let function = read(function, "the function")?;
        let x = split(function.program.inputs(), dtype, inputs, input_len, "input")?;
        let y = split(function.program.outputs(), dtype, outputs, output_len, "output")?;
        run(function, &x, &y)
    })
}

/// Writes the results for these inputs, all `f64`, the elements of each one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_run_f64(
    function: *const Handle,
    inputs: *const f64,
    input_len: usize,
    outputs: *mut f64,
    output_len: usize,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        run_flat(
            function,
            DType::F64,
            (inputs.expose_provenance(), input_len),
            (outputs.expose_provenance(), output_len),
        )
    }
}

/// [`pg_function_run_f64`] for `f32`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_run_f32(
    function: *const Handle,
    inputs: *const f32,
    input_len: usize,
    outputs: *mut f32,
    output_len: usize,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        run_flat(
            function,
            DType::F32,
            (inputs.expose_provenance(), input_len),
            (outputs.expose_provenance(), output_len),
        )
    }
}

/// Writes the entry points of derivatives.
macro_rules! derivatives {
    ($($(#[$doc:meta])* $name:ident => $derivative:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            function: *const Handle,
            wrt: *const usize,
            wrt_len: usize,
            out: *mut *mut Handle,
        ) -> Status {
            // SAFETY: by the contract of this interface.
            unsafe {
                give(out, || {
                    let wrt = match wrt.is_null() && wrt_len == 0 {
                        true => None,
                        false => Some(elements(wrt, wrt_len, "the positions")?),
                    };
                    read(function, "the function")?.derivative(Derivative::$derivative, wrt)
                })
            }
        }
    )*};
}

derivatives! {
    /// The gradient of a function that returns one float: an output for each input in `wrt`.
    pg_function_grad => Grad;
    /// The value, and the gradient.
    pg_function_value_and_grad => ValueAndGrad;
    /// Values and tangents: a further input for each input in `wrt`, its tangent.
    pg_function_jvp => Jvp;
    /// Values and cotangents of the inputs in `wrt`: a further input for each output, its cotangent.
    pg_function_vjp => Vjp;
    /// The Hessian times a direction, of a function that returns one float: a further input for each input in `wrt`.
    pg_function_hvp => Hvp;
    /// The Jacobian, one matrix: a row for each element of the outputs, a column for each element of the inputs in `wrt`.
    pg_function_jacobian => Jacobian;
    /// The Hessian of a function that returns one float, one matrix over the elements of the inputs in `wrt`.
    pg_function_hessian => Hessian;
    /// The elements of the Jacobian that may not be 0: see [`pg_function_pattern`].
    pg_function_sparse_jacobian => SparseJacobian;
    /// The elements of the Hessian that may not be 0, in both triangles: see [`pg_function_pattern`].
    pg_function_sparse_hessian => SparseHessian;
}

/// The positions of the elements of a sparse matrix, in compressed rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_pattern(function: *const Handle, out: *mut PatternView) -> Status {
    entered(|| {
        // SAFETY: by the contract of this interface.
        let function = unsafe { read(function, "the function") }?;
        let Some(pattern) = &function.pattern else {
            return Err(Fault::argument(
                "pattern: the function must be a sparse matrix, but it is another function; make it by pg_function_sparse_jacobian",
            ));
        };
        let (rows, columns) = pattern.shape();
        let view = PatternView {
            rows,
            columns,
            nonzeros: pattern.len(),
            row_pointers: pattern.row_pointers().as_ptr(),
            column_indices: pattern.columns().as_ptr(),
        };
        // SAFETY: by the contract of this interface.
        unsafe { write(out, view, "the place for the pattern") }
    })
}

/// The function with an input that is known: what depends on it alone is computed once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_bind(
    function: *const Handle,
    position: usize,
    known: *const LentArray,
    out: *mut *mut Handle,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give(out, || {
            let function = read(function, "the function")?;
            let Some(slot) = function.program.inputs().get(position) else {
                return Err(Fault::argument(format!(
                    "bind: positions must be below the number of inputs, {}, but one is {position}; count from 0",
                    function.program.inputs().len()
                )));
            };
            let what = named("input", position, slot);
            let array = FittingArray::new(read(known, "the array")?, slot, &what)?;
            function.bound(position, &array.array(&slot.shape, &what)?)
        })
    }
}

/// Writes bounds of the results for all inputs from `lower` to `upper`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_bounds(
    function: *const Handle,
    lower: *const LentArray,
    upper: *const LentArray,
    input_count: usize,
    lower_outputs: *const LentArray,
    upper_outputs: *const LentArray,
    output_count: usize,
) -> Status {
    // SAFETY: by the contract of this interface.
    entered(|| unsafe {
        let function = read(function, "the function")?;
        let (inputs, outputs) = (function.program.inputs(), function.program.outputs());
        let corner = |at, side: &str| -> Result<(Vec<FittingArray>, Leaves<Array>), Fault> {
            let what = format!("{side} bound of input");
            let arrays = fitting(elements(at, input_count, &format!("the {side} bounds"))?, inputs, &what)?;
            let slots = arrays.iter().zip(inputs).enumerate();
            let copied = slots.map(|(k, (array, slot))| array.array(&slot.shape, &named(&what, k, slot)));
            let copied = copied.collect::<Result<_, Fault>>()?;
            Ok((arrays, Leaves(copied)))
        };
        let ((a, least), (b, most)) = (corner(lower, "lower")?, corner(upper, "upper")?);
        let place = |at, side: &str| {
            fitting(elements(at, output_count, &format!("the {side} outputs"))?, outputs, &format!("{side} output"))
        };
        let (low, high) = (place(lower_outputs, "lower")?, place(upper_outputs, "upper")?);
        apart(&[a, b].concat(), &[&low[..], &high[..]].concat())?;
        let (from, to) = polygrad::enclose(
            |x: &Leaves<polygrad::Enclosure>| Leaves(interpret(&function.program, x.0.clone())),
            &least,
            &most,
        );
        for (array, place) in from.0.iter().zip(&low).chain(to.0.iter().zip(&high)) {
            match place.lent_mut() {
                LentSliceMut::F64(y) => {
                    y.copy_from_slice(&array.to_vec::<f64>().map_err(|e| Fault::refused(e.to_string()))?)
                }
                LentSliceMut::F32(y) => {
                    y.copy_from_slice(&array.to_vec::<f32>().map_err(|e| Fault::refused(e.to_string()))?)
                }
                LentSliceMut::I64(y) => {
                    y.copy_from_slice(&array.to_vec::<i64>().map_err(|e| Fault::refused(e.to_string()))?)
                }
                LentSliceMut::Bool(y) => {
                    y.copy_from_slice(&array.to_vec::<bool>().map_err(|e| Fault::refused(e.to_string()))?)
                }
            }
        }
        Ok(())
    })
}

/// The optimized program as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_text(function: *const Handle, out: *mut *mut c_char) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe { give_texts([out], || Ok([read(function, "the function")?.program.to_string()])) }
}

/// How the function runs: modes of derivatives, passes, steps, memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_explain(function: *const Handle, out: *mut *mut c_char) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe { give_texts([out], || Ok([read(function, "the function")?.explain()])) }
}

/// The function as a file of C and its header `name.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_to_c(
    function: *const Handle,
    function_name: *const c_char,
    code: *mut *mut c_char,
    header: *mut *mut c_char,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give_texts([code, header], || {
            let source = read(function, "the function")?.program.to_c(name(function_name, "the name")?);
            source.map(|source| [source.code, source.header]).map_err(|error| Fault::refused(error.to_string()))
        })
    }
}

/// The function as the text of a Rust module.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_to_rust(
    function: *const Handle,
    function_name: *const c_char,
    code: *mut *mut c_char,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give_texts([code], || {
            let source = read(function, "the function")?.program.to_rust(name(function_name, "the name")?);
            source.map(|source| [source.code]).map_err(|error| Fault::refused(error.to_string()))
        })
    }
}

/// The function as a module of StableHLO, for XLA.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_to_stablehlo(
    function: *const Handle,
    function_name: *const c_char,
    module: *mut *mut c_char,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give_texts([module], || {
            let module = read(function, "the function")?.program.to_stablehlo(name(function_name, "the name")?);
            module.map(|module| [module]).map_err(|error| Fault::refused(error.to_string()))
        })
    }
}

/// The function as a file of C for CasADi's `external`: the function with this many derivatives, 0, 1 or 2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_to_casadi(
    function: *const Handle,
    function_name: *const c_char,
    derivatives: usize,
    code: *mut *mut c_char,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give_texts([code], || {
            casadi_source(&read(function, "the function")?.program, name(function_name, "the name")?, derivatives)
                .map(|code| [code])
        })
    }
}

/// The function as an FMU for Model Exchange of FMI 3.0, with a role for each input: `t`, `x`, `p` or `u`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_function_to_fmi(
    function: *const Handle,
    model_name: *const c_char,
    roles: *const c_char,
    starts: *const f64,
    starts_len: usize,
    description: *mut *mut c_char,
    build: *mut *mut c_char,
    code: *mut *mut c_char,
) -> Status {
    // SAFETY: by the contract of this interface.
    unsafe {
        give_texts([description, build, code], || {
            let starts = match starts.is_null() && starts_len == 0 {
                true => None,
                false => Some(elements(starts, starts_len, "the start values")?),
            };
            let (model, roles) = (name(model_name, "the name")?, name(roles, "the roles")?);
            fmu_sources(&read(function, "the function")?.program, model, roles, starts)
        })
    }
}
