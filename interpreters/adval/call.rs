//! Calls of linear algebra, applied to dual numbers.
//!
//! A call that is linear in its only operand with a tangent becomes a term. For any other call, its rule runs at dual
//! numbers whose primals are known and whose tangents are those of the operands; the rule is linear in the tangents, so
//! it records the terms of a linear map.
//!
//! Law: primal values are those of `T::call`, and rules are made of calls, so rules apply again at every level below.

use super::custom::{moved, still, tangent};
use super::delta::{Delta, Factor};
use super::pull::{Env, Residual};
use super::{ADVal, primals};
use crate::base::BaseTensor;
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
        Called { op: self.op.clone(), known: self.known.iter().map(f).collect(), to: r(&self.to) }
    }

    /// The cotangent of the operand.
    pub(super) fn pull<T: BaseTensor>(&self, env: &Env<'_, T>, ct: T) -> T
    where
        F: Residual<T>,
    {
        self.apply(&self.op.adjoint(), env, ct)
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
        let mut args: Vec<T> = self.known.iter().map(|f| f.get(env).clone()).collect();
        args.insert(place, x);
        T::call(op, &args).swap_remove(0)
    }
}

/// A call, applied to dual numbers.
#[track_caller]
pub(super) fn apply<T: BaseTensor>(op: &Call, args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    let results = T::call(op, &primals(args));
    let mut moving = args.iter().enumerate().filter(|(_, a)| a.node.is_some());
    let (first, second) = (moving.next(), moving.next());
    let Some((place, arg)) = first else { return results.into_iter().map(ADVal::constant_of).collect() };
    if let (Some(to), None, true) = (&arg.node, second, op.linear_in() == Some(place)) {
        let others = args.iter().enumerate().filter(|(k, _)| *k != place);
        let known: Vec<Factor<T>> = others.map(|(_, a)| a.factor()).collect();
        let term =
            |y| ADVal::of(y, Delta::Call(Box::new(Called { op: op.clone(), known: known.clone(), to: to.clone() })));
        return results.into_iter().map(term).collect();
    }
    by_rule(op, args, results)
}

/// Runs the rule at values whose tangents are those of the operands.
#[track_caller]
fn by_rule<T: BaseTensor>(op: &Call, args: &[ADVal<T>], results: Vec<T>) -> Vec<ADVal<T>> {
    let x: Vec<ADVal<T>> = args.iter().map(still).collect();
    let y: Vec<ADVal<T>> = results.iter().cloned().map(ADVal::constant_of).collect();
    let tangents: Vec<Option<ADVal<T>>> = args.iter().map(tangent).collect();
    let site = results.first().map(T::site).unwrap_or_default();
    // No closure here, so that a derivative that does not exist is reported at the caller's line.
    let before = T::attribute(site);
    let tangents = rules::call(op, &x, &y, &tangents);
    T::attribute(before);
    results.into_iter().zip(tangents).map(|(y, tangent)| moved(y, tangent)).collect()
}
