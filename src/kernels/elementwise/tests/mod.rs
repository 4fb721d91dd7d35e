//! The kernels against the rows they compute, on every instruction set of the machine that runs the tests.

mod accuracy;
mod reductions;
mod scalar;
mod slices;

use super::{Isa, Real};
use crate::dtype::DType;

/// Special values, and numbers at or near the ends of the domains and ranges of functions.
const HOSTILE: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -2.5,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    5e-324,
    -5e-324,
    1e-310,
    -1e-310,
    1e-45,
    -1e-40,
    f64::MIN_POSITIVE,
    f32::MIN_POSITIVE as f64,
    1e-20,
    -1e-20,
    17.0,
    -41.0,
    100.0,
    -745.2,
    709.9,
    1_048_577.0,
    -1e22,
    f64::MAX,
    f64::MIN,
    f32::MAX as f64,
];

/// Lengths around those of vectors and tiles.
const LENGTHS: [usize; 14] = [0, 1, 7, 8, 9, 31, 63, 64, 65, 255, 256, 257, 600, 1000];

/// A generator of pseudorandom numbers (xorshift).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number in the interval from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of an interval: from all of it, from its middle, or near 0 on a scale of exponents.
    fn sample(&mut self, lo: f64, hi: f64) -> f64 {
        let end = if self.unit() < 0.5 { lo } else { hi };
        match self.bits() % 3 {
            0 => lo + (hi - lo) * self.unit(),
            1 => end.clamp(-3.0, 3.0) * self.unit(),
            _ => end * (-60.0 * self.unit()).exp2(),
        }
    }
}

/// The distance of two numbers in the order of floats: 0 for equal bits and for two NaN; very large if one alone is
/// NaN, or for different zeros or infinities.
fn distance<E: Real>(x: E, y: E) -> u64 {
    let special = |x: E| x.is_nan() || x.is_infinite() || x == E::ZERO;
    if x.same_bits(y) || (x.is_nan() && y.is_nan()) {
        return 0;
    }
    if special(x) && special(y) {
        return u64::MAX;
    }
    place(x).abs_diff(place(y))
}

/// The number of a float in the order of floats.
fn place<E: Real>(x: E) -> i64 {
    let bits = x.bits() as i64;
    let bits = match E::DTYPE {
        DType::F32 => i64::from(bits as u32 as i32),
        DType::F64 | DType::I64 | DType::Bool => bits,
    };
    let lowest = if E::DTYPE == DType::F32 { i64::from(i32::MIN) } else { i64::MIN };
    if bits < 0 { lowest.wrapping_sub(bits) } else { bits }
}

/// A vector of `len` hostile numbers, in an order that depends on `seed`.
fn hostile<E: Real>(len: usize, seed: usize) -> Vec<E> {
    (0..len).map(|i| E::of_f64(HOSTILE[(i * 7 + i / 32 + seed) % HOSTILE.len()])).collect()
}

#[test]
fn distances_count_floats() {
    assert_eq!(distance(1.0, 1.0 + f64::EPSILON), 1);
    assert_eq!(distance(1.0f32, 1.0 - f32::EPSILON), 2);
    assert_eq!(distance(5e-324, -5e-324), 2);
    assert_eq!(distance(0.0, -0.0), u64::MAX);
    assert_eq!(distance(f64::NAN, -f64::NAN), 0);
    assert_eq!(distance(f64::MAX, f64::INFINITY), 1);
}

#[test]
fn the_instruction_set_is_one_that_the_machine_has() {
    assert_eq!(Isa::supported()[0], Isa::BASELINE);
    assert!(Isa::supported().contains(&Isa::detect()));
}
