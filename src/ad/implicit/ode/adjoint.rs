//! The discrete adjoint of the solution of a differential equation: its accepted steps, transposed.
//!
//! Law: the gradient is the exact derivative of the computed solution, which is the composition of its accepted steps
//! at constant lengths, except for the last step of an interval, whose length is the rest of the interval. So the
//! reverse pass never integrates backwards, which is unstable where solutions converge: it reads the states of the
//! forward pass.
//!
//! The forward pass stores the state, the step length and the largest number at the start of each interval. The reverse
//! pass computes the steps of one interval at a time again: once to store the state at the start of each segment, some
//! 2 sqrt(steps) states in all, and once more from these states, segment by segment, the last segment first.
//!
//! Sources. Checkpoints: Griewank and Walther, "Evaluating derivatives", chapter 12. Derivatives of steps at constant
//! lengths: Eberhard and Bischof (1999), "Automatic differentiation of numerical integration algorithms".

use super::super::closed;
use super::{At, Equation, Mask, Moving, Number, Rate, Vector, Way, step_of};
use crate::ad::symbolic;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::program::{Program, Term, interpret};
use crate::tensor::Tensor;
use crate::tree::ravel::{ravel, raveled_size, unravel};

use super::super::search::{largest, nan_if};

type Count = Tensor<Term, 0, i64>;
type Rows = Tensor<Term, 2>;

/// A segment has at least as many steps as fit into this many numbers: this much memory costs less than to compute the
/// steps again.
const NUMBERS: usize = 1 << 10;

/// The number of values that steps carry, as [`Equation::begun`] gives them.
const CARRIED: usize = 6;

/// The accepted steps of a segment: for each a row of its time, its length, whether the interval ends with it, and its
/// state; and the number of steps.
struct Taken {
    rows: Rows,
    count: Count,
}

/// The reverse pass over the intervals.
struct Back<'a> {
    equation: &'a Equation,
    of: &'a Moving<'a>,
    /// `(x, t, p, u, h, next_bar) -> (next, t_bar, p_bar, u_bar, h_bar)`: the transposed step from a state `u`.
    pull: &'a Program,
    x: &'a [Term],
    p: &'a [Term],
}

fn count(k: i64) -> Count {
    Count::scalar(k)
}

impl Equation {
    /// `(start, times, p, states, lengths, tops, states_bar, lengths_bar, tops_bar) -> (start_bar, times_bar, p_bar)`.
    pub(super) fn adjoint(&self) -> Program {
        let args = self.arguments();
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let t = Vector::from_raw(args[self.states].clone());
        let (n, last) = (raveled_size(x), self.times - 1);
        let [results, bars] = [(); 2].map(|()| self.results(n));
        let states = Rows::from_raw(results[0].clone());
        let own = Rows::from_raw(bars[0].clone());
        let rate = |t: &Number, u: &Vector| self.rate(&unravel(x, u.raw()), t, p);
        let of = Moving { rate: &rate, reads: Some(p.to_vec()), parts: &[n], state: Vector::zeros([n]) };
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
        let (done, ends) = Term::map_accum(last, true, init, &rows, &mut |carry, row| {
            let [from, to, step, top] = [0, 1, 2, 3].map(|k| Number::from_raw(row[k].clone()));
            let [before, after, bar] = [4, 5, 6].map(|k| Vector::from_raw(row[k].clone()));
            let at = (before, step.stop_gradient(), Vector::ones([n]).times(&top.stop_gradient()));
            let none = Number::scalar(0.0).into_raw();
            let bars = vec![carry[0].clone(), none.clone(), none, carry[1].clone()];
            let bars = back.interval(at, &Way::of(&from, &to), &after.sum().is_nan(), bars);
            let x_bar = Vector::from_raw(bars[0].clone()) + bar;
            (vec![x_bar.into_raw(), bars[3].clone()], bars[1..3].to_vec())
        });
        let start_bar = unravel(x, &done[0]);
        let none = Vector::zeros([1]);
        let [from, to] = [0, 1].map(|k| Vector::from_raw(ends[k].clone()));
        let t_bar = crate::tensor::concat(0, [from, none.clone()]) + crate::tensor::concat(0, [none, to]);
        let zero = |x: &Term, bar: Term| if x.dtype().is_float() { bar } else { Term::zeros(x.shape(), x.dtype()) };
        let [start_bar, p_bar] = [(x, start_bar), (p, unravel(p, &done[1]))]
            .map(|(x, bars)| x.iter().zip(bars).map(|(x, bar)| zero(x, bar)).collect::<Vec<Term>>());
        let results_bar: Vec<Term> = start_bar.into_iter().chain([t_bar.into_raw()]).chain(p_bar).collect();
        closed("odeint", &[args.clone(), results.to_vec(), bars.to_vec()].concat(), &results_bar)
    }

    /// The transposed step, its first stage included, in all inputs but the leaves of the state; of these leaves it
    /// reads only those that are not floats, which are constants.
    fn pulled_step(&self) -> Program {
        let args = Term::variables(self.program.inputs());
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let t = Number::from_raw(args[self.states].clone());
        let (u, h) =
            (Vector::from_raw(Term::variable(&[raveled_size(x)], DType::F64)), Term::variable(&[], DType::F64));
        let rate: Rate<'_> = &|t, u| self.rate(&unravel(x, u.raw()), t, p);
        let (next, _, _) = step_of(rate, &t, &u, &rate(&t, &u), &Number::from_raw(h.clone()));
        let inputs = [&args[..], &[u.into_raw(), h]].concat();
        let moving: Vec<usize> = (self.states..inputs.len()).collect();
        symbolic::vjp_in(&closed("odeint", &inputs, &[next.into_raw()]), &moving)
    }

    /// The largest number of steps in a segment of an interval.
    fn segment(&self, n: usize) -> usize {
        let most = self.settings.steps;
        (most.isqrt() + 1).max(NUMBERS / (n + 3)).min(most).max(1)
    }
}

impl Back<'_> {
    /// The reverse pass over an interval. `bars` are the cotangents of the state at the end, of both ends of the
    /// interval (0 so far), and of the parameters so far; the results are the cotangents of the state at the start, of
    /// both ends, and of the parameters. They are NaN without a solution.
    fn interval(&self, at: At, way: &Way, lost: &Mask, bars: Vec<Term>) -> Vec<Term> {
        let n = at.0.shape()[0];
        let steps = self.equation.segment(n);
        let segments = self.equation.settings.steps.div_ceil(steps);
        let carry = self.equation.begun(self.of, at, way);
        let (end, bars) = if segments > 1 {
            self.segments(carry, way, [segments, steps], lost, bars)
        } else {
            let (carry, taken) = self.taken(carry, way, steps);
            (carry[1].clone(), self.through(&taken, bars))
        };
        let missed = lost | way.to.ne(Number::from_raw(end));
        bars.iter().map(|bar| nan_if(missed.raw(), bar)).collect()
    }

    /// The reverse pass over an interval of several segments: the time at which the steps end, and the cotangents.
    fn segments(
        &self,
        init: Vec<Term>,
        way: &Way,
        [segments, steps]: [usize; 2],
        lost: &Mask,
        bars: Vec<Term>,
    ) -> (Term, Vec<Term>) {
        let width = init[2].shape()[0] + 3;
        let own = [
            Rows::zeros([segments, width]).into_raw(),
            count(0).into_raw(),
            self.none(steps, width - 3).rows.into_raw(),
            count(0).into_raw(),
        ];
        let there = Term::repeat(Some(segments), [init, own.to_vec()].concat(), &mut |mut carry| {
            let own = carry.split_off(CARRIED);
            let (k, marks) = (Count::from_raw(own[1].clone()), Rows::from_raw(own[0].clone()));
            let marks = marks.add_at([&k], &mark(&carry));
            let (mut carry, taken) = self.taken(carry, way, steps);
            carry.extend([marks.into_raw(), (k + 1).into_raw(), taken.rows.into_raw(), taken.count.into_raw()]);
            carry
        });
        let (end, marks) = (there[1].clone(), Rows::from_raw(there[CARRIED].clone()));
        let last = Count::from_raw(there[CARRIED + 1].clone()) - 1;
        let own = vec![(!lost).into_raw(), last.into_raw(), there[CARRIED + 2].clone(), there[CARRIED + 3].clone()];
        let done = Term::repeat(Some(segments), [own, bars].concat(), &mut |mut carry| {
            let bars = carry.split_off(4);
            let [k, count] = [1, 3].map(|k| Count::from_raw(carry[k].clone()));
            let bars = self.through(&Taken { rows: Rows::from_raw(carry[2].clone()), count }, bars);
            let more = k.gt(0);
            let k = k - 1;
            // Without an earlier segment no steps are computed again, but the mark that is read must hold a state.
            let at = self.marked(&marks.at([k.max(0)]), &more);
            let (_, taken) = self.taken(at, way, steps);
            [vec![more.into_raw(), k.into_raw(), taken.rows.into_raw(), taken.count.into_raw()], bars].concat()
        });
        (end, done[4..].to_vec())
    }

    /// A segment without steps, with room for so many.
    fn none(&self, steps: usize, n: usize) -> Taken {
        Taken { rows: Rows::zeros([steps, n + 3]), count: count(0) }
    }

    /// At most `steps` attempts at a step from this carry: the last carry, and the accepted steps.
    fn taken(&self, mut init: Vec<Term>, way: &Way, steps: usize) -> (Vec<Term>, Taken) {
        let Taken { rows, count: none } = self.none(steps, init[2].shape()[0]);
        init.extend([rows.into_raw(), none.into_raw()]);
        let mut done = Term::repeat(Some(steps), init, &mut |mut carry| {
            let own = carry.split_off(CARRIED);
            let (rows, k) = (Rows::from_raw(own[0].clone()), Count::from_raw(own[1].clone()));
            let made = self.equation.attempt(self.of, way, &carry);
            let [t, x] = [&carry[1], &carry[2]];
            let whole = made.whole.to_float::<f64>();
            let head = crate::tensor::stack([Number::from_raw(t.clone()), made.h, whole]);
            let row = crate::tensor::concat(0, [head, Vector::from_raw(x.clone())]);
            // A rejected step is written out of bounds, so that nothing is written.
            let place = made.good.select(&k, count(steps as i64));
            let rows = rows.add_at([&place], &row);
            let k = k + made.good.to_int();
            [made.carry, vec![rows.into_raw(), k.into_raw()]].concat()
        });
        let own = done.split_off(CARRIED);
        (done, Taken { rows: Rows::from_raw(own[0].clone()), count: Count::from_raw(own[1].clone()) })
    }

    /// The carry of the steps that start at a mark.
    fn marked(&self, row: &Vector, on: &Mask) -> Vec<Term> {
        let [t, step, top] = [0, 1, 2].map(|k| row.at([k]));
        let x = row.slice(0, 3..);
        let rate = (self.of.rate)(&t, &x);
        let top = Vector::ones(x.shape()).times(&top);
        vec![on.raw().clone(), t.into_raw(), x.into_raw(), rate.into_raw(), step.into_raw(), top.into_raw()]
    }

    /// The reverse pass over these steps: from the cotangents of the state, both ends of the interval and the
    /// parameters after the steps to those before them.
    fn through(&self, taken: &Taken, bars: Vec<Term>) -> Vec<Term> {
        let most = taken.rows.shape()[0];
        let init = vec![taken.count.gt(0).into_raw(), (&taken.count - 1).into_raw()];
        let done = Term::repeat(Some(most), [init, bars].concat(), &mut |carry| {
            let k = Count::from_raw(carry[1].clone());
            let [from_bar, to_bar] = [3, 4].map(|k| Number::from_raw(carry[k].clone()));
            let row = taken.rows.at([k.max(0)]);
            let [t, h, whole] = [0, 1, 2].map(|k| row.at([k]).into_raw());
            let point = self.x.iter().chain([&t]).chain(self.p).cloned();
            let point = point.chain([row.slice(0, 3..).into_raw(), h, carry[2].clone()]);
            let mut pulled = interpret(self.pull, point.collect());
            let mut bar = || pulled.pop().expect("a cotangent for each argument");
            let (h_bar, u_bar) = (Number::from_raw(bar()), bar());
            let g = Vector::from_raw(carry[5].clone()) + Vector::from_raw(ravel(&pulled[2..]));
            // The time of each step moves with the start of the interval; the last step ends with the interval, so its
            // length depends on both ends.
            let ends = Number::from_raw(whole).gt(0.5).select(&h_bar, Number::scalar(0.0));
            let from_bar = from_bar + Number::from_raw(pulled[1].clone()) - &ends;
            let (on, k) = (k.gt(0), k - 1);
            vec![on.into_raw(), k.into_raw(), u_bar, from_bar.into_raw(), (to_bar + ends).into_raw(), g.into_raw()]
        });
        done[2..].to_vec()
    }
}

/// A mark: time, length of the next step, largest number, and state.
fn mark(carry: &[Term]) -> Vector {
    let [t, step] = [1, 4].map(|k| Number::from_raw(carry[k].clone()));
    let head = crate::tensor::stack([t, step.stop_gradient(), Number::from_raw(largest(&carry[5])).stop_gradient()]);
    crate::tensor::concat(0, [head, Vector::from_raw(carry[2].clone())])
}
