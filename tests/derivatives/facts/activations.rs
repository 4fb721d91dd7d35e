//! Facts 88 and 89: activation functions and derivatives written by hand.

use polygrad::{BaseTensor, Tensor, tensor};

use super::check::{FINE, Scalar, gradient, near, shaped, starts};
use super::programs::T16;

fn logistic<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
    ((-x).exp() + 1.0).recip()
}

fn table<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
    x.sigmoid()
}

#[test]
fn fact_88_logistic() {
    near(&gradient!(logistic, tensor(3.0)), &[4.5176659730912e-2], FINE);
    near(&gradient!(table, tensor(3.0)), &[4.5176659730912e-2], FINE);
    let expected = [
        6.648056670790033e-3,
        0.10499358540350662,
        2.466509291359931e-3,
        0.19661193324148185,
        0.1049935854035065,
        0.2499999999999375,
        0.24937604019289197,
        0.24751657271185995,
        2.0452222584760427e-6,
        1.2337934976493025e-4,
        3.3523767075636815e-4,
        1.7662706213291118e-2,
        1.7763568394002473e-15,
        4.540945566439111e-2,
        4.6588861451033536e-15,
        5.109024314693943e-12,
    ];
    near(&gradient!(logistic, shaped([2, 2, 1, 2, 2], &T16)), &expected, FINE);
    near(&gradient!(table, shaped([2, 2, 1, 2, 2], &T16)), &expected, FINE);
}

#[test]
fn fact_88_logistic_twice() {
    fn twice<T: BaseTensor, const D: usize>(x: &Tensor<T, D>) -> Tensor<T, D> {
        logistic(&logistic(x))
    }
    let gradient = gradient!(twice, shaped([2, 2, 1, 2, 2], &T16));
    starts(&gradient, &[1.3111246391159124e-3, 2.1750075272657612e-2], FINE);
}

/// The value `y` with the derivative `slope` in `x`, whatever its own is.
fn with_slope<T: BaseTensor>(y: &Scalar<T>, slope: &Scalar<T>, x: &Scalar<T>) -> Scalar<T> {
    y.stop_gradient() + slope.stop_gradient() * (x - x.stop_gradient())
}

#[test]
fn fact_89_derivatives_by_hand() {
    fn right<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        let y = logistic(x);
        with_slope(&y, &(&y * (1.0 - &y)), x)
    }
    fn unscaled<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        with_slope(&logistic(x), &Tensor::scalar(1.0), x)
    }
    fn none<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        logistic(x).stop_gradient()
    }
    near(&gradient!(right, tensor(3.0)), &[4.5176659730912e-2], FINE);
    near(&gradient!(unscaled, tensor(3.0)), &[1.0], FINE);
    near(&gradient!(none, tensor(3.0)), &[0.0], 0.0);
}
