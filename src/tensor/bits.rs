//! Integers as 64 bits in two's complement.
//!
//! Law: each method is a row of [`IntBinary`] or [`IntUnary`], so it is total, and has derivative 0.

use super::Tensor;
use super::operators::Operand;
use crate::base::BaseTensor;
use crate::ops::{Discrete, IntBinary, IntUnary};

/// Operations on the bits of integers.
impl<T: BaseTensor, const D: usize> Tensor<T, D, i64> {
    /// The bits that both have.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([12, -1]);
    /// assert_eq!((x.bit_and(10), x.bit_or(10)), (tensor([8, 10]), tensor([14, -1])));
    /// assert_eq!((x.bit_xor(10), x.bit_not()), (tensor([6, -11]), tensor([-13, 0])));
    /// ```
    #[track_caller]
    pub fn bit_and(&self, other: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::BitAnd, other)
    }

    /// The bits that one of both has.
    ///
    /// Example: [`Tensor::bit_and`].
    #[track_caller]
    pub fn bit_or(&self, other: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::BitOr, other)
    }

    /// The bits that exactly one of both has.
    ///
    /// Example: [`Tensor::bit_and`].
    #[track_caller]
    pub fn bit_xor(&self, other: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::BitXor, other)
    }

    /// Each bit inverted: `-1 - x`.
    ///
    /// Example: [`Tensor::bit_and`].
    #[track_caller]
    pub fn bit_not(&self) -> Self {
        Tensor::from_raw(T::discrete(&Discrete::IntUnary(IntUnary::BitNot), &[self.raw()]))
    }

    /// The bits moved up by the given number of places; 0 for a number outside `0..64`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([3, 3, 3]).shl(&tensor([1, 64, -1])), tensor([6, 0, 0]));
    /// assert_eq!(tensor([6, -1, 6]).shr(&tensor([1, 60, 64])), tensor([3, 15, 0]));
    /// assert_eq!(tensor([6, -3, -3]).shr_signed(&tensor([1, 1, 64])), tensor([3, -2, -1]));
    /// ```
    #[track_caller]
    pub fn shl(&self, places: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::Shl, places)
    }

    /// The bits moved down by the given number of places, with zeros from above; 0 for a number outside `0..64`.
    ///
    /// Example: [`Tensor::shl`].
    #[track_caller]
    pub fn shr(&self, places: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::Shr, places)
    }

    /// `x / 2^places` rounded down, with copies of the sign from above; the sign, 0 or -1, for a number of places
    /// outside `0..64`.
    ///
    /// Example: [`Tensor::shl`].
    #[track_caller]
    pub fn shr_signed(&self, places: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::ShrSigned, places)
    }
}
