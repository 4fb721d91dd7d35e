//! Fork and join: two functions of dual numbers, which may run on two threads.
//!
//! Each function runs at inputs that are made on its thread, and no term leaves that thread: when the function ends, its
//! terms become a [`Body`], data with references by position, and the values in them are further results of the function
//! of `T`. So a value is named by its branch and a number in that branch, the pairs of "Parallel Dual-Numbers Reverse
//! AD", and no two threads share a counter. The term of the fork has both bodies; its transposed evaluation, and its
//! evaluation, is a fork of `T`. Hence forks nest, over interpreters, too.
//!
//! Law: primal values, tangents and cotangents are those of one function after the other, to the bit and whatever the
//! schedule: which thread runs what decides nothing, since the cotangents of the second branch are added before those of
//! the first one.
//!
//! Where a program is recorded, or the trips of a loop, a fork is one function after the other.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use super::delta::{Delta, Factor, Given, Id, SharedTerm, fresh, mapped, mapped_options, present, reachable};
use super::loops::{Alone, Body, BodySource, TermPlace, counts_trips};
use super::pull::{Cotangent, Env, Fault, Residual, Update, accumulate, accumulate_one, pull, values};
use super::push::{TangentTable, TermTangents, push};
use super::{ADVal, outputs, primals};
use crate::base::{BaseTensor, ForkBranch, both};
use crate::interpreters::guarded::Care;

thread_local! {
    /// Whether a branch runs.
    static IN_BRANCH: Cell<bool> = const { Cell::new(false) };
}

/// A guard: while it lives, a branch runs on this thread, outside all loops.
struct Running(bool, #[allow(dead_code, reason = "held until the branch ends")] Alone);

impl Running {
    fn start() -> Running {
        Running(IN_BRANCH.replace(true), Alone::start())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        IN_BRANCH.set(self.0);
    }
}

/// Whether a branch runs: its terms go to another thread, and functions that may run on one thread alone do not.
pub(super) fn in_a_branch() -> bool {
    IN_BRANCH.get()
}

/// The terms of one function, and where their values come from.
#[derive(Debug, PartialEq)]
struct BranchForm {
    body: Body,
    arguments: usize,
    /// The arguments whose values are factors in the terms, in the order of the places of held values.
    held: Vec<usize>,
}

/// One function of a fork: its terms, and the values and terms that they refer to.
#[derive(Clone, Debug, PartialEq)]
struct ForkedBranch<F, R> {
    form: Arc<BranchForm>,
    /// The tangents of the arguments.
    to: Vec<Option<R>>,
    held: Vec<F>,
    residuals: Vec<F>,
}

/// The term of a fork: it has one tangent per result, those of the first function first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forked<F, R>([ForkedBranch<F, R>; 2]);

/// What a function leaves behind, besides values.
struct Ran {
    form: BranchForm,
    /// Whether results can be infinite or NaN.
    poles: Vec<bool>,
    fault: Option<Fault>,
}

/// What is known of the arguments of a branch: whether each has a tangent, and whether it can be infinite or NaN.
type Facts = Vec<(bool, bool)>;

/// Where a branch leaves what is not a value.
type Left<X> = Mutex<Option<X>>;

fn leave<X>(left: &Left<X>, x: X) {
    *left.lock().unwrap_or_else(PoisonError::into_inner) = Some(x);
}

fn taken<X>(left: Left<X>) -> X {
    match left.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(x) => x,
        None => unreachable!("a fork runs each function once"),
    }
}

/// The fork of dual numbers, by one of `T`.
#[track_caller]
pub(super) fn apply<T: BaseTensor>(branches: [ForkBranch<'_, ADVal<T>>; 2]) -> [Vec<ADVal<T>>; 2] {
    if T::records() || counts_trips() {
        return both(branches);
    }
    let facts = branches.each_ref().map(|(args, _)| facts(args));
    let left: [Left<Ran>; 2] = [Mutex::new(None), Mutex::new(None)];
    let [first, second] = [0, 1].map(|k| {
        let (run, facts, left) = (branches[k].1, &facts[k], &left[k]);
        move |args: Vec<T>| ran(run, facts, left, args)
    });
    let results = T::fork([(primals(&branches[0].0), &first), (primals(&branches[1].0), &second)]);
    let (mut values, mut moving, mut poles) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = [0; 2];
    let mut forked = Vec::new();
    for (k, (mut results, left)) in results.into_iter().zip(left).enumerate() {
        let Ran { form, poles: may, fault } = taken(left);
        if let Some(fault) = fault {
            panic!("{fault}");
        }
        counts[k] = form.body.results.len();
        let mut residuals = Vec::new();
        for value in results.split_off(counts[k]) {
            residuals.push(Factor { value, id: fresh() });
        }
        let args = &branches[k].0;
        let held = mapped(&form.held, &mut |at| args[*at].factor());
        let to = args.iter().map(|arg| arg.node.clone()).collect();
        moving.extend(form.body.results.iter().map(Option::is_some));
        poles.extend(may);
        values.append(&mut results);
        forked.push(ForkedBranch { form: Arc::new(form), to, held, residuals });
    }
    let duals = if moving.contains(&true) {
        let Ok(both) = forked.try_into() else { unreachable!("two functions") };
        outputs(values, Delta::Fork(Box::new(Forked(both))))
    } else {
        super::constants(values)
    };
    let mut results = Vec::with_capacity(duals.len());
    for (k, dual) in duals.into_iter().enumerate() {
        let dual = if moving[k] { dual } else { ADVal::constant_of(dual.primal) };
        results.push(dual.poles_if(poles[k]));
    }
    let second = results.split_off(counts[0]);
    [results, second]
}

fn facts<T: BaseTensor>(args: &[ADVal<T>]) -> Facts {
    args.iter().map(|arg| (arg.node.is_some(), arg.poles)).collect()
}

/// Runs a function at new inputs: its primal results, then the values in its terms.
fn ran<T: BaseTensor>(
    run: &(dyn Fn(Vec<ADVal<T>>) -> Vec<ADVal<T>> + Sync),
    facts: &Facts,
    left: &Left<Ran>,
    args: Vec<T>,
) -> Vec<T> {
    let _running = Running::start();
    let (first, mut inputs, mut ids) = (fresh(), Vec::with_capacity(args.len()), Vec::with_capacity(args.len()));
    for (value, (moves, poles)) in args.into_iter().zip(facts) {
        let input = if *moves { ADVal::variable(value, Given::Argument) } else { ADVal::constant_of(value) };
        ids.push(input.id);
        inputs.push(input.poles_if(*poles));
    }
    let results = run(inputs);
    let (mut ran, mut residuals) = recorded(first, &ids, &results);
    ran.poles = results.iter().map(|result| result.poles).collect();
    leave(left, ran);
    let mut values = primals(&results);
    values.append(&mut residuals);
    values
}

/// The terms of results whose inputs have these ids, as data, and the values in them.
fn recorded<T: BaseTensor>(first: Id, ids: &[Id], results: &[ADVal<T>]) -> (Ran, Vec<T>) {
    let nodes = super::terms(results);
    let found = reachable(&nodes, first);
    let locals: Vec<Id> = found.iter().map(|node| node.id).collect();
    let (mut held, mut known) = (Vec::new(), indexmap::IndexMap::<Id, T>::new());
    let mut fault = None;
    let mut value = |factor: &Factor<T>| match ids.binary_search(&factor.id) {
        Ok(at) => BodySource::Held(held.iter().position(|known| *known == at).unwrap_or_else(|| {
            held.push(at);
            held.len() - 1
        })),
        Err(_) => {
            let entry = known.entry(factor.id);
            let at = entry.index();
            entry.or_insert_with(|| factor.value.clone());
            BodySource::Stacked(at)
        }
    };
    let mut place = |node: &std::rc::Rc<SharedTerm<T>>| {
        if let Ok(at) = locals.binary_search(&node.id) {
            return TermPlace::Local(at);
        }
        if let Ok(at) = ids.binary_search(&node.id) {
            return TermPlace::Carry(at);
        }
        let of = if let Delta::Input(given) = &node.delta { Fault::of(*given) } else { Fault::Outside };
        fault.get_or_insert(if node.id < first { Fault::Outside } else { of });
        TermPlace::Carry(0)
    };
    let (mut terms, mut sites) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
    for node in &found {
        // Functions that run again are not kept in a branch.
        terms.push(node.delta.map(&mut value, &mut place, &mut |_| 0));
        sites.push(node.site.clone());
    }
    let results = mapped_options(&nodes, &mut place);
    let form = BranchForm { body: Body { terms, sites, results }, arguments: ids.len(), held };
    (Ran { form, poles: Vec::new(), fault }, known.into_values().collect())
}

impl<F, R> Forked<F, R> {
    pub(super) fn map<G, S>(&self, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> Forked<G, S> {
        Forked(self.0.each_ref().map(|branch| ForkedBranch {
            form: branch.form.clone(),
            to: mapped_options(&branch.to, r),
            held: mapped(&branch.held, f),
            residuals: mapped(&branch.residuals, f),
        }))
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        for branch in &self.0 {
            present(&branch.to, r);
        }
    }

    fn terms(&self) -> impl Iterator<Item = &Delta<BodySource, TermPlace>> {
        self.0.iter().flat_map(|branch| &branch.form.body.terms)
    }

    /// The care for the cotangents that the fork sends, whatever comes before.
    pub(super) fn care(&self) -> Care {
        self.terms().map(Delta::care).max().unwrap_or_default()
    }

    /// Whether a partial of a branch can be infinite or NaN where the value is finite.
    pub(super) fn is_steep(&self) -> bool {
        self.terms().any(Delta::is_steep)
    }

    /// Whether a branch has a loop without a bound whose trips were not recorded as a program.
    pub(super) fn is_unbounded(&self) -> bool {
        self.terms().any(Delta::is_unbounded)
    }

    /// The cotangents of the arguments, from those of the results: a fork of `T`.
    pub(super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        care: Care,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        let care = care.max(self.care());
        let count = |k: usize| self.0[k].form.body.results.len();
        cts.resize_with(count(0) + count(1), || None);
        let second = cts.split_off(count(0));
        let [first, second] = self.linear(env, [cts, second], &|form, env, cts| form.pull(env, cts, care));
        // As one function after the other: a reverse pass meets the later one first.
        for (branch, cts) in self.0.iter().zip([first, second]).rev() {
            for (to, ct) in branch.to.iter().zip(cts) {
                if let (Some(to), Some(ct)) = (to, ct) {
                    emit(to, Update::Add(ct));
                }
            }
        }
    }

    /// The tangents of the results, from those of the arguments: a fork of `T`.
    pub(super) fn push<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        care: Care,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let care = if self.is_steep() { Care::Rows } else { care };
        let mut given = |k: usize| self.0[k].to.iter().map(|to| to.as_ref().and_then(|to| of(to, 0))).collect();
        let tangents: [Vec<Option<T>>; 2] = [given(0), given(1)];
        let results = self.linear(env, tangents, &|form, env, tangents| form.push(env, tangents, care));
        results.into_iter().flatten().collect()
    }

    /// A fork of two linear functions of some values, `None` for zeros: one for each branch, with the values of its terms.
    #[allow(clippy::type_complexity, reason = "the type says what is mapped to what")]
    fn linear<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        given: [Vec<Option<T>>; 2],
        run: &(dyn Fn(&BranchForm, &Env<'_, T>, Vec<Option<T>>) -> Vec<Option<T>> + Sync),
    ) -> [Vec<Option<T>>; 2]
    where
        F: Residual<T>,
    {
        let left: [Left<Vec<bool>>; 2] = [Mutex::new(None), Mutex::new(None)];
        let marks = given.each_ref().map(|given| super::custom::are_some(given));
        let counts = self.0.each_ref().map(|branch| [branch.held.len(), branch.residuals.len()]);
        let [first, second] = [0, 1].map(|k| {
            let (form, marks, [held, residuals], left) = (&*self.0[k].form, &marks[k], counts[k], &left[k]);
            move |mut args: Vec<T>| {
                let _running = Running::start();
                let present = args.split_off(held + residuals);
                let (held, stacked) = args.split_at(held);
                let env = Env { held, stacked, elements: &[], codes: &[] };
                let results = run(form, &env, spread(marks, present));
                leave(left, super::custom::are_some(&results));
                results.into_iter().flatten().collect()
            }
        });
        let mut args = Vec::with_capacity(2);
        for (branch, given) in self.0.iter().zip(given) {
            let mut known = values(&branch.held, env);
            known.append(&mut values(&branch.residuals, env));
            known.extend(given.into_iter().flatten());
            args.push(known);
        }
        let (of_second, of_first) = (args.pop().unwrap_or_default(), args.pop().unwrap_or_default());
        let [y, z] = T::fork([(of_first, &first), (of_second, &second)]);
        let [of_y, of_z] = left.map(taken);
        [spread(&of_y, y), spread(&of_z, z)]
    }
}

/// The values at the marked positions.
fn spread<X>(marks: &[bool], values: Vec<X>) -> Vec<Option<X>> {
    let mut values = values.into_iter();
    marks.iter().map(|marked| if *marked { values.next() } else { None }).collect()
}

impl BranchForm {
    /// The cotangents of the arguments.
    fn pull<T: BaseTensor>(&self, env: &Env<'_, T>, cts: Vec<Option<T>>, care: Care) -> Vec<Option<T>> {
        let (mut terms, mut arguments): (Vec<Option<Cotangent<T>>>, Vec<Option<T>>) = (Vec::new(), Vec::new());
        terms.resize_with(self.body.terms.len(), || None);
        arguments.resize_with(self.arguments, || None);
        let mut add = |terms: &mut [Option<Cotangent<T>>], to: TermPlace, update: Update<T>| match to {
            TermPlace::Local(k) => accumulate(&mut terms[k], update),
            TermPlace::Carry(k) => arguments[k] = Some(accumulate_one(arguments[k].take(), update)),
            TermPlace::Element(_) | TermPlace::Captured(_) => unreachable!("a branch has arguments alone"),
        };
        for (to, ct) in self.body.results.iter().zip(cts) {
            if let (Some(to), Some(ct)) = (to, ct) {
                add(&mut terms, *to, Update::Add(ct));
            }
        }
        for k in (0..self.body.terms.len()).rev() {
            if let Some(ct) = terms[k].take() {
                let before = T::attribute(self.body.sites[k].clone());
                pull(&self.body.terms[k], env, ct, care, &mut |to, update| add(&mut terms, *to, update));
                T::attribute(before);
            }
        }
        arguments
    }

    /// The tangents of the results.
    fn push<T: BaseTensor>(&self, env: &Env<'_, T>, tangents: Vec<Option<T>>, care: Care) -> Vec<Option<T>> {
        let at = |to: TermPlace| match to {
            TermPlace::Carry(k) => k,
            TermPlace::Local(k) => self.arguments + k,
            TermPlace::Element(_) | TermPlace::Captured(_) => unreachable!("a branch has arguments alone"),
        };
        let mut uses = vec![0; self.arguments + self.body.terms.len()];
        self.body.terms.iter().for_each(|term| term.refs(&mut |to| uses[at(*to)] += 1));
        self.body.results.iter().flatten().for_each(|to| uses[at(*to)] += 1);
        let mut table = TangentTable::new(uses);
        for (k, tangent) in tangents.into_iter().enumerate() {
            if let Some(tangent) = tangent {
                table.set(k, tangent);
            }
        }
        for (k, term) in self.body.terms.iter().enumerate() {
            let before = T::attribute(self.body.sites[k].clone());
            let tangents = push(term, env, care, &mut |to: &TermPlace, i| table.take(at(*to), i));
            T::attribute(before);
            table.set_all(self.arguments + k, tangents);
        }
        self.body.results.iter().map(|to| to.and_then(|to| table.take(at(to), 0))).collect()
    }
}
