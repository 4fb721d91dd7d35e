//! What rustc says to mistakes that the types see.
//!
//! Each line of `refused/*.rs` that begins a function is a program that does not compile. `rustc` compiles the file
//! against the crates of this test, and what it says stands in `refused.txt`, under the line. Only words that the
//! library wrote are recorded: the message, the label at the mistake and the notes; paths of types are cut off. Laws:
//! every such program is refused, with words of the library at its line.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use crate::root::root;

/// When the types of a library were written, which crates that need it read: its code may come later than theirs.
fn built(library: &Path) -> SystemTime {
    library.with_extension("rmeta").metadata().and_then(|data| data.modified()).expect("the time of a file")
}

/// The library of this name that stands beside this test: the newest, but not newer than what needs it.
fn library(name: &str, until: Option<SystemTime>) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.parent().expect("a folder");
    let entries = fs::read_dir(folder).expect("the folder can be read").filter_map(Result::ok);
    let libraries = entries.map(|entry| entry.path()).filter(|path| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rlib")
    });
    let older = libraries.filter(|path| until.is_none_or(|until| built(path) <= until));
    older.max_by_key(|path| built(path)).expect("the library stands beside its tests")
}

/// What rustc says to a file of another crate: whether it compiles, and the messages.
fn compiled(file: &Path) -> (bool, Vec<Value>) {
    let higher = library("polygrad_higher", None);
    let core = library("polygrad", Some(built(&higher)));
    let folder = core.parent().expect("a folder");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let out = std::env::temp_dir().join(format!("polygrad-refused-{}-{name}", std::process::id()));
    let output = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--error-format", "json", "-o"])
        .arg(&out)
        .arg("--extern")
        .arg(format!("polygrad={}", core.display()))
        .arg("--extern")
        .arg(format!("polygrad_higher={}", higher.display()))
        .arg("-L")
        .arg(format!("dependency={}", folder.display()))
        .arg(file)
        .output()
        .expect("rustc runs");
    let _ = fs::remove_file(out);
    let text = String::from_utf8(output.stderr).expect("rustc writes text");
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a message of rustc"));
    (output.status.success(), all.filter(|message| message["level"] == "error").collect())
}

/// The errors of a file, from rustc.
fn errors(file: &Path) -> Vec<Value> {
    let (compiles, errors) = compiled(file);
    assert!(!compiles, "{} compiles", file.display());
    errors
}

/// The words without the paths of types: `polygrad::Array` is `Array`.
fn short(words: &str) -> String {
    let mut out = String::new();
    let mut name = String::new();
    let mut rest = words.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ':' if rest.peek() == Some(&':') && !name.is_empty() => {
                rest.next();
                name.clear();
            }
            c if c.is_alphanumeric() || c == '_' => name.push(c),
            c => {
                out.push_str(&name);
                name.clear();
                out.push(c);
            }
        }
    }
    out + &name
}

/// Whether the library wrote a note, not rustc.
fn authored(note: &str) -> bool {
    let of_rustc = [
        "required ",
        "the trait `",
        "the following ",
        "this error originates",
        "in this macro",
        "consider ",
        "evaluation of",
        "inside `",
    ];
    !note.is_empty() && !of_rustc.iter().any(|start| note.starts_with(start))
}

/// The words of an error, if they are of the library, and the line that it points to.
fn words(error: &Value, file: &str) -> Option<(u64, String)> {
    let spans = error["spans"].as_array()?;
    let primary = spans.iter().find(|span| span["is_primary"] == true)?;
    // In a macro, the line that calls it.
    let mut place = primary;
    while place["file_name"] != file {
        place = &place["expansion"]["span"];
        if place.is_null() {
            return None;
        }
    }
    let message = error["message"].as_str()?;
    // A panic while the program is compiled.
    let mut text = short(message.find("einsum!: ").map_or(message, |at| &message[at..]));
    if let Some(label) = primary["label"].as_str().filter(|label| authored(label)) {
        text = format!("{text}\n    at: {}", short(label));
    }
    for note in error["children"].as_array()?.iter().filter(|note| note["level"] == "note") {
        let note = note["message"].as_str()?;
        if authored(note) {
            text = format!("{text}\n    note: {note}");
        }
    }
    Some((place["line_start"].as_u64()?, text))
}

/// Whether a macro of the library says this.
fn is_macro(text: &str) -> bool {
    ["einsum!: ", "derive(Tree): ", "derive(Constrained): "].iter().any(|start| text.starts_with(start))
}

/// What rustc says to each function of a file.
fn said(name: &str) -> String {
    let path = root().join("tests/errors/refused").join(name);
    let source = fs::read_to_string(&path).expect("the file can be read");
    let file = path.display().to_string();
    let found: Vec<(u64, String)> = errors(&path).iter().filter_map(|error| words(error, &file)).collect();
    let mut out = String::new();
    for (k, line) in source.lines().enumerate().filter(|(_, line)| line.starts_with("fn ")) {
        let here: Vec<&String> = found.iter().filter(|(at, _)| *at == k as u64 + 1).map(|(_, text)| text).collect();
        // One mistake may have consequences, which rustc reports in its own words, after it.
        let Some(first) = here.iter().find(|text| text.contains("\n    ") || is_macro(text)) else {
            panic!("{name}:{}: no words of the library: {here:?}\n{line}", k + 1);
        };
        let body = line.split_once(") { ").map_or(line, |(_, body)| body.trim_end_matches(" }"));
        let head = line.trim_start_matches("fn ").split(['(', '<']).next().unwrap_or_default();
        out += &format!("{head}: {body}\n  {}\n\n", first.replace('\n', "\n  "));
    }
    out
}

#[test]
fn what_the_compiler_says_is_as_recorded() {
    let path = root().join("tests/errors/refused.txt");
    let text = said("types.rs") + &said("letters.rs") + &said("trees.rs") + &said("functions.rs");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &text).expect("the record can be written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    for (now, then) in text.split("\n\n").zip(recorded.split("\n\n")) {
        assert_eq!(now, then, "a message has changed: if it should, run `make bless` and read the difference");
    }
    assert_eq!(text.len(), recorded.len(), "messages have come or gone: run `make bless` and read the difference");
}

/// The interpreter that the recipe of `docs/interpreter.md` copies needs nothing private: it compiles in another crate as
/// it is.
#[test]
fn the_smallest_interpreter_compiles_in_another_crate() {
    let source = format!(
        "#![allow(unused)]\nuse polygrad::{{array, base, dtype, ops, program, shape}};\n#[path = {:?}]\nmod shapes;\n",
        root().join("interpreters/shapes.rs")
    );
    let file = std::env::temp_dir().join(format!("polygrad_outside_{}.rs", std::process::id()));
    fs::write(&file, source).expect("the file can be written");
    let (compiles, errors) = compiled(&file);
    let _ = fs::remove_file(&file);
    assert!(compiles, "{:?}", errors.iter().map(|error| &error["rendered"]).collect::<Vec<_>>());
}
