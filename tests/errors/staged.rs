//! What the verbs that record the program refuse.

use std::cell::RefCell;

use polygrad::interpreters::Ast;
use polygrad::{
    ADVal, BaseTensor, Function, Mode, Tensor, fold, grad, hessian, hvp, jacobian, jacobian_by, nth_derivative, tensor,
    value_and_grad, value_and_grad_with,
};

use crate::log::Log;

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// Misuse of the plain verbs.
pub(crate) fn verbs(log: &mut Log) {
    let (one, v) = (tensor(1.0), tensor([1.0, 2.0]));
    let leaf = vec![v.clone()];
    log.panics(|| grad(|x: &Number<_>| if x.item() > 0.0 { x.sin() } else { x.cos() }, &one));
    log.panics(|| hvp(|x: &Vec<Vector<_>>| x[0].sum(), &leaf, &vec![]));
    log.panics(|| hvp(|x: &Vector<_>| x.sum(), &v, &tensor([1.0])));
    let f = Function::stage(|x: &Vec<Vector<_>>, _: &()| x[0].sum(), &leaf, &());
    log.fails(f.run(&vec![], &()).map(|_| ()));
    log.fails(f.run(&vec![tensor([1.0])], &()).map(|_| ()));

    let log = RefCell::new(log);
    levels(&log);
    second_levels(&log);
    escapes(&log);
}

/// A value of an outer derivative of the same level.
fn levels(log: &RefCell<&mut Log>) {
    type Value = Number<ADVal<Ast>>;
    type Second = Number<ADVal<ADVal<Ast>>>;
    let one = tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        log.panics(|| grad(|y: &Value| y * outer, &one));
        log.panics(|| value_and_grad(|y: &Value| y * outer, &one));
        log.panics(|| value_and_grad_with(|y: &Value, _: &()| y * outer, &one, &()));
        log.panics(|| jacobian::<_, 0, 0, 0, _>(|y: &Value| y * outer, &one));
        log.panics(|| jacobian_by::<_, 0, 0, 0, _>(Mode::Reverse, |y: &Value| y * outer, &one));
        log.panics(|| hessian::<_, 0, 0, _>(|y: &Second| y * outer.lift(), &one));
        log.panics(|| hvp(|y: &Second| y * outer.lift(), &one, &one));
        outer.clone()
    };
    grad(inner, &one);
}

/// A value of the inner level of an outer second derivative.
fn second_levels(log: &RefCell<&mut Log>) {
    type Value = Number<ADVal<ADVal<Ast>>>;
    let one = tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        log.panics(|| hessian::<_, 0, 0, _>(|y: &Value| y * outer, &one));
        log.panics(|| hvp(|y: &Value| y * outer, &one, &one));
        outer.clone()
    };
    hvp(inner, &one, &one);
}

/// A program that takes an element out of its loop.
fn escaping<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
    let escaped = RefCell::new(Number::scalar(1.0));
    let y = fold(Number::scalar(1.0), x, |h, x: &Number<T>| {
        escaped.replace(x.clone());
        h * x
    });
    y + escaped.into_inner()
}

/// Variables of loops and of traces that leave them.
fn escapes(log: &RefCell<&mut Log>) {
    let mut log = log.borrow_mut();
    let (one, v) = (&tensor(1.0), &tensor([1.0, 2.0]));
    log.panics(|| grad(|x: &Vector<_>| escaping(x), v));
    log.panics(|| jacobian_by::<_, 1, 0, 1, _>(Mode::Forward, |x: &Vector<_>| escaping(x), v));
    log.panics(|| value_and_grad_with(|x: &Vector<_>, data: &Vector<_>| x.sum() * escaping(data), v, v));
    log.panics(|| nth_derivative(|x: &Number<_>| escaping(&x.replicate(2)), 1, one));
    log.panics(|| Function::stage(|x: &Vector<_>, _: &()| escaping(x), v, &()));
    log.panics(|| Function::value_and_grad(|x: &Vector<_>, _: &()| escaping(x), v, &()));
}
