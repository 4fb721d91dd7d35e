//! The crates of the workspace: no test and no example is left out of `cargo test`, and the first example compiles little.
//!
//! Cargo finds neither tests nor examples by itself, since they lie in folders of their own: the manifests list them.

use std::fs;
use std::path::Path;

use crate::root::root;

fn read(path: &Path) -> String {
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
    let mut folders: Vec<String> = vec!["derive".into(), "math".into(), "tests".into(), "examples".into()];
    for folder in ["docs/book", "examples"] {
        for entry in fs::read_dir(root().join(folder)).expect("the folder can be read") {
            let path = entry.expect("an entry").path();
            if path.join("Cargo.toml").exists() {
                folders.push(format!("{folder}/{}", path.file_name().expect("a name").to_string_lossy()));
            }
        }
    }
    folders.sort();
    // Firmware, the page and the site of the book resolve their dependencies apart: `make firmware`, `make web`, `make book`.
    let mut crates = [members, list(&manifest, "exclude")].concat();
    crates.sort();
    assert_eq!(crates, folders, "the crates in folders");
}

/// What the first command of the README compiles is the library.
#[test]
fn small_examples_need_the_library_alone() {
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
        if ![".", "derive", "math"].contains(&&member[..]) {
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
