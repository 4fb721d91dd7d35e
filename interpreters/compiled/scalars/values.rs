//! Values of single numbers: what groups read, compute and write, each value assigned once.
//!
//! Law: places are names of values. A read of an element gives the value that was written there last, or else what the
//! place holds before the first operation.

use std::collections::{HashMap, HashSet};

use super::super::group::{Group, Item, Value};
use super::super::memory::Slot;
use super::super::steps::{Loop, Operand, Place, Row, Step};
use super::super::walk::Walk;
use super::Start;
use crate::dtype::DType;
use crate::ops::{Binary, IntBinary};

/// Where a value comes from.
#[derive(Clone, Debug)]
pub(super) enum Origin {
    /// Held by a register before the first trip.
    Start(Start),
    /// An element of a carry.
    Carry,
    /// The element of a row.
    Row(Element),
    /// Computed; with the element type of the last operand.
    Item(Item<Value>, DType),
}

/// An element of a place that moves with the trips: the element at the first index, and how many come to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) slot: Slot,
    pub(super) first: usize,
    pub(super) step: usize,
}

/// An element of a carry.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) value: Value,
    pub(super) init: Start,
    pub(super) next: Value,
    /// The place of the result and the element there.
    pub(super) result: (Slot, usize),
}

/// The values of a group or of the body of a loop, in the order in which they are computed.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) list: Vec<(Origin, DType)>,
    pub(super) n: usize,
    pub(super) reverse: bool,
    /// Whether the loop ends when the first element that it carries, a mask, does not hold.
    pub(super) ends: bool,
    pub(super) cleared: Vec<(Slot, usize)>,
    pub(super) carries: Vec<Carried>,
    /// Elements of rows that are written at each trip.
    pub(super) outputs: Vec<(Value, Element)>,
    /// Elements that are written at the end.
    pub(super) stores: Vec<(Value, Slot, usize)>,
    /// The values of elements of places, and the elements in the order in which they were first written.
    now: HashMap<(Slot, usize), Value>,
    written: Vec<(Slot, usize)>,
    /// Places that are zeros where nothing is written.
    zeros: HashSet<Slot>,
    rows: HashMap<Slot, Element>,
}

/// The most elements of a carry or of a row.
const MOST: usize = 64;

/// The most positions of a group that only moves elements, as one number after the other.
const SMALL: usize = 16;

impl Values {
    /// The values of a group of one position.
    pub(super) fn of_group(group: &Group, places: &[Place]) -> Values {
        let mut values = Values { n: 1, ..Values::default() };
        values.group(group, places);
        // A place of one element is stored, others are zeros around what is stored.
        values.cleared.extend(group.cleared());
        // An element that was written more than once is stored once.
        let mut seen = HashSet::new();
        for (slot, at) in std::mem::take(&mut values.written) {
            if seen.insert((slot, at)) {
                values.stores.push((values.now[&(slot, at)], slot, at));
            }
        }
        values
    }

    /// The values of the body of a loop, if the body is of single numbers.
    pub(super) fn of_loop(l: &Loop, places: &[Place]) -> Option<Values> {
        let mut values = Values { n: l.n, reverse: l.reverse, ends: l.ends, ..Values::default() };
        let width = |slot: Slot| places[slot as usize].dtype.width();
        let element =
            |row: &Row| Element { slot: row.of, first: row.start / width(row.of), step: row.bytes / width(row.of) };
        values.rows.extend(l.xs.iter().map(|row| (row.row, element(row))));
        let mut init = Vec::new();
        for carry in &l.carries {
            let count = carry.bytes / carry.dtype.width();
            if count > MOST {
                return None;
            }
            for e in 0..count {
                let Operand { slot, at, one } = carry.init;
                let value = values.push(Origin::Carry, carry.dtype);
                values.now.insert((carry.input, e), value);
                init.push((value, Start::Place(slot, if one { at } else { at + e }), carry, e));
            }
        }
        let inside: HashSet<Slot> = inside(l);
        for step in &l.body {
            let Step::Draft(group) = step else { return None };
            // A gather reads a place wherever indices say: none that is registers here.
            let moves = group.size <= SMALL && group.only_moves();
            if !(group.size == 1 || moves) || group.gathered().any(|slot| inside.contains(&slot)) {
                return None;
            }
            values.group(group, places);
        }
        for (value, start, carry, e) in init {
            let next = values.read(carry.output, e, carry.dtype);
            values.carries.push(Carried { value, init: start, next, result: (carry.result, e) });
        }
        for row in &l.outputs {
            let place = &places[row.row as usize];
            if place.size > MOST {
                return None;
            }
            for e in 0..place.size {
                let value = values.read(row.row, e, place.dtype);
                let Element { slot, first, step } = element(row);
                values.outputs.push((value, Element { slot, first: first + e, step }));
            }
        }
        Some(values)
    }

    fn push(&mut self, origin: Origin, dtype: DType) -> Value {
        self.list.push((origin, dtype));
        (self.list.len() - 1) as Value
    }

    fn item(&mut self, item: Item<Value>, dtype: DType) -> Value {
        let operand = item.operands().last().map_or(dtype, |v| self.list[*v as usize].1);
        self.push(Origin::Item(item, operand), dtype)
    }

    /// The value of an element of a place.
    fn read(&mut self, slot: Slot, at: usize, dtype: DType) -> Value {
        if let Some(value) = self.now.get(&(slot, at)) {
            return *value;
        }
        let origin = match self.rows.get(&slot) {
            _ if self.zeros.contains(&slot) => Origin::Start(Start::Integer(0)),
            Some(row) => Origin::Row(Element { first: row.first + at, ..*row }),
            None => Origin::Start(Start::Place(slot, at)),
        };
        let value = self.push(origin, dtype);
        self.now.insert((slot, at), value);
        value
    }

    fn write(&mut self, slot: Slot, at: usize, value: Value) {
        self.now.insert((slot, at), value);
        self.written.push((slot, at));
    }

    /// The operations of a group.
    fn group(&mut self, group: &Group, places: &[Place]) {
        for (slot, _) in group.cleared() {
            self.zeros.insert(slot);
        }
        // As in tiles of one position.
        for position in 0..group.size {
            let mut own: Vec<Value> = Vec::with_capacity(group.len());
            for (item, dtype, stored) in group.items() {
                let value = self.of_item(item, dtype, (&own, position), places);
                if let Some(slot) = stored {
                    self.write(slot, position, value);
                }
                own.push(value);
            }
        }
    }

    /// The value of an operation of a group at a position, where its values so far are these.
    fn of_item(
        &mut self,
        item: &Item<Value>,
        dtype: DType,
        (own, position): (&[Value], usize),
        places: &[Place],
    ) -> Value {
        let seen = |walk: &Walk| {
            let mut place = None;
            walk.runs(position, 1, |run| place = run.place);
            place
        };
        let number = |self_: &mut Values, x: usize| self_.push(Origin::Start(Start::Integer(x as i64)), dtype);
        match item {
            Item::Read(slot, at) => self.read(*slot, *at + position, dtype),
            Item::One(slot, at) => self.read(*slot, *at, dtype),
            Item::View(slot, walk) => match seen(walk) {
                Some(at) => self.read(*slot, at, dtype),
                None => number(self, 0),
            },
            Item::Places(walk) => number(self, seen(walk).unwrap_or(0)),
            Item::Put(slot, walk, a) => {
                let value = own[*a as usize];
                if let Some(at) = seen(walk) {
                    self.write(*slot, at, value);
                }
                value
            }
            Item::Add(slot, walk, a) => {
                let Some(at) = seen(walk) else { return own[*a as usize] };
                let dtype = places[*slot as usize].dtype;
                let (x, y) = (self.read(*slot, at, dtype), own[*a as usize]);
                let sum = match dtype.is_float() {
                    true => self.item(Item::Binary(Binary::Add, x, y), dtype),
                    false => self.item(Item::IntBinary(IntBinary::Add, x, y), dtype),
                };
                self.write(*slot, at, sum);
                sum
            }
            Item::Unary(..) | Item::Binary(..) | Item::Compare(..) | Item::IntUnary(..) | Item::IntBinary(..) => {
                self.item(item.map(|v| own[v as usize]), dtype)
            }
            Item::And(..) | Item::Or(..) | Item::Not(_) | Item::Step(..) | Item::Convert(..) | Item::Select(_) => {
                self.item(item.map(|v| own[v as usize]), dtype)
            }
            Item::Gather(..) => self.item(item.map(|v| own[v as usize]), dtype),
            Item::Form(..) | Item::Weighted(..) | Item::SinCos(..) | Item::Second(_) => {
                unreachable!("groups of one position have no superinstructions of tiles")
            }
        }
    }
}

/// The places that are registers while a loop runs: what its steps write, carries and rows.
fn inside(l: &Loop) -> HashSet<Slot> {
    let mut found: HashSet<Slot> = l.carries.iter().flat_map(|carry| [carry.input, carry.output]).collect();
    found.extend(l.xs.iter().chain(&l.outputs).map(|row| row.row));
    for step in &l.body {
        step.places(&mut |slot, written| {
            if written {
                found.insert(slot);
            }
        });
    }
    found
}
