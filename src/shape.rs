//! Shapes: the sizes of an array along its axes, outermost first. Arrays are row-major throughout.

use std::fmt;

use smallvec::SmallVec;

use crate::escape;
use crate::source::mistake;

/// The sizes of the axes, outermost first; empty for a scalar. Up to six sizes are stored without an allocation.
///
/// ```
/// use polygrad::shape::Shape;
/// let shape = Shape::from_slice(&[2, 3]);
/// assert_eq!((&shape[..], Shape::new().len()), (&[2, 3][..], 0));
/// ```
pub type Shape = SmallVec<[usize; 6]>;

/// The largest number of elements of an array: as many of the widest elements have at most `isize::MAX` bytes.
///
/// All element types have this limit, so that a conversion never exceeds it. A shape of an array is checked when it is
/// made. An iteration space of a view has this limit along each axis.
///
/// Example: [`is_possible`].
pub const MAX_SIZE: usize = isize::MAX as usize / 8;

/// The largest number of axes of an array, and of the iteration space of a view.
///
/// A view has a coefficient for each pair of an axis of the array and an axis of the iteration space, and rules compare
/// axes with axes, so the time grows at least with the square of the number of axes: it would be minutes for thousands.
///
/// Example: [`is_possible`].
pub const MAX_RANK: usize = 128;

/// The number of elements of an array of this shape: the product of its sizes. An iteration space may be larger than
/// any array; then the result is `MAX_SIZE + 1`, so that small multiples of sizes do not overflow.
///
/// ```
/// use polygrad::shape::{MAX_SIZE, size};
/// assert_eq!((size(&[2, 3]), size(&[]), size(&[2, 0])), (6, 1, 0));
/// assert_eq!((size(&[MAX_SIZE, 2]), size(&[MAX_SIZE, MAX_SIZE, 0])), (MAX_SIZE + 1, 0));
/// ```
pub fn size(shape: &[usize]) -> usize {
    shape.iter().fold(1usize, |all, n| all.saturating_mul(*n)).min(MAX_SIZE + 1)
}

/// The name of an element of a leaf, given by its number in row-major order: the name of the leaf and the index of the
/// element, as `x.0[1, 2]`; that of the leaf alone, if it is one number.
pub(crate) fn element_name(leaf: &str, shape: &[usize], element: usize) -> String {
    let (leaf, mut index, mut rest) = (escape::path(leaf), Shape::from_slice(shape), element);
    for place in index.iter_mut().rev() {
        (*place, rest) = (rest % *place, rest / *place);
    }
    if index.is_empty() { leaf.into_owned() } else { format!("{leaf}{}", Show(&index)) }
}

/// Whether two shapes are equal, without the call that a comparison of slices is: most have few axes.
#[inline]
pub(crate) fn are_equal(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(m, n)| m == n)
}

/// Whether an array can have this shape: it has at most [`MAX_RANK`] axes, and the product of their sizes, zeros left
/// out, is at most [`MAX_SIZE`]. So the product of the sizes of any of its axes, and the number of bytes, fit into
/// `isize`.
///
/// ```
/// use polygrad::shape::{MAX_RANK, MAX_SIZE, is_possible};
/// assert!(is_possible(&[MAX_SIZE]) && is_possible(&[0, MAX_SIZE]) && is_possible(&[1; MAX_RANK]));
/// assert!(!is_possible(&[1 << 32, 1 << 32]) && !is_possible(&[0, 1 << 32, 1 << 32]));
/// assert!(!is_possible(&[1; MAX_RANK + 1]));
/// ```
pub fn is_possible(shape: &[usize]) -> bool {
    shape.len() <= MAX_RANK && shape.iter().fold(1usize, |all, n| all.saturating_mul((*n).max(1))) <= MAX_SIZE
}

/// An error unless an array can have this shape, which is that of a result of `op`.
#[inline]
pub(crate) fn try_possible(op: &str, shape: &[usize]) -> Result<(), String> {
    if is_possible(shape) { Ok(()) } else { Err(impossible(op, shape)) }
}

#[cold]
fn impossible(op: &str, shape: &[usize]) -> String {
    if let Err(message) = try_rank(op, shape) {
        return message;
    }
    format!(
        "{op}: the sizes of an array, zeros left out, must have a product of at most {MAX_SIZE}, but the shape would be {}; \
         make it smaller",
        Show(shape)
    )
}

/// An error unless a shape, or an iteration space, has at most [`MAX_RANK`] axes.
#[inline]
pub(crate) fn try_rank(op: &str, shape: &[usize]) -> Result<(), String> {
    if shape.len() <= MAX_RANK { Ok(()) } else { Err(too_many_axes(op, shape.len())) }
}

#[cold]
fn too_many_axes(op: &str, rank: usize) -> String {
    format!(
        "{op}: an array must have at most {MAX_RANK} axes, but there would be {rank}; join axes that are used together by a \
         reshape"
    )
}

/// Panics unless an array can have this shape, which is that of a result of `op`.
///
/// ```
/// use polygrad::shape::check_possible;
/// check_possible("tile", &[2, 3]);
/// assert!(std::panic::catch_unwind(|| check_possible("tile", &[1 << 40, 1 << 40])).is_err());
/// ```
///
/// # Panics
/// When [`is_possible`] does not hold.
#[inline]
#[track_caller]
pub fn check_possible(op: &str, shape: &[usize]) {
    if !is_possible(shape) {
        mistake(&impossible(op, shape));
    }
}

/// Panics unless the elements of an array of this possible shape can be allocated. The memory of small arrays is not
/// checked: without memory for them, the message could not be made either.
#[inline]
#[track_caller]
pub(crate) fn check_room<E>(shape: &[usize]) {
    if let Err(message) = try_room(shape, size_of::<E>()) {
        panic!("{message}");
    }
}

/// [`check_room`] for elements of `width` bytes, with the message as an error.
#[inline]
pub(crate) fn try_room(shape: &[usize], width: usize) -> Result<(), String> {
    const LARGE: usize = 1 << 24;
    let bytes = size(shape).saturating_mul(width);
    if bytes < LARGE || Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        return Ok(());
    }
    Err(format!(
        "array: the elements must fit into memory, but those of shape {} are {bytes} bytes and cannot be allocated; make \
         the array smaller",
        Show(shape)
    ))
}

/// The shape of a scalar: an empty slice at a valid address, since a comparison of empty slices at dangling addresses
/// can cost more than the operation on the scalar itself.
#[inline]
pub(crate) fn scalar() -> &'static [usize] {
    static SOMEWHERE: [usize; 1] = [0];
    &SOMEWHERE[..0]
}

/// Whether two shapes are equal, with a quick path for scalars.
#[inline]
pub(crate) fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Row-major strides: for each axis, the distance of neighbours in elements.
///
/// ```
/// use polygrad::shape::strides;
/// assert_eq!(strides(&[2, 3, 4])[..], [12, 4, 1]);
/// ```
pub fn strides(shape: &[usize]) -> SmallVec<[i64; 6]> {
    let mut out: SmallVec<[i64; 6]> = SmallVec::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = out[axis] * shape[axis] as i64;
    }
    out
}

/// A shape as messages and programs print it: `[2, 3]`.
///
/// ```
/// use polygrad::shape::Show;
/// assert_eq!(format!("{} {}", Show(&[2, 3]), Show(&[])), "[2, 3] []");
/// ```
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

/// As many values as their maker gives: the results of an operation, by its row, or those of a map.
pub(crate) fn exactly<V, const N: usize>(values: Vec<V>) -> [V; N] {
    match values.try_into() {
        Ok(values) => values,
        Err(other) => not_as_many(N, other.len()),
    }
}

/// Those values, borrowed: the operands of an operation, by its row.
pub(crate) fn exactly_of<V, const N: usize>(values: &[V]) -> &[V; N] {
    match values.try_into() {
        Ok(values) => values,
        Err(_) => not_as_many(N, values.len()),
    }
}

#[cold]
fn not_as_many(needed: usize, given: usize) -> ! {
    unreachable!("there are {needed} values by the row of the operation, and {given} were given")
}
