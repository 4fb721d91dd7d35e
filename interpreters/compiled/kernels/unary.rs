//! The rows of [`Unary`] over slices.

use super::Real;
use super::isa::Isa;
use super::loops::{Row, each};
use crate::ops::Unary;

/// The row at each element.
pub(crate) fn unary<E: Real>(isa: Isa, op: Unary, x: &[E], out: &mut [E]) {
    each(isa, Row(|x: E| op.apply(x)), x, out);
}
