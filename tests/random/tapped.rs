//! Taps in random programs: every value that a step computes is printed, and checked where it is a float.
//!
//! Laws: every way to run and to differentiate a program with taps agrees with the others, and with the program without;
//! a compiled program prints what an interpreted one prints, in the same order.

use std::cell::Cell;

use polygrad::backend::compile;
use polygrad::inspect::debug_lines;
use polygrad::internals::compile_in_small_blocks;
use polygrad::ops::{Call, Compare, Discrete, Tap, TapKind};
use polygrad::program::interpret;
use polygrad::{Array, BaseTensor};

use crate::check::{assert_agree, judged, largest};
use crate::pipelines::{Case, PIPELINES, Question};
use crate::{generate, seeds};

thread_local! {
    /// The number of the next tap, while values are looked at.
    static NEXT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Runs something in which the values of steps are looked at; the lines that are printed.
fn looking<R>(run: impl FnOnce() -> R) -> (R, Vec<String>) {
    struct Before(Option<usize>);
    impl Drop for Before {
        fn drop(&mut self) {
            NEXT.set(self.0);
        }
    }
    let _before = Before(NEXT.replace(Some(0)));
    debug_lines(run)
}

/// The value of a step, looked at if that is asked.
pub(crate) fn looked_at<T: BaseTensor>(t: T) -> T {
    let Some(number) = NEXT.get() else { return t };
    NEXT.set(Some(number + 1));
    let tap = |kind: TapKind, args: &[T]| T::call(&Call::Tap(Tap::new(kind, None).into()), args).remove(0);
    let t = tap(TapKind::Debug(vec![number.to_string()]), &[t]);
    if !t.dtype().is_float() {
        return t;
    }
    // It always holds, also for NaN.
    let compare = |op: Compare| T::discrete(&Discrete::Compare(op), &[&t, &t]);
    let mask = T::discrete(&Discrete::Or, &[&compare(Compare::Eq), &compare(Compare::Ne)]);
    tap(TapKind::Check(number.to_string()), &[mask, t])
}

#[test]
fn programs_with_taps_agree() {
    for seed in seeds(130_000, 6) {
        let recipe = generate::recipe(seed, true);
        let plain = Case::new(recipe.clone());
        looking(|| {
            assert_agree(&recipe);
            let tapped = Case::new(recipe.clone());
            for question in [Question::Outputs, Question::Gradient, Question::Curvature] {
                let pipeline = PIPELINES.iter().find(|p| p.question == question).expect("each has a pipeline");
                let answer = (pipeline.run)(&tapped);
                NEXT.set(None);
                let expected = (pipeline.run)(&plain);
                let failure = judged(&plain, pipeline, &Ok(expected.clone()), Ok(answer), largest(&expected));
                assert!(
                    failure.is_none(),
                    "{question:?}: {}\n\n{recipe}",
                    failure.map(|f| f.what().to_owned()).unwrap_or_default()
                );
                NEXT.set(Some(0));
            }
        });
    }
}

#[test]
fn compiled_programs_print_in_order() {
    let mut most = 0;
    for seed in seeds(131_000, 20) {
        let recipe = generate::recipe(seed, true);
        let (program, _) = looking(|| Case::new(recipe.clone()).outputs().clone());
        let inputs = || Case::new(recipe.clone()).x.0.clone();
        let labels = |run: &dyn Fn() -> Vec<Array>| -> Vec<String> {
            let lines = debug_lines(run).1.into_iter();
            lines.map(|line| line.split(" = ").next().unwrap_or_default().to_owned()).collect()
        };
        let expected = labels(&|| interpret(&program, inputs()));
        for executable in [compile(&program), compile_in_small_blocks(&program)] {
            assert_eq!(labels(&|| executable.run(&inputs())), expected, "{program}\n\n{recipe}");
        }
        most = most.max(expected.len());
    }
    assert!(most > 40, "at most {most} lines");
}
