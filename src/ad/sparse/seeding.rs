//! Seeding: the recorded program that is differentiated, and which of its inputs have columns.
//!
//! Law: the columns are the elements of the float arguments, in order. Data and integers have no columns, and their
//! values are unknown to the analysis of the pattern.

use crate::ad::symbolic;
use crate::passes::optimize;
use crate::program::{Program, Slot};
use crate::shape::size;

/// A program of arguments and data.
pub(super) struct Subject {
    pub(super) program: Program,
    /// The number of inputs that are arguments, which come before data.
    pub(super) count: usize,
}

impl Subject {
    /// The optimized gradient of a scalar program in all float arguments.
    #[track_caller]
    pub(super) fn gradient(&self) -> Subject {
        let wrt: Vec<usize> = self.inputs(true).map(|(k, _)| k).collect();
        Subject { program: optimize(&symbolic::grad_in(&self.program, &wrt)), count: self.count }
    }

    /// Whether an input has columns.
    pub(super) fn has_columns(&self, input: usize) -> bool {
        input < self.count && self.program.inputs()[input].dtype.is_float()
    }

    /// The inputs that have columns, or those that have none.
    pub(super) fn inputs(&self, with_columns: bool) -> impl Iterator<Item = (usize, &Slot)> {
        let inputs = self.program.inputs().iter().enumerate();
        inputs.filter(move |(k, _)| self.has_columns(*k) == with_columns)
    }

    /// Values of the inputs that have columns, or of those that have none.
    pub(super) fn part<X: Clone>(&self, of_inputs: &[X], with_columns: bool) -> Vec<X> {
        self.inputs(with_columns).map(|(k, _)| of_inputs[k].clone()).collect()
    }

    /// The number of columns.
    pub(super) fn width(&self) -> usize {
        self.inputs(true).map(|(_, slot)| size(&slot.shape)).sum()
    }
}
