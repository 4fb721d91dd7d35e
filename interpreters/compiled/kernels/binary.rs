//! The rows of [`Binary`] over slices.

use super::Real;
use super::isa::Isa;
use super::loops::{Arg, Row, pairs};
use crate::ops::Binary;

/// The row at each pair of elements.
pub(crate) fn binary<E: Real>(isa: Isa, op: Binary, x: Arg<'_, E>, y: Arg<'_, E>, out: &mut [E]) {
    pairs(isa, Row(|x: E, y: E| op.apply(x, y)), x, y, out);
}
