//! The pages of the book: each program runs, and prints what its page says. `UPDATE_EXPECT=1` writes what is printed into the page.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use polygrad_book::{PROGRAMS, Program, printed};

#[path = "../../../../tests/support/alike.rs"]
mod alike;

/// What a program prints; of one that must panic the message. Places are those of a program that a reader has as `src/main.rs`.
fn output(program: &Program) -> String {
    printed();
    let Program { page, line, .. } = program;
    let outcome = catch_unwind(AssertUnwindSafe(program.run));
    let text = match outcome {
        Ok(Ok(())) if !program.panics => printed(),
        Ok(Ok(())) => panic!("docs/{page}:{line}: the program must panic, but it ends"),
        Ok(Err(error)) => panic!("docs/{page}:{line}: {error}"),
        Err(payload) => {
            let message = payload.downcast_ref::<String>().cloned();
            let message = message.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let message = message.expect("a panic has a message");
            assert!(program.panics, "docs/{page}:{line}: {message}");
            printed() + &message + "\n"
        }
    };
    placed(&text, program)
}

/// A text in which the file of a program is `src/main.rs`, and lines are those of the block. In a text of XLA the file is in quotes.
fn placed(text: &str, program: &Program) -> String {
    let name = format!("{}_{}.rs", program.page.trim_end_matches(".md").replace(['/', '-'], "_"), program.line);
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&name) {
        let start = before.rfind(|c: char| c.is_whitespace() || "`([\"".contains(c)).map_or(0, |k| k + 1);
        let number = after.find(|c: char| c.is_ascii_digit()).expect("a line follows");
        let end = after[number..].find(|c: char| !c.is_ascii_digit()).map_or(after.len(), |k| number + k);
        let line: usize = after[number..end].parse().expect("a line");
        out += &format!("{}src/main.rs{}{}", &before[..start], &after[..number], line - program.wrapped);
        rest = &after[end..];
    }
    out + rest
}

/// Runs the programs of a page.
fn page(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let bless = std::env::var_os("UPDATE_EXPECT").is_some();
    // From the last one: a text that is written anew moves the lines below.
    for program in PROGRAMS.iter().filter(|program| program.page == name).rev() {
        let printed = output(program);
        let said = program.output.unwrap_or_default();
        if alike::alike(&printed, said, 1e-6) {
            continue;
        }
        let place = format!("docs/{name}:{}", program.line);
        assert!(program.output.is_some() || bless, "{place}: the page says nothing of what is printed:\n{printed}");
        assert!(bless, "{place}: the page is old: run `make bless`\n--- it says\n{said}\n--- printed is\n{printed}");
        let text = fs::read_to_string(&path).expect("the page can be read");
        // The program stands once in the page, and its output is the next block.
        let lines: Vec<&str> = text.lines().collect();
        let end = (program.line..).find(|k| lines[k - 1] == "```").expect("the end of the program");
        let start = (end..lines.len()).find(|k| lines[*k] == "```text");
        let start = start.unwrap_or_else(|| panic!("{place}: no block of text follows"));
        let stop = (start + 1..).find(|k| lines[*k] == "```").expect("the end of the text");
        let new = [&lines[..=start], &printed.lines().collect::<Vec<_>>(), &lines[stop..]].concat();
        fs::write(&path, new.join("\n") + "\n").expect("the page can be written");
    }
}

include!(concat!(env!("OUT_DIR"), "/tests.rs"));
