//! A function for each row of the tables of `polygrad`, one number at a time, on any machine.
//!
//! Law: at every argument a function has the bits of the loop over slices of `polygrad` on a machine of the same kind:
//! those of the branch-free function where it is accurate, and of the row ([`rows`](crate::rows)) elsewhere.
//!
//! Each is a [function with a name](crate::Definition), so source code has it, too.

use crate::elementary::derived;
pub use crate::face::by_name;
use crate::number::{Definition, Library};
use crate::{Elementary, Machine, special};

/// A function with a name and a body.
macro_rules! named {
    ($(#[doc = $doc:literal])* $name:ident($($x:ident),*), $E:ident, $M:ident, $value:expr) => {
        $(#[doc = $doc])*
        #[inline(always)]
        pub fn $name<$E: Elementary, $M: Machine>($($x: $E),*) -> $E {
            const N: usize = [$(stringify!($x)),*].len();
            struct Here<M>(core::marker::PhantomData<M>);
            impl<$E: Elementary, $M: Machine> Definition<$E, N> for Here<$M> {
                const NAME: &'static str = stringify!($name);
                const SAYS: &'static str = concat!($($doc),*);
                const FUSED: bool = $M::FMA;
                #[inline(always)]
                fn of([$($x),*]: [$E; N]) -> $E {
                    $value
                }
            }
            $E::function::<Here<$M>, N>([$($x),*])
        }
    };
}

/// Whether the float type is `f32`.
const fn is_single<E: Elementary>() -> bool {
    size_of::<E::Float>() == size_of::<f32>()
}

/// Functions that are computed without a branch, or by operators.
macro_rules! everywhere {
    ($($(#[doc = $doc:literal])* $name:ident: |$($x:ident),*; $E:ident, $M:ident| $value:expr;)*) => { $(
        named! { $(#[doc = $doc])* $name($($x),*), $E, $M, $value }
    )* };
}

everywhere! {
    /// Negation.
    neg: |x; E, M| -x;
    /// The absolute value.
    abs: |x; E, M| x.magnitude();
    /// `1 / x`.
    recip: |x; E, M| E::literal(1.0) / x;
    /// `x^2`.
    square: |x; E, M| x * x;
    /// `1 - x^2`.
    one_minus_square: |x; E, M| (E::literal(1.0) - x) * (E::literal(1.0) + x);
    /// The square root; NaN below 0.
    sqrt: |x; E, M| x.root();
    /// The largest integer that is not above `x`.
    floor: |x; E, M| x.floor_of();
    /// The smallest integer that is not below `x`.
    ceil: |x; E, M| x.ceil_of();
    /// The nearest integer; halves are rounded away from zero.
    round: |x; E, M| x.round_of();
    /// -1, 0 or 1 by the sign of `x`; NaN for NaN, 0 for both zeros.
    sign: |x; E, M| {
        let (zero, one) = (E::literal(0.0), E::literal(1.0));
        let other = E::select(x.is_not_a_number(), x, zero);
        E::select(x.above(zero), one, E::select(x.below(zero), -one, other))
    };
    /// `e^x`.
    exp: |x; E, M| E::exponential::<M>(x);
    /// `e^x - 1`, accurate near 0.
    expm1: |x; E, M| E::exponential_less_one::<M>(x);
    /// The inverse tangent.
    atan: |x; E, M| E::arctangent::<M>(x);
    /// The hyperbolic tangent.
    tanh: |x; E, M| derived::tanh::<E, M>(x);
    /// `1 / cosh(x)^2`.
    sech2: |x; E, M| derived::sech2::<E, M>(x);
    /// `1 / (1 + e^-x)`.
    sigmoid: |x; E, M| derived::sigmoid::<E, M>(x);
    /// The larger of 0 and `x`; NaN is kept.
    relu: |x; E, M| E::select(x.below(E::literal(0.0)), E::literal(0.0), x);
    /// `ln (1 + e^x)`.
    softplus: |x; E, M| derived::softplus::<E, M>(x);
    /// `e^(-x^2)`.
    gaussian: |x; E, M| E::gaussian::<M>(x);
    /// The error function.
    erf: |x; E, M| E::erf::<M>(x);
    /// `1 - erf x`, without cancellation.
    erfc: |x; E, M| {
        if is_single::<E>() { E::erfc::<M>(x) } else {
            E::choose(E::has_complement(x), || E::erfc::<M>(x), || E::narrow(E::by_library(Library::Erfc, [x.wide()])))
        }
    };
    /// The logarithm of the absolute value of the gamma function.
    lgamma: |x; E, M| {
        let row = || E::narrow(special::lgamma::<E::Wide>(x.wide()));
        if is_single::<E>() { E::choose(E::is_positive_and_finite(x), || E::logarithm_of_gamma::<M>(x), row) } else { row() }
    };
    /// The inverse sine; NaN outside the interval from -1 to 1.
    asin: |x; E, M| {
        let row = || E::narrow(E::by_library(Library::Asin, [x.wide()]));
        if is_single::<E>() { E::arcsine::<M>(x) } else { E::choose(E::is_inner_sine(x), || E::arcsine::<M>(x), row) }
    };
    /// The inverse cosine; NaN outside the interval from -1 to 1.
    acos: |x; E, M| {
        let row = || E::narrow(E::by_library(Library::Acos, [x.wide()]));
        if is_single::<E>() { E::arccosine::<M>(x) } else { E::choose(E::is_inner_sine(x), || E::arccosine::<M>(x), row) }
    };
    /// The inverse of the error function; NaN outside the interval from -1 to 1.
    erfinv: |x; E, M| E::erfinv::<M>(x);
    /// The absolute value of `x` with the sign of `y`, or without a sign if `y` is NaN.
    copysign: |x, y; E, M| E::select(y.is_not_a_number(), x.magnitude(), x.signed_like(y));
    /// The smaller number; NaN if one of both is.
    min: |x, y; E, M| E::select(x.at_most(y) | x.is_not_a_number(), x, y);
    /// The larger number; NaN if one of both is.
    max: |x, y; E, M| E::select(x.at_least(y) | x.is_not_a_number(), x, y);
    /// `ln (e^x + e^y)`.
    logaddexp: |x, y; E, M| derived::logaddexp::<E, M>(x, y);
    /// The product; 0 if one factor is, whatever the other one is.
    mul_no_nan: |x, y; E, M| {
        let zero = E::literal(0.0);
        E::select(x.equals(zero) | y.equals(zero), zero, x * y)
    };
    /// The quotient; 0 if the dividend is, whatever the divisor is.
    div_no_nan: |x, y; E, M| E::select(x.equals(E::literal(0.0)), E::literal(0.0), x / y);
}

/// Functions that have the same bits on every machine.
macro_rules! by_row {
    ($($(#[doc = $doc:literal])* $name:ident($($x:ident),*);)*) => { $(
        named! { $(#[doc = $doc])* $name($($x),*), E, M, E::narrow(special::$name::<E::Wide>($($x.wide()),*)) }
    )* };
}

by_row! {
    /// The inverse hyperbolic sine.
    asinh(x);
    /// The inverse hyperbolic cosine; NaN below 1.
    acosh(x);
    /// The inverse hyperbolic tangent; NaN outside the interval from -1 to 1.
    atanh(x);
    /// The derivative of `lgamma`; NaN at the poles.
    digamma(x);
    /// The derivative of `digamma`; infinite at the poles.
    trigamma(x);
    /// The derivative of `digamma` of order `y`, which is rounded to an integer.
    polygamma(x, y);
}

/// Functions of one number: the branch-free one, its predicate, and the row.
macro_rules! guarded {
    ($($(#[doc = $doc:literal])* $name:ident: |$x:ident; $E:ident, $M:ident| $value:expr, if $ordinary:expr, else $Row:ident;)*) => { $(
        named! { $(#[doc = $doc])* $name($x), $E, $M,
            $E::choose($ordinary, || $value, || $E::narrow($E::by_library(Library::$Row, [$x.wide()])))
        }
    )* };
}

guarded! {
    /// `ln x`; `-inf` at 0 and NaN below.
    ln: |x; E, M| E::logarithm::<M>(x), if E::is_normal_and_positive(x), else Ln;
    /// `ln (1 + x)`, accurate near 0; `-inf` at -1 and NaN below.
    log1p: |x; E, M| E::logarithm_of_one_plus::<M>(x), if E::exceeds_minus_one(x), else Log1p;
    /// `sin x`.
    sin: |x; E, M| E::sine::<M>(x), if E::is_small_angle(x), else Sin;
    /// `cos x`.
    cos: |x; E, M| E::cosine::<M>(x), if E::is_small_angle(x), else Cos;
    /// `tan x`.
    tan: |x; E, M| E::tangent::<M>(x), if E::is_small_angle(x), else Tan;
    /// The hyperbolic sine.
    sinh: |x; E, M| derived::sinh::<E, M>(x), if derived::has_exponential(x), else Sinh;
    /// The hyperbolic cosine.
    cosh: |x; E, M| derived::cosh::<E, M>(x), if derived::has_exponential(x), else Cosh;
}

/// Functions of two numbers: the branch-free one, which says whether it is accurate, and the row.
macro_rules! guarded_pairs {
    ($($(#[doc = $doc:literal])* $name:ident: |$x:ident, $y:ident; $E:ident, $M:ident| $value:expr, else $row:expr;)*) => { $(
        named! { $(#[doc = $doc])* $name($x, $y), $E, $M, {
            let (z, accurate) = $value;
            $E::choose(accurate, || z, || $E::narrow($row))
        } }
    )* };
}

guarded_pairs! {
    /// `x^y`.
    pow: |x, y; E, M| E::power::<M>(x, y), else E::by_library(Library::Pow, [x.wide(), y.wide()]);
    /// The angle of the point `(x, y)`, from `-pi` to `pi`.
    atan2: |y, x; E, M| E::angle::<M>(y, x), else E::by_library(Library::Atan2, [y.wide(), x.wide()]);
    /// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
    pow_less_one: |x, y; E, M| derived::pow_less_one::<E, M>(x, y), else special::pow_less_one(x.wide(), y.wide());
    /// `x / (x^2 + y^2)`.
    recip_real: |x, y; E, M| derived::recip_real::<E, M>(x, y), else special::recip_real(x.wide(), y.wide());
    /// `sqrt(x^2 + y^2)`, without overflow of the squares.
    hypot: |x, y; E, M| derived::hypot::<E, M>(x, y), else E::by_library(Library::Hypot, [x.wide(), y.wide()]);
}
