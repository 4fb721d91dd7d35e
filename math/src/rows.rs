//! What rows of the tables of `polygrad` compute that no operator does.
//!
//! Law: a function is defined for all arguments and has the same bits on every machine. It computes in `f64`, so that
//! results of a narrower type, into which callers round them, are correctly rounded almost everywhere.
//!
//! The functions of [`Elementary`] fall back to these at arguments for which they are not accurate.

use crate::{Elementary, WithoutFma, special};

/// The functions of the module `special`, in double precision.
macro_rules! special {
    ($($(#[doc = $doc:literal])* $name:ident($($x:ident),*);)*) => { $(
        $(#[doc = $doc])*
        pub fn $name($($x: f64),*) -> f64 {
            special::$name($($x),*)
        }
    )* };
}

special! {
    /// The inverse hyperbolic sine.
    asinh(x);
    /// The inverse hyperbolic cosine; NaN below 1.
    acosh(x);
    /// The inverse hyperbolic tangent; NaN outside the interval from -1 to 1.
    atanh(x);
    /// `1 / cosh(x)^2`.
    sech2(x);
    /// `e^(-x^2)`.
    gaussian(x);
    /// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
    pow_less_one(x, y);
    /// `x / (x^2 + y^2)`; 0 where the sum of squares is infinite.
    recip_real(x, y);
    /// The logarithm of the absolute value of the gamma function; infinite at the poles.
    lgamma(x);
    /// The derivative of `lgamma`; NaN at the poles.
    digamma(x);
    /// The derivative of `digamma`; infinite at the poles.
    trigamma(x);
    /// The derivative of `digamma` of an order that is rounded to an integer.
    polygamma(x, order);
}

/// The inverse of the error function; NaN outside the interval from -1 to 1. It is the branch-free function, without
/// fused multiply-add.
pub fn erfinv(x: f64) -> f64 {
    f64::erfinv::<WithoutFma>(x)
}

/// Functions of `libm`, under the names of rows.
macro_rules! of_libm {
    ($($(#[doc = $doc:literal])* $name:ident($($x:ident),*) = $function:ident;)*) => { $(
        $(#[doc = $doc])*
        pub fn $name($($x: f64),*) -> f64 {
            libm::$function($($x),*)
        }
    )* };
}

of_libm! {
    /// The largest integer that is not above `x`.
    floor(x) = floor;
    /// The smallest integer that is not below `x`.
    ceil(x) = ceil;
    /// The nearest integer; halves are rounded away from zero.
    round(x) = round;
    /// `ln x`; `-inf` at 0 and NaN below.
    ln(x) = log;
    /// `ln (1 + x)`; `-inf` at -1 and NaN below.
    log1p(x) = log1p;
    /// `sin x`.
    sin(x) = sin;
    /// `cos x`.
    cos(x) = cos;
    /// `tan x`.
    tan(x) = tan;
    /// The inverse sine; NaN outside the interval from -1 to 1.
    asin(x) = asin;
    /// The inverse cosine; NaN outside the interval from -1 to 1.
    acos(x) = acos;
    /// The hyperbolic sine.
    sinh(x) = sinh;
    /// The hyperbolic cosine.
    cosh(x) = cosh;
    /// `x^y`.
    pow(x, y) = pow;
    /// The angle of the point `(x, y)`, from `-pi` to `pi`.
    atan2(y, x) = atan2;
    /// `sqrt(x^2 + y^2)`, without overflow of the squares.
    hypot(x, y) = hypot;
    /// The error function.
    erf(x) = erf;
    /// `1 - erf x`, without cancellation.
    erfc(x) = erfc;
}
