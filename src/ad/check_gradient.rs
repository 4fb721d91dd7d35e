//! `check_gradient`: are the derivatives of a function those of its values?
//!
//! Law: reverse mode, forward mode and central finite differences are computed from one run of the function each, at
//! one type, dual numbers over dual numbers, so that a closure can be checked. Steps are in proportion to the entries,
//! are halved until the extrapolated slopes agree, and never make a disagreement acceptable: the tolerance is relative
//! to the slope, and the only allowance beside it is for the rounding of the values.

use std::fmt;

use crate::array::{Array, Rng};
use crate::base::{BaseTensor, Lift, Next};
use crate::dtype::{DType, Float};
use crate::interpreters::adval::Sweep;
use crate::interpreters::dual::Forward;
use crate::interpreters::{ADVal, Concrete, Dual};
use crate::shape::Show;
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The level at which a checked function runs: reverse mode over forward mode.
pub type Checked = ADVal<Dual<Concrete>>;

/// Why the derivatives of a function are not those of its values. Prints as a sentence, also in `unwrap`.
#[derive(Clone, PartialEq)]
pub enum GradientError {
    /// The gradient is not the slope of the values.
    Slope {
        /// The worst entry: the path of its leaf, and its index there.
        entry: String,
        /// The entry of the gradient.
        gradient: f64,
        /// The slope that finite differences give.
        slope: f64,
        /// How far the finite differences are from each other: large at a kink or a pole.
        spread: f64,
        /// The number of entries that are wrong.
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
        /// Which: `the value`, `the gradient at x[2]`, `each value next to x[2]`.
        what: String,
        /// The number.
        number: f64,
    },
}

impl fmt::Display for GradientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GradientError::Slope { entry, gradient, slope, spread, wrong, compared } => write!(
                f,
                "check_gradient: the gradient must be the slope of the values, but at {entry} it is {gradient:?} and finite \
                 differences give {slope:?}, exact to about {spread:.0e} ({wrong} of {compared} compared entries differ); mend the \
                 derivative rule, or move away from a kink"
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

/// As [`Display`](fmt::Display), so that `unwrap` and tests that return the error print the sentence.
impl fmt::Debug for GradientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GradientError {}

/// Compares the derivatives of a scalar function with each other and with finite differences.
///
/// Reverse mode is compared with forward mode along random directions, and with central finite differences entry by
/// entry; of a function with more than 256 entries, at 256 of them and along random directions. The error names the
/// worst entry.
///
/// The tolerance is `1e-6` relative to the slope, and `1e-2` if an argument or the result is `f32`; [`GradientCheck`]
/// has options. The function must be smooth nearby: at a kink (`relu`, `abs` or `max` of equal numbers at 0) the
/// derivative is a convention, and finite differences give the mean of both slopes. The derivatives of a function that
/// rounds, compares or stops gradients differ from its slopes, too. Slopes that are small beside the rounding of the
/// values are not seen: about `1e-12` of the value for `f64`.
///
/// ```
/// use polygrad::{check_gradient, tensor};
/// let x = (tensor([1.0, 2.0]), tensor([[0.5, -1.0]]));
/// check_gradient(|(a, m)| (m.matvec(a).sin() * a.prod()).sum(), &x)?;
/// let error = check_gradient(|(a, _)| (a * a.stop_gradient()).sum(), &x).unwrap_err();
/// assert!(error.to_string().contains("at x.0[1] it is 2.0 and finite differences give 4.0"));
/// # Ok::<(), polygrad::GradientError>(())
/// ```
///
/// In tests, [`assert_gradient`] panics at the line of the call.
///
/// # Errors
/// When derivatives differ, or are not finite.
///
/// # Panics
/// When the function has a rule for cotangents alone, by `custom_vjp`, so that there is no forward mode; then use
/// [`GradientCheck`] with `forward: false`.
#[track_caller]
pub fn check_gradient<P, E>(f: impl Fn(&P::With<Checked>) -> Tensor<Checked, 0, E>, x: &P) -> Result<(), GradientError>
where
    P: Tree<Concrete>,
    E: Float,
{
    GradientCheck::default().run(|x, _: &()| f(x), x, &())
}

/// [`check_gradient`] of a function that also takes data.
///
/// ```
/// use polygrad::{check_gradient_with, tensor};
/// check_gradient_with(|w, x| (w * x).tanh().sum(), &tensor([0.3, -2.0]), &tensor([1.0, 2.0]))?;
/// # Ok::<(), polygrad::GradientError>(())
/// ```
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

/// [`check_gradient`] for tests.
///
/// ```
/// use polygrad::{assert_gradient, tensor};
/// assert_gradient(|x| x.tanh().square().sum(), &tensor([0.3, -2.0]));
/// ```
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

/// [`assert_gradient`] of a function that also takes data.
///
/// ```
/// use polygrad::{assert_gradient_with, tensor};
/// assert_gradient_with(|w, x| (w * x).tanh().sum(), &tensor([0.3, -2.0]), &tensor([1.0, 2.0]));
/// ```
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

/// How [`check_gradient`] compares.
///
/// ```
/// use polygrad::{GradientCheck, tensor};
/// let check = GradientCheck { tolerance: Some(1e-9), ..GradientCheck::default() };
/// check.run(|x, _: &()| x.exp().sum(), &tensor([0.3, -2.0]), &()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GradientCheck {
    /// The largest difference, relative to the slope; `None` for `1e-6`, and `1e-2` with `f32`.
    pub tolerance: Option<f64>,
    /// The number of random directions.
    pub directions: usize,
    /// The number of entries that are compared, at random if there are more.
    pub entries: usize,
    /// Whether forward mode is compared.
    pub forward: bool,
    /// The seed of directions and entries.
    pub seed: u64,
}

impl Default for GradientCheck {
    fn default() -> Self {
        GradientCheck { tolerance: None, directions: 3, entries: 256, forward: true, seed: 1 }
    }
}

impl GradientCheck {
    /// The check.
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

/// A known array at the level of the check.
fn known(a: Array) -> Checked {
    Lift::<Dual<Concrete>, Next>::lift(<Dual<Concrete> as BaseTensor>::constant(a))
}

/// A function at a point: its float entries, by number.
struct Point<'a> {
    leaves: Vec<Array>,
    paths: Vec<String>,
    /// The number of the first entry of each leaf, and at last the number of all entries.
    starts: Vec<usize>,
    x: Vec<f64>,
    /// The size of a step of each entry: the size of the entry, or the root mean square of its leaf if that is larger.
    scales: Vec<f64>,
    run: &'a dyn Fn(Vec<Checked>) -> Checked,
}

/// The elements of a float array.
fn numbers(a: &Array) -> Vec<f64> {
    let a = if a.dtype() == DType::F64 { a.clone() } else { a.cast::<f64>() };
    a.iter::<f64>().map(Iterator::collect).unwrap_or_default()
}

/// A slope by finite differences.
#[derive(Clone, Copy)]
struct Slope {
    value: f64,
    spread: f64,
    /// What the rounding of the values can do to the slope.
    noise: f64,
}

/// The first step along a direction; each next step is half as large.
const FIRST_STEP: f64 = 0.02;
/// The largest number of extrapolations of a difference quotient: small, so that steps across a kink soon have no
/// effect.
const ORDER: usize = 3;
/// The largest number of steps.
const STEPS: usize = 16;

/// The slope at 0 of a function, from central differences with ever smaller steps, extrapolated (Ridders' method): the
/// extrapolation whose neighbors are nearest. `at(h)` gives the difference quotient and its noise, or nothing where the
/// function is not finite.
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

/// The difference between two derivatives, as a multiple of the allowed difference: above 1 it is wrong.
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
        let (shape, mut rest) = (self.leaves[leaf].shape(), entry - self.starts[leaf]);
        let mut index: Vec<usize> = shape.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
        index.reverse();
        if index.is_empty() { self.paths[leaf].clone() } else { format!("{}{}", self.paths[leaf], Show(&index)) }
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

    /// The slope of the values along a direction; `epsilon` is the precision of the values.
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
                // The width of the step after the entry is rounded to its element type.
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

    /// A direction with one entry.
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

    /// An entry with a large part in a difference along a direction, by bisection: of two halves of the direction, the
    /// one with the larger difference is kept.
    fn halved(&self, direction: &[f64], off: &dyn Fn(&[f64]) -> f64) -> usize {
        let (mut low, mut high) = (0, direction.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            let part = |low: usize, high: usize| {
                let mut part = vec![0.0; direction.len()];
                part[low..high].copy_from_slice(&direction[low..high]);
                off(&part)
            };
            // A difference that is no number counts as the largest.
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
