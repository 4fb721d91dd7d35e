//! Facts 70 to 76: second and mixed derivatives, and verbs inside programs.

use polygrad::direct::{grad, jvp, vjp};
use polygrad::{BaseTensor, Tensor, fold, scan, tensor};

use super::check::{FINE, Scalar, everywhere, gradient, near, pushforward};
use super::loops::{fold8, scan8};

/// The sine's derivative in reverse mode.
fn reverse<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    grad(|x: &Scalar<_>| x.sin(), x)
}

/// The sine's derivative in forward mode.
fn forward<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    jvp(|x: &Scalar<_>| x.sin(), x, &Tensor::scalar(1.0)).1
}

#[test]
fn fact_70_first_and_second_derivative_of_the_sine() {
    let x = || tensor(1.1);
    near(&reverse(&x()), &[0.4535961214255773], FINE);
    near(&forward(&x()), &[0.4535961214255773], FINE);
    // `gradient!` is reverse and forward, each over either.
    near(&gradient!(reverse, x()), &[-0.8912073600614354], FINE);
    near(&gradient!(forward, x()), &[-0.8912073600614354], FINE);
    near(&pushforward!(forward, x(), x()), &[-0.9803280960675791], FINE);
    near(&pushforward!(reverse, x(), x()), &[-0.9803280960675791], FINE);
}

#[test]
fn fact_71_composed_derivatives() {
    fn reverse_twice<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        reverse(&reverse(x))
    }
    fn forward_twice<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        forward(&forward(x))
    }
    near(&reverse_twice(&tensor(1.1)), &[0.8988770945225438], FINE);
    near(&forward_twice(&tensor(1.1)), &[0.8988770945225438], FINE);
    near(&gradient!(reverse_twice, tensor(1.1)), &[0.39052780643689855], FINE);
    near(&gradient!(forward_twice, tensor(1.1)), &[0.39052780643689855], FINE);
}

#[test]
fn fact_71_third_derivative() {
    fn reverse_second<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        grad(|x: &Scalar<_>| reverse(x), x)
    }
    fn forward_second<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        jvp(|x: &Scalar<_>| forward(x), x, &Tensor::scalar(1.0)).1
    }
    near(&gradient!(reverse_second, tensor(1.1)), &[-0.4535961214255773], FINE);
    near(&gradient!(forward_second, tensor(1.1)), &[-0.4535961214255773], FINE);
}

#[test]
fn fact_73_second_derivative_of_a_fold() {
    fn reverse<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        grad(|x: &Scalar<_>| fold8(x).sum(), x)
    }
    fn forward<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 2> {
        jvp(fold8, x, &Tensor::scalar(1.0)).1
    }
    near(&gradient!(reverse, tensor(1.1)), &[98.72666469795736], FINE);
    near(&gradient!(forward, tensor(1.1)), &[98.72666469795736], FINE);
    near(&gradient!(reverse, tensor(0.0001)), &[6.182232283434464e-2], FINE);
    everywhere(&pushforward!(forward, tensor(1.1), tensor(1.1)), 10.859933116775313, FINE);
}

#[test]
fn fact_74_second_derivative_of_a_scan() {
    fn reverse<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        grad(|x: &Scalar<_>| scan8(x).sum(), x)
    }
    fn forward<T: BaseTensor>(x: &Scalar<T>) -> Tensor<T, 3> {
        jvp(scan8, x, &Tensor::scalar(1.0)).1
    }
    near(&gradient!(reverse, tensor(1.1)), &[285.9579482947575], FINE);
    near(&gradient!(forward, tensor(1.1)), &[285.9579482947575], FINE);
}

#[test]
fn fact_76_gradient_of_a_pullback_of_a_scan() {
    fn squares<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        let (_, pull) = vjp(|x: &Tensor<_, 1>| scan(Tensor::scalar(5.0), x, |_, z| z * z), x);
        pull(&Tensor::constant([1.0, 2.0, 3.0, 4.0]))
    }
    fn ignored<T: BaseTensor>(x: &Tensor<T, 1>) -> Tensor<T, 1> {
        let (_, pull) = vjp(|x: &Tensor<_, 1>| scan(Tensor::scalar(5.0), x, |c, _| c), x);
        pull(&Tensor::constant([1.0, 2.0, 3.0, 4.0]))
    }
    near(&gradient!(squares, Tensor::full([3], 1.1)), &[4.0, 6.0, 8.0], FINE);
    near(&gradient!(ignored, Tensor::full([3], 1.1)), &[0.0, 0.0, 0.0], FINE);
}

#[test]
fn fact_77_linear_approximation() {
    // The other half of this law, that the two derivatives are transposes, is checked with every fact.
    fn program<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        fold(x.clone(), x.replicate::<1>(3), |c, a| c.sin() * a)
    }
    let (x, step) = (tensor(1.1), tensor(1e-4));
    let difference = program(&(&x + &step)) - program(&x);
    near(&(difference - pushforward!(program, x, step)), &[0.0], 1e-6);
}
