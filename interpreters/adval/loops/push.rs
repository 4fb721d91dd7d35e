//! The tangent loop: tangents are propagated in the order of the trips.
//!
//! Law: the derivative of the recorded loop, from the same bodies that [`super::pull`] transposes.

use super::super::pull::{Env, Residual};
use super::super::push::{TangentTable, TermTangents, push};
use super::{Body, Kind, LoopTerm, TermPlace, zeros};
use crate::base::{BaseTensor, attributed};

impl<F, R> LoopTerm<F, R> {
    /// The tangent loop: from the tangents of the references, given by `of`, to the tangents of the results, carry
    /// first.
    pub(in super::super) fn push<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
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
        // The results with a tangent, and their kinds.
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
            let mut table = TangentTable::new(uses[which].clone());
            live.iter().zip(carry).for_each(|(k, t)| table.set(self.at(TermPlace::Carry(*k)), t));
            moving.iter().zip(elements).for_each(|(k, t)| table.set(self.at(TermPlace::Element(*k)), t.clone()));
            for (k, t) in captured.iter().enumerate() {
                t.iter().for_each(|t| table.set(self.at(TermPlace::Captured(k)), t.clone()));
            }
            let body = &self.bodies[which];
            let env = Env { held: &held, stacked, elements: factors };
            for (k, (term, site)) in body.terms.iter().zip(&body.sites).enumerate() {
                let mut of = |to: &TermPlace, i| table.take(self.at(*to), i);
                let tangents = attributed::<T, _>(*site, || push(term, &env, &mut of));
                table.set_all(self.at(TermPlace::Local(k)), tangents);
            }
            let result = |(k, kind): &(usize, &Kind)| {
                body.results[*k].and_then(|to| table.take(self.at(to), 0)).unwrap_or_else(|| zeros(kind))
            };
            let mut next: Vec<T> = active.iter().map(result).collect();
            let outputs = next.split_off(live.len());
            (next, outputs)
        });
        let mut tangents: TermTangents<T> = (0..carried + self.outputs.len()).map(|_| None).collect();
        active.iter().zip(finals.into_iter().chain(stacks)).for_each(|((k, _), t)| tangents[*k] = Some(t));
        tangents
    }

    /// The position of the tangent of a reference in the table of a trip.
    fn at(&self, place: TermPlace) -> usize {
        let (carry, elements, captured) = (self.carry.len(), self.elements.len(), self.captured.len());
        match place {
            TermPlace::Carry(k) => k,
            TermPlace::Element(k) => carry + k,
            TermPlace::Captured(k) => carry + elements + k,
            TermPlace::Local(k) => carry + elements + captured + k,
        }
    }

    /// The number of uses of each tangent of a trip.
    fn uses(&self, body: &Body, active: &[(usize, &Kind)]) -> Vec<usize> {
        let mut uses = vec![0; self.at(TermPlace::Local(body.terms.len()))];
        body.terms.iter().for_each(|term| term.refs(&mut |to| uses[self.at(*to)] += 1));
        active.iter().filter_map(|(k, _)| body.results[*k]).for_each(|to| uses[self.at(to)] += 1);
        uses
    }
}
