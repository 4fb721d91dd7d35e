//! Values of rank `D` or 0 in the formulas of densities, so that a scalar parameter stays a scalar as long as it can.
//!
//! Law: an operation is that of the language after a broadcast to the common shape. The logarithm of a scalar scale is
//! computed once, and not for each observation.

use std::borrow::{Borrow, Cow};
use std::marker::PhantomData;
use std::ops::{Add, BitOr, Div, Mul, Sub};

use crate::array::Array;
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float};
use crate::ops::{Binary, Compare, Discrete, FloatStep, Unary};
use crate::shape::Shape;
use crate::tensor::{Operand, Tensor, broadcast_shape, stretch};

/// A value whose rank is `D` or 0.
pub(super) struct Loose<T, E> {
    raw: T,
    marker: PhantomData<E>,
}

impl<T: Clone, E> Clone for Loose<T, E> {
    fn clone(&self) -> Self {
        Loose { raw: self.raw.clone(), marker: PhantomData }
    }
}

/// The common shape of some values of equal rank or rank 0.
#[track_caller]
fn common<'a>(op: &str, shapes: impl IntoIterator<Item = &'a [usize]>) -> Shape {
    let mut all = Shape::new();
    for shape in shapes {
        match (all.is_empty(), shape.is_empty()) {
            (true, _) => all = Shape::from_slice(shape),
            (false, true) => {}
            (false, false) => all = broadcast_shape(op, &all, shape),
        }
    }
    all
}

/// The common shape of the outcome and the parameters of a density.
#[track_caller]
pub(super) fn fitting<T: BaseTensor>(op: &str, values: &[&T]) -> Shape {
    common(op, values.iter().map(|value| value.shape()))
}

impl<T: BaseTensor, E: Elem> Loose<T, E> {
    pub(super) fn new(raw: T) -> Self {
        Loose { raw, marker: PhantomData }
    }

    /// A tensor or a number in its own shape.
    #[track_caller]
    pub(super) fn of<const D: usize>(operand: &impl Operand<T, D, E>) -> Self {
        match operand.value() {
            Some(raw) => Loose::new(raw.clone()),
            None => Loose::new(operand.in_shape(&[]).into_owned()),
        }
    }

    pub(super) fn raw(&self) -> &T {
        &self.raw
    }

    /// The value as a tensor of rank `D`; a value of rank 0 is repeated in this shape.
    #[track_caller]
    pub(super) fn tensor<const D: usize>(&self, shape: &[usize]) -> Tensor<T, D, E> {
        match self.raw.shape().len() == D {
            true => Tensor::from_raw(self.raw.clone()),
            false => Tensor::from_raw(stretch(&self.raw, shape).into_owned()),
        }
    }

    /// The value repeated in this shape.
    #[track_caller]
    pub(super) fn stretched(&self, shape: &[usize]) -> Self {
        Loose::new(stretch(&self.raw, shape).into_owned())
    }

    /// Two values in their common shape.
    #[track_caller]
    fn beside<'a, F: Elem>(&'a self, other: &'a Loose<T, F>) -> [Cow<'a, T>; 2] {
        let shape = common("density", [self.raw.shape(), other.raw.shape()]);
        [stretch(&self.raw, &shape), stretch(&other.raw, &shape)]
    }

    #[track_caller]
    fn compare(&self, op: Compare, other: &Self) -> Loose<T, bool> {
        let [a, b] = self.beside(other);
        Loose::new(T::discrete(&Discrete::Compare(op), &[&a, &b]))
    }

    #[track_caller]
    pub(super) fn lt(&self, other: &Self) -> Loose<T, bool> {
        self.compare(Compare::Lt, other)
    }

    #[track_caller]
    pub(super) fn le(&self, other: &Self) -> Loose<T, bool> {
        self.compare(Compare::Le, other)
    }

    #[track_caller]
    pub(super) fn eq(&self, other: &Self) -> Loose<T, bool> {
        self.compare(Compare::Eq, other)
    }

    /// One number of any element type.
    pub(super) fn constant(x: E) -> Self {
        Loose::new(T::constant(Array::scalar(x)))
    }
}

impl<T: BaseTensor> Loose<T, i64> {
    #[track_caller]
    pub(super) fn to_float<E: Float>(&self) -> Loose<T, E> {
        Loose::new(T::discrete(&Discrete::ToFloat(E::DTYPE), &[&self.raw]))
    }
}

impl<T: BaseTensor, E: Float> Loose<T, E> {
    pub(super) fn number(x: f64) -> Self {
        Loose::constant(E::of_f64(x))
    }

    #[track_caller]
    pub(super) fn map(&self, op: Unary) -> Self {
        Loose::new(self.raw.unary(op))
    }

    #[track_caller]
    pub(super) fn with(&self, op: Binary, other: &Self) -> Self {
        let [a, b] = self.beside(other);
        Loose::new(a.binary(op, &b))
    }

    /// `c` times this value.
    #[track_caller]
    pub(super) fn scale(&self, c: f64) -> Self {
        self.with(Binary::Mul, &Loose::number(c))
    }

    /// This value plus `c`.
    #[track_caller]
    pub(super) fn shift(&self, c: f64) -> Self {
        if c == 0.0 { self.clone() } else { self.with(Binary::Add, &Loose::number(c)) }
    }

    /// The same value, a constant for derivatives.
    #[track_caller]
    pub(super) fn stop_gradient(&self) -> Self {
        Loose::new(T::discrete(&Discrete::FloatStep(FloatStep::StopGradient), &[&self.raw]))
    }

    #[track_caller]
    pub(super) fn neg(&self) -> Self {
        self.map(Unary::Neg)
    }

    #[track_caller]
    pub(super) fn ln(&self) -> Self {
        self.map(Unary::Ln)
    }

    #[track_caller]
    pub(super) fn exp(&self) -> Self {
        self.map(Unary::Exp)
    }

    #[track_caller]
    pub(super) fn sigmoid(&self) -> Self {
        self.map(Unary::Sigmoid)
    }

    #[track_caller]
    pub(super) fn lgamma(&self) -> Self {
        self.map(Unary::Lgamma)
    }

    #[track_caller]
    pub(super) fn square(&self) -> Self {
        self.map(Unary::Square)
    }

    #[track_caller]
    pub(super) fn softplus(&self) -> Self {
        self.map(Unary::Softplus)
    }

    /// The product, 0 where one factor is 0.
    #[track_caller]
    pub(super) fn times(&self, other: &Self) -> Self {
        self.with(Binary::MulNoNan, other)
    }

    #[track_caller]
    pub(super) fn recip(&self) -> Self {
        self.map(Unary::Recip)
    }

    /// The mask of values that are not positive, infinite, or so small that the inverse overflows; not of NaN.
    #[track_caller]
    pub(super) fn is_no_scale(&self) -> Loose<T, bool> {
        let inverse = self.recip();
        inverse.le(&Loose::number(0.0)) | inverse.eq(&Loose::number(f64::INFINITY))
    }
}

/// Positive parameters, all 1 where one of them is not a scale, and the mask of these places. A NaN stays a NaN.
#[track_caller]
pub(super) fn positive<T: BaseTensor, E: Float, const N: usize>(
    parameters: [&Loose<T, E>; N],
) -> ([Loose<T, E>; N], Loose<T, bool>) {
    let mut wrong = Loose::<T, bool>::constant(false);
    for (k, parameter) in parameters.iter().enumerate() {
        let this = parameter.is_no_scale();
        wrong = if k == 0 { this } else { wrong | this };
    }
    (parameters.map(|parameter| wrong.select(&Loose::number(1.0), parameter)), wrong)
}

impl<T: BaseTensor> Loose<T, bool> {
    /// `then` where the mask holds, and `otherwise` elsewhere.
    #[track_caller]
    pub(super) fn select<E: Elem>(&self, then: &Loose<T, E>, otherwise: &Loose<T, E>) -> Loose<T, E> {
        let shape = common("density", [&self.raw, &then.raw, &otherwise.raw].map(T::shape));
        let [mask, then, otherwise] = [&self.raw, &then.raw, &otherwise.raw].map(|raw| stretch(raw, &shape));
        Loose::new(T::select(&mask, &then, &otherwise))
    }

    /// `-inf` where the mask holds, and this value elsewhere.
    #[track_caller]
    pub(super) fn impossible<E: Float>(&self, otherwise: &Loose<T, E>) -> Loose<T, E> {
        self.select(&Loose::number(f64::NEG_INFINITY), otherwise)
    }
}

impl<T: BaseTensor> BitOr for Loose<T, bool> {
    type Output = Loose<T, bool>;
    #[track_caller]
    fn bitor(self, other: Self) -> Self {
        let [a, b] = self.beside(&other);
        Loose::new(T::discrete(&Discrete::Or, &[&a, &b]))
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident;)*) => { $(
        impl<T: BaseTensor, E: Float, X: Borrow<Loose<T, E>>> $Trait<X> for &Loose<T, E> {
            type Output = Loose<T, E>;
            #[track_caller]
            fn $method(self, other: X) -> Loose<T, E> {
                self.with(Binary::$Trait, other.borrow())
            }
        }
        impl<T: BaseTensor, E: Float, X: Borrow<Loose<T, E>>> $Trait<X> for Loose<T, E> {
            type Output = Loose<T, E>;
            #[track_caller]
            fn $method(self, other: X) -> Loose<T, E> {
                self.with(Binary::$Trait, other.borrow())
            }
        }
    )* };
}
operators! { Add add; Sub sub; Mul mul; Div div; }
