//! The functions of [`scalar`](crate::scalar) at a float type, on the machine for which this crate is compiled.

/// A module for a float type.
macro_rules! face {
    ($(#[doc = $module:literal])* $F:ident: $($(#[doc = $doc:literal])* $name:ident($($x:ident),*);)*) => {
        $(#[doc = $module])*
        pub mod $F {
            use crate::{Target, scalar};
            $(
                $(#[doc = $doc])*
                #[inline]
                pub fn $name($($x: $F),*) -> $F {
                    scalar::$name::<$F, Target>($($x),*)
                }
            )*
        }
    };
}

/// The function `by_name`.
macro_rules! by_name {
    ($(#[doc = $module:literal])* $F:ident: $($(#[doc = $doc:literal])* $name:ident($($x:ident),*);)*) => {
        $(#[doc = $module])*
        pub fn $F<E: crate::Elementary, M: crate::Machine>(name: &str, mut argument: impl FnMut() -> E) -> Option<E> {
            match name {
                $(_ if name == stringify!($name) => {
                    $(let $x = argument();)*
                    Some(crate::scalar::$name::<E, M>($($x),*))
                })*
                _ => None,
            }
        }
    };
}

/// Passes the names of all functions to a macro.
macro_rules! faces {
    ($($then:ident: $(#[doc = $module:literal])* $F:ident;)*) => { $(faces! { @ $then, $(#[doc = $module])* $F })* };
    (@ $then:ident, $(#[doc = $module:literal])* $F:ident) => { $then! {
        $(#[doc = $module])*
        $F:
        /// Negation.
        neg(x);
        /// The absolute value.
        abs(x);
        /// `1 / x`.
        recip(x);
        /// `x^2`.
        square(x);
        /// `1 - x^2`.
        one_minus_square(x);
        /// The square root; NaN below 0.
        sqrt(x);
        /// The largest integer that is not above `x`.
        floor(x);
        /// The smallest integer that is not below `x`.
        ceil(x);
        /// The nearest integer; halves are rounded away from zero.
        round(x);
        /// -1, 0 or 1 by the sign of `x`; NaN for NaN, 0 for both zeros.
        sign(x);
        /// `e^x`.
        exp(x);
        /// `e^x - 1`, accurate near 0.
        expm1(x);
        /// The inverse tangent.
        atan(x);
        /// The hyperbolic tangent.
        tanh(x);
        /// `1 / cosh(x)^2`.
        sech2(x);
        /// `1 / (1 + e^-x)`.
        sigmoid(x);
        /// The larger of 0 and `x`; NaN is kept.
        relu(x);
        /// `ln (1 + e^x)`.
        softplus(x);
        /// `e^(-x^2)`.
        gaussian(x);
        /// The error function.
        erf(x);
        /// `1 - erf x`, without cancellation.
        erfc(x);
        /// The absolute value of `x` with the sign of `y`, or without a sign if `y` is NaN.
        copysign(x, y);
        /// The smaller number; NaN if one of both is.
        min(x, y);
        /// The larger number; NaN if one of both is.
        max(x, y);
        /// `ln (e^x + e^y)`.
        logaddexp(x, y);
        /// The product; 0 if one factor is, whatever the other one is.
        mul_no_nan(x, y);
        /// The quotient; 0 if the dividend is, whatever the divisor is.
        div_no_nan(x, y);
        /// `ln x`; `-inf` at 0 and NaN below.
        ln(x);
        /// `ln (1 + x)`, accurate near 0; `-inf` at -1 and NaN below.
        log1p(x);
        /// `sin x`.
        sin(x);
        /// `cos x`.
        cos(x);
        /// `tan x`.
        tan(x);
        /// The inverse sine; NaN outside the interval from -1 to 1.
        asin(x);
        /// The inverse cosine; NaN outside the interval from -1 to 1.
        acos(x);
        /// The hyperbolic sine.
        sinh(x);
        /// The hyperbolic cosine.
        cosh(x);
        /// `x^y`.
        pow(x, y);
        /// The angle of the point `(x, y)`, from `-pi` to `pi`.
        atan2(y, x);
        /// `sqrt(x^2 + y^2)`, without overflow of the squares.
        hypot(x, y);
        /// The inverse hyperbolic sine.
        asinh(x);
        /// The inverse hyperbolic cosine; NaN below 1.
        acosh(x);
        /// The inverse hyperbolic tangent; NaN outside the interval from -1 to 1.
        atanh(x);
        /// The inverse of the error function; NaN outside the interval from -1 to 1.
        erfinv(x);
        /// The logarithm of the absolute value of the gamma function.
        lgamma(x);
        /// The derivative of `lgamma`; NaN at the poles.
        digamma(x);
        /// The derivative of `digamma`; infinite at the poles.
        trigamma(x);
        /// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
        pow_less_one(x, y);
        /// `x / (x^2 + y^2)`.
        recip_real(x, y);
        /// The derivative of `digamma` of order `y`, which is rounded to an integer.
        polygamma(x, y);
    } };
}

faces! {
    by_name:
    /// The function with this name, of as many arguments as it has; `None` if there is none.
    ///
    /// ```
    /// use polygrad_math::{WithoutFma, scalar};
    /// let mut arguments = [3.0, 4.0].into_iter();
    /// let hypot = scalar::by_name::<f64, WithoutFma>("hypot", || arguments.next().unwrap_or_default());
    /// assert_eq!(hypot, Some(5.0));
    /// assert_eq!(scalar::by_name::<f64, WithoutFma>("unknown", || 0.0), None);
    /// ```
    by_name;
    face:
    /// The functions of `f64`.
    ///
    /// ```
    /// use polygrad_math::f64::{erfinv, exp, hypot, ln, mul_no_nan};
    /// assert_eq!(exp(0.0), 1.0);
    /// assert_eq!([ln(1.0), ln(0.0)], [0.0, f64::NEG_INFINITY]);
    /// assert!(ln(-1.0).is_nan() && erfinv(1.5).is_nan());
    /// assert_eq!(hypot(-3.0, 4.0), 5.0);
    /// assert_eq!(mul_no_nan(0.0, f64::NAN), 0.0);
    /// ```
    f64;
    face:
    /// The functions of `f32`.
    ///
    /// ```
    /// use polygrad_math::f32::{acosh, atan2, sigmoid, sin};
    /// assert_eq!([sigmoid(-200.0), sigmoid(0.0), sigmoid(200.0)], [0.0, 0.5, 1.0]);
    /// assert_eq!(atan2(-0.0, -1.0), -std::f32::consts::PI);
    /// assert_eq!(sin(-0.0).to_bits(), (-0.0f32).to_bits());
    /// assert!(acosh(0.5).is_nan());
    /// ```
    f32;
}
