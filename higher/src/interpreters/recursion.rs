//! Limits of calls: recursion that is too deep fails with a message, before memory or the stack ends.
//!
//! Calls of functions of the higher-order language are frames of a machine (`machine`), which have a limit of memory. Bodies
//! of loops over arrays, and derivatives as terms, are calls of the host, and so is the translation of the parts of a program:
//! these nest on the stack. Law: recursion that does not end, or not within its limit, panics with a message, since an
//! exhausted memory or stack would abort the process without one.

use std::cell::Cell;
use std::panic::Location;

use polygrad::seam::{mistake, written_at};

/// The bytes of stack for calls that nest there: more than half of the default stack of a thread.
const STACK: usize = (1 << 20) + (1 << 18);

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

/// Enters a call that nests on the stack: of any function by the host, or of the translation of any part of a program.
/// Gives the guard if it is the outermost.
pub(super) fn called() -> Option<Leave> {
    let local = 0_u8;
    let here = std::ptr::from_ref(&local).addr();
    let Some(start) = OUTERMOST.get() else {
        OUTERMOST.set(Some(here));
        return Some(Leave);
    };
    if start.abs_diff(here) > STACK {
        refuse_calls();
    }
    None
}

/// The recursive function that was called last: its name, and the place at which it was written.
pub(super) type CalledRecursion = Option<(&'static str, Option<&'static Location<'static>>)>;

/// The limit of frames: the bytes of a frame, the number of frames, and the bytes that they may take.
pub(super) struct Limit {
    pub(super) frame: usize,
    pub(super) frames: usize,
    pub(super) bytes: usize,
}

/// Fails at the place of the recursive function that was called last.
fn refuse(recursion: CalledRecursion, message: &str) -> ! {
    match recursion {
        Some((_, Some(at))) => written_at(at, || mistake(message)),
        Some((_, None)) | None => mistake(message),
    }
}

#[cold]
pub(super) fn refuse_frames(recursion: CalledRecursion, limit: Limit) -> ! {
    let (Limit { frame, frames, bytes }, name) = (limit, recursion.map_or("app", |(name, _)| name));
    refuse(
        recursion,
        &format!(
            "{name}: calls that wait for others must fit in the memory of calls, but {frames} frames of {frame} bytes wait, and the \
             limit is {bytes} bytes; end the recursion, make its last call a tail call, or raise the limit by with_call_memory"
        ),
    )
}

#[cold]
pub(super) fn refuse_undecided(recursion: CalledRecursion, most: usize) -> ! {
    let name = recursion.map_or("app", |(name, _)| name);
    refuse(
        recursion,
        &format!(
            "{name}: a recursion whose end depends on inputs must take and return tensors whose shapes stay the same, and call itself \
             outside of bodies of loops, but {most} choices by conditions that are not known while a program is traced are nested, \
             and both branches of each run; keep sums, lists and functions out of its argument and its result, take \
             iterate_within, or run the program without tracing it"
        ),
    )
}

#[cold]
fn refuse_calls() {
    mistake(
        "app: calls from bodies of loops, and the parts of a program, must nest within the stack of a thread, but these go on \
         after more than a megabyte of it; recurse outside of map and fold, or nest fewer functions",
    )
}
