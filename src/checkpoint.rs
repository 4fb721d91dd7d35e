//! Loops cut in segments, of which a derivative keeps the states at the ends alone.
//!
//! A loop of `n` trips becomes a loop over segments; a segment is a loop that reverse mode runs again
//! ([`BaseTensor::again`]) to know the states within. A segment may itself be cut. So a derivative holds the states at
//! the ends of the segments, and, for one segment of each level at a time, the states within.
//!
//! Where a number of states is given, segments may differ in length. The reverse pass comes to the last segments first,
//! and then the states at their ends are no longer needed: so earlier segments have more room, and may be longer. With
//! each segment shorter than the one before, `s` states and `r` runs of each trip are enough for `C(s + r - 2, r)`
//! trips (the binomial schedules of Griewank and Walther, "Algorithm 799: revolve", 2000, where the states of a segment
//! that is run are kept together); segments of one length are enough for `(s / r)^r`. A program has each
//! length as a loop of its own, so there are few lengths at a level, and no more than save a run of the loop: three for two
//! runs (`0.375 s^2` trips, where the binomial schedule does `0.5 s^2` and one length `0.25 s^2`), two for three runs (`0.068 s^3`
//! instead of `0.167 s^3` and `0.037 s^3`), one beyond.
//!
//! Law: the trips, their order and their results are those of the loop. So are the cotangents of a carry; those of
//! captured values are added up segment by segment.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::base::{Again, BaseTensor, Trip};
use crate::cost::MACHINE;
use crate::ops::Linear;
use crate::program::repeat::{closed, held};
use crate::program::{Node, Op, Program, Term, interpret};
use crate::shape::size;

/// How a loop is cut in segments, so that its derivative in reverse mode keeps few states: see
/// [`checkpoint`](crate::checkpoint()).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Checkpoint(Limit);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Limit {
    /// The length of a segment.
    Every(usize),
    /// The number of states that are kept at once.
    States(usize),
}

/// A trip of a loop that may run again.
pub(crate) type RerunTrip<T> = Rc<dyn Fn(Vec<T>, &[T]) -> Trip<T>>;

/// A loop over segments, each a loop of `every` trips but for the last one, which may be shorter.
///
/// A loop of `n` trips keeps for its derivative in reverse mode `n` states, and what else a trip computes that the
/// derivative needs. Cut in segments it keeps `n / every` states, and in the reverse pass those of the trips of one
/// segment, which runs a second time for this: the time of one more run of the loop for a memory of about `2 sqrt n`
/// states, if `every` is about `sqrt n`. The methods have the names of the loops that they cut, and run the same trips.
/// The body must own what it captures (`move`), since it runs again after the loop has ended.
///
/// Recorded programs and [`direct`](crate::direct) verbs save memory alike; where a `direct` verb runs while a program
/// is recorded, its derivative keeps all states. Gradients have the bits of those of the loop, but for sums over trips,
/// which are added up segment by segment.
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
    /// Segments within segments, such that a derivative in reverse mode keeps at most so many states at once, and runs the
    /// loop as few times as that allows.
    ///
    /// `s` states and `r` runs of the loop, the first one counted, are enough for `(s / r)^r` trips in segments of equal
    /// length. In a recorded program the first segments may be longer than the last ones, whose states are gone by the
    /// time they are needed: that is enough for `1.5` (`r = 2`) and `1.8` (`r = 3`) times as many trips. A loop of fewer
    /// trips than states is not cut. No loop can do with fewer than about `2 log2 n` states.
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
    /// When there are no states.
    #[track_caller]
    pub fn states(states: usize) -> Checkpoint {
        if states == 0 {
            panic!(
                "checkpoint: a derivative must keep a state, but the number of states is 0; pass the number that fits into memory"
            );
        }
        Checkpoint(Limit::States(states))
    }

    /// The segments of a loop of `n` trips; of one length at each level, unless states are let go as soon as the reverse
    /// pass no longer needs them.
    pub(crate) fn plan(self, n: usize, lets_go: bool) -> SegmentPlan {
        match self.0 {
            Limit::Every(every) if every < n => SegmentPlan::of(n, [(n / every, every, SegmentPlan::whole())]),
            Limit::Every(_) => SegmentPlan::whole(),
            Limit::States(states) => {
                let settings = (1..=n.max(2).ilog2() as usize).flat_map(|runs| {
                    let most = if lets_go { lengths(runs) } else { 1 };
                    (1..=most).map(move |lengths| (runs, lengths))
                });
                let mut settings = settings.map(|(runs, lengths)| Shares::new(runs, lengths));
                let enough = settings.find(|shares| shares.capacity(states) >= n);
                match enough {
                    Some(shares) => shares.plan(n, states),
                    // No number of runs is enough: as few states as there can be.
                    None => SegmentPlan::of_few_states(n),
                }
            }
        }
    }
}

/// The most lengths of segments at a level, for so many runs of the loop: each is a loop in the program.
fn lengths(runs: usize) -> usize {
    match runs {
        2 => 3,
        3 => 2,
        _ => 1,
    }
}

/// How a loop is cut: segments in the order of the trips. Without segments it is not cut.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct SegmentPlan {
    groups: SmallVec<[Group; 4]>,
}

/// Segments of equal length, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    count: usize,
    len: usize,
    /// How each is cut.
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

    /// Segments of these counts and lengths, as many as `n` trips need; the last one may be shorter.
    fn of(n: usize, segments: impl IntoIterator<Item = (usize, usize, SegmentPlan)>) -> SegmentPlan {
        let (mut left, mut groups) = (n, SmallVec::<[Group; 4]>::new());
        for (count, len, inner) in segments {
            let (full, inner) = (count.min(left / len), Rc::new(inner));
            left -= full * len;
            groups.extend((full > 0).then(|| Group { count: full, len, inner: inner.clone() }));
            if full < count && left > 0 {
                groups.push(Group { count: 1, len: left, inner: Rc::new(inner.shortened(left)) });
                left = 0;
            }
        }
        // What is left is done by segments like the last ones.
        if let (true, Some(last)) = (left > 0, groups.last().cloned()) {
            let count = left / last.len;
            groups.extend((count > 0).then(|| Group { count, ..last.clone() }));
            let rest = left % last.len;
            groups.extend((rest > 0).then(|| Group {
                count: 1,
                len: rest,
                inner: Rc::new(last.inner.shortened(rest)),
            }));
        }
        SegmentPlan { groups }
    }

    /// The same for fewer trips.
    fn shortened(&self, n: usize) -> SegmentPlan {
        if self.groups.first().is_none_or(|first| n <= first.len) {
            // The trips of one segment keep as many states as it does.
            return self.groups.first().map_or_else(SegmentPlan::whole, |first| first.inner.shortened(n));
        }
        SegmentPlan::of(n, self.groups.iter().map(|g| (g.count, g.len, (*g.inner).clone())))
    }

    /// Segments in as many levels as keep fewer states.
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

    /// The states that are kept at once, if those of later segments are let go: those at the ends of segments up to one,
    /// and those within it.
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

    /// How often a trip runs in all.
    #[cfg(test)]
    fn runs(&self, n: usize) -> usize {
        n + self.groups.iter().map(|group| group.count * group.inner.runs(group.len)).sum::<usize>()
    }
}

/// So many levels of segments, each cut in about as many parts.
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

/// How states are shared between the ends of segments of several lengths and what is within them.
struct Shares {
    /// For so many runs of the loop, less two: the part of the states that are left which goes to the ends of the segments
    /// of each length.
    of_runs: Vec<SmallVec<[f64; 3]>>,
}

impl Shares {
    /// For so many runs, with so many lengths at a level: as the number `s` of states grows, `c s^r` trips are done, and the
    /// share `x` of the longest segments makes `c = x (1 - x)^(r - 1) a + (1 - x)^r b` largest, where `a` is the `c` of one run
    /// less, and `b` that of one length less.
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

    /// The numbers of segments of each length, each with the states that are left within one of its segments; and how
    /// these are shared.
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

    /// How many trips so many states are enough for.
    fn capacity(&self, states: usize) -> usize {
        self.trips(self.of_runs.len() + 1, states)
    }

    /// The segments of `n` trips, with no more states than they need.
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

/// [`BaseTensor::map_accum`], cut in segments.
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
    for Group { count, len, inner } in &plan.groups {
        let (f, trips) = (segment(*len, inner), count * len);
        let start = if reverse { n - done - trips } else { done };
        done += trips;
        let rows: Vec<T> = xs.iter().map(|x| part(x, start, trips)).collect();
        let outputs;
        (carry, outputs) = if *count == 1 {
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

/// Some rows of a stack.
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

/// The program of a function of at most so many trips as a loop. Many trips are cut in segments, unless what all of them
/// compute stays in cache.
pub(crate) fn bounded(body: &Program, most: usize) -> Program {
    let variables = Term::variables(body.inputs());
    let (init, captured) = variables.split_at(body.outputs().len());
    let (inside, captured) = (body.clone(), captured.to_vec());
    let step: RerunTrip<Term> = Rc::new(move |carry, _| {
        let mut step = |carry: Vec<Term>| interpret(&inside, [carry, captured.clone()].concat());
        (held(carry, &mut step), Vec::new())
    });
    let few = most <= FEW || bytes(body).saturating_mul(most) <= MACHINE.level2_stack;
    let plan = if few { SegmentPlan::whole() } else { Checkpoint::states(2 * most.isqrt() + 2).plan(most, true) };
    let (carry, _) = map_accum(&plan, (most, false), init.to_vec(), &[], &step);
    closed(&variables, &carry)
}

/// The derivative of so few trips keeps all states.
const FEW: usize = 64;

/// The bytes of all values that a program computes.
fn bytes(program: &Program) -> usize {
    let of = |node: &Node| match &node.op {
        Op::Loop(l) => bytes(&l.body).saturating_mul(l.n),
        Op::Custom(rule, _) => bytes(rule.primal()),
        Op::Unary(..) | Op::Binary(..) | Op::Discrete(..) | Op::Select(_) | Op::Linear(..) | Op::Contract(..) => {
            size(&node.shape).saturating_mul(node.dtype.width())
        }
        Op::Reduce(..) | Op::Gather(..) | Op::ScatterAdd(..) | Op::Concat(..) | Op::Output(..) => {
            size(&node.shape).saturating_mul(node.dtype.width())
        }
        Op::Input(_) | Op::Constant(_) | Op::Call(..) => 0,
    };
    program.nodes().iter().map(of).fold(0, usize::saturating_add)
}

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

    type Known = std::collections::BTreeMap<(usize, usize, bool), Option<usize>>;

    /// How often trips run at least, in all, with so many states: by trying all lengths of the first segment. Those of a
    /// loop that is not `cut` run once, if there are enough states.
    fn fewest(n: usize, states: usize, cut: bool, known: &mut Known) -> Option<usize> {
        if n == 0 || (!cut && n <= states) {
            return Some(n);
        }
        if let Some(runs) = known.get(&(n, states, cut)) {
            return *runs;
        }
        let mut best: Option<usize> = None;
        for first in 1..=if cut { n } else { n - 1 } {
            // The state at its start is kept while what comes after it is done.
            let Some(left) = states.checked_sub(1) else { break };
            let within = fewest(first, left, false, known);
            let Some(all) = within.zip(fewest(n - first, left, true, known)).map(|(a, b)| a + b) else { continue };
            best = Some(best.map_or(all, |best| best.min(all)));
        }
        // A loop that is cut runs once to know the states at the ends.
        let best = best.map(|runs| if cut { runs } else { n + runs });
        known.insert((n, states, cut), best);
        best
    }

    #[test]
    fn segments_of_any_length_do_what_the_binomial_schedule_does() {
        // Each segment shorter than the one before.
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

    /// What several lengths save, as the documentation says.
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
