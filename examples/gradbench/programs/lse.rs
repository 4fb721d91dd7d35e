//! The logarithm of a sum of exponentials, with the largest term taken out.

use polygrad::BaseTensor;

use super::{Scalar, Vector};

/// `a + log sum_i exp(x_i - a)`, where `a` is the largest `x_i`
pub fn log_sum_exp<T: BaseTensor>(x: &Vector<T>) -> Scalar<T> {
    let a = x.max_all();
    (x - &a).exp().sum().ln() + a
}
