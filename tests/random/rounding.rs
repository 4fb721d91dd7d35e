//! Rounding that pipelines may do in other ways: that of sums, of transforms and of linear algebra.
//!
//! Where a mask, an order or an integer is decided by numbers that are equal but for such rounding, as in
//! `a - (a + b - b) > 0`, pipelines differ by more than rounding and all are right. Whether a program is of this kind is
//! tried: it is run with a little added to each of these results. What changes by much then shows nothing.

use std::cell::Cell;

use polygrad::array::Rng;
use polygrad::ops::Binary;
use polygrad::{Array, BaseTensor, DType};

thread_local! {
    /// The seed of what is added, if something is, and a factor.
    static NOISE: Cell<Option<(u64, f64)>> = const { Cell::new(None) };
}

/// Runs something in which numbers of this seed, times a factor, are added: with 1 and -1 something is added in both directions.
pub(crate) fn with_noise<R>(seed: u64, factor: f64, run: impl FnOnce() -> R) -> R {
    struct Silent;
    impl Drop for Silent {
        fn drop(&mut self) {
            NOISE.set(None);
        }
    }
    NOISE.set(Some((seed, factor)));
    let _silent = Silent;
    run()
}

/// A result that pipelines may round in other ways, whose operands are about 1.
pub(crate) fn rounded<T: BaseTensor>(t: T) -> T {
    let Some((seed, factor)) = NOISE.get() else { return t };
    let step = match t.dtype() {
        DType::F64 => 1e-14,
        DType::F32 => 1e-6,
        DType::I64 | DType::Bool => return t,
    };
    NOISE.set(Some((seed.wrapping_add(0x9e37), factor)));
    let noise = Rng::new(seed).uniform(t.shape(), -step, step);
    let noise = noise.binary(Binary::Mul, &Array::full(t.shape(), factor));
    let noise = if t.dtype() == DType::F32 { noise.cast::<f32>() } else { noise };
    t.binary(Binary::Add, &T::constant(noise))
}

#[test]
fn a_mask_decided_by_rounding_is_seen() {
    use polygrad::ops::{Compare, Discrete, Linear};
    let x = Array::new(&[2], vec![1.0, -1.0]);
    let differs_from_zero = || {
        let sum = rounded(x.linear(&Linear::sum(&[2], &[0])));
        let mask = Array::discrete(&Discrete::Compare(Compare::Ne), &[&sum, &Array::scalar(0.0)]);
        mask.item::<bool>().expect("a mask")
    };
    assert!(!differs_from_zero() && with_noise(1, 1.0, differs_from_zero) && !differs_from_zero());
}
