//! The language in which the algorithms of this crate are written: numbers, masks, words, and control.
//!
//! Law: an operation here is rounded once, so it has the same bits with and without the standard library. An algorithm
//! is one function, generic in the number: at `f64` and `f32` it is compiled; an instance that records operations
//! prints it as source code. Control that depends on numbers is therefore an operation, too.

use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use crate::elementary::Tables;
use crate::rows;

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

/// A float type, `f64` or `f32`, with the constants of the algorithms.
pub trait Format: Tables + Number<Float = Self, Mask = bool, Wide = f64> {
    /// The logarithm of the largest number.
    const LN_MAX: Self;
    /// The largest number.
    const MAX: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// From this sum on, a term that is too small for the type does not change the rounded sum.
    const LEAST_SUM: Self;
    /// `self factor + sum`, rounded once.
    fn fused_multiply_add(self, factor: Self, sum: Self) -> Self;
}

/// What comparisons give: a truth value.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {}

impl Mask for bool {}

/// The bits of a number as an unsigned integer.
pub trait Word:
    Copy
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// The low bits of an integer.
    fn literal(x: u64) -> Self;
    /// The sum, which wraps.
    fn plus(self, other: Self) -> Self;
    /// The difference, which wraps.
    fn minus(self, other: Self) -> Self;
}

/// A word of 64 bits, which is two words of half its size.
pub trait WideWord: Word {
    /// A word of 32 bits.
    type Half: Word;
    /// The upper and the lower half.
    fn halves(self) -> [Self::Half; 2];
    /// The word with an upper and a lower half.
    fn of_halves(halves: [Self::Half; 2]) -> Self;
}

impl WideWord for u64 {
    type Half = u32;
    #[inline(always)]
    fn halves(self) -> [u32; 2] {
        [(self >> 32) as u32, self as u32]
    }
    #[inline(always)]
    fn of_halves([upper, lower]: [u32; 2]) -> u64 {
        (u64::from(upper) << 32) | u64::from(lower)
    }
}

/// A function of the mathematical library, in double precision. Source code may have another library, and other last
/// digits. Closed: what the algorithms leave to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names of rows")]
pub enum Library {
    Ln,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Sinh,
    Cosh,
    Pow,
    Atan2,
    Hypot,
    /// To the bits of `libm`, like the following ones.
    LnOfLibm,
    Erfc,
    Lgamma,
}

impl Library {
    /// The name of the row.
    pub fn name(self) -> &'static str {
        match self {
            Library::Ln => "ln",
            Library::Log1p => "log1p",
            Library::Sin => "sin",
            Library::Cos => "cos",
            Library::Tan => "tan",
            Library::Asin => "asin",
            Library::Acos => "acos",
            Library::Sinh => "sinh",
            Library::Cosh => "cosh",
            Library::Pow => "pow",
            Library::Atan2 => "atan2",
            Library::Hypot => "hypot",
            Library::LnOfLibm => "ln",
            Library::Erfc => "erfc",
            Library::Lgamma => "lgamma",
        }
    }
}

/// A function with a name, which source code defines once. It is a type and not a closure, since a closure need not be
/// inlined, and is then compiled without the instructions of its caller.
pub trait Definition<E, const N: usize> {
    /// The name, without marks for the type and the machine.
    const NAME: &'static str;
    /// What the function computes; may be empty.
    const SAYS: &'static str;
    /// Whether fused multiply-add is used where the machine has it.
    const FUSED: bool;
    /// The function.
    fn of(x: [E; N]) -> E;
}

/// Calls a function with a name: the number type with its bound, the machine, the name, what it says, the arguments, and
/// the body, an item that is always inlined.
macro_rules! call {
    ($E:ty: $Bound:ident, WithoutFma, $name:literal, $says:expr, [$($x:expr),*], $($body:ident)::+) => {
        call!(@ $E: $Bound, $crate::WithoutFma, $name, $says, [$($x),*], $($body)::+, <E>)
    };
    ($E:ty: $Bound:ident, $M:ty, $name:literal, $says:expr, [$($x:expr),*], $($body:ident)::+) => {
        call!(@ $E: $Bound, $M, $name, $says, [$($x),*], $($body)::+, <E, M>)
    };
    (@ $E:ty: $Bound:ident, $M:ty, $name:literal, $says:expr, [$($x:expr),*], $($body:ident)::+, $($types:tt)*) => {{
        struct Here<M>(core::marker::PhantomData<M>);
        impl<E: $crate::number::$Bound, M: $crate::Machine>
            $crate::number::Definition<E, { [$(stringify!($x)),*].len() }> for Here<M>
        {
            const NAME: &'static str = $name;
            const SAYS: &'static str = $says;
            const FUSED: bool = M::FMA;
            #[inline(always)]
            fn of(x: [E; [$(stringify!($x)),*].len()]) -> E {
                $($body)::+ :: $($types)* (x)
            }
        }
        <$E as $crate::Number>::function::<Here<$M>, { [$(stringify!($x)),*].len() }>([$($x),*])
    }};
}
pub(crate) use call;

/// What algorithms on matrices ask of numbers: a float, several in the lanes of a vector, or what stands for one. No trait
/// of floats in other crates has methods of these names.
pub trait Arithmetic:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// What comparisons give.
    type Mask: Mask;

    /// The nearest number of the type.
    fn literal(x: f64) -> Self;
    /// The absolute value.
    fn magnitude(self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// What rounding lost in a product: `a b - product`, where the product is `a b`, rounded.
    fn product_error<M: Machine>(a: Self, b: Self, product: Self) -> Self;

    /// Whether the number is less.
    fn below(self, other: Self) -> Self::Mask;
    /// Whether the number is less or equal.
    fn at_most(self, other: Self) -> Self::Mask;
    /// Whether the number is greater.
    fn above(self, other: Self) -> Self::Mask;
    /// Whether the number is greater or equal.
    fn at_least(self, other: Self) -> Self::Mask;
    /// Whether numbers are equal.
    fn equals(self, other: Self) -> Self::Mask;
    /// Whether the number is NaN.
    fn is_not_a_number(self) -> Self::Mask;

    /// The first number where the mask holds, or else the second.
    fn select(mask: Self::Mask, x: Self, y: Self) -> Self;
}

/// A number: one of a float type, or what stands for one.
pub trait Number: Arithmetic {
    /// The float type.
    type Float: Format;
    /// The bits of a number.
    type Word: Word;
    /// Numbers of double precision.
    type Wide: Double<Mask = Self::Mask>;
    /// A choice of which not both results are computed yet.
    type Branch;

    /// A constant.
    fn constant(x: Self::Float) -> Self;
    /// The number in double precision, exact.
    fn wide(self) -> Self::Wide;
    /// The nearest number of the type to one of double precision.
    fn narrow(x: Self::Wide) -> Self;

    /// The absolute value of `self` with the sign of `sign`.
    fn signed_like(self, sign: Self) -> Self;
    /// The largest integer that is not above.
    fn floor_of(self) -> Self;
    /// The smallest integer that is not below.
    fn ceil_of(self) -> Self;
    /// The nearest integer; halves are rounded away from zero.
    fn round_of(self) -> Self;
    /// `a b + c`, rounded once where the machine has an instruction for that.
    #[inline(always)]
    fn multiply_add<M: Machine>(a: Self, b: Self, c: Self) -> Self {
        a * b + c
    }
    /// A function of the mathematical library.
    fn by_library<const N: usize>(function: Library, x: [Self::Wide; N]) -> Self::Wide;

    /// What the first function gives where the mask holds, or else the second; the other one is not called.
    fn choose(mask: Self::Mask, x: impl FnOnce() -> Self, y: impl FnOnce() -> Self) -> Self;
    /// A choice between what is computed from here to `otherwise`, where the mask holds, and what is computed from there
    /// to `join`. Machines compute both, so loops are vectorised, and source code one of them.
    fn branch(mask: Self::Mask) -> Self::Branch;
    /// Ends the first result.
    fn otherwise(branch: Self::Branch, x: Self) -> Self::Branch;
    /// Ends the second result, and chooses.
    fn join(branch: Self::Branch, y: Self) -> Self;
    /// A step from a state to the next one, while a mask holds.
    fn repeat<const N: usize>(
        state: [Self; N],
        holds: impl Fn([Self; N]) -> Self::Mask,
        step: impl Fn([Self; N]) -> [Self; N],
    ) -> [Self; N];
    /// A function with a name.
    fn function<D: Definition<Self, N>, const N: usize>(x: [Self; N]) -> Self;

    /// The bits.
    fn word(self) -> Self::Word;
    /// The number with these bits.
    fn of_word(bits: Self::Word) -> Self;
}

/// Numbers of double precision.
pub trait Double: Number<Float = f64, Wide = Self> {}

impl<E: Number<Float = f64, Wide = E>> Double for E {}

/// The error of a product on a machine without fused multiply-add.
#[inline(always)]
fn product_error<E: Number>(a: E, b: E, product: E) -> E {
    if size_of::<E::Float>() == size_of::<f32>() {
        return E::narrow(a.wide() * b.wide() - product.wide());
    }
    // Veltkamp's splitting: products of halves of 26 bits are exact.
    let (wide_a, wide_b) = (a * E::literal(134_217_729.0), b * E::literal(134_217_729.0));
    let (a0, b0) = (wide_a - (wide_a - a), wide_b - (wide_b - b));
    let (a1, b1) = (a - a0, b - b0);
    ((a0 * b0 - product) + a0 * b1 + a1 * b0) + a1 * b1
}

/// The error of a product on a machine without fused multiply-add: see [`Arithmetic::product_error`].
pub struct ProductError;

impl<E: Number> Definition<E, 3> for ProductError {
    const NAME: &'static str = "product_error";
    const SAYS: &'static str = "What rounding lost in a product.";
    const FUSED: bool = false;
    #[inline(always)]
    fn of([a, b, product]: [E; 3]) -> E {
        product_error(a, b, product)
    }
}

macro_rules! number {
    ($F:ty, $U:ty, $ln_max:literal, $sqrt:path, $fma:path) => {
        impl Format for $F {
            const LN_MAX: $F = $ln_max;
            const MAX: $F = <$F>::MAX;
            const MIN_POSITIVE: $F = <$F>::MIN_POSITIVE;
            const LEAST_SUM: $F = <$F>::MIN_POSITIVE / <$F>::EPSILON;
            #[inline(always)]
            fn fused_multiply_add(self, factor: $F, sum: $F) -> $F {
                #[cfg(feature = "std")]
                return self.mul_add(factor, sum);
                #[cfg(not(feature = "std"))]
                $fma(self, factor, sum)
            }
        }

        impl Word for $U {
            #[inline(always)]
            fn literal(x: u64) -> $U {
                x as $U
            }
            #[inline(always)]
            fn plus(self, other: $U) -> $U {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: $U) -> $U {
                self.wrapping_sub(other)
            }
        }

        impl Arithmetic for $F {
            type Mask = bool;
            #[inline(always)]
            fn literal(x: f64) -> $F {
                x as $F
            }
            #[inline(always)]
            fn magnitude(self) -> $F {
                self.abs()
            }
            #[inline(always)]
            fn root(self) -> $F {
                #[cfg(feature = "std")]
                return self.sqrt();
                #[cfg(not(feature = "std"))]
                $sqrt(self)
            }
            #[inline(always)]
            fn product_error<M: Machine>(a: $F, b: $F, product: $F) -> $F {
                if M::FMA { a.fused_multiply_add(b, -product) } else { product_error(a, b, product) }
            }
            #[inline(always)]
            fn below(self, other: $F) -> bool {
                self < other
            }
            #[inline(always)]
            fn at_most(self, other: $F) -> bool {
                self <= other
            }
            #[inline(always)]
            fn above(self, other: $F) -> bool {
                self > other
            }
            #[inline(always)]
            fn at_least(self, other: $F) -> bool {
                self >= other
            }
            #[inline(always)]
            fn equals(self, other: $F) -> bool {
                self == other
            }
            #[inline(always)]
            fn is_not_a_number(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn select(mask: bool, x: $F, y: $F) -> $F {
                if mask { x } else { y }
            }
        }

        impl Number for $F {
            type Float = $F;
            type Word = $U;
            type Wide = f64;
            type Branch = (bool, $F);
            #[inline(always)]
            fn constant(x: $F) -> $F {
                x
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn narrow(x: f64) -> $F {
                x as $F
            }
            #[inline(always)]
            fn signed_like(self, sign: $F) -> $F {
                self.copysign(sign)
            }
            #[inline(always)]
            fn floor_of(self) -> $F {
                rows::floor(self.wide()) as $F
            }
            #[inline(always)]
            fn ceil_of(self) -> $F {
                rows::ceil(self.wide()) as $F
            }
            #[inline(always)]
            fn round_of(self) -> $F {
                rows::round(self.wide()) as $F
            }
            #[inline(always)]
            fn multiply_add<M: Machine>(a: $F, b: $F, c: $F) -> $F {
                if M::FMA { a.fused_multiply_add(b, c) } else { a * b + c }
            }
            #[inline(always)]
            fn by_library<const N: usize>(function: Library, x: [f64; N]) -> f64 {
                match function {
                    Library::Ln | Library::LnOfLibm => rows::ln(x[0]),
                    Library::Erfc => rows::erfc(x[0]),
                    Library::Lgamma => libm::lgamma(x[0]),
                    Library::Log1p => rows::log1p(x[0]),
                    Library::Sin => rows::sin(x[0]),
                    Library::Cos => rows::cos(x[0]),
                    Library::Tan => rows::tan(x[0]),
                    Library::Asin => rows::asin(x[0]),
                    Library::Acos => rows::acos(x[0]),
                    Library::Sinh => rows::sinh(x[0]),
                    Library::Cosh => rows::cosh(x[0]),
                    Library::Pow => rows::pow(x[0], x[1]),
                    Library::Atan2 => rows::atan2(x[0], x[1]),
                    Library::Hypot => rows::hypot(x[0], x[1]),
                }
            }
            #[inline(always)]
            fn choose(mask: bool, x: impl FnOnce() -> $F, y: impl FnOnce() -> $F) -> $F {
                if mask { x() } else { y() }
            }
            #[inline(always)]
            fn branch(mask: bool) -> (bool, $F) {
                (mask, 0.0)
            }
            #[inline(always)]
            fn otherwise((mask, _): (bool, $F), x: $F) -> (bool, $F) {
                (mask, x)
            }
            #[inline(always)]
            fn join((mask, x): (bool, $F), y: $F) -> $F {
                if mask { x } else { y }
            }
            #[inline(always)]
            fn repeat<const N: usize>(
                mut state: [$F; N],
                holds: impl Fn([$F; N]) -> bool,
                step: impl Fn([$F; N]) -> [$F; N],
            ) -> [$F; N] {
                while holds(state) {
                    state = step(state);
                }
                state
            }
            #[inline(always)]
            fn function<D: Definition<$F, N>, const N: usize>(x: [$F; N]) -> $F {
                D::of(x)
            }
            #[inline(always)]
            fn word(self) -> $U {
                self.to_bits()
            }
            #[inline(always)]
            fn of_word(bits: $U) -> $F {
                <$F>::from_bits(bits)
            }
        }
    };
}

number!(f64, u64, 709.782_712_893_384, libm::sqrt, libm::fma);
number!(f32, u32, 88.722_84, libm::sqrtf, libm::fmaf);

#[cfg(test)]
mod tests {
    extern crate std;

    use super::{Arithmetic, Format};

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
