//! The functions of the crate `polygrad-math` as text in C99.
//!
//! Law: a function in C has the bits of the function in Rust of the same name, compiled for a processor of the same
//! kind. Where the function in Rust leaves rare arguments (very large angles, subnormal numbers, results near to the
//! ends of the range) to the crate `libm`, the function in C leaves them to the standard library of C, whose last digit
//! may differ; NaN, infinities, zeros and signs do not differ. The logarithm of the gamma function and the complement
//! of the error function have the steps of `libm`, and so its bits: the standard library of C has others, and its
//! `lgamma` writes a global variable. Their constants are those of FDLIBM, whose notice comes with them.
//!
//! The files `*.c` of this folder hold items, with blank lines between them: a comment, and a function, a table or a
//! type. An item needs what it names, and comes after that. A name that ends in `@` stands for an item of each float
//! type, and a name that ends in `$` for one more, in double precision without fused multiply-add, from which the
//! special functions are made; an item that is written out for one of these replaces that one. [`WORDS`] are what
//! differs between the types. A comment alone at the head of a file is written before the first item of the file.

use std::collections::BTreeMap;

/// In the order of definition.
const FILES: [&str; 7] = [
    include_str!("simple.c"),
    include_str!("exponential.c"),
    include_str!("power.c"),
    include_str!("angle.c"),
    include_str!("fdlibm.c"),
    include_str!("error.c"),
    include_str!("special.c"),
];

/// Headers, and what compilers must not do.
const HEAD: &str = include_str!("head.c");

/// How names begin.
const PREFIX: &str = "polygrad_";

/// What words of the files stand for, in double and in single precision.
const WORDS: [(&str, [&str; 2]); 28] = [
    ("REAL", ["double", "float"]),
    ("REAL_MIN", ["DBL_MIN", "FLT_MIN"]),
    ("REAL_MAX", ["DBL_MAX", "FLT_MAX"]),
    // Casts of the type to double precision and back.
    ("WIDE", ["", "(double)"]),
    ("NARROW", ["", "(float)"]),
    // The unsigned integer of the same width, and its literals.
    ("WORD", ["uint64_t", "uint32_t"]),
    ("WORD_C", ["UINT64_C", "UINT32_C"]),
    // The bits of the mantissa, and the exponent field of 1.
    ("MANTISSA", ["52", "23"]),
    ("MANTISSA_MASK", ["0xfffffffffffff", "0x7fffff"]),
    ("BIAS", ["1023", "127"]),
    ("TWICE_BIAS", ["2046", "254"]),
    ("SCALES", ["4095", "511"]),
    // A number with a unit in the last place of 1: added to a small number, it leaves the nearest integer in low bits.
    ("MAGIC", ["6755399441055744.0", "12582912.0f"]),
    // The bits of the root of one half; the power of two whose last place is 1: its bits, and its sum with the bias.
    ("ROOT_HALF", ["0x3fe6a09e667f3bcd", "0x3f3504f3"]),
    ("LARGE_BITS", ["0x4330000000000000", "0x4b000000"]),
    ("LARGE_AND_BIAS", ["4503599627371519.0", "8388735.0f"]),
    ("LOG2_E", ["1.4426950408889634", "1.442695f"]),
    ("LN_2", ["0.6931471805599453", "0.6931472f"]),
    ("LN_2_HIGH", ["0.6931471804855391", "0.69314575f"]),
    ("LN_2_LOW", ["7.440617110012397e-11", "1.4286068e-6f"]),
    ("LN_MAX", ["709.782712893384", "88.72284f"]),
    // From here on downwards, `e^x` rounds to 0 and `e^x - 1` to -1; from here on upwards, both are infinite.
    ("EXP_ZERO", ["-746.0", "-104.0f"]),
    ("EXPM1_LEAST", ["-40.0", "-18.0f"]),
    ("EXP_INFINITE", ["710.0", "89.0f"]),
    ("EXPM1_IDENTITY", ["1e-17", "1e-8f"]),
    ("LOG1P_LARGE", ["1e300", "1e37f"]),
    // Lengths between which no square is out of range.
    ("HYPOT_SMALL", ["1e-150", "1e-15f"]),
    ("HYPOT_LARGE", ["1e150", "1e15f"]),
];

/// The type that an item is an instance for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Double,
    Single,
    /// Double precision without fused multiply-add.
    Unfused,
}

impl Kind {
    fn suffix(self) -> &'static str {
        match self {
            Kind::Double => "",
            Kind::Single => "f",
            Kind::Unfused => "_unfused",
        }
    }

    fn is_single(self) -> bool {
        match self {
            Kind::Single => true,
            Kind::Double | Kind::Unfused => false,
        }
    }

    /// An item, or a name, with everything written out.
    fn instance(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = word_length(rest);
            if length > 0 {
                let (word, after) = rest.split_at(length);
                let known = WORDS.iter().find(|(name, _)| *name == word);
                let written = known.map_or(word, |(_, of)| of[usize::from(self.is_single())]);
                out.push_str(written);
                // An empty cast leaves no space.
                let cast = written.is_empty() || written.starts_with('(');
                rest = if cast { after.trim_start() } else { after };
                continue;
            }
            match c {
                '@' if self.is_single() => out.push('f'),
                '@' => {}
                '$' => out.push_str(self.suffix()),
                _ => out.push(c),
            }
            rest = &rest[c.len_utf8()..];
        }
        out
    }
}

/// The length of the identifier or number at the start of a text; 0 if the text starts with neither.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

/// The names in a text that begin with [`PREFIX`], with what follows a name.
fn names(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let found = &rest[rest.find(PREFIX)?..];
        let length = word_length(found);
        let marked = found[length..].starts_with(['@', '$']);
        let (name, after) = found.split_at(length + usize::from(marked));
        rest = after;
        Some((name, after))
    })
}

/// The name that an item defines, or `None` if the text is a comment.
fn defined(item: &str) -> Option<&str> {
    let code = if item.starts_with("/*") { item.split_once("*/")?.1 } else { item };
    let ends: &[char] = if code.trim_start().starts_with("typedef") { &[';'] } else { &['(', '['] };
    names(code).find(|(_, after)| after.starts_with(ends)).map(|(name, _)| name)
}

/// An item, written out.
struct Item {
    name: String,
    text: String,
    /// The comment at the head of its file.
    notice: Option<&'static str>,
}

/// All items, in the order of definition.
fn items() -> Vec<Item> {
    let blocks = || {
        FILES.iter().flat_map(|file| {
            let mut blocks = file.split("\n\n").map(str::trim_end);
            let first = blocks.next().unwrap_or_default();
            let notice = defined(first).is_none().then_some(first);
            let first = Some(first).filter(|_| notice.is_none());
            first.into_iter().chain(blocks).map(move |text| (notice, text))
        })
    };
    let written: Vec<&str> =
        blocks().filter_map(|(_, text)| defined(text)).filter(|name| !name.ends_with(['@', '$'])).collect();
    let mut items = Vec::new();
    for (notice, text) in blocks() {
        let name = defined(text).unwrap_or_else(|| panic!("an item defines a name: {text}"));
        let kinds: &[Kind] = match name.as_bytes().last() {
            Some(b'$') => &[Kind::Double, Kind::Single, Kind::Unfused],
            Some(b'@') => &[Kind::Double, Kind::Single],
            _ => &[Kind::Double],
        };
        for kind in kinds {
            let full = kind.instance(name);
            if kinds.len() == 1 || !written.contains(&full.as_str()) {
                items.push(Item { name: full, text: kind.instance(text), notice });
            }
        }
    }
    items
}

/// The text of functions, and of all that these need, each once: headers, then definitions in an order in which they
/// compile. A function is given by its name in `polygrad_math::f64`, and by whether the precision is single; in C it is
/// `polygrad_name` or `polygrad_namef`.
///
/// # Panics
/// If `polygrad-math` has no such function.
pub(crate) fn functions<'a>(used: impl IntoIterator<Item = (&'a str, bool)>) -> String {
    let items = items();
    let places: BTreeMap<&str, usize> = items.iter().enumerate().map(|(i, item)| (item.name.as_str(), i)).collect();
    let mut needed = vec![false; items.len()];
    let mut open: Vec<usize> = Vec::new();
    for (name, single) in used {
        let name = format!("{PREFIX}{name}{}", if single { "f" } else { "" });
        open.push(*places.get(name.as_str()).unwrap_or_else(|| panic!("no function {name}")));
    }
    while let Some(i) = open.pop() {
        if !std::mem::replace(&mut needed[i], true) {
            open.extend(names(&items[i].text).filter_map(|(name, _)| places.get(name)));
        }
    }
    let mut text = HEAD.to_string();
    let mut noticed = None;
    for item in items.iter().zip(needed).filter(|(_, needed)| *needed).map(|(item, _)| item) {
        if item.notice.is_some() && item.notice != noticed {
            noticed = item.notice;
            text.extend(["\n", item.notice.unwrap_or_default(), "\n"]);
        }
        text.extend(["\n", &item.text, "\n"]);
    }
    text
}

#[cfg(test)]
mod tests;
