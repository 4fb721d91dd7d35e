//! Draws of distributions: formulas of uniform numbers.
//!
//! Law: each formula is that of `jax.random`, so that the same key gives the same numbers, up to the rounding of the
//! functions in the formula. What is reparametrised is differentiable in its parameters.

use super::Key;
use crate::base::BaseTensor;
use crate::dtype::{DType, Elem, Float};
use crate::shape::Show;
use crate::tensor::{Above, Rank, Tensor};

impl<T: BaseTensor> Key<T> {
    /// Numbers of type `f64`, uniform in `[0, 1)`: the upper 52 of 64 random bits, times `2^-52`.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, Tensor, tensor};
    /// // As of `jax.random.uniform(jax.random.key(42), (2,))`.
    /// let drawn = Key::<Concrete>::new(42).uniform([2]);
    /// assert_eq!(drawn, tensor([0.4267275666499091, 0.015010069515314584]));
    /// let x: Tensor<Concrete, 1, f32> = Key::new(42).uniform_as([1000]);
    /// assert!(x.min_all().item() >= 0.0 && x.max_all().item() < 1.0 && (x.mean().item() - 0.5).abs() < 0.05);
    /// ```
    #[track_caller]
    pub fn uniform<const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D> {
        self.uniform_as(shape)
    }

    /// [`uniform`](Key::uniform) of type `E`; in `f32` the upper 23 of 32 random bits, times `2^-23`.
    ///
    /// Example: [`Key::uniform`].
    #[track_caller]
    pub fn uniform_as<E: Float, const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D, E> {
        // As many bits as there are in a fraction.
        let (whole, places) = match E::DTYPE {
            DType::F32 => (self.folded("uniform", shape, 9), 23),
            DType::F64 | DType::I64 | DType::Bool => (self.bits(shape).shr(12), 52),
        };
        whole.to_float().scale(0.5_f64.powi(places))
    }

    /// Numbers uniform between two tensors of bounds, `lo + (hi - lo) u`, with derivatives in both.
    ///
    /// Example: [`Key::truncated_normal`].
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn uniform_between<E: Float, const D: usize>(
        &self,
        lo: &Tensor<T, D, E>,
        hi: &Tensor<T, D, E>,
    ) -> Tensor<T, D, E> {
        same_shapes("uniform_between", lo, hi);
        self.uniform_as::<E, D>(lo.shape()) * (hi - lo) + lo
    }

    /// Numbers of type `f64` of the standard normal distribution: `2^(1/2) erfinv u` for `u` uniform in `(-1, 1)`.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, Tensor};
    /// let key = Key::<Concrete>::new(1);
    /// let mean = |x: Tensor<Concrete, 1>| x.mean().item();
    /// let x = key.normal([10_000]);
    /// assert!((mean(x.square()) - 1.0).abs() < 0.05 && mean(x).abs() < 0.05);
    /// assert!((mean(key.exponential([10_000])) - 1.0).abs() < 0.05);
    /// // The mean of the Gumbel distribution is Euler's constant.
    /// assert!((mean(key.gumbel([10_000])) - 0.5772).abs() < 0.05);
    /// // Of any float type.
    /// let mean = |x: Tensor<Concrete, 1, f32>| x.mean().item();
    /// assert!(mean(key.normal_as([10_000])).abs() < 0.05 && (mean(key.exponential_as([10_000])) - 1.0).abs() < 0.05);
    /// assert!((mean(key.gumbel_as([10_000])) - 0.5772).abs() < 0.05);
    /// ```
    #[track_caller]
    pub fn normal<const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D> {
        self.normal_as(shape)
    }

    /// [`normal`](Key::normal) of type `E`.
    ///
    /// Example: [`Key::normal`].
    #[track_caller]
    pub fn normal_as<E: Float, const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D, E> {
        // The next number above -1, so that u is neither -1 nor 1.
        let least = E::epsilon() / (E::ONE + E::ONE) - E::ONE;
        let u = self.uniform_as::<E, D>(shape) * (E::ONE + E::ONE) + least;
        u.erfinv() * root_of_two::<E>()
    }

    /// Numbers of the standard normal distribution that lie between two tensors of bounds, with derivatives in both:
    /// `2^(1/2) erfinv u` for `u` uniform between `erf (lo / 2^(1/2))` and `erf (hi / 2^(1/2))`.
    ///
    /// The bounds may be infinite. A draw is between its bounds, but not close to its distribution if both are beyond
    /// `8` in `f64`, or `5` in `f32`, on one side: `erf` is 1 there, up to rounding.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, tensor};
    /// let (key, lo, hi) = (Key::<Concrete>::new(1), tensor([0.0, -1.0]), tensor([f64::INFINITY, -0.5]));
    /// let x = key.truncated_normal(&lo, &hi);
    /// assert!(x.gt(&lo).all().item() && x.lt(&hi).all().item());
    /// let y = key.uniform_between(&tensor([-1.0, 5.0]), &tensor([1.0, 5.5]));
    /// assert!(y.ge(tensor([-1.0, 5.0])).all().item() && y.lt(tensor([1.0, 5.5])).all().item());
    /// ```
    ///
    /// # Panics
    /// When the shapes differ.
    #[track_caller]
    pub fn truncated_normal<E: Float, const D: usize>(
        &self,
        lo: &Tensor<T, D, E>,
        hi: &Tensor<T, D, E>,
    ) -> Tensor<T, D, E> {
        same_shapes("truncated_normal", lo, hi);
        let root = root_of_two::<E>();
        let [a, b] = [lo, hi].map(|bound| (bound / root).erf());
        let x = self.uniform_between(&a, &b).erfinv() * root;
        x.max(lo).min(hi)
    }

    /// Numbers of type `f64` of the exponential distribution with rate 1: `-ln(1 - u)`.
    ///
    /// Example: [`Key::normal`].
    #[track_caller]
    pub fn exponential<const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D> {
        self.exponential_as(shape)
    }

    /// [`exponential`](Key::exponential) of type `E`.
    ///
    /// Example: [`Key::normal`].
    #[track_caller]
    pub fn exponential_as<E: Float, const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D, E> {
        -(-self.uniform_as::<E, D>(shape)).log1p()
    }

    /// Numbers of type `f64` of the standard Gumbel distribution, `-ln(-ln u)`: the largest of `l_i + g_i` is at `i`
    /// with a probability proportional to `exp l_i`.
    ///
    /// Example: [`Key::normal`].
    #[track_caller]
    pub fn gumbel<const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D> {
        self.gumbel_as(shape)
    }

    /// [`gumbel`](Key::gumbel) of type `E`.
    ///
    /// Example: [`Key::normal`].
    #[track_caller]
    pub fn gumbel_as<E: Float, const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D, E> {
        let u = self.uniform_as::<E, D>(shape) + E::min_positive_value();
        -(-u.ln()).ln()
    }

    /// A mask that holds with the probability in each place. Derivative 0.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, tensor};
    /// let key = Key::<Concrete>::new(1);
    /// assert_eq!(key.bernoulli(&tensor([0.0, 1.0])), tensor([false, true]));
    /// assert_eq!(key.categorical(&tensor([[0.0, 1e3], [1e3, 0.0]])), tensor([1, 0]));
    /// let dice = key.integers([100], 1, 7);
    /// assert!(dice.ge(1).all().item() && dice.lt(7).all().item());
    /// ```
    #[track_caller]
    pub fn bernoulli<E: Float, const D: usize>(&self, p: &Tensor<T, D, E>) -> Tensor<T, D, bool> {
        self.uniform_as::<E, D>(p.shape()).lt(p)
    }

    /// Positions along the last axis with probabilities proportional to `exp logits`. Derivative 0.
    ///
    /// Example: [`Key::bernoulli`].
    ///
    /// # Panics
    /// When the last axis has size 0.
    #[track_caller]
    pub fn categorical<E: Float, const D: usize, const M: usize>(&self, logits: &Tensor<T, D, E>) -> Tensor<T, M, i64>
    where
        Rank<D>: Above<M>,
    {
        (self.gumbel_as::<E, D>(logits.shape()) + logits).argmax_axis(D - 1)
    }

    /// Integers uniform from `lo` to `hi - 1`: the remainders of 63 random bits, so that no integer is more probable
    /// than another by more than one part in `2^31`.
    ///
    /// Example: [`Key::bernoulli`].
    ///
    /// # Panics
    /// When `lo` is not below `hi`, or the integers are more than `2^32`.
    #[track_caller]
    pub fn integers<const D: usize>(&self, shape: [usize; D], lo: i64, hi: i64) -> Tensor<T, D, i64> {
        let span = i128::from(hi) - i128::from(lo);
        if !(1..=1 << 32).contains(&span) {
            panic!(
                "integers: needs 1 to 2^32 integers from the first bound to below the second, but the bounds are {lo} \
                 and {hi}; exchange them, or draw bits"
            );
        }
        self.bits(shape).shr(1).rem(span as i64) + lo
    }

    /// The integers from 0 to `n - 1` in a random order, sorted by random bits as in `jax.random.permutation`.
    ///
    /// Example: [`Key::choice`].
    #[track_caller]
    pub fn permutation(&self, n: usize) -> Tensor<T, 1, i64> {
        let mut order = Tensor::iota(n);
        let mut key = self.clone();
        // Bits may be equal: with this number of rounds, the order of equal ones has no weight.
        let rounds = (3.0 * (n.max(1) as f64).ln() / f64::from(u32::MAX).ln()).ceil() as usize;
        for _ in 0..rounds {
            let [next, now] = key.split();
            order = order.take(&now.bits32([n]).argsort(0));
            key = next;
        }
        order
    }

    /// The rows along the outermost axis in a random order.
    ///
    /// Example: [`Key::choice`].
    #[track_caller]
    pub fn shuffle<E: Elem, const D: usize, const M: usize>(&self, x: &Tensor<T, D, E>) -> Tensor<T, D, E>
    where
        Rank<D>: Above<M>,
    {
        x.take::<M>(&self.permutation(x.shape()[0]))
    }

    /// `k` distinct integers from 0 to `n - 1`, in a random order.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, tensor};
    /// let key = Key::<Concrete>::new(1);
    /// let few = key.choice(100, 5).to_vec();
    /// assert!(few.len() == 5 && few.iter().all(|k| (0..100).contains(k)));
    /// assert_eq!(key.permutation(4).sort(0), tensor([0, 1, 2, 3]));
    /// assert_eq!(key.shuffle(&tensor([1.0, 2.0, 4.0])).sort(0), tensor([1.0, 2.0, 4.0]));
    /// ```
    ///
    /// # Panics
    /// When `k` is above `n`.
    #[track_caller]
    pub fn choice(&self, n: usize, k: usize) -> Tensor<T, 1, i64> {
        if k > n {
            panic!("choice: needs at most as many as there are, but it is {k} of {n}; draw `integers` with repetition");
        }
        self.permutation(n).slice(0, ..k)
    }
}

/// `2^(1/2)`, rounded.
fn root_of_two<E: Float>() -> E {
    E::of_f64(2.0).sqrt()
}

/// Panics unless parameters have one shape.
#[track_caller]
pub(super) fn same_shapes<T: BaseTensor, E: Float, const D: usize>(op: &str, a: &Tensor<T, D, E>, b: &Tensor<T, D, E>) {
    if a.shape() != b.shape() {
        panic!(
            "{op}: both parameters must have one shape, but they are {} and {}; broadcast one",
            Show(&a.shape()),
            Show(&b.shape())
        );
    }
}
