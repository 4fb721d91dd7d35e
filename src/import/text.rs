//! A cursor over the text: words, names, numbers and strings, with line and column for errors.
//!
//! Law: each character is read a bounded number of times, so reading takes time in proportion to the text.

use super::ImportError;

/// A position in the text, in bytes.
pub(super) type TextOffset = u32;

pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

pub(super) type Read<X> = Result<X, ImportError>;

/// What may be part of a word after its first letter.
fn in_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'$')
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// An error at the current position.
    pub(super) fn error<X>(&self, what: impl Into<String>) -> Read<X> {
        Err(ImportError::at(self.text, self.at, "", what.into()))
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    /// Skips blanks and comments.
    pub(super) fn blank(&mut self) {
        let bytes = self.bytes();
        while let Some(c) = bytes.get(self.at) {
            if c.is_ascii_whitespace() {
                self.at += 1;
            } else if *c == b'/' && bytes.get(self.at + 1) == Some(&b'/') {
                while bytes.get(self.at).is_some_and(|c| *c != b'\n') {
                    self.at += 1;
                }
            } else {
                break;
            }
        }
    }

    /// The next character after blanks.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.bytes().get(self.at).copied()
    }

    /// The character here, blanks included.
    pub(super) fn here(&self) -> Option<u8> {
        self.bytes().get(self.at).copied()
    }

    /// Whether the text goes on like this; if so, it is skipped.
    pub(super) fn take(&mut self, what: &str) -> bool {
        self.blank();
        let found = self.bytes()[self.at..].starts_with(what.as_bytes());
        if found {
            self.at += what.len();
        }
        found
    }

    pub(super) fn expect(&mut self, what: &str) -> Read<()> {
        if self.take(what) { Ok(()) } else { self.error(format!("expected `{what}`")) }
    }

    /// Whether the next word is this one; if so, it is skipped.
    pub(super) fn take_word(&mut self, what: &str) -> bool {
        let start = self.at;
        if self.take(what) && !self.here().is_some_and(in_word) {
            return true;
        }
        self.at = start;
        false
    }

    /// A word of letters, digits, `_`, `.` and `$`; empty if there is none.
    pub(super) fn word(&mut self) -> &'a str {
        self.blank();
        let start = self.at;
        while self.here().is_some_and(in_word) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    pub(super) fn some_word(&mut self, what: &str) -> Read<&'a str> {
        let word = self.word();
        if word.is_empty() { self.error(format!("expected {what}")) } else { Ok(word) }
    }

    /// A name after `%`, `@`, `^`, `#` or `!`, which is skipped: a word, or a string.
    pub(super) fn name(&mut self) -> Read<String> {
        self.at += 1;
        if self.here() == Some(b'"') {
            return self.string();
        }
        let start = self.at;
        while self.here().is_some_and(|c| in_word(c) || c == b'-' && self.bytes().get(self.at + 1) != Some(&b'>')) {
            self.at += 1;
        }
        if start == self.at { self.error("expected a name") } else { Ok(self.text[start..self.at].to_owned()) }
    }

    /// A string in quotes, with the escapes of MLIR: `\n`, `\t`, `\"`, `\\` and two hexadecimal digits.
    pub(super) fn string(&mut self) -> Read<String> {
        self.expect("\"")?;
        let mut bytes = Vec::new();
        loop {
            let Some(c) = self.here() else { return self.error("a string without its end") };
            self.at += 1;
            match c {
                b'"' => break,
                b'\\' => {
                    let Some(c) = self.here() else { return self.error("a string without its end") };
                    self.at += 1;
                    let hex = |c: u8| (c as char).to_digit(16);
                    match (c, hex(c), self.here().and_then(hex)) {
                        (b'n', ..) => bytes.push(b'\n'),
                        (b't', ..) => bytes.push(b'\t'),
                        (b'"' | b'\\', ..) => bytes.push(c),
                        (_, Some(high), Some(low)) => {
                            self.at += 1;
                            bytes.push((high * 16 + low) as u8);
                        }
                        _ => return self.error("an escape that is not known"),
                    }
                }
                c => bytes.push(c),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// An integer, decimal or hexadecimal, with its sign.
    pub(super) fn integer(&mut self) -> Read<i64> {
        self.blank();
        let start = self.at;
        let number = self.number();
        match number.parse::<i64>().ok().or_else(|| super::literal::wide(number)) {
            Some(n) => Ok(n),
            None => {
                self.at = start;
                self.error("expected an integer")
            }
        }
    }

    /// Digits, of a size.
    pub(super) fn digits(&mut self) -> &'a str {
        let start = self.at;
        while self.here().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// The characters of a number, of any kind.
    pub(super) fn number(&mut self) -> &'a str {
        self.blank();
        let start = self.at;
        if matches!(self.here(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        let mut last = 0;
        let hex = self.bytes()[self.at..].starts_with(b"0x");
        while let Some(c) = self.here() {
            let exponent = !hex && matches!(last, b'e' | b'E') && matches!(c, b'-' | b'+');
            if !(c.is_ascii_alphanumeric() || c == b'.' || exponent) {
                break;
            }
            // `2x3` is two sizes.
            if c == b'x' && !(last == b'0' && hex) {
                break;
            }
            (last, self.at) = (c, self.at + 1);
        }
        &self.text[start..self.at]
    }

    /// Skips a part in parentheses of any kind, with strings and arrows in it, from its first parenthesis on.
    pub(super) fn skip_balanced(&mut self) -> Read<()> {
        let start = self.at;
        let mut open: Vec<u8> = Vec::new();
        loop {
            let Some(c) = self.here() else {
                self.at = start;
                return self.error("a parenthesis that is not closed");
            };
            match c {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'-' if self.bytes().get(self.at + 1) == Some(&b'>') => self.at += 1,
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b'<' => open.push(b'>'),
                b')' | b']' | b'}' | b'>' if open.pop() != Some(c) => {
                    return self.error("a parenthesis that closes none");
                }
                _ => {}
            }
            self.at += 1;
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

/// Line and column of a position, from 1.
pub(super) fn line_and_column(text: &str, at: usize) -> (u32, u32) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|c| **c == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|c| **c != b'\n').count() + 1;
    (line as u32, column as u32)
}
