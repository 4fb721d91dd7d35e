//! Panics in the middle.
//!
//! Laws: what is made once and used many times may be used again after a panic; and after a panic in a function of the
//! user's, whatever verb ran it, every verb gives what it gave before.

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use polygrad::backend::Executable;
use polygrad::base::BaseTensor;
use polygrad::ops::External;
use polygrad::program::{Custom, Program, Term};
use polygrad::{
    Array, Checkpoint, Concrete, FlatFunction, Function, Gradient, Jit, SparseFunction, Tensor, direct, external, fold,
    grad, inspect, jvp, taylor, tensor, while_loop_within,
};
use polygrad_higher::{self as higher, Language, fun1, lam, let_};

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;

/// A compile-time test.
fn unwinds<X: UnwindSafe + RefUnwindSafe>() {}

fn is_shared<X: UnwindSafe + RefUnwindSafe + Send + Sync>() {}

#[test]
fn what_is_used_many_times_is_safe_after_a_panic() {
    is_shared::<Array>();
    is_shared::<Vector<Concrete>>();
    is_shared::<Program>();
    is_shared::<Custom>();
    is_shared::<External>();
    is_shared::<Executable>();
    is_shared::<Function<Vector<Concrete>, (), Number<Concrete>>>();
    is_shared::<Gradient<Vector<Concrete>>>();
    is_shared::<Jit<Vector<Concrete>, (), Number<Concrete>>>();
    is_shared::<SparseFunction<Vector<Concrete>>>();
    is_shared::<FlatFunction<Vector<Concrete>>>();
    is_shared::<Checkpoint>();
    // Traced values belong to their thread.
    unwinds::<Term>();
}

static ARMED: AtomicBool = AtomicBool::new(false);

/// Panics if it is armed.
fn armed() {
    assert!(!ARMED.load(Ordering::Relaxed), "armed");
}

/// Code of the host, in loops and on its own.
fn hosted<T: BaseTensor>(x: &Vector<T>) -> Number<T> {
    let host = |x: &Number<T>| {
        let run = |x: &Number<Concrete>| {
            armed();
            x * 2.0
        };
        external("armed", run, &tensor(0.0), x)
    };
    let sum = fold(Tensor::scalar(0.0), x, |sum: Number<T>, x: &Number<T>| sum.sin() + host(x));
    sum + host(&x.sum())
}

#[test]
fn a_run_after_a_panic_in_code_of_the_host() {
    let x = tensor([1.0, 2.0, 3.0]);
    let function = Function::stage(hosted, &x);
    let jit = Jit::stage(|x: &Vector<_>| {
        armed();
        hosted(x)
    });
    let expected = function.run(&x).expect("a number");
    for _ in 0..3 {
        ARMED.store(true, Ordering::Relaxed);
        // No assertion of the caller's: both are safe.
        let (function, jit, x) = (&function, &jit, &x);
        assert!(catch_unwind(|| function.run(x)).is_err());
        assert!(catch_unwind(|| jit.call(x)).is_err());
        ARMED.store(false, Ordering::Relaxed);
        assert_eq!(function.run(x).expect("a number"), expected);
        assert_eq!(jit.call(x), expected);
    }
}

/// What many verbs give, all of whose functions call `f` in the middle.
fn verbs(f: fn()) -> Vec<Box<dyn Fn() -> String>> {
    fn program<T: BaseTensor>(f: fn(), x: &Vector<T>) -> Number<T> {
        let start = (Tensor::scalar(0.0), x.sum());
        let (_, y) = while_loop_within(3, start, |(k, _)| k.lt(2.0), |(k, y)| (k + 1.0, y.sin()));
        let sum = fold(y, x, |sum: Number<T>, x: &Number<T>| {
            let next = sum * x.sin();
            f();
            next
        });
        sum.clone() * sum
    }
    fn functions<C: Language>() -> higher::Expr<C, higher::Real, higher::Real> {
        fun1(|x| let_(lam(|z| z.at() * x.at()), |f| f.at().app(f.at().app(x.at()))))
    }
    let x = || tensor([0.5, 1.5, -0.7]);
    let of = |x: &Vector<Concrete>| x.to_string();
    let mut verbs: Vec<Box<dyn Fn() -> String>> = Vec::new();
    verbs.push(Box::new(move || of(&grad(|x| program(f, x), &x()))));
    verbs.push(Box::new(move || of(&direct::grad(|x| program(f, x), &x()))));
    verbs.push(Box::new(move || of(&grad(|x| (x * grad(|x| program(f, x), x)).sum(), &x()))));
    verbs.push(Box::new(move || jvp(|x| program(f, x), &x(), &x()).1.to_string()));
    verbs.push(Box::new(move || direct::jvp(|x| program(f, x), &x(), &x()).1.to_string()));
    verbs.push(Box::new(move || format!("{:?}", taylor(|x| program(f, x), &x(), &x(), 2))));
    verbs.push(Box::new(move || Function::grad(|x| program(f, x), &x()).optimized().to_string()));
    verbs.push(Box::new(move || format!("{:?}", inspect::count(|x| program(f, x), &x()))));
    verbs.push(Box::new(move || inspect::transcript(|x| program(f, x), &x()).1));
    verbs.push(Box::new(move || format!("{:?}", inspect::first_nan(|x| program(f, x), &x()))));
    verbs.push(Box::new(move || {
        let primitive = |x: &Number<_>| {
            f();
            higher::run(functions(), x)
        };
        grad(primitive, &tensor(2.0)).to_string()
    }));
    verbs
}

#[test]
fn every_verb_after_a_panic_in_any_other() {
    let results = || verbs(|| {}).iter().map(|verb| verb()).collect::<Vec<String>>();
    let expected = results();
    for (k, verb) in verbs(|| panic!("in the middle")).iter().enumerate() {
        assert!(catch_unwind(AssertUnwindSafe(verb)).is_err(), "verb {k}");
        assert_eq!(results(), expected, "after a panic in verb {k}");
    }
}
