//! Decompression: the program that reads the elements of a sparse matrix off the results of the passes.
//!
//! Law: the results of the program are the values of the entries of the pattern, in order. This module depends on the
//! recorded program alone and is not generic in the types of a user's function, so it is compiled once.

use super::coloring::{self, Colors};
use super::function::SparseFunction;
use super::input_slicing::SlicedProgram;
use super::passes::{added, closed, copied, passed, pulled, pushed, taken};
use super::pattern::SparsityPattern;
use super::seeding::Subject;
use crate::ad::function::{Fixed, Function};
use crate::ad::modes::Mode;
use crate::array::Array;
use crate::program::{Program, Term};
use crate::tree::Tree;

/// A pattern, and the program of the values of its entries in order.
pub(super) struct PatternValues {
    pattern: SparsityPattern,
    mode: Mode,
    passes: usize,
    program: Program,
}

impl PatternValues {
    /// The function of arguments and data like these.
    #[track_caller]
    pub(super) fn function<P: Tree<Array>, Q: Tree<Array>>(self, like: (&P, &Q), fixed: Fixed) -> SparseFunction<P, Q> {
        let PatternValues { pattern, mode, passes, program } = self;
        let function = Function::made(program, like, fixed, pattern.len());
        SparseFunction { pattern, mode, passes, function }
    }

    pub(super) fn of_jacobian(subject: &Subject) -> PatternValues {
        let reads = SlicedProgram::of(subject);
        let of_reads = SparsityPattern::read(reads.as_ref().map_or(subject, |reads| &reads.rest));
        let merged = reads.as_ref().map(|reads| of_reads.of_copies(&reads.sources, subject.width()));
        let pattern = merged.as_ref().map_or(&of_reads, |merged| &merged.pattern);
        let (mode, colors) = chosen(pattern, &of_reads);
        let passes = coloring::count(&colors);
        let inputs = Term::variables(subject.program.inputs());
        let place = |pass: u32, len: usize, at: usize| pass as i64 * len as i64 + at as i64;
        let values = match mode {
            Mode::Forward => {
                let results = passed(subject, &colors, passes, &|seed| pushed(subject, &inputs, seed));
                let rows = pattern.shape().0;
                let places = pattern.entries().map(|(i, j)| place(colors[j], rows, i)).collect();
                taken(&results, places)
            }
            Mode::Reverse => {
                let (of, inputs) = match &reads {
                    Some(reads) => (&reads.rest, copied(subject, reads, &inputs)),
                    None => (subject, inputs.clone()),
                };
                let results = passed(of, &colors, passes, &|seed| pulled(of, &inputs, seed));
                let columns = of_reads.shape().1;
                let places = of_reads.entries().map(|(i, j)| place(colors[i], columns, j));
                match &merged {
                    Some(merged) => added(&results, &places.collect::<Vec<i64>>(), merged),
                    None => taken(&results, places.collect()),
                }
            }
        };
        let program = closed(&subject.program, &inputs, values);
        PatternValues { pattern: merged.map_or(of_reads, |merged| merged.pattern), mode, passes, program }
    }

    /// The Hessian of the function that has this gradient.
    pub(super) fn of_hessian(gradient: &Subject) -> PatternValues {
        let pattern = SparsityPattern::read(gradient).symmetric();
        let colors = coloring::stars(pattern.rows());
        // In the pass of a colour, a row has the sum of its elements in the columns of this colour. An element that is
        // alone in this sum is read there; any other element is read as its mirror image, in the pass of the colour of
        // its row.
        let (mut alone, mut last) = (vec![true; pattern.len()], vec![None; coloring::count(&colors)]);
        for (place, (i, j)) in pattern.entries().enumerate() {
            if let Some((row, other)) = last[colors[j] as usize].replace((i, place))
                && row == i
            {
                (alone[place], alone[other]) = (false, false);
            }
        }
        let places = pattern.entries().zip(&alone).map(|((i, j), alone)| if *alone { (j, i) } else { (i, j) });
        let (passes, program) = by_columns(gradient, &colors, places);
        PatternValues { pattern, mode: Mode::Forward, passes, program }
    }

    /// The diagonal of the Hessian of the function that has this gradient.
    pub(super) fn of_diagonal(gradient: &Subject) -> PatternValues {
        let whole = SparsityPattern::read(gradient).symmetric();
        let (n, colors) = (whole.shape().0, coloring::neighbours_apart(whole.rows()));
        let (passes, program) = by_columns(gradient, &colors, (0..n).map(|k| (k, k)));
        let pattern = SparsityPattern::diagonal((0..n).map(|k| whole.is_constant_at(k)).collect());
        PatternValues { pattern, mode: Mode::Forward, passes, program }
    }
}

/// The number of passes, and the program of elements of the Hessian: for each element, `places` has the column whose
/// pass contains it, and its row.
fn by_columns(gradient: &Subject, colors: &Colors, places: impl Iterator<Item = (usize, usize)>) -> (usize, Program) {
    let (inputs, passes) = (Term::variables(gradient.program.inputs()), coloring::count(colors));
    let results = passed(gradient, colors, passes, &|seed| pushed(gradient, &inputs, seed));
    let places: Vec<i64> = places.map(|(j, i)| colors[j] as i64 * colors.len() as i64 + i as i64).collect();
    (passes, closed(&gradient.program, &inputs, taken(&results, places)))
}

/// The mode whose passes cost less, and its colours: of the columns of the pattern in the inputs, or of the rows of the
/// pattern in the copies. One pass of reverse mode costs about as much as one and a half passes of forward mode. A
/// colouring that cannot be better than that of the other mode is not made.
fn chosen(of_inputs: &SparsityPattern, of_reads: &SparsityPattern) -> (Mode, Colors) {
    let of_columns = of_inputs.rows().turned(of_inputs.shape().1, |_, _| ());
    let forward = |most: usize| coloring::columns(&of_columns, of_inputs.rows(), most);
    let of_copies = of_reads.rows().turned(of_reads.shape().1, |_, _| ());
    let reverse = |most: usize| coloring::columns(of_reads.rows(), &of_copies, most);
    let all = "a row has no more colours than rows";
    if 2 * of_inputs.rows().longest() <= 3 * of_copies.longest() {
        let colors = forward(usize::MAX).expect(all);
        match reverse((2 * coloring::count(&colors)).saturating_sub(1) / 3) {
            Some(better) => (Mode::Reverse, better),
            None => (Mode::Forward, colors),
        }
    } else {
        let colors = reverse(usize::MAX).expect(all);
        match forward(3 * coloring::count(&colors) / 2) {
            Some(better) => (Mode::Forward, better),
            None => (Mode::Reverse, colors),
        }
    }
}
