//! The state of observing interpreters while their verbs run: a stack per thread.
//!
//! Law: an observation belongs to the innermost running verb for its type of values. So verbs nest, over other
//! interpreters and over themselves; constants are observed without a handle; and the state is removed when a verb
//! ends, by return or by panic. Other threads are not observed.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::rc::Rc;

/// The type of the observed values, and their observer.
type Entry = (TypeId, Rc<dyn Any>);

thread_local! {
    static RUNNING: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// A guard that ends a scope, by return or by panic.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.pop());
    }
}

/// Runs `f` while a new `S` observes values of type `V`, and returns that observer, too.
///
/// ```
/// use polygrad::interpreters::scope::{observed, observer};
/// struct Counted;
/// // An operation of an interpreter whose values are of type `Counted` counts itself.
/// let operation = || observer::<Counted, usize, _>(|count| *count += 1);
/// let ((), count) = observed::<Counted, usize, _>(|| (0..3).for_each(|_| _ = operation()));
/// assert_eq!((count, operation()), (3, None));
/// ```
pub fn observed<V: 'static, S: Default + 'static, R>(f: impl FnOnce() -> R) -> (R, S) {
    let observer = Rc::new(RefCell::new(S::default()));
    RUNNING.with_borrow_mut(|running| running.push((TypeId::of::<V>(), observer.clone())));
    let leave = Leave;
    let result = f();
    drop(leave);
    (result, observer.take())
}

/// Calls `f` on the observer of values of type `V`; `None` without an observer.
///
/// Example: [`observed`].
pub fn observer<V: 'static, S: 'static, R>(f: impl FnOnce(&mut S) -> R) -> Option<R> {
    let found = RUNNING.with_borrow(|running| {
        let entry = running.iter().rev().find(|(of, _)| *of == TypeId::of::<V>())?;
        entry.1.clone().downcast::<RefCell<S>>().ok()
    })?;
    Some(f(&mut found.borrow_mut()))
}
