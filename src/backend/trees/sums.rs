//! Long sums as several partial sums, so that the additions of a sum do not wait for each other.
//!
//! There are 16 partial sums, so that compilers do not take the loop over them apart.

use super::tree::{ElementIndex, ElementPlace, Expression, VariableId};
use super::writer::Writer;
use crate::dtype::DType;

/// The partial sums of a long sum, and the least length of a long sum.
const LANES: usize = 16;
const LONG: usize = 48;

/// Where a term is added.
#[derive(Clone, Debug)]
pub(crate) enum SumTarget {
    Variable(VariableId),
    /// An element of the partial sums.
    Lane(ElementPlace, ElementIndex),
}

impl SumTarget {
    /// Adds a term.
    pub(crate) fn add(&self, w: &mut Writer, dtype: DType, term: Expression) {
        match self {
            SumTarget::Variable(variable) => {
                w.set(*variable, Expression::sum(dtype, Expression::Variable(*variable), term))
            }
            SumTarget::Lane(place, lane) => {
                let sum = Expression::sum(dtype, place.load(lane), term);
                w.store(place, lane, sum);
            }
        }
    }
}

/// Writes a loop over `from..to` that adds terms to variables: `body` gets the counter and the target of each sum.
pub(crate) fn summed(
    w: &mut Writer,
    (from, to): (usize, usize),
    sums: &[(VariableId, DType)],
    body: &mut dyn FnMut(&mut Writer, &ElementIndex, &[SumTarget]),
) {
    let whole: Vec<SumTarget> = sums.iter().map(|(variable, _)| SumTarget::Variable(*variable)).collect();
    let line = |w: &mut Writer, from: usize, body: &mut dyn FnMut(&mut Writer, &ElementIndex, &[SumTarget])| {
        w.for_range((ElementIndex::constant(from as i64), ElementIndex::constant(to as i64)), false, |w, i| {
            body(w, i, &whole)
        });
    };
    if to - from < LONG || sums.is_empty() || !sums.iter().all(|(_, dtype)| dtype.is_float()) {
        return line(w, from, body);
    }
    let blocks = (to - from) / LANES;
    let lanes: Vec<ElementPlace> = sums.iter().map(|(_, dtype)| w.scratch(*dtype, LANES)).collect();
    for (place, (_, dtype)) in lanes.iter().zip(sums) {
        w.for_(LANES, |w, lane| w.store(place, lane, Expression::zero(*dtype)));
    }
    w.for_(blocks, |w, block| {
        w.for_(LANES, |w, lane| {
            let targets: Vec<SumTarget> =
                lanes.iter().map(|place| SumTarget::Lane(place.clone(), lane.clone())).collect();
            body(w, &block.clone().times(LANES as i64).plus(lane).plus_constant(from as i64), &targets);
        });
    });
    line(w, from + blocks * LANES, body);
    for (place, (variable, dtype)) in lanes.iter().zip(sums) {
        let mut parts: Vec<Expression> =
            (0..LANES as i64).map(|lane| place.load(&ElementIndex::constant(lane))).collect();
        while parts.len() > 1 {
            let half = parts.split_off(parts.len() / 2);
            parts = parts.into_iter().zip(half).map(|(a, b)| Expression::sum(*dtype, a, b)).collect();
        }
        let total = Expression::sum(*dtype, Expression::Variable(*variable), parts.remove(0));
        w.set(*variable, total);
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluate::evaluate;
    use super::super::tree::ArrayKind;
    use super::*;
    use crate::array::Array;

    /// A sum over two ranges one after the other, as a loop is cut where a view ends: the second one starts with the first.
    #[test]
    fn sums_of_all_lengths_go_on_from_their_start() {
        for (cut, n) in [(0, 10), (3, 10), (0, LONG), (5, 5 + LONG), (100, 300), (LONG, 3 * LONG + 7), (200, 203)] {
            let mut w = Writer::new();
            let x = ElementPlace::Elements(w.array(DType::F64, n, ArrayKind::Input(0)), ElementIndex::default());
            let y = ElementPlace::Elements(w.array(DType::F64, 1, ArrayKind::Output(0)), ElementIndex::default());
            let start = x.load(&ElementIndex::default());
            let sum = w.var(DType::F64, start);
            for range in [(0, cut), (cut, n)] {
                summed(&mut w, range, &[(sum, DType::F64)], &mut |w, i, targets| {
                    targets[0].add(w, DType::F64, x.load(i));
                });
            }
            w.store(&y, &ElementIndex::default(), Expression::Variable(sum));
            // Whole numbers, whose sums are exact in any order; the first one counts twice.
            let input = Array::new(&[n], (1..=n).map(|k| k as f64).collect());
            let expected = (n * (n + 1) / 2 + 1) as f64;
            assert_eq!(evaluate(&w.finish(), &[input], &[(DType::F64, 1)]), [Array::from([expected])], "{cut} {n}");
        }
    }
}
