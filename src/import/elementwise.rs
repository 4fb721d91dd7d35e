//! Elementwise operations of floats and complex numbers.
//!
//! Law: a function of StableHLO or CHLO that is a row of the tables of [`ops`](crate::ops) is that row, so its
//! derivatives are exact; others are made of rows.

use super::types::Element;
use super::value::{Imported, ImportedValue, add, compare, finite, full, like, mul, stopped, sub};
use crate::base::BaseTensor;
use crate::dtype::{DType, Float};
use crate::ops::{Binary, Compare, Discrete, FloatStep, Linear, Unary};
use crate::tensor::{Complex, Tensor};

/// The row of a function of one float.
fn row(name: &str) -> Option<Unary> {
    Some(match name {
        "negate" => Unary::Neg,
        "abs" => Unary::Abs,
        "sqrt" => Unary::Sqrt,
        "exponential" => Unary::Exp,
        "log" => Unary::Ln,
        "log_plus_one" => Unary::Log1p,
        "exponential_minus_one" => Unary::Expm1,
        "sine" => Unary::Sin,
        "cosine" => Unary::Cos,
        "tan" | "chlo.tan" => Unary::Tan,
        "tanh" => Unary::Tanh,
        "logistic" => Unary::Sigmoid,
        "chlo.asin" => Unary::Asin,
        "chlo.acos" => Unary::Acos,
        "chlo.atan" => Unary::Atan,
        "chlo.sinh" => Unary::Sinh,
        "chlo.cosh" => Unary::Cosh,
        "chlo.asinh" => Unary::Asinh,
        "chlo.acosh" => Unary::Acosh,
        "chlo.atanh" => Unary::Atanh,
        "chlo.erf" => Unary::Erf,
        "chlo.erfc" => Unary::Erfc,
        "chlo.erf_inv" => Unary::Erfinv,
        "chlo.lgamma" => Unary::Lgamma,
        "chlo.digamma" => Unary::Digamma,
        "chlo.square" => Unary::Square,
        _ => return None,
    })
}

fn row2(name: &str) -> Option<Binary> {
    Some(match name {
        "add" => Binary::Add,
        "subtract" => Binary::Sub,
        "multiply" => Binary::Mul,
        "divide" => Binary::Div,
        "power" => Binary::Pow,
        "atan2" => Binary::Atan2,
        "maximum" => Binary::Max,
        "minimum" => Binary::Min,
        _ => return None,
    })
}

fn step<T: BaseTensor>(step: FloatStep, x: &T) -> T {
    T::discrete(&Discrete::FloatStep(step), &[x])
}

/// Nearest integer, ties to even.
fn nearest_even<T: BaseTensor>(x: &T) -> T {
    let x = stopped(x);
    let below = step(FloatStep::Floor, &x);
    let rest = sub(&x, &below);
    let half = mul(&below, &like(&x, 0.5));
    let even = compare(Compare::Eq, &half, &step(FloatStep::Floor, &half));
    let [less, tie] = [Compare::Lt, Compare::Eq].map(|op| compare(op, &rest, &like(&x, 0.5)));
    let down = super::value::or(&less, &super::value::and(&tie, &even));
    let found = T::select(&down, &below, &add(&below, &like(&x, 1.0)));
    // Large and infinite numbers are integers.
    let small = compare(Compare::Lt, &x.unary(Unary::Abs), &like(&x, 2f64.powi(52)));
    T::select(&small, &found, &x).binary(Binary::Copysign, &x)
}

/// The cube root. The power is corrected by a step of Newton's method, which has no derivative.
fn cube_root<T: BaseTensor>(x: &T) -> T {
    let size = x.unary(Unary::Abs);
    let y = size.binary(Binary::Pow, &like(x, 1.0 / 3.0));
    let quotient = size.binary(Binary::Div, &y).binary(Binary::Div, &y);
    let change = stopped(&mul(&sub(&quotient, &y), &like(x, 1.0 / 3.0)));
    let y = add(&y, &T::select(&finite(&change), &change, &like(x, 0.0)));
    y.binary(Binary::Copysign, x)
}

/// `x - y trunc(x / y)`: the remainder with the sign of `x`.
fn remainder<T: BaseTensor>(x: &T, y: &T) -> T {
    let ratio = stopped(&x.binary(Binary::Div, y));
    let whole = step(FloatStep::Floor, &ratio.unary(Unary::Abs)).binary(Binary::Copysign, &ratio);
    let rest = sub(x, &mul(y, &whole));
    // The quotient may be rounded up to the next integer.
    let wrong = compare(Compare::Lt, &mul(&rest, x), &like(x, 0.0));
    let size = y.unary(Unary::Abs).binary(Binary::Copysign, x);
    let rest = T::select(&wrong, &add(&rest, &size), &rest);
    let endless = compare(Compare::Eq, &y.unary(Unary::Abs), &like(y, f64::INFINITY));
    T::select(&super::value::and(&endless, &finite(x)), x, &rest)
}

/// A function of one float; `None` if the name is not known.
pub(super) fn unary<T: BaseTensor>(name: &str, x: &T) -> Option<T> {
    if let Some(row) = row(name) {
        return Some(x.unary(row));
    }
    Some(match name {
        "rsqrt" => x.unary(Unary::Sqrt).unary(Unary::Recip),
        "cbrt" => cube_root(x),
        "floor" => step(FloatStep::Floor, x),
        "ceil" => step(FloatStep::Ceil, x),
        "round_nearest_afz" => step(FloatStep::Round, x),
        "round_nearest_even" => nearest_even(x),
        "sign" => {
            let x = stopped(x);
            let zero = compare(Compare::Eq, &x, &like(&x, 0.0));
            T::select(&zero, &x, &step(FloatStep::Sign, &x))
        }
        _ => return None,
    })
}

/// A function of two floats; `None` if the name is not known.
pub(super) fn binary<T: BaseTensor>(name: &str, x: &T, y: &T) -> Option<T> {
    if let Some(row) = row2(name) {
        return Some(x.binary(row, y));
    }
    Some(match name {
        "remainder" => remainder(x, y),
        "chlo.polygamma" => y.binary(Binary::Polygamma, x),
        _ => return None,
    })
}

/// A test of floats, to a mask; `None` if the name is not known.
pub(super) fn test<T: BaseTensor>(name: &str, x: &T) -> Option<T> {
    let at = |c: f64| compare(Compare::Eq, x, &like(x, c));
    Some(match name {
        "is_finite" => finite(x),
        "chlo.is_inf" => compare(Compare::Eq, &x.unary(Unary::Abs), &like(x, f64::INFINITY)),
        "chlo.is_pos_inf" => at(f64::INFINITY),
        "chlo.is_neg_inf" => at(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// A comparison in the total order of floats: `-0 < 0`, and NaN is the largest.
pub(super) fn total_order<T: BaseTensor>(op: Compare, x: &T, y: &T) -> T {
    let key =
        |x: &T| super::numbers::bits_of_float(x, if x.dtype() == DType::F32 { Element::F32 } else { Element::F64 });
    let signed = |bits: T, dtype: DType| {
        let bits = if dtype == DType::F32 {
            super::numbers::wrapped(ImportedValue::real(Element::I32, bits), None).re
        } else {
            bits
        };
        let negative = compare(Compare::Lt, &bits, &super::value::int_like(&bits, 0));
        let mask = if dtype == DType::F32 { i64::from(i32::MAX) } else { i64::MAX };
        T::select(&negative, &super::value::int_with(crate::ops::IntBinary::BitXor, &bits, mask), &bits)
    };
    compare(op, &signed(key(x), x.dtype()), &signed(key(y), y.dtype()))
}

/// Functions of complex numbers that are exact near zero: the real and the imaginary part.
fn near_zero<T: BaseTensor>(name: &str, a: &T, b: &T) -> Option<(T, T)> {
    let of = |x: &T, op: Unary| x.unary(op);
    Some(match name {
        // `e^(a + ib) - 1 = (e^a - 1) cos b - 2 sin^2(b / 2) + i e^a sin b`.
        "exponential_minus_one" => {
            let half = of(&mul(b, &like(b, 0.5)), Unary::Sin);
            let rest = mul(&of(&half, Unary::Square), &like(b, 2.0));
            let re = sub(&mul(&of(a, Unary::Expm1), &of(b, Unary::Cos)), &rest);
            (re, mul(&of(a, Unary::Exp), &of(b, Unary::Sin)))
        }
        // `ln |1 + a + ib| = ln(1 + a (2 + a) + b^2) / 2`.
        "log_plus_one" => {
            let squares = add(&mul(a, &add(a, &like(a, 2.0))), &of(b, Unary::Square));
            let re = mul(&of(&squares, Unary::Log1p), &like(a, 0.5));
            (re, b.binary(Binary::Atan2, &add(a, &like(a, 1.0))))
        }
        _ => return None,
    })
}

/// A function of complex numbers.
pub(super) fn complex<T: BaseTensor>(name: &str, args: &[&ImportedValue<T>]) -> Imported<Option<ImportedValue<T>>> {
    match args[0].element.part() {
        Element::F32 => complex_as::<T, f32>(name, args),
        _ => complex_as::<T, f64>(name, args),
    }
}

fn complex_as<T: BaseTensor, E: Float>(name: &str, args: &[&ImportedValue<T>]) -> Imported<Option<ImportedValue<T>>> {
    let n = crate::shape::size(args[0].shape());
    let flat = |x: &T| Tensor::<T, 1, E>::from_raw(x.linear(&Linear::reshape(x.shape(), &[n])));
    let z = |k: usize| Complex::<T, 1, E>::new(flat(&args[k].re), flat(&args[k].imaginary()));
    let element = args[0].element;
    let shape = args[0].shape();
    let back = |x: Tensor<T, 1, E>| x.raw().linear(&Linear::reshape(&[n], shape));
    let real = match name {
        "abs" => Some(z(0).abs()),
        _ => None,
    };
    if let Some(real) = real {
        return Ok(Some(ImportedValue::real(element.part(), back(real))));
    }
    if args.len() == 1
        && let Some(parts) = near_zero(name, &args[0].re, &args[0].imaginary())
    {
        return Ok(Some(ImportedValue::complex(element, parts)));
    }
    let one = || Tensor::<T, 1, E>::from_raw(full(&[n], E::DTYPE, 1));
    let w = match (name, args.len()) {
        ("negate", 1) => -z(0),
        ("chlo.conj", 1) => z(0).conj(),
        ("exponential", 1) => z(0).exp(),
        ("log", 1) => z(0).ln(),
        ("sqrt", 1) => z(0).sqrt(),
        ("rsqrt", 1) => z(0).sqrt().recip(),
        ("sine", 1) => z(0).sin(),
        ("cosine", 1) => z(0).cos(),
        ("tan" | "chlo.tan", 1) => z(0).tan(),
        ("tanh", 1) => z(0).tanh(),
        ("chlo.sinh", 1) => z(0).sinh(),
        ("chlo.cosh", 1) => z(0).cosh(),
        ("chlo.asin", 1) => z(0).asin(),
        ("chlo.acos", 1) => z(0).acos(),
        ("chlo.atan", 1) => z(0).atan(),
        ("chlo.asinh", 1) => z(0).asinh(),
        ("chlo.acosh", 1) => z(0).acosh(),
        ("chlo.atanh", 1) => z(0).atanh(),
        ("chlo.square", 1) => z(0).square(),
        ("logistic", 1) => ((-z(0)).exp() + one()).recip(),
        ("sign", 1) => {
            let size = z(0).abs();
            let zero = size.raw().clone();
            let zero = compare(Compare::Eq, &zero, &like(&zero, 0.0));
            let divisor = T::select(&zero, &full(&[n], E::DTYPE, 1), size.raw());
            z(0) / &Tensor::<T, 1, E>::from_raw(divisor)
        }
        ("add", 2) => z(0) + z(1),
        ("subtract", 2) => z(0) - z(1),
        ("multiply", 2) => z(0) * z(1),
        ("divide", 2) => z(0) / z(1),
        ("power", 2) => z(0).pow(&z(1)),
        _ => return Ok(None),
    };
    Ok(Some(ImportedValue::complex(element, (back(w.re().clone()), back(w.im().clone())))))
}
