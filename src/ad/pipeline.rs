//! The pipeline of every verb that records: record, optimize, differentiate, optimize.
//!
//! The plain verbs take a function of dual numbers, which cannot run at anything else. When such a verb records, the
//! primal part of the function's result is the recorded program of its value. That program is optimized and then run at
//! dual numbers, so the derivative is that of the optimized program, as for a [`Function`](crate::Function).
//!
//! Law: passes do not change the derivative of a program, but they change its cost: a pass may simplify a program and
//! still not recognise the same pattern in the derivative.

use super::symbolic;
use crate::array::Array;
use crate::base::{BaseTensor, Lift};
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::passes::optimize;
use crate::program::{Program, interpret};

/// A function of dual numbers.
pub(super) type Dually<'a, T> = &'a dyn Fn(&[ADVal<<T as BaseTensor>::Trace>]) -> Vec<ADVal<<T as BaseTensor>::Trace>>;

/// A function of dual numbers in forward mode.
pub(super) type Forwards<'a, T> = &'a dyn Fn(&[Dual<<T as BaseTensor>::Trace>]) -> Vec<Dual<<T as BaseTensor>::Trace>>;

/// A function of dual numbers over dual numbers.
pub(super) type Twice<'a, T> =
    &'a dyn Fn(&[ADVal<ADVal<<T as BaseTensor>::Trace>>]) -> ADVal<ADVal<<T as BaseTensor>::Trace>>;

/// A differentiation and its values, inputs or results.
type Differentiated<U> = (Sweep<U>, Vec<ADVal<U>>);

/// Values with their tangents.
type Paired<U> = Vec<(U, U)>;

/// Inputs of a new sweep, the first `count` of them; the others are constants.
pub(super) fn started<U: BaseTensor>(inputs: &[U], count: usize) -> Differentiated<U> {
    let mut sweep = Sweep::new();
    let (leaves, data) = inputs.split_at(count);
    let mut duals: Vec<ADVal<U>> = leaves.iter().map(|leaf| sweep.input(leaf)).collect();
    duals.extend(data.iter().map(|leaf| <ADVal<U> as Lift<U>>::lift(leaf.clone())));
    (sweep, duals)
}

/// A program at dual numbers, differentiated in its first `count` inputs.
pub(super) fn dual<U: BaseTensor>(program: &Program, inputs: &[U], count: usize) -> Differentiated<U> {
    let (sweep, duals) = started(inputs, count);
    (sweep, interpret(program, duals))
}

/// The results of a function of traced values, differentiated in the first `count` of these.
pub(super) fn reverse<T: BaseTensor>(inputs: &[T::Trace], count: usize, f: Dually<'_, T>) -> Differentiated<T::Trace> {
    let (sweep, duals) = started(inputs, count);
    let results = f(&duals);
    let primals: Vec<T::Trace> = results.iter().map(|y| y.primal().clone()).collect();
    match T::recorded(inputs, &primals) {
        Some(program) => dual(&program, inputs, count),
        None => (sweep, results),
    }
}

/// The values of a function of traced values, and their tangents. Values without a tangent, which come last, are constants.
///
/// # Errors
/// When a result has a tangent that is not one of this derivative.
pub(super) fn forward<T: BaseTensor>(
    inputs: &[T::Trace],
    tangents: &[T::Trace],
    f: Forwards<'_, T>,
) -> Result<Paired<T::Trace>, String> {
    let of = |sweep: &Forward| {
        let (leaves, data) = inputs.split_at(tangents.len());
        let mut duals: Vec<Dual<T::Trace>> = leaves.iter().zip(tangents).map(|(x, dot)| sweep.input(x, dot)).collect();
        duals.extend(data.iter().map(|leaf| <Dual<T::Trace> as Lift<T::Trace>>::lift(leaf.clone())));
        duals
    };
    let sweep = Forward::new();
    let results = f(&of(&sweep));
    let primals: Vec<T::Trace> = results.iter().map(|y| y.primal().clone()).collect();
    let (sweep, results) = match T::recorded(inputs, &primals) {
        Some(program) => {
            let sweep = Forward::new();
            let results = interpret(&program, of(&sweep));
            (sweep, results)
        }
        None => (sweep, results),
    };
    results.iter().map(|y| sweep.try_result(y)).collect()
}

/// The gradient of a scalar function of traced values in the first `count` of these, which can be differentiated again in
/// them. A recorded gradient is optimized before and after the first derivative.
///
/// # Errors
/// When the function is not one of its arguments alone.
pub(super) fn gradient<T: BaseTensor>(
    inputs: &[T::Trace],
    count: usize,
    f: Twice<'_, T>,
) -> Result<Differentiated<T::Trace>, Fault> {
    let (outer, firsts) = started(inputs, count);
    let mut inner = Sweep::new();
    let (leaves, data) = firsts.split_at(count);
    let mut duals: Vec<ADVal<ADVal<T::Trace>>> = leaves.iter().map(|x| inner.input(x)).collect();
    duals.extend(data.iter().map(|leaf| <ADVal<ADVal<T::Trace>> as Lift<ADVal<T::Trace>>>::lift(leaf.clone())));
    let y = f(&duals);
    if let Some(program) = T::recorded(inputs, &[y.primal().primal().clone()]) {
        let wrt: Vec<usize> = (0..count).collect();
        return Ok(dual(&optimize(&symbolic::gradient_in(&program, &wrt)), inputs, count));
    }
    let one = ADVal::constant(Array::ones(&[], y.dtype()));
    Ok((outer, inner.try_pull(&[y], vec![one])?))
}
