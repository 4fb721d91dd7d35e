//! Runs on slices of the caller, in place: for callers who have memory and no arrays, such as those in C.
//!
//! Law: a run writes what [`Executable::run`] returns, and copies no input, and no result that a step computes.

use super::Executable;
use super::memory::SlicePlace;
use crate::array::Array;
use crate::program::Slot;
use crate::shape::size;

/// The elements of an input, row by row, lent for a run.
///
/// Closed: each element type has one variant.
///
/// Example: [`Executable::run_slices`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the element types")]
pub enum LentSlice<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    I64(&'a [i64]),
    Bool(&'a [bool]),
}

/// The memory for a result, row by row, lent for a run.
///
/// Closed: each element type has one variant.
///
/// Example: [`Executable::run_slices`].
#[derive(Debug)]
#[allow(missing_docs, reason = "the names are those of the element types")]
pub enum LentSliceMut<'a> {
    F64(&'a mut [f64]),
    F32(&'a mut [f32]),
    I64(&'a mut [i64]),
    Bool(&'a mut [bool]),
}

impl LentSlice<'_> {
    fn place(&self) -> SlicePlace {
        match self {
            LentSlice::F64(x) => SlicePlace::of(x),
            LentSlice::F32(x) => SlicePlace::of(x),
            LentSlice::I64(x) => SlicePlace::of(x),
            LentSlice::Bool(x) => SlicePlace::of(x),
        }
    }

    /// The elements as an array, for a slot that they fit.
    #[track_caller]
    fn array(&self, slot: &Slot) -> Array {
        match self {
            LentSlice::F64(x) => Array::new(&slot.shape, x.to_vec()),
            LentSlice::F32(x) => Array::new(&slot.shape, x.to_vec()),
            LentSlice::I64(x) => Array::new(&slot.shape, x.to_vec()),
            LentSlice::Bool(x) => Array::new(&slot.shape, x.to_vec()),
        }
    }
}

impl LentSliceMut<'_> {
    fn place(&mut self) -> SlicePlace {
        match self {
            LentSliceMut::F64(y) => SlicePlace::of_mut(y),
            LentSliceMut::F32(y) => SlicePlace::of_mut(y),
            LentSliceMut::I64(y) => SlicePlace::of_mut(y),
            LentSliceMut::Bool(y) => SlicePlace::of_mut(y),
        }
    }
}

impl Executable {
    /// Writes the results for these inputs into slices of the caller, on memory of an earlier run: the elements of each
    /// input and each result, row by row.
    ///
    /// ```
    /// use polygrad::backend::{LentSlice, LentSliceMut};
    /// use polygrad::{Function, tensor};
    /// let f = Function::stage_with(|x, n| (x * 2.0, n + 1), &tensor([1.0, 2.0]), &tensor(3));
    /// let (mut y, mut m) = ([0.0; 2], [0]);
    /// f.executable().run_slices(
    ///     &[LentSlice::F64(&[0.5, 4.0]), LentSlice::I64(&[7])],
    ///     &mut [LentSliceMut::F64(&mut y), LentSliceMut::I64(&mut m)],
    /// );
    /// assert_eq!((y, m), ([1.0, 8.0], [8]));
    /// ```
    ///
    /// # Panics
    /// When there is not one slice of the right size and element type for each input and result, no memory for the run, or
    /// a check of the program does not hold: then the slices are as before.
    #[track_caller]
    pub fn run_slices(&self, inputs: &[LentSlice<'_>], results: &mut [LentSliceMut<'_>]) {
        let x: Vec<SlicePlace> = inputs.iter().map(LentSlice::place).collect();
        let y: Vec<SlicePlace> = results.iter_mut().map(LentSliceMut::place).collect();
        fitting("inputs", self.program.inputs(), &x);
        fitting("results", self.program.outputs(), &y);
        if self.has_checks {
            // A check may fail after some results have been written.
            let arrays: Vec<Array> = inputs.iter().zip(self.program.inputs()).map(|(x, slot)| x.array(slot)).collect();
            let made = self.run_fitting(&arrays);
            return made.iter().zip(results).for_each(|(made, result)| copied(made, result));
        }
        let mut run = self.start();
        run.taken.memory.run_places(&self.plan, &x, &y);
        run.taken.give_back();
    }
}

/// Copies the elements of an array to a slice of its kind.
fn copied(made: &Array, result: &mut LentSliceMut<'_>) {
    match result {
        LentSliceMut::F64(y) => y.copy_from_slice(&made.typed_elements()),
        LentSliceMut::F32(y) => y.copy_from_slice(&made.typed_elements()),
        LentSliceMut::I64(y) => y.copy_from_slice(&made.typed_elements()),
        LentSliceMut::Bool(y) => y.copy_from_slice(&made.typed_elements()),
    }
}

/// Panics unless the slices fit the inputs or results.
#[track_caller]
fn fitting(what: &str, slots: &[Slot], given: &[SlicePlace]) {
    let fits = |(slot, place): (&Slot, &SlicePlace)| slot.dtype == place.dtype && size(&slot.shape) == place.len;
    if slots.len() != given.len() || !slots.iter().zip(given).all(fits) {
        let needed: Vec<String> = slots.iter().map(|slot| format!("{} {}", size(&slot.shape), slot.dtype)).collect();
        let given: Vec<String> = given.iter().map(|place| format!("{} {}", place.len, place.dtype)).collect();
        panic!(
            "run_slices: the slices for the {what} must have {}, but they have {}; pass the elements of each, row by row",
            needed.join(", "),
            given.join(", ")
        );
    }
}
