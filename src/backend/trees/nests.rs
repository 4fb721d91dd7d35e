//! Loop nests over several arrays: products, transpositions and moves of elements.
//!
//! Law: as for [`Nest`]: each index that all views map into their arrays is visited once. A sum is taken in the order of
//! the loops, except for long sums along both operands, which are taken in parts.

use std::collections::BTreeMap;

use super::steps::fill;
use super::sums::summed;
use super::tree::{ElementIndex, ElementPlace, Expression};
use super::writer::Writer;
use crate::backend::ir::step::KernelCall;
use crate::dtype::DType;
use crate::kernels::contract::PlannedContraction;
use crate::kernels::loop_nest::{Axis, Nest};

/// The steps of a sum, and the rows of results, that are taken together.
const BLOCK: usize = 4;

/// The least length of an innermost loop over results.
const ROW: usize = 4;

/// Writes a product: its operands and its result.
pub(crate) fn product(w: &mut Writer, call: &KernelCall, product: &PlannedContraction, places: [&ElementPlace; 3]) {
    let product = product.loops().map(|nest| NestProduct { nest, places, dtype: call.dtype, size: call.size });
    if !product.as_ref().is_some_and(NestProduct::sets) {
        fill(w, places[2], call.size, &Expression::zero(call.dtype));
    }
    product.iter().for_each(|product| product.write(w));
}

/// Loops that are open: for each its axis and its counter.
type Open<const K: usize> = Vec<(Axis<K>, ElementIndex)>;

/// The position in an array.
fn position<const K: usize>(nest: &Nest<K>, k: usize, open: &Open<K>) -> ElementIndex {
    let start = ElementIndex::constant(nest.base()[k]);
    open.iter().fold(start, |sum, (axis, i)| sum.plus(&i.clone().times(axis.strides[k])))
}

/// The range checks that the last of the open loops decides; `None` if one never holds.
fn checks<const K: usize>(w: &Writer, nest: &Nest<K>, open: &Open<K>, axes: &[Axis<K>]) -> Option<Vec<Expression>> {
    let depth = open.len();
    let mut conditions = Vec::new();
    for side in nest.sides() {
        let last = axes.iter().rposition(|axis| side.moved_by(axis) != 0).map_or(0, |k| k + 1);
        if last == depth {
            let at = open.iter().fold(ElementIndex::constant(side.at), |sum, (axis, i)| {
                sum.plus(&i.clone().times(side.moved_by(axis)))
            });
            conditions.extend(w.within(&at, (0, side.size))?);
        }
    }
    Some(conditions)
}

/// Opens the loops of a nest one after the other, with their range checks, and writes the body in the innermost one.
fn loops<const K: usize>(
    w: &mut Writer,
    nest: &Nest<K>,
    axes: &[Axis<K>],
    until: usize,
    open: &mut Open<K>,
    body: &mut dyn FnMut(&mut Writer, &mut Open<K>),
) {
    let Some(conditions) = checks(w, nest, open, axes) else { return };
    w.if_all(conditions, |w| {
        if open.len() == until {
            return body(w, open);
        }
        let axis = axes[open.len()];
        w.for_(axis.len, |w, i| {
            open.push((axis, i.clone()));
            loops(w, nest, axes, until, open, body);
            open.pop();
        });
    });
}

/// Copies elements, or adds them if `add` gives their type.
pub(crate) fn moved(w: &mut Writer, nest: &Nest<2>, (from, to): (&ElementPlace, &ElementPlace), add: Option<DType>) {
    let axes = nest.axes();
    loops(w, nest, axes, axes.len(), &mut Vec::new(), &mut |w, open| {
        let (source, target) = (position(nest, 0, open), position(nest, 1, open));
        let value = match add {
            Some(dtype) => Expression::sum(dtype, to.load(&target), from.load(&source)),
            None => from.load(&source),
        };
        w.store(to, &target, value);
    });
}

/// A product that is being written: `out[..] += a[..] b[..]`.
struct NestProduct<'a> {
    nest: &'a Nest<3>,
    places: [&'a ElementPlace; 3],
    dtype: DType,
    /// The number of results.
    size: usize,
}

/// Whether a loop goes along a row of results, with factors that lie in a row or stay.
fn is_row(axis: &Axis<3>) -> bool {
    let [a, b, out] = axis.strides;
    out == 1 && matches!((a, b), (0 | 1, 0 | 1)) && axis.len >= ROW
}

impl NestProduct<'_> {
    /// Whether each result is set once, to a sum along one loop.
    fn sets(&self) -> bool {
        let axes = self.nest.axes();
        let (sums, results): (Vec<&Axis<3>>, Vec<&Axis<3>>) = axes.iter().partition(|axis| axis.strides[2] == 0);
        let covered: usize = results.iter().map(|axis| axis.len).product();
        self.nest.is_box() && covered == self.size && sums.len() == 1 && !axes.iter().any(is_row)
    }

    fn write(&self, w: &mut Writer) {
        let mut axes: Vec<Axis<3>> = self.nest.axes().to_vec();
        let summed = |axis: &Axis<3>| axis.strides == [1, 1, 0];
        let rank = axes.len();
        if let Some(k) = axes.iter().rposition(is_row) {
            // The loop over the sum is around the loop along a row of results.
            let inner = axes.remove(k);
            let (sums, mut outer): (Vec<_>, Vec<_>) = axes.into_iter().partition(|axis| axis.strides[2] == 0);
            outer.extend(sums);
            outer.push(inner);
            self.rows(w, &outer);
        } else if let Some(k) =
            axes.iter().rposition(summed).or(axes.iter().position(|a| self.sets() && a.strides[2] == 0))
        {
            let inner = axes.remove(k);
            axes.push(inner);
            self.sums(w, &axes);
        } else {
            let inner_sums = axes.iter().rev().take_while(|axis| axis.strides[2] == 0).count();
            match inner_sums {
                0 => loops(w, self.nest, &axes, rank, &mut Vec::new(), &mut |w, open| self.add(w, open)),
                _ => self.sums(w, &axes),
            }
        }
    }

    fn factor(&self, k: usize, open: &Open<3>) -> Expression {
        self.places[k].load(&position(self.nest, k, open))
    }

    /// Adds one product to its result.
    fn add(&self, w: &mut Writer, open: &Open<3>) {
        let product = Expression::product(self.dtype, self.factor(0, open), self.factor(1, open));
        let at = position(self.nest, 2, open);
        let sum = Expression::sum(self.dtype, self.places[2].load(&at), product);
        w.store(self.places[2], &at, sum);
    }

    /// Sums along the innermost loop.
    fn sums(&self, w: &mut Writer, axes: &[Axis<3>]) {
        let Some((inner, outer)) = axes.split_last() else { return };
        loops(w, self.nest, axes, outer.len(), &mut Vec::new(), &mut |w, open| {
            let sum = w.var(self.dtype, Expression::zero(self.dtype));
            summed(w, (0, inner.len), &[(sum, self.dtype)], &mut |w, i, targets| {
                open.push((*inner, i.clone()));
                if let Some(conditions) = checks(w, self.nest, open, axes) {
                    w.if_all(conditions, |w| {
                        let product = Expression::product(self.dtype, self.factor(0, open), self.factor(1, open));
                        targets[0].add(w, self.dtype, product);
                    });
                }
                open.pop();
            });
            let (at, mut total) = (position(self.nest, 2, open), Expression::Variable(sum));
            if !self.sets() {
                total = Expression::sum(self.dtype, self.places[2].load(&at), total);
            }
            w.store(self.places[2], &at, total);
        });
    }

    /// Adds to rows of results, several steps of the sum at a time, and to several rows that share a factor.
    fn rows(&self, w: &mut Writer, axes: &[Axis<3>]) {
        let rank = axes.len();
        let blocked = rank >= 2 && axes[rank - 2].strides[2] == 0 && axes[rank - 2].len >= BLOCK && self.nest.is_box();
        if !blocked {
            return loops(w, self.nest, axes, rank, &mut Vec::new(), &mut |w, open| self.add(w, open));
        }
        let (depth, inner) = (axes[rank - 2], axes[rank - 1]);
        let mut outer = axes[..rank - 2].to_vec();
        let shares = |axis: &Axis<3>| {
            let [a, b, out] = axis.strides;
            out != 0 && (a == 0 && inner.strides[0] != 0 || b == 0 && inner.strides[1] != 0) && axis.len >= BLOCK
        };
        let shared = outer.iter().rposition(shares).map(|k| outer.remove(k));
        let until = outer.len();
        loops(w, self.nest, &outer, until, &mut Vec::new(), &mut |w, open| match shared {
            None => self.depths(w, open, depth, inner, &[]),
            Some(axis) => blocks(w, axis.len, &mut |w, rows| {
                let rows: Vec<(Axis<3>, ElementIndex)> = rows.iter().map(|row| (axis, row.clone())).collect();
                self.depths(w, open, depth, inner, &rows);
            }),
        });
    }

    /// Adds all steps of the sum to some rows of results.
    fn depths(
        &self,
        w: &mut Writer,
        open: &mut Open<3>,
        depth: Axis<3>,
        inner: Axis<3>,
        rows: &[(Axis<3>, ElementIndex)],
    ) {
        blocks(w, depth.len, &mut |w, steps| {
            // For each row, the loops that are open around the loop along the row.
            let around: Vec<Open<3>> = match rows {
                [] => vec![open.clone()],
                rows => rows.iter().map(|row| open.iter().cloned().chain([row.clone()]).collect()).collect(),
            };
            self.tile(w, &around, depth, inner, steps);
        });
    }

    /// Adds some steps of the sum to some rows of results; each result gets its products in order.
    fn tile(&self, w: &mut Writer, around: &[Open<3>], depth: Axis<3>, inner: Axis<3>, steps: &[ElementIndex]) {
        let at = |open: &Open<3>, more: &[(Axis<3>, &ElementIndex)]| -> Open<3> {
            open.iter().cloned().chain(more.iter().map(|(axis, i)| (*axis, (*i).clone()))).collect()
        };
        // Factors that all results of a row share, and factors that all rows share.
        let mut of_row: BTreeMap<(usize, usize, usize), Expression> = BTreeMap::new();
        for (row, open) in around.iter().enumerate() {
            for (step, i) in steps.iter().enumerate() {
                for k in (0..2).filter(|k| inner.strides[*k] == 0) {
                    let factor = w.named(self.dtype, self.factor(k, &at(open, &[(depth, i)])));
                    of_row.insert((row, step, k), factor);
                }
            }
        }
        w.for_(inner.len, |w, j| {
            let mut shared: BTreeMap<(usize, usize), Expression> = BTreeMap::new();
            for (row, open) in around.iter().enumerate() {
                let here = at(open, &[(inner, j)]);
                let place = position(self.nest, 2, &here);
                let mut sum = self.places[2].load(&place);
                for (step, i) in steps.iter().enumerate() {
                    let here = at(open, &[(depth, i), (inner, j)]);
                    let factor = |k: usize, w: &mut Writer, shared: &mut BTreeMap<(usize, usize), Expression>| {
                        if let Some(known) = of_row.get(&(row, step, k)) {
                            return known.clone();
                        }
                        let factor = self.factor(k, &here);
                        let all = around.len() > 1
                            && around.iter().all(|open| open.last().is_none_or(|o| o.0.strides[k] == 0));
                        match all {
                            true => shared.entry((step, k)).or_insert_with(|| w.named(self.dtype, factor)).clone(),
                            false => factor,
                        }
                    };
                    let (a, b) = (factor(0, w, &mut shared), factor(1, w, &mut shared));
                    sum = Expression::sum(self.dtype, sum, Expression::product(self.dtype, a, b));
                }
                w.store(self.places[2], &place, sum);
            }
        });
    }
}

/// A loop in blocks of about [`BLOCK`] steps, and the steps that are left.
fn blocks(w: &mut Writer, len: usize, f: &mut dyn FnMut(&mut Writer, &[ElementIndex])) {
    let size = [BLOCK, BLOCK + 1, BLOCK - 1].into_iter().find(|size| len.is_multiple_of(*size)).unwrap_or(BLOCK);
    w.for_(len / size, |w, block| {
        let steps = |k: usize| block.clone().times(size as i64).plus_constant(k as i64);
        f(w, &(0..size).map(steps).collect::<Vec<_>>());
    });
    let rest: Vec<ElementIndex> = (len / size * size..len).map(|k| ElementIndex::constant(k as i64)).collect();
    if !rest.is_empty() {
        f(w, &rest);
    }
}
