//! Every public item has an example in its documentation, or a link to the example of its family.
//!
//! Items are found by their text: what is `pub`, and the functions of a trait that is `pub`. The lint `unreachable_pub`
//! warns of what is `pub` and out of reach. The examples themselves run as tests of the documentation.
//!
//! A link is a line of this form: ``/// Example: [`Tensor::sum_axis`].``, or with a path in parentheses after the brackets. It
//! leads to an item of the same crate that has an example, not to another link; or, by the path `self`, to the example in
//! the header of the module.

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
#[derive(Clone, Copy, Default)]
struct Above {
    example: bool,
    linked: bool,
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
    above: Above,
}

/// A link to an example: the path that it names, the type or trait in which it stands, and the number of its line.
#[derive(Debug, PartialEq)]
struct Link<'a> {
    path: &'a str,
    within: Within<'a>,
    line: usize,
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

/// The items and the links of a text.
struct Read<'a> {
    items: Vec<Item<'a>>,
    links: Vec<Link<'a>>,
    /// Whether the header of the module has an example.
    header: bool,
}

fn read(text: &str) -> Read<'_> {
    let mut found = Read { items: Vec::new(), links: Vec::new(), header: false };
    let (mut above, mut depth, mut of_trait, mut in_block) = (Above::default(), 0, None, false);
    let mut containers: Vec<(usize, &str)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let (code, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        let opens = code.matches('[').count() as i32 - code.matches(']').count() as i32;
        let within = containers.last().map_or(Within::Module, |(_, name)| Within::Type(name));
        if depth > 0 {
            depth += opens;
        } else if let Some(comment) = code.strip_prefix("///").or_else(|| code.strip_prefix("//!")) {
            let fence = comment.trim().strip_prefix("```");
            // What does not compile, and what is no code, is no example.
            let shows = |of: &str| !["text", "compile_fail", "ignore"].iter().any(|word| of.starts_with(word));
            let example = !in_block && fence.is_some_and(shows);
            in_block ^= fence.is_some();
            if code.starts_with("//!") {
                found.header |= example;
                continue;
            }
            above.example |= example;
            above.documented = true;
            if let Some(path) = link(comment).filter(|_| !in_block) {
                above.linked = true;
                found.links.push(Link { path, within, line: number + 1 });
            }
        } else if code.starts_with("#[") || code.starts_with("$(#[") {
            // The documentation of a row of a table is written where the table is.
            above.example |= code.starts_with("$(#[");
            above.hidden |= code.contains("doc(hidden)");
            depth = opens;
        } else {
            let in_trait = of_trait.is_some_and(|own| indent == own + 4);
            if let Some(name) = item(code, in_trait) {
                found.items.push(Item { name, within, above });
            } else if above.documented {
                found.items.push(Item { name: row(code), within: Within::Row, above });
            }
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
            above = Above::default();
        }
    }
    found
}

/// A file, with what is read in it, and its place among the texts of its crate.
struct File<'a> {
    name: String,
    read: Read<'a>,
}

/// Whether the path of a link, in a file of a crate, leads to an item that has an example.
fn leads(link: &Link<'_>, at: usize, files: &[File<'_>]) -> bool {
    let path = link.path.rsplit('@').next().unwrap_or_default().trim_end_matches("()");
    if path == "self" {
        return files[at].read.header;
    }
    let mut parts: Vec<&str> = path.split("::").filter(|part| !["crate", "super"].contains(part)).collect();
    let Some(name) = parts.pop() else { return false };
    let of = match parts.pop() {
        Some("Self") => link.within,
        Some(part) if part.starts_with(char::is_uppercase) => Within::Type(part),
        Some(module) => {
            parts.push(module);
            Within::Module
        }
        None => Within::Module,
    };
    // What a path may mean: an item of the type or the module that it names, in this file before others; or else a row.
    let meant = |range: Range<usize>, within: Within<'_>| -> Vec<bool> {
        let here =
            files[range].iter().filter(|file| parts.iter().all(|module| file.name.contains(&format!("/{module}"))));
        let items = here.flat_map(|file| &file.read.items);
        items.filter(|item| item.name == name && item.within == within).map(|item| item.above.example).collect()
    };
    let places = [(at..at + 1, of), (0..files.len(), of), (at..at + 1, Within::Row), (0..files.len(), Within::Row)];
    let found = places.into_iter().map(|(range, within)| meant(range, within)).find(|all| !all.is_empty());
    found.is_some_and(|all| all.into_iter().all(|example| example))
}

/// The crate that a file belongs to: interpreters are a part of the first one.
fn is_of_higher(file: &str) -> bool {
    file.starts_with("higher/")
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
        let of_crate = texts.iter().filter(|(name, _)| is_of_higher(name) == higher);
        let files: Vec<File<'_>> = of_crate.map(|(name, text)| File { name: name.clone(), read: read(text) }).collect();
        for (at, File { name: file, read }) in files.iter().enumerate() {
            for link in &read.links {
                linked += 1;
                if !leads(link, at, &files) {
                    wrong
                        .push(format!("{file}:{}: `{}` has no example, to which the link leads", link.line, link.path));
                }
            }
            let named = !UNNAMED.iter().any(|(unnamed, _)| unnamed == file);
            for Item { name, above, .. } in read.items.iter().filter(|item| named && item.within != Within::Row) {
                seen += 1;
                let shown = above.example || above.linked || above.hidden;
                if !shown && !WITHOUT.iter().any(|(allowed, _)| allowed == name) {
                    wrong.push(format!("{file}: {name}"));
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
    /// f();
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
    let items = read(TEXT).items;
    let found: Vec<_> = items.iter().map(|item| (item.name, item.within, item.above.example)).collect();
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

/// A link leads to an example, not to an item without one, to one that does not compile, or to another link.
#[test]
fn links_are_followed() {
    let files = [File { name: "src/a.rs".into(), read: read(TEXT) }];
    let lead: Vec<(&str, bool)> = files[0].read.links.iter().map(|link| (link.path, leads(link, 0, &files))).collect();
    assert_eq!(lead, [("a", true), ("super::B::c", false), ("Self::d", false), ("A::f", true)]);
    let to = |path| leads(&Link { path, within: Within::Module, line: 1 }, 0, &files);
    assert!(to("fn@crate::a") && to("a()") && !to("crate::b::a") && !to("nothing") && !to("self"));
    assert!(link(" Example: [`a`]").is_some_and(|line| !to(line)));
    assert_eq!(link(" An example: [`a`]."), None);
}
