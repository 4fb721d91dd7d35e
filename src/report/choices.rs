//! The section of a page on the modes of differentiation that were chosen.

use std::fmt::Write;

use super::page::{bytes, microseconds};
use crate::escape;

/// A choice between the modes of one derivative.
#[derive(Clone, Debug)]
pub(crate) struct ModeChoice {
    /// The choice and its reason.
    pub(crate) words: String,
    /// The candidates that were compared; empty if there was one.
    pub(crate) candidates: Vec<ModeCandidate>,
}

/// A derivative program that was compared with others.
#[derive(Clone, Debug)]
pub(crate) struct ModeCandidate {
    pub(crate) name: String,
    /// The estimated time of a run in microseconds.
    pub(crate) time: f64,
    /// The estimated number of elements computed or moved, and of bytes read and written.
    pub(crate) elements: u64,
    pub(crate) bytes: u64,
    pub(crate) chosen: bool,
}

/// The choices; `sparse` says that the function gives a sparse matrix.
pub(super) fn section(choices: &[ModeChoice], sparse: bool) -> String {
    if choices.is_empty() && sparse {
        return "<p>The passes are of the mode, or of both, in which they take the least time by their number: see the \
                next section.</p>"
            .into();
    }
    if choices.is_empty() {
        return "<p>No mode was chosen: the function is not a gradient, Jacobian or Hessian with several programs.</p>"
            .into();
    }
    let mut html = String::new();
    for choice in choices {
        let _ = write!(html, "<p>{}.</p>", escape::html(&choice.words));
        if choice.candidates.is_empty() {
            continue;
        }
        let longest = choice.candidates.iter().map(|candidate| candidate.time).fold(1e-9, f64::max);
        html.push_str(
            "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th>candidate</th><th class=\"num\">estimated time</th><th \
             class=\"num\">elements</th><th class=\"num\">reads and writes</th></tr></thead><tbody>\n",
        );
        for candidate in &choice.candidates {
            let (class, mark) = if candidate.chosen { (" class=\"chosen\"", " (taken)") } else { ("", "") };
            let _ = writeln!(
                html,
                "<tr{class}><td>{}{mark}</td><td class=\"num\">{}<span class=\"time\" style=\"width:{:.0}%\"></span></td><td \
                 class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                escape::html(&candidate.name),
                microseconds(candidate.time),
                100.0 * candidate.time / longest,
                candidate.elements,
                bytes(candidate.bytes)
            );
        }
        html.push_str("</tbody></table></div>");
    }
    html
}
