//! The page of names for people who come from other libraries: what it says to write here exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The words of a text: letters, digits and underscores, with what stands before and after.
fn words(text: &str) -> Vec<(&str, &str, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(is_word).map(|k| rest + k) {
        let end = text[start..].find(|c| !is_word(c)).map_or(text.len(), |k| start + k);
        out.push((&text[..start], &text[start..end], &text[end..]));
        rest = end;
    }
    out
}

/// Every name that the sources declare, or that a row of a table has.
fn declared(dir: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            declared(&path, names);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            for (before, word, after) in words(&text) {
                let keywords = ["fn ", "struct ", "enum ", "trait ", "type ", "mod ", "macro_rules! "];
                if keywords.iter().any(|k| before.ends_with(k)) || [" => ", " of "].iter().any(|k| after.starts_with(k))
                {
                    names.insert(word.to_owned());
                }
            }
        }
    }
}

/// The names of functions, methods, macros and types in a piece of code.
fn used(code: &str) -> Vec<&str> {
    let called = |(before, word, after): &(&str, &str, &str)| {
        let called = after.starts_with('(') || after.starts_with('!') || after.starts_with("::");
        let first = word.starts_with(|c: char| c.is_ascii_alphabetic());
        first && (called || before.ends_with("::") && !before.ends_with("::<") || *word == code)
    };
    words(code).into_iter().filter(called).map(|(_, word, _)| word).collect()
}

#[test]
fn the_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    declared(&root.join("src"), &mut names);
    declared(&root.join("derive"), &mut names);
    let page = fs::read_to_string(root.join("docs/guide/names.md")).expect("the page of names");
    let foreign = ["f32", "Vec", "BTreeMap", "Option", "derive", "if"];
    let mut count = 0;
    for line in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| NumPy")) {
        let last = line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        for code in last.split('`').skip(1).step_by(2) {
            for name in used(code).into_iter().filter(|name| !foreign.contains(name)) {
                assert!(names.contains(name), "`{name}` in `{code}` is no name of this library:\n{line}");
                count += 1;
            }
        }
    }
    assert!(count > 120, "the page was read: {count} names");
}
