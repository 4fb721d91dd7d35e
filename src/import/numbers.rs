//! Numbers of narrow types: wraps of integers, rounding to 16 bits, bits of floats.
//!
//! Law: `wrapped` and `rounded` are what the type does to a result; the derivative of rounding is that of the identity.
//! A wrap is left out where the range of the integers shows that it does nothing.

use super::types::Element;
use super::value::{
    ImportedValue, add, and, compare, finite, full, int_like, int_with, like, mul, not, or, stopped, sub,
};
use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Discrete, IntBinary, Linear, Unary};

/// An integer as one of this type.
pub(super) fn wrapped_number(n: i64, element: Element) -> i64 {
    match element {
        Element::Int { bits, signed: true } if bits < 64 => n << (64 - bits) >> (64 - bits),
        Element::Int { bits, signed: false } if bits < 64 => n & ((1 << bits) - 1),
        Element::Bool => i64::from(n != 0),
        Element::Int { .. } | Element::F64 | Element::F32 | Element::F16 | Element::BF16 => n,
        Element::Complex64 | Element::Complex128 => n,
    }
}

/// A float rounded to 16 bits, ties to even.
pub(super) fn rounded_number(x: f32, element: Element) -> f32 {
    let held = ImportedValue::<Array>::real(element, Array::scalar(x));
    rounded(held).re.item::<f32>().unwrap_or(f32::NAN)
}

/// Integers as those of their type. The range is that of the integers before.
pub(super) fn wrapped<T: BaseTensor>(x: ImportedValue<T>, range: Option<(i128, i128)>) -> ImportedValue<T> {
    let Element::Int { bits, signed } = x.element else { return x };
    let (lo, hi) = x.element.limits().unwrap_or((i64::MIN, i64::MAX));
    if let Some((least, most)) = range
        && i128::from(lo) <= least
        && most <= i128::from(hi)
    {
        return ImportedValue { range: Some((least as i64, most as i64)), ..x };
    }
    let re = match (bits, signed) {
        (64, _) => x.re,
        (_, false) => int_with(IntBinary::BitAnd, &x.re, (1 << bits) - 1),
        (_, true) => {
            let moved = int_with(IntBinary::Shl, &x.re, i64::from(64 - bits));
            int_with(IntBinary::ShrSigned, &moved, i64::from(64 - bits))
        }
    };
    ImportedValue { re, range: None, ..x }
}

/// Floats as those of their type: rounded to nearest, ties to even, infinite beyond the largest.
pub(super) fn rounded<T: BaseTensor>(x: ImportedValue<T>) -> ImportedValue<T> {
    // The digits, the exponent of the smallest normal number, and the number from which the type is infinite.
    let (digits, least, infinite) = match x.element {
        Element::F16 => (11, -14, 65520.0),
        Element::BF16 => (8, -126, 2f64.powi(128) - 2f64.powi(119)),
        Element::F64 | Element::F32 | Element::Bool | Element::Int { .. } => return x,
        Element::Complex64 | Element::Complex128 => return x,
    };
    let re = to_digits(&x.re, digits, least, infinite);
    ImportedValue { re, ..x }
}

/// Floats of 32 bits rounded to this number of binary digits, ties to even; to the steps of the smallest normal number
/// below it; infinite from a bound on.
pub(super) fn to_digits<T: BaseTensor>(x: &T, digits: i32, least: i32, infinite: f64) -> T {
    let wide = stopped(&x.linear(&Linear::cast(x.shape(), x.dtype(), DType::F64)));
    // The sum with a number of the same exponent, many places higher, is rounded to the digits that remain.
    let shift = mul(&wide, &like(&wide, 2f64.powi(53 - digits)));
    let normal = sub(&add(&wide, &shift), &shift);
    let step = like(&wide, 1.5 * 2f64.powi(52 + least - digits + 1));
    let small = sub(&add(&wide, &step), &step);
    let size = wide.unary(Unary::Abs);
    let tiny = compare(Compare::Lt, &size, &like(&wide, 2f64.powi(least)));
    let near = T::select(&tiny, &small, &normal);
    let beyond = compare(Compare::Ge, &size, &like(&wide, infinite));
    let far = like(&wide, f64::INFINITY).binary(Binary::Copysign, &wide);
    let found = T::select(&beyond, &far, &near).linear(&Linear::cast(x.shape(), DType::F64, x.dtype()));
    // What is added has no derivative, so that the derivative is that of the identity.
    let change = T::select(&finite(x), &sub(&found, &stopped(x)), &like(x, 0.0));
    // Zeros keep their sign.
    let same = compare(Compare::Eq, &change, &like(x, 0.0));
    T::select(&same, x, &add(x, &change))
}

/// The powers of two from the smallest float of 64 bits on, `2^(k - 1074)`.
fn powers() -> Array {
    Array::new(&[2098], (0..2098).map(|k| 2f64.powi((k - 1074) / 2) * 2f64.powi((k - 1074) - (k - 1074) / 2)).collect())
}

/// The layout of a float type: the digits of the fraction, the largest exponent, and the bias.
fn layout(element: Element) -> (i64, i64, i64) {
    match element {
        Element::F16 => (10, 31, 15),
        Element::BF16 => (7, 255, 127),
        Element::F32 => (23, 255, 127),
        _ => (52, 2047, 1023),
    }
}

/// The float with these bits, which are held as integers.
pub(super) fn float_of_bits<T: BaseTensor>(bits: &T, element: Element) -> T {
    let (digits, last, bias) = layout(element);
    let at = |n: i64| int_like(bits, n);
    let fraction = ints_and(bits, (1 << digits) - 1);
    let exponent = ints_and(&int_with(IntBinary::Shr, bits, digits), last);
    let normal = compare(Compare::Gt, &exponent, &at(0));
    let whole = int_with(IntBinary::Add, &fraction, 1 << digits);
    let digits_held = T::select(&normal, &whole, &fraction);
    let place = super::value::ints(IntBinary::Max, &exponent, &at(1));
    let place = int_with(IntBinary::Add, &place, 1074 - bias - digits);
    let power = T::constant(powers()).gather(&[place]);
    let size = mul(&T::discrete(&Discrete::ToFloat(DType::F64), &[&digits_held]), &power);
    let special = compare(Compare::Eq, &exponent, &at(last));
    let none = compare(Compare::Eq, &fraction, &at(0));
    let infinity = like(&size, f64::INFINITY);
    let beyond = T::select(&none, &infinity, &like(&size, f64::NAN));
    let size = T::select(&special, &beyond, &size);
    let sign = ints_and(&int_with(IntBinary::Shr, bits, i64::from(element.bits()) - 1), 1);
    let negative = compare(Compare::Ne, &sign, &at(0));
    let x = T::select(&negative, &size.unary(Unary::Neg), &size);
    x.linear(&Linear::cast(x.shape(), DType::F64, element.dtype()))
}

fn ints_and<T: BaseTensor>(x: &T, mask: i64) -> T {
    int_with(IntBinary::BitAnd, x, mask)
}

/// The bits of floats, as integers without a sign.
pub(super) fn bits_of_float<T: BaseTensor>(x: &T, element: Element) -> T {
    let (digits, last, bias) = layout(element);
    let wide = stopped(&x.linear(&Linear::cast(x.shape(), x.dtype(), DType::F64)));
    let size = wide.unary(Unary::Abs);
    let powers = T::constant(powers());
    // The largest power of two that is not above, by bisection.
    let mut place: T = full(x.shape(), DType::I64, 0);
    for k in (0..12).rev() {
        let further = int_with(IntBinary::Add, &place, 1 << k);
        let inside = compare(Compare::Lt, &further, &int_like(&further, 2098));
        let reached = compare(Compare::Le, &powers.gather(std::slice::from_ref(&further)), &size);
        place = T::select(&and(&inside, &reached), &further, &place);
    }
    // Numbers below the smallest normal one have its exponent.
    let exponent = int_with(IntBinary::Sub, &place, 1074 - bias);
    let exponent = int_with(IntBinary::Max, &exponent, 1);
    let step = int_with(IntBinary::Add, &exponent, 1074 - bias - digits);
    let finite = finite(&size);
    let held = T::select(&finite, &size, &like(&size, 0.0));
    let counted = held.binary(Binary::Div, &powers.gather(&[step]));
    let count = T::discrete(&Discrete::ToInt, &[&counted]);
    let above = int_with(IntBinary::Sub, &exponent, 1);
    let bits = super::value::ints(IntBinary::Add, &int_with(IntBinary::Shl, &above, digits), &count);
    let nan = compare(Compare::Ne, &wide, &wide);
    let special =
        T::select(&nan, &int_like(&bits, last << digits | 1 << (digits - 1)), &int_like(&bits, last << digits));
    let bits = T::select(&finite, &bits, &special);
    let one = like(&wide, 1.0).binary(Binary::Copysign, &wide);
    let negative = and(&compare(Compare::Lt, &one, &like(&one, 0.0)), &not(&nan));
    let sign = 1i64.wrapping_shl(element.bits() - 1);
    let signed = super::value::ints(IntBinary::BitOr, &bits, &int_like(&bits, sign));
    T::select(&negative, &signed, &bits)
}

/// The masks of NaN in either.
pub(super) fn either_nan<T: BaseTensor>(x: &T, y: &T) -> T {
    or(&compare(Compare::Ne, x, x), &compare(Compare::Ne, y, y))
}
