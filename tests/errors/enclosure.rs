//! Mistakes that bounds refuse.

use polygrad::{
    Array, Enclosure, Function, TaylorForm, Tensor, enclose, external, stack, taylor_model, tensor, verified_odeint,
    verified_root, verified_roots, while_loop,
};

use crate::log::Log;

type Vector<T> = Tensor<T, 1>;

/// Misuse of the verb, and what has no bounds.
pub(crate) fn verbs(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    log.panics(|| enclose(|x: &Vector<_>| x.sum(), &v, &tensor([3.0, 1.0])));
    log.panics(|| enclose(|x: &Vector<_>| x.sum(), &v, &tensor([3.0])));
    let f = Function::stage(|x: &Vector<_>| x.sum(), &v);
    log.panics(|| f.enclose(&v, &tensor([3.0, f64::NEG_INFINITY])));
    let twice = |x: &Vector<Array>| x * 2.0;
    log.panics(|| enclose(|x: &Vector<Enclosure>| external("twice", twice, &tensor([0.0, 0.0]), x), &v, &v));
    let halved = |x: &Tensor<Enclosure, 0>| while_loop(x.clone(), |x| x.gt(1.0), |x: Tensor<_, 0>| x / 2.0);
    log.panics_nearby(|| enclose(halved, &tensor(3.9), &tensor(4.1)));
}

/// Misuse of what stands on bounds, and what has no proof.
pub(crate) fn proofs(log: &mut Log) {
    let (v, one) = (tensor([1.0, 2.0]), tensor(1.0));
    log.panics(|| taylor_model(|x: &Vector<_>| x.sum(), &v, &tensor([0.0, 0.0]), 1));
    log.panics(|| taylor_model(|x: &Vector<_>| x.gt(0.0), &v, &v, 1));
    let form = TaylorForm::new(|x: &Vector<_>| x.sum(), &v, 1);
    log.panics(|| form.over(&tensor([0.0]), &tensor([0.0])));
    log.panics(|| form.over(&v, &v).within(&(&v - 1.0), &v));
    log.panics(|| verified_roots(|x: &Vector<_>, _: &()| stack([&x.at([0])]), &v, &v, &()));
    log.panics(|| verified_odeint(|x: &Tensor<_, 0>, _: &_, _: &()| x.clone(), &one, &one, &[], &()));
    let outer = polygrad::program::Term::variable(&[], polygrad::DType::F64);
    log.panics(|| {
        verified_roots(|x: &Tensor<_, 0>, _: &()| x + Tensor::<_, 0>::from_raw(outer.clone()), &one, &one, &())
    });
    let square = |x: &Tensor<_, 0>, p: &Tensor<_, 0>| x.square() - p;
    log.fails(verified_root(square, &tensor(1e-9), &tensor(0.0)));
    log.fails(verified_root(square, &tensor(0.0), &tensor(1.0)));
    let pole = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, _: &()| x.abs() - 1.0;
    log.fails(verified_odeint(pole, &tensor(0.0), &tensor(0.0), &[0.0, 1.0], &()));
    log.fails(verified_odeint(pole, &tensor(0.0), &tensor(0.0), &[0.0, f64::INFINITY], &()));
    let few = polygrad::VerifiedOde::default().steps(2);
    log.fails(few.solve(|x: &Tensor<_, 0>, _: &_, _: &()| x.clone(), &one, &one, &[0.0, 90.0], &()));
}
