//! The check of a case: both sides compute the same, the rule fires, and the result is no dearer.

use std::collections::BTreeSet;

use polygrad::array::Rng;
use polygrad::passes::{Options, explain};
use polygrad::passes::{Rule, rules};
use polygrad::program::{Builder, NodeId, Program, Slot, interpret};
use polygrad::shape::{Shape, size};
use polygrad::{Array, DType};

use super::cases::{Case, cases};
use super::costs::cost;
use super::refused::refusals;
use crate::support::floats;

/// What rules have trouble with, among ordinary numbers.
const SPECIAL: [f64; 8] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-3, 1e3, 1.0];

/// Random values of a kind; with infinities and NaN, or positive.
pub(crate) fn values(rng: &mut Rng, shape: &[usize], dtype: DType, tame: bool) -> Array {
    let n = size(shape);
    match dtype {
        DType::Bool => Array::new(shape, (0..n).map(|_| rng.below(2) == 0).collect()),
        DType::I64 => Array::new(shape, (0..n).map(|_| rng.below(9) as i64 - 3).collect()),
        DType::F64 | DType::F32 => {
            let mut draw = || {
                let x = floats(&rng.uniform(&[], -2.0, 2.0))[0];
                if tame {
                    0.5 + x.abs()
                } else if rng.below(3) == 0 {
                    SPECIAL[rng.below(SPECIAL.len())]
                } else {
                    x
                }
            };
            let all: Vec<f64> = (0..n).map(|_| draw()).collect();
            let all = Array::new(shape, all);
            if dtype == DType::F32 { all.cast::<f32>() } else { all }
        }
    }
}

/// The program of a case as it is written, no rule applied.
pub(crate) fn literal(case: &Case) -> Program {
    let mut b = Builder::literal();
    let inputs: Vec<NodeId> = case
        .inputs
        .iter()
        .map(|(shape, dtype)| b.input(Slot { name: String::new(), shape: Shape::from_slice(shape), dtype: *dtype }))
        .collect();
    let results = (case.make)(&mut b, &inputs);
    b.finish(&results, &[])
}

/// Equal up to rounding; of one class where not finite, unless the case says otherwise.
pub(crate) fn same(a: f64, b: f64, tolerance: f64, regroups: bool) -> bool {
    a == b
        || (a.is_nan() && b.is_nan())
        || (regroups && !a.is_finite() && !b.is_finite())
        || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

#[test]
fn both_sides_are_equal_and_the_rule_fires() {
    let mut wrong = Vec::new();
    for case in cases() {
        let program = literal(&case);
        let options = Options { fast_math: case.fast, ..Options::default() };
        let (simple, fired) = explain(&program, options);
        if fired.iter().all(|f| f.rule != case.rule) {
            let names: Vec<&str> = fired.iter().map(|f| f.rule).collect();
            wrong.push(format!("{} does not fire, these do: {names:?}\n{program}\n{simple}", case.rule));
            continue;
        }
        let tolerance = if case.inputs.iter().any(|(_, dtype)| *dtype == DType::F32) { 1e-5 } else { 1e-12 };
        for seed in 0..40 {
            let mut rng = Rng::new(seed);
            let kinds = case.inputs.iter();
            let inputs: Vec<Array> = kinds.map(|(shape, dtype)| values(&mut rng, shape, *dtype, case.fast)).collect();
            let (before, after) = (interpret(&program, inputs.clone()), interpret(&simple, inputs.clone()));
            let equal = before.iter().zip(&after).all(|(a, b)| {
                a.shape() == b.shape()
                    && a.dtype() == b.dtype()
                    && floats(a).into_iter().zip(floats(b)).all(|(a, b)| same(a, b, tolerance, case.regroups))
            });
            if !equal {
                let rule = case.rule;
                wrong.push(format!("{rule}: {before:?} became {after:?} at {inputs:?}\n{program}\n{simple}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rules of loops have explicit cases of both kinds, because near misses change no body of a loop; and a case assumes
/// finite numbers if its rule does.
#[test]
fn the_table_says_what_a_rule_is() {
    let refused: BTreeSet<&str> = refusals().iter().map(|case| case.rule).collect();
    let open: Vec<&str> =
        rules().filter(|rule| rule.is_of_loops() && !refused.contains(rule.name())).map(Rule::name).collect();
    assert!(open.is_empty(), "rules of loops without a case in which they do not fire: {open:?}");
    for case in cases() {
        let rule = rules().find(|rule| rule.name() == case.rule).expect("in a table");
        assert_eq!(rule.is_fast(), case.fast, "{}", case.rule);
    }
}

/// A rule that computes another operation, because the terms of repeated derivatives then meet; and one that computes few
/// reciprocals, so that many quotients become products.
const DEARER: [&str; 2] = ["div_again", "over_replicated"];

/// A rule makes no program more expensive: what becomes of a case computes, reads and writes no more elements.
#[test]
fn no_case_gets_dearer() {
    let mut wrong = Vec::new();
    for case in cases().into_iter().filter(|case| !DEARER.contains(&case.rule)) {
        let program = literal(&case);
        let (simple, _) = explain(&program, Options { fast_math: case.fast, ..Options::default() });
        let mut rng = Rng::new(1);
        let inputs: Vec<Array> =
            case.inputs.iter().map(|(shape, dtype)| values(&mut rng, shape, *dtype, true)).collect();
        let elements = |program: &Program| {
            let cost = cost(program, &inputs);
            cost.work + cost.bytes / 8
        };
        let (before, after) = (elements(&program), elements(&simple));
        if after > before {
            wrong.push(format!("{}: {before:?} became {after:?}\n{program}\n{simple}", case.rule));
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case() {
    let tested: BTreeSet<&str> = cases().iter().map(|case| case.rule).collect();
    let names: BTreeSet<&str> = rules().map(|rule| rule.name()).collect();
    let untested: Vec<&&str> = names.difference(&tested).collect();
    assert!(untested.is_empty(), "rules without a case: {untested:?}");
    let unknown: Vec<&&str> = tested.difference(&names).collect();
    assert!(unknown.is_empty(), "cases of no rule: {unknown:?}");
}
