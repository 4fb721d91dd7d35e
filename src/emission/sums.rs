//! Long sums as several partial sums, so that the additions of a sum do not wait for each other.

use super::tree::{ElementIndex, ElementPlace, Expression, VariableId};
use super::writer::Writer;
use crate::dtype::DType;

/// The partial sums of a long sum, and the least length of a long sum.
const LANES: usize = 16;
const LONG: usize = 48;

/// Where a term is added.
#[derive(Clone, Debug)]
pub(super) enum SumTarget {
    Variable(VariableId),
    /// An element of the partial sums.
    Lane(ElementPlace, ElementIndex),
}

impl SumTarget {
    /// Adds a term.
    pub(super) fn add(&self, w: &mut Writer, dtype: DType, term: Expression) {
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
pub(super) fn summed(
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
