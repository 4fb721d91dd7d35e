//! Transposed while loops: from the cotangents of the results to those of the arguments, in time of the trips that ran.
//!
//! The number of trips is known only after the loop, so states are stored online (Griewank and Walther, Evaluating
//! Derivatives, 2008, chapter 12). The loop runs once and stores the carry before every `d`-th trip. Where the slots are
//! full, `d` doubles, and new states take the slots of every second old one. Trips then are transposed from the last to the
//! first: between two stored states the loop runs again and stores further states, at the distances of the binomial
//! schedule (Griewank and Walther, Algorithm 799: revolve, 2000).
//!
//! Law: equal to the transposed loop of as many trips, with a fixed number of slots, whatever the number of trips. A trip
//! runs once if there are as many slots as trips; of `n` trips, each runs `r + 1` times at most, where `C(s + r, r)` is at
//! least the distance of stored states and `s` the number of slots that are left for it.
//!
//! It is written as a program over any interpreter: loops, selections and arrays with a row for each slot. So it is
//! compiled, emitted and exported like any other program.

use std::sync::Arc;

use super::repeat::{closed, compare, int, ints, number};
use super::{Custom, CustomKind, Program, Slot, Term, interpret, reach};
use crate::array::Array;
use crate::base::{BaseTensor, replaced};
use crate::cost::{Cost, Estimate, MACHINE};
use crate::dtype::DType;
use crate::ops::{Compare, Discrete, IntBinary, Linear};
use crate::shape::{Shape, size};

/// A while loop and its transpose, from which the transposed loop is made.
pub(crate) struct Transposition {
    /// The loop.
    pub(crate) of: Arc<Custom>,
    /// How many trips are transposed together; the bound of the loop is a multiple of it.
    pub(crate) count: usize,
    /// The transpose of these trips: from their arguments, the cotangents of the marked values of the carry, and the sums
    /// of those of the marked captured values, to these cotangents and sums before the trips.
    pub(crate) back: Program,
    /// The arguments that have a cotangent.
    pub(crate) marks: Vec<bool>,
}

/// What a transposed while loop is the derivative of, which its own derivatives need.
#[derive(Clone, Debug)]
pub(crate) struct TransposedWhile {
    /// The loop.
    pub(crate) of: Arc<Custom>,
    /// The arguments of the loop that have a cotangent.
    pub(crate) marks: Vec<bool>,
    /// The arguments that the function takes: of those of the loop, and of the cotangents of the marked values of the carry.
    pub(crate) takes: Vec<bool>,
    /// The cotangents of marked arguments that the function returns.
    pub(crate) gives: Vec<bool>,
}

/// The slots for states.
#[derive(Clone, Copy, Debug)]
struct StoredSlots {
    /// For states that the loop stores, a power of two.
    first: i64,
    /// For states that are stored when trips run again.
    again: i64,
}

impl StoredSlots {
    fn of(state: usize, most: Option<usize>) -> StoredSlots {
        let (first, again) = if state < MACHINE.large_state { (64, 32) } else { (16, 8) };
        match most.map(|most| most.max(1).next_power_of_two() as i64).filter(|most| *most <= first) {
            // A state for each trip.
            Some(most) => StoredSlots { first: most, again: 1 },
            None => StoredSlots { first, again },
        }
    }

    fn count(self) -> i64 {
        self.first + self.again
    }

    /// The slot of state number `m` after `d` has doubled a number of times. An even number keeps its slot when the numbers
    /// halve, and a new one gets that of an odd one: the bits of the number, rotated.
    fn slot<T: BaseTensor>(self, m: &T, doubled: &T) -> T {
        let bits = int::<T>(i64::from(self.first.trailing_zeros()).max(1));
        let by = ints(IntBinary::Rem, doubled, &bits);
        let left = ints(IntBinary::Shl, m, &by);
        let right = ints(IntBinary::Shr, m, &ints(IntBinary::Sub, &bits, &by));
        ints(IntBinary::BitAnd, &ints(IntBinary::BitOr, &left, &right), &int(self.first - 1))
    }
}

pub(super) fn plus<T: BaseTensor>(x: &T, y: i64) -> T {
    ints(IntBinary::Add, x, &int(y))
}

/// The values of a carry without its mask, as one vector for each element type.
pub(super) struct Packing {
    /// For each element type, the positions of its values in the carry.
    groups: Vec<(DType, Vec<usize>)>,
    shapes: Vec<Shape>,
}

impl Packing {
    pub(super) fn of(carry: &[Slot]) -> Packing {
        let mut groups: Vec<(DType, Vec<usize>)> = Vec::new();
        for (k, slot) in carry.iter().enumerate().skip(1) {
            match groups.iter_mut().find(|(dtype, _)| *dtype == slot.dtype) {
                Some((_, of)) => of.push(k),
                None => groups.push((slot.dtype, vec![k])),
            }
        }
        Packing { groups, shapes: carry.iter().map(|slot| slot.shape.clone()).collect() }
    }

    fn length(&self, of: &[usize]) -> usize {
        of.iter().map(|k| size(&self.shapes[*k])).sum()
    }

    fn bytes(&self) -> usize {
        self.groups.iter().map(|(dtype, of)| self.length(of) * dtype.width()).sum()
    }

    /// Arrays with this number of rows, which are empty.
    pub(super) fn empty_rows<T: BaseTensor>(&self, count: usize) -> Vec<T> {
        let one = |(dtype, of): &(DType, Vec<usize>)| T::zeros(&[count, self.length(of)], *dtype);
        self.groups.iter().map(one).collect()
    }

    pub(super) fn pack<T: BaseTensor>(&self, carry: &[T]) -> Vec<T> {
        let flat = |k: &usize| carry[*k].linear(&Linear::reshape(&self.shapes[*k], &[size(&self.shapes[*k])]));
        let one = |(_, of): &(DType, Vec<usize>)| match &of[..] {
            [k] => flat(k),
            of => T::concat(0, &of.iter().map(flat).collect::<Vec<T>>()),
        };
        self.groups.iter().map(one).collect()
    }

    /// The carry of a state; its mask holds, since a trip has run from there.
    pub(super) fn unpack<T: BaseTensor>(&self, rows: &[T]) -> Vec<T> {
        let mut carry: Vec<T> = vec![T::constant(Array::scalar(true)); self.shapes.len()];
        for (row, (_, of)) in rows.iter().zip(&self.groups) {
            let (length, mut start) = (self.length(of), 0);
            for k in of {
                let n = size(&self.shapes[*k]);
                let part =
                    if n == length { row.clone() } else { row.linear(&Linear::slice(&[length], 0, start, n, 1)) };
                carry[*k] = part.linear(&Linear::reshape(&[n], &self.shapes[*k]));
                start += n;
            }
        }
        carry
    }
}

/// The arrays of slots with a state written to one, if there is a slot with this number.
pub(super) fn stored<T: BaseTensor>(slots: &[T], slot: &T, state: &[T]) -> Vec<T> {
    slots.iter().zip(state).map(|(slots, row)| replaced(slots, std::slice::from_ref(slot), row)).collect()
}

/// Which inputs the marked results of a program depend on.
fn read(program: &Program, results: &[bool]) -> Vec<bool> {
    let mut marks = vec![false; program.nodes().len()];
    let marked = program.results().iter().zip(results).filter(|(_, marked)| **marked);
    marked.for_each(|(r, _)| marks[*r as usize] = true);
    reach(program.nodes(), &mut marks, |_| true);
    marks.truncate(program.inputs().len());
    marks
}

fn kept<X: Clone>(all: &[X], marks: &[bool]) -> Vec<X> {
    all.iter().zip(marks).filter(|(_, marked)| **marked).map(|(x, _)| x.clone()).collect()
}

impl Transposition {
    /// The arguments of a trip that the transpose reads, or on which depends what it reads, and when the loop ends.
    fn needed(&self) -> Vec<bool> {
        let (trip, carried) = (self.of.primal(), self.of.primal().outputs().len());
        let mut needed = read(&self.back, &vec![true; self.back.outputs().len()]);
        needed.truncate(trip.inputs().len());
        needed[0] = true;
        loop {
            let read = read(trip, &needed[..carried]);
            let new: Vec<usize> = (0..read.len()).filter(|k| read[*k] && !needed[*k]).collect();
            if new.is_empty() {
                return needed;
            }
            new.into_iter().for_each(|k| needed[k] = true);
        }
    }

    /// The transposed loop. It takes the needed arguments of the loop, then a cotangent for each marked value of the carry,
    /// and returns the cotangents of the marked arguments. `trips` makes the program of several trips from that of one.
    pub(crate) fn function(&self, trips: &dyn Fn(&Program, usize) -> Program) -> Custom {
        let Transposition { of, count, back, marks } = self;
        let (one, carried, needed) = (of.primal(), of.primal().outputs().len(), self.needed());
        let trip = trips(&one.with_results(&kept(one.results(), &needed)).of_inputs(&needed), *count);
        let cts = vec![true; back.inputs().len() - needed.len()];
        let back = back.of_inputs(&[&needed[..], &cts].concat());
        let x = Term::variables(trip.inputs());
        let y_bar: Vec<Term> = Term::variables(&kept(of.primal().outputs(), &marks[..carried]));
        let most = if let CustomKind::While { most } = of.kind() { most.map(|most| most / count) } else { None };
        let packing = Packing::of(trip.outputs());
        let slots = StoredSlots::of(packing.bytes(), most);
        let (carry, captured) = x.split_at(trip.outputs().len());
        let sums = kept(&of.primal().inputs()[carried..], &marks[carried..]);
        let sums: Vec<Term> = sums.iter().map(|slot| Term::zeros(&slot.shape, slot.dtype)).collect();
        let sweep = BackwardSweep { trip: &trip, back: &back, most, packing, slots, captured: captured.to_vec() };
        let results = sweep.backwards(sweep.forwards(carry.to_vec()), [&y_bar[..], &sums].concat());
        let parts = TransposedWhile {
            of: of.clone(),
            marks: marks.clone(),
            takes: [needed, vec![true; y_bar.len()]].concat(),
            gives: vec![true; results.len()],
        };
        Custom::checkpointed(of.name(), closed(&[&x[..], &y_bar].concat(), &results)).transposing(parts)
    }
}

impl TransposedWhile {
    /// The largest number of trips of the loop, if there is one.
    pub(super) fn most(&self) -> Option<usize> {
        if let CustomKind::While { most } = self.of.kind() { *most } else { None }
    }

    /// The estimated cost: each trip runs twice, and is transposed, which takes as long again.
    pub(super) fn estimate(&self) -> Estimate {
        let trip = self.of.primal().estimate();
        let twice = trip.plus(trip);
        Estimate::of_loop(self.most().unwrap_or(1), Cost::default(), twice.plus(twice))
    }

    /// The same with the loop rewritten.
    pub(super) fn map(&self, f: &mut dyn FnMut(&Program) -> Program) -> TransposedWhile {
        TransposedWhile { of: Arc::new(self.of.map(f)), ..self.clone() }
    }

    /// The parts of the function with some of its arguments and results.
    pub(super) fn narrowed(&self, takes: &[bool], gives: &[bool]) -> TransposedWhile {
        let of = |before: &[bool], now: &[bool]| {
            let mut now = now.iter();
            before.iter().map(|kept| *kept && now.next() == Some(&true)).collect()
        };
        TransposedWhile { takes: of(&self.takes, takes), gives: of(&self.gives, gives), ..self.clone() }
    }
}

/// A run of a loop, and a step for each of its trips from the last to the first: the transposed trips, or any other program.
pub(super) struct BackwardSweep<'a, T> {
    trip: &'a Program,
    /// The step backwards: from the arguments of a trip and the values that are carried backwards, to these before the trip.
    back: &'a Program,
    most: Option<usize>,
    packing: Packing,
    slots: StoredSlots,
    captured: Vec<T>,
}

/// What a loop leaves for the steps backwards.
pub(super) struct StoredLoop<T> {
    /// The number of trips.
    trips: T,
    /// How many times the distance of stored states has doubled.
    doubled: T,
    filled: Vec<T>,
    /// The carry after the last trip.
    pub(super) last: Vec<T>,
}

impl<'a, T: BaseTensor> BackwardSweep<'a, T> {
    /// The sweep of a loop without a bound.
    pub(super) fn of(trip: &'a Program, back: &'a Program, captured: &[T]) -> Self {
        let packing = Packing::of(trip.outputs());
        let slots = StoredSlots::of(packing.bytes(), None);
        BackwardSweep { trip, back, most: None, packing, slots, captured: captured.to_vec() }
    }

    fn trip(&self, carry: Vec<T>) -> Vec<T> {
        interpret(self.trip, [carry, self.captured.clone()].concat())
    }

    /// Runs the loop, and stores states.
    pub(super) fn forwards(&self, mut carry: Vec<T>) -> StoredLoop<T> {
        let (packing, slots, carried) = (&self.packing, self.slots, carry.len());
        // The mask, the number of the trip, the doublings, the carry, the slots.
        let mut init = vec![carry.remove(0), int(0), int(0)];
        init.append(&mut carry);
        init.append(&mut packing.empty_rows(slots.count() as usize));
        let mut done = T::repeat(self.most, init, &mut |state| {
            let (trip, doubled) = (&state[1], &state[2]);
            let full = compare(Compare::Eq, trip, &ints(IntBinary::Shl, &int(slots.first), doubled));
            let doubled = ints(IntBinary::Add, doubled, &number(&full));
            let carry = [&state[..1], &state[3..2 + carried]].concat();
            let state_number = ints(IntBinary::Shr, trip, &doubled);
            let due = compare(Compare::Eq, &ints(IntBinary::Shl, &state_number, &doubled), trip);
            let slot = T::select(&due, &slots.slot(&state_number, &doubled), &int(slots.count()));
            let mut filled = stored(&state[2 + carried..], &slot, &packing.pack(&carry));
            let mut next = self.trip(carry);
            let mut after = vec![next.remove(0), plus(trip, 1), doubled];
            after.append(&mut next);
            after.append(&mut filled);
            after
        });
        let filled = done.split_off(2 + carried);
        let (trips, doubled) = (done.remove(1), done.remove(1));
        StoredLoop { trips, doubled, filled, last: done }
    }

    /// How many trips to run from a state until the next one is stored, of `left` trips whose cotangents are due, with
    /// `free` slots: the distance of the binomial schedule. Without a free slot, all but the last.
    fn distance(&self, left: &T, free: &T) -> T {
        let none = compare(Compare::Eq, free, &int(0));
        let (one, last) = (int::<T>(1), plus(left, -1));
        // Of `s` states and `r` runs of each trip, `C(s + r, r)` trips.
        let trips = T::select(&none, left, &one);
        let states = plus(free, 1);
        let init = vec![compare(Compare::Lt, &trips, left), int(0), trips, last];
        let found = T::repeat(None, init, &mut |state| {
            let runs = plus(&state[1], 1);
            let more = ints(IntBinary::Mul, &state[2], &ints(IntBinary::Add, &states, &runs));
            let trips = ints(IntBinary::Quot, &more, &runs);
            vec![compare(Compare::Lt, &trips, left), runs, trips, state[2].clone()]
        });
        found[3].clone()
    }

    /// The carry after a number of trips.
    fn advanced(&self, carry: Vec<T>, trips: &T) -> Vec<T> {
        let init = [vec![compare(Compare::Gt, trips, &int(0)), trips.clone()], carry[1..].to_vec()].concat();
        let mut done = T::repeat(None, init, &mut |mut state| {
            let left = plus(&state[1], -1);
            state.remove(1);
            state[0] = T::constant(Array::scalar(true));
            let next = self.trip(state);
            [vec![compare(Compare::Gt, &left, &int(0)), left], next[1..].to_vec()].concat()
        });
        done.remove(1);
        done[0] = T::constant(Array::scalar(true));
        done
    }

    /// The step backwards for each trip from the last to the first. Each time round, the loop runs from the last state that
    /// is stored, up to the trip that is due, whose step runs, or to a state that is stored then.
    pub(super) fn backwards(&self, stored_loop: StoredLoop<T>, cts: Vec<T>) -> Vec<T> {
        let StoredLoop { trips, doubled, mut filled, .. } = stored_loop;
        let (slots, groups) = (self.slots, filled.len());
        let (zero, count) = (int::<T>(0), slots.count());
        // The trips that are left, the number of the last state of the loop, that of states stored again, their trips.
        let last = ints(IntBinary::Shr, &plus(&trips, -1), &doubled);
        let mut init = vec![compare(Compare::Gt, &trips, &zero), trips, last, zero.clone()];
        init.push(T::zeros(&[slots.again as usize], DType::I64));
        init.append(&mut filled);
        init.extend(cts);
        let chosen = Arc::new(self.trip_if_due());
        let mut done = T::repeat(None, init, &mut |state| {
            let [left, first, again, times] = [1, 2, 3, 4].map(|k| &state[k]);
            let (filled, cts) = state[5..].split_at(groups);
            let top = plus(again, -1);
            let is_again = compare(Compare::Gt, again, &int(0));
            let slot = T::select(&is_again, &plus(&top, slots.first), &slots.slot(first, &doubled));
            let from =
                T::select(&is_again, &times.gather(std::slice::from_ref(&top)), &ints(IntBinary::Shl, first, &doubled));
            let rows: Vec<T> = filled.iter().map(|slots| slots.gather(std::slice::from_ref(&slot))).collect();
            let due = plus(left, -1);
            let free = ints(IntBinary::Sub, &int(slots.again), again);
            let trips = self.distance(&ints(IntBinary::Sub, left, &from), &free);
            let carry = self.advanced(self.packing.unpack(&rows), &trips);
            let to = ints(IntBinary::Add, &from, &trips);
            let is_due = compare(Compare::Eq, &to, &due);
            let store = |at: &T, none: i64| T::select(&is_due, &int(none), at);
            let times = replaced(times, &[store(again, slots.again)], &to);
            let filled = stored(filled, &store(&plus(again, slots.first), count), &self.packing.pack(&carry));
            let cts = T::custom(&chosen, &[std::slice::from_ref(&is_due), &carry[1..], &self.captured, cts].concat());
            // A state whose trip has been transposed is left, and one that was stored is the last.
            let is_done = compare(Compare::Eq, &trips, &int(0));
            let of_again = T::discrete(&Discrete::And, &[&is_done, &is_again]);
            let stored_now = plus(&ints(IntBinary::Sub, again, &number(&is_due)), 1);
            let of_first = ints(IntBinary::Sub, &number(&is_done), &number(&of_again));
            let left = ints(IntBinary::Sub, left, &number(&is_due));
            let mut next = vec![compare(Compare::Gt, &left, &int(0)), left];
            next.push(ints(IntBinary::Sub, first, &of_first));
            next.push(ints(IntBinary::Sub, &stored_now, &number(&of_again)));
            next.push(times);
            next.extend(filled);
            next.extend(cts);
            next
        });
        done.split_off(5 + groups)
    }

    /// The transposed trip if its mask holds, and otherwise nothing: the mask, then what [`Transposition::back`] takes
    /// without the mask of the carry.
    fn trip_if_due(&self) -> Custom {
        let (back, carried) = (self.back, self.trip.outputs().len());
        let variables = Term::variables(&back.inputs()[1..]);
        let holds = Term::constant(Array::scalar(true));
        let then = interpret(back, [vec![holds], variables.clone()].concat());
        let cts = &variables[carried - 1 + self.captured.len()..];
        let absent = vec![false; cts.len()];
        Custom::chosen("trip", [closed(&variables, &then), closed(&variables, cts)], [absent.clone(), absent])
    }
}
