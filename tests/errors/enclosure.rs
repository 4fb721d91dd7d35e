//! Mistakes that bounds refuse.

use polygrad::{Array, Enclosure, Function, Tensor, enclose, external, tensor, while_loop};

use crate::log::Log;

type Vector<T> = Tensor<T, 1>;

/// Misuse of the verb, and what has no bounds.
pub(crate) fn verbs(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    log.panics(|| enclose(|x: &Vector<_>| x.sum(), &v, &tensor([3.0, 1.0])));
    log.panics(|| enclose(|x: &Vector<_>| x.sum(), &v, &tensor([3.0])));
    let f = Function::stage(|x: &Vector<_>| x.sum(), &v);
    log.panics(|| f.enclose(&v, &tensor([3.0, f64::NEG_INFINITY])));
    let m = tensor([[2.0, 1.0], [1.0, 2.0]]);
    log.panics(|| enclose(|x: &Tensor<Enclosure, 2>| x.cholesky(), &m, &m));
    let twice = |x: &Vector<Array>| x * 2.0;
    log.panics(|| enclose(|x: &Vector<Enclosure>| external("twice", twice, &tensor([0.0, 0.0]), x), &v, &v));
    let halved = |x: &Tensor<Enclosure, 0>| while_loop(x.clone(), |x| x.gt(1.0), |x: Tensor<_, 0>| x / 2.0);
    log.panics_nearby(|| enclose(halved, &tensor(3.9), &tensor(4.1)));
}
