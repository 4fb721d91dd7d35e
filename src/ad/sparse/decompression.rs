//! Decompression: the program that reads the elements of a sparse matrix off the results of the passes.
//!
//! Law: the results of the program are the values of the entries of the pattern, in order. This module depends on the
//! recorded program alone and is not generic in the types of a user's function, so it is compiled once.

use super::bicoloring::{Bicoloring, MatrixElements};
use super::coloring::{self, Colors};
use super::input_slicing::SlicedProgram;
use super::passes::{added, closed, copied, passed, pulled, pushed, taken};
use super::pattern::SparsityPattern;
use super::seeding::Subject;
use crate::program::{Program, Term};

/// A pattern, and the program of the values of its entries in order.
pub(super) struct PatternValues {
    pub(super) pattern: SparsityPattern,
    /// The number of passes of forward and of reverse mode.
    pub(super) passes: [usize; 2],
    pub(super) colors: MatrixColors,
    pub(super) program: Program,
}

/// The colours by which the entries of a matrix are read off passes.
#[derive(Clone, Debug)]
pub(super) enum MatrixColors {
    /// Of a Jacobian.
    Both(Bicoloring),
    /// Of a symmetric matrix: an entry is read off the pass of its column, or its mirror image off that of its row.
    Star(Colors),
    /// Of a diagonal.
    Diagonal(Colors),
}

impl MatrixColors {
    /// For each entry the pass that it is read off: those of forward mode first.
    pub(super) fn passes_of(&self, pattern: &SparsityPattern) -> Vec<u32> {
        match self {
            MatrixColors::Both(colors) => colors.passes_of(pattern),
            MatrixColors::Star(colors) => {
                star_places(pattern, colors).into_iter().map(|(column, _)| colors[column]).collect()
            }
            MatrixColors::Diagonal(colors) => pattern.entries().map(|(k, _)| colors[k]).collect(),
        }
    }
}

/// For each entry of a symmetric matrix with a star colouring, the column whose pass contains it, and its row there.
fn star_places(pattern: &SparsityPattern, colors: &Colors) -> Vec<(usize, usize)> {
    // In the pass of a colour, a row has the sum of its elements in the columns of this colour. An element that is
    // alone in this sum is read there; any other element is read as its mirror image, in the pass of the colour of
    // its row.
    let (mut alone, mut last) = (vec![true; pattern.len()], vec![None; coloring::count(colors)]);
    for (place, (i, j)) in pattern.entries().enumerate() {
        if let Some((row, other)) = last[colors[j] as usize].replace((i, place))
            && row == i
        {
            (alone[place], alone[other]) = (false, false);
        }
    }
    pattern.entries().zip(&alone).map(|((i, j), alone)| if *alone { (j, i) } else { (i, j) }).collect()
}

impl PatternValues {
    pub(super) fn into_parts(self) -> (SparsityPattern, Program) {
        (self.pattern, self.program)
    }

    pub(super) fn of_jacobian(subject: &Subject) -> PatternValues {
        let reads = SlicedProgram::of(subject);
        let of_reads = SparsityPattern::read(reads.as_ref().map_or(subject, |reads| &reads.rest));
        let merged = reads.as_ref().map(|reads| of_reads.of_copies(&reads.sources, subject.width()));
        let pattern = merged.as_ref().map_or(&of_reads, |merged| &merged.pattern);
        let elements = MatrixElements::new(pattern, &of_reads, reads.as_ref().map(|reads| &reads.sources[..]));
        let colors = elements.colors();
        let inputs = Term::variables(subject.program.inputs());
        let (forward, reverse) = (coloring::count(&colors.columns), coloring::count(&colors.rows));
        let pushed = passed(subject, &colors.columns, forward, &|seed| pushed(subject, &inputs, seed));
        let (of, copies) = match &reads {
            Some(reads) if reverse > 0 => (&reads.rest, copied(subject, reads, &inputs)),
            Some(_) | None => (subject, inputs.clone()),
        };
        let pulled = passed(of, &colors.rows, reverse, &|seed| pulled(of, &copies, seed));
        let (height, width) = (pattern.shape().0, of_reads.shape().1);
        let start = forward * height;
        let off_columns = |(i, j): (usize, usize)| {
            let forward = colors.is_forward(&elements, i, j);
            forward.then(|| colors.columns[j] as i64 * height as i64 + i as i64)
        };
        let off_rows = |(i, j): (usize, usize)| match colors.rows[i] {
            // Nothing is read there.
            coloring::NO => 0,
            color => start as i64 + color as i64 * width as i64 + j as i64,
        };
        let (results, whole) = (pushed.and(pulled), pattern.entries().map(off_columns));
        let off_rows = of_reads.entries().map(off_rows);
        let values = match &merged {
            Some(merged) => added(&results, &whole.collect::<Vec<_>>(), &off_rows.collect::<Vec<i64>>(), merged),
            None => taken(&results, whole.zip(off_rows).map(|(whole, row)| whole.unwrap_or(row)).collect()),
        };
        let program = closed(&subject.program, &inputs, values);
        let pattern = merged.map_or(of_reads, |merged| merged.pattern);
        PatternValues { pattern, passes: [forward, reverse], colors: MatrixColors::Both(colors), program }
    }

    /// The Hessian of the function that has this gradient.
    pub(super) fn of_hessian(gradient: &Subject) -> PatternValues {
        let pattern = SparsityPattern::read(gradient).symmetric();
        let colors = coloring::stars(pattern.rows());
        let places = star_places(&pattern, &colors).into_iter();
        let (passes, program) = by_columns(gradient, &colors, places);
        PatternValues { pattern, passes: [passes, 0], colors: MatrixColors::Star(colors), program }
    }

    /// The diagonal of the Hessian of the function that has this gradient.
    pub(super) fn of_diagonal(gradient: &Subject) -> PatternValues {
        let whole = SparsityPattern::read(gradient).symmetric();
        let (n, colors) = (whole.shape().0, coloring::neighbours_apart(whole.rows()));
        let (passes, program) = by_columns(gradient, &colors, (0..n).map(|k| (k, k)));
        let pattern = SparsityPattern::diagonal((0..n).map(|k| whole.is_constant_at(k)).collect());
        PatternValues { pattern, passes: [passes, 0], colors: MatrixColors::Diagonal(colors), program }
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
