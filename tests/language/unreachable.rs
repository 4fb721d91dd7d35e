//! What the compiler says cannot happen: every `unreachable!` and `panic!` of `src/backend/`, each with its reason.
//!
//! Law: none is about phases. What a phase cannot meet is no variant of its types, so that a new phase, or a new
//! operation, is a matter of types.

use std::collections::BTreeMap;

use crate::layering::{modules, text};
use crate::root::root;

/// The file, what is said there, how often, and why it stays.
const ALLOWED: &[(&str, &str, usize, &str)] = &[
    ("ir/access/mod.rs", "a walk has an axis", 1, "an access to one element has an axis of length one"),
    ("lower/mod.rs", "the step is a group", 1, "the number of a step is of a group that was found or made just before"),
    (
        "lower/mod.rs",
        "an operand is one value",
        1,
        "operands with several results, or in another order, are settled first",
    ),
    (
        "native_code/vectors.rs",
        "an operation of a pack has one on vectors",
        1,
        "`operands` of packs lists the operations that vectors have: others make no pack",
    ),
    (
        "native_code/translate.rs",
        "elements that are variables have no address",
        1,
        "an array is variables if all its positions are known, and then no address of it is asked for",
    ),
    (
        "native_code/translate.rs",
        "names are exchanged, not arrays",
        1,
        "a statement `Swap` stands within `Renamed`, which gives both names addresses",
    ),
    (
        "lower/operations.rs",
        "an output is of an operation with several results",
        1,
        "a program is checked when it is built: an output names such an operation",
    ),
    (
        "lent.rs",
        "run_slices: the slices for the {what} must have {}, but they have {}; pass the elements of each, row by row",
        1,
        "an error of the caller",
    ),
    ("mod.rs", "run_into: the arrays for the results must be {}, but they are {}; ", 1, "an error of the caller"),
    (
        "mod.rs",
        "run_into: a workspace must be that of the executable, but it was made by another one; ",
        1,
        "an error of the caller",
    ),
    ("mod.rs", "run: the values of a program must fit into memory while it runs", 1, "an error of the caller"),
    (
        "tile/machine.rs",
        "a tile has an element for each position",
        1,
        "tile code names one number only where a kernel takes one, and assigns results to registers and buffers",
    ),
    ("tile/machine.rs", "{from} is not converted to {into}", 1, "the language has no such conversion"),
];

/// Words that speak of phases, or of what only some phases have.
const PHASES: [&str; 8] = [
    "phase",
    "lowering",
    "superinstruction",
    "the instruction before",
    "of tiles",
    "values of their own",
    "a view is read",
    "a value is written",
];

/// What is said where the code of a file ends a program: the words of each such macro, as they stand in its text.
fn said(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["unreachable!", "panic!", "todo!", "unimplemented!"] {
        for (at, _) in code.match_indices(name) {
            if code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = code[at + name.len()..].trim_start().strip_prefix('(').unwrap_or_default().trim_start();
            let words = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()).unwrap_or_default();
            found.push(words.to_owned());
        }
    }
    found
}

/// The files of the compiler with what is said in each, and how often.
fn all() -> BTreeMap<(String, String), usize> {
    let backend = root().join("src/backend");
    let mut found = BTreeMap::new();
    for (path, _) in modules() {
        let Ok(inside) = path.strip_prefix(&backend) else { continue };
        let file = inside.to_string_lossy().replace('\\', "/");
        // Trees are made of what `check` of the emission lets pass, and of recorded algorithms.
        if file.starts_with("trees/") {
            continue;
        }
        for words in said(&text(&path)) {
            *found.entry((file.clone(), words)).or_default() += 1;
        }
    }
    found
}

#[test]
fn what_cannot_happen_has_a_reason() {
    let mut found = all();
    for (file, words, count, reason) in ALLOWED {
        let key = found.keys().find(|(at, said)| at == file && said.starts_with(words)).cloned();
        let times = key.and_then(|key| found.remove(&key)).unwrap_or_default();
        assert_eq!(times, *count, "{file} says so many times \"{words}\": let the list follow");
        assert!(!reason.is_empty(), "{file}: \"{words}\" has no reason");
    }
    assert!(found.is_empty(), "these have no reason in the list: better types would need none\n{found:#?}");
}

#[test]
fn no_phase_meets_what_another_phase_makes() {
    for (file, words) in all().into_keys() {
        for phase in PHASES {
            assert!(!words.contains(phase), "{file}: \"{words}\" is about phases: give them types of their own");
        }
    }
}

#[test]
fn macros_are_seen() {
    let code = "f(x); unreachable!(\"a\"); panic!(\n    \"b {}\",\n    x\n); debug_panic!(\"c\"); todo!()";
    assert_eq!(said(code), ["a", "b {}", ""]);
}
