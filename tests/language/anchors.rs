//! The programs of the example `anchors` give the values and derivatives that other programs gave: sums, norms and
//! first entries, recorded from JAX in double precision, and agreed upon by PyTorch, autograd and hand-written
//! derivatives where they exist. Those in single precision are compared with double precision on the same rounded
//! inputs.

use std::collections::BTreeSet;

use polygrad::{Array, tensor};

#[allow(dead_code)]
#[path = "../../examples/anchors/main.rs"]
mod example;

use example::inputs::{Inputs, draw, unit};
use example::measure::{Engine, measure};
use example::report::{CheckSum, exact_sum, references, table};

#[test]
fn inputs_are_those_of_other_programs() {
    assert_eq!([0, 1, 2].map(|k| draw(0, k)), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    assert_eq!([0, 1, 2].map(|k| unit(42, k)), [0.7415648787718233, 0.1599103928769201, 0.27860113025513866]);
    // An offset moves the seed.
    let there = Inputs { offset: 40 }.uniform(2, [2], 1.0, 3.0);
    assert_eq!(there, tensor([1.0 + 2.0 * unit(42, 0), 1.0 + 2.0 * unit(42, 1)]));
    assert_eq!(Inputs::default().integers(42, [3], 10), tensor([7, 1, 2]));
}

#[test]
fn sums_are_rounded_once() {
    assert_eq!(exact_sum([]), 0.0);
    assert_eq!(exact_sum([0.1; 10]), 1.0);
    assert_eq!(exact_sum([1.0, 1e100, 1.0, -1e100]), 2.0);
    // Halves of the last digit, and next to nothing more or less.
    assert_eq!(exact_sum([1e16, 1.0]), 1e16);
    assert_eq!(exact_sum([1e16, 1.0, 1e-16]), 10000000000000002.0);
    assert_eq!(exact_sum([1e16, 1.0, -1e-16]), 1e16);
    // A sum of integers, in an order that loses digits.
    let numbers = (0..1000).flat_map(|k| [f64::from(k) * 1e15, 1.0, -f64::from(k) * 1e15]);
    assert_eq!(exact_sum(numbers), 1000.0);
}

#[test]
fn other_results_are_told_apart() {
    let sums = |numbers: &[f64]| CheckSum::of(&[Array::new(&[numbers.len()], numbers.to_vec())]);
    let reference = sums(&[3.0, -4.0, 12.0]);
    assert_eq!((reference.count, reference.sum, reference.l2), (3, 11.0, 13.0));
    let near = [sums(&[3.0, -4.0, 12.0 + 1e-9]), reference.clone()];
    assert!(near.iter().all(|sums| sums.is_close_to(&reference, 1e-9)));
    let other =
        [&[3.0, -4.0, 12.1][..], &[3.0, 4.0, 12.0], &[-4.0, 3.0, 12.0], &[3.0, -4.0, 12.0, 0.0], &[f64::NAN; 3]];
    assert!(other.iter().all(|numbers| !sums(numbers).is_close_to(&reference, 1e-9)));
}

#[test]
fn each_workload_is_recorded() {
    let mut names = BTreeSet::new();
    for workload in example::workloads() {
        let parts = match workload.name {
            "D1.nthderiv" => (1..=8).map(|n| format!(".n{n}")).collect(),
            _ => vec![String::new()],
        };
        names.extend(parts.iter().map(|part| [workload.name, part].concat()));
    }
    assert_eq!(names, references().expect("the references are JSON").into_keys().collect());
}

fn as_recorded(names: &[&str]) {
    for name in names {
        if let Err(fault) = example::compare(name, Engine::default()) {
            panic!("{fault}");
        }
    }
}

/// Those that take less than half a second each without optimization, of each family some.
const SMALL: [&str; 15] = [
    "A.gmm.d10k25n1000",
    "A.ba.n49m1944p7960",
    "A.lstm.l2c1024b14",
    "B.mlp.b1.f32",
    "B.mlp.b1.f64",
    "C4.matmul_naive256.sum",
    "C9.recur_scalar.T1e4",
    "C9.recur_vec128.T1e3",
    "D1.nthderiv",
    "D2.rosen_hessian.n100",
    "D2.rosen_hvp.n1e5",
    "D4.jac_mlp100",
    "E1.lorenz.1000",
    "E2.prod.1e5",
    "E3.horner.1000",
];

#[test]
fn small_workloads_are_as_recorded() {
    as_recorded(&SMALL);
}

#[test]
#[ignore = "takes half a minute without optimization; `make anchors` does the same with it"]
fn all_workloads_are_as_recorded() {
    let names: Vec<&str> = example::workloads().iter().map(|workload| workload.name).collect();
    as_recorded(&names);
}

#[test]
fn a_line_has_what_others_read() {
    let case = &example::cases("D4.jac_mlp100", &Inputs { offset: 1 }).expect("it is a workload")[0];
    let record = measure("D4.jac_mlp100", case, Engine { interpret: true }, 2, 0.0, 1.0);
    let line = serde_json::to_value(&record).expect("a record is JSON");
    for field in ["primal_ms", "grad_ms", "ratio", "grad_min_ms", "compile_grad_s", "compile_primal_s", "n"] {
        assert!(line[field].as_f64().is_some_and(|x| x >= 0.0), "{field} in {line}");
    }
    assert_eq!((&line["workload"], &line["peer"]), (&"D4.jac_mlp100".into(), &"polygrad_interpret".into()));
    assert_eq!((&line["threads"], &line["rss_base_mb"]), (&2.into(), &1.0.into()));
    assert_eq!((&line["value"]["count"], &line["deriv"]["count"]), (&100.into(), &10_000.into()));
    assert_eq!(line["deriv"]["first5"].as_array().map(Vec::len), Some(5));
    // Fresh inputs have other results.
    let recorded = references().expect("the references are JSON");
    assert!(recorded["D4.jac_mlp100"].fault(&record.value, &record.deriv).is_some());
    assert!(example::cases("D4", &Inputs::default()).is_err());
}

#[test]
fn lines_make_a_table() {
    let line = |workload: &str, peer: &str, ms: f64, sum: f64| {
        let sums = format!(r#"{{"count": 1, "sum": {sum}, "l2": {sum}, "first5": [{sum}]}}"#);
        let (threads, both) = (1, format!(r#""value": {sums}, "deriv": {sums}"#));
        format!(r#"{{"workload": "{workload}", "peer": "{peer}", "threads": {threads}, "grad_ms": {ms}, {both}}}"#)
    };
    let failed = r#"{"workload": "D", "job": "D", "peer": "polygrad", "threads": 1, "error": "timeout"}"#;
    let lines = [
        line("A", "jax", 2.0, 5.0),
        line("A", "torch", 3.0, 5.0),
        line("A", "polygrad", 4.0, 5.0),
        line("B", "polygrad_interpret", 1.0, 5.0),
        line("B", "jax", 2.0, 6.0),
        line("C", "polygrad", 1.0, 5.0),
        failed.to_owned(),
    ];
    let table = table(&lines.join("\n")).expect("the lines are reports");
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1], ["A", "1", "4.0000", "2.0000", "2.00", "jax"]);
    assert_eq!(words[2], ["B", "1", "1.0000", "2.0000", "0.50", "jax", "polygrad_interpret", "other", "derivative"]);
    assert_eq!(words[3], ["C", "1", "1.0000", "-", "-", "-"]);
    assert_eq!(words[4], ["D", "1", "-", "-", "-", "-", "failed:", "timeout"]);
    assert_eq!(words[5], ["geometric", "mean", "of", "1", "ratios", "of", "polygrad:", "2.00"]);
    assert_eq!(words[6], ["geometric", "mean", "of", "1", "ratios", "of", "polygrad_interpret:", "0.50"]);
}
