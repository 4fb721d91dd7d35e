//! Elementwise functions: each row of the tables as one or a few operations of StableHLO.
//!
//! Law: values at zeros, infinities and NaN are those of the row; elsewhere they agree up to rounding.

use super::text::{Composed, HloValue, Region, Ty};
use crate::ops::{Binary, Unary};

impl Region {
    /// An elementwise function of floats.
    pub(super) fn row(&mut self, op: Unary, x: &HloValue) -> HloValue {
        match op {
            Unary::Neg => self.unary("negate", x),
            Unary::Abs => self.unary("abs", x),
            Unary::Recip => {
                let one = self.like(1.0, x);
                self.binary("divide", &one, x)
            }
            Unary::Square => self.binary("multiply", x, x),
            Unary::OneMinusSquare => {
                let one = self.like(1.0, x);
                let (below, above) = (self.binary("subtract", &one, x), self.binary("add", &one, x));
                self.binary("multiply", &below, &above)
            }
            Unary::Sqrt => self.unary("sqrt", x),
            Unary::Exp => self.unary("exponential", x),
            Unary::Ln => self.unary("log", x),
            Unary::Log1p => self.unary("log_plus_one", x),
            Unary::Expm1 => self.unary("exponential_minus_one", x),
            Unary::Sin => self.unary("sine", x),
            Unary::Cos => self.unary("cosine", x),
            Unary::Tan => self.unary("tan", x),
            Unary::Asin => self.unary("chlo.asin", x),
            Unary::Acos => self.unary("chlo.acos", x),
            Unary::Atan => self.unary("chlo.atan", x),
            Unary::Sinh => self.unary("chlo.sinh", x),
            Unary::Cosh => self.unary("chlo.cosh", x),
            Unary::Tanh => self.unary("tanh", x),
            Unary::Sech2 => self.sech2(x),
            Unary::Asinh => self.unary("chlo.asinh", x),
            Unary::Acosh => self.unary("chlo.acosh", x),
            Unary::Atanh => self.unary("chlo.atanh", x),
            Unary::Sigmoid => self.unary("logistic", x),
            Unary::Relu => {
                let zero = self.like(0.0, x);
                self.binary("maximum", x, &zero)
            }
            Unary::Softplus | Unary::Trigamma => self.defined(op.name(), &[x]),
            Unary::Gaussian => self.gaussian(x),
            Unary::Erf => self.unary("chlo.erf", x),
            Unary::Erfc => self.unary("chlo.erfc", x),
            Unary::Erfinv => self.unary("chlo.erf_inv", x),
            Unary::Lgamma => self.unary("chlo.lgamma", x),
            Unary::Digamma => self.unary("chlo.digamma", x),
        }
    }

    /// An elementwise function of two floats.
    pub(super) fn row2(&mut self, op: Binary, x: &HloValue, y: &HloValue) -> HloValue {
        match op {
            Binary::Add => self.binary("add", x, y),
            Binary::Sub => self.binary("subtract", x, y),
            Binary::Mul => self.binary("multiply", x, y),
            Binary::Div => self.binary("divide", x, y),
            Binary::Pow => self.binary("power", x, y),
            Binary::PowLessOne => self.pow_less_one(x, y),
            Binary::Atan2 => self.binary("atan2", x, y),
            Binary::RecipReal => self.recip_real(x, y),
            Binary::Hypot => self.hypot(x, y),
            Binary::Copysign => self.copysign(x, y),
            // `minimum` leaves the sign of a zero unspecified.
            Binary::Min | Binary::Max => self.defined(op.name(), &[x, y]),
            Binary::LogAddExp | Binary::Polygamma | Binary::DivNoNan => self.defined(op.name(), &[x, y]),
            Binary::MulNoNan => {
                for (factor, other) in [(x, y), (y, x)] {
                    if let Some(Composed::OfMask(mask)) = self.origin(factor) {
                        let zero = self.like(0.0, other);
                        return self.select(&mask, other, &zero);
                    }
                }
                let zeros = [x, y].map(|v| self.compare_with("EQ", v, 0.0));
                let either = self.binary("or", &zeros[0], &zeros[1]);
                let product = self.binary("multiply", x, y);
                let zero = self.like(0.0, x);
                self.select(&either, &zero, &product)
            }
        }
    }

    /// The mask of NaN elements.
    pub(super) fn is_nan(&mut self, x: &HloValue) -> HloValue {
        self.compare("NE", x, x)
    }

    /// `4 e / (1 + e)^2` with `e = e^(-2 |x|)`.
    fn sech2(&mut self, x: &HloValue) -> HloValue {
        let size = self.unary("abs", x);
        let twice = self.binary("add", &size, &size);
        let minus = self.unary("negate", &twice);
        let e = self.unary("exponential", &minus);
        let (one, four) = (self.like(1.0, x), self.like(4.0, x));
        let s = self.binary("add", &one, &e);
        let above = self.binary("multiply", &four, &e);
        let below = self.binary("multiply", &s, &s);
        self.binary("divide", &above, &below)
    }

    /// `x^(y - 1)`, corrected for the rounding error of `y - 1`.
    fn pow_less_one(&mut self, x: &HloValue, y: &HloValue) -> HloValue {
        let [zero, one, minus_one] = [0.0, 1.0, -1.0].map(|c| self.like(c, x));
        let less = self.binary("subtract", y, &one);
        let power = self.binary("power", x, &less);
        let below_one = {
            let size = self.unary("abs", y);
            self.compare("LT", &size, &one)
        };
        let raised = self.binary("add", &less, &one);
        let small = self.binary("subtract", y, &raised);
        let rest = self.binary("subtract", &less, y);
        let large = self.binary("subtract", &minus_one, &rest);
        let lost = self.select(&below_one, &small, &large);
        let size = self.unary("abs", x);
        let log = self.unary("log", &size);
        let exponent = self.binary("multiply", &lost, &log);
        let factor = self.unary("exponential", &exponent);
        let corrected = self.binary("multiply", &power, &factor);
        let something = self.compare("NE", &lost, &zero);
        let moves = self.compare("NE", &power, &zero);
        let finite = [&power, y].map(|v| self.is_finite(v));
        let mut mask = self.binary("and", &something, &moves);
        for finite in &finite {
            mask = self.binary("and", &mask, finite);
        }
        self.select(&mask, &corrected, &power)
    }

    fn is_finite(&mut self, x: &HloValue) -> HloValue {
        let text = format!("stablehlo.is_finite {} : ({}) -> ", x.name, x.tensor());
        self.op(text, &x.shape, Ty::Bool)
    }

    /// `x / (x^2 + y^2)`. If the sum of squares is out of range, both operands are scaled by a power of two before, and
    /// the quotient after. (XLA turns two consecutive divisions into one by the product of the divisors, which
    /// overflows.)
    fn recip_real(&mut self, x: &HloValue, y: &HloValue) -> HloValue {
        let [least, shrink, grow] = if x.ty == Ty::F32 {
            [f64::from(f32::MIN_POSITIVE / f32::EPSILON), 2f64.powi(-75), 2f64.powi(75)]
        } else {
            [f64::MIN_POSITIVE / f64::EPSILON, 2f64.powi(-600), 2f64.powi(600)]
        };
        let sum = self.sum_of_squares(x, y);
        let (small, finite) = (self.compare_with("LT", &sum, least), self.is_finite(&sum));
        let [one, shrink, grow] = [1.0, shrink, grow].map(|c| self.like(c, x));
        let factor = self.select(&finite, &one, &shrink);
        let factor = self.select(&small, &grow, &factor);
        let [x, y] = [x, y].map(|v| self.binary("multiply", v, &factor));
        let sum = self.sum_of_squares(&x, &y);
        // The quotient of an infinite number is 0, and that of NaN is NaN.
        let largest = if x.ty == Ty::F32 { f64::from(f32::MAX) } else { f64::MAX };
        let [least, most] = [-largest, largest].map(|c| self.like(c, &x));
        let x = self.binary("maximum", &x, &least);
        let x = self.binary("minimum", &x, &most);
        let quotient = self.binary("divide", &x, &sum);
        self.binary("multiply", &quotient, &factor)
    }

    fn sum_of_squares(&mut self, x: &HloValue, y: &HloValue) -> HloValue {
        let squares = [x, y].map(|v| self.binary("multiply", v, v));
        self.binary("add", &squares[0], &squares[1])
    }

    /// `sqrt(x^2 + y^2)`, scaled by the larger operand; infinite if either is, even if the other is NaN.
    fn hypot(&mut self, x: &HloValue, y: &HloValue) -> HloValue {
        let [a, b] = [x, y].map(|v| self.unary("abs", v));
        let large = self.binary("maximum", &a, &b);
        let small = self.binary("minimum", &a, &b);
        let [zero, one, infinite] = [0.0, 1.0, f64::INFINITY].map(|c| self.like(c, x));
        let nothing = self.compare("EQ", &large, &zero);
        let divisor = self.select(&nothing, &one, &large);
        let ratio = self.binary("divide", &small, &divisor);
        let square = self.binary("multiply", &ratio, &ratio);
        let sum = self.binary("add", &one, &square);
        let root = self.unary("sqrt", &sum);
        let length = self.binary("multiply", &large, &root);
        let ends = [&a, &b].map(|v| self.compare("EQ", v, &infinite));
        let either = self.binary("or", &ends[0], &ends[1]);
        self.select(&either, &infinite, &length)
    }

    /// The absolute value of `x` with the sign of `y`, even if `y` is a zero; NaN counts as positive.
    pub(super) fn copysign(&mut self, x: &HloValue, y: &HloValue) -> HloValue {
        let size = self.unary("abs", x);
        let minus = self.unary("negate", &size);
        let bits = self.bitcast(y, y.ty.bits());
        let signed = self.compare_with("LT", &bits, 0.0);
        let number = self.compare("EQ", y, y);
        let negative = self.binary("and", &signed, &number);
        self.select(&negative, &minus, &size)
    }
}
