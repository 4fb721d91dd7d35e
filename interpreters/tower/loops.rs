//! Loops of values of several levels.
//!
//! A step may capture values of higher levels than those of the operands of the loop, so the levels at which a loop runs
//! are not those of its operands. They are a plan, made once: a loop of the highest level, whose primal values are a loop
//! of the next level, down to a loop of `T`. Law: a loop has the results of its trips, one after the other.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::super::{ADVal, Dual, adval};
use super::sweep::{running, running_levels};
use super::{Level, OneLevel, Tower, at, bases, escaped, highest, of_all, outside, raised};
use crate::array::Array;
use crate::base::{BaseTensor, Trip, TripFn};

/// The levels at which a loop runs, ascending.
struct LoopPlan {
    levels: Vec<Level>,
    /// Whether a trip had a result of another level, which the loop has dropped.
    misses: Cell<bool>,
}

thread_local! {
    /// The plan of the next loop, which is the loop of the lower levels within a loop of a higher one.
    static PLAN: RefCell<Option<(Rc<LoopPlan>, usize)>> = const { RefCell::new(None) };
}

/// Forgets the plan when its loop has run, or has failed before.
struct PlannedLoop;

impl PlannedLoop {
    fn start(plan: (Rc<LoopPlan>, usize)) -> Self {
        PLAN.replace(Some(plan));
        PlannedLoop
    }
}

impl Drop for PlannedLoop {
    fn drop(&mut self) {
        PLAN.take();
    }
}

/// A loop: the number of trips, whether it is reversed, the initial carry, and the sequences.
pub(super) type LoopOperands<'a, T> = (usize, bool, Vec<Tower<T>>, &'a [Tower<T>]);

/// A loop of one level, over loops of the lower levels of the plan.
#[track_caller]
fn looped<T: BaseTensor, V: OneLevel<T>>(
    level: Level,
    (n, reverse, init, xs): LoopOperands<'_, T>,
    lower: (Rc<LoopPlan>, usize),
    step: TripFn<'_, Tower<T>>,
) -> Trip<Tower<T>> {
    let (init, xs) = (raised::<T, V>(&init, level), raised::<T, V>(xs, level));
    let _planned = PlannedLoop::start(lower);
    let (last, stacks) = V::map_accum(n, reverse, init, &xs, &mut |carry, elements| {
        let (carry, outputs) = step(outside(carry, level), &outside(elements.to_vec(), level));
        (raised(&carry, level), raised(&outputs, level))
    });
    (outside(last, level), outside(stacks, level))
}

/// A loop of `T`.
#[track_caller]
fn looped_at_base<T: BaseTensor>(
    (n, reverse, init, xs): LoopOperands<'_, T>,
    step: TripFn<'_, Tower<T>>,
) -> Trip<Tower<T>> {
    let init = init.into_iter().map(Tower::into_base).collect();
    let (last, stacks) = T::map_accum(n, reverse, init, &bases(xs), &mut |carry, elements| {
        let (carry, outputs) = step(of_all(carry), &of_all(elements.to_vec()));
        (carry.into_iter().map(Tower::into_base).collect(), outputs.into_iter().map(Tower::into_base).collect())
    });
    (of_all(last), of_all(stacks))
}

/// A loop at the first `count` levels of a plan.
#[track_caller]
fn looped_by_plan<T: BaseTensor>(
    (plan, count): (Rc<LoopPlan>, usize),
    operands: LoopOperands<'_, T>,
    step: TripFn<'_, Tower<T>>,
) -> Trip<Tower<T>> {
    let level = count.checked_sub(1).map_or(Level::Base, |top| plan.levels[top]);
    let lower = |values: Vec<Tower<T>>| {
        if highest(&values).number() <= level.number() {
            return values;
        }
        plan.misses.set(true);
        values.iter().map(|v| v.lowered(level).clone()).collect()
    };
    let mut within = |carry: Vec<Tower<T>>, elements: &[Tower<T>]| {
        let (carry, outputs) = step(carry, elements);
        (lower(carry), lower(outputs))
    };
    let rest = (plan.clone(), count.saturating_sub(1));
    at!(level, looped_at_base(operands, &mut within), looped(operands, rest, &mut within))
}

/// The levels of values, ascending.
fn levels<'a, T: BaseTensor>(values: impl IntoIterator<Item = &'a Tower<T>>) -> Vec<Level> {
    let mut levels = Vec::new();
    values.into_iter().for_each(|v| v.collect_levels(&mut levels));
    levels.sort_unstable_by_key(|level| level.number());
    levels
}

/// The levels of the operands, and of the results of the first trip, in which captured values may have taken part.
#[track_caller]
fn levels_of_trip<T: BaseTensor>(
    (n, reverse, init, xs): LoopOperands<'_, T>,
    step: TripFn<'_, Tower<T>>,
) -> Vec<Level> {
    let at = Tower::constant(Array::scalar(if reverse { n as i64 - 1 } else { 0 }));
    let elements: Vec<Tower<T>> = xs.iter().map(|x| x.gather(std::slice::from_ref(&at))).collect();
    let (carry, outputs) = step(init.clone(), &elements);
    levels(init.iter().chain(xs).chain(&carry).chain(&outputs))
}

/// A loop whose step may capture values of higher levels than those of the operands. It runs at the levels that its
/// first trip shows. If a later trip has another level, since the host language chooses differently there, the loop runs
/// again, at all levels that run. Where operations are recorded, no trip is recorded for its levels alone: what a level
/// does not need is not part of the program that remains. Nor does a trip run for its levels in the loop of a term of
/// reverse mode, which counts its trips, and where the operands have all levels that run.
#[track_caller]
fn looped_at_levels<T: BaseTensor>(
    (n, reverse, init, xs): LoopOperands<'_, T>,
    step: TripFn<'_, Tower<T>>,
) -> Trip<Tower<T>> {
    let by = |levels: Vec<Level>| {
        let count = levels.len();
        (Rc::new(LoopPlan { levels, misses: Cell::new(false) }), count)
    };
    let all = running_levels();
    if !T::records() && !adval::counts_trips() && levels(init.iter().chain(xs)) != all {
        let found = levels_of_trip((n, reverse, init.clone(), xs), step);
        if found != all {
            let plan = by(found);
            let results = looped_by_plan(plan.clone(), (n, reverse, init.clone(), xs), step);
            if !plan.0.misses.get() {
                return results;
            }
        }
    }
    let plan = by(all);
    let results = looped_by_plan(plan.clone(), (n, reverse, init, xs), step);
    if plan.0.misses.get() { escaped() } else { results }
}

/// The loop of [`BaseTensor::map_accum`].
#[track_caller]
pub(super) fn map_accum<T: BaseTensor>(operands: LoopOperands<'_, T>, step: TripFn<'_, Tower<T>>) -> Trip<Tower<T>> {
    match PLAN.take() {
        Some(plan) => looped_by_plan(plan, operands, step),
        None if running() == 0 => looped_at_base(operands, step),
        None => looped_at_levels(operands, step),
    }
}
