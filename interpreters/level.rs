//! Levels: the differentiation, and the trip of a loop, to which a tangent or a series belongs.
//!
//! Law: values of two differentiations of one level never mix, and a variable of a loop is used in its own trip alone:
//! any violation is a [`LevelFault`]. Loops of such values are loops of `T` over groups: a primal and its tangents or
//! coefficients, the *moving* part. Shared by the interpreters of forward mode; no interpreter itself.

use std::cell::Cell;

use super::adval;
use crate::base::{BaseTensor, Group, Trip, TripFn, map_accum_grouped};

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(1) };
}

/// The differentiation that a tangent belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The differentiation with this number.
    Sweep(u64),
    /// Not yet known: the tangent was initialized with zeros for the loop with this number. Inner loops have larger
    /// numbers.
    Loop(u64),
}

impl Owner {
    /// The common owner of two tangents; `None` if they share no owner.
    pub(super) fn meet(self, other: Owner) -> Option<Owner> {
        match (self, other) {
            (Owner::Sweep(a), Owner::Sweep(b)) => (a == b).then_some(self),
            (sweep @ Owner::Sweep(_), Owner::Loop(_)) | (Owner::Loop(_), sweep @ Owner::Sweep(_)) => Some(sweep),
            (Owner::Loop(a), Owner::Loop(b)) => Some(Owner::Loop(a.min(b))),
        }
    }
}

/// One trip of a loop, by the numbers of the loop and of the trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Within {
    pub(super) start: u64,
    pub(super) trip: u64,
}

impl Within {
    pub(super) const NO_LOOP: Within = Within { start: 0, trip: 0 };

    /// The trip of the inner loop, if the inner loop runs within the trip of the outer one. A value of an earlier trip,
    /// or of a loop that has ended, is a variable that escaped.
    fn meet(self, other: Within) -> Option<Within> {
        let (outer, inner) = (self.min(other), self.max(other));
        (outer == inner || outer.trip < inner.start).then_some(inner)
    }
}

/// The differentiation that a tangent belongs to, and the innermost trip of a loop on whose variables the tangent
/// depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelId {
    pub(super) owner: Owner,
    pub(super) within: Within,
}

/// The next number of a differentiation, a loop or a trip.
pub(super) fn fresh() -> u64 {
    NEXT.with(|next| {
        let number = next.get();
        next.set(number + 1);
        number
    })
}

impl LevelId {
    /// The level of a value without a tangent; it agrees with any other.
    pub(super) const ANY: LevelId = LevelId { owner: Owner::Loop(u64::MAX), within: Within::NO_LOOP };

    /// The common level of two values.
    pub(super) fn meet(self, other: LevelId) -> Result<LevelId, LevelFault> {
        let owner = self.owner.meet(other.owner).ok_or(LevelFault::Mixed)?;
        let within = self.within.meet(other.within).ok_or(LevelFault::EarlierTrip)?;
        Ok(LevelId { owner, within })
    }
}

/// The error of an operation on two values whose levels do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LevelFault {
    /// The values belong to two differentiations.
    Mixed,
    /// One of the values is a variable of another trip of a loop.
    EarlierTrip,
}

/// The message of [`LevelFault::EarlierTrip`].
pub(super) const EARLIER_TRIP: &str = "loop: a loop variable may be used only inside its closure, but a trip used one of an earlier trip; carry it instead";

/// The message for a result that is a variable of a loop.
pub(super) const ESCAPED: &str = "loop: a loop variable may be used only inside its closure, but the result depends on one that escaped; return it \
                                  from the step instead";

/// A value of an interpreter over `T`: a primal and its moving part (tangents or coefficients).
pub(super) trait Moving<T: BaseTensor>: BaseTensor {
    /// The level of the moving part; [`LevelId::ANY`] without a moving part.
    fn level(&self) -> LevelId;

    /// The primal, followed by the moving part if `moves`: of the same size for each value.
    fn grouped(self, moves: bool) -> Group<T>;

    /// The value of a group, whose moving part, if there is one, has this level.
    fn of_group(group: Group<T>, level: LevelId) -> Self;

    /// Whether the moving part may be infinite or NaN where the primal is finite: then products with it are guarded.
    fn is_steep(&self) -> bool;

    /// The same value, whose moving part may be infinite or NaN where the primal is finite.
    fn steep_if(self, steep: bool) -> Self;
}

/// Whether any moving part may be infinite or NaN where its primal is finite.
pub(super) fn any_steep<T: BaseTensor, V: Moving<T>>(values: &[V]) -> bool {
    values.iter().any(V::is_steep)
}

/// Marks each value.
fn marked<T: BaseTensor, V: Moving<T>>(values: Vec<V>, steep: bool) -> Vec<V> {
    let mut all = Vec::with_capacity(values.len());
    for value in values {
        all.push(value.steep_if(steep));
    }
    all
}

/// Whether the moving parts of a carry are steep at the start of a loop. A step that is recorded may not run again if it counts
/// its calls, so it gets steep ones at once.
pub(super) fn starts_steep<T: BaseTensor, V: Moving<T>>(init: &[V]) -> bool {
    any_steep(init) || (T::records() && adval::evaluates())
}

/// One trip from a carry whose moving parts have this level. Whether they are steep is the least fixpoint: a step that is
/// recorded runs again if it returns steep ones and got others; known values have guards anyway.
pub(super) fn trip<T: BaseTensor, V: Moving<T>>(
    steep: &mut bool,
    (carry, level): (Vec<Group<T>>, LevelId),
    step: &mut dyn FnMut(Vec<V>) -> (Vec<V>, Vec<V>),
) -> (Vec<V>, Vec<V>) {
    // A copy of known values would keep the step from changing them in place.
    let again = (T::records() && !*steep).then(|| carry.clone());
    let results = step(marked(of_groups(carry, level), *steep));
    if *steep || !any_steep(&results.0) {
        return results;
    }
    *steep = true;
    match again {
        Some(carry) => step(marked(of_groups(carry, level), true)),
        None => results,
    }
}

/// One loop of `T` over primals and moving parts. Every float of the carry and of the outputs has a moving part inside
/// the loop, which is dropped at the end if no differentiation contributes to it.
#[track_caller]
pub(super) fn map_accum<T: BaseTensor, V: Moving<T>>(
    (n, reverse): (usize, bool),
    init: Vec<V>,
    xs: &[V],
    step: TripFn<'_, V>,
) -> Result<Trip<V>, LevelFault> {
    let mut level = LevelId::ANY;
    for values in [&init[..], xs] {
        for value in values {
            level = level.meet(value.level())?;
        }
    }
    // The moving part of the carry has one level in all trips, so that all trips run the same operations.
    let start = fresh();
    let unknown = LevelId { owner: Owner::Loop(start), within: Within::NO_LOOP };
    let mut level = level.meet(unknown)?;
    let inside = level.owner;
    let mut moving: Vec<bool> = Vec::with_capacity(init.len());
    for c in &init {
        moving.push(c.dtype().is_float());
    }
    let mut steep = starts_steep(&init);
    let state = grouped(init, &moving);
    let mut sequences: Vec<Group<T>> = Vec::with_capacity(xs.len());
    for x in xs {
        sequences.push(x.clone().grouped(x.level() != LevelId::ANY));
    }

    let mut steep_outputs = false;
    let mut fault = None;
    let (finals, stacks) = map_accum_grouped(n, reverse, state, &sequences, &mut |carry, elements| {
        let this = Within { start, trip: fresh() };
        let within = |owner| LevelId { owner, within: this };
        let mut values = Vec::with_capacity(elements.len());
        for (k, group) in elements.into_iter().enumerate() {
            values.push(V::of_group(group, within(xs[k].level().owner)).steep_if(xs[k].is_steep()));
        }
        let (carry, outputs) = trip(&mut steep, (carry, within(inside)), &mut |carry| step(carry, &values));
        steep_outputs |= any_steep(&outputs);
        let mut moves: Vec<bool> = Vec::with_capacity(outputs.len());
        for y in &outputs {
            moves.push(y.dtype().is_float());
        }
        for values in [&carry, &outputs] {
            for value in values {
                let mut found = value.level();
                if found.within.start >= start {
                    fault = fault.or((found.within != this).then_some(LevelFault::EarlierTrip));
                    found.within = Within::NO_LOOP;
                }
                match level.meet(found) {
                    Ok(both) => level = both,
                    Err(found) => fault = Some(found),
                }
            }
        }
        // The groups have the same sizes as before the trip: if an element type has changed, the check of `T`
        // reports it.
        (grouped(carry, &moving), grouped(outputs, &moves))
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    let (mut finals, mut stacks) = (finals, stacks);
    // No known differentiation has contributed to these groups.
    if level.owner == unknown.owner {
        for groups in [&mut finals, &mut stacks] {
            for group in groups {
                group.truncate(1);
            }
        }
    }
    Ok((marked(of_groups(finals, level), steep), marked(of_groups(stacks, level), steep_outputs)))
}

/// The values as groups, with a moving part where this says so.
fn grouped<T: BaseTensor, V: Moving<T>>(values: Vec<V>, moving: &[bool]) -> Vec<Group<T>> {
    let mut groups = Vec::with_capacity(values.len());
    for (k, value) in values.into_iter().enumerate() {
        groups.push(value.grouped(moving.get(k).copied().unwrap_or(false)));
    }
    groups
}

/// The values of groups, whose moving parts have this level.
fn of_groups<T: BaseTensor, V: Moving<T>>(groups: Vec<Group<T>>, level: LevelId) -> Vec<V> {
    let mut values = Vec::with_capacity(groups.len());
    for group in groups {
        values.push(V::of_group(group, level));
    }
    values
}
