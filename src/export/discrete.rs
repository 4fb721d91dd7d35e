//! Operations with derivative zero, and extrema along an axis.

use super::hlo::brackets;
use super::text::{HloValue, Region, Ty, names, types};
use crate::errors::refused_by_rule;
use crate::ops::{Compare, Discrete, FloatStep, IntBinary, IntUnary, Reduce};
use crate::shape::Shape;

/// The StableHLO name of a comparison.
fn direction(op: Compare) -> &'static str {
    match op {
        Compare::Eq => "EQ",
        Compare::Ne => "NE",
        Compare::Lt => "LT",
        Compare::Le => "LE",
        Compare::Gt => "GT",
        Compare::Ge => "GE",
    }
}

impl Region {
    pub(super) fn discrete(&mut self, op: &Discrete, args: &[HloValue]) -> HloValue {
        match (op, args) {
            (Discrete::Compare(op), [x, y]) => self.compare(direction(*op), x, y),
            (Discrete::And, [x, y]) => self.binary("and", x, y),
            (Discrete::Or, [x, y]) => self.binary("or", x, y),
            (Discrete::Not, [x]) => self.unary("not", x),
            (Discrete::FloatStep(op), [x]) => self.step(*op, x),
            (Discrete::IntUnary(IntUnary::Neg), [x]) => self.unary("negate", x),
            (Discrete::IntUnary(IntUnary::Abs), [x]) => self.unary("abs", x),
            (Discrete::IntUnary(IntUnary::BitNot), [x]) => self.unary("not", x),
            (Discrete::IntBinary(op), [x, y]) => self.integers(*op, x, y),
            (Discrete::ToInt, [x]) => self.truncated(x),
            (Discrete::ToFloat(into), [x]) => self.convert(x, Ty::of(*into)),
            (Discrete::ArgMax { axis }, [x]) => self.position("GT", x, *axis),
            (Discrete::ArgMin { axis }, [x]) => self.position("LT", x, *axis),
            (Discrete::ArgSort { axis, descending }, [x]) => self.argsort(x, *axis, *descending),
            (Discrete::PrefixArg { axis, largest, reverse }, [x]) => {
                self.prefix_positions(x, *axis, *largest, *reverse)
            }
            (Discrete::Iota { n }, []) => self.iota(&[*n], 0),
            (Discrete::Compare(_) | Discrete::And | Discrete::Or | Discrete::Not | Discrete::FloatStep(_), _)
            | (Discrete::IntUnary(_) | Discrete::IntBinary(_) | Discrete::ToInt | Discrete::ToFloat(_), _)
            | (Discrete::ArgMax { .. } | Discrete::ArgMin { .. }, _)
            | (Discrete::ArgSort { .. } | Discrete::PrefixArg { .. } | Discrete::Iota { .. }, _) => {
                refused_by_rule("another number of operands")
            }
        }
    }

    fn step(&mut self, op: FloatStep, x: &HloValue) -> HloValue {
        match op {
            FloatStep::Floor => self.unary("floor", x),
            FloatStep::Ceil => self.unary("ceil", x),
            FloatStep::Round => self.unary("round_nearest_afz", x),
            FloatStep::Sign => {
                // The sign of both zeros is +0, while `sign` of StableHLO returns the zero itself.
                let zero = self.like(0.0, x);
                let nothing = self.compare("EQ", x, &zero);
                let sign = self.unary("sign", x);
                self.select(&nothing, &zero, &sign)
            }
            FloatStep::StopGradient => x.clone(),
        }
    }

    fn integers(&mut self, op: IntBinary, x: &HloValue, y: &HloValue) -> HloValue {
        match op {
            IntBinary::Add => self.binary("add", x, y),
            IntBinary::Sub => self.binary("subtract", x, y),
            IntBinary::Mul => self.binary("multiply", x, y),
            IntBinary::Min => self.binary("minimum", x, y),
            IntBinary::Max => self.binary("maximum", x, y),
            IntBinary::Quot => {
                let (_, divisor) = self.divisor(y);
                self.binary("divide", x, &divisor)
            }
            IntBinary::Rem => {
                let (nothing, divisor) = self.divisor(y);
                let rest = self.binary("remainder", x, &divisor);
                self.select(&nothing, x, &rest)
            }
            IntBinary::BitAnd => self.binary("and", x, y),
            IntBinary::BitOr => self.binary("or", x, y),
            IntBinary::BitXor => self.binary("xor", x, y),
            // StableHLO gives 0, or the sign, for at least as many places as there are bits, and reads them without a sign.
            IntBinary::Shl => self.binary("shift_left", x, y),
            IntBinary::Shr => self.binary("shift_right_logical", x, y),
            IntBinary::ShrSigned => self.binary("shift_right_arithmetic", x, y),
            IntBinary::Threefry => self.threefry(x, y),
        }
    }

    /// The mask of zero divisors, and the divisors with 1 in their places.
    fn divisor(&mut self, y: &HloValue) -> (HloValue, HloValue) {
        let nothing = self.compare_with("EQ", y, 0.0);
        let one = self.like(1.0, y);
        let divisor = self.select(&nothing, &one, y);
        (nothing, divisor)
    }

    /// The conversion to integers: masks to 0 and 1; floats are truncated and saturate, and NaN gives 0.
    fn truncated(&mut self, x: &HloValue) -> HloValue {
        if !x.ty.is_float() {
            return self.convert(x, Ty::I64);
        }
        let end = -(i64::MIN as f64);
        let (above, below) = (self.compare_with("GE", x, end), self.compare_with("LT", x, -end));
        let nan = self.is_nan(x);
        let outside = self.binary("or", &above, &below);
        let outside = self.binary("or", &outside, &nan);
        let zero = self.like(0.0, x);
        let inside = self.select(&outside, &zero, x);
        let value = self.convert(&inside, Ty::I64);
        let (most, least) = (self.integer(i64::MAX, &x.shape), self.integer(i64::MIN, &x.shape));
        let value = self.select(&above, &most, &value);
        self.select(&below, &least, &value)
    }

    /// The extremum along an axis. If it is a zero, its sign is unspecified if zeros of both signs occur.
    pub(super) fn extremum(&mut self, op: Reduce, x: &HloValue) -> HloValue {
        match op {
            Reduce::Max { axis } => self.reduce("maximum", x, f64::NEG_INFINITY, &[axis]),
            Reduce::Min { axis } => self.reduce("minimum", x, f64::INFINITY, &[axis]),
        }
    }

    /// The positions of prefix extrema along an axis. In each round the extremum of an element and of those before it is
    /// combined with that of twice as many elements, W. D. Hillis and G. L. Steele, *Data parallel algorithms*, 1986.
    fn prefix_positions(&mut self, x: &HloValue, axis: usize, largest: bool, reverse: bool) -> HloValue {
        let n = x.shape[axis];
        let place = self.iota(&x.shape, axis);
        let (mut best, mut positions, mut width) = (x.clone(), place.clone(), 1);
        while width < n {
            let earlier = [&best, &positions].map(|x| self.moved_along(x, axis, width, reverse));
            let kept = self.compare(if largest { "LE" } else { "GE" }, &best, &earlier[0]);
            // An earlier NaN is kept; a comparison with a new NaN is false.
            let kept = if x.ty.is_float() {
                let nan = self.is_nan(&earlier[0]);
                self.binary("or", &kept, &nan)
            } else {
                kept
            };
            let bound = if reverse { n - width } else { width };
            let bound = self.like(bound as f64, &place);
            let inside = self.compare(if reverse { "LT" } else { "GE" }, &place, &bound);
            let kept = self.binary("and", &kept, &inside);
            best = self.select(&kept, &earlier[0], &best);
            positions = self.select(&kept, &earlier[1], &positions);
            width *= 2;
        }
        positions
    }

    /// The position of the extremum along an axis: of the first NaN if there is one, otherwise of the first of equal
    /// elements.
    pub(super) fn position(&mut self, how: &str, x: &HloValue, axis: usize) -> HloValue {
        let index = self.iota(&x.shape, axis);
        let start = match x.ty {
            Ty::F64 | Ty::F32 | Ty::C128 | Ty::C64 => {
                self.full(if how == "GT" { f64::NEG_INFINITY } else { f64::INFINITY }, &[], x.ty)
            }
            Ty::I64 | Ty::I32 | Ty::Bool => self.integer(if how == "GT" { i64::MIN } else { i64::MAX }, &[]),
        };
        let last = self.integer(i64::MAX, &[]);
        let shape: Shape = (0..x.shape.len()).filter(|k| *k != axis).map(|k| x.shape[k]).collect();
        let kinds = [(shape.clone(), x.ty), (shape, Ty::I64)];
        let (region, [a, b, i, j]) = self.region_of([x.ty, x.ty, Ty::I64, Ty::I64], |code, [a, b, i, j]| {
            let better = code.compare(how, a, b);
            let equal = code.compare("EQ", a, b);
            let (better, equal) = if x.ty.is_float() {
                let (nan_a, nan_b) = (code.is_nan(a), code.is_nan(b));
                let number_b = code.unary("not", &nan_b);
                let alone = code.binary("and", &nan_a, &number_b);
                let both = code.binary("and", &nan_a, &nan_b);
                (code.binary("or", &better, &alone), code.binary("or", &equal, &both))
            } else {
                (better, equal)
            };
            let earlier = code.compare("LT", i, j);
            let tie = code.binary("and", &equal, &earlier);
            let first = code.binary("or", &better, &tie);
            let (value, position) = (code.select(&first, a, b), code.select(&first, i, j));
            code.give(&[&value, &position]);
        });
        let indent = self.indent();
        let text = format!(
            "stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{axis}] : ({}) -> {}\n\
             {indent} reducer({}: {}, {}: {}) ({}: {}, {}: {}) {{\n{region}{indent}}}",
            x.name,
            start.name,
            index.name,
            last.name,
            types([x, &index, &start, &last]),
            super::hlo::result_types(&kinds),
            a.name,
            a.tensor(),
            b.name,
            b.tensor(),
            i.name,
            i.tensor(),
            j.name,
            j.tensor(),
        );
        self.results(&text, &kinds).swap_remove(1)
    }

    /// The permutation that sorts along an axis: stable, with NaN last in both directions.
    pub(super) fn argsort(&mut self, x: &HloValue, axis: usize, descending: bool) -> HloValue {
        let index = self.iota(&x.shape, axis);
        let how = if descending { "GT" } else { "LT" };
        let (region, arguments) = self.region_of([x.ty, x.ty, Ty::I64, Ty::I64], |code, [a, b, ..]| {
            let mut before = code.compare(how, a, b);
            if x.ty.is_float() {
                let number = code.compare("EQ", a, a);
                let nan = code.is_nan(b);
                let last = code.binary("and", &number, &nan);
                before = code.binary("or", &before, &last);
            }
            code.give(&[&before]);
        });
        let indent = self.indent();
        let operands = [x.clone(), index];
        let bound: Vec<String> = arguments.iter().map(|a| format!("{}: {}", a.name, a.tensor())).collect();
        let text = format!(
            "\"stablehlo.sort\"({}) <{{dimension = {axis} : i64, is_stable = true}}> ({{\n{indent}^bb0({}):\n{region}{indent}}}) : \
             ({}) -> ({})",
            names(&operands),
            bound.join(", "),
            types(&operands),
            types(&operands)
        );
        let kinds = operands.map(|v| (v.shape, v.ty));
        self.results(&text, &kinds).swap_remove(1)
    }

    /// The Fourier transform along an axis of complex numbers; the two positions of the axis `parts` are their real and
    /// imaginary parts.
    pub(super) fn fourier(&mut self, x: &HloValue, parts: usize, axis: usize, conjugate: bool) -> HloValue {
        if x.shape.contains(&0) {
            return x.clone();
        }
        let (n, rank) = (x.shape[axis], x.shape.len());
        let [re, im] = [0, 1].map(|k| self.at(x, parts, k));
        let im = if conjugate { self.unary("negate", &im) } else { im };
        let complex = x.ty.complex();
        let text = format!("stablehlo.complex {}, {} : ", re.name, im.name);
        let z = self.op(text, &re.shape, complex);
        // The transformed axis is the last one.
        let mut order: Vec<usize> = (0..rank).filter(|k| *k != axis).collect();
        order.push(axis);
        let z = self.transpose(&z, &order);
        let text = format!("stablehlo.fft {}, type = FFT, length = {} : ({}) -> ", z.name, brackets([n]), z.tensor());
        let z = self.op(text, &z.shape.clone(), complex);
        let mut back: Vec<usize> = (0..rank - 1).collect();
        back.insert(axis, rank - 1);
        let z = self.transpose(&z, &back);
        let [re, im] = ["real", "imag"]
            .map(|part| self.op(format!("stablehlo.{part} {} : ({}) -> ", z.name, z.tensor()), &z.shape, x.ty));
        let im = if conjugate { self.unary("negate", &im) } else { im };
        self.concat(parts, &[re, im])
    }
}
