//! The transposed loop: cotangents are propagated in the opposite order of the trips.
//!
//! Law: the adjoint of [`super::push`]. Every captured value has one cotangent, which is accumulated in the carry.
//! Values on which no result with a cotangent depends have no cotangent, not even zeros: zero times an infinite partial
//! is NaN.

use super::super::delta::Delta;
use super::super::pull::{Cotangent, Env, Residual, Update, accumulate, accumulate_one, pull};
use super::{Body, LoopTerm, TermPlace, zeros};
use crate::base::{BaseTensor, Trip, attributed};

/// The numbers of the values that a cotangent reaches, ascending.
struct Reached {
    carry: Vec<usize>,
    captured: Vec<usize>,
    /// The sequences that have a tangent.
    elements: Vec<usize>,
}

/// The values found so far that a cotangent reaches.
struct Marks {
    results: Vec<bool>,
    captured: Vec<bool>,
    elements: Vec<bool>,
    /// Whether a carry was found, so that another iteration of the fixpoint is needed.
    more: bool,
}

impl<F, R> LoopTerm<F, R> {
    /// The transposed loop: from the cotangents of the results, carry first, to the cotangents of the initial carry, of
    /// the sequences and of captured values.
    pub(in super::super) fn pull<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        emit: &mut dyn FnMut(&'d R, Update<T>),
    ) where
        F: Residual<T>,
    {
        cts.resize_with(self.carry.len() + self.outputs.len(), || None);
        let reached = self.reached(&cts.iter().map(Option::is_some).collect::<Vec<bool>>());
        let live = &reached.carry;
        let mut init: Vec<T> =
            live.iter().map(|k| cts[*k].take().unwrap_or_else(|| zeros(&self.carry[*k].0))).collect();
        init.extend(reached.captured.iter().map(|k| zeros::<T>(&self.captured[*k].0)));

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
                &reached,
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
        for (k, ct) in reached.captured.iter().zip(captured) {
            emit(&self.captured[*k].1, Update::Add(ct));
        }
        for (to, ct) in reached.elements.iter().filter_map(|k| self.elements[*k].1.as_ref()).zip(stacks) {
            emit(to, Update::Add(ct));
        }
    }

    /// The values on which the results with a cotangent depend: the least fixpoint over the carries, over all bodies.
    fn reached(&self, seeded: &[bool]) -> Reached {
        let carried = self.carry.len();
        let mut marks = Marks {
            results: seeded.to_vec(),
            captured: vec![false; self.captured.len()],
            elements: vec![false; self.elements.len()],
            more: false,
        };
        let tangents = self.carry.iter().map(|(_, has, _)| *has).chain(self.outputs.iter().map(|(_, has)| *has));
        if seeded.iter().zip(tangents).all(|(seeded, has)| *seeded || !has) {
            // All results have cotangents, and bodies contain only terms on which some result depends.
            marks.captured.fill(true);
            marks.elements.fill(true);
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
            captured: marked(&marks.captured),
            elements: marked(&marks.elements).into_iter().filter(|k| self.elements[*k].1.is_some()).collect(),
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
            TermPlace::Carry(k) if self.carry[k].1 && !marks.results[k] => {
                marks.results[k] = true;
                marks.more = true;
            }
            TermPlace::Carry(_) => {}
        };
        results.into_iter().for_each(|to| mark(&mut terms, to, 0));
        for (k, term) in body.terms.iter().enumerate().rev() {
            let mut of = std::mem::take(&mut terms[k]);
            if of.is_empty() {
                continue;
            }
            match term {
                Delta::Output(of, index) => mark(&mut terms, *of, *index),
                Delta::Loop(l) => {
                    of.resize(l.carry.len() + l.outputs.len(), false);
                    let reached = l.reached(&of);
                    let carry = reached.carry.iter().filter_map(|k| l.carry[*k].2);
                    let captured = reached.captured.iter().map(|k| l.captured[*k].1);
                    let elements = reached.elements.iter().filter_map(|k| l.elements[*k].1);
                    carry.chain(captured).chain(elements).for_each(|to| mark(&mut terms, to, 0));
                }
                Delta::Input(_)
                | Delta::Unbounded
                | Delta::Scale(_)
                | Delta::Scale2(..)
                | Delta::Select { .. }
                | Delta::Linear(..)
                | Delta::Contract(_)
                | Delta::Reduce(_)
                | Delta::Gather(_)
                | Delta::ScatterAdd(_)
                | Delta::Concat(..)
                | Delta::Call(_)
                | Delta::Custom(_)
                | Delta::Again(_) => {
                    term.refs(&mut |to| mark(&mut terms, *to, 0));
                }
            }
        }
    }

    /// One transposed trip: `carry` consists of the cotangents of the carries that are reached, then of captured
    /// values.
    fn pull_trip<'x, T: BaseTensor>(
        &self,
        body: &Body,
        env: &Env<'_, T>,
        reached: &Reached,
        mut carry: Vec<T>,
        outputs: impl Iterator<Item = (usize, &'x T)>,
    ) -> Trip<T> {
        let live = &reached.carry;
        let mut captured: Vec<Option<T>> = self.captured.iter().map(|_| None).collect();
        reached.captured.iter().zip(carry.split_off(live.len())).for_each(|(k, ct)| captured[*k] = Some(ct));
        let mut before: Vec<Option<T>> = self.carry.iter().map(|_| None).collect();
        let mut elements: Vec<Option<T>> = self.elements.iter().map(|_| None).collect();
        let mut pending: Vec<Option<Cotangent<T>>> = body.terms.iter().map(|_| None).collect();
        let mut add = |pending: &mut Vec<Option<Cotangent<T>>>, to: TermPlace, update: Update<T>| {
            let slot = match to {
                TermPlace::Local(k) => return accumulate(&mut pending[k], update),
                TermPlace::Carry(k) => &mut before[k],
                TermPlace::Element(k) => &mut elements[k],
                TermPlace::Captured(k) => &mut captured[k],
            };
            *slot = Some(accumulate_one(slot.take(), update));
        };
        let results = live.iter().copied().zip(carry).chain(outputs.map(|(k, ct)| (k, ct.clone())));
        for (k, ct) in results {
            if let Some(to) = body.results[k] {
                add(&mut pending, to, Update::Add(ct));
            }
        }
        for (k, (term, site)) in body.terms.iter().zip(&body.sites).enumerate().rev() {
            if let Some(ct) = pending[k].take() {
                attributed::<T, _>(*site, || pull(term, env, ct, &mut |to, update| add(&mut pending, *to, update)));
            }
        }
        let mut next: Vec<T> =
            live.iter().map(|k| before[*k].take().unwrap_or_else(|| zeros(&self.carry[*k].0))).collect();
        next.extend(captured.into_iter().flatten());
        let sequence = |k: &usize| elements[*k].take().unwrap_or_else(|| zeros(&self.elements[*k].0));
        (next, reached.elements.iter().map(sequence).collect())
    }
}
