//! The page of messages in the book, `docs/messages.md`, made of the recorded messages. `make bless` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use crate::log::parts;
use crate::root::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What the messages with one requirement say.
struct Row<'t> {
    operations: Vec<&'t str>,
    /// The code that raises the first of them, what it found, and the way out.
    code: &'t str,
    fact: &'t str,
    way_out: &'t str,
}

/// A cell of a table. A code span ends where the text has a mark of its own.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}

fn code(text: &str) -> String {
    let text = text.trim_end_matches(';').replace('|', "\\|");
    if text.contains('`') { cell(&text) } else { format!("`{text}`") }
}

/// The messages by their requirements, in the order of these.
fn rows(recorded: &str) -> BTreeMap<&str, Row<'_>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for entry in recorded.split("\n\n") {
        let Some((code, message)) = entry.trim_matches('\n').split_once("\n    ") else { continue };
        let [operation, requirement, fact, way_out] = parts(message).expect("messages keep one grammar");
        let row = rows.entry(requirement).or_insert(Row { operations: Vec::new(), code, fact, way_out });
        if !row.operations.contains(&operation) {
            row.operations.push(operation);
        }
    }
    rows
}

/// What rustc refuses: the code, and the words in which it does.
fn refused(recorded: &str) -> Vec<(&str, Vec<&str>)> {
    let entries = recorded.split("\n\n").filter_map(|entry| entry.trim_matches('\n').split_once('\n'));
    entries.map(|(head, rest)| (head.split_once(": ").map_or(head, |(_, code)| code), rest.lines().collect())).collect()
}

/// Mistakes at which the library has no word, since rustc stops before it reaches a trait of the library.
const OF_RUSTC: &str = "
## What rustc says in its own words

`Array` is the type of known numbers, and rustc shows this name; `Concrete` is another name of it, for its place among the interpreters. \
`Tensor<Array, 1>` and `Tensor<Concrete, 1>` are one type. `Term` is the interpreter of the functions that the verbs record.

| rustc says | the cause | the fix |
|---|---|---|
| expected `&_`, found floating-point number, at `x > 0.0`; can't compare `&Tensor<..>` with `{float}`, at `x == 0.0` | a comparison of a \
tensor is not a `bool`, and `*x > 0.0` does not help: the numbers are unknown where the program is recorded or differentiated | `x.gt(0.0)` makes a \
mask, which chooses by `mask.select(a, b)` or `cond(mask, a, b)`; numbers known to the host are compared by `x.item() > 0.0` |
| expected `f64`, found `Tensor<Array, 0>` | a tensor of rank 0 is not a number | `x.item()`, for numbers known to the host |
| expected `Tensor<Term, 0>`, found `Tensor<Array, 0>` | a tensor of known numbers is used in a function that is recorded | `x.lift()`, or \
`Tensor::constant(&x)`, or the form of the verb with data, such as `grad_with` |
| type annotations needed for `Tensor<_, 1>` | `Tensor::zeros`, `from_fn`, `constant` and others are generic in the interpreter, and nothing says \
which is meant | `Tensor::<Array, 1>::zeros([3])`; `tensor(..)`, `Tensor::new(shape, numbers)` and `Tensor::from(numbers)` are not generic |
";

fn page() -> String {
    let (errors, refusals) = (read("tests/errors/errors.txt"), read("tests/errors/refused.txt"));
    let mut out = String::from(
        "# Messages\n\n**At the end of this page you have** the cause of each message, and its fix.\n\n\
         A message reads `operation: requirement, but fact; fix`. It points to a line of your program. The table has each requirement once, \
         in alphabetical order, with the operations that have it, a piece of code that breaks it (`x` is a matrix of the shape `[2, 3]`, `t` its transpose), \
         and what the message says then. It is made from the tests, which raise every message of the sources.\n\n\
         | requirement | operations | for example | what the message finds | the fix |\n|---|---|---|---|---|\n",
    );
    for (requirement, Row { operations, code: example, fact, way_out }) in rows(&errors) {
        let mut names: Vec<String> = operations.iter().take(6).map(|name| code(name)).collect();
        if operations.len() > 6 {
            names.push(format!("and {} more", operations.len() - 6));
        }
        let cells = [cell(requirement), names.join(", "), code(example), cell(fact), cell(way_out)];
        writeln!(out, "| {} |", cells.join(" | ")).expect("a text grows");
    }
    out += "\n## What rustc refuses\n\nThese mistakes are found before anything runs.\n\n| the code | what rustc says | what it notes |\n|---|---|---|\n";
    for (example, lines) in refused(&refusals) {
        let first = lines.first().copied().unwrap_or_default().trim();
        let notes = lines.iter().filter_map(|line| line.trim().strip_prefix("note: "));
        let notes: Vec<String> = notes.map(cell).collect();
        writeln!(out, "| {} | {} | {} |", code(example), cell(first), notes.join("; ")).expect("a text grows");
    }
    out += OF_RUSTC;
    out + "\n**Next:** [what to know](guide/conventions.md), [find a NaN](tasks/nan.md) and [levels and lifting](guide/levels.md).\n"
}

#[test]
fn the_page_of_messages_is_made_of_the_messages() {
    let path = root().join("docs/messages.md");
    let new = page();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &new).expect("the page can be written");
    }
    assert!(fs::read_to_string(&path).unwrap_or_default() == new, "docs/messages.md is old: run `make bless`");
    assert!(new.lines().count() > 300);
}
