//! The rows of [`Binary`] over slices.

use super::Real;
use super::isa::Isa;
use super::loops::{Arg, Row, pairs};
use crate::ops::Binary;

/// Chooses the loop of a row: the row itself compiled for each instruction set (`rows`), or one loop for all rows that call a
/// library (`library`).
macro_rules! by_row {
    ($isa:ident, $op:ident, $x:ident, $y:ident, $out:ident; rows: $($R:ident)*; library: $($L:ident)*;) => {
        match $op {
            $( Binary::$R => pairs($isa, Row(|x: E, y: E| Binary::$R.apply(x, y)), $x, $y, $out), )*
            $( Binary::$L )|* => pairs(Isa::BASELINE, Row(|x: E, y: E| $op.apply(x, y)), $x, $y, $out),
        }
    };
}

/// The row at each pair of elements.
pub(crate) fn binary<E: Real>(isa: Isa, op: Binary, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    by_row! {
        isa, op, x, y, out;
        rows: Add Sub Mul Div Copysign Min Max MulNoNan;
        library: Pow PowLessOne Atan2 RecipReal Hypot LogAddExp;
    }
}
