//! Loops of many trips.
//!
//! Law: stack and, where a loop is cut, memory do not grow with the number of trips; the derivative of a long
//! recurrence is the known one.

use polygrad::{
    BaseTensor, Checkpoint, Function, Tensor, checkpoint, direct, grad, iterate, tensor, while_loop_within,
};

use crate::support::on_a_small_stack;

type Number<T> = Tensor<T, 0>;

/// One trip of `x_(k+1) = x_k + r (1 - x_k)`, so `1 - x_n = (1 - x_0) (1 - r)^n`.
fn closer<T: BaseTensor>(x: Number<T>, r: &Number<T>) -> Number<T> {
    &x + r * (1.0 - &x)
}

/// `dx_n/dr`, from `x_0 = 0`.
fn slope(n: usize, r: f64) -> f64 {
    n as f64 * (1.0 - r).powf(n as f64 - 1.0)
}

#[track_caller]
fn assert_slope(what: &str, found: f64, n: usize, r: f64) {
    let known = slope(n, r);
    assert!((found - known).abs() < 1e-6 * known, "{what}, {n} trips: {found} and {known}");
}

const MILLION: usize = 1_000_000;

/// Such that the state still moves at the last trip.
const RATE: f64 = 1e-6;

#[test]
fn a_million_recorded_trips() {
    on_a_small_stack(|| {
        let f = |r: &Number<_>| iterate(MILLION, 0.0, |_, x: Number<_>| closer(x, r));
        assert_slope("recorded", grad(f, &tensor(RATE)).item(), MILLION, RATE);
    });
}

#[test]
fn a_million_recorded_trips_in_segments() {
    on_a_small_stack(|| {
        for how in [checkpoint(1000), Checkpoint::states(64)] {
            let f = move |r: &Number<_>| {
                let r = r.clone();
                how.iterate(MILLION, 0.0, move |_, x: Number<_>| closer(x, &r))
            };
            let f = Function::value_and_grad(f, &tensor(RATE));
            assert_slope("in segments", f.run(&tensor(RATE)).expect("a number").1.item(), MILLION, RATE);
        }
    });
}

#[test]
fn a_million_trips_of_a_loop_that_ends_by_itself() {
    on_a_small_stack(|| {
        let f = |r: &Number<_>| {
            let go = |(_, k): &(Number<_>, Number<_>)| k.lt(MILLION as f64 - 0.5);
            let start = (Number::scalar(0.0), Number::scalar(0.0));
            while_loop_within(MILLION + 10, start, go, |(x, k)| (closer(x, r), k + 1.0)).0
        };
        assert_slope("to an end", grad(f, &tensor(RATE)).item(), MILLION, RATE);
    });
}

#[test]
fn many_trips_that_run_directly() {
    on_a_small_stack(|| {
        // Without optimization, each trip takes 30 microseconds here: allocations and terms, one by one.
        let (n, r) = (MILLION / 40, 40.0 * RATE);
        let f = |r: &Number<_>| {
            let r = r.clone();
            checkpoint(1000).iterate(n, 0.0, move |_, x: Number<_>| closer(x, &r))
        };
        assert_slope("direct", direct::grad(f, &tensor(r)).item(), n, r);
    });
}
