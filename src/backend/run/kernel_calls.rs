//! Execution of kernel calls: operations on whole buffers, or on some of their rows, by the kernels of `src/kernels/`.

#![allow(unsafe_code)]

use smallvec::SmallVec;

use super::Memory;
use crate::array::{with_elem, with_float, with_num};
use crate::backend::ir::step::{BufferId, KernelCall, KernelOp, MatrixCall, RowRange, StepOperand, transposed_by_rows};
use crate::cost::MACHINE;
use crate::dtype::{Elem, Num};
use crate::kernels::contract::PlannedContraction;
use crate::kernels::elementwise::Isa;
use crate::kernels::indexing::{self, Additions, Blocks, Segment, segments};
use crate::kernels::loop_nest::Nest;
use crate::kernels::matrix::Real;
use crate::kernels::matrix::batch::{self, MatrixOperands, MatrixResults};
use crate::kernels::{prefix_extrema, reduce, scan, sorting, threads, views};
use crate::ops::Reduce;

/// The extremum of a long contiguous line, from the extrema of its parts. The parts do not depend on the number of
/// threads, so neither does the result.
fn in_parts<E: Num>(line: &[E], of_line: impl Fn(&[E]) -> E + Sync) -> E {
    let mut parts: SmallVec<[E; 64]> = SmallVec::from_elem(E::ZERO, line.len().div_ceil(MACHINE.line_part));
    let jobs = line.chunks(MACHINE.line_part).zip(&mut parts[..]);
    threads::share(threads::available(), jobs, |(line, part)| *part = of_line(line));
    of_line(&parts)
}

/// The extrema of lines of `len` elements with stride `inner`.
fn extrema<E: Num>(isa: Isa, op: Reduce, x: &[E], (len, inner): (usize, usize), out: &mut [E]) {
    let of_line = |line: &[E]| {
        let mut best = E::ZERO;
        reduce::extrema(isa, op, line, (line.len(), 1), std::slice::from_mut(&mut best));
        best
    };
    match inner == 1 && len >= 2 * MACHINE.line_part {
        true => out.iter_mut().zip(x.chunks_exact(len)).for_each(|(out, line)| *out = in_parts(line, of_line)),
        false => reduce::extrema(isa, op, x, (len, inner), out),
    }
}

impl Memory {
    /// Runs a kernel call for a range of rows. The buffers `all` are cleared as a whole, before the first rows.
    pub(crate) fn whole(&mut self, whole: &KernelCall, span: RowRange, all: &[BufferId]) {
        match &whole.op {
            KernelOp::Product(product) if span.rows == 1 => {
                with_num!(whole.dtype, E => self.product::<E>(whole, product));
            }
            KernelOp::Product(product) => {
                let (width, here) = (whole.dtype.width(), !all.contains(&whole.out));
                let fresh = here && product.sets_rows(span.rows);
                if !fresh && (here || span.from == 0) {
                    let rows = if here { span } else { RowRange::ALL };
                    self.table.clear(whole.out, rows.of(whole.size * width));
                }
                with_num!(whole.dtype, E => self.product_rows::<E>(whole, product, span, fresh));
            }
            KernelOp::Extremum(op, len, inner) => with_num!(whole.dtype, E => {
                extrema(self.isa, *op, self.lines::<E>(whole, span), (*len, *inner), self.rows(whole, span));
            }),
            KernelOp::Position(op, len, inner) => with_num!(whole.dtype, E => {
                reduce::positions(self.isa, *op, self.lines::<E>(whole, span), (*len, *inner), self.rows(whole, span));
            }),
            KernelOp::PrefixSum(line) => with_num!(whole.dtype, E => {
                scan::prefix_sums(self.isa, self.lines::<E>(whole, span), *line, self.rows(whole, span));
            }),
            KernelOp::PrefixArg(line, largest) => with_num!(whole.dtype, E => {
                let (x, out) = (self.lines::<E>(whole, span), self.rows(whole, span));
                prefix_extrema::prefix_positions(self.isa, x, *line, *largest, out);
            }),
            KernelOp::PrefixExtremum(line, largest) => with_num!(whole.dtype, E => {
                let (x, out) = (self.lines::<E>(whole, span), self.rows(whole, span));
                prefix_extrema::prefix_extrema(self.isa, x, *line, *largest, out);
            }),
            KernelOp::ArgSort(lines, ranks) => {
                let mut room = std::mem::take(&mut self.sorting);
                with_num!(whole.dtype, E => {
                    sorting::argsort(self.lines::<E>(whole, span), *lines, ranks, self.rows::<i64>(whole, span), &mut room);
                });
                self.sorting = room;
            }
            KernelOp::Fourier(transform) => with_float!(whole.dtype, E => {
                let mut room = std::mem::take(&mut self.transforms);
                let operands: SmallVec<[&[E]; 2]> = (0..whole.operands.len()).map(|k| self.operand(whole, k)).collect();
                transform.run(&operands, self.out::<E>(whole), &mut room);
                drop(operands);
                self.transforms = room;
            }),
            KernelOp::Gather(sizes, block) => with_elem!(whole.dtype, E => {
                let (table, ix, block) = (self.operand::<E>(whole, 0), self.indices(whole), *block);
                // The parts write disjoint ranges of the result.
                let threads = threads::number(MACHINE.gather * whole.size as f64);
                let part = (whole.size / block.max(1)).div_ceil(threads).max(1);
                let parts = self.out::<E>(whole).chunks_mut(part * block.max(1)).enumerate();
                threads::share(threads, parts, |(k, out)| {
                    let here = k * part..k * part + out.len() / block.max(1);
                    let here = |len: usize| if len > 1 { here.clone() } else { 0..len };
                    let ix: SmallVec<[&[i64]; 4]> = ix.iter().map(|ix| &ix[here(ix.len())]).collect();
                    indexing::gather(self.isa, table, sizes, &ix, block, out);
                });
            }),
            KernelOp::Scatter(sizes, block, fresh) => {
                if *fresh && span.from == 0 {
                    self.table.clear(whole.out, 0..whole.size * whole.dtype.width());
                }
                with_num!(whole.dtype, E => self.scatter::<E>(whole, (sizes, *block), span));
            }
            KernelOp::Update(sizes, block) => with_elem!(whole.dtype, E => {
                let ix = self.indices(whole);
                indexing::update(self.operand::<E>(whole, 0), Blocks { indexed: sizes, ix: &ix }, *block, self.out(whole));
            }),
            KernelOp::Transpose(nest) => with_elem!(whole.dtype, E => self.turn::<E>(whole, nest, span)),
            KernelOp::Affine(nest, add) => {
                self.table.clear(whole.out, 0..whole.size * whole.dtype.width());
                if *add {
                    with_num!(whole.dtype, E => views::add(nest, self.operand::<E>(whole, 0), self.out(whole)));
                } else {
                    with_elem!(whole.dtype, E => views::copy(nest, self.operand::<E>(whole, 0), self.out(whole)));
                }
            }
        }
    }

    fn operand<E: Elem>(&self, whole: &KernelCall, k: usize) -> &[E] {
        let (operand, len) = &whole.operands[k];
        self.slice(operand, *len)
    }

    /// The first operand, restricted to a range of rows.
    fn lines<E: Elem>(&self, whole: &KernelCall, span: RowRange) -> &[E] {
        let (operand, len) = &whole.operands[0];
        let part = span.of(*len);
        self.slice(&StepOperand { at: operand.at + part.start, ..*operand }, part.len())
    }

    /// The result, restricted to a range of rows.
    #[allow(clippy::mut_from_ref, reason = "a step writes one place, which it does not read")]
    fn rows<E: Elem>(&self, whole: &KernelCall, span: RowRange) -> &mut [E] {
        let part = span.of(whole.size);
        // Safety: see `memory.rs`.
        unsafe { self.table.write(whole.out, part.start, part.len()) }
    }

    #[allow(clippy::mut_from_ref, reason = "a step writes one place, which it does not read")]
    fn out<E: Elem>(&self, whole: &KernelCall) -> &mut [E] {
        // Safety: see `memory.rs`.
        unsafe { self.table.write(whole.out, 0, whole.size) }
    }

    /// The operands after the first: indices.
    fn indices(&self, whole: &KernelCall) -> SmallVec<[&[i64]; 4]> {
        (1..whole.operands.len()).map(|k| self.operand::<i64>(whole, k)).collect()
    }

    /// Runs an operation of linear algebra.
    pub(crate) fn matrices<E: Real>(&mut self, call: &MatrixCall) {
        // A number for all elements is rare: no matrix of equal elements has factors.
        let full = |(operand, n): &(StepOperand, usize)| {
            if operand.one && *n != 1 { vec![self.slice::<E>(operand, 1)[0]; *n] } else { Vec::new() }
        };
        let part = |integers: bool| {
            call.operands
                .iter()
                .enumerate()
                .filter(move |(k, _)| call.op.takes_integers(*k) == integers)
                .map(|(_, x)| x)
        };
        let repeated: SmallVec<[Vec<E>; 5]> = part(false).map(full).collect();
        let floats = part(false).zip(&repeated).map(|((operand, n), repeated)| match repeated.is_empty() {
            true => self.slice::<E>(operand, *n),
            false => repeated,
        });
        let one = |(operand, n): &(StepOperand, usize)| match operand.one {
            true => vec![self.slice::<i64>(operand, 1)[0]; *n],
            false => Vec::new(),
        };
        let positions = part(true).next().map_or_else(Vec::new, one);
        let positions = match (part(true).next(), positions.is_empty()) {
            (Some((operand, n)), true) => self.slice::<i64>(operand, *n),
            (_, _) => &positions,
        };
        let (mut floats_out, mut integers): (SmallVec<[&mut [E]; 3]>, &mut [i64]) = (SmallVec::new(), &mut []);
        for (out, n, dtype) in &call.out {
            // Safety: see `memory.rs`; no two results share a buffer.
            unsafe {
                match dtype.is_float() {
                    true => floats_out.push(self.table.write(*out, 0, *n)),
                    false => integers = self.table.write(*out, 0, *n),
                }
            }
        }
        let operands = MatrixOperands { floats: floats.collect(), positions };
        let results = MatrixResults { floats: floats_out, integers };
        batch::run(call.op, call.sizes, (call.count, call.work), &operands, results);
    }

    fn product<E: Num>(&mut self, whole: &KernelCall, product: &PlannedContraction) {
        let mut scratch = std::mem::take(&mut self.scratch);
        product.run(self.operand::<E>(whole, 0), self.operand::<E>(whole, 1), self.out(whole), true, &mut scratch);
        self.scratch = scratch;
    }

    /// Adds the products of a range of rows; or, if `fresh`, sets the rows to them.
    fn product_rows<E: Num>(&self, whole: &KernelCall, product: &PlannedContraction, span: RowRange, fresh: bool) {
        let (buffer, _) = product.by_rows(span.rows).expect("the product runs in these rows");
        // An operand that has memory for one row block is read from its first element in memory on.
        let factor = |k: usize| {
            let (operand, len) = &whole.operands[k];
            let (first, n) = self.table.extent::<E>(operand.buf);
            match operand.one || first == 0 {
                true => (self.slice::<E>(operand, (*len).min(n - operand.at)), 0),
                // Safety: see `memory.rs`.
                false => (unsafe { self.table.read::<E>(operand.buf, first, n) }, first as i64),
            }
        };
        let ((a, first_a), (b, first_b)) = (factor(0), factor(1));
        let (first, n) = self.table.extent::<E>(whole.out);
        // Safety: see `memory.rs`.
        let out = unsafe { self.table.write::<E>(whole.out, first, n.min(whole.size)) };
        let first = [first_a, first_b, first as i64];
        product.run_part((buffer, span.from..span.to), first, [a, b], out, fresh);
    }

    fn turn<E: Elem>(&self, whole: &KernelCall, nest: &Nest<2>, span: RowRange) {
        if span.rows == 1 {
            return views::copy(nest, self.operand::<E>(whole, 0), self.out(whole));
        }
        let (buffer, _) =
            transposed_by_rows(nest, whole.size, span.rows).expect("the elements are moved in these rows");
        let (first, n) = self.table.extent::<E>(whole.operands[0].0.buf);
        // Safety: see `memory.rs`.
        let from = unsafe { self.table.read::<E>(whole.operands[0].0.buf, first, n) };
        let (start, n) = self.table.extent::<E>(whole.out);
        // Safety: see `memory.rs`.
        let out = unsafe { self.table.write::<E>(whole.out, start, n.min(whole.size)) };
        views::copy(&nest.part(buffer, span.from..span.to, [first as i64, start as i64]), from, out);
    }

    /// Adds the subarrays of a range of rows, which are its indices.
    fn scatter<E: Num>(&self, whole: &KernelCall, (indexed, block): (&[usize], usize), span: RowRange) {
        let (v, ix, sum) = (self.operand::<E>(whole, 0), self.indices(whole), self.out::<E>(whole));
        let range = span.of(whole.operands[0].1 / block.max(1));
        let added = Additions { blocks: Blocks { indexed, ix: &ix }, range, block, elements: v };
        if span.rows == 1 {
            return segments::scatter_add(self.isa, sum, added);
        }
        indexing::scatter_add(self.isa, Segment::whole(sum), added);
    }
}
