//! The discrete adjoint of the solution of a differential equation: its accepted steps, transposed.
//!
//! Law: the gradient is the exact derivative of a composition of steps at constant lengths, except for the last step of
//! an interval, whose length is the rest of the interval. So the reverse pass never integrates backwards, which is
//! unstable where solutions converge: it reads the states of the forward pass.
//!
//! The steps are computed again, and they must be good for the derivative, too. For any direction `d` of start and
//! parameters, the gradient of a loss `l` satisfies `gradient . d = dl/dx . v`, where `v` is the tangent along `d` in
//! the same steps: the transposed steps are as accurate as the tangents that were never computed. The error of the
//! state says nothing about these. At rest it is 0, steps grow until they leave the region of stability of the method,
//! and the gradient of steps that are exact for the state is arbitrary. So a probe is integrated along with the state: the
//! tangent along one direction in which every start and parameter has a share of its size. The probe is the sum of the
//! tangents of all directions, each times its share. If its error is small at all times, so are theirs, except for a
//! coincidence, and for those that are small in the sum. So there is a second probe of the parameters alone, with equal
//! shares: the first one does not see a small parameter next to large ones, or next to the state. It is 0 at the start of
//! an interval, so its error is relative to what it is soon, by its rate there.
//!
//! Equal numbers have unequal shares, as equal ones are a common coincidence: where `x' = -(x - p)` rests, the tangent in which `x` and `p` change alike rests, too. As modes that have decayed are small in the probe, steps
//! for stiff equations are bounded by its stability, and not by the accuracy of modes that are gone. The error of a
//! step follows from both (`steps`): the probe does not count where the state changes as its derivatives do.
//!
//! Attempts at a step in reverse mode, relative to those for the state alone, for predators and prey over 20 years, by a
//! model of the controller:
//!
//! | tolerance, relative and absolute | 20 intervals | one interval |
//! |---|---|---|
//! | 1e-8, 0 | 1.20 | 1.09 |
//! | 1e-5, 1e-3 | 1.91 | 1.60 |
//!
//! At the loose tolerances the state alone leaves errors of the gradient of 4e-3 and more.
//!
//! Rejected: the embedded error of the cotangent, with steps that are cut and run again. The states at the cuts must
//! come from the short steps, or derivatives of the gradient pass through the long ones. So lengths are needed before
//! the steps, which makes two passes; and a derivative of the gradient may need steps that its cotangent does not, as
//! that of `x' = y^2, y' = -y` at 0.
//!
//! Rejected: a bound by the stability of the linearized equation. Steps at the boundary of stability are stable, not
//! accurate: the gradient of `x' = -x` after 10 units of time would be 1 instead of 4.5e-5. A bound by accuracy makes
//! stiff equations 30 times as long.
//!
//! Cotangents of times need no steps: `x(t_i)` depends on its own time by its rate, and on the time of the start as on
//! a start that is changed by the rate there, with the opposite sign.
//!
//! The forward pass stores the state, the step length and the largest number at the start of each interval. The reverse
//! pass computes the steps of one interval at a time again: once to store the state at the start of each segment, some
//! 2 sqrt(steps) states in all, and once more from these states, segment by segment, the last segment first.
//!
//! Sources. Checkpoints: Griewank and Walther, "Evaluating derivatives", chapter 12. Derivatives of steps at constant
//! lengths: Eberhard and Bischof (1999), "Automatic differentiation of numerical integration algorithms".

use std::ops::Range;
use std::sync::Arc;

use super::super::closed;
use super::super::numbers::{largest, nan_if};
use super::steps::{
    CARRIED, Differentiated, IntegratedState, OF_DERIVATIVES, RateFunction, StepStart, TimeInterval, step_of,
};
use super::{Equation, Mask, Number, Vector, number};
use crate::ad::symbolic;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::program::{Custom, Program, Term, interpret};
use crate::tensor::{Tensor, concat, stack};
use crate::tree::ravel::{ravel, raveled_size, unravel};

type Count = Tensor<Term, 0, i64>;
type Rows = Tensor<Term, 2>;

/// A segment has at least as many steps as fit into this many numbers: this much memory costs less than to compute the
/// steps again.
const NUMBERS: usize = 1 << 10;

/// The part of their shares that parameters have in the probe: shares of numbers of the state are from .5 to 1.5, so
/// those of parameters are smaller than any of these.
const OF_PARAMETERS: f64 = 0.3;

/// The accepted steps of a segment: for each a row of its time, its length and its state; and the number of steps.
struct Taken {
    rows: Rows,
    count: Count,
}

/// The reverse pass over the intervals.
struct Back<'a> {
    equation: &'a Equation,
    of: &'a IntegratedState<'a>,
    /// `(x, t, p, u, h, next_bar) -> (next, p_bar, u_bar)`: the transposed step from a state `u`.
    pull: &'a Program,
    x: &'a [Term],
    p: &'a [Term],
}

fn count(k: i64) -> Count {
    Count::scalar(k)
}

impl Equation {
    /// `(start, times, p, states, lengths, tops, states_bar, lengths_bar, tops_bar) -> (start_bar, times_bar, p_bar)`, as
    /// one function, which is differentiated as a program, and not operation by operation.
    pub(super) fn adjoint(&self) -> Program {
        let args = self.arguments();
        let n = raveled_size(&args[..self.states]);
        let [results, bars] = [(); 2].map(|()| self.results(n));
        let inputs = [&args[..], &results, &bars].concat();
        let program = closed("odeint", &inputs, &self.cotangents(&args, &results, &bars));
        let whole = Arc::new(Custom::checkpointed("odeint", program));
        closed("odeint", &inputs, &Term::custom(&whole, &inputs))
    }

    fn cotangents(&self, args: &[Term], results: &[Term; 3], bars: &[Term; 3]) -> Vec<Term> {
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let t = Vector::from_raw(args[self.states].clone());
        let (n, last) = (raveled_size(x), self.times - 1);
        let [states, own] = [results, bars].map(|all| Rows::from_raw(all[0].clone()));
        let push = symbolic::jvp(&self.program);
        let rate = |t: &Number, u: &Vector, reads: &[Term]| self.rate(&unravel(x, u.raw()), t, &reads[..p.len()]);
        let both = |t: &Number, w: &Vector, reads: &[Term]| self.with_tangents(&push, x, t, w, reads);
        let reads = [p, &probe(p, n, OF_PARAMETERS), &raw_probe(p, n)].concat();
        let second = p.iter().any(|leaf| leaf.dtype().is_float());
        let parts = vec![n; if second { 3 } else { 2 }];
        // Where the rate of the second probe is 0 at first, too, tangents in the start, of about 1, say what is small.
        let units = [number(0.0), number(0.1 * OF_DERIVATIVES * self.of_derivatives())];
        let of = IntegratedState::of(&both, reads, &parts, Differentiated::State(&rate), &units);
        let back = Back { equation: self, of: &of, pull: &self.pulled_step(), x, p };
        let init = vec![own.row(last).into_raw(), Vector::zeros([raveled_size(p)]).into_raw()];
        let rows = [
            t.slice(0, 0..last).into_raw(),
            t.slice(0, 1..).into_raw(),
            results[1].clone(),
            results[2].clone(),
            states.slice(0, 0..last).into_raw(),
            states.slice(0, 1..).into_raw(),
            own.slice(0, 0..last).into_raw(),
        ];
        let longest = self.longest(&t);
        let (done, each) = Term::map_accum(last, true, init, &rows, &mut |carry, row| {
            let [from, to, step, top] = [0, 1, 2, 3].map(|k| Number::from_raw(row[k].clone()));
            let [before, after, bar] = [4, 5, 6].map(|k| Vector::from_raw(row[k].clone()));
            let beside = Vector::from_raw(probe(&[before.raw().clone()], 0, 1.0).swap_remove(0));
            let top = Vector::ones([n]).times(&top.stop_gradient());
            let none = Vector::zeros([(parts.len() - 2) * n]);
            let tops = concat(0, [top, Vector::zeros([n]), none.clone()]);
            let at = (concat(0, [before, beside, none]), step.stop_gradient(), tops);
            let interval = TimeInterval::of(&from, &to, &longest);
            let bars = back.interval(at, &interval, &after.sum(), carry);
            let x_bar = Vector::from_raw(bars[0].clone()) + bar;
            (vec![x_bar.into_raw(), bars[1].clone()], vec![bars[0].clone()])
        });
        let start_bar = unravel(x, &done[0]);
        let t_bar = if last == 0 {
            Vector::zeros([1])
        } else {
            let through = Rows::from_raw(each[0].clone()).slice(0, 0..1);
            // No state, no cotangent: a state that does not exist has no rate.
            let bars = concat(0, [-through, own.slice(0, 1..)]);
            let products = self.rates(x, &t, p, &states) * &bars;
            bars.eq(0.0).select(Rows::zeros([self.times, n]), products).sum_axis(1)
        };
        let zero = |x: &Term, bar: Term| if x.dtype().is_float() { bar } else { Term::zeros(x.shape(), x.dtype()) };
        let [start_bar, p_bar] = [(x, start_bar), (p, unravel(p, &done[1]))]
            .map(|(x, bars)| x.iter().zip(bars).map(|(x, bar)| zero(x, bar)).collect::<Vec<Term>>());
        start_bar.into_iter().chain([t_bar.into_raw()]).chain(p_bar).collect()
    }

    /// The transposed step, its first stage included, in parameters and state, which is one vector; of the leaves of the
    /// state it reads only those that are not floats, which are constants.
    fn pulled_step(&self) -> Program {
        let args = Term::variables(self.program.inputs());
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let t = Number::from_raw(args[self.states].clone());
        let (u, h) =
            (Vector::from_raw(Term::variable(&[raveled_size(x)], DType::F64)), Term::variable(&[], DType::F64));
        let rate: RateFunction<'_> = &|t, u, p| self.rate(&unravel(x, u.raw()), t, p);
        let [next, ..] = step_of(rate, &t, &u, &rate(&t, &u, p), &Number::from_raw(h.clone()), p);
        let inputs = [&args[..], &[u.into_raw(), h]].concat();
        let moving: Vec<usize> = (self.states + 1..inputs.len() - 1).collect();
        symbolic::vjp_in(&closed("odeint", &inputs, &[next.into_raw()]), &moving)
    }

    /// The largest number of steps in a segment of an interval.
    fn segment(&self, n: usize) -> usize {
        let most = self.settings.steps;
        (most.isqrt() + 1).max(NUMBERS / (n + 2)).min(most).max(1)
    }
}

/// Tangents in which every number has a share of its size, and no less than a share of the largest number; the size of
/// zeros alone is 1.
///
/// Equal numbers have unequal shares: at the equilibrium `x = p` of `x' = -(x - p)` equal ones would be a tangent that
/// rests, and has no error. So numbers are counted over all leaves, from `first`, and parameters have a `part` of their
/// shares.
fn probe(leaves: &[Term], mut first: usize, part: f64) -> Vec<Term> {
    let of = |leaf: &Term| {
        let from = first as f64;
        first += raveled_size(std::slice::from_ref(leaf));
        if !leaf.dtype().is_float() {
            return Term::zeros(leaf.shape(), leaf.dtype());
        }
        let x = Vector::from_raw(ravel(std::slice::from_ref(leaf))).stop_gradient().abs();
        let [n] = x.shape();
        let k = Tensor::<Term, 1, i64>::iota(n).to_float::<f64>() + from;
        let top = Number::from_raw(largest(x.raw()));
        let top = top.gt(0.0).select(top * 0.3, number(1.0));
        // Numbers from .5 to 1.5 without an order, times the part.
        let weights = ((k.square() * 0.7 + k * 2.4 + 1.0).sin() * 0.5 + 1.0) * part;
        unravel(std::slice::from_ref(leaf), ((x + Vector::ones([n]).times(&top)) * weights).raw()).swap_remove(0)
    };
    leaves.iter().map(of).collect()
}

/// The tangents of the second probe: of parameters alone, all of about the same size.
fn raw_probe(leaves: &[Term], first: usize) -> Vec<Term> {
    let ones = unravel(leaves, Vector::ones([raveled_size(leaves)]).raw());
    probe(&ones, first, 1.0)
}

impl Back<'_> {
    /// The reverse pass over an interval: from the cotangents of the state at its end, and of the parameters so far, to
    /// the cotangents of the state at its start, and of the parameters. They are NaN without a solution, whose sum at
    /// the end is `sum`; but a state whose cotangent is 0 has no effect, and its steps are not computed.
    fn interval(&self, at: StepStart, interval: &TimeInterval, sum: &Number, bars: Vec<Term>) -> Vec<Term> {
        let n = self.width();
        let steps = self.equation.segment(n);
        let segments = self.equation.settings.steps.div_ceil(steps);
        let matters = !Vector::from_raw(bars[0].clone()).stop_gradient().abs().sum().eq(0.0);
        let lost = sum.is_nan();
        let on = &matters & &!&lost;
        let carry = self.equation.begun(self.of, at, interval, &on);
        let (end, bars) = if segments > 1 {
            self.segments(carry, interval, [segments, steps], bars)
        } else {
            let (carry, taken) = self.taken(carry, interval, steps);
            (carry[1].clone(), self.through(&taken, bars))
        };
        // Derivatives of the cotangents go through the state that is NaN, so they are NaN, too.
        let one = (&matters & &lost).select(sum, number(1.0));
        let missed = matters & (lost | interval.to.ne(Number::from_raw(end)));
        bars.iter().map(|bar| Vector::from_raw(nan_if(missed.raw(), bar)).times(&one).into_raw()).collect()
    }

    /// The number of numbers of the state.
    fn width(&self) -> usize {
        raveled_size(self.x)
    }

    /// The reverse pass over an interval of several segments: the time at which the steps end, and the cotangents.
    fn segments(
        &self,
        init: Vec<Term>,
        interval: &TimeInterval,
        [segments, steps]: [usize; 2],
        bars: Vec<Term>,
    ) -> (Term, Vec<Term>) {
        let on = init[0].clone();
        let own = [
            Rows::zeros([segments, self.of.width() + self.of.ranges().count() + 4]).into_raw(),
            count(0).into_raw(),
            self.none(steps).rows.into_raw(),
            count(0).into_raw(),
        ];
        let there = Term::repeat(Some(segments), [init, own.to_vec()].concat(), &mut |mut carry| {
            let own = carry.split_off(CARRIED);
            let (k, marks) = (Count::from_raw(own[1].clone()), Rows::from_raw(own[0].clone()));
            let marks = marks.add_at([&k], &self.mark(&carry));
            let (mut carry, taken) = self.taken(carry, interval, steps);
            carry.extend([marks.into_raw(), (k + 1).into_raw(), taken.rows.into_raw(), taken.count.into_raw()]);
            carry
        });
        let (end, marks) = (there[1].clone(), Rows::from_raw(there[CARRIED].clone()));
        let last = Count::from_raw(there[CARRIED + 1].clone()) - 1;
        let own = vec![on, last.into_raw(), there[CARRIED + 2].clone(), there[CARRIED + 3].clone()];
        let done = Term::repeat(Some(segments), [own, bars].concat(), &mut |mut carry| {
            let bars = carry.split_off(4);
            let [k, count] = [1, 3].map(|k| Count::from_raw(carry[k].clone()));
            let bars = self.through(&Taken { rows: Rows::from_raw(carry[2].clone()), count }, bars);
            let more = k.gt(0);
            let k = k - 1;
            // Without an earlier segment no steps are computed again, but the mark that is read must hold a state.
            let at = self.marked(&marks.at([k.max(0)]), &more);
            let (_, taken) = self.taken(at, interval, steps);
            [vec![more.into_raw(), k.into_raw(), taken.rows.into_raw(), taken.count.into_raw()], bars].concat()
        });
        (end, done[4..].to_vec())
    }

    /// A segment without steps, with room for this number of steps.
    fn none(&self, steps: usize) -> Taken {
        Taken { rows: Rows::zeros([steps, self.width() + 2]), count: count(0) }
    }

    /// At most `steps` attempts at a step from this carry: the last carry, and the accepted steps.
    fn taken(&self, mut init: Vec<Term>, interval: &TimeInterval, steps: usize) -> (Vec<Term>, Taken) {
        let n = self.width();
        let Taken { rows, count: none } = self.none(steps);
        init.extend([rows.into_raw(), none.into_raw()]);
        let mut done = Term::repeat(Some(steps), init, &mut |mut carry| {
            let own = carry.split_off(CARRIED);
            let (rows, k) = (Rows::from_raw(own[0].clone()), Count::from_raw(own[1].clone()));
            let tried = self.equation.attempt(self.of, interval, &carry);
            let [t, x] = [&carry[1], &carry[2]];
            let head = stack([Number::from_raw(t.clone()), tried.h]);
            let row = concat(0, [head, Vector::from_raw(x.clone()).slice(0, 0..n)]);
            // A rejected step is written out of bounds, so that nothing is written.
            let position = tried.good.select(&k, count(steps as i64));
            let rows = rows.add_at([&position], &row);
            let k = k + tried.good.to_int();
            [tried.carry, vec![rows.into_raw(), k.into_raw()]].concat()
        });
        let own = done.split_off(CARRIED);
        (done, Taken { rows: Rows::from_raw(own[0].clone()), count: Count::from_raw(own[1].clone()) })
    }

    /// A mark: time, length of the next step, what is expected near a kink, the largest numbers of state and probes, state,
    /// and probes.
    fn mark(&self, carry: &[Term]) -> Vector {
        let [t, step, expected, near] = [1, 4, 6, 7].map(|k| Number::from_raw(carry[k].clone()));
        let (x, top) = (Vector::from_raw(carry[2].clone()), Vector::from_raw(carry[5].clone()));
        let tops = self.of.ranges().map(|part| Number::from_raw(largest(top.slice(0, part).raw())).stop_gradient());
        let tops = stack(tops.collect::<Vec<Number>>());
        let [step, expected, near] = [step, expected, near].map(|x| x.stop_gradient());
        concat(0, [stack([t, step, expected, near]), tops, x])
    }

    /// The carry of the steps that start at a mark.
    fn marked(&self, row: &Vector, on: &Mask) -> Vec<Term> {
        let [t, step, expected, near] = [0, 1, 2, 3].map(|k| row.at([k]));
        let parts: Vec<Range<usize>> = self.of.ranges().collect();
        let x = row.slice(0, 4 + parts.len()..);
        let rate = self.of.rate(&t, &x);
        let top = |(k, part): (usize, &Range<usize>)| Vector::ones([part.len()]).times(&row.at([4 + k as i64]));
        let top = concat(0, parts.iter().enumerate().map(top).collect::<Vec<Vector>>());
        let carry = [on.raw(), t.raw(), x.raw(), rate.raw(), step.raw(), top.raw(), expected.raw(), near.raw()];
        carry.map(Clone::clone).to_vec()
    }

    /// The reverse pass over these steps: from the cotangents of the state and the parameters after the steps to those
    /// before them.
    fn through(&self, taken: &Taken, bars: Vec<Term>) -> Vec<Term> {
        let most = taken.rows.shape()[0];
        let init = vec![taken.count.gt(0).into_raw(), (&taken.count - 1).into_raw()];
        let done = Term::repeat(Some(most), [init, bars].concat(), &mut |carry| {
            let k = Count::from_raw(carry[1].clone());
            let row = taken.rows.at([k.max(0)]);
            let [t, h] = [0, 1].map(|k| row.at([k]).into_raw());
            let point = self.x.iter().chain([&t]).chain(self.p).cloned();
            let point = point.chain([row.slice(0, 2..).into_raw(), h, carry[2].clone()]);
            let mut pulled = interpret(self.pull, point.collect());
            let u_bar = pulled.pop().expect("a cotangent of the state");
            let p_bar = Vector::from_raw(carry[3].clone()) + Vector::from_raw(ravel(&pulled[1..]));
            let (on, k) = (k.gt(0), k - 1);
            vec![on.into_raw(), k.into_raw(), u_bar, p_bar.into_raw()]
        });
        done[2..].to_vec()
    }
}
