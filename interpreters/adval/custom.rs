//! Functions with derivative rules of their own, applied to dual numbers.
//!
//! A rule for cotangents becomes a term whose transposed evaluation runs that rule. A rule for tangents needs no
//! separate term: the rule runs at dual numbers whose primals are known and whose tangents are those of the arguments,
//! and so records the terms of a linear map.
//!
//! A function without rules becomes a term that keeps the arguments alone. Evaluated, it applies a linear program,
//! which runs the function again and is itself a function without rules. The linear program is traced once. Forwards, a
//! while loop runs again as a loop over values and tangents, which ends where the loop ends, with or without a bound.
//!
//! If values are known, a while loop runs at dual numbers, trip by trip, as the loop of the host language does
//! ([`BaseTensor::repeat`]): with or without a bound. In the body of a loop that is recorded, one without a bound keeps
//! its arguments, and runs so in the reverse pass.
//!
//! A function that solves linear equations becomes a term that is linear in the right-hand side, whose transposed
//! evaluation solves the transposed equations; the tangents of the other arguments change the right-hand side.
//!
//! Law: primal values are those of `T::custom`, so that the rule applies again at every level below.

use std::rc::Rc;
use std::sync::Arc;

use super::delta::{Delta, Edge, Factor, SharedTerm, fresh, mapped, mapped_options, present};
use super::pull::{Env, Residual, Update, values};
use super::push::{TermTangents, one};
use super::while_loop::{WhileTrips, trips_of};
use super::{ADVal, Sweep, are_constants, branch, constants, factors, outputs, primals, site, terms, with_poles};
use crate::base::{Again, BaseTensor, Staging, attributed};
use crate::checkpoint::bounded;
use crate::dtype::DType;
use crate::interpreters::guarded::{self, Care};
use crate::ops::{Binary, Guard, Property};
use crate::passes::optimize;
use crate::program::cond::decided;
use crate::program::repeat::{self, WithTangents, with_tangents};
use crate::program::{Custom, Derivative, NodeId, Op, Program, Slot, Taking, Term, interpret, programs_of};

/// A function with a rule for cotangents: it has one tangent per result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ruled<F, R> {
    rule: Arc<Custom>,
    args: Vec<F>,
    results: Vec<F>,
    to: Vec<Option<R>>,
    /// Whether a loop without a bound runs again at dual numbers, trip by trip, since known values determine its end.
    by_trips: bool,
}

pub(super) fn zeros<T: BaseTensor>(slot: &Slot) -> T {
    T::zeros(&slot.shape, slot.dtype)
}

impl<F, R> Ruled<F, R> {
    /// A function with the values that its derivative reads: arguments, and results or residuals.
    pub(super) fn new(rule: Arc<Custom>, args: Vec<F>, results: Vec<F>, to: Vec<Option<R>>) -> Ruled<F, R> {
        Ruled { rule, args, results, to, by_trips: false }
    }

    pub(super) fn rule(&self) -> &Arc<Custom> {
        &self.rule
    }

    /// The terms of the arguments.
    pub(super) fn to(&self) -> &[Option<R>] {
        &self.to
    }

    pub(super) fn map<G, S>(&self, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> Ruled<G, S> {
        Ruled {
            rule: self.rule.clone(),
            args: mapped(&self.args, f),
            results: mapped(&self.results, f),
            to: mapped_options(&self.to, r),
            by_trips: self.by_trips,
        }
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        present(&self.to, r);
    }

    /// The arguments and results of the function, which are the first inputs of a rule.
    pub(super) fn known<T: BaseTensor>(&self, env: &Env<'_, T>) -> Vec<T>
    where
        F: Residual<T>,
    {
        let mut known = values(&self.args, env);
        known.append(&mut values(&self.results, env));
        known
    }

    pub(super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        care: Care,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        if let Some(back) = self.rule.transposed() {
            let (Some(Some(ct)), [Some(to)]) = (cts.pop(), &self.to[..]) else { return };
            let x = self.solved(&back, env, ct.clone());
            return emit(to, Update::Add(guarded::of_rule(&[ct], vec![x], care).swap_remove(0)));
        }
        if self.by_trips {
            return self.pull_trips(env, cts, care, emit);
        }
        if let Some(branches) = self.rule.branches() {
            return self.pull_branch(branches, env, cts, (care, emit));
        }
        let few = match trips_of(&self.rule) {
            Some(WhileTrips::Long) => return self.pull_while(env, cts, (care, emit)),
            Some(WhileTrips::AtMost(few)) => Some(few),
            None => None,
        };
        if let Some(parts) = self.rule.transposed_while() {
            return self.pull_transposed_while(parts, env, cts, (care, emit));
        }
        if self.rule.has_no_rules() {
            return self.pull_again(few, env, cts, (care, emit));
        }
        let Some(vjp) = self.rule.vjp() else { unreachable!("rules for tangents have no term") };
        let outputs = self.rule.primal().outputs();
        cts.resize_with(outputs.len(), || None);
        let mut inputs = self.known(env);
        let known = inputs.len();
        append(&mut inputs, cts, outputs);
        let given = inputs[known..].to_vec();
        for (k, ct) in guarded::of_rule(&given, interpret(vjp, inputs), care).into_iter().enumerate() {
            if let Some(to) = &self.to[k] {
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
        if self.rule.solves().is_some() {
            // The right-hand side alone has a tangent.
            let right = self.tangents(of).pop().flatten();
            return one(right.map(|right| self.solved(&self.rule, env, right)));
        }
        if let Some(branches) = self.rule.branches() {
            return self.push_branch(branches, env, care, of);
        }
        if self.rule.has_no_rules() {
            return self.push_again(env, care, of);
        }
        let jvp = forward_rule(&self.rule);
        let mut inputs = self.known(env);
        append(&mut inputs, self.tangents(of), self.rule.primal().inputs());
        let mut tangents = TermTangents::new();
        for tangent in interpret(jvp, inputs) {
            tangents.push(Some(tangent));
        }
        tangents
    }

    /// The tangents of the arguments.
    pub(super) fn tangents<T>(&self, of: &mut dyn FnMut(&R, usize) -> Option<T>) -> Vec<Option<T>> {
        let mut tangents = Vec::with_capacity(self.to.len());
        for to in &self.to {
            tangents.push(match to {
                Some(to) => of(to, 0),
                None => None,
            });
        }
        tangents
    }
}

impl<F, R> Ruled<F, R> {
    /// Whether a tangent of a result can be infinite or NaN where the values are finite.
    pub(super) fn is_steep(&self) -> bool {
        self.rule.has_no_rules() && has_steep_rows(self.rule.primal())
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

    /// The cotangents by a function without rules that runs the program again, or the loop of this number of trips.
    fn pull_again<'d, T: BaseTensor>(
        &'d self,
        few: Option<usize>,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        (care, emit): (Care, &mut dyn FnMut(&'d R, Update<T>)),
    ) where
        F: Residual<T>,
    {
        cts.resize_with(self.rule.primal().outputs().len(), || None);
        let linear = transposed_rule(&self.rule, few, &are_some(&self.to), &are_some(&cts));
        let given: Vec<T> = cts.iter().flatten().cloned().collect();
        let cotangents = linear.applied(self.known(env), cts);
        let mut cotangents = guarded::of_rule(&given, cotangents, care).into_iter();
        present(&self.to, &mut |to| {
            if let Some(ct) = cotangents.next() {
                emit(to, Update::Add(ct));
            }
        });
    }

    /// Runs the function again at dual numbers, whose loops end where known values say. A differentiation of this run
    /// keeps what the run takes ([`BaseTensor::again`]): residuals of the same kinds in all trips of a loop around it.
    fn pull_trips<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        cts: Vec<Option<T>>,
        care: Care,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        let linear: Vec<T> = cts.iter().flatten().cloned().collect();
        let (rule, moving, given) = (self.rule.clone(), are_some(&self.to), are_some(&cts));
        let mut inputs = values(&self.args, env);
        inputs.extend(cts.into_iter().flatten());
        let again: Again<T> = Rc::new(move |inputs| cotangents_of_trips(&rule, &moving, &given, inputs));
        let mut cotangents = guarded::of_rule(&linear, T::again(&again, &inputs), care).into_iter();
        present(&self.to, &mut |to| {
            if let Some(ct) = cotangents.next() {
                emit(to, Update::Add(ct));
            }
        });
    }

    fn push_again<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        care: Care,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let tangents = self.tangents(of);
        let beside = |args: Vec<T>| WithTangents {
            pairs: args.into_iter().zip(&tangents).map(|(x, dot)| (x, dot.clone())).collect(),
            steep: care == Care::Rows,
        };
        if self.rule.is_while() {
            let args = beside(self.known(env));
            let pushed = with_tangents(&self.rule, |moving, steep| Derivative::Pushed { moving, steep }, args, &trip);
            return pushed.pairs.into_iter().map(|(_, tangent)| tangent).collect();
        }
        let linear = pushed_rule(&self.rule, &are_some(&tangents), care);
        let mut pushed = linear.applied(self.known(env), tangents).into_iter();
        let mut tangents = TermTangents::new();
        for slot in self.rule.primal().outputs() {
            let tangent = pushed.next();
            tangents.push(if slot.dtype.is_float() { tangent } else { None });
        }
        tangents
    }
}

/// Appends values to the inputs of a rule, zeros where a value is missing.
fn append<T: BaseTensor>(inputs: &mut Vec<T>, found: Vec<Option<T>>, slots: &[Slot]) {
    for (k, value) in found.into_iter().enumerate() {
        inputs.push(match value {
            Some(value) => value,
            None => zeros(&slots[k]),
        });
    }
}

pub(super) fn are_some<X>(all: &[Option<X>]) -> Vec<bool> {
    let mut are = Vec::with_capacity(all.len());
    for x in all {
        are.push(x.is_some());
    }
    are
}

/// The linear function from the given cotangents of a function without rules to those of its `moving` arguments.
fn transposed_rule(rule: &Custom, few: Option<usize>, moving: &[bool], given: &[bool]) -> Taking {
    let which = Derivative::Transposed { moving: moving.to_vec(), given: given.to_vec() };
    let program = || few.map_or_else(|| rule.primal().clone(), |few| bounded(rule.primal(), few));
    rule.derived(which, || rule.checkpointed_as(&transposed(&program(), moving, given)))
}

/// The linear function from the tangents of the `moving` arguments of a checkpointed function to those of its results.
fn pushed_rule(rule: &Custom, moving: &[bool], care: Care) -> Taking {
    let which = Derivative::Pushed { moving: moving.to_vec(), steep: care == Care::Rows };
    rule.derived(which, || rule.checkpointed_as(&pushed(rule.primal(), moving, care)))
}

impl Taking {
    /// The results for these primal values, and tangents or cotangents.
    fn applied<T: BaseTensor>(&self, known: Vec<T>, linear: Vec<Option<T>>) -> Vec<T> {
        let mut all = known;
        for value in linear.into_iter().flatten() {
            all.push(value);
        }
        let mut taken = Vec::with_capacity(all.len());
        for (k, value) in all.into_iter().enumerate() {
            if self.takes[k] {
                taken.push(value);
            }
        }
        T::custom(&self.rule, &taken)
    }
}

/// The cotangents of the `moving` arguments, from the arguments and the given cotangents of results.
fn cotangents_of_trips<T: BaseTensor>(rule: &Custom, moving: &[bool], given: &[bool], inputs: &[T]) -> Vec<T> {
    let (x, y_bar) = inputs.split_at(moving.len());
    let (mut sweep, mut args) = (Sweep::new(), Vec::with_capacity(x.len()));
    for (k, x) in x.iter().enumerate() {
        args.push(if moving[k] { sweep.input(x) } else { ADVal::constant_of(x.clone()) });
    }
    let mut y = rule.value(args);
    let mut which = given.iter();
    y.retain(|_| which.next().is_some_and(|given| *given));
    sweep.pull(&y, y_bar.to_vec())
}

/// Whether a program has a row whose partial can be infinite or NaN where its value is finite.
fn has_steep_rows(program: &Program) -> bool {
    let unary = |op: &Op<NodeId>| matches!(op, Op::Unary(op, _) if op.is(Property::Steep));
    let binary = |op: &Op<NodeId>| matches!(op, Op::Binary(op, ..) if op.is(Property::Steep));
    program.operations(programs_of).any(|op| unary(op) || binary(op))
}

/// A program traced at variables, with the sweep of its derivative in the inputs that have tangents.
pub(super) fn traced(program: &Program, moving: &[bool]) -> (Vec<Term>, Sweep<Term>, Vec<ADVal<Term>>) {
    let x = Term::variables(program.inputs());
    let mut sweep = Sweep::new();
    let dual = |(x, moves): (&Term, &bool)| if *moves { sweep.input(x) } else { ADVal::constant_of(x.clone()) };
    let duals = x.iter().zip(moving).map(dual).collect();
    let y = interpret(program, duals);
    (x, sweep, y)
}

/// One trip of a while loop, with tangents: those of the delta term of the trip.
pub(super) fn trip(program: &Program, WithTangents { pairs: args, steep }: WithTangents<Term>) -> WithTangents<Term> {
    let mut sweep = Sweep::new();
    let dual = |(x, dot): &(Term, Option<Term>)| match dot {
        Some(_) => sweep.input(x),
        None => ADVal::constant_of(x.clone()),
    };
    let duals = args.iter().map(dual).collect();
    let y = interpret(program, duals);
    let dots = args.into_iter().filter_map(|(_, dot)| dot).collect();
    let y_dot = sweep.push_carefully(&y, dots, if steep { Care::Rows } else { Care::None });
    let pairs = y.into_iter().zip(y_dot).map(|(y, dot)| (y.primal, y.node.map(|_| dot))).collect();
    WithTangents { pairs, steep: steep || has_steep_rows(program) }
}

fn variable(slot: &Slot) -> Term {
    Term::variable(&slot.shape, slot.dtype)
}

/// The program from variables to results, optimized.
pub(super) fn closed(inputs: &[Term], results: &[Term]) -> Program {
    optimize(&repeat::closed(inputs, results))
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
fn pushed(program: &Program, moving: &[bool], care: Care) -> Program {
    let (mut x, sweep, y) = traced(program, moving);
    let slots = program.inputs().iter().zip(moving);
    let x_dot: Vec<Term> = slots.filter(|(_, moves)| **moves).map(|(slot, _)| variable(slot)).collect();
    let y_dot = sweep.push_carefully(&y, x_dot.clone(), care);
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
    let still = are_constants(args);
    if rule.branches().is_some() && !still && decided(&args[0]).is_some() {
        return rule.value(args.to_vec());
    }
    let known = !still && rule.has_no_rules() && are_known(args);
    // The trips that known values determine are those of the loop in the host language. In the body of a loop, all
    // trips record residuals of the same kinds: there the arguments alone are kept.
    if known && rule.is_while() && !ADVal::<T>::runs_all_trips() {
        return rule.value(args.to_vec());
    }
    if let (Some(branches), false) = (rule.branches(), still) {
        return branch::apply(rule, branches, args);
    }
    let results = T::custom(rule, &primals(args));
    if still {
        return with_poles(constants(results));
    }
    if rule.jvp().is_some() && rule.vjp().is_none() {
        return by_tangents(rule, args, results);
    }
    if let Some(equations) = rule.solves() {
        let mut solutions = Vec::with_capacity(results.len());
        for y in results {
            solutions.push(solution(rule, &equations.moved, args, y));
        }
        return solutions;
    }
    // What runs again has no effect.
    let again = if rule.has_no_rules() && rule.primal().has_taps() {
        Arc::new(rule.map(&mut Program::without_taps))
    } else {
        rule.clone()
    };
    let by_trips = known && matches!(trips_of(rule), Some(WhileTrips::Long));
    let mut term = Ruled { rule: again, args: factors(args), results: Vec::new(), to: terms(args), by_trips };
    if !rule.has_no_rules() {
        for y in &results {
            term.results.push(Factor { value: y.clone(), id: fresh() });
        }
    }
    outputs(results, Delta::Custom(Box::new(term)))
}

/// Whether all values are known numbers, which determine the trips of loops.
fn are_known<T: BaseTensor>(args: &[ADVal<T>]) -> bool {
    !T::records() && args.iter().all(|arg| arg.primal.peek().is_some())
}

/// A solution of linear equations.
fn solution<T: BaseTensor>(rule: &Arc<Custom>, change: &Program, args: &[ADVal<T>], y: T) -> ADVal<T> {
    let (given, right) = args.split_at(args.len() - 1);
    let mut right_dot = tangent_or_zeros(&right[0]);
    let known = stills(given);
    if !are_constants(given) {
        let mut inputs = known.clone();
        inputs.push(ADVal::constant_of(y.clone()).poles_if(true));
        for arg in given {
            inputs.push(tangent_or_zeros(arg));
        }
        let change = attributed::<T, _>(y.site(), || interpret(change, inputs));
        right_dot = right_dot.binary(Binary::Sub, &change[0]);
    }
    let Some(to) = &right_dot.node else { return ADVal::constant_of(y).poles_if(true) };
    let to = vec![Some(to.clone())];
    let term = Ruled { rule: rule.clone(), args: factors(&known), results: Vec::new(), to, by_trips: false };
    let site = y.site();
    let of =
        Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta: Delta::Custom(Box::new(term)) });
    ADVal::of(y, Delta::Output(of, 0)).poles_if(true)
}

/// Runs the rule for tangents at values whose tangents are those of the arguments.
fn by_tangents<T: BaseTensor>(rule: &Arc<Custom>, args: &[ADVal<T>], results: Vec<T>) -> Vec<ADVal<T>> {
    let mut inputs = stills(args);
    inputs.append(&mut with_poles(constants(results.clone())));
    for arg in args {
        inputs.push(tangent_or_zeros(arg));
    }
    let forward = forward_rule(rule);
    let tangents = attributed::<T, _>(site(&results), || interpret(forward, inputs));
    let (mut duals, mut tangents) = (Vec::with_capacity(results.len()), tangents.into_iter());
    for y in results {
        duals.push(moved(y, tangents.next()));
    }
    duals
}

/// The values of arguments of a rule without their tangents; the ids of the values stay the same.
pub(super) fn stills<T: BaseTensor>(args: &[ADVal<T>]) -> Vec<ADVal<T>> {
    let mut stills = Vec::with_capacity(args.len());
    for arg in args {
        stills.push(ADVal { primal: arg.primal.clone(), id: arg.id, node: None, poles: arg.poles });
    }
    stills
}

/// The tangent of an argument of a rule, as a value; zeros without a term if it has none.
fn tangent_or_zeros<T: BaseTensor>(arg: &ADVal<T>) -> ADVal<T> {
    match tangent(arg) {
        Some(tangent) => tangent,
        None => ADVal::constant_of(T::zeros(arg.shape(), arg.dtype())),
    }
}

/// The tangent of an argument of a rule, as a value: zeros with the term of the argument.
pub(super) fn tangent<T: BaseTensor>(arg: &ADVal<T>) -> Option<ADVal<T>> {
    let node = arg.node.as_ref()?;
    Some(ADVal::of(T::zeros(arg.shape(), arg.dtype()), Delta::Scale(same(node))))
}

/// A result with the tangent that a rule has computed.
pub(super) fn moved<T: BaseTensor>(y: T, tangent: Option<ADVal<T>>) -> ADVal<T> {
    let y = match tangent.and_then(|t| t.node) {
        Some(node) => ADVal::of(y, Delta::Scale(same(&node))),
        None => ADVal::constant_of(y),
    };
    y.poles_if(true)
}

/// The identity: the tangent of another value.
fn same<T>(to: &Rc<SharedTerm<T>>) -> Edge<Factor<T>, Rc<SharedTerm<T>>> {
    Edge { guard: Guard::One, factor: None, to: to.clone(), steep: false }
}
