//! The invariants of the layout: the language names no interpreter and no kernel, no interpreter names another, and the
//! kernels, which the backend and the interpreters share, name neither interpreters nor arrays.

use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file under a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut work = vec![folder.to_path_buf()];
    while let Some(folder) = work.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                work.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines of a file that are code, with their numbers: comments may name what they like.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).expect("the file can be read");
    let numbered = text.lines().enumerate().map(|(k, line)| (k + 1, line.split("//").next().unwrap_or("").to_owned()));
    numbered.collect()
}

/// Whether a line contains a word as a whole identifier.
fn says(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(part);
        let after = line[at + word.len()..].chars().next().is_some_and(part);
        !before && !after
    })
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

const INTERPRETERS: [&str; 12] = [
    "interpreters",
    "Concrete",
    "Ast",
    "ADVal",
    "Dual",
    "Jet",
    "Shapes",
    "Sparsity",
    "Enclosure",
    "Count",
    "Transcript",
    "Watch",
];

#[test]
fn the_language_names_no_interpreter() {
    for path in sources(&root().join("src")) {
        let inside = path.strip_prefix(root().join("src")).expect("a file under src");
        // Only the user's verbs, and the list of modules with its prelude, may.
        if inside.starts_with("ad") || inside == Path::new("lib.rs") {
            continue;
        }
        let computes = inside.starts_with("backend") || inside.starts_with("kernels");
        for (number, line) in code(&path) {
            for name in INTERPRETERS {
                assert!(!says(&line, name), "{}:{number} names an interpreter: {line}", inside.display());
            }
            assert!(computes || !says(&line, "kernels"), "{}:{number} names a kernel: {line}", inside.display());
        }
    }
}

#[test]
fn no_interpreter_names_another() {
    let folder = root().join("interpreters");
    let own = |path: &Path| {
        let inside = path.strip_prefix(&folder).expect("a file under interpreters");
        let first = inside.iter().next().expect("a name").to_string_lossy().into_owned();
        first.trim_end_matches(".rs").to_owned()
    };
    let names: Vec<String> = sources(&folder).iter().map(|p| own(p)).collect();
    let types = [
        ("concrete", "Concrete"),
        ("ast", "Ast"),
        ("adval", "ADVal"),
        ("dual", "Dual"),
        ("jet", "Jet"),
        ("shapes", "Shapes"),
        ("sparsity", "Sparsity"),
        ("enclosure", "Enclosure"),
        ("count", "Count"),
        ("transcript", "Transcript"),
        ("watch", "Watch"),
    ];
    for path in sources(&folder) {
        let me = own(&path);
        if me == "mod" {
            continue;
        }
        for (number, line) in code(&path) {
            let own_or_shared = [&me[..], "scope", "level", "trips"];
            let inside = own_or_shared.iter().any(|name| says(&line, &format!("interpreters::{name}")));
            assert!(inside || !says(&line, "interpreters"), "{}:{number} looks around: {line}", path.display());
            for (module, name) in types {
                if module != me && names.iter().any(|n| n == module) {
                    assert!(!says(&line, name), "{}:{number} names another interpreter: {line}", path.display());
                }
            }
        }
    }
}

#[test]
fn kernels_are_loops_over_slices() {
    let folder = root().join("src/kernels");
    assert!(!sources(&folder).is_empty(), "the kernels are where this test looks");
    for path in sources(&folder) {
        for (number, line) in code(&path) {
            for name in INTERPRETERS.iter().chain(&["Array", "BaseTensor", "concrete", "backend"]) {
                assert!(!says(&line, name), "{}:{number} names {name}: {line}", path.display());
            }
        }
    }
}

/// The lines of a table of ARCHITECTURE.md that say how long interpreters are.
#[test]
fn interpreters_cost_what_the_map_says() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map can be read");
    let table = map.split("| interpreter | its files | lines of code |").nth(1).expect("the map has a table");
    let mut seen = 0;
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let path = root().join("interpreters").join(cells[2].trim_matches('`'));
        let files = if path.is_dir() { sources(&path) } else { vec![path] };
        let lines = files.iter().flat_map(|file| code(file)).filter(|(_, line)| !line.trim().is_empty()).count();
        let stated: usize = cells[3].parse().expect("a number of lines");
        assert!(stated.abs_diff(lines) * 10 <= lines, "{} has {lines} lines, and the map says {stated}", cells[1]);
        seen += 1;
    }
    assert!(seen > 4, "{seen} interpreters were found in the table");
}

/// The number of methods without a body, and of types, that an interpreter has is the one that is written.
#[test]
fn an_interpreter_has_as_many_methods_as_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let base = fs::read_to_string(root.join("src/base.rs")).expect("the file can be read");
    let language =
        base.split("pub trait BaseTensor").nth(1).and_then(|rest| rest.split("\n}").next()).expect("a trait");
    let required = |word: &str| language.lines().filter(|line| line.starts_with(word) && line.ends_with(';')).count();
    assert_eq!((required("    fn "), required("    type ")), (17, 1));
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the file can be read");
    assert!(base.contains("seventeen required methods and a type") && map.contains("seventeen methods and a type"));
}

#[test]
fn the_guard_can_fail() {
    assert!(says("use crate::interpreters::ADVal;", "ADVal"));
    assert!(!says("let ADValue = 1;", "ADVal"));
}
