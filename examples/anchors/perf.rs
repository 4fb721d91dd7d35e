//! Counts that show a regression on any machine, next to recorded ones: `make perf`.
//!
//! Times of a shared machine mean little; counts repeat. Counted is the work of the derivative's program, in elements
//! computed or moved, and, where valgrind is installed, the instructions of a run, for the instruction set AVX2.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::process::Command;
use std::{env, fs};

use super::cases;
use super::inputs::Inputs;
use super::measure::Engine;

/// The workloads that are counted: none that a matrix product decides, and none of a second under valgrind.
const COUNTED: &[&str] = &[
    "A.gmm.d10k25n1000",
    "A.ba.n49m1944p7960",
    "A.lstm.l2c1024b14",
    "B.mlp.b1.f32",
    "C5.softmax_xent.1024x1000",
    "C7.heat.256x100",
    "C9.recur_scalar.T1e4",
    "C9.recur_vec128.T1e3",
    "D1.nthderiv",
    "D2.rosen_hessian.n100",
    "E1.lorenz.1000",
    "E3.horner.1000",
];

/// The file of recorded counts: a name, the work, the instructions or 0.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/perf.txt");

/// The counts of a workload.
#[derive(Clone, Copy, Default)]
struct Counts {
    work: u64,
    instructions: u64,
}

/// Runs the derivatives of a workload so many times.
///
/// # Errors
/// When there is no such workload.
pub(crate) fn repeat(name: &str, inputs: &Inputs, engine: Engine, times: usize) -> Result<(), Box<dyn Error>> {
    for case in cases(name, inputs)? {
        let _ = (case.both)(engine).run(times);
    }
    Ok(())
}

/// The table of all counts, next to the recorded ones; if `UPDATE_EXPECT=1`, they are recorded.
///
/// # Errors
/// When the recorded counts cannot be read, or written.
pub(crate) fn perf(inputs: &Inputs, engine: Engine) -> Result<String, Box<dyn Error>> {
    let recorded = recorded(&fs::read_to_string(RECORDED).unwrap_or_default());
    let mut text = String::from("| workload | work | ratio | instructions | ratio |\n|---|---|---|---|---|\n");
    let mut lines = String::new();
    for name in COUNTED {
        let mut now = Counts { work: 0, instructions: instructions(name).unwrap_or_default() };
        for case in cases(name, inputs)? {
            now.work += (case.both)(engine).work();
        }
        let before = recorded.get(*name).copied().unwrap_or_default();
        let ratio = |now: u64, before: u64| match (now, before) {
            (0, _) | (_, 0) => String::from("-"),
            (now, before) => format!("{:.3}", now as f64 / before as f64),
        };
        let Counts { work, instructions } = now;
        let ratios = (ratio(work, before.work), ratio(instructions, before.instructions));
        writeln!(text, "| {name} | {work} | {} | {instructions} | {} |", ratios.0, ratios.1)?;
        writeln!(lines, "{name} {work} {instructions}")?;
    }
    if env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        fs::write(RECORDED, lines)?;
    }
    Ok(text)
}

fn recorded(text: &str) -> BTreeMap<String, Counts> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let mut number = || words.next()?.parse().ok();
        Some((name, Counts { work: number()?, instructions: number()? }))
    };
    text.lines().filter_map(line).collect()
}

/// The instructions of one run of the derivative, if a tool counts them: what five runs take more than one, divided.
fn instructions(name: &str) -> Option<u64> {
    let (one, five) = (counted(name, 1)?, counted(name, 5)?);
    Some(five.saturating_sub(one) / 4)
}

/// The instructions of a process that runs the derivative so many times.
fn counted(name: &str, times: usize) -> Option<u64> {
    let this = env::current_exe().ok()?;
    let run = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(this)
        .args([name, "--repeat", &times.to_string()])
        .env("POLYGRAD_ISA", "avx2")
        .output()
        .ok()?;
    let text = String::from_utf8(run.stderr).ok()?;
    let line = text.lines().find(|line| line.contains("I ") && line.contains("refs:"))?;
    let digits: String = line.rsplit(':').next()?.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|_| run.status.success())
}
