//! Mistakes that the verbs of `direct` refuse.

use std::cell::RefCell;

use polygrad as traced;
use polygrad::direct::{grad, jvp, linearize, value_and_grad, value_and_grad_with, vjp};
use polygrad::interpreters::adval::Sweep;
use polygrad::interpreters::tower::ReverseLevel;
use polygrad::interpreters::{Formal, Tower};
use polygrad::tree::TreeMath;
use polygrad::{ADVal, Concrete, Dual, Tensor, build1, cond, fold, stack, tensor};

use crate::log::Log;

type Vector<T> = Tensor<T, 1>;

/// Misuse of the verbs.
pub(crate) fn verbs(log: &mut Log) {
    let v = tensor([1.0, 2.0]);
    log.panics(|| jvp(|x: &Vec<Vector<_>>| x[0].clone(), &vec![v.clone()], &vec![]));
    log.panics(|| jvp(|x: &Vector<_>| x.sum(), &v, &tensor([1.0])));
    let (_, pullback) = vjp(|x: &Vector<_>| vec![x.square()], &v);
    log.panics_naming_the_call(|| pullback(&vec![]));
    log.panics_naming_the_call(|| pullback(&vec![tensor([1.0])]));
    let (_, pushforward) = linearize(|x: &Vec<Vector<_>>| x[0].square(), &vec![v.clone()]);
    log.panics_naming_the_call(|| pushforward(&vec![]));
    log.panics_naming_the_call(|| pushforward(&vec![tensor([1.0])]));

    let (_, pullback) = traced::vjp(|x: &Vector<_>| vec![x.square()], &v);
    log.panics_naming_the_call(|| pullback(&vec![]));
    log.panics_naming_the_call(|| pullback(&vec![tensor([1.0])]));
    let sweep = Sweep::<Concrete>::new();
    log.panics(|| sweep.pull(&[], vec![v.raw().clone()]));
    log.panics(|| sweep.push(&[], vec![v.raw().clone()]));
    let mut level = ReverseLevel::start();
    let x = level.input(&Tower::of(v.raw().clone()));
    let (_, pullback) = level.ended(&[x]);
    log.panics(|| pullback.pull(Vec::new()));
    log.panics(|| pullback.pull(vec![None, Some(Tower::of(v.raw().clone()))]));

    let log = RefCell::new(log);
    reverse_levels(&log);
    forward_levels(&log);
    recorded_loops(&log);
    forward_loops(&mut log.borrow_mut());
    leaks(&mut log.borrow_mut());
}

/// A value of an inner derivative that leaves it, where there is no loop.
fn leaks(log: &mut Log) {
    type Value = Tensor<ADVal<Concrete>, 0>;
    let one = &tensor(1.0);
    let leaking = |x: &Value| {
        let leak = RefCell::new(x.clone());
        grad(
            |y: &Value| {
                leak.replace(y.clone());
                y.sin()
            },
            one,
        );
        x * leak.into_inner()
    };
    log.panics(|| grad(leaking, one));
    let (_, pushforward) = linearize(leaking, one);
    log.panics_naming_the_call(|| pushforward(one));
    let inside = |x: &Value| {
        let leak = RefCell::new(x.clone());
        fold(x.clone(), Tensor::zeros([2]), |c, _: &Value| {
            grad(
                |y: &Value| {
                    leak.replace(y.clone());
                    y.sin()
                },
                one,
            );
            c * &*leak.borrow()
        })
    };
    log.panics_nearby(|| grad(inside, one));
}

/// Variables of loops that leave them, forward.
fn forward_loops(log: &mut Log) {
    type Value = Tensor<Dual<Concrete>, 0>;
    let x = &tensor([1.0, -1.0]);
    log.panics(|| {
        jvp(
            |x: &Vector<Dual<Concrete>>| {
                let escaped = RefCell::new(Value::scalar(1.0));
                let y = fold(Value::scalar(1.0), x, |h, x: &Value| {
                    escaped.replace(x.clone());
                    h * x
                });
                y + escaped.into_inner()
            },
            x,
            x,
        )
    });
    log.panics_nearby(|| {
        let earlier = |x: &Vector<Dual<Concrete>>| {
            let kept = RefCell::new(Value::scalar(1.0));
            fold(Value::scalar(1.0), x, |h, x: &Value| h * x * kept.replace(x.clone()))
        };
        jvp(earlier, x, x)
    });
}

/// A value of an outer derivative of the same level, in reverse.
fn reverse_levels(log: &RefCell<&mut Log>) {
    type Value = Tensor<ADVal<Concrete>, 0>;
    let one = tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        log.panics(|| grad(|y: &Value| y * outer, &one));
        log.panics(|| value_and_grad(|y: &Value| y * outer, &one));
        log.panics(|| value_and_grad_with(|y: &Value, _: &()| y * outer, &one, &()));
        let (_, pullback) = vjp(|y: &Value| y * outer, &one);
        log.panics_naming_the_call(|| pullback(&one));
        let (_, pushforward) = linearize(|y: &Value| y * outer, &one);
        log.panics_naming_the_call(|| pushforward(&one));
        outer.clone()
    };
    grad(inner, &one);
}

/// A value of an outer derivative of the same level, forward: the tangents meet in the user's own line.
fn forward_levels(log: &RefCell<&mut Log>) {
    type Value = Tensor<Dual<Concrete>, 0>;
    let one = &tensor(1.0);
    let inner = |outer: &Value| {
        let mut log = log.borrow_mut();
        let mut meets = |f: &dyn Fn(&Value) -> Value| log.panics_nearby(|| jvp(f, one, one));
        let (rows, packed) = (&Tensor::zeros([2]), std::array::from_ref(outer));
        meets(&|_| outer * 2.0);
        meets(&|y| y * outer);
        meets(&|y| y.clone() + outer);
        meets(&|y| y.max(outer));
        meets(&|y| y.atan2(outer));
        meets(&|y| y.times(outer));
        meets(&|y| y.dot(outer));
        meets(&|y| cond(y.gt(0.0), y, outer));
        meets(&|y| stack::<_, 0, 1, f64>([y, outer]).sum());
        meets(&|y| [y.clone()].add(packed)[0].clone());
        meets(&|y| [y.clone()].add_scaled(2.0, packed)[0].clone());
        meets(&|y| TreeMath::dot(y, outer));
        meets(&|y| fold(y.clone(), rows, |_, _: &Value| outer.clone()));
        meets(&|y| fold(y.clone(), rows, |c, _: &Value| c * outer));
        meets(&|y| build1::<_, 0, 1, f64>(2, |_| y * outer).sum());
        outer.clone()
    };
    jvp(inner, one, one);
}

/// Loops whose derivative cannot be recorded.
fn recorded_loops(log: &RefCell<&mut Log>) {
    type Up = ADVal<Concrete>;
    type Value = Tensor<Up, 0>;
    let x = tensor([1.0, -1.0]);
    let inner = |x: &Vector<Up>| {
        let mut log = log.borrow_mut();
        let one = Value::scalar(1.0);
        let branch = |h: Value, x: &Value| if x.item() > 0.0 { h * x } else { h + x };
        log.panics(|| fold(one.clone(), x, branch));
        log.panics(|| build1::<Up, 0, 1, f64>(2, |i| if i.item() > 0 { x.at([i]).sin() } else { x.at([i]) }));
        let kept = RefCell::new(one.clone());
        log.panics(|| fold(one.clone(), x, |h, x: &Value| h * x * kept.replace(x.clone())));
        x.sum()
    };
    grad(inner, &x);
    log.borrow_mut().panics(|| {
        grad(
            |x: &Vector<Up>| {
                let escaped = RefCell::new(Value::scalar(1.0));
                let y = fold(Value::scalar(1.0), x, |h, x: &Value| {
                    escaped.replace(x.clone());
                    h * x
                });
                y + escaped.into_inner()
            },
            &x,
        )
    });
}

/// What has no meaning over a semiring.
pub(crate) fn semirings(log: &mut Log) {
    type Counts = Formal<u64, Concrete>;
    log.panics(|| Counts::new(&[2], vec![1, 2, 3]));
    let x: Tensor<Counts, 1> = Tensor::from_raw(Counts::new(&[2], vec![1, 2]));
    log.panics(|| x.exp());
    log.panics(|| &x * 0.5);
    log.panics(|| x.max_all());
    log.panics(|| x.gt(0.0));
}
