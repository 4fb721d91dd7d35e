//! Fact 89 with rules: the logistic function with three derivatives written by hand, of which one is right.

use polygrad::{BaseTensor, Concrete, Tensor, custom_jvp, grad, tensor};

use super::check::{FINE, Scalar, gradient, near};

fn logistic<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    ((-x).exp() + 1.0).recip()
}

fn right<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    custom_jvp("logistic", logistic, |_, y, x_dot| y * (1.0 - y) * x_dot, x)
}

fn unscaled<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    custom_jvp("unscaled", logistic, |_, _, x_dot| x_dot.clone(), x)
}

fn stopped<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
    custom_jvp("stopped", logistic, |_, _, _| Tensor::scalar(0.0), x)
}

#[test]
fn fact_89_rules_by_hand() {
    let x = || tensor(3.0);
    near(&gradient!(right, x()), &[4.5176659730912e-2], FINE);
    near(&gradient!(unscaled, x()), &[1.0], 0.0);
    near(&gradient!(stopped, x()), &[0.0], 0.0);
    for y in [right(&x()), unscaled(&x()), stopped(&x())] {
        assert_eq!(y, logistic(&x()));
    }
}

#[test]
fn fact_89_rules_in_programs() {
    let x: Scalar<Concrete> = tensor(3.0);
    near(&grad(right, &x), &[4.5176659730912e-2], FINE);
    near(&grad(unscaled, &x), &[1.0], 0.0);
    near(&grad(stopped, &x), &[0.0], 0.0);
}

#[test]
fn fact_89_rules_are_differentiated_again() {
    // The derivative of a rule, and not that of the function: a derivative that is constantly 1 has derivative 0.
    fn slope<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        grad(right, x)
    }
    fn one<T: BaseTensor>(x: &Scalar<T>) -> Scalar<T> {
        grad(unscaled, x)
    }
    let y = logistic(&tensor(3.0)).item();
    near(&gradient!(slope, tensor(3.0)), &[y * (1.0 - y) * (1.0 - 2.0 * y)], FINE);
    near(&gradient!(one, tensor(3.0)), &[0.0], 0.0);
}
