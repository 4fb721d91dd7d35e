//! Dropping of long chains of values, such as the terms of a program, in a bounded part of the stack.
//!
//! References between values are dropped by the rules of Rust, so the last owner may be any value, or a closure. Only
//! the depth of nested drops is bounded: values that would be dropped deeper than [`DEEPEST`] are put on a list, which
//! the outermost drop empties.
//!
//! Law: a value that drops its parts through [`release`] is dropped in a bounded part of the stack.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

/// The largest number of nested releases: a few kilobytes of stack, even without optimization.
const DEEPEST: u32 = 16;

thread_local! {
    /// The number of nested releases that are running.
    static DEPTH: Cell<u32> = const { Cell::new(0) };

    /// The values that the outermost running release will drop. The list is empty if no release is running, so nothing
    /// is leaked when the thread ends; and since the list itself is never dropped, drops at the end of a thread can use
    /// it.
    static LATER: ManuallyDrop<RefCell<Vec<Box<dyn Any>>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Restores the depth when a drop returns or panics.
struct Leave(u32);

impl Drop for Leave {
    fn drop(&mut self) {
        DEPTH.set(self.0);
    }
}

/// Drops a value whose parts may be dropped by nested releases: now, or, at the largest depth, later.
pub fn release<X: 'static>(x: X) {
    let depth = DEPTH.get();
    if depth == DEEPEST {
        LATER.with(|later| later.borrow_mut().push(Box::new(x)));
        return;
    }
    DEPTH.set(depth + 1);
    let _leave = Leave(depth);
    drop(x);
    if depth == 0 {
        while let Some(next) = LATER.with(|later| {
            let mut later = later.borrow_mut();
            let next = later.pop();
            // An empty list keeps no memory.
            if next.is_none() && later.capacity() > 0 {
                later.shrink_to_fit();
            }
            next
        }) {
            drop(next);
        }
    }
}
