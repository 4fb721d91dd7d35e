//! Functions that StableHLO and CHLO lack, or that XLA computes with large errors, as formulas in `f64`.

use std::f64::consts::PI;

use super::text::{HloValue, Region, Ty};

/// The trailing bits of a number that are cleared, so that its square is exact.
const TRAILING: i64 = 0x7ff_ffff;

/// The least argument at which the asymptotic series of the trigamma function is exact to rounding.
const LARGE: i32 = 12;

/// The Bernoulli numbers `B_2, B_4, .., B_16`.
const BERNOULLI: [f64; 8] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0, -3617.0 / 510.0];

impl Region {
    /// `e^(-x^2)`: the square of the leading bits is exact, and the rest of the square gives a factor near 1.
    pub(super) fn gaussian(&mut self, x: &HloValue) -> HloValue {
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

    /// The derivative of `digamma`: the recurrence raises the argument to [`LARGE`], where the asymptotic series is
    /// used; negative arguments are reflected.
    pub(super) fn trigamma(&mut self, x: &HloValue) -> HloValue {
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

    /// The polygamma function of an order given at run time, as the row `Polygamma`: the recurrence raises the
    /// argument, then the asymptotic series is used; negative arguments are reflected.
    pub(super) fn polygamma(&mut self, x: &HloValue, order: &HloValue) -> HloValue {
        let (wide, given) = (self.convert(x, Ty::F64), self.convert(order, Ty::F64));
        let [zero, one, half, infinite, nan] = [0.0, 1.0, 0.5, f64::INFINITY, f64::NAN].map(|c| self.like(c, &wide));
        let n = self.unary("round_nearest_afz", &given);
        let factorial = self.factorial(&n);
        let right = self.compare("GT", &wide, &zero);
        let (floor, ceil) = (self.unary("floor", &wide), self.unary("ceil", &wide));
        let [mirrored, from_below, to_above] =
            [(&one, &wide), (&wide, &floor), (&ceil, &wide)].map(|(a, b)| self.binary("subtract", a, b));
        let [near, below, above] = [(&wide, mirrored), (&one, from_below), (&one, to_above)].map(|(there, other)| {
            let at = self.select(&right, there, &other);
            self.polygamma_size(&at, &n, &factorial)
        });
        let halves = self.binary("multiply", &n, &half);
        let even = {
            let floor = self.unary("floor", &halves);
            self.compare("EQ", &halves, &floor)
        };
        let minus = self.unary("negate", &near);
        let positive = self.select(&even, &minus, &near);
        let (apart, sum) = (self.binary("subtract", &above, &below), self.binary("add", &above, &below));
        let both = self.select(&even, &apart, &sum);
        let reflected = self.binary("subtract", &both, &near);
        let value = self.select(&right, &positive, &reflected);
        // Poles, and orders that are not whole numbers.
        let (whole, at_most) = (self.compare("EQ", &wide, &floor), self.compare("LE", &wide, &zero));
        let pole = self.binary("and", &whole, &at_most);
        let bottom = self.compare_with("EQ", &wide, f64::NEG_INFINITY);
        let both_signs = self.binary("or", &even, &bottom);
        let at_pole = self.select(&both_signs, &nan, &infinite);
        let value = self.select(&pole, &at_pole, &value);
        let first = self.compare("EQ", &n, &zero);
        let digamma = self.unary("chlo.digamma", &wide);
        let value = self.select(&first, &digamma, &value);
        let off = self.binary("subtract", &given, &n);
        let off = self.unary("abs", &off);
        let (close, large) = (self.compare_with("LE", &off, 0.25), self.compare("GE", &n, &zero));
        let is_order = self.binary("and", &close, &large);
        let value = self.select(&is_order, &value, &nan);
        self.convert(&value, x.ty)
    }

    /// The factorials of whole numbers up to 170; larger ones overflow.
    fn factorial(&mut self, n: &HloValue) -> HloValue {
        let (start, one) = (self.integer(0, &[]), self.like(1.0, n));
        let state = self.repeat(
            &[start, one.clone(), one.clone()],
            |code, state| {
                let most = code.integer(170, &[]);
                code.compare("LT", &state[0], &most)
            },
            |code, state| {
                let (step, one) = (code.integer(1, &[]), code.like(1.0, n));
                let counts = code.compare("LE", &state[1], n);
                let factor = code.select(&counts, &state[1], &one);
                let product = code.binary("multiply", &state[2], &factor);
                vec![code.binary("add", &state[0], &step), code.binary("add", &state[1], &one), product]
            },
        );
        state[2].clone()
    }

    /// `n! sum_k 1 / (x + k)^(n + 1)` for positive `x`.
    fn polygamma_size(&mut self, x: &HloValue, n: &HloValue, factorial: &HloValue) -> HloValue {
        let [zero, one, half, two] = [0.0, 1.0, 0.5, 2.0].map(|c| self.like(c, x));
        let power = self.binary("add", n, &one);
        let large = {
            let (slope, least) = (self.like(1.5, x), self.like(LARGE.into(), x));
            let more = self.binary("multiply", &slope, n);
            self.binary("add", &least, &more)
        };
        let start = self.integer(0, &[]);
        let state = self.repeat(
            &[start, x.clone(), one.clone(), zero.clone()],
            |code, state| {
                // For every argument and order, fewer terms suffice.
                let most = code.integer(64, &[]);
                code.compare("LT", &state[0], &most)
            },
            |code, state| {
                let [_, y, part, terms] = state else { unreachable!("the state has four parts") };
                let (step, one, zero) = (code.integer(1, &[]), code.like(1.0, x), code.like(0.0, x));
                let (short, seen) = (code.compare("LT", y, &large), code.compare_with("GT", part, f64::EPSILON / 64.0));
                let counts = code.binary("and", &short, &seen);
                let term = code.select(&counts, part, &zero);
                let next = {
                    let step = code.select(&counts, &one, &zero);
                    code.binary("add", y, &step)
                };
                let ratio = code.binary("divide", x, &next);
                let raised = code.binary("power", &ratio, &power);
                let part = code.select(&counts, &raised, part);
                let terms = code.binary("add", terms, &term);
                vec![code.binary("add", &state[0], &step), next, part, terms]
            },
        );
        let [_, y, part, terms] = &state[..] else { unreachable!("the state has four parts") };
        let square = self.binary("multiply", y, y);
        let z = self.binary("divide", &one, &square);
        let twice = self.binary("multiply", &two, y);
        let mut factor = self.binary("divide", &power, &twice);
        let integral = self.binary("divide", y, n);
        let mut rest = self.binary("add", &integral, &half);
        for (k, b) in BERNOULLI.iter().enumerate() {
            let b = self.like(*b, x);
            let term = self.binary("multiply", &b, &factor);
            rest = self.binary("add", &rest, &term);
            let k = 2.0 * (k + 1) as f64;
            for (more, below) in [(k, k + 1.0), (k + 1.0, k + 2.0)] {
                let (more, below) = (self.like(more, x), self.like(below, x));
                let above = self.binary("add", n, &more);
                let ratio = self.binary("divide", &above, &below);
                factor = self.binary("multiply", &factor, &ratio);
            }
            factor = self.binary("multiply", &factor, &z);
        }
        let rest = self.binary("multiply", part, &rest);
        // If the sum of terms has converged, the asymptotic series is not added.
        let hidden = self.compare_with("LE", part, f64::EPSILON / 64.0);
        let rest = self.select(&hidden, &zero, &rest);
        let whole = self.binary("add", terms, &rest);
        // Neither power overflows if the result does not.
        let lower = self.binary("multiply", n, &half);
        let lower = self.unary("floor", &lower);
        let upper = self.binary("subtract", &power, &lower);
        let (low, high) = (self.binary("power", x, &lower), self.binary("power", x, &upper));
        let value = self.binary("divide", factorial, &low);
        let value = self.binary("multiply", &value, &whole);
        let value = self.binary("divide", &value, &high);
        let logs = {
            let of_factorial = self.unary("chlo.lgamma", &power);
            let (x, whole) = (self.unary("log", x), self.unary("log", &whole));
            let product = self.binary("multiply", &power, &x);
            let sum = self.binary("subtract", &of_factorial, &product);
            self.binary("add", &sum, &whole)
        };
        let by_logs = self.unary("exponential", &logs);
        let far = self.compare_with("GT", n, 170.0);
        let value = self.select(&far, &by_logs, &value);
        let infinite = self.compare_with("EQ", x, f64::INFINITY);
        self.select(&infinite, &zero, &value)
    }
}
