//! Checkpointed loops: a loop is cut into segments, so that reverse mode stores only the states between segments.
//!
//! A loop of `n` trips becomes a loop over segments; a segment is a loop that reverse mode runs again
//! ([`BaseTensor::again`]) to recompute its states. A segment may itself be cut. So a derivative stores the states
//! between the segments of each level, and the states inside one segment of each level at a time.
//!
//! If a number of states is given, segments may differ in length. The reverse pass processes the last segments first
//! and then frees the states between them, so more states are left for earlier segments, which may be longer. With each
//! segment shorter than the segment before, `s` states and `r` runs of each trip suffice for `C(s + r - 2, r)` trips
//! (the binomial schedules of Griewank and Walther, "Algorithm 799: revolve", 2000, in which the states of a running
//! segment are stored together); segments of equal length suffice for `(s / r)^r` trips. Each length is a separate loop
//! in a program, so a level has few lengths, and only as many as save a run of the loop: three lengths for two runs
//! (`0.375 s^2` trips, between `0.5 s^2` of the binomial schedule and `0.25 s^2` of equal lengths), two lengths for
//! three runs (`0.068 s^3` trips, between `0.167 s^3` and `0.037 s^3`), and one length for more runs.
//!
//! Law: the trips, their order and their results are those of the uncut loop, and so are the cotangents of carries. The
//! cotangents of captured values are accumulated segment by segment, so they are equal up to the order of a sum.

use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::base::{Again, BaseTensor, Trip};
use crate::cost::{MACHINE, tenths};
use crate::ops::Linear;
use crate::program::repeat::{closed, held};
use crate::program::{Custom, Program, Term, interpret};

/// The rule by which loops are cut into segments, so that derivatives in reverse mode store few states: see
/// [`checkpoint`](crate::checkpoint()).
///
/// ```
/// use polygrad::{Checkpoint, Tensor, checkpoint, direct, tensor};
/// /// The slope of `w^100` at 1, by a loop that is cut.
/// fn slope(cut: Checkpoint) -> f64 {
///     let power = |w: &Tensor<_, 0>| {
///         let w = w.clone();
///         cut.iterate(100, tensor(1.0).lift(), move |_, y: Tensor<_, 0>| y * &w)
///     };
///     direct::grad(power, &tensor(1.0)).item()
/// }
/// assert_eq!((slope(checkpoint(10)), slope(Checkpoint::states(20))), (100.0, 100.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint(Limit);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Limit {
    /// The length of a segment.
    Every(usize),
    /// The largest number of states that are stored at a time.
    States(usize),
    /// The share of the trips, in parts of [`Checkpoint::WHOLE`], that are the last ones and run once; those before are
    /// cut in segments of at most as many.
    Last(u32),
}

/// The body of a loop: a function that owns its captured values, since trips may run again after the loop has ended.
pub(crate) type RerunTrip<T> = Rc<dyn Fn(Vec<T>, &[T]) -> Trip<T>>;

/// Checkpointing by segments of `every` trips; the last segment may be shorter.
///
/// A derivative in reverse mode stores `n` states of a loop of `n` trips, and the residuals of each trip. If the loop
/// is cut into segments, the derivative stores `n / every` states, and in the reverse pass the states and residuals of
/// one segment at a time, which runs a second time: for `every` of about `sqrt n`, a memory of about `2 sqrt n` states,
/// at the cost of one more run of the loop. Each method has the name of the loop that it cuts, and runs the same trips.
/// The body must own its captured values (`move`), since it runs again after the loop has ended.
///
/// Recorded programs and [`direct`](crate::direct) verbs save the same memory. If a `direct` verb runs while a program
/// is being recorded, its derivative stores all states. Gradients are equal to the bit to those of the uncut loop,
/// except for sums over trips, which are accumulated segment by segment.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, checkpoint, direct, grad, iterate, tensor};
///
/// fn whole<T: BaseTensor>(w: &Tensor<T, 0>) -> Tensor<T, 0> {
///     iterate(100, 0.1, |_, c: Tensor<T, 0>| (c * w + 0.1).sin())
/// }
/// fn cut<T: BaseTensor>(w: &Tensor<T, 0>) -> Tensor<T, 0> {
///     let w = w.clone();
///     checkpoint(10).iterate(100, 0.1, move |_, c: Tensor<T, 0>| (c * &w + 0.1).sin())
/// }
/// let w = tensor(0.5);
/// let slope = grad(whole, &w);
/// assert!((grad(cut, &w) - &slope).item().abs() < 1e-12);
/// assert!((direct::grad(cut, &w) - slope).item().abs() < 1e-12);
/// ```
///
/// # Panics
/// When a segment has no trips.
#[track_caller]
pub fn checkpoint(every: usize) -> Checkpoint {
    if every == 0 {
        panic!(
            "checkpoint: a segment must have a trip, but its length is 0; pass about the square root of the number of trips"
        );
    }
    Checkpoint(Limit::Every(every))
}

impl Checkpoint {
    /// Checkpointing by nested segments: a derivative in reverse mode stores at most `states` states of a loop at a
    /// time, and runs the loop as few times as this limit allows.
    ///
    /// `s` states and `r` runs of the loop, including the first, suffice for `(s / r)^r` trips in segments of equal
    /// length. In a recorded program, the first segments may be longer than the last segments, whose states are freed
    /// before the first segments run again: this suffices for `1.5` (`r = 2`) and `1.8` (`r = 3`) times as many trips.
    /// A loop of at most `s` trips is not cut. Nested segments need at least about `2 log2 n` states for `n` trips; if
    /// `states` is smaller, the derivative stores this least number.
    ///
    /// ```
    /// use polygrad::tensor::Checkpoint;
    /// use polygrad::{Tensor, direct, tensor};
    /// let decay = |k: &Tensor<_, 0>| {
    ///     let k = k.clone();
    ///     Checkpoint::states(30).iterate(1000, tensor(1.0).lift(), move |_, y: Tensor<_, 0>| &y - 0.001 * &k * &y)
    /// };
    /// let slope = direct::grad(decay, &tensor(1.0));
    /// assert!((slope.item() + (-1.0_f64).exp()).abs() < 1e-3);
    /// ```
    ///
    /// # Panics
    /// When `states` is 0.
    #[track_caller]
    pub fn states(states: usize) -> Checkpoint {
        if states == 0 {
            panic!(
                "checkpoint: a derivative must keep a state, but the number of states is 0; pass the number that fits into memory"
            );
        }
        Checkpoint(Limit::States(states))
    }

    /// The share of all trips.
    pub(crate) const WHOLE: u32 = 1 << 16;

    /// The last trips, this share of all, run once and keep their states; those before are cut into segments of at most
    /// as many trips. So if half of a loop may be kept, only the first half runs again.
    pub(crate) fn last(share: u32) -> Checkpoint {
        Checkpoint(Limit::Last(share))
    }

    /// The rule in words.
    pub(crate) fn words(self) -> String {
        match self.0 {
            Limit::Every(every) => format!("in segments of {every} trips"),
            Limit::States(states) => format!("with at most {states} states"),
            Limit::Last(share) => {
                let percent = 100.0 * f64::from(share) / f64::from(Checkpoint::WHOLE);
                format!("in segments of {percent:.1} % of their trips; the last does not run again")
            }
        }
    }

    /// The segments of a loop of `n` trips. The segments of a level have equal lengths, unless the reverse pass frees a
    /// state after its last use (`lets_go`).
    pub(crate) fn plan(self, n: usize, lets_go: bool) -> SegmentPlan {
        match self.0 {
            Limit::Every(every) if every < n => SegmentPlan::of(n, [(n / every, every, SegmentPlan::whole())]),
            Limit::Every(_) => SegmentPlan::whole(),
            Limit::Last(share) => {
                let last = (n as u128 * u128::from(share)).div_ceil(u128::from(Checkpoint::WHOLE)) as usize;
                SegmentPlan::with_last(n, last)
            }
            Limit::States(states) => {
                let settings = (1..=n.max(2).ilog2() as usize).flat_map(|runs| {
                    let most = if lets_go { lengths(runs) } else { 1 };
                    (1..=most).map(move |lengths| (runs, lengths))
                });
                let mut settings = settings.map(|(runs, lengths)| Shares::new(runs, lengths));
                let enough = settings.find(|shares| shares.capacity(states) >= n);
                match enough {
                    Some(shares) => shares.plan(n, states),
                    // No number of runs suffices: the plan with the fewest states.
                    None => SegmentPlan::of_few_states(n),
                }
            }
        }
    }
}

/// The largest number of segment lengths of a level, given the number of runs of the loop. Each length is a loop of the
/// program.
fn lengths(runs: usize) -> usize {
    match runs {
        2 => 3,
        3 => 2,
        _ => 1,
    }
}

/// The segments of a loop, in the order of the trips; none if the loop is not cut.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct SegmentPlan {
    groups: SmallVec<[Group; 4]>,
}

/// Consecutive segments of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    count: usize,
    len: usize,
    /// Whether the segments run once, and their states are stored.
    once: bool,
    /// The plan of each segment.
    inner: Rc<SegmentPlan>,
}

impl SegmentPlan {
    /// A loop that is not cut.
    pub(crate) fn whole() -> SegmentPlan {
        SegmentPlan::default()
    }

    /// Whether the loop is not cut.
    pub(crate) fn is_whole(&self) -> bool {
        self.groups.is_empty()
    }

    /// Segments with these counts and lengths, as many as `n` trips need; the last segment may be shorter.
    fn of(n: usize, segments: impl IntoIterator<Item = (usize, usize, SegmentPlan)>) -> SegmentPlan {
        let (mut left, mut groups) = (n, SmallVec::<[Group; 4]>::new());
        for (count, len, inner) in segments {
            let (full, inner) = (count.min(left / len), Rc::new(inner));
            left -= full * len;
            groups.extend((full > 0).then(|| Group { count: full, len, once: false, inner: inner.clone() }));
            if full < count && left > 0 {
                groups.push(Group { count: 1, len: left, once: false, inner: Rc::new(inner.shortened(left)) });
                left = 0;
            }
        }
        // The remaining trips are cut into segments like the last ones.
        if let (true, Some(last)) = (left > 0, groups.last().cloned()) {
            let count = left / last.len;
            groups.extend((count > 0).then(|| Group { count, ..last.clone() }));
            let rest = left % last.len;
            groups.extend((rest > 0).then(|| Group {
                count: 1,
                len: rest,
                once: false,
                inner: Rc::new(last.inner.shortened(rest)),
            }));
        }
        SegmentPlan { groups }
    }

    /// The last trips run once; those before are segments of equal lengths, at most as long.
    fn with_last(n: usize, last: usize) -> SegmentPlan {
        if last == 0 || last >= n {
            return SegmentPlan::whole();
        }
        let first = n - last;
        let len = first.div_ceil(first.div_ceil(last));
        let group = |count, len, once| Group { count, len, once, inner: Rc::new(SegmentPlan::whole()) };
        let all = [group(first / len, len, false), group(1, first % len, false), group(1, last, true)];
        SegmentPlan { groups: all.into_iter().filter(|group| group.len > 0).collect() }
    }

    /// The plan for fewer trips, `n`.
    fn shortened(&self, n: usize) -> SegmentPlan {
        if self.groups.first().is_none_or(|first| n <= first.len) {
            // All trips fit into the first segment, so its inner plan keeps the limit of states.
            return self.groups.first().map_or_else(SegmentPlan::whole, |first| first.inner.shortened(n));
        }
        SegmentPlan::of(n, self.groups.iter().map(|g| (g.count, g.len, (*g.inner).clone())))
    }

    /// Segments of about equal numbers at each level, with the number of levels that stores the fewest states.
    fn of_few_states(n: usize) -> SegmentPlan {
        let mut best = SegmentPlan::whole();
        for levels in 1..n.max(2).ilog2() as usize {
            let next = even(n, levels);
            if next.kept(n) < best.kept(n) {
                best = next;
            }
        }
        best
    }

    /// The largest number of states stored at a time, if the states of later segments are freed: over all segments, the
    /// states between segments up to the end of this segment, and the states inside it.
    fn kept(&self, n: usize) -> usize {
        if self.is_whole() {
            return n;
        }
        let (mut ends, mut most) = (0, 0);
        for group in &self.groups {
            ends += group.count;
            most = most.max(ends + group.inner.kept(group.len));
        }
        most
    }

    /// The number of executions of trips, over all trips.
    #[cfg(test)]
    fn runs(&self, n: usize) -> usize {
        let again = self.groups.iter().filter(|group| !group.once);
        n + again.map(|group| group.count * group.inner.runs(group.len)).sum::<usize>()
    }
}

/// A plan with this number of levels, in which segments of all levels are cut into about equally many parts.
fn even(n: usize, levels: usize) -> SegmentPlan {
    let parts = (n as f64).powf(1.0 / (levels + 1) as f64).ceil() as usize;
    let lengths = (1..=levels as u32).map(|k| parts.saturating_pow(k)).filter(|len| *len < n);
    let mut plan = (1, SegmentPlan::whole());
    for len in lengths.chain([n]) {
        let (shorter, inner) = plan;
        let cut = if shorter > 1 { SegmentPlan::of(len, [(len / shorter, shorter, inner)]) } else { inner };
        plan = (len, cut);
    }
    plan.1
}

/// The shares of states stored between segments, for several segment lengths; the other states are left for use within a segment.
struct Shares {
    /// Indexed by the number of runs of the loop minus 2: for each segment length, longest first, the share of the
    /// remaining states that is stored between segments of this length.
    of_runs: Vec<SmallVec<[f64; 3]>>,
}

impl Shares {
    /// The shares for this number `r` of runs and this number of lengths of a level. For large numbers `s` of states,
    /// `c s^r` trips are possible. The share `x` of the longest segments maximizes
    /// `c = x (1 - x)^(r - 1) a + (1 - x)^r b`, where `a` is the `c` for one run less, and `b` the `c` for one length
    /// less.
    fn new(runs: usize, lengths: usize) -> Shares {
        let (mut of_runs, mut a) = (Vec::new(), 1.0);
        for runs in 2..=runs {
            let r = runs as f64;
            let (mut shares, mut b) = (SmallVec::new(), 0.0);
            for _ in 0..lengths {
                let beside = a - r * b;
                let x = beside / (beside + (r - 1.0) * a);
                b = x * (1.0 - x).powf(r - 1.0) * a + (1.0 - x).powf(r) * b;
                shares.insert(0, x);
            }
            of_runs.push(shares);
            a = b;
        }
        Shares { of_runs }
    }

    /// For each segment length, longest first: the number of segments, and the number of states that are left within one segment.
    fn counts(of_runs: &[SmallVec<[f64; 3]>], states: usize) -> Vec<(usize, usize)> {
        let Some(shares) = of_runs.last() else { return Vec::new() };
        let (mut left, mut counts) = (states, Vec::new());
        for share in shares {
            let count = ((share * left as f64).round() as usize).max(1);
            if count < left {
                left -= count;
                counts.push((count, left));
            }
        }
        counts
    }

    fn trips(&self, runs: usize, states: usize) -> usize {
        let of_runs = &self.of_runs[..runs - 1];
        if runs == 1 {
            return states;
        }
        let trips = |(count, left): (usize, usize)| count.saturating_mul(self.trips(runs - 1, left));
        Self::counts(of_runs, states).into_iter().map(trips).fold(0, usize::saturating_add)
    }

    /// The largest number of trips for which these states suffice.
    fn capacity(&self, states: usize) -> usize {
        self.trips(self.of_runs.len() + 1, states)
    }

    /// The segments of `n` trips, with the smallest number of states that suffices.
    fn plan(&self, n: usize, states: usize) -> SegmentPlan {
        self.cut(self.of_runs.len() + 1, n, states)
    }

    fn cut(&self, runs: usize, n: usize, states: usize) -> SegmentPlan {
        if runs == 1 {
            return SegmentPlan::whole();
        }
        let (mut few, mut enough) = (0, states);
        while enough - few > 1 {
            let middle = few + (enough - few) / 2;
            if self.trips(runs, middle) >= n { enough = middle } else { few = middle }
        }
        let segment = |(count, left): (usize, usize)| {
            let len = self.trips(runs - 1, left);
            (count, len, self.cut(runs - 1, len, left))
        };
        SegmentPlan::of(n, Self::counts(&self.of_runs[..runs - 1], enough).into_iter().map(segment))
    }
}

/// [`BaseTensor::map_accum`], cut into the segments of a plan.
#[track_caller]
pub(crate) fn map_accum<T: BaseTensor>(
    plan: &SegmentPlan,
    (n, reverse): (usize, bool),
    init: Vec<T>,
    xs: &[T],
    step: &RerunTrip<T>,
) -> Trip<T> {
    if plan.is_whole() {
        return T::map_accum(n, reverse, init, xs, &mut |c, x| step(c, x));
    }
    let carried = init.len();
    let segment = |len: usize, inner: &Rc<SegmentPlan>| -> Again<T> {
        let (inner, step) = (inner.clone(), step.clone());
        Rc::new(move |args: &[T]| {
            let (carry, rows) = args.split_at(carried);
            let (next, outputs) = map_accum(&inner, (len, reverse), carry.to_vec(), rows, &step);
            [next, outputs].concat()
        })
    };
    let apart = |mut results: Vec<T>| {
        let outputs = results.split_off(carried);
        (results, outputs)
    };
    let (mut carry, mut done) = (init, 0);
    let mut stacks: Vec<Vec<T>> = Vec::new();
    for Group { count, len, once, inner } in &plan.groups {
        let (f, trips) = (segment(*len, inner), count * len);
        let start = if reverse { n - done - trips } else { done };
        done += trips;
        let rows: Vec<T> = xs.iter().map(|x| part(x, start, trips)).collect();
        let outputs;
        (carry, outputs) = if *once {
            T::map_accum(*len, reverse, carry, &rows, &mut |carry, rows| step(carry, rows))
        } else if *count == 1 {
            apart(T::again(&f, &[carry, rows].concat()))
        } else {
            let rows: Vec<T> = rows.iter().map(|x| segments(x, *count, *len)).collect();
            let (carry, outputs) = T::map_accum(*count, reverse, carry, &rows, &mut |carry, rows| {
                apart(T::again(&f, &[&carry, rows].concat()))
            });
            (carry, outputs.iter().map(self::trips).collect::<Vec<T>>())
        };
        stacks.push(outputs);
    }
    if reverse {
        stacks.reverse();
    }
    let Some(outputs) = stacks.first().map(Vec::len).filter(|_| stacks.len() > 1) else {
        return (carry, stacks.pop().unwrap_or_default());
    };
    let joined = |k: usize| T::concat(0, &stacks.iter().map(|stack| stack[k].clone()).collect::<Vec<T>>());
    (carry, (0..outputs).map(joined).collect())
}

/// The `count` rows of a stack from row `start` on.
fn part<T: BaseTensor>(x: &T, start: usize, count: usize) -> T {
    if (start, count) == (0, x.shape()[0]) {
        x.clone()
    } else {
        x.linear(&Linear::slice(x.shape(), 0, start, count, 1))
    }
}

/// A stack of rows as a stack of segments.
fn segments<T: BaseTensor>(x: &T, count: usize, len: usize) -> T {
    let shape = [&[count, len], &x.shape()[1..]].concat();
    x.linear(&Linear::reshape(x.shape(), &shape))
}

/// A stack of segments as a stack of rows.
fn trips<T: BaseTensor>(x: &T) -> T {
    let (count, len) = (x.shape()[0], x.shape()[1]);
    x.linear(&Linear::reshape(x.shape(), &[&[count * len], &x.shape()[2..]].concat()))
}

/// The program of a `while` loop with at most `most` trips, as a loop of `most` trips, with those after the end masked:
/// a long trip is a branch, which does not run after the end, and a short one is selected.
pub(crate) fn bounded(body: &Program, most: usize) -> Program {
    let variables = Term::variables(body.inputs());
    let (init, captured) = variables.split_at(body.outputs().len());
    let branch = (body.estimate().time >= tenths(MACHINE.trip_branch)).then(|| Arc::new(trip_or_nothing(body)));
    let (carry, _) = Term::map_accum(most, false, init.to_vec(), &[], &mut |carry, _| {
        let mut step = |carry: Vec<Term>| interpret(body, [&carry, captured].concat());
        let next = match &branch {
            Some(rule) => Term::custom(rule, &[&carry[..1], &carry, captured].concat()),
            None => held(carry, &mut step),
        };
        (next, Vec::new())
    });
    closed(&variables, &carry)
}

/// A trip of a `while` loop as a branch of a conditional on its first value; the other branch returns the carry.
fn trip_or_nothing(body: &Program) -> Custom {
    let variables = Term::variables(body.inputs());
    let absent = vec![false; body.outputs().len()];
    let carry = closed(&variables, &variables[..absent.len()]);
    Custom::chosen("trip", [body.clone(), carry], [absent.clone(), absent])
}

/// The largest bound of a loop that ends by itself for which reverse mode runs all trips of the bound, and stores all
/// states.
pub(crate) const FEW: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// `C(n, k)`.
    fn binomial(n: usize, k: usize) -> usize {
        (0..k).fold(1, |c, i| c * (n - i) / (i + 1))
    }

    /// The plan has `n` trips, in segments of segments.
    fn assert_whole(n: usize, plan: &SegmentPlan) {
        if plan.is_whole() {
            return;
        }
        assert_eq!(plan.groups.iter().map(|g| g.count * g.len).sum::<usize>(), n, "{plan:?}");
        plan.groups.iter().for_each(|g| {
            assert!(g.count > 0 && g.len > 0 && g.len < n, "{plan:?}");
            assert_whole(g.len, &g.inner);
        });
    }

    #[test]
    fn no_more_states_are_kept_than_asked_for() {
        for n in [0, 1, 2, 3, 7, 10, 100, 101, 999, 1000, 1024, 100_000, 1_000_000] {
            for lets_go in [false, true] {
                assert_eq!(Checkpoint::states(n.max(1)).plan(n, lets_go), SegmentPlan::whole(), "{n} trips");
                let least = 4 * (n.max(2).ilog2() as usize + 1);
                for states in [least, 2 * least, 5 * least, (2.0 * (n as f64).sqrt()).ceil() as usize + 1] {
                    let plan = Checkpoint::states(states.max(least)).plan(n, lets_go);
                    assert_whole(n, &plan);
                    assert!(plan.kept(n) <= states.max(least).min(n.max(1)), "{n} trips, {states} states: {plan:?}");
                }
                // Too few states for any number of runs.
                assert_whole(n, &Checkpoint::states(1).plan(n, lets_go));
            }
        }
        let equal = |n: usize, len: usize| SegmentPlan::of(n, [(n / len, len, SegmentPlan::whole())]);
        assert_eq!(Checkpoint::states(633).plan(100_000, true), equal(100_000, 316));
        assert_eq!(checkpoint(10).plan(11, true), equal(11, 10));
        assert_eq!(checkpoint(10).plan(10, true), SegmentPlan::whole());
    }

    #[test]
    fn the_last_trips_run_once() {
        for n in [2, 3, 10, 100, 1001] {
            for last in 1..n {
                let plan = SegmentPlan::with_last(n, last);
                assert_whole(n, &plan);
                assert_eq!(plan.runs(n), n + (n - last), "{n} trips, {last} last");
                assert!(plan.groups.iter().all(|group| group.len <= last), "{plan:?}");
            }
        }
        assert_eq!(Checkpoint::last(Checkpoint::WHOLE).plan(10, true), SegmentPlan::whole());
        assert_eq!(Checkpoint::last(Checkpoint::WHOLE / 2).plan(10, true), SegmentPlan::with_last(10, 5));
    }

    type Known = std::collections::BTreeMap<(usize, usize, bool), Option<usize>>;

    /// The smallest number of executions of trips with this number of states, by exhaustive search over the length of
    /// the first segment. `cut`: the trips have run before, and run again here as segments. A loop that is not `cut`
    /// runs its trips once if there are enough states.
    fn fewest(n: usize, states: usize, cut: bool, known: &mut Known) -> Option<usize> {
        if n == 0 || (!cut && n <= states) {
            return Some(n);
        }
        if let Some(runs) = known.get(&(n, states, cut)) {
            return *runs;
        }
        let mut best: Option<usize> = None;
        for first in 1..=if cut { n } else { n - 1 } {
            // The state at the start of the first segment is stored while the later trips are processed.
            let Some(left) = states.checked_sub(1) else { break };
            let within = fewest(first, left, false, known);
            let Some(all) = within.zip(fewest(n - first, left, true, known)).map(|(a, b)| a + b) else { continue };
            best = Some(best.map_or(all, |best| best.min(all)));
        }
        // A loop first runs once, to compute the states between its segments.
        let best = best.map(|runs| if cut { runs } else { n + runs });
        known.insert((n, states, cut), best);
        best
    }

    #[test]
    fn segments_of_any_length_do_what_the_binomial_schedule_does() {
        // Each segment is shorter than the segment before.
        for states in [5, 8, 13, 40] {
            assert_eq!(Shares::new(2, states).capacity(states), binomial(states, 2));
        }
        for runs in [3, 4] {
            let (any, most) = (Shares::new(runs, 40).capacity(40), binomial(38 + runs, runs));
            assert!(any <= most && 100 * any >= 80 * most, "{runs} runs: {any} of {most}");
        }
    }

    #[test]
    fn no_schedule_runs_trips_less_often() {
        for states in 4..10 {
            let mut known = Known::new();
            let most = binomial(states, 2);
            assert_eq!(fewest(most, states, false, &mut known), Some(2 * most), "{states} states");
            let beyond = fewest(most + 1, states, false, &mut known);
            assert!(beyond.is_none_or(|runs| runs > 2 * (most + 1)), "{states} states: {beyond:?}");
            for n in states + 1..=if states < 6 { 0 } else { 2 * states } {
                let runs = Checkpoint::states(states).plan(n, true).runs(n);
                assert_eq!(Some(runs), fewest(n, states, false, &mut known), "{n} trips, {states} states");
            }
        }
    }

    /// The runs of the loop with equal lengths and with several lengths, as `docs/guide/loops.md` has them.
    #[test]
    fn several_lengths_save_runs() {
        let runs = |n: usize, states: usize, lets_go: bool| {
            let plan = Checkpoint::states(states).plan(n, lets_go);
            plan.runs(n) as f64 / n as f64
        };
        let at = |states: usize| [false, true].map(|lets_go| runs(100_000, states, lets_go));
        let known = [[2.0, 2.0], [3.0, 2.0], [3.0, 3.0], [4.0, 3.0], [5.0, 5.0]];
        assert_eq!([1000, 520, 450, 120, 64].map(at), known);
    }
}
