//! The product of many numbers: of a list, from either end, and of the elements of a vector, by a fold.

use polygrad::{BaseTensor, Tensor, fold};

/// A number of the program.
pub(crate) type Number<T> = Tensor<T, 0>;

/// `((x0 x1) x2) ..`.
pub(crate) fn from_left<T: BaseTensor>(list: &[Number<T>]) -> Number<T> {
    let products = list.iter().cloned().reduce(|product, x| product * x);
    products.unwrap_or_else(|| Tensor::scalar(1.0))
}

/// `x0 (x1 (x2 ..))`.
pub(crate) fn from_right<T: BaseTensor>(list: &[Number<T>]) -> Number<T> {
    let products = list.iter().rev().cloned().reduce(|product, x| x * product);
    products.unwrap_or_else(|| Tensor::scalar(1.0))
}

/// The product of the elements, one after the other.
pub(crate) fn folded<T: BaseTensor>(x: &Tensor<T, 1>) -> Number<T> {
    fold(Tensor::scalar(1.0), x, |product: Number<T>, x: &Number<T>| product * x)
}
