//! Writes each program of the book into a file, and a module that lists all of them.
//!
//! Law: each block of Rust on a page of `docs/SUMMARY.md` is a program of its own, with or without `fn main`, unless the documentation
//! of a crate has the page (`src/guide.rs`, `higher/src/guide.rs`), whose programs rustdoc runs. The block of text that follows a
//! program is what the program prints; a program that must panic (`rust,should_panic`) prints its message. A block of `rust,core` is a
//! part of the crate that the chapters "Rebuild it" build, see `docs/book/rebuild`. A block of `rust,ignore` is a part of a file of the
//! repository.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A program of a page.
struct Program {
    /// The line of its first line in the page.
    line: usize,
    panics: bool,
    text: String,
    output: Option<String>,
}

fn read(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The programs of a page, each with the block of text that follows it.
fn programs(page: &str, text: &str) -> Vec<Program> {
    let mut found: Vec<Program> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let block = block.join("\n") + "\n";
        match info {
            "rust" | "rust,should_panic" => {
                let panics = info.ends_with("panic");
                found.push(Program { line: at + 2, panics, text: block, output: None });
            }
            "text" => {
                if let Some(last) = found.last_mut().filter(|last| last.output.is_none()) {
                    last.output = Some(block);
                }
            }
            "rust,core" | "rust,ignore" => {}
            _ => assert!(!info.starts_with("rust"), "{page}:{}: a block of `{info}` has no meaning", at + 1),
        }
    }
    found
}

/// A program as a module: its text in a function, unless it has one. The lines keep their distances.
fn module(text: &str) -> String {
    let text = text.replace("\n# ", "\n");
    if text.contains("fn main()") {
        return text.replace("fn main()", "pub(super) fn main()");
    }
    format!("pub(super) fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{text};\nOk(())\n}}\n")
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    let guide = ["src/guide.rs", "higher/src/guide.rs"].map(|guide| read(&root.join(guide))).concat();
    let summary = read(&root.join("docs/SUMMARY.md"));
    let pages = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter(|page| !page.is_empty());
    let (mut modules, mut list, mut tests) = (String::new(), String::new(), String::new());
    for page in pages.filter(|page| !guide.contains(&format!("docs/{page}\""))) {
        let name = page.trim_end_matches(".md").replace(['/', '-'], "_");
        let found = programs(page, &read(&root.join("docs").join(page)));
        for program in &found {
            let part = format!("{name}_{}", program.line);
            let path = out.join(format!("{part}.rs"));
            fs::write(&path, module(&program.text)).expect("a file can be written");
            let wrapped = usize::from(!program.text.contains("fn main()"));
            writeln!(modules, "#[path = {path:?}]\nmod {part};").expect("a text grows");
            writeln!(
                list,
                "Program {{ page: {page:?}, line: {}, wrapped: {wrapped}, panics: {}, run: || Outcome::done({part}::main()), output: {:?} }},",
                program.line, program.panics, program.output
            )
            .expect("a text grows");
        }
        if !found.is_empty() {
            writeln!(tests, "#[test]\nfn {name}() {{\n    page({page:?});\n}}").expect("a text grows");
        }
    }
    let text = format!("{modules}\n/// The programs of all pages.\npub static PROGRAMS: &[Program] = &[\n{list}];\n");
    fs::write(out.join("programs.rs"), text).expect("a file can be written");
    fs::write(out.join("tests.rs"), tests).expect("a file can be written");
}
