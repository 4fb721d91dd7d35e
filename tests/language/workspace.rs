//! The crates of the workspace: which of them needs which, no test and no example is left out of `cargo test`, and the first example
//! compiles little.
//!
//! Cargo finds neither tests nor examples by itself, since they lie in folders of their own: the manifests list them.

use std::fs;
use std::path::Path;

use crate::root::root;

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The strings of the list of this name in the manifest of the workspace.
fn list(manifest: &str, name: &str) -> Vec<String> {
    let rest = manifest.split(&format!("\n{name} = [")).nth(1).unwrap_or_else(|| panic!("there is no list {name}"));
    let list = rest.split(']').next().unwrap_or_default();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The programs of a folder: its files, and `main.rs` of each folder in it that is no crate of its own.
fn programs(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "rs") {
            found.push(name);
        } else if path.join("main.rs").exists() && !path.join("Cargo.toml").exists() {
            found.push(format!("{name}/main.rs"));
        }
    }
    found
}

#[test]
fn every_program_is_listed() {
    let mut seen = 0;
    let tested = list(&read(&root().join("Cargo.toml")), "default-members");
    for folder in tested.iter().filter(|folder| *folder != ".") {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        let paths: Vec<&str> = manifest.lines().filter_map(|line| line.strip_prefix("path = ")).collect();
        let one = root().join(folder).join("main.rs").exists();
        for program in programs(&root().join(folder)) {
            // The modules of one program stand beside its main file.
            if program != "build.rs" && (!one || program == "main.rs") {
                seen += 1;
                assert!(paths.contains(&&format!("{program:?}")[..]), "{folder}/Cargo.toml does not list {program}");
            }
        }
    }
    assert!(seen > 20, "{seen} programs were found");
}

/// Those that are left out have no tests, or are compiled for long.
#[test]
fn every_crate_is_tested() {
    let manifest = read(&root().join("Cargo.toml"));
    let (members, tested) = (list(&manifest, "members"), list(&manifest, "default-members"));
    let left_out: Vec<&String> = members.iter().filter(|member| !tested.contains(member)).collect();
    assert_eq!(left_out, ["derive", "examples/files", "examples/solvers"]);
    let mut folders: Vec<String> = ["capi", "derive", "examples", "higher", "math", "tests"].map(str::to_owned).into();
    for folder in ["docs/book", "examples"] {
        for entry in fs::read_dir(root().join(folder)).expect("the folder can be read") {
            let path = entry.expect("an entry").path();
            if path.join("Cargo.toml").exists() {
                folders.push(format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy()));
            }
        }
    }
    folders.sort();
    // Firmware, the page, the site of the book and BridgeStan's client resolve their dependencies apart: `make firmware`,
    // `make web`, `make book`, `make bridgestan`.
    let mut crates = [members, list(&manifest, "exclude")].concat();
    crates.sort();
    assert_eq!(crates, folders, "the crates in folders");
}

/// The crates of the repository by their folders, each with those that it may need: those before it.
const CRATES: &[(&str, &[&str])] = &[
    ("math", &[]),
    ("derive", &[]),
    // Its unit tests need it with features.
    (".", &["polygrad-derive", "polygrad-math", "polygrad"]),
    ("higher", &["polygrad"]),
    ("capi", &["polygrad"]),
    ("docs/book/programs", &["polygrad"]),
    ("docs/book/rebuild", &[]),
    ("docs/book/site", &[]),
    ("examples", &["polygrad"]),
    ("examples/anchors", &["polygrad"]),
    ("examples/bridgestan", &[]),
    ("examples/export", &["polygrad"]),
    ("examples/files", &["polygrad"]),
    ("examples/firmware", &["polygrad-math", "polygrad"]),
    ("examples/gradbench", &["polygrad"]),
    ("examples/higher_order", &["polygrad", "polygrad-higher"]),
    ("examples/pictures", &["polygrad"]),
    ("examples/solvers", &["polygrad"]),
    ("examples/web", &["polygrad"]),
    ("tests", &["polygrad", "polygrad-higher"]),
];

/// The dependencies of a manifest that lie in a folder: the kind of each, its name, and what else the manifest says of it.
fn needed(manifest: &str) -> Vec<(String, String, String)> {
    let (mut found, mut section) = (Vec::new(), "");
    for line in manifest.lines() {
        if let Some(head) = line.strip_prefix('[') {
            section = head.trim_end_matches(']');
        } else if let Some((name, what)) = line.split_once(" = ").filter(|_| section.ends_with("dependencies"))
            && what.contains("path = ")
        {
            found.push((section.to_owned(), name.to_owned(), what.to_owned()));
        }
    }
    found
}

/// A crate needs none that extends it, a dependency of tests included: so each part is compiled, tested and published without the
/// next one. Crates that are published belong to one version.
#[test]
fn crates_need_those_below_alone() {
    let manifest = read(&root().join("Cargo.toml"));
    let all = [vec![".".to_owned()], list(&manifest, "members"), list(&manifest, "exclude")].concat();
    let mut known: Vec<String> = CRATES.iter().map(|(folder, _)| (*folder).to_owned()).collect();
    assert!(all.iter().all(|folder| known.contains(folder)) && all.len() == known.len(), "give each crate its place");
    known.clear();
    for (folder, allowed) in CRATES {
        let manifest = read(&root().join(folder).join("Cargo.toml"));
        let own = manifest.split("\nname = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a name");
        known.push(own.to_owned());
        let published = !manifest.contains("publish = false");
        let found = needed(&manifest);
        for (kind, name, what) in &found {
            assert!(allowed.contains(&&name[..]), "{folder}: {kind} has {name}, which is not in the list");
            assert!(known.contains(name), "{folder} needs {name}, which comes after it");
            assert!(name != own || kind == "dev-dependencies", "{folder} needs itself");
            let exact = kind == "dev-dependencies" || what.contains("version = \"=");
            assert!(!published || exact, "{folder}: {name} of the same version alone");
        }
        for name in *allowed {
            assert!(found.iter().any(|(_, found, _)| found == name), "{folder} no longer needs {name}");
        }
    }
    let found = needed("[dependencies]\na = \"1\"\nb = { path = \"b\" }\n[lints]\nc = { path = \"c\" }");
    assert_eq!(found.iter().map(|found| &found.1[..]).collect::<Vec<&str>>(), ["b"], "paths are found");
}

/// What the first command of the README compiles is the library, with its default features: without `-p`, cargo adds those that any
/// crate of the workspace names.
#[test]
fn small_examples_need_the_library_alone() {
    let readme = read(&root().join("README.md"));
    let command = readme.lines().find(|line| line.starts_with("cargo run"));
    assert!(command.is_some_and(|line| line.contains(" -p polygrad-examples ")), "{command:?}");
    let manifest = read(&root().join("examples/Cargo.toml"));
    let needed = manifest.split("dependencies]\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    assert_eq!(needed, Some("polygrad = { path = \"..\" }"));
}

/// The crates that are published have what a registry shows, and the licences in their packages; the others are not published.
#[test]
fn published_crates_are_complete() {
    let licences = ["LICENSE-MIT", "LICENSE-APACHE"];
    for member in [".".to_owned()].into_iter().chain(list(&read(&root().join("Cargo.toml")), "members")) {
        let folder = root().join(&member);
        let manifest = read(&folder.join("Cargo.toml"));
        let has = |line: &str| manifest.lines().any(|known| known.starts_with(line));
        if ![".", "derive", "higher", "math"].contains(&&member[..]) {
            assert!(has("publish = false"), "{member} would be published");
            continue;
        }
        for key in ["description", "license", "readme", "documentation", "rust-version"] {
            assert!(has(&format!("{key} = \"")), "{member}/Cargo.toml has no {key}");
        }
        for key in ["keywords", "categories", "include"] {
            let count = list(&manifest, key).len();
            assert!(count > 0 && (key == "include" || count <= 5), "{member}/Cargo.toml: {count} {key}");
        }
        for line in ["[package.metadata.docs.rs]", "all-features = true", "rustdoc-args = [\"--cfg\", \"docsrs\"]"] {
            assert!(has(line), "{member}/Cargo.toml has no {line}");
        }
        for licence in licences {
            assert_eq!(read(&folder.join(licence)), read(&root().join(licence)), "{member}/{licence}");
        }
        assert!(folder.join("README.md").exists(), "{member} has no README.md");
    }
}
