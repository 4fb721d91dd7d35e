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
    let mut duals: Vec<ADVal<U>> = leaves.iter().map(|leaf| sweep.input(leaf)).collect();
    duals.extend(data.iter().map(|leaf| <ADVal<U> as Lift<U>>::lift(leaf.clone())));
    (sweep, duals)
}

/// Interprets a program at dual numbers, to be differentiated in its first `count` inputs.
pub(super) fn dual<U: BaseTensor>(program: &Program, inputs: &[U], count: usize) -> Differentiated<U> {
    let (sweep, duals) = started(inputs, count);
    (sweep, interpret(program, duals))
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
    let recorded = T::recorded(inputs, &mut |inputs| at(inputs).1.iter().map(|y| y.primal().clone()).collect());
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
    let value = |inputs: &[T::Trace]| f(&started(inputs, count).1).iter().map(|y| y.primal().clone()).collect();
    T::recorded(inputs, &mut |inputs| value(inputs)).map(|(program, _)| program)
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
    let still = |values: &[T::Trace]| values.iter().map(|x| Dual::lift(x.clone())).collect::<Vec<_>>();
    let (leaves, data) = inputs.split_at(tangents.len());
    let moving = || {
        let duals: Vec<Dual<T::Trace>> = leaves.iter().zip(tangents).map(|(x, dot)| sweep.input(x, dot)).collect();
        [duals, still(data)].concat()
    };
    let recorded = T::recorded(inputs, &mut |inputs| f(&still(inputs)).iter().map(|y| y.primal().clone()).collect());
    let results = match recorded {
        Some((program, captured)) => interpret(&program, [moving(), still(&captured)].concat()),
        None => f(&moving()),
    };
    results.iter().map(|y| sweep.try_result(y)).collect()
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
