//! Laws over pairs of programs, by counts of instructions: `cargo bench --bench laws [part of a name]`, or `make laws`.
//!
//! A law says that one program takes at most so many times the instructions of others. Counts repeat on any machine, and
//! they need no record, so that a law shows a slow shape as soon as it exists, not only one that has become slower. A
//! law that does not hold is printed last, and is the exit status; `exceptions` has those that are known not to hold.

mod batches;
mod count;
mod derivatives;
mod exceptions;
mod neighbours;
mod parts;

use std::env;
use std::process::ExitCode;

use count::{Side, instructions};
use exceptions::EXCEPTIONS;

/// `whole` takes at most `factor` times the instructions of the parts, each with how often it counts.
pub(crate) struct Law {
    kind: &'static str,
    factor: f64,
    whole: Side,
    parts: Vec<(f64, Side)>,
}

impl Law {
    fn name(&self) -> String {
        format!("{}: {}", self.kind, self.whole.name)
    }
}

/// All laws.
fn laws() -> Vec<Law> {
    [parts::laws(), batches::laws(), derivatives::laws(), neighbours::laws()].into_iter().flatten().collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|a| a != "--bench").collect();
    let all = laws();
    if let [count, name] = &arguments[..]
        && count == "--count"
    {
        let mut sides = all.iter().flat_map(|law| law.parts.iter().map(|part| &part.1).chain([&law.whole]));
        sides.find(|side| side.name == *name).expect("a side has this name").run();
        return ExitCode::SUCCESS;
    }
    let chosen: Vec<&Law> =
        all.iter().filter(|law| arguments.iter().all(|part| law.name().contains(part.as_str()))).collect();
    let mut sides: Vec<&Side> =
        chosen.iter().flat_map(|law| law.parts.iter().map(|part| &part.1).chain([&law.whole])).collect();
    sides.sort_by_key(|side| &side.name);
    sides.dedup_by_key(|side| &side.name);
    let counts = instructions(&sides);
    if counts.values().all(Option::is_none) {
        println!("nothing was counted: laws need valgrind");
        return ExitCode::SUCCESS;
    }
    let mut broken = Vec::new();
    println!("{:<64} {:>12} {:>12} {:>7} {:>8}", "law", "whole", "parts", "ratio", "at most");
    for law in chosen {
        let count = |side: &Side| counts[side.name.as_str()].map(|count| count as f64);
        let parts = law.parts.iter().try_fold(0.0, |sum, (times, part)| Some(sum + times * count(part)?));
        let (Some(whole), Some(parts)) = (count(&law.whole), parts) else {
            broken.push(format!("{}: a program was not counted", law.name()));
            continue;
        };
        let ratio = whole / parts;
        let name = law.name();
        let exception = EXCEPTIONS.iter().find(|exception| exception.0 == name && ratio > law.factor);
        let most = exception.map_or(law.factor, |exception| exception.1);
        let line = format!("{name:<64} {whole:>12} {parts:>12.0} {ratio:>7.2} {most:>8}");
        println!("{line}{}", exception.map_or(String::new(), |exception| format!("  {}", exception.2)));
        if ratio > most {
            broken.push(line);
        }
    }
    if broken.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("\n{} laws do not hold:\n{}", broken.len(), broken.join("\n"));
    ExitCode::FAILURE
}
