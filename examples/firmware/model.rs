//! The Kalman filter: motion, sensors and both steps of the filter, generic in the interpreter.
//!
//! An inertial unit measures rotation and acceleration; the filter integrates them (`predict`), and corrects the result
//! by measurements of the position and of the magnetic field (`update_position`, `update_field`). The state has 16
//! numbers, of which 4 are a quaternion of length 1. Its error has 15: the quaternion is multiplied by a small rotation.
//! No derivative is written here: the matrices `F` and `H` of the filter are Jacobians in that error.

use polygrad::program::Term;
use polygrad::{
    BaseTensor, Concrete, Function, FunctionOptions, Tensor, Tree, concat, jacobian_with, stack,
    value_and_jacobian_with,
};

/// The float type of the filter.
#[cfg(not(feature = "double"))]
pub type Real = f32;
#[cfg(feature = "double")]
pub type Real = f64;

/// The sizes of the state and of its error.
pub const STATE: usize = 16;
pub const ERROR: usize = 15;

/// The acceleration of a body that falls, in m/s².
pub const GRAVITY: [Real; 3] = [0.0, 0.0, -9.81];
/// The direction of the magnetic field: north and down.
pub const FIELD: [Real; 3] = [0.42, 0.0, -0.907];

/// Standard deviations. Of the inertial unit: of a rate in rad/s and of an acceleration in m/s² in one sample, and of
/// the change of their biases in a second.
pub const GYRO_NOISE: Real = 0.01;
pub const ACCELEROMETER_NOISE: Real = 0.1;
pub const GYRO_WALK: Real = 1e-4;
pub const ACCELEROMETER_WALK: Real = 1e-3;
/// Of a measured position in m, and of a component of the measured direction.
pub const POSITION_NOISE: Real = 0.5;
pub const FIELD_NOISE: Real = 0.03;

type Vector<T> = Tensor<T, 1, Real>;
type Matrix<T> = Tensor<T, 2, Real>;

/// What the filter knows: position, velocity, attitude (body to world), biases of gyroscope and accelerometer; and the
/// covariance of its error.
#[derive(Tree, Clone, Debug)]
pub struct Estimate<T: BaseTensor> {
    pub state: Vector<T>,
    pub covariance: Matrix<T>,
}

/// A sample of the inertial unit, and the seconds since the last one.
#[derive(Tree, Clone, Debug)]
pub struct Inertial<T: BaseTensor> {
    pub rate: Vector<T>,
    pub acceleration: Vector<T>,
    pub dt: Tensor<T, 0, Real>,
}

/// A corrected estimate, and the square of the normalised innovation: large for a measurement that does not fit.
#[derive(Tree, Clone, Debug)]
pub struct Corrected<T: BaseTensor> {
    pub state: Vector<T>,
    pub covariance: Matrix<T>,
    pub distance: Tensor<T, 0, Real>,
}

/// The parts of a state.
struct Parts<T: BaseTensor> {
    position: Vector<T>,
    velocity: Vector<T>,
    attitude: Vector<T>,
    rate_bias: Vector<T>,
    acceleration_bias: Vector<T>,
}

impl<T: BaseTensor> Parts<T> {
    fn of(x: &Vector<T>) -> Self {
        Parts {
            position: x.slice(0, 0..3),
            velocity: x.slice(0, 3..6),
            attitude: x.slice(0, 6..10),
            rate_bias: x.slice(0, 10..13),
            acceleration_bias: x.slice(0, 13..16),
        }
    }

    fn joined(&self) -> Vector<T> {
        concat(0, (&self.position, &self.velocity, &self.attitude, &self.rate_bias, &self.acceleration_bias))
    }
}

/// The product of two quaternions.
fn product<T: BaseTensor>(p: &Vector<T>, q: &Vector<T>) -> Vector<T> {
    let ([a, b, c, d], [w, x, y, z]) = (&p.unstack(), &q.unstack());
    stack((
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    ))
}

/// The matrix of the rotation by a quaternion of length 1.
fn rotation<T: BaseTensor>(q: &Vector<T>) -> Matrix<T> {
    let [w, x, y, z] = &q.unstack();
    let (xx, yy, zz) = (x.square(), y.square(), z.square());
    let rows = [
        stack((1.0 - 2.0 * (&yy + &zz), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y))),
        stack((2.0 * (x * y + w * z), 1.0 - 2.0 * (&xx + &zz), 2.0 * (y * z - w * x))),
        stack((2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (&xx + &yy))),
    ];
    stack(rows)
}

/// The quaternion of the rotation by a vector: its direction is the axis, its length the angle.
fn exponential<T: BaseTensor>(v: &Vector<T>) -> Vector<T> {
    let square = v.square().sum() * 0.25;
    // Near 0 the root has no derivative: there the first terms of the series are exact in the last digit.
    let small = square.lt(1e-6);
    let half = small.select(1.0, &square).sqrt();
    let cos = small.select(1.0 - 0.5 * &square, half.cos());
    let sinc = small.select(1.0 - &square / 6.0, half.sin() / &half);
    concat(0, (stack([cos]), v * (0.5 * sinc)))
}

/// The state whose error is `d`, to first order in the rotation.
pub fn moved<T: BaseTensor>(x: &Vector<T>, d: &Vector<T>) -> Vector<T> {
    let p = Parts::of(x);
    let small = concat(0, (Tensor::ones([1]), d.slice(0, 6..9) * 0.5));
    let q = product(&p.attitude, &small);
    let moved = Parts {
        position: p.position + d.slice(0, 0..3),
        velocity: p.velocity + d.slice(0, 3..6),
        attitude: &q / q.square().sum().sqrt(),
        rate_bias: p.rate_bias + d.slice(0, 9..12),
        acceleration_bias: p.acceleration_bias + d.slice(0, 12..15),
    };
    moved.joined()
}

/// The error of `x` as an estimate of `y`, to first order in the rotation.
pub fn difference<T: BaseTensor>(y: &Vector<T>, x: &Vector<T>) -> Vector<T> {
    let (p, q) = (Parts::of(x), Parts::of(y));
    let [w, a, b, c] = p.attitude.unstack();
    let turn = product(&stack((w, -a, -b, -c)), &q.attitude);
    let (positions, velocities) = (q.position - p.position, q.velocity - p.velocity);
    let biases = (q.rate_bias - p.rate_bias, q.acceleration_bias - p.acceleration_bias);
    concat(0, (positions, velocities, turn.slice(0, 1..) * 2.0, biases.0, biases.1))
}

/// The state after a sample.
pub fn motion<T: BaseTensor>(x: &Vector<T>, imu: &Inertial<T>) -> Vector<T> {
    let p = Parts::of(x);
    let dt = &imu.dt;
    let force = rotation(&p.attitude).matvec(&(&imu.acceleration - &p.acceleration_bias));
    let acceleration = force + Tensor::constant(GRAVITY);
    let turn = exponential(&((&imu.rate - &p.rate_bias) * dt));
    let next = Parts {
        position: &p.position + (&p.velocity + &acceleration * (0.5 * dt)) * dt,
        velocity: &p.velocity + &acceleration * dt,
        attitude: product(&p.attitude, &turn),
        ..p
    };
    next.joined()
}

/// The matrix `F`: how the error of the state after a sample depends on the error before.
pub fn transition<T: BaseTensor>(x: &Vector<T>, imu: &Inertial<T>) -> Matrix<T> {
    let after = |d: &Vector<Term>, (x, imu): &(Vector<Term>, Inertial<Term>)| {
        difference(&motion(&moved(x, d), imu), &motion(x, imu))
    };
    jacobian_with(after, &Tensor::zeros([ERROR]), &(x.clone(), imu.clone()))
}

/// The estimate after a sample.
pub fn predict<T: BaseTensor>(x: &Estimate<T>, imu: &Inertial<T>) -> Estimate<T> {
    let f = transition(&x.state, imu);
    let next = motion(&x.state, imu);
    let p = f.matmul(&x.covariance).matmul(&f.t());
    let noises = [0.0, ACCELEROMETER_NOISE, GYRO_NOISE];
    let walks = [GYRO_WALK, ACCELEROMETER_WALK];
    let three = |variance: Real| Vector::<T>::full([3], variance);
    let [none, velocity, attitude] = noises.map(|s| three(s * s) * &imu.dt * &imu.dt);
    let [rate_bias, acceleration_bias] = walks.map(|s| three(s * s) * &imu.dt);
    let q = concat(0, (none, velocity, attitude, rate_bias, acceleration_bias));
    Estimate { state: next, covariance: p + q.diag() }
}

/// What a sensor of the position measures.
pub fn position<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    Parts::of(x).position
}

/// What a magnetometer measures: the direction of the field in the frame of the body.
pub fn field<T: BaseTensor>(x: &Vector<T>) -> Vector<T> {
    rotation(&Parts::of(x).attitude).t().matvec(&Tensor::constant(FIELD))
}

/// What a sensor measures, and the matrix `H`: how that depends on the error of the state.
pub fn measured<T: BaseTensor>(
    sensor: impl Fn(&Vector<Term>) -> Vector<Term>,
    x: &Vector<T>,
) -> (Vector<T>, Matrix<T>) {
    let of_error = |d: &Vector<Term>, x: &Vector<Term>| sensor(&moved(x, d));
    value_and_jacobian_with(of_error, &Tensor::zeros([ERROR]), x)
}

/// The estimate corrected by what a sensor has measured, with independent errors of this deviation.
fn corrected<T: BaseTensor>(
    x: &Estimate<T>,
    seen: &Vector<T>,
    noise: Real,
    sensor: impl Fn(&Vector<Term>) -> Vector<Term>,
) -> Corrected<T> {
    let (expected, h) = measured(sensor, &x.state);
    let innovation = seen - expected;
    let variance = noise * noise;
    let across = h.matmul(&x.covariance);
    let factor = (across.matmul(&h.t()) + Tensor::eye(seen.len()) * variance).cholesky();
    let gain = factor.cholesky_solve(&across).t();
    // The form of Joseph, `(1 - K H) P (1 - K H)' + K R K'`: the covariance stays symmetric and positive when the gain is
    // rounded. No product is one of two large matrices.
    let kept = &x.covariance - gain.matmul(&across);
    let left = variance * &gain - kept.matmul(&h.t());
    let whitened = factor.solve_lower(&innovation);
    Corrected {
        state: moved(&x.state, &gain.matvec(&innovation)),
        covariance: kept + left.matmul(&gain.t()),
        distance: whitened.square().sum(),
    }
}

/// The estimate corrected by a measured position.
pub fn update_position<T: BaseTensor>(x: &Estimate<T>, seen: &Vector<T>) -> Corrected<T> {
    corrected(x, seen, POSITION_NOISE, position)
}

/// The estimate corrected by a measured direction of the magnetic field.
pub fn update_field<T: BaseTensor>(x: &Estimate<T>, seen: &Vector<T>) -> Corrected<T> {
    corrected(x, seen, FIELD_NOISE, field)
}

/// The steps of the filter as recorded programs.
pub struct Steps {
    pub predict: Function<Estimate<Concrete>, Inertial<Concrete>, Estimate<Concrete>>,
    pub update_position: Function<Estimate<Concrete>, Vector<Concrete>, Corrected<Concrete>>,
    pub update_field: Function<Estimate<Concrete>, Vector<Concrete>, Corrected<Concrete>>,
}

/// Records the steps. Shapes and element types matter here, numbers do not.
pub fn recorded() -> Steps {
    let vector = || Vector::<Concrete>::zeros([3]);
    let x = Estimate { state: Tensor::zeros([STATE]), covariance: Tensor::zeros([ERROR, ERROR]) };
    let imu = Inertial { rate: vector(), acceleration: vector(), dt: Tensor::scalar(0.0) };
    // Numbers of a filter are finite: then `0 x` is 0, and the zeros of Jacobians cost nothing.
    let options = FunctionOptions::new().fast_math(true);
    Steps {
        predict: Function::stage_with(predict, &x, &imu).with_options(options),
        update_position: Function::stage_with(update_position, &x, &vector()).with_options(options),
        update_field: Function::stage_with(update_field, &x, &vector()).with_options(options),
    }
}
