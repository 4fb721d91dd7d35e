//! Steps in parts, on several threads.
//!
//! A step whose rows need nothing of each other runs in parts of some rows, each on the next thread that is free. What
//! all rows add to has memory of its own in each part, and the parts are added in order at the end.
//!
//! Law: the parts of a step depend on the program alone, so results do not depend on the number of threads. A place that
//! the step writes is touched row by row, or only added to. Products of arrays are shared by their kernels.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::blocks::{self, Use, Uses};
use super::group::Item;
use super::kernels::threads;
use super::memory::{Block, LINE, Slot, Table};
use super::rows;
use super::run::{Frame, Memory};
use super::steps::{Home, Loop, Place, Span, Step, Whole, WholeOp};
use super::tiles;
use crate::array::with_num;
use crate::dtype::DType;
use crate::ops::{Binary, Unary};

/// How a step runs in parts.
pub(super) struct Parts {
    rows: usize,
    /// The number of parts from which on more are no faster.
    most: usize,
    /// The number of rows that stay together.
    together: usize,
    /// Whether the parts are the same on any number of threads, since something is added up: tiles, which start where a
    /// part starts, cut the sums of rows, too.
    fixed: bool,
    /// The places to which all rows add.
    sums: Vec<Sum>,
    /// The places that have memory for some rows, with the bytes of this memory.
    local: Vec<(Slot, usize)>,
    /// The places that are written row by row, with the bytes of a row.
    written: Vec<(Slot, usize)>,
}

/// A place to which all rows add.
struct Sum {
    slot: Slot,
    dtype: DType,
    size: usize,
    /// Whether it is zeros before the step.
    cleared: bool,
}

impl Sum {
    fn bytes(&self) -> usize {
        (self.size * self.dtype.width()).next_multiple_of(LINE)
    }
}

/// The largest number of parts.
const MOST: usize = 64;

/// The number of parts for each thread, so that a thread that is late holds up few others.
const EACH: usize = 3;

/// The number of nanoseconds for each byte that a part has of a sum.
const BYTE: f64 = 5.0;

/// Parts of groups are no shorter than the longest tiles, if groups are much longer.
const TILE: usize = 1024;

impl Parts {
    /// The parts of a step, if it has rows and takes longer than so many nanoseconds.
    pub(super) fn of(step: &Step, places: &[Place], worth: f64) -> Option<Parts> {
        let time = nanoseconds(step);
        if time < worth {
            return None;
        }
        let (rows, uses) = match step {
            Step::Draft(group) => group_rows(group.size, step, places)?,
            Step::Blocks(blocks) => (blocks.rows, blocks.uses.clone()),
            Step::Loop(l) if l.ends => return None,
            Step::Loop(l) => loop_rows(l, places)?,
            Step::Whole(whole) => whole_rows(whole, step, places)?,
            Step::Group(_) | Step::Straight(_) | Step::Call(_) => return None,
        };
        let sums = sums(step, &uses, places)?;
        let bytes: usize = sums.iter().map(Sum::bytes).sum();
        // What parts cost beside their work counts less where less work is worth a part: in tests.
        let share = worth / threads::WORTH;
        let most = (time / (share * BYTE * bytes as f64)).min(2.0 * time / worth).min(MOST as f64) as usize;
        let adds = uses.values().any(|touched| touched.written && touched.added);
        let mut parts =
            Parts { rows, most: most.max(1), together: 1, fixed: adds, sums, local: Vec::new(), written: Vec::new() };
        if let Step::Loop(l) = step {
            // What parts cost once more is little even on one thread, if these are fixed.
            let most = loop_parts(l) / share / if adds { EACH as f64 } else { 1.0 };
            parts.most = parts.most.min(most as usize).max(1);
        }
        if let Step::Blocks(blocks) = step {
            parts.together = blocks.block;
            parts.fixed = !parts.sums.is_empty();
            parts.local = blocks.local.iter().map(|(slot, _)| (*slot, places[*slot as usize].bytes())).collect();
        }
        let own = |slot: Slot| {
            // What moves with the trips of a loop is narrowed by the loop.
            places[slot as usize].home != Home::Loop && parts.local.iter().all(|(local, _)| *local != slot)
        };
        let by_rows = uses.iter().filter(|(slot, touched)| touched.written && touched.by_rows && own(**slot));
        parts.written = by_rows.map(|(slot, _)| (*slot, places[*slot as usize].bytes() / rows)).collect();
        (parts.count(MOST) > 1).then_some(parts)
    }

    /// The number of rows of a part where there are so many threads; the last part may have fewer.
    fn part(&self, threads: usize) -> usize {
        let parts = if self.fixed { self.most } else { self.most.min(EACH.saturating_mul(threads)) };
        let part = self.rows.div_ceil(parts).next_multiple_of(self.together);
        if self.together == 1 && part > TILE { part.next_multiple_of(TILE) } else { part }
    }

    /// The number of parts where there are so many threads.
    pub(super) fn count(&self, threads: usize) -> usize {
        self.rows.div_ceil(self.part(threads))
    }

    /// The places that are elsewhere, or smaller, in a part.
    fn changed(&self) -> impl Iterator<Item = Slot> {
        self.sums.iter().map(|sum| sum.slot).chain(self.written.iter().map(|(slot, _)| *slot))
    }

    /// The bytes of what one part adds up.
    fn bytes(&self) -> usize {
        self.sums.iter().map(Sum::bytes).sum()
    }

    /// The bytes of what all parts add up.
    pub(super) fn all_bytes(&self) -> usize {
        self.bytes().saturating_mul(self.count(MOST))
    }
}

/// The places that are added to; nothing, if another place is written that is not touched row by row.
fn sums(step: &Step, uses: &Uses, places: &[Place]) -> Option<Vec<Sum>> {
    let mut cleared = Vec::new();
    step.cleared(&mut |slot| cleared.push(slot));
    let mut sums = Vec::new();
    for (slot, touched) in uses {
        if touched.written && !touched.by_rows {
            let Place { dtype, size, .. } = places[*slot as usize];
            if !touched.added || dtype == DType::Bool {
                return None;
            }
            sums.push(Sum { slot: *slot, dtype, size, cleared: cleared.contains(slot) });
        }
    }
    sums.sort_unstable_by_key(|sum| sum.slot);
    Some(sums)
}

/// The rows of a group of so many positions: those for which parts add up least, or else its positions.
fn group_rows(size: usize, step: &Step, places: &[Place]) -> Option<(usize, Uses)> {
    let mut candidates = vec![size];
    blocks::suggestions(step, &mut |n| {
        if n > 1 && !candidates.contains(&n) {
            candidates.push(n);
        }
    });
    let added = |uses: &Uses| -> usize {
        let apart = uses.iter().filter(|(_, touched)| touched.written && !touched.by_rows);
        apart.map(|(slot, _)| places[*slot as usize].bytes()).sum()
    };
    let found = candidates.into_iter().filter_map(|rows| Some((rows, blocks::by_rows(step, rows, places)?)));
    let fits = |uses: &Uses| uses.values().all(|touched| !touched.written || touched.by_rows || touched.added);
    found.filter(|(_, uses)| fits(uses)).min_by_key(|(rows, uses)| (added(uses), std::cmp::Reverse(*rows)))
}

/// The rows of an operation on whole places that has any.
fn whole_rows(whole: &Whole, step: &Step, places: &[Place]) -> Option<(usize, Uses)> {
    // A kernel shares its products itself.
    if matches!(whole.op, WholeOp::Product(_)) {
        return None;
    }
    let mut rows = 0;
    blocks::suggestions(step, &mut |n| {
        if blocks::by_rows(step, n, places).is_some_and(|uses| uses[&whole.out].by_rows) {
            rows = rows.max(n);
        }
    });
    let uses = if rows > 1 { blocks::by_rows(step, rows, places) } else { None };
    Some((rows, uses?))
}

/// The rows of a loop whose trips need of each row the same row of the trip before: those of the values it carries.
fn loop_rows(l: &Loop, places: &[Place]) -> Option<(usize, Uses)> {
    let mut candidates = Vec::new();
    for step in &l.body {
        blocks::suggestions(step, &mut |n| candidates.push(n));
    }
    candidates.extend(l.carries.iter().map(|carry| places[carry.input as usize].size));
    candidates.sort_unstable();
    candidates.dedup();
    candidates.into_iter().rev().filter(|rows| *rows > 1).find_map(|rows| Some((rows, loop_by_rows(l, rows, places)?)))
}

/// How a loop touches the places of its body if it runs in so many rows, where each row needs only itself.
fn loop_by_rows(l: &Loop, rows: usize, places: &[Place]) -> Option<Uses> {
    let mut uses = Uses::new();
    for step in &l.body {
        for (slot, touched) in blocks::by_rows(step, rows, places)? {
            blocks::note_use(&mut uses, slot, touched);
        }
    }
    let carried = |slot: Slot| l.carries.iter().any(|carry| carry.input == slot || carry.output == slot);
    let apart = |(slot, touched): (&Slot, &Use)| touched.by_rows || !(touched.written || carried(*slot));
    let whole = l.carries.iter().all(|carry| places[carry.input as usize].size.is_multiple_of(rows));
    (whole && uses.iter().all(apart)).then_some(uses)
}

/// The number of parts whose trips take as long as it takes to start their operations.
fn loop_parts(l: &Loop) -> f64 {
    let (mut work, mut starts) = (0.0, 0.0);
    for step in &l.body {
        work += nanoseconds(step);
        starts += match step {
            Step::Draft(group) => START * group.len() as f64,
            Step::Whole(_) | Step::Loop(_) | Step::Blocks(_) => 2.0 * START,
            Step::Group(_) | Step::Straight(_) | Step::Call(_) => 0.0,
        };
    }
    work / starts
}

/// A rough estimate of the time that a step takes on one thread.
fn nanoseconds(step: &Step) -> f64 {
    let size = |n: usize| n as f64;
    match step {
        Step::Draft(group) => {
            let each: f64 = group.items().map(|(item, dtype, _)| cost(item) * dtype.width() as f64 / 8.0).sum();
            each * size(group.size)
        }
        Step::Whole(whole) => {
            let read: usize = whole.operands.iter().map(|(_, len)| len).sum();
            match &whole.op {
                WholeOp::Product(product) => product.nanoseconds(),
                WholeOp::Extremum(..) => 0.5 * size(read),
                WholeOp::Position(..) | WholeOp::Turn(_) => size(read),
                WholeOp::Gather(..) => 2.0 * size(whole.size),
                WholeOp::Scatter(..) | WholeOp::Affine(..) => 2.0 * size(read),
            }
        }
        Step::Loop(l) => size(l.n) * l.body.iter().map(nanoseconds).sum::<f64>(),
        Step::Blocks(blocks) => blocks.steps.iter().map(nanoseconds).sum(),
        Step::Group(_) | Step::Straight(_) | Step::Call(_) => 0.0,
    }
}

/// The nanoseconds of work that make up for the start of an operation on another tile.
const START: f64 = 80.0;

/// The nanoseconds that an operation takes for each position, of elements of 8 bytes.
fn cost<V>(item: &Item<V>) -> f64 {
    match item {
        Item::Read(..) | Item::One(..) | Item::Second(_) => 0.1,
        Item::View(_, walk) if walk.is_mostly_straight() => 0.05,
        Item::View(..) | Item::Places(_) | Item::Put(..) | Item::Convert(..) | Item::Step(..) => 0.5,
        Item::Add(..) | Item::Compare(..) | Item::IntUnary(..) | Item::And(..) | Item::Or(..) | Item::Not(_) => 0.2,
        Item::IntBinary(..) | Item::Select(_) | Item::Form(..) | Item::Weighted(..) => 0.3,
        Item::Unary(Unary::Neg | Unary::Square | Unary::Abs | Unary::Relu, _) => 0.25,
        Item::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::MulNoNan, ..) => 0.25,
        Item::Binary(Binary::Div, ..) => 0.8,
        Item::Unary(..) | Item::Gather(..) => 2.5,
        Item::SinCos(..) => 4.0,
        Item::Binary(..) => 8.0,
    }
}

/// The parts of a step, which threads take one after the other.
struct Shares<'s> {
    step: &'s Step,
    parts: &'s Parts,
    /// The number of rows of a part.
    part: usize,
    next: AtomicUsize,
    results: Results,
}

/// The memory of what the parts add up.
struct Results(*mut u8);

// Safety: each part writes its own bytes.
unsafe impl Sync for Results {}

impl Shares<'_> {
    fn count(&self) -> usize {
        self.parts.rows.div_ceil(self.part)
    }

    /// The next part.
    fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|part| *part < self.count())
    }

    /// The rows of a part.
    fn span(&self, part: usize) -> Span {
        let rows = self.parts.rows;
        Span { rows, from: part * self.part, to: rows.min((part + 1) * self.part) }
    }

    /// The first byte of a sum of a part.
    fn sum(&self, part: usize, sum: usize) -> *mut u8 {
        let before: usize = self.parts.sums[..sum].iter().map(Sum::bytes).sum();
        self.results.0.wrapping_add(part * self.parts.bytes() + before)
    }
}

impl Memory {
    /// Runs the parts of a step.
    pub(super) fn parts(&mut self, step: &Step, parts: &Parts) {
        let threads = if self.clock.is_some() { 1 } else { threads::available() };
        let shares = Shares {
            step,
            parts,
            part: parts.part(threads),
            next: AtomicUsize::new(0),
            results: Results(self.sums.start()),
        };
        let threads = threads.min(shares.count());
        if threads == 1 && !parts.fixed {
            return self.step(step, Frame::ALL);
        }
        let own = |table: &Table, slot: Slot| (slot, table.entry(slot));
        let entries: SmallVec<[_; 8]> = parts.changed().map(|slot| own(&self.table, slot)).collect();
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
            // A thread for which there is no memory leaves its parts to the others.
            let ready = others.iter_mut().take(threads - 1);
            let ready: Vec<&mut Memory> =
                ready.map_while(|other| other.follow(&self.table, parts).then_some(other)).collect();
            let jobs: Vec<&mut Memory> = std::iter::once(&mut *self).chain(ready).collect();
            threads::share(jobs.len(), jobs, |memory| memory.take_parts(&shares));
            self.others = others;
        }
        entries.into_iter().for_each(|(slot, entry)| self.table.restore(slot, entry));
        for (k, sum) in parts.sums.iter().enumerate() {
            let size = sum.size;
            if sum.cleared {
                self.table.clear(sum.slot, 0..size * sum.dtype.width());
            }
            with_num!(sum.dtype, E => (0..shares.count()).for_each(|part| {
                // Safety: the sums of a part have this memory, which no thread writes any more.
                let x = unsafe { std::slice::from_raw_parts(shares.sum(part, k).cast::<E>(), size) };
                // Safety: see `memory.rs`.
                rows::add_to(self.isa, x, unsafe { self.table.write(sum.slot, 0, size) });
            }), else unreachable!("masks are not added"));
        }
        if let Step::Group(code) = step {
            tiles::sides(code, &self.table, &mut self.registers, self.isa);
        }
    }

    /// Runs the parts that no other thread has taken.
    fn take_parts(&mut self, shares: &Shares<'_>) {
        let Parts { sums, written, .. } = shares.parts;
        let all: SmallVec<[Slot; 8]> = sums.iter().map(|sum| sum.slot).collect();
        let whole: SmallVec<[_; 8]> =
            written.iter().map(|(slot, row)| (*slot, *row, self.table.entry(*slot))).collect();
        while let Some(part) = shares.take() {
            let span = shares.span(part);
            for (slot, row, entry) in &whole {
                self.table.restore(*slot, *entry);
                self.table.narrow(*slot, span.from * row..span.to * row);
            }
            for (k, sum) in sums.iter().enumerate() {
                let bytes = sum.size * sum.dtype.width();
                // Safety: these bytes belong to this sum of this part; the table has its own entry back at the end.
                unsafe { self.table.set(sum.slot, shares.sum(part, k), bytes) };
                self.table.clear(sum.slot, 0..bytes);
            }
            self.step(shares.step, Frame { span, all: &all, parts: &[] });
        }
    }

    /// Takes the places of another memory, with memory of its own for those that have it for some rows; says whether
    /// there is as much.
    fn follow(&mut self, table: &Table, parts: &Parts) -> bool {
        self.table.follow(table);
        let needed: usize = parts.local.iter().map(|(_, bytes)| bytes.next_multiple_of(LINE)).sum();
        if self.arena.bytes() < needed {
            let Some(block) = Block::new(needed) else { return false };
            self.arena = block;
        }
        let mut at = self.arena.start();
        for (slot, bytes) in &parts.local {
            // Safety: the bytes lie in the block, which lives as long as the table, and belong to no other place.
            unsafe { self.table.set(*slot, at, *bytes) };
            at = at.wrapping_add(bytes.next_multiple_of(LINE));
        }
        true
    }
}
