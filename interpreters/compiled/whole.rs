//! Operations on whole places, by the loops over slices that all interpreters of numbers share.

#![allow(unsafe_code)]

use smallvec::SmallVec;

use super::kernels::indexing::{self, Blocks};
use super::kernels::runs::Nest;
use super::kernels::{reduce, threads, views};
use super::memory::Slot;
use super::rows::{self, Isa};
use super::run::Memory;
use super::steps::{Operand, Span, Whole, WholeOp, turned_by_rows};
use crate::array::{with_elem, with_num};
use crate::dtype::{Elem, Num};
use crate::ops::Reduce;

/// The nanoseconds that an element of a gather takes.
const GATHER: f64 = 2.0;

/// The least number of elements for which loops for the instruction set of the machine are called.
const LONG: usize = 32;

/// The number of elements of a part of a line that threads share.
const SHARE: usize = 1 << 18;

/// The extremum of a line, from those of its parts: the same on any number of threads.
fn in_parts<E: Num>(line: &[E], of_line: impl Fn(&[E]) -> E + Sync) -> E {
    let mut parts: SmallVec<[E; 64]> = SmallVec::from_elem(E::ZERO, line.len().div_ceil(SHARE));
    let jobs = line.chunks(SHARE).zip(&mut parts[..]);
    threads::share(threads::available(), jobs, |(line, part)| *part = of_line(line));
    of_line(&parts)
}

/// The extrema of lines of so many elements, which are `inner` apart.
fn extrema<E: Num>(isa: Isa, op: Reduce, x: &[E], (len, inner): (usize, usize), out: &mut [E]) {
    let largest = matches!(op, Reduce::Max { .. });
    let (of_line, with_row) = match largest {
        true => (rows::max as fn(Isa, &[E]) -> E, rows::max_to as fn(Isa, &[E], &mut [E])),
        false => (rows::min as fn(Isa, &[E]) -> E, rows::min_to as fn(Isa, &[E], &mut [E])),
    };
    if inner == 1 && len >= 2 * SHARE {
        return out
            .iter_mut()
            .zip(x.chunks_exact(len))
            .for_each(|(out, line)| *out = in_parts(line, |x| of_line(isa, x)));
    }
    if inner == 1 && len >= LONG {
        return out.iter_mut().zip(x.chunks_exact(len)).for_each(|(out, line)| *out = of_line(isa, line));
    }
    if inner >= LONG {
        for (best, block) in out.chunks_exact_mut(inner).zip(x.chunks_exact(len * inner)) {
            best.copy_from_slice(&block[..inner]);
            block.chunks_exact(inner).skip(1).for_each(|row| with_row(isa, row, best));
        }
        return;
    }
    match largest {
        true => reduce::extrema(x, len, inner, out, |x, y| x > y),
        false => reduce::extrema(x, len, inner, out, |x, y| x < y),
    }
}

impl Memory {
    /// Runs some rows of an operation. The places `all` are not cleared row by row.
    pub(super) fn whole(&mut self, whole: &Whole, span: Span, all: &[Slot]) {
        match &whole.op {
            WholeOp::Product(_) if span.rows == 1 => with_num!(whole.dtype, E => self.product::<E>(whole)),
            WholeOp::Product(_) => {
                let (width, here) = (whole.dtype.width(), !all.contains(&whole.out));
                if here || span.from == 0 {
                    let rows = if here { span } else { Span::ALL };
                    self.table.clear(whole.out, rows.of(whole.size * width));
                }
                with_num!(whole.dtype, E => self.product_rows::<E>(whole, span));
            }
            WholeOp::Extremum(op, len, inner) => with_num!(whole.dtype, E => {
                extrema(self.isa, *op, self.lines::<E>(whole, span), (*len, *inner), self.rows(whole, span));
            }),
            WholeOp::Position(op, len, inner) => with_num!(whole.dtype, E => {
                let (x, out) = (self.lines::<E>(whole, span), self.rows::<i64>(whole, span));
                match op {
                    Reduce::Max { .. } => reduce::positions(x, *len, *inner, out, |x, y| x > y),
                    Reduce::Min { .. } => reduce::positions(x, *len, *inner, out, |x, y| x < y),
                }
            }),
            WholeOp::Gather(sizes, block) => with_elem!(whole.dtype, E => {
                let (table, ix, block) = (self.operand::<E>(whole, 0), self.indices(whole), *block);
                // Each part has positions of its own.
                let threads = threads::number(GATHER * whole.size as f64);
                let part = (whole.size / block.max(1)).div_ceil(threads).max(1);
                let parts = self.out::<E>(whole).chunks_mut(part * block.max(1)).enumerate();
                threads::share(threads, parts, |(k, out)| {
                    let here = k * part..k * part + out.len() / block.max(1);
                    let here = |len: usize| if len > 1 { here.clone() } else { 0..len };
                    let ix: SmallVec<[&[i64]; 4]> = ix.iter().map(|ix| &ix[here(ix.len())]).collect();
                    indexing::gather(table, sizes, &ix, block, out);
                });
            }),
            WholeOp::Scatter(sizes, block, fresh) => {
                if *fresh {
                    self.table.clear(whole.out, 0..whole.size * whole.dtype.width());
                }
                with_num!(whole.dtype, E => self.scatter::<E>(whole, sizes, *block));
            }
            WholeOp::Turn(nest) => with_elem!(whole.dtype, E => self.turn::<E>(whole, nest, span)),
            WholeOp::Affine(nest, add) => {
                self.table.clear(whole.out, 0..whole.size * whole.dtype.width());
                if *add {
                    with_num!(whole.dtype, E => views::add(nest, self.operand::<E>(whole, 0), self.out(whole)));
                } else {
                    with_elem!(whole.dtype, E => views::copy(nest, self.operand::<E>(whole, 0), self.out(whole)));
                }
            }
        }
    }

    fn operand<E: Elem>(&self, whole: &Whole, k: usize) -> &[E] {
        let (operand, len) = &whole.operands[k];
        self.slice(operand, *len)
    }

    /// Some rows of the first operand.
    fn lines<E: Elem>(&self, whole: &Whole, span: Span) -> &[E] {
        let (operand, len) = &whole.operands[0];
        let part = span.of(*len);
        self.slice(&Operand { at: operand.at + part.start, ..*operand }, part.len())
    }

    /// Some rows of the result.
    #[allow(clippy::mut_from_ref, reason = "a step writes one place, which it does not read")]
    fn rows<E: Elem>(&self, whole: &Whole, span: Span) -> &mut [E] {
        let part = span.of(whole.size);
        // Safety: see `memory.rs`.
        unsafe { self.table.write(whole.out, part.start, part.len()) }
    }

    #[allow(clippy::mut_from_ref, reason = "a step writes one place, which it does not read")]
    fn out<E: Elem>(&self, whole: &Whole) -> &mut [E] {
        // Safety: see `memory.rs`.
        unsafe { self.table.write(whole.out, 0, whole.size) }
    }

    /// The operands but the first.
    fn indices(&self, whole: &Whole) -> SmallVec<[&[i64]; 4]> {
        (1..whole.operands.len()).map(|k| self.operand::<i64>(whole, k)).collect()
    }

    fn product<E: Num>(&mut self, whole: &Whole) {
        let WholeOp::Product(product) = &whole.op else { unreachable!("the operation is a product") };
        let mut scratch = std::mem::take(&mut self.scratch);
        product.run(self.operand::<E>(whole, 0), self.operand::<E>(whole, 1), self.out(whole), true, &mut scratch);
        self.scratch = scratch;
    }

    fn product_rows<E: Num>(&self, whole: &Whole, span: Span) {
        let WholeOp::Product(product) = &whole.op else { unreachable!("the operation is a product") };
        let (place, _) = product.by_rows(span.rows).expect("the product runs in these rows");
        // An operand that has memory for some rows is read from the first of these on.
        let factor = |k: usize| {
            let (operand, len) = &whole.operands[k];
            let (first, n) = self.table.extent::<E>(operand.slot);
            match operand.one || first == 0 {
                true => (self.slice::<E>(operand, (*len).min(n - operand.at)), 0),
                // Safety: see `memory.rs`.
                false => (unsafe { self.table.read::<E>(operand.slot, first, n) }, first as i64),
            }
        };
        let ((a, first_a), (b, first_b)) = (factor(0), factor(1));
        let (first, n) = self.table.extent::<E>(whole.out);
        // Safety: see `memory.rs`.
        let out = unsafe { self.table.write::<E>(whole.out, first, n.min(whole.size)) };
        product.run_part((place, span.from..span.to), [first_a, first_b, first as i64], a, b, out);
    }

    fn turn<E: Elem>(&self, whole: &Whole, nest: &Nest<2>, span: Span) {
        if span.rows == 1 {
            return views::copy(nest, self.operand::<E>(whole, 0), self.out(whole));
        }
        let (place, _) = turned_by_rows(nest, whole.size, span.rows).expect("the elements are moved in these rows");
        let (first, n) = self.table.extent::<E>(whole.operands[0].0.slot);
        // Safety: see `memory.rs`.
        let from = unsafe { self.table.read::<E>(whole.operands[0].0.slot, first, n) };
        let (start, n) = self.table.extent::<E>(whole.out);
        // Safety: see `memory.rs`.
        let out = unsafe { self.table.write::<E>(whole.out, start, n.min(whole.size)) };
        views::copy(&nest.part(place, span.from..span.to, [first as i64, start as i64]), from, out);
    }

    fn scatter<E: Num>(&self, whole: &Whole, sizes: &[usize], block: usize) {
        let (v, ix, out) = (self.operand::<E>(whole, 0), self.indices(whole), self.out::<E>(whole));
        let (operand, len) = &whole.operands[0];
        if operand.one {
            let blocks = Blocks { indexed: sizes, ix: &ix };
            indexing::scatter_add_one(out, blocks, len / block.max(1), block, v[0]);
        } else {
            indexing::scatter_add(out, sizes, &ix, block, v);
        }
    }
}
