//! Unrolled loops, for interpreters whose values differ from trip to trip.

use crate::base::{BaseTensor, Trip, TripFn};
use crate::dtype::DType;
use crate::ops::{Linear, kinds};

/// A loop whose step is called once for each trip; `row` gives one element of a sequence.
#[track_caller]
pub(super) fn map_accum<T: BaseTensor>(
    (n, reverse): (usize, bool),
    init: Vec<T>,
    xs: &[T],
    row: fn(&T, usize) -> T,
    step: TripFn<'_, T>,
) -> Trip<T> {
    fn kind<T: BaseTensor>(x: &T) -> (&[usize], DType) {
        (x.shape(), x.dtype())
    }
    kinds::sequences(n, xs.iter().map(BaseTensor::shape));
    if n == 0 {
        let elements: Vec<T> = xs.iter().map(|x| T::zeros(&x.shape()[1..], x.dtype())).collect();
        let (_, outputs) = step(init.clone(), &elements);
        return (init, outputs.iter().map(|y| T::zeros(&kinds::stacked(0, y.shape()), y.dtype())).collect());
    }
    let (mut carry, mut all) = (init, Vec::new());
    for trip in 0..n {
        let k = if reverse { n - 1 - trip } else { trip };
        let elements: Vec<T> = xs.iter().map(|x| row(x, k)).collect();
        let (next, outputs) = step(carry.clone(), &elements);
        kinds::carry(carry.iter().map(kind), next.iter().map(kind));
        carry = next;
        kinds::outputs(all.first().map_or(outputs.len(), Vec::len), outputs.len());
        all.push(outputs);
    }
    if reverse {
        all.reverse();
    }
    let stacked = |k: usize| {
        let one = |y: &T| y.linear(&Linear::reshape(y.shape(), &kinds::stacked(1, y.shape())));
        T::concat(0, &all.iter().map(|outputs| one(&outputs[k])).collect::<Vec<T>>())
    };
    (carry, (0..all[0].len()).map(stacked).collect())
}
