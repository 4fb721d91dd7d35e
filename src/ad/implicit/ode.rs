//! Solutions of ordinary differential equations, by a Runge-Kutta method of order 5 with adaptive step lengths.
//!
//! Laws. Forward mode: the derivative of the solution is the solution of the variational equation
//! `v' = df/dx v + df/dp p_dot` together with `x' = f`, with step lengths for both. Reverse mode: the gradient is the exact
//! derivative of steps at constant lengths, which are good for the derivative, too (`adjoint`). A solution that does not
//! exist is NaN, for a reason (`failure`).
//!
//! Sources: the steps are those of Dormand and Prince (1980), of order 5 with an error estimate of order 4; their
//! lengths follow Hairer, Norsett and Wanner, "Solving ordinary differential equations I", section II.4.

mod adjoint;
mod failure;
mod steps;

use std::sync::Arc;

pub use self::failure::{OdeError, StepLimit};
use self::steps::{Differentiated, IntegratedState, TimeInterval};
use super::super::symbolic;
use super::numbers::largest;
use super::{closed, one_or_nan, rules, unlike};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::Linear;
use crate::program::{Custom, Program, Term, interpret};
use crate::tensor::{Tensor, concat};
use crate::tree::Tree;
use crate::tree::ravel::{ravel, raveled_size, unravel};

/// Settings for the solution of differential equations.
///
/// Example: [`Ode::solve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ode {
    /// The relative tolerance: in a number `x` of the state, a step may have the error
    /// `relative * (|x| + m / 100) + absolute`, where `m` is the largest absolute value in the state so far. The root
    /// mean square of the errors, each divided by this allowed error, is at most 1. A derivative may have the error
    /// `relative * (|v| + m / 100)`, where `m` is the largest derivative so far.
    pub relative: f64,
    /// The absolute tolerance, in the unit of the state.
    pub absolute: f64,
    /// The largest number of steps between two times, rejected steps included; a solution that needs more steps is NaN.
    /// Reverse mode stores about twice the square root of this number of states, and computes the steps again once or
    /// twice.
    pub steps: usize,
    /// The longest step; `None` for a tenth of the time between the first and the last of the times. What happens between
    /// two stages of a step has no effect on it: a pulse that may be shorter than a tenth of this needs a shorter one.
    pub max_step: Option<f64>,
}

/// The absolute tolerance by default, and that of derivatives relative to the size of their direction.
const ABSOLUTE: f64 = 1e-14;

/// A relative tolerance of `1e-8`, an absolute tolerance of `1e-14`, 10,000 steps, and steps of at most a tenth of the
/// time.
impl Default for Ode {
    fn default() -> Self {
        Ode { relative: 1e-8, absolute: ABSOLUTE, steps: 10_000, max_step: None }
    }
}

type Number = Tensor<Term, 0>;
type Vector = Tensor<Term, 1>;
type Mask = Tensor<Term, 0, bool>;

impl Ode {
    /// The same settings with this relative tolerance.
    ///
    /// Example: [`Ode::solve`].
    pub fn relative(self, relative: f64) -> Ode {
        Ode { relative, ..self }
    }

    /// The same settings with this absolute tolerance.
    ///
    /// Example: [`Ode::solve`].
    pub fn absolute(self, absolute: f64) -> Ode {
        Ode { absolute, ..self }
    }

    /// The same settings with at most this number of steps between two times.
    ///
    /// Example: [`Ode::solve`].
    pub fn steps(self, steps: usize) -> Ode {
        Ode { steps, ..self }
    }

    /// The same settings with steps of at most this length, in the unit of time.
    ///
    /// An equation can change between the stages of a step, and change back. If nothing changes before, steps are long
    /// and may skip this pulse; a longest step below its duration shows it.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// // A pulse that lasts .2 of 100.
    /// let pulse = |_: &Tensor<_, 0>, t: &Tensor<_, 0>, p: &Tensor<_, 0>| p * (-((t - 50.0) * 10.0).square()).exp();
    /// let solve = |ode: Ode| ode.solve(pulse, &tensor(0.0), &tensor([0.0, 100.0]), &tensor(1.0))[1].item();
    /// assert!((solve(Ode::default().max_step(0.2)) - std::f64::consts::PI.sqrt() / 10.0).abs() < 1e-8);
    /// ```
    ///
    /// # Panics
    /// When the length is not positive.
    #[track_caller]
    pub fn max_step(self, length: f64) -> Ode {
        if length.is_nan() || length <= 0.0 {
            panic!("max_step: the longest step must be positive, but it is {length}; leave it out for the default");
        }
        Ode { max_step: Some(length), ..self }
    }

    /// [`odeint`] with these settings.
    ///
    /// # Panics
    /// Where [`odeint`] does.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// let decay = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| -(x * rate);
    /// let (one, times) = (tensor(1.0), tensor([0.0, 1.0]));
    /// let error = |ode: Ode| (ode.solve(decay, &one, &times, &one)[1].item() - (-1f64).exp()).abs();
    /// assert!(error(Ode::default().relative(1e-3)) < 1e-3 && error(Ode::default().relative(1e-12)) < 1e-11);
    /// assert!(error(Ode::default().relative(0.0).absolute(1e-9)) < 1e-8);
    /// // One step is not enough.
    /// assert!(error(Ode::default().steps(1)).is_nan() && error(Ode::default().steps(500)) < 1e-7);
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
        let equation = self.equation(&f, start, times, parameters);
        let args: Vec<T> = start.leaves().into_iter().chain([times.raw().clone()]).chain(parameters.leaves()).collect();
        // Numbers need no rules.
        let results = if T::runs_once() {
            T::evaluated(&equation.primal(), args)
        } else {
            T::custom(&equation.function(), &args)
        };
        self.rows(start, &results[0], times)
    }

    /// The recorded equation.
    #[track_caller]
    fn equation<T, X, P>(&self, f: Rates<'_, T, X, P>, start: &X, times: &Tensor<T, 1>, parameters: &P) -> Arc<Equation>
    where
        T: BaseTensor,
        X: Tree<T>,
        P: Tree<T>,
    {
        let [m] = times.shape();
        if m == 0 {
            panic!("odeint: needs the time of the start, but the list of times is empty; give it first");
        }
        let (x, p) = (start.leaves(), parameters.leaves());
        let (xs, t, ps) = (Term::variables_like(&x), Term::variable(&[], DType::F64), Term::variables_like(&p));
        let rate = f(&start.with_leaves(xs.clone()), &Tensor::from_raw(t.clone()), &parameters.with_leaves(ps.clone()));
        let program = closed("odeint", &[&xs[..], &[t], &ps].concat(), &rate.leaves());
        Arc::new(Equation::of(program, xs.len(), m, *self))
    }

    /// The states at the times, as trees like the start.
    fn rows<T: BaseTensor, X: Tree<T>>(&self, start: &X, states: &T, times: &Tensor<T, 1>) -> Vec<X::With<T>> {
        let (x, [m]) = (start.leaves(), times.shape());
        let row = |i: usize| start.with_leaves(unravel(&x, &states.linear(&Linear::row(states.shape(), 0, i))));
        (0..m).map(row).collect()
    }
}

/// The rate of change at terms, from state, time and parameters.
type Rates<'a, T, X, P> =
    &'a dyn Fn(&<X as Tree<T>>::With<Term>, &Number, &<P as Tree<T>>::With<Term>) -> <X as Tree<T>>::With<Term>;

/// The solution of `x' = f(x, t, p)` at each of these times; `start` is the state at the first time.
///
/// Times may decrease, and be equal. A solution that does not exist up to a time, or needs more steps than [`Ode`]
/// allows, is NaN from there on; [`Ode::try_solve`] says why, as does `inspect::first_nan`. `f` is recorded for the shapes
/// of its arguments, and depends on these alone.
///
/// There are derivatives in start, times and parameters: forward mode solves the variational equation along with the
/// equation of the state; reverse mode transposes the steps of the solution, which it computes again; derivatives of
/// higher orders differentiate these. Steps are good for derivatives, too: both modes have these in the error that
/// chooses a step, reverse mode by a probe, a tangent in which every start and parameter has a share. Errors of
/// derivatives are relative to the largest one, and add up as those of the state do. A derivative in a time is a rate,
/// which errors of the state change by `df/dx` times as much. Second derivatives have the steps of first ones.
///
/// For stiff equations, stability limits the step lengths, and implicit methods of other crates are better. What
/// happens between two stages of a step, as a pulse of a rate that is 0 elsewhere, has no effect: see [`Ode::max_step`]. A
/// kink or a jump of the rate in time costs some steps. Where the derivative of the rate in the state is infinite at the
/// start, as for `x' = p sqrt x` from 0, the gradient is NaN: a derivative in the start does not exist. A tangent of `p` alone is
/// that of the solution that stays at 0.
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
/// When the list of times is empty; when `f` returns other shapes than `start` has, uses a value from outside, or looks at
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

/// The size of a direction: the largest of its numbers, relative to the parameter where that is larger than 1.
fn size_of(p: &[Term], p_dot: &[Term]) -> Number {
    let (p, p_dot) = (Vector::from_raw(ravel(p)).stop_gradient(), Vector::from_raw(ravel(p_dot)).stop_gradient());
    Number::from_raw(largest((p_dot / p.abs().max(1.0)).raw()))
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
    fn function(self: &Arc<Self>) -> Arc<Custom> {
        let equation = self.clone();
        let reason = move |args: &[Array]| equation.failure(args).map(|error| error.to_string());
        rules("odeint", self.primal(), Some(self.tangent()), Some(self.adjoint())).with_reason(reason).into()
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
        let rate = |t: &Number, u: &Vector, p: &[Term]| self.rate(&unravel(x, u.raw()), t, p);
        let start: Vector = Tensor::from_raw(ravel(x));
        let parts = start.shape();
        let of = IntegratedState::of(&rate, p.to_vec(), &parts, Differentiated::Nothing, &[]);
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
        let both = |t: &Number, w: &Vector, reads: &[Term]| self.with_tangents(&push, x, t, w, reads);
        // A start that is later by `t_dot` is a start at the same time with the state changed by `-f t_dot`.
        let first = u_dot - self.rate(x, &t.at([0]), p).times(&t_dot.at([0]));
        let results = self.results(n);
        let states = Tensor::<Term, 2>::from_raw(results[0].clone());
        let unit = size_of(p, p_dot) * ABSOLUTE;
        let (parts, units) = ([n, n], [unit]);
        let of = IntegratedState::of(&both, [p, p_dot].concat(), &parts, Differentiated::All, &units);
        let all = self.through(&of, &concat(0, [u, first]), &t).swap_remove(0);
        let rates = self.rates(x, &t, p, &states);
        let moved = Tensor::<Term, 2>::from_raw(all).slice(1, n..2 * n) + rates * t_dot.insert_axis::<2>(1);
        // Derivatives of the tangents go through the states that are NaN, so they are NaN, too.
        let moved = moved * Tensor::<Term, 2>::from_raw(one_or_nan(states.raw()));
        let still = Term::zeros(&[self.times - 1], DType::F64);
        closed("odeint", &[args, results.to_vec(), dots].concat(), &[moved.into_raw(), still.clone(), still])
    }

    /// The rates of the state and of one or several tangents next to it; `reads` are the parameters and their tangents.
    fn with_tangents(&self, push: &Program, x: &[Term], t: &Number, w: &Vector, reads: &[Term]) -> Vector {
        let n = raveled_size(x);
        if n == 0 {
            return w.clone();
        }
        let directions = w.shape()[0] / n - 1;
        let leaves = self.program.inputs().len() - self.states - 1;
        let part = |k: usize| unravel(x, w.slice(0, k * n..(k + 1) * n).raw());
        let point = [&part(0)[..], &[t.raw().clone()], &reads[..leaves]].concat();
        let mut rates = Vec::new();
        for k in 1..=directions {
            let along = [&part(k)[..], &[number(0.0).into_raw()], &reads[k * leaves..(k + 1) * leaves]].concat();
            let moved = interpret(push, [&point[..], &along].concat());
            let (rate, rate_dot) = moved.split_at(moved.len() / 2);
            if k == 1 {
                rates.push(Vector::from_raw(ravel(rate)));
            }
            rates.push(Vector::from_raw(ravel(rate_dot)));
        }
        concat(0, rates)
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
    fn through(&self, of: &IntegratedState<'_>, start: &Vector, t: &Vector) -> Vec<Term> {
        let trips = self.times - 1;
        let longest = self.longest(t);
        let rows = [t.slice(0, 0..trips), t.slice(0, 1..)].map(Tensor::into_raw);
        let init = vec![start.raw().clone(), of.first(&t.at([0]), start).into_raw(), of.largest(start).into_raw()];
        let (_, each) = Term::map_accum(trips, false, init, &rows, &mut |carry, row| {
            let [from, to] = [0, 1].map(|k| Number::from_raw(row[k].clone()));
            let [step, state, top] = [&carry[1], &carry[0], &carry[2]];
            let at = (Vector::from_raw(state.clone()), Number::from_raw(step.clone()), Vector::from_raw(top.clone()));
            let before = [step.clone(), largest(top)];
            let (state, step, top) = self.between(of, at, &TimeInterval::of(&from, &to, &longest));
            let each = [&[state.raw().clone()], &before[..]].concat();
            (vec![state.into_raw(), step.into_raw(), top.into_raw()], each)
        });
        let states = concat(0, [start.insert_axis::<2>(0), Tensor::from_raw(each[0].clone())]);
        vec![states.into_raw(), each[1].clone(), each[2].clone()]
    }
}
