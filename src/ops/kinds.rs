//! Checks and result shapes: elementwise functions, selection, indexing, concatenation, loops.
//!
//! Law: an interpreter that computes or traces checks an operation by calling its check, once; the message is made
//! here, in one grammar: `<op>: <requirement>, but <fact>; <fix>`. A mistake in a program panics; data from a file go
//! through the same checks in the form that returns the message (`try_..`).

use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use crate::shape::{Shape, Show, check_possible, same, try_possible};
use crate::source::mistake;

/// Shape and element type of an operand.
///
/// Example: [`try_select`].
pub type Kind<'a> = (&'a [usize], DType);

/// The result of a check, or a panic with its message at the caller's line.
#[track_caller]
#[inline]
pub(crate) fn or_panic<R>(found: Result<R, String>) -> R {
    match found {
        Ok(found) => found,
        Err(message) => mistake(&message),
    }
}

/// Panics unless `axis` is one of the axes of `shape`.
#[track_caller]
pub(crate) fn check_axis(op: &str, axis: usize, shape: &[usize]) {
    or_panic(try_axis(op, axis, shape));
}

/// An error unless `axis` is one of the axes of `shape`.
pub(crate) fn try_axis(op: &str, axis: usize, shape: &[usize]) -> Result<(), String> {
    if axis >= shape.len() {
        return Err(format!(
            "{op}: the axis must be below the rank {}, but it is {axis} and the shape is {}; count axes from 0",
            shape.len(),
            Show(shape)
        ));
    }
    Ok(())
}

/// Checks the operand of a unary operation.
///
/// Example: [`try_unary`].
///
/// # Panics
/// When its element type is not a float type.
#[track_caller]
#[inline]
pub fn unary(op: Unary, dtype: DType) {
    or_panic(try_unary(op, dtype));
}

/// [`unary`], with the message as an error.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::{Unary, kinds};
/// kinds::unary(Unary::Sin, DType::F32);
/// let message = kinds::try_unary(Unary::Sin, DType::I64).unwrap_err();
/// assert_eq!(message, "sin: needs floats, but the element type is i64; convert it with to_float");
/// ```
///
/// # Errors
/// When the element type is not a float type.
#[inline]
pub fn try_unary(op: Unary, dtype: DType) -> Result<(), String> {
    if !dtype.is_float() {
        return Err(format!("{}: needs floats, but the element type is {dtype}; convert it with to_float", op.name()));
    }
    Ok(())
}

/// Checks the operands of a binary operation.
///
/// Example: [`try_binary`].
///
/// # Panics
/// When the shapes or element types differ, or these are not floats.
#[track_caller]
#[inline]
pub fn binary(op: Binary, a: Kind<'_>, b: Kind<'_>) {
    or_panic(try_binary(op, a, b));
}

/// [`binary`], with the message as an error.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::{Binary, kinds};
/// kinds::binary(Binary::Add, (&[2], DType::F64), (&[2], DType::F64));
/// let message = kinds::try_binary(Binary::Add, (&[2], DType::F64), (&[3], DType::F64)).unwrap_err();
/// assert_eq!(message, "add: both shapes must be equal, but they are [2] and [3]; replicate one");
/// ```
///
/// # Errors
/// When the shapes or element types differ, or these are not floats.
#[inline]
pub fn try_binary(op: Binary, a: Kind<'_>, b: Kind<'_>) -> Result<(), String> {
    if !same(a.0, b.0) {
        return Err(format!(
            "{}: both shapes must be equal, but they are {} and {}; replicate one",
            op.name(),
            Show(a.0),
            Show(b.0)
        ));
    }
    if a.1 != b.1 || !a.1.is_float() {
        return Err(format!("{}: needs floats of one type, but they are {} and {}; convert one", op.name(), a.1, b.1));
    }
    Ok(())
}

/// Checks the operands of a selection.
///
/// Example: [`try_select`].
///
/// # Panics
/// When the condition is not a mask, or the three shapes or the branches' element types differ.
#[track_caller]
pub fn select(mask: Kind<'_>, then: Kind<'_>, otherwise: Kind<'_>) {
    or_panic(try_select(mask, then, otherwise));
}

/// [`select`], with the message as an error.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::kinds::{Kind, select, try_select};
/// let (mask, number): (Kind<'_>, Kind<'_>) = ((&[2], DType::Bool), (&[2], DType::F64));
/// select(mask, number, number);
/// assert!(try_select(number, mask, mask).is_err());
/// ```
///
/// # Errors
/// When the condition is not a mask, or the three shapes or the branches' element types differ.
pub fn try_select(mask: Kind<'_>, then: Kind<'_>, otherwise: Kind<'_>) -> Result<(), String> {
    if mask.1 != DType::Bool {
        return Err(format!(
            "select: needs a mask, but the condition's element type is {}; compare it with something",
            mask.1
        ));
    }
    if then.0 != otherwise.0 || mask.0 != then.0 {
        return Err(format!(
            "select: the mask and both branches must have one shape, but they are {}, {} and {}; replicate them, or \
             use cond for a scalar condition",
            Show(mask.0),
            Show(then.0),
            Show(otherwise.0)
        ));
    }
    if then.1 != otherwise.1 {
        return Err(format!(
            "select: both branches must have one element type, but they are {} and {}; convert one",
            then.1, otherwise.1
        ));
    }
    Ok(())
}

/// The common shape of the indices of a gather or scatter into an array of shape `shape`.
fn indices<'a>(op: &str, shape: &[usize], ix: &[Kind<'a>]) -> Result<&'a [usize], String> {
    if ix.len() > shape.len() {
        return Err(format!(
            "{op}: the number of indices must be at most the rank {}, but it is {} and the shape is {}; leave some out",
            shape.len(),
            ix.len(),
            Show(shape)
        ));
    }
    let common: &[usize] = ix.first().map_or(&[], |(s, _)| s);
    for (s, dtype) in ix {
        if *dtype != DType::I64 {
            return Err(format!("{op}: indices must be i64, but one is {dtype}; convert it with to_int"));
        }
        if *s != common {
            return Err(format!(
                "{op}: all indices must have one shape, but two are {} and {}; replicate one",
                Show(common),
                Show(s)
            ));
        }
    }
    Ok(common)
}

/// The shape of `gather(t, ix)`: that of the indices, then the axes of `t` not indexed.
///
/// Example: [`try_gather`].
///
/// # Panics
/// When there are more indices than axes, or the indices are not `i64` or not of one shape.
#[track_caller]
pub fn gather(shape: &[usize], ix: &[Kind<'_>]) -> Shape {
    or_panic(try_gather(shape, ix))
}

/// [`gather`], with the message as an error.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::kinds;
/// let index = (&[4][..], DType::I64);
/// // Four rows of a matrix, and four elements.
/// assert_eq!((&kinds::gather(&[10, 3], &[index])[..], &kinds::gather(&[10, 3], &[index, index])[..]), (&[4, 3][..], &[4][..]));
/// assert!(kinds::try_gather(&[10, 3], &[index, index, index]).is_err());
/// ```
///
/// # Errors
/// When there are more indices than axes, the indices are not `i64` or not of one shape, or no array can have the shape
/// of the result.
pub fn try_gather(shape: &[usize], ix: &[Kind<'_>]) -> Result<Shape, String> {
    let mut out = Shape::from_slice(indices("gather", shape, ix)?);
    out.extend_from_slice(&shape[ix.len()..]);
    try_possible("gather", &out)?;
    Ok(out)
}

/// Checks `scatter_add(base, ix, v)`: `v` has the shape of `gather(base, ix)`.
///
/// Example: [`try_scatter_add`].
///
/// # Panics
/// When `v` has another shape, when [`gather`] refuses the indices, or when base and values are not numbers of one
/// type.
#[track_caller]
pub fn scatter_add(base: Kind<'_>, ix: &[Kind<'_>], v: Kind<'_>) {
    or_panic(try_scatter_add(base, ix, v));
}

/// [`scatter_add`], with the message as an error.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::kinds;
/// let (base, index) = ((&[10, 3][..], DType::F64), (&[4][..], DType::I64));
/// kinds::scatter_add(base, &[index], (&[4, 3], DType::F64));
/// assert!(kinds::try_scatter_add(base, &[index], (&[4, 3], DType::F32)).is_err());
/// ```
///
/// # Errors
/// When `v` has another shape, when [`try_gather`] refuses the indices, or when base and values are not numbers of one
/// type.
pub fn try_scatter_add(base: Kind<'_>, ix: &[Kind<'_>], v: Kind<'_>) -> Result<(), String> {
    let mut needed = Shape::from_slice(indices("scatter_add", base.0, ix)?);
    needed.extend_from_slice(&base.0[ix.len()..]);
    if v.0 != &needed[..] {
        return Err(format!(
            "scatter_add: into {} at these indices the values must have shape {}, but they have {}; replicate or reshape them",
            Show(base.0),
            Show(&needed),
            Show(v.0)
        ));
    }
    if v.1 != base.1 || base.1 == DType::Bool {
        return Err(format!(
            "scatter_add: base and values must be numbers of one type, but they are {} and {}; convert one",
            base.1, v.1
        ));
    }
    Ok(())
}

/// The shape of a concatenation along `axis`.
/// The size of the result along `axis` is the sum of the sizes of the parts.
///
/// Example: [`try_concat`].
///
/// # Panics
/// When no part is given, the axis does not exist, or the parts differ elsewhere or in element type.
#[track_caller]
pub fn concat(axis: usize, parts: &[Kind<'_>]) -> Shape {
    or_panic(try_concat(axis, parts))
}

/// [`concat()`], with the message as an error.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::kinds;
/// let parts = [(&[2, 3][..], DType::F64), (&[2, 4][..], DType::F64)];
/// assert_eq!(kinds::concat(1, &parts)[..], [2, 7]);
/// assert!(kinds::try_concat(0, &parts).is_err());
/// ```
///
/// # Errors
/// When no part is given, the axis does not exist, the parts differ elsewhere or in element type, or no array can have the shape
/// of the result.
pub fn try_concat(axis: usize, parts: &[Kind<'_>]) -> Result<Shape, String> {
    let Some((first, dtype)) = parts.first() else {
        return Err(
            "concat: needs at least one part, but the list is empty; zeros makes an empty tensor of known shape".into(),
        );
    };
    try_axis("concat", axis, first)?;
    let mut out = Shape::from_slice(first);
    for (shape, d) in &parts[1..] {
        let fits = shape.len() == first.len() && (0..first.len()).all(|k| k == axis || shape[k] == first[k]);
        if !fits {
            return Err(format!(
                "concat: parts may differ only along axis {axis}, but two are {} and {}; slice or pad one",
                Show(first),
                Show(shape)
            ));
        }
        if d != dtype {
            return Err(format!("concat: parts must have one element type, but two are {dtype} and {d}; convert one"));
        }
        out[axis] = out[axis].saturating_add(shape[axis]);
    }
    try_possible("concat", &out)?;
    Ok(out)
}

/// The shape of `n` values of one shape, stacked along a new outermost axis, as a loop of `n` trips stacks its outputs.
///
/// ```
/// use polygrad::ops::kinds;
/// assert_eq!(kinds::stacked(5, &[2, 3])[..], [5, 2, 3]);
/// ```
///
/// # Panics
/// When no array can have that shape.
#[track_caller]
pub fn stacked(n: usize, shape: &[usize]) -> Shape {
    let out = std::iter::once(n).chain(shape.iter().copied()).collect::<Shape>();
    // The message says `loop` for every loop: only the caller knows the name of the loop, but the shapes of the outputs
    // are known only here, after a trip.
    check_possible("loop", &out);
    out
}

/// Checks the sequences of a loop of `n` trips: each has `n` elements along its outermost axis.
///
/// Example: [`carry`].
///
/// # Panics
/// When a sequence has another length, or no array can have `n` elements.
#[track_caller]
pub fn sequences<'a>(n: usize, xs: impl Iterator<Item = &'a [usize]>) {
    check_possible("map_accum", &[n]);
    for shape in xs {
        if shape.first() != Some(&n) {
            mistake(&format!(
                "map_accum: the outermost axis of a sequence must have size {n}, but the shape of one is {}; slice or pad it",
                Show(shape)
            ));
        }
    }
}

/// Checks what one trip of a loop returned: the carry keeps its shapes and element types.
///
/// ```
/// use polygrad::DType;
/// use polygrad::ops::kinds;
/// use std::panic::catch_unwind;
/// let (of_five, of_six) = (&[5, 2][..], &[6, 2][..]);
/// kinds::sequences(5, [of_five, of_five].into_iter());
/// assert!(catch_unwind(|| kinds::sequences(5, [of_six].into_iter())).is_err());
/// let (number, integer) = ((&[][..], DType::F64), (&[][..], DType::I64));
/// kinds::carry([number].into_iter(), [number].into_iter());
/// assert!(catch_unwind(|| kinds::carry([number].into_iter(), [integer].into_iter())).is_err());
/// assert!(catch_unwind(|| kinds::while_carry([number].into_iter(), [integer].into_iter())).is_err());
/// kinds::output(number, number);
/// assert!(catch_unwind(|| kinds::output(number, integer)).is_err());
/// assert!(catch_unwind(|| kinds::outputs(2, 1)).is_err());
/// ```
///
/// # Panics
/// When a shape or element type changes, or the number of values does.
#[track_caller]
pub fn carry<'a>(
    before: impl ExactSizeIterator<Item = (&'a [usize], DType)>,
    after: impl ExactSizeIterator<Item = (&'a [usize], DType)>,
) {
    or_panic(try_carry("map_accum", before, after));
}

/// Checks what one trip of a `while` loop returned: [`carry`], with the name of that loop in its message.
///
/// Example: [`carry`].
///
/// # Panics
/// When a shape or element type changes, or the number of values does.
#[track_caller]
pub fn while_carry<'a>(
    before: impl ExactSizeIterator<Item = Kind<'a>>,
    after: impl ExactSizeIterator<Item = Kind<'a>>,
) {
    or_panic(try_carry("while_loop", before, after));
}

/// [`carry`] for the loop `op`, with the message as an error.
pub(crate) fn try_carry<'a>(
    op: &str,
    before: impl ExactSizeIterator<Item = Kind<'a>>,
    after: impl ExactSizeIterator<Item = Kind<'a>>,
) -> Result<(), String> {
    if before.len() != after.len() {
        return Err(format!(
            "{op}: the step must return a value for each that it carries, but it returned {}; keep the structure of the carry",
            more_or_fewer(before.len(), after.len())
        ));
    }
    match before.zip(after).find(|(b, a)| a != b) {
        None => Ok(()),
        Some((b, a)) => Err(format!(
            "{op}: the carry must keep shape and element type, but {} {} became {} {}; start with what the step returns",
            b.1,
            Show(b.0),
            a.1,
            Show(a.0)
        )),
    }
}

/// Whether more or fewer values are given than needed. The message does not give the numbers, because these depend on
/// what an interpreter carries along.
fn more_or_fewer(needed: usize, given: usize) -> &'static str {
    if given > needed { "more" } else { "fewer" }
}

/// Checks an output of one trip of a loop against the same output of the first trip.
///
/// Example: [`carry`].
///
/// # Panics
/// When shape or element type differ.
#[track_caller]
pub fn output(first: (&[usize], DType), now: (&[usize], DType)) {
    or_panic(try_output("map_accum", first, now));
}

/// [`output`] for the loop `op`, with the message as an error.
pub(crate) fn try_output(op: &str, first: Kind<'_>, now: Kind<'_>) -> Result<(), String> {
    if first == now {
        return Ok(());
    }
    Err(format!(
        "{op}: outputs of all trips must have one shape and element type, but {} {} was followed by {} {}; slice or pad them",
        first.1,
        Show(first.0),
        now.1,
        Show(now.0)
    ))
}

/// Checks how many outputs one trip of a loop returned against the first trip.
///
/// Example: [`carry`].
///
/// # Panics
/// When the numbers differ.
#[track_caller]
pub fn outputs(first: usize, now: usize) {
    if first != now {
        panic!(
            "map_accum: every trip must return equally many outputs, but one returned {} than the first; return zeros for what \
             is missing",
            more_or_fewer(first, now)
        );
    }
}
