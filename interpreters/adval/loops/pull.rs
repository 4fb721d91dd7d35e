//! The transposed loop: cotangents flow against the order of the trips.
//!
//! Law: the adjoint of [`super::push`]. Every captured value has one cotangent, which is part of the carry and is added
//! up.

use super::super::pull::{Cotangent, Env, Residual, Update, accumulate, accumulate_one, pull};
use super::{Body, LoopTerm, Place, zeros};
use crate::base::{BaseTensor, Trip, attributed};

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

    /// One transposed trip: `carry` consists of the cotangents of the live carry, then of captured values.
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
        for (k, (term, site)) in body.terms.iter().zip(&body.sites).enumerate().rev() {
            if let Some(ct) = pending[k].take() {
                attributed::<T, _>(*site, || pull(term, env, ct, &mut |to, update| add(&mut pending, *to, update)));
            }
        }
        let mut next: Vec<T> =
            live.iter().map(|k| before[*k].take().unwrap_or_else(|| zeros(&self.carry[*k].0))).collect();
        next.extend(captured.into_iter().flatten());
        let sequences = self.elements.iter().zip(elements).filter(|((_, to), _)| to.is_some());
        (next, sequences.map(|((kind, _), ct)| ct.unwrap_or_else(|| zeros(kind))).collect())
    }
}
