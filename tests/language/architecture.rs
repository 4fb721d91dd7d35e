//! The map of the sources: `ARCHITECTURE.md`, the pages of `docs/decisions`, and `docs/glossary.md`; and the pages for
//! contributors.
//!
//! The map is short, names every module, and names no path that is gone. Its example, a softmax loss, has the texts that
//! the library prints: `make bless` writes them anew.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use polygrad::backend::compile;
use polygrad::passes::pipeline;
use polygrad::program::Term;
use polygrad::{Array, BaseTensor, Function, Tensor, map, symbolic};

use super::examples::assert_marked_in;
use crate::layering::FOLDERS;
use crate::root::root;

const MAP: &str = "ARCHITECTURE.md";
const MOST_WORDS: usize = 2500;
const MOST_LINES_OF_THE_ENTRANCE: usize = 60;
const MOST_WORDS_OF_A_CELL: usize = 60;

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The pages of a folder.
fn pages_of(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
    pages.sort();
    pages
}

/// The map, and the pages of decisions.
fn pages() -> Vec<PathBuf> {
    let mut pages = pages_of("docs/decisions");
    pages.insert(0, root().join(MAP));
    pages
}

/// What stands between backticks within a line, code blocks left out.
fn quoted(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// The last part of a path without its extension.
fn stem(quoted: &str) -> &str {
    let last = quoted.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    last.strip_suffix(".rs").unwrap_or(last)
}

/// The modules under a folder: the names of its files and folders.
fn modules(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            found.extend(modules(&path));
        }
        if path.is_dir() || path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_map_is_short() {
    let map = read(&root().join(MAP));
    let words = map.split_whitespace().count();
    assert!(words <= MOST_WORDS, "{MAP} has {words} words, of {MOST_WORDS}");
    for line in map.lines().filter(|line| line.starts_with('|')) {
        for cell in line.split('|') {
            let words = cell.split_whitespace().count();
            assert!(words <= MOST_WORDS_OF_A_CELL, "a cell of {words} words, of {MOST_WORDS_OF_A_CELL}: {cell}");
        }
    }
}

/// Texts each of which is about few rooms: the lines of the map and of the glossary, and the pages of decisions.
fn rooms() -> Vec<String> {
    let mut rooms: Vec<String> = pages().iter().skip(1).map(|page| read(page)).collect();
    for page in [MAP, "docs/glossary.md"] {
        rooms.extend(read(&root().join(page)).lines().map(str::to_owned));
    }
    rooms
}

/// A module is named by its path, or by its name beside that of its folder.
#[test]
fn every_module_is_named() {
    let rooms = rooms();
    let named: Vec<BTreeSet<&str>> = rooms.iter().map(|text| quoted(text).into_iter().map(stem).collect()).collect();
    let paths: BTreeSet<&str> = rooms.iter().flat_map(|text| quoted(text)).map(|q| q.trim_end_matches('/')).collect();
    let name = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut missing = Vec::new();
    let mut seen = 0;
    for path in FOLDERS.iter().flat_map(|folder| modules(&root().join(folder))) {
        seen += 1;
        let (module, folder) = (name(&path), name(path.parent().expect("a folder")));
        let inside = path.strip_prefix(root()).expect("a path under the root").display().to_string();
        let beside = || named.iter().any(|room| room.contains(&module[..]) && room.contains(&folder[..]));
        if !matches!(&module[..], "mod" | "tests") && !paths.contains(&inside[..]) && !beside() {
            missing.push(inside);
        }
    }
    assert!(seen > 300, "{seen} modules were found");
    missing.sort();
    assert!(missing.is_empty(), "named neither in {MAP} nor in docs: {missing:#?}");
}

/// Each pass stands in the line about passes.
#[test]
fn every_pass_is_named() {
    let map = read(&root().join(MAP));
    let line = map.lines().find(|line| line.starts_with("| `src/passes/` |")).expect("a line about passes");
    let named: BTreeSet<&str> = quoted(line).into_iter().collect();
    let missing: Vec<&str> = pipeline().iter().map(|pass| pass.name).filter(|name| !named.contains(name)).collect();
    assert!(missing.is_empty(), "the line about passes of {MAP} does not name {missing:?}");
}

#[test]
fn every_path_exists() {
    let mut seen = 0;
    let beside = ["CONTRIBUTING.md", "docs/glossary.md", "docs/interpreter.md"].map(|page| root().join(page));
    for page in pages().into_iter().chain(beside).chain(pages_of("docs/contributing")) {
        let text = read(&page);
        for path in quoted(&text) {
            let is_path = [".rs", ".md", ".py", ".txt", "/"].iter().any(|end| path.ends_with(end)) && path.len() > 1;
            if is_path {
                seen += 1;
                assert!(root().join(path).exists(), "{} names {path}, which is gone", page.display());
            }
        }
        // Links within the repository, from the folder of the page.
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") {
                let folder = page.parent().expect("a page lies in a folder");
                assert!(folder.join(file).exists(), "{} links to {link}, which is gone", page.display());
            }
        }
    }
    assert!(seen > 100, "{seen} paths were found");
}

#[test]
fn every_decision_is_listed() {
    let list = read(&root().join("docs/decisions/README.md"));
    let map = read(&root().join(MAP));
    for page in pages().iter().skip(1).filter(|page| !page.ends_with("README.md")) {
        let name = page.file_name().expect("a name").to_string_lossy();
        assert!(list.contains(&format!("({name})")), "docs/decisions/README.md does not list {name}");
        assert!(map.contains(&format!("(docs/decisions/{name})")), "{MAP} does not link to {name}");
        let text = read(page);
        for section in ["## Context", "## Decision", "## Consequences", "* Kept by "] {
            assert!(text.contains(section), "{name} has no {section}");
        }
        let words = text.split_whitespace().count();
        assert!(words <= 370, "{name} has {words} words");
    }
}

/// The entrance is short, and links to each page for contributors.
#[test]
fn every_page_for_contributors_is_listed() {
    let entrance = read(&root().join("CONTRIBUTING.md"));
    let lines = entrance.lines().count();
    assert!(lines <= MOST_LINES_OF_THE_ENTRANCE, "CONTRIBUTING.md has {lines} lines");
    let pages = pages_of("docs/contributing");
    assert!(pages.len() > 6, "{} pages for contributors", pages.len());
    for page in pages {
        let name = page.file_name().expect("a name").to_string_lossy();
        assert!(entrance.contains(&format!("(docs/contributing/{name})")), "CONTRIBUTING.md does not link to {name}");
    }
}

/// The example of the map, in its words.
fn loss<T: BaseTensor>(x: &Tensor<T, 2>, y: &Tensor<T, 2>) -> Tensor<T, 0> {
    map((x, y), |(x, y)| x.logsumexp() - x.dot(y)).sum()
}

#[test]
fn the_softmax_loss_is_as_on_the_map() {
    let zeros = || Tensor::<_, 2>::from_raw(Array::zeros(&[256, 100], polygrad::DType::F64));
    let f = Function::stage(|(x, y): &(Tensor<Term, 2>, Tensor<Term, 2>)| loss(x, y), &(zeros(), zeros()));
    let gradient = polygrad::passes::optimize(&symbolic::grad_in(f.optimized(), &[0]));
    let explained = compile(&gradient).explain();
    let texts = [
        ("program", format!("{}\n", f.program())),
        ("optimized", format!("{}\n", f.optimized())),
        ("gradient", format!("{gradient}\n")),
        ("plan", explained),
    ];
    for (stage, text) in texts {
        assert_marked_in(MAP, &format!("softmax: {stage}"), &text);
    }
    let code = read(&root().join(file!()));
    let written = code.split("fn loss<").nth(1).and_then(|rest| rest.split("\n}\n").next()).expect("the function");
    assert!(read(&root().join(MAP)).contains(written), "the map shows another function");
}

#[test]
fn quotations_are_found() {
    assert_eq!(quoted("a `b` c `d/e.rs`\n```text\n`f`\n```\n`g/`"), ["b", "d/e.rs", "g/"]);
    assert_eq!(["b", "d/e.rs", "g/h/"].map(stem), ["b", "e", "h"]);
}

/// The first sentence of the header of each module says in few words what the module does.
#[test]
fn headers_begin_with_a_short_sentence() {
    let mut wrong = Vec::new();
    let all = FOLDERS.iter().flat_map(|folder| modules(&root().join(folder)));
    // The documentation of the crate is the README.
    for path in all.filter(|path| path.is_file() && !path.ends_with("lib.rs")) {
        let text = read(&path);
        let lines =
            text.lines().take_while(|line| line.starts_with("//!")).map(|line| line.trim_start_matches("//!").trim());
        let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
        let paragraph = paragraph.join(" ") + " ";
        let length = paragraph.split(". ").next().map_or(0, |sentence| sentence.chars().count());
        if !(1..=120).contains(&length) {
            wrong.push(format!("{}: {length} characters", path.display()));
        }
    }
    assert!(wrong.is_empty(), "first sentences are at most 120 characters long:\n{}", wrong.join("\n"));
}
