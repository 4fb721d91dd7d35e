//! Seeded random numbers: the generator `Rng`, and arrays of random numbers.
//!
//! Law: a seed gives the same numbers on every platform and in every version. The generator is splitmix64, which uses
//! integer arithmetic alone; uniform numbers are the same to the bit, normal numbers up to the error of the platform's
//! `ln`.

use super::Array;
use crate::dtype::{DType, Elem, Float};
use crate::shape::{self, Shape};

/// A shape of random numbers, which determines the type of the result: sizes in a Rust array give a tensor of this
/// rank, borrowed sizes give an [`Array`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "sizes are needed: `[n, d]` for a tensor, `&[n, d]` for an `Array`"
)]
pub trait Drawn {
    /// The type of the result.
    type Out<E: Elem>;
    /// The sizes.
    #[doc(hidden)]
    fn sizes(&self) -> &[usize];
    /// The array as the result.
    #[doc(hidden)]
    #[track_caller]
    fn drawn<E: Elem>(a: Array) -> Self::Out<E>;
}

macro_rules! borrowed_sizes {
    ($([$($generics:tt)*] $Sizes:ty;)*) => { $(
        impl<$($generics)*> Drawn for $Sizes {
            type Out<E: Elem> = Array;
            fn sizes(&self) -> &[usize] {
                &self[..]
            }
            fn drawn<E: Elem>(a: Array) -> Array {
                a
            }
        }
    )* };
}
borrowed_sizes! { [] &[usize]; [const N: usize] &[usize; N]; [] &Vec<usize>; [] &Shape; }

/// A seeded generator of random numbers: splitmix64.
///
/// Fast, portable, and good enough for initial values, shuffles and tests; not for cryptography.
///
/// ```
/// use polygrad::array::Rng;
/// let mut rng = Rng::new(0);
/// assert_eq!(rng.next_u64(), 0xe220a8397b1dcdaf);
/// ```
///
/// Numbers of a recorded program are drawn by a [`random::Key`](crate::random::Key), which has no state: a number that
/// this generator draws while a program is recorded is the same in every run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The generator with this seed.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let (mut a, mut b) = (Rng::new(7), Rng::new(7));
    /// assert_eq!(a.next_u64(), b.next_u64());
    /// ```
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// 64 random bits.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let mut rng = Rng::new(0);
    /// let first = rng.next_u64();
    /// assert_eq!(first, 0xe220a8397b1dcdaf);
    /// assert_ne!(rng.next_u64(), first);
    /// ```
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A generator of another stream of numbers, seeded by one draw of `self`.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let mut rng = Rng::new(0);
    /// assert_eq!(rng.split(), Rng::new(0xe220a8397b1dcdaf));
    /// assert_ne!(rng, Rng::new(0));
    /// ```
    pub fn split(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }

    /// A number uniform in `[0, 1)`: the upper 53 bits of a draw, times `2^-53`.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// assert_eq!(Rng::new(42).unit(), 0.7415648787718233);
    /// ```
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number of the standard normal distribution, by Marsaglia's polar method: two uniform numbers per try, about
    /// 1.27 tries on average.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let mut rng = Rng::new(0);
    /// let mean = (0..10_000).map(|_| rng.gaussian()).sum::<f64>() / 10_000.0;
    /// assert!(mean.abs() < 0.05);
    /// ```
    pub fn gaussian(&mut self) -> f64 {
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = u * u + v * v;
            if s < 1.0 && s > 0.0 {
                return u * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    /// An integer uniform in `0..n`, without bias.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let mut rng = Rng::new(0);
    /// assert!((0..100).all(|_| rng.below(3) < 3));
    /// ```
    ///
    /// # Panics
    /// When `n` is 0.
    #[track_caller]
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            panic!("below: needs a positive bound, but it is 0; leave out the draw when there is nothing to choose");
        }
        let n = n as u64;
        // The upper half of draw * n is uniform if draws whose lower half is less than 2^64 mod n are rejected: then
        // each result has the same number of draws (Lemire).
        let rejected = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if product as u64 >= rejected {
                return (product >> 64) as usize;
            }
        }
    }

    /// Permutes the items at random, with equal probability of all permutations (Fisher and Yates).
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let mut letters = ['a', 'b', 'c'];
    /// Rng::new(0).shuffle(&mut letters);
    /// letters.sort();
    /// assert_eq!(letters, ['a', 'b', 'c']);
    /// ```
    pub fn shuffle<X>(&mut self, items: &mut [X]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// The numbers `0..n` in a random order.
    ///
    /// ```
    /// use polygrad::array::Rng;
    /// let mut order = Rng::new(0).permutation(4);
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3]);
    /// ```
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// Floats of type `f64` uniform in `[lo, hi)`; `hi` itself can only come from rounding. Sizes in a Rust array give
    /// a tensor of this rank, borrowed sizes give an [`Array`].
    ///
    /// ```
    /// use polygrad::{Array, array::Rng, tensor};
    /// let drawn = Rng::new(42).uniform([2], 0.0, 1.0);
    /// assert_eq!(drawn, tensor([0.7415648787718233, 0.1599103928769201]));
    /// let drawn = Rng::new(42).uniform(&[2], 0.0, 1.0);
    /// assert_eq!(drawn, Array::from([0.7415648787718233, 0.1599103928769201]));
    /// ```
    ///
    /// # Panics
    /// When `lo` is above `hi` or one of them is not finite; when no array can have this shape, or there is no memory
    /// for it.
    #[track_caller]
    pub fn uniform<S: Drawn>(&mut self, shape: S, lo: f64, hi: f64) -> S::Out<f64> {
        self.uniform_as::<f64, S>(shape, lo, hi)
    }

    /// Floats of type `E` uniform in `[lo, hi)`; `hi` itself can only come from rounding. Each element takes one draw,
    /// of which the upper 24 bits are used for `f32`, and the upper 53 bits for `f64`.
    ///
    /// # Panics
    /// When `lo` is above `hi` or one of them is not finite; when no array can have this shape, or there is no memory
    /// for it.
    #[track_caller]
    pub fn uniform_as<E: Float, S: Drawn>(&mut self, shape: S, lo: f64, hi: f64) -> S::Out<E> {
        if !(lo <= hi && lo.is_finite() && hi.is_finite()) {
            panic!("uniform: needs finite bounds in order, but they are {lo} and {hi}; exchange or replace them");
        }
        let bits = if E::DTYPE == DType::F32 { 24 } else { 53 };
        let step = 1.0 / (1u64 << bits) as f64;
        S::drawn(self.fill(shape.sizes(), |rng| {
            let unit = (rng.next_u64() >> (64 - bits)) as f64 * step;
            E::of_f64(lo + (hi - lo) * unit)
        }))
    }

    /// Floats of type `f64` of the normal distribution with this mean and standard deviation. Sizes in a Rust array
    /// give a tensor of this rank, borrowed sizes give an [`Array`].
    ///
    /// ```
    /// use polygrad::{Array, array::Rng, tensor};
    /// assert_eq!(Rng::new(0).normal([2, 1], 1.5, 0.0), tensor([[1.5], [1.5]]));
    /// assert_eq!(Rng::new(0).normal(&[2], 1.5, 0.0), Array::from([1.5, 1.5]));
    /// ```
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN; when no array can have this shape, or there is no memory for it.
    #[track_caller]
    pub fn normal<S: Drawn>(&mut self, shape: S, mean: f64, sd: f64) -> S::Out<f64> {
        self.normal_as::<f64, S>(shape, mean, sd)
    }

    /// Floats of type `E` of the normal distribution with this mean and standard deviation: draws of
    /// [`gaussian`](Rng::gaussian), scaled, shifted and rounded.
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN; when no array can have this shape, or there is no memory for it.
    #[track_caller]
    pub fn normal_as<E: Float, S: Drawn>(&mut self, shape: S, mean: f64, sd: f64) -> S::Out<E> {
        if sd.is_nan() || sd < 0.0 {
            panic!("normal: needs a standard deviation of at least 0, but it is {sd}; pass its absolute value");
        }
        S::drawn(self.fill(shape.sizes(), |rng| E::of_f64(mean + sd * rng.gaussian())))
    }

    /// An array of draws, in row-major order.
    #[track_caller]
    fn fill<E: Elem>(&mut self, shape: &[usize], mut draw: impl FnMut(&mut Rng) -> E) -> Array {
        shape::check_possible("array", shape);
        shape::check_room::<E>(shape);
        let elements = (0..shape::size(shape)).map(|_| draw(self)).collect();
        Array::dense(Shape::from_slice(shape), elements)
    }
}

impl Array {
    /// An array of `f64` uniform in `[lo, hi)`: the first draws of [`Rng::new(seed)`](Rng::new).
    ///
    /// ```
    /// use polygrad::Array;
    /// assert_eq!(Array::uniform(&[2], 0.0, 1.0, 42), Array::from([0.7415648787718233, 0.1599103928769201]));
    /// ```
    ///
    /// # Panics
    /// When `lo` is above `hi` or one of them is not finite; when no array can have this shape, or there is no memory
    /// for it.
    #[track_caller]
    pub fn uniform(shape: &[usize], lo: f64, hi: f64, seed: u64) -> Array {
        Rng::new(seed).uniform(shape, lo, hi)
    }

    /// An array of `f64` of the normal distribution with this mean and standard deviation: the first draws of
    /// [`Rng::new(seed)`](Rng::new).
    ///
    /// ```
    /// use polygrad::{Array, array::Rng};
    /// assert_eq!(Array::normal(&[3], 0.0, 1.0, 7), Rng::new(7).normal(&[3], 0.0, 1.0));
    /// ```
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN; when no array can have this shape, or there is no memory for it.
    #[track_caller]
    pub fn normal(shape: &[usize], mean: f64, sd: f64, seed: u64) -> Array {
        Rng::new(seed).normal(shape, mean, sd)
    }
}
