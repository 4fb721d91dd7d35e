//! Contractions `out[O i] += a[A i] * b[B i]` in StableHLO.
//!
//! A contraction becomes a `dot_general` over the box that the three views share, a convolution
//! ([`super::convolutions`]), or, if a view of an operand is partial in another way, a reduction of a masked product.
//!
//! Law: a position that a view maps out of bounds contributes nothing, whatever the factors are; for convolutions see
//! [`super::convolutions`].

use super::text::{HloValue, Region};
use super::views::{BoxArray, BoxIntervals, common, is_total, moved, rows, width};
use crate::ops::Contract;

impl Region {
    /// `signed` says that an operation sees the sign of a zero of the result.
    pub(super) fn contract(&mut self, op: &Contract, a: &HloValue, b: &HloValue, signed: bool) -> HloValue {
        let Some(bounds) = common(&[&op.a, &op.b, &op.out]) else {
            return self.full(0.0, op.out.source(), a.ty);
        };
        let (of_a, of_b, of_out) = (rows(&op.a, &bounds), rows(&op.b, &bounds), rows(&op.out, &bounds));
        let kept = moved(&of_out);
        let sides = [moved(&of_a), moved(&of_b)];
        let times = (0..bounds.len())
            .filter(|axis| !kept.contains(axis) && sides.iter().all(|side| !side.contains(axis)))
            .map(|axis| width(&bounds, axis))
            .product();
        if let Some(value) = self.convolution(op, a, b, &bounds, times) {
            return value;
        }
        let part = if is_total(&of_a, op.a.source(), &bounds) && is_total(&of_b, op.b.source(), &bounds) {
            let parts = [self.read(a, &op.a, &bounds), self.read(b, &op.b, &bounds)];
            self.product(parts, &kept, &bounds)
        } else {
            self.masked_product(op, a, b, &bounds)
        };
        let part = self.summed(part, &kept);
        let part = self.times(part, times);
        let summed = sides.iter().flatten().any(|axis| !kept.contains(axis));
        let part = if signed && !summed { self.added_to_zero(part) } else { part };
        self.write(part, &op.out, &bounds)
    }

    /// The product of two operands, summed over the axes that are not kept.
    fn product(&mut self, [a, b]: [BoxArray; 2], kept: &[usize], bounds: &BoxIntervals) -> BoxArray {
        // An axis of one operand alone that is not kept is summed before the product.
        let needed = |other: &BoxArray| kept.iter().chain(&other.axes).copied().collect::<Vec<usize>>();
        let (for_a, for_b) = (needed(&b), needed(&a));
        let (a, b) = (self.summed(a, &for_a), self.summed(b, &for_b));
        let shared: Vec<usize> = a.axes.iter().copied().filter(|axis| b.axes.contains(axis)).collect();
        let (batch, summed): (Vec<usize>, Vec<usize>) = shared.iter().partition(|axis| kept.contains(axis));
        let free =
            |part: &BoxArray| part.axes.iter().copied().filter(|axis| !shared.contains(axis)).collect::<Vec<usize>>();
        let axes: Vec<usize> = batch.iter().copied().chain(free(&a)).chain(free(&b)).collect();
        if summed.is_empty() {
            let mut axes = axes;
            axes.sort_unstable();
            let (x, y) = (self.spread(&a, &axes, bounds), self.spread(&b, &axes, bounds));
            return BoxArray { value: self.binary("multiply", &x, &y), axes };
        }
        let places = |part: &BoxArray, wanted: &[usize]| -> Vec<usize> {
            wanted.iter().filter_map(|axis| part.axes.iter().position(|a| a == axis)).collect()
        };
        let value = self.dot(
            &a.value,
            &b.value,
            [&places(&a, &batch), &places(&b, &batch)],
            [&places(&a, &summed), &places(&b, &summed)],
        );
        BoxArray { value, axes }
    }

    /// The product at each position, with zeros where the view of a factor is out of bounds.
    fn masked_product(&mut self, op: &Contract, a: &HloValue, b: &HloValue, bounds: &BoxIntervals) -> BoxArray {
        let [a, b] = [(a, &op.a), (b, &op.b)].map(|(v, view)| self.read(v, view, bounds));
        let masks = [&op.a, &op.b].map(|view| self.looks(view, bounds));
        let mut axes: Vec<usize> = a.axes.iter().chain(&b.axes).copied().collect();
        axes.sort_unstable();
        axes.dedup();
        let (x, y) = (self.spread(&a, &axes, bounds), self.spread(&b, &axes, bounds));
        let mut value = self.binary("multiply", &x, &y);
        let zero = self.like(0.0, &value);
        for mask in masks.into_iter().flatten() {
            let mask = self.spread(&mask, &axes, bounds);
            value = self.select(&mask, &value, &zero);
        }
        BoxArray { value, axes }
    }
}
