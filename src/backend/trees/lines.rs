//! Comments with the lines of the user's source.

use super::tree::Stmt;
use super::writer::Writer;
use crate::source::Place;

/// The text of a comment about a place; `None` if nothing is known.
pub(crate) fn text(origin: &Place) -> Option<String> {
    let at = origin.at.as_ref()?;
    Some(match origin.derivative_of {
        Some(name) => format!("{}:{}, derivative of {name}", at.file(), at.line()),
        None => format!("{}:{}", at.file(), at.line()),
    })
}

/// A comment with a place, if the place is not that of the last comment.
pub(crate) fn comment(w: &mut Writer, last: &mut Option<String>, origin: &Place) {
    let here = text(origin);
    if here.is_some() && here != *last {
        w.push(Stmt::Comment(here.clone().unwrap_or_default()));
        *last = here;
    }
}

/// A comment with several places, each once.
pub(crate) fn all<'p>(w: &mut Writer, origins: impl IntoIterator<Item = &'p Place>) {
    let mut seen: Vec<String> = Vec::new();
    for text in origins.into_iter().filter_map(text) {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    if !seen.is_empty() {
        seen.truncate(MOST);
        w.push(Stmt::Comment(seen.join("; ")));
    }
}

/// The most places of a comment.
const MOST: usize = 6;
