//! Stable argsorts as trees: elements and their positions move together.
//!
//! Laws: those of [`sorting`](crate::kernels::sorting): ascending and descending order are both stable, with NaN last.
//! Runs of [`RUN`] elements are sorted by insertion, then pairs of runs are merged: the number of comparisons of `n`
//! elements is at most proportional to `n log n`.

use super::idioms::{at, start};
use super::tree::{ElementIndex, ElementPlace, Expression};
use super::writer::Writer;
use crate::backend::ir::step::Ranks;
use crate::dtype::DType;
use crate::kernels::sorting::Lines;
use crate::ops::Compare;

/// The number of elements of a line that insertion sorts alone.
const SHORT: usize = 32;

/// The number of elements of a run that insertion sorts, of a longer line.
const RUN: usize = 16;

/// A line that is sorted: the elements and their positions.
struct Sorted {
    dtype: DType,
    descending: bool,
    len: usize,
    keys: ElementPlace,
    positions: ElementPlace,
    /// The longest left one of two runs that are merged, and memory for its elements and positions.
    half: usize,
    memory: Option<[ElementPlace; 2]>,
}

/// Writes the argsort of each line of an array of `size` elements; at other ranks the result is unchanged.
pub(crate) fn argsort(
    w: &mut Writer,
    dtype: DType,
    (lines, ranks): (Lines, &Ranks),
    size: usize,
    x: &ElementPlace,
    out: &ElementPlace,
) {
    let Lines { len, inner, descending } = lines;
    if size == 0 || ranks.iter().all(|ranks| ranks.is_empty()) {
        return;
    }
    // The last runs that are merged have the length of the greatest power of two below `len`.
    let half = if len <= SHORT { 0 } else { len.next_power_of_two() / 2 };
    let [keys, positions] = [dtype, DType::I64].map(|dtype| w.scratch(dtype, len));
    let memory = (half > 0).then(|| [dtype, DType::I64].map(|dtype| w.scratch(dtype, half)));
    let sorted = Sorted { dtype, descending, len, keys, positions, half, memory };
    w.for_box(&[size / (len * inner), inner], &mut |w, lines| {
        let first = lines[0].clone().times((len * inner) as i64).plus(&lines[1]);
        let place = |i: &ElementIndex| first.clone().plus(&i.clone().times(inner as i64));
        w.for_(len, |w, i| {
            w.store(&sorted.keys, i, x.load(&place(i)));
            w.store(&sorted.positions, i, Expression::Position(i.clone()));
        });
        sorted.sort(w);
        for ranks in ranks.iter() {
            w.range(at(ranks.start), at(ranks.end), |w, i| w.store(out, &place(i), sorted.positions.load(i)));
        }
    });
}

impl Sorted {
    fn sort(&self, w: &mut Writer) {
        let Some(memory) = &self.memory else { return self.insert(w, &start(), &at(self.len)) };
        let whole = self.len / RUN;
        w.for_(whole, |w, k| {
            let from = k.clone().times(RUN as i64);
            self.insert(w, &from, &from.clone().plus_constant(RUN as i64));
        });
        if whole * RUN < self.len {
            self.insert(w, &at(whole * RUN), &at(self.len));
        }
        let (width, run) = w.moving(at(RUN));
        w.loop_(|w| {
            w.break_if(Expression::Below(at(self.half), run.clone()));
            self.merge_pairs(w, memory, &run);
            w.move_to(width, run.clone().times(2));
        });
    }

    /// Whether the first key comes before the second one, and is not equal to it.
    fn precedes(&self, a: Expression, b: Expression) -> Expression {
        let less = Expression::compare(if self.descending { Compare::Gt } else { Compare::Lt }, a.clone(), b.clone());
        match self.dtype.is_float() {
            true => Expression::or(
                less,
                Expression::and(Expression::is_number(a), Expression::not(Expression::is_number(b))),
            ),
            false => less,
        }
    }

    /// Sorts a run by insertion.
    fn insert(&self, w: &mut Writer, from: &ElementIndex, to: &ElementIndex) {
        let second = from.clone().plus_constant(1);
        w.range(second.clone(), to.clone(), |w, i| {
            w.for_loop((second, i.clone().plus_constant(1)), true, |w, j| {
                let before = j.clone().plus_constant(-1);
                let [a, b] = [&before, j].map(|at| w.let_(self.dtype, self.keys.load(at)));
                let [a, b] = [a, b].map(Expression::Variable);
                w.break_if(Expression::not(self.precedes(b.clone(), a.clone())));
                w.store(&self.keys, &before, b);
                w.store(&self.keys, j, a);
                let a = Expression::Variable(w.let_(DType::I64, self.positions.load(&before)));
                w.store(&self.positions, &before, self.positions.load(j));
                w.store(&self.positions, j, a);
            });
        });
    }

    /// Merges each two runs of `run` elements that follow each other; the last run may be shorter, or be alone.
    fn merge_pairs(&self, w: &mut Writer, [keys, positions]: &[ElementPlace; 2], run: &ElementIndex) {
        let len = at(self.len);
        let (left, from) = w.moving(start());
        w.loop_(|w| {
            let (_, middle) = w.moving(from.clone().plus(run));
            w.break_if(Expression::AtMost(len.clone(), middle.clone()));
            let (right, to) = w.moving(middle.clone().plus(run));
            w.if_(Expression::Below(len.clone(), to.clone()), |w| w.move_to(right, len.clone()));
            w.range(start(), run.clone(), |w, k| {
                let here = from.clone().plus(k);
                w.if_(Expression::Below(here.clone(), len.clone()), |w| {
                    w.store(keys, k, self.keys.load(&here));
                    w.store(positions, k, self.positions.load(&here));
                });
            });
            let ((i, of_left), (j, of_right)) = (w.moving(start()), w.moving(middle));
            w.for_loop((from.clone(), to.clone()), false, |w, k| {
                // What is left of the right run is at its place.
                w.break_if(Expression::AtMost(run.clone(), of_left.clone()));
                let a = Expression::Variable(w.let_(self.dtype, keys.load(&of_left)));
                let from_right = self.precedes(self.keys.load(&of_right), a.clone());
                w.if_else(
                    Expression::All(vec![Expression::Below(of_right.clone(), to.clone()), from_right]),
                    |w| {
                        w.store(&self.keys, k, self.keys.load(&of_right));
                        w.store(&self.positions, k, self.positions.load(&of_right));
                        w.move_to(j, of_right.clone().plus_constant(1));
                    },
                    |w| {
                        w.store(&self.keys, k, a);
                        w.store(&self.positions, k, positions.load(&of_left));
                        w.move_to(i, of_left.clone().plus_constant(1));
                    },
                );
            });
            w.move_to(left, to);
        });
    }
}

#[cfg(test)]
mod tests;
