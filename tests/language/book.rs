//! The book: the pages of `docs`, in the order of `docs/SUMMARY.md`.
//!
//! Law: every page is in the book. A page begins with what the reader has at its end, or with what is on it, and ends with where to
//! go on; pages of decisions have a form of their own.
//! The chapters "Rebuild it" are the crate `docs/book/rebuild`, line by line, each at most 120 lines beside its tests, and each names
//! chapters before it alone. An excerpt of a file stands in that file.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::links::pages;
use crate::root::root;

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the book, below `docs`, each with the title of its part.
fn summary() -> Vec<(String, String)> {
    let (mut part, mut pages) = (String::new(), Vec::new());
    for line in read("docs/SUMMARY.md").lines() {
        if let Some(title) = line.strip_prefix("# ") {
            part = title.to_owned();
        }
        let page = line.split_once("](").and_then(|(_, rest)| rest.strip_suffix(')')).filter(|page| !page.is_empty());
        pages.extend(page.map(|page| (part.clone(), page.to_owned())));
    }
    pages
}

#[test]
fn every_page_is_in_the_book_once() {
    let docs = root().join("docs");
    let below = |page: &PathBuf| page.strip_prefix(&docs).expect("a page").to_string_lossy().replace('\\', "/");
    let mut all: BTreeSet<String> = pages(&docs).iter().map(below).collect();
    all.remove("SUMMARY.md");
    let listed: Vec<String> = summary().into_iter().map(|(_, page)| page).collect();
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    assert_eq!(all, once, "docs/SUMMARY.md has other pages than docs");
}

#[test]
fn entries_have_the_titles_of_their_pages() {
    for line in read("docs/SUMMARY.md").lines() {
        let Some((title, page)) =
            line.trim_start_matches([' ', '-']).strip_prefix('[').and_then(|l| l.split_once("]("))
        else {
            continue;
        };
        let page = page.trim_end_matches(')');
        if !page.is_empty() {
            let text = read(&format!("docs/{page}"));
            let heading = text.lines().find_map(|line| line.strip_prefix("# "));
            assert_eq!(heading, Some(title), "docs/{page}");
        }
    }
}

#[test]
fn pages_begin_with_what_the_reader_will_have_and_end_with_where_to_go_on() {
    for (part, page) in summary().into_iter().filter(|(_, page)| !page.starts_with("decisions/")) {
        let text = read(&format!("docs/{page}"));
        let start = text.find("# ").map_or("", |k| &text[k..]);
        let first = start.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default();
        let begins = ["**At the end of this p", "**On this page** "].iter().any(|words| first.starts_with(words));
        assert!(begins, "docs/{page}, in {part}, begins with: {first}");
        let next = text.rfind("\n**Next:** ").map(|k| &text[k + 1..]).unwrap_or_default();
        let last = next.lines().skip(1).all(|line| !line.starts_with("#"));
        assert!(!next.is_empty() && last, "docs/{page}, in {part}, does not end with where to go on");
    }
}

/// The blocks of a page whose first line is this one, each with the line before.
fn blocks<'t>(text: &'t str, fence: &str) -> Vec<(&'t str, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = (0..lines.len()).filter(|k| lines[*k] == fence);
    let block = |k: usize| {
        let inside = lines[k + 1..].iter().take_while(|line| **line != "```");
        (if k > 0 { lines[k - 1] } else { "" }, inside.map(|line| format!("{line}\n")).collect())
    };
    starts.map(block).collect()
}

#[test]
fn the_chapters_are_the_crate() {
    let crate_of = "docs/book/rebuild/src";
    let library = read(&format!("{crate_of}/lib.rs"));
    assert!(read("docs/rebuild/README.md").contains(&library), "docs/rebuild/README.md shows another lib.rs");
    let modules: Vec<&str> =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    for (k, module) in modules.iter().enumerate() {
        let (page, file) = (format!("docs/rebuild/{:02}-{module}.md", k + 1), format!("{crate_of}/{module}.rs"));
        let (text, source) = (read(&page), read(&file));
        let parts: Vec<String> = blocks(&text, "```rust,core").into_iter().map(|(_, part)| part).collect();
        let spaced = |text: &str| text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        assert_eq!(spaced(&parts.concat()), spaced(&source), "{page} is not {file}");
        let length = source.lines().take_while(|line| *line != "#[cfg(test)]").count();
        assert!(length <= 120, "{file} has {length} lines before its tests");
        assert!(source.contains("#[test]"), "{file} has no test");
        for line in source.lines().take_while(|line| *line != "#[cfg(test)]") {
            let used = line.trim().strip_prefix("use crate::").and_then(|rest| rest.split("::").next());
            assert!(used.is_none_or(|used| modules[..k].contains(&used)), "{file} names a later chapter: {line}");
        }
    }
    assert!(modules.len() > 10);
}

#[test]
fn excerpts_stand_in_their_files() {
    for (_, page) in summary() {
        for (before, part) in blocks(&read(&format!("docs/{page}")), "```rust,ignore") {
            // What a page shows shorter than the file has it is marked as such.
            let marked = |mark: &str| before.strip_prefix(mark)?.strip_suffix(" -->");
            let file = marked("<!-- from: ").or_else(|| marked("<!-- as in: "));
            let file = file.unwrap_or_else(|| panic!("docs/{page}: no line says from which file this is:\n{part}"));
            let source = read(file);
            let lines: BTreeSet<&str> = source.lines().map(str::trim).collect();
            let other = part.lines().find(|line| marked("<!-- from: ").is_some() && !lines.contains(line.trim()));
            assert!(other.is_none(), "docs/{page}: {file} has no line {other:?}");
        }
    }
}
