//! The derivatives of primitives: each runs at an interpreter of tensors, in forward or in reverse mode.
//!
//! Law: this file alone chooses between these interpreters, and a primitive says nothing of its derivatives. A tangent or
//! cotangent that is zero is `None`. All instances of the language that differentiate ask here.

use polygrad::base::{BaseTensor, Lift};
use polygrad::interpreters::{ADVal, Dual, adval, dual};
use polygrad::seam::{ArrayCotangent, pull_scattered};

use crate::primitive::leaves;
use crate::{Ground, Primitive};

/// (Co)tangents of tensors; `None` for zeros.
pub(crate) type Tangents<T> = Vec<Option<T>>;

/// The tangents of the results of a primitive, from those of its arguments: the primitive runs at dual numbers.
pub(crate) fn push_primitive<T: BaseTensor, P: Primitive>(p: &P, at: &[T], x_dots: &[Option<T>]) -> Tangents<T> {
    if x_dots.iter().all(Option::is_none) {
        return vec![None; leaves(&P::Cod::layout())];
    }
    let sweep = dual::Forward::new();
    let inputs: Vec<Dual<T>> = at
        .iter()
        .zip(x_dots)
        .map(|(x, x_dot)| match x_dot {
            Some(x_dot) => sweep.input(x, x_dot),
            None => <Dual<T> as Lift<T>>::lift(x.clone()),
        })
        .collect();
    let results = p.run(&inputs);
    results.iter().map(|y| y.dtype().is_float().then(|| sweep.result(y).1)).collect()
}

/// The cotangents of the arguments of a primitive, from those of its results: the primitive runs in reverse mode.
pub(crate) fn pull_primitive<T: BaseTensor, P: Primitive>(p: &P, at: &[T], y_bars: &[Option<T>]) -> Tangents<T> {
    let found = pull_needed(p, at, &vec![true; at.len()], y_bars).into_iter();
    found.map(|ct| ct.map(ArrayCotangent::dense)).collect()
}

/// [`pull_primitive`] of those arguments that need a cotangent; the others are constants, and get none. The cotangent of an
/// argument that is read at indices alone is zero elsewhere.
pub(crate) fn pull_needed<T: BaseTensor, P: Primitive>(
    p: &P,
    at: &[T],
    needed: &[bool],
    y_bars: &[Option<T>],
) -> Vec<Option<ArrayCotangent<T>>> {
    if !needed.contains(&true) {
        return at.iter().map(|_| None).collect();
    }
    let mut sweep = adval::Sweep::new();
    let mut input = |(x, needed): (&T, &bool)| if *needed { sweep.input(x) } else { ADVal::lift(x.clone()) };
    let inputs: Vec<ADVal<T>> = at.iter().zip(needed).map(&mut input).collect();
    let (mut results, mut cotangents) = (Vec::new(), Vec::new());
    for (y, y_bar) in p.run(&inputs).into_iter().zip(y_bars) {
        if let Some(y_bar) = y_bar {
            results.push(y);
            cotangents.push(y_bar.clone());
        }
    }
    let mut x_bars = pull_scattered(&sweep, &results, cotangents).into_iter();
    needed.iter().map(|needed| if *needed { x_bars.next().flatten() } else { None }).collect()
}
