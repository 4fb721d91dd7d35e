//! A limit on the depth of calls: recursion that is too deep fails with a message, before the stack overflows.
//!
//! A call of a function of the higher-order language is a nested call of the host language, be it through `fix`, a
//! recursive type, or functions that capture each other. Law: recursion that does not end, or not within the stack of a
//! thread, panics with a message, since a stack overflow would abort the process without one.

use std::cell::Cell;
use std::panic::Location;

use polygrad::seam::{mistake, written_at};

/// The bytes of stack for the calls of a recursion: half of the default stack of a thread.
const STACK: usize = 1 << 20;

/// The bytes of stack for all calls. A recursion by `fix` reaches its own, smaller limit first, whose message has the
/// place of the function.
const CALLS: usize = STACK + (1 << 18);

thread_local! {
    /// The stack address of the outermost call.
    static OUTERMOST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A guard for the outermost call: resets its address when the call ends, by return or panic.
pub(super) struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        OUTERMOST.set(None);
    }
}

/// Enters a call, and returns the guard if it is the outermost. Panics by `refuse` if the call is more than `limit`
/// bytes of stack below the outermost one.
fn entered(limit: usize, refuse: &dyn Fn()) -> Option<Leave> {
    let local = 0_u8;
    let here = std::ptr::from_ref(&local).addr();
    let Some(start) = OUTERMOST.get() else {
        OUTERMOST.set(Some(here));
        return Some(Leave);
    };
    if start.abs_diff(here) > limit {
        refuse();
    }
    None
}

/// Runs a call of a recursive function that was written at this place.
pub(super) fn within_stack<R>(op: &str, at: Option<&'static Location<'static>>, call: impl FnOnce() -> R) -> R {
    let refuse = || {
        let message = format!(
            "{op}: a recursion must end within the stack of a thread, but this one goes on after a megabyte of it; end it by a \
             condition that is known (while a program is traced, none is that depends on inputs), or take iterate or \
             iterate_within"
        );
        match at {
            Some(at) => written_at(at, || mistake(&message)),
            None => mistake(&message),
        }
    };
    let _leave = entered(STACK, &refuse);
    call()
}

/// Enters a call of any function, or of the translation of any part of a program.
pub(super) fn called() -> Option<Leave> {
    entered(CALLS, &refuse_calls)
}

#[cold]
fn refuse_calls() {
    mistake(
        "app: calls, and the parts of a program, must nest within the stack of a thread, but these go on after more than a \
         megabyte of it; end a recursion by a condition that is known (while a program is traced, none is that depends on \
         inputs), take iterate or iterate_within, or nest fewer functions",
    )
}
