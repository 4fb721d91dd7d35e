//! What the gradient of a loop keeps of each trip, and what its loops do trip by trip.
//!
//! Each case is a fact: a recurrence, and how many states of each trip a run of its gradient has memory for. The
//! optimized gradients are in `tests/programs/kept.txt`; `make bless` writes them anew. Law: gradients are those of the
//! loop run trip by trip.

use std::fmt::Write;

use polygrad::{Array, BaseTensor, Concrete, Function, Tensor, direct, fold, iterate};

use crate::root::root;
use crate::support::assert_close;

type Number<T> = Tensor<T, 0>;
type Vector<T> = Tensor<T, 1>;
type Matrix<T> = Tensor<T, 2>;

const TRIPS: usize = 50;
/// So many that a stack is dear, and few operations are cheap beside it.
const SIZE: usize = 4096;
/// A small recurrent network.
const WIDE: usize = 6;

/// A recurrence of a state, of a vector and of a matrix.
type Case<T> = fn(&Vector<T>, &Vector<T>, &Matrix<T>) -> Number<T>;

/// The name of a fact; whether the state is large; and the states that a run keeps of each trip at most.
type Fact<T> = (&'static str, bool, f64, Case<T>);

fn facts<T: BaseTensor>() -> Vec<Fact<T>> {
    vec![
        // A cheap function of the state is computed again: the state alone is kept.
        ("cheap values are computed again", true, 1.0, |c, w, _| {
            iterate(TRIPS, c, |_, c: Vector<T>| &c - w * &c * &c * 0.1).square().sum()
        }),
        // The result of a trip is the state of the next one.
        ("a state before a trip is that after the one before", true, 1.0, |c, w, _| {
            iterate(TRIPS, c, |_, c: Vector<T>| (w * &c).tanh()).sum()
        }),
        ("what no trip changes is computed once", true, 1.0, |c, w, _| {
            iterate(TRIPS, c, |_, c: Vector<T>| c.square() * w.sin()).sum()
        }),
        // Nothing asks for the second carry; its sine is not computed.
        ("a carry that no result needs is dropped", true, 1.0, |c, w, _| {
            let (c, _) = iterate(TRIPS, (c.clone(), c.clone()), |_, (c, d): (Vector<T>, Vector<T>)| {
                (c.square() * w, (d * &c).sin())
            });
            c.sum()
        }),
        ("a linear step keeps nothing for the state", true, 0.0, |c, w, _| {
            let w = w.stop_gradient();
            iterate(TRIPS, c, |_, c: Vector<T>| c * &w + 0.1).square().sum()
        }),
        // `x W + b` is added up before the loop, though the terms are added to `h U` one by one.
        ("terms without the state are added before the loop", false, 30.0, |c, w, m| {
            let rows = m.t().slice(0, 0..WIDE);
            fold(c, &rows, |h: Vector<T>, x: &Vector<T>| (h.square() + x.vecmat(m) + w).tanh()).sum()
        }),
        // The cotangent of the weights is one product of two stacks after the reverse loop.
        ("outer products of all trips are one product", false, 30.0, |c, _, m| {
            iterate(TRIPS, c, |_, h: Vector<T>| h.vecmat(m).tanh()).sum()
        }),
    ]
}

fn inputs(large: bool) -> (Vector<Concrete>, Vector<Concrete>, Matrix<Concrete>) {
    let n = if large { SIZE } else { WIDE };
    let side = if large { 1 } else { WIDE };
    (
        Tensor::from_raw(Array::uniform(&[n], 0.1, 0.9, 1)),
        Tensor::from_raw(Array::uniform(&[n], 0.1, 0.9, 2)),
        Tensor::from_raw(Array::uniform(&[side, side], -0.5, 0.5, 3)),
    )
}

#[test]
fn a_gradient_keeps_what_it_needs() {
    let mut text = String::new();
    for ((name, large, states, case), (.., direct)) in facts().into_iter().zip(facts()) {
        let x = inputs(large);
        let f = Function::grad(|(c, w, m): &(Vector<_>, Vector<_>, Matrix<_>)| case(c, w, m), &x);
        let executable = f.executable();
        let state = 8 * x.0.shape()[0] * TRIPS;
        let peak = executable.peak_bytes() as f64 / state as f64;
        writeln!(text, "== {name}\n{}\n{peak:.2} states a trip\n", f.optimized()).expect("a string takes text");
        assert!(peak < states + 0.6, "{name}: {peak} states a trip: {}", executable.explain());
        let (c, w, m) = direct::grad(|(c, w, m): &(Vector<_>, Vector<_>, Matrix<_>)| direct(c, w, m), &x);
        let (a, b, d) = f.run(&x).expect("inputs of the same shapes");
        for (what, a, b) in [("c", a.raw(), c.raw()), ("w", b.raw(), w.raw()), ("m", d.raw(), m.raw())] {
            assert_close(&format!("{name}: {what}"), a, b, 1e-12);
        }
    }
    let path = root().join("tests/programs/kept.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = std::fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("== ").zip(recorded.split("== ")) {
        assert_eq!(
            now, then,
            "a gradient keeps something else: if it should, run `make bless` and read the difference"
        );
    }
    assert_eq!(text.len(), recorded.len(), "facts have come or gone: run `make bless` and read the difference");
}
