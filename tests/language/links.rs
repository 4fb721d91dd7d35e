//! The links of the pages: they lead somewhere on a host of code and in the documentation of the crate.
//!
//! Law: what a link names exists, relative to its page. A page that is part of the documentation of the crate has its links
//! as references, and the source that includes the page defines these before, as items of the crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::root::root;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of a folder and of those in it.
pub(crate) fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
    found
}

/// The lines of a page outside of programs.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter(move |line| {
        inside ^= line.trim_start().starts_with("```");
        !inside
    })
}

/// The definitions of links of a page: `[label]: target`.
fn definitions<'t>(lines: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, &'t str> {
    lines.filter_map(|line| line.strip_prefix('[')?.split_once("]: ")).collect()
}

/// The targets of links in a line: `[text](target)`.
fn inline(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn links_lead_somewhere() {
    let mut all = pages(&root().join("docs"));
    all.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
            .map(|page| root().join(page)),
    );
    let mut count = 0;
    for page in &all {
        let text = read(page);
        let targets = prose(&text).flat_map(inline).chain(definitions(prose(&text)).into_values());
        for target in targets.filter(|target| !target.contains("://")) {
            let path = page.with_file_name(target.split('#').next().unwrap_or_default());
            assert!(path.exists(), "{} links to {target}, which does not exist", page.display());
            count += 1;
        }
    }
    assert!(count > 50, "{count} links were found");
}

/// The pages that a source file of a crate includes, with the definitions of links before each.
fn included([folder, source]: [&str; 2]) -> Vec<(PathBuf, BTreeMap<String, String>)> {
    let (mut found, mut defined) = (Vec::new(), BTreeMap::new());
    for line in read(&root().join(folder).join(source)).lines() {
        let line = line.trim().trim_start_matches("//! ").trim_start_matches("#[doc = \"");
        if let Some((label, target)) = line.strip_prefix('[').and_then(|line| line.split_once("]: ")) {
            defined.insert(label.to_owned(), target.trim_end_matches("\"]").to_owned());
        } else if let Some(page) = line.split("include_str!(\"../").nth(1).and_then(|rest| rest.split('"').next())
            // The picture of a page stands between the definitions and the page.
            && !page.ends_with(".svg")
        {
            found.push((root().join(folder).join(page), std::mem::take(&mut defined)));
        }
    }
    found
}

#[test]
fn links_lead_to_items_in_the_documentation_of_the_crate() {
    let pages = [["", "src/lib.rs"], ["", "src/guide.rs"], ["higher", "src/guide.rs"]].into_iter().flat_map(included);
    for (page, defined) in pages.filter(|(page, _)| page.extension().is_some_and(|e| e == "md")) {
        let (text, name) = (read(&page), page.display());
        let own = definitions(prose(&text));
        for line in prose(&text) {
            assert!(
                inline(line).all(|to| to.ends_with(".svg") || to.ends_with(".png") || to.contains("://")),
                "{name}: use a reference: {line}"
            );
            for label in line.split("][").skip(1).filter_map(|rest| rest.split(']').next()) {
                assert!(own.contains_key(label), "{name} has no definition of [{label}]");
            }
        }
        assert!(
            own.keys().all(|label| defined.contains_key(*label)),
            "{name}: the source defines {defined:?}, not {own:?}"
        );
        assert_eq!(own.len(), defined.len(), "{name}: the source defines more: {defined:?}");
        // What is documented with another crate is not compiled for its pages.
        let item = |target: &String| ["crate::", "polygrad"].iter().any(|start| target.starts_with(start));
        assert!(defined.values().all(item), "{name}: {defined:?}");
    }
}

#[test]
fn every_page_of_the_guide_is_in_its_index() {
    let (index, source) = (read(&root().join("docs/guide/README.md")), read(&root().join("src/guide.rs")));
    for page in pages(&root().join("docs/guide")) {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        if name != "README.md" {
            assert!(index.contains(&format!("]({name})")), "docs/guide/README.md does not list {name}");
            assert!(source.contains(&format!("docs/guide/{name}\"")), "src/guide.rs does not include {name}");
        }
    }
}
