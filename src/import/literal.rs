//! Elements of `dense<..>`: lists of numbers, one number for all, or bytes in hexadecimal digits.
//!
//! Law: the elements are those that MLIR reads: a number with `0x` is the bits of a float, little-endian in a string.

use super::text::{Cursor, Read};
use super::types::Element;
use crate::array::{Array, Values};
use crate::shape::{Shape, size};

/// The elements of a literal: one array, two for complex numbers.
#[derive(Clone, Debug)]
pub(super) struct DenseLiteral {
    pub(super) re: Array,
    pub(super) im: Option<Array>,
    /// The smallest and the largest element, of integers and masks.
    pub(super) range: Option<(i64, i64)>,
}

impl DenseLiteral {
    fn real(re: Array) -> DenseLiteral {
        let range = match (re.size(), re.values::<i64>(), re.values::<bool>()) {
            (0, ..) => None,
            (_, Some(Values::Splat(n)), _) => Some((n, n)),
            (_, Some(Values::Dense(all)), _) => all.iter().copied().min().zip(all.iter().copied().max()),
            (_, _, Some(Values::Splat(mask))) => Some((i64::from(mask), i64::from(mask))),
            _ => None,
        };
        DenseLiteral { re, im: None, range }
    }
}

/// A number as it was written, before its type is known.
enum LiteralElements<'a> {
    Words(Vec<&'a str>),
    Bytes(Vec<u8>),
}

/// An integer of 64 bits: decimal up to that of `ui64`, or hexadecimal.
pub(super) fn wide(word: &str) -> Option<i64> {
    let (minus, digits) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
    let n = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if minus => return word.parse().ok(),
        None => digits.parse().ok()?,
    };
    Some(if minus { (n as i64).wrapping_neg() } else { n as i64 })
}

/// `f16` by its bits.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 31, f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        e => (1024.0 + fraction) * 2f32.powi(i32::from(e) - 25),
    };
    if sign == 1 { -size } else { size }
}

/// The float with these bits.
pub(super) fn of_bits(bits: u64, element: Element) -> f64 {
    match element {
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::F16 => f64::from(half(bits as u16)),
        Element::BF16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Element::F64 | Element::Bool | Element::Int { .. } => f64::from_bits(bits),
        Element::Complex64 | Element::Complex128 => f64::from_bits(bits),
    }
}

/// A float as written, in its precision.
fn float(word: &str, element: Element) -> Option<f64> {
    if let Some(hex) = word.strip_prefix("0x") {
        return Some(of_bits(u64::from_str_radix(hex, 16).ok()?, element));
    }
    if !word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match element {
        Element::F32 => Some(f64::from(word.parse::<f32>().ok()?)),
        Element::F16 | Element::BF16 => {
            let x = word.parse::<f32>().ok()?;
            Some(f64::from(super::numbers::rounded_number(x, element)))
        }
        Element::F64 | Element::Bool | Element::Int { .. } => word.parse().ok(),
        Element::Complex64 | Element::Complex128 => None,
    }
}

fn floats(words: &[&str], element: Element) -> Option<Vec<f64>> {
    words.iter().map(|word| float(word, element)).collect()
}

fn integer(word: &str, element: Element) -> Option<i64> {
    let n = match word {
        "true" => 1,
        "false" => 0,
        word => wide(word)?,
    };
    Some(super::numbers::wrapped_number(n, element))
}

/// Numbers as an array of this shape, one for all or as many as it has elements.
fn array(shape: &Shape, element: Element, floats: Vec<f64>, ints: Vec<i64>) -> Option<Array> {
    let n = floats.len().max(ints.len());
    let all = n == 1 && size(shape) != 1;
    if !all && n != size(shape) {
        return None;
    }
    Some(match (element.part(), all) {
        (Element::F64, true) => Array::full(shape, floats[0]),
        (Element::F64, false) => Array::new(shape, floats),
        (Element::F32 | Element::F16 | Element::BF16, true) => Array::full(shape, floats[0] as f32),
        (Element::F32 | Element::F16 | Element::BF16, false) => {
            Array::new(shape, floats.into_iter().map(|x| x as f32).collect())
        }
        (Element::Bool, true) => Array::full(shape, ints[0] != 0),
        (Element::Bool, false) => Array::new(shape, ints.into_iter().map(|n| n != 0).collect()),
        (_, true) => Array::full(shape, ints[0]),
        (_, false) => Array::new(shape, ints),
    })
}

fn of_words(words: &[&str], complex: bool, shape: &Shape, element: Element) -> Option<DenseLiteral> {
    let part = element.part();
    if element.is_complex() {
        if !complex || words.len() % 2 == 1 {
            return None;
        }
        let [re, im] = [0, 1].map(|k| words.iter().skip(k).step_by(2).copied().collect::<Vec<_>>());
        let [re, im] = [re, im].map(|words| array(shape, part, floats(&words, part)?, Vec::new()));
        return Some(DenseLiteral { re: re?, im: Some(im?), range: None });
    }
    let re = if element.is_float() {
        array(shape, element, floats(words, element)?, Vec::new())?
    } else {
        let ints = words.iter().map(|word| integer(word, element)).collect::<Option<Vec<_>>>()?;
        array(shape, element, Vec::new(), ints)?
    };
    Some(DenseLiteral::real(re))
}

fn of_bytes(bytes: &[u8], shape: &Shape, element: Element) -> Option<DenseLiteral> {
    if element == Element::Bool {
        // A byte for each mask, or for eight of them; one byte of ones for all.
        let n = size(shape);
        let bits: Vec<i64> = match bytes {
            [255] => vec![1],
            [0] => vec![0],
            bytes if bytes.len() == n => bytes.iter().map(|b| i64::from(*b != 0)).collect(),
            bytes if bytes.len() == n.div_ceil(8) => (0..n).map(|k| i64::from(bytes[k / 8] >> (k % 8) & 1)).collect(),
            _ => return None,
        };
        return Some(DenseLiteral::real(array(shape, element, Vec::new(), bits)?));
    }
    let part = element.part();
    let width = (part.bits() as usize).div_ceil(8);
    if !bytes.len().is_multiple_of(width) {
        return None;
    }
    let words =
        bytes.chunks_exact(width).map(|chunk| chunk.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte)));
    if element.is_complex() {
        let all: Vec<f64> = words.map(|bits| of_bits(bits, part)).collect();
        if all.len() % 2 == 1 {
            return None;
        }
        let [re, im] = [0, 1].map(|k| array(shape, part, all.iter().skip(k).step_by(2).copied().collect(), Vec::new()));
        return Some(DenseLiteral { re: re?, im: Some(im?), range: None });
    }
    let re = if element.is_float() {
        array(shape, element, words.map(|bits| of_bits(bits, element)).collect(), Vec::new())?
    } else {
        let ints = words.map(|n| super::numbers::wrapped_number(n as i64, element)).collect();
        array(shape, element, Vec::new(), ints)?
    };
    Some(DenseLiteral::real(re))
}

/// What stands between `dense<` and its end, which is skipped. Numbers of complex elements are in parentheses.
fn elements<'a>(c: &mut Cursor<'a>) -> Read<(LiteralElements<'a>, bool)> {
    if c.peek() == Some(b'"') {
        let at = c.at;
        c.at += 1;
        let rest = &c.text[c.at..];
        let Some(end) = rest.find('"') else { return c.error("a string without its end") };
        c.at += end + 1;
        let Some(digits) = rest[..end].strip_prefix("0x").map(str::as_bytes) else {
            c.at = at;
            return c.error("expected `0x` and hexadecimal digits");
        };
        let digit = |d: u8| (d as char).to_digit(16).map(|d| d as u8);
        let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
        let Some(bytes) = digits.chunks(2).map(pair).collect() else {
            c.at = at;
            return c.error("expected pairs of hexadecimal digits");
        };
        c.expect(">")?;
        return Ok((LiteralElements::Bytes(bytes), false));
    }
    let (mut words, mut depth, mut complex) = (Vec::new(), 0usize, false);
    loop {
        match c.peek() {
            Some(b'>') if depth == 0 => break,
            Some(b'[' | b'(') => {
                complex |= c.here() == Some(b'(');
                depth += 1;
                c.at += 1;
            }
            Some(b']' | b')') if depth > 0 => {
                depth -= 1;
                c.at += 1;
            }
            Some(b',') => c.at += 1,
            Some(d) if d.is_ascii_alphanumeric() || matches!(d, b'-' | b'+' | b'.') => {
                let word = c.number();
                if word.is_empty() {
                    return c.error("expected a number");
                }
                words.push(word);
            }
            _ => return c.error("expected a number, or the end of the elements"),
        }
    }
    c.expect(">")?;
    Ok((LiteralElements::Words(words), complex))
}

/// The rest of a literal, after `dense<`: elements and a type.
pub(super) fn parse_literal(c: &mut Cursor<'_>) -> Read<(DenseLiteral, Shape, Element)> {
    let start = c.at;
    let (elements, complex) = elements(c)?;
    c.expect(":")?;
    let ty = super::types::parse_type(c, 0)?;
    let Some((shape, element)) = ty.fixed() else {
        c.at = start;
        return c.error("the elements of a constant need a tensor of a fixed shape");
    };
    let found = match &elements {
        LiteralElements::Words(words) => of_words(words, complex, &shape, element),
        LiteralElements::Bytes(bytes) => of_bytes(bytes, &shape, element),
    };
    match found {
        Some(literal) => Ok((literal, shape, element)),
        None => {
            c.at = start;
            c.error(format!("the elements do not fit {ty}"))
        }
    }
}
