//! The steps of a frame, the program or the body of a loop, while a program is lowered.
//!
//! An elementwise operation joins a group that has the same number of positions and comes after everything the
//! operation reads from memory; a value is stored only if another step needs it.
//!
//! Law: the number of a step is its time. A place may be read from the step `ready` on; a step that changes a place
//! comes after all steps that read it before.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::group::{Group, Item, Source, Value};
use super::memory::Slot;
use super::steps::{Home, Operand, Place, Step};
use super::walk::{Turn, Walk};
use crate::array::{Array, with_elem};
use crate::dtype::DType;

/// What is known of the value of an operation.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// The elements of a place, from this one on.
    Dense(Slot, usize),
    /// One element of a place stands for all.
    One(Slot, usize),
    /// A place seen through a view.
    View(Slot, Walk),
    /// An iota seen through a view.
    Places(Walk),
    /// A value of the group at this step.
    Fused(usize, Value),
    /// The results of a loop or of a function with rules.
    Many(Vec<Known>),
    /// The operand of a linear operation that a sum adds in place.
    Deferred,
    /// A value whose axes are in another order: see `turns.rs`. Operations that need the elements in their own order
    /// see no such value.
    Turned(Box<Known>, Box<Turn>),
}

/// The steps of the program, or of the body of a loop.
#[derive(Default)]
struct Frame {
    steps: Vec<Step>,
    /// The groups by the number of their positions, in order.
    groups: HashMap<usize, Vec<usize>>,
}

/// A program while it becomes steps.
pub(super) struct Lowering {
    pub(super) places: Vec<Place>,
    pub(super) constants: Vec<Array>,
    frames: Vec<Frame>,
    /// The least number of elements of a value that is computed in another order of its axes.
    pub(super) turned: usize,
}

/// The largest number of operations of a group.
const LARGEST: usize = 2000;

impl Lowering {
    pub(super) fn new(turned: usize) -> Lowering {
        Lowering { places: Vec::new(), constants: Vec::new(), frames: vec![Frame::default()], turned }
    }

    /// The number of loops around the current steps.
    pub(super) fn depth(&self) -> usize {
        self.frames.len() - 1
    }

    pub(super) fn enter(&mut self) {
        self.frames.push(Frame::default());
    }

    /// The steps since [`enter`](Self::enter).
    pub(super) fn leave(&mut self) -> Vec<Step> {
        self.frames.pop().map_or_else(Vec::new, |frame| frame.steps)
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("there is a frame until the last is left")
    }

    pub(super) fn place(&mut self, dtype: DType, size: usize, home: Home) -> Slot {
        let depth = self.depth();
        self.places.push(Place { dtype, size, home, depth, ready: 0, read: 0, taken: false });
        (self.places.len() - 1) as Slot
    }

    pub(super) fn arena(&mut self, dtype: DType, size: usize) -> Slot {
        self.place(dtype, size, Home::Arena(0))
    }

    pub(super) fn at(&self, slot: Slot) -> &Place {
        &self.places[slot as usize]
    }

    /// The first step of the current frame that may read a place.
    pub(super) fn ready(&self, slot: Slot) -> usize {
        let place = self.at(slot);
        if place.depth == self.depth() { place.ready } else { 0 }
    }

    /// Notes that a step reads a place.
    pub(super) fn reads(&mut self, slot: Slot, step: usize) {
        let depth = self.depth();
        let place = &mut self.places[slot as usize];
        if place.depth == depth {
            place.read = place.read.max(step + 1);
        }
    }

    /// Notes that a step writes a place.
    pub(super) fn writes(&mut self, slot: Slot, step: usize) {
        let depth = self.depth();
        let place = &mut self.places[slot as usize];
        if place.depth == depth {
            place.ready = place.ready.max(step + 1);
        }
    }

    /// The first step of the current frame that may change a place.
    pub(super) fn changeable(&self, slot: Slot) -> usize {
        self.ready(slot).max(self.at(slot).read)
    }

    /// Adds a step at the end and returns its number.
    pub(super) fn push(&mut self, step: Step) -> usize {
        let number = self.frame().steps.len();
        step.places(&mut |slot, written| if written { self.writes(slot, number) } else { self.reads(slot, number) });
        self.frame().steps.push(step);
        number
    }

    /// The last step so far.
    pub(super) fn last(&mut self) -> Option<&mut Step> {
        self.frame().steps.last_mut()
    }

    /// A group of so many positions at a step from `from` on: the first that has what `suits` asks for, otherwise the
    /// last, or a new one.
    fn group(&mut self, size: usize, from: usize, suits: impl Fn(usize, &Group) -> bool) -> usize {
        let frame = self.frame();
        let found = frame.groups.get(&size).and_then(|steps| {
            // Few are looked at, so that lowering is linear in the length of the program.
            let first = steps.partition_point(|step| *step < from).max(steps.len().saturating_sub(8));
            let group = |step: &usize| match &frame.steps[*step] {
                Step::Draft(group) => group,
                Step::Group(_)
                | Step::Straight(_)
                | Step::Whole(_)
                | Step::Loop(_)
                | Step::Call(_)
                | Step::Blocks(_) => {
                    unreachable!("a group is listed")
                }
            };
            let mut open = steps[first..].iter().filter(|step| group(step).len() < LARGEST);
            let suiting = open.clone().find(|step| suits(**step, group(step)));
            suiting.or_else(|| open.next_back()).copied()
        });
        found.unwrap_or_else(|| {
            let frame = self.frame();
            frame.steps.push(Step::Draft(Group::new(size)));
            let step = frame.steps.len() - 1;
            frame.groups.entry(size).or_default().push(step);
            step
        })
    }

    pub(super) fn draft(&mut self, step: usize) -> &mut Group {
        match &mut self.frame().steps[step] {
            Step::Draft(group) => group,
            Step::Group(_) | Step::Straight(_) | Step::Whole(_) | Step::Loop(_) | Step::Call(_) | Step::Blocks(_) => {
                unreachable!("the step is a group")
            }
        }
    }

    /// The first step at which a value can be used in a group of its own number of positions.
    fn usable(&self, known: &Known) -> usize {
        match known {
            Known::Dense(slot, _) | Known::One(slot, _) | Known::View(slot, _) => self.ready(*slot),
            Known::Places(_) => 0,
            Known::Fused(step, _) => *step,
            Known::Many(_) | Known::Deferred | Known::Turned(..) => unreachable!("an operand is one value"),
        }
    }

    /// What a group reads for a value that it does not compute.
    fn source(&mut self, known: &Known, size: usize) -> Source {
        match known {
            Known::Dense(slot, at) => Source::Read(*slot, *at),
            Known::One(slot, at) if size == 1 => Source::Read(*slot, *at),
            Known::One(slot, at) => Source::One(*slot, *at),
            Known::View(slot, walk) => Source::View(*slot, walk.clone()),
            Known::Places(walk) => Source::Places(walk.clone()),
            Known::Fused(step, value) => Source::Read(self.stored(*step, *value), 0),
            Known::Many(_) | Known::Deferred | Known::Turned(..) => unreachable!("an operand is one value"),
        }
    }

    /// The place of a value of a group.
    fn stored(&mut self, step: usize, value: Value) -> Slot {
        let (dtype, size) = {
            let group = self.draft(step);
            (group.dtype(value), group.size)
        };
        let next = self.places.len() as Slot;
        let slot = self.draft(step).store(value, || next);
        if slot == next {
            self.arena(dtype, size);
            self.writes(slot, step);
        }
        slot
    }

    /// A value as one of the group at a step.
    pub(super) fn within(&mut self, step: usize, known: &Known, dtype: DType) -> Value {
        if let Known::Fused(home, value) = known
            && *home == step
        {
            return *value;
        }
        let size = self.draft(step).size;
        let source = self.source(known, size);
        if let Source::Read(slot, _) | Source::One(slot, _) | Source::View(slot, _) = &source {
            self.reads(*slot, step);
        }
        self.draft(step).source(source, dtype)
    }

    /// A group for an operation on these values.
    pub(super) fn group_for(&mut self, size: usize, operands: &[(&Known, DType)], from: usize) -> usize {
        let from = operands.iter().map(|(known, _)| self.usable(known)).fold(from, usize::max);
        let here = |step: usize, group: &Group| {
            operands.iter().any(|(known, _)| match known {
                Known::Fused(home, _) => *home == step,
                Known::Dense(slot, at) => group.has(&Source::Read(*slot, *at)),
                Known::View(slot, walk) => group.has(&Source::View(*slot, walk.clone())),
                Known::One(..) | Known::Places(_) | Known::Many(_) | Known::Deferred | Known::Turned(..) => false,
            })
        };
        self.group(size, from, here)
    }

    /// An elementwise operation.
    pub(super) fn elementwise(
        &mut self,
        size: usize,
        dtype: DType,
        operands: &[(&Known, DType)],
        item: impl FnOnce(&[Value]) -> Item<Value>,
    ) -> Known {
        if let Some((turn, inner)) = self.turned(size, operands) {
            let inner: SmallVec<[(&Known, DType); 4]> = inner.iter().zip(operands).map(|(k, of)| (k, of.1)).collect();
            return Known::Turned(Box::new(self.elementwise(size, dtype, &inner, item)), Box::new(turn));
        }
        let ones = !operands.is_empty() && operands.iter().all(|(known, _)| matches!(known, Known::One(..)));
        let positions = if ones { 1 } else { size };
        let step = self.group_for(positions, operands, 0);
        let values: SmallVec<[Value; 4]> =
            operands.iter().map(|(known, dtype)| self.within(step, known, *dtype)).collect();
        let value = self.draft(step).push(item(&values), dtype);
        if ones && size != 1 { Known::One(self.stored(step, value), 0) } else { Known::Fused(step, value) }
    }

    /// A value in memory: its place, and its first element there. `known` is updated.
    pub(super) fn dense(&mut self, known: &mut Known, dtype: DType, size: usize) -> (Slot, usize) {
        match known {
            Known::Dense(slot, at) => (*slot, *at),
            Known::One(slot, at) if size == 1 => (*slot, *at),
            Known::Fused(step, value) => (self.stored(*step, *value), 0),
            Known::One(..) | Known::View(..) | Known::Places(_) => {
                let slot = self.copied(known, dtype, size);
                *known = Known::Dense(slot, 0);
                (slot, 0)
            }
            Known::Many(_) | Known::Deferred | Known::Turned(..) => unreachable!("an operand is one value"),
        }
    }

    /// A new place with a copy of a value.
    pub(super) fn copied(&mut self, known: &Known, dtype: DType, size: usize) -> Slot {
        let operands = [(known, dtype)];
        let step = self.group_for(size, &operands, 0);
        let value = self.within(step, known, dtype);
        // The value itself may be stored elsewhere: the copy is a write of its own.
        let slot = self.arena(dtype, size);
        self.draft(step).push(Item::Put(slot, Walk::along(size), value), dtype);
        self.writes(slot, step);
        slot
    }

    /// An operand of a kernel.
    pub(super) fn operand(&mut self, known: &mut Known, dtype: DType, size: usize) -> Operand {
        if let Known::One(slot, at) = known
            && size != 1
        {
            return Operand { slot: *slot, at: *at, one: true };
        }
        let (slot, at) = self.dense(known, dtype, size);
        Operand { slot, at, one: false }
    }

    /// A place for a result of the frame, which no other result has.
    pub(super) fn result(&mut self, known: &mut Known, dtype: DType, size: usize) -> Slot {
        let (slot, at) = self.dense(known, dtype, size);
        let depth = self.depth();
        let place = &mut self.places[slot as usize];
        let own = at == 0 && place.home == Home::Arena(0) && place.depth == depth && place.size == size && !place.taken;
        let slot = if own { slot } else { self.copied(&Known::Dense(slot, at), dtype, size) };
        self.places[slot as usize].taken = true;
        slot
    }

    /// A constant.
    pub(super) fn constant(&mut self, array: &Array) -> Known {
        let one = with_elem!(array.dtype(), E => array.splat::<E>().map(Array::scalar));
        let many = array.size() != 1;
        let (array, one) = match one {
            Some(scalar) => (scalar, many),
            None => (array.clone(), false),
        };
        let home = Home::Constant(self.constants.len());
        let (dtype, size) = (array.dtype(), array.size());
        self.constants.push(array);
        let slot = self.place(dtype, size, home);
        self.places[slot as usize].depth = 0;
        if one { Known::One(slot, 0) } else { Known::Dense(slot, 0) }
    }
}
