//! The frame of a page: head, style and script, and numbers and texts in HTML.
//!
//! Law: a page is one file that names no other. Elements are closed as in XML.
use crate::escape;

/// The page with this title, line below it, and sections: of each its id, its heading, and its HTML.
pub(super) fn page(title: &str, told: &str, sections: &[(&str, &str, String)]) -> String {
    let links = sections.iter().map(|(id, heading, _)| format!("<a href=\"#{id}\">{heading}</a> "));
    let parts = sections
        .iter()
        .map(|(id, heading, html)| format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{html}\n</section>\n"));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{told}\n<nav>{}</nav>\n{}<script>\n{}</script>\n</body>\n</html>\n",
        include_str!("page.css"),
        links.collect::<String>(),
        parts.collect::<String>(),
        include_str!("page.js"),
        title = escape::html(title),
    )
}

/// A number of things: `1 step`, `3 steps`.
pub(super) fn counted(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}

/// A time.
pub(super) fn microseconds(us: f64) -> String {
    match us {
        us if us < 0.995 => format!("{:.0} ns", us * 1e3),
        us if us < 999.5 => format!("{us:.1} \u{b5}s"),
        us if us < 999.5e3 => format!("{:.1} ms", us * 1e-3),
        us => format!("{:.1} s", us * 1e-6),
    }
}

/// A number of bytes.
pub(super) fn bytes(n: u64) -> String {
    match n {
        0..1_000 => counted(n as usize, "byte"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 * 1e-3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 * 1e-6),
        _ => format!("{:.1} GB", n as f64 * 1e-9),
    }
}
