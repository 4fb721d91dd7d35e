//! Seeded random numbers: the generator `Rng`, and arrays of random numbers.
//!
//! Law: a seed gives the same numbers on every platform and in every version. The generator is splitmix64, which uses
//! integer arithmetic alone; uniform numbers are the same to the bit, normal numbers up to the error of the platform's
//! `ln`.
//!
//! The crate `rand` makes no such promise: a version may give other numbers for a seed. So the generator, and the two
//! distributions that initial weights and checks of gradients are drawn from, the uniform and the normal one, are here,
//! although `rand_distr` has them. All other distributions for the host are those of `rand_distr`: with the feature
//! `rand`, `Rng` is a generator of these crates, and `sample` makes arrays of draws of a distribution by any
//! generator. Numbers inside a program are drawn by keys: module `random`.

use super::Array;
use crate::dtype::{DType, Elem, Float};
use crate::shape::{self, Shape};

/// A shape of random numbers, which determines the type of the result: sizes in a Rust array give a tensor of this
/// rank, borrowed sizes give an [`Array`].
///
/// ```
/// use polygrad::array::{Drawn, Rng};
/// use polygrad::{Array, tensor};
/// fn noise<S: Drawn>(shape: S) -> S::Out<f64> {
///     Rng::new(1).normal(shape, 0.5, 0.0)
/// }
/// assert_eq!(noise([2]), tensor([0.5, 0.5]));
/// assert_eq!(noise(&[2]), Array::from([0.5, 0.5]));
/// ```
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
/// assert_eq!(Rng::new(0).split(), Rng::new(0xe220a8397b1dcdaf));
/// assert_eq!(Rng::new(42).unit(), 0.7415648787718233);
/// assert!((0..100).all(|_| rng.below(3) < 3));
/// assert!(((0..10_000).map(|_| rng.gaussian()).sum::<f64>() / 10_000.0).abs() < 0.05);
/// ```
///
/// With the feature `rand` it is a generator of the crate `rand`: every distribution of `rand_distr` draws from it, and
/// `array::sample` makes arrays and tensors of the draws.
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
    /// Example: [`Rng`].
    pub fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    /// 64 random bits.
    ///
    /// Example: [`Rng`].
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A generator of another stream of numbers, seeded by one draw of `self`.
    ///
    /// Example: [`Rng`].
    pub fn split(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }

    /// A number uniform in `[0, 1)`: the upper 53 bits of a draw, times `2^-53`.
    ///
    /// Example: [`Rng`].
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A number of the standard normal distribution, by Marsaglia's polar method: two uniform numbers per try, about
    /// 1.27 tries on average.
    ///
    /// Example: [`Rng`].
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
    /// Example: [`Rng`].
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
    /// let mut order = Rng::new(0).permutation(4);
    /// Rng::new(1).shuffle(&mut order);
    /// order.sort();
    /// assert_eq!(order, [0, 1, 2, 3]);
    /// ```
    pub fn shuffle<X>(&mut self, items: &mut [X]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    /// The numbers `0..n` in a random order.
    ///
    /// Example: [`Rng::shuffle`].
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
    /// let drawn = [0.7415648787718233, 0.1599103928769201];
    /// assert_eq!(Rng::new(42).uniform([2], 0.0, 1.0), tensor(drawn));
    /// assert_eq!(Rng::new(42).uniform(&[2], 0.0, 1.0), Array::from(drawn));
    /// assert_eq!(Rng::new(42).uniform_as::<f64, _>([2], 0.0, 1.0), tensor(drawn));
    /// let narrow = Rng::new(42).uniform_as::<f32, _>([100], -1.0, 1.0);
    /// assert!(narrow.min_all().item() >= -1.0 && narrow.max_all().item() <= 1.0);
    /// ```
    ///
    /// # Panics
    /// When `lo` is above `hi` or one of them is not finite; when no array can have this shape, or memory for it is missing.
    #[track_caller]
    pub fn uniform<S: Drawn>(&mut self, shape: S, lo: f64, hi: f64) -> S::Out<f64> {
        self.uniform_as::<f64, S>(shape, lo, hi)
    }

    /// Floats of type `E` uniform in `[lo, hi)`; `hi` itself can only come from rounding. Each element takes one draw:
    /// its upper 24 bits for `f32`, and its upper 53 bits for `f64`.
    ///
    /// Example: [`Rng::uniform`].
    ///
    /// # Panics
    /// When `lo` is above `hi` or one of them is not finite; when no array can have this shape, or memory for it is missing.
    #[track_caller]
    pub fn uniform_as<E: Float, S: Drawn>(&mut self, shape: S, lo: f64, hi: f64) -> S::Out<E> {
        if !(lo <= hi && lo.is_finite() && hi.is_finite()) {
            panic!("uniform: needs finite bounds in order, but they are {lo} and {hi}; exchange or replace them");
        }
        let bits = if E::DTYPE == DType::F32 { 24 } else { 53 };
        let step = 1.0 / (1u64 << bits) as f64;
        S::drawn(fill(shape.sizes(), || {
            let unit = (self.next_u64() >> (64 - bits)) as f64 * step;
            E::of_f64(lo + (hi - lo) * unit)
        }))
    }

    /// Floats of type `f64` of the normal distribution with this mean and standard deviation. Sizes in a Rust array
    /// give a tensor of this rank, borrowed sizes give an [`Array`].
    ///
    /// ```
    /// use polygrad::{Array, array::Rng, tensor};
    /// assert_eq!(Rng::new(0).normal([2, 1], 1.5, 0.0), tensor([[1.5], [1.5]]));
    /// assert_eq!(Array::normal(&[3], 0.0, 1.0, 7), Rng::new(7).normal(&[3], 0.0, 1.0));
    /// let (mut rng, drawn) = (Rng::new(42), Rng::new(42).normal_as::<f32, _>([2], 0.0, 1.0));
    /// assert_eq!(drawn, tensor([rng.gaussian() as f32, rng.gaussian() as f32]));
    /// ```
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN; when no array can have this shape, or memory for it is missing.
    #[track_caller]
    pub fn normal<S: Drawn>(&mut self, shape: S, mean: f64, sd: f64) -> S::Out<f64> {
        self.normal_as::<f64, S>(shape, mean, sd)
    }

    /// Floats of type `E` of the normal distribution with this mean and standard deviation: draws of
    /// [`gaussian`](Rng::gaussian), scaled, shifted and rounded.
    ///
    /// Example: [`Rng::normal`].
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN; when no array can have this shape, or memory for it is missing.
    #[track_caller]
    pub fn normal_as<E: Float, S: Drawn>(&mut self, shape: S, mean: f64, sd: f64) -> S::Out<E> {
        if sd.is_nan() || sd < 0.0 {
            panic!("normal: needs a standard deviation of at least 0, but it is {sd}; pass its absolute value");
        }
        S::drawn(fill(shape.sizes(), || E::of_f64(mean + sd * self.gaussian())))
    }
}

/// An array of draws, in row-major order.
#[track_caller]
fn fill<E: Elem>(shape: &[usize], mut draw: impl FnMut() -> E) -> Array {
    shape::check_possible("array", shape);
    shape::check_room::<E>(shape);
    let elements = (0..shape::size(shape)).map(|_| draw()).collect();
    Array::dense(Shape::from_slice(shape), elements)
}

/// Draws of a distribution of the crates `rand` and `rand_distr` by any of their generators, such as [`Rng`], in
/// row-major order. Sizes in a Rust array give a tensor of this rank, borrowed sizes give an [`Array`].
///
/// The numbers of a seed are those of the versions of these crates: another version may have another algorithm. The
/// methods of [`Rng`] give the same numbers in every version.
///
/// ```
/// use polygrad::array::{Rng, sample};
/// use polygrad::{Concrete, Tensor};
/// use rand_distr::{Bernoulli, Poisson};
/// let mut rng = Rng::new(1);
/// let mask: Tensor<Concrete, 1, bool> = sample([5], Bernoulli::new(0.8)?, &mut rng);
/// let counts = sample::<f64, _>(&[1000], Poisson::new(3.0)?, &mut rng);
/// assert_eq!((mask.shape(), counts.shape()), ([5], &[1000][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
/// When no array can have this shape, or memory for it is missing.
#[cfg(feature = "rand")]
#[track_caller]
pub fn sample<E: Elem, S: Drawn>(
    shape: S,
    distribution: impl rand::distr::Distribution<E>,
    generator: &mut (impl rand::Rng + ?Sized),
) -> S::Out<E> {
    S::drawn(fill(shape.sizes(), || distribution.sample(generator)))
}

/// A generator of the crate `rand`, with the feature of this name. An `u32` is the upper half of a draw.
///
/// ```
/// use polygrad::array::Rng;
/// use rand::RngExt;
/// use rand_distr::Exp;
/// let mut rng = Rng::new(0);
/// let (dice, time): (u32, f64) = (rng.random_range(1..7), rng.sample(Exp::new(2.0)?));
/// assert!((1..7).contains(&dice) && time > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "rand")]
impl rand::TryRng for Rng {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next_u64().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

/// `seed_from_u64` is [`Rng::new`]; the bytes of a seed are a number, the lowest one first.
#[cfg(feature = "rand")]
impl rand::SeedableRng for Rng {
    type Seed = [u8; 8];

    fn from_seed(seed: Self::Seed) -> Self {
        Rng::new(u64::from_le_bytes(seed))
    }

    fn seed_from_u64(seed: u64) -> Self {
        Rng::new(seed)
    }
}

impl Array {
    /// An array of `f64` uniform in `[lo, hi)`: the first draws of [`Rng::new(seed)`](Rng::new).
    ///
    /// Example: [`Rng::uniform`].
    ///
    /// # Panics
    /// When `lo` is above `hi` or one of them is not finite; when no array can have this shape, or memory for it is missing.
    #[track_caller]
    pub fn uniform(shape: &[usize], lo: f64, hi: f64, seed: u64) -> Array {
        Rng::new(seed).uniform(shape, lo, hi)
    }

    /// An array of `f64` of the normal distribution with this mean and standard deviation: the first draws of
    /// [`Rng::new(seed)`](Rng::new).
    ///
    /// Example: [`Rng::normal`].
    ///
    /// # Panics
    /// When the standard deviation is negative or NaN; when no array can have this shape, or memory for it is missing.
    #[track_caller]
    pub fn normal(shape: &[usize], mean: f64, sd: f64, seed: u64) -> Array {
        Rng::new(seed).normal(shape, mean, sd)
    }
}
