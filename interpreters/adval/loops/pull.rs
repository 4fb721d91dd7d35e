//! The transposed loop: cotangents are propagated in the opposite order of the trips.
//!
//! Law: the adjoint of [`super::push`]. Every captured value has one cotangent, which is accumulated in the carry.
//! Values on which no result with a cotangent depends have no cotangent, not even zeros: zero times an infinite partial
//! is NaN.

use super::super::checkpointed_call::RerunCode;
use super::super::delta::{Coefficient, Delta};
use super::super::pull::{Cotangent, Env, Residual, Update, accumulate, accumulate_one, codes, pull, values};
use super::record::Evaluation;
use super::{Body, LoopForm, LoopTerm, TermPlace, or_zeros, zeros};
use crate::base::{BaseTensor, Trip};
use crate::interpreters::guarded::Care;

/// The numbers of the values that a cotangent reaches, ascending.
struct Reached {
    carry: Vec<usize>,
    /// For each carry, whether a trip reads it on the way to a result with a cotangent: if none does, its initial value
    /// has no cotangent.
    read: Vec<bool>,
    captured: Vec<usize>,
    /// The sequences that have a tangent.
    elements: Vec<usize>,
}

/// The values found so far that a cotangent reaches.
struct Marks {
    results: Vec<bool>,
    read: Vec<bool>,
    captured: Vec<bool>,
    elements: Vec<bool>,
    /// Whether a carry was found, so that another iteration of the fixpoint is needed.
    more: bool,
}

/// The cotangents that are pending in a transposed trip.
struct TripCotangents<T> {
    terms: Vec<Option<Cotangent<T>>>,
    carry: Vec<Option<T>>,
    elements: Vec<Option<T>>,
    captured: Vec<Option<T>>,
}

impl<T: BaseTensor> TripCotangents<T> {
    fn add(&mut self, to: TermPlace, update: Update<T>) {
        let slot = match to {
            TermPlace::Local(k) => return accumulate(&mut self.terms[k], update),
            TermPlace::Carry(k) => &mut self.carry[k],
            TermPlace::Element(k) => &mut self.elements[k],
            TermPlace::Captured(k) => &mut self.captured[k],
        };
        *slot = Some(accumulate_one(slot.take(), update));
    }
}

fn none<X>(count: usize) -> Vec<Option<X>> {
    let mut none = Vec::new();
    none.resize_with(count, || None);
    none
}

impl<F: Coefficient, R> LoopTerm<F, R> {
    /// The transposed loop: from the cotangents of the results, carry first, to the cotangents of the initial carry, of
    /// the sequences and of captured values.
    pub(in super::super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        cts: Vec<Option<T>>,
        care: Care,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        let (reached, [carry, captured, elements]) = self.form.pull(
            (&values(&self.held, env), &codes::<_, F>(&self.codes, env)),
            values(&self.sequences, env),
            cts,
            care,
        );
        for (k, ct) in reached.carry.iter().zip(carry) {
            if let Some(to) = self.carry[*k].as_ref().filter(|_| reached.read[*k]) {
                emit(to, Update::Add(ct));
            }
        }
        for (k, ct) in captured.into_iter().enumerate() {
            emit(&self.captured[reached.captured[k]], Update::Add(ct));
        }
        for (k, ct) in elements.into_iter().enumerate() {
            if let Some(to) = &self.elements[reached.elements[k]] {
                emit(to, Update::Add(ct));
            }
        }
    }
}

impl LoopForm {
    /// The transposed loop, at values held and sequences of residuals and factors: what the cotangents of the results
    /// reach, and the cotangents of the initial carry, of captured values and of the sequences.
    fn pull<T: BaseTensor>(
        &self,
        (held, codes): (&[T], &[RerunCode]),
        mut xs: Vec<T>,
        mut cts: Vec<Option<T>>,
        care: Care,
    ) -> (Reached, [Vec<T>; 3]) {
        // A cotangent of one trip reaches all earlier ones.
        let care = care.max(self.care());
        cts.resize_with(self.carry.len() + self.outputs.len(), || None);
        let mut seeded = Vec::with_capacity(cts.len());
        for ct in &cts {
            seeded.push(ct.is_some());
        }
        let reached = self.reached(&seeded);
        let mut init = Vec::new();
        for k in &reached.carry {
            init.push(or_zeros(cts[*k].take(), &self.carry[*k].0));
        }
        for k in &reached.captured {
            init.push(zeros(&self.captured[*k]));
        }
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
            let body = self.body(self.n.checked_sub(calls));
            let (stacked, x) = x.split_at(self.residuals);
            let (elements, cts) = x.split_at(self.factors);
            self.pull_trip((body, care), &Env { held, stacked, elements, codes }, &reached, carry, (&seeds, cts))
        };
        let evaluation = Evaluation::start();
        let (mut carry, elements) = T::map_accum(self.n, !self.reverse, init, &xs, &mut step);
        drop(evaluation);
        let captured = carry.split_off(reached.carry.len());
        (reached, [carry, captured, elements])
    }

    /// The values on which the results with a cotangent depend: the least fixpoint over the carries, over all bodies.
    fn reached(&self, seeded: &[bool]) -> Reached {
        let carried = self.carry.len();
        let mut marks = Marks {
            results: seeded.to_vec(),
            // Without trips, the initial carry is the result.
            read: vec![self.n == 0; carried],
            captured: vec![false; self.captured.len()],
            elements: vec![false; self.elements.len()],
            more: false,
        };
        let tangents = self.carry.iter().chain(&self.outputs).map(|(_, has)| *has);
        if seeded.iter().zip(tangents).all(|(seeded, has)| *seeded || !has) {
            // All results have cotangents, and bodies contain only terms on which some result depends.
            marks.captured.fill(true);
            marks.elements.fill(true);
            for body in &self.bodies {
                let mut read = |to: &TermPlace| {
                    if let TermPlace::Carry(k) = to {
                        marks.read[*k] = true;
                    }
                };
                body.results.iter().flatten().for_each(&mut read);
                body.terms.iter().for_each(|term| term.refs(&mut read));
            }
        } else {
            loop {
                self.bodies.iter().for_each(|body| self.mark(body, &mut marks));
                if !std::mem::take(&mut marks.more) {
                    break;
                }
            }
        }
        let marked = |marks: &[bool]| (0..marks.len()).filter(|k| marks[*k]).collect::<Vec<usize>>();
        Reached {
            carry: marked(&marks.results[..carried]).into_iter().filter(|k| self.carry[*k].1).collect(),
            read: marks.read,
            captured: marked(&marks.captured),
            elements: marked(&marks.elements).into_iter().filter(|k| self.elements[*k].1).collect(),
        }
    }

    /// Marks the values on which the marked results of a trip depend.
    fn mark(&self, body: &Body, marks: &mut Marks) {
        let results = body.results.iter().zip(&marks.results).filter(|(_, marked)| **marked);
        let results: Vec<TermPlace> = results.filter_map(|(to, _)| *to).collect();
        // The marked results of each term.
        let mut terms: Vec<Vec<bool>> = vec![Vec::new(); body.terms.len()];
        let mut mark = |terms: &mut Vec<Vec<bool>>, to: TermPlace, result: usize| match to {
            TermPlace::Local(k) => {
                let length = terms[k].len().max(result + 1);
                terms[k].resize(length, false);
                terms[k][result] = true;
            }
            TermPlace::Captured(k) => marks.captured[k] = true,
            TermPlace::Element(k) => marks.elements[k] = true,
            TermPlace::Carry(k) => {
                marks.read[k] = true;
                if self.carry[k].1 && !marks.results[k] {
                    marks.results[k] = true;
                    marks.more = true;
                }
            }
        };
        results.into_iter().for_each(|to| mark(&mut terms, to, 0));
        for (k, term) in body.terms.iter().enumerate().rev() {
            let mut of = std::mem::take(&mut terms[k]);
            if of.is_empty() {
                continue;
            }
            if let Delta::Output(of, index) = term {
                mark(&mut terms, *of, *index);
            } else if let Delta::Loop(l) = term {
                of.resize(l.form.carry.len() + l.form.outputs.len(), false);
                let reached = l.form.reached(&of);
                let carry = reached.carry.iter().filter(|k| reached.read[**k]).filter_map(|k| l.carry[*k]);
                let captured = reached.captured.iter().map(|k| l.captured[*k]);
                let elements = reached.elements.iter().filter_map(|k| l.elements[*k]);
                carry.chain(captured).chain(elements).for_each(|to| mark(&mut terms, to, 0));
            } else {
                term.refs(&mut |to| mark(&mut terms, *to, 0));
            }
        }
    }

    /// One transposed trip: `carry` consists of the cotangents of the carries that are reached, then of captured
    /// values; outputs have these positions and cotangents.
    fn pull_trip<T: BaseTensor>(
        &self,
        (body, care): (&Body, Care),
        env: &Env<'_, T>,
        reached: &Reached,
        mut carry: Vec<T>,
        (seeds, cts): (&[usize], &[T]),
    ) -> Trip<T> {
        let live = &reached.carry;
        let mut found = TripCotangents {
            terms: none(body.terms.len()),
            carry: none(self.carry.len()),
            elements: none(self.elements.len()),
            captured: none(self.captured.len()),
        };
        for (k, ct) in carry.split_off(live.len()).into_iter().enumerate() {
            found.captured[reached.captured[k]] = Some(ct);
        }
        for (k, ct) in carry.into_iter().enumerate() {
            if let Some(to) = body.results[live[k]] {
                found.add(to, Update::Add(ct));
            }
        }
        for (k, ct) in cts.iter().enumerate() {
            if let Some(to) = body.results[seeds[k]] {
                found.add(to, Update::Add(ct.clone()));
            }
        }
        for k in (0..body.terms.len()).rev() {
            if let Some(ct) = found.terms[k].take() {
                let before = T::attribute(body.sites[k].clone());
                pull(&body.terms[k], env, ct, care, &mut |to, update| found.add(*to, update));
                T::attribute(before);
            }
        }
        let (mut next, mut elements) = (Vec::new(), Vec::new());
        for k in live {
            next.push(or_zeros(found.carry[*k].take(), &self.carry[*k].0));
        }
        for k in &reached.captured {
            next.push(or_zeros(found.captured[*k].take(), &self.captured[*k]));
        }
        for k in &reached.elements {
            elements.push(or_zeros(found.elements[*k].take(), &self.elements[*k].0));
        }
        (next, elements)
    }
}
