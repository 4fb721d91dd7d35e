//! The steps of a solution: their stages, their errors, and the lengths that follow.
//!
//! Law: a step is accepted if its error is allowed in the state, and in the derivatives that are integrated with it.
//! Tolerances are those of the state; derivatives have other units, so their errors are relative to their parts. A
//! number is compared with its size, and with a hundredth of the largest value of its part so far. Where a tangent is 0 so
//! far, an error of 1e-14 of its direction is allowed. Lengths are constants of a derivative, except for the last step of
//! an interval, whose length is the rest of the interval.
//!
//! With `e` the error of the state and `d` that of the derivatives, relative to a tenth of the tolerance, the error of
//! a step is `max(e, min(d, (d / a)^2 / e))` where `d > a e`, and `e` elsewhere; `a` is 200, less at loose tolerances.
//! In forward mode it is `d / 10` at least, so tangents have the tolerance of the state at most.
//!
//! If a step is rejected, and the next error is larger than that of a smooth rate would be, there is a kink or a jump,
//! where the estimate of an error may be 250 times too small; five steps then have a hundredth of the tolerance. Kinks
//! and jumps at random times, 200 each, had these errors, in tolerances: a kink 10 in the median and 760 at most
//! before, .1 and 1.6 now; a dose into a compartment 63 and 170 before, .5 and 1.6 now, with a sixth more attempts.
//! Smooth equations have the same steps.
//!
//! Sources: the steps are those of Dormand and Prince (1980), of order 5 with an error estimate of order 4; their
//! lengths follow Hairer, Norsett and Wanner, "Solving ordinary differential equations I", section II.4.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::super::numbers::{choose, largest, nan_if};
use super::super::{closed, rules};
use super::{Equation, Mask, Number, Ode, Vector, number};
use crate::ad::symbolic;
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::program::{Custom, Program, Term, interpret};
use crate::tensor::{Tensor, concat};

/// From time, state and the further values that are read to the rate of change.
pub(super) type RateFunction<'a> = &'a dyn Fn(&Number, &Vector, &[Term]) -> Vector;

/// A state, the length of the next step, and for each number the largest absolute value so far in its part.
pub(super) type StepStart = (Vector, Number, Vector);

/// The number of values that steps carry, as [`Equation::begun`] gives them.
pub(super) const CARRIED: usize = 8;

/// A step that cannot be shortened may have this multiple of the allowed error. A jump of the rate is passed so. Near a
/// pole the errors of such steps are as large as the state.
const AT_A_JUMP: f64 = 1e4;

/// The tolerance of derivatives relative to that of the state, where the state says nothing about them: their errors add
/// up over the whole time.
pub(super) const OF_DERIVATIVES: f64 = 0.1;

/// Where a step was rejected and the next one, which is shorter, has a larger error than a smooth rate would have, the
/// rate has a kink or a jump. The estimate of an error may be 250 times too small there, so the next steps may have this
/// part of the allowed error.
const AT_A_KINK: f64 = 0.01;

/// A number is compared with this part of the largest value of its part so far.
const OF_LARGEST: f64 = 0.01;

/// Tangents that are 0 at the start have the tolerance relative to what they are after this number of steps.
const STEPS_AHEAD: f64 = 10.0;

/// The number of steps after a kink that have small errors.
const STEPS_AT_A_KINK: f64 = 5.0;

/// A smooth error may be this multiple of the one that is expected.
const UNEXPECTED: f64 = 4.0;

/// An interval, the sign of its steps, and their longest length.
pub(super) struct TimeInterval {
    pub(super) from: Number,
    pub(super) to: Number,
    forwards: Number,
    longest: Number,
}

impl TimeInterval {
    pub(super) fn of(from: &Number, to: &Number, longest: &Number) -> TimeInterval {
        let forwards = to.gt(from).select(number(1.0), number(-1.0));
        TimeInterval { from: from.clone(), to: to.clone(), forwards, longest: longest.clone() }
    }
}

/// The result of an attempt at a step: the next carry, as [`Equation::begun`] describes it; the length of the step; and
/// whether it was accepted.
pub(super) struct Attempt {
    pub(super) carry: Vec<Term>,
    pub(super) h: Number,
    pub(super) good: Mask,
}

/// What of a step is differentiated.
pub(super) enum Differentiated<'a> {
    /// Nothing: the function has derivative rules.
    Nothing,
    All,
    /// The state, whose rate this is. The other parts choose lengths alone.
    State(RateFunction<'a>),
}

/// The integrated values: a state, perhaps with tangents, and the rate of all.
pub(super) struct IntegratedState<'a> {
    rate: RateFunction<'a>,
    /// The values that the rate reads besides time and state.
    reads: Vec<Term>,
    /// The lengths of the parts, each with its own unit; the first is the state.
    parts: &'a [usize],
    differentiated: Differentiated<'a>,
    /// For each part after the state, the error that is allowed in derivatives that are 0 so far.
    units: &'a [Number],
    guarded: OnceCell<Arc<Custom>>,
}

impl<'a> IntegratedState<'a> {
    pub(super) fn of(
        rate: RateFunction<'a>,
        reads: Vec<Term>,
        parts: &'a [usize],
        differentiated: Differentiated<'a>,
        units: &'a [Number],
    ) -> Self {
        IntegratedState { rate, reads, parts, differentiated, units, guarded: OnceCell::new() }
    }

    pub(super) fn rate(&self, t: &Number, x: &Vector) -> Vector {
        (self.rate)(t, x, &self.reads)
    }

    /// The number of numbers.
    pub(super) fn width(&self) -> usize {
        self.parts.iter().sum()
    }

    /// The ranges of the parts that are not empty, and of the state.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut end = 0;
        let ranges = self.parts.iter().map(move |n| {
            end += n;
            end - n..end
        });
        ranges.filter(|range| range.start == 0 || !range.is_empty())
    }

    /// For each number, the largest absolute value in its part.
    pub(super) fn largest(&self, x: &Vector) -> Vector {
        let x = x.stop_gradient();
        let of = |range: Range<usize>| {
            let part = x.slice(0, range.clone());
            Vector::ones([range.len()]).times(&Number::from_raw(largest(part.raw())))
        };
        concat(0, self.ranges().map(of).collect::<Vec<Vector>>())
    }

    /// A step: the next values, their rates, and the estimates of their errors.
    ///
    /// Its derivative is finite even if its results are not: then it is the derivative of a step of length 0. Such a
    /// step is rejected, so its cotangents are 0, but the product of 0 and a partial derivative that is not finite would
    /// be NaN.
    fn step(&self, t: &Number, x: &Vector, first: &Vector, h: &Number) -> [Vector; 3] {
        if let Differentiated::Nothing = self.differentiated {
            return step_of(self.rate, t, x, first, h, &self.reads);
        }
        let custom = self.guarded.get_or_init(|| self.with_finite_derivatives(x.shape()[0]));
        let args: Vec<Term> =
            [t.raw(), x.raw(), first.raw(), h.raw()].into_iter().chain(&self.reads).cloned().collect();
        let results = Term::custom(custom, &args);
        [0, 1, 2].map(|k| Vector::from_raw(results[k].clone()))
    }

    /// The program of a step of `n` numbers: `(t, x, rate, h, reads) -> (next, rate there, error)`.
    fn program(&self, rate: RateFunction<'_>, n: usize) -> Program {
        let [t, h] = [(); 2].map(|()| Number::from_raw(Term::variable(&[], DType::F64)));
        let [x, first] = [(); 2].map(|()| Vector::from_raw(Term::variable(&[n], DType::F64)));
        let reads = Term::variables_like(&self.reads);
        let results = step_of(rate, &t, &x, &first, &h, &reads).map(Tensor::into_raw);
        let inputs = [vec![t.into_raw(), x.into_raw(), first.into_raw(), h.into_raw()], reads].concat();
        closed("odeint", &inputs, &results)
    }

    fn with_finite_derivatives(&self, n: usize) -> Arc<Custom> {
        let primal = self.program(self.rate, n);
        let (inner, m) = match self.differentiated {
            Differentiated::State(rate) => (self.program(rate, self.parts[0]), self.parts[0]),
            Differentiated::Nothing | Differentiated::All => (primal.clone(), n),
        };
        let cut =
            |x: &Term| if x.shape() == [n] { Vector::from_raw(x.clone()).slice(0, 0..m).into_raw() } else { x.clone() };
        let filled = |x: Term| concat(0, [Vector::from_raw(x), Vector::zeros([n - m])]).into_raw();
        let rule =
            |derived: &Program, along: &[Term], is_cut: &dyn Fn(usize) -> bool, is_filled: &dyn Fn(usize) -> bool| {
                let (args, results) = (Term::variables(primal.inputs()), Term::variables(primal.outputs()));
                let sum = results.iter().map(|y| Vector::from_raw(y.clone()).abs().sum()).reduce(|a, b| a + b);
                let finite = sum.expect("a step has results").lt(f64::INFINITY);
                let mut safe: Vec<Term> =
                    args.iter().enumerate().map(|(k, x)| if k == 1 || k == 2 { cut(x) } else { x.clone() }).collect();
                safe[3] = finite.select(Number::from_raw(args[3].clone()), number(0.0)).into_raw();
                safe.extend(along.iter().enumerate().map(|(k, x)| if is_cut(k) { cut(x) } else { x.clone() }));
                let derivatives = interpret(derived, safe).split_off(3).into_iter().enumerate();
                let derivatives: Vec<Term> =
                    derivatives.map(|(k, x)| if is_filled(k) { filled(x) } else { x }).collect();
                closed("odeint", &[args, results, along.to_vec()].concat(), &derivatives)
            };
        let [arguments, results]: [&dyn Fn(usize) -> bool; 2] = [&|k| k == 1 || k == 2, &|_| true];
        let jvp = rule(&symbolic::jvp(&inner), &Term::variables(primal.inputs()), arguments, results);
        let vjp = rule(&symbolic::vjp(&inner), &Term::variables(primal.outputs()), results, arguments);
        rules("step", primal, Some(jvp), Some(vjp)).into()
    }

    /// The length of the first step: a hundredth of the least time in which a part that is not 0 changes by its own
    /// size, at the present rate; 0 if every part is 0.
    pub(super) fn first(&self, t: &Number, x: &Vector) -> Number {
        let change = self.rate(t, x);
        let fastest = self.ranges().fold(number(0.0), |fastest, range| {
            let [size, change] = [x, &change].map(|x| Number::from_raw(largest(x.slice(0, range.clone()).raw())));
            let speed = size.gt(0.0).select(change / size.max(f64::MIN_POSITIVE), number(0.0));
            speed.gt(&fastest).select(&speed, &fastest)
        });
        let known = fastest.gt(0.0);
        known.select(number(0.01) / fastest.max(f64::MIN_POSITIVE), number(0.0)).stop_gradient()
    }
}

impl Equation {
    /// The longest step: that of the settings, or a tenth of the time between the first and the last time.
    pub(super) fn longest(&self, t: &Vector) -> Number {
        match self.settings.max_step {
            Some(length) => number(length),
            None => ((t.max_all() - t.min_all()) * 0.1).stop_gradient(),
        }
    }

    /// The relative tolerance of derivatives before [`OF_DERIVATIVES`]. Without a relative tolerance, the absolute tolerance is relative
    /// to derivatives, with a bound.
    pub(super) fn of_derivatives(&self) -> f64 {
        let Ode { relative, absolute, .. } = self.settings;
        if relative > 0.0 { relative } else { absolute.clamp(1e-15, 1e-3) }
    }

    /// The size of an error relative to the allowed error: the root mean square over each part, and the maximum over
    /// the parts. `top` has the largest numbers so far.
    ///
    /// A state that moves with the derivatives limits the steps for them, too: then errors of a probe that are `alive`
    /// times as large as that of the state are allowed. The more the error of the state falls behind, as near rest, the
    /// more that of the probe counts.
    fn size(&self, of: &IntegratedState<'_>, error: &Vector, x: &Vector, top: &Vector) -> Number {
        let (Ode { relative, absolute, .. }, tolerance) = (&self.settings, self.of_derivatives());
        let mut sizes = of.ranges().enumerate().map(|(part, range)| {
            let [error, x, top] = [error, x, top].map(|x| x.slice(0, range.clone()));
            let scale = x.abs() + top * OF_LARGEST;
            let n = x.shape()[0].max(1) as f64;
            let allowed = if part == 0 {
                scale * *relative + *absolute
            } else {
                scale * (OF_DERIVATIVES * tolerance) + Vector::ones(x.shape()).times(&of.units[part - 1])
            };
            ((error / (allowed + f64::MIN_POSITIVE)).square().sum() / n).sqrt()
        });
        let state = sizes.next().expect("there is a state");
        let Some(beside) = sizes.reduce(|size, other| size.max(&other)) else { return state };
        let alive = 20.0 * (1e-8 / tolerance).powf(0.1).min(1.0) / OF_DERIVATIVES;
        let behind = (&beside / alive).square() / state.max(f64::MIN_POSITIVE);
        let counts = beside.le(&state * alive).select(number(0.0), behind.min(&beside));
        let size = state.max(&counts);
        let size = if let Differentiated::All = of.differentiated { size.max(&beside * OF_DERIVATIVES) } else { size };
        // A part that is not finite is not allowed, whatever the others are.
        size + beside * 0.0
    }

    /// The solution over an interval: from the state, the length of the next step and the largest numbers so far at the
    /// start to those at the end.
    ///
    /// The derivative is that of the steps at constant lengths, except for the last step, whose length is the rest of
    /// the interval. An empty interval has a step of length 0, so that the state depends on both ends of the interval.
    pub(super) fn between(&self, of: &IntegratedState<'_>, at: StepStart, interval: &TimeInterval) -> StepStart {
        let on = Mask::from_raw(Term::constant(Array::full(&[], true)));
        let init = self.begun(of, at, interval, &on);
        let carry =
            Term::repeat(Some(self.settings.steps), init, &mut |carry| self.attempt(of, interval, &carry).carry);
        let missed = interval.to.ne(Number::from_raw(carry[1].clone()));
        let x = Vector::from_raw(nan_if(missed.raw(), &carry[2]));
        (x, Number::from_raw(carry[4].clone()), Vector::from_raw(carry[5].clone()))
    }

    /// Where the steps of an interval end, with or without a solution: the state, the number of attempts, the time, the
    /// length of the next step, and the largest numbers.
    pub(super) fn counted(&self, of: &IntegratedState<'_>, at: StepStart, interval: &TimeInterval) -> [Term; 5] {
        let on = Mask::from_raw(Term::constant(Array::full(&[], true)));
        let mut init = self.begun(of, at, interval, &on);
        init.push(number(0.0).into_raw());
        let carry = Term::repeat(Some(self.settings.steps), init, &mut |carry| {
            let mut next = self.attempt(of, interval, &carry).carry;
            next.push((Number::from_raw(carry[CARRIED].clone()) + 1.0).into_raw());
            next
        });
        [2, CARRIED, 1, 4, 5].map(|k| carry[k].clone())
    }

    /// The initial carry of the steps of an interval: whether the steps continue, time, state, rate, length of the next
    /// step, largest numbers so far, the largest error that is expected of a smooth rate after a rejected step, and the
    /// number of steps that are still near a kink.
    pub(super) fn begun(
        &self,
        of: &IntegratedState<'_>,
        (x, step, top): StepStart,
        interval: &TimeInterval,
        on: &Mask,
    ) -> Vec<Term> {
        let all = (&interval.to - &interval.from).abs().stop_gradient();
        let step = step.gt(0.0).select(&step, &all * 1e-6);
        let from = &interval.from;
        let rate = of.rate(from, &x);
        let mut top = top.max(of.largest(&x));
        if let Some(third) = of.ranges().nth(2) {
            // Tangents of parameters alone are 0 here, and small soon.
            let rate = Number::from_raw(largest(rate.slice(0, third.clone()).raw())).stop_gradient();
            let soon = rate * (&step * STEPS_AHEAD).min(&all) / OF_LARGEST;
            let soon = Vector::ones([third.len()]).times(&soon);
            top = concat(0, [top.slice(0, 0..third.start), soon]);
        }
        let (any, none) = (number(f64::INFINITY), number(0.0));
        let carry = [on.raw(), from.raw(), x.raw(), rate.raw(), step.raw(), top.raw(), any.raw(), none.raw()];
        carry.map(Clone::clone).to_vec()
    }

    /// An attempt at a step, which is accepted if its error is allowed.
    pub(super) fn attempt(&self, of: &IntegratedState<'_>, interval: &TimeInterval, carry: &[Term]) -> Attempt {
        let [t, step, expected, near] = [1, 4, 6, 7].map(|k| Number::from_raw(carry[k].clone()));
        let [x, k, top] = [2, 3, 5].map(|k| Vector::from_raw(carry[k].clone()));
        let to = &interval.to;
        let left = to - &t;
        let step = step.min(&interval.longest);
        let ends = step.ge(left.abs());
        let h = ends.select(&left, &(&step * &interval.forwards));
        let moved = ends.select(to, &(&t + &h));
        let [next, rate_there, error] = of.step(&t, &x, &k, &h);
        let larger = x.abs().max(next.abs()).stop_gradient();
        let reached = top.max(of.largest(&larger));
        let error = self.size(of, &error.stop_gradient(), &larger, &reached);
        // A step is not shorter than rounding of the time.
        let shortest = (t.abs() * (2.0 * f64::EPSILON)).max(left.abs() * 1e-18).stop_gradient();
        let length = h.stop_gradient().abs();
        let is_shortest = length.le(&shortest * 1.5);
        let near = error.gt(&expected).select(number(STEPS_AT_A_KINK), &near);
        let size = near.gt(0.0).select(&error / AT_A_KINK, &error);
        let good = size.le(is_shortest.select(number(AT_A_JUMP), number(1.0)));
        let factor = size.max(1e-8).powf(-0.2) * 0.9;
        let factor = good.select(factor.clamp(0.2, 10.0), factor.clamp(0.2, 0.9));
        // An error of NaN makes the step shorter, too.
        let factor = factor.is_nan().select(number(0.2), &factor);
        let expected = good.select(number(f64::INFINITY), &error * factor.powi(5) * UNEXPECTED);
        let near = good.select((&near - 1.0).max(0.0), &near);
        // A step that was cut at the end of the interval does not shorten the next step.
        let length = (length * &factor).max(&shortest);
        let length = (&good & &ends).select(length.max(&step), &length);
        // The steps end without a solution if the rate is NaN, if the shortest step is rejected, or if the end is not finite.
        let lost = k.sum().is_nan() | (!&good & is_shortest) | !left.abs().lt(f64::INFINITY);
        let t = good.select(&moved, &t);
        let choose = |then: &Vector, otherwise: &Vector| choose(good.raw(), then.raw(), otherwise.raw());
        let (x, k, top) = (choose(&next, &x), choose(&rate_there, &k), choose(&reached, &top));
        let on = to.ne(&t) & !&lost;
        let [expected, near] = [expected, near].map(Tensor::into_raw);
        let carry = vec![on.into_raw(), t.into_raw(), x, k, length.into_raw(), top, expected, near];
        Attempt { carry, h, good }
    }
}

/// A step: the next state, the rate there, and the estimate of the error.
pub(super) fn step_of(
    rate: RateFunction<'_>,
    t: &Number,
    x: &Vector,
    first: &Vector,
    h: &Number,
    reads: &[Term],
) -> [Vector; 3] {
    const TIMES: [f64; 6] = [0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
    const PARTS: [&[f64]; 6] = [
        &[0.2],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ];
    const ERROR: [f64; 7] =
        [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];
    let mut rates = vec![first.clone()];
    let weighted = |rates: &[Vector], weights: &[f64]| {
        let terms = rates.iter().zip(weights).filter(|(_, w)| **w != 0.0).map(|(k, w)| k * *w);
        terms.reduce(|sum, term| sum + term).expect("some weight is not zero").times(h)
    };
    let mut next = x.clone();
    for (c, parts) in TIMES.iter().zip(PARTS) {
        next = x + weighted(&rates, parts);
        rates.push(rate(&(t + h * *c), &next, reads));
    }
    let error = weighted(&rates, &ERROR);
    [next, rates.pop().expect("a step has rates"), error]
}
