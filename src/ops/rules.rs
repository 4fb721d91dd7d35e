//! Shape rules of the operations that are not in a family: selection, indexing, concatenation.
//!
//! Law: an interpreter that computes or traces checks an operation by calling its rule, once; the
//! message is made here, in one grammar: `<op>: <requirement>, but <fact>; <way out>`.

use crate::dtype::DType;
use crate::ops::{Binary, Unary};
use crate::shape::{Shape, Show, same};

/// Panics unless `axis` is one of the axes of `shape`.
#[track_caller]
pub(crate) fn check_axis(op: &str, axis: usize, shape: &[usize]) {
    if axis >= shape.len() {
        panic!(
            "{op}: the axis must be below the rank {}, but it is {axis} and the shape is {}; count axes from 0",
            shape.len(),
            Show(shape)
        );
    }
}

/// Checks the operand of a unary operation.
#[track_caller]
pub fn unary(op: Unary, dtype: DType) {
    if !dtype.is_float() {
        panic!("{}: needs floats, but the element type is {dtype}; convert it with to_float", op.name());
    }
}

/// Checks the operands of a binary operation.
#[track_caller]
pub fn binary(op: Binary, a: (&[usize], DType), b: (&[usize], DType)) {
    if !same(a.0, b.0) {
        panic!("{}: both shapes must be equal, but they are {} and {}; replicate one", op.name(), Show(a.0), Show(b.0));
    }
    if a.1 != b.1 || !a.1.is_float() {
        panic!("{}: needs floats of one type, but they are {} and {}; convert one", op.name(), a.1, b.1);
    }
}

/// Checks the operands of a selection.
#[track_caller]
pub fn select(mask: (&[usize], DType), then: (&[usize], DType), otherwise: (&[usize], DType)) {
    if mask.1 != DType::Bool {
        panic!("select: needs a mask, but the condition's element type is {}; compare it with something", mask.1);
    }
    if then.0 != otherwise.0 || mask.0 != then.0 {
        panic!(
            "select: the mask and both branches must have one shape, but they are {}, {} and {}; replicate them, or \
             use cond for a scalar condition",
            Show(mask.0),
            Show(then.0),
            Show(otherwise.0)
        );
    }
    if then.1 != otherwise.1 {
        panic!(
            "select: both branches must have one element type, but they are {} and {}; convert one",
            then.1, otherwise.1
        );
    }
}

/// The common shape of the indices of a gather or scatter into an array of shape `shape`.
#[track_caller]
fn indices<'a>(op: &str, shape: &[usize], ix: &[(&'a [usize], DType)]) -> &'a [usize] {
    if ix.len() > shape.len() {
        panic!(
            "{op}: the number of indices must be at most the rank {}, but it is {} and the shape is {}; leave some out",
            shape.len(),
            ix.len(),
            Show(shape)
        );
    }
    let common: &[usize] = ix.first().map_or(&[], |(s, _)| s);
    for (s, dtype) in ix {
        if *dtype != DType::I64 {
            panic!("{op}: indices must be i64, but one is {dtype}; convert it with to_int");
        }
        if *s != common {
            panic!(
                "{op}: all indices must have one shape, but two are {} and {}; replicate one",
                Show(common),
                Show(s)
            );
        }
    }
    common
}

/// The shape of `gather(t, ix)`: that of the indices, then the axes of `t` not indexed.
#[track_caller]
pub fn gather(shape: &[usize], ix: &[(&[usize], DType)]) -> Shape {
    let mut out = Shape::from_slice(indices("gather", shape, ix));
    out.extend_from_slice(&shape[ix.len()..]);
    out
}

/// Checks `scatter_add(base, ix, v)`: `v` has the shape of `gather(base, ix)`.
#[track_caller]
pub fn scatter_add(base: (&[usize], DType), ix: &[(&[usize], DType)], v: (&[usize], DType)) {
    let mut needed = Shape::from_slice(indices("scatter_add", base.0, ix));
    needed.extend_from_slice(&base.0[ix.len()..]);
    if v.0 != &needed[..] {
        panic!(
            "scatter_add: into {} at these indices the values must have shape {}, but they have {}; replicate or reshape them",
            Show(base.0),
            Show(&needed),
            Show(v.0)
        );
    }
    if v.1 != base.1 || base.1 == DType::Bool {
        panic!(
            "scatter_add: base and values must be numbers of one type, but they are {} and {}; convert one",
            base.1, v.1
        );
    }
}

/// The shape of a concatenation along `axis`.
#[track_caller]
pub fn concat(axis: usize, parts: &[(&[usize], DType)]) -> Shape {
    let Some((first, dtype)) = parts.first() else {
        panic!("concat: needs at least one part, but there are none; zeros makes an empty tensor of known shape");
    };
    check_axis("concat", axis, first);
    let mut out = Shape::from_slice(first);
    for (shape, d) in &parts[1..] {
        let fits = shape.len() == first.len() && (0..first.len()).all(|k| k == axis || shape[k] == first[k]);
        if !fits {
            panic!(
                "concat: parts may differ only along axis {axis}, but two are {} and {}; slice or pad one",
                Show(first),
                Show(shape)
            );
        }
        if d != dtype {
            panic!("concat: parts must have one element type, but two are {dtype} and {d}; convert one");
        }
        out[axis] += shape[axis];
    }
    out
}

/// Checks the sequences of a loop of `n` trips: each has `n` elements along its outermost axis.
#[track_caller]
pub fn sequences<'a>(n: usize, xs: impl Iterator<Item = &'a [usize]>) {
    for shape in xs {
        if shape.first() != Some(&n) {
            panic!(
                "map_accum: the outermost axis of a sequence must have size {n}, but the shape of one is {}; slice or pad it",
                Show(shape)
            );
        }
    }
}

/// Checks what one trip of a loop returned: the carry keeps its shapes and element types.
#[track_caller]
pub fn carry<'a>(
    before: impl ExactSizeIterator<Item = (&'a [usize], DType)>,
    after: impl ExactSizeIterator<Item = (&'a [usize], DType)>,
) {
    if before.len() != after.len() {
        panic!(
            "map_accum: the step must return a value for each that it carries, but it returned {}; keep the structure of the \
             carry",
            more_or_fewer(before.len(), after.len())
        );
    }
    for (b, a) in before.zip(after) {
        if a != b {
            panic!(
                "map_accum: the carry must keep shape and element type, but {} {} became {} {}; start with what the step returns",
                b.1,
                Show(b.0),
                a.1,
                Show(a.0)
            );
        }
    }
}

/// How two numbers of values compare. The numbers themselves depend on what an interpreter carries along.
fn more_or_fewer(needed: usize, given: usize) -> &'static str {
    if given > needed { "more" } else { "fewer" }
}

/// Checks one stacked output of a loop against the first trip's.
#[track_caller]
pub fn output(first: (&[usize], DType), now: (&[usize], DType)) {
    if first != now {
        panic!(
            "map_accum: outputs of all trips must have one shape and element type, but {} {} was followed by {} {}; slice or \
             pad them",
            first.1,
            Show(first.0),
            now.1,
            Show(now.0)
        );
    }
}

/// Checks how many outputs one trip of a loop returned against the first trip.
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
