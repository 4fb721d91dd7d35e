//! Recursion ends before the stack does.
//!
//! A function that calls itself is a call of the host language within a call, and so is any function that calls another,
//! be it through `fix`, a recursive type, or functions that capture each other. Law: calls that have no end, or none within
//! the stack of a thread, are refused in words, since a stack that overflows ends the program without any.

use std::cell::Cell;
use std::panic::Location;

use crate::source::{mistake, written_at};

/// The stack that the calls of a recursion may take: half of what a thread has by default.
const STACK: usize = 1 << 20;

/// The stack that all calls may take: a recursion by `fix` reaches its own end first, whose message has its place.
const CALLS: usize = STACK + (1 << 18);

thread_local! {
    /// The place of the outermost call on the stack.
    static OUTERMOST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The outermost call; it ends however the call ends.
pub(super) struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        OUTERMOST.set(None);
    }
}

/// What holds while a call runs. Panics by `refuse` if the call is deeper than `limit` within the outermost one.
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

/// A call of a function that may call itself, and that was written at this place.
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

/// What holds while any function runs, or any part of a program is translated.
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
