//! The same filter by hand: Jacobians derived on paper, matrices as arrays. What emitted code is compared with.
//!
//! `predict` multiplies by whole matrices; `predict_in_blocks` by those blocks of 3 x 3 that are not 0. The update
//! is that of the model, in the same order.

use polygrad_firmware::{Estimate, Real};

use super::model::{
    ACCELEROMETER_NOISE, ACCELEROMETER_WALK, FIELD, FIELD_NOISE, GRAVITY, GYRO_NOISE, GYRO_WALK, POSITION_NOISE,
};

const N: usize = 15;
type Vector = [Real; 3];
type Matrix = [[Real; 3]; 3];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

fn apply(a: &Matrix, v: &Vector) -> Vector {
    a.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

fn scaled(a: &Matrix, s: Real) -> Matrix {
    a.map(|row| row.map(|x| x * s))
}

fn cross(v: &Vector) -> Matrix {
    [[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]]
}

fn rotation(q: &[Real]) -> Matrix {
    let [w, x, y, z] = [q[0], q[1], q[2], q[3]];
    [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
}

fn product(p: &[Real], q: &[Real; 4]) -> [Real; 4] {
    [
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    ]
}

/// The blocks of `F` that are neither 0 nor those of the identity: (row, column, block), beside `dt` for velocities.
struct Blocks {
    position_attitude: Matrix,
    position_bias: Matrix,
    velocity_attitude: Matrix,
    velocity_bias: Matrix,
    attitude: Matrix,
    attitude_bias: Matrix,
}

/// The new state, and the blocks of `F`.
fn motion(x: &[Real; 16], rate: &Vector, acceleration: &Vector, dt: Real, y: &mut [Real; 16]) -> Blocks {
    let r = rotation(&x[6..10]);
    let f: Vector = std::array::from_fn(|k| acceleration[k] - x[13 + k]);
    let turned = apply(&r, &f);
    let a: Vector = std::array::from_fn(|k| turned[k] + GRAVITY[k]);
    let v: Vector = std::array::from_fn(|k| (rate[k] - x[10 + k]) * dt);
    let square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    let angle = square.sqrt();
    // Of the rotation by `v`: cos and sin of the half angle, and the factors of the right Jacobian.
    let (cos, sinc, first, second) = if square < 4e-6 {
        (1.0 - square / 8.0, 0.5 - square / 48.0, 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0)
    } else {
        let (sin, cos) = (0.5 * angle).sin_cos();
        (cos, sin / angle, 2.0 * sin * sin / square, (angle - 2.0 * sin * cos) / (square * angle))
    };
    let turn = [cos, sinc * v[0], sinc * v[1], sinc * v[2]];
    *y = *x;
    for k in 0..3 {
        y[k] = x[k] + (x[3 + k] + a[k] * 0.5 * dt) * dt;
        y[3 + k] = x[3 + k] + a[k] * dt;
    }
    y[6..10].copy_from_slice(&product(&x[6..10], &turn));
    let skew = cross(&v);
    let skew_squared = times(&skew, &skew);
    let back = rotation(&[turn[0], -turn[1], -turn[2], -turn[3]]);
    let of_attitude = scaled(&times(&r, &cross(&f)), -dt);
    let of_bias = scaled(&r, -dt);
    let right: Matrix = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let one = if i == j { 1.0 } else { 0.0 };
            -dt * (one - first * skew[i][j] + second * skew_squared[i][j])
        })
    });
    Blocks {
        position_attitude: scaled(&of_attitude, 0.5 * dt),
        position_bias: scaled(&of_bias, 0.5 * dt),
        velocity_attitude: of_attitude,
        velocity_bias: of_bias,
        attitude: back,
        attitude_bias: right,
    }
}

fn add_noise(p: &mut [Real; 225], dt: Real) {
    let variances = [
        0.0,
        ACCELEROMETER_NOISE * ACCELEROMETER_NOISE * dt * dt,
        GYRO_NOISE * GYRO_NOISE * dt * dt,
        GYRO_WALK * GYRO_WALK * dt,
        ACCELEROMETER_WALK * ACCELEROMETER_WALK * dt,
    ];
    (0..N).for_each(|k| p[16 * k] += variances[k / 3]);
}

/// The estimate after a sample, by products of whole matrices.
pub fn predict(x: &Estimate, rate: &Vector, acceleration: &Vector, dt: Real, y: &mut Estimate) {
    let blocks = motion(&x.state, rate, acceleration, dt, &mut y.state);
    let mut f = [0.0; 225];
    (0..N).for_each(|k| f[16 * k] = 1.0);
    (0..3).for_each(|k| f[16 * k + 3] = dt);
    let mut put = |row: usize, column: usize, block: &Matrix| {
        for (i, line) in block.iter().enumerate() {
            f[N * (row + i) + column..][..3].copy_from_slice(line);
        }
    };
    put(0, 6, &blocks.position_attitude);
    put(0, 12, &blocks.position_bias);
    put(3, 6, &blocks.velocity_attitude);
    put(3, 12, &blocks.velocity_bias);
    put(6, 6, &blocks.attitude);
    put(6, 9, &blocks.attitude_bias);
    let mut fp = [0.0; 225];
    for i in 0..N {
        for k in 0..N {
            for j in 0..N {
                fp[N * i + j] += f[N * i + k] * x.covariance[N * k + j];
            }
        }
    }
    for i in 0..N {
        for j in 0..N {
            y.covariance[N * i + j] = (0..N).map(|k| fp[N * i + k] * f[N * j + k]).sum();
        }
    }
    add_noise(&mut y.covariance, dt);
}

/// `F M` by blocks; the result is transposed, so that a second call gives `F P F^T`.
fn product_in_blocks(blocks: &Blocks, dt: Real, m: &[Real; 225], out: &mut [Real; 225]) {
    let row = |block: &[Real; 3], from: usize, j: usize| {
        block[0] * m[N * from + j] + block[1] * m[N * (from + 1) + j] + block[2] * m[N * (from + 2) + j]
    };
    for i in 0..3 {
        for j in 0..N {
            let at = |line: usize| m[N * (line + i) + j];
            out[N * j + i] =
                at(0) + dt * at(3) + row(&blocks.position_attitude[i], 6, j) + row(&blocks.position_bias[i], 12, j);
            out[N * j + 3 + i] = at(3) + row(&blocks.velocity_attitude[i], 6, j) + row(&blocks.velocity_bias[i], 12, j);
            out[N * j + 6 + i] = row(&blocks.attitude[i], 6, j) + row(&blocks.attitude_bias[i], 9, j);
            out[N * j + 9 + i] = at(9);
            out[N * j + 12 + i] = at(12);
        }
    }
}

/// The estimate after a sample, by the blocks that are not 0.
pub fn predict_in_blocks(x: &Estimate, rate: &Vector, acceleration: &Vector, dt: Real, y: &mut Estimate) {
    let blocks = motion(&x.state, rate, acceleration, dt, &mut y.state);
    let mut fp = [0.0; 225];
    product_in_blocks(&blocks, dt, &x.covariance, &mut fp);
    product_in_blocks(&blocks, dt, &fp, &mut y.covariance);
    add_noise(&mut y.covariance, dt);
}

/// The estimate corrected by an innovation, for a sensor with the matrix `h` and independent errors; the distance.
fn corrected(x: &Estimate, innovation: &Vector, h: &[[Real; N]; 3], noise: Real, y: &mut Estimate) -> Real {
    let p = &x.covariance;
    let variance = noise * noise;
    let mut across = [[0.0; N]; 3];
    for i in 0..3 {
        for k in 0..N {
            for j in 0..N {
                across[i][j] += h[i][k] * p[N * k + j];
            }
        }
    }
    // The factor of Cholesky of the covariance of the innovation, and the gain, whose columns are solutions.
    let mut l = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..=i {
            let mut s: Real = (0..N).map(|k| across[i][k] * h[j][k]).sum();
            s += if i == j { variance } else { 0.0 };
            s -= (0..j).map(|k| l[i][k] * l[j][k]).sum::<Real>();
            l[i][j] = if i == j { s.sqrt() } else { s / l[j][j] };
        }
    }
    let forward = |b: &Vector| -> Vector {
        let a = b[0] / l[0][0];
        let c = (b[1] - l[1][0] * a) / l[1][1];
        [a, c, (b[2] - l[2][0] * a - l[2][1] * c) / l[2][2]]
    };
    let mut gain = [[0.0; 3]; N];
    for j in 0..N {
        let b = forward(&[across[0][j], across[1][j], across[2][j]]);
        let z = b[2] / l[2][2];
        let w = (b[1] - l[2][1] * z) / l[1][1];
        gain[j] = [(b[0] - l[1][0] * w - l[2][0] * z) / l[0][0], w, z];
    }
    // The form of Joseph.
    let mut kept = [0.0; 225];
    for i in 0..N {
        for j in 0..N {
            kept[N * i + j] = p[N * i + j] - (0..3).map(|k| gain[i][k] * across[k][j]).sum::<Real>();
        }
    }
    for i in 0..N {
        let seen: Vector = std::array::from_fn(|k| (0..N).map(|j| kept[N * i + j] * h[k][j]).sum());
        for j in 0..N {
            y.covariance[N * i + j] =
                kept[N * i + j] + (0..3).map(|k| (variance * gain[i][k] - seen[k]) * gain[j][k]).sum::<Real>();
        }
    }
    let d: [Real; N] = std::array::from_fn(|i| (0..3).map(|k| gain[i][k] * innovation[k]).sum());
    for k in 0..6 {
        y.state[k] = x.state[k] + d[k];
        y.state[10 + k] = x.state[10 + k] + d[9 + k];
    }
    let q = product(&x.state[6..10], &[1.0, 0.5 * d[6], 0.5 * d[7], 0.5 * d[8]]);
    let length = q.iter().map(|x| x * x).sum::<Real>().sqrt();
    (0..4).for_each(|k| y.state[6 + k] = q[k] / length);
    forward(innovation).iter().map(|x| x * x).sum()
}

/// The estimate corrected by a measured position.
pub fn update_position(x: &Estimate, seen: &Vector, y: &mut Estimate) -> Real {
    let mut h = [[0.0; N]; 3];
    (0..3).for_each(|k| h[k][k] = 1.0);
    corrected(x, &std::array::from_fn(|k| seen[k] - x.state[k]), &h, POSITION_NOISE, y)
}

/// The estimate corrected by a measured direction of the magnetic field.
pub fn update_field(x: &Estimate, seen: &Vector, y: &mut Estimate) -> Real {
    let r = rotation(&x.state[6..10]);
    let expected: Vector = std::array::from_fn(|k| (0..3).map(|i| r[i][k] * FIELD[i]).sum());
    let mut h = [[0.0; N]; 3];
    let block = cross(&expected);
    (0..3).for_each(|k| h[k][6..9].copy_from_slice(&block[k]));
    corrected(x, &std::array::from_fn(|k| seen[k] - expected[k]), &h, FIELD_NOISE, y)
}
