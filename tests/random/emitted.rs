//! Random programs as source code: what Rust and C compute agrees with a compiled program.

use polygrad::Array;
use polygrad::backend::compile;
use polygrad::emission::EmissionError;

use crate::check::{judged, largest, quietly};
use crate::emitted_code::{Emitted, in_c, in_rust};
use crate::pipelines::{Case, PIPELINES, Pipeline, Question};
use crate::{generate, seeds};

/// A question about a case whose answer is compared.
struct Asked {
    case: usize,
    question: Question,
}

/// Compares the results of emitted code with those of compiled programs.
fn compare(cases: &[Case], asked: &[Asked], emitted: &[Emitted], results: Vec<Vec<Array>>, language: &'static str) {
    for ((asked, emitted), found) in asked.iter().zip(emitted).zip(results) {
        let (case, question) = (&cases[asked.case], asked.question);
        let expected = compile(&emitted.program).run(&emitted.inputs);
        let of = PIPELINES.iter().find(|p| p.question == question).expect("each question has a pipeline");
        let pipeline = Pipeline { name: language, same: question == Question::Outputs, ..*of };
        if let Some(failure) = judged(case, &pipeline, &Ok(expected.clone()), Ok(found), largest(&expected)) {
            panic!("{language}: {}\n\n{}\n\n{}\n\n{}", failure.what(), case.recipe, emitted.program, emitted.rust.code);
        }
    }
}

/// Tries a batch of programs and their gradients; returns how many were written, and how many were refused.
fn batch(tag: &str, seeds: impl Iterator<Item = u64>, tame: bool) -> [usize; 2] {
    let cases: Vec<Case> = seeds.map(|seed| Case::new(generate::recipe(seed, tame))).collect();
    let (mut asked, mut emitted, mut refused) = (Vec::new(), Vec::new(), 0);
    for (k, case) in cases.iter().enumerate() {
        let outputs = Some((Question::Outputs, case.outputs().clone(), "outputs"));
        // The gradient of a loop without a bound is a message.
        let gradient =
            quietly(|| case.gradient().clone()).ok().map(|program| (Question::Gradient, program, "gradient"));
        for (question, program, name) in outputs.into_iter().chain(gradient) {
            let program = &program;
            match Emitted::new(&format!("{name}_{k}"), program, case.x.0.clone()) {
                Ok(of) => {
                    emitted.push(of);
                    asked.push(Asked { case: k, question });
                }
                Err(EmissionError::Operation { .. }) => refused += 1,
                Err(other) => panic!("{other}\n{program}"),
            }
        }
    }
    if let Some(results) = in_rust(tag, &emitted, &[]) {
        compare(&cases, &asked, &emitted, results, "Rust");
    }
    if let Some(results) = in_c(tag, &emitted, &["-O0"]) {
        compare(&cases, &asked, &emitted, results, "C");
    }
    [emitted.len(), refused]
}

#[test]
fn source_code_agrees_with_compiled_programs() {
    let [tame, refused] = batch("tame", seeds(0, 16), true);
    let [wild, more] = batch("wild", seeds(3000, 12), false);
    assert!(refused + more <= (tame + wild) / 4, "{refused} and {more} of {tame} and {wild} programs are refused");
}
