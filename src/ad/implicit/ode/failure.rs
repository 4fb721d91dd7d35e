//! Why an equation has no solution at a time: what happened, where, and what helps.
//!
//! Law: there is a reason exactly if a state of the solution is not finite. It follows from the same attempts at steps,
//! which are counted; whether an equation is stiff follows from the fastest rate of its linearization where the steps
//! end, by power iteration.

use std::fmt;

use thiserror::Error;

use super::steps::{Differentiated, IntegratedState, TimeInterval};
use super::{Equation, Number, Ode, Vector};
use crate::ad::implicit::closed;
use crate::ad::symbolic;
use crate::array::Array;
use crate::base::{BaseTensor, Staging};
use crate::program::{Program, Term, interpret};
use crate::tensor::Tensor;
use crate::tree::Tree;
use crate::tree::ravel::{ravel, raveled_size, unravel};

/// Why a differential equation has no solution: see [`Ode::try_solve`].
///
/// ```
/// use polygrad::{Ode, OdeError, Tensor, tensor};
/// // The solution `1 / (1 - t)` has a pole at 1.
/// let square = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, _: &()| x.square();
/// let error = Ode::default().try_solve(square, &tensor(1.0), &tensor([0.0, 2.0]), &()).unwrap_err();
/// assert!(matches!(error, OdeError::NoStep { time, .. } if (time - 1.0).abs() < 1e-6));
/// ```
#[derive(Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum OdeError {
    /// The steps end before the next time, as for stiff equations.
    #[error(
        "odeint: the solution must reach time {to} within the allowed steps, but {steps} attempts at a step from time {from} \
         end at time {time}, where a step is {step:.1e} long{why}"
    )]
    TooManySteps {
        /// The number of attempts.
        steps: usize,
        /// The time from which they start.
        from: f64,
        /// The time that they do not reach.
        to: f64,
        /// The time at which they end.
        time: f64,
        /// The length of the last step.
        step: f64,
        /// What limits the steps, and what helps.
        why: StepLimit,
    },
    /// No step leads on, as at a pole.
    #[error(
        "odeint: the solution must be finite and continuous up to time {to}, but from time {time} on even a step of {step:.1e} has too \
         large an error, or a rate is not finite; end before a pole, and keep the state where its rate is defined"
    )]
    NoStep {
        /// The time from which the steps start.
        from: f64,
        /// The time that they do not reach.
        to: f64,
        /// The time from which no step could be taken.
        time: f64,
        /// The length of the last step that was tried.
        step: f64,
    },
    /// A time, a number of the start or a parameter is NaN or infinite.
    #[error("odeint: {what} must be finite, but a number is {value:?}; inspect::first_nan says where that comes from")]
    NotFinite {
        /// `times`, `the start`, or `the parameters`.
        what: &'static str,
        /// The number.
        value: f64,
    },
}

crate::errors::debug_by_display!(OdeError);

/// What limits the length of steps.
///
/// ```
/// use polygrad::{Ode, OdeError, StepLimit, Tensor, tensor};
/// let fast = |x: &Tensor<_, 0>, t: &Tensor<_, 0>, _: &()| (t.cos() - x) * 1e6;
/// let error = Ode::default().try_solve(fast, &tensor(0.0), &tensor([0.0, 1.0]), &()).unwrap_err();
/// assert!(matches!(error, OdeError::TooManySteps { why: StepLimit::Stability { rate }, .. } if (rate / 1e6 - 1.0).abs() < 0.1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum StepLimit {
    /// The equation is stiff: a difference of the state changes at this rate, much faster than the solution.
    Stability {
        /// The largest absolute eigenvalue of the linearized equation, estimated.
        rate: f64,
    },
    /// The solution itself changes as fast as the steps are short, or the tolerances are strict.
    Accuracy,
}

/// The reason and the fix, after a semicolon.
impl fmt::Display for StepLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepLimit::Stability { rate } => write!(
                f,
                " because the equation is stiff, with a part that changes at the rate {rate:.1e}, which explicit steps follow only below \
                 {:.1e}; use an implicit method, as those of the crate diffsol, or allow more with Ode::steps",
                3.3 / rate
            ),
            StepLimit::Accuracy => {
                f.write_str("; allow more with Ode::steps, take looser tolerances, or give nearer times")
            }
        }
    }
}

impl Ode {
    /// [`odeint`](crate::odeint()) of known numbers with these settings, with the reason if a solution was not found. A
    /// solution is that of [`Ode::solve`].
    ///
    /// # Errors
    /// When a state is not finite: the steps are too many, no step leads on, or a number that is given is not finite.
    ///
    /// # Panics
    /// Where [`odeint`](crate::odeint()) does.
    ///
    /// ```
    /// use polygrad::{Ode, Tensor, tensor};
    /// let decay = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| -(x * rate);
    /// let solve = |rate: f64| Ode::default().try_solve(decay, &tensor(1.0), &tensor([0.0, 1.0]), &tensor(rate));
    /// assert!((solve(0.5)?[1].item() - (-0.5f64).exp()).abs() < 1e-8);
    /// println!("{}", solve(1e6).unwrap_err());
    /// # Ok::<(), polygrad::OdeError>(())
    /// ```
    #[track_caller]
    pub fn try_solve<X, P>(
        &self,
        f: impl Fn(&X::With<Term>, &Tensor<Term, 0>, &P::With<Term>) -> X::With<Term>,
        start: &X,
        times: &Tensor<Array, 1>,
        parameters: &P,
    ) -> Result<Vec<X::With<Array>>, OdeError>
    where
        X: Tree<Array>,
        P: Tree<Array>,
    {
        let equation = self.equation(&f, start, times, parameters);
        let args = [start.leaves(), vec![times.raw().clone()], parameters.leaves()].concat();
        let states = Array::evaluated(&equation.primal(), args.clone()).swap_remove(0);
        match bad(&states).and_then(|_| equation.failure(&args)) {
            Some(error) => Err(error),
            None => Ok(self.rows(start, &states, times)),
        }
    }
}

/// The first number that is not finite.
fn bad(x: &Array) -> Option<f64> {
    let numbers = ravel(std::slice::from_ref(x)).to_vec::<f64>().unwrap_or_default();
    numbers.into_iter().find(|x| !x.is_finite())
}

fn item(x: &Array) -> f64 {
    x.item::<f64>().unwrap_or(f64::NAN)
}

impl Equation {
    /// Why a state is not finite.
    pub(super) fn failure(&self, args: &[Array]) -> Option<OdeError> {
        let (x, rest) = args.split_at(self.states);
        let (t, p) = rest.split_at(1);
        for (what, numbers) in [("times", t), ("the start", x), ("the parameters", p)] {
            if let Some(value) = numbers.iter().filter(|x| x.dtype().is_float()).find_map(bad) {
                return Some(OdeError::NotFinite { what, value });
            }
        }
        let ends = Array::evaluated(&self.ends(), args.to_vec());
        let times = t[0].to_vec::<f64>().ok()?;
        let columns: Vec<Vec<f64>> = ends[1..].iter().map(|x| x.to_vec::<f64>().unwrap_or_default()).collect();
        let k = (0..self.times - 1).find(|k| columns[1][*k] != times[k + 1])?;
        let (from, to) = (times[k], times[k + 1]);
        let (steps, time, step) = (columns[0][k] as usize, columns[1][k], columns[2][k]);
        if steps < self.settings.steps {
            return Some(OdeError::NoStep { from, to, time, step });
        }
        let state = Tensor::<Array, 2>::from_raw(ends[0].clone()).row(k);
        let rate = self.fastest(x, &Array::scalar(time), p, &state);
        let why = if rate * step > 1.0 { StepLimit::Stability { rate } } else { StepLimit::Accuracy };
        Some(OdeError::TooManySteps { steps, from, to, time, step, why })
    }

    /// `(start, times, p) -> (states, attempts, times, lengths)` where the steps of each interval end.
    fn ends(&self) -> Program {
        let args = self.arguments();
        let (x, p) = (&args[..self.states], &args[self.states + 1..]);
        let t = Vector::from_raw(args[self.states].clone());
        let rate = |t: &Number, u: &Vector, p: &[Term]| self.rate(&unravel(x, u.raw()), t, p);
        let start: Vector = Tensor::from_raw(ravel(x));
        let parts = start.shape();
        let of = IntegratedState::of(&rate, p.to_vec(), &parts, Differentiated::Nothing, &[]);
        let (trips, longest) = (self.times - 1, self.longest(&t));
        let rows = [t.slice(0, 0..trips), t.slice(0, 1..)].map(Tensor::into_raw);
        let init = vec![start.raw().clone(), of.first(&t.at([0]), &start).into_raw(), of.largest(&start).into_raw()];
        let (_, each) = Term::map_accum(trips, false, init, &rows, &mut |carry, row| {
            let [from, to] = [0, 1].map(|k| Number::from_raw(row[k].clone()));
            let at = (
                Vector::from_raw(carry[0].clone()),
                Number::from_raw(carry[1].clone()),
                Vector::from_raw(carry[2].clone()),
            );
            let [x, count, t, step, top] = self.counted(&of, at, &TimeInterval::of(&from, &to, &longest));
            (vec![x.clone(), step.clone(), top], vec![x, count, t, step])
        });
        closed("odeint", &args, &each)
    }

    /// An estimate of the largest absolute eigenvalue of the linearized equation at a state.
    fn fastest(&self, x: &[Array], t: &Array, p: &[Array], state: &Tensor<Array, 1>) -> f64 {
        const STEPS: usize = 30;
        let push = symbolic::jvp(&self.program);
        let still = |x: &Array| Array::zeros(x.shape(), x.dtype());
        let n = raveled_size(x);
        let mut v = Tensor::<Array, 1>::from_fn([n], |[k]| 1.0 + 0.5 * (1.0 + 2.4 * k as f64).sin());
        let mut growth = 0.0;
        for k in 0..STEPS {
            let size = v.square().sum().sqrt();
            v /= size.max(f64::MIN_POSITIVE);
            let point = unravel(x, state.raw()).into_iter().chain([t.clone()]).chain(p.iter().cloned());
            let along = unravel(x, v.raw()).into_iter().chain([still(t)]).chain(p.iter().map(still));
            let moved = interpret(&push, point.chain(along).collect());
            v = Tensor::from_raw(ravel(&moved[moved.len() / 2..]));
            // The mean over the last half, since complex eigenvalues turn vectors.
            if k >= STEPS / 2 {
                growth += item(v.square().sum().sqrt().raw()).ln();
            }
        }
        (growth / (STEPS - STEPS / 2) as f64).exp()
    }
}
