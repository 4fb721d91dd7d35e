//! Links of pages: from paths in the repository to paths in the book.
//!
//! Law: a link to a page of the book, or to a file below `docs` that the site has, stays a link to that page or file; a link to another file of
//! the repository leads to the repository where its address is known, and loses its target otherwise.

use std::path::{Component, Path, PathBuf};

use mdbook_preprocessor::book::Chapter;

use crate::ROOT_PAGES;

/// The path of a chapter in the repository.
pub(crate) fn in_repository(chapter: &Chapter) -> Option<String> {
    let source = chapter.source_path.as_ref()?.to_string_lossy().into_owned();
    Some(if ROOT_PAGES.contains(&&source[..]) { source } else { format!("docs/{source}") })
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(part),
        }
    }
    out
}

/// Where a link of a page leads in the book, if it does: `target` is relative to `page`, a path in the repository.
pub(crate) fn target(target: &str, page: &str, known: &[String], repository: Option<&str>) -> Option<String> {
    if target.contains("://") || target.starts_with('#') || target.starts_with("mailto:") {
        return Some(target.to_owned());
    }
    let (file, anchor) = target.split_once('#').map_or((target, String::new()), |(file, a)| (file, format!("#{a}")));
    let mut to = normal(&Path::new(page).with_file_name(file));
    if known.contains(&to.join("README.md").to_string_lossy().into_owned()) {
        to.push("README.md");
    }
    let to = to.to_string_lossy().into_owned();
    let in_docs = to.strip_prefix("docs/").filter(|rest| !rest.ends_with(".md") && !rest.starts_with("book/"));
    let in_docs = in_docs.filter(|_| Path::new(&to).is_file());
    if known.contains(&to) || in_docs.is_some() {
        // The book has the pages of `docs` and those of the root in one folder.
        let depth = page.strip_prefix("docs/").unwrap_or(page).matches('/').count();
        // The site calls the page of a folder its index.
        let name = to.strip_prefix("docs/").unwrap_or(&to).replace("README.md", "index.md");
        return Some(format!("{}{name}{anchor}", "../".repeat(depth)));
    }
    repository.map(|address| format!("{}/blob/main/{to}{anchor}", address.trim_end_matches('/')))
}

/// A text with another target for each link outside of programs; a link without one becomes its text.
pub(crate) fn relinked(text: &str, map: impl Fn(&str) -> Option<String>) -> String {
    let mut inside = false;
    let mut out = String::new();
    let mut dropped = Vec::new();
    for line in text.lines() {
        inside ^= line.trim_start().starts_with("```");
        let definition = line.strip_prefix('[').and_then(|line| line.split_once("]: "));
        if inside {
            out += line;
        } else if let Some((label, to)) = definition {
            match map(to) {
                Some(to) => out += &format!("[{label}]: {to}"),
                None => dropped.push(label.to_owned()),
            }
        } else {
            out += &inline(line, &map);
        }
        out.push('\n');
    }
    // A reference without its definition would show its brackets.
    for label in dropped {
        out = without(&out, &label);
    }
    out
}

/// A line with other targets: `[text](target)`.
fn inline(line: &str, map: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((to, after)) = after.split_once(')') else { break };
        match (map(to), before.rfind('[')) {
            (None, Some(open)) => out += &format!("{}{}", &before[..open], &before[open + 1..]),
            (to_new, _) => out += &format!("{before}]({})", to_new.unwrap_or_default()),
        }
        rest = after;
    }
    out + rest
}

/// A text in which references to a label are their text: `[text][label]` and `[label]`.
fn without(text: &str, label: &str) -> String {
    let end = format!("][{label}]");
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&end) {
        let open = before.rfind('[').unwrap_or(0);
        out += &before[..open];
        out += before[open..].trim_start_matches('[');
        rest = after;
    }
    (out + rest).replace(&format!("[{label}]"), label)
}
