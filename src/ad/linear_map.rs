//! `LinearMap`: the derivative at a point as a callable linear map, as the verbs return it.

use std::cell::Cell;
use std::fmt::Display;
use std::ops::Deref;
use std::panic::Location;
use std::rc::Rc;

/// A pullback or pushforward: a linear map from `A` to `B`, called like a function.
///
/// ```
/// use polygrad::{direct, tensor::{Tensor, tensor}};
/// let x = tensor([1.0, 2.0]);
/// let (_, pullback) = direct::vjp(|x| x.square(), &x);
/// assert_eq!(pullback(&tensor([1.0, 1.0])), tensor([2.0, 4.0]));
/// // As an argument of type `Fn`, pass a closure that calls the map.
/// let several: Vec<_> = [tensor([1.0, 0.0]), tensor([0.0, 1.0])].iter().map(|y_bar| pullback(y_bar)).collect();
/// assert_eq!(several, [tensor([2.0, 0.0]), tensor([0.0, 4.0])]);
/// ```
///
/// # Panics
/// A call panics when its argument differs in structure, shapes or element types from the value, for a pullback, or
/// from the argument of the function, for a pushforward; the message names the line of the call.
pub struct LinearMap<'a, A, B> {
    map: Box<dyn Fn(&A) -> B + 'a>,
    caller: Rc<Cell<&'static Location<'static>>>,
}

impl<'a, A, B> LinearMap<'a, A, B> {
    /// The map computed by this function; the map panics with the errors of the function.
    #[track_caller]
    pub(crate) fn new<F: Display>(f: impl Fn(&A) -> Result<B, F> + 'a) -> Self {
        let caller = Rc::new(Cell::new(Location::caller()));
        let at = caller.clone();
        let map = move |x: &A| match f(x) {
            Ok(y) => y,
            // A panic inside a closure reports the line of the closure, so the message has the line of the call.
            Err(message) => panic!("{message} (called at {})", at.get()),
        };
        LinearMap { map: Box::new(map), caller }
    }
}

/// Dereferencing makes `map(&x)` a call, and records the line of the call.
impl<'a, A, B> Deref for LinearMap<'a, A, B> {
    type Target = dyn Fn(&A) -> B + 'a;

    #[track_caller]
    fn deref(&self) -> &Self::Target {
        self.caller.set(Location::caller());
        &*self.map
    }
}
