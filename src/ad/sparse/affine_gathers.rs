//! Affine gathers: elements at known places, as a few slices if the places are regular.
//!
//! The matrix of a loop over observations is periodic: from one observation to the next, each place increases by a
//! constant step, mostly by one. Then the elements are a few slices of the results of the passes, side by side, which
//! are fused with the operations before, while a gather reads an index for each element from an operand that must be in
//! memory. (If most places increase by more than one, as in a band matrix whose columns alternate among three passes,
//! strided slices take half as long again as the gather.)
//!
//! Law: the result is that of the gather at these places.

use crate::array::Array;
use crate::base::BaseTensor;
use crate::ops::Linear;
use crate::program::Term;
use crate::shape::size;
use crate::tree::ravel::ravel;

/// The largest number of slices.
const MOST: usize = 64;
/// The smallest mean number of elements of a slice.
const AT_LEAST: usize = 8;
/// At most one element in this many may be in a slice with a step larger than one.
const SKIPPING: usize = 4;

/// The number of rows after which a width counts as the period.
const ENOUGH: usize = 32;

/// The elements of a vector at these places.
pub(super) fn gathered(vector: &Term, places: Vec<i64>) -> Term {
    vector.gather(&[Term::constant(Array::new(&[places.len()], places))])
}

/// The elements of a vector at these places, by slices if a few slices have these places.
pub(super) fn read(vector: &Term, places: Vec<i64>) -> Term {
    match runs(&places) {
        Some(runs) => ravel(&runs.iter().map(|run| run.read(vector)).collect::<Vec<Term>>()),
        None => gathered(vector, places),
    }
}

/// Places in rows: in each column, the place increases by a constant step from row to row.
#[derive(Debug, PartialEq, Eq)]
struct GatherRun {
    rows: usize,
    /// For each column its first place, and the step.
    columns: Vec<(usize, usize)>,
}

impl GatherRun {
    fn read(&self, vector: &Term) -> Term {
        let column = |(first, step): &(usize, usize)| {
            let slice = vector.linear(&Linear::slice(vector.shape(), 0, *first, self.rows, *step));
            slice.linear(&Linear::reshape(&[self.rows], &[self.rows, 1]))
        };
        let all = Term::concat(1, &self.columns.iter().map(column).collect::<Vec<Term>>());
        all.linear(&Linear::reshape(all.shape(), &[size(all.shape())]))
    }
}

/// The places as runs; `None` if these would take too many slices, or too many with steps larger than one.
fn runs(places: &[i64]) -> Option<Vec<GatherRun>> {
    let (mut runs, mut rest, mut slices, mut skipping) = (Vec::new(), places, 0, 0);
    while !rest.is_empty() {
        let width = width(rest);
        let rows = rows(rest, width, usize::MAX);
        let step = |k: usize| if rows > 1 { rest[width + k] - rest[k] } else { 1 };
        let columns: Vec<(usize, usize)> = (0..width).map(|k| (rest[k] as usize, step(k) as usize)).collect();
        slices += width;
        skipping += rows * columns.iter().filter(|(_, step)| *step > 1).count();
        if slices > MOST || slices * AT_LEAST > places.len() || skipping * SKIPPING > places.len() {
            return None;
        }
        runs.push(GatherRun { rows, columns });
        rest = &rest[rows * width..];
    }
    Some(runs)
}

/// The width of the first rows: the least width that repeats `ENOUGH` times, or else the width that repeats most often.
fn width(places: &[i64]) -> usize {
    let mut best = (0, 1);
    for width in 1..=MOST.min(places.len()) {
        let rows = rows(places, width, ENOUGH);
        if rows > best.0 {
            best = (rows, width);
        }
        if rows == ENOUGH {
            break;
        }
    }
    best.1
}

/// The number of first rows of this width, at most `most`, such that each column increases by a constant positive step.
fn rows(places: &[i64], width: usize, most: usize) -> usize {
    let step = |k: usize| places[k] - places[k - width];
    let differs = |k: &usize| step(*k) < 1 || (*k >= 2 * width && step(*k) != step(k - width));
    let end = places.len().min(most.saturating_mul(width));
    (width..end).find(differs).unwrap_or(end) / width
}

#[cfg(test)]
mod tests {
    use crate::ad::sparse::affine_gathers::*;
    use crate::array::Rng;
    use crate::dtype::DType;
    use crate::program::interpret;

    /// The places of runs, each of a number of rows, a width, and a step from row to row.
    fn places(runs: &[(usize, usize, i64)], seed: u64) -> Vec<i64> {
        let mut all = Vec::new();
        for (k, (rows, width, step)) in runs.iter().enumerate() {
            let first = Rng::new(seed + k as u64).uniform([*width], 0.0, 100.0).to_int().to_vec();
            all.extend((0..*rows as i64).flat_map(|row| first.iter().map(move |first| first + row * step)));
        }
        all
    }

    #[test]
    fn slices_are_the_elements_of_the_gather() {
        let all: [&[(usize, usize, i64)]; 8] = [
            &[(100, 1, 1)],
            &[(50, 28, 1), (400, 1, 1)],
            &[(1, 5, 1), (40, 7, 1), (1, 3, 1)],
            &[(3, 60, 1), (9, 2, 1)],
            &[(40, 7, 3), (500, 2, 1), (10, 2, 0)],
            &[(31, 64, 1)],
            &[(20, 3, 1), (20, 4, 1), (20, 5, 1), (20, 6, 1)],
            &[(1, 200, 1)],
        ];
        let numbers: Vec<f64> = (0..1000).map(f64::from).collect();
        for (k, rows) in all.iter().enumerate() {
            for seed in 0..5 {
                let places = places(rows, seed);
                let vector = Term::variable(&[1000], DType::F64);
                let found = read(&vector, places.clone());
                let program = Term::program(&[vector], &[found], &[]).expect("a closed program");
                let found = interpret(&program, vec![Array::from(numbers.clone())]).remove(0);
                let known: Vec<f64> = places.iter().map(|place| *place as f64).collect();
                assert_eq!(found, Array::from(known), "{k}, seed {seed}");
            }
        }
    }

    #[test]
    fn what_repeats_is_in_few_slices() {
        let found = |rows: &[(usize, usize, i64)]| {
            let runs = runs(&places(rows, 3))?;
            Some(runs.iter().map(|run| (run.rows, run.columns.len())).collect::<Vec<_>>())
        };
        assert_eq!(found(&[(1000, 28, 1), (500, 1, 1)]), Some(vec![(1000, 28), (500, 1)]));
        assert_eq!(found(&[(100, 64, 1)]), Some(vec![(100, 64)]));
        assert_eq!(found(&[(1000, 28, 1), (400, 6, 2)]), Some(vec![(1000, 28), (400, 6)]));
        // No slices: too many slices, too few elements for each, places without a period, steps larger than one, steps
        // below one.
        assert_eq!(found(&[(100, 65, 1)]), None);
        assert_eq!(found(&[(5, 28, 1)]), None);
        assert_eq!(found(&[(1, 3000, 1)]), None);
        assert_eq!(found(&[(1000, 3, 2)]), None);
        assert_eq!(found(&[(1000, 3, 0)]), None);
        assert_eq!(found(&[(1000, 3, -1)]), None);
        assert_eq!(runs(&[]), Some(Vec::new()));
    }
}
