//! The format strings of the sources, and the messages that can come from them.

use std::fs;
use std::path::PathBuf;

/// Every Rust file under a folder.
pub(crate) fn sources(folder: PathBuf, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            sources(path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The string literals of a file, without those in comments.
pub(crate) fn literals(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let (code, mut out) = (code.join("\n"), Vec::new());
    let mut rest = code.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\'' && rest.next_if_eq(&'"').is_some() {
            rest.next();
        } else if c == '"' {
            let mut literal = String::new();
            while let Some(c) = rest.next().filter(|c| *c != '"') {
                match (c, rest.peek()) {
                    // A line that goes on below, without the indentation there.
                    ('\\', Some('\n')) => while rest.next_if(|c| c.is_whitespace()).is_some() {},
                    ('\\', Some(_)) => literal.extend(rest.next()),
                    (c, _) => literal.push(c),
                }
            }
            out.push(literal);
        }
    }
    out
}

/// Whether a message can come from a format string.
pub(crate) fn comes_from(message: &str, format: &str) -> bool {
    let mut rest = message;
    for (k, piece) in format.split('{').enumerate() {
        let fixed = if k == 0 { piece } else { piece.split_once('}').map_or("", |(_, fixed)| fixed) };
        match rest.find(fixed) {
            Some(at) if k > 0 || at == 0 => rest = &rest[at + fixed.len()..],
            Some(_) | None => return false,
        }
    }
    true
}
