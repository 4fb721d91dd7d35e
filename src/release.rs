//! Values that hold others like them, as deep as a program was long, dropped in little stack.
//!
//! The references from one value to the next are released where the language does it, so who is the last owner needs no
//! thought: it may hold a value once, twice, or within a closure. Only the depth is watched: what would be dropped deeper
//! than [`DEEPEST`] waits until the stack is free again. Law: whatever holds its parts through [`release`] is dropped in a
//! bounded part of the stack.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::rc::Rc;

/// How many releases may lie within each other: a few kilobytes of stack, even without optimization.
const DEEPEST: u32 = 16;

thread_local! {
    /// The number of releases that are running.
    static DEPTH: Cell<u32> = const { Cell::new(0) };

    /// What is to be dropped by the outermost release that is running. It is empty when none is, so nothing is lost when
    /// the thread ends; and a list that is never dropped itself serves drops at the end of a thread, too.
    static LATER: ManuallyDrop<RefCell<Vec<Box<dyn Any>>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Restores the depth, however a drop ends.
struct Leave(u32);

impl Drop for Leave {
    fn drop(&mut self) {
        DEPTH.set(self.0);
    }
}

/// Drops a value that may hold others which are released when they are dropped.
pub(crate) fn release<X: 'static>(x: X) {
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
            // An empty list keeps no memory.
            later.pop().or_else(|| std::mem::take(&mut *later).pop())
        }) {
            drop(next);
        }
    }
}

/// A reference to a value that may hold others like it: the last one releases the value.
pub(crate) struct Shared<X: ?Sized + 'static>(
    /// Taken only by [`drop`](Drop::drop).
    Option<Rc<X>>,
);

impl<X: 'static> Shared<X> {
    pub(crate) fn new(x: X) -> Self {
        Shared::of(Rc::new(x))
    }
}

impl<X: ?Sized + 'static> Shared<X> {
    pub(crate) fn of(x: Rc<X>) -> Self {
        Shared(Some(x))
    }
}

impl<X: ?Sized> Clone for Shared<X> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}

impl<X: ?Sized> Deref for Shared<X> {
    type Target = X;

    fn deref(&self) -> &X {
        self.0.as_deref().expect("a value that is not dropped")
    }
}

impl<X: ?Sized> Drop for Shared<X> {
    fn drop(&mut self) {
        if let Some(last) = self.0.take().filter(|x| Rc::strong_count(x) == 1) {
            release(last);
        }
    }
}
