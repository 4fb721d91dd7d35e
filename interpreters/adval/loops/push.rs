//! The tangent loop: tangents are propagated in the order of the trips.
//!
//! Law: the derivative of the recorded loop, from the same bodies that [`super::pull`] transposes.

use super::super::checkpointed_call::RerunCode;
use super::super::delta::Coefficient;
use super::super::pull::{Env, Residual, codes, values};
use super::super::push::{TangentTable, TermTangents, push};
use super::record::Evaluation;
use super::{Body, Kind, LoopForm, LoopTerm, TermPlace, or_zeros};
use crate::base::BaseTensor;
use crate::interpreters::guarded::Care;

/// Tangents of the references of a loop; `None` for known zeros.
struct Tangents<T> {
    carry: Vec<Option<T>>,
    elements: Vec<Option<T>>,
    captured: Vec<Option<T>>,
}

impl<F: Coefficient, R> LoopTerm<F, R> {
    /// The tangent loop: from the tangents of the references, given by `of`, to the tangents of the results, carry
    /// first.
    pub(in super::super) fn push<T: BaseTensor>(
        &self,
        env: &Env<'_, T>,
        care: Care,
        of: &mut dyn FnMut(&R, usize) -> Option<T>,
    ) -> TermTangents<T>
    where
        F: Residual<T>,
    {
        let mut tangents = Tangents { carry: Vec::new(), elements: Vec::new(), captured: Vec::new() };
        for (to, found) in [(&self.carry, &mut tangents.carry), (&self.elements, &mut tangents.elements)] {
            for to in to {
                found.push(to.as_ref().and_then(|to| of(to, 0)));
            }
        }
        for to in &self.captured {
            tangents.captured.push(of(to, 0));
        }
        let care = if self.form.is_steep() { Care::Rows } else { care };
        self.form.push(
            (&values(&self.held, env), &codes::<_, F>(&self.codes, env)),
            values(&self.sequences, env),
            tangents,
            care,
        )
    }
}

impl LoopForm {
    /// The tangent loop, at values held and sequences of residuals and factors.
    fn push<T: BaseTensor>(
        &self,
        (held, codes): (&[T], &[RerunCode]),
        mut xs: Vec<T>,
        tangents: Tangents<T>,
        care: Care,
    ) -> TermTangents<T> {
        let (live, active) = (self.live(), self.active());
        let uses: Vec<Vec<usize>> = self.bodies.iter().map(|body| self.uses(body, &active)).collect();
        let Tangents { carry, elements, captured } = tangents;
        let (mut init, mut moving) = (Vec::new(), Vec::new());
        for (k, t) in carry.into_iter().enumerate() {
            if self.carry[k].1 {
                init.push(or_zeros(t, &self.carry[k].0));
            }
        }
        for (k, t) in elements.into_iter().enumerate() {
            if let Some(t) = t {
                moving.push(k);
                xs.push(t);
            }
        }
        let mut calls = 0;
        let _evaluation = Evaluation::start();
        let (finals, stacks) = T::map_accum(self.n, self.reverse, init, &xs, &mut |carry, x| {
            let which = self.which.get(calls).map_or(0, |which| *which);
            calls += 1;
            let (stacked, x) = x.split_at(self.residuals);
            let (factors, elements) = x.split_at(self.factors);
            let mut table = TangentTable::new(uses[which].clone());
            for (k, t) in carry.into_iter().enumerate() {
                table.set(self.at(TermPlace::Carry(live[k])), t);
            }
            for (k, t) in elements.iter().enumerate() {
                table.set(self.at(TermPlace::Element(moving[k])), t.clone());
            }
            for (k, t) in captured.iter().enumerate() {
                if let Some(t) = t {
                    table.set(self.at(TermPlace::Captured(k)), t.clone());
                }
            }
            let body = &self.bodies[which];
            self.push_trip((body, care), &Env { held, stacked, elements: factors, codes }, &mut table);
            let mut next = Vec::with_capacity(active.len());
            for (k, kind) in &active {
                let found = body.results[*k].and_then(|to| table.take(self.at(to), 0));
                next.push(or_zeros(found, kind));
            }
            let outputs = next.split_off(live.len());
            (next, outputs)
        });
        let mut tangents = TermTangents::new();
        tangents.resize_with(self.carry.len() + self.outputs.len(), || None);
        for (k, t) in finals.into_iter().enumerate() {
            tangents[active[k].0] = Some(t);
        }
        for (k, t) in stacks.into_iter().enumerate() {
            tangents[active[live.len() + k].0] = Some(t);
        }
        tangents
    }

    /// The tangents of the terms of a trip.
    fn push_trip<T: BaseTensor>(&self, (body, care): (&Body, Care), env: &Env<'_, T>, table: &mut TangentTable<T>) {
        for (k, term) in body.terms.iter().enumerate() {
            let before = T::attribute(body.sites[k].clone());
            let tangents = push(term, env, care, &mut |to: &TermPlace, i| table.take(self.at(*to), i));
            T::attribute(before);
            table.set_all(self.at(TermPlace::Local(k)), tangents);
        }
    }

    /// The results with a tangent, and their kinds.
    fn active(&self) -> Vec<(usize, &Kind)> {
        let results = self.carry.iter().chain(&self.outputs).enumerate();
        results.filter(|(_, (_, has))| *has).map(|(k, (kind, _))| (k, kind)).collect()
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
