//! Counted references in long chains: terms, linear functions, closures and diagrams hold each other.
//!
//! Law: a chain of them is dropped in a bounded part of the stack, since the last reference releases its value.

use std::ops::Deref;
use std::rc::Rc;

use polygrad::seam::release;

/// A counted reference to a value that may hold references to others; the last reference releases the value.
///
/// ```
/// use polygrad_higher::interpreters::Shared;
/// let shared = Shared::new(vec![1, 2]);
/// assert_eq!((shared.clone().len(), Shared::unwrap_or_clone(shared)), (2, vec![1, 2]));
/// ```
pub struct Shared<X: ?Sized + 'static>(
    /// `None` only after [`drop`](Drop::drop) has taken the reference.
    Option<Rc<X>>,
);

impl<X: 'static> Shared<X> {
    /// The only reference to a value.
    ///
    /// Example: [`Shared`].
    pub fn new(x: X) -> Self {
        Shared::of(Rc::new(x))
    }

    /// The value, or a copy of it if there are other references.
    ///
    /// Example: [`Shared`].
    pub fn unwrap_or_clone(mut shared: Self) -> X
    where
        X: Clone,
    {
        Rc::unwrap_or_clone(shared.0.take().expect("a value that is not dropped"))
    }
}

impl<X: ?Sized + 'static> Shared<X> {
    pub(crate) fn of(x: Rc<X>) -> Self {
        Shared(Some(x))
    }

    /// Where the value lies in memory.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(&**self).cast::<()>().addr()
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
