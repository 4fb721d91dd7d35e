//! The inputs of the workloads, bit for bit those of the other programs that are measured on them.
//!
//! Numbers come from splitmix64. The state starts at the seed and grows by a constant with every draw, so draw `k` is
//! a function of the seed and `k`. `u = (z >> 11) / 2^53` is exact, and a number of `[lo, hi)` is `lo + (hi - lo) u`
//! with three roundings. Every array has a seed of its own, written where the array is made; all seeds can be moved
//! by one offset, which gives fresh inputs of the same kind.

use polygrad::{Concrete, Float, Tensor};

/// A source of arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Inputs {
    /// Added to every seed.
    pub(crate) offset: u64,
}

/// Draw `k` of the stream of a seed, from 0.
pub(crate) fn draw(seed: u64, k: u64) -> u64 {
    let z = seed.wrapping_add((k + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The same draw as a number of `[0, 1)`.
pub(crate) fn unit(seed: u64, k: u64) -> f64 {
    (draw(seed, k) >> 11) as f64 / (1u64 << 53) as f64
}

impl Inputs {
    fn array<const D: usize, X>(&self, seed: u64, shape: [usize; D], f: impl Fn(f64) -> X) -> Vec<X> {
        let size = shape.iter().product::<usize>() as u64;
        (0..size).map(|k| f(unit(seed.wrapping_add(self.offset), k))).collect()
    }

    /// Numbers of `[lo, hi)`, rounded to the element type.
    pub(crate) fn uniform<const D: usize, E: Float>(
        &self,
        seed: u64,
        shape: [usize; D],
        lo: f64,
        hi: f64,
    ) -> Tensor<Concrete, D, E> {
        Tensor::new(shape, self.array(seed, shape, |u| E::of_f64(lo + (hi - lo) * u)))
    }

    /// Integers from 0 to `n - 1`.
    pub(crate) fn integers<const D: usize>(&self, seed: u64, shape: [usize; D], n: usize) -> Tensor<Concrete, D, i64> {
        Tensor::new(shape, self.array(seed, shape, |u| (u * n as f64).floor() as i64))
    }

    /// Weights of a layer with `fan_in` inputs to a neuron: numbers of `[-s, s)`, `s = 1 / sqrt(fan_in)`.
    pub(crate) fn weights<E: Float>(&self, seed: u64, shape: [usize; 2], fan_in: usize) -> Tensor<Concrete, 2, E> {
        let s = 1.0 / (fan_in as f64).sqrt();
        self.uniform(seed, shape, -s, s)
    }
}
