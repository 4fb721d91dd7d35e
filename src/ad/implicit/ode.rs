//! Solutions of ordinary differential equations, by a Runge-Kutta method of order 5 with adaptive step lengths.
//!
//! Laws. Forward mode: the derivative of the solution is the solution of the variational equation
//! `v' = df/dx v + df/dp p_dot` beside `x' = f`, with step lengths of its own. Reverse mode: the gradient is the exact
//! derivative of the steps of the computed solution, at constant step lengths (`adjoint`).
//!
//! Sources: the steps are those of Dormand and Prince (1980), of order 5 with an error estimate of order 4; their
//! lengths follow Hairer, Norsett and Wanner, "Solving ordinary differential equations I", section II.4.

mod adjoint;

use std::sync::Arc;

use super::super::symbolic;
use super::search::{choose, largest, nan_if};
use super::{closed, unlike, with_rules};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::program::{Custom, Program, Term, interpret};
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::{ravel, unravel};

/// Settings for the solution of differential equations.
///
/// ```
/// use polygrad::Ode;
/// assert_eq!(Ode::default().relative(1e-6).absolute(1e-9).steps(500).steps, 500);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ode {
    /// The relative tolerance: in a number `x` of the state, a step may have the error
    /// `relative * (|x| + m / 100) + absolute`, where `m` is the largest absolute value in the state so far. The root
    /// mean square of the errors, each divided by this allowed error, is at most 1.
    pub relative: f64,
    /// The absolute tolerance, in the unit of the state.
    pub absolute: f64,
    /// The largest number of steps between two times, rejected steps included; a solution that needs more steps is NaN.
    /// Reverse mode stores about twice the square root of this number of states, and computes the steps again once or
    /// twice.
    pub steps: usize,
}

/// A relative tolerance of `1e-8`, no absolute tolerance, and 10,000 steps.
impl Default for Ode {
    fn default() -> Self {
        Ode { relative: 1e-8, absolute: 0.0, steps: 10_000 }
    }
}

type Number = Tensor<Term, 0>;
type Vector = Tensor<Term, 1>;
type Mask = Tensor<Term, 0, bool>;
/// From time and state to the rate of change.
type Rate<'a> = &'a dyn Fn(&Number, &Vector) -> Vector;

impl Ode {
    /// The same settings with this relative tolerance.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// let decay = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| -(x * rate);
    /// let (one, times) = (tensor(1.0), tensor([0.0, 1.0]));
    /// let error = |ode: Ode| (ode.solve(decay, &one, &times, &one)[1].item() - (-1f64).exp()).abs();
    /// assert!(error(Ode::default().relative(1e-3)) < 1e-3 && error(Ode::default().relative(1e-12)) < 1e-11);
    /// ```
    pub fn relative(self, relative: f64) -> Ode {
        Ode { relative, ..self }
    }

    /// The same settings with this absolute tolerance.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// let decay = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| -(x * rate);
    /// let (one, times) = (tensor(1.0), tensor([0.0, 1.0]));
    /// let x = Ode::default().relative(0.0).absolute(1e-9).solve(decay, &one, &times, &one);
    /// assert!((x[1].item() - (-1f64).exp()).abs() < 1e-8);
    /// ```
    pub fn absolute(self, absolute: f64) -> Ode {
        Ode { absolute, ..self }
    }

    /// The same settings with at most this number of steps between two times.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// let decay = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| -(x * rate);
    /// let (one, times) = (tensor(1.0), tensor([0.0, 1.0]));
    /// assert!(Ode::default().steps(1).solve(decay, &one, &times, &one)[1].is_nan().item());
    /// assert!((Ode::default().solve(decay, &one, &times, &one)[1].item() - (-1f64).exp()).abs() < 1e-7);
    /// ```
    pub fn steps(self, steps: usize) -> Ode {
        Ode { steps, ..self }
    }

    /// [`odeint`] with these settings.
    ///
    /// # Panics
    /// Where [`odeint`] does.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// let decay = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| -(x * rate);
    /// let x = Ode::default().relative(1e-10).solve(decay, &tensor(1.0), &tensor([0.0, 1.0, 2.0]), &tensor(0.5));
    /// assert!((x[2].item() - (-1.0f64).exp()).abs() < 1e-9);
    /// ```
    #[track_caller]
    pub fn solve<T, X, P>(
        &self,
        f: impl Fn(&X::With<Term>, &Tensor<Term, 0>, &P::With<Term>) -> X::With<Term>,
        start: &X,
        times: &Tensor<T, 1>,
        parameters: &P,
    ) -> Vec<X::With<T>>
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
    {
        let [m] = times.shape();
        if m == 0 {
            panic!("odeint: needs the time of the start, but there are no times; give it first");
        }
        let (x, p) = (start.leaves(), parameters.leaves());
        let (xs, t, ps) = (Term::variables_like(&x), Term::variable(&[], DType::F64), Term::variables_like(&p));
        let rate = f(&start.with_leaves(xs.clone()), &Tensor::from_raw(t.clone()), &parameters.with_leaves(ps.clone()));
        let program = closed("odeint", &[&xs[..], &[t], &ps].concat(), &rate.leaves());
        let equation = Equation::of(program, xs.len(), m, *self);
        let args: Vec<T> = x.iter().cloned().chain([times.raw().clone()]).chain(p).collect();
        let states = T::custom(&equation.function(), &args).swap_remove(0);
        let row = |i: usize| {
            let state = states.linear(&Linear::row(states.shape(), 0, i));
            start.with_leaves(unravel(&x, &state))
        };
        (0..m).map(row).collect()
    }
}

/// The solution of `x' = f(x, t, p)` at each of these times; `start` is the state at the first time.
///
/// Times may decrease, and be equal. A solution that does not exist up to a time, or needs more steps than [`Ode`]
/// allows, is NaN from there on. `f` is recorded for the shapes of its arguments, and depends on these alone.
///
/// There are derivatives in start, times and parameters: forward mode solves the variational equation beside the
/// equation of the state; reverse mode transposes the steps of the solution, which it computes again; derivatives of
/// higher orders differentiate these. Tolerances apply to the state. Derivatives, which have units of their own, have
/// errors relative to the largest derivative of the order of those of the solution, in reverse mode up to some 20 times
/// these. A derivative in a time is a rate, which errors of the state change by `df/dx` times as much. For stiff
/// equations, stability limits the step lengths: at loose tolerances, reverse mode has errors of that size in
/// parameters, too.
///
/// ```
/// use polygrad::{BaseTensor, Tensor, grad, odeint, tensor};
/// // An oscillator: x'' = -k x.
/// fn at_one<T: BaseTensor>(k: &Tensor<T, 0>) -> Tensor<T, 0> {
///     let start = (Tensor::<T, 0>::scalar(1.0), Tensor::<T, 0>::scalar(0.0));
///     let times = Tensor::<T, 1>::constant([0.0, 1.0]);
///     let states = odeint(|(x, v): &(Tensor<_, 0>, Tensor<_, 0>), _, k: &Tensor<_, 0>| (v.clone(), -(x * k)), &start, &times, k);
///     states[1].0.clone()
/// }
/// assert!((at_one(&tensor(4.0)) - 2.0f64.cos()).item().abs() < 1e-7);
/// assert!((grad(|k| at_one(k), &tensor(4.0)) + 2.0f64.sin() / 4.0).item().abs() < 1e-6);
/// ```
///
/// # Panics
/// When there are no times; when `f` returns other shapes than those of `start`, uses a value from outside, or looks at
/// values.
#[track_caller]
pub fn odeint<T, X, P>(
    f: impl Fn(&X::With<Term>, &Tensor<Term, 0>, &P::With<Term>) -> X::With<Term>,
    start: &X,
    times: &Tensor<T, 1>,
    parameters: &P,
) -> Vec<X::With<T>>
where
    T: BaseTensor,
    X: Tree<T>,
    P: Tree<T>,
{
    Ode::default().solve(f, start, times, parameters)
}

fn number(x: f64) -> Number {
    Number::scalar(x)
}

/// For each number of the state, its largest absolute value among the states.
fn most(states: &Tensor<Term, 2>) -> Vector {
    states.stop_gradient().abs().max_axis(0)
}

/// A recorded equation `(x, t, p) -> x'`.
struct Equation {
    program: Program,
    /// The number of leaves of the state.
    states: usize,
    /// The number of times.
    times: usize,
    settings: Ode,
}

impl Equation {
    #[track_caller]
    fn of(program: Program, states: usize, times: usize, settings: Ode) -> Equation {
        if let Some([needed, given]) = unlike(&program, states) {
            panic!(
                "odeint: the function must return a rate for each part of the state, of its shape and element type, but the state is \
                 {needed} and the rates {given}; return a tree like the start"
            );
        }
        Equation { program, states, times, settings }
    }

    /// The function `(start, times, p) -> (states, lengths, tops)`, with its derivative rules: a row of states for each
    /// time; and for each interval the length of the first step and the largest number so far at the start, from which
    /// the steps of the interval can be computed again.
    fn function(&self) -> Arc<Custom> {
        with_rules("odeint", self.primal(), Some(self.tangent()), Some(self.adjoint()))
    }

    /// Variables for start, times and parameters.
    fn arguments(&self) -> Vec<Term> {
        let mut args = Term::variables(self.program.inputs());
        args[self.states] = Term::variable(&[self.times], DType::F64);
        args
    }

    /// The rate at a state.
    fn rate(&self, x: &[Term], t: &Number, p: &[Term]) -> Vector {
        let inputs = x.iter().chain([t.raw()]).chain(p).cloned().collect();
        Tensor::from_raw(ravel(&interpret(&self.program, inputs)))
    }

    fn primal(&self) -> Program {
        let args = self.arguments();
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let rate = |t: &Number, u: &Vector| self.rate(&unravel(x, u.raw()), t, p);
        let start: Vector = Tensor::from_raw(ravel(x));
        let of = Moving { rate: &rate, reads: None, parts: &start.shape(), state: start.clone() };
        let results = self.through(&of, &start, &Tensor::from_raw(args[self.states].clone()));
        closed("odeint", &args, &results)
    }

    /// Variables for the results.
    fn results(&self, n: usize) -> [Term; 3] {
        let each = || Term::variable(&[self.times - 1], DType::F64);
        [Term::variable(&[self.times, n], DType::F64), each(), each()]
    }

    /// `(start, times, p, states, lengths, tops, start_dot, times_dot, p_dot) -> (states_dot, 0, 0)`.
    fn tangent(&self) -> Program {
        let (args, dots) = (self.arguments(), self.arguments());
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let (x_dot, p_dot) = (&dots[..self.states], &dots[self.states + 1..]);
        let [t, t_dot] = [&args, &dots].map(|all| Vector::from_raw(all[self.states].clone()));
        let (u, u_dot) = (Vector::from_raw(ravel(x)), Vector::from_raw(ravel(x_dot)));
        let n = u.shape()[0];
        let push = symbolic::jvp(&self.program);
        let both = |t: &Number, w: &Vector| {
            let [x, x_dot] = [0, n].map(|at| unravel(x, w.slice(0, at..at + n).raw()));
            let point = x.into_iter().chain([t.raw().clone()]).chain(p.iter().cloned());
            let along = x_dot.into_iter().chain([number(0.0).into_raw()]).chain(p_dot.iter().cloned());
            let moved = interpret(&push, point.chain(along).collect());
            let (rate, rate_dot) = moved.split_at(moved.len() / 2);
            crate::tensor::concat(0, [Vector::from_raw(ravel(rate)), Vector::from_raw(ravel(rate_dot))])
        };
        // A start that is later by `t_dot` is a start at the same time with the state changed by `-f t_dot`.
        let first = u_dot - self.rate(x, &t.at([0]), p).times(&t_dot.at([0]));
        let results = self.results(n);
        let states = Tensor::<Term, 2>::from_raw(results[0].clone());
        let of = Moving { rate: &both, reads: Some([p, p_dot].concat()), parts: &[n, n], state: most(&states) };
        let all = self.through(&of, &crate::tensor::concat(0, [u, first]), &t).swap_remove(0);
        let rates = self.rates(x, &t, p, &states);
        let moved = Tensor::<Term, 2>::from_raw(all).slice(1, n..2 * n) + rates * t_dot.insert_axis::<2>(1);
        let still = Term::zeros(&[self.times - 1], DType::F64);
        closed("odeint", &[args, results.to_vec(), dots].concat(), &[moved.into_raw(), still.clone(), still])
    }

    /// The rates at the states, a row for each time.
    fn rates(&self, x: &[Term], t: &Vector, p: &[Term], states: &Tensor<Term, 2>) -> Tensor<Term, 2> {
        let rows = [t.raw().clone(), states.raw().clone()];
        let (_, rates) = Term::map_accum(self.times, false, Vec::new(), &rows, &mut |_, row| {
            let rate = self.rate(&unravel(x, &row[1]), &Number::from_raw(row[0].clone()), p);
            (Vec::new(), vec![rate.into_raw()])
        });
        Tensor::from_raw(rates[0].clone())
    }

    /// The states at all times, a row for each; and for each interval the length of the first step, and the largest
    /// number so far at the start.
    fn through(&self, of: &Moving<'_>, start: &Vector, t: &Vector) -> Vec<Term> {
        let trips = self.times - 1;
        let rows = [t.slice(0, 0..trips), t.slice(0, 1..)].map(Tensor::into_raw);
        let init = vec![start.raw().clone(), of.first(&t.at([0]), start).into_raw(), of.largest(start).into_raw()];
        let (_, each) = Term::map_accum(trips, false, init, &rows, &mut |carry, row| {
            let [from, to] = [0, 1].map(|k| Number::from_raw(row[k].clone()));
            let [step, state, top] = [&carry[1], &carry[0], &carry[2]];
            let at = (Vector::from_raw(state.clone()), Number::from_raw(step.clone()), Vector::from_raw(top.clone()));
            let before = [step.clone(), largest(top)];
            let (state, step, top) = self.between(of, at, &Way::of(&from, &to));
            let each = [&[state.raw().clone()], &before[..]].concat();
            (vec![state.into_raw(), step.into_raw(), top.into_raw()], each)
        });
        let states = crate::tensor::concat(0, [start.insert_axis::<2>(0), Tensor::from_raw(each[0].clone())]);
        vec![states.into_raw(), each[1].clone(), each[2].clone()]
    }

    /// The size of an error relative to the allowed error: the root mean square over each part, and the maximum over
    /// the parts. `top` has the largest numbers so far. Derivatives have units of their own, so the error that is
    /// allowed in them is relative, as that of the state.
    fn size(&self, of: &Moving<'_>, error: &Vector, x: &Vector, top: &Vector) -> Number {
        let Ode { relative, absolute, .. } = self.settings;
        let mut sizes = of.ranges().map(|range| {
            let [error, x, top] = [error, x, top].map(|x| x.slice(0, range.clone()));
            let scale = x.abs() + top * 0.01;
            let allowed = if range.start == 0 {
                scale * relative + absolute
            } else if absolute == 0.0 {
                scale * relative
            } else {
                // The absolute tolerance relative to the state, with a bound: a state below its tolerance says nothing
                // about derivatives.
                let state = Number::from_raw(largest(of.state.raw()));
                let part = (number(absolute) / state.max(f64::MIN_POSITIVE)).min(f64::max(relative, 1e-3));
                scale.times(&(part + relative))
            };
            let n = x.shape()[0].max(1) as f64;
            ((error / (allowed + f64::MIN_POSITIVE)).square().sum() / n).sqrt()
        });
        let first = sizes.next().expect("there is a state");
        sizes.fold(first, |size, other| size.max(&other))
    }

    /// The solution over an interval: from the state, the length of the next step and the largest numbers so far at the
    /// start to those at the end.
    ///
    /// The derivative is that of the steps at constant lengths, except for the last step, whose length is the rest of
    /// the interval. An empty interval has a step of length 0, so that the state depends on both ends of the interval.
    fn between(&self, of: &Moving<'_>, at: At, way: &Way) -> At {
        let init = self.begun(of, at, way);
        let carry = Term::repeat(Some(self.settings.steps), init, &mut |carry| self.attempt(of, way, &carry).carry);
        let missed = way.to.ne(Number::from_raw(carry[1].clone()));
        let x = Vector::from_raw(nan_if(missed.raw(), &carry[2]));
        (x, Number::from_raw(carry[4].clone()), Vector::from_raw(carry[5].clone()))
    }

    /// The initial carry of the steps of an interval: whether the steps continue, time, state, rate, length of the next
    /// step, and largest numbers so far.
    fn begun(&self, of: &Moving<'_>, (x, step, top): At, way: &Way) -> Vec<Term> {
        let step = step.gt(0.0).select(&step, (&way.to - &way.from).abs().stop_gradient() * 1e-6);
        let top = top.max(of.largest(&x));
        let rate = (of.rate)(&way.from, &x);
        let on = Term::constant(Array::full(&[], true));
        vec![on, way.from.raw().clone(), x.into_raw(), rate.into_raw(), step.into_raw(), top.into_raw()]
    }

    /// An attempt at a step, which is accepted if its error is allowed.
    fn attempt(&self, of: &Moving<'_>, way: &Way, carry: &[Term]) -> Attempt {
        let [t, step] = [1, 4].map(|k| Number::from_raw(carry[k].clone()));
        let [x, k, top] = [2, 3, 5].map(|k| Vector::from_raw(carry[k].clone()));
        let to = &way.to;
        let left = to - &t;
        let whole = step.ge(left.abs());
        let h = whole.select(&left, &(&step * &way.forwards));
        let moved = whole.select(to, &(&t + &h));
        let (next, rate_there, error) = of.step(&t, &x, &k, &h);
        let larger = x.abs().max(next.abs()).stop_gradient();
        let reached = top.max(of.largest(&larger));
        let error = self.size(of, &error.stop_gradient(), &larger, &reached);
        let good = error.le(1.0);
        let factor = error.max(1e-8).powf(-0.2) * 0.9;
        let factor = good.select(factor.clamp(0.2, 10.0), factor.clamp(0.2, 0.9));
        // An error of NaN makes the step shorter, too.
        let factor = factor.is_nan().select(number(0.2), &factor);
        // A step that was cut at the end of the interval does not shorten the next step.
        let length = h.stop_gradient().abs() * factor;
        let length = (&good & &whole).select(length.max(&step), &length);
        // The steps end without a solution if the rate is NaN, or if a rejected step leads to a step too short to
        // change the time.
        let shortest = t.abs() * f64::EPSILON + left.abs() * 1e-30;
        let lost = k.sum().is_nan() | (!&good & length.le(shortest.stop_gradient()));
        let t = good.select(&moved, &t);
        let choose = |then: &Vector, otherwise: &Vector| choose(good.raw(), then.raw(), otherwise.raw());
        let (x, k, top) = (choose(&next, &x), choose(&rate_there, &k), choose(&reached, &top));
        let carry = vec![(to.ne(&t) & !&lost).into_raw(), t.into_raw(), x, k, length.into_raw(), top];
        Attempt { carry, h, whole, good }
    }
}

/// An interval, and the sign of its steps.
struct Way {
    from: Number,
    to: Number,
    forwards: Number,
}

impl Way {
    fn of(from: &Number, to: &Number) -> Way {
        Way { from: from.clone(), to: to.clone(), forwards: to.gt(from).select(number(1.0), number(-1.0)) }
    }
}

/// The result of an attempt at a step: the next carry, as [`Equation::begun`] describes it; the length of the step;
/// whether it reaches the end of the interval; and whether it was accepted.
struct Attempt {
    carry: Vec<Term>,
    h: Number,
    whole: Mask,
    good: Mask,
}

/// A state, the length of the next step, and for each number the largest absolute value so far in its part.
type At = (Vector, Number, Vector);

/// The integrated values: a state, in forward mode its tangents, too, and the rate of all.
struct Moving<'a> {
    rate: Rate<'a>,
    /// The variables that the rate reads besides time and state; `None` for the primal program, which is not
    /// differentiated, since its function has derivative rules.
    reads: Option<Vec<Term>>,
    /// The lengths of the parts, each of which has a unit of its own; the first is the state.
    parts: &'a [usize],
    /// A vector whose largest number is that of the states, if the states are known before.
    state: Vector,
}

impl Moving<'_> {
    /// The ranges of the parts that are not empty, and of the state.
    fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut end = 0;
        let ranges = self.parts.iter().map(move |n| {
            end += n;
            end - n..end
        });
        ranges.filter(|range| range.start == 0 || !range.is_empty())
    }

    /// For each number, the largest absolute value in its part.
    fn largest(&self, x: &Vector) -> Vector {
        let x = x.stop_gradient();
        let of = |range: std::ops::Range<usize>| {
            let part = x.slice(0, range.clone());
            Vector::ones([range.len()]).times(&Number::from_raw(largest(part.raw())))
        };
        crate::tensor::concat(0, self.ranges().map(of).collect::<Vec<Vector>>())
    }

    /// A step whose derivative is finite even if its results are not: then it is the derivative of a step of length 0.
    /// Such a step is rejected, so its cotangents are 0, but the product of 0 and a partial derivative that is not
    /// finite would be NaN.
    fn step(&self, t: &Number, x: &Vector, first: &Vector, h: &Number) -> (Vector, Vector, Vector) {
        let Some(reads) = &self.reads else { return step_of(self.rate, t, x, first, h) };
        let args = [t.raw(), x.raw(), first.raw(), h.raw()].map(Clone::clone);
        let own = [&args[0], &args[1], &args[2], &args[3]].map(|x| Term::variable(x.shape(), DType::F64));
        let [at, from, rate, length] = own.clone();
        let (next, there, error) = step_of(
            self.rate,
            &Tensor::from_raw(at),
            &Tensor::from_raw(from),
            &Tensor::from_raw(rate),
            &Tensor::from_raw(length),
        );
        let inputs = [&own[..], reads].concat();
        let primal = closed("odeint", &inputs, &[next, there, error].map(Tensor::into_raw));
        let rule = |derived: &Program, along: Vec<Term>, skip: usize| {
            let (args, results) = (Term::variables(primal.inputs()), Term::variables(primal.outputs()));
            let sum = results.iter().map(|y| Vector::from_raw(y.clone()).abs().sum()).reduce(|a, b| a + b);
            let finite = sum.expect("a step has results").lt(f64::INFINITY);
            let mut safe = args.clone();
            safe[3] = finite.select(Number::from_raw(args[3].clone()), number(0.0)).into_raw();
            let derivatives = interpret(derived, [safe, along.clone()].concat()).split_off(skip);
            closed("odeint", &[args, results, along].concat(), &derivatives)
        };
        let jvp = rule(&symbolic::jvp(&primal), Term::variables(primal.inputs()), 3);
        let vjp = rule(&symbolic::vjp(&primal), Term::variables(primal.outputs()), 3);
        let custom = with_rules("step", primal, Some(jvp), Some(vjp));
        let results = Term::custom(&custom, &[&args[..], reads].concat());
        let [next, there, error] = [0, 1, 2].map(|k| Vector::from_raw(results[k].clone()));
        (next, there, error)
    }

    /// The length of the first step: a hundredth of the least time in which a part that is not 0 changes by its own
    /// size, at the present rate; 0 if there is no such part.
    fn first(&self, t: &Number, x: &Vector) -> Number {
        let change = (self.rate)(t, x);
        let fastest = self.ranges().fold(number(0.0), |fastest, range| {
            let [size, change] = [x, &change].map(|x| Number::from_raw(largest(x.slice(0, range.clone()).raw())));
            let speed = size.gt(0.0).select(change / size.max(f64::MIN_POSITIVE), number(0.0));
            speed.gt(&fastest).select(&speed, &fastest)
        });
        let known = fastest.gt(0.0);
        known.select(number(0.01) / fastest.max(f64::MIN_POSITIVE), number(0.0)).stop_gradient()
    }
}

/// A step: the next state, the rate there, and the estimate of the error.
fn step_of(rate: Rate<'_>, t: &Number, x: &Vector, first: &Vector, h: &Number) -> (Vector, Vector, Vector) {
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
        rates.push(rate(&(t + h * *c), &next));
    }
    let error = weighted(&rates, &ERROR);
    (next, rates.pop().expect("a step has rates"), error)
}
