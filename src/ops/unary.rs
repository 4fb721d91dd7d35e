//! Elementwise functions of one float argument: one row each.
//!
//! Law: a row defines everything. Kernel, derivative, test domain, graph, error and properties are side by side here,
//! and code for all rows is generated from them. Other modules name an operation only for facts that it shares with no
//! other row (rewriting, its text in StableHLO), in matches that rustc completes; `tests/language/variants.rs` finds
//! lists of operations that rustc does not complete, and `tests/derivatives/laws.rs` checks each row against finite
//! differences.
//!
//! The two tables are closed under differentiation: every derivative is made of rows.

use std::f64::consts::FRAC_2_SQRT_PI;

use polygrad_math::rows;

use super::graph::Course::{Falls, Peak, Poles, Rises, Valley, Wave};
use super::graph::{FINITE, Graph, KernelError, LEAST_GAMMA, POSITIVE, REALS, UNIT};
use super::property::Properties;
use super::val::{Guard, Partial, PartialOrigin, Val};
use crate::array::pool;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::{Binary, Compare, Property};

/// Makes the enum and its table functions from the rows.
macro_rules! unary_ops {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident => $Op:ident {
            kernel: |$k:ident| $kernel:expr,
            derivative: |$x:ident, $y:ident| $derivative:expr,
            domain: $lo:literal .. $hi:literal,
            graph: $course:expr, $defined:expr => $range:expr,
            error: $error:literal,
            $(error_of_one: $error_of_one:literal,)?
            properties: [$($property:ident),*],
            $(example: $at:literal => $value:literal,)?
        }
    )*) => {
        /// An elementwise function of one float argument.
        ///
        /// Closed: an interpreter fails to compile where a new operation has no meaning yet.
        ///
        /// ```
        /// use polygrad::ops::Unary;
        /// use polygrad::{Array, BaseTensor};
        /// assert_eq!(Array::from([1.0, 4.0]).unary(Unary::Sqrt), Array::from([1.0, 2.0]));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Unary { $( $(#[doc = $doc])* $Op, )* }

        impl Unary {
            /// Every row of the table.
            ///
            /// Example: [`Unary::name`].
            pub const ALL: &'static [Unary] = &[$( Unary::$Op, )*];

            /// The name of the function in printed programs, which is also the name of the method.
            ///
            /// ```
            /// use polygrad::ops::Unary;
            /// assert!(Unary::ALL.contains(&Unary::Sin));
            /// assert_eq!((Unary::Exp.name(), Unary::Recip.name()), ("exp", "recip"));
            /// assert!(Unary::Erf.doc().trim().starts_with("Error function"));
            /// // A part of the interval from -1 to 1, without the ends, where the derivative is infinite.
            /// assert_eq!(Unary::Erfinv.domain(), (-0.8, 0.8));
            /// assert!(Unary::Cos.is_even() && Unary::Sin.is_odd() && !Unary::Exp.is_even() && !Unary::Exp.is_odd());
            /// ```
            pub fn name(self) -> &'static str {
                match self { $( Unary::$Op => stringify!($name), )* }
            }

            /// The row's documentation: meaning, derivative, conventions.
            ///
            /// Example: [`Unary::name`].
            pub fn doc(self) -> &'static str {
                match self { $( Unary::$Op => concat!($($doc, "\n"),*), )* }
            }

            /// An interval in which the function is smooth and well scaled: where tests sample it.
            ///
            /// Example: [`Unary::name`].
            pub fn domain(self) -> (f64, f64) {
                match self { $( Unary::$Op => ($lo, $hi), )* }
            }

            /// Domain, range and monotonicity of the function.
            pub(crate) fn graph(self) -> Graph {
                match self { $( Unary::$Op => Graph { course: $course, defined: $defined, range: $range }, )* }
            }

            /// A bound of the error of all kernels of the row.
            pub(crate) fn error(self) -> KernelError {
                match self { $( Unary::$Op => KernelError { floats: $error, of_one: 0.0 $(+ $error_of_one)? }, )* }
            }

            /// The properties of the row.
            pub(crate) fn properties(self) -> Properties {
                match self { $( Unary::$Op => const { Properties::of(&[$(Property::$property),*]) }, )* }
            }

            /// The function at one number.
            ///
            /// ```
            /// use polygrad::ops::Unary;
            /// assert_eq!((Unary::Sqrt.apply(9.0), Unary::Sqrt.apply(9.0f32)), (3.0, 3.0));
            /// assert_eq!(Unary::Square.map(&[1.0, 2.0, 3.0]), [1.0, 4.0, 9.0]);
            /// ```
            #[inline]
            pub fn apply<F: Float>(self, x: F) -> F {
                match self { $( Unary::$Op => { let $k = x; $kernel } )* }
            }

            /// The function at every element; the loop is inside the match so that each kernel
            /// is compiled, and vectorised, on its own.
            ///
            /// Example: [`Unary::apply`].
            pub fn map<F: Float>(self, xs: &[F]) -> Vec<F> {
                match self { $( Unary::$Op => pool::collected(xs.iter().map(|x| { let $k = *x; $kernel })), )* }
            }

            /// The derivative at `x`, where `y` is the function's value there.
            ///
            /// ```
            /// use polygrad::{Array, ops::Unary};
            /// let [x, y, slope] = [3.0, 9.0, 6.0].map(Array::scalar);
            /// assert_eq!(Unary::Square.derivative(&x, &y).factor().1, Some(slope));
            /// ```
            #[track_caller]
            pub fn derivative<T: BaseTensor>(self, x: &T, y: &T) -> Partial<T> {
                let (x, y) = (Val::from(x.clone(), PartialOrigin::First), Val::from(y.clone(), PartialOrigin::Result));
                match self { $( Unary::$Op => { let ($x, $y) = (&x, &y); $derivative } )* }
            }
        }
    };
}

impl Unary {
    pub(crate) fn is(self, property: Property) -> bool {
        self.properties().has(property)
    }

    /// Whether `f(-x) = f(x)`, to the bit.
    ///
    /// Example: [`Unary::name`].
    pub fn is_even(self) -> bool {
        self.is(Property::Even)
    }

    /// Whether `f(-x) = -f(x)`, to the bit.
    ///
    /// Example: [`Unary::name`].
    pub fn is_odd(self) -> bool {
        self.is(Property::Odd)
    }
}

/// A literal of the kernel's own float type.
fn c<F: Float>(x: f64) -> F {
    F::of_f64(x)
}

/// The rows as the argument of a macro: of the macro of the table here, and of that of the methods in
/// [`crate::tensor`].
macro_rules! unary_rows {
    ($then:ident) => {
        $then! {
            /// Negation, `-x`. Derivative `-1`.
            neg => Neg {
                kernel: |x| -x,
                derivative: |_x, _y| Partial::minus_one(),
                domain: -3.0..3.0,
                graph: Falls, REALS => REALS,
                error: 0,
                properties: [Odd, Arithmetic],
                example: 2.0 => -2.0,
            }
            /// Absolute value `|x|`. Derivative `sign(x)`, by convention 0 at 0.
            abs => Abs {
                kernel: |x| x.abs(),
                derivative: |x, _y| x.sign().mask(),
                domain: 0.5..3.0,
                graph: Valley(0.0), REALS => POSITIVE,
                error: 0,
                properties: [Even, Arithmetic, NeverMinusZero, OwnAbsolute],
                example: -3.0 => 3.0,
            }
            /// Reciprocal `1 / x`. Derivative `-1 / x^2`; infinite at 0.
            recip => Recip {
                kernel: |x| x.recip(),
                derivative: |_x, y| y.clone().singular_then(Guard::Singular, -y),
                domain: 0.5..3.0,
                graph: Falls, REALS => REALS,
                error: 0,
                properties: [Odd, Division, SeesSignOfZero, CourseRightOfZero],
                example: 4.0 => 0.25,
            }
            /// Square `x^2`. Derivative `2 x`.
            square => Square {
                kernel: |x| x * x,
                derivative: |x, _y| (2.0 * x).plain(),
                domain: -3.0..3.0,
                graph: Valley(0.0), REALS => POSITIVE,
                error: 0,
                properties: [Even, Arithmetic, NeverMinusZero],
                example: 3.0 => 9.0,
            }
            /// `1 - x^2`, as the product `(1 - x) (1 + x)`, which does not cancel near the ends of `[-1, 1]`. Derivative
            /// `-2 x`.
            one_minus_square => OneMinusSquare {
                kernel: |x| (F::ONE - x) * (F::ONE + x),
                derivative: |x, _y| (-2.0 * x).plain(),
                domain: -3.0..3.0,
                graph: Peak(0.0), REALS => [f64::NEG_INFINITY, 1.0],
                error: 2,
                properties: [Even, Arithmetic, NeverMinusZero],
                example: 0.5 => 0.75,
            }
            /// Square root; NaN below 0. Derivative `1 / (2 sqrt x)`, infinite at 0 and NaN below.
            sqrt => Sqrt {
                kernel: |x| x.sqrt(),
                derivative: |_x, y| (2.0 * y).quotient(),
                domain: 0.5..3.0,
                graph: Rises, POSITIVE => POSITIVE,
                error: 0,
                properties: [Division, SeesSignOfZero, KeepsMinusZeroOut, Steep],
                example: 9.0 => 3.0,
            }
            /// Exponential `e^x`. Derivative `e^x`.
            exp => Exp {
                kernel: |x| x.exp(),
                derivative: |_x, y| y.clone().singular(),
                domain: -2.0..2.0,
                graph: Rises, REALS => POSITIVE,
                error: 3,
                properties: [Transcendental, NeverMinusZero, OwnAbsolute],
                example: 0.0 => 1.0,
            }
            /// Natural logarithm; `-inf` at 0 and NaN below. Derivative `1 / x`, which is not NaN below 0.
            ln => Ln {
                kernel: |x| x.ln(),
                derivative: |x, _y| x.clone().quotient(),
                domain: 0.5..3.0,
                graph: Rises, POSITIVE => REALS,
                error: 3,
                properties: [Transcendental, SeesSignOfZero],
                example: 1.0 => 0.0,
            }
            /// `ln(1 + x)`, accurate near 0; `-inf` at -1 and NaN below. Derivative `1 / (1 + x)`, which is not NaN
            /// below -1.
            log1p => Log1p {
                kernel: |x| x.ln_1p(),
                derivative: |x, _y| (1.0 + x).quotient(),
                domain: -0.5..2.0,
                graph: Rises, [-1.0, f64::INFINITY] => REALS,
                error: 3,
                properties: [Transcendental],
                example: 0.0 => 0.0,
            }
            /// `e^x - 1`, accurate near 0. Derivative `e^x`.
            expm1 => Expm1 {
                kernel: |x| x.exp_m1(),
                derivative: |x, _y| x.map(Unary::Exp).singular(),
                domain: -2.0..2.0,
                graph: Rises, REALS => [-1.0, f64::INFINITY],
                error: 3,
                properties: [Transcendental],
                example: 0.0 => 0.0,
            }
            /// Sine of an angle in radians. Derivative `cos x`.
            sin => Sin {
                kernel: |x| x.sin(),
                derivative: |x, _y| x.map(Unary::Cos).plain(),
                domain: -3.0..3.0,
                graph: Wave { peak: 0.5 }, FINITE => UNIT,
                error: 12,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Cosine of an angle in radians. Derivative `-sin x`.
            cos => Cos {
                kernel: |x| x.cos(),
                derivative: |x, _y| (-x.map(Unary::Sin)).plain(),
                domain: -3.0..3.0,
                graph: Wave { peak: 0.0 }, FINITE => UNIT,
                error: 12,
                properties: [Even, Transcendental],
                example: 0.0 => 1.0,
            }
            /// Tangent of an angle in radians. Derivative `1 + tan(x)^2`.
            tan => Tan {
                kernel: |x| x.tan(),
                derivative: |_x, y| (1.0 + y * y).plain(),
                domain: -1.2..1.2,
                graph: Poles(0.5), FINITE => REALS,
                error: 20,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Arc sine; NaN outside `[-1, 1]`. Derivative `1 / sqrt(1 - x^2)`, infinite at the ends and NaN outside.
            asin => Asin {
                kernel: |x| x.asin(),
                derivative: |x, _y| x.map(Unary::OneMinusSquare).map(Unary::Sqrt).quotient(),
                domain: -0.8..0.8,
                graph: Rises, UNIT => REALS,
                error: 3,
                properties: [Odd, Transcendental, Steep],
                example: 0.0 => 0.0,
            }
            /// Arc cosine; NaN outside `[-1, 1]`. Derivative `-1 / sqrt(1 - x^2)`, infinite at the ends and NaN
            /// outside.
            acos => Acos {
                kernel: |x| x.acos(),
                derivative: |x, _y| (-x.map(Unary::OneMinusSquare).map(Unary::Sqrt)).quotient(),
                domain: -0.8..0.8,
                graph: Falls, UNIT => POSITIVE,
                error: 3,
                properties: [Transcendental, Steep],
                example: 1.0 => 0.0,
            }
            /// Arc tangent. Derivative `1 / (1 + x^2)`.
            atan => Atan {
                kernel: |x| x.atan(),
                derivative: |x, _y| x.c(1.0).with(Binary::RecipReal, x).plain(),
                domain: -3.0..3.0,
                graph: Rises, REALS => REALS,
                error: 3,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Hyperbolic sine. Derivative `cosh x`.
            sinh => Sinh {
                kernel: |x| x.sinh(),
                derivative: |x, _y| x.map(Unary::Cosh).singular(),
                domain: -2.0..2.0,
                graph: Rises, REALS => REALS,
                error: 5,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Hyperbolic cosine. Derivative `sinh x`.
            cosh => Cosh {
                kernel: |x| x.cosh(),
                derivative: |x, _y| x.map(Unary::Sinh).singular(),
                domain: -2.0..2.0,
                graph: Valley(0.0), REALS => POSITIVE,
                error: 5,
                properties: [Even, Transcendental, NeverMinusZero, OwnAbsolute],
                example: 0.0 => 1.0,
            }
            /// Hyperbolic tangent. Derivative `1 / cosh(x)^2`.
            tanh => Tanh {
                kernel: |x| x.tanh(),
                derivative: |x, _y| x.map(Unary::Sech2).plain(),
                domain: -2.0..2.0,
                graph: Rises, REALS => UNIT,
                error: 5,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Square of the hyperbolic secant, `1 / cosh(x)^2`, accurate where `1 - tanh(x)^2` is near 0, too.
            /// Derivative `-2 tanh(x) / cosh(x)^2`.
            sech2 => Sech2 {
                kernel: |x| c(rows::sech2(x.as_f64())),
                derivative: |x, y| (-2.0 * (x.map(Unary::Tanh) * y)).plain(),
                domain: -2.0..2.0,
                graph: Peak(0.0), REALS => POSITIVE,
                error: 6,
                properties: [Even, Transcendental],
                example: 0.0 => 1.0,
            }
            /// Inverse hyperbolic sine. Derivative `1 / sqrt(1 + x^2)`.
            asinh => Asinh {
                kernel: |x| c(rows::asinh(x.as_f64())),
                derivative: |x, _y| x.c(1.0).with(Binary::Hypot, x).quotient(),
                domain: -3.0..3.0,
                graph: Rises, REALS => REALS,
                error: 5,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Inverse hyperbolic cosine; NaN below 1. Derivative `1 / sqrt(x^2 - 1)`, infinite at 1 and NaN below.
            acosh => Acosh {
                kernel: |x| c(rows::acosh(x.as_f64())),
                // Two roots: below -1, where the function is NaN, the root of the product would be a number.
                derivative: |x, _y| (x - 1.0).map(Unary::Sqrt).mul_no_nan(&(x + 1.0).map(Unary::Sqrt)).quotient(),
                domain: 1.5..3.0,
                graph: Rises, [1.0, f64::INFINITY] => POSITIVE,
                error: 5,
                properties: [Transcendental, Steep],
                example: 1.0 => 0.0,
            }
            /// Inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond. Derivative `1 / (1 - x^2)`, infinite at
            /// the ends and not NaN beyond.
            atanh => Atanh {
                kernel: |x| c(rows::atanh(x.as_f64())),
                derivative: |x, _y| x.map(Unary::OneMinusSquare).quotient(),
                domain: -0.8..0.8,
                graph: Rises, UNIT => REALS,
                error: 5,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Logistic function `1 / (1 + e^-x)`, without overflow. Derivative `sigmoid(x) sigmoid(-x)`, as
            /// `1 / (2 cosh(x / 2))^2`.
            sigmoid => Sigmoid {
                kernel: |x| {
                    // The exponent is never positive, so nothing overflows.
                    let e = (-x.abs()).exp();
                    (if x < c(0.0) { e } else { F::ONE }) / (F::ONE + e)
                },
                derivative: |x, _y| (0.25 * (0.5 * x).map(Unary::Sech2)).plain(),
                domain: -3.0..3.0,
                graph: Rises, REALS => [0.0, 1.0],
                error: 5,
                properties: [Transcendental, NeverMinusZero],
                example: 0.0 => 0.5,
            }
            /// Rectifier `max(x, 0)`. Derivative 1 where `x > 0` and 0 elsewhere, including at 0.
            relu => Relu {
                kernel: |x| if x < c(0.0) { c(0.0) } else { x },
                derivative: |x, _y| x.is(Compare::Gt, &x.c(0.0)).as_ones(x).mask(),
                domain: 0.5..3.0,
                graph: Rises, REALS => POSITIVE,
                error: 0,
                properties: [Arithmetic, KeepsMinusZeroOut],
                example: -2.0 => 0.0,
            }
            /// Smooth rectifier `ln(1 + e^x)`, without overflow. Derivative `sigmoid x`.
            softplus => Softplus {
                kernel: |x| (if x > c(0.0) { x } else { c(0.0) }) + (-x.abs()).exp().ln_1p(),
                derivative: |x, _y| x.map(Unary::Sigmoid).plain(),
                domain: -3.0..3.0,
                graph: Rises, REALS => POSITIVE,
                error: 5,
                properties: [Transcendental, NeverMinusZero],
                example: 1000.0 => 1000.0,
            }
            /// Gaussian function `e^(-x^2)`, accurate where `x^2` is large. Derivative `-2 x e^(-x^2)`, with
            /// fewer digits where the value is subnormal.
            gaussian => Gaussian {
                kernel: |x| c(rows::gaussian(x.as_f64())),
                derivative: |x, y| (-2.0 * x.mul_no_nan(y)).plain(),
                domain: -2.0..2.0,
                graph: Peak(0.0), REALS => POSITIVE,
                error: 5,
                properties: [Even, Transcendental],
                example: 0.0 => 1.0,
            }
            /// Error function `2 / sqrt(pi)` times the integral of `e^(-t^2)` from 0 to `x`. Derivative
            /// `2 / sqrt(pi) e^(-x^2)`.
            erf => Erf {
                kernel: |x| c(rows::erf(x.as_f64())),
                derivative: |x, _y| (FRAC_2_SQRT_PI * x.map(Unary::Gaussian)).plain(),
                domain: -2.0..2.0,
                graph: Rises, REALS => UNIT,
                error: 5,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Complementary error function `1 - erf x`, accurate where that is near 0. Derivative
            /// `-2 / sqrt(pi) e^(-x^2)`.
            erfc => Erfc {
                kernel: |x| c(rows::erfc(x.as_f64())),
                derivative: |x, _y| (-FRAC_2_SQRT_PI * x.map(Unary::Gaussian)).plain(),
                domain: -2.0..2.0,
                graph: Falls, REALS => [0.0, 2.0],
                error: 5,
                properties: [Transcendental],
                example: 0.0 => 1.0,
            }
            /// Inverse of the error function: the number whose `erf` is `x`; infinite at -1 and 1, NaN beyond.
            /// Derivative `sqrt(pi) / 2 e^(y^2)` with `y = erfinv x`, infinite at the ends.
            ///
            /// `2^(1/2) erfinv(2 p - 1)` is the quantile `p` of the standard normal distribution.
            erfinv => Erfinv {
                kernel: |x| c(rows::erfinv(x.as_f64())),
                derivative: |x, y| {
                    // This is 1, except for the rounding of `y`, whose relative error would count `2 y^2` times.
                    let rounding = (1.0 - x.map(Unary::Abs)).with(Binary::DivNoNan, &y.map(Unary::Abs).map(Unary::Erfc));
                    (FRAC_2_SQRT_PI * y.map(Unary::Gaussian) * rounding.stop_gradient()).quotient()
                },
                domain: -0.8..0.8,
                graph: Rises, UNIT => REALS,
                error: 6,
                properties: [Odd, Transcendental],
                example: 0.0 => 0.0,
            }
            /// Logarithm of the absolute value of the gamma function; `inf` at 0 and the negative integers.
            /// Derivative `digamma x`, NaN there.
            lgamma => Lgamma {
                kernel: |x| c(rows::lgamma(x.as_f64())),
                derivative: |x, _y| x.map(Unary::Digamma).singular(),
                domain: 0.5..3.0,
                graph: Valley(LEAST_GAMMA), REALS => REALS,
                error: 5,
                error_of_one: 20.0,
                properties: [Transcendental, SeesSignOfZero, CourseRightOfZero],
                example: 1.0 => 0.0,
            }
            /// Digamma function, the derivative of `lgamma`; NaN at 0 and the negative integers, where it has
            /// opposite infinities on either side. Derivative `trigamma x`.
            ///
            /// The error in `f64` is below `1.2e-15` relative to the largest of `|digamma x|`, 1, and, for negative `x`,
            /// `ln |x|`, which cancels near the zeros there.
            ///
            /// ```
            /// use polygrad::tensor;
            /// // Less Euler's constant.
            /// assert!((tensor(1.0).digamma() + 0.5772156649015329).abs().item() < 1e-15);
            /// ```
            digamma => Digamma {
                kernel: |x| c(rows::digamma(x.as_f64())),
                derivative: |x, _y| x.map(Unary::Trigamma).singular(),
                domain: 0.5..3.0,
                graph: Rises, REALS => REALS,
                error: 8,
                error_of_one: 20.0,
                properties: [Transcendental, SeesSignOfZero, CourseRightOfZero],
            }
            /// Trigamma function, the second derivative of `lgamma`; `inf` at 0 and the negative integers.
            /// Derivative `polygamma(x, 2)`.
            ///
            /// The relative error in `f64` is below `1.2e-15`.
            ///
            /// ```
            /// use polygrad::tensor;
            /// assert!((tensor(1.0).trigamma() - std::f64::consts::PI.powi(2) / 6.0).abs().item() < 1e-14);
            /// ```
            trigamma => Trigamma {
                kernel: |x| c(rows::trigamma(x.as_f64())),
                derivative: |x, _y| x.with(Binary::Polygamma, &x.c(2.0)).singular(),
                domain: 0.5..3.0,
                graph: Falls, REALS => POSITIVE,
                error: 12,
                properties: [Transcendental, CourseRightOfZero],
            }
        }
    };
}
pub(crate) use unary_rows;

unary_rows!(unary_ops);

#[cfg(test)]
mod tests {
    use crate::Array;
    use crate::ops::{Guard, Property, Unary};

    const NUMBERS: [f64; 12] = [0.0, 5e-324, 1e-300, 1e-9, 0.3, 0.7, 1.0, 1.5, 2.5, 40.0, 1e300, f64::INFINITY];

    /// Whether `f(-x)` is what the property says of `f(x)`, to the bit, for all numbers.
    fn mirrors(f: Unary, sign: f64) -> bool {
        NUMBERS.iter().flat_map(|x| [*x, -x]).all(|x| {
            let (y, mirrored) = (sign * f.apply(x), f.apply(-x));
            y.to_bits() == mirrored.to_bits() || y.is_nan() && mirrored.is_nan()
        })
    }

    #[test]
    fn parity_is_that_of_the_kernel() {
        for f in Unary::ALL {
            assert_eq!(f.is(Property::Even), mirrors(*f, 1.0), "{}: even", f.name());
            assert_eq!(f.is(Property::Odd), mirrors(*f, -1.0), "{}: odd", f.name());
        }
    }

    #[test]
    fn values_that_are_never_minus_zero_are_not() {
        for f in Unary::ALL.iter().filter(|f| f.is(Property::NeverMinusZero)) {
            let of = |x: f64| f.apply(x).to_bits() != (-0.0f64).to_bits();
            assert!(NUMBERS.iter().flat_map(|x| [*x, -x]).all(of), "{}", f.name());
        }
    }

    #[test]
    fn values_are_minus_zero_only_of_minus_zero() {
        let sure = |f: &&Unary| f.is(Property::KeepsMinusZeroOut) && !f.is(Property::NeverMinusZero);
        assert!(Unary::ALL.iter().any(|f| sure(&f)));
        for f in Unary::ALL.iter().filter(sure) {
            let is = |x: f64| x.to_bits() == (-0.0f64).to_bits();
            for x in NUMBERS.iter().flat_map(|x| [*x, -x]) {
                assert!(is(x) || !is(f.apply(x)), "{} at {x}", f.name());
                // A number may round to a zero of the narrower type, and is another argument then.
                let narrow = x as f32;
                assert!(is(narrow.into()) || !is(f.apply(narrow).into()), "{} at {narrow}", f.name());
            }
            assert_eq!(f.apply(-0.0f64).to_bits(), (-0.0f64).to_bits(), "{}: say that no value is -0", f.name());
        }
    }

    #[test]
    fn what_is_its_own_absolute_value_has_its_derivatives() {
        for f in Unary::ALL.iter().filter(|f| f.is(Property::OwnAbsolute)) {
            for x in NUMBERS.iter().flat_map(|x| [*x, -x]) {
                let (y, narrow) = (f.apply(x), f.apply(x as f32));
                assert_eq!(y.abs().to_bits(), y.to_bits(), "{} at {x}", f.name());
                assert_eq!(narrow.abs().to_bits(), narrow.to_bits(), "{} at {x}", f.name());
                // `abs` has the derivative 0 at 0, which also hides an infinite cotangent.
                let [at, of] = [x, y].map(Array::scalar);
                let (guard, slope) = f.derivative(&at, &of).factor();
                let is_zero = slope.is_some_and(|d| d.item::<f64>() == Ok(0.0)) && guard != Guard::Plain;
                assert!(y != 0.0 || is_zero, "{} has a derivative at {x}", f.name());
            }
        }
    }

    #[test]
    fn where_the_sign_of_zero_is_seen_a_value_differs_beyond_it() {
        for f in Unary::ALL {
            let (y, mirrored) = (f.apply(0.0f64), f.apply(-0.0));
            let differs = y != mirrored && !(y.is_nan() && mirrored.is_nan());
            assert!(!differs || f.is(Property::SeesSignOfZero), "{}: {y} and {mirrored}", f.name());
        }
    }
}
