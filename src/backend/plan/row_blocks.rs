//! Row-block fusion: steps that share rows run together, a block of rows at a time, so that the rows stay in cache.
//!
//! Many steps depend only on the same row of the results of earlier steps: a softmax takes the maximum of a row, the
//! exponential of each element, their sum and a quotient. Steps of a frame that have the same number of rows and
//! access their shared buffers row by row become one step, which runs all of them on one block of rows before the
//! next block. A buffer that no other step accesses is allocated for one block only.
//!
//! Law: fusion keeps the dependences of every row. A buffer that one step of a block writes is accessed row by row by
//! all its steps, or by that step alone. Two steps are reordered only if neither writes a buffer that the other
//! accesses.

use std::collections::HashMap;

use crate::backend::ir::fusion::{FusedOp, FusionGroup, GatherOp};
use crate::backend::ir::limits::Limits;
use crate::backend::ir::step::{
    Buffer, BufferId, BufferUse, FusedStep, KernelCall, KernelOp, RowBlocks, Step, Storage, Uses, transposed_by_rows,
};
use crate::cost::MACHINE;

/// Fuses steps of a frame, and of the bodies of its loops, into row blocks. The buffers `kept` are read after the
/// last step.
pub(crate) fn form(steps: Vec<FusedStep>, buffers: &mut [Buffer], kept: &[BufferId], limits: Limits) -> Vec<FusedStep> {
    form_frame(steps, buffers, kept, 0, limits)
}

fn form_frame(
    mut steps: Vec<FusedStep>,
    buffers: &mut [Buffer],
    kept: &[BufferId],
    depth: usize,
    limits: Limits,
) -> Vec<FusedStep> {
    let mut users: HashMap<BufferId, usize> = kept.iter().map(|buf| (*buf, 1)).collect();
    for step in &mut steps {
        if let Step::Loop(l) = step {
            l.body = form_frame(std::mem::take(&mut l.body), buffers, &[], depth + 1, limits);
        }
        for buf in touched(step).into_keys() {
            *users.entry(buf).or_default() += 1;
        }
    }
    // The steps from `next` on, in order; earlier steps have been moved to the result.
    let mut rest: Vec<Option<FusedStep>> = steps.into_iter().map(Some).collect();
    let mut formed = Vec::with_capacity(rest.len());
    for next in 0..rest.len() {
        let Some(step) = &rest[next] else { continue };
        let found =
            if is_large(step, buffers, limits) { RowBlockCandidate::best(&rest, next, buffers, limits) } else { None };
        let Some(plan) = found else {
            formed.extend(rest[next].take());
            continue;
        };
        let mut take = |k: &usize| rest[*k].take().expect("a step is taken once");
        formed.extend(plan.ahead.iter().map(&mut take));
        let steps: Vec<FusedStep> = plan.block.iter().map(&mut take).collect();
        let turns =
            |step: &FusedStep| matches!(step, Step::KernelCall(whole) if matches!(whole.op, KernelOp::Transpose(_)));
        let block = plan.block_rows(buffers, limits, steps.iter().any(turns));
        let own = |buf: BufferId, buffer: &Buffer, touched: &BufferUse| {
            let private = buffer.depth == depth && matches!(buffer.storage, Storage::Workspace(_));
            private && touched.by_rows && users.get(&buf) == Some(&touched.steps)
        };
        let mut local = Vec::new();
        for (buf, touched) in &plan.uses {
            let buffer = &mut buffers[*buf as usize];
            if own(*buf, buffer, touched) {
                local.push((*buf, buffer.bytes() / plan.rows));
                buffer.size = buffer.size / plan.rows * block;
            }
        }
        local.sort_unstable();
        let mut whole: Vec<BufferId> = plan.uses.iter().filter(|(_, u)| !u.by_rows).map(|(buf, _)| *buf).collect();
        whole.sort_unstable();
        formed.push(Step::RowBlocks(Box::new(RowBlocks {
            rows: plan.rows,
            block,
            steps,
            first: 0,
            local,
            whole,
            uses: plan.uses,
        })));
    }
    formed
}

/// Whether a step accesses a buffer large enough for fusion to pay.
fn is_large(step: &FusedStep, buffers: &[Buffer], limits: Limits) -> bool {
    let mut bytes = 0;
    step.buffers(&mut |buf, _| bytes = buffers[buf as usize].bytes().max(bytes));
    bytes >= limits.spared / 4
}

impl BufferUse {
    /// Merges the accesses of another step, or of another access in the same step.
    fn and(&mut self, other: BufferUse) {
        self.written |= other.written;
        self.added &= other.added;
        self.by_rows &= other.by_rows;
    }

    /// Whether two steps may be fused row by row.
    fn agrees(&self, other: &BufferUse) -> bool {
        !(self.written || other.written) || (self.by_rows && other.by_rows)
    }
}

/// The buffers that a step accesses.
fn touched(step: &FusedStep) -> Uses {
    let mut uses = Uses::new();
    step.buffers(&mut |buf, written| note(&mut uses, buf, written, false));
    uses
}

fn note(uses: &mut Uses, buf: BufferId, written: bool, by_rows: bool) {
    note_use(uses, buf, BufferUse { written, added: false, by_rows, steps: 1 });
}

pub(crate) fn note_use(uses: &mut Uses, buf: BufferId, new: BufferUse) {
    uses.entry(buf).and_modify(|touched| touched.and(new)).or_insert(new);
}

/// How a step with this number of rows accesses its buffers; `None` if its rows are not independent.
pub(crate) fn by_rows(step: &FusedStep, rows: usize, buffers: &[Buffer]) -> Option<Uses> {
    match step {
        Step::Pass(group) => group_by_rows(group, rows, buffers),
        Step::KernelCall(whole) => whole_by_rows(whole, rows, buffers),
        Step::Loop(_) | Step::Matrices(_) | Step::Interpreted(_) | Step::RowBlocks(_) => None,
    }
}

fn group_by_rows(group: &FusionGroup, rows: usize, buffers: &[Buffer]) -> Option<Uses> {
    if !group.size.is_multiple_of(rows) {
        return None;
    }
    let mut uses = Uses::new();
    for (item, _, stored) in group.items() {
        if let Some(buf) = item.reads().or(item.writes()) {
            let n = buffers[buf as usize].size;
            let inside = match item {
                FusedOp::Read(_, at) => *at == 0 && n == group.size,
                FusedOp::View(_, access) | FusedOp::Put(_, access, _) | FusedOp::Add(_, access, _) => {
                    n.is_multiple_of(rows) && access.stays_in_rows(rows, n / rows)
                }
                // The first axis is the row.
                FusedOp::Gather(GatherOp { sizes, indices, .. }) => match group.item(indices[0]) {
                    FusedOp::Positions(access) => {
                        let same = sizes.iter().product::<usize>() == n && sizes[0].is_multiple_of(rows);
                        same && access.is_total() && access.stays_in_rows(rows, sizes[0] / rows)
                    }
                    FusedOp::Read(..) | FusedOp::One(..) | FusedOp::View(..) | FusedOp::Gather(_) => false,
                    FusedOp::Put(..) | FusedOp::Add(..) | FusedOp::Elementwise(_) => false,
                },
                FusedOp::One(..) | FusedOp::Positions(_) | FusedOp::Elementwise(_) => false,
            };
            let added = matches!(item, FusedOp::Add(..));
            note_use(&mut uses, buf, BufferUse { written: item.writes().is_some(), added, by_rows: inside, steps: 1 });
        }
        if let Some(buf) = stored {
            note(&mut uses, buf, true, true);
        }
    }
    Some(uses)
}

fn whole_by_rows(whole: &KernelCall, rows: usize, buffers: &[Buffer]) -> Option<Uses> {
    let mut uses = Uses::new();
    let (lines, by_rows) = match &whole.op {
        KernelOp::Extremum(_, _, inner) | KernelOp::Position(_, _, inner) => (whole.size / (*inner).max(1), [true; 3]),
        KernelOp::ArgSort(lines, _) => (whole.size / (lines.len * lines.inner).max(1), [true; 3]),
        KernelOp::PrefixSum(line) | KernelOp::PrefixArg(line, _) | KernelOp::PrefixExtremum(line, _) => {
            (whole.size / (line.len * line.inner).max(1), [true; 3])
        }
        KernelOp::Product(product) => (rows, product.by_rows(rows)?.1),
        KernelOp::Transpose(nest) => {
            let (_, [from, into]) = transposed_by_rows(nest, whole.size, rows)?;
            (rows, [from, true, into])
        }
        // Its lines are shared by threads when it runs.
        KernelOp::Fourier(_) => return None,
        KernelOp::Gather(..) | KernelOp::Scatter(..) | KernelOp::Update(..) | KernelOp::Affine(..) => return None,
    };
    if whole.size == 0 || !lines.is_multiple_of(rows) {
        return None;
    }
    for ((operand, len), by_rows) in whole.operands.iter().zip(by_rows) {
        let all = operand.at == 0 && !operand.one && buffers[operand.buf as usize].size == *len;
        note(&mut uses, operand.buf, false, all && by_rows);
    }
    let added = matches!(whole.op, KernelOp::Product(_));
    note_use(&mut uses, whole.out, BufferUse { written: true, added, by_rows: by_rows[2], steps: 1 });
    Some(uses)
}

/// Candidate numbers of rows, from the accesses or lines of a step.
pub(crate) fn suggestions(step: &FusedStep, f: &mut dyn FnMut(usize)) {
    match step {
        Step::Pass(group) => {
            for (item, ..) in group.items() {
                if let FusedOp::View(_, access) | FusedOp::Put(_, access, _) | FusedOp::Add(_, access, _) = item {
                    access.outer_sizes(&mut *f);
                }
            }
        }
        Step::KernelCall(whole) => match &whole.op {
            KernelOp::Extremum(_, _, inner) | KernelOp::Position(_, _, inner) => f(whole.size / (*inner).max(1)),
            KernelOp::ArgSort(lines, _) => f(whole.size / (lines.len * lines.inner).max(1)),
            KernelOp::PrefixSum(line) | KernelOp::PrefixArg(line, _) | KernelOp::PrefixExtremum(line, _) => {
                f(whole.size / (line.len * line.inner).max(1))
            }
            KernelOp::Product(product) => product.outer_sizes(f),
            KernelOp::Transpose(nest) => nest.axes().iter().for_each(|axis| f(axis.len)),
            KernelOp::Fourier(_)
            | KernelOp::Gather(..)
            | KernelOp::Scatter(..)
            | KernelOp::Update(..)
            | KernelOp::Affine(..) => {}
        },
        Step::Loop(_) | Step::Matrices(_) | Step::Interpreted(_) | Step::RowBlocks(_) => {}
    }
}

/// A candidate for fusion: steps, by their numbers.
struct RowBlockCandidate {
    rows: usize,
    /// Steps that must run before the blocks.
    ahead: Vec<usize>,
    block: Vec<usize>,
    uses: Uses,
    /// Bytes per row of all buffers that are accessed row by row.
    row_bytes: usize,
    /// The memory traffic in bytes that fusion saves.
    spared: usize,
}

impl RowBlockCandidate {
    /// The candidate from this step on that saves most traffic.
    fn best(rest: &[Option<FusedStep>], next: usize, buffers: &[Buffer], limits: Limits) -> Option<RowBlockCandidate> {
        let mut rows: Vec<usize> = Vec::new();
        let first = rest[next].as_ref()?;
        let mut suggest = |n: usize| {
            if n > 1 && rows.len() < Limits::TRIES && !rows.contains(&n) && by_rows(first, n, buffers).is_some() {
                rows.push(n);
            }
        };
        suggestions(first, &mut suggest);
        for step in rest[next + 1..].iter().flatten().take(Limits::WINDOW / 2) {
            suggestions(step, &mut suggest);
        }
        let plans = rows.into_iter().map(|rows| RowBlockCandidate::from(rest, next, rows, buffers));
        let good = plans.filter(|plan| plan.block.len() > 1 && plan.spared >= limits.spared);
        good.max_by_key(|plan| (plan.spared, plan.rows))
    }

    /// The steps that can be fused with this one.
    fn from(rest: &[Option<FusedStep>], first: usize, rows: usize, buffers: &[Buffer]) -> RowBlockCandidate {
        let (ahead, block) = (Vec::new(), Vec::new());
        let mut plan = RowBlockCandidate { rows, ahead, block, uses: Uses::new(), row_bytes: 0, spared: 0 };
        // The buffers accessed by steps that stay behind the blocks.
        let mut after = Uses::new();
        let mut idle = 0;
        for (k, step) in rest.iter().enumerate().skip(first) {
            let Some(step) = step else { continue };
            let all = touched(step);
            let free = !conflicts(&all, &after);
            if free && plan.join(k, step, buffers) {
                idle = 0;
            } else if free && !conflicts(&all, &plan.uses) {
                plan.ahead.push(k);
            } else {
                all.into_iter().for_each(|(buf, touched)| note(&mut after, buf, touched.written, false));
            }
            idle += 1;
            if idle > Limits::WINDOW {
                break;
            }
        }
        // Steps after the last fused step stay behind the blocks.
        let last = plan.block.last().copied().unwrap_or(first);
        plan.ahead.retain(|k| *k < last);
        plan
    }

    /// Adds a step that shares a buffer with the candidate, if their rows allow fusion.
    fn join(&mut self, k: usize, step: &FusedStep, buffers: &[Buffer]) -> bool {
        let Some(uses) = by_rows(step, self.rows, buffers) else { return false };
        let mut shared = self.block.is_empty();
        let (mut bytes, mut spared) = (0_usize, 0_usize);
        for (buf, touched) in &uses {
            let of = buffers[*buf as usize].bytes();
            match self.uses.get(buf) {
                Some(here) if !here.agrees(touched) => return false,
                Some(here) if here.by_rows && touched.by_rows => {
                    (shared, spared) = (true, spared.saturating_add(of));
                }
                Some(_) => {}
                None if touched.by_rows => bytes = bytes.saturating_add(of / self.rows),
                None => {}
            }
        }
        if !shared || self.row_bytes.saturating_add(bytes) > MACHINE.level2_beside {
            return false;
        }
        for (buf, touched) in uses {
            let add = |here: &mut BufferUse| {
                here.and(touched);
                here.steps += 1;
            };
            self.uses.entry(buf).and_modify(add).or_insert(touched);
        }
        self.row_bytes += bytes;
        self.spared = self.spared.saturating_add(spared);
        self.block.push(k);
        true
    }

    /// The number of rows of a block; `by_columns` says whether a step writes transposed rows.
    fn block_rows(&self, buffers: &[Buffer], limits: Limits, by_columns: bool) -> usize {
        let rows = (limits.block / self.row_bytes.max(1)).clamp(1, self.rows);
        // A multiple of 16 rows, so that every block starts at a cache line.
        let line = 64 / self.uses.keys().map(|buf| buffers[*buf as usize].dtype.width()).min().unwrap_or(1);
        // Columns that a step writes are whole cache lines.
        let rows = if by_columns && limits.block >= 16 * line { rows.max(2 * line).min(self.rows) } else { rows };
        if rows > line { rows / line * line } else { rows }
    }
}

/// Whether two steps conflict: they share a buffer that at least one of them writes.
fn conflicts(a: &Uses, b: &Uses) -> bool {
    a.iter().any(|(buf, here)| b.get(buf).is_some_and(|there| here.written || there.written))
}
