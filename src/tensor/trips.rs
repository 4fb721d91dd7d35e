//! Checks of what the trips of a loop return, reported with the name of the loop that the user called, at the user's
//! line.
//!
//! Interpreters check [`BaseTensor::map_accum`] under that name only, and the closure of a trip does not know the
//! user's line. So a mistake in a trip is noted, the loop goes on with zeros of the right shapes, and [`Trips::end`]
//! reports the mistake.

use std::cell::{OnceCell, RefCell};

use crate::array::{Array, with_elem};
use crate::base::{BaseTensor, Trip};
use crate::dtype::DType;
use crate::ops::kinds;
use crate::shape::{Shape, check_possible, try_possible, try_room};
use crate::tree::{Key, Tree};

/// The trips of one loop.
pub(super) struct Trips {
    op: &'static str,
    carry: Vec<(Shape, DType)>,
    /// The carry with everything beside its leaves, and the outputs of the first trip.
    structure: (Key, OnceCell<Key>),
    /// The outputs of the first trip.
    outputs: OnceCell<Vec<(Shape, DType)>>,
    fault: OnceCell<String>,
    /// How the stacks are stored so far, where that is known.
    stored: RefCell<Vec<Option<Stored>>>,
}

/// How a stack of known numbers is stored.
#[derive(Clone, PartialEq)]
enum Stored {
    /// As this number, which is every element of it.
    Number(Array),
    /// Element by element.
    Elements,
}

fn kind<T: BaseTensor>(t: &T) -> (&[usize], DType) {
    (t.shape(), t.dtype())
}

fn owned<T: BaseTensor>(values: &[T]) -> Vec<(Shape, DType)> {
    values.iter().map(|t| (Shape::from_slice(t.shape()), t.dtype())).collect()
}

fn borrowed((shape, dtype): &(Shape, DType)) -> (&[usize], DType) {
    (shape, *dtype)
}

fn zeros<T: BaseTensor>((shape, dtype): &(Shape, DType)) -> T {
    T::zeros(shape, *dtype)
}

impl Trips {
    /// The trips of a loop that has the name `op` and starts with this carry.
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

    /// Whether the structures that a trip returned are those of the carry and of the outputs of the first trip.
    pub(super) fn alike<T: BaseTensor, C: Tree<T>, Y: Tree<T>>(&self, carry: &C, outputs: &Y) -> Result<(), String> {
        let op = self.op;
        if let Some(difference) = self.structure.0.difference_to::<T>(|visitor| carry.visit(visitor)) {
            let (at, before, after) = difference.words();
            return Err(format!(
                "{op}: the carry must keep its structure, but{at} {before} became {after}; keep what is no tensor, and carry as a tensor \
                 what changes"
            ));
        }
        let first = self.structure.1.get_or_init(|| outputs.key());
        if let Some(difference) = first.difference_to::<T>(|visitor| outputs.visit(visitor)) {
            let (at, before, after) = difference.words();
            return Err(format!(
                "{op}: outputs of all trips must have one structure, but{at} {before} was followed by {after}; return as a tensor what \
                 changes"
            ));
        }
        Ok(())
    }

    /// What one trip returned, or zeros of the right shapes if that does not fit.
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

    /// Panics if a trip has returned values that do not fit; trips may run again later.
    #[track_caller]
    pub(super) fn so_far(&self) {
        if let Some(fault) = self.fault.get() {
            panic!("{fault}");
        }
    }

    /// Whether the outputs of `n` trips like the first one can be stacked. Asked before the first trip has
    /// [`returned`](Trips::returned); every later trip fits the first.
    pub(super) fn stackable<T: BaseTensor>(&self, n: usize, outputs: &[T]) -> Result<(), String> {
        if self.outputs.get().is_some() {
            return Ok(());
        }
        outputs.iter().try_for_each(|y| try_possible(self.op, &[&[n], y.shape()].concat()))
    }

    /// Whether there is memory for the stacks of `n` trips, if these have numbers. A stack is stored as one number as
    /// long as the rows are that number.
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
