//! The pipeline of every verb that records: record, optimize, differentiate, optimize.
//!
//! The plain verbs take a function of dual numbers, which can run at no other interpreter. To record the function, a
//! verb runs it at dual numbers over terms: the primal of the result is the term of the value, so it gives the program.
//! That program is optimized and interpreted at dual numbers, so the derivative is that of the optimized program, as
//! for a [`Function`](crate::Function). If the verb is part of another program, the values that the function captures
//! are further inputs of the recorded program.
//!
//! Law: passes do not change the derivative of a program. They change its cost, which is why the program is optimized
//! before it is differentiated: a pattern that a pass recognises in a program may not be recognisable in the
//! derivative.

use std::any::TypeId;

use super::symbolic;
use crate::array::Array;
use crate::base::{BaseTensor, Lift, Staging};
use crate::interpreters::adval::{ADVal, Fault, Sweep};
use crate::interpreters::dual::{Dual, Forward};
use crate::passes::optimize;
use crate::program::{Program, interpret};

/// A function of dual numbers.
pub(super) type Dually<'a, T> = &'a dyn Fn(&[ADVal<<T as Staging>::Trace>]) -> Vec<ADVal<<T as Staging>::Trace>>;

/// A function of dual numbers in forward mode.
pub(super) type Forwards<'a, T> = &'a dyn Fn(&[Dual<<T as Staging>::Trace>]) -> Vec<Dual<<T as Staging>::Trace>>;

/// A function of dual numbers over dual numbers.
pub(super) type Twice<'a, T> =
    &'a dyn Fn(&[ADVal<ADVal<<T as Staging>::Trace>>]) -> ADVal<ADVal<<T as Staging>::Trace>>;

/// A differentiation, and its inputs or results.
pub(super) type Differentiated<U> = (Sweep<U>, Vec<ADVal<U>>);

/// Values with their tangents.
type Paired<U> = Vec<(U, U)>;

/// A new sweep, and its dual numbers: the first `count` values are inputs of the sweep, the others constants.
pub(super) fn started<U: BaseTensor>(inputs: &[U], count: usize) -> Differentiated<U> {
    let mut sweep = Sweep::new();
    let (leaves, data) = inputs.split_at(count);
    let mut duals: Vec<ADVal<U>> = Vec::with_capacity(inputs.len());
    for leaf in leaves {
        duals.push(sweep.input(leaf));
    }
    for leaf in data {
        duals.push(<ADVal<U> as Lift<U>>::lift(leaf.clone()));
    }
    (sweep, duals)
}

/// Interprets a program at dual numbers, to be differentiated in its first `count` inputs.
pub(super) fn dual<U: BaseTensor>(program: &Program, inputs: &[U], count: usize) -> Differentiated<U> {
    let (sweep, duals) = started(inputs, count);
    (sweep, interpret(program, duals))
}

/// The primal values of dual numbers.
pub(super) fn primals<U: BaseTensor>(duals: &[ADVal<U>]) -> Vec<U> {
    let mut primals = Vec::with_capacity(duals.len());
    for dual in duals {
        primals.push(dual.primal().clone());
    }
    primals
}

/// The program that a verb differentiates.
pub(super) enum VerbSource<U: 'static> {
    /// A recorded and optimized program, with its inputs.
    Recorded(Program, Vec<U>),
    /// The results of a function that cannot be recorded, run at dual numbers.
    Run(Differentiated<U>),
}

/// Records a function of traced values, or runs it at dual numbers; it is to be differentiated in the first `count`
/// inputs.
pub(super) fn source<T: BaseTensor>(inputs: &[T::Trace], count: usize, f: Dually<'_, T>) -> VerbSource<T::Trace> {
    let at = |inputs: &[T::Trace]| {
        let (sweep, duals) = started(inputs, count);
        (sweep, f(&duals))
    };
    let recorded = T::recorded(inputs, &mut |inputs| primals(&at(inputs).1));
    match recorded {
        Some((program, captured)) => VerbSource::Recorded(program, [inputs, &captured].concat()),
        None => VerbSource::Run(at(inputs)),
    }
}

/// The results of a function of traced values at dual numbers, to be differentiated in the first `count` inputs.
pub(super) fn reverse<T: BaseTensor>(inputs: &[T::Trace], count: usize, f: Dually<'_, T>) -> Differentiated<T::Trace> {
    match source::<T>(inputs, count, f) {
        VerbSource::Recorded(program, inputs) => dual(&program, &inputs, count),
        VerbSource::Run(results) => results,
    }
}

/// The optimized program of a function of traced values, if `T` traces at another interpreter, which records programs:
/// such a program has no captured values.
pub(super) fn closed<T: BaseTensor>(inputs: &[T::Trace], count: usize, f: Dually<'_, T>) -> Option<Program> {
    if TypeId::of::<T>() == TypeId::of::<T::Trace>() {
        return None;
    }
    let recorded = T::recorded(inputs, &mut |inputs| primals(&f(&started(inputs, count).1)));
    recorded.map(|(program, _)| program)
}

/// The results of a function of traced values, with their tangents. Tangents are given for the first inputs; the other
/// inputs are constants.
///
/// # Errors
/// When the tangent of a result belongs to another differentiation, or to a variable of a loop.
pub(super) fn forward<T: BaseTensor>(
    inputs: &[T::Trace],
    tangents: &[T::Trace],
    f: Forwards<'_, T>,
) -> Result<Paired<T::Trace>, String> {
    let sweep = Forward::new();
    // A program of the primal values is recorded, so the inputs have no tangents.
    let recorded = T::recorded(inputs, &mut |inputs| {
        let mut primals = Vec::new();
        for y in f(&still(inputs)) {
            primals.push(y.primal().clone());
        }
        primals
    });
    let (leaves, data) = inputs.split_at(tangents.len());
    let mut moving = Vec::with_capacity(inputs.len());
    for (k, x) in leaves.iter().enumerate() {
        moving.push(sweep.input(x, &tangents[k]));
    }
    moving.append(&mut still(data));
    let results = match recorded {
        Some((program, captured)) => {
            moving.append(&mut still(&captured));
            interpret(&program, moving)
        }
        None => f(&moving),
    };
    let mut pairs = Vec::with_capacity(results.len());
    for y in &results {
        pairs.push(sweep.try_result(y)?);
    }
    Ok(pairs)
}

/// Dual numbers without tangents.
fn still<U: BaseTensor>(values: &[U]) -> Vec<Dual<U>> {
    let mut still = Vec::with_capacity(values.len());
    for x in values {
        still.push(<Dual<U> as Lift<U>>::lift(x.clone()));
    }
    still
}

/// Records a scalar function of traced values that is to be differentiated twice in the first `count` inputs. If the
/// function cannot be recorded, it is run, and the result is its gradient at dual numbers, for the second derivative.
///
/// # Errors
/// When the result depends on a differentiated value that is no input.
pub(super) fn source_of_gradient<T: BaseTensor>(
    inputs: &[T::Trace],
    count: usize,
    f: Twice<'_, T>,
) -> Result<VerbSource<T::Trace>, Fault> {
    let at = |inputs: &[T::Trace]| {
        let (outer, firsts) = started(inputs, count);
        let (inner, duals) = started(&firsts, count);
        (outer, inner, f(&duals))
    };
    let recorded = T::recorded(inputs, &mut |inputs| vec![at(inputs).2.primal().primal().clone()]);
    if let Some((program, captured)) = recorded {
        return Ok(VerbSource::Recorded(program, [inputs, &captured].concat()));
    }
    let (outer, inner, y) = at(inputs);
    let one = ADVal::constant(Array::ones(&[], y.dtype()));
    Ok(VerbSource::Run((outer, inner.try_pull(&[y], vec![one])?)))
}

/// The gradient of a scalar function of traced values in the first `count` inputs, at dual numbers, so that it can be
/// differentiated again in the same inputs. If the function is recorded, the program is optimized before and after the
/// first derivative.
///
/// # Errors
/// When the result depends on a differentiated value that is no input.
pub(super) fn gradient<T: BaseTensor>(
    inputs: &[T::Trace],
    count: usize,
    f: Twice<'_, T>,
) -> Result<Differentiated<T::Trace>, Fault> {
    match source_of_gradient::<T>(inputs, count, f)? {
        VerbSource::Recorded(program, inputs) => {
            let wrt: Vec<usize> = (0..count).collect();
            Ok(dual(&optimize(&symbolic::grad_in(&program, &wrt)), &inputs, count))
        }
        VerbSource::Run(gradient) => Ok(gradient),
    }
}
