//! Recomputation: steps run again, so that a run takes at most a given number of bytes.
//!
//! Between row-block fusion and buffer assignment the values of a run, their bytes and their lives are known. A value
//! that is not needed for a while may be dropped, and computed again by a copy of its step before its next use: see
//! [`schedule`]. The assignment of buffers is the judge: if ranges that are free between others make the block larger
//! than the values, the search runs again with a smaller bound. No later pass can merge a step and its copy, so no
//! barrier is needed. Tables and lines of Fourier transforms count with bounds that do not need the tables, which long
//! lines get at the first run.
//!
//! Law: results have the same bits, since copies of steps do what the steps do. Code of the host is not run again, and
//! buffers that several steps change in place are kept, with what they are computed from.

mod copies;
mod schedule;
#[cfg(test)]
mod tests;

use super::buffers;
use super::partition::nanoseconds;
use crate::backend::ir::step::{Buffer, BufferId, FusedStep, LINE, Step, Storage};
use crate::cost::{MACHINE, tenths};
use crate::source::Place;
use copies::{Instances, accessed, is_repeatable, origin, part};
use schedule::{RunTask, Scheduled, TaskGraph};

/// A value in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportedValue {
    /// What computes it.
    pub(crate) by: &'static str,
    pub(crate) place: Place,
    pub(crate) bytes: usize,
    /// The estimated time to compute it, in tenths of nanoseconds.
    pub(crate) time: u64,
}

/// The values that a run computes again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recomputed {
    pub(crate) values: Vec<ReportedValue>,
    /// The estimated time of a run, and of the copies alone, in tenths of nanoseconds.
    pub(crate) time: u64,
    pub(crate) added: u64,
}

/// The least number of bytes that was found, and the values that are live where a run takes that many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeastBytes {
    pub(crate) bytes: usize,
    pub(crate) live: Vec<ReportedValue>,
}

/// The number of times that the bound is reduced, if ranges between others stay free.
const ROUNDS: usize = 12;

/// The steps and buffers of a plan, in which steps run again so that the block of the workspace has at most `most`
/// bytes, and the bytes of the block; `None` if no such schedule is found.
pub(crate) fn within(
    steps: &[FusedStep],
    buffers: &[Buffer],
    kept: &[BufferId],
    most: usize,
) -> Option<(Vec<FusedStep>, Vec<Buffer>, usize, Recomputed)> {
    let problem = problem(steps, buffers, kept);
    let fits = |runs: &[Scheduled]| {
        let (mut made, mut with) = built(&problem, runs, steps, buffers);
        let bytes = buffers::assign_tightly(&mut with, &mut made, kept);
        if bytes <= most { Ok((made, with, bytes, report(&problem, runs, steps))) } else { Err(bytes - most) }
    };
    let mut bound = most;
    for _ in 0..ROUNDS {
        let Some(runs) = problem.within(bound) else { break };
        match fits(&runs) {
            Ok(found) => return Some(found),
            Err(over) => bound = bound.saturating_sub(over.max(LINE)),
        }
    }
    for eighths in (1..7).rev() {
        let Some(runs) = problem.within(most / 8 * eighths) else { break };
        if let Ok(found) = fits(&runs) {
            return Some(found);
        }
    }
    None
}

/// The estimated time of steps without copies, in tenths of nanoseconds.
pub(crate) fn time(steps: &[FusedStep]) -> u64 {
    steps.iter().map(time_of).fold(0, u64::saturating_add)
}

fn time_of(step: &FusedStep) -> u64 {
    let starts = |steps: &[FusedStep]| steps.len() as f64;
    let trips = if let Step::Loop(l) = step { l.n as f64 * starts(&l.body) * MACHINE.number } else { 0.0 };
    tenths(nanoseconds(step) + trips + MACHINE.tile_call)
}

/// The steps as tasks. The number of a value is that of its buffer.
fn problem(steps: &[FusedStep], buffers: &[Buffer], kept: &[BufferId]) -> TaskGraph {
    let line = |bytes: usize| bytes.checked_next_multiple_of(LINE).unwrap_or(usize::MAX);
    let is_value = |buf: BufferId| {
        let buffer = &buffers[buf as usize];
        buffer.depth == 0 && matches!(buffer.storage, Storage::Workspace(_))
    };
    let mut bytes: Vec<usize> = vec![0; buffers.len()];
    // The number of steps that write each buffer, and whether an earlier step has written it.
    let (mut writers, mut written) = (vec![0; buffers.len()], vec![false; buffers.len()]);
    for step in steps {
        for buf in &accessed(step)[1] {
            writers[*buf as usize] += 1;
        }
    }
    let mut copies: Vec<Option<RunTask>> = vec![None; buffers.len()];
    let mut tasks = Vec::with_capacity(steps.len());
    for step in steps {
        let [reads, writes] = accessed(step);
        let scratch = if let Step::Loop(l) = step { line(l.bytes) } else { 0 };
        let values = |list: &[BufferId], earlier: bool| -> Vec<usize> {
            let of = |buf: &&BufferId| is_value(**buf) && written[**buf as usize] == earlier;
            list.iter().filter(of).map(|buf| *buf as usize).collect()
        };
        let first = values(&writes, false);
        // A buffer that is changed in place must be there.
        let mut read = [values(&reads, true), values(&writes, true)].concat();
        read.sort_unstable();
        read.dedup();
        let changes = reads.iter().chain(&writes).any(|buf| writers[*buf as usize] > 1);
        if is_repeatable(step) && !changes {
            for v in &first {
                copies[*v] = copy(step, *v as BufferId, buffers, scratch, &is_value)
                    .filter(|copy| copy.reads.iter().all(|read| copies[*read].is_some()));
            }
        }
        for v in &first {
            bytes[*v] = line(buffers[*v].bytes());
        }
        writes.iter().for_each(|buf| written[*buf as usize] = true);
        tasks.push(RunTask { reads: read, writes: first, scratch, time: time_of(step) });
    }
    let kept = kept.iter().filter(|buf| is_value(**buf) && written[**buf as usize]).map(|buf| *buf as usize).collect();
    let mut problem = TaskGraph { tasks, bytes, copies, kept };
    problem.kept.sort_unstable();
    problem.kept.dedup();
    for v in problem.kept.clone() {
        problem.copies[v] = None;
    }
    problem
}

/// The task that computes a value again.
fn copy(
    step: &FusedStep,
    buf: BufferId,
    buffers: &[Buffer],
    scratch: usize,
    is_value: &dyn Fn(BufferId) -> bool,
) -> Option<RunTask> {
    let one = part(step, buf);
    let [reads, writes] = accessed(&one);
    let outputs = writes.iter().filter(|buf| !is_value(**buf)).map(|buf| buffers[*buf as usize].bytes());
    let scratch = outputs.fold(scratch, |sum, bytes| sum.saturating_add(bytes.saturating_add(LINE)));
    let inside = |buf: &&BufferId| is_value(**buf) && writes.binary_search(buf).is_err();
    let reads = reads.iter().filter(inside).map(|buf| *buf as usize).collect();
    let writes = writes.iter().filter(|buf| is_value(**buf)).map(|buf| *buf as usize).collect();
    Some(RunTask { reads, writes, scratch, time: time_of(&one) })
}

/// The step that computes each value first.
fn homes<'a>(problem: &TaskGraph, steps: &'a [FusedStep]) -> Vec<Option<&'a FusedStep>> {
    let mut homes = vec![None; problem.bytes.len()];
    for (task, step) in problem.tasks.iter().zip(steps) {
        task.writes.iter().for_each(|v| homes[*v] = Some(step));
    }
    homes
}

/// The steps of a schedule, with their buffers.
fn built(
    problem: &TaskGraph,
    runs: &[Scheduled],
    steps: &[FusedStep],
    buffers: &[Buffer],
) -> (Vec<FusedStep>, Vec<Buffer>) {
    let homes = homes(problem, steps);
    let (mut now, mut buffers) = (Instances::default(), buffers.to_vec());
    let made = runs.iter().map(|run| match run {
        Scheduled::First(k) => now.first(steps[*k].clone()),
        Scheduled::Again(v) => {
            let step = homes[*v].expect("a value has a step that computes it");
            now.again(part(step, *v as BufferId), &mut buffers)
        }
    });
    let made = made.collect();
    (made, buffers)
}

fn reported(problem: &TaskGraph, v: usize, step: Option<&FusedStep>, time: u64) -> ReportedValue {
    let (by, place) = step.map_or(("a step", Place::UNKNOWN), |step| origin(step, v as BufferId));
    ReportedValue { by, place, bytes: problem.bytes[v], time }
}

fn report(problem: &TaskGraph, runs: &[Scheduled], steps: &[FusedStep]) -> Recomputed {
    let homes = homes(problem, steps);
    let again = runs.iter().filter_map(|run| match run {
        Scheduled::Again(v) => Some(reported(problem, *v, homes[*v], problem.task(*run).time)),
        Scheduled::First(_) => None,
    });
    let time = runs.iter().map(|run| problem.task(*run).time).fold(0, u64::saturating_add);
    Recomputed { values: again.collect(), time, added: problem.added(runs) }
}

/// The number of values that an error names.
const NAMED: usize = 5;

/// The steps, the buffers and a report of the schedule with the least number of bytes that is found.
pub(crate) fn least(
    steps: &[FusedStep],
    buffers: &[Buffer],
    kept: &[BufferId],
) -> (Vec<FusedStep>, Vec<Buffer>, Recomputed, Vec<ReportedValue>) {
    let problem = problem(steps, buffers, kept);
    let runs = problem.least();
    let (made, with) = built(&problem, &runs, steps, buffers);
    let homes = homes(&problem, steps);
    let mut live = problem.live_at_peak(&runs);
    crate::order::sort_by_key(&mut live, |v| (std::cmp::Reverse(problem.bytes[*v]), *v));
    live.truncate(NAMED);
    let live = live.into_iter().map(|v| reported(&problem, v, homes[v], 0)).collect();
    (made, with, report(&problem, &runs, steps), live)
}
