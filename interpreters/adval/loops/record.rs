//! Recording of a loop: one loop of `T` computes the primal values, and one body per kind of trip has the delta terms.
//!
//! Law: as in [`super`]. Whether a result has a tangent is the least fixpoint over the carry, so a value that depends
//! on no differentiated value has no cost in the derivative.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::super::checkpointed_call::{CodeAddress, RerunCode};
use super::super::delta::{Delta, Factor, Given, Id, SharedTerm, fresh, mapped_options, reachable};
use super::super::pull::Fault;
use super::super::{ADVal, differentiable};
use super::{Body, BodySource, Kind, LoopForm, LoopTerm, TermPlace, kind, node_kind, zeros};
use crate::base::{BaseTensor, Group, Trip, TripFn, map_accum_grouped};
use crate::dtype::DType;
use crate::interpreters::guarded::{Blind, Noting};
use crate::shape::{Shape, Show};

thread_local! {
    static LOOPS: Cell<usize> = const { Cell::new(0) };
}

/// A guard: while it lives, a trip of a loop is being recorded.
struct Recording;

impl Recording {
    fn start() -> Recording {
        LOOPS.with(|loops| loops.set(loops.get() + 1));
        Recording
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        LOOPS.with(|loops| loops.set(loops.get() - 1));
    }
}

/// Whether a trip of a loop is being recorded; each trip must record residuals of the same number and kinds.
pub(in super::super::super) fn in_a_loop() -> bool {
    LOOPS.with(Cell::get) > 0
}

thread_local! {
    static EVALUATED: Cell<usize> = const { Cell::new(0) };
}

/// A guard: while it lives, the loop of a term is evaluated.
pub(super) struct Evaluation;

impl Evaluation {
    pub(super) fn start() -> Evaluation {
        EVALUATED.set(EVALUATED.get() + 1);
        Evaluation
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        EVALUATED.set(EVALUATED.get() - 1);
    }
}

/// Whether a loop runs whose step counts its trips: then only trips of that loop may run.
pub(in super::super::super) fn counts_trips() -> bool {
    in_a_loop() || evaluates()
}

/// Whether the loop of a term is evaluated, whose step counts the bodies that it has run.
pub(in super::super::super) fn evaluates() -> bool {
    EVALUATED.get() > 0
}

/// A guard: while it lives, what runs is in no loop of this thread: a branch of a fork, which began outside all loops.
pub(in super::super) struct Alone([usize; 2]);

impl Alone {
    pub(in super::super) fn start() -> Alone {
        Alone([LOOPS.replace(0), EVALUATED.replace(0)])
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        LOOPS.set(self.0[0]);
        EVALUATED.set(self.0[1]);
    }
}

/// The record of the trips of a loop.
struct Recorder<T: 'static> {
    /// The first id of the loop: values with smaller ids are older than the loop.
    start: Id,
    bodies: Vec<Body>,
    which: Vec<usize>,
    captured: IndexMap<Id, Rc<SharedTerm<T>>>,
    held: IndexMap<Id, T>,
    /// The sequences whose elements are factors in the terms.
    factors: IndexMap<usize, ()>,
    /// The functions that trips run again.
    codes: IndexMap<CodeAddress, RerunCode>,
    /// The kinds of the residuals, as the first trip recorded them.
    residuals: Option<Vec<Kind>>,
    /// The number of outputs of the step.
    outputs: usize,
    /// Whether a result of a trip can be infinite or NaN at finite arguments.
    poles: bool,
    /// The fault of a trip; reported at the line of the loop.
    fault: Option<String>,
}

/// The arguments of one trip, by id.
struct Arguments {
    /// The first id of the trip: values with smaller ids are older than the trip.
    base: Id,
    places: Vec<(Id, TermPlace)>,
    /// The ids of the elements of the sequences, ascending.
    elements: Vec<Id>,
}

impl<T: BaseTensor> Recorder<T> {
    /// Records one trip and returns its residuals.
    fn record(&mut self, arguments: &Arguments, results: &[&ADVal<T>]) -> Vec<T> {
        let mut nodes = Vec::with_capacity(results.len());
        for result in results {
            nodes.push(result.node.clone());
            self.poles |= result.poles;
        }
        let found = reachable(&nodes, arguments.base);
        let mut ids: Vec<Id> = Vec::with_capacity(found.len());
        for node in &found {
            ids.push(node.id);
        }
        let mut stacked: IndexMap<Id, T> = IndexMap::new();
        let mut escaped = None;
        let (mut terms, mut sites) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
        let (start, held, captured, factors) = (self.start, &mut self.held, &mut self.captured, &mut self.factors);
        let mut slot = |factor: &Factor<T>| match arguments.elements.binary_search(&factor.id) {
            Ok(k) => BodySource::Element(factors.insert_full(k, ()).0),
            Err(_) => slot(factor, start, held, &mut stacked),
        };
        let codes = &mut self.codes;
        let mut code = |code: &RerunCode| codes.insert_full(code.address(), code.clone()).0;
        let mut place = |node: &Rc<SharedTerm<T>>| {
            place(node, start, captured, &ids, arguments).unwrap_or_else(|| {
                let inner = matches!(node.delta, Delta::Input(Given::Argument));
                escaped.get_or_insert(if inner { Fault::Inner } else { Fault::EarlierTrip });
                TermPlace::Local(0)
            })
        };
        for node in &found {
            terms.push(node.delta.map(&mut slot, &mut place, &mut code));
            sites.push(node.site.clone());
        }
        let results = mapped_options(&nodes, &mut place);
        if let Some(fault) = escaped {
            self.fault.get_or_insert(fault.to_string());
        }
        let body = Body { terms, sites, results };
        let which = self.bodies.iter().position(|b| *b == body).unwrap_or_else(|| {
            self.bodies.push(body);
            self.bodies.len() - 1
        });
        self.which.push(which);
        self.checked(stacked.into_values().collect())
    }

    /// The residuals, if they have the kinds of the first trip's, so that the loop can stack them.
    fn checked(&mut self, residuals: Vec<T>) -> Vec<T> {
        let mut kinds = Vec::with_capacity(residuals.len());
        for residual in &residuals {
            kinds.push(kind(residual));
        }
        let first = self.residuals.get_or_insert_with(|| kinds.clone());
        if *first == kinds {
            return residuals;
        }
        let mut stand_ins = Vec::with_capacity(first.len());
        for kind in &*first {
            stand_ins.push(zeros(kind));
        }
        let fault = other_residuals(first, &kinds);
        self.fault.get_or_insert(fault);
        stand_ins
    }
}

/// The fault of a trip whose residuals differ in kind from those of the first.
fn other_residuals(first: &[Kind], kinds: &[Kind]) -> String {
    let show = |kinds: &[Kind]| {
        let kinds: Vec<String> = kinds.iter().map(|(s, d)| format!("{d} {}", Show(s))).collect();
        if kinds.is_empty() { String::from("none") } else { kinds.join(" and ") }
    };
    format!(
        "loop: every trip must keep the same residuals for the derivative, but the first kept {}, another {}; choose with \
         select or cond instead of a host branch",
        show(first),
        show(kinds)
    )
}

/// For each sequence, whether results depend on its elements; other sequences get no cotangent, not even zeros.
fn used_elements(bodies: &[Body], count: usize) -> Vec<bool> {
    let mut used = vec![false; count];
    let mut look = |to: &TermPlace| {
        if let TermPlace::Element(k) = to {
            used[*k] = true;
        }
    };
    for body in bodies {
        body.terms.iter().for_each(|term| term.refs(&mut look));
        body.results.iter().flatten().for_each(&mut look);
    }
    used
}

/// For each result, whether it has a tangent, given the initial carries that have one: the least fixpoint.
fn activity(bodies: &[Body], outputs: usize, mut carry: Vec<bool>) -> Vec<bool> {
    loop {
        let mut active = carry.clone();
        active.resize(carry.len() + outputs, false);
        for body in bodies {
            let mut terms: Vec<bool> = Vec::with_capacity(body.terms.len());
            let is = |to: TermPlace, terms: &[bool]| match to {
                TermPlace::Carry(k) => carry[k],
                TermPlace::Element(_) | TermPlace::Captured(_) => true,
                TermPlace::Local(k) => terms[k],
            };
            for term in &body.terms {
                let mut any = matches!(term, Delta::Unbounded);
                term.refs(&mut |to| any |= is(*to, &terms));
                terms.push(any);
            }
            for (k, result) in body.results.iter().enumerate() {
                active[k] |= result.is_some_and(|to| is(to, &terms));
            }
        }
        if active[..carry.len()] == carry[..] {
            return active;
        }
        active.truncate(carry.len());
        carry = active;
    }
}

/// The source of a value in the body; a value computed before the loop is the same in every trip.
fn slot<T: Clone>(
    factor: &Factor<T>,
    start: Id,
    held: &mut IndexMap<Id, T>,
    stacked: &mut IndexMap<Id, T>,
) -> BodySource {
    let (known, slot): (_, fn(usize) -> BodySource) =
        if factor.id < start { (held, BodySource::Held) } else { (stacked, BodySource::Stacked) };
    let entry = known.entry(factor.id);
    let k = entry.index();
    entry.or_insert_with(|| factor.value.clone());
    slot(k)
}

/// The reference to a term in the body of a trip whose local terms are `ids`; `None` for a term of another trip.
fn place<T>(
    node: &Rc<SharedTerm<T>>,
    start: Id,
    captured: &mut IndexMap<Id, Rc<SharedTerm<T>>>,
    ids: &[Id],
    arguments: &Arguments,
) -> Option<TermPlace> {
    if node.id < start {
        return Some(TermPlace::Captured(captured.insert_full(node.id, node.clone()).0));
    }
    if let Ok(k) = ids.binary_search(&node.id) {
        return Some(TermPlace::Local(k));
    }
    let argument = arguments.places.binary_search_by_key(&node.id, |(id, _)| *id).ok()?;
    Some(arguments.places[argument].1)
}

/// The loop of `ADVal<T>`, by one loop of `T`.
///
/// If a NaN occurs in some trips alone, their products have guards of more operations than those of the others. Then
/// all trips are recorded once more, with guards in all of them.
#[track_caller]
pub(in super::super) fn map_accum<T: BaseTensor>(
    n: usize,
    reverse: bool,
    init: Vec<ADVal<T>>,
    xs: &[ADVal<T>],
    step: TripFn<'_, ADVal<T>>,
) -> Trip<ADVal<T>> {
    let again = if T::records() { Vec::new() } else { init.clone() };
    // No closures: a panic in a trip has the line of the loop.
    let noting = Noting::start();
    let mut result = recorded(n, reverse, init, xs, &mut *step);
    if result.is_err() && noting.any() {
        let _blind = Blind::start();
        result = recorded(n, reverse, again, xs, step);
    }
    match result {
        Ok(trip) => trip,
        Err(fault) => panic!("{fault}"),
    }
}

/// One attempt to record the trips: the fault, if their residuals differ, or if they use values of each other.
#[track_caller]
fn recorded<T: BaseTensor>(
    n: usize,
    reverse: bool,
    init: Vec<ADVal<T>>,
    xs: &[ADVal<T>],
    step: TripFn<'_, ADVal<T>>,
) -> Result<Trip<ADVal<T>>, String> {
    let mut recorder: Recorder<T> = Recorder {
        start: fresh(),
        bodies: Vec::new(),
        which: Vec::new(),
        captured: IndexMap::new(),
        held: IndexMap::new(),
        factors: IndexMap::new(),
        codes: IndexMap::new(),
        residuals: None,
        outputs: 0,
        poles: false,
        fault: None,
    };
    let mut carry_kinds: Vec<Kind> = Vec::with_capacity(init.len());
    let before = if n == 0 { init.clone() } else { Vec::new() };
    let (mut primals, mut tangents) = (Vec::with_capacity(init.len()), Vec::with_capacity(init.len()));
    let mut start_poles = Vec::with_capacity(init.len());
    for c in init {
        start_poles.push(c.poles);
        carry_kinds.push(kind(&c.primal));
        primals.push(grouped(c.primal));
        tangents.push(c.node);
    }
    let mut sequences: Vec<Group<T>> = Vec::with_capacity(xs.len());
    for x in xs {
        sequences.push(grouped(x.primal.clone()));
    }
    let mut element_kinds: Vec<Kind> = Vec::new();

    let recording = Recording::start();
    let (finals, mut stacks) = map_accum_grouped(n, reverse, primals, &sequences, &mut |values, current| {
        let base = fresh();
        let (mut places, mut ids) = (Vec::new(), Vec::new());
        let (mut carry, mut elements) = (Vec::with_capacity(values.len()), Vec::with_capacity(current.len()));
        for (k, group) in values.into_iter().enumerate() {
            let value = alone(group);
            let moves = differentiable(&value);
            let c = argument(value, moves).poles_if(start_poles.get(k).copied().unwrap_or(false));
            if moves {
                places.push((c.id, TermPlace::Carry(k)));
            }
            carry.push(c);
        }
        element_kinds.clear();
        for (k, group) in current.into_iter().enumerate() {
            let moves = xs[k].node.is_some();
            let e = argument(alone(group), moves).poles_if(xs[k].poles);
            if moves {
                places.push((e.id, TermPlace::Element(k)));
            }
            ids.push(e.id);
            element_kinds.push(kind(&e.primal));
            elements.push(e);
        }
        let (carry, outputs) = step(carry, &elements);
        recorder.outputs = outputs.len();
        let mut results: Vec<&ADVal<T>> = Vec::with_capacity(carry.len() + outputs.len());
        results.extend(&carry);
        results.extend(&outputs);
        let residuals = recorder.record(&Arguments { base, places, elements: ids }, &results);
        // The residuals are the last group.
        let mut stacked = groups(outputs);
        stacked.push(residuals.into());
        (groups(carry), stacked)
    });

    drop(recording);
    if let Some(fault) = recorder.fault {
        return Err(fault);
    }
    let poles = recorder.poles;
    if poles {
        // The carry of a later trip can be infinite or NaN, too.
        recorder.bodies.iter_mut().for_each(Body::assume_poles);
    }
    let residuals = stacks.pop().unwrap_or_default();
    let (mut finals, mut stacks): (Vec<T>, Vec<T>) =
        (finals.into_iter().flatten().collect(), stacks.into_iter().flatten().collect());
    if n == 0 {
        // Without trips, values captured by the step get no cotangent, not even zeros.
        return Ok((before, stacks.into_iter().map(ADVal::constant_of).collect()));
    }
    let mut moves = Vec::with_capacity(tangents.len());
    for to in &tangents {
        moves.push(to.is_some());
    }
    let active = activity(&recorder.bodies, recorder.outputs, moves);
    let carried = finals.len();
    let mut form = LoopForm {
        n,
        reverse,
        which: if recorder.bodies.len() > 1 { recorder.which } else { Vec::new() },
        carry: carry_kinds.into_iter().zip(active.iter().copied()).collect(),
        elements: Vec::new(),
        outputs: Vec::with_capacity(stacks.len()),
        captured: Vec::with_capacity(recorder.captured.len()),
        residuals: residuals.len(),
        factors: recorder.factors.len(),
        bodies: recorder.bodies,
    };
    for (k, y) in stacks.iter().enumerate() {
        form.outputs.push(((Shape::from_slice(&y.shape()[1..]), y.dtype()), active[carried + k]));
    }
    finals.append(&mut stacks);
    let used = used_elements(&form.bodies, xs.len());
    let mut elements = Vec::with_capacity(xs.len());
    for (k, kind) in element_kinds.into_iter().enumerate() {
        let to = if used[k] { xs[k].node.clone() } else { None };
        form.elements.push((kind, to.is_some()));
        elements.push(to);
    }
    let (mut captured, mut held, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
    for (_, node) in recorder.captured {
        form.captured.push(node_kind(&node));
        captured.push(node);
    }
    for (id, value) in recorder.held {
        held.push(Factor { value, id });
    }
    for value in residuals {
        sequences.push(Factor { value, id: fresh() });
    }
    for (k, ()) in recorder.factors {
        sequences.push(xs[k].factor());
    }
    let term = LoopTerm {
        form: Arc::new(form),
        carry: tangents,
        elements,
        captured,
        held,
        sequences,
        codes: recorder.codes.into_values().collect(),
    };
    let site = finals.first().map(T::site).unwrap_or_default();
    let term = active.contains(&true).then(|| {
        Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta: Delta::Loop(Box::new(term)) })
    });
    let mut results: Vec<ADVal<T>> = Vec::with_capacity(finals.len());
    for (k, primal) in finals.into_iter().enumerate() {
        results.push(match &term {
            Some(of) if active[k] => ADVal::of(primal, Delta::Output(of.clone(), k)).poles_if(poles),
            Some(_) | None => ADVal::constant_of(primal).poles_if(poles),
        });
    }
    let outputs = results.split_off(carried);
    Ok((results, outputs))
}

/// A value of the loop of `T` that belongs to one dual number.
fn grouped<T>(value: T) -> Group<T> {
    let mut group = Group::new();
    group.push(value);
    group
}

/// The value of a group of one.
fn alone<T>(mut group: Group<T>) -> T {
    group.pop().expect("a group of one value")
}

/// The primal values, each a group.
fn groups<T>(values: Vec<ADVal<T>>) -> Vec<Group<T>> {
    let mut groups = Vec::with_capacity(values.len() + 1);
    for value in values {
        groups.push(grouped(value.primal));
    }
    groups
}

/// An argument of a trip, with a tangent or without.
fn argument<T: BaseTensor>(value: T, moves: bool) -> ADVal<T> {
    if moves { ADVal::variable(value, Given::Loop) } else { ADVal::constant_of(value) }
}
