//! Recording of a loop: one loop of `T` computes the primal values, and one body per kind of trip has the delta terms.
//!
//! Law: as in [`super`]. Whether a result has a tangent is the least fixpoint over the carry, so a value that depends
//! on no differentiated value has no cost in the derivative.

use std::cell::Cell;
use std::rc::Rc;

use indexmap::IndexMap;

use super::super::delta::{Delta, Factor, Given, Id, SharedTerm, fresh, reachable};
use super::super::pull::Fault;
use super::super::{ADVal, differentiable};
use super::{Body, BodySource, Kind, LoopTerm, TermPlace, kind, node_kind, zeros};
use crate::base::{BaseTensor, Group, Trip, TripFn, map_accum_grouped};
use crate::dtype::DType;
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
pub(in super::super) fn in_a_loop() -> bool {
    LOOPS.with(Cell::get) > 0
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
    /// The kinds of the residuals, as the first trip recorded them.
    residuals: Option<Vec<Kind>>,
    /// The number of outputs of the step.
    outputs: usize,
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
        let found = reachable(results.iter().filter_map(|r| r.node.as_ref()), arguments.base);
        let ids: Vec<Id> = found.keys().copied().collect();
        let mut stacked: IndexMap<Id, T> = IndexMap::new();
        let mut escaped = None;
        let (mut terms, mut sites) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
        let (start, held, captured, factors) = (self.start, &mut self.held, &mut self.captured, &mut self.factors);
        let mut slot = |factor: &Factor<T>| match arguments.elements.binary_search(&factor.id) {
            Ok(k) => BodySource::Element(factors.insert_full(k, ()).0),
            Err(_) => slot(factor, start, held, &mut stacked),
        };
        let mut place = |node: &Rc<SharedTerm<T>>| {
            place(node, start, captured, &ids, arguments).unwrap_or_else(|| {
                let inner = matches!(node.delta, Delta::Input(Given::Argument));
                escaped.get_or_insert(if inner { Fault::Inner } else { Fault::EarlierTrip });
                TermPlace::Local(0)
            })
        };
        for node in found.values() {
            terms.push(node.delta.map(&mut slot, &mut place));
            sites.push(node.site);
        }
        let results = results.iter().map(|r| r.node.as_ref().map(&mut place)).collect();
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
        let kinds: Vec<Kind> = residuals.iter().map(kind).collect();
        let first = self.residuals.get_or_insert_with(|| kinds.clone());
        if *first == kinds {
            return residuals;
        }
        let show = |kinds: &[Kind]| {
            let kinds: Vec<String> = kinds.iter().map(|(s, d)| format!("{d} {}", Show(s))).collect();
            if kinds.is_empty() { String::from("none") } else { kinds.join(" and ") }
        };
        let fault = format!(
            "loop: every trip must keep the same residuals for the derivative, but the first kept {}, another {}; choose with \
             select or cond instead of a host branch",
            show(first),
            show(&kinds)
        );
        let stand_ins = first.iter().map(zeros).collect();
        self.fault.get_or_insert(fault);
        stand_ins
    }

    /// For each sequence, whether results depend on its elements; other sequences get no cotangent, not even zeros.
    fn used_elements(&self, count: usize) -> Vec<bool> {
        let mut used = vec![false; count];
        let mut look = |to: &TermPlace| {
            if let TermPlace::Element(k) = to {
                used[*k] = true;
            }
        };
        for body in &self.bodies {
            body.terms.iter().for_each(|term| term.refs(&mut look));
            body.results.iter().flatten().for_each(&mut look);
        }
        used
    }

    /// For each result, whether it has a tangent, given the initial carries that have one: the least fixpoint.
    fn activity(&self, mut carry: Vec<bool>) -> Vec<bool> {
        loop {
            let mut active = carry.clone();
            active.resize(carry.len() + self.outputs, false);
            for body in &self.bodies {
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
#[track_caller]
pub(in super::super) fn map_accum<T: BaseTensor>(
    n: usize,
    reverse: bool,
    init: Vec<ADVal<T>>,
    xs: &[ADVal<T>],
    step: TripFn<'_, ADVal<T>>,
) -> Trip<ADVal<T>> {
    let mut recorder: Recorder<T> = Recorder {
        start: fresh(),
        bodies: Vec::new(),
        which: Vec::new(),
        captured: IndexMap::new(),
        held: IndexMap::new(),
        factors: IndexMap::new(),
        residuals: None,
        outputs: 0,
        fault: None,
    };
    let carry_kinds: Vec<Kind> = init.iter().map(|c| kind(&c.primal)).collect();
    let before = if n == 0 { init.clone() } else { Vec::new() };
    let (primals, tangents): (Vec<Group<T>>, Vec<_>) =
        init.into_iter().map(|c| (Group::from_iter([c.primal]), c.node)).unzip();
    let sequences: Vec<Group<T>> = xs.iter().map(|x| Group::from_iter([x.primal.clone()])).collect();
    let mut element_kinds: Vec<Kind> = Vec::new();

    let recording = Recording::start();
    let (finals, mut stacks) = map_accum_grouped(n, reverse, primals, &sequences, &mut |carry, elements| {
        let base = fresh();
        let mut places = Vec::new();
        let carry: Vec<ADVal<T>> = carry
            .into_iter()
            .flatten()
            .map(|c| if differentiable(&c) { ADVal::variable(c, Given::Loop) } else { ADVal::constant_of(c) })
            .collect();
        let elements: Vec<ADVal<T>> = elements
            .into_iter()
            .flatten()
            .zip(xs)
            .map(|(e, x)| if x.node.is_some() { ADVal::variable(e, Given::Loop) } else { ADVal::constant_of(e) })
            .collect();
        places.extend(
            carry.iter().enumerate().filter(|(_, c)| c.node.is_some()).map(|(k, c)| (c.id, TermPlace::Carry(k))),
        );
        places.extend(
            elements.iter().enumerate().filter(|(_, e)| e.node.is_some()).map(|(k, e)| (e.id, TermPlace::Element(k))),
        );
        let ids = elements.iter().map(|e| e.id).collect();
        element_kinds = elements.iter().map(|e| kind(&e.primal)).collect();
        let (carry, outputs) = step(carry, &elements);
        recorder.outputs = outputs.len();
        let results: Vec<&ADVal<T>> = carry.iter().chain(&outputs).collect();
        let residuals = recorder.record(&Arguments { base, places, elements: ids }, &results);
        let primals = |values: Vec<ADVal<T>>| values.into_iter().map(|y| Group::from_iter([y.primal]));
        // The residuals are the last group.
        (primals(carry).collect(), primals(outputs).chain([residuals.into()]).collect())
    });

    drop(recording);
    if let Some(fault) = recorder.fault {
        panic!("{fault}");
    }
    let residuals = stacks.pop().unwrap_or_default();
    let (mut finals, mut stacks): (Vec<T>, Vec<T>) =
        (finals.into_iter().flatten().collect(), stacks.into_iter().flatten().collect());
    if n == 0 {
        // Without trips, values captured by the step get no cotangent, not even zeros.
        return (before, stacks.into_iter().map(ADVal::constant_of).collect());
    }
    let active = recorder.activity(tangents.iter().map(Option::is_some).collect());
    let carried = finals.len();
    let output_kinds = stacks.iter().map(|y| (Shape::from_slice(&y.shape()[1..]), y.dtype())).collect::<Vec<Kind>>();
    finals.append(&mut stacks);
    let several = recorder.bodies.len() > 1;
    let used = recorder.used_elements(xs.len());
    let term = LoopTerm {
        n,
        reverse,
        which: if several { recorder.which.into() } else { Rc::new([]) },
        bodies: recorder.bodies.into(),
        carry: carry_kinds.into_iter().zip(tangents).enumerate().map(|(k, (kind, to))| (kind, active[k], to)).collect(),
        elements: (element_kinds.into_iter().zip(xs).zip(used))
            .map(|((kind, x), used)| (kind, x.node.clone().filter(|_| used)))
            .collect(),
        outputs: output_kinds.into_iter().zip(active[carried..].iter().copied()).collect(),
        captured: recorder.captured.into_values().map(|node| (node_kind(&node), node)).collect(),
        held: recorder.held.into_iter().map(|(id, value)| Factor { value, id }).collect(),
        residuals: residuals.into_iter().map(|value| Factor { value, id: fresh() }).collect(),
        factors: recorder.factors.into_keys().map(|k| xs[k].factor()).collect(),
    };
    let site = finals.first().map(T::site).unwrap_or_default();
    let term = active.contains(&true).then(|| {
        Rc::new(SharedTerm { id: fresh(), dtype: DType::F64, site, shape: None, delta: Delta::Loop(Box::new(term)) })
    });
    let mut results: Vec<ADVal<T>> = finals
        .into_iter()
        .enumerate()
        .map(|(k, primal)| match &term {
            Some(of) if active[k] => ADVal::of(primal, Delta::Output(of.clone(), k)),
            Some(_) | None => ADVal::constant_of(primal),
        })
        .collect();
    let outputs = results.split_off(carried);
    (results, outputs)
}
