//! A body on a known path, with sensors that err: what the filter is tried on.

use std::f64::consts::TAU;

use super::model::{ACCELEROMETER_NOISE, FIELD, FIELD_NOISE, GRAVITY, GYRO_NOISE, POSITION_NOISE, Real};

/// Seconds between samples of the inertial unit; of those, each 10th has a measured field and each 20th a position.
pub const DT: f64 = 0.005;
const FIELD_EVERY: usize = 10;
const POSITION_EVERY: usize = 20;

/// What the sensors say.
#[derive(Clone, Debug)]
pub enum Event {
    Inertial { rate: [Real; 3], acceleration: [Real; 3], dt: Real },
    Position([Real; 3]),
    Field([Real; 3]),
}

/// Samples with the true state after each.
pub struct Flight {
    pub start: [Real; 16],
    pub deviations: [Real; 15],
    pub events: Vec<(Event, [f64; 16])>,
}

/// Numbers by chance.
struct Chance(u64);

impl Chance {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (TAU * self.uniform()).cos()
    }

    fn vector(&mut self, deviation: f64) -> [f64; 3] {
        [0; 3].map(|_| deviation * self.normal())
    }
}

type Quaternion = [f64; 4];

fn product([a, b, c, d]: Quaternion, [w, x, y, z]: Quaternion) -> Quaternion {
    [
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    ]
}

fn inverse([w, x, y, z]: Quaternion) -> Quaternion {
    [w, -x, -y, -z]
}

/// A vector of the world in the frame of the body.
fn in_body(q: Quaternion, [x, y, z]: [f64; 3]) -> [f64; 3] {
    let [_, x, y, z] = product(product(inverse(q), [0.0, x, y, z]), q);
    [x, y, z]
}

/// The rotation vector of a quaternion.
fn logarithm([w, x, y, z]: Quaternion) -> [f64; 3] {
    let sin = (x * x + y * y + z * z).sqrt();
    let factor = if sin < 1e-12 { 2.0 / w } else { 2.0 * sin.atan2(w) / sin };
    [x, y, z].map(|v| factor * v)
}

fn about(axis: usize, angle: f64) -> Quaternion {
    let mut q = [(angle / 2.0).cos(), 0.0, 0.0, 0.0];
    q[axis + 1] = (angle / 2.0).sin();
    q
}

fn sum(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] + b[k])
}

fn position(t: f64) -> [f64; 3] {
    [20.0 * (0.3 * t).sin(), 10.0 * (0.6 * t).sin(), 5.0 + 2.0 * (0.2 * t).sin()]
}

fn velocity(t: f64) -> [f64; 3] {
    [6.0 * (0.3 * t).cos(), 6.0 * (0.6 * t).cos(), 0.4 * (0.2 * t).cos()]
}

fn attitude(t: f64) -> Quaternion {
    let (yaw, pitch, roll) = (1.2 * t, 0.3 * (0.5 * t + 1.0).sin(), 0.4 * (0.7 * t).sin());
    product(product(about(2, yaw), about(1, pitch)), about(0, roll))
}

/// A flight of so many samples, with the noise and the fields of the model.
pub fn flight(samples: usize, seed: u64) -> Flight {
    let noise = [GYRO_NOISE, ACCELEROMETER_NOISE, FIELD_NOISE, POSITION_NOISE].map(f64::from);
    let (gravity, field) = (GRAVITY.map(f64::from), FIELD.map(f64::from));
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..16).for_each(|_| _ = chance.uniform());
    let deviations = [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0.02, 0.02, 0.02, 0.2, 0.2, 0.2];
    let (rate_bias, acceleration_bias) = (chance.vector(deviations[9]), chance.vector(deviations[12]));
    let state = |t: f64| -> [f64; 16] {
        let parts = [&position(t)[..], &velocity(t), &attitude(t), &rate_bias, &acceleration_bias];
        parts.concat().try_into().expect("16 numbers")
    };
    let real = |v: [f64; 3]| v.map(|x| x as Real);
    // The filter starts with errors of its deviations; it does not know the biases.
    let p = sum(position(0.0), chance.vector(deviations[0]));
    let v = sum(velocity(0.0), chance.vector(deviations[3]));
    let turn = chance.vector(deviations[6]);
    let q = (0..3).fold(attitude(0.0), |q, axis| product(q, about(axis, turn[axis])));
    let start: Vec<f64> = [&p[..], &v, &q, &[0.0; 6]].concat();
    let mut events = Vec::new();
    for k in 0..samples {
        let (t, next) = (k as f64 * DT, (k + 1) as f64 * DT);
        let (v, w) = (velocity(t), velocity(next));
        let force = std::array::from_fn(|k| (w[k] - v[k]) / DT - gravity[k]);
        let rate = logarithm(product(inverse(attitude(t)), attitude(next))).map(|x| x / DT);
        let rate = real(sum(rate, sum(rate_bias, chance.vector(noise[0]))));
        let acceleration = real(sum(in_body(attitude(t), force), sum(acceleration_bias, chance.vector(noise[1]))));
        events.push((Event::Inertial { rate, acceleration, dt: DT as Real }, state(next)));
        if (k + 1) % FIELD_EVERY == 0 {
            let seen = sum(in_body(attitude(next), field), chance.vector(noise[2]));
            events.push((Event::Field(real(seen)), state(next)));
        }
        if (k + 1) % POSITION_EVERY == 0 {
            events.push((Event::Position(real(sum(position(next), chance.vector(noise[3])))), state(next)));
        }
    }
    let start = start.iter().map(|x| *x as Real).collect::<Vec<_>>().try_into().expect("16 numbers");
    Flight { start, deviations: deviations.map(|x| x as Real), events }
}

/// The 15 errors of a state, in double precision.
pub fn errors(state: &[Real; 16], truth: &[f64; 16]) -> [f64; 15] {
    let x = state.map(f64::from);
    let [w, a, b, c] = [x[6], -x[7], -x[8], -x[9]];
    let [q, r, s, t] = [truth[6], truth[7], truth[8], truth[9]];
    let turn = [w * r + a * q + b * t - c * s, w * s - a * t + b * q + c * r, w * t + a * s - b * r + c * q];
    // Both signs of a quaternion are one rotation.
    let real = (w * q - a * r - b * s - c * t).signum();
    std::array::from_fn(|k| match k {
        0..6 => truth[k] - x[k],
        6..9 => 2.0 * real * turn[k - 6],
        _ => truth[k + 1] - x[k + 1],
    })
}

/// The length of a part of the errors.
pub fn length(errors: &[f64]) -> f64 {
    errors.iter().map(|x| x * x).sum::<f64>().sqrt()
}
