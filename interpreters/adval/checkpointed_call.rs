//! Checkpointed calls: functions that the reverse pass runs again.
//!
//! Applied to known values, a checkpointed function records one term, which keeps the arguments and the function. The
//! transposed term runs the function again at dual numbers, and pulls the cotangents back through the recorded terms,
//! to the arguments and to the captured values. So intermediate values are computed twice, but are kept for one
//! application at a time only. If values are not known, the function is part of the recorded program
//! ([`BaseTensor::again`] of the interpreter below), or it runs without a checkpoint.
//!
//! Law: results and cotangents are those of the function itself.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use indexmap::IndexMap;

use super::delta::{Delta, Given, Id, SharedTerm, fresh, reachable};
use super::pull::{self, Env, Fault, Residual, Update};
use super::push::{self, TermTangents};
use super::{ADVal, differentiable, primals};
use crate::base::{Again, BaseTensor, Report, Staging, WhileFn, repeated};
use crate::dtype::DType;
use crate::program::repeat::held;

/// A function of dual numbers, identified by its address.
#[derive(Clone)]
struct Code(Rc<dyn Any>, *const ());

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.1 == other.1
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// The term of an application: it has one tangent per result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Applied<F, R> {
    code: Code,
    args: Vec<F>,
    /// The tangents of the arguments.
    to: Vec<Option<R>>,
    /// The terms that the function captures, in ascending order of the ids by which the function refers to them.
    captured: Vec<(Id, R)>,
}

impl<F, R> Applied<F, R> {
    pub(super) fn map<G, S>(&self, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> Applied<G, S> {
        Applied {
            code: self.code.clone(),
            args: self.args.iter().map(f).collect(),
            to: self.to.iter().map(|to| to.as_ref().map(&mut *r)).collect(),
            captured: self.captured.iter().map(|(id, to)| (*id, r(to))).collect(),
        }
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        self.to.iter().flatten().chain(self.captured.iter().map(|(_, to)| to)).for_each(r);
    }

    /// Runs the function again: the arguments as new inputs, and the results.
    fn run<T: BaseTensor>(&self, env: &Env<'_, T>) -> (Vec<ADVal<T>>, Vec<ADVal<T>>)
    where
        F: Residual<T>,
    {
        let Some(f) = self.code.0.downcast_ref::<Again<ADVal<T>>>() else {
            unreachable!("a term is evaluated at the interpreter that it was recorded at")
        };
        let dual = |(value, to): (&F, &Option<R>)| {
            let value = value.get(env).clone();
            if to.is_some() { ADVal::variable(value, Given::Argument) } else { ADVal::constant_of(value) }
        };
        let args: Vec<ADVal<T>> = self.args.iter().zip(&self.to).map(dual).collect();
        let results = f(&args);
        (args, results)
    }

    pub(super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        cts: Vec<Option<T>>,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        let first = fresh();
        let (args, results) = self.run(env);
        let mut seeds = Vec::new();
        for (result, ct) in results.iter().zip(cts) {
            if let (Some(node), Some(ct)) = (&result.node, ct) {
                seeds.push((node, ct));
            }
        }
        let inputs: Vec<Id> = args.iter().filter(|arg| arg.node.is_some()).map(|arg| arg.id).collect();
        let outside: Vec<Id> = self.captured.iter().map(|(id, _)| *id).collect();
        let (of_args, of_captured) = known(pull::reverse(seeds, first, &inputs, &outside));
        let targets = self.to.iter().flatten().chain(self.captured.iter().map(|(_, to)| to));
        for (to, ct) in targets.zip(of_args.into_iter().chain(of_captured)) {
            if let Some(ct) = ct {
                emit(to, Update::Add(ct));
            }
        }
    }

    pub(super) fn push<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let first = fresh();
        let (args, results) = self.run(env);
        // Captured terms have smaller ids than the inputs.
        let captured = self.captured.iter().map(|(id, to)| (*id, of(to, 0)));
        let mut inputs: Vec<(Id, Option<T>)> = captured.collect();
        for (arg, to) in args.iter().zip(&self.to) {
            if let Some(to) = to {
                inputs.push((arg.id, of(to, 0)));
            }
        }
        let results: Vec<Option<&Rc<SharedTerm<T>>>> = results.iter().map(|y| y.node.as_ref()).collect();
        known(push::forward(&results, first, &inputs)).into_iter().collect()
    }
}

/// The result of a derivative that exists, since the same function was differentiated before.
fn known<X>(result: Result<X, Fault>) -> X {
    match result {
        Ok(result) => result,
        Err(fault) => panic!("{fault}"),
    }
}

/// The terms that a function captures.
type Captured<T> = Rc<RefCell<IndexMap<Id, Rc<SharedTerm<T>>>>>;

/// The function on values of `T`, which records the terms that it captures.
fn primal<T: BaseTensor>(f: &Again<ADVal<T>>, captured: &Captured<T>) -> Again<T> {
    let (f, captured) = (f.clone(), captured.clone());
    Rc::new(move |args: &[T]| {
        let base = fresh();
        let results = f(&args.iter().cloned().map(ADVal::constant_of).collect::<Vec<ADVal<T>>>());
        let mut note = |node: &Rc<SharedTerm<T>>| {
            if node.id < base {
                captured.borrow_mut().insert(node.id, node.clone());
            }
        };
        results.iter().filter_map(|y| y.node.as_ref()).for_each(&mut note);
        for node in reachable(results.iter().filter_map(|y| y.node.as_ref()), base).into_values() {
            node.delta.refs(&mut note);
        }
        results.into_iter().map(|y| y.primal).collect()
    })
}

/// A function applied to dual numbers.
#[track_caller]
pub(super) fn apply<T: BaseTensor>(f: &Again<ADVal<T>>, args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    let captured = Captured::default();
    let results = T::again(&primal(f, &captured), &primals(args));
    let mut captured: Vec<(Id, Rc<SharedTerm<T>>)> = captured.take().into_iter().collect();
    if captured.is_empty() && args.iter().all(|arg| arg.node.is_none()) {
        return results.into_iter().map(ADVal::constant_of).collect();
    }
    if T::records() || results.iter().any(|y| y.peek().is_none()) {
        // The function cannot run again at variables of a loop that has ended: the derivative is that of a plain
        // run. A recorded program of the primal values still contains the checkpointed function.
        return f(args).into_iter().zip(results).map(|(y, primal)| ADVal { primal, ..y }).collect();
    }
    captured.sort_by_key(|(id, _)| *id);
    let term = Applied {
        code: Code(Rc::new(f.clone()), Rc::as_ptr(f).cast()),
        args: args.iter().map(ADVal::factor).collect(),
        to: args.iter().map(|arg| arg.node.clone()).collect(),
        captured,
    };
    let site = results.first().map(T::site).unwrap_or_default();
    let of: Rc<SharedTerm<T>> =
        Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta: Delta::Again(Box::new(term)) });
    let result = |(k, y): (usize, T)| {
        if differentiable(&y) { ADVal::of(y, Delta::Output(of.clone(), k)) } else { ADVal::constant_of(y) }
    };
    results.into_iter().enumerate().map(result).collect()
}

/// A loop with an early exit, of dual numbers.
///
/// Known values determine the number of trips, unless the loop is in the body of a recorded loop, whose trips must all
/// record the same residuals: then it runs the largest possible number of trips. If values are unknown, primal values
/// are those of the loop of `T`, which a recorded program of the primal values contains; tangents are those of the
/// largest possible number of trips.
#[track_caller]
pub(super) fn repeat<T: BaseTensor>(
    most: Option<usize>,
    init: Vec<ADVal<T>>,
    step: WhileFn<'_, ADVal<T>>,
) -> Vec<ADVal<T>> {
    let all = |init: Vec<ADVal<T>>, most: usize, step: WhileFn<'_, ADVal<T>>| {
        ADVal::map_accum(most, false, init, &[], &mut |carry, _| (held(carry, step), Vec::new())).0
    };
    if !T::records() && init[0].peek().is_some() {
        return match most {
            Some(most) if ADVal::<T>::runs_all_trips() => all(init, most, step),
            Some(_) | None => repeated(most, init, step),
        };
    }
    let mut still = init.iter().all(|c| c.node.is_none());
    let values = T::repeat(most, primals(&init), &mut |carry| {
        let next = step(carry.into_iter().map(ADVal::constant_of).collect());
        still &= next.iter().all(|c| c.node.is_none());
        next.into_iter().map(|c| c.primal).collect()
    });
    let duals = match most {
        _ if still => return values.into_iter().map(ADVal::constant_of).collect(),
        Some(most) => all(init, most, step),
        None => values.iter().map(unbounded).collect(),
    };
    duals.into_iter().zip(values).map(|(y, primal)| ADVal { primal, ..y }).collect()
}

/// A result of a loop without a bound on the number of trips.
fn unbounded<T: BaseTensor>(value: &T) -> ADVal<T> {
    if differentiable(value) { ADVal::of(value.clone(), Delta::Unbounded) } else { ADVal::constant_of(value.clone()) }
}
