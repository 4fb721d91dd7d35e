//! Addresses of the caller: references to what they name, and results that are written there.
//!
//! Law: null, wrong alignment and sizes beyond memory are errors. A place of a pointer holds null until its result is made.

#![allow(unsafe_code)]

use std::ffi::c_char;
use std::ptr;

use crate::boundary::{Fault, Status, c_text, entered};
use crate::handle::Handle;

/// # Safety
/// The address is null, or that of a value that lives during `'a` and is not changed.
pub(crate) unsafe fn read<'a, X>(at: *const X, what: &str) -> Result<&'a X, Fault> {
    // SAFETY: by the contract of this function.
    unsafe { at.as_ref() }.ok_or_else(|| null(what))
}

pub(crate) fn null(what: &str) -> Fault {
    Fault::argument(format!("{what} must have an address, but it is null; pass one"))
}

/// # Safety
/// The address is null, or that of `len` elements that live during `'a` and are not changed.
pub(crate) unsafe fn elements<'a, X>(at: *const X, len: usize, what: &str) -> Result<&'a [X], Fault> {
    if len == 0 {
        return Ok(&[]);
    }
    if at.is_null() {
        return Err(null(what));
    }
    if !(at as usize).is_multiple_of(align_of::<X>())
        || len.checked_mul(size_of::<X>()).is_none_or(|n| n > isize::MAX as usize)
    {
        return Err(Fault::argument(format!(
            "{what} must be aligned and fit into memory, but it has {len} elements at {at:p}; pass its first element"
        )));
    }
    // SAFETY: by the contract of this function; alignment and size are checked.
    Ok(unsafe { std::slice::from_raw_parts(at, len) })
}

/// # Safety
/// The address is null, or that of `len` bytes that live during `'a` and are not changed.
pub(crate) unsafe fn text<'a>(at: *const c_char, len: usize, what: &str) -> Result<&'a str, Fault> {
    // SAFETY: by the contract of this function.
    let bytes = unsafe { elements(at.cast::<u8>(), len, what) }?;
    std::str::from_utf8(bytes).map_err(|error| {
        Fault::argument(format!("{what} must be UTF-8, but it is not from byte {} on; encode it", error.valid_up_to()))
    })
}

/// # Safety
/// The address is null, or that of a string with a zero at its end that lives during `'a` and is not changed.
pub(crate) unsafe fn name<'a>(at: *const c_char, what: &str) -> Result<&'a str, Fault> {
    if at.is_null() {
        return Err(null(what));
    }
    // SAFETY: by the contract of this function.
    let bytes = unsafe { std::ffi::CStr::from_ptr(at) };
    bytes.to_str().map_err(|_| Fault::argument(format!("{what} must be UTF-8, but it is not; encode it")))
}

/// Writes a result.
///
/// # Safety
/// The address is null, or that of memory for the result.
pub(crate) unsafe fn write<X>(at: *mut X, x: X, what: &str) -> Result<(), Fault> {
    if at.is_null() {
        return Err(null(what));
    }
    // SAFETY: by the contract of this function.
    unsafe { at.write(x) };
    Ok(())
}

/// Makes a handle, which the caller frees.
///
/// # Safety
/// The address is null, or that of memory for a pointer.
pub(crate) unsafe fn give(out: *mut *mut Handle, make: impl FnOnce() -> Result<Handle, Fault>) -> Status {
    entered(|| {
        // SAFETY: by the contract of this function.
        unsafe { write(out, ptr::null_mut(), "the place for the function") }?;
        let made = Box::into_raw(Box::new(make()?));
        // SAFETY: as above.
        unsafe { write(out, made, "the place for the function") }
    })
}

/// Makes texts, which the caller frees.
///
/// # Safety
/// The addresses are null, or those of memory for pointers.
pub(crate) unsafe fn give_texts<const N: usize>(
    out: [*mut *mut c_char; N],
    make: impl FnOnce() -> Result<[String; N], Fault>,
) -> Status {
    entered(|| {
        for at in out {
            // SAFETY: by the contract of this function.
            unsafe { write(at, ptr::null_mut(), "the place for the text") }?;
        }
        for (at, text) in out.into_iter().zip(make()?) {
            // SAFETY: as above.
            unsafe { write(at, c_text(&text).into_raw(), "the place for the text") }?;
        }
        Ok(())
    })
}
