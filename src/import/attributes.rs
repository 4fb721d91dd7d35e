//! Attributes of operations.
//!
//! Law: an attribute of no meaning here is skipped as a whole; one whose meaning counts is read by the name that the
//! generic form gives it.

use super::literal::{DenseLiteral, parse_literal};
use super::text::{Cursor, Read};
use super::types::{DEEPEST, parse_type};

/// The most integers of an attribute; one number may stand for more.
const MOST_INTEGERS: usize = 1 << 16;

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(super) enum Attribute {
    Int(i64),
    Float(f64),
    /// A string, or the name of a function.
    Name(String),
    /// A word: `LT`, `true`, the last word of `#stablehlo<precision DEFAULT>`.
    Word(String),
    List(Vec<Attribute>),
    Dict(Vec<(String, Attribute)>),
    Literal(Box<DenseLiteral>),
    /// `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`.
    Dimensions(Box<[Vec<String>; 3]>),
    /// Skipped.
    Other,
}

impl Attribute {
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Attribute::Int(n) => Some(*n),
            Attribute::Word(word) if word == "true" => Some(1),
            Attribute::Word(word) if word == "false" => Some(0),
            Attribute::Literal(l) if l.re.size() == 1 => l.re.to_vec::<i64>().ok()?.first().copied(),
            _ => None,
        }
    }

    pub(super) fn words(&self) -> Option<&str> {
        match self {
            Attribute::Word(word) | Attribute::Name(word) => Some(word),
            _ => None,
        }
    }

    /// Integers: of a list, nested or not, or a literal.
    pub(super) fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Attribute::List(items) => {
                let mut all = Vec::with_capacity(items.len());
                for item in items {
                    match item {
                        Attribute::List(_) => all.extend(item.ints()?),
                        item => all.push(item.int()?),
                    }
                }
                Some(all)
            }
            Attribute::Literal(l) if l.re.size() > MOST_INTEGERS => None,
            Attribute::Literal(l) => match l.re.to_vec::<i64>() {
                Ok(all) => Some(all),
                Err(_) => Some(l.re.to_vec::<bool>().ok()?.into_iter().map(i64::from).collect()),
            },
            _ => None,
        }
    }
}

/// The attribute of this name.
pub(super) fn find<'a>(attributes: &'a [(String, Attribute)], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value)
}

/// A list of attributes in braces, after the opening one: `name = value, name`.
pub(super) fn parse_dict(c: &mut Cursor<'_>, close: &str, depth: usize) -> Read<Vec<(String, Attribute)>> {
    let mut all = Vec::new();
    loop {
        if c.take(close) {
            return Ok(all);
        }
        if !all.is_empty() {
            c.expect(",")?;
        }
        let name =
            if c.peek() == Some(b'"') { c.string()? } else { c.some_word("the name of an attribute")?.to_owned() };
        let value = if c.take("=") { parse_attribute(c, depth)? } else { Attribute::Word("true".into()) };
        all.push((name, value));
    }
}

fn list(c: &mut Cursor<'_>, depth: usize) -> Read<Attribute> {
    let mut items = Vec::new();
    while !c.take("]") {
        if !items.is_empty() {
            c.expect(",")?;
        }
        items.push(parse_attribute(c, depth)?);
    }
    Ok(Attribute::List(items))
}

/// The numbers of dimensions of a convolution, after the first bracket was seen.
pub(super) fn parse_dimensions(c: &mut Cursor<'_>) -> Read<Attribute> {
    let mut three: [Vec<String>; 3] = Default::default();
    for (k, names) in three.iter_mut().enumerate() {
        match k {
            1 => c.expect("x")?,
            2 => c.expect("->")?,
            _ => {}
        }
        c.expect("[")?;
        while !c.take("]") {
            if !names.is_empty() {
                c.expect(",")?;
            }
            names.push(c.some_word("a dimension")?.to_owned());
        }
    }
    Ok(Attribute::Dimensions(Box::new(three)))
}

/// An attribute of a dialect, from `#` on.
fn of_dialect(c: &mut Cursor<'_>, depth: usize) -> Read<Attribute> {
    let name = c.name()?;
    if c.here() != Some(b'<') {
        return Ok(Attribute::Other);
    }
    let ours = matches!(name.as_str(), "stablehlo" | "chlo" | "mhlo")
        || name.starts_with("stablehlo.")
        || name.starts_with("chlo.");
    if !ours {
        c.skip_balanced()?;
        return Ok(Attribute::Other);
    }
    c.expect("<")?;
    if name.ends_with(".conv") {
        let dimensions = parse_dimensions(c)?;
        c.expect(">")?;
        return Ok(dimensions);
    }
    if name.contains('.') {
        return Ok(Attribute::Dict(parse_dict(c, ">", depth)?));
    }
    // `#stablehlo<comparison_direction LT>`.
    let mut last = String::new();
    while !c.take(">") {
        last = c.some_word("a word")?.to_owned();
    }
    Ok(Attribute::Word(last))
}

/// The value of an attribute.
pub(super) fn parse_attribute(c: &mut Cursor<'_>, depth: usize) -> Read<Attribute> {
    if depth > DEEPEST {
        return c.error("attributes are nested too deeply");
    }
    let value = match c.peek() {
        Some(b'"') => Attribute::Name(c.string()?),
        Some(b'@') => {
            let name = c.name()?;
            while c.take("::") {
                c.peek();
                c.name()?;
            }
            Attribute::Name(name)
        }
        Some(b'#') => of_dialect(c, depth + 1)?,
        Some(b'[') => {
            c.at += 1;
            list(c, depth + 1)?
        }
        Some(b'{') => {
            c.at += 1;
            Attribute::Dict(parse_dict(c, "}", depth + 1)?)
        }
        Some(b'(') => {
            // A type of functions.
            c.skip_balanced()?;
            if c.take("->") {
                match c.peek() {
                    Some(b'(') => c.skip_balanced()?,
                    _ => drop(parse_type(c, depth)?),
                }
            }
            Attribute::Other
        }
        Some(b'!') => {
            c.name()?;
            if c.here() == Some(b'<') {
                c.skip_balanced()?;
            }
            Attribute::Other
        }
        Some(d) if d.is_ascii_digit() || matches!(d, b'-' | b'+') => {
            let at = c.at;
            let word = c.number();
            if let Ok(n) = word.parse() {
                Attribute::Int(n)
            } else if word.starts_with("0x") {
                super::literal::wide(word).map_or(Attribute::Other, Attribute::Int)
            } else if let Ok(x) = word.parse() {
                Attribute::Float(x)
            } else {
                c.at = at;
                return c.error("expected a number");
            }
        }
        _ if c.take("dense<") => return Ok(Attribute::Literal(Box::new(parse_literal(c)?.0))),
        _ if c.take("array<") => {
            c.some_word("an element type")?;
            let mut items = Vec::new();
            if c.take(":") {
                while c.peek() != Some(b'>') {
                    if !items.is_empty() {
                        c.expect(",")?;
                    }
                    items.push(parse_attribute(c, depth + 1)?);
                }
            }
            c.expect(">")?;
            return Ok(Attribute::List(items));
        }
        _ if c.take("dense_resource<") => {
            return c.error("elements in a resource are not read; export them in the text");
        }
        _ if c.text[c.at..].starts_with("tensor<") || c.text[c.at..].starts_with("tuple<") => {
            parse_type(c, depth)?;
            Attribute::Other
        }
        _ => Attribute::Word(c.some_word("an attribute")?.to_owned()),
    };
    // The type of a number: a word. The types of an operation follow a colon, too.
    if let Attribute::Int(_) | Attribute::Float(_) = value {
        let start = c.at;
        if c.take(":") {
            let scalar = c.peek().is_some_and(|c| c.is_ascii_alphabetic());
            let rest = &c.text[c.at..];
            if scalar && !rest.starts_with("tensor<") && !rest.starts_with("tuple<") && !rest.starts_with("complex<") {
                parse_type(c, depth)?;
            } else {
                c.at = start;
            }
        }
    }
    Ok(value)
}
