//! The tables of the documentation: what they say to write exists, and takes as many arguments.
//!
//! Law: each name in a code span of a table is declared in the sources, and each call has the number of arguments of a
//! declaration of its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::root::root;

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

/// The parts between commas of a text that begins with a bracket, and what follows its closing one.
fn parts(text: &str) -> (Vec<&str>, &str) {
    let (mut found, mut depth, mut start, mut before) = (Vec::new(), 0, 1, ' ');
    for (at, c) in text.char_indices() {
        let closes = ")]}".contains(c) || (c == '>' && before != '-' && before != '=');
        depth += i32::from("([{<".contains(c)) - i32::from(closes);
        if (depth == 1 && c == ',') || depth == 0 {
            found.push(text[start..at].trim());
            start = at + 1;
        }
        if depth == 0 {
            found.retain(|part| !part.is_empty());
            return (found, &text[at + 1..]);
        }
        before = c;
    }
    (found, "")
}

/// The names of a verb and of its form with data, each with the numbers of its arguments, if a row of verbs begins with this
/// word: `grad, grad_with: ..` of the macro `verbs`, or `grad_with [..] ..` of the macro `forms`.
fn verb_row(word: &str, after: &str) -> Vec<(String, Vec<usize>)> {
    // The groups in brackets at the start of a text, and what follows them.
    fn groups(mut text: &str) -> (usize, &str) {
        let mut count = 0;
        while text.trim_start().starts_with('[') {
            (text, count) = (parts(text.trim_start()).1, count + 1);
        }
        (count, text.trim_start())
    }
    let both = |verb: &str, takes: &[usize], with_data: &[usize]| {
        vec![(verb.to_owned(), takes.to_vec()), (format!("{verb}_with"), with_data.to_vec())]
    };
    if let Some(verb) = word.strip_suffix("_with").filter(|_| after.starts_with(" [")) {
        let (count, rest) = groups(after);
        if count < 3 || !rest.starts_with("(f: ") {
            return Vec::new();
        }
        let takes = parts(rest).0.len() + count - 3;
        return both(verb, &[takes], &[takes + 1]);
    }
    let Some(row) = after.strip_prefix(&format!(", {word}_with: \"")) else { return Vec::new() };
    let section = |name: &str| {
        let rest = groups(row.split_once(name)?.1).1;
        let arguments = parts(rest.strip_prefix('(').map(|_| rest)?);
        Some((arguments.0.len() + usize::from(rest.starts_with("([")), arguments.1))
    };
    let Some((staged, rest)) = section("staged ") else { return Vec::new() };
    // A constructor of `Jit` takes the function, and what stands before the argument.
    let (function, jit) = (1 + staged + usize::from(rest.starts_with(" {[S] given")), staged);
    let plain = section("plain {").filter(|_| !row.split("staged").next().unwrap_or("").contains("plain {}"));
    let plain = plain.map_or(function, |(count, _)| 1 + count);
    both(word, &[plain, function, jit], &[plain + 1, function + 1, jit])
}

/// What the sources declare.
#[derive(Default)]
struct Declared {
    names: BTreeSet<String>,
    /// How many arguments functions of a name take beside the receiver, and whether there is one.
    arities: BTreeMap<String, BTreeSet<(usize, bool)>>,
}

impl Declared {
    /// Every name that a source declares, or that a row of a table has.
    fn read(&mut self, text: &str) {
        for (before, word, after) in words(text) {
            let keywords = ["fn ", "struct ", "enum ", "trait ", "type ", "mod ", "macro_rules! "];
            let is_row = [" => ", " of "].iter().any(|k| after.starts_with(k));
            // A variant where it is used.
            let is_variant = before.ends_with("::") && word.starts_with(|c: char| c.is_ascii_uppercase());
            if keywords.iter().any(|k| before.ends_with(k)) || is_row || is_variant {
                self.names.insert(word.to_owned());
            }
            if before.ends_with("fn ") {
                let rest = if after.starts_with('<') { parts(after).1 } else { after };
                if rest.starts_with('(') {
                    let takes = parts(rest).0;
                    let receiver = takes.first().is_some_and(|first| {
                        let first = first.trim_start_matches('&').trim_start_matches("mut ");
                        first == "self" || first.starts_with("self:")
                    });
                    let count = takes.len() - usize::from(receiver);
                    self.arities.entry(word.to_owned()).or_default().insert((count, receiver));
                }
            }
            for (name, takes) in verb_row(word, after) {
                self.names.insert(name.clone());
                self.arities.entry(name).or_default().extend(takes.into_iter().map(|count| (count, false)));
            }
        }
    }

    /// What is wrong with the name or the call at a place of a piece of code.
    fn fault(&self, code: &str, (before, word, after): (&str, &str, &str)) -> Option<String> {
        let called = after.starts_with('(') || after.starts_with('!') || after.starts_with("::");
        let first = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_name = first && (called || before.ends_with("::") && !before.ends_with("::<") || word == code);
        if !is_name || FOREIGN.contains(&word) {
            return None;
        }
        if !self.names.contains(word) {
            return Some(format!("`{word}` is no name of this library"));
        }
        let rest = if after.starts_with("::<") { parts(&after[2..]).1 } else { after };
        let arities = self.arities.get(word).filter(|_| rest.starts_with('('))?;
        let count = parts(rest).0.len();
        // A path may give the receiver as an argument.
        let fits = |(takes, receiver): &(usize, bool)| {
            count == *takes || (*receiver && before.ends_with("::") && count == takes + 1)
        };
        (!arities.iter().any(fits)).then(|| format!("`{word}` is called with {count} arguments, but takes {arities:?}"))
    }
}

/// Names of other crates and of the language, and of parameters in signatures.
const FOREIGN: &[&str] = &[
    "A",
    "B",
    "BTreeMap",
    "CscMatrix",
    "CsrMatrix",
    "From",
    "I",
    "Option",
    "SparseColMat",
    "SparseRowMat",
    "SparsityPattern",
    "SymbolicSparseColMat",
    "SymbolicSparseRowMat",
    "T",
    "Vec",
    "_axis",
    "_keep",
    "csv",
    "derive",
    "f32",
    "f64",
    "from",
    "go",
    "if",
    "nalgebra_sparse",
    "npyz",
    "println",
    "rand",
    "rand_distr",
    "serde",
    "try_from_pattern_and_values",
    "val_mut",
    "values_mut",
];

/// The files with an ending in a folder and below it.
fn files(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
}

fn sources() -> Declared {
    let root = root();
    let mut declared = Declared::default();
    let mut paths = Vec::new();
    ["src", "derive", "math", "interpreters", "higher/src", "capi/src"]
        .iter()
        .for_each(|dir| files(&root.join(dir), "rs", &mut paths));
    paths.iter().for_each(|path| declared.read(&fs::read_to_string(path).expect("a source")));
    // An example is named by its file, or by the folder of its `main.rs`.
    let mut examples = Vec::new();
    files(&root.join("examples"), "rs", &mut examples);
    let named = |path: &PathBuf| match path.ends_with("main.rs") {
        true => path.parent()?.file_name().map(|name| name.to_string_lossy().into_owned()),
        false => path.file_stem().map(|stem| stem.to_string_lossy().into_owned()),
    };
    declared.names.extend(examples.iter().filter_map(named));
    declared
}

/// The code spans of a line of a table; of pages of names those of the last column, as others are of other libraries.
fn spans<'a>(line: &'a str, page: &Path) -> impl Iterator<Item = &'a str> {
    let of = if ["names.md", "random.md"].iter().any(|name| page.ends_with(name)) {
        line.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default()
    } else {
        line
    };
    of.split('`').skip(1).step_by(2)
}

#[test]
fn what_tables_say_to_write_exists() {
    let declared = sources();
    let docs = root().join("docs");
    let mut pages = vec![docs.join("higher_order.md")];
    files(&docs.join("guide"), "md", &mut pages);
    let (mut count, mut faults) = (0, Vec::new());
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        for line in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| NumPy")) {
            for code in spans(line, page).filter(|code| !code.contains('/')) {
                count += 1;
                let fault =
                    |found| declared.fault(code, found).map(|why| format!("{}: `{code}`: {why}", page.display()));
                faults.extend(words(code).into_iter().filter_map(fault));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 250, "the pages were read: {count} pieces of code");
}

/// The operations that the page on exports says are written stand in the sources of the exporter.
#[test]
fn what_is_exported_is_as_the_page_says() {
    let root = root();
    let mut paths = Vec::new();
    files(&root.join("src/export"), "rs", &mut paths);
    let code: String = paths.iter().map(|path| fs::read_to_string(path).expect("a source")).collect();
    // Names of operations are spelled with and without underscores.
    let plain = |word: &str| word.replace('_', "").to_lowercase();
    let known: BTreeSet<String> = words(&code).into_iter().map(|(_, word, _)| plain(word)).collect();
    let page = fs::read_to_string(root.join("docs/export.md")).expect("the page on exports");
    let table = page.split("## How each operation is written").nth(1).expect("a table").split("\n## ").next();
    let rows = table.unwrap_or_default().lines().filter(|line| line.starts_with("| "));
    let mut count = 0;
    for line in rows.skip(1) {
        for code in line.rsplit(" | ").next().unwrap_or_default().split('`').skip(1).step_by(2) {
            let is_word = code.chars().all(|c| c.is_alphanumeric() || c == '_');
            assert!(!is_word || known.contains(&plain(code)), "`{code}` is not written:\n{line}");
            count += usize::from(is_word);
        }
    }
    assert!(count > 60, "the table was read: {count} names");
}

#[test]
fn faults_of_tables_are_seen() {
    let declared = sources();
    let seen = |code: &str| words(code).into_iter().any(|found| declared.fault(code, found).is_some());
    let wrong = ["rng.below(n, m, k)", "x.no_such(1)", "no_such", "grad(f, &x, y, z)", "optim::NoSuch", "x.top_k(k)"];
    assert!(wrong.iter().all(|code| seen(code)), "{:?}", wrong.map(seen));
    let right = ["rng.normal([n, m], mean, sd)", "x.sum()", "grad(f, &x)", "optim::Adam", "x.cast::<f32>()", "a + b"];
    assert!(!right.iter().any(|code| seen(code)), "{:?}", right.map(seen));
}
