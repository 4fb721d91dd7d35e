//! Float types, and machines with and without fused multiply-add.
//!
//! Law: an operation here is rounded once, so it has the same bits with and without the standard library.

use core::ops::{Add, Div, Mul, Neg, Sub};

/// Properties of a machine that are constants while a function is compiled.
pub trait Machine: Copy {
    /// Whether a fused multiply-add is one instruction.
    const FMA: bool;
}

/// A machine without fused multiply-add.
#[derive(Clone, Copy, Debug)]
pub struct WithoutFma;

impl Machine for WithoutFma {
    const FMA: bool = false;
}

/// A machine with fused multiply-add.
#[derive(Clone, Copy, Debug)]
pub struct Fused;

impl Machine for Fused {
    const FMA: bool = true;
}

/// The machine for which this crate is compiled.
#[cfg(target_feature = "fma")]
pub type Target = Fused;
/// The machine for which this crate is compiled.
#[cfg(not(target_feature = "fma"))]
pub type Target = WithoutFma;

/// A float type: `f64` or `f32`. No trait of floats in other crates has methods of these names.
pub trait Number:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The logarithm of the largest number.
    const LN_MAX: Self;
    /// The largest number.
    const MAX: Self;
    /// From this sum on, a term that is too small for the type does not change the rounded sum.
    const LEAST_SUM: Self;
    /// The nearest number of the type.
    fn literal(x: f64) -> Self;
    /// The number as `f64`, exact.
    fn wide(self) -> f64;
    /// The absolute value.
    fn magnitude(self) -> Self;
    /// The absolute value of `self` with the sign of `sign`.
    fn signed_like(self, sign: Self) -> Self;
    /// Whether the number is NaN.
    fn is_not_a_number(self) -> bool;
    /// The square root.
    fn root(self) -> Self;
    /// `self factor + sum`, rounded once.
    fn fused_multiply_add(self, factor: Self, sum: Self) -> Self;
}

macro_rules! number {
    ($F:ty, $ln_max:literal, $sqrt:path, $fma:path) => {
        impl Number for $F {
            const LN_MAX: $F = $ln_max;
            const MAX: $F = <$F>::MAX;
            const LEAST_SUM: $F = <$F>::MIN_POSITIVE / <$F>::EPSILON;
            #[inline(always)]
            fn literal(x: f64) -> $F {
                x as $F
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn magnitude(self) -> $F {
                self.abs()
            }
            #[inline(always)]
            fn signed_like(self, sign: $F) -> $F {
                self.copysign(sign)
            }
            #[inline(always)]
            fn is_not_a_number(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn root(self) -> $F {
                #[cfg(feature = "std")]
                return self.sqrt();
                #[cfg(not(feature = "std"))]
                $sqrt(self)
            }
            #[inline(always)]
            fn fused_multiply_add(self, factor: $F, sum: $F) -> $F {
                #[cfg(feature = "std")]
                return self.mul_add(factor, sum);
                #[cfg(not(feature = "std"))]
                $fma(self, factor, sum)
            }
        }
    };
}

number!(f64, 709.782_712_893_384, libm::sqrt, libm::fma);
number!(f32, 88.722_84, libm::sqrtf, libm::fmaf);

#[cfg(test)]
mod tests {
    extern crate std;

    use super::Number;

    /// Zeros, subnormal numbers, numbers whose products cancel or leave the range, infinities and NaN.
    const NUMBERS: [f64; 14] = [
        0.0,
        -0.0,
        5e-324,
        -1e-310,
        f64::MIN_POSITIVE,
        1e-160,
        1.0 - f64::EPSILON,
        -1.0 - f64::EPSILON,
        0.1,
        3e153,
        -f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    /// With the feature `std` this compares the standard library with itself.
    #[test]
    fn roots_and_products_are_those_of_the_standard_library() {
        let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
        for x in NUMBERS {
            let narrow = x as f32;
            assert!(same(x.root(), x.sqrt()), "{x}");
            assert!(same(narrow.root().into(), narrow.sqrt().into()), "{narrow}");
            for (y, z) in NUMBERS.iter().flat_map(|y| NUMBERS.map(|z| (*y, z))) {
                assert!(same(x.fused_multiply_add(y, z), x.mul_add(y, z)), "{x} {y} {z}");
                let (y, z) = (y as f32, z as f32);
                assert!(same(narrow.fused_multiply_add(y, z).into(), narrow.mul_add(y, z).into()), "{narrow} {y} {z}");
            }
        }
    }

    #[test]
    fn largest_numbers_have_the_stated_logarithms() {
        assert_eq!(f64::LN_MAX, f64::MAX.ln());
        assert_eq!(f32::LN_MAX, f32::MAX.ln());
    }
}
