//! Programs of JAX for all sizes (`jax.export.symbolic_shape`): one text serves each size, and is a `SizedFunction`.

use std::fs;

use polygrad::import::{ImportErrorKind, Module};
use polygrad::{Array, Function, SizedFunction, Sizes, Tensor};

use crate::golden::{agree, array};
use crate::root::root;

type Run = (Vec<Array>, Vec<Array>);

/// A text, with inputs and results at several sizes.
fn sized(name: &str) -> (Module, Vec<Run>) {
    let path = root().join("tests/data/jax/sized").join(format!("{name}.mlir"));
    let text = fs::read_to_string(path).expect("a text");
    let mut runs: Vec<Run> = Vec::new();
    for line in text.lines() {
        if line == "// run" {
            runs.push((Vec::new(), Vec::new()));
        } else if let (Some(line), Some(run)) = (line.strip_prefix("// input "), runs.last_mut()) {
            run.0.push(array(line));
        } else if let (Some(line), Some(run)) = (line.strip_prefix("// result "), runs.last_mut()) {
            run.1.push(array(line));
        }
    }
    (Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}")), runs)
}

#[test]
fn one_text_of_jax_serves_all_sizes() {
    for (name, open) in [("sized", 2), ("sized_scan", 3)] {
        let (module, runs) = sized(name);
        let sizes = module.signature().0.into_iter().flat_map(|port| port.shape);
        assert_eq!(sizes.filter(Option::is_none).count(), open, "{name}");
        assert!(runs.len() > 1);
        for (inputs, results) in runs {
            let found = module.try_call(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
            agree(name, &found, &results);
        }
        // What JAX asserts of the sizes.
        let none: Vec<Array> = module
            .signature()
            .0
            .iter()
            .map(|port| Array::zeros(&vec![0; port.shape.len()], port.element.dtype()))
            .collect();
        let error = module.try_call(&none).expect_err("sizes of 0");
        assert!(error.kind == ImportErrorKind::Arguments || error.what.contains("do not fit"), "{error}");
    }
}

#[test]
fn a_text_for_all_sizes_is_a_function_for_all_sizes() {
    let (module, runs) = sized("sized");
    type Point = (Tensor<Array, 1>, Tensor<Array, 2>, Tensor<Array, 1>);
    let point = |inputs: &[Array]| -> Point {
        (Tensor::from_raw(inputs[0].clone()), Tensor::from_raw(inputs[1].clone()), Tensor::from_raw(inputs[2].clone()))
    };
    let record = |x: &Point, (): &()| {
        Function::value_and_grad(|x: &(Tensor<_, 1>, Tensor<_, 2>, Tensor<_, 1>)| module.apply::<_, _, 0, f64>(x), x)
    };
    let named = Sizes::new().axis("x.1", 0, "n").axis("x.2", 0, "m");
    let f = SizedFunction::new(&named, record, &point(&runs[0].0), &());
    let text = f.model().program().to_string();
    assert!(text.contains("f64[n, 3]") && text.contains("f64[m]"), "{text}");
    // Of one row the program is another one: that size is refused.
    let (one, more): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| run.0[1].shape()[0] == 1);
    assert!(one.len() == 1 && f.run(&point(&one[0].0)).is_err());
    for (inputs, results) in more {
        let x = point(inputs);
        let (value, slope) = f.run(&x).expect("a run");
        agree("the value", &[value.clone().into_raw()], &results[..1]);
        let expected = record(&x, &()).run(&x).expect("a run");
        assert_eq!((value, slope), expected);
    }
}
