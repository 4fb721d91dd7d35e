//! While loops backwards: the transposed loop runs as many trips as the loop.
//!
//! A trip is traced once and transposed into a program; the schedule that runs trips again is a program, too
//! ([`TransposedWhile`]).
//!
//! Law: the derivative of the trips that ran. The derivative of a transposed loop `V(x, y_bar) = J(x)^T y_bar` needs no
//! stored slots: for a cotangent `u` of its result, `<u, V(x, y_bar)> = <y_bar, J(x) u>`, which is a result of the loop that
//! carries tangents with its values, at the tangent `u`. So its cotangents are those of that loop, whose carry is twice as
//! large, and so on at every order.

use std::sync::Arc;

use super::custom::{Ruled, are_some, closed, traced, trip, zeros};
use super::delta::reachable;
use super::pull::{Env, Residual, Update, reverse};
use super::{ADVal, Sweep};
use crate::base::BaseTensor;
use crate::checkpoint::{FEW, bounded};
use crate::cost::{MACHINE, tenths};
use crate::interpreters::guarded::{self, Care};
use crate::ops::Binary;
use crate::passes::optimize;
use crate::program::repeat::PairedLoop;
use crate::program::transposed_while::{TransposedWhile, Transposition};
use crate::program::{Custom, CustomKind, Derivative, Program, Taking, Term, valid_by_construction};

/// The trips of a while loop, for its derivative.
pub(super) enum WhileTrips {
    /// The transposed loop runs the trips that ran.
    Long,
    /// A loop of this number of trips takes its part: to store all is cheaper there than to run a trip again.
    AtMost(usize),
}

/// The trips of a function, if it is a while loop.
pub(super) fn trips_of(rule: &Custom) -> Option<WhileTrips> {
    let CustomKind::While { most } = rule.kind() else { return None };
    Some(most.filter(|most| *most <= FEW).map_or(WhileTrips::Long, WhileTrips::AtMost))
}

/// A trip of a while loop at dual numbers, and which of its arguments move in some trip.
struct TracedTrip {
    moving: Vec<bool>,
    x: Vec<Term>,
    sweep: Sweep<Term>,
    y: Vec<ADVal<Term>>,
}

impl TracedTrip {
    /// The least fixpoint of the marks over the carry.
    fn of(body: &Program, mut moving: Vec<bool>) -> TracedTrip {
        loop {
            let (x, sweep, y) = traced(body, &moving);
            let new: Vec<usize> = (0..y.len()).filter(|k| y[*k].node.is_some() && !moving[*k]).collect();
            if new.is_empty() {
                return TracedTrip { moving, x, sweep, y };
            }
            new.into_iter().for_each(|k| moving[k] = true);
        }
    }

    /// The cotangents of the arguments from those of the marked values of the carry: `None` where there is nothing to send.
    fn pull(&self, marks: &[bool], y_bar: &[Term]) -> Vec<Option<Term>> {
        let (mut seeds, mut nodes, mut cts) = (Vec::new(), Vec::new(), y_bar.iter());
        for (y, _) in self.y.iter().zip(marks).filter(|(_, marked)| **marked) {
            if let (Some(node), Some(ct)) = (&y.node, cts.next()) {
                seeds.push((node, ct.clone()));
                nodes.push(Some(node.clone()));
            }
        }
        // A cotangent of one trip reaches all earlier ones.
        let care = reachable(&nodes, self.sweep.first).iter().map(|node| node.delta.care()).max().unwrap_or_default();
        let ids: Vec<_> = self.sweep.inputs.iter().filter_map(|(id, _)| *id).collect();
        // A trip depends on its arguments alone.
        let (found, _) = valid_by_construction(reverse(seeds, self.sweep.first, &ids, &[], (false, care)));
        let mut found = found.into_iter();
        let one = |moves: &bool| if *moves { found.next().flatten().map(|ct| ct.dense()) } else { None };
        self.moving.iter().map(one).collect()
    }

    /// The arguments that a cotangent of the given results reaches, in some trip.
    fn reached(&self, given: &[bool]) -> Vec<bool> {
        let mut marks: Vec<bool> =
            self.moving.iter().enumerate().map(|(k, m)| *m && given.get(k) == Some(&true)).collect();
        loop {
            let found = self.pull(&marks, &self.cotangents(&marks));
            let new: Vec<usize> = (0..found.len()).filter(|k| found[*k].is_some() && !marks[*k]).collect();
            let more = new.iter().any(|k| *k < self.y.len());
            new.into_iter().for_each(|k| marks[k] = true);
            if !more {
                return marks;
            }
        }
    }

    /// A cotangent for each marked value of the carry.
    fn cotangents(&self, marks: &[bool]) -> Vec<Term> {
        let marked = self.y.iter().zip(marks).filter(|(_, marked)| **marked);
        marked.map(|(y, _)| Term::variable(y.shape(), y.dtype())).collect()
    }

    /// The transposed trip: see [`TransposedWhile::back`].
    fn back(&self, marks: &[bool]) -> Program {
        let y_bar = self.cotangents(marks);
        let carried = self.y.len();
        let like = |k: usize| (self.x[k].shape(), self.x[k].dtype());
        // The sum so far for each marked value that is captured.
        let sum = |k: usize| (k >= carried && marks[k]).then(|| Term::variable(like(k).0, like(k).1));
        let sums: Vec<Option<Term>> = (0..marks.len()).map(sum).collect();
        let mut next = Vec::new();
        for (k, ct) in self.pull(marks, &y_bar).into_iter().enumerate().filter(|(k, _)| marks[*k]) {
            next.push(match (&sums[k], ct) {
                (Some(sum), Some(ct)) => sum.binary(Binary::Add, &ct),
                (Some(sum), None) => sum.clone(),
                (None, Some(ct)) => ct,
                (None, None) => Term::zeros(like(k).0, like(k).1),
            });
        }
        let sums: Vec<Term> = sums.into_iter().flatten().collect();
        closed(&[&self.x[..], &y_bar, &sums].concat(), &next)
    }
}

/// How many trips are transposed together: they take much longer than the step of the schedule around them. The bound of the loop is a multiple of the number.
fn trips_at_once(rule: &Custom) -> usize {
    let (mut count, time) = (1, rule.primal().estimate().time.max(1));
    let most = if let CustomKind::While { most } = rule.kind() { most.unwrap_or(0) } else { 0 };
    while count < TRIPS_AT_ONCE && time * (count as u64) < tenths(MACHINE.trips_at_once) && most % (2 * count) == 0 {
        count *= 2;
    }
    count
}

/// The largest number of trips that are transposed together: as many run in vain after the last one.
const TRIPS_AT_ONCE: usize = 16;

/// The program of several trips, which keep the carry after the loop has ended.
fn trips(trip: &Program, count: usize) -> Program {
    if count > 1 { optimize(&bounded(trip, count)) } else { trip.clone() }
}

/// The transposed function of a while loop, for the arguments that have a tangent and the results that have a cotangent.
fn transposed(rule: &Arc<Custom>, moving: &[bool], given: &[bool]) -> Arc<Custom> {
    let which = Derivative::Transposed { moving: moving.to_vec(), given: given.to_vec() };
    let taking = rule.derived(which, || {
        let count = trips_at_once(rule);
        let traced = TracedTrip::of(&trips(rule.primal(), count), moving.to_vec());
        let marks = traced.reached(given);
        let back = traced.back(&marks);
        // Not the loop itself, which keeps the function: neither would ever be freed.
        let of = Arc::new(rule.with_primal(rule.primal().clone()));
        let function = Transposition { of, count, back, marks }.function(&trips);
        let primal = optimize(function.primal());
        Taking { rule: Arc::new(function.with_primal(primal)), takes: Vec::new(), steep: false }
    });
    taking.rule
}

/// The cotangents of the arguments of a while loop from those of its results; `None` for those that none reaches.
fn cotangents<T: BaseTensor>(rule: &Arc<Custom>, args: &[T], moving: &[bool], cts: Vec<Option<T>>) -> Vec<Option<T>> {
    let back = transposed(rule, moving, &are_some(&cts));
    let Some(TransposedWhile { marks, takes, .. }) = back.transposed_while() else {
        unreachable!("it is a transposed loop")
    };
    if !marks.contains(&true) {
        return vec![None; args.len()];
    }
    let mut inputs = args.to_vec();
    for ((ct, slot), _) in cts.into_iter().zip(rule.primal().outputs()).zip(marks).filter(|(_, marked)| **marked) {
        inputs.push(ct.unwrap_or_else(|| zeros(slot)));
    }
    let mut taken = takes.iter();
    inputs.retain(|_| taken.next() == Some(&true));
    let mut results = T::custom(&back, &inputs).into_iter();
    marks.iter().map(|marked| if *marked { results.next() } else { None }).collect()
}

/// The marked positions get the values, in order.
fn spread<X>(marks: &[bool], values: impl IntoIterator<Item = Option<X>>) -> Vec<Option<X>> {
    let mut values = values.into_iter();
    marks.iter().map(|marked| if *marked { values.next().flatten() } else { None }).collect()
}

impl<F, R> Ruled<F, R> {
    /// The cotangents of the arguments of a while loop.
    pub(super) fn pull_while<'d, T: BaseTensor>(
        &'d self,
        env: &Env<'_, T>,
        mut cts: Vec<Option<T>>,
        (care, emit): (Care, &mut dyn FnMut(&'d R, Update<T>)),
    ) where
        F: Residual<T>,
    {
        cts.resize_with(self.rule().primal().outputs().len(), || None);
        let given: Vec<T> = cts.iter().flatten().cloned().collect();
        let found = cotangents(self.rule(), &self.known(env), &are_some(self.to()), cts);
        self.emit_some(&given, found, (care, emit));
    }

    /// The cotangents of the arguments of a transposed while loop: those of the loop, and the cotangents of its results.
    pub(super) fn pull_transposed_while<'d, T: BaseTensor>(
        &'d self,
        parts: &TransposedWhile,
        env: &Env<'_, T>,
        cts: Vec<Option<T>>,
        (care, emit): (Care, &mut dyn FnMut(&'d R, Update<T>)),
    ) where
        F: Residual<T>,
    {
        let given: Vec<T> = cts.iter().flatten().cloned().collect();
        let (slots, carried) = (parts.of.primal().inputs(), parts.of.primal().outputs().len());
        // The function does not depend on an argument that it does not take, so any will do.
        let mut x = spread(&parts.takes, self.known(env).into_iter().map(Some));
        let y_bar = x.split_off(slots.len());
        let x: Vec<T> = x.into_iter().zip(slots).map(|(x, slot)| x.unwrap_or_else(|| zeros(slot))).collect();
        let mut to = spread(&parts.takes, self.to().iter().map(|to| Some(to.is_some())));
        let of_y_bar = to.split_off(slots.len());
        // The tangents at the marked arguments are the cotangents of the results.
        let dots = spread(&parts.marks, spread(&parts.gives, cts));
        let key = |moving, steep| Derivative::Pushed { moving, steep };
        let paired = PairedLoop::of(&parts.of, key, (are_some(&dots), care == Care::Rows), &trip);
        let arguments = paired.arguments(x.into_iter().zip(dots).collect());
        let positions = paired.positions();
        let mut found: Vec<Option<T>> = vec![None; slots.len()];
        let values: Vec<usize> = (0..carried).filter(|k| parts.marks[*k]).collect();
        if to.contains(&Some(true)) {
            let mut moving = vec![false; arguments.len()];
            positions.iter().zip(to).for_each(|((at, _), to)| moving[*at] = to == Some(true));
            // The results are the carry; the tangents of its values come at the same positions in both.
            let mut cts: Vec<Option<T>> = vec![None; paired.rule.primal().outputs().len()];
            for (k, y_bar) in values.iter().zip(y_bar) {
                if let (_, Some(at)) = positions[*k] {
                    cts[at] = y_bar;
                }
            }
            let of_both = cotangents(&paired.rule, &arguments, &moving, cts);
            positions.iter().zip(&mut found).for_each(|((at, _), found)| found.clone_from(&of_both[*at]));
        }
        match of_y_bar.contains(&Some(true)) {
            true => {
                let results = paired.results(&arguments);
                found.extend(values.iter().map(|k| results[*k].1.clone()));
            }
            false => found.resize(parts.takes.len(), None),
        }
        let mut taken = parts.takes.iter();
        found.retain(|_| taken.next() == Some(&true));
        self.emit_some(&given, found, (care, emit));
    }

    /// Sends the cotangents of the arguments that there are.
    fn emit_some<'d, T: BaseTensor>(
        &'d self,
        given: &[T],
        found: Vec<Option<T>>,
        (care, emit): (Care, &mut dyn FnMut(&'d R, Update<T>)),
    ) {
        let (mut to, mut cts) = (Vec::new(), Vec::new());
        for (at, ct) in self.to().iter().zip(found) {
            if let (Some(at), Some(ct)) = (at, ct) {
                to.push(at);
                cts.push(ct);
            }
        }
        for (to, ct) in to.into_iter().zip(guarded::of_rule(given, cts, care)) {
            emit(to, Update::Add(ct));
        }
    }
}
