//! Type rules of StableHLO: conditions on the operands of operations, checked while the text is written.
//!
//! Each method that writes an operation states its rule, which debug builds check. The tests check texts again, as a
//! parser reads them (`tests/support/stablehlo/check.rs`).

use super::text::{HloValue, Ty};

/// Panics in debug builds unless the rule of an operation of these values holds.
macro_rules! rule {
    ($op:expr, [$($value:expr),*], $holds:expr) => {
        debug_assert!(
            $holds,
            "a fault of the exporter: StableHLO allows `{}` no operands of the types {}",
            $op,
            $crate::export::text::types([$($value),*])
        )
    };
}
pub(super) use rule;

/// Whether values have one shape and element type.
pub(super) fn alike(x: &HloValue, y: &HloValue) -> bool {
    x.shape == y.shape && x.ty == y.ty
}

/// Whether values have one element type and one shape, except for the length of one axis.
pub(super) fn alike_but_for(axis: usize, x: &HloValue, y: &HloValue) -> bool {
    let same = |k: usize| k == axis || x.shape[k] == y.shape[k];
    x.ty == y.ty && axis < x.shape.len() && x.shape.len() == y.shape.len() && (0..x.shape.len()).all(same)
}

/// Whether these are distinct axes of a value of this rank.
pub(super) fn are_axes(axes: &[usize], rank: usize) -> bool {
    axes.iter().enumerate().all(|(k, axis)| *axis < rank && !axes[..k].contains(axis))
}

/// Whether a shape can be broadcast to another: each axis has length 1, or the length of its axis there.
pub(super) fn broadcasts(from: &[usize], into: &[usize], axes: &[usize]) -> bool {
    let fits = |(n, axis): (&usize, &usize)| *n == 1 || *n == into[*axis];
    from.len() == axes.len() && are_axes(axes, into.len()) && from.iter().zip(axes).all(fits)
}

/// Whether `at` has an integer scalar for each axis of a value, and a part of these sizes fits into the value.
pub(super) fn starts(x: &HloValue, at: &[HloValue], sizes: &[usize]) -> bool {
    let index = |i: &HloValue| i.ty == Ty::I64 && i.shape.is_empty();
    at.len() == x.shape.len()
        && at.iter().all(index)
        && sizes.len() == x.shape.len()
        && sizes.iter().zip(&x.shape).all(|(size, n)| size <= n)
}

/// Whether paired axes of two values have equal lengths.
pub(super) fn paired(x: &HloValue, y: &HloValue, axes: [&[usize]; 2]) -> bool {
    let of = |v: &HloValue, k: &usize| v.shape[*k];
    axes[0].len() == axes[1].len() && axes[0].iter().zip(axes[1]).all(|(i, j)| of(x, i) == of(y, j))
}

/// Whether `ix` are indices into distinct axes of a value, all of one shape.
pub(super) fn indexes(x: &HloValue, dims: &[usize], ix: &[HloValue]) -> bool {
    let index = |i: &HloValue| i.ty == Ty::I64 && i.shape == ix[0].shape;
    !ix.is_empty() && ix.len() == dims.len() && are_axes(dims, x.shape.len()) && ix.iter().all(index)
}
