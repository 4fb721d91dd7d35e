//! The text of a function: names of values, types and lines.
//!
//! Laws: every value has one name and is defined before its use; equal operations on equal operands are one line; the
//! text depends on the program alone.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

use crate::dtype::DType;
use crate::escape;
use crate::shape::Shape;
use crate::source::Place;

/// An element type of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ty {
    F64,
    F32,
    I64,
    I32,
    Bool,
    /// Complex numbers of two `f64`.
    C128,
    /// Complex numbers of two `f32`.
    C64,
}

impl Ty {
    pub(super) fn of(dtype: DType) -> Ty {
        match dtype {
            DType::F64 => Ty::F64,
            DType::F32 => Ty::F32,
            DType::I64 => Ty::I64,
            DType::Bool => Ty::Bool,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Ty::F64 => "f64",
            Ty::F32 => "f32",
            Ty::I64 => "i64",
            Ty::I32 => "i32",
            Ty::Bool => "i1",
            Ty::C128 => "complex<f64>",
            Ty::C64 => "complex<f32>",
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Ty::F64 | Ty::F32)
    }

    /// The integer type with as many bits as a float.
    pub(super) fn bits(self) -> Ty {
        match self {
            Ty::F64 | Ty::C128 => Ty::I64,
            Ty::F32 | Ty::C64 => Ty::I32,
            Ty::I64 | Ty::I32 | Ty::Bool => self,
        }
    }

    /// The complex type of two floats of this type.
    pub(super) fn complex(self) -> Ty {
        if self == Ty::F32 { Ty::C64 } else { Ty::C128 }
    }
}

/// The type of a tensor: `tensor<2x3xf64>`.
pub(super) fn tensor(shape: &[usize], ty: Ty) -> String {
    let mut text = String::from("tensor<");
    for n in shape {
        // Writing to a string does not fail.
        let _ = write!(text, "{n}x");
    }
    text + ty.name() + ">"
}

/// `a, b, c`.
pub(super) fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for (k, item) in items.into_iter().enumerate() {
        let _ = write!(text, "{}{item}", if k > 0 { ", " } else { "" });
    }
    text
}

/// A value of a function.
#[derive(Clone, Debug)]
pub(super) struct HloValue {
    pub(super) name: Rc<str>,
    pub(super) shape: Shape,
    pub(super) ty: Ty,
}

impl HloValue {
    /// The type of the value.
    pub(super) fn tensor(&self) -> String {
        tensor(&self.shape, self.ty)
    }
}

/// The names of values, `a, b`.
pub(super) fn names<'a>(values: impl IntoIterator<Item = &'a HloValue>) -> String {
    list(values.into_iter().map(|v| &v.name))
}

/// The types of values, `tensor<f64>, tensor<2xi64>`.
pub(super) fn types<'a>(values: impl IntoIterator<Item = &'a HloValue>) -> String {
    list(values.into_iter().map(HloValue::tensor))
}

/// The lines of a function or of a region in it.
#[derive(Default)]
pub(super) struct Region {
    text: String,
    /// The number of the next value.
    next: usize,
    /// The depth of the indentation of lines.
    depth: usize,
    /// The end of the next lines: the source location of the operation that they belong to.
    place: String,
    /// The values of lines by the text right of the equality sign: a lookup table, never iterated over.
    known: HashMap<String, HloValue>,
    /// The composition of some values, by name, for operations that can use the parts instead.
    made: HashMap<Rc<str>, Composed>,
}

/// The composition of a value.
#[derive(Clone)]
pub(super) enum Composed {
    /// A value padded with zeros: the numbers before and after it along each axis.
    Padded(HloValue, Vec<[usize; 2]>),
    /// Ones where a mask holds, and zeros elsewhere.
    OfMask(HloValue),
}

impl Region {
    /// The code of a function, with its lines inside two pairs of braces.
    pub(super) fn function() -> Region {
        Region { depth: 2, ..Region::default() }
    }

    /// Sets the source location of the next lines.
    pub(super) fn at_place(&mut self, place: &Place) {
        self.place = match &place.at {
            Some(at) => format!(" loc(\"{}\":{}:{})", escape::mlir(at.file()), at.line(), at.column()),
            None => String::new(),
        };
    }

    /// A value with a new name, which the caller defines.
    pub(super) fn argument(&mut self, shape: &[usize], ty: Ty) -> HloValue {
        self.next += 1;
        HloValue { name: format!("%{}", self.next - 1).into(), shape: Shape::from_slice(shape), ty }
    }

    /// Appends a line.
    pub(super) fn line(&mut self, line: &str) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// The result of an operation: of a new line, unless an equal one exists.
    pub(super) fn op(&mut self, text: String, shape: &[usize], ty: Ty) -> HloValue {
        let text = format!("{text}{}", tensor(shape, ty));
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let value = self.argument(shape, ty);
        self.line(&format!("{} = {text}{}", value.name, self.place));
        self.known.insert(text, value.clone());
        value
    }

    /// Records the composition of a value.
    pub(super) fn remember(&mut self, value: &HloValue, origin: Composed) {
        self.made.insert(value.name.clone(), origin);
    }

    /// The composition of a value, if it was recorded.
    pub(super) fn origin(&self, value: &HloValue) -> Option<Composed> {
        self.made.get(&value.name).cloned()
    }

    /// The results of an operation that has several, or whose text has several lines.
    pub(super) fn results(&mut self, text: &str, kinds: &[(Shape, Ty)]) -> Vec<HloValue> {
        let name = format!("%{}", self.next);
        self.next += 1;
        let count = kinds.len();
        let left = if count == 1 { name.clone() } else { format!("{name}:{count}") };
        self.line(&format!("{left} = {text}{}", self.place));
        let value = |(k, (shape, ty)): (usize, &(Shape, Ty))| {
            let name = if count == 1 { name.as_str().into() } else { format!("{name}#{k}").into() };
            HloValue { name, shape: shape.clone(), ty: *ty }
        };
        kinds.iter().enumerate().map(value).collect()
    }

    /// The lines of a region, each with its line break; the region may use the values of the code around it.
    pub(super) fn region(&mut self, make: impl FnOnce(&mut Region)) -> String {
        self.region_with(make).0
    }

    /// Those lines, with what belongs to them.
    fn region_with<R>(&mut self, make: impl FnOnce(&mut Region) -> R) -> (String, R) {
        let mut inner =
            Region { next: self.next, depth: self.depth + 1, place: self.place.clone(), ..Region::default() };
        let with = make(&mut inner);
        self.next = inner.next;
        (inner.text, with)
    }

    /// The lines of a region, which takes numbers of these types, and the arguments.
    pub(super) fn region_of<const N: usize>(
        &mut self,
        types: [Ty; N],
        make: impl FnOnce(&mut Region, &[HloValue; N]),
    ) -> (String, [HloValue; N]) {
        self.region_with(|code| {
            let arguments = types.map(|ty| code.argument(&[], ty));
            make(code, &arguments);
            arguments
        })
    }

    /// The indentation of the lines.
    pub(super) fn indent(&self) -> String {
        "  ".repeat(self.depth)
    }

    /// Appends the last line of a region, which returns values.
    pub(super) fn give(&mut self, values: &[&HloValue]) {
        let line = format!("stablehlo.return {} : {}", names(values.iter().copied()), types(values.iter().copied()));
        self.line(&line);
    }

    /// The lines of a function, without operations whose value no other line reads.
    pub(super) fn finish(self) -> String {
        let single: HashSet<&str> = self.known.values().map(|value| &value.name[1..]).collect();
        let (mut read, mut kept) = (HashSet::new(), Vec::new());
        for line in self.text.lines().rev() {
            let names: Vec<&str> = line.split('%').skip(1).map(name_at).collect();
            let defined = line.trim_start().starts_with('%').then(|| names[0]).filter(|name| single.contains(name));
            if defined.is_none_or(|name| read.contains(name)) {
                read.extend(names);
                kept.push(line);
            }
        }
        kept.into_iter().rev().flat_map(|line| [line, "\n"]).collect()
    }
}

/// The name at the start of a text, without its number among several results.
fn name_at(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}
