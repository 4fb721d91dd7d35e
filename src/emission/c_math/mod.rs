//! The functions of the crate `polygrad-math` as text in C99, recorded at numbers that write down what is done to them.
//!
//! Law: a function in C has the bits of the function in Rust of the same name, compiled for a processor of the same
//! kind. Where the function in Rust leaves rare arguments (very large angles, subnormal numbers, results near to the
//! ends of the range) to the crate `libm`, the function in C leaves them to the standard library of C, whose last digit
//! may differ; NaN, infinities, zeros and signs do not differ. The logarithm of the gamma function and the complement
//! of the error function have the steps of `libm`, and so its bits: the standard library of C has others, and its
//! `lgamma` writes a global variable. Their constants are those of FDLIBM, whose notice comes with them.
//!
//! `symbol` has the numbers, `function` what is recorded of a function, and its text. The file `machine.c` has the
//! operations of a machine that C has no operator for, and `fdlibm.c` the functions of `libm` with their steps. Blank
//! lines are between functions; a function needs only those before it.

mod function;
mod symbol;

use std::collections::BTreeSet;

use crate::recorded::{NumberKind, defined as define, threefry};
use symbol::CRecorder;

/// The functions that are not recorded, in the order of definition.
const FILES: [&str; 2] = [include_str!("machine.c"), include_str!("fdlibm.c")];

/// Headers, and what compilers must not do.
const HEAD: &str = include_str!("head.c");

/// What comes with constants of FDLIBM.
const NOTICE: &str = include_str!("notice.c");

/// How names begin.
const PREFIX: &str = "polygrad_";

/// The names in a text that begin with [`PREFIX`], with what follows a name.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let found = &rest[rest.find(PREFIX)?..];
        let length = found.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(found.len());
        let (name, after) = found.split_at(length);
        rest = after;
        Some((name, after))
    })
}

/// The name of the function that an item defines, or `None` if the text is a comment.
fn defined(item: &str) -> Option<&str> {
    let code = if item.starts_with("/*") { item.split_once("*/")?.1 } else { item };
    names(code).find(|(_, after)| after.starts_with('(')).map(|(name, _)| name)
}

/// The functions that are not recorded.
fn written() -> impl Iterator<Item = &'static str> {
    FILES.iter().flat_map(|file| file.split("\n\n")).map(str::trim_end)
}

/// Whether a function is not recorded.
fn is_written(name: &str) -> bool {
    written().any(|item| defined(item) == Some(name))
}

/// Functions, and all that these need, each once, with their names and in an order in which they compile.
fn items<'a>(used: impl IntoIterator<Item = (&'a str, bool)>) -> Vec<(String, String)> {
    let recorder = CRecorder::default();
    for (name, single) in used.into_iter().collect::<BTreeSet<_>>() {
        let kind = if single { NumberKind::F32 } else { NumberKind::F64 };
        let known = match name {
            "threefry" => Some(threefry(&recorder, [(); 2].map(|()| recorder.argument(NumberKind::U64)))),
            _ => define(&recorder, name, kind, &mut || recorder.argument(kind)),
        };
        assert!(known.is_some(), "no function {name}");
    }
    let functions = recorder.functions();
    let written: Vec<&str> = written().collect();
    let mut needed: BTreeSet<&str> = functions.iter().flat_map(|(_, text)| names(text)).map(|(name, _)| name).collect();
    for item in written.iter().rev() {
        if defined(item).is_some_and(|name| needed.contains(name)) {
            needed.extend(names(item).map(|(name, _)| name));
        }
    }
    let named = |text: &&str| defined(text).map(|name| (name.to_string(), text.to_string()));
    let mut items: Vec<_> = written.iter().filter_map(named).filter(|(name, _)| needed.contains(&name[..])).collect();
    items.extend(functions.iter().cloned());
    items
}

/// The text of functions, and of all that these need, each once: headers, then definitions in an order in which they
/// compile. A function is given by its name in `polygrad_math::f64`, and by whether the precision is single; in C it is
/// `polygrad_name` or `polygrad_namef`.
///
/// # Panics
/// If `polygrad-math` has no such function.
pub(crate) fn functions<'a>(used: impl IntoIterator<Item = (&'a str, bool)>) -> String {
    let mut text = HEAD.to_string();
    let items = items(used);
    if items.iter().any(|(name, _)| name.contains("fdlibm")) {
        text.extend(["\n", NOTICE]);
    }
    items.iter().for_each(|(_, item)| text.extend(["\n", item, "\n"]));
    text
}

#[cfg(test)]
mod tests;
