//! Elementwise functions of two float arguments of one shape: one row each.
//!
//! Law: as for [`Unary`](super::Unary), a row defines everything, the method of [`Tensor`](crate::Tensor) included.
//! Broadcasting is left to the typed surface; here both shapes are equal.

use std::f64::consts::LN_2;

use polygrad_math::rows;

use super::graph::KernelError;
use super::property::{Properties, ZeroSign};
use super::val::{Guard, Partial, PartialOrigin, Val};
use crate::array::pool;
use crate::base::BaseTensor;
use crate::dtype::Float;
use crate::ops::{Compare, Property, Unary};

/// How an operation is written in programs.
///
/// Closed: whoever prints programs writes each notation.
///
/// Example: [`Binary::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// By a symbol between its operands, as a sum is.
    Sum(&'static str),
    /// By a symbol between its operands, as a product is.
    Product(&'static str),
    /// By its name before its operands.
    Function,
}

/// Makes the enum and its table functions from the rows.
///
/// `written` is `sum("+")` or `product("*")` for an operator, and `method` for a function. It is `function` for a
/// function whose method exists for other element types, too; that method is in `tensor/elementwise.rs`.
macro_rules! binary_ops {
    (@notation sum $symbol:literal) => { Notation::Sum($symbol) };
    (@notation product $symbol:literal) => { Notation::Product($symbol) };
    (@notation method) => { Notation::Function };
    (@notation function) => { Notation::Function };
    ($(
        $(#[doc = $doc:literal])*
        $name:ident => $Op:ident {
            written: $written:ident $(($symbol:literal))?,
            kernel: |$a:ident, $b:ident| $kernel:expr,
            partials: |$x:ident, $y:ident, $z:ident| [$dx:expr, $dy:expr],
            domain: $xlo:literal .. $xhi:literal, $ylo:literal .. $yhi:literal,
            zeros: [$first_zero:ident, $second_zero:ident],
            properties: [$($property:ident),*],
            $(example: ($ax:expr, $ay:expr) => $value:expr,)?
        }
    )*) => {
        /// An elementwise function of two float arguments.
        ///
        /// Closed: an interpreter fails to compile where a new operation has no meaning yet.
        ///
        /// ```
        /// use polygrad::ops::Binary;
        /// use polygrad::{Array, BaseTensor};
        /// let (x, y) = (Array::from([3.0, 6.0]), Array::from([4.0, 8.0]));
        /// assert_eq!(x.binary(Binary::Hypot, &y), Array::from([5.0, 10.0]));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Binary { $( $(#[doc = $doc])* $Op, )* }

        impl Binary {
            /// Every row of the table.
            ///
            /// Example: [`Binary::name`].
            pub const ALL: &'static [Binary] = &[$( Binary::$Op, )*];

            /// The name of the function, as in messages.
            ///
            /// ```
            /// use polygrad::ops::{Binary, Notation};
            /// assert!(Binary::ALL.contains(&Binary::Add));
            /// assert_eq!((Binary::Sub.name(), Binary::Sub.symbol(), Binary::Pow.symbol()), ("sub", "-", "pow"));
            /// assert_eq!((Binary::Sub.notation(), Binary::Hypot.notation()), (Notation::Sum("-"), Notation::Function));
            /// assert_eq!(Binary::Mul.doc().trim(), "Product `x * y`. Partials `y` and `x`.");
            /// // No divisor is near 0.
            /// assert_eq!(Binary::Div.domain(), [(-3.0, 3.0), (0.5, 3.0)]);
            /// ```
            pub fn name(self) -> &'static str {
                match self { $( Binary::$Op => stringify!($name), )* }
            }

            /// The row's documentation: meaning, partial derivatives, conventions.
            ///
            /// Example: [`Binary::name`].
            pub fn doc(self) -> &'static str {
                match self { $( Binary::$Op => concat!($($doc, "\n"),*), )* }
            }

            /// How printed programs write the operation.
            ///
            /// Example: [`Binary::name`].
            pub fn notation(self) -> Notation {
                match self { $( Binary::$Op => binary_ops!(@notation $written $($symbol)?), )* }
            }

            /// The symbol of the operation, or its name if the row has no symbol.
            ///
            /// Example: [`Binary::name`].
            pub fn symbol(self) -> &'static str {
                match self.notation() {
                    Notation::Sum(symbol) | Notation::Product(symbol) => symbol,
                    Notation::Function => self.name(),
                }
            }

            /// Intervals of both arguments in which the function is smooth and well scaled.
            ///
            /// Example: [`Binary::name`].
            pub fn domain(self) -> [(f64, f64); 2] {
                match self { $( Binary::$Op => [($xlo, $xhi), ($ylo, $yhi)], )* }
            }

            /// The effect of the sign of a zero operand, for each operand.
            pub(crate) fn zeros(self) -> [ZeroSign; 2] {
                match self { $( Binary::$Op => [ZeroSign::$first_zero, ZeroSign::$second_zero], )* }
            }

            /// The properties of the row.
            pub(crate) fn properties(self) -> Properties {
                match self { $( Binary::$Op => const { Properties::of(&[$(Property::$property),*]) }, )* }
            }

            /// The function at two numbers.
            ///
            /// ```
            /// use polygrad::ops::Binary;
            /// assert_eq!((Binary::Pow.apply(2.0, 3.0), Binary::MulNoNan.apply(0.0, f64::NAN)), (8.0, 0.0));
            /// assert_eq!(Binary::Max.zip(&[1.0, 4.0], &[2.0, 3.0]), [2.0, 4.0]);
            /// assert_eq!(Binary::Sub.zip_right(&[1.0, 4.0], 2.0), [-1.0, 2.0]);
            /// assert_eq!(Binary::Sub.zip_left(2.0, &[1.0, 4.0]), [1.0, -2.0]);
            /// ```
            #[inline]
            pub fn apply<F: Float>(self, x: F, y: F) -> F {
                match self { $( Binary::$Op => { let ($a, $b) = (x, y); $kernel } )* }
            }

            /// The function at every pair of elements; both slices have the same length.
            ///
            /// Example: [`Binary::apply`].
            pub fn zip<F: Float>(self, xs: &[F], ys: &[F]) -> Vec<F> {
                match self { $( Binary::$Op => pool::collected(xs.iter().zip(ys).map(|(x, y)| { let ($a, $b) = (*x, *y); $kernel })), )* }
            }

            /// The function at every element and one number on the right.
            ///
            /// Example: [`Binary::apply`].
            pub fn zip_right<F: Float>(self, xs: &[F], y: F) -> Vec<F> {
                match self { $( Binary::$Op => pool::collected(xs.iter().map(|x| { let ($a, $b) = (*x, y); $kernel })), )* }
            }

            /// The function at one number on the left and every element.
            ///
            /// Example: [`Binary::apply`].
            pub fn zip_left<F: Float>(self, x: F, ys: &[F]) -> Vec<F> {
                match self { $( Binary::$Op => pool::collected(ys.iter().map(|y| { let ($a, $b) = (x, *y); $kernel })), )* }
            }

            /// The partial derivative in the first argument at `(x, y)`, where `z` is the value there.
            ///
            /// # Panics
            /// When the formula of the row combines arguments of different shapes or element types.
            ///
            /// ```
            /// use polygrad::{Array, ops::Binary};
            /// let [x, y, z] = [2.0, 3.0, 6.0].map(Array::scalar);
            /// assert_eq!(Binary::Mul.partial_left(&x, &y, &z).factor().1.as_ref(), Some(&y));
            /// assert_eq!(Binary::Mul.partial_right(&x, &y, &z).factor().1.as_ref(), Some(&x));
            /// ```
            #[allow(unused_variables)]
            pub fn partial_left<T: BaseTensor>(self, x: &T, y: &T, z: &T) -> Partial<T> {
                let (x, y, z) = operands(x, y, z);
                match self { $( Binary::$Op => { let ($x, $y, $z) = (&x, &y, &z); $dx } )* }
            }

            /// The partial derivative in the second argument at `(x, y)`, where `z` is the value there.
            ///
            /// # Panics
            /// When the formula of the row combines arguments of different shapes or element types.
            ///
            /// Example: [`Binary::partial_left`].
            #[allow(unused_variables)]
            pub fn partial_right<T: BaseTensor>(self, x: &T, y: &T, z: &T) -> Partial<T> {
                let (x, y, z) = operands(x, y, z);
                match self { $( Binary::$Op => { let ($x, $y, $z) = (&x, &y, &z); $dy } )* }
            }
        }
    };
}

impl Binary {
    pub(crate) fn is(self, property: Property) -> bool {
        self.properties().has(property)
    }

    /// A bound of the error of all kernels of the row; 0 for one operation of IEEE, which is rounded once.
    pub(crate) fn error(self) -> KernelError {
        let floats = match self {
            Binary::Add | Binary::Sub | Binary::Mul | Binary::MulNoNan | Binary::Div => 0,
            Binary::DivNoNan | Binary::Copysign | Binary::Min | Binary::Max => 0,
            Binary::Pow | Binary::Atan2 | Binary::Hypot => 3,
            Binary::RecipReal | Binary::LogAddExp => 5,
            Binary::PowLessOne => 8,
            // It grows with the order, which is at most 170.
            Binary::Polygamma => 360,
        };
        KernelError { floats, of_one: if self == Binary::LogAddExp { 4.0 } else { 0.0 } }
    }
}

/// The rows as the argument of a macro: of the macro of the table here, and of that of the methods in
/// [`crate::tensor`].
macro_rules! binary_rows {
    ($then:ident) => {
        $then! {
            /// Sum `x + y`. Partials 1 and 1.
            add => Add {
                written: sum("+"),
                kernel: |x, y| x + y,
                partials: |x, y, z| [Partial::one(), Partial::one()],
                domain: -3.0..3.0, -3.0..3.0,
                zeros: [HandsOn, HandsOn],
                properties: [Arithmetic],
            }
            /// Difference `x - y`. Partials 1 and -1.
            sub => Sub {
                written: sum("-"),
                kernel: |x, y| x - y,
                partials: |x, y, z| [Partial::one(), Partial::minus_one()],
                domain: -3.0..3.0, -3.0..3.0,
                zeros: [HandsOn, HandsOn],
                properties: [Arithmetic],
            }
            /// Product `x * y`. Partials `y` and `x`.
            mul => Mul {
                written: product("*"),
                kernel: |x, y| x * y,
                partials: |x, y, z| [y.clone().plain(), x.clone().plain()],
                domain: -3.0..3.0, -3.0..3.0,
                zeros: [HandsOn, HandsOn],
                properties: [Arithmetic],
            }
            /// Quotient `x / y`, IEEE at `y = 0`. Partials `1 / y` and `-(x / y) / y`.
            div => Div {
                written: product("/"),
                kernel: |x, y| x / y,
                partials: |x, y, z| [y.clone().quotient(), (-z).singular_then(Guard::Quotient, y.clone())],
                domain: -3.0..3.0, 0.5..3.0,
                zeros: [HandsOn, Sees],
                properties: [Division],
            }
            /// Power `x^y`, with `0^0 = 1`; NaN for a negative base and a fractional exponent.
            /// Partials `y x^(y - 1)`, taken as 0 where `y = 0`, and `x^y ln x`, taken as 0 where `x = 0` and `y >= 0`,
            /// NaN where `x < 0`.
            pow => Pow {
                written: method,
                kernel: |x, y| x.powf(y),
                partials: |x, y, z| [
                    y.mul_no_nan(&x.with(Binary::PowLessOne, y)).singular(),
                    grown(x, &y.is(Compare::Ge, &y.c(0.0)), z).singular()
                ],
                domain: 0.5..2.0, -2.0..2.0,
                zeros: [Sees, Hides],
                properties: [Transcendental, Steep],
                example: ([2.0, 3.0], &tensor([3.0, 2.0])) => [8.0, 9.0],
            }
            /// Power `x^(y - 1)`, as exact as if `y - 1` were not rounded: the derivative of `pow` is computed from it.
            /// Partials `(y - 1) x^(y - 2)`, taken as 0 where `y = 1`, and `x^(y - 1) ln x`, taken as 0 where `x = 0`
            /// and `y >= 1`.
            pow_less_one => PowLessOne {
                written: method,
                kernel: |x, y| pow_less_one(x, y),
                partials: |x, y, z| [
                    (y - 1.0).mul_no_nan(&x.with(Binary::PowLessOne, &(y - 1.0))).singular(),
                    grown(x, &y.is(Compare::Ge, &y.c(1.0)), z).singular()
                ],
                domain: 0.5..2.0, -2.0..2.0,
                zeros: [Sees, Sees],
                properties: [Transcendental, Steep],
                example: ([2.0, 3.0], &tensor([3.0, 2.0])) => [4.0, 3.0],
            }
            /// Angle of the point with ordinate `x` (the first argument) and abscissa `y`, in `(-pi, pi]`.
            /// Partials `y / (x^2 + y^2)` and `-x / (x^2 + y^2)`; NaN at the origin.
            atan2 => Atan2 {
                written: method,
                kernel: |x, y| x.atan2(y),
                partials: |x, y, z| [y.with(Binary::RecipReal, x).singular(), (-x.with(Binary::RecipReal, y)).singular()],
                domain: 0.5..2.0, -2.0..2.0,
                zeros: [Sees, Sees],
                properties: [Transcendental, Steep],
                example: ([0.0], &tensor([1.0])) => [0.0],
            }
            /// Real part of the reciprocal of the complex number `x + i y`: `x / (x^2 + y^2)`, without overflow of the
            /// squares, and 0 where it is infinite; the partials of `atan2` are such real parts. Partials
            /// `(y^2 - x^2) / (x^2 + y^2)^2` and `-2 x y / (x^2 + y^2)^2`, NaN at the origin.
            recip_real => RecipReal {
                written: method,
                kernel: |x, y| F::of_f64(rows::recip_real(x.as_f64(), y.as_f64())),
                partials: |x, y, z| [
                    difference_of_squares(&y.with(Binary::RecipReal, x), z).singular(),
                    (-2.0 * z.mul_no_nan(&y.with(Binary::RecipReal, x))).singular()
                ],
                domain: 0.5..2.0, -2.0..2.0,
                zeros: [Sees, Sees],
                properties: [Intermediate],
                example: ([3.0], 4.0) => [0.12],
            }
            /// Length of the vector `(x, y)`: `sqrt(x^2 + y^2)`, without overflow of the squares. Partials `x / hypot`
            /// and `y / hypot`, by convention 0 at the origin, and the limits 1 or -1 and 0 where one argument is infinite.
            hypot => Hypot {
                written: method,
                kernel: |x, y| x.hypot(y),
                partials: |x, y, z| [cosine(x, y, z).singular(), cosine(y, x, z).singular()],
                domain: 0.5..3.0, -2.0..2.0,
                zeros: [Hides, Hides],
                properties: [Transcendental, NeverMinusZero],
                example: ([3.0], 4.0) => [5.0],
            }
            /// The absolute value of `x` with the sign of `y`, even where `y` is a zero; NaN counts as positive, since
            /// operations do not preserve the sign of NaN. Partials 1 where the signs of `x` and `y` agree, -1 where
            /// they differ, by convention 0 where `x` is 0; and 0 in `y`.
            copysign => Copysign {
                written: method,
                kernel: |x, y| if y.is_nan() { x.abs() } else { x.copysign(y) },
                partials: |x, y, z| [(x.sign() * x.c(1.0).with(Binary::Copysign, y)).mask(), y.c(0.0).mask()],
                domain: -3.0..-0.5, -3.0..-0.5,
                zeros: [Hides, Sees],
                properties: [Intermediate],
                example: ([3.0, -3.0], -0.0) => [-3.0, -3.0],
            }
            /// Smaller of both arguments; NaN if either is. The derivative is that of the chosen argument, on ties of
            /// the first.
            min => Min {
                written: function,
                kernel: |x, y| if x <= y || x.is_nan() { x } else { y },
                partials: |x, y, z| [
                    takes_first(Compare::Le, x, y).as_ones(x).mask(),
                    takes_first(Compare::Le, x, y).not().as_ones(x).mask()
                ],
                domain: -2.0..-0.5, 0.5..2.0,
                zeros: [HandsOn, HandsOn],
                properties: [Intermediate, KeepsMinusZeroOut],
            }
            /// Larger of both arguments; NaN if either is. The derivative is that of the chosen argument, on ties of
            /// the first.
            max => Max {
                written: function,
                kernel: |x, y| if x >= y || x.is_nan() { x } else { y },
                partials: |x, y, z| [
                    takes_first(Compare::Ge, x, y).as_ones(x).mask(),
                    takes_first(Compare::Ge, x, y).not().as_ones(x).mask()
                ],
                domain: -2.0..-0.5, 0.5..2.0,
                zeros: [HandsOn, HandsOn],
                properties: [Intermediate, KeepsMinusZeroOut],
            }
            /// Logarithm of a sum of exponentials, `ln(e^x + e^y)`, without overflow. Partials `sigmoid(x - y)` and
            /// `sigmoid(y - x)`; the rounding of `x - y` counts up to `|x - y|` times in the smaller one.
            logaddexp => LogAddExp {
                written: method,
                kernel: |x, y| {
                    let larger = if x > y || x.is_nan() { x } else { y };
                    // The difference of equal infinities is NaN.
                    if x == y { x + F::of_f64(LN_2) } else { larger + (-(x - y).abs()).exp().ln_1p() }
                },
                partials: |x, y, z| [(x - y).map(Unary::Sigmoid).singular(), (y - x).map(Unary::Sigmoid).singular()],
                domain: -2.0..2.0, -2.0..2.0,
                zeros: [Sees, Sees],
                properties: [Transcendental],
                example: ([1000.0, 0.0], f64::NEG_INFINITY) => [1000.0, 0.0],
            }
            /// Derivative of order `y` of `digamma` at `x`: `digamma` itself for order 0, `trigamma` for order 1. An
            /// order that is at most a quarter away from an integer is rounded; other orders and negative orders give
            /// NaN. At 0 and the negative integers NaN for even orders, which have opposite infinities on either side,
            /// and `inf` for odd orders. Partials `polygamma(x, y + 1)`, and 0 in `y`.
            polygamma => Polygamma {
                written: function,
                kernel: |x, y| F::of_f64(rows::polygamma(x.as_f64(), y.as_f64())),
                partials: |x, y, z| [x.with(Binary::Polygamma, &(y + 1.0)).singular(), y.c(0.0).mask()],
                domain: 0.5..3.0, 1.8..2.2,
                zeros: [Sees, Sees],
                properties: [Transcendental],
            }
            /// Product that is 0 where either factor is 0, even if the other is infinite or NaN there. Partials `y`
            /// and `x`, which multiply in the same way: guarded products are closed under differentiation.
            mul_no_nan => MulNoNan {
                written: method,
                kernel: |x, y| if x == F::ZERO || y == F::ZERO { F::ZERO } else { x * y },
                partials: |x, y, z| [y.clone().singular(), x.clone().singular()],
                domain: -3.0..3.0, 0.5..3.0,
                zeros: [Hides, Hides],
                properties: [Arithmetic],
                example: ([0.0, 2.0], &tensor([f64::NAN, 3.0])) => [0.0, 6.0],
            }
            /// Quotient that is 0 where the dividend is 0, even if the divisor is 0 or NaN there. Partials `1 / y` and
            /// `-(x / y) / y`, which divide in the same way: guarded quotients are closed under differentiation.
            div_no_nan => DivNoNan {
                written: method,
                kernel: |x, y| if x == F::ZERO { F::ZERO } else { x / y },
                partials: |x, y, z| [y.clone().quotient(), (-z).singular_then(Guard::Quotient, y.clone())],
                domain: -3.0..3.0, 0.5..3.0,
                zeros: [Hides, Sees],
                properties: [Division],
                example: ([0.0, 6.0], &tensor([0.0, 3.0])) => [0.0, 2.0],
            }
        }
    };
}
pub(crate) use binary_rows;

binary_rows!(binary_ops);

/// A coordinate of a vector divided by the length of the vector: 0 where the length is 0, and the sign of the coordinate
/// where it alone is infinite.
fn cosine<T: BaseTensor>(side: &Val<T>, other: &Val<T>, length: &Val<T>) -> Val<T> {
    let infinite = length.c(f64::INFINITY);
    let [is_long, is_short] =
        [(side, Compare::Eq), (other, Compare::Lt)].map(|(x, op)| x.map(Unary::Abs).is(op, &infinite));
    let quotient = is_long.and(&is_short).select(&side.sign(), &(side / length));
    length.is(Compare::Eq, &length.c(0.0)).select(&length.c(0.0), &quotient)
}

/// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
fn pow_less_one<F: Float>(x: F, y: F) -> F {
    let less = y - F::ONE;
    let power = x.powf(less);
    let lost = if y.abs() < F::ONE { y - (less + F::ONE) } else { -F::ONE - (less - y) };
    if lost == F::ZERO || power == F::ZERO || !power.is_finite() || !y.is_finite() {
        return power;
    }
    power * (lost * x.abs().ln()).exp()
}

/// `x^2 - y^2`, factored so that neither square overflows where both are large.
fn difference_of_squares<T: BaseTensor>(x: &Val<T>, y: &Val<T>) -> Val<T> {
    (x - y).mul_no_nan(&(x + y))
}

/// A power of `x` times `ln x`; 0 where `x` is 0 and the exponent is not negative.
fn grown<T: BaseTensor>(x: &Val<T>, not_negative: &Val<T>, power: &Val<T>) -> Val<T> {
    x.is(Compare::Eq, &x.c(0.0)).and(not_negative).select(&x.c(0.0), &power.mul_no_nan(&x.map(Unary::Ln)))
}

/// The mask of the elements for which the kernel chooses the first argument.
fn takes_first<T: BaseTensor>(op: Compare, x: &Val<T>, y: &Val<T>) -> Val<T> {
    x.is(op, y).or(&x.is(Compare::Ne, x))
}

/// The operands and the result, as arguments of the formulas of the rows.
fn operands<T: BaseTensor>(x: &T, y: &T, z: &T) -> (Val<T>, Val<T>, Val<T>) {
    (
        Val::from(x.clone(), PartialOrigin::First),
        Val::from(y.clone(), PartialOrigin::Second),
        Val::from(z.clone(), PartialOrigin::Result),
    )
}

#[cfg(test)]
mod tests {
    use super::ZeroSign;
    use crate::Array;
    use crate::dtype::Float;
    use crate::ops::{Binary, Property};

    const NUMBERS: [f64; 11] = [0.0, 5e-324, 1e-300, 1e-9, 0.3, 1.0, 1.5, 2.0, 40.0, 1e300, f64::INFINITY];

    fn numbers() -> impl Iterator<Item = f64> {
        NUMBERS.iter().flat_map(|x| [*x, -x]).chain([f64::NAN])
    }

    /// The function at a zero in this operand, and at `x` in the other.
    fn with_zero<F: Float>(f: Binary, operand: usize, zero: F, x: F) -> F {
        if operand == 0 { f.apply(zero, x) } else { f.apply(x, zero) }
    }

    /// The partials at a zero in this operand, and at `x` in the other.
    fn partials_with_zero(f: Binary, operand: usize, zero: f64, x: f64) -> [Option<f64>; 2] {
        let [a, b] = if operand == 0 { [zero, x] } else { [x, zero] };
        let [a, b, z] = [a, b, f.apply(a, b)].map(Array::scalar);
        [f.partial_left(&a, &b, &z), f.partial_right(&a, &b, &z)]
            .map(|p| p.factor().1.map(|p| p.item::<f64>().expect("a number")))
    }

    fn equal(x: f64, y: f64) -> bool {
        x == y || (x.is_nan() && y.is_nan())
    }

    fn zeros_do<F: Float>() {
        for f in Binary::ALL {
            for (operand, does) in f.zeros().into_iter().enumerate() {
                for x in numbers() {
                    let at = |zero: f64| with_zero(*f, operand, F::of_f64(zero), F::of_f64(x)).as_f64();
                    let (y, mirrored) = (at(0.0), at(-0.0));
                    let holds = match does {
                        ZeroSign::Hides => y.to_bits() == mirrored.to_bits() || (y.is_nan() && mirrored.is_nan()),
                        ZeroSign::HandsOn => equal(y, mirrored),
                        ZeroSign::Sees => true,
                    };
                    assert!(holds, "{}: {y} and {mirrored} at {x}, operand {operand}", f.name());
                }
            }
        }
    }

    #[test]
    fn signs_of_zeros_do_to_values_what_is_said() {
        zeros_do::<f64>();
        zeros_do::<f32>();
    }

    /// The exponent 0 of `pow` is one of the cases.
    #[test]
    fn signs_of_zeros_that_are_not_seen_change_no_derivative() {
        for f in Binary::ALL {
            for (operand, does) in f.zeros().into_iter().enumerate() {
                for x in numbers().filter(|_| does != ZeroSign::Sees) {
                    let [here, there] = [0.0, -0.0].map(|zero| partials_with_zero(*f, operand, zero, x));
                    for (y, mirrored) in here.into_iter().zip(there) {
                        let same = match (y, mirrored) {
                            (Some(y), Some(mirrored)) => equal(y, mirrored),
                            (y, mirrored) => y == mirrored,
                        };
                        assert!(same, "{}: {y:?} and {mirrored:?} at {x}, operand {operand}", f.name());
                    }
                }
            }
        }
    }

    #[test]
    fn values_are_minus_zero_only_of_minus_zeros() {
        let is = |x: f64| x.to_bits() == (-0.0f64).to_bits();
        for f in Binary::ALL {
            for (x, y) in numbers().flat_map(|x| numbers().map(move |y| (x, y))) {
                let (wide, narrow) = (f.apply(x, y), f.apply(x as f32, y as f32));
                // A number may round to a zero of the narrower type, so the zeros among the arguments are found for
                // each type.
                let of_minus_zero = is(x) || is(y);
                let of_narrow = is(f64::from(x as f32)) || is(f64::from(y as f32));
                let kept = f.is(Property::KeepsMinusZeroOut);
                let never = f.is(Property::NeverMinusZero);
                assert!(!(never || kept && !of_minus_zero) || !is(wide), "{} at {x}, {y}", f.name());
                assert!(!(never || kept && !of_narrow) || !is(narrow.into()), "{} at {x}, {y}", f.name());
            }
        }
    }
}
