//! The excerpts of programs on the pages of the examples: their lines stand in the programs, in this order.

use std::fs;

use crate::root::root;

/// The first line of an excerpt that the program does not have after the lines before it.
fn stranger<'a>(excerpt: &'a str, program: &str) -> Option<&'a str> {
    let mut lines = program.lines().map(str::trim);
    // What an excerpt leaves out is an ellipsis.
    let wanted = excerpt.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "// ..");
    wanted.into_iter().find(|wanted| !lines.any(|line| line == *wanted))
}

#[test]
fn excerpts_stand_in_their_programs() {
    let mut excerpts = 0;
    for entry in fs::read_dir(root().join("docs/examples")).expect("the folder can be read") {
        let page = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&page).expect("the page can be read");
        for part in text.split("<!-- from: ").skip(1) {
            let (path, rest) = part.split_once(" -->\n```rust,ignore\n").expect("an excerpt follows its marker");
            let (excerpt, _) = rest.split_once("```").expect("the block has an end");
            let program = fs::read_to_string(root().join(path)).expect("the program of an excerpt can be read");
            assert_eq!(stranger(excerpt, &program), None, "{} has a line that {path} has not", page.display());
            assert!(excerpt.lines().count() <= 40, "{} has a long excerpt of {path}", page.display());
            excerpts += 1;
        }
    }
    assert!(excerpts > 0);
}

#[test]
fn a_changed_line_is_found() {
    let program = "fn f() {\n    let x = 1;\n    x + 1\n}\n";
    assert_eq!(stranger("fn f() {\n    // ..\n    x + 1\n}", program), None);
    assert_eq!(stranger("let x = 2;", program), Some("let x = 2;"));
    assert_eq!(stranger("x + 1\nlet x = 1;", program), Some("let x = 1;"));
}
