//! A sum of four bumps through points that the reader drags, with the band of its uncertainty.
//!
//! The loss is the negative logarithm of a posterior: errors of points with heavy tails, parameters that are normal.
//! A step solves for the change by Gauss and Newton, damped as by Levenberg and Marquardt. The band is that of
//! Laplace's approximation with the same matrix: `variance of curve = J matrix^-1 J^T`.

use polygrad::{BaseTensor, Concrete, Function, RunError, Tensor, Tree, jacobian, map, tensor, value_and_grad};

/// The most points; places that are free have weight 0, so one recorded program serves any number of points.
pub const POINTS: usize = 24;
/// At how many places the curve is drawn, from the left end to the right one.
pub const PLACES: usize = 121;
/// The ends of the axis.
pub const ENDS: [f64; 2] = [-3.0, 3.0];
const NUMBERS: usize = 13;
/// The standard deviation of points around the curve.
const NOISE: f64 = 0.1;

type Vector<T> = Tensor<T, 1>;
type Scalar<T> = Tensor<T, 0>;

/// Places, heights and weights of points, and the distance in units of the noise from which a point counts less.
type Data<T> = (Vector<T>, Vector<T>, Vector<T>, Scalar<T>);

// Shown on the page:
/// Four bumps and an offset.
fn curve<T: BaseTensor>(p: &Vector<T>, x: &Vector<T>) -> Vector<T> {
    let (height, center) = (p.slice(0, 0..4), p.slice(0, 4..8));
    let (width, offset) = (p.slice(0, 8..12).exp(), p.at([12]));
    map(x, |x| {
        let z = (x - &center) / &width;
        height.dot(&(-0.5 * z.square()).exp()) + &offset
    })
}

/// Points with heavy tails: one that is far off pulls little.
fn loss<T: BaseTensor>(p: &Vector<T>, (x, y, weight, far): &Data<T>) -> Scalar<T> {
    let r = (curve(p, x) - y) / NOISE;
    let misfit = (r / far).square().log1p().dot(weight) * far.square();
    0.5 * (misfit + prior(p).square().sum())
}
// Until here.

/// The standard deviations of the parameters before any point is seen.
const SPREAD: [f64; NUMBERS] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 1.0];
const USUAL: [f64; NUMBERS] = [0.0, 0.0, 0.0, 0.0, -2.4, -0.8, 0.8, 2.4, -0.5, -0.5, -0.5, -0.5, 0.0];

/// How far the parameters are from usual ones, in standard deviations.
fn prior<T: BaseTensor>(p: &Vector<T>) -> Vector<T> {
    (p - Tensor::constant(USUAL)) / Tensor::constant(SPREAD)
}

/// The matrix of Gauss and Newton: second derivatives of the loss without those of the curve.
fn matrix<T: BaseTensor>(p: &Vector<T>, (x, y, weight, far): &Data<T>) -> Tensor<T, 2> {
    let slopes = jacobian(|p| curve(p, &x.lift()), p) / NOISE;
    let r = (curve(p, x) - y) / NOISE;
    let weights = weight / ((r / far).square() + 1.0);
    let weighted = map((&slopes, &weights), |(slope, weight)| slope * weight);
    slopes.t().matmul(&weighted) + Tensor::constant(SPREAD.map(|s| s.powi(-2))).diag()
}

/// The places at which the curve is drawn.
fn places<T: BaseTensor>() -> Vector<T> {
    let [from, to] = ENDS;
    Tensor::constant((0..PLACES).map(|k| from + (to - from) * k as f64 / (PLACES - 1) as f64).collect::<Vec<f64>>())
}

/// Parameters after a step with this damping, the loss before, and after.
type Step = Function<
    Vector<Concrete>,
    (Data<Concrete>, Scalar<Concrete>),
    (Vector<Concrete>, Scalar<Concrete>, Scalar<Concrete>),
>;

/// The curve at the places, and its standard deviation.
type Band = Function<Vector<Concrete>, Data<Concrete>, (Vector<Concrete>, Vector<Concrete>)>;

/// A fit under way.
pub struct Fit {
    points: [Vec<f64>; 3],
    far: f64,
    p: Vector<Concrete>,
    damping: f64,
    step: Step,
    band: Band,
}

/// What is drawn of a fit.
pub struct Drawn {
    /// The loss.
    pub loss: f64,
    /// The curve at [`PLACES`] places.
    pub curve: Vec<f64>,
    /// The standard deviation of the curve there.
    pub deviation: Vec<f64>,
}

fn data_of(points: &[Vec<f64>; 3], far: f64) -> Data<Concrete> {
    let [x, y, weight] = points.each_ref().map(|side| Tensor::new([POINTS], side.clone()));
    (x, y, weight, tensor(far))
}

impl Fit {
    /// Records the programs. There are no points yet.
    pub fn new() -> Fit {
        let points = [vec![0.0; POINTS], vec![0.0; POINTS], vec![0.0; POINTS]];
        let p = tensor(USUAL);
        let data = data_of(&points, 1.0);
        let step = Function::stage_with(
            |p, (data, damping)| {
                let (before, slope) = value_and_grad(|p| loss(p, &data.lift()), p);
                let damped = matrix(p, data) + Tensor::eye(NUMBERS).times(damping);
                let next = p - damped.solve(&slope);
                let after = loss(&next, data);
                (next, before, after)
            },
            &p,
            &(data.clone(), tensor(1.0)),
        );
        let band = Function::stage_with(
            |p, data| {
                let slopes = jacobian(|p| curve(p, &places()), p);
                let spread = matrix(p, data).cholesky().solve_lower(&slopes.t());
                (curve(p, &places()), spread.square().sum_axis(0).sqrt())
            },
            &p,
            &data,
        );
        Fit { points, far: 1.0, p, damping: 1.0, step, band }
    }

    /// Moves the points. A point further off than `far` standard deviations counts less.
    pub fn set(&mut self, points: &[[f64; 2]], far: f64) {
        self.points = [vec![0.0; POINTS], vec![0.0; POINTS], vec![0.0; POINTS]];
        for (k, point) in points.iter().take(POINTS).enumerate() {
            (self.points[0][k], self.points[1][k], self.points[2][k]) = (point[0], point[1], 1.0);
        }
        self.far = far;
    }

    /// Starts anew from the prior.
    pub fn forget(&mut self) {
        (self.p, self.damping) = (tensor(USUAL), 1.0);
    }

    /// Takes some steps, and returns what is drawn.
    ///
    /// # Errors
    /// None: the shapes are those of the recorded programs.
    pub fn advance(&mut self, steps: usize) -> Result<Drawn, RunError> {
        let data = data_of(&self.points, self.far);
        let mut least = f64::INFINITY;
        for _ in 0..steps {
            let (next, before, after) = self.step.run_with(&self.p, &(data.clone(), tensor(self.damping)))?;
            // A step that does not descend is not taken, and the next one is shorter.
            let down = after.item() <= before.item();
            least = if down { after.item() } else { before.item() };
            self.p = if down { next } else { self.p.clone() };
            self.damping = (self.damping * if down { 0.3 } else { 8.0 }).clamp(1e-3, 1e6);
        }
        let (curve, deviation) = self.band.run_with(&self.p, &data)?;
        Ok(Drawn { loss: least, curve: curve.to_vec(), deviation: deviation.to_vec() })
    }

    /// The program of the gradient of the loss, as text.
    pub fn gradient(&self) -> String {
        Function::grad_with(loss, &self.p, &data_of(&self.points, self.far)).optimized().to_string()
    }
}

impl Default for Fit {
    fn default() -> Fit {
        Fit::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave() -> Vec<[f64; 2]> {
        (0..12).map(|k| -2.75 + 0.5 * k as f64).map(|x| [x, 0.8 * (1.5 * x).sin()]).collect()
    }

    #[test]
    fn the_fit_converges() {
        let mut fit = Fit::new();
        fit.set(&wave(), 3.0);
        let first = fit.advance(60).expect("a fit").loss;
        let last = fit.advance(20).expect("a fit");
        assert!(last.loss <= first && first - last.loss < 1e-6, "{first} {}", last.loss);
        let slope = polygrad::grad_with(loss, &fit.p, &data_of(&fit.points, fit.far));
        assert!(slope.norm().item() < 1e-3, "{slope}");
        for k in 20..100 {
            let x = ENDS[0] + 6.0 * k as f64 / (PLACES - 1) as f64;
            let off = (last.curve[k] - 0.8 * (1.5 * x).sin()).abs();
            assert!(off < 0.25, "at {x}: {off}, with deviation {}", last.deviation[k]);
        }
    }

    #[test]
    fn a_point_far_off_pulls_little_and_a_gap_has_a_wide_band() {
        let mut fit = Fit::new();
        let mut points = wave();
        fit.set(&points, 2.0);
        let before = fit.advance(60).expect("a fit").curve;
        points[5][1] += 5.0;
        fit.set(&points, 2.0);
        let after = fit.advance(60).expect("a fit");
        let moved = before.iter().zip(&after.curve).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(moved < 0.4, "{moved}");
        points.retain(|[x, _]| x.abs() > 1.0);
        fit.set(&points, 2.0);
        let gap = fit.advance(60).expect("a fit");
        let middle = PLACES / 2;
        assert!(gap.deviation[middle] > 2.0 * after.deviation[middle]);
    }

    #[test]
    fn no_points_leave_the_prior() {
        let drawn = Fit::new().advance(3).expect("a fit");
        assert!(drawn.loss == 0.0 && drawn.deviation.iter().all(|d| d.is_finite() && *d > 0.5));
    }
}
