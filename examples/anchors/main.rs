//! Runs the programs on which this library is compared with others.
//!
//! `cargo run --release --example anchors -- WORKLOAD THREADS [--seed-offset K] [--budget S] [--interpret]`
//!
//! prints one line of JSON: the medians of the time that the function takes, and the function with its derivative,
//! and check sums of both results. `--list` lists the workloads, `--program` prints the program of the derivative
//! instead of measuring it, `--explain` what its run does and how long each step takes, `--fused` for all workloads how
//! many cheap elementwise operations run together with others, `--check` compares the results with the recorded ones,
//! `--repeat K` runs the derivative so many times, `--perf` compares the counts of some workloads with the recorded
//! ones, and `--table FILE` prints lines of several programs as a table. `make side-by-side` does all of it next to
//! other programs.
//!
//! Each workload is one generic function, written as a user would write it.
//!
//! | file | contents |
//! |---|---|
//! | `inputs` | arrays that any program can rebuild bit for bit |
//! | `adbench`, `nn`, `micro`, `higher`, `scalar` | the workloads, by family |
//! | `programs` | those of the example `gradbench`, of which `adbench` runs some |
//! | `measure` | cases, and how they are timed |
//! | `perf` | counts in place of times |
//! | `report` | lines, check sums, tables |

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::io::{self, Write};

mod adbench;
mod higher;
pub(crate) mod inputs;
pub(crate) mod measure;
mod micro;
mod nn;
mod perf;
#[allow(dead_code, reason = "some of them are run by the example gradbench alone")]
#[path = "../gradbench/programs/mod.rs"]
mod programs;
pub(crate) mod report;
mod scalar;

use inputs::Inputs;
use measure::{Case, Engine, Workload, measure};
use report::{CheckSum, peak_memory, references, table};

/// All workloads, by family.
pub(crate) fn workloads() -> Vec<Workload> {
    [adbench::workloads(), nn::workloads(), micro::workloads(), higher::workloads(), scalar::workloads()].concat()
}

/// The cases of a workload.
///
/// # Errors
/// When there is no such workload.
pub(crate) fn cases(name: &str, inputs: &Inputs) -> Result<Vec<Case>, String> {
    let known = workloads().into_iter().find(|workload| workload.name == name);
    let known = known.ok_or_else(|| format!("there is no workload `{name}`; `--list` lists them"))?;
    Ok((known.cases)(inputs))
}

/// Compares the results of a workload with the recorded ones.
///
/// # Errors
/// When they differ, or nothing is recorded.
pub(crate) fn compare(name: &str, engine: Engine) -> Result<(), Box<dyn Error>> {
    let references = references()?;
    for case in cases(name, &Inputs::default())? {
        let name = [name, &case.part].concat();
        let reference = references.get(&name).ok_or_else(|| format!("nothing is recorded for `{name}`"))?;
        let value = CheckSum::of(&(case.primal)(engine).results());
        let both = (case.both)(engine).results();
        let (values, derivatives) = both.split_at(case.values);
        if let Some(fault) = reference.fault(&value, &CheckSum::of(derivatives)) {
            return Err(format!("{name}: {fault}").into());
        }
        if !values.is_empty() && !CheckSum::of(values).is_close_to(&reference.value, reference.tolerance) {
            return Err(format!("{name}: the derivative comes with another value").into());
        }
    }
    Ok(())
}

/// What the command line asks for.
struct Request {
    names: Vec<String>,
    inputs: Inputs,
    engine: Engine,
    /// In seconds.
    budget: f64,
    mode: Mode,
}

enum Mode {
    Measure,
    List,
    Program,
    Explain,
    Fused,
    Check,
    Repeat(usize),
    Perf,
    Table,
}

/// The value of an option.
fn value<X: std::str::FromStr>(name: &str, words: &mut VecDeque<String>) -> Result<X, String> {
    let word = words.pop_front().ok_or_else(|| format!("{name} needs a number"))?;
    word.parse().map_err(|_| format!("{name} needs a number, but has `{word}`"))
}

fn request(mut words: VecDeque<String>) -> Result<Request, Box<dyn Error>> {
    // The variable by which the programs of others are told.
    let offset = env::var("ANCHORS_SEED_OFFSET").map_or(Ok(0), |text| text.parse())?;
    let mut asked = Request {
        names: Vec::new(),
        inputs: Inputs { offset },
        engine: Engine::default(),
        budget: 1.5,
        mode: Mode::Measure,
    };
    while let Some(word) = words.pop_front() {
        match word.as_str() {
            "--seed-offset" => asked.inputs.offset = value(&word, &mut words)?,
            "--budget" => asked.budget = value(&word, &mut words)?,
            "--interpret" => asked.engine.interpret = true,
            "--list" => asked.mode = Mode::List,
            "--program" => asked.mode = Mode::Program,
            "--explain" => asked.mode = Mode::Explain,
            "--fused" => asked.mode = Mode::Fused,
            "--check" => asked.mode = Mode::Check,
            "--repeat" => asked.mode = Mode::Repeat(value(&word, &mut words)?),
            "--perf" => asked.mode = Mode::Perf,
            "--table" => asked.mode = Mode::Table,
            option if option.starts_with("--") => return Err(format!("there is no option {option}").into()),
            _ => asked.names.push(word),
        }
    }
    Ok(asked)
}

fn run(asked: &Request, out: &mut dyn Write, base: f64) -> Result<(), Box<dyn Error>> {
    let (inputs, engine) = (&asked.inputs, asked.engine);
    let name = || asked.names.first().ok_or("a workload is needed; `--list` lists them");
    match asked.mode {
        Mode::List => workloads().iter().try_for_each(|workload| writeln!(out, "{}", workload.name))?,
        Mode::Table => {
            let path = asked.names.first().ok_or("--table needs a file of lines")?;
            write!(out, "{}", table(&std::fs::read_to_string(path)?)?)?;
        }
        Mode::Program => {
            for case in cases(name()?, inputs)? {
                writeln!(out, "{}", (case.both)(engine).program())?;
            }
        }
        Mode::Explain => {
            for case in cases(name()?, inputs)? {
                write!(out, "{}", (case.both)(engine).explain())?;
            }
        }
        Mode::Fused => {
            writeln!(out, "| workload | cheap operations | fused | superinstructions |\n|---|---|---|---|")?;
            for workload in workloads() {
                for case in (workload.cases)(inputs) {
                    let found = (case.both)(engine).superinstructions();
                    let percent = 100 * found.inside / found.cheap.max(1);
                    let (cheap, count) = (found.cheap, found.count);
                    writeln!(out, "| {}{} | {cheap} | {percent} % | {count} |", workload.name, case.part)?;
                }
            }
        }
        Mode::Check => {
            compare(name()?, engine)?;
            writeln!(out, "{}: as recorded", name()?)?;
        }
        Mode::Repeat(times) => perf::repeat(name()?, inputs, engine, times)?,
        Mode::Perf => write!(out, "{}", perf::perf(inputs, engine)?)?,
        Mode::Measure => {
            let threads = asked.names.get(1).map_or(Ok(1), |word| word.parse())?;
            rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
            let cases = cases(name()?, inputs)?;
            let budget = if cases.len() == 1 { asked.budget } else { asked.budget / 4.0 };
            for case in cases {
                let record = measure(name()?, &case, engine, threads, budget, base);
                writeln!(out, "{}", serde_json::to_string(&record)?)?;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let base = peak_memory();
    run(&request(env::args().skip(1).collect())?, &mut io::stdout(), base)
}
