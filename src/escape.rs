//! Texts of users and of files, escaped for the text that they become a part of.
//!
//! Inputs, leaves, keys of maps, labels, functions, source files: their names are data, which a file can choose. Whatever
//! writes text passes them through the function for its target, and no other code decides which characters are safe.
//!
//! Laws, for any text: it stays within its place (a line, a comment, a string), and it shows: a character without a
//! glyph, such as a line break or a mark that reorders a line, is written as its number, `\u{202e}`. Ordinary names are
//! as they were.
//!
//! | function | place |
//! |---|---|
//! | [`name`], [`path`], [`quoted`] | a name in printed programs and messages |
//! | [`line`] | a part of a line for people |
//! | [`c`], [`rust`] | a part of a comment |
//! | [`dot`], [`mlir`] | a string |
//! | [`html`] | a text or an attribute |
//!
//! It is below everything that prints, and uses no other module.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Letters that show nothing: the fillers of Hangul.
const FILLERS: [char; 4] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];

/// Whether a character has a glyph, or belongs to the one before it.
fn shows(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // The standard library knows which characters print. An accent prints after a letter.
    let after_a_letter = ['a', c].iter().collect::<String>();
    !FILLERS.contains(&c) && after_a_letter.chars().eq(after_a_letter.escape_debug())
}

/// Appends a character by its number.
fn push_number(text: &mut String, c: char) {
    // Writing to a string does not fail.
    let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
}

/// The text with each character as `replaced` says, which gets the characters before and after it, too; without a
/// replacement as it is, or by its number if it does not show.
fn with_replacements(
    words: &str,
    replaced: impl Fn(Option<char>, char, Option<char>) -> Option<Cow<'static, str>>,
) -> String {
    let mut text = String::with_capacity(words.len());
    let (mut before, mut rest) = (None, words.chars().peekable());
    while let Some(c) = rest.next() {
        match replaced(before, c, rest.peek().copied()) {
            Some(instead) => text.push_str(&instead),
            None if shows(c) => text.push(c),
            None => push_number(&mut text, c),
        }
        before = Some(c);
    }
    text
}

/// A character by its number, as a replacement.
fn by_number(c: char) -> Option<Cow<'static, str>> {
    let mut text = String::new();
    push_number(&mut text, c);
    Some(text.into())
}

/// A name in a printed program or a message: as it is if it consists of letters, digits, `_` and dots, and otherwise
/// [`quoted`].
pub(crate) fn name(words: &str) -> Cow<'_, str> {
    let begins = words.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if begins { path(words) } else { quoted(words).into() }
}

/// The path of a leaf: as a [`name`], but it may begin with a digit, the position in a tuple.
pub(crate) fn path(words: &str) -> Cow<'_, str> {
    let plain = |c: char| (c.is_alphanumeric() || c == '_' || c == '.') && !FILLERS.contains(&c);
    if !words.is_empty() && words.chars().all(plain) { words.into() } else { quoted(words).into() }
}

/// A name between backticks; different names give different texts.
pub(crate) fn quoted(words: &str) -> String {
    let inside = with_replacements(words, |_, c, _| match c {
        '\\' => Some("\\\\".into()),
        '\n' => Some("\\n".into()),
        '`' => by_number(c),
        _ => None,
    });
    format!("`{inside}`")
}

/// A part of a line for people: of a message, of what a run prints.
pub(crate) fn line(words: &str) -> String {
    with_replacements(words, |_, c, _| (c == '\n').then(|| "\\n".into()))
}

/// A part of a comment of Rust, of either kind.
pub(crate) fn rust(words: &str) -> String {
    with_replacements(words, |before, c, _| match (before, c) {
        (Some('*'), '/') | (Some('/'), '*') => by_number(c),
        _ => None,
    })
}

/// A part of a comment of C, of either kind. A `\` before the end of a line would continue the comment, and `??/` is a `\`.
/// Some compilers read bytes that are not ASCII in the encoding of the machine, where one of them can be a `\`.
pub(crate) fn c(words: &str) -> String {
    with_replacements(words, |before, c, after| match (before, c, after) {
        (Some('*'), '/', _) | (Some('/'), '*', _) | (Some('?'), '?', _) => by_number(c),
        (_, '\\', None) => by_number(c),
        (_, '\\', Some(next)) if next.is_whitespace() => by_number(c),
        (_, c, _) if !c.is_ascii() => by_number(c),
        _ => None,
    })
}

/// A part of a string of DOT, in which Graphviz reads entities of HTML, too.
pub(crate) fn dot(words: &str) -> String {
    with_replacements(words, |_, c, _| match c {
        '"' => Some("\\\"".into()),
        '\\' => Some("\\\\".into()),
        '&' => Some("&amp;".into()),
        c if !shows(c) => by_number(c).map(|number| format!("\\{number}").into()),
        _ => None,
    })
}

/// A text in HTML and SVG, within quotes too. Lines stay lines.
pub(crate) fn html(words: &str) -> String {
    with_replacements(words, |_, c, _| match c {
        '&' => Some("&amp;".into()),
        '<' => Some("&lt;".into()),
        '>' => Some("&gt;".into()),
        '"' => Some("&quot;".into()),
        '\'' => Some("&#39;".into()),
        '\n' => Some("\n".into()),
        _ => None,
    })
}

/// A part of a string of MLIR: bytes that are not printable ASCII are two hexadecimal digits. So is `%`, by which the names
/// of values begin.
pub(crate) fn mlir(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for byte in words.bytes() {
        match byte {
            b'"' | b'\\' | b'%' => _ = write!(text, "\\{byte:02X}"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => _ = write!(text, "\\{byte:02X}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Rng;

    /// Texts of pieces that end a place somewhere.
    fn hostile(seed: u64) -> String {
        const PIECES: [&str; 26] = [
            "\n",
            "\r",
            "\0",
            "*/",
            "/*",
            "//",
            "\\",
            "??/",
            "??",
            "\"",
            "'",
            "`",
            "</script>",
            "<!--",
            "&lt;",
            "\u{202e}",
            "\u{2066}",
            "\u{200f}",
            "\u{2028}",
            "\u{2029}",
            "\u{85}",
            "\u{feff}",
            "\u{3164}",
            "x",
            " ",
            "é",
        ];
        let picked = Rng::new(seed).uniform([1 + seed as usize % 9], 0.0, PIECES.len() as f64).to_vec();
        picked.iter().map(|k| PIECES[*k as usize % PIECES.len()]).collect()
    }

    #[test]
    fn texts_stay_in_their_places() {
        for seed in 0..3000 {
            let words = hostile(seed);
            let all =
                [line(&words), quoted(&words), name(&words).into(), rust(&words), c(&words), dot(&words), mlir(&words)];
            for text in all.iter().chain(&[html(&words).replace('\n', "")]) {
                assert!(text.chars().all(shows), "{text:?} of {words:?}");
            }
            let quoted = quoted(&words);
            assert!(!quoted[1..quoted.len() - 1].contains('`'), "{quoted:?}");
            for comment in [rust(&words), c(&words)] {
                assert!(!comment.contains("*/") && !comment.contains("/*"), "{comment:?}");
            }
            let comment = c(&words);
            assert!(
                comment.is_ascii() && !comment.contains("??") && !comment.trim_end().ends_with('\\'),
                "{comment:?}"
            );
            assert!(!html(&words).contains(['<', '>', '"', '\'']), "{words:?}");
            // In a string, `\` and what follows are one character.
            for text in [dot(&words), mlir(&words)] {
                let mut rest = text.chars();
                while let Some(c) = rest.next() {
                    assert!(c != '"' && (c != '\\' || rest.next().is_some()), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn names_stay_different() {
        let mut texts = std::collections::HashMap::new();
        for seed in 0..3000 {
            let words = hostile(seed);
            let other = texts.entry(quoted(&words)).or_insert_with(|| words.clone()).clone();
            assert_eq!(other, words);
        }
    }

    #[test]
    fn what_is_escaped_stays_as_it_is() {
        for seed in 0..300 {
            let words = hostile(seed);
            for of in [line as fn(&str) -> String, c, rust, html] {
                let once = of(&words);
                if !once.contains('&') {
                    assert_eq!(of(&once), once, "{words:?}");
                }
            }
        }
    }

    #[test]
    fn ordinary_texts_are_as_they_were() {
        for words in
            ["x.layers.0.w", "src/model.rs:12:9", "größe", "f64[2, 3]", "C:\\model.rs:3", "קלט", "入力_1", "हिन्दी"]
        {
            assert_eq!((&line(words)[..], &rust(words)[..], &html(words)[..]), (words, words, words));
        }
        assert_eq!((&name("größe")[..], &name("हिन्दी")[..], &name("x y")[..]), ("größe", "`हिन्दी`", "`x y`"));
        assert_eq!(c("C:\\model.rs:3, `x.w`, [2]"), "C:\\model.rs:3, `x.w`, [2]");
        assert_eq!(mlir("src/model.rs"), "src/model.rs");
    }
}
