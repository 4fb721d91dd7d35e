//! Places: which buffers of a program are variables, and which share an array of the scratch.
//!
//! A buffer of one element is a variable. Other buffers of the workspace are arrays; buffers of one element type and
//! length share one if they do not live at the same time.
//!
//! Law: a buffer lives from the first step that touches it to the last one, and buffers of the body of a loop live
//! within the loop; buffers that live at the same time have arrays of their own.

use std::collections::BTreeMap;

use crate::backend::ir::step::{Buffer, BufferId, FusedStep, Step, Storage};
use crate::dtype::DType;

/// The number of an array of the scratch.
pub(crate) type SlotId = usize;

/// The arrays of the scratch.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// The array of each buffer that has one.
    pub(crate) of: BTreeMap<BufferId, SlotId>,
    /// Element type and length of each array.
    pub(crate) kinds: Vec<(DType, usize)>,
}

/// The first and the last step that touch a buffer.
type Lives = BTreeMap<BufferId, (usize, usize)>;

/// Assigns arrays to the buffers of the workspace; the buffers `kept` live to the end.
pub(crate) fn assign(steps: &[FusedStep], buffers: &[Buffer], kept: &[BufferId]) -> Slots {
    let mut lives = Lives::new();
    let end = walk(steps, buffers, 0, 0, &mut lives);
    for buf in kept {
        if let Some(life) = lives.get_mut(buf) {
            life.1 = end;
        }
    }
    let mut order: Vec<(usize, usize, BufferId)> = lives.iter().map(|(buf, (from, to))| (*from, *to, *buf)).collect();
    order.sort_unstable();
    let mut slots = Slots::default();
    // The last step of the buffer that has each array now.
    let mut taken: Vec<usize> = Vec::new();
    for (from, to, buf) in order {
        let buffer = &buffers[buf as usize];
        let kind = (buffer.dtype, buffer.size);
        let free = (0..taken.len()).find(|slot| slots.kinds[*slot] == kind && taken[*slot] < from);
        let slot = free.unwrap_or_else(|| {
            slots.kinds.push(kind);
            taken.push(0);
            taken.len() - 1
        });
        taken[slot] = to;
        slots.of.insert(buf, slot);
    }
    slots
}

/// Notes the lives of the buffers of steps, which are numbered from `at` on; returns the number after the last.
fn walk(steps: &[FusedStep], buffers: &[Buffer], depth: usize, mut at: usize, lives: &mut Lives) -> usize {
    for step in steps {
        let first = at;
        at += 1;
        if let Step::Loop(l) = step {
            at = walk(&l.body, buffers, depth + 1, at, lives);
        }
        step.buffers(&mut |buf, _| {
            let buffer = &buffers[buf as usize];
            if buffer.depth == depth && buffer.size > 1 && matches!(buffer.storage, Storage::Workspace(_)) {
                let life = lives.entry(buf).or_insert((first, at));
                life.1 = at;
            }
        });
        // The next step is later than all that this one touches.
        at += 1;
    }
    at
}
