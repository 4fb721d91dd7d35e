//! Rounding that pipelines may do in other ways: that of sums, of transforms, of linear algebra and of functions.
//!
//! Where a mask, an order or an integer is decided by numbers that are equal but for such rounding, as in
//! `a - (a + b - b) > 0`, pipelines differ by more than rounding and all are right. Whether a program is of this kind is
//! tried: it is run with a little added to each of these results. What changes by much then shows nothing.

use std::cell::Cell;

use polygrad::array::Rng;
use polygrad::ops::Binary;
use polygrad::shape::size;
use polygrad::{Array, BaseTensor, DType};

use crate::pipelines::floats;

/// What is added to results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// Random numbers of a seed, times a factor: with 1 and -1 something is added in both directions.
    Random(u64, f64),
    /// What leads to the nearest of a few numbers, so that what is equal but for rounding is equal.
    Nearest,
}

/// Noise in both directions, and none.
pub(crate) const NOISES: [Noise; 7] = [
    Noise::Nearest,
    Noise::Random(1, 1.0),
    Noise::Random(1, -1.0),
    Noise::Random(2, 1.0),
    Noise::Random(2, -1.0),
    Noise::Random(3, 1.0),
    Noise::Random(3, -1.0),
];

thread_local! {
    static NOISE: Cell<Option<Noise>> = const { Cell::new(None) };
}

/// Runs something in which noise is added.
pub(crate) fn with_noise<R>(noise: Noise, run: impl FnOnce() -> R) -> R {
    struct Silent;
    impl Drop for Silent {
        fn drop(&mut self) {
            NOISE.set(None);
        }
    }
    NOISE.set(Some(noise));
    let _silent = Silent;
    run()
}

/// A result that pipelines may round in other ways, whose operands are about 1.
pub(crate) fn rounded<T: BaseTensor>(t: T) -> T {
    let Some(noise) = NOISE.get() else { return t };
    let step = match t.dtype() {
        DType::F64 => 1e-14,
        DType::F32 => 1e-6,
        DType::I64 | DType::Bool => return t,
    };
    let added: Vec<f64> = match noise {
        Noise::Random(seed, factor) => {
            NOISE.set(Some(Noise::Random(seed.wrapping_add(0x9e37), factor)));
            let mut rng = Rng::new(seed);
            (0..size(t.shape())).map(|_| factor * step * (2.0 * rng.unit() - 1.0)).collect()
        }
        Noise::Nearest => {
            let Some(values) = t.peek() else { return t };
            let to_nearest = |x: f64| (x / (100.0 * step)).round() * (100.0 * step) - x;
            floats(&values).into_iter().map(|x| if x.is_finite() { to_nearest(x) } else { 0.0 }).collect()
        }
    };
    let added = Array::new(t.shape(), added);
    let added = if t.dtype() == DType::F32 { added.cast::<f32>() } else { added };
    t.binary(Binary::Add, &T::constant(added))
}

/// The result of a function of numbers, which kernels round on their own, by up to a unit of the last place: next to a
/// pole of what comes after it, that is all there is.
pub(crate) fn rounded_last<T: BaseTensor>(t: T) -> T {
    let Some(Noise::Random(seed, factor)) = NOISE.get() else { return t };
    let unit = match t.dtype() {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::I64 | DType::Bool => return t,
    };
    NOISE.set(Some(Noise::Random(seed.wrapping_add(0x9e37), factor)));
    let mut rng = Rng::new(seed);
    let by: Vec<f64> = (0..size(t.shape())).map(|_| 1.0 + factor * unit * (2.0 * rng.unit() - 1.0)).collect();
    let by = Array::new(t.shape(), by);
    let by = if t.dtype() == DType::F32 { by.cast::<f32>() } else { by };
    t.binary(Binary::Mul, &T::constant(by))
}

/// A sum or difference, which is rounded by up to a unit of the last place of its larger operand; a rule may find a number that is
/// lost in it, as in `a - (a - b)`.
pub(crate) fn rounded_sum<T: BaseTensor>(operands: [&T; 2], t: T) -> T {
    if NOISE.get().is_none() || !t.dtype().is_float() {
        return t;
    }
    let large = rounded_last(operands[0].clone()).binary(Binary::Sub, operands[0]);
    let other = rounded_last(operands[1].clone()).binary(Binary::Sub, operands[1]);
    let noise = large.binary(Binary::Add, &other);
    // Without the NaN that infinities leave.
    let known = noise.peek().is_none_or(|noise| floats(&noise).iter().all(|x| x.is_finite()));
    if known { t.binary(Binary::Add, &noise) } else { t }
}

#[test]
fn a_mask_decided_by_rounding_is_seen() {
    use polygrad::ops::{Compare, Discrete, Linear};
    let differs_from_zero = |last: f64| {
        let x = Array::new(&[2], vec![1.0, last]);
        let sum = rounded(x.linear(&Linear::sum(&[2], &[0])));
        let mask = Array::discrete(&Discrete::Compare(Compare::Ne), &[&sum, &Array::scalar(0.0)]);
        mask.item::<bool>().expect("a mask")
    };
    let noisy = |last: f64| NOISES.map(|noise| with_noise(noise, || differs_from_zero(last)));
    assert!(!differs_from_zero(-1.0) && noisy(-1.0).contains(&true));
    assert!(differs_from_zero(-1.0 + 1e-15) && noisy(-1.0 + 1e-15).contains(&false));
    assert!(!noisy(1.0).contains(&false));
}

#[test]
fn a_pole_at_the_rounding_of_a_function_is_seen() {
    use polygrad::ops::Unary;
    let recip = |x: f64| {
        let x = rounded_last(Array::scalar(x).cast::<f32>().unary(Unary::Expm1)).cast::<f64>();
        x.binary(Binary::Add, &Array::scalar(1.0)).unary(Unary::Recip).item::<f64>().expect("a number")
    };
    let changes =
        |x: f64| NOISES.map(|noise| with_noise(noise, || recip(x))).iter().any(|y| (y / recip(x) - 1.0).abs() > 0.5);
    assert!(changes(-17.26) && !changes(-1.0) && !changes(1.0));
}
