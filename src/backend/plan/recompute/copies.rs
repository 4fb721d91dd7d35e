//! Copies of steps, with buffers of their own.
//!
//! Law: a copy runs the same operations on the same values as the step, so its results have the same bits. Of a fusion
//! group that does not add up, a copy may be a part; sums keep all of their group, which decides their order.

use std::collections::BTreeMap;

use crate::backend::ir::step::{Buffer, BufferId, FusedStep, RowBlocks, Step, Storage};
use crate::source::Place;

/// Calls `f` with each buffer of a step, those of the bodies of its loops included, to replace it.
fn buffers_mut(step: &mut FusedStep, f: &mut dyn FnMut(&mut BufferId)) {
    match step {
        Step::Pass(group) => group.buffers_mut(f),
        Step::KernelCall(call) => {
            call.operands.iter_mut().for_each(|(operand, _)| f(&mut operand.buf));
            f(&mut call.out);
        }
        Step::Loop(l) => {
            for carry in &mut l.carries {
                f(&mut carry.init.buf);
                f(&mut carry.result);
                carry.other.iter_mut().for_each(&mut *f);
                carry.states.iter_mut().for_each(|states| f(&mut states.of));
                f(&mut carry.input);
                f(&mut carry.output);
            }
            for row in l.xs.iter_mut().chain(&mut l.outputs) {
                f(&mut row.row);
                f(&mut row.of);
            }
            l.captured.iter_mut().for_each(&mut *f);
            l.body.iter_mut().for_each(|step| buffers_mut(step, f));
        }
        Step::RowBlocks(blocks) => {
            let RowBlocks { steps, local, whole, uses, .. } = &mut **blocks;
            steps.iter_mut().for_each(|step| buffers_mut(step, f));
            local.iter_mut().for_each(|(buf, _)| f(buf));
            local.sort_unstable();
            whole.iter_mut().for_each(&mut *f);
            whole.sort_unstable();
            let renamed = uses.drain().map(|(mut buf, used)| {
                f(&mut buf);
                (buf, used)
            });
            *uses = renamed.collect();
        }
        Step::Matrices(call) => {
            call.operands.iter_mut().for_each(|(operand, _)| f(&mut operand.buf));
            call.out.iter_mut().for_each(|(out, ..)| f(out));
        }
        Step::Interpreted(call) => {
            call.operands.iter_mut().for_each(|(operand, _)| f(&mut operand.buf));
            call.out.iter_mut().for_each(f);
        }
    }
}

/// The outer buffers that a step reads and those that it writes, in order.
pub(super) fn accessed(step: &FusedStep) -> [Vec<BufferId>; 2] {
    let mut both = [Vec::new(), Vec::new()];
    step.buffers(&mut |buf, written| both[usize::from(written)].push(buf));
    for list in &mut both {
        list.sort_unstable();
        list.dedup();
    }
    both
}

/// The part of a step that computes one of the buffers that it writes.
pub(super) fn part(step: &FusedStep, buf: BufferId) -> FusedStep {
    match step {
        Step::Pass(group) if !group.adds() => Step::Pass(group.part(buf)),
        Step::Pass(_)
        | Step::KernelCall(_)
        | Step::Loop(_)
        | Step::Matrices(_)
        | Step::Interpreted(_)
        | Step::RowBlocks(_) => step.clone(),
    }
}

/// Whether a step may run twice: code of the host runs once.
pub(super) fn is_repeatable(step: &FusedStep) -> bool {
    match step {
        Step::Pass(_) | Step::KernelCall(_) | Step::Matrices(_) => true,
        Step::Interpreted(_) => false,
        Step::Loop(l) => l.body.iter().all(is_repeatable),
        Step::RowBlocks(blocks) => blocks.steps.iter().all(is_repeatable),
    }
}

/// Where the operation was written that computes a buffer of a step, and the words of a report for it.
pub(super) fn origin(step: &FusedStep, buf: BufferId) -> (&'static str, Place) {
    match step {
        Step::Pass(group) => {
            let writes = |(item, _, stored): (&_, _, Option<BufferId>)| {
                let item: &crate::backend::ir::fusion::FusedOp<_> = item;
                stored.or(item.writes()) == Some(buf)
            };
            let place = group.items().position(writes).and_then(|k| group.origins.get(k).cloned());
            ("a pass", place.unwrap_or_default())
        }
        Step::KernelCall(call) => ("a kernel call", call.origin.clone()),
        Step::Loop(l) => ("a loop", l.origin.clone()),
        Step::Matrices(call) => (call.op.name(), call.origin.clone()),
        Step::Interpreted(_) => ("an interpreted operation", Place::UNKNOWN),
        Step::RowBlocks(blocks) => {
            let writes = |step: &&FusedStep| accessed(step)[1].contains(&buf);
            blocks.steps.iter().rev().find(writes).map_or(("a pass", Place::UNKNOWN), |step| match step {
                Step::RowBlocks(_) => ("a pass", Place::UNKNOWN),
                Step::Pass(_) | Step::KernelCall(_) | Step::Loop(_) | Step::Matrices(_) | Step::Interpreted(_) => {
                    origin(step, buf)
                }
            })
        }
    }
}

/// The buffers that hold values now: a value that was computed again has a new one.
#[derive(Default)]
pub(super) struct Instances(BTreeMap<BufferId, BufferId>);

impl Instances {
    /// A step of the program, which reads the values where they are now.
    pub(super) fn first(&self, mut step: FusedStep) -> FusedStep {
        let [reads, writes] = accessed(&step);
        if reads.iter().any(|buf| self.0.contains_key(buf)) {
            buffers_mut(&mut step, &mut |buf| {
                if let (Some(now), Err(_)) = (self.0.get(buf), writes.binary_search(buf)) {
                    *buf = *now;
                }
            });
        }
        step
    }

    /// A copy of a step, which writes new buffers.
    pub(super) fn again(&mut self, mut step: FusedStep, buffers: &mut Vec<Buffer>) -> FusedStep {
        let [_, writes] = accessed(&step);
        let mut new: BTreeMap<BufferId, BufferId> = BTreeMap::new();
        let now = &self.0;
        buffers_mut(&mut step, &mut |buf| {
            let of = &buffers[*buf as usize];
            if of.depth == 0 && writes.binary_search(buf).is_err() {
                *buf = now.get(buf).copied().unwrap_or(*buf);
                return;
            }
            if let Some(known) = new.get(buf) {
                *buf = *known;
                return;
            }
            let mut own = of.clone();
            if own.storage == Storage::Output {
                own.storage = Storage::Workspace(0);
            }
            buffers.push(own);
            new.insert(*buf, (buffers.len() - 1) as BufferId);
            *buf = (buffers.len() - 1) as BufferId;
        });
        for (old, new) in new {
            let of = &buffers[old as usize];
            if of.depth == 0 && matches!(of.storage, Storage::Workspace(_)) {
                self.0.insert(old, new);
            }
        }
        step
    }
}
