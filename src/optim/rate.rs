//! Learning rates as functions of the number of updates.
//!
//! Law: a rate is a formula of a scalar tensor, so a recorded step computes it from the count in its state, and no
//! program is recorded again when the rate changes.

use std::f64::consts::PI;

use crate::base::BaseTensor;
use crate::tensor::Tensor;

/// A learning rate: a number, or a schedule, a function of the number of updates so far.
///
/// ```
/// use polygrad::{optim::Rate, tensor};
/// let at = |rate: Rate, count: f64| rate.at(&tensor(count)).item();
/// assert_eq!(at(Rate::linear(1.0, 0.5, 10), 5.0), 0.75);
/// assert!((at(Rate::cosine(1.0, 0.5, 10), 5.0) - 0.75).abs() < 1e-15);
/// assert!((at(Rate::exponential(1.0, 0.5, 10), 20.0) - 0.25).abs() < 1e-15);
/// assert_eq!([9.0, 10.0, 20.0].map(|n| at(Rate::steps(1.0, [(10, 0.5), (20, 0.5)]), n)), [1.0, 0.5, 0.25]);
/// // The schedule begins after the warmup.
/// assert_eq!([0.0, 9.0, 10.0].map(|n| at(Rate::cosine(1.0, 0.0, 100).warmup(10), n)), [0.1, 1.0, 1.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    warmup: usize,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Constant(f64),
    Linear {
        start: f64,
        end: f64,
        steps: usize,
    },
    Cosine {
        start: f64,
        end: f64,
        steps: usize,
    },
    Exponential {
        start: f64,
        factor: f64,
        steps: usize,
    },
    /// Factors, each applied from a count of updates on.
    Steps {
        start: f64,
        factors: Vec<(usize, f64)>,
    },
}

impl From<f64> for Rate {
    /// The same rate at every update.
    ///
    /// # Panics
    /// When the rate is negative or not finite.
    #[track_caller]
    fn from(rate: f64) -> Self {
        Rate::of(Form::Constant(checked("rate", rate)))
    }
}

impl Rate {
    fn of(form: Form) -> Self {
        Rate { warmup: 0, form }
    }

    /// Linear decay: from `start` to `end` within `steps` updates, then `end`.
    ///
    /// Example: [`Rate`].
    ///
    /// # Panics
    /// When a rate is negative or not finite, or `steps` is 0.
    #[track_caller]
    pub fn linear(start: f64, end: f64, steps: usize) -> Self {
        let steps = positive("linear", steps);
        Rate::of(Form::Linear { start: checked("linear", start), end: checked("linear", end), steps })
    }

    /// Cosine annealing: from `start` to `end` along half a period of a cosine within `steps` updates, then `end`:
    /// `end + (start - end) (1 + cos(pi count / steps)) / 2`. (Loshchilov and Hutter, *SGDR*, ICLR 2017, equation 5.)
    ///
    /// Example: [`Rate`].
    ///
    /// # Panics
    /// When a rate is negative or not finite, or `steps` is 0.
    #[track_caller]
    pub fn cosine(start: f64, end: f64, steps: usize) -> Self {
        let steps = positive("cosine", steps);
        Rate::of(Form::Cosine { start: checked("cosine", start), end: checked("cosine", end), steps })
    }

    /// Exponential decay: `start * factor^(count / steps)`, a factor of `factor` every `steps` updates, continuously.
    ///
    /// Example: [`Rate`].
    ///
    /// # Panics
    /// When `start` is negative or not finite, `factor` is not a positive number, or `steps` is 0.
    #[track_caller]
    pub fn exponential(start: f64, factor: f64, steps: usize) -> Self {
        let name = "exponential";
        assert!(
            factor > 0.0 && factor.is_finite(),
            "{name}: the factor must be positive and finite, but it is {factor}; for a rate that falls to 0 use `Rate::linear`"
        );
        Rate::of(Form::Exponential { start: checked(name, start), factor, steps: positive(name, steps) })
    }

    /// Step decay: `start`, multiplied by each factor from its count of updates on.
    ///
    /// Example: [`Rate`].
    ///
    /// # Panics
    /// When `start` or a factor is negative or not finite.
    #[track_caller]
    pub fn steps(start: f64, factors: impl IntoIterator<Item = (usize, f64)>) -> Self {
        let mut checked_factors = Vec::new();
        for (count, factor) in factors {
            checked_factors.push((count, checked("steps", factor)));
        }
        Rate::of(Form::Steps { start: checked("steps", start), factors: checked_factors })
    }

    /// Linear warmup: `steps` updates in which the rate grows linearly to the schedule's first value, then the
    /// schedule.
    ///
    /// The first update has `1 / steps` of the first value; the schedule begins at update number `steps`, counted from
    /// 0.
    ///
    /// Example: [`Rate`].
    #[must_use]
    pub fn warmup(self, steps: usize) -> Self {
        Rate { warmup: steps, ..self }
    }

    /// The rate of the next update, after `count` updates.
    ///
    /// Example: [`Rate`].
    #[track_caller]
    pub fn at<T: BaseTensor>(&self, count: &Tensor<T, 0>) -> Tensor<T, 0> {
        if self.warmup == 0 {
            return self.form.at(count);
        }
        let grown = ((count + 1.0) / self.warmup as f64).min(1.0);
        grown * self.form.at(&(count - self.warmup as f64).max(0.0))
    }
}

impl Form {
    #[track_caller]
    fn at<T: BaseTensor>(&self, count: &Tensor<T, 0>) -> Tensor<T, 0> {
        let part = |steps: usize| (count / steps as f64).min(1.0);
        match self {
            Form::Constant(rate) => Tensor::full([], *rate),
            Form::Linear { start, end, steps } => part(*steps) * (end - start) + *start,
            Form::Cosine { start, end, steps } => ((part(*steps) * PI).cos() + 1.0) * (0.5 * (start - end)) + *end,
            Form::Exponential { start, factor, steps } => (count * (factor.ln() / *steps as f64)).exp() * *start,
            Form::Steps { start, factors } => {
                let mut rate = Tensor::full([], *start);
                for (from, factor) in factors {
                    rate *= count.ge(*from as f64).select(*factor, 1.0);
                }
                rate
            }
        }
    }
}

#[track_caller]
fn checked(name: &str, rate: f64) -> f64 {
    assert!(
        rate >= 0.0 && rate.is_finite(),
        "{name}: rates and factors must be finite and not negative, but one is {rate}; 0.01 is a usual rate"
    );
    rate
}

#[track_caller]
fn positive(name: &str, steps: usize) -> usize {
    assert!(steps > 0, "{name}: the schedule must have a step, but it has 0; give the rate as a number instead");
    steps
}
