//! Buffer assignment by liveness: buffers that do not live at the same time share memory of the workspace.
//!
//! Law: a buffer is live from the first step that writes it to the last step that reads it; buffers live at the same
//! time are disjoint. The body of a loop has its own block, which is live during the loop. Sizes saturate: a block
//! larger than the address space is planned, but allocation fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::backend::ir::step::{Buffer, BufferId, FusedStep, LINE, Step, Storage};

/// An allocation in a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// The block of the loop at this step. It is placed before the buffers of the step: its neighbours are then older
    /// and die sooner, which leaves one larger free range.
    Body(usize),
    Buffer(BufferId),
}

/// Assigns every buffer of the workspace a range of the block, and returns the size of the block. The buffers `kept`
/// are live to the end.
pub(crate) fn assign(buffers: &mut [Buffer], steps: &mut [FusedStep], kept: &[BufferId]) -> usize {
    let bytes = assign_frame(buffers, steps, kept, 0);
    shift(buffers, steps, 0, 0);
    bytes
}

fn assign_frame(buffers: &mut [Buffer], steps: &mut [FusedStep], kept: &[BufferId], depth: usize) -> usize {
    let last = steps.len();
    let mut lives: BTreeMap<Room, (usize, usize)> = BTreeMap::new();
    for (at, step) in steps.iter_mut().enumerate() {
        if let Step::Loop(l) = step {
            l.bytes = assign_frame(buffers, &mut l.body, &[], depth + 1);
            lives.insert(Room::Body(at), (at, at));
        }
        for buf in own(buffers, step, depth) {
            lives.entry(Room::Buffer(buf)).or_insert((at, at)).1 = at;
        }
    }
    for buf in kept {
        if let Some(life) = lives.get_mut(&Room::Buffer(*buf)) {
            life.1 = last;
        }
    }
    let mut order: Vec<(usize, Room, usize)> = lives.iter().map(|(room, (from, to))| (*from, *room, *to)).collect();
    order.sort_unstable();
    let mut block = Free::default();
    let mut ends: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    for (from, room, to) in order {
        while let Some((end, start, bytes)) = ends.first().copied().filter(|(end, ..)| *end < from) {
            ends.remove(&(end, start, bytes));
            block.give(start, bytes);
        }
        let mut take = |bytes: usize| {
            let bytes = bytes.checked_next_multiple_of(LINE).unwrap_or(usize::MAX);
            let start = block.take(bytes);
            if bytes > 0 {
                ends.insert((to, start, bytes));
            }
            start
        };
        match room {
            Room::Buffer(buf) => {
                let buffer = &mut buffers[buf as usize];
                buffer.storage = Storage::Workspace(take(buffer.bytes()));
            }
            Room::Body(step) => {
                let Step::Loop(l) = &mut steps[step] else { unreachable!("the step is a loop") };
                l.start = take(l.bytes);
            }
        }
    }
    block.end
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
