//! The small programs and arrays that several facts are about.

use polygrad::{BaseTensor, Float, Tensor};

/// `atan2(z, w) + z w` with `w = x sin y`.
pub(crate) fn foo<T: BaseTensor, const D: usize, E: Float>(
    x: &Tensor<T, D, E>,
    y: &Tensor<T, D, E>,
    z: &Tensor<T, D, E>,
) -> Tensor<T, D, E> {
    let w = x * y.sin();
    z.atan2(&w) + z * &w
}

/// `atan2(x, w) + y w` with `w = foo(x, y, x) sin y`.
pub(crate) fn bar<T: BaseTensor, const D: usize>(x: &Tensor<T, D>, y: &Tensor<T, D>) -> Tensor<T, D> {
    let w = foo(x, y, x) * y.sin();
    x.atan2(&w) + y * &w
}

/// Sixteen numbers of very different size.
pub(crate) const T16: [f64; 16] =
    [5.0, 2.0, 6.0, 1.0, -2.0, 0.000001, 0.1, -0.2, 13.1, 9.0, 8.0, -4.0, 34.0, 2.99432, -33.0, 26.0];

/// Sixteen others, two of them 0 and one very large.
pub(crate) const T16B: [f64; 16] =
    [5.0, 2.0, 6.0, 1.0, -2.0, 0.0, 0.1, -0.2, 13.1, 9.0, 8.0, -4.0, 582934.0, 2.99432, -335.0, 26.0];
