//! Differentiations of values with levels, in forward and in reverse mode.
//!
//! Law: a differentiation has a level above all that run when it starts, and no value has this level after its end.
//! So a function may be differentiated wherever it is called, as often as one likes, at one type:
//!
//! ```
//! use polygrad::interpreters::Tower;
//! use polygrad::interpreters::tower::ForwardLevel;
//! use polygrad::{Array, Tensor};
//! type Number = Tensor<Tower<Array>, 0>;
//!
//! /// The derivative of any function of a number.
//! fn derivative(f: &dyn Fn(&Number) -> Number, x: &Number) -> Number {
//!     let along = ForwardLevel::start();
//!     let y = f(&Tensor::from_raw(along.input(x.raw(), Number::scalar(1.0).raw())));
//!     along.parts(y.raw()).1.map_or_else(|| Number::scalar(0.0), Tensor::from_raw)
//! }
//! // x d/dy (x + y) is x: the derivatives in x and in y do not mix.
//! let slope = derivative(&|x| x * derivative(&|y| x + y, &Number::scalar(1.0)), &Number::scalar(5.0));
//! assert_eq!(slope.into_raw().into_base(), Array::scalar(1.0));
//! // The third derivative of x^4.
//! let cube = |x: &Number| derivative(&|x| derivative(&|x| x.square().square(), x), x);
//! assert_eq!(derivative(&cube, &Number::scalar(2.0)).into_raw().into_base(), Array::scalar(48.0));
//! ```

use std::cell::RefCell;

use super::super::adval::Fault;
use super::super::level::fresh;
use super::super::{ADVal, Dual, adval, dual};
use super::{Level, OneLevel, Tower, escaped, highest, raised};
use crate::base::BaseTensor;

thread_local! {
    /// The levels of the differentiations that run, from the outermost.
    static RUNNING: RefCell<Vec<Level>> = const { RefCell::new(Vec::new()) };
}

/// The level of the innermost differentiation that runs; 0 if none does.
pub(super) fn running() -> u64 {
    RUNNING.with_borrow(|running| running.last().map_or(0, |level| level.number()))
}

/// The levels of all differentiations that run, ascending.
pub(super) fn running_levels() -> Vec<Level> {
    RUNNING.with_borrow(Vec::clone)
}

/// A differentiation that runs, until the guard is dropped.
struct Running(Level);

impl Running {
    fn start(level: impl FnOnce(u64) -> Level) -> Self {
        let level = level(fresh());
        RUNNING.with_borrow_mut(|running| running.push(level));
        Running(level)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| running.retain(|level| *level != self.0));
    }
}

/// A differentiation in forward mode: values along a curve, with their derivatives.
///
/// ```
/// use polygrad::interpreters::{Tower, tower::ForwardLevel};
/// use polygrad::{Array, BaseTensor, ops::Unary};
/// let (x, one): (Tower<Array>, _) = (Tower::of(Array::scalar(3.0)), Tower::of(Array::scalar(1.0)));
/// let along = ForwardLevel::start();
/// let (value, slope) = along.parts(&along.input(&x, &one).unary(Unary::Square));
/// assert_eq!((value.into_base(), slope.map(Tower::into_base)), (Array::scalar(9.0), Some(Array::scalar(6.0))));
/// // A value from outside has no derivative.
/// assert!(along.parts(&x).1.is_none());
/// ```
pub struct ForwardLevel {
    running: Running,
    sweep: dual::Forward,
}

impl ForwardLevel {
    /// Starts a differentiation, which ends when it is dropped.
    ///
    /// Example: [`ForwardLevel`].
    pub fn start() -> Self {
        ForwardLevel { running: Running::start(Level::Forward), sweep: dual::Forward::new() }
    }

    /// A value with its derivative along the curve; that of an integer or mask is ignored.
    ///
    /// Example: [`ForwardLevel`].
    ///
    /// # Panics
    /// When value and derivative differ in shape or element type.
    #[track_caller]
    pub fn input<T: BaseTensor>(&self, x: &Tower<T>, x_dot: &Tower<T>) -> Tower<T> {
        self.sweep.input(x, x_dot).outside(self.running.0)
    }

    /// A value of a lower level, and its derivative along the curve; `None` for zero.
    ///
    /// Example: [`ForwardLevel`].
    pub fn parts<T: BaseTensor>(&self, y: &Tower<T>) -> (Tower<T>, Option<Tower<T>>) {
        match Dual::inside(y, self.running.0) {
            Some(y) => {
                let (value, tangent) = self.sweep.result(y);
                (value, Some(tangent))
            }
            None if y.level().number() < self.running.0.number() => (y.clone(), None),
            None => escaped(),
        }
    }
}

/// A differentiation in reverse mode, while its function runs.
///
/// ```
/// use polygrad::interpreters::{Tower, tower::{LevelPullback, ReverseLevel}};
/// use polygrad::{Array, BaseTensor, ops::Unary};
/// let number = |x: f64| Tower::of(Array::scalar(x));
/// let mut level = ReverseLevel::start();
/// let x = level.input(&number(3.0));
/// let (values, pullback): (_, LevelPullback<Array>) = level.ended(&[x.unary(Unary::Square)]);
/// assert_eq!(values[0].clone().into_base(), Array::scalar(9.0));
/// // The cotangent `None` is zero.
/// let pulled = [Some(number(10.0)), None].map(|ct| pullback.pull(vec![ct])[0].clone().into_base());
/// assert_eq!(pulled, [60.0, 0.0].map(Array::scalar));
/// ```
pub struct ReverseLevel<T: 'static> {
    running: Running,
    sweep: adval::Sweep<Tower<T>>,
}

/// The pullback of a function, by the terms of its results.
///
/// Example: [`ReverseLevel`].
pub struct LevelPullback<T: 'static> {
    sweep: adval::Sweep<Tower<T>>,
    results: Vec<ADVal<Tower<T>>>,
}

impl<T: BaseTensor> ReverseLevel<T> {
    /// Starts a differentiation, which ends by [`ended`](ReverseLevel::ended).
    ///
    /// Example: [`ReverseLevel`].
    pub fn start() -> Self {
        ReverseLevel { running: Running::start(Level::Reverse), sweep: adval::Sweep::new() }
    }

    /// A value as an input.
    ///
    /// Example: [`ReverseLevel`].
    pub fn input(&mut self, x: &Tower<T>) -> Tower<T> {
        self.sweep.input(x).outside(self.running.0)
    }

    /// The values of the results, of lower levels, and the pullback from their cotangents to those of the inputs.
    ///
    /// Example: [`ReverseLevel`].
    pub fn ended(self, results: &[Tower<T>]) -> (Vec<Tower<T>>, LevelPullback<T>) {
        let level = self.running.0;
        if highest(results).number() > level.number() {
            escaped();
        }
        let results: Vec<ADVal<Tower<T>>> = raised(results, level);
        (results.iter().map(|y| y.primal().clone()).collect(), LevelPullback { sweep: self.sweep, results })
    }
}

impl<T: BaseTensor> LevelPullback<T> {
    /// The cotangents of the inputs, from those of the results: `None` for zero.
    ///
    /// Example: [`ReverseLevel`].
    ///
    /// # Panics
    /// When there are not as many cotangents as results, or a cotangent differs from its result in shape or element type.
    #[track_caller]
    pub fn pull(&self, cotangents: Vec<Option<Tower<T>>>) -> Vec<Tower<T>> {
        if let Err(fault) = Fault::of_numbers(self.results.len(), cotangents.len()) {
            panic!("{fault}");
        }
        let (mut results, mut given) = (Vec::new(), Vec::new());
        for (y, y_bar) in self.results.iter().zip(cotangents) {
            if let Some(y_bar) = y_bar {
                results.push(y.clone());
                given.push(y_bar);
            }
        }
        self.sweep.pull(&results, given)
    }
}
