//! The patches of the pages for contributors: what each page says of a change is what its patch does.
//!
//! Laws: a patch applies to the sources as they are, and a page states the number of files and lines of the library that its
//! patch adds. `make contributing` compiles the patched library, and uses what is added.

use std::path::Path;

use crate::root::root;
use crate::workspace::read;

/// A page and its patch.
const PATCHES: [(&str, &str); 4] = [
    ("elementwise.md", "cbrt.patch"),
    ("verb.md", "second_derivative.patch"),
    ("pass.md", "double_to_sum.patch"),
    ("layer.md", "scale.patch"),
];

/// The changes of one file: its path, and for each part the lines before and after.
struct FileChange {
    path: String,
    parts: Vec<(String, String)>,
    added: usize,
}

/// The changes of a patch, as git writes it.
fn changes(patch: &str) -> Vec<FileChange> {
    let mut files: Vec<FileChange> = Vec::new();
    // Whether the lines belong to the head of a file.
    let mut head = true;
    for line in patch.lines() {
        head |= line.starts_with("diff --git ");
        if let (true, Some(path)) = (head, line.strip_prefix("+++ b/")) {
            files.push(FileChange { path: path.into(), parts: Vec::new(), added: 0 });
            continue;
        }
        let Some(file) = files.last_mut() else { continue };
        if line.starts_with("@@") {
            file.parts.push((String::new(), String::new()));
            head = false;
            continue;
        }
        if head {
            continue;
        }
        let Some((before, after)) = file.parts.last_mut() else { continue };
        let text = line.get(1..).unwrap_or_default();
        if !line.starts_with('+') {
            before.push_str(text);
            before.push('\n');
        }
        if !line.starts_with('-') {
            after.push_str(text);
            after.push('\n');
        }
        file.added += usize::from(line.starts_with('+'));
    }
    files
}

fn is_library(path: &str) -> bool {
    ["src/", "interpreters/", "math/"].iter().any(|folder| path.starts_with(folder))
}

/// The first change of a patch that does not fit the sources.
fn misfit(files: &[FileChange], sources: &Path) -> Option<String> {
    for file in files {
        let path = sources.join(&file.path);
        let text = if path.exists() { read(&path) } else { String::new() };
        if let Some((before, _)) = file.parts.iter().find(|(before, _)| !text.contains(before)) {
            return Some(format!("{} lacks these lines:\n{before}", file.path));
        }
    }
    None
}

#[test]
fn patches_fit_the_sources_and_their_pages() {
    let folder = root().join("docs/contributing");
    for (page, patch) in PATCHES {
        let files = changes(&read(&folder.join("patches").join(patch)));
        if let Some(misfit) = misfit(&files, root()) {
            panic!("{patch}: make it again, since {misfit}");
        }
        let library: Vec<&FileChange> = files.iter().filter(|file| is_library(&file.path)).collect();
        let (count, lines) = (library.len(), library.iter().map(|file| file.added).sum::<usize>());
        let text = read(&folder.join(page)).split_whitespace().collect::<Vec<&str>>().join(" ");
        let said = format!("(patches/{patch})");
        assert!(text.contains(&said), "{page} does not link to {patch}");
        let said = format!("{count} files and {lines} lines of the library");
        assert!(text.contains(&said), "{page} must say \"{said}\", as {patch} has");
    }
}

/// A patch that does not fit is seen, and lines are counted.
#[test]
fn misfits_are_seen() {
    let patch = "diff --git a/Makefile b/Makefile\n--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,3 @@\n no such line\n+more\n+still more\n";
    let files = changes(patch);
    assert_eq!((files.len(), files[0].added), (1, 2));
    assert!(misfit(&files, root()).is_some_and(|words| words.contains("no such line")));
    assert_eq!(files[0].parts[0].1, "no such line\nmore\nstill more\n");
    assert!(is_library("src/lib.rs") && !is_library("tests/language/main.rs"));
}
