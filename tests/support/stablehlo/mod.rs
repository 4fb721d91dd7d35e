//! A reader and evaluator of StableHLO, of as much as is exported, written from the specification and independently of
//! what writes the text.
//!
//! Laws: a text is checked as a whole before it runs, as a parser and verifier of StableHLO checks it ([`check`]): names,
//! types, attributes, elements of constants, regions and calls, whether they run or not; and every value has the type that
//! the text states. What breaks them panics with the line.

mod check;
mod eval;
mod indexed;
mod linalg;
mod numbers;
mod read;
mod rules;
mod shaped;
mod tensor;

use polygrad::Array;

/// Panics unless a parser and verifier of StableHLO takes the text.
#[allow(dead_code)]
pub(crate) fn check(text: &str) {
    check::module(&read::module(text));
}

/// The results of the function `main` of a module.
#[track_caller]
pub(crate) fn evaluate(text: &str, inputs: &[Array]) -> Vec<Array> {
    let module = read::module(text);
    check::module(&module);
    let main = module.get("main").expect("a module has a function main");
    assert!(main.public, "main is public");
    let inputs = inputs.iter().map(tensor::Tensor::of).collect();
    eval::call(&module, main, inputs).iter().map(tensor::Tensor::array).collect()
}
