//! Types of the text: tensors of an element type, tuples, tokens.

use std::fmt;

use super::text::{Cursor, Read};
use crate::dtype::DType;
use crate::shape::{Shape, is_possible};

/// The element type of a tensor in a module.
///
/// Integers of all widths are held as `i64`, wrapped to their width; `f16` and `bf16` as `f32`, rounded after each
/// operation; complex numbers as two tensors.
///
/// Example: [`Module::signature`](super::Module::signature).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Element {
    /// `f64`.
    F64,
    /// `f32`.
    F32,
    /// `f16`.
    F16,
    /// `bf16`.
    BF16,
    /// `i1`: masks.
    Bool,
    /// Integers of this many bits.
    Int {
        /// The number of bits: 2, 4, 8, 16, 32 or 64.
        bits: u32,
        /// Whether there are negative numbers.
        signed: bool,
    },
    /// Complex numbers of two `f32`.
    Complex64,
    /// Complex numbers of two `f64`.
    Complex128,
}

impl Element {
    pub(super) const I64: Element = Element::Int { bits: 64, signed: true };
    pub(super) const I32: Element = Element::Int { bits: 32, signed: true };

    pub(super) fn of(name: &str) -> Option<Element> {
        let int = |digits: &str, signed| match digits {
            "2" | "4" | "8" | "16" | "32" | "64" => Some(Element::Int { bits: digits.parse().ok()?, signed }),
            _ => None,
        };
        match name {
            "f64" => Some(Element::F64),
            "f32" => Some(Element::F32),
            "f16" => Some(Element::F16),
            "bf16" => Some(Element::BF16),
            "i1" => Some(Element::Bool),
            "index" => Some(Element::I64),
            "complex<f32>" => Some(Element::Complex64),
            "complex<f64>" => Some(Element::Complex128),
            _ => match (name.strip_prefix("ui"), name.strip_prefix("si"), name.strip_prefix('i')) {
                (Some(digits), ..) => int(digits, false),
                (_, Some(digits), _) | (.., Some(digits)) => int(digits, true),
                _ => None,
            },
        }
    }

    /// The element type of the tensor that holds it, or each of both parts of it.
    ///
    /// Example: [`Module::signature`](super::Module::signature).
    pub fn dtype(self) -> DType {
        match self {
            Element::F64 | Element::Complex128 => DType::F64,
            Element::F32 | Element::F16 | Element::BF16 | Element::Complex64 => DType::F32,
            Element::Bool => DType::Bool,
            Element::Int { .. } => DType::I64,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Element::F64 | Element::F32 | Element::F16 | Element::BF16)
    }

    pub(super) fn is_complex(self) -> bool {
        matches!(self, Element::Complex64 | Element::Complex128)
    }

    pub(super) fn is_int(self) -> bool {
        matches!(self, Element::Int { .. })
    }

    /// The number of bits of an element.
    pub(super) fn bits(self) -> u32 {
        match self {
            Element::F64 | Element::Complex64 => 64,
            Element::F32 => 32,
            Element::F16 | Element::BF16 => 16,
            Element::Bool => 1,
            Element::Int { bits, .. } => bits,
            Element::Complex128 => 128,
        }
    }

    /// The type of each part.
    pub(super) fn part(self) -> Element {
        match self {
            Element::Complex128 => Element::F64,
            Element::Complex64 => Element::F32,
            Element::F64 | Element::F32 | Element::F16 | Element::BF16 | Element::Bool | Element::Int { .. } => self,
        }
    }

    /// The smallest and the largest number of an integer type, those of `i64` for `ui64`, which is held as such.
    pub(super) fn limits(self) -> Option<(i64, i64)> {
        match self {
            Element::Bool => Some((0, 1)),
            Element::Int { bits: 64, .. } => Some((i64::MIN, i64::MAX)),
            Element::Int { bits, signed: true } => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Element::Int { bits, signed: false } => Some((0, (1 << bits) - 1)),
            Element::F64 | Element::F32 | Element::F16 | Element::BF16 => None,
            Element::Complex64 | Element::Complex128 => None,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::F64 => f.write_str("f64"),
            Element::F32 => f.write_str("f32"),
            Element::F16 => f.write_str("f16"),
            Element::BF16 => f.write_str("bf16"),
            Element::Bool => f.write_str("i1"),
            Element::Int { bits, signed } => write!(f, "{}{bits}", if *signed { "i" } else { "ui" }),
            Element::Complex64 => f.write_str("complex<f32>"),
            Element::Complex128 => f.write_str("complex<f64>"),
        }
    }
}

/// The type of a value of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Tensor {
        /// A size that the text leaves open is `None`.
        shape: Vec<Option<usize>>,
        element: Element,
    },
    Tuple(Vec<Type>),
    Token,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor { shape, element } => {
                f.write_str("tensor<")?;
                for n in shape {
                    match n {
                        Some(n) => write!(f, "{n}x")?,
                        None => f.write_str("?x")?,
                    }
                }
                write!(f, "{element}>")
            }
            Type::Tuple(parts) => write!(f, "a tuple of {}", parts.len()),
            Type::Token => f.write_str("a token"),
        }
    }
}

impl Type {
    /// The shape, if this is a tensor all of whose sizes are known.
    pub(super) fn fixed(&self) -> Option<(Shape, Element)> {
        let Type::Tensor { shape, element } = self else { return None };
        Some((shape.iter().copied().collect::<Option<Shape>>()?, *element))
    }
}

/// The deepest nesting of types and attributes.
pub(super) const DEEPEST: usize = 32;

/// A type.
pub(super) fn parse_type(c: &mut Cursor<'_>, depth: usize) -> Read<Type> {
    if depth > DEEPEST {
        return c.error("types are nested too deeply");
    }
    if c.take("tensor<") {
        return tensor(c);
    }
    if c.take("tuple<") {
        let mut parts = Vec::new();
        while !c.take(">") {
            if !parts.is_empty() {
                c.expect(",")?;
            }
            parts.push(parse_type(c, depth + 1)?);
        }
        return Ok(Type::Tuple(parts));
    }
    if c.take("!stablehlo.token") {
        return Ok(Type::Token);
    }
    // A number of an attribute.
    let start = c.at;
    let word = c.word();
    match Element::of(word) {
        Some(element) => Ok(Type::Tensor { shape: Vec::new(), element }),
        None => {
            c.at = start;
            c.error("expected a type: a tensor, a tuple or a token")
        }
    }
}

/// The rest of a tensor type, after `tensor<`.
fn tensor(c: &mut Cursor<'_>) -> Read<Type> {
    let mut shape = Vec::new();
    let start = c.at;
    loop {
        if c.take("?") {
            shape.push(None);
            c.expect("x")?;
        } else if c.peek().is_some_and(|c| c.is_ascii_digit()) {
            match c.digits().parse::<usize>() {
                Ok(n) => shape.push(Some(n)),
                Err(_) => return c.error("expected a size"),
            }
            c.expect("x")?;
        } else {
            break;
        }
        if shape.len() > crate::shape::MAX_RANK {
            return c.error("a tensor with too many axes");
        }
    }
    let at = c.at;
    let mut name = c.word().to_owned();
    if name == "complex" {
        c.expect("<")?;
        name = format!("complex<{}>", c.word());
        c.expect(">")?;
    }
    let Some(element) = Element::of(&name) else {
        c.at = at;
        return c.error(format!("an element type that is not known: {}", crate::escape::quoted(&name)));
    };
    // Bounds of dynamic sizes, and encodings.
    if c.take(",") {
        while c.here().is_some_and(|c| c != b'>') {
            match c.here() {
                Some(b'<' | b'[' | b'{' | b'(' | b'"') => c.skip_balanced()?,
                _ => c.at += 1,
            }
        }
    }
    c.expect(">")?;
    if !is_possible(&shape.iter().map(|n| n.unwrap_or(1)).collect::<Vec<_>>()) {
        c.at = start;
        return c.error("no array can have this shape");
    }
    Ok(Type::Tensor { shape, element })
}
