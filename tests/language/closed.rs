//! The public enums. Law: each is `#[non_exhaustive]`, or its documentation says `Closed:` and why.
//!
//! A variant that is added to an enum without the attribute breaks the crates that match it, so each such enum is a decision:
//! `docs/decisions/03-closed-families.md`. An enum that is `pub` can be reached from outside, since rustc warns of others
//! (`unreachable_pub`).

use std::fs;

use crate::layering::{FOLDERS, sources};
use crate::root::root;

/// What is decided about an enum, by the attributes and the documentation above it.
#[derive(Debug, PartialEq)]
enum Decided {
    Open,
    Closed,
    Nothing,
}

fn decided(above: &[&str]) -> Decided {
    if above.contains(&"#[non_exhaustive]") {
        return Decided::Open;
    }
    let reason = above.iter().find_map(|line| line.strip_prefix("/// ")?.strip_prefix("Closed: "));
    if reason.is_some_and(|reason| reason.split(' ').count() > 1) { Decided::Closed } else { Decided::Nothing }
}

/// Each public enum of a text, and what is decided about it.
fn enums(text: &str) -> Vec<(String, Decided)> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("pub enum ") else { continue };
        let name = rest.split([' ', '<', '{']).next().unwrap_or_default().to_owned();
        let belongs = |line: &&&str| ["#[", "///", "$(#["].iter().any(|start| line.starts_with(start));
        let above: Vec<&str> = lines[..at].iter().rev().take_while(belongs).copied().collect();
        found.push((name, decided(&above)));
    }
    found
}

#[test]
fn each_public_enum_is_closed_for_a_reason_or_may_grow() {
    let folders = FOLDERS.map(|folder| sources(&root().join(folder)));
    let (mut open, mut closed) = (0, 0);
    for path in folders.iter().flatten() {
        for (name, decided) in enums(&fs::read_to_string(path).expect("the file can be read")) {
            let here = path.display();
            match decided {
                Decided::Open => open += 1,
                Decided::Closed => closed += 1,
                Decided::Nothing => {
                    panic!("{here}: `{name}` is neither `#[non_exhaustive]` nor `Closed:` with a reason")
                }
            }
        }
    }
    assert!(open > 9 && closed > 20, "{open} open and {closed} closed enums were found");
}

#[test]
fn decisions_are_read() {
    let of = |above: &str| enums(&format!("/// Before.\nstruct A;\n\n{above}\npub enum Colour<T> {{"));
    let colour = |decided| vec![("Colour".to_owned(), decided)];
    assert_eq!(of("/// A colour.\n#[derive(Clone)]\n#[non_exhaustive]"), colour(Decided::Open));
    assert_eq!(of("/// A colour.\n///\n/// Closed: eyes see three.\n#[derive(Clone)]"), colour(Decided::Closed));
    assert_eq!(of("/// A colour.\n#[derive(Clone)]"), colour(Decided::Nothing));
    assert_eq!(of("/// A colour.\n///\n/// Closed: "), colour(Decided::Nothing));
    assert_eq!(of("/// Closed: eyes see three.\n\n/// A colour."), colour(Decided::Nothing));
}
