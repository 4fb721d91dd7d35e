//! A process that serves the benchmark suite GradBench: problems come as lines of JSON, values and derivatives go back, with
//! the times they took.
//!
//! `cargo run --release --example gradbench [-- --threads N]`, with at most as many threads as the machine has processors
//!
//! | file | what |
//! |---|---|
//! | `programs/` | the twelve problems, as a user of the library writes them; nothing else knows a formula |
//! | `problems/` | what a problem's inputs and outputs are in JSON, which sizes must agree, and which functions it has |
//! | `json.rs` | tensors from nested lists, and nested lists from results |
//! | `runs.rs` | a recorded function with its input, run and timed as often as asked for |
//! | `protocol.rs` | messages and answers |
//!
//! Each message is a line, and has an answer of one line. A function is recorded and compiled when an input of a new shape comes, and kept. The time
//! of that is reported as `trace` and `compile`, that of each run as `evaluate`; a run writes into memory that was there before.
//! `python/gradbench.py` plays the other side: it sends the default sizes, and prints a table.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

mod json;
mod problems;
mod programs;
mod protocol;
mod runs;

use protocol::Tool;

/// Answers lines until there are no more.
fn serve(lines: &mut dyn BufRead, answers: &mut dyn Write) -> io::Result<()> {
    let (mut tool, mut line) = (Tool::new(), Vec::new());
    while lines.read_until(b'\n', &mut line)? > 0 {
        let mut answer = tool.answer(line.trim_ascii());
        answer.push(b'\n');
        answers.write_all(&answer)?;
        answers.flush()?;
        line.clear();
    }
    Ok(())
}

/// The number of threads that is asked for.
fn threads(mut words: impl Iterator<Item = String>) -> Result<Option<usize>, String> {
    let Some(word) = words.next() else { return Ok(None) };
    if word != "--threads" {
        return Err(format!("{word} is no argument; there is `--threads N`"));
    }
    let count = words.next().unwrap_or_default();
    match (count.parse::<usize>(), words.next()) {
        (Ok(count), None) if count > 0 => Ok(Some(count)),
        _ => Err(format!("--threads needs one number of 1 or more, but is followed by `{count}`")),
    }
}

fn run() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(count) = threads(std::env::args().skip(1))? {
        // More threads than processors only wait for each other, and a system has room for some thousands.
        let most = std::thread::available_parallelism()?.get();
        if count > most {
            eprintln!(
                "--threads {count} is more than this machine has processors for: {most}; so many threads are used"
            );
        }
        pool = pool.num_threads(count.min(most));
    }
    pool.build()?.install(|| serve(&mut io::stdin().lock(), &mut io::stdout().lock()))?;
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}
