//! Loops of dual numbers.
//!
//! `ADVal<T>` runs one loop of `T`. The step is traced into a *body*: the delta terms of one trip, with
//! references by position. The values those terms multiply with are either *held*, if they were born
//! before the loop (a captured weight), or *residuals*, which the loop of `T` returns as additional
//! stacked outputs. The loop's own term is transposed into one loop of `T` in the opposite direction,
//! whose carry is the cotangents of the carry and of everything captured. This is lambda lifting: no
//! function type is needed, and loops nest. Evaluated forwards, it is a loop of `T` over the tangents of the
//! carry and of the sequences, in the direction of the original.
//!
//! Law: bodies are data without values, so that equal trips have equal bodies. Steps that branch on
//! host values record one body per branch; only the residuals must be the same in number and shape.

use std::rc::Rc;

use indexmap::IndexMap;

use super::delta::{Delta, Factor, Id, Node, fresh, reachable};
use super::pull::{Cotangent, Env, Residual, Update, accumulate, accumulate_one, pull};
use super::push::{Table, Tangents, push};
use super::{ADVal, differentiable};
use crate::base::{BaseTensor, Step, Trip};
use crate::dtype::DType;
use crate::shape::{Shape, Show};

/// Where the body of a loop finds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Among the values held for all trips.
    Held(usize),
    /// Among the current elements of the sequences: they are stacked already.
    Element(usize),
    /// Among the residuals of this trip.
    Stacked(usize),
}

impl<T> Residual<T> for Source {
    fn get<'a>(&'a self, env: &'a Env<'_, T>) -> &'a T {
        match *self {
            Source::Held(k) => &env.held[k],
            Source::Element(k) => &env.elements[k],
            Source::Stacked(k) => &env.stacked[k],
        }
    }
}

/// What a term in the body of a loop refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A value of the carry as the trip receives it.
    Carry(usize),
    /// The current element of a sequence.
    Element(usize),
    /// A term from outside the loop.
    Captured(usize),
    /// A term of the body.
    Local(usize),
}

/// The delta terms of one trip, references before their uses.
#[derive(Debug, PartialEq)]
pub(super) struct Body {
    terms: Vec<Delta<Source, Place>>,
    /// The results, carry first; `None` for those with no tangent.
    results: Vec<Option<Place>>,
}

/// Shape and element type.
type Kind = (Shape, DType);

fn kind<T: BaseTensor>(t: &T) -> Kind {
    (Shape::from_slice(t.shape()), t.dtype())
}

fn node_kind<T>(node: &Node<T>) -> Kind {
    (node.shape.as_deref().map(Shape::from_slice).unwrap_or_default(), node.dtype)
}

fn zeros<T: BaseTensor>(kind: &Kind) -> T {
    T::zeros(&kind.0, kind.1)
}

/// The term of a loop: its bodies, and what they refer to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LoopTerm<F, R> {
    n: usize,
    reverse: bool,
    bodies: Rc<[Body]>,
    /// Which body each trip has, in the order they ran; empty if there is but one.
    which: Rc<[usize]>,
    /// The carry: its kind, whether it has a tangent at all, and where that starts.
    carry: Vec<(Kind, bool, Option<R>)>,
    /// The sequences: the kind of an element, and the tangent.
    elements: Vec<(Kind, Option<R>)>,
    /// The stacked outputs: the kind of one, and whether it has a tangent.
    outputs: Vec<(Kind, bool)>,
    captured: Vec<(Kind, R)>,
    held: Vec<F>,
    residuals: Vec<F>,
    /// The sequences whose elements the terms multiply with.
    factors: Vec<F>,
}

impl<F, R> LoopTerm<F, R> {
    pub(super) fn map<G, S>(&self, f: &mut dyn FnMut(&F) -> G, r: &mut dyn FnMut(&R) -> S) -> LoopTerm<G, S> {
        LoopTerm {
            n: self.n,
            reverse: self.reverse,
            bodies: self.bodies.clone(),
            which: self.which.clone(),
            carry: self.carry.iter().map(|(k, a, to)| (k.clone(), *a, to.as_ref().map(&mut *r))).collect(),
            elements: self.elements.iter().map(|(k, to)| (k.clone(), to.as_ref().map(&mut *r))).collect(),
            outputs: self.outputs.clone(),
            captured: self.captured.iter().map(|(k, to)| (k.clone(), r(to))).collect(),
            held: self.held.iter().map(&mut *f).collect(),
            residuals: self.residuals.iter().map(&mut *f).collect(),
            factors: self.factors.iter().map(f).collect(),
        }
    }

    pub(super) fn refs<'a>(&'a self, r: &mut dyn FnMut(&'a R)) {
        self.carry.iter().filter_map(|(_, _, to)| to.as_ref()).for_each(&mut *r);
        self.elements.iter().filter_map(|(_, to)| to.as_ref()).for_each(&mut *r);
        self.captured.iter().for_each(|(_, to)| r(to));
    }

    pub(super) fn into_refs(self, r: &mut dyn FnMut(R)) {
        self.carry.into_iter().filter_map(|(_, _, to)| to).for_each(&mut *r);
        self.elements.into_iter().filter_map(|(_, to)| to).for_each(&mut *r);
        self.captured.into_iter().for_each(|(_, to)| r(to));
    }

    /// The transposed loop: from the cotangents of the results, carry first, to those of the initial
    /// carry, of the sequences and of what was captured.
    pub(super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        cts.resize_with(self.carry.len() + self.outputs.len(), || None);
        let live = self.live();
        let mut init: Vec<T> =
            live.iter().map(|k| cts[*k].take().unwrap_or_else(|| zeros(&self.carry[*k].0))).collect();
        init.extend(self.captured.iter().map(|(kind, _)| zeros::<T>(kind)));

        let held: Vec<T> = self.held.iter().map(|f| f.get(env).clone()).collect();
        let mut xs: Vec<T> = self.residuals.iter().chain(&self.factors).map(|f| f.get(env).clone()).collect();
        let mut seeds: Vec<usize> = Vec::new();
        for (k, ct) in cts.into_iter().enumerate() {
            if let Some(ct) = ct {
                seeds.push(k);
                xs.push(ct);
            }
        }
        let mut calls = 0;
        let mut step = |carry: Vec<T>, x: &[T]| {
            calls += 1;
            // The transposed trips run in the opposite order.
            let body = self.n.checked_sub(calls).and_then(|trip| self.which.get(trip)).map_or(0, |w| *w);
            let (stacked, x) = x.split_at(self.residuals.len());
            let (elements, cts) = x.split_at(self.factors.len());
            self.pull_trip(
                &self.bodies[body],
                &Env { held: &held, stacked, elements },
                &live,
                carry,
                seeds.iter().copied().zip(cts),
            )
        };
        let (mut finals, stacks) = T::map_accum(self.n, !self.reverse, init, &xs, &mut step);

        let captured = finals.split_off(live.len());
        for (k, ct) in live.iter().zip(finals) {
            if let Some(to) = &self.carry[*k].2 {
                emit(to, Update::Add(ct));
            }
        }
        for ((_, to), ct) in self.captured.iter().zip(captured) {
            emit(to, Update::Add(ct));
        }
        for (to, ct) in self.elements.iter().filter_map(|(_, to)| to.as_ref()).zip(stacks) {
            emit(to, Update::Add(ct));
        }
    }

    /// One transposed trip: `carry` is the cotangents of the live carry, then of what was captured.
    fn pull_trip<'x, T: BaseTensor>(
        &self,
        body: &Body,
        env: &Env<'_, T>,
        live: &[usize],
        mut carry: Vec<T>,
        outputs: impl Iterator<Item = (usize, &'x T)>,
    ) -> Trip<T> {
        let mut captured: Vec<Option<T>> = carry.split_off(live.len()).into_iter().map(Some).collect();
        let mut before: Vec<Option<T>> = self.carry.iter().map(|_| None).collect();
        let mut elements: Vec<Option<T>> = self.elements.iter().map(|_| None).collect();
        let mut pending: Vec<Option<Cotangent<T>>> = body.terms.iter().map(|_| None).collect();
        let mut add = |pending: &mut Vec<Option<Cotangent<T>>>, to: Place, update: Update<T>| {
            let slot = match to {
                Place::Local(k) => return accumulate(&mut pending[k], update),
                Place::Carry(k) => &mut before[k],
                Place::Element(k) => &mut elements[k],
                Place::Captured(k) => &mut captured[k],
            };
            *slot = Some(accumulate_one(slot.take(), update));
        };
        let results = live.iter().copied().zip(carry).chain(outputs.map(|(k, ct)| (k, ct.clone())));
        for (k, ct) in results {
            if let Some(to) = body.results[k] {
                add(&mut pending, to, Update::Add(ct));
            }
        }
        for (k, term) in body.terms.iter().enumerate().rev() {
            if let Some(ct) = pending[k].take() {
                pull(term, env, ct, &mut |to, update| add(&mut pending, *to, update));
            }
        }
        let mut next: Vec<T> =
            live.iter().map(|k| before[*k].take().unwrap_or_else(|| zeros(&self.carry[*k].0))).collect();
        next.extend(captured.into_iter().flatten());
        let sequences = self.elements.iter().zip(elements).filter(|((_, to), _)| to.is_some());
        (next, sequences.map(|((kind, _), ct)| ct.unwrap_or_else(|| zeros(kind))).collect())
    }
}

impl<F, R> LoopTerm<F, R> {
    /// The values of the carry that have a tangent.
    fn live(&self) -> Vec<usize> {
        (0..self.carry.len()).filter(|k| self.carry[*k].1).collect()
    }

    /// The loop of tangents: from those of what it refers to, by `of`, to those of the results, carry first.
    pub(super) fn push<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> Tangents<T>
    where
        F: Residual<T>,
    {
        let live = self.live();
        let mut tangent = |to: &Option<R>| to.as_ref().and_then(|to| of(to, 0));
        let start = |k: &usize| tangent(&self.carry[*k].2).unwrap_or_else(|| zeros(&self.carry[*k].0));
        let init: Vec<T> = live.iter().map(start).collect();
        let mut moving = Vec::new();
        let mut xs: Vec<T> = self.residuals.iter().chain(&self.factors).map(|f| f.get(env).clone()).collect();
        for (k, (_, to)) in self.elements.iter().enumerate() {
            if let Some(t) = tangent(to) {
                moving.push(k);
                xs.push(t);
            }
        }
        let captured: Vec<Option<T>> = self.captured.iter().map(|(_, to)| of(to, 0)).collect();
        let held: Vec<T> = self.held.iter().map(|f| f.get(env).clone()).collect();
        // The results that have a tangent, with their kinds.
        let carried = self.carry.len();
        let active = live.iter().map(|k| (*k, &self.carry[*k].0));
        let outputs = self.outputs.iter().enumerate().filter(|(_, (_, has))| *has);
        let active: Vec<(usize, &Kind)> = active.chain(outputs.map(|(k, (kind, _))| (carried + k, kind))).collect();
        let uses: Vec<Vec<usize>> = self.bodies.iter().map(|body| self.uses(body, &active)).collect();

        let mut calls = 0;
        let (finals, stacks) = T::map_accum(self.n, self.reverse, init, &xs, &mut |carry, x| {
            let which = self.which.get(calls).map_or(0, |w| *w);
            calls += 1;
            let (stacked, x) = x.split_at(self.residuals.len());
            let (factors, elements) = x.split_at(self.factors.len());
            let mut table = Table::new(uses[which].clone());
            live.iter().zip(carry).for_each(|(k, t)| table.set(self.at(Place::Carry(*k)), t));
            moving.iter().zip(elements).for_each(|(k, t)| table.set(self.at(Place::Element(*k)), t.clone()));
            for (k, t) in captured.iter().enumerate() {
                t.iter().for_each(|t| table.set(self.at(Place::Captured(k)), t.clone()));
            }
            let body = &self.bodies[which];
            for (k, term) in body.terms.iter().enumerate() {
                let tangents = push(term, &Env { held: &held, stacked, elements: factors }, &mut |to, i| {
                    table.take(self.at(*to), i)
                });
                table.set_all(self.at(Place::Local(k)), tangents);
            }
            let result = |(k, kind): &(usize, &Kind)| {
                body.results[*k].and_then(|to| table.take(self.at(to), 0)).unwrap_or_else(|| zeros(kind))
            };
            let mut next: Vec<T> = active.iter().map(result).collect();
            let outputs = next.split_off(live.len());
            (next, outputs)
        });
        let mut tangents: Tangents<T> = (0..carried + self.outputs.len()).map(|_| None).collect();
        active.iter().zip(finals.into_iter().chain(stacks)).for_each(|((k, _), t)| tangents[*k] = Some(t));
        tangents
    }

    /// Where the tangent of a place stands in the table of a trip.
    fn at(&self, place: Place) -> usize {
        let (carry, elements, captured) = (self.carry.len(), self.elements.len(), self.captured.len());
        match place {
            Place::Carry(k) => k,
            Place::Element(k) => carry + k,
            Place::Captured(k) => carry + elements + k,
            Place::Local(k) => carry + elements + captured + k,
        }
    }

    /// How often each tangent of a trip is used.
    fn uses(&self, body: &Body, active: &[(usize, &Kind)]) -> Vec<usize> {
        let mut uses = vec![0; self.at(Place::Local(body.terms.len()))];
        body.terms.iter().for_each(|term| term.refs(&mut |to| uses[self.at(*to)] += 1));
        active.iter().filter_map(|(k, _)| body.results[*k]).for_each(|to| uses[self.at(to)] += 1);
        uses
    }
}

/// What the trips of a loop have recorded.
struct Recorder<T> {
    /// Ids from here on were born inside the loop.
    start: Id,
    bodies: Vec<Body>,
    which: Vec<usize>,
    captured: IndexMap<Id, Rc<Node<T>>>,
    held: IndexMap<Id, T>,
    /// The sequences whose elements are multiplied with.
    factors: IndexMap<usize, ()>,
    /// The kinds of the residuals, as the first trip recorded them.
    residuals: Option<Vec<Kind>>,
    /// How many outputs the step has.
    outputs: usize,
    /// What a trip did that it must not; reported at the loop's own line.
    fault: Option<String>,
}

/// The terms that stand for the arguments of one trip: their ids, with what they are.
struct Arguments {
    /// Ids from here on were born in this trip.
    base: Id,
    places: Vec<(Id, Place)>,
    /// The ids of the elements of the sequences, ascending.
    elements: Vec<Id>,
}

impl<T: BaseTensor> Recorder<T> {
    /// Records one trip and returns its residuals.
    fn record(&mut self, arguments: &Arguments, results: &[&ADVal<T>]) -> Vec<T> {
        let found = reachable(results.iter().filter_map(|r| r.node.as_ref()), arguments.base);
        let ids: Vec<Id> = found.keys().copied().collect();
        let mut stacked: IndexMap<Id, T> = IndexMap::new();
        let mut escaped = false;
        let mut terms = Vec::with_capacity(ids.len());
        let (start, held, captured, factors) = (self.start, &mut self.held, &mut self.captured, &mut self.factors);
        let mut slot = |factor: &Factor<T>| match arguments.elements.binary_search(&factor.id) {
            Ok(k) => Source::Element(factors.insert_full(k, ()).0),
            Err(_) => slot(factor, start, held, &mut stacked),
        };
        let mut place = |node: &Rc<Node<T>>| {
            place(node, start, captured, &ids, arguments).unwrap_or_else(|| {
                escaped = true;
                Place::Local(0)
            })
        };
        for node in found.values() {
            terms.push(node.delta.map(&mut slot, &mut place));
        }
        let results = results.iter().map(|r| r.node.as_ref().map(&mut place)).collect();
        if escaped {
            self.fault.get_or_insert(String::from(
                "map_accum: a loop variable may be used only inside its closure, but a trip used one of an earlier trip; \
                 carry it instead",
            ));
        }
        let body = Body { terms, results };
        let which = self.bodies.iter().position(|b| *b == body).unwrap_or_else(|| {
            self.bodies.push(body);
            self.bodies.len() - 1
        });
        self.which.push(which);
        self.checked(stacked.into_values().collect())
    }

    /// The residuals, if they are like the first trip's, which the loop can stack.
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
            "map_accum: every trip must keep the same residuals for the derivative, but the first kept {}, another {}; choose with \
             select or cond instead of a host branch",
            show(first),
            show(&kinds)
        );
        let stand_ins = first.iter().map(zeros).collect();
        self.fault.get_or_insert(fault);
        stand_ins
    }

    /// Which sequences have elements that results depend on; the others get no cotangent, not even zeros.
    fn used_elements(&self, count: usize) -> Vec<bool> {
        let mut used = vec![false; count];
        let mut look = |to: &Place| {
            if let Place::Element(k) = to {
                used[*k] = true;
            }
        };
        for body in &self.bodies {
            body.terms.iter().for_each(|term| term.refs(&mut look));
            body.results.iter().flatten().for_each(&mut look);
        }
        used
    }

    /// Which results have a tangent, given which values of the initial carry do: the least fixpoint.
    fn activity(&self, mut carry: Vec<bool>) -> Vec<bool> {
        loop {
            let mut active = carry.clone();
            active.resize(carry.len() + self.outputs, false);
            for body in &self.bodies {
                let mut terms: Vec<bool> = Vec::with_capacity(body.terms.len());
                let is = |to: Place, terms: &[bool]| match to {
                    Place::Carry(k) => carry[k],
                    Place::Element(_) | Place::Captured(_) => true,
                    Place::Local(k) => terms[k],
                };
                for term in &body.terms {
                    let mut any = false;
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

/// Where a body will find a value: born before the loop, it is the same in every trip.
fn slot<T: Clone>(factor: &Factor<T>, start: Id, held: &mut IndexMap<Id, T>, stacked: &mut IndexMap<Id, T>) -> Source {
    let (known, slot): (_, fn(usize) -> Source) =
        if factor.id < start { (held, Source::Held) } else { (stacked, Source::Stacked) };
    let entry = known.entry(factor.id);
    let k = entry.index();
    entry.or_insert_with(|| factor.value.clone());
    slot(k)
}

/// What a term is to the body of a trip whose local terms are `ids`; `None` for a term of another trip.
fn place<T>(
    node: &Rc<Node<T>>,
    start: Id,
    captured: &mut IndexMap<Id, Rc<Node<T>>>,
    ids: &[Id],
    arguments: &Arguments,
) -> Option<Place> {
    if node.id < start {
        return Some(Place::Captured(captured.insert_full(node.id, node.clone()).0));
    }
    if let Ok(k) = ids.binary_search(&node.id) {
        return Some(Place::Local(k));
    }
    let argument = arguments.places.binary_search_by_key(&node.id, |(id, _)| *id).ok()?;
    Some(arguments.places[argument].1)
}

/// `ADVal<T>`'s loop, by one loop of `T`.
#[track_caller]
pub(super) fn map_accum<T: BaseTensor>(
    n: usize,
    reverse: bool,
    init: Vec<ADVal<T>>,
    xs: &[ADVal<T>],
    step: Step<'_, ADVal<T>>,
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
    let (primals, tangents): (Vec<T>, Vec<_>) = init.into_iter().map(|c| (c.primal, c.node)).unzip();
    let sequences: Vec<T> = xs.iter().map(|x| x.primal.clone()).collect();
    let mut element_kinds: Vec<Kind> = Vec::new();

    let (mut finals, mut stacks) = T::map_accum(n, reverse, primals, &sequences, &mut |carry, elements| {
        let base = fresh();
        let mut places = Vec::new();
        let carry: Vec<ADVal<T>> = carry
            .into_iter()
            .map(|c| if differentiable(&c) { ADVal::variable(c) } else { ADVal::constant_of(c) })
            .collect();
        let elements: Vec<ADVal<T>> = elements
            .iter()
            .zip(xs)
            .map(|(e, x)| if x.node.is_some() { ADVal::variable(e.clone()) } else { ADVal::constant_of(e.clone()) })
            .collect();
        places.extend(carry.iter().enumerate().filter(|(_, c)| c.node.is_some()).map(|(k, c)| (c.id, Place::Carry(k))));
        places.extend(
            elements.iter().enumerate().filter(|(_, e)| e.node.is_some()).map(|(k, e)| (e.id, Place::Element(k))),
        );
        let ids = elements.iter().map(|e| e.id).collect();
        element_kinds = elements.iter().map(|e| kind(&e.primal)).collect();
        let (carry, outputs) = step(carry, &elements);
        recorder.outputs = outputs.len();
        let results: Vec<&ADVal<T>> = carry.iter().chain(&outputs).collect();
        let residuals = recorder.record(&Arguments { base, places, elements: ids }, &results);
        let outputs = outputs.into_iter().map(|y| y.primal).chain(residuals).collect();
        (carry.into_iter().map(|c| c.primal).collect(), outputs)
    });

    if let Some(fault) = recorder.fault {
        panic!("{fault}");
    }
    let residuals = stacks.split_off(recorder.outputs);
    if n == 0 {
        // No trip: what the step captured gets no cotangent, not even zeros.
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
    let term = active
        .contains(&true)
        .then(|| Rc::new(Node { id: fresh(), dtype: DType::F64, shape: None, delta: Delta::Loop(Box::new(term)) }));
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
