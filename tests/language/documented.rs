//! Every public item has an example in its documentation.
//!
//! Items are found by their text: what is `pub`, and the functions of a trait that is `pub`. The lint `unreachable_pub`
//! warns of what is `pub` and out of reach. The examples themselves run as tests of the documentation.

use std::fs;

use crate::layering::{modules, without_tests};
use crate::root::root;

/// Files whose items no program names, with the reason.
const UNNAMED: &[(&str, &str)] = &[
    (
        "src/lib.rs",
        "the hidden modules `internals`, for the tests of this crate, and `seam`, for a crate that extends it",
    ),
    ("src/release.rs", "the hidden module `seam`"),
    ("interpreters/scattered.rs", "the hidden module `seam`"),
    ("src/tensor/letters.rs", "the hidden module that the code of the macro `einsum!` calls"),
];

/// Items without an example, with the reason.
const WITHOUT: &[(&str, &str)] = &[("Sealed", "a trait in a private module, so that no other type is an element type")];

/// What stands above an item.
#[derive(Clone, Copy, Default)]
struct Above {
    example: bool,
    hidden: bool,
}

/// The name of the item that a line begins: one that is `pub`, or a function of a trait.
fn item(line: &str, in_trait: bool) -> Option<&str> {
    let public = line.strip_prefix("pub ");
    let mut words = public.unwrap_or(line).split_whitespace().skip_while(|word| *word == "unsafe").peekable();
    let mut kind = words.next()?;
    if kind == "const" && words.peek() == Some(&"fn") {
        kind = words.next()?;
    }
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static", "union"];
    let counts = if public.is_some() { kinds.contains(&kind) } else { in_trait && kind == "fn" };
    let name = words.next().filter(|_| counts)?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The items of a text, with what stands above each.
fn items(text: &str) -> Vec<(&str, Above)> {
    let (mut found, mut above, mut depth, mut of_trait) = (Vec::new(), Above::default(), 0, None);
    for line in text.lines() {
        let (code, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        let opens = code.matches('[').count() as i32 - code.matches(']').count() as i32;
        if depth > 0 {
            above.example |= code.contains("```");
            depth += opens;
        } else if code.starts_with("///") {
            above.example |= code.contains("```");
        } else if code.starts_with("#[") || code.starts_with("$(#[") {
            // The documentation of a row of a table is written where the table is.
            above.example |= code.starts_with("$(#[");
            above.hidden |= code.contains("doc(hidden)");
            depth = opens;
        } else {
            let in_trait = of_trait.is_some_and(|own| indent == own + 4);
            found.extend(item(code, in_trait).map(|name| (name, above)));
            if code.starts_with("pub trait ") && !code.ends_with("{}") {
                of_trait = Some(indent);
            } else if code.starts_with('}') && of_trait == Some(indent) {
                of_trait = None;
            }
            above = Above::default();
        }
    }
    found
}

#[test]
fn every_public_item_has_an_example() {
    let (mut seen, mut without) = (0, Vec::new());
    for (path, _) in modules() {
        let file = path.strip_prefix(root()).expect("a file of the project").display().to_string().replace('\\', "/");
        if UNNAMED.iter().any(|(unnamed, _)| *unnamed == file) {
            continue;
        }
        let text = without_tests(&fs::read_to_string(&path).expect("a file of the project"));
        for (name, above) in items(&text) {
            seen += 1;
            if !above.example && !above.hidden && !WITHOUT.iter().any(|(allowed, _)| *allowed == name) {
                without.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(seen > 1700, "{seen} items were found");
    assert!(
        without.is_empty(),
        "{} items have no example in their documentation:\n{}",
        without.len(),
        without.join("\n")
    );
}

/// The reader finds items below attributes of several lines, and those of traits.
#[test]
fn items_are_found() {
    let text = "
/// A.
///
/// ```
/// a();
/// ```
#[must_use]
pub const fn a() {}
/// B.
#[diagnostic::on_unimplemented(
    message = \"x\",
)]
pub trait B<T> {
    /// C.
    fn c(&self);
}
impl B<u8> for A {
    fn c(&self) {}
}
pub(crate) fn d() {}
";
    let found: Vec<(&str, bool)> = items(text).into_iter().map(|(name, above)| (name, above.example)).collect();
    assert_eq!(found, [("a", true), ("B", false), ("c", false)]);
}
