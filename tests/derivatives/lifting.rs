//! Values from outside enter the functions that the verbs run by `lift`: in every verb, at known numbers and in generic
//! code, through one level and through several.

use polygrad::inspect::{count, transcript};
use polygrad::{
    BaseTensor, Concrete, Function, Mode, Tensor, check, direct, fold, grad, grad_with, hessian, hessian_with, hvp,
    hvp_with, jacobian, jacobian_by, jacobian_by_with, jacobian_with, jvp, jvp_with, nth_derivative_with, tensor,
    value_and_grad, value_and_grad_with, value_and_jacobian_with, vjp, vjp_with,
};

type Scalar<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// Every plain verb on functions that use `k` from outside, in generic code: derivatives of `sum k x^2` and `k x^2`.
fn every_plain_verb<T: BaseTensor>(x: &Vector<T>, k: &Vector<T>) -> Vec<Vector<T>> {
    let one = Tensor::ones(x.shape());
    let (value, slope) = value_and_grad(|x| (x * x * k.lift()).sum(), x);
    let pulled = vjp(|x: &Vector<_>| x * x * k.lift(), x).1(&one);
    let jacobians: [Tensor<T, 2>; 3] = [
        jacobian(|x| x * x * k.lift(), x),
        jacobian_by(Mode::Forward, |x| x * x * k.lift(), x),
        jacobian_by(Mode::Reverse, |x| x * x * k.lift(), x),
    ];
    let curvature: Tensor<T, 2> = hessian(|x| (x * x * k.lift()).sum(), x);
    let mut all = vec![
        grad(|x| (x * x * k.lift()).sum(), x),
        slope,
        pulled,
        jvp(|x: &Vector<_>| x * x * k.lift(), x, &one).1,
        hvp(|x| (x * x * k.lift()).sum(), x, x),
        curvature.matvec(x),
        Tensor::full(x.shape(), 2.0).times(&(value - (x * x * k).sum())) + x * k * 2.0,
    ];
    all.extend(jacobians.iter().map(|j| j.matvec(&one)));
    all
}

fn every_direct_verb<T: BaseTensor>(x: &Vector<T>, k: &Vector<T>) -> Vec<Vector<T>> {
    let one = Tensor::ones(x.shape());
    vec![
        direct::grad(|x: &Vector<_>| (x * x * k.lift()).sum(), x),
        direct::value_and_grad(|x: &Vector<_>| (x * x * k.lift()).sum(), x).1,
        direct::vjp(|x: &Vector<_>| x * x * k.lift(), x).1(&one),
        direct::linearize(|x: &Vector<_>| x * x * k.lift(), x).1(&one),
        direct::jvp(|x: &Vector<_>| x * x * k.lift(), x, &one).1,
    ]
}

fn expected<T: BaseTensor>(x: &Vector<T>, k: &Vector<T>) -> Vector<T> {
    x * k * 2.0
}

#[test]
fn values_enter_every_verb() {
    let (x, k) = (tensor([1.0, 2.0, 3.0]), tensor([5.0, 6.0, 7.0]));
    for (verb, found) in every_plain_verb(&x, &k).iter().chain(&every_direct_verb(&x, &k)).enumerate() {
        assert_eq!(found, &expected(&x, &k), "verb {verb}");
    }
}

#[test]
fn values_enter_every_verb_inside_a_derivative_and_a_recording() {
    let (x, k) = (tensor([1.0, 2.0, 3.0]), tensor([5.0, 6.0, 7.0]));
    fn total<T: BaseTensor>(x: &Vector<T>, k: &Vector<T>) -> Scalar<T> {
        let mut sum = Tensor::scalar(0.0);
        for part in every_plain_verb(x, k).iter().chain(&every_direct_verb(x, k)) {
            sum += part.dot(x);
        }
        sum
    }
    // 15 times sum 2 k x^2, differentiated.
    let slope = &x * &k * 60.0;
    assert_eq!(grad(|x| total(x, &k.lift()), &x), slope);
    assert_eq!(direct::grad(|x| total(x, &k.lift()), &x), slope);
    let step = Function::value_and_grad_with(|x: &Vector<_>, k: &Vector<_>| total(x, k), &x, &k);
    assert_eq!(step.run_with(&x, &k).expect("the shapes of the trace").1, slope);
}

#[test]
fn values_enter_through_several_levels() {
    let (x, k) = (tensor([1.0, 2.0]), tensor([3.0, 5.0]));
    // A value of the outermost level, used two and three levels further in.
    let nested = grad(|x| grad(|x| (x * x * x * k.lift()).sum(), x).sum(), &x);
    assert_eq!(nested, tensor([18.0, 60.0]));
    let third = direct::grad(
        |x: &Vector<_>| {
            let second = |x: &Vector<_>| direct::grad(|x: &Vector<_>| (x * x * x * k.lift()).sum(), x).sum();
            direct::grad(second, x).sum()
        },
        &x,
    );
    assert_eq!(third, tensor([18.0, 30.0]));
    // Of the middle level and the outermost one together: d/dx of d/dy (x k y^2) at y = x.
    let both = grad(|x: &Vector<_>| grad(|y: &Vector<_>| (x.lift() * k.lift() * y * y).sum(), x).sum(), &x);
    assert_eq!(both, tensor([12.0, 40.0]));
    // Inside the step of a loop inside a derivative.
    let total = grad(|x| fold(Tensor::scalar(0.0), x.clone(), |s: Scalar<_>, x| s + k.lift().dot(&k.lift()) * x), &x);
    assert_eq!(total, tensor([34.0, 34.0]));
}

#[test]
fn values_enter_what_the_verbs_of_inspection_run() {
    let (x, k) = (tensor([1.0, 2.0]), tensor([3.0, 5.0]));
    let cubed = tensor([9.0, 60.0]);
    assert_eq!(count(|x| grad(|x| (x * x * x * k.lift()).sum(), x), &x).0, cubed);
    assert_eq!(transcript(|x| grad(|x| (x * x * x * k.lift()).sum(), x), &x).0, cubed);
    assert_eq!(check(|x| grad(|x| (x * x * x * k.lift()).sum(), x), &x).map(|y| y.shape()), Ok([2]));
}

#[test]
fn integers_and_masks_enter() {
    let (x, at, keep) = (tensor([1.0, 2.0, 3.0]), tensor([2, 0]), tensor([true, false]));
    let f = |x: &Vector<_>| keep.lift().select(x.gather([&at.lift()]).square(), 0.0).sum();
    assert_eq!(grad(f, &x), tensor([0.0, 0.0, 6.0]));
    let zero: Tensor<Concrete, 1> = grad(|x| x.sum() * at.lift().sum().to_float() * 0.0, &x);
    assert_eq!(zero, tensor([0.0; 3]));
}

/// Every verb with data, on functions of `x` and `k`: derivatives of `sum k x^2` and `k x^2`.
fn every_verb_with_data<T: BaseTensor>(x: &Vector<T>, k: &Vector<T>) -> Vec<Vector<T>> {
    fn each<T: BaseTensor>(x: &Vector<T>, (k, one): &(Vector<T>, Vector<T>)) -> Vector<T> {
        x * x * k * one
    }
    fn total<T: BaseTensor>(x: &Vector<T>, data: &(Vector<T>, Vector<T>)) -> Scalar<T> {
        each(x, data).sum()
    }
    let one = Tensor::ones(x.shape());
    let data = (k.clone(), one.clone());
    let (value, j) = value_and_jacobian_with(each, x, &data);
    let curvature: Tensor<T, 2> = hessian_with(total, x, &data);
    let jacobians: [Tensor<T, 2>; 4] = [
        j,
        jacobian_with(each, x, &data),
        jacobian_by_with(Mode::Forward, each, x, &data),
        jacobian_by_with(Mode::Reverse, each, x, &data),
    ];
    let mut all = vec![
        grad_with(total, x, &data),
        value_and_grad_with(total, x, &data).1,
        vjp_with(each, x, &data).1(&one),
        jvp_with(each, x, &one, &data).1,
        hvp_with(total, x, x, &data),
        curvature.matvec(x),
        value * 2.0 / x,
        direct::grad_with(total, x, &data),
        direct::value_and_grad_with(total, x, &data).1,
        direct::vjp_with(each, x, &data).1(&one),
        direct::linearize_with(each, x, &data).1(&one),
        direct::jvp_with(each, x, &one, &data).1,
    ];
    all.extend(jacobians.iter().map(|j| j.matvec(&one)));
    all
}

#[test]
fn data_enter_every_verb() {
    let (x, k) = (tensor([1.0, 2.0, 3.0]), tensor([5.0, 6.0, 7.0]));
    for (verb, found) in every_verb_with_data(&x, &k).iter().enumerate() {
        assert_eq!(found, &expected(&x, &k), "verb {verb}");
    }
}

#[test]
fn data_may_be_differentiated_by_an_outer_derivative() {
    let (x, k) = (tensor([1.0, 2.0, 3.0]), tensor([5.0, 6.0, 7.0]));
    fn total<T: BaseTensor>(k: &Vector<T>, x: &Vector<T>) -> Scalar<T> {
        every_verb_with_data(x, k).iter().fold(Tensor::scalar(0.0), |sum, part| sum + part.sum())
    }
    // 16 times sum 2 k x, in k.
    assert_eq!(grad_with(total, &k, &x), &x * 32.0);
    assert_eq!(direct::grad_with(total, &k, &x), &x * 32.0);
}

#[test]
fn derivatives_of_order_n_take_data() {
    let f = |x: &Scalar<_>, (a, n): &(Scalar<_>, Tensor<_, 1, i64>)| (x * a).sin() * n.sum().to_float();
    let data = (tensor(3.0), tensor([1, 1]));
    for (n, expected) in [0.0, 6.0, 0.0, -54.0].into_iter().enumerate() {
        assert_eq!(nth_derivative_with(f, n, &tensor(0.0), &data).item(), expected, "order {n}");
    }
}
