//! Random numbers as operations: keys are data, and a draw is a function of a key and a shape.
//!
//! A [`Key`] is 64 bits. A draw is a row of the language at a key and at counters (Threefry-2x32,
//! [`threefry`](crate::ops::threefry)), so it has no state: the same key and shape give the same numbers in each run, on
//! any number of threads, in loops, in batches, recorded, exported and emitted. Other numbers need another key: of
//! [`split`](Key::split), or of [`fold_in`](Key::fold_in) with the number of a trip. Laws: keys and [`bits`](Key::bits)
//! are those of `jax.random` for the same key, so are [`uniform`](Key::uniform) and
//! [`permutation`](Key::permutation), and normal numbers and others are the same formulas of them; a draw is a constant for differentiation, and the derivative of a sample
//! in the parameters of its distribution is that of the formula (reparametrised draws), or does not exist.
//!
//! ```
//! use polygrad::random::Key;
//! use polygrad::{BaseTensor, Concrete, Function, Tensor, tensor};
//!
//! /// The mean of a noisy loss: each run with another key draws other noise.
//! fn loss<T: BaseTensor>(w: &Tensor<T, 1>, key: &Key<T>) -> Tensor<T, 0> {
//!     let [noise, mask] = key.split();
//!     let kept = mask.bernoulli(&Tensor::full(w.shape(), 0.75)).select(w / 0.75, 0.0);
//!     (kept + noise.normal(w.shape()) * 0.1).square().sum()
//! }
//!
//! let mut key = Key::<Concrete>::new(1);
//! let mut w = tensor([1.0, 2.0, 3.0, 4.0]);
//! let step = Function::value_and_grad_with(|w, key| loss(w, key), &w, &key);
//! for _ in 0..20 {
//!     let [next, now] = key.split();
//!     let (_, slope) = step.run_with(&w, &now).unwrap();
//!     w = w - slope * 0.05;
//!     key = next;
//! }
//! assert!(w.norm().item() < 1.0);
//! ```
//!
//! | draw | derivative in its parameters |
//! |---|---|
//! | [`bits`](Key::bits), [`bits32`](Key::bits32), [`integers`](Key::integers), [`permutation`](Key::permutation), [`shuffle`](Key::shuffle), [`choice`](Key::choice) | none: integers, positions |
//! | [`uniform`](Key::uniform), [`normal`](Key::normal), [`exponential`](Key::exponential), [`gumbel`](Key::gumbel) | standard ones: scale and shift the draw |
//! | [`uniform_between`](Key::uniform_between), [`truncated_normal`](Key::truncated_normal) | in both bounds |
//! | [`gamma`](Key::gamma), [`beta`](Key::beta) | in the shapes, by implicit reparametrisation |
//! | [`bernoulli`](Key::bernoulli), [`categorical`](Key::categorical) | none: masks and positions |

mod draws;
mod gamma;

use crate::base::BaseTensor;
use crate::ops::IntBinary;
use crate::shape::{check_possible, size};
use crate::tensor::{Operand, Tensor};
use crate::tree::Tree;

/// A key of random numbers: 64 bits, which are data of a program.
///
/// A key is used once: for one draw, or to make other keys. Two draws of one key are the same numbers in each place.
///
/// ```
/// use polygrad::random::Key;
/// use polygrad::{Concrete, tensor};
/// let key = Key::<Concrete>::new(42);
/// // As of `jax.random.key(42)`.
/// assert_eq!(key.bits32([2]), tensor([2098992034, 2919706841]));
/// assert_eq!(Key::from_tensor(key.clone().into_tensor()), key);
/// assert_ne!(key.bits([2]).at([0]), key.bits([2]).at([1]));
/// ```
#[derive(Tree, Clone, Debug, PartialEq)]
pub struct Key<T: BaseTensor> {
    /// The two words of 32 bits, the first word above.
    word: Tensor<T, 0, i64>,
}

impl<T: BaseTensor> Key<T> {
    /// The key of a number, as of `jax.random.key`. A key that is made in a recorded program is a constant of it, so
    /// each run draws the same numbers: pass the key as an argument for other ones.
    ///
    /// Example: [`Key`].
    #[track_caller]
    pub fn new(seed: i64) -> Key<T> {
        Key { word: Tensor::constant(seed) }
    }

    /// The key with these 64 bits: of [`into_tensor`](Key::into_tensor), or an element of [`keys`](Key::keys).
    ///
    /// Example: [`Key`].
    pub fn from_tensor(word: Tensor<T, 0, i64>) -> Key<T> {
        Key { word }
    }

    /// The 64 bits of the key: the two words of `jax.random.key_data`, the first one above.
    ///
    /// Example: [`Key`].
    pub fn into_tensor(self) -> Tensor<T, 0, i64> {
        self.word
    }

    /// `N` keys, independent of each other and of `self`, as of `jax.random.split`.
    ///
    /// Example: [`Key::keys`].
    #[track_caller]
    pub fn split<const N: usize>(&self) -> [Key<T>; N] {
        std::array::from_fn(|k| self.fold_in(k as i64))
    }

    /// The keys of [`split`](Key::split) for a number that is known at run time, for a loop over keys.
    ///
    /// ```
    /// use polygrad::random::Key;
    /// use polygrad::{Concrete, Tensor, map};
    /// let key = Key::<Concrete>::new(0);
    /// let [first, second, _] = key.split();
    /// assert_ne!(first.uniform([3]), second.uniform([3]));
    /// let rows: Tensor<Concrete, 2> = map(&key.keys(3), |key: &Tensor<_, 0, i64>| Key::from_tensor(key.clone()).normal([4]));
    /// assert_eq!(rows.row(1), second.normal([4]));
    /// assert_ne!(key.fold_in(0).uniform([2]), key.fold_in(1).uniform([2]));
    /// ```
    ///
    /// # Panics
    /// When no array can have this size.
    #[track_caller]
    pub fn keys(&self, n: usize) -> Tensor<T, 1, i64> {
        self.blocks("keys", [n])
    }

    /// The key for a number, such as that of a trip or of a step, as of `jax.random.fold_in` for numbers from 0 to
    /// `2^32 - 1`. Distinct numbers give distinct keys.
    ///
    /// Example: [`Key::keys`].
    #[track_caller]
    pub fn fold_in(&self, number: impl Operand<T, 0, i64>) -> Key<T> {
        Key { word: self.word.int_binary(IntBinary::Threefry, number) }
    }

    /// 64 random bits for each element, as integers: `jax.random.bits` of 64 bits.
    ///
    /// Example: [`Key`].
    ///
    /// # Panics
    /// When no array can have this shape; the same holds for all draws.
    #[track_caller]
    pub fn bits<const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D, i64> {
        self.blocks("bits", shape)
    }

    /// 32 random bits for each element, as integers from 0 to `2^32 - 1`: `jax.random.bits` of 32 bits.
    ///
    /// Example: [`Key`].
    #[track_caller]
    pub fn bits32<const D: usize>(&self, shape: [usize; D]) -> Tensor<T, D, i64> {
        self.folded("bits32", shape, 0)
    }

    /// The block for each position in row-major order.
    #[track_caller]
    fn blocks<const D: usize>(&self, op: &str, shape: [usize; D]) -> Tensor<T, D, i64> {
        check_possible(op, &shape);
        let counters = Tensor::<T, 1, i64>::iota(size(&shape));
        self.word.up_to(&counters).int_binary(IntBinary::Threefry, &counters).reshape(shape)
    }

    /// Both words of each block, exclusive or, without the lowest `without` of 32 bits.
    #[track_caller]
    fn folded<const D: usize>(&self, op: &str, shape: [usize; D], without: i64) -> Tensor<T, D, i64> {
        let blocks = self.blocks(op, shape);
        let both = blocks.bit_xor(blocks.shr(32));
        both.shr(without).bit_and((1 << (32 - without)) - 1)
    }
}
