//! Printing of arrays: `Display` for readers, `Debug` to distinguish values.
//!
//! Law: the printed text is bounded for each rank. Of more than 1000 elements, only the first and the last three along
//! each axis are read, so the time does not depend on the sizes of the axes.

use std::fmt::{self, Write};

use super::{Array, with_elem};
use crate::dtype::{DType, Elem, Float};
use crate::shape::{Show, strides};

/// The largest number of elements that are all printed.
const THRESHOLD: usize = 1000;
/// The number of items that are shown at each end of an abbreviated axis.
const EDGE: usize = 3;
/// The width of lines, in characters, at which `Display` breaks rows.
const COLUMNS: usize = 80;
/// The largest number of decimals that `Display` shows unless a precision is given.
const DECIMALS: usize = 8;

/// Nested brackets with aligned columns, as NumPy prints.
///
/// All floats of an array have the same number of decimals: as many as the elements need, at most 8, or the given
/// precision (`{:.3}`). Without a precision, if a nonzero absolute value is at least 1e8 or less than 1e-4, all
/// floats are printed with an exponent; [`LowerExp`](fmt::LowerExp) prints one in every case. More than 1000 elements
/// are abbreviated with `...`. A rank-0 array prints as its number, in full; an empty array as `[]` with its shape.
///
/// ```
/// use polygrad::Array;
/// assert_eq!(Array::from([[1.0, 2.5], [-3.0, 4.0]]).to_string(), "[[ 1.0  2.5]\n [-3.0  4.0]]");
/// assert_eq!(format!("{:.3} {:.2e}", Array::from(2.0), Array::from(0.0123)), "2.000 1.23e-2");
/// ```
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, false)
    }
}

/// As by [`Display`](fmt::Display), each number with an exponent: `{:e}` with as many decimals as the elements need, at
/// most 8, `{:.2e}` with two. Masks have none.
impl fmt::LowerExp for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, true)
    }
}

/// One line, `Array(f64, [2, 2], [[1.0, 2.5], [-3.0, 4.0]])`: element type, shape, and the elements in full precision;
/// more than 1000 elements are abbreviated.
impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Array({}, {}, {})", self.dtype(), Show(self.shape()), self.in_line())
    }
}

impl Array {
    /// The brackets and the numbers, with exponents where they are asked for or needed.
    fn print(&self, f: &mut fmt::Formatter<'_>, exponent: bool) -> fmt::Result {
        match self {
            Array::F64(x) => return number(f, x, exponent),
            Array::F32(x) => return number(f, x, exponent),
            Array::I64(x) if exponent => return fmt::LowerExp::fmt(x, f),
            Array::I64(x) => return f.pad(&x.to_string()),
            Array::Bool(x) => return f.pad(&x.to_string()),
            Array::Shared(_) if self.size() == 0 => return write!(f, "[] (shape {})", Show(self.shape())),
            Array::Shared(_) => {}
        }
        let (visible, precision) = (Visible::of(self), f.precision());
        let words = match self.dtype() {
            DType::F64 => float_words(&visible.elements::<f64>(self), precision, exponent),
            DType::F32 => float_words(&visible.elements::<f32>(self), precision, exponent),
            DType::I64 if exponent => exponents(&visible.elements::<i64>(self), precision),
            DType::I64 => visible.elements::<i64>(self).iter().map(i64::to_string).collect(),
            DType::Bool => visible.elements::<bool>(self).iter().map(bool::to_string).collect(),
        };
        let width = words.iter().map(String::len).max().unwrap_or(0);
        visible.write_block(f, &mut Words { rest: words.iter(), width }, 0)
    }

    /// The elements on one line, in full precision: `[[1.0, 2.5], [-3.0, 4.0]]`.
    pub(crate) fn in_line(&self) -> InLine<'_> {
        InLine(self)
    }
}

/// The elements of an array on one line.
pub(crate) struct InLine<'a>(&'a Array);

impl fmt::Display for InLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let visible = Visible::of(self.0);
        let words: Vec<String> = with_elem!(self.0.dtype(), E => {
            visible.elements::<E>(self.0).iter().map(|x| format!("{x:?}")).collect()
        });
        visible.write_line(f, &mut Words { rest: words.iter(), width: 0 }, 0)
    }
}

/// Two arrays of floats of one shape, printed as complex numbers: `1.0-2.5i`.
pub(crate) struct ComplexText<'a> {
    pub(crate) re: &'a Array,
    pub(crate) im: &'a Array,
}

impl ComplexText<'_> {
    /// The texts of the visible elements; the parts by a function for each float type.
    fn words(&self, visible: &Visible, texts: impl Fn(&Visible, &Array) -> Vec<String>) -> Vec<String> {
        let (re, im) = (texts(visible, self.re), texts(visible, self.im));
        re.into_iter()
            .zip(im)
            .map(|(re, im)| format!("{re}{}{im}i", if im.starts_with('-') { "" } else { "+" }))
            .collect()
    }

    /// The brackets and the numbers, with exponents where they are asked for or needed.
    fn print(&self, f: &mut fmt::Formatter<'_>, exponent: bool) -> fmt::Result {
        if self.re.size() == 0 {
            return fmt::Display::fmt(self.re, f);
        }
        let (visible, precision) = (Visible::of(self.re), f.precision());
        let is_scalar = self.re.shape().is_empty();
        let words = self.words(&visible, |visible, part| match part.dtype() {
            _ if is_scalar && precision.is_none() && exponent => vec![format!("{part:e}")],
            _ if is_scalar && precision.is_none() => vec![part.to_string()],
            DType::F32 => float_words(&visible.elements::<f32>(part), precision, exponent),
            DType::F64 | DType::I64 | DType::Bool => float_words(&visible.elements::<f64>(part), precision, exponent),
        });
        let width = words.iter().map(String::len).max().unwrap_or(0);
        let mut words = Words { rest: words.iter(), width };
        if is_scalar { f.write_str(&words.next_padded()) } else { visible.write_block(f, &mut words, 0) }
    }
}

/// As real arrays are printed, where each part has its own number of decimals.
impl fmt::Display for ComplexText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, false)
    }
}

/// As real arrays are printed with exponents, where each part has its own number of decimals.
impl fmt::LowerExp for ComplexText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, true)
    }
}

/// One line: element type, shape, and the elements in full precision.
impl fmt::Debug for ComplexText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Complex({}, {}, ", self.re.dtype(), Show(self.re.shape()))?;
        let visible = Visible::of(self.re);
        let words = self.words(&visible, |visible, part| {
            with_elem!(part.dtype(), E => visible.elements::<E>(part).iter().map(|x| format!("{x:?}")).collect())
        });
        visible.write_line(f, &mut Words { rest: words.iter(), width: 0 }, 0)?;
        f.write_str(")")
    }
}

/// A float of rank 0: in full precision, as by `Debug`, unless a precision or an exponent is asked for.
fn number<E: Elem + fmt::LowerExp>(f: &mut fmt::Formatter<'_>, x: &E, exponent: bool) -> fmt::Result {
    match f.precision() {
        _ if exponent => fmt::LowerExp::fmt(x, f),
        Some(_) => fmt::Display::fmt(x, f),
        None => fmt::Debug::fmt(x, f),
    }
}

/// The texts of floats with one number of decimals, all with exponents or all without.
fn float_words<E: Float + fmt::LowerExp>(elements: &[E], precision: Option<usize>, exponent: bool) -> Vec<String> {
    let finite = || elements.iter().filter(|x| x.is_finite());
    let plain = |x: &E| *x == E::ZERO || (1e-4..1e8).contains(&x.as_f64().abs());
    if exponent || (precision.is_none() && !finite().all(plain)) {
        return exponents(elements, precision);
    }
    let decimals = precision.unwrap_or_else(|| most_decimals(finite().map(E::to_string)));
    elements.iter().map(|x| format!("{x:.decimals$}")).collect()
}

/// The texts of numbers with one number of decimals and an exponent each.
fn exponents<E: fmt::LowerExp>(elements: &[E], precision: Option<usize>) -> Vec<String> {
    let decimals = precision.unwrap_or_else(|| most_decimals(elements.iter().map(|x| format!("{x:e}"))));
    elements.iter().map(|x| format!("{x:.decimals$e}")).collect()
}

/// The largest number of decimals among printed numbers, at least 1 and at most [`DECIMALS`].
fn most_decimals(words: impl Iterator<Item = String>) -> usize {
    let decimals = |word: String| {
        let mantissa = word.split('e').next()?;
        Some(mantissa.split_once('.')?.1.len())
    };
    words.filter_map(decimals).max().unwrap_or(1).min(DECIMALS)
}

/// The positions that are printed along each axis of an array; `None` stands for a gap.
struct Visible {
    axes: Vec<Vec<Option<usize>>>,
}

impl Visible {
    fn of(a: &Array) -> Visible {
        let size = a.size();
        let axis = |n: usize| -> Vec<Option<usize>> {
            match size {
                // An array without elements has no visible positions, however long its other axes are.
                0 => Vec::new(),
                _ if size > THRESHOLD && n > 2 * EDGE => {
                    (0..EDGE).map(Some).chain([None]).chain((n - EDGE..n).map(Some)).collect()
                }
                _ => (0..n).map(Some).collect(),
            }
        };
        Visible { axes: a.shape().iter().map(|n| axis(*n)).collect() }
    }

    /// The visible elements, in row-major order.
    fn elements<E: Elem>(&self, a: &Array) -> Vec<E> {
        if a.size() == 0 {
            return Vec::new();
        }
        let mut positions = vec![0];
        for (shown, stride) in self.axes.iter().zip(strides(a.shape())) {
            let along = |p: usize| shown.iter().flatten().map(move |i| p + i * stride as usize);
            positions = positions.into_iter().flat_map(along).collect();
        }
        let values = a.typed::<E>();
        positions.into_iter().map(|p| values.get(p)).collect()
    }

    /// Writes the block at `depth`: one line for each row, and blank lines between matrices.
    fn write_block(&self, f: &mut fmt::Formatter<'_>, words: &mut Words<'_>, depth: usize) -> fmt::Result {
        let (indent, below) = (depth + 1, self.axes.len() - depth - 1);
        if below == 0 {
            return self.write_row(f, words, indent);
        }
        f.write_char('[')?;
        for (k, item) in self.axes[depth].iter().enumerate() {
            if k > 0 {
                write!(f, "{}{:indent$}", "\n".repeat(below), "")?;
            }
            match item {
                Some(_) => self.write_block(f, words, depth + 1)?,
                None => f.write_str("...")?,
            }
        }
        f.write_char(']')
    }

    /// Writes a row of aligned words, with line breaks if it is too long.
    fn write_row(&self, f: &mut fmt::Formatter<'_>, words: &mut Words<'_>, indent: usize) -> fmt::Result {
        f.write_char('[')?;
        let mut column = indent;
        for (k, item) in self.axes[indent - 1].iter().enumerate() {
            let word = match item {
                Some(_) => words.next_padded(),
                None => "...".to_string(),
            };
            // The closing brackets must fit in the line, too.
            if k > 0 && column + 1 + word.len() + indent > COLUMNS {
                write!(f, "\n{:indent$}", "")?;
                column = indent;
            } else if k > 0 {
                f.write_char(' ')?;
                column += 1;
            }
            column += word.len();
            f.write_str(&word)?;
        }
        f.write_char(']')
    }

    /// Writes the block at `depth` on one line, with commas; below the last axis, writes one word.
    fn write_line(&self, f: &mut fmt::Formatter<'_>, words: &mut Words<'_>, depth: usize) -> fmt::Result {
        let Some(shown) = self.axes.get(depth) else {
            return f.write_str(&words.next_padded());
        };
        f.write_char('[')?;
        for (k, item) in shown.iter().enumerate() {
            if k > 0 {
                f.write_str(", ")?;
            }
            match item {
                Some(_) => self.write_line(f, words, depth + 1)?,
                None => f.write_str("...")?,
            }
        }
        f.write_char(']')
    }
}

/// The texts of the printed elements in order, padded to one width.
struct Words<'a> {
    rest: std::slice::Iter<'a, String>,
    width: usize,
}

impl Words<'_> {
    fn next_padded(&mut self) -> String {
        let (word, width) = (self.rest.next().map_or("", String::as_str), self.width);
        format!("{word:>width$}")
    }
}
