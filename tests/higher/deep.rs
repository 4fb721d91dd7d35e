//! Long chains of values, functions and parts of programs.
//!
//! Law: nothing recurses over the number of steps of an iteration, the depth of calls, nor the number of functions that
//! capture each other. A recursion that does not end is refused in words before memory ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use polygrad::program::interpret;
use polygrad::{Array, direct, tensor};
use polygrad_higher::interpreters::{CurryLists, Erased, Reverse, Run, Syntax};
use polygrad_higher::{
    self as higher, Expr, Fun, Language, Mu, Obj, Prod, Real, Signature, Var, fun1, fun2, if_, inl, inr, iterate, lam,
    let_, num, roll, tup, unroll,
};

use crate::support::on_a_stack_of;

/// A stack that a recursion over [`LONG`] steps would overflow: 160 bytes each.
const STACK: usize = 160 << 10;

const LONG: f64 = 1000.0;

/// Each step uses the value of the one before twice.
fn squares<C: Language>() -> Expr<C, Real, Real> {
    fun1(|x| {
        iterate(tup(x.at(), num(LONG)), |s| {
            if_(
                num(0.5).less(s.at().snd()),
                || inl(tup(s.at().fst() * s.at().fst(), s.at().snd() - 1.0)),
                || inr(s.at().fst()),
            )
        })
    })
}

/// Each step makes a function that captures that of the step before. The last one may be called.
fn functions<C: Language>(n: f64, called: bool) -> Expr<C, Real, Real> {
    fun1(|x| {
        let last = iterate(tup(lam(|z| z.at() * x.at()), num(n)), |s| {
            if_(
                num(0.5).less(s.at().snd()),
                || inl(tup(lam(|z| s.at().fst().app(z.at()) + z.at()), s.at().snd() - 1.0)),
                || inr(s.at().fst()),
            )
        });
        let_(last, |f| if called { f.at().app(x.at()) } else { x.at() * x.at() })
    })
}

/// `(n + 1) x`, by an iteration that counts.
fn counted<C: Language>(n: f64) -> Expr<C, Real, Real> {
    fun1(|x| {
        iterate(tup(x.at(), num(n)), |s| {
            if_(
                num(0.5).less(s.at().snd()),
                || inl(tup(s.at().fst() + x.at(), s.at().snd() - 1.0)),
                || inr(s.at().fst()),
            )
        })
    })
}

/// An expression of so many sums.
fn sums<C: Language>(n: usize) -> Expr<C, Real, Real> {
    fun1(|x| (0..n).fold(x.at(), |sum, _| sum + x.at()))
}

/// A function of itself.
struct Own;

impl Signature for Own {
    type Of<X: Obj> = Fun<X, Fun<Real, Real>>;
}

/// `x^n`, by a function that takes itself.
fn power<C: Language>() -> Expr<C, Prod<Real, Real>, Real> {
    fun2(|x, n| {
        let half = lam(|own: Var<_, Mu<Own>>| {
            lam(|n| {
                if_(n.at().less(num(0.5)), || num(1.0), || x.at() * unroll(own.at()).app(own.at()).app(n.at() - 1.0))
            })
        });
        let_(half, |half| half.at().app(roll(half.at())).app(n.at()))
    })
}

/// The message of a call that must panic.
#[track_caller]
pub(crate) fn refused<R>(f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(f()))).expect_err("a call that panics");
    panic.downcast_ref::<String>().expect("a message").clone()
}

#[track_caller]
fn refused_for_stack<R>(f: impl FnOnce() -> R) {
    let message = refused(f);
    assert!(message.contains("within the stack of a thread"), "{message}");
}

#[test]
fn values_that_are_used_twice() {
    on_a_stack_of(STACK, || {
        let (x, slope) = (tensor(1.0), 2_f64.powi(1000));
        assert_eq!(higher::value_and_grad(squares(), &x).1.item(), slope);
        assert_eq!(
            higher::value_and_grad_by::<Reverse<Run<Array>>, _, _>(Erased::typed(squares()), &x).1.item(),
            slope
        );
        assert_eq!(direct::grad(|x| higher::run(squares(), x), &x).item(), slope);
        let staged = higher::stage(squares(), &x);
        assert_eq!(interpret(&staged, vec![Array::scalar(1.0)]), [Array::scalar(1.0)]);
    });
}

/// Of many steps that are known to go on, the last ones are recorded as one loop.
#[test]
fn iterations_that_count_are_recorded() {
    let x = tensor(3.0);
    for n in [10.0, 999.0, 1000.0, 1001.0, 2500.0] {
        let staged = higher::stage(counted(n), &x);
        assert_eq!(interpret(&staged, vec![Array::scalar(3.0)]), [Array::scalar(3.0 * (n + 1.0))], "{n} steps");
        assert!(staged.size() < 1050, "{n} steps: {} operations", staged.size());
    }
}

#[test]
fn functions_that_capture_functions() {
    on_a_stack_of(STACK, || {
        let (x, expected) = (tensor(3.0), (tensor(9.0), tensor(6.0)));
        assert_eq!(higher::run(functions(LONG, false), &x), expected.0);
        assert_eq!(higher::value_and_grad(functions(LONG, false), &x), expected);
        assert_eq!(higher::value_and_grad_by::<CurryLists<Array>, _, _>(functions(LONG, false), &x), expected);
        assert_eq!(
            higher::value_and_grad_by::<Reverse<Run<Array>>, _, _>(Erased::typed(functions(LONG, false)), &x),
            expected
        );
        assert_eq!(higher::jvp(Erased::typed(functions(LONG, false)), &x, &tensor(1.0)), expected);
    });
    let x = tensor(3.0);
    assert_eq!(higher::value_and_grad(functions(10.0, true), &x), (tensor(39.0), tensor(16.0)));
    on_a_stack_of(STACK, move || {
        let expected = |n: f64| (tensor(9.0 + 3.0 * n), tensor(6.0 + n));
        let n = 10.0 * LONG;
        assert_eq!(higher::run(functions(n, true), &x), expected(n).0);
        assert_eq!(higher::value_and_grad(functions(n, true), &x), expected(n));
        // The pullback of each call runs the function again: the work is quadratic.
        assert_eq!(higher::value_and_grad_by::<CurryLists<Array>, _, _>(functions(100.0, true), &x), expected(100.0));
    });
}

#[test]
fn large_expressions() {
    let x = tensor(3.0);
    assert_eq!(higher::grad(sums(20), &x).item(), 21.0);
    assert_eq!(higher::run(sums(20_000), &x).item(), 60_003.0);
    assert_eq!(higher::grad(sums(20_000), &x).item(), 20_001.0);
    let text = sums::<Syntax>(20_000).hom();
    assert!(text.size() > 20_000);
    refused_for_stack(|| text.term());
}

/// Calls that wait for others are limited by memory alone: a million in evaluation, by an environment variable in tests.
#[test]
fn a_function_that_takes_itself() {
    let x = (tensor(3.0), tensor(4.0));
    assert_eq!(higher::run(power(), &x).item(), 81.0);
    assert_eq!(higher::grad(power(), &x).0.item(), 108.0);
    let long = std::env::var_os("POLYGRAD_FUZZ").is_some();
    on_a_stack_of(STACK, move || {
        let at = |n: f64| (tensor(1.0), tensor(n));
        assert_eq!(higher::run(power(), &at(if long { 1e6 } else { 1e5 })).item(), 1.0);
        let n = if long { 1e5 } else { 1e4 };
        assert_eq!(higher::value_and_grad(power(), &at(n)).1.0.item(), n);
        // The pullback of each call runs the function again, which runs those that it calls: 2^n calls.
        assert_eq!(higher::value_and_grad_by::<CurryLists<Array>, _, _>(power(), &at(6.0)).1.0.item(), 6.0);
    });
}

/// A recursion that does not end is refused when its frames fill the memory of calls; a traced one that ends by a condition
/// that depends on inputs, when choices nest too deeply.
#[test]
fn recursion_that_does_not_end() {
    let endless = || higher::run(power(), &(tensor(1.0), tensor(1e300)));
    let message = refused(|| higher::with_call_memory(1 << 20, endless));
    assert!(message.contains("the limit is 1048576 bytes"), "{message}");
    // The limit is that of before.
    assert_eq!(higher::run(power(), &(tensor(1.0), tensor(3e4))).item(), 1.0);
    for message in [
        refused(|| higher::stage(power(), &(tensor(3.0), tensor(4.0)))),
        refused(|| higher::stage_grad(power(), &(tensor(3.0), tensor(4.0)))),
    ] {
        assert!(
            message.contains("256 choices by conditions that are not known while a program is traced"),
            "{message}"
        );
    }
}
