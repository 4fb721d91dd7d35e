//! Constants in printed programs.
//!
//! Law: the length of the text is bounded. The text of a small array gives all elements and, with what its context
//! says, shape and element type; the text of a larger array gives its first elements.

use crate::array::{Array, Values, with_elem};
use crate::dtype::DType;
use crate::shape::Show;

/// The largest size of a constant that is printed in full.
const FULL: usize = 8;
/// The number of elements printed of larger constants.
const SHOWN: usize = 3;

/// Whether a constant is one number, which is never given a name.
pub(super) fn is_number(c: &Array) -> bool {
    with_elem!(c.dtype(), E => c.splat::<E>().is_some())
}

/// The text of a constant, whose context may say shape or element type: `2.0`, `f64[3](2.0)`, `[1.0, 2.0]`,
/// `f64[1000](1.0, 2.0, 3.0, ..)`.
pub(super) fn literal(c: &Array, shape_known: bool, dtype_known: bool) -> String {
    let (shape, dtype) = (c.shape(), c.dtype());
    let typed = |words: String| match dtype {
        DType::F64 | DType::I64 | DType::Bool => words,
        DType::F32 if dtype_known => words,
        DType::F32 => format!("{dtype}({words})"),
    };
    with_elem!(dtype, E => match c.typed::<E>() {
        Values::Splat(x) if shape.is_empty() || shape_known => typed(format!("{x:?}")),
        Values::Splat(x) => format!("{dtype}{}({x:?})", Show(shape)),
        Values::Dense(v) if (1..=FULL).contains(&v.len()) => {
            let mut out = String::new();
            nested(&mut out, shape, &mut v.iter().map(|x| format!("{x:?}")));
            typed(out)
        }
        Values::Dense(v) => {
            let mut words: Vec<String> = v.iter().take(SHOWN).map(|x| format!("{x:?}")).collect();
            if v.len() > SHOWN {
                words.push("..".into());
            }
            format!("{dtype}{}({})", Show(shape), words.join(", "))
        }
    })
}

/// Elements in nested brackets.
pub(crate) fn nested(out: &mut String, shape: &[usize], words: &mut dyn Iterator<Item = String>) {
    let Some((n, rest)) = shape.split_first() else {
        out.extend(words.next());
        return;
    };
    out.push('[');
    for k in 0..*n {
        if k > 0 {
            out.push_str(", ");
        }
        nested(out, rest, words);
    }
    out.push(']');
}
