//! `Rounding<T>`: a bound of the rounding error of each element of a value, over an interpreter of bounds `T`.
//!
//! A value is its bounds, and for each element a bound of `|computed - exact|`. An operation `f` is computed as `F` at
//! computed operands `x'`, so
//!
//! ```text
//! |F(x') - f(x)|  <=  |f(x') - f(x)|  +  |F(x') - f(x')|
//! ```
//!
//! The first part is that of the operands' errors, by the mean value theorem `sup |f'| |x' - x|` over bounds that
//! contain `x` and `x'`: the partials of the rows of the tables, so that no function has a rule here. The second part
//! is the error of the kernel: for a function, steps between neighbouring numbers ([`Unary`]'s errors) at the largest
//! result, and the smallest number; for a sum of `n` terms in any order, `n u / (1 - n u)` times the sum of their
//! absolute values, with `u` half the machine epsilon (N. J. Higham, "Accuracy and Stability of Numerical Algorithms",
//! 2002, sections 3.1 and 4.2: running error bounds, here over a box of inputs).
//!
//! Law: no error is larger than its bound, for inputs within theirs, with sums in any order, and with products that are
//! fused with sums. A bound is never larger than the width of the bounds of the value, which contain both numbers; so a
//! value that is known has no error.
//!
//! Conventions: inputs and constants are exact. The error is 0 where both are certainly the same, an infinity or NaN
//! included, and infinite where nothing is known. Integers and masks are exact where no operand of theirs has an error or where they are decided;
//! otherwise they may be any of their range, so a comparison that errors may flip gives a selection the distance of both
//! branches, an index the distance of the elements that it may read, and a step (`floor`) its jump. At jumps that have
//! no derivative (the cut of `atan2`) the error is the distance, too.
//!
//! | module | contents |
//! |---|---|
//! | `kernel` | errors of kernels |
//! | `recurrence` | linear recurrences, prefix products |

mod kernel;
mod recurrence;

use std::sync::Arc;

use super::bounded::{Bounded, Span};
use super::trips;
use crate::array::Array;
use crate::base::{BaseTensor, Over, Trip, TripFn, WhileFn};
use crate::dtype::DType;
use crate::ops::{
    Binary, Call, Contract, Discrete, FloatStep, Guard, Linear, Matrix, Partial, Reduce, Unary, fourier_error,
};
use crate::program::Custom;
use crate::program::repeat::{held, known};
use crate::shape::size;
use kernel::{RoundingUnit, add, of_sum, rounded, times};

/// A value of an interpreter of bounds, with a bound of the error of each element.
///
/// ```
/// use polygrad::interpreters::Rounding;
/// use polygrad::ops::{Binary, Unary};
/// use polygrad::{Array, BaseTensor, DType, Enclosure};
/// let x = Rounding::exact(Enclosure::between(&Array::from([1.0f32]), &Array::from([2.0f32]))?);
/// assert_eq!((x.errors(), x.value().upper()), (vec![0.0], Array::from([2.0f32])));
/// let third = x.binary(Binary::Div, &Rounding::constant(Array::from([3.0f32])));
/// // One rounding of a number below 2 / 3; the root halves the relative error, and adds its own.
/// let unit = f64::from(f32::EPSILON) / 2.0;
/// assert!(third.errors()[0] > 0.0 && third.errors()[0] < 0.7 * unit);
/// assert!(third.unary(Unary::Sqrt).errors()[0] < 2.0 * unit);
/// assert_eq!(Rounding::<Enclosure>::unknown(&[1], DType::F64).errors(), [f64::INFINITY]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rounding<T> {
    value: T,
    /// The bounds of the errors; `None` if the value is exact.
    error: Option<Array>,
}

/// Upper bounds, which are infinite where nothing is known.
fn upper<T: Bounded>(x: &T) -> Vec<f64> {
    x.spans().iter().map(|x| if x.nan { f64::INFINITY } else { x.upper }).collect()
}

fn any(errors: &[f64]) -> bool {
    errors.iter().any(|e| *e != 0.0)
}

impl<T: Bounded> Rounding<T> {
    /// A value without an error.
    ///
    /// Example: [`Rounding`].
    pub fn exact(value: T) -> Self {
        Rounding { value, error: None }
    }

    /// The bounds of the value.
    ///
    /// Example: [`Rounding`].
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The bounds of the errors of the elements, in order.
    ///
    /// Example: [`Rounding`].
    pub fn errors(&self) -> Vec<f64> {
        match &self.error {
            Some(error) => (0..error.size()).map(|k| error.typed::<f64>().get(k)).collect(),
            None => vec![0.0; size(self.value.shape())],
        }
    }

    /// A value with errors, which are bounded by the width of its bounds, too.
    fn new(value: T, errors: Vec<f64>) -> Self {
        let bounded = |(x, e): (&Span, f64)| if e.is_nan() { x.width() } else { x.width().min(e) };
        let errors: Vec<f64> = value.spans().iter().zip(errors).map(bounded).collect();
        let error = any(&errors).then(|| Array::new(value.shape(), errors));
        Rounding { value, error }
    }

    /// A value that has an error, however small those of its operands are, where these have one.
    fn decided(value: T, errors: Vec<f64>) -> Self {
        Rounding::new(value, errors.into_iter().map(|e| if e == 0.0 { 0.0 } else { f64::INFINITY }).collect())
    }

    /// Positive numbers of the same shape.
    fn numbers(&self, of: Vec<f64>) -> T {
        T::constant(Array::new(self.value.shape(), of))
    }

    /// The errors as numbers of `T`.
    fn error(&self) -> T {
        T::constant(self.error.clone().unwrap_or_else(|| Array::zeros(self.value.shape(), DType::F64)))
    }

    fn magnitudes(&self) -> Vec<f64> {
        self.value.spans().into_iter().map(Span::magnitude).collect()
    }

    /// The largest absolute values as numbers of `T`.
    fn magnitude(&self) -> T {
        self.numbers(self.magnitudes())
    }

    /// 1 where an element may differ from 0, and 0 elsewhere.
    fn terms(&self) -> T {
        self.numbers(self.magnitudes().into_iter().map(|x| f64::from(u8::from(x > 0.0))).collect())
    }

    /// The part of the error of an elementwise function that comes from this operand.
    fn passed(&self, slope: Option<&T>) -> Vec<f64> {
        let (Some(error), Some(slope)) = (&self.error, slope) else { return self.errors() };
        let slopes = slope.spans().into_iter().map(Span::magnitude);
        slopes.enumerate().map(|(k, slope)| times(slope, error.typed::<f64>().get(k))).collect()
    }

    fn kernel(&self) -> RoundingUnit {
        RoundingUnit::of(self.value.dtype())
    }
}

/// The arguments between which a function of two arguments jumps although its partials are finite there: whether the
/// errors of these operands can lead from one side to the other.
fn jumps(op: Binary, [x, y]: [Span; 2], [of_x, of_y]: [f64; 2]) -> bool {
    let zero = |x: Span| x.lower <= 0.0 && x.upper >= 0.0;
    match op {
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::RecipReal | Binary::Hypot => false,
        Binary::Min | Binary::Max | Binary::LogAddExp | Binary::MulNoNan | Binary::DivNoNan => false,
        Binary::Copysign => of_y > 0.0 && zero(y),
        Binary::Atan2 => (of_x > 0.0 || of_y > 0.0) && zero(x) && y.lower <= 0.0,
        // At the base 0, and for negative ones at exponents that are not integers.
        Binary::Pow | Binary::PowLessOne => of_y > 0.0 && x.lower <= 0.0,
        Binary::Polygamma => of_y > 0.0,
    }
}

fn values<T: Clone>(all: &[Rounding<T>]) -> Vec<T> {
    all.iter().map(|x| x.value.clone()).collect()
}

/// Errors of results at indices: infinite where an index has an error, as the elements of `rest` follow each index.
fn misread<T: Bounded>(ix: &[Rounding<T>], rest: usize, errors: &mut [f64]) {
    for error in ix.iter().filter(|ix| ix.error.is_some()).map(Rounding::errors) {
        for (k, _) in error.iter().enumerate().filter(|(_, e)| **e != 0.0) {
            errors[k * rest..(k + 1) * rest].fill(f64::INFINITY);
        }
    }
}

impl<T: Bounded> BaseTensor for Rounding<T> {
    fn constant(a: Array) -> Self {
        Rounding::exact(T::constant(a))
    }

    fn shape(&self) -> &[usize] {
        self.value.shape()
    }

    fn dtype(&self) -> DType {
        self.value.dtype()
    }

    fn unary(&self, op: Unary) -> Self {
        let y = self.value.unary(op);
        let (guard, slope) = op.derivative(&self.value, &y).factor();
        let mut errors = self.passed(slope.as_ref());
        // A function whose partial selects, or is a sign, gives its argument, its negation, or a constant.
        if !matches!(guard, Guard::One | Guard::MinusOne | Guard::Mask) {
            self.kernel().function(op.error(), &y.spans(), &mut errors);
        }
        Rounding::new(y, errors)
    }

    fn binary(&self, op: Binary, other: &Self) -> Self {
        let (x, y) = (&self.value, &other.value);
        let z = x.binary(op, y);
        let [(left, of_left), (right, of_right)] =
            [op.partial_left(x, y, &z), op.partial_right(x, y, &z)].map(Partial::factor);
        let [of_x, of_y] = [self.errors(), other.errors()];
        let passed = [self.passed(of_left.as_ref()), other.passed(of_right.as_ref())];
        let mut errors: Vec<f64> = passed[0].iter().zip(&passed[1]).map(|(a, b)| add(*a, *b)).collect();
        if left != Guard::Mask || right != Guard::Mask {
            self.kernel().function(op.error(), &z.spans(), &mut errors);
        }
        for (k, (x, y)) in x.spans().into_iter().zip(y.spans()).enumerate() {
            if jumps(op, [x, y], [of_x[k], of_y[k]]) {
                errors[k] = f64::INFINITY;
            }
        }
        Rounding::new(z, errors)
    }

    fn discrete(op: &Discrete, args: &[&Self]) -> Self {
        let inner: Vec<&T> = args.iter().map(|a| &a.value).collect();
        let value = T::discrete(op, &inner);
        if args.iter().all(|a| a.error.is_none()) && !matches!(op, Discrete::ToFloat(_)) {
            return Rounding::exact(value);
        }
        match op {
            Discrete::FloatStep(FloatStep::StopGradient) => Rounding { value, error: args[0].error.clone() },
            Discrete::ToFloat(dtype) => {
                let mut errors = args[0].errors();
                RoundingUnit::of(*dtype).of_integers(&value.spans(), &mut errors);
                Rounding::new(value, errors)
            }
            Discrete::FloatStep(FloatStep::Floor | FloatStep::Ceil | FloatStep::Round | FloatStep::Sign)
            | Discrete::Compare(_)
            | Discrete::And
            | Discrete::Or
            | Discrete::Not
            | Discrete::IntUnary(_)
            | Discrete::IntBinary(_)
            | Discrete::ToInt => {
                let all = args.iter().map(|a| a.errors());
                let most = |a: Vec<f64>, b: Vec<f64>| a.into_iter().zip(b).map(|(a, b)| a.max(b)).collect();
                let errors = all.reduce(most).unwrap_or_default();
                Rounding::decided(value, errors)
            }
            Discrete::ArgMax { .. }
            | Discrete::ArgMin { .. }
            | Discrete::ArgSort { .. }
            | Discrete::PrefixArg { .. }
            | Discrete::Iota { .. } => {
                let n = size(value.shape());
                Rounding::decided(value, vec![1.0; n])
            }
        }
    }

    fn select(mask: &Self, then: &Self, otherwise: &Self) -> Self {
        let value = T::select(&mask.value, &then.value, &otherwise.value);
        let mut errors = upper(&T::select(&mask.value, &then.error(), &otherwise.error()));
        errors.iter_mut().zip(mask.errors()).filter(|(_, mask)| *mask != 0.0).for_each(|(e, _)| *e = f64::INFINITY);
        if then.dtype().is_float() { Rounding::new(value, errors) } else { Rounding::decided(value, errors) }
    }

    fn linear(&self, op: &Linear) -> Self {
        let value = self.value.linear(op);
        if let Linear::Cast { into, .. } = op {
            let mut errors = self.errors();
            if *into == DType::F32 {
                RoundingUnit::of(*into).converted(&value.spans(), &mut errors);
            }
            return Rounding::new(value, errors);
        }
        if let Linear::Fourier { shape, parts, axis, .. } = op {
            let errors = self.transformed(shape, [*parts, *axis]);
            return Rounding::new(value, errors);
        }
        let passed =
            if self.error.is_some() { upper(&self.error().linear(op)) } else { vec![0.0; size(value.shape())] };
        if !self.dtype().is_float() {
            return Rounding::decided(value, passed);
        }
        let moves = match op {
            Linear::Affine { into, .. } => into.is_injective(),
            Linear::Reshape { .. } => true,
            Linear::Cast { .. } | Linear::Fourier { .. } | Linear::PrefixSum { .. } => false,
        };
        if moves {
            return Rounding::new(value, passed);
        }
        let sizes = upper(&self.magnitude().linear(op));
        let counts = upper(&self.terms().linear(op));
        let errors = self.kernel().sums(&counts, 1.0, &sizes, passed);
        Rounding::new(value, errors)
    }

    fn contract(op: &Contract, a: &Self, b: &Self) -> Self {
        let value = T::contract(op, &a.value, &b.value);
        let mut passed = vec![0.0; size(value.shape())];
        let mut pass = |a: &T, b: &T| {
            let part = upper(&T::contract(op, a, b));
            passed.iter_mut().zip(part).for_each(|(all, part)| *all = add(*all, part));
        };
        // `a' b' - a b = a' (b' - b) + (a' - a) b`.
        if b.error.is_some() {
            pass(&a.magnitude(), &b.error());
        }
        if a.error.is_some() {
            pass(&a.error(), &b.magnitude());
        }
        if !a.dtype().is_float() {
            return Rounding::decided(value, passed);
        }
        let sizes = upper(&T::contract(op, &a.magnitude(), &b.magnitude()));
        let counts = upper(&T::contract(op, &a.terms(), &b.terms()));
        // Each term is rounded, too.
        let errors = a.kernel().sums(&counts, 0.0, &sizes, passed);
        Rounding::new(value, errors)
    }

    /// The extremum changes by no more than the element that changes most.
    fn reduce(&self, op: Reduce) -> Self {
        let value = self.value.reduce(op);
        if self.error.is_none() {
            return Rounding::exact(value);
        }
        let errors = upper(&self.error().reduce(Reduce::Max { axis: op.axis() }));
        if self.dtype().is_float() { Rounding::new(value, errors) } else { Rounding::decided(value, errors) }
    }

    fn gather(&self, ix: &[Self]) -> Self {
        let inner = values(ix);
        let value = self.value.gather(&inner);
        let mut errors = upper(&self.error().gather(&inner));
        misread(ix, size(&self.shape()[ix.len()..]), &mut errors);
        if self.dtype().is_float() { Rounding::new(value, errors) } else { Rounding::decided(value, errors) }
    }

    fn scatter_add(self, ix: &[Self], v: &Self) -> Self {
        let inner = values(ix);
        let value = self.value.clone().scatter_add(&inner, &v.value);
        let passed = upper(&self.error().scatter_add(&inner, &v.error()));
        if ix.iter().any(|ix| ix.error.is_some()) {
            return Rounding::decided(value, vec![1.0; passed.len()]);
        }
        if !self.dtype().is_float() {
            return Rounding::decided(value, passed);
        }
        let sizes = upper(&self.magnitude().scatter_add(&inner, &v.magnitude()));
        let counts = upper(&self.terms().scatter_add(&inner, &v.terms()));
        let errors = self.kernel().sums(&counts, 1.0, &sizes, passed);
        Rounding::new(value, errors)
    }

    fn concat(axis: usize, parts: &[Self]) -> Self {
        let value = T::concat(axis, &values(parts));
        if parts.iter().all(|part| part.error.is_none()) {
            return Rounding::exact(value);
        }
        let errors = upper(&T::concat(axis, &parts.iter().map(Rounding::error).collect::<Vec<T>>()));
        Rounding::new(value, errors)
    }

    fn map_accum(n: usize, reverse: bool, init: Vec<Self>, xs: &[Self], step: TripFn<'_, Self>) -> Trip<Self> {
        let row = |x: &Self, k: usize| x.linear(&Linear::row(x.shape(), 0, k));
        trips::map_accum((n, reverse), init, xs, row, step)
    }

    /// Nothing is known of the carry if bounds do not decide when an unbounded loop ends.
    fn repeat(most: Option<usize>, init: Vec<Self>, step: WhileFn<'_, Self>) -> Vec<Self> {
        let mut carry = init;
        for _ in 0..most.unwrap_or(usize::MAX) {
            carry = match (known(&carry[0]), most) {
                (Some(true), _) => step(carry),
                (Some(false), _) => break,
                (None, Some(_)) => held(carry, step),
                (None, None) => return carry.iter().map(|x| Rounding::unknown(x.shape(), x.dtype())).collect(),
            };
        }
        carry
    }

    /// Of linear algebra and code of the host, the error is the width of the bounds, if there are any.
    fn call(op: &Call, args: &[Self]) -> Vec<Self> {
        let results = T::call(op, &values(args));
        if let Call::Matrix(Matrix::PrefixProduct | Matrix::Recurrence { .. }) = op {
            let transposed = matches!(op, Call::Matrix(Matrix::Recurrence { transposed: true }));
            let errors = recurrence::errors(&args[0], args.get(1), transposed);
            return results.into_iter().map(|y| Rounding::new(y, errors.clone())).collect();
        }
        if let Call::Tap(tap) = op {
            return tap.passed(args).to_vec();
        }
        results.into_iter().map(Rounding::may_err).collect()
    }

    /// Evaluates the primal program.
    fn custom(rule: &Arc<Custom>, args: &[Self]) -> Vec<Self> {
        rule.value(args.to_vec())
    }

    /// A sum may begin with `self`, so that each term is rounded at the size of all.
    fn accumulate_linear(self, op: &Linear, other: &Self) -> Self {
        let sum = self.clone().accumulate(&other.linear(op));
        let counts = upper(&other.terms().linear(op));
        if !self.dtype().is_float() || counts.iter().all(|n| *n <= 1.0) {
            return sum;
        }
        let parts = upper(&other.magnitude().linear(op));
        let sizes: Vec<f64> = self.magnitudes().into_iter().zip(parts).map(|(a, b)| add(a, b)).collect();
        let errors = self.kernel().sums(&counts, 0.0, &sizes, sum.errors());
        Rounding::new(sum.value.widened(&errors), errors)
    }
}

impl<T: Bounded> Rounding<T> {
    /// A value whose error is not known.
    fn may_err(value: T) -> Self {
        let n = size(value.shape());
        Rounding::new(value, vec![f64::INFINITY; n])
    }

    /// Values that nothing is known about.
    ///
    /// Example: [`Rounding`].
    pub fn unknown(shape: &[usize], dtype: DType) -> Self {
        Rounding::may_err(T::unknown(shape, dtype))
    }

    /// The errors of a Fourier transform, whose factors are at most 1.
    fn transformed(&self, shape: &[usize], [parts, axis]: [usize; 2]) -> Vec<f64> {
        let kept: Vec<usize> = (0..shape.len()).filter(|k| ![parts, axis].contains(k)).collect();
        let sum = Linear::sum(shape, &[parts.min(axis), parts.max(axis)]);
        let of_line = |x: T| upper(&x.linear(&sum).linear(&Linear::replicate(shape, &kept)));
        let (sizes, passed) = (of_line(self.magnitude()), of_line(self.error()));
        let unit = 2.0 * of_sum(1.0, self.kernel().unit);
        let steps = unit * fourier_error(shape[axis]);
        sizes.into_iter().zip(passed).map(|(size, passed)| add(passed, rounded(times(steps, size)))).collect()
    }
}

impl<T: Bounded> Over for Rounding<T> {
    type Base = T;

    fn base(&self) -> &T {
        &self.value
    }

    fn of_base(value: T) -> Self {
        Rounding::exact(value)
    }
}
