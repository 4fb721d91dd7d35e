//! Numbers and masks of searches and steps, at any interpreter.

use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::{Compare, Discrete, Unary};
use crate::program::repeat::like;

/// A constant of rank 0.
pub(super) fn number<T: BaseTensor>(x: f64) -> T {
    T::constant(Array::scalar(x))
}

/// The largest absolute value of a vector, 0 if it has no elements.
pub(super) fn largest<T: BaseTensor>(x: &T) -> T {
    if x.shape()[0] == 0 {
        return number(0.0);
    }
    x.unary(Unary::Abs).reduce(crate::ops::Reduce::Max { axis: 0 })
}

/// Whether one number is larger than another.
pub(super) fn exceeds<T: BaseTensor>(x: &T, y: &T) -> T {
    T::discrete(&Discrete::Compare(Compare::Gt), &[x, y])
}

/// `then` if a mask of rank 0 holds, and otherwise `otherwise`.
pub(super) fn choose<T: BaseTensor>(mask: &T, then: &T, otherwise: &T) -> T {
    T::select(&like(mask, then.shape()), then, otherwise)
}

/// NaN in place of a value if a mask of rank 0 holds.
pub(super) fn nan_if<T: BaseTensor>(mask: &T, x: &T) -> T {
    choose(mask, &T::constant(Array::full(x.shape(), f64::NAN)), x)
}
