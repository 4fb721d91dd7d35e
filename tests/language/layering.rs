//! The invariants of the layout: a room names rooms below it, the language names no interpreter and no kernel, no
//! interpreter names another, and the kernels name neither interpreters nor arrays; and the same of higher-order programs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root::root;

/// The folders with the sources of the library: the core, its interpreters, and the crates that extend it.
pub(crate) const FOLDERS: [&str; 3] = ["src", "interpreters", HIGHER];

/// Higher-order programs, a crate.
const HIGHER: &str = "higher/src";

/// Every Rust file under a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
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

const INTERPRETERS: [&str; 14] = [
    "interpreters",
    "Concrete",
    "Ast",
    "ADVal",
    "Dual",
    "Jet",
    "Shapes",
    "Sparsity",
    "Enclosure",
    "Rounding",
    "Count",
    "Transcript",
    "Watch",
    "Tower",
];

#[test]
fn the_language_names_no_interpreter() {
    for path in sources(&root().join("src")) {
        let inside = path.strip_prefix(root().join("src")).expect("a file under src");
        // Only the user's verbs, and the lists of names that users need, may.
        if inside.starts_with("ad") || inside == Path::new("lib.rs") || inside == Path::new("prelude.rs") {
            continue;
        }
        let computes = ["backend", "emission", "kernels"].iter().any(|room| inside.starts_with(room));
        for (number, line) in code(&path) {
            for name in INTERPRETERS {
                assert!(!says(&line, name), "{}:{number} names an interpreter: {line}", inside.display());
            }
            assert!(computes || !says(&line, "kernels"), "{}:{number} names a kernel: {line}", inside.display());
        }
    }
}

/// The modules beside the interpreters that several of them share.
const SHARED: [&str; 8] = ["guarded", "level", "scope", "scattered", "span", "trips", "bounded", "tower"];

/// The modules that choose between interpreters: the list, and the tower of both modes of differentiation.
const CHOOSES: [&str; 2] = ["mod", "tower"];

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
        ("rounding", "Rounding"),
        ("count", "Count"),
        ("transcript", "Transcript"),
        ("watch", "Watch"),
    ];
    for path in sources(&folder) {
        let me = own(&path);
        if CHOOSES.contains(&&*me) {
            continue;
        }
        for (number, line) in code(&path) {
            let mut rest = &line[..];
            while let Some((_, named)) = rest.split_once("interpreters") {
                let first = named.trim_start_matches("::").split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
                let own = first == me || SHARED.contains(&first);
                assert!(own, "{}:{number} looks around: {line}", path.display());
                rest = named;
            }
            for (module, name) in types {
                if module != me && names.iter().any(|n| n == module) {
                    assert!(!says(&line, name), "{}:{number} names another interpreter: {line}", path.display());
                }
            }
        }
    }
}

/// Of higher-order programs the language names neither interpreters, nor instances and verbs, which come after it; an instance
/// names no interpreter of tensors but the tower of levels, and no verb.
#[test]
fn higher_order_programs_go_one_way() {
    let (folder, mut seen) = (root().join(HIGHER), [0; 3]);
    for path in sources(&folder) {
        let inside = path.strip_prefix(&folder).expect("a file of the folder");
        let room = ["interpreters", "verbs"].iter().position(|room| inside.starts_with(room)).map_or(0, |k| k + 1);
        seen[room] += 1;
        // Primitives have their derivatives by an interpreter of each mode, which one file chooses.
        if room == 2 || inside == Path::new("interpreters/primitives.rs") {
            continue;
        }
        let allowed: &[&str] = match room {
            0 if inside == Path::new("lib.rs") => &["interpreters", "verbs"],
            0 => &[],
            _ => &["interpreters", "Tower"],
        };
        for name in INTERPRETERS.iter().chain(&["verbs"]).filter(|name| !allowed.contains(name)) {
            for (number, line) in code(&path) {
                assert!(!says(&line, name), "{}:{number} names {name}: {line}", path.display());
            }
        }
    }
    assert!(seen.iter().all(|files| *files > 2), "the files are where this test looks: {seen:?}");
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

/// The rooms, from the ground up: the modules of `src/`, and the interpreters. A room names rooms before its own.
const ROOMS: [&str; 40] = [
    "escape",
    "source",
    "errors",
    "shape",
    "hash",
    "order",
    "release",
    "dtype",
    "recorded",
    "array",
    "ops",
    "taps",
    "cost",
    "program",
    "rewrite",
    "base",
    "checkpoint",
    "text",
    "passes",
    "kernels",
    "tensor",
    "tree",
    "linalg",
    "nn",
    "stats",
    "backend",
    "report",
    "interpreters",
    "export",
    "import",
    "emission",
    "pjrt",
    "ad",
    "random",
    "absent",
    "optim",
    "manifold",
    "guide",
    "lib",
    "prelude",
];

/// The arrows upwards that stay, each from a room to one above it, with the reason.
const UPWARDS: [(&str, &str, &str); 5] = [
    ("ops", "base", "a row of a table says its derivative in the language"),
    ("program", "base", "a program is run by an instance of the language, and recorded by one"),
    ("program", "rewrite", "a program under construction asks the rules for something simpler"),
    ("rewrite", "base", "rules compute operations of known numbers, as an instance of the language does"),
    ("tensor", "tree", "loops carry trees of tensors"),
];

/// The rooms of the backend in the order of compilation. Those of the last row are the ways in and the reports.
const BACKEND: [&str; 15] = [
    "ir",
    "memory",
    "lower",
    "plan",
    "trees",
    "tile",
    "register",
    "native_code",
    "codegen",
    "run",
    "explain",
    "traffic",
    "outline",
    "lent",
    "mod",
];

/// The first of the last row of [`BACKEND`], whose files may name each other.
const REPORTS: usize = 10;

/// The code of a file as one text, without comments, where links of the documentation lead, and what is compiled for
/// tests alone.
pub(crate) fn text(path: &Path) -> String {
    let is_link = |line: &str| line.trim_start().starts_with("#[doc = \"[");
    let lines: Vec<String> = code(path).into_iter().map(|(_, line)| line).filter(|line| !is_link(line)).collect();
    without_tests(&lines.join("\n"))
}

/// A text of code without what is compiled for tests alone.
pub(crate) fn without_tests(code: &str) -> String {
    let mut rest = code;
    let mut kept = String::new();
    while let Some((before, test)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        let mut depth = 0;
        let end = test.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0 && matches!(c, ';' | '}' | ',')
        });
        rest = end.map_or("", |(at, _)| &test[at + 1..]);
    }
    kept + rest
}

/// The path of the module that a file is, below the crate.
fn module(inside: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        inside.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
    if path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// The paths that begin at the crate, or at a module around this one, from the crate on; of each the first segments. A macro
/// that is named at the crate belongs to no room, and is left out.
fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, word) in text.match_indices("crate::").chain(text.match_indices("super::")) {
        if text[..at].chars().next_back().is_some_and(|c| part(c) || c == ':') {
            continue;
        }
        let mut path =
            if word == "crate::" { Vec::new() } else { module.split_last().map_or(&[][..], |m| m.1).to_vec() };
        let mut rest = &text[at + word.len()..];
        while let Some(outer) = rest.strip_prefix("super::") {
            path.pop();
            rest = outer;
        }
        while let end @ 1.. = rest.find(|c| !part(c)).unwrap_or(rest.len()) {
            path.push(rest[..end].to_owned());
            let Some(next) = rest[end..].strip_prefix("::") else {
                rest = &rest[end..];
                break;
            };
            rest = next;
        }
        assert!(!path.is_empty() || !rest.starts_with('{'), "a group begins at the crate: write a `use` for each room");
        if path.len() > 1 || !rest.starts_with('!') {
            found.push(path);
        }
    }
    found
}

/// Every file that is not a test, with its module: that of the core, below which the crates that extend it have their names.
pub(crate) fn modules() -> Vec<(PathBuf, Vec<String>)> {
    let mut all = Vec::new();
    for (folder, above) in FOLDERS.into_iter().zip([None, Some("interpreters"), Some("higher")]) {
        for path in sources(&root().join(folder)) {
            let inside = path.strip_prefix(root().join(folder)).expect("a file of the folder");
            let test = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
            if !inside.iter().any(test) {
                let module = above.into_iter().map(str::to_owned).chain(module(inside)).collect();
                all.push((path, module));
            }
        }
    }
    all
}

#[test]
fn rooms_name_only_rooms_below() {
    let place = |room: &str| ROOMS.iter().position(|r| *r == room);
    let mut used = [false; UPWARDS.len()];
    let mut wrong = Vec::new();
    for (path, module) in modules().into_iter().filter(|(path, _)| !path.starts_with(root().join(HIGHER))) {
        let room = &module[0];
        let own = place(room).unwrap_or_else(|| panic!("{room} is no room: give it its place in the list"));
        for named in paths(&text(&path), &module) {
            // What is not in a room is an item of the crate, which lists what users need.
            let other = named.first().map_or("lib", |first| if place(first).is_some() { first } else { "lib" });
            if place(other) <= Some(own) {
                continue;
            }
            match UPWARDS.iter().position(|(from, to, _)| from == room && *to == other) {
                Some(listed) => used[listed] = true,
                None => wrong.push(format!("{} names {}", path.display(), named.join("::"))),
            }
        }
    }
    assert!(wrong.is_empty(), "rooms name rooms above them:\n{}", wrong.join("\n"));
    for ((from, to, _), used) in UPWARDS.iter().zip(used) {
        assert!(used, "{from} no longer names {to}: take the arrow from the list");
    }
}

#[test]
fn the_backend_goes_one_way() {
    let place = |room: &str| BACKEND.iter().position(|r| *r == room);
    let (mut wrong, mut files) = (Vec::new(), 0);
    for (path, module) in modules() {
        if module[0] != "backend" {
            continue;
        }
        files += 1;
        let room = module.get(1).map_or("mod", |room| &room[..]);
        let own =
            place(room).unwrap_or_else(|| panic!("{room} is no room of the backend: give it its place in the list"));
        for named in paths(&text(&path), &module) {
            if named.first().is_none_or(|first| first != "backend") {
                continue;
            }
            // An item of the backend itself is of its way in.
            let other = named.get(1).and_then(|other| place(other)).or(place("mod"));
            if other > Some(own) && own < REPORTS {
                wrong.push(format!("{} names {}", path.display(), named.join("::")));
            }
        }
    }
    assert!(files > BACKEND.len(), "the backend is where this test looks");
    assert!(wrong.is_empty(), "the backend names what comes later:\n{}", wrong.join("\n"));
}

/// The cases that are said not to occur in matches on steps: what is said of each.
fn impossible_steps(text: &str) -> Vec<String> {
    // Of each open brace: where it is, and whether it opens the cases of a match.
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut said: Vec<(usize, usize)> = Vec::new();
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        if c == '{' {
            let head = text[..at].rsplit([';', '{', '}']).next().unwrap_or("");
            open.push((at, says(head, "match")));
        } else if c == '}' {
            let Some((from, cases)) = open.pop() else { continue };
            // The patterns, and nothing that stands in braces within.
            let (mut depth, mut own) = (0, String::new());
            for c in text[from + 1..at].chars() {
                depth -= i32::from(c == '}');
                if depth == 0 {
                    own.push(c);
                }
                depth += i32::from(c == '{');
            }
            if cases && own.split("=>").any(|case| says(case, "Step") && case.contains("Step::")) {
                said.push((from, at));
            }
        }
    }
    for (at, _) in text.match_indices("unreachable!") {
        if said.iter().any(|(from, to)| (*from..*to).contains(&at)) {
            found.push(text[at..].split(['(', ')']).nth(1).unwrap_or("").trim_matches('"').to_owned());
        }
    }
    found
}

/// What may be said of a step that cannot be met: it is known by its number, in the room that has just made it.
const KNOWN_STEPS: [&str; 1] = ["the step is a group"];

/// A step is complete as soon as there is one: no phase meets a step of another phase.
#[test]
fn no_step_is_impossible() {
    let mut known: Vec<&str> = Vec::new();
    for (path, module) in modules() {
        if module[0] == "backend" {
            for said in impossible_steps(&text(&path)) {
                let listed = KNOWN_STEPS.iter().find(|known| **known == said);
                known.extend(listed);
                assert!(listed.is_some(), "{}: a match on steps has a case that cannot occur: {said}", path.display());
            }
        }
    }
    known.sort_unstable();
    assert_eq!(known, KNOWN_STEPS, "what is no longer said must leave the list");
}

/// The lines of a table of ARCHITECTURE.md that say how long interpreters are.
#[test]
fn interpreters_cost_what_the_map_says() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map can be read");
    let table = map.split("| interpreter | its files | lines |").nth(1).expect("the map has a table");
    let mut seen = 0;
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let path = root().join(cells[2].split('`').nth(1).expect("a path"));
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
    let root = root();
    let base = fs::read_to_string(root.join("src/base/mod.rs")).expect("the file can be read");
    let required = |trait_: &str, text: &str| {
        let body = text.split(trait_).nth(1).and_then(|rest| rest.split("\n}").next()).expect("a trait");
        let of = |word: &str| body.lines().filter(|line| line.starts_with(word) && line.ends_with(';')).count();
        (of("    fn "), of("    type "))
    };
    assert_eq!(required("pub trait BaseTensor", &base), (16, 0));
    let stage = fs::read_to_string(root.join("src/base/stage.rs")).expect("the file can be read");
    assert_eq!(required("pub trait Staging", &stage), (0, 0));
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the file can be read");
    assert!(base.contains("sixteen required methods") && map.contains("sixteen methods"));
}

#[test]
fn the_guard_can_fail() {
    assert!(says("use crate::interpreters::ADVal;", "ADVal"));
    assert!(!says("let ADValue = 1;", "ADVal"));
    let module = ["backend".to_owned(), "plan".to_owned(), "halo".to_owned()];
    let named = |text: &str| paths(text, &module).iter().map(|path| path.join("::")).collect::<Vec<String>>();
    assert_eq!(named("use crate::ops::{Linear, View};"), ["ops"]);
    assert_eq!(named("use super::super::tile::{self, Arg}; super::cut(x)"), ["backend::tile", "backend::plan::cut"]);
    assert_eq!(named("$crate::einsum!(x), crate::DType::F64"), ["DType::F64"]);
    assert_eq!(impossible_steps("match s { Step::Loop(l) => f(l), _ => unreachable!(\"never\") }"), ["never"]);
    assert!(impossible_steps("match s { Step::Loop(l) => f(l) }\nmatch t { A => unreachable!() }").is_empty());
    assert!(impossible_steps("match s { CompiledStep::Loop(l) => f(l), _ => unreachable!() }").is_empty());
}
