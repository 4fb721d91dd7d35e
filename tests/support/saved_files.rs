//! Saved programs and models as they stand in a file, among them small files of programs whose bodies share bodies.
#![allow(dead_code)]

use serde_json::{Value, json};

pub(crate) fn number(name: &str) -> Value {
    json!({"name": name, "dtype": "f64", "shape": []})
}

pub(crate) fn node(op: Value) -> Value {
    json!({"op": op, "dtype": "f64", "shape": []})
}

pub(crate) fn trips(body: usize, n: usize, init: &[usize]) -> Value {
    node(json!({"loop": {"n": n, "reverse": false, "body": body, "init": init, "xs": [], "captured": []}}))
}

pub(crate) fn output(of: usize, position: usize) -> Value {
    node(json!({"output": [of, position]}))
}

pub(crate) fn program(inputs: Vec<Value>, operations: Vec<Value>, of: &[usize]) -> Value {
    let outputs: Vec<Value> = of.iter().map(|of| json!({"name": "", "of": of})).collect();
    json!({"inputs": inputs, "operations": operations, "outputs": outputs})
}

pub(crate) fn file(programs: Vec<Value>) -> Value {
    json!({"format": 1, "programs": programs})
}

/// `sin x`.
pub(crate) fn sine() -> Value {
    program(vec![number("")], vec![node(json!({"unary": ["sin", 0]}))], &[1])
}

/// Of each level a program that runs that of the level before in two loops, or in two functions without rules.
pub(crate) fn sharing(levels: usize, functions: bool) -> Value {
    let mut programs = vec![sine()];
    let run = |below: usize, of: usize| match functions {
        true => node(json!({"custom": {"name": "f", "primal": below, "jvp": null, "vjp": null, "of": [of]}})),
        false => trips(below, 1, &[of]),
    };
    for below in 0..levels {
        let operations = vec![run(below, 0), output(1, 0), run(below, 2), output(3, 0)];
        programs.push(program(vec![number("")], operations, &[4]));
    }
    file(programs)
}

/// A saved model of one size, of this program.
pub(crate) fn model(sizes: Value, traced: Value, numbers: Value, derivative: &str) -> Value {
    json!({
        "model_format": 1, "derivative": [derivative, 0], "arguments": 1, "names": ["x"],
        "inputs": [{"name": "x", "dtype": "f64", "shape": []}],
        "program": {"sizes": sizes, "traced": traced, "numbers": numbers},
    })
}
