//! Elementwise functions beyond the operators: functions of two tensors, comparisons, selection, conversions.
//!
//! Law: operands are broadcast like those of operators, and a host number may stand for a tensor ([`Operand`]). Most
//! functions of floats are rows of the tables in `ops/unary.rs` and `ops/binary.rs`, whose methods are in `tables`.

use std::borrow::Cow;

use super::Tensor;
use super::arithmetic::{abs_op, add_op, max_op, min_op, mul_op};
use super::operators::{Elements, Operand, broadcast_shape, stretch};
use crate::base::BaseTensor;
use crate::dtype::{Elem, Float, Num};
use crate::ops::{Binary, Compare, Discrete, FloatStep, IntBinary, Linear};

impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    /// The polygamma function: the derivative of order `order` of [`digamma`](Tensor::digamma). Order 0 is `digamma`,
    /// order 1 is [`trigamma`](Tensor::trigamma). At 0 and the negative integers: `inf` for odd orders, and NaN for
    /// even orders, as the limits from both sides are infinities of opposite signs.
    ///
    /// For `x > 0` and order `n >= 1` the value is `(-1)^(n + 1) n! sum_k 1 / (x + k)^(n + 1)`. The relative error in
    /// `f64` is below `1e-14` up to order 20, and below `1e-13` up to order 170; beyond, values are computed as
    /// exponentials of logarithms. For negative `x` the error is relative to the larger of the two such sums at the
    /// distances of `x` from its neighboring integers. Abramowitz and Stegun, "Handbook of mathematical functions"
    /// (1964), section 6.4.
    ///
    /// ```
    /// use polygrad::{grad, tensor};
    /// let x = tensor(2.5);
    /// assert_eq!(x.polygamma(1), x.trigamma());
    /// assert_eq!(grad(|x| x.trigamma(), &x), x.polygamma(2));
    /// ```
    #[track_caller]
    pub fn polygamma(&self, order: u32) -> Self {
        self.binary(Binary::Polygamma, E::of_f64(order.into()))
    }
}

impl<T: BaseTensor, const D: usize, E: Elem> Tensor<T, D, E> {
    /// This tensor and an operand in their common shape.
    #[track_caller]
    fn with<'a>(&'a self, name: &str, other: &'a impl Operand<T, D, E>) -> [Cow<'a, T>; 2] {
        let own = self.raw().shape();
        match other.value().map(T::shape) {
            Some(sizes) if sizes != own => {
                let shape = broadcast_shape(name, own, sizes);
                [stretch(self.raw(), &shape), other.in_shape(&shape)]
            }
            Some(_) | None => [Cow::Borrowed(self.raw()), other.in_shape(own)],
        }
    }

    #[track_caller]
    fn compare(&self, op: Compare, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        let [a, b] = self.with(op.name(), &other);
        Tensor::from_raw(T::discrete(&Discrete::Compare(op), &[&a, &b]))
    }

    /// The mask of `self == other`, elementwise and broadcast; IEEE for floats. The operator `==` compares two whole
    /// tensors of known numbers.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0, 3.0]);
    /// assert_eq!((x.eq(2.0), x.ne(2.0)), (tensor([false, true, false]), tensor([true, false, true])));
    /// assert_eq!((x.lt(2.0), x.le(2.0)), (tensor([true, false, false]), tensor([true, true, false])));
    /// assert_eq!((x.gt(2.0), x.ge(2.0)), (tensor([false, false, true]), tensor([false, true, true])));
    /// ```
    #[track_caller]
    pub fn eq(&self, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        self.compare(Compare::Eq, other)
    }

    /// The mask of `self != other`, elementwise and broadcast; true at NaN.
    ///
    /// Example: [`Tensor::eq`].
    #[track_caller]
    pub fn ne(&self, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        self.compare(Compare::Ne, other)
    }

    /// The mask of `self < other`, elementwise and broadcast; false at NaN.
    ///
    /// Example: [`Tensor::eq`].
    #[track_caller]
    pub fn lt(&self, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        self.compare(Compare::Lt, other)
    }

    /// The mask of `self <= other`, elementwise and broadcast; false at NaN.
    ///
    /// Example: [`Tensor::eq`].
    #[track_caller]
    pub fn le(&self, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        self.compare(Compare::Le, other)
    }

    /// The mask of `self > other`, elementwise and broadcast; false at NaN.
    ///
    /// Example: [`Tensor::eq`].
    #[track_caller]
    pub fn gt(&self, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        self.compare(Compare::Gt, other)
    }

    /// The mask of `self >= other`, elementwise and broadcast; false at NaN.
    ///
    /// Example: [`Tensor::eq`].
    #[track_caller]
    pub fn ge(&self, other: impl Operand<T, D, E>) -> Tensor<T, D, bool> {
        self.compare(Compare::Ge, other)
    }
}

impl<T: BaseTensor, const D: usize, E: Num> Tensor<T, D, E> {
    /// The smaller element of each pair; NaN if either is NaN. The derivative goes to the chosen element, on ties to
    /// that of `self`.
    ///
    /// Example: [`Tensor::max`].
    #[track_caller]
    pub fn min(&self, other: impl Operand<T, D, E>) -> Self {
        let [a, b] = self.with("min", &other);
        Tensor::from_raw(min_op::<_, E>(&a, &b))
    }

    /// The larger element of each pair; NaN if either is NaN. The derivative goes to the chosen element, on ties to
    /// that of `self`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([-1.0, 2.0]);
    /// assert_eq!((x.max(0.0), x.min(0.0)), (tensor([0.0, 2.0]), tensor([-1.0, 0.0])));
    /// assert_eq!((x.max(&-&x), x.clamp(-0.5, 1.0)), (tensor([1.0, 2.0]), tensor([-0.5, 1.0])));
    /// ```
    #[track_caller]
    pub fn max(&self, other: impl Operand<T, D, E>) -> Self {
        let [a, b] = self.with("max", &other);
        Tensor::from_raw(max_op::<_, E>(&a, &b))
    }

    /// Each element clamped to the interval from `lo` to `hi`; NaN stays NaN. The derivative is 1 from `lo` to `hi`,
    /// both included, and 0 outside. Where `lo > hi` the result is `hi`.
    ///
    /// Example: [`Tensor::max`].
    #[track_caller]
    pub fn clamp(&self, lo: impl Operand<T, D, E>, hi: impl Operand<T, D, E>) -> Self {
        let [x, lo] = self.with("clamp", &lo);
        let above: Self = Tensor::from_raw(max_op::<_, E>(&x, &lo));
        let [x, hi] = above.with("clamp", &hi);
        Tensor::from_raw(min_op::<_, E>(&x, &hi))
    }

    /// This tensor times a scalar tensor.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([1.0, 2.0]);
    /// assert_eq!((x.times(&tensor(3.0)), x.plus(&tensor(10.0))), (tensor([3.0, 6.0]), tensor([11.0, 12.0])));
    /// assert_eq!((x.scale(0.5), x.shift(0.5)), (tensor([0.5, 1.0]), tensor([1.5, 2.5])));
    /// ```
    #[track_caller]
    pub fn times(&self, s: &Tensor<T, 0, E>) -> Self {
        Tensor::from_raw(mul_op::<_, E>(self.raw(), &repeated(s, self.raw().shape())))
    }

    /// This tensor plus a scalar tensor.
    ///
    /// Example: [`Tensor::times`].
    #[track_caller]
    pub fn plus(&self, s: &Tensor<T, 0, E>) -> Self {
        Tensor::from_raw(add_op::<_, E>(self.raw(), &repeated(s, self.raw().shape())))
    }
}

/// A scalar tensor broadcast to a shape.
#[track_caller]
pub(super) fn repeated<'a, T: BaseTensor, E: Elem>(s: &'a Tensor<T, 0, E>, shape: &[usize]) -> Cow<'a, T> {
    if shape.is_empty() {
        return Cow::Borrowed(s.raw());
    }
    Cow::Owned(s.raw().linear(&Linear::replicate(shape, &[])))
}

/// Functions of floats besides those of the tables.
impl<T: BaseTensor, const D: usize, E: Float> Tensor<T, D, E> {
    #[track_caller]
    pub(crate) fn binary(&self, op: Binary, other: impl Operand<T, D, E>) -> Self {
        let [a, b] = self.with(op.name(), &other);
        Tensor::from_raw(a.binary(op, &b))
    }

    /// Power with a host number as exponent: `pow` in code that is generic in `E`.
    ///
    /// Example: [`Tensor::powi`].
    #[track_caller]
    pub fn powf(&self, c: f64) -> Self {
        self.pow(E::of_f64(c))
    }

    /// Power with an integer exponent, by repeated squaring: exact where the products are, defined for
    /// negative bases, 1 for exponent 0. For negative exponents it is a power of the reciprocal, so that neither the
    /// power nor its derivative is out of range midway.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([-2.0, 4.0]);
    /// assert_eq!((x.powi(3), x.powi(-1)), (tensor([-8.0, 64.0]), tensor([-0.5, 0.25])));
    /// assert_eq!(x.powf(2.0), tensor([4.0, 16.0]));
    /// ```
    #[track_caller]
    pub fn powi(&self, n: i32) -> Self {
        let mut rest = n.unsigned_abs();
        let mut square = if n < 0 { self.recip() } else { self.clone() };
        let mut product: Option<Self> = None;
        while rest > 0 {
            if rest & 1 == 1 {
                product = Some(product.map_or_else(|| square.clone(), |p| p * &square));
            }
            rest >>= 1;
            if rest > 0 {
                square = square.square();
            }
        }
        product.unwrap_or_else(|| Tensor::ones(self.shape()))
    }

    /// `c * self`: the product with a literal in code that is generic in `E`.
    ///
    /// Example: [`Tensor::times`].
    #[track_caller]
    pub fn scale(&self, c: f64) -> Self {
        self * E::of_f64(c)
    }

    /// `self + c`: the sum with a literal in code that is generic in `E`.
    ///
    /// Example: [`Tensor::times`].
    #[track_caller]
    pub fn shift(&self, c: f64) -> Self {
        self + E::of_f64(c)
    }

    #[track_caller]
    fn step(&self, op: FloatStep) -> Self {
        Tensor::from_raw(T::discrete(&Discrete::FloatStep(op), &[self.raw()]))
    }

    /// -1, 0 or 1 by sign; 0 for both zeros, NaN for NaN. Derivative 0.
    ///
    /// Example: [`Tensor::floor`].
    #[track_caller]
    pub fn sign(&self) -> Self {
        self.step(FloatStep::Sign)
    }

    /// Largest integer not above. Derivative 0.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([-1.5, 0.0, 1.25]);
    /// assert_eq!((x.floor(), x.ceil()), (tensor([-2.0, 0.0, 1.0]), tensor([-1.0, 0.0, 2.0])));
    /// assert_eq!((x.round(), x.sign()), (tensor([-2.0, 0.0, 1.0]), tensor([-1.0, 0.0, 1.0])));
    /// ```
    #[track_caller]
    pub fn floor(&self) -> Self {
        self.step(FloatStep::Floor)
    }

    /// Smallest integer not below. Derivative 0.
    ///
    /// Example: [`Tensor::floor`].
    #[track_caller]
    pub fn ceil(&self) -> Self {
        self.step(FloatStep::Ceil)
    }

    /// Nearest integer, halves away from zero. Derivative 0.
    ///
    /// Example: [`Tensor::floor`].
    #[track_caller]
    pub fn round(&self) -> Self {
        self.step(FloatStep::Round)
    }

    /// The same values, as constants for differentiation: derivative 0.
    ///
    /// ```
    /// use polygrad::{Tensor, grad, tensor};
    /// let g = grad(|x| (x * x.stop_gradient()).sum(), &tensor([3.0]));
    /// assert_eq!(g, tensor([3.0]));
    /// ```
    #[track_caller]
    pub fn stop_gradient(&self) -> Self {
        self.step(FloatStep::StopGradient)
    }

    /// The nearest values of another float type; linear: the tangent is cast in the same way, the cotangent back.
    ///
    /// ```
    /// use polygrad::tensor;
    /// assert_eq!(tensor([0.5]).cast::<f32>(), tensor([0.5_f32]));
    /// assert_eq!((tensor([-1.5, 2.5]).to_int(), tensor([true, false]).to_int()), (tensor([-1, 2]), tensor([1, 0])));
    /// assert_eq!((tensor([1, 2]).to_float(), tensor([true, false]).to_float()), (tensor([1.0, 2.0]), tensor([1.0, 0.0])));
    /// ```
    #[track_caller]
    pub fn cast<F: Float>(&self) -> Tensor<T, D, F> {
        if E::DTYPE == F::DTYPE {
            return Tensor::from_raw(self.raw().clone());
        }
        Tensor::from_raw(self.raw().linear(&Linear::cast(self.raw().shape(), E::DTYPE, F::DTYPE)))
    }

    /// Truncated towards zero, saturating; NaN becomes 0. Derivative 0.
    ///
    /// Example: [`Tensor::cast`].
    #[track_caller]
    pub fn to_int(&self) -> Tensor<T, D, i64> {
        Tensor::from_raw(T::discrete(&Discrete::ToInt, &[self.raw()]))
    }
}

/// Functions of integers; wrapping.
impl<T: BaseTensor, const D: usize> Tensor<T, D, i64> {
    #[track_caller]
    pub(crate) fn int_binary(&self, op: IntBinary, other: impl Operand<T, D, i64>) -> Self {
        let [a, b] = self.with(op.name(), &other);
        Tensor::from_raw(T::discrete(&Discrete::IntBinary(op), &[&a, &b]))
    }

    /// Quotient, truncated towards zero; `x quot 0 = x`. Also the operator `/`.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let (x, y) = (tensor([7, -7, 7]), tensor([2, 2, 0]));
    /// assert_eq!((x.quot(&y), x.rem(&y)), (tensor([3, -3, 7]), tensor([1, -1, 7])));
    /// assert_eq!((x.neg(), x.abs()), (tensor([-7, 7, -7]), tensor([7, 7, 7])));
    /// ```
    #[track_caller]
    pub fn quot(&self, other: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::Quot, other)
    }

    /// Remainder with the sign of `self`; `x rem 0 = x`. Also the operator `%`.
    ///
    /// Example: [`Tensor::quot`].
    #[track_caller]
    pub fn rem(&self, other: impl Operand<T, D, i64>) -> Self {
        self.int_binary(IntBinary::Rem, other)
    }

    /// Negation.
    ///
    /// Example: [`Tensor::quot`].
    #[track_caller]
    pub fn neg(&self) -> Self {
        -self
    }

    /// Absolute value.
    ///
    /// Example: [`Tensor::quot`].
    #[track_caller]
    pub fn abs(&self) -> Self {
        Tensor::from_raw(abs_op::<_, i64>(self.raw()))
    }

    /// The nearest floats.
    ///
    /// Example: [`Tensor::cast`].
    #[track_caller]
    pub fn to_float<F: Float>(&self) -> Tensor<T, D, F> {
        Tensor::from_raw(T::discrete(&Discrete::ToFloat(F::DTYPE), &[self.raw()]))
    }
}

/// Masks.
impl<T: BaseTensor, const D: usize> Tensor<T, D, bool> {
    /// 1 where the mask holds and 0 elsewhere, as floats.
    ///
    /// Example: [`Tensor::cast`].
    #[track_caller]
    pub fn to_float<F: Float>(&self) -> Tensor<T, D, F> {
        Tensor::from_raw(T::discrete(&Discrete::ToFloat(F::DTYPE), &[self.raw()]))
    }

    /// 1 where the mask holds and 0 elsewhere, as integers.
    ///
    /// Example: [`Tensor::cast`].
    #[track_caller]
    pub fn to_int(&self) -> Tensor<T, D, i64> {
        Tensor::from_raw(T::discrete(&Discrete::ToInt, &[self.raw()]))
    }

    /// `then` where the mask holds and `otherwise` elsewhere; all three are broadcast.
    ///
    /// Both branches are computed. Values computed in the branch not taken never reach a derivative:
    /// `x.gt(0.0).select(x.sqrt(), 0.0)` has derivative 0 at 0.
    ///
    /// ```
    /// use polygrad::tensor;
    /// let x = tensor([-4.0, 4.0]);
    /// assert_eq!(x.gt(0.0).select(x.sqrt(), 0.0), tensor([0.0, 2.0]));
    /// ```
    ///
    /// # Panics
    /// When sizes along an axis differ and neither size is 1.
    #[track_caller]
    pub fn select<E: Elem>(
        &self,
        then: impl Operand<T, D, E> + Elements<Of = E>,
        otherwise: impl Operand<T, D, E>,
    ) -> Tensor<T, D, E> {
        let mut shape = crate::shape::Shape::from_slice(self.raw().shape());
        for sizes in [then.value(), otherwise.value()].into_iter().flatten().map(T::shape) {
            shape = broadcast_shape("select", &shape, sizes);
        }
        let mask = stretch(self.raw(), &shape);
        Tensor::from_raw(T::select(&mask, &then.in_shape(&shape), &otherwise.in_shape(&shape)))
    }
}
