//! Every public item has an example in its documentation, or a link to the example of its family.
//!
//! Items are found by their text: what is `pub`, and the functions of a trait that is `pub`. The lint `unreachable_pub`
//! warns of what is `pub` and out of reach. The examples themselves run as tests of the documentation.
//!
//! A link is a line of this form: ``/// Example: [`Tensor::sum_axis`].``, or with a path in parentheses after the brackets. It
//! leads to an item of the same crate that has an example, not to another link; or, by the path `self`, to the example in
//! the header of the module. That example names the item with the link.

use std::fs;
use std::ops::Range;

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
#[derive(Clone, Default)]
struct Above<'a> {
    /// Whether there is an example, or the documentation is that of a row of a table.
    shown: bool,
    /// The lines of the examples.
    example: Vec<&'a str>,
    /// The path of the link to an example, and the number of its line.
    link: Option<(&'a str, usize)>,
    hidden: bool,
    documented: bool,
}

/// Where an item is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Within<'a> {
    /// In a module.
    Module,
    /// In an `impl` of this type, or in this trait.
    Type(&'a str),
    /// In a table that a macro reads, or in a type: a field, a variant.
    Row,
}

/// An item of a text.
struct Item<'a> {
    name: &'a str,
    within: Within<'a>,
    above: Above<'a>,
}

/// The name that a word begins with.
fn name_of(word: &str) -> &str {
    word.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
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
    words.next().filter(|_| counts).map(name_of)
}

/// The name of the row of a table, of the field or of the variant that a documented line begins.
fn row(line: &str) -> &str {
    let mut words = line.split_whitespace().map(name_of);
    words.find(|word| !["pub", "fn", "const", "unsafe", "crate"].contains(word)).unwrap_or_default()
}

/// The type of which a line begins an `impl`, or the trait that it begins.
fn opened(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("pub trait ").or_else(|| line.strip_prefix("trait ")) {
        return Some(name_of(rest));
    }
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        // An arrow in the parameters closes no bracket.
        let mut depth = 0;
        let end = rest.char_indices().find(|(at, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>' && !rest[..*at].ends_with('-'));
            depth == 0
        });
        rest = end.map_or(rest, |(at, _)| &rest[at + 1..]);
    }
    let of = rest.split_once(" for ").map_or(rest, |(_, of)| of);
    Some(name_of(of.trim_start().trim_start_matches('&')))
}

/// The path that a line of documentation links to as its example; the line where its form is another one, which is no path.
fn link(comment: &str) -> Option<&str> {
    let target = comment.trim().strip_prefix("Example: ")?;
    let path = || {
        let (name, rest) = target.strip_prefix("[`")?.split_once("`]")?;
        if rest == "." { Some(name) } else { rest.strip_prefix('(')?.strip_suffix(").") }
    };
    Some(path().unwrap_or(comment))
}

/// A file, with its items, and the example in its header.
struct File<'a> {
    name: &'a str,
    items: Vec<Item<'a>>,
    header: Vec<&'a str>,
}

fn read<'a>(name: &'a str, text: &'a str) -> File<'a> {
    let mut found = File { name, items: Vec::new(), header: Vec::new() };
    let (mut above, mut depth, mut of_trait) = (Above::default(), 0, None);
    // The language of the block of code in which a line is, and the types and traits in which it is.
    let (mut block, mut containers): (Option<&str>, Vec<(usize, &str)>) = (None, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let (code, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        let opens = code.matches('[').count() as i32 - code.matches(']').count() as i32;
        let within = containers.last().map_or(Within::Module, |(_, name)| Within::Type(name));
        if depth > 0 {
            above.shown |= code.contains("```");
            depth += opens;
        } else if let Some(comment) = code.strip_prefix("///").or_else(|| code.strip_prefix("//!")) {
            above.documented |= code.starts_with("///");
            // What does not compile, and what is no code, is no example.
            let shows =
                block.is_some_and(|of| !["text", "compile_fail", "ignore"].iter().any(|word| of.starts_with(word)));
            if let Some(language) = comment.trim().strip_prefix("```") {
                block = if block.is_some() { None } else { Some(language) };
                above.shown |= shows && code.starts_with("///");
            } else if shows {
                if code.starts_with("///") { above.example.push(comment) } else { found.header.push(comment) }
            } else if block.is_none() {
                above.link = link(comment).map(|path| (path, number + 1)).or(above.link);
            }
        } else if code.starts_with("#[") || code.starts_with("$(#[") {
            // The documentation of a row of a table is written where the table is.
            above.shown |= code.starts_with("$(#[");
            above.hidden |= code.contains("doc(hidden)");
            depth = opens;
        } else {
            let in_trait = of_trait.is_some_and(|own| indent == own + 4);
            let of_table = above.documented.then(|| (row(code), Within::Row));
            let named = item(code, in_trait).map(|name| (name, within)).or(of_table);
            let above = std::mem::take(&mut above);
            found.items.extend(named.map(|(name, within)| Item { name, within, above }));
            while code.starts_with('}') && containers.last().is_some_and(|(own, _)| indent <= *own) {
                containers.pop();
            }
            if code.starts_with("pub trait ") && !code.ends_with("{}") {
                of_trait = Some(indent);
            } else if code.starts_with('}') && of_trait == Some(indent) {
                of_trait = None;
            }
            if let Some(name) = opened(code).filter(|_| !code.ends_with('}')) {
                containers.push((indent, name));
            }
        }
    }
    found
}

/// The examples to which a link leads, in a file of a crate: those of all items that its path may mean.
fn examples<'a>(path: &str, from: Within<'_>, at: usize, files: &'a [File<'a>]) -> Vec<&'a [&'a str]> {
    let path = path.rsplit('@').next().unwrap_or_default().trim_end_matches("()");
    if path == "self" {
        return vec![&files[at].header];
    }
    let mut parts: Vec<&str> = path.split("::").filter(|part| !["crate", "super"].contains(part)).collect();
    let Some(name) = parts.pop() else { return Vec::new() };
    let of = match parts.pop() {
        Some("Self") => from,
        Some(part) if part.starts_with(char::is_uppercase) => Within::Type(part),
        Some(module) => {
            parts.push(module);
            Within::Module
        }
        None => Within::Module,
    };
    let meant = |range: Range<usize>, within: Within<'_>| -> Vec<&'a [&'a str]> {
        let is_in = |file: &&File<'_>| parts.iter().all(|module| file.name.contains(&format!("/{module}")));
        let items = files[range].iter().filter(is_in).flat_map(|file| &file.items);
        items.filter(|item| item.name == name && item.within == within).map(|item| &item.above.example[..]).collect()
    };
    // Items of the type or the module that the path names, in this file before others; or else rows.
    let places = [(at..at + 1, of), (0..files.len(), of), (at..at + 1, Within::Row), (0..files.len(), Within::Row)];
    let found = places.into_iter().map(|(range, within)| meant(range, within)).find(|all| !all.is_empty());
    found.unwrap_or_default()
}

/// What is wrong with the link above an item: it leads nowhere, to an item without an example, or to one that does not name the
/// item.
fn wrong_link(item: &Item<'_>, at: usize, files: &[File<'_>]) -> Option<String> {
    let (path, line) = item.above.link?;
    let found = examples(path, item.within, at, files);
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let names = |line: &&str| line.split(|c| !part(c)).any(|word| word == item.name);
    let why = if found.is_empty() || found.iter().any(|example| example.is_empty()) {
        "no example is there"
    } else if !item.name.is_empty() && !found.iter().any(|example| example.iter().any(names)) {
        "the example there does not name the item"
    } else {
        return None;
    };
    Some(format!("{}:{line}: the link of `{}` to `{path}`: {why}", files[at].name, item.name))
}

#[test]
fn every_public_item_has_an_example() {
    let path = |path: &std::path::PathBuf| {
        path.strip_prefix(root()).expect("a file of the project").display().to_string().replace('\\', "/")
    };
    let texts: Vec<(String, String)> = modules()
        .iter()
        .map(|(file, _)| (path(file), without_tests(&fs::read_to_string(file).expect("a file of the project"))))
        .collect();
    let (mut seen, mut linked, mut wrong) = (0, 0, Vec::new());
    for higher in [false, true] {
        let of_crate = texts.iter().filter(|(name, _)| name.starts_with("higher/") == higher);
        let files: Vec<File<'_>> = of_crate.map(|(name, text)| read(name, text)).collect();
        for (at, file) in files.iter().enumerate() {
            linked += file.items.iter().filter(|item| item.above.link.is_some()).count();
            wrong.extend(file.items.iter().filter_map(|item| wrong_link(item, at, &files)));
            if UNNAMED.iter().any(|(unnamed, _)| *unnamed == file.name) {
                continue;
            }
            for Item { name, above, .. } in file.items.iter().filter(|item| item.within != Within::Row) {
                seen += 1;
                let has = above.shown || above.link.is_some() || above.hidden;
                if !has && !WITHOUT.iter().any(|(allowed, _)| allowed == name) {
                    wrong.push(format!("{}: {name}", file.name));
                }
            }
        }
    }
    assert!(seen > 1700 && linked > 700, "{seen} items and {linked} links were found");
    assert!(
        wrong.is_empty(),
        "{} items have no example in their documentation, and no link to one:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

const TEXT: &str = "
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
    ///
    /// Example: [`a`].
    fn c(&self);
}
impl<T: Fn(&T) -> u8> B<u8> for A<T> {
    fn c(&self) {}
    /// D.
    ///
    /// ```compile_fail
    /// d();
    /// ```
    ///
    /// Example: [`B::c`](super::B::c).
    pub fn d() {}
    /// Example: [`Self::d`].
    pub fn e() {}
}
table! {
    /// F.
    ///
    /// ```
    /// f(g());
    /// ```
    fn f() -> g();
}
/// Example: [`A::f`].
pub fn g() {}
pub(crate) fn h() {}
";

/// The reader finds items below attributes of several lines, those of traits and of types, and rows of tables.
#[test]
fn items_are_found() {
    let items = read("src/a.rs", TEXT).items;
    let found: Vec<_> = items.iter().map(|item| (item.name, item.within, item.above.shown)).collect();
    let (module, of_type) = (Within::Module, Within::Type("A"));
    assert_eq!(
        found,
        [
            ("a", module, true),
            ("B", module, false),
            ("c", Within::Type("B"), false),
            ("d", of_type, false),
            ("e", of_type, false),
            ("f", Within::Row, true),
            ("g", module, false),
        ]
    );
}

/// A link leads to an example that names the item, not to an item without one, to one that does not compile, or to another link.
#[test]
fn links_are_followed() {
    let files = [read("src/a.rs", TEXT)];
    let wrong: Vec<Option<String>> = files[0].items.iter().map(|item| wrong_link(item, 0, &files)).collect();
    let says = |item: usize, why: &str| wrong[item].as_ref().is_some_and(|wrong| wrong.ends_with(why));
    assert!(says(2, "the link of `c` to `a`: the example there does not name the item"));
    assert!(says(3, "to `super::B::c`: no example is there") && says(4, "to `Self::d`: no example is there"));
    assert_eq!(wrong.iter().flatten().count(), 3);
    let to = |path| examples(path, Within::Module, 0, &files).iter().any(|example| !example.is_empty());
    assert!(to("fn@crate::a") && to("a()") && !to("crate::b::a") && !to("nothing") && !to("self"));
    assert!(link(" Example: [`a`]").is_some_and(|line| !to(line)));
    assert_eq!(link(" An example: [`a`]."), None);
}
