//! What a feature adds to programs and functions stands in `src/absent.rs`, too, so that the compiler names the feature.

use std::collections::BTreeSet;

use crate::layering::sources;
use crate::root::root;
use crate::workspace::read;

/// A feature, what has the method (`Program`, `Function`, or `functions` for those of the root), and its name.
type Entry = (String, &'static str, String);

/// Where features add methods: a file or a folder, and the feature of a method that does not name one.
const PLACES: [(&str, &str); 8] = [
    ("src/emission/mod.rs", "emission"),
    ("src/emission/native", "native"),
    ("src/export", "export"),
    ("src/ad/function/export.rs", "export"),
    ("src/ad/function/native.rs", "native"),
    ("src/ad/function/report.rs", "report"),
    ("src/ad/enclose.rs", "verified"),
    ("src/ad/verified", "verified"),
];

/// The name of the function that a line declares as public.
fn declared(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("pub fn ")?.split(['(', '<']).next()
}

/// The public methods in a file, of programs and functions.
fn methods(text: &str, feature: &str, into: &mut BTreeSet<Entry>) {
    let (mut kind, mut named) = (None, None);
    for line in text.lines() {
        if line.starts_with("impl") {
            kind = match line {
                line if line.starts_with("impl Program {") => Some("Program"),
                line if line.contains("> Function<") => Some("Function"),
                _ => None,
            };
        }
        if let Some(cfg) = line.trim_start().strip_prefix("#[cfg(feature = \"") {
            named = cfg.split('"').next().map(str::to_owned);
        } else if let Some(name) = declared(line) {
            let feature = named.take().unwrap_or_else(|| feature.to_owned());
            into.extend(kind.map(|kind| (feature, kind, name.to_owned())));
        } else if !line.trim_start().starts_with('#') {
            named = None;
        }
    }
}

/// The functions of the root of the library that are compiled with a feature alone.
fn exported(text: &str, into: &mut BTreeSet<Entry>) {
    for part in text.split("#[cfg(feature = \"").skip(1) {
        let (feature, rest) = part.split_once('"').expect("the end of a name");
        let Some(list) = rest.split_once("pub use ad::").filter(|(before, _)| !before.contains(';')) else { continue };
        let list = list.1.split(';').next().unwrap_or_default().trim_matches(['{', '}', '\n']);
        let names = list.split(',').map(str::trim).filter(|name| name.starts_with(char::is_lowercase));
        into.extend(names.map(|name| (feature.to_owned(), "functions", name.to_owned())));
    }
}

/// What `src/absent.rs` lists.
fn absent(text: &str) -> BTreeSet<Entry> {
    let mut found = BTreeSet::new();
    for part in text.split("#[cfg(not(feature = \"").skip(1) {
        let (feature, rest) = part.split_once('"').expect("the end of a name");
        assert!(rest.contains(&format!("the feature `{feature}` of polygrad")), "the message does not name {feature}");
        for (kind, head) in
            [("Program", "impl Program[]"), ("Function", "impl Function[P, Q, Y]"), ("functions", "functions")]
        {
            let Some((_, list)) = rest.split_once(&format!("\n    {head} {{")) else { continue };
            let list = list.split('}').next().unwrap_or_default();
            let names = list.split('(').filter_map(|before| before.split([' ', ')', '\n']).next_back());
            let names = names.filter(|name| name.len() > 1);
            found.extend(names.map(|name| (feature.to_owned(), kind, name.to_owned())));
        }
    }
    found
}

#[test]
fn what_a_feature_adds_is_named_without_it() {
    let mut added = BTreeSet::new();
    for (place, feature) in PLACES {
        let place = root().join(place);
        let files = if place.is_dir() { sources(&place) } else { vec![place] };
        files.iter().for_each(|file| methods(&read(file), feature, &mut added));
    }
    exported(&read(&root().join("src/lib.rs")), &mut added);
    assert!(added.len() > 15, "{added:?}");
    let listed = absent(&read(&root().join("src/absent.rs")));
    let differ: Vec<&Entry> = listed.symmetric_difference(&added).collect();
    assert!(differ.is_empty(), "in src/absent.rs or in the library alone: {differ:?}");
}
