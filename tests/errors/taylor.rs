//! Mistakes that Taylor expansions refuse.

use std::cell::RefCell;

use polygrad::{
    Concrete, Function, Jet, Tensor, cond, direct, divergence, fold, laplacian_along, stack, taylor, taylor_along,
    tensor,
};

use crate::log::Log;

type Vector<T> = Tensor<T, 1>;

/// Misuse of the verbs.
pub(crate) fn verbs(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    log.panics(|| taylor_along(|x: &Vector<_>| x.sum(), &[] as &[Vector<Concrete>], 2));
    log.panics(|| taylor(|x: &Vec<Vector<_>>| x[0].clone(), &vec![v.clone()], &vec![], 2));
    log.panics(|| taylor(|x: &Vector<_>| x.sum(), &v, &tensor([1.0]), 2));
    log.panics(|| direct::taylor(|x: &Vec<Vector<_>>| x[0].clone(), &vec![v.clone()], &vec![], 2));
    log.panics(|| direct::taylor(|x: &Vector<_>| x.sum(), &v, &tensor([1.0]), 2));

    sums(log);

    let log = RefCell::new(log);
    levels(&log);
    loops(&mut log.borrow_mut());
}

/// Misuse of sums of second derivatives, and of divergences.
fn sums(log: &mut Log) {
    let (v, square) = (tensor([1.0, 2.0]), |x: &Vector<_>| x.square().sum());
    log.panics(|| laplacian_along(square, &v, &tensor([[1.0, 2.0, 3.0]])));
    let both = (v.clone(), v.clone());
    let lengths = (tensor([[1.0, 2.0]]), tensor([[1.0, 2.0], [3.0, 4.0]]));
    log.panics(|| laplacian_along(|(x, y): &(Vector<_>, Vector<_>)| x.dot(y), &both, &lengths));
    let of_first = |x: &Vec<Vector<_>>| x[0].sum();
    log.panics(|| laplacian_along(of_first, &vec![v.clone()], &Vec::<Tensor<Concrete, 2>>::new()));
    log.panics(|| Function::laplacian_along(square, &v, &tensor([[1.0]])));
    log.panics(|| divergence(|_: &Vector<_>| Vector::zeros([3]), &v));
    log.panics(|| Function::divergence(|_: &Vector<_>| Vector::zeros([3]), &v));
}

/// A value of an outer expansion of the same level: the series meet in the user's own line.
fn levels(log: &RefCell<&mut Log>) {
    type Value = Tensor<Jet<Concrete>, 0>;
    let one = &tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        log.panics(|| direct::taylor(|_: &Value| outer.clone(), one, one, 2));
        let mut meets = |f: &dyn Fn(&Value) -> Value| log.panics_nearby(|| direct::taylor(f, one, one, 2));
        let rows = &Tensor::zeros([2]);
        meets(&|y| y * outer);
        meets(&|y| y.clone() + outer);
        meets(&|y| y.atan2(outer));
        meets(&|y| y.dot(outer));
        meets(&|y| cond(y.gt(0.0), y, outer));
        meets(&|y| stack::<_, 0, 1, f64>([y, outer]).sum());
        meets(&|y| fold(y.clone(), rows, |c, _: &Value| c * outer));
        outer.clone()
    };
    direct::taylor(inner, one, one, 2);
}

/// Variables of loops that leave them.
fn loops(log: &mut Log) {
    type Value = Tensor<Jet<Concrete>, 0>;
    let x = &tensor([1.0, -1.0]);
    log.panics(|| {
        direct::taylor(
            |x: &Vector<Jet<Concrete>>| {
                let escaped = RefCell::new(Value::scalar(1.0));
                let y = fold(Value::scalar(1.0), x, |h, x: &Value| {
                    escaped.replace(x.clone());
                    h * x
                });
                y + escaped.into_inner()
            },
            x,
            x,
            2,
        )
    });
    log.panics_nearby(|| {
        let earlier = |x: &Vector<Jet<Concrete>>| {
            let kept = RefCell::new(Value::scalar(1.0));
            fold(Value::scalar(1.0), x, |h, x: &Value| h * x * kept.replace(x.clone()))
        };
        direct::taylor(earlier, x, x, 2)
    });
}
