//! Phrases that a native writer would not use stay rare in sources and pages.
//!
//! Law: the number of phrases does not grow. "There is no such file" is good English and counts, too, since the test
//! reads words and not sentences; so the bound is not 0.

use std::fs;

use crate::layering::modules;
use crate::links::pages;
use crate::root::root;

/// The largest number of phrases.
const MOST: usize = 5;

/// Phrases, each a list of words; `*` is any word.
const PHRASES: [&[&str]; 10] = [
    &["is", "none"],
    &["are", "none"],
    &["is", "no", "*"],
    &["are", "no", "*"],
    &["of", "its", "own"],
    &["inside", "of"],
    &["so", "many"],
    &["of", "which"],
    &["likewise"],
    &["none", "of"],
];

/// The phrases of a text. Words of a phrase have one space between them, so a line break hides a phrase.
fn phrases(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        for (at, phrase) in (0..words.len()).flat_map(|at| PHRASES.map(|phrase| (at, phrase))) {
            let Some(part) = words.get(at..at + phrase.len()) else { continue };
            let last = phrase.len() - 1;
            // Punctuation may be before the first word and after the last one.
            let trimmed = |k: usize| match (k, k == last) {
                (0, true) => part[k].trim_matches(|c| !is_word(c)),
                (0, false) => part[k].trim_start_matches(|c| !is_word(c)),
                (_, true) => part[k].trim_end_matches(|c| !is_word(c)),
                (_, false) => part[k],
            };
            let fits = |k: usize| match phrase[k] {
                "*" => part[k].starts_with(|c: char| c.is_ascii_alphabetic()),
                word => trimmed(k).eq_ignore_ascii_case(word),
            };
            if (0..phrase.len()).all(fits) {
                found.push(part.join(" "));
            }
        }
    }
    found
}

#[test]
fn phrases_of_no_native_writer_stay_rare() {
    let pages = pages(&root().join("docs")).into_iter().chain([root().join("README.md")]);
    let files = modules().into_iter().map(|(path, _)| path).chain(pages);
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        found.extend(phrases(&text).into_iter().map(|phrase| format!("{}: {phrase}", path.display())));
    }
    assert!(
        found.len() <= MOST,
        "{} phrases where {MOST} are allowed; say it in other words, such as `is not a` for `is no`, `its own` or \
         `separate` for `of its own`, `whose` for `of which`:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn phrases_are_seen() {
    let text =
        "/// (Likewise, a list of its own.) There are none: this is no `x`, so none of\n/// these. Tests are no good";
    assert_eq!(phrases(text), ["(Likewise,", "of its own.)", "are none:", "none of", "are no good"]);
}
