//! Calls of linear algebra, applied to dual numbers.
//!
//! A call that is linear in its only operand with a tangent becomes a term. For any other call, its rule runs at dual
//! numbers whose primals are known and whose tangents are those of the operands; the rule is linear in the tangents, so
//! it records the terms of a linear map.
//!
//! Law: primal values are those of `T::call`, and rules are made of calls, so rules apply again at every level below.

use super::custom::{moved, stills, tangent};
use super::delta::{Delta, mapped};
use super::pull::{Env, Residual, values};
use super::{ADVal, are_constants, constants, factors, primals, site, with_poles};
use crate::base::BaseTensor;
use crate::interpreters::guarded::{self, Care};
use crate::linalg::rules;
use crate::ops::Call;

/// `op(known, to)`, linear in the operand at the position of `to`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Called<F, R> {
    op: Call,
    /// The other operands.
    known: Vec<F>,
    pub(super) to: R,
}

impl<F, R> Called<F, R> {
    pub(super) fn map<G, S>(&self, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> Called<G, S> {
        Called { op: self.op.clone(), known: mapped(&self.known, f), to: r(&self.to) }
    }

    /// Whether the tangent of the result can be infinite or NaN where the values are finite.
    pub(super) fn is_steep(&self) -> bool {
        self.op.is_steep(0)
    }

    /// The cotangent of the operand.
    pub(super) fn pull<T: BaseTensor>(&self, env: &Env<'_, T>, ct: T, care: Care) -> T
    where
        F: Residual<T>,
    {
        let x = self.apply(&self.op.adjoint(), env, ct.clone());
        guarded::of_rule(&[ct], vec![x], care).swap_remove(0)
    }

    /// The tangent of the result.
    pub(super) fn push<T: BaseTensor>(&self, env: &Env<'_, T>, tangent: T) -> T
    where
        F: Residual<T>,
    {
        self.apply(&self.op, env, tangent)
    }

    fn apply<T: BaseTensor>(&self, op: &Call, env: &Env<'_, T>, x: T) -> T
    where
        F: Residual<T>,
    {
        let place = op.linear_in().expect("the term of a call is linear");
        let mut args = values(&self.known, env);
        args.insert(place, x);
        T::call(op, &args).swap_remove(0)
    }
}

/// A call, applied to dual numbers.
#[track_caller]
pub(super) fn apply<T: BaseTensor>(op: &Call, args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    let results = T::call(op, &primals(args));
    if are_constants(args) {
        return with_poles(constants(results));
    }
    let Some(place) = op.linear_in() else { return by_rule(op, args, results) };
    for (k, arg) in args.iter().enumerate() {
        if k != place && arg.node.is_some() {
            return by_rule(op, args, results);
        }
    }
    let Some(to) = &args[place].node else { return by_rule(op, args, results) };
    let mut known = factors(args);
    known.remove(place);
    let mut duals = Vec::with_capacity(results.len());
    for y in results {
        let term = Called { op: op.clone(), known: known.clone(), to: to.clone() };
        duals.push(ADVal::of(y, Delta::Call(Box::new(term))).poles_if(true));
    }
    duals
}

/// Runs the rule at values whose tangents are those of the operands.
#[track_caller]
fn by_rule<T: BaseTensor>(op: &Call, args: &[ADVal<T>], results: Vec<T>) -> Vec<ADVal<T>> {
    let (x, y) = (stills(args), with_poles(constants(results.clone())));
    let mut tangents: Vec<Option<ADVal<T>>> = Vec::with_capacity(args.len());
    for arg in args {
        tangents.push(tangent(arg));
    }
    // No closure here, so that a derivative that does not exist is reported at the caller's line.
    let before = T::attribute(site(&results));
    let mut tangents = rules::call(op, &x, &y, &tangents).into_iter();
    T::attribute(before);
    let mut duals = Vec::with_capacity(results.len());
    for y in results {
        duals.push(moved(y, tangents.next().flatten()));
    }
    duals
}
