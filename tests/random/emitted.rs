//! Random programs as source code: what Rust and C compute agrees with a compiled program.

use polygrad::Array;
use polygrad::backend::compile;
use polygrad::emission::{Compiler, EmissionError};

use crate::check::{judged, largest};
use crate::emitted_code::{Emitted, in_c, in_c_by, in_rust};
use crate::pipelines::{Case, PIPELINES, Pipeline, Question};
use crate::{from_environment, generate, seeds};

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

/// Programs and their gradients as source code, and how many were refused.
struct Written {
    cases: Vec<Case>,
    asked: Vec<Asked>,
    emitted: Vec<Emitted>,
    refused: usize,
}

fn written(seeds: impl Iterator<Item = u64>, tame: bool) -> Written {
    let cases: Vec<Case> = seeds.map(|seed| Case::new(generate::recipe(seed, tame))).collect();
    let (mut asked, mut emitted, mut refused) = (Vec::new(), Vec::new(), 0);
    for (k, case) in cases.iter().enumerate() {
        let outputs = (Question::Outputs, case.outputs().clone(), "outputs");
        let gradient = (Question::Gradient, case.gradient().clone(), "gradient");
        for (question, program, name) in [outputs, gradient] {
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
    Written { cases, asked, emitted, refused }
}

/// Tries a batch of programs and their gradients; returns how many were written, and how many were refused.
fn batch(tag: &str, seeds: impl Iterator<Item = u64>, tame: bool) -> [usize; 2] {
    let Written { cases, asked, emitted, refused } = written(seeds, tame);
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
    let [tame, refused] = batch("tame", seeds(0, 8), true);
    let [wild, more] = batch("wild", seeds(3000, 6), false);
    assert!(refused + more <= (tame + wild) / 4, "{refused} and {more} of {tame} and {wild} programs are refused");
}

/// The options that native code has unless it is given others.
fn usual_options() -> Vec<String> {
    let text = format!("{:?}", Compiler::new("cc"));
    let list = text.split_once("options: [").and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
    list.split(", ").map(|option| option.trim_matches('"').to_owned()).collect()
}

/// No compiler of the machine miscompiles the programs with the options of native code. `POLYGRAD_FUZZ` says of how many
/// programs, in parts; then other compilers and levels are tried, too.
#[test]
fn the_options_of_native_code_keep_the_meaning() {
    let usual = usual_options();
    let usual: Vec<&str> = usual.iter().map(|option| &option[..]).collect();
    assert!(usual.contains(&"-O3"), "{usual:?}");
    let lower: Vec<&str> = usual.iter().map(|option| if *option == "-O3" { "-O2" } else { option }).collect();
    let more = from_environment("POLYGRAD_FUZZ");
    let first = from_environment("POLYGRAD_SEED").unwrap_or(70_000);
    let count = more.unwrap_or(2);
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let tries: &[(&str, &[&str])] = &[(&cc, &usual), ("gcc", &lower), ("clang", &usual), ("clang", &lower)];
    let tries = if more.is_some() { tries } else { &tries[..1] };
    let mut tried = 0;
    for part in (first..first + count).step_by(16) {
        let to = (part + 16).min(first + count);
        let Written { cases, asked, emitted, .. } = written(part..to, part % 64 != 0);
        for (compiler, options) in tries {
            // Warnings of levels of optimization are guesses.
            let options = [*options, &["-Wno-error", "-ffp-contract=off"]].concat();
            if let Some(results) = in_c_by(compiler, "usual", &emitted, &options) {
                compare(&cases, &asked, &emitted, results, "C");
                tried += emitted.len();
            }
        }
    }
    if more.is_some() {
        println!("{tried} programs and gradients were compiled and compared");
    }
}
