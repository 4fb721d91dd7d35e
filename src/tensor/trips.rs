//! Checks of the carries and outputs of the trips of a loop, with errors that name the user's loop, at the user's line.
//!
//! Interpreters report errors under the name `map_accum` only ([`BaseTensor::map_accum`]), and in the closure of a trip
//! the user's line is unknown. So the first error of a trip is noted, the loop continues with zeros of the right
//! shapes, and [`Trips::end`] reports the error.

use std::cell::{OnceCell, RefCell};

use crate::array::{Array, with_elem};
use crate::base::{BaseTensor, Trip};
use crate::dtype::DType;
use crate::ops::kinds;
use crate::shape::{Shape, check_possible, try_possible, try_room};
use crate::tree::{Difference, Key, Tree};

/// The trips of one loop.
pub(super) struct Trips {
    op: &'static str,
    carry: Vec<(Shape, DType)>,
    /// The structures of the initial carry and of the outputs of the first trip, plain data included.
    structure: (Key, OnceCell<Key>),
    /// Shapes and element types of the outputs of the first trip.
    outputs: OnceCell<Vec<(Shape, DType)>>,
    fault: OnceCell<String>,
    /// The storage of each stack after the trips so far; `None` before its first known row.
    stored: RefCell<Vec<Option<Stored>>>,
}

/// The storage of a stack of known numbers.
#[derive(Clone, PartialEq)]
enum Stored {
    /// Uniform: every element is this number.
    Number(Array),
    /// Element by element.
    Elements,
}

fn kind<T: BaseTensor>(t: &T) -> (&[usize], DType) {
    (t.shape(), t.dtype())
}

fn owned<T: BaseTensor>(values: &[T]) -> Vec<(Shape, DType)> {
    let mut kinds = Vec::with_capacity(values.len());
    for t in values {
        kinds.push((Shape::from_slice(t.shape()), t.dtype()));
    }
    kinds
}

fn borrowed((shape, dtype): &(Shape, DType)) -> (&[usize], DType) {
    (shape, *dtype)
}

fn zeros<T: BaseTensor>((shape, dtype): &(Shape, DType)) -> T {
    T::zeros(shape, *dtype)
}

fn carry_changes(op: &str, difference: Difference) -> String {
    let (at, before, after) = difference.words();
    format!(
        "{op}: the carry must keep its structure, but{at} {before} became {after}; keep what is not a tensor, and carry as a tensor \
         what changes"
    )
}

fn outputs_change(op: &str, difference: Difference) -> String {
    let (at, before, after) = difference.words();
    format!(
        "{op}: outputs of all trips must have one structure, but{at} {after} came after {before}; return as a tensor what \
         changes"
    )
}

impl Trips {
    /// The trips of a loop with the name `op` and this initial carry.
    ///
    /// # Panics
    /// When there are more trips than an array can have elements.
    #[track_caller]
    pub(super) fn new<T: BaseTensor, C: Tree<T>>(op: &'static str, n: usize, carry: &C) -> Trips {
        check_possible(op, &[n]);
        Trips {
            op,
            carry: owned(&carry.leaves()),
            structure: (carry.key(), OnceCell::new()),
            outputs: OnceCell::new(),
            fault: OnceCell::new(),
            stored: RefCell::default(),
        }
    }

    /// An error unless the carry and the outputs of a trip have the structures of the initial carry and of the outputs
    /// of the first trip.
    pub(super) fn alike<T: BaseTensor, C: Tree<T>, Y: Tree<T>>(&self, carry: &C, outputs: &Y) -> Result<(), String> {
        if let Some(difference) = self.structure.0.difference_to::<T>(&|visitor| carry.visit(visitor)) {
            return Err(carry_changes(self.op, difference));
        }
        let first = self.first_structure(&|| outputs.key());
        match first.difference_to::<T>(&|visitor| outputs.visit(visitor)) {
            Some(difference) => Err(outputs_change(self.op, difference)),
            None => Ok(()),
        }
    }

    /// The structure of the outputs of the first trip; `now` gives that of the current one. Compiled once for all types.
    fn first_structure(&self, now: &dyn Fn() -> Key) -> &Key {
        self.structure.1.get_or_init(now)
    }

    /// The carry and the outputs of one trip; if these do not fit, notes the error and gives zeros of the right shapes.
    pub(super) fn returned<T: BaseTensor>(&self, carry: Vec<T>, outputs: Vec<T>, alike: Result<(), String>) -> Trip<T> {
        match self.check(&carry, &outputs).and(alike) {
            Ok(()) => (carry, outputs),
            Err(fault) => {
                self.fault.get_or_init(|| fault);
                (self.carry.iter().map(zeros).collect(), self.outputs.get().into_iter().flatten().map(zeros).collect())
            }
        }
    }

    fn check<T: BaseTensor>(&self, carry: &[T], outputs: &[T]) -> Result<(), String> {
        let first = self.outputs.get_or_init(|| owned(outputs));
        kinds::try_carry(self.op, self.carry.iter().map(borrowed), carry.iter().map(kind))?;
        first.iter().zip(outputs).try_for_each(|(first, now)| kinds::try_output(self.op, borrowed(first), kind(now)))
    }

    /// Panics if a trip returned values that do not fit.
    #[track_caller]
    pub(super) fn end(self) {
        if let Err(fault) = self.try_end() {
            panic!("{fault}");
        }
    }

    /// Whether a trip has returned values that do not fit.
    pub(super) fn have_fault(&self) -> bool {
        self.fault.get().is_some()
    }

    /// Panics if a trip has returned values that do not fit. The checks go on, as the trips of a checkpointed loop may
    /// run again.
    #[track_caller]
    pub(super) fn so_far(&self) {
        if let Some(fault) = self.fault.get() {
            panic!("{fault}");
        }
    }

    /// An error if the outputs of `n` trips, stacked, have more elements than an array can have. Only the outputs of
    /// the first trip are looked at, before it has [`returned`](Trips::returned): those of later trips have the same
    /// shapes.
    pub(super) fn stackable<T: BaseTensor>(&self, n: usize, outputs: &[T]) -> Result<(), String> {
        if self.outputs.get().is_some() {
            return Ok(());
        }
        outputs.iter().try_for_each(|y| try_possible(self.op, &[&[n], y.shape()].concat()))
    }

    /// An error if memory is too small for the stacks of `n` trips, in an interpreter that computes. A stack is stored
    /// as one number as long as all its rows are that number repeated.
    pub(super) fn storable<T: BaseTensor>(&self, n: usize, outputs: &[T]) -> Result<(), String> {
        if T::records() {
            return Ok(());
        }
        let mut stored = self.stored.borrow_mut();
        stored.resize(outputs.len(), None);
        for (stack, y) in stored.iter_mut().zip(outputs) {
            let Some(row) = y.peek().filter(|_| *stack != Some(Stored::Elements)) else { continue };
            let number = with_elem!(row.dtype(), E => row.splat::<E>().map(|x| Array::full(&[], x)));
            let now = number.map_or(Stored::Elements, Stored::Number);
            let repeats = stack.as_ref().is_none_or(|before| *before == now);
            *stack = Some(if repeats { now } else { Stored::Elements });
            if *stack == Some(Stored::Elements) {
                try_room(&[&[n], y.shape()].concat(), y.dtype().width())?;
            }
        }
        Ok(())
    }

    /// [`end`](Trips::end), with the message as an error.
    pub(super) fn try_end(self) -> Result<(), String> {
        self.fault.into_inner().map_or(Ok(()), Err)
    }
}
