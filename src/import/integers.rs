//! Elementwise operations of integers and masks, and conversions between all element types.
//!
//! Law: results are those of integers of the width of the type, signed or not: sums and products wrap, and a quotient by
//! zero has the bits of -1.

use super::numbers::{rounded, wrapped};
use super::types::Element;
use super::value::{ImportedValue, and, compare, full, int_like, int_with, ints, like, not, not_zero, or};
use crate::base::BaseTensor;
use crate::dtype::DType;
use crate::ops::{Binary, Compare, Discrete, IntBinary, IntUnary, Linear};

/// Whether numbers of this type without a sign are held as negative ones.
fn may_look_negative<T: BaseTensor>(x: &ImportedValue<T>) -> bool {
    x.element == Element::Int { bits: 64, signed: false } && x.bounds().0 < 0
}

/// A comparison, in the order of the type.
pub(super) fn ordered<T: BaseTensor>(op: Compare, x: &ImportedValue<T>, y: &ImportedValue<T>) -> T {
    if may_look_negative(x) || may_look_negative(y) {
        let [x, y] = [x, y].map(|x| int_with(IntBinary::BitXor, &x.re, i64::MIN));
        return compare(op, &x, &y);
    }
    compare(op, &x.re, &y.re)
}

/// What is known of a comparison of integers.
pub(super) fn decided<T: BaseTensor>(op: Compare, x: &ImportedValue<T>, y: &ImportedValue<T>) -> Option<(i64, i64)> {
    if may_look_negative(x) || may_look_negative(y) || x.element.is_float() || x.element.is_complex() {
        return None;
    }
    let (a, b) = (x.bounds(), y.bounds());
    let [below, not_above] = [a.1 < b.0, a.1 <= b.0];
    let [above, not_below] = [a.0 > b.1, a.0 >= b.1];
    let equal = a.0 == a.1 && a == b;
    let (yes, no) = match op {
        Compare::Lt => (below, not_below),
        Compare::Le => (not_above, above),
        Compare::Gt => (above, not_above),
        Compare::Ge => (not_below, below),
        Compare::Eq => (equal, below || above),
        Compare::Ne => (below || above, equal),
    };
    (yes || no).then_some((i64::from(yes), i64::from(yes)))
}

/// The smallest and the largest of the four combinations of bounds.
fn corners(x: (i64, i64), y: (i64, i64), f: impl Fn(i128, i128) -> i128) -> (i128, i128) {
    let all = [(x.0, y.0), (x.0, y.1), (x.1, y.0), (x.1, y.1)].map(|(a, b)| f(i128::from(a), i128::from(b)));
    (all.into_iter().min().unwrap_or(0), all.into_iter().max().unwrap_or(0))
}

fn quotient<T: BaseTensor>(x: &ImportedValue<T>, y: &ImportedValue<T>) -> ImportedValue<T> {
    let re = if may_look_negative(x) || may_look_negative(y) {
        unsigned_quotient(&x.re, &y.re)
    } else {
        ints(IntBinary::Quot, &x.re, &y.re)
    };
    let (lo, hi) = y.bounds();
    if lo > 0 {
        let found = ImportedValue { re, range: None, ..x.clone() };
        let range = (!may_look_negative(x)).then(|| corners(x.bounds(), y.bounds(), |a, b| a / b));
        return wrapped(found, range);
    }
    let re = if lo > 0 || hi < 0 {
        re
    } else {
        T::select(&compare(Compare::Eq, &y.re, &int_like(&re, 0)), &int_like(&re, -1), &re)
    };
    wrapped(ImportedValue { re, range: None, ..x.clone() }, None)
}

/// The quotient of numbers of 64 bits without a sign, by that of half the dividend.
fn unsigned_quotient<T: BaseTensor>(x: &T, y: &T) -> T {
    let flip = |x: &T| int_with(IntBinary::BitXor, x, i64::MIN);
    let at_least = |x: &T, y: &T| compare(Compare::Ge, &flip(x), &flip(y));
    let number = |mask: &T| T::discrete(&Discrete::ToInt, &[mask]);
    let half = int_with(IntBinary::Shr, x, 1);
    let near = int_with(IntBinary::Shl, &ints(IntBinary::Quot, &half, y), 1);
    let rest = ints(IntBinary::Sub, x, &ints(IntBinary::Mul, &near, y));
    let small = ints(IntBinary::Add, &near, &number(&at_least(&rest, y)));
    // A divisor of at least 2^63 goes in at most once.
    let large = compare(Compare::Lt, y, &int_like(y, 0));
    T::select(&large, &number(&at_least(x, y)), &small)
}

fn remainder<T: BaseTensor>(x: &ImportedValue<T>, y: &ImportedValue<T>) -> ImportedValue<T> {
    if may_look_negative(x) || may_look_negative(y) {
        let whole = unsigned_quotient(&x.re, &y.re);
        let rest = ints(IntBinary::Sub, &x.re, &ints(IntBinary::Mul, &whole, &y.re));
        let none = compare(Compare::Eq, &y.re, &int_like(&y.re, 0));
        return ImportedValue { re: T::select(&none, &x.re, &rest), range: None, ..x.clone() };
    }
    let re = ints(IntBinary::Rem, &x.re, &y.re);
    let ((lo, hi), (least, most)) = (x.bounds(), y.bounds());
    let range = (lo >= 0 && least > 0).then(|| (0, hi.min(most - 1)));
    ImportedValue { re, range, ..x.clone() }
}

/// The bits of an integer of this width, as one without a sign.
fn as_unsigned<T: BaseTensor>(x: &ImportedValue<T>) -> T {
    match x.element {
        Element::Int { bits, signed: true } if bits < 64 => int_with(IntBinary::BitAnd, &x.re, (1 << bits) - 1),
        _ => x.re.clone(),
    }
}

fn extremum<T: BaseTensor>(op: IntBinary, x: &ImportedValue<T>, y: &ImportedValue<T>) -> ImportedValue<T> {
    let least = op == IntBinary::Min;
    if may_look_negative(x) || may_look_negative(y) {
        let first = ordered(if least { Compare::Le } else { Compare::Ge }, x, y);
        return ImportedValue { re: T::select(&first, &x.re, &y.re), range: None, ..x.clone() };
    }
    let (a, b) = (x.bounds(), y.bounds());
    let range = if least { (a.0.min(b.0), a.1.min(b.1)) } else { (a.0.max(b.0), a.1.max(b.1)) };
    // One that is never reached is left out.
    let first = if least { a.1 <= b.0 } else { a.0 >= b.1 };
    let second = if least { b.1 <= a.0 } else { b.0 >= a.1 };
    let re = match (first, second) {
        (true, _) => x.re.clone(),
        (_, true) => y.re.clone(),
        _ => ints(op, &x.re, &y.re),
    };
    ImportedValue { re, range: Some(range), ..x.clone() }
}

/// An operation of two masks; `None` if the name is not known.
fn of_masks<T: BaseTensor>(name: &str, x: &T, y: &T) -> Option<T> {
    Some(match name {
        "and" | "minimum" | "multiply" => and(x, y),
        "or" | "maximum" | "add" => or(x, y),
        "xor" => compare(Compare::Ne, x, y),
        _ => return None,
    })
}

/// An operation of two integers or masks; `None` if the name is not known.
pub(super) fn binary<T: BaseTensor>(
    name: &str,
    x: &ImportedValue<T>,
    y: &ImportedValue<T>,
) -> Option<ImportedValue<T>> {
    if x.element == Element::Bool {
        return Some(ImportedValue::real(Element::Bool, of_masks(name, &x.re, &y.re)?));
    }
    let of = |re: T| ImportedValue { re, range: None, ..x.clone() };
    let plain = |op: IntBinary| of(ints(op, &x.re, &y.re));
    let (a, b) = (x.bounds(), y.bounds());
    let natural = a.0 >= 0 && b.0 >= 0;
    Some(match name {
        "add" => wrapped(plain(IntBinary::Add), Some(corners(a, b, |a, b| a + b))),
        "subtract" => wrapped(plain(IntBinary::Sub), Some(corners(a, b, |a, b| a - b))),
        "multiply" => wrapped(plain(IntBinary::Mul), Some(corners(a, b, |a, b| a * b))),
        "divide" => quotient(x, y),
        "remainder" => remainder(x, y),
        "minimum" => extremum(IntBinary::Min, x, y),
        "maximum" => extremum(IntBinary::Max, x, y),
        "and" => ImportedValue { range: natural.then(|| (0, a.1.min(b.1))), ..plain(IntBinary::BitAnd) },
        "or" => plain(IntBinary::BitOr),
        "xor" => plain(IntBinary::BitXor),
        "shift_left" => wrapped(plain(IntBinary::Shl), None),
        "shift_right_logical" => {
            let moved = ImportedValue { re: ints(IntBinary::Shr, &as_unsigned(x), &y.re), range: None, ..x.clone() };
            let range = natural.then(|| (0, i128::from(a.1)));
            wrapped(moved, range)
        }
        "shift_right_arithmetic" => {
            let signed = match x.element {
                Element::Int { bits, signed: false } => {
                    wrapped(ImportedValue { element: Element::Int { bits, signed: true }, ..x.clone() }, None)
                }
                _ => x.clone(),
            };
            wrapped(of(ints(IntBinary::ShrSigned, &signed.re, &y.re)), None)
        }
        "power" => power(x, y),
        _ => return None,
    })
}

/// `x^y` by squares; 0 for a negative exponent, unless the base is 1 or -1.
fn power<T: BaseTensor>(x: &ImportedValue<T>, y: &ImportedValue<T>) -> ImportedValue<T> {
    let at = |n: i64| int_like(&x.re, n);
    let (mut result, mut square) = (at(1), x.re.clone());
    for k in 0..64 {
        let bit = int_with(IntBinary::BitAnd, &int_with(IntBinary::Shr, &y.re, k), 1);
        let more = ints(IntBinary::Mul, &result, &square);
        result = T::select(&compare(Compare::Eq, &bit, &at(1)), &more, &result);
        square = ints(IntBinary::Mul, &square, &square);
        if y.bounds().0 >= 0 && y.bounds().1 < 1 << k {
            break;
        }
    }
    if y.element != (Element::Int { bits: 64, signed: false }) && y.bounds().0 < 0 {
        let unit = compare(Compare::Eq, &int_with(IntBinary::Mul, &x.re, 1), &at(1));
        let minus = compare(Compare::Eq, &x.re, &at(-1));
        let odd = compare(Compare::Eq, &int_with(IntBinary::BitAnd, &y.re, 1), &at(1));
        let sign = T::select(&odd, &at(-1), &at(1));
        let inverse = T::select(&unit, &at(1), &T::select(&minus, &sign, &at(0)));
        result = T::select(&compare(Compare::Lt, &y.re, &at(0)), &inverse, &result);
    }
    wrapped(ImportedValue { re: result, range: None, ..x.clone() }, None)
}

/// The number of bits that are set.
fn count_bits<T: BaseTensor>(x: &T) -> T {
    let masked = |x: &T, mask: u64| int_with(IntBinary::BitAnd, x, mask as i64);
    let moved = |x: &T, by: i64| int_with(IntBinary::Shr, x, by);
    let pairs = ints(IntBinary::Sub, x, &masked(&moved(x, 1), 0x5555_5555_5555_5555));
    let mask = 0x3333_3333_3333_3333;
    let fours = ints(IntBinary::Add, &masked(&pairs, mask), &masked(&moved(&pairs, 2), mask));
    let eights = masked(&ints(IntBinary::Add, &fours, &moved(&fours, 4)), 0x0f0f_0f0f_0f0f_0f0f);
    moved(&int_with(IntBinary::Mul, &eights, 0x0101_0101_0101_0101), 56)
}

/// An operation of one integer or mask; `None` if the name is not known.
pub(super) fn unary<T: BaseTensor>(name: &str, x: &ImportedValue<T>) -> Option<ImportedValue<T>> {
    if x.element == Element::Bool {
        return (name == "not").then(|| ImportedValue::real(Element::Bool, not(&x.re)));
    }
    let Element::Int { bits, .. } = x.element else { return None };
    let (lo, hi) = x.bounds();
    let of =
        |op: IntUnary| ImportedValue { re: T::discrete(&Discrete::IntUnary(op), &[&x.re]), range: None, ..x.clone() };
    let (least, most) = (i128::from(lo), i128::from(hi));
    let unsigned = x.element.limits().is_some_and(|(lo, _)| lo == 0) || may_look_negative(x);
    Some(match name {
        "negate" => wrapped(of(IntUnary::Neg), Some((-most, -least))),
        "abs" if unsigned || lo >= 0 => x.clone(),
        "abs" => wrapped(of(IntUnary::Abs), Some((0, least.abs().max(most.abs())))),
        "not" => wrapped(of(IntUnary::BitNot), Some((-1 - most, -1 - least))),
        "sign" => {
            let number = |op: Compare| T::discrete(&Discrete::ToInt, &[&compare(op, &x.re, &int_like(&x.re, 0))]);
            if unsigned {
                return Some(ImportedValue::within(x.element, number(Compare::Ne), 0, 1));
            }
            ImportedValue::within(x.element, ints(IntBinary::Sub, &number(Compare::Gt), &number(Compare::Lt)), -1, 1)
        }
        "popcnt" => ImportedValue::within(x.element, count_bits(&as_unsigned(x)), 0, i64::from(bits)),
        "count_leading_zeros" => {
            let all = [1, 2, 4, 8, 16, 32]
                .iter()
                .fold(as_unsigned(x), |all, by| ints(IntBinary::BitOr, &all, &int_with(IntBinary::Shr, &all, *by)));
            let width = int_like(&all, i64::from(bits));
            ImportedValue::within(x.element, ints(IntBinary::Sub, &width, &count_bits(&all)), 0, i64::from(bits))
        }
        _ => return None,
    })
}

/// An integer as a float.
fn float_of<T: BaseTensor>(x: &ImportedValue<T>, dtype: DType) -> T {
    let y = T::discrete(&Discrete::ToFloat(dtype), &[&x.re]);
    if !may_look_negative(x) {
        return y;
    }
    // Half of the number, with its last bit kept for the rounding, twice.
    let half = ints(IntBinary::BitOr, &int_with(IntBinary::Shr, &x.re, 1), &int_with(IntBinary::BitAnd, &x.re, 1));
    let half = T::discrete(&Discrete::ToFloat(dtype), &[&half]);
    let twice = half.binary(Binary::Add, &half);
    T::select(&compare(Compare::Lt, &x.re, &int_like(&x.re, 0)), &twice, &y)
}

/// A float as an integer: truncated, and the nearest of its type; 0 for NaN.
fn integer_of<T: BaseTensor>(x: &T, element: Element) -> ImportedValue<T> {
    let whole = T::discrete(&Discrete::ToInt, &[x]);
    if element == (Element::Int { bits: 64, signed: false }) {
        let large = compare(Compare::Ge, x, &like(x, 2f64.powi(63)));
        let rest = T::discrete(&Discrete::ToInt, &[&x.binary(Binary::Sub, &like(x, 2f64.powi(63)))]);
        let found = T::select(&large, &int_with(IntBinary::BitXor, &rest, i64::MIN), &whole);
        let beyond = compare(Compare::Ge, x, &like(x, 2f64.powi(64)));
        let below = compare(Compare::Lt, x, &like(x, 0.0));
        let found = T::select(&beyond, &int_like(&found, -1), &found);
        return ImportedValue::real(element, T::select(&below, &int_like(&found, 0), &found));
    }
    let (lo, hi) = element.limits().unwrap_or((i64::MIN, i64::MAX));
    if (lo, hi) == (i64::MIN, i64::MAX) {
        return ImportedValue::real(element, whole);
    }
    let found = int_with(IntBinary::Min, &int_with(IntBinary::Max, &whole, lo), hi);
    ImportedValue::within(element, found, lo, hi)
}

/// A value of one element type as one of another.
pub(super) fn convert<T: BaseTensor>(x: &ImportedValue<T>, to: Element) -> ImportedValue<T> {
    let from = x.element;
    if from == to {
        return x.clone();
    }
    if to.is_complex() {
        let part =
            |y: T| convert(&ImportedValue { element: from.part(), re: y, im: None, range: x.range }, to.part()).re;
        let im = match &x.im {
            Some(im) => part(im.clone()),
            None => full(x.shape(), to.dtype(), 0),
        };
        return ImportedValue::complex(to, (part(x.re.clone()), im));
    }
    if from.is_complex() {
        return convert(&ImportedValue::real(from.part(), x.re.clone()), to);
    }
    let zero = || full(x.shape(), x.re.dtype(), 0);
    match (from.is_float(), to) {
        (true, Element::Bool) => ImportedValue::real(to, compare(Compare::Ne, &x.re, &zero())),
        (true, Element::Int { .. }) => integer_of(&x.re, to),
        (true, _) => {
            let cast = |y: &T, into: DType| {
                if y.dtype() == into { y.clone() } else { y.linear(&Linear::cast(y.shape(), y.dtype(), into)) }
            };
            rounded(ImportedValue::real(to, cast(&x.re, to.dtype())))
        }
        (false, Element::Bool) => ImportedValue { element: to, re: not_zero(&x.re), im: None, range: None },
        (false, Element::Int { .. }) if from == Element::Bool => {
            let (lo, hi) = x.bounds();
            ImportedValue::within(to, T::discrete(&Discrete::ToInt, &[&x.re]), lo, hi)
        }
        (false, Element::Int { .. }) => {
            let (lo, hi) = x.bounds();
            let range = Some((i128::from(lo), i128::from(hi)));
            let moved = ImportedValue { element: to, re: x.re.clone(), im: None, range: None };
            // As `ui64` any integer is its own bits, and so is any `i64`.
            if to.bits() == 64 { ImportedValue { range: x.range, ..moved } } else { wrapped(moved, range) }
        }
        (false, _) => rounded(ImportedValue::real(to, float_of(x, to.dtype()))),
    }
}
