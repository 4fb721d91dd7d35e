//! Execution of partitioned steps: each thread takes the next part of the step as soon as it is idle.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::{Context, Memory};
use crate::array::with_num;
use crate::backend::codegen::{CompiledStep, PassCode};
use crate::backend::ir::step::{BufferId, LINE, RowRange, Step};
use crate::backend::memory::{AddressTable, Block};
use crate::backend::plan::partition::{Partition, SharedSum};
use crate::backend::tile::machine;
use crate::dtype::Elem;
use crate::kernels::{elementwise, threads};

/// The work queue of a partitioned step.
struct WorkShares<'s> {
    step: &'s CompiledStep,
    parts: &'s Partition,
    /// The number of rows of a part.
    part: usize,
    next: AtomicUsize,
    results: SharedResults,
}

/// The address of the partial sums of all parts.
struct SharedResults(*mut u8);

// Safety: each part writes a separate range of bytes.
unsafe impl Sync for SharedResults {}

impl WorkShares<'_> {
    fn count(&self) -> usize {
        self.parts.rows.div_ceil(self.part)
    }

    /// Takes the next part from the queue.
    fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|part| *part < self.count())
    }

    /// The rows of a part.
    fn span(&self, part: usize) -> RowRange {
        let rows = self.parts.rows;
        RowRange { rows, from: part * self.part, to: rows.min((part + 1) * self.part) }
    }

    /// The address of a partial sum of a part.
    fn sum(&self, part: usize, sum: usize) -> *mut u8 {
        let before: usize = self.parts.sums[..sum].iter().map(SharedSum::bytes).sum();
        self.results.0.wrapping_add(part * self.parts.bytes() + before)
    }
}

impl Memory {
    /// Runs the parts of a step on the available threads, and adds up their partial sums in order.
    pub(crate) fn parts(&mut self, step: &CompiledStep, parts: &Partition) {
        let threads = if self.clock.is_some() { 1 } else { threads::available() };
        let shares = WorkShares {
            step,
            parts,
            part: parts.part(threads),
            next: AtomicUsize::new(0),
            results: SharedResults(self.sums.start()),
        };
        let threads = threads.min(shares.count());
        if threads == 1 && !parts.fixed {
            return self.step(step, Context::ALL);
        }
        let own = |table: &AddressTable, buf: BufferId| (buf, table.entry(buf));
        let entries: SmallVec<[_; 8]> = parts.changed().map(|buf| own(&self.table, buf)).collect();
        if threads == 1 {
            self.take_parts(&shares);
        } else {
            let mut others = std::mem::take(&mut self.others);
            let bytes = self.registers.bytes();
            while others.len() < threads - 1
                && let Some(other) = Memory::helper(bytes, self.isa)
            {
                others.push(other);
            }
            // If memory for a thread cannot be allocated, the other threads take its parts.
            let ready = others.iter_mut().take(threads - 1);
            let ready: Vec<&mut Memory> =
                ready.map_while(|other| other.follow(&self.table, parts).then_some(other)).collect();
            let jobs: Vec<&mut Memory> = std::iter::once(&mut *self).chain(ready).collect();
            threads::share(jobs.len(), jobs, |memory| memory.take_parts(&shares));
            self.others = others;
        }
        entries.into_iter().for_each(|(buf, entry)| self.table.restore(buf, entry));
        for (k, sum) in parts.sums.iter().enumerate() {
            let size = sum.size;
            if sum.cleared {
                self.table.clear(sum.buf, 0..size * sum.dtype.width());
            }
            with_num!(sum.dtype, E => (0..shares.count()).for_each(|part| {
                // Safety: the partial sums of a part have this memory, which no thread writes any more.
                let x = unsafe { std::slice::from_raw_parts(shares.sum(part, k).cast::<E>(), size) };
                // Safety: see `memory.rs`.
                elementwise::add_to(self.isa, x, unsafe { self.table.write(sum.buf, 0, size) });
            }));
        }
        if let Step::Pass(PassCode::Tile(code)) = step {
            machine::halo(code, &self.table, &mut self.registers, self.isa);
        }
    }

    /// Takes and runs parts until the queue is empty.
    fn take_parts(&mut self, shares: &WorkShares<'_>) {
        let Partition { sums, written, .. } = shares.parts;
        let all: SmallVec<[BufferId; 8]> = sums.iter().map(|sum| sum.buf).collect();
        let whole: SmallVec<[_; 8]> = written.iter().map(|(buf, row)| (*buf, *row, self.table.entry(*buf))).collect();
        while let Some(part) = shares.take() {
            let span = shares.span(part);
            for (buf, row, entry) in &whole {
                self.table.restore(*buf, *entry);
                self.table.narrow(*buf, span.from * row..span.to * row);
            }
            for (k, sum) in sums.iter().enumerate() {
                let bytes = sum.size * sum.dtype.width();
                // Safety: these bytes belong to this partial sum; the caller restores the entry of the table at the
                // end.
                unsafe { self.table.set(sum.buf, shares.sum(part, k), bytes) };
                if sum.cleared {
                    self.table.clear(sum.buf, 0..bytes);
                    continue;
                }
                // -0 is the neutral element of addition: with +0, elements of -0 to which nothing is added would be +0.
                with_num!(sum.dtype, E => {
                    let zero = num_traits::cast(-0.0).unwrap_or(E::ZERO);
                    // Safety: see `memory.rs`.
                    unsafe { self.table.write::<E>(sum.buf, 0, sum.size) }.fill(zero);
                });
            }
            self.step(shares.step, Context { span, all: &all, parts: &[] });
        }
    }

    /// Takes the buffers of another memory, but with its own memory for buffers local to a row block; returns whether
    /// that memory could be allocated.
    fn follow(&mut self, table: &AddressTable, parts: &Partition) -> bool {
        self.table.follow(table);
        let needed: usize = parts.local.iter().map(|(_, bytes)| bytes.next_multiple_of(LINE)).sum();
        if self.workspace.bytes() < needed {
            let Some(block) = Block::new(needed) else { return false };
            self.workspace = block;
        }
        let mut at = self.workspace.start();
        for (buf, bytes) in &parts.local {
            // Safety: the bytes lie in the block, which lives as long as the table, and belong to no other buffer.
            unsafe { self.table.set(*buf, at, *bytes) };
            at = at.wrapping_add(bytes.next_multiple_of(LINE));
        }
        true
    }
}
