//! Mistakes that the verbs that record a program refuse.

use std::cell::RefCell;
use std::sync::Arc;

use polygrad::inspect::first_nan;
use polygrad::interpreters::Ast;
use polygrad::program::Custom;
use polygrad::{
    BaseTensor, Concrete, DType, Dual, Function, FunctionOptions, Mode, Ode, Tensor, custom_jvp, custom_vjp,
    derivative_tensor, direct, external, fold, grad, hessian, hessian_matrix, hvp, jacobian, jacobian_by,
    jacobian_matrix, jvp, nth_derivative, odeint, root, taylor, tensor, value_and_grad, value_and_grad_with, vjp,
    while_loop,
};

use crate::log::Log;
use crate::plain::Plain;

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// Misuse of the plain verbs.
pub(crate) fn verbs(log: &mut Log) {
    let (one, v) = (tensor(1.0), tensor([1.0, 2.0]));
    let leaf = vec![v.clone()];
    log.panics(|| grad(|x: &Number<_>| if x.item() > 0.0 { x.sin() } else { x.cos() }, &one));
    log.panics(|| hvp(|x: &Vec<Vector<_>>| x[0].sum(), &leaf, &vec![]));
    log.panics(|| hvp(|x: &Vector<_>| x.sum(), &v, &tensor([1.0])));
    let f = Function::stage(|x: &Vec<Vector<_>>| x[0].sum(), &leaf);
    log.fails(f.run(&vec![]).map(|_| ()));
    log.fails(f.run(&vec![tensor([1.0])]).map(|_| ()));
    log.fails(f.report("no/such/folder/report.html"));

    rules(log);
    lifted_outside(log);
    log.panics(|| jvp(|x: &Vec<Vector<_>>| x[0].sum(), &leaf, &vec![]));
    log.panics(|| jvp(|x: &Vector<_>| x.sum(), &v, &tensor([1.0])));

    let log = RefCell::new(log);
    levels(&log);
    escapes(&log);
}

/// The condition of a loop.
fn small<T: BaseTensor>(x: &Number<T>) -> Tensor<T, 0, bool> {
    x.lt(9.0)
}

/// Rules that do not fit their function.
fn rules(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    let same = |x: &Vector<_>| x.clone();
    log.panics(|| custom_jvp("same", same, |_, _, x_dot| x_dot.slice(0, 0..1), &v));
    log.panics(|| custom_vjp("same", same, |_, _, y_bar| y_bar.slice(0, 0..1), &v));
    let stray = Vector::from_raw(Ast::variable(&[2], DType::F64));
    log.panics(|| custom_jvp("stray", |x: &Vector<_>| x * &stray, |_, _, x_dot| x_dot.clone(), &v));
    log.panics(|| custom_vjp("stray", same, |_, _, y_bar| y_bar * &stray, &v));
    let several = |x: &Vec<Vector<_>>| x[0].clone();
    log.panics(|| custom_vjp("several", several, |_, _, _| Vec::new(), &vec![v.clone()]));
    let listed = |x: &Vector<_>| vec![x.clone(), x.sin()];
    log.panics(|| custom_jvp("listed", listed, |_, _, x_dot| vec![x_dot.clone()], &v));
    let clip = |_: &Vector<_>, _: &Vector<_>, y_bar: &Vector<_>| y_bar.clamp(-1.0, 1.0);
    log.panics(|| direct::jvp(|x: &Vector<_>| custom_vjp("clipped", same, clip, x), &v, &v));
    // Loops without a bound.
    let one = tensor(1.0);
    log.panics(|| Function::stage(|x| direct::grad(|x| while_loop(x, small, |x| x * 2.0), x), &one));
    log.panics(|| Function::stage(|x| direct::jvp(|x| while_loop(x, small, |x| x * 2.0), x, x).1, &one));
    let forward = FunctionOptions::new().mode(Mode::Forward);
    let clipped = Function::jacobian(|x: &Vector<_>| custom_vjp("clipped", same, clip, x), &v);
    log.panics(|| clipped.with_options(forward));
    log.panics(|| {
        jacobian_by::<_, 1, 1, 2, _>(Mode::Forward, |x: &Vector<_>| custom_vjp("clipped", same, clip, x), &v)
    });
    log.panics(|| external("longer", |_: &Vector<Concrete>| tensor([1.0, 2.0, 3.0]), &tensor([0.0]), &v));
    log.panics(|| root(|x: &Vector<_>, p: &Vector<_>| x * p - &stray, &v, &v));
    log.panics(|| root(|x: &Vector<_>, p: &Vector<_>| (x * p).slice(0, 0..1), &v, &v));
    let none = Tensor::<Concrete, 1>::zeros([0]);
    log.panics(|| odeint(|x: &Vector<_>, _, _: &Vector<_>| x.clone(), &v, &none, &v));
    log.panics(|| odeint(|x: &Vector<_>, _, _: &Vector<_>| x.slice(0, 0..1), &v, &v, &v));
    log.panics(|| Ode::default().max_step(0.0));
    let few = Ode::default().steps(2);
    log.fails(few.try_solve(|x: &Vector<_>, _, _: &Vector<_>| x * -1.0, &v, &v, &v));
    log.fails(few.try_solve(|x: &Vector<_>, _, _: &Vector<_>| x * -1e6, &v, &v, &v));
    log.fails(few.try_solve(|x: &Vector<_>, _, _: &Vector<_>| (x * 0.0).ln() * 0.0, &v, &v, &v));
    log.fails(few.try_solve(|x: &Vector<_>, _, _: &Vector<_>| x.clone(), &(&v / 0.0), &v, &v));
    let lost = first_nan(|p: &Vector<_>| root(|x: &Vector<_>, p: &Vector<_>| x.square() + p, p, p), &v);
    log.fails(lost.and_then(|report| report.reason).map_or(Ok(()), Err));
    let twice = |x: &Tensor<Concrete, 1>| x * 2.0;
    log.panics(|| direct::grad(|x: &Vector<_>| external("twice", twice, &tensor([0.0, 0.0]), x).sum(), &v));
    log.panics_when_run(|| grad(|x: &Vector<_>| external("twice", twice, &tensor([0.0, 0.0]), x).sum(), &v));
    log.panics_when_run(|| Function::grad(|x: &Vector<_>| external("twice", twice, &tensor([0.0, 0.0]), x).sum(), &v));
    log.panics(|| direct::jvp(|x: &Vector<_>| external("twice", twice, &tensor([0.0, 0.0]), x).sum(), &v, &v));
    let [x, y, x_dot] = [(); 3].map(|()| Ast::variable(&[2], DType::F64));
    let primal = Ast::program(std::slice::from_ref(&x), std::slice::from_ref(&x), &[]).expect("closed");
    let jvp = Ast::program(&[x.clone(), y, x_dot.clone()], &[x_dot], &[]).expect("closed");
    let same = Arc::new(Custom::new("same", primal, Some(jvp), None).expect("they fit"));
    log.panics(|| Ast::custom(&same, &[]));
    log.panics(|| Ast::custom(&same, &[Ast::variable(&[3], DType::F64)]));
}

/// A variable of an outer function in the function of a verb at known numbers.
fn levels(log: &RefCell<&mut Log>) {
    let one = tensor(1.0);
    let inner = |outer: &Number<Ast>| {
        let mut log = log.borrow_mut();
        log.panics(|| grad(|y| y * outer, &one));
        log.panics(|| value_and_grad(|y| y * outer, &one));
        log.panics(|| value_and_grad_with(|y, _: &()| y * outer, &one, &()));
        log.panics(|| vjp(|y: &Number<_>| y * outer, &one));
        log.panics(|| jvp(|y: &Number<_>| y * outer, &one, &one));
        log.panics(|| jacobian::<_, 0, 0, 0, _>(|y| y * outer, &one));
        log.panics(|| jacobian_by::<_, 0, 0, 0, _>(Mode::Reverse, |y| y * outer, &one));
        log.panics(|| jacobian_matrix(|y: &Number<_>| y * outer, &one));
        log.panics(|| hessian::<_, 0, 0, _>(|y| y * outer, &one));
        log.panics(|| hessian_matrix(|y: &Number<_>| y * outer, &one));
        log.panics(|| hvp(|y| y * outer, &one, &one));
        log.panics(|| taylor(|y: &Number<_>| y * outer, &one, &one, 1));
        log.panics(|| derivative_tensor::<1, _, _>(|y| y.sum() * outer, &tensor([1.0])));
        log.panics(|| nth_derivative(|y| y * outer, 1, &one));
        outer.clone()
    };
    grad(inner, &one);
}

/// A lifted value at an interpreter that does not say what it is there.
fn lifted_outside(log: &mut Log) {
    let (one, log) = (&tensor(1.0), RefCell::new(log));
    let slope = |x: &Number<Dual<Concrete>>| {
        let mut log = log.borrow_mut();
        log.panics(|| grad(|z: &Number<_>| z * x.lift(), &Tensor::from_raw(Plain(x.raw().clone()))));
        x.clone()
    };
    direct::jvp(slope, one, one);
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
    log.panics(|| jvp(|x: &Vector<_>| escaping(x), v, v));
    log.panics(|| jacobian::<_, 1, 1, 2, _>(|x: &Vector<_>| x.row(0).broadcast_to([]).replicate(1 << 59), v));
    log.panics(|| nth_derivative(|x: &Number<_>| escaping(&x.replicate(2)), 1, one));
    log.panics(|| Function::stage(|x: &Vector<_>| escaping(x), v));
    log.panics(|| Function::value_and_grad(|x: &Vector<_>| escaping(x), v));
}
