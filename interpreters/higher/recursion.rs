//! Recursion ends before the stack does.
//!
//! A function that calls itself is a call of the host language within a call. Law: a recursion that has no end, or none
//! within the stack of a thread, is refused in words, since a stack that overflows ends the program without any.

use std::cell::Cell;
use std::panic::Location;

use crate::source::{mistake, written_at};

/// The stack that the calls of a recursion may take: half of what a thread has by default.
const STACK: usize = 1 << 20;

thread_local! {
    /// The place of the outermost call on the stack.
    static OUTERMOST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Restores what was so before a call, however the call ends.
struct Leave(Option<usize>);

impl Drop for Leave {
    fn drop(&mut self) {
        OUTERMOST.set(self.0);
    }
}

/// A call of a function that may call itself, and that was written at this place.
pub(super) fn within_stack<R>(op: &str, at: Option<&'static Location<'static>>, call: impl FnOnce() -> R) -> R {
    let local = 0_u8;
    let here = std::ptr::from_ref(&local).addr();
    let before = OUTERMOST.get();
    let start = before.unwrap_or(here);
    if start.abs_diff(here) > STACK {
        let message = format!(
            "{op}: a recursion must end within the stack of a thread, but this one goes on after a megabyte of it; end it by a \
             condition that is known (while a program is traced, none is that depends on inputs), or take iterate or \
             iterate_within"
        );
        match at {
            Some(at) => written_at(at, || mistake(&message)),
            None => mistake(&message),
        }
    }
    OUTERMOST.set(Some(start));
    let _leave = Leave(before);
    call()
}
