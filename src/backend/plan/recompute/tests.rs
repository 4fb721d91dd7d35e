//! Schedules beside the best ones of small problems, and beside known results for long chains.
//!
//! The best schedule is found by a search over all pairs of the number of tasks that have run and the set of values that
//! are kept: the shortest path from no tasks to all.

use std::collections::{BTreeMap, BTreeSet};

use super::schedule::{RunTask, Scheduled, TaskGraph};

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// A problem whose tasks make one value each, from one to three earlier ones, mostly late ones; or, for `mirrored`, a chain
/// whose values a second chain uses in reverse order, as derivatives do.
fn problem(numbers: &mut Numbers, n: usize, mirrored: bool) -> TaskGraph {
    let bytes: Vec<usize> = (0..n).map(|_| 1 + numbers.below(4)).collect();
    let mut tasks = Vec::new();
    for k in 0..n {
        let mut reads = BTreeSet::new();
        if mirrored && k > 0 {
            reads.insert(k - 1);
            if 2 * k >= n {
                reads.insert(n - 1 - k);
            }
        } else if k > 0 {
            for _ in 0..1 + numbers.below(3) {
                reads.insert(if numbers.below(2) == 0 { k - 1 } else { numbers.below(k) });
            }
        }
        let time = 1 + numbers.below(9) as u64;
        tasks.push(RunTask { reads: reads.into_iter().collect(), writes: vec![k], scratch: 0, time });
    }
    let copies = tasks.iter().cloned().map(Some).collect();
    TaskGraph { tasks, bytes, copies, kept: Vec::new() }
}

/// The least added time of a schedule within `most` bytes.
fn best(problem: &TaskGraph, most: usize) -> Option<u64> {
    let n = problem.tasks.len();
    let size = |set: u32| (0..n).filter(|v| set >> v & 1 == 1).map(|v| problem.bytes[v]).sum::<usize>();
    let has = |set: u32, task: &RunTask| task.reads.iter().all(|v| set >> v & 1 == 1);
    let mut open: BTreeSet<(u64, usize, u32)> = BTreeSet::from([(0, 0, 0)]);
    let mut known: BTreeMap<(usize, u32), u64> = BTreeMap::from([((0, 0), 0)]);
    while let Some((time, k, set)) = open.pop_first() {
        if k == n {
            return Some(time);
        }
        if known[&(k, set)] < time {
            continue;
        }
        let mut next = Vec::new();
        let room = |v: usize| size(set | 1 << v) <= most;
        if has(set, &problem.tasks[k]) && room(k) {
            next.push((time, k + 1, set | 1 << k));
        }
        for v in 0..k {
            if set >> v & 1 == 1 {
                next.push((time, k, set & !(1 << v)));
            } else if has(set, &problem.tasks[v]) && room(v) {
                next.push((time + problem.tasks[v].time, k, set | 1 << v));
            }
        }
        for (time, k, set) in next {
            if known.get(&(k, set)).is_none_or(|then| time < *then) {
                known.insert((k, set), time);
                open.insert((time, k, set));
            }
        }
    }
    None
}

/// Each task runs once, in order; what runs has its operands.
fn assert_valid(problem: &TaskGraph, runs: &[Scheduled]) {
    let (mut next, mut made) = (0, BTreeSet::new());
    for run in runs {
        if let Scheduled::First(k) = run {
            assert_eq!(*k, next);
            next += 1;
        }
        let task = problem.task(*run);
        assert!(task.reads.iter().all(|v| made.contains(v)), "{runs:?}");
        made.extend(task.writes.iter().copied());
    }
    assert_eq!(next, problem.tasks.len());
}

/// The time of a schedule as a multiple of the best: the average and the worst, over bounds between the least and the most;
/// and how many bounds have a schedule that was not found.
fn compared(mirrored: bool, count: usize) -> (f64, f64, usize, usize) {
    let mut numbers = Numbers(7);
    let (mut sum, mut worst, mut cases, mut missed) = (0.0, 1.0f64, 0, 0);
    for _ in 0..count {
        let n = 6 + numbers.below(4);
        let problem = problem(&mut numbers, n, mirrored);
        let own: u64 = problem.tasks.iter().map(|task| task.time).sum();
        for most in 1..problem.peak(&problem.plain()) {
            let Some(least) = best(&problem, most) else { continue };
            cases += 1;
            let Some(runs) = problem.within(most) else {
                missed += 1;
                continue;
            };
            assert_valid(&problem, &runs);
            assert!(problem.peak(&runs) <= most);
            let ratio = (own + problem.added(&runs)) as f64 / (own + least) as f64;
            assert!(ratio >= 1.0, "a schedule is faster than the best");
            (sum, worst) = (sum + ratio, worst.max(ratio));
        }
    }
    (sum / (cases - missed) as f64, worst, missed, cases)
}

#[test]
fn small_schedules_are_close_to_the_best() {
    for mirrored in [false, true] {
        let (average, worst, missed, cases) = compared(mirrored, 150);
        assert!(cases > 100 && average <= 1.01 && worst <= 1.6, "average {average}, worst {worst} of {cases}");
        assert!(100 * missed <= 8 * cases, "{missed} of {cases} have a schedule that was not found");
    }
}

/// A chain of `n` equal tasks, whose values a second chain uses in reverse order, needs about `2 sqrt n` values for one run
/// more of the first chain.
#[test]
fn long_chains_take_the_root() {
    for n in [16, 49, 100] {
        let tasks: Vec<RunTask> = (0..2 * n)
            .map(|k| {
                let mut reads: Vec<usize> = (k > 0).then(|| k - 1).into_iter().collect();
                reads.extend((k >= n).then(|| 2 * n - 1 - k));
                reads.dedup();
                RunTask { reads, writes: vec![k], scratch: 0, time: 1 }
            })
            .collect();
        let copies = tasks.iter().cloned().map(Some).collect();
        let problem = TaskGraph { tasks, bytes: vec![1; 2 * n], copies, kept: Vec::new() };
        let root = (n as f64).sqrt().ceil() as usize;
        for (most, runs) in [(2 * root + 3, 1.1), (3 * root + 3, 1.0), (n / 2 + 3, 0.55)] {
            let found = problem.within(most).expect("a schedule");
            assert_valid(&problem, &found);
            let added = problem.added(&found) as f64 / n as f64;
            assert!(added <= runs, "{n}: {added} runs more within {most}");
        }
        let least = problem.least();
        assert_valid(&problem, &least);
        assert!(problem.peak(&least) <= 4, "{n}: {} values", problem.peak(&least));
    }
}

#[test]
fn a_long_program_keeps_its_bound() {
    let n = 300;
    let mut numbers = Numbers(3);
    let tasks: Vec<RunTask> = (0..2 * n)
        .map(|k: usize| {
            let mut reads: Vec<usize> = (k > 0).then(|| k - 1).into_iter().collect();
            reads.extend((k >= n).then(|| 2 * n - 1 - k));
            reads.sort_unstable();
            reads.dedup();
            RunTask { reads, writes: vec![k], scratch: 0, time: 1 + numbers.below(10) as u64 }
        })
        .collect();
    let copies = tasks.iter().cloned().map(Some).collect();
    let problem =
        TaskGraph { tasks, bytes: (0..2 * n).map(|_| 1 + numbers.below(8)).collect(), copies, kept: Vec::new() };
    let most = problem.peak(&problem.plain()) / 4;
    let found = problem.within(most).expect("a schedule");
    assert_valid(&problem, &found);
    let own: u64 = problem.tasks.iter().map(|task| task.time).sum();
    assert!(3 * problem.added(&found) < own, "{} of {own}", problem.added(&found));
}
