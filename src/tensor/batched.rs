//! The function that `vmap` returns; its errors name the location of the call.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::Location;
use std::rc::Rc;

/// Panics inside a closure. Rust reports the line of the closure, so the message names the line of the call.
pub(super) fn stop(message: &str, call: &Location<'_>) -> ! {
    panic!("{message} (called at {call})")
}

/// A function of a stack of rows, as [`vmap`](super::vmap) returns it; it is called like a function.
///
/// ```
/// use polygrad::{Tensor, tensor, vmap};
/// let rows = tensor([[1.0, 2.0], [3.0, 4.0]]);
/// let squares = vmap(|x: &Tensor<_, 1>| x.square().sum());
/// assert_eq!(squares(&rows), tensor([5.0, 25.0]));
/// ```
///
/// # Panics
/// A call panics when sequences differ in length, or the results of two rows in shape; the message names the location
/// of the call.
pub struct Batched<'a, X, S> {
    map: Box<dyn Fn(X) -> S + 'a>,
    caller: Rc<Cell<&'static Location<'static>>>,
}

impl<'a, X, S> Batched<'a, X, S> {
    /// Wraps `f`, to which each call passes its location. A call panics with the error of `f` and this location.
    #[track_caller]
    pub(super) fn new(f: impl Fn(X, &'static Location<'static>) -> Result<S, String> + 'a) -> Self {
        let caller = Rc::new(Cell::new(Location::caller()));
        let at = caller.clone();
        let map = move |xs: X| match f(xs, at.get()) {
            Ok(stacked) => stacked,
            Err(message) => stop(&message, at.get()),
        };
        Batched { map: Box::new(map), caller }
    }
}

/// `function(xs)` calls the target of this dereference, which notes the location of the call.
impl<'a, X, S> Deref for Batched<'a, X, S> {
    type Target = dyn Fn(X) -> S + 'a;

    #[track_caller]
    fn deref(&self) -> &Self::Target {
        self.caller.set(Location::caller());
        &*self.map
    }
}
