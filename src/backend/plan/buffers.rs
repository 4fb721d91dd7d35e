//! Buffer assignment by liveness: buffers that do not live at the same time share memory of the workspace.
//!
//! Law: a buffer is live from the first step that writes it to the last step that reads it; buffers live at the same
//! time are disjoint. The body of a loop has its own block, which is live during the loop. Sizes saturate: a block
//! larger than the address space is planned, but allocation fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::ir::step::{Buffer, BufferId, FusedStep, LINE, Step, Storage};

/// An allocation in a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Allocation {
    /// The block of the loop at this step. It is placed before the buffers of the step: its neighbours are then older
    /// and die sooner, which leaves one larger free range.
    Body(usize),
    Buffer(BufferId),
}

/// From which step to which something needs a range, and of how many bytes.
struct Life {
    from: usize,
    to: usize,
    bytes: usize,
}

/// Assigns every buffer of the workspace a range of the block, and returns the size of the block. The buffers `kept`
/// are live to the end.
pub(crate) fn assign(buffers: &mut [Buffer], steps: &mut [FusedStep], kept: &[BufferId]) -> usize {
    let bytes = assign_frame(buffers, steps, kept, 0, false);
    shift(buffers, steps, 0, 0);
    bytes
}

/// [`assign`] for a plan with a bound of memory, with the better of two placements: in the order of the steps, and by
/// size.
pub(crate) fn assign_tightly(buffers: &mut [Buffer], steps: &mut [FusedStep], kept: &[BufferId]) -> usize {
    let bytes = assign_frame(buffers, steps, kept, 0, true);
    shift(buffers, steps, 0, 0);
    bytes
}

fn assign_frame(
    buffers: &mut [Buffer],
    steps: &mut [FusedStep],
    kept: &[BufferId],
    depth: usize,
    tightly: bool,
) -> usize {
    let last = steps.len();
    let mut lives: BTreeMap<Allocation, Life> = BTreeMap::new();
    for (at, step) in steps.iter_mut().enumerate() {
        if let Step::Loop(l) = step {
            l.bytes = assign_frame(buffers, &mut l.body, &[], depth + 1, false);
            lives.insert(Allocation::Body(at), Life { from: at, to: at, bytes: l.bytes });
        }
        for buf in own(buffers, step, depth) {
            let bytes = buffers[buf as usize].bytes();
            lives.entry(Allocation::Buffer(buf)).or_insert(Life { from: at, to: at, bytes }).to = at;
        }
    }
    for buf in kept {
        if let Some(life) = lives.get_mut(&Allocation::Buffer(*buf)) {
            life.to = last;
        }
    }
    let tenant = |(room, life): (&Allocation, &Life)| {
        let bytes = life.bytes.checked_next_multiple_of(LINE).unwrap_or(usize::MAX);
        Tenant { from: life.from, room: *room, to: life.to, bytes }
    };
    let mut tenants: Vec<Tenant> = lives.iter().map(tenant).collect();
    tenants.sort_unstable_by_key(|tenant| (tenant.from, tenant.room));
    let (mut starts, mut end) = in_order(&tenants);
    if tightly {
        let (by_size, tight) = by_size(&tenants);
        if tight < end {
            (starts, end) = (by_size, tight);
        }
    }
    let starts: BTreeMap<Allocation, usize> = tenants.iter().map(|tenant| tenant.room).zip(starts).collect();
    for (at, step) in steps.iter_mut().enumerate() {
        if let Step::Loop(l) = step {
            l.start = starts[&Allocation::Body(at)];
        }
    }
    for (room, start) in starts {
        if let Allocation::Buffer(buf) = room {
            buffers[buf as usize].storage = Storage::Workspace(start);
        }
    }
    end
}

/// What needs a range of a block, from one step to another.
struct Tenant {
    from: usize,
    room: Allocation,
    to: usize,
    bytes: usize,
}

/// The start of each range, by best fit in the order of the steps, and the size of the block.
fn in_order(tenants: &[Tenant]) -> (Vec<usize>, usize) {
    let mut block = Free::default();
    let mut ends: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    let mut starts = Vec::with_capacity(tenants.len());
    for Tenant { from, to, bytes, .. } in tenants {
        while let Some((end, start, bytes)) = ends.first().copied().filter(|(end, ..)| end < from) {
            ends.remove(&(end, start, bytes));
            block.give(start, bytes);
        }
        let start = block.take(*bytes);
        if *bytes > 0 {
            ends.insert((*to, start, *bytes));
        }
        starts.push(start);
    }
    (starts, block.end)
}

/// The start of each range, the largest first, each at the first place that is free for its whole life.
fn by_size(tenants: &[Tenant]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..tenants.len()).collect();
    crate::order::sort_by_key(&mut order, |k| (std::cmp::Reverse(tenants[*k].bytes), *k));
    let (mut starts, mut end) = (vec![0usize; tenants.len()], 0);
    // The placed ranges by start.
    let mut placed: Vec<usize> = Vec::with_capacity(tenants.len());
    for k in order {
        let tenant = &tenants[k];
        let mut start = 0usize;
        for other in placed.iter().map(|k| (&tenants[*k], starts[*k])) {
            let (other, at) = other;
            if other.from > tenant.to || other.to < tenant.from || other.bytes == 0 {
                continue;
            }
            if start.saturating_add(tenant.bytes) <= at {
                break;
            }
            start = start.max(at.saturating_add(other.bytes));
        }
        starts[k] = start;
        end = end.max(start.saturating_add(tenant.bytes));
        let place = placed.partition_point(|k| starts[*k] <= start);
        placed.insert(place, k);
    }
    (starts, end)
}

/// The workspace buffers that a step at this depth reads or writes.
fn own(buffers: &[Buffer], step: &FusedStep, depth: usize) -> BTreeSet<BufferId> {
    let mut found = BTreeSet::new();
    step.buffers(&mut |buf, _| {
        let buffer = &buffers[buf as usize];
        if buffer.depth == depth && matches!(buffer.storage, Storage::Workspace(_)) {
            found.insert(buf);
        }
    });
    found
}

/// Moves the buffers of bodies to the start of their blocks.
fn shift(buffers: &mut [Buffer], steps: &[FusedStep], depth: usize, start: usize) {
    if start > 0 {
        let bufs: BTreeSet<BufferId> = steps.iter().flat_map(|step| own(buffers, step, depth)).collect();
        for buf in bufs {
            if let Storage::Workspace(at) = &mut buffers[buf as usize].storage {
                *at = at.saturating_add(start);
            }
        }
    }
    for step in steps {
        if let Step::Loop(l) = step {
            shift(buffers, &l.body, depth + 1, start.saturating_add(l.start));
        }
    }
}

/// The free ranges of a growing block.
#[derive(Default)]
struct Free {
    /// Start and bytes.
    parts: BTreeMap<usize, usize>,
    end: usize,
}

impl Free {
    /// Allocates a range of this size: best fit among the free ranges, otherwise at the end of the block.
    fn take(&mut self, bytes: usize) -> usize {
        let fits = self.parts.iter().filter(|(_, free)| **free >= bytes).min_by_key(|(start, free)| (**free, **start));
        if let Some((start, free)) = fits.map(|(start, free)| (*start, *free)) {
            self.parts.remove(&start);
            if free > bytes {
                self.parts.insert(start + bytes, free - bytes);
            }
            return start;
        }
        // A free range at the end is extended.
        let start = match self.parts.last_key_value() {
            Some((start, free)) if start.saturating_add(*free) == self.end => *start,
            Some(_) | None => self.end,
        };
        self.parts.remove(&start);
        self.end = start.saturating_add(bytes);
        start
    }

    fn give(&mut self, start: usize, bytes: usize) {
        let (mut start, mut bytes) = (start, bytes);
        if let Some((before, free)) = self.parts.range(..start).next_back().map(|(a, b)| (*a, *b))
            && before.saturating_add(free) == start
        {
            self.parts.remove(&before);
            (start, bytes) = (before, bytes.saturating_add(free));
        }
        if let Some(free) = self.parts.remove(&start.saturating_add(bytes)) {
            bytes = bytes.saturating_add(free);
        }
        self.parts.insert(start, bytes);
    }
}
