//! The pictures of the pages "Tasks" of the book: `docs/pictures/task_*.svg` are what the example `tasks` draws. `make bless` writes them.
//!
//! Law: a function that a page and its drawing both have is the same, up to layout.

use std::fs;

use super::pictures::assert_drawn;
use crate::root::root;

#[allow(dead_code)]
#[path = "../../examples/pictures/tasks.rs"]
mod tasks;

#[test]
fn the_pictures_of_the_tasks_are_as_drawn() {
    for (name, draw) in tasks::PICTURES {
        assert_drawn(name, &draw().expect("a picture"));
    }
}

/// The functions of a text that begin in this column, by their names, without what layout adds.
fn functions(text: &str, column: usize) -> Vec<(String, String)> {
    let indent = " ".repeat(column);
    let (head, end) = (format!("{indent}fn "), format!("{indent}}}"));
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(rest) = line.strip_prefix(&head) else { continue };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let body: Vec<&str> = lines.by_ref().take_while(|line| **line != end).collect();
        let whole = format!("{line}{}", body.concat());
        let dense: String = whole.split_whitespace().collect();
        found.push((name, dense.replace(",)", ")").replace(",}", "}")));
    }
    found
}

#[test]
fn pages_and_pictures_have_the_same_functions() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let source = read("examples/pictures/tasks.rs");
    for (name, _) in tasks::PICTURES {
        let page = name.strip_prefix("task_").expect("the name of a page");
        let from =
            source.find(&format!("\nfn {page}() -> Drawn {{")).unwrap_or_else(|| panic!("{page} has no drawing"));
        let drawing = &source[from..from + source[from..].find("\n}\n").expect("its end")];
        let path = format!("docs/tasks/{page}.md");
        let told = functions(&read(&path), 0);
        let mut common = 0;
        for (function, drawn) in functions(drawing, 4) {
            for (_, text) in told.iter().filter(|(other, _)| *other == function) {
                assert_eq!(*text, drawn, "`{function}` of {path} and of its picture differ");
                common += 1;
            }
        }
        // These two pages say in words what their pictures show.
        assert!(common > 0 || ["save", "test_derivative"].contains(&page), "{path} has no function of its picture");
    }
}
