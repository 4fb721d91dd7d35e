//! Shapes: the sizes of an array along its axes, outermost first. Row-major throughout.

use std::fmt;

use smallvec::SmallVec;

/// The sizes of the axes, outermost first; empty for a scalar. Up to six without allocation.
pub type Shape = SmallVec<[usize; 6]>;

/// The number of elements of an array of this shape: the product of its sizes.
pub fn size(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The number of elements, if an array from a file may have so many: sizes of such shapes can be multiplied and
/// added up without overflow.
#[cfg(feature = "serde")]
pub(crate) fn size_within(shape: &[usize]) -> Option<usize> {
    const MOST: usize = 1 << 48;
    let all = shape.iter().try_fold(1usize, |all, n| all.checked_mul((*n).max(1)).filter(|all| *all <= MOST));
    all.map(|_| size(shape))
}

/// The shape of a scalar. It points somewhere: comparing a slice of nothing at a dangling address can
/// cost more than the operation on the scalar itself.
#[inline]
pub(crate) fn scalar() -> &'static [usize] {
    static SOMEWHERE: [usize; 1] = [0];
    &SOMEWHERE[..0]
}

/// Whether two shapes are equal; quick for scalars.
#[inline]
pub(crate) fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Row-major strides, in elements: how far apart neighbours along each axis are.
pub fn strides(shape: &[usize]) -> SmallVec<[i64; 6]> {
    let mut out: SmallVec<[i64; 6]> = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = out[axis] * shape[axis] as i64;
    }
    out
}

/// A shape as messages and programs print it: `[2, 3]`.
pub struct Show<'a>(
    /// The shape to print.
    pub &'a [usize],
);

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, n) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{n}")?;
        }
        f.write_str("]")
    }
}
