//! A square.

use polygrad::BaseTensor;

use super::Scalar;

/// `x^2`
pub fn square<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    x * x
}
