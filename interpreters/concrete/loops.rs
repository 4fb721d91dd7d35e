//! Loops: one call of the step per trip, with the carry passed by value.
//!
//! Law: this module keeps no reference to the carry, so a step that is its only owner updates it in place.

use super::elementwise::kind;
use crate::array::{Array, Values, with_elem};
use crate::base::{Trip, TripFn};
use crate::dtype::{DType, Elem};
use crate::ops::kinds;
use crate::shape::{self, Shape};

/// A loop of `n` trips, see [`BaseTensor::map_accum`](crate::BaseTensor::map_accum).
#[track_caller]
pub(super) fn map_accum(
    n: usize,
    reverse: bool,
    init: Vec<Array>,
    xs: &[Array],
    step: TripFn<'_, Array>,
) -> Trip<Array> {
    kinds::sequences(n, xs.iter().map(Array::shape));
    let kinds: Vec<(Shape, DType)> = init.iter().map(|c| (Shape::from_slice(c.shape()), c.dtype())).collect();
    if n == 0 {
        return (init.clone(), no_trip(init, xs, &kinds, step));
    }
    let mut carry = init;
    let mut row = Vec::with_capacity(xs.len());
    let mut stacks: Vec<Array> = Vec::new();
    for trip in 0..n {
        let i = if reverse { n - 1 - trip } else { trip };
        row.clear();
        row.extend(xs.iter().map(|x| x.row(i)));
        let (next, outputs) = step(carry, &row);
        check_carry(&kinds, &next);
        carry = next;
        if trip == 0 {
            for output in &outputs {
                stacks.push(stack_like(output, n));
            }
        }
        check_outputs(&stacks, &outputs);
        for (stack, output) in stacks.iter_mut().zip(&outputs) {
            put(stack, i, output);
        }
    }
    (carry, stacks)
}

/// The outputs of a loop of no trips: empty, with the shapes of the outputs of a step on zeros.
#[track_caller]
fn no_trip(init: Vec<Array>, xs: &[Array], kinds: &[(Shape, DType)], step: TripFn<'_, Array>) -> Vec<Array> {
    let zeros = init.iter().map(|c| Array::zeros(c.shape(), c.dtype())).collect();
    let row: Vec<Array> = xs.iter().map(|x| Array::zeros(&x.shape()[1..], x.dtype())).collect();
    let (carry, outputs) = step(zeros, &row);
    check_carry(kinds, &carry);
    let mut stacks = Vec::with_capacity(outputs.len());
    for output in &outputs {
        stacks.push(stack_like(output, 0));
    }
    stacks
}

#[track_caller]
fn check_carry(kinds: &[(Shape, DType)], carry: &[Array]) {
    kinds::carry(kinds.iter().map(|(s, d)| (&s[..], *d)), carry.iter().map(kind));
}

#[track_caller]
fn check_outputs(stacks: &[Array], outputs: &[Array]) {
    kinds::outputs(stacks.len(), outputs.len());
    for (stack, output) in stacks.iter().zip(outputs) {
        kinds::output((&stack.shape()[1..], stack.dtype()), kind(output));
    }
}

/// An array of `n` rows like `row`: stored as one repeated value if `row` is.
#[track_caller]
fn stack_like(row: &Array, n: usize) -> Array {
    let shape = kinds::stacked(n, row.shape());
    with_elem!(row.dtype(), E => Array::full(&shape, row.splat::<E>().unwrap_or(E::ZERO)))
}

/// Writes a row; a stack of one repeated value stays stored as one while rows repeat the value.
#[track_caller]
fn put(stack: &mut Array, i: usize, row: &Array) {
    with_elem!(row.dtype(), E => put_typed::<E>(stack, i, row))
}

#[track_caller]
fn put_typed<E: Elem>(stack: &mut Array, i: usize, row: &Array) {
    if let (Some(x), Some(y)) = (stack.splat::<E>(), row.splat::<E>())
        && x.same_bits(y)
    {
        return;
    }
    let n = shape::size(row.shape());
    let place = &mut stack.make_dense::<E>()[i * n..(i + 1) * n];
    match row.typed::<E>() {
        Values::Splat(x) => place.fill(x),
        Values::Dense(v) => place.copy_from_slice(v),
    }
}
