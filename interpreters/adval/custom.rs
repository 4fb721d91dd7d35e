//! Functions with derivative rules of their own, applied to dual numbers.
//!
//! A rule for cotangents becomes a term whose transposed evaluation runs that rule. A rule for tangents needs no term
//! of its own: the rule runs at dual numbers whose primals are known and whose tangents are those of the arguments, and
//! so records the terms of a linear map.
//!
//! A function without rules becomes a term that keeps the arguments alone. Evaluated, it applies a linear program,
//! which runs the function again and is itself a function without rules. The linear program is traced once.
//!
//! A function that solves linear equations becomes a term that is linear in the right-hand side, whose transposed
//! evaluation solves the transposed equations; the tangents of the other arguments change the right-hand side.
//!
//! Law: primal values are those of `T::custom`, so that the rule applies again at every level below.

use std::rc::Rc;
use std::sync::Arc;

use super::delta::{Delta, Edge, Factor, SharedTerm, fresh};
use super::pull::{Env, Residual, Update};
use super::push::TermTangents;
use super::{ADVal, Sweep, differentiable, primals};
use crate::base::{BaseTensor, attributed};
use crate::checkpoint::bounded;
use crate::dtype::DType;
use crate::ops::{Binary, Guard};
use crate::passes::optimize;
use crate::program::{Custom, CustomKind, Program, Slot, Taking, Term, interpret};

/// A function with a rule for cotangents: it has one tangent per result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ruled<F, R> {
    rule: Arc<Custom>,
    args: Vec<F>,
    results: Vec<F>,
    to: Vec<Option<R>>,
}

fn zeros<T: BaseTensor>(slot: &Slot) -> T {
    T::zeros(&slot.shape, slot.dtype)
}

impl<F, R> Ruled<F, R> {
    pub(super) fn map<G, S>(&self, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> Ruled<G, S> {
        Ruled {
            rule: self.rule.clone(),
            args: self.args.iter().map(&mut *f).collect(),
            results: self.results.iter().map(f).collect(),
            to: self.to.iter().map(|to| to.as_ref().map(&mut *r)).collect(),
        }
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        self.to.iter().flatten().for_each(r);
    }

    /// The arguments and results of the function, which are the first inputs of a rule.
    fn known<T: BaseTensor>(&self, env: &Env<'_, T>) -> Vec<T>
    where
        F: Residual<T>,
    {
        self.args.iter().chain(&self.results).map(|f| f.get(env).clone()).collect()
    }

    pub(super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        if let Some(back) = self.rule.transposed() {
            let (Some(Some(ct)), [Some(to)]) = (cts.pop(), &self.to[..]) else { return };
            return emit(to, Update::Add(self.solved(&back, env, ct)));
        }
        if has_no_rules(&self.rule) {
            return self.pull_again(env, cts, emit);
        }
        let Some(vjp) = self.rule.vjp() else { unreachable!("rules for tangents have no term") };
        let outputs = self.rule.primal().outputs();
        cts.resize_with(outputs.len(), || None);
        let mut inputs = self.known(env);
        inputs.extend(cts.into_iter().zip(outputs).map(|(ct, slot)| ct.unwrap_or_else(|| zeros(slot))));
        for (to, ct) in self.to.iter().zip(interpret(vjp, inputs)) {
            if let Some(to) = to {
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
        if self.rule.solves().is_some() {
            let tangent = self.to.iter().flatten().find_map(|to| of(to, 0));
            return [tangent.map(|tangent| self.solved(&self.rule, env, tangent))].into_iter().collect();
        }
        if has_no_rules(&self.rule) {
            return self.push_again(env, of);
        }
        let jvp = forward_rule(&self.rule);
        let mut inputs = self.known(env);
        let slots = self.rule.primal().inputs();
        let tangents = self.to.iter().zip(slots).map(|(to, slot)| {
            let tangent = to.as_ref().and_then(|to| of(to, 0));
            tangent.unwrap_or_else(|| zeros(slot))
        });
        inputs.extend(tangents);
        interpret(jvp, inputs).into_iter().map(Some).collect()
    }
}

impl<F, R> Ruled<F, R> {
    /// Whether the term has no transposed evaluation.
    pub(super) fn is_unbounded(&self) -> bool {
        self.rule.is_unbounded()
    }

    /// The solution of linear equations, from the values kept in the term and the right-hand side.
    fn solved<T: BaseTensor>(&self, rule: &Arc<Custom>, env: &Env<'_, T>, right: T) -> T
    where
        F: Residual<T>,
    {
        let mut args = self.known(env);
        args.push(right);
        T::custom(rule, &args).swap_remove(0)
    }

    fn pull_again<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        cts.resize_with(self.rule.primal().outputs().len(), || None);
        let moving: Vec<bool> = self.to.iter().map(Option::is_some).collect();
        let given: Vec<bool> = cts.iter().map(Option::is_some).collect();
        let which = (moving.clone(), Some(given.clone()));
        let linear =
            self.rule.derived(which, || self.rule.checkpointed_as(&transposed(&once(&self.rule), &moving, &given)));
        let cotangents = linear.applied(self.known(env), cts.into_iter().flatten());
        self.to.iter().flatten().zip(cotangents).for_each(|(to, ct)| emit(to, Update::Add(ct)));
    }

    fn push_again<T: BaseTensor>(&self, env: &Env<'_, T>, of: &mut dyn FnMut(&R, usize) -> Option<T>) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let tangents: Vec<Option<T>> = self.to.iter().map(|to| to.as_ref().and_then(|to| of(to, 0))).collect();
        let moving: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let primal = self.rule.primal();
        let linear = self
            .rule
            .derived((moving.clone(), None), || self.rule.checkpointed_as(&pushed(&once(&self.rule), &moving)));
        let mut tangents = linear.applied(self.known(env), tangents.into_iter().flatten()).into_iter();
        primal.outputs().iter().map(|slot| tangents.next().filter(|_| slot.dtype.is_float())).collect()
    }
}

impl Taking {
    /// The results for these primal values, and tangents or cotangents.
    fn applied<T: BaseTensor>(&self, known: Vec<T>, linear: impl Iterator<Item = T>) -> Vec<T> {
        let inputs = known.into_iter().chain(linear).zip(&self.takes);
        T::custom(&self.rule, &inputs.filter_map(|(value, takes)| takes.then_some(value)).collect::<Vec<T>>())
    }
}

/// Whether the derivative of a function is that of its program.
fn has_no_rules(rule: &Custom) -> bool {
    matches!(rule.kind(), CustomKind::Checkpointed | CustomKind::While { .. })
}

/// The program whose derivative is the derivative of the function.
fn once(rule: &Custom) -> Program {
    match rule.kind() {
        CustomKind::While { most: Some(most) } => bounded(rule.primal(), *most),
        CustomKind::While { most: None } => unreachable!("a function without a bound is refused before"),
        CustomKind::Checkpointed | CustomKind::Rules { .. } | CustomKind::Solve(_) => rule.primal().clone(),
    }
}

/// A program traced at variables, with the sweep of its derivative in the inputs that have tangents.
fn traced(program: &Program, moving: &[bool]) -> (Vec<Term>, Sweep<Term>, Vec<ADVal<Term>>) {
    let x = Term::variables(program.inputs());
    let mut sweep = Sweep::new();
    let dual = |(x, moves): (&Term, &bool)| if *moves { sweep.input(x) } else { ADVal::constant_of(x.clone()) };
    let duals = x.iter().zip(moving).map(dual).collect();
    let y = interpret(program, duals);
    (x, sweep, y)
}

fn variable(slot: &Slot) -> Term {
    Term::variable(&slot.shape, slot.dtype)
}

fn closed(inputs: &[Term], results: &[Term]) -> Program {
    match Term::program(inputs, results, &[]) {
        Ok(program) => optimize(&program),
        Err(message) => unreachable!("a program is closed: {message}"),
    }
}

/// The program from the inputs and the given cotangents of results to the cotangents of the `moving` inputs.
fn transposed(program: &Program, moving: &[bool], given: &[bool]) -> Program {
    let (mut x, sweep, y) = traced(program, moving);
    let y: Vec<ADVal<Term>> = y.into_iter().zip(given).filter_map(|(y, given)| given.then_some(y)).collect();
    let y_bar: Vec<Term> = y.iter().map(|y| Term::variable(y.shape(), y.dtype())).collect();
    let x_bar = sweep.pull(&y, y_bar.clone());
    x.extend(y_bar);
    closed(&x, &x_bar)
}

/// The program from the inputs and the tangents of those that move to the tangents of the results.
fn pushed(program: &Program, moving: &[bool]) -> Program {
    let (mut x, sweep, y) = traced(program, moving);
    let slots = program.inputs().iter().zip(moving);
    let x_dot: Vec<Term> = slots.filter(|(_, moves)| **moves).map(|(slot, _)| variable(slot)).collect();
    let y_dot = sweep.push(&y, x_dot.clone());
    x.extend(x_dot);
    closed(&x, &y_dot)
}

/// The rule for tangents.
///
/// # Panics
/// When the function has no such rule.
#[track_caller]
pub(super) fn forward_rule(rule: &Custom) -> &crate::program::Program {
    match rule.require_jvp() {
        Ok(jvp) => jvp,
        Err(message) => panic!("{message}"),
    }
}

/// A function with rules, applied to dual numbers.
#[track_caller]
pub(super) fn apply<T: BaseTensor>(rule: &Arc<Custom>, args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    let results = T::custom(rule, &primals(args));
    if args.iter().all(|a| a.node.is_none()) {
        return results.into_iter().map(ADVal::constant_of).collect();
    }
    if rule.jvp().is_some() && rule.vjp().is_none() {
        return by_tangents(rule, args, results);
    }
    if let Some(equations) = rule.solves() {
        return results.into_iter().map(|y| solution(rule, &equations.moved, args, y)).collect();
    }
    let kept = results.iter().filter(|_| !has_no_rules(rule));
    let term = Ruled {
        rule: rule.clone(),
        args: args.iter().map(ADVal::factor).collect(),
        results: kept.map(|y| Factor { value: y.clone(), id: fresh() }).collect(),
        to: args.iter().map(|a| a.node.clone()).collect(),
    };
    let site = results.first().map(T::site).unwrap_or_default();
    let of =
        Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta: Delta::Custom(Box::new(term)) });
    let result = |(k, y): (usize, T)| {
        if differentiable(&y) { ADVal::of(y, Delta::Output(of.clone(), k)) } else { ADVal::constant_of(y) }
    };
    results.into_iter().enumerate().map(result).collect()
}

/// A solution of linear equations.
fn solution<T: BaseTensor>(rule: &Arc<Custom>, change: &Program, args: &[ADVal<T>], y: T) -> ADVal<T> {
    let (given, right) = args.split_at(args.len() - 1);
    let tangent =
        |arg: &ADVal<T>| tangent(arg).unwrap_or_else(|| ADVal::constant_of(T::zeros(arg.shape(), arg.dtype())));
    let mut right_dot = tangent(&right[0]);
    let known: Vec<ADVal<T>> = given.iter().map(still).collect();
    if given.iter().any(|a| a.node.is_some()) {
        let inputs = known.iter().cloned().chain([ADVal::constant_of(y.clone())]).chain(given.iter().map(tangent));
        let change = attributed::<T, _>(y.site(), || interpret(change, inputs.collect()));
        right_dot = right_dot.binary(Binary::Sub, &change[0]);
    }
    let Some(to) = &right_dot.node else { return ADVal::constant_of(y) };
    let args = known.iter().map(ADVal::factor).collect();
    let term = Ruled { rule: rule.clone(), args, results: Vec::new(), to: vec![Some(to.clone())] };
    let site = y.site();
    let of =
        Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta: Delta::Custom(Box::new(term)) });
    ADVal::of(y, Delta::Output(of, 0))
}

/// Runs the rule for tangents at values whose tangents are those of the arguments.
fn by_tangents<T: BaseTensor>(rule: &Arc<Custom>, args: &[ADVal<T>], results: Vec<T>) -> Vec<ADVal<T>> {
    let mut inputs: Vec<ADVal<T>> = args.iter().map(still).collect();
    inputs.extend(results.iter().cloned().map(ADVal::constant_of));
    for (arg, slot) in args.iter().zip(rule.primal().inputs()) {
        inputs.push(tangent(arg).unwrap_or_else(|| ADVal::constant_of(zeros(slot))));
    }
    let site = results.first().map(T::site).unwrap_or_default();
    let forward = forward_rule(rule);
    let tangents = attributed::<T, _>(site, || interpret(forward, inputs));
    results.into_iter().zip(tangents).map(|(y, tangent)| moved(y, Some(tangent))).collect()
}

/// The value of an argument of a rule without its tangent; the id of the value stays the same.
pub(super) fn still<T: BaseTensor>(arg: &ADVal<T>) -> ADVal<T> {
    ADVal { primal: arg.primal.clone(), id: arg.id, node: None }
}

/// The tangent of an argument of a rule, as a value: zeros with the term of the argument.
pub(super) fn tangent<T: BaseTensor>(arg: &ADVal<T>) -> Option<ADVal<T>> {
    let node = arg.node.as_ref()?;
    Some(ADVal::of(T::zeros(arg.shape(), arg.dtype()), Delta::Scale(same(node))))
}

/// A result with the tangent that a rule has computed.
pub(super) fn moved<T: BaseTensor>(y: T, tangent: Option<ADVal<T>>) -> ADVal<T> {
    match tangent.and_then(|t| t.node) {
        Some(node) => ADVal::of(y, Delta::Scale(same(&node))),
        None => ADVal::constant_of(y),
    }
}

/// The identity: the tangent of another value.
fn same<T>(to: &Rc<SharedTerm<T>>) -> Edge<Factor<T>, Rc<SharedTerm<T>>> {
    Edge { guard: Guard::One, factor: None, to: to.clone() }
}
