//! A program for all sizes as text: that of the program, with expressions of the names in the place of numbers.
//!
//! Law: at each of the sizes, the text with the values of the expressions is the text of the program there. The text is
//! made of those of the program at several sizes; where their lines differ, it is that at one of the sizes, which is
//! then named.

use std::collections::HashSet;
use std::fmt;

use super::SizedProgram;
use super::fit::{Varying, fitted};
use super::numbers::ShownNumber;
use super::polynomial::{Fitting, Polynomial, points};
use super::sizes_in_words;
use crate::dtype::DType;

/// The least sizes of the programs whose texts are compared: numbers of equally many digits, so that lines break alike.
const FROM: usize = 101;

/// The text in pieces: numbers, and what is between them. Digits within a word are a part of the word.
fn pieces(text: &str) -> Vec<(bool, &str)> {
    let bytes = text.as_bytes();
    let (mut all, mut start, mut k) = (Vec::new(), 0, 0);
    while k < bytes.len() {
        let inside = k > 0 && (bytes[k - 1].is_ascii_alphanumeric() || bytes[k - 1] == b'_' || bytes[k - 1] == b'.');
        if !bytes[k].is_ascii_digit() || inside {
            k += 1;
            continue;
        }
        let mut end = k;
        let is_part = |end: usize| {
            let c = bytes[end];
            let sign = (c == b'-' || c == b'+') && bytes[end - 1] == b'e';
            c.is_ascii_digit() || sign || c == b'e' || c == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)
        };
        while end < bytes.len() && is_part(end) {
            end += 1;
        }
        all.push((false, &text[start..k]));
        all.push((true, &text[k..end]));
        (start, k) = (end, end);
    }
    all.push((false, &text[start..]));
    all
}

/// A number of a text.
fn number(text: &str) -> Option<ShownNumber> {
    if let Ok(n) = text.parse::<i64>() {
        return Some(ShownNumber::Int(n));
    }
    text.parse::<f64>().ok().map(|x| ShownNumber::Float(x, DType::F64))
}

/// The largest number of sizes on which the floats of a text are tried to depend: each is tried for each float.
const TRIED: usize = 64;

impl SizedProgram {
    /// The named sizes, and the first of the others that the program has.
    fn different_sizes(&self, names: usize) -> Vec<Polynomial> {
        let named = (0..names).map(|k| Polynomial::of(k, names));
        let further = self.varying.iter().filter_map(|(_, varying)| match varying {
            Varying::Int(size) => Some(size.clone()),
            Varying::Float(_) => None,
        });
        let mut seen = HashSet::new();
        named.chain(further).filter(|size| seen.insert(size.clone())).take(TRIED).collect()
    }

    /// The texts of the program at several sizes as one, if they differ in numbers alone.
    fn with_expressions(&self) -> Option<String> {
        let least: Vec<usize> = self.least().map(|least| least.max(FROM)).collect();
        let points = points(&least, &[]);
        // The large sizes, and the one that checks, break lines elsewhere.
        let points = &points[..points.len() - 3];
        let fitting = Fitting::new(points);
        let texts = points.iter().map(|point| Some(self.at(point).ok()?.to_string())).collect::<Option<Vec<_>>>()?;
        let pieces: Vec<Vec<(bool, &str)>> = texts.iter().map(|text| pieces(text)).collect();
        let names: Vec<&str> = self.names().collect();
        let sizes = self.different_sizes(names.len());
        let mut out = String::new();
        for (k, (is_number, text)) in pieces[0].iter().enumerate() {
            let here = pieces.iter().map(|all| all.get(k)).collect::<Option<Vec<_>>>()?;
            if here.iter().all(|piece| **piece == (*is_number, *text)) {
                out.push_str(text);
                continue;
            }
            let numbers = here.iter().map(|(_, text)| number(text)).collect::<Option<Vec<_>>>()?;
            let before = out.trim_end().chars().last();
            let after = pieces[0].get(k + 1).and_then(|(_, text)| text.chars().next());
            let beside = matches!(before, Some('-' | '*')) || after == Some('*');
            out.push_str(&fitted(&numbers, &fitting, &sizes)?.words(&names, beside));
        }
        (pieces.iter().all(|all| all.len() == pieces[0].len())).then_some(out)
    }
}

impl fmt::Display for SizedProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.with_expressions() {
            return f.write_str(&text);
        }
        let sizes: Vec<usize> = self.least().map(|least| least.max(FROM)).collect();
        match self.at(&sizes) {
            Ok(program) => write!(f, "at {}: {program}", sizes_in_words(self.named_sizes(), &sizes)),
            Err(fact) => f.write_str(&fact),
        }
    }
}
