//! Bounds of solutions of ordinary differential equations: Taylor steps with a remainder.
//!
//! Law: the bounds at a time contain the solution in exact arithmetic for every start in its box. A step first proves
//! that solutions exist and stay in a box `B` (`x + [0, h] f(B)` lies in `B`: the theorem of Picard and Lindelöf), then
//! adds the Taylor polynomial and the term of the next order over `B`.
//!
//! Against wrapping, the set of states is `c + A r`, a parallelepiped: the linear map of the step, whose derivatives in
//! the start are Taylor coefficients of the variational equation over the box, is multiplied to `A`, and `A` is made
//! orthogonal, its longest sides first (R. J. Lohner, "Enclosing the solutions of ordinary initial and boundary value
//! problems", 1987; N. S. Nedialkov, K. R. Jackson, G. F. Corliss, "Validated solutions of initial value problems for
//! ordinary differential equations", 1999).

use thiserror::Error;

use super::super::enclose::box_of;
use super::{Number, Region, Square, Vector, VectorProgram, ends, exact, like, middle_of, narrowed, number, points};
use crate::array::Array;
use crate::dtype::DType;
use crate::errors::debug_by_display;
use crate::interpreters::Enclosure;
use crate::program::{Term, interpret};
use crate::tensor::Tensor;
use crate::tree::Tree;

/// Why bounds of a solution were not found.
///
/// ```
/// use polygrad::{Tensor, VerifiedOdeError, tensor, verified_odeint};
/// // The solution `1 / (1 - t)` has a pole at 1.
/// let square = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, _: &()| x.square();
/// let error = verified_odeint(square, &tensor(1.0), &tensor(1.0), &[0.0, 2.0], &()).unwrap_err();
/// let time = match error {
///     VerifiedOdeError::NoStep { time, .. } | VerifiedOdeError::TooManySteps { time, .. } => time,
///     _ => f64::NAN,
/// };
/// assert!(0.9 < time && time <= 1.0);
/// ```
#[derive(Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum VerifiedOdeError {
    /// No step proves that solutions exist.
    #[error(
        "verified_odeint: a step must prove that solutions exist and are smooth, but from time {time} on even a step of {step:e} does not; \
         end before a pole, a kink or a jump, or take a smaller box of starts"
    )]
    NoStep {
        /// The time from which bounds are missing.
        time: f64,
        /// The last step that was tried.
        step: f64,
    },
    /// A time is NaN or infinite.
    #[error("verified_odeint: times must be finite, but the one at {index} is {time:?}; end at a finite time")]
    NotFinite {
        /// The position of the time.
        index: usize,
        /// The time.
        time: f64,
    },
    /// There are too many steps.
    #[error(
        "verified_odeint: bounds must reach the next time within the allowed steps, but {steps} steps end at time {time}; allow more with \
         VerifiedOde::steps, or give nearer times"
    )]
    TooManySteps {
        /// The number of steps.
        steps: usize,
        /// The time that they reach.
        time: f64,
    },
}

debug_by_display!(VerifiedOdeError);

/// Settings of [`verified_odeint`].
///
/// Example: [`VerifiedOde::solve`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VerifiedOde {
    /// The order of the Taylor polynomial of a step, at least 1.
    pub order: usize,
    /// The width that a step may add to a state, relative to its largest number: the lengths of steps follow from it.
    pub tolerance: f64,
    /// The largest number of steps between two times.
    pub steps: usize,
}

/// Order 12, a tolerance of `1e-15`, and 5000 steps.
impl Default for VerifiedOde {
    fn default() -> Self {
        VerifiedOde { order: 12, tolerance: 1e-15, steps: 5000 }
    }
}

impl VerifiedOde {
    /// The same settings with polynomials of this order, of 1 at least.
    ///
    /// Example: [`VerifiedOde::solve`].
    pub fn order(self, order: usize) -> VerifiedOde {
        VerifiedOde { order: order.max(1), ..self }
    }

    /// The same settings with this tolerance.
    ///
    /// Example: [`VerifiedOde::solve`].
    pub fn tolerance(self, tolerance: f64) -> VerifiedOde {
        VerifiedOde { tolerance, ..self }
    }

    /// The same settings with at most this number of steps between two times.
    ///
    /// ```
    /// use polygrad::{Tensor, VerifiedOde, VerifiedOdeError, tensor};
    /// let grows = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| x * rate;
    /// let one = tensor(1.0);
    /// let error = VerifiedOde::default().steps(1).solve(grows, &one, &one, &[0.0, 10.0], &one).unwrap_err();
    /// assert!(matches!(error, VerifiedOdeError::TooManySteps { steps: 1, .. }));
    /// ```
    pub fn steps(self, steps: usize) -> VerifiedOde {
        VerifiedOde { steps, ..self }
    }

    /// [`verified_odeint`] with these settings.
    ///
    /// # Errors
    /// Where [`verified_odeint`] has them.
    ///
    /// # Panics
    /// Where [`verified_odeint`] does.
    ///
    /// ```
    /// use polygrad::{Tensor, VerifiedOde, tensor};
    /// let grows = |x: &Tensor<_, 0>, _: &Tensor<_, 0>, rate: &Tensor<_, 0>| x * rate;
    /// let (one, times) = (tensor(1.0), [0.0, 1.0]);
    /// for settings in [VerifiedOde::default().order(20), VerifiedOde::default().order(4).tolerance(1e-6).steps(100)] {
    ///     let states = settings.solve(grows, &one, &one, &times, &one)?;
    ///     let (lower, upper) = &states[1];
    ///     assert!(lower.item() <= 1f64.exp() && 1f64.exp() <= upper.item() && (upper - lower).item() < 1e-3);
    /// }
    /// # Ok::<(), polygrad::VerifiedOdeError>(())
    /// ```
    #[allow(clippy::type_complexity, reason = "the type says what is returned: two trees like the start at each time")]
    #[track_caller]
    pub fn solve<X, P>(
        &self,
        f: impl Fn(&X::With<Term>, &Tensor<Term, 0>, &P::With<Term>) -> X::With<Term>,
        lower: &X,
        upper: &X,
        times: &[f64],
        parameters: &P,
    ) -> Result<Vec<(X::With<Array>, X::With<Array>)>, VerifiedOdeError>
    where
        X: Tree<Array>,
        P: Tree<Array>,
    {
        let start = Region::raveled(&box_of("verified_odeint", lower, upper));
        let Some(&first) = times.first() else {
            panic!("verified_odeint: needs the time of the start, but the list of times is empty; give it first");
        };
        if let Some((index, &time)) = times.iter().enumerate().find(|(_, time)| !time.is_finite()) {
            return Err(VerifiedOdeError::NotFinite { index, time });
        }
        let equation = VerifiedEquation::recorded(&f, lower, parameters, *self);
        let mut state = OdeState::of(&start, first);
        let mut all = vec![ends(lower, &start)];
        for &time in &times[1..] {
            equation.reach(&mut state, time)?;
            all.push(ends(lower, &Region::of(&state.hull())));
        }
        Ok(all)
    }
}

/// Bounds of the solution of `x' = f(x, t, p)` at each of these times, for all starts from `lower` to `upper` at the
/// first time.
///
/// Times may decrease, and be equal. The parameters are exact; a parameter with bounds is a further unknown, whose rate
/// of change is zero. `f` is that of exact arithmetic, and smooth on the bounds. For a start at a point, widths are near
/// rounding while the equation does not spread errors. Method: Taylor steps with a remainder, on parallelepipeds.
///
/// ```
/// use polygrad::{Tensor, tensor, verified_odeint};
/// // An oscillator, with its place and its velocity.
/// let turn = |(x, v): &(Tensor<_, 0>, Tensor<_, 0>), _: &Tensor<_, 0>, k: &Tensor<_, 0>| (v.clone(), -(x * k));
/// let start = (tensor(1.0), tensor(0.0));
/// let states = verified_odeint(turn, &start, &start, &[0.0, 1.0], &tensor(4.0))?;
/// let (lower, upper) = (&states[1].0.0, &states[1].1.0);
/// assert!(lower.item() <= 2f64.cos() && 2f64.cos() <= upper.item() && (upper - lower).item() < 1e-13);
/// # Ok::<(), polygrad::VerifiedOdeError>(())
/// ```
///
/// # Errors
/// When no step proves that solutions exist, as near a pole, there are too many steps, or a time is NaN or infinite.
///
/// # Panics
/// When the list of times is empty, the ends are not a box, `f` looks at values, or returns shapes that are not those
/// of the start.
#[allow(clippy::type_complexity, reason = "the type says what is returned: two trees like the start at each time")]
#[track_caller]
pub fn verified_odeint<X, P>(
    f: impl Fn(&X::With<Term>, &Tensor<Term, 0>, &P::With<Term>) -> X::With<Term>,
    lower: &X,
    upper: &X,
    times: &[f64],
    parameters: &P,
) -> Result<Vec<(X::With<Array>, X::With<Array>)>, VerifiedOdeError>
where
    X: Tree<Array>,
    P: Tree<Array>,
{
    VerifiedOde::default().solve(f, lower, upper, times, parameters)
}

/// The states at a time: `c + A r`, and the box around them.
struct OdeState {
    time: f64,
    center: Vec<f64>,
    /// `A`, a matrix of points.
    sides: Square,
    lengths: Vector,
    hull: Region,
}

impl OdeState {
    fn of(start: &Region, time: f64) -> OdeState {
        let center = start.middle();
        let lengths = start.vector() - points(&center);
        OdeState { time, center, sides: Square::eye(start.len()), lengths, hull: start.clone() }
    }

    fn hull(&self) -> Vector {
        self.hull.vector()
    }
}

/// A tree at terms.
type At<X> = <X as Tree<Array>>::With<Term>;
/// From state, time and parameters to the rate of change.
type Rate<'a, X, P> = &'a dyn Fn(&At<X>, &Tensor<Term, 0>, &At<P>) -> At<X>;

/// The rate of change as a program of state and time, and with the rate of the derivatives of the state in the start.
struct VerifiedEquation {
    rate: VectorProgram,
    /// From state, time and the matrix of derivatives to the rates of state and matrix.
    with_slopes: VectorProgram,
    settings: VerifiedOde,
}

/// A step: its bounds of the states, and what it proves.
struct OdeStep {
    to: f64,
    length: Number,
    /// Solutions stay here.
    during: Vector,
}

/// Steps are not shortened below this share of the first attempt.
const SHORTEST: f64 = 1e-12;

impl VerifiedEquation {
    #[track_caller]
    fn recorded<X, P>(f: Rate<'_, X, P>, x: &X, parameters: &P, settings: VerifiedOde) -> VerifiedEquation
    where
        X: Tree<Array>,
        P: Tree<Array>,
    {
        let leaves = x.leaves();
        let (vector, parts) = VectorProgram::variables(&leaves);
        // Time is an input as the state is: its Taylor series is `t + h`.
        let time = Term::variable(&[], DType::F64);
        let results = f(&x.with_leaves(parts), &Tensor::from_raw(time.clone()), &parameters.to_constant()).leaves();
        like("verified_odeint", &leaves, &results);
        let rate = VectorProgram::traced("verified_odeint", &[vector, time], &results);
        let slope = rate.jacobian();
        let n = rate.program.inputs()[0].shape[0];
        let [x, t, v] = [vec![n], vec![], vec![n, n]].map(|shape| Term::variable(&shape, DType::F64));
        let f = interpret(&rate.program, vec![x.clone(), t.clone()]).swap_remove(0);
        let slope = Tensor::<Term, 2>::from_raw(interpret(&slope.program, vec![x.clone(), t.clone()]).swap_remove(0));
        let moved = slope.matmul(&Tensor::from_raw(v.clone())).into_raw();
        VerifiedEquation { rate, with_slopes: VectorProgram::closed(&[x, t, v], &[f, moved]), settings }
    }

    /// The Taylor coefficients of the solution, up to an order, and whether the equation is smooth where they are.
    fn series(&self, x: &Vector, t: &Number, order: usize) -> (Vec<Vector>, bool) {
        let (mut series, mut is_smooth) = (vec![x.raw().clone()], true);
        for k in 0..order {
            let curves = [series.clone(), vec![t.raw().clone(), number(1.0).into_raw()]];
            let (rates, smooth) = self.rate.along(k, &curves);
            is_smooth &= smooth;
            let next: Vector = Tensor::<Enclosure, 1>::from_raw(rates[0][k].clone()) / (k + 1) as f64;
            series.push(next.into_raw());
        }
        (series.into_iter().map(Tensor::from_raw).collect(), is_smooth)
    }

    /// The derivatives of the Taylor polynomial after a step in the start.
    fn slopes(&self, x: &Vector, t: &Number, h: &Number) -> (Square, bool) {
        let n = x.len();
        let (mut state, mut slopes) = (vec![x.raw().clone()], vec![Square::eye(n).into_raw()]);
        let (mut sum, mut power, mut is_smooth) = (Square::eye(n), number(1.0), true);
        for k in 0..self.settings.order {
            let curves = [state.clone(), vec![t.raw().clone(), number(1.0).into_raw()], slopes.clone()];
            let (rates, smooth) = self.with_slopes.along(k, &curves);
            is_smooth &= smooth;
            let next = |k: usize, of: usize| rates[of][k].clone();
            let by = (k + 1) as f64;
            state.push((Vector::from_raw(next(k, 0)) / by).into_raw());
            let slope = Square::from_raw(next(k, 1)) / by;
            power *= h;
            sum += slope.times(&power);
            slopes.push(slope.into_raw());
        }
        (sum, is_smooth)
    }

    /// Moves the state to a time.
    fn reach(&self, state: &mut OdeState, time: f64) -> Result<(), VerifiedOdeError> {
        let mut steps = 0;
        while state.time != time {
            if steps == self.settings.steps {
                return Err(VerifiedOdeError::TooManySteps { steps, time: state.time });
            }
            let step = self.step(state, time)?;
            *state = self
                .advanced(state, &step)
                .ok_or(VerifiedOdeError::NoStep { time: state.time, step: step.to - state.time })?;
            steps += 1;
        }
        Ok(())
    }

    /// A step for which the bounds during it are proven, and the remainder is as small as the tolerance says, or the
    /// widths of the state.
    fn step(&self, state: &OdeState, time: f64) -> Result<OdeStep, VerifiedOdeError> {
        let (x, order) = (state.hull(), self.settings.order);
        let (series, _) = self.series(&points(&state.center), &number(state.time), order);
        let size = |x: &Vector| Region::of(x).pairs().map(|(lo, hi)| lo.abs().max(hi.abs())).fold(0.0, f64::max);
        let allowed = self.settings.tolerance * size(&x);
        let (total, last) = (time - state.time, size(&series[order]));
        let guess = if last > 0.0 && allowed > 0.0 { (allowed / last).powf(1.0 / order as f64) } else { total.abs() };
        let mut h = if guess.is_finite() { guess.min(total.abs()).copysign(total) } else { total };
        let first = h.abs();
        loop {
            // A rest that is shorter than a step is split in two.
            let to = match state.time + h {
                _ if h.abs() >= 0.999 * total.abs() => time,
                to => to,
            };
            let length = number(to) - number(state.time);
            if to == state.time || h.abs() < SHORTEST * first {
                return Err(VerifiedOdeError::NoStep { time: state.time, step: h });
            }
            if let Some(during) = self.during(&x, state.time, to, &length) {
                let step = OdeStep { to, length, during };
                let rest = Region::of(&self.remainder(state, &step));
                let wide = rest.widths().into_iter().fold(0.0, f64::max);
                let loose = Region::of(&x).widths().into_iter().fold(0.0, f64::max);
                if rest.is_bounded() && (wide <= (2.0 * allowed).max(1e-3 * loose) || h.abs() < 1e-3 * first) {
                    return Ok(step);
                }
            }
            h *= 0.7;
        }
    }

    /// Bounds of the solutions from the states `x` during a step; `None` if they are not proven.
    fn during(&self, x: &Vector, from: f64, to: f64, length: &Number) -> Option<Vector> {
        let times = Region { lower: vec![from.min(to)], upper: vec![from.max(to)] }.vector().reshape([]);
        let ends = Region::of(&length.reshape([1]));
        let so_far =
            Region { lower: vec![ends.lower[0].min(0.0)], upper: vec![ends.upper[0].max(0.0)] }.vector().reshape([]);
        let image = |during: &Vector| {
            let (rate, is_continuous) = self.rate.over(vec![during.raw().clone(), times.raw().clone()]);
            (Region::of(&(x + Vector::from_raw(rate).times(&so_far))), is_continuous)
        };
        let mut region = image(x).0.hull(&Region::of(x)).inflated(0.1);
        for _ in 0..6 {
            if !region.is_bounded() {
                return None;
            }
            let (next, is_continuous) = image(&region.vector());
            if !is_continuous || !next.is_bounded() {
                return None;
            }
            if next.is_within(&region) {
                return Some(next.vector());
            }
            region = region.hull(&next).inflated(0.1);
        }
        None
    }

    /// The term of the next order during a step; no bounds where the equation is not smooth.
    fn remainder(&self, state: &OdeState, step: &OdeStep) -> Vector {
        let (from, to) = (state.time.min(step.to), state.time.max(step.to));
        let times = Region { lower: vec![from], upper: vec![to] }.vector().reshape([]);
        let order = self.settings.order + 1;
        let (series, is_smooth) = self.series(&step.during, &times, order);
        if !is_smooth {
            return points(&vec![f64::NAN; state.center.len()]);
        }
        series[order].times(&step.length.powi(order as i32))
    }

    /// The states after a step; `None` if they have no bounds, or the equation is not smooth there.
    fn advanced(&self, state: &OdeState, step: &OdeStep) -> Option<OdeState> {
        let (h, t) = (&step.length, number(state.time));
        let (series, _) = self.series(&points(&state.center), &t, self.settings.order);
        let polynomial = series
            .iter()
            .rev()
            .fold(None, |sum: Option<Vector>, c| Some(sum.map_or_else(|| c.clone(), |sum| sum.times(h) + c)));
        let middle = polynomial.unwrap_or_else(|| points(&state.center)) + self.remainder(state, step);
        let (slopes, is_smooth) = self.slopes(&state.hull(), &t, h);
        let center = Region::of(&middle).middle();
        let rest = &middle - points(&center);
        let moved = slopes.matmul(&state.sides);
        let sides = exact(&orthogonal(&middle_of(&moved), &Region::of(&state.lengths).widths()));
        let back: Square = sides.inverse();
        let lengths = back.matmul(&moved).matvec(&state.lengths) + back.matvec(&rest);
        // Three bounds of the same states: the parallelepiped, its image without new sides, and what the step proves.
        let by_sides = points(&center) + sides.matvec(&lengths);
        let by_image = &middle + moved.matvec(&state.lengths);
        let hull = narrowed(&narrowed(&by_image, &by_sides), &step.during);
        let hull = Region::of(&hull);
        (is_smooth && hull.is_bounded() && Region::of(&lengths).is_bounded()).then(|| OdeState {
            time: step.to,
            center,
            sides,
            lengths,
            hull,
        })
    }
}

/// An orthogonal matrix whose first columns span the longest sides.
fn orthogonal(sides: &Tensor<Array, 2>, lengths: &[f64]) -> Tensor<Array, 2> {
    let n = lengths.len();
    let long = |k: usize| lengths[k] * sides.slice(1, k..k + 1).square().sum().sqrt().item();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| long(*j).total_cmp(&long(*i)));
    let sorted = Tensor::<Array, 2>::from_fn([n, n], |[i, j]| sides.at([i, order[j]]).item());
    let (q, _) = sorted.qr();
    let finite = q.raw().to_vec::<f64>().is_ok_and(|q| q.iter().all(|x| x.is_finite()));
    if finite { q } else { Tensor::eye(n) }
}
