//! Checkpointed calls: functions that the reverse pass runs again.
//!
//! Applied to known values, a checkpointed function records one term, which keeps the arguments and the function. The
//! transposed term runs the function again at dual numbers, and pulls the cotangents back through the recorded terms,
//! to the arguments and to the captured values. So intermediate values are computed twice, but are kept for one
//! application at a time only. In a branch of a fork, whose terms change threads, the function runs without a checkpoint. If values are not known, the function is part of the recorded program
//! ([`BaseTensor::again`] of the interpreter below), or it runs without a checkpoint.
//!
//! Law: results and cotangents are those of the function itself.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::delta::{Coefficient, Delta, Given, Id, SharedTerm, fresh, mapped, mapped_options, present, reachable};
use super::fork::in_a_branch;
use super::pull::{self, Env, Fault, Residual, Update, values};
use super::push::{self, TermTangents};
use super::{ADVal, are_constants, constants, differentiable, factors, outputs, primals, terms};
use crate::base::{Again, BaseTensor, Report, Staging, WhileFn, repeated};
use crate::interpreters::guarded::Care;
use crate::program::repeat::held;
use crate::taps::quietly;

/// A function of dual numbers, identified by its address.
#[derive(Clone)]
pub(super) struct RerunCode(Rc<dyn Any>, CodeAddress);

/// Where a function is kept: equal addresses, equal functions, while both are kept.
pub(super) type CodeAddress = *const ();

impl RerunCode {
    pub(super) fn address(&self) -> CodeAddress {
        self.1
    }
}

impl PartialEq for RerunCode {
    fn eq(&self, other: &RerunCode) -> bool {
        self.1 == other.1
    }
}

impl fmt::Debug for RerunCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// The term of an application: it has one tangent per result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Applied<F: Coefficient, R> {
    code: F::Code,
    args: Vec<F>,
    /// The tangents of the arguments.
    to: Vec<Option<R>>,
    /// The terms that the function captures.
    captured: Vec<R>,
    /// The ids by which the function refers to these terms, ascending.
    ids: Vec<Id>,
}

impl<F: Coefficient, R> Applied<F, R> {
    pub(super) fn map<G: Coefficient, S>(
        &self,
        f: &mut dyn FnMut(&F) -> G,
        r: &mut dyn FnMut(&R) -> S,
        c: &mut dyn FnMut(&F::Code) -> G::Code,
    ) -> Applied<G, S> {
        Applied {
            code: c(&self.code),
            args: mapped(&self.args, f),
            to: mapped_options(&self.to, r),
            captured: mapped(&self.captured, r),
            ids: self.ids.clone(),
        }
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        present(&self.to, r);
        for to in &self.captured {
            r(to);
        }
    }

    /// Runs the function again: the arguments as new inputs, and the results.
    fn run<T: BaseTensor>(&self, env: &Env<'_, T>) -> (Vec<ADVal<T>>, Vec<ADVal<T>>)
    where
        F: Residual<T>,
    {
        let Some(f) = F::code(&self.code, env).0.downcast_ref::<Again<ADVal<T>>>() else {
            unreachable!("a term is evaluated at the interpreter that it was recorded at")
        };
        let mut args: Vec<ADVal<T>> = Vec::with_capacity(self.args.len());
        for (k, value) in values(&self.args, env).into_iter().enumerate() {
            let moves = self.to[k].is_some();
            args.push(if moves { ADVal::variable(value, Given::Argument) } else { ADVal::constant_of(value) });
        }
        let results = quietly(|| f(&args));
        (args, results)
    }

    pub(super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        cts: Vec<Option<T>>,
        care: Care,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        let first = fresh();
        let (args, results) = self.run(env);
        let mut seeds = Vec::new();
        for (k, ct) in cts.into_iter().enumerate() {
            if let (Some(node), Some(ct)) = (&results[k].node, ct) {
                seeds.push((node, ct));
            }
        }
        let mut inputs: Vec<Id> = Vec::new();
        for arg in &args {
            if arg.node.is_some() {
                inputs.push(arg.id);
            }
        }
        let (mut of_args, mut of_captured) = known(pull::reverse(seeds, first, &inputs, &self.ids, (false, care)));
        let mut next = 0;
        present(&self.to, &mut |to| {
            if let Some(ct) = of_args[next].take() {
                emit(to, Update::Add(ct.dense()));
            }
            next += 1;
        });
        for (k, to) in self.captured.iter().enumerate() {
            if let Some(ct) = of_captured[k].take() {
                emit(to, Update::Add(ct));
            }
        }
    }

    pub(super) fn push<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        care: Care,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let first = fresh();
        let (args, results) = self.run(env);
        // Captured terms have smaller ids than the inputs.
        let mut inputs: Vec<(Id, Option<T>)> = Vec::new();
        for (k, to) in self.captured.iter().enumerate() {
            inputs.push((self.ids[k], of(to, 0)));
        }
        for (k, to) in self.to.iter().enumerate() {
            if let Some(to) = to {
                inputs.push((args[k].id, of(to, 0)));
            }
        }
        TermTangents::from_vec(known(push::forward(&terms(&results), first, &inputs, care)))
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
type Captured<T> = Rc<RefCell<BTreeMap<Id, Rc<SharedTerm<T>>>>>;

/// The function on values of `T`, which records the terms that it captures.
fn primal<T: BaseTensor>(f: &Again<ADVal<T>>, captured: &Captured<T>) -> Again<T> {
    let (f, captured) = (f.clone(), captured.clone());
    Rc::new(move |args: &[T]| {
        let base = fresh();
        let results = f(&constants(args.to_vec()));
        let mut note = |node: &Rc<SharedTerm<T>>| {
            if node.id < base {
                captured.borrow_mut().insert(node.id, node.clone());
            }
        };
        let nodes = terms(&results);
        for node in nodes.iter().flatten() {
            note(node);
        }
        for node in reachable(&nodes, base) {
            node.delta.refs(&mut note);
        }
        primals(&results)
    })
}

/// A function applied to dual numbers.
#[track_caller]
pub(super) fn apply<T: BaseTensor>(f: &Again<ADVal<T>>, args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    if in_a_branch() && !T::records() {
        return f(args);
    }
    let captured = Captured::default();
    let results = T::again(&primal(f, &captured), &primals(args));
    let (mut of, mut ids) = (Vec::new(), Vec::new());
    for (id, node) in captured.take() {
        ids.push(id);
        of.push(node);
    }
    if of.is_empty() && are_constants(args) {
        return constants(results);
    }
    if T::records() || results.iter().any(|y| y.peek().is_none()) {
        // The function cannot run again at variables of a loop that has ended: the derivative is that of a plain
        // run. A recorded program of the primal values still contains the checkpointed function.
        return with_primals(quietly(|| f(args)), results);
    }
    let code = RerunCode(Rc::new(f.clone()), Rc::as_ptr(f).cast());
    let term = Applied { code, args: factors(args), to: terms(args), captured: of, ids };
    outputs(results, Delta::Again(Box::new(term)))
}

/// Dual numbers with other primal values.
fn with_primals<T: BaseTensor>(duals: Vec<ADVal<T>>, mut primals: Vec<T>) -> Vec<ADVal<T>> {
    let mut moved = Vec::with_capacity(duals.len());
    primals.reverse();
    for dual in duals {
        let primal = primals.pop().expect("one primal value for each dual number");
        moved.push(ADVal { primal, ..dual });
    }
    moved
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
    let mut still = are_constants(&init);
    let values = T::repeat(most, primals(&init), &mut |carry| {
        let next = step(constants(carry));
        still &= are_constants(&next);
        primals(&next)
    });
    let duals = match most {
        _ if still => return constants(values),
        Some(most) => quietly(|| all(init, most, step)),
        None => values.iter().map(unbounded).collect(),
    };
    with_primals(duals, values)
}

/// A result of a loop without a bound on the number of trips.
fn unbounded<T: BaseTensor>(value: &T) -> ADVal<T> {
    if differentiable(value) { ADVal::of(value.clone(), Delta::Unbounded) } else { ADVal::constant_of(value.clone()) }
}
