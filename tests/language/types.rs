//! The names of types. Law: a type that other files see has its name in one room, but for those that `docs/glossary.md`
//! allows; and each that it allows stands in several.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::layering::{FOLDERS, sources};
use crate::root::root;

/// The room of a file: a folder or file of `src/` or `interpreters/`. Higher-order programs, a crate, are one room.
fn room(path: &Path) -> String {
    let inside = path.strip_prefix(root()).expect("a file of the crate");
    let parts: Vec<String> =
        inside.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
    if parts.iter().any(|part| part == "higher") { "higher".to_owned() } else { parts[..2].join("/") }
}

/// The name of a type that a line declares for other files.
fn declared(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = if let Some(within) = rest.strip_prefix('(') { within.split_once(')')?.1 } else { rest };
    let rest = ["struct ", "enum ", "trait ", "type ", "union "]
        .iter()
        .find_map(|kind| rest.trim_start().strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// For each name of a type the rooms in which it is declared.
fn rooms() -> BTreeMap<String, BTreeSet<String>> {
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for folder in FOLDERS {
        for path in sources(&root().join(folder)) {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            if name == "tests.rs" || path.iter().any(|part| part == "tests") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("the file can be read");
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for found in code.lines().filter_map(declared) {
                rooms.entry(found.to_owned()).or_default().insert(room(&path));
            }
        }
    }
    rooms
}

/// The names that the glossary allows.
fn allowed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("docs/glossary.md")).expect("the glossary can be read");
    let (_, table) = text.split_once("## Types of one name in several rooms").expect("the glossary has the section");
    let names = table.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    names.flat_map(|cell| cell.split(',')).map(|name| name.trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn types_have_names_of_their_own() {
    let (rooms, allowed) = (rooms(), allowed());
    assert!(rooms.len() > 300, "the sources were read: {} names", rooms.len());
    for (name, rooms) in rooms.iter().filter(|(_, rooms)| rooms.len() > 1) {
        assert!(
            allowed.contains(name),
            "`{name}` is a type in {rooms:?}: rename one, or give the reason in docs/glossary.md"
        );
    }
    for name in &allowed {
        let several = rooms.get(name).is_some_and(|rooms| rooms.len() > 1);
        assert!(several, "docs/glossary.md allows `{name}`, which is no longer a type in several rooms");
    }
}

#[test]
fn declarations_are_seen() {
    let seen =
        ["pub struct A<T>(T);", "    pub(crate) enum B {", "pub(in crate::ad) type C = u8;", "pub(super) trait D: E {"];
    assert_eq!(seen.map(declared), [Some("A"), Some("B"), Some("C"), Some("D")]);
    assert_eq!(["struct A;", "pub fn f() {}", "pub use a::B;"].map(declared), [None; 3]);
}
