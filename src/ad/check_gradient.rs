//! `check_gradient`: compares reverse mode, forward mode and finite differences of a function.
//!
//! The function runs for all three at one interpreter, dual numbers over dual numbers, so that a closure can be
//! checked. Central differences are extrapolated (Ridders' method): the first step is proportional to the entry, and
//! steps are halved until the extrapolated slopes agree. Law: a spread of the finite differences never enlarges the
//! tolerance, which is relative to the slope, plus an allowance for the rounding error of the values.

use std::fmt;

use crate::array::{Array, Rng};
use crate::base::{BaseTensor, Lift, Next};
use crate::dtype::{DType, Float};
use crate::errors::debug_by_display;
use crate::interpreters::adval::Sweep;
use crate::interpreters::dual::Forward;
use crate::interpreters::{ADVal, Concrete, Dual};
use crate::shape::element_name;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The interpreter at which a checked function runs: dual numbers of reverse mode over dual numbers of forward mode.
///
/// ```
/// use polygrad::{Checked, Tensor, check_gradient, tensor};
/// fn loss(x: &Tensor<Checked, 1>) -> Tensor<Checked, 0> {
///     x.exp().sum()
/// }
/// assert_eq!(check_gradient(loss, &tensor([0.5, -1.0])), Ok(()));
/// ```
pub type Checked = ADVal<Dual<Concrete>>;

/// A disagreement between the derivatives of a function. Prints as a sentence, even in `unwrap`.
///
/// ```
/// use polygrad::{GradientError, check_gradient, tensor};
/// let error = check_gradient(|x| x.ln(), &tensor(0.0)).unwrap_err();
/// assert_eq!(error, GradientError::NotFinite { what: "the value".into(), number: f64::NEG_INFINITY });
/// // A factor whose derivative is left out.
/// let error = check_gradient(|x| x * x.stop_gradient(), &tensor(1.0)).unwrap_err();
/// assert!(matches!(error, GradientError::Slope { gradient: 1.0, .. }));
/// ```
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum GradientError {
    /// The gradient differs from finite differences of the values.
    Slope {
        /// The worst entry: the path of its leaf, and its index there.
        entry: String,
        /// The entry of the gradient.
        gradient: f64,
        /// The slope by finite differences.
        slope: f64,
        /// The error estimate of the slope, from the differences between extrapolations: large at a kink or a pole.
        spread: f64,
        /// The number of entries whose derivatives differ.
        wrong: usize,
        /// The number of entries that were compared.
        compared: usize,
    },
    /// Reverse and forward mode differ.
    Modes {
        /// The worst entry: the path of its leaf, and its index there.
        entry: String,
        /// The derivative in reverse mode.
        reverse: f64,
        /// The derivative in forward mode.
        forward: f64,
    },
    /// A value or derivative is infinite or NaN.
    NotFinite {
        /// The name of the value or derivative: `the value`, `the gradient at x[2]`, `each value next to x[2]`.
        what: String,
        /// The infinity or NaN.
        number: f64,
    },
}

impl fmt::Display for GradientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GradientError::Slope { entry, gradient, slope, spread, wrong, compared } => write!(
                f,
                "check_gradient: the gradient must be the slope of the values, but at {entry} it is {gradient:?} and finite \
                 differences give {slope:?}, exact to about {spread:.0e} ({wrong} of {compared} compared entries differ); fix the \
                 derivative rule, or move away from a kink, which inspect::kinks names"
            ),
            GradientError::Modes { entry, reverse, forward } => write!(
                f,
                "check_gradient: both modes must give one derivative, but at {entry} reverse mode gives {reverse:?} and forward mode \
                 {forward:?}; compare the rules of custom_jvp and custom_vjp"
            ),
            GradientError::NotFinite { what, number } => write!(
                f,
                "check_gradient: values and derivatives must be finite, but {what} is {number:?}; inspect::first_nan says where that comes \
                 from"
            ),
        }
    }
}

debug_by_display!(GradientError);

impl std::error::Error for GradientError {}

/// Compares the derivatives of a scalar function with each other and with finite differences.
///
/// Reverse mode is compared with forward mode along random directions, and with central finite differences in each
/// entry. If there are more than 256 entries, finite differences are taken in 256 random entries, and along the random
/// directions. The error names the worst entry.
///
/// The tolerance is `1e-6` relative to the slope, and `1e-2` if an argument or the result is `f32`; [`GradientCheck`]
/// has options. The function must be smooth in a neighbourhood of `x`: at a kink (`relu` or `abs` at 0, `max` of equal
/// numbers) the derivative is a convention, and finite differences give the mean of the one-sided slopes. If a function
/// rounds, compares or stops gradients, its derivatives differ from its slopes, too. Wrong derivatives below about
/// `1e-12` of the value, for `f64`, are hidden by the rounding error of the values.
///
/// The function runs as it stands, without being compiled, up to 32 times for each entry and direction. If it solves
/// equations, its derivatives and slopes agree within about a hundred of the solver's tolerances.
///
/// ```
/// use polygrad::{assert_gradient, assert_gradient_with, check_gradient, check_gradient_with, tensor};
/// let x = (tensor([1.0, 2.0]), tensor([[0.5, -1.0]]));
/// check_gradient(|(a, m)| (m.matvec(a).sin() * a.prod()).sum(), &x)?;
/// let error = check_gradient(|(a, _)| (a * a.stop_gradient()).sum(), &x).unwrap_err();
/// assert!(error.to_string().contains("at x.0[1] it is 2.0 and finite differences give 4.0"));
/// // With data, and in a test.
/// let (w, x) = (tensor([0.3, -2.0]), tensor([1.0, 2.0]));
/// check_gradient_with(|w, x| (w * x).tanh().sum(), &w, &x)?;
/// assert_gradient(|w| w.tanh().square().sum(), &w);
/// assert_gradient_with(|w, x| (w * x).tanh().sum(), &w, &x);
/// # Ok::<(), polygrad::GradientError>(())
/// ```
///
/// In tests, [`assert_gradient`] panics at the line of the call.
///
/// # Errors
/// When derivatives differ, or are not finite.
///
/// # Panics
/// When the function has no forward mode, because it applies a `custom_vjp` whose rule has no transpose; then use
/// [`GradientCheck`] with `forward: false`.
#[track_caller]
pub fn check_gradient<P, E>(f: impl Fn(&P::With<Checked>) -> Tensor<Checked, 0, E>, x: &P) -> Result<(), GradientError>
where
    P: Tree<Concrete>,
    E: Float,
{
    GradientCheck::default().run(|x, _: &()| f(x), x, &())
}

/// [`check_gradient`] of a function that also takes data that is not differentiated.
///
/// Example: [`check_gradient`].
///
/// # Errors
/// When derivatives differ, or are not finite.
#[track_caller]
pub fn check_gradient_with<P, Q, E>(
    f: impl Fn(&P::With<Checked>, &Q::With<Checked>) -> Tensor<Checked, 0, E>,
    x: &P,
    data: &Q,
) -> Result<(), GradientError>
where
    P: Tree<Concrete>,
    Q: Tree<Concrete>,
    E: Float,
{
    GradientCheck::default().run(f, x, data)
}

/// [`check_gradient`] for tests: panics if derivatives differ.
///
/// Example: [`check_gradient`].
///
/// # Panics
/// When derivatives differ, or are not finite, with the worst entry.
#[track_caller]
pub fn assert_gradient<P, E>(f: impl Fn(&P::With<Checked>) -> Tensor<Checked, 0, E>, x: &P)
where
    P: Tree<Concrete>,
    E: Float,
{
    assert_gradient_with(|x, _: &()| f(x), x, &());
}

/// [`assert_gradient`] of a function that also takes data that is not differentiated.
///
/// Example: [`check_gradient`].
///
/// # Panics
/// When derivatives differ, or are not finite, with the worst entry.
#[track_caller]
pub fn assert_gradient_with<P, Q, E>(
    f: impl Fn(&P::With<Checked>, &Q::With<Checked>) -> Tensor<Checked, 0, E>,
    x: &P,
    data: &Q,
) where
    P: Tree<Concrete>,
    Q: Tree<Concrete>,
    E: Float,
{
    if let Err(error) = check_gradient_with(f, x, data) {
        panic!("{error}");
    }
}

/// The options of [`check_gradient`].
///
/// Example: [`GradientCheck::run`].
#[derive(Clone, Debug, PartialEq)]
pub struct GradientCheck {
    /// The largest accepted difference, relative to the slope. `None` stands for `1e-6`, or `1e-2` if an argument or
    /// the result is `f32`.
    pub tolerance: Option<f64>,
    /// The number of random directions.
    pub directions: usize,
    /// The largest number of entries that are compared; random entries are chosen if there are more.
    pub entries: usize,
    /// Whether reverse mode is compared with forward mode.
    pub forward: bool,
    /// The seed of the random directions and entries.
    pub seed: u64,
}

impl Default for GradientCheck {
    fn default() -> Self {
        GradientCheck { tolerance: None, directions: 3, entries: 256, forward: true, seed: 1 }
    }
}

impl GradientCheck {
    /// Runs the check of `f` at `x`, with these options.
    ///
    /// ```
    /// use polygrad::{GradientCheck, tensor};
    /// let check = GradientCheck { entries: 1, directions: 1, tolerance: Some(1e-9), ..GradientCheck::default() };
    /// assert_eq!(check.run(|x, w| (x.sin() * w).sum(), &tensor([0.3, 1.0]), &tensor([2.0, 3.0])), Ok(()));
    /// assert!(check.run(|x, _: &()| x.stop_gradient().square(), &tensor(2.0), &()).is_err());
    /// ```
    ///
    /// # Errors
    /// When derivatives differ, or are not finite.
    #[track_caller]
    pub fn run<P, Q, E>(
        &self,
        f: impl Fn(&P::With<Checked>, &Q::With<Checked>) -> Tensor<Checked, 0, E>,
        x: &P,
        data: &Q,
    ) -> Result<(), GradientError>
    where
        P: Tree<Concrete>,
        Q: Tree<Concrete>,
        E: Float,
    {
        let data = data.map(&mut |leaf| known(leaf.clone()));
        let mut paths = Vec::new();
        x.paths("x", &mut paths);
        let run = |leaves: Vec<Checked>| f(&x.with_leaves(leaves), &data).into_raw();
        Point::new(x.leaves(), paths, &run).check(self, E::DTYPE)
    }
}

/// An array as a constant at the level of the check.
fn known(a: Array) -> Checked {
    Lift::<Dual<Concrete>, Next>::lift(<Dual<Concrete> as BaseTensor>::constant(a))
}

/// A function at a point, whose float entries are numbered in the order of the leaves.
struct Point<'a> {
    leaves: Vec<Array>,
    paths: Vec<String>,
    /// For each leaf, the number of its first entry; then the count of all entries.
    starts: Vec<usize>,
    x: Vec<f64>,
    /// The unit of the steps of each entry: the absolute value of the entry, or the root mean square of its leaf if
    /// that is larger; 1 for a leaf of zeros.
    scales: Vec<f64>,
    run: &'a dyn Fn(Vec<Checked>) -> Checked,
}

/// The elements of a float array.
fn numbers(a: &Array) -> Vec<f64> {
    let a = if a.dtype() == DType::F64 { a.clone() } else { a.cast::<f64>() };
    a.iter::<f64>().map(Iterator::collect).unwrap_or_default()
}

/// A slope by finite differences, with its error estimates.
#[derive(Clone, Copy)]
struct Slope {
    value: f64,
    spread: f64,
    /// A bound of the error of the slope that the rounding of the values causes.
    noise: f64,
}

/// The first step along a direction; each next step is half as large.
const FIRST_STEP: f64 = 0.02;
/// The largest number of extrapolations of a difference quotient: small, so that a step across a kink affects few later
/// extrapolations.
const ORDER: usize = 3;
/// The largest number of steps.
const STEPS: usize = 16;

/// The slope of a function at 0, by Richardson extrapolation of central differences with decreasing steps (Ridders'
/// method): the extrapolation with the smallest difference from its neighbours in the table. `at(h)` gives the
/// difference quotient and its noise, or `None` if the quotient is not finite.
fn slope(tolerance: f64, at: &dyn Fn(f64) -> Option<(f64, f64)>) -> Option<Slope> {
    let (mut before, mut best): (Vec<f64>, Option<Slope>) = (Vec::new(), None);
    let mut h = FIRST_STEP;
    for _ in 0..STEPS {
        let Some((quotient, noise)) = at(h) else {
            before.clear();
            h /= 16.0;
            continue;
        };
        h /= 2.0;
        let mut row = vec![quotient];
        for (j, corner) in before.iter().take(ORDER).enumerate() {
            let factor = 4f64.powi(j as i32 + 1);
            let next = (row[j] * factor - corner) / (factor - 1.0);
            let spread = (next - row[j]).abs().max((next - corner).abs());
            if best.is_none_or(|best| spread <= best.spread) {
                best = Some(Slope { value: next, spread, noise });
            }
            row.push(next);
        }
        if best.is_some_and(|best| best.spread <= 1e-2 * tolerance * best.value.abs()) {
            break;
        }
        best = best.or(Some(Slope { value: quotient, spread: f64::INFINITY, noise }));
        before = row;
    }
    best
}

/// The difference between two derivatives, as a multiple of the allowed difference: above 1, the derivatives disagree.
fn excess(gradient: f64, slope: &Slope, size: f64, tolerance: f64) -> f64 {
    let allowed = tolerance * gradient.abs().max(slope.value.abs()).max(size) + slope.noise;
    ratio((gradient - slope.value).abs(), allowed)
}

/// A difference as a multiple of the allowed difference; infinite if the difference is NaN.
fn ratio(off: f64, allowed: f64) -> f64 {
    if off == 0.0 {
        return 0.0;
    }
    let ratio = off / allowed;
    if ratio.is_nan() { f64::INFINITY } else { ratio }
}

impl<'a> Point<'a> {
    fn new(leaves: Vec<Array>, paths: Vec<String>, run: &'a dyn Fn(Vec<Checked>) -> Checked) -> Self {
        let (mut starts, mut x, mut scales) = (vec![0], Vec::new(), Vec::new());
        for leaf in &leaves {
            if leaf.dtype().is_float() {
                let own = numbers(leaf);
                let square: f64 = own.iter().map(|x| x * x).sum();
                let size = (square / own.len().max(1) as f64).sqrt();
                let size = if size > 0.0 && size.is_finite() { size } else { 1.0 };
                scales.extend(own.iter().map(|x| x.abs().max(size)));
                x.extend(own);
            }
            starts.push(x.len());
        }
        Point { leaves, paths, starts, x, scales, run }
    }

    /// The leaves with these entries.
    fn arrays(&self, entries: &[f64]) -> Vec<Array> {
        let leaf = |(k, leaf): (usize, &Array)| {
            let own = &entries[self.starts[k]..self.starts[k + 1]];
            match leaf.dtype() {
                DType::F64 => Array::new(leaf.shape(), own.to_vec()),
                DType::F32 => Array::new(leaf.shape(), own.iter().map(|x| *x as f32).collect()),
                DType::I64 | DType::Bool => leaf.clone(),
            }
        };
        self.leaves.iter().enumerate().map(leaf).collect()
    }

    /// The path and the index of an entry: `x.0[1, 2]`.
    fn name(&self, entry: usize) -> String {
        let leaf = self.starts.partition_point(|start| *start <= entry) - 1;
        element_name(&self.paths[leaf], self.leaves[leaf].shape(), entry - self.starts[leaf])
    }

    fn value(&self, entries: &[f64]) -> f64 {
        let y = (self.run)(self.arrays(entries).into_iter().map(known).collect());
        numbers(y.primal().primal()).first().copied().unwrap_or(f64::NAN)
    }

    /// The gradient in reverse mode.
    fn reverse(&self) -> Vec<f64> {
        let mut sweep = Sweep::new();
        let lifted = |a: &Array| <Dual<Concrete> as BaseTensor>::constant(a.clone());
        let inputs = self.leaves.iter().map(|a| sweep.input(&lifted(a))).collect();
        let y = (self.run)(inputs);
        let one = <Dual<Concrete> as BaseTensor>::constant(Array::ones(&[], y.dtype()));
        let gradient = sweep.pull(&[y], vec![one]);
        let float = gradient.iter().filter(|g| g.dtype().is_float());
        float.flat_map(|g| numbers(g.primal())).collect()
    }

    /// The derivative along a direction in forward mode.
    fn forward(&self, direction: &[f64]) -> f64 {
        let sweep = Forward::new();
        let dual = |(x, x_dot): (&Array, Array)| Lift::<Dual<Concrete>, Next>::lift(sweep.input(x, &x_dot));
        let y = (self.run)(self.leaves.iter().zip(self.arrays(direction)).map(dual).collect());
        numbers(&sweep.result(y.primal()).1).first().copied().unwrap_or(f64::NAN)
    }

    /// The slope of the values along a direction; `epsilon` is the machine epsilon of the values.
    fn slope(&self, direction: &[f64], tolerance: f64, epsilon: f64) -> Option<Slope> {
        let rounded = |entries: &mut [f64]| {
            let arrays = self.arrays(entries);
            let exact: Vec<f64> = arrays.iter().filter(|a| a.dtype().is_float()).flat_map(numbers).collect();
            entries.copy_from_slice(&exact);
        };
        let lone = direction.iter().filter(|d| **d != 0.0).count() == 1;
        slope(tolerance, &|h| {
            let moved = |h: f64| self.x.iter().zip(direction).map(|(x, d)| x + h * d).collect::<Vec<f64>>();
            let (mut up, mut down) = (moved(h), moved(-h));
            let mut width = 2.0 * h;
            if lone {
                // The exact width of the step, after the entry is rounded to its element type.
                rounded(&mut up);
                rounded(&mut down);
                let k = direction.iter().position(|d| *d != 0.0)?;
                width = (up[k] - down[k]) / direction[k];
            }
            let (above, below) = (self.value(&up), self.value(&down));
            let quotient = (above - below) / width;
            let noise = 16.0 * epsilon * above.abs().max(below.abs()) / width;
            (width > 0.0 && quotient.is_finite()).then_some((quotient, noise))
        })
    }

    fn check(&self, how: &GradientCheck, result: DType) -> Result<(), GradientError> {
        let single = result == DType::F32 || self.leaves.iter().any(|leaf| leaf.dtype() == DType::F32);
        let (epsilon, usual) = if single { (f64::from(f32::EPSILON), 1e-2) } else { (f64::EPSILON, 1e-6) };
        let tolerance = how.tolerance.unwrap_or(usual);
        let finite = |what: &str, number: f64| match number.is_finite() {
            true => Ok(()),
            false => Err(GradientError::NotFinite { what: what.to_owned(), number }),
        };
        finite("the value", self.value(&self.x))?;
        let gradient = self.reverse();
        for (k, g) in gradient.iter().enumerate() {
            if !g.is_finite() {
                finite(&format!("the gradient at {}", self.name(k)), *g)?;
            }
        }
        let mut rng = Rng::new(how.seed);
        let directions: Vec<Vec<f64>> =
            (0..how.directions).map(|_| self.scales.iter().map(|s| s * rng.gaussian()).collect()).collect();
        if how.forward {
            directions.iter().try_for_each(|d| self.compare_modes(&gradient, d, tolerance))?;
        }
        let n = self.x.len();
        let mut entries: Vec<usize> = (0..n).collect();
        if n > how.entries {
            entries = rng.permutation(n);
            entries.truncate(how.entries);
        }
        self.compare_entries(&gradient, &entries, tolerance, epsilon)?;
        if n > entries.len() {
            for direction in &directions {
                self.compare_along(&gradient, direction, tolerance, epsilon)?;
            }
        }
        Ok(())
    }

    /// The direction of one entry, scaled by the unit of its steps.
    fn unit(&self, entry: usize) -> Vec<f64> {
        let mut direction = vec![0.0; self.x.len()];
        direction[entry] = self.scales[entry];
        direction
    }

    fn compare_modes(&self, gradient: &[f64], direction: &[f64], tolerance: f64) -> Result<(), GradientError> {
        let off = |direction: &[f64]| {
            let terms = || gradient.iter().zip(direction).map(|(g, d)| g * d);
            let (reverse, forward) = (terms().sum::<f64>(), self.forward(direction));
            let size = terms().map(|t| t * t).sum::<f64>().sqrt();
            let allowed = tolerance * reverse.abs().max(forward.abs()).max(size);
            (reverse, forward, ratio((reverse - forward).abs(), allowed) > 1.0)
        };
        if !off(direction).2 {
            return Ok(());
        }
        let entry = self.halved(direction, &|part| {
            let (reverse, forward, _) = off(part);
            (reverse - forward).abs()
        });
        let scale = self.scales[entry];
        let (reverse, forward, _) = off(&self.unit(entry));
        Err(GradientError::Modes { entry: self.name(entry), reverse: reverse / scale, forward: forward / scale })
    }

    /// An entry that contributes much to a difference along a direction, by bisection: of two halves of the direction,
    /// the half with the larger difference is kept.
    fn halved(&self, direction: &[f64], off: &dyn Fn(&[f64]) -> f64) -> usize {
        let (mut low, mut high) = (0, direction.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            let part = |low: usize, high: usize| {
                let mut part = vec![0.0; direction.len()];
                part[low..high].copy_from_slice(&direction[low..high]);
                off(&part)
            };
            // A difference that is NaN counts as the largest.
            let [lower, upper] =
                [part(low, middle), part(middle, high)].map(|d| if d.is_nan() { f64::INFINITY } else { d });
            if lower < upper { low = middle } else { high = middle }
        }
        low
    }

    fn compare_entries(
        &self,
        gradient: &[f64],
        entries: &[usize],
        tolerance: f64,
        epsilon: f64,
    ) -> Result<(), GradientError> {
        let (mut worst, mut wrong): (Option<(f64, usize, Slope)>, usize) = (None, 0);
        for k in entries {
            let (g, scale) = (gradient[*k], self.scales[*k]);
            let Some(slope) = self.slope(&self.unit(*k), tolerance, epsilon) else {
                let what = format!("each value next to {}", self.name(*k));
                return Err(GradientError::NotFinite { what, number: f64::NAN });
            };
            let off = excess(g * scale, &slope, 0.0, tolerance);
            wrong += usize::from(off > 1.0);
            if worst.is_none_or(|(most, ..)| off > most) {
                worst = Some((off, *k, slope));
            }
        }
        match worst {
            Some((off, k, slope)) if off > 1.0 => Err(self.wrong(gradient, k, slope, wrong, entries.len())),
            Some(_) | None => Ok(()),
        }
    }

    fn wrong(&self, gradient: &[f64], k: usize, slope: Slope, wrong: usize, compared: usize) -> GradientError {
        let scale = self.scales[k];
        let value = slope.value / scale;
        let spread = (slope.spread / scale).max(f64::EPSILON * value.abs());
        GradientError::Slope { entry: self.name(k), gradient: gradient[k], slope: value, spread, wrong, compared }
    }

    fn compare_along(
        &self,
        gradient: &[f64],
        direction: &[f64],
        tolerance: f64,
        epsilon: f64,
    ) -> Result<(), GradientError> {
        let off = |direction: &[f64]| {
            let terms = || gradient.iter().zip(direction).map(|(g, d)| g * d);
            let size = terms().map(|t| t * t).sum::<f64>().sqrt();
            let slope = self.slope(direction, tolerance, epsilon);
            slope.map_or(0.0, |slope| excess(terms().sum(), &slope, size, tolerance))
        };
        if off(direction) <= 1.0 {
            return Ok(());
        }
        let entry = self.halved(direction, &off);
        match self.slope(&self.unit(entry), tolerance, epsilon) {
            Some(slope) => Err(self.wrong(gradient, entry, slope, 1, self.x.len())),
            None => Ok(()),
        }
    }
}
