//! Functions that StableHLO and CHLO lack, or that XLA computes with large errors, as formulas in `f64`.

use std::f64::consts::PI;

use super::text::{Code, Ty, Value};

/// The bits of a number that are left out before the number is squared exactly.
const TRAILING: i64 = 0x7ff_ffff;

/// From here on the series of the trigamma function is exact to rounding.
const LARGE: i32 = 12;

/// The Bernoulli numbers `B_2, B_4, .., B_16`.
const BERNOULLI: [f64; 8] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];

impl Code {
    /// `e^(-x^2)`: the square of the leading bits is exact, and the rest of the square gives a factor near 1.
    pub(super) fn gaussian(&mut self, x: &Value) -> Value {
        let wide = self.convert(x, Ty::F64);
        let a = self.unary("abs", &wide);
        let bits = self.bitcast(&a, Ty::I64);
        let kept = self.integer(!TRAILING, &a.shape);
        let bits = self.binary("and", &bits, &kept);
        let leading = self.bitcast(&bits, Ty::F64);
        let (below, above) = (self.binary("subtract", &a, &leading), self.binary("add", &a, &leading));
        let rest = self.binary("multiply", &below, &above);
        // 1 - r (1 - r (1/2 - r / 6))
        let mut factor = self.like(1.0 / 6.0, &a);
        for c in [0.5, 1.0, 1.0] {
            let c = self.like(c, &a);
            let term = self.binary("multiply", &rest, &factor);
            factor = self.binary("subtract", &c, &term);
        }
        let square = self.binary("multiply", &leading, &leading);
        let minus = self.unary("negate", &square);
        let exp = self.unary("exponential", &minus);
        let value = self.binary("multiply", &exp, &factor);
        let far = self.compare_with("GT", &a, 40.0);
        let zero = self.like(0.0, &a);
        let value = self.select(&far, &zero, &value);
        self.convert(&value, x.ty)
    }

    /// The derivative of `digamma`: raised above [`LARGE`], then by the asymptotic series; negative arguments are
    /// reflected.
    pub(super) fn trigamma(&mut self, x: &Value) -> Value {
        let wide = self.convert(x, Ty::F64);
        let [zero, one, half, infinite, nan, pi] =
            [0.0, 1.0, 0.5, f64::INFINITY, f64::NAN, PI].map(|c| self.like(c, &wide));
        let negative = self.compare("LE", &wide, &zero);
        let mirrored = self.binary("subtract", &one, &wide);
        let mut y = self.select(&negative, &mirrored, &wide);
        let mut below = zero.clone();
        for _ in 0..LARGE {
            let small = self.compare_with("LT", &y, LARGE.into());
            let square = self.binary("multiply", &y, &y);
            let term = self.binary("divide", &one, &square);
            let term = self.select(&small, &term, &zero);
            below = self.binary("add", &below, &term);
            let step = self.select(&small, &one, &zero);
            y = self.binary("add", &y, &step);
        }
        let square = self.binary("multiply", &y, &y);
        let z = self.binary("divide", &one, &square);
        let mut series = zero.clone();
        for b in BERNOULLI.iter().rev() {
            let b = self.like(*b, &wide);
            let sum = self.binary("add", &series, &b);
            series = self.binary("multiply", &sum, &z);
        }
        let linear = self.binary("divide", &half, &y);
        let sum = self.binary("add", &one, &linear);
        let sum = self.binary("add", &sum, &series);
        let value = self.binary("divide", &sum, &y);
        let value = self.binary("add", &value, &below);
        let nearest = self.unary("round_nearest_afz", &wide);
        let offset = self.binary("subtract", &wide, &nearest);
        let angle = self.binary("multiply", &pi, &offset);
        let sine = self.unary("sine", &angle);
        let ratio = self.binary("divide", &pi, &sine);
        let square = self.binary("multiply", &ratio, &ratio);
        let reflected = self.binary("subtract", &square, &value);
        let value = self.select(&negative, &reflected, &value);
        let floor = self.unary("floor", &wide);
        let whole = self.compare("EQ", &wide, &floor);
        let pole = self.binary("and", &negative, &whole);
        let value = self.select(&pole, &infinite, &value);
        let bottom = self.compare_with("EQ", &wide, f64::NEG_INFINITY);
        let value = self.select(&bottom, &nan, &value);
        self.convert(&value, x.ty)
    }
}
