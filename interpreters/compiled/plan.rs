//! The plan of a program: lowered, with memory assigned and code made.

use super::arena;
use super::blocks::{self, Limits};
use super::memory::Slot;
use super::parts::Parts;
use super::scalars;
use super::schedule::{Known, Lowering};
use super::sides::Whole;
use super::steps::{Found, Home, Place, Plan, Step};
use crate::array::Array;
use crate::dtype::{DType, Elem};
use crate::program::Program;
use crate::shape::size;

/// Plans a program.
pub(super) fn plan(program: &Program, limits: Limits) -> Plan {
    let mut lowering = Lowering::new(limits.turned);
    let inputs: Vec<Known> = program
        .inputs()
        .iter()
        .map(|slot| Known::Dense(lowering.place(slot.dtype, size(&slot.shape), Home::Input), 0))
        .collect();
    let owned = vec![false; inputs.len()];
    let mut results = lowering.program(program, &inputs, &owned);
    let outputs: Vec<Found> = results
        .iter_mut()
        .zip(program.outputs())
        .map(|(known, slot)| {
            // The places of the inputs come first, so their numbers are those of the inputs.
            if let Known::Dense(place, 0) = known
                && let Some(input) = program.inputs().get(*place as usize)
                && input.shape == slot.shape
            {
                return Found::Input(*place as usize);
            }
            let place = lowering.result(known, slot.dtype, size(&slot.shape));
            // A number is read from the arena.
            if !slot.shape.is_empty() {
                lowering.places[place as usize].home = Home::Output;
            }
            Found::Place(place)
        })
        .collect();
    let kept: Vec<Slot> = outputs
        .iter()
        .filter_map(|found| match found {
            Found::Place(slot) => Some(*slot),
            Found::Input(_) => None,
        })
        .collect();
    let steps = lowering.leave();
    let Lowering { mut places, constants, .. } = lowering;
    let mut steps = blocks::form(steps, &mut places, &kept, limits);
    let bytes = arena::assign(&mut places, &mut steps, &kept);
    let number = |slot: Slot, at: usize| match places[slot as usize].home {
        Home::Constant(k) => known_number(&constants[k], at),
        Home::Input | Home::Output | Home::Arena(_) | Home::Loop => None,
    };
    let mut finish = Finish { places: &places, number: &number, limits, next: 0, parts: Vec::new() };
    let registers = finish.steps(&mut steps, Some(limits.sides), true);
    let (count, parts) = (finish.next, finish.parts);
    let sums = parts.iter().flatten().map(|parts| parts.all_bytes()).max().unwrap_or_default();
    Plan { steps, count, places, constants, outputs, bytes, registers, sums, parts }
}

/// An element of an array of floats.
pub(super) fn known_number(array: &Array, at: usize) -> Option<f64> {
    match array.dtype() {
        DType::F64 => f64::scalar_of(array).copied().or_else(|| Some(array.values::<f64>()?.get(at))),
        DType::F32 => f32::scalar_of(array).copied().or_else(|| Some(array.values::<f32>()?.get(at))).map(f64::from),
        DType::I64 | DType::Bool => None,
    }
}

/// The elements of places that are known numbers.
type Numbers<'a> = &'a dyn Fn(Slot, usize) -> Option<f64>;

/// Makes the code of groups, numbers steps, and says which run in parts.
struct Finish<'a> {
    places: &'a [Place],
    number: Numbers<'a>,
    limits: Limits,
    /// The number of the next step.
    next: usize,
    parts: Vec<Option<Box<Parts>>>,
}

impl Finish<'_> {
    /// Makes the code of all groups and numbers the steps, those of a list before those of its bodies.
    /// Returns the bytes of the registers of the largest group. `sides` is that of the
    /// limits, if groups run over all their positions at once; `whole` says whether no step around runs in parts.
    fn steps(&mut self, steps: &mut [Step], sides: Option<(usize, usize)>, whole: bool) -> usize {
        let mut bytes = 0;
        let first = self.next;
        self.next += steps.len();
        self.parts.resize_with(self.next, || None);
        for (number, step) in (first..).zip(steps) {
            let parts = if whole { Parts::of(step, self.places, self.limits.parts) } else { None };
            let whole = whole && parts.is_none();
            match step {
                Step::Draft(group) if group.size == 1 => {
                    *step = Step::Straight(Box::new(scalars::group(group, self.places)));
                }
                Step::Draft(group) => {
                    let whole = sides.map(|limits| Whole { places: self.places, limits });
                    *step = Step::Group(group.code(self.number, whole));
                }
                Step::Loop(l) => {
                    let numbers = Some(&**l).filter(|l| l.stacked() == 0);
                    match numbers.and_then(|l| scalars::trips(l, self.places)) {
                        Some(code) => *step = Step::Straight(Box::new(code)),
                        None => {
                            l.first = self.next;
                            bytes = bytes.max(self.steps(&mut l.body, sides.filter(|_| whole), whole));
                        }
                    }
                }
                Step::Blocks(blocks) => {
                    blocks.first = self.next;
                    bytes = bytes.max(self.steps(&mut blocks.steps, None, false));
                }
                Step::Group(_) | Step::Straight(_) | Step::Whole(_) | Step::Call(_) => {}
            }
            match step {
                Step::Group(code) => {
                    bytes = code.sides.iter().chain([&*code]).fold(bytes, |bytes, code| bytes.max(code.bytes))
                }
                Step::Straight(code) => bytes = bytes.max(code.bytes),
                Step::Draft(_) | Step::Loop(_) | Step::Whole(_) | Step::Call(_) | Step::Blocks(_) => {}
            }
            self.parts[number] = parts.map(Box::new).filter(|_| !matches!(step, Step::Straight(_)));
        }
        bytes
    }
}
