//! The boundary: codes of errors with their text, and no panic that crosses it.
//!
//! Law: what an entry point calls runs inside [`entered`]. Its error, or the message of its panic, becomes the text of the
//! thread, and its code is returned.

#![cfg_attr(
    not(feature = "functions"),
    allow(dead_code, unused_imports, reason = "models have texts of errors, and no codes")
)]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

/// The code that each function returns: `PG_OK`, or the kind of its error.
///
/// Closed: the header has these values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// It did what it says.
    Ok = 0,
    /// An argument is null, of a wrong length or type, not UTF-8, or out of range.
    Argument = 1,
    /// A text or a saved program is not read.
    Program = 2,
    /// The library refuses: a derivative that does not exist, an operation that is not written, a check that fails, no memory.
    Refused = 3,
}

/// An error: its code, and what is required, what is the case, and what to do.
pub(crate) struct Fault {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn argument(text: impl Into<String>) -> Fault {
        Fault { status: Status::Argument, text: text.into() }
    }

    pub(crate) fn program(text: impl Into<String>) -> Fault {
        Fault { status: Status::Program, text: text.into() }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Fault {
        Fault { status: Status::Refused, text: text.into() }
    }
}

thread_local! {
    /// The text of the last error of this thread.
    static LAST: RefCell<CString> = RefCell::new(CString::default());
    /// How many entry points this thread is in.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Marks the thread as outside again.
struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        INSIDE.with(|inside| inside.set(inside.get() - 1));
    }
}

/// Refusals of the library are panics with a message, which becomes the text of an error: nothing is printed for them.
/// All other panics of the process are reported as before.
fn quiet_inside() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            if INSIDE.try_with(Cell::get).unwrap_or(0) == 0 {
                before(panic);
            }
        }));
    });
}

/// The message of a panic.
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.or_else(|| payload.downcast_ref::<polygrad::FailedCheck>().map(ToString::to_string));
    text.unwrap_or_else(|| String::from("a panic without a message"))
}

/// A text for C: zero characters, which would end it, become `\0`.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

/// Runs an entry point; a panic is an error of this kind.
pub(crate) fn attempt<R>(run: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    quiet_inside();
    INSIDE.with(|inside| inside.set(inside.get() + 1));
    let _outside = Entered;
    // What a panic leaves behind is dropped: functions are not changed by runs.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(payload) => {
            let text = message(&*payload);
            // A payload of the host's code may panic when it is dropped.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            Err(Fault::refused(text))
        }
    }
}

/// Runs an entry point, keeps the text of its error, and returns the code.
#[cfg(feature = "functions")]
pub(crate) fn entered(run: impl FnOnce() -> Result<(), Fault>) -> Status {
    match attempt(run) {
        Ok(()) => Status::Ok,
        Err(fault) => {
            let text = c_text(&fault.text);
            // A thread that ends has no text.
            let _ = LAST.try_with(|last| last.replace(text));
            fault.status
        }
    }
}

/// The text of the last error of this thread, empty before the first.
#[cfg(feature = "functions")]
pub(crate) fn last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}
