//! Times of calls, and counts of programs.

use std::hint::black_box;
use std::time::Instant;

use polygrad::inspect::{Cost, count};
use polygrad::program::{Program, Slot, interpret};
use polygrad::{Array, BaseTensor, Tree, tree};

/// A sample takes this long at least, in seconds.
const SAMPLE: f64 = 0.002;
/// How long samples are taken, in seconds.
const BUDGET: f64 = 0.4;
/// The fewest samples.
const FEWEST: usize = 5;

/// The median of the seconds that a call takes, over samples of many calls.
pub(crate) fn median<Y>(mut f: impl FnMut() -> Y) -> f64 {
    let mut sample = |calls: usize| {
        let start = Instant::now();
        for _ in 0..calls {
            drop(black_box(f()));
        }
        start.elapsed().as_secs_f64()
    };
    let first = sample(1);
    let once = if first > BUDGET { first } else { sample(1) };
    let calls = (SAMPLE / once.max(1e-9)).ceil().clamp(1.0, 1e6) as usize;
    let samples = ((BUDGET / (once * calls as f64)) as usize).clamp(FEWEST, 200);
    let mut taken: Vec<f64> = (0..samples).map(|_| sample(calls) / calls as f64).collect();
    taken.sort_by(f64::total_cmp);
    taken[samples / 2]
}

/// The inputs or outputs of a program.
pub(crate) struct Leaves<T>(pub(crate) Vec<T>);

impl<T: BaseTensor> Tree<T> for Leaves<T> {
    type With<U: BaseTensor> = Leaves<U>;
    fn map<U: BaseTensor>(&self, f: &mut dyn FnMut(&T) -> U) -> Leaves<U> {
        Leaves(self.0.iter().map(f).collect())
    }
    fn visit(&self, visitor: &mut dyn tree::Visitor<T>) {
        for (k, leaf) in self.0.iter().enumerate() {
            visitor.enter(tree::PathStep::Item(k));
            visitor.leaf(leaf);
            visitor.leave();
        }
    }
}

/// What a run of a program costs: operations, elements that they compute or move, bytes that they read and write.
pub(crate) fn cost(program: &Program) -> Cost {
    let zeros = |slot: &Slot| Array::zeros(&slot.shape, slot.dtype);
    let inputs = Leaves(program.inputs().iter().map(zeros).collect());
    count(|x: &Leaves<_>| Leaves(interpret(program, x.0.clone())), &inputs).1.total()
}

/// Seconds as a text with three digits and a unit.
pub(crate) fn time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if number < 9.995 {
        2
    } else if number < 99.95 {
        1
    } else {
        0
    };
    format!("{number:.digits$} {unit}")
}
